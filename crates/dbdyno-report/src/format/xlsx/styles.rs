//! Formats of cells; equal ones are made once.

use std::collections::HashMap;

use rust_xlsxwriter::{Color, Format, FormatAlign, FormatBorder, FormatPattern};

use super::super::{mark, number};
use crate::document::Digits;
use dbdyno_core::model::Status;

/// Ground of header rows.
const HEADER: u32 = 0x00E7_ECF1;
/// Text of conditional and of invalid verdicts; both can be read on white.
const CONDITIONAL: u32 = 0x0095_5200;
const INVALID: u32 = 0x00B4_1D1D;

/// Style of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Style {
    Title,
    Header,
    /// A header over figures.
    NumberHeader,
    Name,
    Text,
    /// A text in a table: kept off the figures on its left.
    Label,
    Code,
    Unknown,
    Verdict(u8),
    /// A number format, the verdict, and whether the cell is the best of a row.
    Number {
        format: String,
        verdict: u8,
        is_best: bool,
        is_hatched: bool,
    },
}

/// The formats made so far.
#[derive(Default)]
pub struct Styles(HashMap<Style, Format>);

impl Styles {
    /// The format of a style.
    pub fn get(&mut self, style: Style) -> &Format {
        self.0.entry(style).or_insert_with_key(make)
    }
}

/// Weight of a verdict: 0 valid, 1 conditional, 2 invalid.
pub fn level(verdict: Option<Status>) -> u8 {
    match verdict {
        Some(Status::Conditional) => 1,
        Some(Status::Invalid) => 2,
        Some(Status::Valid) | None => 0,
    }
}

/// The number format that shows what people see elsewhere: `#,##0.00"?"`. The cell's value keeps
/// all digits.
pub fn number_format(value: f64, digits: Digits, verdict: Option<Status>, sign: &str) -> String {
    let decimals = number::decimals_shown(value, digits);
    let fraction = if decimals > 0 { format!(".{}", "0".repeat(decimals)) } else { String::new() };
    let marks = format!("{}{sign}", mark(verdict));
    let literal = if marks.is_empty() { String::new() } else { format!("\"{marks}\"") };
    format!("#,##0{fraction}{literal}")
}

fn make(style: &Style) -> Format {
    let header = || {
        let format =
            Format::new().set_bold().set_background_color(Color::RGB(HEADER)).set_text_wrap();
        format.set_border_bottom(FormatBorder::Thin).set_align(FormatAlign::Bottom)
    };
    match style {
        Style::Title => Format::new().set_bold().set_font_size(14),
        Style::Header => header().set_align(FormatAlign::Left).set_indent(1),
        Style::NumberHeader => header().set_align(FormatAlign::Right),
        Style::Name => Format::new().set_bold().set_align(FormatAlign::Top),
        Style::Text => Format::new().set_align(FormatAlign::Top),
        Style::Label => Format::new().set_align(FormatAlign::Left).set_indent(1),
        Style::Code => Format::new().set_font_name("Courier New"),
        Style::Unknown => Format::new().set_align(FormatAlign::Right),
        Style::Verdict(level) => {
            judged(Format::new().set_align(FormatAlign::Left).set_indent(1), *level)
        }
        Style::Number { format, verdict, is_best, is_hatched } => {
            let mut made = judged(Format::new().set_num_format(format), *verdict);
            if *is_best {
                made = made.set_bold();
            }
            if *is_hatched {
                made = made
                    .set_pattern(FormatPattern::LightUp)
                    .set_foreground_color(Color::RGB(0x00A0_A0A0));
                made = made.set_font_strikethrough();
            }
            made
        }
    }
}

fn judged(format: Format, level: u8) -> Format {
    match level {
        1 => format.set_font_color(Color::RGB(CONDITIONAL)),
        2 => format.set_font_color(Color::RGB(INVALID)),
        _ => format,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shade::{Rgb, WHITE};

    #[test]
    fn number_formats_show_the_digits_and_the_marks() {
        let four = Digits::Significant(4);
        assert_eq!(number_format(158_230.5, four, Some(Status::Valid), ""), "#,##0");
        assert_eq!(number_format(82.1, four, Some(Status::Conditional), "*"), "#,##0.00\"?*\"");
        assert_eq!(number_format(9.999_6, four, None, ""), "#,##0.00");
        assert_eq!(
            number_format(1.0, Digits::Decimals(1), Some(Status::Invalid), ""),
            "#,##0.0\"!\""
        );
    }

    #[test]
    fn verdicts_can_be_read() {
        for code in [CONDITIONAL, INVALID] {
            let [_, red, green, blue] = code.to_be_bytes();
            assert!(Rgb::new(red, green, blue).contrast(WHITE) >= 4.5);
        }
    }
}
