//! The datasheet: one page per run, like a car's: the platform, then a line per workload.

use super::assignments::assignments;
use super::columns::{RATE, UNKNOWN_JOBS, jobs};
use super::document::{Block, Cell, Column, Digits, Document, Section, Table};
use super::heatmap::{METRICS, figure as metric_figure};
use super::{Input, Report, RunTests};
use crate::analysis::ramp;
use crate::model::{Better, LoadResult, PublishedKind, RunKind, RunRecord, Status, TestResult};

/// `report datasheet`.
pub struct Datasheet;

impl Report for Datasheet {
    fn name(&self) -> &'static str {
        "datasheet"
    }

    fn title(&self) -> &'static str {
        "one page per run: platform, then speed, throughput, service time and scalability of each workload"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let several = input.runs.len() > 1;
        let sections = input.runs.iter().flat_map(|data| sections(input, data, several)).collect();
        let title = match input.runs.as_slice() {
            [data] => format!("Datasheet: run {} on {}", data.run.id, data.run.target),
            _ => "Datasheets".into(),
        };
        input.language.translate(Document { title, sections, ..Document::default() })
    }
}

/// Above the table of KPMs.
const HOW_TO_READ: &str = "Speed and the service times (mean, percentiles) are those of one job; throughput is the \
best at any number of jobs, reached at the number in column Jobs; scaling is throughput over speed.";

fn sections(input: &Input, data: &RunTests, several: bool) -> Vec<Section> {
    let named = |title: &str| match several {
        true => format!("Run {}: {title}", data.run.id),
        false => title.into(),
    };
    let section = |title: &str, block| Section { title: named(title), blocks: vec![block] };
    let mut sections = vec![section("Platform", Block::Facts(platform(&data.run)))];
    if !data.run.loads.is_empty() {
        sections.push(section("Load", Block::Table(loads(&data.run))));
    }
    sections.push(Section {
        title: named("Key performance metrics"),
        blocks: vec![Block::Paragraph(HOW_TO_READ.into()), Block::Table(kpms(input, data))],
    });
    sections.push(section("How it was made", Block::Facts(origin(&data.run))));
    sections
}

/// Section, key, and what follows the value.
type Fact = (&'static str, &'static str, &'static str);

/// Label and the facts of the disclosure (section, key, unit) that make its line.
const PLATFORM: &[(&str, &[Fact])] = &[
    (
        "CPU",
        &[
            ("hardware", "cpu_model", ""),
            ("hardware", "sockets", " sockets"),
            ("hardware", "cores", " cores"),
            ("hardware", "threads", " threads"),
        ],
    ),
    ("Memory", &[("hardware", "memory_mb", "MB")]),
    ("Virtualisation", &[("os", "virtualisation", "")]),
    ("Storage", &[("storage", "model", ""), ("storage", "device", ""), ("storage", "file_system", "")]),
    ("Operating system", &[("os", "distribution", ""), ("os", "kernel", "")]),
    ("Database", &[("database", "version", "")]),
];

fn platform(run: &RunRecord) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> =
        PLATFORM.iter().map(|(label, keys)| ((*label).into(), platform_line(run, keys))).collect();
    facts.push(("Settings".into(), settings(run)));
    facts
}

/// Settings that decide what a commit, a cached block or a sort costs; a page has no room for all.
const KEY_SETTINGS: &[&str] = &[
    "shared_buffers",
    "work_mem",
    "max_wal_size",
    "wal_level",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "jit",
    "huge_pages",
    "journal_mode",
    "synchronous",
    "cache_size",
    "page_size",
    "mmap_size",
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
];

fn settings(run: &RunRecord) -> String {
    let Some(all) = run.disclosure.0.get("settings") else { return "unknown".into() };
    let key = KEY_SETTINGS.iter().filter_map(|name| Some(format!("{name}={}", all.get(*name)?)));
    let shown: Vec<String> = key.collect();
    match all.len() - shown.len() {
        0 => shown.join(", "),
        more => format!(
            "{}{}{more} more in the run's disclosure",
            shown.join(", "),
            if shown.is_empty() { "" } else { "; " }
        ),
    }
}

fn platform_line(run: &RunRecord, keys: &[Fact]) -> String {
    let known = keys.iter().filter_map(|(section, key, unit)| {
        let value = Some(run.disclosure.get(section, key)).filter(|value| *value != "unknown")?;
        Some(with_unit(value, unit))
    });
    let known: Vec<String> = known.collect();
    if known.is_empty() { "unknown".into() } else { known.join(", ") }
}

/// MB become GB (10^9 bytes); `1 sockets` becomes `1 socket`.
fn with_unit(value: &str, unit: &str) -> String {
    match (unit, value.parse::<f64>()) {
        ("MB", Ok(megabytes)) => format!("{:.1} GB", megabytes / 1e3),
        (plural, Ok(1.0)) => format!("{value}{}", plural.trim_end_matches('s')),
        _ => format!("{value}{unit}"),
    }
}

fn origin(run: &RunRecord) -> Vec<(String, String)> {
    let name = run.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let facts = [
        ("Run", format!("{}{name}, {}", run.id, run.status.name())),
        ("Command", run.command.clone()),
        ("Version", format!("dbdyno {}", run.version)),
        ("Time", time(run)),
        ("Data", data(run)),
    ];
    facts.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// From start to end; of a publication its date.
fn time(run: &RunRecord) -> String {
    match (run.kind, &run.ended_at) {
        (RunKind::Published, None) => run.started_at.clone(),
        (_, ended) => format!("{} to {}", run.started_at, ended.as_deref().unwrap_or("not ended")),
    }
}

/// Size, data set and seed; of a publication the size, if it is printed.
fn data(run: &RunRecord) -> String {
    match run.kind {
        RunKind::Published if run.size_gb > 0.0 => format!("{} GB nominal", run.size_gb),
        RunKind::Published => "unknown".into(),
        _ => format!("{} GB nominal, data set {}, seed {}", run.size_gb, run.data_set_id, run.seed),
    }
}

fn loads(run: &RunRecord) -> Table {
    let columns = vec![
        Column::new("Table", "", 0),
        Column::new("Rows", "", 1),
        Column::new("Size", "MB", 2),
        Column::new("Rows", "rows/s", 0),
        Column::new("Speed", "MB/s", 0),
        Column::new("Indexes", "s", 3),
        Column::new("Sessions", "", 4),
        Column::new("Method", "", 2),
    ];
    let mut table = Table { name: "load".into(), columns, ..Table::default() };
    for load in &run.loads {
        let row = load_row(load, &mut table);
        table.rows.push(row);
    }
    table
}

fn load_row(load: &LoadResult, table: &mut Table) -> Vec<Cell> {
    let number = |value, digits| Cell::Number { value, digits, verdict: None };
    let megabytes = load.table_bytes as f64 / 1e6;
    let timed = |value: f64| match load.loaded {
        true => Ok(value),
        false => Err("the rows were there already; they were verified, not loaded".to_string()),
    };
    let share = (load.rows - load.resumed_rows) as f64 / load.rows.max(1) as f64;
    vec![
        Cell::text(&load.table),
        number(load.rows as f64, Digits::Decimals(0)),
        number(megabytes, Digits::Significant(4)),
        table.unjudged(timed(share * load.rows as f64 / load.rows_s)),
        table.unjudged(timed(share * megabytes / load.rows_s)),
        table.unjudged(timed(load.index_s)),
        Cell::count(load.sessions),
        Cell::text(&load.method),
    ]
}

fn kpms(input: &Input, data: &RunTests) -> Table {
    let columns = vec![
        Column::new("Workload", "", 0),
        Column::new("Parameters", "", 3),
        Column::new("Drive", "", 6),
        Column::new("Speed", "", 0),
        Column::new("Throughput", "", 0),
        Column::new("Unit", "", 0),
        Column::new("Jobs", "", 0),
        Column::new("Mean", "us", 1),
        Column::new("p50", "us", 4),
        Column::new("p99", "us", 3),
        Column::new("p99 at jobs", "us", 5),
        Column::new("Scaling", "x", 2),
        Column::new("Verdict", "", 0),
    ];
    let mut table = Table { name: "kpm".into(), columns, ..Table::default() };
    for (group, _) in input.used_groups() {
        let ramps = ramp::groups(data.tests.iter().filter(|test| test.group == group), |test| *test);
        let firsts: Vec<&TestResult> = ramps.iter().map(|tests| tests[0]).collect();
        for tests in &ramps {
            let row = kpm_row(&ramp::label(tests, &firsts), tests, &mut table);
            table.rows.push(row);
        }
    }
    table
}

fn kpm_row(label: &str, tests: &[&TestResult], table: &mut Table) -> Vec<Cell> {
    let first = tests[0];
    let [speed, best] = METRICS.each_ref().map(|metric| metric_figure(tests, metric));
    let unit = unit(speed.as_ref(), best.as_ref(), first);
    let single = speed.map(|figure| figure.test);
    let shown: Vec<&TestResult> = [&speed, &best].into_iter().flatten().map(|figure| figure.test).collect();
    // Without any figure every test failed: then their verdicts say why.
    let judged = if shown.is_empty() { tests.to_vec() } else { shown };
    let status = judged.iter().map(|test| test.verdict.status).max();
    let mut figure = |figure: Option<ramp::RampFigure<'_>>, why: &str| match figure {
        Some(figure) => table.figure(Ok(figure.value), RATE, figure.test.verdict.status),
        None => table.unknown(why),
    };
    let speed_cell = figure(speed, "no test at one job, or its counter is not known");
    let best_cell = figure(best, no_throughput(tests));
    let jobs_cell = best.map(|figure| figure.test.known_jobs());
    let jobs_cell = jobs_cell.map_or(Cell::Empty, |jobs| jobs.map_or_else(|| table.unknown(UNKNOWN_JOBS), Cell::count));
    let row = vec![
        Cell::text(label),
        Cell::text(assignments(&first.params, ",")),
        Cell::text(first.drive.name()),
        speed_cell,
        best_cell,
        Cell::text(unit),
        jobs_cell,
        service_time(table, single),
        percentile(table, single, |test| test.latency.p50_us),
        percentile(table, single, |test| test.latency.p99_us),
        percentile(table, best.map(|figure| figure.test), |test| test.latency.p99_us),
        scaling(table, tests),
        status.map_or(Cell::Empty, Cell::Verdict),
    ];
    judged.iter().for_each(|test| table.explain(&format!("{label} at {}", jobs(test.jobs)), &test.verdict));
    row
}

fn no_throughput(tests: &[&TestResult]) -> &'static str {
    let is_speed = |test: &&TestResult| test.published.as_ref().is_some_and(|known| known.kind == PublishedKind::Speed);
    if tests.iter().all(is_speed) { "the source states a speed only" } else { "no figure of the ramp is known" }
}

/// Speed and throughput may be different metrics (a time and a rate); then both units are named.
fn unit(speed: Option<&ramp::RampFigure<'_>>, best: Option<&ramp::RampFigure<'_>>, test: &TestResult) -> String {
    match (speed, best) {
        (Some(speed), Some(best)) if speed.kpm.unit != best.kpm.unit => {
            format!("{}; {}", speed.kpm.unit, best.kpm.unit)
        }
        (_, Some(best)) => best.kpm.unit.clone(),
        _ => test.kpm.unit.clone(),
    }
}

/// Mean service time at one job.
fn service_time(table: &mut Table, test: Option<&TestResult>) -> Cell {
    match test {
        Some(test) => {
            let value = test.latency.mean_us.ok_or_else(|| "no op was completed".into());
            table.figure(value, Digits::Significant(3), test.verdict.status)
        }
        None => table.unknown("no test at one job"),
    }
}

fn percentile(table: &mut Table, test: Option<&TestResult>, get: fn(&TestResult) -> Option<f64>) -> Cell {
    match test {
        Some(test) => {
            let value = get(test).ok_or_else(|| "too few timed ops for this percentile".into());
            table.figure(value, Digits::Significant(3), test.verdict.status)
        }
        None => table.unknown("no test at one job"),
    }
}

fn scaling(table: &mut Table, tests: &[&TestResult]) -> Cell {
    if tests.iter().all(|test| test.jobs == tests[0].jobs) {
        return table.unknown("measured at one number of jobs only");
    }
    match ramp::scalability(tests) {
        Some(scalability) => {
            let worst = tests.iter().map(|test| test.verdict.status).max().unwrap_or(Status::Valid);
            table.figure(Ok(scalability.factor), Digits::Decimals(2), worst)
        }
        None if tests[0].kpm.better == Better::Lower => table.unknown("the metric is a time, not a rate"),
        None => table.unknown("no test at one job"),
    }
}
