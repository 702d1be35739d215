//! A session that is not waited for longer than a client would: each has a thread of its own, which
//! is left alone when its server says nothing, as a stopped one does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::test_runner::Interrupt;
use dbdyno_engines::engine::threads::start_apart;
use dbdyno_engines::engine::{Database, EngineError, ErrorClass, Rows, Session};

/// Interval at which a session that heeds an interrupt looks for one.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

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
    /// Ends its waits; none for a client, whose answers count.
    interrupt: Option<Interrupt>,
}

impl TimedSession {
    /// Opens a session on a node. An interrupt ends its waits, if one is given.
    ///
    /// # Errors
    /// The engine's; of class `Lost` if there is no answer in time; of class `Cancelled` after an
    /// interrupt; the system refuses a thread.
    pub(super) fn open(
        routes: &Arc<ClientRoutes>,
        node: &str,
        timeout: Duration,
        interrupt: Option<&Interrupt>,
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
            interrupt: interrupt.cloned(),
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
        let answer = self.receive(asked);
        if !self.routes.is_cut(&self.node) {
            return answer;
        }
        // as long as a client waits in vain
        while let Some(step) = self.step(asked) {
            thread::sleep(step);
        }
        Err(EngineError::new(ErrorClass::Lost, "the way to the node is cut"))
    }

    /// Time until the next look whether to wait on; none if the wait that began then is over.
    fn step(&self, began: Instant) -> Option<Duration> {
        let left = self.timeout.saturating_sub(began.elapsed());
        let step = match &self.interrupt {
            Some(interrupt) if interrupt.is_set() => Duration::ZERO,
            Some(_) => left.min(POLL_INTERVAL),
            None => left,
        };
        (!step.is_zero()).then_some(step)
    }

    fn receive(&self, asked: Instant) -> Answer {
        let lost = |what: String| EngineError::new(ErrorClass::Lost, what);
        while let Some(step) = self.step(asked) {
            match self.answers.recv_timeout(step) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(lost("the session has ended".into()));
                }
            }
        }
        Err(match self.interrupt.as_ref().is_some_and(Interrupt::is_set) {
            true => EngineError::new(ErrorClass::Cancelled, "interrupted"),
            false => lost(format!("no answer within {} s", self.timeout.as_secs_f64())),
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

/// A database for the tests of a failover.
#[cfg(test)]
pub(super) mod fake {
    use super::*;
    use dbdyno_engines::engine::{JobSpec, Pacer, RowLoad, Version};

    type Reply = dyn Fn(&str, &str) -> Answer + Send + Sync;

    /// A cluster whose nodes answer as a test says: to the name of the node, and the statement.
    pub(in super::super) struct FakeCluster {
        nodes: Vec<String>,
        reply: Arc<Reply>,
    }

    impl FakeCluster {
        pub(in super::super) fn routes(
            nodes: &[&str],
            reply: impl Fn(&str, &str) -> Answer + Send + Sync + 'static,
        ) -> Arc<ClientRoutes> {
            let nodes = nodes.iter().map(ToString::to_string).collect();
            ClientRoutes::open(Arc::new(FakeCluster { nodes, reply: Arc::new(reply) }))
        }
    }

    /// Rows with these values in their columns.
    pub(in super::super) fn rows<const N: usize>(rows: &[[&str; N]]) -> Rows {
        let row = |row: &[&str; N]| row.iter().map(|value| Some(value.to_string())).collect();
        let columns = (0..N).map(|column| format!("c{column}")).collect();
        Rows { columns, rows: rows.iter().map(row).collect() }
    }

    struct FakeSession {
        node: String,
        reply: Arc<Reply>,
    }

    impl Session for FakeSession {
        fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
            (self.reply)(&self.node, sql).map(|_| 1)
        }
        fn query(&mut self, sql: &str, _: &[i64]) -> Answer {
            (self.reply)(&self.node, sql)
        }
    }

    impl Database for FakeCluster {
        fn version(&self) -> Version {
            Version(vec![1])
        }
        fn nodes(&self) -> &[String] {
            &self.nodes
        }
        fn session(&self) -> Result<Box<dyn Session>, EngineError> {
            self.session_at(&self.nodes[0])
        }
        fn session_at(&self, node: &str) -> Result<Box<dyn Session>, EngineError> {
            Ok(Box::new(FakeSession { node: node.into(), reply: Arc::clone(&self.reply) }))
        }
        fn run_job(&self, _: &JobSpec<'_>, _: &mut dyn Pacer) -> Result<(), EngineError> {
            Ok(())
        }
        fn load_rows(
            &self,
            _: &RowLoad<'_>,
            _: &mut dyn FnMut(u64) -> bool,
        ) -> Result<(), EngineError> {
            Ok(())
        }
        fn load_method(&self) -> &'static str {
            "none"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fake::FakeCluster;
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn an_interrupt_ends_the_wait_for_an_answer_and_for_a_node_that_is_cut_off() {
        let interrupt = Interrupt::new();
        let comes = interrupt.clone();
        let routes = FakeCluster::routes(&["a"], move |_, _| {
            comes.set();
            loop {
                thread::park();
            }
        });
        let line = TimedSession::open(&routes, "a", LONG, Some(&interrupt)).unwrap();
        assert_eq!(line.query("sleep").unwrap_err().class, ErrorClass::Cancelled);
        routes.cut("a");
        assert_eq!(line.query("sleep").unwrap_err().class, ErrorClass::Lost);
    }

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
