//! The control session: any statement, results as text; and the process of its server.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use procfs::process::Process;

use super::connect::Connection;
use super::reply;
use super::wire::Wire;
use crate::engine::cancel::{Entered, Running};
use crate::engine::{EngineError, Rows, Session};

/// Names of the server's program.
const PROGRAMS: [&str; 2] = ["mariadbd", "mysqld"];
/// Longest wait for the server's end of a session.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A session; ends properly when dropped.
pub(super) struct MariaSession {
    pub wire: Wire,
    id: u32,
    _running: Entered<u32>,
    _job: Option<Entered<u32>>,
}

impl MariaSession {
    /// A session that can be cancelled through `running`.
    pub(super) fn new(connection: Connection, running: &Arc<Running<u32>>) -> Self {
        let (id, running) = (connection.id, running.enter(connection.id));
        MariaSession { wire: connection.wire, id, _running: running, _job: None }
    }

    /// Counts the session among those of jobs as long as it lives.
    pub(super) fn be_of_job(&mut self, jobs: &Arc<Running<u32>>) {
        self._job = Some(jobs.enter(self.id));
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

/// The server's process, by the number in its own note, if it is here and looks like a server: it may run in another
/// process namespace, and none is better than a wrong one.
pub(super) fn server_process(session: &mut MariaSession) -> Option<u32> {
    let path = session.query("select @@pid_file, @@datadir", &[]).ok()?;
    let row = path.rows.first()?;
    let (file, directory) = (row.first()?.as_deref()?, row.get(1)?.as_deref()?);
    let text = fs::read_to_string(PathBuf::from(directory).join(file)).ok()?;
    let pid: i32 = text.trim().parse().ok()?;
    let arguments = Process::new(pid).ok()?.cmdline().ok()?;
    let is_server = arguments.first().is_some_and(|name| PROGRAMS.iter().any(|program| name.contains(program)));
    u32::try_from(pid).ok().filter(|_| is_server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_with_quotes_survives() {
        assert_eq!(immediate("select '\\', ?", &[-7]), "execute immediate 'select ''\\\\'', ?' using -7");
    }
}
