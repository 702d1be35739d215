//! Clients that commit row after row and note what became of each: what an application with a list
//! of hosts would do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::timed_session::{ClientRoutes, TimedSession, is_refusal};
use dbdyno_core::analysis::failover::{Answer, Noted, Sent};
use dbdyno_engines::engine::EngineError;
use dbdyno_engines::engine::threads::start_apart;

/// Pause after all nodes were tried in vain.
const PAUSE: Duration = Duration::from_millis(10);

/// Event of a writer while it runs.
#[derive(Debug)]
pub(super) enum WriterEvent {
    /// One of them has its first commit.
    Began,
    /// No answer, or no session: when, in s, and why.
    Trouble(f64, String),
}

/// Configuration that all writers share.
#[derive(Clone)]
pub(super) struct WriterConfig {
    pub routes: Arc<ClientRoutes>,
    /// Names of the nodes, which are tried in turn.
    pub nodes: Arc<[String]>,
    /// Statement with {{writer}} and {{seq}}.
    pub insert: Arc<str>,
    pub timeout: Duration,
    /// An unanswered commit is sent again.
    pub resends: bool,
}

/// Writers at work.
pub(super) struct Writers {
    began: Instant,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    threads: Vec<JoinHandle<Noted>>,
    pub events: Receiver<WriterEvent>,
}

impl Writers {
    /// Starts one writer for each of `places`: indexes of the nodes that they begin on.
    ///
    /// # Errors
    /// The system refuses a thread; those that it started end.
    pub(super) fn start(config: &WriterConfig, places: &[usize]) -> Result<Writers, EngineError> {
        let (began, stop, acknowledged) =
            (Instant::now(), Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let (sender, events) = channel();
        let writer = |(writer, at): (u32, usize)| Writer {
            config: config.clone(),
            writer,
            at,
            began,
            stop: Arc::clone(&stop),
            acknowledged: Arc::clone(&acknowledged),
            sender: sender.clone(),
            noted: Noted::default(),
        };
        let each: Vec<Writer> = (1..).zip(places.iter().copied()).map(writer).collect();
        let mut writers = Writers { began, stop, acknowledged, threads: Vec::new(), events };
        for writer in each {
            // Those that run stop when this is dropped.
            writers.threads.push(start_apart(|| writer.run())?);
        }
        Ok(writers)
    }

    /// Seconds since the start.
    pub(super) fn since(&self, moment: Instant) -> f64 {
        moment.saturating_duration_since(self.began).as_secs_f64()
    }

    /// Commits acknowledged so far.
    pub(super) fn acknowledged_count(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Ends them; gives all that they noted.
    pub(super) fn end(mut self) -> Noted {
        self.stop.store(true, Ordering::SeqCst);
        let mut all = Noted::default();
        for noted in
            std::mem::take(&mut self.threads).into_iter().filter_map(|thread| thread.join().ok())
        {
            all.sent.extend(noted.sent);
            all.troubles.extend(noted.troubles);
        }
        all
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// One client.
struct Writer {
    config: WriterConfig,
    writer: u32,
    /// Index of the node that it is on.
    at: usize,
    began: Instant,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    sender: Sender<WriterEvent>,
    noted: Noted,
}

impl Writer {
    fn run(mut self) -> Noted {
        let (mut line, mut seq, mut in_vain, mut has_begun) = (None, 1, 0, false);
        while !self.stop.load(Ordering::SeqCst) {
            let open = match line.take().map_or_else(|| self.open(), Ok) {
                Ok(open) => open,
                Err(error) => {
                    self.trouble(&error);
                    self.next_node(&mut in_vain);
                    continue;
                }
            };
            let error = match self.commit(&open, seq) {
                Ok(()) => {
                    (line, in_vain) = (Some(open), 0);
                    // The first that was sent may have had no answer.
                    if !std::mem::replace(&mut has_begun, true) {
                        let _ = self.sender.send(WriterEvent::Began); // nobody may listen any more
                    }
                    seq += 1;
                    continue;
                }
                Err(error) => error,
            };
            if error.class.retriable() {
                line = Some(open);
                continue;
            }
            if !is_refusal(&error) {
                self.trouble(&error);
                seq += u64::from(!self.config.resends);
            }
            self.next_node(&mut in_vain);
        }
        self.noted
    }

    fn open(&self) -> Result<TimedSession, EngineError> {
        let WriterConfig { routes, nodes, timeout, .. } = &self.config;
        TimedSession::open(routes, &nodes[self.at], *timeout, None)
    }

    fn now_s(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Sends one commit and notes its answer.
    fn commit(&mut self, line: &TimedSession, seq: u64) -> Result<(), EngineError> {
        let sql = self.config.insert.replace("{{writer}}", &self.writer.to_string());
        let sql = sql.replace("{{seq}}", &seq.to_string());
        let sent_s = self.now_s();
        let done = line.execute(sql);
        let answer = match &done {
            Ok(()) => Answer::Acknowledged,
            Err(error) if is_refusal(error) => Answer::Refused,
            Err(_) => Answer::Missing,
        };
        let (writer, node, ended_s) = (self.writer, self.at, self.now_s());
        self.noted.sent.push(Sent { writer, seq, node, sent_s, ended_s, answer });
        self.acknowledged.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
        done
    }

    fn trouble(&mut self, error: &EngineError) {
        let now_s = self.now_s();
        self.noted.troubles.push(now_s);
        let node = &self.config.nodes[self.at];
        let _ = self
            .sender
            .send(WriterEvent::Trouble(now_s, format!("node {node}: {}", error.message)));
    }

    /// Goes to the next node; after each has been tried in vain it waits a moment.
    fn next_node(&mut self, in_vain: &mut usize) {
        self.at = (self.at + 1) % self.config.nodes.len();
        *in_vain += 1;
        if in_vain.is_multiple_of(self.config.nodes.len()) {
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::timed_session::fake::FakeCluster;
    use super::*;
    use dbdyno_engines::engine::{ErrorClass, Rows};

    #[test]
    fn a_writer_has_begun_with_its_first_answer_whatever_became_of_what_it_sent_before() {
        let has_answered = AtomicBool::new(false);
        let routes = FakeCluster::routes(&["a"], move |_, _| {
            match has_answered.swap(true, Ordering::SeqCst) {
                true => Ok(Rows::default()),
                false => Err(EngineError::new(ErrorClass::Lost, "no answer")),
            }
        });
        let config = WriterConfig {
            routes,
            nodes: Arc::from(["a".to_string()]),
            insert: "{{writer}} {{seq}}".into(),
            timeout: Duration::from_secs(10),
            resends: false,
        };
        let writers = Writers::start(&config, &[0]).unwrap();
        let next = || writers.events.recv_timeout(Duration::from_secs(10));
        assert!(matches!(next(), Ok(WriterEvent::Trouble(_, what)) if what == "node a: no answer"));
        assert!(matches!(next(), Ok(WriterEvent::Began)));
        let answers: Vec<Answer> =
            writers.end().sent.iter().map(|sent| sent.answer).take(2).collect();
        assert_eq!(answers, [Answer::Missing, Answer::Acknowledged]);
    }
}
