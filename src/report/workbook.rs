//! Everything about the runs for a spreadsheet: what the page has, and the raw seconds.

use super::page::Page;
use super::{Document, Input, Report, heatmap, price, series};

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
        let mut document = Page.build(input);
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
