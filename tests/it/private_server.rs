//! Private servers and the engines on them: real servers in temporary directories.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dbdyno::engine::{
    self, Access, AfterError, ConnectTo, Database, EngineError, ErrorClass, JobSpec, Pacer,
    RowLoad, Slice, SliceReport,
};
use dbdyno::model::rows::RowFunction;
use dbdyno::model::{
    Bind, BoundStatement, Branch, Commit, Counters, Expr, Facts, JobCode, Tally, Target,
};
use dbdyno::server::{self, PrivateServer, StartOptions};
use secrecy::SecretString;

use crate::skipped::skipped;
use crate::support::{directory, free_port, is_alive, start_options};

const ROWS: RowFunction = RowFunction { table_rows: 8000, seed: 42 };
const TABLE: &str = "create table dbdyno.t (id bigint primary key, key25 int, key125 int, key320 \
                     int, region int, booked_on date, amount numeric(12,2), quantity int, status \
                     int, code varchar(32), filler text)";

/// A kind of server under test with what is said differently on it.
struct Kind {
    engine: &'static str,
    /// Small and fast.
    settings: &'static [(&'static str, &'static str)],
    /// A setting that it refuses at its start.
    wrong: (&'static str, &'static str),
    /// Words of the hint on how to connect.
    hint: [&'static str; 2],
    /// Mark of the first and only bind of a statement.
    mark: &'static str,
    /// A statement that fails for every other key.
    fails: &'static str,
    /// Counts the look-ups in the table `t`, where the server counts them per table.
    scans: Option<&'static str>,
    /// A routine that does nothing and reports twice the ops as rows, and its call.
    routine: [&'static str; 2],
    /// The database in the URL of an existing server.
    database: &'static str,
    /// Processes that a server has at least.
    processes: usize,
    /// Makes the user ann, with a password; gives it the privileges, as the advice says; a change
    /// after which the password is of no use any more.
    ann: [&'static str; 3],
    /// Ends it at once.
    kill: rustix::process::Signal,
}

const KINDS: [Kind; 2] = [
    Kind {
        engine: "postgres",
        settings: &[("shared_buffers", "16MB"), ("fsync", "off"), ("max_connections", "10")],
        wrong: ("shared_buffers", "much"),
        hint: ["psql -h ", "-U dbdyno"],
        mark: "$1",
        fails: "select 1 / ($1 % 2)",
        scans: Some("select idx_scan from pg_stat_user_tables where relname = 't'"),
        routine: [
            "create function dbdyno.f(p_max bigint, p_seed bigint, out ops bigint, out rows \
             bigint, out commits bigint, out sink float8, out seed bigint, out elapsed_us float8, \
             out samples_us float8[]) language sql as 'select p_max, p_max * 2, 0::bigint, \
             1::float8, p_seed % 2147483646 + 1, 10::float8, array[5.5, 7]::float8[]'",
            "select * from dbdyno.f($1, $2)",
        ],
        database: "postgres",
        processes: 3,
        ann: [
            "create role ann login password 'right'",
            "grant create on database postgres to ann",
            // An md5 password cannot prove itself by scram.
            "set password_encryption = 'md5'; alter role ann password 'right'",
        ],
        kill: rustix::process::Signal::QUIT,
    },
    Kind {
        engine: "mariadb",
        settings: &[
            ("innodb_buffer_pool_size", "16M"),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("max_connections", "10"),
        ],
        wrong: ("innodb_flush_method", "somehow"),
        hint: ["mariadb --no-defaults", "--user=dbdyno"],
        mark: "?",
        fails: "select 9223372036854775807 + (? % 2)",
        scans: None,
        routine: [
            "create procedure dbdyno.f(p_max bigint, p_seed bigint) select p_max as ops, p_max * 2 \
             as `rows`, 0 as commits, 1e0 as sink, p_seed % 2147483646 + 1 as seed, 1e1 as \
             elapsed_us, '5.5 7 ' as samples_us",
            "call dbdyno.f(?, ?)",
        ],
        database: "",
        processes: 1,
        ann: [
            "create user ann@'127.0.0.1' identified by 'right'",
            "grant all on dbdyno.* to 'ann'@'127.0.0.1'",
            "alter user ann@'127.0.0.1' account lock",
        ],
        kill: rustix::process::Signal::KILL,
    },
];

fn options(kind: &Kind, data_dir: &Path, port: Option<u16>) -> StartOptions {
    StartOptions { port, ..start_options(data_dir, kind.settings) }
}

fn start(kind: &Kind, data_dir: &Path, port: Option<u16>) -> PrivateServer {
    server::start(kind.engine, &options(kind, data_dir, port)).unwrap()
}

fn start_error(kind: &Kind, data_dir: &Path, port: Option<u16>) -> dbdyno::error::Error {
    server::start(kind.engine, &options(kind, data_dir, port)).err().unwrap()
}

fn open(
    url: &str,
    password: Option<SecretString>,
    access: Access,
) -> Result<Box<dyn Database>, EngineError> {
    let engine = url.split_once("://").unwrap().0;
    let target = Target::Existing { engine: engine.into(), url: url.into() };
    let to = ConnectTo { url: Some(url.into()), password, ..ConnectTo::new(target) };
    engine::find(engine).unwrap().open(&to, access)
}

/// Gives `slices` slices of 100 ops; `before` is called with the number of each slice.
struct TestPacer<F: FnMut(u32)> {
    slices: u32,
    given: u32,
    before: F,
    tally: Tally,
    samples: u64,
    errors: Vec<ErrorClass>,
}

impl<F: FnMut(u32)> TestPacer<F> {
    fn new(slices: u32, before: F) -> Self {
        TestPacer {
            slices,
            given: 0,
            before,
            tally: Tally::default(),
            samples: 0,
            errors: Vec::new(),
        }
    }
}

impl<F: FnMut(u32)> Pacer for TestPacer<F> {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        self.given += 1;
        (self.before)(self.given);
        (self.given <= self.slices).then_some(Slice { seconds: 60.0, max_ops: 100, stride: 4 })
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        self.tally.merge(&report.tally);
        self.samples += report.latency.len();
    }
    fn op_failed(&mut self, error: &EngineError) -> AfterError {
        self.errors.push(error.class);
        AfterError::GoOn
    }
    fn session_counters(&mut self, _: Counters) {}
}

fn branch(sql: &str, commit: Commit) -> JobCode {
    let statement =
        BoundStatement { name: "step".into(), sql: sql.into(), binds: vec!["key".into()] };
    let branches = vec![Branch { upto: 100.0, commit, statements: vec![statement], times: 1 }];
    let binds = BTreeMap::from([("key".to_owned(), Bind::Random(Expr("8000".into())))]);
    JobCode::Client { branches, binds, shared_read: false, hits: false, connects: false }
}

fn run<F: FnMut(u32)>(
    database: &dyn Database,
    code: &JobCode,
    pacer: &mut TestPacer<F>,
) -> Result<(), EngineError> {
    let facts = Facts::new();
    database.run_job(
        &JobSpec {
            job: 1,
            jobs: 1,
            code,
            session: &[],
            seed: 42,
            facts: &facts,
            rows: ROWS,
            wire: Default::default(),
            node: None,
        },
        pacer,
    )
}

/// One counter of pg_stat_*, after our sessions have ended.
fn count(database: &dyn Database, sql: &str) -> i64 {
    database.session().unwrap().query(sql, &[]).unwrap().scalar().unwrap().parse().unwrap()
}

#[test]
fn loads_and_runs_both_drives_and_leaves_nothing() {
    for kind in KINDS {
        let dir = directory();
        let server = start(&kind, dir.path(), None);
        let pid = server.pid().unwrap();
        let database = open(&server.url(), None, Access::Provision).unwrap();
        database.session().unwrap().execute(TABLE).unwrap();
        check_load(&*database);
        check_client_drive(&kind, &*database);
        check_routine(&kind, &*database);
        assert!(
            database.server_pids().contains(&pid) && database.server_pids().len() >= kind.processes
        );
        assert_eq!(database.storage_path().as_deref(), Some(server.storage_path()));
        server.stop_and_remove().unwrap();
        assert!(!is_alive(pid));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

fn check_load(database: &dyn Database) {
    let cancelled =
        RowLoad { table: "dbdyno.t", rows: ROWS, ids: 1..20_001, note: None, in_database: None };
    let error = database.load_rows(&cancelled, &mut |_| false).unwrap_err();
    assert_eq!(error.class, ErrorClass::Cancelled);
    let mut sent = 0;
    let load =
        RowLoad { table: "dbdyno.t", rows: ROWS, ids: 1..8001, note: None, in_database: None };
    database
        .load_rows(&load, &mut |rows| {
            sent = rows;
            true
        })
        .unwrap();
    assert_eq!((sent, count(database, "select count(*) from dbdyno.t")), (8000, 8000));
    let rows = database
        .session()
        .unwrap()
        .query(
            "select id, key25, key125, key320, region, booked_on, floor(amount * 100), quantity, \
             status, code, filler, case when amount * 100 = floor(amount * 100) then 'exact' end \
             from dbdyno.t order by id",
            &[],
        )
        .unwrap();
    let (mut iso, mut code, mut filler) = (String::new(), String::new(), String::new());
    for (row, id) in rows.rows.iter().zip(1..) {
        let expected = ROWS.row(id);
        expected.booked_on_iso(&mut iso);
        expected.code(&mut code);
        expected.filler(&mut filler);
        let numbers =
            [expected.id, expected.key25, expected.key125, expected.key320, expected.region];
        let mut texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
        texts.push(iso.clone());
        texts.extend(
            [expected.amount_cents, expected.quantity, expected.status].iter().map(i64::to_string),
        );
        texts.extend([code.clone(), filler.clone(), "exact".into()]);
        assert_eq!(row.iter().flatten().cloned().collect::<Vec<_>>(), texts);
    }
}

/// Our counts are the server's own, as soon as the job has returned.
fn check_client_drive(kind: &Kind, database: &dyn Database) {
    let scans = || kind.scans.map(|sql| count(database, sql));
    let before = scans();
    let mut pacer = TestPacer::new(3, |_| ());
    let select = format!("select * from dbdyno.t where id = {}", kind.mark);
    run(database, &branch(&select, Commit::None), &mut pacer).unwrap();
    assert_eq!((pacer.tally.ops, pacer.tally.rows, pacer.tally.commits), (300, 300, 0));
    assert_eq!(scans(), before.map(|before| before + 300));
    let update = format!("update dbdyno.t set status = status + 1 where id = {}", kind.mark);
    let mut pacer = TestPacer::new(1, |_| ());
    run(database, &branch(&update, Commit::Block), &mut pacer).unwrap();
    assert_eq!((pacer.tally.ops, pacer.tally.rows, pacer.tally.commits), (100, 100, 100));
    assert_eq!(count(database, "select sum(status) from dbdyno.t"), 100);
    let mut pacer = TestPacer::new(1, |_| ());
    run(database, &branch(kind.fails, Commit::None), &mut pacer).unwrap();
    assert_eq!(pacer.tally.ops, 100);
    assert!(
        pacer.errors.len() > 20 && pacer.errors.iter().all(|class| *class == ErrorClass::Statement)
    );
}

fn check_routine(kind: &Kind, database: &dyn Database) {
    let [create, call] = kind.routine;
    database.session().unwrap().execute(create).unwrap();
    let binds = vec!["max_ops".into(), "seed".into()];
    let call = BoundStatement { name: "call".into(), sql: call.into(), binds };
    let routine = dbdyno::model::Routine {
        name: "dbdyno.f".into(),
        create: vec![],
        call,
        per_op: false,
        hits: false,
        drop: vec![],
    };
    let mut pacer = TestPacer::new(2, |_| ());
    run(database, &JobCode::Routine(routine), &mut pacer).unwrap();
    assert_eq!((pacer.tally.ops, pacer.tally.rows, pacer.samples), (200, 400, 4));
    // No slice takes longer than its call: times of more would be nobody's.
    assert_eq!(pacer.tally.busy_s, 2e-5);
}

#[test]
fn a_server_killed_in_the_middle_is_a_lost_connection() {
    for kind in KINDS {
        let dir = directory();
        let server = start(&kind, dir.path(), None);
        let database = open(&server.url(), None, Access::Provision).unwrap();
        let pid =
            rustix::process::Pid::from_raw(i32::try_from(server.pid().unwrap()).unwrap()).unwrap();
        let kill = |slice| {
            if slice == 2 {
                rustix::process::kill_process(pid, kind.kill).unwrap();
            }
        };
        let mut pacer = TestPacer::new(1_000_000, kill);
        let error =
            run(&*database, &branch(&format!("select {}", kind.mark), Commit::None), &mut pacer)
                .unwrap_err();
        assert_eq!(error.class, ErrorClass::Lost, "{error}");
        assert!(pacer.tally.ops >= 100);
        assert!(matches!(
            database.session().err().unwrap().class,
            ErrorClass::Unreachable | ErrorClass::Lost
        ));
        server.stop_and_remove().unwrap();
    }
}

#[test]
fn passwords_and_privileges_are_checked_before_anything_is_created() {
    const OURS: &str =
        "select count(*) from information_schema.schemata where schema_name = 'dbdyno'";
    for kind in KINDS {
        let (dir, port, [create, grant, spoil]) = (directory(), free_port(), kind.ann);
        let server = start(&kind, dir.path(), Some(port));
        let admin = open(&server.url(), None, Access::Inspect).unwrap();
        assert_eq!(count(&*admin, OURS), 0);
        let mut session = admin.session().unwrap();
        session.execute(create).unwrap();
        let url = format!("{}://ann@127.0.0.1:{port}/{}", kind.engine, kind.database);
        let right = || Some("right".into());
        let error = open(&url, Some("wr0ng".into()), Access::Provision).err().unwrap();
        assert_eq!(error.class, ErrorClass::Denied);
        assert!(!format!("{error:?}").contains("wr0ng"));
        assert_eq!(
            open(&url, None, Access::Provision).err().unwrap().class,
            ErrorClass::NoPassword
        );
        let error = open(&url, right(), Access::Provision).err().unwrap();
        assert_eq!(error.class, ErrorClass::Privilege);
        assert!(error.advice.as_ref().unwrap().contains(grant), "{error:?}");
        assert_eq!(count(&*admin, OURS), 0, "{}: nothing was created", kind.engine);
        session.execute(grant).unwrap();
        let database = open(&url, right(), Access::Provision).unwrap();
        database.session().unwrap().execute(TABLE).unwrap();
        session.execute(spoil).unwrap();
        assert_eq!(open(&url, right(), Access::Provision).err().unwrap().class, ErrorClass::Denied);
        drop(session);
        server.stop_and_remove().unwrap();
    }
}

#[test]
fn no_session_of_ours_ends_because_it_is_idle() {
    // Settings of the server, what a session shows of each, and what it is to show.
    let mariadb = [
        ("wait_timeout", "select @@wait_timeout", "31536000"),
        ("idle_transaction_timeout", "select @@idle_transaction_timeout", "0"),
        ("idle_readonly_transaction_timeout", "select @@idle_readonly_transaction_timeout", "0"),
        ("idle_write_transaction_timeout", "select @@idle_write_transaction_timeout", "0"),
    ];
    let postgres = [
        ("idle_session_timeout", "show idle_session_timeout", "0"),
        ("idle_in_transaction_session_timeout", "show idle_in_transaction_session_timeout", "0"),
    ];
    for (kind, asked) in KINDS.iter().zip([&postgres[..], &mariadb[..]]) {
        let dir = directory();
        let mut options = options(kind, dir.path(), None);
        for (setting, _, _) in asked {
            options.settings.insert((*setting).into(), "60000".into());
        }
        let server = server::start(kind.engine, &options).unwrap();
        let database = open(&server.url(), None, Access::Inspect).unwrap();
        let mut session = database.session().unwrap();
        for (setting, shown, value) in asked {
            assert_eq!(
                session.query(shown, &[]).unwrap().scalar(),
                Some(*value),
                "{}: {setting}",
                kind.engine
            );
        }
        drop(session);
        server.stop_and_remove().unwrap();
    }
}

#[test]
fn a_port_in_use_is_said_before_anything_starts() {
    for kind in KINDS {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let dir = directory();
        let error = start_error(&kind, dir.path(), Some(port));
        assert!(
            error.to_string().starts_with(&format!("--port {port}: the port cannot be used")),
            "{error}"
        );
    }
}

#[test]
fn a_directory_that_the_servers_user_cannot_enter_is_named() {
    if !rustix::process::geteuid().is_root() {
        return skipped("BE_ROOT", "only root switches users");
    }
    for kind in KINDS {
        let dir = directory();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let error = start_error(&kind, dir.path(), None);
        assert!(
            error.to_string().contains("cannot enter") && error.advice.contains("--data-dir"),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_wrong_setting_shows_the_servers_own_words() {
    for kind in KINDS {
        let dir = directory();
        let mut options = options(&kind, dir.path(), None);
        options.settings.insert(kind.wrong.0.into(), kind.wrong.1.into());
        let error = server::start(kind.engine, &options).err().unwrap();
        assert!(error.what.replace('-', "_").contains(kind.wrong.0), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_kept_server_is_used_again() {
    for kind in KINDS {
        let dir = directory();
        let server = start(&kind, dir.path(), None);
        let url = server.url();
        open(&url, None, Access::Provision)
            .unwrap()
            .session()
            .unwrap()
            .execute("create table dbdyno.t (id bigint primary key)")
            .unwrap();
        let hint = server.keep().unwrap();
        assert!(kind.hint.iter().all(|words| hint.contains(words)), "{hint}");
        assert!(open(&url, None, Access::Inspect).is_ok(), "a kept server runs on");
        let interrupt = Arc::new(AtomicBool::new(true));
        let interrupted = StartOptions { interrupt, ..options(&kind, dir.path(), None) };
        let error = server::start(kind.engine, &interrupted).err().unwrap();
        assert_eq!(error.kind, dbdyno::error::Kind::Interrupted, "{error}");
        assert!(open(&url, None, Access::Inspect).is_ok(), "nobody has stopped it");
        let server = start(&kind, dir.path(), None);
        let database = open(&server.url(), None, Access::Inspect).unwrap();
        assert_eq!(count(&*database, "select count(*) from dbdyno.t"), 0);
        server.keep().unwrap();
        assert!(server::remove(kind.engine, dir.path()).unwrap().is_some());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

/// A server of a kind that was kept; its directory.
fn keep_server(kind: &Kind, data_dir: &Path) -> PathBuf {
    start(kind, data_dir, None).keep().unwrap();
    data_dir.join(format!("dbdyno-{}", kind.engine))
}

#[test]
fn the_servers_user_can_write_nothing_that_we_trust() {
    if !rustix::process::geteuid().is_root() {
        return skipped("BE_ROOT", "only root switches users");
    }
    for kind in KINDS {
        let dir = directory();
        let home = keep_server(&kind, dir.path());
        let uid_and_mode = |path: &Path| {
            let metadata = std::fs::symlink_metadata(path).unwrap();
            (metadata.uid(), metadata.mode() & 0o777)
        };
        assert_eq!(uid_and_mode(&home), (0, 0o711), "{}", kind.engine);
        crate::security::assert_closed_to_others(&home);
        for entry in std::fs::read_dir(&home).unwrap().flatten() {
            let ((uid, mode), theirs) =
                (uid_and_mode(&entry.path()), entry.file_type().unwrap().is_dir());
            assert_eq!((uid != 0, mode & 0o022), (theirs, 0), "{:?}", entry.path());
            assert!(!theirs || mode == 0o700, "{:?}", entry.path());
        }
        // What it may write can lead elsewhere: root does not follow.
        let precious = dir.path().join("precious");
        std::fs::write(&precious, "x").unwrap();
        let theirs = home.join("data/postgresql.conf");
        let _ = std::fs::remove_file(&theirs);
        symlink(&precious, &theirs).unwrap();
        let _ = server::start(kind.engine, &options(&kind, dir.path(), None));
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x", "{}", kind.engine);
        server::remove(kind.engine, dir.path()).unwrap();
        assert!(precious.exists());
    }
}

#[test]
fn a_marker_that_names_somebody_elses_directory_and_a_home_of_another_user_are_left_alone() {
    let kind = &KINDS[0];
    let dir = directory();
    let (home, precious) = (keep_server(kind, dir.path()), dir.path().join("precious"));
    std::fs::create_dir(&precious).unwrap();
    let marker = home.join("dbdyno.json");
    let text = std::fs::read_to_string(&marker).unwrap();
    for elsewhere in [
        precious.as_path(),
        Path::new("/tmp/dbdyno-0123456789abcdef/.."),
        Path::new("/tmp/dbdyno-1"),
    ] {
        let socket_dir = format!("\"socket_dir\": \"{}\"", elsewhere.display());
        std::fs::write(&marker, text.replace("\"socket_dir\": null", &socket_dir)).unwrap();
        let error = server::remove(kind.engine, dir.path()).unwrap_err();
        assert!(error.what.contains("left alone") && precious.exists(), "{error}");
    }
    std::fs::write(&marker, text).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&home, Some(65_534), None).unwrap();
        let error = server::remove(kind.engine, dir.path()).unwrap_err();
        assert!(error.what.contains("another user") && home.exists(), "{error}");
        std::os::unix::fs::chown(&home, Some(0), None).unwrap();
    }
    server::remove(kind.engine, dir.path()).unwrap();
}
