//! The summary on one sheet.

use std::collections::BTreeMap;

use super::super::document::Section;
use super::super::masthead::head_of_several;
use super::super::picture::{Card, Page, Part, Picture, StyledText};
use super::super::{Input, Language, RunTests, beside, summary, units};
use super::design::line;
use super::{cards, head, ratios};
use dbdyno_core::analysis::interval::supports;

/// Rows of the picture on the one sheet of a summary.
const SHEET_ROWS: usize = 14;
/// Facts of its name plate.
const SHEET_FACTS: usize = 6;
/// Platforms on it, if there are several.
const SHEET_PLATFORMS: usize = 9;
/// Tiles on it.
const SHEET_TILES: usize = 5;

/// The summary on one sheet.
pub(crate) fn sheet(input: &Input, sections: &[Section]) -> Option<Page> {
    let language = input.language;
    let lines: Vec<(String, Vec<String>)> = sections.iter().map(line).collect();
    let (mut head, pictures) = match input.runs.as_slice() {
        [] => return None,
        [data] => (
            head::of_run(input, data, "platform summary", &beside::pairs_to_show(input)),
            one_sheet(input),
        ),
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
    // The figures of one run are in the picture, the platform is on the name plate, and the
    // verdicts are in the head.
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
pub(super) fn standings(input: &Input) -> Vec<Part> {
    let title = input.language.phrase("Share of the best");
    let found = ratios::standings(input, SHEET_ROWS);
    found
        .map(|found| Part {
            title,
            about: found.about,
            pictures: vec![found.picture],
            ..Part::default()
        })
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
        // The codes are in the picture below.
        let plain = tile_of(tile).map(|tile| language.phrase(&tile.name));
        let name = plain.unwrap_or_else(|| {
            if tile.title.is_empty() { tile.group.clone() } else { tile.title.clone() }
        });
        tile.about = language.phrase(units::meaning(&tile.unit).unwrap_or_default());
        (tile.group, tile.title, tile.label) = (name, String::new(), String::new());
    }
    let mut parts = vec![Part { pictures: vec![Picture::Cards(tiles)], ..Part::default() }];
    parts.extend(ratios::gains(input, SHEET_ROWS).map(|gains| {
        let about = language.phrase(
            "Best throughput as a multiple of one job, logarithmic. A triangle is conditional.",
        );
        let more = match gains.left_out {
            0 => String::new(),
            left_out => format!(" {}.", language.count("more", left_out, &[])),
        };
        Part {
            title: language.phrase("What more jobs bring"),
            about: about + &more,
            pictures: vec![gains.picture],
            ..Part::default()
        }
    }));
    parts
}
