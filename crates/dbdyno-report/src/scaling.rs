//! The scaling report: best and sufficient number of jobs, knee, the Universal Scalability Law with
//! intervals, and how much of the best throughput every step uses, beside CPU busy.

use super::columns::RATE;
use super::document::{
    Axis, Block, Cell, Chart, Declared, Digits, Document, Point, Role, Scale, Section, Series,
    Table,
};
use super::{Input, Language, Report, RunTests, cpu_quota, masthead};
use dbdyno_core::analysis::bottleneck::{Bottleneck, begins_at, limit};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::scaling::{Ramp, Scaling, Step, hidden_saturation, ramps};
use dbdyno_core::model::{Status, Test};
use dbdyno_core::stats::law_ranges::JobsRange;
use dbdyno_core::stats::scaling::Fit;

/// `report scaling`.
pub struct ScalingReport;

/// Points of a fitted curve.
const CURVE_POINTS: u32 = 40;

const HOW_TO_READ: &str = "Best is the best valid throughput of a ramp. Used is the throughput of \
                           a step over the best (effective utilization), efficiency the throughput \
                           over jobs times that of one job. The law X(N) = gamma N / (1 + alpha \
                           (N-1) + beta N (N-1)) is the Universal Scalability Law (Gunther 2007) \
                           fitted to the valid figures of the KPM, with 95 % intervals: alpha is \
                           contention, beta coherency. The knee is where perfect scaling would \
                           reach the law's largest throughput; beyond it jobs mostly wait.";

impl Report for ScalingReport {
    fn name(&self) -> &'static str {
        "scaling"
    }

    fn title(&self) -> &'static str {
        "ramps: best jobs, knee, scalability law with intervals, effective utilization against CPU \
         busy"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        Document {
            head: Some(masthead::head(input, "scaling", &masthead::answer(input))),
            ..Document::new(input.language, "Scaling", each_run(input, true))
        }
    }
}

/// The tables of every run: the laws, and how much every step uses; the page draws the curves
/// separately.
pub fn tables(input: &Input) -> Vec<Section> {
    each_run(input, false)
}

fn each_run(input: &Input, curves: bool) -> Vec<Section> {
    let several = input.runs.len() > 1;
    let names = input.platforms();
    let wanted = if curves { 2 } else { 1 };
    let mut all = Vec::new();
    for (platform, data) in input.runs.iter().enumerate() {
        let titled = if several { format!("{}: ", names[platform]) } else { String::new() };
        all.extend(sections(input.language, data, &titled, platform).into_iter().take(wanted));
    }
    all
}

/// Tables, and the curves if there are any; `titled` stands before the titles.
fn sections(language: Language, data: &RunTests, titled: &str, platform: usize) -> Vec<Section> {
    let found: Vec<(String, Scaling<'_>)> = ramps(&data.tests)
        .into_iter()
        .filter_map(|ramp: Ramp<'_>| ramp.scaling().map(|found| (ramp.label, found)))
        .collect();
    let title = |text: &str| format!("{titled}{}", language.phrase(text));
    let table_name = |text: &str| format!("{titled}{}", language.phrase(text));
    if found.is_empty() {
        let nothing = "No workload was run at several numbers of jobs with a rate as its KPM.";
        return vec![Section {
            title: title("Scaling"),
            blocks: vec![Block::Paragraph(language.phrase(nothing))],
        }];
    }
    let mut blocks = vec![Block::Paragraph(language.phrase(HOW_TO_READ))];
    blocks.extend(cpu_quota::note(language, data).map(Block::Paragraph));
    blocks.extend(hidden_saturation(&data.tests).into_iter().map(|hidden| {
        let busy = language.number(hidden.cpu_busy_pct, Digits::Decimals(0));
        let used = language.number(100.0 * hidden.utilisation, Digits::Decimals(1));
        let jobs = language.jobs(Some(hidden.jobs));
        let values =
            [("label", hidden.label.as_str()), ("busy", &busy), ("jobs", &jobs), ("used", &used)];
        let sentence =
            "{label}: at {busy} % CPU busy ({jobs}) {used} % of the best throughput is used.";
        Block::Paragraph(language.say(sentence, &values))
    }));
    blocks.push(Block::Table(laws(language, &table_name("laws"), &found)));
    blocks.push(Block::Table(steps(language, &table_name("steps"), &found)));
    let charts = found.iter().map(|(label, scaling)| {
        Block::Chart(chart(language, &format!("{titled}{label}"), label, scaling, platform))
    });
    let curves = Section { title: title("Curves"), blocks: charts.collect() };
    vec![Section { title: title("Scaling"), blocks }, curves]
}

/// A ramp with the law that is fitted to it.
struct LawRow<'a> {
    label: &'a str,
    scaling: &'a Scaling<'a>,
}

fn laws(language: Language, name: &str, found: &[(String, Scaling<'_>)]) -> Table {
    let columns = law_columns();
    let mut table = Table::declared(language, name, &columns);
    for (label, scaling) in found {
        table.add_row(&columns, &LawRow { label, scaling });
        table.remarks.extend(
            scaling
                .fit
                .as_ref()
                .and_then(peak_remark)
                .map(|text| format!("{label}: {}", language.phrase(text))),
        );
    }
    table
}

/// Digits of numbers of jobs that a law gives, and of half widths.
const JOBS: Digits = Digits::Decimals(1);
const HALF: Digits = Digits::Significant(2);
const COEFFICIENT: Digits = Digits::Significant(3);

const NO_FIT: &str = "fewer than four numbers of jobs with a valid figure, or the law does not fit";
const NO_PEAK: &str = "the fitted law has none: throughput grows with every job";
const AT_THE_EDGE: &str = "a peak at the first job has no interval";
const OPEN: &str = "the figures leave any number of jobs possible";
const HELD: &str = "held at 0: a negative value would mean that jobs speed each other up";

fn law_columns<'a>() -> [Declared<LawRow<'a>>; 20] {
    [
        Declared::new("Workload", "", 0, |row, _| Cell::text(row.label)),
        Declared::new("Unit", "", 2, |row, _| Cell::text(row.scaling.best.unit)),
        Declared::new("Best", "", 0, |row, _| Cell::Number {
            value: row.scaling.best.value,
            digits: RATE,
            verdict: Some(row.scaling.best.status()),
        }),
        Declared::new("Best jobs", "", 0, |row, _| Cell::count_if_known(row.scaling.best.jobs)),
        Declared::new("95 % from jobs", "", 1, |row, _| {
            let verdict = Some(row.scaling.best.status());
            row.scaling.enough_jobs.map_or(Cell::Empty, |jobs| Cell::Number {
                value: jobs.into(),
                digits: Digits::Decimals(0),
                verdict,
            })
        }),
        Declared::new("Knee", "jobs", 1, |row, table| {
            let of_law = row.fit().and_then(|fit| fit.law.knee_jobs());
            row.jobs(table, row.fit().and_then(Fit::knee_jobs), of_law)
        }),
        Declared::new("Peak", "jobs", 3, |row, table| {
            let of_law = row.fit().and_then(|fit| fit.law.peak_jobs());
            row.jobs(table, row.fit().and_then(Fit::peak_jobs), of_law)
        }),
        Declared::new("Peak +-", "jobs", 6, |row, table| {
            let half = row.peak_range().and_then(|range| Some((range.high? - range.low) / 2.0));
            row.range_end(table, half)
        }),
        Declared::new("Knee from", "jobs", 3, |row, table| {
            row.range_end(table, row.knee_range().map(|range| range.low))
        }),
        Declared::new("Knee to", "jobs", 3, |row, table| {
            row.range_end(table, row.knee_range().and_then(|range| range.high))
        }),
        Declared::new("Peak from", "jobs", 4, |row, table| {
            row.range_end(table, row.peak_range().map(|range| range.low))
        }),
        Declared::new("Peak to", "jobs", 4, |row, table| {
            row.range_end(table, row.peak_range().and_then(|range| range.high))
        }),
        Declared::new("gamma", "", 5, |row, table| {
            row.cell(table, row.fit().map(|fit| fit.law.gamma), RATE, NO_FIT)
        }),
        Declared::new("gamma +-", "", 6, |row, table| row.half_width(table, 0)),
        Declared::new("alpha", "", 2, |row, table| {
            row.cell(table, row.fit().map(|fit| fit.law.alpha), COEFFICIENT, NO_FIT)
        }),
        Declared::new("alpha +-", "", 4, |row, table| row.half_width(table, 1)),
        Declared::new("beta", "", 2, |row, table| {
            row.cell(table, row.fit().map(|fit| fit.law.beta), COEFFICIENT, NO_FIT)
        }),
        Declared::new("beta +-", "", 4, |row, table| row.half_width(table, 2)),
        Declared::new("R2", "", 5, |row, table| {
            let r_squared = row.fit().and_then(|fit| fit.r_squared);
            row.cell(table, r_squared, Digits::Decimals(4), "the throughput does not vary")
        }),
        Declared::new("Verdict", "", 0, |row, _| Cell::Verdict(row.scaling.best.status())),
    ]
}

impl LawRow<'_> {
    fn fit(&self) -> Option<&Fit> {
        self.scaling.fit.as_ref()
    }

    fn never_grows(&self) -> bool {
        self.fit().is_some_and(|fit| fit.law.never_grows())
    }

    fn knee_range(&self) -> Option<JobsRange> {
        self.fit()?.ranges.map(|ranges| ranges.knee)
    }

    fn peak_range(&self) -> Option<JobsRange> {
        self.fit()?.ranges.map(|ranges| ranges.peak)
    }

    /// A number of the law; without one `why`, or that there is no law.
    fn cell(
        &self,
        table: &mut Table,
        value: Option<f64>,
        digits: Digits,
        why: &'static str,
    ) -> Cell {
        match value.filter(|value| value.is_finite()) {
            Some(value) => Cell::Number { value, digits, verdict: None },
            None => table.unknown(if self.fit().is_none() { NO_FIT } else { why }),
        }
    }

    /// A number of jobs that the points determine; `of_law` is the number by the law alone.
    fn jobs(&self, table: &mut Table, jobs: Option<f64>, of_law: Option<f64>) -> Cell {
        let jobs = jobs.or_else(|| self.never_grows().then_some(1.0));
        self.cell(table, jobs, JOBS, if of_law.is_some() { OPEN } else { NO_PEAK })
    }

    /// An end of a range of jobs.
    fn range_end(&self, table: &mut Table, jobs: Option<f64>) -> Cell {
        self.cell(table, jobs, JOBS, if self.never_grows() { AT_THE_EDGE } else { OPEN })
    }

    /// The half width of the interval of a coefficient: gamma, alpha, beta.
    fn half_width(&self, table: &mut Table, coefficient: usize) -> Cell {
        let half_width = self.fit().and_then(|fit| fit.half_widths[coefficient]);
        self.cell(table, half_width, HALF, HELD)
    }
}

fn peak_remark(fit: &Fit) -> Option<&'static str> {
    if fit.law.never_grows() {
        return Some("throughput does not grow beyond the first job");
    }
    fit.peak_is_forecast
        .then_some("the peak is beyond the measured numbers of jobs: a prediction, not a finding")
}

/// A step of a ramp.
struct StepRow<'a> {
    label: &'a str,
    scaling: &'a Scaling<'a>,
    step: &'a Step<'a>,
}

fn steps(language: Language, name: &str, found: &[(String, Scaling<'_>)]) -> Table {
    let columns = step_columns();
    let mut table = Table::declared(language, name, &columns);
    for (label, scaling) in found {
        table.remarks.extend(limit_remark(language, label, scaling));
        for step in &scaling.steps {
            table.add_row(&columns, &StepRow { label, scaling, step });
        }
    }
    table
}

fn step_columns<'a>() -> [Declared<StepRow<'a>>; 9] {
    [
        Declared::new("Workload", "", 0, |row, _| Cell::text(row.label)),
        Declared::new("Jobs", "", 0, |row, _| Cell::count(row.step.jobs)),
        Declared::new("Unit", "", 2, |row, _| Cell::text(row.step.figure.unit)),
        Declared::new("Throughput", "", 0, |row, _| Cell::Number {
            value: row.step.figure.value,
            digits: RATE,
            verdict: Some(row.status()),
        }),
        Declared::new("Used", "%", 0, |row, _| {
            row.percent(100.0 * row.step.utilisation, row.scaling.best.status())
        }),
        Declared::new("CPU busy", "%", 0, |row, table| match row.step.cpu_busy_pct {
            Some(busy_pct) => row.percent(busy_pct, row.status()),
            None => table.unknown("CPU busy is not known here"),
        }),
        Declared::new("Efficiency", "%", 1, |row, table| match row.step.efficiency {
            Some(efficiency) => {
                let single = row.scaling.single.map_or(row.status(), |single| single.status());
                row.percent(100.0 * efficiency, single)
            }
            None => table.unknown("no test with one job did anything"),
        }),
        Declared::new("Limit", "", 1, |row, table| {
            step_limit(table.language, row.step.figure.test)
        }),
        Declared::new("Verdict", "", 0, |row, _| Cell::Verdict(row.status())),
    ]
}

impl StepRow<'_> {
    fn status(&self) -> Status {
        self.step.figure.status()
    }

    /// A percentage of the step's figure and another one, of whose verdicts it has the worse.
    fn percent(&self, value: f64, beside: Status) -> Cell {
        let verdict = Some(self.status().max(beside));
        Cell::Number { value, digits: Digits::Decimals(1), verdict }
    }
}

/// The limit of a step.
fn step_limit(language: Language, test: &Test) -> Cell {
    match test.measured().map(limit) {
        None => Cell::Empty,
        Some(found) => {
            Cell::text(language.phrase(found.map_or("not found", |limit| limit.cause.code())))
        }
    }
}

/// Number of jobs from which the bottleneck of the most jobs applies, of the steps whose figures
/// are valid; nothing without any.
fn limit_remark(language: Language, label: &str, scaling: &Scaling<'_>) -> Option<String> {
    let accepted = scaling.steps.iter().filter(|step| supports(step.figure.status()));
    let limits = |step: &Step<'_>| -> Option<(u32, Vec<Bottleneck>)> {
        Some((step.jobs, limit(step.figure.test.measured()?).into_iter().collect()))
    };
    let steps: Vec<_> = accepted.filter_map(limits).collect();
    let cause = steps.last()?.1.first()?.cause;
    let jobs = language.jobs(begins_at(&steps, cause));
    let begins = language.say("first from {jobs} on", &[("jobs", &jobs)]);
    Some(format!("{label}: {}: {begins}", language.phrase(cause.code())))
}

fn chart(
    language: Language,
    name: &str,
    label: &str,
    scaling: &Scaling<'_>,
    platform: usize,
) -> Chart {
    let axis = |name: &str, unit: Option<&str>, scale| Axis {
        name: language.phrase(name),
        unit: unit.map(String::from),
        scale,
    };
    let points = scaling.steps.iter().map(|step| {
        let (value, status) = (step.figure.value, step.figure.status());
        Point {
            x: f64::from(step.jobs),
            y: value,
            low: step.figure.ends().map(|ends| ends[0]),
            high: step.figure.ends().map(|ends| ends[1]),
            label: supports(status.max(scaling.best.status()))
                .then(|| utilisation_text(language, step.utilisation)),
            written: None,
            verdict: Some(status),
        }
    });
    let measured = Series {
        name: language.phrase("measured"),
        platform,
        variant: 0,
        role: Role::Measured,
        points: points.collect(),
    };
    let fitted = scaling.fit.as_ref().map(|fit| Series {
        name: language.phrase("scalability law"),
        platform,
        variant: 1,
        role: Role::Fitted,
        points: curve(fit, scaling),
    });
    Chart {
        name: format!("scaling {name}"),
        language,
        title: label.into(),
        x: axis("Jobs", None, Scale::Log2),
        y: axis("Throughput", Some(scaling.best.unit), Scale::Linear),
        series: std::iter::once(measured).chain(fitted).collect(),
        caption: String::new(),
        ..Chart::default()
    }
}

fn utilisation_text(language: Language, utilisation: f64) -> String {
    let percent = language.number(100.0 * utilisation, Digits::Decimals(1));
    language.say("{percent} % used", &[("percent", &percent)])
}

/// The law between the fewest and the most jobs, at equal distances of the logarithm.
fn curve(fit: &Fit, scaling: &Scaling<'_>) -> Vec<Point> {
    let ends = scaling.steps.first().zip(scaling.steps.last());
    let Some((from, to)) = ends.map(|(a, b)| (f64::from(a.jobs), f64::from(b.jobs))) else {
        return Vec::new();
    };
    let at = |step: u32| from * (to / from).powf(f64::from(step) / f64::from(CURVE_POINTS));
    let point = |jobs: f64| Point { x: jobs, y: fit.law.throughput(jobs), ..Point::default() };
    (0..=CURVE_POINTS).map(|step| point(at(step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture::{at, counters};
    use dbdyno_core::analysis::published_checks::fixture::judged;
    use dbdyno_core::analysis::scaling::ramps;
    use dbdyno_core::model::TestResult;

    #[test]
    fn the_jobs_that_are_enough_have_the_verdict_on_the_best() {
        let cell = |of_four: Status| {
            let step = |jobs: u32, status: Status| {
                judged(at(jobs, 100.0 * f64::from(jobs)).into(), status)
            };
            let tests = [step(1, Status::Valid), step(2, Status::Valid), step(4, of_four)];
            let found: Vec<(String, Scaling<'_>)> = ramps(&tests)
                .into_iter()
                .filter_map(|ramp| ramp.scaling().map(|found| (ramp.label, found)))
                .collect();
            laws(Language::English, "laws", &found).rows[0][4].clone()
        };
        let digits = Digits::Decimals(0);
        let number = |value, verdict| Cell::Number { value, digits, verdict: Some(verdict) };
        assert_eq!(cell(Status::Valid), number(4.0, Status::Valid));
        assert_eq!(cell(Status::Conditional), number(2.0, Status::Conditional));
    }

    #[test]
    fn a_limit_is_named_from_valid_steps_alone() {
        let step = |jobs: u32, status| {
            // Every processor of two is busy.
            let busy = [("os_cpu_total_s", 20.0), ("os_cpu_idle_s", 0.0), ("server_cpu_s", 19.0)];
            let result = at(jobs, 100.0 * f64::from(jobs));
            let window_counters = counters(&busy);
            judged(Test::from(TestResult { window_counters, ..result }), status)
        };
        let said = |of_two, of_four| {
            let tests = [step(2, of_two), step(4, of_four)];
            let ramps = ramps(&tests);
            limit_remark(Language::English, "it", &ramps[0].scaling().unwrap())
        };
        let begins = |jobs| Some(format!("it: cpu: first from {jobs} jobs on"));
        assert_eq!(said(Status::Valid, Status::Valid), begins(2));
        assert_eq!(said(Status::Conditional, Status::Valid), begins(4));
        assert_eq!(said(Status::Conditional, Status::Conditional), None);
    }
}
