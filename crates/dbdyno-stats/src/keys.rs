//! The key generator: a Lehmer (Park-Miller) generator, the same on every engine and in every
//! drive.
//!
//! state' = state * 48271 mod (2^31 - 1); a key in 1..=n is 1 + (state * n >> 31). In SQL this is
//! plain 63-bit integer arithmetic, so that a routine inside a database and dbdyno's own loop draw
//! the same keys from the same seed. Source: S. K. Park, K. W. Miller, P. K. Stockmeyer, "Remarks
//! on choosing and implementing random number generators", CACM 36 (1993), multiplier 48271.
//!
//! All streams are parts of one circle of 2^31 - 2 states. Where the streams of a test begin is a
//! hash of its seed; from there on those of its jobs follow at a fixed distance, the golden section
//! of the circle, so that no two lie close together. See
//! docs/decisions/0026-keys-of-tests-and-jobs.md.

/// 2^31 - 1, a Mersenne prime.
pub const MODULUS: u64 = 2_147_483_647;
/// The multiplier.
pub const MULTIPLIER: u64 = 48_271;
/// Draws from the first state of a job to that of the next: the golden section of the circle of
/// 2^31 - 2 states. Among n multiples of it the two nearest are at least 0.38 circles / n apart
/// (the three-distance theorem). Equal parts of the circle would not do: streams half a circle
/// apart are each other's mirror image, since 48271^(2^30 - 1) = -1 (A. De Matteis, S. Pagnutti,
/// "Parallelization of random number generators and long-range correlations", Numer. Math. 53,
/// 1988).
const JOB_STEP: u64 = 1_327_217_884;

/// A stream of keys of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStream(u64);

impl KeyStream {
    /// The stream of `job` (1..) of a test with this seed: streams of different jobs start far
    /// apart.
    pub fn for_job(seed: u64, job: u32) -> Self {
        let first = 1 + splitmix(seed) % (MODULUS - 1);
        KeyStream(first).ahead(u64::from(job) * JOB_STEP % (MODULUS - 1))
    }
    /// Factor from the first state of a job to that of the next: state' = state * this mod (2^31 -
    /// 1). For callers that place the jobs themselves.
    pub fn job_factor() -> u64 {
        KeyStream(1).ahead(JOB_STEP).state()
    }
    /// A stream that begins where the hash of both numbers says: for draws that are few, as those
    /// of an order.
    pub fn numbered(seed: u64, number: u32) -> Self {
        let mixed = splitmix(seed ^ (u64::from(number) << 32));
        KeyStream(1 + mixed % (MODULUS - 1))
    }
    /// The stream after this many draws.
    fn ahead(self, draws: u64) -> Self {
        let (mut state, mut power, mut left) = (self.0, MULTIPLIER, draws);
        while left > 0 {
            if left % 2 == 1 {
                state = state * power % MODULUS;
            }
            power = power * power % MODULUS;
            left /= 2;
        }
        KeyStream(state)
    }
    /// Stream from a state that a routine returned.
    pub fn from_state(state: u64) -> Self {
        KeyStream(state.clamp(1, MODULUS - 1))
    }
    /// The current state, to hand to a routine.
    pub fn state(&self) -> u64 {
        self.0
    }
    /// Advances and returns the state: 1..MODULUS-1.
    #[inline]
    pub fn step(&mut self) -> u64 {
        self.0 = self.0 * MULTIPLIER % MODULUS;
        self.0
    }
    /// Advances and returns a key in 1..=n (n up to 2^32).
    #[inline]
    pub fn key(&mut self, n: u64) -> u64 {
        1 + ((self.step() * n) >> 31)
    }
}

/// The seed of test number `draw` under the run's seed: below 2^31, so that every format holds it
/// as a number.
pub fn test_seed(run_seed: u64, draw: u64) -> u64 {
    splitmix(splitmix(run_seed) ^ draw) % MODULUS
}

/// Number of a test that is identified by what it does: a hash of these words.
pub fn draw_of(what: &str) -> u64 {
    what.bytes().fold(0, |hash, byte| splitmix(hash ^ u64::from(byte)))
}

/// The finaliser of SplitMix64: spreads neighboring seeds.
fn splitmix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_minstd() {
        // std::minstd_rand: the 10000th value from seed 1 is 399268537 (C++ standard,
        // [rand.predef]).
        let mut keys = KeyStream::from_state(1);
        let last = (0..10_000).map(|_| keys.step()).last();
        assert_eq!(last, Some(399_268_537));
    }

    #[test]
    fn keys_cover_their_range_evenly() {
        let mut keys = KeyStream::for_job(42, 1);
        let mut seen = vec![0u32; 10];
        (0..100_000).for_each(|_| seen[keys.key(10) as usize - 1] += 1);
        assert!(seen.iter().all(|&count| (9_500..10_500).contains(&count)), "{seen:?}");
    }

    #[test]
    fn a_stream_ahead_is_where_as_many_draws_lead() {
        let mut keys = KeyStream::from_state(12_345);
        for draws in 0..2_000 {
            assert_eq!(KeyStream::from_state(12_345).ahead(draws), keys, "{draws}");
            keys.step();
        }
        // Once around, and half of it: the mirror image.
        assert_eq!(KeyStream(5).ahead(MODULUS - 1), KeyStream(5));
        assert_eq!(KeyStream(5).ahead((MODULUS - 1) / 2), KeyStream(MODULUS - 5));
    }

    /// Draws that lead from state 1 to each of these states.
    fn positions(states: &[u64]) -> Vec<u64> {
        // Baby steps and giant steps (D. Shanks): i * 2^20 + j with 48271^j = state * inverse^i.
        const BABY: u64 = 1 << 20;
        let mut walk = KeyStream(1);
        let mut babies = std::collections::HashMap::new();
        for draws in 0..BABY {
            babies.entry(walk.state()).or_insert(draws);
            walk.step();
        }
        let back = KeyStream(1).ahead(MODULUS - 1 - BABY).state();
        let place = |&state: &u64| {
            let (mut at, mut giants) = (state, 0);
            while !babies.contains_key(&at) {
                at = at * back % MODULUS;
                giants += 1;
            }
            giants * BABY + babies[&at]
        };
        states.iter().map(place).collect()
    }

    #[test]
    fn the_streams_of_up_to_1024_jobs_begin_far_apart() {
        let starts: Vec<u64> = (1..=1024).map(|job| KeyStream::for_job(42, job).state()).collect();
        let places = positions(&starts);
        for jobs in [2, 3, 16, 256, 1024] {
            let mut places = places[..jobs].to_vec();
            places.sort_unstable();
            let around = places[0] + MODULUS - 1 - places[jobs - 1];
            let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).chain([around]);
            let nearest = gaps.min().unwrap();
            assert!(nearest > 38 * (MODULUS - 1) / 100 / jobs as u64, "{jobs} jobs: {nearest}");
        }
    }

    /// Length of the shortest pair of whole numbers (u, v), not both 0, with u + v * ratio = 0
    /// modulo 2^31 - 1 (by C. F. Gauss' reduction). It limits the number of lines on which the
    /// pairs lie that two streams draw at the same time, if their states have this ratio.
    fn shortest_relation(ratio: u64) -> f64 {
        let (modulus, ratio) = (i128::from(MODULUS), i128::from(ratio));
        let (mut long, mut short) = ([modulus, 0], [modulus - ratio, 1]);
        let norm = |v: [i128; 2]| v[0] * v[0] + v[1] * v[1];
        loop {
            let dot = long[0] * short[0] + long[1] * short[1];
            let times = (dot as f64 / norm(short) as f64).round() as i128;
            let rest = [long[0] - times * short[0], long[1] - times * short[1]];
            if norm(rest) >= norm(short) {
                return (norm(short) as f64).sqrt();
            }
            (long, short) = (short, rest);
        }
    }

    #[test]
    fn what_two_jobs_draw_at_the_same_time_is_not_related() {
        assert!(shortest_relation(MODULUS - 1) < 1.5, "a mirror image is seen");
        for between in 1..1024 {
            let ratio = KeyStream(1).ahead(between * JOB_STEP % (MODULUS - 1)).state();
            let lines = shortest_relation(ratio);
            assert!(lines > 1000.0, "{between} jobs apart: {lines}");
        }
    }

    #[test]
    fn tests_have_seeds_of_their_own_that_the_run_gives() {
        let seeds: std::collections::BTreeSet<u64> = (0..1000).map(|n| test_seed(42, n)).collect();
        assert_eq!(seeds.len(), 1000);
        assert!(seeds.iter().all(|seed| *seed < 1 << 31));
        assert_ne!(test_seed(42, 1), test_seed(43, 1));
        assert_eq!(test_seed(42, 1), test_seed(42, 1));
    }
}
