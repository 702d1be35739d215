//! Variance components of a repeated figure: what differs between windows, between server starts
//! and between loads of the data, beside what one window knows of itself. A nested analysis of
//! variance by the method of moments, which takes from the variance between groups what the levels
//! below explain (S. R. Searle, G. Casella, C. E. McCulloch, "Variance Components", chapter 3).

use std::f64::consts::FRAC_PI_2;

use crate::stats::summary::{mean, t95, variance};

/// Windows, starts or loads from which their spread gives an interval.
pub const MIN_GROUPS: usize = 3;

/// One window of a repeated test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Number of the load of the data in the run, and of the server's start.
    pub load: u32,
    /// Number of the server start in the run.
    pub start: u32,
    /// The figure.
    pub value: f64,
    /// Standard error as a fraction of the value, computed from the seconds of the window.
    pub within: Option<f64>,
}

/// Source of variation between repetitions, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Variation within a window, second by second.
    Within,
    /// Variation between windows of one server start.
    Windows,
    /// Variation between server starts on one load of the data.
    Starts,
    /// Variation between loads of the data.
    Loads,
}

impl Level {
    /// Every level, from the smallest to the largest.
    pub const ALL: [Level; 4] = [Level::Within, Level::Windows, Level::Starts, Level::Loads];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Level::Within => "within a window",
            Level::Windows => "between windows",
            Level::Starts => "between server starts",
            Level::Loads => "between loads",
        }
    }
}

/// The parts of the spread: standard deviations as fractions of the mean, in the order of
/// [`Level::ALL`]; absent where a level was not repeated. What a level below explains is taken off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Part of each level.
    pub parts: [Option<f64>; 4],
    /// Groups of the largest level that was repeated, and the standard error of the median, which
    /// is the figure of repetitions, as a fraction of it.
    pub groups: usize,
    /// Standard error of the median, as a fraction of it.
    pub error: f64,
    /// Half width, around the median, which is the figure of repetitions, of the range in which an
    /// equal further test falls in 19 of 20 cases: on a start and a load of its own if those were
    /// repeated. As a fraction; absent with fewer than three groups.
    pub next: Option<f64>,
}

impl Spread {
    /// The level that adds most; none if nothing spreads.
    pub fn largest(&self) -> Option<Level> {
        let known =
            Level::ALL.into_iter().zip(self.parts).filter_map(|(level, part)| Some((level, part?)));
        known
            .filter(|(_, part)| *part > 0.0)
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(level, _)| level)
    }
}

/// The spread of the windows of a test; absent with fewer than two of them or a mean of 0.
pub fn estimate(windows: &[Window]) -> Option<Spread> {
    let centre = mean(&values(windows)).filter(|mean| *mean != 0.0 && windows.len() > 1)?;
    let relative = |window: &Window| Window { value: window.value / centre, ..*window };
    let mut sorted: Vec<Window> = windows.iter().map(relative).collect();
    sorted.sort_by_key(|window| (window.load, window.start));
    let within = mean(&sorted.iter().filter_map(|w| Some(w.within?.powi(2))).collect::<Vec<_>>());
    let loads: Vec<Vec<Group>> = sorted.chunk_by(|a, b| a.load == b.load).map(starts).collect();
    let variances = Variances::from_loads(&loads);
    let own = variances.windows.map(|windows| (windows - within.unwrap_or(0.0)).max(0.0));
    let (top, beside) = variances.top(&loads);
    let parts = [within, own, variances.starts, variances.loads].map(|part| part.map(f64::sqrt));
    let spread = variance(&top)?;
    let groups = top.len() as f64;
    let next =
        || Some(t95(groups - 1.0)? * (spread * (1.0 + of_median(top.len())) + beside).sqrt());
    let is_enough = top.len() >= MIN_GROUPS;
    let next = if is_enough { next() } else { None };
    let error = (spread * of_median(top.len())).sqrt();
    Some(Spread { parts, groups: top.len(), error, next })
}

/// Squared error of the median of n normal values in units of their variance: pi / 2 of that of the
/// mean for many, less for few; within 2 % of what holds from 3 on. The lower of two in the middle
/// is as far off as the median of one value less.
fn of_median(n: usize) -> f64 {
    let odd = (n - usize::from(n.is_multiple_of(2))) as f64;
    FRAC_PI_2 / (odd + FRAC_PI_2 - 1.0)
}

fn values(windows: &[Window]) -> Vec<f64> {
    windows.iter().map(|window| window.value).collect()
}

/// The windows of one server start.
struct Group {
    values: Vec<f64>,
}

impl Group {
    fn mean(&self) -> f64 {
        mean(&self.values).unwrap_or(f64::NAN)
    }
    /// Share of the variance between windows that is left in the mean.
    fn share(&self) -> f64 {
        1.0 / self.values.len() as f64
    }
}

fn starts(load: &[Window]) -> Vec<Group> {
    load.chunk_by(|a, b| a.start == b.start).map(|start| Group { values: values(start) }).collect()
}

/// Variances that each level adds; that of windows includes the variance within them.
#[derive(Clone, Copy)]
struct Variances {
    windows: Option<f64>,
    starts: Option<f64>,
    loads: Option<f64>,
}

impl Variances {
    fn from_loads(loads: &[Vec<Group>]) -> Variances {
        let groups: Vec<&Group> = loads.iter().flatten().collect();
        let windows = pooled(groups.iter().map(|group| group.values.clone()));
        let below = windows.unwrap_or(0.0) * average(groups.iter().map(|group| group.share()));
        let starts = pooled(loads.iter().map(|load| means(load))).map(|all| (all - below).max(0.0));
        let of_load = |load: &Vec<Group>| {
            let shares: f64 = load
                .iter()
                .map(|group| starts.unwrap_or(0.0) + windows.unwrap_or(0.0) * group.share())
                .sum();
            shares / (load.len() as f64).powi(2)
        };
        let below = average(loads.iter().map(of_load));
        let loads = variance(&load_means(loads)).map(|all| (all - below).max(0.0));
        Variances { windows, starts, loads }
    }

    /// The means of the groups of the largest level that was repeated, and what a single further
    /// window varies beyond them.
    fn top(&self, loads: &[Vec<Group>]) -> (Vec<f64>, f64) {
        let (windows, starts) = (self.windows.unwrap_or(0.0), self.starts.unwrap_or(0.0));
        let left = average(loads.iter().flatten().map(Group::share));
        match loads {
            [only] if only.len() == 1 => (only[0].values.clone(), 0.0),
            [only] => (means(only), windows * (1.0 - left)),
            many => {
                let per_load = average(many.iter().map(|load| 1.0 / load.len() as f64));
                (load_means(many), starts * (1.0 - per_load) + windows * (1.0 - left * per_load))
            }
        }
    }
}

fn means(load: &[Group]) -> Vec<f64> {
    load.iter().map(Group::mean).collect()
}

fn load_means(loads: &[Vec<Group>]) -> Vec<f64> {
    loads.iter().map(|load| average(load.iter().map(Group::mean))).collect()
}

fn average(values: impl Iterator<Item = f64>) -> f64 {
    mean(&values.collect::<Vec<_>>()).unwrap_or(0.0)
}

/// Variance within groups, pooled over those of two or more; absent if there is none.
fn pooled(groups: impl Iterator<Item = Vec<f64>>) -> Option<f64> {
    let of = |group: Vec<f64>| Some((variance(&group)?, (group.len() - 1) as f64));
    let known: Vec<(f64, f64)> = groups.filter_map(of).collect();
    let freedom: f64 = known.iter().map(|(_, freedom)| freedom).sum();
    (freedom > 0.0)
        .then(|| known.iter().map(|(variance, freedom)| variance * freedom).sum::<f64>() / freedom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::keys::{KeyStream, MODULUS};

    fn window(load: u32, start: u32, value: f64) -> Window {
        Window { load, start, value, within: None }
    }

    #[test]
    fn plain_repetitions_are_windows_and_nothing_else() {
        // Mean 100, s = 2 %: t(0.975, 2) = 4.302653, a further one varies by s sqrt(1 + 0.4399),
        // the error of a median of 3.
        let found = estimate(
            &[98.0, 100.0, 102.0].map(|value| Window { within: Some(0.01), ..window(1, 1, value) }),
        )
        .unwrap();
        let own = (0.02f64.powi(2) - 0.01f64.powi(2)).sqrt();
        assert!((found.parts[1].unwrap() - own).abs() < 1e-12, "{found:?}");
        assert_eq!(
            (found.parts[0], found.parts[2], found.parts[3], found.groups),
            (Some(0.01), None, None, 3)
        );
        assert!((found.next.unwrap() - 4.302_653 * 0.02 * 1.439_9f64.sqrt()).abs() < 1e-5);
        assert!((found.error - 0.02 * 0.4399f64.sqrt()).abs() < 1e-6);
        assert_eq!(found.largest(), Some(Level::Windows));
    }

    #[test]
    fn what_windows_explain_is_taken_off_the_starts() {
        // Starts 90|110, 99|101 and 100|100 have equal means: nothing between them. Pooled: (200 +
        // 2 + 0) / 3.
        let values = [(1, 90.0), (1, 110.0), (2, 99.0), (2, 101.0), (3, 100.0), (3, 100.0)];
        let found = estimate(&values.map(|(start, value)| window(1, start, value))).unwrap();
        assert!(
            (found.parts[1].unwrap() - (202.0f64 / 3.0).sqrt() / 100.0).abs() < 1e-12,
            "{found:?}"
        );
        assert_eq!((found.parts[2], found.parts[3], found.groups), (Some(0.0), None, 3));
        // Means 80, 100, 120 with windows that agree: s = 20 %, all of it between starts.
        let values = [(1, 80.0), (1, 80.0), (2, 100.0), (2, 100.0), (3, 120.0), (3, 120.0)];
        let found = estimate(&values.map(|(start, value)| window(1, start, value))).unwrap();
        assert!(
            (found.parts[2].unwrap() - 0.2).abs() < 1e-12 && found.largest() == Some(Level::Starts),
            "{found:?}"
        );
    }

    #[test]
    fn loads_stand_above_starts() {
        // Loads 90, 100, 110 of two starts each, one of two windows: s = 10 %, and no other part.
        let load = |load: u32, value: f64| {
            [(1, value), (1, value), (2, value)]
                .map(|(start, value)| window(load, 10 * load + start, value))
        };
        let found = estimate(&[load(1, 90.0), load(2, 100.0), load(3, 110.0)].concat()).unwrap();
        assert_eq!((found.parts[1], found.parts[2]), (Some(0.0), Some(0.0)));
        assert!(
            (found.parts[3].unwrap() - 0.1).abs() < 1e-12 && found.largest() == Some(Level::Loads),
            "{found:?}"
        );
    }

    #[test]
    fn two_groups_give_parts_and_no_interval() {
        let found = estimate(&[window(1, 1, 99.0), window(1, 1, 101.0)]).unwrap();
        assert!(found.parts[1].is_some() && found.next.is_none());
        let found = estimate(
            &[(1, 99.0), (1, 100.0), (2, 101.0), (2, 100.0)].map(|(s, v)| window(1, s, v)),
        )
        .unwrap();
        assert_eq!((found.groups, found.next), (2, None), "four windows of two starts");
        assert_eq!(
            (estimate(&[window(1, 1, 5.0)]), estimate(&[window(1, 1, 0.0), window(1, 1, 0.0)])),
            (None, None)
        );
    }

    /// Approximately normal value of variance 1: the sum of twelve uniform values, less 6.
    fn normal(keys: &mut KeyStream) -> f64 {
        (0..12).map(|_| keys.step() as f64 / MODULUS as f64).sum::<f64>() - 6.0
    }

    /// Lower median of the windows, as reports print it.
    fn lower_median(windows: &[Window]) -> f64 {
        let mut sorted = values(windows);
        sorted.sort_by(f64::total_cmp);
        sorted[(sorted.len() - 1) / 2]
    }

    /// Simulated runs of each kind: of 0.95 the standard error is 0.0049.
    const RUNS: u32 = 2_000;

    /// Frequency with which the interval of the printed figure covers a test on another load, for
    /// this many loads, each with starts of this many windows.
    fn coverage(loads: u32, layout: &[u32], [windows, starts, of_loads]: [f64; 3]) -> f64 {
        let mut keys = KeyStream::numbered(42, loads);
        let covered = (0..RUNS).filter(|_| {
            let mut measured = Vec::new();
            for load in 1..=loads + 1 {
                let level = 100.0 + of_loads * normal(&mut keys);
                for (start, count) in (1..).zip(layout) {
                    let level = level + starts * normal(&mut keys);
                    let value = |keys: &mut KeyStream| {
                        window(load, 10 * load + start, level + windows * normal(keys))
                    };
                    measured.extend((0..*count).map(|_| value(&mut keys)));
                }
            }
            let (known, further) =
                measured.split_at(measured.len() * loads as usize / (loads as usize + 1));
            (further[0].value / lower_median(known) - 1.0).abs()
                <= estimate(known).unwrap().next.unwrap()
        });
        covered.count() as f64 / f64::from(RUNS)
    }

    #[test]
    fn the_interval_of_the_printed_figure_covers_a_fresh_start_with_a_fresh_load_in_19_of_20() {
        for parts in [[1.0, 0.0, 0.0], [1.0, 3.0, 0.0], [1.0, 2.0, 4.0]] {
            // Plain repetitions on loads of their own; as `--fresh data` measures them, of files
            // and of private servers.
            for (loads, layout) in [3, 4, 8]
                .into_iter()
                .flat_map(|loads| [(loads, &[1][..]), (loads, &[2]), (loads, &[2, 1])])
            {
                let covered = coverage(loads, layout, parts);
                assert!(covered >= 0.945, "{parts:?}, {loads} loads of {layout:?}: {covered}");
            }
        }
    }
}
