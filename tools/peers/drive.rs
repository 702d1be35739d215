//! Our side: a workload of the catalog, run by the runner as `dbdyno run` does.

use parking_lot::Mutex;

use dbdyno::engine::{self, Database};
use dbdyno::error::Result;
use dbdyno::model::rows::{RowFunction, table_rows};
use dbdyno::model::{
    AskedRamp, BoundStatement, Counters, Drive, Facts, JobCode, Selection, TestResult, TestSpec,
};
use dbdyno::plan;
use dbdyno::sql;
use dbdyno::test_runner::{
    CONNECT_TIMEOUT, Outcome, ReadProbes, SessionSource, TestContext, TimingCosts, run_test,
};

use super::failed;
use super::interrupt::interrupt;
use super::lab::{Lab, SEED};
use super::machine::server_s;
use super::pairs::Done;

/// Dropped at the start of our half: connecting and learning how long an op takes.
const WARMUP_S: f64 = 0.5;
/// Counter of the server's processor time.
const SERVER_CPU_S: &str = "server_cpu_s";

/// The lookup of one row, `params` as on the command line.
pub fn lookup(lab: &Lab, params: &str, drive: Drive, seconds: f64) -> Result<Selection> {
    workload(lab, &format!("SRV-QUERY1{params}"), drive, seconds)
}

/// A workload of the catalog, `id` with parameters as on the command line.
pub fn workload(lab: &Lab, id: &str, drive: Drive, seconds: f64) -> Result<Selection> {
    workload_of(lab.engine.name(), lab, id, drive, seconds)
}

/// The same as another engine runs it.
pub fn workload_of(
    engine: &str,
    lab: &Lab,
    id: &str,
    drive: Drive,
    seconds: f64,
) -> Result<Selection> {
    let engine = engine::find(engine).ok_or_else(|| failed(engine, "is not compiled in"))?;
    let request = plan::Request {
        workloads: vec![id.to_owned()],
        jobs: Some(AskedRamp::single(1)),
        drive: Some(drive),
        warmup_s: Some(WARMUP_S),
        duration_s: Some(seconds),
        size_gb: Some(lab.size_gb),
        seed: SEED,
        ..plan::Request::new(engine.name(), engine.capabilities(), 1)
    };
    plan_selection(lab, id, &request)
}

/// The same with `ops` per job instead of a window.
pub fn fixed_ops(lab: &Lab, id: &str, drive: Drive, ops: u64) -> Result<Selection> {
    let request = plan::Request {
        workloads: vec![id.to_owned()],
        jobs: Some(AskedRamp::single(1)),
        drive: Some(drive),
        ops_per_job: Some(ops),
        size_gb: Some(lab.size_gb),
        seed: SEED,
        ..plan::Request::new(lab.engine.name(), lab.engine.capabilities(), 1)
    };
    plan_selection(lab, id, &request)
}

fn plan_selection(lab: &Lab, id: &str, request: &plan::Request) -> Result<Selection> {
    let selections = plan::build(&lab.catalog, request)?.selections;
    selections.into_iter().next().ok_or_else(|| failed(id, "is not in the plan"))
}

/// The statement that a client-drive selection runs.
pub fn statement(selection: &Selection) -> Result<&BoundStatement> {
    match &selection.parts[0].code {
        JobCode::Client { branches, .. } => Ok(&branches[0].statements[0]),
        _ => Err(failed(&selection.workload.id, "has no client statement")),
    }
}

/// Runs another program between the setup and the teardown of a workload of so many jobs.
pub fn run_beside_setup<T>(
    lab: &Lab,
    selection: &Selection,
    jobs: u32,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let id = &selection.workload.id;
    let part = selection.parts.first().ok_or_else(|| failed(id, "has no part"))?;
    execute(lab, id, &bind_jobs(part.setup_sql(), jobs))?;
    let done = run();
    execute(lab, id, &bind_jobs(part.teardown_sql(), jobs))?;
    done
}

/// The statements of a setup with the number of jobs in them.
fn bind_jobs(statements: Vec<String>, jobs: u32) -> Vec<String> {
    statements.iter().map(|statement| sql::bind_late(statement, jobs)).collect()
}

/// Runs statements in a session of their own; an error names `place`.
fn execute(lab: &Lab, place: &str, statements: &[String]) -> Result<()> {
    let mut session = lab.session(place)?;
    for statement in statements {
        session.execute(statement).map_err(|error| error.at(place))?;
    }
    Ok(())
}

/// Runs the selection at `jobs` jobs: ops per second in the window.
pub fn run(lab: &Lab, selection: &Selection, jobs: u32) -> Result<Done> {
    run_on(lab.database.as_ref(), lab, selection, jobs)
}

/// The same on another database, as if it had the lab's rows.
pub fn run_on(
    database: &dyn Database,
    lab: &Lab,
    selection: &Selection,
    jobs: u32,
) -> Result<Done> {
    let facts = lab.loaded.facts_for(&[]);
    let context = TestContext { database, ..context(lab, &facts) };
    let result = run_to_end(&context, selection, jobs, &mut |_| Default::default())?;
    Ok(Done::new(result.ops_per_s, Some(result.total.ops as f64)))
}

/// The same with the processor time of the server in the window.
pub fn run_with_server_time(lab: &Lab, selection: &Selection, jobs: u32) -> Result<Done> {
    let mut read_server_time = |_| {
        let used = lab.server_pid().map(|pid| (SERVER_CPU_S.to_owned(), server_s(pid)));
        (Counters(used.into_iter().collect()), 0.0)
    };
    let result = test(lab, selection, jobs, &mut read_server_time, None)?;
    let used_s = result.window_counters.0.get(SERVER_CPU_S);
    let window_server_us = used_s.map(|used_s| used_s * 1e6 / (result.window.ops as f64).max(1.0));
    let ops = Some(result.total.ops as f64);
    Ok(Done { window_server_us, ..Done::new(result.ops_per_s, ops) })
}

/// The same beside these probes and this sampler of the sessions.
pub fn run_with_probes(
    lab: &Lab,
    selection: &Selection,
    jobs: u32,
    probes: &mut ReadProbes<'_>,
    sessions: Option<&Mutex<dyn SessionSource>>,
) -> Result<Done> {
    let result = test(lab, selection, jobs, probes, sessions)?;
    Ok(Done::new(result.ops_per_s, Some(result.total.ops as f64)))
}

/// The test with all its figures.
pub fn test(
    lab: &Lab,
    selection: &Selection,
    jobs: u32,
    probes: &mut ReadProbes<'_>,
    sessions: Option<&Mutex<dyn SessionSource>>,
) -> Result<Box<TestResult>> {
    let facts = lab.loaded.facts_for(&[]);
    run_to_end(&TestContext { sessions, ..context(lab, &facts) }, selection, jobs, probes)
}

/// Context of tests on the lab's database, with these facts of its data.
fn context<'a>(lab: &'a Lab, facts: &'a Facts) -> TestContext<'a> {
    TestContext {
        workers: None,
        timing_costs: TimingCosts::default(),
        database: lab.database.as_ref(),
        facts,
        rows: RowFunction { table_rows: table_rows("small", lab.size_gb), seed: SEED },
        seed: SEED,
        connect_timeout: CONNECT_TIMEOUT,
        interrupt: interrupt(),
        sessions: None,
    }
}

fn run_to_end(
    context: &TestContext<'_>,
    selection: &Selection,
    jobs: u32,
    probes: &mut ReadProbes<'_>,
) -> Result<Box<TestResult>> {
    let spec = TestSpec::closed(selection, jobs, 1);
    match run_test(context, &spec, probes, &mut |_| {}) {
        Outcome::Done(result) => Ok(result),
        Outcome::Failed(error) => Err(error.at(selection.workload.id.clone())),
        Outcome::Interrupted(_) => Err(failed(&selection.workload.id, "interrupted")),
    }
}
