//! A job's session on the null engine: runs directives, counts what it ran.

use std::str::FromStr;
use std::sync::Arc;

use super::{Tables, add_rows, statement::Directives};
use crate::engine::client_loop::ClientSession;
use crate::engine::{EngineError, RowLoad};
use dbdyno_core::model::{BoundStatement, Counters};

pub(super) struct NullJob {
    statements: Vec<Directives>,
    tables: Arc<Tables>,
    count_factor: f64,
    statements_run: u64,
    rows_fetched: u64,
    commits: u64,
}

impl NullJob {
    /// Reads the statements, each with the directives of `extra`.
    pub(super) fn prepare(
        statements: &[&BoundStatement],
        extra: &str,
        count_factor: f64,
        tables: Arc<Tables>,
    ) -> Result<Self, EngineError> {
        let read = |statement: &&BoundStatement| {
            Directives::from_str(&format!("{},{extra}", statement.sql))
        };
        let statements = statements.iter().map(read).collect::<Result<_, _>>()?;
        Ok(NullJob {
            statements,
            tables,
            count_factor,
            statements_run: 0,
            rows_fetched: 0,
            commits: 0,
        })
    }
}

impl ClientSession for NullJob {
    fn begin(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        self.commits += 1;
        Ok(())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    #[inline]
    fn run(&mut self, statement: usize, _binds: &[i64]) -> Result<u64, EngineError> {
        let rows = self.statements[statement].run()?;
        self.statements_run += 1;
        self.rows_fetched += rows;
        Ok(rows)
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        add_rows(&self.tables, load);
        self.commits += 1;
        Ok(())
    }
    fn counters(&mut self) -> Counters {
        let mut counters = Counters::default();
        counters.set("statements_run", self.statements_run as f64 * self.count_factor);
        counters.set("rows_fetched", self.rows_fetched as f64 * self.count_factor);
        counters.set("commits", self.commits as f64 * self.count_factor);
        counters
    }
}
