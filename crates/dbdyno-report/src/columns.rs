//! Columns as declared data: name, unit and where a line's value comes from; a table is made from a
//! list of them.

use super::Language;
use super::about::About;
use super::document::{Cell, Column, Digits, Table};
use super::units::TimeUnit;
use dbdyno_core::analysis::Derived;
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::interval::IntervalOrReason;
use dbdyno_core::model::{Better, OpenLoop, RunRecord, Sentence, Status, Test, Verdict};

/// Source of a row of a table of tests.
pub struct Line<'a> {
    /// Run of the test.
    pub run: &'a RunRecord,
    /// Test that stands for the repetitions.
    pub test: &'a Test,
    /// Number of repetitions.
    pub times: usize,
    /// KPM of the repetitions; absent if it is not known, and for a single test.
    pub figure: Option<Figure<'a>>,
    /// Interval of the KPM, or the reason why it has none, and the verdict on it.
    pub known: IntervalOrReason,
    /// Verdict on the row, with its reasons.
    pub verdict: Verdict,
    /// Figures that are computed from the test's counters.
    pub derived: Derived,
    /// Language of the texts in its cells.
    pub language: Language,
}

impl Line<'_> {
    /// The KPM, or why it is unknown.
    pub fn kpm(&self) -> Result<f64, Sentence> {
        self.figure.map_or_else(|| kpm(self.test), |figure| Ok(figure.value))
    }

    /// A value of the line's test, in proportion to how much faster or slower the figure of the
    /// line is than that test.
    pub fn in_proportion(&self, of_test: f64, better: Better) -> f64 {
        self.figure.map_or(of_test, |figure| figure.pace().apply(of_test, better))
    }

    /// The figure of this id in `analysis::derive`, or why it is unknown.
    pub fn derived(&self, id: &str) -> Result<f64, Sentence> {
        let figure = self
            .derived
            .figure(id)
            .ok_or_else(|| Sentence::quoted(format!("unknown figure {id}")))?;
        figure.value.clone()
    }
}

/// Source of a column's value.
#[derive(Clone, Copy)]
pub enum Source {
    /// A text, a count or a mark that is always known.
    Plain(fn(&Line<'_>) -> Cell),
    /// A measured figure, or why it is unknown.
    Figure(fn(&Line<'_>) -> Result<f64, Sentence>, Digits),
    /// The figure of this id in `analysis::derive`.
    Derived(&'static str, Digits),
    /// The same, of repetitions in proportion to their figure; better in this direction.
    Proportional(&'static str, Better),
    /// The workload's KPM; the column has the KPM's unit.
    Kpm,
    /// The KPM divided by the jobs.
    KpmPerJob,
    /// The number of jobs.
    Jobs,
}

/// A declared column.
#[derive(Clone, Copy)]
pub struct Definition {
    /// English head of the column, which the language translates.
    pub name: &'static str,
    /// Empty for text and counts; ignored for the KPM.
    pub unit: &'static str,
    /// See `Column::priority`.
    pub priority: u8,
    /// Origin of the column's cells.
    pub source: Source,
}

/// Digits of a rate or a time.
pub const RATE: Digits = Digits::Significant(4);

/// The table `name` with a row per line. All lines must have the same KPM unit.
pub fn table(
    language: Language,
    name: &str,
    definitions: &[Definition],
    kpm_name: &str,
    lines: &[Line<'_>],
) -> Table {
    let unit = lines.first().map_or("", |line| line.test.kpm().unit.as_str());
    let columns = definitions.iter().map(|definition| head(definition, kpm_name, unit));
    let mut table = Table::new(language, name, columns);
    for line in lines {
        let row = definitions.iter().map(|definition| cell(definition, line, &mut table)).collect();
        table.rows.push(row);
    }
    table.explain_all(
        lines.iter().map(|line| (About { run: line.run, test: line.test }, &line.verdict)),
    );
    table
}

/// `18,100@56.0 us`: a rate with the mean service time at it, as publications print it; `?` for a
/// figure that is not valid. Empty where the time is not known.
pub fn at_service_time(
    language: Language,
    rate: f64,
    service_ms: Option<f64>,
    status: Status,
) -> Cell {
    let Some(ms) = service_ms.filter(|_| status < Status::Invalid) else { return Cell::Empty };
    let (rate, time) = (language.number(rate, RATE), seconds(language, ms / 1e3));
    let mark = if status == Status::Conditional { "?" } else { "" };
    Cell::text(format!("{rate}@{time}{mark}"))
}

/// Reason for an unknown number of jobs of a published test.
pub const UNKNOWN_JOBS: &str = "the source does not print the number of jobs";

/// Reason for an unknown figure of a publication.
pub const NOT_PRINTED: &str = "the source does not print it";

/// A percentile in ms, or why the test has none.
pub fn percentile_ms(test: &Test, value_us: Option<f64>) -> Result<f64, Sentence> {
    value_us.map(|us| us / 1000.0).ok_or_else(|| no_percentile(test).into())
}

/// Reason why a test has no percentile.
pub fn no_percentile(test: &Test) -> &'static str {
    test.either("too few timed ops for this percentile", NOT_PRINTED)
}

/// Reason why a test has no interval.
pub fn no_interval(test: &Test) -> &'static str {
    let open = test.measured().and_then(|result| result.open.as_ref());
    if open.is_some_and(OpenLoop::changes) {
        return "a rate that changes has no mean that its seconds are samples of";
    }
    test.either("too few seconds for a confidence interval", NOT_PRINTED)
}

/// Reason why a test has no mean service time.
pub fn no_mean(test: &Test) -> &'static str {
    test.either("no op was completed in the window", NOT_PRINTED)
}

fn head(definition: &Definition, kpm_name: &str, kpm_unit: &str) -> Column {
    let (name, unit) = match definition.source {
        Source::Kpm => (format!("{kpm_name} {}", definition.name), kpm_unit),
        Source::KpmPerJob => (definition.name.into(), kpm_unit),
        _ => (definition.name.into(), definition.unit),
    };
    Column::new(name.trim(), unit, definition.priority)
}

fn cell(definition: &Definition, line: &Line<'_>, table: &mut Table) -> Cell {
    let verdict = line.verdict.status;
    match definition.source {
        Source::Plain(get) => get(line),
        Source::Jobs => line.test.jobs().map_or_else(|| table.unknown(UNKNOWN_JOBS), Cell::count),
        _ if line.test.is_empty() => table.unknown("the test failed before anything was measured"),
        Source::Figure(get, digits) => table.figure(get(line), digits, verdict),
        Source::Derived(id, digits) => table.figure(line.derived(id), digits, verdict),
        Source::Proportional(id, better) => {
            let value = line.derived(id).map(|value| line.in_proportion(value, better));
            table.figure(value, RATE, verdict)
        }
        Source::Kpm => table.figure(line.kpm(), RATE, verdict),
        Source::KpmPerJob => match line.test.jobs() {
            Some(jobs) => {
                table.figure(line.kpm().map(|value| value / f64::from(jobs)), RATE, verdict)
            }
            None => table.unknown(UNKNOWN_JOBS),
        },
    }
}

/// The KPM, or why it is unknown.
pub fn kpm(test: &Test) -> Result<f64, Sentence> {
    let why = match test.measured() {
        None => "the source does not print the KPM",
        Some(test) if test.window.ops == 0 => "no op was completed in the window",
        Some(test) if test.open.is_some() => "fewer ops were done than were due",
        Some(_) => "the counter of the KPM is not known here",
    };
    test.kpm_value().ok_or_else(|| why.into())
}

/// `12.3 s`, `0.42 ms`, `7.1 us`.
pub(super) fn seconds(language: Language, seconds: f64) -> String {
    let unit = TimeUnit::suiting_us(seconds * 1e6, 1.0);
    let value = seconds * (1e6 / unit.us);
    format!("{} {}", language.number(value, Digits::Significant(3)), unit.name)
}

/// A figure as it is printed; `at least 100` if it is a lower bound.
pub(super) fn at_least(language: Language, figure: String, is_bound: bool) -> String {
    match is_bound {
        true => language.say("at least {figure}", &[("figure", &figure)]),
        false => figure,
    }
}

/// `at most 100`: a figure as it is printed, which is an upper bound.
pub(super) fn at_most(language: Language, figure: &str) -> String {
    language.say("at most {figure}", &[("figure", figure)])
}
