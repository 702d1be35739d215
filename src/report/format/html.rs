//! One self-contained HTML page: no network; light and dark by the reader's system, prints on white.
//!
//! Only a page with a chart has scripts: the vendored library and `assets/report.js`. Without scripts the data of each
//! chart are still there as a table. A content security policy in the page forbids every request.

mod chart;
#[cfg(test)]
mod palette_tests;
mod table;

pub(super) use table::notes;

use super::{Format, Options, Rendered, heatmap_html};
use crate::error::Result;
use crate::report::document::{Block, Code, Document, Section};

/// `--format html`.
pub struct Html;

const STYLE: &str = include_str!("../../../assets/report.css");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
/// A page with more sections has a table of contents.
const FEW_SECTIONS: usize = 4;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }
    fn title(&self) -> &'static str {
        "one self-contained page with charts: no network, prints well"
    }

    fn is_text(&self) -> bool {
        false
    }

    fn extension(&self) -> &'static str {
        "html"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let title = escape(&document.title);
        let sections: String = document.sections.iter().enumerate().map(section).collect();
        let scripts = if has_chart(document) { chart::scripts() } else { String::new() };
        let page = format!(
            "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n</header>\n{}\
             <main>\n{sections}</main>\n{scripts}</body>\n</html>\n",
            document.language.code(),
            contents(&document.sections)
        );
        Ok(Rendered::Text(page))
    }
}

fn has_chart(document: &Document) -> bool {
    document.sections.iter().flat_map(|section| &section.blocks).any(|block| matches!(block, Block::Chart(_)))
}

/// Links to the sections.
fn contents(sections: &[Section]) -> String {
    if sections.len() <= FEW_SECTIONS {
        return String::new();
    }
    let link = |(index, section): (usize, &Section)| {
        format!("<li><a href=\"#s{}\">{}</a></li>\n", index + 1, escape(&section.title))
    };
    let links: String = sections.iter().enumerate().map(link).collect();
    format!("<nav aria-label=\"Contents\">\n<ul>\n{links}</ul>\n</nav>\n")
}

fn section((index, section): (usize, &Section)) -> String {
    let is_chart = |block: &Block| matches!(block, Block::Chart(_));
    let parts = section.blocks.chunk_by(|a, b| is_chart(a) && is_chart(b)).map(|part| {
        let blocks: String = part.iter().map(block).collect();
        // Charts stand side by side where there is room.
        if is_chart(&part[0]) { format!("<div class=\"charts\">\n{blocks}</div>\n") } else { blocks }
    });
    let blocks: String = parts.collect();
    format!("<section id=\"s{}\">\n<h2>{}</h2>\n{blocks}</section>\n", index + 1, escape(&section.title))
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Facts(facts) => {
            let pair =
                |(name, value): &(String, String)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value));
            format!("<dl>\n{}</dl>\n", facts.iter().map(pair).collect::<String>())
        }
        Block::Table(content) => table::table(content),
        Block::Chart(content) => chart::figure(content),
        Block::Heatmap(map) => heatmap_html::table(map),
        Block::Code(part) => code(part),
    }
}

fn code(code: &Code) -> String {
    let caption = if code.caption.is_empty() { String::new() } else { format!("<p>{}</p>\n", escape(&code.caption)) };
    let name = if code.caption.is_empty() { "Code".into() } else { escape(&code.caption) };
    let text = escape(&code.text);
    format!("{caption}{}", wide(&name, &format!("<pre>{text}</pre>")))
}

/// Content that may be wider than the page: it scrolls in a box of its own, also by the keyboard.
pub(super) fn wide(name: &str, content: &str) -> String {
    format!("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">{content}</div>\n")
}

/// Text as it may stand in an element or a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_is_text() {
        let document = Document { title: "<script>&\"".into(), ..Document::default() };
        let page = Html.render(&document, Options::default()).unwrap().into_text().unwrap();
        assert!(page.contains("<h1>&lt;script&gt;&amp;&quot;</h1>") && !page.contains("<script"), "{page}");
    }
}
