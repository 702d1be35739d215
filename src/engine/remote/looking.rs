//! A session that only looks, for as long as a run: between two looks something on the way may drop
//! what is idle.

use crate::engine::{EngineError, ErrorClass, Rows, Session};

/// A new session may be dropped, too.
const TRIES: usize = 3;

/// A session that is opened anew when its connection is found broken. Once that fails it stays
/// broken: nobody waits again for a server that does not answer.
pub(in crate::engine) struct Looking<S> {
    session: S,
    open: Box<dyn Fn() -> Result<S, EngineError> + Send>,
    is_gone: bool,
}

impl<S: Session> Looking<S> {
    /// Opens it.
    ///
    /// # Errors
    /// Those of `open`.
    pub(in crate::engine) fn new(
        open: impl Fn() -> Result<S, EngineError> + Send + 'static,
    ) -> Result<Looking<S>, EngineError> {
        Ok(Looking { session: open()?, open: Box::new(open), is_gone: false })
    }
}

impl<S: Session> Session for Looking<S> {
    /// Who knows what of it was done before the connection broke: it is not done again.
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        self.session.execute(sql)
    }

    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        let mut answer = self.session.query(sql, binds);
        for _ in 0..TRIES {
            if self.is_gone || !answer.as_ref().is_err_and(|error| error.class == ErrorClass::Lost)
            {
                break;
            }
            match (self.open)() {
                Ok(session) => self.session = session,
                Err(_) => self.is_gone = true,
            }
            if !self.is_gone {
                answer = self.session.query(sql, binds);
            }
        }
        answer
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
    fn it_is_opened_anew_until_that_fails_and_then_never_again() {
        let opened = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&opened);
        let open = move || match count.fetch_add(1, Relaxed) {
            0..3 => Ok(Brittle(0)),
            _ => Err(EngineError::new(ErrorClass::Unreachable, "nobody")),
        };
        let mut session = Looking::new(open).unwrap();
        for _ in 0..3 {
            session.query("", &[]).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(session.query("", &[]).unwrap_err().message, "broke");
        }
        assert_eq!(opened.load(Relaxed), 4);
    }
}
