//! Our own cost: the client loop on the null engine, whose op does nothing, and on ops of a known
//! length.

use std::collections::BTreeMap;

use crate::test_runner::{CONNECT_TIMEOUT, Interrupt, Outcome, TestContext, TimingCosts, run_test};
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{
    Better, Bind, BoundStatement, Branch, Commit, Counters, Expr, Facts, JobCode, Kpm, KpmValue,
    OwnLoop, PartPlan, Plan, Selection, Sentence, Target, TestResult, TestSpec, Window, Workload,
};
use dbdyno_core::plan::{self, WindowAndLoop};
use dbdyno_core::stats::{LatencyHistogram, Quantiles};
use dbdyno_engines::engine::null::Null;
use dbdyno_engines::engine::{
    Access, AfterError, ConnectTo, Database, Engine, EngineError, JobSpec, Pacer, Slice,
    SliceReport,
};

/// Lengths of the ops that are measured, in ns; 0 = an op that does nothing.
pub const OP_NS: &[u64] = &[0, 1_000, 20_000];

/// The workload of sessions that wait.
const SESSION: &str = "SESSION";

/// One measurement of our own loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Overhead {
    /// Requested length of the op, in ns.
    pub op_ns: u64,
    /// Number of jobs that ran the op.
    pub jobs: u32,
    /// Result of the test, as of any other workload.
    pub result: TestResult,
}

impl Overhead {
    /// Mean time of an op as measured, in ns.
    pub fn mean_ns(&self) -> Option<f64> {
        self.result.latency.mean_us.map(|us| us * 1000.0)
    }
    /// Cost of our loop per op, in ns: only an op that does nothing shows it; a longer one also
    /// shows how long the operating system kept the job waiting.
    pub fn cost_ns(&self) -> Option<f64> {
        self.mean_ns().filter(|_| self.op_ns == 0)
    }
}

/// Length of the ops that show the tail of our own loop, in ns, and their number: enough for p99.9.
/// Shorter in a debug build: tests begin a thousand runs.
const TAIL_OP_NS: u64 = if cfg!(debug_assertions) { 1_000 } else { 5_000 };
const TAIL_OPS: u64 = 10_000;
/// A machine that takes longer for them is too busy to show it.
const TAIL_S: f64 = 2.0;

/// The tail of our own loop now; none if the machine is too busy for enough ops.
pub(super) fn own_loop() -> Option<OwnLoop> {
    let database = open_null().ok()?;
    let selection = selection(TAIL_OP_NS, TAIL_S);
    let order = JobSpec {
        job: 1,
        jobs: 1,
        code: &selection.parts[0].code,
        session: &[],
        seed: 1,
        facts: &Facts::new(),
        rows: RowFunction { table_rows: 8000, seed: 1 },
        wire: selection.wire,
        node: None,
    };
    let mut tail = Tail::default();
    database.run_job(&order, &mut tail).ok()?;
    let us = |ns: Option<f64>| Some((ns? - TAIL_OP_NS as f64).max(0.0) / 1e3);
    let Quantiles { p99_ns, p999_ns, max_ns, .. } = Quantiles::from_histogram(&tail.times);
    Some(OwnLoop { p99_us: us(p99_ns)?, p999_us: us(p999_ns)?, max_us: us(max_ns)? })
}

/// Paces one slice in which every op is timed.
#[derive(Default)]
struct Tail {
    is_given: bool,
    times: LatencyHistogram,
}

impl Pacer for Tail {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        let is_given = std::mem::replace(&mut self.is_given, true);
        (!is_given).then_some(Slice { seconds: TAIL_S, max_ops: TAIL_OPS, stride: 1 })
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        self.times.merge(report.latency);
    }
    fn op_failed(&mut self, _: &EngineError) -> AfterError {
        AfterError::Stop
    }
    fn session_counters(&mut self, _: Counters) {}
}

pub(super) fn open_null() -> std::result::Result<Box<dyn Database>, EngineError> {
    let target = Target::Embedded { engine: Null.name().into(), data_dir: std::env::temp_dir() };
    Null.open(&ConnectTo::new(target), Access::Provision)
}

/// Measures every length of op at `jobs` jobs for `duration_s` seconds each.
///
/// # Errors
/// If a test fails, or is interrupted.
pub fn overhead(jobs: u32, duration_s: f64, interrupt: &Interrupt) -> Result<Vec<Overhead>> {
    OP_NS.iter().map(|op_ns| measure(*op_ns, jobs, duration_s, interrupt)).collect()
}

pub(super) fn measure(
    op_ns: u64,
    jobs: u32,
    duration_s: f64,
    interrupt: &Interrupt,
) -> Result<Overhead> {
    let place = || format!("overhead, {}", Sentence::jobs(jobs));
    let database = open_null().map_err(|error| error.at(place()))?;
    let selection = selection(op_ns, duration_s);
    let context = TestContext {
        database: database.as_ref(),
        facts: &Facts::new(),
        rows: RowFunction { table_rows: 8000, seed: 1 },
        seed: 1,
        connect_timeout: CONNECT_TIMEOUT,
        interrupt,
        sessions: None,
        workers: None,
        timing_costs: TimingCosts::default(),
    };
    let spec = TestSpec::closed(&selection, jobs, 1);
    match run_test(&context, &spec, &mut |_| (Default::default(), 0.0), &mut |_| {}) {
        Outcome::Done(result) => Ok(Overhead { op_ns, jobs, result: *result }),
        Outcome::Failed(error) => Err(error.at(place())),
        Outcome::Interrupted(_) => {
            Err(Error::new(dbdyno_core::error::Kind::Interrupted, place(), "interrupted"))
        }
    }
}

/// A lookup as the null engine knows it: one random bind, one statement that spins.
pub(super) fn selection(op_ns: u64, duration_s: f64) -> Selection {
    loop_selection(
        "OVERHEAD",
        "our own loop on the null engine",
        format!("spin {op_ns}"),
        duration_s,
    )
}

/// A session whose server takes a while: what many of them cost a load generator.
fn waiting_loop(duration_s: f64) -> Selection {
    loop_selection(
        SESSION,
        "a session that waits half a second for each answer",
        "wait 500000000".into(),
        duration_s,
    )
}

fn loop_selection(id: &str, title: &str, sql: String, duration_s: f64) -> Selection {
    let statement = BoundStatement { name: "op".into(), sql, binds: vec!["key".into()] };
    let branch =
        Branch { upto: 100.0, commit: Commit::None, statements: vec![statement], times: 1 };
    let binds = BTreeMap::from([("key".into(), Bind::Random(Expr("1000000".into())))]);
    let part = PartPlan::bare(
        id,
        JobCode::Client {
            branches: vec![branch],
            binds,
            shared_read: false,
            hits: false,
            connects: false,
        },
    );
    let kpm =
        Kpm { value: KpmValue::Ops, unit: "ops/s".into(), better: Better::Higher, scale: 1.0 };
    Selection::bare(Workload::bare(id, title, kpm), part, Window::time(0.5, duration_s))
}

/// Our own loop on ops of a microsecond, in the request's windows and at its jobs.
///
/// # Errors
/// Workloads, which the engine does not have; impossible jobs.
pub(super) fn plan(request: &plan::Request) -> Result<Plan> {
    let is_waiting = match request.workloads.as_slice() {
        [] => false,
        [workload] if workload.eq_ignore_ascii_case(SESSION) => true,
        [workload, ..] => {
            let what = format!(
                "{} cannot run on {}, which has no tables",
                quote(workload),
                request.engine
            );
            let advice =
                format!("leave --workload out: our own loop is measured; or give {SESSION}");
            return Err(Error::usage("--workload", what).advise(advice));
        }
    };
    if request.beside.is_some() {
        return Err(
            Error::usage("--background", "nothing runs beside our own loop").advise("leave it out")
        );
    }
    let wrong = |what: String| Error::usage("--jobs", what).advise("give 1,2");
    let ramp = request.jobs.clone().unwrap_or_default().on(request.scale).map_err(wrong)?;
    let duration_s = request.duration_s.unwrap_or(plan::DEFAULT_DURATION_S);
    let selection =
        if is_waiting { waiting_loop(duration_s) } else { selection(OP_NS[1], duration_s) };
    let WindowAndLoop { window, looping } = plan::window_and_loop(request)?;
    Ok(Plan {
        engine: request.engine.clone(),
        suite: "custom".into(),
        seed: request.seed,
        key_seed: request.key_seed.unwrap_or(request.seed),
        size_gb: request.size_gb.unwrap_or(plan::DEFAULT_SIZE_GB),
        jobs_given: true,
        redo_disturbed: 0,
        note: None,
        tables: Vec::new(),
        selections: vec![Selection { ramp, window, looping, ..selection }],
        left_out: Vec::new(),
        calibration: None,
    })
}
