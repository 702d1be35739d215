//! How many files this process may open, and the servers that it starts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process open so many files if it may not yet; returns how many it may now, none = as many as it likes.
pub fn allow_files(wanted: u64) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.filter(|current| *current < wanted);
    if current.is_some() {
        let current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        // What is refused leaves the limit as it was.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_is_raised_as_far_as_the_system_allows() {
        let before = getrlimit(Resource::Nofile);
        let Some(current) = before.current else { return };
        assert_eq!(allow_files(1), Some(current), "nothing to raise");
        let wanted = current + 10;
        let most = before.maximum.unwrap_or(u64::MAX);
        assert_eq!(allow_files(wanted), Some(wanted.min(most)));
    }
}
