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

/// Drives that one side has and the other lacks, if the other has another drive for the workload.
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

/// Defaults may differ between engines, so that the chosen parameters decide. This is wider than
/// `ramp::same`: drives are distinguished by [`by_drive`], which pairs different ones if it must,
/// and units by the metric that is compared.
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
    let (Some(&own), Some(&foreign)) = (ours.first(), theirs.first()) else { return Vec::new() };
    let works = Works { base, other, own, foreign };
    let cautions = [
        works.of_revisions(),
        works.of_drives(),
        works.of_sizes(),
        works.of_sources(),
        works.of_suites(),
        works.of_texts(),
        works.of_data_sets(),
    ];
    cautions.into_iter().flatten().collect()
}

/// The work of a pair on both sides, with the cautions about each of its aspects.
struct Works<'w> {
    base: &'w Side<'w>,
    other: &'w Side<'w>,
    /// The first test of the base.
    own: &'w Test,
    /// The first test of the other.
    foreign: &'w Test,
}

impl Works<'_> {
    fn are_published(&self) -> bool {
        self.own.published().is_some() && self.foreign.published().is_some()
    }

    fn are_measured(&self) -> bool {
        self.own.published().is_none() && self.foreign.published().is_none()
    }

    fn of_revisions(&self) -> Option<Sentence> {
        let (own, foreign) = (self.own.revision(), self.foreign.revision());
        let text = "revision {own} of the workload against {other}";
        (own != foreign).then(|| against(text, own, foreign))
    }

    fn of_drives(&self) -> Option<Sentence> {
        let (own, foreign) = (self.own.drive(), self.foreign.drive());
        let text = "{own} drive against {other} drive";
        (own != foreign).then(|| against(text, own.name(), foreign.name()))
    }

    fn of_sizes(&self) -> Option<Sentence> {
        let (own, foreign) = (self.base.run.size_gb, self.other.run.size_gb);
        let text = "data set of {own} against {other}";
        (own != foreign).then(|| against(text, size(own), size(foreign)))
    }

    fn of_sources(&self) -> Option<Sentence> {
        let are_alike = self.are_published() || self.are_measured();
        let is_base_published = self.own.published().is_some();
        let measured = if is_base_published { self.other.name } else { self.base.name };
        let text = "{name} was measured by us, the other is published";
        (!are_alike).then(|| Sentence::new(text).with("name", measured))
    }

    fn of_suites(&self) -> Option<Sentence> {
        let (own, foreign) = (self.base.run.suite.as_str(), self.other.run.suite.as_str());
        let text = "another suite ({own}, {other}): the work may differ";
        (self.are_published() && own != foreign).then(|| against(text, own, foreign))
    }

    fn of_texts(&self) -> Option<Sentence> {
        let is_same_revision = self.base.run.engine == self.other.run.engine
            && self.own.revision() == self.foreign.revision();
        let differs = self.are_measured() && self.own.hash() != self.foreign.hash();
        (is_same_revision && differs)
            .then(|| Sentence::new("the same revision with another SQL text"))
    }

    fn of_data_sets(&self) -> Option<Sentence> {
        let (base, other) = (self.base.run, self.other.run);
        let differs = base.size_gb == other.size_gb && base.data_set_id != other.data_set_id;
        (self.are_measured() && differs).then(|| Sentence::new("another data set of the same size"))
    }
}

fn size(gb: Option<f64>) -> Sentence {
    match gb {
        Some(gb) => Sentence::new("{gb=} GB").with("gb", gb),
        None => Sentence::new("unknown size"),
    }
}

fn against(text: &str, own: impl Into<Value>, foreign: impl Into<Value>) -> Sentence {
    Sentence::new(text).with("own", own).with("other", foreign)
}
