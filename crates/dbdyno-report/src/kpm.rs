//! The KPM report: every test with the columns of its kind, a table per group and unit.

use super::columns::{Line, RATE, no_mean, percentile_ms, table};
use super::document::{Block, Cell, Declared, Document, Section, Table};
use super::kpm_columns::{
    self, CONNECTIONS, DURABILITY, GENERAL, LASTING, QUERIES, READS, TIMES, TRANSACTIONS,
    durability,
};
use super::{
    Input, Language, Report, RunTests, cpu_quota, masthead, row_vs_column, spread, sustained,
};
use dbdyno_core::analysis::derive;
use dbdyno_core::analysis::ramp::{self, RepeatedTest};
use dbdyno_core::catalog::Form;
use dbdyno_core::model::{PartResult, Sentence, params};

/// `report kpm`.
pub struct KpmReport;

/// The columns of a form.
fn columns(form: Form) -> kpm_columns::Columns {
    match form {
        Form::Transactions => TRANSACTIONS,
        Form::Queries => QUERIES,
        Form::Reads => READS,
        Form::Connections => CONNECTIONS,
        Form::General => GENERAL,
    }
}

/// The name of the KPM of a form in a unit; all others are just `KPM`.
fn kpm_name(form: Form, unit: &str) -> &'static str {
    match (form, unit) {
        (Form::Transactions, "tps") => "Transactions",
        (Form::Connections, "conn/s") => "Connections",
        (Form::Connections | Form::Queries, "qps") => "Queries",
        (Form::Queries, "MB/s") => "Scan rate",
        (Form::Queries, "dbps") => "Logical reads",
        (Form::Queries, "rows/s") => "Rows",
        _ => "KPM",
    }
}

impl Report for KpmReport {
    fn name(&self) -> &'static str {
        "kpm"
    }

    fn title(&self) -> &'static str {
        "every test with its key performance metric, service times, CPU, I/O and verdict"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let mut sections = tables(input);
        if let Some(first) = sections.first_mut() {
            let notes = cpu_quota::notes(input).into_iter().map(Block::Paragraph);
            first.blocks.splice(0..0, notes);
        }
        Document {
            head: Some(masthead::head(input, "KPM report", &masthead::answer(input))),
            ..Document::new(input.language, "KPM report", sections)
        }
    }
}

/// A section per group, and the spread of repetitions.
pub(super) fn tables(input: &Input) -> Vec<Section> {
    let groups = input.used_groups().into_iter().map(|(id, title)| section(input, id, title));
    let spreads = input.runs.iter().filter_map(|data| spread_section(input, data));
    groups.chain(row_vs_column::section(input)).chain(spreads).collect()
}

/// The parts of the spread of a run's repetitions; none without any.
fn spread_section(input: &Input, data: &RunTests) -> Option<Section> {
    let (language, run) = (input.language, data.run.id.to_string());
    let title = match input.runs.len() {
        1 => language.phrase("Spread of repetitions"),
        _ => language.say("Spread of repetitions, run {run}", &[("run", &run)]),
    };
    Some(Section { title, blocks: spread::blocks(language, data)? })
}

fn section(input: &Input, group: &str, title: &str) -> Section {
    let mut units: Vec<&str> = Vec::new();
    for (_, test) in input.tests().filter(|(_, test)| test.group() == group) {
        if !units.contains(&test.kpm().unit.as_str()) {
            units.push(&test.kpm().unit);
        }
    }
    let blocks = units.into_iter().flat_map(|unit| blocks(input, group, unit)).collect();
    Section { title: input.language.group_heading(group, title), blocks }
}

/// The tests of a unit, and the parts of those that are mixed.
fn blocks(input: &Input, group: &str, unit: &str) -> Vec<Block> {
    let language = input.language;
    let lines: Vec<Line<'_>> =
        input.runs.iter().flat_map(|data| lines(language, data, group, unit)).collect();
    let (form, name) = (input.form(group, unit), format!("{group} [{unit}]"));
    let mut columns = columns(form).concat();
    if lines.iter().any(|line| durability(line).is_some()) {
        columns.insert(columns.len() - 2, DURABILITY);
    }
    if lines.iter().any(|line| sustained::rate_of(line.test).is_some()) {
        let before_end = columns.len() - 2;
        columns.splice(before_end..before_end, LASTING);
    }
    if lines.iter().any(|line| line.times > 1) {
        // Before interval and verdict.
        columns.insert(columns.len() - 2, TIMES);
    }
    let mut tests = table(language, &name, &columns, kpm_name(form, unit), &lines);
    tests.remarks.extend(sustained::bounds_remark(language, &lines));
    let parts = parts_table(language, &language.say("{tests} parts", &[("tests", &name)]), &lines);
    std::iter::once(tests).chain(parts).map(Block::Table).collect()
}

/// One line per test of a run and its repetitions.
fn lines<'a>(language: Language, data: &'a RunTests, group: &str, unit: &str) -> Vec<Line<'a>> {
    let tests = data.tests.iter().filter(|test| test.group() == group && test.kpm().unit == unit);
    let line = |repeated: RepeatedTest<'a>| Line {
        run: &data.run,
        known: repeated.interval(),
        verdict: repeated.verdict(),
        test: repeated.test,
        times: repeated.times,
        figure: repeated.figure,
        derived: derive(repeated.test),
        language,
    };
    ramp::repeated(&tests.collect::<Vec<_>>()).into_iter().map(line).collect()
}

/// The parts of those tests that have several; none if none has.
pub(super) fn parts_table(language: Language, name: &str, lines: &[Line<'_>]) -> Option<Table> {
    let mixed: Vec<_> = lines.iter().filter(|line| line.test.parts().len() > 1).collect();
    if mixed.is_empty() {
        return None;
    }
    let columns = part_columns();
    let mut table = Table::declared(language, name, &columns);
    for line in mixed {
        for part in line.test.parts() {
            table.add_row(&columns, &PartRow { line, part });
        }
    }
    Some(table)
}

/// A part of a mixed workload.
struct PartRow<'a> {
    line: &'a Line<'a>,
    part: &'a PartResult,
}

impl PartRow<'_> {
    fn cell(&self, table: &mut Table, figure: Result<f64, Sentence>) -> Cell {
        table.figure(figure, RATE, self.line.test.status())
    }

    fn percentile(&self, table: &mut Table, us: Option<f64>) -> Cell {
        self.cell(table, percentile_ms(self.line.test, us))
    }
}

fn part_columns<'a>() -> [Declared<PartRow<'a>>; 14] {
    [
        Declared::new("Run", "", 3, |row, _| Cell::text(row.line.run.id.to_string())),
        Declared::new("Test", "", 0, |row, _| Cell::count(row.line.test.seq())),
        Declared::new("Mixed workload", "", 2, |row, _| Cell::text(row.line.test.workload())),
        Declared::new("Part", "", 0, |row, _| Cell::text(&row.part.workload)),
        Declared::new("Parameters", "", 1, |row, _| {
            Cell::text(params::assignments(&row.part.chosen, ","))
        }),
        Declared::new("Jobs", "", 1, |row, _| Cell::count(row.part.jobs)),
        Declared::new("Ops", "ops/s", 0, |row, table| row.cell(table, Ok(row.part.ops_per_s))),
        Declared::new("Rows", "rows/s", 5, |row, table| row.cell(table, rows_per_s(row.part))),
        Declared::new("Service time mean", "ms", 0, |row, table| {
            let mean_ms = row.part.latency.mean_us.map(|us| us / 1000.0);
            row.cell(table, mean_ms.ok_or_else(|| no_mean(row.line.test).into()))
        }),
        Declared::new("p50", "ms", 4, |row, table| row.percentile(table, row.part.latency.p50_us)),
        Declared::new("p95", "ms", 6, |row, table| row.percentile(table, row.part.latency.p95_us)),
        Declared::new("p99", "ms", 3, |row, table| row.percentile(table, row.part.latency.p99_us)),
        Declared::new("max", "ms", 7, |row, table| row.percentile(table, row.part.latency.max_us)),
        Declared::new("Verdict", "", 0, |row, _| Cell::Verdict(row.line.test.status())),
    ]
}

/// Rows per op of the window at the rate of the ops.
fn rows_per_s(part: &PartResult) -> Result<f64, Sentence> {
    match part.tally.ops {
        0 => Err("no op was completed in the window".into()),
        ops => Ok(part.tally.rows as f64 / ops as f64 * part.ops_per_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::catalog::Group;
    use dbdyno_core::model::{Better, KpmValue, Status, SustainedRate, SustainedState, TestResult};

    /// Names of the columns of a test in this unit, of an own group of this form.
    fn columns(form: Option<Form>, unit: &str) -> Vec<String> {
        let kpm = fixture::kpm(KpmValue::Ops, unit, Better::Higher);
        let tests = vec![TestResult { group: "MINE".into(), kpm, ..fixture::result() }.into()];
        let groups = vec![Group { form, ..Group::new("MINE", "mine") }];
        let input =
            Input { runs: vec![RunTests { run: run("a"), tests }], groups, ..Input::default() };
        match &KpmReport.build(&input).sections[0].blocks[0] {
            Block::Table(table) => table.columns.iter().map(|column| column.name.clone()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn shares_of_a_database_with_a_cpu_quota_are_told_to_be_those_of_its_host() {
        let tests = vec![fixture::result().into()];
        let mut input = Input { runs: vec![RunTests { run: run("a"), tests }], ..Input::default() };
        let title = |input: &Input| KpmReport.build(input).head.unwrap().title;
        let without = title(&input);
        assert!(!without.contains("quota"), "{without}");
        input.runs[0].run.disclosure.set("database", "quota_cpus", "1.5");
        let document = KpmReport.build(&input);
        let said = "A CPU quota lets the database use 1.5 of the host's CPUs. CPU shares refer to \
                    all CPUs of the host.";
        assert_eq!(document.sections[0].blocks[0], Block::Paragraph(said.into()));
        assert_eq!(title(&input), format!("{without} (CPU quota: 1.5)"));
    }

    #[test]
    fn a_sustained_rate_that_is_a_lower_bound_is_told_as_one() {
        let sustained = |state, value: KpmValue| {
            let lasting = SustainedRate { state, pay_back_s: Some(3.0), kpm_value: Some(8000.0) };
            let kpm = fixture::kpm(value, "tps", Better::Higher);
            let result = TestResult { lasting: Some(lasting), kpm, ..fixture::result() };
            let runs = vec![RunTests { run: run("a"), tests: vec![result.into()] }];
            let document = KpmReport.build(&Input { runs, ..Input::default() });
            let Block::Table(table) = &document.sections[0].blocks[0] else { panic!("no table") };
            let at = table.columns.iter().position(|column| column.name == "Sustained").unwrap();
            (table.rows[0][at].clone(), table.remarks.clone())
        };
        let (value, digits, verdict) = (8000.0, RATE, Some(Status::Valid));
        let (cell, remarks) = sustained(SustainedState::Accounted, KpmValue::Ops);
        assert_eq!(cell, Cell::Number { value, digits, verdict }.at_least());
        assert_eq!(
            remarks.last().unwrap(),
            "run 1 test 1: the sustained rate is a lower bound, as if nothing else were done \
             during the catch-up"
        );
        let exact = Cell::Number { value, digits, verdict };
        assert_eq!(sustained(SustainedState::Sustained, KpmValue::Ops), (exact.clone(), vec![]));
        let blocks = KpmValue::Counter("blocks_written".into());
        assert_eq!(sustained(SustainedState::Accounted, blocks), (exact, vec![]));
    }

    #[test]
    fn an_own_group_has_the_columns_of_its_form_or_of_its_unit() {
        let has = |form, unit, name: &str| columns(form, unit).contains(&name.to_string());
        for (form, unit) in [(None, "tps"), (Some(Form::Transactions), "rows/s")] {
            assert!(has(form, unit, "Upd [%]") && has(form, unit, "REDO data"), "{form:?} {unit}");
        }
        assert!(has(None, "tps", "Transactions total") && has(None, "qps", "Logical reads per op"));
        assert!(has(Some(Form::Reads), "tps", "From device") && !has(None, "iops", "From device"));
    }
}
