//! A plan that was stored with a run, asked for once more: its tests become a request, on the same
//! engine or on another one.

use serde::Deserialize;
use serde_json::Value;

use super::params::{Params, chosen};
use super::{Request, candidates};
use crate::catalog::{Catalog, SuiteEntry, Work};
use crate::error::{Error, Result};
use crate::model::params::{BESIDE, BESIDE_JOBS, NODES};
use crate::model::{Drive, End, Expr, Plan, Ramp, Window};

/// A selection as [`super::describe`] stores it: what of it makes a request.
#[derive(Debug, Clone, Deserialize)]
struct Stored {
    workload: String,
    asked_as: Option<String>,
    params: Params,
    drive: Drive,
    ramp: Ramp,
    window: Window,
    repeat: u32,
    beside: Option<StoredBeside>,
    hash: String,
}

/// Background workload.
#[derive(Debug, Clone, Deserialize)]
struct StoredBeside {
    jobs: u32,
    selection: Box<Stored>,
}

/// The tests of a stored plan as a request asks for them.
#[derive(Debug, Clone)]
pub struct Again {
    /// The request with these tests.
    pub request: Request,
    /// Tests that the engine cannot run, with the reason.
    pub left_out: Vec<(String, String)>,
}

/// The tests of the stored plan `stored`, which was of the engine `from`, in `request`, which names
/// the engine that they are to run on. On another engine parameters that were the default there are
/// its own defaults.
///
/// # Errors
/// Of usage: the plan is not one of ours, knows workloads that the catalogue has not, or ran on
/// several numbers of nodes.
pub fn again(catalog: &Catalog, stored: &Value, from: &str, request: Request) -> Result<Again> {
    let selections = selections(stored)?;
    if selections.iter().any(|selection| selection.params.contains_key(NODES)) {
        return Err(Error::usage("plan", "its tests ran on several numbers of nodes")
            .advise("repeat it with 'dbdyno run --nodes'"));
    }
    let asked = Asked { catalog, from, to: request.engine.clone() };
    let pairs = selections.iter().map(|selection| asked.pair(selection));
    let request = Request { pairs: pairs.collect::<Result<_>>()?, ..request };
    let mut kept = Vec::new();
    let mut left_out = Vec::new();
    for (pair, candidate) in request.pairs.iter().zip(candidates(catalog, &request)?) {
        match candidate.selection {
            Ok(_) => kept.push(pair.clone()),
            Err(reason) => left_out.push((candidate.entry.label().to_string(), reason)),
        }
    }
    Ok(Again { request: Request { pairs: kept, ..request }, left_out })
}

/// Tests of a stored plan, by workload, whose statements are not those of `plan`: of another
/// catalogue, another engine or another drive. Both have the same tests in the same order, except
/// those that are left out.
///
/// # Errors
/// As [`again`].
pub fn differing(stored: &Value, plan: &Plan) -> Result<Vec<String>> {
    let known: Vec<&str> =
        plan.selections.iter().map(|selection| selection.hash.as_str()).collect();
    let differs = |stored: &Stored| !known.contains(&stored.hash.as_str());
    let named = |stored: Stored| stored.asked_as.unwrap_or(stored.workload);
    Ok(selections(stored)?.into_iter().filter(differs).map(named).collect())
}

fn selections(stored: &Value) -> Result<Vec<Stored>> {
    Vec::deserialize(&stored["selections"])
        .map_err(|error| Error::usage("plan", format!("is not one of dbdyno's: {error}")))
}

/// The catalogue, and the engines that a plan was of and is for.
struct Asked<'a> {
    catalog: &'a Catalog,
    from: &'a str,
    to: String,
}

impl Asked<'_> {
    fn pair(&self, stored: &Stored) -> Result<(SuiteEntry, Option<(String, u32)>)> {
        let beside = stored.beside.as_ref().map(|beside| {
            let params = self.params(&beside.selection)?;
            let pairs: Vec<String> =
                params.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let text = format!("{}:{}", beside.selection.workload, pairs.join(","));
            Ok::<_, Error>((text.trim_end_matches(':').to_string(), beside.jobs))
        });
        Ok((self.entry(stored)?, beside.transpose()?))
    }

    fn entry(&self, stored: &Stored) -> Result<SuiteEntry> {
        let entry = SuiteEntry {
            workload: Some(stored.workload.clone()),
            code: stored.asked_as.clone(),
            params: self.params(stored)?,
            jobs: Some(asked_ramp(&stored.ramp)?),
            // Another engine may have the other drive only.
            drive: (self.from == self.to).then_some(stored.drive),
            repeat: Some(stored.repeat),
            ..SuiteEntry::default()
        };
        Ok(with_end(entry, stored.window))
    }

    /// All parameters; on another engine those that had been chosen.
    fn params(&self, stored: &Stored) -> Result<Params> {
        let asked = self.catalog.find(&stored.workload)?;
        let mut params = stored.params.clone();
        // What runs beside it is asked for beside it.
        params.retain(|name, _| name != BESIDE && name != BESIDE_JOBS);
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
        End::Ops(ops_per_job) => {
            let work = Work {
                amount: ops_per_job as f64,
                unit: "ops".into(),
                per_op: Expr("1".into()),
                grows_with: None,
            };
            SuiteEntry { work: Some(work), ..entry }
        }
    }
}
