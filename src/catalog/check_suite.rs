//! Checks of a suite: every test names a workload that there is, with values that it allows, or says why it has none.

use crate::error::{Error, Result};

use super::check::{TABLES, fixed};
use super::{Catalog, Suite, SuiteEntry, parse_selection};

/// What is wrong in a suite; the place of each is the suite's file.
pub(super) fn findings(catalog: &Catalog, suite: &Suite) -> Vec<Error> {
    let place = format!("catalog/suites/{}.toml", suite.id);
    let wrong = |entry: &SuiteEntry, error: Error| {
        Error::usage(&place, format!("{}: {}", entry.label(), error.what)).advise(error.advice)
    };
    let written = suite.entries.iter().filter_map(|entry| Some(wrong(entry, shape(suite, entry).err()?)));
    let mut findings: Vec<Error> = written.collect();
    match catalog.suite_tests(suite) {
        Err(error) => findings.push(error),
        Ok(tests) => {
            findings.extend(tests.iter().filter_map(|entry| Some(wrong(entry, params(catalog, entry).err()?))));
        }
    }
    findings
}

fn shape(suite: &Suite, entry: &SuiteEntry) -> Result<()> {
    let no = |what: &str| Err(Error::usage("", what));
    match (&entry.workload, &entry.none) {
        (Some(_), Some(_)) | (None, None) => return no("an entry has either a workload or a reason why 'none'"),
        (None, Some(_)) if entry.title.is_none() => return no("what is only listed needs a title"),
        _ => {}
    }
    let Some(work) = &entry.work else { return Ok(()) };
    if !(work.amount > 0.0 && work.amount.is_finite()) {
        return no("the amount of work is not above 0");
    }
    match &work.grows_with {
        Some(table) if !TABLES.contains(&table.as_str()) => no("work grows with small or big"),
        Some(_) if suite.published_gb.is_none() => no("work that grows needs the suite's 'published_gb'"),
        _ => Ok(()),
    }
}

fn params(catalog: &Catalog, entry: &SuiteEntry) -> Result<()> {
    let Some(text) = &entry.workload else { return Ok(()) };
    let (name, mut given) = parse_selection(text)?;
    given.extend(entry.params.clone());
    let asked = catalog.find(&name)?;
    fixed(&asked.entry.workload, &asked.with(&given, "")?).map_or(Ok(()), |what| Err(Error::usage("", what)))
}
