//! Which tests a sentence is about, in few words: numbers that follow each other as ranges.

use super::columns::jobs;
use crate::model::{RunRecord, TestResult};

/// A test that a sentence is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct About<'a> {
    pub run: &'a RunRecord,
    pub test: &'a TestResult,
}

impl About<'_> {
    /// A single test with its workload and jobs; several by their numbers.
    pub fn subject(tests: &[Self]) -> String {
        match tests {
            [Self { run, test }] => {
                format!("run {} test {} {} at {}", run.id, test.seq, test.workload, jobs(test.jobs))
            }
            _ => Self::tests(tests),
        }
    }

    /// `run 1 test 1-14, 29-33; run 2-5 test 7`: runs with the same tests together.
    pub fn tests(tests: &[Self]) -> String {
        let mut of_run: Vec<(i64, Vec<i64>)> = Vec::new();
        for Self { run, test } in tests {
            match of_run.last_mut().filter(|(last, _)| *last == run.id) {
                Some((_, tests)) => tests.push(test.seq.into()),
                None => of_run.push((run.id, vec![test.seq.into()])),
            }
        }
        let mut together: Vec<(Vec<i64>, String)> = Vec::new();
        for (run, tests) in of_run {
            let tests = ranges(&tests);
            match together.iter_mut().find(|(_, known)| *known == tests) {
                Some((runs, _)) => runs.push(run),
                None => together.push((vec![run], tests)),
            }
        }
        let texts = together.iter().map(|(runs, tests)| format!("run {} test {tests}", ranges(runs)));
        texts.collect::<Vec<_>>().join("; ")
    }
}

/// `1-14, 16, 29-33`, in ascending order and each number once; two that follow each other stay apart: `3, 4`.
pub fn ranges(numbers: &[i64]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let chunks = sorted.chunk_by(|a, b| a + 1 == *b);
    let text = |chunk: &[i64]| match chunk {
        [first, _, .., last] => format!("{first}-{last}"),
        few => few.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
    };
    chunks.map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::run;
    use crate::analysis::fixture;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[3, 1, 2, 14, 5, 6, 6, 29, 30, 31]), "1-3, 5, 6, 14, 29-31");
        assert_eq!((ranges(&[]), ranges(&[7])), (String::new(), "7".into()));
    }

    #[test]
    fn a_single_test_is_named_and_runs_with_the_same_tests_stand_together() {
        let runs = [1, 2, 3, 9].map(|id| RunRecord { id, ..run("r") });
        let tests = [1, 2, 3].map(|seq| TestResult { seq, jobs: 4, ..fixture::result() });
        let about = |run: usize, test: usize| About { run: &runs[run], test: &tests[test] };
        let single = About::subject(&[about(3, 1)]);
        assert!(single.starts_with("run 9 test 2 ") && single.ends_with(" at 4 jobs"), "{single}");
        let mut several: Vec<About<'_>> =
            (0..3).flat_map(|run| (0..3).map(move |test| (run, test))).map(|(r, t)| about(r, t)).collect();
        several.push(about(3, 2));
        assert_eq!(About::subject(&several), "run 1-3 test 1-3; run 9 test 3");
    }
}
