//! Placement of jobs on the nodes of a cluster, and the sessions of those jobs.

use std::collections::BTreeMap;

/// Numbers of the sessions of jobs, by the name of their node. The name is empty without a cluster,
/// or if the node of a session is unknown.
pub type JobSessions = BTreeMap<String, Vec<u32>>;

/// Placement of the jobs of a test on nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobPlacement {
    /// Names of nodes: job j goes to node j mod n. Empty without a cluster.
    pub nodes: Vec<String>,
    /// Nodes that the user named and that do not answer.
    pub missing: Vec<String>,
}

impl JobPlacement {
    /// The node of a job (from 1).
    pub fn node(&self, job: u32) -> Option<&str> {
        JobPlacement::node_of(&self.nodes, job)
    }
    /// The node of a job (from 1) among these nodes, for placements of stored tests.
    pub fn node_of(nodes: &[String], job: u32) -> Option<&str> {
        let at = (job.max(1) - 1) as usize;
        nodes.get(at.checked_rem(nodes.len())?).map(String::as_str)
    }
}
