//! The contract that every engine keeps, as one test run on a table of targets. An engine adds a [`Subject`].

use std::collections::BTreeMap;

use dbdyno::engine::{
    self, Access, AfterError, ConnectTo, Database, EngineError, ErrorClass, JobOrder, Pacer, RowLoad, Slice,
    SliceReport, Version,
};
use dbdyno::model::rows::RowFunction;
use dbdyno::model::{Bind, BoundStatement, Branch, Commit, Counters, Expr, Facts, JobCode, Tally, Target};

const ROWS: RowFunction = RowFunction { table_rows: 16_000, seed: 7 };

/// An engine under test with the statements that say the same in its own dialect.
struct Subject {
    engine: &'static str,
    /// Creates the table `t`, if tables must be created.
    create: &'static [&'static str],
    /// Rows and sum of ids of `t`, as columns `count` and `sum`.
    count: &'static str,
    /// Returns its two binds as one row.
    echo: &'static str,
    /// Fetches one row by the bind `:id`.
    lookup: &'static str,
    /// What cannot be understood.
    nonsense: &'static str,
}

const SUBJECTS: &[Subject] = &[
    Subject { engine: "null", create: &[], count: "count t", echo: "echo", lookup: "spin 100", nonsense: "selct 1" },
    Subject {
        engine: "sqlite",
        create: &["create table t (id integer not null primary key, key25 integer, key125 integer, key320 integer,
                   region integer, booked_on text, amount integer, quantity integer, status integer, code text,
                   filler text)"],
        count: "select count(*) as count, sum(id) as sum from t",
        echo: "select ?1, ?2",
        lookup: "select * from t where id = ?1",
        nonsense: "selct 1",
    },
];

fn open(subject: &Subject, directory: &std::path::Path, access: Access) -> Result<Box<dyn Database>, EngineError> {
    let target = Target::Embedded { engine: subject.engine.into(), data_dir: directory.into() };
    let file = Some(directory.join("db").join("contract.db"));
    let settings = BTreeMap::new();
    let connect = ConnectTo { target, file, url: None, ask_password: None, settings };
    engine::find(subject.engine).expect("compiled in").open(&connect, access)
}

/// Runs `check` on every engine, each with an empty database.
fn on_every_engine(check: impl Fn(&Subject, &dyn Database)) {
    for subject in SUBJECTS {
        let directory = tempfile::tempdir().unwrap();
        let database = open(subject, directory.path(), Access::Provision).unwrap();
        let mut session = database.session().unwrap();
        for sql in subject.create {
            session.execute(sql).unwrap();
        }
        check(subject, &*database);
    }
}

fn load(database: &dyn Database, progress: &mut dyn FnMut(u64) -> bool) -> Result<(), EngineError> {
    database.load_rows(&RowLoad { table: "t", rows: ROWS, ids: 1..16_001 }, progress)
}

/// Hands out slices of so many ops; keeps what comes back.
struct Script {
    slices: Vec<u64>,
    tallies: Vec<Tally>,
    failed: Vec<ErrorClass>,
    counters: Counters,
}

impl Script {
    fn new(slices: &[u64]) -> Self {
        let slices = slices.iter().rev().copied().collect();
        Script { slices, tallies: vec![], failed: vec![], counters: Counters::default() }
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
        AfterError::Stop
    }
    fn session_counters(&mut self, counters: Counters) {
        self.counters = counters;
    }
}

fn client(sql: &str, commit: Commit) -> JobCode {
    let step = BoundStatement { name: "step".into(), sql: sql.into(), binds: vec!["id".into()] };
    let branches = vec![Branch { upto: 100.0, commit, statements: vec![step], times: 1 }];
    let binds = BTreeMap::from([("id".to_string(), Bind::Random(Expr("rows".into())))]);
    JobCode::Client { branches, binds, shared_read: false }
}

fn run(database: &dyn Database, code: &JobCode, job: u32, script: &mut Script) -> Result<(), EngineError> {
    let facts = Facts::from([("rows".into(), 16_000.0)]);
    database.run_job(&JobOrder { job, jobs: 2, code, seed: 1, facts: &facts, rows: ROWS }, script)
}

#[test]
fn a_session_answers_with_binds_and_names_its_version() {
    on_every_engine(|subject, database| {
        assert!(database.version() > Version(vec![0]), "{}", subject.engine);
        let mut session = database.session().unwrap();
        let rows = session.query(subject.echo, &[7, -9_000_000_000]).unwrap();
        assert_eq!(rows.rows, [[Some("7".to_string()), Some("-9000000000".to_string())]], "{}", subject.engine);
        let error = session.query(subject.nonsense, &[]).unwrap_err();
        assert_eq!(error.class, ErrorClass::Statement, "{}: {error}", subject.engine);
        assert_eq!(error.message.lines().count(), 1);
    });
}

#[test]
fn loaded_rows_are_all_there() {
    on_every_engine(|subject, database| {
        load(database, &mut |_| true).unwrap();
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
        assert_eq!(load(database, &mut |_| false).unwrap_err().class, ErrorClass::Cancelled, "{}", subject.engine);
        let left = database.session().unwrap().query(subject.count, &[]);
        let count = left.ok().and_then(|rows| rows.get(0, "count").map(String::from));
        assert!(matches!(count.as_deref(), None | Some("0")), "{}: {count:?}", subject.engine);
    });
}

#[test]
fn slices_have_exactly_their_ops_and_fetch_their_rows() {
    on_every_engine(|subject, database| {
        load(database, &mut |_| true).unwrap();
        let mut script = Script::new(&[100, 250]);
        run(database, &client(subject.lookup, Commit::None), 1, &mut script).unwrap();
        let ops: Vec<_> = script.tallies.iter().map(|tally| (tally.ops, tally.rows, tally.commits)).collect();
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
        let error = run(database, &client(subject.nonsense, Commit::None), 1, &mut script).unwrap_err();
        assert_eq!(error.class, ErrorClass::Statement, "{}: {error}", subject.engine);
        assert!(script.tallies.is_empty());
    });
}

#[test]
fn two_jobs_run_and_load_side_by_side() {
    on_every_engine(|subject, database| {
        load(database, &mut |_| true).unwrap();
        let code = client(subject.lookup, Commit::Block);
        std::thread::scope(|scope| {
            for job in 1..=2 {
                let code = &code;
                scope.spawn(move || {
                    let mut script = Script::new(&[300]);
                    run(database, code, job, &mut script).unwrap();
                    assert_eq!((script.tallies[0].ops, script.tallies[0].commits), (300, 300), "{}", subject.engine);
                });
            }
        });
    });
}

#[test]
fn looking_creates_nothing() {
    for subject in SUBJECTS {
        let directory = tempfile::tempdir().unwrap();
        let database = open(subject, directory.path(), Access::Inspect).unwrap();
        drop(database.session().unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{}", subject.engine);
    }
}
