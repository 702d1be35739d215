//! The contract that every engine keeps, as one test run on a table of targets. An engine adds a
//! [`Subject`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::MutexGuard;

use dbdyno::engine::{
    self, Access, AfterError, ConnectTo, Database, Engine, EngineError, ErrorClass, JobSpec, Pacer,
    RowLoad, Slice, SliceReport, Version,
};
use dbdyno::model::rows::RowFunction;
use dbdyno::model::{
    Bind, BoundStatement, Branch, Commit, Counters, Expr, Facts, JobCode, Tally, Target,
};

use crate::leftovers::Directory;
use crate::servers::Lease;
use crate::skeleton::Skeleton;
use crate::support::{directory, servers, settings, turn, until_or_abort};

const ROWS: RowFunction = RowFunction { table_rows: 16_000, seed: 7 };
/// The first of them, which are enough where rows are only looked up or changed: enough also for
/// each server to find them by the index.
const FEW_ROWS: u64 = 4_000;

/// Name and value.
type Setting = (&'static str, &'static str);

/// An engine under test with the statements that say the same in its own dialect.
struct Subject {
    engine: &'static str,
    /// Organization of the table `t` that not every server has.
    org: Option<&'static str>,
    /// Settings of an embedded engine, or of the sessions on a server.
    settings: &'static [Setting],
    /// Creates the table `t`, if tables must be created.
    create: &'static [&'static str],
    /// Rows and sum of ids of `t`, as columns `count` and `sum`.
    count: &'static str,
    /// Returns its two binds as one row.
    echo: &'static str,
    /// Fetches one row by the bind `:id`.
    lookup: &'static str,
    /// Statement that cannot be understood.
    nonsense: &'static str,
    /// Changes the row of the bind `:id`; none if the engine has no locks.
    update: Option<&'static str>,
    /// Error class for changing a row that another session is changing.
    held: ErrorClass,
    /// Runs for hours, with the bind `:id`; none if nothing can be cancelled.
    endless: Option<&'static str>,
    /// Lookups in `t` as the server counts them; none if only the session counts.
    lookups: Option<&'static str>,
    /// Ends all other sessions; none if a session cannot be lost.
    sever: Option<&'static str>,
    /// Further settings with which a session soon gives up a lock that another one holds.
    impatience: &'static [Setting],
    /// Lists our schema, if a server has schemas.
    schema: Option<&'static str>,
    /// Prefix of the tables' names: no schema is searched for them.
    prefix: &'static str,
}

impl Subject {
    /// The table of these tests.
    fn table(&self) -> String {
        format!("{}t", self.prefix)
    }
}

/// An engine without SQL, servers and sessions that could be lost.
const PLAIN: Subject = Subject {
    engine: "",
    org: None,
    settings: &[],
    create: &[],
    count: "",
    echo: "echo",
    lookup: "",
    nonsense: "selct 1",
    update: None,
    held: ErrorClass::Busy,
    endless: None,
    lookups: None,
    sever: None,
    impatience: &[],
    schema: None,
    prefix: "",
};

const MARIADB: Subject = Subject {
    engine: "mariadb",
    org: None,
    settings: &[],
    // Our sessions are in our own database.
    create: &["create table t (id bigint not null primary key, key25 int, key125 int, key320 int,
               region int, booked_on date, amount numeric(12,2), quantity int, status int,
               code text, filler text)"],
    count: "select count(*) as count, sum(id) as sum from t",
    echo: "select ?, ?",
    lookup: "select * from t where id = ?",
    nonsense: "selct 1",
    update: Some("update t set status = status + 1 where id = ?"),
    held: ErrorClass::Busy,
    // Not sleep() or benchmark(), which a cancelled statement leaves with a result.
    endless: Some("select count(*) from seq_1_to_1000000000000 where seq > ?"),
    lookups: Some(
        "select variable_value from information_schema.global_status where variable_name = \
         'HANDLER_READ_KEY'",
    ),
    sever: Some(
        "begin not atomic for s in (select id from information_schema.processlist
                 where user = 'dbdyno' and id <> connection_id()) do kill s.id; end for; end",
    ),
    impatience: &[("innodb_lock_wait_timeout", "1")],
    schema: Some(
        "select schema_name from information_schema.schemata where schema_name = 'dbdyno'",
    ),
    prefix: "",
};

const SUBJECTS: &[Subject] = &[
    Subject { engine: "null", count: "count t", lookup: "spin 100", ..PLAIN },
    Subject {
        engine: "skeleton",
        create: &["create t"],
        count: "count t",
        lookup: "lookup t ?1",
        ..PLAIN
    },
    Subject {
        engine: "sqlite",
        org: None,
        settings: &[("journal_mode", "wal")],
        create: &["create table t (id integer not null primary key, key25 integer,
                   key125 integer, key320 integer, region integer, booked_on text,
                   amount integer, quantity integer, status integer, code text, filler text)"],
        count: "select count(*) as count, sum(id) as sum from t",
        echo: "select ?1, ?2",
        lookup: "select * from t where id = ?1",
        nonsense: "selct 1",
        update: Some("update t set status = status + 1 where id = ?1"),
        held: ErrorClass::Busy,
        endless: Some(
            "with recursive c(i) as
                       (select 1 union all select i + 1 from c where i < 1000000000000 + ?1)
                       select count(*) from c",
        ),
        lookups: None,
        sever: None,
        impatience: &[("busy_timeout", "20")],
        schema: None,
        prefix: "",
    },
    Subject {
        engine: "duckdb",
        create: &["create table t (id bigint not null primary key, key25 integer, key125 integer,
                   key320 integer, region integer, booked_on date, amount numeric(12,2),
                   quantity integer, status integer, code varchar, filler varchar)"],
        count: "select count(*) as count, sum(id) as sum from t",
        echo: "select $1, $2",
        lookup: "select * from t where id = $1",
        update: Some("update t set status = status + 1 where id = $1"),
        // There are no locks: of two transactions that change a row the later one fails at once.
        held: ErrorClass::Serialization,
        endless: Some("select count(*) from range(1000000000000) numbers(n) where n % 7 = 8 + $1"),
        ..PLAIN
    },
    Subject {
        engine: "chdb",
        create: &["create table dbdyno.t (id Int64, key25 Int32, key125 Int32, key320 Int32,
                   region Int32, booked_on Date, amount Decimal(12, 2), quantity Int32,
                   status Int32, code String, filler String) engine = MergeTree order by tuple()"],
        count: "select count(*) as count, sum(id) as sum from dbdyno.t",
        echo: "select {p1:Int64}, {p2:Int64}",
        lookup: "select * from dbdyno.t where id = {p1:Int64}",
        endless: Some(
            "select count(*) from numbers(1000000000000) where number % 7 = 8 + \
                       {p1:Int64}",
        ),
        prefix: "dbdyno.",
        ..PLAIN
    },
    Subject {
        engine: "postgres",
        org: None,
        settings: &[("deadlock_timeout", "5ms")],
        create: &["create table dbdyno.t (id bigint not null primary key, key25 int, key125 int,
                   key320 int, region int, booked_on date, amount numeric(12,2), quantity int,
                   status int, code text, filler text)"],
        count: "select count(*) as count, sum(id) as sum from dbdyno.t",
        echo: "select $1::bigint, $2::bigint",
        lookup: "select * from dbdyno.t where id = $1",
        nonsense: "selct 1",
        update: Some("update dbdyno.t set status = status + 1 where id = $1"),
        held: ErrorClass::Busy,
        endless: Some("select pg_sleep(10000 + $1)"),
        lookups: Some("select idx_scan from pg_stat_user_tables where relname = 't'"),
        sever: Some(
            "select pg_terminate_backend(pid) from pg_stat_activity
                     where datname = current_database() and application_name like 'dbdyno-%'
                     and pid <> pg_backend_pid()",
        ),
        impatience: &[("lock_timeout", "20ms")],
        schema: Some("select nspname from pg_namespace where nspname = 'dbdyno'"),
        prefix: "dbdyno.",
    },
    MARIADB,
    Subject {
        org: Some("lsm"),
        settings: &[("rocksdb_deadlock_detect", "on"), ("rocksdb_lock_wait_timeout", "60")],
        create: &["create table t (id bigint not null primary key, key25 int, key125 int,
                   key320 int, region int, booked_on date, amount numeric(12,2), quantity int,
                   status int, code text, filler text) engine = rocksdb"],
        impatience: &[("rocksdb_lock_wait_timeout", "1")],
        ..MARIADB
    },
];

/// The engine of a subject: a registered one, or the skeleton of one.
fn find(engine: &str) -> &'static dyn Engine {
    if engine == Skeleton.name() { &Skeleton } else { engine::find(engine).expect("compiled in") }
}

/// A place for an engine's database: a directory, and an empty database of a server if the engine
/// needs one.
struct Place {
    lease: Option<Lease>,
    directory: Directory,
    settings: Vec<Setting>,
    /// Given back when the database is closed.
    _turn: Option<MutexGuard<'static, ()>>,
}

impl Place {
    fn new(subject: &Subject, server_bin: Option<PathBuf>) -> Self {
        Place::with(subject, server_bin, &[])
    }

    /// One with these settings beside those of the subject.
    fn with(subject: &Subject, server_bin: Option<PathBuf>, more: &[Setting]) -> Self {
        let (directory, settings) = (directory(), [subject.settings, more].concat());
        let private = find(subject.engine).capabilities().private_server;
        let lease = private.then(|| Lease::new(subject.engine, server_bin, &settings));
        Place { lease, directory, settings, _turn: turn(subject.engine) }
    }

    fn open(&self, subject: &Subject, access: Access) -> Result<Box<dyn Database>, EngineError> {
        let target = Target::Embedded {
            engine: subject.engine.into(),
            data_dir: self.directory.path().into(),
        };
        let url = self.lease.as_ref().map(|lease| lease.url.clone());
        let file = url.is_none().then(|| self.directory.path().join("db").join("contract.db"));
        let connect =
            ConnectTo { file, url, settings: settings(&self.settings), ..ConnectTo::new(target) };
        find(subject.engine).open(&connect, access)
    }
}

/// Runs `check` on every engine and every version of its server that the tests have, each with an
/// empty database.
fn on_every_engine(check: impl Fn(&Subject, &dyn Database)) {
    on_engines_that(|_| true, check);
}

/// The same on engines of a kind.
fn on_engines_that(is: impl Fn(&Subject) -> bool, check: impl Fn(&Subject, &dyn Database)) {
    on_engines_with(is, |_| &[], check);
}

/// The same with further settings.
fn on_engines_with(
    is: impl Fn(&Subject) -> bool,
    more: impl Fn(&Subject) -> &'static [Setting],
    check: impl Fn(&Subject, &dyn Database),
) {
    for subject in SUBJECTS.iter().filter(|subject| is(subject)) {
        for server_bin in servers(subject.engine) {
            if subject.org.is_some() && server_bin.is_some() {
                continue; // only the distribution's server has its plugins
            }
            let place = Place::with(subject, server_bin, more(subject));
            let database = place.open(subject, Access::Provision).unwrap();
            create(subject, &*database);
            check(subject, &*database);
        }
    }
}

fn create(subject: &Subject, database: &dyn Database) {
    let mut session = database.session().unwrap();
    for sql in subject.create {
        session.execute(sql).unwrap();
    }
}

/// Loads the first rows of the table.
fn load(
    subject: &Subject,
    database: &dyn Database,
    rows: u64,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), EngineError> {
    database.load_rows(
        &RowLoad {
            table: &subject.table(),
            rows: ROWS,
            ids: 1..rows + 1,
            note: None,
            in_database: None,
        },
        progress,
    )
}

fn load_few(subject: &Subject, database: &dyn Database) {
    load(subject, database, FEW_ROWS, &mut |_| true).unwrap();
}

/// Hands out slices of so many ops; keeps what comes back.
pub struct Script {
    slices: Vec<u64>,
    pub tallies: Vec<Tally>,
    pub failed: Vec<ErrorClass>,
    /// After an error.
    pub goes_on: bool,
    counters: Counters,
}

impl Script {
    pub fn new(slices: &[u64]) -> Self {
        let slices = slices.iter().rev().copied().collect();
        Script {
            slices,
            tallies: vec![],
            failed: vec![],
            goes_on: false,
            counters: Counters::default(),
        }
    }
}

impl Pacer for Script {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        self.slices.pop().map(|max_ops| Slice { seconds: 60.0, max_ops, stride: 1 })
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        assert_eq!(report.latency.len(), report.tally.ops);
        self.tallies.push(report.tally.clone());
    }
    fn op_failed(&mut self, error: &EngineError) -> AfterError {
        self.failed.push(error.class);
        if self.goes_on { AfterError::GoOn } else { AfterError::Stop }
    }
    fn session_counters(&mut self, counters: Counters) {
        self.counters = counters;
    }
}

pub fn client(sql: &str, commit: Commit) -> JobCode {
    let step = BoundStatement { name: "step".into(), sql: sql.into(), binds: vec!["id".into()] };
    let branches = vec![Branch { upto: 100.0, commit, statements: vec![step], times: 1 }];
    let binds = BTreeMap::from([("id".to_string(), Bind::Random(Expr("rows".into())))]);
    JobCode::Client { branches, binds, shared_read: false, hits: false, connects: false }
}

pub fn run(
    database: &dyn Database,
    code: &JobCode,
    job: u32,
    script: &mut Script,
) -> Result<(), EngineError> {
    let facts = Facts::from([("rows".into(), FEW_ROWS as f64)]);
    database.run_job(
        &JobSpec {
            job,
            jobs: 2,
            code,
            session: &[],
            seed: 1,
            facts: &facts,
            rows: ROWS,
            wire: Default::default(),
            node: None,
        },
        script,
    )
}

#[test]
fn a_session_answers_with_binds_and_names_its_version() {
    on_every_engine(|subject, database| {
        assert!(database.version() > Version(vec![0]), "{}", subject.engine);
        let mut session = database.session().unwrap();
        let rows = session.query(subject.echo, &[7, -9_000_000_000]).unwrap();
        assert_eq!(
            rows.rows,
            [[Some("7".to_string()), Some("-9000000000".to_string())]],
            "{}",
            subject.engine
        );
        let error = session.query(subject.nonsense, &[]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Statement, "{}: {error}", subject.engine);
        assert_eq!(error.message.lines().count(), 1);
    });
}

/// Also when what it reads has other columns by now, and when the session was lost and opened anew.
#[test]
fn a_query_that_is_asked_again_is_answered_as_if_it_were_the_first_time() {
    on_every_engine(|subject, database| {
        let (mut session, engine) = (database.polling_session().unwrap(), subject.engine);
        let mut alike = |sql: &str| {
            for _ in 0..3 {
                let again = session.query_again(sql).unwrap();
                assert_eq!(again, session.query(sql, &[]).unwrap(), "{engine}: {sql}");
            }
        };
        if !subject.create.is_empty() {
            alike(subject.count);
        }
        load_few(subject, database);
        alike(subject.count);
        if let [create] = subject.create
            && subject.lookup.contains('*')
        {
            let mut owner = database.session().unwrap();
            let texts = "select 'it''s' as word, null as missing, 1.50 as price, -7 as number";
            alike(texts);
            let (old, name) = (subject.table(), format!("{}again", subject.prefix));
            let columns = create.strip_prefix(&format!("create table {old} (")).unwrap();
            let query = format!("select * from {name}");
            for more in ["", "more int, "] {
                owner.execute(&format!("create table {name} ({more}{columns}")).unwrap();
                alike(&query);
                owner.execute(&format!("drop table {name}")).unwrap();
                for _ in 0..2 {
                    let error = session_error(database, &query);
                    assert_eq!(error.message.lines().count(), 1, "{engine}: {error}");
                }
            }
        }
        alike(subject.count);
        if let Some(sever) = subject.sever {
            drop(database.session().unwrap().query(sever, &[]).unwrap());
            alike(subject.count);
        }
    });
}

/// Each op has a connection of its own, whose time is told, where an engine has connections;
/// elsewhere it is refused.
#[test]
fn ops_that_open_connections_are_counted_or_refused() {
    on_every_engine(|subject, database| {
        load_few(subject, database);
        let JobCode::Client { branches, binds, shared_read, hits, .. } =
            client(subject.lookup, Commit::None)
        else {
            panic!()
        };
        let code = JobCode::Client { branches, binds, shared_read, hits, connects: true };
        let mut script = Script::new(&[7, 3]);
        let outcome = run(database, &code, 1, &mut script);
        let opened: Vec<u64> = script.tallies.iter().map(|tally| tally.connects.opened).collect();
        if find(subject.engine).capabilities().in_process {
            let refused = outcome.unwrap_err();
            assert_eq!(refused.class, ErrorClass::Statement, "{}", subject.engine);
            assert!(opened.iter().all(|opened| *opened == 0), "{}", subject.engine);
            return;
        }
        outcome.unwrap();
        assert_eq!(opened, [7, 3], "{}", subject.engine);
        for tally in &script.tallies {
            assert_eq!(tally.rows, tally.ops, "{}", subject.engine);
            let times = &tally.connects;
            assert!(times.reach_s > 0.0 && times.login_s > 0.0 && times.close_s > 0.0);
            assert!(times.total_s() <= tally.busy_s, "{times:?} of {}", tally.busy_s);
        }
        assert_eq!(database.job_sessions(), Vec::<u32>::new(), "{}", subject.engine);
    });
}

#[test]
fn a_session_of_postgresql_plans_once_what_is_asked_again() {
    let subject = SUBJECTS.iter().find(|subject| subject.engine == "postgres").unwrap();
    let place = Place::new(subject, None);
    let database = place.open(subject, Access::Provision).unwrap();
    let mut session = database.session().unwrap();
    let planned = "select coalesce(sum(generic_plans + custom_plans), 0), count(*) \
                   from pg_prepared_statements where statement = 'select 7'";
    let plans = |session: &mut dyn engine::Session| session.query(planned, &[]).unwrap().rows;
    let numbers = |plans: &str, count: &str| [[Some(plans.to_owned()), Some(count.to_owned())]];
    assert_eq!(plans(session.as_mut()), numbers("0", "0"));
    for executions in 1..=3 {
        session.query_again("select 7").unwrap();
        // The server counts how often it took the plan that it keeps.
        assert_eq!(plans(session.as_mut()), numbers(&executions.to_string(), "1"));
    }
    session.execute("discard all").unwrap(); // what it was ready for is gone
    assert_eq!(session.query_again("select 7").unwrap().scalar(), Some("7"));
    assert_eq!(session.query_again("select 7").unwrap().scalar(), Some("7"));
    assert_eq!(plans(session.as_mut()), numbers("1", "1"));
}

/// Error of a query that fails each time, in a session that goes on.
fn session_error(database: &dyn Database, sql: &str) -> EngineError {
    let mut session = database.session().unwrap();
    let errors = [(); 2].map(|()| session.query_again(sql).unwrap_err());
    assert_eq!((errors[0].class, &errors[0].message), (errors[1].class, &errors[1].message));
    assert_eq!(errors[0].message, session.query(sql, &[]).unwrap_err().message);
    errors.into_iter().next().unwrap()
}

#[test]
fn loaded_rows_are_all_there() {
    on_every_engine(|subject, database| {
        load(subject, database, ROWS.table_rows, &mut |_| true).unwrap();
        let rows = database.session().unwrap().query(subject.count, &[]).unwrap();
        assert_eq!(
            (rows.get(0, "count"), rows.get(0, "sum")),
            (Some("16000"), Some("128008000")),
            "{}",
            subject.engine
        );
    });
}

#[test]
fn a_cancelled_load_leaves_nothing() {
    on_every_engine(|subject, database| {
        assert_eq!(
            load(subject, database, ROWS.table_rows, &mut |_| false).unwrap_err().class,
            ErrorClass::Cancelled,
            "{}",
            subject.engine
        );
        let left = database.session().unwrap().query(subject.count, &[]);
        let count = left.ok().and_then(|rows| rows.get(0, "count").map(String::from));
        assert!(matches!(count.as_deref(), None | Some("0")), "{}: {count:?}", subject.engine);
    });
}

#[test]
fn slices_have_exactly_their_ops_and_fetch_their_rows() {
    on_every_engine(|subject, database| {
        load_few(subject, database);
        let mut script = Script::new(&[100, 250]);
        run(database, &client(subject.lookup, Commit::None), 1, &mut script).unwrap();
        let ops: Vec<_> =
            script.tallies.iter().map(|tally| (tally.ops, tally.rows, tally.commits)).collect();
        assert_eq!(ops, [(100, 100, 0), (250, 250, 0)], "{}", subject.engine);
        if let Some(statements) = script.counters.get("statements_run") {
            assert_eq!(statements, 350.0, "{}", subject.engine);
        }
    });
}

#[test]
fn a_wrong_statement_is_told_before_the_gate() {
    on_every_engine(|subject, database| {
        let mut script = Script::new(&[100]);
        let error =
            run(database, &client(subject.nonsense, Commit::None), 1, &mut script).unwrap_err();
        assert_eq!(error.class, ErrorClass::Statement, "{}: {error}", subject.engine);
        assert!(script.tallies.is_empty());
    });
}

#[test]
fn two_jobs_run_and_load_side_by_side() {
    on_every_engine(|subject, database| {
        load_few(subject, database);
        let code = client(subject.lookup, Commit::Block);
        std::thread::scope(|scope| {
            for job in 1..=2 {
                let code = &code;
                scope.spawn(move || {
                    let mut script = Script::new(&[300]);
                    run(database, code, job, &mut script).unwrap();
                    assert_eq!(
                        (script.tallies[0].ops, script.tallies[0].commits),
                        (300, 300),
                        "{}",
                        subject.engine
                    );
                });
            }
        });
    });
}

#[test]
fn sessions_that_load_an_empty_table_side_by_side_do_not_hinder_each_other() {
    let is_parallel = |subject: &Subject| {
        find(subject.engine).capabilities().parallel_load && !subject.create.is_empty()
    };
    on_engines_that(is_parallel, |subject, database| {
        for _ in 0..5 {
            let mut session = database.session().unwrap();
            let (table, noted) = (subject.table(), format!("{}noted", subject.prefix));
            let anew = [
                format!("drop table if exists {noted}"),
                format!("create table {noted} (ids int)"),
                format!("drop table {table}"),
            ];
            for sql in anew.iter().map(String::as_str).chain(subject.create.iter().copied()) {
                session.execute(sql).unwrap();
            }
            let note = format!("insert into {noted} values (1)");
            let start = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                for session in 0..4 {
                    let (start, table, note) = (&start, &table, Some(note.as_str()));
                    scope.spawn(move || {
                        let ids = session * 2000 + 1..(session + 1) * 2000 + 1;
                        start.wait();
                        database
                            .load_rows(
                                &RowLoad { table, rows: ROWS, ids, note, in_database: None },
                                &mut |_| true,
                            )
                            .unwrap();
                    });
                }
            });
            let rows = database.session().unwrap().query(subject.count, &[]).unwrap();
            assert_eq!(rows.get(0, "count"), Some("8000"), "{}", subject.engine);
        }
    });
}

#[test]
fn jobs_load_batches_that_never_collide() {
    on_every_engine(|subject, database| {
        let code = JobCode::Bulk { table: subject.table(), batch: 100 };
        for job in 1..=2 {
            let mut script = Script::new(&[4, 6]);
            run(database, &code, job, &mut script).unwrap();
            let done: Vec<_> =
                script.tallies.iter().map(|tally| (tally.ops, tally.rows, tally.commits)).collect();
            assert_eq!(done, [(4, 400, 4), (6, 600, 6)], "{}", subject.engine);
        }
        let rows = database.session().unwrap().query(subject.count, &[]).unwrap();
        assert_eq!(rows.get(0, "count"), Some("2000"), "{}", subject.engine);
        assert_eq!(rows.get(0, "sum"), Some("2001000"), "{}", subject.engine);
    });
}

fn counts_lookups(subject: &Subject) -> bool {
    subject.lookups.is_some()
}

#[test]
fn the_servers_own_count_of_lookups_is_ours() {
    on_engines_that(counts_lookups, |subject, database| {
        let lookups = subject.lookups.unwrap();
        load_few(subject, database);
        let counted = || -> i64 {
            database
                .session()
                .unwrap()
                .query(lookups, &[])
                .unwrap()
                .scalar()
                .unwrap()
                .parse()
                .unwrap()
        };
        // The first look-up of all reads what the server knows about the table.
        run(database, &client(subject.lookup, Commit::Block), 1, &mut Script::new(&[1])).unwrap();
        let before = counted();
        run(database, &client(subject.lookup, Commit::Block), 1, &mut Script::new(&[40, 60]))
            .unwrap();
        assert_eq!(counted() - before, 100, "{}", subject.engine);
    });
}

#[test]
fn a_lock_that_is_held_too_long_is_an_error_to_retry() {
    let has_locks = |subject: &Subject| subject.update.is_some();
    let impatience = |subject: &Subject| subject.impatience;
    on_engines_with(has_locks, impatience, |subject, database| {
        let update = subject.update.unwrap();
        load_few(subject, database);
        let mut holder = database.session().unwrap();
        holder.execute("begin").unwrap();
        holder.execute(&format!("update {} set status = 5", subject.table())).unwrap();
        let mut script = Script::new(&[10]);
        let error = run(database, &client(update, Commit::Block), 1, &mut script).unwrap_err();
        assert_eq!(
            (error.class, error.class.retriable()),
            (subject.held, true),
            "{}: {error}",
            subject.engine
        );
        assert_eq!(
            (script.failed.as_slice(), script.tallies[0].ops),
            ([subject.held].as_slice(), 0)
        );
        holder.execute("rollback").unwrap();
        let mut script = Script::new(&[10]);
        run(database, &client(update, Commit::Block), 1, &mut script).unwrap();
        assert_eq!(
            (script.tallies[0].ops, script.tallies[0].commits),
            (10, 10),
            "{}",
            subject.engine
        );
    });
}

#[test]
fn of_two_sessions_that_wait_for_each_other_one_is_the_victim() {
    // Without row locks nobody can wait for each other.
    on_engines_that(counts_lookups, |subject, database| {
        load_few(subject, database);
        let table = subject.table();
        let update = |id: u32| format!("update {table} set status = 1 where id = {id}");
        let mut sessions = [database.session().unwrap(), database.session().unwrap()];
        for (session, own) in sessions.iter_mut().zip([1, 2]) {
            session.execute("begin").unwrap();
            session.execute(&update(own)).unwrap();
        }
        let [first, second] = &mut sessions;
        let outcomes = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| first.execute(&update(2)));
            let other = second.execute(&update(1)).and_then(|_| second.execute("commit"));
            let other = if other.is_err() { second.execute("rollback").and(other) } else { other };
            [waiting.join().unwrap(), other]
        });
        let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
        assert_eq!(failed.len(), 1, "{outcomes:?}");
        assert!(
            failed[0].class == ErrorClass::Deadlock && failed[0].class.retriable(),
            "{}",
            failed[0]
        );
    });
}

/// As [`Script`], and calls `act` before each slice.
struct Acting<'a>(Script, &'a dyn Fn());

impl Pacer for Acting<'_> {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        if !self.0.tallies.is_empty() {
            self.1();
        }
        self.0.next_slice()
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        self.0.slice_done(report);
    }
    fn op_failed(&mut self, error: &EngineError) -> AfterError {
        self.0.op_failed(error)
    }
    fn session_counters(&mut self, counters: Counters) {
        self.0.session_counters(counters);
    }
}

#[test]
fn a_lost_session_ends_the_job_and_what_it_did_is_kept() {
    let can_be_lost = |subject: &Subject| subject.sever.is_some();
    on_engines_that(can_be_lost, |subject, database| {
        let sever = subject.sever.unwrap();
        load_few(subject, database);
        let mut acting = Acting(Script::new(&[50, 50]), &|| {
            drop(database.session().unwrap().query(sever, &[]).unwrap())
        });
        let facts = Facts::from([("rows".into(), FEW_ROWS as f64)]);
        let code = client(subject.lookup, Commit::None);
        let order = JobSpec {
            job: 1,
            jobs: 1,
            code: &code,
            session: &[],
            seed: 1,
            facts: &facts,
            rows: ROWS,
            wire: Default::default(),
            node: None,
        };
        let error = database.run_job(&order, &mut acting).unwrap_err();
        assert_eq!(error.class, ErrorClass::Lost, "{}: {error}", subject.engine);
        assert_eq!(acting.0.tallies[0].ops, 50);
        run(database, &code, 1, &mut Script::new(&[5])).unwrap();
    });
}

#[test]
fn cancelling_ends_statements_and_leaves_the_database_usable() {
    let can_cancel = |subject: &Subject| subject.endless.is_some();
    on_engines_that(can_cancel, |subject, database| {
        let endless = subject.endless.unwrap();
        let code = client(endless, Commit::None);
        let class = std::thread::scope(|scope| {
            let job = scope.spawn(|| run(database, &code, 1, &mut Script::new(&[1])));
            // Before the statement has begun there is nothing to cancel: asked again, as the runner
            // does.
            until_or_abort("the statement is cancelled", || {
                database.cancel();
                job.is_finished()
            });
            job.join().unwrap().unwrap_err().class
        });
        assert_eq!(class, ErrorClass::Cancelled, "{}", subject.engine);
        assert!(
            database.session().unwrap().query(subject.count, &[]).is_ok(),
            "{}",
            subject.engine
        );
    });
}

#[test]
fn looking_creates_nothing() {
    for subject in SUBJECTS.iter().filter(|subject| !servers(subject.engine).is_empty()) {
        let place = Place::new(subject, None);
        let files = || std::fs::read_dir(place.directory.path()).unwrap().count();
        let before = files();
        let database = place.open(subject, Access::Inspect).unwrap();
        let mut session = database.session().unwrap();
        if let Some(schema) = subject.schema {
            let schemas = session.query(schema, &[]).unwrap();
            assert!(schemas.rows.is_empty(), "{}", subject.engine);
        }
        assert_eq!(files(), before, "{}", subject.engine);
    }
}
