//! Processors of the database's host, and their time in percent of all of it: the one definition of "busy".

use crate::model::{Counters, TestResult};

/// Processors of the database's host: those whose time was counted over the window.
pub fn processors(result: &TestResult) -> Option<f64> {
    let total_s = result.window_counters.get("os_cpu_total_s")?;
    Some((total_s / result.window_s).round()).filter(|number| number.is_finite() && *number >= 1.0)
}

/// Share of the counter `name` in all CPU time of the period.
///
/// # Errors
/// Why it cannot be had, for a footnote.
pub fn share_pct(counters: &Counters, name: &str) -> Result<f64, String> {
    let known = |name: &str| counters.get(name).ok_or_else(|| format!("{name} is not known here"));
    let (part_s, total_s) = (known(name)?, known("os_cpu_total_s")?);
    if total_s > 0.0 { Ok(100.0 * part_s / total_s) } else { Err("nothing to divide by".into()) }
}

/// Neither idle, nor waiting for I/O, nor taken by the host of a virtual machine.
///
/// # Errors
/// Why it cannot be had, for a footnote.
pub fn busy_pct(counters: &Counters) -> Result<f64, String> {
    // Systems without virtual machines below them have no steal figure, some none of waiting.
    let or_none = |name| share_pct(counters, name).unwrap_or(0.0);
    Ok(100.0 - share_pct(counters, "os_cpu_idle_s")? - or_none("os_cpu_iowait_s") - or_none("os_cpu_steal_s"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::counters;

    #[test]
    fn busy_is_what_is_neither_idle_nor_waiting_nor_stolen() {
        let all = [("os_cpu_total_s", 4.0), ("os_cpu_idle_s", 1.0), ("os_cpu_iowait_s", 0.4), ("os_cpu_steal_s", 0.2)];
        let busy = |known: usize| busy_pct(&counters(&all[..known])).map(|percent| (percent * 10.0).round());
        assert_eq!((busy(4), busy(3), busy(2)), (Ok(600.0), Ok(650.0), Ok(750.0)));
        assert_eq!(busy(1), Err("os_cpu_idle_s is not known here".into()));
        assert_eq!(busy_pct(&counters(&[("os_cpu_idle_s", 0.0), ("os_cpu_total_s", 0.0)])).ok(), None);
    }
}
