//! A session that only looks, for as long as a run: between two looks something on the way may drop
//! what is idle.

use std::time::{Duration, Instant};

use crate::engine::{EngineError, ErrorClass, Rows, Session};

/// A new session may be dropped, too.
const TRIES: usize = 3;
/// After a server that cannot be reached nobody tries again for so many times what that took:
/// whoever looks also watches the time, and a server that is silent takes long to be found so.
const PAUSES: u32 = 5;
/// A try counts as this long at least.
const SHORTEST: Duration = Duration::from_millis(100);

/// A session that is opened anew when its connection is found broken. While that fails it stays
/// broken; it is tried again now and then, since a server that was started anew comes back.
pub(in crate::engine) struct PollingSession<S> {
    session: S,
    open: Box<dyn Fn() -> Result<S, EngineError> + Send>,
    /// Nobody answered last: no try before this moment.
    not_before: Option<Instant>,
}

impl<S: Session> PollingSession<S> {
    /// Opens it.
    ///
    /// # Errors
    /// Those of `open`.
    pub(in crate::engine) fn new(
        open: impl Fn() -> Result<S, EngineError> + Send + 'static,
    ) -> Result<PollingSession<S>, EngineError> {
        Ok(PollingSession { session: open()?, open: Box::new(open), not_before: None })
    }

    /// The answer of the session, or of one that is opened anew.
    fn ask(
        &mut self,
        mut asked: impl FnMut(&mut S) -> Result<Rows, EngineError>,
    ) -> Result<Rows, EngineError> {
        let mut answer = asked(&mut self.session);
        for _ in 0..TRIES {
            let began = Instant::now();
            let is_refused = self.not_before.is_some_and(|moment| began < moment);
            if is_refused || !answer.as_ref().is_err_and(|error| error.class == ErrorClass::Lost) {
                break;
            }
            match (self.open)() {
                Ok(session) => {
                    (self.session, self.not_before) = (session, None);
                    answer = asked(&mut self.session);
                }
                Err(_) => {
                    let now = Instant::now();
                    self.not_before = Some(now + (now - began).max(SHORTEST) * PAUSES);
                }
            }
        }
        answer
    }
}

impl<S: Session> Session for PollingSession<S> {
    /// Executes a statement once: after a lost connection it is unknown what was done, so it is not
    /// repeated.
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        self.session.execute(sql)
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        self.ask(|session| session.query(sql, binds))
    }

    fn query_again(&mut self, sql: &str) -> Result<Rows, EngineError> {
        self.ask(|session| session.query_again(sql))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    /// Its connection breaks at the second look.
    struct Brittle(u32);

    impl Session for Brittle {
        fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
            Ok(0)
        }
        fn query(&mut self, _: &str, _: &[i64]) -> Result<Rows, EngineError> {
            self.0 += 1;
            if self.0 > 1 {
                Err(EngineError::new(ErrorClass::Lost, "broke"))
            } else {
                Ok(Rows::default())
            }
        }
    }

    #[test]
    fn it_is_opened_anew_and_while_that_fails_it_is_tried_again_now_and_then() {
        let opened = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&opened);
        let open = move || match count.fetch_add(1, Relaxed) {
            3..5 => Err(EngineError::new(ErrorClass::Unreachable, "nobody")),
            _ => Ok(Brittle(0)),
        };
        let mut session = PollingSession::new(open).unwrap();
        for _ in 0..3 {
            session.query("", &[]).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(session.query("", &[]).unwrap_err().message, "broke");
        }
        assert_eq!(opened.load(Relaxed), 4, "nobody waits again so soon");
        session.not_before = None;
        assert_eq!(session.query("", &[]).unwrap_err().message, "broke");
        session.not_before = None;
        session.query("", &[]).unwrap();
        assert_eq!(opened.load(Relaxed), 6, "the server is back");
    }
}
