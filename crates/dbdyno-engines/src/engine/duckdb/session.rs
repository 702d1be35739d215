//! The control session.

use super::connect::Connection;
use super::statement::PreparedStatement;
use crate::engine::{EngineError, Rows, Session};
use crate::host::process_cpu_s;

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
        if binds.is_empty() {
            self.0.query(sql).map(|result| result.into_texts())
        } else {
            self.query_with_binds(sql, binds)
        }
    }
}

impl DuckSession {
    fn query_with_binds(&self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        PreparedStatement::new(&self.0, sql, sql)?.texts(binds)
    }

    /// Puts what the log has counted into the session's variables, which a block of the catalog
    /// can ask for.
    fn publish(&self) -> Result<(), EngineError> {
        let sums = self.0.counts().variables().map(|(name, sum)| {
            let sum = sum.map_or("null".to_string(), |sum| sum.to_string());
            format!("set variable {VARIABLE}{name} = {sum}")
        });
        let sums = sums.join("; ");
        self.0
            .execute(&format!(
                "{sums}; set variable {VARIABLE}cpu_s = {:.6}::double",
                // of our process, in whose threads the statements run
                process_cpu_s()
            ))
            .map(drop)
    }
}
