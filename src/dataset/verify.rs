//! Holds the rows in the database against the row function.

use crate::engine::Session;
use crate::error::{Error, Kind, Result};

use super::ensure::tables;
use super::{Checksum, Request, Site, Table};

/// Checks every table of `request` completely: row count and the sums of all columns that no workload changes.
///
/// # Errors
/// Of kind `Check` with the table and what differs; the engine's if a table cannot be read.
pub fn verify(site: &Site<'_>, request: &Request) -> Result<()> {
    let mut session = site.session()?;
    for table in tables(&site.recipe, request) {
        let expected = Checksum::of_table(table.rows, u64::from(request.sessions));
        check_rows(site, session.as_mut(), &table, &expected, false)?;
    }
    Ok(())
}

/// Compares a table's checksum with what it must be; see [`Checksum::differences`] for `loaded`.
pub(super) fn check_rows(
    site: &Site<'_>,
    session: &mut dyn Session,
    table: &Table,
    expected: &Checksum,
    loaded: bool,
) -> Result<()> {
    let place = format!("{}: table {}", site.label, table.full_name(&site.recipe));
    let rows = site.query(session, "checksum", &table.values(&site.recipe))?;
    let found = Checksum::from_rows(&rows).map_err(|what| Error::new(Kind::Check, place.clone(), what))?;
    let differences = found.differences(expected, loaded);
    if differences.is_empty() {
        return Ok(());
    }
    let what = format!("the rows are not those of the row function: {}", differences.join(", "));
    Err(Error::new(Kind::Check, place, what).advise("run 'dbdyno clean', then load again"))
}
