//! The whole host: CPU time of all CPUs together, from `/proc/stat`, its memory, from
//! `/proc/meminfo`, and its network, from `/proc/net/dev`.

use std::collections::HashMap;

use procfs::net::{DeviceStatus, dev_status};
use procfs::{CpuTime, Current, CurrentSI, KernelStats, Meminfo};

use dbdyno_core::model::Counters;

use super::{Probe, ProbeContext};

struct Cpu;

/// CPU time, where `/proc/stat` exists.
pub(super) fn open_cpu(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    KernelStats::current().is_ok().then(|| Box::new(Cpu) as Box<dyn Probe>)
}

impl Probe for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let stats = KernelStats::current().map_err(|error| error.to_string())?;
        set_cpu(&stats.total, procfs::ticks_per_second() as f64, counters);
        Ok(())
    }
}

/// `os_cpu_*_s` in CPU seconds; `os_cpu_total_s` is their sum. Guest time is contained in user and
/// nice.
pub(super) fn set_cpu(ticks: &CpuTime, ticks_per_s: f64, counters: &mut Counters) {
    let modes = [
        ("os_cpu_user_s", Some(ticks.user)),
        ("os_cpu_nice_s", Some(ticks.nice)),
        ("os_cpu_sys_s", Some(ticks.system)),
        ("os_cpu_idle_s", Some(ticks.idle)),
        ("os_cpu_iowait_s", ticks.iowait),
        ("os_cpu_irq_s", ticks.irq),
        ("os_cpu_softirq_s", ticks.softirq),
        ("os_cpu_steal_s", ticks.steal),
    ];
    let mut total = 0;
    for (name, ticks) in modes.into_iter().filter_map(|(name, ticks)| Some((name, ticks?))) {
        counters.set(name, ticks as f64 / ticks_per_s);
        total += ticks;
    }
    counters.set("os_cpu_total_s", total as f64 / ticks_per_s);
}

/// Gauges, not counters.
struct Memory;

/// Memory, where `/proc/meminfo` exists.
pub(super) fn open_memory(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    Meminfo::current().is_ok().then(|| Box::new(Memory) as Box<dyn Probe>)
}

impl Probe for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        set_memory(&Meminfo::current().map_err(|error| error.to_string())?, counters);
        Ok(())
    }
}

pub(super) fn set_memory(memory: &Meminfo, counters: &mut Counters) {
    if let Some(available) = memory.mem_available {
        counters.set("os_mem_available_bytes", available as f64);
    }
    counters.set("os_page_cache_bytes", memory.cached as f64);
    counters.set("os_mem_dirty_bytes", memory.dirty as f64);
}

struct Network;

/// The network, where `/proc/net/dev` exists.
pub(super) fn open_network(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    dev_status().is_ok().then(|| Box::new(Network) as Box<dyn Probe>)
}

impl Probe for Network {
    fn name(&self) -> &'static str {
        "network"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        set_network(&dev_status().map_err(|error| error.to_string())?, counters);
        Ok(())
    }
}

/// The device of the machine's own loop, which leaves it by no wire.
const LOOP: &str = "lo";

/// Bytes of all network devices but the loop.
pub(super) fn set_network(devices: &HashMap<String, DeviceStatus>, counters: &mut Counters) {
    let sum = |bytes: fn(&DeviceStatus) -> u64| {
        devices
            .values()
            .filter(|device| device.name != LOOP)
            .map(|device| bytes(device) as f64)
            .sum()
    };
    counters.set("os_net_received_bytes", sum(|device| device.recv_bytes));
    counters.set("os_net_sent_bytes", sum(|device| device.sent_bytes));
}

#[cfg(test)]
mod tests {
    use procfs::FromBufReadSI;

    use super::*;

    #[test]
    fn reads_a_captured_file() {
        let captured: &[u8] = include_bytes!("../../../../tests/fixtures/proc/stat");
        let stats = KernelStats::from_buf_read(captured, procfs::current_system_info()).unwrap();
        let mut counters = Counters::default();
        set_cpu(&stats.total, 100.0, &mut counters);
        assert_eq!(counters.get("os_cpu_user_s"), Some(13_932.8));
        assert_eq!(counters.get("os_cpu_steal_s"), Some(239.33));
        assert_eq!(counters.get("os_cpu_total_s"), Some(153_895.32));
    }

    #[test]
    fn memory_is_in_bytes() {
        let mut counters = Counters::default();
        Memory.read(&mut counters).unwrap();
        let available = counters.get("os_mem_available_bytes").unwrap();
        assert!(available > 1e6 && available < crate::host::machine_memory_bytes() as f64);
        assert_eq!(counters.0.len(), 3);
    }
}
