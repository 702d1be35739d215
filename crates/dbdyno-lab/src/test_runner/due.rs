//! Times at which ops are due: of an open loop, of a load over time, of a user who thinks.

use serde::{Deserialize, Serialize};

use dbdyno_core::model::{Arrivals, Loop, RateProfile, TestSpec};
use dbdyno_core::stats::arrivals::DueTimes;

/// Times at which the ops of a job are due, in an open loop or of a user who thinks.
pub(super) fn due_times(spec: &TestSpec<'_>, job: u32, seed: u64) -> Option<DueTimes> {
    Some(Due::for_job(spec, job, seed)?.times(job, spec.jobs))
}

/// Times at which the ops of a job are due.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Due {
    process: Process,
    seed: u64,
}

/// Process that makes the ops of a job due; rates are the job's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Process {
    /// An open loop at one rate.
    Rate { per_s: f64, arrivals: Arrivals },
    /// An open loop at a rate that changes, behind a warm-up; of it the job has a share.
    Profile { profile: RateProfile, warmup_s: f64, share: f64, arrivals: Arrivals },
    /// A user who thinks.
    Thinking { mean_s: f64 },
}

impl Due {
    /// Of a job (from 1) in an open loop, or of a user who thinks, drawn from the seed of the test.
    pub(super) fn for_job(spec: &TestSpec<'_>, job: u32, seed: u64) -> Option<Due> {
        let process = match &spec.selection.looping {
            Loop::Thinking(mean_s) => Process::Thinking { mean_s: *mean_s },
            Loop::Profile(profile, arrivals) => Process::Profile {
                profile: profile.clone(),
                warmup_s: spec.selection.window.warmup_s,
                share: spec.offered_per_s(job)? / spec.offer?.per_s,
                arrivals: *arrivals,
            },
            Loop::Closed | Loop::Open(..) | Loop::Highest(..) => {
                Process::Rate { per_s: spec.offered_per_s(job)?, arrivals: spec.offer?.arrivals }
            }
        };
        Some(Due { process, seed })
    }

    /// True of a load over time.
    pub(super) fn is_over_time(&self) -> bool {
        matches!(self.process, Process::Profile { .. })
    }

    /// Due times of a job out of this many jobs.
    pub(super) fn times(&self, job: u32, jobs: u32) -> DueTimes {
        let at = |per_s: f64, arrivals: Arrivals| match arrivals {
            Arrivals::Uniform => DueTimes::uniform(per_s, job, jobs),
            Arrivals::Poisson => DueTimes::poisson(per_s, self.seed, job),
        };
        match &self.process {
            Process::Rate { per_s, arrivals } => at(*per_s, *arrivals),
            // At a rate of one op per second; the load tells when so many are due.
            Process::Profile { profile, warmup_s, share, arrivals } => {
                at(1.0, *arrivals).along(profile.load(*warmup_s), *share)
            }
            Process::Thinking { mean_s } => DueTimes::thinking(*mean_s, self.seed, job),
        }
    }
}
