//! Runs of a results file as reports take them.

use crate::analysis::noise;
use crate::catalog::Catalog;
use crate::engine;
use crate::error::Result;
use crate::report::{Input, RunTests};
use crate::store::Store;

/// A run by its id, its name or `last`, or one test of it.
#[derive(Debug, Clone)]
pub struct Chosen {
    pub run: String,
    pub test: Option<u32>,
}

/// These runs or tests for a report; `seconds`: with series and snapshots. `command` is what makes the same report.
///
/// # Errors
/// Unknown runs and tests; a file that cannot be read.
pub fn input(store: &Store, catalog: &Catalog, chosen: &[Chosen], seconds: bool, command: String) -> Result<Input> {
    let read = |chosen: &Chosen| {
        let run = store.run(&chosen.run)?;
        let tests = match chosen.test {
            Some(seq) => vec![store.test_of(run.id, seq)?],
            None if seconds => store.tests(run.id)?,
            None => store.figures(run.id)?,
        };
        Ok(RunTests { run, tests }.ordered())
    };
    let runs = chosen.iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(Input {
        runs,
        groups: catalog.groups().to_vec(),
        licences: catalog.publishing(),
        key_settings: engine::key_settings(),
        calibrations: calibrations(store)?,
        command,
        ..Input::default()
    })
}

/// The calibrations of the results file, oldest first.
fn calibrations(store: &Store) -> Result<Vec<RunTests>> {
    let (key, value) = noise::LABEL;
    let read = |id: i64| Ok(RunTests { run: store.run(&id.to_string())?, tests: store.figures(id)? });
    store.measured_with(key, value)?.into_iter().map(read).collect()
}
