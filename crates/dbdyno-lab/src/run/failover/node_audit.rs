//! Audit of the commits on the nodes that did not fail.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::interrupt_error;
use super::timed_session::{ClientRoutes, TimedSession};
use crate::test_runner::Interrupt;
use dbdyno_core::analysis::failover::{Noted, Rows, differing};
use dbdyno_core::error;
use dbdyno_core::model::{LedgerCounts, Survivor};
use dbdyno_engines::engine::EngineError;

/// Longest wait until the nodes hold the same, and for one to hand over its rows.
const AGREEMENT: Duration = Duration::from_secs(10);
const READING: Duration = Duration::from_secs(60);
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Reader of the nodes.
pub(super) struct Survey<'a> {
    pub routes: &'a Arc<ClientRoutes>,
    /// The node that we promoted: the others still follow the failed one, whatever they believe.
    pub promoted: Option<&'a str>,
    pub member: &'a str,
    pub read: &'a str,
    pub timeout: Duration,
    /// Ends the audit: what it has found by then says nothing.
    pub interrupt: &'a Interrupt,
}

/// A node as it was read; none: it could not be.
struct NodeState {
    name: String,
    is_member: bool,
    rows: Option<Rows>,
}

impl Survey<'_> {
    /// True if a node answers and belongs to the writable cluster.
    pub(super) fn is_member(&self, node: &str) -> Result<bool, EngineError> {
        let line = self.open(node, self.timeout)?;
        Ok(line.query(self.member)?.scalar() == Some("1"))
    }

    fn open(&self, node: &str, timeout: Duration) -> Result<TimedSession, EngineError> {
        TimedSession::open(self.routes, node, timeout, Some(self.interrupt))
    }

    fn rows(&self, node: &str) -> Result<Rows, EngineError> {
        let rows = self.open(node, READING)?.query(self.read)?;
        Ok(rows.rows.iter().filter_map(|row| row_of(row)).collect())
    }

    fn observe(&self, node: &str) -> NodeState {
        let name = node.to_owned();
        match self.is_member(node) {
            Ok(is_member) => NodeState {
                is_member: self.promoted.map_or(is_member, |promoted| promoted == name),
                name,
                rows: self.rows(node).ok(),
            },
            Err(_) => NodeState { name, is_member: true, rows: None },
        }
    }

    /// The ledger of all nodes but `failed`; it is compared with the node `judge`, else with the
    /// first member that can be read. Members are read until they agree, for a while.
    ///
    /// # Errors
    /// Interrupted.
    pub(super) fn take(
        &self,
        failed: &str,
        judge: Option<&str>,
        noted: &Noted,
    ) -> error::Result<(LedgerCounts, Vec<Survivor>)> {
        let deadline = Instant::now() + AGREEMENT;
        loop {
            let names = self.routes.database.nodes().iter().filter(|node| *node != failed);
            let seen: Vec<NodeState> = names.map(|node| self.observe(node)).collect();
            if self.interrupt.is_set() {
                return Err(interrupt_error());
            }
            let can = |node: &&NodeState| node.is_member && node.rows.is_some();
            let named = seen.iter().filter(can).find(|node| Some(node.name.as_str()) == judge);
            let judge = named.or_else(|| seen.iter().find(can));
            let truth = judge.and_then(|judge| judge.rows.as_ref());
            let agree = |node: &NodeState| {
                !node.is_member || node.rows.as_ref().zip(truth).is_some_and(|(a, b)| a == b)
            };
            if seen.iter().all(agree) || Instant::now() > deadline {
                let ledger = truth
                    .map(|rows| noted.reconcile(rows))
                    .unwrap_or_else(|| unjudged_counts(noted));
                let judge = judge.map(|judge| judge.name.as_str());
                let survivors = seen.iter().map(|node| survivor(node, judge, truth, noted));
                return Ok((ledger, survivors.collect()));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Counts for a node without readable rows: nothing is known of its commits.
fn unjudged_counts(noted: &Noted) -> LedgerCounts {
    LedgerCounts { lost: 0, in_doubt_there: 0, ..noted.reconcile(&Rows::new()) }
}

fn survivor(
    node: &NodeState,
    judge: Option<&str>,
    truth: Option<&Rows>,
    noted: &Noted,
) -> Survivor {
    Survivor {
        name: node.name.clone(),
        is_member: node.is_member,
        is_judge: judge == Some(node.name.as_str()),
        commits: node.rows.as_ref().map(|rows| rows.len() as u64),
        differing: node.rows.as_ref().zip(truth).map(|(rows, truth)| differing(rows, truth)),
        lost: node.rows.as_ref().map(|rows| noted.lost(rows)),
    }
}

/// Columns writer, seq, copies.
fn row_of(row: &[Option<String>]) -> Option<((u32, u64), u64)> {
    let [writer, seq, copies] = row else { return None };
    Some((
        (writer.as_ref()?.parse().ok()?, seq.as_ref()?.parse().ok()?),
        copies.as_ref()?.parse().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::timed_session::fake::{FakeCluster, rows};
    use super::*;
    use dbdyno_core::error::Kind;

    #[test]
    fn an_interrupt_ends_the_wait_until_the_nodes_agree() {
        let interrupt = Interrupt::new();
        let comes = interrupt.clone();
        let routes = FakeCluster::routes(&["a", "b", "c"], move |node, sql| match (node, sql) {
            (_, "member") => Ok(rows(&[["1"]])),
            ("b", _) => Ok(rows(&[["1", "1", "1"]])),
            _ => {
                comes.set();
                Ok(rows::<3>(&[]))
            }
        });
        let survey = Survey {
            routes: &routes,
            promoted: None,
            member: "member",
            read: "read",
            timeout: Duration::from_secs(600),
            interrupt: &interrupt,
        };
        let error = survey.take("a", None, &Noted::default()).unwrap_err();
        assert_eq!(error.kind, Kind::Interrupted, "{error}");
    }
}
