//! The session sampler of a run: one session on the server, or one on each node of a cluster.

use crate::test_runner::{IoCounts, SessionSource};
use dbdyno_core::model::{Counters, SessionState, ThreadTime};
use dbdyno_core::sql::Block;
use dbdyno_engines::engine::{Database, EngineError, JobSessions, NodeSession};
use dbdyno_engines::probe::{
    DeviceTimes, ProfileReading, SessionScope, Sessions, profiles_together,
};

/// Looks at the sessions of all nodes.
pub struct Sampler {
    /// By the name of the node; the one server has none.
    nodes: Vec<(String, Sessions)>,
    /// Nodes that no longer answer, and why.
    lost: Vec<String>,
    /// I/O times of the database's device, or the reason why they are unknown.
    device: Result<DeviceTimes, String>,
}

impl Sampler {
    /// Opens the sampler; none if the engine has no sessions that can be sampled.
    ///
    /// # Errors
    /// If no session can be opened.
    pub fn open(
        database: &dyn Database,
        blocks: &[&Block],
    ) -> Result<Option<Sampler>, EngineError> {
        if !Sessions::can_be_sampled(blocks) {
            return Ok(None);
        }
        let device = DeviceTimes::open(database.storage_path().as_deref());
        let open = |(name, session): NodeSession| {
            let pids = database.node_pids(&name);
            Sessions::open(session, blocks, &pids, SessionScope::Jobs)
                .map(|sessions| (name, sessions))
        };
        let nodes: Option<Vec<_>> = database.node_sessions()?.into_iter().map(open).collect();
        Ok(nodes.map(|nodes| Sampler { nodes, lost: Vec::new(), device }))
    }

    /// Counts that the sampler's sessions have added to the database's counters so far, of each
    /// node and of all.
    pub fn counts(&mut self) -> Counters {
        let mut all = Counters::default();
        for (name, sessions) in &mut self.nodes {
            let own = sessions.counts();
            all.add(&own);
            if !name.is_empty() {
                all.set_node(name, &own);
            }
        }
        all
    }

    /// Statistics of the servers by name so far.
    pub fn profiles(&mut self) -> ProfileReading {
        profiles_together(self.nodes.iter_mut().map(|(_, sessions)| sessions.profiles()))
    }
}

impl SessionSource for Sampler {
    fn period_s(&self) -> f64 {
        self.nodes.first().map_or(0.0, |(_, sessions)| sessions.period_s())
    }
    fn states(&mut self, jobs: &JobSessions) -> Result<Vec<SessionState>, String> {
        let (mut seen, lost) = (Vec::new(), &mut self.lost);
        self.nodes.retain_mut(|(name, sessions)| {
            let of_node = jobs.get(name).or_else(|| jobs.get("")).map_or(&[][..], Vec::as_slice);
            match sessions.states(Some(of_node)) {
                Ok(more) => seen.extend(more),
                Err(why) => {
                    lost.push(if name.is_empty() { why } else { format!("node {name}: {why}") });
                    return false;
                }
            }
            true
        });
        match (self.nodes.is_empty(), self.lost.last()) {
            (true, Some(why)) => Err(why.clone()),
            _ => Ok(seen),
        }
    }
    fn times(&mut self) -> Vec<ThreadTime> {
        self.nodes.iter_mut().flat_map(|(_, sessions)| sessions.times()).collect()
    }
    fn server_cpu_s(&self) -> Option<f64> {
        self.nodes.iter().map(|(_, sessions)| sessions.server_cpu_s()).sum()
    }
    fn missing(&self) -> Vec<String> {
        let of_nodes = self.nodes.iter().flat_map(|(_, sessions)| sessions.missing());
        let mut missing: Vec<String> = of_nodes.chain(self.lost.iter().cloned()).collect();
        missing.sort();
        missing.dedup(); // each node says the same
        missing
    }
    fn device(&mut self) -> Result<IoCounts, String> {
        let device = self.device.as_mut().map_err(|why| why.clone())?;
        device.read().ok_or_else(|| "I/O of the device is no longer known".into())
    }
}
