//! The library's counters of one connection (`sqlite3_db_status`), by their standard names.

use std::ffi::c_int;

use rusqlite::{Connection, ffi};

use crate::model::Counters;

/// The page cache's counters since the last call: pages looked for, pages read, pages written.
pub(super) fn take(connection: &Connection) -> Counters {
    let mut counters = Counters::default();
    let hits = take_one(connection, ffi::SQLITE_DBSTATUS_CACHE_HIT);
    let misses = take_one(connection, ffi::SQLITE_DBSTATUS_CACHE_MISS);
    if let (Some(hits), Some(misses)) = (hits, misses) {
        counters.set("logical_reads", hits + misses);
        counters.set("physical_reads", misses);
    }
    if let Some(written) = take_one(connection, ffi::SQLITE_DBSTATUS_CACHE_WRITE) {
        counters.set("blocks_written", written);
    }
    counters
}

/// Reads one counter and sets it back to 0, since it has 31 bits only.
fn take_one(connection: &Connection, counter: c_int) -> Option<f64> {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the handle lives as long as `connection`, both pointers are valid ints, nothing keeps them.
    let code = unsafe { ffi::sqlite3_db_status(connection.handle(), counter, &mut current, &mut highest, 1) };
    (code == ffi::SQLITE_OK).then_some(f64::from(current))
}
