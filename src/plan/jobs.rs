//! The ramp: numbers of jobs as a user writes them.

use crate::error::{Error, Result};
use crate::model::{Ramp, Selection};

/// More jobs than this are a typing error.
const MOST_JOBS: u32 = 10_000;

/// Reads `1,2,4` (`1,1,2` runs twice with one job), `1..8` (doubling), `1..auto`, `cores`, `2*cores`, or a list of the first kind with the latter in it.
///
/// # Errors
/// 0, more than 10,000, a range that runs backwards, anything else that is no number of jobs.
pub fn parse(text: &str, cores: u32) -> Result<Ramp> {
    match text.split_once("..") {
        Some((from, "auto")) => Ok(auto(number(text, from, cores)?, cores)),
        Some((from, to)) => doubling(text, number(text, from, cores)?, number(text, to, cores)?),
        None => {
            let numbers = text.split(',').map(|item| Ok((item, number(text, item, cores)?)));
            Ok(Ramp::Fixed(with_repetitions(&numbers.collect::<Result<Vec<_>>>()?)))
        }
    }
}

/// Stops by itself when throughput no longer grows; 8 jobs per core, at least 16, are the most.
fn auto(from: u32, cores: u32) -> Ramp {
    Ramp::Auto { from, max: cores.saturating_mul(8).clamp(16, MOST_JOBS).max(from) }
}

fn doubling(text: &str, from: u32, to: u32) -> Result<Ramp> {
    if from > to {
        return Err(bad(text, format!("{from}..{to} runs backwards")));
    }
    let powers = std::iter::successors(Some(from), |jobs| jobs.checked_mul(2)).take_while(|jobs| *jobs < to);
    Ok(Ramp::Fixed(powers.chain([to]).collect()))
}

fn number(text: &str, item: &str, cores: u32) -> Result<u32> {
    let item = item.trim();
    let factor = match item.strip_suffix("cores").map(|head| head.trim_end_matches('*')) {
        Some("") if !item.contains('*') => Some(1),
        Some(head) if item.contains('*') => head.trim().parse::<u32>().ok(),
        _ => None,
    };
    let jobs = match factor {
        Some(factor) => Some(factor.saturating_mul(cores)),
        None => item.parse().ok(),
    };
    match jobs {
        Some(jobs) if (1..=MOST_JOBS).contains(&jobs) => Ok(jobs),
        Some(jobs) => Err(bad(text, format!("{jobs} is not between 1 and {MOST_JOBS}"))),
        None => Err(bad(text, format!("'{item}' is no number of jobs"))),
    }
}

fn bad(text: &str, what: String) -> Error {
    Error::usage(format!("--jobs {text}"), what).advise("write 1,2,4 or 1..8 or 1..auto or 1,2,cores")
}

/// A number that is written twice runs twice; one that only follows from the number of cores does not.
fn with_repetitions(items: &[(&str, u32)]) -> Vec<u32> {
    let of_cores = |item: &str| item.contains("cores");
    let again = |at: usize| {
        let (item, jobs) = items[at];
        let same = |other: &(&str, u32)| other.1 == jobs && (of_cores(item) || of_cores(other.0));
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

/// The ramp of a mixed workload: every part gets the same number of jobs, so the numbers go up to multiples of `parts`.
pub(super) fn for_parts(ramp: Ramp, parts: usize) -> Ramp {
    let step = u32::try_from(parts).unwrap_or(1).max(1);
    let up = |jobs: u32| jobs.next_multiple_of(step);
    match ramp {
        Ramp::Fixed(numbers) if step == 1 => Ramp::Fixed(numbers),
        Ramp::Fixed(numbers) => Ramp::Fixed(each_once(numbers.into_iter().map(up).collect())),
        Ramp::Auto { from, max } => Ramp::Auto { from: up(from), max: up(max) },
    }
}

/// What to tell about the jobs of a mixed workload: they are multiples of its parts, whatever was asked for.
pub fn jobs_note(selection: &Selection) -> Option<String> {
    let parts = selection.parts.len();
    (parts > 1).then(|| format!("jobs are multiples of {parts}, an equal number for each part"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(text: &str) -> Vec<u32> {
        match parse(text, 6).unwrap() {
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
        assert_eq!(parse("2..auto", 6).unwrap(), Ramp::Auto { from: 2, max: 48 });
        assert_eq!(parse("1..auto", 1).unwrap(), Ramp::Auto { from: 1, max: 16 });
    }

    #[test]
    fn zero_and_junk_are_refused_in_one_line() {
        for text in
            ["0", "1,0", "x", "", "1,,2", "-1", "8..1", "1..", "auto", "10001", "1.5", "2cores", "0*cores", "cores*2"]
        {
            let error = parse(text, 4).unwrap_err().to_string();
            assert!(error.starts_with("--jobs"), "{text}: {error}");
        }
    }

    #[test]
    fn mixed_workloads_need_multiples_of_their_parts() {
        assert_eq!(for_parts(Ramp::Fixed(vec![1, 2, 4, 6]), 4), Ramp::Fixed(vec![4, 8]));
        assert_eq!(for_parts(Ramp::Auto { from: 1, max: 16 }, 3), Ramp::Auto { from: 3, max: 18 });
        assert_eq!(for_parts(Ramp::Fixed(vec![1, 2]), 1), Ramp::Fixed(vec![1, 2]));
    }
}
