//! Runs of the scripts of `export-sql`, from what they wrote down: assembled as our own tests are,
//! and judged by the same rules as far as their figures reach. What nobody watched is said in every
//! verdict.

use sha2::{Digest, Sha256};

use super::spool::{self, Spool, SpooledCounts, SpooledTest};
use super::{ImportedRun, Text};
use crate::test_runner::assemble::{assemble, test_facts};
use crate::test_runner::log::{JobLog, SliceLog, Times};
use crate::test_runner::raw::Raw;
use dbdyno_core::analysis::{ScriptFacts, circumstances, judge_scripts};
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::params::assignments;
use dbdyno_core::model::rows::{RowFunction, table_rows};
use dbdyno_core::model::{
    Counters, Disclosure, Drive, Facts, Plan, RunKind, RunRecord, Snapshot, SnapshotPoint,
    StoredPlan, Tally, TestResult, TestSpec,
};
use dbdyno_core::plan;
use dbdyno_engines::engine::{self, Engine, Version};

/// Rows of a key, by the names of the facts.
const KEYS: [u64; 3] = [25, 125, 320];

/// The run of a spool; `command` is what made the import.
///
/// # Errors
/// `file:line` of what the scripts do not write so, or of a test that this catalog has not.
pub fn run(file: Text<'_>, catalog: &Catalog, command: &str) -> Result<ImportedRun<TestResult>> {
    let spool = spool::read(file)?;
    let engine =
        engine::find(&spool.engine).filter(|engine| engine.is_target()).ok_or_else(|| {
            Error::usage(file.place, format!("no engine {}", quote(&spool.engine)))
                .advise("see 'dbdyno list engines'")
        })?;
    let mut whole: Option<Plan> = None;
    let mut tests = Vec::new();
    for (test, seq) in spool.tests.iter().zip(1..) {
        let plan = plan_test(catalog, engine, &spool, test)?;
        let selection = &plan.selections[0];
        tests.push(result(
            catalog,
            engine,
            &spool,
            test,
            TestSpec::closed(selection, test.jobs, seq),
        )?);
        match &mut whole {
            Some(whole) => whole.selections.extend(plan.selections),
            None => whole = Some(plan),
        }
    }
    let plan = whole.map(|plan| plan::describe(&plan).into()).unwrap_or_default();
    let digest = Sha256::digest(file.text.as_bytes());
    let uid = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let run = record(&spool, engine, plan, command);
    Ok(ImportedRun { uid, run, tests })
}

/// The test as this catalog has it.
fn plan_test(
    catalog: &Catalog,
    engine: &dyn Engine,
    spool: &Spool,
    test: &SpooledTest,
) -> Result<Plan> {
    let params = assignments(&test.params, ",");
    let colon = if params.is_empty() { "" } else { ":" };
    let jobs =
        test.jobs.to_string().parse().map_err(|what: String| Error::usage(&test.place, what))?;
    let request = plan::Request {
        workloads: vec![format!("{}{colon}{params}", test.workload)],
        drive: Some(Drive::Database),
        jobs: Some(jobs),
        size_gb: Some(spool.size_gb),
        seed: spool.seed,
        ..plan::Request::new(engine.name(), engine.capabilities(), 1)
    };
    plan::build(catalog, &request).map_err(|error| Error { place: test.place.clone(), ..error })
}

fn result(
    catalog: &Catalog,
    engine: &dyn Engine,
    spool: &Spool,
    test: &SpooledTest,
    spec: TestSpec<'_>,
) -> Result<TestResult> {
    let selection = spec.selection;
    let parts = selection.parts.len() as u32;
    if test.window.values().any(|done| done.part > parts) {
        return Err(Error::usage(&test.place, format!("{} has {parts} parts only", test.workload))
            .advise("give the file as the scripts wrote it"));
    }
    let facts = test_facts(&facts(engine, spool, test), test.jobs);
    let cannot = |what: String| {
        Error::usage(&test.place, what).advise("run it again with scripts of this dbdyno")
    };
    let mut result = assemble(&spec, raw(test, facts)).map_err(cannot)?;
    result.window_s = test.window.values().map(|done| done.elapsed_us / 1e6).fold(0.0, f64::max);
    result.hash.clone_from(&test.hash);
    let version = Version::parse(&spool.server);
    let is_confirmed = catalog.is_confirmed(engine.name(), &version.0);
    let product = engine.capabilities().product;
    let facts = ScriptFacts {
        engine: engine.name(),
        unconfirmed: (!is_confirmed)
            .then(|| circumstances::unconfirmed_reason(product, &version.to_string())),
    };
    judge_scripts(&mut result, selection, &facts);
    Ok(result)
}

/// Facts of the data: those that follow from the size, and those that the scripts asked for.
fn facts(engine: &dyn Engine, spool: &Spool, test: &SpooledTest) -> Facts {
    let mut facts = Facts::new();
    for kind in ["small", "big"] {
        let rows = RowFunction { table_rows: table_rows(kind, spool.size_gb), seed: spool.seed };
        facts.insert(format!("{kind}_rows"), rows.table_rows as f64);
        facts.extend(KEYS.iter().map(|key| (format!("{kind}_key{key}"), rows.keys(*key) as f64)));
    }
    let block =
        engine.capabilities().block_setting.and_then(|name| spool.settings.get(name)?.parse().ok());
    facts.extend(block.map(|bytes: f64| ("block_bytes".to_string(), bytes)));
    facts.extend(test.facts.clone());
    let stored = test
        .facts
        .iter()
        .filter_map(|(name, bytes)| Some((name.strip_suffix("_table_bytes")?, bytes)));
    facts.extend(stored.map(|(kind, bytes)| (format!("{kind}_mb"), bytes / 1e6)));
    facts
}

/// The log of a test whose jobs had one slice each in the window.
fn raw(test: &SpooledTest, facts: Facts) -> Raw {
    let jobs = test.window.iter().map(|(job, done)| {
        let mut log = JobLog::default();
        let warm = test.warm.iter().filter(|(of, _)| of == job).map(|(_, done)| (done, false));
        for (done, counts) in warm.chain([(done, true)]) {
            let start_s = log.span_s.map_or(0.0, |(_, end_s)| end_s);
            log.add(&slice(done, start_s, counts));
        }
        let mut times = Times { longest_ns: (done.longest_us * 1e3) as u64, ..Times::default() };
        if let Some(timed) = test.times.get(job) {
            times.service.add(timed, done.ops);
        }
        (done.part as usize - 1, JobLog { times, ..log })
    });
    let snapshot = |moment, t_s, counters: &Counters| Snapshot {
        moment,
        t_s,
        counters: counters.clone(),
        cost_ms: 0.0,
    };
    Raw {
        jobs: jobs.collect(),
        snapshots: vec![
            snapshot(SnapshotPoint::Begin, 0.0, &test.begin),
            snapshot(SnapshotPoint::End, test.total_s, &test.end),
        ],
        started_at: test.started.clone(),
        total_s: test.total_s,
        facts,
        ..Raw::default()
    }
}

fn slice(done: &SpooledCounts, start_s: f64, counts: bool) -> SliceLog {
    let busy_s = done.elapsed_us / 1e6;
    let tally =
        Tally { ops: done.ops, rows: done.rows, commits: done.commits, busy_s, ..Tally::default() };
    SliceLog { start_s, end_s: start_s + busy_s, tally, stride: done.stride, counts, behind: None }
}

fn record(spool: &Spool, engine: &dyn Engine, plan: StoredPlan, command: &str) -> RunRecord {
    let mut disclosure = Disclosure::default();
    disclosure.set(
        "database",
        "version",
        format!("{} {}", engine.capabilities().product, spool.server),
    );
    disclosure.set("dbdyno", "version", spool.dbdyno.as_str());
    disclosure.set("dbdyno", "pack", spool.pack.as_str());
    spool
        .settings
        .iter()
        .for_each(|(name, value)| disclosure.set("settings", name, value.as_str()));
    let started = |test: Option<&SpooledTest>| test.map(|test| test.started.clone());
    RunRecord {
        engine: Some(engine.name().into()),
        suite: "scripts".into(),
        started_at: started(spool.tests.first()),
        ended_at: started(spool.tests.last()),
        version: spool.dbdyno.clone(),
        command: command.into(),
        seed: Some(spool.seed),
        size_gb: Some(spool.size_gb),
        disclosure,
        plan,
        loads: Vec::new(),
        ..RunRecord::new(RunKind::Scripts, format!("{} (scripts)", engine.name()))
    }
}
