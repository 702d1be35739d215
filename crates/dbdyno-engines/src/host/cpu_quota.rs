//! CPU quotas of control groups, of containers and services: how many CPUs the processes in them
//! may use on average, and how long the kernel stopped them because that was used up.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::file;
use super::hardware::group_files;

/// Files with the quota of a control group: of the unified hierarchy with its period, of the older
/// one without.
const QUOTA_FILES: [&str; 2] = ["cpu.max", "cpu.cfs_quota_us"];
/// File with the period, beside the older one.
const PERIOD_FILE: &str = "cpu.cfs_period_us";
/// File with the statistics of a quota.
const STATISTICS_FILE: &str = "cpu.stat";
/// Start of the path of a group outside the one whose files are visible.
const ELSEWHERE: &str = "/..";

/// Seconds that quotas stopped processes, as the control groups report them at one moment, by the
/// file of the quota. Processes that share a quota share its time.
pub type StoppedSeconds = BTreeMap<String, Option<f64>>;

/// Control groups that may limit the CPU time of processes: their own, and all around those.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuGroups {
    /// Files of their quotas.
    quotas: BTreeSet<String>,
}

impl CpuGroups {
    /// Those of these processes, as far as the system shows them; none if it shows none, as where
    /// no group has a limit of its own.
    pub fn around(processes: &[u32]) -> Option<CpuGroups> {
        let groups: BTreeSet<String> = processes
            .iter()
            .filter_map(|process| file(&format!("/proc/{process}/cgroup")))
            .collect();
        let quotas = groups.iter().flat_map(|groups| quota_files(groups));
        let quotas: BTreeSet<String> = quotas.filter(|path| file(path).is_some()).collect();
        (!quotas.is_empty()).then_some(CpuGroups { quotas })
    }

    /// CPUs that the tightest of their quotas allows on average; none without a quota.
    pub fn quota_cpus(&self) -> Option<f64> {
        tightest(&self.quotas, file)
    }

    /// Seconds so far for which quotas stopped the groups, summed over CPUs; none if the kernel
    /// does not tell. `known` has what was read before at the same moment.
    pub fn stopped_s(&self, known: &mut StoppedSeconds) -> Option<f64> {
        let mut sum: Option<f64> = None;
        for quota in &self.quotas {
            let told = *known.entry(quota.clone()).or_insert_with(|| stopped_by(quota));
            sum = told.map(|told| sum.unwrap_or(0.0) + told).or(sum);
        }
        sum
    }
}

/// Seconds so far for which the quota in this file stopped its group.
fn stopped_by(quota: &str) -> Option<f64> {
    let path = Path::new(quota).with_file_name(STATISTICS_FILE);
    stopped_s(&file(path.to_str()?)?)
}

/// Files of quotas that hold for a process, whose groups `/proc/pid/cgroup` names so.
fn quota_files(groups: &str) -> Vec<String> {
    // Of a group beside ours, in another container, nothing is seen: not even what is around it.
    let ours = groups.lines().filter(|line| !line.contains(ELSEWHERE));
    group_files(&ours.collect::<Vec<_>>().join("\n"), "cpu", QUOTA_FILES)
}

/// The least of the quotas in these files; `read` gives the text of a file.
fn tightest(quotas: &BTreeSet<String>, read: impl Fn(&str) -> Option<String>) -> Option<f64> {
    let [_, older] = QUOTA_FILES;
    let of = |path: &String| {
        let quota = read(path)?;
        let period = read(&path.replace(older, PERIOD_FILE));
        cpus(&quota, period.as_deref())
    };
    quotas.iter().filter_map(of).min_by(f64::total_cmp)
}

/// CPUs that a quota allows: `400000 100000` or `max 100000` in us, or a quota alone, which is -1
/// if there is none, with its period.
fn cpus(quota: &str, period: Option<&str>) -> Option<f64> {
    let (quota, period) = match quota.split_once(' ') {
        Some(both) => both,
        None => (quota, period?),
    };
    let quota: f64 = quota.trim().parse().ok()?;
    let period: f64 = period.trim().parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// Seconds for which its own quota stopped a group, summed over CPUs (kernel, sched-bwc): in us, or
/// in ns in the older hierarchy. A group without the controller has no such line.
fn stopped_s(statistics: &str) -> Option<f64> {
    let seconds = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        let per_s = match name {
            "throttled_usec" => 1e6,
            "throttled_time" => 1e9,
            _ => return None,
        };
        Some(value.trim().parse::<f64>().ok()? / per_s)
    };
    statistics.lines().find_map(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tightest of the quotas in these files, for a process in these groups.
    fn quota(groups: &str, files: &[(&str, &str)]) -> Option<f64> {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| format!("/sys/fs/cgroup{name}") == path);
            found.map(|(_, text)| (*text).to_string())
        };
        tightest(&quota_files(groups).into_iter().collect(), read)
    }

    #[test]
    fn the_tightest_quota_of_the_own_group_and_of_all_around_it_counts() {
        let nested = [
            ("/machine/pod/one/cpu.max", "max 100000"),
            ("/machine/pod/cpu.max", "400000 100000"),
            ("/machine/cpu.max", "1600000 100000"),
        ];
        assert_eq!(quota("0::/machine/pod/one\n", &nested), Some(4.0));
        assert_eq!(quota("0::/machine/other\n", &nested), Some(16.0));
        assert_eq!(quota("0::/\n", &nested), None, "the machine's own group has no quota");
        assert_eq!(quota("0::/\n", &[("/cpu.max", "50000 100000")]), Some(0.5), "a container");
        assert_eq!(quota("0::/../beside\n", &[("/cpu.max", "50000 100000")]), None);
    }

    #[test]
    fn the_older_hierarchy_has_quota_and_period_in_files_of_their_own() {
        let groups = "9:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n0::/system.slice\n";
        let period = ("/cpu/docker/x/cpu.cfs_period_us", "100000");
        let of = |quota| ("/cpu/docker/x/cpu.cfs_quota_us", quota);
        assert_eq!(quota(groups, &[of("150000"), period]), Some(1.5));
        assert_eq!(quota(groups, &[of("-1"), period]), None);
        assert_eq!(quota(groups, &[of("150000")]), None, "of what period?");
        assert_eq!(quota("", &[of("150000"), period]), None);
    }

    #[test]
    fn seconds_are_those_for_which_the_kernel_stopped_the_group() {
        let unified = "usage_usec 9000000\nuser_usec 8000000\nsystem_usec 1000000\nnr_periods 90\n\
                       nr_throttled 40\nthrottled_usec 2500000\nnr_bursts 0\nburst_usec 0\n";
        assert_eq!(stopped_s(unified), Some(2.5));
        let older = "nr_periods 90\nnr_throttled 40\nthrottled_time 2500000000\n";
        assert_eq!(stopped_s(older), Some(2.5));
        assert_eq!(stopped_s("usage_usec 9000000\nuser_usec 8000000\n"), None, "no controller");
        assert_eq!(stopped_s(""), None);
    }

    #[test]
    fn groups_that_are_known_are_not_read_again_and_a_shared_one_has_one_time() {
        let groups = |paths: &[&str]| CpuGroups {
            quotas: paths.iter().map(|path| (*path).to_string()).collect(),
        };
        let own = groups(&["/nowhere/cpu.max", "/nowhere/a/cpu.max", "/nowhere/a/b/cpu.max"]);
        let mut known = StoppedSeconds::from([
            ("/nowhere/cpu.max".to_string(), None),
            ("/nowhere/a/cpu.max".to_string(), Some(1.25)),
            ("/nowhere/a/b/cpu.max".to_string(), Some(0.0)),
        ]);
        assert_eq!(own.stopped_s(&mut known), Some(1.25));
        assert_eq!(groups(&["/nowhere/a/cpu.max"]).stopped_s(&mut known), Some(1.25));
        assert_eq!(groups(&["/nowhere/cpu.max", "/none/cpu.max"]).stopped_s(&mut known), None);
        assert_eq!(known.len(), 4);
    }

    #[test]
    fn processes_that_are_gone_have_no_groups() {
        assert_eq!(CpuGroups::around(&[]), None);
        assert_eq!(CpuGroups::around(&[u32::MAX]), None);
    }
}
