//! The barest PL/pgSQL loop, called with as many ops as fill the time.

use std::time::Instant;

use dbdyno::engine::{EngineError, Session};
use dbdyno::error::Result;

use crate::lab::{Lab, SEED};
use crate::pairs::Done;

const CREATE: &str = include_str!("barest.sql");
const CALL: &str = "select dbdyno.peers_barest($1, $2)";
/// Settings of our job sessions.
const SESSION: &str = "set plan_cache_mode = force_generic_plan; set jit = off";
const DROP: &str = "drop function if exists dbdyno.peers_barest(bigint, bigint)";
/// Ops that show how many fill the time.
const FIRST_OPS: i64 = 20_000;

/// Creates the routine.
pub fn create(lab: &Lab) -> Result<()> {
    let rows = lab.loaded.facts_for(&[]).get("small_rows").copied().unwrap_or_default();
    session(lab)?.execute(&CREATE.replace(":rows", &rows.to_string())).map(drop).map_err(to_error)
}

/// Drops it.
pub fn drop_routine(lab: &Lab) -> Result<()> {
    session(lab)?.execute(DROP).map(drop).map_err(to_error)
}

/// Loops for about `seconds`: lookups per second.
pub fn run(lab: &Lab, seconds: f64) -> Result<Done> {
    let mut session = session(lab)?;
    session.execute(SESSION).map_err(to_error)?;
    let first_s = call(session.as_mut(), FIRST_OPS)?;
    let ops = (FIRST_OPS as f64 * seconds / first_s.max(1e-3)) as i64;
    let elapsed_s = call(session.as_mut(), ops)?;
    Ok(Done { rate: ops as f64 / elapsed_s, ops: Some((ops + FIRST_OPS) as f64) })
}

fn call(session: &mut dyn Session, ops: i64) -> Result<f64> {
    let start = Instant::now();
    session.query(CALL, &[ops, SEED as i64]).map_err(to_error)?;
    Ok(start.elapsed().as_secs_f64())
}

fn session(lab: &Lab) -> Result<Box<dyn Session>> {
    lab.database.session().map_err(to_error)
}

fn to_error(error: EngineError) -> dbdyno::error::Error {
    error.at("barest loop")
}
