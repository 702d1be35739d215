//! Heatmaps: figures of several platforms in one row, each placed between 0 and the best of the
//! row.

use serde::Serialize;

use super::compare::Kind;
use super::figure::Figure;
use super::interval::{FEWEST, UncertainValue, supports};
use super::ramp;
use crate::model::{Better, PublishedKind, Reason, ReasonCode, RunKind, Sentence, Status, Test};

/// Choice of the figure of a ramp that a heatmap, a summary or a card shows.
pub struct Metric {
    /// Speed or throughput.
    pub kind: Kind,
    figure: Get,
    passed_over: Get,
    /// Published figures of this kind are none of this metric.
    foreign: Option<PublishedKind>,
}

/// Takes a figure out of the tests of a ramp.
type Get = for<'a> fn(&[&'a Test]) -> Option<Figure<'a>>;

/// Speed and throughput.
pub const METRICS: [Metric; 2] = [
    Metric { kind: Kind::Speed, figure: ramp::speed, passed_over: |_| None, foreign: None },
    Metric {
        kind: Kind::Throughput,
        figure: ramp::throughput,
        passed_over: ramp::passed_over,
        foreign: Some(PublishedKind::Speed),
    },
];

impl Metric {
    /// `speed` or `throughput`.
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// The figure of a ramp.
    pub fn figure<'a>(&self, tests: &[&'a Test]) -> Option<Figure<'a>> {
        self.take(self.figure, tests)
    }

    /// Better figure that is not shown because of its verdict.
    pub fn passed_over<'a>(&self, tests: &[&'a Test]) -> Option<Figure<'a>> {
        self.take(self.passed_over, tests)
    }

    fn take<'a>(&self, get: Get, tests: &[&'a Test]) -> Option<Figure<'a>> {
        let is_own = |test: &&&Test| self.foreign.is_none_or(|foreign| !test.states(foreign));
        get(&tests.iter().filter(is_own).copied().collect::<Vec<_>>())
    }

    /// True of rows that do not belong to it: a time at one job is a speed.
    fn leaves_out(&self, row: &[Option<Figure<'_>>]) -> bool {
        let is_speed = |found: &Figure<'_>| found.better == Better::Lower && found.jobs == Some(1);
        self.kind == Kind::Throughput && row.iter().flatten().all(is_speed)
    }
}

/// The figures of a row side by side.
pub struct Compared<'a> {
    /// Unit of every figure.
    pub unit: &'a str,
    /// Direction in which the figures are better.
    pub better: Better,
    /// Per run; none where it has no figure in the unit of the row.
    pub figures: Vec<Option<Figure<'a>>>,
    /// Reasons that lower the verdict on each, alone or compared with the others.
    pub lowered: Vec<Vec<Reason>>,
    /// Figures that support a statement, with their standing; none for the others.
    pub known: Vec<Option<ValidValue>>,
    /// Position of each figure in the row; none where it supports no statement.
    pub places: Vec<Option<Place>>,
}

impl Compared<'_> {
    /// The figures that support a statement, with their intervals; none for the others.
    pub fn uncertain(&self) -> Vec<Option<UncertainValue>> {
        let figure = |(known, figure): (&Option<ValidValue>, &Option<Figure<'_>>)| {
            let (value, interval) = (known.as_ref()?.value, figure.as_ref()?.compared());
            Some(UncertainValue { value, interval })
        };
        self.known.iter().zip(&self.figures).map(figure).collect()
    }
}

/// Puts the figures of the same ramp in several runs, whose data have these sizes in GB, side by
/// side; none if there is none of this metric.
pub fn side_by_side<'a>(
    runs: &[Vec<&'a Test>],
    sizes_gb: &[Option<f64>],
    metric: &Metric,
) -> Option<Compared<'a>> {
    let mut figures: Vec<_> = runs.iter().map(|tests| metric.figure(tests)).collect();
    let (unit, better) =
        figures.iter().flatten().map(|figure| (figure.unit, figure.better)).next()?;
    // A run of another revision may lack the second metric: then its figure is a different one.
    figures.iter_mut().for_each(|figure| *figure = figure.filter(|figure| figure.unit == unit));
    if metric.leaves_out(&figures) {
        return None;
    }
    let size_gb = |run: usize| sizes_gb.get(run).copied().flatten();
    let begins = figures.iter().position(Option::is_some)?;
    let first = Worked { test: figures[begins].as_ref()?.test, size_gb: size_gb(begins) };
    let beside = |run: usize| -> Vec<Reason> {
        let Some(figure) = &figures[run] else { return Vec::new() };
        let own = Worked { test: figure.test, size_gb: size_gb(run) };
        let other = other_work(own.test, first.test).into_iter().chain(other_size(&own, &first));
        lowering(figure).into_iter().chain(other).collect()
    };
    let lowered: Vec<Vec<Reason>> = (0..figures.len()).map(beside).collect();
    let accepted = |(figure, lowered): (&Option<Figure<'_>>, &Vec<Reason>)| {
        let figure = figure.as_ref()?;
        supports(status(figure, lowered)).then(|| ValidValue::from_figure(figure))
    };
    let known: Vec<_> = figures.iter().zip(&lowered).map(accepted).collect();
    let mut places = places(better, &known);
    if let Some(bound) = beyond(better, &figures, &known) {
        for (place, known) in places.iter_mut().zip(&known) {
            let share_of_bound = known.map(|known| share(better, known.value, bound));
            *place =
                place.zip(share_of_bound).map(|(_, share)| Place { share, rank: Rank::Undecided });
        }
    }
    Some(Compared { unit, better, figures, lowered, known, places })
}

/// The furthest of the figures that are only lower bounds and exceed the best of those that count;
/// then it is unknown which is the best.
fn beyond(
    better: Better,
    figures: &[Option<Figure<'_>>],
    known: &[Option<ValidValue>],
) -> Option<f64> {
    let best = best(better, known)?;
    let bounds = figures
        .iter()
        .flatten()
        .filter(|figure| is_lower_bound(figure) && better.beats(figure.value, best.value));
    let values = bounds.map(|figure| figure.value);
    values.reduce(|most, next| if better.beats(next, most) { next } else { most })
}

/// True of a figure that is not invalid and of which is known only that it is at least as good as
/// it says.
pub fn is_lower_bound(figure: &Figure<'_>) -> bool {
    let is_bound = |reason: Reason| {
        matches!(
            reason.code,
            ReasonCode::LowerBound
                | ReasonCode::Bound
                | ReasonCode::TimingFloor
                | ReasonCode::PassedOver
        )
    };
    figure.status() < Status::Invalid && figure.verdict().reasons.into_iter().any(is_bound)
}

/// The verdict on a figure beside others that lower it.
pub fn status(figure: &Figure<'_>, lowered: &[Reason]) -> Status {
    lowered.iter().map(|reason| reason.status).fold(figure.status(), Status::max)
}

/// Reasons that lower the verdict on a figure.
pub fn lowering(figure: &Figure<'_>) -> Vec<Reason> {
    let mut reasons = figure.verdict().reasons;
    reasons.retain(|reason| reason.status > Status::Valid);
    reasons
}

/// A test on data of a size.
#[derive(Debug, Clone, Copy)]
pub struct Worked<'a> {
    /// The test.
    pub test: &'a Test,
    /// Nominal size of the data of its run in GB, if that is known.
    pub size_gb: Option<f64>,
}

impl Worked<'_> {
    /// Key of a figure's work, shared by all figures that it can be compared with: drive, origin,
    /// revision and size of the data.
    pub fn key(&self) -> String {
        let test = self.test;
        let work = format!("{}-{}-{}", test.drive().name(), test.kind().name(), test.revision());
        match self.measured_gb() {
            Some(size_gb) => format!("{work}-{size_gb}"),
            None => work,
        }
    }

    /// The size of the data of what was measured. Publications themselves print figures of several
    /// sizes side by side.
    fn measured_gb(&self) -> Option<f64> {
        self.size_gb.filter(|_| self.test.kind() != RunKind::Published)
    }
}

/// Reason why a figure is not comparable with the first one of its row, if it was measured on data
/// of another size.
fn other_size(own: &Worked<'_>, first: &Worked<'_>) -> Option<Reason> {
    let (own_gb, first_gb) = own.measured_gb().zip(first.measured_gb())?;
    let sentence = Sentence::new("data of {own=} GB, compared with {first=} GB");
    let sentence = sentence.with("own", own_gb).with("first", first_gb);
    (own_gb != first_gb).then(|| Reason::new(Status::Conditional, ReasonCode::DataSize, sentence))
}

/// Reasons why a figure is of other work than the first one of its row, with which it is compared.
pub fn other_work(own: &Test, first: &Test) -> Vec<Reason> {
    let reason = |code, sentence: Sentence| Reason::new(Status::Conditional, code, sentence);
    let drive = (own.drive() != first.drive()).then(|| {
        let sentence = Sentence::new("another drive: {own}, compared with {first}");
        let sentence = sentence.with("own", own.drive().name()).with("first", first.drive().name());
        reason(ReasonCode::Drive, sentence)
    });
    let origin = match (own.kind(), first.kind()) {
        (RunKind::Published, RunKind::Measured) => {
            Some("a published figure, compared with a measured one")
        }
        (RunKind::Measured, RunKind::Published) => {
            Some("a measured figure, compared with a published one")
        }
        _ => None,
    };
    let origin = origin.map(|text| reason(ReasonCode::Origin, Sentence::new(text)));
    let revision = (own.revision() != first.revision()).then(|| {
        let sentence = Sentence::new("revision {own} of the workload, compared with {first}");
        let [own, first] = [own, first].map(|test| test.revision().to_string());
        reason(ReasonCode::Revision, sentence.with("own", own).with("first", first))
    });
    drive.into_iter().chain(origin).chain(revision).collect()
}

/// A figure that supports a statement (`interval::supports`) and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValidValue {
    /// Value in the unit of the row.
    pub value: f64,
    /// Half width of its 95 % confidence interval as a fraction of it (`analysis::interval`);
    /// absent if it was not measured.
    pub ci_fraction: Option<f64>,
    /// A publication's: its order is that of the printed figures.
    pub is_printed: bool,
}

impl ValidValue {
    /// Value and interval of a ramp's figure.
    pub fn from_figure(figure: &Figure<'_>) -> ValidValue {
        let is_printed = figure.test.kind() == RunKind::Published;
        let ci_fraction = figure.compared().ok().map(|interval| interval.half_width());
        ValidValue { value: figure.value, ci_fraction, is_printed }
    }
}

/// Relation of a figure to the best of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rank {
    /// The best; several, if they are exactly equal.
    Best,
    /// The figure does not differ from the best beyond the noise.
    Equal,
    /// The figure is worse than the best beyond the noise.
    Below,
    /// A measured figure of the row has no interval: it is not known which differ.
    Undecided,
}

/// Position of a figure in its row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// 1 = the best of the row, 0 = nothing: value / best, or best / value if lower is better.
    pub share: f64,
    /// Relation to the best of the row.
    pub rank: Rank,
}

/// The places of a row's figures; none where there is no figure, and none at all if they are fewer
/// than two.
pub fn places(better: Better, row: &[Option<ValidValue>]) -> Vec<Option<Place>> {
    let is_row = row.iter().flatten().filter(|figure| is_usable(figure)).count() >= FEWEST;
    let best = best(better, row).filter(|_| is_row);
    let is_decided =
        row.iter().flatten().all(|figure| figure.is_printed || figure.ci_fraction.is_some());
    let place = |figure: ValidValue| {
        let place = place(better, figure, best?);
        Some(if is_decided { place } else { Place { rank: Rank::Undecided, ..place } })
    };
    row.iter().map(|figure| figure.filter(is_usable).and_then(place)).collect()
}

/// The number of the figure that alone is ahead of all others of its row, beyond the noise where
/// intervals are known.
pub fn leader(places: &[Option<Place>]) -> Option<usize> {
    let is_ahead = |place: &Option<Place>| place.is_some_and(|place| place.rank != Rank::Below);
    let ahead: Vec<usize> = (0..places.len()).filter(|&at| is_ahead(&places[at])).collect();
    if let [only] = ahead.as_slice() { Some(*only) } else { None }
}

fn is_usable(figure: &ValidValue) -> bool {
    figure.value.is_finite() && figure.value >= 0.0
}

fn best(better: Better, row: &[Option<ValidValue>]) -> Option<ValidValue> {
    let known = row.iter().flatten().filter(|figure| is_usable(figure)).copied();
    known.reduce(|best, next| if better.beats(next.value, best.value) { next } else { best })
}

fn place(better: Better, figure: ValidValue, best: ValidValue) -> Place {
    Place { share: share(better, figure.value, best.value), rank: rank(figure, best) }
}

fn share(better: Better, value: f64, best: f64) -> f64 {
    let (part, whole) = match better {
        Better::Higher => (value, best),
        Better::Lower => (best, value),
    };
    // All zero: then all are the best.
    if part == whole { 1.0 } else { (part / whole).clamp(0.0, 1.0) }
}

/// Two independent figures differ if 1 lies outside the interval of their ratio: the logarithm of a
/// ratio has the squared half width of the sum of both squared fractions. Of printed figures only
/// the best is.
fn rank(figure: ValidValue, best: ValidValue) -> Rank {
    if figure.value == best.value {
        return Rank::Best;
    }
    let noise = figure.ci_fraction.zip(best.ci_fraction).map(|(a, b)| a.hypot(b));
    match noise {
        Some(noise) if (figure.value / best.value).ln().abs() <= noise => Rank::Equal,
        _ => Rank::Below,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(values: &[f64]) -> Vec<Option<ValidValue>> {
        values
            .iter()
            .map(|&value| Some(ValidValue { value, ci_fraction: None, is_printed: true }))
            .collect()
    }

    fn ranks(places: &[Option<Place>]) -> Vec<Rank> {
        places.iter().flatten().map(|place| place.rank).collect()
    }

    #[test]
    fn a_published_row_is_anchored_at_nothing_and_only_the_best_is_best() {
        // OraBench 2016, table 4, T111 in ops/s: IBM Power8, then DL580 bare metal, ESXi, RHV,
        // DL380 bare metal.
        let row = published(&[10_204e3, 18_519e3, 22_727e3, 20_833e3, 21_739e3]);
        let places = places(Better::Higher, &row);
        let shares: Vec<_> =
            places.iter().flatten().map(|place| (place.share * 1e3).round() / 1e3).collect();
        assert_eq!(shares, [0.449, 0.815, 1.0, 0.917, 0.957]);
        assert_eq!(
            ranks(&places),
            [Rank::Below, Rank::Below, Rank::Best, Rank::Below, Rank::Below]
        );
    }

    #[test]
    fn of_times_the_shortest_is_best_and_equal_ones_share_it() {
        // OraBench 2016, table 4, T151 in seconds: DL380 bare metal 22, another 22, IBM Power8
        // slower.
        let places = places(Better::Lower, &published(&[22.0, 44.0, 22.0]));
        assert_eq!(ranks(&places), [Rank::Best, Rank::Below, Rank::Best]);
        assert_eq!(places[1].unwrap().share, 0.5);
    }

    #[test]
    fn within_the_noise_of_both_figures_is_equal() {
        let measured = |value, ci_fraction| {
            Some(ValidValue { value, ci_fraction: Some(ci_fraction), is_printed: false })
        };
        // Half widths of 3 % and 4 %: the ratio is known to 5 %.
        let row = [measured(100.0, 0.03), measured(95.5, 0.04), measured(94.0, 0.04), None];
        assert_eq!(ranks(&places(Better::Higher, &row)), [Rank::Best, Rank::Equal, Rank::Below]);
        let one_interval = [
            measured(100.0, 0.5),
            Some(ValidValue { value: 99.0, ci_fraction: None, is_printed: false }),
        ];
        assert_eq!(ranks(&places(Better::Higher, &one_interval)), [Rank::Undecided; 2]);
        assert_eq!(places(Better::Higher, &one_interval)[1].unwrap().share, 0.99);
    }

    #[test]
    fn an_only_figure_is_not_the_best() {
        let only = Some(ValidValue { value: 5.0, ci_fraction: Some(0.01), is_printed: false });
        assert_eq!(places(Better::Higher, &[None, only, None]), [None, None, None]);
        assert_eq!(places(Better::Higher, &published(&[5.0, f64::NAN])), [None, None]);
    }

    #[test]
    fn work_is_the_same_where_nothing_lowers_one_figure_beside_another() {
        use crate::analysis::fixture::at;
        use crate::model::{Drive, TestResult};
        let client = TestResult { drive: Drive::Client, ..at(1, 10.0) };
        let database = TestResult { drive: Drive::Database, ..at(1, 10.0) };
        let revised = TestResult { revision: 2, ..client.clone() };
        let tests = [client, database, revised].map(Test::from);
        let sizes = [1.0, 8.0];
        let works: Vec<Worked<'_>> = tests
            .iter()
            .flat_map(|test| sizes.map(|size_gb| Worked { test, size_gb: Some(size_gb) }))
            .collect();
        for (own, first) in works.iter().flat_map(|own| works.iter().map(move |it| (own, it))) {
            let is_lowered =
                !other_work(own.test, first.test).is_empty() || other_size(own, first).is_some();
            assert_eq!(own.key() != first.key(), is_lowered);
        }
    }

    #[test]
    fn what_was_measured_on_data_of_another_size_is_not_ranked() {
        use crate::analysis::fixture::at;
        use crate::model::TestResult;
        let test = |value| Test::from(TestResult { ci_fraction: Some(0.01), ..at(1, value) });
        let tests = [test(10.0), test(20.0), test(5.0)];
        let runs: Vec<Vec<&Test>> = tests.iter().map(|test| vec![test]).collect();
        let found = |sizes_gb: &[Option<f64>]| side_by_side(&runs, sizes_gb, &METRICS[0]).unwrap();
        let ranks = |found: &Compared<'_>| -> Vec<Option<Rank>> {
            found.places.iter().map(|place| place.map(|place| place.rank)).collect()
        };
        let alike = found(&[Some(8.0); 3]);
        assert_eq!(ranks(&alike), [Some(Rank::Below), Some(Rank::Best), Some(Rank::Below)]);
        let small = found(&[Some(8.0), Some(0.5), Some(8.0)]);
        assert_eq!(ranks(&small), [Some(Rank::Best), None, Some(Rank::Below)]);
        let why: Vec<&str> = small.lowered[1].iter().map(|reason| reason.text.as_str()).collect();
        assert_eq!(why, ["data of 0.5 GB, compared with 8 GB"]);
        assert_eq!(ranks(&found(&[Some(8.0), None, Some(8.0)])), ranks(&alike));
    }

    #[test]
    fn nothing_has_no_place_and_zero_no_share() {
        assert_eq!(places(Better::Higher, &[None, None]), [None, None]);
        let zeros = places(Better::Higher, &published(&[0.0, 0.0]));
        assert_eq!(zeros[0].unwrap(), Place { share: 1.0, rank: Rank::Best });
        assert_eq!(places(Better::Higher, &published(&[0.0, 5.0]))[0].unwrap().share, 0.0);
        assert_eq!(places(Better::Lower, &published(&[0.0, 5.0]))[1].unwrap().share, 0.0);
    }
}
