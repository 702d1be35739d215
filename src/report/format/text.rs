//! Text for a terminal of a given width: where a table is too wide, its least important columns are left out.

use super::super::document::{Block, Cell, Code, Column, Document, Section, Table};
use super::{Format, LEGEND, Options, Rendered, heatmap_text, is_marked, is_number, shown, superscript};
use crate::error::Result;
use crate::model::Status;

/// `--format text`.
pub struct Text;

/// Between two columns.
pub(super) const GAP: &str = "  ";

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
        let mut lines = bold_lines(&document.title, options);
        lines.push(String::new());
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
            Block::Heatmap(map) => lines.extend(heatmap_text::lines(map, options)),
            Block::Code(code) => lines.extend(code_lines(code, options.width)),
        }
        lines.push(String::new());
    }
}

/// Indented under its caption; lines are not wrapped, so that they can be copied.
fn code_lines(code: &Code, width: usize) -> Vec<String> {
    let caption = Some(&code.caption).filter(|caption| !caption.is_empty());
    let lines = code.text.trim_end().lines().map(|line| format!("    {line}").trim_end().to_owned());
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
    let indent = " ".repeat(name_width + GAP.len());
    let line = |(name, value): &(String, String)| {
        let mut lines = wrap(value, width, &indent);
        if let Some(first) = lines.first_mut() {
            first.replace_range(..length(name), name);
        }
        lines
    };
    facts.iter().flat_map(line).collect()
}

/// The text in lines of at most `width` characters, each after `indent`; a word is never cut.
pub(super) fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines = vec![indent.to_owned()];
    for word in text.split_whitespace() {
        let used = lines.last().map_or(0, |line| length(line));
        let is_first = used == length(indent);
        if !is_first && used + 1 + length(word) > width {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            if line.len() > indent.len() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

/// A table as text: head lines and cells per shown column.
pub(super) struct Layout {
    pub(super) heads: Vec<Vec<String>>,
    pub(super) rows: Vec<Vec<String>>,
    pub(super) widths: Vec<usize>,
    pub(super) right: Vec<bool>,
}

/// A column of text is made no narrower than this.
const NARROWEST: usize = 16;

impl Layout {
    /// Makes the widest columns of text narrower until the table fits; their cells are then shown in several lines.
    fn squeeze(&mut self, width: usize) {
        while total_width(&self.widths) > width {
            let head = |column: usize| self.heads[column].iter().map(|line| length(line)).max().unwrap_or(0);
            let least = |column: usize| head(column).max(NARROWEST);
            let texts = (0..self.widths.len()).filter(|&column| !self.right[column]);
            let Some(widest) = texts.filter(|&at| self.widths[at] > least(at)).max_by_key(|&at| self.widths[at]) else {
                break;
            };
            self.widths[widest] -= 1;
        }
    }

    /// With only these columns.
    pub(super) fn narrowed(&self, columns: &[usize]) -> Layout {
        let row = |cells: &Vec<String>| columns.iter().map(|&column| cells[column].clone()).collect();
        Layout {
            heads: columns.iter().map(|&column| self.heads[column].clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
            widths: columns.iter().map(|&column| self.widths[column]).collect(),
            right: columns.iter().map(|&column| self.right[column]).collect(),
        }
    }
}

/// A column counts with at most this width when columns are put into blocks; longer texts are shown in several lines.
const WIDEST: usize = 26;

/// The table in blocks of as many columns as fit, each behind the leading ones.
fn folded(table: &Table, options: Options) -> Vec<String> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let widths: Vec<usize> = layout(table, &all).widths.into_iter().map(|width| width.min(WIDEST)).collect();
    let mut lines = Vec::new();
    for block in heatmap_text::blocks(&widths, table.leading, options.width) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let columns: Vec<usize> = (0..table.leading).chain(block).collect();
        let mut part = narrowed(table, &columns);
        part.columns.iter_mut().for_each(|column| column.priority = 0);
        lines.extend(table_lines(&part, options));
    }
    lines
}

fn table_lines(table: &Table, options: Options) -> Vec<String> {
    if table.leading > 0 {
        return folded(table, options);
    }
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let (kept, left_out) = fit(table, all, options.width);
    let table = &narrowed(table, &kept);
    let kept: Vec<usize> = (0..kept.len()).collect();
    let mut layout = layout(table, &kept);
    layout.squeeze(options.width);
    let mut lines = head_lines(&layout);
    for (row, cells) in layout.rows.iter().zip(&table.rows) {
        lines.extend(row_lines(&layout, row).iter().map(|line| colored(line, cells, options)));
    }
    lines.extend(notes(table, options.width));
    if left_out > 0 {
        let columns = if left_out == 1 { "1 column is".into() } else { format!("{left_out} columns are") };
        let text = format!("{columns} left out at this width; a wider terminal, --format markdown or csv shows them");
        lines.extend(wrap(&text, options.width, ""));
    }
    lines
}

/// The columns to show, and how many are left out.
fn fit(table: &Table, mut kept: Vec<usize>, width: usize) -> (Vec<usize>, usize) {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let widths = layout(table, &all).widths;
    let total = |kept: &[usize]| total_width(&kept.iter().map(|&column| widths[column]).collect::<Vec<_>>());
    while total(&kept) > width {
        // Of equal priority the last goes first.
        let least = kept.iter().copied().max_by_key(|&column| (table.columns[column].priority, column));
        let Some(least) = least.filter(|&column| table.columns[column].priority > 0) else { break };
        kept.retain(|&column| column != least);
    }
    let left_out = table.columns.len() - kept.len();
    (kept, left_out)
}

pub(super) fn total_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

fn layout(table: &Table, kept: &[usize]) -> Layout {
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| kept.iter().map(|&column| shown(&row[column])).collect()).collect();
    let cell_width = |position: usize| rows.iter().map(|row| length(&row[position])).max().unwrap_or(0);
    let heads: Vec<Vec<String>> =
        kept.iter().enumerate().map(|(position, &column)| head(&table.columns[column], cell_width(position))).collect();
    let width = |(position, head): (usize, &Vec<String>)| {
        head.iter().map(|line| length(line)).fold(cell_width(position), usize::max)
    };
    let widths = heads.iter().enumerate().map(width).collect();
    let right = kept.iter().map(|&column| is_number(table, column)).collect();
    Layout { heads, rows, widths, right }
}

/// The name, wrapped so that it makes the column no wider than its longest word or cell; the unit in the last line.
pub(super) fn head(column: &Column, cell_width: usize) -> Vec<String> {
    let unit = column.unit.iter().map(|unit| format!("[{unit}]"));
    let longest = column.name.split(' ').map(length).chain(unit.clone().map(|unit| length(&unit))).max().unwrap_or(0);
    wrap(&column.name, longest.max(cell_width), "").into_iter().chain(unit).collect()
}

/// Head lines, bottom-aligned, and a rule.
pub(super) fn head_lines(layout: &Layout) -> Vec<String> {
    let height = layout.heads.iter().map(Vec::len).max().unwrap_or(0);
    let line = |level: usize| {
        let word = |head: &Vec<String>| {
            let missing = height - head.len();
            level.checked_sub(missing).map(|index| head[index].clone()).unwrap_or_default()
        };
        row_line(layout, &layout.heads.iter().map(word).collect::<Vec<_>>())
    };
    let rule = "-".repeat(total_width(&layout.widths));
    (0..height).map(line).chain([rule]).collect()
}

/// A row as one line, or as several where a text is wider than its column.
fn row_lines(layout: &Layout, cells: &[String]) -> Vec<String> {
    let folded = |(cell, &width): (&String, &usize)| {
        if length(cell) > width { fold(cell, width) } else { vec![cell.clone()] }
    };
    let cells: Vec<Vec<String>> = cells.iter().zip(&layout.widths).map(folded).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |level: usize| {
        let words = cells.iter().map(|lines| lines.get(level).cloned().unwrap_or_default());
        row_line(layout, &words.collect::<Vec<_>>())
    };
    (0..height).map(line).collect()
}

/// The text in lines of at most `width` characters; a word that is longer than that is cut.
pub fn fold(text: &str, width: usize) -> Vec<String> {
    let cut = |word: &str| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(width.max(1)).map(|part| part.iter().collect()).collect::<Vec<String>>()
    };
    let words: Vec<String> = text.split_whitespace().flat_map(cut).collect();
    wrap(&words.join(" "), width, "")
}

fn row_line(layout: &Layout, cells: &[String]) -> String {
    padded(layout, cells).join(GAP).trim_end().to_owned()
}

/// The cells as wide as their columns; figures are right-aligned.
pub(super) fn padded(layout: &Layout, cells: &[String]) -> Vec<String> {
    let cells = cells.iter().zip(&layout.widths).zip(&layout.right);
    let padded = cells.map(|((cell, &width), &right)| {
        let pad = " ".repeat(width.saturating_sub(length(cell)));
        if right { format!("{pad}{cell}") } else { format!("{cell}{pad}") }
    });
    padded.collect()
}

/// The whole row in the colour of its worst verdict.
fn colored(line: &str, cells: &[Cell], options: Options) -> String {
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
fn narrowed(table: &Table, kept: &[usize]) -> Table {
    let mut narrow = Table {
        name: table.name.clone(),
        columns: kept.iter().map(|&column| table.columns[column].clone()).collect(),
        remarks: table.remarks.clone(),
        ..Table::default()
    };
    for row in &table.rows {
        let cells = kept.iter().map(|&column| match &row[column] {
            Cell::Unknown(index) => narrow.unknown(&table.footnotes[*index]),
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
        lines.extend(wrap(LEGEND, width, ""));
    }
    lines.extend(table.remarks.iter().flat_map(|remark| hanging("-", remark, width)));
    lines
}

/// `mark text`, continued below the text.
fn hanging(mark: &str, text: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(length(mark) + 1);
    let mut lines = wrap(text, width, &indent);
    if let Some(first) = lines.first_mut() {
        first.replace_range(..length(mark), mark);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::Digits;

    fn sample() -> Table {
        let number = |value| Cell::Number { value, digits: Digits::Decimals(0), verdict: Some(Status::Invalid) };
        Table {
            name: "t".into(),
            leading: 0,
            columns: vec![Column::new("aaaa", "s", 0), Column::new("bbbb", "s", 2), Column::new("cc dddd", "s", 1)],
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
        let table =
            Table { columns: vec![column("Id"), column("About"), column("N")], rows: vec![row], ..Table::default() };
        let lines = table_lines(&table, Options::plain(24));
        assert_eq!(lines[2..], ["S-1  what it does in   7", "     many words"]);
        assert_eq!(fold("incomprehensible x", 8), ["incompre", "hensible", "x"]);
    }

    #[test]
    fn a_footnote_is_shown_only_with_its_column() {
        let narrow = Options::plain(4);
        let text = table_lines(&sample(), narrow).join("\n");
        assert!(!text.contains("no counter"), "{text}");
        let wide = table_lines(&sample(), Options::default()).join("\n");
        assert!(wide.contains("-¹") && wide.contains("¹ no counter") && wide.contains("1,000,000!"), "{wide}");
    }

    #[test]
    fn words_are_wrapped_and_never_cut() {
        assert_eq!(wrap("aa bb incomprehensible c", 8, " "), [" aa bb", " incomprehensible", " c"]);
    }
}
