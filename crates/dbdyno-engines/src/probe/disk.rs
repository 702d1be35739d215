//! I/O of the device behind the database's files, from `/proc/diskstats`.

use std::collections::BTreeMap;
use std::path::Path;

use procfs::DiskStat;

use crate::host::{DeviceNumbers, device_of, flush_counting_disk};
use dbdyno_core::model::{Counters, IoCount, IoKind};

use super::{Probe, ProbeContext};

/// Bytes of a sector in `/proc/diskstats`, whatever the device's own sector size is (kernel,
/// Documentation/block/stat).
const SECTOR_BYTES: f64 = 512.0;

/// Counters of a device's times.
const TIMES: [&str; 3] = ["os_disk_read_s", "os_disk_write_s", "os_disk_busy_s"];

/// The milliseconds that follow those of `before`, where the kernel tells `told`. It shows them in
/// 32 bits (block/genhd.c), which begin again after 50 days: the times of requests are summed, and
/// a device with 64 of them at once has that many in a day.
fn carried_on(before: Option<u64>, told: u64) -> u64 {
    let Some(before) = before else { return told };
    let step = (told as u32).wrapping_sub(before as u32) as i32;
    before.saturating_add_signed(i64::from(step))
}

/// Counters of a device's requests, which the kernel shows in full: they fall only with the host,
/// or where the device was made anew.
const REQUESTS: [&str; 2] = ["os_disk_reads", "os_disk_writes"];

/// Times of a device as they were last read, carried on where the kernel's count began again.
#[derive(Debug, Default)]
pub(super) struct CarriedTimes {
    /// In milliseconds.
    times: BTreeMap<&'static str, u64>,
    requests: BTreeMap<&'static str, f64>,
}

impl CarriedTimes {
    /// Carries on the times in `counters`. If requests fell, all counts are new: times, too, fall.
    pub fn carry_on(&mut self, counters: &mut Counters) {
        for name in REQUESTS {
            let Some(count) = counters.get(name) else { continue };
            let before = self.requests.insert(name, count);
            if before.is_some_and(|before| count < before) {
                self.times.clear();
            }
        }
        for name in TIMES {
            let Some(told_s) = counters.get(name) else { continue };
            let told_ms = (told_s * 1000.0).round() as u64;
            let ms = carried_on(self.times.get(name).copied(), told_ms);
            self.times.insert(name, ms);
            counters.set(name, ms as f64 / 1000.0);
        }
    }
}

/// Reads, writes and syncs of the device that holds the database, several times a second.
pub struct DeviceTimes {
    device: DeviceNumbers,
    flushed: Option<DeviceNumbers>,
    last: Vec<(IoKind, IoCount)>,
}

impl DeviceTimes {
    /// Of the device behind the database's files.
    ///
    /// # Errors
    /// The reason for which there is none that the kernel counts.
    pub fn open(storage: Option<&Path>) -> Result<DeviceTimes, String> {
        let storage = storage
            .ok_or("I/O of the device is not known: the database's files are not on this host")?;
        let none = "I/O of the device is not known: the database's files lie on no block device of \
                    their own";
        let device = device_of(storage).ok_or(none)?;
        let flushed = flush_counting_disk(device);
        let mut times = DeviceTimes { device, flushed, last: Vec::new() };
        times.read().map(|_| times).ok_or_else(|| none.to_string())
    }

    /// Counts so far of what the kernel counts: reads, writes, and syncs of the disk under it (from
    /// Linux 5.5 on).
    pub fn read(&mut self) -> Option<Vec<(IoKind, IoCount)>> {
        let stats = procfs::diskstats().ok()?;
        let disk = find(&stats, self.device)?;
        let flushed = self.flushed.and_then(|disk| find(&stats, disk));
        let syncs = flushed
            .and_then(|disk| Some(IoCount { ios: disk.flushes?, busy_ms: disk.time_flushing? }));
        let reads = IoCount { ios: disk.reads, busy_ms: disk.time_reading };
        let writes = IoCount { ios: disk.writes, busy_ms: disk.time_writing };
        let syncs = syncs.map(|syncs| (IoKind::Sync, syncs));
        let told = [(IoKind::Read, reads), (IoKind::Write, writes)].into_iter().chain(syncs);
        self.last = told.map(|(kind, count)| (kind, self.continue_time(kind, count))).collect();
        Some(self.last.clone())
    }

    /// A count of the kernel, with its time continued from the last one.
    fn continue_time(&self, kind: IoKind, told: IoCount) -> IoCount {
        let before = self.last.iter().find(|(of, _)| *of == kind).map(|(_, count)| count.busy_ms);
        IoCount { busy_ms: carried_on(before, told.busy_ms), ..told }
    }
}

struct Disk {
    device: DeviceNumbers,
    /// The disk under it whose flushes the kernel counts.
    flushed: Option<DeviceNumbers>,
    times: CarriedTimes,
}

/// The probe, if the path lies on a block device that the kernel counts.
pub(super) fn open(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let device = device_of(context.storage?)?;
    let flushed = flush_counting_disk(device);
    let mut disk = Disk { device, flushed, times: CarriedTimes::default() };
    disk.read(&mut Counters::default()).ok()?;
    Some(Box::new(disk))
}

impl Probe for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let stats = procfs::diskstats().map_err(|error| error.to_string())?;
        set(&stats, self.device, self.flushed, counters)?;
        self.times.carry_on(counters);
        Ok(())
    }
}

/// `os_disk_*` of one device, and of the disk under it the flushes (requests to empty its write
/// cache, which is how a file is made durable; counted from Linux 5.5 on, but not by partition).
pub(super) fn set(
    stats: &[DiskStat],
    device: DeviceNumbers,
    flushed: Option<DeviceNumbers>,
    counters: &mut Counters,
) -> Result<(), String> {
    let disk = find(stats, device).ok_or_else(|| format!("/proc/diskstats: no device {device}"))?;
    counters.set("os_disk_reads", disk.reads as f64);
    counters.set("os_disk_writes", disk.writes as f64);
    counters.set("os_disk_read_bytes", disk.sectors_read as f64 * SECTOR_BYTES);
    counters.set("os_disk_write_bytes", disk.sectors_written as f64 * SECTOR_BYTES);
    counters.set("os_disk_read_s", disk.time_reading as f64 / 1000.0);
    counters.set("os_disk_write_s", disk.time_writing as f64 / 1000.0);
    counters.set("os_disk_busy_s", disk.time_in_progress as f64 / 1000.0);
    if let Some(flushes) = flushed.and_then(|disk| find(stats, disk)?.flushes) {
        counters.set("os_disk_flushes", flushes as f64);
    }
    Ok(())
}

fn find(stats: &[DiskStat], device: DeviceNumbers) -> Option<&DiskStat> {
    stats.iter().find(|disk| disk.major == device.major as i32 && disk.minor == device.minor as i32)
}

#[cfg(test)]
mod tests {
    use procfs::{DiskStats, FromBufRead};

    use super::*;

    fn read_fixture() -> Vec<DiskStat> {
        let file: &[u8] = include_bytes!("../../../../tests/fixtures/proc/diskstats");
        DiskStats::from_buf_read(file).unwrap().0
    }

    const DISK: DeviceNumbers = DeviceNumbers { major: 254, minor: 0 };
    const PARTITION: DeviceNumbers = DeviceNumbers { major: 254, minor: 1 };
    const UNKNOWN: DeviceNumbers = DeviceNumbers { major: 8, minor: 0 };

    #[test]
    fn reads_the_line_of_the_device() {
        let mut counters = Counters::default();
        set(&read_fixture(), PARTITION, Some(DISK), &mut counters).unwrap();
        assert_eq!(counters.get("os_disk_reads"), Some(12_900.0));
        assert_eq!(counters.get("os_disk_write_bytes"), Some(8_820_000.0 * 512.0));
        assert_eq!(counters.get("os_disk_busy_s"), Some(40.0));
    }

    #[test]
    fn times_go_on_where_the_kernels_count_of_32_bits_begins_again() {
        let most = u64::from(u32::MAX);
        let read_s = |times: &mut CarriedTimes, ms: u64| {
            let mut counters = Counters::default();
            counters.set("os_disk_read_s", ms as f64 / 1000.0);
            times.carry_on(&mut counters);
            assert_eq!(counters.0.len(), 1, "what is not told is not known");
            counters.get("os_disk_read_s").unwrap()
        };
        let mut times = CarriedTimes::default();
        let told = [most - 1499, most, 500, 1500].map(|ms| read_s(&mut times, ms));
        assert_eq!(told, [4_294_965.796, 4_294_967.295, 4_294_967.796, 4_294_968.796]);
        assert_eq!(carried_on(Some(2 * (most + 1) + 7), 9), 2 * (most + 1) + 9, "a second time");
        assert_eq!(carried_on(Some(7), 5), 5, "a count that fell is no new begin");
        assert_eq!(carried_on(Some(most + 8), most + 9), most + 9, "more bits are welcome");
        assert_eq!(carried_on(None, 3_000_000_000), 3_000_000_000);
    }

    #[test]
    fn times_of_a_host_that_was_started_anew_fall_with_its_requests() {
        let mut times = CarriedTimes::default();
        let mut read_s = |reads: f64, read_s: f64| {
            let mut counters = Counters::default();
            counters.set("os_disk_reads", reads);
            counters.set("os_disk_read_s", read_s);
            times.carry_on(&mut counters);
            counters.get("os_disk_read_s").unwrap()
        };
        assert_eq!(read_s(9e6, 3_500_000.0), 3_500_000.0);
        assert_eq!(read_s(12.0, 5.0), 5.0, "not 4,294,972 s");
        assert_eq!(read_s(14.0, 6.0), 6.0);
    }

    #[test]
    fn flushes_are_those_of_the_disk_under_a_partition_or_unknown() {
        let flushes = |flushed| {
            let mut counters = Counters::default();
            set(&read_fixture(), PARTITION, flushed, &mut counters).unwrap();
            counters.get("os_disk_flushes")
        };
        assert_eq!(flushes(Some(DISK)), Some(4410.0));
        assert_eq!(flushes(None), None, "the 0 in a partition's line is not a count");
        assert_eq!(flushes(Some(UNKNOWN)), None);
    }

    #[test]
    fn an_unknown_device_is_an_error_and_sets_nothing() {
        let mut counters = Counters::default();
        assert!(set(&read_fixture(), UNKNOWN, None, &mut counters).unwrap_err().contains("8:0"));
        assert_eq!(counters, Counters::default());
    }
}
