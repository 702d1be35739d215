//! Every workload on every engine and drive that has it, for a moment, on real databases: no error,
//! no wrong answer, and nothing that the database's own counters contradict.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dbdyno::catalog::Catalog;
use dbdyno::engine;
use dbdyno::model::params::{KEYS, ORG, OWN_ORG};
use dbdyno::model::{Drive, End, Plan, Reason, Selection, Status, Target, TestResult, Window};
use dbdyno::plan::{self, Request};
use dbdyno::run::{self, Event, Keep, RunContext};
use dbdyno::server;
use dbdyno::store::Store;
use dbdyno::test_runner::Interrupt;

use crate::skipped::skipped;
use crate::support::{DISTURBED, directory, lacks_library, servers, turn};

/// The big table (100,000 rows, 33 MB) does not fit the caches below, the small one does.
const SIZE_GB: f64 = 0.1;
/// SQLite's caches hold the small table, which is always the same, and half of the smallest big one
/// (48,000 rows, 16 MB): there is one for each connection, so that no job finds what another read.
const SIZE_OF_SQLITE_GB: f64 = 0.048;
/// MariaDB's caches below hold the small table with what writing it takes, and not this big one.
const SIZE_OF_MARIADB_GB: f64 = 0.064;
/// Enough that they meet one another, and no more than processors on a small machine.
const JOBS: &str = "2";
/// Codes of reasons that are mistakes of ours; a figure may be invalid for others in so short a
/// window.
const MISTAKES: [&str; 5] = ["failed", "contract", "crosscheck", "errors", "little"];
/// Those among them that another program on the machine, or the server's own work in the
/// background, can cause when a window is short: a wait for a processor, a few hundred reads.
const DOUBTS: [&str; 3] = ["contract", "little", "crosscheck"];
/// Those that no disturbance excuses when they are found again and again. (A server sums up its
/// counters while sessions end: once in thousands of tests on a crowded machine it missed what a
/// session of ours had done before the test.)
const UNEXCUSED: &str = "crosscheck";
/// Window of the first try. A warm-up only sees to it that the window opens while jobs work: claims
/// are about the whole test, in which ops of up to five milliseconds are so many that one event too
/// many for each is more than a cross-check allows.
const FIRST: Window = window(0.02, 0.07);
/// Windows of further tries of what is in doubt: most is settled by half a second; where others
/// take the processors in bursts, three seconds may find no calm moment.
const LONGER: [Window; 4] =
    [window(0.1, 0.5), window(0.5, 3.0), window(0.5, 3.0), window(0.5, 3.0)];

const fn window(warmup_s: f64, window_s: f64) -> Window {
    Window { warmup_s, end: End::Time(window_s) }
}

#[test]
fn sqlite_runs_every_workload_and_its_counters_agree() {
    let dir = directory();
    let target = Target::Embedded { engine: "sqlite".into(), data_dir: dir.path().join("data") };
    let settings = [
        ("cache_mb", "8"),
        ("journal_mode", "wal"),
        ("synchronous", "full"),
        ("wal_autocheckpoint", "1000"),
    ];
    every_workload(&target, &settings, dir.path(), |_| true);
}

#[test]
fn duckdb_runs_every_workload_and_its_counters_agree() {
    let dir = directory();
    let target = Target::Embedded { engine: "duckdb".into(), data_dir: dir.path().join("data") };
    every_workload(
        &target,
        &[("cache_mb", "24"), ("block_size", "16384"), ("checkpoint_threshold", "1MiB")],
        dir.path(),
        |_| true,
    );
}

#[test]
fn chdb_runs_every_workload_and_its_counters_agree() {
    if let Some(why) = lacks_library("chdb") {
        return skipped("CHDB", why);
    }
    let (_turn, dir) = (turn("chdb"), directory());
    let target = Target::Embedded { engine: "chdb".into(), data_dir: dir.path().join("data") };
    every_workload(&target, &[("cache_mb", "24"), ("sort_mb", "64")], dir.path(), |_| true);
}

#[test]
fn postgres_runs_every_workload_in_both_drives_and_its_counters_agree() {
    let settings =
        [("shared_buffers", "16MB"), ("max_parallel_workers_per_gather", "0"), ("jit", "off")];
    on_private_server("postgres", None, &settings, |_| true);
}

const OF_MARIADB: [(&str, &str); 13] = [
    ("innodb_buffer_pool_size", "18M"),
    // By its default InnoDB would keep all of so small a pool free, and leave what is read for the
    // first time, as tables that are to be cached, a third of the rest.
    ("innodb_lru_scan_depth", "100"),
    ("innodb_old_blocks_pct", "95"),
    ("aria_pagecache_buffer_size", "10M"),
    ("innodb_log_file_size", "32M"),
    // What tests leave to write is written soon, and rows are sorted, not fetched again in their
    // order.
    ("innodb_io_capacity", "10000"),
    ("innodb_io_capacity_max", "20000"),
    ("max_length_for_sort_data", "4096"),
    ("performance_schema", "off"),
    ("innodb_stats_auto_recalc", "off"),
    ("loose_rocksdb_block_cache_size", "11M"),
    ("loose_rocksdb_use_direct_reads", "on"),
    ("loose_rocksdb_default_cf_options", "compression=kNoCompression"),
];

/// Workloads of the other generation of the server: what a client drives, but for what needs a
/// plugin of the distribution, or a checkpoint on request, which 11.4.5 has in debug builds only.
/// Each generation takes a part, so that no test runs twice.
fn of_fetched_mariadb(selection: &Selection) -> bool {
    selection.drive == Drive::Client
        && selection.params.get("org").is_none_or(|org| org != "lsm")
        && selection.workload.id != "DBWR-EACH"
}

#[test]
fn mariadb_runs_every_workload_in_the_server_and_its_counters_agree() {
    on_private_server("mariadb", None, &OF_MARIADB, |selection| {
        other_generation("mariadb").is_none() || !of_fetched_mariadb(selection)
    });
}

#[test]
fn mariadb_of_another_generation_runs_every_workload_of_a_client_and_its_counters_agree() {
    let Some(server_bin) = other_generation("mariadb") else {
        return skipped(
            "OTHER_MARIADB",
            "there is no other generation of MariaDB for this machine",
        );
    };
    on_private_server("mariadb", Some(server_bin), &OF_MARIADB, of_fetched_mariadb);
}

/// The programs of another generation of a server than the installed one, if there are any for this
/// machine.
fn other_generation(engine: &str) -> Option<PathBuf> {
    servers(engine).into_iter().flatten().next()
}

fn on_private_server(
    engine: &str,
    server_bin: Option<PathBuf>,
    settings: &[(&str, &str)],
    part: impl Fn(&Selection) -> bool,
) {
    let dir = directory();
    let data_dir = dir.path().join("data");
    let target =
        Target::Private { engine: engine.into(), data_dir, server_bin, port: None, cluster: None };
    every_workload(&target, settings, dir.path(), part);
}

/// All tests of an engine, or a part of them, in one run, which loads the tables once: the values
/// of the parameters in the first drive that has the workload, the defaults in each.
fn every_workload(
    target: &Target,
    settings: &[(&str, &str)],
    dir: &Path,
    part: impl Fn(&Selection) -> bool,
) {
    let catalog = crate::support::catalog();
    let plans = drives(target.engine()).iter().map(|drive| plan(&catalog, target.engine(), *drive));
    let mut plan = plans.reduce(merge).unwrap();
    plan.selections.retain(part);
    drop_repeated(&mut plan, target.engine());
    // What a server must have that these have not runs on others (`vectors`).
    plan.selections.retain(|selection| selection.parts.iter().all(|part| part.requires.is_empty()));
    retain_tables_in_use(&mut plan);
    plan.selections.iter_mut().for_each(|selection| selection.window = FIRST);
    let tests = run(&catalog, target, settings, &plan, dir);
    assert_eq!(tests.len(), plan.selections.len(), "every selection is one test");
    let (mut doubtful, mut judged): (Vec<_>, Vec<_>) = tests.into_iter().partition(in_doubt);
    for window in LONGER {
        plan.selections.retain(|selection| doubtful.iter().any(|test| is_of(test, selection)));
        if plan.selections.is_empty() {
            break;
        }
        retain_tables_in_use(&mut plan);
        eprintln!("measured once more: {} of {}", plan.selections.len(), target.engine());
        plan.selections.iter_mut().for_each(|selection| selection.window = window);
        let repeated = run(&catalog, target, settings, &plan, dir).into_iter();
        let (again, settled): (Vec<_>, Vec<_>) = repeated.partition(in_doubt);
        judged.extend(settled);
        doubtful = again;
    }
    if let Target::Private { engine, data_dir, .. } = target {
        server::remove(engine, data_dir).unwrap();
    }
    let (disturbed, broken): (Vec<_>, Vec<_>) = doubtful.into_iter().partition(is_disturbed);
    judged.extend(broken);
    disturbed
        .iter()
        .flat_map(mistakes)
        .for_each(|mistake| eprintln!("not judged, others took the processors: {mistake}"));
    let mistakes: Vec<String> = judged.iter().flat_map(mistakes).collect();
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}

/// Drops tests whose organization, spelled out, is the engine's own: their tables and statements
/// are those of the test with the default.
fn drop_repeated(plan: &mut Plan, engine: &str) {
    let own = engine::find(engine).unwrap().capabilities().default_org();
    let planned: Vec<Identity> = plan.selections.iter().map(identity).collect();
    plan.selections.retain(|selection| {
        let mut with_default = identity(selection);
        match with_default.params.get_mut(ORG) {
            Some(org) if org.as_str() == own => *org = OWN_ORG.into(),
            _ => return true,
        }
        !planned.contains(&with_default)
    });
}

/// One test among those of an engine.
#[derive(PartialEq)]
struct Identity {
    workload: String,
    params: BTreeMap<String, String>,
    drive: Drive,
}

fn identity(selection: &Selection) -> Identity {
    Identity {
        workload: selection.workload.id.clone(),
        params: selection.params.clone(),
        drive: selection.drive,
    }
}

/// Leaves the tables that a selection uses: no other is loaded.
fn retain_tables_in_use(plan: &mut Plan) {
    plan.tables
        .retain(|table| plan.selections.iter().any(|selection| selection.tables.contains(table)));
}

fn is_of(test: &TestResult, selection: &Selection) -> bool {
    (&test.workload, &test.params, test.drive)
        == (&selection.workload.id, &selection.params, selection.drive)
}

/// Broken by nothing but what a moment on a busy machine may break: measured once more, for longer.
fn in_doubt(test: &TestResult) -> bool {
    let codes: Vec<&str> = reasons(test).map(|reason| reason.code.as_str()).collect();
    !codes.is_empty() && codes.iter().all(|code| DOUBTS.contains(code))
}

/// True if the verdict says that others took so much CPU time that our threads were late, also that
/// which puts files out of the cache.
fn is_disturbed(test: &TestResult) -> bool {
    if reasons(test).any(|reason| reason.code.as_str() == UNEXCUSED) {
        return false;
    }
    let mut reasons = test.verdict.reasons.iter().filter(|reason| reason.status != Status::Valid);
    reasons.any(|reason| DISTURBED.contains(&reason.code.as_str()))
}

/// Values of parameters that are plain numbers, beside their defaults, and values that go together;
/// every ten of update_pct stands somewhere. What lies between the first and the last is taken in
/// turn, as [`TAKEN_IN_TURN`].
const NUMBERS: [(&str, &[&str]); 11] = [
    ("LGWR-THR", &["rows=25"]),
    ("DBWR-THR", &["rows=32"]),
    ("DBWR-EACH", &["rows=32"]),
    ("DL-BUFFER", &["rpt=3", "rpt=10"]),
    ("DL-STREAM", &["rpt=10"]),
    (
        "TP-LIGHT",
        &["update_pct=0", "update_pct=30", "update_pct=60", "update_pct=90", "update_pct=100"],
    ),
    (
        "TP-MEDIUM",
        &["update_pct=0", "update_pct=10", "update_pct=40", "update_pct=70", "update_pct=100"],
    ),
    ("TP-HEAVY", &["update_pct=0", "update_pct=50", "update_pct=80", "update_pct=100"]),
    ("STO-RANDOM", &["write_pct=30"]),
    ("DA-INDEX", &["org=range-list,logging=no"]),
    ("DA-JOIN-LOOP", &["cached=yes,org=heap-list"]),
];
/// Parameters that spare time where the default would do nothing else.
const QUICKER: [(&str, &str); 4] = [
    ("DL-DIRECT", "batch=5000"),
    ("CPU-FIBONACCI", "n=15"),
    ("STO-WRITE", "file_mb=16"),
    ("STO-FILES", "file_mb=16"),
];
/// Values that take long and are tried elsewhere: a thousand idle sessions are opened by `oltp`.
const ELSEWHERE: [(&str, &str); 1] = [("CONN-IDLE", "idle=1000")];
/// Parameters whose values are a number or a law of draws in the same statements: of the values
/// beside the default every other engine takes the first, the third and so on, the others the
/// second, the fourth and so on. (`skewed` draws by every law on every server.)
const TAKEN_IN_TURN: [&str; 2] = [KEYS, "rows"];
/// Parameters that say something to the client drive only.
const OF_CLIENT: [&str; 1] = ["read_tx"];

/// A workload with some of its parameters.
pub fn wish(id: &str, param: Option<&str>) -> String {
    let quicker = QUICKER.iter().find(|(quick, _)| *quick == id).map(|(_, param)| *param);
    let params: Vec<&str> = param.into_iter().chain(quicker).collect();
    if params.is_empty() { id.into() } else { format!("{id}:{}", params.join(",")) }
}

/// A workload with some of its parameters, as the command line has it.
struct Wish {
    text: String,
    /// Place among values that the engines take in turn; none if every engine takes it.
    turn: Option<usize>,
}

impl Wish {
    fn of_all(text: String) -> Wish {
        Wish { text, turn: None }
    }

    /// True if this engine, by its place in [`DRIVES`], takes it.
    fn is_taken_by(&self, engine: &str) -> bool {
        let place = DRIVES.iter().position(|(name, _)| *name == engine).unwrap();
        self.turn.is_none_or(|turn| (turn + place) % 2 == 0)
    }
}

/// Every workload with its defaults, and with every other value of its parameters: in the first
/// drive that has it, what concerns the client in its.
fn wishes(catalog: &Catalog, engine: &str, drive: Drive) -> Vec<Wish> {
    let mut wishes = Vec::new();
    for workload in catalog.workloads() {
        let default = wish(&workload.id, None);
        let first =
            drives(engine).iter().find(|drive| plan_of(catalog, engine, **drive, &default).is_ok());
        wishes.push(Wish::of_all(default));
        let at_home = first.is_none_or(|first| *first == drive);
        let tried =
            |name: &str| if OF_CLIENT.contains(&name) { drive == Drive::Client } else { at_home };
        for param in workload.params.iter().filter(|param| tried(&param.name)) {
            let default = param.engine_default.get(engine).unwrap_or(&param.default);
            let others = param.values.iter().filter(|value| *value != default && *value != OWN_ORG);
            for (at, value) in others.enumerate() {
                let turn = TAKEN_IN_TURN.contains(&param.name.as_str()).then_some(at);
                let param = format!("{}={value}", param.name);
                if !ELSEWHERE.contains(&(&workload.id, &param)) {
                    wishes.push(Wish { text: wish(&workload.id, Some(&param)), turn });
                }
            }
        }
        let numbers = NUMBERS.iter().filter(|(id, _)| at_home && *id == workload.id);
        for (_, numbers) in numbers {
            // Where there are many, the first and the last are not like those between.
            let is_between = |at: usize| at > 0 && at + 1 < numbers.len();
            wishes.extend(numbers.iter().enumerate().map(|(at, number)| Wish {
                text: wish(&workload.id, Some(number)),
                turn: is_between(at).then_some(at),
            }));
        }
    }
    wishes
}

/// All that this engine has with this drive and takes; what it has not is in the golden list.
fn plan(catalog: &Catalog, engine: &str, drive: Drive) -> Plan {
    let wishes = wishes(catalog, engine, drive);
    wishes
        .iter()
        .filter(|wish| wish.is_taken_by(engine))
        .filter_map(|wish| plan_of(catalog, engine, drive, &wish.text).ok())
        .reduce(merge)
        .unwrap()
}

/// The plan of a wish, or none if this engine or drive cannot have it. Any other error is a mistake
/// of ours, a block that is missing too.
fn plan_of(catalog: &Catalog, engine: &str, drive: Drive, wish: &str) -> Result<Plan, ()> {
    plan::build(catalog, &sized_request(engine, drive, wish.to_string())).map_err(|error| {
        let text = error.to_string();
        let stated = text.contains(&format!(" cannot run on {engine}: "))
            && !text.contains("the catalog has no");
        assert!(stated, "{wish} on {engine}: {text}");
    })
}

fn drives(engine: &str) -> &'static [Drive] {
    DRIVES.iter().find(|(name, _)| *name == engine).unwrap().1
}

/// The drives of each engine that are tested.
const DRIVES: [(&str, &[Drive]); 5] = [
    ("sqlite", &[Drive::Client]),
    ("duckdb", &[Drive::Client]),
    ("chdb", &[Drive::Client]),
    ("postgres", &[Drive::Database, Drive::Client]),
    ("mariadb", &[Drive::Database, Drive::Client]),
];

#[test]
fn what_an_engine_cannot_run_is_what_was_decided() {
    let catalog = crate::support::catalog();
    let mut text = String::new();
    for (engine, drives) in DRIVES {
        for drive in drives {
            for wish in wishes(&catalog, engine, *drive) {
                if plan_of(&catalog, engine, *drive, &wish.text).is_err() {
                    text += &format!("{engine} {} {}\n", drive.name(), wish.text);
                }
            }
        }
    }
    crate::reports::golden("unavailable.text", &text).unwrap();
}

/// Workloads whose statements work in parallel where an engine can.
const THREADED: [&str; 7] =
    ["STO-READ", "STO-OFFLOAD", "DA-SCAN", "DA-AGGREGATE", "DA-SORT", "DA-INDEX", "DA-JOIN-HASH"];

#[test]
fn threads_asked_for_are_threads_that_work() {
    let wishes = THREADED.map(|id| format!(" --workload {id}:threads=2")).concat();
    let line = format!(
        "run postgres{wishes} --workload DA-SCAN --size {SIZE_GB} --profile XS --jobs 1 --warmup 0 \
         --duration 500ms --format json --quiet"
    );
    let document = crate::support::Desk::new().run(&line).ok().json();
    let tests = document["tests"].as_array().unwrap();
    let [threaded @ .., alone] = tests.as_slice() else { panic!("no test") };
    assert_eq!(threaded.len(), THREADED.len());
    let used_by = |test: &serde_json::Value| {
        let used = test["metrics"]["threads_used"].as_f64();
        used.unwrap_or_else(|| panic!("no threads_used: {test:#}"))
    };
    assert!((used_by(alone) - 1.0).abs() < 0.01, "{alone:#}");
    for test in threaded {
        let used = used_by(test);
        assert!((used - 2.0).abs() < 0.1, "{}: {used} threads", test["workload"]);
        let reasons = test["verdict"]["reasons"].as_array().unwrap();
        assert!(reasons.iter().all(|reason| reason["code"] != "threads"), "{test:#}");
    }
    let catalog = crate::support::catalog();
    let threaded = catalog
        .workloads()
        .filter(|workload| workload.threads.is_some())
        .map(|workload| &workload.id);
    let mut missed = threaded.filter(|id| !THREADED.contains(&id.as_str()));
    assert_eq!(missed.next(), None, "a threaded workload that this test does not run");
}

fn merge(mut plan: Plan, other: Plan) -> Plan {
    plan.selections.extend(other.selections);
    plan.tables.extend(other.tables);
    plan.tables.sort();
    plan.tables.dedup();
    plan
}

fn size_gb(engine: &str) -> f64 {
    match engine {
        "sqlite" => SIZE_OF_SQLITE_GB,
        "mariadb" => SIZE_OF_MARIADB_GB,
        _ => SIZE_GB,
    }
}

/// One workload on an engine, driven this way, for a moment.
pub fn request(engine: &str, drive: Drive, workload: String) -> Request {
    Request {
        workloads: vec![workload],
        jobs: Some(JOBS.parse().unwrap()),
        drive: Some(drive),
        warmup_s: Some(0.05),
        duration_s: Some(0.1),
        size_gb: Some(SIZE_GB),
        ..Request::new(engine, engine::find(engine).unwrap().capabilities(), 2)
    }
}

/// The same on a big table that fits the caches of this file's servers as little as it must.
fn sized_request(engine: &str, drive: Drive, workload: String) -> Request {
    Request { size_gb: Some(size_gb(engine)), ..request(engine, drive, workload) }
}

fn run(
    catalog: &Catalog,
    target: &Target,
    settings: &[(&str, &str)],
    plan: &Plan,
    dir: &Path,
) -> Vec<TestResult> {
    let mut store = Store::open(&dir.join("results.db")).unwrap();
    let mut profile = catalog.profile("XS").unwrap().clone();
    profile.settings =
        BTreeMap::from([(target.engine().to_string(), crate::support::settings(settings))]);
    let request = run::Request {
        facts: BTreeMap::new(),
        explain: None,
        is_sampled: true,
        repositories: Vec::new(),
        target: target.clone(),
        profile,
        size_is_of_profile: false,
        plan: sized_request(target.engine(), Drive::Client, String::new()),
        // A further try finds the tables that the first one has loaded.
        keep: Keep::Yes,
        settings: BTreeMap::new(),
        fresh: run::Fresh::Nothing,
        margin: None,
        host_metrics: Default::default(),
        duet: false,
        via: None,
        password: None,
        name: None,
        labels: BTreeMap::new(),
        command: "every workload".into(),
    };
    let interrupt = Interrupt::new();
    let context = RunContext {
        catalog,
        request: &request,
        plan,
        interrupt: &interrupt,
        events: &|_: Event<'_>| {},
        workers: None,
    };
    let ended = run::execute(&context, &mut store).unwrap();
    store.tests(ended.run_id).unwrap().iter().filter_map(|test| test.measured().cloned()).collect()
}

/// Reasons of a test that are our mistake.
fn reasons(test: &TestResult) -> impl Iterator<Item = &Reason> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    // With more jobs than processors a job waits between its slices, the longer the more programs
    // there are.
    let waits =
        move |reason: &&Reason| reason.code.as_str() == "little" && test.jobs as usize > processors;
    // MyRocks refuses a transaction that changes a row which another one changed since it began:
    // with few rows that happens; and where no one waits for a row, with those that are drawn
    // often.
    let is =
        |name: &str, so: fn(&str) -> bool| test.params.get(name).is_some_and(|value| so(value));
    let optimistic = is("org", |org| org == "lsm") || is("keys", |keys| keys != "uniform");
    let conflicts = optimistic
        && test.total.errors.keys().all(|class| class == "deadlock" || class == "serialization");
    let refused = move |reason: &&Reason| conflicts && reason.code.as_str() == "errors";
    let invalid = test.verdict.reasons.iter().filter(|reason| reason.status == Status::Invalid);
    let invalid = invalid.filter(move |reason| !refused(reason));
    invalid
        .filter(|reason| MISTAKES.contains(&reason.code.as_str()))
        .filter(move |reason| !waits(reason))
}

fn mistakes(test: &TestResult) -> impl Iterator<Item = String> {
    let about = format!(
        "{} {:?} {} at {} jobs, {} ops",
        test.workload,
        test.chosen,
        test.drive.name(),
        test.jobs,
        test.total.ops
    );
    reasons(test).map(move |reason| format!("{about}: {}: {}", reason.code, reason.text))
}
