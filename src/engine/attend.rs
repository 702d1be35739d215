//! Somebody looks while work is under way that may take long.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::Database;

/// How often somebody looks.
const ATTENTION: Duration = Duration::from_millis(100);
/// Statements that begin after a cancel have this long to end by themselves: most only clean up.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs `work`. Meanwhile `look` is called ten times a second, and once `cancel` is set, the statements that run in any
/// session of `database` are cancelled, again and again until `work` returns.
pub fn attended<T>(
    database: &dyn Database,
    cancel: &AtomicBool,
    mut look: impl FnMut() + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (done, wait_for_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut cancelled: Option<Instant> = None;
            while wait_for_done.recv_timeout(ATTENTION) == Err(RecvTimeoutError::Timeout) {
                if cancel.load(Relaxed) && cancelled.is_none_or(|at| at.elapsed() >= PATIENCE) {
                    database.cancel();
                    cancelled = Some(Instant::now());
                }
                look();
            }
        });
        let result = work();
        drop(done);
        result
    })
}
