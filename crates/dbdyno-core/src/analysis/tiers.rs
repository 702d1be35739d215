//! Sources of reads: the database's own cache, the cache of the operating system, the device.
//!
//! The database counts the blocks that it looked for and those that it had to ask the operating
//! system for. What the device had to read is known from the kernel's account of the database's
//! processes, or of the device as a whole, where other programs' reads count too. The rest came
//! from the cache of the operating system.

use super::missing::not_known;
use crate::model::{Counters, Sentence, TestResult};

/// The counter name under which claims find [`device_read_bytes`].
pub const DEVICE_READ_BYTES: &str = "device_read_bytes";
/// Fact: 1 if the files of the tables to evict were put out of the operating system's cache, else
/// 0.
pub const EVICTED: &str = "evicted";
/// Fact: 1 if the amount that the device read is known, else 0.
pub const DEVICE_KNOWN: &str = "device_known";
/// Share of the reads below which a tier's time is not stated, because it would be the error of the
/// other tiers' times.
const MIN_SHARE: f64 = 0.05;

/// Bytes that the device read for the database: by its processes if they can be seen, else by
/// anyone.
pub fn device_read_bytes(counters: &Counters) -> Option<f64> {
    counters.get("server_read_bytes").or_else(|| counters.get("os_disk_read_bytes"))
}

/// Reads by other processes in the window, from the device that holds the database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForeignReads {
    /// Bytes that other processes read.
    pub bytes: f64,
    /// Bytes that the device read in total.
    pub of_bytes: f64,
    /// Share of the window in which the device worked for them, estimated from its bytes: a part of
    /// its busy time.
    pub time_share: f64,
}

/// Reads by other processes: all that the device read, less those that the kernel accounts to the
/// database's processes. Absent if one of the two is not known, and if the database itself did not
/// use the device, because reads by others then take nothing from it. Writes cannot be assigned to
/// processes: the kernel writes later.
pub fn foreign_reads(result: &TestResult) -> Option<ForeignReads> {
    let get = |name: &str| result.window_counters.get(name);
    let (read, written) = (get("os_disk_read_bytes")?, get("os_disk_write_bytes")?);
    let (own, busy_s) = (get("server_read_bytes")?, get("os_disk_busy_s")?);
    let uses_it = own > 0.0 || get("wal_syncs").is_some_and(|syncs| syncs > 0.0);
    let bytes = (read - own).max(0.0);
    let time_share = busy_s / result.window_s * bytes / (read + written);
    (uses_it && time_share.is_finite()).then_some(ForeignReads {
        bytes,
        of_bytes: read,
        time_share,
    })
}

/// Stores as facts of the result whether files were evicted from the operating system's cache, and
/// whether the amount that the device read is known.
pub fn keep_eviction(result: &mut TestResult, evicted: bool) {
    let known = device_read_bytes(&result.counters).is_some();
    result.facts.insert(EVICTED.into(), f64::from(u8::from(evicted)));
    result.facts.insert(DEVICE_KNOWN.into(), f64::from(u8::from(known)));
}

/// Blocks by the tier that served them, over the whole test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tiers {
    /// Blocks from the database's buffer cache.
    pub buffer: f64,
    /// Blocks from the cache of the operating system.
    pub os_cache: f64,
    /// Blocks from the device.
    pub device: f64,
}

impl Tiers {
    /// All blocks that were looked for.
    pub fn all(&self) -> f64 {
        self.buffer + self.os_cache + self.device
    }
    /// Blocks that the database had to ask for.
    pub fn requested_blocks(&self) -> f64 {
        self.os_cache + self.device
    }
}

/// The tiers of a result. The device reads ahead, also blocks that are not needed: then it served
/// all that was requested.
///
/// # Errors
/// The counter that is missing.
pub fn tiers(result: &TestResult, block_bytes: f64) -> Result<Tiers, Sentence> {
    let known = |value: Option<f64>, name: &str| value.ok_or_else(|| not_known(name));
    let looked_for = known(result.counters.get("logical_reads"), "logical_reads")?;
    let asked = known(result.counters.get("physical_reads"), "physical_reads")?.min(looked_for);
    let read = known(device_read_bytes(&result.counters), DEVICE_READ_BYTES)? / block_bytes;
    let device = read.min(asked);
    Ok(Tiers { buffer: looked_for - asked, os_cache: asked - device, device })
}

/// Mean time of a request of the device, in ms.
///
/// # Errors
/// The counter that is missing, or that there were no requests.
pub fn device_read_ms(result: &TestResult) -> Result<f64, Sentence> {
    let get = |name: &str| result.counters.get(name).ok_or_else(|| not_known(name));
    match get("os_disk_reads")? {
        0.0 => Err("the device read nothing".into()),
        requests => Ok(get("os_disk_read_s")? * 1000.0 / requests),
    }
}

/// Mean time of a block from the operating system's cache, in ms: the time that the database waited
/// for reads, less the time of the device's requests.
///
/// # Errors
/// The counter that is missing, or that too few blocks came from there.
pub fn os_cache_read_ms(result: &TestResult, tiers: &Tiers) -> Result<f64, Sentence> {
    let get = |name: &str| result.counters.get(name).ok_or_else(|| not_known(name));
    if tiers.os_cache < MIN_SHARE * tiers.requested_blocks() {
        return Err("too few reads came from the operating system's cache".into());
    }
    let rest_ms = get("physical_read_time_ms")? - get("os_disk_read_s")? * 1000.0;
    if rest_ms <= 0.0 {
        return Err("the device read ahead: its time overlaps with that of the other tiers".into());
    }
    Ok(rest_ms / tiers.os_cache)
}

/// Mean time of a block found in the database's own cache, in ms: the jobs' time less what they
/// waited for reads. It holds all other work of the statement, and so is an upper limit.
///
/// # Errors
/// The counter that is missing, or that too few blocks were found there.
pub fn buffer_read_ms(result: &TestResult, tiers: &Tiers) -> Result<f64, Sentence> {
    let waited_ms = match tiers.requested_blocks() {
        0.0 => 0.0,
        _ => result
            .counters
            .get("physical_read_time_ms")
            .ok_or_else(|| not_known("physical_read_time_ms"))?,
    };
    if tiers.buffer < MIN_SHARE * tiers.all() {
        return Err("too few blocks were found in the database's cache".into());
    }
    Ok((result.total.busy_s * 1000.0 - waited_ms).max(0.0) / tiers.buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    fn result(counters: &[(&str, f64)]) -> TestResult {
        let mut result = fixture::result();
        result.total.busy_s = 24.0;
        result.counters = fixture::counters(counters);
        result
    }

    const READS: [(&str, f64); 3] =
        [("logical_reads", 1000.0), ("physical_reads", 400.0), ("physical_read_time_ms", 60.0)];

    #[test]
    fn what_the_device_did_not_read_came_from_a_cache() {
        let read =
            [&READS[..], &[("server_read_bytes", 100.0 * 8192.0), ("os_disk_read_bytes", 1e9)]]
                .concat();
        let tiers = tiers(&result(&read), 8192.0).unwrap();
        assert_eq!(tiers, Tiers { buffer: 600.0, os_cache: 300.0, device: 100.0 });
    }

    #[test]
    fn reading_ahead_makes_no_tier_negative() {
        let read = [&READS[..], &[("os_disk_read_bytes", 1e9)]].concat();
        let tiers = tiers(&result(&read), 8192.0).unwrap();
        assert_eq!(tiers, Tiers { buffer: 600.0, os_cache: 0.0, device: 400.0 });
        assert!(
            os_cache_read_ms(&result(&read), &tiers).unwrap_err().to_string().contains("too few")
        );
    }

    #[test]
    fn times_by_hand() {
        let disk = [
            ("os_disk_read_bytes", 100.0 * 8192.0),
            ("os_disk_reads", 50.0),
            ("os_disk_read_s", 0.03),
        ];
        let result = result(&[&READS[..], &disk].concat());
        let tiers = tiers(&result, 8192.0).unwrap();
        assert!((device_read_ms(&result).unwrap() - 0.6).abs() < 1e-9);
        assert!((os_cache_read_ms(&result, &tiers).unwrap() - 0.1).abs() < 1e-9);
        assert!((buffer_read_ms(&result, &tiers).unwrap() - 23_940.0 / 600.0).abs() < 1e-9);
    }

    #[test]
    fn a_missing_counter_is_named() {
        assert!(
            tiers(&result(&READS), 8192.0).unwrap_err().to_string().contains(DEVICE_READ_BYTES)
        );
        assert!(device_read_ms(&result(&READS)).unwrap_err().to_string().contains("os_disk_reads"));
    }
}
