//! Capacity: whether a platform carries its requirements, how much of it they use, and which
//! component saturates first. Pure.
//!
//! Utilisation law (Denning and Buzen 1978): U = sum of X(i) D(i) / C over the needs i, with the
//! demand D of a component for one unit of work and what the component can do, C. Demands are those
//! at the best valid throughput, where ops share processors. Several needs fit together if the
//! shares of the platform that each would take alone add up to at most 1: each could have the
//! platform for its part of the time. They do not fit if the processors alone would be used up.

mod answer;
mod need;
#[cfg(test)]
mod platform_tests;
mod point;
mod refusal;
#[cfg(test)]
mod slo_tests;
#[cfg(test)]
mod test_ramps;
#[cfg(test)]
mod tests;

pub use answer::{Answer, answer};
pub use need::{FORM, Need};
pub use point::Point;

use std::collections::BTreeSet;

use super::bottleneck::{Cause, usable_processors, used_processors};
use super::command::{self, RunOptions};
use super::cpu_quota;
use super::derive::derive;
use super::missing::not_known;
use super::price::PriceList;
use crate::model::{Drive, RunRecord, Sentence, Status, Test, TestResult};

/// Answer for one requirement, or for all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The platform carries the requirement.
    Fits,
    /// The platform does not carry the requirement.
    DoesNotFit,
    /// The measured tests do not answer the question.
    NotCovered,
}

impl Outcome {
    /// Code in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Outcome::Fits => "fits",
            Outcome::DoesNotFit => "does-not-fit",
            Outcome::NotCovered => "not-covered",
        }
    }

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Fits => "fits",
            Outcome::DoesNotFit => "does not fit",
            Outcome::NotCovered => "not covered by what was measured",
        }
    }
}

/// A figure with the ends of its 95 % interval, where it has one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Span {
    /// The figure.
    pub value: f64,
    /// Lower end of the interval; none if it is not known.
    pub low: Option<f64>,
    /// Upper end of the interval; none if it is not known.
    pub high: Option<f64>,
}

impl Span {
    /// Share that `rate` is of it. A lower end of 0 says nothing about the share.
    pub fn share(&self, rate: f64) -> Span {
        let of = |end: Option<f64>| end.filter(|end| *end > 0.0).map(|end| rate / end);
        Span { value: rate / self.value, low: of(self.high), high: of(self.low) }
    }

    /// All are needed at once.
    fn sum(all: &[Span]) -> Span {
        let ends = |end: fn(&Span) -> Option<f64>| all.iter().map(end).sum::<Option<f64>>();
        Span {
            value: all.iter().map(|span| span.value).sum(),
            low: ends(|span| span.low),
            high: ends(|span| span.high),
        }
    }
}

/// A part of a platform whose use is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// CPU time of the database and of dbdyno, as a share of the CPU time that they could use; the
    /// share of its CPU quota that the database used, if that is more.
    Cpu,
    /// Time in log syncs, which follow one another; else syncs, of those that one thread did on the
    /// device before the tests.
    Log,
    /// Time with a request at the device: an upper limit, since a device may serve several at once.
    Device,
}

impl Component {
    /// Every component.
    pub const ALL: [Component; 3] = [Component::Cpu, Component::Log, Component::Device];
    /// Use from which on a component counts as full.
    const FULL: f64 = 0.9;

    /// Code in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Component::Cpu => "cpu",
            Component::Log => "log",
            Component::Device => "device",
        }
    }

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Component::Cpu => "processors",
            Component::Log => "log",
            Component::Device => "device (at most)",
        }
    }

    /// Share of the component that a test used.
    ///
    /// # Errors
    /// The reason for which that is not known.
    fn used_by(self, test: &Test, run: &RunRecord) -> Result<f64, Sentence> {
        match (self, test.measured()) {
            (Component::Cpu, None) => printed(test, "cpu_busy_pct").map(|percent| percent / 100.0),
            (_, None) => Err("the source does not print it".into()),
            (Component::Cpu, Some(result)) => processor_share(result, run),
            (Component::Log, Some(result)) => log_share(result, run),
            (Component::Device, Some(result)) => device_share(result),
        }
    }
}

fn printed(test: &Test, figure: &str) -> Result<f64, Sentence> {
    derive(test).get(figure).ok_or_else(|| "the source does not print it".into())
}

fn processor_share(result: &TestResult, run: &RunRecord) -> Result<f64, Sentence> {
    // A database whose processes are not visible is not idle.
    let is_seen = ["server_cpu_s", "os_cpu_foreign_s"]
        .iter()
        .any(|name| result.window_counters.get(name).is_some());
    let used =
        used_processors(result).filter(|_| is_seen).ok_or_else(|| not_known("server_cpu_s"))?;
    let usable = usable_processors(result).ok_or_else(|| not_known("os_cpu_total_s"))?;
    let of_host = finite(used / usable)?;
    Ok(cpu_quota::used_share(run, result).map_or(of_host, |of_quota| of_quota.max(of_host)))
}

fn log_share(result: &TestResult, run: &RunRecord) -> Result<f64, Sentence> {
    let syncs = result.counters.get("wal_syncs").ok_or_else(|| not_known("wal_syncs"))?;
    let time_s = result.counters.get("wal_sync_time_ms").unwrap_or(0.0) / 1000.0;
    let least_s = || run.device_sync.map(|device| syncs / device.best_per_s());
    let busy_s = if syncs == 0.0 || time_s > 0.0 { Some(time_s) } else { least_s() };
    let busy_s =
        busy_s.ok_or("neither the time of log syncs nor the device's own rate is known")?;
    finite(busy_s / result.total_s).map(|share| share.min(1.0))
}

fn device_share(result: &TestResult) -> Result<f64, Sentence> {
    let busy_s =
        result.window_counters.get("os_disk_busy_s").ok_or_else(|| not_known("os_disk_busy_s"))?;
    finite(busy_s / result.window_s).map(|share| share.min(1.0))
}

fn finite(share: f64) -> Result<f64, Sentence> {
    if share.is_finite() { Ok(share) } else { Err("nothing to divide by".into()) }
}

/// Use of a component, as shares of its maximum.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    /// Component of the platform.
    pub component: Component,
    /// Share that each requirement uses, in their order: what an op of the test used, at the
    /// required rate. It is no bound where the highest throughput is one.
    pub each: Vec<Result<f64, Sentence>>,
    /// Share that all requirements use together; unknown if it is unknown for one of them.
    pub total: Option<f64>,
}

/// Component or cause that limits a growing load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum First {
    /// Component that is full at this multiple of the load.
    Component(Component, f64),
    /// No component is full at the highest measured load; there this cause takes the largest share
    /// of session time.
    Cause(Cause),
}

/// A run that is asked.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Name of the run in the report.
    pub name: &'a str,
    /// Run of the platform.
    pub run: &'a RunRecord,
    /// Tests of the run.
    pub tests: &'a [Test],
    /// Price of the platform, if the user gives one.
    pub price: Option<&'a PriceList>,
}

/// The answer of a platform.
#[derive(Debug, Clone, PartialEq)]
pub struct Platform<'a> {
    /// Name of the run in the report.
    pub name: &'a str,
    /// Run of the platform.
    pub run: &'a RunRecord,
    /// Outcome for all requirements together.
    pub outcome: Outcome,
    /// Reason why the requirements do not fit together, although each fits alone.
    pub why: Option<Sentence>,
    /// Outcome for each requirement, in their order.
    pub answers: Vec<Answer<'a>>,
    /// Share of the platform that is used; unknown if that of a need is.
    pub used: Option<Span>,
    /// Use of each component.
    pub uses: Vec<Use>,
    /// Component that saturates first; none if it is not known.
    pub first: Option<First>,
    /// Cores by the price list, else by the disclosure, at most as many as a quota has CPUs.
    pub cores: Option<f64>,
    /// Price of the platform, if the user gives one.
    pub price: Option<&'a PriceList>,
    /// Options that its tests used and that have no price: its cost is a lower bound.
    pub unpriced: Vec<&'a str>,
}

impl Platform<'_> {
    /// Cost of the platform, or its lower bound.
    pub fn cost(&self) -> Option<f64> {
        self.price.map(PriceList::cost)
    }

    /// True if only a lower bound of the cost is known.
    pub fn is_cost_bound(&self) -> bool {
        self.price.is_some() && !self.unpriced.is_empty()
    }

    /// Number of times that the requirements fit into the measured maximum, with the ends of its
    /// interval.
    pub fn headroom(&self) -> Option<Span> {
        self.used.map(|used| used.share(1.0))
    }

    /// True if the requirements may fit more often than [`Platform::headroom`] says: a maximum is a
    /// lower bound.
    pub fn is_headroom_bound(&self) -> bool {
        self.answers.iter().any(Answer::is_bound)
    }

    /// Answers with a doubt; empty if the answer is known, or a requirement has no figure.
    pub fn doubts(&self) -> Vec<&Answer<'_>> {
        let is_open = self.outcome == Outcome::NotCovered && self.why.is_none();
        let is_answered =
            |answer: &Answer<'_>| answer.outcome == Outcome::Fits || answer.doubt.is_some();
        if !is_open || !self.answers.iter().all(is_answered) {
            return Vec::new();
        }
        self.answers.iter().filter(|answer| answer.doubt.is_some()).collect()
    }

    /// Number of times that all needs together fit by figures of which some have a doubt.
    pub fn doubtful_times(&self) -> Option<f64> {
        if self.doubts().is_empty() {
            return None;
        }
        let share = |answer: &Answer<'_>| match answer.doubtful_times() {
            Some(times) => Some(1.0 / times),
            None => answer.used.map(|used| used.value),
        };
        self.answers.iter().map(share).sum::<Option<f64>>().map(|share| 1.0 / share)
    }

    /// Third answer, between yes and no: the multiple that fits according to a figure with a doubt.
    pub fn doubtful_answer(&self) -> Option<Sentence> {
        Some(doubtful_answer(self.doubtful_times()?, &self.doubts()))
    }

    /// The command that measures again the figures that leave the answer open; none of a
    /// publication, of some nodes of a cluster, of a server with settings of its own, and of
    /// figures under several loads.
    pub fn settling_command(&self) -> Option<String> {
        let is_settled =
            |answer: &Answer<'_>| answer.outcome == Outcome::Fits || answer.again.is_some();
        let is_open = self.outcome == Outcome::NotCovered && self.why.is_none();
        if !is_open || !self.answers.iter().all(is_settled) {
            return None;
        }
        let points: Vec<Point<'_>> =
            self.answers.iter().filter_map(|answer| answer.again).collect();
        if points.is_empty() || points.iter().any(|point| point.figure.test.measured().is_none()) {
            return None;
        }
        let tests = points.iter().map(|point| point.figure.test);
        let options: Vec<RunOptions> =
            tests.map(|test| RunOptions::new(test.workload(), test.chosen())).collect();
        if options.iter().any(|one| one.is_on_some_nodes) {
            return None;
        }
        let load = command::load(&options)?;
        let mut words = command::run_on(self.run)?;
        words.extend(command::workloads(&options));
        let jobs: BTreeSet<u32> = points.iter().filter_map(|point| point.figure.jobs).collect();
        let jobs: Vec<String> = jobs.iter().map(u32::to_string).collect();
        if !jobs.is_empty() {
            words.extend(["--jobs".into(), jobs.join(",")]);
        }
        if points.iter().all(|point| point.figure.test.drive() == Drive::Client) {
            words.extend(["--drive", "client"].map(String::from));
        }
        words.extend(load);
        words.extend(command::database(self.run, &options)?);
        words.extend(["--repeat", "5"].map(String::from));
        if points.iter().any(|point| point.figure.is_disturbed()) {
            words.push("--retry-disturbed".into());
        }
        Some(command::line(&words))
    }
}

/// `fits 3.50 times by a conditional figure`.
pub fn doubtful_answer(times: f64, answers: &[&Answer<'_>]) -> Sentence {
    let mut points = answers.iter().filter_map(|answer| answer.doubt);
    let by = match (points.next(), points.next()) {
        (Some(one), None) if one.figure.status() == Status::Conditional => "a conditional figure",
        (Some(_), None) => "a figure without an interval",
        _ => "figures with a doubt",
    };
    let template = match times >= 1.0 {
        true => "fits {times~} times by {by}",
        false => "reaches {times~} times what is needed by {by}",
    };
    Sentence::new(template).with("times", times).with("by", Sentence::new(by))
}

/// Asks a platform whether it does all that is needed, at once.
pub fn ask<'a>(side: Side<'a>, needs: &'a [Need]) -> Platform<'a> {
    let answers: Vec<Answer<'_>> = needs.iter().map(|need| answer(need, side.tests)).collect();
    let shares: Option<Vec<Span>> = answers.iter().map(|answer| answer.used).collect();
    let used = shares.map(|shares| Span::sum(&shares));
    let uses: Vec<Use> =
        Component::ALL.into_iter().map(|component| use_of(component, &answers, side.run)).collect();
    let joint = joint_outcome(&answers, used, &uses);
    let first = used.and_then(|used| first(&answers, used, &uses));
    let cores =
        side.price.map(|price| price.cores).or_else(|| cpu_quota::cores(side.run, side.tests));
    Platform {
        name: side.name,
        run: side.run,
        outcome: joint.outcome,
        why: joint.why,
        answers,
        used,
        uses,
        first,
        cores,
        price: side.price,
        unpriced: side.price.map(|price| price.unpriced(side.run)).unwrap_or_default(),
    }
}

fn use_of(component: Component, answers: &[Answer<'_>], run: &RunRecord) -> Use {
    let of = |answer: &Answer<'_>| {
        let (most, used) =
            answer.most.zip(answer.used).ok_or("no valid figure with an interval")?;
        component.used_by(most.figure.test, run).map(|share| share * used.value)
    };
    let each: Vec<Result<f64, Sentence>> = answers.iter().map(of).collect();
    let total = each.iter().map(|share| share.as_ref().ok().copied()).sum();
    Use { component, each, total }
}

/// Outcome for all requirements together.
struct JointOutcome {
    outcome: Outcome,
    /// Reason, if each requirement alone has a better outcome.
    why: Option<Sentence>,
}

impl From<Outcome> for JointOutcome {
    fn from(outcome: Outcome) -> JointOutcome {
        JointOutcome { outcome, why: None }
    }
}

/// The outcome for all requirements together: the worst answer decides; if each requirement fits
/// alone, what they take together.
fn joint_outcome(answers: &[Answer<'_>], used: Option<Span>, uses: &[Use]) -> JointOutcome {
    let any = |outcome: Outcome| answers.iter().any(|answer| answer.outcome == outcome);
    if let Some(worst) =
        [Outcome::DoesNotFit, Outcome::NotCovered].into_iter().find(|outcome| any(*outcome))
    {
        return worst.into();
    }
    let most = used.map_or(f64::INFINITY, |used| used.high.unwrap_or(used.value));
    if answers.len() == 1 || most <= 1.0 {
        return Outcome::Fits.into();
    }
    let processors =
        uses.iter().find(|used| used.component == Component::Cpu).and_then(|used| used.total);
    match processors.filter(|share| *share > 1.0) {
        Some(share) => {
            let why = Sentence::new(
                "each requirement fits alone, but together they take {share%} of the CPUs",
            );
            JointOutcome { outcome: Outcome::DoesNotFit, why: Some(why.with("share", share)) }
        }
        None => {
            let why = "each requirement fits alone; alone they take up to {share%} of the \
                       platform's time, and how they share it was not measured";
            let why = Sentence::new(why).with("share", most);
            JointOutcome { outcome: Outcome::NotCovered, why: Some(why) }
        }
    }
}

/// The component that is full at the highest measured load, else the cause with the largest share
/// of session time there.
fn first(answers: &[Answer<'_>], used: Span, uses: &[Use]) -> Option<First> {
    let known = uses.iter().filter_map(|used| Some((used.component, used.total?)));
    let fullest = known.max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((component, share)) =
        fullest.filter(|(_, share)| share / used.value >= Component::FULL)
    {
        return Some(First::Component(component, 1.0 / share));
    }
    let cause = |answer: &Answer<'_>| Some(answer.most?.figure.limit()?.cause);
    let mut causes = answers.iter().map(cause);
    let first = causes.next()??;
    causes.all(|cause| cause == Some(first)).then_some(First::Cause(first))
}

/// The cheapest of the platforms that fit.
#[derive(Debug, Clone, PartialEq)]
pub enum Cheapest<'a, 'b> {
    /// More than one if they cost equally much; none if no platform that fits has a price.
    Known(Vec<&'b Platform<'a>>),
    /// Platforms that use options without a price; their lower bounds do not decide.
    Open(Vec<&'b Platform<'a>>),
}

/// The cheapest of those platforms that fit and have a price. One of which only a lower bound is
/// known is never the cheapest of several; another is only if no such bound lies below its cost.
pub fn cheapest<'a, 'b>(platforms: &'b [Platform<'a>]) -> Cheapest<'a, 'b> {
    let fits = platforms.iter().filter(|platform| platform.outcome == Outcome::Fits);
    let priced: Vec<&Platform<'_>> = fits.filter(|platform| platform.price.is_some()).collect();
    let (bounds, exact): (Vec<&Platform<'_>>, Vec<&Platform<'_>>) =
        priced.iter().copied().partition(|platform| platform.is_cost_bound());
    let least = exact.iter().filter_map(|platform| platform.cost()).fold(f64::INFINITY, f64::min);
    let open: Vec<&Platform<'_>> =
        bounds.into_iter().filter(|bound| bound.cost().is_some_and(|cost| cost < least)).collect();
    match (priced.len(), open.is_empty()) {
        (0 | 1, _) => Cheapest::Known(priced),
        (_, true) => {
            Cheapest::Known(exact.into_iter().filter(|one| one.cost() == Some(least)).collect())
        }
        (_, false) => Cheapest::Open(open),
    }
}

/// Platforms that fit with the lowest value of a figure; several if their values are equal.
pub fn least<'a, 'b>(
    platforms: &'b [Platform<'a>],
    figure: impl Fn(&Platform<'a>) -> Option<f64>,
) -> Vec<&'b Platform<'a>> {
    let fits = platforms.iter().filter(|platform| platform.outcome == Outcome::Fits);
    let known: Vec<(f64, &Platform<'_>)> =
        fits.filter_map(|platform| Some((figure(platform)?, platform))).collect();
    let least = known.iter().map(|(value, _)| *value).fold(f64::INFINITY, f64::min);
    known.into_iter().filter(|(value, _)| *value == least).map(|(_, platform)| platform).collect()
}
