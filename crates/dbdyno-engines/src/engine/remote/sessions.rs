//! Number of sessions that a server can still accept.

use crate::engine::{EngineError, Session, SessionsLeft};

/// One limit of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Limit {
    /// The setting or what else sets it.
    name: String,
    /// Sessions that it allows.
    most: i64,
    /// Number of sessions that are reserved for others, and for whom.
    kept: (i64, String),
    /// Open now, without the one that asks.
    used: i64,
}

impl Limit {
    /// From a row: name, most, kept, for whom, used.
    fn read(row: &[Option<String>]) -> Option<Limit> {
        let [name, most, kept, whom, used] = row else { return None };
        let number = |text: &Option<String>| text.as_deref()?.parse::<i64>().ok();
        let kept = (number(kept)?, whom.clone()?);
        Some(Limit { name: name.clone()?, most: number(most)?, kept, used: number(used)? })
    }

    fn free(&self) -> i64 {
        (self.most - self.kept.0 - self.used).max(0)
    }

    fn into_sessions_left(self) -> SessionsLeft {
        let (kept, whom) = &self.kept;
        let kept = if *kept > 0 { format!(", {kept} kept for {whom}") } else { String::new() };
        let limit = format!("{} = {}{kept}, {} in use", self.name, self.most, self.used.max(0));
        SessionsLeft { free: u32::try_from(self.free()).unwrap_or(u32::MAX), limit }
    }
}

/// The narrowest of the limits that `sql` gives, a row for each: name, most, kept for others, for
/// whom, used. None if there is none.
///
/// # Errors
/// If the server does not understand the question.
pub(in crate::engine) fn sessions_left(
    session: &mut dyn Session,
    sql: &str,
) -> Result<Option<SessionsLeft>, EngineError> {
    let rows = session.query(sql, &[])?.rows;
    Ok(narrowest(rows.iter().filter_map(|row| Limit::read(row))))
}

fn narrowest(limits: impl IntoIterator<Item = Limit>) -> Option<SessionsLeft> {
    limits.into_iter().min_by_key(Limit::free).map(Limit::into_sessions_left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_limit_counts_and_says_what_takes_its_room() {
        let limit =
            |cells: [&str; 5]| Limit::read(&cells.map(|cell| Some(cell.to_string()))).unwrap();
        let server = limit(["max_connections", "100", "3", "superusers", "12"]);
        let user = limit(["connection limit of the user", "20", "0", "", "0"]);
        let left = narrowest([server.clone()]).unwrap();
        assert_eq!(
            (left.free, left.limit.as_str()),
            (85, "max_connections = 100, 3 kept for superusers, 12 in use")
        );
        let left = narrowest([server.clone(), user]).unwrap();
        assert_eq!(
            (left.free, left.limit.as_str()),
            (20, "connection limit of the user = 20, 0 in use")
        );
        assert_eq!(narrowest([Limit { used: 100, ..server }]).unwrap().free, 0);
        assert_eq!(narrowest([]), None);
        assert_eq!(Limit::read(&[None, None]), None);
    }
}
