//! A heatmap on a terminal: colored cells where there are colors, signs everywhere. Where the
//! platforms do not fit side by side, they follow in further blocks: none is left out.

use super::layout::{GAP, Layout, blocks, length};
use super::text::notes;
use super::{Color, Options, heat_shown, shown};
use crate::Language;
use crate::document::{Cell, HeatCell, HeatRow, Heatmap};
use crate::shade::{Rgb, ground, text_on};
use dbdyno_core::model::Status;

/// Label and unit stand before the platforms.
const LEADING: usize = 2;

/// The lines of a heatmap.
pub(super) fn lines(map: &Heatmap, options: Options) -> Vec<String> {
    let whole = layout(map);
    let mut lines = Vec::new();
    for block in blocks(&whole.widths, LEADING, options.table_width) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let columns: Vec<usize> = (0..LEADING).chain(block).collect();
        lines.extend(block_lines(map, &whole.with_columns(&columns), &columns, options));
    }
    lines.extend(notes(&map.as_table(), options.width));
    lines
}

fn layout(map: &Heatmap) -> Layout {
    let row = |row: &HeatRow| {
        let leading = [row.label.clone(), row.unit.clone()];
        leading.into_iter().chain(row.cells.iter().map(|cell| text(cell, map.language))).collect()
    };
    let right = (0..LEADING + map.columns.len()).map(|position| position >= LEADING).collect();
    Layout::new(&map.as_table().columns, map.rows.iter().map(row).collect(), right)
}

/// The figure with its sign; without one a space keeps digits below digits.
fn text(cell: &HeatCell, language: Language) -> String {
    match cell.cell {
        Cell::Number { .. } => {
            format!("{:<1$}", heat_shown(cell, language), length(&shown(&cell.cell, language)) + 1)
        }
        _ => heat_shown(cell, language),
    }
}

fn block_lines(map: &Heatmap, layout: &Layout, columns: &[usize], options: Options) -> Vec<String> {
    let mut lines = layout.head_lines();
    for (row, texts) in map.rows.iter().zip(&layout.rows) {
        let cells = layout.padded(texts).into_iter().zip(columns).map(|(text, &column)| {
            let cell = column.checked_sub(LEADING).and_then(|platform| row.cells.get(platform));
            cell.map_or(text.clone(), |cell| paint(&text, cell, options.color))
        });
        lines.push(cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned());
    }
    lines
}

/// The cell on its ground; invalid figures are struck through.
fn paint(text: &str, cell: &HeatCell, color: Color) -> String {
    match (color, cell.share, &cell.cell) {
        (Color::None, _, _) => text.to_owned(),
        (Color::True, Some(share), _) => {
            let ground = ground(share);
            let (below, letters) = (parameters(ground), parameters(text_on(ground)));
            format!("\x1b[48;2;{below};38;2;{letters}m{text}\x1b[0m")
        }
        (Color::Indexed, Some(share), _) => {
            let ground = ground(share).nearest_indexed();
            let letters = text_on(ground.color).nearest_indexed();
            format!("\x1b[48;5;{};38;5;{}m{text}\x1b[0m", ground.index, letters.index)
        }
        (_, None, Cell::Number { verdict: Some(Status::Invalid), .. }) => {
            format!("\x1b[9m{text}\x1b[0m")
        }
        _ => text.to_owned(),
    }
}

/// The color as the parameters of an escape sequence.
fn parameters(color: Rgb) -> String {
    format!("{};{};{}", color.red, color.green, color.blue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Digits;
    use dbdyno_core::analysis::heatmap::Rank;
    use dbdyno_core::model::Better;

    fn cell(value: f64, share: Option<f64>, rank: Rank) -> HeatCell {
        let verdict = Some(if share.is_some() { Status::Valid } else { Status::Invalid });
        let number = Cell::Number { value, digits: Digits::Decimals(0), verdict };
        HeatCell { share, rank: Some(rank), ..HeatCell::bare(number) }
    }

    fn sample() -> Heatmap {
        let cells = vec![
            cell(500.0, Some(0.5), Rank::Below),
            cell(1_000.0, Some(1.0), Rank::Best),
            cell(990.0, Some(0.99), Rank::Equal),
            cell(2_000.0, None, Rank::Below),
        ];
        Heatmap {
            row_title: "Workload".into(),
            columns: ["a", "b", "c", "d"].map(String::from).to_vec(),
            rows: vec![HeatRow {
                label: "T132".into(),
                unit: "ops/s".into(),
                better: Better::Higher,
                cells,
            }],
            ..Heatmap::default()
        }
    }

    #[test]
    fn without_colours_signs_tell_the_best_and_its_equals() {
        let text = lines(&sample(), Options::plain(80)).join("\n");
        assert!(text.contains("T132      ops/s  500   1,000*  990~  2,000!"), "{text}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn every_platform_is_shown_at_any_width() {
        let text = lines(&sample(), Options::plain(30)).join("\n");
        assert!(text.lines().all(|line| length(line) <= 30), "{text}");
        assert_eq!(text.matches("T132").count(), 2, "{text}");
        for figure in ["500", "1,000*", "990~", "2,000!"] {
            assert!(text.contains(figure), "{text}");
        }
    }

    #[test]
    fn colours_are_those_of_the_terminal() {
        let all = lines(&sample(), Options { color: Color::True, ..Options::plain(80) }).join("\n");
        assert!(all.contains("\x1b[48;2;75;143;200;38;2;0;0;0m1,000*\x1b[0m"), "{all:?}");
        assert!(all.contains("\x1b[9m2,000! \x1b[0m"), "{all:?}");
        let few =
            lines(&sample(), Options { color: Color::Indexed, ..Options::plain(80) }).join("\n");
        assert!(few.contains("\x1b[48;5;68;38;5;16m1,000*\x1b[0m"), "{few:?}");
    }
}
