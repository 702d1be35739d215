//! Server processes: start in the background, stop, and recognise what a dead run left.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use procfs::process::Process;
use rustix::process::{Gid, Pid, Signal, Uid, kill_process_group};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use super::faults::{send_signal, wake};
use super::{Place, unusable};
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_engines::host::{self, Account, is_root};

const LOG_FILE: &str = "server.log";
/// Statements stand in it.
const LOG_MODE: u32 = 0o600;
/// Bytes at the end of the log in which an error is looked for: the log of a server that is kept is
/// as long as it has run.
const LOG_END_BYTES: u64 = 256 * 1024;
/// Lines of the log that an error shows.
const LOG_LINES_SHOWN: usize = 3;
/// Longest wait for an orderly stop, which may have to write the whole cache; then for a hard one.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const HARD_STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest wait for the end of a process whose connections broke, or of a program that was told to
/// end.
const END_TIMEOUT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);
/// Interval between two looks at all processes.
const GROUP_POLL: Duration = Duration::from_millis(50);
/// Program that copies the files of a new database from a template.
pub(super) const COPY_PROGRAM: &str = "cp";
/// Programs that run scripts.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ash", "ksh"];
/// Variables of the environment that reach a server: no PGDATA or PGPASSWORD of the user's.
const PASSED_ON: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "TZ"];

/// Signals that stop a server.
#[derive(Debug, Clone, Copy)]
pub(super) struct StopSignals {
    /// Ends connections, writes what must be written.
    pub orderly: Signal,
    /// At once; the next start recovers.
    pub hard: Signal,
}

impl StopSignals {
    /// Signals that use the hard one from the start, for a server whose files nobody needs.
    pub(super) fn at_once(self) -> StopSignals {
        StopSignals { orderly: self.hard, ..self }
    }
}

/// A server that we started.
pub(super) struct Daemon {
    child: Child,
}

impl Daemon {
    /// Starts `command` with its output in the log of `home`.
    pub(super) fn spawn(
        mut command: Command,
        home: &Path,
        account: Option<&Account>,
    ) -> Result<Daemon> {
        prepare(&mut command, home, account)?;
        command.spawn().map(|child| Daemon { child }).map_err(|error| cannot_run(&command, &error))
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Exit status of the process, after a short wait for it: its connections break before it is
    /// gone. None if it lives.
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

    /// Stops the server: orderly, unless the interrupt is set, then hard, then by force.
    pub(super) fn stop(mut self, signals: StopSignals, interrupt: &AtomicBool) -> Result<()> {
        let pid = self.pid();
        stop(signals, interrupt, || if self.has_ended() { Vec::new() } else { vec![pid] })
    }
}

/// Runs `command` to its end, output to the log, whose last lines are the error.
pub(super) fn run_to_end(command: Command, home: &Path, account: Option<&Account>) -> Result<()> {
    run_interruptible(command, home, account, &AtomicBool::new(false))
}

/// As [`run_to_end`]; an interrupt ends the program with all that it has started.
pub(super) fn run_interruptible(
    mut command: Command,
    home: &Path,
    account: Option<&Account>,
    interrupt: &AtomicBool,
) -> Result<()> {
    prepare(&mut command, home, account)?;
    let mut child = command.spawn().map_err(|error| cannot_run(&command, &error))?;
    let status = loop {
        match child.try_wait().map_err(|error| cannot_run(&command, &error))? {
            Some(status) => break status,
            None if interrupt.load(Ordering::SeqCst) => {
                end_group(&mut child);
                return Err(interrupt_error(home));
            }
            None => std::thread::sleep(POLL),
        }
    };
    if status.success() {
        return Ok(());
    }
    let program = command.get_program().to_string_lossy().into_owned();
    Err(Error::target(program, format!("failed: {}", last_log_lines(home))))
}

/// The error of an interrupt before the server in `home` is up.
pub(super) fn interrupt_error(home: &Path) -> Error {
    let what = "interrupted before the private server was up";
    Error::new(Kind::Interrupted, home.display().to_string(), what)
}

/// Ends a program that leads a process group. It alone is told first: it clears up what it has
/// begun, and what it has started may end in good order, without leaving shared memory. What is
/// left of the group is killed.
fn end_group(child: &mut Child) {
    let group = Pid::from_child(child);
    send_signal(child.id(), Signal::TERM);
    if !has_ended_within(group, END_TIMEOUT) {
        // All may have ended just now.
        let _ = kill_process_group(group, Signal::KILL);
        has_ended_within(group, HARD_STOP_TIMEOUT);
    }
    // Its number is that of the group as long as nobody has asked how it ended.
    let _ = child.wait();
}

/// True as soon as nothing of a process group runs any more; false if something still does after
/// this time.
fn has_ended_within(group: Pid, timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    while is_any_alive(group) {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(GROUP_POLL);
    }
    true
}

/// True if a process of the group runs. One that has ended keeps its place until its parent has
/// asked how.
fn is_any_alive(group: Pid) -> bool {
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let mut states = all.filter_map(|process| process.stat().ok());
    states.any(|stat| Pid::from_raw(stat.pgrp) == Some(group) && !matches!(stat.state, 'Z' | 'X'))
}

/// Copies the files of a database as the user who owns the server of `place`. Space that a log has
/// reserved is reserved in the copy: a server on a full disk needs it. An interrupt ends it.
pub(super) fn copy_files(
    from: &Path,
    to: &Path,
    place: &Place,
    interrupt: &AtomicBool,
) -> Result<()> {
    let mut command = Command::new(COPY_PROGRAM);
    // The word before the directory tells the next run whose program this is, if ours is killed.
    command.arg("-a").arg("-t").arg(to).arg(from.join("."));
    run_interruptible(command, &place.home, place.account.as_ref(), interrupt)
}

/// Output to the log, a clean environment, the right user, and a process group of its own, so that
/// Ctrl-C in the terminal reaches only us: we stop it when we are done with it.
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
    Error::target(
        command.get_program().to_string_lossy().into_owned(),
        format!("cannot be run ({error})"),
    )
    .advise("name the directory of the server's programs with --server-bin")
}

/// Path of the log of a server in `home`.
pub(super) fn log_path(home: &Path) -> std::path::PathBuf {
    home.join(LOG_FILE)
}

/// The last lines of the server's log, as one: the last alone is often only "is shut down" or
/// "contains errors".
pub(super) fn last_log_lines(home: &Path) -> String {
    let text = end_of(&home.join(LOG_FILE), LOG_END_BYTES).unwrap_or_default();
    tail_of(&String::from_utf8_lossy(&text))
}

/// The whole lines among so many bytes at the end of a file.
fn end_of(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(most_bytes);
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(most_bytes).read_to_end(&mut text)?;
    if from > 0 {
        let first_end = text.iter().position(|byte| *byte == b'\n');
        text.drain(..first_end.map_or(text.len(), |end| end + 1));
    }
    Ok(text)
}

/// The last lines that say something; only those of errors in a log that marks them as MariaDB
/// does.
fn tail_of(log: &str) -> String {
    let is_error = |line: &&str| {
        (line.contains("[ERROR]") || line.starts_with("ERROR: 1")) && !line.ends_with("Aborting")
    };
    // PostgreSQL begins the further lines of a statement with a tab.
    let of_statement = |line: &&str| line.starts_with('\t') || line.contains("STATEMENT:");
    let says_something = |line: &&str| !line.is_empty() && !line.contains("HINT:");
    let marked = log.lines().any(|line| is_error(&line));
    let chosen =
        log.lines().filter(|line| if marked { is_error(line) } else { !of_statement(line) });
    let mut lines = chosen.map(without_stamp).filter(says_something).collect::<Vec<_>>();
    lines.dedup(); // each of many sessions may have said the same
    match lines.len().saturating_sub(LOG_LINES_SHOWN) {
        _ if lines.is_empty() => "it wrote no log".into(),
        skipped => lines[skipped..].join("; "),
    }
}

/// A line without `2026-01-31 12:00:00.000 UTC [1234] ` in front.
fn without_stamp(line: &str) -> &str {
    let stamped =
        line.split_once("] ").filter(|(stamp, _)| stamp.starts_with(|c: char| c.is_ascii_digit()));
    stamped.map_or(line, |(_, text)| text).trim()
}

/// Living processes of these programs that work on this data directory and no other: they run as
/// the user who owns it, see the same directory under its path, and were told it in the words by
/// which we start them, or by which initdb tells its children. Process ids alone say nothing: they
/// are used again by others. Neither does a path among the arguments: that of a backup has it too.
pub(super) fn at_work(programs: &[&str], data: &Path) -> Vec<u32> {
    let Ok(place) = fs::metadata(data) else { return Vec::new() };
    let look = || {
        let all = procfs::process::all_processes().into_iter().flatten().flatten();
        let left = all.filter(|process| is_at_work(process, programs, data, &place));
        left.filter_map(|process| u32::try_from(process.pid).ok()).collect()
    };
    // As root in a container we may not look into processes of another user; that user may.
    if is_root() && place.uid() != 0 { as_owner(&place, look) } else { look() }
}

/// Looks as the owner of a place, in a thread that alone changes; as we are where that may not be.
fn as_owner<T: Send>(place: &fs::Metadata, look: impl Fn() -> T + Send + Sync) -> T {
    let (uid, gid) = (Uid::from_raw(place.uid()), Gid::from_raw(place.gid()));
    let changed = || {
        let _ = set_thread_res_gid(gid, gid, gid).and_then(|()| set_thread_res_uid(uid, uid, uid));
        look()
    };
    std::thread::scope(|scope| scope.spawn(changed).join()).unwrap_or_else(|_| look())
}

fn is_at_work(process: &Process, programs: &[&str], data: &Path, place: &fs::Metadata) -> bool {
    // That of a process which has ended is empty.
    let arguments = process.cmdline().unwrap_or_default();
    let is_owner = process.status().is_ok_and(|status| status.euid == place.uid());
    let is_told = || {
        names_directory(&arguments, data)
            || process
                .environ()
                .is_ok_and(|all| all.get(OsStr::new("PGDATA")).is_some_and(|told| told == data))
    };
    is_owner
        && runs_one_of(process, &arguments, programs)
        && is_told()
        && sees(process, data, place)
}

/// True of a process that runs one of the programs, or a shell that runs a script of that name.
fn runs_one_of(process: &Process, arguments: &[String], programs: &[&str]) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let is_one = |path: &Path| name(path).is_some_and(|name| programs.contains(&&*name));
    let of = |at: usize| arguments.get(at).map(Path::new);
    let is_script = || of(1).is_some_and(|script| script.is_absolute() && is_one(script));
    let is_shell = of(0).and_then(name).is_some_and(|name| SHELLS.contains(&&*name));
    process.exe().is_ok_and(|program| is_one(&program))
        || of(0).is_some_and(is_one)
        || is_shell && is_script()
}

/// True if a data directory is an argument as `postgres -D`, `mariadbd --datadir=` and `cp -t` take
/// it, or the program that hands over states.
fn names_directory(arguments: &[String], data: &Path) -> bool {
    let is_data = |value: &str| Path::new(value) == data;
    let is_value =
        |pair: &[String]| ["-D", "--datadir", "-t"].contains(&&*pair[0]) && is_data(&pair[1]);
    arguments.windows(2).any(is_value)
        || arguments.iter().any(|argument| argument.strip_prefix("--datadir=").is_some_and(is_data))
}

/// True of a process for which the path leads to the same directory; false of one that we may not
/// look into.
fn sees(process: &Process, data: &Path, place: &fs::Metadata) -> bool {
    u32::try_from(process.pid).is_ok_and(|pid| host::sees(pid, data, place).unwrap_or(false))
}

/// Stops the processes that `living` names, as long as there are any: orderly, then hard, then by
/// force. Once the interrupt is set, an orderly stop is no longer waited for.
///
/// # Errors
/// If one does not end.
pub(super) fn stop(
    signals: StopSignals,
    interrupt: &AtomicBool,
    mut living: impl FnMut() -> Vec<u32>,
) -> Result<()> {
    let never = AtomicBool::new(false);
    let steps = [
        (signals.orderly, STOP_TIMEOUT, interrupt),
        (signals.hard, HARD_STOP_TIMEOUT, &never),
        (Signal::KILL, HARD_STOP_TIMEOUT, &never),
    ];
    for (signal, timeout, interrupt) in steps {
        let deadline = Instant::now() + timeout;
        let mut told = Vec::new();
        while Instant::now() < deadline && !interrupt.load(Ordering::SeqCst) {
            let left = living();
            if left.is_empty() {
                return Ok(());
            }
            for pid in left.into_iter().filter(|pid| !told.contains(pid)).collect::<Vec<_>>() {
                send_signal(pid, signal);
                // One that a dead run has stopped would not see it.
                wake(pid);
                told.push(pid);
            }
            std::thread::sleep(POLL);
        }
    }
    let left = living().iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    Err(Error::target(format!("server process {left}"), "does not end").advise("stop it by hand"))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;

    use super::super::skipped;
    use super::*;

    #[test]
    fn an_error_shows_the_cause_and_no_time_stamps() {
        let log = "old\n2026-01-31 12:00:00.000 UTC [7] LOG:  invalid value for parameter \
                   \"x\"\n2026-01-31 12:00:00.000 UTC [7] HINT:  more\n2026-01-31 12:00:00.001 UTC \
                   [7] FATAL:  it has errors\n2026-01-31 12:00:00.001 UTC [7] STATEMENT:  select \
                   1\n\tfrom t\n";
        assert_eq!(
            tail_of(log),
            "old; LOG:  invalid value for parameter \"x\"; FATAL:  it has errors"
        );
        let log = "2026-01-31  6:00:00 0 [Note] InnoDB: x\n2026-01-31  6:00:00 0 [ERROR] unknown \
                   variable 'y=1'\n2026-01-31  6:00:00 0 [ERROR] Aborting\nPlease check all of the \
                   above\n";
        assert_eq!(tail_of(log), "unknown variable 'y=1'");
        assert_eq!(tail_of("FATAL:  down\nFATAL:  down\nFATAL:  down\n"), "FATAL:  down");
        assert_eq!(tail_of(""), "it wrote no log");
    }

    #[test]
    fn of_a_long_log_only_the_whole_lines_at_its_end_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("server.log");
        fs::write(&path, "one line\nanother line\nlast\n").unwrap();
        let end = |most| String::from_utf8(end_of(&path, most).unwrap()).unwrap();
        assert_eq!(end(100), "one line\nanother line\nlast\n");
        assert_eq!(end(10), "last\n");
        assert_eq!(end(3), "");
        assert!(end_of(&dir.path().join("none"), 3).is_err());
    }

    #[test]
    fn an_interrupt_ends_a_program_that_may_clear_up_and_what_it_has_started() {
        let dir = tempfile::tempdir().unwrap();
        let (started, cleared) = (dir.path().join("started"), dir.path().join("cleared"));
        let line = "trap ': >cleared; exit 1' TERM; sleep 600 & echo $! >new; mv new started; \
                    wait";
        let mut shell = Command::new("sh");
        shell.args(["-c", line]);
        let interrupt = AtomicBool::new(false);
        let ended = std::thread::scope(|scope| {
            let running = scope.spawn(|| run_interruptible(shell, dir.path(), None, &interrupt));
            while !started.exists() && !running.is_finished() {
                std::thread::yield_now();
            }
            interrupt.store(true, Ordering::SeqCst);
            running.join().unwrap()
        });
        let error = ended.unwrap_err();
        assert_eq!(error.kind, Kind::Interrupted, "{error}");
        assert!(cleared.exists(), "it was told to end");
        let left = fs::read_to_string(&started).unwrap().trim().parse().unwrap();
        let left = Process::new(left).and_then(|process| process.stat());
        // The parent of an orphan may not have asked yet how it ended.
        assert!(left.is_err() || left.is_ok_and(|stat| stat.state == 'Z'), "it lives on");
    }

    #[test]
    fn without_an_interrupt_a_program_runs_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let run = |line: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]);
            run_to_end(shell, dir.path(), None)
        };
        run("touch done").unwrap();
        assert!(dir.path().join("done").exists());
        let error = run("echo no room >&2; exit 3").unwrap_err();
        assert_eq!((error.kind, error.what.as_str()), (Kind::Target, "failed: no room"));
    }

    /// A child whose arguments are there: the kernel sets them some moments after `spawn` has
    /// returned.
    fn start(command: &mut Command) -> Child {
        let child = command.spawn().unwrap();
        let process = Process::new(child.id().try_into().unwrap()).unwrap();
        while process.cmdline().unwrap().is_empty() {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn only_a_program_on_this_data_directory_is_at_work_there() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        fs::create_dir(&data).unwrap();
        // A shell that calls itself so, and waits.
        let sleeping = |name: &str, arguments: &[&str]| {
            let mut shell = Command::new("sh");
            shell.arg0(name).args(["-c", "read word", "x"]).args(arguments).stdin(Stdio::piped());
            shell
        };
        let there = data.display().to_string();
        let told = format!("--datadir={there}");
        let other = there.replace("data", "data2");
        let backup = format!("--exclude={there}");
        let cases = [
            (sleeping("/usr/bin/a-server", &["-D", &there]), true),
            (sleeping("a-server", &[&told]), true),
            (sleeping("a-server", &["-D", &other]), false),
            (sleeping("a-server", &["--tail=/x"]), false),
            (sleeping("a-server", &[]), false),
            // What has a name and the directory among its arguments: a backup, an editor.
            (sleeping("a-server", &[&there]), false),
            (sleeping("a-server", &[&backup]), false),
            (sleeping("tar", &["a-server", "-D", &there]), false),
            (sleeping("tail", &["/x/a-server/data", &told]), false),
        ];
        for (mut command, is_ours) in cases {
            let mut child = start(command.env("PGDATA", "/nowhere"));
            let found = at_work(&["a-server"], &data).contains(&child.id());
            let other = at_work(&["another-server"], &data);
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(found == is_ours && other.is_empty(), "{command:?}");
        }
        let mut told = start(sleeping("a-server", &[]).env("PGDATA", &data));
        assert_eq!(at_work(&["a-server"], &data), [told.id()]);
        stop(SIGNALS, &AtomicBool::new(false), || {
            let _ = told.try_wait();
            at_work(&["a-server"], &data)
        })
        .unwrap();
        assert!(!told.wait().unwrap().success());
    }

    const SIGNALS: StopSignals = StopSignals { orderly: Signal::TERM, hard: Signal::KILL };

    #[test]
    fn after_an_interrupt_an_orderly_stop_is_not_waited_for() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' TERM; echo deaf; read word"]);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let living = || match child.try_wait() {
            Ok(None) => vec![child.id()],
            _ => Vec::new(),
        };
        stop(SIGNALS, &AtomicBool::new(true), living).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    }

    /// As `mariadb-install-db` is one.
    #[test]
    fn a_script_of_a_programs_name_is_at_work() {
        let dir = tempfile::tempdir().unwrap();
        let (data, script) = (dir.path().join("data"), dir.path().join("a-server"));
        fs::create_dir(&data).unwrap();
        fs::write(&script, "read word").unwrap();
        let told = format!("--datadir={}", data.display());
        let mut command = Command::new("sh");
        let mut child = start(command.arg(&script).arg(told).stdin(Stdio::piped()));
        assert_eq!(at_work(&["a-server"], &data), [child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A server in a container whose data directory has the path of ours.
    #[test]
    fn who_sees_another_directory_under_the_path_is_not_at_work_here() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        fs::create_dir(&data).unwrap();
        let mut contained = Command::new("unshare");
        contained.args(["--mount", "bash", "-c"]);
        contained.arg(format!(
            "mount -t tmpfs tmpfs {0} && mkdir {1} && echo there && \
             exec -a a-server sh -c 'read word' x -D {1}",
            dir.path().display(),
            data.display()
        ));
        contained.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = contained.spawn().unwrap();
        let mut line = String::new();
        let told = BufReader::new(child.stdout.take().unwrap()).read_line(&mut line);
        if told.is_err() || line != "there\n" {
            let _ = child.wait(); // it has ended
            return skipped("a mount namespace of its own", "DBDYNO_TEST_MUST_UNSHARE");
        }
        let pid = i32::try_from(child.id()).unwrap();
        let is_called = |name: &str| {
            let arguments = Process::new(pid).unwrap().cmdline().unwrap();
            arguments.first().is_some_and(|first| first == name)
        };
        while !is_called("a-server") {
            std::thread::yield_now();
        }
        assert_eq!(at_work(&["a-server"], &data), Vec::<u32>::new());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
