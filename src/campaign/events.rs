//! What a campaign tells whoever watches it; the console and logs are made from these.

use crate::dataset::LoadEvent;
use crate::error::Error;
use crate::model::{LoadResult, Selection, TestResult};

/// One thing that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A step that may take seconds begins: `starting a private PostgreSQL server in /data`.
    Step(&'a str),
    /// Something worth knowing: a data set reused, an orphan removed, where things are kept.
    Note(&'a str),
    /// The data set is being loaded.
    Load(&'a LoadEvent),
    /// A table is there, with the figures of its load.
    Loaded(&'a LoadResult),
    /// The run has its number in the results file.
    RunStarted { run_id: i64 },
    /// A test begins.
    TestStarted { seq: u32, selection: &'a Selection, jobs: u32, run_left_s: f64 },
    /// Once a second during a test; `test_left_s` is infinite for fixed work.
    TestProgress { test_left_s: f64, run_left_s: f64 },
    /// Measured, judged and stored.
    TestDone(&'a TestResult),
    /// A test could not run or broke; it is stored as invalid with the reason.
    TestFailed { selection: &'a Selection, jobs: u32, error: &'a Error },
}

/// Receives events, from the campaign's own thread or from loader threads.
pub type Sink<'a> = dyn Fn(Event<'_>) + Sync + 'a;
