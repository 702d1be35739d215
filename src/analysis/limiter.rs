//! The limiter, first form: why not more? Resources that were used (nearly) all the time, ranked, with their figures.

use super::words::{number, percent};
use crate::model::TestResult;

/// A resource counts as a limit from this share of its capacity on.
const LIMIT: f64 = 0.9;
/// Log syncs and reads are waits within an op, with work of other kinds around them: half of the time is enough.
const WAIT_LIMIT: f64 = 0.5;

/// A resource that limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Limiter {
    /// Stable code: `cpu`, `log-sync`, `read`.
    pub code: &'static str,
    /// Share of its capacity in use (0..1).
    pub share: f64,
    /// One sentence with the figures.
    pub text: String,
}

/// The limits of a test, the most used first; empty = not found among the known ones (or their counters are missing).
pub fn limiters(result: &TestResult) -> Vec<Limiter> {
    let candidates = [(cpu(result), LIMIT), (log_sync(result), WAIT_LIMIT), (read(result), WAIT_LIMIT)];
    let over = |(found, limit): (Option<Limiter>, f64)| found.filter(|found| found.share >= limit);
    let mut found: Vec<Limiter> = candidates.into_iter().filter_map(over).collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

/// Cores in use (or taken by the host) of those that the jobs can use: a job of a closed loop uses one core at most.
fn cpu(result: &TestResult) -> Option<Limiter> {
    let window = |name| result.window_counters.get(name);
    let total_s = window("os_cpu_total_s").filter(|&total_s| total_s > 0.0 && result.window_s > 0.0)?;
    let unused_s = window("os_cpu_idle_s")? + window("os_cpu_iowait_s").unwrap_or(0.0);
    let (cores, used) = ((total_s / result.window_s).round(), (total_s - unused_s) / result.window_s);
    let usable = cores.min(f64::from(result.jobs));
    let text = format!("CPU: {} of {cores} cores in use, {} job(s) can use {usable}", number(used), result.jobs);
    Some(Limiter { code: "cpu", share: (used / usable).min(1.0), text })
}

/// Share of the elapsed time in which the log was being synced: syncs of one log follow one another.
fn log_sync(result: &TestResult) -> Option<Limiter> {
    let synced_s = result.counters.get("wal_sync_time_ms")? / 1000.0;
    let share = (result.total_s > 0.0).then(|| (synced_s / result.total_s).min(1.0))?;
    let syncs = result.counters.get("wal_syncs").unwrap_or(0.0);
    let text = format!(
        "log sync: {} of the time in {} syncs of {} ms",
        percent(share),
        number(syncs),
        mean_ms(synced_s, syncs)
    );
    Some(Limiter { code: "log-sync", share, text })
}

/// Share of the jobs' time in which they waited for reads.
fn read(result: &TestResult) -> Option<Limiter> {
    let waited_s = result.counters.get("physical_read_time_ms")? / 1000.0;
    let share = (result.total.busy_s > 0.0).then(|| (waited_s / result.total.busy_s).min(1.0))?;
    let reads = result.counters.get("physical_reads").unwrap_or(0.0);
    let text = format!(
        "reads: {} of the jobs' time in {} reads of {} ms",
        percent(share),
        number(reads),
        mean_ms(waited_s, reads)
    );
    Some(Limiter { code: "read", share, text })
}

fn mean_ms(seconds: f64, events: f64) -> String {
    if events > 0.0 { number(seconds * 1000.0 / events) } else { "?".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    fn with(window: &[(&str, f64)], whole: &[(&str, f64)]) -> TestResult {
        let (window_counters, counters) = (fixture::counters(window), fixture::counters(whole));
        TestResult { window_counters, counters, ..fixture::result() }
    }

    #[test]
    fn two_busy_cores_limit_two_jobs_also_on_four_cores() {
        // 10 s x 4 cores, 21 s unused: 1.9 cores in use by 2 jobs.
        let busy = |idle_s| with(&[("os_cpu_total_s", 40.0), ("os_cpu_idle_s", idle_s), ("os_cpu_iowait_s", 1.0)], &[]);
        let found = limiters(&busy(20.0));
        assert_eq!((found.len(), found[0].code), (1, "cpu"));
        assert!((found[0].share - 0.95).abs() < 1e-12);
        assert_eq!(found[0].text, "CPU: 1.90 of 4 cores in use, 2 job(s) can use 2");
        assert_eq!(limiters(&busy(23.0)), []);
    }

    #[test]
    fn waits_are_ranked_by_their_share() {
        // Log: 9 s of 12 s; reads: 20 s of the jobs' 24 s.
        let whole = [
            ("wal_sync_time_ms", 9_000.0),
            ("wal_syncs", 30_000.0),
            ("physical_read_time_ms", 20_000.0),
            ("physical_reads", 100_000.0),
        ];
        let found = limiters(&with(&[], &whole));
        let texts: Vec<_> = found.iter().map(|limiter| limiter.text.as_str()).collect();
        let expected = [
            "reads: 83.3 % of the jobs' time in 100000 reads of 0.200 ms",
            "log sync: 75 % of the time in 30000 syncs of 0.300 ms",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn nothing_known_finds_nothing() {
        assert_eq!(limiters(&fixture::result()), []);
    }
}
