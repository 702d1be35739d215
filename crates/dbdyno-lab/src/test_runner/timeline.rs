//! Ops of all jobs of a test over time, in points (see [`POINTS_PER_S`]).

use serde::{Deserialize, Serialize};

use dbdyno_core::stats::sequence::POINTS_PER_S;

/// Largest count of one job that is believed: those of a hundred thousand jobs have a sum.
pub(super) const MAX_COUNT: u64 = 1 << 47;

/// A slice that ends so little before a point does ends with it.
pub(super) const EDGE_S: f64 = 1e-3;

/// Ops of each part and failed ops over time, of all jobs together, in points (see
/// [`POINTS_PER_S`]) since the gate: as long as the test, however many jobs it has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Ops per point, by part.
    pub ops: Vec<Vec<f64>>,
    /// Failed ops per point.
    pub errors: Vec<u64>,
    /// Ops of an open loop that were due and not started at the end of each point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<f64>,
    /// End of the last slice: the last point ends then.
    pub end_s: f64,
}

/// A job's work from one moment to another.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stretch {
    /// Part of the workload that it runs.
    pub part: usize,
    /// Begin, in s since the gate.
    pub start_s: f64,
    /// End, in s since the gate.
    pub end_s: f64,
    /// Ops done.
    pub ops: f64,
    /// Failed ops.
    pub errors: u64,
}

impl Timeline {
    /// Adds the ops of a stretch, spread evenly over its time, and the failed ones to the point in
    /// which its last half second began.
    pub fn add(&mut self, stretch: Stretch) {
        let Stretch { part, start_s, end_s, ops, errors } = stretch;
        if self.ops.len() <= part {
            self.ops.resize_with(part + 1, Vec::new);
        }
        spread(&mut self.ops[part], start_s, end_s, ops);
        if errors > 0 {
            let at = (middle_s(start_s, end_s) * POINTS_PER_S as f64) as usize;
            if self.errors.len() <= at {
                self.errors.resize(at + 1, 0);
            }
            self.errors[at] += errors;
        }
        self.end_s = self.end_s.max(end_s);
    }

    /// Adds the ops that a job had before it from one moment to another, evenly more or fewer in
    /// between.
    pub(super) fn add_behind(&mut self, from: Waiting, to: Waiting) {
        let per_s = (to.ops - from.ops) / (to.at_s - from.at_s).max(1e-9);
        let [first, end] =
            [from.at_s, to.at_s].map(|at_s| (at_s * POINTS_PER_S as f64 + EDGE_S) as usize);
        if self.behind.len() < end {
            self.behind.resize(end, 0.0);
        }
        for (at, behind) in self.behind.iter_mut().enumerate().take(end).skip(first) {
            let into_s = (at + 1) as f64 / POINTS_PER_S as f64 - from.at_s;
            *behind += (from.ops + per_s * into_s).max(0.0);
        }
    }

    /// Adds the points of another timeline, moved by this many seconds.
    pub fn merge(&mut self, other: &Timeline, by_s: f64) {
        for (part, ops) in other.ops.iter().enumerate() {
            for (at, ops) in ops.iter().enumerate().filter(|(_, ops)| **ops > 0.0) {
                let (from_s, to_s) = other.span_s(at);
                let (start_s, end_s) = (from_s + by_s, to_s + by_s);
                self.add(Stretch { part, start_s, end_s, ops: *ops, errors: 0 });
            }
        }
        for (at, errors) in other.errors.iter().enumerate().filter(|(_, errors)| **errors > 0) {
            let (from_s, to_s) = other.span_s(at);
            let middle_s = (from_s + to_s) / 2.0 + by_s;
            let failed = Stretch { start_s: middle_s, end_s: middle_s, ..Stretch::default() };
            self.add(Stretch { errors: *errors, ..failed });
        }
        for edge in 0..other.behind.len() {
            let [from, to] = [edge, edge + 1].map(|edge| other.waiting(edge).later_by(by_s));
            self.add_behind(from, to);
        }
    }

    /// Ops that waited at an edge between points: at the start of all none.
    fn waiting(&self, edge: usize) -> Waiting {
        let ops = edge.checked_sub(1).and_then(|at| self.behind.get(at)).copied();
        Waiting { at_s: edge as f64 / POINTS_PER_S as f64, ops: ops.unwrap_or_default() }
    }

    /// Begin and end of a point.
    pub fn span_s(&self, at: usize) -> (f64, f64) {
        let [from_s, to_s] = [at, at + 1].map(|at| at as f64 / POINTS_PER_S as f64);
        (from_s, if self.end_s > from_s { to_s.min(self.end_s) } else { to_s })
    }

    /// True if so many parts can have worked so within this many seconds.
    pub(super) fn fits(&self, parts: usize, within_s: f64) -> bool {
        let points = most_points(within_s);
        self.ops.len() <= parts
            && self.ops.iter().all(|ops| ops.len() <= points)
            && self.errors.len().max(self.behind.len()) <= points
            && self.errors.iter().all(|count| *count <= MAX_COUNT)
            && (0.0..=within_s).contains(&self.end_s)
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.ops.iter().map(Vec::len).max().unwrap_or(0).max(self.errors.len())
    }

    /// True if no job did anything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ops of all parts in a point.
    fn all(&self, at: usize) -> f64 {
        self.ops.iter().filter_map(|ops| ops.get(at)).sum()
    }

    /// Ops of all parts per point from `open_s` to `close_s`.
    pub fn points(&self, open_s: f64, close_s: f64) -> Vec<f64> {
        let [from, to] =
            [open_s, close_s].map(|at_s| ((at_s + EDGE_S) * POINTS_PER_S as f64) as usize);
        (from..to.min(self.len())).map(|at| self.all(at)).collect()
    }

    /// Ops of all parts from one moment to another; those of a point are spread evenly over it.
    pub fn ops_between(&self, from_s: f64, to_s: f64) -> f64 {
        let inside = |at: usize| {
            let (start_s, end_s) = self.span_s(at);
            let overlap_s = (to_s.min(end_s) - from_s.max(start_s)).max(0.0);
            self.all(at) * overlap_s / (end_s - start_s).max(1e-9)
        };
        (0..self.len()).map(inside).sum()
    }

    /// Ops of all parts in each of the first `seconds` seconds.
    pub fn by_second(&self, seconds: usize) -> Vec<f64> {
        let second = |second: usize| {
            (second * POINTS_PER_S..(second + 1) * POINTS_PER_S).map(|at| self.all(at)).sum()
        };
        (0..seconds).map(second).collect()
    }
}

/// Ops that waited before a job at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Waiting {
    pub at_s: f64,
    pub ops: f64,
}

impl Waiting {
    fn later_by(self, by_s: f64) -> Waiting {
        Waiting { at_s: self.at_s + by_s, ..self }
    }
}

/// Number of points that this many seconds have at most.
pub(super) fn most_points(within_s: f64) -> usize {
    (within_s * POINTS_PER_S as f64) as usize + 1
}

/// The moment that stands for a slice: its last half second began then.
pub(super) fn middle_s(start_s: f64, end_s: f64) -> f64 {
    (end_s - ((end_s - start_s) / 2.0).min(0.5)).max(0.0)
}

/// Adds ops to the points from one moment to another, evenly over that time.
pub(super) fn spread(points: &mut Vec<f64>, start_s: f64, end_s: f64, ops: f64) {
    let [from, to] = [start_s, end_s].map(|at_s| at_s.max(0.0) * POINTS_PER_S as f64);
    let length = (to - from).max(1e-9);
    if points.len() <= to as usize {
        points.resize(to as usize + 1, 0.0);
    }
    for (at, point) in points.iter_mut().enumerate().take(to as usize + 1).skip(from as usize) {
        let overlap = to.min(at as f64 + 1.0) - from.max(at as f64);
        *point += ops * overlap.max(0.0) / length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_a_timeline_are_those_between_the_edges() {
        let mut timeline = Timeline::default();
        for (part, [start_s, end_s], ops, errors) in
            [(0, [0.0, 0.5], 20.0, 0), (0, [0.5, 1.0], 40.0, 3), (1, [0.25, 1.25], 4.0, 0)]
        {
            timeline.add(Stretch { part, start_s, end_s, ops, errors });
        }
        assert_eq!(timeline.points(0.25, 1.0), [11.0, 21.0, 21.0]);
        assert_eq!((timeline.by_second(2), &timeline.errors), (vec![63.0, 1.0], &vec![0, 0, 0, 3]));
        let mut later = Timeline::default();
        later.merge(&timeline, 1.0);
        assert_eq!(later.points(1.25, 2.0), [11.0, 21.0, 21.0]);
        assert_eq!((later.errors.iter().sum::<u64>(), later.end_s), (3, 2.25));
    }

    #[test]
    fn the_last_point_ends_with_the_last_slice() {
        let mut timeline = Timeline::default();
        timeline.add(Stretch { end_s: 0.26, ops: 26.0, ..Stretch::default() });
        assert_eq!((timeline.span_s(0), timeline.span_s(1)), ((0.0, 0.25), (0.25, 0.26)));
    }
}
