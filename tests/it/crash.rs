//! Interrupts, kills and servers that die in the middle: what was measured is stored, nothing is
//! left behind, and the next start works.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::Signal;
use rustix::pty::OpenptFlags;

use crate::servers::{Lease, Server};
use crate::skipped::skipped;
use crate::support::{
    Desk, Done, PRIVATE, Private, TINY, WINDOW, bytes_in, column, cpu_s, directory, ended,
    lacks_library, mistakes, processes, session, signal, start_options, until,
};

/// Signals that ask a run to end: Ctrl-C, `kill`, the end of the terminal.
const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

const BASE: &str = "--size 0.01 --workload SRV-QUERY1 --jobs 1";

/// The last run of a results file, as JSON.
fn last(desk: &Desk) -> serde_json::Value {
    desk.shown("last")
}

/// Interrupted as it should be: code, one line, nothing left.
#[track_caller]
fn assert_nothing_left(desk: &Desk, done: Done) {
    let done = done.fails(130, &["interrupted"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new(), "{done:#?}");
}

/// Interrupted as it should be, with the status of its run.
#[track_caller]
fn assert_interrupted(desk: &Desk, done: Done) -> serde_json::Value {
    assert_nothing_left(desk, done);
    let run = last(desk);
    assert_eq!(run["status"], "interrupted");
    run
}

#[test]
fn an_interrupt_while_loading_leaves_nothing() {
    for (server, how) in PRIVATE.map(Some).into_iter().chain([None]).zip(SIGNALS) {
        let desk = Desk::new();
        let line = format!(
            "run {} --size 2 --workload STO-READ --jobs 1 --quiet",
            server.map_or("sqlite", |server| server.engine)
        );
        let run = desk.spawn(&line);
        until("rows are being loaded", || match server {
            Some(server) => server.rows_are_loaded(&desk.data()),
            None => bytes_in(&desk.data()) > 5_000_000,
        });
        signal(run.id(), how);
        let run = assert_interrupted(&desk, ended(run, &line));
        assert_eq!(run["tests"], serde_json::json!([]));
    }
}

#[test]
fn ctrl_c_in_the_terminal_while_the_server_is_created_is_an_interrupt() {
    use std::os::unix::process::CommandExt;
    for (server, how) in PRIVATE.into_iter().zip([Signal::INT, Signal::HUP]) {
        let desk = Desk::new();
        let line = format!("run {} {BASE} --quiet", server.engine);
        let mut run = desk.command(&line);
        run.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = run.spawn().unwrap();
        let data = desk.data().join(format!("dbdyno-{}/data", server.engine));
        until("the database is being created", || {
            std::fs::read_dir(&data).is_ok_and(|files| files.count() > 0)
        });
        let group = rustix::process::Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
        rustix::process::kill_process_group(group, how).unwrap();
        assert_nothing_left(&desk, ended(run, &line));
        // A run begins once its server is up, which may have been just before.
        assert!(desk.runs_so_far().iter().all(|run| run["status"] == "interrupted"));
    }
}

/// Programs that pretend to be those of PostgreSQL. The `endless` one writes its number into the
/// directory of the database and does not come to an end; the other one has nothing to do.
fn pretended_programs(desk: &Desk, endless: &str) -> PathBuf {
    let programs = desk.path("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["initdb", "postgres"] {
        let work = match name == endless {
            true => "echo $$ > \"$2/new\" && mv \"$2/new\" \"$2/begun\"; exec sleep 600",
            false => "true",
        };
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && echo 'postgres (PostgreSQL) 16.4' && exit\n\
             {work}\n"
        );
        let program = programs.join(name);
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    programs
}

#[test]
fn one_interrupt_ends_the_wait_for_a_server_that_is_created_or_started() {
    for (endless, how) in ["initdb", "postgres"].into_iter().zip(SIGNALS) {
        let desk = Desk::new();
        let programs = pretended_programs(&desk, endless);
        let line = format!("run postgres {BASE} --quiet --server-bin {}", programs.display());
        let mut command = desk.command(&line);
        // No template of what is no database.
        command.env_remove("DBDYNO_SERVER_TEMPLATES");
        let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = desk.data().join("dbdyno-postgres/data/begun");
        until("the program is at work", || begun.exists());
        let pid = std::fs::read_to_string(&begun).unwrap().trim().parse().unwrap();
        signal(run.id(), how);
        let done = ended(run, &line);
        assert!(done.stderr.contains("interrupted before the private server was up"), "{done:#?}");
        assert_nothing_left(&desk, done);
        assert!(procfs::process::Process::new(pid).is_err(), "{endless} is gone");
        assert_eq!(desk.runs_so_far(), Vec::<serde_json::Value>::new());
    }
}

#[test]
fn an_interrupt_in_the_warm_up_stores_no_figures() {
    for (server, how) in PRIVATE.into_iter().zip([Signal::HUP, Signal::TERM]) {
        let desk = Desk::new();
        let line = format!("run {} {BASE} --warmup 100s --quiet", server.engine);
        let run = desk.spawn(&line);
        until("the job warms up", || server.a_job_runs(&desk));
        signal(run.id(), how);
        let run = assert_interrupted(&desk, ended(run, &line));
        assert_eq!(run["tests"], serde_json::json!([]));
    }
}

/// Interrupted in its window, the last test of a run stands with what was measured, and says so.
#[track_caller]
fn assert_measured_until_the_interrupt(run: &serde_json::Value) {
    let test = run["tests"].as_array().unwrap().last().unwrap();
    assert!(
        test["ops"].as_u64().unwrap() > 0 && test["throughput"].as_f64().unwrap() > 0.0,
        "{test:#}"
    );
    let elapsed_s = test["elapsed_s"].as_f64().unwrap();
    assert!(elapsed_s > 0.0 && elapsed_s < 100.0, "the window was cut: {elapsed_s}");
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["code"] == "interrupted"), "{reasons:?}");
    assert_ne!(test["verdict"]["status"], "valid");
}

/// Interrupts a run of `target` in its window, as soon as the job runs, and looks at what it
/// stored.
fn interrupt_in_the_window(target: &str, how: Signal, runs: impl Fn(&Desk, u32) -> bool) {
    let desk = Desk::new();
    let line = format!("run {target} {BASE} --warmup 0 --duration 100s --quiet");
    let run = desk.spawn(&line);
    until("the job runs", || runs(&desk, run.id()));
    signal(run.id(), how);
    let run = assert_interrupted(&desk, ended(run, &line));
    assert_measured_until_the_interrupt(&run);
}

/// True if a run of [`BASE`] on an embedded engine has used more of a processor than it needs until
/// its window, which is a third of a second.
fn is_in_its_window(id: u32) -> bool {
    cpu_s(id).is_some_and(|used_s| used_s > 0.8)
}

#[test]
fn an_interrupt_in_the_window_stores_what_was_measured() {
    for (how, target) in SIGNALS.into_iter().zip(["sqlite", "duckdb", "sqlite"]) {
        interrupt_in_the_window(target, how, |_, id| is_in_its_window(id));
    }
}

/// The library of ClickHouse brings signal handlers of its own.
#[test]
fn an_interrupt_stores_what_clickhouse_has_measured() {
    if let Some(why) = lacks_library("chdb") {
        return skipped("CHDB", why);
    }
    interrupt_in_the_window("chdb", Signal::INT, |_, id| {
        cpu_s(id).is_some_and(|used_s| used_s > 4.0)
    });
}

#[test]
fn an_interrupt_between_tests_keeps_all_that_are_finished() {
    for how in SIGNALS {
        let desk = Desk::new();
        let line = "run --size 0.01 --workload SRV-QUERY1 --jobs 1 --repeat 100 --warmup 0 \
                    --duration 300ms --think 5ms --quiet";
        let mut run = desk.spawn(line);
        let stored = || desk.runs_so_far().last().map_or(0, |run| run["tests"].as_u64().unwrap());
        until("tests are stored", || {
            assert!(run.try_wait().unwrap().is_none(), "it ended too early");
            stored() > 1
        });
        let before = stored();
        signal(run.id(), how);
        let run = assert_interrupted(&desk, ended(run, line));
        assert!(run["tests"].as_array().unwrap().len() as u64 >= before, "{run:#}");
    }
}

#[test]
fn an_interrupt_while_the_report_is_written_loses_none_of_it() {
    for how in SIGNALS {
        let desk = Desk::new();
        // Nobody reads the pipe yet: that is where the program waits.
        let pipe = desk.path("report.html");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        let line = format!("run {TINY} --quiet --report {}", pipe.display());
        let run = desk.spawn(&line);
        until("the run is finished", || {
            // By a program of its own: until that has started and looked, the run is at its report.
            desk.path("results.db").exists()
                && desk.run("results list").ok().stdout.contains("finished")
        });
        signal(run.id(), how);
        let page = std::fs::read_to_string(&pipe).unwrap();
        assert!(page.ends_with("</html>\n"), "{}", &page[page.len().saturating_sub(100)..]);
        ended(run, &line).ok();
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    }
}

#[test]
fn a_terminal_that_is_closed_ends_the_run_in_good_order() {
    use std::os::fd::AsFd;
    use std::os::unix::ffi::OsStrExt;
    for (target, server) in [("sqlite", None), ("postgres", Some(PRIVATE[0]))] {
        let desk = Desk::new();
        // Nobody else may hold it open.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = rustix::pty::openpt(flags).unwrap();
        rustix::pty::unlockpt(&terminal).unwrap();
        let name = rustix::pty::ptsname(&terminal, Vec::new()).unwrap();
        let name = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let screen = || std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
        let line = format!("run {target} {BASE} --warmup 0 --duration 100s");
        let program = desk.command(&line);
        let mut session = std::process::Command::new("setsid");
        session.arg("--ctty").arg(program.get_program()).args(program.get_args());
        session
            .env_clear()
            .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut run = session.stdin(screen()).stdout(screen()).stderr(screen()).spawn().unwrap();
        drop(session);
        rustix::io::ioctl_fionbio(terminal.as_fd(), true).unwrap();
        until("the job runs", || {
            // What nobody takes off the terminal would hold the program up.
            while rustix::io::read(&terminal, &mut [0; 1000]).is_ok_and(|count| count > 0) {}
            match server {
                Some(server) => server.a_job_runs(&desk),
                None => is_in_its_window(run.id()),
            }
        });
        drop(terminal);
        until("it has ended", || run.try_wait().unwrap().is_some());
        assert_eq!(run.wait().unwrap().code(), Some(130), "{target}");
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
        assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
        let run = last(&desk);
        assert_eq!(run["status"], "interrupted");
        assert_measured_until_the_interrupt(&run);
    }
}

#[test]
fn nohup_is_obeyed() {
    let desk = Desk::new();
    // A user who thinks needs little of a processor for so long.
    let line = format!("run {WINDOW} --think 5ms --quiet").replace("100ms", "2s");
    let program = desk.command(&line);
    let mut nohup = std::process::Command::new("nohup");
    nohup.arg(program.get_program()).args(program.get_args()).stdin(std::process::Stdio::null());
    nohup.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = nohup
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    until("it has its database", || !desk.data_entries().is_empty());
    signal(run.id(), Signal::HUP);
    ended(run, &line).ok();
    assert_eq!(last(&desk)["status"], "finished");
}

#[test]
fn an_interrupt_in_the_window_on_a_private_server_stores_what_was_measured() {
    for (server, how) in PRIVATE.into_iter().zip([Signal::TERM, Signal::INT]) {
        interrupt_in_the_window(server.engine, how, |desk, _| server.a_job_runs(desk));
    }
}

#[test]
fn a_killed_run_leaves_an_orphan_that_the_next_start_removes() {
    for server in PRIVATE {
        let engine = server.engine;
        let desk = Desk::new();
        let mut run =
            desk.spawn(&format!("run {engine} {BASE} --warmup 0 --duration 100s --quiet"));
        until("the job runs", || server.a_job_runs(&desk));
        let in_use = format!("in use by dbdyno process {}", run.id());
        desk.run(&format!("run {engine} {TINY} --quiet")).fails(3, &[&in_use]);
        run.kill().unwrap();
        run.wait().unwrap();
        let data = desk.data().display().to_string();
        assert!(!processes(&data).is_empty(), "the server lives on");
        assert_eq!(last(&desk)["status"], "failed", "its process is gone");
        let next = desk.run(&format!("run {engine} {TINY} --format json")).ok();
        assert_eq!(next.json()["loads"][0]["loaded"], true);
        let removed = "removed the private server that a run which did not end properly left in";
        assert!(next.stderr.contains(removed), "{}", next.stderr);
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
        assert_eq!(processes(&data), Vec::<String>::new());
    }
}

#[test]
fn clean_removes_the_orphan_of_a_killed_run() {
    for server in PRIVATE {
        let engine = server.engine;
        let desk = Desk::new();
        let mut run =
            desk.spawn(&format!("run {engine} {BASE} --warmup 0 --duration 100s --quiet"));
        until("the job runs", || server.a_job_runs(&desk));
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(desk.run(&format!("clean {engine}")).ok().stdout.contains("removed"));
        assert!(desk.data_entries().is_empty());
        assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
    }
}

/// Steps at which the creation of a database is killed.
const STEPS: u32 = 6;

#[test]
fn a_run_that_is_killed_while_the_server_is_created_does_not_disturb_the_next() {
    for server in PRIVATE {
        let engine = server.engine;
        let desk = Desk::new();
        let (home, line) =
            (desk.data().join(format!("dbdyno-{engine}")), format!("run {engine} {TINY} --quiet"));
        let mut made = 0;
        for step in 0..STEPS {
            let mut run = desk.spawn(&line);
            // From the first file on in equal steps to what the whole creation writes, which the
            // first round of all tells.
            until("the database is being created", || {
                bytes_in(&home) > 1000 + made * u64::from(step) / u64::from(STEPS)
            });
            run.kill().unwrap();
            run.wait().unwrap();
            if made == 0 {
                desk.run(&line).ok();
                assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
                made = created_bytes(&server);
            }
        }
        desk.run(&line).ok();
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
        assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
    }
}

/// Size of an empty database.
fn created_bytes(server: &Private) -> u64 {
    let dir = directory();
    let started = dbdyno::server::start(server.engine, &start_options(dir.path(), &[])).unwrap();
    let made = bytes_in(started.storage_path());
    started.stop_and_remove().unwrap();
    made
}

#[test]
fn a_killed_run_on_the_embedded_engine_does_not_disturb_the_next() {
    let desk = Desk::new();
    let mut run = desk
        .spawn("run --size 0.01 --workload LGWR-LAT --jobs 1 --warmup 0 --duration 100s --quiet");
    until("the job has used a second", || cpu_s(run.id()).is_some_and(|used_s| used_s > 0.5));
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(!desk.data_entries().is_empty(), "nobody had the time to remove the database");
    let next = desk.run(&format!("run {TINY} --format json --quiet")).ok();
    assert_eq!((&next.json()["run_id"], &next.json()["status"]), (&2.into(), &"finished".into()));
    assert_eq!(next.json()["loads"][0]["loaded"], true);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn a_private_server_that_dies_ends_the_run_and_loses_nothing() {
    for server in PRIVATE {
        let engine = server.engine;
        let desk = Desk::new();
        let tests = [("TP-LOOKUP", 0.2), ("SRV-QUERY1", 2.0), ("SRV-QUERY25", 2.0)];
        let line = format!("run {} --quiet", desk.experiment(engine, 1, &tests).display());
        let run = desk.spawn(&line);
        until("the second test's job runs", || server.a_job_runs(&desk));
        signal(server.pid(&desk), server.hard_stop);
        let how = [
            "the server's process has ended",
            "its log ends with",
            "what was measured before is stored",
        ];
        let ended = ended(run, &line).fails(3, &how);
        assert!(ended.stderr.contains(engine), "{ended:#?}");
        let run = last(&desk);
        assert_eq!(run["status"], "failed");
        let tests = run["tests"].as_array().unwrap();
        assert_eq!(tests.len(), 2, "{tests:#?}");
        assert!(mistakes(&tests[0]).is_empty() && !mistakes(&tests[1]).is_empty(), "{tests:#?}");
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
        desk.run(&format!("run {engine} {TINY} --quiet")).ok();
    }
}

#[test]
fn an_existing_server_that_dies_while_loading_is_one_line() {
    let (desk, server) = (Desk::new(), Server::start());
    let line = format!(
        "run {} --size 2 --workload STO-READ --jobs 1 --quiet",
        server.admin_url("postgres")
    );
    let run = desk.spawn(&line);
    let mut admin = server.admin("postgres");
    until("rows are being loaded", || {
        column(admin.as_mut(), "select (pg_database_size('postgres') > 20000000)::text") == ["true"]
    });
    signal(server.pid, Signal::QUIT);
    ended(run, &line).fails(3, &["postgres://"]);
    assert_eq!(last(&desk)["status"], "failed");
}

/// A process that stands still.
struct Stopped(u32);

impl Stopped {
    fn new(pid: u32) -> Stopped {
        signal(pid, Signal::STOP);
        Stopped(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, Signal::CONT);
    }
}

/// Process ids of backends that have been in a routine of the look-up for some time.
const JOBS_AT_WORK: &str = "select pid from pg_stat_activity where datname = current_database() \
                            and state = 'active' and query like '%w_srv_query1%' and pid <> \
                            pg_backend_pid() and now() - query_start > interval '200 ms'";

#[test]
fn two_signals_at_once_are_one_wish() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let line = format!("run {} {BASE} --warmup 0 --duration 100s --quiet", lease.url);
    let run = desk.spawn(&line);
    until("its job works", || !column(session(&lease.url).as_mut(), JOBS_AT_WORK).is_empty());
    // As `timeout` does: of two kinds, so that none of them is lost.
    [Signal::TERM, Signal::INT].into_iter().for_each(|kind| signal(run.id(), kind));
    assert_eq!(ended(run, &line).code, Some(130));
    assert_eq!(last(&desk)["status"], "interrupted");
}

#[test]
fn a_second_interrupt_ends_the_run_without_cleaning_up() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let line = format!("run {} {BASE} --warmup 0 --duration 100s --quiet", lease.url);
    let mut run = desk.spawn(&line);
    // A job whose backend does not go on: an end in good order would wait for it.
    let mut admin = session(&lease.url);
    let mut job = None;
    until("the job runs", || {
        job = column(admin.as_mut(), JOBS_AT_WORK).pop();
        job.is_some()
    });
    let _stopped = Stopped::new(job.unwrap().parse().unwrap());
    // Signals of one kind that come too soon after one another are one.
    until("it has ended", || {
        let has_ended = run.try_wait().unwrap().is_some();
        if !has_ended {
            signal(run.id(), Signal::INT);
        }
        has_ended
    });
    assert_eq!(ended(run, &line).code, Some(130));
    // It had no time to note its end.
    assert_eq!(last(&desk)["status"], "failed");
    desk.run(&format!("run {TINY} --quiet")).ok();
}
