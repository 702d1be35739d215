//! Everything about the runs for a spreadsheet: what the page has, and the raw seconds.

use super::page::{self, Limits};
use super::{Document, Input, Report, heatmap, price, series};

/// A spreadsheet holds more lines than a page can; of the raw seconds, `series` takes its share.
const LIMITS: Limits = Limits { lines: 5_000, distributions: 300, seconds: 20_000 };

/// `report workbook`.
pub struct FullWorkbook;

impl Report for FullWorkbook {
    fn name(&self) -> &'static str {
        "workbook"
    }

    fn title(&self) -> &'static str {
        "a workbook with everything: what the page has, prices, the raw seconds of every test"
    }

    fn format(&self) -> &'static str {
        "xlsx"
    }

    fn build(&self, input: &Input) -> Document {
        let mut document = page::document(input, &LIMITS);
        if input.runs.len() == 1 {
            document.sections.extend(heatmap::sections(input));
        }
        if !input.prices.is_empty() {
            document.sections.extend(price::sections(input));
        }
        document.sections.extend(series::section(input));
        document
    }
}
