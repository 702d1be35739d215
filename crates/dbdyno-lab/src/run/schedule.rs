//! The order of a run's tests, and how long they take: in blocks, each of which runs every test
//! once before any is run again. Pure.
//!
//! Drift over a run (temperature, other processes, a filling disk) then affects all tests alike,
//! and repetitions show it. Ramps stay together in a block, so that a workload's tables are read
//! into the cache once per block. A run without repetitions keeps the order of its plan.

use std::collections::BTreeSet;

use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{Loop, Plan, Ramp, Selection, Target};
use dbdyno_core::stats::keys::KeyStream;

/// Connecting, preparing, snapshots, teardown and deferred work of one test: 0.1 s in the mean of
/// the quick suite, 0.07 s of a test without commits.
const OVERHEAD_S: f64 = 0.1;
/// Expected number of tests of a search for the highest rate that meets an SLO.
const SEARCH_TESTS: u32 = 18;
/// Assumed length of a test with fixed work, until one is known.
const FIXED_WORK_S: f64 = 10.0;

/// State of the check of a workload's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// The answers have to be checked before the test.
    Check,
    /// An earlier test of the run has had them checked.
    Known,
}

/// Parts that are made anew for every block of repetitions, so that the variance components can be
/// separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fresh {
    /// All blocks share one server start and one data load.
    #[default]
    Nothing,
    /// A block is a start of the private server, in which every test runs twice.
    Server,
    /// A block is a load of the data, with two starts of the private server: every test runs twice
    /// in the first and once in the second.
    Data,
}

impl Fresh {
    /// Name in stored plans.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Fresh::Nothing => None,
            Fresh::Server => Some("server"),
            Fresh::Data => Some("data"),
        }
    }

    /// The part that stored plans name so.
    pub fn of_name(name: &str) -> Option<Fresh> {
        [Fresh::Server, Fresh::Data].into_iter().find(|fresh| fresh.name() == Some(name))
    }

    /// Refuses what cannot be made anew.
    ///
    /// # Errors
    /// Of usage: the target is not ours, or runs in our process, or nothing is repeated.
    pub fn check(self, target: &Target, plan: &Plan) -> Result<()> {
        let no = |what: &str, advice: &str| Err(Error::usage("--fresh", what).advise(advice));
        match (self, target) {
            (Fresh::Nothing, _) => Ok(()),
            (_, Target::Existing { .. }) => no(
                "an existing server is not started anew",
                "name an engine instead of a URL for a private server",
            ),
            (Fresh::Server, Target::Embedded { .. }) => {
                no("an embedded database has no server", "use --fresh data")
            }
            _ if blocks(plan) < 2 => no("nothing is repeated", "add --repeat 3"),
            _ => Ok(()),
        }
    }

    /// Number of times that every test is measured in a block.
    pub fn times(self, target: &Target) -> u32 {
        self.rounds(target).iter().sum()
    }

    /// Repetitions of every test in each server start of a block.
    fn rounds(self, target: &Target) -> &'static [u32] {
        match (self, target) {
            (Fresh::Nothing, _) => &[1],
            (Fresh::Data, Target::Private { .. }) => &[2, 1],
            (Fresh::Data | Fresh::Server, _) => &[2],
        }
    }
}

/// A ramp's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledRamp {
    /// From 1.
    pub block: u32,
    /// Within the block, from 1: a block in which tests run several times runs each once before any
    /// again.
    pub round: u32,
    /// Index into the plan's selections.
    pub selection: usize,
}

impl ScheduledRamp {
    fn is_first(&self) -> bool {
        (self.block, self.round) == (1, 1)
    }

    /// Answers are checked before the first test of a workload.
    pub fn answers(&self) -> Answers {
        if self.is_first() { Answers::Check } else { Answers::Known }
    }

    /// An automatic ramp is found once: all repetitions have its numbers of jobs.
    pub fn discovers_ramp(&self) -> bool {
        self.is_first()
    }
}

/// The ramps that are measured on one server start and one load of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStart {
    /// Numbers within the run, from 1.
    pub load: u32,
    /// Number of the server start within the run, from 1.
    pub server_start: u32,
    /// Ramps in the order in which they are measured.
    pub turns: Vec<ScheduledRamp>,
}

fn blocks(plan: &Plan) -> u32 {
    plan.selections.iter().map(|selection| selection.repeat).max().unwrap_or(1)
}

/// The order in a sentence; none for a run without repetitions.
pub fn describe_order(plan: &Plan, fresh: Fresh, target: &Target) -> Option<String> {
    let (most, seed) = (blocks(plan), plan.seed);
    let anew = match (fresh, target) {
        (Fresh::Nothing, _) => "",
        (Fresh::Server, _) => "; each block starts the server anew and runs every test twice",
        (Fresh::Data, Target::Private { .. }) => {
            "; each block loads the data anew and runs every test twice, and once more after a new \
             start of the server"
        }
        (Fresh::Data, _) => "; each block loads the data anew and runs every test twice",
    };
    let order = "every test once before any test repeats, in an order given by seed";
    (most > 1).then(|| format!("{most} blocks: {order} {seed}{anew}"))
}

/// All scheduled ramps in order, by the starts of the server and the loads of the data between
/// them.
pub fn server_starts(plan: &Plan, fresh: Fresh, target: &Target) -> Vec<ServerStart> {
    if fresh == Fresh::Nothing {
        return vec![ServerStart { load: 1, server_start: 1, turns: turns(plan) }];
    }
    let starts = fresh.rounds(target);
    let of_block = |block: u32| {
        let own: Vec<ScheduledRamp> =
            turns(plan).into_iter().filter(|turn| turn.block == block).collect();
        let start_of = move |(at, rounds): (usize, &u32)| {
            let turns = (1..=*rounds).flat_map(|round| {
                let round = round + starts[..at].iter().sum::<u32>();
                own.iter().map(move |turn| ScheduledRamp { round, ..*turn })
            });
            let load = if fresh == Fresh::Data { block } else { 1 };
            let server_start = (block - 1) * starts.len() as u32 + at as u32 + 1;
            ServerStart { load, server_start, turns: turns.collect() }
        };
        starts.iter().enumerate().map(start_of).collect::<Vec<_>>()
    };
    (1..=blocks(plan)).flat_map(of_block).collect()
}

/// All turns in order, if nothing is made anew; within a block in an order drawn from the run's
/// seed.
pub fn turns(plan: &Plan) -> Vec<ScheduledRamp> {
    let most = blocks(plan);
    let block = |block: u32| {
        let own = (0..plan.selections.len()).filter(|&at| plan.selections[at].repeat >= block);
        let mut own: Vec<usize> = own.collect();
        if most > 1 {
            shuffle(&mut own, &mut KeyStream::numbered(plan.seed, block));
            climb(&mut own, &plan.selections);
        }
        own.into_iter()
            .map(move |selection| ScheduledRamp { block, round: 1, selection })
            .collect::<Vec<_>>()
    };
    (1..=most).flat_map(block).collect()
}

/// Puts the selections of each series of rising values in their order, on the places that the
/// series has.
fn climb(order: &mut [usize], selections: &[Selection]) {
    let series_of = |selection: usize| selections[selection].rising.as_ref();
    let names: BTreeSet<&String> = order.iter().filter_map(|&at| series_of(at)).collect();
    for name in names {
        let is_of_series = |selection: usize| series_of(selection) == Some(name);
        let places: Vec<usize> =
            (0..order.len()).filter(|&place| is_of_series(order[place])).collect();
        let mut members: Vec<usize> = places.iter().map(|&place| order[place]).collect();
        members.sort_unstable();
        for (place, selection) in places.into_iter().zip(members) {
            order[place] = selection;
        }
    }
}

/// The ramp as it is run in this turn: fixed numbers of jobs are drawn too, automatic ramps must
/// climb.
pub fn shuffle_ramp(ramp: &Ramp, plan: &Plan, turn: &ScheduledRamp) -> Ramp {
    match ramp {
        Ramp::Fixed(jobs) if plan.selections[turn.selection].repeat > 1 => {
            let mut jobs = jobs.clone();
            let stream = turn
                .block
                .wrapping_add((turn.selection as u32 + 1) << 16)
                .wrapping_add((turn.round - 1) << 12);
            shuffle(&mut jobs, &mut KeyStream::numbered(plan.seed, stream));
            Ramp::Fixed(jobs)
        }
        other => other.clone(),
    }
}

/// Fisher and Yates.
pub(super) fn shuffle<T>(items: &mut [T], keys: &mut KeyStream) {
    for last in (1..items.len()).rev() {
        items.swap(last, keys.key(last as u64 + 1) as usize - 1);
    }
}

/// Expected seconds of one test of a selection.
pub fn test_s(selection: &Selection) -> f64 {
    timed_s(selection).unwrap_or(FIXED_WORK_S + OVERHEAD_S)
}

/// The same if it has a limit; how long fixed work takes is not known before it has run.
pub fn timed_s(selection: &Selection) -> Option<f64> {
    let window = &selection.window;
    Some(window.longest_warmup_s() + window.duration_s()? + OVERHEAD_S)
}

/// Expected number of tests of a ramp; an automatic one is assumed to go to its maximum.
pub fn tests(ramp: &Ramp) -> u32 {
    match ramp {
        Ramp::Fixed(jobs) => jobs.len() as u32,
        Ramp::Auto { from, max } => (max / (*from).max(1)).max(1).ilog2() + 1,
    }
}

/// Expected number of tests at one number of jobs.
pub fn tests_at_jobs(selection: &Selection) -> u32 {
    match &selection.looping {
        Loop::Closed | Loop::Thinking(_) | Loop::Profile(..) => 1,
        Loop::Open(rates, _) => rates.len() as u32,
        Loop::Highest(..) => SEARCH_TESTS,
    }
}

/// Expected seconds of the tests at one number of jobs.
pub fn jobs_s(selection: &Selection) -> f64 {
    f64::from(tests_at_jobs(selection)) * test_s(selection)
}

/// Expected number of tests of a selection, repetitions included.
pub fn all_tests(selection: &Selection) -> u32 {
    tests(&selection.ramp).saturating_mul(tests_at_jobs(selection)).saturating_mul(selection.repeat)
}

/// Expected seconds of the turns that have not begun; `ramps` are those of the selections as far as
/// they are known, none where nothing more is run.
pub fn turns_s<'a>(
    selections: &[Selection],
    ramps: &[Option<Ramp>],
    turns: impl Iterator<Item = &'a ScheduledRamp>,
) -> f64 {
    let turn_s = |turn: &ScheduledRamp| {
        let tests = ramps[turn.selection].as_ref().map_or(0, tests);
        f64::from(tests) * jobs_s(&selections[turn.selection])
    };
    turns.map(turn_s).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::fixture::plan;

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
            let mut own: Vec<usize> =
                turns.iter().filter(|turn| turn.0 == block).map(|turn| turn.1).collect();
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
    fn a_series_of_rising_values_climbs_on_the_places_that_it_has() {
        let mut plan = plan(&[3; 12], 42);
        let places = |order: &[(u32, usize)], block: u32| -> Vec<usize> {
            let own: Vec<usize> =
                order.iter().filter(|turn| turn.0 == block).map(|turn| turn.1).collect();
            (0..own.len()).filter(|&place| [3, 4, 9].contains(&own[place])).collect()
        };
        let drawn = order(&plan);
        for member in [3, 4, 9] {
            plan.selections[member].rising = Some("threads".into());
        }
        let climbing = order(&plan);
        for block in 1..=3 {
            assert_eq!(places(&climbing, block), places(&drawn, block));
            let series =
                climbing.iter().filter(|turn| turn.0 == block && [3, 4, 9].contains(&turn.1));
            assert_eq!(series.map(|turn| turn.1).collect::<Vec<_>>(), [3, 4, 9]);
        }
    }

    fn private() -> Target {
        Target::Private {
            engine: "one".into(),
            data_dir: "d".into(),
            server_bin: None,
            port: None,
            cluster: None,
        }
    }

    fn embedded() -> Target {
        Target::Embedded { engine: "one".into(), data_dir: "d".into() }
    }

    /// Load, start, and the ramps of each server start.
    type Shape = (u32, u32, Vec<(u32, u32, usize)>);

    fn shape(plan: &Plan, fresh: Fresh, target: &Target) -> Vec<Shape> {
        let turn = |turn: &ScheduledRamp| (turn.block, turn.round, turn.selection);
        server_starts(plan, fresh, target)
            .iter()
            .map(|start| (start.load, start.server_start, start.turns.iter().map(turn).collect()))
            .collect()
    }

    #[test]
    fn a_block_on_a_fresh_server_runs_every_test_twice_and_on_fresh_data_once_more_after_a_start() {
        let plan = plan(&[2], 42);
        assert_eq!(shape(&plan, Fresh::Nothing, &private()), [(1, 1, vec![(1, 1, 0), (2, 1, 0)])]);
        let on_servers = [(1, 1, vec![(1, 1, 0), (1, 2, 0)]), (1, 2, vec![(2, 1, 0), (2, 2, 0)])];
        assert_eq!(shape(&plan, Fresh::Server, &private()), on_servers);
        let first = [(1, 1, vec![(1, 1, 0), (1, 2, 0)]), (1, 2, vec![(1, 3, 0)])];
        let second = [(2, 3, vec![(2, 1, 0), (2, 2, 0)]), (2, 4, vec![(2, 3, 0)])];
        assert_eq!(shape(&plan, Fresh::Data, &private()), [first, second].concat());
        let embedded = shape(&plan, Fresh::Data, &embedded());
        assert_eq!(
            embedded,
            [(1, 1, vec![(1, 1, 0), (1, 2, 0)]), (2, 2, vec![(2, 1, 0), (2, 2, 0)])]
        );
        let answers: Vec<Answers> = server_starts(&plan, Fresh::Data, &private())
            .iter()
            .flat_map(|start| start.turns.iter().map(ScheduledRamp::answers))
            .collect();
        assert_eq!(answers.iter().filter(|one| **one == Answers::Check).count(), 1);
    }

    #[test]
    fn what_cannot_be_made_anew_is_refused() {
        let existing = Target::Existing { engine: "one".into(), url: "one://h".into() };
        let refused = |fresh: Fresh, target: &Target, repeat| {
            fresh.check(target, &plan(&[repeat], 1)).unwrap_err().what
        };
        assert_eq!(refused(Fresh::Data, &existing, 3), "an existing server is not started anew");
        assert_eq!(refused(Fresh::Server, &embedded(), 3), "an embedded database has no server");
        assert_eq!(refused(Fresh::Data, &private(), 1), "nothing is repeated");
        for (fresh, target) in
            [(Fresh::Nothing, existing), (Fresh::Data, embedded()), (Fresh::Server, private())]
        {
            fresh.check(&target, &plan(&[2], 1)).unwrap();
        }
    }

    #[test]
    fn fixed_ramps_are_shuffled_and_automatic_ones_climb() {
        let plan = plan(&[3], 42);
        let jobs: Vec<u32> = (1..=20).collect();
        let turn = ScheduledRamp { block: 2, round: 1, selection: 0 };
        let Ramp::Fixed(drawn) = shuffle_ramp(&Ramp::Fixed(jobs.clone()), &plan, &turn) else {
            panic!()
        };
        assert_ne!(drawn, jobs);
        let mut sorted = drawn;
        sorted.sort_unstable();
        assert_eq!(sorted, jobs);
        let auto = Ramp::Auto { from: 1, max: 8 };
        assert_eq!(shuffle_ramp(&auto, &plan, &turn), auto);
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
        let turns = [(2, 0), (3, 0), (1, 1)].map(|(block, selection)| ScheduledRamp {
            block,
            round: 1,
            selection,
        });
        let ramps = [Some(Ramp::Fixed(vec![1, 2])), Some(Ramp::Auto { from: 1, max: 16 })];
        assert!(
            (turns_s(&selections, &ramps, turns.iter()) - (2.0 + 2.0 + 5.0) * one_s).abs() < 1e-9
        );
        assert!(
            (turns_s(&selections, &[None, ramps[0].clone()], turns.iter()) - 2.0 * one_s).abs()
                < 1e-9
        );
    }
}
