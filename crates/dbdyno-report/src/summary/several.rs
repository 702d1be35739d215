//! The summary of several runs: which one is ahead where, by how much, and where none is.

use std::cmp::Reverse;

use super::super::document::{Digits, Section};
use super::super::ramps::compared;
use super::super::{Input, texts::Language};
use super::words::{DIGITS, counts, section, what};
use dbdyno_core::analysis::best_share::BestShare;
use dbdyno_core::analysis::heatmap::{Compared, METRICS, Metric, Place, leader, side_by_side};
use dbdyno_core::analysis::interval::{self, FEWEST, UncertainValue};
use dbdyno_core::model::{Better, ReasonCode, RunKind};

/// Distances that are named.
const MAX_DISTANCES: usize = 3;
/// More runs than these are only named, not described.
const MAX_DESCRIBED: usize = 3;

/// The most runs for which the ends of the intervals of shares stand in the sentence: the sheet has
/// no room for those of more.
const MAX_WITH_ENDS: usize = 6;

/// Code for a figure of valid values that is left out.
const NO_INTERVAL: &str = "no-interval";

/// The figures of one metric that at least two platforms have.
#[derive(Default)]
struct Order {
    /// Lines that support a statement.
    lines: Vec<Line>,
    /// Codes of the reasons against each of the others.
    left_out: Vec<Vec<ReasonCode>>,
    /// All are of publications: they have no interval, and their order is that of the printed
    /// figures.
    is_printed: bool,
}

/// A figure of which every value is valid, and has an interval unless all are printed.
struct Line {
    label: String,
    unit: String,
    better: Better,
    known: Vec<Option<UncertainValue>>,
    places: Vec<Option<Place>>,
}

/// A platform and its share of the best figure of a line.
#[derive(Clone, Copy)]
struct ReachedShare {
    run: usize,
    share: f64,
}

/// Two platforms and how many times better the one is.
struct Distance<'a> {
    line: &'a Line,
    best: usize,
    worst: usize,
    factor: f64,
    /// Low end of the factor's 95 % interval; none without intervals.
    least: Option<f64>,
}

pub fn sections(input: &Input, platforms: &[String]) -> Vec<Section> {
    let language = input.language;
    let is_printed = input.runs.iter().all(|data| data.run.kind == RunKind::Published);
    let mut paragraphs =
        vec![language.say(if is_printed { "no_intervals" } else { "intervals" }, &[])];
    let orders = METRICS.iter().map(|metric| (metric.name(), order(input, metric, is_printed)));
    paragraphs.extend(orders.map(|(metric, order)| paragraph(language, metric, &order, platforms)));
    let trusted = input.runs.iter().zip(platforms).map(|(data, platform)| {
        let verdicts = counts(language, &data.tests);
        language.say("trust_of", &[("platform", platform), ("verdicts", &verdicts)])
    });
    vec![
        section(language, "heading_compared", about(input, platforms)),
        section(language, "heading_order", paragraphs),
        section(language, "heading_trust", trusted.collect()),
    ]
}

fn about(input: &Input, platforms: &[String]) -> Vec<String> {
    let language = input.language;
    let count = platforms.len().to_string();
    let compared =
        language.say("compared", &[("count", &count), ("platforms", &language.list(platforms))]);
    let is_few = platforms.len() <= MAX_DESCRIBED;
    let described = input.runs.iter().zip(platforms).filter(|_| is_few);
    std::iter::once(compared)
        .chain(described.map(|(data, name)| what(language, data, name)))
        .collect()
}

impl Line {
    /// The platform that alone is ahead of all others, beyond the noise where intervals are known.
    fn leader(&self) -> Option<usize> {
        leader(&self.places)
    }

    /// Distance between the best and the worst; none if they are equal, or within the noise.
    fn distance(&self) -> Option<Distance<'_>> {
        let reached = self.reached_shares();
        let best = reached.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
        let worst = reached.iter().min_by(|a, b| a.share.total_cmp(&b.share))?;
        if worst.share <= 0.0 {
            return None;
        }
        let factor = best.share / worst.share;
        let noise = self.noise(best.run, worst.run);
        let least = noise.map(|noise| factor / noise.exp());
        let is_real = factor > 1.0 && least.is_none_or(|least| least > 1.0);
        is_real.then_some(Distance { line: self, best: best.run, worst: worst.run, factor, least })
    }

    /// The shares of those platforms that have the figure.
    fn reached_shares(&self) -> Vec<ReachedShare> {
        let mut reached = Vec::new();
        for (run, place) in self.places.iter().enumerate() {
            if let Some(place) = place {
                reached.push(ReachedShare { run, share: place.share });
            }
        }
        reached
    }

    /// The share of the best that each platform reaches, if all have the figure.
    fn shares_of_best(&self) -> Option<Vec<BestShare>> {
        let known: Option<Vec<UncertainValue>> = self.known.iter().copied().collect();
        BestShare::of_row(self.better, &known?)
    }

    /// Half the width of the 95 % interval of the logarithm of the factor between the best and the
    /// worst platform; none where one of them has no interval.
    fn noise(&self, best: usize, worst: usize) -> Option<f64> {
        Some(self.half_width(best)?.hypot(self.half_width(worst)?))
    }

    /// Half the width of the interval of a platform's figure, as a fraction of it, that was chosen
    /// as an extreme of all: wider where others are near it, as chance favored it.
    fn half_width(&self, run: usize) -> Option<f64> {
        let extreme = interval::extreme(self.known[run]?, &self.known);
        Some(extreme.interval.ok()?.half_width())
    }
}

fn order(input: &Input, metric: &Metric, is_printed: bool) -> Order {
    let (groups, sizes_gb) = (input.used_groups(), input.sizes_gb());
    let mut order = Order { is_printed, ..Order::default() };
    for row in groups.iter().flat_map(|(group, _)| compared(input, group)) {
        let found = side_by_side(&row.runs, &sizes_gb, metric)
            .filter(|found| found.figures.iter().flatten().count() >= FEWEST);
        match found.map(|found| (against(&found, is_printed), found)) {
            None => {}
            Some((codes, found)) if codes.is_empty() => order.lines.push(line(&row.label, found)),
            Some((codes, _)) => order.left_out.push(codes),
        }
    }
    order
}

/// Reasons against a statement: the codes that lowered a verdict, or that a measured value has no
/// interval.
fn against(found: &Compared<'_>, is_printed: bool) -> Vec<ReasonCode> {
    let mut codes: Vec<ReasonCode> = Vec::new();
    for reason in found.lowered.iter().flatten() {
        if !codes.contains(&reason.code) {
            codes.push(reason.code.clone());
        }
    }
    let has_no_interval = found.known.iter().flatten().any(|known| known.ci_fraction.is_none());
    if codes.is_empty() && has_no_interval && !is_printed {
        codes.push(ReasonCode::Other(NO_INTERVAL.into()));
    }
    codes
}

fn line(label: &str, found: Compared<'_>) -> Line {
    Line {
        label: label.into(),
        unit: found.unit.into(),
        better: found.better,
        known: found.uncertain(),
        places: found.places,
    }
}

/// Paragraph on the ranking: which run is ahead how often, how near the others come, the largest
/// distances, and what is left out.
fn paragraph(language: Language, metric: &str, order: &Order, platforms: &[String]) -> String {
    let metric = language.say(metric, &[]);
    let lines = &order.lines;
    let first = match (lines.is_empty(), order.left_out.is_empty()) {
        (true, true) => language.say("nothing_common", &[("metric", &metric)]),
        (true, false) => language.say("nothing_accepted", &[("metric", &metric)]),
        (false, _) => ahead(language, &metric, order, platforms),
    };
    let sentences = [
        first,
        left_out(language, order),
        shares(language, lines, platforms),
        distances(language, lines, platforms),
    ];
    sentences.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Number of figures that are left out, and why: each reason with the number of figures that it is
/// about.
fn left_out(language: Language, order: &Order) -> String {
    let mut reasons: Vec<(&ReasonCode, usize)> = Vec::new();
    for code in order.left_out.iter().flatten() {
        match reasons.iter_mut().find(|(known, _)| *known == code) {
            Some((_, count)) => *count += 1,
            None => reasons.push((code, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| Reverse(*count));
    let text = |(code, count): &(&ReasonCode, usize)| {
        language
            .say("reason_in", &[("reason", &language.code(code)), ("count", &count.to_string())])
    };
    let reasons = reasons.iter().map(text).collect::<Vec<_>>().join(", ");
    let key = if order.is_printed { "left_out_printed" } else { "left_out" };
    match order.left_out.len() {
        0 => String::new(),
        count => language.count(key, count, &[("reasons", &reasons)]),
    }
}

fn ahead(language: Language, metric: &str, order: &Order, platforms: &[String]) -> String {
    let lines = &order.lines;
    let wins = |run: usize| lines.iter().filter(|line| line.leader() == Some(run)).count();
    let mut leaders: Vec<(usize, usize)> =
        (0..platforms.len()).map(|run| (run, wins(run))).collect();
    leaders.retain(|(_, wins)| *wins > 0);
    leaders.sort_by_key(|(run, wins)| (Reverse(*wins), *run));
    let ties = lines.iter().filter(|line| line.leader().is_none()).count();
    let text = |(run, wins): &(usize, usize)| {
        language.say("leads", &[("platform", &platforms[*run]), ("wins", &wins.to_string())])
    };
    let texts: Vec<String> = leaders.iter().map(text).collect();
    let key = match (texts.is_empty(), ties) {
        (true, _) => "ahead_none",
        (false, 0) => "ahead_all",
        (false, _) => "ahead",
    };
    let rows =
        language.count(if order.is_printed { "rows_printed" } else { "rows" }, lines.len(), &[]);
    let ties = ties.to_string();
    language.say(
        key,
        &[("metric", metric), ("rows", &rows), ("leaders", &texts.join(", ")), ("ties", &ties)],
    )
}

/// Distance of the platforms from the best, by one metric.
pub struct Standing {
    pub metric: &'static str,
    /// Figures that all platforms have.
    pub figures: usize,
    /// Geometric mean of each platform's shares of the best, 0 to 1, with its interval.
    pub shares: Vec<BestShare>,
}

/// The standings by speed and by throughput; none of a metric without a figure that all have and
/// the verdict accepts.
pub fn standings(input: &Input) -> Vec<Standing> {
    let is_printed = input.runs.iter().all(|data| data.run.kind == RunKind::Published);
    METRICS
        .iter()
        .filter_map(|metric| standing(metric.name(), &order(input, metric, is_printed).lines))
        .collect()
}

fn standing(metric: &'static str, lines: &[Line]) -> Option<Standing> {
    let complete: Vec<Vec<BestShare>> = lines.iter().filter_map(Line::shares_of_best).collect();
    let mean = |run: usize| {
        BestShare::mean(&complete.iter().map(|shares| shares[run]).collect::<Vec<_>>())
    };
    let shares: Option<Vec<BestShare>> = (0..complete.first()?.len()).map(mean).collect();
    Some(Standing { metric, figures: complete.len(), shares: shares? })
}

/// Share of the best that each platform reaches, and how often it is ahead: throughput first. A
/// metric of which nothing can be said is left out.
pub fn answer(input: &Input, platforms: &[String]) -> String {
    let language = input.language;
    let is_printed = input.runs.iter().all(|data| data.run.kind == RunKind::Published);
    let said = METRICS.iter().rev().filter_map(|metric| {
        let order = order(input, metric, is_printed);
        (!order.lines.is_empty()).then(|| {
            let metric = language.say(metric.name(), &[]);
            let ahead = ahead(language, &metric, &order, platforms);
            format!("{ahead} {}", shares(language, &order.lines, platforms))
        })
    });
    let said = said.collect::<Vec<_>>().join(" ");
    match said.is_empty() {
        true => language.phrase("No figure of these runs can be compared."),
        false => said.trim_end().to_string(),
    }
}

/// Geometric mean of the shares, over the rows that all platforms have.
fn shares(language: Language, lines: &[Line], platforms: &[String]) -> String {
    let Some(standing) = standing("", lines) else { return String::new() };
    let mut means: Vec<(usize, BestShare)> = standing.shares.into_iter().enumerate().collect();
    means.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    let has_room = platforms.len() <= MAX_WITH_ENDS;
    let text = |(run, mean): &(usize, BestShare)| {
        let share = if has_room { share(language, mean) } else { share_alone(language, mean) };
        language.say("share_of", &[("platform", &platforms[*run]), ("share", &share)])
    };
    let texts: Vec<String> = means.iter().map(text).collect();
    let said = language.count("share", standing.figures, &[("shares", &texts.join(", "))]);
    let reach = means.iter().filter_map(|(_, mean)| reach(mean)).reduce(f64::max);
    match reach.filter(|_| !has_room) {
        None => said,
        Some(reach) => {
            let points = language.number((100.0 * reach).ceil(), Digits::Decimals(0));
            format!("{said} {}", language.say("share_reach", &[("points", &points)]))
        }
    }
}

/// Distance of a share from the further end of its interval.
fn reach(share: &BestShare) -> Option<f64> {
    let [low, high] = share.uncertain_ends()?;
    Some((share.value - low).max(high - share.value))
}

/// `87 %`.
fn share_alone(language: Language, share: &BestShare) -> String {
    let percent = language.number(100.0 * share.value, Digits::Decimals(0));
    language.say("share_alone", &[("percent", &percent)])
}

/// `87 % (84 to 90 %)`; without an interval, and where the share is exact, `87 %`.
fn share(language: Language, share: &BestShare) -> String {
    let Some(ends) = share.uncertain_ends() else { return share_alone(language, share) };
    let percent = |share: f64| language.number(100.0 * share, Digits::Decimals(0));
    let ([low, high], percent) = (ends.map(percent), percent(share.value));
    language.say("share_with_ends", &[("percent", &percent), ("low", &low), ("high", &high)])
}

fn distances(language: Language, lines: &[Line], platforms: &[String]) -> String {
    let mut found: Vec<Distance<'_>> = lines.iter().filter_map(Line::distance).collect();
    found.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    let text = |distance: &Distance<'_>| distance_text(language, distance, platforms);
    let texts: Vec<String> = found.iter().take(MAX_DISTANCES).map(text).collect();
    match texts.is_empty() {
        true => String::new(),
        false => language.count("distance", texts.len(), &[("distances", &texts.join("; "))]),
    }
}

fn distance_text(language: Language, distance: &Distance<'_>, platforms: &[String]) -> String {
    let line = distance.line;
    let value = |run: usize| {
        line.known[run].map_or(String::new(), |known| language.number(known.value, DIGITS))
    };
    let ratio = |value: f64| language.number(value, Digits::Decimals(2));
    let values = [
        ("label", line.label.as_str()),
        ("best", &platforms[distance.best]),
        ("best_value", &value(distance.best)),
        ("unit", &line.unit),
        ("worst", &platforms[distance.worst]),
        ("worst_value", &value(distance.worst)),
        ("factor", &ratio(distance.factor)),
        ("least", &distance.least.map(ratio).unwrap_or_default()),
    ];
    language
        .say(if distance.least.is_some() { "distance_of" } else { "distance_of_printed" }, &values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunTests;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::at;
    use dbdyno_core::model::{RunRecord, Test};

    /// The answer on so many platforms, of which each has one valid figure, the first the best.
    fn said(platforms: usize) -> String {
        let names: Vec<String> = (1..=platforms).map(|number| format!("p{number}")).collect();
        let data = |(at_run, name): (usize, &String)| {
            let run = RunRecord { id: at_run as i64 + 1, ..run(name) };
            let rate = 100.0 - 10.0 * at_run as f64;
            RunTests { run, tests: vec![Test::from(at(1, rate))] }
        };
        let runs = names.iter().enumerate().map(data).collect();
        answer(&Input { runs, ..Input::default() }, &names)
    }

    #[test]
    fn shares_have_their_ends_and_of_many_platforms_the_furthest_is_said() {
        let of_two = said(2);
        assert!(of_two.contains("p1 100 %, p2 90 % (89 to 91 %)."), "{of_two}");
        let of_many = said(MAX_WITH_ENDS + 1);
        assert!(of_many.contains("p1 100 %, p2 90 %, p3 80 %"), "{of_many}");
        assert!(of_many.contains("further than 2 percentage points"), "{of_many}");
    }
}
