//! Skewed keys: distributions by which some keys are drawn more often than others, in closed form,
//! so that a routine inside a database and dbdyno's own loop draw the same keys from the same
//! states of the key generator.
//!
//! Zipf's law by the inverse of the integral of `x^-theta` over `[0.5, n + 0.5]`: one step of the
//! generator and one power per key, no sum over all keys and no table, any exponent but 1. What is
//! drawn has a known law of its own, [`SkewedKeys::probability`], which differs from Zipf's by less
//! than 1 % of the draws. Why this and not the generators of other tools:
//! docs/decisions/0038-skewed-keys.md.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::keys::MODULUS;

/// Maximum number of keys that can be skewed: the generator has no more states to distinguish them.
const MAX_KEYS: u64 = 1 << 31;
/// Golden section: the part of the table by which neighboring ranks are apart.
const SCATTER: (u64, u64) = (618_033_989, 1_000_000_000);

/// Distribution of the ranks that are drawn; as text `uniform`, `zipf-0.99`, `hot-80-20`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KeyLaw {
    /// Every key is equally likely.
    Uniform,
    /// The exponent of rank in hundredths.
    Zipf {
        /// Exponent times 100: 99 for `zipf-0.99`.
        hundredths: u32,
    },
    /// Skew of two parts: this share of the draws, in per cent, goes to that share of the keys,
    /// evenly within both parts.
    Hot {
        /// Percentage of the draws that go to the hot keys.
        draws_pct: u32,
        /// Percentage of the keys that are hot.
        keys_pct: u32,
    },
}

impl FromStr for KeyLaw {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let law = match text.split_once('-') {
            None if text == "uniform" => Some(KeyLaw::Uniform),
            Some(("zipf", exponent)) => zipf(exponent),
            Some(("hot", shares)) => hot(shares),
            _ => None,
        };
        law.filter(|law| law.to_string() == text).ok_or_else(|| {
            format!(
                "'{text}' is no law of keys: uniform, zipf-EXPONENT (from 0.01 to 1.99 but 1), \
                 hot-PERCENT_OF_DRAWS-PERCENT_OF_KEYS (from 1 to 99)"
            )
        })
    }
}

fn zipf(exponent: &str) -> Option<KeyLaw> {
    let hundredths = (exponent.parse::<f64>().ok()? * 100.0).round();
    let fits = (1.0..200.0).contains(&hundredths) && hundredths != 100.0;
    fits.then_some(KeyLaw::Zipf { hundredths: hundredths as u32 })
}

fn hot(shares: &str) -> Option<KeyLaw> {
    let (draws, keys) = shares.split_once('-')?;
    let percent =
        |text: &str| text.parse::<u32>().ok().filter(|percent| (1..100).contains(percent));
    Some(KeyLaw::Hot { draws_pct: percent(draws)?, keys_pct: percent(keys)? })
}

impl fmt::Display for KeyLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyLaw::Uniform => f.write_str("uniform"),
            KeyLaw::Zipf { hundredths } => write!(f, "zipf-{}", exponent(*hundredths)),
            KeyLaw::Hot { draws_pct, keys_pct } => write!(f, "hot-{draws_pct}-{keys_pct}"),
        }
    }
}

/// Hundredths as the number that they are.
fn exponent(hundredths: u32) -> f64 {
    f64::from(hundredths) / 100.0
}

impl TryFrom<String> for KeyLaw {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<KeyLaw> for String {
    fn from(law: KeyLaw) -> String {
        law.to_string()
    }
}

/// Placement of the keys of adjacent ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Far from one another: each hot row in a block of its own.
    #[default]
    Scattered,
    /// Beside one another: the key is the rank.
    Adjacent,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Scattered => "scattered",
            Place::Adjacent => "adjacent",
        })
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "scattered" => Ok(Place::Scattered),
            "adjacent" => Ok(Place::Adjacent),
            other => Err(format!("'{other}' is no place of keys: scattered, adjacent")),
        }
    }
}

/// Keys in `1..=keys` by a law, ready to be drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkewedKeys {
    keys: u64,
    ranks: Ranks,
    /// Factor of a rank, modulo the number of keys; none if the key is the rank.
    scatter: Option<u64>,
}

/// The closed form that turns a state of the generator into a rank, with its constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ranks {
    /// `1 + (state * keys >> 31)`.
    Uniform,
    /// `floor(power(lowest + state * step, exponent) + 0.5)`.
    Zipf {
        /// Base of the power at state 0.
        lowest: f64,
        /// Growth of the base per state.
        step: f64,
        /// Exponent of the power.
        exponent: f64,
    },
    /// `1 + state * hot / below` below that state, else the same of the rest of both.
    Hot {
        /// State from which on the other keys are drawn.
        below: u64,
        /// Number of the hot keys.
        hot: u64,
    },
}

impl SkewedKeys {
    /// The keys in `1..=keys` by `law`, at `place`.
    ///
    /// # Errors
    /// Fewer than 2 or more than 2^31 keys.
    pub fn new(keys: u64, law: KeyLaw, place: Place) -> Result<Self, String> {
        if !(2..=MAX_KEYS).contains(&keys) {
            return Err(format!("{law} takes 2 to 2^31 keys, not {keys}"));
        }
        let ranks = match law {
            KeyLaw::Uniform => Ranks::Uniform,
            KeyLaw::Zipf { hundredths } => {
                let rest = 1.0 - exponent(hundredths);
                let lowest = 0.5_f64.powf(rest);
                let highest = (keys as f64 + 0.5).powf(rest);
                let step = (highest - lowest) / MODULUS as f64;
                Ranks::Zipf { lowest, step, exponent: 1.0 / rest }
            }
            KeyLaw::Hot { draws_pct, keys_pct } => Ranks::Hot {
                below: u64::from(draws_pct) * MODULUS / 100,
                hot: (keys * u64::from(keys_pct) / 100).max(1),
            },
        };
        let is_scattered = law != KeyLaw::Uniform && place == Place::Scattered;
        Ok(SkewedKeys { keys, ranks, scatter: is_scattered.then(|| factor(keys)) })
    }

    /// The number of keys.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The closed form of the ranks.
    pub fn ranks(&self) -> Ranks {
        self.ranks
    }

    /// Factor that scatters ranks: `1 + rank * this mod keys` is the key.
    pub fn scatter(&self) -> Option<u64> {
        self.scatter
    }

    /// The rank that a state of the generator (1..MODULUS-1) stands for: 1 is the most frequent.
    #[inline]
    pub fn rank(&self, state: u64) -> u64 {
        match self.ranks {
            Ranks::Uniform => 1 + ((state * self.keys) >> 31),
            Ranks::Zipf { lowest, step, exponent } => {
                ((lowest + state as f64 * step).powf(exponent) + 0.5).floor() as u64
            }
            Ranks::Hot { below, hot } if state < below => 1 + state * hot / below,
            Ranks::Hot { below, hot } => {
                1 + hot + (state - below) * (self.keys - hot) / (MODULUS - below)
            }
        }
    }

    /// The key that a state stands for.
    #[inline]
    pub fn key(&self, state: u64) -> u64 {
        let rank = self.rank(state);
        self.scatter.map_or(rank, |factor| 1 + rank * factor % self.keys)
    }

    /// The key of a rank.
    pub fn key_of_rank(&self, rank: u64) -> u64 {
        self.scatter.map_or(rank, |factor| 1 + rank * factor % self.keys)
    }

    /// The probability that a draw is of this rank.
    pub fn probability(&self, rank: u64) -> f64 {
        let rank = rank as f64;
        match self.ranks {
            Ranks::Uniform => 1.0 / self.keys as f64,
            Ranks::Zipf { lowest, step, exponent } => {
                let to = |x: f64| x.powf(1.0 / exponent);
                (to(rank + 0.5) - if rank > 1.0 { to(rank - 0.5) } else { lowest })
                    / (step * MODULUS as f64)
            }
            Ranks::Hot { below, hot } => {
                let share = below as f64 / MODULUS as f64;
                if rank <= hot as f64 {
                    share / hot as f64
                } else {
                    (1.0 - share) / (self.keys - hot) as f64
                }
            }
        }
    }
}

/// An odd number about 0.618 of `keys` that has no divisor with it: multiplied with it modulo
/// `keys`, every rank has a key of its own.
fn factor(keys: u64) -> u64 {
    let first = (keys * SCATTER.0 / SCATTER.1) | 1;
    (first..).step_by(2).find(|factor| divisor(*factor, keys) == 1).unwrap_or(1)
}

/// The greatest common divisor (Euclid).
fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyStream;

    /// Rows of the small table at 1 GB.
    const ROWS: u64 = 31_250;
    const LAWS: [&str; 3] = ["zipf-0.8", "zipf-0.99", "hot-80-20"];

    fn keys(rows: u64, law: &str, place: Place) -> SkewedKeys {
        SkewedKeys::new(rows, law.parse().unwrap(), place).unwrap()
    }

    /// The hash by which draws are compared with those of databases and of other programs.
    fn hash(keys: &SkewedKeys, draws: usize) -> u64 {
        let mut stream = KeyStream::from_state(1);
        (0..draws).fold(0, |hash, _| (hash * 31 + keys.key(stream.step())) % 1_000_000_007)
    }

    #[test]
    fn keys_are_those_of_an_independent_implementation() {
        let zipf = keys(ROWS, "zipf-0.99", Place::Adjacent);
        let mut stream = KeyStream::from_state(1);
        let first: Vec<u64> = (0..8).map(|_| zipf.key(stream.step())).collect();
        assert_eq!(first, [1, 1, 443, 9998, 22342, 4, 172, 47]);
        // Of tests/vectors/skewed_keys.py.
        let vectors = include_str!("../../../tests/vectors/skewed_keys.csv");
        let mut seen = 0;
        for line in vectors.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let (law, place) = (fields[0], fields[1].parse().unwrap());
            let (rows, draws) = (fields[2].parse().unwrap(), fields[3].parse().unwrap());
            assert_eq!(hash(&keys(rows, law, place), draws).to_string(), fields[4], "{line}");
            seen += 1;
        }
        assert!(seen >= 12, "{seen} vectors");
    }

    #[test]
    fn every_rank_has_a_key_of_its_own_and_hot_ones_lie_apart() {
        for rows in [2, 3, 8, 1000, ROWS, 100_003] {
            let scattered = keys(rows, "zipf-0.99", Place::Scattered);
            let mut all: Vec<u64> = (1..=rows).map(|rank| scattered.key_of_rank(rank)).collect();
            let hottest: Vec<u64> = all.iter().take(8).copied().collect();
            all.sort_unstable();
            assert!(all.iter().copied().eq(1..=rows), "{rows}");
            if rows >= 1000 {
                let mut near = hottest.clone();
                near.sort_unstable();
                let least = near.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
                assert!(least > rows / 32, "{rows}: {hottest:?}");
            }
        }
    }

    #[test]
    fn the_outermost_states_stay_within_the_keys() {
        for law in ["zipf-0.01", "zipf-0.8", "zipf-0.99", "zipf-1.2", "hot-80-20"] {
            for rows in [2, 3, 250, ROWS, 1_000_000_000, MAX_KEYS] {
                let adjacent = keys(rows, law, Place::Adjacent);
                assert_eq!(adjacent.rank(1), 1, "{law} {rows}");
                let last = adjacent.rank(MODULUS - 1);
                assert!(last <= rows && last > rows / 2, "{law} {rows}: {last}");
            }
        }
    }

    #[test]
    fn draws_follow_the_law_that_is_stated() {
        const DRAWS: u64 = 1_000_000;
        for law in LAWS {
            let adjacent = keys(ROWS, law, Place::Adjacent);
            let all: f64 = (1..=ROWS).map(|rank| adjacent.probability(rank)).sum();
            assert!((all - 1.0).abs() < 1e-9, "{law}: {all}");
            let mut counts = vec![0u32; ROWS as usize];
            let mut stream = KeyStream::for_job(42, 1);
            (0..DRAWS).for_each(|_| counts[adjacent.key(stream.step()) as usize - 1] += 1);
            let z = chi_square_z(&adjacent, &counts, DRAWS);
            assert!(z.abs() < 4.0, "{law}: {z} standard deviations");
            // The check can see: uniform draws are not of this law.
            let other = keys(ROWS, "uniform", Place::Adjacent);
            assert!(chi_square_z(&other, &counts, DRAWS).abs() > 100.0);
        }
    }

    /// Standard deviations of chi-square from its mean.
    fn chi_square_z(keys: &SkewedKeys, counts: &[u32], draws: u64) -> f64 {
        let term = |(at, count): (usize, &u32)| {
            let expected = keys.probability(at as u64 + 1) * draws as f64;
            (f64::from(*count) - expected).powi(2) / expected
        };
        let chi: f64 = counts.iter().enumerate().map(term).sum();
        let free = counts.len() as f64 - 1.0;
        (chi - free) / (2.0 * free).sqrt()
    }

    #[test]
    fn the_law_is_near_that_of_zipf_and_without_exponent_nearly_uniform() {
        let closed = keys(ROWS, "zipf-0.99", Place::Adjacent);
        let weights: Vec<f64> = (1..=ROWS).map(|rank| (rank as f64).powf(-0.99)).collect();
        let sum: f64 = weights.iter().sum();
        let apart = weights
            .iter()
            .zip(1..)
            .map(|(weight, rank)| (weight / sum - closed.probability(rank)).abs());
        let variation = apart.sum::<f64>() / 2.0;
        assert!((0.0075..0.0085).contains(&variation), "{variation}");
        assert!((closed.probability(1) - 0.0946).abs() < 5e-5);
        let flat = keys(1000, "zipf-0.01", Place::Adjacent);
        assert!((flat.probability(500) * 1000.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn laws_are_read_as_they_are_written() {
        for law in ["uniform", "zipf-0.8", "zipf-0.99", "zipf-1.2", "hot-80-20"] {
            assert_eq!(law.parse::<KeyLaw>().unwrap().to_string(), law);
            let json = serde_json::to_string(&law.parse::<KeyLaw>().unwrap()).unwrap();
            assert_eq!(json, format!("\"{law}\""));
        }
        for wrong in [
            "",
            "zipf",
            "zipf-1",
            "zipf-0.801",
            "zipf-x",
            "zipf-2",
            "hot-80",
            "hot-0-20",
            "hot-80-100",
        ] {
            let refused = wrong.parse::<KeyLaw>().unwrap_err();
            assert!(refused.contains("is no law of keys"), "{refused}");
        }
        assert!(SkewedKeys::new(1, KeyLaw::Uniform, Place::Adjacent).is_err());
        assert!("near".parse::<Place>().unwrap_err().contains("scattered, adjacent"));
    }
}
