//! A load as a share of what its platform was measured to do.
//!
//! The utilisation law: a component that serves X units per second, each of which needs it for D
//! seconds, is busy for U = X D of every second (Denning and Buzen, 1978). The best valid test that
//! works with the component gives D = 1 / M from the rate M that it reached. The processors' share
//! is read from the measured ramp, since half of them busy is not half of the throughput. Under a
//! CPU quota of the database it is the share of the quota that counts, not that of the host's
//! processors, which others use.

use serde::Serialize;

use super::rates::{CPU, Definition, RATES, Rate};
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::kpm::counter_per_s;
use dbdyno_core::analysis::repeats::{self, Repeats};
use dbdyno_core::analysis::{cpu, cpu_quota, ramp};
use dbdyno_core::model::{KpmValue, ReasonCode, Status, Test, TestResult};

/// Units per op from which on a test counts as work with a component: fewer are by the way. Of
/// bytes a hundred times as many.
const MIN_PER_OP: f64 = 0.1;
/// Bytes that count as a unit.
const UNIT_BYTES: f64 = 100.0;
/// A ramp shows what busy processors mean if it has made them so busy, in percent.
const MIN_BUSY_PCT: f64 = 80.0;

/// Measured maximum of a rate, and the part of it that is used now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Coverage {
    /// In the unit of the rate.
    pub measured: f64,
    /// The workload that reached it.
    pub workload: String,
    /// Number of jobs at which it did.
    pub jobs: u32,
    /// Verdict on the measured rate: that of its repetitions.
    pub status: Status,
    /// Share of it: 1 = all.
    pub used: f64,
    /// Half width of the 95 % interval of the measured rate as a fraction of it, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
}

/// Component that saturates first as the load grows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Name of the component: `device`, `log writer`.
    pub component: &'static str,
    /// Share of it that is used.
    pub used: f64,
    /// Multiple of today's load at which the component saturates.
    pub at_times: f64,
}

/// Measured maxima of a platform.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredPlatform {
    best: Vec<Best>,
    ramps: Vec<BusyRamp>,
    /// CPUs that a quota lets the database use, of more that its host has.
    quota_cpus: Option<f64>,
}

/// The best test of a rate.
#[derive(Debug, Clone, PartialEq)]
struct Best {
    id: &'static str,
    /// In the unit of the rate.
    rate: f64,
    workload: String,
    jobs: u32,
    status: Status,
    half_width: Option<f64>,
}

/// A ramp that used its processors up.
#[derive(Debug, Clone, PartialEq)]
struct BusyRamp {
    /// Busy processors in percent, of the quota if there is one, and share of the best rate,
    /// ascending.
    points: Vec<(f64, f64)>,
    /// Most of the host's processors that were busy, in percent.
    host_busy_pct: f64,
    workload: String,
    jobs: u32,
}

impl MeasuredPlatform {
    /// From the tests of a run. Of a rate without a valid test the best conditional one counts,
    /// with that status. `quota_cpus` are the CPUs that a quota lets the database use.
    pub fn from_tests(tests: &[Test], quota_cpus: Option<f64>) -> MeasuredPlatform {
        let is_of_use = |test: &&Test| test.measured().is_some_and(is_plain);
        let plain: Vec<&Test> = tests.iter().filter(is_of_use).collect();
        let ramps = ramp::groups(plain.iter().copied(), |test| *test);
        let best = RATES
            .iter()
            .filter(|rate| rate.component.is_some())
            .filter_map(|rate| best_of(rate, &ramps));
        let results: Vec<&TestResult> = plain.iter().filter_map(|test| test.measured()).collect();
        // One of all processors of the host, or of more, stops nobody.
        let is_less = |quota: &f64| {
            results.iter().filter_map(|test| cpu::processors(test)).all(|all| *quota < all)
        };
        let quota_cpus = quota_cpus.filter(is_less);
        let ramps = busy_ramps(&results, quota_cpus);
        MeasuredPlatform { best: best.collect(), ramps, quota_cpus }
    }

    /// Tells of each rate how much of what was measured it is; `server_cpus` are the CPUs that the
    /// database's processes use now, if that is known.
    pub fn cover(&self, rates: &mut [Rate], server_cpus: Option<f64>) {
        for rate in rates {
            rate.against = match self.quota_cpus {
                _ if rate.id != CPU => self.of_rate(rate),
                None => self.of_processors(rate.now),
                Some(quota) => {
                    server_cpus.and_then(|used| self.of_processors(100.0 * used / quota))
                }
            };
        }
    }

    fn of_rate(&self, rate: &Rate) -> Option<Coverage> {
        let best = self.best.iter().find(|best| best.id == rate.id)?;
        let (workload, used) = (best.workload.clone(), rate.now / best.rate);
        let Best { rate: measured, jobs, status, half_width, .. } = *best;
        Some(Coverage { measured, workload, jobs, status, used, half_width })
    }

    /// The median over the ramps: how much of the throughput so busy processors gave.
    fn of_processors(&self, busy_pct: f64) -> Option<Coverage> {
        let mut shares: Vec<(f64, &BusyRamp)> =
            self.ramps.iter().map(|ramp| (ramp.share(busy_pct), ramp)).collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (used, ramp) = *shares.get(shares.len().checked_sub(1)? / 2)?;
        let measured = ramp.host_busy_pct;
        let (workload, jobs) = (ramp.workload.clone(), ramp.jobs);
        Some(Coverage { measured, workload, jobs, status: Status::Valid, used, half_width: None })
    }
}

/// The component that comes first: of which most is used, by valid figures.
pub fn limit(rates: &[Rate]) -> Option<Limit> {
    most_used(rates, Status::Valid)
}

/// The component of which more is used than of [`limit`], by conditional figures: it may come
/// first.
pub fn doubtful_limit(rates: &[Rate]) -> Option<Limit> {
    let known = limit(rates).map_or(0.0, |limit| limit.used);
    most_used(rates, Status::Conditional).filter(|doubtful| doubtful.used > known)
}

/// The component of which most is used, by figures of this verdict.
fn most_used(rates: &[Rate], status: Status) -> Option<Limit> {
    let component = |rate: &Rate| match rate.id {
        CPU => Some("processors"),
        id => RATES.iter().find(|known| known.id == id)?.component,
    };
    let used = |rate: &Rate| {
        let covered = rate.against.as_ref().filter(|covered| covered.status == status)?;
        Some((component(rate)?, covered.used))
    };
    let (component, used) = rates.iter().filter_map(used).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (used > 0.0).then(|| Limit { component, used, at_times: 1.0 / used })
}

/// Tests that ran alone. What others did at some time is not what the platform can do.
fn is_plain(test: &TestResult) -> bool {
    let is_recorded = test.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::Recorded);
    test.window.ops > 0
        && test.beside.is_none()
        && test.verdict.status < Status::Invalid
        && !is_recorded
}

/// The best of the figures that the repetitions at each number of jobs give; one of a better
/// verdict first.
fn best_of(rate: &Definition, ramps: &[Vec<&Test>]) -> Option<Best> {
    let least = if rate.counter.ends_with("_bytes") { MIN_PER_OP * UNIT_BYTES } else { MIN_PER_OP };
    let is_work = |test: &TestResult, counter| {
        counter_per_s(test, counter).is_some_and(|n| n >= MIN_PER_OP * test.ops_per_s)
    };
    let reached = |test: &Test| {
        let test = test.measured()?;
        let per_s = counter_per_s(test, rate.counter)?;
        // Other programs read from the device, too.
        if rate.counter.starts_with("os_") && !is_work(test, "physical_reads") {
            return None;
        }
        (per_s >= least * test.ops_per_s).then_some(per_s)
    };
    let counted = KpmValue::Counter(rate.counter.into());
    let repeats: Vec<Repeats<'_>> =
        ramps.iter().flat_map(|ramp| repeats::by_jobs(ramp, reached)).collect();
    let figures =
        repeats.iter().map(|known| Figure::computed(known, known[0].test.kpm(), &counted));
    let better = |a: &Figure<'_>, b: &Figure<'_>| {
        b.status().cmp(&a.status()).then(a.value.total_cmp(&b.value))
    };
    let best = figures.max_by(better)?;
    let test = best.test.measured()?;
    Some(Best {
        id: rate.id,
        rate: best.value * rate.scale,
        workload: label(test),
        jobs: test.jobs,
        status: best.status(),
        half_width: best.half_width(),
    })
}

fn label(test: &TestResult) -> String {
    let params = dbdyno_core::model::params::assignments(&test.chosen, ",");
    if params.is_empty() { test.workload.clone() } else { format!("{}:{params}", test.workload) }
}

/// The valid ramps that made the processors busy.
fn busy_ramps(tests: &[&TestResult], quota_cpus: Option<f64>) -> Vec<BusyRamp> {
    let mut ramps: Vec<Vec<&TestResult>> = Vec::new();
    // An open loop is as busy as it was asked to be: it is not a step of a ramp.
    for test in
        tests.iter().filter(|test| test.verdict.status == Status::Valid && test.open.is_none())
    {
        let is_of = |ramp: &&mut Vec<&TestResult>| {
            (&ramp[0].hash, ramp[0].drive) == (&test.hash, test.drive)
        };
        match ramps.iter_mut().find(is_of) {
            Some(ramp) => ramp.push(test),
            None => ramps.push(vec![test]),
        }
    }
    ramps.iter().filter_map(|ramp| BusyRamp::from_tests(ramp, quota_cpus)).collect()
}

impl BusyRamp {
    /// Up to the best test: beyond it more jobs only wait for one another.
    fn from_tests(ramp: &[&TestResult], quota_cpus: Option<f64>) -> Option<BusyRamp> {
        let best = ramp.iter().max_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s))?;
        let of_host = |test: &TestResult| cpu::busy_pct(&test.window_counters).ok();
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut host_busy_pct = 0.0_f64;
        for test in ramp.iter().filter(|test| test.jobs <= best.jobs) {
            let busy_pct = match quota_cpus {
                Some(quota) => cpu_quota::used_cpus(test).map(|used| 100.0 * used / quota),
                None => of_host(test),
            };
            points.extend(busy_pct.map(|busy_pct| (busy_pct, test.ops_per_s / best.ops_per_s)));
            host_busy_pct = host_busy_pct.max(of_host(test).unwrap_or(0.0));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let busiest = points.last()?.0;
        (busiest >= MIN_BUSY_PCT).then(|| BusyRamp {
            points,
            host_busy_pct,
            workload: label(best),
            jobs: best.jobs,
        })
    }

    /// Share of the throughput at so busy processors: straight from idle to the first point, and
    /// between the points.
    fn share(&self, busy_pct: f64) -> f64 {
        let mut from = (0.0, 0.0);
        for &to in &self.points {
            if busy_pct <= to.0 {
                let length = (to.0 - from.0).max(f64::MIN_POSITIVE);
                return from.1 + (to.1 - from.1) * (busy_pct - from.0) / length;
            }
            from = to;
        }
        1.0_f64.max(from.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture::{at, counters};
    use dbdyno_core::model::{Reason, Verdict};

    /// A test with so many busy processors of 4, and per op 2 logical reads, half a commit and a
    /// read of a thousandth block.
    fn test(jobs: u32, ops_per_s: f64, busy_pct: f64) -> TestResult {
        let mut test = at(jobs, ops_per_s);
        test.total.ops = 1000;
        test.counters =
            counters(&[("logical_reads", 2000.0), ("commits", 500.0), ("physical_reads", 1.0)]);
        test.window_counters =
            counters(&[("os_cpu_total_s", 100.0), ("os_cpu_idle_s", 100.0 - busy_pct)]);
        test
    }

    fn rate(id: &'static str, now: f64) -> Rate {
        Rate { id, title: "", unit: "", now, peak: now, against: None }
    }

    fn used_share(measured: &MeasuredPlatform, id: &'static str, now: f64) -> Option<f64> {
        let mut rates = [rate(id, now)];
        measured.cover(&mut rates, None);
        rates[0].against.as_ref().map(|covered| covered.used)
    }

    #[test]
    fn a_rate_is_a_share_of_the_best_test_and_unknown_if_none_works_with_it() {
        let tests = [test(1, 100.0, 30.0), test(2, 200.0, 60.0)].map(Test::from);
        let measured = MeasuredPlatform::from_tests(&tests, None);
        assert_eq!(used_share(&measured, "logical_reads", 100.0), Some(0.25));
        assert_eq!(used_share(&measured, "commits", 60.0), Some(0.6));
        assert_eq!(
            used_share(&measured, "physical_reads", 1.0),
            None,
            "one read in a thousand ops is by the way"
        );
        assert_eq!(used_share(&measured, "redo", 1.0), None, "its counter is not known");
        let reads = |blocks| {
            let mut test = test(1, 100.0, 30.0);
            test.counters.set("physical_reads", blocks);
            test.window_counters.set("os_disk_reads", 5000.0);
            let measured = MeasuredPlatform::from_tests(&[Test::from(test)], None);
            used_share(&measured, "device_reads", 50.0)
        };
        assert_eq!(
            (reads(1.0), reads(900.0)),
            (None, Some(0.1)),
            "others read from the device, too"
        );
        assert_eq!(used_share(&measured, CPU, 50.0), None, "the ramp ends at 60 % busy");
    }

    #[test]
    fn repetitions_are_one_figure_which_a_wild_one_does_not_move() {
        let rates = [100.0, 101.0, 99.0, 100.5, 400.0];
        let tests: Vec<Test> = rates.map(|rate| Test::from(test(2, rate, 30.0))).into();
        let mut commits = [rate("commits", 50.0)];
        MeasuredPlatform::from_tests(&tests, None).cover(&mut commits, None);
        let covered = commits[0].against.as_ref().unwrap();
        // Half a commit per op.
        assert!((49.0..60.0).contains(&covered.measured), "{covered:?}");
        assert!(covered.half_width.is_some(), "{covered:?}");
    }

    #[test]
    fn busy_processors_are_translated_by_the_ramp() {
        // Half busy gave 80 % of the throughput: the other half are siblings.
        let tests =
            [test(1, 40.0, 25.0), test(2, 80.0, 50.0), test(4, 100.0, 95.0), test(8, 90.0, 99.0)]
                .map(Test::from);
        let measured = MeasuredPlatform::from_tests(&tests, None);
        let used = |busy| (used_share(&measured, CPU, busy).unwrap() * 1000.0).round();
        assert_eq!(
            [used(0.0), used(25.0), used(50.0), used(72.5), used(95.0), used(99.0)],
            [0.0, 400.0, 800.0, 900.0, 1000.0, 1000.0]
        );
    }

    #[test]
    fn under_a_quota_its_share_counts_and_not_that_of_the_host() {
        // A quota of 2 CPUs of 64: the host is at most 20 % busy, also by others.
        let with_cpus = |jobs, ops_per_s, server_cpus: f64| {
            let mut test = test(jobs, ops_per_s, 20.0);
            test.window_counters.set("os_cpu_total_s", 64.0 * test.window_s);
            test.window_counters.set("os_cpu_idle_s", 0.8 * 64.0 * test.window_s);
            test.window_counters.set("server_cpu_s", server_cpus * test.window_s);
            Test::from(test)
        };
        let tests = [with_cpus(1, 60.0, 1.0), with_cpus(4, 100.0, 2.0)];
        let used = |quota_cpus, server_cpus| {
            let mut rates = [rate(CPU, 70.0)];
            MeasuredPlatform::from_tests(&tests, quota_cpus).cover(&mut rates, server_cpus);
            rates[0].against.as_ref().map(|covered| (covered.used * 100.0).round())
        };
        assert_eq!(used(Some(2.0), Some(1.0)), Some(60.0));
        assert_eq!(used(Some(2.0), Some(1.9)), Some(96.0));
        assert_eq!(used(Some(2.0), None), None, "the host is not the quota");
        assert_eq!(used(None, Some(1.0)), None, "the ramp kept 20 % of the host busy");
        assert_eq!(used(Some(64.0), Some(1.0)), None, "no quota of a part");
    }

    #[test]
    fn the_limit_rests_on_valid_figures_and_tells_how_often_the_load_fits() {
        let doubtful = Reason::new(Status::Conditional, ReasonCode::Steal, "");
        let faster =
            TestResult { verdict: Verdict::from_reasons(vec![doubtful]), ..test(4, 1000.0, 90.0) };
        let mut tests = vec![Test::from(test(1, 100.0, 30.0)), Test::from(faster.clone())];
        let mut rates =
            [rate("commits", 20.0), rate("logical_reads", 50.0), rate("log_syncs", 1e9)];
        MeasuredPlatform::from_tests(&tests, None).cover(&mut rates, None);
        let first = limit(&rates).unwrap();
        assert_eq!((first.component, first.used, first.at_times), ("transactions", 0.4, 2.5));
        assert_eq!(doubtful_limit(&rates), None);
        let against = rates[0].against.clone();
        let against = against.map(|of| Coverage { status: Status::Conditional, used: 0.7, ..of });
        let above = [rates[0].clone(), Rate { against, ..rate("physical_reads", 1.0) }];
        assert_eq!(limit(&above), Some(first));
        assert_eq!(doubtful_limit(&above).map(|limit| limit.used), Some(0.7));
        tests.remove(0);
        MeasuredPlatform::from_tests(&tests, None).cover(&mut rates, None);
        let covered = rates[0].against.as_ref().unwrap();
        assert_eq!(
            (covered.status, covered.used, limit(&rates)),
            (Status::Conditional, 0.04, None)
        );
        let invalid =
            Verdict::from_reasons(vec![Reason::new(Status::Invalid, ReasonCode::Errors, "")]);
        let invalid = [Test::from(TestResult { verdict: invalid, ..faster })];
        assert_eq!(MeasuredPlatform::from_tests(&invalid, None), MeasuredPlatform::default());
    }
}
