//! The base of many runs: which tests of them stand for it, which count in its mean, and which are
//! left out.

use std::collections::BTreeSet;

use super::base_differences::{abridge, in_runs};
use super::pairs::subject;
use crate::analysis::group::is_repeated;
use crate::model::{Sentence, Status, Test};

/// A base of many runs.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseOfMany {
    /// The tests that stand for it: of each test those of the newest run whose verdict on it is the
    /// one that at least two of the runs have. What only one run has stands as it is there.
    pub tests: Vec<Test>,
    /// The tests of each run that count in the mean, in the order of the runs.
    pub runs: Vec<Vec<Test>>,
    /// Workloads that have tests with another SQL text, which are left out.
    left_out: Vec<OtherText>,
}

/// A workload of which runs of a base have tests with another SQL text than the one that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OtherText {
    /// Workload with its parameters.
    label: String,
    /// Runs that have such tests.
    runs: usize,
}

impl BaseOfMany {
    /// The workloads of which tests are left out since their SQL text is another; none if none are.
    pub fn without(&self) -> Option<Sentence> {
        let told = self.left_out.iter().map(|left_out| {
            in_runs(left_out.label.as_str().into(), left_out.runs, self.runs.len())
        });
        let text = "Left out of the base, as their SQL text or revision is another: {tests}";
        Some(Sentence::new(text).with("tests", abridge(told.collect())?))
    }
}

/// The base that these runs, oldest first, form for a run with the tests `other`. A run does not
/// count for a figure if its own is invalid, or less sound than those of two others; a run that
/// lacks a test removes it from none. For each workload the tests of one SQL text count, because
/// figures of two texts have no mean.
pub fn base_of_many(runs: &[&[Test]], other: &[Test]) -> BaseOfMany {
    let OfOneText { runs, left_out } = of_one_text(runs, other);
    let mut base = BaseOfMany { tests: Vec::new(), runs: vec![Vec::new(); runs.len()], left_out };
    let mut known: Vec<&Test> = Vec::new();
    for test in runs.iter().rev().flatten().copied() {
        if known.iter().any(|known| is_repeated(known, test)) {
            continue;
        }
        known.push(test);
        let own = |tests: &Vec<&Test>| -> Vec<Test> {
            tests.iter().copied().filter(|own| is_repeated(own, test)).cloned().collect()
        };
        let of_runs: Vec<Vec<Test>> = runs.iter().map(own).collect();
        let Some(trusted) = trusted(&of_runs) else { continue };
        let mut standing = Vec::new();
        for (at, tests) in of_runs.into_iter().enumerate() {
            let sound: Vec<Test> =
                tests.into_iter().filter(|test| test.status() <= trusted).collect();
            if !sound.is_empty() {
                base.runs[at].extend(sound.iter().cloned());
                standing = sound;
            }
        }
        base.tests.extend(standing);
    }
    base
}

/// The tests of each run of a base whose SQL text counts, and what is left out.
struct OfOneText<'a> {
    runs: Vec<Vec<&'a Test>>,
    left_out: Vec<OtherText>,
}

fn of_one_text<'a>(runs: &[&'a [Test]], other: &'a [Test]) -> OfOneText<'a> {
    let mut firsts: Vec<&Test> = Vec::new();
    for test in runs.iter().flat_map(|tests| tests.iter()) {
        if !firsts.iter().any(|first| is_same_work(first, test)) {
            firsts.push(test);
        }
    }
    let mut found = OfOneText { runs: vec![Vec::new(); runs.len()], left_out: Vec::new() };
    for first in firsts {
        let texts = counted_texts(first, runs, other);
        let is_compared = other.iter().any(|test| is_same_work(test, first));
        let mut with_others = 0;
        for (counted, tests) in found.runs.iter_mut().zip(runs) {
            let of_work = tests.iter().filter(|test| is_same_work(test, first));
            let (own, others): (Vec<&Test>, Vec<&Test>) =
                of_work.partition(|test| texts.contains(test.hash()));
            counted.extend(own);
            with_others += usize::from(!others.is_empty());
        }
        if with_others > 0 && is_compared {
            found.leave_out(subject(first).label(), with_others);
        }
    }
    found
}

impl OfOneText<'_> {
    /// Notes that this number of runs have tests with another SQL text under this label. Two drives
    /// of a workload have the same label.
    fn leave_out(&mut self, label: String, runs: usize) {
        match self.left_out.iter_mut().find(|known| known.label == label) {
            Some(known) => known.runs = known.runs.max(runs),
            None => self.left_out.push(OtherText { label, runs }),
        }
    }
}

/// True if both are of one workload with equal parameters, driven alike, whatever their SQL text
/// is.
fn is_same_work(a: &Test, b: &Test) -> bool {
    a.workload() == b.workload() && a.chosen() == b.chosen() && a.drive() == b.drive()
}

/// Hashes of the SQL text that counts for a piece of work: that of the compared run if a run of the
/// base has it, else that of the newest run of the base which has the work.
fn counted_texts<'a>(work: &Test, runs: &[&'a [Test]], other: &'a [Test]) -> BTreeSet<&'a str> {
    let own = texts_of(work, other);
    let of_base: Vec<BTreeSet<&str>> = runs.iter().map(|tests| texts_of(work, tests)).collect();
    if of_base.iter().any(|texts| !texts.is_disjoint(&own)) {
        return own;
    }
    of_base.into_iter().rev().find(|texts| !texts.is_empty()).unwrap_or_default()
}

/// The hashes of the SQL text that some work has among these tests.
fn texts_of<'a>(work: &Test, tests: &'a [Test]) -> BTreeSet<&'a str> {
    tests.iter().filter(|test| is_same_work(test, work)).map(|test| test.hash()).collect()
}

/// The best verdict on a test that two runs have, else that of the only one; none if no run has the
/// test.
fn trusted(of_runs: &[Vec<Test>]) -> Option<Status> {
    let best = |tests: &Vec<Test>| tests.iter().map(Test::status).min();
    let mut verdicts: Vec<Status> = of_runs.iter().filter_map(best).collect();
    verdicts.sort_unstable();
    verdicts.get(1).or(verdicts.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::at;
    use crate::model::{Reason, ReasonCode, TestResult, Verdict};

    /// A test at one job with this KPM and verdict.
    fn test(kpm: f64, status: Status) -> Test {
        let reason = Reason::new(status, ReasonCode::Steal, "told");
        let verdict = match status {
            Status::Valid => Verdict::from_reasons(Vec::new()),
            _ => Verdict::from_reasons(vec![reason]),
        };
        Test::from(TestResult { kpm_value: Some(kpm), verdict, ..at(1, kpm) })
    }

    fn values(tests: &[Test]) -> Vec<f64> {
        tests.iter().filter_map(Test::kpm_value).collect()
    }

    #[test]
    fn the_newest_sound_run_stands_for_the_base_and_unsound_ones_do_not_count() {
        use Status::{Conditional, Invalid, Valid};
        let base = |verdicts: &[Status]| {
            let values = (1..).map(f64::from);
            let runs: Vec<Vec<Test>> =
                values.zip(verdicts).map(|(value, status)| vec![test(value, *status)]).collect();
            let base = base_of_many(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>(), &[]);
            assert_eq!(base.without(), None);
            let counted: Vec<f64> =
                base.runs.iter().flat_map(|tests| self::values(tests)).collect();
            (self::values(&base.tests), counted)
        };
        assert_eq!(base(&[Valid, Valid, Invalid]), (vec![2.0], vec![1.0, 2.0]));
        assert_eq!(base(&[Conditional, Valid, Valid]), (vec![3.0], vec![2.0, 3.0]));
        assert_eq!(base(&[Valid, Conditional, Conditional]), (vec![3.0], vec![1.0, 2.0, 3.0]));
        assert_eq!(base(&[Invalid, Invalid, Valid]), (vec![3.0], vec![1.0, 2.0, 3.0]));
    }

    #[test]
    fn what_the_newest_run_lacks_is_that_of_the_run_before() {
        let runs = [vec![test(1.0, Status::Valid)], vec![test(2.0, Status::Valid)], Vec::new()];
        let base = base_of_many(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>(), &[]);
        assert_eq!(values(&base.tests), [2.0]);
        assert_eq!(base.runs.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 0]);
        assert!(base_of_many(&[], &[]).tests.is_empty());
    }

    /// A valid test of a workload whose SQL text has this hash.
    fn of_text(hash: &str, kpm: f64) -> Test {
        Test::from(TestResult { hash: hash.into(), ..at(1, kpm) })
    }

    #[test]
    fn of_two_sql_texts_that_of_the_compared_run_counts_else_the_newest() {
        let runs = [("old", 1.0), ("old", 2.0), ("new", 8.0), ("old", 3.0), ("new", 9.0)]
            .map(|(hash, kpm)| vec![of_text(hash, kpm)]);
        let runs = runs.each_ref().map(Vec::as_slice);
        let counted = |hash: &str| {
            let base = base_of_many(&runs, &[of_text(hash, 1.0)]);
            let all: Vec<f64> = base.runs.iter().flat_map(|tests| values(tests)).collect();
            (values(&base.tests), all, base.without().map(|said| said.to_string()))
        };
        let left_out = |count: u32| {
            let said = "Left out of the base, as their SQL text or revision is another: SRV-QUERY1";
            Some(format!("{said} in {count} of 5 runs"))
        };
        assert_eq!(counted("new"), (vec![9.0], vec![8.0, 9.0], left_out(3)));
        assert_eq!(counted("old"), (vec![3.0], vec![1.0, 2.0, 3.0], left_out(2)));
        // The compared run's is in none: the comparison says that it is another.
        assert_eq!(counted("newer"), (vec![9.0], vec![8.0, 9.0], left_out(3)));
        assert_eq!(base_of_many(&runs[..2], &[of_text("old", 1.0)]).without(), None);
        let elsewhere = TestResult { workload: "SRV-SCAN".into(), ..at(1, 1.0) };
        let without = base_of_many(&runs, &[Test::from(elsewhere)]).without();
        assert_eq!(without, None, "nothing is said of what is not compared");
    }
}
