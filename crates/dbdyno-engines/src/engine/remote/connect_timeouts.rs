//! Limits for connections that wait for a server, and the reasons to give up: a server that is
//! known not to answer, and a request to stop.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Interval at which a waiting thread checks whether to go on.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Longest silence of a server before it is asked by another connection; an answer is good for as
/// long.
pub(super) const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for one address, and for each answer until the login is done.
pub(in crate::engine) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The same after an interrupt.
const HURRIED_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest wait after an interrupt for what is under way, which is being cancelled meanwhile.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);

/// Message about a server that was given up after an interrupt.
pub(in crate::engine) const SILENT_AT_THE_END: &str = "it was silent when the end was wanted";

/// Timeouts of connections, and the request to stop, which shortens them. Shared by all connections
/// of a database.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct ConnectTimeouts(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Flag that is set by an interrupt.
    interrupt: OnceLock<Arc<AtomicBool>>,
    /// True if work in progress at an interrupt is still to be finished.
    is_to_finish: AtomicBool,
    /// True once a server no longer answered after an interrupt: all waits end.
    is_over: AtomicBool,
    /// Last answers of servers, by address.
    asked: Mutex<BTreeMap<String, Arc<Mutex<Option<LastAnswer>>>>>,
}

/// Time of the last question to a server, and whether it answered.
type LastAnswer = (Instant, bool);

/// All are equal: they are no part of where a connection leads.
impl PartialEq for ConnectTimeouts {
    fn eq(&self, _: &ConnectTimeouts) -> bool {
        true
    }
}

impl Eq for ConnectTimeouts {}

impl ConnectTimeouts {
    /// From now on connections hurry once this flag is set. The first flag counts.
    pub(in crate::engine) fn heed(&self, interrupt: Arc<AtomicBool>) {
        self.0.interrupt.get_or_init(|| interrupt);
    }

    /// As [`ConnectTimeouts::heed`], for statements that the end takes and that nobody cancels: a
    /// session that waits for long is given up only if the server does not answer others either.
    pub(in crate::engine) fn heed_and_finish(&self, interrupt: Arc<AtomicBool>) {
        self.0.is_to_finish.store(true, Relaxed);
        self.heed(interrupt);
    }

    /// True once a server did not answer after an interrupt.
    pub(in crate::engine) fn is_over(&self) -> bool {
        self.0.is_over.load(Relaxed)
    }

    /// Ends all waits: a server did not answer after an interrupt.
    pub(super) fn give_up(&self) {
        self.0.is_over.store(true, Relaxed);
    }

    /// True after an interrupt.
    pub(super) fn is_hurried(&self) -> bool {
        self.0.interrupt.get().is_some_and(|interrupt| interrupt.load(Relaxed))
    }

    /// Longest wait for one address, and for each answer until the login is done.
    pub(in crate::engine) fn connect_timeout(&self) -> Duration {
        if self.is_hurried() { HURRIED_TIMEOUT } else { CONNECT_TIMEOUT }
    }

    /// True if the server at an address answers: asks, unless that was done just now. Of many that
    /// wait one asks for all.
    pub(super) fn answers(&self, address: &str, ask: impl FnOnce() -> bool) -> bool {
        let asked = self.0.asked.lock().entry(address.to_owned()).or_default().clone();
        let mut asked = asked.lock();
        match *asked {
            Some((at, answered)) if at.elapsed() < SILENCE_TIMEOUT => answered,
            _ => {
                let answered = ask();
                *asked = Some((Instant::now(), answered));
                answered
            }
        }
    }
}

/// One wait for a server.
#[derive(Debug)]
pub(super) struct Wait {
    /// The longest; none = for ever.
    limit: Option<Duration>,
    began: Option<Instant>,
    /// Time at which a request to stop was first seen.
    hurried: Option<Instant>,
    asked: Duration,
}

impl Wait {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Wait { limit, began: None, hurried: None, asked: Duration::ZERO }
    }

    /// Makes it as much longer.
    #[cfg(test)]
    pub(super) fn age(&mut self, by: Duration) {
        self.began = self.began.and_then(|began| began.checked_sub(by));
    }

    /// Time to wait before the next [`Wait::check`].
    pub(super) fn step(&self) -> Duration {
        let passed = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        self.limit.map_or(POLL_INTERVAL, |limit| limit.saturating_sub(passed).min(POLL_INTERVAL))
    }

    /// Checks the wait, whenever nothing has been received for a [`Wait::step`]; `ask` asks the
    /// server in another way.
    ///
    /// # Errors
    /// `TimedOut` with the reason for which the wait ends.
    pub(super) fn check(
        &mut self,
        timeouts: &ConnectTimeouts,
        ask: &dyn Fn() -> Result<(), &'static str>,
    ) -> io::Result<()> {
        let given_up = |why: &'static str| Err(io::Error::new(io::ErrorKind::TimedOut, why));
        // The first check comes a step after the start: the clock need not be read before.
        let step = self.step();
        let began = *self.began.get_or_insert_with(|| Instant::now() - step);
        let passed = began.elapsed();
        if timeouts.is_over() {
            return given_up(SILENT_AT_THE_END);
        }
        if self.limit.is_some_and(|limit| passed >= limit) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if timeouts.is_hurried()
            && self.hurried.get_or_insert_with(Instant::now).elapsed() >= CANCEL_TIMEOUT
        {
            // A session alone may hang: the others go on.
            let answers = ask().is_ok();
            if answers && self.limit.is_none() && timeouts.0.is_to_finish.load(Relaxed) {
                self.hurried = None;
                return Ok(());
            }
            if !answers {
                timeouts.give_up();
            }
            return given_up(SILENT_AT_THE_END);
        }
        if self.limit.is_none() && passed >= self.asked + SILENCE_TIMEOUT {
            self.asked = passed;
            return ask().or_else(given_up);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_wait_one_asks() {
        let timeouts = ConnectTimeouts::default();
        assert!(!timeouts.answers("a", || false));
        assert!(!timeouts.answers("a", || panic!("it was asked just now")));
        assert!(timeouts.answers("b", || true));
    }

    #[test]
    fn who_wants_the_end_waits_for_no_server_that_is_silent() {
        let (timeouts, interrupt) = (ConnectTimeouts::default(), Arc::new(AtomicBool::new(false)));
        timeouts.heed(Arc::clone(&interrupt));
        let mut wait = Wait::new(None);
        wait.check(&timeouts, &|| Err("no")).unwrap();
        assert_eq!(timeouts.connect_timeout(), CONNECT_TIMEOUT);
        interrupt.store(true, Relaxed);
        wait.check(&timeouts, &|| Err("no")).unwrap(); // what is under way is being cancelled
        wait.hurried = Instant::now().checked_sub(CANCEL_TIMEOUT);
        // The server answers others: only this one is given up.
        assert!(wait.check(&timeouts, &|| Ok(())).is_err() && !timeouts.0.is_over.load(Relaxed));
        assert!(wait.check(&timeouts, &|| Err("no")).is_err());
        let mut other = Wait::new(None);
        assert!(other.check(&timeouts, &|| panic!("it is known to be silent")).is_err());
        assert!(timeouts.connect_timeout() < CANCEL_TIMEOUT);
    }

    #[test]
    fn what_the_end_takes_is_waited_for_as_long_as_the_server_answers() {
        let (timeouts, interrupt) = (ConnectTimeouts::default(), Arc::new(AtomicBool::new(true)));
        timeouts.heed_and_finish(interrupt);
        let mut wait = Wait::new(None);
        wait.check(&timeouts, &|| panic!("too early")).unwrap();
        wait.hurried = Instant::now().checked_sub(CANCEL_TIMEOUT);
        wait.check(&timeouts, &|| Ok(())).unwrap();
        wait.check(&timeouts, &|| panic!("it has answered")).unwrap();
        wait.hurried = Instant::now().checked_sub(CANCEL_TIMEOUT);
        assert!(wait.check(&timeouts, &|| Err("no")).is_err() && timeouts.is_over());
    }

    #[test]
    fn a_server_that_is_silent_for_long_is_asked_and_given_up_if_it_does_not_answer() {
        let timeouts = ConnectTimeouts::default();
        let mut wait = Wait::new(None);
        wait.check(&timeouts, &|| panic!("too early")).unwrap();
        wait.began = Instant::now().checked_sub(SILENCE_TIMEOUT);
        wait.check(&timeouts, &|| Ok(())).unwrap();
        wait.check(&timeouts, &|| panic!("it has answered")).unwrap();
        // Long after it was asked last.
        wait.began = Instant::now().checked_sub(3 * SILENCE_TIMEOUT);
        assert_eq!(wait.check(&timeouts, &|| Err("no")).unwrap_err().to_string(), "no");
        let mut limited = Wait::new(Some(SILENCE_TIMEOUT));
        limited.began = Instant::now().checked_sub(SILENCE_TIMEOUT);
        assert!(
            limited.check(&timeouts, &|| panic!("a wait with a limit ends by itself")).is_err()
        );
    }
}
