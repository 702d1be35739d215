//! The summary of one run: what was measured, speed and throughput per group, limits, trust.

use super::super::document::{Digits, Section};
use super::super::limits::percent;
use super::super::ramps::{RampRow, rows};
use super::super::{Input, RunTests, texts::Language};
use super::words::{DIGITS, section, trust, what};
use dbdyno_core::analysis::heatmap::{METRICS, Rank, ValidValue, places};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::ramp::Figure;
use dbdyno_core::model::{Better, RunKind, Status, Test};

/// More workloads of a group than these are in the datasheet only.
const MAX_FIGURES: usize = 3;

/// Speed and throughput of a row, as far as they may be used.
struct Figures<'a> {
    row: RampRow<'a>,
    speed: Option<Figure<'a>>,
    best: Option<Figure<'a>>,
}

pub fn sections(input: &Input, data: &RunTests, name: &str) -> Vec<Section> {
    let language = input.language;
    let heading =
        if data.run.kind == RunKind::Published { "heading_published" } else { "heading_measured" };
    let of_group = |id: &str| rows(input, id).into_iter().map(figures).collect::<Vec<_>>();
    let used = input.used_groups().into_iter();
    let groups: Vec<(String, Vec<Figures<'_>>)> =
        used.map(|(id, title)| (language.group(id, title), of_group(id))).collect();
    let all: Vec<&Figures<'_>> = groups.iter().flat_map(|(_, rows)| rows).collect();
    let stated = groups.iter().map(|(title, rows)| group(language, title, rows)).collect();
    let sections = vec![
        section(
            language,
            heading,
            vec![what(language, data, name), platform(language, data), tests(language, data)],
        ),
        section(language, "heading_figures", stated),
        section(language, "heading_limits", limits(language, data, &all)),
        section(language, "heading_trust", trust(language, data)),
    ];
    sections.into_iter().filter(|section| !section.blocks.is_empty()).collect()
}

fn platform(language: Language, data: &RunTests) -> String {
    let megabytes = data
        .run
        .disclosure
        .get("hardware", "memory_mb")
        .and_then(|megabytes| megabytes.parse::<f64>().ok());
    let memory = megabytes.map(|megabytes| {
        let gb = language.number(megabytes / 1e3, Digits::Decimals(1));
        language.say("memory", &[("gb", &gb)])
    });
    let text = |section, key| data.run.disclosure.get(section, key).map(String::from);
    let facts = [
        text("hardware", "cpu_model"),
        memory,
        text("storage", "model"),
        text("os", "distribution"),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    if facts.is_empty() {
        String::new()
    } else {
        language.say("platform", &[("facts", &facts.join(", "))])
    }
}

pub fn tests(language: Language, data: &RunTests) -> String {
    let mut workloads: Vec<&str> = data.tests.iter().map(|test| test.workload()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let jobs = data.tests.iter().filter_map(Test::jobs);
    let (least, most) = (jobs.clone().min().unwrap_or(0), jobs.max().unwrap_or(0));
    let jobs = match least == most {
        true => language.jobs(Some(most)),
        false => language
            .say("jobs_range", &[("least", &least.to_string()), ("most", &most.to_string())]),
    };
    let (workloads, size) = (
        language.count("workloads", workloads.len(), &[]),
        data.run.size_gb.map(|size| language.exactly(size)).unwrap_or_default(),
    );
    let key = if data.run.kind == RunKind::Published { "tests_published" } else { "tests" };
    language.count(
        key,
        data.tests.len(),
        &[("workloads", &workloads), ("jobs", &jobs), ("size", &size)],
    )
}

/// Invalid figures are named under trust, and not stated as results.
fn figures(row: RampRow<'_>) -> Figures<'_> {
    let usable = |found: &Figure<'_>| found.status() != Status::Invalid;
    let [speed, best] = METRICS.each_ref().map(|metric| metric.figure(&row.runs[0]).filter(usable));
    Figures { row, speed, best }
}

fn group(language: Language, title: &str, rows: &[Figures<'_>]) -> String {
    let texts: Vec<String> = rows.iter().filter_map(|row| figure_text(language, row)).collect();
    let mut shown: Vec<String> = texts.iter().take(MAX_FIGURES).cloned().collect();
    if texts.len() > MAX_FIGURES {
        shown.push(language.count("more", texts.len() - MAX_FIGURES, &[]));
    }
    match shown.is_empty() {
        true => String::new(),
        false => language.say("group", &[("group", title), ("figures", &shown.join("; "))]),
    }
}

fn figure_text(language: Language, figures: &Figures<'_>) -> Option<String> {
    let mark = |found: &Figure<'_>| if found.status() == Status::Conditional { "?" } else { "" };
    let number =
        |found: &Figure<'_>| format!("{}{}", language.number(found.value, DIGITS), mark(found));
    let mut values =
        vec![("label", figures.row.label.clone()), ("factor", factor(language, figures))];
    if let Some(speed) = &figures.speed {
        values.extend([("speed", number(speed)), ("speed_unit", speed.unit.into())]);
    }
    // The best at one job is the speed; a rate beside a time is a figure of its own.
    let is_other = |best: &&Figure<'_>| {
        figures.speed.is_none_or(|speed| best.jobs != Some(1) || best.unit != speed.unit)
    };
    let best = figures.best.as_ref().filter(is_other);
    if let Some(best) = best {
        values.extend([
            ("best", number(best)),
            ("best_unit", best.unit.into()),
            ("jobs", best.jobs.unwrap_or_default().to_string()),
        ]);
    }
    let key = match (&figures.speed, best) {
        (Some(_), Some(best)) if best.jobs == Some(1) => "figure_both_one",
        (Some(_), Some(best)) if best.jobs.is_some() => "figure_both",
        (Some(_), Some(_)) => "figure_both_unstated",
        (Some(_), None) => "figure_speed",
        (None, Some(best)) if best.jobs == Some(1) => "figure_best_one",
        (None, Some(best)) if best.jobs.is_some() => "figure_best",
        (None, Some(_)) => "figure_best_unstated",
        (None, None) => return None,
    };
    let values: Vec<(&str, &str)> =
        values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Some(language.say(key, &values))
}

/// Factor by which more jobs did more, if both figures are valid and it is beyond the noise; empty
/// if that is not known.
fn factor(language: Language, figures: &Figures<'_>) -> String {
    let Some((speed, best)) =
        figures.speed.zip(figures.best).filter(|(speed, best)| are_accepted(&[speed, best]))
    else {
        return String::new();
    };
    if speed.unit != best.unit || best.better == Better::Lower {
        return String::new();
    }
    match differs(&speed, &best) {
        Some(true) => {
            let factor = language.number(best.value / speed.value, Digits::Decimals(2));
            language.say("factor", &[("factor", &factor)])
        }
        Some(false) => language.say("factor_none", &[]),
        None => String::new(),
    }
}

fn are_accepted(figures: &[&Figure<'_>]) -> bool {
    figures.iter().all(|figure| supports(figure.status()))
}

/// True if two figures of one metric differ beyond the noise; none if one of them has no interval.
fn differs(a: &Figure<'_>, b: &Figure<'_>) -> Option<bool> {
    let known = |found: &Figure<'_>| {
        Some(ValidValue::from_figure(found)).filter(|known| known.ci_fraction.is_some())
    };
    let places = places(a.better, &[Some(known(a)?), Some(known(b)?)]);
    Some(places.iter().flatten().any(|place| place.rank == Rank::Below))
}

fn limits(language: Language, data: &RunTests, all: &[&Figures<'_>]) -> Vec<String> {
    if data.run.kind == RunKind::Published {
        return Vec::new();
    }
    let rising: Vec<String> =
        all.iter().filter(|row| is_rising(row)).map(|row| row.row.label.clone()).collect();
    let rising = match rising.is_empty() {
        true => String::new(),
        false => language.say("rising", &[("labels", &language.list(&rising))]),
    };
    let throughputs = all.iter().filter_map(|row| row.best.as_ref());
    let left_out = throughputs.filter(|best| !are_accepted(&[*best])).count();
    let left_out =
        if left_out > 0 { language.count("limits_left_out", left_out, &[]) } else { String::new() };
    vec![limits_sentence(language, all), left_out, rising]
}

/// Limits of the best throughputs, with the workloads and the share of the time that each takes
/// there; nothing if no throughput is valid.
fn limits_sentence(language: Language, all: &[&Figures<'_>]) -> String {
    let mut limits: Vec<(&'static str, Vec<String>)> = Vec::new();
    let is_valid = |row: &&&Figures<'_>| row.best.is_some_and(|best| are_accepted(&[&best]));
    if !all.iter().any(|row| is_valid(&row)) {
        return String::new();
    }
    for row in all.iter().filter(is_valid) {
        let Some(limit) = row.best.and_then(|best| best.limit()) else { continue };
        let label = format!("{} ({} %)", row.row.label, percent(language, &limit));
        match limits.iter_mut().find(|(code, _)| *code == limit.cause.code()) {
            Some((_, labels)) => labels.push(label),
            None => limits.push((limit.cause.code(), vec![label])),
        }
    }
    let text = |(code, labels): &(&str, Vec<String>)| {
        let limit = language.say(&format!("limit_{code}"), &[]);
        language.say("limit_of", &[("limit", &limit), ("labels", &language.list(labels))])
    };
    match limits.is_empty() {
        true => language.say("no_limits", &[]),
        false => language
            .say("limited", &[("limits", &limits.iter().map(text).collect::<Vec<_>>().join("; "))]),
    }
}

/// The best throughput is that of the most jobs, and beyond the noise above that of the next fewer
/// jobs.
fn is_rising(row: &Figures<'_>) -> bool {
    let Some(best) = row.best.filter(|best| best.better == Better::Higher) else { return false };
    let tests = &row.row.runs[0];
    let fewer: Vec<&Test> = tests.iter().filter(|test| test.jobs() < best.jobs).copied().collect();
    let is_last = tests.iter().all(|test| test.jobs() <= best.jobs);
    let before = fewer.iter().map(|test| test.jobs()).max();
    let step: Vec<&Test> = fewer.into_iter().filter(|test| Some(test.jobs()) == before).collect();
    let before =
        METRICS[1].figure(&step).filter(|before| is_last && are_accepted(&[before, &best]));
    before.is_some_and(|before| before.value < best.value && differs(&before, &best) == Some(true))
}
