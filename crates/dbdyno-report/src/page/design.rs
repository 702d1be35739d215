//! Arrangement of a page for a browser: the answer and trust first, then pictures with the exact
//! figures folded below them, then every test, the disclosure folded, and at the end the command
//! and the method.

use std::collections::{BTreeMap, BTreeSet};

use super::super::document::{Bars, Block, Chart, Section, Table};
use super::super::picture::{Card, Fold, Head, Page, Part, Picture, StyledText, Tone};
use super::super::{
    Input, Language, RunTests, about, axis_charts, bars, beside, compare, datasheet, heatmap, kpm,
    open_loop, platform, price, ramp_charts, scaling, summary, units,
};
use super::{Limits, cards, head, panels, ratios, shortened, timeline};
use dbdyno_core::analysis::beside::Beside;
use dbdyno_core::analysis::compare::{self as comparison, Change, Comparison};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::model::{RunKind, Test};

/// Rows of the picture on the one sheet of a summary.
const SHEET_ROWS: usize = 14;
/// Facts of its name plate.
const SHEET_FACTS: usize = 6;
/// Platforms on it, if there are several.
const SHEET_PLATFORMS: usize = 9;
/// Tiles on it.
const SHEET_TILES: usize = 5;

/// A curve of fewer places is not drawn beside others.
const MIN_PLACES: usize = 3;

/// Runs whose names stand in a title; of more the others stand on the name plate.
const MAX_NAMED: usize = 7;

/// Reading instructions for the cards.
const CARDS: &str = "Best throughput at any number of jobs, or the time at one job. Dashed: \
                     perfect scaling from one job. Service times on one logarithmic axis: thick \
                     mark p50, bar to p99; a diamond is a mean, where too few ops were timed. A \
                     ring is round the best. A rule chooses the headline: the first workload of \
                     the group with a valid ramp, else with a valid figure.";
const PANELS: &str = "One row per group; each column has the same axes in every row. A knee is \
                      drawn only where the scalability law fits at least four numbers of jobs.";
const TIMELINE: &str = "Every second of every test on one line of time; a test that is shorter is \
                        one bar, by its mean. Gaps are set-up and loading, which are not measured. \
                        Numbered: tests that others on the machine disturbed.";
const FINGERPRINT: &str = "Each figure against {reference}, logarithmic: squares are speed (one \
                           job), circles throughput (best). Right of the line is better; a hollow \
                           triangle is conditional, and nothing is said of it.";

const ONE_JOB: &str = "Mean time of one op at one job; the longest of each workload fills its \
                       rows. An invalid figure has no bar.";
const TIERS: &str = "Share of the blocks that each tier served at the best throughput, from the \
                     fastest tier to the slowest, and the mean time of an access. The time of the \
                     buffer cache is an upper limit: it holds all other work of the statement.";
const COMMITS: &str = "Share of the ops by their time at the best throughput, of workloads whose \
                       ops commit once: the wait for the log is most of it.";

/// The page of one run or of several; none without runs.
pub(super) fn page(input: &Input, limits: &Limits, left_out: &[String]) -> Option<Page> {
    match input.runs.as_slice() {
        [] => None,
        [data] => Some(of_one(input, data, limits, left_out)),
        _ => Some(of_several(input, limits, left_out)),
    }
}

fn of_one(input: &Input, data: &RunTests, limits: &Limits, left_out: &[String]) -> Page {
    let language = input.language;
    let mut parts = vec![key_metrics(input, data)];
    let published = beside::shown(input);
    match published.as_slice() {
        [] => parts.extend(fingerprint(input, data)),
        published => parts.extend(beside::parts(published, language)),
    }
    parts.extend(panels::draw(input).map(|picture| {
        let folds = sections_folded(scaling::tables(input));
        part(language, "How it scales", PANELS, vec![picture], folds)
    }));
    parts.extend(over_other_axes(input));
    parts.extend(served(input));
    let line = timeline::draw(input, data, limits.seconds);
    parts.extend(
        line.map(|picture| part(language, "Second by second", TIMELINE, vec![picture], Vec::new())),
    );
    parts.extend(open_loop_part(language, data, limits));
    parts.extend(every_test(input, limits));
    parts.extend(further(input));
    parts.push(platform_part(input, data));
    parts.push(method(input, left_out));
    Page {
        is_sheet: false,
        is_list: false,
        head: head::of_run(input, data, "run report", &published),
        parts,
    }
}

fn part(
    language: Language,
    title: &str,
    about: &str,
    pictures: Vec<Picture>,
    folds: Vec<Fold>,
) -> Part {
    Part { title: language.phrase(title), about: language.phrase(about), pictures, folds }
}

fn fold(language: Language, title: &str, blocks: Vec<Block>) -> Fold {
    Fold { title: language.phrase(title), is_open: false, blocks }
}

/// Sections as folds under their own titles.
fn sections_folded(sections: Vec<Section>) -> Vec<Fold> {
    let of =
        |section: Section| Fold { title: section.title, is_open: false, blocks: section.blocks };
    sections.into_iter().filter(|section| !section.blocks.is_empty()).map(of).collect()
}

fn key_metrics(input: &Input, data: &RunTests) -> Part {
    let language = input.language;
    let about = if data.tests.is_empty() { "This run has no test." } else { CARDS };
    let mut folds = Vec::new();
    if !data.tests.is_empty() {
        folds.push(fold(
            language,
            "Exact figures",
            vec![Block::Table(datasheet::kpms(input, data))],
        ));
        let sentences = summary::Summary.sentences(input);
        let blocks = sentences.into_iter().flat_map(|section| section.blocks).collect();
        folds.push(fold(language, "The same in sentences", blocks));
    }
    part(
        language,
        "Key performance metrics",
        about,
        vec![Picture::Cards(cards::cards(input))],
        folds,
    )
}

/// Ramps over threads and nodes; none without one.
fn over_other_axes(input: &Input) -> Option<Part> {
    let groups = input.used_groups();
    let charts: Vec<_> = groups.iter().flat_map(|(id, _)| axis_charts::charts(input, id)).collect();
    let title = "Over threads and nodes";
    (!charts.is_empty())
        .then(|| part(input.language, title, "", vec![Picture::Charts(charts)], Vec::new()))
}

/// The times of one job, platforms below one another.
fn one_job(input: &Input) -> Option<Part> {
    let pictures = vec![Picture::Blocks(vec![Block::Bars(bars::one_job(input)?)])];
    Some(part(input.language, "Time of one job", ONE_JOB, pictures, Vec::new()))
}

/// Read sources, and the times of commits.
fn served(input: &Input) -> Vec<Part> {
    let drawn = |title: &str, about: &str, bars: Bars| {
        let pictures = vec![Picture::Blocks(vec![Block::Bars(bars)])];
        part(input.language, title, about, pictures, Vec::new())
    };
    let tiers = bars::tiers(input).map(|bars| drawn("Where reads were served", TIERS, bars));
    let commits = bars::commits(input).map(|bars| drawn("How long commits took", COMMITS, bars));
    tiers.into_iter().chain(commits).collect()
}

/// The run against the reference that was chosen; none without one.
fn fingerprint(input: &Input, data: &RunTests) -> Option<Part> {
    let (language, reference) = (input.language, input.reference.as_ref()?);
    let both = Input { runs: vec![reference.clone(), data.clone()], ..input.clone() };
    let found = compare::comparisons(&both).into_iter().next()?;
    let picture = ratios::fingerprint(&found, language)?;
    let title = head::title(language, reference);
    let named = format!("{} ({title})", found.base);
    let about = language.say(FINGERPRINT, &[("reference", &named)]);
    let blocks = vec![Block::Table(compare::rows(&found, language, false))];
    let differs = compare::differences(&found.differences, language, "differences");
    let folds =
        vec![fold(language, "Exact figures", blocks), fold(language, "What differs", differs)];
    Some(Part {
        title: language.phrase("Platform fingerprint"),
        about,
        pictures: vec![picture],
        folds,
    })
}

/// The tables of every test, open; none where there are too many.
fn every_test(input: &Input, limits: &Limits) -> Option<Part> {
    let language = input.language;
    if input.tests().count() > limits.lines || input.tests().count() == 0 {
        return None;
    }
    let mut folds = sections_folded(kpm::tables(input));
    folds.iter_mut().for_each(|fold| fold.is_open = true);
    let about =
        "Exact figures as stored, one line per test; a click on the head of a column sorts by it.";
    Some(part(language, "Every test", about, Vec::new(), folds))
}

/// Part that only some runs have: prices.
fn further(input: &Input) -> Option<Part> {
    let blocks = |section: Section| section.blocks;
    let priced = !input.prices.is_empty();
    let all: Vec<Block> = price::sections(input).into_iter().flat_map(blocks).collect();
    priced.then(|| {
        part(input.language, "Licences and prices", "", vec![Picture::Blocks(all)], Vec::new())
    })
}

fn platform_part(input: &Input, data: &RunTests) -> Part {
    let language = input.language;
    let loads =
        (!data.run.loads.is_empty()).then(|| Block::Table(datasheet::loads(language, &data.run)));
    let loads =
        loads.map(|table| Fold { is_open: true, ..fold(language, "Data as loaded", vec![table]) });
    let folds = disclosure(input).into_iter().chain(loads).collect();
    part(language, "Platform as disclosed", "", Vec::new(), folds)
}

/// The tests of an open loop, with the phases of a load over time; none without any. The charts of
/// many points are left out, as on the line of time.
fn open_loop_part(language: Language, data: &RunTests, limits: &Limits) -> Option<Part> {
    let mut blocks = open_loop::blocks(language, data)?;
    let points: usize = data.tests.iter().map(|test| test.series().len()).sum();
    if points > limits.seconds {
        blocks.retain(|block| !matches!(block, Block::Drawing(_)));
    }
    Some(part(language, "Open loop", "", vec![Picture::Blocks(blocks)], Vec::new()))
}

/// Every disclosed fact behind one line per kind.
fn disclosure(input: &Input) -> Vec<Fold> {
    let count = |blocks: &[Block]| -> usize {
        blocks
            .iter()
            .map(|block| if let Block::Table(Table { rows, .. }) = block { rows.len() } else { 0 })
            .sum()
    };
    let mut folds = sections_folded(platform::sections(input));
    for fold in &mut folds {
        let facts = count(&fold.blocks);
        if facts > 0 {
            fold.title = format!("{} ({facts})", fold.title);
        }
    }
    folds
}

/// The command that made it, and how to read it.
fn method(input: &Input, left_out: &[String]) -> Part {
    let section = about::method(input);
    let mut blocks = section.blocks;
    blocks.rotate_right(1);
    let tests = input.tests().count();
    let left_out = shortened(input.language, tests, left_out)
        .map(|section| section.blocks)
        .unwrap_or_default();
    let blocks = left_out.into_iter().chain(blocks).collect();
    Part { title: section.title, pictures: vec![Picture::Blocks(blocks)], ..Part::default() }
}

/// Several runs side by side: who is ahead in sentences, heatmaps, their ramps, every test, what
/// differs.
fn of_several(input: &Input, limits: &Limits, left_out: &[String]) -> Page {
    let language = input.language;
    let mut parts = vec![in_sentences(input)];
    parts.extend(heat(input));
    parts.extend(beside::parts(&beside::shown(input), language));
    parts.extend(one_job(input));
    parts.extend(overlays(input));
    parts.extend(served(input));
    let laws = sections_folded(scaling::tables(input));
    parts.push(part(language, "Laws of scalability", "", Vec::new(), laws));
    parts.extend(every_test(input, limits));
    parts.extend(further(input));
    let datasheets = sections_folded(datasheet::sections_of_all(input));
    parts.push(part(language, "Datasheets", "", Vec::new(), datasheets));
    parts.push(part(language, "Platforms as disclosed", "", Vec::new(), disclosure(input)));
    parts.push(method(input, left_out));
    Page { is_sheet: false, is_list: false, head: head_of_several(input, "platforms"), parts }
}

pub(super) fn head_of_several(input: &Input, kind: &str) -> Head {
    let language = input.language;
    let all: Vec<Test> =
        input.runs.iter().flat_map(|data| data.tests.iter().map(Test::without_seconds)).collect();
    let mut names = input.platforms();
    let plate = input
        .runs
        .iter()
        .zip(names.clone())
        .map(|(data, name)| (name, head::title(language, data)));
    if names.len() > MAX_NAMED {
        names.truncate(MAX_NAMED);
        names.push("…".into());
    }
    let names = names.join(", ");
    Head {
        kind: language.phrase(kind),
        title: language.count("runs", input.runs.len(), &[("names", &names)]),
        counts: head::counts(language, &all),
        plate: plate.collect(),
        folds: head::reasons(language, &all).into_iter().collect(),
        ..Head::default()
    }
}

fn in_sentences(input: &Input) -> Part {
    let lines = summary::Summary.sentences(input).iter().map(line).collect();
    part(input.language, "In sentences", "", vec![Picture::Lines(lines)], Vec::new())
}

/// Speed and throughput as heatmaps.
fn heat(input: &Input) -> Vec<Part> {
    let of = |section: Section| {
        let mut part = Part { title: section.title, ..Part::default() };
        for block in section.blocks {
            match block {
                Block::Heatmap(map) => part.pictures.push(Picture::Heatmap(map)),
                Block::Paragraph(text) => part.about = text,
                other => part.pictures.push(Picture::Blocks(vec![other])),
            }
        }
        part
    };
    heatmap::sections(input).into_iter().map(of).collect()
}

/// The ramps of each group, platforms over one another. Two points say no more than the ratios do:
/// such curves are not drawn, and a sentence says how many.
fn overlays(input: &Input) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut left_out = 0;
    for section in ramp_charts::sections(input) {
        let charts = section.blocks.into_iter().filter_map(|block| match block {
            Block::Chart(chart) => Some(chart),
            _ => None,
        });
        let (drawn, short): (Vec<Chart>, Vec<Chart>) =
            charts.partition(|chart| chart.places() >= MIN_PLACES);
        left_out += short.len();
        if !drawn.is_empty() {
            let pictures = vec![Picture::Charts(drawn)];
            parts.push(Part { title: section.title, pictures, ..Part::default() });
        }
    }
    if left_out > 0 {
        let about = "Curves of fewer than three points are not drawn ({count}): the ratios and the \
                     figures at equal numbers of jobs tell the same.";
        let language = input.language;
        parts.push(Part {
            title: language.phrase("Ramps"),
            about: language.say(about, &[("count", &left_out.to_string())]),
            ..Part::default()
        });
    }
    parts
}

/// The page of comparisons with one base.
pub(crate) fn compared(
    input: &Input,
    comparisons: &[Comparison],
    paired: &[Beside],
) -> Option<Page> {
    let language = input.language;
    let first = comparisons.first()?;
    let several = comparisons.len() > 1;
    if several {
        return Some(compared_many(input, comparisons, paired));
    }
    let mut parts = beside::parts(paired, language);
    parts.extend(pair_parts(first, language));
    parts.extend(overlays(input).into_iter().filter(|_| has_curves(input)));
    parts.extend(heat(input));
    parts.push(method(input, &[]));
    let mut head = head_of_several(input, "comparison");
    head.title = compare::against(language, &first.other, &first.base);
    head.answer = match paired {
        // What has no interval cannot be compared, but stands beside the publication.
        [one] if first.kpms.is_empty() => StyledText::sentence(&beside::answer(one, language)),
        _ => compared_answer(first, language),
    };
    head.shares = shares(comparisons, language);
    Some(Page { is_sheet: false, is_list: false, head, parts })
}

/// From so many numbers of jobs on a ramp is more than the ratios of its ends, which are told above
/// already.
const MIN_OF_A_CURVE: usize = 3;

fn has_curves(input: &Input) -> bool {
    let jobs: BTreeSet<Option<u32>> = input.tests().map(|(_, test)| test.jobs()).collect();
    jobs.len() >= MIN_OF_A_CURVE
}

/// Many platforms: which comes how near to the best, every figure of all side by side, what differs
/// among them, their ramps; each against the base is folded, as the base is the first of the
/// command.
fn compared_many(input: &Input, comparisons: &[Comparison], paired: &[Beside]) -> Page {
    let language = input.language;
    let mut parts = beside::parts(paired, language);
    parts.extend(standings(input));
    parts.extend(heat(input));
    parts.push(in_sentences(input));
    let what = compare::differences_of_many(comparisons, language);
    parts.push(part(language, "What differs", "", vec![Picture::Blocks(what)], Vec::new()));
    parts.extend(overlays(input).into_iter().filter(|_| has_curves(input)));
    parts.push(part(
        language,
        "Each against the first",
        "",
        Vec::new(),
        pairs_folded(comparisons, language),
    ));
    parts.push(method(input, &[]));
    let mut head = head_of_several(input, "comparison");
    head.answer = StyledText::sentence(&summary::several::answer(input, &input.platforms()));
    // Published figures have no interval: counting them as undecided would be no answer.
    if input.runs.iter().any(|data| data.run.kind != RunKind::Published) {
        head.shares = shares(comparisons, language);
    }
    Page { is_sheet: false, is_list: false, head, parts }
}

/// Sentence on each pair, behind a line.
fn pairs_folded(comparisons: &[Comparison], language: Language) -> Vec<Fold> {
    let of = |comparison: &Comparison| {
        let mut blocks = compare::findings(comparison, language);
        blocks.push(Block::Paragraph(compare::how_to_read(comparison, language)));
        blocks.push(Block::Table(compare::rows(comparison, language, true)));
        if !comparison.not_compared.is_empty() {
            blocks.push(Block::Table(compare::not_compared(comparison, language, true)));
        }
        let title = compare::against(language, &comparison.other, &comparison.base);
        Fold { title, is_open: false, blocks }
    };
    comparisons.iter().map(of).collect()
}

/// The findings with figures first, then what is left out and doubted, in words.
fn compared_answer(comparison: &Comparison, language: Language) -> Vec<StyledText> {
    const MOST: usize = 4;
    let of =
        |code: &'static str| comparison.findings.iter().filter(move |finding| finding.code == code);
    let ordered =
        ["group", "throughput", "speed", "undecided", "left-out", "slip"].into_iter().flat_map(of);
    let found: Vec<String> = ordered
        .take(MOST)
        .map(|finding| format!("{}.", language.sentence(&finding.text)))
        .collect();
    let nothing = || compare::nothing_found(comparison, language);
    let of_gate = comparison::answer(comparison);
    if !of_gate.is_empty() {
        let said = of_gate.iter().map(|said| format!("{}.", language.sentence(said)));
        return StyledText::sentence(&said.collect::<Vec<_>>().join(" "));
    }
    let text = if found.is_empty() { nothing() } else { found.join(" ") };
    StyledText::sentence(&text)
}

/// Numbers of valid figures that are better, inside the noise, worse, or without interval; and of
/// those that are left out.
fn shares(comparisons: &[Comparison], language: Language) -> Vec<(Tone, usize, String)> {
    let rows = || comparisons.iter().flat_map(|comparison| &comparison.kpms);
    let of = |change: Change| {
        rows().filter(|row| supports(row.status) && row.change() == change).count()
    };
    let said = |tone, count: usize, word: &str| (tone, count, language.phrase(word));
    let left_out = rows().filter(|row| !supports(row.status)).count();
    let all = vec![
        said(Tone::Better, of(Change::Better), "better beyond the noise"),
        said(Tone::Same, of(Change::Same), "within the noise"),
        said(Tone::Worse, of(Change::Worse), "worse beyond the noise"),
        said(Tone::Plain, of(Change::Undecided), "undecided"),
        said(Tone::Plain, left_out, "not valid"),
    ];
    all
}

fn pair_parts(comparison: &Comparison, language: Language) -> Vec<Part> {
    let mut ratio = Part {
        title: language.phrase("Ratio per key metric"),
        about: compare::how_to_read(comparison, language),
        ..Part::default()
    };
    ratio.pictures.extend(ratios::forest(comparison, language));
    ratio.folds.push(fold(
        language,
        "Exact figures",
        vec![Block::Table(compare::rows(comparison, language, false))],
    ));
    if !comparison.equal_jobs.is_empty() {
        let table = compare::equal_jobs(comparison, language, false);
        ratio.folds.push(fold(language, "Equal numbers of jobs", vec![Block::Table(table)]));
    }
    if !comparison.findings.is_empty() {
        ratio.folds.push(fold(language, "Findings", compare::findings(comparison, language)));
    }
    let name = format!("differences {}", comparison.other);
    let mut differs = Part { title: language.phrase("What differs"), ..Part::default() };
    differs.pictures.push(Picture::Blocks(compare::differences(
        &comparison.differences,
        language,
        &name,
    )));
    if !comparison.not_compared.is_empty() {
        let table = compare::not_compared(comparison, language, false);
        differs.folds.push(Fold {
            is_open: true,
            ..fold(language, "Not compared", vec![Block::Table(table)])
        });
    }
    vec![ratio, differs]
}

/// The summary on one sheet.
pub(crate) fn sheet(input: &Input, sections: &[Section]) -> Option<Page> {
    let language = input.language;
    let lines: Vec<(String, Vec<String>)> = sections.iter().map(line).collect();
    let (mut head, pictures) = match input.runs.as_slice() {
        [] => return None,
        [data] => {
            (head::of_run(input, data, "platform summary", &beside::shown(input)), one_sheet(input))
        }
        _ => (head_of_several(input, "summary of several platforms"), standings(input)),
    };
    if input.runs.len() > 1 {
        head.answer = StyledText::sentence(&summary::several::answer(input, &input.platforms()));
    }
    head.folds.clear();
    head.tests.clear();
    // What a line has room for: the whole disclosure is the page's.
    let room = if input.runs.len() == 1 { SHEET_FACTS } else { SHEET_PLATFORMS };
    let more = input.runs.len().saturating_sub(SHEET_PLATFORMS);
    head.plate.truncate(room);
    head.plate.extend((more > 0).then(|| (language.count("more", more, &[]), String::new())));
    // The figures of one run stand in the picture, what was measured on the name plate, and its
    // verdicts in the head.
    let lines = match input.runs.as_slice() {
        [data] => {
            let shown = ["heading_limits", "heading_price"].map(|key| language.say(key, &[]));
            let kept = lines.into_iter().filter(|(title, _)| shown.contains(title));
            kept.chain(care(language, data)).collect()
        }
        _ if pictures.is_empty() && more == 0 => lines,
        // Head and picture say the rest; of the order only how far it can be trusted is left.
        _ => lines
            .into_iter()
            .filter(|(title, _)| *title == language.say("heading_order", &[]))
            .map(|(title, mut texts)| {
                texts.truncate(1);
                (title, texts)
            })
            .collect(),
    };
    let mut parts: Vec<Part> = pictures;
    parts.push(Part { pictures: vec![Picture::Lines(lines)], ..Part::default() });
    Some(Page { is_sheet: true, is_list: false, head, parts })
}

/// A section of sentences under its title.
fn line(section: &Section) -> (String, Vec<String>) {
    let texts = section.blocks.iter().filter_map(|block| match block {
        Block::Paragraph(text) => Some(text.clone()),
        _ => None,
    });
    (section.title.clone(), texts.collect())
}

/// Reasons why tests of a run are not valid: each kind of reason with the number of tests.
fn care(language: Language, data: &RunTests) -> Option<(String, Vec<String>)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for test in &data.tests {
        let mut codes: Vec<_> =
            test.verdict().reasons.iter().filter(|reason| !supports(reason.status)).collect();
        codes.dedup_by_key(|reason| reason.code.clone());
        codes
            .into_iter()
            .for_each(|reason| *counts.entry(language.code(&reason.code)).or_default() += 1);
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told: Vec<String> =
        counts.into_iter().map(|(code, count)| format!("{code} ({count})")).collect();
    let text =
        language.say("Verdicts are lowered for: {reasons}.", &[("reasons", &told.join(", "))]);
    (!told.is_empty()).then(|| (language.phrase("Care"), vec![text]))
}

/// Standings: the distance of each platform from the best.
fn standings(input: &Input) -> Vec<Part> {
    let title = input.language.phrase("Share of the best");
    let found = ratios::standings(input, SHEET_ROWS);
    found
        .map(|(picture, about)| Part { title, about, pictures: vec![picture], ..Part::default() })
        .into_iter()
        .collect()
}

/// The tiles and the gains of one run.
fn one_sheet(input: &Input) -> Vec<Part> {
    let language = input.language;
    let tile_of = |card: &Card| input.groups.iter().find(|it| it.id == card.group)?.tile.as_ref();
    let mut tiles = cards::cards(input);
    tiles.sort_by_key(|card| tile_of(card).map_or(u32::MAX, |tile| tile.place));
    tiles.truncate(SHEET_TILES);
    for tile in &mut tiles {
        (tile.spark, tile.times, tile.others, tile.chips) =
            (None, Vec::new(), Vec::new(), Vec::new());
        // Codes stand in the picture below.
        let plain = tile_of(tile).map(|tile| language.phrase(&tile.name));
        let name = plain.unwrap_or_else(|| {
            if tile.title.is_empty() { tile.group.clone() } else { tile.title.clone() }
        });
        tile.about = language.phrase(units::meaning(&tile.unit).unwrap_or_default());
        (tile.group, tile.title, tile.label) = (name, String::new(), String::new());
    }
    let mut parts = vec![Part { pictures: vec![Picture::Cards(tiles)], ..Part::default() }];
    parts.extend(ratios::gains(input, SHEET_ROWS).map(|(picture, left_out)| {
        let about = language.phrase(
            "Best throughput as a multiple of one job, logarithmic. A triangle is conditional.",
        );
        let more = if left_out > 0 {
            format!(" {}.", language.count("more", left_out, &[]))
        } else {
            String::new()
        };
        Part {
            title: language.phrase("What more jobs bring"),
            about: about + &more,
            pictures: vec![picture],
            ..Part::default()
        }
    }));
    parts
}
