//! Routing of requests to pages; the pages of a run, a test and a comparison, which are the reports
//! with links around them.

use maud::{Markup, html};
use oxhttp::model::{Body, Request, Response, StatusCode};

use super::address::{Address, Links};
use super::http::{PLAIN, response};
use super::query::Query;
use super::stored::{self, Chosen};
use super::{history, list, live};
use crate::catalog::Catalog;
use crate::error::{Error, Kind, visible};
use crate::model::{RunRecord, RunStatus, Test};
use crate::report::compare::CompareReport;
use crate::report::document::{Digits, Document};
use crate::report::format::html::{self as page, Frame};
use crate::report::page::Page;
use crate::report::test_page::TestPage;
use crate::report::{Input, Language, Report};
use crate::store::Store;

const HTML: &str = "text/html; charset=utf-8";
/// Content policy of pages without a server: their own style, scripts and pictures.
const POLICY_OF_FILES: &str =
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'";
/// Tests with a line; a page of more is slow to open.
const MAX_LINES: usize = 2_000;
/// More runs are not readable beside one another.
const MAX_COMPARED: usize = 12;
/// A dial.
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><path d=\"M2 \
                    12a6 6 0 1 1 12 0M8 12l3-5\" fill=\"none\" stroke=\"#0b5fa5\" \
                    stroke-width=\"2\"/></svg>";

/// Reason why there is no page.
pub(super) struct PageError {
    pub status: StatusCode,
    pub why: String,
}

impl PageError {
    /// The request is wrong.
    pub fn wrong(why: impl Into<String>) -> PageError {
        PageError { status: StatusCode::BAD_REQUEST, why: why.into() }
    }

    /// There is no such thing.
    pub fn missing(why: impl Into<String>) -> PageError {
        PageError { status: StatusCode::NOT_FOUND, why: why.into() }
    }
}

impl From<Error> for PageError {
    fn from(error: Error) -> PageError {
        match error.kind {
            Kind::Usage => PageError::missing(error.to_string()),
            _ => PageError { status: StatusCode::INTERNAL_SERVER_ERROR, why: error.to_string() },
        }
    }
}

/// A page, or why there is none.
pub(super) type Answer<T = String> = Result<T, PageError>;

/// Context of every page of a site: language, title and links.
#[derive(Clone, Copy)]
pub(super) struct PageContext<'a> {
    pub language: Language,
    /// Title of the site, shown on every page.
    pub title: &'a str,
    pub links: Links<'a>,
}

impl PageContext<'_> {
    pub fn phrase(&self, english: &str) -> String {
        self.language.phrase(english)
    }

    /// A page with the links of the site above its content.
    pub fn html(&self, title: &str, content: &Markup) -> String {
        self.framed(title, None, content)
    }

    /// A page like that of [`PageContext::html`], which readers without scripts see anew after
    /// `refresh_s` seconds.
    pub fn framed(&self, title: &str, refresh_s: Option<u32>, content: &Markup) -> String {
        let is_served = self.links.are_served();
        let file = |name| self.links.to(&Address::File(name));
        let own = if is_served { "site.js" } else { "platforms.js" };
        let [styles, scripts] = [["report.css", "site.css"], ["report.js", own]]
            .map(|names| names.into_iter().filter_map(file).collect::<Vec<_>>());
        let styles: Vec<&str> = styles.iter().map(String::as_str).collect();
        let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
        let frame = Frame {
            language: self.language,
            title,
            styles: &styles,
            scripts: &scripts,
            icon: &file("icon.svg").unwrap_or_default(),
            policy: (!is_served).then_some(POLICY_OF_FILES),
            refresh_s,
            top: self.top(),
        };
        page::framed(&frame, content)
    }

    fn top(&self) -> Markup {
        let pages = [
            (Address::Platforms, "Platforms"),
            (Address::Runs, "Runs"),
            (Address::Histories, "Histories"),
            (Address::Catalog, "Catalog"),
        ];
        let links = pages.iter().filter_map(|(page, name)| Some((self.links.to(page)?, name)));
        html! {
            nav.site aria-label=(self.phrase("Pages")) { "\n"
                strong { "dbdyno" } " " span.soft { (visible(self.title)) }
                ul { @for (link, name) in links { li { a href=(link) { (self.phrase(name)) } } } }
            } "\n"
        }
    }

    /// The page that says why there is none.
    pub fn refusal(&self, refused: &PageError) -> Response<Body> {
        let content = html! {
            div.page { main { h1 { (refused.status.as_u16()) } p { (visible(&refused.why)) } } }
        };
        response(refused.status, HTML, self.html(&refused.status.to_string(), &content))
    }
}

/// Context of the pages.
pub(super) struct Pages<'a> {
    pub context: PageContext<'a>,
    pub store: &'a Store,
    pub catalog: &'a Catalog,
}

/// The answer to a request.
pub(super) fn answer(pages: &Pages<'_>, request: &Request<Body>) -> Answer<Response<Body>> {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let path = request.uri().path();
    let parts = path.trim_matches('/').split('/').collect::<Vec<_>>();
    match parts.as_slice() {
        ["run", run, "events"] => return live::events(pages, run, request, &query),
        [file] => {
            if let Some((kind, content)) = file_of_site(file) {
                return Ok(response(StatusCode::OK, kind, content));
            }
        }
        _ => {}
    }
    pages.page(&parts, &query).map(|page| response(StatusCode::OK, HTML, page))
}

impl Pages<'_> {
    /// The page of this path.
    fn page(&self, path: &[&str], query: &Query) -> Answer {
        match path {
            [""] => self.runs(query),
            ["run", run] => self.run(run, query),
            ["run", run, "test", test] => self.test(run, test),
            ["compare"] => self.asked_compare(query),
            ["history"] => history::page(self, query),
            _ => Err(PageError::missing(self.no_page())),
        }
    }

    fn no_page(&self) -> String {
        self.phrase("There is no page at this address.")
    }

    pub fn phrase(&self, english: &str) -> String {
        self.context.phrase(english)
    }

    pub fn language(&self) -> Language {
        self.context.language
    }

    pub fn html(&self, title: &str, content: &Markup) -> String {
        self.context.html(title, content)
    }

    fn input(&self, chosen: &[Chosen], seconds: bool, command: String) -> Answer<Input> {
        let input = stored::input(self.store, self.catalog, chosen, seconds, command)?;
        Ok(Input { language: self.language(), ..input })
    }

    /// The list of runs.
    pub fn runs(&self, query: &Query) -> Answer {
        Ok(self.html(&self.phrase("Runs"), &list::content(self, query)?))
    }

    /// The page of a run.
    pub fn run(&self, run: &str, query: &Query) -> Answer {
        let record = self.store.run(run)?;
        let is_live = self.context.links.are_served() && query.get("now").is_none();
        if record.status == RunStatus::Running && is_live {
            return live::page(self, &record);
        }
        let chosen = Chosen { run: record.id.to_string(), test: None };
        let input = self.input(
            &[chosen],
            Page.needs_seconds(),
            format!("dbdyno report html {}", record.id),
        )?;
        let tests = input.runs.first().map(|data| data.tests.as_slice()).unwrap_or_default();
        let links = html! {
            div.page {
                section #tests {
                    h2 { (self.phrase("Tests of this run")) }
                    (table(&self.context, &record, tests))
                }
            }
        };
        let document = Page.build(&input);
        let content = html! {
            p.page.links { a href="#tests" { (self.phrase("Tests of this run")) } }
            (page::content(&document)) (links)
        };
        Ok(self.html(&document.title, &content))
    }

    /// The page of a test.
    pub fn test(&self, run: &str, test: &str) -> Answer {
        let seq = test.parse().map_err(|_| PageError::missing(self.no_page()))?;
        let record = self.store.run(run)?;
        let run = record.id;
        let chosen = Chosen { run: run.to_string(), test: Some(seq) };
        let input = self.input(&[chosen], true, format!("dbdyno report test {run}:{seq}"))?;
        let tested = input.runs.first().and_then(|data| data.tests.first());
        let history = tested.and_then(|test| history::link(&self.context.links, &record, test));
        let links = html! {
            p.page.links {
                a href=[self.context.links.to(&Address::Run(run))] {
                    (self.language().say("run_unnamed", &[("id", &run.to_string())]))
                }
                @if let Some(link) = history { " " a href=(link) { (self.phrase("History")) } }
            }
        };
        Ok(self.document(&TestPage.build(&input), &links))
    }

    /// The first run is the base, or the oldest with `base=oldest`.
    fn asked_compare(&self, query: &Query) -> Answer {
        let mut runs: Vec<String> = query.all("run").map(String::from).collect();
        if query.get("base") == Some("oldest") {
            runs.sort_by_key(|run| run.parse::<i64>().unwrap_or(i64::MAX));
        }
        if runs.len() < 2 || runs.len() > MAX_COMPARED {
            let most = MAX_COMPARED.to_string();
            return Err(PageError::wrong(
                self.language().say("Tick 2 to {most} runs.", &[("most", &most)]),
            ));
        }
        self.compare(&runs)
    }

    /// The comparison of these runs with the first of them.
    pub fn compare(&self, runs: &[String]) -> Answer {
        let chosen: Vec<Chosen> =
            runs.iter().map(|run| Chosen { run: run.clone(), test: None }).collect();
        let command = format!("dbdyno compare {}", runs.join(" "));
        let input = self.input(&chosen, CompareReport.needs_seconds(), command)?;
        let history = stored::history(self.store, &input.runs, self.catalog.effects())?;
        let ids: Vec<i64> = input.runs.iter().map(|data| data.run.id).collect();
        let input = Input { catalog: self.catalog.clone(), history, ..input };
        let others: Vec<i64> = ids.iter().rev().copied().collect();
        let others = self.context.links.to(&Address::Compared(&others));
        let links = html! { p.page.links {
            @if let Some(link) = others { a href=(link) { (self.phrase("The other way round")) } }
            @for run in &ids { " "
                a href=[self.context.links.to(&Address::Run(*run))] {
                    (self.language().say("run_unnamed", &[("id", &run.to_string())]))
                }
            }
        } };
        Ok(self.document(&CompareReport.build(&input), &links))
    }

    /// A report with links below it.
    pub fn document(&self, document: &Document, links: &Markup) -> String {
        let content = html! { (page::content(document)) (links) };
        self.html(&document.title, &content)
    }
}

/// A file that pages use, with its type.
pub(super) fn file_of_site(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "report.css" => ("text/css; charset=utf-8", page::STYLE),
        "site.css" => ("text/css; charset=utf-8", include_str!("../../assets/site.css")),
        "report.js" => ("text/javascript; charset=utf-8", page::SCRIPT),
        "site.js" => ("text/javascript; charset=utf-8", include_str!("../../assets/site.js")),
        "platforms.js" => {
            ("text/javascript; charset=utf-8", include_str!("../../assets/platforms.js"))
        }
        "icon.svg" => ("image/svg+xml", ICON),
        "robots.txt" => (PLAIN, "User-agent: *\nDisallow: /\n"),
        _ => return None,
    })
}

/// Tests with links to their pages and histories.
pub(super) fn table(context: &PageContext<'_>, run: &RunRecord, tests: &[Test]) -> Markup {
    let language = context.language;
    let heads = ["Test", "Workload", "Drive", "Jobs", "KPM", "Verdict", "History"];
    html! {
        div.wide tabindex="0" role="region" aria-label=(language.phrase("Tests of this run")) {
            table.sortable.tests {
                thead { tr { @for (head, place) in heads.iter().zip(0..) {
                    th scope="col" class=[[0, 3, 4].contains(&place).then_some("number")] {
                        (language.phrase(head))
                    }
                } } }
                tbody {
                    @for test in tests.iter().take(MAX_LINES) { (row(context, run, test)) "\n" }
                }
            }
        }
        @if tests.len() > MAX_LINES {
            p.about { (language.say("left_out_lines", &[("most", &MAX_LINES.to_string())])) }
        }
    }
}

fn row(context: &PageContext<'_>, run: &RunRecord, test: &Test) -> Markup {
    let (language, links) = (context.language, &context.links);
    let cells = cells(language, test);
    html! {
        tr id={ "t" (test.seq()) } {
            td.number { a href=[links.to(&Address::Test(run.id, test.seq()))] { (test.seq()) } }
            @for (cell, class) in cells.iter().zip(CLASSES) {
                @let class = match class {
                    "verdict" => test.status().to_string(),
                    _ => class.into(),
                };
                td class=[(!class.is_empty()).then_some(class)] { (cell) }
            }
            td {
                @if let Some(link) = history::link(links, run, test) {
                    a href=(link) { (language.phrase("History")) }
                }
            }
        }
    }
}

/// Classes of [`cells`]; that of the verdict is its word.
const CLASSES: [&str; 5] = ["", "", "number", "number", "verdict"];

/// Workload, drive, jobs, KPM and verdict of a test.
pub(super) fn cells(language: Language, test: &Test) -> [String; 5] {
    let params = test.chosen().iter().map(|(name, value)| format!(" {name}={value}"));
    let value = test.kpm_value().filter(|value| value.is_finite());
    let kpm = value.map_or("-".to_string(), |value| {
        format!("{} {}", language.number(value, Digits::Significant(4)), test.kpm().unit)
    });
    [
        visible(&(test.name() + &params.collect::<String>())),
        language.phrase(test.drive().name()),
        test.jobs().map(|jobs| jobs.to_string()).unwrap_or_default(),
        visible(&kpm),
        language.verdict(test.status()),
    ]
}
