//! Which page is asked for; the pages of a run, a test and a comparison, which are the reports with
//! links around them.

use maud::{Markup, html};
use oxhttp::model::{Body, Request, Response, StatusCode};

use super::http::{PLAIN, response};
use super::query::Query;
use super::stored::{self, Chosen};
use super::{Site, history, list, live};
use crate::error::{Error, Kind, visible};
use crate::model::{RunStatus, Test};
use crate::report::compare::CompareReport;
use crate::report::document::{Digits, Document};
use crate::report::format::html::{self as page, Frame};
use crate::report::page::Page;
use crate::report::test_page::TestPage;
use crate::report::{Input, Language, Report};
use crate::store::Store;

const HTML: &str = "text/html; charset=utf-8";
/// Tests with a line; a page of more is slow to open.
const MOST_LINES: usize = 2_000;
/// More runs are not readable beside one another.
const MOST_COMPARED: usize = 12;
/// A dial.
const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><path d=\"M2 12a6 6 0 1 1 12 0M8 12l3-5\" \
                    fill=\"none\" stroke=\"#0b5fa5\" stroke-width=\"2\"/></svg>";

/// Why there is no page.
pub(super) struct Refused {
    pub status: StatusCode,
    pub why: String,
}

impl Refused {
    /// The request is wrong.
    pub fn wrong(why: impl Into<String>) -> Refused {
        Refused { status: StatusCode::BAD_REQUEST, why: why.into() }
    }

    /// There is no such thing.
    pub fn missing(why: impl Into<String>) -> Refused {
        Refused { status: StatusCode::NOT_FOUND, why: why.into() }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        match error.kind {
            Kind::Usage => Refused::missing(error.to_string()),
            _ => Refused { status: StatusCode::INTERNAL_SERVER_ERROR, why: error.to_string() },
        }
    }
}

/// A page, or why there is none.
pub(super) type Answer<T = Response<Body>> = Result<T, Refused>;

impl Site {
    /// The page that is asked for, or one that says why there is none.
    pub(super) fn page(&self, request: &Request<Body>) -> Response<Body> {
        let query = Query::parse(request.uri().query().unwrap_or_default());
        self.routed(request, &query).unwrap_or_else(|refused| self.refusal(&refused))
    }

    fn routed(&self, request: &Request<Body>, query: &Query) -> Answer {
        let path = request.uri().path();
        match path.trim_matches('/').split('/').collect::<Vec<_>>().as_slice() {
            [""] => Ok(self.html(self.phrase("Runs"), &list::content(self, query)?)),
            ["run", run] => self.run(run, query),
            ["run", run, "events"] => live::events(self, run, request, query),
            ["run", run, "test", test] => self.test(run, test),
            ["compare"] => self.compare(query),
            ["history"] => history::page(self, query),
            [file] => file_of_site(file).ok_or_else(|| Refused::missing(self.no_page())),
            _ => Err(Refused::missing(self.no_page())),
        }
    }

    fn no_page(&self) -> String {
        self.phrase("There is no page at this address.")
    }

    fn refusal(&self, refused: &Refused) -> Response<Body> {
        let content = html! { div.page { main { h1 { (refused.status.as_u16()) } p { (visible(&refused.why)) } } } };
        let mut answer = self.html(refused.status.to_string(), &content);
        *answer.status_mut() = refused.status;
        answer
    }

    /// A page with the links of the site above its content.
    pub(super) fn html(&self, title: String, content: &Markup) -> Response<Body> {
        self.framed(title, None, content)
    }

    /// As [`Site::html`]; it changes, which readers without scripts see so often.
    pub(super) fn framed(
        &self,
        title: String,
        refresh_s: Option<u32>,
        content: &Markup,
    ) -> Response<Body> {
        let frame = Frame {
            language: self.language,
            title: &title,
            styles: &["/report.css", "/site.css"],
            scripts: &["/report.js", "/site.js"],
            refresh_s,
            top: self.top(),
        };
        response(StatusCode::OK, HTML, page::framed(&frame, content))
    }

    fn top(&self) -> Markup {
        let file =
            self.results.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        html! {
            nav.site aria-label=(self.phrase("Pages")) { "\n"
                strong { "dbdyno" } " " span.soft { (visible(&file)) }
                ul { li { a href="/" { (self.phrase("Runs")) } } li { a href="/history" { (self.phrase("Histories")) } } }
            } "\n"
        }
    }

    pub(super) fn phrase(&self, english: &str) -> String {
        self.language.phrase(english)
    }

    fn input(
        &self,
        store: &Store,
        chosen: &[Chosen],
        seconds: bool,
        command: String,
    ) -> Answer<Input> {
        let input = stored::input(store, &self.catalog, chosen, seconds, command)?;
        Ok(Input { language: self.language, ..input })
    }

    fn run(&self, run: &str, query: &Query) -> Answer {
        let store = self.store()?;
        let record = store.run(run)?;
        if record.status == RunStatus::Running && query.get("now").is_none() {
            return live::page(self, &store, &record);
        }
        let chosen = Chosen { run: record.id.to_string(), test: None };
        let input = self.input(
            &store,
            &[chosen],
            Page.needs_seconds(),
            format!("dbdyno report html {}", record.id),
        )?;
        let tests = input.runs.first().map(|data| data.tests.as_slice()).unwrap_or_default();
        let links = html! {
            div.page { section #tests { h2 { (self.phrase("Tests of this run")) } (table(self.language, record.id, tests)) } }
        };
        let document = Page.build(&input);
        let content = html! {
            p.page.links { a href="#tests" { (self.phrase("Tests of this run")) } }
            (page::content(&document)) (links)
        };
        Ok(self.html(document.title, &content))
    }

    fn test(&self, run: &str, test: &str) -> Answer {
        let store = self.store()?;
        let seq = test.parse().map_err(|_| Refused::missing(self.no_page()))?;
        let run = store.run(run)?.id;
        let chosen = Chosen { run: run.to_string(), test: Some(seq) };
        let input =
            self.input(&store, &[chosen], true, format!("dbdyno report test {run}:{seq}"))?;
        let history =
            input.runs.first().and_then(|data| data.tests.first()).and_then(history::link);
        let links = html! {
            p.page.links {
                a href={ "/run/" (run) } { (self.language.say("run_unnamed", &[("id", &run.to_string())])) }
                @if let Some(link) = history { " " a href=(link) { (self.phrase("History")) } }
            }
        };
        Ok(self.document(&TestPage.build(&input), &links))
    }

    /// The first run is the base, or the oldest with `base=oldest`.
    fn compare(&self, query: &Query) -> Answer {
        let mut runs: Vec<String> = query.all("run").map(String::from).collect();
        if query.get("base") == Some("oldest") {
            runs.sort_by_key(|run| run.parse::<i64>().unwrap_or(i64::MAX));
        }
        if runs.len() < 2 || runs.len() > MOST_COMPARED {
            let most = MOST_COMPARED.to_string();
            return Err(Refused::wrong(
                self.language.say("Tick 2 to {most} runs.", &[("most", &most)]),
            ));
        }
        let store = self.store()?;
        let chosen: Vec<Chosen> =
            runs.iter().map(|run| Chosen { run: run.clone(), test: None }).collect();
        let command = format!("dbdyno compare {}", runs.join(" "));
        let input = self.input(&store, &chosen, CompareReport.needs_seconds(), command)?;
        let history = stored::history(&store, &input.runs)?;
        let input = Input { catalog: self.catalog.clone(), history, ..input };
        let others = Query::of(runs.iter().rev().map(|run| ("run", run.clone()))).text();
        let links = html! { p.page.links {
            a href={ "/compare" (others) } { (self.phrase("The other way round")) }
            @for run in &runs { " " a href={ "/run/" (run) } { (self.language.say("run_unnamed", &[("id", run)])) } }
        } };
        Ok(self.document(&CompareReport.build(&input), &links))
    }

    /// A report with links below it.
    fn document(&self, document: &Document, links: &Markup) -> Response<Body> {
        let content = html! { (page::content(document)) (links) };
        self.html(document.title.clone(), &content)
    }
}

fn file_of_site(name: &str) -> Option<Response<Body>> {
    let (kind, content) = match name {
        "report.css" => ("text/css; charset=utf-8", page::STYLE),
        "site.css" => ("text/css; charset=utf-8", include_str!("../../assets/site.css")),
        "report.js" => ("text/javascript; charset=utf-8", page::SCRIPT),
        "site.js" => ("text/javascript; charset=utf-8", include_str!("../../assets/site.js")),
        "icon.svg" => ("image/svg+xml", ICON),
        "robots.txt" => (PLAIN, "User-agent: *\nDisallow: /\n"),
        _ => return None,
    };
    Some(response(StatusCode::OK, kind, content))
}

/// Tests with links to their pages and histories.
pub(super) fn table(language: Language, run: i64, tests: &[Test]) -> Markup {
    let heads = ["Test", "Workload", "Drive", "Jobs", "KPM", "Verdict", "History"];
    html! {
        div.wide tabindex="0" role="region" aria-label=(language.phrase("Tests of this run")) {
            table.sortable.tests {
                thead { tr { @for (head, place) in heads.iter().zip(0..) {
                    th scope="col" class=[[0, 3, 4].contains(&place).then_some("number")] { (language.phrase(head)) }
                } } }
                tbody { @for test in tests.iter().take(MOST_LINES) { (row(language, run, test)) "\n" } }
            }
        }
        @if tests.len() > MOST_LINES {
            p.about { (language.say("left_out_lines", &[("most", &MOST_LINES.to_string())])) }
        }
    }
}

fn row(language: Language, run: i64, test: &Test) -> Markup {
    let cells = cells(language, test);
    html! {
        tr id={ "t" (test.seq()) } {
            td.number { a href={ "/run/" (run) "/test/" (test.seq()) } { (test.seq()) } }
            @for (cell, class) in cells.iter().zip(CLASSES) {
                @let class = if class == "verdict" { test.status().to_string() } else { class.into() };
                td class=[(!class.is_empty()).then_some(class)] { (cell) }
            }
            td { @if let Some(link) = history::link(test) { a href=(link) { (language.phrase("History")) } } }
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
