//! CPU quotas of control groups. A group that has used up its quota is stopped until the next
//! period begins, mostly of 100 ms: then throughput is what the quota allows, and the longest ops
//! are those that waited for the period, however idle the processors of the host are.

use super::cpu::is_elsewhere;
use crate::model::{Drive, Reason, ReasonCode, RunRecord, Sentence, Status, Test, TestResult};

/// Time for which a quota may stop somebody, as a share of the window. The kernel sums it over
/// processors: one of them that stands still for the whole window is 1.
const TOLERATED: f64 = 0.01;

/// Somebody whom a quota stopped in the window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stop {
    /// `the database's server`.
    pub whom: Sentence,
    /// Seconds, summed over processors.
    pub s: f64,
    /// The quota is the database's, alone or together with ours.
    pub is_of_database: bool,
    /// Counters of the CPU time that was used within the quota.
    cpu_s: &'static [&'static str],
}

impl Stop {
    /// True if it took a part of the window that matters.
    fn matters(&self, result: &TestResult) -> bool {
        self.s > TOLERATED * result.window_s
    }
}

/// Stops of the database's server and of dbdyno by quotas; both are one entry if they share a
/// quota, which has one time.
pub(super) fn stops(result: &TestResult) -> Vec<Stop> {
    let stopped_s = |name: &str| result.window_counters.get(name).filter(|s| *s > 0.0);
    let (server, own) = (stopped_s("server_throttled_s"), stopped_s("self_throttled_s"));
    if let Some(s) = server.filter(|_| is_shared(result)) {
        let whom = Sentence::new("the database's server and dbdyno");
        let cpu_s = &["server_cpu_s", "self_cpu_s"];
        return vec![Stop { whom, s, is_of_database: true, cpu_s }];
    }
    let server = server.map(|s| Stop {
        whom: Sentence::new("the database's server"),
        s,
        is_of_database: true,
        cpu_s: &["server_cpu_s"],
    });
    let own = own.map(|s| Stop {
        whom: Sentence::new("dbdyno"),
        s,
        is_of_database: is_within_us(result),
        cpu_s: &["self_cpu_s"],
    });
    server.into_iter().chain(own).collect()
}

/// CPUs that the tightest quota left to the jobs of a test in which one stopped the database, or
/// dbdyno that drives it: those that were used, for no more were to be had. None if nobody was
/// stopped for a time that matters, or the CPU time is not known.
pub(super) fn cpus_of_jobs(result: &TestResult) -> Option<f64> {
    let holds = |stop: &Stop| {
        stop.matters(result) && (stop.is_of_database || result.drive == Drive::Client)
    };
    let used = |stop: Stop| {
        let cpu_s = stop.cpu_s.iter().map(|name| result.window_counters.get(name));
        Some(cpu_s.sum::<Option<f64>>()? / result.window_s)
    };
    let used = stops(result).into_iter().filter(holds).filter_map(used);
    used.filter(|cpus| cpus.is_finite() && *cpus > 0.0).reduce(f64::min)
}

/// True if one quota, which has one time, stopped the server and us.
fn is_shared(result: &TestResult) -> bool {
    let stopped_s = |name: &str| result.window_counters.get(name).filter(|s| *s > 0.0);
    let server_s = stopped_s("server_throttled_s");
    server_s.is_some() && server_s == stopped_s("self_throttled_s")
}

/// CPUs that a quota lets the database use on average, by the disclosure of the run; of a database
/// within our process those of our own quota. None without a quota, or if it is not known.
fn of_test(run: &RunRecord, result: &TestResult) -> Option<f64> {
    let section = if is_within_us(result) { "dbdyno" } else { "database" };
    let quota: f64 = run.disclosure.get(section, "quota_cpus")?.parse().ok()?;
    (quota.is_finite() && quota > 0.0).then_some(quota)
}

/// CPUs that a quota lets the database of a run use on average; none without a quota, or if it is
/// not known.
pub fn of_run(run: &RunRecord, tests: &[Test]) -> Option<f64> {
    tests.iter().filter_map(Test::measured).find_map(|result| of_test(run, result))
}

/// Cores that the database of a run can use: those of its host, at most as many as its quota has
/// CPUs. None if they are not disclosed.
pub fn cores(run: &RunRecord, tests: &[Test]) -> Option<f64> {
    let cores: f64 = run.disclosure.get("hardware", "cores")?.parse().ok()?;
    let usable = of_run(run, tests).map_or(cores, |quota| quota.min(cores));
    (usable > 0.0).then_some(usable)
}

/// Share of its CPU quota that the database used in a test, see [`used_cpus`]; none without a
/// quota, or if the CPU time is not known.
pub(super) fn used_share(run: &RunRecord, result: &TestResult) -> Option<f64> {
    Some(used_cpus(result)? / of_test(run, result)?).filter(|share| share.is_finite())
}

/// CPUs that the database used in a test, with those that we used if both have one quota; none if
/// the CPU time is not known.
pub fn used_cpus(result: &TestResult) -> Option<f64> {
    let counter = |name: &str| result.window_counters.get(name);
    let own_s = counter("self_cpu_s").filter(|_| is_within_us(result) || is_shared(result));
    let used_s = [counter("server_cpu_s"), own_s].into_iter().flatten().reduce(|a, b| a + b)?;
    Some(used_s / result.window_s).filter(|cpus| cpus.is_finite())
}

/// True of a database that has no process of its own here: it works within ours.
fn is_within_us(result: &TestResult) -> bool {
    let known = |name| result.window_counters.get(name).is_some();
    let has_server = known("server_throttled_s") || known("server_cpu_s");
    !has_server && known("os_cpu_total_s") && !is_elsewhere(result)
}

/// Reasons of a test in which a quota stopped the database or dbdyno. A quota of the database
/// belongs to the platform and is a note. A quota of dbdyno alone makes a client slow that the
/// platform would serve faster.
pub(super) fn judge(result: &TestResult) -> Vec<Reason> {
    let reason = |stop: Stop| {
        let (status, sentence) = match stop.is_of_database {
            true => (
                Status::Valid,
                "a CPU quota stopped {whom} for {stopped} s, summed over CPUs, in a window of \
                 {window.1} s: the figures are those of the quota",
            ),
            false => (
                Status::Conditional,
                "a CPU quota stopped {whom} for {stopped} s, summed over CPUs, in a window of \
                 {window.1} s: the database waited for its client",
            ),
        };
        let sentence = Sentence::new(sentence)
            .with("whom", stop.whom)
            .with("stopped", stop.s)
            .with("window", result.window_s);
        Reason::new(status, ReasonCode::CpuQuota, sentence)
    };
    stops(result).into_iter().filter(|stop| stop.matters(result)).map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    /// The texts of the reasons of a window of 10 s.
    fn said(counters: &[(&str, f64)]) -> Vec<String> {
        let window_counters = fixture::counters(counters);
        let result = TestResult { window_counters, ..fixture::result() };
        let reasons = judge(&result);
        for reason in &reasons {
            let is_ours = reason.text.starts_with("a CPU quota stopped dbdyno");
            let status = if is_ours { Status::Conditional } else { Status::Valid };
            assert_eq!((reason.status, &reason.code), (status, &ReasonCode::CpuQuota));
        }
        reasons.into_iter().map(|reason| reason.text).collect()
    }

    #[test]
    fn a_server_that_its_quota_stopped_for_over_a_hundredth_of_the_window_shows_the_quota() {
        let text = "a CPU quota stopped the database's server for 2.50 s, summed over CPUs, in a \
                    window of 10.0 s: the figures are those of the quota";
        assert_eq!(said(&[("server_throttled_s", 2.5), ("self_throttled_s", 0.0)]), [text]);
        assert_eq!(said(&[("server_throttled_s", 2.5)]), [text], "ours is not known");
        assert!(said(&[("server_throttled_s", 0.1)]).is_empty(), "a hundredth");
        assert!(said(&[("server_throttled_s", 0.0), ("self_throttled_s", 0.0)]).is_empty());
        assert!(said(&[]).is_empty(), "nobody knows");
    }

    #[test]
    fn a_quota_that_both_share_is_said_once_and_two_of_them_are_said_twice() {
        let shared = said(&[("server_throttled_s", 64.0), ("self_throttled_s", 64.0)]);
        assert_eq!(shared.len(), 1);
        assert!(
            shared[0].starts_with("a CPU quota stopped the database's server and dbdyno for 64 s"),
            "{shared:?}"
        );
        let apart = said(&[("server_throttled_s", 3.0), ("self_throttled_s", 1.0)]);
        assert_eq!(apart.len(), 2);
        assert!(apart[1].starts_with("a CPU quota stopped dbdyno for 1 s"), "{apart:?}");
        assert!(apart[1].ends_with("the database waited for its client"), "{apart:?}");
    }

    #[test]
    fn a_quota_is_that_of_the_database_and_bounds_its_cores() {
        let mut run = crate::analysis::compare::fixture::run("a");
        run.disclosure.set("hardware", "cores", "64");
        let server = TestResult {
            window_counters: fixture::counters(&[
                ("os_cpu_total_s", 1280.0),
                ("server_cpu_s", 30.0),
            ]),
            ..fixture::result()
        };
        let within = TestResult {
            window_counters: fixture::counters(&[("os_cpu_total_s", 1280.0), ("self_cpu_s", 18.0)]),
            ..fixture::result()
        };
        let of = |run: &RunRecord, result: &TestResult| {
            let tests = [Test::from(result.clone())];
            (of_run(run, &tests), cores(run, &tests), used_share(run, result))
        };
        assert_eq!(of(&run, &server), (None, Some(64.0), None));
        run.disclosure.set("dbdyno", "quota_cpus", "2");
        assert_eq!(of(&run, &server), (None, Some(64.0), None), "the client's quota");
        assert_eq!(of(&run, &within), (Some(2.0), Some(2.0), Some(0.9)));
        run.disclosure.set("database", "quota_cpus", "4");
        assert_eq!(of(&run, &server), (Some(4.0), Some(4.0), Some(0.75)));
        // A quota that both share has the CPU time of both.
        let shared = [
            ("server_throttled_s", 3.0),
            ("self_throttled_s", 3.0),
            ("server_cpu_s", 30.0),
            ("self_cpu_s", 6.0),
        ];
        let both = TestResult { window_counters: fixture::counters(&shared), ..fixture::result() };
        assert_eq!(of(&run, &both).2, Some(0.9));
    }

    #[test]
    fn who_was_stopped_had_no_more_cpus_than_were_used() {
        // A window of 10 s.
        let of = |drive, counters: &[(&str, f64)]| {
            let window_counters = fixture::counters(counters);
            cpus_of_jobs(&TestResult { drive, window_counters, ..fixture::result() })
        };
        let server = [("server_throttled_s", 50.0), ("server_cpu_s", 20.0), ("self_cpu_s", 1.0)];
        assert_eq!(of(Drive::Database, &server), Some(2.0));
        let shared = [&server[..], &[("self_throttled_s", 50.0)]].concat();
        assert_eq!(of(Drive::Database, &shared), Some(2.1));
        let own = [("self_throttled_s", 50.0), ("server_cpu_s", 20.0), ("self_cpu_s", 1.0)];
        assert_eq!(of(Drive::Client, &own), Some(0.1));
        assert_eq!(of(Drive::Database, &own), None, "the jobs are in the database");
        assert_eq!(of(Drive::Database, &[("server_throttled_s", 50.0)]), None);
        let seldom = [("server_throttled_s", 0.1), ("server_cpu_s", 20.0)];
        assert_eq!(of(Drive::Database, &seldom), None);
    }

    #[test]
    fn our_quota_is_that_of_a_database_within_us() {
        let counters = [("self_throttled_s", 3.0), ("os_cpu_total_s", 20.0)];
        let window_counters = fixture::counters(&counters);
        let result = TestResult { window_counters, ..fixture::result() };
        let reason = judge(&result).remove(0);
        assert_eq!(reason.status, Status::Valid, "{}", reason.text);
        assert!(reason.text.ends_with("the figures are those of the quota"), "{}", reason.text);
    }
}
