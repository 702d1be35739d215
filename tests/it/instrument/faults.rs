//! Servers that crash, stand still or vanish: one crash costs one test, and after one signal a run
//! has ended, in one line and stored, whatever the server does.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use dbdyno::engine::Session;
use dbdyno::server::{self, PrivateServer};
use procfs::process::all_processes;
use rustix::process::Signal;
use serde_json::Value;

use crate::servers::{Existing, Lease, Server};
use crate::support::{
    Desk, PRIVATE, column, directory, ended, mistakes, signal, start_options, try_session_of, until,
};

/// Each slice of the look-up that is under way, by what no other has. What checks its answers
/// before takes less time.
fn slices(engine: &str) -> &'static str {
    match engine {
        "postgres" => {
            "select pid || ' ' || query_start from pg_stat_activity where state = 'active' \
             and query like '%w_srv_query1%' and pid <> pg_backend_pid() \
             and clock_timestamp() - query_start > interval '300 ms'"
        }
        _ => {
            "select concat(id, ' ', query_id) from information_schema.processlist \
             where info like '%w_srv_query1%' and id <> connection_id() and time_ms > 300"
        }
    }
}

/// A run of two tests, its command line, and a slice of its first test that is under way. A test of
/// seconds may end before a busy machine sees one of its slices: then longer ones follow.
fn run_at_work(desk: &Desk, engine: &str, url: &str, session: &mut dyn Session) -> AtWork {
    for first_s in [5.0, 20.0, 80.0] {
        let tests = [("SRV-QUERY1", first_s), ("TP-LOOKUP", 0.5)];
        let line = format!("run {} --quiet", desk.experiment(url, 1, &tests).display());
        let mut run = desk.spawn(&line);
        let mut now = Vec::new();
        until("a slice is under way", || {
            now = column(session, slices(engine));
            !now.is_empty() || run.try_wait().unwrap().is_some()
        });
        if let Some(slice) = now.into_iter().next() {
            return AtWork { run, line, slice };
        }
    }
    panic!("three runs ended before a slice of one was seen")
}

/// Result of [`run_at_work`].
struct AtWork {
    run: Child,
    line: String,
    slice: String,
}

/// Waits until a run's jobs have done some slices.
fn until_jobs_work(engine: &str, session: &mut dyn Session) -> Vec<String> {
    let (mut seen, mut now) = (BTreeSet::new(), Vec::new());
    until("some slices are done", || {
        now = column(session, slices(engine));
        seen.extend(now.iter().cloned());
        seen.len() > 2 && !now.is_empty()
    });
    now
}

/// The last run of a results file.
fn last(desk: &Desk) -> Value {
    desk.shown("last")
}

/// Sends one signal and waits for the end, in one line and stored. A run that hangs never ends, and
/// its windows are longer than it is waited for.
fn assert_ends_after_one_signal(desk: &Desk, run: Child, line: &str) -> Value {
    signal(run.id(), Signal::TERM);
    ended(run, line).fails(130, &["interrupted"]);
    let run = last(desk);
    assert_eq!(run["status"], "interrupted");
    run
}

/// All processes of a server stand still as long as this lives.
struct Still(Vec<u32>);

impl Still {
    fn new(server: &PrivateServer) -> Still {
        let parent = server.pid().unwrap();
        let all = all_processes().unwrap().flatten();
        let children = all
            .filter(|process| process.stat().is_ok_and(|stat| stat.ppid == parent as i32))
            .map(|process| process.pid as u32);
        let all: Vec<u32> = std::iter::once(parent).chain(children).collect();
        all.iter().for_each(|pid| signal(*pid, Signal::STOP));
        Still(all)
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        self.0.iter().for_each(|pid| signal(*pid, Signal::CONT));
    }
}

/// True if the first thread of a process, which reads the probes, waits for bytes.
fn waits_for_bytes(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/wchan")).is_ok_and(|place| place.contains("poll"))
}

#[test]
fn a_server_that_stands_still_does_not_keep_an_interrupted_run() {
    let freeze = |engine: &str| {
        let (desk, dir) = (Desk::new(), directory());
        let server = server::start(engine, &start_options(dir.path(), &[])).unwrap();
        let line = format!(
            "run {} --size 0.01 --workload SRV-QUERY1 --jobs 2 --warmup 0 --duration 1000s --quiet",
            server.url()
        );
        let run = desk.spawn(&line);
        let mut session = try_session_of(engine, &server.url()).unwrap();
        until_jobs_work(engine, session.as_mut());
        let still = Still::new(&server);
        // Jobs and probes give the server up at the same time.
        until("the probes wait for the server", || waits_for_bytes(run.id()));
        let run = assert_ends_after_one_signal(&desk, run, &line);
        drop(still);
        let test = &run["tests"][0];
        assert!(test["ops"].as_u64().unwrap() > 0, "{engine}: what was measured: {test:#}");
        assert_ne!(test["verdict"]["status"], "valid");
    };
    std::thread::scope(|scope| {
        PRIVATE.iter().for_each(|server| drop(scope.spawn(move || freeze(server.engine))));
    });
}

/// Without a word of the interrupt a results database that stands still is asked and connected to
/// for 35 s of waiting, on any machine. With it the waits take 6 s: the rest is for a busy machine.
const AFTER_SILENT_RESULTS: Duration = Duration::from_secs(34);

#[test]
fn results_that_stand_still_do_not_keep_an_interrupted_run_and_are_named() {
    let (desk, dirs) = (Desk::new(), [directory(), directory()]);
    let [target, results] =
        [&dirs[0], &dirs[1]].map(|dir| server::start("postgres", &start_options(dir.path(), &[])));
    let (target, results) = (target.unwrap(), results.unwrap());
    let line = format!(
        "run {} --results {} --size 0.01 --workload SRV-QUERY1 --jobs 2 --warmup 0 --duration 100s \
         --quiet",
        target.url(),
        results.url()
    );
    let run = desk.spawn(&line);
    let mut session = try_session_of("postgres", &target.url()).unwrap();
    until_jobs_work("postgres", session.as_mut());
    let still = Still::new(&results);
    signal(run.id(), Signal::TERM);
    let asked = Instant::now();
    let what = "what was measured from test 1 on could not be stored: ";
    ended(run, &line).fails(3, &["postgres://dbdyno@/postgres", what]);
    assert!(asked.elapsed() < AFTER_SILENT_RESULTS, "{:?}", asked.elapsed());
    drop(still);
    // The server goes on, and finds the run's session ended.
    until("the run counts as failed", || {
        let shown = format!("results show last --format json --results {}", results.url());
        let run = desk.run(&shown).ok().json();
        assert_eq!(run["tests"], serde_json::json!([]));
        run["status"] == "failed"
    });
}

/// A way to a server that can be cut without a word: nothing is handed on any more, and nothing is
/// closed.
struct Way {
    at: PathBuf,
    is_cut: Arc<AtomicBool>,
}

impl Way {
    fn new(dir: &Path, to: PathBuf) -> Way {
        let way = Way { at: dir.to_owned(), is_cut: Arc::default() };
        let listener = UnixListener::bind(dir.join(to.file_name().unwrap())).unwrap();
        let is_cut = Arc::clone(&way.is_cut);
        std::thread::spawn(move || {
            let mut all = Vec::new();
            for client in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&to) else { return };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let is_cut = Arc::clone(&is_cut);
                    std::thread::spawn(move || hand_on(from, to, &is_cut));
                }
                all.push((client, server)); // what is cut stays open
            }
        });
        way
    }
}

fn hand_on(mut from: UnixStream, mut to: UnixStream, is_cut: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if is_cut.load(Relaxed) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    if !is_cut.load(Relaxed) {
        let _ = from.shutdown(std::net::Shutdown::Both);
        let _ = to.shutdown(std::net::Shutdown::Both);
    }
}

#[test]
fn a_network_that_is_cut_while_loading_does_not_keep_an_interrupted_run() {
    let (desk, dir) = (Desk::new(), directory());
    let server = server::start("postgres", &start_options(dir.path(), &[])).unwrap();
    let socket = dir.path().join("dbdyno-postgres/socket/.s.PGSQL.5432");
    let between = directory();
    let way = Way::new(between.path(), socket);
    let line = format!(
        "run postgres://dbdyno@/postgres?host={}&port=5432 --size 1 --workload STO-READ --jobs 1 \
         --quiet",
        way.at.display()
    );
    let run = desk.spawn(&line);
    let mut session = try_session_of("postgres", &server.url()).unwrap();
    until("rows are being loaded", || {
        let sql = "select (pg_database_size('postgres') > 20000000)::text";
        column(session.as_mut(), sql) == ["true"]
    });
    way.is_cut.store(true, Relaxed);
    let run = assert_ends_after_one_signal(&desk, run, &line);
    assert_eq!(run["tests"], serde_json::json!([]));
}

/// The first of two tests is spoiled, the second as good as any.
fn assert_one_test_is_lost(desk: &Desk) {
    let run = last(desk);
    let tests = run["tests"].as_array().unwrap();
    assert_eq!((run["status"].as_str(), tests.len()), (Some("finished"), 2), "{run:#}");
    assert!(!mistakes(&tests[0]).is_empty(), "{:#}", tests[0]);
    assert_eq!(mistakes(&tests[1]), Vec::<&Value>::new());
}

#[test]
fn a_backend_that_crashes_costs_its_test_and_the_next_one_runs() {
    let (desk, server) = (Desk::new(), Server::start());
    let mut admin = server.admin("postgres");
    let url = server.admin_url("postgres");
    let AtWork { run, line, slice } = run_at_work(&desk, "postgres", &url, admin.as_mut());
    // As a crash would; the server ends all sessions and recovers.
    signal(slice.split(' ').next().unwrap().parse().unwrap(), Signal::KILL);
    ended(run, &line).ok();
    assert_one_test_is_lost(&desk);
}

#[test]
fn a_mariadb_that_is_killed_and_started_anew_costs_one_test() {
    let desk = Desk::new();
    let mut server = Existing::start(&[("innodb_flush_log_at_trx_commit", "1")]);
    let url = server.admin_url();
    let AtWork { run, line, .. } = run_at_work(&desk, "mariadb", &url, server.admin.as_mut());
    server.kill();
    server.start_again();
    ended(run, &line).ok();
    assert_one_test_is_lost(&desk);
}

/// Ends the session that holds a snapshot beside jobs that are at work; tells whether there was
/// one.
const END_OF_HOLDER: &str = "
select pg_terminate_backend(pid)::text
  from pg_stat_activity
 where state = 'idle in transaction' and application_name like 'dbdyno-%'
   and exists (select 1 from pg_stat_activity where state = 'active' and query like '%w_tp_queue%'
                  and pid <> pg_backend_pid())";

#[test]
fn a_snapshot_that_is_not_held_to_the_end_fails_its_test() {
    let (desk, server) = (Desk::new(), Server::start());
    let line = format!(
        "run {} --size 0.01 --workload TP-QUEUE:horizon=held --workload SRV-QUERY1 --jobs 1 \
         --warmup 0 --duration 3s --quiet",
        server.admin_url("postgres")
    );
    let run = desk.spawn(&line);
    let mut admin = server.admin("postgres");
    until("jobs work beside a snapshot", || column(admin.as_mut(), END_OF_HOLDER) == ["true"]);
    ended(run, &line);
    let run = last(&desk);
    let tests = run["tests"].as_array().unwrap();
    let reasons = tests[0]["verdict"]["reasons"].to_string();
    assert!(reasons.contains("is to stay open while the jobs run was lost"), "{:#}", tests[0]);
    assert_eq!(mistakes(&tests[1]), Vec::<&Value>::new(), "{run:#}");
}

/// A workload of which one op in a thousand fails as a conflict does: after its update, which is
/// then undone.
const CONFLICT: &str = r#"
id = "OWN"
order = 90
title = "Our own"
about = "Workloads of our own."

[[workload]]
id = "OWN-CONFLICT"
title = "updates of which some fail"
about = "Updates a row of a random key."
revision = 1
tables = ["small"]
warm = ["small"]
commits = true
kpm = { value = "ops", unit = "tps", better = "higher" }
undrivable = { client = "the routine fails by itself" }
answer = { rows = 1 }
"#;
const CONFLICT_POSTGRES: &str = "-- name: OWN-CONFLICT.declare\nv_count bigint;\n\n\
     -- name: OWN-CONFLICT.body\n\
     update {{small}} set status = status + 1 where id = 1 + (v_seed * {{small_rows}} >> 31);\n\
     get diagnostics v_count = row_count;\n\
     if v_seed % 1000 = 7 then\n\
     raise exception 'made up' using errcode = 'serialization_failure';\n\
     end if;\n\
     commit;\n\
     v_rows := v_rows + v_count;\n\
     v_commits := v_commits + 1;\n";
const CONFLICT_MARIADB: &str = "-- name: OWN-CONFLICT.body\n\
     start transaction;\n\
     update {{small}} set status = status + 1 where id = 1 + (v_seed * {{small_rows}} >> 31);\n\
     set v_rows = v_rows + row_count();\n\
     if v_seed % 1000 = 7 then\n\
     signal sqlstate '40001' set mysql_errno = 1213, message_text = 'made up';\n\
     end if;\n\
     commit;\n\
     set v_commits = v_commits + 1;\n";
const CONFLICT_ORACLE: &str = "-- name: OWN-CONFLICT.body\nnull; -- not run here\n";

/// Count of a run of this many ops in each of two jobs, and the number of updates in the table.
fn counted_and_done(engine: &str, ops: u32) -> (Value, u64) {
    let (desk, lease) = (Desk::new(), Lease::new(engine, None, &[]));
    let group = desk.path("cat/workloads/own");
    std::fs::create_dir_all(&group).unwrap();
    std::fs::write(group.join("group.toml"), CONFLICT).unwrap();
    std::fs::write(group.join("postgres.sql"), CONFLICT_POSTGRES).unwrap();
    std::fs::write(group.join("mariadb.sql"), CONFLICT_MARIADB).unwrap();
    std::fs::write(group.join("oracle.sql"), CONFLICT_ORACLE).unwrap();
    let line = format!(
        "--catalog {} run {} --size 0.01 --profile XS --workload OWN-CONFLICT --jobs 2 --warmup 0 \
         --ops {ops} --no-sampler --quiet --format json",
        desk.path("cat").display(),
        lease.url
    );
    let run = desk.run(&line).ok().json();
    let mut session = try_session_of(engine, &lease.url).unwrap();
    let prefix = dbdyno::engine::find(engine).unwrap().capabilities().prefix;
    let sql = format!("select cast(sum(status) as char(20)) as n from {prefix}small");
    let done = column(session.as_mut(), &sql)[0].trim().parse().unwrap();
    (run["tests"][0].clone(), done)
}

#[test]
fn an_error_does_not_void_what_was_committed_before_it() {
    // A single error has nothing before it in one of MariaDB's calls, which are of one op.
    let assert_counted = |engine: &str, ops_of_job: u32, least_errors: u64| {
        let (test, done) = counted_and_done(engine, ops_of_job);
        let [ops, errors] = ["ops", "errors"].map(|name| test[name].as_u64().unwrap());
        assert!(errors >= least_errors, "{engine}: {test:#}");
        // One update more of each look at the answer.
        assert!(ops <= done, "{engine}: {ops} counted, {done} done: {test:#}");
        assert!(ops as f64 > 0.85 * done as f64, "{engine}: {ops} counted, {done} done: {test:#}");
        assert_eq!(ops, 2 * u64::from(ops_of_job), "{engine}: all of the work was done: {test:#}");
        if errors == 0 {
            return;
        }
        let text = test["verdict"].to_string();
        assert!(text.contains("serialization") || text.contains("deadlock"), "{engine}: {text}");
        assert_eq!(text.contains("is not counted"), engine == "postgres", "{engine}: {text}");
    };
    assert_counted("postgres", 15_000, 10);
    assert_counted("mariadb", 500, 0);
}

/// A session that has looked at our table and goes on with its transaction.
fn holder(engine: &str, url: &str) -> (Box<dyn Session>, String) {
    let mut session = try_session_of(engine, url).unwrap();
    let prefix = dbdyno::engine::find(engine).unwrap().capabilities().prefix;
    let own_id = match engine {
        "postgres" => "select pg_backend_pid()::text",
        _ => "select cast(connection_id() as char(20))",
    };
    if engine == "postgres" {
        session.execute("set application_name = 'somebody'").unwrap(); // and no dbdyno
    }
    session.execute("begin").unwrap();
    session.query(&format!("select count(*) from {prefix}small"), &[]).unwrap();
    let id = column(session.as_mut(), own_id).remove(0);
    (session, id)
}

#[test]
fn clean_says_who_holds_the_lock_that_it_waits_for_and_ends_at_one_signal() {
    for engine in ["postgres", "mariadb"] {
        let (desk, lease) = (Desk::new(), Lease::new(engine, None, &[]));
        desk.run(&format!("load {} --size 0.01 --workload SRV-QUERY1 --quiet", lease.url)).ok();
        let (mut session, id) = holder(engine, &lease.url);
        let mut clean = desk.spawn(&format!("clean {}", lease.url));
        let mut lines = BufReader::new(clean.stderr.take().unwrap()).lines().map(Result::unwrap);
        let waits = lines.find(|line| line.contains("waiting for a lock")).unwrap();
        let names = [format!("session {id}"), "user ".into(), "in a transaction since ".into()];
        assert!(names.iter().all(|name| waits.contains(name)), "{engine}: {waits}");
        assert!(waits.contains("to end it: "), "{engine}: {waits}");
        signal(clean.id(), Signal::INT);
        let rest: Vec<String> = lines.collect();
        assert_eq!(clean.wait().unwrap().code(), Some(130), "{engine}: {rest:?}");
        let held = |line: &String| {
            line.contains("interrupted while waiting for a lock") && line.contains(&names[0])
        };
        assert!(rest.iter().any(held), "{engine}: {rest:?}");
        session.execute("rollback").unwrap();
        desk.run(&format!("clean {}", lease.url)).ok();
    }
}

/// A clock of the server that is set back by an hour after a thousand looks at it: how a harness
/// reads the time, what makes the other clock, and what makes a call that goes on an error.
fn clock_set_back(engine: &str) -> (&'static str, &'static [&'static str], &'static str) {
    match engine {
        "postgres" => (
            "clock_timestamp()",
            &[
                "create sequence dbdyno.looks",
                "create function dbdyno.other_clock() returns timestamptz language sql volatile as \
                 $$ select clock_timestamp() - case when nextval('dbdyno.looks') > 1000 then \
                 interval '1 hour' else interval '0' end $$",
            ],
            "set statement_timeout = '100s'",
        ),
        _ => (
            "sysdate(6)",
            &[
                "create sequence dbdyno.looks",
                "create function dbdyno.other_clock() returns datetime(6) \
                 return sysdate(6) - interval if(next value for dbdyno.looks > 1000, 1, 0) hour",
            ],
            "set max_statement_time = 100",
        ),
    }
}

#[test]
fn a_routine_whose_servers_clock_is_set_back_ends_its_slice_and_tells() {
    for engine in ["postgres", "mariadb"] {
        let lease = Lease::new(engine, None, &[]);
        let mut session = try_session_of(engine, &lease.url).unwrap();
        let (clock, other, limit) = clock_set_back(engine);
        session.execute("create schema dbdyno").unwrap();
        for sql in other.iter().chain([&limit]) {
            session.execute(sql).unwrap();
        }
        let routine = crate::skewed::drawing(engine, "keys=uniform,rows=1000");
        for sql in &routine.create {
            session.execute(&sql.replace(clock, "dbdyno.other_clock()")).unwrap();
        }
        let value = |name: &str| match name {
            "job" | "jobs" | "seed" | "stride" => "1",
            "tell_us" => "null",
            _ => "1000000000", // a quarter of an hour, and more ops than it has time for
        };
        let rows = session.query(&routine.call.with_values(value), &[]).unwrap();
        let number = |name: &str| rows.get(0, name).unwrap().parse::<f64>().unwrap();
        assert!((900.0..1_100.0).contains(&number("ops")), "{engine}: {} ops", number("ops"));
        // It tells by how much: whoever calls it does not believe its times.
        assert!(number("elapsed_us") < -3.5e9, "{engine}: {} us", number("elapsed_us"));
    }
}
