//! The control session: any statement, results as text, errors of compilation.

use std::sync::Arc;

use oracledb::{Connection, Row, Statement, ToDbValue};

use super::error;
use super::provision;
use crate::engine::cancel::{HandleGuard, RunningHandles};
use crate::engine::one_line::one_line;
use crate::engine::{EngineError, Rows, Session};
use dbdyno_core::model::Counters;

/// Kinds of PL/SQL objects, whose text ends with a semicolon.
const ROUTINES: [&str; 5] = ["procedure", "function", "package", "trigger", "type"];
/// Words that may stand between `create` and the kind.
const BETWEEN: [&str; 4] = ["or", "replace", "editionable", "noneditionable"];

/// Identity of a session on the server: instance, session, serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle {
    pub instance: u32,
    pub sid: usize,
    pub serial: usize,
}

/// A session; ends properly when dropped.
pub(super) struct OraSession {
    pub connection: Connection,
    handle: Handle,
    /// Reads the session's own counters, if they are asked for.
    counts: Option<String>,
    _running: HandleGuard<Handle>,
    _job: Option<HandleGuard<u32>>,
}

impl OraSession {
    /// A session that can be cancelled through `running`.
    ///
    /// # Errors
    /// The connection broke.
    pub(super) fn new(
        connection: Connection,
        running: &Arc<RunningHandles<Handle>>,
    ) -> Result<Self, EngineError> {
        let instance = query(&connection, &provision::sql("instance", &[])?, &[])?;
        let instance = instance.scalar().and_then(|text| text.parse().ok()).unwrap_or(1);
        let number = |number: Result<usize, oracledb::Error>| {
            number.map_err(|error| error::from_driver(&error, ""))
        };
        let (sid, serial) = (number(connection.session_id())?, number(connection.serial_num())?);
        let handle = Handle { instance, sid, serial };
        Ok(OraSession {
            connection,
            handle,
            counts: None,
            _running: running.enter(handle),
            _job: None,
        })
    }

    /// Counts the session among those of jobs as long as it lives; `counts` reads its own counters.
    pub(super) fn be_of_job(&mut self, jobs: &Arc<RunningHandles<u32>>, counts: Option<String>) {
        self._job = u32::try_from(self.handle.sid).ok().map(|sid| jobs.enter(sid));
        self.counts = counts;
    }

    /// The session's own counters, as far as they are asked for and can be had.
    pub(super) fn counters(&self) -> Counters {
        let rows = self.counts.as_ref().and_then(|sql| query(&self.connection, sql, &[]).ok());
        rows.map(|rows| rows.counters()).unwrap_or_default()
    }
}

impl Session for OraSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        let text = terminate(sql);
        let changed = if is_query(&text) {
            query(&self.connection, &text, &[])?.rows.len() as u64
        } else {
            execute(&self.connection, &text)?
        };
        match routine_name(&text) {
            Some(name) => self.check_compilation(name).map(|()| changed),
            None => Ok(changed),
        }
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        if !is_query(sql) {
            return self.execute(sql).map(|_| Rows::default());
        }
        query(&self.connection, sql, &values(binds))
    }
}

impl OraSession {
    /// A routine with errors is created all the same.
    fn check_compilation(&mut self, name: &str) -> Result<(), EngineError> {
        let errors =
            query(&self.connection, &provision::sql("compile-errors", &[("name", name)])?, &[])?;
        let cell = |column: &str| errors.get(0, column).unwrap_or_default().to_owned();
        match errors.rows.is_empty() {
            true => Ok(()),
            false => Err(error::statement(format!(
                "{name} has {} errors; the first, in line {} column {}: {}",
                errors.rows.len(),
                cell("line"),
                cell("position"),
                one_line(&cell("text"))
            ))),
        }
    }
}

/// Bind values as the driver takes them.
pub(super) fn values(binds: &[i64]) -> Vec<&dyn ToDbValue> {
    binds.iter().map(|value| value as &dyn ToDbValue).collect()
}

/// Prepares a statement on the client's side; the server sees it when it runs first.
pub(super) fn prepare(connection: &Connection, sql: &str) -> Result<Statement, EngineError> {
    let built = connection.statement(sql).and_then(oracledb::StatementBuilder::build);
    built.map_err(|error| error::from_driver(&error, sql))
}

/// Runs a statement that is not a query; what it changed is committed, as by other engines' control
/// sessions.
fn execute(connection: &Connection, sql: &str) -> Result<u64, EngineError> {
    let failed = |error: oracledb::Error| error::from_driver(&error, sql);
    let mut statement = prepare(connection, sql)?;
    let changed = statement.execute(&[]).map_err(failed)?.rows_affected();
    if statement.is_dml() || statement.is_plsql() {
        connection.commit().map_err(failed)?;
    }
    Ok(changed)
}

fn query(
    connection: &Connection,
    sql: &str,
    binds: &[&dyn ToDbValue],
) -> Result<Rows, EngineError> {
    let failed = |error: oracledb::Error| error::from_driver(&error, sql);
    let cursor = prepare(connection, sql)?.query(binds).map_err(failed)?;
    let columns: Vec<String> =
        cursor.columns().iter().map(|column| column.name().to_ascii_lowercase()).collect();
    let width = columns.len();
    let rows = cursor.map(|row| {
        row.and_then(|row| (0..width).map(|at| text(&row, at)).collect()).map_err(failed)
    });
    Ok(Rows { rows: rows.collect::<Result<_, _>>()?, columns })
}

/// A value as text: numbers and strings; dates are to be written with to_char.
pub(super) fn text(row: &Row, at: usize) -> Result<Option<String>, oracledb::Error> {
    row.get::<Option<String>>(at)
        .or_else(|_| Ok(row.get::<Option<f64>>(at)?.map(|value| value.to_string())))
}

/// Lower-case words of a statement, without comments at its beginning.
fn tokens(sql: &str) -> impl Iterator<Item = &str> {
    let mut rest = sql.trim_start();
    while let Some(comment) = rest.strip_prefix("--") {
        rest = comment.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
    }
    rest.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty())
}

/// True of what returns rows.
pub(super) fn is_query(sql: &str) -> bool {
    tokens(sql)
        .next()
        .is_some_and(|word| ["select", "with"].iter().any(|name| word.eq_ignore_ascii_case(name)))
}

/// The name of the routine that a statement creates.
fn routine_name(sql: &str) -> Option<&str> {
    let mut words = tokens(sql);
    words.next().filter(|word| word.eq_ignore_ascii_case("create"))?;
    let mut words =
        words.skip_while(|word| BETWEEN.iter().any(|name| word.eq_ignore_ascii_case(name)));
    words.next().filter(|word| ROUTINES.iter().any(|name| word.eq_ignore_ascii_case(name)))?;
    let name = words.find(|word| !word.eq_ignore_ascii_case("body"))?;
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
    Some(&name[..end])
}

/// The statement as the server wants it: PL/SQL ends with a semicolon, SQL with none.
pub(super) fn terminate(sql: &str) -> String {
    let text = sql.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    let is_block = tokens(text).next().is_some_and(|word| {
        ["begin", "declare"].iter().any(|name| word.eq_ignore_ascii_case(name))
    });
    if is_block || routine_name(text).is_some() { format!("{text};") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_statement_is_that_of_its_language() {
        for (sql, expected) in [
            ("select 1 from dual;", "select 1 from dual"),
            ("begin p(:1); end", "begin p(:1); end;"),
            ("-- why\nBEGIN\n null; END;\n", "-- why\nBEGIN\n null; END;"),
            (
                "create or replace procedure p(a number) as begin null; end",
                "create or replace procedure p(a number) as begin null; end;",
            ),
            ("create table t (a number)", "create table t (a number)"),
        ] {
            assert_eq!(terminate(sql), expected);
        }
    }

    #[test]
    fn a_routine_is_known_by_its_name() {
        assert_eq!(
            routine_name("create or replace procedure dbdyno_w_1(p number) as"),
            Some("dbdyno_w_1")
        );
        assert_eq!(routine_name("create package body dbdyno_p as"), Some("dbdyno_p"));
        assert_eq!(
            routine_name("create procedure dbdyno_p-- why\n(a number) as"),
            Some("dbdyno_p")
        );
        assert_eq!(
            (routine_name("create table procedure_t (a number)"), routine_name("drop procedure p")),
            (None, None)
        );
        assert!(
            is_query("with a as (select 1 from dual) select * from a")
                && is_query("select(1) from dual")
        );
        assert!(!is_query("begin select 1 into a from dual; end;"));
    }
}
