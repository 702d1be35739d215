//! Threads that may still be started: what a user, a control group or an address space allows.

use procfs::page_size;
use procfs::process::{Process, all_processes};
use rustix::process::{Resource, getrlimit};

use super::file;
use super::hardware::{group_files, processors};

/// Capabilities that set a user's limit aside (`capabilities(7)`): CAP_SYS_ADMIN, CAP_SYS_RESOURCE.
const ABOVE_LIMITS: u64 = 1 << 21 | 1 << 24;
/// Address space that is no thread's: files, caches, results.
const OTHER_BYTES: u64 = 256 << 20;
/// Address space of a thread: its stack, and what it allocates.
const THREAD_BYTES: u64 = 4 << 20;
/// Address space that the C library reserves for what a thread allocates; of all threads at most so
/// many for each processor (`mallopt(3)`, M_ARENA_MAX).
const ARENA_BYTES: u64 = 64 << 20;
const ARENAS_PER_PROCESSOR: u64 = 8;

/// Threads that may still be started, and what limits them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadsLeft {
    /// Number of threads that this process and its children may still start.
    pub free: u64,
    /// `threads of this user = 60, 20 in use, ulimit -u`.
    pub limit: String,
}

/// The least of what is allowed; none if nothing limits threads, or that cannot be read.
pub fn threads_left() -> Option<ThreadsLeft> {
    [by_user(), by_groups(), by_address_space()].into_iter().flatten().min_by_key(|left| left.free)
}

fn remaining(what: &str, most: u64, used: u64, setting: &str) -> ThreadsLeft {
    let limit = format!("{what} = {most}, {used} in use, {setting}");
    ThreadsLeft { free: most.saturating_sub(used), limit }
}

/// Threads of all processes of our user count.
fn by_user() -> Option<ThreadsLeft> {
    let most = getrlimit(Resource::Nproc).current?;
    let own = Process::myself().ok()?.status().ok()?;
    if own.ruid == 0 || own.capeff & ABOVE_LIMITS != 0 {
        return None;
    }
    let all = all_processes().ok()?.filter_map(|process| process.ok()?.status().ok());
    let used = all.filter(|status| status.ruid == own.ruid).map(|status| status.threads).sum();
    Some(remaining("threads of this user", most, used, "ulimit -u"))
}

/// Limit of our control group and all groups around it.
fn by_groups() -> Option<ThreadsLeft> {
    let groups = file("/proc/self/cgroup")?;
    let of = |path: &String| {
        let most = file(path)?.parse().ok()?; // `max` is none
        let used = file(&path.replace("pids.max", "pids.current"))?.parse().ok()?;
        Some(remaining("threads of the control group", most, used, path))
    };
    group_files(&groups, "pids", ["pids.max"; 2]).iter().filter_map(of).min_by_key(|left| left.free)
}

fn by_address_space() -> Option<ThreadsLeft> {
    let most = getrlimit(Resource::As).current?;
    let used = Process::myself().ok()?.statm().ok()?.size * page_size();
    let free = in_address_space(most.saturating_sub(used), u64::from(processors()));
    let megabytes = |bytes: u64| bytes >> 20;
    let limit = format!(
        "address space = {} MiB, {} MiB in use, ulimit -v",
        megabytes(most),
        megabytes(used)
    );
    Some(ThreadsLeft { free, limit })
}

/// Number of threads for which this many bytes of address space are enough.
fn in_address_space(bytes: u64, processors: u64) -> u64 {
    let (room, arenas) = (bytes.saturating_sub(OTHER_BYTES), ARENAS_PER_PROCESSOR * processors);
    let first = (room / (ARENA_BYTES + THREAD_BYTES)).min(arenas);
    let rest = room - first * (ARENA_BYTES + THREAD_BYTES);
    first + if first == arenas { rest / THREAD_BYTES } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_threads_take_more_address_space_than_those_that_follow() {
        assert_eq!(in_address_space(100 << 20, 2), 0);
        assert_eq!(in_address_space(OTHER_BYTES + ((3 * 68) << 20), 2), 3);
        assert_eq!(in_address_space(OTHER_BYTES + ((16 * 68) << 20) + (40 << 20), 2), 16 + 10);
    }

    #[test]
    fn what_limits_threads_is_said_with_its_setting() {
        let left = remaining("threads of this user", 60, 70, "ulimit -u");
        assert_eq!(left.free, 0);
        assert_eq!(left.limit, "threads of this user = 60, 70 in use, ulimit -u");
    }
}
