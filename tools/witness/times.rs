//! Our times of the client drive beside those of another client with the same statements, and of
//! both drives beside those of the server's own clock, or of the kernel's.

use dbdyno::error::Result;
use dbdyno::model::{Drive, Selection, TestResult};
use dbdyno::stats::summary::median;

use super::agreement::{Agreement, Bound, Report, Subject, Witnessed};
use super::breakpoints::{self, Breakpoints, Call};
use super::cases::Case;
use super::lab::Lab;
use super::script::Script;
use super::{drive, failed};

/// Both sides run with one session, in turns.
pub const JOBS: u32 = 1;

const FUNCTION_ALONE: TimeWitness = TimeWitness {
    name: breakpoints::NAME,
    reason: "perf times sqlite3_step alone, and interrupts it at its begin and end: the values of \
             a statement, its reset and those interruptions are in our time",
};
/// Shorter ops, in microseconds, are not timed by breakpoints: those would take most of the time.
const MIN_BETWEEN_BREAKPOINTS_US: f64 = 50.0;
/// Calls beyond one for each op that setup and teardown may make in the job's session, or that may
/// not have been seen, as a fraction.
const CALLS_OF_SETUP: f64 = 0.01;

/// Length of a comparison of times.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    pub turns: usize,
    /// Length of each turn.
    pub seconds: f64,
}

/// Clocks that are not ours.
pub enum Clocks {
    /// A server with its own times, and another client.
    Server(&'static dyn TimedServer),
    /// The kernel's.
    Kernel(Breakpoints),
    /// None that can be had here.
    None,
}

impl Clocks {
    /// The kernel's, for SQLite; it says why there is none.
    pub fn of_kernel() -> Clocks {
        match Breakpoints::set() {
            Ok(breakpoints) => Clocks::Kernel(breakpoints),
            Err(error) => {
                eprintln!("{error}: times of SQLite have no witness");
                Clocks::None
            }
        }
    }
}

/// A server that times statements itself, and for which there is another client that runs scripts.
pub trait TimedServer {
    /// Runs a test, and adds up the time of its statements by the server's own clock.
    fn time(&self, test: &TimedTest<'_>) -> Result<ServerTimed>;
    /// The server's clock in such a test.
    fn clock(&self, case: &Case, drive: Drive) -> TimeWitness;
    /// The other client.
    fn client(&self) -> TimeWitness;
    /// Runs a script by the other client.
    fn run_script(&self, lab: &Lab, script: &Script, seconds: f64) -> Result<Times>;
}

/// Program or server that times our ops, too.
#[derive(Debug, Clone, Copy)]
pub struct TimeWitness {
    pub name: &'static str,
    /// Difference between its times and ours: what is in those of one only.
    pub reason: &'static str,
}

/// A test that a server times, too.
pub struct TimedTest<'a> {
    pub lab: &'a Lab,
    pub case: &'a Case,
    selection: &'a Selection,
}

impl TimedTest<'_> {
    /// The drive that it really has.
    pub fn drive(&self) -> Drive {
        self.selection.drive
    }

    /// Runs it.
    pub fn run(&self) -> Result<Box<TestResult>> {
        drive::test(self.lab, self.selection, JOBS, &mut |_| Default::default(), None)
    }
}

/// A test of ours with the server's times of the whole of it.
pub struct ServerTimed {
    pub result: Box<TestResult>,
    /// Time of all its statements.
    pub time_ms: f64,
    /// 99th percentile of its ops; absent if the server does not time them one by one.
    pub p99_us: Option<f64>,
}

/// Microseconds of an op.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub mean: f64,
    pub p99: Option<f64>,
}

/// A turn of ours.
struct Turn {
    /// Our times of the window.
    ours: Times,
    /// With the mean of the whole test.
    whole: Times,
    /// The server's of the whole test.
    server: Option<Times>,
}

/// Results of all turns, and those of the other client.
#[derive(Default)]
struct Turns {
    ours: Vec<Times>,
    whole: Vec<Times>,
    server: Vec<Times>,
    other: Vec<Times>,
}

/// Runs a case in a drive, in turns, beside its witnesses.
pub fn agreements(
    lab: &Lab,
    case: &Case,
    drive: Drive,
    length: Length,
    clocks: &Clocks,
) -> Result<Vec<Agreement>> {
    match clocks {
        Clocks::Server(server) => beside_server(lab, case, drive, length, *server),
        Clocks::Kernel(breakpoints) => beside_kernel(lab, case, drive, length, breakpoints),
        Clocks::None => Ok(Vec::new()),
    }
}

/// Compares with the kernel's clock, which is attached to this program.
fn beside_kernel(
    lab: &Lab,
    case: &Case,
    drive: Drive,
    length: Length,
    breakpoints: &Breakpoints,
) -> Result<Vec<Agreement>> {
    let selection = drive::workload(lab, case.id, drive, length.seconds)?;
    let mut seen = Turns::default();
    for _ in 0..length.turns {
        let recording = breakpoints.record(lab.directory.join("calls-of-functions"))?;
        let result = drive::test(lab, &selection, JOBS, &mut |_| Default::default(), None);
        let calls = recording.end();
        let result = result?;
        let ops = result.total.ops;
        let mean = result.total.busy_s * 1e6 / ops as f64;
        if mean < MIN_BETWEEN_BREAKPOINTS_US {
            eprintln!("{}: an op of {mean:.1} us is too short for breakpoints", case.id);
            return Ok(Vec::new());
        }
        seen.whole.push(Times { mean, p99: result.latency.p99_us });
        seen.server.push(of_calls(&calls?, ops)?);
    }
    let subject = Subject { engine: lab.engine.name(), workload: case.id, drive: selection.drive };
    let mut agreements = Vec::new();
    let report = &mut Report { subject, agreements: &mut agreements };
    add(report, &seen.whole, &seen.server, FUNCTION_ALONE);
    Ok(agreements)
}

/// Times of ops by the calls of a function; the 99th percentile where an op is one call.
///
/// # Errors
/// If there are fewer calls than ops, which make one each: then not all of them were seen.
fn of_calls(calls: &[Call], ops: u64) -> Result<Times> {
    if (calls.len() as f64) < ops as f64 * (1.0 - CALLS_OF_SETUP) {
        let what = format!("saw {} calls of {ops} ops", calls.len());
        return Err(failed(breakpoints::NAME, what));
    }
    let mut times_us: Vec<f64> = calls.iter().map(Call::elapsed_us).collect();
    times_us.sort_by(f64::total_cmp);
    let beyond = (calls.len() as f64 - ops as f64).abs() / ops as f64;
    let p99 = if beyond <= CALLS_OF_SETUP { nearest_rank(&times_us, 0.99) } else { None };
    Ok(Times { mean: times_us.iter().sum::<f64>() / ops as f64, p99 })
}

/// Compares with another client and the server's clock.
fn beside_server(
    lab: &Lab,
    case: &Case,
    drive: Drive,
    length: Length,
    server: &dyn TimedServer,
) -> Result<Vec<Agreement>> {
    let Length { turns, seconds } = length;
    let selection = drive::workload(lab, case.id, drive, seconds)?;
    let client = drive::workload(lab, case.id, Drive::Client, seconds)?;
    let script = match drive {
        Drive::Client => Some(Script::new(lab, &client)).filter(Script::is_whole),
        Drive::Database => None,
    };
    let test = TimedTest { lab, case, selection: &selection };
    let mut seen = Turns::default();
    for _ in 0..turns {
        let turn = run_turn(server, &test)?;
        seen.ours.push(turn.ours);
        seen.whole.push(turn.whole);
        seen.server.extend(turn.server);
        if let Some(script) = &script {
            let run = || server.run_script(lab, script, seconds);
            seen.other.push(drive::run_beside_setup(lab, &client, JOBS, run)?);
        }
    }
    let subject = Subject { engine: lab.engine.name(), workload: case.id, drive };
    let mut agreements = Vec::new();
    let report = &mut Report { subject, agreements: &mut agreements };
    add(report, &seen.ours, &seen.other, server.client());
    add(report, &seen.whole, &seen.server, server.clock(case, drive));
    Ok(agreements)
}

/// Adds the medians of all turns.
fn add(report: &mut Report<'_>, ours: &[Times], theirs: &[Times], witness: TimeWitness) {
    let means = |times: &[Times]| median(&times.iter().map(|one| one.mean).collect::<Vec<_>>());
    let p99s =
        |times: &[Times]| median(&times.iter().filter_map(|one| one.p99).collect::<Vec<_>>());
    let pairs = [("mean us", means(ours), means(theirs)), ("p99 us", p99s(ours), p99s(theirs))];
    for (figure, ours, theirs) in pairs {
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let theirs = Witnessed::new(witness.name, theirs);
            report.add(figure, ours, theirs, Bound::Time(witness.reason));
        }
    }
}

/// A test of ours, and what the server's clock says of its ops.
fn run_turn(server: &dyn TimedServer, test: &TimedTest<'_>) -> Result<Turn> {
    let ServerTimed { result, time_ms, p99_us } = server.time(test)?;
    let mean = result.latency.mean_us.ok_or_else(|| failed(test.case.id, "has no mean"))?;
    let ours = Times { mean, p99: result.latency.p99_us };
    let ops = result.total.ops as f64;
    // The server counts from the beginning, the warm-up included.
    let whole = Times { mean: result.total.busy_s * 1e6 / ops, p99: ours.p99 };
    let server = Times { mean: time_ms * 1e3 / ops, p99: p99_us };
    Ok(Turn { ours, whole, server: Some(server).filter(|server| server.mean > 0.0) })
}

/// The least of ascending values that at least this part of them does not exceed.
pub fn nearest_rank(ascending: &[f64], part: f64) -> Option<f64> {
    let rank = (ascending.len() as f64 * part).ceil() as usize;
    ascending.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_whose_calls_were_not_seen_are_no_times() {
        let call = |at_us: u64| Call { begin_ns: 1000 * at_us, end_ns: 1000 * at_us + 2000 };
        let calls: Vec<Call> = (0..100).map(call).collect();
        let times = of_calls(&calls, 100).unwrap();
        assert_eq!((times.mean, times.p99), (2.0, Some(2.0)));
        let several = of_calls(&calls, 50).unwrap();
        assert_eq!((several.mean, several.p99), (4.0, None), "two calls an op");
        let error = of_calls(&calls, 400).unwrap_err().to_string();
        assert!(error.contains("saw 100 calls of 400 ops"), "{error}");
    }
}
