//! One dbdyno at a time in a database. A session that we hold as long as we change things there has
//! the server's own lock (block `lock.take` of the data set), which the server frees when that
//! session ends, in whatever way we die.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use dbdyno_core::error::{Error, Result};
use dbdyno_engines::engine::{EngineError, ErrorClass, Session};

use super::Site;

/// Timeout for the end of what a killed dbdyno left.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(100);

/// Lock that keeps other dbdyno processes out of a site while this value lives.
pub struct Lock(RefCell<Hold>);

enum Hold {
    /// No lock is needed or possible: something else keeps others out, or the server has none.
    Nothing,
    By(Box<dyn Session>),
    /// The session with the lock was lost, and the lock could not be taken again yet.
    Lost,
}

impl Lock {
    /// Takes the lock of the site, and waits for the end of what a killed dbdyno left at work.
    ///
    /// # Errors
    /// Another dbdyno is at work there: the line says which. The engine's.
    pub fn take(site: &Site<'_>) -> Result<Lock> {
        let deadline = Instant::now() + LOCK_TIMEOUT;
        let held = statement(site)?.map_or(Ok(Hold::Nothing), |sql| hold(site, &sql, deadline))?;
        await_leftovers(site, deadline)?;
        Ok(Lock(RefCell::new(held)))
    }

    /// Takes the lock again if its session was lost, which another one could have used.
    ///
    /// # Errors
    /// As [`Lock::take`].
    pub fn renew(&self, site: &Site<'_>) -> Result<()> {
        let Some(sql) = statement(site)? else { return Ok(()) };
        let mut held = self.0.borrow_mut();
        let lives = match &mut *held {
            Hold::Nothing => true,
            // Whoever holds it gets it once more.
            Hold::By(session) => try_take(session.as_mut(), &sql).unwrap_or(false),
            Hold::Lost => false,
        };
        if !lives {
            // The old session ends first: it may be the one that holds the lock.
            *held = Hold::Lost;
            *held = hold(site, &sql, Instant::now() + LOCK_TIMEOUT)?;
        }
        Ok(())
    }
}

/// Statement that asks for the lock without waiting; none if nothing is to be locked here.
fn statement(site: &Site<'_>) -> Result<Option<String>> {
    site.recipe.sql("lock.take", &site.recipe.values())
}

/// True if this session holds the lock now.
fn try_take(session: &mut dyn Session, sql: &str) -> std::result::Result<bool, EngineError> {
    session.query(sql, &[]).map(|rows| rows.scalar() == Some("1"))
}

/// The lock, as soon as it is free.
fn hold(site: &Site<'_>, sql: &str, deadline: Instant) -> Result<Hold> {
    let mut session = site.session()?;
    loop {
        match try_take(session.as_mut(), sql) {
            Ok(true) => return Ok(Hold::By(session)),
            Ok(false) => {}
            // A server that has no such locks, as in some clusters: then only a dbdyno with a
            // statement under way is seen.
            Err(error) if matches!(error.class, ErrorClass::Statement | ErrorClass::Privilege) => {
                return Ok(Hold::Nothing);
            }
            Err(error) => return Err(site.to_error(error)),
        }
        if Instant::now() > deadline {
            return Err(taken_by_another(site, session.as_mut()));
        }
        std::thread::sleep(POLL);
    }
}

fn taken_by_another(site: &Site<'_>, session: &mut dyn Session) -> Error {
    let holder = site.query(session, "lock.holder", &site.recipe.values()).unwrap_or_default();
    let who = holder.get(0, "who").map(|who| format!(" ({who})")).unwrap_or_default();
    let end = holder
        .get(0, "end")
        .map(|sql| format!("; if it is gone, end its session with: {sql}"))
        .unwrap_or_default();
    at_work(site, &who, &end)
}

/// Waits until no session of a killed dbdyno runs a statement any more.
fn await_leftovers(site: &Site<'_>, deadline: Instant) -> Result<()> {
    let mut session = site.session()?;
    loop {
        let others = site.query(session.as_mut(), "others", &site.recipe.values())?;
        let Some(id) = others.scalar() else { return Ok(()) };
        if Instant::now() > deadline {
            return Err(at_work(site, &format!(" (session {id})"), ", or end that session"));
        }
        std::thread::sleep(POLL);
    }
}

fn at_work(site: &Site<'_>, who: &str, or_else: &str) -> Error {
    Error::target(site.label, format!("another dbdyno is using this database{who}"))
        .advise(format!("wait until it ends{or_else}"))
}
