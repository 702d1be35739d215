//! Processor time of the sessions of a test, as the kernel counted it: exact where samples of short
//! waits are not.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts of the kernel for a thread, or for a process with one thread, so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Kernel number of the thread.
    pub thread: u32,
    /// CPU time, in ns.
    pub on_ns: u64,
    /// Time in the run queue, in ns.
    pub queued_ns: u64,
    /// CPU time in user mode and, below, in kernel mode, in clock ticks.
    pub user_ticks: u64,
    /// CPU time in kernel mode, in clock ticks.
    pub kernel_ticks: u64,
}

/// CPU time and run queue time of the job sessions, in seconds of all of them together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorTime {
    /// Time that was counted: of each session from its first to its last reading in the window.
    pub of_s: f64,
    /// CPU time in user mode, in s.
    pub user_s: f64,
    /// CPU time in the kernel, in s.
    pub kernel_s: f64,
    /// Time in the run queue, in s.
    pub queued_s: f64,
}

/// A reading of a thread and when it was read.
#[derive(Debug, Clone, Copy)]
struct SnapshotPoint {
    at_s: f64,
    time: ThreadTime,
}

impl ProcessorTime {
    /// CPU time between the first and the last of these readings, which are in order, each with its
    /// time in s. None if the kernel counts nothing or no thread was read twice.
    pub fn between<'a>(
        readings: impl IntoIterator<Item = (f64, &'a [ThreadTime])>,
    ) -> Option<ProcessorTime> {
        let mut spans: BTreeMap<u32, [SnapshotPoint; 2]> = BTreeMap::new();
        for (at_s, times) in readings {
            for &time in times {
                let now = SnapshotPoint { at_s, time };
                let [first, last] = spans.entry(time.thread).or_insert([now; 2]);
                // A number that is used again counts from its new beginning.
                if time.on_ns < last.time.on_ns {
                    *first = now;
                }
                *last = now;
            }
        }
        let mut sum = ProcessorTime::default();
        spans.values().for_each(|[first, last]| sum.add(first, last));
        // The sampler may be held up between a reading and the clock: no thread was busy for longer
        // than the time between.
        sum.of_s = sum.of_s.max(sum.user_s + sum.kernel_s + sum.queued_s);
        (sum.of_s > 0.0 && sum.user_s + sum.kernel_s > 0.0).then_some(sum)
    }

    fn add(&mut self, from: &SnapshotPoint, to: &SnapshotPoint) {
        let grown = |of: fn(&ThreadTime) -> u64| of(&to.time).saturating_sub(of(&from.time)) as f64;
        let on_s = grown(|time| time.on_ns) / 1e9;
        let (user, kernel) = (grown(|time| time.user_ticks), grown(|time| time.kernel_ticks));
        let kernel_s = if user + kernel > 0.0 { on_s * kernel / (user + kernel) } else { 0.0 };
        self.of_s += to.at_s - from.at_s;
        self.user_s += on_s - kernel_s;
        self.kernel_s += kernel_s;
        self.queued_s += grown(|time| time.queued_ns) / 1e9;
    }

    /// Share of the time on a processor or waiting for one.
    pub fn share(&self) -> f64 {
        (self.user_s + self.kernel_s + self.queued_s) / self.of_s
    }
}

/// Weights of the samples of job sessions. If the kernel counted their CPU time, that is the weight
/// of those at work, and the others share the rest: in a thread with thousands of short waits a
/// second, samples see too much work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Weight of all sightings at work together, in sightings.
    pub at_work: f64,
    /// Weight of each other sighting.
    pub other: f64,
}

impl Weights {
    /// Weights of `sightings`, of which `at_work` were at work.
    pub fn new(sightings: f64, at_work: f64, processors: Option<&ProcessorTime>) -> Weights {
        let Some(share) = processors.map(ProcessorTime::share) else {
            return Weights { at_work, other: 1.0 };
        };
        let waiting = sightings - at_work;
        let other = if waiting > 0.0 { (1.0 - share) * sightings / waiting } else { 0.0 };
        Weights { at_work: share * sightings, other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(thread: u32, [on_ns, queued_ns, user_ticks, kernel_ticks]: [u64; 4]) -> ThreadTime {
        ThreadTime { thread, on_ns, queued_ns, user_ticks, kernel_ticks }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn each_thread_counts_from_its_first_to_its_last_reading() {
        let first = [time(7, [5 * S, S, 100, 400]), time(8, [0; 4])];
        let last = [time(7, [7 * S, 2 * S, 150, 550])];
        let readings = [(1.0, first.as_slice()), (3.0, &[time(8, [S, 0, 100, 0])]), (5.0, &last)];
        let found = ProcessorTime::between(readings).unwrap();
        assert_eq!(found, ProcessorTime { of_s: 6.0, user_s: 1.5, kernel_s: 1.5, queued_s: 1.0 });
        assert!((found.share() - 4.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_number_that_another_thread_got_counts_from_there() {
        let readings = [
            (0.0, [time(7, [9 * S, 0, 1, 1])]),
            (1.0, [time(7, [0, 0, 0, 0])]),
            (3.0, [time(7, [S, 0, 10, 0])]),
        ];
        let found =
            ProcessorTime::between(readings.iter().map(|(at_s, times)| (*at_s, times.as_slice())))
                .unwrap();
        assert_eq!((found.of_s, found.user_s, found.kernel_s), (2.0, 1.0, 0.0));
        let late = [(1.0, [time(7, [0; 4])]), (1.5, [time(7, [S, 0, 10, 0])])];
        let found =
            ProcessorTime::between(late.iter().map(|(at_s, times)| (*at_s, times.as_slice())))
                .unwrap();
        assert_eq!((found.of_s, found.share()), (1.0, 1.0));
    }

    #[test]
    fn what_the_kernel_counted_is_at_work_and_the_waits_share_the_rest() {
        let processors = ProcessorTime { of_s: 10.0, user_s: 1.0, kernel_s: 3.0, queued_s: 1.0 };
        let of = |sightings, at_work| Weights::new(sightings, at_work, Some(&processors));
        assert_eq!(of(100.0, 75.0), Weights { at_work: 50.0, other: 2.0 });
        assert_eq!(of(100.0, 0.0), Weights { at_work: 50.0, other: 0.5 });
        assert_eq!(
            of(100.0, 100.0),
            Weights { at_work: 50.0, other: 0.0 },
            "waits that no sample saw"
        );
        assert_eq!(Weights::new(100.0, 75.0, None), Weights { at_work: 75.0, other: 1.0 });
    }

    #[test]
    fn a_kernel_that_counts_nothing_tells_nothing() {
        let idle = [time(7, [0; 4])];
        assert_eq!(ProcessorTime::between([(0.0, idle.as_slice()), (1.0, &idle)]), None);
        assert_eq!(ProcessorTime::between([(0.0, [time(7, [S, 0, 1, 1])].as_slice())]), None);
    }
}
