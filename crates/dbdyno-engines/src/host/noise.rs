//! Causes of noise on this machine: other processes that use it now, and its settings.

use std::collections::BTreeMap;
use std::time::Duration;

use procfs::process::all_processes;
use procfs::{Current, CurrentSI, KernelStats, Meminfo};

use super::{chosen, file};

/// A disturbance is worth a word from this share of the processors' time.
const WORTH: f64 = 0.005;
/// Most programs named.
const NAMED: usize = 3;

/// A cause of noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// Finding, as a sentence without its end.
    pub found: String,
    /// Advice.
    pub advice: String,
    /// Weight of the cause: a share of the CPU time if it was measured; unmeasured causes rank
    /// below.
    pub weight: f64,
}

impl Cause {
    /// A cause that was not measured, but is known to matter; of two the one that is named first
    /// matters more.
    pub fn unmeasured(found: impl Into<String>, advice: impl Into<String>, rank: usize) -> Cause {
        Cause { found: found.into(), advice: advice.into(), weight: WORTH / (2 + rank) as f64 }
    }
}

/// Looks at the machine for a while, in which we do nothing; the causes that were found, the worst
/// first.
pub fn causes(look: Duration) -> Vec<Cause> {
    let before = CpuTimes::now();
    std::thread::sleep(look);
    let measured = before
        .zip(CpuTimes::now())
        .map(|(before, after)| disturbances(&before, &after))
        .unwrap_or_default();
    sort_by_weight(measured.into_iter().chain(settings()).collect())
}

/// The worst first.
pub fn sort_by_weight(mut causes: Vec<Cause>) -> Vec<Cause> {
    causes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    causes
}

/// Processor time so far, in ticks.
#[derive(Debug, Clone, Default, PartialEq)]
struct CpuTimes {
    all: u64,
    busy: u64,
    steal: u64,
    /// By process id: name and ticks.
    programs: BTreeMap<i32, (String, u64)>,
    pages_swapped: u64,
}

impl CpuTimes {
    fn now() -> Option<CpuTimes> {
        let cpu = KernelStats::current().ok()?.total;
        let steal = cpu.steal.unwrap_or(0);
        let busy =
            cpu.user + cpu.nice + cpu.system + cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0);
        let all = busy + steal + cpu.idle + cpu.iowait.unwrap_or(0);
        let stats = all_processes().ok()?.flatten().filter_map(|process| process.stat().ok());
        let programs =
            stats.map(|stat| (stat.pid, (stat.comm.clone(), stat.utime + stat.stime))).collect();
        let swapped = procfs::vmstat().ok()?;
        let swapped =
            ["pswpin", "pswpout"].iter().filter_map(|name| swapped.get(*name)).sum::<i64>();
        Some(CpuTimes { all, busy, steal, programs, pages_swapped: swapped.max(0) as u64 })
    }
}

fn disturbances(before: &CpuTimes, after: &CpuTimes) -> Vec<Cause> {
    let all = after.all.saturating_sub(before.all).max(1) as f64;
    let share = |before: u64, after: u64| after.saturating_sub(before) as f64 / all;
    let (busy, steal) = (share(before.busy, after.busy), share(before.steal, after.steal));
    let names = busiest(before, after).join(", ");
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let others = Cause {
        found: format!("other processes use {} of the CPUs: {names}", percent(busy)),
        advice: "stop them, or measure when they rest".into(),
        weight: busy,
    };
    let stolen = Cause {
        found: format!("steal time is {} of the CPU time", percent(steal)),
        advice: "use a machine with CPUs of its own, or --retry-disturbed".into(),
        weight: steal,
    };
    let swapping = (after.pages_swapped > before.pages_swapped).then(|| Cause {
        found: format!(
            "{} pages were swapped meanwhile",
            after.pages_swapped - before.pages_swapped
        ),
        advice: "free memory, or choose a smaller --profile".into(),
        weight: 1.0,
    });
    [others, stolen].into_iter().filter(|cause| cause.weight >= WORTH).chain(swapping).collect()
}

/// The programs that used most of the processors, by name.
fn busiest(before: &CpuTimes, after: &CpuTimes) -> Vec<String> {
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (pid, (name, ticks)) in &after.programs {
        let known = before.programs.get(pid).map_or(0, |(_, ticks)| *ticks);
        *by_name.entry(name).or_default() += ticks.saturating_sub(known);
    }
    let mut used: Vec<(&str, u64)> = by_name.into_iter().filter(|(_, ticks)| *ticks > 0).collect();
    used.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
    used.into_iter().take(NAMED).map(|(name, _)| name.to_string()).collect()
}

/// Memory that is swapped out. A container's own view of it may show more free than there is.
fn swapped_bytes(memory: &Meminfo) -> u64 {
    memory.swap_total.saturating_sub(memory.swap_free)
}

/// Settings of the machine that make figures vary.
fn settings() -> Vec<Cause> {
    let governor = file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let pages = file("/sys/kernel/mm/transparent_hugepage/enabled").map(|text| chosen(&text));
    let swap = Meminfo::current().ok().map(|memory| swapped_bytes(&memory));
    let numa = file("/proc/sys/kernel/numa_balancing");
    let found = [
        governor.filter(|governor| governor != "performance").map(|governor| {
            let advice = "cpupower frequency-set -g performance";
            let found = format!(
                "the frequency governor is {governor}: CPUs change their clock with the load"
            );
            (found, advice)
        }),
        pages.filter(|pages| pages == "always").map(|_| {
            let advice = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
            let found = "transparent huge pages are always on: the kernel compacts memory while it \
                         is measured";
            (found.into(), advice)
        }),
        swap.filter(|bytes| *bytes > 0).map(|bytes| {
            let found = format!("{} MB are swapped out and may come back", bytes / 1_000_000);
            (found, "swapoff -a, if memory suffices")
        }),
        numa.filter(|value| value != "0").map(|_| {
            let advice = "sysctl kernel.numa_balancing=0";
            ("automatic NUMA balancing moves pages while they are used".into(), advice)
        }),
    ];
    let ranked = found.into_iter().enumerate();
    ranked
        .filter_map(|(rank, cause)| {
            cause.map(|(found, advice)| Cause::unmeasured(found, advice, rank))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(all: u64, busy: u64, steal: u64, programs: &[(i32, &str, u64)]) -> CpuTimes {
        let programs =
            programs.iter().map(|(pid, name, ticks)| (*pid, (name.to_string(), *ticks))).collect();
        CpuTimes { all, busy, steal, programs, pages_swapped: 0 }
    }

    #[test]
    fn what_was_measured_comes_first_with_the_programs_behind_it() {
        let before = look(1000, 100, 10, &[(1, "make", 50), (2, "cc1", 10), (3, "idle", 5)]);
        let after = look(
            1400,
            300,
            30,
            &[(1, "make", 60), (2, "cc1", 100), (3, "idle", 5), (4, "cc1", 90), (5, "ld", 1)],
        );
        let found = sort_by_weight(
            disturbances(&before, &after)
                .into_iter()
                .chain([Cause::unmeasured("x", "y", 0)])
                .collect(),
        );
        let texts: Vec<&str> = found.iter().map(|cause| cause.found.as_str()).collect();
        let others = "other processes use 50.0 % of the CPUs: cc1, make, ld";
        assert_eq!(texts, [others, "steal time is 5.0 % of the CPU time", "x"]);
    }

    #[test]
    fn a_machine_at_rest_has_no_disturbance() {
        let before = look(1000, 100, 10, &[]);
        assert_eq!(disturbances(&before, &look(2000, 104, 14, &[])), []);
        let swapping = CpuTimes { pages_swapped: 8, ..look(2000, 100, 10, &[]) };
        assert_eq!(disturbances(&before, &swapping)[0].found, "8 pages were swapped meanwhile");
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let (before, after) = (CpuTimes::now().unwrap(), CpuTimes::now().unwrap());
        assert!(after.all >= before.all && !after.programs.is_empty());
    }
}
