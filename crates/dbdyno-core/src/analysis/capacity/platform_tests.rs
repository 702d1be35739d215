//! Several requirements against a platform, and the use of its components.

use super::test_ramps::{platform, point, ramp, run, tests};
use super::*;
use crate::analysis::compare;
use crate::analysis::fixture::{counters, kpm};
use crate::model::{Better, KpmValue};

/// A platform with the ramp of SRV-QUERY1 and one of another workload, 1000 tps at most; all with
/// these counters.
fn two_workloads(window: &[(&str, f64)], whole: &[(&str, f64)]) -> Vec<Test> {
    let other =
        [(1, 500.0), (2, 900.0), (4, 1_000.0), (8, 1_000.0)].map(|(jobs, tps)| TestResult {
            workload: "TP-LIGHT".into(),
            kpm: kpm(KpmValue::Ops, "tps", Better::Higher),
            ..point(jobs, tps)
        });
    let with =
        |test| TestResult { window_counters: counters(window), counters: counters(whole), ..test };
    tests(ramp().into_iter().chain(other).map(with).collect())
}

const CPU: [(&str, f64); 5] = [
    ("os_cpu_total_s", 40.0),
    ("os_cpu_steal_s", 0.0),
    ("server_cpu_s", 37.0),
    ("self_cpu_s", 1.0),
    ("os_disk_busy_s", 2.0),
];

#[test]
fn the_use_of_components_follows_the_utilisation_law() {
    // At 306 qps: processors 38 of 40 s, log 6000 syncs in 12 s of 1000 a second = 50 %, device 2
    // of 10 s.
    let (run, tests) = (run(), two_workloads(&CPU, &[("wal_syncs", 6_000.0)]));
    let needs = [Need::parse("SRV-QUERY1 153 qps").unwrap()];
    let found = platform(&run, &tests, &needs);
    let totals: Vec<f64> = found.uses.iter().map(|used| used.total.unwrap()).collect();
    assert_eq!(totals, [0.475, 0.25, 0.1]);
    assert_eq!((found.outcome, found.cores), (Outcome::Fits, Some(4.0)));
    assert_eq!(found.first, Some(First::Component(Component::Cpu, 1.0 / 0.475)));
    let headroom = found.headroom().unwrap();
    assert!(
        (headroom.value - 2.0).abs() < 1e-9
            && (headroom.low.unwrap() - 2.0 / 0.01f64.exp()).abs() < 1e-9,
        "{headroom:?}"
    );
    assert!((headroom.high.unwrap() - 2.0 * 0.01f64.exp()).abs() < 1e-9);
    // A timed log needs no rate of the device.
    let tests = two_workloads(&CPU, &[("wal_syncs", 6_000.0), ("wal_sync_time_ms", 11_400.0)]);
    let found = platform(&run, &tests, &needs);
    assert!((found.uses[1].total.unwrap() - 0.475).abs() < 1e-9);
}

#[test]
fn a_cpu_quota_is_what_a_database_can_use_of_the_processors() {
    // At 306 qps the server uses 3.7 of the 5 CPUs of its quota: of the host's 64, with ours, 6 %.
    let mut host = CPU;
    host[0].1 = 640.0;
    let (mut run, tests) = (run(), two_workloads(&host, &[]));
    run.disclosure.set("hardware", "cores", "32");
    let needs = [Need::parse("SRV-QUERY1 153 qps").unwrap()];
    let share = |run: &RunRecord| {
        let found = platform(run, &tests, &needs);
        (found.uses[0].total.map(|share| (1e4 * share).round()), found.cores)
    };
    assert_eq!(share(&run), (Some(297.0), Some(32.0)));
    run.disclosure.set("database", "quota_cpus", "5");
    assert_eq!(share(&run), (Some(3700.0), Some(5.0)));
}

#[test]
fn several_needs_share_the_platform_or_nobody_knows() {
    let run = run();
    let needs = |a: f64, b: f64| {
        [format!("SRV-QUERY1 {a} qps"), format!("TP-LIGHT {b} tps")]
            .map(|text| Need::parse(&text).unwrap())
    };
    let tests = two_workloads(&CPU, &[("wal_syncs", 0.0)]);
    let ask = |needs: &[Need], tests: &[Test]| {
        let found = platform(&run, tests, needs);
        (found.outcome, found.why.map(|why| why.to_string()).unwrap_or_default())
    };
    // 50 % and 40 % of the time, +-1 %.
    assert_eq!(ask(&needs(153.0, 400.0), &tests), (Outcome::Fits, String::new()));
    let (outcome, why) = ask(&needs(245.0, 400.0), &tests);
    assert_eq!(
        (outcome, why.contains("take 114 % of the CPUs")),
        (Outcome::DoesNotFit, true),
        "{why}"
    );
    let idle = two_workloads(&[("os_cpu_total_s", 40.0), ("server_cpu_s", 4.0)], &[]);
    let (outcome, why) = ask(&needs(245.0, 400.0), &idle);
    assert_eq!((outcome, why.contains("up to 121 %")), (Outcome::NotCovered, true), "{why}");
    let (outcome, why) = ask(&needs(245.0, 4_000.0), &tests);
    assert_eq!(
        (outcome, why.as_str()),
        (Outcome::DoesNotFit, ""),
        "the answer of that need says why"
    );
}

#[test]
fn what_is_not_known_of_a_component_is_absent() {
    let (run, needs) = (compare::fixture::run("a"), [Need::parse("SRV-QUERY1 153 qps").unwrap()]);
    // A database in another container: its processes are not seen.
    let unseen = [("os_cpu_total_s", 40.0), ("self_cpu_s", 1.0)];
    for window in [&unseen[..], &[]] {
        let tests = two_workloads(window, &[]);
        let found = platform(&run, &tests, &needs);
        assert!(
            found.uses.iter().all(|used| used.total.is_none() && used.each[0].is_err()),
            "{:?}",
            found.uses
        );
        assert_eq!((found.first, found.cores), (None, None));
    }
}

#[test]
fn what_takes_no_known_share_of_the_time_limits_nothing() {
    let (run, needs) = (run(), [Need::parse("SRV-QUERY1 153 qps").unwrap()]);
    // Three checkpoints in 12 s follow one another, and their share of the time is unknown.
    let tests = two_workloads(&[], &[("checkpoints", 3.0)]);
    let found = platform(&run, &tests, &needs);
    assert_eq!((found.outcome, found.first), (Outcome::Fits, None));
}

#[test]
fn the_least_of_those_that_fit_wins_and_equals_win_together() {
    let (run, tests) = (run(), two_workloads(&CPU, &[]));
    let [small, large] =
        ["SRV-QUERY1 153 qps", "SRV-QUERY1 999 qps"].map(|text| [Need::parse(text).unwrap()]);
    let with = |name, cores, needs| Platform { name, cores, ..platform(&run, &tests, needs) };
    let all = [
        with("a", Some(8.0), &small),
        with("b", Some(4.0), &small),
        with("c", Some(4.0), &small),
        with("d", None, &small),
        with("e", Some(1.0), &large),
    ];
    let names: Vec<&str> =
        least(&all, |platform| platform.cores).iter().map(|platform| platform.name).collect();
    assert_eq!(names, ["b", "c"]);
    assert!(least(&all[4..], |platform| platform.cores).is_empty());
}
