//! The control session: answers as text.

use std::sync::atomic::Ordering::Relaxed;

use super::answer::Parameters;
use super::connect::Connection;
use super::statement::{is_query, parameters_of};
use crate::engine::{EngineError, ErrorClass, Rows, Session};

/// A parameter of the catalog's counters: queries of control sessions, which the engine counts
/// with those of jobs.
const CONTROL_QUERIES: &str = "control_queries";

pub(super) struct ChdbSession(pub(super) Connection);

impl Session for ChdbSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        self.count(sql);
        self.0.execute(sql)
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        self.count(sql);
        let asks_for_control = sql.contains(&format!("{{{CONTROL_QUERIES}:"));
        let (mut parameters, values) = if asks_for_control && binds.is_empty() {
            let control = self.0.instance.control_queries.load(Relaxed);
            (Parameters::from_names(vec![CONTROL_QUERIES.into()]), vec![control as i64])
        } else {
            (parameters_of(sql), binds.to_vec())
        };
        if values.len() != parameters.len() {
            let what = format!("{} values for {} binds ({sql})", values.len(), parameters.len());
            return Err(EngineError::new(ErrorClass::Statement, what));
        }
        parameters.set(&values);
        let answer = self.0.ask(sql, "TabSeparatedWithNames", &mut parameters)?;
        Ok(rows_of(&String::from_utf8_lossy(answer.bytes())))
    }
}

impl ChdbSession {
    fn count(&self, sql: &str) {
        if is_query(sql) {
            self.0.instance.count_control_query();
        }
    }
}

/// Reads ClickHouse's format TabSeparatedWithNames.
fn rows_of(text: &str) -> Rows {
    let mut lines = text.lines().map(|line| line.split('\t').map(value));
    let names = lines.next().into_iter().flatten();
    Rows {
        columns: names.map(Option::unwrap_or_default).collect(),
        rows: lines.map(Iterator::collect).collect(),
    }
}

/// A value without its escapes; none = null.
fn value(escaped: &str) -> Option<String> {
    if escaped == "\\N" {
        return None;
    }
    let mut value = String::with_capacity(escaped.len());
    let mut characters = escaped.chars();
    while let Some(character) = characters.next() {
        value.push(match character {
            '\\' => match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                '0' => '\0',
                other => other,
            },
            other => other,
        });
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_without_escapes_and_null_is_none() {
        let rows = rows_of("word\tmissing\tn\nit\\'s\\ta\\\\b\t\\N\t-7\n\t\t\n");
        assert_eq!(rows.columns, ["word", "missing", "n"]);
        let given = [Some("it's\ta\\b"), None, Some("-7")].map(|value| value.map(String::from));
        assert_eq!(rows.rows[0], given);
        assert_eq!(rows.rows[1], [(); 3].map(|()| Some(String::new())));
        assert_eq!(rows_of(""), Rows::default());
    }
}
