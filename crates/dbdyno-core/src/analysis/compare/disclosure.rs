//! Differences between two disclosures, and the figures that they touch.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Side;
use crate::model::Effect;

/// A fact in which two disclosures differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Section of the disclosure: `hardware`.
    pub section: String,
    /// Name of the fact in its section.
    pub fact: String,
    /// `not stated` if the run does not know the fact at all.
    pub base: String,
    /// The same of the other run.
    pub other: String,
    /// Groups with tests in both runs that it touches.
    pub touches: Vec<String>,
    /// Reason why it touches them; empty if it touches none.
    pub because: String,
}

/// The value of a fact that a run does not disclose.
pub const NOT_STATED: &str = "not stated";

/// All differences that touch a figure, engine and size of the data included.
pub fn differences(base: &Side<'_>, other: &Side<'_>, effects: &[Effect]) -> Vec<Difference> {
    let groups = common_groups(base, other);
    let is_one_engine = base.run.engine == other.run.engine;
    let mut found: Vec<Difference> = Vec::new();
    for fact in disclosed_facts(base, other).into_iter().chain(facts_of_runs(base, other)) {
        if fact.base == fact.other || !is_one_engine && fact.is_setting_of_one_side() {
            continue;
        }
        let ComparedFact { section, fact, base, other } = fact;
        let is_known = found.iter().any(|known| known.section == section && known.fact == fact);
        let AffectedGroups { groups: touches, because } =
            affected_groups(effects, &section, &fact, &groups);
        if !is_known && !touches.is_empty() {
            found.push(Difference { section, fact, base, other, touches, because });
        }
    }
    found
}

/// A fact with its values in both runs.
struct ComparedFact {
    section: String,
    fact: String,
    base: String,
    other: String,
}

impl ComparedFact {
    /// True for a setting that only one side states, as each engine has settings of its own.
    fn is_setting_of_one_side(&self) -> bool {
        self.section == "settings" && (self.base == NOT_STATED || self.other == NOT_STATED)
    }
}

/// All facts that at least one of the two disclosures states, by section and name.
fn disclosed_facts(base: &Side<'_>, other: &Side<'_>) -> Vec<ComparedFact> {
    let sections = [base, other].into_iter().flat_map(|side| side.run.disclosure.0.iter());
    let names: BTreeSet<(&str, &str)> = sections
        .flat_map(|(section, facts)| {
            facts.keys().map(move |fact| (section.as_str(), fact.as_str()))
        })
        .collect();
    names
        .into_iter()
        .map(|(section, fact)| ComparedFact {
            section: section.into(),
            fact: fact.into(),
            base: value_or_not_stated(disclosed_value(base, section, fact)),
            other: value_or_not_stated(disclosed_value(other, section, fact)),
        })
        .collect()
}

/// The value of a fact as disclosed, also if that is `unknown`; none if it is not in the
/// disclosure.
fn disclosed_value<'a>(side: &Side<'a>, section: &str, fact: &str) -> Option<&'a str> {
    side.run.disclosure.0.get(section)?.get(fact).map(String::as_str)
}

/// Facts of the runs themselves: engine, suite and size of the data.
fn facts_of_runs(base: &Side<'_>, other: &Side<'_>) -> [ComparedFact; 3] {
    let size = |side: &Side<'_>| side.run.size_gb.map(|size_gb| size_gb.to_string());
    [
        ComparedFact {
            section: "database".into(),
            fact: "engine".into(),
            base: value_or_not_stated(base.run.engine.as_deref()),
            other: value_or_not_stated(other.run.engine.as_deref()),
        },
        ComparedFact {
            section: "dbdyno".into(),
            fact: "suite".into(),
            base: base.run.suite.clone(),
            other: other.run.suite.clone(),
        },
        ComparedFact {
            section: "data".into(),
            fact: "size_gb".into(),
            base: value_or_not_stated(size(base).as_deref()),
            other: value_or_not_stated(size(other).as_deref()),
        },
    ]
}

fn value_or_not_stated(value: Option<&str>) -> String {
    value.unwrap_or(NOT_STATED).to_string()
}

fn common_groups(base: &Side<'_>, other: &Side<'_>) -> BTreeSet<String> {
    let groups = |side: &Side<'_>| {
        side.tests.iter().map(|test| test.group().to_string()).collect::<BTreeSet<_>>()
    };
    groups(base).intersection(&groups(other)).cloned().collect()
}

/// Groups of workloads whose figures a fact affects.
struct AffectedGroups {
    groups: Vec<String>,
    /// Reason why it affects them.
    because: String,
}

/// The groups among `groups` that a fact affects: by the first rule that names the fact, else all.
fn affected_groups(
    effects: &[Effect],
    section: &str,
    fact: &str,
    groups: &BTreeSet<String>,
) -> AffectedGroups {
    let rule = effects.iter().find(|effect| effect.speaks_of(section, fact));
    let is_affected = |group: &&String| rule.is_none_or(|effect| effect.groups.contains(group));
    AffectedGroups {
        groups: groups.iter().filter(is_affected).cloned().collect(),
        because: match rule {
            Some(effect) => effect.because.clone(),
            None => "may touch every workload".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::{run, side};
    use crate::analysis::fixture::at;
    use crate::model::Test;

    #[test]
    fn a_setting_touches_its_groups_and_names_only_those_that_both_ran() {
        let effects = [
            Effect {
                section: "settings".into(),
                facts: vec!["fsync".into()],
                groups: vec!["LGWR".into()],
                because: "waits".into(),
            },
            Effect { section: "settings".into(), facts: vec!["port".into()], ..Effect::default() },
        ];
        let mut runs = [run("a"), run("b")];
        for (run, fsync) in runs.iter_mut().zip(["on", "off"]) {
            run.disclosure.set("settings", "fsync", fsync);
            run.disclosure.set("settings", "port", fsync);
            run.disclosure.set("hardware", "cores", fsync);
        }
        let mut commit = at(1, 10.0);
        commit.group = "LGWR".into();
        let tests = [at(1, 10.0), commit].map(Test::from);
        let found =
            differences(&side("a", &runs[0], &tests), &side("b", &runs[1], &tests), &effects);
        let seen: Vec<_> = found.iter().map(|d| (d.fact.as_str(), d.touches.join(" "))).collect();
        assert_eq!(seen, [("cores", "LGWR SRV".to_string()), ("fsync", "LGWR".into())]);
        let found =
            differences(&side("a", &runs[0], &tests[..1]), &side("b", &runs[1], &tests), &effects);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn settings_that_the_other_engine_does_not_have_are_left_out() {
        let mut runs = [run("a"), run("b")];
        runs[0].disclosure.set("settings", "shared_buffers", "1GB");
        runs[1].disclosure.set("settings", "cache_size", "-1000");
        runs.iter_mut()
            .zip(["on", "off"])
            .for_each(|(run, value)| run.disclosure.set("settings", "fsync", value));
        let tests = [at(1, 10.0)].map(Test::from);
        let facts = |runs: &[crate::model::RunRecord; 2]| -> Vec<String> {
            let found =
                differences(&side("a", &runs[0], &tests), &side("b", &runs[1], &tests), &[]);
            found.into_iter().map(|difference| difference.fact).collect()
        };
        assert_eq!(facts(&runs), ["cache_size", "fsync", "shared_buffers"]);
        runs[1].engine = Some("another".into());
        assert_eq!(facts(&runs), ["fsync", "engine"]);
    }
}
