//! Tables of a page: they scroll inside their own box. In a heatmap the ground of a cell is one of
//! eleven shades of one hue, from 0 to the best; a sign marks the best, and hatching an invalid
//! figure.

use maud::{Markup, html};

use super::wide;
use crate::Language;
use crate::document::{Cell, HeatCell, HeatRow, Heatmap, Table};
use crate::format::{LEGEND, heat_shown, is_marked, is_number, shown, superscript};
use dbdyno_core::analysis::heatmap::Rank;
use dbdyno_core::model::Status;

/// Number of columns from which on a table is printed in small type, so that it is not cut.
const MANY_COLUMNS: usize = 16;
/// More notes than these are folded.
const MAX_NOTES: usize = 5;
/// A text of more letters than these is broken into lines.
const LONG_TEXT: usize = 60;
/// Number of rows from which on a table scrolls in a box of its own, below its head.
const TALL: usize = 40;
/// Number of columns that a wide table shows at first; a switch shows all.
const FIRST_COLUMNS: usize = 8;
/// More columns than these do not fit on a sheet: those of least priority are for the screen.
const PAPER_COLUMNS: usize = 27;

/// The table with its footnotes and remarks.
pub(super) fn table(table: &Table) -> Markup {
    let table = &move_verdict_to_front(table.without_unknown_columns());
    let places = places(table);
    let many = if table.columns.len() >= MANY_COLUMNS { " many" } else { "" };
    let tall = if table.rows.len() >= TALL { " tall" } else { "" };
    let content = html! {
        table class={ "sortable" (many) (tall) } { "\n"
            thead { tr {
                @for (position, column) in table.columns.iter().enumerate() {
                    @let number = if is_number(table, position) { "number" } else { "" };
                    th scope="col" class=[classes(number, "", places[position])] {
                        (column.name) @if let Some(unit) = &column.unit { span.unit { (unit) } }
                    }
                }
            } } "\n"
            tbody { "\n"
                @for row in &table.rows {
                    tr {
                        @for (content, shown) in row.iter().zip(&places) {
                            (cell(content, table.language, *shown))
                        }
                    } "\n"
                }
            } "\n"
        }
    };
    html! {
        (switch(&places, table.language))
        (wide(&table.name, &content))
        (paper_note(&places, table.language))
        (notes(table))
    }
}

/// The columns that stand in front of a wide table: the workload and its verdict.
fn front(table: &Table) -> Vec<usize> {
    let place = |english: &str| {
        let name = table.language.phrase(english);
        table.columns.iter().position(|column| column.name == name)
    };
    [place("Workload"), place("Verdict")].into_iter().flatten().collect()
}

/// A table of many columns with the workload and its verdict in front: the first column stays where
/// it is when the others scroll.
fn move_verdict_to_front(table: Table) -> Table {
    if table.columns.len() < MANY_COLUMNS {
        return table;
    }
    let first = front(&table);
    let others = (0..table.columns.len()).filter(|at| !first.contains(at));
    let order: Vec<usize> = first.iter().copied().chain(others).collect();
    let row = |row: &Vec<Cell>| order.iter().map(|at| row[*at].clone()).collect();
    Table {
        columns: order.iter().map(|at| table.columns[*at].clone()).collect(),
        rows: table.rows.iter().map(row).collect(),
        ..table.clone()
    }
}

/// The columns beyond the `most` that are needed first: those in front, then those with the lowest
/// priority numbers, of equal ones the first.
fn beyond(table: &Table, most: usize, front: &[usize]) -> Vec<usize> {
    let mut by_need: Vec<usize> = (0..table.columns.len()).collect();
    by_need.sort_by_key(|at| (!front.contains(at), table.columns[*at].priority));
    by_need.split_off(most.min(by_need.len()))
}

/// Media and states in which a column is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ColumnVisibility {
    /// Left out on paper.
    is_screen_only: bool,
    /// Left out on the screen, until the reader switches all columns on.
    is_extra: bool,
}

fn places(table: &Table) -> Vec<ColumnVisibility> {
    let mut places = vec![ColumnVisibility::default(); table.columns.len()];
    for column in beyond(table, PAPER_COLUMNS, &[]) {
        places[column].is_screen_only = table.columns[column].priority > 0;
    }
    if table.columns.len() >= MANY_COLUMNS {
        for column in beyond(table, FIRST_COLUMNS, &front(table)) {
            places[column].is_extra = true;
        }
    }
    places
}

/// The switch that shows all columns of a wide table; it needs no script.
fn switch(places: &[ColumnVisibility], language: Language) -> Markup {
    html! {
        @if places.iter().any(|shown| shown.is_extra) {
            label.columns {
                input type="checkbox";
                (language.phrase("all columns"))
                " ("
                (places.len())
                ")"
            } "\n"
        }
    }
}

fn cell(cell: &Cell, language: Language, place: ColumnVisibility) -> Markup {
    let (kind, mark) = match cell {
        Cell::Number { verdict, .. } | Cell::Bound { verdict, .. } => ("number", class(*verdict)),
        Cell::Unknown(_) => ("number", "unknown"),
        Cell::Verdict(status) => ("verdict", class(Some(*status))),
        Cell::Text(text) if text.chars().count() > LONG_TEXT => ("long", ""),
        Cell::Empty | Cell::Text(_) => ("", ""),
    };
    html! { td class=[classes(kind, mark, place)] { (shown(cell, language)) } }
}

/// The classes of a cell, if it has any.
fn classes(kind: &str, mark: &str, place: ColumnVisibility) -> Option<String> {
    let screen = if place.is_screen_only { "screen" } else { "" };
    let extra = if place.is_extra { "extra" } else { "" };
    let names = [kind, mark, screen, extra].into_iter().filter(|name| !name.is_empty());
    Some(names.collect::<Vec<_>>().join(" ")).filter(|names| !names.is_empty())
}

/// Class of the style sheet for figures that are not valid.
fn class(verdict: Option<Status>) -> &'static str {
    match verdict {
        Some(Status::Conditional) => "conditional",
        Some(Status::Invalid) => "invalid",
        Some(Status::Valid) | None => "",
    }
}

/// Note on paper about columns that are left out.
fn paper_note(places: &[ColumnVisibility], language: Language) -> Markup {
    let left_out = places.iter().filter(|shown| shown.is_screen_only).count();
    html! {
        @if left_out > 0 { p.paper { (language.count("left_out_on_paper", left_out, &[])) } "\n" }
    }
}

/// Footnotes, the legend of marks and the remarks of a table.
fn notes(table: &Table) -> Markup {
    let footnotes = table
        .footnotes
        .iter()
        .enumerate()
        .map(|(index, why)| format!("{} {why}", superscript(index + 1)));
    let legend = is_marked(&table.rows).then(|| table.language.phrase(LEGEND));
    let all: Vec<String> = footnotes.chain(legend).chain(table.remarks.iter().cloned()).collect();
    let list = html! { ul.notes { "\n" @for note in &all { li { (note) } "\n" } } };
    html! {
        @if all.len() > MAX_NOTES {
            details { summary { (table.language.count("notes", all.len(), &[])) } "\n" (list) } "\n"
        } @else if !all.is_empty() { (list) "\n" }
    }
}

/// The heatmap as a table with its notes.
pub(super) fn heatmap(map: &Heatmap) -> Markup {
    let unit = map.language.phrase("Unit");
    let names =
        [map.row_title.as_str(), &unit].into_iter().chain(map.columns.iter().map(String::as_str));
    let content = html! {
        table.heatmap { "\n"
            thead { tr {
                @for (position, name) in names.enumerate() {
                    th scope="col" class=[(position > 1).then_some("number")] { (name) }
                }
            } } "\n"
            tbody { "\n" @for row in &map.rows { (heat_row(row, map.language)) } } "\n"
        }
    };
    html! { (wide(&map.name, &content)) (notes(&map.as_table())) }
}

fn heat_row(row: &HeatRow, language: Language) -> Markup {
    html! {
        tr {
            th scope="row" { (row.label) } td { (row.unit) }
            @for cell in &row.cells {
                td class={ "number " (heat(cell)) } title=[cell.note.as_ref()] {
                    (heat_shown(cell, language))
                }
            }
        } "\n"
    }
}

/// The class of a cell: eleven grounds of one hue from 0 to the best, hatched if it is invalid,
/// none if it supports nothing.
fn heat(cell: &HeatCell) -> String {
    match (cell.share, &cell.cell) {
        (Some(share), _) => {
            let best = if cell.rank == Some(Rank::Best) { " best" } else { "" };
            format!("h{}{best}", (share.clamp(0.0, 1.0) * 10.0).round())
        }
        (None, Cell::Number { verdict: Some(Status::Invalid), .. }) => "hatched".into(),
        (None, Cell::Number { verdict: Some(Status::Conditional), .. }) => "conditional".into(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Column, Digits};
    use dbdyno_core::model::Better;

    #[test]
    fn a_wide_table_shows_eight_columns_first_and_a_switch_shows_all() {
        let columns = |count: usize| {
            let mut columns: Vec<Column> = (0..count - 2)
                .map(|at| Column::new(format!("c{at}"), "", u8::try_from(at % 5).unwrap()))
                .collect();
            columns.push(Column::new("Workload", "", 0));
            columns.push(Column::new("Verdict", "", 9));
            columns
        };
        let shown = |count: usize| {
            let mut table = Table::new(Language::English, "kpm", columns(count));
            table.rows.push(vec![Cell::text("x"); count]);
            super::table(&table).into_string()
        };
        let wide = shown(20);
        assert_eq!(wide.matches("<td>").count(), FIRST_COLUMNS, "{wide}");
        assert_eq!(wide.matches("<td class=\"extra\">").count(), 20 - FIRST_COLUMNS);
        assert!(wide.contains("<input type=\"checkbox\">all columns (20)"), "{wide}");
        let first = wide.split("<th scope=\"col\">").skip(1);
        let first: Vec<&str> = first.map(|part| part.split('<').next().unwrap()).collect();
        assert_eq!(first, ["Workload", "Verdict", "c0", "c1", "c5", "c6", "c10", "c15"]);
        let narrow = shown(MANY_COLUMNS - 1);
        assert!(!narrow.contains("extra") && !narrow.contains("checkbox"), "{narrow}");
    }

    #[test]
    fn cells_have_a_ground_a_sign_and_their_note() {
        let number = |verdict| Cell::Number {
            value: 1.0,
            digits: Digits::Decimals(0),
            verdict: Some(verdict),
        };
        let best = HeatCell {
            share: Some(1.0),
            rank: Some(Rank::Best),
            note: Some("at \"8\" jobs".into()),
            ..HeatCell::bare(number(Status::Valid))
        };
        let invalid = HeatCell::bare(number(Status::Invalid));
        let row = HeatRow {
            label: "<T1>".into(),
            unit: "s".into(),
            better: Better::Lower,
            cells: vec![best, invalid],
        };
        let map = Heatmap {
            columns: vec!["a".into(), "b".into()],
            rows: vec![row],
            ..Heatmap::default()
        };
        let page = heatmap(&map).into_string();
        for part in [
            "<th scope=\"row\">&lt;T1&gt;</th>",
            "class=\"number h10 best\" title=\"at &quot;8&quot; jobs\">1*</td>",
            "class=\"number hatched\">1!</td>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
