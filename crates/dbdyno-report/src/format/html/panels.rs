//! Small multiples: a row per group, three drawings on the same axes.

use maud::{Markup, html};

use super::svg::{self, Shape, Span, apart, line, mark, powers, rule, text};
use crate::Language;
use crate::document::Digits;
use crate::picture::{CpuSplit, Mark, Multiple, MultiplePoint, PanelRow, Panels, Times};
use crate::units::TimeUnit;

/// Height of a small multiple, and its axes.
const PANEL: f64 = 112.0;
const PANEL_TOP: f64 = 8.0;
const PANEL_BOTTOM: f64 = 88.0;
const PANEL_LEFT: f64 = 11.0;
const PANEL_RIGHT: f64 = 64.0;
/// Names beside the curves of a small multiple.
const MAX_LABELS: usize = 5;

/// A row per group, three drawings on the same axes.
pub(super) fn panels(panels: &Panels, language: Language) -> Markup {
    let axes = Axes::from_panels(panels);
    html! {
        div.panels { "\n"
            div.row.heads {
                div {}
                @for (title, about) in &panels.heads {
                    div { strong { (title) } " " span { (about) } }
                }
            } "\n"
            @for row in &panels.rows {
                div.row { "\n"
                    div.lead {
                        h3 { (row.group) @if !row.title.is_empty() { " " span { (row.title) } } }
                        @for text in &row.texts { p { (text) } }
                    }
                    @let drawings = [axes.multiples(row, language), axes.times(row), axes.cpu(row)];
                    @let spoken = drawings.iter().zip(&row.spoken);
                    @for ((drawing, spoken), (title, _)) in spoken.zip(&panels.heads) {
                        figure.panel { "\n"
                            figcaption { (title) }
                            svg width="100%" height=(svg::px(PANEL))
                                role="img" aria-label=(spoken) {
                                title { (spoken) }
                                (drawing)
                                (axes.jobs_axis(panels, language))
                            }
                        } "\n"
                    }
                } "\n"
            }
        } "\n"
    }
}

/// The axes that all rows share.
struct Axes {
    jobs: Span,
    multiple: Span,
    time: Span,
    percent: Span,
    most_jobs: f64,
}

impl Axes {
    fn from_panels(panels: &Panels) -> Axes {
        let points =
            || panels.rows.iter().flat_map(|row| &row.curves).flat_map(|curve| &curve.points);
        let (least, most) = points().fold((1.0_f64, 1.0_f64), |(least, most), point| {
            (least.min(point.multiple), most.max(point.multiple))
        });
        let most_jobs = panels.jobs.iter().copied().fold(1.0, f64::max);
        let least_jobs = panels.jobs.iter().copied().fold(most_jobs, f64::min);
        let multiples = powers(2.0, least.min(0.75), most.max(1.5));
        let times = || panels.rows.iter().flat_map(|row| &row.times);
        let known = || {
            times()
                .flat_map(|times| times.percentiles_us.into_iter().chain([times.mean_us]))
                .flatten()
        };
        let decades = powers(10.0, known().fold(1e6, f64::min), known().fold(10.0, f64::max));
        let ends = |ticks: &[f64]| (ticks[0], ticks[ticks.len() - 1]);
        let span = |(low, high): (f64, f64), is_log| Span {
            low,
            high,
            from: PANEL_BOTTOM,
            to: PANEL_TOP,
            is_log,
        };
        Axes {
            jobs: Span {
                low: least_jobs,
                high: most_jobs,
                from: PANEL_LEFT + 5.0,
                to: PANEL_RIGHT,
                is_log: true,
            },
            multiple: span(ends(&multiples), true),
            time: span(ends(&decades), true),
            percent: span((0.0, 100.0), false),
            most_jobs,
        }
    }

    fn grid(y: f64, class: &str, name: &str) -> Markup {
        html! {
            (rule((PANEL_LEFT, y), (PANEL_RIGHT + 2.0, y), class))
            @if !name.is_empty() { (text(PANEL_LEFT - 1.5, y + 4.0, "e", name)) }
        }
    }

    fn jobs_axis(&self, panels: &Panels, language: Language) -> Markup {
        let step = panels.jobs.len().div_ceil(6);
        html! {
            @for &jobs in panels.jobs.iter().step_by(step) {
                (text(self.jobs.place(jobs), PANEL_BOTTOM + 17.0, "m", &svg::tick(language, jobs)))
            }
            (text(PANEL_RIGHT + 6.0, PANEL_BOTTOM + 17.0, "", &panels.jobs_word))
        }
    }

    fn multiples(&self, row: &PanelRow, language: Language) -> Markup {
        let ticks = powers(2.0, self.multiple.low, self.multiple.high);
        let step = ticks.len().div_ceil(6);
        let highest = self.multiple.high.min(self.most_jobs);
        let perfect = [1.0, highest].map(|jobs| (self.jobs.place(jobs), self.multiple.place(jobs)));
        let shown: Vec<&Multiple> = row.curves.iter().take(MAX_LABELS).collect();
        let wishes: Vec<f64> = shown.iter().map(|curve| self.place_of_name(curve)).collect();
        let places = apart(&wishes, 14.0, PANEL_TOP + 4.0, PANEL_BOTTOM);
        html! {
            @for &tick in ticks.iter().step_by(step) {
                @let name = if tick < 1.0 { ratio_fraction(tick) } else { svg::short(tick) };
                @let class = if tick == 1.0 { "axis" } else { "grid" };
                (Self::grid(self.multiple.place(tick), class, &name))
            }
            (line(&perfect, PANEL, "perfect"))
            @if let Some(knee) = row.knee {
                (rule(
                    (self.jobs.place(knee), PANEL_TOP),
                    (self.jobs.place(knee), PANEL_BOTTOM),
                    "knee",
                ))
            }
            @for (number, curve) in row.curves.iter().enumerate().rev() {
                @let class = if number == 0 { "main" } else { "rest" };
                @let points: Vec<(f64, f64)> =
                    curve.points.iter().map(|point| self.place_multiple(point)).collect();
                (line(&points, PANEL, &format!("curve {class}")))
                @for point in &curve.points {
                    @let (x, y) = self.place_multiple(point);
                    (mark(x, y, Shape::Figure(point.mark), class, ""))
                }
            }
            @for (number, (curve, y)) in shown.iter().zip(places).enumerate() {
                (text(
                    PANEL_RIGHT + 3.5,
                    y,
                    if number == 0 { "name main" } else { "" },
                    &curve_name(
                        language,
                        &curve.label,
                        &row.group,
                        curve.points.last().map(|point| point.multiple),
                    ),
                ))
            }
        }
    }

    /// Place of a point of a curve of multiples.
    fn place_multiple(&self, point: &MultiplePoint) -> (f64, f64) {
        (self.jobs.place(point.jobs), self.multiple.place(point.multiple))
    }

    /// Preferred height of the name of a curve: beside its last point.
    fn place_of_name(&self, curve: &Multiple) -> f64 {
        let end = curve.points.last().map(|point| self.multiple.place(point.multiple));
        end.unwrap_or(PANEL_BOTTOM) + 4.0
    }

    /// The curve of the percentile with this index.
    fn percentile_curve(&self, times: &[Times], index: usize) -> Vec<TimePoint> {
        self.curve_of_times(times, |times| times.percentiles_us[index])
    }

    /// The curve of the means.
    fn mean_curve(&self, times: &[Times]) -> Vec<TimePoint> {
        self.curve_of_times(times, |times| times.mean_us)
    }

    /// The points of the times that are known.
    fn curve_of_times(
        &self,
        times: &[Times],
        time_us: impl Fn(&Times) -> Option<f64>,
    ) -> Vec<TimePoint> {
        let mut curve = Vec::new();
        for times in times {
            if let Some(us) = time_us(times) {
                let place = (self.jobs.place(times.jobs), self.time.place(us));
                curve.push(TimePoint { place, mark: times.mark });
            }
        }
        curve
    }

    fn times(&self, row: &PanelRow) -> Markup {
        let ticks = powers(10.0, self.time.low, self.time.high);
        let curves = [0, 1, 2].map(|index| self.percentile_curve(&row.times, index));
        let means = self.mean_curve(&row.times);
        let names = curve_ends(&row.times, &curves);
        let places = apart(
            &names.iter().map(|name| name.y).collect::<Vec<_>>(),
            14.0,
            PANEL_TOP + 4.0,
            PANEL_BOTTOM,
        );
        html! {
            @for &tick in &ticks {
                @let is_named = is_thousand(tick) || ticks.len() < 5;
                (Self::grid(
                    self.time.place(tick),
                    if is_named { "axis" } else { "grid" },
                    &if is_named { time_name(tick) } else { String::new() },
                ))
            }
            @for (index, points) in curves.iter().enumerate() {
                @let class = if index == 0 { "curve main" } else { "curve thin" };
                (line(&places_of(points), PANEL, class))
                @for TimePoint { place: (x, y), mark: sign } in points {
                    (mark(*x, *y, Shape::Figure(*sign), "main small", ""))
                }
            }
            (line(&places_of(&means), PANEL, "perfect"))
            @for mean in &means {
                (mark(mean.place.0, mean.place.1, mean.shape_of_mean(), "main", ""))
            }
            @if names.is_empty() {
                @if let Some(times) = row.times.last() {
                    (text(
                        PANEL_RIGHT + 3.5,
                        means.last().map_or(40.0, |mean| mean.place.1 + 4.0),
                        "name main",
                        &times.mean_shown,
                    ))
                }
            }
            @for (name, y) in names.iter().zip(places) {
                @let class = if name.is_main { "name main" } else { "" };
                (text(PANEL_RIGHT + 3.5, y, class, &name.text))
            }
        }
    }

    fn cpu(&self, row: &PanelRow) -> Markup {
        let width = (28.0 / row.cpu.len().max(1) as f64).clamp(2.0, 7.0);
        html! {
            @for tick in [0.0, 50.0, 100.0] {
                (Self::grid(
                    self.percent.place(tick),
                    if tick == 0.0 { "axis" } else { "grid" },
                    &svg::short(tick),
                ))
            }
            @for bar in &row.cpu { @for part in stack(&bar.split) {
                @let (top, bottom) = (self.percent.place(part.to), self.percent.place(part.from));
                rect x=(svg::pct(self.jobs.place(bar.jobs) - width / 2.0)) y=(svg::px(top))
                    width=(svg::pct(width)) height=(svg::px(bottom - top)) class=(part.class) {}
            } }
            @for (number, word) in row.cpu_words.iter().enumerate() {
                (text(
                    PANEL_RIGHT + 7.0,
                    PANEL_BOTTOM - 2.0 - 15.0 * (row.cpu_words.len() - 1 - number) as f64,
                    "",
                    word,
                ))
            }
        }
    }
}

/// A service time at a number of jobs.
struct TimePoint {
    /// From the left and from the top, as the drawing has its units.
    place: (f64, f64),
    mark: Mark,
}

impl TimePoint {
    /// The shape of a mean: a diamond, unless its figure is not valid.
    fn shape_of_mean(&self) -> Shape {
        if self.mark == Mark::Valid { Shape::Mean } else { Shape::Figure(self.mark) }
    }
}

/// The places of the points of a curve.
fn places_of(curve: &[TimePoint]) -> Vec<(f64, f64)> {
    curve.iter().map(|point| point.place).collect()
}

/// The name of a curve beside its end.
struct CurveName {
    /// Preferred height.
    y: f64,
    text: String,
    is_main: bool,
}

/// The names of the curves of percentiles, each with the last time that is known.
fn curve_ends(times: &[Times], curves: &[Vec<TimePoint>; 3]) -> Vec<CurveName> {
    let mut names = Vec::new();
    for (index, name) in ["p50", "p95", "p99"].into_iter().enumerate() {
        let last = times.iter().rev().find(|times| times.percentiles_us[index].is_some());
        let (Some(last), Some(end)) = (last, curves[index].last()) else { continue };
        let text = format!("{name} {}", last.shown[index]);
        names.push(CurveName { y: end.place.1 + 4.0, text, is_main: index == 0 });
    }
    names
}

/// The code of a label, else its end without the group, with the last multiple: there is room for
/// some letters before the next drawing.
fn curve_name(language: Language, label: &str, group: &str, last: Option<f64>) -> String {
    let code = label.split_once('(').and_then(|(_, rest)| Some(rest.split_once(')')?.0));
    let short = label.strip_prefix(group).map_or(label, |rest| rest.trim_start_matches('-'));
    let short: String = code.unwrap_or(short).chars().take(11).collect();
    last.map_or_else(
        || short.clone(),
        |last| format!("{short} {}×", language.number(last, Digits::Significant(3))),
    )
}

fn ratio_fraction(tick: f64) -> String {
    match tick {
        0.5 => "½".into(),
        0.25 => "¼".into(),
        tick => format!("1/{}", svg::short(1.0 / tick)),
    }
}

fn is_thousand(us: f64) -> bool {
    [1.0, 1e3, 1e6].iter().any(|name| (us / name - 1.0).abs() < 1e-9)
}

fn time_name(us: f64) -> String {
    // A power of ten that was computed may be slightly too small.
    let unit = TimeUnit::suiting_us(us, 0.999);
    format!("{}\u{a0}{}", svg::short(us / unit.us), unit.sign)
}

/// Part of a stacked bar, in per cent.
pub(super) struct StackPart {
    /// Class of the style sheet.
    pub class: &'static str,
    pub from: f64,
    pub to: f64,
}

/// The parts of CPU time on top of one another, the lowest first.
pub(super) fn stack(split: &CpuSplit) -> Vec<StackPart> {
    let parts = [
        ("own", Some(split.own)),
        ("iowait", split.iowait),
        ("foreign", split.foreign),
        ("steal", split.steal),
    ];
    let mut from = 0.0;
    let place = |(class, part): (&'static str, Option<f64>)| {
        let to = (from + part.filter(|part| part.is_finite() && *part > 0.0)?).min(100.0);
        let part = StackPart { class, from, to };
        from = to;
        Some(part)
    };
    parts.into_iter().filter_map(place).collect()
}
