//! Server processes: start in the background, stop, and recognise what a dead run left.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use procfs::process::Process;
use rustix::process::{Pid, Signal, kill_process};

use super::account::Account;
use super::home::unusable;
use crate::error::{Error, Result};

const LOG_FILE: &str = "server.log";
/// Statements stand in it.
const LOG_MODE: u32 = 0o600;
/// Lines of the log that an error shows.
const LOG_LINES_SHOWN: usize = 3;
/// Longest wait for an orderly stop, which may have to write the whole cache; then for a hard one.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const HARD_STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for the end of a process whose connections broke.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);
/// Of the environment, only this reaches a server: no PGDATA or PGPASSWORD of the user's.
const PASSED_ON: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "TZ"];

/// How a server is told to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct StopSignals {
    /// Ends connections, writes what must be written.
    pub orderly: Signal,
    /// At once; the next start recovers.
    pub hard: Signal,
}

/// A server that we started.
pub(super) struct Daemon {
    child: Child,
}

impl Daemon {
    /// Starts `command` with its output in the log of `home`.
    pub(super) fn spawn(mut command: Command, home: &Path, account: Option<&Account>) -> Result<Daemon> {
        prepare(&mut command, home, account)?;
        command.spawn().map(|child| Daemon { child }).map_err(|error| cannot_run(&command, &error))
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// How the process ended, waiting a moment for it: its connections break before it is gone. None if it lives.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + END_TIMEOUT;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL),
                status => return status.ok().flatten(),
            }
        }
    }

    /// Lets the process live on after our end.
    pub(super) fn release(self) {
        drop(self.child);
    }

    /// Stops the server: orderly, then hard, then by force.
    pub(super) fn stop(mut self, signals: StopSignals) -> Result<()> {
        let pid = self.pid();
        stop(pid, signals, || self.has_ended())
    }
}

/// Runs `command` to its end, output to the log, whose last lines are the error.
pub(super) fn run_to_end(mut command: Command, home: &Path, account: Option<&Account>) -> Result<()> {
    prepare(&mut command, home, account)?;
    let status = command.status().map_err(|error| cannot_run(&command, &error))?;
    if status.success() {
        return Ok(());
    }
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Error::target(program, format!("failed: {}", last_log_lines(home))))
}

/// Output to the log, a clean environment, the right user, and a process group of its own, so that Ctrl-C in the
/// terminal reaches only us: we stop it when we are done with it.
fn prepare(command: &mut Command, home: &Path, account: Option<&Account>) -> Result<()> {
    let path = home.join(LOG_FILE);
    let log = OpenOptions::new().create(true).append(true).mode(LOG_MODE).open(&path);
    let log: File = log.map_err(|error| unusable(&path, &error))?;
    let second = log.try_clone().map_err(|error| unusable(&path, &error))?;
    command.env_clear().env("LC_ALL", "C");
    command.envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.stdin(Stdio::null()).stdout(log).stderr(second).current_dir(home);
    command.process_group(0);
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
    Ok(())
}

fn cannot_run(command: &Command, error: &std::io::Error) -> Error {
    Error::target(command.get_program().to_string_lossy().into_owned(), format!("cannot be run ({error})"))
        .advise("name the directory of the server's programs with --server-bin")
}

/// The last lines of the server's log, as one: the last alone is often only "is shut down" or "contains errors".
pub(super) fn last_log_lines(home: &Path) -> String {
    let text = fs::read(home.join(LOG_FILE)).unwrap_or_default();
    tail_of(&String::from_utf8_lossy(&text))
}

/// The last lines that say something; only those of errors in a log that marks them as MariaDB does.
fn tail_of(log: &str) -> String {
    let is_error =
        |line: &&str| (line.contains("[ERROR]") || line.starts_with("ERROR: 1")) && !line.ends_with("Aborting");
    // PostgreSQL begins the further lines of a statement with a tab.
    let of_statement = |line: &&str| line.starts_with('\t') || line.contains("STATEMENT:");
    let says_something = |line: &&str| !line.is_empty() && !line.contains("HINT:");
    let marked = log.lines().any(|line| is_error(&line));
    let chosen = log.lines().filter(|line| if marked { is_error(line) } else { !of_statement(line) });
    let lines = chosen.map(without_stamp).filter(says_something).collect::<Vec<_>>();
    match lines.len().saturating_sub(LOG_LINES_SHOWN) {
        _ if lines.is_empty() => "it wrote no log".into(),
        skipped => lines[skipped..].join("; "),
    }
}

/// A line without `2026-01-31 12:00:00.000 UTC [1234] ` in front.
fn without_stamp(line: &str) -> &str {
    let stamped = line.split_once("] ").filter(|(stamp, _)| stamp.starts_with(|c: char| c.is_ascii_digit()));
    stamped.map_or(line, |(_, text)| text).trim()
}

/// True if `pid` is a living server program on this data directory: process ids are used again by others.
pub(super) fn is_server(pid: u32, program: &str, data: &Path) -> bool {
    let Some(process) = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok()) else { return false };
    let arguments = process.cmdline().unwrap_or_default();
    let has_program = arguments.first().is_some_and(|name| name.contains(program));
    let has_data = arguments.iter().any(|argument| data.to_str().is_some_and(|data| argument.contains(data)));
    has_program && has_data && is_alive(pid)
}

fn is_alive(pid: u32) -> bool {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    process.and_then(|process| process.stat().ok()).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

/// Stops a server that a dead run left.
pub(super) fn stop_orphan(pid: u32, signals: StopSignals) -> Result<()> {
    stop(pid, signals, || !is_alive(pid))
}

fn stop(pid: u32, signals: StopSignals, mut ended: impl FnMut() -> bool) -> Result<()> {
    let steps = [(signals.orderly, STOP_TIMEOUT), (signals.hard, HARD_STOP_TIMEOUT), (Signal::KILL, HARD_STOP_TIMEOUT)];
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    for (signal, timeout) in steps {
        if ended() {
            return Ok(());
        }
        // A process that ended in the meantime is what is wanted.
        let _ = target.map(|target| kill_process(target, signal));
        let deadline = Instant::now() + timeout;
        while Instant::now() < deadline {
            if ended() {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
    }
    Err(Error::target(format!("server process {pid}"), "does not end").advise("stop it by hand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_the_cause_and_no_time_stamps() {
        let log = "old\n2026-01-31 12:00:00.000 UTC [7] LOG:  invalid value for parameter \"x\"\n\
                   2026-01-31 12:00:00.000 UTC [7] HINT:  more\n2026-01-31 12:00:00.001 UTC [7] FATAL:  it has errors\n\
                   2026-01-31 12:00:00.001 UTC [7] STATEMENT:  select 1\n\tfrom t\n";
        assert_eq!(tail_of(log), "old; LOG:  invalid value for parameter \"x\"; FATAL:  it has errors");
        let log = "2026-01-31  6:00:00 0 [Note] InnoDB: x\n2026-01-31  6:00:00 0 [ERROR] unknown variable 'y=1'\n\
                   2026-01-31  6:00:00 0 [ERROR] Aborting\nPlease check all of the above\n";
        assert_eq!(tail_of(log), "unknown variable 'y=1'");
        assert_eq!(tail_of(""), "it wrote no log");
    }

    #[test]
    fn another_process_is_no_server() {
        assert!(!is_server(std::process::id(), "postgres", Path::new("/nowhere")));
    }
}
