//! The tests of a plan, in order: each ramp step is measured, judged and stored before the next
//! begins.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::deferred_work::CatchUp;
use super::evict::{EvictionNote, Evictor};
use super::instrument::instrument_us_per_op;
use super::numbers::{Number, Numbers};
use super::probing::Probing;
use super::progress::RunProgress;
use super::schedule::{self, Answers, ServerStart};
use super::server_evidence::ServerEvidence;
use super::sync::SyncProbe;
use super::test_execution::{TestExecution, UnjudgedTest};
use super::{Event, Sink};
use crate::store::Store;
use crate::test_runner::{Interrupt, Outcome, TimingCosts, Workers};
use dbdyno_core::analysis::slo_search::{self, Trial, next_offer};
use dbdyno_core::analysis::{
    self, JudgeContext, MeasuredStep, TestFacts, circumstances, cpu_distance, device_speed,
    durability,
};
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{
    End, Facts, Loop, OfferedLoad, Plan, Ramp, Reason, ReasonCode, RunStatus, Selection,
    TestResult, TestSpec, Verdict, Window,
};
use dbdyno_engines::engine::{Database, ErrorClass};
use dbdyno_engines::host::{LineTrips, SyncTimes, line_trips, processors};

/// Maximum length of the test that finds the mix of a workload, in seconds.
const MIX_S: f64 = 2.0;

/// Maximum time for which a server may report that it starts or recovers from a crash.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// Interval between two attempts to reach it.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Context in which the tests of a server start are measured.
pub struct MeasureContext<'a> {
    /// Open database that the tests run against.
    pub database: &'a dyn Database,
    /// Plan of the run, with every statement.
    pub plan: &'a Plan,
    /// Facts of the loaded data set as a selection sees them.
    pub facts: &'a dyn Fn(&Selection) -> Facts,
    /// Row function of the data set, for bulk loads.
    pub rows: RowFunction,
    /// Number of the run in the results file.
    pub run_id: i64,
    /// Server start and data load that the tests belong to.
    pub server_start: &'a ServerStart,
    /// Flag by which the user ends the run.
    pub interrupt: &'a Interrupt,
    /// True if the database runs inside our process.
    pub in_process: bool,
    /// Called before each ramp: checks the answers of the workload, if that is requested, and reads
    /// its cached tables into the cache. Returns the evictor of its other tables.
    pub prepare: &'a dyn Fn(&Selection, Answers) -> Result<Evictor>,
    /// The database's device, if it is known and the plan has commits.
    pub sync: Option<&'a SyncProbe>,
    /// Catch-up after a test, if the database can be made to do it and the plan has commits.
    pub catch_up: Option<&'a CatchUp<'a>>,
    /// Sources of server-side evidence.
    pub evidence: ServerEvidence,
    /// Note of the run on files that could not be evicted.
    pub eviction_note: &'a EvictionNote,
    /// Longest absence of the database after a test in which it was lost.
    pub back_within: Duration,
    /// The other side of an A/B test is measured at the same time.
    pub is_duet: bool,
    /// Reason against every result of an engine version that no test has confirmed.
    pub unconfirmed: Option<Reason>,
    /// Round-trip time to a server on another host; see [`JudgeContext`].
    pub round_trip_s: Option<f64>,
    /// Costs of timing ops.
    pub timing_costs: TimingCosts,
    /// Receiver of events.
    pub events: &'a Sink<'a>,
    /// Load generators that run the jobs; none if this process runs them.
    pub workers: Option<&'a Mutex<dyn Workers>>,
}

/// Everything that the tests of a server start share: their numbers, the probes that they read, and
/// the results file.
pub(super) struct Bench<'b, 'p> {
    pub numbers: &'b mut Numbers,
    pub probing: &'b mut Probing<'p>,
    pub store: &'b mut Store,
}

/// A ramp whose turn it is.
struct RampTurn<'s> {
    selection: &'s Selection,
    ramp: &'s Ramp,
    answers: Answers,
    /// Expected time of the run after this ramp, in s.
    after_s: f64,
}

/// A test that is to be measured next.
#[derive(Clone, Copy)]
pub(super) struct NextTest<'s> {
    pub selection: &'s Selection,
    pub jobs: u32,
    /// None in the closed loop, and as long as it is not known.
    pub offer: Option<OfferedLoad>,
    /// Expected time of the run after it, in s.
    pub after_s: f64,
}

/// The failure of a test.
struct Failure<'e> {
    started_at: String,
    error: &'e Error,
    code: ReasonCode,
}

/// Way in which a test ended, or the tests of a number of jobs, with what was measured.
pub(super) enum TestEnd<T = StoredTest> {
    Measured(T),
    /// Nothing was measured, and the run goes on.
    Failed,
    /// The run ends with it.
    Stopped(RunStatus),
}

impl<T> TestEnd<T> {
    /// The result, if anything was measured.
    pub fn into_result(self) -> Option<T> {
        match self {
            TestEnd::Measured(measured) => Some(measured),
            TestEnd::Failed | TestEnd::Stopped(_) => None,
        }
    }

    /// The state in which the run ends, if it ends with this test.
    pub fn stop_status(&self) -> Option<RunStatus> {
        match self {
            TestEnd::Stopped(status) => Some(*status),
            TestEnd::Measured(_) | TestEnd::Failed => None,
        }
    }

    /// The end of a test of which nothing was measured: the run stops, or goes on.
    pub fn without_result(stopped: Option<RunStatus>) -> Self {
        stopped.map_or(TestEnd::Failed, TestEnd::Stopped)
    }
}

/// A test that was measured and stored.
pub(super) struct StoredTest {
    pub trial: Trial,
    pub kpm_value: Option<f64>,
    pub total_s: f64,
    pub verdict: Verdict,
}

/// Way in which a ramp ended.
enum RampEnd {
    /// The steps that were measured, in order.
    Done(Vec<MeasuredStep>),
    /// It could not be prepared: no repetition will do better.
    Hopeless,
    Stop(RunStatus),
}

/// Judges the repetitions of a run.
///
/// # Errors
/// If a verdict cannot be stored.
pub fn judge_repetitions(run_id: i64, store: &mut Store) -> Result<()> {
    for new in analysis::repetitions::judge(&store.figures(run_id)?) {
        store.judge_again(run_id, new.seq, &new.verdict)?;
    }
    Ok(())
}

impl MeasureContext<'_> {
    /// Measures every ramp of the server start; returns how it ended.
    ///
    /// # Errors
    /// If a result cannot be stored.
    pub fn measure_all(
        &self,
        progress: &mut RunProgress,
        probing: &mut Probing<'_>,
        store: &mut Store,
    ) -> Result<RunStatus> {
        for turn in &self.server_start.turns {
            progress.ahead.pop_front();
            let selection = &self.plan.selections[turn.selection];
            let Some(ramp) = progress.ramps[turn.selection].as_ref() else { continue };
            let ramp = schedule::shuffle_ramp(ramp, self.plan, turn);
            progress.numbers.begin(turn.block, turn.round);
            let after_s =
                schedule::turns_s(&self.plan.selections, &progress.ramps, progress.ahead.iter());
            let mut bench = Bench { numbers: &mut progress.numbers, probing, store };
            let ramp = RampTurn { selection, ramp: &ramp, answers: turn.answers(), after_s };
            match self.measure_ramp(&ramp, &mut bench)? {
                RampEnd::Stop(status) => return Ok(status),
                RampEnd::Hopeless => progress.ramps[turn.selection] = None,
                RampEnd::Done(steps) if turn.discovers_ramp() && !steps.is_empty() => {
                    let jobs = steps.iter().map(|step| step.jobs).collect();
                    progress.ramps[turn.selection] = Some(Ramp::Fixed(jobs));
                    let best = steps.iter().map(|step| step.ops_per_s).fold(0.0, f64::max);
                    if let Some(note) = progress.climb(&self.plan.selections, turn.selection, best)
                    {
                        (self.events)(Event::Note(&note));
                    }
                }
                RampEnd::Done(_) => {}
            }
        }
        Ok(RunStatus::Finished)
    }

    fn measure_ramp(&self, turn: &RampTurn<'_>, bench: &mut Bench<'_, '_>) -> Result<RampEnd> {
        let RampTurn { selection, ramp, answers, after_s } = *turn;
        let mut done: Vec<MeasuredStep> = Vec::new();
        let prepared = (self.prepare)(selection, answers);
        if self.interrupt.is_set() {
            return Ok(RampEnd::Stop(RunStatus::Interrupted));
        }
        while let Some(jobs) = analysis::next_jobs(ramp, &done) {
            let left = schedule::tests(ramp).saturating_sub(done.len() as u32 + 1);
            let after_s = after_s + f64::from(left) * schedule::jobs_s(selection);
            let next = NextTest { selection, jobs, offer: None, after_s };
            let evictor = match &prepared {
                Ok(evictor) => evictor,
                Err(error) => {
                    let spec = self.announce_test(&next, bench.numbers);
                    let now = jiff::Timestamp::now().to_string();
                    let stopped = self.store_failure(&spec, now, error, bench.store)?;
                    return Ok(stopped.map_or(RampEnd::Hopeless, RampEnd::Stop));
                }
            };
            match self.measure_jobs(&next, evictor, bench)? {
                TestEnd::Measured(ops_per_s) => done.push(MeasuredStep { jobs, ops_per_s }),
                TestEnd::Failed => break,
                TestEnd::Stopped(status) => return Ok(RampEnd::Stop(status)),
            }
        }
        Ok(RampEnd::Done(done))
    }

    /// Measures all tests of a number of jobs: one in the closed loop, or one for each rate.
    /// Returns the highest throughput in ops per second, unless nothing was measured.
    fn measure_jobs(
        &self,
        next: &NextTest<'_>,
        evictor: &Evictor,
        bench: &mut Bench<'_, '_>,
    ) -> Result<TestEnd<f64>> {
        let NextTest { selection, jobs, after_s, .. } = *next;
        let report_left = |left| {
            (self.events)(Event::Note(&format!("disturbed: measured again, at most {left} times")))
        };
        let mut trials: Vec<Trial> = Vec::new();
        let mix = match self.measure_mix(selection, jobs, evictor, bench) {
            Ok(mix) => mix,
            Err(error) => {
                let spec = self.announce_test(next, bench.numbers);
                let now = jiff::Timestamp::now().to_string();
                let stopped = self.store_failure(&spec, now, &error, bench.store)?;
                return Ok(TestEnd::without_result(stopped));
            }
        };
        while let Some(offer) = next_offer(&selection.looping, &trials) {
            let own = judgeable(selection, offer);
            let selection = own.as_ref().unwrap_or(selection);
            if let Some(why) = hopeless(selection, &trials) {
                (self.events)(Event::Note(&why));
                break;
            }
            let left = schedule::tests_at_jobs(selection).saturating_sub(trials.len() as u32 + 1);
            let after_s = after_s + f64::from(left) * schedule::test_s(selection);
            let next = NextTest { selection, jobs, offer, after_s };
            let mut test = || {
                let spec =
                    TestSpec { mix: mix.clone(), ..self.announce_test(&next, bench.numbers) };
                self.execute_test(&spec, evictor, after_s, bench)
            };
            match repeat_until_undisturbed(self.plan.redo_disturbed, &mut test, &report_left)? {
                TestEnd::Measured(trial) => trials.push(trial),
                TestEnd::Failed => break,
                TestEnd::Stopped(status) => return Ok(TestEnd::Stopped(status)),
            }
        }
        let best = trials.iter().map(|trial| trial.ops_per_s).reduce(f64::max);
        Ok(best.map_or(TestEnd::Failed, TestEnd::Measured))
    }

    /// Measures the ops of each part of a mix in the closed loop, by a short test that is not
    /// stored; tests at an offered rate keep this mix. Empty for a workload of one part, and after
    /// an interrupt.
    fn measure_mix(
        &self,
        selection: &Selection,
        jobs: u32,
        evictor: &Evictor,
        bench: &mut Bench<'_, '_>,
    ) -> Result<Vec<f64>> {
        if selection.parts.len() < 2
            || matches!(selection.looping, Loop::Closed | Loop::Thinking(_))
        {
            return Ok(Vec::new());
        }
        let window = Window::time(
            selection.window.warmup_s.min(MIX_S),
            selection.window.duration_s().map_or(MIX_S, |s| s.min(MIX_S)),
        );
        let short = Selection { window, looping: Loop::Closed, ..selection.clone() };
        let Number { seq, draw, .. } = bench.numbers.next_unstored(selection, jobs);
        let spec = TestSpec { draw, ..TestSpec::closed(&short, jobs, seq) };
        match self.trial(&spec, evictor, bench.probing) {
            // Of a part that did none in so short a time there are few.
            Outcome::Done(result) => Ok(result
                .parts
                .iter()
                .map(|part| if part.jobs > 0 { part.tally.ops.max(1) as f64 } else { 0.0 })
                .collect()),
            Outcome::Interrupted(_) => Ok(Vec::new()),
            Outcome::Failed(error) => Err(error.at(selection.workload.id.clone())),
        }
    }

    /// Announces the next test to the receiver of events and returns its specification.
    pub(super) fn announce_test<'s>(
        &self,
        next: &NextTest<'s>,
        numbers: &mut Numbers,
    ) -> TestSpec<'s> {
        let NextTest { selection, jobs, offer, after_s } = *next;
        let Number { seq, draw, block } = numbers.next(selection, jobs);
        let run_left_s = after_s + schedule::test_s(selection);
        (self.events)(Event::TestStarted { seq, selection, jobs, run_left_s });
        TestSpec { offer, draw, block, ..TestSpec::closed(selection, jobs, seq) }
    }

    /// Executes, judges and stores one test.
    pub(super) fn execute_test(
        &self,
        spec: &TestSpec<'_>,
        evictor: &Evictor,
        after_s: f64,
        bench: &mut Bench<'_, '_>,
    ) -> Result<TestEnd> {
        let unjudged =
            self.test_execution(spec.selection).execute(spec, evictor, after_s, bench.probing);
        self.judge_and_store(unjudged, spec, bench.store)
    }

    /// The context in which a test of the selection is executed.
    pub(super) fn test_execution(&self, selection: &Selection) -> TestExecution<'_> {
        TestExecution {
            database: self.database,
            facts: (self.facts)(selection),
            rows: self.rows,
            seed: self.plan.key_seed,
            interrupt: self.interrupt,
            catch_up: self.catch_up,
            evidence: &self.evidence,
            eviction_note: self.eviction_note,
            events: self.events,
            at_gate: &|| (),
            workers: self.workers,
            timing_costs: self.timing_costs,
        }
    }

    /// Judges and stores a test that was executed.
    pub(super) fn judge_and_store(
        &self,
        unjudged: UnjudgedTest,
        spec: &TestSpec<'_>,
        store: &mut Store,
    ) -> Result<TestEnd> {
        let UnjudgedTest { outcome, started_at, clock_step_s } = unjudged;
        match outcome {
            Outcome::Done(result) => {
                let stored = self.judge_and_save(*result, spec.selection, clock_step_s, store)?;
                Ok(TestEnd::Measured(stored))
            }
            Outcome::Interrupted(partial) => {
                if let Some(result) = partial {
                    self.save_partial(*result, spec.selection, clock_step_s, store)?;
                }
                Ok(TestEnd::Stopped(RunStatus::Interrupted))
            }
            Outcome::Failed(error) => {
                let code = match error.class {
                    ErrorClass::WorkerLost => ReasonCode::WorkerLost,
                    ErrorClass::Lost | ErrorClass::Unreachable
                        if !self.database.nodes().is_empty() =>
                    {
                        ReasonCode::NodeLost
                    }
                    _ => ReasonCode::Failed,
                };
                let error = error.at(spec.selection.workload.id.clone());
                let failure = Failure { started_at, error: &error, code };
                Ok(TestEnd::without_result(self.store_failure_for(spec, failure, store)?))
            }
        }
    }

    /// Executes and judges one test without storing it, and without catch-up.
    pub(super) fn trial(
        &self,
        spec: &TestSpec<'_>,
        evictor: &Evictor,
        probing: &mut Probing<'_>,
    ) -> Outcome {
        let unjudged = TestExecution { catch_up: None, ..self.test_execution(spec.selection) }
            .execute(spec, evictor, 0.0, probing);
        match unjudged.outcome {
            Outcome::Done(result) => {
                Outcome::Done(Box::new(self.judge(*result, spec.selection, unjudged.clock_step_s)))
            }
            other => other,
        }
    }

    fn judge(
        &self,
        mut result: TestResult,
        selection: &Selection,
        clock_step_s: f64,
    ) -> TestResult {
        (result.server_start, result.load) =
            (self.server_start.server_start, self.server_start.load);
        result.instrument_us_per_op = instrument_us_per_op(&self.timing_costs, selection, &result);
        let facts = TestFacts {
            context: JudgeContext {
                engine: &self.plan.engine,
                in_process: self.in_process,
                host_cpus: processors(),
                clock_step_s,
                round_trip_s: self.round_trip_s,
            },
            is_duet: self.is_duet,
            unconfirmed: self.unconfirmed.clone(),
            is_one_host: !self.database.server_pids().is_empty(),
            device_per_s: self.device_per_s(&result),
        };
        analysis::judge_test(&mut result, selection, &facts);
        result
    }

    /// Durable writes per second of the device beside a test that committed.
    fn device_per_s(&self, result: &TestResult) -> Option<f64> {
        Some(self.sync?.best_per_s(durability::commits_per_job_s(result)?))
    }

    /// Counts durable writes of our own after a test that committed, by which two runs of one
    /// platform tell whether its device was as fast in both.
    fn add_device_speed(&self, result: &mut TestResult) {
        let Some(sync) = self.sync.filter(|_| result.window.commits > 0) else { return };
        if let Some(SyncTimes { writes, elapsed_s }) = sync.write() {
            result.counters.set(device_speed::SYNCS, writes as f64);
            result.counters.set(device_speed::SYNC_S, elapsed_s);
        }
    }

    /// Counts trips of a cache line between CPUs after a test of several jobs, by which two runs of
    /// one platform tell whether its CPUs were as near one another in both. Nothing is known of the
    /// CPUs of another host.
    fn add_cpu_distance(&self, result: &mut TestResult) {
        let is_here = self.in_process || !self.database.server_pids().is_empty();
        if result.jobs < 2 || !is_here {
            return;
        }
        if let Some(LineTrips { trips, elapsed_s }) = line_trips() {
            result.counters.set(cpu_distance::TRIPS, trips as f64);
            result.counters.set(cpu_distance::TRIPS_S, elapsed_s);
        }
    }

    fn judge_and_save(
        &self,
        result: TestResult,
        selection: &Selection,
        clock_step_s: f64,
        store: &mut Store,
    ) -> Result<StoredTest> {
        let mut result = self.judge(result, selection, clock_step_s);
        self.add_cpu_distance(&mut result);
        self.add_device_speed(&mut result);
        store.save_test(self.run_id, &result)?;
        (self.events)(Event::TestDone(&result));
        let TestResult { kpm_value, total_s, ref verdict, .. } = result;
        Ok(StoredTest {
            trial: Trial::from_result(&result),
            kpm_value,
            total_s,
            verdict: verdict.clone(),
        })
    }

    fn save_partial(
        &self,
        result: TestResult,
        selection: &Selection,
        step_s: f64,
        store: &mut Store,
    ) -> Result<()> {
        let mut result = self.judge(result, selection, step_s);
        let mut reasons = result.verdict.reasons;
        reasons.push(circumstances::interruption_reason(result.window_s));
        result.verdict = Verdict::from_reasons(reasons);
        store.save_test(self.run_id, &result)?;
        (self.events)(Event::TestDone(&result));
        Ok(())
    }

    /// Stores a failed test. Returns the status with which the run ends; none if the database still
    /// answers, and the run goes on.
    pub(super) fn store_failure(
        &self,
        spec: &TestSpec<'_>,
        started_at: String,
        error: &Error,
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        self.store_failure_for(spec, Failure { started_at, error, code: ReasonCode::Failed }, store)
    }

    /// Stores a failure with its reason code; otherwise like `store_failure`.
    fn store_failure_for(
        &self,
        spec: &TestSpec<'_>,
        failure: Failure<'_>,
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let (server_start, load) = (self.server_start.server_start, self.server_start.load);
        let error = failure.error;
        let result = TestResult { server_start, load, ..failed_test(spec, failure) };
        store.save_test(self.run_id, &result)?;
        (self.events)(Event::TestFailed { selection: spec.selection, jobs: spec.jobs, error });
        Ok((!self.answers_again()).then_some(RunStatus::Failed))
    }

    /// True once the database answers, at once or after a restart: a crash then costs only one
    /// test.
    fn answers_again(&self) -> bool {
        let began = Instant::now();
        while let Err(error) = self.database.session() {
            let gone = matches!(error.class, ErrorClass::Unreachable | ErrorClass::Lost);
            // A server that starts says so.
            let timeout = if error.code.is_some() { STARTS_WITHIN } else { self.back_within };
            if !gone || self.interrupt.is_set() || began.elapsed() >= timeout {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }
}

/// The selection with a window in which the SLO can be judged at the offered rate; none if its
/// own is long enough.
fn judgeable(selection: &Selection, offer: Option<OfferedLoad>) -> Option<Selection> {
    let (own_s, offer) = (selection.window.duration_s()?, offer?);
    let window_s = slo_search::window_s(offer.slo?, offer.per_s, own_s);
    let window = Window { end: End::Time(window_s), ..selection.window };
    (window_s > own_s).then(|| Selection { window, ..selection.clone() })
}

/// Reason why a search for the highest rate cannot end with an answer, once the closed loop is
/// known.
fn hopeless(selection: &Selection, trials: &[Trial]) -> Option<String> {
    let (Loop::Highest(slo, _), [closed]) = (&selection.looping, trials) else { return None };
    let own_s = selection.window.duration_s()?;
    slo_search::is_hopeless(*slo, closed.ops_per_s, own_s).then(|| {
        format!(
            "{}: {slo} is not searched for: at {} ops/s a window holds too few ops for the \
             percentile; take a lower one, or a longer --duration",
            selection.label(),
            dbdyno_core::model::sentence::number(closed.ops_per_s)
        )
    })
}

/// Runs a test, and repeats it up to `most` times while it is disturbed; `report` is called with
/// the number of repetitions that are left. All are stored. Returns the first test of those with
/// the best verdict, unless nothing was measured.
fn repeat_until_undisturbed(
    most: u32,
    test: &mut dyn FnMut() -> Result<TestEnd>,
    report: &dyn Fn(u32),
) -> Result<TestEnd<Trial>> {
    let mut best: Option<StoredTest> = None;
    let mut left = most;
    loop {
        let stored = match test()? {
            TestEnd::Measured(stored) => Some(stored),
            TestEnd::Failed => None,
            TestEnd::Stopped(status) => return Ok(TestEnd::Stopped(status)),
        };
        let is_disturbed = stored.as_ref().is_some_and(|stored| stored.verdict.is_disturbed());
        best = best.into_iter().chain(stored).min_by_key(|stored| stored.verdict.status);
        if left == 0 || !is_disturbed {
            return Ok(best.map_or(TestEnd::Failed, |stored| TestEnd::Measured(stored.trial)));
        }
        report(left);
        left -= 1;
    }
}

/// The record of a test that failed.
fn failed_test(spec: &TestSpec<'_>, failure: Failure<'_>) -> TestResult {
    let Failure { started_at, error, code } = failure;
    let error = error.to_string();
    TestResult {
        verdict: Verdict::from_reasons(vec![circumstances::failure_reason(code, &error)]),
        first_error: Some(error),
        ..TestResult::unmeasured(spec, started_at)
    }
}

#[cfg(test)]
mod tests;
