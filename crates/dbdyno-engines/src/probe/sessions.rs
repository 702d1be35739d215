//! Samples of the sessions of a database: the catalog's block `sessions`, and, for servers whose
//! sessions are threads of this host, the state of each thread by the operating system.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use super::server_statistics::{Profiles, Reading};
use super::sql::{OWN_COUNTS, OwnCounts, take};
use super::thread_times::{Serving, ThreadTimes, scheduled_s};
use crate::engine::{Rows, Session};
use dbdyno_core::model::{Activity, Counters, Event, SessionState, ThreadTime};
use dbdyno_core::sql::{Block, statement};

/// Block of a query with a row for each session of ours and each process of the server that is at
/// work. Its columns:
/// - `id`: number of the session; null for a process of the server itself
/// - `idle`: 1 if it waits for its client
/// - `class`, `event`: the engine's words
/// - `activity`: a name of [`Activity`]; null if the engine does not tell whether it works or waits
/// - `thread`: the thread of the operating system that serves it, where there is one: what it does
///   there decides
/// - `keeps_thread`: 1 if that thread serves it as long as it lives
/// - `process`: the process that serves it, where it has one of its own: only its times are asked
///   for
///
/// `-- period: 0.105` are the seconds between two looks, `-- log-file: ib_log` what the names of
/// the log's files begin with.
const SESSIONS: &str = "sessions";
/// The same as far as users see it who may not ask for that; it counts if the other fails.
const LESS: &str = "sessions.less";
/// Block of one number: the thread or process of the session that asks.
const OWN: &str = "sessions.own";
/// Block of lines that say what of it this user cannot see; nulls are left out.
const MISSING: &str = "sessions.missing";

/// Text of the kernel for a thread that is on a CPU or in the run queue.
const RUNNING: &str = "running";
/// Ours for a thread that waited in a call which ended before the kernel could tell it.
const WAITED: &str = "waited";
/// Reads of the call of a waiting thread at most.
const MAX_SAMPLES: u32 = 3;
/// The server is asked at least so often, also where threads tell all: a session may have ended,
/// and threads do not tell what the server itself is at.
const LONGEST_UNASKED: Duration = Duration::from_secs(1);

/// Whose sessions are looked at: blocks with all of it, with less, and of what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionScope {
    /// Those of jobs of ours.
    Jobs,
    /// Those of everybody but ourselves: blocks of the same columns.
    All,
}

impl SessionScope {
    fn blocks(self) -> [&'static str; 3] {
        match self {
            SessionScope::Jobs => [SESSIONS, LESS, MISSING],
            SessionScope::All => ["sessions.all", "sessions.all.less", "sessions.all.missing"],
        }
    }
}

/// The sampler's session.
pub struct Sessions {
    session: Box<dyn Session>,
    sql: String,
    period_s: f64,
    /// The server's process, if it is on this host.
    server: Option<u32>,
    /// Prefix of the names of the log's files.
    log_file: String,
    own_thread: Option<u32>,
    /// Last answer of the server, and the threads and processes in it.
    answer: Option<Answer>,
    serving: Vec<Serving>,
    times: ThreadTimes,
    missing: Vec<String>,
    counts: Option<String>,
    own_counts: OwnCounts,
    profiles: Profiles,
}

/// An answer of the server.
struct Answer {
    asked_at: Instant,
    /// Of the sessions that are looked at.
    rows: Vec<Row>,
}

/// A row of [`SESSIONS`].
#[derive(Debug, Clone, Default, PartialEq)]
struct Row {
    id: Option<u32>,
    idle: bool,
    class: String,
    event: String,
    activity: Option<Activity>,
    thread: Option<u32>,
    keeps_thread: bool,
    process: Option<u32>,
}

impl Sessions {
    /// True if the engine has sessions to look at.
    pub fn are_known(blocks: &[&Block]) -> bool {
        blocks.iter().any(|block| block.name == SESSIONS)
    }

    /// A sampler over the blocks of an engine; none if it has no sessions to look at. `server_pids`
    /// are those of a server on this host.
    pub fn open(
        mut session: Box<dyn Session>,
        blocks: &[&Block],
        server_pids: &[u32],
        whose: SessionScope,
    ) -> Option<Sessions> {
        let find = |name: &str| blocks.iter().find(|block| block.name == name).copied();
        let [full, less, missing] = whose.blocks();
        let (block, refused) = choose_permitted(session.as_mut(), find(full)?, find(less));
        let period_s = find(SESSIONS)?.attributes.get("period")?.parse().ok()?;
        let mut ask = |name: &str| session.query(statement(&find(name)?.text), &[]).ok();
        let own_thread =
            ask(OWN).as_ref().and_then(Rows::scalar).and_then(|number| number.parse().ok());
        let lines = ask(missing).map(|rows| rows.rows).unwrap_or_default();
        let missing = refused.into_iter().chain(lines.into_iter().flatten().flatten()).collect();
        let server = server_pids.first().copied();
        let own_thread = own_thread.filter(|_| server.is_some());
        let log_file = find(SESSIONS)?.attributes.get("log-file").cloned().unwrap_or_default();
        Some(Sessions {
            session,
            sql: statement(&block.text).to_string(),
            period_s,
            server,
            log_file,
            own_thread,
            answer: None,
            serving: Vec::new(),
            times: ThreadTimes::new(server_pids),
            missing,
            counts: find(OWN_COUNTS).map(|block| statement(&block.text).to_string()),
            own_counts: OwnCounts::default(),
            profiles: Profiles::from_blocks(blocks),
        })
    }

    /// Server statistics by name so far.
    pub fn profiles(&mut self) -> Reading {
        self.profiles.read(self.session.as_mut())
    }

    /// Counts that this session itself has added to the database's counters so far. Empty where it
    /// adds nothing.
    pub fn counts(&mut self) -> Counters {
        let mut counts = Counters::default();
        let rows = self.counts.as_ref().and_then(|sql| self.session.query_again(sql).ok());
        rows.iter().for_each(|rows| take(rows, &mut counts));
        self.own_counts.all(counts)
    }

    /// Seconds between two looks.
    pub fn period_s(&self) -> f64 {
        self.period_s
    }

    /// Facts that cannot be observed.
    pub fn missing(&self) -> Vec<String> {
        self.missing.clone()
    }

    /// Processor time of the sampler's session in the server, in seconds, where the kernel tells
    /// it.
    pub fn server_cpu_s(&self) -> Option<f64> {
        scheduled_s(self.own_thread?)
    }

    /// State of each session now, of `jobs` if they are given, and of each server process at work.
    /// The server is only asked for what the threads of these sessions do not tell.
    ///
    /// # Errors
    /// The server's, as one line.
    pub fn look(&mut self, jobs: Option<&[u32]>) -> Result<Vec<SessionState>, String> {
        let rows = self.answer.iter().flat_map(|answer| &answer.rows);
        let threads = rows.filter_map(|row| row.thread);
        let before: HashMap<u32, String> =
            threads.filter_map(|thread| Some((thread, self.call(thread)?))).collect();
        if let Some(states) = jobs.and_then(|jobs| self.by_threads(jobs, &before)) {
            return Ok(states);
        }
        let asked_at = Instant::now();
        let rows = self.session.query_again(&self.sql).map_err(|error| error.to_string())?;
        let jobs: Option<HashSet<u32>> = jobs.map(|jobs| jobs.iter().copied().collect());
        let wanted =
            |row: &Row| jobs.as_ref().is_none_or(|jobs| row.id.is_none_or(|id| jobs.contains(&id)));
        let rows: Vec<Row> = read(&rows).filter(wanted).collect();
        self.serving = rows.iter().filter_map(Row::serving).collect();
        let states = rows.iter().map(|row| self.combine(row.clone(), &before)).collect();
        self.answer = Some(Answer { asked_at, rows });
        Ok(states)
    }

    /// The states by what the threads of `jobs` do, if that tells all of them. The server was asked
    /// lately, and what it said of itself still holds.
    fn by_threads(
        &self,
        jobs: &[u32],
        threads: &HashMap<u32, String>,
    ) -> Option<Vec<SessionState>> {
        let lately = |answer: &&Answer| answer.asked_at.elapsed() < LONGEST_UNASKED;
        let rows = &self.answer.as_ref().filter(lately)?.rows;
        let known: HashSet<u32> = rows.iter().filter_map(|row| row.id).collect();
        let are_known = jobs.iter().all(|id| known.contains(id));
        let states = rows.iter().map(|row| self.by_thread(row, threads));
        if are_known { states.collect() } else { None }
    }

    /// The state of a session by what its thread does, if that tells it; of a process of the server
    /// what the server said.
    fn by_thread(&self, row: &Row, threads: &HashMap<u32, String>) -> Option<SessionState> {
        if row.id.is_none() {
            return Some(row.reported_state());
        }
        let text = threads.get(&row.thread.filter(|_| row.keeps_thread)?)?;
        let call = Call::read(text).filter(|call| call.tells_all())?;
        let file = || self.file(text).unwrap_or_default();
        // What it waited for when the server was asked is over.
        let row = Row { activity: None, ..row.clone() };
        Some(with_call(row, call, false, &file, &self.log_file))
    }

    /// Counts of the kernel so far for the sessions of the last sample; for only a part of them if
    /// there are many.
    pub fn times(&mut self) -> Vec<ThreadTime> {
        self.times.read(&self.serving)
    }

    /// State of a thread by the operating system, where it is on this host and may be read:
    /// [`RUNNING`], [`WAITED`], or the line of the call that it stands in. Its state is asked
    /// first: of a short wait that ends meanwhile the kernel cannot tell the call and says
    /// `running`, and the more and the shorter the waits are the more of them would count as work.
    fn call(&self, thread: u32) -> Option<String> {
        let task = format!("/proc/{}/task/{thread}", self.server?);
        if state(&fs::read_to_string(format!("{task}/stat")).ok()?)? == 'R' {
            return Some(RUNNING.into());
        }
        for _ in 0..MAX_SAMPLES {
            let line = fs::read_to_string(format!("{task}/syscall")).ok()?;
            if line.trim_end() != RUNNING {
                return Some(line);
            }
        }
        Some(WAITED.into())
    }

    /// Combines a row with the state of its thread before the server was asked, which is the one
    /// that counts: the question itself takes processors from the jobs, and while it is answered
    /// their reads end.
    fn combine(&self, row: Row, before: &HashMap<u32, String>) -> SessionState {
        let at_begin = row.thread.and_then(|thread| before.get(&thread).cloned());
        let now = || row.thread.and_then(|thread| self.call(thread));
        let Some((call, text)) =
            at_begin.clone().or_else(now).and_then(|text| Some((Call::read(&text)?, text)))
        else {
            return row.reported_state();
        };
        // The same call with the same arguments: the thread stood in it while the server was asked.
        let stood = call == Call::Futex && at_begin.is_some() && now() == at_begin;
        let file = || self.file(&text).unwrap_or_default();
        with_call(row, call, stood, &file, &self.log_file)
    }

    /// The name of the file that a call is about: its first argument is the descriptor.
    fn file(&self, call: &str) -> Option<String> {
        let number = call.split_whitespace().nth(1)?.strip_prefix("0x")?;
        let number = u32::from_str_radix(number, 16).ok()?;
        let path = fs::read_link(format!("/proc/{}/fd/{number}", self.server?)).ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }
}

impl Row {
    /// Thread or process that serves it, if it is a session's.
    fn serving(&self) -> Option<Serving> {
        self.id?;
        self.thread.map(Serving::Thread).or(self.process.map(Serving::Process))
    }

    /// The state as the server told it.
    fn reported_state(&self) -> SessionState {
        if self.idle {
            return SessionState::Idle;
        }
        let activity = self.activity.unwrap_or(Activity::Other);
        event(self.class.clone(), self.event.clone(), activity, self.id.is_none())
    }
}

/// The block that this user may run, and what is lost if it is the lesser one.
fn choose_permitted<'a>(
    session: &mut dyn Session,
    full: &'a Block,
    less: Option<&'a Block>,
) -> (&'a Block, Option<String>) {
    match (session.query(statement(&full.text), &[]), less) {
        (Err(error), Some(less)) => {
            (less, Some(format!("{}: {error}", less.doc.replace('\n', " "))))
        }
        _ => (full, None),
    }
}

fn read(rows: &Rows) -> impl Iterator<Item = Row> + '_ {
    (0..rows.rows.len()).map(|at| {
        let number = |name: &str| rows.get(at, name).and_then(|text| text.parse().ok());
        let text = |name: &str| rows.get(at, name).unwrap_or_default().to_string();
        Row {
            id: number("id"),
            idle: number("idle") == Some(1),
            class: text("class"),
            event: text("event"),
            activity: rows.get(at, "activity").map(Activity::from_name),
            thread: number("thread"),
            keeps_thread: number("keeps_thread") == Some(1),
            process: number("process"),
        }
    })
}

fn event(
    class: impl Into<String>,
    name: impl Into<String>,
    activity: Activity,
    background: bool,
) -> SessionState {
    SessionState::At(Event { class: class.into(), name: name.into(), activity, background })
}

/// State of a thread in its line of `/proc/pid/task/tid/stat`: what follows its name, which stands
/// in brackets and may hold any.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Call of a thread in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// On a processor, or waits for one.
    None,
    /// Waits for its client.
    Receive,
    Send,
    Read(&'static str),
    Write(&'static str),
    Sync(&'static str),
    /// Waits for another thread.
    Futex,
    /// Waited, and nobody knows for what.
    Unknown,
    Other,
}

impl Call {
    /// From [`RUNNING`], [`WAITED`] or the line of a call: its number first (-1 in none, as in a
    /// page fault).
    fn read(text: &str) -> Option<Call> {
        match text.split_whitespace().next()? {
            RUNNING => Some(Call::None),
            WAITED => Some(Call::Unknown),
            number => Some(Call::from_number(number.parse().ok()?)),
        }
    }

    fn from_number(number: libc::c_long) -> Call {
        match number {
            libc::SYS_ppoll | libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_epoll_pwait => {
                Call::Receive
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll | libc::SYS_epoll_wait => Call::Receive,
            libc::SYS_sendto | libc::SYS_sendmsg => Call::Send,
            libc::SYS_pread64 | libc::SYS_preadv => Call::Read("pread"),
            libc::SYS_read => Call::Read("read"),
            libc::SYS_io_getevents | libc::SYS_io_uring_enter => Call::Read("asynchronous I/O"),
            libc::SYS_pwrite64 | libc::SYS_pwritev => Call::Write("pwrite"),
            libc::SYS_write => Call::Write("write"),
            libc::SYS_fsync => Call::Sync("fsync"),
            libc::SYS_fdatasync => Call::Sync("fdatasync"),
            libc::SYS_futex => Call::Futex,
            _ => Call::Other,
        }
    }

    /// True if the server need not be asked what a session works at, or waits for, whose thread
    /// does this.
    fn tells_all(self) -> bool {
        !matches!(self, Call::Futex | Call::Unknown | Call::Other)
    }
}

/// Decides by a thread's call in the kernel whether its session works or waits. The server is asked
/// a moment later: that a stage waits for a latch is only said if the thread `stood` in one call
/// meanwhile. `file` is the one that the call is about.
fn with_call(
    row: Row,
    call: Call,
    stood: bool,
    file: &dyn Fn() -> String,
    log_file: &str,
) -> SessionState {
    let background = row.id.is_none();
    let io = |name: &str, of_data: Activity| {
        let file = file();
        let is_log = !log_file.is_empty() && file.starts_with(log_file);
        event(
            "IO",
            format!("{name} {file}").trim(),
            if is_log { Activity::LogSync } else { of_data },
            background,
        )
    };
    // Whoever waited for a row when the server was asked counts as waiting, whatever the thread has
    // done since.
    if row.activity == Some(Activity::RowLock) {
        return event(row.class, row.event, Activity::RowLock, background);
    }
    match call {
        Call::Receive => SessionState::Idle,
        Call::Unknown if row.idle => SessionState::Idle,
        Call::Unknown => {
            event(row.class, row.event, row.activity.unwrap_or(Activity::Other), background)
        }
        Call::None => event("CPU", "CPU", Activity::Cpu, background),
        Call::Send => event("Network", "send", Activity::Network, background),
        Call::Read(name) => io(name, Activity::DataRead),
        Call::Write(name) => io(name, Activity::DataWrite),
        Call::Sync(name) => io(name, Activity::DataWrite),
        Call::Futex if !row.idle && row.activity.is_some() => {
            event(row.class, row.event, row.activity.unwrap_or(Activity::Other), background)
        }
        Call::Futex if !row.idle && stood => event("Mutex", row.event, Activity::Latch, background),
        Call::Futex => event("Wait", "futex", Activity::Other, background),
        Call::Other => event("Other", "syscall", Activity::Other, background),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

    use parking_lot::Mutex;
    use rustix::thread::gettid;

    use super::*;
    use crate::engine::EngineError;
    use dbdyno_core::sql::parse_blocks;

    /// Answers every question with these rows.
    struct Fixed(Rows);

    impl Session for Fixed {
        fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
            Ok(0)
        }
        fn query(&mut self, _: &str, _: &[i64]) -> Result<Rows, EngineError> {
            Ok(self.0.clone())
        }
    }

    fn open(blocks: &str, rows: &[[Option<&str>; 5]]) -> Option<Sessions> {
        let columns = ["id", "idle", "class", "event", "activity"].map(String::from).to_vec();
        let rows = rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.map(String::from)).collect())
            .collect();
        let blocks = parse_blocks("probes.sql", blocks).unwrap();
        Sessions::open(
            Box::new(Fixed(Rows { columns, rows })),
            &blocks.iter().collect::<Vec<_>>(),
            &[],
            SessionScope::Jobs,
        )
    }

    #[test]
    fn only_sessions_of_jobs_and_of_the_server_are_seen() {
        let rows = [
            [Some("7"), Some("0"), Some("IO"), Some("WALSync"), Some("log-sync")],
            [Some("8"), Some("0"), Some("IO"), Some("DataFileRead"), Some("data-read")],
            [Some("9"), Some("1"), Some("Client"), Some("ClientRead"), None],
            [None, Some("0"), Some("IO"), Some("DataFileWrite"), Some("data-write")],
        ];
        let mut sessions = open("-- name: sessions\n-- period: 0.05\nselect 1", &rows).unwrap();
        assert_eq!((sessions.period_s(), sessions.server_cpu_s()), (0.05, None));
        let sync = event("IO", "WALSync", Activity::LogSync, false);
        let write = event("IO", "DataFileWrite", Activity::DataWrite, true);
        assert_eq!(sessions.look(Some(&[7, 9])).unwrap(), [sync, SessionState::Idle, write]);
        assert_eq!(sessions.look(None).unwrap().len(), 4);
    }

    /// Answers as [`Fixed`], and counts how often it is asked.
    struct Counting(Rows, Arc<AtomicU32>);

    impl Session for Counting {
        fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
            Ok(0)
        }
        fn query(&mut self, _: &str, _: &[i64]) -> Result<Rows, EngineError> {
            self.1.fetch_add(1, Relaxed);
            Ok(self.0.clone())
        }
    }

    /// States that are seen of the jobs, and whether some look in many did without the server,
    /// where it tells of session 7, which this thread of ours serves, and of a writer of its own.
    fn seen_of_thread(thread: u32, keeps_thread: bool, jobs: &[u32]) -> (Vec<SessionState>, bool) {
        let columns = ["id", "idle", "class", "event", "activity", "thread", "keeps_thread"];
        let of = |cells: [&str; 7]| {
            cells.map(|cell| Some(cell.to_owned()).filter(|cell| !cell.is_empty())).to_vec()
        };
        let keeps = if keeps_thread { "1" } else { "0" };
        let rows = vec![
            of(["7", "0", "Stage", "sending", "", &thread.to_string(), keeps]),
            of(["", "0", "writer", "writes", "data-write", "", keeps]),
        ];
        let rows = Rows { columns: columns.map(String::from).to_vec(), rows };
        let asked = Arc::new(AtomicU32::new(0));
        let session = Box::new(Counting(rows, Arc::clone(&asked)));
        let blocks = parse_blocks("x.sql", "-- name: sessions\n-- period: 0.05\nselect 1").unwrap();
        let blocks: Vec<_> = blocks.iter().collect();
        let server = [std::process::id()];
        let mut sessions = Sessions::open(session, &blocks, &server, SessionScope::Jobs).unwrap();
        let mut look = || {
            let before = asked.load(Relaxed);
            let seen = sessions.look(Some(jobs)).unwrap();
            (seen, asked.load(Relaxed) == before)
        };
        let _first = look();
        let looks: Vec<_> = (0..100).map(|_| look()).collect();
        let unasked = looks.iter().find(|(_, unasked)| *unasked);
        let (seen, _) = unasked.unwrap_or(&looks[0]).clone();
        (seen, unasked.is_some())
    }

    #[test]
    fn the_server_is_not_asked_what_the_threads_of_all_jobs_tell() {
        let (works, end) = (AtomicBool::new(true), Mutex::new(()));
        let (tell, told) = std::sync::mpsc::channel();
        let own_number = || gettid().as_raw_nonzero().get() as u32;
        let held = end.lock();
        let [keeps, another_may, unknown_job, waits] = std::thread::scope(|scope| {
            let (works, end, own_number) = (&works, &end, &own_number);
            let (tell, tell_too) = (tell.clone(), tell.clone());
            scope.spawn(move || {
                tell.send(own_number()).unwrap();
                while works.load(Relaxed) {}
            });
            let working = told.recv().unwrap();
            scope.spawn(move || {
                tell_too.send(own_number()).unwrap();
                drop(end.lock());
            });
            let waiting = told.recv().unwrap();
            let stat = format!("/proc/self/task/{waiting}/stat");
            while state(&fs::read_to_string(&stat).unwrap()) != Some('S') {
                std::thread::yield_now();
            }
            let seen = [
                seen_of_thread(working, true, &[7]),
                seen_of_thread(working, false, &[7]),
                seen_of_thread(working, true, &[7, 8]),
                seen_of_thread(waiting, true, &[7]),
            ];
            works.store(false, Relaxed);
            drop(held);
            seen
        });
        let cpu = event("CPU", "CPU", Activity::Cpu, false);
        let writer = event("writer", "writes", Activity::DataWrite, true);
        assert_eq!(keeps, (vec![cpu, writer], true));
        assert!(!another_may.1, "the thread may serve another one now");
        assert!(!unknown_job.1, "nothing is known of 8");
        assert!(!waits.1, "what it waits for only the server knows");
    }

    #[test]
    fn an_engine_without_the_block_has_no_sessions() {
        assert!(open("-- name: version\nselect 1", &[]).is_none());
    }

    #[test]
    fn a_call_says_whether_a_stage_works_or_waits() {
        let row = |activity: Option<Activity>, idle: bool| Row {
            id: Some(1),
            idle,
            class: "Commit".into(),
            event: "Commit".into(),
            activity,
            thread: Some(1),
            keeps_thread: true,
            process: None,
        };
        let seen = |activity, idle, stood, number: libc::c_long, file: &'static str| {
            let call = Call::read(&format!("{number} 0x5 0x1")).unwrap();
            match with_call(row(activity, idle), call, stood, &|| file.to_string(), "ib_log") {
                SessionState::At(event) => Some(event.activity),
                SessionState::Idle => None,
            }
        };
        let (commit, futex) = (Some(Activity::LogSync), libc::SYS_futex);
        assert_eq!(seen(commit, false, true, futex, ""), commit);
        assert_eq!(seen(None, false, true, futex, ""), Some(Activity::Latch));
        // Whoever waits now may have done something else when the server was asked.
        assert_eq!(seen(None, false, false, futex, ""), Some(Activity::Other));
        let row_lock = Some(Activity::RowLock);
        assert_eq!(seen(row_lock, false, false, libc::SYS_ppoll, ""), row_lock);
        assert_eq!(seen(commit, true, true, futex, ""), Some(Activity::Other));
        assert_eq!(seen(None, false, false, libc::SYS_fdatasync, "ib_logfile0"), commit);
        assert_eq!(
            seen(commit, false, false, libc::SYS_pwrite64, "big.ibd"),
            Some(Activity::DataWrite)
        );
        assert_eq!(
            seen(None, false, false, libc::SYS_pread64, "big.ibd"),
            Some(Activity::DataRead)
        );
        assert_eq!(seen(None, false, false, libc::SYS_ppoll, ""), None);
        assert_eq!(Call::read("running\n"), Some(Call::None));
        assert_eq!(Call::read(WAITED), Some(Call::Unknown));
        assert_eq!(state("12 (a) R (b) D 1 2"), Some('D'));
        assert_eq!(Call::read("-1 0x7ffc 0x7f00"), Some(Call::Other));
    }
}
