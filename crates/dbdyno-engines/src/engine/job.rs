//! A job as an engine runs it: its specification, its slices with their reports, and the pacer, by
//! which the test runner says when the loop starts, goes on and ends.

use std::time::Instant;

use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{Counters, Facts, JobCode, Tally, Wire};
use dbdyno_core::stats::LatencyHistogram;
use dbdyno_core::stats::arrivals::DueTimes;

use super::error::EngineError;

/// Specification of a job.
pub struct JobSpec<'a> {
    /// Number of the job, from 1 to `jobs`.
    pub job: u32,
    /// Number of jobs of the test, on all load generators together.
    pub jobs: u32,
    /// Code that the job loops over.
    pub code: &'a JobCode,
    /// Statements that the job's session runs once, before the gate.
    pub session: &'a [String],
    /// Seed of the run; the job's generator is seeded from it and `job` by `stats::keys`.
    pub seed: u64,
    /// Facts for bind expressions.
    pub facts: &'a Facts,
    /// Row function for bulk loads.
    pub rows: RowFunction,
    /// Transport and protocol of statements on the client drive.
    pub wire: Wire,
    /// Node of a cluster on which the job runs, a name of `Database::nodes`. For the database of
    /// that node it is the name that the node gives itself.
    pub node: Option<&'a str>,
}

/// Limits of one uninterrupted stretch of the loop, between two looks at the clock of the runner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Seconds after which the slice ends; the op under way finishes first.
    pub seconds: f64,
    /// Number of ops after which the slice ends.
    pub max_ops: u64,
    /// Every n-th op is timed; 1 = every op.
    pub stride: u32,
}

/// Report of a slice.
pub struct SliceReport<'a> {
    /// Counts of the slice: ops, rows, commits, errors.
    pub tally: Tally,
    /// Seconds from the slice's first op to the end of its last, by the clock next to the loop.
    pub elapsed_s: f64,
    /// Service times of the timed ops, in ns.
    pub latency: &'a LatencyHistogram,
    /// The longest op as far as it can be known, in ns: where not every op is timed, one that
    /// nobody timed may have held up the others. 0 = the longest of the timed ones.
    pub longest_ns: u64,
    /// Results of an open loop; none for a closed one.
    pub open: Option<OpenSlice<'a>>,
}

impl<'a> SliceReport<'a> {
    /// The report of a closed loop whose ops are all timed.
    pub fn new(tally: Tally, elapsed_s: f64, latency: &'a LatencyHistogram) -> Self {
        SliceReport { tally, elapsed_s, latency, longest_ns: 0, open: None }
    }
}

/// Report of an open-loop slice in addition to its ops.
#[derive(Clone, Copy)]
pub struct OpenSlice<'a> {
    /// Response times in ns: from when each op was due to its end.
    pub response: &'a LatencyHistogram,
    /// Response times by the phase of a load over time in which the ops were due; empty without
    /// phases.
    pub by_phase: &'a [LatencyHistogram],
    /// Ops that were due at the slice's end and not started.
    pub behind: f64,
}

/// Times at which the ops of an open loop, or of users who think, are due.
pub struct Timetable {
    /// Time at which the gate opened; due times count from here.
    pub opened_at: Instant,
    /// Scheduled starts of the job's ops.
    pub due: DueTimes,
}

/// Reaction to a failed op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterError {
    /// Roll back and go on with the next op.
    GoOn,
    /// End the job with this error.
    Stop,
}

/// The runner's side of a job: gate, slices, tally. The engine pulls.
pub trait Pacer {
    /// Waits at the gate, once the job has connected and prepared. False ends the job: the test was
    /// called off.
    fn ready(&mut self) -> bool;
    /// Due times of the ops on the client drive, asked for after the gate; none if the ops simply
    /// follow one another.
    fn timetable(&mut self) -> Option<Timetable> {
        None
    }
    /// The next slice; none ends the job.
    fn next_slice(&mut self) -> Option<Slice>;
    /// Takes the report of a finished slice.
    fn slice_done(&mut self, report: &SliceReport<'_>);
    /// Ends a row of failed ops: others succeeded since the last failure.
    fn went_on(&mut self) {}
    /// Counts a failed op (or slice) by the class of its error.
    fn op_failed(&mut self, error: &EngineError) -> AfterError;
    /// Notes that the clock of the database was set during the slice that is reported next, by at
    /// least this many seconds.
    fn clock_stepped(&mut self, _step_s: f64) {}
    /// Takes the login method and encryption of connections that ops open, before the gate.
    fn logged_in(&mut self, _login: Option<String>) {}
    /// Takes the own counters of the job's session over the loop, at its end.
    fn session_counters(&mut self, counters: Counters);
}
