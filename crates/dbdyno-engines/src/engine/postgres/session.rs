//! The control session: any statement, results as text; and the processes of its server.

use std::sync::Arc;
use std::time::Duration;

use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use procfs::process::{Process, all_processes};

use super::again::{self, Repeated, State};
use super::connect::{CancelKey, Connection};
use super::error;
use super::reply::{affected_rows, column_names, texts};
use super::wire::Wire;
use crate::engine::cancel::{HandleGuard, RunningHandles};
use crate::engine::remote::{Claimed, Stream};
use crate::engine::{EngineError, ErrorClass, Rows, Session};
use dbdyno_core::model::Connects;

/// Longest wait at the end of a session for the backend to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// A session; ends properly when dropped.
pub(super) struct PgSession {
    pub wire: Wire,
    /// Process id of its backend; 0 if the server gave none.
    id: u32,
    repeated: Repeated,
    /// Time to open it, and login method.
    pub opened: Connects,
    pub login: String,
    _running: HandleGuard<CancelKey>,
    _job: Option<HandleGuard<u32>>,
}

impl PgSession {
    /// A session that can be cancelled through `running`.
    pub(super) fn new(connection: Connection, running: &Arc<RunningHandles<CancelKey>>) -> Self {
        let id = connection.backend_pid.unwrap_or(0);
        PgSession {
            wire: connection.wire,
            id,
            repeated: Repeated::default(),
            opened: connection.opened,
            login: connection.login,
            _running: running.enter(connection.cancel_key),
            _job: None,
        }
    }

    /// Counts the session among those of jobs as long as it lives.
    pub(super) fn be_of_job(&mut self, jobs: &Arc<RunningHandles<u32>>) {
        self._job = Some(jobs.enter(self.id));
    }

    /// Sends `sql` with binds as text, types left to the server, for the unnamed statement.
    fn send_extended(&mut self, sql: &str, binds: &[i64]) -> Result<(), EngineError> {
        let output = &mut self.wire.output;
        let encoded = frontend::parse("", sql, [], output).and_then(|()| {
            let bound = frontend::bind(
                "",
                "",
                [],
                binds,
                |bind, out| {
                    out.extend_from_slice(bind.to_string().as_bytes());
                    Ok(IsNull::No)
                },
                [],
                output,
            );
            bound.map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
            frontend::describe(b'P', "", output)?;
            frontend::execute("", 0, output)
        });
        self.finish_encoding(encoded, sql)?;
        frontend::sync(&mut self.wire.output);
        self.wire.flush()
    }

    fn send_simple(&mut self, sql: &str) -> Result<(), EngineError> {
        let encoded = frontend::query(sql, &mut self.wire.output);
        self.finish_encoding(encoded, sql)?;
        self.wire.flush()
    }

    fn finish_encoding(
        &mut self,
        encoded: std::io::Result<()>,
        sql: &str,
    ) -> Result<(), EngineError> {
        encoded.map_err(|_| {
            self.wire.output.clear();
            EngineError::new(ErrorClass::Statement, format!("this statement cannot be sent: {sql}"))
        })
    }

    /// Reads the whole answer.
    fn receive(&mut self, sql: &str) -> Result<Answer, EngineError> {
        self.receive_rows(sql, Vec::new())
    }

    /// Reads the whole answer, whose rows have these columns unless the server describes others.
    fn receive_rows(&mut self, sql: &str, columns: Vec<String>) -> Result<Answer, EngineError> {
        let (mut rows, mut affected) = (Rows { columns, rows: Vec::new() }, 0_u64);
        self.wire.until_ready(sql, |tag, body| {
            let malformed = || error::unexpected_message(tag, "a statement");
            match tag {
                b'T' => {
                    rows = Rows {
                        columns: column_names(body).ok_or_else(malformed)?,
                        rows: Vec::new(),
                    }
                }
                b'D' => rows.rows.push(texts(body).ok_or_else(malformed)?),
                b'C' => affected = affected.saturating_add(affected_rows(body)),
                _ => {}
            }
            Ok(())
        })?;
        Ok(Answer { rows, affected })
    }

    /// Prepares `sql` and asks it for the first time. What the server does not accept so is asked
    /// as any other query, now and from now on.
    fn ask_first(&mut self, sql: &str) -> Result<Rows, EngineError> {
        let name = self.repeated.name();
        let encoded = again::first(&name, sql, &mut self.wire.output);
        self.finish_encoding(encoded, sql)?;
        self.wire.flush()?;
        match self.receive(sql) {
            Ok(Answer { rows, .. }) => {
                let kept = self.repeated.keep(sql, name, rows.columns.clone());
                self.finish_encoding(kept, sql).map(|()| rows)
            }
            Err(error) if error.is_of_session() => Err(error),
            Err(_) => {
                self.repeated.refuse(sql);
                self.query(sql, &[])
            }
        }
    }
}

/// Answer to a statement.
struct Answer {
    /// Rows that it returned, as text.
    rows: Rows,
    /// Number of rows that it affected.
    affected: u64,
}

impl Session for PgSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        self.send_simple(sql)?;
        self.receive(sql).map(|answer| answer.affected)
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        if binds.is_empty() {
            self.send_simple(sql)?;
        } else {
            self.send_extended(sql, binds)?;
        }
        self.receive(sql).map(|answer| answer.rows)
    }

    fn query_again(&mut self, sql: &str) -> Result<Rows, EngineError> {
        let columns = match self.repeated.find(sql) {
            None => return self.ask_first(sql),
            Some(State::Refused) => return self.query(sql, &[]),
            Some(State::Ready(ready)) => {
                self.wire.send(&ready.messages)?;
                ready.columns.clone()
            }
        };
        match self.receive_rows(sql, columns) {
            Ok(answer) => Ok(answer.rows),
            Err(error) if error.is_of_session() => Err(error),
            // What it was prepared for may be no longer so, as the columns of a table.
            Err(_) => {
                let closed = self.repeated.forget(sql, &mut self.wire.output);
                self.finish_encoding(closed, sql)?;
                self.query(sql, &[])
            }
        }
    }
}

impl Drop for PgSession {
    fn drop(&mut self) {
        self.wire.terminate(END_TIMEOUT);
    }
}

/// The parent of backend `pid`, if that process is here, looks like a backend of `database` and is
/// proven to serve the connection.
///
/// The server may run in another process namespace although its socket is reachable; then the
/// number means another process, and none is better than a wrong one.
pub(super) fn postmaster_of(stream: &Stream, pid: u32, database: &str) -> Option<u32> {
    let backend = Process::new(i32::try_from(pid).ok()?).ok()?;
    let is_ours = backend.cmdline().ok()?.first().is_some_and(|title| title.contains(database));
    let parent = backend.stat().ok().filter(|_| is_ours)?.ppid;
    let parent = u32::try_from(parent).ok().filter(|parent| *parent > 1)?;
    let claimed = Claimed { listens: parent, serves: pid };
    claimed.is_at_the_end_of(stream).then_some(parent)
}

/// `parent` and its children.
pub(super) fn family_of(parent: u32) -> Vec<u32> {
    let stats =
        all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok());
    let family = stats
        .filter(|stat| [stat.ppid, stat.pid].iter().any(|pid| u32::try_from(*pid) == Ok(parent)));
    family.filter_map(|stat| u32::try_from(stat.pid).ok()).collect()
}
