//! The one layout of tables in text: those of reports, of listings, and the one that grows while a
//! run goes on.

use std::ops::Range;

use super::super::document::Column;

/// Gap between two columns.
pub const GAP: &str = "  ";

/// Columns of text: head lines and cells per shown column.
pub struct Layout {
    /// Lines of each shown column's head.
    pub heads: Vec<Vec<String>>,
    /// Cells of each row, one per shown column.
    pub rows: Vec<Vec<String>>,
    /// Width of each shown column, in characters.
    pub widths: Vec<usize>,
    /// Right-aligned columns.
    pub right: Vec<bool>,
}

impl Layout {
    /// Columns as wide as their widest line; of `names` a head each, or none at all.
    pub fn new(names: &[Column], rows: Vec<Vec<String>>, right: Vec<bool>) -> Layout {
        let cell_width =
            |column: usize| rows.iter().map(|row| length(&row[column])).max().unwrap_or(0);
        let heads: Vec<Vec<String>> =
            names.iter().enumerate().map(|(at, name)| head(name, cell_width(at))).collect();
        let head_width = |column: usize| heads.get(column).map_or(0, |head| longest(head));
        let widths =
            (0..right.len()).map(|column| head_width(column).max(cell_width(column))).collect();
        Layout { heads, rows, widths, right }
    }

    /// The narrowest that a column's head allows.
    pub fn head_width(&self, column: usize) -> usize {
        longest(&self.heads[column])
    }

    /// Makes the widest columns narrower until the table fits, none below its `least`; their cells
    /// are then shown in several lines.
    pub fn squeeze(&mut self, width: usize, least: impl Fn(usize) -> usize) {
        while total_width(&self.widths) > width {
            let wider = (0..self.widths.len()).filter(|&at| self.widths[at] > least(at));
            let Some(widest) = wider.max_by_key(|&at| self.widths[at]) else { break };
            self.widths[widest] -= 1;
        }
    }

    /// The layout with only these columns.
    pub fn with_columns(&self, columns: &[usize]) -> Layout {
        let row =
            |cells: &Vec<String>| columns.iter().map(|&column| cells[column].clone()).collect();
        Layout {
            heads: columns.iter().map(|&column| self.heads[column].clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
            widths: columns.iter().map(|&column| self.widths[column]).collect(),
            right: columns.iter().map(|&column| self.right[column]).collect(),
        }
    }

    /// Head lines, bottom-aligned, and a rule.
    pub fn head_lines(&self) -> Vec<String> {
        let height = self.heads.iter().map(Vec::len).max().unwrap_or(0);
        let line = |level: usize| {
            let word = |head: &Vec<String>| {
                let missing = height - head.len();
                level.checked_sub(missing).map(|index| head[index].clone()).unwrap_or_default()
            };
            self.line(&self.heads.iter().map(word).collect::<Vec<_>>(), GAP)
        };
        let rule = "-".repeat(total_width(&self.widths));
        (0..height).map(line).chain([rule]).collect()
    }

    /// A row as one line, or as several where a text is wider than its column.
    pub fn row_lines(&self, cells: &[String]) -> Vec<String> {
        let folded = |(cell, &width): (&String, &usize)| {
            if length(cell) > width { fold(cell, width) } else { vec![cell.clone()] }
        };
        let cells: Vec<Vec<String>> = cells.iter().zip(&self.widths).map(folded).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |level: usize| {
            let texts = cells.iter().map(|lines| lines.get(level).cloned().unwrap_or_default());
            self.line(&texts.collect::<Vec<_>>(), GAP)
        };
        (0..height).map(line).collect()
    }

    /// The cells in one line.
    pub fn line(&self, cells: &[String], gap: &str) -> String {
        self.padded(cells).join(gap).trim_end().to_owned()
    }

    /// The cells as wide as their columns; figures are right-aligned.
    pub fn padded(&self, cells: &[String]) -> Vec<String> {
        let mut padded = Vec::with_capacity(cells.len());
        for (column, cell) in cells.iter().take(self.widths.len()).enumerate() {
            let pad = " ".repeat(self.widths[column].saturating_sub(length(cell)));
            let is_right = self.right[column];
            padded.push(if is_right { format!("{pad}{cell}") } else { format!("{cell}{pad}") });
        }
        padded
    }
}

/// Blocks of the columns behind the `leading` ones, each shown behind these.
pub fn blocks(widths: &[usize], leading: usize, width: usize) -> Vec<Range<usize>> {
    let (mut blocks, mut start) = (Vec::new(), leading);
    for column in leading + 1..widths.len() {
        let side_by_side = [&widths[..leading], &widths[start..=column]].concat();
        if total_width(&side_by_side) > width {
            blocks.push(start..column);
            start = column;
        }
    }
    blocks.push(start..widths.len());
    blocks
}

/// The name, wrapped so that it makes the column no wider than its longest word or cell; the unit
/// in the last line.
fn head(column: &Column, cell_width: usize) -> Vec<String> {
    let unit = column.unit.iter().map(|unit| format!("[{unit}]"));
    let word = column
        .name
        .split(' ')
        .map(length)
        .chain(unit.clone().map(|unit| length(&unit)))
        .max()
        .unwrap_or(0);
    wrap(&column.name, word.max(cell_width), "").into_iter().chain(unit).collect()
}

fn longest(lines: &[String]) -> usize {
    lines.iter().map(|line| length(line)).max().unwrap_or(0)
}

/// Characters of a line of columns this wide.
pub fn total_width(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// Characters of a text.
pub fn length(text: &str) -> usize {
    text.chars().count()
}

/// The text in lines of at most `width` characters, each after `indent`; a word is never cut.
pub fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines = vec![indent.to_owned()];
    for word in text.split([' ', '\n', '\t']).filter(|word| !word.is_empty()) {
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

/// The text in lines of at most `width` characters; a word that is longer than that is cut.
pub fn fold(text: &str, width: usize) -> Vec<String> {
    let cut = |word: &str| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(width.max(1)).map(|part| part.iter().collect()).collect::<Vec<String>>()
    };
    let words: Vec<String> = text.split_whitespace().flat_map(cut).collect();
    wrap(&words.join(" "), width, "")
}

/// `mark text`, continued below the text.
pub fn hanging(mark: &str, text: &str, width: usize) -> Vec<String> {
    beside(mark, length(mark) + 1, text, width)
}

/// A name, and from column `from` on its text in lines of at most `width` characters.
pub fn beside(name: &str, from: usize, text: &str, width: usize) -> Vec<String> {
    let mut lines = wrap(text, width, &" ".repeat(from));
    if let Some(first) = lines.first_mut() {
        first.replace_range(..length(name), name);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_and_never_cut_but_folded_ones_are() {
        assert_eq!(wrap("aa bb incomprehensible c", 8, " "), [" aa bb", " incomprehensible", " c"]);
        assert_eq!(fold("incomprehensible x", 8), ["incompre", "hensible", "x"]);
    }
}
