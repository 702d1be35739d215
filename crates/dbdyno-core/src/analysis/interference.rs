//! Interference of workloads on one server: the rate of each with another in the background over
//! its rate alone, block by block, and the sum of both for each pair, the consolidation factor.
//! Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::reason_count::ReasonCount;
use super::study::{Blocks, MedianInterval, known, paired};
use crate::model::params::{BESIDE, BESIDE_JOBS, assignments};
use crate::model::{Drive, Status, Test, TestResult};
use crate::stats::summary::median;

/// A workload of a study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Parameters of the workload.
    pub params: BTreeMap<String, String>,
    /// Drive that ran it.
    pub drive: Drive,
}

impl Member {
    /// Member that runs as the test's own jobs.
    fn from_test(test: &TestResult) -> Member {
        let own = |(name, _): &(&String, &String)| ![BESIDE, BESIDE_JOBS].contains(&name.as_str());
        let params = test
            .chosen
            .iter()
            .filter(own)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Member { workload: test.workload.clone(), params, drive: test.drive }
    }

    /// Member that runs as background workload; none if there is none.
    fn beside(test: &TestResult) -> Option<Member> {
        let beside = test.beside.as_ref()?;
        let (workload, params) = (beside.part.workload.clone(), beside.part.chosen.clone());
        Some(Member { workload, params, drive: beside.drive })
    }

    /// True if the test had this member in the background. A test that failed has no result of its
    /// background workload, only the name of it.
    fn is_beside(&self, test: &TestResult) -> bool {
        match Member::beside(test) {
            Some(beside) => beside == *self,
            None => test.chosen.get(BESIDE) == Some(&self.name()),
        }
    }

    /// `TP-LIGHT:update_pct=40,scale=2`, as a background workload is named among parameters.
    fn name(&self) -> String {
        let words = [self.workload.clone(), assignments(&self.params, ",")];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(":")
    }

    /// `TP-LIGHT update_pct=40`.
    pub fn label(&self) -> String {
        let words = [self.workload.clone(), assignments(&self.params, " ")];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// A workload alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alone {
    /// The workload.
    #[serde(flatten)]
    pub member: Member,
    /// Ops per second: median of the blocks.
    pub ops_per_s: Option<MedianInterval>,
    /// Median of as few blocks as there are, without an interval.
    pub median_ops_per_s: Option<f64>,
    /// Number of blocks that count.
    pub blocks: usize,
    /// Verdict on the rate.
    pub verdict: Status,
    /// Reasons that lowered the verdicts of its tests, each with their number.
    #[serde(skip)]
    pub conditions: Vec<ReasonCount>,
}

/// A workload beside another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slowdown {
    /// Places among the workloads.
    pub of: usize,
    /// Place of the background workload.
    pub beside: usize,
    /// Rate beside / rate alone.
    pub ratio: Option<MedianInterval>,
    /// Median of the ratio, also with too few blocks for an interval.
    pub median_ratio: Option<f64>,
    /// Blocks that have both.
    pub blocks: usize,
    /// Verdict on the ratio.
    pub verdict: Status,
}

/// Two workloads together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Place of the first workload.
    pub a: usize,
    /// Place of the second workload.
    pub b: usize,
    /// Sum of both relative rates: 1 = sharing gains nothing, 2 = neither feels the other.
    pub factor: Option<MedianInterval>,
    /// Median of the factor, also with too few blocks for an interval.
    pub median_factor: Option<f64>,
    /// Number of blocks that count.
    pub blocks: usize,
    /// Number of blocks that do not count.
    pub left_out: usize,
    /// Verdict on the factor.
    pub verdict: Status,
    /// Reasons that lowered the verdicts of its tests, each with their number.
    #[serde(skip)]
    pub conditions: Vec<ReasonCount>,
}

/// All workloads of a run, alone and in pairs, at a number of jobs each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interference {
    /// Number of jobs of each workload.
    pub jobs: u32,
    /// Workloads, each alone.
    pub alone: Vec<Alone>,
    /// Effects of each workload on each one that it runs with.
    pub slowdowns: Vec<Slowdown>,
    /// Consolidation factor of each pair.
    pub pairs: Vec<Pair>,
}

/// The studies of a run, one for each number of jobs at which tests ran beside as many others. With
/// another number of jobs in the background its rate is not that of the same work alone.
pub fn interference(tests: &[Test]) -> Vec<Interference> {
    let measured = || tests.iter().filter_map(Test::measured);
    let is_beside_as_many = |test: &&TestResult| {
        (test.beside.is_some() || test.chosen.contains_key(BESIDE))
            && !is_beside_another_number(test)
    };
    let mut jobs: Vec<u32> = measured().filter(is_beside_as_many).map(|test| test.jobs).collect();
    jobs.sort_unstable();
    jobs.dedup();
    let studies = jobs.into_iter().map(|jobs| Study::new(tests, jobs).evaluate());
    studies.filter(|study| !study.pairs.is_empty()).collect()
}

/// True if a test had more or fewer jobs in the background than of its own.
fn is_beside_another_number(test: &TestResult) -> bool {
    let known = test.beside.as_ref().map(|beside| beside.part.jobs);
    let asked = || test.chosen.get(BESIDE_JOBS).and_then(|jobs| jobs.parse().ok());
    known.or_else(asked).is_some_and(|jobs: u32| jobs != test.jobs)
}

/// Tests at a number of jobs.
struct Study<'a> {
    tests: &'a [Test],
    jobs: u32,
    members: Vec<Member>,
}

impl<'a> Study<'a> {
    fn new(tests: &'a [Test], jobs: u32) -> Study<'a> {
        let mut members: Vec<Member> = Vec::new();
        let is_of_jobs = |test: &&TestResult| test.jobs == jobs && !is_beside_another_number(test);
        let of_jobs = tests.iter().filter_map(Test::measured).filter(is_of_jobs);
        let mut sorted: Vec<&TestResult> = of_jobs.collect();
        // In the order of the plan: blocks are shuffled, but hashes of the plan are not known here;
        // names are.
        sorted.sort_by_key(|test| (test.workload.clone(), assignments(&test.chosen, ",")));
        for member in sorted
            .into_iter()
            .flat_map(|test| [Some(Member::from_test(test)), Member::beside(test)])
            .flatten()
        {
            if !members.contains(&member) {
                members.push(member);
            }
        }
        Study { tests, jobs, members }
    }

    fn evaluate(&self) -> Interference {
        let all = 0..self.members.len();
        let pairs: Vec<(usize, usize)> =
            all.clone().flat_map(|a| (a..all.end).map(move |b| (a, b))).collect();
        let pairs: Vec<(usize, usize, Together<'a>)> = pairs
            .into_iter()
            .map(|(a, b)| (a, b, self.together(a, b)))
            .filter(|(.., pair)| !pair.is_empty())
            .collect();
        Interference {
            jobs: self.jobs,
            alone: all.map(|of| self.alone(of)).collect(),
            slowdowns: pairs.iter().flat_map(|(a, b, pair)| self.slowdowns(*a, *b, pair)).collect(),
            pairs: pairs.iter().map(|(a, b, pair)| self.pair(*a, *b, pair)).collect(),
        }
    }

    /// One beside another that failed has no figures of the other.
    fn alone_blocks(&self, of: usize) -> Blocks<'a> {
        let is_of = |test: &TestResult| {
            test.jobs == self.jobs
                && test.beside.is_none()
                && !test.chosen.contains_key(BESIDE)
                && Member::from_test(test) == self.members[of]
        };
        Blocks::from_tests(self.tests, is_of)
    }

    fn alone(&self, of: usize) -> Alone {
        let blocks = self.alone_blocks(of);
        let values = known(&blocks.values(|test| Some(test.ops_per_s)));
        let ops_per_s = MedianInterval::from_values(&values);
        Alone {
            member: self.members[of].clone(),
            ops_per_s,
            median_ops_per_s: median(&values),
            blocks: values.len(),
            verdict: MedianInterval::verdict(ops_per_s.as_ref(), blocks.status()),
            conditions: blocks.conditions(),
        }
    }

    /// The tests in which both ran, whichever was in front.
    fn together(&self, a: usize, b: usize) -> Together<'a> {
        let (first, second) = (&self.members[a], &self.members[b]);
        let of = |front: &Member, back: &Member| {
            let is_of = |test: &TestResult| {
                test.jobs == self.jobs
                    && !is_beside_another_number(test)
                    && Member::from_test(test) == *front
                    && back.is_beside(test)
            };
            Blocks::from_tests(self.tests, is_of)
        };
        let in_front = of(first, second);
        match in_front.is_empty() {
            false => Together { tests: in_front, turned: false },
            true => Together { tests: of(second, first), turned: true },
        }
    }

    /// Relative rates of both in each block.
    fn relative(&self, a: usize, b: usize, pair: &Together<'_>) -> [Vec<Option<f64>>; 2] {
        let rates = pair.rates();
        let relative = |of: usize, rates: &[Option<f64>]| {
            let alone = self.alone_blocks(of).values(|test| Some(test.ops_per_s));
            let of_block = |(rate, alone): (&Option<f64>, &Option<f64>)| {
                Some((*rate)? / (*alone)?).filter(|ratio: &f64| ratio.is_finite())
            };
            rates.iter().zip(&alone).map(of_block).collect()
        };
        [relative(a, &rates[0]), relative(b, &rates[1])]
    }

    /// One cell for each workload; beside itself both halves have one together.
    fn slowdowns(&self, a: usize, b: usize, pair: &Together<'_>) -> Vec<Slowdown> {
        let [first, second] = self.relative(a, b, pair);
        let cell = |of: usize, beside: usize, values: Vec<f64>| {
            let ratio = MedianInterval::from_values(&values);
            Slowdown {
                of,
                beside,
                ratio,
                median_ratio: median(&values),
                blocks: values.len(),
                verdict: MedianInterval::verdict(ratio.as_ref(), self.status(of, beside, pair)),
            }
        };
        match a == b {
            true => vec![cell(a, a, paired(&first, &second, f64::midpoint))],
            false => vec![cell(a, b, known(&first)), cell(b, a, known(&second))],
        }
    }

    fn pair(&self, a: usize, b: usize, pair: &Together<'_>) -> Pair {
        let [first, second] = self.relative(a, b, pair);
        let values = paired(&first, &second, |one, other| one + other);
        let factor = MedianInterval::from_values(&values);
        Pair {
            a,
            b,
            factor,
            median_factor: median(&values),
            blocks: values.len(),
            left_out: pair.tests.left_out(),
            verdict: MedianInterval::verdict(factor.as_ref(), self.status(a, b, pair)),
            conditions: pair.tests.conditions(),
        }
    }

    fn status(&self, a: usize, b: usize, pair: &Together<'_>) -> Status {
        [pair.tests.status(), self.alone_blocks(a).status(), self.alone_blocks(b).status()]
            .into_iter()
            .max()
            .unwrap_or(Status::Invalid)
    }
}

/// Tests in which two workloads ran; `turned`: the second one in front.
struct Together<'a> {
    tests: Blocks<'a>,
    turned: bool,
}

impl Together<'_> {
    fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Ops per second of both, in the order asked for.
    fn rates(&self) -> [Vec<Option<f64>>; 2] {
        let front = self.tests.values(|test| Some(test.ops_per_s));
        let back = self.tests.values(|test| {
            test.beside
                .as_ref()
                .filter(|beside| beside.covers_window)
                .map(|beside| beside.part.ops_per_s)
        });
        if self.turned { [back, front] } else { [front, back] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{
        BackgroundResult, LatencySummary, PartResult, Reason, ReasonCode, Tally, Verdict,
    };

    fn test(seq: u32, workload: &str, rate: f64, beside: Option<(&str, f64)>) -> TestResult {
        let reason = Reason::new(Status::Conditional, ReasonCode::Beside, "");
        let figures = |(workload, ops_per_s): (&str, f64)| BackgroundResult {
            part: PartResult {
                workload: workload.into(),
                params: BTreeMap::new(),
                chosen: BTreeMap::new(),
                jobs: 1,
                tally: Tally::default(),
                ops_per_s,
                units_per_s: ops_per_s,
                latency: LatencySummary::default(),
            },
            drive: Drive::Client,
            covers_window: true,
        };
        TestResult {
            seq,
            workload: workload.into(),
            ops_per_s: rate,
            verdict: Verdict::from_reasons(beside.iter().map(|_| reason.clone()).collect()),
            beside: beside.map(figures),
            ..fixture::at(1, rate)
        }
    }

    /// Six blocks, each faster than the one before by the same factor for all.
    fn run(covers_window: bool) -> Vec<Test> {
        let mut tests: Vec<TestResult> = Vec::new();
        for block in 0..6_u32 {
            let speed = 1.0 + 0.1 * f64::from(block);
            let all = [
                ("A", 1000.0, None),
                ("B", 50.0, None),
                ("A", 600.0, Some(("B", 45.0))),
                ("A", 500.0, Some(("A", 510.0))),
            ];
            for (workload, rate, beside) in all {
                let seq = tests.len() as u32 + 1;
                let beside = beside.map(|(workload, rate)| (workload, rate * speed));
                let mut test = test(seq, workload, rate * speed, beside);
                if let Some(beside) = &mut test.beside {
                    beside.covers_window = covers_window;
                }
                tests.push(test);
            }
        }
        tests.into_iter().map(Test::from).collect()
    }

    #[test]
    fn of_too_few_blocks_there_are_medians_that_are_conditional_and_not_invalid() {
        let two: Vec<Test> = run(true).into_iter().take(8).collect();
        let found = interference(&two).remove(0);
        let told = |alone: &Alone| (alone.ops_per_s, alone.median_ops_per_s, alone.verdict);
        assert_eq!(told(&found.alone[0]), (None, Some(1050.0), Status::Conditional));
        let pair = found.pairs.iter().find(|pair| (pair.a, pair.b) == (0, 1)).unwrap();
        assert_eq!((pair.factor, pair.blocks, pair.verdict), (None, 2, Status::Conditional));
        assert!((pair.median_factor.unwrap() - 1.5).abs() < 1e-9, "{pair:?}");
        assert!(found.slowdowns.iter().all(|cell| cell.median_ratio.is_some()));
    }

    #[test]
    fn relative_rates_and_their_sums_are_taken_block_by_block() {
        let found = interference(&run(true));
        assert_eq!(found.len(), 1);
        let labels: Vec<String> = found[0].alone.iter().map(|alone| alone.member.label()).collect();
        assert_eq!(labels, ["A", "B"]);
        let near = |known: &Option<MedianInterval>, value: f64| {
            let MedianInterval { value: found, low, high } = known.unwrap();
            [found, low, high].into_iter().all(|found| (found - value).abs() < 1e-9)
        };
        let cell = |of, beside| {
            found[0].slowdowns.iter().find(|cell| (cell.of, cell.beside) == (of, beside)).unwrap()
        };
        assert!(
            near(&cell(0, 1).ratio, 0.6)
                && near(&cell(1, 0).ratio, 0.9)
                && near(&cell(0, 0).ratio, 0.505)
        );
        let factors: Vec<_> = found[0]
            .pairs
            .iter()
            .map(|pair| (pair.a, pair.b, near(&pair.factor, [1.01, 1.5][pair.b])))
            .collect();
        assert_eq!(factors, [(0, 0, true), (0, 1, true)]);
        assert!(
            found[0].pairs.iter().all(|pair| pair.verdict == Status::Valid),
            "beside is what was asked for"
        );
        assert!(interference(&[test(1, "A", 1.0, None).into()]).is_empty());
    }

    #[test]
    fn a_pair_that_failed_in_a_block_is_no_test_alone_and_shifts_no_block() {
        let tests = run(true);
        let mut tests: Vec<TestResult> = tests.iter().filter_map(Test::measured).cloned().collect();
        for (block, tests) in (1..).zip(tests.chunks_mut(4)) {
            tests.iter_mut().for_each(|test| test.block = Some(block));
        }
        let failed = Reason::new(Status::Invalid, ReasonCode::Failed, "");
        tests[2].verdict = Verdict::from_reasons(vec![failed]);
        tests[2].chosen.insert(BESIDE.into(), "B".into());
        tests[2].beside = None;
        let tests: Vec<Test> = tests.into_iter().map(Test::from).collect();
        let found = interference(&tests).remove(0);
        assert_eq!((found.alone[0].blocks, found.alone[0].verdict), (6, Status::Valid));
        let pair = found.pairs.iter().find(|pair| (pair.a, pair.b) == (0, 1)).unwrap();
        assert_eq!((pair.blocks, pair.left_out), (5, 1));
        assert!(pair.conditions.iter().any(|counted| counted.code == ReasonCode::Failed));
        assert!((pair.median_factor.unwrap() - 1.5).abs() < 1e-9, "{pair:?}");
    }

    #[test]
    fn a_pair_that_failed_in_every_block_is_there_without_a_factor() {
        let failed = |test: &TestResult| {
            let mut test = test.clone();
            if let Some(beside) = test.beside.take() {
                let reason = Reason::new(Status::Invalid, ReasonCode::Failed, "");
                test.verdict = Verdict::from_reasons(vec![reason]);
                test.chosen.insert(BESIDE.into(), beside.part.workload);
                test.chosen.insert(BESIDE_JOBS.into(), "1".into());
            }
            Test::from(test)
        };
        let tests: Vec<Test> = run(true).iter().filter_map(Test::measured).map(failed).collect();
        let found = interference(&tests).remove(0);
        let told = |pair: &Pair| (pair.a, pair.b, pair.factor, pair.blocks, pair.left_out);
        let pairs: Vec<_> = found.pairs.iter().map(told).collect();
        assert_eq!(pairs, [(0, 0, None, 0, 6), (0, 1, None, 0, 6)]);
        assert!(found.pairs.iter().all(|pair| pair.verdict == Status::Invalid));
    }

    #[test]
    fn a_background_of_another_number_of_jobs_is_not_compared_with_itself_alone() {
        let with_jobs = |tests: Vec<Test>, jobs: u32| -> Vec<Test> {
            let changed = |test: &TestResult| {
                let mut test = test.clone();
                if let Some(beside) = &mut test.beside {
                    beside.part.jobs = jobs;
                }
                Test::from(test)
            };
            tests.iter().filter_map(Test::measured).map(changed).collect()
        };
        assert!(interference(&with_jobs(run(true), 3)).is_empty());
        let mut tests = run(true);
        tests.extend(with_jobs(run(true), 3));
        let found = interference(&tests);
        assert_eq!(found.len(), 1);
        let factor = found[0].pairs.iter().find(|pair| (pair.a, pair.b) == (0, 1)).unwrap();
        assert_eq!(factor.blocks, 6, "only those with as many jobs: {factor:?}");
    }

    #[test]
    fn a_background_that_was_not_there_all_the_time_has_no_rate() {
        let found = interference(&run(false));
        assert!(found[0].pairs.iter().all(|pair| pair.factor.is_none() && pair.blocks == 0));
        assert_eq!(
            crate::analysis::study::too_few(0).to_string(),
            "0 of the 6 blocks that are needed can be used"
        );
    }
}
