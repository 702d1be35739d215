//! A skeleton of an engine, to copy from: every part that CONTRIBUTING's recipe asks for, with
//! tables in memory in the place of a database. The contract test runs on it as on every engine; it
//! is compiled with the tests and never shipped.
//!
//! A real engine is a folder in `crates/dbdyno-engines/src/engine/` with the same parts: the engine
//! (what it is and can do, how to open it), the open database, the control session, and the job's
//! session of the client drive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dbdyno::catalog::Catalog;
use dbdyno::engine::client_loop::{self, ClientSession};
use dbdyno::engine::{
    Access, AfterError, ConnectTo, Database, Engine, EngineError, ErrorClass, JobSpec, Pacer,
    RowLoad, Rows, Session, Slice, SliceReport, Version,
};
use dbdyno::model::rows::{RowFunction, table_rows};
use dbdyno::model::{AskedRamp, BoundStatement, Capabilities, Counters, Facts, Target};
use dbdyno::plan::{self, Request};

/// Reasons for table organizations that others have and this engine lacks; those not listed are
/// lacking without a reason.
const LACKING_ORGS: &[(&str, &str)] =
    &[("iot", "a set of ids has one order only"), ("hash", "a set of ids has one order only")];

/// The engine; a real one has its line in `ENGINES`.
pub struct Skeleton;

impl Engine for Skeleton {
    /// As on the command line and in the names of the catalog's files: `probes/skeleton.sql`.
    fn name(&self) -> &'static str {
        "skeleton"
    }
    fn title(&self) -> &'static str {
        "tables in memory, to copy from"
    }
    /// Capabilities beyond an embedded engine that can do the least; a server starts from
    /// `Capabilities::SERVER`.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: "Skeleton",
            orgs: &["heap"],
            unsupported_orgs: LACKING_ORGS,
            ..Capabilities::LEAST
        }
    }
    /// A server reads `target.url()?` and connects, an embedded engine opens `target.file` with
    /// `target.settings`. Here belong the checks of version and privileges; nothing may be created
    /// if `access` is `Access::Inspect`.
    fn open(&self, _target: &ConnectTo, _access: Access) -> Result<Box<dyn Database>, EngineError> {
        Ok(Box::new(SkeletonDatabase::default()))
    }
}

/// Ids of the rows of every table. A real engine has its connection's address here.
type Tables = Mutex<BTreeMap<String, BTreeSet<u64>>>;

fn lock(tables: &Tables) -> MutexGuard<'_, BTreeMap<String, BTreeSet<u64>>> {
    tables.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The open database; used from any thread.
#[derive(Default)]
struct SkeletonDatabase {
    tables: Arc<Tables>,
}

impl Database for SkeletonDatabase {
    fn version(&self) -> Version {
        Version(vec![1, 0])
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(SkeletonSession { tables: self.tables.clone() }))
    }
    /// The loop is shared: it asks for the session after it knows the statements. An engine with
    /// stored routines matches `job.code` first, and calls its slices by `engine::slices`.
    fn run_job(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        client_loop::drive(job, pacer, |statements| {
            SkeletonJob::prepare(self.tables.clone(), statements)
        })
    }
    /// One stream, one transaction: all rows or none. A real engine sends `load.rows` by its
    /// fastest path.
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        let rows = load.ids.end - load.ids.start;
        for sent in (0..=rows).step_by(10_000).chain([rows]) {
            if !progress(sent) {
                let message = format!("loading {} was cancelled", load.table);
                return Err(EngineError::new(ErrorClass::Cancelled, message));
            }
        }
        lock(&self.tables).entry(load.table.into()).or_default().extend(load.ids.clone());
        Ok(())
    }
    fn load_method(&self) -> &'static str {
        "insert"
    }
}

/// Statements that the skeleton understands instead of SQL.
#[derive(Clone)]
enum Statement {
    /// `create TABLE`
    Create(String),
    /// `count TABLE`: rows and sum of ids
    Count(String),
    /// `echo`: its binds
    Echo,
    /// `lookup TABLE ?1`: the row of this id
    Lookup(String),
}

/// Errors have a class by which callers decide: here, that the statement is wrong.
fn parse(sql: &str) -> Result<Statement, EngineError> {
    Ok(match sql.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["create", table] => Statement::Create((*table).into()),
        ["count", table] => Statement::Count((*table).into()),
        ["echo"] => Statement::Echo,
        ["lookup", table, "?1"] => Statement::Lookup((*table).into()),
        _ => {
            return Err(EngineError::new(
                ErrorClass::Statement,
                format!("the skeleton does not understand '{sql}'"),
            ));
        }
    })
}

/// The control session: creating, checking, probing; results as text.
struct SkeletonSession {
    tables: Arc<Tables>,
}

impl Session for SkeletonSession {
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
        if let Statement::Create(table) = parse(sql)? {
            lock(&self.tables).entry(table).or_default();
        }
        Ok(0)
    }
    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError> {
        let statement = parse(sql)?;
        let tables = lock(&self.tables);
        let row = |columns: &[&str], values: Vec<String>| Rows {
            columns: columns.iter().map(ToString::to_string).collect(),
            rows: vec![values.into_iter().map(Some).collect()],
        };
        Ok(match statement {
            Statement::Count(table) => {
                let ids = tables.get(&table).ok_or_else(|| missing(&table))?;
                row(
                    &["count", "sum"],
                    vec![ids.len().to_string(), ids.iter().sum::<u64>().to_string()],
                )
            }
            Statement::Echo => row(&["a", "b"], binds.iter().map(i64::to_string).collect()),
            Statement::Create(_) | Statement::Lookup(_) => Rows::default(),
        })
    }
}

fn missing(table: &str) -> EngineError {
    EngineError::new(ErrorClass::Statement, format!("there is no table {table}"))
}

/// A job's session with its statements prepared, named by their position.
struct SkeletonJob {
    tables: Arc<Tables>,
    statements: Vec<Statement>,
}

impl SkeletonJob {
    /// A wrong statement is told here, before the gate, not in the loop.
    fn prepare(tables: Arc<Tables>, statements: &[&BoundStatement]) -> Result<Self, EngineError> {
        let statements =
            statements.iter().map(|statement| parse(&statement.sql)).collect::<Result<_, _>>()?;
        Ok(SkeletonJob { tables, statements })
    }
}

impl ClientSession for SkeletonJob {
    fn begin(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    /// The measured loop: no allocation, no more than the statement itself; returns the rows
    /// fetched.
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        let Statement::Lookup(table) = &self.statements[statement] else { return Ok(0) };
        let tables = lock(&self.tables);
        let ids = tables.get(table).ok_or_else(|| missing(table))?;
        let id = binds.first().and_then(|id| u64::try_from(*id).ok());
        Ok(id.is_some_and(|id| ids.contains(&id)).into())
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        lock(&self.tables).entry(load.table.into()).or_default().extend(load.ids.clone());
        Ok(())
    }
}

/// The catalog's part of an engine, with one workload: `probes/` makes its name known, each
/// workload folder has the statements in its own dialect, and its own file says what it cannot do.
const FILES: [(&str, &str); 4] = [
    ("probes/skeleton.sql", "-- name: version\nversion\n"),
    (
        "workloads/mine/group.toml",
        r#"
id = "MINE"
title = "Workloads of our own"

[[workload]]
id = "MINE-LOOKUP"
title = "one row by its id"
revision = 1
tables = ["small"]
kpm = { value = "ops", unit = "qps", better = "higher" }
binds = { id = { random = "small_rows" } }
client = [{ steps = ["get"] }]

[[workload]]
id = "MINE-SORT"
title = "rows in order"
revision = 1
kpm = { value = "ops", unit = "qps", better = "higher" }
client = [{ steps = ["get"] }]
"#,
    ),
    ("workloads/mine/skeleton.sql", "-- name: MINE-LOOKUP.get\nlookup {{small}} :id\n"),
    ("workloads/mine/skeleton.toml", "[MINE-SORT]\nunsupported = \"the skeleton does not sort\"\n"),
];

/// Gives one slice, and keeps what it did.
struct OneSlice {
    ops: Option<u64>,
    done: Vec<(u64, u64)>,
}

impl Pacer for OneSlice {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        self.ops.take().map(|max_ops| Slice { seconds: 60.0, max_ops, stride: 1 })
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        self.done.push((report.tally.ops, report.tally.rows));
    }
    fn op_failed(&mut self, _error: &EngineError) -> AfterError {
        AfterError::Stop
    }
    fn session_counters(&mut self, _counters: Counters) {}
}

#[test]
fn the_recipe_of_an_engine_gives_a_planned_workload_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let catalog = Catalog::only_dir(dir.path()).unwrap_or_else(|error| panic!("{error}"));
    let request = |workload: &str| Request {
        workloads: vec![workload.into()],
        jobs: Some(AskedRamp::single(1)),
        size_gb: Some(0.25),
        ..Request::new(Skeleton.name(), Skeleton.capabilities(), 1)
    };
    let refused = plan::build(&catalog, &request("MINE-SORT")).unwrap_err().to_string();
    assert!(refused.contains("the skeleton does not sort"), "{refused}");
    let plan =
        plan::build(&catalog, &request("MINE-LOOKUP")).unwrap_or_else(|error| panic!("{error}"));

    let target = Target::Embedded { engine: Skeleton.name().into(), data_dir: dir.path().into() };
    let to = ConnectTo::new(target);
    let database = Skeleton.open(&to, Access::Provision).unwrap();
    let part = &plan.selections[0].parts[0];
    let count = table_rows("small", plan.size_gb);
    let rows = RowFunction { table_rows: count, seed: 7 };
    let load = RowLoad { table: "small", rows, ids: 1..count + 1, note: None, in_database: None };
    database.load_rows(&load, &mut |_| true).unwrap();
    let facts = Facts::from([("small_rows".to_string(), count as f64)]);
    let order = JobSpec {
        job: 1,
        jobs: 1,
        code: &part.code,
        session: &[],
        seed: 1,
        facts: &facts,
        rows,
        wire: Default::default(),
        node: None,
    };
    let mut pacer = OneSlice { ops: Some(500), done: Vec::new() };
    database.run_job(&order, &mut pacer).unwrap();
    assert_eq!(pacer.done, [(500, 500)], "every op finds its row");
}
