//! The `null` engine: no database, ops of a stated cost. It measures our own loop (`dbdyno
//! overhead`) and lets the tests of everything above play through errors, lost connections and
//! hanging loads.
//!
//! Its statements are the directives of [`statement::Directives`]. `ConnectTo::settings` that it
//! knows:
//! - `op`: directives added to every statement of a job, e.g. `fail deadlock every 1000`;
//! - `count_factor`: the session counters of a job are multiplied by it (1 = honest), to test
//!   cross-checks;
//! - `load`: `hang` (never gets further, but can be cancelled) or an error class (`disk-full`), met
//!   half way;
//! - `open`: an error class with which opening fails.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::{
    Access, ConnectTo, Database, Engine, EngineError, ErrorClass, JobSpec, Pacer, RowLoad, Rows,
    Session, Version,
};
use dbdyno_core::model::Capabilities;

mod job;
pub mod statement;

use job::NullJob;
use statement::Directives;

/// The engine.
pub struct Null;

impl Engine for Null {
    fn name(&self) -> &'static str {
        "null"
    }
    fn title(&self) -> &'static str {
        "no database: ops of a stated cost, to measure our own loop"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: "null",
            orgs: &["none"],
            parallel_load: true,
            parallel_index: true,
            ..Capabilities::LEAST
        }
    }
    fn is_target(&self) -> bool {
        false
    }
    fn open(&self, target: &ConnectTo, _access: Access) -> Result<Box<dyn Database>, EngineError> {
        let settings = Settings::read(&target.settings)?;
        match settings.open {
            Some(class) => Err(ordered_failure(class)),
            None => Ok(Box::new(NullDatabase { settings, tables: Arc::default() })),
        }
    }
}

#[derive(Debug, Clone)]
struct Settings {
    op: String,
    count_factor: f64,
    load: LoadFault,
    open: Option<ErrorClass>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum LoadFault {
    None,
    Hang,
    Fail(ErrorClass),
}

impl Settings {
    fn read(settings: &BTreeMap<String, String>) -> Result<Self, EngineError> {
        let get = |name: &str| settings.get(name).map(String::as_str);
        let load = match get("load") {
            None => LoadFault::None,
            Some("hang") => LoadFault::Hang,
            Some(name) => LoadFault::Fail(class(name)?),
        };
        let op = get("op").unwrap_or_default().to_string();
        Directives::from_str(&op)?;
        let count_factor = get("count_factor").unwrap_or("1");
        let count_factor =
            count_factor.parse().map_err(|_| wrong(format!("count_factor '{count_factor}'")))?;
        Ok(Settings { op, count_factor, load, open: get("open").map(class).transpose()? })
    }
}

/// The class of this name.
fn class(name: &str) -> Result<ErrorClass, EngineError> {
    let found = ErrorClass::ALL.iter().find(|class| class.name() == name);
    found.copied().ok_or_else(|| wrong(format!("error class '{name}'")))
}

fn wrong(what: impl std::fmt::Display) -> EngineError {
    EngineError::new(ErrorClass::Statement, format!("the null engine does not understand {what}"))
}

fn ordered_failure(class: ErrorClass) -> EngineError {
    EngineError::new(class, format!("the null engine fails as told: {}", class.name()))
}

/// Rows and sum of ids per table that was loaded.
type Tables = Mutex<BTreeMap<String, (u64, u64)>>;

/// The tables; a thread that panicked while it held the lock did no harm to plain counts.
fn lock(tables: &Tables) -> MutexGuard<'_, BTreeMap<String, (u64, u64)>> {
    tables.lock()
}

fn add_rows(tables: &Tables, load: &RowLoad<'_>) {
    let mut tables = lock(tables);
    let (rows, sum) = tables.entry(load.table.to_string()).or_default();
    *rows += load.ids.end - load.ids.start;
    *sum += load.ids.clone().sum::<u64>();
}

struct NullDatabase {
    settings: Settings,
    tables: Arc<Tables>,
}

impl Database for NullDatabase {
    fn version(&self) -> Version {
        Version(vec![1, 0])
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(NullSession { tables: self.tables.clone() }))
    }
    fn run_job(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        for sql in job.session {
            Directives::from_str(sql)?.run()?;
        }
        super::client_loop::drive(job, pacer, |statements| {
            NullJob::prepare(
                statements,
                &self.settings.op,
                self.settings.count_factor,
                self.tables.clone(),
            )
        })
    }
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        let rows = load.ids.end - load.ids.start;
        let cancelled = || {
            EngineError::new(ErrorClass::Cancelled, format!("loading {} was cancelled", load.table))
        };
        for sent in (0..=rows).step_by(10_000).chain([rows]) {
            if !progress(sent) {
                return Err(cancelled());
            }
            match self.settings.load {
                LoadFault::Fail(class) if sent >= rows / 2 => return Err(ordered_failure(class)),
                LoadFault::Hang => {
                    while progress(sent) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    return Err(cancelled());
                }
                _ => {}
            }
        }
        add_rows(&self.tables, load);
        Ok(())
    }
    fn load_method(&self) -> &'static str {
        "none"
    }
}

/// The control session: answers `count TABLE`, `echo` and `rows N`; executes anything that can be
/// read.
struct NullSession {
    tables: Arc<Tables>,
}

impl Session for NullSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        if let Some(table) = sql.strip_prefix("drop ") {
            return Ok(lock(&self.tables).remove(table.trim()).map_or(0, |(rows, _)| rows));
        }
        Directives::from_str(sql)?.run()
    }
    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        if let Some(table) = sql.strip_prefix("count ") {
            let found = lock(&self.tables).get(table.trim()).copied();
            let (rows, sum) = found.ok_or_else(|| wrong(format!("table '{}'", table.trim())))?;
            return Ok(table_of(&["count", "sum"], vec![vec![rows, sum]]));
        }
        if sql.trim() == "echo" {
            let columns = (1..=binds.len()).map(|n| format!("b{n}")).collect();
            let row = binds.iter().map(|bind| Some(bind.to_string())).collect();
            return Ok(Rows { columns, rows: vec![row] });
        }
        let rows = Directives::from_str(sql)?.run()?;
        Ok(table_of(&["id"], (1..=rows).map(|id| vec![id]).collect()))
    }
}

fn table_of(columns: &[&str], rows: Vec<Vec<u64>>) -> Rows {
    let text = |row: Vec<u64>| row.into_iter().map(|value| Some(value.to_string())).collect();
    Rows {
        columns: columns.iter().map(ToString::to_string).collect(),
        rows: rows.into_iter().map(text).collect(),
    }
}

#[cfg(test)]
mod tests;
