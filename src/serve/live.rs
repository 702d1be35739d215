//! A run under way: its tests as they are stored, by server-sent events. Each answer holds what was
//! stored since the last one and asks the browser to come again; no thread and no connection is
//! kept for a reader.

use maud::html;
use oxhttp::model::{Body, Request, Response, StatusCode};
use serde_json::json;

use super::http::response;
use super::pages::{Answer, Pages, cells, table};
use super::query::Query;
use crate::error::visible;
use crate::model::{AskedRate, Ramp, RunRecord, RunStatus, StoredPlan, StoredSelection, Test};
use crate::report::Language;

/// Time after which the browser reconnects.
const PAUSE_MS: u32 = 1_000;
/// Without scripts the whole page is asked for again.
const REFRESH_S: u32 = 5;

/// The page of a run under way.
pub(super) fn page(site: &Pages<'_>, run: &RunRecord) -> Answer {
    let tests = site.store.tests_after(run.id, 0)?;
    let language = site.language();
    let title = language
        .say("Run {run} on {target}", &[("run", &run.id.to_string()), ("target", &run.target)]);
    let last = tests.last().map_or(0, Test::seq);
    let content = html! {
        div.page { main data-events={ "/run/" (run.id) "/events?after=" (last) } { "\n"
            h1 { (visible(&title)) } "\n"
            p.answer role="status" data-progress="" { (progress(language, run, tests.len())) } "\n"
            p.about { (site.phrase("A test is shown once it is measured, judged and stored. \
                                    Viewing this page uses a little CPU on the machine under \
                                    test.")) } "\n"
            (table(&site.context, run, &tests)) "\n"
            @if !tests.is_empty() {
                p {
                    a href={ "/run/" (run.id) "?now=1" } {
                        (site.phrase("The page of what is stored so far"))
                    }
                }
            }
        } }
    };
    Ok(site.context.framed(&title, Some(REFRESH_S), &content))
}

/// Events stored after the last one that the reader has.
pub(super) fn events(
    site: &Pages<'_>,
    run: &str,
    request: &Request<Body>,
    query: &Query,
) -> Answer<Response<Body>> {
    const EVENTS: &str = "text/event-stream; charset=utf-8";
    let store = site.store;
    let Ok(run) = store.run(run) else {
        // The browser asks no more.
        return Ok(response(StatusCode::NO_CONTENT, EVENTS, ""));
    };
    let last = request.headers().get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let asked = query.number("after").ok().flatten();
    let tests = store.tests_after(run.id, last.or(asked).unwrap_or(0))?;
    let stored = store.count_tests(run.id)?;
    Ok(response(StatusCode::OK, EVENTS, stream(site.language(), &run, &tests, stored)))
}

/// Stream of server-sent events: one per test, the progress, and the end.
fn stream(language: Language, run: &RunRecord, tests: &[Test], stored: usize) -> String {
    let test = |test: &Test| {
        let shown = json!({
            "seq": test.seq(),
            "href": format!("/run/{}/test/{}", run.id, test.seq()),
            "cells": cells(language, test),
            "verdict": test.status().to_string(),
        });
        format!("id: {}\nevent: test\ndata: {shown}\n\n", test.seq())
    };
    let tests: String = tests.iter().map(test).collect();
    let progress = json!({ "text": progress(language, run, stored) });
    let end = if run.status == RunStatus::Running { "" } else { "event: ended\ndata: {}\n\n" };
    format!("retry: {PAUSE_MS}\n\n{tests}event: progress\ndata: {progress}\n\n{end}")
}

/// `Running: 3 of 12 tests are stored.`
fn progress(language: Language, run: &RunRecord, stored: usize) -> String {
    let stored = stored.to_string();
    let state = language.phrase(run.status.name());
    match planned_tests(&run.plan) {
        Some(planned) => {
            let values =
                [("state", state.as_str()), ("stored", &stored), ("planned", &planned.to_string())];
            language.say("{state}: {stored} of {planned} planned tests are stored", &values)
        }
        None => {
            let values = [("state", state.as_str()), ("stored", &stored)];
            language.say("{state}: tests stored: {stored}; how many there will be is open", &values)
        }
    }
}

/// Tests of a plan; none if its ramps end by themselves, if something is made anew or tried out
/// between them, which takes further tests, or before it is stored.
fn planned_tests(plan: &StoredPlan) -> Option<u64> {
    let selections = plan.selections();
    let has_further = plan.fresh().is_some() || plan.bottleneck_tests().is_some();
    if selections.is_empty() || has_further {
        return None;
    }
    selections.into_iter().map(planned_of).sum()
}

/// Tests of a selection; none if its ramp ends by itself, or a search for a rate.
fn planned_of(selection: StoredSelection<'_>) -> Option<u64> {
    let rates = match selection.rate() {
        None => 1,
        Some(AskedRate::Listed(rates)) => rates.len() as u64,
        Some(AskedRate::Auto) => return None,
    };
    match selection.ramp()? {
        Ramp::Fixed(jobs) => Some(jobs.len() as u64 * rates * selection.repetitions()),
        Ramp::Auto { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::run;
    use crate::analysis::fixture::at;
    use crate::model::TestResult;

    #[test]
    fn a_plan_of_fixed_ramps_is_counted_with_its_repetitions() {
        let plan = json!({
            "selections": [{"ramp": {"fixed": [1, 2]}, "repeat": 3}, {"ramp": {"fixed": [4]}}]
        });
        assert_eq!(planned_tests(&plan.into()), Some(7));
        let open = json!({"selections": [{"ramp": {"auto": {"from": 1, "max": 8}}, "repeat": 1}]});
        for plan in [open, json!(null), json!({"selections": []})] {
            assert_eq!(planned_tests(&plan.into()), None);
        }
    }

    #[test]
    fn rates_are_counted_and_a_number_that_is_not_known_is_not_told() {
        let of = |rate: &str| {
            let one = json!({"ramp": {"fixed": [1, 2]}, "repeat": 3, "rate": rate});
            planned_tests(&json!({ "selections": [one] }).into())
        };
        assert_eq!((of("100,200"), of("auto")), (Some(12), None));
        let one = json!({"ramp": {"fixed": [1, 2]}, "repeat": 5});
        let fresh = json!({ "selections": [&one], "fresh": "data" });
        assert_eq!(planned_tests(&fresh.into()), None, "a block has a test two or three times");
        assert_eq!(
            planned_tests(&json!({ "selections": [one], "test_bottleneck": 2 }).into()),
            None
        );
    }

    #[test]
    fn events_hold_the_tests_the_progress_and_the_end() {
        let mut record = RunRecord { status: RunStatus::Running, ..run("now") };
        let tests = [Test::from(TestResult {
            seq: 3,
            workload: "A\n\nevent: ended".into(),
            ..at(2, 1_234.5)
        })];
        let text = stream(Language::English, &record, &tests, 3);
        assert!(text.starts_with("retry: 1000\n\nid: 3\nevent: test\ndata: {"), "{text}");
        assert!(
            text.contains("\"/run/1/test/3\"") && text.contains("running: tests stored: 3"),
            "{text}"
        );
        assert!(!text.contains("\nevent: ended"), "a name cannot end it: {text}");
        record.status = RunStatus::Finished;
        assert!(stream(Language::English, &record, &[], 3).ends_with("event: ended\ndata: {}\n\n"));
    }
}
