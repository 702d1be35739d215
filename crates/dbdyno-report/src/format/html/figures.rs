//! The wide drawings of a page: ratios on one axis, small multiples, the whole run on one line of
//! time.

use maud::{Markup, html};

use super::svg::{self, Shape, Span, apart, line, mark, powers, rule, stretched, text};
use super::wide;
use crate::Language;
use crate::document::Digits;
use crate::picture::{CpuSplit, Mark, PanelRow, Panels, RatioRow, Ratios, Second, Timeline};

/// Height of a row of ratios.
const ROW: f64 = 26.0;
/// Ratios further away are drawn at the edge with an arrow.
const FURTHEST: f64 = 16.0;

/// Steps of the axis of ratios by how far it reaches.
const NEAR: [f64; 9] = [0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4];

/// A table whose middle cells are drawn.
pub(super) fn ratios(ratios: &Ratios, language: Language) -> Markup {
    let (x, ticks) = axis(ratios);
    let content = html! {
        table class=(if ratios.has_sentences { "ratios beside" } else { "ratios" }) { "\n"
            thead { tr {
                th scope="col" { span.sr { "#" } } th scope="col" { (ratios.label_head) }
                th.axis scope="col" { (ratio_axis(ratios, &x, &ticks, language)) }
                @for head in &ratios.heads { th.number scope="col" { (head) } }
                th scope="col" { span.sr { "verdict" } }
            } } "\n"
            tbody { @for (number, row) in ratios.rows.iter().enumerate() {
                @let is_first = number == 0 || ratios.rows[number - 1].group != row.group;
                (ratio_row(ratios, row, is_first, &x, &ticks)) "\n"
            } } "\n"
        }
    };
    wide(&ratios.spoken, &content)
}

/// The axis holds every ratio and interval, symmetric around equal.
fn axis(ratios: &Ratios) -> (Span, Vec<f64>) {
    let marks = ratios.rows.iter().flat_map(|row| &row.marks);
    let ends = marks.flat_map(|mark| {
        [mark.value, mark.span.map_or(1.0, |span| span.0), mark.span.map_or(1.0, |span| span.1)]
    });
    let far = ends
        .filter(|value| value.is_finite() && *value > 0.0)
        .map(|value| value.max(1.0 / value))
        .fold(1.1, f64::max);
    let far = far.min(FURTHEST) * 1.04;
    let (least, far) = if ratios.has_stems { one_sided(ratios) } else { (1.0 / far, far) };
    let x = Span { low: least, high: far, from: 2.0, to: 98.0, is_log: true };
    let all: Vec<f64> =
        if far.max(1.0 / least) > 1.5 { powers(2.0, least, far) } else { NEAR.to_vec() };
    let shown = |tick: &f64| *tick >= least * 0.999 && *tick <= far * 1.001;
    let mut ticks: Vec<f64> = all.into_iter().filter(shown).collect();
    if far <= 1.5 && far > 1.21 {
        ticks.retain(|tick| ![0.95, 1.05].contains(tick));
    }
    (x, ticks)
}

/// Ends of an axis on which most marks are on one side of equal.
fn one_sided(ratios: &Ratios) -> (f64, f64) {
    let marks = || {
        ratios
            .rows
            .iter()
            .flat_map(|row| &row.marks)
            .map(|mark| mark.value)
            .filter(|value| value.is_finite())
    };
    let (low, high) = (marks().fold(0.95, f64::min), marks().fold(1.05, f64::max));
    (low.max(1.0 / FURTHEST) / 1.04, high.min(FURTHEST) * 1.04)
}

fn ratio_axis(ratios: &Ratios, x: &Span, ticks: &[f64], language: Language) -> Markup {
    html! {
        svg width="100%" height="20" aria-hidden="true" { @for &tick in ticks {
            (text(
                x.place(tick),
                15.0,
                if tick == 1.0 { "m strong" } else { "m" },
                &ratio_name(ratios, tick, language),
            ))
        } }
    }
}

fn ratio_name(ratios: &Ratios, tick: f64, language: Language) -> String {
    match tick {
        1.0 => ratios.equal.clone(),
        0.5 => "½".into(),
        0.25 => "¼".into(),
        0.125 => "⅛".into(),
        tick if tick < 0.1 => format!("1/{}", svg::short(1.0 / tick)),
        tick => format!("{}×", svg::tick(language, tick)),
    }
}

fn ratio_row(ratios: &Ratios, row: &RatioRow, is_first: bool, x: &Span, ticks: &[f64]) -> Markup {
    html! {
        tr.first[is_first] {
            th.group scope="row" { @if is_first { (row.group) } @else { span.sr { (row.group) } } }
            td.label { (row.label) }
            td.plot class=[row.marks.is_empty().then_some("none")]
                title=[(!row.why.is_empty()).then_some(&row.why)] {
                svg width="100%" height=(svg::px(ROW)) aria-hidden="true" {
                    (ratio_ground(row, x, ticks))
                    (ratio_marks(ratios, row, x))
                }
                @if row.marks.is_empty() { span.why { (row.why) } }
            }
            @for (number, cell) in row.cells.iter().enumerate() {
                @let class = match number {
                    0 => format!("number strong {}", svg::tone(row.tone)),
                    _ => "number more".into(),
                };
                td class=(class) { (cell) }
            }
            td.sign title=[(!row.verdict.is_empty()).then_some(&row.verdict)] {
                @if !row.verdict.is_empty() { (svg::sign(row.mark, &row.verdict)) }
            }
        }
    }
}

fn ratio_ground(row: &RatioRow, x: &Span, ticks: &[f64]) -> Markup {
    html! {
        @if let Some((low, high)) = row.noise {
            @let (low, high) = (x.place(low), x.place(high));
            @let width = svg::pct(high - low);
            rect x=(svg::pct(low)) width=(width) height=(svg::px(ROW)) class="noise" {}
        }
        @for &tick in ticks {
            (rule(
                (x.place(tick), 0.0),
                (x.place(tick), ROW),
                if tick == 1.0 { "equal" } else { "grid" },
            ))
        }
    }
}

fn ratio_marks(ratios: &Ratios, row: &RatioRow, x: &Span) -> Markup {
    let middle = ROW / 2.0;
    let class = svg::tone(row.tone);
    let places: Vec<f64> = row.marks.iter().map(|mark| x.place(mark.value)).collect();
    html! {
        @for &tick in &row.ticks {
            (rule((x.place(tick), middle - 6.0), (x.place(tick), middle + 6.0), "tick soft"))
        }
        @if ratios.has_stems {
            @for &place in &places {
                (rule((x.place(1.0), middle), (place, middle), &format!("stem {class}")))
            }
        }
        @if let [first, second] = places.as_slice() {
            (rule((*first, middle), (*second, middle), &format!("stem {class}")))
        }
        @for (drawn, place) in row.marks.iter().zip(&places) {
            @if let Some((low, high)) = drawn.span {
                (rule((x.place(low), middle), (x.place(high), middle), &format!("whisker {class}")))
                @for end in [low, high] {
                    (rule(
                        (x.place(end), middle - 4.0),
                        (x.place(end), middle + 4.0),
                        &format!("whisker {class}"),
                    ))
                }
            }
            @let shape = match (drawn.mark, drawn.is_open, drawn.is_second) {
                (Mark::Valid, true, _) => Shape::Open,
                (Mark::Valid, _, true) => Shape::Second,
                (mark, ..) => Shape::Figure(mark),
            };
            (mark(*place, middle, shape, if drawn.is_second { "p2" } else { class }, ""))
            @if drawn.value > x.high || drawn.value < x.low {
                (text(*place, middle - 6.0, "m", if drawn.value > x.high { "→" } else { "←" }))
            }
        }
    }
}

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
            (least.min(point.1), most.max(point.1))
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
        let perfect = [
            (1.0, 1.0),
            (self.multiple.high.min(self.most_jobs), self.multiple.high.min(self.most_jobs)),
        ];
        let at =
            |(jobs, multiple): (f64, f64)| (self.jobs.place(jobs), self.multiple.place(multiple));
        let shown: Vec<_> = row.curves.iter().take(MAX_LABELS).collect();
        let end = |points: &[(f64, f64, Mark)]| {
            points.last().map_or(PANEL_BOTTOM, |point| at((point.0, point.1)).1) + 4.0
        };
        let wishes: Vec<f64> = shown.iter().map(|curve| end(&curve.points)).collect();
        let places = apart(&wishes, 14.0, PANEL_TOP + 4.0, PANEL_BOTTOM);
        html! {
            @for &tick in ticks.iter().step_by(step) {
                @let name = if tick < 1.0 { ratio_fraction(tick) } else { svg::short(tick) };
                @let class = if tick == 1.0 { "axis" } else { "grid" };
                (Self::grid(self.multiple.place(tick), class, &name))
            }
            (line(&perfect.map(at), PANEL, "perfect"))
            @if let Some(knee) = row.knee {
                (rule(
                    (self.jobs.place(knee), PANEL_TOP),
                    (self.jobs.place(knee), PANEL_BOTTOM),
                    "knee",
                ))
            }
            @for (number, curve) in row.curves.iter().enumerate().rev() {
                @let class = if number == 0 { "main" } else { "rest" };
                @let points = curve.points.iter().map(|point| at((point.0, point.1)));
                @let points: Vec<(f64, f64)> = points.collect();
                (line(&points, PANEL, &format!("curve {class}")))
                @for ((x, y), point) in points.iter().zip(&curve.points) {
                    (mark(*x, *y, Shape::Figure(point.2), class, ""))
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
                        curve.points.last().map(|point| point.1),
                    ),
                ))
            }
        }
    }

    fn times(&self, row: &PanelRow) -> Markup {
        let ticks = powers(10.0, self.time.low, self.time.high);
        let of = |index: usize| -> Vec<(f64, f64)> {
            let known = |times: &crate::picture::Times| {
                Some((self.jobs.place(times.jobs), self.time.place(times.percentiles_us[index]?)))
            };
            row.times.iter().filter_map(known).collect()
        };
        let curves = [of(0), of(1), of(2)];
        let means: Vec<(f64, f64)> = row
            .times
            .iter()
            .filter_map(|times| {
                Some((self.jobs.place(times.jobs), self.time.place(times.mean_us?)))
            })
            .collect();
        let names: Vec<(f64, String, bool)> = ["p50", "p95", "p99"]
            .iter()
            .enumerate()
            .filter_map(|(index, name)| {
                let shown =
                    row.times.iter().rev().find(|times| times.percentiles_us[index].is_some())?;
                Some((
                    curves[index].last()?.1 + 4.0,
                    format!("{name} {}", shown.shown[index]),
                    index == 0,
                ))
            })
            .collect();
        let places = apart(
            &names.iter().map(|name| name.0).collect::<Vec<_>>(),
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
                (line(points, PANEL, if index == 0 { "curve main" } else { "curve thin" }))
                @for (x, y) in points {
                    (mark(*x, *y, Shape::Figure(Mark::Valid), "main small", ""))
                }
            }
            (line(&means, PANEL, "perfect"))
            @for (x, y) in &means { (mark(*x, *y, Shape::Mean, "main", "")) }
            @if names.is_empty() {
                @if let Some(times) = row.times.last() {
                    (text(
                        PANEL_RIGHT + 3.5,
                        means.last().map_or(40.0, |mean| mean.1 + 4.0),
                        "name main",
                        &times.mean_shown,
                    ))
                }
            }
            @for ((_, name, is_main), y) in names.iter().zip(places) {
                (text(PANEL_RIGHT + 3.5, y, if *is_main { "name main" } else { "" }, name))
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
            @for bar in &row.cpu { @for (class, from, to) in stack(&bar.split) {
                @let (top, bottom) = (self.percent.place(to), self.percent.place(from));
                rect x=(svg::pct(self.jobs.place(bar.jobs) - width / 2.0)) y=(svg::px(top))
                    width=(svg::pct(width)) height=(svg::px(bottom - top)) class=(class) {}
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
    let (scale, unit) = [(1e6, "s"), (1e3, "ms")]
        .into_iter()
        .find(|(scale, _)| us >= scale * 0.999)
        .unwrap_or((1.0, "µs"));
    format!("{}\u{a0}{unit}", svg::short(us / scale))
}

/// Class, from and to of each part, from below.
fn stack(split: &CpuSplit) -> Vec<(&'static str, f64, f64)> {
    let parts = [
        ("own", Some(split.own)),
        ("iowait", split.iowait),
        ("foreign", split.foreign),
        ("steal", split.steal),
    ];
    let mut from = 0.0;
    let place = |(class, part): (&'static str, Option<f64>)| {
        let to = (from + part.filter(|part| part.is_finite() && *part > 0.0)?).min(100.0);
        let placed = (class, from, to);
        from = to;
        Some(placed)
    };
    parts.into_iter().filter_map(place).collect()
}

/// Heights of the tracks of the line of time.
const NAMES: f64 = 44.0;
const RATE: f64 = 56.0;
const CPU: f64 = 84.0;
const DEVICE: f64 = 56.0;

/// Most disturbed tests that are listed openly; more are folded.
const MAX_DISTURBED: usize = 12;

/// The whole run; every second is a part of a path.
pub(super) fn timeline(found: &Timeline, language: Language) -> Markup {
    let x = Span { low: 0.0, high: found.length_s, from: 0.0, to: 100.0, is_log: false };
    let words = &found.words;
    let [label, track, key] = ["label", "track", "key"];
    let most = found
        .seconds
        .iter()
        .flat_map(|second| [second.read_mb_s, second.write_mb_s])
        .flatten()
        .fold(0.0, f64::max);
    let content = html! {
        div.timeline { "\n"
            div class=(label) { strong { (words.test) } }
            div class=(track) { (names(found, &x)) } div class=(key) {} "\n"
            div class=(label) { strong { (words.throughput[0]) } " " (words.throughput[1]) }
            div class=(track) { (rates(found, &x)) }
            div class=(key) {
                (key_of("main", &words.in_window))
                (key_of("iowait", &words.warm_up))
            } "\n"
            div class=(label) { strong { (words.cpu[0]) } " " (words.cpu[1]) }
            div class=(track) { (cpu_track(found, &x)) }
            div class=(key) {
                (key_of("steal", &words.steal))
                (key_of("foreign", &words.foreign))
                (key_of("iowait", &words.iowait))
                (key_of("own", &words.own))
            } "\n"
            @if most > 0.0 {
                div class=(label) { strong { (words.device[0]) } " " (words.device[1]) }
                div class=(track) { (device(found, &x, most)) }
                div class=(key) {
                    @let most = svg::tick(language, most.round());
                    (key_of("p2", &format!("{}, {most}", words.read)))
                    (key_of("p4", &words.write))
                } "\n"
            }
            div class=(label) { "min:s" } div class=(track) { (clock(&x)) } div class=(key) {} "\n"
        }
    };
    let notes = html! { ol.disturbed { @for note in &found.notes { li { (note) } } } "\n" };
    html! {
        (wide(&words.test, &content))
        @if found.notes.len() > MAX_DISTURBED {
            details {
                summary { (language.count("disturbed", found.notes.len(), &[])) } "\n"
                (notes)
            } "\n"
        } @else if !found.notes.is_empty() { (notes) }
    }
}

fn key_of(class: &str, word: &str) -> Markup {
    html! { span { i class={ "box " (class) } {} (word) } }
}

fn names(found: &Timeline, x: &Span) -> Markup {
    html! {
        svg width="100%" height=(svg::px(NAMES)) role="img" aria-label=(found.words.test) {
            @for (from, to, group) in &found.groups {
                (rule((x.place(*from), 17.0), (x.place(*to), 17.0), "bar"))
                @if x.place(*to) - x.place(*from) > 2.5 {
                    (text(x.place(*from), 12.0, "strong", group))
                }
            }
            @for test in &found.tests {
                @let middle = x.place((test.from_s + test.to_s) / 2.0);
                g { title { (test.note) }
                    @if found.tests.len() <= 80 { (text(middle, 36.0, "m", &test.jobs)) }
                }
            }
        }
    }
}

/// A rectangle per second that has a value: from and to are heights.
fn bars(found: &[Second], x: &Span, place: impl Fn(&Second) -> Option<(f64, f64)>) -> String {
    let bar = |second: &Second| {
        let (top, bottom) = place(second)?;
        let (left, right) = (x.place(second.from_s), x.place(second.to_s));
        let width = svg::short((right - left).max(0.05) * 0.96);
        let height = svg::short(bottom - top);
        (bottom > top).then(|| {
            format!("M{} {}h{width}v{height}h-{width}z", svg::short(left), svg::short(top))
        })
    };
    found.iter().filter_map(bar).collect()
}

fn rates(found: &Timeline, x: &Span) -> Markup {
    let y = Span { low: 0.0, high: 1.5, from: RATE, to: 0.0, is_log: false };
    let at = |second: &Second, in_window: bool| {
        let middle = y
            .place(second.throughput.filter(|_| second.in_window == in_window)?)
            .clamp(1.5, RATE - 1.5);
        Some((middle - 1.5, middle + 1.5))
    };
    html! {
        svg width="100%" height=(svg::px(RATE)) role="img"
            aria-label={ (found.words.throughput[0]) " " (found.words.throughput[1]) } {
            rect width="100%" height=(svg::px(RATE)) class="ground" {}
            (rule((0.0, y.place(1.0)), (100.0, y.place(1.0)), "axis"))
            (stretched(&bars(&found.seconds, x, |second| at(second, false)), RATE, "area iowait"))
            (stretched(&bars(&found.seconds, x, |second| at(second, true)), RATE, "area main"))
            text x="4" y=(svg::px(y.place(1.0) - 4.0)) { "100 %" }
        }
    }
}

fn cpu_track(found: &Timeline, x: &Span) -> Markup {
    let y = Span { low: 0.0, high: 100.0, from: CPU, to: 0.0, is_log: false };
    let at = |second: &Second, class: &str| {
        let stacked = stack(second.cpu.as_ref()?);
        let (_, from, to) = stacked.into_iter().find(|part| part.0 == class)?;
        Some((y.place(to), y.place(from)))
    };
    html! {
        svg.cpu width="100%" height=(svg::px(CPU)) role="img"
            aria-label={ (found.words.cpu[0]) " " (found.words.cpu[1]) } {
            rect width="100%" height=(svg::px(CPU)) class="ground" {}
            @for class in ["own", "iowait", "foreign", "steal"] {
                (stretched(
                    &bars(&found.seconds, x, |second| at(second, class)),
                    CPU,
                    &format!("area {class}"),
                ))
            }
            @for badge in badges(found, x) {
                @let half = if badge.first == badge.last { 9 } else { 17 };
                g.number { title { (badge.note) }
                    svg.over x=(svg::pct(badge.middle())) y="10" {
                        rect x=(-half) y="-9" width=(2 * half) height="18" rx="9" {}
                        text.m y="4" { (badge.label()) }
                    }
                }
            }
        }
    }
}

/// The number of a disturbed test, or those of several that would cover one another.
#[derive(Debug, Clone, PartialEq)]
struct Badge {
    first: usize,
    last: usize,
    /// Places of its first and its last test, in per cent.
    from: f64,
    to: f64,
    note: String,
}

impl Badge {
    /// So wide is a badge on the narrowest line of time, in per cent.
    fn width(&self) -> f64 {
        if self.first == self.last { 2.7 } else { 5.0 }
    }

    fn middle(&self) -> f64 {
        f64::midpoint(self.from, self.to)
    }

    fn label(&self) -> String {
        match self.last - self.first {
            0 => self.first.to_string(),
            _ => format!("{}–{}", self.first, self.last),
        }
    }
}

fn badges(found: &Timeline, x: &Span) -> Vec<Badge> {
    let mut badges: Vec<Badge> = Vec::new();
    for test in &found.tests {
        let Some(number) = test.number else { continue };
        let at = x.place(f64::midpoint(test.from_s, test.to_s));
        let note = test.note.clone();
        badges.push(Badge { first: number, last: number, from: at, to: at, note });
        // One that grows may reach the one before it.
        while let [.., before, last] = badges.as_slice() {
            if last.middle() - before.middle() >= f64::midpoint(before.width(), last.width()) {
                break;
            }
            let note = format!("{}; {}", before.note, last.note);
            let (first, from) = (before.first, before.from);
            let joined = Badge { first, from, note, ..last.clone() };
            badges.truncate(badges.len() - 2);
            badges.push(joined);
        }
    }
    badges
}

fn device(found: &Timeline, x: &Span, most: f64) -> Markup {
    let middle = DEVICE / 2.0;
    let size = |value: f64| (value / most).max(0.0).sqrt() * middle;
    html! {
        svg width="100%" height=(svg::px(DEVICE)) role="img"
            aria-label={ (found.words.device[0]) " " (found.words.device[1]) } {
            rect width="100%" height=(svg::px(DEVICE)) class="ground" {}
            (stretched(
                &bars(&found.seconds, x, |second| Some((middle - size(second.read_mb_s?), middle))),
                DEVICE,
                "area p2",
            ))
            (stretched(
                &bars(&found.seconds, x, |second| {
                    Some((middle, middle + size(second.write_mb_s?)))
                }),
                DEVICE,
                "area p4",
            ))
            (rule((0.0, middle), (100.0, middle), "axis"))
        }
    }
}

fn clock(x: &Span) -> Markup {
    const STEPS: [f64; 10] = [1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 14_400.0];
    let step = STEPS.into_iter().find(|step| x.high / step <= 14.0).unwrap_or(x.high / 10.0);
    let times = (0..).map(|number| step * f64::from(number)).take_while(|time| *time <= x.high);
    html! {
        svg width="100%" height="20" aria-hidden="true" { @for time in times {
            (rule((x.place(time), 0.0), (x.place(time), 4.0), "axis"))
            (text(
                x.place(time),
                17.0,
                if time == 0.0 { "" } else { "m" },
                &format!("{}:{:02}", (time / 60.0).floor(), (time % 60.0).round()),
            ))
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::TimelineTest;

    #[test]
    fn badges_do_not_cover_one_another_and_none_is_lost() {
        let test = |number: usize, at: f64| TimelineTest {
            from_s: at,
            to_s: at,
            number: Some(number),
            ..TimelineTest::default()
        };
        let places = [1.0, 2.0, 3.5, 30.0, 60.0, 61.0, 66.0];
        let tests = (1..).zip(places).map(|(number, at)| test(number, at)).collect();
        let found = Timeline { length_s: 100.0, tests, ..Timeline::default() };
        let x = Span { low: 0.0, high: 100.0, from: 0.0, to: 100.0, is_log: false };
        let badges = badges(&found, &x);
        let labels: Vec<String> = badges.iter().map(Badge::label).collect();
        assert_eq!(labels, ["1–3", "4", "5–6", "7"]);
        for pair in badges.windows(2) {
            let apart = pair[1].middle() - pair[0].middle();
            assert!(apart >= f64::midpoint(pair[0].width(), pair[1].width()), "{pair:?}");
        }
    }
}
