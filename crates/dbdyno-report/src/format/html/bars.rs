//! Bars of a page: a table whose middle cells are drawn.

use maud::{Markup, html};

use super::svg::{self, pct, px};
use super::wide;
use crate::document::{BarRow, Bars};
use crate::picture::Mark;
use dbdyno_core::model::Status;

/// Height of a row, and of its bar.
const ROW: f64 = 22.0;
const BAR: f64 = 14.0;
/// Colors of parts.
const COLORS: usize = 8;

/// The bars with their legend.
pub(super) fn bars(bars: &Bars) -> Markup {
    let language = bars.language;
    let content = html! {
        @if !bars.legend.is_empty() {
            ul.legend { @for (number, name) in bars.legend.iter().enumerate() {
                li { i class={ "box bar " (color(number)) } {} " " (name) }
            } } "\n"
        }
        table.bars { "\n"
            tbody { @for (number, row) in bars.rows.iter().enumerate() {
                @let is_first = number == 0 || bars.rows[number - 1].group != row.group;
                tr.first[is_first] {
                    th.group scope="row" {
                        @if is_first { (row.group) } @else { span.sr { (row.group) } }
                    }
                    td.label { (row.label) }
                    td.plot { (drawn(row)) }
                    td.number { (row.shown) }
                    td.sign {
                        @if let Some(status) = row.verdict {
                            (svg::sign(mark(row, status), &language.verdict(status)))
                        }
                    }
                } "\n"
            } } "\n"
        }
    };
    wide(&bars.name, &content)
}

/// Mark as on the cards: what others disturbed has a sign of its own.
fn mark(row: &BarRow, status: Status) -> Mark {
    match status {
        Status::Conditional if row.is_disturbed => Mark::Disturbed,
        status => status.into(),
    }
}

fn drawn(row: &BarRow) -> Markup {
    let share = |value: f64| if row.full > 0.0 { 100.0 * value / row.full } else { 0.0 };
    let starts = row.parts.iter().scan(0.0, |start, part| {
        let from = *start;
        *start += part.value;
        Some(from)
    });
    html! {
        svg width="100%" height=(px(ROW)) role="img" aria-label=(spoken(row)) {
            @for (part, from) in row.parts.iter().zip(starts) {
                rect x=(pct(share(from))) y=(px((ROW - BAR) / 2.0))
                    width=(pct(share(part.value))) height=(px(BAR))
                    class={ "bar " (color(part.color)) } {
                    title { (part.note) }
                }
            }
        }
    }
}

fn spoken(row: &BarRow) -> String {
    row.parts.iter().map(|part| part.note.as_str()).collect::<Vec<_>>().join(", ")
}

fn color(number: usize) -> String {
    format!("p{}", number % COLORS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::BarPart;

    #[test]
    fn parts_follow_one_another_and_names_are_texts() {
        let part = |value, color| BarPart { value, color, note: "<b>".into() };
        let row = BarRow {
            group: "g".into(),
            label: "a & b".into(),
            parts: vec![part(25.0, 0), part(75.0, 1)],
            full: 100.0,
            shown: "x".into(),
            verdict: Some(Status::Conditional),
            is_disturbed: false,
        };
        let drawn = bars(&Bars { rows: vec![row.clone()], ..Bars::default() }).into_string();
        for piece in ["x=\"25%\"", "width=\"75%\"", "a &amp; b", "&lt;b&gt;", "conditional"] {
            assert!(drawn.contains(piece), "no {piece} in {drawn}");
        }
        let disturbed = BarRow { is_disturbed: true, ..row.clone() };
        let rows = vec![row, disturbed];
        let drawn_rows = bars(&Bars { rows, ..Bars::default() }).into_string();
        assert_eq!(drawn_rows.matches("#v-disturbed").count(), 1, "{drawn_rows}");
        let nothing = BarRow { full: 0.0, parts: vec![part(1.0, 0)], ..BarRow::default() };
        let empty = bars(&Bars { rows: vec![nothing], ..Bars::default() }).into_string();
        assert!(!empty.contains("NaN") && !empty.contains("inf"));
    }
}
