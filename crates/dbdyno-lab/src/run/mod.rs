//! A whole run: open the platform, load, verify, measure test by test, judge and store each, close.
//!
//! Nothing is printed here: the receiver of events gets [`Event`]s.

use crate::dataset::LoadEvent;
use crate::test_runner::Now;
use dbdyno_core::error::Error;
use dbdyno_core::model::{LoadResult, Selection, TestResult};

pub mod ab_test;
pub mod answers;
mod data_set;
pub(crate) mod deferred_work;
mod duet;
mod evict;
mod experiment;
mod explain;
pub mod failover;
mod instrument;
pub mod measure;
pub mod measured_run;
mod nodes;
mod numbers;
pub mod overhead;
mod paired_blocks;
mod planned_blocks;
pub mod platform;
mod pooler;
mod prepare;
pub mod probing;
mod progress;
mod repositories;
mod request;
pub mod sampler;
pub mod schedule;
pub mod selftest;
mod server_evidence;
mod sync;
mod test_execution;

pub use answers::AnswerCheckOutcome;
pub use data_set::{CheckReceiver, drop_data, load_data, verify_data};
pub use measured_run::{
    MissingParts, RunContext, RunEnd, ended_by, execute, lacking, standard_definition,
};
pub use platform::{Keep, Platform, remove_private};
pub use request::{HostUrls, Request, Via};
pub use schedule::Fresh;

/// One thing that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A step that may take seconds begins: `starting a private server in /data`.
    Step(&'a str),
    /// Something worth knowing: a data set reused, an orphan removed, where things are kept.
    Note(&'a str),
    /// Something stays that should have been removed or made whole again; told also to those who
    /// want no progress.
    LeftBehind(&'a str),
    /// The data set is being loaded.
    Load(&'a LoadEvent),
    /// A table is there, with the figures of its load.
    Loaded(&'a LoadResult),
    /// The run has its number in the results file.
    RunStarted {
        /// Number of the run in the results file.
        run_id: i64,
    },
    /// A test begins.
    TestStarted {
        /// Number of the test within the run, from 1.
        seq: u32,
        /// Workload with its parameters, as planned.
        selection: &'a Selection,
        /// Number of jobs of the test.
        jobs: u32,
        /// Expected time until the end of the run, in s.
        run_left_s: f64,
    },
    /// Once a second during a test; `test_left_s` is infinite for fixed work.
    TestProgress {
        /// Time until the window closes, in s.
        test_left_s: f64,
        /// Expected time until the end of the run, in s.
        run_left_s: f64,
        /// Rate and service times of the last second.
        now: Now,
    },
    /// Measured, judged and stored.
    TestDone(&'a TestResult),
    /// A test could not run or broke; it is stored as invalid with the reason.
    TestFailed {
        /// Workload with its parameters, as planned.
        selection: &'a Selection,
        /// Number of jobs of the test.
        jobs: u32,
        /// Error that kept the test from running or ended it.
        error: &'a Error,
    },
}

/// Receives events, from the thread of the run or from loader threads.
pub type Sink<'a> = dyn Fn(Event<'_>) + Sync + 'a;

/// Plans made by hand, for the tests of this crate and of those above.
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture {
    use super::overhead::selection;
    use dbdyno_core::model::{Plan, Selection};

    /// A plan of workloads on the null engine, each with its number of repetitions.
    pub fn plan(repeats: &[u32], seed: u64) -> Plan {
        let selection = |&repeat: &u32| Selection { repeat, ..selection(0, 1.0) };
        Plan {
            engine: "null".into(),
            suite: "custom".into(),
            seed,
            key_seed: seed,
            size_gb: 1.0,
            jobs_given: false,
            redo_disturbed: 0,
            note: None,
            tables: Vec::new(),
            selections: repeats.iter().map(selection).collect(),
            left_out: Vec::new(),
            calibration: None,
        }
    }
}
