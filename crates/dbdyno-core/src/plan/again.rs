//! A plan that was stored with a run, asked for once more: its tests become a request, on the same
//! engine or on another one.

use serde::Deserialize;

use super::params::{Params, chosen};
use super::{Request, candidates};
use crate::catalog::{Catalog, SuiteEntry, Work};
use crate::error::{Error, Result};
use crate::model::params::{BESIDE, BESIDE_JOBS, NODES, assignments};
use crate::model::{Arrivals, AskedRate, Drive, End, LeftOut, Plan, Ramp, Slo, StoredPlan, Window};

/// A selection as [`super::describe`] stores it: the fields that make a request.
#[derive(Debug, Clone, Deserialize)]
struct StoredTest {
    workload: String,
    asked_as: Option<String>,
    params: Params,
    drive: Drive,
    ramp: Ramp,
    window: Window,
    repeat: u32,
    beside: Option<StoredBackground>,
    rate: Option<AskedRate>,
    arrivals: Option<Arrivals>,
    slo: Option<Slo>,
    hash: String,
}

/// Background workload.
#[derive(Debug, Clone, Deserialize)]
struct StoredBackground {
    jobs: u32,
    selection: Box<StoredTest>,
}

/// The tests of a stored plan as a request asks for them.
#[derive(Debug, Clone)]
pub struct Again {
    /// The request with these tests.
    pub request: Request,
    /// Tests that the engine cannot run, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// The tests of the stored plan `stored`, which was of the engine `from`, in `request`, which names
/// the engine that they are to run on. On another engine parameters that were the default there are
/// its own defaults. The numbers of nodes that tests ran on are no part of them: see [`nodes`].
///
/// # Errors
/// Usage errors: the plan is not one of dbdyno, or has workloads that the catalog lacks.
pub fn again(
    catalog: &Catalog,
    stored: &StoredPlan,
    from: &str,
    request: Request,
) -> Result<Again> {
    let selections = selections(stored)?;
    let first = nodes(stored)?.first().map(u32::to_string);
    // The plan has each test once for each number of nodes.
    let once = selections.iter().filter(|stored| stored.params.get(NODES) == first.as_ref());
    let asked = PlanTransfer { catalog, from, to: request.engine.clone() };
    let tests = once.map(|selection| asked.entry(selection)).collect::<Result<_>>()?;
    let request = Request { tests, ..request };
    let mut kept = Vec::new();
    let mut left_out = Vec::new();
    for candidate in candidates(catalog, &request)? {
        match candidate.selection {
            Ok(_) => kept.push(candidate.entry),
            Err(reason) => left_out.push(LeftOut::new(candidate.entry.label(), reason)),
        }
    }
    Ok(Again { request: Request { tests: kept, ..request }, left_out })
}

/// The numbers of nodes of a cluster that each test of a stored plan ran on, in their order; none:
/// on all.
///
/// # Errors
/// As [`again`].
pub fn nodes(stored: &StoredPlan) -> Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for selection in selections(stored)? {
        let number = selection.params.get(NODES).and_then(|number| number.parse().ok());
        numbers.extend(number.filter(|number| !numbers.contains(number)));
    }
    Ok(numbers)
}

/// True if a stored plan holds the rates of its tests: those of early versions do not.
pub fn has_rates(stored: &StoredPlan) -> bool {
    selections(stored).is_ok_and(|tests| tests.iter().any(|test| test.rate.is_some()))
}

/// Tests of a stored plan, by workload, whose statements are not those of `plan`: of another
/// catalog, another engine or another drive. Both have the same tests in the same order, except
/// those that are left out.
///
/// # Errors
/// As [`again`].
pub fn differing(stored: &StoredPlan, plan: &Plan) -> Result<Vec<String>> {
    let known: Vec<&str> =
        plan.selections.iter().map(|selection| selection.hash.as_str()).collect();
    let differs = |stored: &StoredTest| !known.contains(&stored.hash.as_str());
    let named = |stored: StoredTest| stored.asked_as.unwrap_or(stored.workload);
    Ok(selections(stored)?.into_iter().filter(differs).map(named).collect())
}

fn selections(stored: &StoredPlan) -> Result<Vec<StoredTest>> {
    Vec::deserialize(&stored.json()["selections"])
        .map_err(|error| Error::usage("plan", format!("is not one of dbdyno's: {error}")))
}

/// The catalog, and the engines that a plan was of and is for.
struct PlanTransfer<'a> {
    catalog: &'a Catalog,
    from: &'a str,
    to: String,
}

impl PlanTransfer<'_> {
    /// Background workload of a test, as it is asked for.
    fn background(&self, stored: &StoredBackground) -> Result<String> {
        let params = self.params(&stored.selection)?;
        let text = format!("{}:{}", stored.selection.workload, assignments(&params, ","));
        Ok(text.trim_end_matches(':').to_string())
    }

    fn entry(&self, stored: &StoredTest) -> Result<SuiteEntry> {
        let beside = stored.beside.as_ref();
        let entry = SuiteEntry {
            workload: Some(stored.workload.clone()),
            code: stored.asked_as.clone(),
            params: self.params(stored)?,
            jobs: Some(asked_ramp(&stored.ramp)?),
            // Another engine may have the other drive only.
            drive: (self.from == self.to).then_some(stored.drive),
            rate: stored.rate.clone(),
            arrivals: stored.arrivals.filter(|arrivals| *arrivals != Arrivals::default()),
            slo: stored.slo,
            background: beside.map(|beside| self.background(beside)).transpose()?,
            background_jobs: beside.map(|beside| beside.jobs),
            repeat: Some(stored.repeat),
            ..SuiteEntry::default()
        };
        Ok(with_end(entry, stored.window))
    }

    /// All parameters; on another engine those that had been chosen.
    fn params(&self, stored: &StoredTest) -> Result<Params> {
        let asked = self.catalog.find(&stored.workload)?;
        let mut params = stored.params.clone();
        // Background workload and nodes are requested by fields of their own.
        params.retain(|name, _| ![BESIDE, BESIDE_JOBS, NODES].contains(&name.as_str()));
        if self.from == self.to {
            return Ok(params);
        }
        Ok(chosen(&asked.entry.workload, self.from, &params))
    }
}

fn asked_ramp(ramp: &Ramp) -> Result<crate::model::AskedRamp> {
    let text = match ramp {
        Ramp::Fixed(numbers) => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        Ramp::Auto { from, .. } => format!("{from}..auto"),
    };
    text.parse().map_err(|what: String| Error::usage("plan", what))
}

/// The entry with the end of a test's window.
fn with_end(entry: SuiteEntry, window: Window) -> SuiteEntry {
    let warmup_s = Some(window.warmup_s);
    match window.end {
        End::Time(duration_s) => SuiteEntry { warmup_s, duration_s: Some(duration_s), ..entry },
        End::Known { precision, most_s } => SuiteEntry {
            warmup_s,
            precision: Some(precision),
            max_duration_s: Some(most_s),
            ..entry
        },
        End::Ops(ops_per_job) => SuiteEntry { work: Some(Work::ops(ops_per_job)), ..entry },
    }
}
