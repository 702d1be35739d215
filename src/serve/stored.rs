//! Runs of a results file as reports take them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::analysis::compare::{ENOUGH, Side, tells};
use crate::analysis::noise::{self, Noise};
use crate::catalog::Catalog;
use crate::engine;
use crate::error::Result;
use crate::model::{Effect, RunKind, RunRecord};
use crate::report::ab_test::{AB_TEST, SIDE};
use crate::report::{Input, RunTests};
use crate::store::Store;

/// A run by its id, its name or `last`, or one test of it.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub run: String,
    pub test: Option<u32>,
}

/// These runs or tests for a report; `seconds`: with series and snapshots. `command` is what makes
/// the same report.
///
/// # Errors
/// Unknown runs and tests; a file that cannot be read.
pub fn input(
    store: &Store,
    catalog: &Catalog,
    chosen: &[Chosen],
    seconds: bool,
    command: String,
) -> Result<Input> {
    let read = |chosen: &Chosen| {
        let run = store.run(&chosen.run)?;
        let tests = match chosen.test {
            Some(seq) => vec![store.test_of(run.id, seq)?],
            None if seconds => store.tests(run.id)?,
            None => store.figures(run.id)?,
        };
        Ok(RunTests::new(run, tests).ordered())
    };
    let runs = chosen.iter().map(read).collect::<Result<Vec<_>>>()?;
    let calibrations = calibrations(store, &runs)?;
    // Figures of publications stand beside measured ones by what the catalog says of their codes.
    let has_published = runs.iter().any(|data| data.run.kind == RunKind::Published);
    Ok(Input {
        runs,
        catalog: if has_published { catalog.clone() } else { Catalog::default() },
        groups: catalog.groups().to_vec(),
        licences: catalog.publishing(),
        key_settings: engine::key_settings(),
        orgs: engine::orgs(),
        calibrations,
        command,
        ..Input::default()
    })
}

/// Calibrations of a platform that are read, at most: one may have found nothing.
const MAX_CALIBRATIONS: usize = 3;

/// Of each run the newest calibration of its platform that found something, oldest first: of others
/// no test is read.
fn calibrations(store: &Store, runs: &[RunTests]) -> Result<Vec<RunTests>> {
    let (key, value) = noise::LABEL;
    let known = store.outlines(&store.measured_with(key, value)?)?;
    let mut read: BTreeMap<i64, RunTests> = BTreeMap::new();
    for RunTests { run, .. } in runs {
        let of_platform = known
            .iter()
            .rev()
            .filter(|known| known.id != run.id && noise::is_same_platform(known, run));
        for calibration in of_platform.take(MAX_CALIBRATIONS) {
            let found = match read.entry(calibration.id) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    entry.insert(RunTests::new(calibration.clone(), store.figures(calibration.id)?))
                }
            };
            if Noise::from_calibration(&found.run, &found.tests).is_of(run) {
                break;
            }
        }
    }
    Ok(read.into_values().collect())
}

/// Runs before the newest of those compared among which earlier runs of their platform are looked
/// for.
const LOOKED_AT: usize = 60;

/// The last earlier runs of the platforms of these runs, oldest first, from which comparisons with
/// the first of them learn how much fresh runs differ: calibrations, and runs of the same settings.
/// The tests of no more runs are read than it takes to find enough of them.
///
/// # Errors
/// If the results cannot be read.
pub fn history(store: &Store, runs: &[RunTests], effects: &[Effect]) -> Result<Vec<RunTests>> {
    let Some(newest) = runs.iter().map(|data| data.run.id).max() else { return Ok(Vec::new()) };
    let is_of = |run: &RunRecord| {
        !run.labels.contains_key(AB_TEST)
            && runs.iter().all(|data| data.run.id != run.id)
            && runs.iter().any(|data| noise::is_same_platform(&data.run, run))
    };
    let (mut found, mut of_base) = (Vec::new(), 0);
    for run in store.finished_before(newest, LOOKED_AT)?.into_iter().filter(is_of) {
        let tests = store.figures(run.id)?;
        let telling = |data: &RunTests| {
            let side = Side { name: "", run: &data.run, tests: &data.tests, price: None };
            noise::is_same_platform(&data.run, &run) && tells(&side, &run, &tests, effects)
        };
        let told: Vec<bool> = runs.iter().map(telling).collect();
        of_base += usize::from(told[0]);
        if told.contains(&true) {
            found.push(RunTests::new(run, tests));
        }
        if of_base == ENOUGH {
            break;
        }
    }
    found.reverse();
    Ok(found)
}

/// The last `most` runs before a run, oldest first, that were measured on its platform; only those
/// with a label, if one is given.
///
/// # Errors
/// If the results cannot be read.
pub fn base_of(
    store: &Store,
    run: &RunRecord,
    label: Option<(&str, &str)>,
    most: usize,
) -> Result<Vec<RunTests>> {
    let has_label = |known: &RunRecord| {
        label.is_none_or(|(key, value)| known.labels.get(key).is_some_and(|own| own == value))
    };
    let is_of = |known: &RunRecord| {
        has_label(known)
            && !known.labels.contains_key(AB_TEST)
            && !noise::is_calibration(known)
            && noise::is_same_platform(run, known)
    };
    let found = store.finished_before(run.id, LOOKED_AT.max(most))?.into_iter().filter(is_of);
    let mut found: Vec<RunTests> = found
        .take(most)
        .map(|run| store.figures(run.id).map(|tests| RunTests::new(run, tests).ordered()))
        .collect::<Result<_>>()?;
    found.reverse();
    Ok(found)
}

/// The sides of the A/B test that a run belongs to, with their tests in the order of the blocks;
/// none if it belongs to none.
///
/// # Errors
/// If the results cannot be read.
pub fn sides(store: &Store, run: &RunRecord) -> Result<Vec<RunTests>> {
    let Some(ab_test) = run.labels.get(AB_TEST) else { return Ok(Vec::new()) };
    let ids = store.measured_with(AB_TEST, ab_test)?;
    let mut sides =
        ids.iter().map(|id| side(store, &id.to_string())).collect::<Result<Vec<_>>>()?;
    sides.sort_by_key(|side| side.run.labels.get(SIDE).cloned());
    Ok(sides)
}

/// A run with its tests in the order in which they ran.
///
/// # Errors
/// Unknown runs; results that cannot be read.
pub fn side(store: &Store, run: &str) -> Result<RunTests> {
    let run = store.run(run)?;
    let tests = store.figures(run.id)?;
    Ok(RunTests::new(run, tests))
}
