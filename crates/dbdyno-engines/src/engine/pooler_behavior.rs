//! Poolers before a database: their behavior towards sessions, as two sessions found it out.

/// The behavior of a pooler towards sessions, as far as it was found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pooler {
    /// Product and version, if it reports them.
    pub name: Option<String>,
    /// True if it lends a server session to each transaction, false if to each client session.
    pub lends: bool,
    /// True if a statement that was prepared once can be run in every later transaction.
    pub keeps_prepared: bool,
    /// True if a setting of one session was visible in another one.
    pub mixes_settings: bool,
    /// True if a session got an advisory lock that another one held.
    pub mixes_locks: bool,
    /// Ids of its processes, if they are on this host.
    pub pids: Vec<u32>,
}

impl Pooler {
    /// The guarantees of a session that it breaks, in one line; none if it keeps them all.
    pub fn broken(&self) -> Option<String> {
        let broken = [
            (!self.keeps_prepared, "prepared statements"),
            (self.mixes_settings, "settings of a session"),
            (self.mixes_locks, "advisory locks"),
        ];
        let broken: Vec<&str> =
            broken.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, what)| what).collect();
        let how = if self.lends { "to each transaction" } else { "to each session" };
        (!broken.is_empty()).then(|| {
            format!(
                "the pooler lends a session of the server {how}: it does not keep {}",
                broken.join(", ")
            )
        })
    }
}
