//! Notes of a report on itself: how to read it, which commands made it, and which tests a sentence
//! is about.

use super::document::{Block, Section};
use super::shareable::shareable;
use super::{Input, Language, units};
use dbdyno_core::model::{RunRecord, Test};

/// A test that a sentence is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct About<'a> {
    /// Run that the test belongs to.
    pub run: &'a RunRecord,
    /// Test with its result and verdict.
    pub test: &'a Test,
}

impl About<'_> {
    /// A single test with its workload and jobs; several by their numbers.
    pub fn subject(language: Language, tests: &[Self]) -> String {
        match tests {
            [Self { run, test }] => {
                let (run, seq, jobs) =
                    (run.id.to_string(), test.seq().to_string(), language.jobs(test.jobs()));
                let values = [
                    ("run", run.as_str()),
                    ("test", &seq),
                    ("workload", test.workload()),
                    ("jobs", &jobs),
                ];
                language.say("run {run} test {test} {workload} at {jobs}", &values)
            }
            _ => Self::tests(language, tests),
        }
    }

    /// `run 1 test 1-14, 29-33; run 2-5 test 7`: runs with the same tests together.
    pub fn tests(language: Language, tests: &[Self]) -> String {
        let mut of_run: Vec<(i64, Vec<i64>)> = Vec::new();
        for Self { run, test } in tests {
            match of_run.last_mut().filter(|(last, _)| *last == run.id) {
                Some((_, tests)) => tests.push(test.seq().into()),
                None => of_run.push((run.id, vec![test.seq().into()])),
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
        let of = |(runs, tests): &(Vec<i64>, String)| {
            language.say("run {run} test {test}", &[("run", &ranges(runs)), ("test", tests)])
        };
        let texts = together.iter().map(of);
        texts.collect::<Vec<_>>().join("; ")
    }
}

/// `1-14, 16, 29-33`, in ascending order and each number once; two that follow each other stay
/// apart: `3, 4`.
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

/// The short form of METHODOLOGY.md.
const METHOD: &[&str] = &[
    "A test runs one workload with a fixed number of jobs. All jobs start at one gate; the warm-up \
     does not count, and the measurement window ends while they still run. A job's rate is what it \
     counted divided by its own time; throughput is the sum over the jobs. The loop is closed: \
     service time, not response time under an arrival rate. MB = 10^6 bytes.",
    "Speed is the metric at one job, throughput the best at any number of jobs. Percentiles need \
     ten ops beyond them, else they are not printed. Intervals are 95 %: of the repetitions, of a \
     single test from its seconds. CPU % is the host's.",
    "Every figure has a verdict. valid: the contract of the workload held and our counts agree \
     with the database's own counters. conditional (?): the figure means less than it seems, the \
     reason is given. invalid (!): it must not be used. A dash with a number is unknown, the \
     footnote says why; unknown is never 0.",
    "In the charts a filled mark is a valid figure. Of a hollow one nothing is said: a triangle is \
     conditional, half a disc is conditional because other processes disturbed it, and a circle \
     lacks an interval that a comparison needs. A cross is invalid. Colors and dashes tell series \
     apart. The thin dotted curves are the Universal Scalability Law fitted to the ops per second \
     (N. J. Gunther, 2007), from four numbers of jobs on.",
];

/// Headings by which a reader of the publications knows the columns of the KPM report.
const PUBLISHED_HEADINGS: &str = "Publications have other headings: Log reads are logical reads, \
                                  BuCache read is the buffer cache hit, 2nd cache read the OS \
                                  cache hit, FlCache read the hit of a flash cache, IO time the \
                                  read or write time, LogFile sync and LogFile write the log sync \
                                  and log write time; kBpt is kB of log per transaction, dbpt and \
                                  dbps are database blocks per transaction and per second.";

/// Above the legend of units.
const UNITS: &str = "Units of the figures:";

/// The section.
pub fn method(input: &Input) -> Section {
    let mut blocks: Vec<Block> =
        METHOD.iter().map(|text| Block::Paragraph(input.language.phrase(text))).collect();
    let units = units::legend(input);
    if !units.is_empty() {
        blocks.push(Block::Paragraph(input.language.phrase(UNITS)));
        blocks.push(Block::Facts(units));
        blocks.push(Block::Paragraph(input.language.phrase(PUBLISHED_HEADINGS)));
    }
    blocks.push(Block::Facts(commands(input)));
    Section::new(input.language, "Method", blocks)
}

/// The command that made each run, and this report.
fn commands(input: &Input) -> Vec<(String, String)> {
    let platforms = input.platforms();
    let made_by = |name: &str| input.language.say("Made by ({platform})", &[("platform", name)]);
    let runs = input
        .runs
        .iter()
        .zip(platforms)
        .map(|(data, name)| (made_by(&name), shareable(&data.run.command)));
    let report = (!input.command.is_empty())
        .then(|| (input.language.phrase("This report"), shareable(&input.command)));
    runs.chain(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::model::TestResult;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[3, 1, 2, 14, 5, 6, 6, 29, 30, 31]), "1-3, 5, 6, 14, 29-31");
        assert_eq!((ranges(&[]), ranges(&[7])), (String::new(), "7".into()));
    }

    #[test]
    fn a_single_test_is_named_and_runs_with_the_same_tests_stand_together() {
        let runs = [1, 2, 3, 9].map(|id| RunRecord { id, ..run("r") });
        let tests =
            [1, 2, 3].map(|seq| Test::from(TestResult { seq, jobs: 4, ..fixture::result() }));
        let about = |run: usize, test: usize| About { run: &runs[run], test: &tests[test] };
        let single = About::subject(Language::English, &[about(3, 1)]);
        assert!(single.starts_with("run 9 test 2 ") && single.ends_with(" at 4 jobs"), "{single}");
        let mut several: Vec<About<'_>> = (0..3)
            .flat_map(|run| (0..3).map(move |test| (run, test)))
            .map(|(r, t)| about(r, t))
            .collect();
        several.push(about(3, 2));
        assert_eq!(About::subject(Language::English, &several), "run 1-3 test 1-3; run 9 test 3");
    }
}
