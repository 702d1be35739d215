//! The common part of all commands that measure one target: the check whether the plan fits,
//! Ctrl-C, the password if the server wants one, and the console.

use parking_lot::Mutex;

use super::console::Console;
use super::context::{Context, interrupt};
use super::request;
use crate::catalog::Catalog;
use crate::error::Result;
use crate::model::Plan;
use crate::run::{Event, Request, RunContext, Sink};
use crate::test_runner::{Interrupt, Workers};

/// A request with its plan, which fits the target, ready to be measured.
pub struct Measuring<'a> {
    context: &'a Context,
    catalog: &'a Catalog,
    request: &'a Request,
    plan: &'a Plan,
    /// From the begin on Ctrl-C ends what is measured, not the program.
    interrupt: Interrupt,
}

impl<'a> Measuring<'a> {
    /// Checks that the plan fits, then listens to Ctrl-C.
    ///
    /// # Errors
    /// As [`request::check_fit`]; if the system refuses a signal handler.
    pub fn begin(
        context: &'a Context,
        catalog: &'a Catalog,
        request: &'a Request,
        plan: &'a Plan,
    ) -> Result<Self> {
        request::check_fit(catalog, request, plan)?;
        Ok(Measuring { context, catalog, request, plan, interrupt: interrupt()? })
    }

    /// Does the work, whose events a console of its own shows by `show`.
    ///
    /// # Errors
    /// Those of the work; if nothing can be printed.
    pub fn on_console<T>(
        &self,
        show: fn(&Console, &Event<'_>),
        work: impl FnMut(&RunContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let console = Console::new(self.context, true);
        let events = |event: Event<'_>| show(&console, &event);
        let done = self.with_events(&events, None, work);
        console.finish()?;
        done
    }

    /// Does the work, whose events go to `events` and whose jobs are run by the load generators, if
    /// there are some. If a password lacks, it is done once more with the one that the user types.
    ///
    /// # Errors
    /// Those of the work.
    pub fn with_events<T>(
        &self,
        events: &Sink<'_>,
        workers: Option<&Mutex<dyn Workers>>,
        mut work: impl FnMut(&RunContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let Measuring { context, catalog, request, plan, interrupt } = self;
        request::with_password(context, request, |request| {
            work(&RunContext { catalog, request, plan, interrupt, events, workers })
        })
    }
}
