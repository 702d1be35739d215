//! The database drive: calls a stored procedure, one slice per call.

use super::error;
use super::session::MariaSession;
use crate::engine::slices::{self, SliceResult};
use crate::engine::{EngineError, JobOrder, Pacer, Session};
use crate::model::{BoundStatement, Routine};

/// Runs the routine's slices until the pacer gives no more.
pub(super) fn run(
    session: &mut MariaSession,
    routine: &Routine,
    order: &JobOrder<'_>,
    pacer: &mut dyn Pacer,
) -> Result<(), EngineError> {
    slices::run(order, &routine.call, pacer, |values| call(session, &routine.call, values))
}

/// Runs one slice.
fn call(session: &mut MariaSession, call: &BoundStatement, values: &[i64]) -> Result<SliceResult, EngineError> {
    let rows = session.query(&call.sql, values)?;
    let Some(row) = rows.rows.first() else {
        return Err(error::statement(format!("{}: returned no row", call.name)));
    };
    let mut result = SliceResult::default();
    for (name, value) in rows.columns.iter().zip(row) {
        result.set(name, value.as_deref().unwrap_or_default())?;
    }
    Ok(result)
}
