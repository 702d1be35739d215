//! Work that may take long and can be cancelled, and what is cancelled: handles of the open
//! sessions of a database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use super::{Database, threads};

/// Interval between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Statements that begin after a cancel have this long to end by themselves: most only clean up.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs `work`. Meanwhile `look` is called ten times a second, and once `cancel` is set, the
/// statements that run in any session of `database` are cancelled, again and again until `work`
/// returns.
pub fn cancellable<T>(
    database: &dyn Database,
    cancel: &AtomicBool,
    mut look: impl FnMut() + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (done, wait_for_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let watch = move || {
            let mut cancelled: Option<Instant> = None;
            while wait_for_done.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if cancel.load(Relaxed) && cancelled.is_none_or(|at| at.elapsed() >= CANCEL_TIMEOUT)
                {
                    database.cancel();
                    cancelled = Some(Instant::now());
                }
                look();
            }
        };
        // Without the thread the work is done all the same: it only cannot be cancelled.
        let _ = threads::start(scope, watch);
        let result = work();
        drop(done);
        result
    })
}

/// Sessions that are cancelled at once.
#[cfg(has_client)]
const CANCELLED_AT_ONCE: usize = 16;

/// Calls `cancel` with every handle, several at once; it says whether somebody answered. Once
/// nobody does the others are left out: each would be waited for in vain.
#[cfg(has_client)]
pub(super) fn cancel_all<H: Sync>(handles: &[H], cancel: &(dyn Fn(&H) -> bool + Sync)) {
    let is_silent = AtomicBool::new(false);
    let each = |handles: &[H]| {
        for handle in handles.iter().take_while(|_| !is_silent.load(Relaxed)) {
            is_silent.fetch_or(!cancel(handle), Relaxed);
        }
    };
    let share = handles.len().div_ceil(CANCELLED_AT_ONCE).max(1);
    std::thread::scope(|scope| {
        for share in handles.chunks(share) {
            if threads::start(scope, || each(share)).is_err() {
                each(share);
            }
        }
    });
}

/// Handles of open sessions, shared by everyone who opens and everyone who cancels.
#[derive(Debug)]
pub(super) struct RunningHandles<H>(Mutex<Open<H>>);

#[derive(Debug)]
struct Open<H> {
    next: u64,
    handles: BTreeMap<u64, H>,
}

impl<H> RunningHandles<H> {
    /// None is open.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(RunningHandles(Mutex::new(Open { next: 0, handles: BTreeMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Open<H>> {
        self.0.lock()
    }

    /// Keeps `handle` until the returned guard is dropped.
    pub(super) fn enter(self: &Arc<Self>, handle: H) -> HandleGuard<H> {
        let mut open = self.lock();
        let number = open.next;
        open.next += 1;
        open.handles.insert(number, handle);
        HandleGuard { running: Arc::clone(self), number }
    }

    /// Calls `cancel` with every handle.
    pub(super) fn each(&self, cancel: impl FnMut(&H)) {
        self.lock().handles.values().for_each(cancel);
    }
}

#[cfg(has_client)]
impl<H: Clone> RunningHandles<H> {
    /// Every handle.
    pub(super) fn all(&self) -> Vec<H> {
        self.lock().handles.values().cloned().collect()
    }
}

/// A session is open as long as this lives.
#[derive(Debug)]
pub(super) struct HandleGuard<H> {
    running: Arc<RunningHandles<H>>,
    number: u64,
}

impl<H> Drop for HandleGuard<H> {
    fn drop(&mut self) {
        self.running.lock().handles.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_open_sessions_are_cancelled() {
        let running = RunningHandles::new();
        let first = running.enter(1);
        let second = running.enter(2);
        drop(first);
        let mut seen = Vec::new();
        running.each(|handle| seen.push(*handle));
        assert_eq!(seen, [2]);
        drop(second);
        running.each(|_| panic!("none is open"));
    }
}
