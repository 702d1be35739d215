//! Row and column stores: figures of the same work on the same rows, in one table with their ratio.
//! A section of the KPM report.

use std::collections::BTreeMap;

use super::columns::RATE;
use super::document::{Block, Cell, Declared, Section, Table};
use super::lowered::{self, LoweringReason};
use super::{Input, Language};
use dbdyno_core::analysis::compare::{Ratio, Span};
use dbdyno_core::analysis::heatmap;
use dbdyno_core::analysis::interval::UncertainValue;
use dbdyno_core::analysis::ramp::{self, Figure, RepeatedTest};
use dbdyno_core::model::{Better, KpmValue, Reason, RunRecord, Status, Test, params};

const TITLE: &str = "Row and column stores";
const ABOUT: &str = "The same work on the same rows, stored by rows and by columns. Above 1 the \
                     column store is better; where the 95 % interval of the ratio (low to high) \
                     holds 1 it is not known which is.";

/// A figure of a workload that rows or columns can be stored for.
#[derive(Clone, Copy)]
struct StoreFigure<'a> {
    platform: &'a str,
    run: &'a RunRecord,
    /// The test that stands for its repetitions.
    test: &'a Test,
    /// The compared figure, as other tables of the run show it.
    figure: Option<Figure<'a>>,
}

/// Work of a test, whatever stored its rows: tests of equal work are compared.
#[derive(PartialEq)]
struct Work<'a> {
    workload: &'a str,
    jobs: Option<u32>,
    /// Unit of the compared figure.
    unit: &'a str,
    /// All parameters but the store.
    params: BTreeMap<&'a str, &'a str>,
    data_set_id: Option<&'a str>,
}

impl<'a> StoreFigure<'a> {
    fn store(&self) -> Option<&'a str> {
        self.test.params().get(params::STORE).map(String::as_str)
    }

    fn is_accepted(&self) -> bool {
        self.figure.is_some_and(|figure| figure.status() < Status::Invalid)
    }

    fn work(&self) -> Work<'a> {
        let mut params = BTreeMap::new();
        for (name, value) in self.test.params() {
            if name != params::STORE {
                params.insert(name.as_str(), value.as_str());
            }
        }
        Work {
            workload: self.test.workload(),
            jobs: self.test.jobs(),
            unit: self.figure.map_or("", |figure| figure.unit),
            params,
            data_set_id: self.run.data_set_id.as_deref(),
        }
    }
}

/// The section; none if no work was done on both stores with figures that the verdict accepts.
pub(super) fn section(input: &Input) -> Option<Section> {
    let language = input.language;
    let platforms = input.platforms();
    let tests = stored_tests(input, &platforms);
    let (accepted, refused): (Vec<_>, Vec<_>) =
        tests.into_iter().partition(StoreFigure::is_accepted);
    let of = |store| accepted.iter().filter(move |test| test.store() == Some(store));
    let pairs = of("row").flat_map(|rows| of("column").map(move |columns| (rows, columns)));
    let columns = pair_columns();
    let mut table = Table::declared(language, "stores", &columns);
    let has_data_set = |stored: &StoreFigure<'_>| stored.run.data_set_id.is_some();
    let mut lowered = Vec::new();
    for (by_rows, by_columns) in pairs {
        if has_data_set(by_rows) && by_rows.work() == by_columns.work() {
            let Some(pair) = StorePair::new(by_rows, by_columns) else { continue };
            table.add_row(&columns, &pair);
            lowered.extend(pair.lowering_reasons(language));
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    table.remarks = lowered::remarks(language, &lowered);
    let mut about = language.phrase(ABOUT);
    if !refused.is_empty() {
        let count = refused.len().to_string();
        about = format!(
            "{about} {}",
            language.say("Invalid tests are left out: {count}.", &[("count", &count)])
        );
    }
    Some(Section::new(language, TITLE, vec![Block::Paragraph(about), Block::Table(table)]))
}

fn stored_tests<'a>(input: &'a Input, platforms: &'a [String]) -> Vec<StoreFigure<'a>> {
    let mut stored = Vec::new();
    for (data, platform) in input.runs.iter().zip(platforms) {
        let tests: Vec<&Test> =
            data.tests.iter().filter(|test| test.params().contains_key(params::STORE)).collect();
        for repeated in ramp::repeated(&tests) {
            let (run, test) = (&data.run, repeated.test);
            stored.push(StoreFigure { platform, run, test, figure: figure(&repeated, &tests) });
        }
    }
    stored
}

/// The KPM of repetitions among these tests; the second metric if the KPM counts reads, because a
/// column store reads less for the same rows.
fn figure<'a>(repeated: &RepeatedTest<'a>, tests: &[&'a Test]) -> Option<Figure<'a>> {
    let test = repeated.test;
    match test.kpm().value {
        KpmValue::Counter(_) | KpmValue::CounterBlocks(_) => {
            let is_of = |other: &&&Test| other.jobs() == test.jobs() && ramp::same(other, test);
            let point: Vec<&Test> = tests.iter().filter(is_of).copied().collect();
            ramp::seconds(&point).into_iter().next()
        }
        _ => repeated.figure,
    }
}

/// The same work on a row and on a column store.
struct StorePair<'a> {
    by_rows: &'a StoreFigure<'a>,
    by_columns: &'a StoreFigure<'a>,
    of_rows: Figure<'a>,
    of_columns: Figure<'a>,
    /// Above 1 the column store is better.
    ratio: Ratio,
    /// Reasons why the columns' test is of other work than that of the rows.
    other_work: Vec<Reason>,
}

impl<'a> StorePair<'a> {
    /// A pair of accepted tests; none of others.
    fn new(by_rows: &'a StoreFigure<'a>, by_columns: &'a StoreFigure<'a>) -> Option<StorePair<'a>> {
        let (of_rows, of_columns) = (by_rows.figure?, by_columns.figure?);
        let known = |figure: &Figure<'_>| UncertainValue {
            value: figure.value,
            interval: figure.compared(),
        };
        let (rows, columns) = (known(&of_rows), known(&of_columns));
        let ratio = match of_rows.better {
            Better::Higher => Ratio::new(rows, columns),
            Better::Lower => Ratio::new(columns, rows),
        };
        let other_work = heatmap::other_work(by_columns.test, by_rows.test);
        Some(StorePair { by_rows, by_columns, of_rows, of_columns, ratio, other_work })
    }

    /// The verdict on the ratio: the worse of both figures, lowered by what makes the two other
    /// work.
    fn status(&self) -> Status {
        let of_figures = self.of_rows.status().max(self.of_columns.status());
        self.other_work.iter().map(|reason| reason.status).fold(of_figures, Status::max)
    }

    /// An end of the interval of the ratio, or why there is none.
    fn end_cell(&self, table: &mut Table, end: fn(&Span) -> f64) -> Cell {
        let end = self.ratio.span.as_ref().map(end).map_err(|why| why.text().into());
        table.figure(end, RATE, self.status())
    }

    /// Reasons that lower the verdict on the ratio alone.
    fn lowering_reasons(&self, language: Language) -> Vec<LoweringReason> {
        let test = self.by_columns.test;
        let label = format!("{}, {}", self.by_columns.platform, work_name(test));
        let jobs = language.jobs(test.jobs());
        let subject = language.say("{label} at {jobs}", &[("label", &label), ("jobs", &jobs)]);
        let of =
            |reason: &Reason| LoweringReason { subject: subject.clone(), reason: reason.clone() };
        self.other_work.iter().map(of).collect()
    }
}

fn pair_columns<'a>() -> [Declared<StorePair<'a>>; 11] {
    [
        Declared::new("Workload", "", 0, |pair, _| Cell::text(work_name(pair.by_rows.test))),
        Declared::new("Jobs", "", 0, |pair, _| Cell::count_if_known(pair.by_rows.test.jobs())),
        Declared::new("Row store", "", 2, |pair, _| Cell::text(pair.by_rows.platform)),
        Declared::new("Rows", "", 0, |pair, table| {
            table.figure(Ok(pair.of_rows.value), RATE, pair.of_rows.status())
        }),
        Declared::new("Column store", "", 2, |pair, _| Cell::text(pair.by_columns.platform)),
        Declared::new("Columns", "", 0, |pair, table| {
            table.figure(Ok(pair.of_columns.value), RATE, pair.of_columns.status())
        }),
        Declared::new("Unit", "", 1, |pair, _| Cell::text(pair.of_rows.unit)),
        Declared::new("Ratio", "", 0, |pair, table| {
            table.figure(Ok(pair.ratio.value), RATE, pair.status())
        }),
        Declared::new("low", "", 1, |pair, table| pair.end_cell(table, |span| span.low)),
        Declared::new("high", "", 1, |pair, table| pair.end_cell(table, |span| span.high)),
        Declared::new("Verdict", "", 1, |pair, _| Cell::Verdict(pair.status())),
    ]
}

/// The workload with its parameters but for the store.
fn work_name(test: &Test) -> String {
    let chosen = test.chosen().iter().filter(|(name, _)| *name != params::STORE);
    format!("{} {}", test.workload(), params::assignments(chosen, ",")).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunTests;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::model::{Drive, TestResult};

    fn measured(name: &str, store: &str, value: f64, status: Status, better: Better) -> RunTests {
        let mut test = fixture::result();
        test.params.insert(params::STORE.into(), store.into());
        (test.kpm.better, test.kpm_value, test.verdict.status) = (better, Some(value), status);
        let run = RunRecord { data_set_id: Some("same".into()), ..run(name) };
        RunTests { run, tests: vec![test.into()] }
    }

    fn ratios(runs: Vec<RunTests>) -> Option<Vec<Cell>> {
        let input = Input { runs, ..Input::default() };
        let blocks = section(&input)?.blocks;
        let table = blocks
            .iter()
            .find_map(|block| if let Block::Table(table) = block { Some(table) } else { None })?;
        Some(table.rows.iter().map(|row| row[RATIO].clone()).collect())
    }

    /// Place of the ratio among the columns.
    const RATIO: usize = 7;

    fn number(cell: &Cell) -> f64 {
        match cell {
            Cell::Number { value, .. } => *value,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn above_1_is_better_for_the_column_store_whatever_the_unit() {
        let both = |better| {
            vec![
                measured("one", "row", 2.0, Status::Valid, better),
                measured("two", "column", 8.0, Status::Valid, better),
            ]
        };
        assert_eq!(
            ratios(both(Better::Higher)).unwrap().iter().map(number).collect::<Vec<_>>(),
            [4.0]
        );
        assert_eq!(
            ratios(both(Better::Lower)).unwrap().iter().map(number).collect::<Vec<_>>(),
            [0.25]
        );
    }

    #[test]
    fn a_ratio_within_the_noise_has_an_interval_that_holds_1() {
        let ends = |better: Better, of_columns: f64| {
            let value = |store: &str, value: f64| {
                let mut run = measured(store, store, value, Status::Valid, better);
                let test = run.tests[0].measured().unwrap().clone();
                let known = TestResult { ci_fraction: Some(0.05), ci_freedom: Some(4.0), ..test };
                run.tests = vec![known.into()];
                run
            };
            let runs = vec![value("row", 100.0), value("column", of_columns)];
            let blocks = section(&Input { runs, ..Input::default() }).unwrap().blocks;
            let [Block::Paragraph(_), Block::Table(table)] = &blocks[..] else {
                panic!("{blocks:?}")
            };
            [RATIO, RATIO + 1, RATIO + 2].map(|at| number(&table.rows[0][at]))
        };
        let [ratio, low, high] = ends(Better::Higher, 104.0);
        assert!((ratio - 1.04).abs() < 1e-9 && low < 1.0 && high > 1.04, "{low} to {high}");
        let [ratio, low, high] = ends(Better::Lower, 200.0);
        assert!((ratio - 0.5).abs() < 1e-9 && low > 0.4 && high < 0.6, "{low} to {high}");
    }

    #[test]
    fn repetitions_have_the_figure_and_the_verdict_of_their_run() {
        let repeated = |store: &str, values: [f64; 3]| {
            let one = measured(store, store, 1.0, Status::Valid, Better::Higher);
            let test = |(seq, value)| {
                let result = one.tests[0].measured().unwrap().clone();
                Test::from(TestResult { seq, kpm_value: Some(value), ci_fraction: None, ..result })
            };
            RunTests::new(one.run.clone(), (1..).zip(values).map(test).collect())
        };
        let runs = vec![repeated("row", [100.0, 150.0, 60.0]), repeated("column", [50.0; 3])];
        let tests: Vec<&Test> = runs[0].tests.iter().collect();
        let figure = ramp::repeated(&tests)[0].figure.unwrap();
        assert_eq!(figure.status(), Status::Conditional, "{figure:?}");
        let of_run =
            Cell::Number { value: figure.value, digits: RATE, verdict: Some(figure.status()) };
        let section = section(&Input { runs, ..Input::default() }).unwrap();
        let [Block::Paragraph(_), Block::Table(table)] = &section.blocks[..] else {
            panic!("{:?}", section.blocks)
        };
        assert_eq!(table.rows[0][3], of_run);
    }

    #[test]
    fn bytes_read_are_not_compared_but_the_time_that_the_same_rows_took() {
        let both = ["row", "column"].map(|store| {
            let mut run = measured(store, store, 9.0, Status::Valid, Better::Higher);
            let mut test = fixture::result();
            test.params.insert(params::STORE.into(), store.into());
            test.kpm.value = KpmValue::CounterBlocks("physical_reads".into());
            test.second = Some(fixture::kpm(KpmValue::ServiceTime, "s", Better::Lower));
            test.second_value = Some(if store == "row" { 6.0 } else { 2.0 });
            run.tests = vec![test.into()];
            run
        });
        assert_eq!(ratios(both.into()).unwrap().iter().map(number).collect::<Vec<_>>(), [3.0]);
    }

    #[test]
    fn a_ratio_of_other_work_is_conditional_and_says_why() {
        let by_rows = measured("one", "row", 2.0, Status::Valid, Better::Higher);
        let mut by_columns = measured("two", "column", 8.0, Status::Valid, Better::Higher);
        let test = by_columns.tests[0].measured().unwrap().clone();
        by_columns.tests =
            vec![TestResult { drive: Drive::Database, revision: 2, ..test.clone() }.into()];
        let runs = vec![by_rows.clone(), by_columns.clone()];
        let section = section(&Input { runs, ..Input::default() }).unwrap();
        let [Block::Paragraph(_), Block::Table(table)] = &section.blocks[..] else {
            panic!("{:?}", section.blocks)
        };
        let ratio = Cell::Number { value: 4.0, digits: RATE, verdict: Some(Status::Conditional) };
        assert_eq!(table.rows[0][RATIO], ratio);
        assert_eq!(table.rows[0].last(), Some(&Cell::Verdict(Status::Conditional)));
        let remarks = [
            "two, SRV-QUERY1 at 2 jobs: conditional: another drive: database, compared with client",
            "two, SRV-QUERY1 at 2 jobs: conditional: revision 2 of the workload, compared with 1",
        ];
        assert_eq!(table.remarks, remarks);
        // Of the same work the ratio has the verdict of the figures.
        by_columns.tests = vec![test.into()];
        let same = ratios(vec![by_rows, by_columns]).unwrap();
        let valid = Cell::Number { value: 4.0, digits: RATE, verdict: Some(Status::Valid) };
        assert_eq!(same, [valid]);
    }

    #[test]
    fn what_the_verdict_refuses_or_other_rows_gave_has_no_ratio() {
        let row = || measured("one", "row", 2.0, Status::Valid, Better::Higher);
        let refused = measured("two", "column", 8.0, Status::Invalid, Better::Higher);
        assert!(ratios(vec![row(), refused]).is_none());
        let mut elsewhere = measured("two", "column", 8.0, Status::Valid, Better::Higher);
        elsewhere.run.data_set_id = Some("other".into());
        assert!(ratios(vec![row(), elsewhere]).is_none());
    }
}
