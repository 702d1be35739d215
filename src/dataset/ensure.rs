//! Brings the requested tables into being, or finds that they are there.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::engine::Session;
use crate::error::{Error, Kind, Result};
use crate::model::rows::{ROW_STEP, RowFunction, table_rows};
use crate::model::{Facts, LoadResult, TableRef};

use super::{Checksum, LoadEvent, LoadedDataset, Request, Site, Table, Watch, clean, load, space, state, verify};

/// How often somebody looks whether the load is to stop.
const ATTENTION: Duration = Duration::from_millis(100);

/// Makes sure that the tables of `request` are there, loaded and verified.
///
/// # Errors
/// Too little space (nothing created), disk full or an interrupt (the table under way is dropped), wrong rows.
pub fn ensure(site: &Site<'_>, request: &Request, watch: Watch<'_>) -> Result<LoadedDataset> {
    let tables = tables(site, request);
    let found = look(site, &tables)?;
    let missing = tables.iter().zip(&found).filter(|(_, found)| found.is_none());
    if found.iter().any(Option::is_none) {
        space::check(site, missing.map(|(table, _)| table))?;
    }
    let mut loads = Vec::new();
    for (table, found) in tables.iter().zip(found) {
        loads.push(match found {
            Some(known) => reuse(site, table, &known, watch),
            None => load_table(site, table, request.sessions, watch)?,
        });
    }
    let data_set_id = data_set_id(site.definition.revision, &tables);
    Ok(LoadedDataset { tables: facts(site, request, &tables, &loads)?, loads, data_set_id })
}

/// What is known of each table, after leftovers of a killed run are removed.
fn look(site: &Site<'_>, tables: &[Table]) -> Result<Vec<Option<state::Remembered>>> {
    let mut session = site.session()?;
    clean::drop_leftovers(site, session.as_mut())?;
    site.execute(session.as_mut(), "state.create", &site.values())?;
    let find = |table: &Table| {
        let id = data_set_id(site.definition.revision, std::slice::from_ref(table));
        state::find(site, session.as_mut(), table, &id)
    };
    tables.iter().map(find).collect()
}

/// The tables of a request at their size.
pub fn tables(site: &Site<'_>, request: &Request) -> Vec<Table> {
    let table = |table: &TableRef| {
        let rows = RowFunction { table_rows: table_rows(&table.kind, request.size_gb), seed: request.seed };
        Table::new(site, table, rows)
    };
    request.tables.iter().map(table).collect()
}

/// Identifies the rows of these tables, the same on every engine and in every organisation: SHA-256 (hex, 16 digits)
/// over revision, seed, row counts and the checksum of each kind's first rows (which changes if the row function does).
pub fn data_set_id(revision: u32, tables: &[Table]) -> String {
    let mut text = format!("revision={revision}");
    let first_of_kind = |at: &usize| tables[..*at].iter().all(|earlier| earlier.kind != tables[*at].kind);
    for table in (0..tables.len()).filter(first_of_kind).map(|at| &tables[at]) {
        let sample = Checksum::of(table.rows, 1..ROW_STEP + 1);
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

fn reuse(site: &Site<'_>, table: &Table, known: &state::Remembered, watch: Watch<'_>) -> LoadResult {
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
    }
}

/// Loads one table from nothing; on failure drops it again.
fn load_table(site: &Site<'_>, table: &Table, sessions: u32, watch: Watch<'_>) -> Result<LoadResult> {
    forget(site, table)?;
    let loaded = cancellable(site, watch, || build(site, table, load::sessions(site, sessions), watch));
    let loaded = loaded.map_err(|error| undone(site, table, watch, error))?;
    (watch.events)(LoadEvent::Loaded(loaded.clone()));
    Ok(loaded)
}

fn forget(site: &Site<'_>, table: &Table) -> Result<()> {
    let (mut session, values) = (site.session()?, table.values(site));
    site.execute(session.as_mut(), "state.forget", &values)?;
    site.execute(session.as_mut(), "drop", &values).map(|_| ())
}

/// Runs `work`; once the watcher cancels, statements that run are cancelled too until `work` returns.
fn cancellable<T>(site: &Site<'_>, watch: Watch<'_>, work: impl FnOnce() -> T) -> T {
    let (done, wait_for_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while wait_for_done.recv_timeout(ATTENTION) == Err(mpsc::RecvTimeoutError::Timeout) {
                if watch.cancel.load(Relaxed) {
                    site.db.cancel();
                }
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// Drops what a failed load created; the error to tell says so, or that it could not be done.
fn undone(site: &Site<'_>, table: &Table, watch: Watch<'_>, error: Error) -> Error {
    let name = table.full_name(site);
    let dropped = site.session().and_then(|mut fresh| site.execute(fresh.as_mut(), "drop", &table.values(site)));
    let fate = if dropped.is_ok() { "was dropped again" } else { "could not be dropped" };
    let (kind, what) = match watch.cancel.load(Relaxed) {
        true => (Kind::Interrupted, "load interrupted".to_string()),
        false => (error.kind, format!("loading {} failed: {}", table.name, error.what)),
    };
    Error::new(kind, error.place, format!("{what}; table {name} {fate}")).advise(error.advice)
}

fn build(site: &Site<'_>, table: &Table, sessions: u32, watch: Watch<'_>) -> Result<LoadResult> {
    let values = table.values(site);
    let phase = |phase| (watch.events)(LoadEvent::Phase { table: table.name.clone(), phase });
    // No session of ours stays open beside the load: an engine may want the file for itself.
    site.execute(site.session()?.as_mut(), &format!("create.{}", table.org), &values)?;
    phase("rows");
    let rows_s = timed(|| load::rows(site, table, sessions, watch))?;
    phase("indexes");
    let index_s = timed(|| load::indexes(site, table, watch))?;
    phase("statistics");
    let mut session = site.session()?;
    let session = session.as_mut();
    let analyze_s = timed(|| site.execute(session, "analyze", &values).map(|_| ()))?;
    phase("verify");
    let checksum = Checksum::of_table(table.rows, u64::from(sessions));
    verify::check_rows(site, session, table, &checksum, true)?;
    stop_if_cancelled(site, watch)?;
    let sizes = site.query(session, "sizes", &values)?;
    let bytes = |name| sizes.get(0, name).and_then(|text| text.parse().ok()).unwrap_or(0);
    let load = LoadResult {
        table: table.name.clone(),
        rows: table.rows.table_rows,
        table_bytes: bytes("table_bytes"),
        index_bytes: bytes("index_bytes"),
        rows_s,
        index_s,
        analyze_s,
        method: site.db.load_method().to_string(),
        sessions,
        loaded: true,
    };
    let id = data_set_id(site.definition.revision, std::slice::from_ref(table));
    state::remember(site, session, table, &id, &checksum, &load)?;
    Ok(load)
}

/// Seconds that `step` took.
fn timed(step: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    step().map(|()| start.elapsed().as_secs_f64())
}

fn stop_if_cancelled(site: &Site<'_>, watch: Watch<'_>) -> Result<()> {
    if watch.cancel.load(Relaxed) {
        return Err(Error::new(Kind::Interrupted, site.label, "load interrupted"));
    }
    Ok(())
}

/// The facts of every table.
fn facts(site: &Site<'_>, request: &Request, tables: &[Table], loads: &[LoadResult]) -> Result<Vec<(TableRef, Facts)>> {
    let mut session = site.session()?;
    let tables = request.tables.iter().zip(tables.iter().zip(loads));
    tables
        .map(|(named, (table, load))| Ok((named.clone(), table_facts(site, session.as_mut(), table, load)?)))
        .collect()
}

fn table_facts(site: &Site<'_>, session: &mut dyn Session, table: &Table, load: &LoadResult) -> Result<Facts> {
    let kind = &table.kind;
    let mut facts = Facts::from([(format!("{kind}_rows"), table.rows.table_rows as f64)]);
    for rows_per_key in [25, 125, 320] {
        facts.insert(format!("{kind}_key{rows_per_key}"), table.rows.keys(rows_per_key) as f64);
    }
    facts.insert(format!("{kind}_mb"), load.table_bytes as f64 / 1e6);
    let parts = site.query(session, "parts", &table.values(site))?;
    facts
        .extend(parts.scalar().and_then(|parts| parts.parse().ok()).map(|parts: f64| (format!("{kind}_parts"), parts)));
    Ok(facts)
}
