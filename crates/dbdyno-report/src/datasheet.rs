//! The datasheet: one page per run, like a car's: the platform, then a line per workload.

use std::collections::BTreeMap;

use super::columns::{NOT_PRINTED, RATE, UNKNOWN_JOBS, at_service_time, no_mean, no_percentile};
use super::document::{Block, Cell, Declared, Digits, Document, Section, Table};
use super::lowered::{self, LoweringReason};
use super::shareable::shareable;
use super::{
    BaselinePlaces, Input, Language, Report, RunTests, limits, nodes, open_loop, page, spread,
};
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::heatmap::METRICS;
use dbdyno_core::analysis::ramp;
use dbdyno_core::model::{
    Better, LoadResult, PublishedKind, RunKind, RunRecord, STATED, Test, Verdict, params,
};

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

/// The rule of `--retry-disturbed`.
const REDO: &str = "a disturbed test up to {times} times more; all are kept, figures are those of \
                    the best verdict";

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
    let mut sections = vec![section("Platform", vec![Block::Facts(platform(input, &data.run))])];
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
    sections.push(section("How it was made", vec![Block::Facts(origin(language, &data.run))]));
    sections
}

/// A fact of the disclosure.
struct Fact {
    section: &'static str,
    key: &'static str,
    form: FactForm,
}

/// Form in which a fact is shown.
enum FactForm {
    /// Text as disclosed.
    Text,
    /// MB as GB.
    Megabytes,
    /// A count, by the sentences (`sockets_one`, `sockets_many`) of this key.
    Count(&'static str),
}

/// A line of the platform and the facts that make it.
struct PlatformLine {
    label: &'static str,
    facts: &'static [Fact],
}

const PLATFORM: [PlatformLine; 6] = [
    PlatformLine {
        label: "CPU",
        facts: &[
            Fact::text("hardware", "cpu_model"),
            Fact::count("sockets"),
            Fact::count("cores"),
            Fact::count("threads"),
        ],
    },
    PlatformLine { label: "Memory", facts: &[Fact::megabytes("hardware", "memory_mb")] },
    PlatformLine { label: "Virtualisation", facts: &[Fact::text("os", "virtualisation")] },
    PlatformLine {
        label: "Storage",
        facts: &[
            Fact::text("storage", "model"),
            Fact::text("storage", "device"),
            Fact::text("storage", "file_system"),
        ],
    },
    PlatformLine {
        label: "Operating system",
        facts: &[Fact::text("os", "distribution"), Fact::text("os", "kernel")],
    },
    PlatformLine { label: "Database", facts: &[Fact::text("database", "version")] },
];

impl Fact {
    const fn text(section: &'static str, key: &'static str) -> Fact {
        Fact { section, key, form: FactForm::Text }
    }

    const fn megabytes(section: &'static str, key: &'static str) -> Fact {
        Fact { section, key, form: FactForm::Megabytes }
    }

    /// A count of the hardware, which the sentences call as the disclosure does.
    const fn count(key: &'static str) -> Fact {
        Fact { section: "hardware", key, form: FactForm::Count(key) }
    }

    /// The fact of a run as it is shown; none if it is not known.
    fn of_run(&self, language: Language, run: &RunRecord) -> Option<String> {
        let value = run.disclosure.get(self.section, self.key)?;
        let Ok(number) = value.parse::<f64>() else { return Some(value.to_string()) };
        Some(match self.form {
            FactForm::Text => value.to_string(),
            FactForm::Megabytes => {
                // GB are 10^9 bytes.
                gigabytes(language, &language.number(number / 1e3, Digits::Decimals(1)))
            }
            FactForm::Count(key) => language.count(key, number as usize, &[]),
        })
    }
}

pub(super) fn platform(input: &Input, run: &RunRecord) -> Vec<(String, String)> {
    let language = input.language;
    let line = |line: &PlatformLine| {
        (language.phrase(line.label), platform_line(language, run, line.facts))
    };
    let settings = (language.phrase("Settings"), settings(input, run));
    PLATFORM
        .iter()
        .map(line)
        .chain(durable_writes(language, run))
        .chain(nodes::facts(language, run))
        .chain([settings])
        .chain(stated_facts(language, run))
        .collect()
}

/// Durable writes of the device, where the run measured them.
fn durable_writes(language: Language, run: &RunRecord) -> Option<(String, String)> {
    let device = run.device_sync?;
    let rate = |per_s: f64| language.number(per_s, Digits::Significant(3));
    let (one, all) = (
        rate(device.fdatasync_per_s.max(device.dsync_per_s)),
        rate(device.fdatasync_all_per_s.max(device.dsync_all_per_s)),
    );
    let values = [("one", one.as_str()), ("all", &all), ("threads", &device.threads.to_string())];
    let text = language.say("{one} per second in one thread, {all} in {threads}", &values);
    Some((language.phrase("Durable writes"), text))
}

/// Stated facts about the platform, a line for each topic.
fn stated_facts(language: Language, run: &RunRecord) -> Vec<(String, String)> {
    let mut topics: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in run.disclosure.0.get(STATED).into_iter().flatten() {
        let (topic, key) = name.split_once('.').unwrap_or(("", name));
        topics.entry(topic).or_default().push(format!("{key}={value}"));
    }
    let line = |(topic, facts): (&str, Vec<String>)| {
        (language.say("Stated: {topic}", &[("topic", topic)]), facts.join(", "))
    };
    topics.into_iter().map(line).collect()
}

/// Settings that decide what a commit, a cached block or a sort costs; a page has no room for all.
fn settings(input: &Input, run: &RunRecord) -> String {
    let language = input.language;
    let Some(all) = run.disclosure.0.get("settings") else { return language.phrase("unknown") };
    let names = input
        .key_settings
        .get(run.engine.as_deref().unwrap_or_default())
        .copied()
        .unwrap_or_default();
    let key = names
        .iter()
        .filter_map(|name| Some(format!("{name}={}", in_bytes(language, all.get(*name)?))));
    let shown: Vec<String> = key.collect();
    let more = all.len() - shown.len();
    let more = (more > 0).then(|| {
        language.say("{count} more in the run's disclosure", &[("count", &more.to_string())])
    });
    let parts = [Some(shown.join(", ")).filter(|shown| !shown.is_empty()), more];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A size that a server counts in blocks, `8192 8kB`, as people say it: `64 MB`. Others stand as
/// they are.
fn in_bytes(language: Language, value: &str) -> String {
    let blocks = value.split_once(' ').and_then(|(count, unit)| {
        let kilobytes = unit.strip_suffix("kB")?.parse::<f64>().ok()?;
        Some(count.parse::<f64>().ok()? * kilobytes)
    });
    let Some(kilobytes) = blocks else { return value.to_string() };
    let (size, unit) = match kilobytes {
        size if size >= 1024.0 && size % 1024.0 == 0.0 => (size / 1024.0, "MB"),
        size => (size, "kB"),
    };
    format!("{} {unit}", language.number(size, Digits::Decimals(0)))
}

fn platform_line(language: Language, run: &RunRecord, facts: &[Fact]) -> String {
    let known: Vec<String> = facts.iter().filter_map(|fact| fact.of_run(language, run)).collect();
    if known.is_empty() { language.phrase("unknown") } else { known.join(", ") }
}

fn gigabytes(language: Language, number: &str) -> String {
    language.say("{gb} GB", &[("gb", number)])
}

fn origin(language: Language, run: &RunRecord) -> Vec<(String, String)> {
    let name = run.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let facts = [
        ("Run", format!("{}{name}, {}", run.id, language.phrase(run.status.name()))),
        ("Command", shareable(&run.command)),
        ("Version", format!("dbdyno {}", run.version)),
        ("Time", time(language, run)),
        ("Data", data(language, run)),
    ];
    let windows = windows(language, run).map(|text| ("Windows", text));
    facts.into_iter().chain(windows).map(|(name, value)| (language.phrase(name), value)).collect()
}

/// `0.7 to 3 s; every test up to 3 times, in blocks; too short to be quoted`, as far as the plan
/// says so.
fn windows(language: Language, run: &RunRecord) -> Option<String> {
    let selections = run.plan.selections();
    let mut seconds: Vec<f64> = selections.iter().filter_map(|one| one.duration_s()).collect();
    seconds.sort_by(f64::total_cmp);
    let most = selections.iter().map(|one| one.repetitions()).max().unwrap_or(1);
    let [shortest, longest] =
        [seconds.first()?, seconds.last()?].map(|seconds| language.exactly(*seconds));
    let length = match shortest == longest {
        true => format!("{shortest} s"),
        false => language
            .say("{shortest} to {longest} s", &[("shortest", &shortest), ("longest", &longest)]),
    };
    let precision = selections.iter().find_map(|one| one.precision());
    let length = match precision.map(|half| language.exactly(half * 100.0) + " %") {
        None => length,
        Some(precision) => {
            let texts = [("precision", precision.as_str()), ("length", &length)];
            language.say("until accurate to +-{precision}, at most {length}", &texts)
        }
    };
    let times = most.to_string();
    let repeated = match run.plan.fresh() {
        Some("data") => "{times} blocks, each on data loaded anew",
        Some(_) => "{times} blocks, each on a server started anew",
        None => "every test up to {times} times, in blocks",
    };
    let repeated = (most > 1).then(|| language.say(repeated, &[("times", &times)]));
    let redo = run.plan.redo_disturbed().map(|times| times.to_string());
    let redo = redo.map(|times| language.say(REDO, &[("times", &times)]));
    let note = run.plan.note().map(|note| language.phrase(note));
    let more: Vec<String> = repeated.into_iter().chain(redo).chain(note).collect();
    let told = precision.is_some() || !more.is_empty();
    told.then(|| std::iter::once(length).chain(more).collect::<Vec<_>>().join("; "))
}

/// Time from start to end; of a publication its date.
fn time(language: Language, run: &RunRecord) -> String {
    let start = run
        .started_at
        .as_deref()
        .map_or_else(|| language.phrase("unknown"), |start| language.date(start));
    match (run.kind, &run.ended_at) {
        (RunKind::Published, None) => start,
        (_, Some(end)) => {
            language.say("{start} to {end}", &[("start", &start), ("end", &language.date(end))])
        }
        (_, None) => language.say("from {start}, not ended", &[("start", &start)]),
    }
}

/// Size, data set and seed; of a publication the size, if it is printed.
pub(super) fn data(language: Language, run: &RunRecord) -> String {
    let Some(size_gb) = run.size_gb else { return language.phrase("unknown") };
    let size = gigabytes(language, &language.exactly(size_gb));
    let nominal = language.say("{size} nominal", &[("size", &size)]);
    let Some((id, seed)) = run.data_set_id.as_ref().zip(run.seed) else { return nominal };
    let values = [("size", nominal.as_str()), ("id", id), ("seed", &seed.to_string())];
    language.say("{size}, data set {id}, seed {seed}", &values)
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
