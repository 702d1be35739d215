//! Samples of what the sessions of a test do, several times a second, on a thread and a session of
//! their own.
//!
//! Samples follow an absolute schedule: one that comes late is a sample like any other, and those
//! that were due meanwhile are not made up for.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::gate::Gate;
use dbdyno_core::model::{
    Activity, Event, EventCount, IoCount, IoKind, IoTimes, ProcessorTime, SamplerCost, SeriesPoint,
    SessionState, SharedNames, ThreadTime, Waits,
};
use dbdyno_engines::engine::JobSessions;
use dbdyno_engines::host::thread_cpu_s;

/// Number of jobs above which samples are taken less often, in proportion: each holds more
/// sessions.
const MANY_JOBS: f64 = 128.0;
/// Readings of threads that are kept, of 56 bytes: a period of them is doubled beyond that.
const MAX_READINGS: usize = 1 << 18;
/// Samples that are kept, of some 250 bytes: those of five hours.
const MAX_SAMPLES: usize = 1 << 18;
/// Seconds of which a thread's first and last readings are kept.
const PERIOD_S: f64 = 1.0;
/// Least share of the sessions' time that the kernel's account of processors must cover.
const COUNTED: f64 = 0.5;

/// Source of session samples.
pub trait SessionSource: Send {
    /// Seconds between two samples.
    fn period_s(&self) -> f64;
    /// State of each session of `jobs` now, and of each server process that is not idle.
    ///
    /// # Errors
    /// The reason for which nothing can be seen any more, as one line.
    fn states(&mut self, jobs: &JobSessions) -> Result<Vec<SessionState>, String>;
    /// Kernel's account so far of the sessions of the last sample; empty where it is unknown.
    fn times(&mut self) -> Vec<ThreadTime>;
    /// Processor time that its session has used in the server, if it can be read.
    fn server_cpu_s(&self) -> Option<f64>;
    /// Facts that it cannot observe, each with the reason.
    fn missing(&self) -> Vec<String>;
    /// I/O of the database's device so far, by kind.
    ///
    /// # Errors
    /// The reason for which that is not known.
    fn device(&mut self) -> Result<IoCounts, String>;
}

/// Cumulative counts of a device by kind of I/O.
pub type IoCounts = Vec<(IoKind, IoCount)>;

/// All samples of a test.
#[derive(Debug, Default)]
pub struct SessionLog {
    period_s: f64,
    events: Vec<Event>,
    samples: Vec<Sample>,
    readings: Readings,
    cost: SamplerCost,
    missing: Vec<String>,
    io_missing: Option<String>,
}

/// One sample.
#[derive(Debug, Default)]
struct Sample {
    /// Seconds since the gate opened.
    t_s: f64,
    idle: u32,
    /// Index of an event and how many sessions were at it.
    at: Vec<(usize, u32)>,
    /// I/O counts of the device; empty where they are unknown.
    io: IoCounts,
    /// Time at which the times of threads were read.
    times_s: f64,
}

/// A reading of a thread's times.
#[derive(Debug, Clone, Copy)]
struct ThreadReading {
    /// Time of the sample, and of reading the thread, in s since the gate.
    t_s: f64,
    at_s: f64,
    time: ThreadTime,
}

/// Readings of threads: of each thread the first and the last one of every period. What took place
/// in a time is known from the first and the last of them in it; those between tell nothing. Of so
/// many threads, or so long, that they are too many, periods are doubled.
#[derive(Debug)]
struct Readings {
    period_s: f64,
    /// In the order of their periods; of a thread the first before the last.
    kept: Vec<ThreadReading>,
    /// Positions of a thread's readings in the current period: first and last.
    open: HashMap<u32, (usize, Option<usize>)>,
}

impl Default for Readings {
    fn default() -> Self {
        Readings { period_s: PERIOD_S, kept: Vec::new(), open: HashMap::new() }
    }
}

impl Readings {
    fn add(&mut self, reading: ThreadReading) {
        self.keep(reading);
        if self.kept.len() > MAX_READINGS {
            self.period_s *= 2.0;
            self.open.clear();
            for reading in std::mem::take(&mut self.kept) {
                self.keep(reading);
            }
        }
    }

    fn keep(&mut self, reading: ThreadReading) {
        let period = self.period(&reading);
        if self.kept.last().is_some_and(|last| self.period(last) < period) {
            self.open.clear();
        }
        let next = self.kept.len();
        let (_, last) = match self.open.entry(reading.time.thread) {
            Entry::Vacant(unseen) => {
                unseen.insert((next, None));
                return self.kept.push(reading);
            }
            Entry::Occupied(seen) => seen.into_mut(),
        };
        match *last {
            Some(at) => self.kept[at] = reading,
            None => {
                *last = Some(next);
                self.kept.push(reading);
            }
        }
    }

    fn period(&self, reading: &ThreadReading) -> u64 {
        (reading.t_s / self.period_s) as u64
    }

    /// Readings of samples after `from_s`, up to `to_s`.
    fn between(&self, from_s: f64, to_s: f64) -> impl Iterator<Item = &ThreadReading> {
        let first = (from_s.max(0.0) / self.period_s) as u64;
        let start = self.kept.partition_point(|reading| self.period(reading) < first);
        let last = (to_s / self.period_s) as u64;
        self.kept[start..]
            .iter()
            .take_while(move |reading| self.period(reading) <= last)
            .filter(move |reading| reading.t_s > from_s && reading.t_s <= to_s)
    }
}

/// Samples from the opening of `gate` until `ended` is closed; `jobs` gives the numbers of the
/// sessions that count.
pub fn sample(
    source: &mut dyn SessionSource,
    gate: &Gate,
    jobs: &dyn Fn() -> JobSessions,
    ended: &Receiver<()>,
) -> SessionLog {
    let mut log = SessionLog {
        period_s: source.period_s(),
        missing: source.missing(),
        ..SessionLog::default()
    };
    let Some(opened_at) = gate.opened_at() else { return log };
    let jobs = jobs();
    let sessions: usize = jobs.values().map(Vec::len).sum();
    log.period_s *= (sessions as f64 / MANY_JOBS).max(1.0);
    let (cpu_s, server_cpu_s) = (thread_cpu_s(), source.server_cpu_s());
    let mut known = HashMap::new();
    let mut looking_s = 0.0;
    while await_tick(opened_at, log.period_s, ended) {
        let began = Instant::now();
        match source.states(&jobs) {
            Ok(seen) => {
                let sample = note(opened_at, began, seen, &mut log.events, &mut known);
                let io =
                    if log.io_missing.is_none() { source.device() } else { Ok(IoCounts::new()) };
                let io = io.unwrap_or_else(|why| {
                    log.io_missing = Some(why);
                    IoCounts::new()
                });
                let (times, at_s) = (source.times(), opened_at.elapsed().as_secs_f64());
                let t_s = sample.t_s;
                for time in times {
                    log.readings.add(ThreadReading { t_s, at_s, time });
                }
                log.keep(Sample { io, times_s: at_s, ..sample });
            }
            Err(why) => {
                log.missing.push(why);
                break;
            }
        }
        looking_s += began.elapsed().as_secs_f64();
    }
    log.cost = SamplerCost {
        elapsed_s: opened_at.elapsed().as_secs_f64(),
        own_cpu_s: thread_cpu_s() - cpu_s,
        server_cpu_s: source.server_cpu_s().zip(server_cpu_s).map(|(end, begin)| end - begin),
        look_s: looking_s / log.samples.len().max(1) as f64,
    };
    log
}

/// Waits for the next multiple of the period; false once the test has ended.
fn await_tick(opened_at: Instant, period_s: f64, ended: &Receiver<()>) -> bool {
    let now_s = opened_at.elapsed().as_secs_f64();
    let next_s = ((now_s / period_s).floor() + 1.0) * period_s;
    let wait = Duration::from_secs_f64((next_s - now_s).max(0.0));
    ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout)
}

fn note(
    opened_at: Instant,
    at: Instant,
    seen: Vec<SessionState>,
    events: &mut Vec<Event>,
    known: &mut HashMap<Event, usize>,
) -> Sample {
    let mut sample =
        Sample { t_s: at.duration_since(opened_at).as_secs_f64(), ..Sample::default() };
    let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
    for seen in seen {
        match seen {
            SessionState::Idle => sample.idle += 1,
            SessionState::At(event) => {
                let index = *known.entry(event).or_insert_with_key(|event| {
                    events.push(event.clone());
                    events.len() - 1
                });
                *counts.entry(index).or_insert(0) += 1;
            }
        }
    }
    sample.at = counts.into_iter().collect();
    sample
}

impl SessionLog {
    /// Adds a sample. Of a test so long that there are too many every other one is dropped, and
    /// from now on they are taken half as often: what is left tells of the whole time alike.
    fn keep(&mut self, sample: Sample) {
        self.samples.push(sample);
        if self.samples.len() >= MAX_SAMPLES {
            let mut number = 0;
            self.samples.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.period_s *= 2.0;
        }
    }

    /// The samples between two moments in seconds since the gate; none without a source.
    pub fn waits(&self, open_s: f64, close_s: f64) -> Option<Waits> {
        if self.period_s == 0.0 {
            return None;
        }
        let inside: Vec<&Sample> = self.between(open_s, close_s).collect();
        let idle = inside.iter().map(|sample| u64::from(sample.idle)).sum();
        let events = self.counts(&inside);
        let of_jobs =
            events.iter().filter(|count| !count.event.background).map(|count| count.samples);
        let sessions = idle + of_jobs.sum::<u64>();
        let waits = Waits {
            period_s: self.period_s,
            samples: inside.len() as u64,
            due: ((close_s - open_s) / self.period_s) as u64,
            sessions,
            idle,
            events,
            cost: self.cost,
            missing: self.missing.clone(),
            io: io_times(&inside),
            io_missing: self.io_missing.clone(),
            processors: self.kernel_time(&inside, sessions, open_s, close_s),
        };
        Some(with_shares(waits))
    }

    fn between(&self, from_s: f64, to_s: f64) -> impl Iterator<Item = &Sample> {
        let start = self.samples.partition_point(|sample| sample.t_s <= from_s);
        self.samples[start..].iter().take_while(move |sample| sample.t_s <= to_s)
    }

    /// Kernel's account of the sampled sessions; none if that is less than half of their time.
    fn kernel_time(
        &self,
        samples: &[&Sample],
        sessions: u64,
        open_s: f64,
        close_s: f64,
    ) -> Option<ProcessorTime> {
        let readings = self.readings.between(open_s, close_s);
        let readings = readings.map(|one| (one.at_s, std::slice::from_ref(&one.time)));
        let span_s = span_s(samples).min(close_s - open_s);
        let seen_s = sessions as f64 / samples.len().max(1) as f64 * span_s;
        ProcessorTime::between(readings).filter(|processors| processors.of_s >= COUNTED * seen_s)
    }

    fn counts(&self, samples: &[&Sample]) -> Vec<EventCount> {
        let mut totals = vec![0_u64; self.events.len()];
        for (index, count) in samples.iter().flat_map(|sample| &sample.at) {
            totals[*index] += u64::from(*count);
        }
        let count = |(event, samples)| EventCount { event, samples, share: 0.0 };
        let counts = self.events.iter().cloned().zip(totals).map(count);
        counts.filter(|count| count.samples > 0).collect()
    }

    /// Gives each point of a series the mean number of sessions of jobs at each class.
    pub fn spread(&self, points: &mut [SeriesPoint]) {
        let mut names = SharedNames::default();
        for point in points {
            let from_s = point.t_s - point.interval_s;
            let Some(waits) = self.waits(from_s, point.t_s).filter(|waits| waits.samples > 0)
            else {
                continue;
            };
            let mut sessions: BTreeMap<String, f64> = BTreeMap::new();
            for count in waits.of_jobs() {
                *sessions.entry(count.event.class.clone()).or_insert(0.0) +=
                    waits.weight(count) / waits.samples as f64;
            }
            point.sessions = names.share(sessions.into_iter().collect());
        }
    }
}

fn span_s(samples: &[&Sample]) -> f64 {
    samples.first().zip(samples.last()).map_or(0.0, |(first, last)| last.times_s - first.times_s)
}

/// With the shares of the events, and work among them also if no sample met it.
fn with_shares(mut waits: Waits) -> Waits {
    if waits.processors.is_some()
        && !waits.of_jobs().any(|count| count.event.activity == Activity::Cpu)
    {
        let event = Event {
            class: "CPU".into(),
            name: "CPU".into(),
            activity: Activity::Cpu,
            background: false,
        };
        waits.events.push(EventCount { event, samples: 0, share: 0.0 });
    }
    let mut weighed: Vec<(f64, EventCount)> =
        waits.events.iter().map(|count| (waits.weight(count), count.clone())).collect();
    weighed
        .sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.event.cmp(&other.event)));
    let all = |background: bool| -> f64 {
        weighed
            .iter()
            .filter(|(_, count)| count.event.background == background)
            .map(|(weight, _)| weight)
            .sum()
    };
    let (of_jobs, of_server) = (all(false), all(true));
    let with_share = |(weight, count): (f64, EventCount)| {
        let all = if count.event.background { of_server } else { of_jobs };
        EventCount { share: if all > 0.0 { weight / all } else { 0.0 }, ..count }
    };
    waits.events = weighed.into_iter().map(with_share).collect();
    waits
}

/// Service times of each kind of I/O between the first of these samples and the last.
fn io_times(samples: &[&Sample]) -> Vec<IoTimes> {
    let kinds =
        samples.first().map(|sample| sample.io.iter().map(|(kind, _)| *kind).collect::<Vec<_>>());
    let of = |kind: IoKind| {
        let counts =
            samples.iter().flat_map(|sample| &sample.io).filter(|(other, _)| *other == kind);
        IoTimes::from_counts(kind, &counts.map(|(_, count)| *count).collect::<Vec<_>>())
    };
    kinds.into_iter().flatten().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(class: &str, background: bool) -> SessionState {
        let activity = Activity::Other;
        SessionState::At(Event { class: class.into(), name: "x".into(), activity, background })
    }

    /// Gives what is listed, one entry for each look, then fails.
    struct Listed(std::vec::IntoIter<Vec<SessionState>>);

    impl SessionSource for Listed {
        fn period_s(&self) -> f64 {
            0.001
        }
        fn states(&mut self, jobs: &JobSessions) -> Result<Vec<SessionState>, String> {
            assert_eq!(jobs[""], [7]);
            self.0.next().ok_or_else(|| "gone".to_string())
        }
        fn times(&mut self) -> Vec<ThreadTime> {
            Vec::new()
        }
        fn server_cpu_s(&self) -> Option<f64> {
            None
        }
        fn missing(&self) -> Vec<String> {
            vec!["half".into()]
        }
        fn device(&mut self) -> Result<IoCounts, String> {
            // As many as there are looks left: a count that grows by 1 with each.
            let ios = 10 - self.0.len() as u64;
            Ok(vec![(IoKind::Read, IoCount { ios, busy_ms: 20 * ios })])
        }
    }

    /// Three looks at two sessions: at IO and idle, at IO and LWLock, both at IO; the checkpointer
    /// works in the second.
    fn log() -> SessionLog {
        let looks = vec![
            vec![event("IO", false), SessionState::Idle],
            vec![event("IO", false), event("LWLock", false), event("IO", true)],
            vec![event("IO", false), event("IO", false)],
        ];
        let gate = Gate::new(1);
        gate.open();
        let (_test, ended) = std::sync::mpsc::channel();
        sample(
            &mut Listed(looks.into_iter()),
            &gate,
            &|| JobSessions::from([(String::new(), vec![7])]),
            &ended,
        )
    }

    #[test]
    fn what_was_seen_is_counted_until_the_source_fails() {
        let waits = log().waits(0.0, f64::INFINITY).unwrap();
        let counts: Vec<_> =
            waits.events.iter().map(|count| (count.event.class.as_str(), count.samples)).collect();
        assert_eq!(counts, [("IO", 4), ("IO", 1), ("LWLock", 1)]);
        assert_eq!(
            (waits.samples, waits.sessions, waits.idle, waits.events[0].share),
            (3, 6, 1, 0.8)
        );
        assert_eq!(waits.missing, ["half", "gone"]);
        assert_eq!(
            (waits.io[0].ios, waits.io[0].buckets.as_slice()),
            (2, [(20_000.0, 2)].as_slice())
        );
        assert!(waits.cost.own_cpu_s > 0.0 && waits.cost.server_cpu_s.is_none());
    }

    #[test]
    fn of_many_sessions_samples_are_taken_more_seldom() {
        let period_s = |sessions: [u32; 2]| {
            let gate = Gate::new(1);
            gate.open();
            let (test, ended) = std::sync::mpsc::channel();
            drop(test); // it is over: no sample is taken
            let of_nodes = [("n1", sessions[0]), ("n2", sessions[1])];
            let jobs =
                || of_nodes.map(|(node, count)| (node.to_owned(), (0..count).collect())).into();
            sample(&mut Listed(Vec::new().into_iter()), &gate, &jobs, &ended).period_s
        };
        assert_eq!(period_s([64, 64]), 0.001);
        assert_eq!(period_s([256, 128]), 0.003);
    }

    #[test]
    fn of_a_day_no_more_samples_are_kept_and_they_tell_of_all_of_it() {
        const DAY_S: f64 = 86_400.0;
        let event = |activity| Event {
            class: "IO".into(),
            name: format!("{activity:?}"),
            activity,
            background: false,
        };
        let events = [Activity::DataRead, Activity::LogSync].map(event).to_vec();
        let mut log = SessionLog { period_s: 0.07, events, ..SessionLog::default() };
        let mut t_s = log.period_s;
        while t_s < DAY_S {
            // In the last quarter of each hour they wait for the log.
            let at = usize::from(t_s % 3600.0 >= 2700.0);
            log.keep(Sample { t_s, times_s: t_s, at: vec![(at, 3)], ..Sample::default() });
            t_s += log.period_s;
        }
        assert!(log.samples.len() < MAX_SAMPLES, "{}", log.samples.len());
        assert!(log.period_s < 1.0, "each second of the series has one: {}", log.period_s);
        for (from_s, to_s) in [(0.0, DAY_S), (0.0, 7200.0), (72_000.0, 79_200.0)] {
            let waits = log.waits(from_s, to_s).unwrap();
            let shares: Vec<f64> = waits.events.iter().map(|count| count.share).collect();
            assert!((shares[0] - 0.75).abs() < 0.001, "{from_s} to {to_s}: {shares:?}");
            assert!(waits.samples.abs_diff(waits.due) < 3, "{} of {}", waits.samples, waits.due);
        }
    }

    #[test]
    fn a_point_of_the_series_has_the_mean_of_its_samples() {
        let (log, mut points) =
            (log(), vec![SeriesPoint { t_s: 1e6, interval_s: 1e6, ..SeriesPoint::default() }]);
        log.spread(&mut points);
        let expected = [("IO", 4.0 / 3.0), ("LWLock", 1.0 / 3.0)];
        let found: Vec<_> = points[0].sessions.iter().collect();
        assert!(
            found.iter().zip(expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9),
            "{found:?}"
        );
    }

    #[test]
    fn a_day_of_a_thousand_threads_is_kept_in_little_memory_and_its_whole_is_known() {
        let mut readings = Readings::default();
        let reading = |t_s: f64, thread: u32| {
            let (ns, ticks) = ((t_s * 5e8) as u64, (t_s * 50.0) as u64);
            let (on_ns, queued_ns, user_ticks, kernel_ticks) = (ns, 0, ticks, 0);
            let time = ThreadTime { thread, on_ns, queued_ns, user_ticks, kernel_ticks };
            ThreadReading { t_s, at_s: t_s, time }
        };
        // 64 threads at a look, in turn.
        let looks: Vec<f64> = (0..86_400 / 4).map(|look| f64::from(look) * 4.0).collect();
        for (at, t_s) in looks.iter().enumerate() {
            let threads = (0..64).map(|one| ((at * 64 + one) % 1_000) as u32);
            threads.for_each(|thread| readings.add(reading(*t_s, thread)));
        }
        assert!(readings.kept.len() <= MAX_READINGS, "{}", readings.kept.len());
        assert!(readings.period_s > PERIOD_S);
        let between = |from_s, to_s| {
            let kept = readings.between(from_s, to_s);
            let kept = kept.map(|one| (one.at_s, std::slice::from_ref(&one.time)));
            ProcessorTime::between(kept).unwrap()
        };
        let all = between(-1.0, 1e6);
        assert!((all.user_s / all.of_s - 0.5).abs() < 0.001, "{all:?}");
        assert!(all.of_s > 0.99 * 1_000.0 * 86_000.0, "{all:?}");
        let hour = between(7_200.0, 10_800.0);
        assert!((hour.user_s / hour.of_s - 0.5).abs() < 0.001, "{hour:?}");
    }

    #[test]
    fn the_first_and_the_last_reading_of_a_second_are_kept() {
        let mut readings = Readings::default();
        for (t_s, thread) in [(0.1, 1), (0.2, 2), (0.5, 1), (0.9, 1), (1.1, 1), (1.2, 2), (1.3, 1)]
        {
            let time = ThreadTime { thread, ..ThreadTime::default() };
            readings.add(ThreadReading { t_s, at_s: t_s, time });
        }
        let kept = |from_s, to_s| -> Vec<(f64, u32)> {
            readings.between(from_s, to_s).map(|one| (one.t_s, one.time.thread)).collect()
        };
        assert_eq!(kept(0.0, 1.0), [(0.1, 1), (0.2, 2), (0.9, 1)]);
        assert_eq!(kept(1.0, 9.0), [(1.1, 1), (1.2, 2), (1.3, 1)]);
    }

    #[test]
    fn a_test_that_never_began_has_no_samples() {
        let gate = Gate::new(1);
        gate.stop();
        let (_test, ended) = std::sync::mpsc::channel();
        let log = sample(
            &mut Listed(Vec::new().into_iter()),
            &gate,
            &|| JobSessions::from([(String::new(), vec![7])]),
            &ended,
        );
        assert_eq!(log.waits(0.0, 1.0).unwrap().samples, 0);
        assert_eq!(SessionLog::default().waits(0.0, 1.0), None);
    }
}
