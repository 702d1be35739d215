//! Wait events of sessions during a test, by sampling, together with the server's statistics by
//! statement and kind of I/O, and its log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Counters, ProcessorTime, Sentence, Weights};

/// Activity of a session, in words that every engine shares: `catalog/probes/<engine>.sql` says
/// which of its events is which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// The session is on a CPU or waits for one.
    Cpu,
    /// Writes or syncs the log, or waits for another session that does.
    LogSync,
    /// Waits for a read of a data file.
    DataRead,
    /// Waits for a write of a data file.
    DataWrite,
    /// Waits for a row that another transaction has locked.
    RowLock,
    /// Waits for a structure in memory: a lightweight lock, a mutex.
    Latch,
    /// Waits for the network within a statement.
    Network,
    /// Any other wait.
    Other,
}

impl Activity {
    /// Every activity.
    pub const ALL: [Activity; 8] = [
        Activity::Cpu,
        Activity::LogSync,
        Activity::DataRead,
        Activity::DataWrite,
        Activity::RowLock,
        Activity::Latch,
        Activity::Network,
        Activity::Other,
    ];

    /// Name in the catalog's files, in JSON and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Cpu => "cpu",
            Activity::LogSync => "log-sync",
            Activity::DataRead => "data-read",
            Activity::DataWrite => "data-write",
            Activity::RowLock => "row-lock",
            Activity::Latch => "latch",
            Activity::Network => "network",
            Activity::Other => "other",
        }
    }

    /// Activity of this name; an unknown name is another wait.
    pub fn from_name(name: &str) -> Activity {
        Activity::ALL
            .into_iter()
            .find(|activity| activity.name() == name)
            .unwrap_or(Activity::Other)
    }
}

/// Event in which one session was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Event {
    /// The engine's own class and name: `IO`, `WALSync`.
    pub class: String,
    /// Name of the event as the engine has it.
    pub name: String,
    /// Kind of activity that it stands for.
    pub activity: Activity,
    /// True if the process is one of the server's own, not a job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
}

/// State of a session in a sample: an event, or it waits for its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionState {
    /// The session waits for its client.
    Idle,
    /// The session is at work or waits within a statement.
    At(Event),
}

/// The samples of a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// Seconds between two samples, as planned.
    pub period_s: f64,
    /// Samples that were taken, of those that were due.
    pub samples: u64,
    /// Samples that were due.
    pub due: u64,
    /// Sessions of jobs that were seen, summed over the samples; and those of them that waited for
    /// their client.
    pub sessions: u64,
    /// Sightings of sessions that waited for their client.
    pub idle: u64,
    /// Events in descending order of their time.
    pub events: Vec<EventCount>,
    /// Cost of sampling.
    pub cost: SamplerCost,
    /// Facts that could not be observed, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Reads, writes and syncs of the device that holds the database; and why nothing is known of
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub io: Vec<IoTimes>,
    /// Reason why nothing is known of the device's I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_missing: Option<String>,
    /// CPU time of the job sessions by the kernel's account; absent where it is not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorTime>,
}

/// A kind of I/O of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IoKind {
    /// A read request.
    Read,
    /// A write request.
    Write,
    /// A request to empty the device's write cache.
    Sync,
}

/// I/O of one kind that a device has done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoCount {
    /// Number of requests completed.
    pub ios: u64,
    /// Service times of all of them, added up by the kernel, in whole milliseconds.
    pub busy_ms: u64,
}

/// Service times of a kind of I/O. They are means of slices between samples, because the kernel
/// does not report single ones. Slices are joined until they hold [`IoTimes::MIN_MS`], so that
/// whole milliseconds are exact enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IoTimes {
    /// Kind of the I/O.
    pub kind: IoKind,
    /// Number of requests completed.
    pub ios: u64,
    /// Mean of all; absent where they hold too little time.
    pub mean_us: Option<f64>,
    /// Slices, after some were joined.
    pub slices: u64,
    /// (upper end of the mean of a slice in us, from the series 1, 2, 5; I/Os in such slices), the
    /// fastest first.
    pub buckets: Vec<(f64, u64)>,
}

impl IoTimes {
    /// Least service time of a slice: its mean is off by a tenth at most.
    pub const MIN_MS: u64 = 10;

    /// Times from cumulative counts at the samples, in order.
    pub fn from_counts(kind: IoKind, counts: &[IoCount]) -> IoTimes {
        let slices = joined(counts);
        let ios: u64 = slices.iter().map(|slice| slice.ios).sum();
        let busy_ms: u64 = slices.iter().map(|slice| slice.busy_ms).sum();
        let is_known = busy_ms >= IoTimes::MIN_MS && ios > 0;
        let mean_us = |slice: &IoCount| 1e3 * slice.busy_ms as f64 / slice.ios as f64;
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        for slice in slices.iter().filter(|_| is_known) {
            let end_us = end_us(mean_us(slice));
            match buckets.iter_mut().find(|bucket| bucket.0 == end_us) {
                Some(bucket) => bucket.1 += slice.ios,
                None => buckets.push((end_us, slice.ios)),
            }
        }
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = IoCount { ios, busy_ms };
        IoTimes {
            kind,
            ios,
            mean_us: is_known.then(|| mean_us(&all)),
            slices: slices.len() as u64,
            buckets,
        }
    }
}

/// Differences between samples, joined until each holds enough time; what is left over belongs to
/// the last.
fn joined(counts: &[IoCount]) -> Vec<IoCount> {
    let between = |from: &IoCount, to: &IoCount| IoCount {
        ios: to.ios.saturating_sub(from.ios),
        busy_ms: to.busy_ms.saturating_sub(from.busy_ms),
    };
    let (Some(mut from), Some(last)) = (counts.first(), counts.last()) else { return Vec::new() };
    let mut slices: Vec<IoCount> = Vec::new();
    for count in counts {
        let slice = between(from, count);
        if slice.ios > 0 && slice.busy_ms >= IoTimes::MIN_MS {
            slices.push(slice);
            from = count;
        }
    }
    let rest = between(from, last);
    match slices.last_mut() {
        Some(slice) => {
            (slice.ios, slice.busy_ms) = (slice.ios + rest.ios, slice.busy_ms + rest.busy_ms)
        }
        None if rest.ios > 0 => slices.push(rest),
        None => {}
    }
    slices
}

/// The least of 1, 2, 5, 10, 20 ... that is not below this.
fn end_us(mean_us: f64) -> f64 {
    let decades = (0..12).map(|decade| 10_f64.powi(decade));
    let mut ends = decades.flat_map(|decade| [decade, 2.0 * decade, 5.0 * decade]);
    ends.find(|end| *end >= mean_us).unwrap_or(mean_us)
}

/// Number of samples in which an event was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventCount {
    /// Event that was seen.
    #[serde(flatten)]
    pub event: Event,
    /// Sessions seen at it, summed over the samples.
    pub samples: u64,
    /// Share of the time in which sessions of jobs were not idle. For the server's own processes it
    /// is the share of all their sightings.
    pub share: f64,
}

/// Cost of sampling from the gate to the end of the jobs, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplerCost {
    /// Elapsed, of which the cost is a part.
    pub elapsed_s: f64,
    /// CPU time of the sampler's thread, in s.
    pub own_cpu_s: f64,
    /// Processor time of its session in the server, where that can be read.
    pub server_cpu_s: Option<f64>,
    /// Mean time of a look.
    pub look_s: f64,
}

impl Waits {
    /// Seconds of all sessions together that sightings of this weight represent, in a window of
    /// this length: each sample represents the same part of it.
    pub fn seconds(&self, sightings: f64, window_s: f64) -> f64 {
        if self.samples == 0 { 0.0 } else { sightings / self.samples as f64 * window_s }
    }

    /// Sightings of sessions of jobs at work.
    fn at_work(&self) -> u64 {
        self.of_jobs()
            .filter(|count| count.event.activity == Activity::Cpu)
            .map(|count| count.samples)
            .sum()
    }

    fn weights(&self) -> Weights {
        Weights::new(self.sessions as f64, self.at_work() as f64, self.processors.as_ref())
    }

    /// Sightings of sessions that an event stands for: as seen, or beside what the kernel counted
    /// of processors.
    pub fn weight(&self, count: &EventCount) -> f64 {
        let (samples, weights) = (count.samples as f64, self.weights());
        match (count.event.background, count.event.activity, self.at_work()) {
            (true, ..) => samples,
            (_, Activity::Cpu, 0) => weights.at_work,
            (_, Activity::Cpu, at_work) => samples / at_work as f64 * weights.at_work,
            _ => samples * weights.other,
        }
    }

    /// Weight of the job sessions in this activity, in samples.
    pub fn at(&self, activity: Activity) -> f64 {
        let at_it = self.of_jobs().filter(|count| count.event.activity == activity);
        at_it.fold(0.0, |sum, count| sum + self.weight(count))
    }

    /// Weight of the sessions that waited for their client, in samples.
    pub fn at_rest(&self) -> f64 {
        self.idle as f64 * self.weights().other
    }

    /// Share of the time of the jobs that they waited for a processor, where the kernel counts
    /// that.
    pub fn queued(&self) -> Option<f64> {
        self.processors.map(|processors| processors.queued_s / processors.of_s)
    }

    /// The events of jobs.
    pub fn of_jobs(&self) -> impl Iterator<Item = &EventCount> {
        self.events.iter().filter(|count| !count.event.background)
    }

    /// The events of the server's own processes.
    pub fn of_server(&self) -> impl Iterator<Item = &EventCount> {
        self.events.iter().filter(|count| count.event.background)
    }
}

/// Cumulative figures of the server by name (a statement, a kind of I/O), as differences over a
/// test; those with the most time, or the most of all, first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Lines of the profile, those with the most time first.
    pub rows: Vec<ProfileRow>,
    /// Rows that were left out because they did least.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Reason why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A line of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileRow {
    /// Statement or kind of I/O.
    pub name: String,
    /// Values by column: `calls`, `time_ms`, `read_bytes`.
    pub values: Counters,
}

/// Messages of the server log from the start to the end of a test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLog {
    /// Messages in order, one line each.
    pub lines: Vec<String>,
    /// Lines beyond those.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Reason why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Snapshots of the server's own repositories for the time of the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<RepositorySnapshots>,
}

/// Snapshots of a repository of the server's own, taken around a test: a report of the server
/// between them is of this test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositorySnapshots {
    /// `awr`, `statspack`.
    pub repository: String,
    /// Numbers of the snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<String>,
    /// Number of the snapshot after the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Reason why one could not be taken, or why there is no report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The server's own report between them, by lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report: Vec<String>,
}

/// Result of an experiment (`--test-bottleneck`) that checks the prediction for a test's
/// bottleneck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentResult {
    /// Code of the cause whose experiment it is.
    pub cause: String,
    /// Change that was made; if nothing was tried, the change that would be needed.
    pub change: Sentence,
    /// Changed values by name: settings of the server, or `jobs`, `drive`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, String>,
    /// Throughput after the change over that before it, as predicted and as measured (the median of
    /// the blocks, with the ends of its interval where there are enough of them).
    pub forecast: Option<f64>,
    /// Kind of the prediction: for a minimum or a maximum the interval has no upper end, or 1 as
    /// its lower one.
    #[serde(default)]
    pub bound: Bound,
    /// Ends of the forecast's interval, where there are trials enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_low: Option<f64>,
    /// Upper end of the forecast's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast_high: Option<f64>,
    /// Measured ratio: the median of the blocks.
    pub ratio: Option<f64>,
    /// Lower end of the interval of the measured ratio.
    pub low: Option<f64>,
    /// Upper end of the interval of the measured ratio.
    pub high: Option<f64>,
    /// Outcome of the prediction: it held, failed or is open.
    pub outcome: ForecastOutcome,
    /// Ops per second before and after the change, block by block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<[f64; 2]>,
    /// Blocks of which a trial could not be used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Share of the jobs' time that the cause took before and after it: medians of the blocks.
    pub share_before: Option<f64>,
    /// Share of session time that the cause took after the change.
    pub share_after: Option<f64>,
    /// Reason why nothing, or nothing more, was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Sentence>,
    /// Results of other experiments for the same cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<ExperimentResult>,
}

/// Kind of a prediction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Expected value.
    #[default]
    About,
    /// More is possible, by an unknown amount.
    AtLeast,
    /// Less is possible, down to nothing.
    AtMost,
}

/// Outcome of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForecastOutcome {
    /// The measured ratio agrees with the prediction.
    Held,
    /// The measured ratio contradicts the prediction.
    NotHeld,
    /// The blocks do not decide it.
    Undecided,
    /// No experiment was made.
    NotTried,
}

impl ForecastOutcome {
    /// Name as printed.
    pub fn name(self) -> &'static str {
        match self {
            ForecastOutcome::Held => "the prediction held",
            ForecastOutcome::NotHeld => "the prediction did not hold",
            ForecastOutcome::Undecided => "undecided",
            ForecastOutcome::NotTried => "not tried",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(activity: Activity, background: bool, samples: u64) -> EventCount {
        let event = Event { class: "c".into(), name: activity.name().into(), activity, background };
        EventCount { event, samples, share: 0.0 }
    }

    #[test]
    fn sightings_become_seconds_and_background_processes_are_apart() {
        let events = vec![
            count(Activity::Cpu, false, 90),
            count(Activity::LogSync, false, 60),
            count(Activity::Cpu, true, 7),
        ];
        let waits = Waits { samples: 100, sessions: 200, idle: 50, events, ..Waits::default() };
        // Every sample stands for 0.1 s of a window of 10 s.
        assert_eq!(waits.seconds(waits.at(Activity::Cpu), 10.0), 9.0);
        assert_eq!(
            (waits.at(Activity::LogSync), waits.at_rest(), waits.queued()),
            (60.0, 50.0, None)
        );
        assert_eq!(waits.of_server().count(), 1);
        // The kernel counted 12 of the 20 s at work: waits have the others.
        let processors =
            Some(ProcessorTime { of_s: 20.0, user_s: 1.0, kernel_s: 8.0, queued_s: 3.0 });
        let exact = Waits { processors, ..waits };
        let weights =
            [exact.at(Activity::Cpu), exact.at(Activity::LogSync), exact.at_rest()].map(f64::round);
        assert_eq!((weights, exact.queued()), ([120.0, 44.0, 36.0], Some(0.15)));
    }

    #[test]
    fn each_io_counts_with_the_mean_of_its_slice() {
        let count = |(ios, busy_ms): (u64, u64)| IoCount { ios, busy_ms };
        let times = |counts: &[(u64, u64)]| {
            IoTimes::from_counts(
                IoKind::Read,
                &counts.iter().copied().map(count).collect::<Vec<_>>(),
            )
        };
        // 100 I/Os of 0.1 ms, 20 of 2 ms in two slices that are joined, and 5 with too little time,
        // which join the last.
        let known = times(&[(1000, 70), (1100, 80), (1104, 88), (1120, 120), (1125, 121)]);
        assert_eq!(known.buckets, [(100.0, 100), (2000.0, 25)]);
        assert_eq!((known.ios, known.slices, known.mean_us), (125, 2, Some(408.0)));
        let short = times(&[(0, 0), (7, 9)]);
        assert_eq!(
            (short.ios, short.mean_us, short.buckets.len()),
            (7, None, 0),
            "milliseconds are too coarse for it"
        );
        assert_eq!((times(&[]).ios, times(&[(5, 5)]).slices), (0, 0));
    }

    #[test]
    fn every_activity_has_a_name_of_its_own() {
        for activity in Activity::ALL {
            assert_eq!(Activity::from_name(activity.name()), activity);
            assert_eq!(serde_json::to_value(activity).ok(), Some(activity.name().into()));
        }
        assert_eq!(Activity::from_name("unheard of"), Activity::Other);
    }
}
