//! Results of an open loop: the offered load, how it was served, and the phases of a load over
//! time.

use serde::{Deserialize, Serialize};

use super::{LatencySummary, OfferedLoad, RatePhase, Slo};

/// Offered load of a test in an open loop, and how it was served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Arrival rate, and the SLO if a search set it.
    pub offer: OfferedLoad,
    /// Ops that were due in the window, those included that were late already when it opened: done
    /// ones and those that were not started when it closed.
    pub due: f64,
    /// Response times: from when an op was due to its end. Mean over all ops.
    pub response: LatencySummary,
    /// Phases of a rate that changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseResult>,
}

/// Fewer ops done than this fraction of those that were due: the rate was not kept up.
const KEPT_UP: f64 = 0.99;

impl OpenLoop {
    /// True if fewer ops were done than offered.
    pub fn is_overloaded(&self, done: u64) -> bool {
        (done as f64) < KEPT_UP * self.due
    }

    /// True if the test met an SLO with `done` ops, false if it missed it: by its response times,
    /// or because fewer ops were done than offered. None if that is unknown: ops that were due and
    /// not done have no response time, and with more of them than the percentile leaves out it is
    /// unknown, too.
    pub fn meets(&self, slo: Slo, done: u64) -> Option<bool> {
        let response_us = slo.percentile.value_us(&self.response);
        if self.is_overloaded(done) || response_us.is_some_and(|us| us >= slo.limit_us) {
            return Some(false);
        }
        let missing = 1.0 - done as f64 / self.due;
        let is_known = response_us.is_some() && missing <= 1.0 - slo.percentile.fraction();
        is_known.then_some(true)
    }

    /// True if the rate was not the same all the time.
    pub fn changes(&self) -> bool {
        let phases = self.phases.iter().map(|figures| figures.phase);
        let mut rates = phases.flat_map(|phase| [phase.from_per_s, phase.to_per_s]);
        let first = rates.next();
        rates.any(|rate| Some(rate) != first)
    }
}

/// Standard deviations of a Poisson process beyond which a difference is not chance.
const UNDONE_SIGMAS: f64 = 4.0;

/// Result of the ops of a phase of a load over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Phase with its rates.
    pub phase: RatePhase,
    /// Begin of the phase, in s since the window opened.
    pub from_s: f64,
    /// End of the phase, in s since the window opened.
    pub to_s: f64,
    /// Ops that were due in it, by its rates: the expected number.
    pub due: f64,
    /// Ops done per second while it lasted, whenever they were due.
    pub ops_per_s: f64,
    /// Ops that were due in it and were done in the window, then or later.
    pub done: u64,
    /// Response times of those. Ops that were never done have none.
    pub response: LatencySummary,
    /// Ops that were due and not started when it began, and when it ended.
    pub behind_at_begin: f64,
    /// Ops that were due and not started when it ended.
    pub behind: f64,
    /// Seconds from its end until the jobs had caught up, see
    /// [`crate::stats::arrivals::Backlog::recovery_s`]; absent if the window ended before.
    pub recovery_s: Option<f64>,
}

impl PhaseResult {
    /// True if the number of waiting ops grew, from begin to end, by at least those that are due in
    /// one second of the phase on average: the platform did not keep up with it. Ops that an
    /// earlier phase left do not count.
    pub fn is_overloaded(&self) -> bool {
        let a_second = self.due / (self.to_s - self.from_s);
        self.behind - self.behind_at_begin >= a_second
    }

    /// Ops that were due in it and not done in the window, if they are more than chance explains.
    pub fn undone(&self) -> Option<f64> {
        let missing = self.due - self.done as f64;
        (missing > UNDONE_SIGMAS * self.due.sqrt()).then_some(missing)
    }
}
