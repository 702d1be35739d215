//! CPU time of processes: our own, and the database server's with its children.

use std::collections::BTreeSet;

use crate::model::Counters;

use super::file::ProcFile;
use super::{Probe, ProbeContext};

struct OwnCpu {
    file: ProcFile,
    ticks_per_s: f64,
}

/// CPU time of our own process, all threads.
pub(super) fn open_own(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    Some(Box::new(OwnCpu { file: ProcFile::open("/proc/self/stat")?, ticks_per_s: ticks_per_s() }))
}

impl Probe for OwnCpu {
    fn name(&self) -> &'static str {
        "self"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let times = parse(self.file.read()?)?;
        counters.set("self_cpu_user_s", times.user / self.ticks_per_s);
        counters.set("self_cpu_sys_s", times.sys / self.ticks_per_s);
        counters.set("self_cpu_s", (times.user + times.sys) / self.ticks_per_s);
        Ok(())
    }
}

struct ServerCpu {
    pids: Vec<u32>,
    ticks_per_s: f64,
}

/// CPU time of the database's processes, if they are known.
pub(super) fn open_server(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let pids = context.server_pids.to_vec();
    let known = pids.iter().any(|pid| std::fs::metadata(format!("/proc/{pid}/stat")).is_ok());
    known.then(|| Box::new(ServerCpu { pids, ticks_per_s: ticks_per_s() }) as Box<dyn Probe>)
}

impl Probe for ServerCpu {
    fn name(&self) -> &'static str {
        "server"
    }
    /// The given processes and their living children, each with the time of its own ended and awaited children: so a
    /// child's time moves to its parent when it ends, and the sum never falls.
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let children = self.pids.iter().flat_map(|pid| children(*pid));
        let pids: BTreeSet<u32> = self.pids.iter().copied().chain(children).collect();
        let texts = pids.iter().filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok());
        let times: Vec<Times> = texts.filter_map(|text| parse(&text).ok()).collect();
        if times.is_empty() {
            return Err("none of the server's processes is left".into());
        }
        let ticks: f64 = times.iter().map(|times| times.user + times.sys + times.children).sum();
        counters.set("server_cpu_s", ticks / self.ticks_per_s);
        Ok(())
    }
}

/// Living children of a process.
pub(super) fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn ticks_per_s() -> f64 {
    procfs::ticks_per_second() as f64
}

/// CPU time in clock ticks.
#[derive(Debug, PartialEq)]
struct Times {
    user: f64,
    sys: f64,
    /// Of children that ended and were waited for.
    children: f64,
}

/// Columns 14 to 17 of `/proc/pid/stat` (man 5 proc); the name in brackets may hold anything.
fn parse(text: &str) -> Result<Times, String> {
    let (_, fields) = text.rsplit_once(')').ok_or("stat of a process: no name in brackets")?;
    let ticks: Vec<f64> = fields.split_ascii_whitespace().skip(11).take(4).filter_map(|t| t.parse().ok()).collect();
    let [user, sys, children_user, children_sys] = ticks[..] else {
        return Err("stat of a process: too few columns".into());
    };
    Ok(Times { user, sys, children: children_user + children_sys })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_columns() {
        let times = parse(include_str!("../../tests/fixtures/proc/pid_stat")).unwrap();
        assert_eq!(times, Times { user: 250.0, sys: 130.0, children: 1540.0 });
    }

    #[test]
    fn a_short_line_is_an_error() {
        assert!(parse("1 (x) S 1 2").is_err());
    }
}
