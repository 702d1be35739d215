//! The scalability law of every published ramp is the least-squares fit that an independent
//! optimiser finds.

use dbdyno::analysis::scaling::{Scaling, ramps};
use dbdyno::import::{ImportedRun, Text, published};
use dbdyno::model::{Status, Test};

const RESULTS: &str = "data/reference/published-results.csv";
const REFERENCE: &str = "tests/fixtures/published-laws.csv";

/// A line of the reference: a ramp as `jobs:throughput` with blanks between, and its law.
#[derive(Debug, serde::Deserialize)]
struct Reference {
    ramp: String,
    points: String,
    gamma: f64,
    alpha: f64,
    beta: f64,
    squares: f64,
}

fn reference() -> Vec<Reference> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(REFERENCE).unwrap();
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

fn imported() -> Vec<ImportedRun> {
    let text = std::fs::read_to_string(RESULTS).unwrap();
    published(Text { place: RESULTS, text: &text }, None, &crate::support::catalog(), "").unwrap()
}

/// Points that the law is fitted to.
fn points(scaling: &Scaling<'_>) -> Vec<(f64, f64)> {
    let valid = scaling.steps.iter().filter(|step| step.figure.status() == Status::Valid);
    valid.map(|step| (f64::from(step.jobs), step.figure.value)).collect()
}

/// Differences of the law of a ramp; none = nothing but rounding.
fn difference(
    scaling: &Scaling<'_>,
    points: &[(f64, f64)],
    expected: &Reference,
) -> Option<String> {
    let Some(law) = scaling.fit.as_ref().map(|fit| fit.law) else {
        return Some("has no law".into());
    };
    let squares: f64 =
        points.iter().map(|(jobs, value)| (value - law.throughput(*jobs)).powi(2)).sum();
    let close = |got: f64, expected: f64, part: f64| (got - expected).abs() <= part * expected;
    let same = close(squares, expected.squares, 1e-6)
        && close(law.gamma, expected.gamma, 1e-4)
        && close(law.alpha, expected.alpha, 1e-3)
        && close(law.beta, expected.beta, 1e-3);
    (!same).then(|| format!("has {law:?} with squares {squares}"))
}

#[test]
fn every_published_ramp_has_the_law_of_an_independent_optimiser() {
    let runs = imported();
    let mut reference = reference();
    let mut wrong = Vec::new();
    let tests = |run: &ImportedRun| run.tests.iter().cloned().map(Test::from).collect::<Vec<_>>();
    let runs: Vec<_> = runs.iter().map(|run| (&run.run, tests(run))).collect();
    for (run, ramp) in
        runs.iter().flat_map(|(run, tests)| ramps(tests).into_iter().map(move |ramp| (run, ramp)))
    {
        let Some(scaling) = ramp.scaling().filter(|scaling| points(scaling).len() >= 4) else {
            continue;
        };
        let points = points(&scaling);
        let printed: Vec<String> =
            points.iter().map(|(jobs, value)| format!("{jobs}:{value}")).collect();
        let (ramp, printed) =
            (format!("{} {}", run.name.as_deref().unwrap_or(""), ramp.label), printed.join(" "));
        let Some(at) =
            reference.iter().position(|known| known.ramp == ramp && known.points == printed)
        else {
            wrong.push(format!("{ramp},{printed} is not in the reference"));
            continue;
        };
        let expected = reference.swap_remove(at);
        wrong.extend(
            difference(&scaling, &points, &expected).map(|what| format!("{expected:?} {what}")),
        );
    }
    wrong.extend(reference.iter().map(|left| format!("{left:?} is not among the ramps")));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
