//! A job's session: prepared statements on its own connection.

use parking_lot::MutexGuard;

use super::connect::Connection;
use super::load::append;
use super::statement::PreparedStatement;
use crate::engine::client_loop::{ClientSession, CountedRows};
use crate::engine::{EngineError, JobSpec, RowLoad};
use dbdyno_core::model::{BoundStatement, Commit, JobCode};

pub(super) struct DuckJob<'c> {
    connection: &'c Connection,
    statements: Vec<PreparedStatement<'c>>,
    begin: PreparedStatement<'c>,
    begin_read: PreparedStatement<'c>,
    commit: PreparedStatement<'c>,
    /// An op changes the catalog, and waits for others that do.
    changes_catalog: bool,
    turn: Option<MutexGuard<'c, ()>>,
}

/// Makes a connection the session of a job: one thread per statement and the profile's memory,
/// unless the workload's own session says more, and the number of jobs for it to know how much that
/// takes.
///
/// # Errors
/// Those of the workload's statements.
pub(super) fn begin_session(
    connection: &Connection,
    order: &JobSpec<'_>,
) -> Result<(), EngineError> {
    connection.execute("set threads = 1")?;
    connection.execute(&format!("set variable dbdyno_jobs = {}", order.jobs))?;
    if let Some(mib) = connection.memory_mib() {
        connection.execute(&format!(
            "set memory_limit = '{mib}MiB'; set variable dbdyno_memory_mib = {mib}"
        ))?;
    }
    order.session.iter().try_for_each(|sql| connection.execute(sql).map(drop))
}

/// True if its ops end in commits.
pub(super) fn commits(code: &JobCode) -> bool {
    match code {
        JobCode::Client { branches, .. } => {
            branches.iter().any(|branch| branch.commit != Commit::None)
        }
        JobCode::Routine(_) | JobCode::Bulk { .. } => true,
    }
}

impl<'c> DuckJob<'c> {
    pub(super) fn prepare(
        connection: &'c Connection,
        statements: &[&BoundStatement],
    ) -> Result<Self, EngineError> {
        let prepared = statements
            .iter()
            .map(|statement| PreparedStatement::new(connection, &statement.sql, &statement.name));
        let statements = prepared.collect::<Result<Vec<_>, EngineError>>()?;
        let own = |sql| PreparedStatement::new(connection, sql, sql);
        Ok(DuckJob {
            connection,
            changes_catalog: statements.iter().any(PreparedStatement::changes_catalog),
            turn: None,
            statements,
            begin: own("begin transaction")?,
            begin_read: own("begin transaction read only")?,
            commit: own("commit")?,
        })
    }
}

impl ClientSession for DuckJob<'_> {
    fn begin(&mut self) -> Result<(), EngineError> {
        if self.changes_catalog {
            self.turn = Some(self.connection.wait_for_catalog());
        }
        self.begin.run(&[]).map(drop)
    }
    fn begin_read(&mut self) -> Result<(), EngineError> {
        self.begin_read.run(&[]).map(drop)
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        self.commit.run(&[])?;
        self.turn = None;
        Ok(())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        let rolled_back = self.connection.execute("rollback");
        self.turn = None;
        // A failed commit, and a statement without a transaction of ours, leave nothing to roll
        // back.
        match rolled_back {
            Err(error) if !error.message.contains("no transaction is active") => Err(error),
            _ => Ok(()),
        }
    }
    #[inline]
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        self.statements[statement].run(binds)
    }
    fn run_counting(
        &mut self,
        statement: usize,
        binds: &[i64],
    ) -> Result<CountedRows, EngineError> {
        self.statements[statement].run_counting(binds)
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        append(self.connection, load, &mut |_| true)
    }
}
