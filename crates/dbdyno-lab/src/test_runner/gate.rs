//! The gate: all jobs connect and prepare, then start together.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

#[derive(Debug, Default)]
struct State {
    waiting: u32,
    /// Jobs that ended, for whatever reason.
    ended: u32,
    /// Jobs that have all slices of the window.
    satisfied: u32,
    opened_at: Option<Instant>,
    /// No more slices.
    stopped: bool,
}

/// A gate for `jobs` job threads and one coordinator.
#[derive(Debug)]
pub struct Gate {
    jobs: u32,
    state: Mutex<State>,
    /// Signal for waiting jobs that the gate has opened, or the test was called off. It is apart
    /// from `changed`, which would wake each of a thousand jobs a thousand times.
    opened: Condvar,
    /// Signal for those who wait for the jobs.
    changed: Condvar,
}

impl Gate {
    /// A closed gate.
    pub fn new(jobs: u32) -> Self {
        Gate { jobs, state: Mutex::default(), opened: Condvar::new(), changed: Condvar::new() }
    }

    /// Number of jobs that must come.
    pub fn jobs(&self) -> u32 {
        self.jobs
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// A job waits here; returns when the gate opened, or `None` if the test is off.
    pub fn pass(&self) -> Option<Instant> {
        self.update(|state| state.waiting += 1);
        let state = self.wait_open();
        if state.stopped { None } else { state.opened_at }
    }

    fn wait_open(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        let is_closed = |state: &mut State| state.opened_at.is_none() && !state.stopped;
        self.opened.wait_while(&mut state, is_closed);
        state
    }

    /// Moment at which the gate opened, once it is open; `None` if the test is cancelled.
    pub fn opened_at(&self) -> Option<Instant> {
        self.wait_open().opened_at
    }

    /// Notes that a job has everything that the window needs.
    pub fn note_satisfied(&self) {
        self.update(|state| state.satisfied += 1);
    }

    /// Notes the end of a job.
    pub fn note_end(&self) {
        self.update(|state| state.ended += 1);
    }

    /// Stops the test: there are no more slices, and jobs at the gate end.
    pub fn stop(&self) {
        self.update(|state| state.stopped = true);
        self.opened.notify_all();
    }

    /// True after `stop`.
    pub fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Opens the gate now.
    pub fn open(&self) -> Instant {
        let now = Instant::now();
        self.open_since(now);
        now
    }

    /// Opens the gate now, for jobs elsewhere that began at a moment.
    pub fn open_since(&self, began: Instant) {
        self.update(|state| state.opened_at = Some(began));
        self.opened.notify_all();
    }

    /// True once it has opened.
    pub fn is_open(&self) -> bool {
        self.lock().opened_at.is_some()
    }

    /// Marks the arrival of a proxy for jobs of other processes.
    pub fn note_arrival(&self) {
        self.update(|state| state.waiting += 1);
    }

    /// Waits at most `timeout` until every job stands at the gate (true) or one has ended before it
    /// (false).
    pub fn await_arrivals(&self, timeout: Duration) -> Option<bool> {
        let jobs = self.jobs;
        self.wait(timeout, |state| state.ended > 0 || state.waiting == jobs)
            .map(|state| state.ended == 0)
    }

    /// Waits at most `timeout` until every job has ended or is satisfied.
    pub fn await_satisfied(&self, timeout: Duration) -> bool {
        let jobs = self.jobs;
        self.wait(timeout, |state| state.satisfied + state.ended >= jobs).is_some()
    }

    /// Waits at most `timeout` until every job has ended.
    pub fn await_end(&self, timeout: Duration) -> bool {
        let jobs = self.jobs;
        self.wait(timeout, |state| state.ended >= jobs).is_some()
    }

    fn wait(
        &self,
        timeout: Duration,
        done: impl Fn(&State) -> bool,
    ) -> Option<MutexGuard<'_, State>> {
        let mut state = self.lock();
        self.changed.wait_while_for(&mut state, |state| !done(state), timeout);
        done(&state).then_some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_start_together_after_the_last_one_came() {
        let gate = Gate::new(3);
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..3).map(|_| scope.spawn(|| gate.pass())).collect();
            assert_eq!(gate.await_arrivals(Duration::from_secs(10)), Some(true));
            let opened = gate.open();
            for job in jobs {
                assert_eq!(job.join().unwrap(), Some(opened));
            }
        });
    }

    #[test]
    fn a_job_that_fails_before_the_gate_sends_the_others_home() {
        let gate = Gate::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.pass());
            gate.note_end();
            assert_eq!(gate.await_arrivals(Duration::from_secs(10)), Some(false));
            gate.stop();
            assert_eq!(waiting.join().unwrap(), None);
        });
    }
}
