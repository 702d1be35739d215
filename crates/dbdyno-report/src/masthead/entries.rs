//! Workloads of runs with the figures that heads and pages show for each, and the form in which a
//! figure is written there.

use super::super::document::Digits;
use super::super::picture::Mark;
use super::super::ramps::{RampRow, rows};
use super::super::{Input, Language};
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::heatmap::METRICS;
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::ramp::{self, Scalability};
use dbdyno_core::model::{Better, Status, Test, Verdict};

/// Digits of a figure in a card or a cell.
pub(crate) const DIGITS: Digits = Digits::Significant(3);

/// A workload of a group with its figures.
pub(crate) struct Entry<'a> {
    pub row: RampRow<'a>,
    pub speed: Option<Figure<'a>>,
    pub best: Option<Figure<'a>>,
}

impl<'a> Entry<'a> {
    pub fn from_row(row: RampRow<'a>) -> Entry<'a> {
        let [speed, best] = METRICS.each_ref().map(|metric| metric.figure(&row.runs[0]));
        Entry { row, speed, best }
    }

    pub fn tests(&self) -> &[&'a Test] {
        &self.row.runs[0]
    }

    /// The figure that stands for it: a time at one job, else the best throughput.
    pub fn main(&self) -> Option<Figure<'a>> {
        let time = self.speed.filter(|speed| speed.better == Better::Lower);
        time.or(self.best).or(self.speed)
    }

    /// Best throughput against that of one job, where the verdict accepts both.
    pub fn gain(&self) -> Option<Scalability> {
        let tests = self.tests();
        // A publication that prints one job and a best at an unknown number has no ramp.
        if ramp::curve(tests).len() < 2 {
            return None;
        }
        ramp::scalability(tests).filter(|found| supports(found.status) && found.jobs.is_some())
    }
}

/// The entries of every group, in the order of the catalog, with the id and the title of the
/// group.
pub(crate) fn groups(input: &Input) -> Vec<(&str, String, Vec<Entry<'_>>)> {
    let language = input.language;
    let of = |(id, title)| {
        let entries = rows(input, id).into_iter().map(Entry::from_row).collect();
        (id, short_title(&language.group(id, title)), entries)
    };
    input.used_groups().into_iter().map(of).collect()
}

/// A title without the text after a colon.
fn short_title(title: &str) -> String {
    title.split_once(':').map_or(title, |(short, _)| short).to_string()
}

/// The headline of a group: the first workload with a valid throughput at several numbers of jobs;
/// else the first with a valid figure, a conditional one, any.
pub(crate) fn headline<'b, 'a>(entries: &'b [Entry<'a>]) -> Option<&'b Entry<'a>> {
    let is = |entry: &&Entry<'_>, most: Status| {
        entry.main().is_some_and(|figure| figure.status() <= most)
    };
    let has_ramp = |entry: &&Entry<'_>| ramp::curve(entry.tests()).len() > 1;
    let first = entries.iter().find(|entry| is(entry, Status::Valid) && has_ramp(entry));
    first
        .or_else(|| entries.iter().find(|entry| is(entry, Status::Valid)))
        .or_else(|| entries.iter().find(|entry| is(entry, Status::Conditional)))
        .or(entries.first())
}

/// The sign of a verdict.
pub(crate) fn mark(verdict: &Verdict) -> Mark {
    match verdict.status {
        Status::Conditional if verdict.has_disturbance() => Mark::Disturbed,
        status => status.into(),
    }
}

/// `1.51` and `M`: three digits.
pub(crate) fn short(language: Language, value: f64) -> (String, String) {
    const STEPS: [(f64, f64, &str); 3] =
        [(999.5e6, 1e9, "G"), (999.5e3, 1e6, "M"), (9_999.5, 1e3, "k")];
    let step = STEPS.iter().find(|step| value.abs() >= step.0);
    let (scale, suffix) = step.map_or((1.0, ""), |step| (step.1, step.2));
    (language.number(value / scale, DIGITS), suffix.into())
}

/// `1.51 M`.
pub(crate) fn compact(language: Language, value: f64) -> String {
    let (number, suffix) = short(language, value);
    if suffix.is_empty() { number } else { format!("{number}\u{202f}{suffix}") }
}

/// `1.52×`.
pub(crate) fn times_shown(language: Language, factor: f64) -> String {
    format!("{}×", language.number(factor, DIGITS))
}
