//! Vectors of whole numbers and the truth about their neighbors, as pure functions of ids and a
//! seed: the same on every engine, and exact in 32-bit floats.
//!
//! With M = 2^31 - 1 and L(s) = s * 48271 mod M, the step of the key generator; divisions round
//! down:
//!
//! | value | formula |
//! |---|---|
//! | start(i, x) | h = (i * 1327217885 + 12345 + x) mod M; (h * h + i) mod M, 0 becomes 1 |
//! | slices(s) | sum of the 7-bit slices of s from bits 24, 17, 10 and 3, less 254 |
//! | bells(i, n, x) | s = L(start(i, x)), then n times s = L(s) and slices(s) |
//! | center | c = 1000 * L(L(start(i, seed + 7))) >> 31 |
//! | z | bells(c + 1, 32, seed + 1) + bells(i, 32, seed + 2) |
//! | row l of B | bells(l, 128, seed + 3), l = 1 to 32 |
//! | mix j | (sum over l of z_l * B_lj) / 968 + bells(i, 128, seed + 4)_j / 4 |
//! | component j | mix j, clipped to +-181 |
//!
//! 128 * (2 * 181)^2 is below 2^24: every squared distance is a whole number that a 32-bit float
//! holds, in whatever order it is summed up, so that the truth needs no tolerance. Rank 32 makes
//! neighbors hard to find, so that recall distinguishes settings; clusters of the usual kind are
//! found at once (docs/decisions).

use std::thread::Builder;

use serde::{Deserialize, Serialize};

use crate::keys::{MODULUS, MULTIPLIER};

/// Components of a vector.
pub const DIMENSION: usize = 128;
/// Rows of a group: `grp` is 1 to 100, so that `grp <= n` is n percent.
const GROUPS: u64 = 100;
const RANK: usize = 32;
const CENTRES: u64 = 1_000;
const HASH_MULTIPLIER: u64 = 1_327_217_885;
const HASH_INCREMENT: u64 = 12_345;
/// Components lie within this.
const LARGEST: i64 = 181;
/// Ids of queries, and of vectors to add, begin behind these: none is in the table.
const QUERIES_FROM: u64 = 4_000_000_000;
const ADDED_FROM: u64 = 3_000_000_000;
/// Candidates for a vector to add that are tried at most: those near a query are not taken.
const MAX_TRIES: u64 = 8;

/// Names of facts that a workload with vectors has.
pub const FACTS: [&str; 4] = ["vectors", "queries", "near", "added"];

/// The vectors of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorSet {
    /// Number of vectors in the table.
    pub rows: u64,
    /// Number of vectors that are searched for.
    pub queries: u64,
    /// Number of neighbors that a search asks for.
    pub near: u64,
    /// Percentage of the rows among which a search looks: those of the first groups.
    pub share_pct: u64,
    /// Number of vectors that are added while others search.
    pub added: u64,
}

impl VectorSet {
    /// Numbers of the set as facts.
    pub fn facts(&self) -> [(&'static str, u64); 4] {
        let [vectors, queries, near, added] = FACTS;
        [(vectors, self.rows), (queries, self.queries), (near, self.near), (added, self.added)]
    }
}

/// A vector.
pub type Vector = [i16; DIMENSION];

/// Makes vectors.
#[derive(Debug, Clone)]
pub struct VectorFunction {
    seed: u64,
    basis: Vec<[i64; DIMENSION]>,
}

impl VectorFunction {
    /// The function of a seed.
    pub fn new(seed: u64) -> Self {
        let seed = seed % MODULUS;
        let row = |number| {
            let mut row = [0; DIMENSION];
            bells(number, seed + 3, &mut row);
            row
        };
        VectorFunction { seed, basis: (1..=RANK as u64).map(row).collect() }
    }

    /// The vector of an id.
    pub fn vector(&self, id: u64) -> Vector {
        let draw = step(step(start(id, self.seed + 7)));
        let centre = (CENTRES * draw) >> 31;
        let (mut of_centre, mut own) = ([0; RANK], [0; RANK]);
        bells(centre + 1, self.seed + 1, &mut of_centre);
        bells(id, self.seed + 2, &mut own);
        let mut sums = [0; DIMENSION];
        for ((z, other), row) in of_centre.iter().zip(&own).zip(&self.basis) {
            for (sum, of_row) in sums.iter_mut().zip(row) {
                *sum += (z + other) * of_row;
            }
        }
        let mut noise = [0; DIMENSION];
        bells(id, self.seed + 4, &mut noise);
        let component = |j: usize| {
            let value = sums[j].div_euclid(968) + noise[j].div_euclid(4);
            value.clamp(-LARGEST, LARGEST) as i16
        };
        std::array::from_fn(component)
    }
}

/// The group of a row, 1 to 100.
pub fn group(id: u64) -> u64 {
    1 + id % GROUPS
}

fn step(state: u64) -> u64 {
    state * MULTIPLIER % MODULUS
}

fn start(id: u64, x: u64) -> u64 {
    let hash = (id % MODULUS * HASH_MULTIPLIER + HASH_INCREMENT + x) % MODULUS;
    let state = (hash * hash + id) % MODULUS;
    state.max(1)
}

/// Numbers about 0 with a standard deviation of 74.
fn bells(id: u64, x: u64, into: &mut [i64]) {
    let mut state = step(start(id, x));
    for value in into {
        state = step(state);
        let slices = [24, 17, 10, 3].map(|bit| (state >> bit & 127) as i64);
        *value = slices.iter().sum::<i64>() - 254;
    }
}

/// The squared distance.
fn squared_distance(a: &Vector, b: &Vector) -> i32 {
    let differences = a.iter().zip(b).map(|(a, b)| i32::from(*a) - i32::from(*b));
    differences.map(|difference| difference * difference).sum()
}

/// Data to be sent to a database: rows, queries with their truth, and vectors to add.
#[derive(Debug)]
pub struct VectorData {
    set: VectorSet,
    function: VectorFunction,
    rows: Vec<Vector>,
    queries: Vec<Query>,
}

#[derive(Debug)]
struct Query {
    vector: Vector,
    /// Squared distance of the last neighbor.
    truth: i32,
}

/// One row to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorRow {
    /// Number of the row.
    pub id: u64,
    /// Group of the row, by which searches are restricted.
    pub group: u64,
    /// Components of the vector.
    pub vector: Vector,
    /// Squared distance of a query's last neighbor.
    pub truth: i32,
}

impl VectorData {
    /// Makes the vectors and finds the truth, which looks at every row for every query.
    pub fn new(set: VectorSet, seed: u64) -> Self {
        let function = VectorFunction::new(seed);
        let rows: Vec<Vector> = (1..=set.rows).map(|id| function.vector(id)).collect();
        let query = |number: u64| {
            let vector = function.vector(QUERIES_FROM + number);
            let looked = |id: u64| group(id) <= set.share_pct;
            let mut nearest = Nearest::new(set.near as usize);
            let among = (1..).zip(&rows).filter(|(id, _)| looked(*id));
            among.for_each(|(_, row)| nearest.see(squared_distance(row, &vector)));
            Query { truth: nearest.last(), vector }
        };
        let queries = in_threads(set.queries, &query);
        VectorData { set, function, rows, queries }
    }

    /// The rows of the table.
    pub fn rows(&self) -> impl Iterator<Item = VectorRow> + '_ {
        let row = |(id, vector): (u64, &Vector)| VectorRow {
            id,
            group: group(id),
            vector: *vector,
            truth: 0,
        };
        (1..).zip(&self.rows).map(row)
    }

    /// The queries, from id 1.
    pub fn queries(&self) -> impl Iterator<Item = VectorRow> + '_ {
        let row = |(id, query): (u64, &Query)| VectorRow {
            id,
            group: 0,
            vector: query.vector,
            truth: query.truth,
        };
        (1..).zip(&self.queries).map(row)
    }

    /// The vectors to add, from id 1: each farther from every query than its last neighbor, so
    /// that no answer is another one when they are there.
    pub fn vectors_to_add(&self) -> impl Iterator<Item = VectorRow> + '_ {
        let candidates = (1..=MAX_TRIES * self.set.added)
            .map(|n| (ADDED_FROM + n, self.function.vector(ADDED_FROM + n)));
        let is_far = |vector: &Vector| {
            self.queries.iter().all(|query| squared_distance(vector, &query.vector) > query.truth)
        };
        let far = candidates.filter(move |(_, vector)| is_far(vector));
        let row = |(id, (source, vector)): (u64, (u64, Vector))| VectorRow {
            id,
            group: group(source),
            vector,
            truth: 0,
        };
        (1..).zip(far.take(self.set.added as usize)).map(row)
    }
}

/// The least distances of those seen.
struct Nearest {
    most: usize,
    /// Ascending.
    least: Vec<i32>,
}

impl Nearest {
    fn new(most: usize) -> Self {
        Nearest { most, least: Vec::with_capacity(most + 1) }
    }

    fn see(&mut self, distance: i32) {
        if self.least.len() == self.most && self.least.last().is_some_and(|last| distance >= *last)
        {
            return;
        }
        let at = self.least.partition_point(|known| *known <= distance);
        self.least.insert(at, distance);
        self.least.truncate(self.most);
    }

    /// The greatest of them; of fewer than are asked for none is too far.
    fn last(&self) -> i32 {
        if self.least.len() < self.most {
            i32::MAX
        } else {
            self.least.last().copied().unwrap_or(0)
        }
    }
}

/// The queries 1 to `count`, in as many threads as there are processors.
fn in_threads(count: u64, query: &(dyn Fn(u64) -> Query + Sync)) -> Vec<Query> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let each = count.div_ceil(threads).max(1);
    let stretch = |first: u64| first..(first + each).min(count + 1);
    std::thread::scope(|scope| {
        let firsts = (0..threads).map(|thread| 1 + thread * each);
        let found_in = |first: u64| -> Vec<Query> { stretch(first).map(query).collect() };
        let started: Vec<_> = firsts
            .map(|first| {
                let thread = Builder::new().spawn_scoped(scope, move || found_in(first));
                (first, thread)
            })
            .collect();
        let joined = started.into_iter().map(|(first, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // The system has no further thread: this one does its work.
            Err(_) => found_in(first),
        });
        joined.flatten().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bells_and_rows_are_those_of_the_check_vectors() {
        let mut bell = [0; 4];
        bells(1, 42, &mut bell);
        assert_eq!(bell, [-33, 37, 56, 95]);
        let function = VectorFunction::new(42);
        let first = function.vector(1);
        assert_eq!(first[..8], [25, 58, 30, 2, -10, 69, 4, 59]);
        let all = |of: &dyn Fn(i64) -> i64, upto: u64| -> i64 {
            (1..=upto).flat_map(|id| function.vector(id)).map(|v| of(i64::from(v))).sum()
        };
        assert_eq!(all(&|v| v, 1), -690);
        assert_eq!((all(&|v| v, 1000), all(&|v| v * v, 1000)), (-118_865, 289_544_017));
    }

    #[test]
    fn added_vectors_change_no_truth() {
        let set = VectorSet { rows: 1000, queries: 50, near: 10, share_pct: 100, added: 250 };
        let data = VectorData::new(set, 42);
        assert_eq!(
            (data.rows().count(), data.queries().count(), data.vectors_to_add().count()),
            (1000, 50, 250)
        );
        for query in data.queries() {
            let truth = i64::from(query.truth);
            let distance = |row: &VectorRow| -> i64 {
                let pairs = row.vector.iter().zip(&query.vector);
                pairs.map(|(a, b)| (i64::from(*a) - i64::from(*b)).pow(2)).sum()
            };
            let mut all: Vec<i64> =
                data.rows().chain(data.vectors_to_add()).map(|row| distance(&row)).collect();
            all.sort_unstable();
            assert_eq!(all[9], truth);
        }
    }

    #[test]
    fn the_truth_of_a_share_is_among_its_groups() {
        let set = VectorSet { rows: 500, queries: 3, near: 5, share_pct: 10, added: 0 };
        let data = VectorData::new(set, 1);
        for query in data.queries() {
            let inside = data.rows().filter(|row| row.group <= 10);
            let near =
                inside.filter(|row| squared_distance(&row.vector, &query.vector) <= query.truth);
            assert_eq!(near.count(), 5);
        }
    }
}
