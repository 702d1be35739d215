//! Reads a table and its indexes into the database's cache.

use crate::error::Result;

use super::{Site, Table};

/// Reads the whole table and all its indexes: by the engine's direct call (`warm.fast`) if it works here, else by the
/// reads of the blocks `warm.read.*`. Whether it helped is checked by the workload's contract.
///
/// # Errors
/// The engine's, from the reads.
pub fn warm(site: &Site<'_>, table: &Table) -> Result<()> {
    let values = table.values(&site.recipe);
    let mut session = site.session()?;
    if site.query(session.as_mut(), "warm.fast", &values).is_ok_and(|rows| rows.scalar().is_some()) {
        return Ok(());
    }
    // A failed statement may have spoiled the session's settings or transaction: start afresh.
    let mut session = site.session()?;
    site.query(session.as_mut(), "warm.session", &values)?;
    for name in site.recipe.names("warm.read.") {
        site.query(session.as_mut(), &name, &values)?;
    }
    Ok(())
}
