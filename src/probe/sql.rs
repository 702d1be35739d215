//! Counters of the database, through the catalogue's `counters.*` blocks.

use crate::engine::{Rows, Session};
use crate::model::Counters;
use crate::sql::{Block, statement};

use super::Probe;

/// One block: a query of one row whose columns are standard counters.
struct Query {
    name: String,
    sql: String,
}

/// Reads all counter blocks through one control session.
pub struct SqlProbe {
    session: Box<dyn Session>,
    queries: Vec<Query>,
}

impl SqlProbe {
    /// The probe over the `counters.*` blocks among `blocks`, which are already chosen for the server's version.
    pub fn new(session: Box<dyn Session>, blocks: &[&Block]) -> Self {
        let counters = blocks.iter().filter(|block| block.name.starts_with("counters."));
        let queries = counters.map(|block| Query { name: block.name.clone(), sql: statement(&block.text).to_string() });
        SqlProbe { session, queries: queries.filter(|query| !query.sql.is_empty()).collect() }
    }
}

impl Probe for SqlProbe {
    fn name(&self) -> &'static str {
        "sql"
    }
    /// A block that fails does not stop the others; the first error is told.
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let mut result = Ok(());
        for query in &self.queries {
            match self.session.query(&query.sql, &[]) {
                Ok(rows) => take(&rows, counters),
                Err(error) => result = result.and(Err(format!("{}: {error}", query.name))),
            }
        }
        result
    }
}

/// Takes every column of the first row that is a number.
fn take(rows: &Rows, counters: &mut Counters) {
    let Some(row) = rows.rows.first() else { return };
    for (name, value) in rows.columns.iter().zip(row) {
        if let Some(number) = value.as_deref().and_then(|text| text.parse::<f64>().ok()) {
            counters.set(name.as_str(), number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_unknown_not_zero() {
        let columns = vec!["commits".to_string(), "wal_bytes".to_string()];
        let rows = Rows { columns, rows: vec![vec![Some("12".into()), None]] };
        let mut counters = Counters::default();
        take(&rows, &mut counters);
        assert_eq!((counters.get("commits"), counters.get("wal_bytes")), (Some(12.0), None));
    }
}
