//! Control sessions: they provision, check and probe, and never run inside a measured loop.

use dbdyno_core::model::Counters;

use super::error::EngineError;

/// A control session: provisioning, checking, probing. Not used inside measured loops.
pub trait Session: Send {
    /// Runs one statement, returns the rows affected.
    ///
    /// # Errors
    /// The engine's error with class and statement.
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError>;
    /// Runs one query with 64-bit integer binds (by position), returns all rows as text.
    ///
    /// # Errors
    /// Those of `execute`.
    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError>;
    /// Runs a query without binds that probes repeat often. An engine whose server plans a query at
    /// a higher cost than it answers it keeps it prepared in the session.
    ///
    /// # Errors
    /// Those of `execute`.
    fn query_again(&mut self, sql: &str) -> Result<Rows, EngineError> {
        self.query(sql, &[])
    }
}

/// A small query result as text; NULL is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Names of the columns, as the server returns them.
    pub columns: Vec<String>,
    /// Rows in the order of the result, each with a value per column.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// The value of column `name` in row `row`.
    pub fn get(&self, row: usize, name: &str) -> Option<&str> {
        let column = self.columns.iter().position(|column| column == name)?;
        self.rows.get(row)?.get(column)?.as_deref()
    }
    /// The columns of the first row that are numbers.
    pub fn counters(&self) -> Counters {
        let row = self.columns.iter().zip(self.rows.first().into_iter().flatten());
        let number = |(name, value): (&String, &Option<String>)| {
            Some((name.clone(), value.as_deref()?.parse().ok()?))
        };
        Counters(row.filter_map(number).collect())
    }
    /// The text of this column, counted from 0, in the first row; empty if it is NULL or if there
    /// is no such row or column.
    pub fn text_at(&self, column: usize) -> &str {
        self.rows.first().and_then(|row| row.get(column)?.as_deref()).unwrap_or_default()
    }
    /// The first value of the first row.
    pub fn scalar(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }
}

/// Name of the only column of a query whose result is another query, to be run instead. Its text
/// depends on the database, for example on the schema of an extension.
const QUERY: &str = "query";

/// The rows of a query, or of the query that it returns; no rows if that is missing.
///
/// # Errors
/// Those of either query.
pub fn rows_of(session: &mut dyn Session, sql: &str) -> Result<Rows, EngineError> {
    let rows = session.query(sql, &[])?;
    match (&rows.columns[..], rows.scalar()) {
        ([only], Some(given)) if only == QUERY => session.query(given, &[]),
        ([only], None) if only == QUERY => Ok(Rows::default()),
        _ => Ok(rows),
    }
}

/// A control session on a node, with the node's name.
pub type NodeSession = (String, Box<dyn Session>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_column_is_that_of_the_first_row_or_empty() {
        let row = vec![Some("a".to_string()), None];
        let rows = Rows { rows: vec![row, vec![Some("b".into()); 3]], ..Rows::default() };
        assert_eq!([rows.text_at(0), rows.text_at(1), rows.text_at(2)], ["a", "", ""]);
        assert_eq!(Rows::default().text_at(0), "");
    }
}
