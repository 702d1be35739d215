//! Our times of the client drive beside those of another client with the same statements, and of
//! both drives beside those of the server's own clock, or of the kernel's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use dbdyno::engine::Session;
use dbdyno::error::Result;
use dbdyno::model::{Bind, Branch, Commit, Drive, JobCode, Selection};
use dbdyno::sql;
use dbdyno::stats::summary::median;

use super::agreement::{Agreement, Bound, Report, Subject, Witnessed};
use super::breakpoints::{self, Breakpoints, Call};
use super::cases::Case;
use super::lab::Lab;
use super::pgbench::Pgbench;
use super::{drive, failed, mariadb, postgres};

/// Both sides run with one session, in turns.
const JOBS: u32 = 1;
const SYSBENCH: &str = "sysbench";
const PGBENCH: &str = "pgbench --log";

const OTHER_CLIENT: &str = "pgbench's time is of its whole script: drawing the key, the answer as \
                            text, and its waiting for sockets with poll are in it";
const LUA_CLIENT: &str = "sysbench's time is of its whole event: the interpreter of its script and \
                          the copy of the rows that it keeps are in it";
const SERVER_CLIENT: &str =
    "the server's clock does not see messages on their way, their decoding and the client";
const SERVER_COMMIT: &str =
    "pg_stat_statements times the statement alone: the commit comes after it";
const SERVER_LOOP: &str = "active_time is of all sessions of the database: the setup, the creation \
                           of the routine and the calls around the loop are in it";

const FUNCTION_ALONE: &str = "perf times sqlite3_step alone, and interrupts it at its begin and \
                              end: the values of a statement, its reset and those interruptions \
                              are in our time";
/// Shorter ops, in microseconds, are not timed by breakpoints: those would take most of the time.
const MIN_BETWEEN_BREAKPOINTS_US: f64 = 50.0;
/// Calls beyond one for each op that setup and teardown may make in the job's session, or that may
/// not have been seen, as a fraction.
const CALLS_OF_SETUP: f64 = 0.01;

/// Length of a comparison of times.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    pub turns: usize,
    /// Of each turn.
    pub seconds: f64,
}

/// Clocks that are not ours.
pub enum Clocks {
    /// Those of a server, and another client.
    Server,
    /// The kernel's.
    Kernel(Breakpoints),
    /// None that can be had here.
    None,
}

impl Clocks {
    /// The clocks for an engine; it says why there is none.
    pub fn of(engine: &str) -> Clocks {
        if engine != "sqlite" {
            return Clocks::Server;
        }
        match Breakpoints::set() {
            Ok(breakpoints) => Clocks::Kernel(breakpoints),
            Err(error) => {
                eprintln!("{error}: times of SQLite have no witness");
                Clocks::None
            }
        }
    }
}

/// Microseconds of an op.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    mean: f64,
    p99: Option<f64>,
}

/// A turn of ours.
struct Turn {
    /// Of the window.
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
        Clocks::Server => beside_server(lab, case, drive, length),
        Clocks::Kernel(breakpoints) => beside_kernel(lab, case, drive, length, breakpoints),
        Clocks::None => Ok(Vec::new()),
    }
}

/// Beside the kernel's clock, which is attached to this program.
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
    add(report, &seen.whole, &seen.server, breakpoints::NAME, FUNCTION_ALONE);
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

/// Beside another client, and the server's clock.
fn beside_server(lab: &Lab, case: &Case, drive: Drive, length: Length) -> Result<Vec<Agreement>> {
    let Length { turns, seconds } = length;
    let selection = drive::workload(lab, case.id, drive, seconds)?;
    let client = drive::workload(lab, case.id, Drive::Client, seconds)?;
    let script = match drive {
        Drive::Client => Some(Script::new(lab, &client)).filter(Script::is_whole),
        Drive::Database => None,
    };
    let mut seen = Turns::default();
    for _ in 0..turns {
        let turn = our_turn(lab, case, &selection)?;
        seen.ours.push(turn.ours);
        seen.whole.push(turn.whole);
        seen.server.extend(turn.server);
        if let Some(script) = &script {
            seen.other.push(beside_setup(lab, &client, || script.run(lab, seconds))?);
        }
    }
    let subject = Subject { engine: lab.engine.name(), workload: case.id, drive };
    let mut agreements = Vec::new();
    let report = &mut Report { subject, agreements: &mut agreements };
    let is_postgres = lab.engine.name() == "postgres";
    let (who, reason) = if is_postgres { (PGBENCH, OTHER_CLIENT) } else { (SYSBENCH, LUA_CLIENT) };
    add(report, &seen.ours, &seen.other, who, reason);
    let (who, reason) = match (is_postgres, drive) {
        (true, Drive::Client) if case.change.is_some() => (postgres::STATEMENTS, SERVER_COMMIT),
        (true, Drive::Client) => (postgres::STATEMENTS, SERVER_CLIENT),
        (true, Drive::Database) => (postgres::ACTIVE, SERVER_LOOP),
        (false, _) => (mariadb::EVENTS, SERVER_CLIENT),
    };
    add(report, &seen.whole, &seen.server, who, reason);
    Ok(agreements)
}

fn add(
    report: &mut Report<'_>,
    ours: &[Times],
    theirs: &[Times],
    who: &'static str,
    reason: &'static str,
) {
    let means = |times: &[Times]| median(&times.iter().map(|one| one.mean).collect::<Vec<_>>());
    let p99s =
        |times: &[Times]| median(&times.iter().filter_map(|one| one.p99).collect::<Vec<_>>());
    let pairs = [("mean us", means(ours), means(theirs)), ("p99 us", p99s(ours), p99s(theirs))];
    for (figure, ours, theirs) in pairs {
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            report.add(figure, ours, Witnessed::new(who, theirs), Bound::Time(reason));
        }
    }
}

/// A test of ours, and what the server's clock says of its ops.
fn our_turn(lab: &Lab, case: &Case, selection: &Selection) -> Result<Turn> {
    let mut session = lab.database.session().map_err(|error| error.at("witness"))?;
    match lab.engine.name() {
        "postgres" => postgres::reset(session.as_mut())?,
        "mariadb" => mariadb::reset(session.as_mut())?,
        _ => {}
    }
    let before_ms = match (lab.engine.name(), selection.drive) {
        ("postgres", Drive::Database) => postgres::active_ms(session.as_mut())?,
        _ => 0.0,
    };
    let result = drive::test(lab, selection, JOBS, &mut |_| Default::default(), None)?;
    let mean = result.latency.mean_us.ok_or_else(|| failed(case.id, "has no mean"))?;
    let ours = Times { mean, p99: result.latency.p99_us };
    let ops = result.total.ops as f64;
    // The server counts from the beginning, the warm-up included.
    let whole = Times { mean: result.total.busy_s * 1e6 / ops, p99: ours.p99 };
    let (time_ms, p99) = match (lab.engine.name(), selection.drive) {
        ("postgres", Drive::Client) => {
            let seen = postgres::statements(session.as_mut(), postgres::own(case))?;
            (seen.time_ms, None)
        }
        ("postgres", Drive::Database) => (postgres::active_ms(session.as_mut())? - before_ms, None),
        _ => on_mariadb(session.as_mut(), result.total.ops)?,
    };
    let server = Times { mean: time_ms * 1e3 / ops, p99 };
    Ok(Turn { ours, whole, server: Some(server).filter(|server| server.mean > 0.0) })
}

/// Milliseconds of the statements of a test by MariaDB's timers, and the 99th percentile in
/// microseconds where an op is one execution.
fn on_mariadb(session: &mut dyn Session, ops: u64) -> Result<(f64, Option<f64>)> {
    let executed = mariadb::events(session, mariadb::EXECUTE)?;
    let mut time_ms = executed.time_ms;
    for kind in [mariadb::CALL, mariadb::BEGIN, mariadb::COMMIT] {
        time_ms += mariadb::events(session, kind)?.time_ms;
    }
    let p99 = match executed.count == ops {
        true => nearest_rank(&mariadb::executions_us(session)?, 0.99),
        false => None,
    };
    Ok((time_ms, p99))
}

/// The least of ascending values that at least this part of them does not exceed.
fn nearest_rank(ascending: &[f64], part: f64) -> Option<f64> {
    let rank = (ascending.len() as f64 * part).ceil() as usize;
    ascending.get(rank.checked_sub(1)?).copied()
}

/// Runs another client between the setup and the teardown of the workload.
fn beside_setup(
    lab: &Lab,
    selection: &Selection,
    run: impl FnOnce() -> Result<Times>,
) -> Result<Times> {
    let part = &selection.parts[0];
    let execute = |statements: &[String]| {
        let mut session = lab.database.session().map_err(|error| error.at("witness"))?;
        let run = |statement: &String| session.execute(&sql::bind_late(statement, JOBS)).map(drop);
        statements.iter().try_for_each(run).map_err(|error| error.at("witness"))
    };
    execute(&part.setup_sql())?;
    let done = run();
    execute(&part.teardown_sql())?;
    done
}

/// The client drive of a workload as a script of another client.
struct Script {
    branches: Vec<Branch>,
    /// Upper ends of the keys that are drawn, by the name of the bind; 1 for the job's number.
    keys: BTreeMap<String, u64>,
    binds: usize,
}

impl Script {
    fn new(lab: &Lab, selection: &Selection) -> Script {
        let (mut branches, mut keys, mut count) = (Vec::new(), BTreeMap::new(), 0);
        if let JobCode::Client { branches: all, binds, .. } = &selection.parts[0].code {
            branches.clone_from(all);
            count = binds.len();
            let facts = lab.loaded.facts_for(&[]);
            for (name, bind) in binds {
                let end = match bind {
                    Bind::Random(end) => end.eval(&facts).ok().map(|end| end as u64),
                    Bind::Job => Some(1),
                    _ => None,
                };
                keys.extend(end.map(|end| (name.clone(), end)));
            }
        }
        Script { branches, keys, binds: count }
    }

    /// True if the other clients can do all that it does.
    fn is_whole(&self) -> bool {
        !self.branches.is_empty()
            && self.keys.len() == self.binds
            && self.branches.iter().all(|branch| branch.times == 1)
    }

    fn run(&self, lab: &Lab, seconds: f64) -> Result<Times> {
        match lab.engine.name() {
            "postgres" => self.by_pgbench(lab, seconds),
            _ => self.by_sysbench(lab, seconds),
        }
    }

    fn by_pgbench(&self, lab: &Lab, seconds: f64) -> Result<Times> {
        let path = write(lab, "script.sql", &self.for_pgbench())?;
        let mut times_us = Pgbench::find(lab)?.times_us(&path, JOBS, seconds, &lab.directory)?;
        times_us.sort_by(f64::total_cmp);
        let mean = times_us.iter().sum::<f64>() / times_us.len() as f64;
        Ok(Times { mean, p99: nearest_rank(&times_us, 0.99) })
    }

    fn for_pgbench(&self) -> String {
        let marks: BTreeMap<&str, String> =
            self.keys.keys().map(|name| (name.as_str(), format!(":{name}"))).collect();
        let mut text: String = self
            .keys
            .iter()
            .map(|(name, end)| format!("\\set {name} random(1, {end})\n"))
            .collect();
        let is_mixed = self.branches.len() > 1;
        if is_mixed {
            text.push_str("\\set draw random(0, 99)\n");
        }
        for (number, branch) in self.branches.iter().enumerate() {
            if is_mixed {
                let word = if number == 0 { "if" } else { "elif" };
                text.push_str(&format!("\\{word} :draw < {}\n", branch.upto));
            }
            let mut lines: Vec<String> =
                branch.statements.iter().map(|one| one.with_values(|name| &marks[name])).collect();
            if branch.commit == Commit::Block {
                lines.insert(0, "begin".into());
                lines.push("commit".into());
            }
            text.extend(lines.iter().map(|line| format!("{line};\n")));
        }
        if is_mixed {
            text.push_str("\\endif\n");
        }
        text
    }

    fn by_sysbench(&self, lab: &Lab, seconds: f64) -> Result<Times> {
        let path = write(lab, "script.lua", &self.for_sysbench())?;
        let url = &lab.url;
        let socket = url.split_once("socket=").and_then(|(_, rest)| rest.split('&').next());
        let socket = socket.ok_or_else(|| failed(SYSBENCH, "the server has no socket"))?;
        let mut command = Command::new(SYSBENCH);
        command.arg(path).args(["--db-driver=mysql", "--mysql-user=dbdyno", "--mysql-password="]);
        command.arg(format!("--mysql-socket={socket}")).arg("--mysql-db=dbdyno");
        command.args(["--percentile=99", "--rand-type=uniform"]);
        command.arg(format!("--threads={JOBS}")).arg(format!("--time={}", seconds.ceil()));
        let output = command.arg("run").output();
        let output =
            output.map_err(|error| failed(SYSBENCH, format!("cannot be run ({error})")))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("witness "));
        let figures: Vec<f64> = line
            .into_iter()
            .flat_map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()))
            .collect();
        match figures[..] {
            [mean, p99] if output.status.success() => Ok(Times { mean, p99: Some(p99) }),
            _ => Err(failed(SYSBENCH, text.lines().last().unwrap_or("failed").to_owned())),
        }
    }

    fn for_sysbench(&self) -> String {
        let (mut prepare, mut event) = (String::new(), String::new());
        for (number, branch) in self.branches.iter().enumerate() {
            let word = if number == 0 { "if" } else { "elseif" };
            event.push_str(&format!("  {word} draw < {} then\n", branch.upto));
            if branch.commit == Commit::Block {
                event.push_str("    connection:query(\"begin\")\n");
            }
            for (place, statement) in branch.statements.iter().enumerate() {
                let name = format!("s{number}_{place}");
                let text = statement.sql.replace(['\n', '\r'], " ").replace('"', "\\\"");
                prepare.push_str(&format!("  {name} = connection:prepare(\"{text}\")\n"));
                let mut binds = String::new();
                for (bind, of) in statement.binds.iter().enumerate() {
                    let bind = format!("{name}_{bind}");
                    prepare.push_str(&format!(
                        "  {bind} = {name}:bind_create(sysbench.sql.type.BIGINT)\n"
                    ));
                    event.push_str(&format!("    {bind}:set({of})\n"));
                    binds.push_str(&format!("{}{bind}", if binds.is_empty() { "" } else { ", " }));
                }
                if !binds.is_empty() {
                    prepare.push_str(&format!("  {name}:bind_param({binds})\n"));
                }
                event.push_str(&format!("    {name}:execute()\n"));
            }
            if branch.commit == Commit::Block {
                event.push_str("    connection:query(\"commit\")\n");
            }
        }
        let keys: String = self
            .keys
            .iter()
            .map(|(name, end)| format!("  local {name} = sysbench.rand.uniform(1, {end})\n"))
            .collect();
        format!(
            "function thread_init()\n  connection = \
             sysbench.sql.driver():connect()\n{prepare}end\nfunction thread_done()\n  \
             connection:disconnect()\nend\nfunction event()\n{keys}  local draw = \
             sysbench.rand.uniform(0, 99)\n{event}  end\nend\nfunction \
             sysbench.hooks.report_cumulative(stat)\n  print(string.format(\"witness %.4f %.4f\", \
             stat.latency_avg * 1e6, stat.latency_pct * 1e6))\nend\n"
        )
    }
}

/// A file for another client, which goes with the directory of the lab.
fn write(lab: &Lab, name: &str, text: &str) -> Result<PathBuf> {
    let path = lab.directory.join(name);
    std::fs::write(&path, text)
        .map_err(|error| failed(&path.display().to_string(), error.to_string()))?;
    Ok(path)
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
