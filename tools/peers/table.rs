//! The result as a table.

use comfy_table::{Table, presets};
use dbdyno::stats::summary::{mean, variance};

use crate::machine;
use crate::pairs::{Half, Outcome};

const HEAD: [&str; 10] = [
    "ours : peer",
    "unit",
    "ours",
    "peer",
    "ratio",
    "min..max",
    "mean",
    "target",
    "client us/op",
    "server us/op",
];

/// Half width of the 95 % interval of a ratio that is as well known as was asked for.
const WANTED: f64 = 0.005;

/// One line per comparison.
pub fn render(outcomes: &[Outcome]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(HEAD);
    for outcome in outcomes {
        table.add_row(row(outcome));
    }
    table.to_string()
}

fn row(outcome: &Outcome) -> [String; 10] {
    let rate =
        |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
    [
        outcome.name.clone(),
        outcome.unit.into(),
        rate(outcome.median(|pair| Some(pair.ours.rate))),
        rate(outcome.median(|pair| Some(pair.peer.rate))),
        outcome.ratio().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")),
        range(&outcome.ratios()),
        mean_with_error(outcome),
        target(outcome),
        both(outcome, |half| half.client_us),
        both(outcome, |half| half.server_us),
    ]
}

fn range(ratios: &[f64]) -> String {
    match (ratios.first(), ratios.last()) {
        (Some(least), Some(most)) => format!("{least:.3}..{most:.3}"),
        _ => "-".into(),
    }
}

/// Mean of the ratios and its standard error, or the estimate and its interval.
fn mean_with_error(outcome: &Outcome) -> String {
    if let Some(estimate) = outcome.estimate().filter(|_| outcome.is_estimated) {
        let percent = 100.0 * estimate.half_width;
        return format!("{:.4} +- {percent:.2} % (95 %)", estimate.ratio);
    }
    let ratios = &outcome.ratios();
    match (mean(ratios), variance(ratios)) {
        (Some(mean), Some(variance)) => {
            format!("{mean:.4} +- {:.4}", (variance / ratios.len() as f64).sqrt())
        }
        _ => "-".into(),
    }
}

fn target(outcome: &Outcome) -> String {
    let Some(target) = outcome.target else { return "none".into() };
    // Where the ratio has an interval, that decides, unless it is as narrow as was wanted.
    let (ratio, half_width) = match outcome.is_estimated {
        true => outcome.estimate().map(|estimate| (estimate.ratio, estimate.half_width)).unzip(),
        false => (outcome.ratio(), None),
    };
    let half_width = half_width.filter(|half| *half > WANTED).unwrap_or(0.0);
    let most = if outcome.is_two_sided { 2.0 - target } else { f64::INFINITY };
    let is_reached = |ratio: f64| (target..=most).contains(&ratio);
    let word = match ratio.map(|ratio| [1.0 - half_width, 1.0 + half_width].map(|end| ratio * end))
    {
        None => "not measured",
        Some(ends) if ends.into_iter().all(is_reached) => "reached",
        Some([low, high]) if high < target || low > most => "MISSED",
        Some(_) => "not known",
    };
    match outcome.is_two_sided {
        true => format!("{target:.3}..{most:.3} {word}"),
        false => format!(">= {target:.3} {word}"),
    }
}

/// A figure of ours and of the peer.
fn both(outcome: &Outcome, figure: fn(&Half) -> Option<f64>) -> String {
    let (ours, peer) =
        (outcome.median(|pair| figure(&pair.ours)), outcome.median(|pair| figure(&pair.peer)));
    match (ours, peer) {
        (Some(ours), Some(peer)) => format!("{ours:.2} : {peer:.2}"),
        _ => "-".into(),
    }
}

/// Notes that a reader needs to judge the table.
pub fn footer(taken_percent: f64, versions: &[String], outcomes: &[Outcome]) -> String {
    let kept: usize = outcomes.iter().map(|outcome| outcome.pairs.len()).sum();
    let dropped: usize = outcomes.iter().map(|outcome| outcome.dropped).sum();
    format!(
        "Medians of {kept} pairs; {dropped} dropped because the host (steal) or other programs \
         took more than {taken_percent} % of the processors.\nratio: median of ours/peer within a \
         pair; mean: theirs, with its standard error, or their geometric mean with its 95 % \
         interval. us/op: processor time per op.\npgbench: one thread per client, Unix socket, \
         generic plans as ours, results as text; ours are binary.\nMachine: {}; {}; dbdyno {}.",
        machine::describe(),
        versions.join("; "),
        dbdyno::VERSION,
    )
}
