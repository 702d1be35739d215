//! Input of the catalog report in addition to the catalog: every workload's SQL as it would run on
//! each engine.

use super::show::selection;
use crate::catalog::Catalog;
use crate::cli::context::Context;
use crate::engine::{ENGINES, Engine};
use crate::error::Result;
use crate::model::{Drive, SqlPiece, Workload};
use crate::plan;
use crate::report::document::Code;
use crate::report::{Input, Statements};

/// The catalog with the SQL of every workload, engine and drive.
///
/// # Errors
/// A broken catalog.
pub fn input(context: &Context, command: String) -> Result<Input> {
    Ok(Input { command, ..input_from(&context.catalog()?) })
}

/// Input of a report about this catalog.
pub fn input_from(catalog: &Catalog) -> Input {
    let statements =
        catalog.workloads().flat_map(|workload| on_engines(catalog, workload)).collect();
    Input { statements, catalog: catalog.clone(), ..Input::default() }
}

fn on_engines(catalog: &Catalog, workload: &Workload) -> Vec<Statements> {
    let engines = ENGINES.iter().filter(|engine| engine.is_target());
    engines.flat_map(|engine| on_engine(catalog, workload, *engine)).collect()
}

/// One entry per drive; one with the reason if the engine cannot run the workload at all.
fn on_engine(catalog: &Catalog, workload: &Workload, engine: &dyn Engine) -> Vec<Statements> {
    let entry = |drive: &str, sql| Statements {
        workload: workload.id.clone(),
        engine: engine.name().into(),
        drive: drive.into(),
        sql,
    };
    if let Some(reason) = workload.unsupported.get(engine.name()) {
        return vec![entry("", Err(reason.clone()))];
    }
    let drives = engine.capabilities().drives.iter();
    drives.map(|drive| entry(drive.name(), sql(catalog, workload, engine, *drive))).collect()
}

fn sql(
    catalog: &Catalog,
    workload: &Workload,
    engine: &dyn Engine,
    drive: Drive,
) -> std::result::Result<Vec<Code>, String> {
    if let Some(reason) = workload.undrivable.get(drive.name()) {
        return Err(reason.clone());
    }
    let selection =
        selection(catalog, &workload.id, engine, Some(drive)).map_err(|error| error.what)?;
    let code = |piece: SqlPiece| Code { caption: piece.caption, text: piece.sql };
    Ok(plan::show(&selection).into_iter().map(code).collect())
}
