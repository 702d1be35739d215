//! The kernel's clock as a witness of SQLite: perf, with a breakpoint at the begin and one at the
//! end of the function of the library that does a statement's work.
//!
//! A breakpoint interrupts the thread for a microsecond or two, in our time as in the kernel's:
//! what is timed so must take much longer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dbdyno::error::Result;

use super::failed;
use super::lab::run_program;

/// Name of the witness in the tables.
pub const NAME: &str = "perf (sqlite3_step)";
const PERF: &str = "perf";
/// The function that runs a statement, with its commit where the statement commits itself.
const FUNCTION: &str = "sqlite3_step";
/// Events of the two breakpoints.
const BEGIN: &str = "begin";
const END: &str = "end";
/// Attempts to attach to all threads of a process.
const ATTEMPTS: u32 = 5;
/// Ending that perf adds to the event of a function's end.
const RETURN: &str = "__return";

/// Both breakpoints in this program, which are removed when dropped.
pub struct Breakpoints {
    /// Group of their events, which nobody else has.
    group: String,
}

/// perf at work.
pub struct Recording {
    process: Child,
    control: ChildStdin,
    /// perf's answers to what it is told.
    answers: BufReader<ChildStdout>,
    file: PathBuf,
}

/// One call of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub begin_ns: u64,
    pub end_ns: u64,
}

impl Call {
    /// Microseconds that it took.
    pub fn elapsed_us(&self) -> f64 {
        (self.end_ns - self.begin_ns) as f64 / 1e3
    }
}

impl Breakpoints {
    /// Sets them.
    ///
    /// # Errors
    /// If perf is not there or may not, with its own last words.
    pub fn set() -> Result<Breakpoints> {
        let program = std::env::current_exe().map_err(|error| failed(PERF, error.to_string()))?;
        let breakpoints = Breakpoints { group: format!("dbdyno_{}", std::process::id()) };
        let group = &breakpoints.group;
        let mut command = Command::new(PERF);
        command.arg("probe").arg("-x").arg(program);
        command.args(["--add", &format!("{group}:{BEGIN}={FUNCTION}")]);
        command.args(["--add", &format!("{group}:{END}={FUNCTION}%return")]);
        run_program(PERF, &mut command)?;
        Ok(breakpoints)
    }

    /// Records the calls of this process from now on, in all its threads; perf's data goes to
    /// `file`.
    pub fn record(&self, file: PathBuf) -> Result<Recording> {
        let mut command = Command::new(PERF);
        command.args(["record", "--delay=-1", "--control=fd:0,1", "-m", "2048"]);
        command.args(["-e", &format!("{}:*", self.group)]);
        command.args(["-p", &std::process::id().to_string(), "-o"]).arg(&file);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // It gives up if a thread of ours ends while it attaches to it.
        let mut refused = None;
        for _ in 0..ATTEMPTS {
            let mut process = command
                .spawn()
                .map_err(|error| failed(PERF, format!("cannot be run ({error})")))?;
            let (Some(control), Some(answers)) = (process.stdin.take(), process.stdout.take())
            else {
                return Err(failed(PERF, "cannot be told anything"));
            };
            let answers = BufReader::new(answers);
            let mut recording = Recording { process, control, answers, file: file.clone() };
            match recording.tell("enable") {
                Ok(()) => return Ok(recording),
                Err(error) => refused = Some(error),
            }
            recording.process.wait().map_err(|error| failed(PERF, error.to_string()))?;
        }
        Err(refused.unwrap_or_else(|| failed(PERF, "does not begin")))
    }
}

impl Drop for Breakpoints {
    fn drop(&mut self) {
        // Nobody is left to tell, and a breakpoint that nothing records costs nothing.
        let events = format!("{}:*", self.group);
        let _ = run_program(PERF, Command::new(PERF).args(["probe", "--del", &events]));
    }
}

impl Recording {
    /// Tells perf to do something, and waits until it has been done.
    fn tell(&mut self, what: &str) -> Result<()> {
        let wrong = |error: std::io::Error| failed(PERF, format!("{what}: {error}"));
        writeln!(self.control, "{what}").map_err(wrong)?;
        let mut answer = Vec::new();
        let read = self.answers.read_until(b'\n', &mut answer).map_err(wrong)?;
        match read {
            0 => Err(failed(PERF, format!("ended when it was told to {what}"))),
            _ => Ok(()),
        }
    }

    /// Ends it: the calls of the thread that has most of them, one after the other.
    ///
    /// # Errors
    /// If perf could not write them all.
    pub fn end(mut self) -> Result<Vec<Call>> {
        self.tell("disable")?;
        self.tell("stop")?;
        self.process.wait().map_err(|error| failed(PERF, error.to_string()))?;
        let mut command = Command::new(PERF);
        command.args(["script", "--ns", "--show-lost-events", "-F", "tid,time,event", "-i"]);
        calls_of_busiest(&run_program(PERF, command.arg(&self.file))?)
            .ok_or_else(|| failed(PERF, "has lost some of the calls; ask for fewer --seconds"))
    }
}

/// The calls of the thread that has most of them, from perf's text; none if some were lost. Of
/// calls within a call, as the library reads its schema, the innermost counts: that is rare, and an
/// end whose begin was not seen, or came late from another processor, spoils one call only.
fn calls_of_busiest(text: &str) -> Option<Vec<Call>> {
    let mut threads = BTreeMap::<&str, Vec<Call>>::new();
    let mut begun = BTreeMap::<&str, u64>::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(thread), Some(time), Some(event)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        if event.contains("LOST") || line.contains("PERF_RECORD_LOST") {
            return None;
        }
        let Some(at_ns) = nanoseconds(time.trim_end_matches(':')) else { continue };
        let event = event.trim_end_matches(':');
        let event = event.rsplit_once(':').map_or(event, |(_, name)| name);
        if event == BEGIN {
            begun.insert(thread, at_ns);
        } else if event.strip_suffix(RETURN).unwrap_or(event) == END
            && let Some(begin_ns) = begun.remove(thread)
        {
            threads.entry(thread).or_default().push(Call { begin_ns, end_ns: at_ns });
        }
    }
    Some(threads.into_values().max_by_key(Vec::len).unwrap_or_default())
}

/// `12.000004711`, seconds with nine decimals, in nanoseconds.
fn nanoseconds(time: &str) -> Option<u64> {
    let (seconds, decimals) = time.split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let decimals: u64 = if decimals.len() == 9 { decimals.parse().ok()? } else { return None };
    Some(seconds * 1_000_000_000 + decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_the_busiest_thread_are_timed() {
        let text = "\
 7 1.000000001: dbdyno_9:begin: \n 8 1.000000002: dbdyno_9:begin: \n\
 8 1.000000012: dbdyno_9:end__return: \n 7 1.000000020: dbdyno_9:begin: \n\
 7 1.000000025: dbdyno_9:end__return: \n 7 1.000000101: dbdyno_9:end__return: \n\
 7 2.000000000: dbdyno_9:begin: \n 7 2.000002500: dbdyno_9:end__return: \n";
        let calls = calls_of_busiest(text).unwrap();
        let times: Vec<f64> = calls.iter().map(Call::elapsed_us).collect();
        assert_eq!(times, [0.005, 2.5], "an inner call, and one by itself");
        let lost = format!("{text} 7 2.1: PERF_RECORD_LOST lost 12\n");
        assert_eq!(calls_of_busiest(&lost), None);
    }
}
