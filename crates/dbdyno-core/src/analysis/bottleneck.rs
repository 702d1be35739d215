//! Bottlenecks: the causes that limit the throughput of a test, in the order of the session time
//! that each takes, with the evidence. Pure.
//!
//! Waits come from the samples of the sessions; where there are none, from the counters of the
//! database that time them.

use super::cpu::foreign;
use super::cpu_speed;
use super::time_model::waiting_for_processor_s;
use crate::model::{Activity, EventCount, Sentence, TestResult, Waits};

mod forecast;
mod processors;
mod remedy;

pub use forecast::{Forecast, GainSpan, TimeShares, forecast, judge_forecast};
use processors::processor;
pub(super) use processors::{usable_processors, used_processors};
pub use remedy::{Action, Remedy, describe, remedies, remedy, verdict_of_trial};

/// A wait is a cause from this share of the jobs' time on.
const CAUSE: f64 = 0.1;
/// Least share of a wait that only counters show, mixed with other work: half of the time.
const WAIT_LIMIT: f64 = 0.5;
/// Longest interval between checkpoints, in s, for which they are a cause; there must be at least
/// two.
const OFTEN_S: f64 = 30.0;
/// Prefix of the event classes of the checkpointer; also of those of jobs that wait for one.
const CHECKPOINTER: &str = "checkpointer";
/// Speed of a walk through memory, 1 = at rest, from which on down memory is near its bandwidth:
/// there each access takes twice as long as at rest, and more.
const LOADED_MEMORY: f64 = 0.5;
/// Share of its time from which on dbdyno's own process is the reason why sessions wait for their
/// client.
const OURS: f64 = 0.5;

/// Bottleneck of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// All CPUs that the jobs can use are busy.
    Cpu,
    /// Each job keeps a processor busy, and others idle.
    OneThread,
    /// Processors wait for memory.
    Memory,
    /// Commits wait for the log flush.
    LogSync,
    /// Changes wait for room in the log's buffer.
    LogBuffer,
    /// Jobs wait for reads of data files.
    Read,
    /// Jobs wait for writes of data files.
    DataWrite,
    /// Jobs wait for a checkpoint.
    Checkpoint,
    /// Jobs wait for rows that others have locked.
    RowLock,
    /// Jobs wait for structures in memory.
    Latch,
    /// The server waits for its clients.
    Client,
    /// Statements wait for the network.
    Network,
    /// Other processes on the machine take what the jobs need.
    Neighbours,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 13] = [
        Cause::Cpu,
        Cause::OneThread,
        Cause::Memory,
        Cause::LogSync,
        Cause::LogBuffer,
        Cause::Read,
        Cause::DataWrite,
        Cause::Checkpoint,
        Cause::RowLock,
        Cause::Latch,
        Cause::Client,
        Cause::Network,
        Cause::Neighbours,
    ];

    /// A wait for input or output, for which the kernel works.
    fn is_io(self) -> bool {
        matches!(self, Cause::LogSync | Cause::Read | Cause::DataWrite | Cause::Network)
    }

    /// Stable code, as in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Cause::Cpu => "cpu",
            Cause::OneThread => "one-thread",
            Cause::Memory => "memory",
            Cause::LogSync => "log-sync",
            Cause::LogBuffer => "log-buffer",
            Cause::Read => "read",
            Cause::DataWrite => "data-write",
            Cause::Checkpoint => "checkpoint",
            Cause::RowLock => "row-lock",
            Cause::Latch => "latch",
            Cause::Client => "client",
            Cause::Network => "network",
            Cause::Neighbours => "neighbours",
        }
    }
}

/// A cause that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    /// The bottleneck.
    pub cause: Cause,
    /// Share of session time; above 1 where background processes work in addition to the jobs.
    /// Unknown if a cause is observed but its time is not.
    pub share: Option<f64>,
    /// The figures.
    pub evidence: Sentence,
}

/// The causes of a test, the one that takes most of the time first; empty = not found among those
/// that can be measured.
pub fn bottlenecks(result: &TestResult) -> Vec<Bottleneck> {
    let rules: [fn(&TestResult) -> Option<Bottleneck>; 10] = [
        processor,
        memory,
        log_buffer,
        log_sync,
        read,
        |r| wait(r, Cause::DataWrite, Activity::DataWrite),
        checkpoint,
        row_lock,
        latch,
        neighbours,
    ];
    let mut found: Vec<Bottleneck> =
        rules.into_iter().filter_map(|rule| rule(result)).chain(beyond_sessions(result)).collect();
    let rank = |bottleneck: &Bottleneck| match bottleneck.cause {
        // It is of the time at the log: before that if it is most of the writes.
        Cause::LogBuffer => (2.0 * bottleneck.share.unwrap_or(0.0))
            .min(share_of(result, Cause::LogSync).unwrap_or(0.0)),
        _ => bottleneck.share.unwrap_or(0.0),
    };
    found.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    found
}

/// The limit of a test: the first cause that is known to take enough of the time. Whatever names
/// one limit names this one.
pub fn limit(result: &TestResult) -> Option<Bottleneck> {
    let takes = |bottleneck: &Bottleneck| bottleneck.share.is_some_and(|share| share >= CAUSE);
    bottlenecks(result).into_iter().find(takes)
}

/// The smallest number of jobs from which on a cause comes first in every step up to the last;
/// steps are in the order of their jobs.
pub fn begins_at(steps: &[(u32, Vec<Bottleneck>)], cause: Cause) -> Option<u32> {
    let is_first =
        |step: &&(u32, Vec<Bottleneck>)| step.1.first().is_some_and(|first| first.cause == cause);
    steps.iter().rev().take_while(is_first).last().map(|(jobs, _)| *jobs)
}

/// Share of the jobs' time that a cause takes, also if that is too little to limit a test; none
/// where it is not known.
pub fn share_of(result: &TestResult, cause: Cause) -> Option<f64> {
    let activity = match cause {
        Cause::LogSync => Some(Activity::LogSync),
        Cause::Read => Some(Activity::DataRead),
        Cause::DataWrite => Some(Activity::DataWrite),
        Cause::RowLock => Some(Activity::RowLock),
        Cause::Latch => Some(Activity::Latch),
        Cause::LogBuffer => return waiting_for_room(result),
        _ => None,
    };
    let found =
        || bottlenecks(result).into_iter().find(|bottleneck| bottleneck.cause == cause)?.share;
    activity.and_then(|activity| activity_share(result, activity)).or_else(found)
}

/// The samples, if there are enough to say something.
fn session_samples(result: &TestResult) -> Option<&Waits> {
    result.waits.as_ref().filter(|waits| waits.samples > 0 && waits.sessions > 0)
}

/// Share of the jobs' time that an activity takes.
fn activity_share(result: &TestResult, activity: Activity) -> Option<f64> {
    session_samples(result).map(|waits| waits.at(activity) / waits.sessions as f64)
}

/// Time around the waits of sessions, in shares of session time.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    /// Share of work in the kernel and, below, in the run queue.
    kernel: f64,
    queued: f64,
}

/// Time around the waits where the kernel counted the CPU time of the sessions.
fn around_waits(result: &TestResult) -> Option<Around> {
    let waits = session_samples(result)?;
    let processors = waits.processors?;
    let [kernel, queued] =
        [processors.kernel_s, processors.queued_s].map(|part_s| part_s / processors.of_s);
    Some(Around { kernel, queued })
}

/// Bottleneck by a wait that sessions were sampled at. For I/O the kernel's work counts as well,
/// which is nearly all of the time on a fast device. A session in the run queue can wait for
/// nothing else, so that the threshold of a tenth refers to the rest of the time.
fn wait(result: &TestResult, cause: Cause, activity: Activity) -> Option<Bottleneck> {
    let waits = session_samples(result)?;
    let left = 1.0 - waits.queued().unwrap_or(0.0);
    let takes = |share: f64| TimeShares::with(result, cause, Action::Settings, share).goes;
    let share = activity_share(result, activity)
        .filter(|share| *share > 0.0 && takes(*share) >= CAUSE * left)?;
    let most = waits.of_jobs().find(|count| count.event.activity == activity)?;
    let around = around_waits(result).filter(|_| cause.is_io());
    let template = match around {
        None => "{share%} of session time by sampling, most of it at {class}: {event}",
        Some(_) => {
            "{share%} of session time by sampling, most of it at {class}: {event}; in addition \
             {kernel%} at work in the kernel and {queued%} in the run queue"
        }
    };
    let around = around.unwrap_or_default();
    let evidence = Sentence::new(template)
        .with("share", share)
        .with("class", most.event.class.as_str())
        .with("event", most.event.name.as_str())
        .with("kernel", around.kernel)
        .with("queued", around.queued);
    Some(Bottleneck { cause, share: Some(share), evidence })
}

fn row_lock(result: &TestResult) -> Option<Bottleneck> {
    wait(result, Cause::RowLock, Activity::RowLock)
}

fn latch(result: &TestResult) -> Option<Bottleneck> {
    wait(result, Cause::Latch, Activity::Latch)
}

/// The time in which the log was synced, of the elapsed time (syncs of one log follow one another),
/// where nothing was sampled.
fn log_sync(result: &TestResult) -> Option<Bottleneck> {
    if session_samples(result).is_some() {
        return wait(result, Cause::LogSync, Activity::LogSync);
    }
    counted_wait(
        result,
        Cause::LogSync,
        &Timed { time_ms: "wal_sync_time_ms", events: "wal_syncs" },
        result.total_s,
        "{share%} of the time in {events=} log syncs",
    )
}

/// Upper bound of the share of session time spent waiting for room in the log buffer: the share at
/// the log, times the part of the log's writes that a full buffer caused. This assumes that a write
/// without a sync takes as long as one with it.
fn waiting_for_room(result: &TestResult) -> Option<f64> {
    let counter = |name| result.window_counters.get(name);
    let (full, writes) =
        counter("log_buffer_full").zip(counter("log_writes").filter(|writes| *writes > 0.0))?;
    Some(activity_share(result, Activity::LogSync)? * (full / writes).min(1.0))
}

fn log_buffer(result: &TestResult) -> Option<Bottleneck> {
    let share = waiting_for_room(result).filter(|share| *share >= CAUSE)?;
    let count = |name| result.window_counters.get(name).unwrap_or(0.0);
    let template = "at most {share%} of session time: sampled log waits, times the share of log \
                    writes forced by a full log buffer ({full=} of {writes=})";
    let evidence = Sentence::new(template)
        .with("share", share)
        .with("full", count("log_buffer_full"))
        .with("writes", count("log_writes"));
    Some(Bottleneck { cause: Cause::LogBuffer, share: Some(share), evidence })
}

/// Processors are used up, fixed integer work in them is as fast as ever, and a walk through memory
/// is not.
fn memory(result: &TestResult) -> Option<Bottleneck> {
    let work =
        cpu_speed::speed(&result.window_counters).ok().filter(|speed| *speed >= cpu_speed::SLOW)?;
    let walk = cpu_speed::memory_speed(&result.window_counters)
        .ok()
        .filter(|speed| *speed <= LOADED_MEMORY)?;
    let template = "a walk through memory took x{walk} of its time when the run began, fixed \
                    integer work x{work}";
    let evidence = Sentence::new(template).with("walk", 1.0 / walk).with("work", 1.0 / work);
    processor(result).map(|_| Bottleneck { cause: Cause::Memory, share: None, evidence })
}

/// Counters of an activity.
struct Timed {
    time_ms: &'static str,
    events: &'static str,
}

/// Share of the jobs' time in which they waited for reads.
fn read(result: &TestResult) -> Option<Bottleneck> {
    let sampled = wait(result, Cause::Read, Activity::DataRead);
    let counted = || {
        let template = "{share%} of session time in {events=} reads";
        counted_wait(
            result,
            Cause::Read,
            &Timed { time_ms: "physical_read_time_ms", events: "physical_reads" },
            result.total.busy_s,
            template,
        )
    };
    sampled.or_else(counted)
}

fn counted_wait(
    result: &TestResult,
    cause: Cause,
    counters: &Timed,
    whole_s: f64,
    template: &str,
) -> Option<Bottleneck> {
    let waited_s = result.counters.get(counters.time_ms)? / 1000.0;
    let share = (whole_s > 0.0)
        .then(|| (waited_s / whole_s).min(1.0))
        .filter(|share| *share >= WAIT_LIMIT)?;
    let events = result.counters.get(counters.events).unwrap_or(0.0);
    Some(Bottleneck {
        cause,
        share: Some(share),
        evidence: Sentence::new(template).with("share", share).with("events", events),
    })
}

/// Bottleneck by checkpoints: they follow one another, or jobs were sampled waiting for one. Its
/// share is that of session time; if the jobs' samples do not show it, that of the samples in which
/// the process that makes checkpoints was at work.
fn checkpoint(result: &TestResult) -> Option<Bottleneck> {
    let counted = result.counters.get("checkpoints");
    let often = counted.filter(|count| *count >= 2.0 && result.total_s / count <= OFTEN_S);
    let waits = session_samples(result);
    let is_it = |count: &&EventCount| count.event.class.starts_with(CHECKPOINTER);
    let waited = waits.map(|waits| {
        waits.of_jobs().filter(is_it).fold(0.0, |sum, count| sum + waits.weight(count))
            / waits.sessions as f64
    });
    let at_work = waits.map(|waits| {
        let seen: u64 = waits.of_server().filter(is_it).map(|count| count.samples).sum();
        (seen as f64 / waits.samples as f64).min(1.0)
    });
    let waited = waited.filter(|share| *share >= CAUSE);
    let at_work = at_work.filter(|share| *share > 0.0);
    let evidence = match (waited, often) {
        (Some(share), _) => {
            let template = "{share%} of session time by sampling until a checkpoint gave room in \
                            the log, which was nearly full in {nearly%} of the samples";
            Sentence::new(template).with("share", share).with("nearly", at_work.unwrap_or(0.0))
        }
        (None, Some(count)) => Sentence::new("{count=} checkpoints in {total.1} s")
            .with("count", count)
            .with("total", result.total_s),
        (None, None) => return None,
    };
    let at_work = at_work.filter(|share| *share >= CAUSE);
    Some(Bottleneck { cause: Cause::Checkpoint, share: waited.or(at_work), evidence })
}

/// Bottleneck by CPUs that other processes used, or the hypervisor took, while sessions of the jobs
/// waited for one.
fn neighbours(result: &TestResult) -> Option<Bottleneck> {
    let stolen = result.window_counters.get("os_cpu_steal_s").unwrap_or(0.0) / result.window_s;
    let others = foreign(result).map_or(0.0, |foreign| foreign.used) + stolen;
    let whole_s = f64::from(result.jobs) * result.window_s;
    let ours_s = waiting_for_processor_s(result)?
        .max(result.window_counters.get("self_wait_s").unwrap_or(0.0));
    // Sessions may wait for each other as well: others are to blame for no more than they used.
    let waited_s = ours_s.min(others * result.window_s);
    let share = waited_s / whole_s;
    let evidence = Sentence::new(
        "other processes and the platform used {others} CPUs; jobs spent {waited.1} s in the run \
         queue",
    )
    .with("others", others)
    .with("waited", waited_s);
    (share >= CAUSE).then_some(Bottleneck {
        cause: Cause::Neighbours,
        share: Some(share),
        evidence,
    })
}

/// Cause of idle sessions in a closed loop: dbdyno's own process, if its threads work or wait for a
/// CPU for long enough, else the path between the sessions and the server.
fn beyond_sessions(result: &TestResult) -> Vec<Bottleneck> {
    let Some(waits) = session_samples(result).filter(|_| !result.is_paced()) else {
        return Vec::new();
    };
    let whole_s = f64::from(result.jobs) * result.window_s;
    let idle_s = waits.seconds(waits.at_rest(), result.window_s);
    let counter = |name: &str| result.window_counters.get(name);
    let (Some(worked_s), waited_s) = (counter("self_cpu_s"), counter("self_wait_s").unwrap_or(0.0))
    else {
        return Vec::new();
    };
    let ours_s = (worked_s + waited_s).min(idle_s);
    let way_s = idle_s - ours_s + waits.seconds(waits.at(Activity::Network), result.window_s);
    let client = || {
        Sentence::new(
            "sessions waited {idle.1} s for dbdyno, which worked {worked.1} s and spent {waited.1} \
             s in the run queue",
        )
    };
    let way = || {
        Sentence::new(
            "sessions waited {idle.1} s for their client, which was on CPU or in the run queue for \
             {ours.1} s of it",
        )
    };
    let evidence = |sentence: Sentence| {
        sentence
            .with("idle", idle_s)
            .with("worked", worked_s)
            .with("waited", waited_s)
            .with("ours", ours_s)
    };
    let found = [
        (ours_s >= OURS * idle_s).then(|| (Cause::Client, ours_s / whole_s, evidence(client()))),
        Some((Cause::Network, way_s / whole_s, evidence(way()))),
    ];
    let found = found.into_iter().flatten().filter(|(_, share, _)| *share >= CAUSE);
    found
        .map(|(cause, share, evidence)| Bottleneck { cause, share: Some(share), evidence })
        .collect()
}

#[cfg(test)]
mod tests;
