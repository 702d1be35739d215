//! The summary of several runs: who is ahead where, by how much, and where nobody can be said to be.

use std::cmp::Reverse;

use super::super::document::{Digits, Section};
use super::super::heatmap::{METRICS, Metric, figure, is_across_drives, sound};
use super::super::ramps::{RampRow, compared};
use super::super::{Input, texts::Language};
use super::{DIGITS, section, trust, what};
use crate::analysis::heatmap::{Known, Place, Rank, places};

/// Distances that are named.
const MOST_DISTANCES: usize = 3;
/// More runs than these are only named, not described.
const MOST_DESCRIBED: usize = 3;

/// Figures of one metric that at least two platforms have.
struct Line {
    label: String,
    unit: String,
    known: Vec<Option<Known>>,
    places: Vec<Option<Place>>,
    /// The platforms were measured with different drives.
    is_across_drives: bool,
}

/// Two platforms and how many times better the one is.
#[derive(Clone, Copy)]
struct Distance {
    best: usize,
    worst: usize,
    factor: f64,
    /// Low end of the factor's 95 % interval; none without intervals.
    least: Option<f64>,
}

pub fn sections(input: &Input, platforms: &[String]) -> Vec<Section> {
    let language = input.language;
    let mut lines: Vec<(&str, Vec<Line>)> = METRICS.iter().map(|metric| (metric.name, lines(input, metric))).collect();
    let has_intervals = lines.iter().flat_map(|(_, lines)| lines).any(Line::has_intervals);
    if has_intervals {
        // Of measured figures only those with an interval support a sentence.
        lines.iter_mut().for_each(|(_, lines)| lines.retain(Line::has_intervals));
    }
    let mut order = vec![language.say(if has_intervals { "intervals" } else { "no_intervals" }, &[])];
    order.extend(lines.iter().map(|(metric, lines)| paragraph(language, metric, lines, platforms)));
    let trusted = input.runs.iter().zip(platforms).map(|(data, platform)| {
        let verdicts = trust::counts(language, &data.tests);
        language.say("trust_of", &[("platform", platform), ("verdicts", &verdicts)])
    });
    vec![
        section(language, "heading_compared", about(input, platforms)),
        section(language, "heading_order", order),
        section(language, "heading_trust", trusted.collect()),
    ]
}

fn about(input: &Input, platforms: &[String]) -> Vec<String> {
    let language = input.language;
    let count = platforms.len().to_string();
    let compared = language.say("compared", &[("count", &count), ("platforms", &language.list(platforms))]);
    let is_few = platforms.len() <= MOST_DESCRIBED;
    let described = input.runs.iter().zip(platforms).filter(|_| is_few);
    std::iter::once(compared).chain(described.map(|(data, name)| what(language, data, name))).collect()
}

impl Line {
    fn has_intervals(&self) -> bool {
        self.known.iter().flatten().all(|known| known.ci_fraction.is_some())
    }

    /// The platform that alone is ahead of all others, beyond the noise where intervals are known.
    fn leader(&self) -> Option<usize> {
        let is_ahead = |place: &Option<Place>| place.is_some_and(|place| place.rank != Rank::Below);
        let ahead: Vec<usize> = (0..self.places.len()).filter(|&run| is_ahead(&self.places[run])).collect();
        if let [only] = ahead.as_slice() { Some(*only) } else { None }
    }

    /// Between the best and the worst; none if they are equal, or inside the noise.
    fn distance(&self) -> Option<Distance> {
        let shares = || self.places.iter().enumerate().filter_map(|(run, place)| Some((run, place.as_ref()?.share)));
        let best = shares().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let worst = shares().min_by(|a, b| a.1.total_cmp(&b.1)).filter(|worst| worst.1 > 0.0)?;
        let factor = best.1 / worst.1;
        let fraction = |run: usize| self.known[run].and_then(|known| known.ci_fraction);
        let least = fraction(best.0).zip(fraction(worst.0)).map(|(a, b)| factor / a.hypot(b).exp());
        let is_real = factor > 1.0 && least.is_none_or(|least| least > 1.0);
        is_real.then_some(Distance { best: best.0, worst: worst.0, factor, least })
    }
}

fn lines(input: &Input, metric: &Metric) -> Vec<Line> {
    let groups = input.used_groups();
    let all = groups.iter().flat_map(|(group, _)| compared(input, group));
    all.filter_map(|row| line(&row, metric)).collect()
}

fn line(row: &RampRow<'_>, metric: &Metric) -> Option<Line> {
    let figures: Vec<_> = row.runs.iter().map(|tests| figure(tests, metric)).collect();
    if (metric.left_out)(&figures) {
        return None;
    }
    let kpm = figures.iter().flatten().next()?.kpm;
    let comparable = figures.iter().map(|figure| figure.as_ref().and_then(|figure| sound(figure, &kpm.unit)));
    let known: Vec<Option<Known>> = comparable.collect();
    let places = places(kpm.better, &known);
    let is_shared = known.iter().flatten().count() > 1;
    let is_across_drives = is_across_drives(&figures);
    is_shared.then(|| Line { label: row.label.clone(), unit: kpm.unit.clone(), known, places, is_across_drives })
}

/// Who is ahead how often, how near the others come, and the largest distances.
fn paragraph(language: Language, metric: &str, lines: &[Line], platforms: &[String]) -> String {
    let metric = language.say(metric, &[]);
    if lines.is_empty() {
        return language.say("nothing_common", &[("metric", &metric)]);
    }
    let across = lines.iter().filter(|line| line.is_across_drives).count();
    let sentences = [
        ahead(language, &metric, lines, platforms),
        if across > 0 { language.say("across_drives", &[("count", &across.to_string())]) } else { String::new() },
        shares(language, lines, platforms),
        distances(language, lines, platforms),
    ];
    sentences.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

fn ahead(language: Language, metric: &str, lines: &[Line], platforms: &[String]) -> String {
    let wins = |run: usize| lines.iter().filter(|line| line.leader() == Some(run)).count();
    let mut leaders: Vec<(usize, usize)> = (0..platforms.len()).map(|run| (run, wins(run))).collect();
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
    let [rows, ties] = [lines.len(), ties].map(|number| number.to_string());
    language.say(key, &[("metric", metric), ("rows", &rows), ("leaders", &texts.join(", ")), ("ties", &ties)])
}

/// Geometric mean of the shares, over the rows that all platforms have.
fn shares(language: Language, lines: &[Line], platforms: &[String]) -> String {
    let of_line = |line: &Line| -> Option<Vec<f64>> {
        line.places.iter().map(|place| place.map(|place| place.share).filter(|share| *share > 0.0)).collect()
    };
    let complete: Vec<Vec<f64>> = lines.iter().filter_map(of_line).collect();
    if complete.is_empty() {
        return String::new();
    }
    let mean = |run: usize| {
        let logarithms: f64 = complete.iter().map(|shares| shares[run].ln()).sum();
        (logarithms / complete.len() as f64).exp()
    };
    let mut means: Vec<(usize, f64)> = (0..platforms.len()).map(|run| (run, mean(run))).collect();
    means.sort_by(|a, b| b.1.total_cmp(&a.1));
    let text = |(run, mean): &(usize, f64)| {
        let percent = language.number(100.0 * mean, Digits::Decimals(0));
        language.say("share_of", &[("platform", &platforms[*run]), ("percent", &percent)])
    };
    let texts: Vec<String> = means.iter().map(text).collect();
    language.say("share", &[("rows", &complete.len().to_string()), ("shares", &texts.join(", "))])
}

fn distances(language: Language, lines: &[Line], platforms: &[String]) -> String {
    let mut found: Vec<(&Line, Distance)> = lines.iter().filter_map(|line| Some((line, line.distance()?))).collect();
    found.sort_by(|a, b| b.1.factor.total_cmp(&a.1.factor));
    let text = |(line, distance): &(&Line, Distance)| distance_text(language, line, *distance, platforms);
    let texts: Vec<String> = found.iter().take(MOST_DISTANCES).map(text).collect();
    match texts.is_empty() {
        true => String::new(),
        false => language.say("distance", &[("distances", &texts.join("; "))]),
    }
}

fn distance_text(language: Language, line: &Line, distance: Distance, platforms: &[String]) -> String {
    let value = |run: usize| line.known[run].map_or(String::new(), |known| language.number(known.value, DIGITS));
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
    language.say(if distance.least.is_some() { "distance_of" } else { "distance_of_printed" }, &values)
}
