use super::*;
use crate::analysis::compare::fixture::{run, side};
use crate::analysis::fixture;
use crate::analysis::published;
use crate::analysis::{figure, ramp};
use crate::model::{
    Better, Expr, Kpm, KpmValue, Published, PublishedFigure, Reason, RunRecord, TestResult, Verdict,
};

fn printed(code: &str, kind: PublishedKind, jobs: Option<u32>, metric: &str, value: f64) -> Test {
    let unit = if metric == "elapsed_s" { "s" } else { "rows/s" };
    let figure =
        PublishedFigure { metric: metric.into(), value, unit: unit.into(), note: String::new() };
    let published = Published {
        kind,
        code: code.into(),
        description: "look-up".into(),
        place: String::new(),
        nodes: Some(1),
        jobs,
        threads: None,
        update_pct: None,
        kpm: Some(metric.into()),
        figures: vec![figure],
    };
    let mut test = PublishedTest {
        workload: "SRV-QUERY1".into(),
        params: [("org".to_string(), "heap".to_string())].into(),
        ..PublishedTest::unread("S", published)
    };
    published::fill(&mut test);
    test.verdict = published::judge(&test.published, "S", Vec::new());
    test.into()
}

fn measured(jobs: u32, ops_per_s: f64, org: &str) -> Test {
    let mut test = TestResult { jobs, ops_per_s, drive: Drive::Database, ..fixture::result() };
    test.params = [("org".to_string(), org.to_string())].into();
    test.kpm = fixture::kpm(KpmValue::Ops, "qps", Better::Higher);
    crate::analysis::fill(&mut test);
    test.into()
}

fn workload() -> Workload {
    let kpm = fixture::kpm(KpmValue::Ops, "qps", Better::Higher);
    let per_op = [(Quantity::Rows, Expr("1".into()))].into();
    Workload { per_op, ..Workload::bare("SRV-QUERY1", "w", kpm) }
}

fn own_run() -> RunRecord {
    RunRecord { engine: Some("postgres".into()), ..run("mine") }
}

fn found(ours: &[Test], theirs: &[Test]) -> Beside {
    let workload = workload();
    let orgs: BTreeMap<&str, &[&str]> = [("postgres", &["heap", "heap-list"][..])].into();
    let words = Words { workloads: vec![&workload], orgs, ..Words::default() };
    let (own, foreign) = (own_run(), run("theirs"));
    beside(&side("mine", &own, ours), &side("theirs", &foreign, theirs), &words)
}

#[test]
fn rows_and_queries_of_one_row_are_paired_and_the_engines_own_organisation_has_its_name() {
    let theirs = [
        printed("T611", PublishedKind::Speed, Some(1), "rows_per_s", 1000.0),
        printed("T611", PublishedKind::Throughput, None, "rows_per_s", 50_000.0),
    ];
    let ours = [measured(1, 2500.0, "default"), measured(4, 8000.0, "default")];
    let found = found(&ours, &theirs);
    let seen: Vec<_> =
        found.pairs.iter().map(|pair| (pair.kind, pair.ratio, pair.theirs.jobs)).collect();
    assert_eq!(seen, [(Kind::Speed, 2.5, Some(1)), (Kind::Throughput, 0.16, None)]);
    let speed = &found.pairs[0];
    assert_eq!((speed.unit, speed.yours.conversion.code), ("rows/s", Code::OneAnOp));
    assert_eq!((speed.yours.printed, &*speed.yours.printed_unit), (2500.0, "qps"));
    let codes: Vec<&str> = speed.semantics.iter().map(|note| note.code.as_str()).collect();
    assert_eq!(codes, ["data", "one-an-op"], "no conversion is silent");
    assert_eq!(speed.status, Status::Conditional);
    assert_eq!(found.unpaired, []);
}

#[test]
fn another_organisation_is_not_the_same_work_and_one_that_the_engine_lacks_is_told() {
    let theirs = [printed("T611", PublishedKind::Speed, Some(1), "rows_per_s", 1000.0)];
    let other = found(&[measured(1, 2500.0, "heap-list")], &theirs);
    let reasons: Vec<Why> = other.unpaired.iter().map(|unpaired| unpaired.reason).collect();
    assert_eq!((other.pairs.len(), reasons), (0, vec![Why::NotRun]));
    let mut hash = printed("T613", PublishedKind::Speed, Some(1), "rows_per_s", 1000.0);
    if let Test::Published(test) = &mut hash {
        test.params.insert("org".into(), "hash".into());
    }
    let lacking = found(&[measured(1, 2500.0, "default")], &[hash]);
    assert_eq!(lacking.unpaired[0].reason, Why::EngineCannot);
    assert_eq!(lacking.unpaired[0].text.to_string(), "postgres has no table organization hash");
}

#[test]
fn figures_that_no_verdict_accepts_are_not_paired() {
    let theirs = [printed("T611", PublishedKind::Speed, Some(1), "rows_per_s", 1000.0)];
    let mut ours = measured(1, 2500.0, "default");
    if let Test::Measured(test) = &mut ours {
        let broken = Reason::new(Status::Invalid, ReasonCode::Contract, "wrong rows");
        test.verdict = Verdict::from_reasons(vec![broken]);
    }
    let found = found(&[ours], &theirs);
    assert_eq!(found.unpaired[0].reason, Why::NoFigure);
    assert!(found.unpaired[0].text.to_string().contains("wrong rows"), "{:?}", found.unpaired);
}

#[test]
fn a_lower_bound_makes_the_ratio_a_bound_and_a_misprint_makes_no_pair() {
    let noted = |note: &str| {
        let mut test = printed("T611", PublishedKind::Speed, Some(1), "rows_per_s", 1000.0);
        if let Test::Published(test) = &mut test {
            test.published.figures[0].note = note.into();
            test.verdict = published::judge(&test.published, "S", Vec::new());
        }
        test
    };
    let ours = [measured(1, 2500.0, "default")];
    let bound = found(&ours, &[noted("lower bound: 20 s timing floor")]);
    assert_eq!(bound.pairs[0].bound, Some("at-most"));
    let pairs: Vec<&Pair> = bound.pairs.iter().collect();
    let nobody = Standing { ahead: 0, level: 0, open: 1, doubtful: 0, all: 1 };
    assert_eq!(standing(&pairs, Kind::Speed), nobody, "a bound tells nobody ahead");
    let [mut doubted] = ours.clone();
    if let Test::Measured(test) = &mut doubted {
        let stolen = Reason::new(Status::Conditional, ReasonCode::Steal, "stolen");
        test.verdict = Verdict::from_reasons(vec![stolen]);
    }
    let doubtful = found(&[doubted], &[noted("")]);
    let pairs: Vec<&Pair> = doubtful.pairs.iter().collect();
    let ahead = Standing { ahead: 1, level: 0, open: 0, doubtful: 1, all: 1 };
    assert_eq!(standing(&pairs, Kind::Speed), ahead);
    let misprint = found(&ours, &[noted("misprint in source")]);
    assert_eq!(misprint.unpaired[0].reason, Why::SourceContradicts);
}

#[test]
fn what_only_one_side_has_is_listed() {
    let mut ours = measured(1, 2500.0, "default");
    if let Test::Measured(test) = &mut ours {
        test.workload = "OWN".into();
    }
    let theirs = [printed("T611", PublishedKind::Speed, Some(1), "rows_per_s", 1000.0)];
    let found = found(&[ours], &theirs);
    let seen: Vec<_> = found.unpaired.iter().map(|of| (of.code.as_str(), of.reason)).collect();
    assert_eq!(seen, [("T611", Why::NotRun), ("OWN", Why::OnlyYours)]);
}

#[test]
fn the_figure_of_repetitions_is_the_one_of_every_other_report() {
    let ours = [100.0, 110.0, 90.0, 20.0, 105.0].map(|rate| measured(1, rate, "heap"));
    let theirs = [printed("T1", PublishedKind::Point, Some(1), "rows_per_s", 50.0)];
    let pairs = found(&ours, &theirs).pairs;
    let tests: Vec<&Test> = ours.iter().collect();
    let figure = crate::analysis::ramp::speed(&tests).unwrap();
    assert_ne!(figure.value, 100.0, "of the five the median");
    let yours = &pairs[0].yours;
    assert!((yours.value / figure.value - 1.0).abs() < 1e-12, "{yours:?} {figure:?}");
    assert_eq!(yours.value, yours.printed);
}

/// Measured test in a million operations per second; an op is a thousand of them.
fn in_mops(seq: u32, jobs: u32, ops_per_s: f64, status: Status) -> Test {
    let mut test =
        TestResult { seq, ..measured(jobs, ops_per_s, "heap").measured().unwrap().clone() };
    test.kpm = Kpm { scale: 1e-6, ..fixture::kpm(KpmValue::Units, "Mops", Better::Higher) };
    (test.units, test.units_per_s) = (1000.0 * test.window.ops as f64, 1000.0 * ops_per_s);
    test.latency.mean_us = Some(1e6 / ops_per_s);
    (test.ci_fraction, test.ci_freedom) = (None, None);
    crate::analysis::fill(&mut test);
    let reason = Reason::new(status, ReasonCode::Steal, "stolen");
    test.verdict = Verdict::from_reasons(vec![reason]);
    test.into()
}

#[test]
fn yours_has_the_value_the_verdict_and_the_time_of_the_run() {
    use Status::{Conditional, Valid};
    // Three at one job, of which one is wild; a wide one at two; one at four that is passed over.
    let points = [
        (1, [100.0, 101.0, 70.0], Valid),
        (2, [150.0, 190.0, 260.0], Valid),
        (4, [300.0, 301.0, 299.0], Conditional),
        (8, [240.0, 241.0, 242.0], Valid),
    ];
    let each = points
        .iter()
        .flat_map(|(jobs, rates, status)| rates.iter().map(move |rate| (*jobs, *rate, *status)));
    let each = (1..).zip(each);
    let mut ours: Vec<Test> =
        each.map(|(seq, (jobs, rate, status))| in_mops(seq, jobs, rate, status)).collect();
    figure::estimate(&mut ours);
    let theirs = [
        printed("T1", PublishedKind::Speed, Some(1), "ops_per_s", 50.0),
        printed("T1", PublishedKind::Throughput, None, "ops_per_s", 70.0),
    ];
    let per_op = [(Quantity::Operations, Expr("work".into()))].into();
    let workload = Workload { per_op, ..workload() };
    let words = Words { workloads: vec![&workload], ..Words::default() };
    let (own, foreign) = (own_run(), run("theirs"));
    let found = beside(&side("mine", &own, &ours), &side("theirs", &foreign, &theirs), &words);
    let tests: Vec<&Test> = ours.iter().collect();
    let of_run = [ramp::speed(&tests).unwrap(), ramp::throughput(&tests).unwrap()];
    assert_eq!(of_run.map(|figure| figure.jobs), [Some(1), Some(8)]);
    assert_eq!(of_run[1].status(), Conditional, "a lower bound: {:?}", of_run[1]);
    assert_eq!(found.pairs.len(), 2, "{found:?}");
    for (pair, figure) in found.pairs.iter().zip(of_run) {
        let yours = &pair.yours;
        assert_eq!((yours.printed, &*yours.printed_unit), (figure.value, "Mops"));
        assert!((yours.value / (1e6 * figure.value) - 1.0).abs() < 1e-9, "{yours:?} {figure:?}");
        assert_eq!((yours.jobs, yours.status), (figure.jobs, figure.status()));
        assert_eq!(yours.service_time_ms, figure.mean_us().map(|us| us / 1e3));
    }
}

#[test]
fn a_figure_that_is_hardly_known_is_conditional_beside_a_publication_too() {
    let mut ours: Vec<Test> = (1..)
        .zip([100.0, 150.0, 60.0])
        .map(|(seq, rate)| in_mops(seq, 1, rate, Status::Valid))
        .collect();
    figure::estimate(&mut ours);
    let counted =
        Workload { per_op: [(Quantity::Operations, Expr("work".into()))].into(), ..workload() };
    let tests: Vec<&Test> = ours.iter().collect();
    let counted = Counted { quantity: Quantity::Operations, workload: &counted };
    let own = own_amount(&tests, Kind::Speed, counted).unwrap();
    assert_eq!(own.figure.status(), Status::Conditional, "{:?}", own.figure);
    assert_eq!(own.figure, ramp::speed(&tests).unwrap());
}
