//! A workbook (Office Open XML): a sheet per section, numbers as numbers with their digits and
//! marks as number formats, heatmaps as color scales, charts as native charts beside their
//! figures.

mod chart;
mod heatmap;
mod sheet;
mod styles;

use rust_xlsxwriter::{DocProperties, Workbook, XlsxError};

use super::escape::{self, escape_document};
use super::{Format, LEGEND, Options, Rendered};
use crate::document::{Block, Document, Section};
use dbdyno_core::error::{Error, Result};
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
        "a workbook: numbers as numbers, color scales, native charts"
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
        workbook(&escape_document(document, escape::workbook)).map(Rendered::Bytes).map_err(failed)
    }
}

fn workbook(document: &Document) -> std::result::Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    workbook.set_properties(&DocProperties::new().set_title(&document.title).set_author("dbdyno"));
    let mut names = Names::default();
    let contents_name = names.add(&document.language.phrase(CONTENTS));
    let sheets: Vec<Section> = document.sections.iter().flat_map(sheets).collect();
    let named: Vec<(String, &Section)> =
        sheets.iter().map(|section| (names.add(&section.title), section)).collect();
    let mut styles = Styles::default();
    contents(&mut workbook, document, &contents_name, &named, &mut styles)?;
    for (name, section) in &named {
        let worksheet = workbook.add_worksheet();
        worksheet.set_name(name)?;
        Sheet::new(worksheet, name, &mut styles).fill(section)?;
    }
    workbook.save_to_buffer()
}

/// A section as sheets with one table each, so that every table has a head that stays in sight, and
/// filters.
fn sheets(section: &Section) -> Vec<Section> {
    let is_table = |block: &Block| matches!(block, Block::Table(_) | Block::Heatmap(_));
    let mut sheets: Vec<Section> = Vec::new();
    for block in &section.blocks {
        match sheets
            .last_mut()
            .filter(|sheet| !is_table(block) || !sheet.blocks.iter().any(is_table))
        {
            Some(sheet) => sheet.blocks.push(block.clone()),
            None => sheets.push(Section {
                title: sheet_title(section, block, sheets.len()),
                blocks: vec![block.clone()],
            }),
        }
    }
    sheets
}

/// The first sheet of a section has its title, the others the name of their table before it.
fn sheet_title(section: &Section, block: &Block, before: usize) -> String {
    match block {
        Block::Table(table) if before > 0 => format!("{}: {}", table.name, section.title),
        _ => section.title.clone(),
    }
}

fn contents(
    workbook: &mut Workbook,
    document: &Document,
    name: &str,
    sections: &[(String, &Section)],
    styles: &mut Styles,
) -> std::result::Result<(), XlsxError> {
    let worksheet = workbook.add_worksheet();
    worksheet.set_name(name)?;
    let mut sheet = Sheet::new(worksheet, name, styles);
    sheet.title(&document.title)?;
    let head = document.head.as_ref().or(document.page.as_ref().map(|page| &page.head));
    if let Some(head) = head {
        for said in [head.answer_in_words(), head.counts_in_words()] {
            if !said.is_empty() {
                sheet.paragraph(&said)?;
            }
        }
        sheet.gap();
    }
    if let Some(figures) = &document.key_figures {
        sheet.table(figures)?;
        sheet.gap();
    }
    for (name, section) in sections {
        sheet.link(name, &section.title)?;
    }
    sheet.gap();
    let language = document.language;
    let legend = language.phrase(LEGEND);
    sheet.paragraph(&language.say(
        "Marks behind figures: {legend}. '-' is unknown, the footnote says why.",
        &[("legend", &legend)],
    ))?;
    sheet.finish()
}

/// The longest name, in characters.
const LONGEST: usize = 31;

/// The names given so far.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    /// A permitted name for a sheet with this title, unlike all before.
    fn add(&mut self, title: &str) -> String {
        let clean = clean(title);
        let mut name = brief(&clean);
        let mut number = 1;
        while self.0.iter().any(|known| known.to_lowercase() == name.to_lowercase()) {
            number += 1;
            let ending = format!(" ({number})");
            name = shortened(&clean, LONGEST - ending.len()) + &ending;
        }
        self.0.push(name.clone());
        name
    }
}

fn clean(title: &str) -> String {
    let permitted = |character: char| if r"[]:*?/\".contains(character) { ' ' } else { character };
    let plain: String = title.chars().map(permitted).collect();
    let words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = words.trim_matches('\'').trim();
    // `History` is reserved.
    if name.is_empty() || name.eq_ignore_ascii_case("history") {
        format!("Sheet {name}").trim().into()
    } else {
        name.into()
    }
}

/// A name as it is, or cut behind a whole word; the text in brackets at its end, which
/// distinguishes sheets, is kept.
fn brief(name: &str) -> String {
    let all = name.encode_utf16().count();
    let Some((body, ending)) = name.rsplit_once(" (").filter(|_| all > LONGEST) else {
        return shortened(name, LONGEST);
    };
    let ending = format!(" ({ending}");
    let room = LONGEST.saturating_sub(ending.encode_utf16().count());
    let cut = shortened(body, room);
    match cut.rsplit_once(' ') {
        Some((whole, _)) if room > 0 => format!("{}{ending}", whole.trim_end_matches(',')),
        _ => shortened(name, LONGEST),
    }
}

fn shortened(name: &str, length: usize) -> String {
    let mut used = 0;
    // A workbook counts UTF-16 units.
    let fits = |character: &char| {
        used += character.len_utf16();
        used <= length
    };
    name.chars().take_while(fits).collect::<String>().trim_end_matches([' ', '\'']).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_permitted_and_unique() {
        let mut names = Names::default();
        assert_eq!(names.add("Run 7: Platform [a/b]"), "Run 7 Platform a b");
        assert_eq!(names.add("run 7: platform [a/b]"), "run 7 platform a b (2)");
        assert_eq!(names.add(""), "Sheet");
        assert_eq!(names.add("History"), "Sheet History");
        let long = names.add("server: SQL on cached data, a very long title (SRV)");
        assert_eq!(long, "server SQL on cached (SRV)");
        assert_eq!(
            names.add("server: SQL on cached data, a very long title (TP)"),
            "server SQL on cached (TP)"
        );
        assert!(names.add(&"\u{1f600}".repeat(20)).encode_utf16().count() <= LONGEST);
    }
}
