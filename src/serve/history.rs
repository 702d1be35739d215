//! The history of one figure (a workload with its parameters, at a number of jobs, on one engine
//! and platform): which one is asked for, and which runs belong to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use maud::{Markup, html};

use super::address::{Address, Links};
use super::pages::{Answer, PageError, Pages};
use super::query::Query;
use super::series;
use crate::analysis::changes;
use crate::analysis::interval::supports;
use crate::analysis::ramp;
use crate::error::{Result, visible};
use crate::model::{
    Better, Counters, LatencySummary, RunRecord, Status, Test, TestResult, Verdict,
};
use crate::report::document::Digits;
use crate::report::format::html::content;
use crate::report::{Language, RunTests};
use crate::store::{MeasuredPoint, Store};

/// The newest runs that a history is made of, and those whose tests are read at once for the list
/// of all histories.
const MAX_RUNS: u32 = 200;
const RUNS_AT_ONCE: usize = 20;
/// Histories to choose from.
const MAX_LISTED: usize = 2_000;

/// A test that stands for its repetitions in a run.
#[derive(Debug, Clone)]
pub struct Entry {
    pub run: Arc<RunRecord>,
    pub test: Test,
    /// Number of repetitions.
    pub times: usize,
    /// The KPM, absent if there is none.
    pub value: Option<f64>,
    /// The ends of its 95 % interval, where that is known.
    pub ends: Option<[f64; 2]>,
    pub verdict: Verdict,
}

impl Entry {
    fn new(run: &Arc<RunRecord>, found: &ramp::RepeatedTest<'_>, test: Test) -> Entry {
        Entry {
            run: Arc::clone(run),
            test,
            times: found.times,
            value: found.figure.map(|figure| figure.value),
            ends: found.figure.and_then(|figure| figure.ends()),
            verdict: found.verdict(),
        }
    }
}

/// The figures of one series in the order of their runs.
pub struct History<'a> {
    pub(super) newest: &'a Entry,
    /// Each with why it is left out, if it is.
    pub(super) entries: Vec<(&'a Entry, Option<&'static str>)>,
}

/// Name of a platform: its system, or its CPUs.
pub fn platform(run: &RunRecord) -> Option<&str> {
    run.disclosure.get("hardware", "system").or_else(|| run.disclosure.get("hardware", "cpu_model"))
}

impl<'a> History<'a> {
    /// History of the same work on the same platform as the newest entry.
    pub fn for_entry(entries: &'a [Entry], newest: &'a Entry) -> History<'a> {
        let is_same = |entry: &&Entry| {
            ramp::same(&entry.test, &newest.test)
                && entry.run.engine == newest.run.engine
                && platform(&entry.run) == platform(&newest.run)
        };
        let entries =
            entries.iter().filter(is_same).map(|entry| (entry, left_out(entry, newest))).collect();
        History { newest, entries }
    }

    /// Every entry, those left out too.
    pub fn entries(&self) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().map(|(entry, _)| *entry)
    }

    /// Number, entry and figure of those of the same work that are not invalid.
    pub(super) fn drawable(&self) -> Vec<(usize, &'a Entry, f64)> {
        let numbered = self.entries.iter().zip(1..).filter(|((entry, why), _)| {
            why.is_none_or(|why| why == NOT_VALID) && entry.verdict.status < Status::Invalid
        });
        let drawn =
            numbered.filter_map(|((entry, _), number)| Some((number, *entry, entry.value?)));
        drawn.filter(|(.., value)| value.is_finite()).collect()
    }

    /// Number (from 1), entry and figure of those that support a statement.
    pub(super) fn accepted_points(&self) -> Vec<(usize, &'a Entry, f64)> {
        let numbered = self.entries.iter().zip(1..).filter(|((_, why), _)| why.is_none());
        numbered.filter_map(|((entry, _), number)| Some((number, *entry, entry.value?))).collect()
    }
}

const NOT_VALID: &str = "not valid";

/// Reason why a figure does not stand beside the newest one.
fn left_out(entry: &Entry, newest: &Entry) -> Option<&'static str> {
    let checks = [
        (!entry.value.is_some_and(f64::is_finite), "no figure"),
        (entry.test.revision() != newest.test.revision(), "another revision of the workload"),
        (entry.test.hash() != newest.test.hash(), "other SQL or other parameters by default"),
        (entry.run.size_gb != newest.run.size_gb, "data of another size"),
        (entry.run.data_set_id != newest.run.data_set_id, "other data of the same size"),
        // The last: what is left out for this alone is drawn, hollow.
        (!supports(entry.verdict.status), NOT_VALID),
    ];
    checks.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why)
}

/// The history asked for, or those that there are.
pub(super) fn page(site: &Pages<'_>, query: &Query) -> Answer {
    let Some(workload) = query.get("workload") else { return index(site) };
    let number = |text: String| {
        PageError::wrong(
            site.language().say("'{text}' is not a number of jobs", &[("text", &text)]),
        )
    };
    let jobs = query.number("jobs").map_err(number)?.unwrap_or(1);
    let entries = entries(site.store, workload, jobs)?;
    let Some(newest) = newest(&entries, query) else {
        return Err(PageError::missing(site.phrase(
            "No measured run has this workload with these parameters at this number of \
                         jobs.",
        )));
    };
    let history = History::for_entry(&entries, newest);
    let links = html! {
        p.page.links { @for Entry { run, test, .. } in history.entries() {
            a href=[site.context.links.to(&Address::Test(run.id, test.seq()))] {
                (site.language().say(
                    "run {run} test {test}",
                    &[("run", &run.id.to_string()), ("test", &test.seq().to_string())],
                ))
            } " "
        } }
    };
    let document = series::document(site.language(), &history, site.catalog.effects());
    let runs: BTreeSet<i64> = entries.iter().map(|entry| entry.run.id).collect();
    let is_cut = runs.len() >= MAX_RUNS as usize;
    let cut = is_cut.then(|| {
        site.language().say(
            "Older runs than the newest {runs} are left out.",
            &[("runs", &MAX_RUNS.to_string())],
        )
    });
    let content = html! {
        div.history { (content(&document)) @if let Some(cut) = cut { p { (cut) } } }
        (links)
    };
    Ok(site.html(&document.title, &content))
}

/// The tests of a workload at a number of jobs: of each run one for its repetitions; oldest run
/// first.
fn entries(store: &Store, workload: &str, jobs: u32) -> Answer<Vec<Entry>> {
    // A figure is that of all tests of its run together, as on the run's own page.
    let mut tests: BTreeMap<i64, Vec<Test>> = BTreeMap::new();
    for (run, test) in store.tests_beside(workload, jobs, MAX_RUNS)? {
        tests.entry(run).or_default().push(test);
    }
    let mut entries = Vec::new();
    for run in store.outlines(&tests.keys().copied().collect::<Vec<_>>())? {
        let of_run = tests.remove(&run.id).unwrap_or_default();
        let RunTests { run, tests } = RunTests::new(run, of_run);
        let is_asked = |test: &&Test| test.workload() == workload && test.jobs() == Some(jobs);
        let asked: Vec<&Test> = tests.iter().filter(is_asked).collect();
        let (run, repeated) = (Arc::new(run), ramp::repeated(&asked));
        entries.extend(repeated.iter().map(|found| Entry::new(&run, found, found.test.clone())));
    }
    entries.sort_by(by_time);
    Ok(entries)
}

/// The tests that all histories of a workload at a number of jobs are of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    workload: String,
    jobs: u32,
}

/// The entries of all histories, as their pages have them. All tests of the newest runs are read
/// for it, as for the page of a workload that all of them have: a part of the runs at a time, and
/// what no list shows is let go.
fn all_entries(store: &Store) -> Result<BTreeMap<Work, Vec<Entry>>> {
    let mut found: BTreeMap<Work, Vec<Entry>> = BTreeMap::new();
    for ids in store.newest_measured(MAX_RUNS)?.chunks(RUNS_AT_ONCE) {
        let mut tests: BTreeMap<i64, Vec<Test>> = BTreeMap::new();
        for (run, test) in store.tests_of(ids)? {
            tests.entry(run).or_default().push(test);
        }
        for run in store.outlines(ids)? {
            let of_run = tests.remove(&run.id).unwrap_or_default();
            let RunTests { run, tests } = RunTests::new(run, of_run);
            let run = Arc::new(run);
            for repeated in ramp::repeated(&tests.iter().collect::<Vec<_>>()) {
                let Some(test) = repeated.test.measured() else { continue };
                let work = Work { workload: test.workload.clone(), jobs: test.jobs };
                let entry = Entry::new(&run, &repeated, without_details(test));
                found.entry(work).or_default().push(entry);
            }
        }
    }
    found.values_mut().for_each(|entries| entries.sort_by(by_time));
    Ok(found)
}

/// A test without its large parts, which belong neither to its work nor to its figure.
fn without_details(test: &TestResult) -> Test {
    Test::from(TestResult {
        latency: LatencySummary::default(),
        counters: Counters::default(),
        window_counters: Counters::default(),
        job_figures: Vec::new(),
        waits: None,
        ..test.clone()
    })
}

fn by_time(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    (&a.run.started_at, a.run.id).cmp(&(&b.run.started_at, b.run.id))
}

/// The figures of a listed history that its page looks through for changes.
#[derive(Debug, Clone, PartialEq)]
struct ListedCourse {
    values: Vec<f64>,
    /// Direction in which they are better.
    better: Better,
}

/// The figures of a listed history; none if its runs are all too old for it.
fn course_of(point: &MeasuredPoint, entries: &BTreeMap<Work, Vec<Entry>>) -> Option<ListedCourse> {
    let work = Work { workload: point.workload.clone(), jobs: point.jobs };
    let entries = entries.get(&work)?;
    let newest = newest(entries, &query_for(point))?;
    let history = History::for_entry(entries, newest);
    let values = history.accepted_points().into_iter().map(|(.., value)| value).collect();
    Some(ListedCourse { values, better: newest.test.kpm().better })
}

/// The newest test that is asked for: of those without parameters if none are given and there are
/// some.
fn newest<'a>(entries: &'a [Entry], query: &Query) -> Option<&'a Entry> {
    let params: BTreeMap<String, String> = query.all("param").filter_map(param).collect();
    let is =
        |name: &str, value: Option<&str>| query.get(name).is_none_or(|asked| Some(asked) == value);
    let fits = |entry: &&Entry| {
        is("engine", entry.run.engine.as_deref())
            && is("platform", platform(&entry.run))
            && is("drive", Some(entry.test.drive().name()))
    };
    let exact = entries.iter().rev().filter(fits).find(|entry| *entry.test.chosen() == params);
    exact.or_else(|| entries.iter().rev().filter(fits).find(|_| params.is_empty()))
}

/// `name=value`.
fn param(text: &str) -> Option<(String, String)> {
    text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()))
}

/// The link to the history of what a test measures: of a server on whatever platform is the newest,
/// in files on that of the run. None of a publication, and where there is no such page.
pub(super) fn link(links: &Links<'_>, run: &RunRecord, test: &Test) -> Option<String> {
    let jobs = test.measured()?.jobs;
    let place = (!links.are_served()).then(|| {
        let engine = run.engine.clone().unwrap_or_default();
        place(engine, platform(run).unwrap_or_default().to_string())
    });
    let place = place.into_iter().flatten();
    let query = query_of(test.workload(), test.drive().name(), jobs, test.chosen(), place);
    links.to(&Address::History(&query))
}

/// Place of a measurement, as fields of a query.
fn place(engine: String, platform: String) -> [(&'static str, String); 2] {
    [("engine", engine), ("platform", platform)]
}

/// Every history that there is, as it is asked for, with the number of its runs.
pub(super) fn all(store: &Store) -> Result<Vec<(Query, u64)>> {
    let measured = store.measured(MAX_LISTED)?;
    Ok(measured.iter().map(|point| (query_for(point), point.runs)).collect())
}

/// Query for the history of a point.
fn query_for(point: &MeasuredPoint) -> Query {
    let place = place(point.engine.clone(), point.platform.clone().unwrap_or_default());
    query_of(&point.workload, &point.drive, point.jobs, &point.chosen, place)
}

fn query_of<'a>(
    workload: &str,
    drive: &str,
    jobs: u32,
    chosen: &BTreeMap<String, String>,
    more: impl IntoIterator<Item = (&'a str, String)>,
) -> Query {
    let params = chosen.iter().map(|(name, value)| ("param", format!("{name}={value}")));
    let which = [
        ("workload", workload.to_string()),
        ("drive", drive.to_string()),
        ("jobs", jobs.to_string()),
    ];
    Query::from_pairs(which.into_iter().chain(params).chain(more))
}

/// The histories that there are.
fn index(site: &Pages<'_>) -> Answer {
    let measured = site.store.measured(MAX_LISTED)?;
    let entries = all_entries(site.store)?;
    let heads = [
        "Workload",
        "Engine",
        "Platform",
        "Drive",
        "Jobs",
        "Unit",
        "Runs",
        "Course",
        "Last change",
    ];
    let content = html! {
        div.page { main { "\n"
            h1 { (site.phrase("Histories")) } "\n"
            p.about { (site.phrase("One figure over all runs of a platform, with the changes in \
                                    it. Those of the most runs stand first.")) } "\n"
            @if measured.is_empty() { p { (site.phrase("No run yet: measure something with 'dbdyno \
                                                        run'.")) } }
            @else {
                div.wide tabindex="0" role="region" aria-label=(site.phrase("Histories")) {
                    table.sortable { "\n"
                        thead { tr { @for (head, place) in heads.iter().zip(0..) {
                            th scope="col" class=[[4, 6].contains(&place).then_some("number")] {
                                (site.phrase(head))
                            }
                        } } } "\n"
                        tbody { @for point in &measured {
                            (line(site, point, course_of(point, &entries).as_ref())) "\n"
                        } }
                    }
                }
            }
        } }
    };
    Ok(site.html(&site.phrase("Histories"), &content))
}

fn line(site: &Pages<'_>, point: &MeasuredPoint, found: Option<&ListedCourse>) -> Markup {
    let values = found.map_or(&[][..], |found| found.values.as_slice());
    let params: String =
        point.chosen.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    let platform = point.platform.clone().unwrap_or_default();
    let link = site.context.links.to(&Address::History(&query_for(point)));
    html! {
        tr {
            td { a href=[link] { (visible(&point.workload)) (visible(&params)) } }
            td { (visible(&point.engine)) }
            td.text { @if platform.is_empty() { "-" } @else { (visible(&platform)) } }
            td { (site.phrase(&point.drive)) }
            td.number { (point.jobs) }
            td { (visible(&point.unit)) }
            td.number { (site.language().number(point.runs as f64, Digits::Decimals(0))) }
            td { (course(site, values)) }
            td { (found.map_or_else(|| "-".into(), |found| last_change(site.language(), found))) }
        }
    }
}

/// Width and height of a course, in pixels.
const COURSE: (f64, f64) = (120.0, 24.0);
/// The least range that fills the height, of the logarithm: noise is no mountain.
const MIN_RANGE: f64 = 0.1;

/// The values of the runs as a line; a dash with fewer than two.
fn course(site: &Pages<'_>, values: &[f64]) -> Markup {
    let (Some(first), Some(last)) = (values.first(), values.last().filter(|_| values.len() > 1))
    else {
        return html! { "-" };
    };
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (middle, range) = ((low + high) / 2.0, (high - low).max(MIN_RANGE));
    let (width, height) = COURSE;
    let place = |(at, log): (usize, &f64)| {
        let x = 2.0 + (width - 4.0) * at as f64 / (logs.len() - 1) as f64;
        let y = height / 2.0 - (height - 4.0) * (log - middle) / range;
        format!("{x:.1},{y:.1}")
    };
    let points: Vec<String> = logs.iter().enumerate().map(place).collect();
    let number = |value: f64| site.language().number(value, Digits::Significant(3));
    let spoken = site.language().say(
        "{first} to {last} over {count} runs",
        &[
            ("first", &number(*first)),
            ("last", &number(*last)),
            ("count", &values.len().to_string()),
        ],
    );
    html! {
        svg.course width=(width) height=(height) viewBox=(format!("0 0 {width} {height}"))
            role="img" aria-label=(spoken) {
            title { (spoken) }
            polyline points=(points.join(" "))
                fill="none" stroke="currentColor" stroke-width="1.5" {}
        }
    }
}

/// By how much it changed last, whether that is better, and for how many runs it has been so; a
/// dash if no change stands out.
fn last_change(language: Language, found: &ListedCourse) -> String {
    let ListedCourse { values, better } = found;
    let Some(change) = changes::changes(values).last().copied() else { return "-".into() };
    let percent = 100.0 * (change.after / change.before - 1.0);
    let sign = if percent < 0.0 { "−" } else { "+" };
    let percent = language.number(percent.abs(), Digits::Significant(2));
    let way = if better.beats(change.after, change.before) { "better" } else { "worse" };
    let way = language.phrase(way);
    let values_said = [("sign", sign), ("percent", &percent), ("way", &way)];
    language.count("last_change", values.len() - change.at, &values_said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::run;
    use crate::analysis::fixture::at;

    #[test]
    fn a_history_takes_two_queries_however_many_runs_it_is_of() {
        let queries = [2, 30].map(|runs| {
            let mut store = Store::in_memory().unwrap();
            for _ in 0..runs {
                let id = store.begin_run(&run("nightly")).unwrap();
                store.save_test(id, &at(4, 100.0)).unwrap();
            }
            let entries = entries(&store, "SRV-QUERY1", 4)
                .unwrap_or_else(|refused| panic!("{}", refused.why));
            assert_eq!(entries.len(), runs);
            store.reads().queries
        });
        assert_eq!(queries, [2, 2]);
    }

    #[test]
    fn a_listed_change_says_whether_it_is_better_and_for_how_many_runs() {
        let said = |better: Better, newest: usize| {
            let level = |at: usize| if at < 20 { 100.0 } else { 80.0 };
            let noise = |at: usize| 0.1 * (at % 3) as f64;
            let values = (0..20 + newest).map(|at| level(at) + noise(at)).collect();
            last_change(Language::English, &ListedCourse { values, better })
        };
        assert_eq!(said(Better::Higher, 6), "−20 %, worse, for the last 6 runs");
        assert_eq!(said(Better::Lower, 6), "−20 %, better, for the last 6 runs");
        assert_eq!(said(Better::Lower, 1), "−20 %, better, in the last run");
        assert_eq!(said(Better::Lower, 0), "-");
    }

    #[test]
    fn a_listed_course_is_what_the_page_of_the_history_looks_through() {
        let mut store = Store::in_memory().unwrap();
        for number in 0..12_u32 {
            // The first six were of other data; of five repetitions one is wild in the newest runs.
            let size_gb = Some(if number < 6 { 1.0 } else { 9.0 });
            let id = store.begin_run(&RunRecord { size_gb, ..run("nightly") }).unwrap();
            let wild = if number > 8 { 30.0 } else { 100.0 };
            for (rate, seq) in [100.0, 101.0, 99.0, 100.5, wild].into_iter().zip(1..) {
                let rate = if number < 6 { 2.0 * rate } else { rate };
                let test = TestResult { seq, ci_fraction: None, ..at(4, rate) };
                store.save_test(id, &test).unwrap();
                let other = TestResult { seq: seq + 5, ..at(8, 150.0 + f64::from(seq)) };
                store.save_test(id, &other).unwrap();
            }
        }
        let listed = store.measured(MAX_LISTED).unwrap();
        let all = all_entries(&store).unwrap();
        assert_eq!(listed.iter().map(|point| point.jobs).collect::<Vec<_>>(), [4, 8]);
        for point in &listed {
            let entries = entries(&store, &point.workload, point.jobs)
                .unwrap_or_else(|refused| panic!("{}", refused.why));
            let newest = newest(&entries, &query_for(point)).unwrap();
            let page = History::for_entry(&entries, newest);
            let values: Vec<f64> =
                page.accepted_points().into_iter().map(|(.., value)| value).collect();
            let listed = course_of(point, &all).unwrap();
            assert_eq!((&listed.values, listed.better), (&values, Better::Higher));
            assert_eq!((values.len(), page.entries().count()), (6, 12), "of the same size");
            assert!(values.iter().all(|value| *value > 95.0), "{values:?}");
        }
    }
}
