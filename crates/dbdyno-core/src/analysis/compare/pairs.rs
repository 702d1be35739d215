//! Pairs of tests of two runs, and what makes them hard to compare.

use std::collections::BTreeSet;

use super::{NotCompared, Side, Subject, metric};
use crate::model::sentence::Value;
use crate::model::{Sentence, Test};

/// The tests of one workload in both runs.
pub struct Pair<'a> {
    pub subject: Subject,
    pub base: Vec<&'a Test>,
    pub other: Vec<&'a Test>,
    /// Reasons why the two may not be the same work; each lowers the verdict to conditional.
    pub cautions: Vec<Sentence>,
}

/// The workloads that both runs have, in the order of the base; what only one has is noted in
/// `alone`.
pub fn pairs<'a>(base: &Side<'a>, other: &Side<'a>, alone: &mut Vec<NotCompared>) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    for (subject, ours) in workloads(base.tests) {
        let theirs: Vec<&Test> = other.tests.iter().filter(|test| is_of(test, &subject)).collect();
        if theirs.is_empty() {
            alone.push(lost(base, &subject, &ours));
            continue;
        }
        alone.extend(lost_drives(base, &subject, &ours, &theirs));
        // What only the other has is not lost.
        let further = lost_drives(other, &subject, &theirs, &ours).into_iter();
        alone.extend(further.map(|drive| NotCompared { lost: false, ..drive }));
        pairs.extend(by_drive(base, other, subject, &ours, &theirs));
    }
    let theirs = workloads(other.tests).into_iter().map(|(subject, _)| subject);
    let missing = theirs.filter(|subject| !base.tests.iter().any(|test| is_of(test, subject)));
    alone.extend(missing.map(|subject| only_in(other, &subject)));
    pairs
}

fn only_in(side: &Side<'_>, subject: &Subject) -> NotCompared {
    NotCompared {
        label: subject.label(),
        kind: None,
        why: Sentence::new("only in {name}").with("name", side.name),
        lost: false,
    }
}

/// Tests that only one side has: lost, if they are valid and the base's.
fn lost(side: &Side<'_>, subject: &Subject, tests: &[&Test]) -> NotCompared {
    NotCompared { lost: tests.iter().any(|test| metric::is_sound(test)), ..only_in(side, subject) }
}

/// The drives of one side that the other has not, where it has another one of it.
fn lost_drives(
    side: &Side<'_>,
    subject: &Subject,
    ours: &[&Test],
    theirs: &[&Test],
) -> Vec<NotCompared> {
    let (own, foreign) = (drives(ours), drives(theirs));
    if own.is_disjoint(&foreign) {
        return Vec::new();
    }
    let lost = |drive: &&str| {
        let tests: Vec<&Test> =
            ours.iter().filter(|test| test.drive().name() == *drive).copied().collect();
        let lost = lost(side, subject, &tests);
        let why = Sentence::new("{drive} drive {why}").with("drive", *drive).with("why", lost.why);
        NotCompared { why, ..lost }
    };
    own.difference(&foreign).map(lost).collect()
}

fn drives(tests: &[&Test]) -> BTreeSet<&'static str> {
    tests.iter().map(|test| test.drive().name()).collect()
}

/// The workloads of a run with their tests, in order of appearance.
fn workloads(tests: &[Test]) -> Vec<(Subject, Vec<&Test>)> {
    let mut found: Vec<(Subject, Vec<&Test>)> = Vec::new();
    for test in tests {
        match found.iter_mut().find(|(subject, _)| is_of(test, subject)) {
            Some((_, tests)) => tests.push(test),
            None => found.push((subject(test), vec![test])),
        }
    }
    found
}

/// The workload that a test is of.
pub fn subject(test: &Test) -> Subject {
    Subject {
        workload: test.workload().into(),
        group: test.group().into(),
        asked_as: test.asked_as().map(String::from),
        params: test.chosen().clone(),
    }
}

/// Defaults may differ between engines: what was chosen decides. Wider than `ramp::same`: drives
/// are told apart by [`by_drive`], which pairs different ones if it must, units by the metric that
/// is compared.
fn is_of(test: &Test, subject: &Subject) -> bool {
    test.workload() == subject.workload && *test.chosen() == subject.params
}

/// Drive by drive where both runs have it; drives that only one has are compared across, and it is
/// said.
fn by_drive<'a>(
    base: &Side<'a>,
    other: &Side<'a>,
    subject: Subject,
    ours: &[&'a Test],
    theirs: &[&'a Test],
) -> Vec<Pair<'a>> {
    let (own, foreign) = (drives(ours), drives(theirs));
    let common: Vec<&str> = own.intersection(&foreign).copied().collect();
    let only = |tests: &[&'a Test], drive: &str| -> Vec<&'a Test> {
        tests.iter().filter(|test| test.drive().name() == drive).copied().collect()
    };
    let mut parts: Vec<(Vec<&Test>, Vec<&Test>)> =
        common.iter().map(|drive| (only(ours, drive), only(theirs, drive))).collect();
    if parts.is_empty() {
        parts.push((ours.to_vec(), theirs.to_vec()));
    }
    let pair = |(ours, theirs): (Vec<&'a Test>, Vec<&'a Test>)| Pair {
        cautions: cautions(base, other, &ours, &theirs),
        subject: subject.clone(),
        base: ours,
        other: theirs,
    };
    parts.into_iter().map(pair).collect()
}

/// Everything that makes the two another work.
fn cautions(base: &Side<'_>, other: &Side<'_>, ours: &[&Test], theirs: &[&Test]) -> Vec<Sentence> {
    let (Some(a), Some(b)) = (ours.first(), theirs.first()) else { return Vec::new() };
    let (one, two) = (base.name, other.name);
    let published = (a.published().is_some(), b.published().is_some());
    let unknown = || Sentence::new("unknown size");
    let size =
        |gb: Option<f64>| gb.map_or_else(unknown, |gb| Sentence::new("{gb=} GB").with("gb", gb));
    let against = |sentence: &str, own: Value, foreign: Value| {
        Sentence::new(sentence).with("own", own).with("other", foreign)
    };
    let checks = [
        (
            a.revision() != b.revision(),
            against(
                "revision {own} of the workload against {other}",
                a.revision().into(),
                b.revision().into(),
            ),
        ),
        (
            a.drive() != b.drive(),
            against(
                "{own} drive against {other} drive",
                a.drive().name().into(),
                b.drive().name().into(),
            ),
        ),
        (
            base.run.size_gb != other.run.size_gb,
            against(
                "data set of {own} against {other}",
                size(base.run.size_gb).into(),
                size(other.run.size_gb).into(),
            ),
        ),
        (
            published.0 != published.1,
            Sentence::new("{name} was measured by us, the other is published")
                .with("name", if published.0 { two } else { one }),
        ),
        (
            published == (true, true) && base.run.suite != other.run.suite,
            against(
                "another suite ({own}, {other}): the work may differ",
                base.run.suite.as_str().into(),
                other.run.suite.as_str().into(),
            ),
        ),
        (
            published == (false, false)
                && base.run.engine == other.run.engine
                && a.revision() == b.revision()
                && a.hash() != b.hash(),
            Sentence::new("the same revision with another SQL text"),
        ),
        (
            published == (false, false)
                && base.run.size_gb == other.run.size_gb
                && base.run.data_set_id != other.run.data_set_id,
            Sentence::new("another data set of the same size"),
        ),
    ];
    checks.into_iter().filter(|(differs, _)| *differs).map(|(_, text)| text).collect()
}
