//! Comparisons done by hand.

use super::fixture::{run, side};
use super::*;
use crate::analysis::fixture::at;
use crate::analysis::slips::fixture::test;
use crate::model::{PublishedKind, Reason, Verdict};

fn compared(base: &[TestResult], other: &[TestResult]) -> Comparison {
    let runs = [run("a"), run("b")];
    compare(&side("a", &runs[0], base), &side("b", &runs[1], other), &[], &Noise::default())
}

fn measured(rates: &[(u32, f64)]) -> Vec<TestResult> {
    rates.iter().map(|(jobs, rate)| TestResult { ci_fraction: Some(0.01), ..at(*jobs, *rate) }).collect()
}

fn brief(rows: &[Row]) -> Vec<(Kind, String, &'static str, u32, u32)> {
    let jobs = |jobs: Option<u32>| jobs.unwrap_or(0);
    rows.iter()
        .map(|row| {
            (
                row.kind,
                format!("{:.3}", row.ratio.value),
                row.change().name(),
                jobs(row.base_jobs),
                jobs(row.other_jobs),
            )
        })
        .collect()
}

#[test]
fn a_run_and_itself_differ_by_nothing() {
    let tests = measured(&[(1, 100.0), (2, 190.0), (4, 200.0)]);
    let found = compared(&tests, &tests);
    let expected = [(Kind::Speed, "1.000".into(), "~", 1, 1), (Kind::Throughput, "1.000".into(), "~", 4, 4)];
    assert_eq!(brief(&found.kpms), expected);
    assert!(found.findings.is_empty() && found.not_compared.is_empty() && found.differences.is_empty());
    assert_eq!(found.equal_jobs.iter().map(|line| line.jobs).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(found.equal_jobs[0].base_utilisation, Some(0.5));
}

#[test]
fn what_lies_beyond_the_noise_is_better_or_worse_and_said() {
    let found = compared(&measured(&[(1, 100.0), (4, 200.0)]), &measured(&[(1, 103.0), (8, 300.0)]));
    let expected = [(Kind::Speed, "1.030".into(), "~", 1, 1), (Kind::Throughput, "1.500".into(), "better", 4, 8)];
    assert_eq!(brief(&found.kpms), expected);
    let row = &found.kpms[1];
    assert_eq!(row.per_job, Some(0.75));
    assert!(row.ratio.low.unwrap() > 1.3 && row.ratio.high.unwrap() < 1.7);
    assert!(found.findings[0].text.starts_with("SRV-QUERY1: throughput +50.0 % ("), "{:?}", found.findings);
    let back = compared(&measured(&[(8, 300.0)]), &measured(&[(4, 200.0)]));
    assert!((back.kpms[0].loss() - 1.0 / 3.0).abs() < 1e-12 && back.kpms[0].change() == Change::Worse);
    assert!(back.kpms[0].is_failure(0.3) && !back.kpms[0].is_failure(0.34));
}

#[test]
fn another_revision_or_data_set_is_compared_but_not_silently() {
    let (base, mut other) = (measured(&[(1, 100.0)]), measured(&[(1, 100.0)]));
    other[0].revision = 2;
    let runs = [run("a"), RunRecord { size_gb: 2.0, ..run("b") }];
    let found = compare(&side("a", &runs[0], &base), &side("b", &runs[1], &other), &[], &Noise::default());
    assert_eq!(found.kpms[0].status, Status::Conditional);
    assert_eq!(found.kpms[0].reasons.len(), 2, "{:?}", found.kpms[0].reasons);
    assert!(found.differences.iter().any(|difference| difference.fact == "size_gb"));
}

#[test]
fn other_parameters_are_other_workloads_and_only_one_run_having_one_is_said() {
    let (base, mut other) = (measured(&[(1, 100.0)]), measured(&[(1, 100.0)]));
    other[0].chosen.insert("org".into(), "iot".into());
    let found = compared(&base, &other);
    assert!(found.kpms.is_empty());
    let why: Vec<_> = found.not_compared.iter().map(|lost| lost.why.as_str()).collect();
    assert_eq!(why, ["only in a", "only in b"]);
}

#[test]
fn an_invalid_figure_makes_no_finding() {
    let (base, mut other) = (measured(&[(1, 100.0)]), measured(&[(1, 300.0)]));
    let reason = Reason::new(Status::Invalid, "errors", "too many errors");
    other[0].verdict = Verdict::from_reasons(vec![reason]);
    let found = compared(&base, &other);
    assert_eq!((found.kpms[0].status, found.kpms[0].reasons[0].as_str()), (Status::Invalid, "too many errors"));
    assert!(found.findings.is_empty());
    assert!(found.kpms[0].is_failure(0.05), "it became invalid");
    assert!(!compared(&other, &base).kpms[0].is_failure(0.0) && !compared(&other, &other).kpms[0].is_failure(0.0));
}

#[test]
fn published_figures_have_no_interval_and_statements_are_speed_and_throughput() {
    let stated = |speed, throughput| {
        vec![
            test("T1", PublishedKind::Speed, 1, &[("rows_per_s", speed)]),
            test("T1", PublishedKind::Throughput, 0, &[("rows_per_s", throughput)]),
        ]
    };
    let found = compared(&stated(10.0, 477.0), &stated(10.0, 219.0));
    let expected = [(Kind::Speed, "1.000".into(), "~", 1, 1), (Kind::Throughput, "0.459".into(), "worse", 0, 0)];
    assert_eq!(brief(&found.kpms), expected);
    assert_eq!(found.kpms[1].ratio.low, None);
}

#[test]
fn a_sound_figure_that_the_other_does_not_have_is_lost() {
    let lost = |found: &Comparison| found.lost().map(|one| (one.kind, one.why.clone())).collect::<Vec<_>>();
    let (base, faster) = (measured(&[(1, 100.0), (2, 190.0)]), measured(&[(2, 190.0)]));
    let no_speed = compared(&base, &faster);
    assert_eq!(lost(&no_speed), [(Some(Kind::Speed), "no figure in b".into())]);
    assert_eq!(no_speed.kpms.len(), 1);
    let in_database = |test: &TestResult| TestResult { drive: crate::model::Drive::Database, ..test.clone() };
    let both: Vec<TestResult> = base.iter().cloned().chain(base.iter().map(in_database)).collect();
    assert_eq!(lost(&compared(&both, &base)), [(None, "database drive only in a".into())]);
    let (back, none) = (compared(&base, &both), compared(&[], &base));
    assert!(lost(&back).is_empty() && !back.judges_nothing());
    assert!(lost(&none).is_empty() && none.judges_nothing());
    let mut invalid = base.clone();
    for test in &mut invalid {
        test.verdict = Verdict::from_reasons(vec![Reason::new(Status::Invalid, "errors", "too many errors")]);
    }
    let of_invalid = compared(&invalid, &[]);
    assert!(lost(&of_invalid).is_empty() && of_invalid.judges_nothing());
}

#[test]
fn figures_in_other_units_are_not_compared() {
    let base = [test("T1", PublishedKind::Speed, 1, &[("rows_per_s", 10.0)])];
    let other = [test("T1", PublishedKind::Speed, 1, &[("throughput_tps", 10.0)])];
    let found = compared(&base, &other);
    assert!(found.kpms.is_empty() && found.not_compared[0].why.contains("rows_per_s against throughput_tps"));
}

#[test]
fn cores_and_licences_divide_the_ratio_unless_the_platform_table_is_contradicted() {
    let base = measured(&[(1, 100.0)]);
    let mut runs = [run("a"), run("b")];
    for (run, cores) in runs.iter_mut().zip(["8", "16"]) {
        run.disclosure.set("hardware", "cores", cores);
        run.disclosure.set("licence", "licences_needed", "4");
    }
    let found = compare(&side("a", &runs[0], &base), &side("b", &runs[1], &base), &[], &Noise::default());
    assert_eq!((found.kpms[0].per_core, found.kpms[0].per_licence), (Some(0.5), Some(1.0)));
}

#[test]
fn the_geometric_mean_of_a_group_takes_times_inversely() {
    let row = |better, ratio| Row {
        ratio: Ratio { value: ratio, low: None, high: None },
        better,
        ..compared(&measured(&[(1, 1.0)]), &measured(&[(1, 1.0)])).kpms.remove(0)
    };
    let means = rows::group_means(&[row(Better::Higher, 2.0), row(Better::Lower, 0.125)]);
    assert_eq!((means.len(), means[0].workloads), (1, 2));
    assert!((means[0].ratio - 4.0).abs() < 1e-9);
}
