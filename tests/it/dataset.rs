//! The data set: rows in SQL equal rows in Rust; load, reuse, verify, clean on a real server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dbdyno::dataset::{
    self, Checksum, Definition, DroppedObjects, LoadEvent, Lock, Recipe, Request, Site, Table,
    Watch,
};
use dbdyno::engine::{self, Access, ConnectTo, Database, Rows, Session};
use dbdyno::error::Kind;
use dbdyno::model::rows::{PAD, RowFunction};
use dbdyno::model::{TableRef, Target};
use dbdyno::server::{self, PrivateServer};
use dbdyno::sql::{BlockSet, Values, parse_blocks, statement, substitute};

use crate::servers::Lease;
use crate::skipped::skipped;
use crate::small_disk::SmallDisk;
use crate::support::{
    column, directory, lacks_library, settings, start_options, try_session_of, turn, until,
    until_or_abort,
};

const TOML: &str = include_str!("../../catalog/datasets/dbdyno/dataset.toml");
const ROWS: RowFunction = RowFunction { table_rows: 16_000, seed: 42 };

fn blocks() -> BlockSet {
    let files = [
        ("common", include_str!("../../catalog/datasets/dbdyno/common.sql")),
        ("postgres", include_str!("../../catalog/datasets/dbdyno/postgres.sql")),
        ("sqlite", include_str!("../../catalog/datasets/dbdyno/sqlite.sql")),
        ("mariadb", include_str!("../../catalog/datasets/dbdyno/mariadb.sql")),
        ("duckdb", include_str!("../../catalog/datasets/dbdyno/duckdb.sql")),
        ("chdb", include_str!("../../catalog/datasets/dbdyno/chdb.sql")),
    ];
    let mut set = BlockSet::default();
    for (stem, text) in files {
        set.add(stem, parse_blocks(&format!("{stem}.sql"), text).unwrap()).unwrap();
    }
    set
}

/// Values for a table without prefix, all rows.
fn values(table: &str, blocks: &BlockSet, engine: &str) -> Values {
    let rows = ROWS.table_rows.to_string();
    let pairs = [
        ("table", table),
        ("name", table),
        ("rows", &rows),
        ("seed", "42"),
        ("pad", PAD),
        ("lo", "1"),
    ];
    let mut values: Values =
        pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    values.insert("hi".into(), rows.clone());
    values.insert("columns".into(), blocks.get(engine, "columns").unwrap().text.clone());
    values
}

fn sql(blocks: &BlockSet, engine: &str, name: &str, values: &Values) -> String {
    statement(&substitute(blocks.get(engine, name).unwrap(), values, &[]).unwrap()).to_string()
}

#[test]
fn sqlite_computes_the_rows_of_the_row_function() {
    let blocks = blocks();
    let mut values = values("small", &blocks, "sqlite");
    let db = rusqlite::Connection::open_in_memory().unwrap();
    db.execute(&sql(&blocks, "sqlite", "create.rowid", &values), []).unwrap();
    values.insert("row_select".into(), sql(&blocks, "sqlite", "row-select", &values));
    db.execute(&sql(&blocks, "sqlite", "insert-select", &values), []).unwrap();
    let mut query = db.prepare(&sql(&blocks, "sqlite", "checksum", &values)).unwrap();
    let columns: Vec<String> = query.column_names().map(String::from).collect();
    let row = query
        .query_row([], |row| {
            (0..columns.len())
                .map(|at| row.get::<_, i64>(at).map(|n| Some(n.to_string())))
                .collect()
        })
        .unwrap();
    let found = Checksum::from_rows(&Rows { columns, rows: vec![row] }).unwrap();
    assert_eq!(found.differences(&Checksum::of_table(ROWS, 2), true), Vec::<String>::new());
    let (code, booked_on): (String, String) = db
        .query_row("select code, booked_on from small where id = 7", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    let mut text = String::new();
    ROWS.row(7).code(&mut text);
    assert_eq!(code, text);
    ROWS.row(7).booked_on_iso(&mut text);
    assert_eq!(booked_on, text);
}

/// The engines that hold a data set.
const ENGINES: [&str; 5] = ["sqlite", "duckdb", "chdb", "postgres", "mariadb"];

/// Those that can be had here.
fn engines() -> impl Iterator<Item = &'static str> {
    ENGINES.into_iter().filter(|engine| match lacks_library(engine) {
        Some(why) => {
            skipped("CHDB", why);
            false
        }
        None => true,
    })
}

/// The server of an engine's database.
enum Home {
    Shared(Lease),
    Own(Box<PrivateServer>),
}

impl Home {
    fn url(&self) -> String {
        match self {
            Home::Shared(lease) => lease.url.clone(),
            Home::Own(server) => server.url(),
        }
    }
}

/// An engine's database: a file in a directory, or one of a server.
struct Fixture {
    engine: &'static str,
    db: Box<dyn Database>,
    definition: Definition,
    blocks: BlockSet,
    /// After the database: sessions end before the server does.
    server: Option<Home>,
    /// Given back when the database is closed.
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Fixture {
    /// An empty database of a server that tests share, or in the directory.
    fn new(engine: &'static str, dir: &Path) -> Self {
        let private = engine::find(engine).unwrap().capabilities().private_server;
        Fixture::with_server(
            engine,
            dir,
            private.then(|| Home::Shared(Lease::new(engine, None, &[]))),
        )
    }

    /// A database of its own in the directory, by a server of its own if it needs one.
    fn start(engine: &'static str, dir: &Path) -> Self {
        let server_settings: &[_] = match engine {
            "mariadb" => {
                &[("innodb_buffer_pool_size", "32M"), ("innodb_flush_log_at_trx_commit", "0")]
            }
            _ => &[("shared_buffers", "16MB"), ("fsync", "off"), ("max_wal_size", "32MB")],
        };
        let private = engine::find(engine).unwrap().capabilities().private_server;
        let start = || {
            Home::Own(Box::new(
                server::start(engine, &start_options(dir, server_settings)).unwrap(),
            ))
        };
        Fixture::with_server(engine, dir, private.then(start))
    }

    fn with_server(engine: &'static str, dir: &Path, server: Option<Home>) -> Self {
        let (turn, url) = (turn(engine), server.as_ref().map(Home::url));
        let target = Target::Embedded { engine: engine.into(), data_dir: dir.into() };
        let file = url.is_none().then(|| dir.join("data.db"));
        let file_settings =
            if engine == "sqlite" { settings(&[("journal_mode", "wal")]) } else { BTreeMap::new() };
        let to = ConnectTo { file, url, settings: file_settings, ..ConnectTo::new(target) };
        let db = engine::find(engine).unwrap().open(&to, Access::Provision).unwrap();
        let definition = Definition::parse(TOML, "dataset.toml").unwrap();
        Fixture { engine, db, definition, blocks: blocks(), server, _turn: turn }
    }

    fn site(&self) -> Site<'_> {
        Site {
            db: self.db.as_ref(),
            recipe: Recipe {
                engine: self.engine,
                capabilities: engine::find(self.engine).unwrap().capabilities(),
                definition: &self.definition,
                blocks: &self.blocks,
            },
            words: ["w", "lgwr", "da"].map(String::from).into(),
            lasting: true,
            label: "the test's target",
        }
    }

    /// Our own name for a table.
    fn own(&self, name: &str) -> String {
        format!("{}{name}", self.site().recipe.capabilities.prefix)
    }

    /// Makes a table as a test of ours does.
    fn make(&self, name: &str) {
        let name = self.own(name);
        let plain = format!("create table {name} (a int)");
        self.execute(&match self.engine {
            "postgres" => format!("{plain}; comment on table {name} is 'made by dbdyno'"),
            "mariadb" => format!("{plain} comment = 'made by dbdyno'"),
            _ => plain,
        });
    }

    /// The statement that sets columns of row 5.
    fn update_of_small(&self, set: &str) -> String {
        let small = self.own("small");
        match self.engine {
            "chdb" => format!("alter table {small} update {set} where id = 5"),
            _ => format!("update {small} set {set} where id = 5"),
        }
    }

    fn execute(&self, sql: &str) {
        self.db.session().unwrap().execute(sql).unwrap();
    }

    fn scalar(&self, sql: &str) -> String {
        self.db.session().unwrap().query(sql, &[]).unwrap().scalar().unwrap_or_default().to_string()
    }

    /// True if the table is there, empty or not.
    fn exists(&self, name: &str) -> bool {
        self.db
            .session()
            .unwrap()
            .query(&format!("select count(*) from {}", self.own(name)), &[])
            .is_ok()
    }
}

fn lock(site: &Site<'_>) -> Lock {
    Lock::take(site).unwrap()
}

fn drop_all(site: &Site<'_>) -> dbdyno::error::Result<DroppedObjects> {
    dataset::drop_all(site, &lock(site))
}

/// Runs `check` on every engine, each with an empty database.
fn on_every_engine(check: impl Fn(&Fixture)) {
    for engine in engines() {
        let dir = directory();
        check(&Fixture::new(engine, dir.path()));
    }
}

fn request(sessions: u32) -> Request {
    Request { tables: vec![TableRef::new("small")], size_gb: 0.05, seed: 42, sessions }
}

fn ensure(site: &Site<'_>, sessions: u32) -> (dataset::LoadedDataset, Vec<LoadEvent>) {
    let (seen, cancel) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let watch = Watch { events: &|event| seen.lock().unwrap().push(event), cancel: &cancel };
    let loaded = dataset::ensure(site, &lock(site), &request(sessions), watch).unwrap();
    (loaded, seen.into_inner().unwrap())
}

/// `ensure` with `act` called when the rows of the table are about to be loaded.
fn ensure_and(
    site: &Site<'_>,
    cancel: &AtomicBool,
    act: &(dyn Fn() + Sync),
) -> dbdyno::error::Result<()> {
    let events = |event: LoadEvent| {
        if matches!(event, LoadEvent::Phase { phase: "rows", .. }) {
            act();
        }
    };
    dataset::ensure(site, &lock(site), &request(2), Watch { events: &events, cancel }).map(drop)
}

#[test]
fn loads_once_is_reused_verified_and_warmed() {
    on_every_engine(|fixture| {
        let site = fixture.site();
        let (first, events) = ensure(&site, 2);
        assert_eq!(first.facts_for(&[])["small_key320"], 50.0);
        assert!(
            first.loads[0].loaded && first.loads[0].table_bytes > 4_000_000,
            "{:?}",
            first.loads
        );
        // ClickHouse keeps no index of the rows' ids.
        let least_bytes = if fixture.engine == "chdb" { 150_000 } else { 400_000 };
        assert!(first.loads[0].index_bytes > least_bytes, "{:?}", first.loads);
        assert!(
            events.iter().any(|event| matches!(event, LoadEvent::Progress { .. })),
            "{}",
            fixture.engine
        );
        let (second, events) = ensure(&site, 1);
        assert_eq!((second.data_set_id, second.loads[0].loaded), (first.data_set_id, false));
        assert_eq!(events, [LoadEvent::Reused { table: "small".into(), rows: 16_000 }]);
        dataset::warm(&site, &Table::new(&site.recipe, &TableRef::new("small"), ROWS)).unwrap();
        fixture.execute(&fixture.update_of_small("amount = amount + 1, status = 1"));
        dataset::verify(&site, &request(1)).unwrap();
        fixture.execute(&fixture.update_of_small("code = concat('9', substr(code, 2))"));
        let error = dataset::verify(&site, &request(1)).unwrap_err();
        assert_eq!(error.kind, Kind::Check);
        assert!(error.what.contains("code_h1"), "{error}");
    });
}

#[test]
fn every_organization_holds_the_same_rows_and_is_used_where_it_is_asked_for() {
    on_every_engine(|fixture| {
        let site = fixture.site();
        let default = ensure(&site, 2).0;
        for org in &site.recipe.capabilities.orgs[1..] {
            let table = TableRef { kind: "small".into(), org: Some((*org).into()) };
            let request =
                Request { tables: vec![TableRef::new("small"), table.clone()], ..request(2) };
            let watch = Watch { events: &|_| {}, cancel: &AtomicBool::new(false) };
            let loaded = dataset::ensure(&site, &lock(&site), &request, watch).unwrap();
            let seen: Vec<_> =
                loaded.loads.iter().map(|load| (load.table.as_str(), load.loaded)).collect();
            assert_eq!(seen, [("small", false), (table.name().as_str(), true)]);
            assert_eq!(loaded.data_set_id, default.data_set_id, "the same rows");
            dataset::verify(&site, &request).unwrap();
            let facts = loaded.facts_for(std::slice::from_ref(&table));
            let parts = if org.contains("range") {
                32.0
            } else if org.contains("list") {
                8.0
            } else {
                1.0
            };
            assert_eq!((facts["small_parts"], facts["small_rows"]), (parts, 16_000.0), "{org}");
            // A log-structured tree compresses the equal pad of the rows.
            let (least_mb, least_bytes) =
                if org == &"lsm" { (1.0, 100_000) } else { (4.0, 400_000) };
            let enough = facts["small_mb"] > least_mb && loaded.loads[1].index_bytes > least_bytes;
            assert!(enough, "{org}: {:?}", loaded.loads);
            assert_eq!(loaded.facts_for(&[TableRef::new("small")]), default.facts_for(&[]));
            dataset::warm(&site, &dataset::tables(&site.recipe, &request)[1]).unwrap();
            let small = fixture.own(&table.name());
            assert_eq!(fixture.scalar(&format!("select key25 from {small} where id = 647")), "7");
        }
        let cleaned = drop_all(&site).unwrap();
        // A table per organization, and ours that remember; a partition is not a table of its own.
        assert_eq!(cleaned.dropped.len(), site.recipe.capabilities.orgs.len() + 2, "{cleaned:?}");
        assert!(cleaned.foreign.is_empty(), "{cleaned:?}");
    });
}

#[test]
fn all_engines_hold_the_same_rows_under_the_same_id() {
    let seen = Mutex::new(Vec::new());
    on_every_engine(|fixture| {
        let site = fixture.site();
        let id = ensure(&site, 2).0.data_set_id;
        let table = Table::new(&site.recipe, &TableRef::new("small"), ROWS);
        // As the database itself computes it, not as we expect it.
        let rows = site
            .query(fixture.db.session().unwrap().as_mut(), "checksum", &table.values(&site.recipe))
            .unwrap();
        seen.lock().unwrap().push((id, Checksum::from_rows(&rows).unwrap().to_string()));
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), engines().count());
    assert!(seen[0].1.starts_with("row_count=16000 id=128008000 key25="), "{seen:?}");
    assert!(seen.iter().all(|engine| *engine == seen[0]), "{seen:#?}");
}

#[test]
fn sqlite_stays_in_its_journal_mode_and_loads_beside_an_open_session() {
    let dir = directory();
    let fixture = Fixture::new("sqlite", dir.path());
    let mut beside: Box<dyn Session> = fixture.db.session().unwrap();
    beside.query("select count(*) from sqlite_schema", &[]).unwrap();
    assert!(ensure(&fixture.site(), 1).0.loads[0].loaded);
    assert_eq!(fixture.scalar("pragma journal_mode"), "wal");
    drop(beside);
    drop_all(&fixture.site()).unwrap();
    assert!(ensure(&fixture.site(), 1).0.loads[0].loaded);
    assert_eq!(fixture.scalar("pragma journal_mode"), "wal");
    dataset::verify(&fixture.site(), &request(1)).unwrap();
}

#[test]
fn cleaning_removes_what_is_ours_and_names_the_rest() {
    on_every_engine(|fixture| {
        let site = fixture.site();
        ensure(&site, 2);
        fixture.make("lgwr_lat");
        fixture.execute(&format!("create table {} (a int)", fixture.own("mine")));
        let cleaned = drop_all(&site).unwrap();
        let dropped = ["lgwr_lat", "small", "state", "state_chunks"].map(|name| fixture.own(name));
        assert_eq!(
            (cleaned.dropped, cleaned.foreign),
            (dropped.to_vec(), vec!["mine".to_string()])
        );
        assert!(fixture.exists("mine") && !fixture.exists("small"), "{}", fixture.engine);
        fixture.execute(&format!("drop table {}", fixture.own("mine")));
        assert_eq!(drop_all(&site).unwrap(), DroppedObjects::default());
    });
}

#[test]
fn cleaning_postgres_tells_routines_owners_and_schemas_apart() {
    let dir = directory();
    let fixture = Fixture::new("postgres", dir.path());
    let body = "language plpgsql as 'begin end'";
    fixture.execute(&format!("create procedure dbdyno.w_lgwr_1(a bigint, inout b bigint) {body}"));
    fixture.execute(&format!("create function dbdyno.w_srv_2(a int, out b int) {body}"));
    fixture.execute(&format!("create function dbdyno.mine() returns void {body}"));
    for routine in ["procedure dbdyno.w_lgwr_1", "function dbdyno.w_srv_2"] {
        fixture.execute(&format!("comment on {routine} is 'made by dbdyno'"));
    }
    fixture.execute("create view dbdyno.w_view as select 1 as a");
    fixture.execute(
        "create role owner; create table dbdyno.small (a int); alter table \
                     dbdyno.small owner to owner",
    );
    let cleaned = drop_all(&fixture.site()).unwrap();
    assert_eq!(cleaned.dropped, ["dbdyno.w_lgwr_1", "dbdyno.w_srv_2"]);
    assert_eq!(cleaned.foreign, ["mine", "small", "w_view"]);
    const SCHEMAS: &str = "select count(*) from pg_namespace where nspname = 'dbdyno'";
    fixture
        .execute("drop view dbdyno.w_view; drop function dbdyno.mine(); drop table dbdyno.small");
    assert!(drop_all(&fixture.site()).unwrap().foreign.is_empty());
    assert_eq!(fixture.scalar(SCHEMAS), "0");
    fixture.execute("create schema dbdyno");
    drop_all(&fixture.site()).unwrap();
    assert_eq!(fixture.scalar(SCHEMAS), "1", "somebody else made this schema");
}

#[test]
fn leftovers_of_a_killed_run_go_before_the_next_and_the_data_stays() {
    on_every_engine(|fixture| {
        let site = fixture.site();
        ensure(&site, 2);
        fixture.make("lgwr_lat");
        // ClickHouse has no indexes that tests could have added.
        let has_indexes = fixture.engine != "chdb";
        // Of somebody who uses our schema and names a table as a workload of ours would; a file is
        // ours.
        let is_server = fixture.engine == "postgres" || fixture.engine == "mariadb";
        if is_server {
            fixture.execute(&format!("create table {} (a int)", fixture.own("tp_results")));
        }
        let indexed = format!("create index da_index on {} (quantity)", fixture.own("small"));
        if has_indexes {
            fixture.execute(&indexed);
        }
        assert!(!ensure(&site, 2).0.loads[0].loaded, "{}", fixture.engine);
        assert!(!fixture.exists("lgwr_lat"), "{}", fixture.engine);
        assert_eq!(fixture.exists("tp_results"), is_server, "{}", fixture.engine);
        let indexed = format!("create index da_index on {} (quantity)", fixture.own("small"));
        if has_indexes {
            fixture.execute(&indexed);
        }
    });
}

/// The statement that ends the session which holds the lock of a site, if one does.
fn end_of_holder(site: &Site<'_>) -> Option<String> {
    let mut session = site.session().unwrap();
    let holder = site.query(session.as_mut(), "lock.holder", &site.recipe.values()).unwrap();
    holder.get(0, "end").map(String::from)
}

#[test]
fn a_lock_is_held_once_and_taken_again_when_its_session_is_lost() {
    on_every_engine(|fixture| {
        let (engine, site) = (fixture.engine, fixture.site());
        let held = lock(&site);
        if fixture.server.is_none() {
            lock(&site).renew(&site).unwrap();
            return; // the lock on the file's directory keeps others out
        }
        let error = Lock::take(&site).err().unwrap();
        let who = match engine {
            "postgres" => format!(
                "process {}, user dbdyno, on the server's host, backend ",
                std::process::id()
            ),
            _ => "user dbdyno, on host localhost".to_string(),
        };
        assert!(
            error.what.contains("another dbdyno is using this database")
                && error.what.contains(&who),
            "{error}"
        );
        let end = end_of_holder(&site).unwrap();
        assert!(error.advice.ends_with(&end), "{error}");
        fixture.execute(&end);
        held.renew(&site).unwrap();
        let end = end_of_holder(&site).expect("it is held again");

        fixture.execute(&end);
        let other = lock(&site);
        let error = held.renew(&site).unwrap_err();
        assert!(error.what.contains("another dbdyno is using this database"), "{error}");
        drop(other);
        held.renew(&site).unwrap();
        assert!(end_of_holder(&site).is_some(), "{engine}: it is held again");
        drop(held);
        // A server frees the lock when it sees that the session has ended.
        until("the lock is free", || end_of_holder(&site).is_none());
    });
}

#[test]
fn a_server_that_refuses_such_locks_is_used_without_them() {
    let dir = directory();
    let fixture = Fixture::new("postgres", dir.path());
    let grant = "do $$ begin execute 'grant create on database ' || current_database() || ' to \
                 locker'; end $$";
    fixture.execute(&format!(
        "create role locker login; alter schema dbdyno owner to locker; {grant}"
    ));
    fixture.execute("revoke execute on function pg_try_advisory_lock(bigint) from public");
    let url = fixture.server.as_ref().unwrap().url().replace("dbdyno@", "locker@");
    let target = Target::Existing { engine: "postgres".into(), url: url.clone() };
    let to = ConnectTo { url: Some(url), ..ConnectTo::new(target) };
    let db = engine::find("postgres").unwrap().open(&to, Access::Provision).unwrap();
    let site = Site { db: db.as_ref(), ..fixture.site() };
    assert!(ensure(&site, 2).0.loads[0].loaded);
}

#[test]
fn backends_of_a_killed_process_end_and_a_living_one_is_told() {
    // This test is also the process that it kills.
    if let Ok(url) = std::env::var("DBDYNO_TEST_URL") {
        return sleep_in(url);
    }
    let dir = directory();
    let fixture = Fixture::new("postgres", dir.path());
    let url = fixture.server.as_ref().unwrap().url();
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "dataset::backends_of_a_killed_process_end_and_a_living_one_is_told",
            "--nocapture",
        ])
        .env("DBDYNO_TEST_URL", url)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    const BACKENDS: &str = "select count(*) from pg_stat_activity where datname = \
                            current_database() and query like 'select pg_sleep%'";
    until("the other process is at work", || {
        assert!(other.try_wait().unwrap().is_none(), "the other process ended");
        fixture.scalar(BACKENDS) != "0"
    });
    let error = Lock::take(&fixture.site()).err().unwrap();
    assert!(error.to_string().contains("another dbdyno is using this database"), "{error}");
    other.kill().unwrap();
    other.wait().unwrap();
    if fixture.db.version() >= engine::Version(vec![14]) {
        ensure(&fixture.site(), 2);
        assert_eq!(fixture.scalar(BACKENDS), "0");
    }
}

/// The process that is killed within a long statement.
fn sleep_in(url: String) {
    let target = Target::Existing { engine: "postgres".into(), url: url.clone() };
    let to = ConnectTo { url: Some(url), ..ConnectTo::new(target) };
    let db = engine::find("postgres").unwrap().open(&to, Access::Inspect).unwrap();
    let _ = db.session().unwrap().execute("select pg_sleep(600)");
}

#[test]
fn rows_made_by_postgres_are_equal() {
    let dir = directory();
    let fixture = Fixture::new("postgres", dir.path());
    ensure(&fixture.site(), 2);
    let mut values = values("dbdyno.small", &fixture.blocks, "postgres");
    values.insert("name".into(), "small_copy".into());
    values.insert("table".into(), "dbdyno.small_copy".into());
    values.insert("row_select".into(), sql(&fixture.blocks, "postgres", "row-select", &values));
    fixture.execute(&sql(&fixture.blocks, "postgres", "create.heap", &values));
    fixture.execute(&sql(&fixture.blocks, "postgres", "insert-select", &values));
    let differing = "select count(*) from (table dbdyno.small except table dbdyno.small_copy) as t";
    assert_eq!(fixture.scalar(differing), "0");
}

#[test]
fn an_interrupted_load_leaves_no_table() {
    on_every_engine(|fixture| {
        let (site, cancel) = (fixture.site(), AtomicBool::new(false));
        let error = ensure_and(&site, &cancel, &|| cancel.store(true, Relaxed)).unwrap_err();
        assert_eq!(error.kind, Kind::Interrupted, "{error}");
        assert!(error.what.contains("small was dropped"), "{error}");
        assert!(!fixture.exists("small"), "{}", fixture.engine);
        let too_big = Request { size_gb: 1e6, ..request(1) };
        let watch = Watch { events: &|_| {}, cancel: &AtomicBool::new(false) };
        let error = dataset::ensure(&site, &lock(&site), &too_big, watch).unwrap_err();
        assert!(error.what.contains("MB free"), "{error}");
    });
}

/// Loads the big table by one session and interrupts it when `so` says so of an event; the error,
/// and all events.
fn interrupted_load(
    site: &Site<'_>,
    so: &(dyn Fn(&LoadEvent) -> bool + Sync),
) -> (dbdyno::error::Error, Vec<LoadEvent>) {
    let (seen, cancel) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let events = |event: LoadEvent| {
        if so(&event) {
            cancel.store(true, Relaxed);
        }
        seen.lock().unwrap().push(event);
    };
    let error =
        dataset::ensure(site, &lock(site), &big(), Watch { events: &events, cancel: &cancel })
            .unwrap_err();
    assert_eq!(error.kind, Kind::Interrupted, "{error}");
    (error, seen.into_inner().unwrap())
}

fn big() -> Request {
    Request { tables: vec![TableRef::new("big")], size_gb: 0.08, seed: 42, sessions: 1 }
}

/// Rows that were in when a load went on; none if it began from nothing.
fn rows_at_resume(site: &Site<'_>) -> Option<u64> {
    let (seen, cancel) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let events = |event: LoadEvent| seen.lock().unwrap().push(event);
    let loaded =
        dataset::ensure(site, &lock(site), &big(), Watch { events: &events, cancel: &cancel })
            .unwrap();
    dataset::verify(site, &big()).unwrap();
    let events = seen.into_inner().unwrap();
    let rows = events.iter().find_map(|event| match event {
        LoadEvent::Resumed { rows_done, .. } => Some(*rows_done),
        _ => None,
    });
    assert_eq!(loaded.loads[0].resumed_rows, rows.unwrap_or(0));
    rows
}

/// Of four chunks of 20,000 rows.
fn within_the_third_chunk(event: &LoadEvent) -> bool {
    matches!(event, LoadEvent::Progress { rows_done, .. } if *rows_done >= 50_000)
}

#[test]
fn a_load_that_broke_off_goes_on_where_it_was() {
    on_every_engine(|fixture| {
        let site = fixture.site();
        let (error, events) = interrupted_load(&site, &within_the_third_chunk);
        let line = error.to_string();
        assert!(
            line.contains("40000 of 80000 rows of table")
                && line.contains("run it again to resume"),
            "{line}"
        );
        let left = events.iter().rev().find_map(|event| match event {
            LoadEvent::Progress { left_s, .. } => Some(*left_s),
            _ => None,
        });
        assert!(left.is_some_and(|left_s| left_s > 0.0 && left_s < 1000.0), "{left:?}");
        // In every phase after the rows, too: what is there is not built again.
        for phase in ["indexes", "statistics", "verify"] {
            let so = |event: &LoadEvent| match event {
                LoadEvent::Phase { phase: now, .. } => *now == phase,
                _ => false,
            };
            let (_, events) = interrupted_load(&site, &so);
            let resumed = events.iter().any(|event| matches!(event, LoadEvent::Resumed { .. }));
            assert!(resumed, "{}, {phase}", fixture.engine);
        }
        assert_eq!(rows_at_resume(&site), Some(80_000), "{}", fixture.engine);
        assert_eq!(rows_at_resume(&site), None, "now it is complete");
    });
}

#[test]
fn what_is_not_as_it_was_noted_is_loaded_anew() {
    on_every_engine(|fixture| {
        let site = fixture.site();
        interrupted_load(&site, &within_the_third_chunk);
        fixture.execute(&format!("delete from {} where id = 5", fixture.own("big")));
        assert_eq!(rows_at_resume(&site), None, "{}", fixture.engine);
        fixture.execute(&format!("delete from {} where 1 = 1", fixture.own("state")));
        interrupted_load(&site, &within_the_third_chunk);
        fixture.execute(&format!("drop table {}", fixture.own("big")));
        let fleeting = Site { lasting: false, ..site };
        let (error, events) = interrupted_load(&fleeting, &within_the_third_chunk);
        assert!(
            !events.iter().any(|event| matches!(event, LoadEvent::Resumed { .. })),
            "{}",
            fixture.engine
        );
        assert!(error.what.contains("big was dropped"), "{error}");
    });
}

#[test]
fn an_interrupt_does_not_wait_for_a_statement_that_waits() {
    let dir = directory();
    let fixture = Fixture::new("postgres", dir.path());
    let (site, cancel) = (fixture.site(), AtomicBool::new(false));
    let holder = Mutex::new(fixture.db.session().unwrap());
    // The rows can be copied beside this lock, an index cannot be built.
    let act = || {
        let sql = "begin; lock table dbdyno.small in row exclusive mode";
        holder.lock().unwrap().execute(sql).unwrap();
    };
    let error = std::thread::scope(|scope| {
        let load = scope.spawn(|| ensure_and(&site, &cancel, &act).unwrap_err());
        const WAITING: &str = "select count(*) from pg_stat_activity where datname = \
                               current_database() and wait_event_type = 'Lock' and query like \
                               'create %'";
        // By another client: the interrupt cancels what other sessions of this database do.
        let url = fixture.server.as_ref().unwrap().url();
        let mut client = try_session_of("postgres", &url).unwrap();
        let mut waiting = || column(client.as_mut(), WAITING)[0] != "0";
        until_or_abort("the load waits for a lock", &mut waiting);
        cancel.store(true, Relaxed);
        until_or_abort("the load does not wait any more", || !waiting());
        holder.lock().unwrap().execute("rollback").unwrap();
        load.join().unwrap()
    });
    assert_eq!(error.kind, Kind::Interrupted, "{error}");
}

#[test]
fn a_disk_that_fills_up_while_loading_is_one_line_and_nothing_is_remembered() {
    for engine in engines() {
        let Some(disk) = SmallDisk::mount(500) else { return };
        let fixture = Fixture::start(engine, disk.path());
        let site = fixture.site();
        let error =
            ensure_and(&site, &AtomicBool::new(false), &|| disk.shrink(1_500_000)).unwrap_err();
        assert_eq!(error.kind, Kind::Target, "{engine}: {error}");
        let line = error.to_string();
        assert!(
            line.contains("the disk is full") && line.contains("free space"),
            "{engine}: {line}"
        );
        if line.contains("could not be dropped") {
            // MariaDB 10.11 may crash when it takes a statement back on a full disk, also one of
            // LOAD DATA.
            assert!(line.contains("the connection to the server broke"), "{engine}: {line}");
            continue;
        }
        assert!(line.contains("small was dropped"), "{engine}: {line}");
        assert!(!fixture.exists("small"), "{engine}");
        disk.restore();
        assert!(ensure(&site, 2).0.loads[0].loaded, "{engine}");
    }
}
