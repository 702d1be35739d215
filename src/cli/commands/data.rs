//! `load`, `verify`, `clean`: the data set of a target, without measuring.

use crate::catalog::Catalog;
use crate::cli::args::TargetArgs;
use crate::cli::console::Console;
use crate::cli::context::{Context, interrupt};
use crate::cli::{out, request};
use crate::engine::Access;
use crate::error::{Error, Kind, Result};
use crate::model::{Plan, Target};
use crate::run::{self, AnswerCheckOutcome, Event, Keep, Platform, Request, RunContext, Sink};
use crate::test_runner::Interrupt;

/// Loads the tables of the chosen suite or workloads and keeps them.
///
/// # Errors
/// Of the target; interrupted.
pub fn load(context: &Context, args: &TargetArgs) -> Result<()> {
    let command = DataCommand::new(context, args)?;
    let plan = command.fitting_plan()?;
    command.with_platform(Keep::Yes, |platform| {
        let events = |event: Event<'_>| command.console.show(&event);
        let loaded = run::load_data(&command.run_context(&plan, &events), platform)?;
        out::print(&format!("loaded: data set {}", loaded.data_set_id))
    })
}

/// Loads the tables that are missing, then checks all rows and the answer of every chosen workload;
/// says what it could not check.
///
/// # Errors
/// Of kind `Check` if something is wrong; of the target.
pub fn verify(context: &Context, args: &TargetArgs) -> Result<()> {
    let command = DataCommand::new(context, args)?;
    let plan = command.fitting_plan()?;
    let wrong = command.with_platform(command.request.keep, |platform| {
        let events = |event: Event<'_>| command.console.show(&event);
        let mut wrong = 0;
        let mut receive = |what: &str, outcome: Result<AnswerCheckOutcome>| -> Result<()> {
            wrong += report(what, outcome)?;
            Ok(())
        };
        run::verify_data(&command.run_context(&plan, &events), platform, &mut receive)?;
        Ok(wrong)
    })?;
    match wrong {
        0 => Ok(()),
        count => Err(Error::new(Kind::Check, "verify", format!("{count} checks failed"))),
    }
}

/// Prints one check; 1 if it failed. Errors that are not findings are passed on.
fn report(what: &str, result: Result<AnswerCheckOutcome>) -> Result<usize> {
    match result {
        Ok(AnswerCheckOutcome::Yes) => out::print(&format!("ok      {what}"))?,
        Ok(AnswerCheckOutcome::No(reason)) => {
            out::print(&format!("-       {what}: not checked: {reason}"))?
        }
        Err(error) if error.kind == Kind::Check => {
            out::print(&format!("WRONG   {error}"))?;
            return Ok(1);
        }
        Err(error) => return Err(error),
    }
    Ok(0)
}

/// Removes exactly what dbdyno made on the target.
///
/// # Errors
/// Of the target; names what cannot be removed.
pub fn clean(context: &Context, args: &TargetArgs) -> Result<()> {
    let command = DataCommand::new(context, args)?;
    match &command.request.target {
        Target::Existing { .. } => {
            command.with_platform(Keep::Yes, |platform| clean_server(&command, platform))
        }
        private => match run::remove_private(private)? {
            None => out::print("nothing to remove"),
            Some(path) => out::print(&format!("removed {}", path.display())),
        },
    }
}

fn clean_server(command: &DataCommand<'_>, platform: &Platform) -> Result<()> {
    let DataCommand { catalog, interrupt, console, .. } = command;
    let cleaned = run::drop_data(catalog, platform, interrupt, &|line| console.note(line))?;
    cleaned.dropped.iter().try_for_each(|name| out::print(&format!("dropped {name}")))?;
    if cleaned.dropped.is_empty() {
        out::print("nothing to remove")?;
    }
    cleaned.foreign.iter().try_for_each(|name| out::print(&format!("left alone, not ours: {name}")))
}

/// Context that the commands of this file share.
struct DataCommand<'a> {
    catalog: Catalog,
    request: Request,
    console: Console,
    interrupt: Interrupt,
    context: &'a Context,
}

impl<'a> DataCommand<'a> {
    fn new(context: &'a Context, args: &TargetArgs) -> Result<DataCommand<'a>> {
        context.text_only()?;
        let catalog = context.catalog()?;
        let request = request::of_target(&catalog, args)?;
        let console = Console::new(context, true);
        Ok(DataCommand { catalog, request, console, interrupt: interrupt()?, context })
    }

    /// Plan of the request, if this machine is large enough for it.
    fn fitting_plan(&self) -> Result<Plan> {
        let plan = self.request.plan(&self.catalog)?;
        request::check_fit(&self.catalog, &self.request, &plan)?;
        Ok(plan)
    }

    /// Context of the library for this plan.
    fn run_context<'c>(&'c self, plan: &'c Plan, events: &'c Sink<'c>) -> RunContext<'c> {
        let DataCommand { catalog, request, interrupt, .. } = self;
        RunContext { catalog, request, plan, interrupt, events, workers: None }
    }

    /// Opens the platform, does the work, and closes the platform, also after an error.
    fn with_platform<T>(&self, keep: Keep, work: impl FnOnce(&Platform) -> Result<T>) -> Result<T> {
        let events = |event: Event<'_>| self.console.show(&event);
        let request = Request { keep, ..self.request.clone() };
        let open = |request: &Request| {
            Platform::open(request, None, Access::Provision, &self.interrupt, &events)
        };
        let ended_by = |error| run::ended_by(&self.interrupt, error);
        let opened = request::with_password(self.context, &request, open);
        let platform = opened.map_err(ended_by)?;
        let result = work(&platform).map_err(ended_by);
        let closed = platform.close(&events);
        if let (Err(_), Err(stays)) = (&result, &closed) {
            events(Event::LeftBehind(&stays.to_string()));
        }
        let finished = self.console.finish();
        let value = result?;
        closed.and(finished)?;
        Ok(value)
    }
}
