//! Removes what we made, and nothing else.
//!
//! Ours is what stands in our schema, belongs to our user, and is marked as made by us: by a
//! comment where the engine has comments of tables and routines that only their owner can give,
//! else by a name that begins with a word of [`Site::words`]. The blocks `objects.*` of the data
//! set list it with the statements that drop it. What is not ours is left alone, and must not have
//! the name of anything that a test would make or drop.

use dbdyno_core::error::{Error, Result};
use dbdyno_core::sql::Values;
use dbdyno_engines::engine::{Rows, Session};

use super::{Lock, Site};

/// Objects that a cleaning dropped, and those that remain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DroppedObjects {
    /// Dropped objects.
    pub dropped: Vec<String>,
    /// Objects of others in our schema: they and the schema remain.
    pub foreign: Vec<String>,
    /// Own objects that could not be dropped.
    pub left: Vec<String>,
}

/// Drops all own objects, then our schema if dbdyno created it and it holds nothing else.
///
/// # Errors
/// The engine's; the lock was lost, and another dbdyno has it.
pub fn drop_all(site: &Site<'_>, lock: &Lock) -> Result<DroppedObjects> {
    lock.renew(site)?;
    let mut session = site.session()?;
    let values = values(site);
    let dropped = drop_listed(site, session.as_mut(), "objects.own", &values)?;
    let foreign = names(&site.query(session.as_mut(), "objects.foreign", &values)?);
    let left = names(&site.query(session.as_mut(), "objects.own", &values)?);
    if foreign.is_empty() {
        site.execute(session.as_mut(), "schema.drop", &values)?;
    }
    Ok(DroppedObjects { dropped, foreign, left })
}

/// Names of all own objects.
///
/// # Errors
/// The engine's.
pub fn list_own(site: &Site<'_>) -> Result<Vec<String>> {
    let mut session = site.session()?;
    Ok(names(&site.query(session.as_mut(), "objects.own", &values(site))?))
}

/// Names with prefix of what stands in our schema and is not ours, if none of it is named in the
/// texts of what is to be used. Files of an embedded engine, whose names have no prefix, are ours
/// as a whole.
///
/// # Errors
/// The first that is named: it would be used, or dropped. The engine's.
pub fn list_foreign(site: &Site<'_>, used: &[String]) -> Result<Vec<String>> {
    let prefix = site.recipe.capabilities.prefix;
    if prefix.is_empty() {
        return Ok(Vec::new());
    }
    let mut session = site.session()?;
    let foreign = names(&site.query(session.as_mut(), "objects.foreign", &values(site))?);
    let is_used = |name: &&String| used.iter().any(|text| is_named(text, prefix, name));
    if let Some(name) = foreign.iter().find(is_used) {
        let what = format!("{prefix}{name} is there, and nothing proves that dbdyno made it");
        return Err(Error::target(site.label, what)
            .advise("rename or drop it (what an older dbdyno made has no mark, either)"));
    }
    Ok(foreign.into_iter().map(|name| format!("{prefix}{name}")).collect())
}

/// True if a text has the name behind the prefix, or the start of a name that the database
/// completes: `dbdyno.sto_write_` for `sto_write_3`.
fn is_named(text: &str, prefix: &str, name: &str) -> bool {
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(prefix).any(|(at, _)| {
        let rest = &text[at + prefix.len()..];
        let end = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
        let used = &rest[..end];
        used == name || (used.ends_with('_') && name.starts_with(used))
    })
}

/// Drops the objects that the tests of a killed run left: all own ones except the data set.
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
            session.execute(sql).map_err(|error| site.to_error(error))?;
        }
    }
    Ok(names(&rows))
}

fn names(rows: &Rows) -> Vec<String> {
    (0..rows.rows.len()).filter_map(|row| rows.get(row, "name").map(String::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_whole_or_where_the_database_completes_it() {
        let sql =
            "drop table if exists dbdyno.lgwr_lat; execute 'create table dbdyno.sto_write_' || n";
        for (name, is_there) in [
            ("lgwr_lat", true),
            ("lgwr_la", false),
            ("lgwr_lat_2", false),
            ("sto_write_3", true),
            ("sto_write", false),
        ] {
            assert_eq!(is_named(sql, "dbdyno.", name), is_there, "{name}");
        }
        assert!(!is_named(sql, "dbdyno.", "table"));
    }
}
