//! Catch-up after a test: the database finishes the work that the test made it defer, and the time
//! is measured.

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
/// Block of a query of statements that do the deferred work.
const WORK: &str = "pay.work";
/// Block of a query of pairs of statements for a private server: the first makes it work faster,
/// the second undoes that.
const SPEED_UP: &str = "pay.hurry";
/// Block of a query of statements for a private server, which are repeated while work is left:
/// doing some of it may defer more.
const AGAIN: &str = "pay.again";

/// Interval between two reads of the gauges.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Time without progress after which the database is no longer waited for.
const STALL_TIMEOUT: Duration = Duration::from_millis(300);
/// The same for a server that was made to work faster: a page cleaner only runs once a second.
const FLUSH_STALL_TIMEOUT: Duration = Duration::from_secs(3);

/// Makes the database finish deferred work after a test (checkpoint, vacuum, flush) and times it.
pub struct CatchUp<'a> {
    database: &'a dyn Database,
    interrupt: &'a Interrupt,
    gauges: Option<String>,
    work: Option<String>,
    speed_up: Option<String>,
    again: Option<String>,
}

impl<'a> CatchUp<'a> {
    /// None for a plan without commits, and for an engine whose deferred work the catalog does not
    /// describe.
    pub fn open(context: &RunContext<'a>, platform: &'a Platform) -> Option<CatchUp<'a>> {
        let database = platform.database.as_ref();
        let blocks = context.catalog.probes(platform.engine.name(), &database.version().0);
        let sql = |name: &str| find(&blocks, name);
        let is_not_existing = !matches!(context.request.target, Target::Existing { .. });
        let of_private = |name: &str| sql(name).filter(|_| is_not_existing);
        let (gauges, work) = (sql(GAUGES), sql(WORK));
        let (speed_up, again) = (of_private(SPEED_UP), of_private(AGAIN));
        let commits = context
            .plan
            .selections
            .iter()
            .flat_map(|selection| &selection.parts)
            .any(|part| part.commits);
        let is_possible = commits && (gauges.is_some() || work.is_some());
        let interrupt = context.interrupt;
        is_possible.then_some(CatchUp { database, interrupt, gauges, work, speed_up, again })
    }

    /// Seconds until the work is done that was deferred between the counters `begin` and `end`, or
    /// until no progress is made.
    ///
    /// # Errors
    /// Errors of the database, with the statement; class `Cancelled` after an interrupt.
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
        let speed_ups =
            self.speed_up.as_deref().map_or(Ok(Vec::new()), |sql| query_speed_ups(session, sql))?;
        let began = Instant::now();
        let caught_up = execute_all(session, speed_ups.iter().map(|speed_up| &speed_up.apply))
            .and_then(|()| list_statements(session, self.work.as_deref()))
            .and_then(|work| execute_all(session, work.iter()))
            .and_then(|()| self.await_gauges(session, begin, end));
        let took_s = began.elapsed().as_secs_f64();
        let undone = execute_all(session, speed_ups.iter().rev().map(|speed_up| &speed_up.undo));
        caught_up.and(undone).map(|()| took_s)
    }

    fn await_gauges(
        &self,
        session: &mut dyn Session,
        begin: &Counters,
        end: &Counters,
    ) -> Result<(), EngineError> {
        let Some(sql) = &self.gauges else { return Ok(()) };
        let timeout = if self.speed_up.is_some() { FLUSH_STALL_TIMEOUT } else { STALL_TIMEOUT };
        let again = list_statements(session, self.again.as_deref())?;
        let (mut lowest, mut fell_at) = (end.clone(), Instant::now());
        loop {
            let mut now = Counters::default();
            take(&session.query(sql, &[])?, &mut now);
            if !is_owed(begin, end, &now) || fell_at.elapsed() >= timeout || self.interrupt.is_set()
            {
                return Ok(());
            }
            execute_all(session, again.iter())?;
            for (name, value) in now.0 {
                if lowest.get(&name).is_none_or(|lowest| value < lowest) {
                    lowest.set(name, value);
                    fell_at = Instant::now();
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

/// Statements that make a private server work faster, and undo that.
struct SpeedUp {
    apply: String,
    undo: String,
}

fn query_speed_ups(session: &mut dyn Session, sql: &str) -> Result<Vec<SpeedUp>, EngineError> {
    let rows = session.query(sql, &[])?.rows;
    let speed_up = |row: Vec<Option<String>>| {
        let mut cells = row.into_iter();
        Some(SpeedUp { apply: cells.next()??, undo: cells.next()?? })
    };
    Ok(rows.into_iter().filter_map(speed_up).collect())
}

/// Executes the statements in order, up to the first error.
fn execute_all<'s>(
    session: &mut dyn Session,
    statements: impl Iterator<Item = &'s String>,
) -> Result<(), EngineError> {
    for sql in statements {
        session.execute(sql)?;
    }
    Ok(())
}
