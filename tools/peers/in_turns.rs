//! The generated routine beside the bare loops in short turns of one session. Two sessions that do
//! the same are up to 4 % apart, and so are moments of a machine: turns of some 60 ms in one
//! session share both. What memory lies where still differs, between servers by up to 3 %: they are
//! the sample.

use std::time::Instant;

use dbdyno::engine::{Rows, Session};
use dbdyno::error::Result;
use dbdyno::model::{BoundStatement, Counters, Drive, JobCode, Selection};
use dbdyno::stats::summary::median;

use crate::barest_routine::{self, BAREST, COUNTING, Routine};
use crate::lab::{Lab, SEED};
use crate::machine::{Meter, Usage};
use crate::pairs::{Half, Outcome, Pair, Rules};
use crate::{drive, failed, interrupt};

/// Servers that are started one after the other.
pub const SERVERS: usize = 10;
/// Sessions on each of them.
const SESSIONS: usize = 2;
/// Rounds of a session: each loop has two turns in a round.
const ROUNDS: usize = 10;
/// Lookups of a turn.
const TURN_OPS: i64 = 20_000;
/// Longer than a turn, in us: the number of ops ends it.
const SLICE_US: i64 = 60_000_000;
/// Seconds of the test that shows how often the runner times an op.
const LEARNING_S: f64 = 1.0;

/// The loops of a round, in the order of its first half.
const LOOPS: [Loop; 3] = [Loop::Bare(&BAREST), Loop::Generated, Loop::Bare(&COUNTING)];

#[derive(Clone, Copy)]
enum Loop {
    Generated,
    Bare(&'static Routine),
}

/// Rates of the loops in one round, in lookups/s, in the order of [`LOOPS`].
type Round = [f64; 3];

/// The comparisons as far as they have come.
pub struct InTurns {
    barest: Outcome,
    counting: Outcome,
}

impl InTurns {
    /// Nothing measured yet; both ratios are to reach `target`.
    pub fn new(target: f64) -> Self {
        let outcome = |routine: &Routine| Outcome {
            name: format!("PostgreSQL generated routine : {}, turns of one session", routine.what),
            unit: "lookups/s",
            target: Some(target),
            pairs: Vec::new(),
            dropped: 0,
            is_estimated: true,
            is_two_sided: false,
        };
        InTurns { barest: outcome(&BAREST), counting: outcome(&COUNTING) }
    }

    /// Adds a server; it is dropped if others had too much of the processors.
    ///
    /// # Errors
    /// Those of the database, an interrupt, and a loop that did not do its ops.
    pub fn measure(&mut self, lab: &Lab, rules: &Rules) -> Result<()> {
        let selection = drive::lookup(lab, "", Drive::Database, LEARNING_S)?;
        let stride = learn_stride(lab, &selection)?;
        let call = call_of(&selection)?;
        for routine in [&BAREST, &COUNTING] {
            barest_routine::create(lab, routine)?;
        }
        let meter = Meter::start(rules.server_pid)?;
        let sessions = drive::run_beside_setup(lab, &selection, 1, || {
            (0..SESSIONS).map(|_| rounds_of_session(lab, call, stride)).collect::<Result<Vec<_>>>()
        })?;
        let usage = meter.usage()?;
        for routine in [&BAREST, &COUNTING] {
            barest_routine::drop_routine(lab, routine)?;
        }
        let rounds = sessions.concat();
        let counts = usage.steal.max(usage.others) <= rules.taken;
        for (outcome, peer) in [(&mut self.barest, 0), (&mut self.counting, 2)] {
            let pair = pair_of(&rounds, peer).ok_or_else(|| failed("turns", "none"))?;
            report(outcome, &pair, &usage, counts);
            if counts {
                outcome.pairs.push(pair);
            } else {
                outcome.dropped += 1;
            }
        }
        Ok(())
    }

    /// Both comparisons, a pair per server.
    pub fn into_outcomes(self) -> [Outcome; 2] {
        [self.barest, self.counting]
    }
}

/// The rounds of a new session.
fn rounds_of_session(lab: &Lab, call: &BoundStatement, stride: i64) -> Result<Vec<Round>> {
    let mut turns = Turns { session: barest_routine::job_session(lab)?, call, stride };
    // Plans are made, and caches filled.
    turns.round()?;
    (0..ROUNDS).map(|_| turns.round()).collect()
}

/// A session in which the loops have their turns.
struct Turns<'a> {
    session: Box<dyn Session>,
    /// Of the generated routine.
    call: &'a BoundStatement,
    /// Every how many ops it times one.
    stride: i64,
}

impl Turns<'_> {
    /// A turn of each loop, and then the same in reverse: what changes evenly meets all alike.
    fn round(&mut self) -> Result<Round> {
        interrupt::check()?;
        let mut seconds = [0.0; LOOPS.len()];
        let forth = 0..LOOPS.len();
        for at in forth.clone().chain(forth.rev()) {
            seconds[at] += self.turn_s(LOOPS[at])?;
        }
        Ok(seconds.map(|seconds| 2.0 * TURN_OPS as f64 / seconds))
    }

    /// Seconds of one turn by our clock.
    fn turn_s(&mut self, turn: Loop) -> Result<f64> {
        let (sql, values) = match turn {
            Loop::Bare(routine) => (routine.call, vec![TURN_OPS, SEED as i64]),
            Loop::Generated => (self.call.sql.as_str(), self.values()?),
        };
        let began = Instant::now();
        let rows = self.session.query(sql, &values).map_err(|error| error.at("turns"))?;
        let elapsed_s = began.elapsed().as_secs_f64();
        check_work(turn, &rows)?;
        Ok(elapsed_s)
    }

    /// The values of the generated routine's binds, in their order.
    fn values(&self) -> Result<Vec<i64>> {
        let value = |name: &String| match name.as_str() {
            "job" | "jobs" => Ok(1),
            "slice_us" => Ok(SLICE_US),
            "max_ops" => Ok(TURN_OPS),
            "stride" => Ok(self.stride),
            "seed" => Ok(SEED as i64),
            other => Err(failed("turns", format!("the harness has an unknown bind '{other}'"))),
        };
        self.call.binds.iter().map(value).collect()
    }
}

/// Fails if a loop says that it has done, or found, another number of rows than was asked for.
fn check_work(turn: Loop, rows: &Rows) -> Result<()> {
    let told: Vec<Option<&str>> = match turn {
        Loop::Generated => vec![rows.get(0, "ops"), rows.get(0, "rows")],
        Loop::Bare(routine) if routine.returns_rows => vec![rows.scalar()],
        Loop::Bare(_) => Vec::new(),
    };
    let wanted = TURN_OPS.to_string();
    match told.iter().find(|told| **told != Some(&wanted)) {
        None => Ok(()),
        Some(told) => Err(failed("turns", format!("{wanted} lookups wanted, {told:?} told"))),
    }
}

/// The stride that the runner has chosen for this workload.
fn learn_stride(lab: &Lab, selection: &Selection) -> Result<i64> {
    let mut no_probes = |_| (Counters::default(), 0.0);
    Ok(drive::test(lab, selection, 1, &mut no_probes, None)?.latency_stride.into())
}

/// The call of the generated routine.
fn call_of(selection: &Selection) -> Result<&BoundStatement> {
    match selection.parts.first().map(|part| &part.code) {
        Some(JobCode::Routine(routine)) => Ok(&routine.call),
        _ => Err(failed(&selection.workload.id, "has no routine")),
    }
}

/// A server as a pair whose ratio is the median over its rounds; `peer` is the position of the
/// peer in [`LOOPS`]. None without rounds.
fn pair_of(rounds: &[Round], peer: usize) -> Option<Pair> {
    let median_of =
        |rate: &dyn Fn(&Round) -> f64| median(&rounds.iter().map(rate).collect::<Vec<_>>());
    let half = |rate| Half { rate, client_us: None, server_us: None };
    let peer_rate = median_of(&|round| round[peer])?;
    let ratio = median_of(&|round| round[1] / round[peer])?;
    Some(Pair { ours: half(ratio * peer_rate), peer: half(peer_rate) })
}

fn report(outcome: &Outcome, pair: &Pair, usage: &Usage, counts: bool) {
    eprintln!(
        "  {}: {:.4}   steal {:.1} %, others {:.1} %{}",
        outcome.name,
        pair.ours.rate / pair.peer.rate,
        100.0 * usage.steal,
        100.0 * usage.others,
        if counts { "" } else { "   dropped" }
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_the_median_of_its_rounds() {
        let rounds = [[100.0, 97.0, 98.0], [200.0, 190.0, 190.0], [50.0, 20.0, 49.0]];
        let ratio = |peer| {
            let pair = pair_of(&rounds, peer).unwrap();
            (pair.ours.rate / pair.peer.rate, pair.peer.rate)
        };
        assert_eq!(ratio(0), (0.95, 100.0));
        assert!((ratio(2).0 - 97.0 / 98.0).abs() < 1e-12 && ratio(2).1 == 98.0);
        assert!(pair_of(&[], 0).is_none());
    }

    #[test]
    fn a_loop_that_did_other_work_is_an_error() {
        let told = |ops: &str, rows: &str| Rows {
            columns: vec!["ops".into(), "rows".into()],
            rows: vec![vec![Some(ops.into()), Some(rows.into())]],
        };
        assert!(check_work(Loop::Generated, &told("20000", "20000")).is_ok());
        assert!(check_work(Loop::Generated, &told("20000", "19999")).is_err());
        assert!(check_work(Loop::Generated, &told("19999", "20000")).is_err());
        assert!(check_work(Loop::Bare(&COUNTING), &told("19999", "")).is_err());
        assert!(check_work(Loop::Bare(&BAREST), &told("77", "")).is_ok(), "it tells its last key");
    }
}
