//! Ops that open a connection of their own, use it and close it.

use std::time::Instant;

use super::{ClientSession, CountedRows};
use crate::engine::{EngineError, ErrorClass, RowLoad};
use dbdyno_core::model::Connects;

/// Connections one after the other, each for one op.
pub(super) struct Visits<S, F> {
    open: F,
    /// The connection of the op under way, and when it was ready for a statement.
    visit: Option<(S, Instant)>,
    /// Time to open it.
    opened: Connects,
    /// Times of the sessions that were closed.
    closed: Connects,
}

impl<S: ClientSession, F: FnMut() -> Result<S, EngineError>> Visits<S, F> {
    pub(super) fn new(open: F) -> Self {
        Visits { open, visit: None, opened: Connects::default(), closed: Connects::default() }
    }

    fn session(&mut self) -> Result<&mut S, EngineError> {
        let visit = self.visit.as_mut().map(|(session, _)| session);
        visit.ok_or_else(|| EngineError::new(ErrorClass::Statement, "no connection is open"))
    }
}

impl<S: ClientSession, F: FnMut() -> Result<S, EngineError>> ClientSession for Visits<S, F> {
    fn begin(&mut self) -> Result<(), EngineError> {
        self.session()?.begin()
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        self.session()?.commit()
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        // The connection of an op that failed is not used any more.
        self.visit = None;
        Ok(())
    }
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        self.session()?.run(statement, binds)
    }
    fn run_counting(
        &mut self,
        statement: usize,
        binds: &[i64],
    ) -> Result<CountedRows, EngineError> {
        self.session()?.run_counting(statement, binds)
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        self.session()?.load(load)
    }
    fn connect(&mut self) -> Result<(), EngineError> {
        let began = Instant::now();
        let session = (self.open)()?;
        let ready_at = Instant::now();
        let connects = session.connects();
        let known_s = connects.reach_s + connects.encrypt_s + connects.login_s;
        let start_s = ((ready_at - began).as_secs_f64() - known_s).max(0.0);
        self.opened = Connects { opened: 1, start_s, ..connects };
        self.visit = Some((session, ready_at));
        Ok(())
    }
    fn disconnect(&mut self) {
        let Some((session, ready_at)) = self.visit.take() else { return };
        let answered_at = Instant::now();
        drop(session);
        self.opened.statements_s = (answered_at - ready_at).as_secs_f64();
        self.opened.close_s = answered_at.elapsed().as_secs_f64();
        self.closed.merge(&self.opened);
    }
    fn take_connects(&mut self) -> Connects {
        std::mem::take(&mut self.closed)
    }
}
