//! Brings the requested tables into being, or finds that they are there.

use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::fit;
use dbdyno_core::error::Result;
use dbdyno_core::model::rows::ROW_STEP;
use dbdyno_core::model::{DataFiles, Facts, LoadResult, TableRef};
use dbdyno_engines::engine::Session;

use super::build::{Begun, Builder};
use super::forecast::{Forecast, Todo};
use super::state::Remembered;
use super::{
    Checksum, LoadEvent, LoadedDataset, Lock, Recipe, Request, Site, Table, Watch, chunks, clean,
    load, state,
};

/// State of a table before loading.
enum Found {
    Complete(Remembered),
    /// These rows are in, from a load that broke off.
    Begun(Vec<Range<u64>>),
    Nothing,
}

impl Found {
    fn rows_in(&self) -> u64 {
        match self {
            Found::Begun(done) => chunks::rows_in(done),
            Found::Complete(_) | Found::Nothing => 0,
        }
    }
}

/// Makes sure that the tables of `request` are there, loaded and verified. A load that broke off
/// goes on where it was.
///
/// # Errors
/// The lock was lost, and another dbdyno has it; too little space (nothing created), disk full, a
/// lost connection or an interrupt (the line says whether what is loaded stays), wrong rows.
pub fn ensure(
    site: &Site<'_>,
    lock: &Lock,
    request: &Request,
    watch: Watch<'_>,
) -> Result<LoadedDataset> {
    lock.renew(site)?;
    let tables = tables(&site.recipe, request);
    let found = look(site, &tables)?;
    let missing =
        || tables.iter().zip(&found).filter(|(_, found)| !matches!(found, Found::Complete(_)));
    if missing().next().is_some() {
        let rows = missing().map(|(table, found)| table.rows.table_rows - found.rows_in()).sum();
        fit::check_load(rows, site.db.storage_path().as_deref(), site.label)?;
        check_file_size(site, &tables)?;
    }
    let todo = missing().map(|(table, found)| {
        let rows = table.rows.table_rows;
        Todo {
            rows,
            missing: rows - found.rows_in(),
            indexes: site.recipe.definition.indexes.len(),
        }
    });
    let builder = Builder::new(
        site,
        load::sessions(site, request.sessions),
        watch,
        Forecast::new(&todo.collect::<Vec<_>>()),
    );
    let mut loads = Vec::new();
    for (table, found) in tables.iter().zip(found) {
        let id = data_set_id(site.recipe.definition.revision, std::slice::from_ref(table));
        loads.push(match found {
            Found::Complete(known) => reuse(site, table, &known, watch),
            Found::Begun(done) => builder.load(table, &id, &Begun { done })?,
            Found::Nothing => builder.load(table, &id, &Begun::default())?,
        });
    }
    let data_set_id = data_set_id(site.recipe.definition.revision, &tables);
    Ok(LoadedDataset { tables: facts(site, request, &tables, &loads)?, loads, data_set_id })
}

/// Fails if the tables need a longer file than the database can write; passes where its processes
/// are not known.
fn check_file_size(site: &Site<'_>, tables: &[Table]) -> Result<()> {
    let (capabilities, processes) = (&site.recipe.capabilities, site.db.server_pids());
    if !capabilities.in_process && processes.is_empty() {
        return Ok(());
    }
    // Another organization may keep a table in files of its parts.
    let is_counted = |table: &&Table| {
        capabilities.data_files == DataFiles::One || table.org == capabilities.default_org()
    };
    let rows: Vec<u64> =
        tables.iter().filter(is_counted).map(|table| table.rows.table_rows).collect();
    fit::check_file_size(&rows, capabilities.data_files, &processes, site.label)
}

/// State of each table, after leftovers of a killed run are removed.
fn look(site: &Site<'_>, tables: &[Table]) -> Result<Vec<Found>> {
    let prefix = site.recipe.capabilities.prefix;
    let state = ["state", "state_chunks"].map(|name| format!("{prefix}{name}"));
    let names = tables.iter().map(|table| table.full_name(&site.recipe)).chain(state);
    clean::spared(site, &names.collect::<Vec<_>>())?;
    let mut session = site.session()?;
    clean::drop_leftovers(site, session.as_mut())?;
    for block in ["state.create", "chunks.create"] {
        site.execute(session.as_mut(), block, &site.recipe.values())?;
    }
    tables.iter().map(|table| look_for(site, session.as_mut(), table)).collect()
}

fn look_for(site: &Site<'_>, session: &mut dyn Session, table: &Table) -> Result<Found> {
    let id = data_set_id(site.recipe.definition.revision, std::slice::from_ref(table));
    if let Some(known) = state::find(site, session, table, &id)? {
        return Ok(Found::Complete(known));
    }
    let done = chunks::found(site, session, table, &id)?;
    Ok(if done.is_empty() { Found::Nothing } else { Found::Begun(done) })
}

/// The tables of a request at their size.
pub fn tables(recipe: &Recipe<'_>, request: &Request) -> Vec<Table> {
    request
        .tables
        .iter()
        .map(|table| Table::of_size(recipe, table, request.size_gb, request.seed))
        .collect()
}

/// Identifies the rows of these tables, the same on every engine and in every organisation: SHA-256
/// (hex, 16 digits) over revision, seed, row counts and the checksum of each kind's first rows
/// (which changes if the row function does).
pub fn data_set_id(revision: u32, tables: &[Table]) -> String {
    let mut text = format!("revision={revision}");
    let first_of_kind =
        |at: &usize| tables[..*at].iter().all(|earlier| earlier.kind != tables[*at].kind);
    for table in (0..tables.len()).filter(first_of_kind).map(|at| &tables[at]) {
        let sample = Checksum::compute(table.rows, 1..ROW_STEP + 1);
        text.push_str(&format!(
            "\n{} rows={} seed={} {sample}",
            table.kind,
            table.rows.table_rows,
            table.rows.seed_part()
        ));
    }
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn reuse(site: &Site<'_>, table: &Table, known: &Remembered, watch: Watch<'_>) -> LoadResult {
    (watch.events)(LoadEvent::Reused { table: table.name.clone(), rows: table.rows.table_rows });
    LoadResult {
        table: table.name.clone(),
        rows: table.rows.table_rows,
        table_bytes: known.table_bytes,
        index_bytes: known.index_bytes,
        rows_s: 0.0,
        index_s: 0.0,
        analyze_s: 0.0,
        method: site.db.load_method().to_string(),
        sessions: 0,
        loaded: false,
        resumed_rows: 0,
    }
}

/// The facts of every table.
fn facts(
    site: &Site<'_>,
    request: &Request,
    tables: &[Table],
    loads: &[LoadResult],
) -> Result<Vec<(TableRef, Facts)>> {
    let mut session = site.session()?;
    let tables = request.tables.iter().zip(tables.iter().zip(loads));
    tables
        .map(|(named, (table, load))| {
            Ok((named.clone(), table_facts(site, session.as_mut(), table, load)?))
        })
        .collect()
}

fn table_facts(
    site: &Site<'_>,
    session: &mut dyn Session,
    table: &Table,
    load: &LoadResult,
) -> Result<Facts> {
    let kind = &table.kind;
    let mut facts = Facts::from([(format!("{kind}_rows"), table.rows.table_rows as f64)]);
    for rows_per_key in [25, 125, 320] {
        facts.insert(format!("{kind}_key{rows_per_key}"), table.rows.keys(rows_per_key) as f64);
    }
    facts.insert(format!("{kind}_mb"), load.table_bytes as f64 / 1e6);
    let parts = site.query(session, "parts", &table.values(&site.recipe))?;
    for column in ["parts", "block_bytes"] {
        let value = parts.get(0, column).and_then(|value| value.parse::<f64>().ok());
        facts.extend(value.map(|value| (format!("{kind}_{column}"), value)));
    }
    Ok(facts)
}
