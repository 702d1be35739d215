//! Completeness of a disclosure: the facts that the catalog requires of such a platform, and those
//! of them that are missing.

use crate::model::{Disclosure, Needed, STATED, StatableFact};

/// Section in which a guest's machine reports its cloud, and topic in which a user states it.
const CLOUD: &str = "cloud";

/// Facts that a disclosure has, and those that it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completeness<'a> {
    /// Number of facts that such a platform needs.
    pub needed: usize,
    /// Names of the facts that are neither stated nor read from the machine.
    pub missing: Vec<&'a str>,
}

/// Determines which facts a disclosure lacks. A platform is rented if its machine or somebody says
/// so.
pub fn completeness<'a>(facts: &'a [StatableFact], disclosure: &Disclosure) -> Completeness<'a> {
    let is_stated = |name: &String| name.starts_with("cloud.");
    let is_cloud = disclosure.0.contains_key(CLOUD)
        || disclosure.0.get(STATED).is_some_and(|stated| stated.keys().any(is_stated));
    let is_needed = |fact: &&StatableFact| match fact.needed {
        Needed::Never => false,
        Needed::Always => true,
        Needed::Cloud => is_cloud,
        Needed::Own => !is_cloud,
    };
    let needed: Vec<&StatableFact> = facts.iter().filter(is_needed).collect();
    let missing = needed.iter().filter(|fact| !fact.is_in(disclosure));
    Completeness { needed: needed.len(), missing: missing.map(|fact| fact.name.as_str()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(name: &str, needed: Needed, read_as: Option<&str>) -> StatableFact {
        let read_as = read_as.map(String::from);
        StatableFact { name: name.into(), needed, read_as, ..StatableFact::default() }
    }

    #[test]
    fn a_rented_machine_needs_other_facts_than_ones_own() {
        let facts = [
            fact("study.paid_by", Needed::Always, None),
            fact("cloud.region", Needed::Cloud, Some("cloud.region")),
            fact("storage.array", Needed::Own, None),
            fact("storage.luns", Needed::Never, None),
        ];
        let mut disclosure = Disclosure::default();
        let missing = |disclosure: &Disclosure| completeness(&facts, disclosure).missing;
        assert_eq!(missing(&disclosure), ["study.paid_by", "storage.array"]);
        disclosure.set(STATED, "study.paid_by", "nobody");
        assert_eq!(missing(&disclosure), ["storage.array"]);
        disclosure.set("cloud", "region", Disclosure::UNKNOWN);
        assert_eq!(missing(&disclosure), ["cloud.region"]);
        disclosure.set("cloud", "region", "eu-central-1");
        assert_eq!(completeness(&facts, &disclosure), Completeness { needed: 2, missing: vec![] });
        let mut stated = Disclosure::default();
        stated.set(STATED, "cloud.billing", "spot");
        assert_eq!(missing(&stated), ["study.paid_by", "cloud.region"]);
    }
}
