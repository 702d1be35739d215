//! The cost of our own instruments: what timing an op adds to it, measured in each loop before the
//! tests.
//!
//! The loop is run around nothing, once with every other op timed and once with hardly any. The
//! difference per timed op is what clock reads and bookkeeping take. Of several turns the fastest
//! counts: who is held up meanwhile is never faster.

use std::sync::OnceLock;

use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{Counters, Facts, JobCode, Routine, Selection, TestResult, Wire};
use dbdyno_engines::engine::{
    AfterError, Database, EngineError, JobSpec, Pacer, Session, Slice, SliceReport,
};

use super::overhead;

/// Turns of each kind, and their length in s: on a busy machine, too, some of so short ones pass
/// without losing the processor. Fewer in a debug build: tests begin a thousand runs.
const TURNS: usize = if cfg!(debug_assertions) { 10 } else { 20 };
const TURN_S: f64 = 0.001;
/// Ops to a timed one, in turns of either kind.
const OFTEN: u32 = 2;
const SELDOM: u32 = 100_000;

/// Cost of timing an op, in us; absent where it could not be measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SampleCost {
    /// In our own loop.
    client_us: Option<f64>,
    /// In the loop of a stored routine.
    routine_us: Option<f64>,
}

impl SampleCost {
    /// Cost of timing an op in our own loop, if one of these selections runs in it.
    pub fn of_our_loop(selections: &[Selection]) -> SampleCost {
        let is_used = !selections.iter().all(calls_routine);
        SampleCost { client_us: is_used.then(client_us).flatten(), routine_us: None }
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

    /// Cost of clock reads and bookkeeping per op of a test, in us: the cost of a timed op times
    /// their share. Absent where the jobs ran elsewhere.
    pub fn per_op_us(&self, selection: &Selection, result: &TestResult) -> Option<f64> {
        let sample_us = match calls_routine(selection) {
            true => self.routine_us,
            false => self.client_us.filter(|_| result.workers.is_empty()),
        };
        let share = result.latency.samples as f64 / result.window.ops as f64;
        (result.window.ops > 0).then_some(sample_us? * share)
    }
}

/// True if a part of the selection is a routine that times its ops itself.
fn calls_routine(selection: &Selection) -> bool {
    let mut codes = selection.parts.iter().map(|part| &part.code);
    codes.any(|code| matches!(code, JobCode::Routine(routine) if !routine.per_op))
}

/// Cost of timing an op in our own loop, in us: measured once, since the loop is the same however
/// often the platforms of an experiment are made ready; again where the machine was too busy.
fn client_us() -> Option<f64> {
    static MEASURED: OnceLock<f64> = OnceLock::new();
    if let Some(us) = MEASURED.get() {
        return Some(*us);
    }
    let database = overhead::open_null().ok()?;
    let us = sample_us(database.as_ref(), &overhead::selection(0, 1.0).parts[0].code)?;
    Some(*MEASURED.get_or_init(|| us))
}

fn all(session: &mut dyn Session, statements: &[String]) -> Result<(), EngineError> {
    statements.iter().try_for_each(|sql| session.execute(sql).map(drop))
}

/// Additional cost of a timed op of a loop, in us.
fn sample_us(database: &dyn Database, code: &JobCode) -> Option<f64> {
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
    turns.sample_us()
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

    /// Additional cost of a timed op, in us; absent if the turns were too disturbed.
    fn sample_us(&self) -> Option<f64> {
        let [often_s, seldom_s] = self.fastest_s;
        Some((often_s? - seldom_s?) * f64::from(OFTEN) * 1e6).filter(|us| *us > 0.0)
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
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::model::{BoundStatement, Tally};
    use dbdyno_core::stats::LatencyHistogram;

    #[test]
    fn a_timed_op_costs_what_the_fastest_turns_differ_by() {
        let (mut turns, none) = (Turns::default(), LatencyHistogram::new());
        // Ops of 1 us; every other one is timed, which takes 0.4 us; some turns were held up.
        for op_us in [1.7, 1.2, 1.2, 1.0, 1.3, 1.1] {
            assert!(turns.next_slice().is_some());
            let tally = Tally { ops: 1_000, ..Tally::default() };
            turns.slice_done(&SliceReport::new(tally, op_us / 1e3, &none));
        }
        assert!((turns.sample_us().unwrap() - 0.4).abs() < 1e-9, "{turns:?}");
        let undone = Turns { fastest_s: [Some(1e-6), Some(1.1e-6)], ..Turns::default() };
        assert_eq!((undone.sample_us(), Turns::default().sample_us()), (None, None));
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
        let only_in_server = SampleCost::of_our_loop(std::slice::from_ref(&in_server));
        assert_eq!(only_in_server, SampleCost::default());
        for others in [[in_server.clone(), client.clone()], [in_server, sent]] {
            // A busy machine needs several tries.
            let known = || SampleCost::of_our_loop(&others).client_us;
            let first = std::iter::repeat_with(known).flatten().next();
            assert_eq!(known(), first);
        }
    }
}
