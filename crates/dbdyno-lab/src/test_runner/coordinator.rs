//! The coordinator of a test: opens the gate, samples once a second, cuts the window while the jobs
//! run on.

use std::time::{Duration, Instant};

use super::Interrupt;
use super::driver_cost::DriverCost;
use super::gate::Gate;
use super::log::{Now, SecondsLog};
use super::samples::Samples;
use super::schedule::Schedule;
use dbdyno_core::model::{Counters, DriverFigures, Snapshot, SnapshotPoint};
use dbdyno_core::stats::sequence::{POINTS_PER_S, is_hopeless, is_known, known_mean, warmed_up};

/// Timeout for all jobs together to connect and prepare.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(120);
/// Time that jobs may continue after their end before their statements are cancelled: a slice takes
/// a second.
const STOP_TIMEOUT: Duration = Duration::from_millis(1200);
/// Interval at which the coordinator looks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// From the moment at which an edge of the window is known to that edge, where the jobs are
/// elsewhere.
const LEAD_S: f64 = 0.5;

/// Reads all probes: cumulative counters, and what reading cost in ms.
pub type ReadProbes<'a> = dyn FnMut(Reading) -> (Counters, f64) + 'a;

/// Required completeness of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// The counters as they are now, while jobs run.
    AtOnce,
    /// Before the jobs start and after they ended: everything that was done counts, also if the
    /// database updates its counters with a delay.
    Settled,
    /// After the catch-up; empty if the database cannot be made to catch up.
    CaughtUp,
}

/// Progress of a test, once a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds since the gate.
    pub t_s: f64,
    /// Seconds until the window closes; infinite for fixed work.
    pub left_s: f64,
    /// Rate and service times of the last second.
    pub now: Now,
}

/// Way in which the looping ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JobsEnd {
    /// Seconds from the gate to the end of the last job; 0 if the gate never opened.
    pub total_s: f64,
    /// Somebody asked to stop before the window was complete.
    pub interrupted: bool,
    /// The gate opened: every job was connected and prepared in time.
    pub opened: bool,
}

/// Watchers of a test: the reader of the counters, and the receiver of the progress.
pub struct Watchers<'w, 'p> {
    /// Reads the counters.
    pub probes: &'w mut ReadProbes<'p>,
    /// Receiver of the progress, called once a second.
    pub progress: &'w mut dyn FnMut(Progress),
}

/// Watches the clock, samples, cuts the window.
pub struct Coordinator<'a, 'p> {
    gate: &'a Gate,
    schedule: &'a Schedule,
    /// Log of the jobs so far.
    log: &'a SecondsLog,
    stage: Stage,
    /// Timeout for the jobs to come to the gate.
    connect_timeout: Duration,
    probes: &'a mut ReadProbes<'p>,
    progress: &'a mut dyn FnMut(Progress),
    snapshots: Vec<Snapshot>,
    samples: Samples,
    /// Starts the jobs of other processes and returns the common start; none if only jobs of this
    /// process run, which start when the gate opens.
    start: Option<&'a dyn Fn() -> Instant>,
    /// Cost of our own process.
    driver_cost: DriverCost,
}

impl<'a, 'p> Coordinator<'a, 'p> {
    /// A coordinator of jobs that are about to come to `gate`.
    pub fn new<'w: 'a>(
        gate: &'a Gate,
        schedule: &'a Schedule,
        log: &'a SecondsLog,
        connect_timeout: Duration,
        watchers: Watchers<'w, 'p>,
    ) -> Self {
        let Watchers { probes, progress } = watchers;
        let (snapshots, samples, stage) = (Vec::new(), Samples::default(), Stage::Warming);
        let driver_cost = DriverCost::start(gate.jobs());
        Coordinator {
            gate,
            schedule,
            log,
            stage,
            connect_timeout,
            probes,
            progress,
            snapshots,
            samples,
            start: None,
            driver_cost,
        }
    }

    /// The same of jobs elsewhere, which `start` lets begin.
    pub fn with_start(self, start: &'a dyn Fn() -> Instant) -> Self {
        Coordinator { start: Some(start), driver_cost: self.driver_cost.elsewhere(), ..self }
    }

    /// Cost for our own process until now; none if the jobs were never ready.
    pub fn driver(&self) -> Option<DriverFigures> {
        self.driver_cost.figures()
    }

    /// The snapshots and the per-second samples.
    pub fn into_readings(self) -> (Vec<Snapshot>, Samples) {
        (self.snapshots, self.samples)
    }

    /// Conducts the jobs from the gate to their end. Returns when no job runs any more. After an
    /// interrupt, and if the gate stays shut, `cancel` is called for what does not end by itself.
    pub fn supervise(&mut self, interrupt: &Interrupt, cancel: &dyn Fn()) -> JobsEnd {
        let all_came = self.await_jobs(interrupt);
        if !all_came {
            self.gate.stop();
            self.await_end(|| true, cancel);
            return JobsEnd { total_s: 0.0, interrupted: interrupt.is_set(), opened: false };
        }
        self.driver_cost.ready();
        self.snapshot(SnapshotPoint::Begin, 0.0);
        let opened_at = self.open();
        let interrupted = self.watch(opened_at, interrupt);
        self.gate.stop();
        self.await_end(|| interrupt.is_set(), cancel);
        JobsEnd { total_s: opened_at.elapsed().as_secs_f64(), interrupted, opened: true }
    }

    fn open(&self) -> Instant {
        let Some(start) = self.start else { return self.gate.open() };
        let began = start();
        self.gate.open_since(began);
        began
    }

    /// Returns when no job runs any more. Slices end by themselves; once `hurried`, longer
    /// statements are not waited for.
    fn await_end(&self, hurried: impl Fn() -> bool, cancel: &dyn Fn()) {
        let began = Instant::now();
        while !self.gate.await_end(POLL_INTERVAL) {
            if hurried() && began.elapsed() > STOP_TIMEOUT {
                cancel();
            }
        }
    }

    /// True once every job waits at the gate; false if one failed, none came in time, or somebody
    /// interrupts.
    fn await_jobs(&self, interrupt: &Interrupt) -> bool {
        let began = Instant::now();
        while began.elapsed() < self.connect_timeout && !interrupt.is_set() {
            if let Some(all_came) = self.gate.await_arrivals(POLL_INTERVAL) {
                return all_came;
            }
        }
        false
    }

    /// Samples and cuts the window until it is complete, all jobs ended, or somebody interrupts
    /// (true).
    fn watch(&mut self, opened_at: Instant, interrupt: &Interrupt) -> bool {
        let mut next_tick_s = 0.0;
        loop {
            let wake = self.wait(opened_at, next_tick_s, interrupt);
            let now_s = opened_at.elapsed().as_secs_f64();
            let window_open = self.has(SnapshotPoint::WindowOpen);
            match wake {
                Wake::Interrupted | Wake::AllEnded => {
                    if window_open {
                        self.snapshot(SnapshotPoint::WindowClose, now_s);
                    }
                    return wake == Wake::Interrupted;
                }
                Wake::Due => next_tick_s = self.read_tick(now_s, next_tick_s),
            }
            if self.has(SnapshotPoint::WindowClose) {
                return self.await_last_ops(interrupt);
            }
        }
    }

    fn next_due_s(&self, next_tick_s: f64) -> f64 {
        let edge_s = if self.has(SnapshotPoint::WindowOpen) {
            self.schedule.close_s()
        } else {
            self.schedule.open_s()
        };
        edge_s.min(next_tick_s)
    }

    /// One reading of all probes serves the tick and the edges that are due; returns the next tick.
    fn read_tick(&mut self, now_s: f64, next_tick_s: f64) -> f64 {
        let (counters, cost_ms) = (self.probes)(Reading::AtOnce);
        let edge = if self.has(SnapshotPoint::WindowOpen) {
            (now_s >= self.schedule.close_s()).then_some(SnapshotPoint::WindowClose)
        } else {
            (now_s >= self.schedule.open_s()).then_some(SnapshotPoint::WindowOpen)
        };
        if let Some(moment) = edge {
            self.snapshots.push(Snapshot {
                moment,
                t_s: now_s,
                counters: counters.clone(),
                cost_ms,
            });
        }
        let opened = edge == Some(SnapshotPoint::WindowOpen) && self.stage == Stage::Measuring;
        if now_s < next_tick_s && !opened {
            return next_tick_s;
        }
        self.samples.push(now_s, &counters);
        let left_s = (self.schedule.close_s() - now_s).max(0.0);
        (self.progress)(Progress { t_s: now_s, left_s, now: self.log.now(now_s) });
        self.schedule.next_sample_s(now_s)
    }

    /// After the window closed: jobs with long ops finish the one that began inside it. True if
    /// interrupted.
    fn await_last_ops(&self, interrupt: &Interrupt) -> bool {
        while !self.gate.await_satisfied(POLL_INTERVAL) {
            if interrupt.is_set() {
                return true;
            }
        }
        false
    }

    /// Moves the edges of a window that ends when its figure is known.
    fn move_edges(&mut self, now_s: f64) {
        let Some(precision) = self.schedule.window().precision() else { return };
        match self.stage {
            Stage::Warming if self.is_warm(now_s) => {
                self.schedule.open_after(now_s + self.lead_s());
                self.stage = Stage::Measuring;
            }
            Stage::Measuring if self.is_decided(precision.fraction()) => {
                self.schedule.close_after(now_s + self.lead_s());
                self.stage = Stage::Closing;
            }
            _ => {}
        }
    }

    /// Time in advance in which other processes learn of an edge.
    fn lead_s(&self) -> f64 {
        if self.start.is_some() { LEAD_S } else { 0.0 }
    }

    fn is_warm(&self, now_s: f64) -> bool {
        let points = self.log.points(0.0, now_s);
        let overdue = now_s >= self.schedule.open_s();
        overdue
            || points.len() as f64 >= self.schedule.window().warmup_s * POINTS_PER_S as f64
                && warmed_up(&points)
    }

    /// The figure is known, or cannot be in time.
    fn is_decided(&self, precision: f64) -> bool {
        let points = self.log.points(self.schedule.open_s(), self.schedule.close_s());
        let most = self
            .schedule
            .window()
            .duration_s()
            .map_or(usize::MAX, |s| (s * POINTS_PER_S as f64) as usize);
        known_mean(&points, precision).is_some_and(|interval| is_known(&interval, precision))
            || is_hopeless(&points, precision, most)
    }

    /// Waits for the next tick or edge, which may be moved meanwhile.
    fn wait(&mut self, opened_at: Instant, next_tick_s: f64, interrupt: &Interrupt) -> Wake {
        loop {
            let now_s = opened_at.elapsed().as_secs_f64();
            self.move_edges(now_s);
            let left_s = self.next_due_s(next_tick_s) - now_s;
            if left_s <= 0.0 {
                return Wake::Due;
            }
            let all_ended = self.gate.await_end(POLL_INTERVAL.min(Duration::from_secs_f64(left_s)));
            // After an interrupt jobs give up a server that no longer answers, while this thread
            // may wait for it in a reading: they end before the interrupt is seen here. Fixed work
            // ends by itself.
            if interrupt.is_set() && (!all_ended || self.schedule.close_s().is_finite()) {
                return Wake::Interrupted;
            }
            if all_ended {
                return Wake::AllEnded;
            }
        }
    }

    fn has(&self, moment: SnapshotPoint) -> bool {
        self.snapshots.iter().any(|snapshot| snapshot.moment == moment)
    }

    /// Takes a snapshot of all probes.
    pub fn snapshot(&mut self, moment: SnapshotPoint, t_s: f64) {
        let reading = match moment {
            SnapshotPoint::Begin | SnapshotPoint::End => Reading::Settled,
            SnapshotPoint::WindowOpen | SnapshotPoint::WindowClose => Reading::AtOnce,
            SnapshotPoint::CaughtUp => Reading::CaughtUp,
        };
        let (counters, cost_ms) = (self.probes)(reading);
        if reading != Reading::CaughtUp || !counters.0.is_empty() {
            self.snapshots.push(Snapshot { moment, t_s, counters, cost_ms });
        }
    }
}

/// Stage of a test whose window ends when its figure is known.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    Warming,
    Measuring,
    Closing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wake {
    Due,
    AllEnded,
    Interrupted,
}
