//! The runner's side of one job: hands out slices, logs them.

use std::time::Instant;

use super::gate::Gate;
use super::log::{JobLog, SecondsLog, SliceLog, Who};
use super::schedule::{Schedule, StrideInputs, stride, stride_of_first};
use super::timing_cost::TimingCost;
use dbdyno_core::model::{Counters, Drive};
use dbdyno_core::stats::arrivals::DueTimes;
use dbdyno_engines::engine::{
    AfterError, EngineError, ErrorClass, Pacer, Slice, SliceReport, Timetable,
};

/// A job gives up after this many errors in a row without one op done.
const HOPELESS: u32 = 100;

/// Paces one job of a test.
pub struct JobPacer<'a> {
    who: Who,
    gate: &'a Gate,
    seconds: &'a SecondsLog,
    schedule: &'a Schedule,
    drive: Drive,
    timing_cost: Option<TimingCost>,
    /// Due times of an open loop, and of users who think.
    due: Option<DueTimes>,
    /// Its ops start when they are due: each is timed, and between them the job is idle.
    is_timed: bool,
    opened_at: Option<Instant>,
    /// Clock used instead of the machine's.
    clock: Option<Box<dyn Fn() -> f64 + 'a>>,
    started_s: f64,
    stride: u32,
    satisfied: bool,
    errors_in_a_row: u32,
    log: JobLog,
}

impl<'a> JobPacer<'a> {
    /// A pacer at a closed gate, whose ops follow one another.
    pub fn new(
        who: Who,
        gate: &'a Gate,
        seconds: &'a SecondsLog,
        schedule: &'a Schedule,
        drive: Drive,
    ) -> Self {
        JobPacer {
            who,
            gate,
            seconds,
            schedule,
            drive,
            timing_cost: None,
            is_timed: false,
            due: None,
            opened_at: None,
            clock: None,
            started_s: 0.0,
            stride: 1,
            satisfied: false,
            errors_in_a_row: 0,
            log: JobLog::default(),
        }
    }

    /// The same with what it costs to time an op of its loop, if that is known.
    pub fn with_timing_cost(self, timing_cost: Option<TimingCost>) -> Self {
        JobPacer { timing_cost, ..self }
    }

    /// The same with ops that start when they are due, if there are such times.
    pub fn with_due_times(self, due: Option<DueTimes>) -> Self {
        JobPacer { is_timed: due.is_some(), due, ..self }
    }

    /// The same by a clock of one's own, which tells seconds since the gate opened: time passes as
    /// somebody simulates it.
    pub fn by_clock(self, now_s: impl Fn() -> f64 + 'a) -> Self {
        JobPacer { clock: Some(Box::new(now_s)), ..self }
    }

    /// The log, after the job ended.
    pub fn into_log(self) -> JobLog {
        self.log
    }

    fn now_s(&self) -> f64 {
        match &self.clock {
            Some(now_s) => now_s(),
            None => self.opened_at.map_or(0.0, |opened_at| opened_at.elapsed().as_secs_f64()),
        }
    }

    /// Ops still to do for fixed work; none left ends the job.
    fn ops_left(&self) -> Option<u64> {
        match self.schedule.window().ops_per_job() {
            None => Some(u64::MAX),
            Some(total) => total.checked_sub(self.log.total.ops).filter(|left| *left > 0),
        }
    }

    /// Tells the gate once the window's slices are complete: past its close with at least one slice
    /// inside.
    fn note_satisfied(&mut self) {
        let complete =
            self.started_s + 1e-3 >= self.schedule.close_s() && self.log.counted.is_some();
        if complete && !self.satisfied {
            self.satisfied = true;
            self.gate.note_satisfied();
        }
    }
}

impl Pacer for JobPacer<'_> {
    fn ready(&mut self) -> bool {
        self.opened_at = self.gate.pass();
        self.opened_at.is_some()
    }

    fn timetable(&mut self) -> Option<Timetable> {
        Some(Timetable { opened_at: self.opened_at?, due: self.due.take()? })
    }

    fn next_slice(&mut self) -> Option<Slice> {
        self.started_s = self.now_s();
        self.note_satisfied();
        if self.gate.is_stopped() || self.errors_in_a_row >= HOPELESS {
            return None;
        }
        let slice = self.log.slices;
        let max_ops = self.ops_left()?.min(self.schedule.most_ops(slice));
        let seconds = self.schedule.slice_s(self.started_s, slice);
        Some(Slice { seconds, max_ops, stride: self.stride })
    }

    fn slice_done(&mut self, report: &SliceReport<'_>) {
        let end_s = self.now_s();
        let start_s = self.started_s;
        let counts = self.schedule.counts(start_s) && !self.satisfied;
        let mut tally = report.tally.clone();
        if !self.is_timed {
            tally.busy_s = report.elapsed_s;
        }
        for (class, count) in std::mem::take(&mut self.log.pending_errors) {
            *tally.errors.entry(class).or_insert(0) += count;
        }
        if tally.ops > 0 {
            self.errors_in_a_row = 0;
        }
        if counts {
            self.log.times.add(report);
            self.log.add_phases(report.open.map_or(&[], |open| open.by_phase));
        }
        let learned = StrideInputs {
            ops: report.tally.ops,
            elapsed_s: report.elapsed_s,
            times: report.latency,
        };
        let next_stride = if self.schedule.is_early(self.log.slices) {
            stride_of_first(&learned, self.drive, self.timing_cost)
        } else {
            stride(&learned, self.drive, self.timing_cost)
        };
        let behind = report.open.map(|open| open.behind);
        let slice = SliceLog { start_s, end_s, tally, stride: self.stride, counts, behind };
        self.seconds.add(self.who, &slice, report);
        self.log.add(&slice);
        self.stride = match report.tally.ops {
            _ if self.is_timed => 1,
            0 => self.stride, // nothing is learnt from no op
            _ => next_stride,
        };
        self.started_s = end_s;
    }

    fn went_on(&mut self) {
        self.errors_in_a_row = 0;
    }

    fn op_failed(&mut self, error: &EngineError) -> AfterError {
        if error.class == ErrorClass::Cancelled && self.gate.is_stopped() {
            return AfterError::Stop; // cancelled by us after an interrupt: the op did not fail
        }
        *self.log.pending_errors.entry(error.class.name().to_string()).or_insert(0) += 1;
        self.log.first_error.get_or_insert_with(|| error.message.clone());
        self.errors_in_a_row += 1;
        if error.class.retriable() && self.errors_in_a_row < HOPELESS {
            AfterError::GoOn
        } else {
            AfterError::Stop
        }
    }

    fn clock_stepped(&mut self, step_s: f64) {
        self.log.clock_step_s = self.log.clock_step_s.max(step_s);
    }

    fn logged_in(&mut self, login: Option<String>) {
        self.log.login = login;
    }

    fn session_counters(&mut self, counters: Counters) {
        self.log.counters = counters;
    }
}
