//! `load`, `verify`, `clean`: the data set of a target, without measuring.

use parking_lot::Mutex;

use crate::catalog::Catalog;
use crate::cli::args::TargetArgs;
use crate::cli::console::Console;
use crate::cli::context::{Context, interrupt};
use crate::cli::{out, request};
use crate::dataset::{self, Lock};
use crate::engine::Access;
use crate::error::{Error, Kind, Result};
use crate::model::{LeftOut, Plan, Selection, Target};
use crate::run::{self, AnswerCheckOutcome, Event, Keep, Platform, Request, RunContext};

/// Loads the tables of the chosen suite or workloads and keeps them.
///
/// # Errors
/// Of the target; interrupted.
pub fn load(context: &Context, args: &TargetArgs) -> Result<()> {
    let desk = DataCommand::new(context, args)?;
    let plan = desk.fitting_plan()?;
    desk.with_platform(Keep::Yes, |platform| {
        let definition = run::standard_definition(&desk.catalog)?;
        let site = run::make_site(&desk.catalog, platform, &definition, &desk.label)?;
        let lock = Lock::take(&site)?;
        let events = |event: Event<'_>| desk.console.show(&event);
        let loaded =
            run::load_with(&site, &lock, &run::data_request(&plan), &desk.interrupt, &events)?;
        out::print(&format!("loaded: data set {}", loaded.data_set_id))
    })
}

/// Loads what is missing, then checks all rows and the answer of every chosen workload; says what
/// it could not check.
///
/// # Errors
/// Of kind `Check` if something is wrong; of the target.
pub fn verify(context: &Context, args: &TargetArgs) -> Result<()> {
    let desk = DataCommand::new(context, args)?;
    let plan = desk.fitting_plan()?;
    let wrong =
        desk.with_platform(desk.request.keep, |platform| verify_on(&desk, &plan, platform))?;
    match wrong {
        0 => Ok(()),
        count => Err(Error::new(Kind::Check, "verify", format!("{count} checks failed"))),
    }
}

fn verify_on(desk: &DataCommand<'_>, plan: &Plan, platform: &Platform) -> Result<usize> {
    let events = |event: Event<'_>| desk.console.show(&event);
    let DataCommand { catalog, request, interrupt, .. } = desk;
    let plan = run::adapt_plan(
        &RunContext { catalog, request, plan, interrupt, events: &events, workers: None },
        platform,
    )?;
    let definition = run::standard_definition(&desk.catalog)?;
    let site = run::make_site(&desk.catalog, platform, &definition, &desk.label)?;
    let lock = Lock::take(&site)?;
    let data = run::data_request(&plan);
    run::spare(&site, &plan, &events)?;
    let loaded = run::load_with(&site, &lock, &data, &desk.interrupt, &events)?;
    let verify = || dataset::verify(&site, &data).map(|()| AnswerCheckOutcome::Yes);
    let verified = run::interruptible(&site, &desk.interrupt, verify);
    let mut wrong = report(&format!("data set {}", loaded.data_set_id), verified)?;
    for selection in &plan.selections {
        let facts = loaded.facts_for(&selection.tables);
        let check = || run::check_answers(site.db, &plan, selection, &facts);
        wrong += report(&name(selection), run::interruptible(&site, &desk.interrupt, check))?;
    }
    for LeftOut { label, reason } in &plan.left_out {
        wrong += report(label, Ok(AnswerCheckOutcome::No(reason.clone())))?;
    }
    Ok(wrong)
}

/// A workload with the parameters that were chosen for it.
fn name(selection: &Selection) -> String {
    let params: Vec<String> =
        selection.chosen.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let id = &selection.workload.id;
    if params.is_empty() { id.clone() } else { format!("{id}:{}", params.join(",")) }
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
    let desk = DataCommand::new(context, args)?;
    match &desk.request.target {
        Target::Existing { .. } => {
            desk.with_platform(Keep::Yes, |platform| clean_server(&desk, platform))
        }
        private => match run::remove_private(private)? {
            None => out::print("nothing to remove"),
            Some(path) => out::print(&format!("removed {}", path.display())),
        },
    }
}

fn clean_server(desk: &DataCommand<'_>, platform: &Platform) -> Result<()> {
    let definition = run::standard_definition(&desk.catalog)?;
    let site = run::make_site(&desk.catalog, platform, &definition, &desk.label)?;
    let lock = Lock::take(&site)?;
    let holder = Mutex::new(None);
    let tell = |line: &str| {
        desk.console.note(line);
        *holder.lock() = Some(line.to_string());
    };
    let drop_all = || dataset::while_telling(&site, &tell, || dataset::drop_all(&site, &lock));
    let cleaned = run::interruptible(&site, &desk.interrupt, drop_all);
    let holder = holder.into_inner();
    let cleaned = cleaned.map_err(|error| match (error.kind, holder) {
        (Kind::Interrupted, Some(holder)) => {
            Error::new(Kind::Interrupted, desk.label.clone(), format!("interrupted while {holder}"))
        }
        _ => error,
    })?;
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
    interrupt: crate::test_runner::Interrupt,
    /// The target as shown to the user.
    label: String,
    context: &'a Context,
}

impl<'a> DataCommand<'a> {
    fn new(context: &'a Context, args: &TargetArgs) -> Result<DataCommand<'a>> {
        context.text_only()?;
        let catalog = context.catalog()?;
        let request = request::of_target(&catalog, args)?;
        let console = Console::new(context, true);
        let label = request.target.label();
        Ok(DataCommand { catalog, request, console, interrupt: interrupt()?, label, context })
    }

    /// Plan of the request, if this machine is large enough for it.
    fn fitting_plan(&self) -> Result<Plan> {
        let plan = self.request.plan(&self.catalog)?;
        request::check_fit(&self.catalog, &self.request, &plan)?;
        Ok(plan)
    }

    /// Opens the platform, does the work, closes it whatever happened.
    fn with_platform<T>(&self, keep: Keep, work: impl FnOnce(&Platform) -> Result<T>) -> Result<T> {
        let events = |event: Event<'_>| self.console.show(&event);
        let request = Request { keep, ..self.request.clone() };
        let open = |request: &Request| Platform::open(request, None, Access::Provision, &events);
        let ended_by = |error| run::ended_by(&self.interrupt, error);
        let opened = request::with_password(self.context, &request, open);
        let mut platform = opened.map_err(ended_by)?;
        platform.heed(&self.interrupt);
        let result = work(&platform).map_err(ended_by);
        let keep_closed = platform.close(&events);
        let finished = self.console.finish();
        let value = result?;
        keep_closed.and(finished)?;
        Ok(value)
    }
}
