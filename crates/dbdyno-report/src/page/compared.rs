//! The page of comparisons: of a pair its answer, ratios and differences; of many platforms which
//! comes how near to the best.

use std::collections::BTreeSet;

use super::super::document::Block;
use super::super::masthead::head_of_several;
use super::super::picture::{Fold, Page, Part, Picture, Share, StyledText, Tone};
use super::super::{Input, Language, beside, compare, summary};
use super::design::{fold, heat, in_sentences, method, overlays, part};
use super::ratios;
use super::sheet::standings;
use dbdyno_core::analysis::beside::Beside;
use dbdyno_core::analysis::compare::{self as comparison, Change, Comparison};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::model::{RunKind, Sentence};

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
        // Figures without an interval cannot be compared, but are shown next to the publication.
        [one] if first.kpms.is_empty() => StyledText::sentence(&beside::answer(one, language)),
        _ => compared_answer(first, language),
    };
    head.shares = shares(comparisons, language);
    Some(Page { is_sheet: false, is_list: false, head, parts })
}

/// Numbers of jobs from which on a ramp has a curve: with fewer it is only the ratios of its ends,
/// which are shown above.
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

/// The answer of the gate; without one the findings that lead, in words.
fn compared_answer(comparison: &Comparison, language: Language) -> Vec<StyledText> {
    let of_gate = comparison::answer(comparison);
    let undecided = comparison.findings.iter().filter(|finding| finding.code == "undecided");
    let said: Vec<&Sentence> = match of_gate.is_empty() {
        true => comparison::leading(comparison).iter().map(|finding| &finding.text).collect(),
        false => of_gate.iter().chain(undecided.map(|finding| &finding.text)).collect(),
    };
    let said: Vec<String> =
        said.into_iter().map(|said| format!("{}.", language.sentence(said))).collect();
    let nothing = || compare::nothing_found(comparison, language);
    StyledText::sentence(&if said.is_empty() { nothing() } else { said.join(" ") })
}

/// Numbers of valid figures that are better, inside the noise, worse, or without interval; of those
/// that differ by their own interval alone, which is no finding among so many; and of those left
/// out.
fn shares(comparisons: &[Comparison], language: Language) -> Vec<Share> {
    let rows = || comparisons.iter().flat_map(|comparison| &comparison.kpms);
    let of = |change: Change| {
        rows().filter(|row| supports(row.status) && row.change() == change).count()
    };
    let found = |change: Change| rows().filter(|row| row.stands && row.change() == change).count();
    let share = |tone, count: usize, word: &str| Share { tone, count, word: language.phrase(word) };
    let left_out = rows().filter(|row| !supports(row.status)).count();
    let by_chance: usize = comparisons.iter().map(Comparison::by_chance).sum();
    let by_chance = (by_chance > 0).then(|| share(Tone::Plain, by_chance, BY_CHANCE));
    let decided = [
        share(Tone::Better, found(Change::Better), "better beyond the noise"),
        share(Tone::Same, of(Change::Same), "within the noise"),
        share(Tone::Worse, found(Change::Worse), "worse beyond the noise"),
    ];
    let open = [
        share(Tone::Plain, of(Change::Undecided), "undecided"),
        share(Tone::Plain, left_out, "not valid"),
    ];
    decided.into_iter().chain(by_chance).chain(open).collect()
}

/// Word for figures that differ by their own interval and are no finding.
const BY_CHANCE: &str = "differ no more than chance explains";

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
    let mut what = compare::differences(&comparison.differences, language, &name);
    what.extend(compare::notes_on_base(comparison, language));
    differs.pictures.push(Picture::Blocks(what));
    if !comparison.not_compared.is_empty() {
        let table = compare::not_compared(comparison, language, false);
        differs.folds.push(Fold {
            is_open: true,
            ..fold(language, "Not compared", vec![Block::Table(table)])
        });
    }
    vec![ratio, differs]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::Terms;
    use dbdyno_core::analysis::compare::fixture::{run, side};
    use dbdyno_core::analysis::fixture::at;
    use dbdyno_core::model::{Test, TestResult};

    /// Three repetitions of forty workloads at two jobs, of which the last one has this rate.
    fn tests(rate_of_last: f64) -> Vec<Test> {
        let of_workload = |number: u32| {
            let rate = if number == 39 { rate_of_last } else { 100.0 };
            [1.0, 0.999, 1.001].map(|noise| {
                let workload = format!("W{number}");
                let short = TestResult { ci_fraction: None, window_s: 1.0, ..at(2, rate * noise) };
                Test::from(TestResult { group: format!("G{number}"), workload, ..short })
            })
        };
        (0..40).flat_map(of_workload).collect()
    }

    #[test]
    fn a_difference_that_is_no_finding_is_counted_and_coloured_as_none() {
        let runs = [run("a"), run("b")];
        let (base, other) = (tests(100.0), tests(112.0));
        let (base, other) = (side("a", &runs[0], &base), side("b", &runs[1], &other));
        let found = comparison::compare(&base, &other, &Terms::new(&[]));
        assert_eq!((found.by_chance(), found.findings.len()), (1, 0));
        let english = Language::English;
        let told: Vec<(usize, String)> = shares(std::slice::from_ref(&found), english)
            .into_iter()
            .map(|share| (share.count, share.word))
            .collect();
        let expected = [
            (0, "better beyond the noise"),
            (39, "within the noise"),
            (0, "worse beyond the noise"),
            (1, BY_CHANCE),
            (0, "undecided"),
            (0, "not valid"),
        ];
        assert_eq!(told, expected.map(|(count, word)| (count, word.to_string())));
        let said = compare::nothing_found(&found, english);
        assert!(said.starts_with("Of 40 comparisons, about 2 would differ by chance."), "{said}");
        let tones: Vec<Tone> = found.kpms.iter().map(ratios::tone).collect();
        assert!(!tones.contains(&Tone::Better) && tones.contains(&Tone::Plain), "{tones:?}");
    }
}
