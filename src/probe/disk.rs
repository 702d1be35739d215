//! I/O of the device behind the database's files, from `/proc/diskstats`.

use crate::model::Counters;

use super::file::ProcFile;
use super::mount::{self, Mount};
use super::{Probe, ProbeContext};

/// Bytes of a sector in `/proc/diskstats`, whatever the device's own sector size is (kernel, Documentation/block/stat).
const SECTOR_BYTES: f64 = 512.0;

/// Major and minor number of a device.
type Device = (u32, u32);

struct Disk {
    file: ProcFile,
    device: Device,
    /// The disk under it whose flushes the kernel counts.
    flushed: Option<Device>,
}

/// The probe, if the path lies on a block device that the kernel counts.
pub(super) fn open(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let device = Mount::of(context.storage?)?.device()?;
    let flushed = mount::flush_counting_disk(device);
    let mut disk = Disk { file: ProcFile::open("/proc/diskstats")?, device, flushed };
    disk.read(&mut Counters::default()).ok()?;
    Some(Box::new(disk))
}

impl Probe for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        parse(self.file.read()?, self.device, self.flushed, counters)
    }
}

/// `os_disk_*` of one device, and of the disk under it the flushes, which the kernel does not count by partition.
/// Columns: kernel, Documentation/admin-guide/iostats.rst.
fn parse(text: &str, device: Device, flushed: Option<Device>, counters: &mut Counters) -> Result<(), String> {
    let (major, minor) = device;
    let fields = fields(text, device).ok_or_else(|| format!("/proc/diskstats: no device {major}:{minor}"))?;
    let [reads, _, sectors_read, read_ms, writes, _, sectors_written, _, _, busy_ms, ..] = fields[..] else {
        return Err(format!("/proc/diskstats: too few columns for {major}:{minor}"));
    };
    counters.set("os_disk_reads", reads);
    counters.set("os_disk_writes", writes);
    counters.set("os_disk_read_bytes", sectors_read * SECTOR_BYTES);
    counters.set("os_disk_write_bytes", sectors_written * SECTOR_BYTES);
    counters.set("os_disk_read_s", read_ms / 1000.0);
    counters.set("os_disk_busy_s", busy_ms / 1000.0);
    if let Some(flushes) = flushed.and_then(|disk| flushes(text, disk)) {
        counters.set("os_disk_flushes", flushes);
    }
    Ok(())
}

/// From Linux 5.5 on: requests to empty the disk's write cache, which is how a file is made durable.
fn flushes(text: &str, disk: Device) -> Option<f64> {
    fields(text, disk)?.get(15).copied()
}

/// The numbers in a device's line.
fn fields(text: &str, (major, minor): Device) -> Option<Vec<f64>> {
    let device = [major.to_string(), minor.to_string()];
    let line = text.lines().find(|line| line.split_ascii_whitespace().take(2).eq(device.iter().map(String::as_str)))?;
    Some(line.split_ascii_whitespace().skip(3).filter_map(|field| field.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../tests/fixtures/proc/diskstats");

    #[test]
    fn reads_the_line_of_the_device() {
        let mut counters = Counters::default();
        parse(FILE, (254, 1), Some((254, 0)), &mut counters).unwrap();
        assert_eq!(counters.get("os_disk_reads"), Some(12_900.0));
        assert_eq!(counters.get("os_disk_write_bytes"), Some(8_820_000.0 * 512.0));
        assert_eq!(counters.get("os_disk_busy_s"), Some(40.0));
    }

    #[test]
    fn flushes_are_those_of_the_disk_under_a_partition_or_unknown() {
        let flushes = |flushed| {
            let mut counters = Counters::default();
            parse(FILE, (254, 1), flushed, &mut counters).unwrap();
            counters.get("os_disk_flushes")
        };
        assert_eq!(flushes(Some((254, 0))), Some(4410.0));
        assert_eq!(flushes(None), None, "the 0 in a partition's line is not a count");
        assert_eq!(flushes(Some((8, 0))), None);
    }

    #[test]
    fn an_unknown_device_is_an_error_and_sets_nothing() {
        let mut counters = Counters::default();
        assert!(parse(FILE, (8, 0), None, &mut counters).unwrap_err().contains("8:0"));
        assert_eq!(counters, Counters::default());
    }
}
