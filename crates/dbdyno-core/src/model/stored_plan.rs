//! A plan as a run stores it: JSON, of which published runs, recordings and runs of earlier
//! versions lack parts.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AskedRate, Claim, Ramp, Test};

/// A plan as a run stores it. Each part may be missing: a published run and a recording have no
/// plan, and an earlier version stored less.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredPlan(Value);

/// A piece of SQL with what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlPiece {
    /// Heading of one line.
    pub caption: String,
    /// SQL as it would run.
    pub sql: String,
}

/// A test that a plan left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredOmission<'a> {
    /// Name of the workload, and of the way in which it was to run, if there are several.
    pub workload: &'a str,
    /// Reason for which it was left out.
    pub reason: &'a str,
}

impl From<Value> for StoredPlan {
    fn from(plan: Value) -> StoredPlan {
        StoredPlan(plan)
    }
}

impl StoredPlan {
    /// The plan as it is stored.
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// Selections in the order of the plan.
    pub fn selections(&self) -> Vec<StoredSelection<'_>> {
        self.list("selections").map(StoredSelection).collect()
    }

    /// The plan with those selections alone that `is_wanted` accepts.
    #[must_use]
    pub fn only(&self, is_wanted: impl Fn(StoredSelection<'_>) -> bool) -> StoredPlan {
        let mut plan = self.0.clone();
        if let Some(selections) = plan["selections"].as_array_mut() {
            selections.retain(|selection| is_wanted(StoredSelection(selection)));
        }
        StoredPlan(plan)
    }

    /// Tests that it left out, in their order.
    pub fn omissions(&self) -> Vec<StoredOmission<'_>> {
        self.list("left_out")
            .map(|omission| StoredOmission {
                workload: text(omission, "workload").unwrap_or_default(),
                reason: text(omission, "reason").unwrap_or_default(),
            })
            .collect()
    }

    /// Note of the suite on its figures.
    pub fn note(&self) -> Option<&str> {
        text(&self.0, "note")
    }

    /// Nominal size of the data set in GB.
    pub fn size_gb(&self) -> Option<f64> {
        self.0["size_gb"].as_f64()
    }

    /// The size profile of a private server.
    pub fn profile(&self) -> Option<&str> {
        text(&self.0, "profile")
    }

    /// The seed of the keys.
    pub fn key_seed(&self) -> Option<u64> {
        self.0["key_seed"].as_u64()
    }

    /// Thing that each block of tests had anew: `data` or `server`; none: nothing.
    pub fn fresh(&self) -> Option<&str> {
        text(&self.0, "fresh")
    }

    /// Number of times that a disturbed test was measured again at most; none: never.
    pub fn redo_disturbed(&self) -> Option<u64> {
        self.0["redo_disturbed"].as_u64().filter(|times| *times > 0)
    }

    /// Number of nodes of a private cluster, if it was one.
    pub fn nodes(&self) -> Option<u64> {
        self.0["nodes"].as_u64()
    }

    /// Delay of the links between the nodes of a private cluster, in s.
    pub fn network_delay_s(&self) -> Option<f64> {
        self.0["network_delay_s"].as_f64()
    }

    /// True if sessions were not sampled.
    pub fn is_without_sampler(&self) -> bool {
        self.0["no_sampler"].as_bool() == Some(true)
    }

    /// The engine's own repositories of which snapshots were taken.
    pub fn repositories(&self) -> impl Iterator<Item = &str> {
        self.list("repositories").filter_map(Value::as_str)
    }

    /// URL of the pooler that the clients connected to, without a password.
    pub fn via(&self) -> Option<&str> {
        text(&self.0, "via")
    }

    /// Number of tests whose bottleneck was looked for by experiments at most, if any were.
    pub fn bottleneck_tests(&self) -> Option<u64> {
        self.0["test_bottleneck"].as_u64()
    }

    /// Settings that a private server got beside those of its profile.
    pub fn settings(&self) -> Option<BTreeMap<String, String>> {
        read(&self.0, "settings")
    }

    /// The margin within which an A/B test calls both sides equal, as a fraction.
    pub fn margin(&self) -> Option<f64> {
        self.0["margin"].as_f64()
    }

    /// True if both sides of an A/B test ran at the same time, on halves of the CPUs.
    pub fn is_duet(&self) -> bool {
        self.0["duet"].as_bool() == Some(true)
    }

    fn list<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.0[key].as_array().map(Vec::as_slice).unwrap_or_default().iter()
    }
}

/// A selection of a stored plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredSelection<'a>(&'a Value);

impl<'a> StoredSelection<'a> {
    /// Id of the workload.
    pub fn workload(self) -> &'a str {
        text(self.0, "workload").unwrap_or_default()
    }

    /// Name of the drive.
    pub fn drive(self) -> &'a str {
        text(self.0, "drive").unwrap_or_default()
    }

    /// Hash of all that its tests execute.
    pub fn hash(self) -> &'a str {
        text(self.0, "hash").unwrap_or_default()
    }

    /// True if the test is one of this workload and content.
    pub fn is_of(self, test: &Test) -> bool {
        self.workload() == test.workload() && self.hash() == test.hash()
    }

    /// Numbers of jobs of its tests.
    pub fn ramp(self) -> Option<Ramp> {
        read(self.0, "ramp")
    }

    /// Number of times that each of its tests is measured.
    pub fn repetitions(self) -> u64 {
        self.0["repeat"].as_u64().unwrap_or(1)
    }

    /// Rates at which its ops start, each a test; none of a closed loop.
    pub fn rate(self) -> Option<AskedRate> {
        read(self.0, "rate")
    }

    /// Length of the window in s, at most; none of fixed work.
    pub fn duration_s(self) -> Option<f64> {
        self.0["window"]["duration_s"].as_f64()
    }

    /// Half width of the interval that ends the window, as a fraction of the mean.
    pub fn precision(self) -> Option<f64> {
        self.0["window"]["precision"].as_f64()
    }

    /// All SQL of its tests, in order.
    pub fn sql(self) -> Option<Vec<SqlPiece>> {
        read(self.0, "sql")
    }

    /// The claims that its tests had to keep.
    pub fn contract(self) -> Option<Vec<Claim>> {
        read(self.0, "contract")
    }

    /// The claims by which counters of the server confirm its ops.
    pub fn crosscheck(self) -> Option<Vec<Claim>> {
        read(self.0, "crosscheck")
    }
}

fn text<'a>(of: &'a Value, key: &str) -> Option<&'a str> {
    of[key].as_str()
}

fn read<T: DeserializeOwned>(of: &Value, key: &str) -> Option<T> {
    T::deserialize(of.get(key)?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_without_parts_answers_that_it_has_none() {
        for plan in [StoredPlan::default(), json!({}).into(), json!({ "selections": 3 }).into()] {
            assert_eq!((plan.selections().len(), plan.omissions().len()), (0, 0));
            assert_eq!((plan.note(), plan.fresh(), plan.settings()), (None, None, None));
            assert_eq!((plan.redo_disturbed(), plan.is_duet()), (None, false));
        }
        let of_nothing = StoredPlan::from(json!({ "selections": [{}] }));
        let [selection] = of_nothing.selections()[..] else { panic!("one selection") };
        assert_eq!((selection.repetitions(), selection.ramp()), (1, None));
        assert_eq!((selection.duration_s(), selection.contract()), (None, None));
    }

    #[test]
    fn a_plan_of_some_selections_has_all_else_as_it_was() {
        let selections = json!([{ "workload": "A" }, { "workload": "B" }, { "workload": "A" }]);
        let plan = StoredPlan::from(json!({ "size_gb": 0.5, "selections": selections }));
        let some = plan.only(|selection| selection.workload() == "A");
        let left = json!([{ "workload": "A" }, { "workload": "A" }]);
        assert_eq!(*some.json(), json!({ "size_gb": 0.5, "selections": left }));
        assert!(StoredPlan::default().only(|_| true).selections().is_empty());
    }

    #[test]
    fn it_is_stored_as_the_json_that_it_is() {
        let stored = json!({ "note": "short", "redo_disturbed": 0, "left_out": [
            { "workload": "VEC-SEARCH", "reason": "no vectors" },
        ]});
        let plan: StoredPlan = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(plan.omissions()[0].reason, "no vectors");
        assert_eq!((plan.note(), plan.redo_disturbed()), (Some("short"), None));
        assert_eq!(serde_json::to_value(&plan).unwrap(), stored);
    }
}
