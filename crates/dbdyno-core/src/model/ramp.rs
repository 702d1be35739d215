//! The ramp: the numbers of jobs that a workload is measured with, as a user writes them and as
//! they are run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::quote;

/// More jobs than this are a typing error.
const MAX_JOBS: u32 = 10_000;
/// Forms of a ramp, for errors.
pub const RAMP_FORMS: &str = "write 1,2,4 or 1..8 or 1..auto or 1,2,cores or 32*nodes";

/// Sequence of the numbers of jobs of a selection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ramp {
    /// These numbers of jobs, in order.
    Fixed(Vec<u32>),
    /// Doubling from `from` until throughput gains less than 5 % twice in a row, at most `max`.
    Auto {
        /// Number of jobs of the first test.
        from: u32,
        /// Largest number of jobs.
        max: u32,
    },
}

impl Ramp {
    /// Most jobs that a step has; 0 without steps.
    pub fn most_jobs(&self) -> u32 {
        match self {
            Ramp::Fixed(numbers) => numbers.iter().copied().max().unwrap_or(0),
            Ramp::Auto { max, .. } => *max,
        }
    }

    /// The ramp of a mixed workload: every part gets the same number of jobs, so the numbers go up
    /// to multiples of `parts`.
    pub fn for_parts(self, parts: usize) -> Ramp {
        let step = u32::try_from(parts).unwrap_or(1).max(1);
        let up = |jobs: u32| jobs.next_multiple_of(step);
        match self {
            Ramp::Fixed(numbers) if step == 1 => Ramp::Fixed(numbers),
            Ramp::Fixed(numbers) => Ramp::Fixed(each_once(numbers.into_iter().map(up).collect())),
            Ramp::Auto { from, max } => Ramp::Auto { from: up(from), max: up(max) },
        }
    }

    /// The ramp with at most `limit` jobs. Jobs of a mixed workload stay multiples of its `parts`.
    pub fn up_to(&self, limit: u32, parts: usize) -> LimitedRamp {
        match self {
            Ramp::Fixed(numbers) => {
                let (fits, dropped) = numbers.iter().copied().partition(|jobs| *jobs <= limit);
                LimitedRamp { ramp: Ramp::Fixed(fits), dropped }
            }
            Ramp::Auto { from, max } => {
                let limit = limit - limit % u32::try_from(parts).unwrap_or(1).max(1);
                let max = limit.min(*max);
                match *from <= limit {
                    true => {
                        LimitedRamp { ramp: Ramp::Auto { from: *from, max }, dropped: Vec::new() }
                    }
                    false => LimitedRamp { ramp: Ramp::Fixed(Vec::new()), dropped: vec![*from] },
                }
            }
        }
    }
}

/// A ramp up to a maximum number of jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitedRamp {
    /// Part of the ramp that needs no more jobs than the maximum.
    pub ramp: Ramp,
    /// Steps that need more.
    pub dropped: Vec<u32>,
}

/// A ramp as it is written on the command line and in suites, where the numbers of processors and
/// nodes may still be open: `1,2,4` (`1,1,2` runs twice with one job), `1..8` (doubling),
/// `1..auto`, `cores`, `2*cores`, `32*nodes` (32 jobs on each node of a cluster, as in published
/// figures), or a list of numbers that may contain the latter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AskedRamp {
    /// These numbers of jobs, in order.
    List(Vec<Jobs>),
    /// Doubling from the first number to the second.
    Doubling(Jobs, Jobs),
    /// Doubling from this number until throughput stops growing.
    Auto(Jobs),
}

/// A number of jobs as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jobs {
    /// This number of jobs.
    Number(u32),
    /// This many jobs for each CPU.
    PerCore(u32),
    /// This many jobs for each node of a cluster that jobs are placed on.
    PerNode(u32),
}

/// Things that the numbers of a ramp count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Processors of the target's host.
    pub cores: u32,
    /// Nodes that the target names; 1 without a cluster.
    pub nodes: u32,
}

impl Default for AskedRamp {
    /// `1..auto`: if neither the user nor a suite gives a ramp.
    fn default() -> Self {
        AskedRamp::Auto(Jobs::Number(1))
    }
}

impl AskedRamp {
    /// Ramp with a single test, with this many jobs.
    pub fn single(jobs: u32) -> Self {
        AskedRamp::List(vec![Jobs::Number(jobs)])
    }

    /// The ramp on a target with these numbers of CPUs and nodes.
    ///
    /// # Errors
    /// Numbers that are impossible: a range that runs backwards, too many jobs.
    pub fn on(&self, scale: Scale) -> Result<Ramp, String> {
        match self {
            AskedRamp::Auto(from) => Ok(auto(from.on(scale)?, scale.cores)),
            AskedRamp::Doubling(from, to) => doubling(from.on(scale)?, to.on(scale)?),
            AskedRamp::List(list) => {
                let numbers = list.iter().map(|jobs| Ok((*jobs, jobs.on(scale)?)));
                Ok(Ramp::Fixed(with_repetitions(&numbers.collect::<Result<Vec<_>, String>>()?)))
            }
        }
    }

    fn is_open(&self) -> bool {
        match self {
            AskedRamp::Auto(from) => from.is_open(),
            AskedRamp::Doubling(from, to) => from.is_open() || to.is_open(),
            AskedRamp::List(list) => list.iter().any(Jobs::is_open),
        }
    }
}

/// Ramp that stops when throughput no longer grows, at 8 jobs per core or 16 jobs at most,
/// whichever is more.
fn auto(from: u32, cores: u32) -> Ramp {
    Ramp::Auto { from, max: cores.saturating_mul(8).clamp(16, MAX_JOBS).max(from) }
}

fn doubling(from: u32, to: u32) -> Result<Ramp, String> {
    if from > to {
        return Err(format!("{from}..{to} runs backwards"));
    }
    let powers =
        std::iter::successors(Some(from), |jobs| jobs.checked_mul(2)).take_while(|jobs| *jobs < to);
    Ok(Ramp::Fixed(powers.chain([to]).collect()))
}

/// A number that is written twice runs twice; one that only follows from the number of cores or
/// nodes does not.
fn with_repetitions(items: &[(Jobs, u32)]) -> Vec<u32> {
    let again = |at: usize| {
        let (written, jobs) = items[at];
        let same =
            |other: &(Jobs, u32)| other.1 == jobs && (written.is_open() || other.0.is_open());
        items[..at].iter().any(same)
    };
    (0..items.len()).filter(|at| !again(*at)).map(|at| items[at].1).collect()
}

fn each_once(numbers: Vec<u32>) -> Vec<u32> {
    let mut once = Vec::new();
    for number in numbers {
        if !once.contains(&number) {
            once.push(number);
        }
    }
    once
}

impl FromStr for AskedRamp {
    type Err = String;

    /// Reads a ramp.
    ///
    /// # Errors
    /// 0, more than 10,000, a range that runs backwards, anything else that is not a valid number
    /// of jobs.
    fn from_str(text: &str) -> Result<Self, String> {
        let read = || -> Result<Self, String> {
            let ramp = match text.split_once("..") {
                Some((from, "auto")) => AskedRamp::Auto(from.parse()?),
                Some((from, to)) => AskedRamp::Doubling(from.parse()?, to.parse()?),
                None => {
                    AskedRamp::List(text.split(',').map(str::parse).collect::<Result<_, String>>()?)
                }
            };
            // A ramp that does not depend on the numbers of CPUs and nodes is checked here already.
            if ramp.is_open() { Ok(ramp) } else { ramp.on(Scale::ONE).map(|_| ramp) }
        };
        read().map_err(|what: String| format!("{what}; {RAMP_FORMS}"))
    }
}

impl TryFrom<String> for AskedRamp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<AskedRamp> for String {
    fn from(ramp: AskedRamp) -> String {
        ramp.to_string()
    }
}

impl fmt::Display for AskedRamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskedRamp::Auto(from) => write!(f, "{from}..auto"),
            AskedRamp::Doubling(from, to) => write!(f, "{from}..{to}"),
            AskedRamp::List(list) => {
                f.write_str(&list.iter().map(Jobs::to_string).collect::<Vec<_>>().join(","))
            }
        }
    }
}

impl Scale {
    const ONE: Scale = Scale { cores: 1, nodes: 1 };
}

impl Jobs {
    fn is_open(&self) -> bool {
        matches!(self, Jobs::PerCore(_) | Jobs::PerNode(_))
    }

    fn on(self, scale: Scale) -> Result<u32, String> {
        let jobs = match self {
            Jobs::Number(jobs) => jobs,
            Jobs::PerCore(factor) => factor.saturating_mul(scale.cores),
            Jobs::PerNode(factor) => factor.saturating_mul(scale.nodes),
        };
        match (1..=MAX_JOBS).contains(&jobs) {
            true => Ok(jobs),
            false => Err(format!("{jobs} is not between 1 and {MAX_JOBS}")),
        }
    }
}

impl FromStr for Jobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let times = |word: &str| match text.strip_suffix(word)? {
            "" => Some(1),
            head => head.strip_suffix('*')?.trim().parse().ok(),
        };
        let jobs = times("cores").map(Jobs::PerCore).or_else(|| times("nodes").map(Jobs::PerNode));
        let jobs = jobs.or_else(|| text.parse().ok().map(Jobs::Number));
        let jobs = jobs.ok_or_else(|| format!("{} is not a valid number of jobs", quote(text)))?;
        jobs.on(Scale::ONE).map(|_| jobs)
    }
}

impl fmt::Display for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Jobs::Number(jobs) => write!(f, "{jobs}"),
            Jobs::PerCore(1) => f.write_str("cores"),
            Jobs::PerCore(factor) => write!(f, "{factor}*cores"),
            Jobs::PerNode(1) => f.write_str("nodes"),
            Jobs::PerNode(factor) => write!(f, "{factor}*nodes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(cores: u32) -> Scale {
        Scale { cores, nodes: 1 }
    }

    #[test]
    fn jobs_per_node_are_those_of_the_published_figures() {
        // peakmarks' cluster: 32 jobs on 1 node, 64 on 2, 128 on 4.
        let ramp: AskedRamp = "32*nodes".parse().unwrap();
        for (nodes, jobs) in [(1, 32), (2, 64), (4, 128)] {
            assert_eq!(ramp.on(Scale { cores: 8, nodes }), Ok(Ramp::Fixed(vec![jobs])));
        }
        let mixed: AskedRamp = "1,nodes,2*nodes,cores".parse().unwrap();
        assert_eq!(mixed.on(Scale { cores: 4, nodes: 2 }), Ok(Ramp::Fixed(vec![1, 2, 4])));
        assert_eq!(mixed.to_string(), "1,nodes,2*nodes,cores");
    }

    fn on_six(text: &str) -> Ramp {
        text.parse::<AskedRamp>().unwrap().on(cores(6)).unwrap()
    }

    fn fixed(text: &str) -> Vec<u32> {
        match on_six(text) {
            Ramp::Fixed(numbers) => numbers,
            Ramp::Auto { .. } => panic!("{text} is a list"),
        }
    }

    #[test]
    fn lists_ranges_and_cores() {
        assert_eq!(fixed("1,2,4"), [1, 2, 4]);
        assert_eq!(fixed("1..8"), [1, 2, 4, 8]);
        assert_eq!(fixed("1..6"), [1, 2, 4, 6]);
        assert_eq!(fixed("3..3"), [3]);
        assert_eq!(fixed("1, 2, cores, 2*cores"), [1, 2, 6, 12]);
        assert_eq!(fixed("1,6,cores"), [1, 6]);
        assert_eq!(fixed("1,cores,6"), [1, 6]);
        assert_eq!(fixed("1,1,2,4,8"), [1, 1, 2, 4, 8], "as the load tests of a published suite");
        assert_eq!(fixed("1..2*cores"), [1, 2, 4, 8, 12]);
        assert_eq!(on_six("2..auto"), Ramp::Auto { from: 2, max: 48 });
        assert_eq!(AskedRamp::default().on(Scale::ONE).unwrap(), Ramp::Auto { from: 1, max: 16 });
    }

    #[test]
    fn a_ramp_is_shown_as_it_is_written() {
        for text in ["1,2,4", "1..8", "2..auto", "1,cores,2*cores", "1..cores"] {
            assert_eq!(text.parse::<AskedRamp>().unwrap().to_string(), text);
        }
        assert_eq!(AskedRamp::single(3).to_string(), "3");
    }

    #[test]
    fn zero_and_junk_are_refused_in_one_line() {
        for text in [
            "0", "1,0", "x", "", "1,,2", "-1", "8..1", "1..", "auto", "10001", "1.5", "2cores",
            "0*cores", "cores*2", "*cores", "*nodes", "1..2..3",
        ] {
            let error = text.parse::<AskedRamp>().unwrap_err();
            assert!(error.ends_with(RAMP_FORMS) && error.lines().count() == 1, "{text}: {error}");
        }
    }

    #[test]
    fn what_depends_on_the_processors_is_refused_where_they_are_known() {
        let ramp: AskedRamp = "8..cores".parse().unwrap();
        assert_eq!(ramp.on(cores(4)).unwrap_err(), "8..4 runs backwards");
        assert_eq!(ramp.on(cores(8)), Ok(Ramp::Fixed(vec![8])));
        assert!(
            "5000*cores"
                .parse::<AskedRamp>()
                .unwrap()
                .on(cores(4))
                .unwrap_err()
                .starts_with("20000 is not between")
        );
    }

    #[test]
    fn mixed_workloads_need_multiples_of_their_parts() {
        assert_eq!(Ramp::Fixed(vec![1, 2, 4, 6]).for_parts(4), Ramp::Fixed(vec![4, 8]));
        assert_eq!(Ramp::Auto { from: 1, max: 16 }.for_parts(3), Ramp::Auto { from: 3, max: 18 });
        assert_eq!(Ramp::Fixed(vec![1, 2]).for_parts(1), Ramp::Fixed(vec![1, 2]));
        assert_eq!(
            Ramp::Auto { from: 2, max: 32 }.up_to(7, 2),
            LimitedRamp { ramp: Ramp::Auto { from: 2, max: 6 }, dropped: vec![] }
        );
        assert_eq!(
            Ramp::Auto { from: 2, max: 32 }.up_to(1, 2),
            LimitedRamp { ramp: Ramp::Fixed(vec![]), dropped: vec![2] }
        );
    }
}
