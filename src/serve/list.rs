//! The list of runs: found by what is known of them, ticked to be compared.

use maud::{Markup, html};

use super::address::{Address, Links};
use super::pages::{Answer, Pages};
use super::query::Query;
use crate::error::visible;
use crate::model::{RunKind, RunStatus};
use crate::report::Language;
use crate::report::document::Digits;
use crate::store::RunEntry;

/// Choices of the order, the first unless asked for.
const ORDERS: [(&str, &str); 4] = [
    ("newest", "newest first"),
    ("oldest", "oldest first"),
    ("name", "by name"),
    ("tests", "most tests first"),
];
const VERDICTS: [(&str, &str); 2] = [("valid", "all tests valid"), ("not", "some tests not valid")];
const STATES: [RunStatus; 4] =
    [RunStatus::Finished, RunStatus::Running, RunStatus::Interrupted, RunStatus::Failed];

/// The content of the page.
pub(super) fn content(pages: &Pages<'_>, query: &Query) -> Answer<Markup> {
    let all = pages.store.listing()?;
    let shown =
        sort_runs(all.iter().filter(|run| is_asked_for(run, query)).collect(), query.get("sort"));
    let counts = [("shown", shown.len().to_string()), ("all", all.len().to_string())];
    let counts = counts.each_ref().map(|(name, count)| (*name, count.as_str()));
    let links = &pages.context.links;
    Ok(html! {
        div.page { main { "\n"
            h1 { (pages.phrase("Runs")) } "\n"
            @if links.are_served() { (filters(pages, query, &all)) "\n" }
            p.about { (pages.language().say("{shown} of {all} runs", &counts)) } "\n"
            @if !shown.is_empty() { (runs(pages.language(), links, &shown)) }
            @else if all.is_empty() { p { (pages.phrase("No run yet: measure something with \
                                                         'dbdyno run'.")) } }
        } }
    })
}

/// True if every filter fits.
fn is_asked_for(listed: &RunEntry, query: &Query) -> bool {
    let run = &listed.run;
    let is =
        |name: &str, value: Option<&str>| query.get(name).is_none_or(|asked| Some(asked) == value);
    let [valid, conditional, invalid] = listed.verdicts;
    let fits = match query.get("verdict") {
        Some("valid") => valid > 0 && conditional + invalid == 0,
        Some("not") => conditional + invalid > 0,
        _ => true,
    };
    let texts =
        [run.name.as_deref().unwrap_or_default(), &run.target, &listed.suite, &run.id.to_string()];
    let texts = texts.join(" ")
        + " "
        + &listed.labels.join(" ")
        + " "
        + listed.platform.as_deref().unwrap_or_default();
    let has = |word: &str| texts.to_lowercase().contains(&word.to_lowercase());
    fits && query.get("q").is_none_or(|text| text.split_whitespace().all(has))
        && is("engine", Some(&run.engine))
        && is("platform", listed.platform.as_deref())
        && is("suite", Some(&listed.suite))
        && is("status", Some(run.status.name()))
}

fn sort_runs<'a>(mut runs: Vec<&'a RunEntry>, order: Option<&str>) -> Vec<&'a RunEntry> {
    match order {
        Some("oldest") => {}
        Some("name") => {
            runs.sort_by_key(|listed| (listed.run.name.is_none(), listed.run.name.clone()))
        }
        Some("tests") => runs.sort_by_key(|listed| std::cmp::Reverse(listed.run.tests)),
        // When an imported study came into the file says nothing about its age.
        _ => runs.sort_by_key(|listed| {
            let run = &listed.run;
            let is_measured = run.kind == RunKind::Measured;
            std::cmp::Reverse((is_measured, run.started_at.clone(), run.id))
        }),
    }
    runs
}

fn filters(site: &Pages<'_>, query: &Query, all: &[RunEntry]) -> Markup {
    let values = |of: fn(&RunEntry) -> Option<&str>| {
        let mut values: Vec<&str> =
            all.iter().filter_map(of).filter(|value| !value.is_empty()).collect();
        values.sort_unstable();
        values.dedup();
        values.into_iter().map(|value| (value, visible(value))).collect::<Vec<_>>()
    };
    let said = |choices: &[(&'static str, &'static str)]| {
        choices.iter().map(|(value, english)| (*value, site.phrase(english))).collect::<Vec<_>>()
    };
    let states: Vec<(&str, String)> =
        STATES.iter().map(|state| (state.name(), site.phrase(state.name()))).collect();
    let any = Some(site.phrase("any"));
    let choices = [
        ("engine", "Engine", values(|listed| Some(&listed.run.engine)), &any),
        ("platform", "Platform", values(|listed| listed.platform.as_deref()), &any),
        ("suite", "Suite", values(|listed| Some(&listed.suite)), &any),
        ("status", "Status", states, &any),
        ("verdict", "Verdict", said(&VERDICTS), &any),
        ("sort", "Order", said(&ORDERS), &None),
    ];
    html! {
        form.filters method="get" action="/" role="search" { "\n"
            label {
                span { (site.phrase("Text")) }
                input type="search" name="q" value=[query.get("q")];
            } "\n"
            @for (name, english, options, any) in choices {
                label { span { (site.phrase(english)) }
                    select name=(name) {
                        @if let Some(any) = any { option value="" { (any) } }
                        @for (value, word) in options {
                            option value=(value) selected[query.get(name) == Some(value)] { (word) }
                        }
                    }
                } "\n"
            }
            button type="submit" { (site.phrase("Show")) } " "
            a href="/" { (site.phrase("All runs")) } "\n"
        }
    }
}

fn runs(language: Language, links: &Links<'_>, runs: &[&RunEntry]) -> Markup {
    let heads = [
        "Compare", "Run", "Name", "Platform", "Target", "Suite", "Started", "Status", "Tests",
        "Verdicts",
    ];
    // Without a server the selected runs cannot be compared.
    let heads = if links.are_served() { &heads[..] } else { &heads[1..] };
    let table = html! {
            div.wide tabindex="0" role="region" aria-label=(language.phrase("Runs")) {
                table.sortable { "\n"
                    thead { tr { @for head in heads {
                        th scope="col" class=[["Run", "Tests"].contains(head).then_some("number")] {
                            (language.phrase(head))
                        }
                    } } } "\n"
                    tbody { "\n" @for listed in runs { (row(language, links, listed)) "\n" } }
                }
            }
    };
    if !links.are_served() {
        return table;
    }
    html! {
        form.runs method="get" action="/compare" { "\n"
            input type="hidden" name="base" value="oldest";
            p.act {
                button type="submit" { (language.phrase("Compare ticked runs")) } " "
                span.soft { (language.phrase("The oldest is the base.")) }
            } "\n"
            (table)
        }
    }
}

fn row(language: Language, links: &Links<'_>, listed: &RunEntry) -> Markup {
    let run = &listed.run;
    let id = run.id.to_string();
    let tick = language.say("compare run {run}", &[("run", &id)]);
    let started = started(language, &visible(&run.started_at));
    html! {
        tr {
            @if links.are_served() {
                td { input type="checkbox" name="run" value=(id) aria-label=(tick); }
            }
            td.number { a href=[links.to(&Address::Run(run.id))] { (id) } }
            td.text { (visible(run.name.as_deref().unwrap_or_default())) }
            td.text { (visible(listed.platform.as_deref().unwrap_or("-"))) }
            td.text { (visible(&run.target)) }
            td.text { (visible(&listed.suite)) }
            td { (started) }
            td { (language.phrase(run.status.name())) }
            td.number { (language.number(run.tests as f64, Digits::Decimals(0))) }
            @let words = ["valid", "conditional", "invalid"];
            td { @for (count, word) in listed.verdicts.iter().zip(words) {
                @if *count > 0 { span class=(word) { (count) " " (language.phrase(word)) } " " }
            } }
        }
    }
}

/// The day and the minute of a point in time, with its zone; of a publication the day.
fn started(language: Language, iso: &str) -> String {
    match iso.split_once('T') {
        None => language.date(iso),
        Some((day, time)) => {
            let minute = time.get(..5).unwrap_or(time);
            format!("{} {minute} UTC", language.date(day))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RunSummary;

    #[test]
    fn a_start_has_its_zone() {
        let iso = "2026-11-28T15:33:04Z";
        assert_eq!(started(Language::English, iso), "2026-11-28 15:33 UTC");
        assert_eq!(started(Language::German, iso), "28.11.2026 15:33 UTC");
        assert_eq!(started(Language::English, "2019-01-01"), "2019-01-01");
    }

    fn listed_run(id: i64, name: &str, verdicts: [u64; 3]) -> RunEntry {
        let run = RunSummary {
            id,
            name: (!name.is_empty()).then(|| name.into()),
            kind: RunKind::Measured,
            target: "engine (private server)".into(),
            engine: "engine".into(),
            started_at: "2026-01-01T00:00:00Z".into(),
            status: RunStatus::Finished,
            tests: verdicts.iter().sum(),
        };
        RunEntry {
            run,
            suite: "quick".into(),
            labels: vec!["host=Lab-1".into()],
            platform: Some("CPU 3".into()),
            verdicts,
        }
    }

    fn matching_ids(query: &str) -> Vec<i64> {
        let runs = [
            listed_run(1, "b", [3, 0, 0]),
            listed_run(2, "", [1, 1, 0]),
            listed_run(3, "a", [0, 0, 0]),
        ];
        let query = Query::parse(query);
        let found = sort_runs(
            runs.iter().filter(|run| is_asked_for(run, &query)).collect(),
            query.get("sort"),
        );
        found.iter().map(|listed| listed.run.id).collect()
    }

    #[test]
    fn filters_narrow_and_orders_sort() {
        assert_eq!(matching_ids(""), [3, 2, 1]);
        assert_eq!(matching_ids("sort=oldest&q=lab-1+ENGINE"), [1, 2, 3]);
        assert_eq!(matching_ids("sort=name"), [3, 1, 2]);
        assert_eq!(matching_ids("sort=tests"), [1, 2, 3]);
        assert_eq!(
            (matching_ids("verdict=valid"), matching_ids("verdict=not")),
            (vec![1], vec![2])
        );
        assert_eq!(
            (matching_ids("q=lab-2"), matching_ids("engine=other"), matching_ids("suite=full")),
            (vec![], vec![], vec![])
        );
        assert_eq!(
            (
                matching_ids("platform=CPU+3&status=finished").len(),
                matching_ids("status=running").len()
            ),
            (3, 0)
        );
    }

    #[test]
    fn runs_of_ones_own_stand_before_studies_and_the_newest_first() {
        let at = |id: i64, kind: RunKind, started_at: &str| {
            let mut one = listed_run(id, "", [1, 0, 0]);
            (one.run.kind, one.run.started_at) = (kind, started_at.into());
            one
        };
        let runs = [
            at(1, RunKind::Measured, "2026-03-01T00:00:00Z"),
            at(2, RunKind::Measured, "2026-02-01T00:00:00Z"),
            at(3, RunKind::Published, "2019-01-01"),
            at(4, RunKind::Published, "2020-01-01"),
        ];
        let order = sort_runs(runs.iter().collect(), None);
        assert_eq!(order.iter().map(|listed| listed.run.id).collect::<Vec<_>>(), [1, 2, 4, 3]);
    }
}
