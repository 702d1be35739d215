//! Pages of a site as files that any web host serves and a browser opens without one: made from a
//! store of its own, which holds nothing that is not to be seen.

use std::collections::BTreeSet;

use maud::html;

use super::address::{Address, Links, file};
use super::history;
use super::pages::{Answer, PageContext, PageError, Pages, file_of_site};
use super::query::Query;
use super::stored::{self, Chosen};
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::model::{RunKind, RunRecord};
use crate::report::anonymized::{AnonymizedRun, anonymize, letter};
use crate::report::format::html::{board as markup, content};
use crate::report::{Document, Input, Language, RunTests, board};
use crate::store::Store;

/// Context of the pages in addition to the store.
pub struct Shown<'a> {
    pub catalog: &'a Catalog,
    pub language: Language,
    /// Title of the site.
    pub title: &'a str,
    /// Runs that are compared, the first of each is the base.
    pub compared: &'a [Vec<i64>],
    /// The catalog as a document.
    pub catalog_document: &'a Document,
}

/// A history of fewer runs is a single figure.
const MIN_RUNS: u64 = 2;
/// Files that pages use.
const OWN: [&str; 5] = ["report.css", "site.css", "report.js", "platforms.js", "icon.svg"];

/// A page of the site, or a file that its pages use.
enum Part {
    Platforms,
    Runs,
    Run(i64),
    Test(i64, u32),
    Compared(Vec<i64>),
    Histories,
    History(Query),
    Catalog,
    Own(&'static str),
}

impl Part {
    fn file(&self) -> String {
        file(&match self {
            Part::Platforms => Address::Platforms,
            Part::Runs => Address::Runs,
            Part::Run(run) => Address::Run(*run),
            Part::Test(run, test) => Address::Test(*run, *test),
            Part::Compared(runs) => Address::Compared(runs),
            Part::Histories => Address::Histories,
            Part::History(query) => Address::History(query),
            Part::Catalog => Address::Catalog,
            Part::Own(name) => Address::File(name),
        })
    }
}

/// Makes every file of the site and hands it out with its name; the first page comes last.
///
/// # Errors
/// The store cannot be read; what `write` says.
pub fn each(
    store: &Store,
    shown: &Shown<'_>,
    write: &mut dyn FnMut(&str, &str) -> Result<()>,
) -> Result<()> {
    let parts = parts(store, shown)?;
    let there: BTreeSet<String> = parts.iter().map(Part::file).collect();
    for part in &parts {
        let name = part.file();
        let up = if name.contains('/') { "../" } else { "" };
        let links = Links::Files { up, there: &there };
        let context = PageContext { language: shown.language, title: shown.title, links };
        let pages = Pages { context, store, catalog: shown.catalog };
        let content =
            content_of(&pages, shown, part).map_err(|refused| page_error(&name, &refused))?;
        write(&name, &content)?;
    }
    Ok(())
}

fn page_error(name: &str, refused: &PageError) -> Error {
    Error::usage(name, format!("this page cannot be made: {}", refused.why))
}

fn parts(store: &Store, shown: &Shown<'_>) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = OWN.iter().map(|name| Part::Own(name)).collect();
    let runs: Vec<i64> = store.runs()?.iter().map(|run| run.id).collect();
    for run in runs {
        let tests = store.figures(run)?;
        parts.extend(tests.iter().map(|test| Part::Test(run, test.seq())));
        parts.push(Part::Run(run));
    }
    parts.extend(shown.compared.iter().map(|runs| Part::Compared(runs.clone())));
    let histories = history::all(store)?.into_iter().filter(|(_, runs)| *runs >= MIN_RUNS);
    parts.extend(histories.map(|(query, _)| Part::History(query)));
    parts.extend([Part::Catalog, Part::Histories, Part::Runs, Part::Platforms]);
    // Equal histories would be one file.
    let mut names = BTreeSet::new();
    parts.retain(|part| names.insert(part.file()));
    Ok(parts)
}

fn content_of(pages: &Pages<'_>, shown: &Shown<'_>, part: &Part) -> Answer {
    match part {
        Part::Platforms => platforms(pages, shown),
        Part::Runs => pages.runs(&Query::default()),
        Part::Run(run) => pages.run(&run.to_string(), &Query::default()),
        Part::Test(run, test) => pages.test(&run.to_string(), &test.to_string()),
        Part::Compared(runs) => pages.compare(&runs.iter().map(i64::to_string).collect::<Vec<_>>()),
        Part::Histories => history::page(pages, &Query::default()),
        Part::History(query) => history::page(pages, query),
        Part::Catalog => {
            let title = pages.phrase("Catalog");
            Ok(pages.html(&title, &content(shown.catalog_document)))
        }
        Part::Own(name) => {
            Ok(file_of_site(name).map(|(_, content)| content.to_string()).unwrap_or_default())
        }
    }
}

/// The first page: the platforms side by side, and the comparisons that there are.
fn platforms(pages: &Pages<'_>, shown: &Shown<'_>) -> Answer {
    let runs = pages.store.runs()?;
    let chosen = runs.iter().map(|run| Chosen { run: run.id.to_string(), test: None });
    let chosen: Vec<Chosen> = chosen.collect();
    let input = stored::input(pages.store, pages.catalog, &chosen, false, String::new())?;
    let input = Input { language: shown.language, ..input };
    let links = &pages.context.links;
    let address = |run: i64, test: Option<u32>| match test {
        Some(test) => links.to(&Address::Test(run, test)),
        None => links.to(&Address::Run(run)),
    };
    let names = input.platforms();
    let named = |run: &i64| {
        let place = input.runs.iter().position(|data| data.run.id == *run);
        place.and_then(|place| names.get(place)).cloned().unwrap_or_default()
    };
    let content = html! {
        (markup::board(&board::board(&input), shown.language, &address))
        @if !shown.compared.is_empty() {
            div.page { section #comparisons { "\n"
                h2 { (pages.phrase("Comparisons")) } "\n"
                ul.comparisons { @for runs in shown.compared {
                    li {
                        a href=[links.to(&Address::Compared(runs))] {
                            (runs.iter().map(named).collect::<Vec<_>>().join(" / "))
                        }
                    } "\n"
                } }
            } }
        }
    };
    Ok(pages.html(&pages.phrase("Platforms side by side"), &content))
}

/// A store of these runs as they may be published: a platform that a publication names, and a run
/// that is given a name here, has that name; the others are called A, B, C. `catalog` names the
/// platforms of publications.
///
/// # Errors
/// If the library fails.
pub fn publish(catalog: &Catalog, runs: &[RunTests], names: &[Option<String>]) -> Result<Store> {
    let anonymized = anonymize(runs).into_iter();
    let mut published: Vec<RunTests> = anonymized.map(AnonymizedRun::into_run_tests).collect();
    let mut letters = (0..).map(letter);
    for ((published, data), name) in published.iter_mut().zip(runs).zip(names) {
        let public = name.clone().or_else(|| public_name(catalog, &data.run));
        let name = public.unwrap_or_else(|| letters.next().unwrap_or_default());
        published.run.name = Some(name.clone());
        published.run.target = name;
    }
    copy_to_store(&published)
}

/// A store of these runs as they are; a run that is given a name here has that name.
///
/// # Errors
/// If the library fails.
pub fn whole(runs: &[RunTests], names: &[Option<String>]) -> Result<Store> {
    let named = |(data, name): (&RunTests, &Option<String>)| {
        let name = name.clone().or_else(|| data.run.name.clone());
        RunTests::new(RunRecord { name, ..data.run.clone() }, data.tests.clone())
    };
    copy_to_store(&runs.iter().zip(names).map(named).collect::<Vec<_>>())
}

/// The runs under their numbers in a store of their own.
fn copy_to_store(runs: &[RunTests]) -> Result<Store> {
    let mut store = Store::in_memory()?;
    let uids: Vec<String> = runs.iter().map(|data| format!("site-{}", data.run.id)).collect();
    let runs = uids.iter().zip(runs).map(|(uid, data)| (uid.as_str(), &data.run, &data.tests));
    store.keep_runs(runs)?;
    Ok(store)
}

/// The name of a platform that a publication names; with the size of its data if the run's name has
/// it.
fn public_name(catalog: &Catalog, run: &RunRecord) -> Option<String> {
    let platform = &run.provenance.as_ref().filter(|_| run.kind == RunKind::Published)?.platform;
    catalog.published().platforms.get(platform)?;
    let size = run.name.as_deref()?.strip_prefix(platform.as_str())?;
    let is_size = size.strip_prefix('-').is_some_and(|size| {
        let unit = size.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        size.len() > unit.len() && ["gb", "tb"].contains(&unit)
    });
    (size.is_empty() || is_size).then(|| format!("{platform}{size}"))
}
