//! The fixed pieces of work, each timed by two clocks.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use crate::host::thread_cpu_s;

/// Rounds of the integer work: about 60 us on a processor of 2023. Without optimisation as long
/// with fewer.
const ROUNDS: u64 = if cfg!(debug_assertions) { 700 } else { 20_000 };
/// Steps of the walk through memory: about 50 us.
const STEPS: usize = if cfg!(debug_assertions) { 250 } else { 300 };
/// Lines of the buffer, 64 bytes each: more than a second level cache holds.
const LINES: usize = 1 << 18;
/// Tries, of which the fastest counts: the first ones fill caches and predictors.
const TRIES: usize = 5;
/// By how much wall clock and the thread's own clock may differ, as a fraction.
const CLOCKS_AGREE: f64 = 0.1;

/// Seconds of the integer work; none if it was interrupted.
pub(super) fn integers_s() -> Option<f64> {
    fastest_s(&mut (), |()| (), |()| integers())
}

/// Seconds of a walk through memory; none if it was interrupted.
pub(super) fn walk_s(walk: &mut Walk) -> Option<f64> {
    fastest_s(walk, Walk::forget, Walk::walk)
}

/// Independent chains keep all the integer units busy: a sibling on the same core takes from them,
/// a slower clock too.
pub(super) fn integers() {
    let mut chains = black_box([1_u64, 2, 3, 4, 5, 6, 7, 8]);
    for round in 0..ROUNDS {
        for (turn, chain) in (0..).zip(&mut chains) {
            *chain = (*chain ^ round.rotate_left(turn)).wrapping_add(*chain >> 3);
        }
    }
    black_box(chains);
}

/// A walk through memory, each step of which needs the one before.
#[derive(Clone)]
pub(super) struct Walk {
    next: Arc<[[u32; 16]]>,
    at: usize,
}

/// The line after this one: a congruence of full period (Knuth, 3.2.1.2), which no prefetcher
/// follows.
fn successor(line: usize) -> usize {
    (line.wrapping_mul(160_645) + 12_345) % LINES
}

impl Walk {
    /// True if [`Walk::forget`] can make every step one to memory: else what the caches hold
    /// decides how long a walk takes.
    pub const IS_COLD: bool = cfg!(target_arch = "x86_64");

    /// A buffer whose lines name their successors.
    pub fn new() -> Self {
        Walk { next: (0..LINES).map(|line| [successor(line) as u32; 16]).collect(), at: 0 }
    }

    /// Another walk through the same buffer, from this line on.
    pub fn from(&self, line: usize) -> Self {
        Walk { next: Arc::clone(&self.next), at: line % LINES }
    }

    /// Puts the lines of the next walk out of all caches, where the processor has an instruction
    /// for it.
    pub fn forget(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            let mut line = self.at;
            for _ in 0..STEPS {
                // SAFETY: the address is that of a line of the buffer; the instruction changes no
                // memory.
                unsafe { std::arch::x86_64::_mm_clflush(self.next[line].as_ptr().cast()) };
                line = successor(line);
            }
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        }
    }

    pub fn walk(&mut self) {
        for _ in 0..STEPS {
            self.at = self.next[self.at][0] as usize;
        }
        black_box(self.at);
    }
}

/// Seconds of the fastest of some tries, each after `prepare`; none if it was interrupted. The wall
/// clock alone would take waiting for slowness; the thread's clock alone errs on virtual machines,
/// where the kernel subtracts stolen time later.
pub(super) fn fastest_s<T>(on: &mut T, prepare: fn(&mut T), work: fn(&mut T)) -> Option<f64> {
    let mut timed = || {
        prepare(on);
        let (wall, cpu_s) = (Instant::now(), thread_cpu_s());
        work(on);
        let cpu_s = thread_cpu_s() - cpu_s;
        (wall.elapsed().as_secs_f64(), cpu_s)
    };
    let tries = (0..TRIES).map(|_| timed()).min_by(|a, b| a.0.total_cmp(&b.0));
    tries.and_then(|(wall_s, cpu_s)| agreed_s(wall_s, cpu_s))
}

fn agreed_s(wall_s: f64, cpu_s: f64) -> Option<f64> {
    ((wall_s / cpu_s - 1.0).abs() <= CLOCKS_AGREE).then_some(wall_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_piece_has_no_time() {
        assert_eq!(agreed_s(61e-6, 60e-6), Some(61e-6));
        assert_eq!(agreed_s(460e-6, 30e-6), None, "another program ran between");
        assert_eq!(
            agreed_s(17e-6, 9e-6),
            None,
            "the kernel took back time that the host had stolen before"
        );
        assert_eq!(agreed_s(1e-6, 0.0), None, "a clock that does not run");
    }

    #[test]
    fn the_walk_comes_to_every_line() {
        let mut walk = Walk::new().from(LINES + 7);
        walk.forget();
        assert_eq!(walk.at, 7, "nothing is walked");
        let mut seen = vec![false; LINES];
        for _ in 0..LINES {
            seen[walk.at] = true;
            walk.at = walk.next[walk.at][0] as usize;
        }
        assert!(seen.into_iter().all(|line| line));
    }
}
