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
    fn reads_a_captured_file_in_bytes() {
        let mut counters = Counters::default();
        parse(include_str!("../../tests/fixtures/proc/meminfo"), &mut counters);
        assert_eq!(counters.get("os_mem_available_bytes"), Some(20_480_000.0 * 1024.0));
        assert_eq!(counters.get("os_page_cache_bytes"), Some(2_048_000.0 * 1024.0));
        assert_eq!(counters.0.len(), 3);
    }
}
