//! The control session.

use super::connect::Connection;
use super::statement::Prepared;
use crate::engine::{EngineError, Rows, Session};

/// A variable of a session that holds what the log has counted: `getvariable('dbdyno_read_bytes')`.
const VARIABLE: &str = "dbdyno_";

pub(super) struct DuckSession(pub(super) Connection);

impl Session for DuckSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        self.0.execute(sql)
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        if sql.contains(&format!("getvariable('{VARIABLE}")) {
            self.publish()?;
        }
        if binds.is_empty() { self.0.query(sql).map(|result| result.into_texts()) } else { self.bound(sql, binds) }
    }
}

impl DuckSession {
    fn bound(&self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        Prepared::new(&self.0, sql, sql)?.texts(binds)
    }

    /// Puts what the log has counted into the session's variables, which a block of the catalogue can ask for.
    fn publish(&self) -> Result<(), EngineError> {
        let sums = self.0.counts().variables().map(|(name, sum)| format!("set variable {VARIABLE}{name} = {sum}"));
        self.0.execute(&sums.join("; ")).map(drop)
    }
}
