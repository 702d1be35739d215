//! Planning: from a selection of workloads to a closed plan with parameters, drive, ramp and all
//! SQL, before anything runs. Pure.

use crate::catalog::{Catalog, SuiteEntry};
use crate::error::{Error, Result};
use crate::model::{
    Arrivals, AskedRamp, AskedRate, Capabilities, Drive, Facts, LeftOut, Loop, Plan, Precision,
    RateProfile, Scale, Selection, Slo, TableRef, Window,
};

mod again;
mod compile;
mod draw;
mod hash;
mod pace;
mod params;
mod select;
mod show;
pub mod studies;
mod values;

#[cfg(test)]
mod suite_tests;
#[cfg(test)]
mod test_catalog;
#[cfg(test)]
mod tests;

pub use again::{Again, again, differing, has_rates, nodes};
pub use select::{Candidate, candidates, jobs_note};
pub use show::{describe, show};
pub use values::facts;

/// Nominal size if neither the user nor a suite gives one.
pub const DEFAULT_SIZE_GB: f64 = 0.25;
/// Window if neither the user nor a suite gives one.
pub const DEFAULT_WARMUP_S: f64 = 2.0;
/// Length of the window if neither user nor suite gives one, in s.
pub const DEFAULT_DURATION_S: f64 = 10.0;
/// Bounds of a window that ends when its figure is known: the shortest warm-up and the longest
/// window.
pub const MIN_WARMUP_S: f64 = 1.0;
pub(crate) const DEFAULT_MAX_DURATION_S: f64 = 60.0;
/// Seed of data and keys if the user gives none.
pub const DEFAULT_SEED: u32 = 42;

/// Request of a user; what is left out comes from the suite, else from the defaults above.
#[derive(Debug, Clone)]
pub struct Request {
    /// The engine's name, as the catalog's file names have it.
    pub engine: String,
    /// Declared capabilities of the engine.
    pub capabilities: Capabilities,
    /// Suites by id.
    pub suites: Vec<String>,
    /// Workloads as `ID[:param=value,...]`, after those of the suites.
    pub workloads: Vec<String>,
    /// Background workload of every test.
    pub beside: Option<AskedBackground>,
    /// Further tests; an entry may name its background workload and its rate.
    pub tests: Vec<SuiteEntry>,
    /// Ramp of every test; none = that of the suite.
    pub jobs: Option<AskedRamp>,
    /// Numbers of nodes of a cluster on which each test runs, one after the other; empty = on all.
    pub nodes: Vec<u32>,
    /// Drive of every test; none = the default of engine and workload.
    pub drive: Option<Drive>,
    /// Warm-up, in s; none = that of the suite.
    pub warmup_s: Option<f64>,
    /// Length of the window, in s; none = that of the suite.
    pub duration_s: Option<f64>,
    /// Fixed work instead of fixed time.
    pub ops_per_job: Option<u64>,
    /// Precision instead of either: until the interval of the mean is that narrow, with a longest
    /// window.
    pub precision: Option<Precision>,
    /// Longest window with a precision, in s.
    pub max_duration_s: Option<f64>,
    /// Open loop: rates, when ops are due at them, and the SLO by which the highest rate is
    /// looked for.
    pub rate: Option<AskedRate>,
    /// Open loop: a rate that changes over the window, which is as long as it.
    pub rate_profile: Option<RateProfile>,
    /// Closed loop: mean time between the end of an op and the start of the next, in s.
    pub think_s: Option<f64>,
    /// Distribution of scheduled starts in an open loop.
    pub arrivals: Arrivals,
    /// SLO that the search for the highest rate must meet.
    pub slo: Option<Slo>,
    /// Number of repetitions of each test.
    pub repeat: Option<u32>,
    /// Maximum number of attempts to repeat a disturbed test.
    pub redo_disturbed: u32,
    /// Factor on the windows and the fixed work that the request does not give itself: 1 = as the
    /// suite says.
    pub time_scale: f64,
    /// Nominal size of the data set, in GB; none = that of the suite.
    pub size_gb: Option<f64>,
    /// Seed of the rows and of the order of tests.
    pub seed: u64,
    /// Seed of the keys that jobs draw; `seed` if none is given.
    pub key_seed: Option<u64>,
    /// Each test of the client drive is run directly and through the pooler that the user names.
    pub via: bool,
    /// Processors of the target's host and nodes that the target names, for `cores` and `nodes` in
    /// a ramp.
    pub scale: Scale,
}

impl Request {
    /// A request that names nothing yet; `cores` are the processors of the target's host.
    pub fn new(engine: &str, capabilities: Capabilities, cores: u32) -> Request {
        Request {
            engine: engine.into(),
            capabilities,
            suites: Vec::new(),
            workloads: Vec::new(),
            beside: None,
            tests: Vec::new(),
            jobs: None,
            nodes: Vec::new(),
            drive: None,
            warmup_s: None,
            duration_s: None,
            ops_per_job: None,
            precision: None,
            max_duration_s: None,
            rate: None,
            rate_profile: None,
            think_s: None,
            arrivals: Arrivals::default(),
            slo: None,
            repeat: None,
            redo_disturbed: 0,
            time_scale: 1.0,
            size_gb: None,
            seed: DEFAULT_SEED.into(),
            key_seed: None,
            via: false,
            scale: Scale { cores, nodes: 1 },
        }
    }
}

impl Request {
    /// True if it says itself when a test ends.
    fn gives_end(&self) -> bool {
        self.duration_s.is_some()
            || self.ops_per_job.is_some()
            || self.precision.is_some()
            || self.rate.is_some()
            || self.rate_profile.is_some()
    }
}

/// A workload that is to run beside the measured ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedBackground {
    /// The workload, as `ID[:param=value,...]`.
    pub workload: String,
    /// Number of its jobs.
    pub jobs: u32,
}

/// Reason why a selection does not become part of the plan.
#[derive(Debug)]
enum Refusal {
    /// The engine cannot do it. Left out of a suite, an error if asked for by name.
    Unavailable {
        /// Identifier of the workload.
        workload: String,
        /// Reason why the engine cannot do it.
        reason: String,
    },
    /// The request or the catalog is wrong.
    Wrong(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal::Wrong(error)
    }
}

/// Window and loop of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowAndLoop {
    /// Warm-up, and end of the measurement window.
    pub window: Window,
    /// Rule by which ops start.
    pub looping: Loop,
}

/// Window and loop of a test without a suite.
///
/// # Errors
/// A rate that is to be found without an SLO, or the other way round.
pub fn window_and_loop(request: &Request) -> Result<WindowAndLoop> {
    let window = pace::window(request, &SuiteEntry::default(), None, &Facts::new())?;
    Ok(WindowAndLoop { window, looping: pace::looping(request, &SuiteEntry::default())? })
}

/// Builds the plan.
///
/// # Errors
/// Unknown names, bad parameters or jobs, a workload asked for by name that the engine cannot run,
/// an error in the catalog's SQL, a plan without any workload.
pub fn build(catalog: &Catalog, request: &Request) -> Result<Plan> {
    let mut plan = empty_plan(catalog, request)?;
    for wish in select::wishes(catalog, request)? {
        match select::selection(catalog, request, plan.size_gb, &wish) {
            Ok(selection) => match wish
                .suite
                .and_then(|_| select::repeats(request, &plan.selections, &selection))
            {
                None => plan.selections.extend(select::on_nodes(selection, &request.nodes)),
                Some(reason) => plan.left_out.push(LeftOut::new(selection.workload.id, reason)),
            },
            Err(Refusal::Unavailable { workload, reason }) if wish.suite.is_some() => {
                let label = wish.entry.code.clone().unwrap_or_else(|| wish.with_way(workload));
                plan.left_out.push(LeftOut { label, reason });
            }
            Err(Refusal::Unavailable { workload, reason }) => {
                return Err(unavailable(wish.text(), &workload, &reason, request));
            }
            Err(Refusal::Wrong(error)) => return Err(error),
        }
    }
    if plan.selections.is_empty() {
        return Err(nothing_to_run(&plan));
    }
    plan.tables = tables(&plan.selections);
    Ok(plan)
}

fn empty_plan(catalog: &Catalog, request: &Request) -> Result<Plan> {
    let suites =
        request.suites.iter().map(|name| catalog.suite(name)).collect::<Result<Vec<_>>>()?;
    let ids: Vec<_> = suites.iter().map(|suite| suite.id.as_str()).collect();
    let suite = if ids.is_empty() || !request.workloads.is_empty() || !request.tests.is_empty() {
        "custom".into()
    } else {
        ids.join("+")
    };
    let largest = suites.iter().filter_map(|suite| suite.size_gb).reduce(f64::max);
    let size_gb = request.size_gb.or(largest).unwrap_or(DEFAULT_SIZE_GB);
    let (tables, selections, left_out) = Default::default();
    let (engine, seed, jobs_given) = (request.engine.clone(), request.seed, request.jobs.is_some());
    let redo_disturbed = request.redo_disturbed;
    let note = note(request, &suites);
    let harness = catalog.harness(&request.engine);
    let calibration = compile::bare_routine(&request.engine, &request.capabilities, &harness)?;
    Ok(Plan {
        engine,
        suite,
        seed,
        key_seed: request.key_seed.unwrap_or(seed),
        size_gb,
        jobs_given,
        redo_disturbed,
        note,
        tables,
        selections,
        left_out,
        calibration,
    })
}

/// Note of the suites on figures that are measured as they define it: with longer windows it does
/// not apply.
fn note(request: &Request, suites: &[&crate::catalog::Suite]) -> Option<String> {
    let is_own = !request.gives_end() && request.time_scale <= 1.0;
    suites.iter().filter(|_| is_own).find_map(|suite| suite.note.clone())
}

fn unavailable(text: &str, id: &str, reason: &str, request: &Request) -> Error {
    Error::usage(
        format!("--workload {text}"),
        format!("{id} cannot run on {}: {reason}", request.engine),
    )
    .advise(format!("see 'dbdyno show workload {id}'"))
}

fn nothing_to_run(plan: &Plan) -> Error {
    match plan.left_out.first() {
        None => Error::usage("--workload", "no workload is selected")
            .advise("name a workload or a suite"),
        Some(LeftOut { label, reason }) => Error::usage(
            format!("--suite {}", plan.suite),
            format!("no workload of it can run on {}; {label}: {reason}", plan.engine),
        ),
    }
}

/// Tables that must be loaded, each once; the small ones first, the default organization first of a
/// kind.
fn tables(selections: &[Selection]) -> Vec<TableRef> {
    let mut tables: Vec<TableRef> =
        selections.iter().flat_map(|selection| selection.tables.clone()).collect();
    tables.sort_by_key(|table| (table.kind != "small", table.clone()));
    tables.dedup();
    tables
}
