//! Audit of a run: what a reader needs to trust and to repeat its figures, point by point, and what
//! is missing.
//!
//! The first eight points are the principles of SPEC's research group (A. V. Papadopoulos et al.,
//! "Methodological Principles for Reproducible Performance Evaluation in Cloud Computing", IEEE
//! Transactions on Software Engineering 47(8), 2021). The others are what TPC requires of a
//! disclosure, as far as a run of dbdyno can show it.

use std::collections::BTreeSet;

use super::ramp;
use crate::model::{Disclosure, Durability, RunRecord, Sentence, Status, Test};

/// Degree to which a run satisfies a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The point is as it should be.
    Kept,
    /// The point is met in part.
    Partly,
    /// The point is not met.
    Missing,
}

impl State {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            State::Kept => "kept",
            State::Partly => "partly",
            State::Missing => "missing",
        }
    }
}

/// A point of the audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Requirement of the point.
    pub asked: &'static str,
    /// Source of the requirement: `SPEC RG 1`, `TPC`.
    pub source: &'static str,
    /// Degree to which it is satisfied.
    pub state: State,
    /// Finding.
    pub found: Sentence,
    /// Advice on how to satisfy it; none where it is satisfied.
    pub advice: Option<&'static str>,
}

/// Facts about a run that are in neither its record nor its tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// True if the run was read from a bundle whose hashes are right.
    pub is_sealed: bool,
    /// True if a price list states what the platform costs.
    pub has_price: bool,
}

/// Repetitions from which an interval rests on more than a guess of the spread.
const ENOUGH_REPETITIONS: usize = 3;

/// Facts without which nobody can buy or build the same platform.
const NECESSARY: [(&str, &str); 7] = [
    ("hardware", "cpu_model"),
    ("hardware", "threads"),
    ("hardware", "memory_mb"),
    ("os", "kernel"),
    ("storage", "device"),
    ("storage", "file_system"),
    ("database", "version"),
];

/// The points in order.
pub fn audit(run: &RunRecord, tests: &[Test], circumstances: Circumstances) -> Vec<Point> {
    let measured: Vec<&Test> = tests.iter().filter(|test| test.measured().is_some()).collect();
    let figures = ramp::repeated(&measured);
    vec![
        repetitions(&figures, run),
        coverage(&measured),
        setup(run),
        access(circumstances),
        distribution(&measured),
        intervals(&figures),
        units(&measured),
        cost(circumstances),
        data(run),
        settings(run),
        durability(run, &measured),
        verdicts(&measured),
    ]
}

/// The point with the advice, where it is not kept.
fn point(
    asked: &'static str,
    source: &'static str,
    found: Sentence,
    state: State,
    advice: &'static str,
) -> Point {
    let advice = (state != State::Kept).then_some(advice);
    Point { asked, source, state, found, advice }
}

/// Kept if all have it, missing if none has.
fn share_of(having: usize, all: usize) -> State {
    match having {
        _ if having == all && all > 0 => State::Kept,
        0 => State::Missing,
        _ => State::Partly,
    }
}

fn repetitions(figures: &[ramp::RepeatedTest<'_>], run: &RunRecord) -> Point {
    let enough = figures.iter().filter(|figure| figure.times >= ENOUGH_REPETITIONS).count();
    let fresh = run.plan.fresh();
    let state = match share_of(enough, figures.len()) {
        State::Kept if fresh.is_none() => State::Partly,
        state => state,
    };
    let template = match fresh {
        Some(_) => {
            "{enough} of {all} figures are of three repetitions or more, on a fresh server or \
             fresh data"
        }
        None => {
            "{enough} of {all} figures are of three repetitions or more, all on one start of the \
             server"
        }
    };
    let found = Sentence::new(template).with("enough", enough).with("all", figures.len());
    // A database without a directory of ours is somebody's, who starts it.
    let advice = match run.plan.profile() {
        Some(_) => "run it with --repeat 5 --fresh data",
        None => "run it with --repeat 5; only a private server can be started anew",
    };
    point("Repeated experiments", "SPEC RG 1", found, state, advice)
}

fn coverage(tests: &[&Test]) -> Point {
    let workloads: BTreeSet<&str> = tests.iter().map(|test| test.workload()).collect();
    let jobs: BTreeSet<Option<u32>> = tests.iter().map(|test| test.jobs()).collect();
    let state = match (workloads.len(), jobs.len()) {
        (0, _) => State::Missing,
        (1, _) | (_, 1) => State::Partly,
        _ => State::Kept,
    };
    let found = Sentence::new("{workloads} at {jobs}")
        .with("workloads", Sentence::count(workloads.len(), "1 workload", "{count} workloads"))
        .with("jobs", Sentence::count(jobs.len(), "one number of jobs", "{count} numbers of jobs"));
    let advice = "run a suite over a ramp: --suite quick --jobs 1..auto";
    point("Workload and configuration coverage", "SPEC RG 2", found, state, advice)
}

fn setup(run: &RunRecord) -> Point {
    let is_known = |(section, fact): &&(&str, &str)| run.disclosure.get(section, fact).is_some();
    let lacking: Vec<String> = NECESSARY
        .iter()
        .filter(|fact| !is_known(fact))
        .map(|(section, fact)| format!("{section}.{fact}"))
        .collect();
    let known = NECESSARY.len() - lacking.len();
    let found = match lacking.is_empty() {
        true => Sentence::new("{count} facts are disclosed").with("count", count_facts(run)),
        false => Sentence::new("not disclosed: {facts}").with("facts", lacking.join(", ")),
    };
    let advice = "name the exporter of a remote server's host by --host-metrics, or measure on \
                  the host itself";
    point(
        "Experimental setup description",
        "SPEC RG 3",
        found,
        share_of(known, NECESSARY.len()),
        advice,
    )
}

fn count_facts(run: &RunRecord) -> usize {
    let facts = run.disclosure.0.values().flat_map(|section| section.values());
    facts.filter(|value| value.as_str() != Disclosure::UNKNOWN).count()
}

fn access(circumstances: Circumstances) -> Point {
    let (state, template) = match circumstances.is_sealed {
        true => {
            (State::Kept, "sealed with all statements, settings and seconds; the hashes are right")
        }
        false => (
            State::Partly,
            "stored with all statements, settings and seconds, where you can read them",
        ),
    };
    point(
        "Open access artifact",
        "SPEC RG 4",
        Sentence::new(template),
        state,
        "seal it with 'dbdyno bundle' and give the digest",
    )
}

fn distribution(tests: &[&Test]) -> Point {
    let has = |test: &&&Test| {
        let result = test.measured();
        result.is_some_and(|result| {
            result.latency.p99_us.is_some() || !result.latency.buckets.is_empty()
        })
    };
    let having = tests.iter().filter(has).count();
    let found =
        Sentence::new("{having} of {all} tests have the distribution of their service times")
            .with("having", having)
            .with("all", tests.len());
    point(
        "Probabilistic result description",
        "SPEC RG 5",
        found,
        share_of(having, tests.len()),
        "measure longer windows: percentiles need samples",
    )
}

fn intervals(figures: &[ramp::RepeatedTest<'_>]) -> Point {
    let having = figures.iter().filter(|figure| figure.interval().is_ok()).count();
    let found = Sentence::new("{having} of {all} figures have a 95 % interval")
        .with("having", having)
        .with("all", figures.len());
    point(
        "Statistical evaluation",
        "SPEC RG 6",
        found,
        share_of(having, figures.len()),
        "repeat the tests: --repeat 5",
    )
}

fn units(tests: &[&Test]) -> Point {
    let having = tests.iter().filter(|test| !test.kpm().unit.is_empty()).count();
    let found = Sentence::new("{having} of {all} tests state the unit of their metric")
        .with("having", having)
        .with("all", tests.len());
    point(
        "Measurement units",
        "SPEC RG 7",
        found,
        share_of(having, tests.len()),
        "name the unit in the catalog",
    )
}

fn cost(circumstances: Circumstances) -> Point {
    let (state, template) = match circumstances.has_price {
        true => (State::Kept, "a price list is given"),
        false => (State::Missing, "no price of the platform is given"),
    };
    point("Cost", "SPEC RG 8", Sentence::new(template), state, "give a price list: --price FILE")
}

fn data(run: &RunRecord) -> Point {
    let known = [run.size_gb.is_some(), run.seed.is_some(), run.data_set_id.is_some()];
    let found = Sentence::new("{known} of 3 are stored: size, seed and identity of the rows")
        .with("known", known.iter().filter(|is_known| **is_known).count());
    let state = share_of(known.iter().filter(|is_known| **is_known).count(), known.len());
    point("Size and content of the data", "TPC", found, state, "measure with a data set of dbdyno")
}

fn settings(run: &RunRecord) -> Point {
    let count = run.disclosure.0.get("settings").map_or(0, |section| section.len());
    let state = if count > 0 { State::Kept } else { State::Missing };
    let found = Sentence::count(
        count,
        "1 setting of the database is disclosed",
        "{count} settings of the database are disclosed",
    );
    point(
        "Settings of the database",
        "TPC",
        found,
        state,
        "use an account that may read them: 'dbdyno check' names the rights",
    )
}

/// Missing or partly, if commits were not durable; else by the look at the device.
fn durability(run: &RunRecord, tests: &[&Test]) -> Point {
    let stamps = tests.iter().filter_map(|test| test.measured()?.durability);
    let stamps: Vec<Durability> = stamps.collect();
    let durable = stamps.iter().filter(|stamp| **stamp == Durability::Durable).count();
    if durable < stamps.len() {
        let found = "commits of {others} of {all} tests that commit did not wait until they were \
                     durable";
        let found =
            Sentence::new(found).with("others", stamps.len() - durable).with("all", stamps.len());
        let advice = "measure with settings under which each commit waits for the log";
        let state = share_of(durable, stamps.len());
        return point("Durability of commits", "TPC", found, state, advice);
    }
    let (state, found) = match &run.device_sync {
        Some(_) => (
            State::Kept,
            "the device's own time of a durable write was measured beside the commits",
        ),
        None => (State::Missing, "no durable write of the device was measured"),
    };
    point(
        "Durability of commits",
        "TPC",
        Sentence::new(found),
        state,
        "run a workload that commits, on the host of the database",
    )
}

fn verdicts(tests: &[&Test]) -> Point {
    let valid = tests.iter().filter(|test| test.status() == Status::Valid).count();
    let found = Sentence::new("{valid} of {all} tests are valid")
        .with("valid", valid)
        .with("all", tests.len());
    point(
        "Tests that stressed what they say",
        "TPC",
        found,
        share_of(valid, tests.len()),
        "'dbdyno report kpm' gives the reasons and what settles them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{compare, fixture};

    fn states(points: &[Point]) -> Vec<(&'static str, State)> {
        points.iter().map(|point| (point.asked, point.state)).collect()
    }

    #[test]
    fn a_single_short_test_lacks_what_it_lacks() {
        let run = compare::fixture::run("ours");
        let tests = [Test::from(fixture::at(1, 1000.0))];
        let points = audit(&run, &tests, Circumstances::default());
        assert_eq!(points.len(), 12);
        let of = |asked: &str| points.iter().find(|point| point.asked == asked).unwrap();
        assert_eq!(of("Repeated experiments").state, State::Missing);
        assert_eq!(of("Workload and configuration coverage").state, State::Partly);
        assert_eq!(of("Cost").state, State::Missing);
        assert_eq!(of("Open access artifact").state, State::Partly);
        assert!(points.iter().all(|point| (point.state == State::Kept) == point.advice.is_none()));
    }

    #[test]
    fn repetitions_on_fresh_servers_are_kept_and_the_advice_is_what_run_takes() {
        let tests: Vec<Test> = (1..=3)
            .map(|seq| crate::model::TestResult { seq, ..fixture::at(1, 1000.0) }.into())
            .collect();
        let of = |plan: serde_json::Value| {
            let run = RunRecord { plan: plan.into(), ..compare::fixture::run("ours") };
            let point = audit(&run, &tests, Circumstances::default()).remove(0);
            (point.state, point.found.to_string(), point.advice)
        };
        let of_three = "1 of 1 figures are of three repetitions or more, ";
        let (state, found, advice) = of(serde_json::json!({ "fresh": "server" }));
        assert_eq!((state, advice), (State::Kept, None));
        assert_eq!(found, format!("{of_three}on a fresh server or fresh data"));
        let (state, found, advice) = of(serde_json::json!({ "profile": "XS" }));
        assert_eq!((state, advice), (State::Partly, Some("run it with --repeat 5 --fresh data")));
        assert_eq!(found, format!("{of_three}all on one start of the server"));
        let existing = of(serde_json::json!({})).2.unwrap();
        assert!(!existing.contains("--fresh"), "a server of others is not started: {existing}");
        let run = compare::fixture::run("ours");
        let coverage = &audit(&run, &tests, Circumstances::default())[1];
        assert_eq!(coverage.found.to_string(), "1 workload at one number of jobs");
    }

    #[test]
    fn commits_that_were_not_durable_are_no_durability_of_commits() {
        use Durability::{Durable, Implausible, Relaxed};
        let run = compare::fixture::run("ours");
        let of = |stamps: &[Durability]| {
            let test = |stamp: &Durability| {
                let durability = Some(*stamp);
                Test::from(crate::model::TestResult { durability, ..fixture::at(1, 1000.0) })
            };
            let tests: Vec<Test> = stamps.iter().map(test).collect();
            let points = audit(&run, &tests, Circumstances::default());
            let point = points.into_iter().find(|point| point.asked == "Durability of commits");
            point.map(|point| (point.state, point.found.to_string())).unwrap()
        };
        let said = |count: u32, all: u32| {
            format!(
                "commits of {count} of {all} tests that commit did not wait until they were durable"
            )
        };
        assert_eq!(of(&[Relaxed]), (State::Missing, said(1, 1)));
        assert_eq!(of(&[Durable, Relaxed, Implausible]), (State::Partly, said(2, 3)));
        let unknown = "no durable write of the device was measured";
        assert_eq!(of(&[Durable]), (State::Missing, unknown.to_string()));
    }

    #[test]
    fn a_sealed_run_with_a_price_keeps_these_points() {
        let run = compare::fixture::run("ours");
        let sealed = Circumstances { is_sealed: true, has_price: true };
        let points = audit(&run, &[], sealed);
        assert!(states(&points).contains(&("Open access artifact", State::Kept)));
        assert!(states(&points).contains(&("Cost", State::Kept)));
        assert!(
            states(&points).contains(&("Repeated experiments", State::Missing)),
            "no test at all"
        );
    }
}
