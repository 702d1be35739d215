//! Comparisons done by hand.

use super::fixture::{run, side};
use super::*;
use crate::analysis::fixture::at;
use crate::analysis::published_checks::fixture::{judged, published, test};
use crate::model::{PublishedKind, PublishedTest, Reason, ReasonCode, TestResult, Verdict};
use crate::stats::moderated;

fn compared<T: Clone + Into<Test>>(base: &[T], other: &[T]) -> Comparison {
    let runs = [run("a"), run("b")];
    let [base, other] =
        [base, other].map(|tests| tests.iter().cloned().map(Into::into).collect::<Vec<Test>>());
    compare(&side("a", &runs[0], &base), &side("b", &runs[1], &other), &Terms::new(&[]))
}

fn measured(rates: &[(u32, f64)]) -> Vec<TestResult> {
    rates
        .iter()
        .map(|(jobs, rate)| TestResult { ci_fraction: Some(0.01), ..at(*jobs, *rate) })
        .collect()
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
    let expected =
        [(Kind::Speed, "1.000".into(), "~", 1, 1), (Kind::Throughput, "1.000".into(), "~", 4, 4)];
    assert_eq!(brief(&found.kpms), expected);
    assert!(
        found.findings.is_empty() && found.not_compared.is_empty() && found.differences.is_empty()
    );
    assert_eq!(found.equal_jobs.iter().map(|line| line.jobs).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(found.equal_jobs[0].base_utilisation, Some(0.5));
}

#[test]
fn what_lies_beyond_the_noise_is_better_or_worse_and_said() {
    let found =
        compared(&measured(&[(1, 100.0), (4, 200.0)]), &measured(&[(1, 101.0), (8, 300.0)]));
    let expected = [
        (Kind::Speed, "1.010".into(), "~", 1, 1),
        (Kind::Throughput, "1.500".into(), "better", 4, 8),
    ];
    assert_eq!(brief(&found.kpms), expected);
    let row = &found.kpms[1];
    assert_eq!(row.per_job, Some(0.75));
    // Seconds of 1 % / t(0.975, 4) each, 3 % for what windows differ by, 2.5 and 1 % for runs: the
    // standard error is sqrt(2 (0.0036^2 + 0.03^2 + 0.025^2 + 0.01^2)) = 0.0573, with 13 degrees of
    // freedom.
    let span = row.ratio.span.unwrap();
    assert!((span.high / 1.5).ln() > 0.121 && (span.high / 1.5).ln() < 0.126, "{span:?}");
    assert!((span.high * span.low - 2.25).abs() < 1e-9, "{span:?}");
    let text = "SRV-QUERY1: throughput better, x1.50 (x1.33 to x1.70), at 8 jobs against 4; \
                service time at full load x1.000";
    assert_eq!(found.findings[0].text.to_string(), text);
    let back = compared(&measured(&[(8, 300.0)]), &measured(&[(4, 200.0)]));
    assert!(
        (back.kpms[0].loss() - 1.0 / 3.0).abs() < 1e-12 && back.kpms[0].change() == Change::Worse
    );
    assert!(back.kpms[0].is_failure(0.3) && !back.kpms[0].is_failure(0.34));
}

#[test]
fn another_revision_or_data_set_is_compared_but_not_silently() {
    let (base, mut other) = (measured(&[(1, 100.0)]), measured(&[(1, 100.0)]));
    other[0].revision = 2;
    let [base, other] =
        [base, other].map(|tests| tests.into_iter().map(Test::from).collect::<Vec<_>>());
    let runs = [run("a"), RunRecord { size_gb: Some(2.0), ..run("b") }];
    let found =
        compare(&side("a", &runs[0], &base), &side("b", &runs[1], &other), &Terms::new(&[]));
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
    let why: Vec<_> = found.not_compared.iter().map(|lost| lost.why.to_string()).collect();
    assert_eq!(why, ["only in a", "only in b"]);
}

#[test]
fn a_repetition_that_measured_0_lowers_the_row_as_it_lowers_the_figure() {
    let base = measured(&[(1, 99.0), (1, 0.0), (1, 100.0), (1, 101.0)]);
    let found = compared(&base, &measured(&[(1, 99.0), (1, 100.0), (1, 101.0)]));
    let row = &found.kpms[0];
    assert_eq!(
        (row.status, row.base_status, row.other_status),
        (Status::Conditional, Status::Conditional, Status::Valid)
    );
    let said = "1 of 4 repetitions measured 0, which does not count: another run may give another \
                result";
    assert_eq!(row.reasons.iter().map(Sentence::to_string).collect::<Vec<_>>(), [said]);
    assert!((row.ratio.value - 1.0).abs() < 1e-9, "{row:?}");
}

#[test]
fn a_valid_0_beside_conditional_repetitions_leaves_the_row_with_the_reason() {
    let mut base = measured(&[(1, 99.0), (1, 0.0), (1, 101.0)]);
    for test in [0, 2] {
        let reason = Reason::new(Status::Conditional, ReasonCode::Steal, "stolen");
        base[test].verdict = Verdict::from_reasons(vec![reason]);
    }
    let found = compared(&base, &measured(&[(1, 99.0), (1, 100.0), (1, 101.0)]));
    assert!(found.not_compared.is_empty(), "{:?}", found.not_compared);
    let row = &found.kpms[0];
    assert_eq!((row.status, row.base_status), (Status::Conditional, Status::Conditional));
    let said = "1 of 3 repetitions measured 0, which does not count: another run may give another \
                result";
    assert_eq!(row.reasons.iter().map(Sentence::to_string).collect::<Vec<_>>(), [said, "stolen"]);
    assert_eq!(found.equal_jobs.len(), 1);
}

#[test]
fn a_figure_of_0_is_not_compared_and_told_as_such() {
    let found = compared(&measured(&[(1, 100.0)]), &measured(&[(1, 0.0)]));
    let told: Vec<String> = found.lost().map(|one| one.why.to_string()).collect();
    assert_eq!(told, ["no figure in b: it measured 0"; 2]);
}

#[test]
fn a_figure_of_0_in_both_runs_is_told_and_a_time_at_one_job_once() {
    let zero = measured(&[(1, 0.0), (4, 0.0)]);
    let found = compared(&zero, &zero);
    let why = "no figure in a: it measured 0; no figure in b: it measured 0";
    assert_eq!(self::told(&found), [why; 2]);
    assert_eq!(found.findings.last().map(|finding| finding.code.as_str()), Some("not-compared"));
    let times = |tests: Vec<TestResult>| -> Vec<TestResult> {
        let kpm =
            crate::analysis::fixture::kpm(crate::model::KpmValue::ServiceTime, "s", Better::Lower);
        tests.into_iter().map(|test| TestResult { kpm: kpm.clone(), ..test }).collect()
    };
    let one_job = times(measured(&[(1, 0.0)]));
    assert_eq!(self::told(&compared(&one_job, &one_job)), [why]);
    // Without a test at one job nobody asked for a speed.
    let at_four = measured(&[(4, 0.0)]);
    assert_eq!(self::told(&compared(&at_four, &at_four)), [why]);
}

#[test]
fn a_rate_of_0_at_a_number_of_jobs_of_one_run_is_told() {
    let base = measured(&[(1, 100.0), (2, 190.0), (4, 180.0)]);
    let other = measured(&[(1, 100.0), (2, 190.0), (4, 0.0)]);
    let told = |base: &[TestResult], other: &[TestResult]| self::told(&compared(base, other));
    assert_eq!(told(&base, &other), ["no figure in b at 4 jobs: it measured 0"]);
    assert_eq!(told(&other, &base), ["no figure in a at 4 jobs: it measured 0"]);
    assert!(told(&base, &base).is_empty() && told(&other, &other).is_empty());
}

#[test]
fn an_invalid_figure_makes_no_finding() {
    let (base, mut other) = (measured(&[(1, 100.0)]), measured(&[(1, 300.0)]));
    let reason = Reason::new(Status::Invalid, ReasonCode::Errors, "too many errors");
    other[0].verdict = Verdict::from_reasons(vec![reason]);
    let found = compared(&base, &other);
    assert_eq!(
        (found.kpms[0].status, found.kpms[0].reasons[0].to_string()),
        (Status::Invalid, "too many errors".to_string())
    );
    let findings: Vec<_> = found.findings.iter().map(|finding| finding.text.to_string()).collect();
    assert_eq!(findings, ["2 figures are conditional or invalid and support no finding"]);
    assert!(found.kpms[0].is_failure(0.05), "it became invalid");
    assert!(
        !compared(&other, &base).kpms[0].is_failure(0.0)
            && !compared(&other, &other).kpms[0].is_failure(0.0)
    );
}

#[test]
fn a_conditional_figure_makes_no_finding_and_is_counted() {
    let (base, mut other) =
        (measured(&[(1, 100.0), (2, 190.0)]), measured(&[(1, 300.0), (2, 590.0)]));
    other[0].verdict =
        Verdict::from_reasons(vec![Reason::new(Status::Conditional, ReasonCode::Steal, "stolen")]);
    let found = compared(&base, &other);
    let texts: Vec<_> = found.findings.iter().map(|finding| finding.text.to_string()).collect();
    assert!(texts.len() == 2 && texts[0].starts_with("SRV-QUERY1: throughput better"), "{texts:?}");
    assert_eq!(texts[1], "1 figure is conditional or invalid and supports no finding");
}

#[test]
fn a_throughput_with_a_better_figure_that_is_not_valid_is_a_lower_bound() {
    let (base, mut other) =
        (measured(&[(1, 100.0), (2, 190.0)]), measured(&[(1, 101.0), (2, 90.0), (4, 190.0)]));
    other[2].verdict =
        Verdict::from_reasons(vec![Reason::new(Status::Conditional, ReasonCode::Steal, "stolen")]);
    let found = compared(&base, &other);
    let row = found.kpms.iter().find(|row| row.kind == Kind::Throughput).unwrap();
    assert_eq!((row.other, row.other_jobs, row.status), (90.0, Some(2), Status::Conditional));
    assert_eq!(row.reasons.len(), 1);
    assert_eq!(row.reasons[0].to_string(), "a better figure that is not valid, at 4 jobs");
    assert!(
        found.findings.iter().all(|finding| finding.code == "left-out"),
        "{:?}",
        found.findings
    );
}

#[test]
fn throughput_and_its_service_time_are_of_one_number_of_jobs_where_the_base_is_valid() {
    let stolen = || {
        Verdict::from_reasons(vec![Reason::new(Status::Conditional, ReasonCode::Steal, "stolen")])
    };
    let (mut base, mut other) =
        (measured(&[(2, 382.0), (4, 350.0)]), measured(&[(2, 170.0), (4, 286.0)]));
    base[1].verdict = stolen();
    other.iter_mut().for_each(|test| test.verdict = stolen());
    // 4 jobs are better by the mean of both, but there the base is conditional, too.
    let found = compared(&base, &other);
    let row = &found.kpms[0];
    assert_eq!((row.base_jobs, row.other_jobs), (Some(2), Some(2)));
    assert_eq!((row.base_status, row.status), (Status::Valid, Status::Conditional));
    let times = found.further.iter().find(|row| row.metric == metric::SERVICE_TIME).unwrap();
    assert_eq!((times.base_jobs, times.other_jobs), (Some(2), Some(2)));
    // Of two valid ramps, too, both rows are of one number of jobs, whose best is not that of each.
    let found =
        compared(&measured(&[(2, 382.0), (4, 350.0)]), &measured(&[(2, 170.0), (4, 286.0)]));
    for row in [&found.kpms[0], found.further.last().unwrap()] {
        assert_eq!((row.base_jobs, row.other_jobs), (Some(4), Some(4)), "{row:#?}");
    }
}

#[test]
fn a_run_that_alone_is_best_at_another_number_of_jobs_is_told() {
    let notes = |base: &[(u32, f64)], other: &[(u32, f64)]| -> Vec<String> {
        let found = compared(&measured(base), &measured(other));
        let row = found.kpms.iter().find(|row| row.kind == Kind::Throughput).unwrap();
        assert_eq!((row.status, row.reasons.len()), (Status::Valid, 0), "{row:#?}");
        row.notes.iter().map(Sentence::to_string).collect()
    };
    let of_base = "compared at 4 jobs in both runs: a alone is best at 2 jobs, by 10.0 %";
    assert_eq!(notes(&[(2, 385.0), (4, 350.0)], &[(2, 170.0), (4, 286.0)]), [of_base]);
    let of_other = "compared at 4 jobs in both runs: b alone is best at 2 jobs, by 10.0 %";
    assert_eq!(notes(&[(2, 170.0), (4, 286.0)], &[(2, 385.0), (4, 350.0)]), [of_other]);
    assert!(notes(&[(2, 170.0), (4, 286.0)], &[(2, 350.0), (4, 385.0)]).is_empty());
}

/// Printed figures of many workloads, each of a group of its own.
fn printed(kind: PublishedKind, letter: char, values: &[f64]) -> Vec<Test> {
    let one = |(at, value): (usize, &f64)| -> Test {
        let (workload, group) = (format!("{letter}{at}"), format!("G-{letter}{at}"));
        PublishedTest { workload, group, ..published("T1", kind, 1, &[("rows_per_s", *value)]) }
            .into()
    };
    values.iter().enumerate().map(one).collect()
}

/// The codes of the findings that head a page, and the last of them in words.
fn head_of(base: &[Test], other: &[Test]) -> (Vec<String>, String) {
    let found = compared(base, other);
    let codes = leading(&found).iter().map(|finding| finding.code.clone()).collect();
    (codes, leading(&found).last().map(|finding| finding.text.to_string()).unwrap_or_default())
}

#[test]
fn the_head_of_a_page_tells_both_directions_and_always_what_is_left_out() {
    use PublishedKind::{Speed, Throughput};
    let both_ways = printed(Throughput, 'T', &[200.0, 190.0, 180.0, 170.0, 160.0, 50.0]);
    let base = printed(Throughput, 'T', &[100.0; 6]);
    let (codes, _) = head_of(&base, &both_ways);
    assert_eq!(codes, ["tally", "throughput", "throughput", "throughput"]);
    // Throughput of all ahead and speed of all behind: no kind went both ways.
    let mut other = printed(Throughput, 'T', &[200.0, 190.0, 180.0, 170.0, 160.0]);
    let mut base = printed(Throughput, 'T', &[100.0; 5]);
    other.extend(printed(Speed, 'S', &[50.0]));
    base.extend(printed(Speed, 'S', &[100.0]));
    let (codes, last) = head_of(&base, &other);
    assert_eq!(codes, ["throughput", "throughput", "throughput", "speed"]);
    assert!(last.contains("speed behind as printed, x0.500"), "{last}");
    // Left-out figures are mentioned, however many findings there are.
    base[0] = judged(base[0].clone(), Status::Conditional);
    let (codes, last) = head_of(&base, &other);
    assert_eq!(codes.len(), 5, "{codes:?}");
    assert_eq!(last, "1 figure is conditional or invalid and supports no finding");
}

/// The sentences of a gate of 5 %.
fn said_by_gate(base: &[TestResult], other: &[TestResult]) -> Vec<String> {
    let runs = [run("a"), run("b")];
    let [base, other] =
        [base, other].map(|tests| tests.iter().cloned().map(Test::from).collect::<Vec<_>>());
    let terms = Terms { limit: Some(0.05), ..Terms::new(&[]) };
    let found = compare(&side("a", &runs[0], &base), &side("b", &runs[1], &other), &terms);
    answer(&found).iter().map(ToString::to_string).collect()
}

#[test]
fn a_gate_says_which_figures_it_did_not_judge_and_which_of_them_are_worse() {
    let calm = [100.0, 99.9, 100.1];
    let slow = [60.0, 60.1, 59.9];
    let base = repeated(&[calm; 4]);
    let mut other = repeated(&[calm, slow, calm, calm]);
    assert!(said_by_gate(&base, &base).iter().all(|said| !said.contains("not judged")));
    for test in other.iter_mut().filter(|test| ["W1", "W2"].contains(&test.workload.as_str())) {
        let reason = Reason::new(Status::Conditional, ReasonCode::Steal, "stolen");
        test.verdict = Verdict::from_reasons(vec![reason]);
    }
    let said = said_by_gate(&base, &other);
    let passes = "Pass: no judged figure, no group and not the whole is worse by more than 5 % \
                  beyond the noise";
    assert_eq!(said[0], passes);
    let unjudged = "2 of 4 figures are not valid and not judged, of which 1 is worse by its own \
                    interval: W1 throughput -40.0 %";
    assert_eq!(said[1], unjudged);
    // What became invalid fails, and is judged so.
    for test in other.iter_mut().filter(|test| test.workload == "W1") {
        let reason = Reason::new(Status::Invalid, ReasonCode::Errors, "errors");
        test.verdict = Verdict::from_reasons(vec![reason]);
    }
    let said = said_by_gate(&base, &other);
    assert_eq!(
        said[..2],
        ["Fail: W1 throughput became invalid", "1 of 4 figures is not valid and not judged"]
    );
}

/// The comparison of two platforms, whose throughputs are at the best jobs of each.
fn compared_platforms(base: &[TestResult], other: &[TestResult]) -> Comparison {
    let mut runs = [run("a"), run("b")];
    runs[1].disclosure.set("hardware", "cpu_model", "another");
    let [base, other] =
        [base, other].map(|tests| tests.iter().cloned().map(Test::from).collect::<Vec<_>>());
    compare(&side("a", &runs[0], &base), &side("b", &runs[1], &other), &Terms::new(&[]))
}

#[test]
fn the_best_of_a_plateau_has_the_verdict_that_its_run_tells() {
    // +-20 % is useful; as the best of three that touch one another it is known to +-25 %.
    let known = |test: TestResult| TestResult { ci_fraction: Some(0.2), ..test };
    let plateau: Vec<TestResult> =
        measured(&[(1, 100.0), (2, 105.0), (4, 103.0)]).into_iter().map(known).collect();
    let found = compared_platforms(&plateau, &plateau);
    let row = found.kpms.iter().find(|row| row.kind == Kind::Throughput).unwrap();
    assert_eq!((row.base_jobs, row.base_status), (Some(2), Status::Valid));
    assert_eq!((row.other_status, row.status), (Status::Valid, Status::Valid));
    let wide = |test: TestResult| TestResult { ci_fraction: Some(0.3), ..test };
    let wide: Vec<TestResult> = plateau.into_iter().map(wide).collect();
    let found = compared_platforms(&wide, &wide);
    assert!(found.kpms.iter().all(|row| row.base_status == Status::Conditional), "{found:#?}");
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
    let expected = [
        (Kind::Speed, "1.000".into(), "undecided", 1, 1),
        (Kind::Throughput, "0.459".into(), "undecided", 0, 0),
    ];
    assert_eq!(brief(&found.kpms), expected);
    assert!(!found.kpms[1].is_failure(0.0));
    let texts: Vec<String> =
        found.findings.iter().map(|finding| finding.text.to_string()).collect();
    assert_eq!(texts, ["SRV-QUERY1 (T1): throughput behind as printed, x0.459"]);
    let near = compared(&stated(10.0, 300.0), &stated(10.0, 299.0));
    assert!(near.findings.is_empty() && near.kpms[1].change() == Change::Undecided, "0.3 % apart");
}

#[test]
fn a_sound_figure_that_the_other_does_not_have_is_lost() {
    let lost = |found: &Comparison| {
        found.lost().map(|one| (one.kind, one.why.to_string())).collect::<Vec<_>>()
    };
    let (base, faster) = (measured(&[(1, 100.0), (2, 190.0)]), measured(&[(2, 190.0)]));
    let no_speed = compared(&base, &faster);
    assert_eq!(lost(&no_speed), [(Some(Kind::Speed), "no figure in b".into())]);
    assert_eq!(no_speed.kpms.len(), 1);
    let in_database =
        |test: &TestResult| TestResult { drive: crate::model::Drive::Database, ..test.clone() };
    let both: Vec<TestResult> = base.iter().cloned().chain(base.iter().map(in_database)).collect();
    assert_eq!(lost(&compared(&both, &base)), [(None, "database drive only in a".into())]);
    assert_eq!(told(&compared(&base, &both)), ["database drive only in b"]);
    let (back, none) = (compared(&base, &both), compared(&[], &base));
    assert!(lost(&back).is_empty() && !back.judges_nothing());
    assert!(lost(&none).is_empty() && none.judges_nothing());
    let mut invalid = base.clone();
    for test in &mut invalid {
        test.verdict = Verdict::from_reasons(vec![Reason::new(
            Status::Invalid,
            ReasonCode::Errors,
            "too many errors",
        )]);
    }
    let of_invalid = compared(&invalid, &[]);
    assert!(lost(&of_invalid).is_empty() && of_invalid.judges_nothing());
}

/// Sentences on what was not compared, each with the reason; none of it is lost.
fn told(found: &Comparison) -> Vec<String> {
    assert_eq!(found.lost().next(), None);
    found.not_compared.iter().map(|one| one.why.to_string()).collect()
}

#[test]
fn what_the_base_does_not_have_is_told_and_not_lost() {
    let (one, four) = (measured(&[(1, 100.0), (4, 190.0)]), measured(&[(4, 190.0)]));
    let found = compared(&four, &one);
    assert_eq!(told(&found), ["no figure in a"]);
    assert_eq!((found.not_compared[0].kind, found.kpms.len()), (Some(Kind::Speed), 1));
    let mut failed = one.clone();
    for test in &mut failed {
        let reason = Reason::new(Status::Invalid, ReasonCode::Errors, "too many errors");
        (test.kpm_value, test.verdict) = (None, Verdict::from_reasons(vec![reason]));
    }
    let found = compared(&failed, &one);
    assert_eq!(told(&found), ["no figure in a: too many errors"; 2]);
    let kinds: Vec<_> = found.not_compared.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [Some(Kind::Speed), Some(Kind::Throughput)]);
    let neither = "no figure in a: too many errors; no figure in b: too many errors";
    assert_eq!(told(&compared(&failed, &failed)), [neither; 2]);
}

#[test]
fn figures_in_other_units_are_not_compared() {
    let base = [test("T1", PublishedKind::Speed, 1, &[("rows_per_s", 10.0)])];
    let other = [test("T1", PublishedKind::Speed, 1, &[("throughput_tps", 10.0)])];
    let found = compared(&base, &other);
    assert!(
        found.kpms.is_empty()
            && found.not_compared[0].why.to_string().contains("rows_per_s against throughput_tps")
    );
}

#[test]
fn cores_and_licences_divide_the_ratio_unless_the_platform_table_is_contradicted() {
    let base: Vec<Test> = measured(&[(1, 100.0)]).into_iter().map(Test::from).collect();
    let mut runs = [run("a"), run("b")];
    for (run, cores) in runs.iter_mut().zip(["8", "16"]) {
        run.disclosure.set("hardware", "cores", cores);
        run.disclosure.set("licence", "licences_needed", "4");
    }
    let found = compare(&side("a", &runs[0], &base), &side("b", &runs[1], &base), &Terms::new(&[]));
    assert_eq!((found.kpms[0].per_core, found.kpms[0].per_licence), (Some(0.5), Some(1.0)));
    // A quota bounds the cores that the database can use.
    runs[1].disclosure.set("database", "quota_cpus", "4");
    let found = compare(&side("a", &runs[0], &base), &side("b", &runs[1], &base), &Terms::new(&[]));
    assert_eq!(found.kpms[0].per_core, Some(2.0));
}

#[test]
fn the_geometric_mean_of_a_group_takes_times_inversely() {
    let row = |better, ratio| Row {
        ratio: Ratio { value: ratio, span: Err(Unknown::Published) },
        better,
        estimate: None,
        ..compared(&measured(&[(1, 1.0)]), &measured(&[(1, 1.0)])).kpms.remove(0)
    };
    let means = rows::group_means(&[row(Better::Higher, 2.0), row(Better::Lower, 0.125)]);
    assert_eq!((means.len(), means[0].workloads), (1, 2));
    assert!((means[0].ratio.value - 4.0).abs() < 1e-9);
    assert_eq!(means[0].ratio.span.err(), Some(Unknown::Published));
    let doubtful = Row { status: Status::Conditional, ..row(Better::Higher, 77.0) };
    let means = rows::group_means(&[row(Better::Higher, 2.0), doubtful, row(Better::Lower, 0.125)]);
    assert!(
        (means[0].ratio.value - 4.0).abs() < 1e-9
            && (means[0].workloads, means[0].left_out) == (2, 1),
        "{means:?}"
    );
}

#[test]
fn the_geometric_mean_of_a_group_is_no_surer_than_what_its_figures_share() {
    let variance = |value| moderated::Variance { value, freedom: 1e9 };
    let row = |better: Better, log: f64| {
        let estimate = moderated::Ratio {
            log,
            own: variance(4e-4),
            common: variance(1e-4),
            fixed: 1e-4,
            of_repetition: 0.0,
        };
        let value = if better == Better::Higher { log.exp() } else { (-log).exp() };
        Row {
            ratio: Ratio { value, span: Ok(Span { low: value, high: value, p: 0.0 }) },
            better,
            estimate: Some(estimate),
            ..compared(&measured(&[(1, 1.0)]), &measured(&[(1, 1.0)])).kpms.remove(0)
        }
    };
    let rows: Vec<Row> = [0.2, 0.1, 0.3, 0.2].map(|log| row(Better::Higher, log)).into();
    let mean = rows::group_means(&rows).remove(0).ratio;
    // t(0.975) of 60 degrees of freedom times the root of 4e-4 / 4 + 1e-4, not of 5e-4 / 4.
    let half_width = 2.000298 * 2e-4f64.sqrt();
    let span = mean.span.unwrap();
    let ends = [span.low, span.high].map(f64::ln);
    assert!((mean.value.ln() - 0.2).abs() < 1e-9, "{mean:?}");
    assert!((ends[0] - (0.2 - half_width)).abs() < 1e-6, "{ends:?}");
    assert!((ends[1] - (0.2 + half_width)).abs() < 1e-6 && span.p < 1e-9, "{span:?}");
    let mixed = [row(Better::Higher, 0.2), row(Better::Lower, 0.2)];
    assert!((rows::group_means(&mixed)[0].ratio.value.ln() - 0.2).abs() < 1e-9);
    let unknown = Row { estimate: None, ..row(Better::Higher, 0.2) };
    let unknown = Row { ratio: Ratio { span: Err(Unknown::Alike), ..unknown.ratio }, ..unknown };
    let mean = rows::group_means(&[row(Better::Higher, 0.2), unknown]).remove(0).ratio;
    assert_eq!(mean.span.err(), Some(Unknown::Alike));
}

/// Tests of many workloads at two jobs: each with its repetitions.
fn repeated(values: &[[f64; 3]]) -> Vec<TestResult> {
    let workload = |(at_row, repeats): (usize, &[f64; 3])| -> Vec<TestResult> {
        let one = |value: &f64| TestResult {
            workload: format!("W{at_row}"),
            group: format!("G{at_row}"),
            ci_fraction: None,
            window_s: 1.0,
            ..at(2, *value)
        };
        repeats.iter().map(one).collect()
    };
    values.iter().enumerate().flat_map(workload).collect()
}

#[test]
fn a_figure_of_one_run_of_a_base_of_many_is_compared_as_two_runs_are_and_says_so() {
    let tests_of_run = |run: usize| -> Vec<Test> {
        let values = |workload: usize| {
            let noise = ((7 * run + 3 * workload) % 5) as f64;
            [100.0, 99.9, 100.1].map(|value| value * (1.0 + 0.002 * noise))
        };
        let values: Vec<[f64; 3]> = (0..5).map(values).collect();
        repeated(&values).into_iter().map(Test::from).collect()
    };
    let runs: Vec<Vec<Test>> = (0..4)
        .map(|run| {
            // W4 has another SQL text in all runs but the newest, and is left out there.
            let is_of = |test: &Test| run == 3 || test.workload() != "W4";
            tests_of_run(run).into_iter().filter(is_of).collect()
        })
        .collect();
    let records = [run("base"), run("b")];
    let terms = Terms {
        past: runs.iter().map(|tests| tests.iter().collect()).collect(),
        is_base: true,
        ..Terms::new(&[])
    };
    let (base, other) = (side("4 runs", &records[0], &runs[3]), tests_of_run(4));
    let found = compare(&base, &side("b", &records[1], &other), &terms);
    assert_eq!((found.earlier_runs, found.kpms.len()), (4, 5));
    for row in &found.kpms {
        let notes: Vec<String> = row.notes.iter().map(Sentence::to_string).collect();
        let said = "compared with one run of the base alone, as two runs are: too few of its runs \
                    have the same test";
        let expected = if row.subject.workload == "W4" { vec![said] } else { Vec::new() };
        assert_eq!(notes, expected, "{row:#?}");
        assert!(row.status == Status::Valid && row.ratio.span.is_ok(), "{row:#?}");
    }
    // The value of that run, and the wider interval of two runs.
    let width = |row: &Row| row.ratio.span.map(|span| span.high / span.low).unwrap();
    assert!((found.kpms[4].base / 100.6 - 1.0).abs() < 1e-3, "{:#?}", found.kpms[4]);
    assert!(width(&found.kpms[4]) > width(&found.kpms[0]), "{:#?}", found.kpms);
}

#[test]
fn a_short_window_decides_nothing_whatever_it_says() {
    let short = |rate| vec![TestResult { ci_fraction: None, window_s: 2.0, ..at(2, rate) }];
    let found = compared(&short(100.0), &short(10.27));
    assert!(
        found.kpms.iter().all(|row| row.change() == Change::Undecided),
        "{:?}",
        brief(&found.kpms)
    );
    assert!(!found.kpms[0].is_failure(0.0) && found.kpms[0].is_undecided());
    let texts: Vec<String> =
        found.findings.iter().map(|finding| finding.text.to_string()).collect();
    assert_eq!(texts, ["1 of 1 figure is undecided (no interval: one short window)"]);
    // A figure that is not valid is counted as that alone.
    let mut disturbed = short(100.0);
    disturbed[0].verdict =
        Verdict::from_reasons(vec![Reason::new(Status::Conditional, ReasonCode::Steal, "stolen")]);
    let found = compared(&short(100.0), &disturbed);
    assert!(!found.kpms[0].is_undecided() && found.undecided().is_empty());
    let codes: Vec<&str> = found.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["left-out"]);
}

#[test]
fn what_takes_longer_is_said_in_words() {
    let timed = |seconds: [f64; 3]| {
        let tests = repeated(&[seconds]).into_iter();
        let kpm =
            crate::analysis::fixture::kpm(crate::model::KpmValue::ServiceTime, "s", Better::Lower);
        tests.map(|test| TestResult { kpm: kpm.clone(), ..test }).collect::<Vec<_>>()
    };
    let found = compared(&timed([1.0, 1.001, 0.999]), &timed([1.26, 1.261, 1.259]));
    // The repetitions hardly differ; two fresh runs do: sqrt(2 (0.025^2 + 0.01^2)) = 0.0381, with 5
    // degrees of freedom.
    let text = "W0: throughput worse, takes 1.26 times as long (x1.14 to x1.39), at 2 jobs";
    assert_eq!(found.findings[0].text.to_string(), text);
}

#[test]
fn of_many_figures_only_those_stand_that_chance_does_not_make_of_so_many() {
    // The standard error is the prior's, 3.81 %, with 5 degrees of freedom: 12 % apart is beyond
    // the interval, p = 0.03, which is above 0.05 * 2 / 40 among forty. 40 % apart is far below.
    let calm = [100.0, 99.9, 100.1];
    let moved = [112.0, 112.1, 111.9];
    let mut base = vec![calm; 40];
    let mut other = vec![calm; 40];
    other[7] = moved;
    other[9] = [60.0, 60.1, 59.9];
    let found = compared(&repeated(&base), &repeated(&other));
    let changed: Vec<_> = found.kpms.iter().filter(|row| row.change() != Change::Same).collect();
    assert_eq!(
        changed.iter().map(|row| row.stands).collect::<Vec<_>>(),
        [false, true],
        "{changed:#?}"
    );
    assert_eq!((found.by_chance(), found.findings.len()), (1, 1));
    assert!(!changed[0].is_failure(0.0) && changed[1].is_failure(0.05));
    base.truncate(8);
    other.truncate(8);
    let alone = compared(&repeated(&base[7..]), &repeated(&other[7..]));
    assert!(alone.kpms[0].stands, "the same figure, compared alone");
}

#[test]
fn of_sixty_comparisons_of_equal_runs_at_most_three_find_anything() {
    let mut random = crate::stats::keys::KeyStream::numbered(7, 1);
    let mut uniform = move || random.step() as f64 / crate::stats::keys::MODULUS as f64;
    let mut normal = || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    let mut run = || -> Vec<TestResult> {
        let repeats: Vec<[f64; 3]> =
            (0..20).map(|_| [0; 3].map(|_| 100.0 * (1.0 + 0.03 * normal()))).collect();
        repeated(&repeats)
    };
    let (mut with_findings, mut differing) = (0, 0);
    for _ in 0..60 {
        let found = compared(&run(), &run());
        with_findings += usize::from(!found.findings.is_empty());
        differing += found.kpms.iter().filter(|row| row.change() != Change::Same).count();
    }
    assert!(with_findings <= 3, "{with_findings} of 60");
    assert!(differing <= 2 * 20 * 60 / 20, "{differing} of 2400 rows");
}
