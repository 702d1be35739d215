//! The head of a page of one run: that of every report, with the place of the run among the
//! publications beside it, a strip of its tests and the name plate of the platform.

use super::super::masthead::entries::mark;
use super::super::masthead::run::{answer, counts, folds, sentences, stamp, title};
use super::super::picture::{Head, StyledText, Tick, TickGroup};
use super::super::{Input, RunTests, beside, run_facts, summary};
use dbdyno_core::analysis::beside::Beside;
use dbdyno_core::model::{Drive, RunKind, Test, params};

/// More tests than these are only counted.
const MAX_TICKS: usize = 300;

/// The head of a page about this run, which shows it beside these publications.
pub(super) fn of_run(input: &Input, data: &RunTests, kind: &str, published: &[Beside]) -> Head {
    let language = input.language;
    let position = published.first().map(|one| beside::position(one, language));
    Head {
        kind: language.phrase(kind),
        stamp: stamp(language, data),
        title: title(language, data),
        answer: StyledText::sentence(&sentences(&[
            answer(input, data),
            position.unwrap_or_default(),
        ])),
        counts: counts(language, &data.tests),
        tests: strip(input, data),
        folds: folds(language, data),
        plate: plate(input, data),
        shares: Vec::new(),
    }
}

/// The tests of each group as ticks; empty if they are too many to be shown.
fn strip(input: &Input, data: &RunTests) -> Vec<TickGroup> {
    let language = input.language;
    if data.tests.len() > MAX_TICKS {
        return Vec::new();
    }
    let tick = |test: &Test| {
        let label = format!("{} {}", test.workload(), params::assignments(test.chosen(), " "));
        let (jobs, verdict) = (language.jobs(test.jobs()), language.verdict(test.status()));
        Tick {
            mark: mark(test.verdict()),
            note: format!("{}, {jobs}: {verdict}", label.trim_end()),
        }
    };
    let of = |(id, _): (&str, &str)| {
        let tests = data.tests.iter().filter(|test| test.group() == id);
        TickGroup { name: id.to_string(), ticks: tests.map(tick).collect() }
    };
    input.used_groups().into_iter().map(of).collect()
}

/// The platform in short, how the loop was driven, and what was run.
fn plate(input: &Input, data: &RunTests) -> Vec<(String, String)> {
    let language = input.language;
    let run = &data.run;
    let unknown = language.phrase("unknown");
    let facts = run_facts::platform(input, run);
    let known = facts.into_iter().filter(|(_, value)| *value != unknown);
    let mut plate: Vec<(String, String)> = known.collect();
    let drives = |drive: Drive| data.tests.iter().any(|test| test.drive() == drive);
    let drive = match (run.kind, drives(Drive::Database), drives(Drive::Client)) {
        (RunKind::Published, ..) => "not measured by dbdyno: published",
        (RunKind::Scripts, ..) => "in the database, by plain scripts",
        (_, true, true) => "in the database and in our process",
        (_, true, false) => "in the database",
        _ => "in our process (client)",
    };
    plate.push((language.phrase("Data"), run_facts::data(language, run)));
    plate.push((language.phrase("Loop runs"), language.phrase(drive)));
    let tests = summary::tests(language, data);
    plate.push((language.phrase("Suite"), format!("{}: {tests}", run.suite)));
    plate
}
