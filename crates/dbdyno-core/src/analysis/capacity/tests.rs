//! Requirements against ramps whose answer is known by hand.

use super::test_ramps::{answered, doubtful, judged, platform, point, ramp, run, tests};
use super::*;
use crate::analysis::fixture::{counters, kpm};
use crate::analysis::published_checks;
use crate::model::{Better, KpmValue, PublishedKind, RunKind};

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
