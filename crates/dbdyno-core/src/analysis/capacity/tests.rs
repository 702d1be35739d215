//! Needs against ramps whose answer is known by hand.

use super::*;
use crate::analysis::fixture::{at, counters, kpm};
use crate::analysis::{compare, published_checks};
use crate::model::{
    Better, DeviceSync, Drive, KpmValue, LatencySummary, OfferedLoad, OpenLoop, PublishedKind,
    Reason, ReasonCode, RunKind, Status, Verdict,
};

/// A ramp of SRV-QUERY1 in qps: 100, 190, 300 and 306 with 1, 2, 4 and 8 jobs, +-1 %; p99 of 1, 2,
/// 4 and 8 ms.
fn ramp() -> Vec<TestResult> {
    [(1, 100.0), (2, 190.0), (4, 300.0), (8, 306.0)].map(|(jobs, qps)| point(jobs, qps)).into()
}

fn point(jobs: u32, qps: f64) -> TestResult {
    let p99_us = Some(1000.0 * f64::from(jobs));
    TestResult { latency: LatencySummary { p99_us, ..LatencySummary::default() }, ..at(jobs, qps) }
}

fn judged(status: Status, test: TestResult) -> TestResult {
    TestResult {
        verdict: Verdict::from_reasons(vec![Reason::new(status, ReasonCode::Steal, "")]),
        ..test
    }
}

fn tests(results: Vec<TestResult>) -> Vec<Test> {
    results.into_iter().map(Test::from).collect()
}

/// Outcome, jobs, and the reason.
fn answered(need: &str, results: Vec<TestResult>) -> (Outcome, Option<u32>, String) {
    let (need, tests) = (Need::parse(&format!("SRV-QUERY1 {need}")).unwrap(), tests(results));
    let answer = answer(&need, &tests);
    let jobs = answer.at.and_then(|at| at.figure.jobs);
    (answer.outcome, jobs, answer.why.map(|why| why.to_string()).unwrap_or_default())
}

#[test]
fn a_rate_fits_from_the_fewest_jobs_on_whose_interval_lies_above_it() {
    assert_eq!(answered("100 qps", ramp()), (Outcome::Fits, Some(2), String::new()));
    assert_eq!(answered("188.1 qps", ramp()).1, Some(2));
    assert_eq!(answered("188.2 qps", ramp()).1, Some(4));
    let most = "the maximum is 306 qps, with 8 jobs";
    assert_eq!(answered("310 qps", ramp()), (Outcome::DoesNotFit, None, most.into()));
    let (outcome, jobs, why) = answered("305 qps", ramp());
    assert_eq!((outcome, jobs), (Outcome::NotCovered, None));
    assert!(
        why.starts_with("the rate lies within the interval of the best figure, 303 to 309 qps"),
        "{why}"
    );
}

#[test]
fn nothing_is_said_beyond_what_was_measured() {
    let still = |results, rate: &str| answered(rate, results).2;
    let rising = ramp().into_iter().take(3).collect::<Vec<_>>();
    let more = "throughput still rose with 4 jobs, the largest number measured: 300 qps";
    assert_eq!(still(rising.clone(), "310 qps"), more);
    let only = "the maximum with 4 jobs is 300 qps, and no other number of jobs was measured";
    assert_eq!(still(vec![point(4, 300.0)], "310 qps"), only);
    let mut full = rising;
    full[2].window_counters = counters(&[
        ("os_cpu_total_s", 40.0),
        ("os_cpu_idle_s", 0.0),
        ("server_cpu_s", 39.0),
        ("self_cpu_s", 0.5),
        ("os_cpu_steal_s", 0.0),
    ]);
    assert_eq!(answered("310 qps", full).0, Outcome::DoesNotFit, "no processor is left");
    assert_eq!(still(ramp(), "10 tps"), "it is measured in qps");
    assert_eq!(still(Vec::new(), "10 qps"), "the run has no test of this workload");
    assert_eq!(still(ramp(), "10 qps org=iot"), "it was measured with its usual parameters only");
    let chosen = |test: TestResult| {
        let params = std::collections::BTreeMap::from([("org".to_string(), "iot".to_string())]);
        TestResult { chosen: params.clone(), params, ..test }
    };
    let iot: Vec<_> = ramp().into_iter().map(chosen).collect();
    assert_eq!(still(iot.clone(), "10 qps"), "it was measured with other parameters, as org=iot");
    assert_eq!(answered("10 qps org=iot", iot).0, Outcome::Fits);
    let short = ramp()
        .into_iter()
        .map(|test| TestResult { ci_fraction: None, window_s: 2.0, ..test })
        .collect();
    let unknown = "306 qps is 30.60 times what is needed, but how well that is known is not (no \
                   interval: one short window): measure it again with --repeat 5";
    assert_eq!(answered("10 qps", short), (Outcome::NotCovered, None, unknown.into()));
    let time = TestResult { kpm: kpm(KpmValue::ServiceTime, "ms", Better::Lower), ..point(1, 1.0) };
    assert_eq!(still(vec![time], "1 ms"), "it has no rate");
}

#[test]
fn only_valid_figures_answer_and_the_others_are_counted() {
    let mut results = ramp();
    results.push(judged(Status::Conditional, point(16, 900.0)));
    results.push(judged(Status::Invalid, point(32, 2_000.0)));
    let why = "900 qps with 16 jobs would do, but that figure is conditional";
    assert_eq!(answered("500 qps", results.clone()), (Outcome::NotCovered, None, why.into()));
    let less = "900 qps with 16 jobs were measured, 0.900 times what is needed, but that is \
                conditional (): measure it again with --retry-disturbed";
    assert_eq!(answered("1000 qps", results.clone()), (Outcome::NotCovered, None, less.into()));
    let (need, tests) = (Need::parse("SRV-QUERY1 100 qps").unwrap(), tests(results));
    assert_eq!(answer(&need, &tests).left_out, 2);
    let all: Vec<_> = ramp().into_iter().map(|test| judged(Status::Conditional, test)).collect();
    let doubtful = "306 qps with 8 jobs were measured, 30.60 times what is needed, but that is \
                    conditional (): measure it again with --retry-disturbed";
    assert_eq!(answered("10 qps", all).2, doubtful);
    let all: Vec<_> = ramp().into_iter().map(|test| judged(Status::Invalid, test)).collect();
    assert_eq!(
        answered("10 qps", all).2,
        "the verdict accepts none of its figures: 4 are left out"
    );
}

#[test]
fn a_maximum_beside_a_figure_that_is_not_valid_is_not_known() {
    let rising = || ramp().into_iter().take(2);
    let with = |last: TestResult| rising().chain([last]).collect::<Vec<_>>();
    let outcome = |results: &[TestResult]| answered("400 qps", results.to_vec());
    // Throughput rose up to 2 jobs, and the step to 4 is not valid.
    let unknown = "throughput still rose with 2 jobs: 190 qps, and the figure with 4 jobs is not \
                   valid: measure it again with --retry-disturbed";
    let not_covered = |why: &str| (Outcome::NotCovered, None, why.to_string());
    let settle = "dbdyno run engine --workload SRV-QUERY1 --jobs 4 --drive client --repeat 5 \
                  --retry-disturbed";
    for (status, qps) in [(Status::Invalid, 390.0), (Status::Invalid, 20.0)] {
        let results = with(judged(status, point(4, qps)));
        assert_eq!(outcome(&results), not_covered(unknown));
        assert_eq!(doubtful(&["400 qps"], results), (None, Some(settle.into())));
    }
    let lower = with(judged(Status::Conditional, point(4, 180.0)));
    assert_eq!(outcome(&lower), not_covered(unknown));
    let higher = with(judged(Status::Conditional, point(4, 390.0)));
    let why = "390 qps with 4 jobs were measured, 0.975 times what is needed, but that is \
               conditional (): measure it again with --retry-disturbed";
    assert_eq!(outcome(&higher), not_covered(why));
    let said = "reaches 0.975 times what is needed by a conditional figure";
    assert_eq!(doubtful(&["400 qps"], higher), (Some(said.into()), Some(settle.into())));
    // A step that was not worth its jobs ends a ramp, and so do processors that are all in use.
    let flat = |last: TestResult| ramp().into_iter().chain([last]).collect::<Vec<_>>();
    let invalid = flat(judged(Status::Invalid, point(16, 900.0)));
    let most = "the maximum is 306 qps, with 8 jobs";
    assert_eq!(outcome(&invalid), (Outcome::DoesNotFit, None, most.into()));
    let hardly = flat(judged(Status::Conditional, point(16, 310.0)));
    let most = "the maximum is 306 qps, with 8 jobs; 310 qps with 16 jobs is hardly more, and \
                conditional";
    assert_eq!(outcome(&hardly), (Outcome::DoesNotFit, None, most.into()));
    let mut full = with(judged(Status::Invalid, point(4, 390.0)));
    full[1].window_counters = counters(&[
        ("os_cpu_total_s", 20.0),
        ("os_cpu_idle_s", 0.0),
        ("server_cpu_s", 19.0),
        ("self_cpu_s", 0.5),
        ("os_cpu_steal_s", 0.0),
    ]);
    let most = "the maximum is 190 qps, with 2 jobs, which take all CPUs; what was measured with \
                more jobs is not valid";
    assert_eq!(outcome(&full), (Outcome::DoesNotFit, None, most.into()));
}

#[test]
fn a_maximum_below_a_conditional_figure_is_a_lower_bound() {
    let run = run();
    let needs = [Need::parse("SRV-QUERY1 153 qps").unwrap()];
    let bounds = |status: Status| {
        let all = ramp().into_iter().chain([judged(status, point(16, 900.0))]);
        let tests = tests(all.collect());
        let found = platform(&run, &tests, &needs);
        let most = found.answers[0].most.unwrap();
        assert_eq!((found.outcome, most.figure.value), (Outcome::Fits, 306.0));
        (found.is_headroom_bound(), most.figure.passed_over, most.figure.status())
    };
    assert_eq!(bounds(Status::Conditional), (true, Some(16), Status::Conditional));
    assert_eq!(bounds(Status::Invalid), (false, None, Status::Valid));
}

/// The third answer for needs, and the command that settles it.
fn doubtful(needs: &[&str], results: Vec<TestResult>) -> (Option<String>, Option<String>) {
    let needs: Vec<Need> =
        needs.iter().map(|need| Need::parse(&format!("SRV-QUERY1 {need}")).unwrap()).collect();
    let (run, tests) =
        (RunRecord { target: "engine (private server)".into(), ..run() }, tests(results));
    let found = ask(Side { name: "a", run: &run, tests: &tests, price: None }, &needs);
    (found.doubtful_answer().map(|said| said.to_string()), found.settling_command())
}

#[test]
fn a_figure_with_a_doubt_is_an_answer_that_names_its_doubt_and_what_settles_it() {
    let conditional: Vec<_> =
        ramp().into_iter().map(|test| judged(Status::Conditional, test)).collect();
    let command = "dbdyno run engine --workload SRV-QUERY1 --jobs 8 --drive client --repeat 5 \
                   --retry-disturbed";
    let (said, settled) = doubtful(&["102 qps"], conditional.clone());
    assert_eq!(said.unwrap(), "fits 3.00 times by a conditional figure");
    assert_eq!(settled.unwrap(), command);
    let (said, _) = doubtful(&["612 qps"], conditional.clone());
    assert_eq!(said.unwrap(), "reaches 0.500 times what is needed by a conditional figure");
    // Together they take a third and a half.
    let (said, _) = doubtful(&["102 qps", "153 qps"], conditional.clone());
    assert_eq!(said.unwrap(), "fits 1.20 times by figures with a doubt");
    let (said, _) = doubtful(&["102 qps p99<1ms"], conditional.clone());
    assert_eq!(said, None, "no figure meets the SLO");
    let short = TestResult { ci_fraction: None, window_s: 2.0, ..point(8, 306.0) };
    let (said, _) = doubtful(&["102 qps"], vec![short]);
    assert_eq!(said.unwrap(), "fits 3.00 times by a figure without an interval");
    // A valid figure without an interval answers before a conditional one, if it would do.
    let short = TestResult { ci_fraction: None, window_s: 2.0, ..point(8, 306.0) };
    let both = vec![short, judged(Status::Conditional, point(16, 900.0))];
    let (answered, _) = doubtful(&["102 qps"], both.clone());
    assert_eq!(answered.unwrap(), "fits 3.00 times by a figure without an interval");
    let (answered, _) = doubtful(&["450 qps"], both.clone());
    assert_eq!(answered.unwrap(), "fits 2.00 times by a conditional figure");
    let why = "900 qps with 16 jobs would do, but that figure is conditional";
    assert_eq!(self::answered("450 qps", both).2, why, "the reason is of the figure that answers");
    // Where a valid figure answers there is no doubt, and an invalid one answers nothing.
    assert_eq!(doubtful(&["100 qps"], ramp()), (None, None));
    let mut more = ramp();
    more.push(judged(Status::Conditional, point(16, 200.0)));
    assert_eq!(doubtful(&["305 qps"], more.clone()).0, None, "a lower one says nothing more");
    more.push(judged(Status::Conditional, point(32, 610.0)));
    assert_eq!(doubtful(&["305 qps"], more).0.unwrap(), "fits 2.00 times by a conditional figure");
    let invalid: Vec<_> = ramp().into_iter().map(|test| judged(Status::Invalid, test)).collect();
    assert_eq!(doubtful(&["10 qps"], invalid), (None, None));
}

/// A stored run may come from a stranger, and the command is there to be pasted.
#[test]
fn a_target_that_means_something_to_a_shell_is_quoted_in_the_command() {
    let need = [Need::parse("SRV-QUERY1 102 qps").unwrap()];
    let conditional = ramp().into_iter().map(|test| judged(Status::Conditional, test));
    let tests = tests(conditional.collect());
    let command = |target: &str| {
        let run = RunRecord { target: target.into(), ..run() };
        ask(Side { name: "a", run: &run, tests: &tests, price: None }, &need).settling_command()
    };
    let start =
        |target: &str| command(target).unwrap().split(" --workload").next().map(String::from);
    assert_eq!(start("engine; reboot").unwrap(), "dbdyno run 'engine; reboot'");
    assert_eq!(start("x://me@h/d?a=1&b=2").unwrap(), "dbdyno run 'x://me@h/d?a=1&b=2'");
    assert_eq!(command("--results=/elsewhere"), None, "an option is no target");
    assert_eq!(command(""), None);
}

#[test]
fn a_promise_must_be_kept_where_the_rate_is_reached() {
    assert_eq!(answered("150 qps p99<5ms", ramp()), (Outcome::Fits, Some(2), String::new()));
    let (outcome, _, why) = answered("150 qps p99<1.5ms", ramp());
    assert_eq!(outcome, Outcome::NotCovered);
    assert_eq!(why, "p99<1.5ms is met at 100 qps and missed at 190; nothing between was measured");
    let floor = "p99<1ms is missed at 100 qps: it is 1 ms";
    assert_eq!(answered("50 qps p99<1ms", ramp()), (Outcome::DoesNotFit, None, floor.into()));
    assert_eq!(answered("310 qps p99<1s", ramp()).2, "the maximum is 306 qps, with 8 jobs");
    assert_eq!(
        answered("200 qps p50<1s", ramp()).2,
        "too few ops were timed to know whether p50<1s is met"
    );
    let all_above = ramp().into_iter().skip(1).collect();
    let why = "p99<1ms is missed at every rate that was measured, all of them above the required \
               one";
    assert_eq!(answered("50 qps p99<1ms", all_above), (Outcome::NotCovered, None, why.into()));
}

/// A test with 8 jobs to which ops were offered at a rate, with the p99 of their answers.
fn offered(per_s: f64, p99_us: f64) -> TestResult {
    let offer = OfferedLoad { per_s, arrivals: Default::default(), slo: None };
    let response = LatencySummary { p99_us: Some(p99_us), ..LatencySummary::default() };
    let mut test = point(8, per_s);
    [&mut test.params, &mut test.chosen].into_iter().for_each(|params| offer.add_to(params));
    let due = per_s * test.window_s;
    TestResult { open: Some(OpenLoop { offer, due, response, phases: Vec::new() }), ..test }
}

#[test]
fn an_open_loop_tells_the_times_of_its_answers() {
    let mut results = ramp();
    results.extend([offered(150.0, 900.0), offered(200.0, 60_000.0)]);
    assert_eq!(
        answered("140 qps p99<1ms", results.clone()),
        (Outcome::Fits, Some(8), String::new())
    );
    let (outcome, _, why) = answered("195 qps p99<3ms", results);
    assert_eq!((outcome, why.contains("missed at 200")), (Outcome::NotCovered, true), "{why}");
}

/// Five repetitions at an offered rate of 900 qps, with the p99 of each in ms.
fn at_900_qps(p99_ms: [f64; 5]) -> Vec<TestResult> {
    let measured = [899.0, 899.5, 900.0, 900.5, 901.0].into_iter().zip(p99_ms);
    let trial = |(qps, p99_ms): (f64, f64)| TestResult {
        kpm_value: Some(qps),
        ..offered(900.0, 1e3 * p99_ms)
    };
    measured.map(trial).collect()
}

/// Chance decides which repetition has the median rate if the rate is offered.
#[test]
fn every_repetition_that_counts_must_meet_the_slo_or_miss_it() {
    let unknown = "p99<5ms was met in 2 of 5 repetitions at 900 qps: whether it is met there is \
                   not known";
    for p99_ms in [[4.0, 4.0, 6.0, 6.0, 6.0], [6.0, 6.0, 4.0, 6.0, 4.0]] {
        let unknown = (Outcome::NotCovered, None, unknown.to_string());
        assert_eq!(answered("850 qps p99<5ms", at_900_qps(p99_ms)), unknown);
        assert_eq!(answered("950 qps p99<5ms", at_900_qps(p99_ms)), unknown, "nor is it missed");
    }
    let all = at_900_qps([4.0, 4.1, 4.2, 4.3, 4.9]);
    assert_eq!(answered("850 qps p99<5ms", all), (Outcome::Fits, Some(8), String::new()));
    let missed = "p99<5ms is missed at 900 qps: it is 6 ms";
    let none = at_900_qps([6.0; 5]);
    assert_eq!(answered("950 qps p99<5ms", none), (Outcome::DoesNotFit, None, missed.into()));
    let conditional = at_900_qps([4.0, 6.0, 4.0, 6.0, 6.0]).into_iter();
    let conditional = conditional.map(|test| judged(Status::Conditional, test)).collect();
    let why = "900 qps with 8 jobs were measured, 1.059 times what is needed, but p99<5ms was met \
               in 2 of 5 repetitions only";
    assert_eq!(answered("850 qps p99<5ms", conditional).2, why);
    // The test with slow repetitions in a closed loop.
    let slow = |test: TestResult| TestResult {
        latency: LatencySummary { p99_us: Some(9e3), ..LatencySummary::default() },
        ..test
    };
    let closed = vec![point(1, 100.0), point(2, 189.0), slow(point(2, 190.0)), point(2, 191.0)];
    let why = "p99<5ms is met at 100 qps; at 190 it was met in 2 of 3 repetitions only";
    assert_eq!(answered("150 qps p99<5ms", closed), (Outcome::NotCovered, None, why.into()));
}

#[test]
fn a_percentile_that_ops_which_were_not_done_hide_is_not_said_to_have_too_few_ops() {
    // 0.4 % of 10000 ops were not done: p99.9 is that of the others, and p99 is known.
    let mut test = offered(1_000.0, 2_000.0);
    test.window.ops = 9_960;
    test.open.as_mut().unwrap().response.p999_us = Some(3_000.0);
    let why = "more ops were due and not done at 1000 qps than p99.9<5ms leaves out: whether it is \
               met there is not known";
    let unknown = (Outcome::NotCovered, None, why.to_string());
    assert_eq!(answered("500 qps p99.9<5ms", vec![test.clone()]), unknown);
    assert_eq!(answered("500 qps p99<5ms", vec![test.clone()]).0, Outcome::Fits);
    let why = "1000 qps with 8 jobs were measured, 2.00 times what is needed, but more ops were \
               due and not done than p99.9<5ms leaves out";
    let conditional = judged(Status::Conditional, test.clone());
    assert_eq!(answered("500 qps p99.9<5ms", vec![conditional]).2, why);
    // Where the percentile itself is not known, too few ops were timed.
    test.open.as_mut().unwrap().response.p999_us = None;
    let why = "too few ops were timed to know whether p99.9<5ms is met";
    assert_eq!(answered("500 qps p99.9<5ms", vec![test]).2, why);
}

#[test]
fn applications_are_clients_unless_the_need_names_a_drive() {
    let mut results = ramp();
    let inside = |test: TestResult| TestResult { drive: Drive::Database, ..test };
    results.extend([(1, 1_000.0), (2, 1_010.0)].map(|(jobs, qps)| inside(point(jobs, qps))));
    assert_eq!(answered("900 qps", results.clone()).0, Outcome::DoesNotFit);
    assert_eq!(answered("900 qps drive=database", results).0, Outcome::Fits);
}

#[test]
fn a_publication_answers_as_printed() {
    let print = |jobs, qps| {
        published_checks::fixture::test("Q", PublishedKind::Point, jobs, &[("throughput_qps", qps)])
    };
    let tests = vec![print(1, 100.0), print(2, 190.0), print(4, 191.0)];
    let ask = |rate: &str| {
        let unit = tests[0].kpm().unit.clone();
        let need =
            Need { unit, ..Need::parse(&format!("SRV-QUERY1 {rate} qps drive=database")).unwrap() };
        let answer = answer(&need, &tests);
        (answer.outcome, answer.used.map(|used| (used.value, used.low)))
    };
    assert_eq!(ask("191"), (Outcome::Fits, Some((1.0, None))));
    assert_eq!(ask("192").0, Outcome::DoesNotFit);
    assert_eq!(tests[0].kind(), RunKind::Published);
}

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

fn platform<'a>(run: &'a RunRecord, tests: &'a [Test], needs: &'a [Need]) -> Platform<'a> {
    ask(Side { name: "a", run, tests, price: None }, needs)
}

fn run() -> RunRecord {
    let device = DeviceSync {
        fdatasync_per_s: 1000.0,
        dsync_per_s: 900.0,
        threads: 1,
        fdatasync_all_per_s: 0.0,
        dsync_all_per_s: 0.0,
    };
    let mut run = RunRecord { device_sync: Some(device), ..compare::fixture::run("a") };
    run.disclosure.set("hardware", "cores", "4");
    run
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

#[test]
fn a_conditional_figure_whose_percentile_is_unknown_is_not_said_to_meet_the_slo() {
    let unknown = |test: TestResult| TestResult {
        latency: LatencySummary::default(),
        ..judged(Status::Conditional, test)
    };
    let mut results: Vec<TestResult> = ramp().into_iter().map(unknown).collect();
    let (outcome, _, why) = answered("102 qps p99<5ms", results.clone());
    assert_eq!(outcome, Outcome::NotCovered);
    let text = "306 qps with 8 jobs were measured, 3.00 times what is needed, but too few ops were \
                timed to tell whether p99<5ms is met: measure it again, with a longer --duration";
    assert_eq!(why, text);
    // One that is known to meet it says more.
    results[1] = judged(Status::Conditional, point(2, 190.0));
    let (_, _, why) = answered("102 qps p99<5ms", results);
    assert!(why.starts_with("190 qps with 2 jobs were measured"), "{why}");
}

#[test]
fn a_conditional_figure_that_may_miss_the_slo_is_not_said_to_do() {
    let unknown = TestResult {
        latency: LatencySummary::default(),
        ..judged(Status::Conditional, point(8, 306.0))
    };
    let results = vec![point(1, 100.0), point(2, 190.0), unknown];
    let text = "306 qps with 8 jobs were measured, 1.22 times what is needed, but too few ops were \
                timed to tell whether p99<5ms is met: measure it again, with a longer --duration";
    let answer = (Outcome::NotCovered, None, text.to_string());
    assert_eq!(answered("250 qps p99<5ms", results.clone()), answer);
    let (said, command) = doubtful(&["250 qps p99<5ms"], results);
    assert_eq!((said, command.unwrap().contains("--jobs 8 ")), (None, true));
    // It may do also where it is hardly more than the best.
    let unknown = TestResult {
        latency: LatencySummary::default(),
        ..judged(Status::Conditional, point(16, 312.0))
    };
    let results: Vec<TestResult> = ramp().into_iter().chain([unknown]).collect();
    let (outcome, _, why) = answered("311 qps p99<1s", results);
    assert_eq!(outcome, Outcome::NotCovered);
    assert!(why.starts_with("312 qps with 16 jobs were measured, 1.003 times"), "{why}");
}

#[test]
fn answer_command_and_reason_name_the_same_conditional_figure() {
    let conditional = |jobs, qps| judged(Status::Conditional, point(jobs, qps));
    let results = vec![point(1, 300.0), conditional(8, 5_000.0), conditional(16, 9_000.0)];
    let why = "9000 qps with 16 jobs would do, but that figure is conditional";
    assert_eq!(answered("4000 qps", results.clone()).2, why);
    let (said, command) = doubtful(&["4000 qps"], results);
    assert_eq!(said.unwrap(), "fits 2.25 times by a conditional figure");
    assert!(command.unwrap().contains("--jobs 16 "));
    // Also where the need lies within the interval of the best valid figure.
    let results: Vec<TestResult> = ramp().into_iter().chain([conditional(16, 610.0)]).collect();
    let why = "610 qps with 16 jobs would do, but that figure is conditional";
    assert_eq!(answered("305 qps", results).2, why);
    // And where no valid figure meets the SLO.
    let results = vec![late(2, 500.0), conditional(4, 450.0)];
    let why = "450 qps with 4 jobs were measured, 1.50 times what is needed, but that is \
               conditional (): measure it again with --retry-disturbed";
    assert_eq!(answered("300 qps p99<5ms", results.clone()).2, why);
    let (said, _) = doubtful(&["300 qps p99<5ms"], results);
    assert_eq!(said.unwrap(), "fits 1.50 times by a conditional figure");
}

/// A test whose p99 misses every SLO of these tests.
fn late(jobs: u32, qps: f64) -> TestResult {
    let latency = LatencySummary { p99_us: Some(60e3), ..LatencySummary::default() };
    TestResult { latency, ..point(jobs, qps) }
}

#[test]
fn a_missed_slo_decides_nothing_where_a_conditional_figure_meets_it_at_more_load() {
    let conditional = judged(Status::Conditional, TestResult { jobs: 8, ..point(2, 5_000.0) });
    let results = vec![point(1, 300.0), conditional.clone(), late(64, 900.0)];
    let why = "5000 qps with 8 jobs would do, but that figure is conditional";
    let need = "1000 qps p99<5ms";
    assert_eq!(answered(need, results.clone()), (Outcome::NotCovered, None, why.into()));
    let (said, command) = doubtful(&[need], results);
    assert_eq!(said.unwrap(), "fits 5.00 times by a conditional figure");
    assert!(command.unwrap().contains("--jobs 8 "));
    // An invalid one contradicts nothing.
    let invalid = judged(Status::Invalid, conditional);
    let missed = "p99<5ms is missed at 900 qps: it is 60 ms";
    let results = vec![point(1, 300.0), invalid, late(64, 900.0)];
    assert_eq!(answered(need, results), (Outcome::DoesNotFit, None, missed.into()));
}

/// Five conditional repetitions with 8 jobs, two of which meet an SLO of p99<5ms.
fn contradictory(qps: f64) -> Vec<TestResult> {
    let met = |part: f64| TestResult { jobs: 8, ..point(2, part * qps) };
    let missed = |part: f64| late(8, part * qps);
    let trials = [missed(0.999), met(0.9995), missed(1.0), met(1.0005), missed(1.001)];
    trials.map(|test| judged(Status::Conditional, test)).into()
}

#[test]
fn a_conditional_figure_whose_repetitions_contradict_one_another_is_named_as_what_is_not_known() {
    let beside = |valid: Vec<TestResult>, qps: f64| -> Vec<TestResult> {
        valid.into_iter().chain(contradictory(qps)).collect()
    };
    let why = |measured: &str| {
        let only = "but p99<5ms was met in 2 of 5 repetitions only";
        (Outcome::NotCovered, None, format!("{measured} times what is needed, {only}"))
    };
    for (need, results, measured) in [
        // Every valid figure misses the SLO, or there is none.
        (
            "300 qps p99<5ms",
            beside(vec![late(1, 200.0)], 400.0),
            "400 qps with 8 jobs were measured, 1.33",
        ),
        (
            "500 qps p99<5ms",
            beside(vec![late(1, 200.0)], 400.0),
            "400 qps with 8 jobs were measured, 0.800",
        ),
        ("300 qps p99<5ms", contradictory(400.0), "400 qps with 8 jobs were measured, 1.33"),
        // One meets it and another misses it: below the need, and above it.
        (
            "1000 qps p99<5ms",
            beside(vec![point(1, 300.0), late(64, 900.0)], 5_000.0),
            "5000 qps with 8 jobs were measured, 5.00",
        ),
        (
            "850 qps p99<5ms",
            beside(vec![point(1, 300.0), late(64, 900.0)], 600.0),
            "600 qps with 8 jobs were measured, 0.706",
        ),
    ] {
        assert_eq!(answered(need, results.clone()), why(measured), "{need}");
        let (said, command) = doubtful(&[need], results);
        assert_eq!((said, command.unwrap().contains("--jobs 8 ")), (None, true), "{need}");
    }
}

#[test]
fn a_missed_slo_decides_nothing_where_the_interval_of_a_figure_that_meets_it_reaches_the_need() {
    let known = TestResult { ci_fraction: Some(0.02), ..point(2, 780.0) };
    for missed_at in [785.0, 800.0] {
        let results = vec![known.clone(), late(8, missed_at)];
        let (outcome, _, why) = answered("790 qps p99<5ms", results);
        assert_eq!(outcome, Outcome::NotCovered);
        let within = "the rate lies within the interval of the best figure, 765 to 796 qps";
        assert_eq!(why, within);
    }
    // Beyond the interval the missed one decides.
    let results = vec![known, late(8, 785.0)];
    let missed = "p99<5ms is missed at 785 qps: it is 60 ms";
    assert_eq!(answered("900 qps p99<5ms", results), (Outcome::DoesNotFit, None, missed.into()));
}

#[test]
fn what_is_used_is_known_where_a_higher_figure_has_no_interval() {
    let short = |test: TestResult| TestResult { ci_fraction: None, window_s: 2.0, ..test };
    let run = run();
    let other = |jobs, tps| TestResult {
        workload: "TP-LIGHT".into(),
        kpm: kpm(KpmValue::Ops, "tps", Better::Higher),
        ..point(jobs, tps)
    };
    let results = vec![point(4, 300.0), short(point(8, 900.0)), other(4, 1_000.0)];
    let tests = tests(results);
    let needs = ["SRV-QUERY1 150 qps", "TP-LIGHT 900 tps"].map(|need| Need::parse(need).unwrap());
    let alone = platform(&run, &tests, &needs[..1]);
    let answer = &alone.answers[0];
    assert_eq!((alone.outcome, answer.most.unwrap().figure.value), (Outcome::Fits, 300.0));
    assert_eq!(answer.used.unwrap().value, 0.5);
    assert!((alone.headroom().unwrap().value - 2.0).abs() < 1e-9);
    // More may be possible, which the higher one shows.
    let bounds: Vec<String> = answer.lower_bounds().iter().map(ToString::to_string).collect();
    let said = "the maximum is a lower bound: 900 qps with 8 jobs has no interval and does not \
                count here";
    assert_eq!(bounds, [said]);
    assert!(alone.is_headroom_bound());
    assert_eq!(answer.most_status(), Some(Status::Conditional));
    let together = platform(&run, &tests, &needs);
    let other = &together.answers[1];
    assert_eq!((other.is_bound(), other.most_status()), (false, Some(Status::Valid)));
    let why = together.why.unwrap().to_string();
    assert!(why.contains("alone they take up to 141 % of the platform's time"), "{why}");
    // Where nothing fits, the figure without an interval still answers with its doubt.
    let (said, _) = doubtful(&["600 qps"], vec![point(4, 300.0), short(point(8, 900.0))]);
    assert_eq!(said.unwrap(), "fits 1.50 times by a figure without an interval");
}

#[test]
fn the_command_asks_for_an_open_loop_by_its_rate() {
    let conditional = |test: TestResult| judged(Status::Conditional, test);
    let (said, command) = doubtful(&["100 qps p99<5ms"], vec![conditional(offered(150.0, 900.0))]);
    assert_eq!(said.unwrap(), "fits 1.50 times by a conditional figure");
    let settle = "dbdyno run engine --workload SRV-QUERY1 --jobs 8 --drive client --rate 150 \
                  --repeat 5 --retry-disturbed";
    assert_eq!(command.unwrap(), settle);
    // A run has either a closed loop or an open one.
    let results = vec![conditional(point(4, 300.0)), conditional(offered(150.0, 900.0))];
    let (said, command) = doubtful(&["200 qps p99<5ms", "100 qps p99<1ms"], results);
    assert_eq!(said.unwrap(), "reaches 0.750 times what is needed by figures with a doubt");
    assert_eq!(command, None);
}
