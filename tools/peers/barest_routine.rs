//! The barest PL/pgSQL loops, called with as many ops as fill the time.

use std::time::Instant;

use dbdyno::engine::{EngineError, Session};
use dbdyno::error::Result;

use crate::lab::{Lab, SEED};
use crate::machine::server_s;
use crate::pairs::Done;

/// A loop: the texts that create, call and drop it.
pub struct Routine {
    /// Beside the generated routine in the name of a comparison.
    pub what: &'static str,
    /// True if it returns the number of rows that it has read.
    pub returns_rows: bool,
    /// The query that calls it, with the number of ops and the first key's seed.
    pub call: &'static str,
    create: &'static str,
    drop: &'static str,
}

/// The loop that does nothing but the lookups.
pub const BAREST: Routine = Routine {
    what: "barest PL/pgSQL loop",
    returns_rows: false,
    create: include_str!("barest.sql"),
    call: "select dbdyno.peers_barest($1, $2)",
    drop: "drop function if exists dbdyno.peers_barest(bigint, bigint)",
};
/// The loop that counts the rows, too. What it loses against the barest is what counting costs;
/// what the generated routine loses against it is what the clock and the slices cost.
pub const COUNTING: Routine = Routine {
    what: "the same loop with its rows counted",
    returns_rows: true,
    create: include_str!("barest_counting.sql"),
    call: "select dbdyno.peers_barest_counting($1, $2)",
    drop: "drop function if exists dbdyno.peers_barest_counting(bigint, bigint)",
};

/// Settings of our job sessions.
const SESSION: &str = "set plan_cache_mode = force_generic_plan; set jit = off";
/// Ops that show how many fill the time.
const FIRST_OPS: i64 = 20_000;

/// Creates the routine.
pub fn create(lab: &Lab, routine: &Routine) -> Result<()> {
    let rows = lab.loaded.facts_for(&[]).get("small_rows").copied().unwrap_or_default();
    let create = routine.create.replace(":rows", &rows.to_string());
    session(lab)?.execute(&create).map(drop).map_err(to_error)
}

/// Drops it.
pub fn drop_routine(lab: &Lab, routine: &Routine) -> Result<()> {
    session(lab)?.execute(routine.drop).map(drop).map_err(to_error)
}

/// Loops for about `seconds`: lookups per second.
pub fn run(lab: &Lab, routine: &Routine, seconds: f64) -> Result<Done> {
    let mut session = job_session(lab)?;
    let first_s = call(session.as_mut(), routine, FIRST_OPS)?;
    let ops = (FIRST_OPS as f64 * seconds / first_s.max(1e-3)) as i64;
    let server_time_s = || lab.server_pid().map(server_s);
    let began_s = server_time_s();
    let elapsed_s = call(session.as_mut(), routine, ops)?;
    let used_s = server_time_s().zip(began_s).map(|(end_s, began_s)| end_s - began_s);
    let window_server_us = used_s.map(|used_s| used_s * 1e6 / ops as f64);
    let half = Done::new(ops as f64 / elapsed_s, Some((ops + FIRST_OPS) as f64));
    Ok(Done { window_server_us, ..half })
}

/// Calls the routine for so many ops: seconds.
fn call(session: &mut dyn Session, routine: &Routine, ops: i64) -> Result<f64> {
    let start = Instant::now();
    session.query(routine.call, &[ops, SEED as i64]).map_err(to_error)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Opens a session with the settings of our jobs.
pub fn job_session(lab: &Lab) -> Result<Box<dyn Session>> {
    let mut session = session(lab)?;
    session.execute(SESSION).map_err(to_error)?;
    Ok(session)
}

fn session(lab: &Lab) -> Result<Box<dyn Session>> {
    lab.database.session().map_err(to_error)
}

fn to_error(error: EngineError) -> dbdyno::error::Error {
    error.at("barest loop")
}
