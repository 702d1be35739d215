//! A pooler before the server: that it leads to the same database, and what it does with sessions.

use super::job::is_kept;
use super::provision::sql;
use super::session::PgSession;
use crate::engine::remote::processes_at_the_end_of;
use crate::engine::{EngineError, ErrorClass, Pooler, Session};

/// A pooler may give each of two sessions another one of the server, by turns.
const TRIES: usize = 20;

/// Database of PgBouncer's admin console (PgBouncer's manual, "Admin console").
pub(super) const CONSOLE: &str = "pgbouncer";

/// Finds out by two sessions what a pooler does with them.
///
/// # Errors
/// It leads to another server or database than `direct`; it serves only one of them; a session is
/// lost.
pub(super) fn explore(
    direct: &mut PgSession,
    [one, other]: [&mut PgSession; 2],
) -> Result<Pooler, EngineError> {
    let identity = sql("identity")?;
    if direct.query(&identity, &[])?.rows != one.query(&identity, &[])?.rows {
        let what = "the pooler leads to another server or database than the target";
        return Err(EngineError::new(ErrorClass::Usage, what)
            .advised("name the pooler that stands before the target's own database"));
    }
    let pids = [&*one, &*other].map(|session| processes_at_the_end_of(session.wire.stream()));
    let mut found = Pooler { pids: pids.concat(), ..Pooler::default() };
    found.pids.sort_unstable();
    found.pids.dedup();
    for _ in 0..TRIES {
        let left = one.query(&sql("leave-traces")?, &[])?;
        let seen = other.query(&sql("see-traces")?, &[]).map_err(alone)?;
        if left.text_at(0) == seen.text_at(0) {
            found.lends = true;
            found.mixes_settings |= seen.text_at(1) == "1";
            found.mixes_locks |= seen.text_at(2) == "t";
        }
        // Whoever left them, they are removed where they may be.
        other.query(&sql("remove-traces")?, &[])?;
        let removed = one.query(&sql("remove-traces")?, &[])?;
        if left.text_at(0) != removed.text_at(0) {
            // Served by another one, it has left its traces behind.
            (found.lends, found.mixes_settings, found.mixes_locks) = (true, true, true);
        }
        if found.lends {
            break;
        }
    }
    found.keeps_prepared = is_kept(one, other)?;
    Ok(found)
}

/// Error of a second session that gets none of the server as long as a first one has its own.
fn alone(error: EngineError) -> EngineError {
    let what = format!("the pooler serves no second session beside a first one: {}", error.message);
    EngineError::new(ErrorClass::Other, what)
        .advised("let its pool have more sessions than there are jobs (default_pool_size)")
}

/// Product and version as its console reports them; none if the user may not ask it.
pub(super) fn product_name(mut console: PgSession) -> Option<String> {
    let version = console.query(&sql("pooler-version").ok()?, &[]).ok()?;
    version.scalar().filter(|name| !name.is_empty()).map(String::from)
}
