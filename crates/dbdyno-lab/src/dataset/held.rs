//! The sessions that ours wait for at a lock: a statement that drops a table waits for every
//! transaction that has used it, however long that goes on.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use dbdyno_core::error::Result;
use dbdyno_engines::engine::{EngineError, Session, rows_of, threads};

use super::Site;

/// Whoever waits longer asks whom for, and again after as long.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Does the work. While sessions of this process wait for locks of others meanwhile, `tell` is
/// called with a line that says who holds them; again if it is somebody else.
///
/// # Errors
/// Those of the work.
pub fn while_telling<T>(
    site: &Site<'_>,
    tell: &(dyn Fn(&str) + Sync),
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    // An engine without this query cannot name the holder.
    let Some(sql) = site.recipe.sql("lock.waits", &site.recipe.values())? else { return work() };
    let (done, wait_for_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (sql, database) = (sql.as_str(), site.db);
        let watch = move || {
            let (mut session, mut reported) = (None, String::new());
            while wait_for_done.recv_timeout(LOCK_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
                if session.is_none() {
                    session = database.polling_session().ok();
                }
                let Some(session) = session.as_deref_mut() else { continue };
                if let Some(line) = waits_for(session, sql).filter(|line| *line != reported) {
                    tell(&line);
                    reported = line;
                }
            }
        };
        // Without the thread the work is done all the same.
        let _ = threads::start(scope, watch);
        let result = work();
        drop(done);
        result
    })
}

/// Line about the sessions that own sessions wait for; none if they do not wait.
fn waits_for(session: &mut dyn Session, sql: &str) -> Option<String> {
    let rows = match rows_of(session, sql) {
        Ok(rows) => rows,
        Err(EngineError { message, .. }) => {
            return Some(format!(
                "waiting, perhaps for a lock; who holds it may not be seen ({message})"
            ));
        }
    };
    let holders = (0..rows.rows.len()).filter_map(|row| {
        let who = rows.get(row, "who")?;
        let end = rows.get(row, "end").map(|sql| format!("; to end it: {sql}"));
        Some(format!("{who}{}", end.unwrap_or_default()))
    });
    let holders: Vec<String> = holders.collect();
    (!holders.is_empty()).then(|| format!("waiting for a lock held by {}", holders.join(" and ")))
}
