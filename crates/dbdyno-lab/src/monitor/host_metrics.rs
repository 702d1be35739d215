//! Figures of this machine under the names of node_exporter
//! (<https://github.com/prometheus/node_exporter>), for whoever measures a database here from
//! elsewhere.

use procfs::process::Process;
use procfs::{CpuInfo, CpuTime, Current, CurrentSI, DiskStat, KernelStats, Meminfo};

use super::open_metrics::{Family, Kind, Labels, Page};
use dbdyno_engines::host;

/// Bytes of a sector in `/proc/diskstats` (kernel, Documentation/block/stat).
const SECTOR_BYTES: f64 = 512.0;

const CPU: Family = counter("node_cpu_seconds", "CPU time by mode.");
const CPU_INFO: Family = info("node_cpu", "Model and place of each CPU.");
const UNAME: Family = info("node_uname", "The kernel.");
const SYSTEM: Family = info("node_os", "The distribution.");
const PROBE: Family = info("dbdyno_probe", "Program that exports these metrics.");
const FILE_SYSTEM: Family =
    gauge("node_filesystem_size_bytes", "Size of each file system on a device.");
const RECEIVED: Family =
    counter("node_network_receive_bytes", "Bytes received by each network device.");
const SENT: Family = counter("node_network_transmit_bytes", "Bytes sent by each network device.");

/// A figure of a disk.
type OfDisk = fn(&DiskStat) -> Option<f64>;

const DISK: [(Family, OfDisk); 8] = [
    (counter("node_disk_reads_completed", "Reads completed."), |disk| Some(disk.reads as f64)),
    (counter("node_disk_writes_completed", "Writes completed."), |disk| Some(disk.writes as f64)),
    (counter("node_disk_read_bytes", "Bytes read."), |disk| {
        Some(disk.sectors_read as f64 * SECTOR_BYTES)
    }),
    (counter("node_disk_written_bytes", "Bytes written."), |disk| {
        Some(disk.sectors_written as f64 * SECTOR_BYTES)
    }),
    (counter("node_disk_read_time_seconds", "Duration of reads, summed."), |disk| {
        Some(disk.time_reading as f64 / 1e3)
    }),
    (counter("node_disk_write_time_seconds", "Duration of writes, summed."), |disk| {
        Some(disk.time_writing as f64 / 1e3)
    }),
    (counter("node_disk_io_time_seconds", "Time with a request."), |disk| {
        Some(disk.time_in_progress as f64 / 1e3)
    }),
    (counter("node_disk_flush_requests", "Flushes of the write cache."), |disk| {
        Some(disk.flushes? as f64)
    }),
];

const fn counter(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Counter, help }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Gauge, help }
}

const fn info(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Info, help }
}

/// All figures now; what cannot be had is left out.
pub fn text() -> String {
    let mut page = Page::default();
    page.add(&PROBE, [(vec![("version", env!("CARGO_PKG_VERSION").to_string())], 1.0)]);
    machine(&mut page);
    processors(&mut page);
    memory(&mut page);
    disks(&mut page);
    network(&mut page);
    page.end()
}

fn machine(page: &mut Page) {
    let known = host::disclosure(None);
    let fact = |section: &str, name: &str| known.get(section, name).map(String::from);
    let with =
        |label: &'static str, value: Option<String>| value.map(|value| (vec![(label, value)], 1.0));
    page.add(&UNAME, with("release", fact("os", "kernel")));
    page.add(&SYSTEM, with("pretty_name", fact("os", "distribution")));
    page.add(&CPU_INFO, places());
}

/// Labels of each CPU by `/proc/cpuinfo`.
fn places() -> Vec<(Labels, f64)> {
    const NAMES: [(&str, &str); 3] =
        [("core", "core id"), ("package", "physical id"), ("model_name", "model name")];
    let Ok(info) = CpuInfo::current() else { return Vec::new() };
    let place = |cpu: usize| {
        let known = info.get_info(cpu)?;
        let told =
            NAMES.iter().filter_map(|(label, name)| Some((*label, known.get(name)?.to_string())));
        Some(([("cpu", cpu.to_string())].into_iter().chain(told).collect(), 1.0))
    };
    (0..info.num_cores()).filter_map(place).collect()
}

/// Names of the modes as node_exporter calls them, in ticks.
fn modes(time: &CpuTime) -> [(&'static str, Option<u64>); 8] {
    [
        ("user", Some(time.user)),
        ("nice", Some(time.nice)),
        ("system", Some(time.system)),
        ("idle", Some(time.idle)),
        ("iowait", time.iowait),
        ("irq", time.irq),
        ("softirq", time.softirq),
        ("steal", time.steal),
    ]
}

fn processors(page: &mut Page) {
    let times = KernelStats::current().map(|stats| stats.cpu_time).unwrap_or_default();
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let one = |(cpu, time): (usize, &CpuTime)| {
        let known = modes(time)
            .into_iter()
            .filter_map(|(mode, ticks)| Some((mode, ticks? as f64 / ticks_per_s)));
        let labels = |mode: &str| vec![("cpu", cpu.to_string()), ("mode", mode.to_string())];
        known.map(|(mode, seconds)| (labels(mode), seconds)).collect::<Vec<_>>()
    };
    page.add(&CPU, times.iter().enumerate().flat_map(one));
}

fn memory(page: &mut Page) {
    let Ok(memory) = Meminfo::current() else { return };
    for (name, bytes) in [
        ("node_memory_MemTotal_bytes", Some(memory.mem_total)),
        ("node_memory_MemAvailable_bytes", memory.mem_available),
        ("node_memory_Cached_bytes", Some(memory.cached)),
        ("node_memory_Dirty_bytes", Some(memory.dirty)),
    ] {
        page.add(&gauge(name, "Of /proc/meminfo."), bytes.map(|bytes| (Vec::new(), bytes as f64)));
    }
}

fn disks(page: &mut Page) {
    let disks = procfs::diskstats().unwrap_or_default();
    for (family, value) in &DISK {
        let one = |disk: &DiskStat| Some((vec![("device", disk.name.clone())], value(disk)?));
        page.add(family, disks.iter().filter_map(one));
    }
    let mounts = Process::myself()
        .and_then(|process| process.mountinfo())
        .map(|mounts| mounts.0)
        .unwrap_or_default();
    let on_device = mounts.into_iter().filter_map(|mount| {
        let device = mount.mount_source.filter(|source| source.starts_with("/dev/"))?;
        let size = rustix::fs::statvfs(&mount.mount_point).ok()?;
        let point = mount.mount_point.display().to_string();
        let labels = vec![("device", device), ("fstype", mount.fs_type), ("mountpoint", point)];
        Some((labels, (size.f_blocks * size.f_frsize) as f64))
    });
    page.add(&FILE_SYSTEM, on_device);
}

fn network(page: &mut Page) {
    let devices = procfs::net::dev_status().unwrap_or_default();
    let mut devices: Vec<_> = devices.into_values().collect();
    devices.sort_by(|one, other| one.name.cmp(&other.name));
    for (family, bytes) in [(&RECEIVED, true), (&SENT, false)] {
        let one = |device: &procfs::net::DeviceStatus| {
            let value = if bytes { device.recv_bytes } else { device.sent_bytes };
            (vec![("device", device.name.clone())], value as f64)
        };
        page.add(family, devices.iter().map(one));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_node_exporter() {
        let text = text();
        for line in [
            "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} ",
            "node_memory_MemTotal_bytes ",
            "node_uname_info{release=\"",
            "dbdyno_probe_info{version=\"",
        ] {
            assert!(text.lines().any(|found| found.starts_with(line)), "{line}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}
