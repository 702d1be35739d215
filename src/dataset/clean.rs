//! Removes what we made, and nothing else.

use crate::engine::{Rows, Session};
use crate::error::Result;
use crate::sql::Values;

use super::Site;

/// What cleaning did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Tables dropped.
    pub dropped: Vec<String>,
    /// Objects in our schema that are not ours: they and the schema were left.
    pub foreign: Vec<String>,
}

/// Drops every table of ours, then our schema if nothing else stands in it.
///
/// # Errors
/// The engine's.
pub fn drop_all(site: &Site<'_>) -> Result<Cleaned> {
    let mut session = site.session()?;
    let values = site.values();
    let dropped = names(&site.query(session.as_mut(), "objects.tables", &values)?);
    for table in &dropped {
        drop_table(site, session.as_mut(), table)?;
    }
    let foreign = names(&site.query(session.as_mut(), "objects.foreign", &values)?);
    if foreign.is_empty() {
        site.execute(session.as_mut(), "schema.drop", &values)?;
    }
    Ok(Cleaned { dropped, foreign })
}

fn drop_table(site: &Site<'_>, session: &mut dyn Session, table: &str) -> Result<()> {
    let values = Values::from([("table".to_string(), table.to_string())]);
    site.execute(session, "drop", &values).map(|_| ())
}

fn names(rows: &Rows) -> Vec<String> {
    rows.rows.iter().filter_map(|row| row.first()?.clone()).collect()
}
