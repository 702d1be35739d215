//! Tests whose ops started when they were due: what was offered, what was done, response beside
//! service times; and the highest rate that meets an SLO.

use std::collections::BTreeMap;

use serde::Serialize;

use super::columns::{RATE, no_percentile};
use super::document::{Block, Cell, Declared, Table};
use super::{Language, RunTests, lowered, test_charts};
use dbdyno_core::analysis::ReasonCount;
use dbdyno_core::analysis::slo_search::{self, Answer, Bracket, RateTrials, SettledRate};
use dbdyno_core::model::{
    OpenLoop, PhaseKind, PhaseResult, Reason, ReasonCode, RunRecord, Sentence, Status, Test,
    TestResult, params, without_schedule,
};

const ABOUT: &str = "Open loop: ops start when they are due, whether or not the earlier ones are \
                     done. The response time counts from when an op was due, the service time from \
                     when it was started.";

/// The answers of searches, and a line per test; none without any.
pub(super) fn blocks(language: Language, data: &RunTests) -> Option<Vec<Block>> {
    let columns = test_columns();
    let mut table = Table::declared(language, "open loop", &columns);
    for test in &data.tests {
        let Some(result) = test.measured() else { continue };
        let Some(open) = &result.open else { continue };
        table.add_row(
            &columns,
            &TestRow { judged: JudgedTest { test, status: test.status() }, result, open },
        );
    }
    if table.rows.is_empty() {
        return None;
    }
    let answers = slo_search::answers(&data.tests);
    let told = answers.iter().map(|answer| sentence(language, &data.run, answer));
    let mut blocks: Vec<Block> = told.map(Block::Paragraph).collect();
    blocks.extend((!answers.is_empty()).then(|| Block::Table(rates(language, &answers))));
    blocks.extend([Block::Paragraph(language.phrase(ABOUT)), Block::Table(table)]);
    blocks.extend(phases(language, &data.tests.iter().collect::<Vec<_>>()));
    blocks.extend(data.tests.iter().flat_map(|test| drawings(language, test)));
    Some(blocks)
}

/// The two rates between which the highest one lies that meets each SLO; those of disturbed trials
/// with their mark.
fn rates(language: Language, answers: &[Answer<'_>]) -> Table {
    let columns = rate_columns();
    let mut table = Table::declared(language, "highest rates that meet an SLO", &columns);
    answers.iter().for_each(|answer| table.add_row(&columns, answer));
    table
}

fn rate_columns<'a>() -> [Declared<Answer<'a>>; 8] {
    [
        Declared::new("Workload", "", 0, |answer, _| Cell::text(label(answer.test))),
        Declared::new("Jobs", "", 0, |answer, _| Cell::count(answer.test.jobs)),
        Declared::new("SLO", "", 0, |answer, _| Cell::text(answer.slo.to_string())),
        Declared::new("Met at", "ops/s", 0, |answer, table| {
            let cell = rate_cell(table, met(answer), answer.status);
            // Without a rate that misses it, the highest one that meets it is not known.
            if missed(answer).is_none() { cell.at_least() } else { cell }
        }),
        Declared::new("Met in", "", 0, |answer, table| trials_cell(table, met(answer))),
        Declared::new("Missed at", "ops/s", 0, |answer, table| {
            let cell = rate_cell(table, missed(answer), answer.status);
            if met(answer).is_none() { cell.at_most() } else { cell }
        }),
        Declared::new("Missed in", "", 0, |answer, table| trials_cell(table, missed(answer))),
        Declared::new("Verdict", "", 0, |answer, _| {
            let is_open = met(answer).is_none() && missed(answer).is_none();
            if is_open { Cell::Empty } else { Cell::Verdict(answer.status) }
        }),
    ]
}

/// A rate of a search, and the trials with this outcome.
#[derive(Clone, Copy)]
struct SearchedRate {
    per_s: f64,
    times: u32,
    trials: u32,
}

/// A rate at which all trials had the same outcome.
fn settled_rate(known: Option<SettledRate>) -> Option<SearchedRate> {
    known.map(|SettledRate { per_s, trials }| SearchedRate { per_s, times: trials, trials })
}

/// The highest rate that meets the SLO.
fn met(answer: &Answer<'_>) -> Option<SearchedRate> {
    let Some(bracket) = &answer.measured else { return settled_rate(answer.met) };
    let tried = bracket.met.as_ref()?;
    Some(SearchedRate { per_s: tried.per_s, times: tried.met, trials: tried.trials })
}

/// The lowest rate that misses it.
fn missed(answer: &Answer<'_>) -> Option<SearchedRate> {
    let Some(bracket) = &answer.measured else { return settled_rate(answer.missed) };
    let tried = bracket.missed.as_ref()?;
    Some(SearchedRate { per_s: tried.per_s, times: tried.missed(), trials: tried.trials })
}

fn rate_cell(table: &mut Table, rate: Option<SearchedRate>, status: Status) -> Cell {
    let per_s = rate.map(|rate| rate.per_s).ok_or_else(|| "no rate settles it".into());
    table.figure(per_s, RATE, status)
}

fn trials_cell(table: &Table, rate: Option<SearchedRate>) -> Cell {
    rate.map_or(Cell::Empty, |rate| Cell::text(of_trials(table.language, rate.times, rate.trials)))
}

/// `3 of 5`.
fn of_trials(language: Language, times: u32, trials: u32) -> String {
    let values = [("times", times.to_string()), ("trials", trials.to_string())];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    language.say("{times} of {trials}", &values)
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
    let columns = phase_columns();
    let mut table = Table::declared(language, "phases", &columns);
    for test in tests {
        let Some(result) = test.measured() else { continue };
        let phases = result.open.iter().flat_map(|open| &open.phases);
        for (number, figures) in (1_usize..).zip(phases) {
            let judged = JudgedTest { test, status: phase_status(result, figures) };
            table.add_row(&columns, &PhaseRow { judged, result, figures });
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

/// A test with the verdict on the figures of a row.
struct JudgedTest<'a> {
    test: &'a Test,
    status: Status,
}

impl JudgedTest<'_> {
    fn cell(&self, table: &mut Table, value: Result<f64, Sentence>) -> Cell {
        table.figure(value, RATE, self.status)
    }

    /// A time in ms, or why the test has none.
    fn ms_cell(&self, table: &mut Table, us: Option<f64>) -> Cell {
        self.cell(table, us.map(|us| us / 1e3).ok_or_else(|| no_percentile(self.test).into()))
    }
}

/// A phase of a load over time.
struct PhaseRow<'a> {
    judged: JudgedTest<'a>,
    result: &'a TestResult,
    figures: &'a PhaseResult,
}

impl PhaseRow<'_> {
    /// A response time in ms; a lower bound where ops that were never done have none.
    fn response_cell(&self, table: &mut Table, us: Option<f64>) -> Cell {
        let cell = self.judged.ms_cell(table, us);
        if self.figures.undone().is_some() { cell.at_least() } else { cell }
    }
}

fn phase_columns<'a>() -> [Declared<PhaseRow<'a>>; 11] {
    [
        Declared::new("Test", "", 1, |row, _| Cell::count(row.judged.test.seq())),
        Declared::new("Workload", "", 0, |row, _| Cell::text(label(row.result))),
        Declared::new("Phase", "", 0, |row, _| Cell::text(row.figures.phase.to_string())),
        Declared::new("Offered", "ops/s", 1, |row, table| {
            let figures = row.figures;
            row.judged.cell(table, Ok(figures.due / (figures.to_s - figures.from_s)))
        }),
        Declared::new("Done", "ops/s", 0, |row, table| {
            row.judged.cell(table, Ok(row.figures.ops_per_s))
        }),
        Declared::new("Response p50", "ms", 2, |row, table| {
            row.response_cell(table, row.figures.response.p50_us)
        }),
        Declared::new("Response p99", "ms", 0, |row, table| {
            row.response_cell(table, row.figures.response.p99_us)
        }),
        Declared::new("Response max", "ms", 3, |row, table| {
            row.response_cell(table, row.figures.response.max_us)
        }),
        Declared::new("Waiting at its end", "ops", 1, |row, table| {
            row.judged.cell(table, Ok(row.figures.behind.round()))
        }),
        Declared::new("Recovery", "s", 0, |row, table| {
            let why = || "the window ended before the jobs had caught up".into();
            row.judged.cell(table, row.figures.recovery_s.ok_or_else(why))
        }),
        Declared::new("Verdict", "", 0, |row, _| Cell::Verdict(row.judged.status)),
    ]
}

/// A test of an open loop.
struct TestRow<'a> {
    judged: JudgedTest<'a>,
    result: &'a TestResult,
    open: &'a OpenLoop,
}

fn test_columns<'a>() -> [Declared<TestRow<'a>>; 12] {
    [
        Declared::new("Test", "", 1, |row, _| Cell::count(row.judged.test.seq())),
        Declared::new("Workload", "", 0, |row, _| Cell::text(label(row.result))),
        Declared::new("Jobs", "", 0, |row, _| Cell::count(row.result.jobs)),
        Declared::new("Offered", "ops/s", 0, |row, table| {
            row.judged.cell(table, Ok(row.open.offer.per_s))
        }),
        Declared::new("Done", "ops/s", 0, |row, table| {
            row.judged.cell(table, Ok(row.result.ops_per_s))
        }),
        Declared::new("Response p50", "ms", 2, |row, table| {
            row.judged.ms_cell(table, row.open.response.p50_us)
        }),
        Declared::new("Response p95", "ms", 4, |row, table| {
            row.judged.ms_cell(table, row.open.response.p95_us)
        }),
        Declared::new("Response p99", "ms", 0, |row, table| {
            row.judged.ms_cell(table, row.open.response.p99_us)
        }),
        Declared::new("Response max", "ms", 3, |row, table| {
            row.judged.ms_cell(table, row.open.response.max_us)
        }),
        Declared::new("Service p99", "ms", 1, |row, table| {
            row.judged.ms_cell(table, row.result.latency.p99_us)
        }),
        Declared::new("Service max", "ms", 5, |row, table| {
            row.judged.ms_cell(table, row.result.latency.max_us)
        }),
        Declared::new("Verdict", "", 0, |row, _| Cell::Verdict(row.judged.status)),
    ]
}

/// The workload with its own parameters that are not defaults.
fn label(result: &TestResult) -> String {
    match params::assignments(&without_schedule(&result.chosen), ",") {
        chosen if chosen.is_empty() => result.workload.clone(),
        chosen => format!("{}:{chosen}", result.workload),
    }
}

fn sentence(language: Language, run: &RunRecord, answer: &Answer<'_>) -> String {
    if let Some(bracket) = &answer.measured {
        return doubtful(language, run, answer, bracket);
    }
    let number = |rate: Option<SettledRate>| {
        rate.map(|rate| language.number(rate.per_s, RATE)).unwrap_or_default()
    };
    let times =
        |rate: Option<SettledRate>| rate.map(|rate| rate.trials.to_string()).unwrap_or_default();
    let (label, slo, jobs) =
        (label(answer.test), answer.slo.to_string(), language.jobs(Some(answer.test.jobs)));
    let (met, missed, trials) =
        (number(answer.met), number(answer.missed), answer.trials.to_string());
    let unknown = answer.unknown.to_string();
    let settled = slo_search::SETTLED.to_string();
    let (met_times, missed_times) = (times(answer.met), times(answer.missed));
    let values = [
        ("label", label.as_str()),
        ("jobs", &jobs),
        ("promise", &slo),
        ("kept", &met),
        ("kept_times", &met_times),
        ("broken", &missed),
        ("broken_times", &missed_times),
        ("trials", &trials),
        ("unknown", &unknown),
        ("settled", &settled),
    ];
    let highest = language.say(form(answer), &values);
    let sentences = [
        Some(highest),
        bracket(language, answer),
        left_out(language, answer.unknown, &answer.unknown_because),
        conditions(language, answer),
    ];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// An answer with its doubt: the bracket that was measured, what disturbed the trials, and the
/// command that settles it.
fn doubtful(
    language: Language,
    run: &RunRecord,
    answer: &Answer<'_>,
    bracket: &Bracket<'_>,
) -> String {
    let rate = |tried: Option<RateTrials>| {
        tried.map(|tried| language.number(tried.per_s, RATE)).unwrap_or_default()
    };
    let times = |tried: Option<RateTrials>, of: fn(&RateTrials) -> u32| {
        tried.map(|tried| of_trials(language, of(&tried), tried.trials)).unwrap_or_default()
    };
    let (label, slo) = (label(answer.test), answer.slo.to_string());
    let jobs = language.jobs(Some(answer.test.jobs));
    let (met, missed) = (rate(bracket.met), rate(bracket.missed));
    let met_times = times(bracket.met, |tried| tried.met);
    let missed_times = times(bracket.missed, RateTrials::missed);
    let verdict = language.verdict(Status::Conditional);
    let disturbed = disturbances(bracket).into_iter().map(|Disturbance { reason, trials }| {
        let (reason, trials) = (language.reason(&reason), trials.to_string());
        let all = answer.trials.to_string();
        let values = [("reason", reason.as_str()), ("trials", &trials), ("all", &all)];
        language.say("{reason}, in {trials} of {all} trials", &values)
    });
    let reasons = disturbed.collect::<Vec<_>>().join("; ");
    let values = [
        ("label", label.as_str()),
        ("jobs", &jobs),
        ("promise", &slo),
        ("met", &met),
        ("met_times", &met_times),
        ("missed", &missed),
        ("missed_times", &missed_times),
        ("verdict", &verdict),
        ("reasons", &reasons),
    ];
    let bracketed = language.say(doubtful_form(bracket), &values);
    let command = bracket.settling_command(run).map(|command| {
        language.say("Measure again to settle it: {command}", &[("command", &command)])
    });
    let others = bracket.left_out.iter().map(|counted| counted.trials).sum();
    let sentences = [Some(bracketed), left_out(language, others, &bracket.left_out), command];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The sentence by the sides that were measured.
fn doubtful_form(bracket: &Bracket<'_>) -> &'static str {
    match (bracket.met, bracket.missed) {
        (Some(_), Some(_)) => {
            "{label} with {jobs}: {promise} was met at {met} ops/s in {met_times} trials and \
             missed at {missed} ops/s in {missed_times}, but that is {verdict}: {reasons}."
        }
        (Some(_), None) => {
            "{label} with {jobs}: {promise} was met at {met} ops/s in {met_times} trials, and no \
             higher rate was tried, but that is {verdict}: {reasons}."
        }
        (None, _) => {
            "{label} with {jobs}: {promise} was missed at {missed} ops/s in {missed_times} trials, \
             and no lower rate was tried, but that is {verdict}: {reasons}."
        }
    }
}

/// Disturbance with the number of trials that it disturbed.
struct Disturbance {
    reason: Reason,
    trials: usize,
}

/// The disturbances of a bracket; those that differ only in their numbers are one.
fn disturbances(bracket: &Bracket<'_>) -> Vec<Disturbance> {
    let reasons = bracket.disturbances.iter().map(|reason| (*reason, vec![()]));
    lowered::together(reasons)
        .into_iter()
        .map(|(reason, trials)| Disturbance { reason, trials: trials.len() })
        .collect()
}

/// Statements of single trials about an answer that is not settled.
fn bracket(language: Language, answer: &Answer<'_>) -> Option<String> {
    let is_settled = answer.met.is_some() && answer.missed.is_some();
    if is_settled {
        return None;
    }
    of_single_trials(language, answer.highest_met_per_s, answer.lowest_missed_per_s)
}

fn of_single_trials(language: Language, met: Option<f64>, missed: Option<f64>) -> Option<String> {
    let said = match (met, missed) {
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
    let [met, missed] = [met, missed].map(|rate| language.number(rate.unwrap_or_default(), RATE));
    Some(language.say(said, &[("kept", &met), ("broken", &missed)]))
}

/// Trials that are no evidence, with the reasons.
fn left_out(language: Language, unknown: usize, because: &[ReasonCount]) -> Option<String> {
    let reasons = reason_counts(language, because);
    let trials = language.count("trials_without_evidence", unknown, &[]);
    (unknown > 0).then(|| format!("{trials}: {reasons}."))
}

/// Mark of an answer that rests on conditional trials, with the reasons.
fn conditions(language: Language, answer: &Answer<'_>) -> Option<String> {
    let reasons = reason_counts(language, &answer.conditions);
    let verdict = language.verdict(answer.status);
    (answer.status != Status::Valid).then(|| {
        language
            .say("This is {verdict}: {reasons}.", &[("verdict", &verdict), ("reasons", &reasons)])
    })
}

/// `3 errors, 1 steal`.
fn reason_counts(language: Language, counted: &[ReasonCount]) -> String {
    let one = |one: &ReasonCount| format!("{} {}", one.trials, language.code(&one.code));
    counted.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Sentence for what is known.
fn form(answer: &Answer<'_>) -> &'static str {
    match (answer.met, answer.missed) {
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
    #[serde(rename = "promise")]
    slo: String,
    /// Ops per second; the highest rate that meets the SLO lies between the two.
    kept_per_s: Option<f64>,
    broken_per_s: Option<f64>,
    trials: usize,
    /// Trials that are no evidence, and why; verdict of the others.
    unknown: usize,
    unknown_because: Vec<ReasonCount>,
    status: Status,
    conditions: Vec<ReasonCount>,
    /// The bracket where disturbed trials keep the others from settling two rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<BracketJson>,
}

/// An answer with its doubt.
#[derive(Serialize)]
struct BracketJson {
    met: Option<RateTrials>,
    missed: Option<RateTrials>,
    because: Vec<DisturbanceJson>,
    settled_by: Option<String>,
}

/// Cause that disturbed trials, with their number.
#[derive(Serialize)]
struct DisturbanceJson {
    code: ReasonCode,
    trials: usize,
    text: String,
}

/// The answers of a run.
pub(super) fn slo_answers<'a>(run: &RunRecord, tests: &'a [Test]) -> Vec<SloAnswer<'a>> {
    slo_search::answers(tests).into_iter().map(|answer| SloAnswer::new(run, answer)).collect()
}

impl BracketJson {
    fn new(run: &RunRecord, bracket: &Bracket<'_>) -> BracketJson {
        let because = disturbances(bracket).into_iter().map(|Disturbance { reason, trials }| {
            DisturbanceJson { code: reason.code, trials, text: reason.text }
        });
        BracketJson {
            met: bracket.met,
            missed: bracket.missed,
            because: because.collect(),
            settled_by: bracket.settling_command(run),
        }
    }
}

impl<'a> SloAnswer<'a> {
    fn new(run: &RunRecord, answer: Answer<'a>) -> SloAnswer<'a> {
        SloAnswer {
            measured: answer.measured.as_ref().map(|bracket| BracketJson::new(run, bracket)),
            workload: &answer.test.workload,
            params: answer.params,
            jobs: answer.test.jobs,
            slo: answer.slo.to_string(),
            kept_per_s: answer.met.map(|rate| rate.per_s),
            broken_per_s: answer.missed.map(|rate| rate.per_s),
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
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::model::{LatencySummary, RatePhase};

    #[test]
    fn the_response_times_of_a_phase_are_lower_bounds_where_ops_were_never_done() {
        let result = fixture::result();
        let test = Test::from(result.clone());
        let cells = |done: u64| {
            let (from_per_s, to_per_s, length_s) = (100.0, 100.0, 10.0);
            let figures = PhaseResult {
                phase: RatePhase { kind: PhaseKind::Hold, from_per_s, to_per_s, length_s },
                from_s: 0.0,
                to_s: length_s,
                due: 1000.0,
                ops_per_s: 100.0,
                done,
                response: LatencySummary { p99_us: Some(5000.0), ..LatencySummary::default() },
                behind_at_begin: 0.0,
                behind: 0.0,
                recovery_s: Some(0.0),
            };
            let status = phase_status(&result, &figures);
            let judged = JudgedTest { test: &test, status };
            let row = PhaseRow { judged, result: &result, figures: &figures };
            let mut table = Table::declared(Language::English, "phases", &phase_columns());
            [figures.response.p99_us, None].map(|us| row.response_cell(&mut table, us))
        };
        let (value, digits) = (5.0, RATE);
        let verdict = Some(Status::Valid);
        let exact = Cell::Number { value, digits, verdict };
        assert_eq!(cells(1000), [exact, Cell::Unknown(0)]);
        let verdict = Some(Status::Conditional);
        let bound = Cell::Number { value, digits, verdict }.at_least();
        assert_eq!(cells(800), [bound, Cell::Unknown(0)]);
    }

    #[test]
    fn a_rate_without_one_on_the_other_side_is_a_bound() {
        let result = fixture::result();
        let settled = |per_s: Option<f64>| per_s.map(|per_s| SettledRate { per_s, trials: 5 });
        let cells = |met: Option<f64>, missed: Option<f64>| {
            let answer = Answer {
                test: &result,
                params: BTreeMap::new(),
                slo: "p99<5ms".parse().unwrap(),
                met: settled(met),
                missed: settled(missed),
                trials: 10,
                unknown: 0,
                unknown_because: Vec::new(),
                measured: None,
                highest_met_per_s: met,
                lowest_missed_per_s: missed,
                is_contradictory: false,
                status: Status::Valid,
                conditions: Vec::new(),
            };
            let row = rates(Language::English, &[answer]).rows.swap_remove(0);
            [row[3].clone(), row[5].clone()]
        };
        let number = |value| Cell::Number { value, digits: RATE, verdict: Some(Status::Valid) };
        let (met, missed) = (number(900.0), number(1000.0));
        assert_eq!(cells(Some(900.0), Some(1000.0)), [met.clone(), missed.clone()]);
        assert_eq!(cells(Some(900.0), None), [met.at_least(), Cell::Unknown(0)]);
        assert_eq!(cells(None, Some(1000.0)), [Cell::Unknown(0), missed.at_most()]);
    }

    #[test]
    fn single_trials_tell_what_they_know_and_name_no_unknown_rate() {
        let said = |met, missed| of_single_trials(Language::English, met, missed);
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
