//! The poller of a live database: it reads the counters once per interval, and samples the sessions
//! in between.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::baseline::{Limit, MeasuredPlatform, limit};
use super::rates::{Peaks, Rate};
use crate::run::probing::{HostFigures, read_disclosure};
use crate::run::{Platform, Request};
use crate::test_runner::Interrupt;
use dbdyno_core::analysis::compare::{Difference, NOT_STATED, Side, differences};
use dbdyno_core::analysis::cpu_quota;
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{
    Counters, Disclosure, Event, Profile, ProfileRow, RunRecord, SessionState, Target, Test,
};
use dbdyno_core::sql::Block;
use dbdyno_engines::engine::{Access, Session};
use dbdyno_engines::probe::{
    self, ProbeContext, ProbeSet, ProfileReading, SessionScope, Sessions, SqlProbe,
};

/// Interval between two samples of the sessions, unless the interval of the monitor is shorter. It
/// is that of Oracle's active session history.
pub const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// Number of intervals over which wait events are counted.
const WAITS_OVER: usize = 30;
/// Interval between two readings of the statement statistics, which the server copies as a whole.
const STATEMENTS_EVERY: Duration = Duration::from_secs(10);
/// Number of statements, and of wait events, that are shown.
const MOST: usize = 5;
/// Setting that holds the encryption of the monitor's connection.
const CONNECTION: &str = "tls";
/// Name of the profile.
const STATEMENTS: &str = "statements";

/// Number of sampled sessions by wait event.
pub type EventCounts = BTreeMap<Event, u64>;

/// Sample of one interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct IntervalSample {
    /// Seconds since the first reading, at the end of the interval.
    pub t_s: f64,
    /// Length of the interval, in s.
    pub interval_s: f64,
    /// Rows of the monitor, one per rate that the counters give.
    pub rates: Vec<Rate>,
    /// Component that saturates first; absent without a measured maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Sessions that were at work or waited within a statement, on average; absent if they cannot
    /// be seen.
    pub sessions: Option<f64>,
    /// Wait events over the last seconds, the most frequent first.
    pub waits: Vec<Wait>,
    /// Statements that took the most time, over the last seconds.
    pub statements: Vec<Statement>,
    /// Cost of polling in the interval.
    pub cost: Cost,
    /// Facts that cannot be observed, each with the reason.
    pub missing: Vec<String>,
    /// Growth of the counters in the interval.
    #[serde(skip)]
    pub grown: Counters,
    /// Samples of the sessions in the interval.
    #[serde(skip)]
    pub session_samples: SessionSamples,
}

/// Samples of the sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionSamples {
    /// Wait events of the sessions that were at work or waited within a statement.
    pub events: EventCounts,
    /// Number of samples.
    pub count: u64,
}

impl SessionSamples {
    /// Adds the samples of another time.
    pub fn add(&mut self, other: &SessionSamples) {
        self.count += other.count;
        for (event, count) in &other.events {
            *self.events.entry(event.clone()).or_default() += count;
        }
    }

    /// Number of sessions that were at work or waited within a statement, on average; none without
    /// samples.
    fn mean_sessions(&self) -> Option<f64> {
        let sessions: u64 = self.events.values().sum();
        (self.count > 0).then(|| sessions as f64 / self.count as f64)
    }
}

/// A kind of wait.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    /// Class of the wait event: `io`, `lock`.
    pub class: String,
    /// Name of the wait event, as the engine calls it.
    pub event: String,
    /// Share of all sampled events: 1 = all.
    pub share: f64,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statement {
    /// Normalized text, as the server's statement statistics have it.
    pub text: String,
    /// Executions per second; absent if the server does not count them.
    pub calls_per_s: Option<f64>,
    /// Mean time of an execution, in ms; absent if there was none or it is not timed.
    pub mean_ms: Option<f64>,
}

/// Cost of polling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Processor time of our process per second: 0.01 = 1 % of one processor.
    pub own_cpu: Option<f64>,
    /// Queries per second that polling sent to the server.
    pub queries_per_s: f64,
    /// Time that reading the counters took.
    pub reading_ms: f64,
}

/// Poller of a live database.
pub struct Poller {
    platform: Platform,
    probes: ProbeSet,
    /// Queries of one reading of the counters.
    queries: usize,
    sessions: Option<Sessions>,
    disclosure: Disclosure,
    measured: Option<MeasuredPlatform>,
    began: Instant,
    /// Time of the last reading of the counters.
    last_read_at: Instant,
    last_counters: Counters,
    peaks: Peaks,
    /// Samples of the interval in progress.
    session_samples: SessionSamples,
    /// Events of the last intervals.
    past: VecDeque<EventCounts>,
    statements: Statements,
    missing: BTreeSet<String>,
}

/// Counters of all probes, and the time that reading them took.
struct CountersReading {
    counters: Counters,
    reading_ms: f64,
}

/// The statements that took the most time.
#[derive(Default)]
struct Statements {
    before: Option<(Instant, ProfileReading)>,
    top: Vec<Statement>,
}

impl Poller {
    /// Opens an existing server and reads it once. Nothing is created.
    ///
    /// # Errors
    /// The target is not an existing server, or does not answer; of kind `NoPassword` if the user
    /// may be asked for one.
    pub fn open(catalog: &Catalog, request: &Request) -> Result<Poller> {
        let Target::Existing { .. } = request.target else {
            let what = "is not a server that others use: only the URL of one can be monitored";
            return Err(Error::usage(request.target.label(), what)
                .advise("give the URL of a server, as in 'dbdyno list engines'"));
        };
        let platform = Platform::open(request, None, Access::Watch, &Interrupt::new(), &|_| {})?;
        let blocks = catalog.probes(platform.engine.name(), &platform.database.version().0);
        let host = HostFigures::open(&platform, &blocks)?;
        let (disclosure, failed) = read_disclosure(&platform, &blocks, &host)?;
        let sessions = sessions(&platform, &blocks)?;
        let probes = probes(&platform, &blocks, host)?;
        let queries = blocks.iter().filter(|block| block.name.starts_with("counters.")).count();
        let mut missing: BTreeSet<String> = sessions.iter().flat_map(Sessions::missing).collect();
        missing.extend(failed.into_iter().map(|(block, why)| format!("{block}: {why}")));
        let mut poller = Poller {
            queries,
            sessions,
            disclosure,
            missing,
            measured: None,
            began: Instant::now(),
            last_read_at: Instant::now(),
            last_counters: Counters::default(),
            peaks: Peaks::default(),
            session_samples: SessionSamples::default(),
            past: VecDeque::new(),
            statements: Statements::default(),
            platform,
            probes,
        };
        poller.last_counters = poller.counters()?.counters;
        poller.began = Instant::now();
        poller.last_read_at = poller.began;
        poller.read_statements(poller.began);
        Ok(poller)
    }

    /// Makes later samples show each rate as a share of the measured maximum of a run.
    ///
    /// # Errors
    /// The platform differs from the one of the run; the message names the differences.
    pub fn compare_with(
        &mut self,
        catalog: &Catalog,
        run: &RunRecord,
        tests: &[Test],
    ) -> Result<()> {
        let all = self.differences(catalog, run, tests);
        // A fact that one side does not know may be hidden from a role: that is no difference.
        let is_unknown = |one: &Difference| one.base == NOT_STATED || one.other == NOT_STATED;
        let (unknown, found): (Vec<_>, Vec<_>) = all.into_iter().partition(is_unknown);
        self.missing
            .extend(unknown.iter().map(|one| format!("platform: {}", describe_difference(one))));
        if !found.is_empty() {
            let shown: Vec<String> = found.iter().take(3).map(describe_difference).collect();
            let more = if found.len() > 3 {
                format!(" and {} more", found.len() - 3)
            } else {
                String::new()
            };
            let what =
                format!("the platform of run {} differs: {}{more}", run.id, shown.join("; "));
            return Err(
                Error::usage("--baseline", what).advise("measure this one with 'dbdyno run'")
            );
        }
        self.measured = Some(MeasuredPlatform::from_tests(tests, cpu_quota::of_run(run, tests)));
        Ok(())
    }

    fn differences(&self, catalog: &Catalog, run: &RunRecord, tests: &[Test]) -> Vec<Difference> {
        let mut here = run.clone();
        here.engine = Some(self.platform.engine.name().to_string());
        let sections = ["hardware", "os", "storage", "database", "settings"];
        for section in sections {
            here.disclosure.0.remove(section);
            let facts = self.disclosure.0.get(section).cloned();
            facts
                .into_iter()
                .for_each(|facts| drop(here.disclosure.0.insert(section.into(), facts)));
        }
        // Not the platform's.
        let of_connection =
            run.disclosure.0.get("settings").and_then(|facts| facts.get(CONNECTION).cloned());
        let settings = here.disclosure.0.entry("settings".into()).or_default();
        settings.remove(CONNECTION);
        of_connection.into_iter().for_each(|value| drop(settings.insert(CONNECTION.into(), value)));
        let side = |name, run| Side { name, run, tests, price: None };
        differences(&side("run", run), &side("here", &here), catalog.effects())
    }

    /// Seconds from the first reading to the last one.
    pub fn elapsed_s(&self) -> f64 {
        (self.last_read_at - self.began).as_secs_f64()
    }

    /// Target as shown to the user.
    pub fn label(&self) -> String {
        self.platform.label()
    }

    /// Name of the engine, and the disclosure of platform and settings.
    pub fn platform(&self) -> (&'static str, &Disclosure) {
        (self.platform.engine.name(), &self.disclosure)
    }

    /// Takes a sample of the sessions.
    pub fn sample_sessions(&mut self) {
        let Some(sessions) = &mut self.sessions else { return };
        match sessions.states(None) {
            Ok(seen) => {
                self.session_samples.count += 1;
                let at_work = seen.into_iter().filter_map(|seen| match seen {
                    SessionState::At(event) if !event.background => Some(event),
                    _ => None,
                });
                let events = &mut self.session_samples.events;
                at_work.for_each(|event| *events.entry(event).or_default() += 1);
            }
            Err(why) => drop(self.missing.insert(format!("sessions: {why}"))),
        }
    }

    /// Ends the interval and returns its sample.
    ///
    /// # Errors
    /// The server no longer answers.
    pub fn read(&mut self) -> Result<IntervalSample> {
        let CountersReading { counters, reading_ms } = self.counters()?;
        let now = Instant::now();
        let interval_s = (now - self.last_read_at).as_secs_f64();
        let grown = counters.since(&self.last_counters);
        (self.last_read_at, self.last_counters) = (now, counters);
        let statements_read = self.read_statements(now);
        let session_samples = self.end_session_samples();
        let mut rates = self.peaks.rates(&grown, interval_s);
        if let Some(measured) = &self.measured {
            measured.cover(&mut rates, self.peaks.per_s("server_cpu_s"));
        }
        let queries = self.queries as u64 + session_samples.count + u64::from(statements_read);
        let own_cpu = grown.get("self_cpu_s").map(|cpu_s| cpu_s / interval_s);
        Ok(IntervalSample {
            t_s: (now - self.began).as_secs_f64(),
            interval_s,
            limit: limit(&rates),
            rates,
            sessions: session_samples.mean_sessions(),
            waits: self.waits(),
            statements: self.statements.top.clone(),
            cost: Cost { own_cpu, queries_per_s: queries as f64 / interval_s, reading_ms },
            missing: self.missing.iter().cloned().collect(),
            grown,
            session_samples,
        })
    }

    /// Returns the samples of the interval, and keeps their events for the waits of the last ones.
    fn end_session_samples(&mut self) -> SessionSamples {
        let ended = std::mem::take(&mut self.session_samples);
        self.past.push_back(ended.events.clone());
        let too_many = self.past.len().saturating_sub(WAITS_OVER);
        self.past.drain(..too_many);
        ended
    }

    fn counters(&mut self) -> Result<CountersReading> {
        let reading = self.probes.read();
        if !reading.failed.is_empty() {
            // A server that has gone is the reason, not what it cannot be asked for.
            self.platform.database.session().map_err(|error| error.at(self.platform.label()))?;
        }
        self.missing
            .extend(reading.failed.into_iter().map(|(probe, why)| format!("{probe}: {why}")));
        Ok(CountersReading { counters: reading.counters, reading_ms: reading.cost_ms })
    }

    fn waits(&self) -> Vec<Wait> {
        let mut sum = EventCounts::new();
        self.past
            .iter()
            .flatten()
            .for_each(|(event, count)| *sum.entry(event.clone()).or_default() += count);
        rank_events(&sum)
    }

    /// Reads the statement statistics if they are due; true if they were.
    fn read_statements(&mut self, now: Instant) -> bool {
        let is_first = self.statements.top.is_empty();
        let due = |(at, _): &(Instant, ProfileReading)| is_first || now - *at >= STATEMENTS_EVERY;
        if !self.statements.before.as_ref().is_none_or(due) {
            return false;
        }
        let Some(sessions) = &mut self.sessions else { return false };
        let mut reading = sessions.profiles();
        reading.retain(|name, _| name == STATEMENTS);
        if let Some((at, before)) = &self.statements.before {
            let profile = probe::profiles_between(before, reading.clone())
                .remove(STATEMENTS)
                .unwrap_or_default();
            self.missing.extend(profile.missing.iter().map(|why| format!("statements: {why}")));
            self.statements.top = top(&profile, (now - *at).as_secs_f64());
        }
        self.statements.before = Some((now, reading));
        true
    }
}

fn session(platform: &Platform) -> Result<Box<dyn Session>> {
    platform.database.session().map_err(|error| error.at(platform.label()))
}

fn sessions(platform: &Platform, blocks: &[&Block]) -> Result<Option<Sessions>> {
    Ok(Sessions::open(
        session(platform)?,
        blocks,
        &platform.database.server_pids(),
        SessionScope::All,
    ))
}

/// Probes of the server, and of its host where an exporter or the server itself reports on it.
fn probes(platform: &Platform, blocks: &[&Block], host: HostFigures) -> Result<ProbeSet> {
    let (storage, server_pids) =
        (platform.database.storage_path(), platform.database.server_pids());
    let context = ProbeContext {
        storage: storage.as_deref(),
        server_pids: &server_pids,
        ..ProbeContext::default()
    };
    let mut probes = host.probes(|| ProbeSet::onlooker(&context));
    probes.push(Box::new(SqlProbe::new(session(platform)?, blocks)));
    Ok(probes)
}

fn describe_difference(difference: &Difference) -> String {
    let Difference { section, fact, base, other, .. } = difference;
    format!(
        "{section} {fact} is {} here, was {}",
        dbdyno_core::error::quote(other),
        dbdyno_core::error::quote(base)
    )
}

/// The most frequent events.
pub fn rank_events(events: &EventCounts) -> Vec<Wait> {
    let all: u64 = events.values().sum();
    let mut sorted: Vec<(&Event, &u64)> = events.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let wait = |(event, count): (&Event, &u64)| Wait {
        class: event.class.clone(),
        event: event.name.clone(),
        share: *count as f64 / all as f64,
    };
    sorted.into_iter().take(MOST).map(wait).collect()
}

fn top(profile: &Profile, elapsed_s: f64) -> Vec<Statement> {
    let statement = |row: &ProfileRow| {
        let (calls, time_ms) = (row.values.get("calls"), row.values.get("time_ms"));
        let mean_ms = time_ms.zip(calls.filter(|calls| *calls > 0.0)).map(|(ms, calls)| ms / calls);
        Statement {
            text: row.name.clone(),
            calls_per_s: calls.map(|calls| calls / elapsed_s),
            mean_ms,
        }
    };
    profile.rows.iter().take(MOST).map(statement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture::counters;
    use dbdyno_core::model::Activity;

    #[test]
    fn the_most_frequent_waits_come_first() {
        let event = |name: &str| Event {
            class: "IO".into(),
            name: name.into(),
            activity: Activity::Other,
            background: false,
        };
        let events = EventCounts::from([(event("a"), 1), (event("b"), 3)]);
        let waits: Vec<_> =
            rank_events(&events).into_iter().map(|wait| (wait.event, wait.share)).collect();
        assert_eq!(waits, [("b".to_string(), 0.75), ("a".to_string(), 0.25)]);
        assert!(rank_events(&EventCounts::new()).is_empty());
    }

    #[test]
    fn statements_are_per_second_and_those_that_nobody_counts_have_no_mean() {
        let row = |values: &[(&str, f64)]| ProfileRow {
            name: "select 1".into(),
            values: counters(values),
        };
        let rows = vec![row(&[("calls", 20.0), ("time_ms", 5.0)]), row(&[("time_ms", 5.0)])];
        let found = top(&Profile { rows, ..Profile::default() }, 10.0);
        assert_eq!((found[0].calls_per_s, found[0].mean_ms), (Some(2.0), Some(0.25)));
        assert_eq!((found[1].calls_per_s, found[1].mean_ms), (None, None));
    }
}
