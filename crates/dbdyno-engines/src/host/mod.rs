//! The machine that we run on: its processors and memory, disks, limits and accounts. Facts only;
//! what counts over time is a probe.

use std::ffi::OsString;
use std::path::PathBuf;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

mod account;
mod cloud;
mod cpu_distance;
mod cpu_quota;
mod cpu_time;
mod disclosure;
mod disk;
mod hardware;
pub mod noise;
mod owned;
mod placement;
mod processes;
mod sync;
mod threads;

pub use account::{Account, home_dir, is_root, user_id, user_name};
pub use cpu_distance::{LineTrips, line_trips};
pub use cpu_quota::{CpuGroups, StoppedSeconds};
pub use cpu_time::{process_cpu_s, thread_cpu_s};
pub use disclosure::{disclosure, disclosure_of};
pub use disk::{
    DeviceNumbers, device_in, device_of, flush_counting_disk, free_bytes, is_in_memory,
};
pub use hardware::{machine_memory_bytes, memory_bytes, processors};
pub use owned::{
    Stranger, leads_where_others_want, made_by_others, may_be_run, others_read, stranger_above,
    stranger_at,
};
pub use placement::{Halves, keep_processes_on, keep_thread_on, usable_processors};
pub use processes::sees;
pub use sync::{Sync, SyncFile, SyncTimes, sync_rate};
pub use threads::{ThreadsLeft, threads_left};

/// Lets this process, and the servers that it starts, open so many files if it may not yet; returns
/// how many it may now, none = as many as it likes.
pub fn allow_files(wanted: u64) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.filter(|current| *current < wanted);
    if current.is_some() {
        let current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        // What is refused leaves the limit as it was.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current
}

/// Size in bytes beyond which these processes can write no file (`ulimit -f`), the least of theirs;
/// that of our own process if there are none. None without a limit, or if it cannot be read.
pub fn file_size_limit(processes: &[u32]) -> Option<u64> {
    if processes.is_empty() {
        return getrlimit(Resource::Fsize).current;
    }
    let limits = processes.iter().filter_map(|process| file(&format!("/proc/{process}/limits")));
    limits.filter_map(|limits| most_file_bytes(&limits)).min()
}

/// The limit that holds: `Max file size  1024  unlimited  bytes`.
fn most_file_bytes(limits: &str) -> Option<u64> {
    let values = limits.lines().find_map(|line| line.strip_prefix("Max file size"))?;
    values.split_whitespace().next()?.parse().ok()
}

/// The value of an environment variable; none if it is not set or empty.
pub fn variable(name: &str) -> Option<OsString> {
    not_empty(std::env::var_os(name))
}

/// `value` unless it is empty.
fn not_empty(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

/// Directory of fetched files: `$XDG_CACHE_HOME/dbdyno`; else `/var/cache/dbdyno` for root (a
/// private server's user must be able to reach it), else `~/.cache/dbdyno`. Never in a directory
/// where everybody may make it: what lies there is run.
pub fn cache_dir() -> PathBuf {
    let of_root = || is_root().then(|| PathBuf::from("/var/cache"));
    let base = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(of_root);
    base.unwrap_or_else(|| home_dir().join(".cache")).join("dbdyno")
}

/// The text of a small file, without blanks around it.
fn file(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

/// A fact's name and its value, if it could be found out.
type Fact = (&'static str, Option<String>);

/// The choice in brackets of a kernel setting: `always [madvise] never` is `madvise`.
fn chosen(text: &str) -> String {
    let inner = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map_or_else(|| text.to_string(), |(choice, _)| choice.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_raised_as_far_as_the_system_allows() {
        let before = getrlimit(Resource::Nofile);
        let Some(current) = before.current else { return };
        assert_eq!(allow_files(1), Some(current), "nothing to raise");
        let wanted = current + 10;
        let most = before.maximum.unwrap_or(u64::MAX);
        assert_eq!(allow_files(wanted), Some(wanted.min(most)));
    }

    #[test]
    fn the_limit_of_file_sizes_is_the_least_of_the_processes() {
        let limits = |size: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max cpu time              10                   unlimited            seconds   \n\
                 Max file size             {size:<20} unlimited            bytes     \n"
            )
        };
        assert_eq!(most_file_bytes(&limits("20480000")), Some(20_480_000));
        assert_eq!(most_file_bytes(&limits("unlimited")), None);
        assert_eq!(most_file_bytes(""), None);
        let own = getrlimit(Resource::Fsize).current;
        assert_eq!(file_size_limit(&[]), own);
        assert_eq!(file_size_limit(&[std::process::id(), u32::MAX]), own);
    }

    #[test]
    fn a_variable_that_is_empty_counts_as_not_set() {
        assert_eq!(not_empty(Some("value".into())), Some("value".into()));
        assert_eq!(not_empty(Some("".into())), None);
        assert_eq!(not_empty(None), None);
        assert_eq!(variable("DBDYNO_TEST_NAME_THAT_NOBODY_SETS"), None);
    }

    #[test]
    fn the_choice_is_what_stands_in_brackets() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }
}
