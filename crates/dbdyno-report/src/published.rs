//! Every printed figure of published runs, one line each: what the reports are made from, with the
//! notes of the source.

use super::document::{Block, Cell, Declared, Digits, Document, Section, Table};
use super::{Input, Report, RunTests, masthead};
use dbdyno_core::analysis::published;
use dbdyno_core::model::{PublishedFigure, PublishedTest, RunKind, Status, Test, params};

/// `report published`.
pub struct PointsReport;

impl Report for PointsReport {
    fn name(&self) -> &'static str {
        "published"
    }
    fn former_name(&self) -> Option<&'static str> {
        Some("points")
    }

    fn title(&self) -> &'static str {
        "every figure of published runs as it was printed, with its note and verdict"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let sections = input.runs.iter().map(|data| section(input, data));
        Document {
            head: Some(masthead::head(input, "published figures", "")),
            ..Document::new(input.language, "Published figures", sections)
        }
    }
}

fn section(input: &Input, data: &RunTests) -> Section {
    let language = input.language;
    let unnamed = || language.say("run_unnamed", &[("id", &data.run.id.to_string())]);
    let name = data.run.name.clone().unwrap_or_else(unnamed);
    let published = data.tests.iter().filter_map(Test::published);
    let columns = figure_columns();
    let mut table = Table::declared(language, format!("points {name}"), &columns);
    for test in published {
        for figure in &test.published.figures {
            table.add_row(&columns, &FigureRow { data, test, figure });
        }
    }
    let empty = match data.run.kind {
        RunKind::Published => "This publication has no figure.",
        _ => "This run was measured, not published: see the other reports.",
    };
    let blocks = match table.rows.is_empty() {
        true => vec![Block::Paragraph(language.phrase(empty))],
        false => vec![Block::Table(table)],
    };
    Section { title: name, blocks }
}

/// A printed figure of a test.
struct FigureRow<'a> {
    data: &'a RunTests,
    test: &'a PublishedTest,
    figure: &'a PublishedFigure,
}

impl FigureRow<'_> {
    fn is_kpm(&self) -> bool {
        self.test.published.kpm.as_ref() == Some(&self.figure.metric)
    }

    fn status(&self) -> Status {
        verdict(self.test, self.figure, self.is_kpm())
    }

    fn platform(&self) -> &str {
        let provenance = self.data.run.provenance.as_ref();
        provenance.map_or("", |provenance| provenance.platform.as_str())
    }
}

fn figure_columns<'a>() -> [Declared<FigureRow<'a>>; 16] {
    [
        Declared::new("Platform", "", 5, |row, _| Cell::text(row.platform())),
        Declared::new("GB", "", 7, |row, _| {
            row.data.run.size_gb.map_or(Cell::Empty, |value| Cell::Number {
                value,
                digits: as_printed(value),
                verdict: None,
            })
        }),
        Declared::new("Test", "", 6, |row, _| Cell::count(row.test.seq)),
        Declared::new("Code", "", 0, |row, _| Cell::text(&row.test.published.code)),
        Declared::new("Workload", "", 4, |row, _| Cell::text(&row.test.workload)),
        Declared::new("Parameters", "", 8, |row, _| {
            Cell::text(params::assignments(&row.test.params, ","))
        }),
        Declared::new("Kind", "", 1, |row, table| {
            Cell::text(table.language.phrase(row.test.published.kind.name()))
        }),
        Declared::new("Nodes", "", 9, |row, _| Cell::count_if_known(row.test.published.nodes)),
        Declared::new("Jobs", "", 0, |row, _| Cell::count_if_known(row.test.published.jobs)),
        Declared::new("Threads", "", 9, |row, _| Cell::count_if_known(row.test.published.threads)),
        Declared::new("Metric", "", 0, |row, _| Cell::text(&row.figure.metric)),
        Declared::new("Value", "", 0, |row, _| Cell::Number {
            value: row.figure.value,
            digits: as_printed(row.figure.value),
            verdict: Some(row.status()),
        }),
        Declared::new("Unit", "", 0, |row, _| Cell::text(&row.figure.unit)),
        Declared::new("KPM", "", 6, |row, table| {
            let yes = || table.language.phrase("yes");
            Cell::text(if row.is_kpm() { yes() } else { String::new() })
        }),
        Declared::new("Note", "", 3, |row, _| Cell::text(&row.figure.note)),
        Declared::new("Verdict", "", 0, |row, _| Cell::Verdict(row.status())),
    ]
}

/// All digits of the source, and no more: the shortest number that reads as this one.
fn as_printed(value: f64) -> Digits {
    let decimals = value.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Digits::Decimals(u8::try_from(decimals).unwrap_or(u8::MAX))
}

/// The KPM has the test's verdict, any other figure what its own note says.
fn verdict(test: &PublishedTest, figure: &PublishedFigure, is_kpm: bool) -> Status {
    let own =
        published::doubts(figure).iter().map(|doubt| doubt.status).max().unwrap_or(Status::Valid);
    if is_kpm { test.verdict.status } else { own }
}
