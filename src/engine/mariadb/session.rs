//! The control session: any statement, results as text.

use std::sync::Arc;
use std::time::Duration;

use super::connect::Connection;
use super::reply;
use super::wire::Wire;
use crate::engine::running::{Entered, Running};
use crate::engine::{EngineError, Rows, Session};

/// Longest wait for the server's end of a session.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A session; ends properly when dropped.
pub(super) struct MariaSession {
    pub wire: Wire,
    _running: Entered<u32>,
}

impl MariaSession {
    /// A session that can be cancelled through `running`.
    pub(super) fn new(connection: Connection, running: &Arc<Running<u32>>) -> Self {
        MariaSession { wire: connection.wire, _running: running.enter(connection.id) }
    }
}

impl Session for MariaSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        reply::run(&mut self.wire, sql).map(|(_, affected)| affected)
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        let bound;
        let text = match binds {
            [] => sql,
            binds => {
                bound = immediate(sql, binds);
                &bound
            }
        };
        reply::run(&mut self.wire, text).map(|(rows, _)| rows)
    }
}

impl Drop for MariaSession {
    fn drop(&mut self) {
        self.wire.quit(END_TIMEOUT);
    }
}

/// A statement with `?` and its values as one statement of text: the server puts the values in.
pub(super) fn immediate(sql: &str, binds: &[i64]) -> String {
    let quoted = sql.replace('\\', "\\\\").replace('\'', "''");
    let values: Vec<String> = binds.iter().map(i64::to_string).collect();
    format!("execute immediate '{quoted}' using {}", values.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_with_quotes_survives() {
        assert_eq!(immediate("select '\\', ?", &[-7]), "execute immediate 'select ''\\\\'', ?' using -7");
    }
}
