//! The operating system as a witness: strace, attached to a process while a test runs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use dbdyno::error::Result;
use rustix::process::{Pid, Signal, kill_process};

use super::failed;

pub const NAME: &str = "strace";
const CALLS: &str = "trace=pread64,pwrite64,fdatasync,fsync";

/// strace at work.
pub struct Trace {
    process: Child,
    /// It writes no more than some lines into it, and none of them is missed.
    stderr: BufReader<ChildStderr>,
    file: PathBuf,
}

/// A call of the system, and the file that it was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Thread that made the call.
    pub thread: u32,
    pub name: String,
    pub file: String,
}

/// True if it is installed and may attach to other processes.
pub fn is_there() -> bool {
    let run = Command::new(NAME).args(["-o", "/dev/null", "true"]).output();
    run.is_ok_and(|output| output.status.success())
}

impl Trace {
    /// Attaches to the threads of a process, and to all that it starts from now on; the calls go
    /// to `file`.
    pub fn attach(pid: u32, file: PathBuf) -> Result<Trace> {
        let mut command = Command::new(NAME);
        command.args(["-f", "-y", "-e", CALLS, "-p", &pid.to_string(), "-o"]).arg(&file);
        let spawned = command.stderr(Stdio::piped()).spawn();
        let mut process =
            spawned.map_err(|error| failed(NAME, format!("cannot be run ({error})")))?;
        let stderr = process.stderr.take().ok_or_else(|| failed(NAME, "has no output"))?;
        let mut stderr = BufReader::new(stderr);
        let mut line = String::new();
        // "strace: Process 4711 attached with 12 threads"
        while !line.contains("attached") {
            line.clear();
            let read = stderr.read_line(&mut line);
            if read.map_err(|error| failed(NAME, error.to_string()))? == 0 {
                return Err(failed(NAME, format!("cannot attach to process {pid}")));
            }
        }
        Ok(Trace { process, stderr, file })
    }

    /// Detaches: the calls so far.
    pub fn end(mut self) -> Result<Vec<Call>> {
        let wrong = |error: String| failed(NAME, error);
        kill_process(Pid::from_child(&self.process), Signal::INT)
            .map_err(|error| wrong(error.to_string()))?;
        // What it says while it leaves must not fill the pipe.
        while self.stderr.read_line(&mut String::new()).unwrap_or_default() > 0 {}
        self.process.wait().map_err(|error| wrong(error.to_string()))?;
        let text = std::fs::read(&self.file).map_err(|error| wrong(error.to_string()))?;
        Ok(String::from_utf8_lossy(&text).lines().filter_map(call).collect())
    }
}

/// A line as `4711 fdatasync(9</data/pg_wal/000000010000000000000001>) = 0`; one that goes on with
/// a call that was interrupted by another thread's is none.
fn call(line: &str) -> Option<Call> {
    let (thread, call) = line.split_once(' ')?;
    let (name, arguments) = call.trim_start().split_once('(')?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let (_, file) = arguments.split_once('<')?;
    let (file, _) = file.split_once('>')?;
    let thread = thread.parse().ok()?;
    is_name.then(|| Call { thread, name: name.into(), file: file.into() })
}

/// Number of calls of this name for files with this in their path.
pub fn count(calls: &[Call], name: &str, file: &str) -> u64 {
    calls.iter().filter(|call| call.is(name, file)).count() as u64
}

/// The same of the thread that has most of them: the session of the one job, not that of the
/// setup.
pub fn count_of_busiest(calls: &[Call], name: &str, file: &str) -> u64 {
    let mut by_thread = BTreeMap::<u32, u64>::new();
    for call in calls.iter().filter(|call| call.is(name, file)) {
        *by_thread.entry(call.thread).or_default() += 1;
    }
    by_thread.into_values().max().unwrap_or_default()
}

impl Call {
    fn is(&self, name: &str, file: &str) -> bool {
        self.name == name && self.file.contains(file)
    }
}
