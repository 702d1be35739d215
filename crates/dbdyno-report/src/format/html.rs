//! One self-contained HTML page: no network; light and dark by the reader's system, prints on
//! white.
//!
//! Everything is drawn here; the one script sorts tables. A content security policy in the page
//! forbids every request.

mod bars;
pub mod board;
mod brand;
mod chart;
mod page;
#[cfg(test)]
mod palette_tests;
mod panels;
mod ratios;
mod svg;
mod table;
mod timeline;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::escape::{self, escape_document};
use super::{Format, Options, Rendered};
use crate::Language;
use crate::document::{Block, Code, Document, Section};
use dbdyno_core::error::{Result, visible};

/// `--format html`.
pub struct Html;

/// Style of the pages, and the script that sorts their tables.
pub const STYLE: &str = include_str!("../../assets/report.css");
/// JavaScript of pages: sorting and filtering; a page is complete without it.
pub const SCRIPT: &str = include_str!("../../assets/report.js");
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

    fn is_page(&self) -> bool {
        true
    }

    fn extension(&self) -> &'static str {
        "html"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let document = &escape_document(document, escape::page);
        let page = html! {
            (DOCTYPE) "\n"
            html lang=(document.language.tag()) { "\n"
                head { "\n"
                    meta charset="utf-8"; "\n"
                    meta http-equiv="Content-Security-Policy"
                        content={ (POLICY) (brand::policy(document.brand.as_ref())) }; "\n"
                    meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                    title { (document.title) } "\n"
                    style { "\n" (PreEscaped(STYLE)) } "\n"
                    @if let Some(brand) = &document.brand { (brand::style(brand)) }
                } "\n"
                body { "\n"
                    @if let Some(brand) = &document.brand { (brand::head(brand)) }
                    (body(document))
                    @if let Some(brand) = &document.brand { (brand::foot(brand)) }
                    script { "\n" (PreEscaped(SCRIPT)) } "\n"
                } "\n"
            } "\n"
        };
        Ok(Rendered::Text(page.into_string()))
    }
}

/// Frame of a page of a web site, which a file does not have.
pub struct Frame<'a> {
    /// Language of the page's own words, and its `lang` attribute.
    pub language: Language,
    /// Title in the browser's tab.
    pub title: &'a str,
    /// Files of the site.
    pub styles: &'a [&'a str],
    /// Addresses of the scripts, which run after the page is parsed.
    pub scripts: &'a [&'a str],
    /// Address of the icon in the browser's tab.
    pub icon: &'a str,
    /// Content policy of the page, where no server sends it.
    pub policy: Option<&'a str>,
    /// Seconds after which a reader without scripts asks again; none: never.
    pub refresh_s: Option<u32>,
    /// Above the content.
    pub top: Markup,
}

/// A page of a web site: style and scripts are files of the site.
pub fn framed(frame: &Frame<'_>, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE) "\n"
        html lang=(frame.language.tag()) { "\n"
            head { "\n"
                meta charset="utf-8"; "\n"
                @if let Some(policy) = frame.policy {
                    meta http-equiv="Content-Security-Policy" content=(policy); "\n"
                }
                meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                title { (visible(frame.title)) } "\n"
                @for style in frame.styles { link rel="stylesheet" href=(style); "\n" }
                link rel="icon" href=(frame.icon); "\n"
                @for script in frame.scripts { script src=(script) defer {} "\n" }
                @if let Some(seconds) = frame.refresh_s {
                    noscript { meta http-equiv="refresh" content=(seconds); } "\n"
                }
            } "\n"
            body { "\n" (frame.top) (content) } "\n"
        } "\n"
    };
    page.into_string()
}

/// The content of a document, for a page of a web site.
pub fn content(document: &Document) -> Markup {
    body(&escape_document(document, escape::page))
}

/// The design of the document, if it has one; else its sections.
fn body(document: &Document) -> Markup {
    match &document.page {
        Some(page) => page::content(page, document.language),
        None => html! {
            (svg::symbols())
            div.page { "\n"
                @match &document.head {
                    Some(head) => (page::head(head, &document.title, document.language)),
                    None => { header { "\n" h1 { (document.title) } "\n" } "\n" }
                }
                @if document.sections.len() > FEW_SECTIONS { (contents(document)) }
                main { "\n"
                    @for (section, number) in document.sections.iter().zip(1..) {
                        (self::section(section, number))
                    }
                } "\n"
                @if document.head.is_some() { (page::foot(document.language)) }
            } "\n"
        },
    }
}

/// Links to the sections.
fn contents(document: &Document) -> Markup {
    html! {
        nav aria-label=(document.language.phrase("Contents")) { "\n"
            ul { "\n"
                @for (section, number) in document.sections.iter().zip(1..) {
                    li { a href={ "#s" (number) } { (section.title) } } "\n"
                }
            } "\n"
        } "\n"
    }
}

fn section(section: &Section, number: usize) -> Markup {
    let is_chart = |block: &Block| matches!(block, Block::Chart(_) | Block::Drawing(_));
    html! {
        section id={ "s" (number) } { "\n"
            h2 { (section.title) } "\n"
            @for part in section.blocks.chunk_by(|a, b| is_chart(a) && is_chart(b)) {
                // Charts stand side by side where there is room.
                @if is_chart(&part[0]) {
                    div.charts { "\n" @for chart in part { (block(chart)) } } "\n"
                }
                @else { @for other in part { (block(other)) } }
            }
        } "\n"
    }
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Paragraph(text) => html! { p { (text) } "\n" },
        Block::Facts(facts) => html! {
            dl { "\n" @for (name, value) in facts { dt { (name) } dd { (value) } "\n" } } "\n"
        },
        Block::Table(content) => table::table(content),
        Block::Chart(content) | Block::Drawing(content) => chart::figure(content),
        Block::Heatmap(map) => table::heatmap(map),
        Block::Bars(content) => bars::bars(content),
        Block::Code(part) => code(part),
    }
}

fn code(code: &Code) -> Markup {
    let has_caption = !code.caption.is_empty();
    let name = if has_caption { &code.caption } else { "Code" };
    html! {
        @if has_caption { p { (code.caption) } "\n" }
        (wide(name, &html! { pre { (code.text) } }))
    }
}

/// Content that may be wider than the page: it scrolls in a box of its own, also by the keyboard.
pub(super) fn wide(name: &str, content: &Markup) -> Markup {
    html! { div.wide tabindex="0" role="region" aria-label=(name) { (content) } "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_is_text() {
        let document = Document { title: "<script>&\"".into(), ..Document::default() };
        let page = Html.render(&document, Options::default()).unwrap().into_text().unwrap();
        assert!(page.contains("<h1>&lt;script&gt;&amp;&quot;</h1>"), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "its own, at the end");
    }

    #[test]
    fn no_script_of_ours_ends_its_element() {
        assert!(!SCRIPT.contains("</script"));
    }
}
