//! The comparison of runs: as a document for people, as JSON for programs, as checks for build
//! servers.

mod data;

use std::collections::BTreeSet;

use serde_json::Value;

use super::columns::RATE;
use super::document::{
    Block, Cell, Checks, Column, Declared, Digits, Document, Outcome, Section, Table,
};
use super::format::json;
use super::{Input, Language, Report, RunTests, beside, lowered, page, price};
use data::Data;
use dbdyno_core::analysis::compare::{
    self as comparison, Change, Comparison, Difference, Earlier, EqualJobs, Judgement, Kind, Level,
    NOT_STATED, NotCompared, Outcome as GateOutcome, Row, Side, Terms, Work, compare, earlier,
};
use dbdyno_core::analysis::interval::{Unknown, supports};

use dbdyno_core::model::{RunRecord, Sentence, Status, Test, sentence};

pub use data::SCHEMA_VERSION;

/// Reading instructions.
const HOW_TO_READ: &str = "Ratios are other / base. ~ = inside the noise: the 95 % interval of the \
                           ratio holds 1. undecided = a figure has no interval, so that nothing is \
                           said.";

/// Report of `compare`, which reads what else a comparison takes: noise, history, a limit.
pub struct CompareReport;

impl Report for CompareReport {
    fn name(&self) -> &'static str {
        "compare"
    }

    fn title(&self) -> &'static str {
        "two or more runs, each against the first"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn own_command(&self) -> Option<&'static str> {
        Some("compare")
    }

    fn build(&self, input: &Input) -> Document {
        let comparisons = comparisons(input);
        let found = beside::all(input);
        let page = page::compared(input, &comparisons, &found);
        let mut document = document(&comparisons, input.language);
        document.sections.splice(0..0, beside::sections(&found, input.language));
        if let Some(Value::Object(data)) = &mut document.data {
            data.insert("beside".into(), json::value(&found));
        }
        Document { checks: checks(&comparisons, input.fail_below), page, ..document }
    }
}

/// Every run against the first.
pub fn comparisons(input: &Input) -> Vec<Comparison> {
    let mut names = input.platforms();
    if let Some(base) = names.first_mut().filter(|_| input.is_base_of_many) {
        *base = input.language.say("{count} runs", &[("count", &input.history.len().to_string())]);
    }
    let sides = input.runs.iter().zip(&names).map(|(data, name)| {
        let RunTests { run, tests } = data;
        Side { name, run, tests, price: price::price_of(input, data) }
    });
    let sides: Vec<Side<'_>> = sides.collect();
    let Some((base, others)) = sides.split_first() else { return Vec::new() };
    others.iter().map(|other| compare(base, other, &terms(input, base, other))).collect()
}

/// The terms of the comparison of two runs.
fn terms<'a>(input: &'a Input, base: &Side<'_>, other: &Side<'_>) -> Terms<'a> {
    let effects = input.catalog.effects();
    let limit = input.is_gate.then_some(input.fail_below);
    if input.is_base_of_many {
        let past = input.history.iter().map(|data| data.tests.iter().collect()).collect();
        let notes_on_base = input.notes_on_base.clone();
        return Terms { past, is_base: true, notes_on_base, limit, ..Terms::new(effects) };
    }
    // A calibration may be older than the runs that are looked at.
    let is_known = |data: &&RunTests| input.history.iter().any(|known| known.run.id == data.run.id);
    let older = input.calibrations.iter().filter(|data| !is_known(data));
    let history: Vec<(&RunRecord, &[Test])> =
        older.chain(&input.history).map(|data| (&data.run, data.tests.as_slice())).collect();
    let Earlier { runs, calibrations } = earlier(base, other, &history, effects);
    Terms { effects, past: runs, calibrations, limit, ..Terms::default() }
}

/// The document of comparisons with one base.
pub fn document(comparisons: &[Comparison], language: Language) -> Document {
    let several = comparisons.len() > 1;
    let data = Some(json::value(&Data::new(comparisons)));
    let mut document =
        Document { title: title(comparisons, language), language, data, ..Document::default() };
    for comparison in comparisons {
        let named = |title: &str| match several {
            true => format!(
                "{}: {}",
                against(language, &comparison.other, &comparison.base),
                language.phrase(title)
            ),
            false => language.phrase(title),
        };
        let section = |title: &str, blocks: Vec<Block>| Section { title: named(title), blocks };
        if comparison.gate.is_some() {
            document.sections.push(section("Answer", answer(comparison, language)));
        }
        document.sections.push(section(
            "What differs",
            differences(
                &comparison.differences,
                language,
                &format!("differences {}", comparison.other),
            ),
        ));
        document.sections.push(section("Findings", findings(comparison, language)));
        let how = Block::Paragraph(format!(
            "{} {}",
            language.phrase(HOW_TO_READ),
            counts(comparison, language)
        ));
        let rows = Block::Table(rows(comparison, language, several));
        let ability = comparison::ability(comparison);
        let ability = ability.iter().map(|said| format!("{}.", language.sentence(said)));
        let ability = ability.collect::<Vec<_>>().join(" ");
        let ability = (!ability.is_empty()).then_some(Block::Paragraph(ability));
        let noise =
            calibrated(comparison, language).map(Block::Paragraph).into_iter().chain(ability);
        document.sections.push(section("Speed and throughput", noise.chain([how, rows]).collect()));
        if !comparison.equal_jobs.is_empty() {
            document.sections.push(section(
                "Equal numbers of jobs",
                vec![Block::Table(equal_jobs(comparison, language, several))],
            ));
        }
        if comparison.work.iter().any(|work| work.stands) {
            document.sections.push(section(
                "Work per op",
                vec![Block::Table(work(comparison, language, several))],
            ));
        }
        if !comparison.not_compared.is_empty() {
            document.sections.push(section(
                "Not compared",
                vec![Block::Table(not_compared(comparison, language, several))],
            ));
        }
    }
    document
}

/// The gate's sentences, a paragraph each.
fn answer(comparison: &Comparison, language: Language) -> Vec<Block> {
    let said = comparison::answer(comparison);
    let said = said.iter().map(|said| format!("{}.", language.sentence(said)));
    said.map(Block::Paragraph).collect()
}

/// Reading instructions above the picture of the ratios.
pub(super) fn how_to_read(comparison: &Comparison, language: Language) -> String {
    let how = "Other / base, logarithmic; right of the line is better (times are drawn turned \
               round). The mark is the ratio, the whisker its 95 % interval: a mark on the grey \
               band is inside the noise. Hollow: decides nothing, as it has no interval or is \
               conditional (triangle). Thin ticks: equal numbers of jobs.";
    let noise = calibrated(comparison, language).into_iter();
    let ability = comparison::ability(comparison);
    let ability = ability.iter().map(|said| format!("{}.", language.sentence(said)));
    let parts = [language.phrase(how)].into_iter().chain(noise).chain(ability);
    parts.chain([counts(comparison, language)]).collect::<Vec<_>>().join(" ")
}

fn calibrated(comparison: &Comparison, language: Language) -> Option<String> {
    let names = comparison.calibrations.join(", ");
    let text = "Intervals allow for the noise between starts and loads that was measured here: \
                calibration {names}.";
    (!names.is_empty()).then(|| language.say(text, &[("names", &names)]))
}

/// `Of 37 figures 1 is better, 0 are worse, 34 are ~, 2 are undecided.` and the number that chance
/// explains.
fn counts(comparison: &Comparison, language: Language) -> String {
    let (judged, others): (Vec<&Row>, Vec<&Row>) =
        comparison.kpms.iter().partition(|row| supports(row.status));
    let of = |change: Change| judged.iter().filter(|row| row.change() == change).count();
    let said = |change: Change| format!("{} {}", of(change), language.phrase(change.name()));
    let mut said =
        [Change::Better, Change::Worse, Change::Same, Change::Undecided].map(said).to_vec();
    if !others.is_empty() {
        said.push(format!("{} {}", others.len(), language.phrase("not valid")));
    }
    let said = language.say("Figures: {counts}.", &[("counts", &said.join(", "))]);
    match by_chance(comparison, language) {
        Some(chance) => format!("{said} {chance}"),
        None => said,
    }
}

/// Sentence on figures that differ by their own interval and are no finding among so many; none
/// without such figures.
fn by_chance(comparison: &Comparison, language: Language) -> Option<String> {
    let is_decided = |row: &&Row| supports(row.status) && row.change() != Change::Undecided;
    let decided = comparison.kpms.iter().filter(is_decided).count();
    let count = comparison.by_chance();
    let (decided, expected) = (decided.to_string(), (0.05 * decided as f64).ceil().to_string());
    let values = [("decided", decided.as_str()), ("expected", &expected)];
    (count > 0).then(|| language.count("by_chance", count, &values))
}

fn title(comparisons: &[Comparison], language: Language) -> String {
    let others: Vec<&str> =
        comparisons.iter().map(|comparison| comparison.other.as_str()).collect();
    let base = comparisons.first().map_or("", |comparison| comparison.base.as_str());
    language.say("Comparison: {pair}", &[("pair", &against(language, &others.join(", "), base))])
}

pub(super) fn against(language: Language, other: &str, base: &str) -> String {
    language.say("{other} against {base}", &[("other", other), ("base", base)])
}

fn table<R>(
    language: Language,
    name: &str,
    comparison: &Comparison,
    several: bool,
    columns: &[Declared<R>],
) -> Table {
    let name = if several { format!("{name} {}", comparison.other) } else { name.into() };
    Table::declared(language, name, columns)
}

/// Differences between two disclosures.
pub(super) fn differences(found: &[Difference], language: Language, name: &str) -> Vec<Block> {
    if found.is_empty() {
        return vec![Block::Paragraph(language.phrase(
            "The disclosures do not differ in anything that touches a figure of both runs.",
        ))];
    }
    let columns = difference_columns();
    let mut table = Table::declared(language, name, &columns);
    found.iter().for_each(|difference| table.add_row(&columns, difference));
    vec![Block::Table(table)]
}

/// Notes on a base of many runs, a paragraph each.
pub(super) fn notes_on_base(comparison: &Comparison, language: Language) -> Vec<Block> {
    let said = comparison.notes_on_base.iter();
    said.map(|said| Block::Paragraph(format!("{}.", language.sentence(said)))).collect()
}

fn difference_columns() -> [Declared<Difference>; 6] {
    [
        Declared::new("Section", "", 2, |difference, table| {
            Cell::text(table.language.phrase(&difference.section))
        }),
        Declared::new("Fact", "", 0, |difference, _| Cell::text(&difference.fact)),
        Declared::new("Base", "", 0, |difference, table| {
            Cell::text(stated_value(table.language, &difference.base))
        }),
        Declared::new("Other", "", 0, |difference, table| {
            Cell::text(stated_value(table.language, &difference.other))
        }),
        Declared::new("Touches", "", 1, |difference, _| Cell::text(difference.touches.join(" "))),
        Declared::new("Why", "", 5, |difference, table| {
            Cell::text(table.language.phrase(&difference.because))
        }),
    ]
}

/// The value of a fact, or in the language that it is not stated.
fn stated_value(language: Language, value: &str) -> String {
    if value == NOT_STATED { language.phrase(value) } else { value.to_string() }
}

/// Differences among many runs: a row per fact, a column per run. Where a run does not differ from
/// the base it has the base's value.
pub(super) fn differences_of_many(comparisons: &[Comparison], language: Language) -> Vec<Block> {
    let Some(first) = comparisons.first() else { return Vec::new() };
    let mut facts: Vec<(&Difference, BTreeSet<&str>)> = Vec::new();
    for difference in comparisons.iter().flat_map(|comparison| &comparison.differences) {
        let is_same = |known: &&mut (&Difference, BTreeSet<&str>)| is_fact(known.0, difference);
        let touches = difference.touches.iter().map(String::as_str);
        match facts.iter_mut().find(is_same) {
            Some((_, known)) => known.extend(touches),
            None => facts.push((difference, touches.collect())),
        }
    }
    if facts.is_empty() {
        return differences(&[], language, "differences");
    }
    let names = comparisons.iter().map(|comparison| comparison.other.as_str());
    let columns = ["Section", "Fact"].into_iter().chain([first.base.as_str()]).chain(names);
    let columns = columns.chain(["Touches"]).map(|name| Column::new(name, "", 0));
    let mut table = Table::new(language, "differences", columns);
    for (fact, touches) in facts {
        let of = |comparison: &Comparison| {
            let own = comparison.differences.iter().find(|it| is_fact(it, fact));
            stated_value(language, own.map_or(&fact.base, |own| &own.other))
        };
        let values = comparisons.iter().map(of);
        let texts =
            [language.phrase(&fact.section), fact.fact.clone(), stated_value(language, &fact.base)];
        let touches = touches.into_iter().collect::<Vec<_>>().join(" ");
        table.rows.push(texts.into_iter().chain(values).chain([touches]).map(Cell::Text).collect());
    }
    vec![Block::Table(table)]
}

/// True if both are about the same fact.
fn is_fact(a: &Difference, b: &Difference) -> bool {
    (&a.section, &a.fact) == (&b.section, &b.fact)
}

pub(super) fn findings(comparison: &Comparison, language: Language) -> Vec<Block> {
    let texts = comparison
        .findings
        .iter()
        .map(|finding| Block::Paragraph(format!("{}.", language.sentence(&finding.text))));
    let found: Vec<Block> = texts.collect();
    if found.is_empty() {
        vec![Block::Paragraph(nothing_found(comparison, language))]
    } else {
        found
    }
}

/// Sentence for a comparison without a finding.
pub(super) fn nothing_found(comparison: &Comparison, language: Language) -> String {
    if let Some(chance) = by_chance(comparison, language) {
        return chance;
    }
    let is_open = comparison.kpms.iter().all(|row| row.change() == Change::Undecided);
    language.phrase(match (comparison.kpms.is_empty(), is_open) {
        (true, _) => "The runs have no figure in common.",
        (_, true) => "No figure can be decided: none has an interval in both runs.",
        _ => "No figure differs beyond the noise.",
    })
}

pub(super) fn rows(comparison: &Comparison, language: Language, several: bool) -> Table {
    let columns = row_columns();
    let mut table = table(language, "kpms", comparison, several, &columns);
    let mut told: Vec<(String, Sentence)> = Vec::new();
    for row in &comparison.kpms {
        table.add_row(&columns, row);
        let undecided = |why: Unknown| {
            Sentence::new("{why}: undecided").with("why", Sentence::new(why.to_string()))
        };
        let open = row.ratio.span.err().map(undecided);
        let subject = format!("{}, {}", row.subject.label(), language.phrase(row.kind.name()));
        let reasons = row.reasons.iter().chain(&row.notes).cloned().chain(open);
        told.extend(reasons.map(|reason| (subject.clone(), reason)));
    }
    let told = told.iter().map(|(subject, reason)| (subject.clone(), reason));
    table.remarks.extend(lowered::sentences(language, told));
    table.drop_empty_columns();
    table
}

/// A figure with the mark of its own verdict.
fn figure(value: f64, verdict: Status) -> Cell {
    Cell::Number { value, digits: RATE, verdict: Some(verdict) }
}

fn row_columns() -> [Declared<Row>; 18] {
    [
        Declared::new("Workload", "", 0, |row, _| Cell::text(row.subject.label())),
        Declared::new("Kind", "", 0, |row, table| {
            Cell::text(table.language.phrase(row.kind.name()))
        }),
        Declared::new("Unit", "", 0, |row, _| Cell::text(&row.unit)),
        Declared::new("Base", "", 1, |row, _| figure(row.base, row.base_status)),
        Declared::new("Jobs", "", 6, |row, _| Cell::count_if_known(row.base_jobs)),
        Declared::new("Other", "", 0, |row, _| figure(row.other, row.other_status)),
        Declared::new("Jobs", "", 6, |row, _| Cell::count_if_known(row.other_jobs)),
        Declared::new("Ratio", "", 0, |row, _| ratio(Some(row.ratio.value))),
        Declared::new("low", "", 4, |row, _| ratio(row.ratio.span.ok().map(|span| span.low))),
        Declared::new("high", "", 4, |row, _| ratio(row.ratio.span.ok().map(|span| span.high))),
        Declared::new("Difference", "", 0, |row, table| {
            Cell::text(table.language.phrase(row.change().name()))
        }),
        Declared::new("Found from", "%", 4, |row, _| {
            row.detectable_loss.map_or(Cell::Empty, found_from)
        }),
        Declared::new("Service time", "x", 5, |row, _| ratio(row.service_ratio())),
        Declared::new("per job", "x", 7, |row, _| ratio(row.per_job)),
        Declared::new("per core", "x", 7, |row, _| ratio(row.per_core)),
        Declared::new("per license", "x", 7, |row, _| ratio(row.per_licence)),
        Declared::new("per price", "x", 3, |row, _| ratio(row.per_price)),
        // The figures are marked, too.
        Declared::new("Verdict", "", 2, |row, _| Cell::Verdict(row.status)),
    ]
}

/// A ratio, or an end of its interval; empty where there is none.
fn ratio(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, |value| number(value, Digits::Decimals(3)))
}

/// The kinds of work per op that changed.
fn work(comparison: &Comparison, language: Language, several: bool) -> Table {
    let columns = work_columns();
    let mut table = table(language, "work per op", comparison, several, &columns);
    let changed = comparison.work.iter().filter(|work| work.stands);
    changed.for_each(|work| table.add_row(&columns, work));
    table
}

fn work_columns() -> [Declared<Work>; 9] {
    [
        Declared::new("Workload", "", 0, |work, _| Cell::text(work.subject.label())),
        Declared::new("Jobs", "", 0, |work, _| Cell::count(work.jobs)),
        Declared::new("Work per op", "", 0, |work, table| {
            Cell::text(table.language.phrase(work.what))
        }),
        Declared::new("Unit", "", 0, |work, _| Cell::text(work.unit)),
        Declared::new("Base", "", 1, |work, _| Cell::plain(work.base)),
        Declared::new("Other", "", 1, |work, _| Cell::plain(work.other)),
        Declared::new("Ratio", "", 0, |work, _| ratio(Some(work.ratio.value))),
        Declared::new("low", "", 2, |work, _| ratio(work.ratio.span.ok().map(|span| span.low))),
        Declared::new("high", "", 2, |work, _| ratio(work.ratio.span.ok().map(|span| span.high))),
    ]
}

/// The loss that would have been found, in percent, rounded up.
fn found_from(loss: f64) -> Cell {
    number((1000.0 * loss).ceil() / 10.0, Digits::Decimals(1))
}

fn number(value: f64, digits: Digits) -> Cell {
    Cell::Number { value, digits, verdict: None }
}

pub(super) fn equal_jobs(comparison: &Comparison, language: Language, several: bool) -> Table {
    let columns = equal_jobs_columns();
    let mut table = table(language, "equal jobs", comparison, several, &columns);
    comparison.equal_jobs.iter().for_each(|line| table.add_row(&columns, line));
    let used = "used: throughput / the best throughput of the same ramp (effective utilization)";
    table.remarks.push(language.phrase(used));
    table
}

fn equal_jobs_columns() -> [Declared<EqualJobs>; 12] {
    [
        Declared::new("Workload", "", 0, |line, _| Cell::text(line.subject.label())),
        Declared::new("Jobs", "", 0, |line, _| Cell::count(line.jobs)),
        Declared::new("Unit", "", 0, |line, _| Cell::text(&line.unit)),
        Declared::new("Base", "", 1, |line, _| figure(line.base, line.base_status)),
        Declared::new("Other", "", 0, |line, _| figure(line.other, line.other_status)),
        Declared::new("Ratio", "", 0, |line, _| ratio(Some(line.ratio.value))),
        Declared::new("Difference", "", 0, |line, table| {
            Cell::text(table.language.phrase(line.ratio.change(line.better).name()))
        }),
        Declared::new("Base used", "%", 4, |line, _| percent(line.base_utilisation, 100.0)),
        Declared::new("Other used", "%", 4, |line, _| percent(line.other_utilisation, 100.0)),
        Declared::new("Base CPU busy", "%", 5, |line, _| percent(line.base_cpu_busy_pct, 1.0)),
        Declared::new("Other CPU busy", "%", 5, |line, _| percent(line.other_cpu_busy_pct, 1.0)),
        Declared::new("Verdict", "", 2, |line, _| Cell::Verdict(line.status)),
    ]
}

/// A percentage of a value at this scale; empty where it is unknown.
fn percent(value: Option<f64>, scale: f64) -> Cell {
    value.map_or(Cell::Empty, |value| number(value * scale, Digits::Decimals(1)))
}

pub(super) fn not_compared(comparison: &Comparison, language: Language, several: bool) -> Table {
    let columns = not_compared_columns();
    let mut table = table(language, "not compared", comparison, several, &columns);
    comparison.not_compared.iter().for_each(|lost| table.add_row(&columns, lost));
    table
}

fn not_compared_columns() -> [Declared<NotCompared>; 3] {
    [
        Declared::new("Workload", "", 0, |lost, _| Cell::text(&lost.label)),
        Declared::new("Kind", "", 0, |lost, table| {
            let language = table.language;
            lost.kind.map_or(Cell::Empty, |kind| Cell::text(language.phrase(kind.name())))
        }),
        Declared::new("Why", "", 0, |lost, table| Cell::text(table.language.sentence(&lost.why))),
    ]
}

/// A suite per comparison, a case per figure; `below` is the loss from which a figure fails.
pub fn checks(comparisons: &[Comparison], below: f64) -> Vec<Checks> {
    let name =
        |comparison: &Comparison| format!("{} against {}", comparison.other, comparison.base);
    comparisons
        .iter()
        .map(|comparison| Checks { name: name(comparison), cases: cases(comparison, below) })
        .collect()
}

fn cases(comparison: &Comparison, below: f64) -> Vec<(String, Outcome)> {
    let compared = comparison.kpms.iter().map(|row| {
        let outcome = match row.base_status {
            Status::Invalid => Outcome::Skipped("the base is invalid".into()),
            _ if row.is_failure(below) => Outcome::Failed("worse than allowed", failure(row)),
            _ if row.is_undecided() => Outcome::Skipped(undecided(row)),
            _ => unjudged(comparison, row).map_or(Outcome::Passed, Outcome::Skipped),
        };
        (format!("{} {}", row.subject.label(), row.kind.name()), outcome)
    });
    let lost = comparison.not_compared.iter().map(|lost| {
        let kind = lost.kind.map(Kind::name).unwrap_or_default();
        let outcome = match lost.lost {
            true => Outcome::Failed("lost", lost.why.to_string()),
            false => Outcome::Skipped(lost.why.to_string()),
        };
        (format!("{} {kind}", lost.label).trim_end().to_string(), outcome)
    });
    let nothing = (
        "comparison".to_string(),
        Outcome::Failed("nothing to compare", "the base has no sound figure".into()),
    );
    let levels = comparison.gate.iter().flat_map(levels);
    compared
        .chain(lost)
        .chain(comparison.judges_nothing().then_some(nothing))
        .chain(levels)
        .collect()
}

/// The whole and the groups of a gate as cases.
fn levels(gate: &Judgement) -> impl Iterator<Item = (String, Outcome)> {
    let case = move |level: &Level| {
        let name = match &level.group {
            Some(group) => format!("group {group}"),
            None => "all figures".into(),
        };
        let text = format!("x{:.3} (x{:.3} to x{:.3})", level.ratio, level.low, level.high);
        let outcome = match level.fails {
            true => Outcome::Failed("worse than allowed", text),
            false if gate.is_blind(level.detectable_loss) => Outcome::Skipped(blind(gate)),
            false => Outcome::Passed,
        };
        (name, outcome)
    };
    gate.whole.iter().chain(&gate.groups).map(case)
}

/// Reason for which a figure that has not failed has not passed either: the gate has no answer, or
/// would not have seen a loss in it.
fn unjudged(compared: &Comparison, row: &Row) -> Option<String> {
    let gate = compared.gate.as_ref()?;
    if gate.outcome == GateOutcome::NoAnswer {
        return comparison::answer(compared).first().map(ToString::to_string);
    }
    // Not by the names of blind figures: rows of one figure share what the gate says, and one name
    // stands for them.
    match row.detectable_loss {
        Some(loss) if gate.is_blind(loss) => Some(blind(gate)),
        Some(_) => None,
        None => Some(format!("not judged: {}{}", row.status, first_reason(row))),
    }
}

fn blind(gate: &Judgement) -> String {
    format!("blind: a loss of {} % would not have been found", sentence::number(200.0 * gate.limit))
}

/// ` (other processes: 71 % of the CPU)`
fn first_reason(row: &Row) -> String {
    row.reasons.first().map(|reason| format!(" ({reason})")).unwrap_or_default()
}

fn failure(row: &Row) -> String {
    let why = first_reason(row);
    let (other, base, unit) = (row.other, row.base, &row.unit);
    format!("{}: {other} {unit} against {base} {unit}: {}{why}", row.status, row.ratio)
}

/// `undecided: x1.21 (no interval: one short window)`
fn undecided(row: &Row) -> String {
    let why = row.ratio.span.err().map(|why| format!(" ({why})")).unwrap_or_default();
    format!("undecided: {}{why}", row.ratio)
}
