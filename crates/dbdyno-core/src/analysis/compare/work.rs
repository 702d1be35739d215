//! Resources that one op takes: CPU time, blocks, log. Other processes move these figures far less
//! than rates and times, so that a changed plan or a changed loop shows on a machine that is not
//! quiet, too. They are judged apart.

use std::collections::BTreeMap;

use serde::Serialize;

use super::pairs::Pair;
use super::{Change, Ratio, Span, Subject};
use crate::analysis::interval::Unknown;
use crate::model::{Better, Drive, Sentence, Status, Test, TestResult};
use crate::stats::moderated::{self, Location, step_up};

/// Share of the findings that chance may make.
const LEVEL: f64 = 0.05;
/// Smaller changes stand in the table only.
const WORTH_SAYING: f64 = 0.02;
/// Minimum number of repetitions of a side that show a spread.
const FEWEST: usize = 2;
/// Minimum number of ops in all windows of a side. Where a window has one op or two, those that are
/// under way at its edges halve or double what is counted for each.
const FEWEST_OPS: u64 = 100;

/// Kind of work: the amount that is divided by the ops.
struct Measure {
    code: &'static str,
    unit: &'static str,
    /// Counter of the amount.
    counter: &'static str,
    /// Number of `unit` in one of the counter's own unit.
    scale: f64,
    period: Period,
    /// True of a time, which a slower CPU makes longer.
    is_time: bool,
    /// True of what the client does, which is something for each op only if it drives them.
    is_of_client: bool,
    /// Minimum of the counter in all tests of one side or the other. Less is the grain of a clock,
    /// or what a server does by the clock in the background.
    fewest: f64,
    /// The same per op.
    fewest_per_op: f64,
}

/// Period over which the amount and the ops are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Period {
    /// The window, at whose edges ops are under way.
    Window,
    /// All of the test, so that every op is whole.
    Test,
}

const MEASURES: [Measure; 6] = [
    Measure {
        code: "CPU time of the server",
        unit: "us",
        counter: "server_cpu_s",
        scale: 1e6,
        period: Period::Window,
        is_time: true,
        is_of_client: false,
        // 50 ticks of the kernel's clock.
        fewest: 0.5,
        fewest_per_op: 0.0,
    },
    Measure {
        code: "CPU time of the client",
        unit: "us",
        counter: "self_cpu_s",
        scale: 1e6,
        period: Period::Window,
        is_time: true,
        is_of_client: true,
        fewest: 0.5,
        fewest_per_op: 0.0,
    },
    Measure {
        code: "instructions of the client",
        unit: "instructions",
        counter: "self_instructions",
        scale: 1.0,
        period: Period::Window,
        is_time: false,
        is_of_client: true,
        fewest: 0.0,
        fewest_per_op: 0.0,
    },
    Measure {
        code: "logical reads",
        unit: "blocks",
        counter: "logical_reads",
        scale: 1.0,
        period: Period::Test,
        is_time: false,
        is_of_client: false,
        // 100 events that come by chance scatter by 10 % (Poisson), three by more than half.
        fewest: 100.0,
        fewest_per_op: 0.0,
    },
    Measure {
        code: "log",
        unit: "bytes",
        counter: "wal_bytes",
        scale: 1.0,
        period: Period::Test,
        is_time: false,
        is_of_client: false,
        // Some hundred bytes in one test of three are those of the server itself; the record of a
        // change has more than ten.
        fewest: 10_000.0,
        fewest_per_op: 10.0,
    },
    Measure {
        code: "log syncs",
        unit: "syncs",
        counter: "wal_syncs",
        scale: 1.0,
        period: Period::Test,
        is_time: false,
        is_of_client: false,
        // A server syncs its log by the clock, too, once a second or so.
        fewest: 100.0,
        fewest_per_op: 0.0,
    },
];

impl Measure {
    fn amount(&self, test: &TestResult) -> Option<f64> {
        match self.period {
            Period::Window => test.window_counters.get(self.counter),
            Period::Test => test.counters.get(self.counter),
        }
    }

    fn ops(&self, test: &TestResult) -> u64 {
        match self.period {
            Period::Window => test.window.ops,
            Period::Test => test.total.ops,
        }
    }

    fn per_op(&self, test: &TestResult) -> Option<f64> {
        Some(self.scale * self.amount(test)? / self.ops(test) as f64)
    }

    /// True if the amount is that of the ops in the tests of both sides, and not that of a
    /// background, of a clock's grain or of the edges of windows.
    fn is_of_ops(&self, sides: [&[&TestResult]; 2]) -> bool {
        let is_little = |tests: &[&TestResult]| {
            let amount: f64 = tests.iter().filter_map(|test| self.amount(test)).sum();
            let ops: u64 = tests.iter().map(|test| self.ops(test)).sum();
            amount < self.fewest || amount < self.fewest_per_op * ops as f64
        };
        let has_few_ops = |tests: &[&TestResult]| {
            let ops: u64 = tests.iter().map(|test| self.ops(test)).sum();
            self.period == Period::Window && ops < FEWEST_OPS
        };
        let is_driven = |tests: &[&TestResult]| {
            !self.is_of_client || tests.iter().all(|test| test.drive == Drive::Client)
        };
        !sides.iter().all(|tests| is_little(tests))
            && !sides.iter().any(|tests| has_few_ops(tests))
            && sides.iter().all(|tests| is_driven(tests))
    }
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

/// The work per op of a pair at every number of jobs that both have; none of a pair that may not be
/// the same work, no times where the CPUs were not equally fast, and no amount that is not that of
/// the ops. Nothing is estimated yet.
pub fn of_pair(pair: &Pair<'_>, are_cpus_alike: bool) -> Vec<Work> {
    if !pair.cautions.is_empty() {
        return Vec::new();
    }
    let [base, other] = [&pair.base, &pair.other].map(|tests| by_jobs(tests));
    let mut found = Vec::new();
    for (jobs, own) in &base {
        let Some(foreign) = other.get(jobs) else { continue };
        for measure in &MEASURES {
            if measure.is_time && !are_cpus_alike || !measure.is_of_ops([own, foreign]) {
                continue;
            }
            let logs = |tests: &Vec<&TestResult>| -> Vec<f64> {
                let values = tests.iter().filter_map(|test| measure.per_op(test));
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
        BackgroundResult, LatencySummary, PartResult, Reason, ReasonCode, RunRecord, Tally, Verdict,
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
        // One log sync in each test of the base, more in those of the other run, beside 500 reads.
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

    /// Kinds of work that are compared between tests of this drive in which each of so many ops
    /// counts `per_op`, and 1.3 times as much in the other run.
    fn kinds_compared(counter: &str, per_op: f64, ops: u64, drive: Drive) -> Vec<&'static str> {
        let runs = [run("a"), run("b")];
        let counted = |noise: f64| -> Vec<Test> {
            let with = |test: &Test| {
                let mut test = test.measured().unwrap().clone();
                (test.window.ops, test.total.ops, test.drive) = (ops, ops, drive);
                let amount = per_op * noise * ops as f64;
                test.counters = counters(&[(counter, amount)]);
                test.window_counters = counters(&[(counter, amount)]);
                Test::from(test)
            };
            tests(4.0).iter().map(with).collect()
        };
        let (base, other) = (counted(1.0), counted(1.3));
        let (base, other) = (side("a", &runs[0], &base), side("b", &runs[1], &other));
        let work = compare(&base, &other, &Terms::new(&[])).work;
        let kinds: BTreeSet<&str> = work.iter().map(|work| work.what).collect();
        kinds.into_iter().collect()
    }

    #[test]
    fn what_clocks_backgrounds_and_edges_make_is_no_work_of_an_op() {
        let compared = |counter: &str, per_op: f64, ops: u64, drive: Drive| {
            kinds_compared(counter, per_op, ops, drive).len() == 1
        };
        let in_database = Drive::Database;
        // Five ticks of a clock in three tests, against seconds.
        assert!(!compared("server_cpu_s", 1e-5, 2_000, in_database));
        assert!(compared("server_cpu_s", 1e-3, 2_000, in_database));
        // One op or two in a window that they fill.
        assert!(!compared("server_cpu_s", 0.7, 2, in_database));
        // What a client that only waits takes for itself.
        assert!(!compared("self_cpu_s", 1e-3, 2_000, in_database));
        assert!(compared("self_cpu_s", 1e-3, 2_000, Drive::Client));
        assert!(!compared("self_instructions", 5_000.0, 2_000, in_database));
        // Log that is written beside ops which only read, against that of a change.
        assert!(!compared("wal_bytes", 0.1, 8_000, in_database));
        assert!(!compared("wal_bytes", 0.5, 100_000, in_database));
        assert!(compared("wal_bytes", 110.0, 8_000, in_database));
        // Whole ops are counted over all of a test: two that make an index are enough.
        assert!(compared("wal_bytes", 4e6, 2, in_database));
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
