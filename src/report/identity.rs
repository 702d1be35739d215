//! What tells the curves of several runs apart: a colour per platform, a style of line per variant of it.

use std::collections::BTreeMap;

use super::Input;
use crate::model::RunRecord;

/// More variants than styles of line cannot be told apart: then each run is a platform of its own.
const MOST_VARIANTS: usize = 4;

/// Numbers of a run's platform and variant, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub platform: usize,
    pub variant: usize,
}

/// The identity of each run: runs on the same system (its name and its processors, as
/// disclosed, and the label `host`, if it was given) are variants of one
/// platform.
pub fn identities(input: &Input) -> Vec<Identity> {
    let found = numbered(input.runs.iter().map(|data| system(&data.run)));
    if found.iter().all(|identity| identity.variant < MOST_VARIANTS) {
        return found;
    }
    (0..input.runs.len()).map(|platform| Identity { platform, variant: 0 }).collect()
}

/// The system as text; a run of which it is not known is one of its own.
fn system(run: &RunRecord) -> String {
    let facts = ["system", "cpu_model"].map(|fact| run.disclosure.get("hardware", fact));
    let host = run.labels.get("host").map_or("", String::as_str);
    match facts.iter().all(|fact| *fact == "unknown") {
        true => format!("run {}", run.id),
        false => format!("{}|{host}", facts.join("|")),
    }
}

fn numbered(systems: impl Iterator<Item = String>) -> Vec<Identity> {
    let mut seen: BTreeMap<String, Identity> = BTreeMap::new();
    let number = |system| {
        let next = Identity { platform: seen.len(), variant: 0 };
        let identity = seen.entry(system).and_modify(|known| known.variant += 1).or_insert(next);
        *identity
    };
    systems.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_systems_share_a_platform() {
        let found = numbered(["a", "b", "a", "c", "a"].into_iter().map(String::from));
        let pairs: Vec<_> = found.iter().map(|identity| (identity.platform, identity.variant)).collect();
        assert_eq!(pairs, [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)]);
    }
}
