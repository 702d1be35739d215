//! Text for a terminal of a given width: where a table is too wide, its least important columns are
//! left out.

use super::super::document::{Block, Cell, Code, Document, Section, Table};
use super::super::picture::Head;
use super::escape::escape_document;
use super::layout::{GAP, Layout, beside, blocks, hanging, length, total_width, wrap};
use super::{
    Format, LEGEND, Options, Rendered, heatmap_text, is_marked, is_number, shown, superscript,
};
use dbdyno_core::error::{Result, visible};
use dbdyno_core::model::Status;

/// `--format text`.
pub struct Text;

impl Format for Text {
    fn name(&self) -> &'static str {
        "text"
    }
    fn title(&self) -> &'static str {
        "for terminals; fits the width by dropping columns"
    }
    fn extension(&self) -> &'static str {
        "txt"
    }

    fn render(&self, document: &Document, options: Options) -> Result<Rendered> {
        let document = escape_document(document, visible);
        let mut lines = bold_lines(&document.title, options);
        lines.push(String::new());
        let answer = document.head.as_ref().map(Head::answer_in_words).unwrap_or_default();
        if !answer.is_empty() {
            lines.extend(wrap(&answer, options.width, ""));
            lines.push(String::new());
        }
        for section in &document.sections {
            section_lines(section, options, &mut lines);
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Ok(Rendered::Text(lines.join("\n") + "\n"))
    }
}

fn section_lines(section: &Section, options: Options, lines: &mut Vec<String>) {
    lines.extend(bold_lines(&section.title, options));
    for block in &section.blocks {
        match block {
            Block::Paragraph(text) => lines.extend(wrap(text, options.width, "")),
            Block::Facts(facts) => lines.extend(facts_lines(facts, options.width)),
            Block::Table(table) => lines.extend(table_lines(table, options)),
            Block::Chart(chart) => {
                lines.extend(wrap(&chart.title, options.width, ""));
                lines.extend(table_lines(&chart.as_table(), options));
            }
            Block::Drawing(_) | Block::Bars(_) => continue,
            Block::Heatmap(map) => lines.extend(heatmap_text::lines(map, options)),
            Block::Code(code) => lines.extend(code_lines(code, options.width)),
        }
        lines.push(String::new());
    }
}

/// Indented under its caption; lines are not wrapped, so that they can be copied.
fn code_lines(code: &Code, width: usize) -> Vec<String> {
    let caption = Some(&code.caption).filter(|caption| !caption.is_empty());
    let lines =
        code.text.trim_end().lines().map(|line| format!("    {line}").trim_end().to_owned());
    caption.into_iter().flat_map(|caption| wrap(caption, width, "")).chain(lines).collect()
}

/// A heading, on as many lines as it needs.
fn bold_lines(text: &str, options: Options) -> Vec<String> {
    wrap(text, options.width, "").iter().map(|line| bold(line, options)).collect()
}

fn bold(text: &str, options: Options) -> String {
    if options.is_colored() { format!("\x1b[1m{text}\x1b[0m") } else { text.into() }
}

/// Names in one column, values wrapped in the next.
fn facts_lines(facts: &[(String, String)], width: usize) -> Vec<String> {
    let name_width = facts.iter().map(|(name, _)| length(name)).max().unwrap_or(0);
    facts
        .iter()
        .flat_map(|(name, value)| beside(name, name_width + GAP.len(), value, width))
        .collect()
}

/// A column of text is made no narrower than this.
const NARROWEST: usize = 16;

/// And no wider than this where all columns are kept.
const WIDEST_TEXT: usize = 60;

/// A column counts with at most this width when columns are put into blocks; longer texts are shown
/// in several lines.
const WIDEST: usize = 26;

/// The table in blocks of as many columns as fit, each behind the leading ones.
fn fold_table(table: &Table, options: Options) -> Vec<String> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let widths: Vec<usize> =
        layout(table, &all).widths.into_iter().map(|width| width.min(WIDEST)).collect();
    let mut lines = Vec::new();
    for block in blocks(&widths, table.leading, options.table_width) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let columns: Vec<usize> = (0..table.leading).chain(block).collect();
        let mut part = select_columns(table, &columns);
        part.columns.iter_mut().for_each(|column| column.priority = 0);
        lines.extend(table_lines(&part, options));
    }
    lines
}

/// Figures stand on one line.
fn narrowest(layout: &Layout, column: usize) -> usize {
    if layout.right[column] { usize::MAX } else { layout.head_width(column).max(NARROWEST) }
}

fn table_lines(table: &Table, options: Options) -> Vec<String> {
    if table.leading > 0 {
        return fold_table(table, options);
    }
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let (kept, left_out) = fit(table, all, options.table_width);
    let table = &select_columns(table, &kept);
    let kept: Vec<usize> = (0..kept.len()).collect();
    let mut layout = layout(table, &kept);
    let least: Vec<usize> = kept.iter().map(|&at| narrowest(&layout, at)).collect();
    layout.squeeze(options.table_width, |column| least[column]);
    if options.table_width > options.width {
        // A column of long texts would push all others out of sight.
        for (width, least) in layout.widths.iter_mut().zip(&least) {
            *width = (*width).min((*least).max(WIDEST_TEXT));
        }
    }
    let mut lines = layout.head_lines();
    for (row, cells) in layout.rows.iter().zip(&table.rows) {
        lines.extend(layout.row_lines(row).iter().map(|line| color_row(line, cells, options)));
    }
    lines.extend(notes(table, options.width));
    if left_out > 0 {
        let text = table.language.count("left_out_at_width", left_out, &[]);
        lines.extend(wrap(&text, options.width, ""));
    }
    lines
}

/// The columns to show, and how many are left out.
fn fit(table: &Table, mut kept: Vec<usize>, width: usize) -> (Vec<usize>, usize) {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let widths = layout(table, &all).widths;
    let total = |kept: &[usize]| {
        total_width(&kept.iter().map(|&column| widths[column]).collect::<Vec<_>>())
    };
    while total(&kept) > width {
        // Of equal priority the last goes first.
        let least =
            kept.iter().copied().max_by_key(|&column| (table.columns[column].priority, column));
        let Some(least) = least.filter(|&column| table.columns[column].priority > 0) else { break };
        kept.retain(|&column| column != least);
    }
    let left_out = table.columns.len() - kept.len();
    (kept, left_out)
}

fn layout(table: &Table, kept: &[usize]) -> Layout {
    let cells =
        |row: &Vec<Cell>| kept.iter().map(|&column| shown(&row[column], table.language)).collect();
    let columns: Vec<_> = kept.iter().map(|&column| table.columns[column].clone()).collect();
    let right = kept.iter().map(|&column| is_number(table, column)).collect();
    Layout::new(&columns, table.rows.iter().map(cells).collect(), right)
}

/// The whole row in the color of its worst verdict.
fn color_row(line: &str, cells: &[Cell], options: Options) -> String {
    let statuses = cells.iter().filter_map(|cell| match cell {
        Cell::Verdict(status) => Some(*status),
        _ => None,
    });
    match statuses.max().filter(|_| options.is_colored()) {
        Some(Status::Conditional) => format!("\x1b[33m{line}\x1b[0m"),
        Some(Status::Invalid) => format!("\x1b[31m{line}\x1b[0m"),
        _ => line.to_owned(),
    }
}

/// The table with only the kept columns, and only the footnotes that these use, numbered anew.
fn select_columns(table: &Table, kept: &[usize]) -> Table {
    let mut narrow = Table {
        name: table.name.clone(),
        language: table.language,
        columns: kept.iter().map(|&column| table.columns[column].clone()).collect(),
        remarks: table.remarks.clone(),
        ..Table::default()
    };
    for row in &table.rows {
        let cells = kept.iter().map(|&column| match &row[column] {
            Cell::Unknown(index) => narrow.noted(&table.footnotes[*index]),
            other => other.clone(),
        });
        let cells = cells.collect();
        narrow.rows.push(cells);
    }
    narrow
}

/// Footnotes of the shown columns, the legend of marks, the remarks.
pub(super) fn notes(table: &Table, width: usize) -> Vec<String> {
    let footnotes = table.footnotes.iter().enumerate();
    let mut lines: Vec<String> =
        footnotes.flat_map(|(index, why)| hanging(&superscript(index + 1), why, width)).collect();
    if is_marked(&table.rows) {
        lines.extend(wrap(&table.language.phrase(LEGEND), width, ""));
    }
    lines.extend(table.remarks.iter().flat_map(|remark| hanging("-", remark, width)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;
    use crate::document::{Column, Digits};

    fn sample() -> Table {
        let number = |value| Cell::Number {
            value,
            digits: Digits::Decimals(0),
            verdict: Some(Status::Invalid),
        };
        Table {
            name: "t".into(),
            language: Language::English,
            leading: 0,
            columns: vec![
                Column::new("aaaa", "s", 0),
                Column::new("bbbb", "s", 2),
                Column::new("cc dddd", "s", 1),
            ],
            rows: vec![vec![number(1.0), number(1_000_000.0), Cell::Unknown(0)]],
            footnotes: vec!["no counter".into()],
            remarks: vec![],
        }
    }

    #[test]
    fn the_least_important_columns_go_until_it_fits() {
        let names = |width| fit(&sample(), vec![0, 1, 2], width);
        assert_eq!(names(22), (vec![0, 1, 2], 0));
        assert_eq!(names(21), (vec![0, 2], 1));
        assert_eq!(names(1).0, [0], "priority 0 stays");
    }

    #[test]
    fn long_texts_are_folded_where_no_column_may_go() {
        let column = |name: &str| Column::new(name, "", 0);
        let row = vec![Cell::text("S-1"), Cell::text("what it does in many words"), Cell::count(7)];
        let table = Table {
            columns: vec![column("Id"), column("About"), column("N")],
            rows: vec![row],
            ..Table::default()
        };
        let lines = table_lines(&table, Options::plain(24));
        assert_eq!(lines[2..], ["S-1  what it does in   7", "     many words"]);
    }

    #[test]
    fn a_footnote_is_shown_only_with_its_column() {
        let narrow = Options::plain(4);
        let text = table_lines(&sample(), narrow).join("\n");
        assert!(!text.contains("no counter"), "{text}");
        let wide = table_lines(&sample(), Options::default()).join("\n");
        assert!(
            wide.contains("-¹") && wide.contains("¹ no counter") && wide.contains("1,000,000!"),
            "{wide}"
        );
    }
}
