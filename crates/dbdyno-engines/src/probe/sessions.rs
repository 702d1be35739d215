//! Samples of the sessions of a database: the catalog's block `sessions`, and, for servers whose
//! sessions are threads of this host, the state of each thread by the operating system.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use kernel_call::{Call, file_name, read_call, state_by_call};
use row::{Row, read_rows};

use super::server_statistics::{Profiles, Reading};
use super::sql::{OWN_COUNTS, OwnCounts, take};
use super::thread_times::{Serving, ThreadTimes, scheduled_s};
use crate::engine::{Rows, Session};
use dbdyno_core::model::{Counters, SessionState, ThreadTime};
use dbdyno_core::sql::{Block, statement};

mod kernel_call;
mod row;

/// Block of a query with a row for each session of ours and each process of the server that is at
/// work. Its columns:
/// - `id`: number of the session; null for a process of the server itself
/// - `idle`: 1 if it waits for its client
/// - `class`, `event`: the engine's words
/// - `activity`: a name of `Activity`; null if the engine does not tell whether it works or waits
/// - `thread`: the thread of the operating system that serves it, where there is one: what it does
///   there decides
/// - `keeps_thread`: 1 if that thread serves it as long as it lives
/// - `process`: the process that serves it, where it has one of its own: only its times are asked
///   for
///
/// `-- period: 0.105` is the time between two samples in seconds, `-- log-file: ib_log` the prefix
/// of the names of the log's files.
const SESSIONS: &str = "sessions";
/// The same for users with fewer rights; it is used if the other block fails.
const RESTRICTED: &str = "sessions.less";
/// Block of one number: the thread or process of the session that asks.
const OWN: &str = "sessions.own";
/// Block of lines about facts that this user cannot see; nulls are left out.
const MISSING: &str = "sessions.missing";

/// Maximum age of the server's answer, also if the threads decide all states: a session may have
/// ended, and threads do not show the work of the server itself.
const MAX_ANSWER_AGE: Duration = Duration::from_secs(1);

/// Scope of the sampled sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionScope {
    /// Sessions of our jobs.
    Jobs,
    /// Sessions of everybody else.
    All,
}

impl SessionScope {
    /// Names of the blocks of all columns, of those for users with fewer rights, and of missing
    /// facts.
    fn blocks(self) -> [&'static str; 3] {
        match self {
            SessionScope::Jobs => [SESSIONS, RESTRICTED, MISSING],
            SessionScope::All => ["sessions.all", "sessions.all.less", "sessions.all.missing"],
        }
    }
}

/// Sampler of the sessions of a database, on a session of its own.
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
    /// Rows of the sampled sessions.
    rows: Vec<Row>,
}

impl Sessions {
    /// True if the engine has sessions that can be sampled.
    pub fn can_be_sampled(blocks: &[&Block]) -> bool {
        blocks.iter().any(|block| block.name == SESSIONS)
    }

    /// A sampler over the blocks of an engine; none if it has no sessions that can be sampled.
    /// `server_pids` are those of a server on this host.
    pub fn open(
        mut session: Box<dyn Session>,
        blocks: &[&Block],
        server_pids: &[u32],
        scope: SessionScope,
    ) -> Option<Sessions> {
        let find = |name: &str| blocks.iter().find(|block| block.name == name).copied();
        let [full, restricted, missing] = scope.blocks();
        let (block, refused) = choose_permitted(session.as_mut(), find(full)?, find(restricted));
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

    /// Seconds between two samples.
    pub fn period_s(&self) -> f64 {
        self.period_s
    }

    /// Facts that cannot be observed.
    pub fn missing(&self) -> Vec<String> {
        self.missing.clone()
    }

    /// CPU time of the sampler's session in the server, in seconds, if the kernel reports it.
    pub fn server_cpu_s(&self) -> Option<f64> {
        scheduled_s(self.own_thread?)
    }

    /// State of each session now, of `jobs` if they are given, and of each server process at work.
    /// The server is only asked if the threads of these sessions do not decide all states.
    ///
    /// # Errors
    /// The server's, as one line.
    pub fn states(&mut self, jobs: Option<&[u32]>) -> Result<Vec<SessionState>, String> {
        let rows = self.answer.iter().flat_map(|answer| &answer.rows);
        let threads = rows.filter_map(|row| row.thread);
        let before: HashMap<u32, String> =
            threads.filter_map(|thread| Some((thread, self.call(thread)?))).collect();
        if let Some(states) = jobs.and_then(|jobs| self.states_by_threads(jobs, &before)) {
            return Ok(states);
        }
        let asked_at = Instant::now();
        let rows = self.session.query_again(&self.sql).map_err(|error| error.to_string())?;
        let jobs: Option<HashSet<u32>> = jobs.map(|jobs| jobs.iter().copied().collect());
        let wanted =
            |row: &Row| jobs.as_ref().is_none_or(|jobs| row.id.is_none_or(|id| jobs.contains(&id)));
        let rows: Vec<Row> = read_rows(&rows).filter(wanted).collect();
        self.serving = rows.iter().filter_map(Row::serving).collect();
        let states = rows.iter().map(|row| self.combine(row.clone(), &before)).collect();
        self.answer = Some(Answer { asked_at, rows });
        Ok(states)
    }

    /// The states by the calls of the threads of `jobs`, if they decide all of them and the
    /// server's last answer is recent enough for the sessions of the server itself.
    fn states_by_threads(
        &self,
        jobs: &[u32],
        threads: &HashMap<u32, String>,
    ) -> Option<Vec<SessionState>> {
        let lately = |answer: &&Answer| answer.asked_at.elapsed() < MAX_ANSWER_AGE;
        let rows = &self.answer.as_ref().filter(lately)?.rows;
        let known: HashSet<u32> = rows.iter().filter_map(|row| row.id).collect();
        let are_known = jobs.iter().all(|id| known.contains(id));
        let states = rows.iter().map(|row| self.state_by_thread(row, threads));
        if are_known { states.collect() } else { None }
    }

    /// The state of a session by the call of its thread, if that decides it; that of a process of
    /// the server itself by the server's last answer.
    fn state_by_thread(&self, row: &Row, threads: &HashMap<u32, String>) -> Option<SessionState> {
        if row.id.is_none() {
            return Some(row.reported_state());
        }
        let text = threads.get(&row.thread.filter(|_| row.keeps_thread)?)?;
        let call = Call::parse(text).filter(|call| call.is_conclusive())?;
        let file = || self.file(text).unwrap_or_default();
        // What it waited for when the server was asked is over.
        let row = Row { activity: None, ..row.clone() };
        Some(state_by_call(row, call, false, &file, &self.log_file))
    }

    /// Counts of the kernel so far for the sessions of the last sample; for only a part of them if
    /// there are many.
    pub fn times(&mut self) -> Vec<ThreadTime> {
        self.times.read(&self.serving)
    }

    /// Combines a row with the state of its thread before the server was asked, which is the one
    /// that counts: the question itself takes processors from the jobs, and while it is answered
    /// their reads end.
    fn combine(&self, row: Row, before: &HashMap<u32, String>) -> SessionState {
        let at_begin = row.thread.and_then(|thread| before.get(&thread).cloned());
        let now = || row.thread.and_then(|thread| self.call(thread));
        let Some((call, text)) =
            at_begin.clone().or_else(now).and_then(|text| Some((Call::parse(&text)?, text)))
        else {
            return row.reported_state();
        };
        // The same call with the same arguments: the thread stood in it while the server was asked.
        let stood = call == Call::Futex && at_begin.is_some() && now() == at_begin;
        let file = || self.file(&text).unwrap_or_default();
        state_by_call(row, call, stood, &file, &self.log_file)
    }

    fn call(&self, thread: u32) -> Option<String> {
        read_call(self.server?, thread)
    }

    fn file(&self, call: &str) -> Option<String> {
        file_name(self.server?, call)
    }
}

/// The block that this user may run, and the reason if it is the restricted one.
fn choose_permitted<'a>(
    session: &mut dyn Session,
    full: &'a Block,
    restricted: Option<&'a Block>,
) -> (&'a Block, Option<String>) {
    match (session.query(statement(&full.text), &[]), restricted) {
        (Err(error), Some(less)) => {
            (less, Some(format!("{}: {error}", less.doc.replace('\n', " "))))
        }
        _ => (full, None),
    }
}

#[cfg(test)]
mod tests;
