//! Texts from outside (names, labels, settings, messages of servers) for the place where they are
//! shown: one function per place. JSON needs none: it is exact.

use crate::document::{Bars, Block, Cell, Chart, Column, Document, Heatmap, Table};
use dbdyno_core::error::visible;

use super::signs::typeset_signs;

/// Maximum number of characters in a cell of a workbook.
const MAX_CELL: usize = 32_767;

/// Text that Markdown shows unchanged: no markup, no HTML, no link. Only what would be taken as one
/// is escaped.
pub(super) fn markdown(text: &str) -> String {
    let text = visible(text);
    let text = text.trim();
    let mut escaped = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        if is_markup(&text[..at], character, &text[at + character.len_utf8()..]) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn is_markup(before: &str, character: char, after: &str) -> bool {
    let ends_word = || after.is_empty() || after.starts_with(' ');
    match character {
        '|' | '*' | '_' | '<' | '`' | '\\' | '[' | ']' | '~' | '$' => true,
        '&' => after.starts_with(|next: char| next == '#' || next.is_ascii_alphabetic()),
        // Bare addresses are made links.
        ':' => after.starts_with("//"),
        '.' if before.to_ascii_lowercase().ends_with("www") => true,
        // Headings, quotations, rules and lists, at the start only.
        '#' | '>' | '=' => before.is_empty(),
        '-' | '+' => before.is_empty() && (ends_word() || after.starts_with(character)),
        '.' | ')' => {
            !before.is_empty() && ends_word() && before.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

/// Text that a spreadsheet reads unchanged from CSV: what it would take for a formula begins with
/// `'`; numbers stay numbers.
pub(super) fn csv(text: &str) -> String {
    let text = visible(text);
    if is_formula(&text) { format!("'{text}") } else { text }
}

fn is_formula(text: &str) -> bool {
    let text = text.trim();
    let is_number = || {
        text.replace(',', "")
            .trim_end_matches(['%', ' ', '\u{a0}', '\u{202f}'])
            .parse::<f64>()
            .is_ok()
    };
    let begun =
        text.strip_prefix(['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}']);
    begun.is_some_and(|rest| !rest.is_empty()) && !is_number()
}

/// Text for a workbook, whose cells are typed, so that a text is never a formula.
pub(super) fn workbook(text: &str) -> String {
    typeset_signs(&visible(text)).chars().take(MAX_CELL).collect()
}

/// Text as a page prints it.
pub(super) fn page(text: &str) -> String {
    typeset_signs(&visible(text))
}

/// The document with every text made fit by `escape`. Lines of code stand as they are, but for what
/// acts.
pub(super) fn escape_document(document: &Document, escape: fn(&str) -> String) -> Document {
    let mut document = document.clone();
    let apply = |text: &mut String| *text = escape(text);
    apply(&mut document.title);
    for section in &mut document.sections {
        apply(&mut section.title);
        section.blocks.iter_mut().for_each(|part| block(part, apply));
    }
    document.key_figures.iter_mut().for_each(|part| table(part, apply));
    if let Some(head) = &mut document.head {
        head.each(&mut { apply }, &mut |part| block(part, apply));
    }
    if let Some(page) = &mut document.page {
        page.each(&mut { apply }, &mut |part| block(part, apply));
    }
    document
}

fn block(block: &mut Block, apply: impl Fn(&mut String) + Copy) {
    match block {
        Block::Paragraph(text) => apply(text),
        Block::Facts(facts) => {
            facts.iter_mut().for_each(|(name, value)| [name, value].into_iter().for_each(apply))
        }
        Block::Table(content) => table(content, apply),
        Block::Chart(content) | Block::Drawing(content) => chart(content, apply),
        Block::Heatmap(content) => heatmap(content, apply),
        Block::Bars(content) => bars(content, apply),
        Block::Code(code) => {
            apply(&mut code.caption);
            let lines = code.text.lines().map(|line| visible(&line.replace('\t', "    ")));
            code.text = lines.collect::<Vec<_>>().join("\n");
        }
    }
}

fn table(table: &mut Table, apply: impl Fn(&mut String)) {
    apply(&mut table.name);
    for Column { name, unit, .. } in &mut table.columns {
        [name].into_iter().chain(unit).for_each(&apply);
    }
    table.rows.iter_mut().flatten().for_each(|cell| self::cell(cell, &apply));
    table.footnotes.iter_mut().chain(&mut table.remarks).for_each(apply);
}

fn cell(cell: &mut Cell, apply: impl Fn(&mut String)) {
    if let Cell::Text(text) = cell {
        apply(text);
    }
}

fn chart(chart: &mut Chart, apply: impl Fn(&mut String)) {
    [&mut chart.name, &mut chart.title, &mut chart.caption].into_iter().for_each(&apply);
    for axis in [&mut chart.x, &mut chart.y] {
        [&mut axis.name].into_iter().chain(&mut axis.unit).for_each(&apply);
    }
    for level in &mut chart.levels {
        [&mut level.name].into_iter().chain(&mut level.end).for_each(&apply);
    }
    for series in &mut chart.series {
        apply(&mut series.name);
        series.points.iter_mut().filter_map(|point| point.label.as_mut()).for_each(&apply);
    }
}

fn bars(bars: &mut Bars, apply: impl Fn(&mut String)) {
    bars.legend.iter_mut().chain([&mut bars.name]).for_each(&apply);
    for row in &mut bars.rows {
        [&mut row.group, &mut row.label, &mut row.shown].into_iter().for_each(&apply);
        row.parts.iter_mut().for_each(|part| apply(&mut part.note));
    }
}

fn heatmap(map: &mut Heatmap, apply: impl Fn(&mut String)) {
    [&mut map.name, &mut map.row_title].into_iter().chain(&mut map.columns).for_each(&apply);
    for row in &mut map.rows {
        [&mut row.label, &mut row.unit].into_iter().for_each(&apply);
        for heat in &mut row.cells {
            cell(&mut heat.cell, &apply);
            heat.note.iter_mut().for_each(&apply);
        }
    }
    map.footnotes.iter_mut().chain(&mut map.remarks).for_each(apply);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_escapes_what_would_be_markup_and_nothing_else() {
        for (text, shown) in [
            ("a_b |c| `d`", "a\\_b \\|c\\| \\`d\\`"),
            ("[x](javascript:y) <b>", "\\[x\\](javascript:y) \\<b>"),
            ("see https://a.example www.b.example", "see https\\://a.example www\\.b.example"),
            ("# 1", "\\# 1"),
            ("- 1", "\\- 1"),
            ("---", "\\---"),
            ("-5 % & 3.5 GB (2)", "-5 % & 3.5 GB (2)"),
            ("1. x &lt;", "1\\. x \\&lt;"),
            ("2.5", "2.5"),
            ("  a\n    b", "a     b"),
        ] {
            assert_eq!(markdown(text), shown);
        }
    }

    #[test]
    fn csv_has_no_formulas_and_keeps_numbers() {
        for formula in
            ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\u{ff1d}1", "-x"]
        {
            assert!(csv(formula).starts_with('\''), "{formula:?}");
        }
        for other in ["-5", "+3.5", "-1,234.5", "+50.0 %", "-", "a=b", "5-3", "-1e9", ""] {
            assert_eq!(csv(other), other);
        }
    }
}
