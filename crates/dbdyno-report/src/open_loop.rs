//! Tests whose ops started when they were due: what was offered, what was done, response beside
//! service times; and the highest rate that meets an SLO.

use std::collections::BTreeMap;

use serde::Serialize;

use super::columns::{RATE, no_percentile};
use super::document::{Block, Cell, Column, Table};
use super::{Language, RunTests, test_charts};
use dbdyno_core::analysis::ab_test::Counted;
use dbdyno_core::analysis::slo_search::{self, Answer};
use dbdyno_core::model::{
    OpenLoop, PhaseKind, PhaseResult, ReasonCode, Status, Test, TestResult, params,
    without_schedule,
};

const ABOUT: &str = "Open loop: ops start when they are due, whether or not the earlier ones are \
                     done. The response time counts from when an op was due, the service time from \
                     when it was started.";

/// A line per test and one per SLO; none without any.
pub(super) fn blocks(language: Language, data: &RunTests) -> Option<Vec<Block>> {
    let mut table = Table::new(language, "open loop", columns());
    for test in &data.tests {
        let Some((result, open)) =
            test.measured().and_then(|result| Some((result, result.open.as_ref()?)))
        else {
            continue;
        };
        let row = row(&mut table, test, result, open);
        table.rows.push(row);
    }
    if table.rows.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Paragraph(language.phrase(ABOUT)), Block::Table(table)];
    blocks.extend(phases(language, &data.tests.iter().collect::<Vec<_>>()));
    blocks.extend(data.tests.iter().flat_map(|test| drawings(language, test)));
    let answers = slo_search::answers(&data.tests);
    blocks.extend(answers.iter().map(|answer| Block::Paragraph(sentence(language, answer))));
    Some(blocks)
}

/// Loads over time as charts, whose points stand in the results.
fn drawings(language: Language, test: &Test) -> Vec<Block> {
    let Some(result) = test.measured() else { return Vec::new() };
    let (number, workload) = (test.seq().to_string(), label(result));
    let values = [("test", number.as_str()), ("workload", workload.as_str())];
    let subject = language.say("Test {test}, {workload}", &values);
    test_charts::over_time(language, &subject, test).into_iter().map(Block::Drawing).collect()
}

const PHASES: &str = "Load over time: each phase is reported separately. Response times are those \
                      of the ops scheduled in the phase, from their scheduled start, whenever they \
                      ended. Recovery is the time from the end of the phase until no more ops wait \
                      than there are jobs, or than are scheduled in 0.25 s, which is its \
                      resolution; 0 = at once.";

/// A line for each phase of loads over time.
pub(super) fn phases(language: Language, tests: &[&Test]) -> Vec<Block> {
    let columns = [
        ("Test", "", 1),
        ("Workload", "", 0),
        ("Phase", "", 0),
        ("Offered", "ops/s", 1),
        ("Done", "ops/s", 0),
        ("Response p50", "ms", 2),
        ("Response p99", "ms", 0),
        ("Response max", "ms", 3),
        ("Waiting at its end", "ops", 1),
        ("Recovery", "s", 0),
        ("Verdict", "", 0),
    ];
    let columns: Vec<Column> = columns
        .into_iter()
        .map(|(name, unit, priority)| Column::new(name, unit, priority))
        .collect();
    let mut table = Table::new(language, "phases", columns);
    for test in tests {
        let Some(result) = test.measured() else { continue };
        let phases = result.open.iter().flat_map(|open| &open.phases);
        for (number, figures) in (1_usize..).zip(phases) {
            let row = phase_row(&mut table, test, result, figures);
            table.rows.push(row);
            table.remarks.extend(undone(language, test, number, figures));
        }
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    vec![Block::Paragraph(language.phrase(PHASES)), Block::Table(table)]
}

/// Note on ops that the response times of a phase leave out.
fn undone(language: Language, test: &Test, number: usize, figures: &PhaseResult) -> Option<String> {
    let undone = language.number(figures.undone()?.round(), RATE);
    let due = language.number(figures.due.round(), RATE);
    let (test, number) = (test.seq().to_string(), number.to_string());
    let values = [("test", &test), ("number", &number), ("undone", &undone), ("due", &due)];
    Some(language.say(
        "test {test}, phase {number}: about {undone} of {due} ops were never done in the window \
         and have no response time: the percentiles are lower bounds",
        &values.map(|(name, value)| (name, value.as_str())),
    ))
}

/// The verdict on a phase: that of the test but for what other phases did.
fn phase_status(result: &TestResult, figures: &PhaseResult) -> Status {
    let is_late = figures.is_overloaded() && figures.phase.kind != PhaseKind::Spike;
    let own = match is_late || figures.undone().is_some() {
        true => Status::Conditional,
        false => Status::Valid,
    };
    let others = result.verdict.reasons.iter().filter(|reason| reason.code != ReasonCode::Overload);
    others.map(|reason| reason.status).fold(own, Status::max)
}

fn phase_row(
    table: &mut Table,
    test: &Test,
    result: &TestResult,
    figures: &PhaseResult,
) -> Vec<Cell> {
    let status = phase_status(result, figures);
    let response = &figures.response;
    let ms = |us: Option<f64>| us.map(|us| us / 1e3).ok_or_else(|| no_percentile(test).into());
    let cells = [
        Ok(figures.due / (figures.to_s - figures.from_s)),
        Ok(figures.ops_per_s),
        ms(response.p50_us),
        ms(response.p99_us),
        ms(response.max_us),
        Ok(figures.behind.round()),
        figures.recovery_s.ok_or_else(|| "the window ended before the jobs had caught up".into()),
    ];
    let mut row = vec![
        Cell::count(test.seq()),
        Cell::text(label(result)),
        Cell::text(figures.phase.to_string()),
    ];
    row.extend(cells.map(|cell| table.figure(cell, RATE, status)));
    row.push(Cell::Verdict(status));
    row
}

fn columns() -> Vec<Column> {
    let columns = [
        ("Test", "", 1),
        ("Workload", "", 0),
        ("Jobs", "", 0),
        ("Offered", "ops/s", 0),
        ("Done", "ops/s", 0),
        ("Response p50", "ms", 2),
        ("Response p95", "ms", 4),
        ("Response p99", "ms", 0),
        ("Response max", "ms", 3),
        ("Service p99", "ms", 1),
        ("Service max", "ms", 5),
        ("Verdict", "", 0),
    ];
    columns.into_iter().map(|(name, unit, priority)| Column::new(name, unit, priority)).collect()
}

fn row(table: &mut Table, test: &Test, result: &TestResult, open: &OpenLoop) -> Vec<Cell> {
    let status = test.status();
    let mut row =
        vec![Cell::count(test.seq()), Cell::text(label(result)), Cell::count(result.jobs)];
    for per_s in [open.offer.per_s, result.ops_per_s] {
        row.push(table.figure(Ok(per_s), RATE, status));
    }
    let (response, service) = (&open.response, &result.latency);
    let times = [
        response.p50_us,
        response.p95_us,
        response.p99_us,
        response.max_us,
        service.p99_us,
        service.max_us,
    ];
    for us in times {
        let ms = us.map(|us| us / 1e3).ok_or_else(|| no_percentile(test).into());
        row.push(table.figure(ms, RATE, status));
    }
    row.push(Cell::Verdict(status));
    row
}

/// The workload with its own parameters that are not defaults.
fn label(result: &TestResult) -> String {
    match params::assignments(&without_schedule(&result.chosen), ",") {
        chosen if chosen.is_empty() => result.workload.clone(),
        chosen => format!("{}:{chosen}", result.workload),
    }
}

fn sentence(language: Language, answer: &Answer<'_>) -> String {
    let number = |rate: Option<(f64, u32)>| {
        rate.map(|(per_s, _)| language.number(per_s, RATE)).unwrap_or_default()
    };
    let times =
        |rate: Option<(f64, u32)>| rate.map(|(_, times)| times.to_string()).unwrap_or_default();
    let (label, promise, jobs) =
        (label(answer.test), answer.promise.to_string(), language.jobs(Some(answer.test.jobs)));
    let (kept, broken, trials) =
        (number(answer.kept), number(answer.broken), answer.trials.to_string());
    let unknown = answer.unknown.to_string();
    let settled = slo_search::SETTLED.to_string();
    let (kept_times, broken_times) = (times(answer.kept), times(answer.broken));
    let values = [
        ("label", label.as_str()),
        ("jobs", &jobs),
        ("promise", &promise),
        ("kept", &kept),
        ("kept_times", &kept_times),
        ("broken", &broken),
        ("broken_times", &broken_times),
        ("trials", &trials),
        ("unknown", &unknown),
        ("settled", &settled),
    ];
    let highest = language.say(form(answer), &values);
    [
        Some(highest),
        bracket(language, answer),
        left_out(language, answer),
        conditions(language, answer),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" ")
}

/// Statements of single trials about an answer that is not settled.
fn bracket(language: Language, answer: &Answer<'_>) -> Option<String> {
    let is_settled = answer.kept.is_some() && answer.broken.is_some();
    let [kept, broken] = answer.bracket;
    if is_settled { None } else { of_single_trials(language, kept, broken) }
}

fn of_single_trials(language: Language, kept: Option<f64>, broken: Option<f64>) -> Option<String> {
    let said = match (kept, broken) {
        (Some(_), Some(_)) => {
            "In single trials the highest rate that kept it was {kept} ops/s, the lowest that \
             broke it {broken} ops/s."
        }
        (Some(_), None) => {
            "In single trials the highest rate that kept it was {kept} ops/s; none tells of a \
             rate that broke it."
        }
        (None, Some(_)) => {
            "In single trials the lowest rate that broke it was {broken} ops/s; none tells of a \
             rate that kept it."
        }
        (None, None) => return None,
    };
    let [kept, broken] = [kept, broken].map(|rate| language.number(rate.unwrap_or_default(), RATE));
    Some(language.say(said, &[("kept", &kept), ("broken", &broken)]))
}

/// Trials that are no evidence, with the reasons.
fn left_out(language: Language, answer: &Answer<'_>) -> Option<String> {
    let reasons = counted(language, &answer.unknown_because);
    let trials = language.count("trials_without_evidence", answer.unknown, &[]);
    (answer.unknown > 0).then(|| format!("{trials}: {reasons}."))
}

/// Mark of an answer that rests on conditional trials, with the reasons.
fn conditions(language: Language, answer: &Answer<'_>) -> Option<String> {
    let reasons = counted(language, &answer.conditions);
    let verdict = language.verdict(answer.status);
    (answer.status != Status::Valid).then(|| {
        language
            .say("This is {verdict}: {reasons}.", &[("verdict", &verdict), ("reasons", &reasons)])
    })
}

/// `3 errors, 1 steal`.
fn counted(language: Language, counted: &[Counted]) -> String {
    let one = |one: &Counted| format!("{} {}", one.trials, language.code(&one.code));
    counted.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The sentence by what is known.
fn form(answer: &Answer<'_>) -> &'static str {
    match (answer.kept, answer.broken) {
        (Some(_), Some(_)) => {
            "{label} with {jobs}: {promise} is met at {kept} ops/s (in {kept_times} of \
             {kept_times} trials) and missed at {broken} ops/s ({broken_times} of {broken_times}); \
             the highest rate at which most trials meet it is between them."
        }
        (Some(_), None) => {
            "{label} with {jobs}: {promise} is met at {kept} ops/s; no higher rate was found that \
             misses it."
        }
        (None, Some(_)) => {
            "{label} with {jobs}: {promise} is missed at {broken} ops/s; no lower rate was found \
             that meets it."
        }
        (None, None) if answer.is_contradictory => {
            "{label} with {jobs}: {trials} trials do not show up to which rate {promise} is met: \
             they contradict each other."
        }
        (None, None) if answer.unknown > 0 => {
            "{label} with {jobs}: {unknown} of {trials} trials do not show whether {promise} is \
             met."
        }
        (None, None) => {
            "{label} with {jobs}: {trials} trials do not show up to which rate {promise} is met: \
             at no rate do {settled} of them agree."
        }
    }
}

/// The answer in the run's JSON.
#[derive(Serialize)]
pub(super) struct SloAnswer<'a> {
    workload: &'a str,
    params: BTreeMap<String, String>,
    jobs: u32,
    promise: String,
    /// Ops per second; the highest rate that meets the SLO lies between the two.
    kept_per_s: Option<f64>,
    broken_per_s: Option<f64>,
    trials: usize,
    /// Trials that are no evidence, and why; verdict of the others.
    unknown: usize,
    unknown_because: Vec<Counted>,
    status: Status,
    conditions: Vec<Counted>,
}

/// The answers of a run.
pub(super) fn slo_answers(tests: &[Test]) -> Vec<SloAnswer<'_>> {
    slo_search::answers(tests).into_iter().map(SloAnswer::new).collect()
}

impl<'a> SloAnswer<'a> {
    fn new(answer: Answer<'a>) -> SloAnswer<'a> {
        SloAnswer {
            workload: &answer.test.workload,
            params: answer.params,
            jobs: answer.test.jobs,
            promise: answer.promise.to_string(),
            kept_per_s: answer.kept.map(|rate| rate.0),
            broken_per_s: answer.broken.map(|rate| rate.0),
            trials: answer.trials,
            unknown: answer.unknown,
            unknown_because: answer.unknown_because,
            status: answer.status,
            conditions: answer.conditions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_trials_tell_what_they_know_and_name_no_unknown_rate() {
        let said = |kept, broken| of_single_trials(Language::English, kept, broken);
        assert_eq!(
            said(Some(919.4), None).unwrap(),
            "In single trials the highest rate that kept it was 919.4 ops/s; none tells of a rate \
             that broke it."
        );
        assert_eq!(
            said(None, Some(2000.0)).unwrap(),
            "In single trials the lowest rate that broke it was 2,000 ops/s; none tells of a rate \
             that kept it."
        );
        assert!(said(Some(900.0), Some(2000.0)).unwrap().ends_with("broke it 2,000 ops/s."));
        assert_eq!(said(None, None), None);
    }
}
