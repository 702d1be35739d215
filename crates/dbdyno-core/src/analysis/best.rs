//! The best of several figures: one rule, by which every report names the same one.

use super::interval::{self, IntervalOrReason, UncertainValue, most_trusted};
use crate::model::{Better, Status};

/// A figure at a number of jobs, among which the best is looked for.
pub trait Candidate: Clone {
    /// Value of the figure.
    fn value(&self) -> f64;
    /// Number of jobs; absent if a publication does not print it.
    fn jobs(&self) -> Option<u32>;
    /// Verdict on the figure.
    fn status(&self) -> Status;
    /// Interval of the value, or the reason why it has none.
    fn interval(&self) -> IntervalOrReason;
    /// The value with its interval.
    fn uncertain_value(&self) -> UncertainValue {
        UncertainValue { value: self.value(), interval: self.interval() }
    }
}

/// The best of several figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Best<T> {
    /// The figure itself.
    pub figure: T,
    /// Factor by which the interval is wider in comparisons, because chance favored the best of
    /// several figures.
    pub favour: f64,
    /// Jobs of the best figure that is better and not valid, so that this one is a lower bound.
    pub passed_over: Option<u32>,
}

/// The best of the figures with the best verdict: a conditional one only if none is valid, an
/// invalid one only if all are. A better conditional one makes it a lower bound; invalid ones are
/// ignored. None if there are no figures.
pub fn select_best<T: Candidate>(figures: Vec<T>, better: Better) -> Option<Best<T>> {
    let trusted = most_trusted(figures.clone(), T::status);
    let best = foremost(&trusted, better)?.clone();
    let sound: Vec<T> =
        figures.into_iter().filter(|figure| figure.status() < Status::Invalid).collect();
    let passed_over = foremost(&sound, better)
        .filter(|most| better.beats(most.value(), best.value()))
        .and_then(T::jobs);
    let known = trusted.iter().map(T::uncertain_value);
    let favour = interval::favour(best.uncertain_value(), known);
    Some(Best { figure: best, favour, passed_over })
}

/// The figure with the best value, whatever its verdict; the first of equal ones.
fn foremost<T: Candidate>(figures: &[T], better: Better) -> Option<&T> {
    figures.iter().reduce(
        |best, next| {
            if better.beats(next.value(), best.value()) { next } else { best }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::interval::Unknown;

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct At {
        jobs: u32,
        value: f64,
        status: Status,
    }

    impl Candidate for At {
        fn value(&self) -> f64 {
            self.value
        }
        fn jobs(&self) -> Option<u32> {
            Some(self.jobs)
        }
        fn status(&self) -> Status {
            self.status
        }
        fn interval(&self) -> IntervalOrReason {
            Err(Unknown::ShortWindow)
        }
    }

    fn best_of(figures: &[(u32, f64, Status)], better: Better) -> Option<(u32, Option<u32>)> {
        let figures = figures.iter().map(|&(jobs, value, status)| At { jobs, value, status });
        let best = select_best(figures.collect(), better)?;
        Some((best.figure.jobs, best.passed_over))
    }

    #[test]
    fn a_valid_figure_is_the_best_and_a_lower_bound_beside_better_ones() {
        use Status::{Conditional, Invalid, Valid};
        let ramp = [(4, 100.0, Valid), (8, 120.0, Conditional), (16, 150.0, Conditional)];
        assert_eq!(best_of(&ramp, Better::Higher), Some((4, Some(16))), "the best that is better");
        assert_eq!(best_of(&ramp, Better::Lower), Some((4, None)));
        assert_eq!(best_of(&ramp[1..], Better::Higher), Some((16, None)));
        let others = [(1, 90.0, Valid), (2, 90.0, Valid), (4, 99.0, Invalid)];
        assert_eq!(best_of(&others, Better::Higher), Some((1, None)), "invalid ones say nothing");
        assert_eq!(best_of(&others[2..], Better::Higher), Some((4, None)));
        assert_eq!(best_of(&[], Better::Higher), None);
    }
}
