//! Probes on this host: real values that move.

use std::path::Path;

use dbdyno::probe::{self, ProbeContext, ProbeSet};

#[test]
fn the_host_is_read_and_cpu_time_moves() {
    let pid = [std::process::id()];
    let context = ProbeContext { storage: Some(Path::new(".")), server_pids: &pid, in_process: false };
    let mut probes = ProbeSet::host(&context);
    let begin = probes.read();
    assert!(begin.failed.is_empty(), "{:?}", begin.failed);
    let mut end = probes.read();
    while end.counters.since(&begin.counters).get("self_cpu_s").unwrap_or_default() < 0.03 {
        end = probes.read();
    }
    let delta = end.counters.since(&begin.counters);
    assert!(delta.get("os_cpu_total_s").unwrap() > 0.0);
    assert!(delta.get("server_cpu_s").unwrap() > 0.0);
    assert!(end.counters.get("os_mem_available_bytes").unwrap() > 1e6);
}

#[test]
fn the_disclosure_has_its_sections() {
    let disclosure = probe::host(Some(Path::new(".")));
    for (section, key) in [("hardware", "threads"), ("os", "kernel"), ("storage", "file_system"), ("dbdyno", "version")]
    {
        assert_ne!(disclosure.get(section, key), "unknown", "{section}.{key}");
    }
}
