//! A failover by its clients' ledger: when they could work again, and what became of their commits.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    Failover, FailoverTimes, LedgerCounts, Reason, ReasonCode, Sentence, Status, Survivor,
};
use crate::stats::summary::{mean, median, t95, variance};

/// Throughput that counts as regained, as a fraction of that before the failure.
pub const REGAINED: f64 = 0.9;
/// The second in which it is looked for begins at multiples of this, in s.
const STEP_S: f64 = 0.02;
/// A time without commits is an interruption if it is longer than twice any before the failure, and
/// than this, in s.
const MIN_GAP_S: f64 = 0.1;
const LONGER: f64 = 2.0;
/// Fewer repetitions have no interval.
pub const FEWEST: usize = 3;
/// Minimum number of commits in the median second before the failure: with fewer there is no
/// throughput to regain.
const MIN_PER_S: f64 = 5.0;

/// Outcome of a commit as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The server confirmed the commit.
    Acknowledged,
    /// The server said no: nothing was committed.
    Refused,
    /// None came: an error of the connection, or a timeout.
    Missing,
}

/// One commit that was sent. Times in s since the start of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sent {
    /// Number of the client.
    pub writer: u32,
    /// Number of the commit among the writer's; one that is sent again keeps it.
    pub seq: u64,
    /// Index of the node.
    pub node: usize,
    /// Time at which the commit was sent.
    pub sent_s: f64,
    /// Time of the answer, or at which the client gave up.
    pub ended_s: f64,
    /// Answer that the client got.
    pub answer: Answer,
}

/// Effect of a failure that a client sees apart from its commits: a session that cannot be opened.
/// In s since the start of the load.
pub type Trouble = f64;

/// Commits that are there, and how often: (writer, number).
pub type Rows = BTreeMap<(u32, u64), u64>;

/// Everything that clients noted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Noted {
    /// Commits that were sent.
    pub sent: Vec<Sent>,
    /// Times of errors that no commit met, in s.
    pub troubles: Vec<Trouble>,
}

impl Noted {
    /// Times at which commits were acknowledged, ascending.
    fn acknowledged_s(&self) -> Vec<f64> {
        let mut times: Vec<f64> =
            self.with_answer(Answer::Acknowledged).map(|sent| sent.ended_s).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    fn with_answer(&self, answer: Answer) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| sent.answer == answer)
    }

    /// Commits per second before the failure: the median of the whole seconds that end with it.
    pub fn before_per_s(&self, failed_at_s: f64) -> f64 {
        let times = self.acknowledged_s();
        let seconds =
            (0..failed_at_s.max(0.0) as usize).map(|back| failed_at_s - back as f64 - 1.0);
        let counts: Vec<f64> = seconds.map(|from| count(&times, from, from + 1.0) as f64).collect();
        median(&counts).unwrap_or(0.0)
    }

    /// Times at which clients could work again after the node with index `failed` failed at `at_s`;
    /// they were observed until `end_s`.
    pub fn times(&self, failed: usize, at_s: f64, end_s: f64) -> FailoverTimes {
        let times = self.acknowledged_s();
        let since = |time_s: f64| time_s - at_s;
        let unanswered = self
            .with_answer(Answer::Missing)
            .chain(self.with_answer(Answer::Refused))
            .map(|sent| sent.ended_s);
        let seen = unanswered.chain(self.troubles.iter().copied()).filter(|time_s| *time_s >= at_s);
        // The failed node may answer once more while its processes are signaled one by one.
        let new = self
            .with_answer(Answer::Acknowledged)
            .filter(|sent| sent.sent_s >= at_s && sent.node != failed);
        let gap = longest_gap(&times, at_s, end_s);
        let usual_s = longest_gap(&times, times.first().copied().unwrap_or(at_s), at_s)
            .map_or(0.0, |usual| usual.length_s());
        let interrupted = gap.filter(|gap| gap.length_s() > (LONGER * usual_s).max(MIN_GAP_S));
        let from_s = interrupted.map_or(at_s, |gap| gap.to_s);
        FailoverTimes {
            detected_s: seen.reduce(f64::min).map(since),
            first_commit_s: new.map(|sent| sent.ended_s).reduce(f64::min).map(since),
            first_moved_s: self.first_moved_s(failed, at_s).map(since),
            regained_s: first_second_with(
                &times,
                REGAINED * self.before_per_s(at_s),
                from_s,
                end_s,
            )
            .map(since),
            longest_gap_s: gap.map(|gap| gap.length_s()),
        }
    }

    /// The first commit on another node of a writer whose last one before the failure was on the
    /// failed node.
    fn first_moved_s(&self, failed: usize, at_s: f64) -> Option<f64> {
        let mut last: BTreeMap<u32, &Sent> = BTreeMap::new();
        for sent in self.sent.iter().filter(|sent| sent.sent_s < at_s) {
            let known = last.entry(sent.writer).or_insert(sent);
            if sent.sent_s >= known.sent_s {
                *known = sent;
            }
        }
        let was_there =
            |sent: &&Sent| last.get(&sent.writer).is_some_and(|last| last.node == failed);
        let moved = self
            .with_answer(Answer::Acknowledged)
            .filter(|sent| sent.sent_s >= at_s && sent.node != failed);
        moved.filter(was_there).map(|sent| sent.ended_s).reduce(f64::min)
    }

    /// Commits by their last known state: a commit that was acknowledged once counts as
    /// acknowledged.
    fn by_answer(&self, answer: Answer) -> BTreeSet<(u32, u64)> {
        self.with_answer(answer).map(|sent| (sent.writer, sent.seq)).collect()
    }

    /// Acknowledged commits that are not among `rows`.
    pub fn lost(&self, rows: &Rows) -> u64 {
        let lost = self
            .by_answer(Answer::Acknowledged)
            .iter()
            .filter(|key| !rows.contains_key(key))
            .count();
        lost as u64
    }

    /// The ledger against the rows that are there.
    pub fn reconcile(&self, rows: &Rows) -> LedgerCounts {
        let (acknowledged, unanswered) =
            (self.by_answer(Answer::Acknowledged), self.by_answer(Answer::Missing));
        let refused = self.by_answer(Answer::Refused);
        let in_doubt: Vec<_> = unanswered.difference(&acknowledged).collect();
        let is_known = |key: &(u32, u64)| {
            [&acknowledged, &unanswered, &refused].iter().any(|set| set.contains(key))
        };
        let mut tries: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        let answered = self.sent.iter().filter(|sent| sent.answer != Answer::Refused);
        answered.for_each(|sent| *tries.entry((sent.writer, sent.seq)).or_default() += 1);
        LedgerCounts {
            acknowledged: acknowledged.len() as u64,
            lost: self.lost(rows),
            in_doubt: in_doubt.len() as u64,
            in_doubt_there: in_doubt.iter().filter(|key| rows.contains_key(key)).count() as u64,
            resent: tries.values().map(|tries| tries - 1).sum(),
            refusals: self.with_answer(Answer::Refused).count() as u64,
            duplicated: rows.values().filter(|copies| **copies > 1).count() as u64,
            foreign: rows.keys().filter(|key| !is_known(key)).count() as u64,
        }
    }
}

/// Times of an ascending list in (from, to].
fn count(times: &[f64], from: f64, to: f64) -> usize {
    times.partition_point(|time| *time <= to) - times.partition_point(|time| *time <= from)
}

/// A stretch of time between two neighbors of a list.
#[derive(Clone, Copy)]
struct Gap {
    from_s: f64,
    to_s: f64,
}

impl Gap {
    fn length_s(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// The longest stretch between two neighbors of an ascending list, the ends included, within them.
fn longest_gap(times: &[f64], from_s: f64, to_s: f64) -> Option<Gap> {
    let within = times.iter().copied().filter(|time_s| *time_s > from_s && *time_s < to_s);
    let all: Vec<f64> = [from_s].into_iter().chain(within).chain([to_s]).collect();
    let gaps = all.windows(2).map(|pair| Gap { from_s: pair[0], to_s: pair[1] });
    gaps.filter(|gap| gap.to_s > gap.from_s).max_by(|a, b| a.length_s().total_cmp(&b.length_s()))
}

/// Begin of the first second from `from` on that has this many of the ascending times.
fn first_second_with(times: &[f64], wanted: f64, from: f64, end: f64) -> Option<f64> {
    let starts =
        (0..).map(|step| from + f64::from(step) * STEP_S).take_while(|start| start + 1.0 <= end);
    // The one that ends an interruption counts.
    let counted = |start: &f64| count(times, start - 1e-9, start + 1.0) as f64;
    (wanted > 0.0).then(|| starts.into_iter().find(|start| counted(start) >= wanted)).flatten()
}

/// Commits that only one of two nodes holds.
pub fn differing(one: &Rows, other: &Rows) -> u64 {
    let only = |one: &Rows, other: &Rows| {
        one.iter().filter(|(key, copies)| other.get(key) != Some(copies)).count()
    };
    let missing = other.keys().filter(|key| !one.contains_key(key)).count();
    (only(one, other) + missing) as u64
}

/// Reasons against the figures of a repetition.
pub fn judge(failover: &Failover, is_one_host: bool) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut against =
        |status, code, sentence: Sentence| reasons.push(Reason::new(status, code, sentence));
    let node = failover.node.as_str();
    if failover.before_per_s < MIN_PER_S {
        let sentence = Sentence::new(
            "{per_s} commits per second before the failure, fewer than {least}: nothing to regain",
        );
        against(
            Status::Invalid,
            ReasonCode::Little,
            sentence.with("per_s", failover.before_per_s).with("least", MIN_PER_S),
        );
    }
    if !failover.stayed_down {
        let sentence = Sentence::new(
            "node {node} answered when the load ended: it did not fail, or came back",
        );
        against(Status::Invalid, ReasonCode::Contract, sentence.with("node", node));
    }
    if failover.ledger.foreign > 0 {
        let sentence = Sentence::new(
            "{count} rows of the ledger were written by nobody: another program writes into it",
        );
        against(
            Status::Invalid,
            ReasonCode::Contract,
            sentence.with("count", failover.ledger.foreign),
        );
    }
    let judge = failover.survivors.iter().find(|survivor| survivor.is_judge);
    if judge.and_then(|judge| judge.commits).is_none() {
        let sentence = Sentence::new(
            "the ledger could not be read on any node: nothing is known of lost commits",
        );
        against(Status::Invalid, ReasonCode::Contract, sentence);
    }
    for survivor in failover.survivors.iter().filter(|survivor| survivor.is_member) {
        disagreement(survivor)
            .into_iter()
            .for_each(|sentence| against(Status::Conditional, ReasonCode::NodeLost, sentence));
    }
    if is_one_host {
        let sentence = Sentence::new("all {nodes} nodes are on one host and share its CPUs");
        against(
            Status::Valid,
            ReasonCode::SharedHost,
            sentence.with("nodes", failover.nodes.len() as f64),
        );
    }
    reasons
}

fn disagreement(survivor: &Survivor) -> Option<Sentence> {
    let node = survivor.name.as_str();
    match survivor.differing {
        None if survivor.commits.is_none() => Some(
            Sentence::new("node {node}, which did not fail, could not be read").with("node", node),
        ),
        Some(count @ 1..) => {
            let sentence =
                Sentence::new("node {node} differs from the writable node by {count} commits");
            Some(sentence.with("node", node).with("count", count))
        }
        _ => None,
    }
}

/// A figure over the repetitions: the mean, with its 95 % interval from three on (Student's t; no
/// time is below 0).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Over {
    /// Mean over the repetitions.
    pub mean: f64,
    /// Lower end of the interval; absent with fewer than three.
    pub low: Option<f64>,
    /// Upper end of the interval; absent with fewer than three.
    pub high: Option<f64>,
    /// Repetitions that have the figure.
    pub repetitions: usize,
}

/// The repetitions' values as one figure; none without any.
pub fn over(values: &[f64]) -> Option<Over> {
    let mean = mean(values)?;
    let n = values.len() as f64;
    let half = |variance: f64| Some(t95(n - 1.0)? * (variance / n).sqrt());
    let half = variance(values).filter(|_| values.len() >= FEWEST).and_then(half);
    let [low, high] = [-1.0, 1.0].map(|sign| half.map(|half| (mean + sign * half).max(0.0)));
    Some(Over { mean, low, high, repetitions: values.len() })
}

#[cfg(test)]
mod tests;
