//! Due times of an open loop: at equal distances, or of a Poisson process; at one rate, or at one
//! that changes over time.
//!
//! At a rate r(t) times are drawn by time transformation: where the arrivals of a process of rate 1
//! are y_1 < y_2 < ..., those of rate r are R^-1(y_i), R the integral of r (E. Cinlar,
//! "Introduction to Stochastic Processes", 1975, 4.7; R. W. Klein, S. D. Roberts, "A time-varying
//! Poisson arrival process generator", Simulation 43, 1984, for rates in straight pieces). Nothing
//! is rejected, so that the same seed gives the same times; a rate in straight pieces takes one
//! square root to invert.

use super::keys::{KeyStream, MODULUS};

/// Sets the stream of due times apart from that of the keys of the same job.
const APART: u64 = 0x5EED_0FA8_8A17_A100;

/// A stretch of time in which a rate goes evenly from one value to another, in ops per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// Length of the stretch, in s.
    pub length_s: f64,
    /// Rate at its begin.
    pub from_per_s: f64,
    /// Rate at its end.
    pub to_per_s: f64,
}

/// A rate over time in straight pieces, in ops per second.
#[derive(Debug, Clone, PartialEq)]
pub struct RateCurve {
    pieces: Vec<Piece>,
}

/// A stretch that begins at `start_s`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    start_s: f64,
    stretch: Stretch,
    /// Ops that are due before it.
    before: f64,
}

impl RateCurve {
    /// The rate of stretches that follow one another; that at the end of the last one goes on.
    pub fn new(stretches: &[Stretch]) -> RateCurve {
        let last_per_s = stretches.last().map_or(0.0, |stretch| stretch.to_per_s);
        let rest =
            Stretch { length_s: f64::INFINITY, from_per_s: last_per_s, to_per_s: last_per_s };
        let (mut start_s, mut before) = (0.0, 0.0);
        let mut pieces = Vec::with_capacity(stretches.len() + 1);
        for stretch in stretches.iter().copied().chain([rest]) {
            pieces.push(Piece { start_s, stretch, before });
            start_s += stretch.length_s;
            before += stretch.length_s * (stretch.from_per_s + stretch.to_per_s) / 2.0;
        }
        RateCurve { pieces }
    }

    /// Ops that are due up to a moment: the integral of the rate.
    pub fn due_by(&self, t_s: f64) -> f64 {
        let after = self.pieces.partition_point(|piece| piece.start_s <= t_s);
        let Some(piece) = self.pieces[..after].last() else { return 0.0 };
        let into_s = t_s - piece.start_s;
        piece.before + into_s * (piece.stretch.from_per_s + 0.5 * piece.slope() * into_s)
    }

    /// Ops that are due from one moment to another.
    pub fn due_between(&self, from_s: f64, to_s: f64) -> f64 {
        self.due_by(to_s) - self.due_by(from_s)
    }

    /// The moment by which this many ops are due; infinite if they never are.
    pub fn time_of(&self, due: f64) -> f64 {
        let after = self.pieces.partition_point(|piece| piece.before <= due);
        let Some(piece) = self.pieces[..after].last() else { return 0.0 };
        let (rest, from_per_s) = (due - piece.before, piece.stretch.from_per_s);
        // Of slope/2 * t^2 + from * t = rest, in the form that a slope of 0 leaves exact.
        let root = (from_per_s.powi(2) + 2.0 * piece.slope() * rest).max(0.0).sqrt();
        let into_s = 2.0 * rest / (from_per_s + root);
        match rest > 0.0 {
            true => piece.start_s + into_s,
            // At the start of a stretch without load, too.
            false => piece.start_s,
        }
    }
}

impl Piece {
    /// Growth of the rate per second.
    fn slope(&self) -> f64 {
        let Stretch { length_s, from_per_s, to_per_s } = self.stretch;
        if length_s.is_finite() && length_s > 0.0 {
            (to_per_s - from_per_s) / length_s
        } else {
            0.0
        }
    }
}

/// A load over time of all jobs together, in s since the gate opened.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOverTime {
    /// Arrival rate over time.
    pub curve: RateCurve,
    /// Edges of its phases: one more than there are phases.
    pub edges_s: Vec<f64>,
}

impl LoadOverTime {
    /// Index of the phase in which a moment lies; none before the first and after the last.
    pub fn phase_at(&self, t_s: f64) -> Option<usize> {
        let after = self.edges_s.partition_point(|edge_s| *edge_s <= t_s);
        (after > 0 && after < self.edges_s.len()).then(|| after - 1)
    }
}

/// Ops that were due and not started, by time.
#[derive(Debug, Clone, PartialEq)]
pub struct Backlog<'a> {
    /// Distance between the moments at which it is known.
    pub step_s: f64,
    /// Number of waiting ops at `step_s`, 2 `step_s`, ... since the gate opened.
    pub waiting: &'a [f64],
}

impl Backlog<'_> {
    /// Ops that waited at a moment: at the first one after it at which that is known.
    pub fn at(&self, t_s: f64) -> f64 {
        let known = self.waiting.get(self.index(t_s)).or(self.waiting.last());
        known.copied().unwrap_or(0.0)
    }

    /// Seconds from a moment until the jobs had caught up: until no more ops waited than there are
    /// jobs, each of which may have one before it, or than are due within a step. None if that was
    /// not seen by `end_s`.
    pub fn recovery_s(&self, curve: &RateCurve, jobs: u32, from_s: f64, end_s: f64) -> Option<f64> {
        let moment_s = |index: usize| (index + 1) as f64 * self.step_s;
        // The last moment at which it is known may be just before the end.
        let first = self.index(from_s).min(self.waiting.len().saturating_sub(1));
        let known = self.waiting.iter().enumerate().skip(first);
        let caught_up = |at_s: f64, waiting: f64| {
            let soon = curve.due_between(at_s, at_s + self.step_s);
            waiting <= soon.max(f64::from(jobs))
        };
        let mut known = known
            .map(|(index, waiting)| (moment_s(index), *waiting))
            .take_while(|(at_s, _)| *at_s < end_s + self.step_s);
        let (at_s, _) = known.find(|(at_s, waiting)| caught_up(*at_s, *waiting))?;
        // Found at the first look: it never was behind.
        Some(if at_s - from_s < self.step_s { 0.0 } else { at_s - from_s })
    }

    /// The first moment that is not before this one.
    fn index(&self, t_s: f64) -> usize {
        ((t_s / self.step_s - 1e-6).ceil() as usize).saturating_sub(1)
    }
}

/// The due times of one job, in ns since the gate opened.
#[derive(Debug, Clone)]
pub struct DueTimes {
    /// State of a rate that changes; times are then counted in ops of it.
    changing: Option<Changing>,
    mean_ns: f64,
    /// Distances are drawn from it; none = equal ones.
    draws: Option<KeyStream>,
    next_ns: f64,
    /// Think time drawn since the last request, in ns, for users who think: the next op is due this
    /// long after the last one ended.
    thought_ns: Option<f64>,
}

/// A rate that changes, of all jobs together, and one job's share of it.
#[derive(Debug, Clone)]
struct Changing {
    load: LoadOverTime,
    share: f64,
}

impl DueTimes {
    /// Times at equal distances: `per_s` ops per second for each of `jobs` jobs, those of `job`
    /// (from 1) shifted by its share.
    pub fn uniform(per_s: f64, job: u32, jobs: u32) -> DueTimes {
        let mean_ns = 1e9 / per_s;
        let next_ns = mean_ns * f64::from(job - 1) / f64::from(jobs);
        DueTimes { changing: None, mean_ns, draws: None, next_ns, thought_ns: None }
    }

    /// The same process at a rate that changes, of which this job has a share: ops that are due
    /// after n seconds at a rate of one per second are due when n ops of the job are.
    pub fn along(self, load: LoadOverTime, share: f64) -> DueTimes {
        DueTimes { changing: Some(Changing { load, share }), ..self }
    }

    /// A Poisson process of `per_s` ops per second of this job, drawn from the run's seed.
    pub fn poisson(per_s: f64, seed: u64, job: u32) -> DueTimes {
        let draws = Some(KeyStream::for_job(seed ^ APART, job));
        let mean_ns = 1e9 / per_s;
        let mut times = DueTimes { changing: None, mean_ns, draws, next_ns: 0.0, thought_ns: None };
        times.advance();
        times
    }

    /// Times of a user who thinks before each op; think times have an exponential distribution with
    /// this mean.
    pub fn thinking(mean_s: f64, seed: u64, job: u32) -> DueTimes {
        let times = DueTimes::poisson(1.0 / mean_s, seed, job);
        DueTimes { thought_ns: Some(times.next_ns), ..times }
    }

    /// Seconds that were thought since the last time this was asked, as they were drawn; 0 of those
    /// who do not think.
    pub fn take_thought_s(&mut self) -> f64 {
        self.thought_ns.as_mut().map_or(0.0, |thought_ns| std::mem::take(thought_ns) / 1e9)
    }

    /// True for a closed loop: an op that is due waits for nothing but its user.
    pub fn thinks(&self) -> bool {
        self.thought_ns.is_some()
    }

    /// Time at which the next op is due.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        // An op that is never due is due after all others.
        match &self.changing {
            None => self.next_ns as u64,
            Some(Changing { load, share }) => {
                (1e9 * load.curve.time_of(self.next_ns / 1e9 / share)) as u64
            }
        }
    }

    /// The phase of a load over time in which an op was due; none outside of it.
    #[inline]
    pub fn phase(&self, due_ns: u64) -> Option<usize> {
        self.changing.as_ref()?.load.phase_at(due_ns as f64 / 1e9)
    }

    /// Number of phases of a load over time.
    pub fn phases(&self) -> usize {
        self.changing.as_ref().map_or(0, |changing| changing.load.edges_s.len().saturating_sub(1))
    }

    /// The next op is started.
    #[inline]
    pub fn advance(&mut self) {
        self.next_ns += self.distance_ns();
    }

    /// The op that was due has ended.
    #[inline]
    pub fn ended(&mut self, end_ns: u64) {
        let distance_ns = self.distance_ns();
        match &mut self.thought_ns {
            None => self.next_ns += distance_ns,
            Some(thought_ns) => {
                *thought_ns += distance_ns;
                self.next_ns = end_ns as f64 + distance_ns;
            }
        }
    }

    fn distance_ns(&mut self) -> f64 {
        let draws = self.draws.as_mut();
        self.mean_ns * draws.map_or(1.0, |draws| -(draws.step() as f64 / MODULUS as f64).ln())
    }

    /// Ops that are due by `now_ns` and not started: the expected number of them, since later
    /// distances are not drawn yet.
    pub fn behind(&self, now_ns: u64) -> f64 {
        let now_ns = match &self.changing {
            None => now_ns as f64,
            Some(Changing { load, share }) => 1e9 * share * load.curve.due_by(now_ns as f64 / 1e9),
        };
        let late_ns = now_ns - self.next_ns;
        if late_ns < 0.0 { 0.0 } else { 1.0 + late_ns / self.mean_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(mut times: DueTimes, count: usize) -> Vec<f64> {
        let mut next = || {
            let due_ns = times.next_ns();
            times.advance();
            due_ns as f64
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn uniform_jobs_take_turns() {
        assert_eq!(first(DueTimes::uniform(1000.0, 1, 2), 3), [0.0, 1e6, 2e6]);
        assert_eq!(first(DueTimes::uniform(1000.0, 2, 2), 3), [0.5e6, 1.5e6, 2.5e6]);
    }

    #[test]
    fn poisson_distances_have_the_mean_and_the_spread_of_an_exponential_distribution() {
        let due = first(DueTimes::poisson(1000.0, 42, 1), 100_000);
        let distances: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        // P(distance > mean) = 1/e, P(distance > 3 means) = 1/e^3.
        for (means, expected) in [(1.0, 0.36788), (3.0, 0.04979)] {
            let longer = distances.iter().filter(|distance| **distance > means * 1e6).count();
            assert!((longer as f64 / 1e5 - expected).abs() < 0.005, "{longer} over {means} means");
        }
    }

    fn stretch(length_s: f64, from_per_s: f64, to_per_s: f64) -> Stretch {
        Stretch { length_s, from_per_s, to_per_s }
    }

    /// Up from 0 to 1000/s in 4 s, 2 s there, a jump to 3000/s for 1 s, down to 500/s at once.
    fn stretches() -> [Stretch; 4] {
        [
            stretch(4.0, 0.0, 1000.0),
            stretch(2.0, 1000.0, 1000.0),
            stretch(1.0, 3000.0, 3000.0),
            stretch(1.0, 500.0, 500.0),
        ]
    }

    fn load() -> LoadOverTime {
        LoadOverTime { curve: RateCurve::new(&stretches()), edges_s: vec![0.0, 4.0, 6.0, 7.0, 8.0] }
    }

    #[test]
    fn a_curve_is_inverted() {
        let curve = load().curve;
        let due =
            [(0.0, 0.0), (2.0, 500.0), (4.0, 2000.0), (6.0, 4000.0), (7.0, 7000.0), (9.0, 8000.0)];
        for (t_s, due) in due {
            assert!((curve.due_by(t_s) - due).abs() < 1e-6, "{t_s}");
            assert!((curve.time_of(due) - t_s).abs() < 1e-9, "{due}");
        }
    }

    #[test]
    fn the_integral_is_that_of_the_rate_by_small_steps() {
        // The midpoint rule over the rate as it is defined; exact for straight pieces.
        let rate = |t_s: f64| {
            let mut start_s = 0.0;
            for Stretch { length_s, from_per_s, to_per_s } in stretches() {
                if t_s < start_s + length_s {
                    return from_per_s + (to_per_s - from_per_s) * (t_s - start_s) / length_s;
                }
                start_s += length_s;
            }
            500.0
        };
        let (curve, step_s) = (load().curve, 1e-3);
        let mut sum = 0.0;
        for step in 0..9_000_u32 {
            let t_s = f64::from(step) * step_s;
            assert!((curve.due_by(t_s) - sum).abs() < 1e-6 * (1.0 + sum), "{t_s}");
            sum += step_s * rate(t_s + step_s / 2.0);
        }
    }

    #[test]
    fn a_load_that_ends_at_nothing_is_never_due_again() {
        let curve = RateCurve::new(&[stretch(2.0, 100.0, 0.0), stretch(1.0, 0.0, 0.0)]);
        assert!((curve.time_of(99.0) - 1.8).abs() < 1e-9, "{}", curve.time_of(99.0));
        assert_eq!((curve.due_by(7.0), curve.time_of(101.0)), (100.0, f64::INFINITY));
        let load = LoadOverTime { curve, edges_s: vec![0.0, 2.0, 3.0] };
        let mut times = DueTimes::uniform(1.0, 1, 1).along(load, 1.0);
        (0..101).for_each(|_| times.advance());
        assert_eq!((times.next_ns(), times.behind(3_000_000_000)), (u64::MAX, 0.0));
    }

    #[test]
    fn counts_in_phases_are_those_of_a_poisson_process() {
        use statrs::distribution::{ChiSquared, ContinuousCDF};
        // Each second of each of 40 seeds, two jobs with a quarter and three quarters of the rate:
        // the squares of the differences over the expected counts are a chi-square.
        let (load, seeds) = (load(), 40_u32);
        let mut counts = [0_f64; 8];
        let mut squares = 0.0;
        for seed in 1..=seeds {
            let mut own = [0_f64; 8];
            for (job, share) in [(1, 0.25), (2, 0.75)] {
                let times = DueTimes::poisson(1.0, seed.into(), job).along(load.clone(), share);
                let due = first(times, 9_000);
                due.iter().filter(|ns| **ns < 8e9).for_each(|ns| own[(ns / 1e9) as usize] += 1.0);
            }
            for (second, count) in own.iter().enumerate() {
                let expected = load.curve.due_between(second as f64, second as f64 + 1.0);
                squares += (count - expected).powi(2) / expected;
                counts[second] += count;
            }
        }
        let below = ChiSquared::new(f64::from(seeds * 8)).unwrap().cdf(squares);
        assert!((0.001..0.999).contains(&below), "{squares}: {below}");
        // By phase, over all seeds: 2000, 2000, 3000 and 500 of each.
        let by_phase = [&counts[..4], &counts[4..6], &counts[6..7], &counts[7..]];
        for (counts, expected) in by_phase.iter().zip([2000.0, 2000.0, 3000.0, 500.0]) {
            let (sum, expected) = (counts.iter().sum::<f64>(), expected * f64::from(seeds));
            assert!((sum - expected).abs() < 4.0 * expected.sqrt(), "{sum}, {expected}");
        }
    }

    #[test]
    fn equal_distances_along_a_curve_are_equal_shares_of_its_integral() {
        let even = first(DueTimes::uniform(1.0, 1, 1).along(load(), 1.0), 2001);
        assert!((even[2000] - 4e9).abs() < 10.0 && (even[500] - 2e9).abs() < 10.0);
        let late = DueTimes::uniform(1.0, 1, 1).along(load(), 1.0);
        assert_eq!(late.behind(2_000_000_000), 501.0);
        let phases = [0, 3_999_999_999, 4_000_000_000, 7_999_999_999, 8_000_000_000];
        let phases = phases.map(|due_ns| late.phase(due_ns));
        assert_eq!(phases, [Some(0), Some(0), Some(1), Some(3), None]);
        assert_eq!(DueTimes::uniform(1.0, 1, 1).phase(5), None);
    }

    #[test]
    fn recovery_is_the_time_until_the_backlog_is_worked_off() {
        // 100/s; a spike left 300 ops at 2 s, of which 50 a step are worked off beyond what comes.
        let curve = RateCurve::new(&[stretch(10.0, 100.0, 100.0)]);
        let waiting: Vec<f64> = (0..40_u32)
            .map(|step| 300.0 - 50.0 * (f64::from(step + 1) - 8.0))
            .map(|waiting| if (0.0..=300.0).contains(&waiting) { waiting } else { 0.0 })
            .collect();
        let backlog = Backlog { step_s: 0.25, waiting: &waiting };
        assert_eq!((backlog.at(1.99), backlog.at(2.0), backlog.at(2.1)), (300.0, 300.0, 250.0));
        // 25 are due in a step: 0 wait at 3.5 s.
        assert_eq!(backlog.recovery_s(&curve, 1, 2.0, 10.0), Some(1.5));
        // Sixty jobs may each have one before them: 50 wait at 3.25 s.
        assert_eq!(backlog.recovery_s(&curve, 60, 2.0, 10.0), Some(1.25));
        assert_eq!(backlog.recovery_s(&curve, 1, 1.0, 10.0), Some(0.0), "never behind");
        assert_eq!(backlog.recovery_s(&curve, 1, 2.0, 3.0), None, "the test ended before");
        assert_eq!(backlog.recovery_s(&curve, 1, 10.1, 10.1), Some(0.0), "known a little before");
        let late = Backlog { step_s: 0.25, waiting: &waiting[..9] };
        assert_eq!(late.recovery_s(&curve, 1, 2.3, 2.3), None, "never known to have caught up");
    }

    #[test]
    fn who_thinks_begins_anew_when_an_op_has_ended() {
        let mut times = DueTimes::thinking(0.05, 42, 1);
        let first_ns = times.next_ns();
        let ends = (1..=20_000_u64).map(|op| op * 1_000_000_000);
        let mut thought_s = 0.0;
        for end_ns in ends {
            times.ended(end_ns);
            assert!(times.next_ns() > end_ns);
            thought_s += (times.next_ns() - end_ns) as f64 / 1e9;
        }
        assert!((thought_s / 20_000.0 / 0.05 - 1.0).abs() < 0.02, "{thought_s}");
        let drawn_s = times.take_thought_s();
        assert!((drawn_s - thought_s - first_ns as f64 / 1e9).abs() < 1e-3, "{drawn_s}");
        assert_eq!(times.take_thought_s(), 0.0);
    }

    #[test]
    fn who_is_late_is_behind_by_what_is_due() {
        let times = DueTimes::uniform(1000.0, 1, 1);
        assert_eq!((times.behind(0), times.behind(5_000_000)), (1.0, 6.0));
        let mut ahead = times.clone();
        ahead.advance();
        assert_eq!(ahead.behind(999_999), 0.0);
    }
}
