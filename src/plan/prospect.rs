//! What becomes of each test of a suite on an engine, for listings: nothing is opened or run.

use crate::catalog::{Catalog, SuiteEntry};
use crate::error::{Error, Result};
use crate::model::Selection;

use super::{DEFAULT_SIZE_GB, Refusal, Request, select};

/// A test of a suite and what it would run, or why it would not.
pub struct Prospect {
    pub entry: SuiteEntry,
    pub selection: std::result::Result<Selection, String>,
}

/// The tests of the request's suites in order, also those that are only listed.
///
/// # Errors
/// Unknown names and bad parameters, as [`super::build`].
pub fn prospects(catalog: &Catalog, request: &Request) -> Result<Vec<Prospect>> {
    let size_gb = request.size_gb.unwrap_or(DEFAULT_SIZE_GB);
    let outcome = |wish: select::Wish<'_>| {
        let selection = match select::selection(catalog, request, size_gb, &wish) {
            Ok(selection) => Ok(selection),
            Err(Refusal::Unavailable(_, reason)) => Err(reason),
            Err(Refusal::Wrong(error)) => return Err(error),
        };
        Ok::<_, Error>(Prospect { entry: wish.entry, selection })
    };
    select::wishes(catalog, request)?.into_iter().map(outcome).collect()
}
