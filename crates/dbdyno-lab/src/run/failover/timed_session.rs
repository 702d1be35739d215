//! A session that is not waited for longer than a client would: each has a thread of its own, which
//! is left alone when its server says nothing, as a stopped one does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use dbdyno_engines::engine::threads::start_apart;
use dbdyno_engines::engine::{Database, EngineError, ErrorClass, Rows, Session};

type Answer = Result<Rows, EngineError>;
type Task = Box<dyn FnOnce(&mut dyn Session) -> Answer + Send>;

/// The ways of clients to the nodes.
pub(super) struct ClientRoutes {
    pub database: Arc<dyn Database>,
    /// Index of the node to which nothing comes any more, and from which nothing does.
    cut: AtomicUsize,
}

impl ClientRoutes {
    /// All are open.
    pub(super) fn open(database: Arc<dyn Database>) -> Arc<ClientRoutes> {
        Arc::new(ClientRoutes { database, cut: AtomicUsize::new(usize::MAX) })
    }

    /// Cuts the way to a node.
    pub(super) fn cut(&self, node: &str) {
        let at = self.database.nodes().iter().position(|known| known == node);
        self.cut.store(at.unwrap_or(usize::MAX), Ordering::SeqCst);
    }

    fn is_cut(&self, node: &str) -> bool {
        let at = self.cut.load(Ordering::SeqCst);
        self.database.nodes().get(at).is_some_and(|cut| cut == node)
    }
}

/// An open session on a node. After an error of class `Lost` it is of no more use.
pub(super) struct TimedSession {
    routes: Arc<ClientRoutes>,
    node: String,
    tasks: Sender<Task>,
    answers: Receiver<Answer>,
    timeout: Duration,
}

impl TimedSession {
    /// Opens a session on a node.
    ///
    /// # Errors
    /// The engine's; of class `Lost` if there is no answer in time; the system refuses a thread.
    pub(super) fn open(
        routes: &Arc<ClientRoutes>,
        node: &str,
        timeout: Duration,
    ) -> Result<TimedSession, EngineError> {
        let ((tasks, waiting), (tell, answers)) = (channel::<Task>(), channel());
        let (database, to) = (Arc::clone(&routes.database), node.to_owned());
        start_apart(move || serve(database, &to, &waiting, &tell))?;
        let line = TimedSession {
            routes: Arc::clone(routes),
            node: node.to_owned(),
            tasks,
            answers,
            timeout,
        };
        line.answer().map(|_| line)
    }

    /// Runs one statement.
    ///
    /// # Errors
    /// As [`TimedSession::open`].
    pub(super) fn execute(&self, sql: String) -> Result<(), EngineError> {
        self.ask(Box::new(move |session| session.execute(&sql).map(|_| Rows::default()))).map(drop)
    }

    /// Runs one query.
    ///
    /// # Errors
    /// As [`TimedSession::open`].
    pub(super) fn query(&self, sql: &str) -> Answer {
        let sql = sql.to_owned();
        self.ask(Box::new(move |session| session.query(&sql, &[])))
    }

    fn ask(&self, task: Task) -> Answer {
        if !self.routes.is_cut(&self.node) {
            // If its thread has ended, so have the answers.
            let _ = self.tasks.send(task);
        }
        self.answer()
    }

    fn answer(&self) -> Answer {
        let asked = Instant::now();
        let answer = self.receive();
        if !self.routes.is_cut(&self.node) {
            return answer;
        }
        // as long as a client waits in vain
        thread::sleep(self.timeout.saturating_sub(asked.elapsed()));
        Err(EngineError::new(ErrorClass::Lost, "the way to the node is cut"))
    }

    fn receive(&self) -> Answer {
        let lost = |what| EngineError::new(ErrorClass::Lost, what);
        self.answers.recv_timeout(self.timeout).unwrap_or_else(|error| {
            Err(match error {
                RecvTimeoutError::Timeout => {
                    lost(format!("no answer within {} s", self.timeout.as_secs_f64()))
                }
                RecvTimeoutError::Disconnected => lost("the session has ended".into()),
            })
        })
    }
}

/// Thread of the session. It ends when its questions or answers have no other end any more.
fn serve(database: Arc<dyn Database>, node: &str, tasks: &Receiver<Task>, tell: &Sender<Answer>) {
    let opened = database.session_at(node);
    drop(database);
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => return drop(tell.send(Err(error))),
    };
    let mut is_heard = tell.send(Ok(Rows::default())).is_ok();
    while let Some(task) = tasks.recv().ok().filter(|_| is_heard) {
        is_heard = tell.send(task(session.as_mut())).is_ok();
    }
}

/// True if the server rejected the commit. Without an answer the outcome is unknown.
pub(super) fn is_refusal(error: &EngineError) -> bool {
    error.class.retriable()
        || error.code.is_some() && !matches!(error.class, ErrorClass::Lost | ErrorClass::Cancelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_server_is_a_refusal_silence_is_none() {
        let error = |class, code: Option<&str>| EngineError {
            code: code.map(String::from),
            ..EngineError::new(class, "")
        };
        for (class, code, is) in [
            (ErrorClass::Deadlock, None, true),
            (ErrorClass::Other, Some("25006"), true),
            (ErrorClass::Unreachable, Some("1047"), true),
            (ErrorClass::Lost, Some("57P01"), false),
            (ErrorClass::Lost, None, false),
            (ErrorClass::Unreachable, None, false),
        ] {
            assert_eq!(is_refusal(&error(class, code)), is, "{class:?} {code:?}");
        }
    }
}
