//! Ratios on one axis: a table whose middle cells are drawn.

use maud::{Markup, html};

use super::svg::{self, Shape, Span, mark, powers, rule, text};
use super::wide;
use crate::Language;
use crate::picture::{Mark, RatioRow, Ratios};

/// Height of a row of ratios.
const ROW: f64 = 26.0;
/// Ratios further away are drawn at the edge with an arrow.
const FURTHEST: f64 = 16.0;

/// Least distance of two labels on the narrow axis of a sheet, in percent of its width.
const LABEL_PERCENT: f64 = 35.0;

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
    let ticks = if ratios.has_stems { apart(&x, &ticks) } else { ticks };
    (x, ticks)
}

/// Equal, and those steps to either side of it whose labels do not touch one another.
fn apart(x: &Span, ticks: &[f64]) -> Vec<f64> {
    let mut kept = vec![1.0];
    for side in [
        ticks.iter().rev().filter(|tick| **tick < 1.0).collect::<Vec<_>>(),
        ticks.iter().filter(|tick| **tick > 1.0).collect(),
    ] {
        let mut last = 1.0;
        for &tick in side {
            if (x.place(tick) - x.place(last)).abs() >= LABEL_PERCENT {
                kept.push(tick);
                last = tick;
            }
        }
    }
    kept.sort_by(f64::total_cmp);
    kept
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
    let (low, high) = (marks().fold(1.0, f64::min), marks().fold(1.0, f64::max));
    // Neither side of equal is drawn where no mark is; an axis is never empty.
    let low = if low < 1.0 || high == 1.0 { low.clamp(1.0 / FURTHEST, 0.95) / 1.04 } else { 0.98 };
    let high = if high > 1.0 { high.clamp(1.05, FURTHEST) * 1.04 } else { 1.02 };
    (low, high)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::RatioMark;

    fn of(values: &[f64]) -> Ratios {
        let mark = |value: &f64| RatioMark { value: *value, ..RatioMark::default() };
        let row = RatioRow { marks: values.iter().map(mark).collect(), ..RatioRow::default() };
        Ratios { rows: vec![row], has_stems: true, ..Ratios::default() }
    }

    #[test]
    fn the_labels_of_a_narrow_axis_do_not_touch() {
        for values in [[0.99, 0.97], [0.9, 1.0], [0.72, 1.0], [0.3, 0.8], [1.3, 1.9], [0.9, 1.2]] {
            let (x, ticks) = axis(&of(&values));
            assert!(ticks.contains(&1.0), "{values:?}");
            for pair in ticks.windows(2) {
                let distance = x.place(pair[1]) - x.place(pair[0]);
                assert!(distance >= LABEL_PERCENT, "{values:?}: {ticks:?}");
            }
        }
    }

    #[test]
    fn a_side_without_marks_is_not_drawn() {
        let (x, ticks) = axis(&of(&[0.99, 0.97]));
        assert!(x.high < 1.05 && ticks == [0.95, 1.0], "{ticks:?}");
        let (x, _) = axis(&of(&[1.3, 1.9]));
        assert!(x.low > 0.95);
        let (x, _) = axis(&of(&[1.0]));
        assert!(x.low < 0.95 && x.high > 1.0);
    }
}
