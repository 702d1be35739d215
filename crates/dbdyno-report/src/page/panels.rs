//! Scaling of each group: throughput as a multiple of one job, service time and CPU over the jobs,
//! on the same axes in every row.

use super::super::masthead::entries::{Entry, groups, headline, mark, times_shown};
use super::super::picture::{
    CpuBar, CpuSplit, Mark, Multiple, MultiplePoint, PanelRow, Panels, Picture, Times,
};
use super::super::{Input, Language, axis_charts, document::Digits};
use super::cards::{knee, times_of};
use super::timeline::split;
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::ramp::{self, RepeatedTest};
use dbdyno_core::model::{Status, Test};

/// The panels; none if no workload was run at several numbers of jobs.
pub(super) fn draw(input: &Input) -> Option<Picture> {
    let language = input.language;
    let groups = groups(input);
    let elsewhere = axis_charts::drawn_workloads(input);
    let rows: Vec<PanelRow> = groups
        .iter()
        .filter_map(|(id, title, entries)| row(language, id, title, entries, &elsewhere))
        .collect();
    let mut jobs: Vec<f64> = rows
        .iter()
        .flat_map(|row| &row.curves)
        .flat_map(|curve| &curve.points)
        .map(|point| point.jobs)
        .collect();
    jobs.sort_by(f64::total_cmp);
    jobs.dedup();
    let said = |title: &str, about: &str| (language.phrase(title), language.phrase(about));
    let heads = [
        said(
            "Throughput, multiple of one job",
            "Both axes double. Dashed: every job adds its share. Hollow: not valid.",
        ),
        said("Service time", "p50, p95 and p99 of the headline workload, logarithmic."),
        said("CPU of the host", "Of the headline workload, in % at each number of jobs."),
    ];
    (!rows.is_empty()).then_some(Picture::Panels(Panels {
        heads,
        jobs_word: language.phrase("jobs"),
        jobs,
        rows,
    }))
}

/// The row of a group; `elsewhere` are workloads whose ramps over something else than jobs are
/// drawn.
fn row(
    language: Language,
    id: &str,
    title: &str,
    entries: &[Entry<'_>],
    elsewhere: &[&str],
) -> Option<PanelRow> {
    let chosen = headline(entries)?;
    let is_chosen = |entry: &&Entry<'_>| entry.row.label == chosen.row.label;
    let first =
        entries.iter().filter(is_chosen).chain(entries.iter().filter(|entry| !is_chosen(entry)));
    let curves: Vec<Multiple> = first.filter_map(multiple).collect();
    if curves.is_empty() {
        return None;
    }
    let steps = ramp::repeated(chosen.tests());
    let times: Vec<Times> =
        steps.iter().filter_map(|step| accepted_times(language, step)).collect();
    let cpu: Vec<CpuBar> = steps.iter().filter_map(|step| bar(step.test)).collect();
    let spoken = [
        spoken_multiples(language, &curves),
        spoken_times(language, &times),
        spoken_cpu(language, &cpu),
    ];
    Some(PanelRow {
        group: id.into(),
        title: if title == id { String::new() } else { title.into() },
        texts: texts(language, chosen, entries, elsewhere),
        curves,
        knee: knee(chosen.tests()),
        times,
        cpu_words: cpu.last().map(|bar| cpu_words(language, &bar.split)).unwrap_or_default(),
        cpu,
        spoken,
    })
}

/// The curve of a workload; none without a figure of one job, or if that is 0.
fn multiple(entry: &Entry<'_>) -> Option<Multiple> {
    let figures = ramp::curve(entry.tests());
    let is_one =
        |figure: &&ramp::Figure<'_>| figure.jobs == Some(1) && figure.status() < Status::Invalid;
    let one = figures.iter().find(is_one).filter(|one| one.value > 0.0)?;
    let is_sound = supports(one.status());
    let sign =
        |found: Mark| if is_sound || found == Mark::Invalid { found } else { mark(&one.verdict()) };
    let point = |figure: &ramp::Figure<'_>| {
        Some(MultiplePoint {
            jobs: f64::from(figure.jobs?),
            multiple: figure.value / one.value,
            mark: sign(mark(&figure.verdict())),
        })
    };
    let accepted = figures.iter().filter(|figure| figure.status() < Status::Invalid);
    let points: Vec<MultiplePoint> = accepted.filter_map(point).collect();
    (points.len() > 1).then(|| Multiple { label: entry.row.label.clone(), points })
}

/// The service times at a number of jobs; none if its figure is invalid.
fn accepted_times(language: Language, step: &RepeatedTest<'_>) -> Option<Times> {
    let figure = step.figure.filter(|figure| figure.status() < Status::Invalid)?;
    times_of(language, &figure)
}

fn bar(test: &Test) -> Option<CpuBar> {
    let result = test.measured()?;
    Some(CpuBar { jobs: f64::from(result.jobs), split: split(&result.window_counters)? })
}

/// Texts of the row next to its drawings.
fn texts(
    language: Language,
    chosen: &Entry<'_>,
    entries: &[Entry<'_>],
    elsewhere: &[&str],
) -> Vec<String> {
    let label = chosen.row.label.as_str();
    let gain = match chosen.gain() {
        Some(gain) => {
            let values = [
                ("label", label),
                ("gain", &*times_shown(language, gain.factor)),
                ("jobs", &language.jobs(gain.jobs)),
            ];
            let text = match gain.gains() {
                Some(true) => "{label}: {gain} one job, best at {jobs}.",
                Some(false) => "{label}: no more than one job does, beyond the noise.",
                None => {
                    "{label}: {gain} one job at {jobs}; without an interval it is not known \
                     whether that is noise."
                }
            };
            language.say(text, &values)
        }
        None => language.say("{label}: no accepted gain.", &[("label", label)]),
    };
    let is_elsewhere = |entry: &&Entry<'_>| {
        entry.tests().first().is_some_and(|test| elsewhere.contains(&test.workload()))
    };
    let flat = entries
        .iter()
        .filter(|entry| multiple(entry).is_none() && !is_elsewhere(entry))
        .map(|entry| entry.row.label.clone());
    let flat: Vec<String> = flat.collect();
    let flat = (!flat.is_empty())
        .then(|| language.say("Not ramped: {labels}", &[("labels", &flat.join(", "))]));
    std::iter::once(gain).chain(flat).collect()
}

fn cpu_words(language: Language, split: &CpuSplit) -> Vec<String> {
    let said = |english: &str, percent: Option<f64>| {
        let shown = language.number(percent?, Digits::Decimals(0));
        Some(language.say(english, &[("percent", &shown)])).filter(|_| percent >= Some(0.5))
    };
    let parts = [
        said("steal {percent} %", split.steal),
        said("others {percent} %", split.foreign),
        said("I/O wait {percent} %", split.iowait),
        said("ours {percent} %", Some(split.own)),
    ];
    parts.into_iter().flatten().collect()
}

fn spoken_multiples(language: Language, curves: &[Multiple]) -> String {
    let curve = |curve: &Multiple| {
        let points = curve.points.iter().map(|point| {
            let jobs = language.jobs(Some(point.jobs as u32));
            format!("{jobs} {}", times_shown(language, point.multiple))
        });
        format!("{}: {}", curve.label, points.collect::<Vec<_>>().join(", "))
    };
    curves.iter().map(curve).collect::<Vec<_>>().join("; ")
}

fn spoken_times(language: Language, times: &[Times]) -> String {
    let point = |times: &Times| {
        let names = ["p50", "p95", "p99"].iter().zip(&times.shown);
        let shown: Vec<String> = names.map(|(name, shown)| format!("{name} {shown}")).collect();
        format!("{}: {} {}", times.name, shown.join(", "), times.mean_shown)
    };
    let points: Vec<String> = times.iter().map(point).collect();
    if points.is_empty() { language.phrase("unknown") } else { points.join("; ") }
}

fn spoken_cpu(language: Language, bars: &[CpuBar]) -> String {
    let bar = |bar: &CpuBar| {
        format!(
            "{}: {}",
            language.jobs(Some(bar.jobs as u32)),
            cpu_words(language, &bar.split).join(", ")
        )
    };
    let bars: Vec<String> = bars.iter().map(bar).collect();
    if bars.is_empty() { language.phrase("unknown") } else { bars.join("; ") }
}
