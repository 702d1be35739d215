//! A heatmap on a page: grounds and text colours stand in the cells themselves, so that they print and are the same in
//! light and dark; a sign tells the best, and hatching an invalid figure, without colours.

use super::heat_shown;
use super::html::{escape, notes, wide};
use crate::model::Status;
use crate::report::document::{Cell, HeatCell, HeatRow, Heatmap};
use crate::report::shade::{ground, text_on};

/// Grey hatching under an invalid figure, on any ground.
const HATCHED: &str = "background:repeating-linear-gradient(45deg,transparent 0 6px,rgba(128,128,128,.35) 6px 9px);\
text-decoration:line-through";

/// The heatmap as a table with its notes.
pub(super) fn table(map: &Heatmap) -> String {
    let names = [map.row_title.as_str(), "Unit"].into_iter().chain(map.columns.iter().map(String::as_str));
    let head = names.enumerate().map(|(position, name)| {
        let class = if position > 1 { " class=\"number\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}</th>", escape(name))
    });
    let (head, rows) = (head.collect::<String>(), map.rows.iter().map(row).collect::<String>());
    let content = format!(
        "<table class=\"heatmap\">\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table>"
    );
    wide(&escape(&map.name), &content) + &notes(&map.as_table())
}

fn row(row: &HeatRow) -> String {
    let cells = row.cells.iter().map(cell).collect::<String>();
    format!("<tr><th scope=\"row\">{}</th><td>{}</td>{cells}</tr>\n", escape(&row.label), escape(&row.unit))
}

fn cell(cell: &HeatCell) -> String {
    let title = cell.note.iter().map(|note| format!(" title=\"{}\"", escape(note))).collect::<String>();
    let style = style(cell).map(|style| format!(" style=\"{style}\"")).unwrap_or_default();
    format!("<td class=\"number\"{style}{title}>{}</td>", escape(&heat_shown(cell)))
}

fn style(cell: &HeatCell) -> Option<String> {
    match (cell.share, &cell.cell) {
        (Some(share), _) => {
            let ground = ground(share);
            let text = text_on(ground).hex();
            Some(format!("background:{};color:{text};print-color-adjust:exact", ground.hex()))
        }
        (None, Cell::Number { verdict: Some(Status::Invalid), .. }) => Some(HATCHED.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::heatmap::Rank;
    use crate::model::Better;
    use crate::report::document::Digits;

    #[test]
    fn cells_have_a_ground_a_sign_and_their_note() {
        let number = |verdict| Cell::Number { value: 1.0, digits: Digits::Decimals(0), verdict: Some(verdict) };
        let best = HeatCell {
            cell: number(Status::Valid),
            share: Some(1.0),
            rank: Rank::Best,
            note: Some("at \"8\" jobs".into()),
        };
        let invalid = HeatCell { cell: number(Status::Invalid), share: None, rank: Rank::Below, note: None };
        let row = HeatRow { label: "<T1>".into(), unit: "s".into(), better: Better::Lower, cells: vec![best, invalid] };
        let map = Heatmap { columns: vec!["a".into(), "b".into()], rows: vec![row], ..Heatmap::default() };
        let page = table(&map);
        for part in [
            "<th scope=\"row\">&lt;T1&gt;</th>",
            "background:#1a7f37;color:#ffffff;",
            "title=\"at &quot;8&quot; jobs\">1*</td>",
            "line-through\">1!</td>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
