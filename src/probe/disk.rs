//! I/O of the device behind the database's files, from `/proc/diskstats`.

use crate::model::Counters;

use super::file::ProcFile;
use super::mount::Mount;
use super::{Probe, ProbeContext};

/// Bytes of a sector in `/proc/diskstats`, whatever the device's own sector size is (kernel, Documentation/block/stat).
const SECTOR_BYTES: f64 = 512.0;

struct Disk {
    file: ProcFile,
    major: u32,
    minor: u32,
}

/// The probe, if the path lies on a block device that the kernel counts.
pub(super) fn open(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let (major, minor) = Mount::of(context.storage?)?.device()?;
    let mut disk = Disk { file: ProcFile::open("/proc/diskstats")?, major, minor };
    disk.read(&mut Counters::default()).ok()?;
    Some(Box::new(disk))
}

impl Probe for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        parse(self.file.read()?, (self.major, self.minor), counters)
    }
}

/// `os_disk_*` of one device. Columns: kernel, Documentation/admin-guide/iostats.rst.
fn parse(text: &str, (major, minor): (u32, u32), counters: &mut Counters) -> Result<(), String> {
    let device = [major.to_string(), minor.to_string()];
    let line = text.lines().find(|line| line.split_ascii_whitespace().take(2).eq(device.iter().map(String::as_str)));
    let missing = || format!("/proc/diskstats: no device {major}:{minor}");
    let fields: Vec<f64> =
        line.ok_or_else(missing)?.split_ascii_whitespace().skip(3).filter_map(|field| field.parse().ok()).collect();
    let [reads, _, sectors_read, read_ms, writes, _, sectors_written, _, _, busy_ms, ..] = fields[..] else {
        return Err(format!("/proc/diskstats: too few columns for {major}:{minor}"));
    };
    counters.set("os_disk_reads", reads);
    counters.set("os_disk_writes", writes);
    counters.set("os_disk_read_bytes", sectors_read * SECTOR_BYTES);
    counters.set("os_disk_write_bytes", sectors_written * SECTOR_BYTES);
    counters.set("os_disk_read_s", read_ms / 1000.0);
    counters.set("os_disk_busy_s", busy_ms / 1000.0);
    // From Linux 5.5 on: requests to empty the device's write cache, which is how a file is made durable.
    if let Some(&flushes) = fields.get(15) {
        counters.set("os_disk_flushes", flushes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../tests/fixtures/proc/diskstats");

    #[test]
    fn reads_the_line_of_the_device() {
        let mut counters = Counters::default();
        parse(FILE, (254, 1), &mut counters).unwrap();
        assert_eq!(counters.get("os_disk_reads"), Some(12_900.0));
        assert_eq!(counters.get("os_disk_write_bytes"), Some(8_820_000.0 * 512.0));
        assert_eq!(counters.get("os_disk_busy_s"), Some(40.0));
        assert_eq!(counters.get("os_disk_flushes"), Some(0.0));
    }

    #[test]
    fn an_unknown_device_is_an_error_and_sets_nothing() {
        let mut counters = Counters::default();
        assert!(parse(FILE, (8, 0), &mut counters).unwrap_err().contains("8:0"));
        assert_eq!(counters, Counters::default());
    }
}
