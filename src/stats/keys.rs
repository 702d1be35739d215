//! The key generator: a Lehmer (Park-Miller) generator, the same on every engine and in every
//! drive.
//!
//! state' = state * 48271 mod (2^31 - 1); a key in 1..=n is 1 + (state * n >> 31). In SQL this is
//! plain 63-bit integer arithmetic, so a routine inside a database and our own loop draw the same
//! keys from the same seed. Source: S. K. Park, K. W. Miller, P. K. Stockmeyer, "Remarks on
//! choosing and implementing random number generators", CACM 36 (1993), multiplier 48271.

/// 2^31 - 1, a Mersenne prime.
pub const MODULUS: u64 = 2_147_483_647;
/// The multiplier.
pub const MULTIPLIER: u64 = 48_271;

/// A stream of keys of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStream(u64);

impl KeyStream {
    /// The stream of `job` (1..) under the run's seed: streams of different jobs start far apart.
    pub fn for_job(seed: u64, job: u32) -> Self {
        let mixed = splitmix(seed ^ (u64::from(job) << 32));
        KeyStream(1 + mixed % (MODULUS - 1))
    }
    /// From a state, as a routine returned it.
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

/// The finaliser of SplitMix64: spreads neighbouring seeds.
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
    fn jobs_have_different_streams() {
        assert_ne!(KeyStream::for_job(42, 1), KeyStream::for_job(42, 2));
    }
}
