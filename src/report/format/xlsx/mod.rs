//! A workbook (Office Open XML): a sheet per section, numbers as numbers with their digits and marks as number formats,
//! heatmaps as colour scales, charts as native charts beside their figures.

mod chart;
mod heatmap;
mod names;
mod sheet;
mod styles;

use rust_xlsxwriter::{DocProperties, Workbook, XlsxError};

use super::{Format, LEGEND, Options, Rendered};
use crate::error::{Error, Result};
use crate::report::document::{Document, Section};
use names::Names;
use sheet::Sheet;
use styles::Styles;

/// `--format xlsx`.
pub struct Xlsx;

/// The first sheet: what the others hold.
const CONTENTS: &str = "Contents";

impl Format for Xlsx {
    fn name(&self) -> &'static str {
        "xlsx"
    }
    fn title(&self) -> &'static str {
        "a workbook: numbers as numbers, colour scales, native charts"
    }
    fn is_text(&self) -> bool {
        false
    }
    fn extension(&self) -> &'static str {
        "xlsx"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let failed = |error: XlsxError| {
            Error::usage("--format xlsx", format!("the workbook cannot hold this report: {error}"))
                .advise("choose fewer runs, or --format csv")
        };
        workbook(document).map(Rendered::Bytes).map_err(failed)
    }
}

fn workbook(document: &Document) -> std::result::Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    workbook.set_properties(&DocProperties::new().set_title(&document.title).set_author("dbdyno"));
    let mut names = Names::default();
    names.add(CONTENTS);
    let named: Vec<(String, &Section)> =
        document.sections.iter().map(|section| (names.add(&section.title), section)).collect();
    let mut styles = Styles::default();
    contents(&mut workbook, document, &named, &mut styles)?;
    for (name, section) in &named {
        let worksheet = workbook.add_worksheet();
        worksheet.set_name(name)?;
        Sheet::new(worksheet, name, &mut styles).fill(section)?;
    }
    workbook.save_to_buffer()
}

fn contents(
    workbook: &mut Workbook,
    document: &Document,
    sections: &[(String, &Section)],
    styles: &mut Styles,
) -> std::result::Result<(), XlsxError> {
    let worksheet = workbook.add_worksheet();
    worksheet.set_name(CONTENTS)?;
    let mut sheet = Sheet::new(worksheet, CONTENTS, styles);
    sheet.title(&document.title)?;
    for (name, section) in sections {
        sheet.link(name, &section.title)?;
    }
    sheet.gap();
    sheet.paragraph(&format!("Marks behind figures: {LEGEND}. '-' is unknown, the footnote says why."))?;
    sheet.finish()
}
