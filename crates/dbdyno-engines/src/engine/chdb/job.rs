//! A job's session. ClickHouse has no transactions: each statement is one by itself.

use super::connect::Connection;
use super::load;
use super::statement::Statement;
use crate::engine::client_loop::ClientSession;
use crate::engine::{EngineError, JobSpec, RowLoad};
use dbdyno_core::model::BoundStatement;

pub(super) struct ChdbJob<'c> {
    connection: &'c Connection,
    statements: Vec<Statement<'c>>,
}

/// Makes a connection the session of a job: one thread per statement, unless the workload's own
/// session says more.
///
/// # Errors
/// Those of the workload's statements.
pub(super) fn begin_session(
    connection: &Connection,
    order: &JobSpec<'_>,
) -> Result<(), EngineError> {
    connection.execute("set max_threads = 1, max_insert_threads = 1")?;
    order.session.iter().try_for_each(|sql| connection.execute(sql).map(drop))
}

impl<'c> ChdbJob<'c> {
    pub(super) fn prepare(
        connection: &'c Connection,
        statements: &[&BoundStatement],
    ) -> Result<Self, EngineError> {
        let checked = statements
            .iter()
            .map(|statement| Statement::new(connection, &statement.sql, &statement.name));
        Ok(ChdbJob { connection, statements: checked.collect::<Result<Vec<_>, EngineError>>()? })
    }
}

impl ClientSession for ChdbJob<'_> {
    fn begin(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    #[inline]
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        self.statements[statement].run(binds)
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        load::send(self.connection, load, &mut |_| true)
    }
}
