//! Behavior of a cluster when one of its nodes failed under load: the stored figures of one
//! repetition.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Way in which a node is made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// All its processes are killed at once (SIGKILL).
    Kill,
    /// All its processes are stopped (SIGSTOP): its connections stay open and do not respond.
    Freeze,
    /// The node's network is cut off.
    Cut,
    /// A command of the user's does it.
    Command,
}

impl How {
    /// Name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            How::Kill => "kill",
            How::Freeze => "freeze",
            How::Cut => "cut",
            How::Command => "command",
        }
    }
}

/// One repetition of a failover: what failed, when its clients could work again, what became of
/// their commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failover {
    /// Kind of the failure.
    pub how: How,
    /// The node that failed, and the nodes that there were.
    pub node: String,
    /// Names of all nodes of the cluster before the failure.
    pub nodes: Vec<String>,
    /// Clients gave up on an answer after this long.
    pub timeout_s: f64,
    /// Unanswered commits were sent again.
    pub resends: bool,
    /// Promotion of another node; none if the cluster itself did that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<Promotion>,
    /// The server's settings that say what a commit waits for.
    pub durability: BTreeMap<String, String>,
    /// Commits per second before the failure: the median second.
    pub before_per_s: f64,
    /// The failure, in s since the start of the series.
    pub failed_at_s: f64,
    /// Times from the failure until clients could work again.
    pub times: FailoverTimes,
    /// Counts of commits by what became of them.
    pub ledger: LedgerCounts,
    /// The other nodes, as they were read at the end.
    pub survivors: Vec<Survivor>,
    /// The node that failed did not answer when the load ended.
    pub stayed_down: bool,
}

/// Another node was made the one that takes writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Promotion {
    /// True if a command of the user promoted the node; false if dbdyno did.
    pub by_command: bool,
    /// Name of the node, if dbdyno chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Start of the promotion, in s since the failure, and its duration.
    pub began_s: f64,
    /// Duration of the promotion, in s.
    pub took_s: f64,
}

/// Times since the failure, in s; absent if the event did not happen while dbdyno observed the
/// cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FailoverTimes {
    /// The first error or timeout that a client saw.
    pub detected_s: Option<f64>,
    /// The first commit that was sent after the failure and acknowledged by another node, of any
    /// job.
    pub first_commit_s: Option<f64>,
    /// The first commit on another node of a job that was on the failed one.
    pub first_moved_s: Option<f64>,
    /// Begin of the first second with 90 % of the previous throughput, after the longest
    /// interruption.
    pub regained_s: Option<f64>,
    /// The longest time without any acknowledged commit.
    pub longest_gap_s: Option<f64>,
}

/// The clients' ledger against the rows that are there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerCounts {
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Acknowledged commits that are not there any more.
    pub lost: u64,
    /// Commits that were sent and never answered.
    pub in_doubt: u64,
    /// Commits in doubt that are there.
    pub in_doubt_there: u64,
    /// Sent again after no answer.
    pub resent: u64,
    /// Times that the server refused a commit, which was then sent again.
    pub refusals: u64,
    /// Commits that are there more than once.
    pub duplicated: u64,
    /// Rows that no client sent.
    pub foreign: u64,
}

/// A node that did not fail, at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Name of the node.
    pub name: String,
    /// True if the node belongs to the cluster that accepts writes; a replica that still follows a
    /// failed primary does not.
    pub is_member: bool,
    /// The node that the ledger was compared with.
    pub is_judge: bool,
    /// Commits that it holds; absent if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Commits that only this node or only the judge holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differing: Option<u64>,
    /// Acknowledged commits that it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}
