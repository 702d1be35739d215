//! A client-drive op, compiled once per job: binds evaluated against the facts, names turned into
//! positions.

use std::collections::BTreeMap;

use super::{ClientSession, CountedRows, OpRows};
use crate::engine::{EngineError, ErrorClass, JobSpec};
use dbdyno_core::model::{Bind, BoundStatement, Branch, Commit, Facts};
use dbdyno_core::stats::keys::{KeyStream, MODULUS};
use dbdyno_core::stats::skew::SkewedKeys;

/// Values of a sequence bind of job j start above `j * SEQUENCE_STRIDE`.
const SEQUENCE_STRIDE: i64 = 1_000_000_000_000;

/// The op of one job with the state that it carries from op to op.
pub(super) struct Program {
    /// Reads of a slice share one transaction.
    pub(super) shared_read: bool,
    /// The first column of each row says whether it was to be found.
    pub(super) counts_hits: bool,
    /// Each op opens a connection of its own.
    pub(super) connects: bool,
    branches: Vec<Steps>,
    draws: Draws,
    /// Bind values of the statement that runs next, by position.
    args: Vec<i64>,
}

/// A branch, compiled.
struct Steps {
    /// Taken if the drawn state is below.
    below: u64,
    commit: Commit,
    times: u32,
    /// Slots to draw before each repetition, in order of bind names.
    slots: Vec<usize>,
    /// Slots of the binds of each statement, by position; statement numbers count on from `first`.
    statements: Vec<Vec<usize>>,
    first: usize,
}

/// Sources of bind values, and their current values; one slot per bind name.
struct Draws {
    keys: KeyStream,
    sources: Vec<Source>,
    values: Vec<i64>,
}

enum Source {
    Random(u64),
    Skewed(SkewedKeys),
    Sequence,
    Repetition,
    Fixed,
}

impl Program {
    /// Compiles the branches. Names of binds become slots, expressions become numbers.
    ///
    /// # Errors
    /// Class `Statement`: a bind without a definition, or an expression that cannot be evaluated.
    pub(super) fn compile(
        order: &JobSpec<'_>,
        branches: &[Branch],
        binds: &BTreeMap<String, Bind>,
        shared_read: bool,
    ) -> Result<Self, EngineError> {
        let mut first = 0;
        let mut compiled = Vec::new();
        for branch in branches {
            compiled.push(Steps::compile(branch, binds, first)?);
            first += branch.statements.len();
        }
        let widest = branches
            .iter()
            .flat_map(|branch| &branch.statements)
            .map(|statement| statement.binds.len())
            .max();
        let args = vec![0; widest.unwrap_or(0)];
        let draws = Draws::compile(order, binds)?;
        let (counts_hits, connects) = (false, false);
        Ok(Program { shared_read, counts_hits, connects, branches: compiled, draws, args })
    }

    /// Runs one op. It is inlined into the loop, with all that it calls here: as calls, with their
    /// results through memory, they took 4 of the 14 ns that the loop costs.
    #[inline(always)]
    pub(super) fn op<S: ClientSession>(&mut self, session: &mut S) -> Result<OpRows, EngineError> {
        let branch = match self.branches.as_slice() {
            [only] => only,
            branches => {
                let state = self.draws.keys.step();
                let Some(branch) = branches.iter().find(|branch| state < branch.below) else {
                    // the chances add up to less than 100: the rest does nothing
                    return Ok(OpRows::default());
                };
                branch
            }
        };
        if !self.connects {
            return branch.run(session, &mut self.draws, &mut self.args, self.counts_hits);
        }
        session.connect()?;
        let done = branch.run(session, &mut self.draws, &mut self.args, self.counts_hits)?;
        session.disconnect();
        Ok(done)
    }
}

impl Steps {
    fn compile(
        branch: &Branch,
        binds: &BTreeMap<String, Bind>,
        first: usize,
    ) -> Result<Self, EngineError> {
        let statements = branch.statements.iter().map(|statement| slots_of(statement, binds));
        let statements = statements.collect::<Result<Vec<_>, _>>()?;
        let mut slots = statements.concat();
        slots.sort_unstable();
        slots.dedup();
        Ok(Steps {
            below: if branch.upto >= 100.0 {
                u64::MAX
            } else {
                (branch.upto / 100.0 * MODULUS as f64) as u64
            },
            commit: branch.commit,
            times: branch.times,
            slots,
            statements,
            first,
        })
    }

    #[inline(always)]
    fn run<S: ClientSession>(
        &self,
        session: &mut S,
        draws: &mut Draws,
        args: &mut [i64],
        counts_hits: bool,
    ) -> Result<OpRows, EngineError> {
        let block = self.commit == Commit::Block;
        if block {
            session.begin()?;
        }
        let mut counted = CountedRows::default();
        for repetition in 1..=self.times {
            draws.draw(&self.slots, repetition);
            let done = self.pass(session, draws, args, counts_hits)?;
            counted.rows += done.rows;
            counted.hits += done.hits;
        }
        if block {
            session.commit()?;
        }
        Ok(OpRows { rows: counted.rows, commits: self.commits(), hits: counted.hits })
    }

    /// The statements once, with the binds that were drawn for them.
    #[inline(always)]
    fn pass<S: ClientSession>(
        &self,
        session: &mut S,
        draws: &Draws,
        args: &mut [i64],
        counts_hits: bool,
    ) -> Result<CountedRows, EngineError> {
        let mut counted = CountedRows::default();
        for (step, slots) in self.statements.iter().enumerate() {
            for (arg, &slot) in args.iter_mut().zip(slots) {
                *arg = draws.values[slot];
            }
            let (statement, args) = (self.first + step, &args[..slots.len()]);
            if counts_hits {
                let done = session.run_counting(statement, args)?;
                counted.rows += done.rows;
                counted.hits += done.hits;
            } else {
                counted.rows += session.run(statement, args)?;
            }
        }
        Ok(counted)
    }

    /// Commits waited for by one op.
    fn commits(&self) -> u64 {
        match self.commit {
            Commit::None => 0,
            Commit::Block => 1,
            Commit::Auto => u64::from(self.times) * self.statements.len() as u64,
        }
    }
}

/// The slots of a statement's binds, by position.
fn slots_of(
    statement: &BoundStatement,
    binds: &BTreeMap<String, Bind>,
) -> Result<Vec<usize>, EngineError> {
    let slot = |name: &String| {
        binds.keys().position(|known| known == name).ok_or_else(|| {
            EngineError::new(
                ErrorClass::Statement,
                format!("{}: bind :{name} has no definition", statement.name),
            )
        })
    };
    statement.binds.iter().map(slot).collect()
}

impl Draws {
    fn compile(order: &JobSpec<'_>, binds: &BTreeMap<String, Bind>) -> Result<Self, EngineError> {
        let mut draws = Draws {
            keys: KeyStream::for_job(order.seed, order.job),
            sources: vec![],
            values: vec![],
        };
        for (name, bind) in binds {
            let (source, value) = source_of(bind, order.job, order.facts).map_err(|message| {
                EngineError::new(ErrorClass::Statement, format!("bind :{name}: {message}"))
            })?;
            draws.sources.push(source);
            draws.values.push(value);
        }
        Ok(draws)
    }

    #[inline(always)]
    fn draw(&mut self, slots: &[usize], repetition: u32) {
        for &slot in slots {
            match self.sources[slot] {
                Source::Random(n) => self.values[slot] = self.keys.key(n) as i64,
                Source::Skewed(keys) => self.values[slot] = keys.key(self.keys.step()) as i64,
                Source::Sequence => self.values[slot] += 1,
                Source::Repetition => self.values[slot] = i64::from(repetition),
                Source::Fixed => {}
            }
        }
    }
}

/// The source of a bind and its value before the first draw.
fn source_of(bind: &Bind, job: u32, facts: &Facts) -> Result<(Source, i64), String> {
    match bind {
        Bind::Job => Ok((Source::Fixed, i64::from(job))),
        Bind::Sequence => Ok((Source::Sequence, i64::from(job) * SEQUENCE_STRIDE)),
        Bind::Repetition => Ok((Source::Repetition, 1)),
        Bind::Constant(expr) => Ok((Source::Fixed, expr.eval(facts)?.round() as i64)),
        Bind::Skewed { rows, keys, place } => {
            Ok((Source::Skewed(SkewedKeys::new(*rows, *keys, *place)?), 1))
        }
        Bind::Random(expr) | Bind::Keyed(expr) => {
            let n = expr.eval(facts)?.round();
            // Not `n < 1.0`: NaN must fail too. The generator scales by 31 bits, so n has at most
            // 32.
            if !(1.0..=4_294_967_296.0).contains(&n) {
                return Err(format!("random up to '{}' is {n}, not 1 to 2^32", expr.0));
            }
            Ok((Source::Random(n as u64), 1))
        }
    }
}
