//! CPUs of the database's host, and their time in percent of all of it: the one definition of
//! "busy".

use super::missing::not_known;
use crate::model::{Named, Sentence, TestResult};

/// Shortest window in which the ticks of 10 ms by which the system counts CPU time show the number
/// of CPUs.
const MIN_WINDOW_S: f64 = 0.05;

/// CPUs of the database's host, from the CPU time counted over the window. None if the window is
/// too short for that.
pub fn processors(result: &TestResult) -> Option<f64> {
    if result.window_s < MIN_WINDOW_S {
        return None;
    }
    let total_s = result.window_counters.get("os_cpu_total_s")?;
    Some((total_s / result.window_s).round()).filter(|number| number.is_finite() && *number >= 1.0)
}

/// True if the CPU figures are those of another machine: dbdyno's process has no part in them.
pub fn is_elsewhere(result: &TestResult) -> bool {
    result.window_counters.get("os_elsewhere").is_some()
}

/// Share of the counter `name` in all CPU time of the period.
///
/// # Errors
/// The reason for which it cannot be had, for a footnote.
pub fn share_pct(counters: &impl Named, name: &str) -> Result<f64, Sentence> {
    let known = |name: &str| counters.get(name).ok_or_else(|| not_known(name));
    let (part_s, total_s) = (known(name)?, known("os_cpu_total_s")?);
    if total_s > 0.0 { Ok(100.0 * part_s / total_s) } else { Err("nothing to divide by".into()) }
}

/// Neither idle, nor waiting for I/O, nor taken by the host of a virtual machine.
///
/// # Errors
/// The reason for which it cannot be had, for a footnote.
pub fn busy_pct(counters: &impl Named) -> Result<f64, Sentence> {
    // Systems without virtual machines below them have no steal figure, some none of waiting.
    let or_none = |name| share_pct(counters, name).unwrap_or(0.0);
    Ok(100.0
        - share_pct(counters, "os_cpu_idle_s")?
        - or_none("os_cpu_iowait_s")
        - or_none("os_cpu_steal_s"))
}

/// CPU time of other processes: neither the database nor dbdyno.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Foreign {
    /// Mean number of processors in their use.
    pub used: f64,
    /// CPUs that the test could use: all except what the hypervisor took.
    pub usable: f64,
    /// Error limit of `used`, in CPUs: the system counts CPU time in ticks.
    pub doubt: f64,
}

/// Length of a tick of the system's account of CPU time, in seconds.
pub(super) const TICK_S: f64 = 0.01;

/// CPU time that other processes used during the window; absent where the database's processes are
/// not known.
///
/// A tick counts for the process that works at its end, so that the account of n busy ticks is off
/// by about the square root of n.
pub fn foreign(result: &TestResult) -> Option<Foreign> {
    let (counters, processors) = (&result.window_counters, processors(result)?);
    let (foreign_s, total_s) = (counters.get("os_cpu_foreign_s")?, counters.get("os_cpu_total_s")?);
    let busy_s = busy_pct(counters).ok()? / 100.0 * total_s;
    let as_processors = |s: f64| s / total_s * processors;
    let stolen = as_processors(counters.get("os_cpu_steal_s").unwrap_or(0.0));
    let doubt = as_processors((busy_s.max(0.0) * TICK_S).sqrt());
    Some(Foreign { used: as_processors(foreign_s.max(0.0)), usable: processors - stolen, doubt })
}

/// Share of other programs in all CPU time of the period.
///
/// # Errors
/// The reason for which it cannot be had, for a footnote.
pub fn foreign_pct(counters: &impl Named) -> Result<f64, Sentence> {
    // Two accounts of the same time differ by a tick here and there.
    share_pct(counters, "os_cpu_foreign_s").map(|percent| percent.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::counters;

    #[test]
    fn busy_is_what_is_neither_idle_nor_waiting_nor_stolen() {
        let all = [
            ("os_cpu_total_s", 4.0),
            ("os_cpu_idle_s", 1.0),
            ("os_cpu_iowait_s", 0.4),
            ("os_cpu_steal_s", 0.2),
        ];
        let busy = |known: usize| {
            busy_pct(&counters(&all[..known])).map(|percent| (percent * 10.0).round())
        };
        assert_eq!((busy(4), busy(3), busy(2)), (Ok(600.0), Ok(650.0), Ok(750.0)));
        assert_eq!(busy(1), Err(not_known("os_cpu_idle_s")));
        assert_eq!(
            busy_pct(&counters(&[("os_cpu_idle_s", 0.0), ("os_cpu_total_s", 0.0)])).ok(),
            None
        );
    }

    #[test]
    fn foreign_time_is_told_as_processors_of_those_that_were_there() {
        // 10 s on 4 processors of which half a one was taken by the host; 36 s busy: +-0.6 s.
        let counters = |foreign_s| {
            let host = [
                ("os_cpu_total_s", 40.0),
                ("os_cpu_idle_s", 0.0),
                ("os_cpu_iowait_s", 0.0),
                ("os_cpu_steal_s", 4.0),
            ];
            counters(&[&host[..], &[("os_cpu_foreign_s", foreign_s)]].concat())
        };
        let of = |foreign_s| {
            let window_counters = counters(foreign_s);
            foreign(&TestResult { window_counters, ..crate::analysis::fixture::result() }).unwrap()
        };
        let Foreign { used, usable, doubt } = of(9.0);
        assert!(
            (used - 0.9).abs() < 1e-12
                && (usable - 3.6).abs() < 1e-12
                && (doubt - 0.06).abs() < 1e-12
        );
        assert_eq!(
            (of(-0.05).used, foreign_pct(&counters(-0.05)), foreign_pct(&counters(9.0))),
            (0.0, Ok(0.0), Ok(22.5))
        );
        assert_eq!(foreign(&crate::analysis::fixture::result()), None);
    }
}
