//! Memory of a database's processes.

use procfs::ProcError;
use procfs::process::{MemoryMap, Process};

/// Bytes of memory that processes have together, each page counted once, however many of them share
/// it (the sum of their proportional set sizes). Pages of files are left out where the kernel tells
/// them apart: whoever else runs the same program shares them, and their parts shrink and grow with
/// processes that are not ours. None without processes, or if one may not be
/// looked at; one that has ended has none.
pub fn bytes_of(pids: &[u32]) -> Option<u64> {
    let of = |pid: &u32| {
        let Ok(process) = Process::new(i32::try_from(*pid).ok()?) else { return Some(0) };
        match process.smaps_rollup() {
            Ok(rollup) => Some(rollup.memory_map_rollup.0.first().map_or(0, own_bytes)),
            Err(ProcError::PermissionDenied(_)) => None,
            // A process that ends has no memory any more, some time before it is gone.
            Err(_) => Some(0),
        }
    };
    let sum = pids.iter().map(of).sum::<Option<u64>>();
    sum.filter(|bytes| *bytes > 0)
}

/// Bytes of what a process has mapped, but for pages of files where the kernel tells them apart.
fn own_bytes(mapped: &MemoryMap) -> u64 {
    let sizes = &mapped.extension.map;
    match ["Pss_Anon", "Pss_Shmem"].map(|kind| sizes.get(kind)) {
        [Some(own), Some(shared)] => own + shared,
        _ => sizes.get("Pss").copied().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_written_is_counted_and_without_processes_none_is_known() {
        let own = [std::process::id()];
        let before = bytes_of(&own).unwrap();
        let written = vec![1_u8; 64 << 20];
        let after = bytes_of(&own).unwrap();
        assert!(after >= before + (48 << 20), "{before} {after} {}", written.len());
        assert_eq!(bytes_of(&[]), None);
    }
}
