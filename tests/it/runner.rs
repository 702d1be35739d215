//! The runner on the null engine, whose ops cost and fail as told: gate, window, counts, errors,
//! interrupts, phases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dbdyno::analysis::{self, JudgeContext, cpu_speed};
use dbdyno::engine::{
    self, Access, AfterError, ConnectTo, Database, EngineError, ErrorClass, JobSpec, Pacer,
    RowLoad, Rows, Session, Slice, SliceReport, Version,
};
use dbdyno::model::rows::RowFunction;
use dbdyno::model::{
    Arrivals, Better, Bind, BoundStatement, Branch, Commit, Counters, End, Expr, Facts, JobCode,
    JobResult, Kpm, KpmValue, LatencySummary, Loop, OfferedLoad, PartPlan, RateProfile, Reason,
    ReasonCode, Selection, SnapshotPoint, Status, Tally, Target, TestResult, TestSpec, Verdict,
    Window, Workload,
};
use dbdyno::probe::{CpuSpeed, CpuSpeedProbe, CpuSpeedSample, ProbeSet};
use dbdyno::stats::LatencyHistogram;
use dbdyno::test_runner::{
    CONNECT_TIMEOUT, Interrupt, Outcome, Progress, ReadProbes, TestContext, TimingCosts, run_test,
};

use crate::support::{in_a_calm_moment, until};

/// A millisecond of busy CPU: the rate of such ops is known beforehand.
const ONE_MS: &str = "spin 1000000";

fn null() -> Box<dyn Database> {
    let target = Target::Embedded { engine: "null".into(), data_dir: std::env::temp_dir() };
    let to = ConnectTo::new(target);
    engine::find("null").unwrap().open(&to, Access::Provision).unwrap()
}

fn seconds(warmup_s: f64, duration_s: f64) -> Window {
    Window::time(warmup_s, duration_s)
}

fn ops(ops_per_job: u64) -> Window {
    Window::ops(ops_per_job)
}

/// A selection whose op is one statement of the null engine.
fn selection(statement: &str, window: Window) -> Selection {
    let statement =
        BoundStatement { name: "op".into(), sql: statement.into(), binds: vec!["key".into()] };
    let branch =
        Branch { upto: 100.0, commit: Commit::None, statements: vec![statement], times: 1 };
    let binds = BTreeMap::from([("key".into(), Bind::Random(Expr("1000".into())))]);
    let part = PartPlan {
        work: Expr("3".into()),
        setup: vec!["rows 1".into(), "rows 2".into()],
        teardown: vec!["rows 8".into(), "rows 9".into()],
        ..PartPlan::bare(
            "NULL-OP",
            JobCode::Client {
                branches: vec![branch],
                binds,
                shared_read: false,
                hits: false,
                connects: false,
            },
        )
    };
    Selection::bare(workload(), part, window)
}

fn workload() -> Workload {
    let kpm =
        Kpm { value: KpmValue::Ops, unit: "ops/s".into(), better: Better::Higher, scale: 1.0 };
    Workload { work: Expr("3".into()), ..Workload::bare("NULL-OP", "an op", kpm) }
}

/// A test on the null engine.
struct NullTest<'a> {
    database: &'a dyn Database,
    selection: &'a Selection,
    jobs: u32,
    /// Time of the jobs to come to the gate.
    connect_timeout: Duration,
}

/// Runs a test; `watch` sees the progress and may interrupt.
fn run_watched(
    database: &dyn Database,
    selection: &Selection,
    jobs: u32,
    watch: &dyn Fn(Progress, &Interrupt),
) -> Outcome {
    run_counted(&NullTest { database, selection, jobs, connect_timeout: CONNECT_TIMEOUT }, watch)
}

/// Runs a test, whose only counter is that of its readings.
fn run_counted(test: &NullTest<'_>, watch: &dyn Fn(Progress, &Interrupt)) -> Outcome {
    let mut readings = 0.0;
    let mut probes = |_| {
        readings += 1.0;
        (Counters(BTreeMap::from([("readings".into(), readings)])), 0.0)
    };
    run_probed(test, &mut probes, watch)
}

/// Runs a test, whose counters are those of `probes`.
fn run_probed(
    test: &NullTest<'_>,
    probes: &mut ReadProbes<'_>,
    watch: &dyn Fn(Progress, &Interrupt),
) -> Outcome {
    let NullTest { database, selection, jobs, connect_timeout } = *test;
    let interrupt = Interrupt::new();
    let context = TestContext {
        database,
        facts: &Facts::new(),
        rows: RowFunction { table_rows: 8000, seed: 1 },
        seed: 42,
        connect_timeout,
        interrupt: &interrupt,
        sessions: None,
        workers: None,
        timing_costs: TimingCosts::default(),
    };
    let spec = TestSpec::closed(selection, jobs, 1);
    run_test(&context, &spec, probes, &mut |progress| watch(progress, &interrupt))
}

fn run(statement: &str, window: Window, jobs: u32) -> Outcome {
    run_watched(&*null(), &selection(statement, window), jobs, &|_, _| ())
}

#[track_caller]
fn result_of(outcome: Outcome) -> TestResult {
    match outcome {
        Outcome::Done(result) => *result,
        other => panic!("not done: {other:?}"),
    }
}

#[track_caller]
fn failure(outcome: Outcome) -> EngineError {
    match outcome {
        Outcome::Failed(error) => error,
        other => panic!("not failed: {other:?}"),
    }
}

#[test]
fn fixed_work_is_done_exactly_and_counted_exactly() {
    let result = result_of(run("rows 2", ops(700), 3));
    assert_eq!((result.window.ops, result.window.rows, result.total.ops), (2100, 4200, 2100));
    assert_eq!(result.units, 6300.0);
    assert_eq!(result.counters.get("statements_run"), Some(2100.0));
    assert_eq!(
        result.job_figures.iter().map(|job| job.tally.ops).collect::<Vec<_>>(),
        [700, 700, 700]
    );
}

#[test]
fn the_warm_up_is_dropped_and_the_window_is_cut_while_the_jobs_run() {
    let result = in_a_calm_moment(|| result_of(run(ONE_MS, seconds(0.4, 0.6), 1)));
    let moments: Vec<_> = result.snapshots.iter().map(|snapshot| snapshot.moment).collect();
    assert_eq!(
        moments,
        [
            SnapshotPoint::Begin,
            SnapshotPoint::WindowOpen,
            SnapshotPoint::WindowClose,
            SnapshotPoint::End
        ]
    );
    let at = |index: usize| result.snapshots[index].t_s;
    assert!(at(1) >= 0.4 && at(2) >= 1.0 && at(2) <= at(3), "{:?}", result.snapshots);
    assert!(
        result.window_s > 0.0 && result.window_s < at(3),
        "{} s, {:?}",
        result.window_s,
        result.snapshots
    );
    assert!(
        result.window.ops > 0 && result.total.ops > result.window.ops,
        "the warm-up's ops are in the total only"
    );
    // Ops of a millisecond: about 1000 a second at most, whatever the machine.
    assert!(result.ops_per_s <= 1001.0, "{}", result.ops_per_s);
    assert!(result.series.iter().any(|point| !point.in_window));
    // Each probe reading is one more: the differences are those of the right snapshots.
    assert!(result.window_counters.get("readings") < result.counters.get("readings"));
}

#[test]
fn an_op_longer_than_the_window_is_measured_to_its_end() {
    let result = result_of(run("spin 400000000", seconds(0.0, 0.1), 2));
    assert!(result.window.ops >= 2, "{:?}", result.window);
    assert!(result.ops_per_s <= 2.0 / 0.4 * 1.01, "{}", result.ops_per_s);
    let whole = |job: &JobResult| job.elapsed_s >= 0.4 * job.tally.ops as f64;
    assert!(
        result.job_figures.iter().all(whole),
        "no part of an op is cut off: {:?}",
        result.job_figures
    );
    assert!(result.latency.mean_us.unwrap() >= 400_000.0);
}

/// A database whose jobs do 100,000 ops in each second, whoever else is busy; where it `swings`
/// three times as many in every other second.
struct Metronome {
    inner: Box<dyn Database>,
    swings: bool,
}

impl Database for Metronome {
    fn version(&self) -> Version {
        self.inner.version()
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        self.inner.session()
    }
    fn run_job(&self, _: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        let latency = LatencyHistogram::new();
        let began = pacer.ready().then(Instant::now);
        let mut done_s = 0.0;
        while let (Some(began), Some(slice)) = (began, pacer.next_slice()) {
            std::thread::sleep(Duration::from_secs_f64(slice.seconds));
            let now_s = began.elapsed().as_secs_f64();
            let factor = if self.swings && now_s % 2.0 < 1.0 { 3.0 } else { 1.0 };
            let elapsed_s = now_s - done_s;
            let tally = Tally { ops: (elapsed_s * 100_000.0 * factor) as u64, ..Tally::default() };
            pacer.slice_done(&SliceReport::new(tally, elapsed_s, &latency));
            done_s = now_s;
        }
        Ok(())
    }
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        self.inner.load_rows(load, progress)
    }
    fn load_method(&self) -> &'static str {
        self.inner.load_method()
    }
}

fn run_until_known(swings: bool, most_s: f64) -> TestResult {
    let database = Metronome { inner: null(), swings };
    let end = End::Known { precision: "2%".parse().unwrap(), most_s };
    result_of(run_watched(
        &database,
        &selection("rows 1", Window { warmup_s: 1.0, end }),
        2,
        &|_, _| (),
    ))
}

#[test]
fn a_steady_test_ends_when_its_mean_is_known() {
    let result = run_until_known(false, 60.0);
    assert!(
        result.snapshots[1].t_s >= 1.0 && (4.9..60.0).contains(&result.window_s),
        "{:?}",
        result.snapshots
    );
    assert!(result.ci_fraction.unwrap() <= 0.02, "{:?}", result.ci_fraction);
    assert_eq!(result.precision.unwrap().to_string(), "2%");
    let inside = result.series.iter().filter(|point| point.in_window && point.interval_s > 0.5);
    assert!(inside.count() >= 4, "the seconds begin with the window: {:?}", result.series);
    // What was looked at is in the window of each job.
    assert!(result.job_figures.iter().all(|job| job.elapsed_s >= 4.9), "{:?}", result.job_figures);
}

#[test]
fn a_noisy_test_is_given_up_without_a_narrow_interval() {
    let result = run_until_known(true, 60.0);
    assert!((4.9..59.0).contains(&result.window_s), "{:?}", result.snapshots);
    assert!(result.ci_fraction.is_none_or(|half| half > 0.02), "{:?}", result.ci_fraction);
}

/// Ops in flight on average, by throughput and service time.
fn in_flight(jobs: u32) -> f64 {
    let result = result_of(run(ONE_MS, seconds(0.2, 0.8), jobs));
    let ops: u64 = result.job_figures.iter().map(|job| job.tally.ops).sum();
    let elapsed_s: f64 = result.job_figures.iter().map(|job| job.elapsed_s).sum();
    let of_jobs = f64::from(jobs) * ops as f64 / elapsed_s;
    assert!((of_jobs / result.ops_per_s - 1.0).abs() < 1e-9);
    result.ops_per_s * result.latency.mean_us.unwrap() / 1e6
}

#[test]
fn littles_law_holds() {
    for jobs in [1, 3] {
        // Repeated: other programs can take the processor between two ops, where no op is in
        // flight.
        let off = |in_flight: &f64| (in_flight / f64::from(jobs) - 1.0).abs() >= 0.03;
        let tried: Vec<f64> = (0..10).map(|_| in_flight(jobs)).take_while(off).collect();
        assert!(tried.len() < 10, "ops in flight at {jobs} jobs: {tried:?}");
    }
}

#[test]
fn errors_that_can_be_retried_are_counted_by_class() {
    // Every tenth run fails: 900 good ones need 999.
    let result = result_of(run("fail deadlock every 10", ops(900), 2));
    assert_eq!(result.window.ops, 1800);
    assert_eq!(result.total.errors, BTreeMap::from([("deadlock".to_string(), 198)]));
    assert!(result.first_error.unwrap().contains("deadlock"));
}

#[test]
fn errors_are_in_a_row_only_if_no_op_is_done_between() {
    // All in one slice: hundreds of errors, none after another.
    let result = result_of(run("fail deadlock every 2", ops(900), 1));
    assert_eq!(result.window.ops, 900);
    assert_eq!(result.total.errors, BTreeMap::from([("deadlock".to_string(), 899)]));
}

#[test]
fn an_error_that_no_retry_helps_ends_the_test() {
    assert_eq!(
        failure(run("fail statement every 5", seconds(0.0, 60.0), 2)).class,
        ErrorClass::Statement
    );
    assert_eq!(failure(run("lost after 50", seconds(0.0, 60.0), 2)).class, ErrorClass::Lost);
    assert_eq!(failure(run("fail busy every 1", seconds(0.0, 60.0), 1)).class, ErrorClass::Busy);
    assert_eq!(failure(run("gibberish", seconds(0.0, 60.0), 2)).class, ErrorClass::Statement);
}

#[test]
fn an_interrupt_in_the_warm_up_gives_no_figures() {
    let stop = |_: Progress, interrupt: &Interrupt| interrupt.set();
    let outcome = run_watched(&*null(), &selection(ONE_MS, seconds(60.0, 60.0)), 2, &stop);
    assert!(matches!(outcome, Outcome::Interrupted(None)), "{outcome:?}");
}

#[test]
fn an_interrupt_in_the_window_gives_the_figures_so_far() {
    let stop = |progress: Progress, interrupt: &Interrupt| {
        if progress.t_s >= 1.0 {
            interrupt.set();
        }
    };
    let interrupted = || run_watched(&*null(), &selection(ONE_MS, seconds(0.2, 60.0)), 2, &stop);
    let outcome = in_a_calm_moment(interrupted);
    let Outcome::Interrupted(Some(result)) = outcome else { panic!("{outcome:?}") };
    assert!(
        result.window.ops > 0 && result.window_s < 30.0,
        "{} in {} s",
        result.window.ops,
        result.window_s
    );
    assert!(result.ops_per_s <= 2002.0);
}

/// The null engine with a diary, and with a job that takes its time to connect.
struct Diary {
    inner: Box<dyn Database>,
    lines: Lines,
    /// The job, and the line that it waits for.
    slow_job: Option<(u32, &'static str)>,
    /// A statement of the control session that fails.
    refused: Option<&'static str>,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
    fn have(&self, line: &str) -> bool {
        self.all().iter().any(|have| have == line)
    }
}

impl Diary {
    fn new() -> Diary {
        Diary { inner: null(), lines: Lines::default(), slow_job: None, refused: None }
    }
    fn lines(&self) -> Vec<String> {
        self.lines.all()
    }
}

impl Database for Diary {
    fn version(&self) -> Version {
        self.inner.version()
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        let (inner, lines) = (self.inner.session()?, self.lines.clone());
        Ok(Box::new(DiarySession { inner, lines, refused: self.refused }))
    }
    fn run_job(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        let (lines, number) = (self.lines.clone(), job.job);
        if let Some((_, line)) = self.slow_job.filter(|(slow, _)| *slow == number) {
            until(line, || lines.have(line));
            // Time for the others to begin at a gate that does not wait: there is nothing of that
            // to wait for where it does.
            std::thread::sleep(Duration::from_millis(50));
        }
        lines.add(format!("job {number} begins"));
        let outcome = self
            .inner
            .run_job(job, &mut DiaryPacer { inner: pacer, lines, job: number, has_begun: false });
        self.lines.add(format!("job {number} ends"));
        outcome
    }
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        self.inner.load_rows(load, progress)
    }
    fn load_method(&self) -> &'static str {
        self.inner.load_method()
    }
}

/// Notes when a job comes to the gate and when it passes.
struct DiaryPacer<'a> {
    inner: &'a mut dyn Pacer,
    lines: Lines,
    job: u32,
    has_begun: bool,
}

impl Pacer for DiaryPacer<'_> {
    fn ready(&mut self) -> bool {
        self.lines.add(format!("job {} is ready", self.job));
        let is_open = self.inner.ready();
        if !is_open {
            self.lines.add(format!("job {} is sent home", self.job));
        }
        is_open
    }
    fn next_slice(&mut self) -> Option<Slice> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.lines.add(format!("job {} works", self.job));
        }
        self.inner.next_slice()
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        self.inner.slice_done(report);
    }
    fn op_failed(&mut self, error: &EngineError) -> AfterError {
        self.inner.op_failed(error)
    }
    fn session_counters(&mut self, counters: Counters) {
        self.inner.session_counters(counters);
    }
}

struct DiarySession {
    inner: Box<dyn Session>,
    lines: Lines,
    refused: Option<&'static str>,
}

impl Session for DiarySession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        self.lines.add(sql);
        match self.refused {
            Some(refused) if refused == sql => {
                Err(EngineError::new(ErrorClass::DiskFull, "no space left"))
            }
            _ => self.inner.execute(sql),
        }
    }
    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        self.inner.query(sql, binds)
    }
}

#[test]
fn setup_jobs_and_teardown_come_in_this_order_also_after_a_failure() {
    for (statement, fails) in [("rows 1", false), ("fail statement every 3", true)] {
        let diary = Diary::new();
        let outcome = run_watched(&diary, &selection(statement, ops(10)), 1, &|_, _| ());
        assert_eq!(matches!(outcome, Outcome::Failed(_)), fails, "{outcome:?}");
        let job = ["job 1 begins", "job 1 is ready", "job 1 works", "job 1 ends"];
        assert_eq!(
            diary.lines(),
            [&["rows 1", "rows 2"], &job[..], &["rows 8", "rows 9"]].concat()
        );
    }
}

#[test]
fn a_failed_setup_starts_no_job_and_is_torn_down() {
    let diary = Diary { refused: Some("rows 1"), ..Diary::new() };
    let outcome = run_watched(&diary, &selection("rows 1", ops(10)), 1, &|_, _| ());
    assert_eq!(failure(outcome).class, ErrorClass::DiskFull);
    assert_eq!(diary.lines(), ["rows 1", "rows 8", "rows 9"]);
}

#[test]
fn a_failed_teardown_goes_on_and_fails_the_test() {
    let diary = Diary { refused: Some("rows 8"), ..Diary::new() };
    let outcome = run_watched(&diary, &selection("rows 1", ops(10)), 1, &|_, _| ());
    assert_eq!(failure(outcome).class, ErrorClass::DiskFull);
    assert_eq!(diary.lines().last().map(String::as_str), Some("rows 9"));
}

#[test]
fn the_gate_opens_when_the_last_job_has_come() {
    let diary = Diary { slow_job: Some((2, "job 1 is ready")), ..Diary::new() };
    result_of(run_watched(&diary, &selection("rows 1", ops(10)), 2, &|_, _| ()));
    let lines = diary.lines();
    let at = |line: &str| {
        lines.iter().position(|have| have == line).unwrap_or_else(|| panic!("no {line}: {lines:?}"))
    };
    assert!(at("job 1 is ready") < at("job 2 is ready"), "{lines:?}");
    assert!(at("job 2 is ready") < at("job 1 works").min(at("job 2 works")), "{lines:?}");
}

#[test]
fn a_job_that_comes_too_late_to_the_gate_fails_the_test_and_says_so() {
    let diary = Diary { slow_job: Some((2, "job 1 is sent home")), ..Diary::new() };
    let selection = selection("rows 1", ops(10));
    let connect_timeout = Duration::ZERO;
    let test = NullTest { database: &diary, selection: &selection, jobs: 2, connect_timeout };
    let error = failure(run_counted(&test, &|_, _| ()));
    assert_eq!(error.class, ErrorClass::Unreachable);
    assert_eq!(error.message, "not all of 2 jobs were connected and prepared within 0 s");
    assert_eq!(diary.lines().last().map(String::as_str), Some("rows 9"));
}

#[test]
fn a_processor_that_becomes_slower_is_a_reason_and_its_seconds_are_marked() {
    let mut looks = 0;
    let mut probes = ProbeSet::default();
    probes.push(Box::new(CpuSpeedProbe::from_sampler(move || {
        looks += 1;
        let speed = if looks < 2 { 1.0 } else { 0.62 };
        CpuSpeedSample {
            pace: Some(CpuSpeed { work_s: 1e-4 / speed, speed }),
            ..CpuSpeedSample::default()
        }
    })));
    let mut read = |_| (probes.read().counters, 0.0);
    let selection = selection("wait 1000000", seconds(0.0, 4.0));
    let (database, connect_timeout) = (null(), CONNECT_TIMEOUT);
    let test = NullTest { database: &*database, selection: &selection, jobs: 1, connect_timeout };
    let result = result_of(run_probed(&test, &mut read, &|_, _| ()));
    let context = JudgeContext {
        engine: "null",
        in_process: true,
        host_cpus: 2,
        clock_step_s: 0.0,
        round_trip_s: None,
    };
    let reasons = analysis::judge(&result, &[], &[], &context).reasons;
    let reason = reasons.iter().find(|reason| reason.code == ReasonCode::PlatformUnsteady);
    let text = &reason.unwrap_or_else(|| panic!("{reasons:?} {:#?}", result.series)).text;
    assert!(
        text.starts_with("CPU speed was 0.620 to ") && text.contains(", and below 0.85 in "),
        "{text}"
    );
    let marks: Vec<bool> = result.series.iter().filter_map(cpu_speed::is_slow).collect();
    assert!(marks.is_sorted() && marks.last() == Some(&true), "{marks:?}");
}

/// Runs a test whose ops start when they are due.
fn run_offered(
    statement: &str,
    window: Window,
    jobs: u32,
    per_s: f64,
    arrivals: Arrivals,
) -> TestResult {
    let offer = Some(OfferedLoad { per_s, arrivals, slo: None });
    run_spec(&TestSpec { offer, ..TestSpec::closed(&selection(statement, window), jobs, 1) })
}

/// Runs a load over time.
fn run_profile(statement: &str, profile: &str, jobs: u32) -> TestResult {
    let profile: RateProfile = profile.parse().unwrap();
    let window = seconds(0.5, profile.length_s());
    let per_s = profile.mean_per_s();
    let offer = Some(OfferedLoad { per_s, arrivals: Arrivals::Poisson, slo: None });
    let looping = Loop::Profile(profile, Arrivals::Poisson);
    let selection = Selection { looping, ..selection(statement, window) };
    run_spec(&TestSpec { offer, ..TestSpec::closed(&selection, jobs, 1) })
}

/// The codes of what is said of a result.
fn codes(result: &TestResult) -> Vec<ReasonCode> {
    judge(result).reasons.into_iter().map(|reason| reason.code).collect()
}

fn judge(result: &TestResult) -> Verdict {
    let context = JudgeContext {
        engine: "null",
        in_process: true,
        host_cpus: 2,
        clock_step_s: 0.0,
        round_trip_s: None,
    };
    analysis::judge(result, &[], &[], &context)
}

fn run_spec(spec: &TestSpec<'_>) -> TestResult {
    let interrupt = Interrupt::new();
    let (database, facts) = (null(), Facts::new());
    let context = TestContext {
        database: &*database,
        facts: &facts,
        rows: RowFunction { table_rows: 8000, seed: 1 },
        seed: 42,
        connect_timeout: CONNECT_TIMEOUT,
        interrupt: &interrupt,
        sessions: None,
        workers: None,
        timing_costs: TimingCosts::default(),
    };
    result_of(run_test(&context, spec, &mut |_| (Counters::default(), 0.0), &mut |_| ()))
}

/// The open loop of a result: ops done, ops due, and a response time in us.
fn open(result: &TestResult) -> (u64, f64, &LatencySummary) {
    let open = result.open.as_ref().unwrap();
    (result.window.ops, open.due, &open.response)
}

#[test]
fn an_open_loop_does_what_is_due_and_no_more() {
    for (arrivals, jobs) in [(Arrivals::Uniform, 1), (Arrivals::Uniform, 3), (Arrivals::Poisson, 2)]
    {
        in_a_calm_moment(|| what_is_due_is_done(arrivals, jobs));
    }
}

fn what_is_due_is_done(arrivals: Arrivals, jobs: u32) {
    let result = run_offered("spin 1000", seconds(0.3, 1.5), jobs, 600.0, arrivals);
    let (done, due, _) = open(&result);
    assert!(done as f64 <= due, "{done} of {due}");
    // What is due depends on the schedule alone: 600 a second, of a Poisson process within five
    // standard deviations.
    let elapsed_s =
        result.job_figures.iter().map(|job| job.elapsed_s).sum::<f64>() / f64::from(jobs);
    let (expected, spread) =
        (600.0 * elapsed_s, if arrivals == Arrivals::Poisson { 5.0 } else { 0.1 });
    // A job of a busy machine may stand still between two slices, whose time belongs to no job.
    let between = (600.0 * (result.window_s - elapsed_s)).max(0.0);
    let spread = spread * expected.sqrt() + 2.0 * f64::from(jobs);
    assert!(
        (-spread..=spread + between).contains(&(due - expected)),
        "{due}, {expected}, {between}"
    );
    assert!(result.window.busy_s < elapsed_s * f64::from(jobs), "jobs wait: {:?}", result.window);
    let params: Vec<&str> = result.params.keys().map(String::as_str).collect();
    assert!(params.contains(&"rate"), "its figures are told apart: {params:?}");
}

#[test]
fn an_open_loop_keeps_the_mix_of_its_parts() {
    let mut selection = selection("spin 1000", seconds(0.0, 1.0));
    let part = selection.parts[0].clone();
    selection.parts.push(PartPlan { setup: Vec::new(), teardown: Vec::new(), ..part });
    let offer = Some(OfferedLoad { per_s: 1000.0, arrivals: Arrivals::Uniform, slo: None });
    let spec = TestSpec { offer, mix: vec![30.0, 10.0], ..TestSpec::closed(&selection, 3, 1) };
    let offered = [1, 2, 3].map(|job| spec.offered_per_s(job).unwrap());
    assert_eq!(offered, [375.0, 250.0, 375.0], "two jobs of the first part, one of the second");
    let result = run_spec(&spec);
    // However late a busy machine is, no job does more than was due: with equal shares the second
    // would.
    for (job, per_s) in result.job_figures.iter().zip(offered) {
        let ops = job.tally.ops as f64;
        assert!(
            ops > 0.0 && ops <= per_s * result.total_s + 2.0,
            "{ops} of job {} in {} s",
            job.job,
            result.total_s
        );
    }
}

#[test]
fn ops_follow_a_rate_that_changes() {
    in_a_calm_moment(|| {
        let result = run_profile("spin 1000", "ramp 100..900 2s; hold 900 1s; day 300..900 2s", 2);
        let open = result.open.as_ref().unwrap();
        assert_eq!(result.params["rate_profile"], "ramp 100..900 2s; hold 900 1s; day 300..900 2s");
        assert!(!result.params.contains_key("rate"), "{:?}", result.params);
        let due: Vec<f64> = open.phases.iter().map(|phase| phase.due.round()).collect();
        assert_eq!(due, [1000.0, 900.0, 1364.0]);
        for phase in &open.phases {
            let differs = (phase.done as f64 - phase.due).abs();
            assert!(differs < 5.0 * phase.due.sqrt(), "{phase:?}");
            assert_eq!((phase.recovery_s, phase.undone()), (Some(0.0), None), "{phase:?}");
        }
        let offered = result.series.iter().filter_map(|point| point.offered_per_s);
        let peak = offered.fold(0.0, f64::max);
        assert!((840.0..=900.1).contains(&peak), "{peak}");
    });
}

#[test]
fn a_spike_beyond_the_platform_leaves_a_backlog_and_the_recovery_from_it_is_told() {
    // One job of 2 ms an op does 500 a second: a spike of 1000 leaves 500 behind, which the 250 a
    // second of room work off in two seconds.
    in_a_calm_moment(|| {
        let result = run_profile("wait 2000000", "hold 250 1s; spike 1000 1s; hold 250 4s", 1);
        let phases = &result.open.as_ref().unwrap().phases;
        let spike = &phases[1];
        assert!((350.0..700.0).contains(&spike.behind), "{spike:?}");
        assert!(spike.recovery_s.is_some_and(|s| (1.0..3.0).contains(&s)), "{spike:?}");
        // Responses count in the phase in which the ops were due: those at its end waited for 1 s.
        let slowest_ms = |at: usize| phases[at].response.max_us.unwrap_or(0.0) / 1e3;
        assert!(slowest_ms(1) > 700.0 && slowest_ms(0) < 300.0, "{phases:?}");
        assert!((spike.done as f64 - spike.due).abs() < 5.0 * spike.due.sqrt(), "{spike:?}");
        // The hold after it works the backlog off: it is not what overloads the platform.
        assert!(!phases[2].is_overloaded() && phases[2].behind_at_begin > 350.0, "{phases:?}");
        let codes = codes(&result);
        assert!(!codes.contains(&ReasonCode::NotSteady), "{codes:?}");
        assert!(!codes.contains(&ReasonCode::Overload), "{codes:?}");
        assert_eq!(result.ci_fraction, None, "a rate that changes has no interval of its mean");
    });
}

#[test]
fn a_platform_that_stalls_recovers_by_the_room_that_its_load_leaves() {
    // Ops take no time but every 600th, which takes a second: at 400 a second some 400 wait then,
    // and are done at once. The first stall is in the hold, as is the recovery from it.
    in_a_calm_moment(|| {
        let result = run_profile("slow 1000000000 every 600", "hold 400 2s; hold 40 2s", 1);
        let phases = &result.open.as_ref().unwrap().phases;
        let most = result.series.iter().filter_map(|point| point.behind).fold(0.0, f64::max);
        assert!(most > 100.0, "{:?}", result.series);
        assert!(phases[0].response.max_us > Some(900_000.0), "{phases:?}");
        assert!(phases[0].response.p90_us > Some(100_000.0), "ops that waited count: {phases:?}");
        assert!(phases[0].recovery_s.is_some_and(|s| s <= 1.5), "{phases:?}");
        assert_eq!(phases[1].recovery_s, Some(0.0), "{phases:?}");
    });
}

#[test]
fn a_platform_that_never_recovers_says_so_by_phase() {
    let result = run_profile("wait 5000000", "hold 100 1s; hold 500 2s", 1);
    let phases = &result.open.as_ref().unwrap().phases;
    assert_eq!(phases[1].recovery_s, None, "{phases:?}");
    assert!(phases[1].is_overloaded() && phases[1].undone().is_some(), "{phases:?}");
    let judged = judge(&result);
    let late = |reason: &Reason| reason.text.contains("at the end of phase 2 (hold 500 2s)");
    assert!(judged.reasons.iter().any(late), "{judged:?}");
    assert_eq!(judged.status, Status::Invalid, "ops were not done: {judged:?}");
}

#[test]
fn users_who_think_obey_the_interactive_law() {
    in_a_calm_moment(|| {
        let looping = Loop::Thinking(0.01);
        let selection = Selection { looping, ..selection("wait 1000000", seconds(0.2, 2.0)) };
        let result = run_spec(&TestSpec::closed(&selection, 2, 1));
        assert_eq!(result.params["think"], "10ms");
        // Two users, each with an op of 1 ms and 10 ms of thinking: 182 a second.
        let thought_s = result.window.thought_s / result.window.ops as f64;
        assert!((140.0..200.0).contains(&result.ops_per_s), "{}", result.ops_per_s);
        assert!((thought_s / 0.01 - 1.0).abs() < 0.3, "{thought_s}");
        let mut untold = result.clone();
        untold.window.thought_s = 0.0;
        untold.parts.iter_mut().for_each(|part| part.tally.thought_s = 0.0);
        let without = analysis::littles_law::judge(&untold);
        let with = analysis::littles_law::judge(&result);
        assert!(without.iter().any(|reason| reason.code == ReasonCode::Little), "{without:?}");
        assert!(!with.iter().any(|reason| reason.code == ReasonCode::Little), "{with:?}");
    });
}

#[test]
fn what_waits_for_a_slow_op_responds_late_though_it_is_served_fast() {
    // Every 1000th op takes 300 ms, all others next to nothing: of 500 a second 150 are due
    // meanwhile.
    let result =
        run_offered("slow 300000000 every 1000", seconds(0.0, 4.0), 1, 500.0, Arrivals::Uniform);
    let (_, _, response) = open(&result);
    let stall_us = result.latency.max_us.unwrap();
    assert!(stall_us >= 300_000.0, "the stall stands in max: {stall_us}");
    assert!(response.max_us.unwrap() >= stall_us * 0.999, "{response:?}");
    assert!(
        result.latency.p99_us.unwrap() < 0.1 * stall_us,
        "nearly all are served fast: {:?}",
        result.latency
    );
    assert!(
        response.p99_us.unwrap() > 0.5 * stall_us,
        "one in thirteen waits, some nearly as long: {response:?}"
    );
    assert!(
        result.series.iter().any(|point| point.max_us.unwrap_or(0.0) >= 300_000.0),
        "{:?}",
        result.series
    );
}

#[test]
fn a_rate_beyond_the_platform_leaves_ops_undone() {
    let result = run_offered("spin 2000000", seconds(0.2, 1.0), 1, 2000.0, Arrivals::Poisson);
    let (done, due, response) = open(&result);
    assert!((done as f64) < 0.6 * due, "{done} of {due}");
    assert!(response.max_us.unwrap() > 10.0 * 2_000.0, "{response:?}");
}

#[test]
fn a_stall_stands_in_max_though_only_some_ops_are_timed() {
    // About 100,000 ops a second, of which a tenth or fewer are timed (on a machine so busy that
    // all are, the stall is seen, too); the stall is the 150,000th op.
    let result = result_of(run("spin 5000, slow 250000000 every 150000", ops(200_000), 1));
    eprintln!("one of {} ops timed", result.latency_stride);
    let max_us = result.latency.max_us.unwrap();
    assert!(max_us >= 240_000.0, "{max_us}");
    assert!(result.series.iter().any(|point| point.max_us.unwrap_or(0.0) >= 240_000.0));
}
