//! Charts of a page, drawn here: curves with their marks and intervals, names beside the curves
//! where there is room for them, the figures of each mark as its title, and the data as a table.

use maud::{Markup, html};

use super::svg::{
    self, Shape, Span, apart, line, mark, powers, rule, short, steps, stretched, text, tick,
};
use super::table;
use crate::document::{Axis, Chart, Digits, Level, Point, Role, Scale, Series, Table};
use crate::picture::Mark;
use dbdyno_core::model::Status;

/// Height of a chart, and where its axes are, in pixels; per cent of the width on the left and the
/// right.
const HEIGHT: f64 = 232.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 190.0;
const LEFT_PCT: f64 = 14.0;
const RIGHT_PCT: f64 = 97.0;
/// Width of the drawing with names next to the curves, in per cent.
const NAMED_PCT: f64 = 68.0;
/// Longer names, and more curves, have a legend above instead.
const MAX_NAME: usize = 16;
const MAX_NAMED: usize = 7;
/// Of a curve of more points only those have marks that stand out.
const MAX_MARKS: usize = 40;
/// Maximum number of laws that are drawn: more would hide the measured points.
const MAX_FITTED: usize = 4;
/// Colors and styles of lines.
const COLORS: usize = 8;
const DASHES: usize = 4;
/// Height of a line of small text, in pixels.
const LINE_HEIGHT: f64 = 13.0;

/// The chart with its caption and its table.
pub(super) fn figure(chart: &Chart) -> Markup {
    let table = Table { remarks: Vec::new(), ..chart.as_table() };
    let phrase = |english: &'static str| chart.language.phrase(english);
    html! {
        figure.chart { "\n"
            figcaption {
                h3 {
                    (chart.title)
                    @if let Some(unit) = &chart.y.unit { " " span.unit { "[" (unit) "]" } }
                }
            } "\n"
            (drawing(chart)) "\n"
            @if !chart.caption.is_empty() { p.caption { (chart.caption) } "\n" }
            details { summary { (phrase("Data of this chart")) } "\n" (table::table(&table)) } "\n"
        } "\n"
    }
}

/// The chart alone.
pub(super) fn drawing(chart: &Chart) -> Markup {
    let drawn = drawn(chart);
    let is_named = is_named(&drawn);
    let plot = Plot::new(chart, &drawn, is_named);
    html! {
        @if !is_named && drawn.len() > 1 { (legend(&drawn)) }
        svg.plot width="100%" height=(short(HEIGHT)) role="img" aria-label=(spoken(chart)) { "\n"
            (plot.axes(chart)) "\n"
            @if !chart.levels.is_empty() { (plot.levels(&chart.levels)) "\n" }
            @for series in &drawn { (plot.curve(chart, series)) "\n" }
            @if is_named { (plot.names(&drawn)) }
            @if !chart.levels.is_empty() { (plot.level_names(&chart.levels)) }
        }
    }
}

/// Description of the chart, for those who cannot see it.
fn spoken(chart: &Chart) -> String {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let values = [("title", chart.title.as_str()), ("curves", &names.join(", "))];
    chart.language.say("Chart: {title}. Curves: {curves}. The data follow as a table.", &values)
}

/// Series in drawing order: bands below, then laws, then measured points.
fn drawn(chart: &Chart) -> Vec<&Series> {
    let of = |role| chart.series.iter().filter(move |series| series.role == role);
    let measured = of(Role::Measured).count();
    let fitted = of(Role::Fitted).filter(|_| measured <= MAX_FITTED);
    of(Role::Noise).chain(fitted).chain(of(Role::Measured)).collect()
}

fn measured<'a>(drawn: &'a [&'a Series]) -> impl Iterator<Item = &'a Series> {
    drawn.iter().copied().filter(|series| series.role == Role::Measured)
}

/// True if the names are drawn next to the curves, because they are short and few.
fn is_named(drawn: &[&Series]) -> bool {
    let count = measured(drawn).count();
    let is_short = measured(drawn).all(|series| series.name.chars().count() <= MAX_NAME);
    count > 1
        && count <= MAX_NAMED
        && is_short
        && measured(drawn).all(|series| series.points.len() <= MAX_MARKS)
}

fn legend(drawn: &[&Series]) -> Markup {
    html! {
        ul.legend { @for series in drawn.iter().filter(|series| series.role != Role::Noise) {
            li {
                svg.swatch width="28" height="12" aria-hidden="true" {
                    (rule((0.0, 6.0), (100.0, 6.0), &class(series)))
                    @if series.role == Role::Measured {
                        (mark(50.0, 6.0, Shape::Figure(Mark::Valid), &color(series), ""))
                    }
                }
                (series.name)
            }
        } }
    }
}

/// The points of a measured curve that have a mark: all of a short one; of a long one those with
/// something written beside them, and those that are not valid. If none is valid, of the latter
/// only the last.
fn marked(series: &Series) -> Vec<&Point> {
    if series.role != Role::Measured {
        return Vec::new();
    }
    let points = || series.points.iter();
    if series.points.len() <= MAX_MARKS {
        return points().collect();
    }
    let is_doubtful = |point: &Point| point.verdict.is_some_and(|status| status > Status::Valid);
    let is_mixed = !points().all(is_doubtful);
    let last = series.points.len() - 1;
    let stands_out = |at: usize, point: &Point| {
        point.written.is_some() || is_doubtful(point) && (is_mixed || at == last)
    };
    let marked = points().enumerate().filter(|(at, point)| stands_out(*at, point));
    marked.map(|(_, point)| point).collect()
}

/// The class of a curve: its color, its dashes, and whether it is fitted.
fn class(series: &Series) -> String {
    match series.role {
        Role::Measured => format!("curve {} d{}", color(series), series.variant % DASHES),
        Role::Fitted => format!("fitted {}", color(series)),
        Role::Noise => "noise".into(),
    }
}

fn color(series: &Series) -> String {
    format!("p{}", series.platform % COLORS)
}

/// Positions of the parts of a plot.
struct Plot {
    x: Span,
    y: Span,
    x_ticks: Vec<f64>,
    y_ticks: Vec<f64>,
}

impl Plot {
    fn new(chart: &Chart, drawn: &[&Series], is_named: bool) -> Plot {
        let points = || drawn.iter().flat_map(|series| &series.points);
        let x_ticks = ticks(&chart.x, points().map(|point| point.x));
        let y_ticks = match chart.y.unit.as_deref() {
            Some("%") if points().all(|point| point.y <= 100.5) => {
                vec![0.0, 25.0, 50.0, 75.0, 100.0]
            }
            // Not the lower ends: one near 0 would take most of a logarithmic axis.
            _ => {
                let shown = |point: &Point| [point.y, point.high.unwrap_or(point.y)];
                let levels = chart.levels.iter().map(|level| level.y);
                ticks(&chart.y, points().flat_map(shown).chain(levels))
            }
        };
        let right = if is_named { NAMED_PCT } else { RIGHT_PCT };
        let is_log = |axis: &Axis| axis.scale != Scale::Linear;
        let ends = |ticks: &[f64]| {
            (ticks.first().copied().unwrap_or(0.0), ticks.last().copied().unwrap_or(1.0))
        };
        let ((x_low, x_high), (y_low, y_high)) = (ends(&x_ticks), ends(&y_ticks));
        let most = points().map(|point| point.x).fold(x_low, f64::max);
        // An axis over the jobs ends at the most jobs, not at the next power.
        let x_high = if most > x_low { most } else { x_high };
        let x =
            Span { low: x_low, high: x_high, from: LEFT_PCT, to: right, is_log: is_log(&chart.x) };
        let y = Span { low: y_low, high: y_high, from: BOTTOM, to: TOP, is_log: is_log(&chart.y) };
        // Numbers of things have no halves.
        let mut counted = measured(drawn).flat_map(|series| &series.points);
        let is_whole = chart.x.unit.is_none() && counted.all(|point| point.x.fract() == 0.0);
        let is_shown = |tick: &f64| *tick <= x_high * 1.0001 && !(is_whole && tick.fract() != 0.0);
        Plot { x, y, x_ticks: x_ticks.into_iter().filter(is_shown).collect(), y_ticks }
    }

    fn axes(&self, chart: &Chart) -> Markup {
        let language = chart.language;
        let named = |axis: &Axis| {
            axis.unit
                .as_ref()
                .map_or_else(|| axis.name.clone(), |unit| format!("{} [{unit}]", axis.name))
        };
        let step = self.x_ticks.len().div_ceil(9);
        html! {
            @for &value in &self.y_ticks {
                (rule(
                    (self.x.from, self.y.place(value)),
                    (self.x.to, self.y.place(value)),
                    if value == self.y.low { "axis" } else { "grid" },
                ))
                (text(LEFT_PCT - 1.5, self.y.place(value) + 4.0, "e", &tick(language, value)))
            }
            @for &value in self.x_ticks.iter().step_by(step) {
                (rule((self.x.place(value), BOTTOM), (self.x.place(value), BOTTOM + 4.0), "axis"))
                (text(self.x.place(value), BOTTOM + 18.0, "m", &tick(language, value)))
            }
            (text((self.x.from + self.x.to) / 2.0, BOTTOM + 36.0, "m", &named(&chart.x)))
        }
    }

    /// Levels across, and a line down to the axis where one ends.
    fn levels(&self, levels: &[Level]) -> Markup {
        html! {
            @for level in levels {
                @let y = self.y.place(level.y);
                @let from = self.x.place(level.from);
                @let to = self.x.place(level.to);
                (rule((from, y), (to, y), "level"))
                @if level.end.is_some() { (rule((to, TOP), (to, BOTTOM), "knee")) }
            }
        }
    }

    /// The names of levels above them, and what ends them at the axis.
    fn level_names(&self, levels: &[Level]) -> Markup {
        let wishes: Vec<f64> = levels.iter().map(|level| self.y.place(level.y) - 5.0).collect();
        let heights = apart(&wishes, LINE_HEIGHT, TOP, BOTTOM - LINE_HEIGHT);
        let mut ends: Vec<(f64, &str)> = levels
            .iter()
            .filter_map(|level| Some((self.x.place(level.to), level.end.as_deref()?)))
            .collect();
        // Curves of one cache end where it ends.
        ends.dedup_by(|a, b| (a.0 - b.0).abs() < 1.0 && a.1 == b.1);
        html! {
            @for (level, height) in levels.iter().zip(heights) {
                @let (from, to) = (self.x.place(level.from), self.x.place(level.to));
                @let is_left = from + to < self.x.from + self.x.to;
                (text(
                    if is_left { from + 0.5 } else { to },
                    height,
                    if is_left { "level" } else { "e level" },
                    &level.name,
                ))
            }
            @for (x, end) in ends { (text(x + 0.8, BOTTOM - 5.0, "level", end)) }
        }
    }

    fn place(&self, point: &Point) -> (f64, f64) {
        (self.x.place(point.x), self.y.place(point.y))
    }

    fn curve(&self, chart: &Chart, series: &Series) -> Markup {
        if series.role == Role::Noise {
            return self.band(series);
        }
        let points: Vec<(f64, f64)> = series.points.iter().map(|point| self.place(point)).collect();
        let (marked, whiskers) = (marked(series), self.whiskers(series));
        html! {
            (line(&points, HEIGHT, &class(series)))
            @if !whiskers.is_empty() {
                (stretched(&whiskers, HEIGHT, &format!("whisker {}", color(series))))
            }
            @for point in marked {
                @let (x, y) = self.place(point);
                (mark(
                    x,
                    y,
                    Shape::Figure(point.verdict.unwrap_or(Status::Valid).into()),
                    &color(series),
                    &note(chart, series, point),
                ))
                @if let Some(written) = &point.written {
                    (text(
                        x,
                        written_at(y),
                        &format!("{} {}", self.label_anchor(x), color(series)),
                        written,
                    ))
                }
            }
        }
    }

    /// Alignment of a label next to a mark: at the ends of the axis it stays within the drawing.
    fn label_anchor(&self, x: f64) -> &'static str {
        let near = |end: f64| (x - end).abs() < 4.0;
        match (near(self.x.from), near(self.x.to)) {
            (true, _) => "written",
            (_, true) => "e written",
            _ => "m written",
        }
    }

    /// The intervals of the points of a measured curve.
    fn whiskers(&self, series: &Series) -> String {
        if series.role != Role::Measured {
            return String::new();
        }
        let whisker = |point: &Point| {
            let (low, high) = (self.y.place(point.low?), self.y.place(point.high?));
            let x = self.x.place(point.x);
            Some(svg::path(&[(x, low), (x, high)]))
        };
        series.points.iter().filter_map(whisker).collect()
    }

    fn band(&self, series: &Series) -> Markup {
        let edge = |end: fn(&Point) -> Option<f64>| {
            let at = |point: &Point| Some((self.x.place(point.x), self.y.place(end(point)?)));
            series.points.iter().filter_map(at).collect::<Vec<_>>()
        };
        let (low, high) = (edge(|point| point.low), edge(|point| point.high));
        let around: Vec<(f64, f64)> = high.into_iter().chain(low.into_iter().rev()).collect();
        stretched(&format!("{}Z", svg::path(&around)), HEIGHT, "noise")
    }

    /// The names of the curves at their ends.
    fn names(&self, drawn: &[&Series]) -> Markup {
        let ends: Vec<(&Series, f64)> = measured(drawn)
            .filter_map(|series| Some((series, self.y.place(series.points.last()?.y))))
            .collect();
        let wishes: Vec<f64> = ends.iter().map(|end| end.1 + 4.0).collect();
        let places = apart(&wishes, 14.0, TOP, BOTTOM + 4.0);
        html! { @for ((series, _), y) in ends.iter().zip(places) {
            (text(NAMED_PCT + 2.0, y, &format!("name {}", color(series)), &series.name))
        } }
    }
}

/// Position of a mark's label: above it, below it where the drawing ends.
fn written_at(y: f64) -> f64 {
    if y - 9.0 < TOP { y + 17.0 } else { y - 9.0 }
}

/// Ticks of an axis.
fn ticks(axis: &Axis, values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let most = values.iter().copied().fold(f64::MIN, f64::max);
    let least = values.iter().copied().filter(|value| *value > 0.0).fold(f64::MAX, f64::min);
    match axis.scale {
        Scale::Linear => steps(most),
        Scale::Log2 => powers(2.0, least, most),
        Scale::Log10 => powers(10.0, least, most),
    }
}

/// The figures of a mark.
fn note(chart: &Chart, series: &Series, point: &Point) -> String {
    let language = chart.language;
    let number = |value: f64| language.number(value, Digits::Significant(4));
    let unit = chart.y.unit.as_deref().unwrap_or_default();
    let interval = point.low.zip(point.high).map(|(low, high)| {
        format!(
            " ({})",
            language.say("{low} to {high}", &[("low", &number(low)), ("high", &number(high))])
        )
    });
    let label = point.label.as_ref().map(|label| format!(", {label}"));
    let verdict = point
        .verdict
        .filter(|status| *status > Status::Valid)
        .map(|status| format!(", {}", language.verdict(status)));
    let more: String = [interval, label, verdict].into_iter().flatten().collect();
    format!(
        "{}: {} {}, {} {unit}{more}",
        series.name,
        chart.x.name,
        tick(language, point.x),
        number(point.y)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Chart {
        let full = Point {
            x: 2.0,
            y: 3.5,
            low: Some(3.0),
            high: Some(4.0),
            label: Some("</svg>".into()),
            written: Some("0.4 <ms".into()),
            verdict: Some(Status::Conditional),
        };
        let series = Series {
            name: "a & b".into(),
            platform: 1,
            points: vec![Point { x: 1.0, y: 2.0, ..Point::default() }, full],
            ..Series::default()
        };
        let x = Axis { name: "Jobs".into(), unit: None, scale: Scale::Log2 };
        Chart {
            name: "c".into(),
            title: "T < 1".into(),
            x,
            series: vec![series],
            ..Chart::default()
        }
    }

    #[test]
    fn a_logarithmic_axis_begins_below_its_lowest_point_not_below_the_upper_end_of_its_interval() {
        let mut chart = chart();
        chart.y.scale = Scale::Log10;
        chart.series[0].points[0] = Point { x: 1.0, y: 0.9, high: Some(1.1), ..Point::default() };
        let plot = Plot::new(&chart, &[&chart.series[0]], false);
        assert_eq!(plot.y_ticks, [0.1, 1.0, 10.0]);
    }

    #[test]
    fn a_figure_has_a_heading_a_spoken_text_marks_with_their_figures_and_a_table() {
        let html = figure(&chart()).into_string();
        for part in [
            "<h3>T &lt; 1",
            "Curves: a &amp; b.",
            "<details>",
            "<th scope=\"col\">",
            "href=\"#u\"",
            "class=\"e written p1\">0.4 &lt;ms</text>",
            "<title>a &amp; b: Jobs 2, 3.500  (3.000 to 4.000), &lt;/svg&gt;, conditional</title>",
        ] {
            assert!(html.contains(part), "no {part} in {html}");
        }
        assert!(!html.contains("NaN") && !html.contains("inf"));
    }

    #[test]
    fn names_stand_beside_few_curves_and_in_a_legend_of_many() {
        let with = |count: usize| {
            let chart = chart();
            let series = (0..count).map(|platform| Series {
                platform,
                name: format!("curve {platform}"),
                ..chart.series[0].clone()
            });
            drawing(&Chart { series: series.collect(), ..chart }).into_string()
        };
        assert!(with(3).contains("class=\"name p2\"") && !with(3).contains("legend"));
        assert!(with(9).contains("legend") && !with(9).contains("class=\"name"));
    }

    #[test]
    fn a_long_curve_marks_what_is_not_valid_or_named_and_shows_intervals() {
        let point = |number: u32| Point {
            x: f64::from(number),
            y: 10.0,
            low: (number == 50).then_some(9.0),
            high: (number == 50).then_some(11.0),
            written: (number == 20).then(|| "spike".to_string()),
            verdict: Some(if number == 30 { Status::Conditional } else { Status::Valid }),
            ..Point::default()
        };
        let mut long = chart();
        long.x.scale = Scale::Linear;
        long.series[0].points = (1..=60).map(point).collect();
        let html = drawing(&long).into_string();
        assert_eq!(html.matches("<use ").count(), 2, "{html}");
        for part in [">spike</text>", "Jobs 30, 10.00 , conditional</title>"] {
            assert!(html.contains(part), "no {part} in {html}");
        }
        assert!(html.contains("whisker p1") && !html.contains("d=\"\" class=\"whisker"), "{html}");
        // A curve that is conditional throughout has the mark at its end.
        let all = |point: Point| Point { verdict: Some(Status::Conditional), ..point };
        let points = std::mem::take(&mut long.series[0].points);
        long.series[0].points = points.into_iter().map(all).collect();
        let html = drawing(&long).into_string();
        assert_eq!(html.matches("<use ").count(), 2, "{html}");
        assert!(html.contains("Jobs 60, 10.00 , conditional</title>"), "{html}");
    }

    #[test]
    fn levels_have_their_names_and_the_place_where_they_end() {
        let level = |name: &str, y: f64, end: Option<&str>| Level {
            name: name.into(),
            y,
            from: 1.0,
            to: 2.0,
            end: end.map(String::from),
        };
        let levels = vec![level("cache <1>", 2.0, Some("16.0 MB")), level("device", 90.0, None)];
        let mut drawn = chart();
        drawn.y.scale = Scale::Log10;
        drawn.levels = levels;
        let html = drawing(&drawn).into_string();
        assert_eq!(html.matches("class=\"level\"></line>").count(), 2, "{html}");
        assert_eq!(html.matches("class=\"knee\"").count(), 1, "{html}");
        for part in ["cache &lt;1&gt;</text>", "16.0 MB</text>", "device</text>"] {
            assert!(html.contains(part), "no {part} in {html}");
        }
        let plot = Plot::new(&drawn, &[&drawn.series[0]], false);
        assert_eq!(plot.y_ticks.last(), Some(&100.0), "a level above all points is in sight");
        assert!(!drawing(&chart()).into_string().contains("level"));
    }

    #[test]
    fn a_chart_without_points_is_drawn() {
        let empty = Chart { series: Vec::new(), ..chart() };
        assert!(!drawing(&empty).into_string().contains("NaN"));
    }
}
