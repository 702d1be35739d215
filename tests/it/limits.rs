//! The bottleneck finds causes that we provoke on both servers: each is among those that are found,
//! with its evidence, whatever else a busy machine adds.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dbdyno::server::{self, PrivateServer, StartOptions};
use serde_json::Value;

use crate::leftovers::Directory;
use crate::support::{Desk, Done, directory, ended, start_options, until};

const LINE: &str = "--warmup 300ms --format json --quiet";
/// Between what a server says and when its client hears it.
const SLOW_NETWORK: Duration = Duration::from_millis(3);

/// File that makes a device slow.
const SLOW: &str = "slow";

/// An engine and its socket within the directory of a private server.
#[derive(Clone, Copy)]
struct Kind {
    engine: &'static str,
    socket: &'static str,
    /// The server's program, and the one that makes its files.
    program: &'static str,
    installer: &'static str,
    /// Smallest caches, and the smallest log.
    small_cache: &'static [(&'static str, &'static str)],
    small_log: &'static [(&'static str, &'static str)],
    /// Commits do not wait for the log.
    relaxed: &'static [(&'static str, &'static str)],
}

const KINDS: [Kind; 2] = [
    Kind {
        engine: "postgres",
        socket: "dbdyno-postgres/socket/.s.PGSQL.5432",
        program: "postgres",
        installer: "initdb",
        small_cache: &[
            ("shared_buffers", "1MB"),
            ("track_io_timing", "on"),
            ("max_wal_size", "64MB"),
        ],
        small_log: &[
            ("max_wal_size", "32MB"),
            ("min_wal_size", "32MB"),
            ("checkpoint_timeout", "30s"),
            ("shared_buffers", "64MB"),
        ],
        relaxed: &[("synchronous_commit", "off")],
    },
    Kind {
        engine: "mariadb",
        socket: "dbdyno-mariadb/socket/mariadb.sock",
        program: "mariadbd",
        installer: "mariadb-install-db",
        small_cache: &[
            ("innodb_buffer_pool_size", "8M"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_log_file_size", "32M"),
        ],
        small_log: &[("innodb_log_file_size", "4M"), ("innodb_buffer_pool_size", "64M")],
        relaxed: &[("innodb_flush_log_at_trx_commit", "0"), ("innodb_buffer_pool_size", "8M")],
    },
];

impl Kind {
    /// URL of a server whose socket is at `path`.
    fn url(self, path: &Path) -> String {
        match self.engine {
            "postgres" => format!(
                "postgres://dbdyno@/postgres?host={}&port=5432",
                path.parent().unwrap().display()
            ),
            _ => format!("mariadb://dbdyno@/?socket={}&auth=none", path.display()),
        }
    }
}

/// A server of the test's own, and what runs on it.
struct Bench {
    kind: Kind,
    desk: Desk,
    server: PrivateServer,
    home: Directory,
}

impl Bench {
    fn new(kind: Kind, settings: &[(&str, &str)]) -> Bench {
        Bench::with(kind, directory(), settings, None)
    }

    fn with(
        kind: Kind,
        home: Directory,
        settings: &[(&str, &str)],
        server_bin: Option<PathBuf>,
    ) -> Bench {
        let options = StartOptions { server_bin, ..start_options(home.path(), settings) };
        let server = server::start(kind.engine, &options).unwrap();
        Bench { kind, desk: Desk::new(), server, home }
    }

    /// A server on a device that becomes slow when the file of this name is in its home; on a fast
    /// one with busy processors reads are next to nothing.
    fn on_a_slow_device(kind: Kind, settings: &[(&str, &str)]) -> Bench {
        let home = directory();
        let programs = home.path().join("programs");
        let (library, wrapped) = (home.path().join("slow_reads.so"), programs.join(kind.program));
        std::fs::create_dir(&programs).unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/slow_reads.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-o"])
            .arg(&library)
            .arg(source)
            .status();
        assert!(built.unwrap().success());
        let real = installed_program(kind.program);
        let slow = home.path().join(SLOW).display().to_string();
        let library = library.display();
        let text = format!(
            "#!/bin/sh\nSLOW_READS='{slow}' LD_PRELOAD='{library}' exec {} \"$@\"\n",
            real.display()
        );
        std::fs::write(&wrapped, text).unwrap();
        std::fs::set_permissions(&wrapped, std::fs::Permissions::from_mode(0o755)).unwrap();
        let installer = installed_program(kind.installer);
        std::os::unix::fs::symlink(&installer, programs.join(kind.installer)).unwrap();
        Bench::with(kind, home, settings, Some(programs))
    }

    fn line(&self, url: &str, options: &str) -> String {
        let or = |option: &str, usual: &str| {
            if options.contains(option) { String::new() } else { format!("{option} {usual}") }
        };
        format!("run {url} {LINE} {} {} {options}", or("--size", "0.01"), or("--duration", "3s"))
    }

    fn finds(&self, cause: &str, options: &str) -> Value {
        self.finds_within(&[cause], options, &["1s", "3s", "9s"])
    }

    /// The test in which one of the causes is found, of tests as long as these: the busier the
    /// machine, the longer they take to come about.
    fn finds_within(&self, wanted: &[&str], options: &str, durations: &[&str]) -> Value {
        let mut found = Vec::new();
        for duration in durations {
            let length = if options.contains("--duration") {
                String::new()
            } else {
                format!("--duration {duration}")
            };
            let run = self.desk.run(&self.line(&self.server.url(), &format!("{options} {length}")));
            found = causes(&run);
            if is_among(&found, wanted) {
                return run.json()["tests"].as_array().unwrap().last().unwrap().clone();
            }
        }
        panic!("{}, {options}: none of {wanted:?} is among {found:#?}", self.kind.engine);
    }
}

/// Result of the experiment for a test's bottleneck; it is that of a cause which was found.
fn experiment_of(test: &Value) -> &Value {
    let explained = &test["explained"];
    let mut causes = test["limiters"].as_array().unwrap().iter().map(|limit| &limit["cause"]);
    assert!(
        causes.any(|cause| *cause == explained["cause"]),
        "{explained:#} {:#}",
        test["limiters"]
    );
    explained
}

/// A block of both sides was measured: with so few the forecast is undecided, and both figures are
/// there.
fn is_tried(explained: &Value) -> bool {
    let blocks = explained["blocks"].as_array().unwrap();
    let measured = blocks
        .iter()
        .flat_map(|block| block.as_array().unwrap())
        .all(|per_s| per_s.as_f64().unwrap() > 0.0);
    let judged = explained["outcome"] == "undecided" && explained["missing"].is_null();
    judged && measured && blocks.len() as u64 + explained["left_out"].as_u64().unwrap() == 1
}

/// The causes of the last test of a run.
fn causes(run: &Done) -> Vec<Value> {
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let run = run.json();
    crate::support::assert_run_schema(&run);
    run["tests"].as_array().unwrap().last().unwrap()["limiters"].as_array().unwrap().clone()
}

/// One of these causes, with evidence and an experiment.
fn is_among(found: &[Value], causes: &[&str]) -> bool {
    let is_it = |limit: &&Value| causes.iter().any(|cause| limit["cause"] == *cause);
    let said = |limit: &Value, name: &str| limit[name].as_str().is_some_and(|text| text.len() > 5);
    found
        .iter()
        .find(is_it)
        .is_some_and(|limit| said(limit, "evidence") && said(limit, "experiment"))
}

/// Processes that keep processors busy, as long as this lives.
struct Busy(Vec<Child>);

impl Busy {
    fn new() -> Busy {
        Busy::on(&["env"], 2 * std::thread::available_parallelism().unwrap().get())
    }

    /// So many, each started by this command.
    fn on(starter: &[&str], count: usize) -> Busy {
        let spin = || {
            let mut command = Command::new(starter[0]);
            command.args(&starter[1..]).args(["sh", "-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).spawn().unwrap()
        };
        Busy((0..count).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Path of a server's program that a distribution's package installed.
fn installed_program(program: &str) -> PathBuf {
    let packages = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"));
    let found =
        packages.chain(["/usr/sbin", "/usr/bin"].map(PathBuf::from)).map(|dir| dir.join(program));
    found
        .filter(|path| path.exists())
        .last()
        .unwrap_or_else(|| panic!("{program} is not installed"))
}

/// A workload of our own: every job updates the same row and holds it for some milliseconds.
fn hot_row(desk: &Desk) -> PathBuf {
    let folder = desk.path("own/workloads/hot");
    std::fs::create_dir_all(&folder).unwrap();
    let group = "id = 'HOT'\ntitle = 'hot rows'\nabout = 'Jobs that fight for a \
                 row.'\n[[workload]]\nid = 'HOT-ROW'\ntitle = 'update the same row, commit'\nabout \
                 = 'All jobs want one row.'\nrevision = 1\ntables = ['small']\nwarm = \
                 ['small']\ncommits = true\nkpm = { value = 'ops', unit = 'tps', better = 'higher' \
                 }\nclient = [{ commit = 'block', steps = ['touch', 'linger'] }]\nundrivable = { \
                 database = 'a client drives it' }\ncontract = [{ what = 'rows', per = 'ops', min \
                 = 1, max = 2, because = 'an op is one row' }]\n";
    std::fs::write(folder.join("group.toml"), group).unwrap();
    // The row stays locked for a while, also where a commit gives it free before the log is synced.
    let linger = |sleep: &str| format!("-- name: HOT-ROW.linger\nselect {sleep}\n");
    let touch = "-- name: HOT-ROW.touch\nupdate {{small}} set status = status + 1 where id = 1\n\n";
    std::fs::write(folder.join("common.sql"), format!("{touch}{}", linger("1"))).unwrap();
    for (engine, sleep) in [("postgres", "pg_sleep(0.003)"), ("mariadb", "sleep(0.003)")] {
        std::fs::write(folder.join(format!("{engine}.sql")), linger(sleep)).unwrap();
    }
    desk.path("own")
}

/// Between a client and the server at `to`: hands on what it hears, answers of the server late.
fn slow_way(at: &Path, to: PathBuf) {
    let listener = UnixListener::bind(at).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = UnixStream::connect(&to) else { return };
            let (to_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || hand_on(client, to_server, Duration::ZERO));
            std::thread::spawn(move || hand_on(server, to_client, SLOW_NETWORK));
        }
    });
}

fn hand_on(mut from: UnixStream, mut to: UnixStream, delay: Duration) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        std::thread::sleep(delay);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn commits_wait_for_the_log_and_for_a_row_that_all_want() {
    for kind in KINDS {
        let bench = Bench::new(kind, &[]);
        // The experiment is that for the first cause: in a second it may be another one.
        let options = "--workload LGWR-LAT --jobs 2 --test-bottleneck=1";
        let test = bench.finds_within(&["log-sync"], options, &["3s", "9s"]);
        let refused = experiment_of(&test);
        assert_eq!(refused["outcome"], "not-tried", "{refused:#}");
        assert!(refused["missing"].as_str().is_some_and(|why| why.len() > 5), "{refused:#}");
        let own = hot_row(&bench.desk).display().to_string();
        let test = bench.finds(
            "row-lock",
            &format!(
                "--catalog {own} --workload HOT-ROW --jobs 6 --duration 1s --test-bottleneck=1"
            ),
        );
        let tried = experiment_of(&test);
        assert!(is_tried(tried) && tried["changed"]["jobs"] == "3", "{}: {tried:#}", kind.engine);
    }
}

/// Workloads of our own: all jobs make one table longer; a job empties a table, for which the
/// server syncs a new data file.
fn hot_table(desk: &Desk) -> PathBuf {
    let folder = desk.path("hot/workloads/hot");
    std::fs::create_dir_all(&folder).unwrap();
    let head = "id = 'HOT'\ntitle = 'hot tables'\nabout = 'Jobs that fight for a \
                table.'\n[defaults]\nrevision = 1\ntables = ['small']\nkpm = { value = 'ops', unit \
                = 'qps', better = 'higher' }\nundrivable = { database = 'a client drives it' \
                }\nsetup = ['create']\nteardown = ['drop']\ncontract = [{ what = 'rows', per = \
                'ops', min = 0, because = 'rows are not what counts' }]\n";
    let workload = |id: &str, step: &str| {
        format!(
            "[[workload]]\nid = 'HOT-{id}'\ntitle = '{step}'\nabout = '{step}.'\nclient = [{{ \
             steps = ['{step}'] }}]\n"
        )
    };
    std::fs::write(
        folder.join("group.toml"),
        head.to_string() + &workload("GROW", "grow") + &workload("RENEW", "renew"),
    )
    .unwrap();
    let create = |kind: &str| {
        let table = |id: &str| {
            format!(
                "-- name: HOT-{id}.create\ncreate {kind} {{{{prefix}}}}hot_{id} (id bigint, pad \
                 text)\n\n"
            )
        };
        table("GROW") + &table("RENEW")
    };
    let grow = |numbers: &str| {
        format!(
            "-- name: HOT-GROW.grow\ninsert into {{{{prefix}}}}hot_GROW select n, repeat('x', \
             1900) from {numbers}\n\n"
        )
    };
    let common = "-- name: HOT-GROW.drop\ndrop table if exists {{prefix}}hot_GROW\n\n-- name: \
                  HOT-RENEW.drop\ndrop table if exists {{prefix}}hot_RENEW\n\n-- name: \
                  HOT-RENEW.renew\ntruncate table {{prefix}}hot_RENEW\n\n";
    let files = [
        ("common.sql", common.to_string() + &create("table") + &grow("(select 1 as n) as one")),
        ("postgres.sql", create("unlogged table") + &grow("generate_series(1, 200) as n")),
        ("mariadb.sql", grow("(select seq as n from seq_1_to_200) as numbers")),
    ];
    files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
    desk.path("hot")
}

/// A cause is named only if sessions were seen at its activity, with its share of their time:
/// whether contention takes so much is a matter of the machine.
fn assert_named_as_seen(test: &Value, cause: &str) {
    assert!(test["waits"]["sessions"].as_f64().unwrap() > 0.0, "{:#}", test["waits"]);
    let mut limits = test["limiters"].as_array().unwrap().iter();
    if let Some(named) = limits.find(|limit| limit["cause"] == cause) {
        let share = named["share"].as_f64().unwrap();
        assert!(
            seen_at(test, cause) > 0 && share > 0.0 && share <= 1.0,
            "{named:#} {:#}",
            test["waits"]
        );
    }
}

/// Sightings of jobs at an activity.
fn seen_at(test: &Value, activity: &str) -> u64 {
    let seen = |event: &&Value| event["activity"] == activity && event["background"] != true;
    let events = test["waits"]["events"].as_array().unwrap().iter().filter(seen);
    events.map(|event| event["samples"].as_u64().unwrap()).sum()
}

/// Both servers at once: most of the time they start, stop and load.
fn on_both(test: impl Fn(Kind) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for kind in KINDS {
            scope.spawn(move || test(kind));
        }
    });
}

#[test]
fn jobs_wait_for_a_table_that_all_make_longer_and_for_new_data_files() {
    on_both(|kind| {
        let bench = Bench::new(kind, kind.relaxed);
        let own = hot_table(&bench.desk).display().to_string();
        // Of one second there are a handful of samples: of more, until one meets it.
        let until_seen = |options: &str, activity: &str, durations: &[&str]| {
            let mut test = Value::Null;
            for duration in durations {
                let options = format!("--catalog {own} {options} --duration {duration}");
                let run = bench.desk.run(&bench.line(&bench.server.url(), &options)).ok().json();
                test = run["tests"][0].clone();
                if seen_at(&test, activity) > 0 {
                    break;
                }
            }
            test
        };
        let durations = ["1s", "4s", "16s"];
        let grown = until_seen("--workload HOT-GROW --jobs 8", "latch", &durations);
        assert_named_as_seen(&grown, "latch");
        assert!(seen_at(&grown, "latch") > 0, "{}: {:#}", kind.engine, grown["waits"]);
        // Sessions of MariaDB write no pages and sync no data files of InnoDB: its page cleaner
        // does.
        let is_seen = kind.engine != "mariadb";
        let durations = if is_seen { &durations[..] } else { &durations[..1] };
        let renewed = until_seen("--workload HOT-RENEW --jobs 1", "data-write", durations);
        assert_named_as_seen(&renewed, "data-write");
        let written = seen_at(&renewed, "data-write");
        assert!(!is_seen || written > 0, "{}: {:#}", kind.engine, renewed["waits"]);
    });
}

/// A profile of our own with the smallest caches.
fn small_profile(desk: &Desk) -> PathBuf {
    let folder = desk.path("small/profiles");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = |kind: &Kind| {
        let lines = kind
            .small_cache
            .iter()
            .map(|(name, value)| format!("{name} = '{value}'\n"))
            .collect::<String>();
        format!("[settings.{}]\n{lines}", kind.engine)
    };
    let head = "id = 'SMALL'\ntitle = 'the smallest caches'\nsize_gb = 0.05\ncache_mb = \
                8\nmemory_mb = 64\n";
    std::fs::write(
        folder.join("SMALL.toml"),
        head.to_string() + &KINDS.iter().map(settings).collect::<String>(),
    )
    .unwrap();
    desk.path("small")
}

#[test]
fn an_experiment_takes_the_limit_of_a_private_server_away() {
    on_both(|kind| {
        let desk = Desk::new();
        let own = small_profile(&desk).display().to_string();
        // The busier the machine, the longer it takes until samples meet the log, in the test and
        // in a trial.
        let durations = ["400ms", "2s", "6s"].iter();
        let mut runs = durations.map(|duration| {
            let line = format!(
                "run {} --catalog {own} --profile SMALL --workload LGWR-LAT --workload STO-RANDOM \
                 --jobs 2 --duration {duration} --test-bottleneck=1 {LINE}",
                kind.engine
            );
            desk.run(&line).ok().json()
        });
        let takes_away = |run: &Value| {
            let log = &run["tests"][0]["explained"];
            let [before, after] = ["share_before", "share_after"].map(|name| log[name].as_f64());
            log["cause"] == "log-sync" && is_tried(log) && after < before
        };
        let run = runs
            .find(takes_away)
            .unwrap_or_else(|| panic!("{}: no limit of the log is taken away", kind.engine));
        let (tests, log) = (run["tests"].as_array().unwrap(), &run["tests"][0]["explained"]);
        let per_s = log["blocks"][0].as_array().unwrap();
        assert!(
            per_s.len() == 2 && log["changed"].as_object().unwrap().len() == log_settings(kind),
            "{log:#}"
        );
        // Where containers have little memory for it, it is said so.
        let in_memory = &log["further"][0];
        let is_moved = in_memory["changed"]["log"] == "tmpfs" && is_tried(in_memory);
        let has_no_room =
            in_memory["missing"].as_str().is_some_and(|why| why.starts_with("/dev/shm "));
        assert!(
            (is_moved || has_no_room) && log["bound"] == "at-least",
            "{}: {log:#}",
            kind.engine
        );
        // On a fast device reads take less than a tenth of the time: then there is nothing to take
        // away.
        let limits = tests[1]["limiters"].as_array().unwrap();
        if limits.first().is_some_and(|limit| limit["cause"] == "read") {
            let read = experiment_of(&tests[1]);
            assert!(read["cause"] == "read" && is_tried(read), "{}: {read:#}", kind.engine);
            assert!(
                read["share_after"].as_f64() <= read["share_before"].as_f64(),
                "{}: {read:#}",
                kind.engine
            );
        }
        let page = desk.run("report test last:1 --language de").ok().stdout;
        assert!(page.contains("Experiment: ") && page.contains("unentschieden"), "{page}");
    });
}

/// Settings of an engine's experiment for log syncs.
fn log_settings(kind: Kind) -> usize {
    if kind.engine == "mariadb" { 2 } else { 1 }
}

#[test]
fn a_job_by_itself_and_many_use_up_processors_unless_others_have_them() {
    for kind in KINDS {
        let bench = Bench::new(kind, &[]);
        // Between the two there is a little room: a job that others held up for less than a tenth
        // of its time.
        let looks = ["1s", "3s", "6s", "9s"];
        bench.finds_within(&["one-thread", "neighbours"], "--workload SRV-QUERY1 --jobs 1", &looks);
        bench.finds_within(&["cpu", "neighbours"], "--workload SRV-QUERY1 --jobs 8", &looks);
        // What other programs take is read from the kernel, whatever the engine is.
        if kind.engine == KINDS[0].engine {
            let _busy = Busy::new();
            bench.finds("neighbours", "--workload SRV-QUERY1 --jobs 4");
        }
    }
}

#[test]
fn a_cache_that_is_too_small_makes_jobs_wait_for_reads() {
    for kind in KINDS {
        let bench = Bench::on_a_slow_device(kind, kind.small_cache);
        let url = bench.server.url();
        bench.desk.run(&format!("load {url} --size 0.02 --quiet")).ok();
        std::fs::write(bench.home.path().join(SLOW), "").unwrap();
        bench.finds("read", "--workload STO-RANDOM --jobs 2 --size 0.02");
    }
}

#[test]
fn a_log_that_is_too_small_makes_checkpoints_follow_one_another() {
    for kind in KINDS {
        let bench = Bench::new(kind, kind.small_log);
        let test = bench.finds_within(
            &["checkpoint"],
            "--workload LGWR-THR --jobs 2",
            &["4s", "15s", "40s"],
        );
        let events = test["waits"]["events"].as_array().unwrap().iter();
        let seen: Vec<_> = events
            .filter(|event| event["class"].as_str().unwrap().starts_with("checkpointer"))
            .collect();
        let mut limits = test["limiters"].as_array().unwrap().iter();
        let limit = limits.find(|limit| limit["cause"] == "checkpoint").unwrap();
        let has_share = limit["share"].is_number();
        assert!(!has_share || !seen.is_empty(), "{}: {limit:#} {seen:#?}", kind.engine);
        assert!(
            has_share || !seen.iter().any(|event| event["background"] == true),
            "{}: {limit:#} {seen:#?}",
            kind.engine
        );
    }
}

#[test]
fn sessions_wait_for_a_client_without_processors() {
    let processor = first_processor();
    for kind in KINDS {
        let bench = Bench::new(kind, &[]);
        let url = bench.server.url();
        bench.desk.run(&format!("load {url} --size 0.01 --quiet")).ok();
        let line = bench.line(&url, "--workload SRV-QUERY1 --drive client --jobs 4");
        let wanted = bench.desk.command(&line);
        let mut pinned = Command::new("taskset");
        pinned
            .args(["-c", &processor, "nice", "-n", "10"])
            .arg(wanted.get_program())
            .args(wanted.get_args());
        let inherited = wanted.get_envs().filter_map(|(name, value)| Some((name, value?)));
        pinned.env_clear().envs(inherited).stdin(Stdio::null());
        let run = pinned.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        until("the run has begun", || !bench.desk.runs_so_far().is_empty());
        // The client has a tenth of one processor; the server has the others.
        let _busy = Busy::on(&["taskset", "-c", &processor], 1);
        let found = causes(&ended(run, &line));
        assert!(is_among(&found, &["client"]), "{}: {found:#?}", kind.engine);
    }
}

/// Number of a processor that we may use.
fn first_processor() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    list.split([',', '-']).next().unwrap().to_string()
}

#[test]
fn sessions_wait_for_a_slow_network() {
    for kind in KINDS {
        let bench = Bench::new(kind, &[]);
        let way = directory();
        let at = way.path().join(Path::new(kind.socket).file_name().unwrap());
        slow_way(&at, bench.home.path().join(kind.socket));
        let line = bench.line(&kind.url(&at), "--workload SRV-QUERY1 --drive client --jobs 2");
        let found = causes(&bench.desk.run(&line));
        assert!(is_among(&found, &["network"]), "{}: {found:#?}", kind.engine);
    }
}

#[test]
fn a_ramp_says_where_its_limit_begins_and_a_page_what_to_try() {
    let bench = Bench::new(KINDS[0], &[]);
    let run = bench
        .desk
        .run(&bench.line(&bench.server.url(), "--workload LGWR-LAT --jobs 1,2 --duration 1s"));
    // On a busy machine others may come before the log.
    let found = causes(&run);
    let first = found.first().map_or("not found", |limit| limit["cause"].as_str().unwrap());
    let page = bench.desk.run("report test last:2").ok().stdout;
    assert!(
        page.contains("\nBottlenecks\n") && (page.contains("Next experiment") || found.is_empty()),
        "{page}"
    );
    let page = bench.desk.run("report test last:2 --language de").ok().stdout;
    assert!(page.contains("\nEngpässe\n") && page.contains("Amdahls Gesetz"), "{page}");
    let scaling = bench.desk.run("report scaling --format markdown").ok().stdout;
    assert!(scaling.contains("| Bottleneck |") && scaling.contains(first), "{scaling}");
}
