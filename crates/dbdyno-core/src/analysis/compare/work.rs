//! Resources that one op takes: CPU time, blocks, log. Other processes move these figures far less
//! than rates and times, so that a changed plan or a changed loop shows on a machine that is not
//! quiet, too. They are judged apart.

use std::collections::BTreeMap;

use serde::Serialize;

use super::pairs::Pair;
use super::{Change, Ratio, Span, Subject};
use crate::analysis::interval::Unknown;
use crate::model::{Better, Sentence, Status, Test, TestResult};
use crate::stats::moderated::{self, Location, step_up};

/// Share of the findings that chance may make.
const LEVEL: f64 = 0.05;
/// Smaller changes stand in the table only.
const WORTH_SAYING: f64 = 0.02;
/// Minimum number of repetitions of a side that show a spread.
const FEWEST: usize = 2;
/// Minimum number of events that the tests of one side or the other counted. Fewer of them may be
/// work that the server does in the background by the clock, such as a log sync a second, and come
/// by chance: 100 events scatter by 10 % (Poisson), three by more than half.
const FEWEST_EVENTS: f64 = 100.0;

/// Kind of work: the amount that is divided by the ops.
struct Measure {
    code: &'static str,
    unit: &'static str,
    of: fn(&TestResult) -> Option<f64>,
    nature: Nature,
}

/// Nature of an amount of work: what else than the ops may change it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nature {
    /// A time, which a slower CPU makes longer.
    Time,
    /// A number of events, which come by chance where they are few.
    Events,
    /// An amount that is neither.
    Amount,
}

const MEASURES: [Measure; 6] = [
    Measure {
        code: "CPU time of the server",
        unit: "us",
        of: |test| in_window(test, "server_cpu_s", 1e6),
        nature: Nature::Time,
    },
    Measure {
        code: "CPU time of the client",
        unit: "us",
        of: |test| in_window(test, "self_cpu_s", 1e6),
        nature: Nature::Time,
    },
    Measure {
        code: "instructions of the client",
        unit: "instructions",
        of: |test| in_window(test, "self_instructions", 1.0),
        nature: Nature::Amount,
    },
    Measure {
        code: "logical reads",
        unit: "blocks",
        of: |test| in_all(test, "logical_reads"),
        nature: Nature::Events,
    },
    Measure {
        code: "log",
        unit: "bytes",
        of: |test| in_all(test, "wal_bytes"),
        nature: Nature::Amount,
    },
    Measure {
        code: "log syncs",
        unit: "syncs",
        of: |test| in_all(test, "wal_syncs"),
        nature: Nature::Events,
    },
];

fn in_window(test: &TestResult, counter: &str, scale: f64) -> Option<f64> {
    Some(scale * test.window_counters.get(counter)? / test.window.ops as f64)
}

fn in_all(test: &TestResult, counter: &str) -> Option<f64> {
    Some(test.counters.get(counter)? / test.total.ops as f64)
}

/// A kind of work per op of both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Work {
    /// Workload with its parameters.
    #[serde(flatten)]
    pub subject: Subject,
    /// Number of jobs, the same in both runs.
    pub jobs: u32,
    /// `logical reads`.
    pub what: &'static str,
    /// Unit of both amounts.
    pub unit: &'static str,
    /// Amount per op of the baseline.
    pub base: f64,
    /// Amount per op of the other run.
    pub other: f64,
    /// Ratio other / base, with its interval.
    #[serde(flatten)]
    pub ratio: Ratio,
    /// True if the difference remains when everything that is compared is considered, and is 2 % or
    /// more.
    pub stands: bool,
    #[serde(skip)]
    group: String,
    #[serde(skip)]
    sides: [Vec<f64>; 2],
}

impl Work {
    /// More, less, inside the noise or undecided.
    pub fn change(&self) -> Change {
        self.ratio.change(Better::Lower)
    }

    /// `logical reads of SRV-QUERY1 at 2 jobs x1.50 (x1.49 to x1.51)`
    pub fn sentence(&self) -> Sentence {
        Sentence::new("{what} of {label} at {jobs} {ratio}")
            .with("what", Sentence::new(self.what))
            .with("label", self.subject.label())
            .with("jobs", Sentence::jobs(self.jobs))
            .with("ratio", self.ratio.sentence())
    }
}

/// True if the tests counted too few events for their number to be that of the ops.
fn are_few(measure: &Measure, tests: &[&TestResult]) -> bool {
    let counted = |test: &&TestResult| Some((measure.of)(test)? * test.total.ops as f64);
    tests.iter().filter_map(counted).sum::<f64>() < FEWEST_EVENTS
}

/// The work per op of a pair at every number of jobs that both have; none of a pair that may not be
/// the same work, no times where the CPUs were not equally fast, and no events that are few. Nothing
/// is estimated yet.
pub fn of_pair(pair: &Pair<'_>, are_cpus_alike: bool) -> Vec<Work> {
    if !pair.cautions.is_empty() {
        return Vec::new();
    }
    let [base, other] = [&pair.base, &pair.other].map(|tests| by_jobs(tests));
    let mut found = Vec::new();
    for (jobs, own) in &base {
        let Some(foreign) = other.get(jobs) else { continue };
        for measure in &MEASURES {
            let is_left_out = match measure.nature {
                Nature::Time => !are_cpus_alike,
                Nature::Events => [own, foreign].iter().all(|tests| are_few(measure, tests)),
                Nature::Amount => false,
            };
            if is_left_out {
                continue;
            }
            let logs = |tests: &Vec<&TestResult>| -> Vec<f64> {
                let values = tests.iter().filter_map(|test| (measure.of)(test));
                values.filter(|value| *value > 0.0 && value.is_finite()).map(f64::ln).collect()
            };
            let sides = [logs(own), logs(foreign)];
            if sides.iter().all(|logs| logs.len() >= FEWEST) {
                found.push(Work {
                    subject: pair.subject.clone(),
                    jobs: *jobs,
                    what: measure.code,
                    unit: measure.unit,
                    base: 0.0,
                    other: 0.0,
                    ratio: Ratio { value: 1.0, span: Err(Unknown::ShortWindow) },
                    stands: false,
                    group: pair.subject.group.clone(),
                    sides,
                });
            }
        }
    }
    found
}

/// The repetitions that are not invalid, by jobs: a disturbed one did the same work. Beside a
/// background workload the counters are those of both.
fn by_jobs<'a>(tests: &[&'a Test]) -> BTreeMap<u32, Vec<&'a TestResult>> {
    let mut found: BTreeMap<u32, Vec<&TestResult>> = BTreeMap::new();
    let sound = tests.iter().filter(|test| test.status() < Status::Invalid);
    let own = sound.filter_map(|test| test.measured()).filter(|test| test.beside.is_none());
    for test in own.filter(|test| test.window.ops > 0) {
        found.entry(test.jobs).or_default().push(test);
    }
    found
}

/// Estimates the ratios in place, kind by kind, and marks those that stand among all.
pub fn estimate(all: &mut [Work]) {
    for measure in &MEASURES {
        let mut of_kind: Vec<&mut Work> =
            all.iter_mut().filter(|work| work.what == measure.code).collect();
        let located = |side: usize| -> Vec<Location> {
            let logs: Vec<Vec<f64>> = of_kind.iter().map(|work| work.sides[side].clone()).collect();
            moderated::locate(&logs)
        };
        let (base, other) = (located(0), located(1));
        let mut groups: Vec<&str> = Vec::new();
        let mut numbers: Vec<usize> = Vec::new();
        for work in &of_kind {
            let at = groups.iter().position(|group| *group == work.group).unwrap_or(groups.len());
            if at == groups.len() {
                groups.push(&work.group);
            }
            numbers.push(at);
        }
        let ratios = moderated::pair(&base, &other, &numbers, None);
        for (at, work) in of_kind.iter_mut().enumerate() {
            (work.base, work.other) = (base[at].at.exp(), other[at].at.exp());
            let value = work.other / work.base;
            let span = ratios.ratios[at].map(|ratio| {
                let factor = ratio.half_width().exp();
                Span { low: value / factor, high: value * factor, p: ratio.p() }
            });
            work.ratio = Ratio { value, span: span.ok_or(Unknown::ShortWindow) };
        }
    }
    let p: Vec<f64> = all.iter().map(|work| work.ratio.span.map_or(1.0, |span| span.p)).collect();
    let found = step_up(&p, LEVEL);
    for (work, is_found) in all.iter_mut().zip(found) {
        work.stands = is_found && work.ratio.value.ln().abs() >= WORTH_SAYING.ln_1p();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::analysis::compare::fixture::{run, side};
    use crate::analysis::compare::{Terms, compare};
    use crate::analysis::fixture::{at, counters};
    use crate::model::{
        BackgroundResult, Drive, LatencySummary, PartResult, Reason, ReasonCode, RunRecord, Tally,
        Verdict,
    };

    /// Three repetitions of six workloads, of which the first reads `blocks` blocks per op. All are
    /// disturbed, and their rates differ by a factor of two.
    fn tests(blocks: f64) -> Vec<Test> {
        let mut found = Vec::new();
        for (repetition, noise) in [1.0, 1.003, 0.996].into_iter().enumerate() {
            for number in 0..6 {
                let mut test = at(2, 100.0 * (1.0 + repetition as f64 / 2.0));
                test.workload = format!("W{number}");
                let per_op = if number == 0 { blocks } else { 4.0 };
                let reads = per_op * noise * test.total.ops as f64;
                test.counters = counters(&[("logical_reads", reads)]);
                let reason = Reason::new(Status::Conditional, ReasonCode::ForeignLoad, "others");
                test.verdict = Verdict::from_reasons(vec![reason]);
                found.push(Test::from(test));
            }
        }
        found
    }

    #[test]
    fn an_op_of_more_instructions_is_found() {
        let runs = [run("a"), run("b")];
        let counted = |factor: f64| -> Vec<Test> {
            let with = |test: &Test| {
                let mut test = test.measured().unwrap().clone();
                let own = if test.workload == "W0" { factor } else { 1.0 };
                let noise = 1.0 + 0.001 * f64::from(test.jobs) * test.ops_per_s / 100.0;
                let count = 5_000.0 * own * noise * test.window.ops as f64;
                test.window_counters = counters(&[("self_instructions", count)]);
                Test::from(test)
            };
            tests(4.0).iter().map(with).collect()
        };
        let (base, other) = (counted(1.0), counted(1.2));
        let (base, other) = (side("a", &runs[0], &base), side("b", &runs[1], &other));
        let found = compare(&base, &other, &Terms::new(&[]));
        let stands: Vec<_> = found.work.iter().filter(|work| work.stands).collect();
        assert_eq!(stands.len(), 1, "{:#?}", found.work);
        assert_eq!(stands[0].what, "instructions of the client");
        assert!((stands[0].ratio.value - 1.2).abs() < 1e-3, "{:?}", stands[0]);
    }

    /// The same tests with another workload beside each.
    fn with_background(tests: &[Test]) -> Vec<Test> {
        let part = PartResult {
            workload: "LGWR-THR".into(),
            params: BTreeMap::new(),
            chosen: BTreeMap::new(),
            jobs: 1,
            tally: Tally::default(),
            ops_per_s: 5.0,
            units_per_s: 5.0,
            latency: LatencySummary::default(),
        };
        let beside = BackgroundResult { part, drive: Drive::Client, covers_window: true };
        let with = |test: &Test| {
            let test = test.measured().unwrap().clone();
            Test::from(TestResult { beside: Some(beside.clone()), ..test })
        };
        tests.iter().map(with).collect()
    }

    #[test]
    fn what_may_be_other_work_or_that_of_a_background_workload_is_no_work_of_an_op() {
        let mut runs = [run("a"), run("b")];
        let (base, other) = (tests(4.0), tests(6.0));
        let loaded = [&base, &other].map(|tests| with_background(tests));
        let found = |runs: &[RunRecord; 2], base: &[Test], other: &[Test]| {
            let (base, other) = (side("a", &runs[0], base), side("b", &runs[1], other));
            compare(&base, &other, &Terms::new(&[])).work
        };
        assert!(!found(&runs, &base, &other).is_empty());
        assert!(found(&runs, &loaded[0], &loaded[1]).is_empty());
        runs[1].size_gb = Some(10.0);
        assert!(found(&runs, &base, &other).is_empty());
    }

    #[test]
    fn a_few_syncs_of_the_server_itself_are_no_work_of_an_op() {
        let runs = [run("a"), run("b")];
        // One log sync in each test of the base, as many in each of the other run, beside 500 reads.
        let counted = |syncs: f64| -> Vec<Test> {
            let with = |test: &Test| {
                let mut test = test.measured().unwrap().clone();
                test.counters = counters(&[("wal_syncs", syncs), ("logical_reads", 500.0)]);
                Test::from(test)
            };
            tests(4.0).iter().map(with).collect()
        };
        let found = |syncs: f64| {
            let (base, other) = (counted(1.0), counted(syncs));
            let (base, other) = (side("a", &runs[0], &base), side("b", &runs[1], &other));
            let work = compare(&base, &other, &Terms::new(&[])).work;
            let kinds: BTreeSet<&str> = work.iter().map(|work| work.what).collect();
            kinds.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(found(3.0), ["logical reads"]);
        // An op that has begun to sync the log is found however few were counted before.
        assert_eq!(found(300.0), ["log syncs", "logical reads"]);
    }

    #[test]
    fn an_op_that_reads_more_is_found_beside_neighbours_and_equal_ones_are_not() {
        let runs = [run("a"), run("b")];
        let compared = |base: &[Test], other: &[Test]| {
            let (base, other) = (side("a", &runs[0], base), side("b", &runs[1], other));
            compare(&base, &other, &Terms::new(&[]))
        };
        let (base, other) = (tests(4.0), tests(6.0));
        let found = compared(&base, &other);
        let stands: Vec<_> = found.work.iter().filter(|work| work.stands).collect();
        assert_eq!(stands.len(), 1, "{:#?}", found.work);
        assert!((stands[0].ratio.value - 1.5).abs() < 1e-9 && stands[0].change() == Change::Worse);
        let said: Vec<String> = found
            .findings
            .iter()
            .filter(|finding| finding.code == "work")
            .map(|finding| finding.text.to_string())
            .collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("work per op changed: logical reads of W0 at 2 jobs x1.50 ("),
            "{said:?}"
        );
        assert!(compared(&base, &base).work.iter().all(|work| !work.stands));
    }
}
