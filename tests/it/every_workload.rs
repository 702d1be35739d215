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
    let tests = run(&catalog, &target, &settings, vec![plan(&catalog, "sqlite", Drive::Client)], dir.path());
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
    let plans = [Drive::Database, Drive::Client].map(|drive| plan(&catalog, "postgres", drive)).into();
    let tests = run(&catalog, &target, &settings, plans, dir.path());
    check(&tests);
}

/// Every workload that runs on this engine with this drive, at one and two jobs; those with a random branch also in
/// both branches only.
fn plan(catalog: &Catalog, engine: &str, drive: Drive) -> Plan {
    let branches = ["TP-LIGHT", "TP-MEDIUM", "TP-HEAVY"].map(|id| [0, 100].map(|pct| format!("{id}:update_pct={pct}")));
    let ids = catalog.workloads().map(|workload| workload.id.clone());
    let wishes = ids.chain(branches.concat()).chain(["STO-RANDOM:write_pct=30".into()]);
    let mut merged: Option<Plan> = None;
    for wish in wishes {
        let Ok(one) = plan::build(catalog, &request(engine, drive, wish)) else { continue };
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

fn request(engine: &str, drive: Drive, workload: String) -> Request {
    Request {
        engine: engine.into(),
        capabilities: engine::find(engine).unwrap().capabilities(),
        suites: vec![],
        workloads: vec![workload],
        jobs: Some("1,2".into()),
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
