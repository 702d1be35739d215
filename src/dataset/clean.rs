//! Removes what we made, and nothing else.
//!
//! Ours is what stands in our schema, belongs to our user, and has a name that begins with a word
//! of [`Site::words`]: the data set's tables, and objects of the catalogue's groups (`lgwr_lat`)
//! and routines (`w_...`). The blocks `objects.*` of the data set list it with the statements that
//! drop it.

use crate::engine::{Rows, Session};
use crate::error::Result;
use crate::sql::Values;

use super::{Lock, Site};

/// What cleaning did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Objects dropped.
    pub dropped: Vec<String>,
    /// Objects in our schema that are not ours: they and the schema were left.
    pub foreign: Vec<String>,
    /// Objects of ours that are still there.
    pub left: Vec<String>,
}

/// Drops everything of ours, then our schema if we made it and nothing else stands in it.
///
/// # Errors
/// The engine's; the lock was lost, and another dbdyno has it.
pub fn drop_all(site: &Site<'_>, lock: &Lock) -> Result<Cleaned> {
    lock.renew(site)?;
    let mut session = site.session()?;
    let values = values(site);
    let dropped = drop_listed(site, session.as_mut(), "objects.own", &values)?;
    let foreign = names(&site.query(session.as_mut(), "objects.foreign", &values)?);
    let left = names(&site.query(session.as_mut(), "objects.own", &values)?);
    if foreign.is_empty() {
        site.execute(session.as_mut(), "schema.drop", &values)?;
    }
    Ok(Cleaned { dropped, foreign, left })
}

/// Names of everything of ours that is there.
///
/// # Errors
/// The engine's.
pub fn owned(site: &Site<'_>) -> Result<Vec<String>> {
    let mut session = site.session()?;
    Ok(names(&site.query(session.as_mut(), "objects.own", &values(site))?))
}

/// Drops what the tests of a killed run left: everything of ours but the data set.
///
/// # Errors
/// The engine's.
pub(super) fn drop_leftovers(site: &Site<'_>, session: &mut dyn Session) -> Result<Vec<String>> {
    drop_listed(site, session, "objects.leftover", &values(site))
}

fn values(site: &Site<'_>) -> Values {
    let mut values = site.recipe.values();
    values.insert("words".into(), site.words.join("|"));
    values
}

/// Runs the statement in column `drop` of every row of the block; gives their column `name`.
fn drop_listed(
    site: &Site<'_>,
    session: &mut dyn Session,
    block: &str,
    values: &Values,
) -> Result<Vec<String>> {
    let rows = site.query(session, block, values)?;
    for row in 0..rows.rows.len() {
        if let Some(sql) = rows.get(row, "drop") {
            session.execute(sql).map_err(|error| site.failed(error))?;
        }
    }
    Ok(names(&rows))
}

fn names(rows: &Rows) -> Vec<String> {
    (0..rows.rows.len()).filter_map(|row| rows.get(row, "name").map(String::from)).collect()
}
