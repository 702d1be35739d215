//! The control session: any statement, results as text; and the process of its server.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use procfs::process::Process;

use super::connect::Connection;
use super::product::Product;
use super::reply;
use super::wire::Wire;
use crate::engine::cancel::{HandleGuard, RunningHandles};
use crate::engine::remote::{Claimed, TextQuery};
use crate::engine::{EngineError, Rows, Session};
use dbdyno_core::model::{Connects, Counters};

/// Names of the server's program.
const PROGRAMS: [&str; 2] = ["mariadbd", "mysqld"];
/// Longest wait for the server's end of a session.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A session; ends properly when dropped.
pub(super) struct MariaSession {
    pub wire: Wire,
    pub product: &'static Product,
    id: u32,
    /// Time to open it, and login method.
    pub opened: Connects,
    pub login: String,
    /// Reads the session's own counters, if they are asked for.
    counts: Option<String>,
    /// Names of the queries that are asked again and again, which the session keeps prepared, by
    /// their texts; none for one that the server does not prepare.
    repeated: HashMap<String, Option<String>>,
    _running: HandleGuard<u32>,
    _job: Option<HandleGuard<u32>>,
}

impl MariaSession {
    /// A session that can be cancelled through `running`.
    pub(super) fn new(connection: Connection, running: &Arc<RunningHandles<u32>>) -> Self {
        let (id, running) = (connection.id, running.enter(connection.id));
        MariaSession {
            wire: connection.wire,
            product: connection.product,
            counts: None,
            repeated: HashMap::new(),
            id,
            opened: connection.opened,
            login: connection.login,
            _running: running,
            _job: None,
        }
    }

    /// Counts the session among those of jobs as long as it lives; `counts` reads its own counters.
    pub(super) fn be_of_job(&mut self, jobs: &Arc<RunningHandles<u32>>, counts: Option<String>) {
        self._job = Some(jobs.enter(self.id));
        self.counts = counts;
    }

    /// The session's own counters, as far as they are asked for and can be had.
    pub(super) fn counters(&mut self) -> Counters {
        let rows = self.counts.clone().and_then(|sql| self.query(&sql, &[]).ok());
        rows.map(|rows| rows.counters()).unwrap_or_default()
    }

    /// The name under which `sql` is prepared now; none if the server does not prepare it. By
    /// statements, whose answers are texts as those of the query itself.
    fn name_of(&mut self, sql: &str) -> Result<Option<String>, EngineError> {
        if let Some(known) = self.repeated.get(sql) {
            return Ok(known.clone());
        }
        // As long as the session lives no name is used for another text.
        let name = format!("dbdyno_again_{}", self.repeated.len());
        let prepared = self
            .execute(&text_of(sql))
            .and_then(|_| self.execute(&format!("prepare {name} from @dbdyno_again")));
        let kept = match prepared {
            Ok(_) => Some(name),
            Err(error) if error.is_of_session() => return Err(error),
            Err(_) => None,
        };
        self.repeated.insert(sql.to_owned(), kept.clone());
        Ok(kept)
    }
}

/// Statement that puts a text into the variable from which it is prepared, whatever the session
/// takes for an escape in a literal.
fn text_of(sql: &str) -> String {
    let mut hex = String::with_capacity(2 * sql.len());
    for byte in sql.bytes() {
        let _ = write!(hex, "{byte:02x}"); // a String takes all
    }
    format!("set @dbdyno_again = convert(0x{hex} using utf8mb4)")
}

impl Session for MariaSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        reply::run(&mut self.wire, sql).map(|answer| answer.affected)
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        let bound;
        let text = match binds {
            [] => sql,
            binds => {
                bound = with_values(sql, binds)?;
                &bound
            }
        };
        reply::run(&mut self.wire, text).map(|answer| answer.rows)
    }

    fn query_again(&mut self, sql: &str) -> Result<Rows, EngineError> {
        let Some(name) = self.name_of(sql)? else { return self.query(sql, &[]) };
        match self.query(&format!("execute {name}"), &[]) {
            Err(error) if !error.is_of_session() => {
                // Asked as it stands it may still be answered, or says by its own text what it
                // lacks.
                self.repeated.insert(sql.to_owned(), None);
                self.query(sql, &[])
            }
            answer => answer,
        }
    }
}

impl Drop for MariaSession {
    fn drop(&mut self) {
        self.wire.quit(END_TIMEOUT);
    }
}

/// A statement with `?` and its values as one of text.
fn with_values(sql: &str, binds: &[i64]) -> Result<String, EngineError> {
    let mut text = Vec::new();
    TextQuery::new(sql, binds.len())?.write(binds, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The server's process, by the number in its own note, if it is here, looks like a server and is
/// proven to serve the connection: it may run in another process namespace, and none is better than
/// a wrong one.
pub(super) fn server_process(session: &mut MariaSession) -> Option<u32> {
    let path = session.query("select @@pid_file, @@datadir", &[]).ok()?;
    let row = path.rows.first()?;
    let (file, directory) = (row.first()?.as_deref()?, row.get(1)?.as_deref()?);
    let text = fs::read_to_string(PathBuf::from(directory).join(file)).ok()?;
    let pid: i32 = text.trim().parse().ok()?;
    let arguments = Process::new(pid).ok()?.cmdline().ok()?;
    // Not only the first: a server may be started by the loader of its libraries.
    let is_server =
        arguments.iter().any(|name| PROGRAMS.iter().any(|program| name.contains(program)));
    let pid = u32::try_from(pid).ok().filter(|_| is_server)?;
    let claimed = Claimed { listens: pid, serves: pid };
    claimed.is_at_the_end_of(session.wire.stream()).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_the_text() {
        assert_eq!(text_of("a'\\"), "set @dbdyno_again = convert(0x61275c using utf8mb4)");
        assert_eq!(with_values("select '\\', ?, ?", &[-7, 8]).unwrap(), "select '\\', (-7), 8");
    }
}
