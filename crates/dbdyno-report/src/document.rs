//! Content of a report, independent of its form: sections with paragraphs, facts and tables of
//! typed cells.

use serde::Serialize;
use serde_json::Value;

use super::branding::Brand;
use super::picture::{Head, Page};
use super::texts::Language;
use dbdyno_core::analysis::heatmap::Rank;
use dbdyno_core::model::{Better, Status};

mod table;

use table::footnote;

pub use table::{BoundSide, Cell, Column, Declared, Digits, Table};

/// A report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// Heading of the whole document, in its language.
    pub title: String,
    /// Contents in reading order; pages with a design of their own show [`Document::page`].
    pub sections: Vec<Section>,
    /// Language of its sentences.
    pub language: Language,
    /// Data that programs read instead of the sections, where a report has a JSON structure of its
    /// own.
    pub data: Option<Value>,
    /// Checks for build servers: the checks behind the report, by suite.
    pub checks: Vec<Checks>,
    /// The table of the figures that matter most, which a workbook shows with the answer.
    pub key_figures: Option<Table>,
    /// Branding of pages.
    pub brand: Option<Brand>,
    /// Head of a report without a design of its own: whose figures these are, and the answer.
    pub head: Option<Head>,
    /// Page that a browser shows in place of the sections, where a report has a design for it.
    pub page: Option<Page>,
}

/// A suite of checks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checks {
    /// Name of the suite for the build server.
    pub name: String,
    /// Name and outcome.
    pub cases: Vec<(String, Outcome)>,
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The check holds.
    Passed,
    /// Description of the failure, and the figures.
    Failed(&'static str, String),
    /// Reason why nothing can be said.
    Skipped(String),
}

/// A part of a report under a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// Heading, in the language of the document.
    pub title: String,
    /// Contents in reading order.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Running text.
    Paragraph(String),
    /// Names and values, in order.
    Facts(Vec<(String, String)>),
    /// Rows and columns, with footnotes.
    Table(Table),
    /// Curves over an axis.
    Chart(Chart),
    /// A chart whose points are in a table next to it: texts leave it out.
    Drawing(Chart),
    /// Figures of several platforms, colored by row.
    Heatmap(Heatmap),
    /// Bars whose figures are in tables elsewhere: only pages draw them.
    Bars(Bars),
    /// SQL or a plan, line by line.
    Code(Code),
}

/// A text whose lines are shown as they are: SQL, a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Code {
    /// Caption of one line; may be empty.
    pub caption: String,
    /// Lines of the text, separated by line feeds.
    pub text: String,
}

/// Curves over an axis: a ramp over the numbers of jobs, the seconds of a test, percentiles of
/// service time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// Short name, unique in the document.
    pub name: String,
    /// Language of its words and numbers.
    pub language: Language,
    /// Heading above the drawing, in its language.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves in the order of the legend.
    pub series: Vec<Series>,
    /// Levels drawn behind the curves of a drawing; a table next to it has their figures.
    pub levels: Vec<Level>,
    /// Caption: what to see in it, and how it was made; may be empty.
    pub caption: String,
}

impl Chart {
    /// The most measured points of one of its curves.
    pub fn places(&self) -> usize {
        let measured = self.series.iter().filter(|series| series.role == Role::Measured);
        measured.map(|series| series.points.len()).max().unwrap_or(0)
    }
}

/// A level of curves between two places of x: the plateau of a cache.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Level {
    /// Name of the cache and its figure, in the language of the chart.
    pub name: String,
    /// Height, in the unit of the vertical axis.
    pub y: f64,
    /// Begin, in the unit of the horizontal axis.
    pub from: f64,
    /// End, in the unit of the horizontal axis.
    pub to: f64,
    /// Label of its end: the size of the cache; none of the last.
    pub end: Option<String>,
}

/// An axis of a chart.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Axis {
    /// Name of the quantity, in the language of the chart.
    pub name: String,
    /// Unit of the numbers; none for counts and ratios.
    pub unit: Option<String>,
    /// Division of the axis.
    pub scale: Scale,
}

/// Division of an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal distances for equal differences.
    #[default]
    Linear,
    /// Equal distances for each doubling.
    Log2,
    /// Equal distances for each power of ten.
    Log10,
}

/// One curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Number of the platform, from 0: decides the color.
    pub platform: usize,
    /// Number of the variant of that platform (bare metal, virtual machine), from 0: decides the
    /// style of the line.
    pub variant: usize,
    /// Origin of its points, which decides how they are drawn.
    pub role: Role,
    /// Points in ascending order of x.
    pub points: Vec<Point>,
}

/// Origin of the points of a curve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// Results of tests: marks, joined by a line.
    #[default]
    Measured,
    /// A fitted law: a thin line without marks.
    Fitted,
    /// Gray band between `low` and `high`, in which a calibration expects an equal run.
    Noise,
}

/// One point of a curve, in the units of the axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Point {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Place on the vertical axis.
    pub y: f64,
    /// Ends of the 95 % confidence interval of `y`, if it is known.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Label that is shown on demand, e.g. `0.42 ms`.
    pub label: Option<String>,
    /// Label that a drawing always shows.
    pub written: Option<String>,
    /// The verdict on the figure; none for a fitted one.
    pub verdict: Option<Status>,
}

/// Figures as bars of comparable length, whole or in parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bars {
    /// Short name, unique in the document.
    pub name: String,
    /// Language of its words.
    pub language: Language,
    /// Meanings of the colors of parts; empty where each row has one part.
    pub legend: Vec<String>,
    /// Bars from top to bottom.
    pub rows: Vec<BarRow>,
}

/// A bar with its figure in words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarRow {
    /// Rows of one group follow one another and have one scale.
    pub group: String,
    /// Name of the bar.
    pub label: String,
    /// Parts from the left; none if the figure may not be drawn.
    pub parts: Vec<BarPart>,
    /// The value of the whole width.
    pub full: f64,
    /// Figure with its unit in words, next to the bar.
    pub shown: String,
    /// Verdict on the figure; none if it was not measured.
    pub verdict: Option<Status>,
    /// Others on the machine lowered it.
    pub is_disturbed: bool,
}

/// A part of a bar.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarPart {
    /// Length of the part, on the scale of [`BarRow::full`].
    pub value: f64,
    /// Number in the legend, or of the platform, from 0: decides the color.
    pub color: usize,
    /// Description with its figure.
    pub note: String,
}

/// Figures of several platforms side by side, each row colored from its best value to 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Heatmap {
    /// Short name, unique in the document.
    pub name: String,
    /// Language of its texts and numbers.
    #[serde(skip)]
    pub language: Language,
    /// Title of the rows, e.g. `Workload`.
    #[serde(skip)]
    pub row_title: String,
    /// The platforms.
    #[serde(rename = "platforms")]
    pub columns: Vec<String>,
    /// Metrics of workloads, one in each row.
    pub rows: Vec<HeatRow>,
    /// Reasons for unknown cells; a cell names its footnote by index.
    #[serde(skip)]
    pub footnotes: Vec<String>,
    /// Sentences below the table: the reasons of verdicts.
    #[serde(skip)]
    pub remarks: Vec<String>,
}

/// One row of a heatmap: one metric of one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatRow {
    /// Workload, with its parameters where they distinguish rows.
    pub label: String,
    /// Unit of every figure of the row.
    pub unit: String,
    /// Direction in which figures of the row are better.
    pub better: Better,
    /// Cells, as many as the heatmap has columns.
    pub cells: Vec<HeatCell>,
}

/// One cell of a heatmap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatCell {
    /// The figure as in a table: a number with its verdict, empty, or unknown with a footnote.
    #[serde(rename = "value")]
    pub cell: Cell,
    /// The verdict on the figure beside the others of its row; none without a figure.
    pub verdict: Option<Status>,
    /// Jobs at which it was reached; none if they are not known.
    pub jobs: Option<u32>,
    /// Ends of its 95 % confidence interval, in the unit of the row; none if it was not measured.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Place between 0 (worst) and 1 (the best of the row), anchored at 0; none without a figure
    /// that supports a statement.
    pub share: Option<f64>,
    /// Rank: the best of the row, or not different from it beyond the noise; none without a share.
    pub rank: Option<Rank>,
    /// The same for people to read on demand: `at 16 jobs`, and the reasons of the verdict.
    pub note: Option<String>,
}

impl Document {
    /// A document; its English title is said in the language.
    pub fn new(
        language: Language,
        title: &str,
        sections: impl IntoIterator<Item = Section>,
    ) -> Document {
        Document {
            title: language.phrase(title),
            sections: sections.into_iter().collect(),
            language,
            ..Document::default()
        }
    }
}

impl Section {
    /// A section; its English title is said in the language.
    pub fn new(language: Language, title: &str, blocks: Vec<Block>) -> Section {
        Section { title: language.phrase(title), blocks }
    }
}

impl Chart {
    /// The measured points as a table, for reading: series, x, y, interval, label. A law is
    /// represented by its coefficients.
    pub fn as_table(&self) -> Table {
        self.table_of(|series| series.role == Role::Measured)
    }

    /// All points as a table, from which a spreadsheet draws.
    pub fn as_drawn(&self) -> Table {
        self.table_of(|_| true)
    }

    /// All points as a table for programs, with their verdicts if they have any.
    pub fn as_data(&self) -> Table {
        let mut table = self.as_drawn();
        table.columns.push(Column::new(self.language.phrase("Verdict"), "", 0));
        let points = self.series.iter().flat_map(|series| &series.points);
        table
            .rows
            .iter_mut()
            .zip(points)
            .for_each(|(row, point)| row.push(Cell::verdict(point.verdict)));
        table.drop_empty_columns();
        table
    }

    fn table_of(&self, is_shown: impl Fn(&&Series) -> bool) -> Table {
        let column = |name: &str, axis: &Axis, priority| {
            Column::new(name, axis.unit.as_deref().unwrap_or_default(), priority)
        };
        let shown = self.series.iter().filter(is_shown);
        let rows = shown.flat_map(|series| series.points.iter().map(|point| point.as_row(series)));
        let word = |english: &str| self.language.phrase(english);
        let mut table = Table {
            name: self.name.clone(),
            language: self.language,
            leading: 0,
            columns: vec![
                Column::new(word("Series"), "", 0),
                column(&self.x.name, &self.x, 0),
                column(&self.y.name, &self.y, 0),
                column(&word("low"), &self.y, 4),
                column(&word("high"), &self.y, 4),
                Column::new(word("Label"), "", 3),
            ],
            rows: rows.collect(),
            footnotes: Vec::new(),
            remarks: Some(self.caption.clone())
                .filter(|caption| !caption.is_empty())
                .into_iter()
                .collect(),
        };
        table.drop_empty_columns();
        table
    }
}

impl Point {
    fn as_row(&self, series: &Series) -> Vec<Cell> {
        // Jobs and seconds are whole.
        let digits = |value: f64| {
            if value.fract() == 0.0 { Digits::Decimals(0) } else { Digits::Significant(4) }
        };
        let number = |value: f64| Cell::Number { value, digits: digits(value), verdict: None };
        let end = |value: Option<f64>| value.map_or(Cell::Empty, number);
        vec![
            Cell::text(&series.name),
            number(self.x),
            Cell::Number { value: self.y, digits: Digits::Significant(4), verdict: self.verdict },
            end(self.low),
            end(self.high),
            self.label.as_ref().map_or(Cell::Empty, Cell::text),
        ]
    }
}

impl Heatmap {
    /// Unknown cell, as by [`Table::unknown`].
    pub fn unknown(&mut self, why: &str) -> Cell {
        footnote(&mut self.footnotes, self.language.phrase(why))
    }

    /// The figures as a table, for reading without colors.
    pub fn as_table(&self) -> Table {
        let column = |name: &str| Column::new(name, "", 0);
        let unit = self.language.phrase("Unit");
        let head = [self.row_title.as_str(), &unit]
            .into_iter()
            .chain(self.columns.iter().map(String::as_str));
        let row = |row: &HeatRow| {
            let texts = [Cell::text(&row.label), Cell::text(&row.unit)];
            texts.into_iter().chain(row.cells.iter().map(|cell| cell.cell.clone())).collect()
        };
        Table {
            name: self.name.clone(),
            language: self.language,
            leading: 0,
            columns: head.map(column).collect(),
            rows: self.rows.iter().map(row).collect(),
            footnotes: self.footnotes.clone(),
            remarks: self.remarks.clone(),
        }
    }

    /// The figures as a table for programs: behind the platforms what is known of each figure,
    /// field by field.
    pub fn as_data(&self) -> Table {
        let mut table = self.as_table();
        for (name, field) in HeatCell::FIELDS {
            table.columns.extend(
                self.columns
                    .iter()
                    .map(|platform| Column::new(format!("{platform} {name}"), "", 0)),
            );
            for (row, figures) in table.rows.iter_mut().zip(&self.rows) {
                row.extend(figures.cells.iter().map(field));
            }
        }
        table
    }
}

/// A name, and how a cell of a heatmap shows it.
type Field = (&'static str, fn(&HeatCell) -> Cell);

impl HeatCell {
    /// Fields for programs in addition to a figure's value.
    const FIELDS: [Field; 4] = [
        ("verdict", |cell| Cell::verdict(cell.verdict)),
        ("jobs", |cell| Cell::count_if_known(cell.jobs)),
        ("low", |cell| cell.low.map_or(Cell::Empty, Cell::plain)),
        ("high", |cell| cell.high.map_or(Cell::Empty, Cell::plain)),
    ];

    /// A cell with nothing but its content.
    pub fn bare(cell: Cell) -> HeatCell {
        let verdict = match cell {
            Cell::Number { verdict, .. } => verdict,
            _ => None,
        };
        HeatCell {
            cell,
            verdict,
            jobs: None,
            low: None,
            high: None,
            share: None,
            rank: None,
            note: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measured point, which is invalid, and two of a law.
    fn chart() -> Chart {
        let point = |x, verdict| Point { x, y: 10.0, verdict, ..Point::default() };
        let measured = Series {
            name: "measured".into(),
            points: vec![point(1.0, Some(Status::Invalid))],
            ..Series::default()
        };
        let points = vec![point(1.0, None), point(2.0, None)];
        let law = Series { name: "law".into(), role: Role::Fitted, points, ..Series::default() };
        Chart { series: vec![measured, law], ..Chart::default() }
    }

    #[test]
    fn a_chart_is_read_without_and_drawn_with_the_points_of_laws() {
        let (read, drawn) = (chart().as_table(), chart().as_drawn());
        assert_eq!((read.rows.len(), drawn.rows.len()), (1, 3));
        assert_eq!(read.columns, drawn.columns);
    }

    #[test]
    fn data_for_programs_have_the_verdict_of_each_figure() {
        let verdicts = |table: Table| {
            table.rows.into_iter().map(|mut row| row.pop().unwrap()).collect::<Vec<_>>()
        };
        let points = chart().as_data();
        assert_eq!(points.columns.last().unwrap().name, "Verdict");
        assert_eq!(verdicts(points), [Cell::Verdict(Status::Invalid), Cell::Empty, Cell::Empty]);
        let cell = |verdict, jobs| HeatCell {
            jobs,
            low: Some(0.5),
            ..HeatCell::bare(Cell::Number { value: 1.0, digits: Digits::Decimals(0), verdict })
        };
        let cells = vec![cell(Some(Status::Valid), Some(8)), cell(Some(Status::Invalid), None)];
        let row = HeatRow { label: "T133".into(), unit: "s".into(), better: Better::Lower, cells };
        let map = Heatmap {
            columns: vec!["a".into(), "b".into()],
            rows: vec![row],
            ..Heatmap::default()
        };
        let data = map.as_data();
        let names: Vec<&str> = data.columns.iter().map(|column| column.name.as_str()).collect();
        let fields = [
            "a",
            "b",
            "a verdict",
            "b verdict",
            "a jobs",
            "b jobs",
            "a low",
            "b low",
            "a high",
            "b high",
        ];
        assert_eq!(names[2..], fields);
        assert_eq!(
            data.rows[0][4..6],
            [Cell::Verdict(Status::Valid), Cell::Verdict(Status::Invalid)]
        );
        assert_eq!(data.rows[0][6..9], [Cell::count(8), Cell::Empty, Cell::plain(0.5)]);
        assert_eq!(serde_json::to_value(&data.rows[0]).unwrap()[4], "valid");
    }
}
