//! The order of a run's tests, and how long they take: in blocks, each of which runs every test once before any is run
//! again. Pure.
//!
//! What drifts over a run (temperature, neighbours, a filling disk) then falls on all tests alike, and repetitions show it.
//! Ramps stay together in a block, so that a workload's tables are read into the cache once per block. A run without
//! repetitions keeps the order of its plan.

use crate::model::{Plan, Ramp, Selection};
use crate::stats::keys::KeyStream;

/// Connecting, preparing, snapshots and teardown of one test.
const OVERHEAD_S: f64 = 0.4;
/// Assumed length of a test with fixed work, until one is known.
const FIXED_WORK_S: f64 = 10.0;

/// Whether the answers of a workload are checked, or have been.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    Check,
    Known,
}

/// A ramp's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// From 1.
    pub block: u32,
    /// Index into the plan's selections.
    pub selection: usize,
}

impl Turn {
    /// Answers are checked before the first test of a workload.
    pub fn answers(&self) -> Answers {
        if self.block == 1 { Answers::Check } else { Answers::Known }
    }
}

fn blocks(plan: &Plan) -> u32 {
    plan.selections.iter().map(|selection| selection.repeat).max().unwrap_or(1)
}

/// The order in a sentence; none for a run without repetitions.
pub fn described(plan: &Plan) -> Option<String> {
    let (most, seed) = (blocks(plan), plan.seed);
    (most > 1)
        .then(|| format!("{most} blocks: every test once before any test repeats, in an order given by seed {seed}"))
}

/// All turns in order, within a block in an order drawn from the run's seed.
pub fn turns(plan: &Plan) -> Vec<Turn> {
    let most = blocks(plan);
    let block = |block: u32| {
        let own = (0..plan.selections.len()).filter(|&at| plan.selections[at].repeat >= block);
        let mut own: Vec<usize> = own.collect();
        if most > 1 {
            shuffle(&mut own, &mut KeyStream::for_job(plan.seed, block));
        }
        own.into_iter().map(move |selection| Turn { block, selection }).collect::<Vec<_>>()
    };
    (1..=most).flat_map(block).collect()
}

/// The ramp as it is run in this turn: fixed numbers of jobs are drawn too, automatic ramps must climb.
pub fn shuffled(ramp: &Ramp, plan: &Plan, turn: &Turn) -> Ramp {
    match ramp {
        Ramp::Fixed(jobs) if plan.selections[turn.selection].repeat > 1 => {
            let mut jobs = jobs.clone();
            let stream = turn.block.wrapping_add((turn.selection as u32 + 1) << 16);
            shuffle(&mut jobs, &mut KeyStream::for_job(plan.seed, stream));
            Ramp::Fixed(jobs)
        }
        other => other.clone(),
    }
}

/// Fisher and Yates.
fn shuffle<T>(items: &mut [T], keys: &mut KeyStream) {
    for last in (1..items.len()).rev() {
        items.swap(last, keys.key(last as u64 + 1) as usize - 1);
    }
}

/// Expected seconds of one test of a selection.
pub fn test_s(selection: &Selection) -> f64 {
    timed_s(selection).unwrap_or(FIXED_WORK_S + OVERHEAD_S)
}

/// The same if its time is fixed; how long fixed work takes is not known before it has run.
pub fn timed_s(selection: &Selection) -> Option<f64> {
    let window = &selection.window;
    window.ops_per_job.is_none().then_some(window.warmup_s + window.duration_s + OVERHEAD_S)
}

/// Expected number of tests of a ramp; an automatic one is assumed to go to its maximum.
pub fn tests(ramp: &Ramp) -> u32 {
    match ramp {
        Ramp::Fixed(jobs) => jobs.len() as u32,
        Ramp::Auto { from, max } => (max / (*from).max(1)).max(1).ilog2() + 1,
    }
}

/// Expected number of tests of a selection, repetitions included.
pub fn all_tests(selection: &Selection) -> u32 {
    tests(&selection.ramp).saturating_mul(selection.repeat)
}

/// Expected seconds of the turns that have not begun; `ramps` are those of the selections as far as they are known, none
/// where nothing more is run.
pub fn turns_s(selections: &[Selection], ramps: &[Option<Ramp>], turns: &[Turn]) -> f64 {
    let turn_s = |turn: &Turn| {
        let tests = ramps[turn.selection].as_ref().map_or(0, tests);
        f64::from(tests) * test_s(&selections[turn.selection])
    };
    turns.iter().map(turn_s).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::fixture::plan;

    fn order(plan: &Plan) -> Vec<(u32, usize)> {
        turns(plan).iter().map(|turn| (turn.block, turn.selection)).collect()
    }

    #[test]
    fn without_repetitions_the_plan_decides() {
        assert_eq!(order(&plan(&[1, 1, 1], 42)), [(1, 0), (1, 1), (1, 2)]);
    }

    #[test]
    fn every_ramp_has_its_turn_in_a_block_before_any_has_another() {
        let plan = plan(&[3; 12], 42);
        let turns = order(&plan);
        for block in 1..=3 {
            let mut own: Vec<usize> = turns.iter().filter(|turn| turn.0 == block).map(|turn| turn.1).collect();
            assert_ne!(own, (0..12).collect::<Vec<_>>(), "block {block} is shuffled");
            own.sort_unstable();
            assert_eq!(own, (0..12).collect::<Vec<_>>());
        }
        assert!(turns.is_sorted_by_key(|turn| turn.0));
        assert_ne!(
            turns[..12].iter().map(|t| t.1).collect::<Vec<_>>(),
            turns[12..24].iter().map(|t| t.1).collect::<Vec<_>>()
        );
    }

    #[test]
    fn the_seed_gives_the_order_again_and_another_seed_another() {
        assert_eq!(order(&plan(&[3; 12], 42)), order(&plan(&[3; 12], 42)));
        assert_ne!(order(&plan(&[3; 12], 42)), order(&plan(&[3; 12], 43)));
    }

    #[test]
    fn who_repeats_less_is_in_the_first_blocks_only() {
        let turns = order(&plan(&[1, 3, 2], 1));
        assert_eq!(turns.iter().filter(|turn| turn.0 == 2).count(), 2);
        assert_eq!(turns.last(), Some(&(3, 1)));
    }

    #[test]
    fn fixed_ramps_are_shuffled_and_automatic_ones_climb() {
        let plan = plan(&[3], 42);
        let jobs: Vec<u32> = (1..=20).collect();
        let turn = Turn { block: 2, selection: 0 };
        let Ramp::Fixed(drawn) = shuffled(&Ramp::Fixed(jobs.clone()), &plan, &turn) else { panic!() };
        assert_ne!(drawn, jobs);
        let mut sorted = drawn;
        sorted.sort_unstable();
        assert_eq!(sorted, jobs);
        let auto = Ramp::Auto { from: 1, max: 8 };
        assert_eq!(shuffled(&auto, &plan, &turn), auto);
    }
    #[test]
    fn an_automatic_ramp_counts_its_doublings() {
        assert_eq!(tests(&Ramp::Fixed(vec![1, 2, 4])), 3);
        assert_eq!(tests(&Ramp::Auto { from: 1, max: 16 }), 5);
        assert_eq!(tests(&Ramp::Auto { from: 4, max: 16 }), 3);
    }

    #[test]
    fn repetitions_count_by_the_ramp_that_was_found() {
        let selections = plan(&[3, 1], 42).selections;
        let one_s = test_s(&selections[0]);
        let turns = [(2, 0), (3, 0), (1, 1)].map(|(block, selection)| Turn { block, selection });
        let ramps = [Some(Ramp::Fixed(vec![1, 2])), Some(Ramp::Auto { from: 1, max: 16 })];
        assert!((turns_s(&selections, &ramps, &turns) - (2.0 + 2.0 + 5.0) * one_s).abs() < 1e-9);
        assert!((turns_s(&selections, &[None, ramps[0].clone()], &turns) - 2.0 * one_s).abs() < 1e-9);
    }
}
