//! The limiter, first form: why not more? Resources that were used (nearly) all the time, ranked, with their figures.

use super::cpu::processors;
use super::kpm::THREADS_USED;
use crate::model::TestResult;
use crate::model::sentence::{number, percent};

/// A resource counts as a limit from this share of its capacity on.
const LIMIT: f64 = 0.9;
/// Log syncs and reads are waits within an op, with work of other kinds around them: half of the time is enough.
const WAIT_LIMIT: f64 = 0.5;

/// A resource that limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Limiter {
    /// Stable code: `cpu`, `log-sync`, `read`.
    pub code: &'static str,
    /// Share of its capacity in use; above 1 where processes in the background work beside the jobs.
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

/// Cores in use by the database and our own process, whatever other programs use, of those that the jobs can use.
fn cpu(result: &TestResult) -> Option<Limiter> {
    let seconds = |name| result.window_counters.get(name);
    // A database within our process has no processes of its own.
    let used_s = match (seconds("server_cpu_s"), seconds("self_cpu_s")) {
        (None, None) => return None,
        (server_s, self_s) => server_s.unwrap_or(0.0) + self_s.unwrap_or(0.0),
    };
    let (cores, used) = (processors(result)?, used_s / result.window_s);
    let stolen = seconds("os_cpu_steal_s").unwrap_or(0.0) / result.window_s;
    let usable = (f64::from(result.jobs) * threads(result)).min(cores - stolen);
    let text = || {
        let (used, usable) = (number(used), number(usable));
        format!("CPU: {used} of {cores} cores in use by the database and us, {} job(s) can use {usable}", result.jobs)
    };
    (usable > 0.0).then(|| Limiter { code: "cpu", share: used / usable, text: text() })
}

/// Cores that a job of a closed loop can use: one for each process that works on an op.
fn threads(result: &TestResult) -> f64 {
    let asked = || result.params.get("threads")?.parse().ok();
    result.facts.get(THREADS_USED).copied().or_else(asked).map_or(1.0, |threads: f64| threads.max(1.0))
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

    /// 10 s on 4 processors that other programs keep busy.
    fn busy_host(server_s: f64, self_s: f64) -> TestResult {
        let host = [("os_cpu_total_s", 40.0), ("os_cpu_idle_s", 0.0)];
        with(&[host[0], host[1], ("server_cpu_s", server_s), ("self_cpu_s", self_s)], &[])
    }

    #[test]
    fn two_busy_cores_limit_two_jobs_also_on_four_cores() {
        let found = limiters(&busy_host(18.0, 1.0));
        assert_eq!((found.len(), found[0].code), (1, "cpu"));
        assert!((found[0].share - 0.95).abs() < 1e-12);
        assert_eq!(found[0].text, "CPU: 1.90 of 4 cores in use by the database and us, 2 job(s) can use 2");
        assert_eq!(limiters(&busy_host(15.0, 1.0)), []);
    }

    #[test]
    fn what_other_programs_use_or_nobody_knows_is_not_blamed() {
        let waits = fixture::counters(&[("wal_sync_time_ms", 8_500.0), ("wal_syncs", 30_000.0)]);
        let busy_elsewhere = TestResult { counters: waits, ..busy_host(2.0, 1.0) };
        let codes: Vec<_> = limiters(&busy_elsewhere).iter().map(|limiter| limiter.code).collect();
        assert_eq!(codes, ["log-sync"]);
        // An engine in our process has no processes of its own.
        let embedded = |self_s| with(&[("os_cpu_total_s", 40.0), ("self_cpu_s", self_s)], &[]);
        assert_eq!((limiters(&embedded(19.0)).len(), limiters(&embedded(3.0)).len()), (1, 0));
        // Of a server on another host our own processor time is known, and no processors of its.
        assert_eq!(limiters(&with(&[("self_cpu_s", 20.0)], &[])), []);
    }

    #[test]
    fn threads_let_a_job_use_more_cores() {
        let with_threads = |name: &str, result: TestResult| match name {
            "asked" => TestResult { params: [("threads".to_string(), "2".to_string())].into(), ..result },
            _ => TestResult { facts: [(THREADS_USED.to_string(), 2.0)].into(), ..result },
        };
        for known in ["asked", "used"] {
            assert_eq!(limiters(&with_threads(known, busy_host(20.0, 0.0))), [], "{known}");
            assert_eq!(limiters(&with_threads(known, busy_host(38.0, 0.0)))[0].code, "cpu", "{known}");
        }
    }

    #[test]
    fn cores_that_the_host_of_a_virtual_machine_took_cannot_be_used() {
        let mut stolen = TestResult { jobs: 8, ..busy_host(27.0, 1.0) };
        assert_eq!(limiters(&stolen), []);
        stolen.window_counters.set("os_cpu_steal_s", 10.0);
        assert_eq!(limiters(&stolen)[0].text, "CPU: 2.80 of 4 cores in use by the database and us, 8 job(s) can use 3");
    }

    #[test]
    fn the_uncut_share_decides() {
        // Background processes work beside the jobs: 2.4 cores of 2; the log was synced for all of the time.
        let mut result = busy_host(23.0, 1.0);
        result.counters = fixture::counters(&[("wal_sync_time_ms", 12_000.0)]);
        let found: Vec<_> = limiters(&result).iter().map(|limiter| (limiter.code, limiter.share)).collect();
        assert_eq!(found, [("cpu", 1.2), ("log-sync", 1.0)]);
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
