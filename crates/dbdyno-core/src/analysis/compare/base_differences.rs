//! Differences between the runs of a base of many.

use std::cmp::Reverse;

use super::{Side, disclosure};
use crate::analysis::cpu_speed;
use crate::model::sentence::Value;
use crate::model::{Effect, Sentence, Test};

/// Names that a sentence lists.
const MAX_NAMED: usize = 3;

/// A fact, and the number of runs that differ in it.
struct Differing {
    fact: Value,
    runs: usize,
}

/// The facts in which runs of a base, oldest first, differ from its newest run, the most frequent
/// first, as far as they touch a figure of the tests that are compared; none if none differs.
pub fn differences_within(
    runs: &[Side<'_>],
    compared: &[Test],
    effects: &[Effect],
) -> Option<Sentence> {
    let newest = runs.last()?;
    let mut found: Vec<Differing> = Vec::new();
    for run in runs {
        for fact in facts(newest, run, compared, effects) {
            match found.iter_mut().find(|known| known.fact == fact) {
                Some(known) => known.runs += 1,
                None => found.push(Differing { fact, runs: 1 }),
            }
        }
    }
    found.sort_by_key(|differing| Reverse(differing.runs));
    let told = found.into_iter().map(|one| in_runs(one.fact, one.runs, runs.len()));
    let text = "Runs of the base differ from its newest one: {facts}";
    Some(Sentence::new(text).with("facts", abridge(told.collect())?))
}

/// The facts in which a run of a base differs from its newest run, each once.
fn facts(newest: &Side<'_>, run: &Side<'_>, compared: &[Test], effects: &[Effect]) -> Vec<Value> {
    let mut facts: Vec<Value> = Vec::new();
    if run.run.version != newest.run.version {
        facts.push(Sentence::new("dbdyno version").into());
    }
    if cpu_speed::between(newest.tests, run.tests, cpu_speed::SLOW).is_some() {
        facts.push(Sentence::new("CPU speed").into());
    }
    // Whether or not these two runs have a test of a group: the base has it, if it is compared.
    let [newest, run] = [newest, run].map(|side| Side { tests: compared, ..*side });
    for difference in disclosure::differences(&newest, &run, effects) {
        let fact = Value::from(difference.fact);
        // Tests of different suites are distinguished anyway.
        if fact != Value::from("suite") && !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    facts
}

/// `fsync in 2 of 6 runs`
pub fn in_runs(what: Value, runs: usize, all: usize) -> Sentence {
    let text = Sentence::new("{what} in {runs} of {all} runs");
    text.with("what", what).with("runs", runs).with("all", all)
}

/// The first three of these as a list, and the number of the others; none if there are none.
pub fn abridge(all: Vec<Sentence>) -> Option<Sentence> {
    if all.is_empty() {
        return None;
    }
    let more = all.len().saturating_sub(MAX_NAMED);
    let shown = Sentence::list(all.into_iter().take(MAX_NAMED));
    if more == 0 {
        return Some(shown);
    }
    Some(Sentence::new("{shown}, and {more} more").with("shown", shown).with("more", more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::{run, side};
    use crate::analysis::fixture::{at, counters};
    use crate::model::{RunRecord, TestResult};

    /// Test of a run at whose start a fixed piece of work took `work_s`.
    fn started_at(work_s: f64) -> Test {
        let looks = [("watch_work_s", work_s), ("watch_speed", 1.0), ("watch_paced", 1.0)];
        Test::from(TestResult { window_counters: counters(&looks), ..at(1, 10.0) })
    }

    #[test]
    fn facts_that_differ_within_a_base_are_counted_by_runs() {
        let tests = [0.01, 0.02, 0.01, 0.01].map(|work_s| [started_at(work_s)]);
        let mut runs: [RunRecord; 4] = ["a", "b", "c", "d"].map(run);
        let said = |runs: &[RunRecord]| {
            let sides = runs.iter().zip(&tests).map(|(run, tests)| side("", run, tests));
            let sides: Vec<Side<'_>> = sides.collect();
            differences_within(&sides, &tests[0], &[]).map(|said| said.to_string())
        };
        assert_eq!((said(&[]), said(&runs[..1])), (None, None));
        let speed = "Runs of the base differ from its newest one: CPU speed in 1 of 4 runs";
        assert_eq!(said(&runs), Some(speed.into()));
        runs[0].version = "0.0.9".into();
        for run in &mut runs[..2] {
            run.disclosure.set("settings", "fsync", "off");
            run.suite = "another".into();
        }
        for fact in ["work_mem", "jit"] {
            runs[1].disclosure.set("settings", fact, "on");
        }
        let all = "Runs of the base differ from its newest one: fsync in 2 of 4 runs, dbdyno \
                   version in 1 of 4 runs, CPU speed in 1 of 4 runs, and 2 more";
        assert_eq!(said(&runs), Some(all.into()));
    }
}
