//! One repetition: load, a node fails, the clients go on elsewhere, the ledger is read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use super::faults::{self, Promoter};
use super::node_audit::Survey;
use super::timed_session::ClientRoutes;
use super::writers::{WriterConfig, WriterEvent, Writers};
use super::{FailoverOptions, Statements};
use crate::run::{Event, Platform, Sink};
use crate::test_runner::Interrupt;
use dbdyno_core::analysis::failover::{Noted, REGAINED};
use dbdyno_core::error::{Error, Kind, Result, quote};
use dbdyno_core::model::{Failover, Promotion};
use dbdyno_core::stats::summary::median;
use dbdyno_engines::engine::JobPlacement;

/// Longest wait until each writer has its first commit.
const BEGIN: Duration = Duration::from_secs(30);
/// Interval between two counts of the commits.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// So long throughput must stay regained.
const SETTLED_S: f64 = 3.0;

/// Context of a repetition.
pub(super) struct Trial<'a> {
    pub options: &'a FailoverOptions,
    pub statements: &'a Statements<'a>,
    /// We promote on a private cluster.
    pub is_private: bool,
    pub interrupt: &'a Interrupt,
    pub events: &'a Sink<'a>,
}

/// Result of a repetition.
pub(super) struct TrialRecord {
    pub failover: Failover,
    pub noted: Noted,
    /// Seconds of the whole load.
    pub total_s: f64,
    /// Error of the repair of the node, if it failed.
    pub repaired: Result<()>,
}

/// A node that is to fail, the sessions of its cluster, and who takes writes before.
struct Victim<'a> {
    routes: &'a Arc<ClientRoutes>,
    placement: &'a JobPlacement,
    node: &'a str,
}

/// Timeline of the load; times in s since its start.
struct FailureTimeline {
    failed_at_s: f64,
    end_s: f64,
    promotion: Option<Promotion>,
}

impl Trial<'_> {
    /// Measures on a cluster that is whole; the node that failed is repaired whatever happens, and
    /// what was measured is kept whatever becomes of that.
    ///
    /// # Errors
    /// Of the target, of commands; interrupted.
    pub(super) fn measure(&self, platform: &mut Platform) -> Result<TrialRecord> {
        let routes = ClientRoutes::open(Arc::clone(&platform.database));
        let placement = self.prepare_ledger(platform)?;
        let durability = self.durability(platform)?;
        let node = self.victim(&placement, routes.database.nodes())?;
        let mut is_failed = false;
        let victim = Victim { routes: &routes, placement: &placement, node: &node };
        let measured = self.timeline(platform, &victim, &mut is_failed);
        let measured =
            measured.and_then(|(timeline, noted)| self.read(&victim, durability, timeline, noted));
        if !is_failed {
            return measured;
        }
        (self.events)(Event::Step(&format!("mending node {node}")));
        let repaired = faults::repair(platform, self.options, &node, self.interrupt);
        // A node that is left broken is said where the error to report is another one, or that of
        // an interrupt, which says only where the run is stored.
        if let Err(unrepaired) = &repaired
            && (measured.is_err() || self.interrupt.is_set())
        {
            let left = format!("node {node} is not repaired: {unrepaired}");
            (self.events)(Event::LeftBehind(&left));
        }
        measured.map(|measured| TrialRecord { repaired, ..measured })
    }

    /// An empty ledger on all nodes; who takes writes.
    fn prepare_ledger(&self, platform: &Platform) -> Result<JobPlacement> {
        let failed = |error: dbdyno_engines::engine::EngineError| error.at(platform.label());
        let mut session = platform.database.session().map_err(failed)?;
        session.execute(self.statements.drop).map_err(failed)?;
        session.execute(self.statements.create).map_err(failed)?;
        let placement = platform.database.place_jobs(None, true).map_err(failed)?;
        match placement.missing.as_slice() {
            [] => Ok(placement),
            missing => Err(Error::target(
                platform.label(),
                format!("nodes do not answer: {}", missing.join(", ")),
            )),
        }
    }

    fn durability(&self, platform: &Platform) -> Result<BTreeMap<String, String>> {
        let failed = |error: dbdyno_engines::engine::EngineError| error.at(platform.label());
        let rows = platform
            .database
            .session()
            .map_err(failed)?
            .query(self.statements.durability, &[])
            .map_err(failed)?;
        let pair = |row: &Vec<Option<String>>| {
            Some((row.first()?.clone()?, row.get(1)?.clone().unwrap_or_default()))
        };
        Ok(rows.rows.iter().filter_map(pair).collect())
    }

    /// The node that is to fail.
    fn victim(&self, placement: &JobPlacement, nodes: &[String]) -> Result<String> {
        let Some(named) = &self.options.node else {
            return placement
                .node(1)
                .map(String::from)
                .ok_or_else(|| Error::target("nodes", "no node is writable"));
        };
        let known = nodes.iter().find(|node| *node == named).cloned();
        known.ok_or_else(|| {
            Error::usage("--node", format!("there is no node {}", quote(named)))
                .advise(format!("give one of {}", nodes.join(", ")))
        })
    }

    /// From the first commit to the last.
    fn timeline(
        &self,
        platform: &mut Platform,
        victim: &Victim<'_>,
        is_failed: &mut bool,
    ) -> Result<(FailureTimeline, Noted)> {
        let Victim { routes, placement, node } = *victim;
        let nodes: Arc<[String]> = routes.database.nodes().into();
        let place = |job: u32| {
            nodes.iter().position(|node| Some(node.as_str()) == placement.node(job)).unwrap_or(0)
        };
        let places: Vec<usize> = (1..=self.options.jobs).map(place).collect();
        let config = WriterConfig {
            routes: Arc::clone(routes),
            nodes: Arc::clone(&nodes),
            insert: self.statements.insert.into(),
            timeout: self.options.timeout(),
            resends: self.options.resends,
        };
        let writers =
            Writers::start(&config, &places).map_err(|error| error.at(platform.label()))?;
        self.await_begin(&writers)?;
        (self.events)(Event::Step(&format!(
            "{} jobs commit; then node {node} fails",
            self.options.jobs
        )));
        let per_s = self.before_per_s(&writers)?;
        *is_failed = true; // also one that failed halfway is repaired
        let failed = faults::fail(platform, routes, self.options, node, self.interrupt)?;
        let failed_at_s = writers.since(failed);
        (self.events)(Event::Step(&format!(
            "node {node} fails: {:.0} commits per second before",
            per_s
        )));
        let promotion = self.promote_if_needed(&writers, victim, failed_at_s)?;
        self.await_recovery(&writers, per_s, failed_at_s)?;
        let end_s = writers.since(Instant::now());
        Ok((FailureTimeline { failed_at_s, end_s, promotion }, writers.end()))
    }

    /// Waits until each writer has committed.
    fn await_begin(&self, writers: &Writers) -> Result<()> {
        let deadline = Instant::now() + BEGIN;
        let (mut left, mut why) = (self.options.jobs, String::from("no answer"));
        while left > 0 {
            match self.listen(writers)? {
                Some(WriterEvent::Began) => left -= 1,
                Some(WriterEvent::Trouble(_, what)) => why = what,
                None => {}
            }
            if Instant::now() > deadline {
                return Err(Error::target(
                    "load",
                    format!("{left} of {} jobs cannot commit: {why}", self.options.jobs),
                ));
            }
        }
        Ok(())
    }

    /// Next event of a writer, if one comes within a moment.
    fn listen(&self, writers: &Writers) -> Result<Option<WriterEvent>> {
        if self.interrupt.is_set() {
            return Err(interrupt_error());
        }
        match writers.events.recv_timeout(POLL_INTERVAL) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Error::target("load", "all writers have ended"))
            }
        }
    }

    /// Waits this many seconds, or until an event ends the wait.
    fn pass(
        &self,
        writers: &Writers,
        seconds: f64,
        ends: impl Fn(&WriterEvent) -> bool,
    ) -> Result<bool> {
        let deadline = Instant::now() + Duration::from_secs_f64(seconds);
        while Instant::now() < deadline {
            if self.listen(writers)?.as_ref().is_some_and(&ends) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the load run before the failure; its median second.
    fn before_per_s(&self, writers: &Writers) -> Result<f64> {
        let seconds = self.options.before_s.floor();
        self.pass(writers, self.options.before_s - seconds, |_| false)?;
        let mut counts = vec![writers.acknowledged_count()];
        for _ in 0..seconds as usize {
            self.pass(writers, 1.0, |_| false)?;
            counts.push(writers.acknowledged_count());
        }
        let grown: Vec<f64> = counts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        Ok(median(&grown).unwrap_or(0.0))
    }

    /// Once a client has seen the failure, another node is made to take writes if the cluster does
    /// not do that by itself.
    fn promote_if_needed(
        &self,
        writers: &Writers,
        victim: &Victim<'_>,
        failed_at_s: f64,
    ) -> Result<Option<Promotion>> {
        let Victim { routes, placement, node } = *victim;
        let promoter = self.promoter();
        let is_only_writer = placement.nodes.iter().all(|writable| writable == node);
        if matches!(promoter, Promoter::Itself) || !is_only_writer {
            return Ok(None);
        }
        let is_since = |event: &WriterEvent| match event {
            WriterEvent::Trouble(at_s, _) => *at_s >= failed_at_s,
            WriterEvent::Began => false,
        };
        if !self.pass(writers, self.options.after_s, is_since)? {
            return Ok(None);
        }
        let began = Instant::now();
        let timeout = self.options.timeout();
        let promoted = promoter.promote(routes, node, timeout, self.interrupt)?;
        Ok(Some(Promotion {
            by_command: matches!(promoter, Promoter::Command(_)),
            node: promoted,
            began_s: writers.since(began) - failed_at_s,
            took_s: began.elapsed().as_secs_f64(),
        }))
    }

    fn promoter(&self) -> Promoter<'_> {
        match (&self.options.promote, self.statements.promote.zip(self.statements.received)) {
            (Some(command), _) => Promoter::Command(command),
            (None, Some((promote, received))) if self.is_private => {
                Promoter::Ours { received, promote }
            }
            (None, _) => Promoter::Itself,
        }
    }

    /// Waits until throughput has come back and stayed for a while, or it is time to end.
    fn await_recovery(&self, writers: &Writers, per_s: f64, failed_at_s: f64) -> Result<()> {
        let mut seen: Vec<(f64, u64)> = Vec::new();
        let mut regained_s: Option<f64> = None;
        loop {
            self.listen(writers)?;
            let (now_s, count) =
                (writers.since(Instant::now()) - failed_at_s, writers.acknowledged_count());
            seen.push((now_s, count));
            let a_second_ago = seen.iter().rev().find(|(then_s, _)| now_s - then_s >= 1.0);
            let rate = a_second_ago.map(|(then_s, then)| (count - then) as f64 / (now_s - then_s));
            regained_s = match rate {
                Some(rate) if rate >= REGAINED * per_s => regained_s.or(Some(now_s)),
                // What is regained may swing.
                Some(rate) if rate >= 0.5 * per_s => regained_s,
                _ => None,
            };
            let is_settled = regained_s.is_some_and(|since_s| now_s - since_s >= SETTLED_S);
            if is_settled || now_s >= self.options.after_s {
                return Ok(());
            }
        }
    }

    /// Reads the commits of the other nodes and compares them with the clients' ledgers.
    ///
    /// # Errors
    /// Interrupted: nothing is known of the commits.
    fn read(
        &self,
        victim: &Victim<'_>,
        durability: BTreeMap<String, String>,
        timeline: FailureTimeline,
        noted: Noted,
    ) -> Result<TrialRecord> {
        let Victim { routes, placement, node } = *victim;
        (self.events)(Event::Step("comparing the ledger with what the other nodes hold"));
        let FailureTimeline { failed_at_s, end_s, promotion } = timeline;
        let promoted = promotion.as_ref().and_then(|promotion| promotion.node.as_deref());
        let survey = Survey {
            routes,
            promoted,
            member: self.statements.member,
            read: self.statements.read,
            timeout: self.options.timeout(),
            interrupt: self.interrupt,
        };
        let stayed_down = !survey.is_member(node).unwrap_or(false);
        let writable =
            placement.nodes.iter().map(String::as_str).find(|writable| *writable != node);
        let (ledger, survivors) = survey.take(node, promoted.or(writable), &noted)?;
        let at = routes.database.nodes().iter().position(|known| known == node).unwrap_or(0);
        let failover = Failover {
            how: faults::how(self.options),
            node: node.to_owned(),
            nodes: routes.database.nodes().to_vec(),
            timeout_s: self.options.timeout_s,
            resends: self.options.resends,
            promotion,
            durability,
            before_per_s: noted.before_per_s(failed_at_s),
            failed_at_s,
            times: noted.times(at, failed_at_s, end_s),
            ledger,
            survivors,
            stayed_down,
        };
        Ok(TrialRecord { failover, noted, total_s: end_s, repaired: Ok(()) })
    }
}

/// The error of an interrupt.
pub(super) fn interrupt_error() -> Error {
    Error::new(Kind::Interrupted, "failover", "interrupted").advise("what was measured is stored")
}
