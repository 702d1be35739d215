//! Content of our `state` table about a loaded table.

use dbdyno_core::error::Result;
use dbdyno_core::model::LoadResult;
use dbdyno_engines::engine::Session;

use super::{Checksum, Site, Table};

/// A table as remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RememberedTable {
    pub table_bytes: u64,
    pub index_bytes: u64,
}

/// The table as remembered, if it has this data set id and its first and last row are there.
///
/// # Errors
/// The engine's; a missing table only means that it is not loaded.
pub(super) fn find(
    site: &Site<'_>,
    session: &mut dyn Session,
    table: &Table,
    id: &str,
) -> Result<Option<RememberedTable>> {
    let values = table.values(&site.recipe);
    let rows = site.query(session, "state.read", &values)?;
    if rows.get(0, "data_set_id") != Some(id) {
        return Ok(None);
    }
    let Ok(ends) = site.query(session, "quick", &values) else { return Ok(None) };
    let last = table.rows.table_rows.to_string();
    let complete =
        ends.get(0, "first_id") == Some("1") && ends.get(0, "last_id") == Some(last.as_str());
    let bytes = |name| rows.get(0, name).and_then(|text| text.parse().ok()).unwrap_or(0);
    Ok(complete.then(|| RememberedTable {
        table_bytes: bytes("table_bytes"),
        index_bytes: bytes("index_bytes"),
    }))
}

/// Bytes that the table and its indexes take, as the engine stores them.
///
/// # Errors
/// The engine's.
pub(super) fn sizes(
    site: &Site<'_>,
    session: &mut dyn Session,
    table: &Table,
) -> Result<(u64, u64)> {
    let sizes = site.query(session, "sizes", &table.values(&site.recipe))?;
    let bytes = |name| sizes.get(0, name).and_then(|text| text.parse().ok()).unwrap_or(0);
    Ok((bytes("table_bytes"), bytes("index_bytes")))
}

/// A table whose rows were verified.
pub(super) struct VerifiedTable<'a> {
    pub table: &'a Table,
    /// Identifies its rows.
    pub id: &'a str,
    pub checksum: &'a Checksum,
    pub load: &'a LoadResult,
}

/// Remembers a verified table.
///
/// # Errors
/// The engine's.
pub(super) fn remember(
    site: &Site<'_>,
    session: &mut dyn Session,
    verified: &VerifiedTable<'_>,
) -> Result<()> {
    let VerifiedTable { table, id, checksum, load } = *verified;
    let mut values = table.values(&site.recipe);
    let pairs = [
        ("data_set_id", id.to_string()),
        ("checksum", checksum.to_string()),
        ("table_bytes", load.table_bytes.to_string()),
        ("index_bytes", load.index_bytes.to_string()),
        ("loaded_at", jiff::Timestamp::now().to_string()),
    ];
    values.extend(pairs.map(|(name, value)| (name.to_string(), value)));
    site.execute(session, "state.forget", &values)?;
    site.execute(session, "state.remember", &values).map(|_| ())
}
