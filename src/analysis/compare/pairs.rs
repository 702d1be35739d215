//! Which tests of two runs belong together, and what makes them hard to compare.

use std::collections::BTreeSet;

use super::{NotCompared, Side, Subject, metric};
use crate::model::TestResult;

/// The tests of one workload in both runs.
pub struct Pair<'a> {
    pub subject: Subject,
    pub base: Vec<&'a TestResult>,
    pub other: Vec<&'a TestResult>,
    /// Why the two may not be the same work; each lowers the verdict to conditional.
    pub cautions: Vec<String>,
}

/// The workloads that both runs have, in the order of the base; what only one has is noted in `alone`.
pub fn pairs<'a>(base: &Side<'a>, other: &Side<'a>, alone: &mut Vec<NotCompared>) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for (subject, ours) in workloads(base.tests) {
        let theirs: Vec<&TestResult> = other.tests.iter().filter(|test| is_of(test, &subject)).collect();
        if theirs.is_empty() {
            alone.push(lost(base, &subject, &ours));
            continue;
        }
        alone.extend(lost_drives(base, &subject, &ours, &theirs));
        pairs.extend(by_drive(base, other, subject, &ours, &theirs));
    }
    let theirs = workloads(other.tests).into_iter().map(|(subject, _)| subject);
    let missing = theirs.filter(|subject| !base.tests.iter().any(|test| is_of(test, subject)));
    alone.extend(missing.map(|subject| only_in(other, &subject)));
    pairs
}

fn only_in(side: &Side<'_>, subject: &Subject) -> NotCompared {
    NotCompared { label: subject.label(), kind: None, why: format!("only in {}", side.name), lost: false }
}

/// What only the base has: lost, if it is sound.
fn lost(base: &Side<'_>, subject: &Subject, tests: &[&TestResult]) -> NotCompared {
    NotCompared { lost: tests.iter().any(|test| metric::is_sound(test)), ..only_in(base, subject) }
}

/// The drives of the base that the other has not, where it has another one of it.
fn lost_drives(base: &Side<'_>, subject: &Subject, ours: &[&TestResult], theirs: &[&TestResult]) -> Vec<NotCompared> {
    let (own, foreign) = (drives(ours), drives(theirs));
    if own.is_disjoint(&foreign) {
        return Vec::new();
    }
    let lost = |drive: &&str| {
        let tests: Vec<&TestResult> = ours.iter().filter(|test| test.drive.name() == *drive).copied().collect();
        let lost = lost(base, subject, &tests);
        NotCompared { why: format!("{drive} drive {}", lost.why), ..lost }
    };
    own.difference(&foreign).map(lost).collect()
}

fn drives(tests: &[&TestResult]) -> BTreeSet<&'static str> {
    tests.iter().map(|test| test.drive.name()).collect()
}

/// The workloads of a run with their tests, in order of appearance.
fn workloads(tests: &[TestResult]) -> Vec<(Subject, Vec<&TestResult>)> {
    let mut found: Vec<(Subject, Vec<&TestResult>)> = Vec::new();
    for test in tests {
        match found.iter_mut().find(|(subject, _)| is_of(test, subject)) {
            Some((_, tests)) => tests.push(test),
            None => found.push((subject(test), vec![test])),
        }
    }
    found
}

fn subject(test: &TestResult) -> Subject {
    Subject {
        workload: test.workload.clone(),
        group: test.group.clone(),
        asked_as: test.asked_as.clone(),
        params: test.chosen.clone(),
    }
}

/// Defaults may differ between engines: what was chosen decides. Wider than `ramp::same`: drives are told apart by
/// [`by_drive`], which pairs different ones if it must, units by the metric that is compared.
fn is_of(test: &TestResult, subject: &Subject) -> bool {
    test.workload == subject.workload && test.chosen == subject.params
}

/// Drive by drive where both runs have it; drives that only one has are compared across, and it is said.
fn by_drive<'a>(
    base: &Side<'a>,
    other: &Side<'a>,
    subject: Subject,
    ours: &[&'a TestResult],
    theirs: &[&'a TestResult],
) -> Vec<Pair<'a>> {
    let (own, foreign) = (drives(ours), drives(theirs));
    let common: Vec<&str> = own.intersection(&foreign).copied().collect();
    let only = |tests: &[&'a TestResult], drive: &str| -> Vec<&'a TestResult> {
        tests.iter().filter(|test| test.drive.name() == drive).copied().collect()
    };
    let mut parts: Vec<(Vec<&TestResult>, Vec<&TestResult>)> =
        common.iter().map(|drive| (only(ours, drive), only(theirs, drive))).collect();
    if parts.is_empty() {
        parts.push((ours.to_vec(), theirs.to_vec()));
    }
    let pair = |(ours, theirs): (Vec<&'a TestResult>, Vec<&'a TestResult>)| Pair {
        cautions: cautions(base, other, &ours, &theirs),
        subject: subject.clone(),
        base: ours,
        other: theirs,
    };
    parts.into_iter().map(pair).collect()
}

/// Everything that makes the two another work.
fn cautions(base: &Side<'_>, other: &Side<'_>, ours: &[&TestResult], theirs: &[&TestResult]) -> Vec<String> {
    let (Some(a), Some(b)) = (ours.first(), theirs.first()) else { return Vec::new() };
    let (one, two) = (base.name, other.name);
    let published = (a.published.is_some(), b.published.is_some());
    let size = |gb: f64| if gb > 0.0 { format!("{gb} GB") } else { "unknown size".into() };
    let checks = [
        (a.revision != b.revision, format!("revision {} of the workload against {}", a.revision, b.revision)),
        (a.drive != b.drive, format!("{} drive against {} drive", a.drive.name(), b.drive.name())),
        (
            base.run.size_gb != other.run.size_gb,
            format!("data set of {} against {}", size(base.run.size_gb), size(other.run.size_gb)),
        ),
        (
            published.0 != published.1,
            format!("{} was measured by us, the other is published", if published.0 { two } else { one }),
        ),
        (
            published == (true, true) && base.run.suite != other.run.suite,
            format!("another suite ({}, {}): the work may differ", base.run.suite, other.run.suite),
        ),
        (
            published == (false, false)
                && base.run.engine == other.run.engine
                && a.revision == b.revision
                && a.hash != b.hash,
            "the same revision with another SQL text".to_string(),
        ),
        (
            published == (false, false)
                && base.run.size_gb == other.run.size_gb
                && base.run.data_set_id != other.run.data_set_id,
            "another data set of the same size".to_string(),
        ),
    ];
    checks.into_iter().filter(|(differs, _)| *differs).map(|(_, text)| text).collect()
}
