//! The client drive, and the database drive: a stored procedure, one slice per call.
//!
//! The driver gives a cursor its statement and takes it back into its cache: a query costs a
//! look-up there per op. Nothing is pipelined. There are no transactions to begin: one is open from
//! the first change on; a statement that is to commit itself is followed by a commit, which is a
//! round trip of its own.

use std::time::Duration;

use oracledb::{DB_TYPE_NUMBER, Statement, ToDbValue};

use super::load;
use super::session::{OraSession, is_query, prepare, terminated, values};
use super::{error, session};
use crate::engine::client_loop::ClientSession;
use crate::engine::slices::{self, SliceResult};
use crate::engine::{EngineError, JobSpec, Pacer, RowLoad};
use dbdyno_core::model::{BoundStatement, Counters, Routine};

/// Rows of one answer: the largest key of the data set fits.
const FETCH_ROWS: u32 = 500;
/// Names of what a routine gives back begin so in its call.
const OUT: &str = "out_";
/// The only text among them; see `catalog/harness/oracle.sql`.
const SAMPLES: &str = "out_samples_us";
/// Longest text of PL/SQL, in bytes.
const TEXT_BYTES: usize = 32_767;
/// A slice whose op takes longer than this beyond its end is lost with its connection.
const GRACE: Duration = Duration::from_secs(600);

/// A statement of the client drive: a query is taken from the driver's cache each time, anything
/// else is kept.
struct Prepared {
    sql: String,
    kept: Option<Statement>,
}

/// A job's session with its statements prepared.
pub(super) struct JobSession {
    statements: Vec<Prepared>,
    in_transaction: bool,
    session: OraSession,
}

impl JobSession {
    /// Makes `statements` ready.
    ///
    /// # Errors
    /// A statement that the driver cannot read.
    pub(super) fn prepare(
        session: OraSession,
        statements: &[&BoundStatement],
    ) -> Result<Self, EngineError> {
        let prepared = statements.iter().map(|statement| {
            let sql = terminated(&statement.sql);
            let kept = (!is_query(&sql)).then(|| prepare(&session.connection, &sql)).transpose()?;
            Ok(Prepared { sql, kept })
        });
        let statements = prepared.collect::<Result<_, EngineError>>()?;
        Ok(JobSession { statements, in_transaction: false, session })
    }

    fn end(&mut self, commit: bool) -> Result<(), EngineError> {
        self.in_transaction = false;
        let connection = &self.session.connection;
        let ended = if commit { connection.commit() } else { connection.rollback() };
        ended.map_err(|error| error::from_driver(&error, ""))
    }

    /// Rows of a query, all of them read.
    fn fetch(&self, sql: &str, binds: &[&dyn ToDbValue]) -> Result<u64, EngineError> {
        let failed = |error: oracledb::Error| error::from_driver(&error, sql);
        let builder = self.session.connection.statement(sql).map_err(failed)?;
        let statement = builder
            .prefetch_rows(FETCH_ROWS)
            .fetch_array_size(FETCH_ROWS)
            .build()
            .map_err(failed)?;
        let mut rows = 0;
        for row in statement.query(binds).map_err(failed)? {
            std::hint::black_box(&row.map_err(failed)?);
            rows += 1;
        }
        Ok(rows)
    }
}

impl ClientSession for JobSession {
    fn begin(&mut self) -> Result<(), EngineError> {
        self.in_transaction = true;
        Ok(())
    }
    fn begin_read(&mut self) -> Result<(), EngineError> {
        self.in_transaction = true;
        let sql = "set transaction read only";
        prepare(&self.session.connection, sql)?
            .execute(&[])
            .map(drop)
            .map_err(|error| error::from_driver(&error, sql))
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        self.end(true)
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        self.end(false)
    }
    #[inline]
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        let binds = values(binds);
        let Prepared { sql, kept } = &mut self.statements[statement];
        let Some(kept) = kept else {
            return self.fetch(&self.statements[statement].sql, &binds);
        };
        let done = kept.execute(&binds).map_err(|error| error::from_driver(&error, sql))?;
        if !self.in_transaction {
            self.end(true)?;
        }
        Ok(done.rows_affected())
    }
    fn counters(&mut self) -> Counters {
        self.session.counters()
    }
    fn load(&mut self, rows: &RowLoad<'_>) -> Result<(), EngineError> {
        load::load(&self.session.connection, rows, &mut |_| true)
    }
}

/// Runs a job of the database drive.
///
/// # Errors
/// As [`slices::run`].
pub(super) fn run_routine(
    session: &OraSession,
    routine: &Routine,
    order: &JobSpec<'_>,
    pacer: &mut dyn Pacer,
) -> Result<(), EngineError> {
    let call = &routine.call;
    let inputs = call.binds.iter().filter(|name| !name.starts_with(OUT)).cloned().collect();
    let inputs = BoundStatement { binds: inputs, ..call.clone() };
    let slice_at = inputs.binds.iter().position(|name| name == "slice_us");
    let statement = prepare(&session.connection, &terminated(&call.sql))?;
    slices::run(
        order,
        &inputs,
        pacer,
        RoutineSession { session, statement, call, slice_at, blank: " ".repeat(TEXT_BYTES) },
    )
}

/// A job's session with its routine prepared.
struct RoutineSession<'a> {
    session: &'a OraSession,
    statement: Statement,
    call: &'a BoundStatement,
    /// Position of the value that is the length of a slice.
    slice_at: Option<usize>,
    /// As long as the longest text that comes back.
    blank: String,
}

impl slices::Routines for RoutineSession<'_> {
    fn call(&mut self, input: &[i64]) -> Result<SliceResult, EngineError> {
        let slice_us =
            self.slice_at.and_then(|at| u64::try_from(*input.get(at)?).ok()).unwrap_or(0);
        let limit = Duration::from_micros(slice_us) + GRACE;
        let limited = self.session.connection.set_call_timeout(Some(limit));
        limited.map_err(|error| error::from_driver(&error, ""))?;
        run_slice(&mut self.statement, self.call, input, &self.blank)
    }
    fn undo(&mut self) -> Result<(), EngineError> {
        self.session.connection.rollback().map_err(|error| error::from_driver(&error, ""))
    }
    fn counters(&mut self) -> Counters {
        self.session.counters()
    }
}

/// One call; `blank` is as long as the longest text that comes back, for which the driver has no
/// other sign.
fn run_slice(
    statement: &mut Statement,
    call: &BoundStatement,
    input: &[i64],
    blank: &String,
) -> Result<SliceResult, EngineError> {
    let mut next = input.iter();
    let bind = |name: &String| -> &dyn ToDbValue {
        match name.as_str() {
            SAMPLES => blank,
            name if name.starts_with(OUT) => &DB_TYPE_NUMBER,
            _ => next.next().map_or(&0_i64, |value| value),
        }
    };
    let binds: Vec<&dyn ToDbValue> = call.binds.iter().map(bind).collect();
    let mut done =
        statement.execute(&binds).map_err(|error| error::from_driver(&error, &call.sql))?;
    let row = done.out_bind_data();
    let mut result = SliceResult::default();
    for (at, name) in call.binds.iter().filter_map(|name| name.strip_prefix(OUT)).enumerate() {
        let cell =
            session::text(&row, at).map_err(|error| error::from_driver(&error, &call.sql))?;
        result.set(name, cell.as_deref().unwrap_or_default().trim())?;
    }
    Ok(result)
}
