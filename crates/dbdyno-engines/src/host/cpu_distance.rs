//! The time that a cache line takes from one CPU to another and back. A hypervisor places the
//! virtual CPUs of a machine on cores that share a cache, or not, and moves them within seconds;
//! steal time, frequency and fixed pieces of work on one CPU do not show it. Jobs that write to the
//! same lines, as those of the latches of a database's cache, are as fast as these lines travel.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::placement::{keep_thread_on, usable_processors};

/// CPUs that take part, spread over all that we may use; each pair of neighbors among them is
/// measured.
const MOST_CPUS: usize = 4;
/// Batches of a pair, of which the median counts, after one that only shows that both threads run.
const BATCHES: u32 = 15;
/// Round trips of a batch: some microseconds.
const TRIPS_OF_BATCH: u32 = 20;
/// A pair is given up after this time: something else runs on one of its CPUs.
const PATIENCE: Duration = Duration::from_millis(5);
/// Looks at the line between two looks at the clock.
const LOOKS: u32 = 1000;

/// Round trips of a cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineTrips {
    /// Pairs of CPUs, one trip of each.
    pub trips: u64,
    /// Sum of their times, in s.
    pub elapsed_s: f64,
}

/// A value in a cache line of its own, also where the processor fetches two at a time.
#[repr(align(128))]
struct Line(AtomicU32);

impl Line {
    /// Waits until the line holds `value`; false if that takes too long.
    fn wait_for(&self, value: u32, until: Instant) -> bool {
        loop {
            for _ in 0..LOOKS {
                if self.0.load(Ordering::Acquire) == value {
                    return true;
                }
            }
            if Instant::now() > until {
                return false;
            }
        }
    }
}

/// Measures some pairs of CPUs, in less than a millisecond where they are idle; none where we may
/// use one CPU only, or something else kept every pair from running.
pub fn line_trips() -> Option<LineTrips> {
    let cpus = usable_processors().ok()?;
    let times: Vec<f64> =
        pairs(&cpus).into_iter().filter_map(|[asks, answers]| trip_s(asks, answers)).collect();
    let trips = times.len() as u64;
    (trips > 0).then(|| LineTrips { trips, elapsed_s: times.iter().sum() })
}

/// Neighbors on a ring of some of these CPUs; of two the only pair.
fn pairs(cpus: &[usize]) -> Vec<[usize; 2]> {
    let count = cpus.len().min(MOST_CPUS);
    let ring: Vec<usize> = (0..count).map(|at| cpus[at * cpus.len() / count]).collect();
    match count {
        0 | 1 => Vec::new(),
        2 => vec![[ring[0], ring[1]]],
        _ => (0..count).map(|at| [ring[at], ring[(at + 1) % count]]).collect(),
    }
}

/// Seconds of a round trip between two CPUs.
fn trip_s(asks: usize, answers: usize) -> Option<f64> {
    let (line, until) = (Line(AtomicU32::new(0)), Instant::now() + PATIENCE);
    let line = &line;
    std::thread::scope(|scope| {
        let spawn = std::thread::Builder::new;
        // If the second thread cannot be started, the first gives up by itself.
        let answering = spawn().spawn_scoped(scope, move || answer(answers, line, until)).ok()?;
        let asking = spawn().spawn_scoped(scope, move || ask(asks, line, until)).ok()?;
        let batches = asking.join().ok()??;
        answering.join().ok()??;
        median(batches)
    })
}

/// Sends the line out and waits for its return: seconds of a round trip, of each batch.
fn ask(cpu: usize, line: &Line, until: Instant) -> Option<Vec<f64>> {
    keep_thread_on(&[cpu]).ok()?;
    let mut batches = Vec::new();
    for batch in 0..=BATCHES {
        let began = Instant::now();
        for trip in 0..TRIPS_OF_BATCH {
            let sent = 2 * (batch * TRIPS_OF_BATCH + trip) + 1;
            line.0.store(sent, Ordering::Release);
            if !line.wait_for(sent + 1, until) {
                return None;
            }
        }
        batches.push(began.elapsed().as_secs_f64() / f64::from(TRIPS_OF_BATCH));
    }
    Some(batches.split_off(1))
}

/// Sends the line back each time.
fn answer(cpu: usize, line: &Line, until: Instant) -> Option<()> {
    keep_thread_on(&[cpu]).ok()?;
    for trip in 0..(BATCHES + 1) * TRIPS_OF_BATCH {
        if !line.wait_for(2 * trip + 1, until) {
            return None;
        }
        line.0.store(2 * trip + 2, Ordering::Release);
    }
    Some(())
}

fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_spread_over_the_cpus() {
        assert_eq!(pairs(&[3]), Vec::<[usize; 2]>::new());
        assert_eq!(pairs(&[0, 5]), [[0, 5]]);
        assert_eq!(pairs(&[1, 2, 3]), [[1, 2], [2, 3], [3, 1]]);
        let many: Vec<usize> = (0..64).collect();
        assert_eq!(pairs(&many), [[0, 16], [16, 32], [32, 48], [48, 0]]);
    }

    #[test]
    fn a_line_takes_a_time_that_only_travelling_explains() {
        // On a busy machine a pair may be given up; two CPUs are not always busy.
        let Some(found) = (0..1000).find_map(|_| line_trips()) else {
            let cpus = std::thread::available_parallelism().unwrap().get();
            assert_eq!(cpus, 1, "no trip between {cpus} CPUs");
            return;
        };
        let trip_s = found.elapsed_s / found.trips as f64;
        assert!(trip_s > 5e-9, "faster than a first level cache: {trip_s}");
    }

    #[test]
    fn who_waits_in_vain_gives_up() {
        let line = Line(AtomicU32::new(0));
        assert!(!line.wait_for(7, Instant::now()));
    }
}
