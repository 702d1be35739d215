//! The datasheet: one page per run, like a car's: the platform, then a line per workload.

use super::columns::{NOT_PRINTED, RATE, UNKNOWN_JOBS, at_service_time, no_mean, no_percentile};
use super::document::{Block, Cell, Declared, Digits, Document, Section, Table};
use super::lowered::{self, LoweringReason};
use super::{
    BaselinePlaces, Input, Language, Report, RunTests, limits, open_loop, page, run_facts, spread,
};
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::heatmap::METRICS;
use dbdyno_core::analysis::ramp;
use dbdyno_core::model::{Better, LoadResult, PublishedKind, RunRecord, Test, Verdict, params};

/// `report datasheet`.
pub struct Datasheet;

impl Report for Datasheet {
    fn name(&self) -> &'static str {
        "datasheet"
    }

    fn title(&self) -> &'static str {
        "one page per run: platform, then speed, throughput, service time and scalability of each \
         workload"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn baseline(&self) -> BaselinePlaces {
        BaselinePlaces { on_page: true, beside_published: false }
    }

    fn build(&self, input: &Input) -> Document {
        let sections = sections_of_all(input);
        let language = input.language;
        let title = match input.runs.as_slice() {
            [data] => {
                let values =
                    [("run", data.run.id.to_string()), ("target", data.run.target.clone())];
                language.say(
                    "Datasheet: run {run} on {target}",
                    &values.each_ref().map(|(name, value)| (*name, value.as_str())),
                )
            }
            _ => language.phrase("Datasheets"),
        };
        let page = page::page_of(input);
        Document { title, sections, language, page, ..Document::default() }
    }
}

/// The sections of every run.
pub(super) fn sections_of_all(input: &Input) -> Vec<Section> {
    let several = input.runs.len() > 1;
    input.runs.iter().flat_map(|data| sections(input, data, several)).collect()
}

/// Above the table of KPMs.
const HOW_TO_READ: &str = "Speed and the service times (mean, percentiles) are those of one job; \
                           throughput is the best valid figure at any number of jobs, reached at \
                           the number in column Jobs; scaling is throughput over speed.";

fn sections(input: &Input, data: &RunTests, several: bool) -> Vec<Section> {
    let language = input.language;
    let named = |title: &str| match several {
        true => language.say(
            "Run {run}: {title}",
            &[("run", &data.run.id.to_string()), ("title", &language.phrase(title))],
        ),
        false => language.phrase(title),
    };
    let section = |title: &str, blocks| Section { title: named(title), blocks };
    let platform = run_facts::platform(input, &data.run);
    let mut sections = vec![section("Platform", vec![Block::Facts(platform)])];
    if !data.run.loads.is_empty() {
        sections.push(section("Load", vec![Block::Table(loads(language, &data.run))]));
    }
    let kpms = match data.tests.is_empty() {
        true => vec![Block::Paragraph(language.phrase("This run has no test."))],
        false => {
            vec![Block::Paragraph(language.phrase(HOW_TO_READ)), Block::Table(kpms(input, data))]
        }
    };
    sections.push(section("Key performance metrics", kpms));
    let limits = limits::blocks(input, data);
    sections.extend(limits.map(|blocks| section("What limits", blocks)));
    let open = open_loop::blocks(language, data);
    sections.extend(open.map(|blocks| section("Open loop", blocks)));
    let spread = spread::blocks(language, data).filter(|_| spread::is_informative(data));
    sections.extend(spread.map(|blocks| section("Spread of repetitions", blocks)));
    let origin = run_facts::origin(language, &data.run);
    sections.push(section("How it was made", vec![Block::Facts(origin)]));
    sections
}

pub(super) fn loads(language: Language, run: &RunRecord) -> Table {
    let columns = load_columns();
    let mut table = Table::declared(language, "load", &columns);
    run.loads.iter().for_each(|load| table.add_row(&columns, load));
    table
}

fn load_columns() -> [Declared<LoadResult>; 8] {
    [
        Declared::new("Table", "", 0, |load, _| Cell::text(&load.table)),
        Declared::new("Rows", "", 1, |load, _| Cell::Number {
            value: load.rows as f64,
            digits: Digits::Decimals(0),
            verdict: None,
        }),
        Declared::new("Size", "MB", 2, |load, _| Cell::plain(load.table_bytes as f64 / 1e6)),
        Declared::new("Rows", "rows/s", 0, |load, table| {
            load_time_cell(load, table, loaded_share(load) * load.rows as f64 / load.rows_s)
        }),
        Declared::new("Speed", "MB/s", 0, |load, table| {
            let megabytes = load.table_bytes as f64 / 1e6;
            load_time_cell(load, table, loaded_share(load) * megabytes / load.rows_s)
        }),
        Declared::new("Indexes", "s", 3, |load, table| load_time_cell(load, table, load.index_s)),
        Declared::new("Sessions", "", 4, |load, _| Cell::count(load.sessions)),
        Declared::new("Method", "", 2, |load, _| Cell::text(&load.method)),
    ]
}

/// The share of the rows that this load brought.
fn loaded_share(load: &LoadResult) -> f64 {
    (load.rows - load.resumed_rows) as f64 / load.rows.max(1) as f64
}

/// A figure of the load, if there was one.
fn load_time_cell(load: &LoadResult, table: &mut Table, value: f64) -> Cell {
    table.unjudged(match load.loaded {
        true => Ok(value),
        false => Err("the rows were there already; they were verified, not loaded".into()),
    })
}

pub(super) fn kpms(input: &Input, data: &RunTests) -> Table {
    let mut table = Table::declared(input.language, "kpm", &kpm_columns());
    let mut lowered = Vec::new();
    for (group, _) in input.used_groups() {
        let ramps =
            ramp::groups(data.tests.iter().filter(|test| test.group() == group), |test| *test);
        let firsts: Vec<&Test> = ramps.iter().map(|tests| tests[0]).collect();
        for tests in &ramps {
            let row = KpmRow::new(ramp::label(tests, &firsts), tests);
            table.add_row(&kpm_columns(), &row);
            lowered.extend(row.lowering_reasons(input.language));
        }
    }
    table.remarks = lowered::remarks(input.language, &lowered);
    if !data.tests.is_empty() {
        // The interval of the throughput (without repetitions the KPM report has it), times at
        // rates where all figures are times.
        table.drop_empty_columns();
    }
    table
}

/// A rate with its mean service time; nothing for a figure that is a time itself.
fn at_mean(language: Language, figure: Option<Figure<'_>>) -> Cell {
    match figure.filter(|figure| figure.better == Better::Higher) {
        Some(figure) => {
            let ms = figure.mean_us().map(|us| us / 1e3);
            at_service_time(language, figure.value, ms, figure.status())
        }
        None => Cell::Empty,
    }
}

fn interval(table: &mut Table, figure: &Figure<'_>) -> Cell {
    let percent =
        figure.interval.map(|known| 100.0 * known.half_width()).map_err(|why| why.text().into());
    table.figure(percent, Digits::Significant(2), figure.status())
}

/// A ramp on the datasheet.
struct KpmRow<'a> {
    label: String,
    tests: &'a [&'a Test],
    speed: Option<Figure<'a>>,
    best: Option<Figure<'a>>,
    is_repeated: bool,
}

/// Verdict on a figure or a test, with its number of jobs.
struct VerdictAtJobs {
    jobs: Option<u32>,
    verdict: Verdict,
}

impl<'a> KpmRow<'a> {
    fn new(label: String, tests: &'a [&'a Test]) -> KpmRow<'a> {
        let [speed, best] = METRICS.each_ref().map(|metric| metric.figure(tests));
        let is_repeated = ramp::repeated(tests).iter().any(|point| point.times > 1);
        KpmRow { label, tests, speed, best, is_repeated }
    }

    /// The verdicts on the figures of the row. Without any figure every test failed: then their
    /// verdicts say why.
    fn verdicts(&self) -> Vec<VerdictAtJobs> {
        let figures = [&self.speed, &self.best].into_iter().flatten();
        let of_figures: Vec<VerdictAtJobs> = figures
            .map(|figure| VerdictAtJobs { jobs: figure.jobs, verdict: figure.verdict() })
            .collect();
        if !of_figures.is_empty() {
            return of_figures;
        }
        self.tests
            .iter()
            .map(|test| VerdictAtJobs { jobs: test.jobs(), verdict: test.verdict().clone() })
            .collect()
    }

    /// Reasons that lowered the verdicts on what is shown, and on what is left out.
    fn lowering_reasons(&self, language: Language) -> Vec<LoweringReason> {
        let mut lowered = Vec::new();
        for VerdictAtJobs { jobs, verdict } in self.verdicts() {
            let values = [("label", &*self.label), ("jobs", &language.jobs(jobs))];
            let subject = language.say("{label} at {jobs}", &values);
            lowered.extend(lowered::of_verdict(&subject, &verdict));
        }
        if let Some(other) = METRICS[1].passed_over(self.tests) {
            let values = [("label", &*self.label), ("jobs", &language.jobs(other.jobs))];
            let subject = language.say("{label} at {jobs}, left out", &values);
            lowered.extend(lowered::of_verdict(&subject, &other.verdict()));
        }
        lowered
    }
}

fn kpm_columns<'a>() -> [Declared<KpmRow<'a>>; 16] {
    [
        Declared::new("Workload", "", 0, |row, _| Cell::text(&row.label)),
        Declared::new("Parameters", "", 3, |row, _| {
            Cell::text(params::assignments(row.tests[0].params(), ","))
        }),
        Declared::new("Drive", "", 6, |row, _| Cell::text(row.tests[0].drive().name())),
        Declared::new("Speed", "", 0, |row, table| {
            figure_cell(table, row.speed.as_ref(), no_speed(row.tests))
        }),
        Declared::new("Throughput", "", 0, |row, table| {
            figure_cell(table, row.best.as_ref(), no_throughput(row.tests))
        }),
        Declared::new("Unit", "", 0, |row, _| {
            Cell::text(unit(row.speed.as_ref(), row.best.as_ref(), row.tests[0]))
        }),
        Declared::new("Jobs", "", 0, |row, table| match row.best.map(|figure| figure.jobs) {
            None => Cell::Empty,
            Some(None) => table.unknown(UNKNOWN_JOBS),
            Some(Some(jobs)) => Cell::count(jobs),
        }),
        Declared::new("CI95 +-", "%", 2, |row, table| {
            let best = row.best.filter(|_| row.is_repeated);
            best.map_or(Cell::Empty, |figure| interval(table, &figure))
        }),
        Declared::new("Mean", "us", 1, |row, table| service_time(table, row)),
        Declared::new("p50", "us", 4, |row, table| {
            percentile(table, row.tests, row.speed.as_ref(), |test| test.latency().p50_us)
        }),
        Declared::new("p99", "us", 3, |row, table| {
            percentile(table, row.tests, row.speed.as_ref(), |test| test.latency().p99_us)
        }),
        Declared::new("p99 at jobs", "us", 5, |row, table| {
            percentile(table, row.tests, row.best.as_ref(), |test| test.latency().p99_us)
        }),
        Declared::new("Scaling", "x", 2, |row, table| scaling(table, row.tests)),
        Declared::new("Speed@mean", "", 7, |row, table| at_mean(table.language, row.speed)),
        Declared::new("Throughput@mean", "", 7, |row, table| at_mean(table.language, row.best)),
        Declared::new("Verdict", "", 0, |row, _| {
            let status = row.verdicts().iter().map(|one| one.verdict.status).max();
            status.map_or(Cell::Empty, Cell::Verdict)
        }),
    ]
}

fn figure_cell(table: &mut Table, figure: Option<&Figure<'_>>, why: &'static str) -> Cell {
    match figure {
        Some(figure) => table.figure(Ok(figure.value), RATE, figure.status()),
        None => table.unknown(why),
    }
}

fn no_speed(tests: &[&Test]) -> &'static str {
    let is_single = tests.iter().any(|test| test.jobs() == Some(1));
    tests[0].either(
        if is_single { "the counter of the KPM is not known here" } else { NO_SINGLE_JOB },
        NO_PRINTED_SPEED,
    )
}

const NO_SINGLE_JOB: &str = "no test at one job";
const NO_PRINTED_SPEED: &str = "the source prints no figure of one job";

fn no_throughput(tests: &[&Test]) -> &'static str {
    let is_speed = |test: &&Test| test.states(PublishedKind::Speed);
    if tests.iter().all(is_speed) {
        "the source states a speed only"
    } else {
        "no figure of the ramp is known"
    }
}

/// Speed and throughput may be different metrics (a time and a rate); then both units are named.
fn unit(speed: Option<&Figure<'_>>, best: Option<&Figure<'_>>, test: &Test) -> String {
    match (speed, best) {
        (Some(speed), Some(best)) if speed.unit != best.unit => {
            format!("{}; {}", speed.unit, best.unit)
        }
        (_, Some(best)) => best.unit.into(),
        _ => test.kpm().unit.clone(),
    }
}

/// Reason for the lack of a test with a figure.
fn no_test(tests: &[&Test]) -> &'static str {
    tests[0].either(NO_SINGLE_JOB, NO_PRINTED_SPEED)
}

/// Mean service time at one job.
fn service_time(table: &mut Table, row: &KpmRow<'_>) -> Cell {
    let Some(speed) = row.speed else { return table.unknown(no_test(row.tests)) };
    let value = speed.mean_us().ok_or_else(|| no_mean(speed.test).into());
    table.figure(value, Digits::Significant(3), speed.status())
}

/// Percentile of the test that stands for a figure, with the verdict on the figure.
fn percentile(
    table: &mut Table,
    tests: &[&Test],
    figure: Option<&Figure<'_>>,
    get: fn(&Test) -> Option<f64>,
) -> Cell {
    match figure {
        Some(figure) => {
            let value = get(figure.test).ok_or_else(|| no_percentile(figure.test).into());
            table.figure(value, Digits::Significant(3), figure.status())
        }
        None => table.unknown(no_test(tests)),
    }
}

fn scaling(table: &mut Table, tests: &[&Test]) -> Cell {
    if tests.iter().all(|test| test.jobs() == tests[0].jobs()) {
        return table.unknown(tests[0].either("measured at one number of jobs only", NOT_PRINTED));
    }
    match ramp::scalability(tests) {
        Some(scalability) => {
            table.figure(Ok(scalability.factor), Digits::Decimals(2), scalability.status)
        }
        None if tests[0].kpm().better == Better::Lower => {
            table.unknown("the metric is a time, not a rate")
        }
        None => table.unknown(no_test(tests)),
    }
}
