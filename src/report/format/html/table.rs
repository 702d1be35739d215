//! Tables of a page: they scroll inside their own box.

use super::{escape, wide};
use crate::model::Status;
use crate::report::document::{Cell, Table};
use crate::report::format::{LEGEND, is_marked, is_number, shown, superscript};

/// From this many columns on a table is printed in small type, so that it is not cut.
const MANY_COLUMNS: usize = 16;
/// More columns than these do not fit on a sheet: those of least priority are for the screen.
const PAPER_COLUMNS: usize = 28;

/// The table with its footnotes and remarks.
pub(super) fn table(table: &Table) -> String {
    let screen = screen_only(table);
    let head = table.columns.iter().enumerate().map(|(position, column)| {
        let unit = column.unit.iter().map(|unit| format!("<span class=\"unit\">{}</span>", escape(unit)));
        let number = if is_number(table, position) { "number" } else { "" };
        let class = classes(&[number, if screen[position] { "screen" } else { "" }]);
        format!("<th scope=\"col\"{class}>{}{}</th>", escape(&column.name), unit.collect::<String>())
    });
    let cells = |row: &Vec<Cell>| -> String {
        row.iter().zip(&screen).map(|(content, screen)| cell(content, *screen)).collect()
    };
    let rows = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row)));
    let (head, rows) = (head.collect::<String>(), rows.collect::<String>());
    let many = if table.columns.len() >= MANY_COLUMNS { " class=\"many\"" } else { "" };
    let content = format!(
        "<table{many}>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}</tbody>
</table>"
    );
    wide(&escape(&table.name), &content) + &paper_note(table) + &notes(table)
}

/// Which columns are left out on paper: those with the highest priority numbers, of equal ones the last.
fn screen_only(table: &Table) -> Vec<bool> {
    let mut by_need: Vec<usize> = (0..table.columns.len()).collect();
    by_need.sort_by_key(|&column| table.columns[column].priority);
    let mut screen = vec![false; table.columns.len()];
    for &column in by_need.iter().skip(PAPER_COLUMNS).filter(|&&column| table.columns[column].priority > 0) {
        screen[column] = true;
    }
    screen
}

fn cell(cell: &Cell, is_screen_only: bool) -> String {
    let text = escape(&shown(cell));
    let (kind, mark) = match cell {
        Cell::Number { verdict, .. } => ("number", class(*verdict)),
        Cell::Unknown(_) => ("number", "unknown"),
        Cell::Verdict(status) => ("verdict", class(Some(*status))),
        Cell::Empty | Cell::Text(_) => ("", ""),
    };
    format!("<td{}>{text}</td>", classes(&[kind, mark, if is_screen_only { "screen" } else { "" }]))
}

/// The attribute with those names that are not empty.
fn classes(names: &[&str]) -> String {
    let names: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
    if names.is_empty() { String::new() } else { format!(" class=\"{}\"", names.join(" ")) }
}

/// The class that colours what is not valid.
fn class(verdict: Option<Status>) -> &'static str {
    match verdict {
        Some(Status::Conditional) => "conditional",
        Some(Status::Invalid) => "invalid",
        Some(Status::Valid) | None => "",
    }
}

/// Says on paper what is not there.
fn paper_note(table: &Table) -> String {
    match screen_only(table).iter().filter(|screen| **screen).count() {
        0 => String::new(),
        left_out => format!(
            "<p class=\"paper\">{left_out} columns are left out on paper; the page on a screen, CSV and the workbook \
             show them.</p>\n"
        ),
    }
}

/// Footnotes, the legend of marks and the remarks of a table.
pub(in crate::report::format) fn notes(table: &Table) -> String {
    let footnotes = table.footnotes.iter().enumerate().map(|(index, why)| format!("{} {why}", superscript(index + 1)));
    let legend = is_marked(&table.rows).then(|| LEGEND.to_owned());
    let all = footnotes.chain(legend).chain(table.remarks.iter().cloned());
    let items: String = all.map(|note| format!("<li>{}</li>\n", escape(&note))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"notes\">\n{items}</ul>\n") }
}
