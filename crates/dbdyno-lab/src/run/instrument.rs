//! The cost of our own instruments: what timing an op adds to it, measured in each loop before the
//! tests.
//!
//! The loop is run around nothing, with every op timed, with every other one, and with hardly any.
//! The differences are what clock reads and bookkeeping take. Of several turns the fastest counts:
//! who is held up meanwhile is never faster.

use std::sync::OnceLock;

use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{Counters, Facts, JobCode, Routine, Selection, TestResult, Wire};
use dbdyno_engines::engine::{
    AfterError, Database, EngineError, JobSpec, Pacer, Session, Slice, SliceReport,
};

use super::overhead;
use crate::test_runner::{TimingCost, TimingCosts, calls_routine};

/// Turns of each kind, and their length in s: on a busy machine, too, some of so short ones pass
/// without losing the processor. Fewer in a debug build: tests begin a thousand runs.
const TURNS: usize = if cfg!(debug_assertions) { 7 } else { 20 };
const TURN_S: f64 = 0.001;
/// Strides of the kinds of turns: every op is timed, every other one, hardly any.
const STRIDES: [u32; 3] = [1, OFTEN, 100_000];
const OFTEN: u32 = 2;

/// Costs of timing ops in our own loop, if one of these selections runs in it.
pub(super) fn costs_of_our_loop(selections: &[Selection]) -> TimingCosts {
    let is_used = !selections.iter().all(calls_routine);
    TimingCosts { client: is_used.then(client_cost).flatten(), routine: None }
}

/// The same costs with those of a routine around nothing, which is made and dropped.
pub(super) fn costs_with_routine(
    costs: TimingCosts,
    database: &dyn Database,
    routine: &Routine,
) -> TimingCosts {
    let Ok(mut session) = database.session() else { return costs };
    let cost = match all(session.as_mut(), &routine.create) {
        Ok(()) => timing_cost(database, &JobCode::Routine(routine.clone())),
        Err(_) => None,
    };
    let _ = all(session.as_mut(), &routine.drop); // the next one replaces what is left
    TimingCosts { routine: cost, ..costs }
}

/// Cost of clock reads and bookkeeping per op of a test, in us. Absent where the jobs ran
/// elsewhere.
pub(super) fn instrument_us_per_op(
    costs: &TimingCosts,
    selection: &Selection,
    result: &TestResult,
) -> Option<f64> {
    let is_ours = calls_routine(selection) || result.workers.is_empty();
    let cost = costs.of(selection).filter(|_| is_ours && result.window.ops > 0)?;
    // The stride of each slice is another one: what counts is how many ops were timed.
    Some(cost.per_op_us(result.window.ops as f64 / result.latency.samples as f64))
}

/// Cost of timing ops in our own loop: measured once, since the loop is the same however often the
/// platforms of an experiment are made ready; again where the machine was too busy.
fn client_cost() -> Option<TimingCost> {
    static MEASURED: OnceLock<TimingCost> = OnceLock::new();
    if let Some(cost) = MEASURED.get() {
        return Some(*cost);
    }
    let database = overhead::open_null().ok()?;
    let cost = timing_cost(database.as_ref(), &overhead::selection(0, 1.0).parts[0].code)?;
    Some(*MEASURED.get_or_init(|| cost))
}

fn all(session: &mut dyn Session, statements: &[String]) -> Result<(), EngineError> {
    statements.iter().try_for_each(|sql| session.execute(sql).map(drop))
}

/// Cost of timing ops in a loop.
fn timing_cost(database: &dyn Database, code: &JobCode) -> Option<TimingCost> {
    let order = JobSpec {
        job: 1,
        jobs: 1,
        code,
        session: &[],
        seed: 1,
        facts: &Facts::new(),
        rows: RowFunction { table_rows: 8000, seed: 1 },
        wire: Wire::default(),
        node: None,
    };
    let mut turns = Turns::default();
    database.run_job(&order, &mut turns).ok()?;
    turns.cost()
}

/// Paces turns of all kinds in alternation.
#[derive(Debug, Default)]
struct Turns {
    given: usize,
    /// Least time of an op in each kind of turn, in s.
    fastest_s: [Option<f64>; 3],
}

impl Turns {
    fn kind(turn: usize) -> usize {
        turn % STRIDES.len()
    }

    /// Cost of timing ops; absent if the turns were too disturbed.
    fn cost(&self) -> Option<TimingCost> {
        let [each_s, often_s, seldom_s] = self.fastest_s;
        let of_each_us = (each_s? - seldom_s?) * 1e6;
        let of_some_us = (often_s? - seldom_s?) * f64::from(OFTEN) * 1e6;
        let cost = TimingCost { of_each_us, of_some_us };
        (of_each_us > 0.0 && of_some_us > 0.0).then_some(cost)
    }
}

impl Pacer for Turns {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        let stride = STRIDES[Turns::kind(self.given)];
        self.given += 1;
        (self.given <= STRIDES.len() * TURNS).then_some(Slice {
            seconds: TURN_S,
            max_ops: u64::MAX,
            stride,
        })
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        let fastest_s = &mut self.fastest_s[Turns::kind(self.given - 1)];
        let op_s = report.elapsed_s / report.tally.ops as f64;
        *fastest_s = [*fastest_s, Some(op_s)].into_iter().flatten().reduce(f64::min);
    }
    fn op_failed(&mut self, _: &EngineError) -> AfterError {
        AfterError::Stop
    }
    fn session_counters(&mut self, _: Counters) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::model::{BoundStatement, Tally};
    use dbdyno_core::stats::LatencyHistogram;

    #[test]
    fn a_timed_op_costs_what_the_fastest_turns_differ_by() {
        let (mut turns, none) = (Turns::default(), LatencyHistogram::new());
        // Ops of 1 us, to which timing adds 0.3 us if each is timed, and 0.4 us to every other one;
        // some turns were held up.
        for op_us in [1.8, 1.2, 1.2, 1.3, 1.7, 1.0, 1.9, 1.3, 1.1] {
            assert!(turns.next_slice().is_some());
            let tally = Tally { ops: 1_000, ..Tally::default() };
            turns.slice_done(&SliceReport::new(tally, op_us / 1e3, &none));
        }
        let cost = turns.cost().unwrap();
        assert!((cost.of_each_us - 0.3).abs() < 1e-9, "{cost:?}");
        assert!((cost.of_some_us - 0.4).abs() < 1e-9, "{cost:?}");
        let undone =
            Turns { fastest_s: [Some(2e-6), Some(1e-6), Some(1.1e-6)], ..Turns::default() };
        assert_eq!((undone.cost(), Turns::default().cost()), (None, None));
    }

    #[test]
    fn an_op_bears_the_cost_of_the_timed_ones() {
        let cost = TimingCost { of_each_us: 0.03, of_some_us: 0.06 };
        let costs = TimingCosts { client: Some(cost), routine: None };
        let mut result = fixture::result();
        (result.window.ops, result.latency.samples) = (100_000, 2_000);
        let selection = overhead::selection(0, 1.0);
        let per_op_us = |result: &TestResult| instrument_us_per_op(&costs, &selection, result);
        assert!((per_op_us(&result).unwrap() - 0.0012).abs() < 1e-12);
        // Some of the ops failed.
        result.latency.samples = 99_000;
        assert_eq!(per_op_us(&result), Some(0.03));
        result.window.ops = 0;
        assert_eq!(per_op_us(&result), None);
    }

    #[test]
    fn our_loop_is_measured_only_for_what_runs_in_it_and_once() {
        let client = overhead::selection(0, 1.0);
        let call = BoundStatement { name: "op".into(), sql: "call op()".into(), binds: Vec::new() };
        let routine = Routine {
            name: "op".into(),
            create: Vec::new(),
            call,
            per_op: false,
            hits: false,
            drop: Vec::new(),
        };
        let selection = |routine: Routine| {
            let mut selection = client.clone();
            selection.parts[0].code = JobCode::Routine(routine);
            selection
        };
        let in_server = selection(routine.clone());
        let sent = selection(Routine { per_op: true, ..routine });
        let only_in_server = costs_of_our_loop(std::slice::from_ref(&in_server));
        assert_eq!(only_in_server, TimingCosts::default());
        for others in [[in_server.clone(), client.clone()], [in_server, sent]] {
            // A busy machine needs several tries.
            let known = || costs_of_our_loop(&others).client;
            let first = std::iter::repeat_with(known).flatten().next();
            assert_eq!(known(), first);
        }
    }
}
