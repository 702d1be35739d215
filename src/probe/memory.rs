//! Memory of the host, from `/proc/meminfo`: gauges, not counters.

use crate::model::Counters;

use super::file::ProcFile;
use super::{Probe, ProbeContext};

const NAMES: [(&str, &str); 3] =
    [("MemAvailable:", "os_mem_available_bytes"), ("Cached:", "os_page_cache_bytes"), ("Dirty:", "os_mem_dirty_bytes")];

struct Memory(ProcFile);

/// The probe, where `/proc/meminfo` exists.
pub(super) fn open(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    Some(Box::new(Memory(ProcFile::open("/proc/meminfo")?)))
}

impl Probe for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        parse(self.0.read()?, counters);
        Ok(())
    }
}

/// Memory of this machine, or of the container we are in if that is less, in bytes.
pub fn memory_bytes() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let group = read("/proc/self/cgroup");
    let group = group.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    let limits = [
        read("/sys/fs/cgroup/memory.max"),
        read(&format!("/sys/fs/cgroup{group}/memory.max")),
        read("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ];
    total(&read("/proc/meminfo"), &limits)
}

/// The least of the machine's memory and the control groups' limits; `max` is none.
fn total(meminfo: &str, limits: &[String]) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
    let limits = limits.iter().filter_map(|text| text.trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024).into_iter().chain(limits).min()
}

fn parse(text: &str, counters: &mut Counters) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().and_then(|label| NAMES.iter().find(|(known, _)| *known == label));
        if let (Some((_, name)), Some(kib)) = (name, words.next().and_then(|word| word.parse::<f64>().ok())) {
            counters.set(*name, kib * 1024.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_may_have_less_memory_than_the_machine() {
        let meminfo = include_str!("../../tests/fixtures/proc/meminfo");
        let machine = total(meminfo, &["max".into(), String::new()]).unwrap();
        assert_eq!(machine / 1_000_000, 25_203);
        assert_eq!(total(meminfo, &["2147483648\n".into(), "max\n".into()]), Some(2_147_483_648));
        assert_eq!(total(meminfo, &["9223372036854771712".into()]), Some(machine));
        assert_eq!(total("", &[]), None);
    }

    #[test]
    fn reads_a_captured_file_in_bytes() {
        let mut counters = Counters::default();
        parse(include_str!("../../tests/fixtures/proc/meminfo"), &mut counters);
        assert_eq!(counters.get("os_mem_available_bytes"), Some(20_480_000.0 * 1024.0));
        assert_eq!(counters.get("os_page_cache_bytes"), Some(2_048_000.0 * 1024.0));
        assert_eq!(counters.0.len(), 3);
    }
}
