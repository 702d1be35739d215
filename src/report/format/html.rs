//! One self-contained HTML page: no script, no network; light and dark by the reader's system, prints on white.

use super::super::document::{Block, Cell, Code, Document, Section, Table};
use super::{Format, LEGEND, Options, Rendered, heatmap_html, is_marked, is_number, shown, superscript};
use crate::error::Result;
use crate::model::Status;

/// `--format html`.
pub struct Html;

const STYLE: &str = include_str!("html.css");

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }
    fn title(&self) -> &'static str {
        "one self-contained page: no network, prints well"
    }

    fn extension(&self) -> &'static str {
        "html"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let title = escape(&document.title);
        let sections: String = document.sections.iter().map(section).collect();
        let page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{sections}</body>\n</html>\n"
        );
        Ok(Rendered::Text(page))
    }
}

fn section(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block).collect();
    format!("<section>\n<h2>{}</h2>\n{blocks}</section>\n", escape(&section.title))
}

fn block(block: &Block) -> String {
    match block {
        Block::Paragraph(text) => format!("<p>{}</p>\n", escape(text)),
        Block::Facts(facts) => {
            let pair =
                |(name, value): &(String, String)| format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value));
            format!("<dl>\n{}</dl>\n", facts.iter().map(pair).collect::<String>())
        }
        Block::Table(content) => table(content),
        Block::Chart(chart) => table(&chart.as_table()),
        Block::Heatmap(map) => heatmap_html::table(map),
        Block::Code(part) => code(part),
    }
}

fn code(code: &Code) -> String {
    let caption = if code.caption.is_empty() { String::new() } else { format!("<p>{}</p>\n", escape(&code.caption)) };
    format!("{caption}<div class=\"wide\"><pre>{}</pre></div>\n", escape(&code.text))
}

fn table(table: &Table) -> String {
    let head = table.columns.iter().enumerate().map(|(position, column)| {
        let unit = column.unit.iter().map(|unit| format!("<span class=\"unit\">{}</span>", escape(unit)));
        let class = if is_number(table, position) { " class=\"number\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}{}</th>", escape(&column.name), unit.collect::<String>())
    });
    let rows = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>()));
    let (head, rows) = (head.collect::<String>(), rows.collect::<String>());
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n{}",
        notes(table)
    )
}

fn cell(cell: &Cell) -> String {
    let text = escape(&shown(cell));
    match cell {
        Cell::Number { verdict, .. } => format!("<td class=\"number{}\">{text}</td>", class(*verdict)),
        Cell::Unknown(_) => format!("<td class=\"number unknown\">{text}</td>"),
        Cell::Verdict(status) => format!("<td class=\"verdict{}\">{text}</td>", class(Some(*status))),
        Cell::Empty | Cell::Text(_) => format!("<td>{text}</td>"),
    }
}

/// The class that colours what is not valid.
fn class(verdict: Option<Status>) -> &'static str {
    match verdict {
        Some(Status::Conditional) => " conditional",
        Some(Status::Invalid) => " invalid",
        Some(Status::Valid) | None => "",
    }
}

pub(super) fn notes(table: &Table) -> String {
    let footnotes = table.footnotes.iter().enumerate().map(|(index, why)| format!("{} {why}", superscript(index + 1)));
    let legend = is_marked(&table.rows).then(|| LEGEND.to_owned());
    let all = footnotes.chain(legend).chain(table.remarks.iter().cloned());
    let items: String = all.map(|note| format!("<li>{}</li>\n", escape(&note))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"notes\">\n{items}</ul>\n") }
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_is_text() {
        let document = Document { title: "<script>&\"".into(), sections: vec![] };
        let page = Html.render(&document, Options::default()).unwrap().into_text().unwrap();
        assert!(page.contains("<h1>&lt;script&gt;&amp;&quot;</h1>") && !page.contains("<script"), "{page}");
    }
}
