//! The cost of our own instruments: what timing an op adds to it, measured in each loop before the
//! tests.
//!
//! The loop is run around nothing, once with every other op timed and once with hardly any. The
//! difference per timed op is what clock reads and bookkeeping take. Of several turns the fastest
//! counts: who is held up meanwhile is never faster.

use crate::engine::{
    AfterError, Database, EngineError, JobOrder, Pacer, Session, Slice, SliceReport,
};
use crate::model::rows::RowFunction;
use crate::model::{Counters, Facts, JobCode, Routine, Selection, TestResult, Wire};

use super::overhead;

/// Turns of each kind, and their length in s.
const TURNS: usize = 5;
const TURN_S: f64 = 0.005;
/// Ops to a timed one, in turns of either kind.
const OFTEN: u32 = 2;
const SELDOM: u32 = 100_000;

/// What timing an op costs, in us; absent where it could not be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SampleCost {
    /// In our own loop.
    client_us: Option<f64>,
    /// In the loop of a stored routine.
    routine_us: Option<f64>,
}

impl SampleCost {
    /// That of our own loop.
    pub fn of_our_loop() -> SampleCost {
        let measured = || {
            let database = overhead::open_null().ok()?;
            sample_us(database.as_ref(), &overhead::selection(0, 1.0).parts[0].code)
        };
        SampleCost { client_us: measured(), routine_us: None }
    }

    /// The same with that of a routine around nothing, which is made and dropped.
    pub fn with_routine(self, database: &dyn Database, routine: &Routine) -> SampleCost {
        let Ok(mut session) = database.session() else { return self };
        let routine_us = match all(session.as_mut(), &routine.create) {
            Ok(()) => sample_us(database, &JobCode::Routine(routine.clone())),
            Err(_) => None,
        };
        let _ = all(session.as_mut(), &routine.drop); // the next one replaces what is left
        SampleCost { routine_us, ..self }
    }

    /// What clock reads and bookkeeping took per op of a test, in us: the cost of a timed op times
    /// their share. Absent where the jobs ran elsewhere.
    pub fn per_op_us(&self, selection: &Selection, result: &TestResult) -> Option<f64> {
        let is_routine =
            |code: &JobCode| matches!(code, JobCode::Routine(routine) if !routine.per_op);
        let sample_us = match selection.parts.iter().any(|part| is_routine(&part.code)) {
            true => self.routine_us,
            false => self.client_us.filter(|_| result.workers.is_empty()),
        };
        let share = result.latency.samples as f64 / result.window.ops as f64;
        (result.window.ops > 0).then_some(sample_us? * share)
    }
}

fn all(session: &mut dyn Session, statements: &[String]) -> Result<(), EngineError> {
    statements.iter().try_for_each(|sql| session.execute(sql).map(drop))
}

/// What a timed op of a loop costs more than others, in us.
fn sample_us(database: &dyn Database, code: &JobCode) -> Option<f64> {
    let order = JobOrder {
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
    let [often_s, seldom_s] = turns.fastest_s.map(|s| s.filter(|s| *s > 0.0));
    Some(((often_s? - seldom_s?) * f64::from(OFTEN) * 1e6).max(0.0))
}

/// Paces turns of both kinds in alternation.
#[derive(Debug, Default)]
struct Turns {
    given: usize,
    /// Least time of an op with many and with few timed ones, in s.
    fastest_s: [Option<f64>; 2],
}

impl Turns {
    fn kind(turn: usize) -> usize {
        turn % 2
    }
}

impl Pacer for Turns {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        let stride = [OFTEN, SELDOM][Turns::kind(self.given)];
        self.given += 1;
        (self.given <= 2 * TURNS).then_some(Slice { seconds: TURN_S, max_ops: u64::MAX, stride })
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
    use crate::analysis::fixture;

    #[test]
    fn a_timed_op_of_our_own_loop_costs_some_nanoseconds() {
        let cost_us = SampleCost::of_our_loop().client_us.unwrap();
        assert!(cost_us > 0.001 && cost_us < 10.0, "{cost_us}");
    }

    #[test]
    fn an_op_bears_the_cost_of_the_timed_ones() {
        let cost = SampleCost { client_us: Some(0.06), routine_us: None };
        let mut result = fixture::result();
        (result.window.ops, result.latency.samples) = (100_000, 2_000);
        let selection = overhead::selection(0, 1.0);
        assert!((cost.per_op_us(&selection, &result).unwrap() - 0.0012).abs() < 1e-12);
        result.window.ops = 0;
        assert_eq!(cost.per_op_us(&selection, &result), None);
    }
}
