//! The page of one test: figures, verdict, seconds, distribution, claims, counters, SQL, settings.

use super::columns::{Line, RATE, kpm, no_interval, no_mean, no_percentile};
use super::document::{Block, Cell, Code, Column, Digits, Document, Section, Table};
use super::kpm::parts_table;
use super::limits::describe_limit;
use super::masthead;
use super::picture::{Head, StyledText};
use super::test_charts::{Curve, distribution, session_classes, tracks};
use super::texts::capitalized;
use super::{Input, Language, Report, Subject, about, platform, profiles, test_waits};
use super::{load_generators, nodes, open_loop, sustained};
use dbdyno_core::analysis::bottleneck;
use dbdyno_core::analysis::claims::{self, Checked, Outcome};
use dbdyno_core::analysis::{derive, interval};
use dbdyno_core::model::{
    Drive, Kpm, KpmValue, LatencySummary, RunRecord, Sentence, SnapshotPoint, SqlPiece, Status,
    StoredSelection, Test, TestResult, params,
};

/// `report test`.
pub struct TestPage;

impl Report for TestPage {
    fn name(&self) -> &'static str {
        "test"
    }

    fn title(&self) -> &'static str {
        "one test (RUN:SEQ): figures, seconds, distribution, contract, counters, SQL, settings, \
         verdict"
    }

    fn subject(&self) -> Subject {
        Subject::Tests
    }

    fn build(&self, input: &Input) -> Document {
        let several = input.tests().nth(1).is_some();
        let language = input.language;
        let pages = input.tests().flat_map(|(run, test)| sections_of(language, run, test, several));
        let mut sections: Vec<Section> = side_by_side(input).into_iter().chain(pages).collect();
        sections.extend(platform::sections(input));
        sections.push(about::method(input));
        let title = match input.tests().next().filter(|_| !several) {
            Some((run, test)) => {
                let (run, seq, jobs) =
                    (run.id.to_string(), test.seq().to_string(), language.jobs(test.jobs()));
                let values = [
                    ("run", run.as_str()),
                    ("test", &seq),
                    ("workload", test.workload()),
                    ("jobs", &jobs),
                ];
                language.say("Run {run} test {test}: {workload} at {jobs}", &values)
            }
            None => language.phrase("Tests"),
        };
        let answers = input.tests().map(|(_, test)| answer(language, test));
        let answer = answers.collect::<Vec<_>>().join(" ");
        let head = Head { title: title.clone(), ..masthead::head(input, "test", &answer) };
        Document { title, sections, language, head: Some(head), ..Document::default() }
    }
}

/// The figure of a test with its verdict, and what limited it unless it is invalid.
fn answer(language: Language, test: &Test) -> String {
    let Ok(value) = kpm(test) else { return String::new() };
    let value = StyledText::strong(&language.number(value, RATE));
    let (unit, jobs) = (test.kpm().unit.as_str(), language.jobs(test.jobs()));
    let verdict = language.verdict(test.status());
    let values = [
        ("value", value.as_str()),
        ("unit", unit),
        ("workload", test.workload()),
        ("jobs", &jobs),
        ("verdict", &verdict),
    ];
    let figure = language.say("{value} {unit} {workload} at {jobs}: {verdict}.", &values);
    let usable = test.measured().filter(|_| test.status() < Status::Invalid);
    let limit = usable.and_then(|result| {
        let limit = describe_limit(language, result, &bottleneck::limit(result)?);
        Some(format!(" {}.", capitalized(&limit)))
    });
    figure + &limit.unwrap_or_default()
}

/// Two measured tests beside one another, before the page of each.
fn side_by_side(input: &Input) -> Option<Section> {
    let tests: Vec<_> = input.tests().collect();
    let &[(run_a, a), (run_b, b)] = tests.as_slice() else { return None };
    let pair = [(run_a, a, a.measured()?), (run_b, b, b.measured()?)];
    Some(Section::new(input.language, "Side by side", test_waits::beside(input.language, pair)))
}

fn sections_of(language: Language, run: &RunRecord, test: &Test, several: bool) -> Vec<Section> {
    let values = [("label", test.workload()), ("jobs", &language.jobs(test.jobs()))];
    let subject = language.say("{label} at {jobs}", &values);
    let charts = tracks(language, &subject, test);
    let distribution = distribution(language, &subject, &Curve::by_jobs(language, &[test]));
    let part = |title: &str, blocks: Vec<Block>| {
        let title = language.phrase(title);
        let named = language
            .say("Test {test}: {title}", &[("test", &test.seq().to_string()), ("title", &title)]);
        Section { title: if several { named } else { title }, blocks }
    };
    let table = |table: Table| vec![Block::Table(table)];
    let measured = |blocks: &dyn Fn(Language, &TestResult) -> Vec<Block>| {
        test.measured()
            .filter(|_| !test.is_empty())
            .map(|result| blocks(language, result))
            .unwrap_or_default()
    };
    let classes = session_classes(language, &subject, test).map(Block::Chart);
    let sections = [
        part(
            "Test",
            vec![
                Block::Facts(facts(language, run, test)),
                Block::Table(figures(language, run, test)),
            ],
        ),
        part("Verdict", verdict(language, test)),
        part("Load over time", open_loop::phases(language, &[test])),
        part("Limiter", measured(&test_waits::limits)),
        part("Load profile", measured(&test_waits::load)),
        part("Time model", measured(&test_waits::times)),
        part("Top events", measured(&test_waits::events).into_iter().chain(classes).collect()),
        part("Statements", measured(&profiles::statements)),
        part("Input and output", measured(&profiles::io)),
        part("The server's log", measured(&test_waits::log)),
        part("Second by second", charts.into_iter().map(Block::Chart).collect()),
        part("Distribution of service times", distribution.into_iter().map(Block::Chart).collect()),
        part("Burst and sustained", sustained::blocks(language, &subject, test)),
        part("Metrics", table(metrics(language, test))),
        part("Contract and cross-check", claims(language, run, test)),
        part("Parts", parts(language, run, test)),
        part("Nodes", table(nodes::of_test(language, test))),
        part("Load machines", table(load_generators::of_test(language, test))),
        part("Jobs", table(job_figures(language, test))),
        part("Counters", table(counters(language, test))),
        part("Snapshots", table(snapshots(language, test))),
        part("What ran", code(language, run, test)),
    ];
    let has_content = |section: &Section| {
        let is_full =
            |block: &Block| !matches!(block, Block::Table(table) if table.rows.is_empty());
        section.blocks.iter().any(is_full)
    };
    sections.into_iter().filter(has_content).collect()
}

fn facts(language: Language, run: &RunRecord, test: &Test) -> Vec<(String, String)> {
    let started = test.measured().map_or(run.started_at.as_deref(), |test| Some(&test.started_at));
    let mut facts = vec![
        ("Workload", format!("{}: {}", test.workload(), test.title())),
        ("Asked as", test.asked_as().unwrap_or_default().to_string()),
        ("Parameters", params::assignments(test.params(), ", ")),
        ("Drive", test.drive().name().into()),
        (
            "Jobs",
            language.count(
                "on_nodes",
                test.nodes() as usize,
                &[("jobs", &language.jobs(test.jobs()))],
            ),
        ),
        ("Target", run.target.clone()),
        ("Started", started.map(|start| language.date(start)).unwrap_or_default()),
        ("Definition", definition(language, test)),
        ("Durability", durability(language, run, test).unwrap_or_default()),
        ("Logged in by", test.measured().and_then(|test| test.login.clone()).unwrap_or_default()),
        (
            "First error",
            test.measured().and_then(|test| test.first_error.clone()).unwrap_or_default(),
        ),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts.into_iter().map(|(name, value)| (language.phrase(name), value)).collect()
}

/// The stamp of a test that committed, with what the device can do.
fn durability(language: Language, run: &RunRecord, test: &Test) -> Option<String> {
    let stamp = language.phrase(test.measured()?.durability?.name());
    let rate = |per_s: f64| language.number(per_s, RATE);
    let Some(device) = run.device_sync else { return Some(stamp) };
    let (fdatasync, dsync) = (rate(device.fdatasync_per_s), rate(device.dsync_per_s));
    let values = [("stamp", stamp.as_str()), ("fdatasync", &fdatasync), ("dsync", &dsync)];
    Some(language.say(
        "{stamp}; the device: {fdatasync} durable writes per second with fdatasync, {dsync} with \
         O_DSYNC",
        &values,
    ))
}

fn definition(language: Language, test: &Test) -> String {
    let values = [("revision", test.revision().to_string()), ("hash", test.hash().to_string())];
    language.say(
        "revision {revision}, hash {hash}",
        &values.each_ref().map(|(name, value)| (*name, value.as_str())),
    )
}

fn new(language: Language, name: &str, heads: &[(&str, &str)]) -> Table {
    let column = |(position, &(name, unit)): (usize, &(&str, &str))| {
        Column::new(name, unit, u8::from(position > 2) * 3)
    };
    Table::new(language, name, heads.iter().enumerate().map(column))
}

/// KPM, second metric, interval and service times, with their units.
fn figures(language: Language, run: &RunRecord, test: &Test) -> Table {
    let mut table = new(language, "figures", &[("Figure", ""), ("Value", ""), ("Unit", "")]);
    let status = test.status();
    let mut add = |name: String, value: Result<f64, Sentence>, unit: &str| {
        let cell = table.figure(value, RATE, status);
        table.rows.push(vec![Cell::text(name), cell, Cell::text(unit)]);
    };
    add(language.phrase("KPM"), kpm(test), &test.kpm().unit);
    if let Some(Kpm { unit, .. }) = test.second() {
        let value =
            test.second_value().ok_or_else(|| "the counter of the KPM is not known here".into());
        add(language.phrase("Second metric"), value, unit);
    }
    let percent = |interval: interval::Interval| 100.0 * interval.half_width();
    let interval = interval::of_test(test, &KpmValue::Ops).ok().map(percent);
    add(
        language.phrase("Confidence interval of the rate, 95 %, +-"),
        interval.ok_or_else(|| no_interval(test).into()),
        "%",
    );
    let latency = test.latency();
    let mean = latency.mean_us.ok_or_else(|| no_mean(test).into());
    add(language.say("Service time {which}", &[("which", &language.phrase("mean"))]), mean, "us");
    for (name, us) in percentiles(latency) {
        let which = language.phrase(name);
        let value = us.ok_or_else(|| no_percentile(test).into());
        add(language.say("Service time {which}", &[("which", &which)]), value, "us");
    }
    for (name, us) in own_tail(run, test) {
        add(language.say("Our own loop {which}", &[("which", name)]), Ok(us), "us");
    }
    if let Some(us) = test.measured().and_then(|result| result.instrument_us_per_op) {
        add(language.phrase("Our own clock reads and bookkeeping per op"), Ok(us), "us");
    }
    let response =
        test.measured().and_then(|result| result.open.as_ref()).map(|open| &open.response);
    for (name, us) in response.map(percentiles).into_iter().flatten() {
        let which = language.phrase(name);
        let value = us.ok_or_else(|| no_percentile(test).into());
        add(language.say("Response time {which}", &[("which", &which)]), value, "us");
    }
    table
}

/// The tail that a test of a client would have without a database.
fn own_tail(run: &RunRecord, test: &Test) -> Vec<(&'static str, f64)> {
    let own = run.own_loop.filter(|_| test.drive() == Drive::Client && test.measured().is_some());
    own.map(|own| vec![("p99.9", own.p999_us), ("max", own.max_us)]).unwrap_or_default()
}

fn percentiles(times: &LatencySummary) -> [(&'static str, Option<f64>); 6] {
    [
        ("p50", times.p50_us),
        ("p90", times.p90_us),
        ("p95", times.p95_us),
        ("p99", times.p99_us),
        ("p99.9", times.p999_us),
        ("max", times.max_us),
    ]
}

/// The verdict with its reasons, and where each is explained.
fn verdict(language: Language, test: &Test) -> Vec<Block> {
    let mut blocks = vec![Block::Table(reasons(language, test))];
    if !test.verdict().reasons.is_empty() {
        let text = "'dbdyno show reason CODE' shows the cause of a reason and what to do.";
        blocks.push(Block::Paragraph(language.phrase(text)));
    }
    blocks
}

/// The verdict and every reason and note.
fn reasons(language: Language, test: &Test) -> Table {
    let columns = [("Verdict", ""), ("Reason", ""), ("Text", "")];
    let mut table = new(language, "verdict", &columns);
    if test.verdict().reasons.is_empty() {
        let text = "contract and cross-check held, nothing lowers the verdict";
        table.rows.push(vec![
            Cell::Verdict(test.status()),
            Cell::Empty,
            Cell::text(language.phrase(text)),
        ]);
    }
    for reason in &test.verdict().reasons {
        let status = match reason.status {
            Status::Valid => Cell::text(language.phrase("note")),
            status => Cell::Verdict(status),
        };
        table.rows.push(vec![
            status,
            Cell::text(reason.code.as_str()),
            Cell::text(language.reason(reason)),
        ]);
    }
    table
}

/// Every derived figure.
fn metrics(language: Language, test: &Test) -> Table {
    let mut table = new(language, "metrics", &[("Metric", ""), ("Value", ""), ("Unit", "")]);
    for figure in derive(test).0 {
        let cell = table.figure(figure.value, RATE, test.status());
        table.rows.push(vec![
            Cell::text(language.phrase(figure.title)),
            cell,
            Cell::text(figure.unit),
        ]);
    }
    table
}

/// The selection of the plan that the test belongs to.
fn selection<'a>(run: &'a RunRecord, test: &Test) -> Option<StoredSelection<'a>> {
    run.plan.selections().into_iter().find(|selection| selection.is_of(test))
}

fn claims(language: Language, run: &RunRecord, test: &Test) -> Vec<Block> {
    let planned = selection(run, test);
    let contract = planned.and_then(StoredSelection::contract);
    let crosscheck = planned.and_then(StoredSelection::crosscheck);
    let (Some(result), Some(contract), Some(crosscheck)) = (test.measured(), contract, crosscheck)
    else {
        let text = "This run's plan holds no claims; the verdict says what did not hold.";
        return vec![Block::Paragraph(language.phrase(text))];
    };
    let heads = [("Claim", ""), ("Found", ""), ("Outcome", ""), ("Must be", ""), ("Else", "")];
    let mut table = new(language, "claims", &heads);
    let engine = run.engine.as_deref().unwrap_or_default();
    let contract = claims::of_contract(result, &contract, engine);
    let crosscheck = claims::of_crosscheck(result, &crosscheck, engine);
    for (kind, checked) in [("contract", contract), ("cross-check", crosscheck)] {
        for checked in checked {
            let row = claim_row(kind, checked, &mut table);
            table.rows.push(row);
        }
    }
    match table.rows.is_empty() {
        true => vec![Block::Paragraph(
            language.phrase("This workload claims nothing about counters on this engine."),
        )],
        false => vec![Block::Table(table)],
    }
}

fn claim_row(kind: &str, checked: Checked, table: &mut Table) -> Vec<Cell> {
    let language = table.language;
    let found = table.unjudged(checked.value.ok_or_else(|| "a counter is not known here".into()));
    let outcome = match checked.outcome {
        Outcome::Holds => Cell::text(language.phrase("holds")),
        Outcome::Unchecked => Cell::text(language.phrase("not checked")),
        Outcome::Broken(status) => Cell::Verdict(status),
    };
    vec![
        Cell::text(format!("{}: {}", language.phrase(kind), checked.what)),
        found,
        outcome,
        Cell::text(language.sentence(&checked.required)),
        Cell::text(language.phrase(&checked.because)),
    ]
}

fn parts(language: Language, run: &RunRecord, test: &Test) -> Vec<Block> {
    let line = Line {
        run,
        test,
        times: 1,
        figure: None,
        known: interval::of_test(test, &test.kpm().value),
        verdict: test.verdict().clone(),
        derived: derive(test),
        language,
    };
    parts_table(language, "parts", &[line]).into_iter().map(Block::Table).collect()
}

fn job_figures(language: Language, test: &Test) -> Table {
    let heads = [
        ("Job", ""),
        ("Ops", ""),
        ("Rate", "ops/s"),
        ("Units", ""),
        ("Errors", ""),
        ("Elapsed", "s"),
    ];
    let mut table = new(language, "jobs", &heads);
    for job in test.job_figures() {
        let whole = |value: f64| Cell::Number { value, digits: Digits::Decimals(0), verdict: None };
        let rate = table.unjudged(Ok(job.tally.ops as f64 / job.elapsed_s));
        let units = table.unjudged(Ok(job.units));
        let elapsed = table.unjudged(Ok(job.elapsed_s));
        let errors = whole(job.tally.error_count() as f64);
        table.rows.push(vec![
            Cell::count(job.job),
            whole(job.tally.ops as f64),
            rate,
            units,
            errors,
            elapsed,
        ]);
    }
    table
}

/// Differences of every counter over the whole test and over the window.
fn counters(language: Language, test: &Test) -> Table {
    let mut table =
        new(language, "counters", &[("Counter", ""), ("Whole test", ""), ("Window", "")]);
    let Some(test) = test.measured() else { return table };
    let mut names: Vec<&String> =
        test.counters.0.keys().chain(test.window_counters.0.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let cell = |table: &mut Table, value: Option<f64>| {
            table.unjudged(value.ok_or_else(|| "not read then".into()))
        };
        let (whole, window) = (
            cell(&mut table, test.counters.get(name)),
            cell(&mut table, test.window_counters.get(name)),
        );
        table.rows.push(vec![Cell::text(name), whole, window]);
    }
    table
}

/// Snapshot points and their cost.
fn snapshots(language: Language, test: &Test) -> Table {
    let mut table = new(
        language,
        "snapshots",
        &[("Moment", ""), ("At", "s"), ("Cost", "ms"), ("Counters", "")],
    );
    for snapshot in test.snapshots() {
        let moment = match snapshot.moment {
            SnapshotPoint::Begin => "begin",
            SnapshotPoint::WindowOpen => "window opens",
            SnapshotPoint::WindowClose => "window closes",
            SnapshotPoint::End => "end",
            SnapshotPoint::CaughtUp => "paid back",
        };
        let (at, cost) = (table.unjudged(Ok(snapshot.t_s)), table.unjudged(Ok(snapshot.cost_ms)));
        let count = u32::try_from(snapshot.counters.0.len()).unwrap_or(u32::MAX);
        table.rows.push(vec![Cell::text(language.phrase(moment)), at, cost, Cell::count(count)]);
    }
    table
}

/// The SQL of the plan.
fn code(language: Language, run: &RunRecord, test: &Test) -> Vec<Block> {
    let Some(pieces) = selection(run, test).and_then(StoredSelection::sql) else {
        let text = "This run's plan holds no SQL of this test.";
        return vec![Block::Paragraph(language.phrase(text))];
    };
    let block = |piece: SqlPiece| Block::Code(Code { caption: piece.caption, text: piece.sql });
    pieces.into_iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture::{at, counters};
    use dbdyno_core::analysis::published_checks::fixture::judged;

    #[test]
    fn an_invalid_test_has_no_limit() {
        let syncs = counters(&[("wal_sync_time_ms", 9000.0), ("wal_syncs", 100.0)]);
        let said = |status| {
            let result = TestResult { counters: syncs.clone(), ..at(1, 100.0) };
            answer(Language::English, &judged(result.into(), status))
        };
        for status in [Status::Valid, Status::Conditional] {
            assert!(said(status).contains("Bottleneck: "), "{}", said(status));
        }
        assert!(said(Status::Invalid).ends_with("invalid."), "{}", said(Status::Invalid));
    }
}
