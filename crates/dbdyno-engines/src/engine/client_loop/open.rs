//! The open loop: every op starts when it is due, or at once if that has passed. Its response time
//! counts from when it was due, so that an op that waits for an earlier one is not left out (no
//! coordinated omission; G. Tene, wrk2).

use std::num::NonZeroU64;
use std::time::Duration;

use super::clock::Clock;
use super::{ClientSession, EngineError, Job, Pacer, Slice, Timetable};

impl Timetable {
    /// Nanoseconds since the gate opened.
    pub(super) fn now_ns(&self) -> u64 {
        self.opened_at.elapsed().as_nanos() as u64
    }
}

/// An op that is due; all times in ns since the gate opened.
struct DueOp {
    /// Begin of the slice.
    began_ns: u64,
    start_ns: u64,
    due_ns: u64,
}

impl<S: ClientSession> Job<'_, S> {
    /// Runs the ops that are due within the slice; an op that is late runs to its end. Returns the
    /// end in ns.
    pub(super) fn ops_on_time(
        &mut self,
        slice: &Slice,
        pacer: &mut dyn Pacer,
        clock: &Clock,
    ) -> Result<u64, EngineError> {
        let limit_ns = (slice.seconds * 1e9) as u64;
        let mut now_ns = 0;
        while let Some(timetable) =
            self.timetable.as_ref().filter(|_| self.ops < slice.max_ops && now_ns < limit_ns)
        {
            let (began_ns, due_ns) = (clock.since(timetable.opened_at), timetable.due.next_ns());
            // 0 if it was due before the slice began: the op is late.
            let due_in_slice_ns = due_ns.saturating_sub(began_ns);
            if due_in_slice_ns >= limit_ns {
                return Ok(wait_until(limit_ns, clock));
            }
            let start_ns = wait_until(due_in_slice_ns, clock);
            let op = DueOp { began_ns, start_ns: began_ns + start_ns, due_ns };
            now_ns = self.op_on_time(&op, clock, pacer)?;
        }
        Ok(now_ns)
    }

    /// One op. Returns its end by the clock, which began with the slice.
    fn op_on_time(
        &mut self,
        op: &DueOp,
        clock: &Clock,
        pacer: &mut dyn Pacer,
    ) -> Result<u64, EngineError> {
        let DueOp { began_ns, start_ns, due_ns } = *op;
        let result = self.op();
        let end_ns = clock.ns();
        if let Some(timetable) = &mut self.timetable {
            timetable.due.ended(began_ns + end_ns);
        }
        self.busy_ns += began_ns + end_ns - start_ns;
        match result {
            Ok(()) => {
                self.latency.record_ns(began_ns + end_ns - start_ns);
                self.note_response(due_ns, (began_ns + end_ns).saturating_sub(due_ns));
            }
            Err(error) => self.recover(error, pacer)?,
        }
        Ok(end_ns)
    }

    /// Notes a response time, also for the phase in which the op was due: the phase that made it
    /// wait.
    fn note_response(&mut self, due_ns: u64, response_ns: u64) {
        self.response.record_ns(response_ns);
        let phase = self.timetable.as_ref().and_then(|timetable| timetable.due.phase(due_ns));
        if let Some(times) = phase.and_then(|phase| self.by_phase.get_mut(phase)) {
            times.record_ns(response_ns);
        }
    }
}

/// Asks the system to wake this thread when it shall wake, not up to 50 us later.
pub(super) fn wake_on_time() {
    // where it cannot, wake-ups are later
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Sleeps until the clock shows `at_ns`; returns what it shows then.
fn wait_until(at_ns: u64, clock: &Clock) -> u64 {
    loop {
        let now_ns = clock.ns();
        if now_ns >= at_ns {
            return now_ns;
        }
        std::thread::sleep(Duration::from_nanos(at_ns - now_ns));
    }
}
