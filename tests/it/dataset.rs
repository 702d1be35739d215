//! The data set: rows in SQL equal rows in Rust; load, reuse, verify, clean on a real server.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use dbdyno::dataset::{self, Checksum, Definition, LoadEvent, Request, Site, Table, Watch};
use dbdyno::engine::{self, Access, ConnectTo, Database, Rows};
use dbdyno::error::Kind;
use dbdyno::model::Target;
use dbdyno::model::rows::{PAD, RowFunction};
use dbdyno::server::{self, PrivateServer, StartOptions};
use dbdyno::sql::{BlockSet, Values, parse_blocks, statement, substitute};

const TOML: &str = include_str!("../../catalog/datasets/dbdyno/dataset.toml");
const ROWS: RowFunction = RowFunction { table_rows: 16_000, seed: 42 };

fn blocks() -> BlockSet {
    let files = [
        ("common", include_str!("../../catalog/datasets/dbdyno/common.sql")),
        ("postgres", include_str!("../../catalog/datasets/dbdyno/postgres.sql")),
        ("sqlite", include_str!("../../catalog/datasets/dbdyno/sqlite.sql")),
    ];
    let mut set = BlockSet::default();
    for (stem, text) in files {
        set.add(stem, parse_blocks(&format!("{stem}.sql"), text).unwrap()).unwrap();
    }
    set
}

/// Values for a table without prefix, all rows.
fn values(table: &str) -> Values {
    let rows = ROWS.table_rows.to_string();
    let pairs = [("table", table), ("name", table), ("rows", &rows), ("seed", "42"), ("pad", PAD), ("lo", "1")];
    let mut values: Values = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    values.insert("hi".into(), rows.clone());
    values
}

fn sql(blocks: &BlockSet, engine: &str, name: &str, values: &Values) -> String {
    statement(&substitute(blocks.get(engine, name).unwrap(), values, &[]).unwrap()).to_string()
}

#[test]
fn sqlite_computes_the_rows_of_the_row_function() {
    let (blocks, mut values) = (blocks(), values("small"));
    let db = rusqlite::Connection::open_in_memory().unwrap();
    db.execute(&sql(&blocks, "sqlite", "create.rowid", &values), []).unwrap();
    values.insert("row_select".into(), sql(&blocks, "sqlite", "row-select", &values));
    db.execute(&sql(&blocks, "sqlite", "insert-select", &values), []).unwrap();
    let mut query = db.prepare(&sql(&blocks, "sqlite", "checksum", &values)).unwrap();
    let columns: Vec<String> = query.column_names().map(String::from).collect();
    let row = query
        .query_row([], |row| (0..columns.len()).map(|at| row.get::<_, i64>(at).map(|n| Some(n.to_string()))).collect())
        .unwrap();
    let found = Checksum::from_rows(&Rows { columns, rows: vec![row] }).unwrap();
    assert_eq!(found.differences(&Checksum::of_table(ROWS, 2), true), Vec::<String>::new());
    let (code, booked_on): (String, String) = db
        .query_row("select code, booked_on from small where id = 7", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let mut text = String::new();
    ROWS.row(7).code(&mut text);
    assert_eq!(code, text);
    ROWS.row(7).booked_on_iso(&mut text);
    assert_eq!(booked_on, text);
}

/// A private server with its own directory.
struct Fixture {
    server: Option<PrivateServer>,
    dir: tempfile::TempDir,
    db: Box<dyn Database>,
    definition: Definition,
    blocks: BlockSet,
}

impl Fixture {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let settings = [("shared_buffers", "16MB"), ("fsync", "off")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let options = StartOptions { data_dir: dir.path().into(), server_bin: None, port: None, settings };
        let server = server::start("postgres", &options).unwrap();
        let url = server.url().to_string();
        let target = Target::Existing { engine: "postgres".into(), url: url.clone() };
        let to = ConnectTo { target, file: None, url: Some(url), ask_password: None, settings: BTreeMap::new() };
        let db = engine::find("postgres").unwrap().open(&to, Access::Provision).unwrap();
        let definition = Definition::parse(TOML, "dataset.toml").unwrap();
        Fixture { server: Some(server), dir, db, definition, blocks: blocks() }
    }

    fn site(&self) -> Site<'_> {
        Site {
            db: self.db.as_ref(),
            engine: "postgres",
            capabilities: engine::find("postgres").unwrap().capabilities(),
            definition: &self.definition,
            blocks: &self.blocks,
            label: "postgres (test)",
        }
    }

    fn execute(&self, sql: &str) {
        self.db.session().unwrap().execute(sql).unwrap();
    }

    fn scalar(&self, sql: &str) -> String {
        self.db.session().unwrap().query(sql, &[]).unwrap().scalar().unwrap_or_default().to_string()
    }
}

fn request(sessions: u32) -> Request {
    Request { tables: vec!["small".into()], size_gb: 0.05, seed: 42, sessions, org: None }
}

fn ensure(site: &Site<'_>, sessions: u32) -> (dataset::LoadedDataset, Vec<LoadEvent>) {
    let (seen, cancel) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let watch = Watch { events: &|event| seen.lock().unwrap().push(event), cancel: &cancel };
    let loaded = dataset::ensure(site, &request(sessions), watch).unwrap();
    (loaded, seen.into_inner().unwrap())
}

#[test]
fn postgres_loads_once_verifies_and_cleans_only_what_is_ours() {
    let mut fixture = Fixture::start();
    let site = fixture.site();
    let (first, events) = ensure(&site, 2);
    assert_eq!(first.facts["small_key320"], 50.0);
    assert!(first.loads[0].loaded && first.loads[0].table_bytes > 4_000_000, "{:?}", first.loads);
    assert!(events.iter().any(|event| matches!(event, LoadEvent::Progress { rows_done: 16_000, .. })));

    let (second, events) = ensure(&site, 1);
    assert_eq!((second.data_set_id, second.loads[0].loaded), (first.data_set_id, false));
    assert_eq!(events, [LoadEvent::Reused { table: "small".into(), rows: 16_000 }]);
    dataset::warm(&site, &Table::new(&site, "small", None, ROWS)).unwrap();
    server_side_rows_are_equal(&fixture);

    fixture.execute("update dbdyno.small set amount = amount + 1, status = 1 where id = 5");
    dataset::verify(&site, &request(1)).unwrap();
    fixture.execute("update dbdyno.small set code = '9' || substr(code, 2) where id = 5");
    let error = dataset::verify(&site, &request(1)).unwrap_err();
    assert_eq!(error.kind, Kind::Check);
    assert!(error.what.contains("code_h1"), "{error}");

    fixture.execute("create table dbdyno.mine (a int)");
    let cleaned = dataset::drop_all(&site).unwrap();
    assert_eq!((cleaned.dropped.len(), cleaned.foreign), (2, vec!["mine".to_string()]));
    assert_eq!(fixture.scalar("select count(*) from pg_namespace where nspname = 'dbdyno'"), "1");
    fixture.execute("drop table dbdyno.mine");
    assert!(dataset::drop_all(&site).unwrap().foreign.is_empty());
    assert_eq!(fixture.scalar("select count(*) from pg_namespace where nspname = 'dbdyno'"), "0");
    drop(fixture.server.take());
    assert!(fixture.dir.path().exists());
}

fn server_side_rows_are_equal(fixture: &Fixture) {
    let mut values = values("dbdyno.small");
    values.insert("name".into(), "small_copy".into());
    values.insert("table".into(), "dbdyno.small_copy".into());
    values.insert("row_select".into(), sql(&fixture.blocks, "postgres", "row-select", &values));
    fixture.execute(&sql(&fixture.blocks, "postgres", "create.heap", &values));
    fixture.execute(&sql(&fixture.blocks, "postgres", "insert-select", &values));
    let differing = "select count(*) from (table dbdyno.small except table dbdyno.small_copy) as t";
    assert_eq!(fixture.scalar(differing), "0");
    fixture.execute("drop table dbdyno.small_copy");
}

#[test]
fn an_interrupted_load_leaves_no_table() {
    let fixture = Fixture::start();
    let site = fixture.site();
    let cancel = AtomicBool::new(false);
    let stop = |event: LoadEvent| {
        if matches!(event, LoadEvent::Phase { phase: "rows", .. }) {
            cancel.store(true, Relaxed);
        }
    };
    let error = dataset::ensure(&site, &request(2), Watch { events: &stop, cancel: &cancel }).unwrap_err();
    assert_eq!(error.kind, Kind::Interrupted);
    assert_eq!(fixture.scalar("select count(*) from pg_class where relname = 'small'"), "0");
    let too_big = Request { size_gb: 1e6, ..request(1) };
    let error =
        dataset::ensure(&site, &too_big, Watch { events: &|_| {}, cancel: &AtomicBool::new(false) }).unwrap_err();
    assert!(error.what.contains("MB free"), "{error}");
}
