//! The numbers of a run's tests, and which keys each of them draws.
//!
//! A test that drew the keys of another one before it would find in caches what that one has read.
//! So every test draws its own, with one exception: ways to drive the same work (drive, transport,
//! protocol) that are measured in the same block are to do the same work, and draw the same keys if
//! the cache holds all that they read anyway. Both sides of an A/B test number their tests by
//! themselves and in the same way, so that those of a block draw the same keys, each on its own
//! database. See
//! docs/decisions/0026-keys-of-tests-and-jobs.md.

use std::collections::BTreeMap;

use dbdyno_core::model::Selection;
use dbdyno_core::model::params::{PROTOCOL, TRANSPORT};
use dbdyno_core::stats::keys;

/// Numbering of a run's tests.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Of the last test; 0 before the first.
    seq: u32,
    /// Block of repetitions, and round within it.
    turn: (u32, u32),
    /// Turns so far: to whoever compares tests block by block each is a block.
    turns: u32,
    /// Tests of the current turn so far, by what they do and how they are driven.
    drawn: BTreeMap<(String, String), u32>,
}

/// The number of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    /// Within the run, from 1; 0 of a test that is not stored.
    pub seq: u32,
    /// Tells apart what tests draw, see [`dbdyno_core::model::TestSpec::draw`].
    pub draw: u64,
    /// As of [`dbdyno_core::model::TestSpec::block`].
    pub block: Option<u32>,
}

impl Numbers {
    /// A turn of this block of repetitions begins.
    pub fn begin(&mut self, block: u32, round: u32) {
        if self.turn != (block, round) {
            self.turn = (block, round);
            self.turns += 1;
            self.drawn.clear();
        }
    }

    /// The number of the next test.
    pub fn next(&mut self, selection: &Selection, jobs: u32) -> Number {
        self.seq += 1;
        Number { seq: self.seq, ..self.unstored(selection, jobs) }
    }

    /// The number of a test that is run beside the others and not stored.
    pub fn unstored(&mut self, selection: &Selection, jobs: u32) -> Number {
        let (work, way) = (work(selection, jobs), way(selection));
        let drawn = self.drawn.entry((work.clone(), way.clone())).or_default();
        *drawn += 1;
        let of_way = if is_cached(selection) { String::new() } else { way };
        let (block, round) = self.turn;
        let what = format!("{work} by {of_way} in {block}.{round}.{drawn}");
        let of_block = (self.turns > 0).then_some(self.turns);
        Number { seq: 0, draw: keys::draw_of(&what), block: of_block }
    }
}

/// Work of the jobs, independent of their drive.
fn work(selection: &Selection, jobs: u32) -> String {
    let is_way = |name: &str| [TRANSPORT, PROTOCOL].contains(&name);
    let chosen: Vec<String> = selection
        .chosen
        .iter()
        .filter(|(name, _)| !is_way(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{}:{} by {jobs}", selection.workload.id, chosen.join(","))
}

fn way(selection: &Selection) -> String {
    let wire = selection.wire.params().into_values().collect::<Vec<_>>().join(",");
    format!("{} {wire}", selection.drive.name())
}

/// True if all that it reads of the data set is read into the cache before it begins.
pub(super) fn is_cached(selection: &Selection) -> bool {
    selection.with_background().all(|selection| {
        selection.tables.iter().all(|table| selection.workload.warm.contains(&table.kind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::overhead;
    use dbdyno_core::model::{Drive, TableRef};

    fn selection(id: &str, drive: Drive, table: &str, warm: &str) -> Selection {
        let mut selection = Selection { drive, ..overhead::selection(0, 1.0) };
        selection.workload.id = id.into();
        selection.workload.warm = vec![warm.into()];
        selection.tables = vec![TableRef::new(table)];
        selection
    }

    fn draws(numbers: &mut Numbers, selections: &[Selection], jobs: &[u32]) -> Vec<u64> {
        let tests =
            selections.iter().flat_map(|selection| jobs.iter().map(move |jobs| (selection, *jobs)));
        tests.map(|(selection, jobs)| numbers.next(selection, jobs).draw).collect()
    }

    #[test]
    fn steps_repetitions_and_workloads_draw_their_own_keys() {
        let selections = [("A", "small"), ("B", "small"), ("A", "big")]
            .map(|(id, table)| selection(id, Drive::Client, table, "small"));
        let mut numbers = Numbers::default();
        let mut all = Vec::new();
        for turn in [(1, 1), (1, 2), (2, 1)] {
            numbers.begin(turn.0, turn.1);
            all.extend(draws(&mut numbers, &selections[..2], &[1, 2, 2, 4]));
        }
        assert_eq!(numbers.seq, 24);
        all.push(numbers.unstored(&selections[0], 1).draw);
        all.push(numbers.unstored(&selections[0], 1).draw);
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn ways_to_drive_cached_work_draw_the_same_in_a_block_and_others_do_not() {
        let ways = |table: &str| {
            [Drive::Database, Drive::Client].map(|drive| selection("A", drive, table, "small"))
        };
        let mut numbers = Numbers::default();
        numbers.begin(1, 1);
        let cached = draws(&mut numbers, &ways("small"), &[1, 2, 2]);
        assert_eq!(cached[..3], cached[3..], "the same keys for either drive, step by step");
        assert!(cached[0] != cached[1] && cached[1] != cached[2]);
        let uncached = draws(&mut numbers, &ways("big"), &[1]);
        assert_ne!(uncached[0], uncached[1], "the second would find what the first has read");
        numbers.begin(2, 1);
        assert_ne!(draws(&mut numbers, &ways("small"), &[1])[0], cached[0]);
    }

    #[test]
    fn a_test_knows_its_block_and_a_further_attempt_has_the_same() {
        let selection = selection("A", Drive::Client, "small", "small");
        let mut numbers = Numbers::default();
        assert_eq!(numbers.next(&selection, 1).block, None, "there are no blocks");
        let mut attempts = |block, round| {
            numbers.begin(block, round);
            [numbers.next(&selection, 1).block, numbers.next(&selection, 1).block]
        };
        assert_eq!(attempts(1, 1), [Some(1); 2]);
        assert_eq!(attempts(1, 2), [Some(2); 2], "a round does every test once more");
        assert_eq!(attempts(2, 1), [Some(3); 2]);
    }

    #[test]
    fn two_sides_that_number_alike_draw_the_same() {
        let selections = ["A", "B"].map(|id| selection(id, Drive::Database, "big", "small"));
        let side = || {
            let mut numbers = Numbers::default();
            let mut block = |block| {
                numbers.begin(block, 1);
                draws(&mut numbers, &selections, &[1, 4])
            };
            [block(1), block(2)].concat()
        };
        assert_eq!(side(), side());
    }
}
