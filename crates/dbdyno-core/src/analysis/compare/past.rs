//! Selection of earlier runs that show how far fresh runs of a platform differ.

use super::estimate::Past;
use super::{Side, disclosure};
use crate::analysis::noise::{is_calibration, is_same_platform};
use crate::model::{Effect, RunRecord, Test};

/// Minimum number of earlier runs that show how runs differ.
const FEWEST: usize = 2;
/// Number of earlier runs that is enough: older ones hold what has changed since.
pub const ENOUGH: usize = 10;

/// The earlier runs that are known to a comparison of two.
#[derive(Debug, Clone, Default)]
pub struct Earlier<'a> {
    /// The tests of each fresh run.
    pub runs: Vec<Past<'a>>,
    /// Calibrations among them, by name.
    pub calibrations: Vec<String>,
}

/// The last ten runs of `history` (oldest first) that were measured on the platform of both,
/// without a difference that touches a figure: to the base, or, with fewer than two of those, to
/// the other. A calibration is as many fresh runs as it has loads.
pub fn earlier<'a>(
    base: &Side<'_>,
    other: &Side<'_>,
    history: &[(&'a RunRecord, &'a [Test])],
    effects: &[Effect],
) -> Earlier<'a> {
    if !is_same_platform(base.run, other.run) {
        return Earlier::default();
    }
    let is_other = |run: &RunRecord| run.id != base.run.id && run.id != other.run.id;
    let known =
        history.iter().filter(|(run, _)| is_other(run) && is_same_platform(run, base.run)).copied();
    let known: Vec<(&RunRecord, &[Test])> = known.collect();
    let like = |side: &Side<'_>| -> Earlier<'a> {
        let is_telling = |(run, tests): &&(&RunRecord, &[Test])| tells(side, run, tests, effects);
        let mut last: Vec<_> = known.iter().rev().filter(is_telling).take(ENOUGH).collect();
        last.reverse();
        let mut found = Earlier::default();
        for (run, tests) in last {
            if is_calibration(run) {
                found.runs.extend(by_load(tests));
                found.calibrations.push(run.name.clone().unwrap_or_else(|| run.id.to_string()));
            } else {
                found.runs.push(tests.iter().collect());
            }
        }
        found
    };
    let own = like(base);
    if own.runs.len() < FEWEST { like(other) } else { own }
}

/// True if an earlier run of the same platform shows how far fresh runs like this one differ. It is
/// a calibration, or a run with the same facts as far as they affect a figure; the suite may
/// differ, because its tests are distinguished anyway.
pub fn tells(side: &Side<'_>, run: &RunRecord, tests: &[Test], effects: &[Effect]) -> bool {
    let earlier = Side { name: "", run, tests, price: None };
    let found = disclosure::differences(side, &earlier, effects);
    is_calibration(run) || found.iter().all(|difference| difference.fact == "suite")
}

/// The tests of each load of a calibration.
fn by_load(tests: &[Test]) -> Vec<Past<'_>> {
    let load = |test: &Test| test.measured().map(|test| test.load);
    let mut loads: Vec<u32> = tests.iter().filter_map(load).collect();
    loads.sort_unstable();
    loads.dedup();
    let of = |number: u32| tests.iter().filter(|test| load(test) == Some(number)).collect();
    loads.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::{run, side};
    use crate::analysis::fixture::at;
    use crate::analysis::noise::LABEL;
    use crate::model::TestResult;

    #[test]
    fn fresh_runs_of_the_platform_count_and_each_load_of_a_calibration() {
        let tests = [at(1, 10.0)].map(Test::from);
        let loads = [1, 1, 2].map(|load| Test::from(TestResult { load, ..at(1, 10.0) }));
        let mut runs: Vec<RunRecord> =
            (1..=6).map(|id| RunRecord { id, ..run(&format!("r{id}")) }).collect();
        runs[3].disclosure.set("settings", "fsync", "off");
        runs[4].disclosure.set("hardware", "cores", "77");
        runs[5].labels.insert(LABEL.0.into(), LABEL.1.into());
        let history: Vec<(&RunRecord, &[Test])> = runs
            .iter()
            .map(|run| (run, if run.id == 6 { loads.as_slice() } else { tests.as_slice() }))
            .collect();
        let (base, other) = (side("a", &runs[0], &tests), side("b", &runs[1], &tests));
        // Behind many runs of other settings they are found as well; of many the last ten.
        let elsewise: Vec<RunRecord> = (7..30)
            .map(|id| RunRecord { id, disclosure: runs[3].disclosure.clone(), ..run("other") })
            .collect();
        let crowd = elsewise.iter().map(|run| (run, tests.as_slice()));
        let behind: Vec<(&RunRecord, &[Test])> = history.iter().copied().chain(crowd).collect();
        assert_eq!(earlier(&base, &other, &behind, &[]).runs.len(), 3);
        let of_side = side("c", &elsewise[0], &tests);
        assert_eq!(earlier(&of_side, &of_side, &behind, &[]).runs.len(), ENOUGH);
        let found = earlier(&base, &other, &history, &[]);
        assert_eq!(found.runs.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(found.calibrations, ["r6"]);
        let elsewhere = side("c", &runs[4], &tests);
        assert!(earlier(&base, &elsewhere, &history, &[]).runs.is_empty());
    }
}
