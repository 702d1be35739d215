//! Placement of jobs on the nodes of a cluster, the sessions of those jobs, and the place of our
//! tables on a server.

use std::collections::BTreeMap;
use std::fmt;

/// Place of our tables on an existing server, in the same words for every spelling of its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPlace {
    /// Addresses of the server, with their ports.
    pub server: String,
    /// The part of it that has tables of its own; none if all of it has one place for them.
    pub part: Option<String>,
}

impl fmt::Display for DataPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server)?;
        self.part.iter().try_for_each(|part| write!(f, "/{part}"))
    }
}

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
