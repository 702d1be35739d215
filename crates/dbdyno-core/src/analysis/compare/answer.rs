//! The answer of a gate in plain words, and the loss that a comparison could have found.

use super::findings::figures;
use super::gate::{Judgement, Level, Missing, Outcome};
use super::{Change, Comparison, Row};
use crate::model::{Sentence, Status};
use crate::stats::moderated::Size;

/// Names that a sentence lists.
const MAX_NAMED: usize = 3;

/// Answer of the gate: whether it passes, the figures that it did not judge, the mean, the losses
/// that were found, and the loss that would have been found; empty without a limit.
pub fn answer(comparison: &Comparison) -> Vec<Sentence> {
    let Some(gate) = &comparison.gate else { return Vec::new() };
    let mut sentences = vec![outcome(comparison, gate)];
    sentences.extend(unjudged(comparison));
    sentences.extend(gate.whole.as_ref().map(|whole| of_whole(comparison, gate, whole)));
    sentences.extend(sizes(gate));
    sentences.extend(blind(gate));
    sentences.extend(gate.missing.as_ref().map(missing));
    sentences
}

/// The difference between fresh runs and its source; and, without a gate, the loss that would
/// have been found.
pub fn ability(comparison: &Comparison) -> Vec<Sentence> {
    let size = comparison.detectable.filter(|_| comparison.gate.is_none()).map(|size| found(&size));
    if !comparison.kpms.iter().any(|row| row.estimate.is_some()) {
        return Vec::new();
    }
    let spread = match comparison.earlier_runs {
        0 => Sentence::new(
            "What differs between fresh runs is assumed (1.5 % for a figure, 2.5 % for one whose \
             ops read or write data, 1 % for all together), as no two earlier runs of this \
             platform show it: 'dbdyno calibrate' measures it",
        ),
        runs => Sentence::new(
            "What differs between fresh runs is that of {runs} earlier runs of this platform",
        )
        .with("runs", runs),
    };
    let widened = comparison.widened.map(|times| {
        Sentence::new(
            "These two runs differ, figure by figure, {times} times as much as that allows, which \
             widens all intervals: calibrate",
        )
        .with("times", times)
    });
    size.into_iter().chain([spread]).chain(widened).collect()
}

fn outcome(comparison: &Comparison, gate: &Judgement) -> Sentence {
    match gate.outcome {
        Outcome::Pass => Sentence::new(
            "Pass: no judged figure, no group and not the whole is worse by more than {limit%} \
             beyond the noise",
        )
        .with("limit", gate.limit),
        Outcome::NoAnswer => Sentence::new(
            "No answer: no figure is valid in both runs and has an interval, so that nothing is \
             judged",
        ),
        Outcome::Fail => {
            let all = failures(comparison, gate);
            let named = Sentence::list(all.iter().take(MAX_NAMED).cloned());
            match all.len().saturating_sub(MAX_NAMED) {
                0 => Sentence::new("Fail: {what}").with("what", named),
                more => Sentence::new("Fail: {what} and {more} more")
                    .with("what", named)
                    .with("more", more),
            }
        }
    }
}

/// Figures that a gate does not judge since they are not valid, and those of them that are worse by
/// their measured values.
pub fn unjudged(comparison: &Comparison) -> Option<Sentence> {
    let rows: Vec<&Row> = comparison.unjudged().collect();
    let text = match rows.len() {
        0 => return None,
        1 => "{count} of {figures} is not valid and not judged",
        _ => "{count} of {figures} are not valid and not judged",
    };
    let text = Sentence::new(text)
        .with("count", rows.len())
        .with("figures", figures(comparison.kpms.len()));
    // Of an invalid figure nothing can be said.
    let is_worse = |row: &&&Row| row.status == Status::Conditional && row.change() == Change::Worse;
    let worse: Vec<&Row> = rows.iter().filter(is_worse).copied().collect();
    let Some(most) = worse.iter().max_by(|a, b| a.loss().total_cmp(&b.loss())) else {
        return Some(text);
    };
    let with_worse = match worse.len() {
        1 => "{unjudged}, of which {worse} is worse by its own interval: {most}",
        _ => "{unjudged}, of which {worse} are worse by their own intervals, most {most}",
    };
    let with_worse = Sentence::new(with_worse).with("unjudged", text).with("worse", worse.len());
    Some(with_worse.with("most", figure(most)))
}

/// The failures: the whole, groups, figures, the largest losses first, and lost figures.
fn failures(comparison: &Comparison, gate: &Judgement) -> Vec<Sentence> {
    let all = gate.whole.iter().filter(|whole| whole.fails);
    let all = all.map(|whole| worse(Sentence::new("all figures together"), whole));
    let groups = gate.groups.iter().filter(|group| group.fails).map(|level| {
        let name = level.group.clone().unwrap_or_default();
        worse(Sentence::new("group {group}").with("group", name), level)
    });
    let mut rows: Vec<&Row> =
        comparison.kpms.iter().filter(|row| row.is_failure(gate.limit)).collect();
    rows.sort_by(|a, b| b.loss().total_cmp(&a.loss()));
    let rows = rows.into_iter().map(figure);
    let lost = comparison
        .lost()
        .map(|lost| Sentence::new("{label} is lost").with("label", lost.label.as_str()));
    all.chain(groups).chain(rows).chain(lost).collect()
}

fn worse(what: Sentence, level: &Level) -> Sentence {
    Sentence::new("{what} {change+%} ({low+%} to {high+%})")
        .with("what", what)
        .with("change", -level.loss())
        .with("low", level.low - 1.0)
        .with("high", level.high - 1.0)
}

fn figure(row: &Row) -> Sentence {
    let name = Sentence::new("{label} {kind}")
        .with("label", row.subject.label())
        .with("kind", Sentence::new(row.kind.name()));
    if row.other_status == Status::Invalid {
        return Sentence::new("{what} became invalid").with("what", name);
    }
    Sentence::new("{what} {change+%}").with("what", name).with("change", -row.loss())
}

fn of_whole(comparison: &Comparison, gate: &Judgement, whole: &Level) -> Sentence {
    let text = match whole.is_excluded {
        true => {
            "Over {figures} {other} does x{ratio~} of {base} (x{low~} to x{high~}): a general loss \
             of {limit%} is excluded"
        }
        false => {
            "Over {figures} {other} does x{ratio~} of {base} (x{low~} to x{high~}): a general loss \
             of {limit%} is not excluded"
        }
    };
    Sentence::new(text)
        .with("figures", figures(whole.figures))
        .with("other", comparison.other.as_str())
        .with("base", comparison.base.as_str())
        .with("ratio", whole.ratio)
        .with("low", whole.low)
        .with("high", whole.high)
        .with("limit", gate.limit)
}

/// The loss, rounded up to a tenth of a percent: a smaller number would claim more than is
/// detectable.
fn rounded_up(loss: f64) -> f64 {
    (1000.0 * loss).ceil() / 1000.0
}

fn sizes(gate: &Judgement) -> Option<Sentence> {
    let size = gate.detectable.as_ref()?;
    let whole = gate.whole.as_ref().map(|whole| rounded_up(whole.detectable_loss))?;
    let groups: Vec<f64> =
        gate.groups.iter().map(|group| rounded_up(group.detectable_loss)).collect();
    let least = groups.iter().copied().min_by(f64::total_cmp);
    let levels = match least.zip(groups.iter().copied().max_by(f64::total_cmp)) {
        Some((least, most)) if least < most => Sentence::new(
            "{found}; of {whole%} over all of them, and of {least%} to {most%} in a group",
        )
        .with("least", least)
        .with("most", most),
        Some((least, _)) => {
            Sentence::new("{found}; of {whole%} over all of them, and of {least%} in a group")
                .with("least", least)
        }
        None => Sentence::new("{found}; of {whole%} over all of them"),
    };
    Some(levels.with("found", found(size)).with("whole", whole))
}

fn found(size: &Size) -> Sentence {
    Sentence::new("A loss of {loss%} or more would have been found in {found} of {figures}")
        .with("loss", size.loss)
        .with("found", size.found)
        .with("figures", figures(size.points))
}

fn blind(gate: &Judgement) -> Option<Sentence> {
    let names = gate.blind.iter().take(MAX_NAMED).map(|name| Sentence::quoted(name.as_str()));
    let named = Sentence::list(names);
    let text = match gate.blind.len() {
        0 => return None,
        count if count > MAX_NAMED => {
            "Blind below {size%} in {count} of {figures}: {names} and {more} more"
        }
        _ => "Blind below {size%} in {count} of {figures}: {names}",
    };
    Some(
        Sentence::new(text)
            .with("size", 2.0 * gate.limit)
            .with("count", gate.blind.len())
            .with("figures", figures(gate.figures))
            .with("names", named)
            .with("more", gate.blind.len().saturating_sub(MAX_NAMED)),
    )
}

fn missing(missing: &Missing) -> Sentence {
    let sentence = match (missing.repetitions, missing.minutes, missing.runs) {
        (Some(count), Some(minutes), _) => Sentence::new(
            "To find a loss of {loss%} in four fifths of the figures takes {count} repetitions in \
             each run, {minutes} minutes of measuring",
        )
        .with("count", count)
        .with("minutes", minutes.ceil()),
        (Some(count), None, _) => Sentence::new(
            "To find a loss of {loss%} in four fifths of the figures takes {count} repetitions in \
             each run",
        )
        .with("count", count),
        (None, _, runs) => Sentence::new(
            "No number of repetitions finds a loss of {loss%} in four fifths of the figures: \
             {count} fresh runs a side do, or a base of many (--baseline last:10)",
        )
        .with("count", runs.unwrap_or(2.0)),
    };
    sentence.with("loss", missing.loss)
}
