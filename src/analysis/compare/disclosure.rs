//! What differs between two disclosures, and which figures that touches.

use std::collections::BTreeSet;

use super::Side;
use crate::model::Effect;

/// A fact in which two disclosures differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub section: String,
    pub fact: String,
    /// `not stated` if the run does not know the fact at all.
    pub base: String,
    pub other: String,
    /// Groups with tests in both runs that it touches.
    pub touches: Vec<String>,
    pub because: String,
}

const NOT_STATED: &str = "not stated";

/// All differences that touch a figure, engine and size of the data included.
pub fn differences(base: &Side<'_>, other: &Side<'_>, effects: &[Effect]) -> Vec<Difference> {
    let groups = common_groups(base, other);
    let facts = |side: &Side<'_>| -> BTreeSet<(String, String)> {
        let sections = side.run.disclosure.0.iter();
        sections.flat_map(|(section, facts)| facts.keys().map(|fact| (section.clone(), fact.clone()))).collect()
    };
    let names: BTreeSet<(String, String)> = facts(base).union(&facts(other)).cloned().collect();
    let value = |side: &Side<'_>, section: &str, fact: &str| -> String {
        let stated = side.run.disclosure.0.get(section).and_then(|facts| facts.get(fact));
        stated.map_or(NOT_STATED, String::as_str).to_string()
    };
    let disclosed = names.into_iter().map(|(section, fact)| {
        let (base, other) = (value(base, &section, &fact), value(other, &section, &fact));
        (section, fact, base, other)
    });
    let engine = ("database".into(), "engine".into(), base.run.engine.clone(), other.run.engine.clone());
    let suite = ("dbdyno".into(), "suite".into(), base.run.suite.clone(), other.run.suite.clone());
    let size = |side: &Side<'_>| side.run.size_gb.to_string();
    let size = ("data".into(), "size_gb".into(), size(base), size(other));
    let mut found: Vec<Difference> = Vec::new();
    for (section, fact, base, other) in
        disclosed.chain([engine, suite, size]).filter(|(_, _, base, other)| base != other)
    {
        let known = found.iter().any(|known| known.section == section && known.fact == fact);
        let (touches, because) = touched(effects, &section, &fact, &groups);
        if !known && !touches.is_empty() {
            found.push(Difference { section, fact, base, other, touches, because });
        }
    }
    found
}

fn common_groups(base: &Side<'_>, other: &Side<'_>) -> BTreeSet<String> {
    let groups = |side: &Side<'_>| side.tests.iter().map(|test| test.group.clone()).collect::<BTreeSet<_>>();
    groups(base).intersection(&groups(other)).cloned().collect()
}

/// The groups that a fact touches, and why: by the first rule that speaks of it, else all.
fn touched(effects: &[Effect], section: &str, fact: &str, groups: &BTreeSet<String>) -> (Vec<String>, String) {
    match effects.iter().find(|effect| effect.speaks_of(section, fact)) {
        Some(effect) => {
            let touched = groups.iter().filter(|group| effect.groups.contains(group)).cloned();
            (touched.collect(), effect.because.clone())
        }
        None => (groups.iter().cloned().collect(), "may touch every workload".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::{run, side};
    use crate::analysis::fixture::at;

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
        let tests = [at(1, 10.0), commit];
        let found = differences(&side("a", &runs[0], &tests), &side("b", &runs[1], &tests), &effects);
        let seen: Vec<_> = found.iter().map(|d| (d.fact.as_str(), d.touches.join(" "))).collect();
        assert_eq!(seen, [("cores", "LGWR SRV".to_string()), ("fsync", "LGWR".into())]);
        let found = differences(&side("a", &runs[0], &tests[..1]), &side("b", &runs[1], &tests), &effects);
        assert_eq!(found.len(), 1);
    }
}
