//! The page of one test: figures, verdict, seconds, distribution, claims, counters, SQL, settings.

use serde_json::Value;

use super::assignments::assignments;
use super::columns::{Line, RATE, jobs};
use super::document::{Block, Cell, Code, Column, Digits, Document, Section, Table};
use super::test_charts::{Curve, distribution, tracks};
use super::{Input, Report, Subject, kpm_parts, method, platform};
use crate::analysis::claims::{self, Checked, Outcome};
use crate::analysis::derive;
use crate::model::{Claim, Kpm, Moment, RunRecord, Status, TestResult};

/// `report test`.
pub struct TestPage;

impl Report for TestPage {
    fn name(&self) -> &'static str {
        "test"
    }

    fn title(&self) -> &'static str {
        "one test (RUN:SEQ): figures, seconds, distribution, contract, counters, SQL, settings, verdict"
    }

    fn subject(&self) -> Subject {
        Subject::Tests
    }

    fn build(&self, input: &Input) -> Document {
        let several = input.tests().nth(1).is_some();
        let mut sections: Vec<Section> = input.tests().flat_map(|(run, test)| page(run, test, several)).collect();
        sections.extend(platform::sections(input));
        sections.push(method::section(input));
        let title = match input.tests().next().filter(|_| !several) {
            Some((run, test)) => format!("Run {} test {}: {} at {}", run.id, test.seq, test.workload, jobs(test.jobs)),
            None => "Tests".into(),
        };
        Document { title, sections, ..Document::default() }
    }
}

fn page(run: &RunRecord, test: &TestResult, several: bool) -> Vec<Section> {
    let subject = format!("{} at {}", test.workload, jobs(test.jobs));
    let mut charts = tracks(&subject, test);
    charts.extend(distribution(&subject, &Curve::by_jobs(&[test])));
    let part = |title: &str, blocks: Vec<Block>| Section {
        title: if several { format!("Test {}: {title}", test.seq) } else { title.into() },
        blocks,
    };
    let table = |table: Table| vec![Block::Table(table)];
    let sections = [
        part("Test", vec![Block::Facts(facts(run, test)), Block::Table(figures(test))]),
        part("Verdict", table(reasons(test))),
        part("Second by second", charts.into_iter().map(Block::Chart).collect()),
        part("Metrics", table(metrics(test))),
        part("Contract and cross-check", claims(run, test)),
        part("Parts", parts(run, test)),
        part("Jobs", table(job_figures(test))),
        part("Counters", table(counters(test))),
        part("Snapshots", table(snapshots(test))),
        part("What ran", code(run, test)),
    ];
    let has_content = |section: &Section| {
        let is_full = |block: &Block| !matches!(block, Block::Table(table) if table.rows.is_empty());
        section.blocks.iter().any(is_full)
    };
    sections.into_iter().filter(has_content).collect()
}

fn facts(run: &RunRecord, test: &TestResult) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Workload", format!("{}: {}", test.workload, test.title)),
        ("Asked as", test.asked_as.clone().unwrap_or_default()),
        ("Parameters", assignments(&test.params, ", ")),
        ("Drive", test.drive.name().into()),
        ("Jobs", format!("{} on {} node{}", jobs(test.jobs), test.nodes, if test.nodes == 1 { "" } else { "s" })),
        ("Target", run.target.clone()),
        ("Started", test.started_at.clone()),
        ("Definition", format!("revision {}, hash {}", test.revision, test.hash)),
        ("First error", test.first_error.clone().unwrap_or_default()),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

fn columns(columns: &[(&str, &str)]) -> Vec<Column> {
    let column =
        |(position, &(name, unit)): (usize, &(&str, &str))| Column::new(name, unit, u8::from(position > 2) * 3);
    columns.iter().enumerate().map(column).collect()
}

fn new(name: &str, heads: &[(&str, &str)]) -> Table {
    Table { name: name.into(), columns: columns(heads), ..Table::default() }
}

/// KPM, second metric and service times, with their units.
fn figures(test: &TestResult) -> Table {
    let mut table = new("figures", &[("Figure", ""), ("Value", ""), ("Unit", "")]);
    let kpm = |name: &str, kpm: &Kpm, value: Option<f64>| (name.to_string(), value, kpm.unit.clone());
    let mut lines = vec![kpm("KPM", &test.kpm, test.kpm_value)];
    lines.extend(test.second.as_ref().map(|second| kpm("Second metric", second, test.second_value)));
    lines.push((
        "Confidence interval of the rate, 95 %, +-".into(),
        test.ci_fraction.map(|part| 100.0 * part),
        "%".into(),
    ));
    let latency = &test.latency;
    let times = [
        ("mean", latency.mean_us),
        ("p50", latency.p50_us),
        ("p90", latency.p90_us),
        ("p95", latency.p95_us),
        ("p99", latency.p99_us),
        ("p99.9", latency.p999_us),
        ("max", latency.max_us),
    ];
    lines.extend(times.map(|(name, us)| (format!("Service time {name}"), us, "us".into())));
    for (name, value, unit) in lines {
        let value = value.ok_or_else(|| "too few ops or seconds for it, or its counter is not known".to_string());
        let cell = table.figure(value, RATE, test.verdict.status);
        table.rows.push(vec![Cell::text(name), cell, Cell::text(unit)]);
    }
    table
}

/// The verdict and every reason and note.
fn reasons(test: &TestResult) -> Table {
    let mut table = new("verdict", &[("Verdict", ""), ("Reason", ""), ("Text", "")]);
    if test.verdict.reasons.is_empty() {
        let text = "contract and cross-check held, nothing lowers the verdict";
        table.rows.push(vec![Cell::Verdict(test.verdict.status), Cell::Empty, Cell::text(text)]);
    }
    for reason in &test.verdict.reasons {
        let status = match reason.status {
            Status::Valid => Cell::text("note"),
            status => Cell::Verdict(status),
        };
        table.rows.push(vec![status, Cell::text(&reason.code), Cell::text(&reason.text)]);
    }
    table
}

/// Every derived figure.
fn metrics(test: &TestResult) -> Table {
    let mut table = new("metrics", &[("Metric", ""), ("Value", ""), ("Unit", "")]);
    for figure in derive(test).0 {
        let cell = table.figure(figure.value, RATE, test.verdict.status);
        table.rows.push(vec![Cell::text(figure.title), cell, Cell::text(figure.unit)]);
    }
    table
}

/// The selection of the plan that the test belongs to.
fn selection<'a>(run: &'a RunRecord, test: &TestResult) -> Option<&'a Value> {
    let selections = run.plan["selections"].as_array()?;
    let is_it =
        |selection: &&Value| selection["hash"] == test.hash.as_str() && selection["workload"] == test.workload.as_str();
    selections.iter().find(is_it)
}

fn claims(run: &RunRecord, test: &TestResult) -> Vec<Block> {
    let stored = |list: &str| {
        let claims = selection(run, test)?.get(list)?;
        serde_json::from_value::<Vec<Claim>>(claims.clone()).ok()
    };
    let (Some(contract), Some(crosscheck)) = (stored("contract"), stored("crosscheck")) else {
        return vec![Block::Paragraph("This run's plan holds no claims; the verdict says what did not hold.".into())];
    };
    let heads = [("Claim", ""), ("Found", ""), ("Outcome", ""), ("Must be", ""), ("Else", "")];
    let mut table = new("claims", &heads);
    let contract = claims::of_contract(test, &contract, &run.engine);
    let crosscheck = claims::of_crosscheck(test, &crosscheck, &run.engine);
    for (kind, checked) in [("contract", contract), ("cross-check", crosscheck)] {
        for checked in checked {
            let row = claim_row(kind, checked, &mut table);
            table.rows.push(row);
        }
    }
    match table.rows.is_empty() {
        true => vec![Block::Paragraph("This workload claims nothing about counters on this engine.".into())],
        false => vec![Block::Table(table)],
    }
}

fn claim_row(kind: &str, checked: Checked, table: &mut Table) -> Vec<Cell> {
    let found = table.unjudged(checked.value.ok_or_else(|| "a counter is not known here".to_string()));
    let outcome = match checked.outcome {
        Outcome::Holds => Cell::text("holds"),
        Outcome::Unchecked => Cell::text("not checked"),
        Outcome::Broken(status) => Cell::Verdict(status),
    };
    vec![
        Cell::text(format!("{kind}: {}", checked.what)),
        found,
        outcome,
        Cell::text(checked.required),
        Cell::text(checked.because),
    ]
}

fn parts(run: &RunRecord, test: &TestResult) -> Vec<Block> {
    let line = Line { run, test, derived: derive(test) };
    kpm_parts::table("parts", &[line]).into_iter().map(Block::Table).collect()
}

fn job_figures(test: &TestResult) -> Table {
    let heads = [("Job", ""), ("Ops", ""), ("Rate", "ops/s"), ("Units", ""), ("Errors", ""), ("Elapsed", "s")];
    let mut table = new("jobs", &heads);
    for job in &test.job_figures {
        let whole = |value: f64| Cell::Number { value, digits: Digits::Decimals(0), verdict: None };
        let rate = table.unjudged(Ok(job.tally.ops as f64 / job.elapsed_s));
        let units = table.unjudged(Ok(job.units));
        let elapsed = table.unjudged(Ok(job.elapsed_s));
        let errors = whole(job.tally.error_count() as f64);
        table.rows.push(vec![Cell::count(job.job), whole(job.tally.ops as f64), rate, units, errors, elapsed]);
    }
    table
}

/// Differences of every counter over the whole test and over the window.
fn counters(test: &TestResult) -> Table {
    let mut table = new("counters", &[("Counter", ""), ("Whole test", ""), ("Window", "")]);
    let mut names: Vec<&String> = test.counters.0.keys().chain(test.window_counters.0.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let cell = |table: &mut Table, value: Option<f64>| table.unjudged(value.ok_or_else(|| "not read then".into()));
        let (whole, window) =
            (cell(&mut table, test.counters.get(name)), cell(&mut table, test.window_counters.get(name)));
        table.rows.push(vec![Cell::text(name), whole, window]);
    }
    table
}

/// When all probes were read, and what that cost.
fn snapshots(test: &TestResult) -> Table {
    let mut table = new("snapshots", &[("Moment", ""), ("At", "s"), ("Cost", "ms"), ("Counters", "")]);
    for snapshot in &test.snapshots {
        let moment = match snapshot.moment {
            Moment::Begin => "begin",
            Moment::WindowOpen => "window opens",
            Moment::WindowClose => "window closes",
            Moment::End => "end",
        };
        let (at, cost) = (table.unjudged(Ok(snapshot.t_s)), table.unjudged(Ok(snapshot.cost_ms)));
        let count = u32::try_from(snapshot.counters.0.len()).unwrap_or(u32::MAX);
        table.rows.push(vec![Cell::text(moment), at, cost, Cell::count(count)]);
    }
    table
}

/// The SQL of the plan.
fn code(run: &RunRecord, test: &TestResult) -> Vec<Block> {
    let pieces = selection(run, test).and_then(|selection| selection["sql"].as_array());
    let text = |piece: &Value, name: &str| piece[name].as_str().unwrap_or_default().to_string();
    let block = |piece: &Value| Block::Code(Code { caption: text(piece, "caption"), text: text(piece, "sql") });
    match pieces {
        Some(pieces) => pieces.iter().map(block).collect(),
        None => vec![Block::Paragraph("This run's plan holds no SQL of this test.".into())],
    }
}
