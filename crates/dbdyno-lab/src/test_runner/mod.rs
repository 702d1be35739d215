//! The runner: one test at a time, from setup to figures. It prints nothing and judges nothing.
//!
//! A test is a gate, job threads that pull slices, and a coordinator that takes snapshots and cuts
//! the window while the jobs run on. What the jobs did in their slices is summed up in a log
//! ([`log`]); [`assemble`] turns the log into figures.

pub mod assemble;
pub mod assignment;
mod context;
pub(crate) mod coordinator;
mod driver_cost;
mod due;
pub mod gate;
mod job_group;
mod local_job;
pub mod log;
mod nodes;
pub mod pacer;
pub mod raw;
pub mod remote_workers;
pub mod samples;
pub mod schedule;
pub mod sessions;
pub mod test;
pub mod timeline;
mod timing_cost;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use assignment::{
    CoordinatorLink, CoordinatorUpdate, WorkerAssignment, WorkerLog, run_assignment,
};
pub use context::TestContext;
pub use coordinator::{CONNECT_TIMEOUT, Progress, ReadProbes, Reading};
pub use log::{Now, Points, SecondsLog};
pub use remote_workers::{Stage, WorkerProgress, Workers};
pub use schedule::Edges;
pub use sessions::{IoCounts, SessionSource};
pub use test::{Outcome, run_test};
pub(crate) use timing_cost::calls_routine;
pub use timing_cost::{TimingCost, TimingCosts};

/// Set by the signal handler; asked wherever something may take long. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that is not set.
    pub fn new() -> Self {
        Interrupt::default()
    }
    /// Asks everything to stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
    /// True once somebody asked to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
    /// The flag itself, for a signal handler.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
