//! Host CPU time of all CPUs together, from the first line of `/proc/stat`.

use crate::model::Counters;

use super::file::ProcFile;
use super::{Probe, ProbeContext};

/// Columns of the `cpu` line in their order (man 5 proc); guest time is contained in user and nice.
const NAMES: [&str; 8] = [
    "os_cpu_user_s",
    "os_cpu_nice_s",
    "os_cpu_sys_s",
    "os_cpu_idle_s",
    "os_cpu_iowait_s",
    "os_cpu_irq_s",
    "os_cpu_softirq_s",
    "os_cpu_steal_s",
];

struct Cpu {
    file: ProcFile,
    ticks_per_s: f64,
}

/// The probe, where `/proc/stat` exists.
pub(super) fn open(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    Some(Box::new(Cpu { file: ProcFile::open("/proc/stat")?, ticks_per_s: procfs::ticks_per_second() as f64 }))
}

impl Probe for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        parse(self.file.read()?, self.ticks_per_s, counters)
    }
}

/// `os_cpu_*_s` in CPU seconds; `os_cpu_total_s` is their sum.
fn parse(text: &str, ticks_per_s: f64, counters: &mut Counters) -> Result<(), String> {
    let line = text.lines().next().and_then(|line| line.strip_prefix("cpu "));
    let line = line.ok_or("/proc/stat: no line 'cpu'")?;
    let mut total = 0.0;
    for (name, ticks) in NAMES.iter().zip(line.split_ascii_whitespace()) {
        let ticks: f64 = ticks.parse().map_err(|_| format!("/proc/stat: '{ticks}' is no number"))?;
        counters.set(*name, ticks / ticks_per_s);
        total += ticks;
    }
    counters.set("os_cpu_total_s", total / ticks_per_s);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_captured_file() {
        let mut counters = Counters::default();
        parse(include_str!("../../tests/fixtures/proc/stat"), 100.0, &mut counters).unwrap();
        assert_eq!(counters.get("os_cpu_user_s"), Some(13_932.8));
        assert_eq!(counters.get("os_cpu_steal_s"), Some(239.33));
        assert_eq!(counters.get("os_cpu_total_s"), Some(153_895.32));
    }

    #[test]
    fn says_what_it_cannot_read() {
        assert!(parse("cpu  1 x", 100.0, &mut Counters::default()).unwrap_err().contains("'x'"));
        assert!(parse("", 100.0, &mut Counters::default()).is_err());
    }
}
