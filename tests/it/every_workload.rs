//! Every workload on every engine and drive that has it, for a moment, on real databases: no error, no wrong answer, and
//! nothing that the database's own counters contradict.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dbdyno::campaign::{self, Campaign, Event, Keep};
use dbdyno::catalog::Catalog;
use dbdyno::engine;
use dbdyno::model::{Drive, Plan, Status, Target, TestResult};
use dbdyno::plan::{self, Request};
use dbdyno::runner::Interrupt;
use dbdyno::store::Store;

/// The big table (100,000 rows, 33 MB) does not fit the caches below, the small one does.
const SIZE_GB: f64 = 0.1;
/// Reasons that a short window on a busy machine may give; anything else that is invalid is a mistake of ours.
const MISTAKES: [&str; 5] = ["failed", "contract", "crosscheck", "errors", "little"];

#[test]
fn sqlite_runs_every_workload_and_its_counters_agree() {
    let dir = tempfile::tempdir().unwrap();
    let target = Target::Embedded { engine: "sqlite".into(), data_dir: dir.path().join("data") };
    let settings =
        [("cache_mb", "8"), ("journal_mode", "wal"), ("synchronous", "full"), ("wal_autocheckpoint", "1000")];
    let catalog = Catalog::embedded().unwrap();
    let tests =
        run(&catalog, &target, &settings, vec![plan(&catalog, "sqlite", Drive::Client, "1,2", &[])], dir.path());
    check(&tests);
}

#[test]
fn postgres_runs_every_workload_in_both_drives_and_its_counters_agree() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (engine, data_dir) = ("postgres".to_string(), dir.path().join("data"));
    let target = Target::Private { engine, data_dir, server_bin: None, port: None };
    let settings = [("shared_buffers", "8MB"), ("max_parallel_workers_per_gather", "0"), ("jit", "off")];
    let catalog = Catalog::embedded().unwrap();
    let plans = [Drive::Database, Drive::Client].map(|drive| plan(&catalog, "postgres", drive, "1,2", &[])).into();
    let tests = run(&catalog, &target, &settings, plans, dir.path());
    check(&tests);
}

#[test]
fn mariadb_runs_every_workload_in_both_drives_and_its_counters_agree() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (engine, data_dir) = ("mariadb".to_string(), dir.path().join("data"));
    let target = Target::Private { engine, data_dir, server_bin: None, port: None };
    let settings = [("innodb_buffer_pool_size", "24M"), ("innodb_log_file_size", "32M"), ("performance_schema", "off")];
    let catalog = Catalog::embedded().unwrap();
    let plans =
        [Drive::Database, Drive::Client].map(|drive| plan(&catalog, "mariadb", drive, "2", &MARIADB_GROUPS)).into();
    let tests = run(&catalog, &target, &settings, plans, dir.path());
    check(&tests);
}

/// Values of parameters that are plain numbers, beside their defaults; every ten of update_pct stands somewhere.
const NUMBERS: [(&str, &[&str]); 8] = [
    ("LGWR-THR", &["rows=25"]),
    ("DBWR-THR", &["rows=32"]),
    ("DL-BUFFER", &["rpt=3", "rpt=10"]),
    ("DL-STREAM", &["rpt=10"]),
    ("TP-LIGHT", &["update_pct=0", "update_pct=30", "update_pct=60", "update_pct=90", "update_pct=100"]),
    ("TP-MEDIUM", &["update_pct=0", "update_pct=10", "update_pct=40", "update_pct=70", "update_pct=100"]),
    ("TP-HEAVY", &["update_pct=0", "update_pct=50", "update_pct=80", "update_pct=100"]),
    ("STO-RANDOM", &["write_pct=30"]),
];
/// Parameters that spare time where the default would do nothing else.
const QUICKER: [(&str, &str); 2] = [("DL-DIRECT", "batch=5000"), ("CPU-FIBONACCI", "n=15")];
/// Groups whose claims hold on MariaDB; those that read the cached table and the device are still being written.
const MARIADB_GROUPS: [&str; 5] = ["CPU", "LGWR", "DBWR", "DL", "TP"];

/// A workload with some of its parameters, and the jobs.
fn wish(id: &str, param: Option<&str>, jobs: &'static str) -> (String, &'static str) {
    let quicker = QUICKER.iter().find(|(quick, _)| *quick == id).map(|(_, param)| *param);
    let params: Vec<&str> = param.into_iter().chain(quicker).collect();
    (if params.is_empty() { id.into() } else { format!("{id}:{}", params.join(",")) }, jobs)
}

/// Every workload with its defaults at these jobs, and with every other value of its parameters at two jobs.
fn wishes(catalog: &Catalog, engine: &str, jobs: &'static str, groups: &[&str]) -> Vec<(String, &'static str)> {
    let mut wishes = Vec::new();
    let chosen = |group: &String| groups.is_empty() || groups.contains(&group.as_str());
    for workload in catalog.workloads().filter(|workload| chosen(&workload.group)) {
        wishes.push(wish(&workload.id, None, jobs));
        for param in &workload.params {
            let default = param.engine_default.get(engine).unwrap_or(&param.default);
            let others = param.values.iter().filter(|value| *value != default && *value != "default");
            wishes.extend(others.map(|value| wish(&workload.id, Some(&format!("{}={value}", param.name)), "2")));
        }
        let numbers = NUMBERS.iter().filter(|(id, _)| *id == workload.id).flat_map(|(_, numbers)| *numbers);
        wishes.extend(numbers.map(|number| wish(&workload.id, Some(number), "2")));
    }
    wishes
}

/// All that this engine has with this drive, of these groups (none named: of all).
fn plan(catalog: &Catalog, engine: &str, drive: Drive, jobs: &'static str, groups: &[&str]) -> Plan {
    let mut merged: Option<Plan> = None;
    for (wish, jobs) in wishes(catalog, engine, jobs, groups) {
        let Ok(one) = plan::build(catalog, &request(engine, drive, wish, jobs)) else { continue };
        match &mut merged {
            None => merged = Some(one),
            Some(plan) => merge(plan, one),
        }
    }
    merged.unwrap()
}

fn merge(plan: &mut Plan, other: Plan) {
    plan.selections.extend(other.selections);
    plan.tables.extend(other.tables);
    plan.tables.sort();
    plan.tables.dedup();
}

fn request(engine: &str, drive: Drive, workload: String, jobs: &str) -> Request {
    Request {
        engine: engine.into(),
        capabilities: engine::find(engine).unwrap().capabilities(),
        suites: vec![],
        workloads: vec![workload],
        jobs: Some(jobs.into()),
        drive: Some(drive),
        warmup_s: Some(0.05),
        duration_s: Some(0.2),
        ops_per_job: None,
        time_scale: 1.0,
        size_gb: Some(SIZE_GB),
        seed: 42,
        cores: 2,
    }
}

fn run(catalog: &Catalog, target: &Target, settings: &[(&str, &str)], plans: Vec<Plan>, dir: &Path) -> Vec<TestResult> {
    let mut store = Store::open(&dir.join("results.db")).unwrap();
    let settings: BTreeMap<String, String> =
        settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let plan = plans.into_iter().reduce(|mut all, one| {
        merge(&mut all, one);
        all
    });
    let campaign = Campaign {
        catalog,
        plan: plan.as_ref().unwrap(),
        plan_without: &|drive| panic!("no {drive:?} drive"),
        target,
        settings: &settings,
        keep: Keep::No,
        ask_password: None,
        name: None,
        labels: BTreeMap::new(),
        command: "every workload".into(),
        interrupt: &Interrupt::new(),
        events: &|_: Event<'_>| {},
    };
    let ended = campaign::run(&campaign, &mut store).unwrap();
    store.tests(ended.run_id).unwrap()
}

fn check(tests: &[TestResult]) {
    assert!(tests.len() > 50, "{} tests", tests.len());
    let mut mistakes = Vec::new();
    for test in tests {
        for reason in &test.verdict.reasons {
            if reason.status == Status::Invalid && MISTAKES.contains(&reason.code.as_str()) {
                let (drive, jobs) = (test.drive.name(), test.jobs);
                mistakes.push(format!(
                    "{} {:?} {drive} at {jobs} jobs, {} ops: {}: {}",
                    test.workload, test.chosen, test.total.ops, reason.code, reason.text
                ));
            }
        }
    }
    assert!(mistakes.is_empty(), "\n{}", mistakes.join("\n"));
}
