//! Measured runs next to published ones: the published figure, the measured one in the same unit,
//! the ratio, and lettered notes on what is not the same; then the figures that have no
//! counterpart.

use std::collections::BTreeMap;

use super::columns::{RATE, at_service_time};
use super::document::{Block, Cell, Column, Declared, Section, Table};
use super::masthead::entries::{compact, times_shown};
use super::picture::{Fold, Mark, Part, Picture, RatioMark, RatioRow, Ratios, Tone};
use super::{Input, Language, RunTests};
use dbdyno_core::analysis::beside::{
    Beside, Code, CodeWords, Figure, Pair, Standing, Unpaired, Why, Words, beside, standing,
};
use dbdyno_core::analysis::compare::{Kind, Side};
use dbdyno_core::catalog::Catalog;
use dbdyno_core::model::{RunKind, Sentence};

/// Comparisons of every measured run with every published one: of the runs of a comparison, or of
/// one run and its reference.
pub fn all(input: &Input) -> Vec<Beside> {
    let words = words(input);
    let named = |data, name| Named { data, name };
    let of_reference = |data| named(data, name(data, input.language));
    let runs = input.runs.iter().zip(input.platforms()).map(|(data, name)| named(data, name));
    let runs: Vec<Named<'_>> = runs.chain(input.reference.iter().map(of_reference)).collect();
    let (theirs, yours): (Vec<_>, Vec<_>) =
        runs.iter().partition(|one| one.data.run.kind == RunKind::Published);
    let mut found = Vec::new();
    for yours in &yours {
        for theirs in &theirs {
            found.push(beside(&yours.side(), &theirs.side(), &words));
        }
    }
    found
}

/// More runs beside publications than these are left to `compare`.
const MAX_BESIDE: usize = 12;

/// The comparisons that a report of these runs shows with publications: each measured run with each
/// published one, also with the one that a single run is compared with. Empty if all are measured,
/// or none.
pub(super) fn pairs_to_show(input: &Input) -> Vec<Beside> {
    let reference = input.reference.iter().filter(|_| input.runs.len() == 1);
    let is_published = |data: &&RunTests| data.run.kind == RunKind::Published;
    let count = input.runs.iter().chain(reference).filter(is_published).count();
    let ours = input.runs.iter().filter(|data| !is_published(data)).count();
    if count * ours > MAX_BESIDE { Vec::new() } else { all(input) }
}

/// A run with the name that reports give it.
struct Named<'a> {
    data: &'a RunTests,
    name: String,
}

impl Named<'_> {
    fn side(&self) -> Side<'_> {
        Side { name: &self.name, run: &self.data.run, tests: &self.data.tests, price: None }
    }
}

fn name(data: &RunTests, language: Language) -> String {
    let numbered = || language.say("run_unnamed", &[("id", &data.run.id.to_string())]);
    data.run.name.clone().unwrap_or_else(numbered)
}

/// The catalog's words about workloads, codes and suites.
fn words(input: &Input) -> Words<'_> {
    let catalog = &input.catalog;
    let codes = catalog.published().codes.iter().map(|known| CodeWords {
        code: &known.code,
        description: &known.description,
        fixed: &known.fixed,
        best: &known.best,
    });
    Words {
        workloads: catalog.workloads().collect(),
        codes: codes.collect(),
        suites: suites(catalog),
        orgs: input.orgs.iter().map(|(engine, orgs)| (*engine, *orgs)).collect(),
    }
}

/// The tests of all suites: suite, workload, parameters.
fn suites(catalog: &Catalog) -> Vec<(&str, &str, BTreeMap<String, String>)> {
    let mut all = Vec::new();
    for suite in catalog.suites() {
        for test in catalog.suite_tests(suite).unwrap_or_default() {
            let Some(text) = &test.workload else { continue };
            let Ok(selection) = dbdyno_core::catalog::parse_selection(text) else { continue };
            let Ok(asked) = catalog.find(&selection.name) else { continue };
            let mut params = asked.params;
            params.extend(test.params.into_iter().chain(selection.params));
            all.push((suite.id.as_str(), asked.entry.workload.id.as_str(), params));
        }
    }
    all
}

/// The sections of a document: of each pair of runs the figures, the notes, and what is unpaired.
pub(super) fn sections(found: &[Beside], language: Language) -> Vec<Section> {
    let section =
        |one: &Beside| Section { title: title(one, language), blocks: blocks(one, language) };
    found.iter().map(section).collect()
}

fn title(one: &Beside, language: Language) -> String {
    let names = [("yours", one.yours.as_str()), ("theirs", one.theirs.as_str())];
    language.say("{yours} beside the publication {theirs}", &names)
}

fn blocks(one: &Beside, language: Language) -> Vec<Block> {
    let mut blocks = vec![Block::Paragraph(answer(one, language))];
    if !one.pairs.is_empty() {
        let mut letters = Letters::default();
        blocks.push(Block::Table(pairs(one, language, &mut letters)));
        blocks.push(Block::Table(letters.table(one, language)));
    }
    blocks.extend(unpaired(one, language));
    blocks
}

/// The count of pairs, and of those in which yours is ahead; or that there is none.
pub(super) fn answer(one: &Beside, language: Language) -> String {
    let names = [("yours", one.yours.as_str()), ("theirs", one.theirs.as_str())];
    if one.pairs.is_empty() {
        return language.say("No figure of {yours} has a counterpart in {theirs}.", &names);
    }
    let pairs: Vec<&Pair> = one.pairs.iter().collect();
    let is_bound = |pair: &&&Pair| pair.bound.is_some();
    let is_plain = |pair: &&&Pair| {
        [&pair.theirs, &pair.yours].iter().all(|of| of.conversion.code == Code::AsPrinted)
    };
    let plain = pairs.iter().filter(is_plain).count();
    let counts = [
        ("pairs", pairs.len()),
        ("plain", plain),
        ("converted", pairs.len() - plain),
        ("bounds", pairs.iter().filter(is_bound).count()),
    ];
    let counts = counts.map(|(name, count)| (name, count.to_string()));
    let counts = counts.each_ref().map(|(name, count)| (*name, count.as_str()));
    let paired = language.say(
        "Figures paired: {pairs}, of which {plain} in the unit as printed and {converted} \
         converted; {bounds} of theirs are bounds.",
        &counts,
    );
    let caution = language.phrase(
        "Published figures have no interval and differ from yours in engine, hardware and data: \
         every ratio here is conditional and gives orders of magnitude only.",
    );
    let ahead = ahead(&pairs, language);
    ahead.into_iter().chain([paired, caution]).collect::<Vec<_>>().join(" ")
}

/// The counts of figures in which yours is ahead or level: with one job, and at best; and of those
/// that do not show it, or show it with a doubt.
fn ahead(pairs: &[&Pair], language: Language) -> Vec<String> {
    let kinds = [(Kind::Speed, "ahead_speed"), (Kind::Throughput, "ahead_best")];
    let counted = kinds.iter().filter_map(|(kind, key)| {
        let Standing { ahead, level, open, doubtful, all } = standing(pairs, *kind);
        let said = [ahead, level, all].map(|count| count.to_string());
        let named = [("ahead", said[0].as_str()), ("level", &said[1]), ("of", &said[2])];
        let counts = [("bounds_of_theirs", open), ("doubtful_of_yours", doubtful)];
        let further = counts.into_iter().filter(|(_, count)| *count > 0);
        let further = further.map(|(key, count)| language.count(key, count, &[]));
        let told = std::iter::once(language.say(key, &named)).chain(further);
        (all > 0).then(|| told.collect::<Vec<_>>().join(" "))
    });
    counted.collect()
}

/// The position of a run beside the publication that it is shown against, in sentences.
pub(super) fn position(one: &Beside, language: Language) -> String {
    let pairs: Vec<&Pair> = one.pairs.iter().collect();
    let beside = language.say("Beside the publication {theirs}:", &[("theirs", &one.theirs)]);
    let counts = match pairs.is_empty() {
        true => vec![language.phrase("no figure has a counterpart.")],
        false => {
            let doubt = language.phrase("Every such ratio is conditional.");
            ahead(&pairs, language).into_iter().chain([doubt]).collect()
        }
    };
    std::iter::once(beside).chain(counts).collect::<Vec<_>>().join(" ")
}

/// Notes by letter, in the order of appearance, each text once.
#[derive(Default)]
struct Letters(Vec<String>);

impl Letters {
    /// `a c`: the letters of a pair's notes.
    fn of_pair(&mut self, pair: &Pair, language: Language) -> String {
        let letters = pair.semantics.iter().map(|note| {
            let text = language.sentence(&note.text);
            let at = self.0.iter().position(|known| *known == text).unwrap_or_else(|| {
                self.0.push(text);
                self.0.len() - 1
            });
            letter(at)
        });
        letters.collect::<Vec<_>>().join(" ")
    }

    fn table(&self, one: &Beside, language: Language) -> Table {
        let columns = [Column::new("Note", "", 0), Column::new("What is not the same", "", 0)];
        let mut table = Table::new(language, format!("notes {}", one.theirs), columns);
        let row = |(at, text): (usize, &String)| vec![Cell::text(letter(at)), Cell::text(text)];
        table.rows = self.0.iter().enumerate().map(row).collect();
        table
    }
}

/// a to z, then aa, ab ...
fn letter(at: usize) -> String {
    let last = char::from(b'a' + (at % 26) as u8);
    if at < 26 { last.to_string() } else { format!("{}{last}", letter(at / 26 - 1)) }
}

/// A pair with the letters of its notes.
struct PairRow<'a> {
    pair: &'a Pair,
    notes: String,
}

fn pairs(one: &Beside, language: Language, letters: &mut Letters) -> Table {
    let columns = pair_columns();
    let mut table = Table::declared(language, format!("beside {}", one.theirs), &columns);
    for pair in &one.pairs {
        let notes = letters.of_pair(pair, language);
        table.add_row(&columns, &PairRow { pair, notes });
    }
    table.drop_empty_columns();
    table
}

fn pair_columns<'a>() -> [Declared<PairRow<'a>>; 16] {
    [
        Declared::new("Code", "", 0, |row, _| Cell::text(&row.pair.code)),
        Declared::new("Workload", "", 1, |row, _| Cell::text(&row.pair.workload)),
        Declared::new("What the publication measured", "", 6, |row, _| {
            Cell::text(&row.pair.description)
        }),
        Declared::new("Kind", "", 0, |row, table| {
            Cell::text(table.language.phrase(row.pair.kind.name()))
        }),
        Declared::new("Published", "", 2, |row, _| Cell::Number {
            value: row.pair.theirs.printed,
            digits: RATE,
            verdict: None,
        }),
        Declared::new("as", "", 2, |row, _| Cell::text(&row.pair.theirs.printed_unit)),
        Declared::new("Converted", "", 0, |row, _| figure_cell(&row.pair.theirs)),
        Declared::new("Jobs", "", 5, |row, _| Cell::count_if_known(row.pair.theirs.jobs)),
        Declared::new("Yours", "", 0, |row, _| figure_cell(&row.pair.yours)),
        Declared::new("Jobs", "", 5, |row, _| Cell::count_if_known(row.pair.yours.jobs)),
        Declared::new("Unit", "", 0, |row, _| Cell::text(row.pair.unit)),
        Declared::new("Published@mean", "", 7, |row, table| {
            at_mean(table.language, &row.pair.theirs)
        }),
        Declared::new("Yours@mean", "", 7, |row, table| at_mean(table.language, &row.pair.yours)),
        Declared::new("Yours / theirs", "", 0, |row, table| {
            Cell::text(ratio(row.pair, table.language))
        }),
        Declared::new("Notes", "", 0, |row, _| Cell::text(&row.notes)),
        Declared::new("Verdict", "", 3, |row, _| Cell::Verdict(row.pair.status)),
    ]
}

fn figure_cell(side: &Figure) -> Cell {
    Cell::Number { value: side.value, digits: RATE, verdict: Some(side.status) }
}

fn at_mean(language: Language, side: &Figure) -> Cell {
    at_service_time(language, side.value, side.service_time_ms, side.status)
}

/// `2.56×`; `≤ 2.56×` where theirs is a lower bound.
fn ratio(pair: &Pair, language: Language) -> String {
    let shown = times_shown(language, pair.ratio);
    if pair.bound.is_some() { format!("≤ {shown}") } else { shown }
}

/// The figures without a pair, a row per reason; none if everything is paired.
fn unpaired(one: &Beside, language: Language) -> Option<Block> {
    let columns = [Column::new("Why", "", 0), Column::new("Codes", "", 0)];
    let mut table = Table::new(language, format!("unpaired {}", one.theirs), columns);
    let mut rows: Vec<(Why, String, Vec<String>)> = Vec::new();
    for unpaired in &one.unpaired {
        let text = language.sentence(&unpaired.text);
        let code = code(unpaired, language);
        match rows.iter_mut().find(|(why, known, _)| *why == unpaired.reason && *known == text) {
            Some((_, _, codes)) => codes.push(code),
            None => rows.push((unpaired.reason, text, vec![code])),
        }
    }
    let row = |(why, text, codes): &(Why, String, Vec<String>)| {
        vec![Cell::text(reason(*why, text, language)), Cell::text(codes.join(", "))]
    };
    table.rows = rows.iter().map(row).collect();
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

fn code(unpaired: &Unpaired, language: Language) -> String {
    match unpaired.kind {
        Some(kind) => format!("{} ({})", unpaired.code, language.phrase(kind.name())),
        None => unpaired.code.clone(),
    }
}

fn reason(why: Why, text: &str, language: Language) -> String {
    let class = match why {
        Why::NotRun => "not in your run",
        Why::EngineCannot => "your engine cannot",
        Why::NoWorkload => "no workload",
        Why::OtherWork => "other work",
        Why::SourceContradicts => "the source",
        Why::NoFigure => "no figure of yours",
        Why::OnlyYours => "only yours",
    };
    language.sentence(
        &Sentence::new("{class}: {text}").with("class", Sentence::new(class)).with("text", text),
    )
}

/// The parts of a page: a drawing of the ratios of each pair of runs, with notes and what is left.
pub(super) fn parts(found: &[Beside], language: Language) -> Vec<Part> {
    found.iter().map(|one| part(one, language)).collect()
}

fn part(one: &Beside, language: Language) -> Part {
    let fold = |title: &str, is_open, block| Fold {
        title: language.phrase(title),
        is_open,
        blocks: vec![block],
    };
    let mut part =
        Part { title: title(one, language), about: answer(one, language), ..Part::default() };
    if !one.pairs.is_empty() {
        let mut letters = Letters::default();
        let rows = one.pairs.iter().map(|pair| {
            let notes = letters.of_pair(pair, language);
            ratio_row(pair, notes, language)
        });
        let heads = ["Yours / theirs", "Theirs", "Yours", "Unit", "Notes"];
        let picture = Ratios {
            spoken: title(one, language),
            equal: language.phrase("equal"),
            label_head: language.phrase("What the publication measured"),
            heads: heads.map(|head| language.phrase(head)).into(),
            rows: rows.collect(),
            has_stems: true,
            has_sentences: true,
        };
        part.pictures.push(Picture::Ratios(picture));
        let notes = Block::Table(letters.table(one, language));
        part.folds.push(fold("Notes: what is not the same", true, notes));
        let exact = Block::Table(pairs(one, language, &mut Letters::default()));
        part.folds.push(fold("Exact figures", false, exact));
    }
    let left = unpaired(one, language);
    part.folds.extend(left.map(|block| fold("What cannot be paired", true, block)));
    part
}

/// A row of the drawing: hollow, as a publication has no interval. Better and worse have no color.
fn ratio_row(pair: &Pair, notes: String, language: Language) -> RatioRow {
    let side = |value: f64, of: Option<u32>| match (pair.kind, of) {
        (Kind::Throughput, Some(_)) => {
            format!("{} ({})", compact(language, value), language.jobs(of))
        }
        // Speed is that of one job; of a throughput the publication may not print the jobs.
        (Kind::Speed, _) | (Kind::Throughput, None) => compact(language, value),
    };
    let kind = language.phrase(if pair.kind == Kind::Speed { "One job" } else { "Best" });
    let code = if pair.code.is_empty() { &pair.workload } else { &pair.code };
    RatioRow {
        group: code.clone(),
        label: format!("{kind}: {}", pair.description),
        marks: vec![RatioMark {
            value: pair.ratio,
            span: None,
            mark: Mark::Valid,
            is_open: true,
            is_second: false,
        }],
        cells: vec![
            ratio(pair, language),
            side(pair.theirs.value, pair.theirs.jobs),
            side(pair.yours.value, pair.yours.jobs),
            pair.unit.into(),
            notes,
        ],
        tone: Tone::Plain,
        mark: pair.status.into(),
        verdict: language.verdict(pair.status),
        ..RatioRow::default()
    }
}
