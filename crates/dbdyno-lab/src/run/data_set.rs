//! The data set of a target without measuring: it is loaded, verified or removed.

use parking_lot::Mutex;

use super::answers::{self, AnswerCheckOutcome};
use super::measured_run::{
    RunContext, adapt_plan, data_request, interruptible, load_with, make_site, spare,
    standard_definition,
};
use super::platform::Platform;
use crate::dataset::{self, DroppedObjects, LoadedDataset, Lock};
use crate::test_runner::Interrupt;
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{LeftOut, Selection};

/// Receiver of the checks of [`verify_data`]: the name of what was checked, and the outcome. An
/// error that it returns ends the verification.
pub type CheckReceiver<'r> = dyn FnMut(&str, Result<AnswerCheckOutcome>) -> Result<()> + 'r;

/// Loads the tables of the plan, as far as they are missing.
///
/// # Errors
/// Of the target; interrupted.
pub fn load_data(context: &RunContext<'_>, platform: &Platform) -> Result<LoadedDataset> {
    let definition = standard_definition(context.catalog)?;
    let label = platform.label();
    let site = make_site(context.catalog, platform, &definition, &label)?;
    let lock = Lock::take(&site)?;
    load_with(&site, &lock, &data_request(context.plan), context.interrupt, context.events)
}

/// Loads the tables that are missing, then checks all rows, and the answers of every workload of
/// the plan that the platform can run.
///
/// # Errors
/// Of the target; interrupted; those of `receive`.
pub fn verify_data(
    context: &RunContext<'_>,
    platform: &Platform,
    receive: &mut CheckReceiver<'_>,
) -> Result<()> {
    let RunContext { catalog, interrupt, events, .. } = *context;
    let plan = adapt_plan(context, platform)?;
    let definition = standard_definition(catalog)?;
    let label = platform.label();
    let site = make_site(catalog, platform, &definition, &label)?;
    let lock = Lock::take(&site)?;
    let data = data_request(&plan);
    spare(&site, &plan, events)?;
    let loaded = load_with(&site, &lock, &data, interrupt, events)?;
    let verify = || dataset::verify(&site, &data).map(|()| AnswerCheckOutcome::Yes);
    let verified = interruptible(&site, interrupt, verify);
    receive(&format!("data set {}", loaded.data_set_id), verified)?;
    for selection in &plan.selections {
        let facts = loaded.facts_for(&selection.tables);
        let check = || answers::check(site.db, &plan, selection, &facts);
        receive(&name_with_parameters(selection), interruptible(&site, interrupt, check))?;
    }
    for LeftOut { label, reason } in &plan.left_out {
        receive(label, Ok(AnswerCheckOutcome::No(reason.clone())))?;
    }
    Ok(())
}

/// A workload with the parameters that were chosen for it.
fn name_with_parameters(selection: &Selection) -> String {
    let params: Vec<String> =
        selection.chosen.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let id = &selection.workload.id;
    if params.is_empty() { id.clone() } else { format!("{id}:{}", params.join(",")) }
}

/// Drops everything on a server that dbdyno created there. While a drop waits for a lock of another
/// session, `report` is called with a line about that session.
///
/// # Errors
/// Of the target; interrupted, with the session that was waited for.
pub fn drop_data(
    catalog: &Catalog,
    platform: &Platform,
    interrupt: &Interrupt,
    report: &(dyn Fn(&str) + Sync),
) -> Result<DroppedObjects> {
    let definition = standard_definition(catalog)?;
    let label = platform.label();
    let site = make_site(catalog, platform, &definition, &label)?;
    let lock = Lock::take(&site)?;
    let holder = Mutex::new(None);
    let tell = |line: &str| {
        report(line);
        *holder.lock() = Some(line.to_string());
    };
    let drop_all = || dataset::while_telling(&site, &tell, || dataset::drop_all(&site, &lock));
    let dropped = interruptible(&site, interrupt, drop_all);
    let holder = holder.into_inner();
    dropped.map_err(|error| match (error.kind, holder) {
        (Kind::Interrupted, Some(holder)) => {
            Error::new(Kind::Interrupted, label.clone(), format!("interrupted while {holder}"))
        }
        _ => error,
    })
}
