//! One sheet: the blocks of a section below each other.

use rust_xlsxwriter::{ColNum, RowNum, Url, Worksheet, XlsxError};

use super::super::layout::wrap;
use super::super::{LEGEND, heading, is_marked, is_number, superscript};
use super::styles::{Style, Styles, level, number_format};
use super::{chart, heatmap};
use crate::Language;
use crate::document::{Block, BoundSide, Cell, Section, Table};

pub type Written<T = ()> = Result<T, XlsxError>;

/// Characters per line of a text; lines overflow to the right, so that no column becomes wide.
const LINE: usize = 110;
/// Widths of columns, in characters.
const NARROWEST: f64 = 8.0;
const WIDEST: f64 = 44.0;
/// Room for indent, marks and the sorting button.
const MARGIN: f64 = 3.0;
/// Number of digits of a number that a spreadsheet keeps; a longer one stays text.
const MAX_DIGITS: usize = 15;
/// Rows beyond these do not change a column's width: a series may have hundreds of thousands.
const LOOKED_AT: usize = 1_000;

/// Place of a table.
pub struct Area {
    pub header: RowNum,
    /// The column that names the rows.
    pub label: ColNum,
    pub last_row: RowNum,
    pub last_column: ColNum,
}

/// A sheet and the row to write next.
pub struct Sheet<'a> {
    pub worksheet: &'a mut Worksheet,
    /// Name of the sheet, for the ranges of charts.
    pub name: &'a str,
    pub styles: &'a mut Styles,
    pub row: RowNum,
    widths: Vec<f64>,
}

impl<'a> Sheet<'a> {
    /// An empty sheet.
    pub fn new(worksheet: &'a mut Worksheet, name: &'a str, styles: &'a mut Styles) -> Self {
        Sheet { worksheet, name, styles, row: 0, widths: Vec::new() }
    }

    /// Writes a section, from its title to the widths of the columns.
    pub fn fill(mut self, section: &Section) -> Written {
        self.title(&section.title)?;
        let tables = section
            .blocks
            .iter()
            .filter(|block| matches!(block, Block::Table(_) | Block::Heatmap(_)))
            .count();
        for block in &section.blocks {
            let area = self.block(block)?;
            // A header that stays above the rows of another table would show the wrong units.
            if let Some(area) = area.filter(|_| tables == 1) {
                self.hold(&area)?;
            }
            self.gap();
        }
        self.finish()
    }

    /// Header and labels stay in sight and are printed on every page; buttons sort and filter.
    fn hold(&mut self, area: &Area) -> Written {
        self.worksheet.set_freeze_panes(area.header + 1, area.label + 1)?;
        self.worksheet
            .set_repeat_rows(area.header, area.header)?
            .set_repeat_columns(0, area.label)?;
        self.worksheet.autofilter(area.header, 0, area.last_row, area.last_column)?;
        Ok(())
    }

    /// Writes a block; says where its table is.
    fn block(&mut self, block: &Block) -> Written<Option<Area>> {
        match block {
            Block::Paragraph(text) => self.paragraph(text).map(|()| None),
            Block::Facts(facts) => self.facts(facts).map(|()| None),
            Block::Table(table) => self.table(table).map(Some),
            Block::Heatmap(map) => heatmap::write(self, map).map(Some),
            Block::Chart(chart) | Block::Drawing(chart) => chart::write(self, chart).map(|()| None),
            Block::Bars(_) => Ok(None),
            Block::Code(code) => {
                self.paragraph(&code.caption)?;
                code.text.lines().try_for_each(|line| self.line(line, Style::Code)).map(|()| None)
            }
        }
    }

    /// The heading of the sheet.
    pub fn title(&mut self, text: &str) -> Written {
        self.line(text, Style::Title)?;
        self.gap();
        Ok(())
    }

    /// An empty row.
    pub fn gap(&mut self) {
        self.row += 1;
    }

    /// A text, in lines.
    pub fn paragraph(&mut self, text: &str) -> Written {
        wrap(text, LINE, "")
            .iter()
            .filter(|line| !line.is_empty())
            .try_for_each(|line| self.line(line, Style::Text))
    }

    /// A link to another sheet.
    pub fn link(&mut self, name: &str, text: &str) -> Written {
        let target = format!("internal:'{}'!A1", name.replace('\'', "''"));
        self.worksheet.write_url(self.row, 0, Url::new(target).set_text(text))?;
        self.row += 1;
        Ok(())
    }

    fn line(&mut self, text: &str, style: Style) -> Written {
        self.worksheet.write_string_with_format(self.row, 0, text, self.styles.get(style))?;
        self.row += 1;
        Ok(())
    }

    fn facts(&mut self, facts: &[(String, String)]) -> Written {
        for (name, value) in facts {
            self.text(0, name, Style::Name)?;
            let lines = wrap(value, LINE, "");
            for line in &lines {
                self.worksheet.write_string_with_format(
                    self.row,
                    1,
                    line,
                    self.styles.get(Style::Text),
                )?;
                self.row += 1;
            }
        }
        Ok(())
    }

    /// A text that decides the width of its column.
    pub fn text(&mut self, column: ColNum, text: &str, style: Style) -> Written {
        self.widen(column, text.chars().count());
        self.worksheet.write_string_with_format(self.row, column, text, self.styles.get(style))?;
        Ok(())
    }

    /// A header; its longest word decides the width.
    pub fn header(&mut self, column: ColNum, text: &str, is_number: bool) -> Written {
        let style = if is_number { Style::NumberHeader } else { Style::Header };
        self.widen(column, text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0));
        self.worksheet.write_string_with_format(self.row, column, text, self.styles.get(style))?;
        Ok(())
    }

    /// Writes a table.
    pub fn table(&mut self, table: &Table) -> Written<Area> {
        let header = self.row;
        for (position, column) in table.columns.iter().enumerate() {
            self.header(at(position), &heading(column), is_number(table, position))?;
        }
        self.row += 1;
        for (number, cells) in table.rows.iter().enumerate() {
            for (position, cell) in cells.iter().enumerate() {
                self.cell(at(position), cell, table.language, number < LOOKED_AT)?;
            }
            self.row += 1;
        }
        let last_column = at(table.columns.len().saturating_sub(1));
        let area = Area { header, label: label_column(table), last_row: self.row - 1, last_column };
        self.notes(table)?;
        Ok(area)
    }

    fn cell(
        &mut self,
        column: ColNum,
        cell: &Cell,
        language: Language,
        is_looked_at: bool,
    ) -> Written {
        if is_looked_at {
            self.widen(column, super::super::shown(cell, language).chars().count());
        }
        match cell {
            Cell::Empty => {}
            Cell::Text(text) => self.plain(column, text)?,
            Cell::Number { value, digits, verdict }
            | Cell::Bound { value, digits, verdict, .. } => {
                let number = number_format(*value, *digits, *verdict, "");
                let format = match cell {
                    Cell::Bound { side: BoundSide::AtLeast, .. } => format!("\"≥ \"{number}"),
                    Cell::Bound { side: BoundSide::AtMost, .. } => format!("\"≤ \"{number}"),
                    _ => number,
                };
                let style = Style::Number {
                    format,
                    verdict: level(*verdict),
                    is_best: false,
                    is_hatched: false,
                };
                self.worksheet.write_number_with_format(
                    self.row,
                    column,
                    *value,
                    self.styles.get(style),
                )?;
            }
            Cell::Unknown(footnote) => {
                let text = format!("-{}", superscript(footnote + 1));
                self.worksheet.write_string_with_format(
                    self.row,
                    column,
                    text,
                    self.styles.get(Style::Unknown),
                )?;
            }
            Cell::Verdict(status) => {
                let style = self.styles.get(Style::Verdict(level(Some(*status))));
                self.worksheet.write_string_with_format(
                    self.row,
                    column,
                    language.verdict(*status),
                    style,
                )?;
            }
        }
        Ok(())
    }

    /// A text; one that is a number as dbdyno writes it (the id of a run, the size of a memory) is
    /// a number.
    fn plain(&mut self, column: ColNum, text: &str) -> Written {
        match text.parse::<f64>() {
            Ok(number)
                if text.len() <= MAX_DIGITS && number.is_finite() && number.to_string() == text =>
            {
                self.worksheet.write_number(self.row, column, number)?
            }
            _ => self.worksheet.write_string_with_format(
                self.row,
                column,
                text,
                self.styles.get(Style::Label),
            )?,
        };
        Ok(())
    }

    /// Footnotes, the legend of marks and remarks.
    pub fn notes(&mut self, table: &Table) -> Written {
        let footnotes = table
            .footnotes
            .iter()
            .enumerate()
            .map(|(index, why)| format!("{} {why}", superscript(index + 1)));
        let legend = is_marked(&table.rows).then(|| table.language.phrase(LEGEND));
        let notes: Vec<String> =
            footnotes.chain(legend).chain(table.remarks.iter().cloned()).collect();
        notes.iter().try_for_each(|note| self.paragraph(note))
    }

    /// Makes a column wide enough for this many characters.
    pub fn widen(&mut self, column: ColNum, characters: usize) {
        let column = usize::from(column);
        if self.widths.len() <= column {
            self.widths.resize(column + 1, NARROWEST);
        }
        self.widths[column] = self.widths[column].max((characters as f64 + MARGIN).min(WIDEST));
    }

    /// Sets the widths, and how the sheet prints.
    pub fn finish(self) -> Written {
        for (column, width) in self.widths.iter().enumerate() {
            self.worksheet.set_column_width(at(column), *width)?;
        }
        self.worksheet.set_landscape().set_paper_size(A4);
        if self.widths.iter().sum::<f64>() <= WIDEST_PAGE {
            self.worksheet.set_print_fit_to_pages(1, 0);
        }
        Ok(())
    }
}

/// A wider sheet is printed on several pages side by side: on one it could not be read. In
/// characters.
const WIDEST_PAGE: f64 = 200.0;
/// Code of the paper size.
const A4: u8 = 9;

/// A position as the library counts columns; more than 65,535 do not occur (and the library refuses
/// 16,385).
pub fn at(position: usize) -> ColNum {
    ColNum::try_from(position).unwrap_or(ColNum::MAX)
}

/// The column that names a row: the first that is always shown and no figure, among the first four.
fn label_column(table: &Table) -> ColNum {
    let is_label =
        |position: &usize| table.columns[*position].priority == 0 && !is_number(table, *position);
    (0..table.columns.len().min(4)).find(is_label).map_or(0, at)
}
