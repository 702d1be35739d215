//! How many more sessions a server takes.

/// Room for sessions of ours, and what limits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRoom {
    /// Sessions that may be opened beside those that are open, the one that asks not counted.
    pub free: u32,
    /// `max_connections = 100, 3 kept for superusers, 12 in use`.
    pub limit: String,
}

/// One limit of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    /// The setting or what else sets it.
    pub name: &'static str,
    /// Sessions that it allows.
    pub most: i64,
    /// Of these, not for us, and for whom.
    pub kept: (i64, &'static str),
    /// Open now, without the one that asks.
    pub used: i64,
}

impl Limit {
    fn free(&self) -> i64 {
        (self.most - self.kept.0 - self.used).max(0)
    }

    fn words(&self) -> String {
        let (kept, whom) = self.kept;
        let kept = if kept > 0 { format!(", {kept} kept for {whom}") } else { String::new() };
        format!("{} = {}{kept}, {} in use", self.name, self.most, self.used.max(0))
    }
}

impl SessionRoom {
    /// The narrowest of the limits; none if there is none.
    pub(super) fn of(limits: impl IntoIterator<Item = Limit>) -> Option<SessionRoom> {
        let narrowest = limits.into_iter().min_by_key(Limit::free)?;
        Some(SessionRoom { free: u32::try_from(narrowest.free()).unwrap_or(u32::MAX), limit: narrowest.words() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_limit_counts_and_says_what_takes_its_room() {
        let server = Limit { name: "max_connections", most: 100, kept: (3, "superusers"), used: 12 };
        let user = Limit { name: "connection limit of the user", most: 20, kept: (0, ""), used: 0 };
        let room = SessionRoom::of([server.clone()]).unwrap();
        assert_eq!((room.free, room.limit.as_str()), (85, "max_connections = 100, 3 kept for superusers, 12 in use"));
        let room = SessionRoom::of([server.clone(), user]).unwrap();
        assert_eq!((room.free, room.limit.as_str()), (20, "connection limit of the user = 20, 0 in use"));
        assert_eq!(SessionRoom::of([Limit { used: 100, ..server }]).unwrap().free, 0);
        assert_eq!(SessionRoom::of([]), None);
    }
}
