//! Every workload's answer is checked before it is timed: rows, sums and sinks against the catalogue.

use crate::engine::{Database, Rows, Session};
use crate::error::{Error, Kind, Result};
use crate::model::{Answer, BoundStatement, Expr, Facts, JobCode, PartPlan, Routine, Selection};
use crate::runner::assemble::test_facts;
use crate::sql;

/// Relative deviation allowed for sums and sinks: float sums may be added up in another order.
const TOLERANCE: f64 = 1e-6;
/// Longest a routine may take for its one op.
const SLICE_US: i64 = 60_000_000;

/// Checks the answers of all parts of a selection with one job, then removes what the check needed.
///
/// # Errors
/// Of kind `Check` with what was expected and found; the engine's if a statement fails.
pub fn check(database: &dyn Database, selection: &Selection, facts: &Facts) -> Result<()> {
    let facts = test_facts(facts, 1);
    selection.parts.iter().try_for_each(|part| {
        // A session of its own, since a part may change settings.
        let mut session = database.session().map_err(|error| error.at(part.workload.clone()))?;
        check_part(session.as_mut(), part, &facts)
    })
}

fn check_part(session: &mut dyn Session, part: &PartPlan, facts: &Facts) -> Result<()> {
    let Some(answer) = &part.answer else { return Ok(()) };
    let mut facts = facts.clone();
    facts.extend(part.facts.clone());
    let checking = Checking { part, facts: &facts };
    let prepared = run_all(session, &part.setup_sql()).and_then(|()| run_all(session, &part.session));
    let checked = prepared.map(|()| checking.check(session, answer));
    let cleaned = run_all(session, &part.teardown_sql());
    checked.map_err(|error| error.at(part.workload.clone()))??;
    cleaned.map_err(|error| error.at(part.workload.clone()))
}

fn run_all(session: &mut dyn Session, statements: &[String]) -> std::result::Result<(), crate::engine::EngineError> {
    statements.iter().try_for_each(|statement| session.execute(&sql::bind_late(statement, 1)).map(drop))
}

/// One part and the facts its expectations use.
struct Checking<'a> {
    part: &'a PartPlan,
    facts: &'a Facts,
}

impl Checking<'_> {
    fn check(&self, session: &mut dyn Session, answer: &Answer) -> Result<()> {
        if let Some(step) = &self.part.answer_step {
            self.check_step(session, answer, step)?;
        }
        match &self.part.code {
            JobCode::Routine(routine) => self.check_routine(session, answer, routine),
            JobCode::Client { .. } | JobCode::Bulk { .. } => Ok(()),
        }
    }

    /// The statement itself, with fixed binds: number of rows and sums of columns.
    fn check_step(&self, session: &mut dyn Session, answer: &Answer, step: &BoundStatement) -> Result<()> {
        let binds = step.binds.iter().map(|name| match answer.binds.get(name) {
            Some(value) => Ok(self.value(value)? as i64),
            None => Err(self.wrong(format!("the answer gives no value for bind ':{name}'"))),
        });
        let binds = binds.collect::<Result<Vec<_>>>()?;
        let rows = session.query(&step.sql, &binds).map_err(|error| error.at(self.part.workload.clone()))?;
        if let Some(expected) = &answer.rows {
            self.compare("rows", expected, rows.rows.len() as f64)?;
        }
        for (column, expected) in &answer.sums {
            let sum = sum(&rows, column).ok_or_else(|| self.wrong(format!("there is no numeric column '{column}'")))?;
            self.compare(&format!("sum of {column}"), expected, sum)?;
        }
        Ok(())
    }

    /// One op of the routine, from seed 1: it does one op, touches the rows, returns the sink.
    fn check_routine(&self, session: &mut dyn Session, answer: &Answer, routine: &Routine) -> Result<()> {
        let bind = |name: &String| match name.as_str() {
            "slice_us" => SLICE_US,
            _ => 1,
        };
        let binds: Vec<i64> = routine.call.binds.iter().map(bind).collect();
        let rows = session.query(&routine.call.sql, &binds).map_err(|error| error.at(self.part.workload.clone()))?;
        let get = |name: &str| {
            let value = rows.get(0, name).and_then(|text| text.parse::<f64>().ok());
            value.ok_or_else(|| self.wrong(format!("the routine returned no '{name}'")))
        };
        // A routine of one transaction does not count ops: its call is the op.
        if rows.columns.iter().any(|column| column == "ops") {
            self.compare("ops of the routine", &Expr("1".into()), get("ops")?)?;
        }
        if let Some(expected) = answer.routine_rows.as_ref().or(answer.rows.as_ref()) {
            let mut facts = self.facts.clone();
            facts.insert("commits".into(), get("commits")?);
            let checking = Checking { facts: &facts, ..*self };
            checking.compare("rows of the routine's op", expected, get("rows")?)?;
        }
        if let Some(expected) = &answer.sink {
            self.compare("result of the routine's op", expected, get("sink")?)?;
        }
        Ok(())
    }

    fn compare(&self, what: &str, expected: &Expr, found: f64) -> Result<()> {
        let expected = self.value(expected)?;
        if (found - expected).abs() <= TOLERANCE * expected.abs().max(1e-9) {
            return Ok(());
        }
        Err(self.wrong(format!("{what}: {found}, expected {expected}")))
    }

    fn value(&self, expr: &Expr) -> Result<f64> {
        expr.eval(self.facts).map_err(|message| self.wrong(message))
    }

    fn wrong(&self, what: String) -> Error {
        Error::new(Kind::Check, self.part.workload.clone(), format!("wrong answer: {what}"))
            .advise("the data or the catalogue's SQL is wrong; 'dbdyno verify' checks the data")
    }
}

fn sum(rows: &Rows, column: &str) -> Option<f64> {
    (0..rows.rows.len()).map(|row| rows.get(row, column)?.parse::<f64>().ok()).sum()
}
