//! Tables of a page: they scroll inside their own box.

use super::{escape, wide};
use crate::model::Status;
use crate::report::document::{Cell, Table};
use crate::report::format::{LEGEND, is_marked, is_number, shown, superscript};

/// From this many columns on a table is printed in small type, so that it is not cut.
const MANY_COLUMNS: usize = 16;

/// The table with its footnotes and remarks.
pub(super) fn table(table: &Table) -> String {
    let head = table.columns.iter().enumerate().map(|(position, column)| {
        let unit = column.unit.iter().map(|unit| format!("<span class=\"unit\">{}</span>", escape(unit)));
        let class = if is_number(table, position) { " class=\"number\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}{}</th>", escape(&column.name), unit.collect::<String>())
    });
    let rows = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>()));
    let (head, rows) = (head.collect::<String>(), rows.collect::<String>());
    let many = if table.columns.len() >= MANY_COLUMNS { " class=\"many\"" } else { "" };
    let content = format!(
        "<table{many}>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}</tbody>
</table>"
    );
    wide(&escape(&table.name), &content) + &notes(table)
}

fn cell(cell: &Cell) -> String {
    let text = escape(&shown(cell));
    match cell {
        Cell::Number { verdict, .. } => format!("<td class=\"number{}\">{text}</td>", class(*verdict)),
        Cell::Unknown(_) => format!("<td class=\"number unknown\">{text}</td>"),
        Cell::Verdict(status) => format!("<td class=\"verdict{}\">{text}</td>", class(Some(*status))),
        Cell::Empty | Cell::Text(_) => format!("<td>{text}</td>"),
    }
}

/// The class that colours what is not valid.
fn class(verdict: Option<Status>) -> &'static str {
    match verdict {
        Some(Status::Conditional) => " conditional",
        Some(Status::Invalid) => " invalid",
        Some(Status::Valid) | None => "",
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
