//! Counts of what jobs did: ops, rows, commits, errors, connections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts of jobs while looping.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Ops done.
    pub ops: u64,
    /// Rows touched (fetched, inserted, updated), as the executor reported them.
    pub rows: u64,
    /// Commits waited for.
    pub commits: u64,
    /// Rows found of those that ops were to find, where that is known.
    #[serde(default, skip_serializing_if = "is_none_found")]
    pub hits: u64,
    /// Failed ops by error class.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Seconds the jobs were looping, summed over jobs.
    pub busy_s: f64,
    /// Seconds that jobs thought between ops, summed over jobs, as they were drawn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thought_s: f64,
    /// Part of `busy_s` whose ops are not counted because the call of a routine that did them
    /// failed: the ops were undone, or done without a report.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncounted_s: f64,
    /// Connections that ops opened and closed.
    #[serde(default, skip_serializing_if = "Connects::is_none")]
    pub connects: Connects,
}

/// Connections that ops opened, used and closed, and where their time went: sums over all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Connects {
    /// Number of connections opened.
    pub opened: u64,
    /// Time until the socket was connected, in s.
    pub reach_s: f64,
    /// The handshake of the encryption.
    pub encrypt_s: f64,
    /// Time from there until the server had accepted the login, in s; includes the start of a
    /// process or thread for it.
    pub login_s: f64,
    /// Time from there until the session was ready for a statement, in s.
    pub start_s: f64,
    /// The statements.
    pub statements_s: f64,
    /// Time until the server had ended the session, in s.
    pub close_s: f64,
}

impl Connects {
    fn is_none(&self) -> bool {
        self.opened == 0
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Connects) {
        self.opened += other.opened;
        self.reach_s += other.reach_s;
        self.encrypt_s += other.encrypt_s;
        self.login_s += other.login_s;
        self.start_s += other.start_s;
        self.statements_s += other.statements_s;
        self.close_s += other.close_s;
    }

    /// Time of all parts together.
    pub fn total_s(&self) -> f64 {
        self.reach_s
            + self.encrypt_s
            + self.login_s
            + self.start_s
            + self.statements_s
            + self.close_s
    }
}

fn is_none_found(hits: &u64) -> bool {
    *hits == 0
}

impl Tally {
    /// Adds another tally to this one.
    pub fn merge(&mut self, other: &Tally) {
        self.ops += other.ops;
        self.rows += other.rows;
        self.commits += other.commits;
        self.hits += other.hits;
        self.busy_s += other.busy_s;
        self.thought_s += other.thought_s;
        self.uncounted_s += other.uncounted_s;
        self.connects.merge(&other.connects);
        for (class, count) in &other.errors {
            *self.errors.entry(class.clone()).or_insert(0) += count;
        }
    }
    /// Failed ops of every class.
    pub fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
