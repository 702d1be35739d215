use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::*;
use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{Bind, Commit, Expr, Facts};

/// Records what it is asked to do; fails with the queued errors.
#[derive(Default)]
struct Recorder {
    calls: Vec<String>,
    fail_at: BTreeMap<usize, ErrorClass>,
}

impl Recorder {
    fn note(&mut self, call: String) -> Result<(), EngineError> {
        self.calls.push(call);
        match self.fail_at.get(&self.calls.len()) {
            Some(&class) => Err(EngineError::new(class, "as told")),
            None => Ok(()),
        }
    }
}

impl ClientSession for &mut Recorder {
    fn begin(&mut self) -> Result<(), EngineError> {
        self.note("begin".into())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        self.note("commit".into())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        self.note("rollback".into())
    }
    fn run(&mut self, statement: usize, binds: &[i64]) -> Result<u64, EngineError> {
        self.note(format!("{statement}{binds:?}")).map(|()| 1)
    }
    fn load(&mut self, load: &RowLoad<'_>) -> Result<(), EngineError> {
        self.note(format!("load {:?}", load.ids))
    }
}

/// Gives the slices in order; notes what comes back.
struct Script {
    slices: std::vec::IntoIter<Slice>,
    tallies: Vec<Tally>,
    samples: Vec<u64>,
    /// The longest op of each slice, timed or not, in ns.
    longest_ns: Vec<u64>,
    failed: Vec<ErrorClass>,
    after: AfterError,
    connects: Vec<Connects>,
    logins: Vec<Option<String>>,
}

impl Script {
    fn new(slices: &[(u64, u32)]) -> Script {
        let slices: Vec<_> = slices
            .iter()
            .map(|&(max_ops, stride)| Slice { seconds: f64::INFINITY, max_ops, stride })
            .collect();
        Script {
            slices: slices.into_iter(),
            tallies: vec![],
            samples: vec![],
            longest_ns: vec![],
            failed: vec![],
            after: AfterError::GoOn,
            connects: vec![],
            logins: vec![],
        }
    }
}

impl Pacer for Script {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        self.slices.next()
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        self.tallies.push(report.tally.clone());
        self.connects.push(report.tally.connects);
        self.samples.push(report.latency.len());
        self.longest_ns.push(report.latency.max_ns().max(report.longest_ns));
    }
    fn op_failed(&mut self, error: &EngineError) -> AfterError {
        self.failed.push(error.class);
        self.after
    }
    fn session_counters(&mut self, _: Counters) {}
    fn logged_in(&mut self, login: Option<String>) {
        self.logins.push(login);
    }
}

fn branch(upto: f64, commit: Commit, binds: &[&[&str]], times: u32) -> Branch {
    let statement = |binds: &&[&str]| BoundStatement {
        name: "step".into(),
        sql: String::new(),
        binds: binds.iter().map(ToString::to_string).collect(),
    };
    Branch { upto, commit, statements: binds.iter().map(statement).collect(), times }
}

fn code(branches: Vec<Branch>, shared_read: bool) -> JobCode {
    let binds = BTreeMap::from([
        ("c".to_string(), Bind::Constant(Expr("2 * n".into()))),
        ("j".to_string(), Bind::Job),
        ("n".to_string(), Bind::Repetition),
        ("r".to_string(), Bind::Random(Expr("n".into()))),
        ("s".to_string(), Bind::Sequence),
    ]);
    JobCode::Client { branches, binds, shared_read, hits: false, connects: false }
}

fn run(code: &JobCode, recorder: &mut Recorder, script: &mut Script) -> Result<(), EngineError> {
    run_session(code, recorder, script)
}

fn run_session(
    code: &JobCode,
    session: impl ClientSession,
    script: &mut Script,
) -> Result<(), EngineError> {
    let facts = Facts::from([("n".into(), 1000.0)]);
    let rows = RowFunction { table_rows: 8000, seed: 1 };
    let order = JobSpec {
        job: 3,
        jobs: 4,
        code,
        session: &[],
        seed: 1,
        facts: &facts,
        rows,
        wire: Default::default(),
        node: None,
    };
    drive(&order, script, |_| Ok(session))
}

#[test]
fn runs_exactly_max_ops_and_times_every_stride_th() {
    let mut recorder = Recorder::default();
    let mut script = Script::new(&[(5, 1), (10, 4), (0, 1), (3, 1)]);
    run(&code(vec![branch(100.0, Commit::None, &[&["c"]], 1)], false), &mut recorder, &mut script)
        .unwrap();
    assert_eq!(script.tallies.iter().map(|tally| tally.ops).collect::<Vec<_>>(), [5, 10, 0, 3]);
    assert_eq!(script.samples, [5, 3, 0, 3]);
    assert_eq!(recorder.calls.len(), 18);
    assert!(recorder.calls.iter().all(|call| call == "0[2000]"));
}

#[test]
fn a_slice_of_no_time_is_over_at_once_and_a_short_one_in_time() {
    let mut recorder = Recorder::default();
    let mut script = Script::new(&[]);
    let slice = |seconds| Slice { seconds, max_ops: u64::MAX, stride: 3 };
    script.slices = vec![slice(0.0), slice(0.001)].into_iter();
    run(&code(vec![branch(100.0, Commit::None, &[&[]], 1)], false), &mut recorder, &mut script)
        .unwrap();
    assert_eq!(script.tallies[0].ops, 0);
    assert!(script.tallies[1].ops > 0 && script.tallies[1].busy_s >= 0.001);
}

#[test]
fn a_block_commits_once_around_fresh_binds_of_every_repetition() {
    let mut recorder = Recorder::default();
    let mut script = Script::new(&[(1, 1)]);
    let twice = branch(100.0, Commit::Block, &[&["s", "j"], &["j", "s", "s"]], 2);
    run(&code(vec![twice], false), &mut recorder, &mut script).unwrap();
    let (one, two) = (3_000_000_000_001_i64, 3_000_000_000_002_i64);
    let expected = [
        "begin".to_string(),
        format!("0[{one}, 3]"),
        format!("1[3, {one}, {one}]"),
        format!("0[{two}, 3]"),
        format!("1[3, {two}, {two}]"),
        "commit".to_string(),
    ];
    assert_eq!(recorder.calls, expected);
    assert_eq!((script.tallies[0].rows, script.tallies[0].commits), (4, 1));
}

#[test]
fn repetitions_are_numbered_within_each_op() {
    let mut recorder = Recorder::default();
    let mut script = Script::new(&[(2, 1)]);
    run(&code(vec![branch(100.0, Commit::None, &[&["n"]], 3)], false), &mut recorder, &mut script)
        .unwrap();
    assert_eq!(recorder.calls, ["0[1]", "0[2]", "0[3]", "0[1]", "0[2]", "0[3]"]);
}

#[test]
fn keys_come_from_the_jobs_own_stream() {
    let mut recorder = Recorder::default();
    let mut script = Script::new(&[(3, 1)]);
    run(&code(vec![branch(100.0, Commit::Auto, &[&["r"]], 1)], false), &mut recorder, &mut script)
        .unwrap();
    let mut keys = dbdyno_core::stats::keys::KeyStream::for_job(1, 3);
    let expected: Vec<_> = (0..3).map(|_| format!("0[{}]", keys.key(1000))).collect();
    assert_eq!(recorder.calls, expected);
    assert_eq!(script.tallies[0].commits, 3);
}

#[test]
fn branches_are_taken_by_their_chance() {
    let mut recorder = Recorder::default();
    let mut script = Script::new(&[(10_000, 1)]);
    let branches =
        vec![branch(20.0, Commit::Auto, &[&[]], 1), branch(100.0, Commit::None, &[&[], &[]], 1)];
    run(&code(branches, false), &mut recorder, &mut script).unwrap();
    let writes = recorder.calls.iter().filter(|call| *call == "0[]").count() as u64;
    assert!((1850..2150).contains(&writes), "{writes} of 10000, expected 20 %");
    assert_eq!(script.tallies[0].commits, writes);
    assert_eq!(recorder.calls.iter().filter(|call| *call == "2[]").count() as u64, 10_000 - writes);
}

#[test]
fn a_retriable_error_rolls_back_and_the_op_does_not_count() {
    let mut recorder =
        Recorder { fail_at: BTreeMap::from([(2, ErrorClass::Deadlock)]), ..Recorder::default() };
    let mut script = Script::new(&[(1, 1)]);
    run(&code(vec![branch(100.0, Commit::Block, &[&[]], 1)], false), &mut recorder, &mut script)
        .unwrap();
    assert_eq!(recorder.calls, ["begin", "0[]", "rollback", "begin", "0[]", "commit"]);
    assert_eq!((script.tallies[0].ops, script.failed.as_slice()), (1, &[ErrorClass::Deadlock][..]));
}

/// Fails once; the failed statement and the rollback after it take their time.
struct SlowFailure {
    runs: usize,
    fails_at: usize,
    took: Duration,
}

impl SlowFailure {
    fn take_time(&mut self) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(5) {
            std::hint::spin_loop();
        }
        self.took += began.elapsed();
    }
}

impl ClientSession for &mut SlowFailure {
    fn begin(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        self.take_time();
        Ok(())
    }
    fn run(&mut self, _: usize, _: &[i64]) -> Result<u64, EngineError> {
        self.runs += 1;
        if self.runs != self.fails_at {
            return Ok(1);
        }
        self.take_time();
        Err(EngineError::new(ErrorClass::Deadlock, "as told"))
    }
    fn load(&mut self, _: &RowLoad<'_>) -> Result<(), EngineError> {
        Ok(())
    }
}

#[test]
fn the_time_of_a_failed_op_and_of_its_rollback_is_that_of_no_other_op() {
    let code = code(vec![branch(100.0, Commit::None, &[&[]], 1)], false);
    // One that is timed; one of those between timed ones, when it is known how long ops take.
    for (slices, fails_at) in [(&[(3, 1)][..], 2), (&[(8, 4), (8, 4)][..], 11)] {
        let mut session = SlowFailure { runs: 0, fails_at, took: Duration::ZERO };
        let mut script = Script::new(slices);
        run_session(&code, &mut session, &mut script).unwrap();
        let (took_s, last) = (session.took.as_secs_f64(), slices.len() - 1);
        let longest_s = script.longest_ns[last] as f64 / 1e9;
        assert_eq!(script.failed, [ErrorClass::Deadlock]);
        // Times are kept to a thousandth.
        assert!(took_s >= 0.01 && 0.999 * longest_s + took_s <= script.tallies[last].busy_s);
    }
}

#[test]
fn a_lost_connection_ends_the_job_after_reporting_what_was_done() {
    let mut recorder =
        Recorder { fail_at: BTreeMap::from([(3, ErrorClass::Lost)]), ..Recorder::default() };
    let mut script = Script::new(&[(10, 1), (10, 1)]);
    let outcome =
        run(&code(vec![branch(100.0, Commit::None, &[&[]], 1)], false), &mut recorder, &mut script);
    assert_eq!(outcome.unwrap_err().class, ErrorClass::Lost);
    assert_eq!(script.tallies.len(), 1);
    assert_eq!(script.tallies[0].ops, 2);
    assert_eq!(recorder.calls.len(), 3);
}

#[test]
fn the_pacer_can_end_the_job_after_an_error() {
    let mut recorder =
        Recorder { fail_at: BTreeMap::from([(2, ErrorClass::Statement)]), ..Recorder::default() };
    let mut script = Script { after: AfterError::Stop, ..Script::new(&[(10, 4)]) };
    let outcome =
        run(&code(vec![branch(100.0, Commit::None, &[&[]], 1)], false), &mut recorder, &mut script);
    assert_eq!(outcome.unwrap_err().class, ErrorClass::Statement);
    assert_eq!(script.tallies[0].ops, 1);
}

#[test]
fn shared_reads_have_one_transaction_per_slice() {
    let mut recorder = Recorder {
        fail_at: BTreeMap::from([(3, ErrorClass::Serialization)]),
        ..Recorder::default()
    };
    let mut script = Script::new(&[(2, 1), (1, 1)]);
    run(&code(vec![branch(100.0, Commit::None, &[&[]], 1)], true), &mut recorder, &mut script)
        .unwrap();
    let expected =
        ["begin", "0[]", "0[]", "rollback", "begin", "0[]", "commit", "begin", "0[]", "commit"];
    assert_eq!(recorder.calls, expected);
    assert!(script.tallies.iter().all(|tally| tally.commits == 0));
}

#[test]
fn bulk_batches_of_different_jobs_never_overlap() {
    let mut recorder = Recorder::default();
    let mut script = Script::new(&[(2, 1)]);
    run(&JobCode::Bulk { table: "t".into(), batch: 100 }, &mut recorder, &mut script).unwrap();
    assert_eq!(recorder.calls, ["load 201..301", "load 601..701"]);
    assert_eq!((script.tallies[0].rows, script.tallies[0].commits), (200, 2));
}

#[test]
fn binds_that_cannot_be_evaluated_are_named() {
    let mut recorder = Recorder::default();
    let mut script = Script::new(&[(1, 1)]);
    let unknown = code(vec![branch(100.0, Commit::None, &[&["x"]], 1)], false);
    assert!(run(&unknown, &mut recorder, &mut script).unwrap_err().message.contains(":x"));
    let mut zero = code(vec![], false);
    if let JobCode::Client { binds, .. } = &mut zero {
        binds.insert("r".into(), Bind::Random(Expr("n - 1000".into())));
    }
    assert!(run(&zero, &mut recorder, &mut script).unwrap_err().message.contains("bind :r"));
}

/// Common log of the connections of ops.
type Notes = std::rc::Rc<std::cell::RefCell<Vec<String>>>;

/// A connection that notes when it is opened and dropped.
struct Visitor(Notes, bool);

impl Drop for Visitor {
    fn drop(&mut self) {
        self.0.borrow_mut().push("closed".into());
    }
}

impl ClientSession for Visitor {
    fn begin(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn commit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    fn rollback(&mut self) -> Result<(), EngineError> {
        panic!("a connection of an op that failed is not used any more")
    }
    fn run(&mut self, statement: usize, _: &[i64]) -> Result<u64, EngineError> {
        self.0.borrow_mut().push(format!("run {statement}"));
        match self.1 {
            true => Err(EngineError::new(ErrorClass::Deadlock, "as told")),
            false => Ok(1),
        }
    }
    fn load(&mut self, _: &RowLoad<'_>) -> Result<(), EngineError> {
        Ok(())
    }
    fn connects(&self) -> Connects {
        Connects { opened: 1, login_s: 1e-9, ..Connects::default() }
    }
    fn login(&self) -> Option<String> {
        Some("by name".into())
    }
}

#[test]
fn an_op_opens_its_connection_and_closes_it_whatever_became_of_it() {
    let notes = Notes::default();
    let mut code = code(vec![branch(100.0, Commit::None, &[&[]], 1)], false);
    if let JobCode::Client { connects, .. } = &mut code {
        *connects = true;
    }
    let facts = Facts::from([("n".into(), 8.0)]);
    let order = JobSpec {
        job: 1,
        jobs: 1,
        code: &code,
        session: &[],
        seed: 1,
        facts: &facts,
        rows: RowFunction { table_rows: 8000, seed: 1 },
        wire: Default::default(),
        node: None,
    };
    let mut script = Script::new(&[(2, 1)]);
    let mut visits = 0;
    let open = |_: &[&BoundStatement]| {
        visits += 1;
        notes.borrow_mut().push("opened".into());
        Ok(Visitor(notes.clone(), visits == 3))
    };
    drive_connecting(&order, &mut script, open).unwrap();
    let op = ["opened", "run 0", "closed"];
    let all = [&["opened", "closed"][..], &op, &op, &op].concat();
    assert_eq!(*notes.borrow(), all, "the first is tried out before the gate");
    assert_eq!(script.failed, [ErrorClass::Deadlock]);
    assert_eq!((script.tallies[0].ops, script.connects[0].opened), (2, 2));
    assert!(script.connects[0].total_s() > 0.0 && script.connects[0].login_s > 0.0);
    assert_eq!(script.logins, [Some("by name".to_string())]);
}

#[test]
fn a_session_of_one_connection_refuses_ops_that_open_their_own() {
    let mut recorder = Recorder::default();
    let mut script = Script { after: AfterError::Stop, ..Script::new(&[(1, 1)]) };
    let mut connecting = code(vec![branch(100.0, Commit::None, &[&[]], 1)], false);
    if let JobCode::Client { connects, .. } = &mut connecting {
        *connects = true;
    }
    let refused = run(&connecting, &mut recorder, &mut script).unwrap_err();
    assert!(refused.message.contains("a connection of its own"), "{refused}");
}
