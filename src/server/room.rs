//! A private server has room for all sessions of a run: the profile's value is the least.

use std::collections::BTreeMap;

use super::{ServerKind, find_kind};

/// Sessions kept free beside those of a run, for whoever looks on meanwhile.
const ONLOOKERS: u32 = 7;
/// Sessions of a server whose profile does not say: what servers have by themselves.
const USUAL: u32 = 100;

/// Files that a server may have open besides one for each session: tables, logs, temporary ones.
const OTHER_FILES: u64 = 16_384;

/// Files that a server with these settings may have open at once.
pub(super) fn files(kind: &dyn ServerKind, settings: &BTreeMap<String, String>) -> u64 {
    let sessions = kind.session_settings().iter().filter_map(|name| settings.get(*name)?.parse().ok()).max();
    sessions.unwrap_or(u64::from(USUAL)) + OTHER_FILES
}

/// The settings of a profile with room for so many sessions of ours; as they are where there is no private server.
pub fn with_room(engine: &str, settings: &BTreeMap<String, String>, sessions: u32) -> BTreeMap<String, String> {
    find_kind(engine).map_or_else(|_| settings.clone(), |kind| raised(kind, settings, sessions))
}

fn raised(kind: &dyn ServerKind, settings: &BTreeMap<String, String>, sessions: u32) -> BTreeMap<String, String> {
    let mut settings = settings.clone();
    for name in kind.session_settings() {
        let wanted = sessions.saturating_add(ONLOOKERS);
        let has = settings.get(*name).map_or(Some(USUAL), |value| value.parse().ok());
        // What is no number is left for the server to complain about.
        if has.is_some_and(|has| has < wanted) {
            settings.insert((*name).into(), wanted.to_string());
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_sessions_than_the_profile_has_raise_its_limit_and_fewer_leave_it() {
        let profile = BTreeMap::from([("max_connections".to_string(), "128".to_string())]);
        for (engine, names) in [("postgres", 1), ("mariadb", 2)] {
            let large = with_room(engine, &profile, 515);
            assert_eq!(large["max_connections"], "522", "{engine}");
            assert_eq!(large.len(), names, "{engine}: {large:?}");
            assert_eq!(with_room(engine, &profile, 20), profile, "{engine}");
            assert!(with_room(engine, &BTreeMap::new(), 5).is_empty(), "the server's own default is enough");
            assert_eq!(with_room(engine, &BTreeMap::new(), 153)["max_connections"], "160");
        }
        let odd = BTreeMap::from([("max_connections".to_string(), "many".to_string())]);
        assert_eq!(with_room("postgres", &odd, 500), odd);
        assert_eq!(with_room("sqlite", &odd, 500), odd);
    }
}
