//! The page of a history: the figure over the runs, where it changed, and what the disclosures say
//! of it.

use std::collections::BTreeSet;

use super::history::{Entry, History, platform};
use crate::analysis::changes::{self, Change};
use crate::analysis::compare::{Difference, Side, differences};
use crate::model::{Better, Effect, RunRecord};
use crate::report::Language;
use crate::report::document::{
    Axis, Block, Cell, Chart, Column, Digits, Document, Point, Role, Section, Series, Table,
};

/// Minimum number of figures for which a change can be told from chance.
const FEWEST: usize = 4;
const DIGITS: Digits = Digits::Significant(4);

/// The page of a history.
pub fn document(language: Language, history: &History<'_>, effects: &[Effect]) -> Document {
    let test = &history.newest.test;
    let params = test.chosen().iter().map(|(name, value)| format!(" {name}={value}"));
    let label = test.workload().to_string() + &params.collect::<String>();
    let title = language
        .say("{label} at {jobs}", &[("label", &label), ("jobs", &language.jobs(test.jobs()))]);
    let accepted = history.accepted_points();
    let values: Vec<f64> = accepted.iter().map(|(.., value)| *value).collect();
    let found = changes::changes(&values);
    let section = |title: &str, blocks| Section::new(language, title, blocks);
    let sections = vec![
        section(
            "History",
            vec![
                Block::Paragraph(scope(language, history, accepted.len())),
                chart(language, &label, history, &accepted, &found),
            ],
        ),
        section("Changes", change_blocks(language, history, &accepted, &found, effects)),
        section("Figures", vec![Block::Table(table(language, history))]),
        section("Method", vec![Block::Paragraph(method(language))]),
    ];
    Document { title, sections, language, ..Document::default() }
}

/// Sentence about what is shown, and how much of it may be compared.
fn scope(language: Language, history: &History<'_>, accepted: usize) -> String {
    let Entry { run, test, .. } = history.newest;
    let unknown = language.phrase("unknown");
    let better = match test.kpm().better {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    };
    let values = [
        ("engine", run.engine.as_deref().unwrap_or(&unknown)),
        ("platform", platform(run).unwrap_or(&unknown)),
        ("drive", &language.phrase(test.drive().name())),
        ("unit", &test.kpm().unit),
        ("better", &language.phrase(better)),
        ("accepted", &accepted.to_string()),
        ("all", &history.entries.len().to_string()),
    ];
    let text = "{engine} on {platform}, {drive} drive, in {unit} ({better}). Valid figures of the \
                same work: {accepted} of {all}; only these are searched for changes.";
    language.say(text, &values)
}

fn chart(
    language: Language,
    label: &str,
    history: &History<'_>,
    accepted: &[(usize, &Entry, f64)],
    found: &[Change],
) -> Block {
    let kpm = history.newest.test.kpm();
    let point = |(number, entry, value): (usize, &Entry, f64)| Point {
        x: number as f64,
        y: value,
        low: entry.ends.map(|ends| ends[0]),
        high: entry.ends.map(|ends| ends[1]),
        label: Some(run_name(language, &entry.run)),
        written: None,
        verdict: Some(entry.verdict.status),
    };
    let measured = Series {
        name: label.into(),
        points: history.drawable().into_iter().map(point).collect(),
        ..Series::default()
    };
    let means = Series {
        name: language.phrase("Mean between changes"),
        platform: 1,
        role: Role::Fitted,
        points: steps(accepted, found),
        ..Series::default()
    };
    Block::Chart(Chart {
        name: "history".into(),
        language,
        title: label.into(),
        x: Axis {
            name: language.phrase("Number of the run in the table below"),
            ..Axis::default()
        },
        y: Axis { name: language.phrase("KPM"), unit: Some(kpm.unit.clone()), ..Axis::default() },
        series: vec![measured, means],
        caption: language.phrase(
            "Bars: 95 % interval where it is known. Dashed: the mean between two changes. Hollow: \
             conditional, and not looked through for changes.",
        ),
        ..Chart::default()
    })
}

/// The means between changes, as a line with a step half-way between the runs before and after
/// each.
fn steps(accepted: &[(usize, &Entry, f64)], found: &[Change]) -> Vec<Point> {
    let number = |at: usize| accepted[at].0 as f64;
    let points = changes::pieces(found.iter().map(|change| change.at), accepted.len())
        .into_iter()
        .flat_map(|piece| {
            let part = &accepted[piece.clone()];
            let y = part.iter().map(|(.., value)| value).sum::<f64>() / part.len() as f64;
            let half_way = |at: usize| (number(at - 1) + number(at)) / 2.0;
            let start = if piece.start == 0 { 1.0 } else { half_way(piece.start) };
            let end = if piece.end < accepted.len() {
                half_way(piece.end)
            } else {
                piece.end.checked_sub(1).map_or(1.0, number)
            };
            [start, end].map(|x| Point { x, y, ..Point::default() })
        });
    points.filter(|point| point.y.is_finite()).collect()
}

/// A paragraph per change, and what differs between the runs before and after it.
fn change_blocks(
    language: Language,
    history: &History<'_>,
    accepted: &[(usize, &Entry, f64)],
    found: &[Change],
    effects: &[Effect],
) -> Vec<Block> {
    if found.is_empty() {
        let text = match accepted.len() < FEWEST {
            true => "Too few valid figures to tell a change from chance.",
            false => {
                "No change found as clear as chance makes one in fewer than 5 % of such series."
            }
        };
        return vec![Block::Paragraph(language.phrase(text))];
    }
    let blocks = found.iter().zip(1..).flat_map(|(change, number)| {
        let (before, after) = (accepted[change.at - 1].1, accepted[change.at].1);
        let differences = differing(before, after, effects);
        let said = Block::Paragraph(sentence(language, history, change, &after.run));
        let why = match differences.is_empty() {
            true => Block::Paragraph(nothing_differs(language, &before.run, &after.run)),
            false => Block::Table(differences_table(
                language,
                number,
                [&before.run, &after.run],
                &differences,
            )),
        };
        [said, why]
    });
    blocks.collect()
}

fn differing(before: &Entry, after: &Entry, effects: &[Effect]) -> Vec<Difference> {
    let tests = [before, after].map(|entry| [entry.test.clone()]);
    let side = |entry, tests| Side { name: "", run: entry, tests, price: None };
    differences(&side(&before.run, &tests[0]), &side(&after.run, &tests[1]), effects)
}

/// `Run 8 (nightly), 2026-03-02: better, x1.35, from 100 to 135 qps (p < 0.000001).`
fn sentence(language: Language, history: &History<'_>, change: &Change, run: &RunRecord) -> String {
    let kpm = history.newest.test.kpm();
    let way = if kpm.better.beats(change.after, change.before) { "better" } else { "worse" };
    let number = |value| language.number(value, DIGITS);
    let least = 1e-6;
    let p = match change.p < least {
        true => format!("< {}", language.exactly(least)),
        false => format!("= {}", language.number(change.p, Digits::Significant(2))),
    };
    let values = [
        ("run", run_name(language, run)),
        ("way", language.phrase(way)),
        ("ratio", language.number(change.after / change.before, Digits::Significant(3))),
        ("before", number(change.before)),
        ("after", number(change.after)),
        ("unit", kpm.unit.clone()),
        ("p", p),
    ];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    language.say(
        "From {run} on: {way}, x{ratio}, from {before} to {after} {unit} on average (p {p}).",
        &values,
    )
}

fn nothing_differs(language: Language, before: &RunRecord, after: &RunRecord) -> String {
    let runs = [("before", before.id.to_string()), ("after", after.id.to_string())];
    let runs = runs.each_ref().map(|(name, id)| (*name, id.as_str()));
    language.say(
        "What is disclosed of runs {before} and {after} does not differ: the cause is not \
                  among it.",
        &runs,
    )
}

fn differences_table(
    language: Language,
    number: usize,
    runs: [&RunRecord; 2],
    differences: &[Difference],
) -> Table {
    let [before, after] =
        runs.map(|run| language.say("run_unnamed", &[("id", &run.id.to_string())]));
    let columns =
        ["Section", "Fact", &before, &after, "Why it matters"].map(|name| Column::new(name, "", 0));
    let name = language.say("Disclosure at change {number}", &[("number", &number.to_string())]);
    let mut table = Table::new(language, name, columns);
    table.rows = differences
        .iter()
        .map(|difference| {
            let texts = [
                language.phrase(&difference.section),
                difference.fact.clone(),
                language.phrase(&difference.base),
                language.phrase(&difference.other),
                language.phrase(&difference.because),
            ];
            texts.map(Cell::text).to_vec()
        })
        .collect();
    table
}

/// Every figure, also those that are left out, with the reason.
fn table(language: Language, history: &History<'_>) -> Table {
    let kpm = history.newest.test.kpm();
    let columns = [
        ("No.", ""),
        ("Run", ""),
        ("Started", ""),
        ("KPM", kpm.unit.as_str()),
        ("low", &kpm.unit),
        ("high", &kpm.unit),
        ("Repeated", ""),
        ("Verdict", ""),
        ("Left out", ""),
    ];
    let columns = columns.map(|(name, unit)| Column::new(name, unit, 0));
    let mut table = Table::new(language, language.phrase("Figures"), columns);
    let mut reasons = BTreeSet::new();
    for ((entry, why), number) in history.entries.iter().zip(1..) {
        let status = entry.verdict.status;
        let value = entry.value.filter(|value| value.is_finite());
        let kpm = value.map_or(Cell::Empty, |value| Cell::Number {
            value,
            digits: DIGITS,
            verdict: Some(status),
        });
        let end = |side: usize| entry.ends.map_or(Cell::Empty, |ends| Cell::plain(ends[side]));
        let started = entry.run.started_at.as_deref().unwrap_or_default();
        table.rows.push(vec![
            Cell::count(number),
            Cell::text(run_name(language, &entry.run)),
            Cell::text(language.date(started.get(..10).unwrap_or(started))),
            kpm,
            end(0),
            end(1),
            Cell::count(u32::try_from(entry.times).unwrap_or(u32::MAX)),
            Cell::Verdict(status),
            why.map_or(Cell::Empty, |why| Cell::text(language.phrase(why))),
        ]);
        reasons.extend(
            entry
                .verdict
                .reasons
                .iter()
                .filter(|_| why.is_some())
                .map(|reason| language.reason(reason)),
        );
    }
    table.remarks = reasons.into_iter().collect();
    table.drop_empty_columns();
    table
}

fn run_name(language: Language, run: &RunRecord) -> String {
    let unnamed = language.say("run_unnamed", &[("id", &run.id.to_string())]);
    run.name.as_ref().map_or(unnamed.clone(), |name| format!("{unnamed} ({name})"))
}

fn method(language: Language) -> String {
    language.phrase(
        "Changes are found by E-divisive means with Student's t test over windows of 50 figures, \
         as Hunter and Apache Otava do it; one is reported if chance alone makes one as clear in \
         fewer than 5 % of such series: for all places together, and with what adjacent figures \
         have in common. With a change the page shows what differs between the disclosures of the \
         valid runs before and after it, as far as it touches the workload: it may be the cause, \
         and need not be.",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::analysis::compare::fixture::run;
    use crate::analysis::fixture::at;
    use crate::model::{Status, Test, TestResult};

    /// Ten runs: 100 qps, and 80 from the sixth on, where a setting differs; one is conditional.
    fn entries() -> Vec<Entry> {
        let entry = |number: i64| {
            let value = if number < 6 { 100.0 } else { 80.0 } + 0.1 * (number % 3) as f64;
            let mut run = RunRecord { id: number, ..run("nightly") };
            run.disclosure.set("hardware", "cpu_model", "CPU 3");
            run.disclosure.set("settings", "fsync", if number < 6 { "off" } else { "on" });
            let test = Test::from(TestResult { seq: 3, ..at(4, value) });
            let test = match number {
                3 => crate::analysis::published_checks::fixture::judged(test, Status::Conditional),
                _ => test,
            };
            let ends = Some([value / 1.01, value * 1.01]);
            let verdict = test.verdict().clone();
            Entry { run: Arc::new(run), test, times: 1, value: Some(value), ends, verdict }
        };
        (1..=10).map(entry).collect()
    }

    fn texts(document: &Document) -> Vec<&str> {
        let blocks = document.sections.iter().flat_map(|section| &section.blocks);
        blocks
            .filter_map(
                |block| if let Block::Paragraph(text) = block { Some(text.as_str()) } else { None },
            )
            .collect()
    }

    fn tables(document: &Document) -> Vec<&Table> {
        let blocks = document.sections.iter().flat_map(|section| &section.blocks);
        blocks
            .filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None })
            .collect()
    }

    #[test]
    fn a_change_is_told_with_what_differs_and_without_what_is_not_valid() {
        let entries = entries();
        let found = document(Language::English, &History::for_entry(&entries, &entries[9]), &[]);
        assert_eq!(found.title, "SRV-QUERY1 at 4 jobs");
        let said = texts(&found).join("\n");
        for part in [
            "9 of 10",
            "From Run 6 (nightly) on: worse, x0.800, from 100.1 to 80.",
            "(p < 0.000001)",
        ] {
            assert!(said.replace("run 6", "Run 6").contains(part), "no {part} in {said}");
        }
        let [differences, figures] = tables(&found)[..] else { panic!("two tables") };
        assert_eq!(differences.rows.len(), 1);
        assert_eq!(differences.rows[0][1..4], ["fsync", "off", "on"].map(Cell::text));
        assert_eq!((figures.rows.len(), &figures.rows[2][8]), (10, &Cell::text("not valid")));
    }

    #[test]
    fn other_work_is_left_out_with_the_reason_and_another_platform_is_not_there() {
        let mut entries = entries();
        Arc::make_mut(&mut entries[0].run).size_gb = Some(9.0);
        Arc::make_mut(&mut entries[1].run).disclosure.set("hardware", "cpu_model", "CPU 4");
        let history = History::for_entry(&entries, &entries[9]);
        assert_eq!(history.entries[0].1, Some("data of another size"));
        assert_eq!((history.entries().count(), history.accepted_points().len()), (9, 7));
        assert_eq!(history.drawable().len(), 8, "the conditional one is drawn, hollow");
    }

    #[test]
    fn few_or_even_figures_have_no_change() {
        let entries = entries();
        let said = |part: &[Entry]| {
            texts(&document(Language::English, &History::for_entry(part, &part[0]), &[])).join("\n")
        };
        assert!(said(&entries[..2]).contains("Too few"), "{}", said(&entries[..2]));
        assert!(said(&entries[5..]).contains("No change found"));
    }
}
