//! Arrangement of a page for a browser: the answer and trust first, then pictures with the exact
//! figures folded below them, then every test, the disclosure folded, and at the end the command
//! and the method.

use super::super::document::{Bars, Block, Chart, Section, Table};
use super::super::picture::{Fold, Page, Part, Picture};
use super::super::{
    Input, Language, RunTests, about, axis_charts, bars, beside, compare, datasheet, heatmap, kpm,
    masthead, masthead::run, open_loop, platform, price, ramp_charts, scaling, summary,
};
use super::{Limits, cards, head, panels, ratios, shortened, timeline};

/// A curve of fewer places is not drawn beside others.
const MIN_PLACES: usize = 3;

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
    let published = beside::pairs_to_show(input);
    match published.as_slice() {
        [] => parts.extend(fingerprint(input, data)),
        published => parts.extend(beside::parts(published, language)),
    }
    parts.extend(panels::draw(input).map(|picture| {
        let folds = sections_folded(scaling::tables(input));
        part(language, "How it scales", PANELS, vec![picture], folds)
    }));
    parts.extend(over_other_axes(input));
    parts.extend(read_source_parts(input));
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

pub(super) fn part(
    language: Language,
    title: &str,
    about: &str,
    pictures: Vec<Picture>,
    folds: Vec<Fold>,
) -> Part {
    Part { title: language.phrase(title), about: language.phrase(about), pictures, folds }
}

pub(super) fn fold(language: Language, title: &str, blocks: Vec<Block>) -> Fold {
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
fn read_source_parts(input: &Input) -> Vec<Part> {
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
    let title = run::title(language, reference);
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
pub(super) fn method(input: &Input, left_out: &[String]) -> Part {
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

/// Several runs side by side: the ranking in sentences, heatmaps, their ramps, every test, what
/// differs.
fn of_several(input: &Input, limits: &Limits, left_out: &[String]) -> Page {
    let language = input.language;
    let mut parts = vec![in_sentences(input)];
    parts.extend(heat(input));
    parts.extend(beside::parts(&beside::pairs_to_show(input), language));
    parts.extend(one_job(input));
    parts.extend(overlays(input));
    parts.extend(read_source_parts(input));
    let laws = sections_folded(scaling::tables(input));
    parts.push(part(language, "Laws of scalability", "", Vec::new(), laws));
    parts.extend(every_test(input, limits));
    parts.extend(further(input));
    let datasheets = sections_folded(datasheet::sections_of_all(input));
    parts.push(part(language, "Datasheets", "", Vec::new(), datasheets));
    parts.push(part(language, "Platforms as disclosed", "", Vec::new(), disclosure(input)));
    parts.push(method(input, left_out));
    Page {
        is_sheet: false,
        is_list: false,
        head: masthead::head_of_several(input, "platforms"),
        parts,
    }
}

pub(super) fn in_sentences(input: &Input) -> Part {
    let lines = summary::Summary.sentences(input).iter().map(line).collect();
    part(input.language, "In sentences", "", vec![Picture::Lines(lines)], Vec::new())
}

/// Speed and throughput as heatmaps.
pub(super) fn heat(input: &Input) -> Vec<Part> {
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
pub(super) fn overlays(input: &Input) -> Vec<Part> {
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

/// A section of sentences under its title.
pub(super) fn line(section: &Section) -> (String, Vec<String>) {
    let texts = section.blocks.iter().filter_map(|block| match block {
        Block::Paragraph(text) => Some(text.clone()),
        _ => None,
    });
    (section.title.clone(), texts.collect())
}
