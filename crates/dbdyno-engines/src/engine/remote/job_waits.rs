//! Waits of job sessions for their servers, which one thread looks after. A wait that looks after
//! itself needs a timer, which costs a short statement some percent
//! (docs/decisions/0062-waiting-in-the-read.md).

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use parking_lot::Mutex;
use rustix::net::{Shutdown, shutdown};

use super::Watch;
use super::connect_timeouts::{ConnectTimeouts, POLL_INTERVAL, Wait};

/// Name of the thread.
const NAME: &str = "job-waits";

/// Waits of one session, which the thread looks after.
pub(super) struct JobWaits {
    socket: Arc<dyn AsFd + Send + Sync>,
    /// Number of begins and ends of waits: odd during one. Only the session changes it.
    turns: AtomicU64,
    /// Reason for which the thread has ended a wait, and the connection with it.
    ended: OnceLock<String>,
    watches: Vec<Watch>,
    timeouts: ConnectTimeouts,
}

impl JobWaits {
    /// Waits for bytes of this socket, which end as the watches and timeouts say.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn new(
        socket: Arc<dyn AsFd + Send + Sync>,
        watches: &[Watch],
        timeouts: &ConnectTimeouts,
    ) -> io::Result<Arc<JobWaits>> {
        let waits = Arc::new(JobWaits {
            socket,
            turns: AtomicU64::new(0),
            ended: OnceLock::new(),
            watches: watches.to_vec(),
            timeouts: timeouts.clone(),
        });
        let mut thread = THREAD.lock();
        if !thread.is_running {
            thread::Builder::new().name(NAME.into()).spawn(look_until_all_have_ended)?;
            thread.is_running = true;
        }
        thread.unseen.push(Arc::downgrade(&waits));
        Ok(waits)
    }

    /// Waits in the system call, which the thread ends if it has to.
    ///
    /// # Errors
    /// Those of the call; `TimedOut` with the reason for which the thread has ended it.
    #[inline]
    pub(super) fn wait<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.turn();
        let done = call();
        self.turn();
        match self.ended.get() {
            None => done,
            Some(why) => Err(io::Error::new(io::ErrorKind::TimedOut, why.as_str())),
        }
    }

    /// The begin or the end of a wait. A load and a store, because nobody else changes it.
    #[inline]
    fn turn(&self) {
        self.turns.store(self.turns.load(Relaxed) + 1, Relaxed);
    }

    /// Ends the wait, and the connection with it: nobody waits for another answer.
    fn end(&self, why: &io::Error) {
        self.ended.get_or_init(|| why.to_string());
        // If this fails, the connection has ended.
        let _ = shutdown(self.socket.as_fd(), Shutdown::Both);
    }
}

/// State of the thread: sessions that it has not seen yet, and whether it runs.
struct ThreadState {
    unseen: Vec<Weak<JobWaits>>,
    is_running: bool,
}

static THREAD: Mutex<ThreadState> =
    Mutex::new(ThreadState { unseen: Vec::new(), is_running: false });

/// Looks at all sessions once per interval, as long as there are any.
fn look_until_all_have_ended() {
    let mut looks: Vec<LastLook> = Vec::new();
    loop {
        thread::sleep(POLL_INTERVAL);
        {
            let mut thread = THREAD.lock();
            looks.extend(thread.unseen.drain(..).map(LastLook::new));
            looks.retain(|look| look.session.strong_count() > 0);
            if looks.is_empty() {
                thread.is_running = false;
                return;
            }
        }
        looks.iter_mut().for_each(LastLook::renew);
    }
}

/// State of a session when the thread looked at it last.
struct LastLook {
    session: Weak<JobWaits>,
    turns: u64,
    /// The wait that lasts since that look or longer.
    wait: Option<Wait>,
}

impl LastLook {
    fn new(session: Weak<JobWaits>) -> LastLook {
        LastLook { session, turns: 0, wait: None }
    }

    /// Looks again, and ends the wait if it has to.
    fn renew(&mut self) {
        let Some(session) = self.session.upgrade() else { return };
        let turns = session.turns.load(Relaxed);
        let is_waiting = turns % 2 == 1;
        if !is_waiting || turns != self.turns {
            (self.turns, self.wait) = (turns, None);
            return;
        }
        let wait = self.wait.get_or_insert_with(|| Wait::new(None));
        let ask = || session.watches.iter().try_for_each(|watch| watch());
        let checked = wait.check(&session.timeouts, &ask);
        // It may have gone on while the server was asked.
        if let (Err(why), true) = (checked, session.turns.load(Relaxed) == turns) {
            session.end(&why);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// A session with this watch, its socket, and the server's end.
    fn session(watch: Watch) -> (Arc<JobWaits>, Arc<UnixStream>, UnixStream) {
        let (client, server) = UnixStream::pair().unwrap();
        let client = Arc::new(client);
        let timeouts = ConnectTimeouts::default();
        let waits = JobWaits::new(client.clone(), &[watch], &timeouts).unwrap();
        (waits, client, server)
    }

    #[test]
    fn a_wait_ends_with_the_reason_of_its_watch_and_only_while_it_lasts() {
        let (waits, client, _server) = session(Arc::new(|| Err("the server is silent")));
        let mut look = LastLook::new(Arc::downgrade(&waits));
        look.renew();
        waits.wait(|| Ok(())).unwrap();
        look.renew();
        assert!(look.wait.is_none(), "no wait lasts");
        let error = waits.wait(|| {
            look.renew();
            assert!(look.wait.is_none(), "it has just begun");
            // The server is asked when it has been silent for long.
            while waits.ended.get().is_none() {
                look.renew();
                look.wait.as_mut().unwrap().age(POLL_INTERVAL);
            }
            (&*client).read(&mut [0; 8])
        });
        let error = error.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "the server is silent");
    }

    #[test]
    fn a_wait_for_a_server_that_answers_others_goes_on() {
        let (waits, _client, _server) = session(Arc::new(|| Ok(())));
        let mut look = LastLook::new(Arc::downgrade(&waits));
        let waited = waits.wait(|| {
            for _ in 0..20 {
                look.renew();
                if let Some(wait) = &mut look.wait {
                    wait.age(POLL_INTERVAL);
                }
            }
            Ok("an answer")
        });
        assert_eq!(waited.unwrap(), "an answer");
    }
}
