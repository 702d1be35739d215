//! The client drive: the loop in our own process that every engine shares.
//!
//! An engine gives a [`ClientSession`] (prepared statements by number); [`drive`] does the rest:
//! gate, slices, clock, keys, branches, commits, errors. It is monomorphised per engine, and an op
//! allocates nothing here.

use super::stalls::Stalls;
use super::{
    AfterError, EngineError, ErrorClass, JobSpec, OpenSlice, Pacer, RowLoad, Slice, SliceReport,
    Timetable,
};
use dbdyno_core::model::{BoundStatement, Branch, Connects, Counters, JobCode, Tally};
use dbdyno_core::stats::LatencyHistogram;
use dbdyno_core::stats::keys::KeyStream;

mod clock;
mod open;
mod program;
mod visits;

use clock::Clock;
use program::Program;
use visits::Visits;

/// One job's connection with its statements prepared; statements are named by their position.
pub trait ClientSession {
    /// Begins a transaction.
    ///
    /// # Errors
    /// As [`ClientSession::run`].
    fn begin(&mut self) -> Result<(), EngineError>;
    /// Begins a transaction that only reads.
    ///
    /// # Errors
    /// As [`ClientSession::run`].
    fn begin_read(&mut self) -> Result<(), EngineError> {
        self.begin()
    }
    /// Commits it; returns when it is as durable as the settings say.
    ///
    /// # Errors
    /// As [`ClientSession::run`]; a serialization failure may only show here.
    fn commit(&mut self) -> Result<(), EngineError>;
    /// Ends any transaction, whatever state it is in; fine when there is none.
    ///
    /// # Errors
    /// If the session cannot be used any more.
    fn rollback(&mut self) -> Result<(), EngineError>;
    /// Runs prepared statement number `statement` with `binds` by position, reads every column of
    /// every row. Returns the rows fetched, or the rows changed by a statement that returns none.
    ///
    /// # Errors
    /// The engine's error with its class.
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError>;
    /// As [`ClientSession::run`], of a statement whose first column is a whole number; also the sum
    /// of that column.
    ///
    /// # Errors
    /// As [`ClientSession::run`]; class `Statement` where nobody adds it up.
    fn run_counting(
        &mut self,
        statement: usize,
        _binds: &[i64],
    ) -> Result<CountedRows, EngineError> {
        Err(EngineError::new(
            ErrorClass::Statement,
            format!("the rows of statement {statement} cannot be counted by their first column"),
        ))
    }
    /// Runs prepared statement number `statement`, the call of a routine of one op
    /// (`Routine::per_op`).
    ///
    /// # Errors
    /// As [`ClientSession::run`]; class `Statement` where there are no such routines.
    fn transaction(
        &mut self,
        statement: usize,
        _binds: &[i64],
    ) -> Result<Transaction, EngineError> {
        Err(EngineError::new(
            ErrorClass::Statement,
            format!("statement {statement} cannot be called as one transaction"),
        ))
    }
    /// Loads the rows by the engine's fastest path in one transaction, and commits.
    ///
    /// # Errors
    /// The engine's error with its class; the transaction is rolled back.
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError>;
    /// Opens the connection of an op that has one of its own.
    ///
    /// # Errors
    /// As [`ClientSession::run`]; class `Statement` where all ops have the same.
    fn connect(&mut self) -> Result<(), EngineError> {
        Err(EngineError::new(ErrorClass::Statement, "an op cannot open a connection of its own"))
    }
    /// Closes it; returns when the server has ended the session.
    fn disconnect(&mut self) {}
    /// Connections of ops that were closed since this was asked last.
    fn take_connects(&mut self) -> Connects {
        Connects::default()
    }
    /// Time to open this session, as far as its parts are known.
    fn connects(&self) -> Connects {
        Connects::default()
    }
    /// Login method and encryption of the session; none if there is nothing to log in to.
    fn login(&self) -> Option<String> {
        None
    }
    /// Called after every slice, outside its time: the place to fold counters of few bits before
    /// they wrap.
    fn end_slice(&mut self) {}
    /// The session's own cumulative counters; empty if the engine keeps none per session.
    fn counters(&mut self) -> Counters {
        Counters::default()
    }
}

/// Rows of a statement, and the sum of their first column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CountedRows {
    /// Number of rows that the statement returned or changed.
    pub rows: u64,
    /// Sum of the first column over the returned rows; 0 if there are none.
    pub hits: u64,
}

/// Result of a routine of one op; see `catalog/harness/<engine>.sql`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transaction {
    /// Rows that the op touched.
    pub rows: u64,
    /// Commits that the op waited for.
    pub commits: u64,
    /// State of the key generator after the op.
    pub seed: u64,
}

/// Runs a client-drive job, or a job of calls of one op each, to its end. `connect` opens the
/// session and prepares the statements, which are given in the order by which
/// [`ClientSession::run`] names them.
///
/// Errors are counted by the pacer (the tally's own `errors` stay empty). After a failed op the
/// session is rolled back and goes on with the next op if the pacer says so; a lost connection
/// always ends the job. What the broken slice did before is reported.
///
/// # Errors
/// The error that ended the job early; class `Statement` if the job's code is not client code or a
/// bind cannot be evaluated.
pub fn drive<S: ClientSession>(
    order: &JobSpec<'_>,
    pacer: &mut dyn Pacer,
    connect: impl FnOnce(&[&BoundStatement]) -> Result<S, EngineError>,
) -> Result<(), EngineError> {
    let work = Work::compile(order)?;
    run(work, connect(&statements(order.code))?, pacer)
}

/// As [`drive`], of a job whose ops may each open a connection of their own, which `connect` does;
/// a session ends when it is dropped.
///
/// # Errors
/// As [`drive`].
pub fn drive_connecting<S: ClientSession>(
    order: &JobSpec<'_>,
    pacer: &mut dyn Pacer,
    mut connect: impl FnMut(&[&BoundStatement]) -> Result<S, EngineError>,
) -> Result<(), EngineError> {
    let work = Work::compile(order)?;
    let statements = statements(order.code);
    if !matches!(order.code, JobCode::Client { connects: true, .. }) {
        return run(work, connect(&statements)?, pacer);
    }
    // What is wrong is known before the gate.
    pacer.logged_in(connect(&statements)?.login());
    run(work, Visits::new(|| connect(&statements)), pacer)
}

/// Gate and slices.
fn run<S: ClientSession>(
    work: Work<'_>,
    session: S,
    pacer: &mut dyn Pacer,
) -> Result<(), EngineError> {
    let mut job = Job::new(session, work);
    if !pacer.ready() {
        return Ok(());
    }
    job.timetable = pacer.timetable();
    if let Some(timetable) = &job.timetable {
        open::wake_on_time();
        job.by_phase.resize_with(timetable.due.phases(), LatencyHistogram::new);
    }
    let before = job.session.counters();
    let outcome = job.slices(pacer);
    if !matches!(&outcome, Err(error) if error.class == ErrorClass::Lost) {
        pacer.session_counters(job.session.counters().since(&before));
    }
    outcome
}

/// The statements of all branches, flat, in order.
fn statements(code: &JobCode) -> Vec<&BoundStatement> {
    match code {
        JobCode::Client { branches, .. } => {
            branches.iter().flat_map(|branch: &Branch| &branch.statements).collect()
        }
        JobCode::Routine(routine) => vec![&routine.call],
        JobCode::Bulk { .. } => Vec::new(),
    }
}

/// A histogram that need not grow within the loop for anything below a minute.
fn loop_histogram() -> LatencyHistogram {
    LatencyHistogram::up_to(60_000_000_000)
}

/// Work of one op.
enum Work<'a> {
    Steps(Program),
    Calls(Calls),
    Bulk(BatchIds<'a>),
}

impl<'a> Work<'a> {
    fn compile(order: &JobSpec<'a>) -> Result<Self, EngineError> {
        match order.code {
            JobCode::Client { branches, binds, shared_read, hits, connects } => {
                let mut program = Program::compile(order, branches, binds, *shared_read)?;
                (program.counts_hits, program.connects) = (*hits, *connects);
                Ok(Work::Steps(program))
            }
            JobCode::Bulk { table, batch } => Ok(Work::Bulk(BatchIds {
                table,
                rows: order.rows,
                batch: *batch,
                jobs: u64::from(order.jobs),
                next: u64::from(order.job.saturating_sub(1)),
            })),
            JobCode::Routine(routine) if routine.per_op => {
                Calls::compile(order, &routine.call).map(Work::Calls)
            }
            JobCode::Routine(routine) => Err(EngineError::new(
                ErrorClass::Statement,
                format!("routine {} cannot be run by the client drive", routine.name),
            )),
        }
    }
    fn shared_read(&self) -> bool {
        matches!(self, Work::Steps(program) if program.shared_read)
    }
}

/// Calls of a routine of one op, and the key generator that they share with us.
struct Calls {
    keys: KeyStream,
    args: Vec<i64>,
    /// Position of the seed in `args`, if the call has one.
    seed: Option<usize>,
}

impl Calls {
    fn compile(order: &JobSpec<'_>, call: &BoundStatement) -> Result<Self, EngineError> {
        let value = |name: &String| match name.as_str() {
            "job" => Ok(order.job.into()),
            "jobs" => Ok(order.jobs.into()),
            "seed" => Ok(0),
            other => Err(EngineError::new(
                ErrorClass::Statement,
                format!("the harness has no bind '{other}' per op"),
            )),
        };
        Ok(Calls {
            keys: KeyStream::for_job(order.seed, order.job),
            args: call.binds.iter().map(value).collect::<Result<_, _>>()?,
            seed: call.binds.iter().position(|name| name == "seed"),
        })
    }

    #[inline]
    fn op<S: ClientSession>(&mut self, session: &mut S) -> Result<OpRows, EngineError> {
        let state = self.keys.step();
        if let Some(seed) = self.seed {
            self.args[seed] = state as i64; // below 2^31
        }
        let done = session.transaction(0, &self.args)?;
        self.keys = KeyStream::from_state(done.seed);
        Ok(OpRows { rows: done.rows, commits: done.commits, hits: 0 })
    }
}

/// Deals batches of ids to jobs: batch n of job j is number `n * jobs + j - 1`, so that ids never
/// collide.
struct BatchIds<'a> {
    table: &'a str,
    rows: dbdyno_core::model::rows::RowFunction,
    batch: u64,
    jobs: u64,
    next: u64,
}

impl<'a> BatchIds<'a> {
    fn next(&mut self) -> RowLoad<'a> {
        let first = 1 + self.next * self.batch;
        self.next += self.jobs;
        RowLoad {
            table: self.table,
            rows: self.rows,
            ids: first..first + self.batch,
            note: None,
            in_database: None,
        }
    }
}

/// A job in its loop; the counts are those of the current slice.
struct Job<'a, S> {
    session: S,
    work: Work<'a>,
    latency: LatencyHistogram,
    ops: u64,
    /// Value of `ops` at the last failure.
    ops_at_error: u64,
    rows: u64,
    commits: u64,
    hits: u64,
    stalls: Stalls,
    /// Due times of an open loop, or of a user who thinks; all ops are timed then.
    timetable: Option<Timetable>,
    response: LatencyHistogram,
    /// Response times by the phase of a load over time in which the ops were due.
    by_phase: Vec<LatencyHistogram>,
    /// Time within ops, in ns.
    busy_ns: u64,
}

impl<'a, S: ClientSession> Job<'a, S> {
    fn new(session: S, work: Work<'a>) -> Self {
        let (ops, rows, commits, hits, busy_ns, stalls, timetable) = Default::default();
        let [latency, response] = [loop_histogram(), LatencyHistogram::new()];
        let ops_at_error = 0;
        Job {
            session,
            work,
            latency,
            ops,
            ops_at_error,
            rows,
            commits,
            hits,
            stalls,
            timetable,
            response,
            by_phase: Vec::new(),
            busy_ns,
        }
    }

    fn slices(&mut self, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        while let Some(slice) = pacer.next_slice() {
            (self.ops, self.rows, self.commits, self.hits, self.busy_ns) = Default::default();
            self.ops_at_error = 0;
            self.latency.clear();
            self.response.clear();
            self.by_phase.iter_mut().for_each(LatencyHistogram::clear);
            self.open_slice(pacer)?;
            let (elapsed_s, outcome) = self.slice(&slice, pacer);
            self.report(elapsed_s, pacer);
            self.session.end_slice();
            outcome?;
            self.close_slice(pacer)?;
        }
        Ok(())
    }

    /// Jobs of a closed loop are busy all the time.
    fn report(&mut self, elapsed_s: f64, pacer: &mut dyn Pacer) {
        let busy_s = if self.timetable.is_some() { self.busy_ns as f64 / 1e9 } else { elapsed_s };
        let tally = Tally {
            ops: self.ops,
            rows: self.rows,
            commits: self.commits,
            hits: self.hits,
            busy_s,
            thought_s: self.timetable.as_mut().map_or(0.0, |times| times.due.take_thought_s()),
            connects: self.session.take_connects(),
            ..Tally::default()
        };
        // Users who think are a closed loop.
        let open = self.timetable.as_ref().filter(|timetable| !timetable.due.thinks());
        let open = open.map(|timetable| OpenSlice {
            response: &self.response,
            by_phase: &self.by_phase,
            behind: timetable.due.behind(timetable.now_ns()),
        });
        let (latency, longest_ns) =
            (&self.latency, self.stalls.take_longest_ns(self.ops, elapsed_s));
        pacer.slice_done(&SliceReport { tally, elapsed_s, latency, longest_ns, open });
    }

    fn open_slice(&mut self, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        if !self.work.shared_read() {
            return Ok(());
        }
        self.session.begin_read().or_else(|error| self.recover(error, pacer))
    }

    fn close_slice(&mut self, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        if !self.work.shared_read() {
            return Ok(());
        }
        self.session.commit().or_else(|error| {
            self.session.rollback()?;
            verdict(error, pacer)
        })
    }

    /// Loops through one slice; returns its elapsed seconds and how it ended.
    fn slice(&mut self, slice: &Slice, pacer: &mut dyn Pacer) -> (f64, Result<(), EngineError>) {
        let clock = Clock::start();
        let outcome = if self.timetable.is_some() {
            self.ops_on_time(slice, pacer, &clock)
        } else {
            self.ops(slice, pacer, &clock)
        };
        match outcome {
            Ok(end_ns) => (end_ns as f64 / 1e9, Ok(())),
            Err(error) => (clock.ns() as f64 / 1e9, Err(error)),
        }
    }

    /// The loop. With stride 1 every op is timed by one clock read, chained: the end of an op is
    /// the start of the next. With a longer stride bursts of stride - 1 ops follow each timed one,
    /// and the clock is read around that one only. As in the routines of the database drive the
    /// first op is timed, and a burst is never longer than the rest of the slice allows at the mean
    /// op time seen so far. What a failed op and its recovery took is the time of no other op.
    /// Returns the end in ns.
    fn ops(
        &mut self,
        slice: &Slice,
        pacer: &mut dyn Pacer,
        clock: &Clock,
    ) -> Result<u64, EngineError> {
        let limit_ns = (slice.seconds * 1e9) as u64; // saturates: an endless slice is u64::MAX ns
        let untimed = u64::from(slice.stride.max(1) - 1);
        let mut start_ns = 0;
        while self.ops < slice.max_ops && start_ns < limit_ns {
            let result = self.op();
            let mut end_ns = clock.ns();
            match result {
                Ok(()) => self.latency.record_ns(end_ns - start_ns),
                Err(error) => {
                    self.recover(error, pacer)?;
                    end_ns = clock.ns();
                }
            }
            start_ns = end_ns;
            if untimed > 0 && end_ns < limit_ns {
                let before = self.ops;
                let left = (slice.max_ops - before).min(ops_until(limit_ns, before, end_ns));
                let all_succeeded = self.run_untimed(untimed.min(left), pacer)?;
                start_ns = clock.ns();
                if all_succeeded {
                    self.stalls.record_untimed(self.ops - before, start_ns - end_ns);
                }
            }
        }
        Ok(start_ns)
    }

    /// `count` ops without a clock; stops early after a failed one, so that failures cannot outrun
    /// the clock. True if none failed.
    fn run_untimed(&mut self, count: u64, pacer: &mut dyn Pacer) -> Result<bool, EngineError> {
        for _ in 0..count {
            if let Err(error) = self.op() {
                return self.recover(error, pacer).map(|()| false);
            }
        }
        Ok(true)
    }

    #[inline]
    fn op(&mut self) -> Result<(), EngineError> {
        let done = match &mut self.work {
            Work::Steps(program) => program.op(&mut self.session)?,
            Work::Calls(calls) => calls.op(&mut self.session)?,
            Work::Bulk(ids) => {
                let load = ids.next();
                self.session.load(&load)?;
                OpRows { rows: load.ids.end - load.ids.start, commits: 1, hits: 0 }
            }
        };
        self.ops += 1;
        self.rows += done.rows;
        self.commits += done.commits;
        self.hits += done.hits;
        Ok(())
    }

    /// After a failed op: the session is made usable again and the pacer asked.
    #[cold]
    fn recover(&mut self, error: EngineError, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        if error.class == ErrorClass::Lost {
            let _ = pacer.op_failed(&error); // counted; there is nothing left to go on with
            return Err(error);
        }
        if self.ops > self.ops_at_error {
            pacer.went_on();
        }
        self.ops_at_error = self.ops;
        let rolled_back = self.session.rollback();
        verdict(error, pacer)?;
        rolled_back?;
        if self.work.shared_read() { self.session.begin_read() } else { Ok(()) }
    }
}

fn verdict(error: EngineError, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
    match pacer.op_failed(&error) {
        AfterError::GoOn => Ok(()),
        AfterError::Stop => Err(error),
    }
}

/// Ops that end about when the limit is reached, if they go on as the first `ops` did, which took
/// `took_ns`.
fn ops_until(limit_ns: u64, ops: u64, took_ns: u64) -> u64 {
    let left_ns = limit_ns.saturating_sub(took_ns) as f64;
    1 + (left_ns * ops as f64 / took_ns.max(1) as f64) as u64 // saturates
}

/// Result of one op.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct OpRows {
    rows: u64,
    commits: u64,
    /// Rows found of those that were to be found.
    hits: u64,
}

#[cfg(test)]
mod tests;
