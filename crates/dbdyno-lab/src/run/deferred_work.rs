//! Makes the database do what a test has left it to do, and times that.

use std::time::{Duration, Instant};

use super::{Platform, RunContext};
use crate::test_runner::Interrupt;
use dbdyno_core::analysis::sustained::is_owed;
use dbdyno_core::model::{Counters, Target};
use dbdyno_core::sql::{Block, statement};
use dbdyno_engines::engine::{Database, EngineError, Session, cancellable};
use dbdyno_engines::probe::take;

/// Block with the gauges.
const GAUGES: &str = "counters.debt";
/// Block of a query of statements: what they do is what was put off.
const WORK: &str = "pay.work";
/// Block of a query of pairs of statements for a server of ours: one that makes it hurry, one that
/// takes that back.
const HURRY: &str = "pay.hurry";
/// Block of a query of statements for a server of ours, which are run again and again as long as
/// something is owed: what is done first may put off more.
const AGAIN: &str = "pay.again";

/// Between two looks at the gauges.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// A debt that does not fall for so long is not being paid back.
const STALL_TIMEOUT: Duration = Duration::from_millis(300);
/// The same where the server was told to hurry: a page cleaner looks once a second what there is to
/// do.
const FLUSH_STALL_TIMEOUT: Duration = Duration::from_secs(3);

/// Makes the database finish deferred work after a test (checkpoint, vacuum, flush) and times it.
pub struct CatchUp<'a> {
    database: &'a dyn Database,
    interrupt: &'a Interrupt,
    gauges: Option<String>,
    work: Option<String>,
    hurry: Option<String>,
    again: Option<String>,
}

impl<'a> CatchUp<'a> {
    /// None for a plan without commits, and where the catalog does not say what the engine puts
    /// off.
    pub fn open(context: &RunContext<'a>, platform: &'a Platform) -> Option<CatchUp<'a>> {
        let database = platform.database.as_ref();
        let blocks = context.catalog.probes(platform.engine.name(), &database.version().0);
        let sql = |name: &str| find(&blocks, name);
        let is_ours = !matches!(context.request.target, Target::Existing { .. });
        let of_ours = |name: &str| sql(name).filter(|_| is_ours);
        let (gauges, work) = (sql(GAUGES), sql(WORK));
        let (hurry, again) = (of_ours(HURRY), of_ours(AGAIN));
        let commits = context
            .plan
            .selections
            .iter()
            .flat_map(|selection| &selection.parts)
            .any(|part| part.commits);
        let can = commits && (gauges.is_some() || work.is_some());
        let interrupt = context.interrupt;
        can.then_some(CatchUp { database, interrupt, gauges, work, hurry, again })
    }

    /// Seconds until nothing is owed any more that was added between `begin` and `end`, or no more
    /// of it is paid back.
    ///
    /// # Errors
    /// Of the database, with the statement; cancelled after an interrupt.
    pub fn finish(&self, begin: &Counters, end: &Counters) -> Result<f64, EngineError> {
        if !is_owed(begin, end, end) {
            return Ok(0.0);
        }
        let mut session = self.database.session()?;
        cancellable(
            self.database,
            &self.interrupt.flag(),
            || (),
            || self.measure_work(session.as_mut(), begin, end),
        )
    }

    fn measure_work(
        &self,
        session: &mut dyn Session,
        begin: &Counters,
        end: &Counters,
    ) -> Result<f64, EngineError> {
        let hurry = self.hurry.as_deref().map_or(Ok(Vec::new()), |sql| pairs(session, sql))?;
        let began = Instant::now();
        let paid = all(session, hurry.iter().map(|(hurry, _)| hurry))
            .and_then(|()| list_statements(session, self.work.as_deref()))
            .and_then(|work| all(session, work.iter()))
            .and_then(|()| self.await_gauges(session, begin, end));
        let took_s = began.elapsed().as_secs_f64();
        let calmed = all(session, hurry.iter().rev().map(|(_, calm)| calm));
        paid.and(calmed).map(|()| took_s)
    }

    fn await_gauges(
        &self,
        session: &mut dyn Session,
        begin: &Counters,
        end: &Counters,
    ) -> Result<(), EngineError> {
        let Some(sql) = &self.gauges else { return Ok(()) };
        let timeout = if self.hurry.is_some() { FLUSH_STALL_TIMEOUT } else { STALL_TIMEOUT };
        let again = list_statements(session, self.again.as_deref())?;
        let (mut lowest, mut fell) = (end.clone(), Instant::now());
        loop {
            let mut now = Counters::default();
            take(&session.query(sql, &[])?, &mut now);
            if !is_owed(begin, end, &now) || fell.elapsed() >= timeout || self.interrupt.is_set() {
                return Ok(());
            }
            all(session, again.iter())?;
            for (name, value) in now.0 {
                if lowest.get(&name).is_none_or(|lowest| value < lowest) {
                    lowest.set(name, value);
                    fell = Instant::now();
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// The statement of a block; none if the file has no such block, or only a remark in it.
fn find(blocks: &[&Block], name: &str) -> Option<String> {
    let block = blocks.iter().find(|block| block.name == name)?;
    Some(statement(&block.text).to_string()).filter(|sql| !sql.is_empty())
}

/// The statements that a query gives; none without one.
fn list_statements(
    session: &mut dyn Session,
    query: Option<&str>,
) -> Result<Vec<String>, EngineError> {
    let Some(sql) = query else { return Ok(Vec::new()) };
    let rows = session.query(sql, &[])?.rows;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next()?).collect())
}

fn pairs(session: &mut dyn Session, sql: &str) -> Result<Vec<(String, String)>, EngineError> {
    let rows = session.query(sql, &[])?.rows;
    Ok(rows
        .into_iter()
        .filter_map(|row| Some((row.first()?.clone()?, row.get(1)?.clone()?)))
        .collect())
}

/// Runs every statement; the first error ends it.
fn all<'s>(
    session: &mut dyn Session,
    statements: impl Iterator<Item = &'s String>,
) -> Result<(), EngineError> {
    for sql in statements {
        session.execute(sql)?;
    }
    Ok(())
}
