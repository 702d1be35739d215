//! Every workload's answer is checked before it is timed: rows, sums and sinks against the
//! catalog.
//!
//! Two things are compared: the result of the answer's statement with fixed binds, and one op as a
//! job runs it, in the plan's drive. What one op touches follows from the answer or, without one,
//! from the contract's claims about rows.

use std::cell::Cell;

use crate::test_runner::assemble::test_facts;
use dbdyno_core::analysis::contract;
use dbdyno_core::error::{Error, Kind, Result, quote};
use dbdyno_core::model::vectors::VectorData;
use dbdyno_core::model::{
    Answer, BoundStatement, Claim, Expr, Facts, JobCode, PartPlan, Plan, Selection, Status,
    TestResult, TestSpec,
};
use dbdyno_core::sql;
use dbdyno_engines::engine::{Database, EngineError, Rows, Session};

mod op;

use op::OpResult;

/// Relative deviation allowed for sums and sinks: float sums may be added up in another order.
const TOLERANCE: f64 = 1e-6;

/// Outcome of checking the answers of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerCheckOutcome {
    /// The answers agree with those of the catalog.
    Yes,
    /// Nothing could be compared, for this reason.
    No(String),
}

/// Checks the answers of all parts of a selection with one job, then removes what the check needed.
///
/// # Errors
/// Of kind `Check` with what was expected and found; the engine's if a statement fails.
pub fn check(
    database: &dyn Database,
    plan: &Plan,
    selection: &Selection,
    facts: &Facts,
) -> Result<AnswerCheckOutcome> {
    let data_facts = test_facts(facts, 1);
    let mut unchecked = Vec::new();
    for part in &selection.parts {
        let mut facts = data_facts.clone();
        facts.extend(part.facts.clone());
        let checking = AnswerCheckContext {
            database,
            plan,
            selection,
            part,
            facts: &facts,
            compared: Cell::new(0),
        };
        if !checking.part()? {
            unchecked.push(part.workload.as_str());
        }
    }
    Ok(match unchecked.as_slice() {
        [] => AnswerCheckOutcome::Yes,
        parts => AnswerCheckOutcome::No(format!(
            "the catalog does not state the answer of {}",
            parts.join(", ")
        )),
    })
}

/// A part whose answers are checked, and the facts that its expectations use.
struct AnswerCheckContext<'a> {
    database: &'a dyn Database,
    plan: &'a Plan,
    selection: &'a Selection,
    part: &'a PartPlan,
    facts: &'a Facts,
    /// Number of values that were compared with expected ones.
    compared: Cell<u32>,
}

impl AnswerCheckContext<'_> {
    /// Checks the part between its setup and its teardown; false if there is nothing to compare
    /// with.
    fn part(&self) -> Result<bool> {
        if self.part.answer.is_none() && self.claims().is_empty() {
            return Ok(false);
        }
        // A session of its own, since a part may change settings.
        let mut session = self.database.session().map_err(|error| self.at(error))?;
        let session = session.as_mut();
        let vectors = self.part.vectors.map(|set| VectorData::new(set, self.plan.seed));
        let prepared = run_all(session, &self.part.setup_sql(), vectors.as_ref())
            .and_then(|()| run_all(session, &self.part.session, None));
        let checked = prepared.map(|()| self.check(session));
        let cleaned = run_all(session, &self.part.teardown_sql(), None);
        checked.map_err(|error| self.at(error))??;
        cleaned.map_err(|error| self.at(error))?;
        Ok(self.compared.get() > 0)
    }

    fn check(&self, session: &mut dyn Session) -> Result<()> {
        if let (Some(answer), Some(step)) = (&self.part.answer, &self.part.answer_step) {
            self.check_step(session, answer, step)?;
        }
        self.check_op(&op::run(self, session)?)
    }

    /// The statement itself, with fixed binds: number of rows and sums of columns.
    fn check_step(
        &self,
        session: &mut dyn Session,
        answer: &Answer,
        step: &BoundStatement,
    ) -> Result<()> {
        let binds = step.binds.iter().map(|name| match answer.binds.get(name) {
            Some(value) => Ok(self.value(value, self.facts)? as i64),
            None => Err(self.wrong(format!("the answer gives no value for bind ':{name}'"))),
        });
        let binds = binds.collect::<Result<Vec<_>>>()?;
        let rows = session.query(&step.sql, &binds).map_err(|error| self.at(error))?;
        if let Some(expected) = &answer.rows {
            self.compare("rows", self.value(expected, self.facts)?, rows.rows.len() as f64)?;
        }
        for (column, expected) in &answer.sums {
            let sum = sum(&rows, column).ok_or_else(|| {
                self.wrong(format!("numeric column {} is missing", quote(column)))
            })?;
            self.compare(&format!("sum of {column}"), self.value(expected, self.facts)?, sum)?;
        }
        Ok(())
    }

    /// One op: it is one, it touches its rows, and a routine returns its sink.
    fn check_op(&self, done: &OpResult) -> Result<()> {
        if let Some(ops) = done.ops.filter(|ops| *ops != 1.0) {
            return Err(self.wrong(format!("ops of one call for one op: {ops}")));
        }
        match self.expected_rows(done)? {
            Some(expected) => self.compare("rows of one op", expected, done.rows)?,
            None => self.check_claims(done)?,
        }
        let sink = self.part.answer.as_ref().and_then(|answer| answer.sink.as_ref());
        if let (Some(expected), Some(found)) = (sink, done.sink) {
            self.compare("result of the routine's op", self.value(expected, self.facts)?, found)?;
        }
        Ok(())
    }

    /// Rows that one op touches, if the answer says so: where the op is the answer's statement, as
    /// often as that is repeated; else those that it says of the whole op.
    fn expected_rows(&self, done: &OpResult) -> Result<Option<f64>> {
        let Some(answer) = &self.part.answer else { return Ok(None) };
        let (rows, times) = match self.step_times() {
            Some(times) => (answer.rows.as_ref(), f64::from(times)),
            None => (answer.routine_rows.as_ref().or(answer.rows.as_ref()), 1.0),
        };
        let mut facts = self.facts.clone();
        facts.insert("commits".into(), done.commits);
        rows.map(|rows| Ok(times * self.value(rows, &facts)?)).transpose()
    }

    /// Number of times that the client's op repeats the answer's statement, if it does nothing
    /// else.
    fn step_times(&self) -> Option<u32> {
        let step = self.part.answer_step.as_ref()?;
        let JobCode::Client { branches, .. } = &self.part.code else { return None };
        let [branch] = branches.as_slice() else { return None };
        let is_step = branch.statements.len() == 1 && branch.statements[0].name == step.name;
        is_step.then_some(branch.times)
    }

    /// The contract's claims about the rows of an op.
    fn claims(&self) -> Vec<&Claim> {
        let of_rows = |claim: &&Claim| {
            let is_of_one_op = matches!(claim.per.as_deref(), None | Some("ops"));
            // One op may find less than all of them do.
            let is_counted = claim.what == "rows" || claim.what == "hits" && claim.status.is_none();
            is_of_one_op && is_counted
        };
        self.part.contract.iter().filter(of_rows).collect()
    }

    /// Judges these claims as those of a test that did one op.
    fn check_claims(&self, done: &OpResult) -> Result<()> {
        let spec = TestSpec::closed(self.selection, 1, 1);
        let mut test = TestResult::unmeasured(&spec, String::new());
        (test.total.ops, test.total.rows, test.total.commits) =
            (1, done.rows as u64, done.commits as u64);
        test.total.hits = done.hits as u64;
        test.params.clone_from(&self.part.params);
        test.facts.clone_from(self.facts);
        for claim in self.claims() {
            let reasons = contract::judge(&test, std::slice::from_ref(claim), &self.plan.engine);
            match reasons.first() {
                Some(reason) if reason.status != Status::Valid => {
                    return Err(self.wrong(reason.text.clone()));
                }
                Some(_) => {}
                None => {
                    self.compared.set(self.compared.get() + u32::from(self.applies(&test, claim)))
                }
            }
        }
        Ok(())
    }

    fn applies(&self, test: &TestResult, claim: &Claim) -> bool {
        dbdyno_core::analysis::scope::Scope::new(test).applies(claim, &self.plan.engine)
    }

    fn compare(&self, what: &str, expected: f64, found: f64) -> Result<()> {
        self.compared.set(self.compared.get() + 1);
        if (found - expected).abs() <= TOLERANCE * expected.abs().max(1e-9) {
            return Ok(());
        }
        Err(self.wrong(format!("{what}: {found}, expected {expected}")))
    }

    fn value(&self, expr: &Expr, facts: &Facts) -> Result<f64> {
        expr.eval(facts).map_err(|message| self.wrong(message))
    }

    fn at(&self, error: EngineError) -> Error {
        error.at(self.part.workload.clone())
    }

    fn wrong(&self, what: String) -> Error {
        Error::new(Kind::Check, self.part.workload.clone(), format!("wrong answer: {what}"))
            .advise("the data or the catalog's SQL is wrong; 'dbdyno verify' checks the data")
    }
}

fn run_all(
    session: &mut dyn Session,
    statements: &[String],
    vectors: Option<&VectorData>,
) -> std::result::Result<(), EngineError> {
    let bound = statements.iter().map(|statement| sql::bind_late(statement, 1));
    let mut texts = bound.flat_map(|statement| sql::with_vectors(statement, vectors));
    texts.try_for_each(|text| session.execute(&text).map(drop))
}

fn sum(rows: &Rows, column: &str) -> Option<f64> {
    (0..rows.rows.len()).map(|row| rows.get(row, column)?.parse::<f64>().ok()).sum()
}
