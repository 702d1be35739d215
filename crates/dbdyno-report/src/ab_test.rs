//! Report of an A/B test: every figure of B against A, decided or not, with its interval.

use serde::Serialize;

use super::columns::RATE;
use super::document::{
    Block, Cell, Checks, Declared, Digits, Document, Outcome as Check, Section, Table,
};
use super::format::json;
use super::{Input, Language, Report, Subject, compare};
use dbdyno_core::analysis::ReasonCount;
use dbdyno_core::analysis::ab_test::{
    MARGIN, Method, Outcome, Row, Rows, Rule, Unpaired, rows, unpaired,
};
use dbdyno_core::analysis::compare::{Difference, Side, differences};
use dbdyno_core::model::{Sentence, Status};

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

/// Reading instructions.
const HOW_TO_READ: &str = "Ratios are B / A, the median over the blocks; each block measured both \
                           in random order. A and B are the figures of the two runs, as other \
                           reports show them. All intervals together hold the true ratios with \
                           95 %, however often one has looked at them. equal = the whole interval \
                           lies within the margin; a difference within it is none.";

/// Note on a duet.
const DUET: &str = "Duet: both sides at the same time, each on half of the CPUs, then swapped; a \
                    block's ratio is the geometric mean of both. The columns A and B are of half a \
                    machine while the other half ran the other side.";

/// A figure of which nothing can be said, because no trial, or none of one side, can be used.
const UNUSABLE: &str = "invalid";

/// The label of a run that says which settings the user gave.
pub const SETTINGS: &str = "set";

/// Label of a run that names its A/B test: the time at which that started.
pub const AB_TEST: &str = "campaign";
/// Label of a run of an A/B test with its side: `A` or `B`.
pub const SIDE: &str = "side";

/// Report of `ab-test` on its two runs, A and B.
pub struct TrialsReport;

impl Report for TrialsReport {
    fn name(&self) -> &'static str {
        "ab-test"
    }
    fn former_name(&self) -> Option<&'static str> {
        Some("campaign")
    }

    fn title(&self) -> &'static str {
        "two sides, measured in blocks of both"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn subject(&self) -> Subject {
        Subject::AbTest
    }

    fn build(&self, input: &Input) -> Document {
        let names = input.platforms();
        let sides = input.runs.iter().zip(&names);
        let sides = sides.map(|(data, name)| Side {
            name,
            run: &data.run,
            tests: &data.tests,
            price: None,
        });
        let sides: Vec<Side<'_>> = sides.collect();
        let [base, other] = sides.as_slice() else { return Document::default() };
        let margin = base.run.plan.margin().unwrap_or(MARGIN);
        let method = Method::of_plan(&base.run.plan);
        let Rows { rule, rows } = rows(base.tests, other.tests, margin, method);
        let found = AbTestResults {
            base: *base,
            other: *other,
            rule,
            method,
            rows,
            unpaired: unpaired(base.tests, other.tests),
            differences: differences(base, other, input.catalog.effects()),
        };
        found.document(input)
    }
}

/// The rows of the two runs of an A/B test.
pub fn rows_of(input: &Input) -> Vec<Row> {
    let [base, other] = input.runs.as_slice() else { return Vec::new() };
    let plan = &base.run.plan;
    let margin = plan.margin().unwrap_or(MARGIN);
    rows(&base.tests, &other.tests, margin, Method::of_plan(plan)).rows
}

/// The figures that only one of the two runs of an A/B test has.
pub fn unpaired_of(input: &Input) -> Vec<Unpaired> {
    let [base, other] = input.runs.as_slice() else { return Vec::new() };
    unpaired(&base.tests, &other.tests)
}

/// Subject of a side: its target and the settings that it set.
fn side_subject(side: &Side<'_>) -> String {
    let set = side.run.labels.get(SETTINGS).map(|set| format!(", {set}")).unwrap_or_default();
    format!("{}{set}", side.run.target)
}

/// The name of a side and, in brackets, what it measured.
fn side_description(side: &Side<'_>) -> String {
    format!("{} ({})", side.name, side_subject(side))
}

/// All that is said.
struct AbTestResults<'a> {
    base: Side<'a>,
    other: Side<'a>,
    rule: Rule,
    method: Method,
    rows: Vec<Row>,
    unpaired: Vec<Unpaired>,
    differences: Vec<Difference>,
}

impl AbTestResults<'_> {
    fn document(&self, input: &Input) -> Document {
        let language = input.language;
        let [base, other] = [side_description(&self.base), side_description(&self.other)];
        let sides = [("base", base.as_str()), ("other", other.as_str())];
        let duet = match self.method {
            Method::Duet => format!("{} ", language.phrase(DUET)),
            Method::InTurns => String::new(),
        };
        let how = format!("{} {duet}{}", language.phrase(HOW_TO_READ), self.counts(language));
        let figures = vec![Block::Paragraph(how), Block::Table(self.table(language))];
        let sections = [
            Section::new(language, "Figures", figures),
            Section::new(
                language,
                "What differs",
                compare::differences(&self.differences, language, "differences"),
            ),
            Section::new(language, "How it was measured", vec![Block::Facts(self.facts(language))]),
        ];
        Document {
            title: language.say("A/B test: A = {base}, B = {other}", &sides),
            sections: sections.into(),
            language,
            data: Some(json::value(&Data::new(self))),
            checks: vec![self.checks(input.fail_below)],
            ..Document::default()
        }
    }

    /// `Figures of B: 1 better, 0 worse, 1 equal within 3 %, 1 undecided.`, and how many of the
    /// decided ones are conditional.
    fn counts(&self, language: Language) -> String {
        let said = |outcome: Outcome| {
            let judged = self.rows.iter().filter(|row| row.verdict != Status::Invalid);
            let count = judged.filter(|row| row.outcome == outcome).count();
            format!("{count} {}", self.outcome_text(language, outcome))
        };
        let unusable = self.rows.iter().filter(|row| row.verdict == Status::Invalid).count();
        let unusable = (unusable > 0).then(|| format!("{unusable} {}", language.phrase(UNUSABLE)));
        let all = [Outcome::Better, Outcome::Worse, Outcome::Equal, Outcome::Undecided]
            .into_iter()
            .map(said)
            .chain(unusable)
            .collect::<Vec<_>>()
            .join(", ");
        let counts = language.say("Figures of B: {counts}.", &[("counts", &all)]);
        [Some(counts), doubtful(language, &self.rows)]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn outcome_text(&self, language: Language, outcome: Outcome) -> String {
        match outcome {
            Outcome::Equal => language.sentence(
                &Sentence::new("equal within {margin%}").with("margin", self.rule.margin),
            ),
            other => language.phrase(other.name()),
        }
    }

    /// The outcome of a row, with what an open one needs.
    fn outcome(&self, language: Language, row: &Row) -> String {
        let minutes =
            |min: f64| Sentence::new("undecided: about {min} more min").with("min", min.ceil());
        match (row.outcome, row.more_min) {
            _ if row.verdict == Status::Invalid => language.phrase(UNUSABLE),
            (Outcome::Undecided, Some(min)) => language.sentence(&minutes(min)),
            (outcome, _) => self.outcome_text(language, outcome),
        }
    }

    fn table(&self, language: Language) -> Table {
        let columns = figure_columns();
        let mut table = Table::declared(language, "figures", &columns);
        for row in &self.rows {
            table.add_row(&columns, &FigureRow { found: self, row });
            table.remarks.extend(remarks(language, row));
        }
        let missing = self.unpaired.iter().map(|unpaired| missing(language, unpaired));
        table.remarks.extend(missing);
        table
    }

    fn facts(&self, language: Language) -> Vec<(String, String)> {
        let run = |side: &Side<'_>| format!("{}: {}", side.run.id, side_subject(side));
        let level =
            Sentence::new("{level%} each, 95 % together").with("level", 1.0 - self.rule.alpha());
        let seed = self.base.run.seed.map_or_else(String::new, |seed| seed.to_string());
        let margin = Sentence::new("{margin%}").with("margin", self.rule.margin);
        let facts = [
            ("Run of A", run(&self.base)),
            ("Run of B", run(&self.other)),
            ("Seed of the order", seed),
            ("Margin", language.sentence(&margin)),
            ("Level of the intervals", language.sentence(&level)),
            ("Fewest blocks that decide", self.rule.fewest_blocks().to_string()),
        ];
        facts.map(|(name, value)| (language.phrase(name), value)).into()
    }

    /// A case per figure; `below` is the loss from which a figure fails.
    fn checks(&self, below: f64) -> Checks {
        let case = |row: &Row| (row.label(), check(row, below));
        let missing = |unpaired: &Unpaired| (unpaired.label.clone(), lost_outcome(unpaired));
        Checks {
            name: format!("{} against {}", self.other.name, self.base.name),
            cases: self.rows.iter().map(case).chain(self.unpaired.iter().map(missing)).collect(),
        }
    }
}

/// Sentence on decided figures that are conditional; none without such figures.
fn doubtful(language: Language, rows: &[Row]) -> Option<String> {
    let is_doubtful =
        |row: &&Row| row.verdict == Status::Conditional && row.outcome != Outcome::Undecided;
    let count = rows.iter().filter(is_doubtful).count();
    (count > 0).then(|| language.count("doubtful_decided", count, &[]))
}

/// A figure of both sides.
struct FigureRow<'a> {
    found: &'a AbTestResults<'a>,
    row: &'a Row,
}

impl FigureRow<'_> {
    /// The figure of a side with its own verdict.
    fn side_cell(&self, table: &mut Table, value: Option<f64>, verdict: Option<Status>) -> Cell {
        table.figure(value.ok_or_else(unused), RATE, verdict.unwrap_or(self.row.verdict))
    }

    /// An end of the interval of the ratio.
    fn end_cell(&self, table: &mut Table, end: Option<f64>) -> Cell {
        let digits = Digits::Decimals(3);
        match end {
            Some(value) => Cell::Number { value, digits, verdict: None },
            None => {
                let too_few = Sentence::count(
                    self.found.rule.fewest_blocks(),
                    "one block is needed",
                    "at least {count} blocks are needed",
                );
                table.figure(Err(too_few), digits, self.row.verdict)
            }
        }
    }
}

fn unused() -> Sentence {
    Sentence::new("no trial can be used")
}

fn figure_columns<'a>() -> [Declared<FigureRow<'a>>; 12] {
    [
        Declared::new("Workload", "", 0, |line, _| Cell::text(line.row.subject.label())),
        Declared::new("Jobs", "", 0, |line, _| Cell::count(line.row.jobs)),
        Declared::new("Unit", "", 0, |line, _| Cell::text(&line.row.unit)),
        Declared::new("A", "", 1, |line, table| {
            line.side_cell(table, line.row.base, line.row.base_verdict)
        }),
        Declared::new("B", "", 1, |line, table| {
            line.side_cell(table, line.row.other, line.row.other_verdict)
        }),
        Declared::new("Ratio", "", 0, |line, table| {
            let ratio = line.row.ratio.ok_or_else(unused);
            table.figure(ratio, Digits::Decimals(3), line.row.verdict)
        }),
        Declared::new("low", "", 0, |line, table| line.end_cell(table, line.row.low)),
        Declared::new("high", "", 0, |line, table| line.end_cell(table, line.row.high)),
        Declared::new("Outcome", "", 0, |line, table| {
            Cell::text(line.found.outcome(table.language, line.row))
        }),
        Declared::new("Blocks", "", 2, |line, _| Cell::count(line.row.blocks as u32)),
        Declared::new("left out", "", 3, |line, _| Cell::count(line.row.left_out as u32)),
        Declared::new("Verdict", "", 2, |line, _| Cell::Verdict(line.row.verdict)),
    ]
}

/// Outcome of a figure that one side lacks.
fn lost_outcome(unpaired: &Unpaired) -> Check {
    let what = format!("not measured on side {}", unpaired.missing.name());
    if unpaired.is_lost() { Check::Failed("lost", what) } else { Check::Skipped(what) }
}

fn missing(language: Language, unpaired: &Unpaired) -> String {
    let values = [("label", unpaired.label.as_str()), ("side", unpaired.missing.name())];
    language.say("{label}: not measured on side {side}", &values)
}

fn check(row: &Row, below: f64) -> Check {
    let figures = match (row.ratio, row.low, row.high) {
        (Some(ratio), Some(low), Some(high)) => format!("x{ratio:.3} (x{low:.3} to x{high:.3})"),
        (Some(ratio), ..) => format!("x{ratio:.3}"),
        _ => "no trial can be used".into(),
    };
    match row.outcome {
        _ if row.has_become_invalid() => Check::Failed("became invalid", row.left_out_reasons()),
        _ if row.verdict == Status::Invalid => {
            Check::Skipped(format!("invalid: {}", row.left_out_reasons()))
        }
        _ if row.is_failure(below) => Check::Failed("worse than allowed", figures),
        Outcome::Undecided => Check::Skipped(format!("undecided: {figures}")),
        _ => Check::Passed,
    }
}

/// Remarks on trials that are left out of a figure, and on those that are used.
fn remarks(language: Language, row: &Row) -> Vec<String> {
    let counted = |counted: &Vec<ReasonCount>| {
        let said = |one: &ReasonCount| format!("{} {}", one.trials, language.code(&one.code));
        counted.iter().map(said).collect::<Vec<_>>().join(", ")
    };
    let subject = format!("{}, {}", row.subject.label(), language.jobs(Some(row.jobs)));
    let conditional = (row.blocks > 0 && !row.conditions.is_empty()).then(|| {
        let verdict = language.verdict(Status::Conditional);
        format!("{subject}: {verdict}: {}", counted(&row.conditions))
    });
    let alone = row.invalid_side.map(|side| {
        let values = [("label", subject.as_str()), ("side", side.name())];
        language.say("{label}: side {side} alone is invalid, so that nothing is compared", &values)
    });
    let left_out = (row.left_out > 0).then(|| {
        let blocks = language.count("blocks_left_out", row.left_out, &[]);
        format!("{subject}: {blocks}: {}", counted(&row.left_out_because))
    });
    conditional.into_iter().chain(alone).chain(left_out).collect()
}

/// JSON of `ab-test --format json`.
#[derive(Serialize)]
struct Data<'a> {
    schema_version: u32,
    base: &'a str,
    other: &'a str,
    base_run: i64,
    other_run: i64,
    seed: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    duet: bool,
    margin: f64,
    alpha: f64,
    fewest_blocks: usize,
    disclosure_differences: &'a [Difference],
    figures: &'a [Row],
    /// Figures that only one side has.
    not_compared: &'a [Unpaired],
}

impl<'a> Data<'a> {
    fn new(found: &'a AbTestResults<'a>) -> Data<'a> {
        Data {
            schema_version: SCHEMA_VERSION,
            base: found.base.name,
            other: found.other.name,
            base_run: found.base.run.id,
            other_run: found.other.run.id,
            seed: found.base.run.seed,
            duet: found.method == Method::Duet,
            margin: found.rule.margin,
            alpha: found.rule.alpha(),
            fewest_blocks: found.rule.fewest_blocks(),
            disclosure_differences: &found.differences,
            figures: &found.rows,
            not_compared: &found.unpaired,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture::at;
    use dbdyno_core::model::Test;

    #[test]
    fn conditional_figures_among_the_decided_ones_are_counted() {
        let tests = [Test::from(at(1, 100.0))];
        let [plain] = rows(&tests, &tests, MARGIN, Method::InTurns).rows.try_into().unwrap();
        let row = |verdict: Status, outcome: Outcome| Row { verdict, outcome, ..plain.clone() };
        let said = |rows: &[Row]| doubtful(Language::English, rows);
        let sound = row(Status::Valid, Outcome::Better);
        let open = row(Status::Conditional, Outcome::Undecided);
        assert_eq!(said(&[sound.clone(), open]), None);
        let one = row(Status::Conditional, Outcome::Worse);
        let expected = "1 of the decided ones is conditional.";
        assert_eq!(said(&[sound, one]), Some(expected.into()));
    }
}
