//! Oracle: what the client does when the other side is not a server, and the contract on a live one
//! where there is one.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use std::sync::atomic::{AtomicU64, Ordering};

use dbdyno::engine::{self, Access, ConnectTo, Database, ErrorClass, RowLoad, Session, Version};
use dbdyno::model::rows::RowFunction;
use dbdyno::model::{BoundStatement, Commit, JobCode, Routine, Target};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::cli_existing::SECRET;
use crate::engine_contract::{Script, client, run};
use crate::support::{Desk, Done, directory};
use crate::ttc::{Answer, Value, serve};

/// Type of the packet by which a listener refuses (first byte after length and checksum).
const REFUSE: u8 = 4;

/// A listener that gives every connection to `answer`; it lives as long as the tests.
fn stub(answer: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(&answer));
    port
}

/// Reads what comes next, sends `bytes` and closes.
fn answer(mut stream: TcpStream, bytes: &[u8]) {
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    drain(stream);
}

/// Waits until the other side has gone.
fn drain(mut stream: impl Read) {
    let mut bytes = [0; 4096];
    while matches!(stream.read(&mut bytes), Ok(count) if count > 0) {}
}

/// A packet of the layer below sessions.
fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + body.len()).unwrap().to_be_bytes();
    [&[length[0], length[1], 0, 0, kind, 0, 0, 0], body].concat()
}

fn refusal(code: u32) -> Vec<u8> {
    let text = format!(
        "(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))"
    );
    let length = u16::try_from(text.len()).unwrap().to_be_bytes();
    packet(REFUSE, &[&[1, 1, length[0], length[1]], text.as_bytes()].concat())
}

/// A connection to `rest`, for a command that does nothing before it has one.
fn check(desk: &Desk, rest: &str) -> Done {
    let line = format!("clean oracle://ann@{rest}");
    let mut command = desk.command(&line);
    command.env("ORACLE_PWD", SECRET);
    let done = crate::support::finished(command, &line);
    assert!(
        !format!("{done:?}").contains(SECRET) && !done.stderr.contains("panicked"),
        "{done:#?}"
    );
    done
}

#[test]
fn a_service_that_the_listener_does_not_know_is_one_line() {
    let desk = Desk::new();
    for (code, words) in
        [(12514, ["ORA-12514", "lsnrctl services"]), (12516, ["ORA-12516", "'processes'"])]
    {
        let port = stub(move |stream| answer(stream, &refusal(code)));
        check(&desk, &format!("127.0.0.1:{port}/sales")).fails(3, &words);
    }
    check(&desk, "127.0.0.1:1/sales")
        .fails(3, &["no server answers at 127.0.0.1:1/sales", "listener is started"]);
}

#[test]
fn a_server_that_is_silent_or_breaks_off_ends_the_login() {
    let desk = Desk::new();
    let silent = stub(drain);
    check(&desk, &format!("127.0.0.1:{silent}/sales?connect_timeout=1")).fails(3, &["within 1 s"]);
    let half = refusal(12514)[..20].to_vec();
    for begun in [Vec::new(), half] {
        let port = stub(move |stream| answer(stream, &begun));
        check(&desk, &format!("127.0.0.1:{port}/sales")).fails(3, &["closed the connection"]);
    }
}

#[test]
fn what_no_oracle_server_would_say_is_one_line() {
    let desk = Desk::new();
    let no_number = packet(REFUSE, b"\x01\x01\x00\x0a(ERR=many)");
    let garbage = [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(),
        vec![0; 64],
        packet(99, &[0xff; 40]),
        packet(2, &[0xff; 3]),
        no_number,
    ];
    for bytes in garbage {
        let port = stub(move |stream| answer(stream, &bytes));
        let done = check(&desk, &format!("127.0.0.1:{port}/sales")).fails(3, &["127.0.0.1"]);
        let is_told = ["cannot be read", "closed the connection"]
            .iter()
            .any(|words| done.stderr.contains(words));
        assert!(is_told, "{done:#?}");
    }
}

#[test]
fn a_certificate_of_another_host_is_refused() {
    let (desk, wallet) = (Desk::new(), directory());
    let (mut params, key) =
        (CertificateParams::new(Vec::new()).unwrap(), KeyPair::generate().unwrap());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(wallet.path().join("ewallet.pem"), params.self_signed(&key).unwrap().pem())
        .unwrap();
    let authority = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["db.example".into()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    let chain = vec![CertificateDer::from_pem_slice(certificate.pem().as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let builder =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(chain, key).unwrap());
    let port = stub(move |stream| {
        drain(StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream));
    });
    let address =
        |host: &str, wallet: &str| format!("{host}:{port}/sales?protocol=tcps&wallet={wallet}");
    let place = wallet.path().display().to_string();
    check(&desk, &address("localhost", &place)).fails(3, &["certificate", "refused", "localhost"]);
    check(&desk, &address("localhost", "/no/wallet")).fails(2, &["/no/wallet", "ewallet.pem"]);
}

#[test]
fn a_password_is_asked_for_and_never_taken_from_the_arguments() {
    let desk = Desk::new();
    desk.run("clean oracle://ann@db.invalid/sales")
        .fails(3, &["wants a password for user 'ann'", "ORACLE_PWD"]);
    desk.run(&format!("clean oracle://ann:{SECRET}@db/sales"))
        .fails(2, &["password", "ORACLE_PWD"]);
    desk.run("run oracle").fails(2, &["only reached as an existing server", "oracle://user@host"]);
}

/// Answers of a server to the first questions: who we are, what we may do.
fn of_the_beginning(sql: &str) -> Option<Answer> {
    let rows = |columns: &[&'static str], rows: &[&[&str]]| {
        let rows =
            rows.iter().map(|row| row.iter().map(|text| Value::from(*text)).collect()).collect();
        Some(Answer::Rows { columns: columns.to_vec(), rows })
    };
    match sql {
        sql if sql.contains("open_mode") => {
            rows(&["NAME", "ROLE", "OPEN_MODE"], &[&["ANN", "PRIMARY", "READ WRITE"]])
        }
        sql if sql.contains("session_privs") => rows(
            &["NAME"],
            &[
                &["CREATE TABLE"],
                &["UNLIMITED TABLESPACE"],
                &["CREATE PROCEDURE"],
                &["CREATE CLUSTER"],
            ],
        ),
        sql if sql.contains("v$option") => Some(Answer::scalar("TRUE")),
        sql if sql.contains("'instance'") => Some(Answer::scalar("1")),
        sql if sql.starts_with("alter session") => Some(Answer::Changed(0)),
        _ => None,
    }
}

/// An open database whose statements are answered by `answer`, but for those of the beginning.
fn open(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Box<dyn Database> {
    let port = serve(move |sql| of_the_beginning(sql).unwrap_or_else(|| answer(sql)));
    let url = format!("oracle://ann@127.0.0.1:{port}/sales");
    let target = Target::Existing { engine: "oracle".into(), url: url.clone() };
    let password = Some(SECRET.into());
    let connect = ConnectTo { url: Some(url), password, ..ConnectTo::new(target) };
    engine::find("oracle").unwrap().open(&connect, Access::Provision).unwrap()
}

#[test]
fn a_session_reads_rows_and_names_errors_by_class() {
    let database = open(|sql| match sql {
        "select wide from t" => Answer::Rows {
            columns: vec!["A", "WIDE"],
            rows: vec![vec!["".into(), Value::Text("x".repeat(3000))], vec!["2".into(); 2]],
        },
        "update t set a = 1" => Answer::Changed(300),
        "deadlock" => Answer::Error(60, "deadlock detected while waiting for resource"),
        "no table" => Answer::Error(942, "table or view does not exist"),
        "commit" | "rollback" => Answer::Changed(0),
        _ => panic!("{sql} is not expected"),
    });
    assert_eq!(
        (database.version(), database.lacking_drive()),
        (Version(vec![19, 0, 0, 0, 0]), None)
    );
    let mut session = database.session().unwrap();
    let rows = session.query("select wide from t", &[]).unwrap();
    assert_eq!(
        (rows.get(0, "a"), rows.get(0, "wide").map(str::len), rows.get(1, "a")),
        (None, Some(3000), Some("2"))
    );
    assert_eq!(session.execute("update t set a = 1").unwrap(), 300);
    for (sql, class, code) in [
        ("deadlock", ErrorClass::Deadlock, "ORA-00060"),
        ("no table", ErrorClass::Statement, "ORA-00942"),
    ] {
        let error = session.execute(sql).unwrap_err();
        assert!(error.class == class && error.code.as_deref() == Some(code), "{error:?}");
    }
}

#[test]
fn a_routine_that_was_created_with_errors_is_not_taken() {
    let database = open(|sql| {
        let is_wrong = sql.contains("upper('dbdyno_wrong')");
        let error = || {
            vec![
                Value::Number(3),
                Value::Number(5),
                "PLS-00201: identifier 'X' must be declared".into(),
            ]
        };
        match sql {
            sql if sql.contains("user_errors") => {
                let rows = if is_wrong { vec![error()] } else { Vec::new() };
                Answer::Rows { columns: vec!["LINE", "POSITION", "TEXT"], rows }
            }
            _ => Answer::Changed(0),
        }
    });
    let mut session = database.session().unwrap();
    let create = |name: &str| format!("create or replace procedure {name} as begin x; end");
    session.execute(&create("dbdyno_right")).unwrap();
    let error = session.execute(&create("dbdyno_wrong")).unwrap_err().to_string();
    assert!(
        ["dbdyno_wrong", "line 3", "column 5", "PLS-00201"].iter().all(|word| error.contains(word)),
        "{error}"
    );
}

#[test]
fn the_client_drive_runs_each_op_once_and_commits_what_it_changes() {
    let seen = Arc::new([const { AtomicU64::new(0) }; 2]);
    let counted = seen.clone();
    let database = open(move |sql| {
        let is_query = sql.starts_with("select");
        counted[usize::from(is_query)].fetch_add(1, Ordering::Relaxed);
        match is_query {
            true => Answer::Rows { columns: vec!["ID"], rows: vec![vec!["7".into()]; 2] },
            false => Answer::Changed(1),
        }
    });
    for (sql, commit, rows, commits) in [
        ("select id from t where id = :1", Commit::None, 300, 0),
        ("update t set a = 1 where id = :1", Commit::Auto, 150, 150),
        ("update t set a = 1 where id = :1", Commit::Block, 150, 150),
    ] {
        let mut script = Script::new(&[100, 50]);
        run(&*database, &client(sql, commit), 1, &mut script).unwrap();
        let sum = |of: fn(&dbdyno::model::Tally) -> u64| script.tallies.iter().map(of).sum::<u64>();
        let sums = (sum(|tally| tally.ops), sum(|tally| tally.rows), sum(|tally| tally.commits));
        assert_eq!(sums, (150, rows, commits), "{sql}");
    }
    assert_eq!(seen.each_ref().map(|count| count.load(Ordering::Relaxed)), [300, 150]);
}

#[test]
fn the_database_drive_reads_what_a_routine_returns_and_goes_on_after_an_error() {
    let calls = Arc::new(AtomicU64::new(0));
    let counted = calls.clone();
    let database = open(move |sql| {
        assert!(sql.starts_with("begin dbdyno_w_1("), "{sql}");
        match counted.fetch_add(1, Ordering::Relaxed) {
            1 => Answer::Error(60, "deadlock detected while waiting for resource"),
            _ => Answer::Out(vec![
                Value::Number(1_200),
                Value::Number(30_000),
                Value::Number(0),
                Value::Number(2_147_483_646),
                Value::Number(100),
                Value::Number(0),
                Value::Text("200:1000 1050:199 99000:1 ".into()),
            ]),
        }
    });
    let out = ["ops", "rows", "commits", "seed", "elapsed_us", "longest_burst_us", "samples_us"];
    let binds =
        ["job", "jobs", "slice_us", "max_ops", "stride", "seed"].map(str::to_owned).into_iter();
    let binds: Vec<_> = binds.chain(out.map(|name| format!("out_{name}"))).collect();
    let places: Vec<_> = (1..=binds.len()).map(|at| format!(":{at}")).collect();
    let call = BoundStatement {
        name: "call".into(),
        sql: format!("begin dbdyno_w_1({}); end", places.join(", ")),
        binds,
    };
    let name = "dbdyno_w_1".to_owned();
    let code = JobCode::Routine(Routine {
        name,
        create: Vec::new(),
        call,
        per_op: false,
        hits: false,
        drop: Vec::new(),
    });
    let mut script = Script::new(&[1_200, 1_200, 1_200]);
    script.goes_on = true;
    run(&*database, &code, 1, &mut script).unwrap();
    let (done, failed): (Vec<_>, Vec<_>) = script.tallies.iter().partition(|tally| tally.ops > 0);
    let tallies: Vec<_> = done.iter().map(|tally| (tally.ops, tally.rows, tally.busy_s)).collect();
    assert_eq!(tallies, [(1_200, 30_000, 1e-4); 2]);
    // Of the call that failed nobody knows what it did.
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].rows == 0 && failed[0].uncounted_s > 0.0, "{failed:?}");
    assert_eq!((script.failed, calls.load(Ordering::Relaxed)), (vec![ErrorClass::Deadlock], 3));
}

const ROWS: RowFunction = RowFunction { table_rows: 16_000, seed: 7 };

/// The contract of engines on the server of DBDYNO_TEST_ORACLE (a URL; the password in ORACLE_PWD),
/// whose user must own nothing of ours.
#[test]
#[cfg_attr(
    not(oracle_server),
    ignore = "not run: no Oracle server (DBDYNO_TEST_ORACLE names none)"
)]
fn a_live_server_keeps_the_contract() {
    let url = std::env::var("DBDYNO_TEST_ORACLE").unwrap();
    let target = Target::Existing { engine: "oracle".into(), url: url.clone() };
    let connect = ConnectTo { url: Some(url), ..ConnectTo::new(target) };
    let database = engine::find("oracle").unwrap().open(&connect, Access::Provision).unwrap();
    assert!(database.version() >= Version(vec![19]));
    let mut session = database.session().unwrap();
    let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        keeps_contract(&*database, session.as_mut())
    }));
    for sql in ["drop table dbdyno_t purge", "drop procedure dbdyno_wrong"] {
        let _ = session.execute(sql);
    }
    kept.unwrap();
}

fn keeps_contract(database: &dyn Database, session: &mut dyn Session) {
    let echo = session.query("select :1 as a, :2 as b from dual", &[7, -9_000_000_000]).unwrap();
    assert_eq!((echo.get(0, "a"), echo.get(0, "b")), (Some("7"), Some("-9000000000")));
    assert_eq!(session.query("selct 1", &[]).unwrap_err().class, ErrorClass::Statement);
    let columns = "id number, key25 number, key125 number, key320 number, region number, booked_on \
                   date, amount number(12,2), quantity number, status number, code varchar2(32), \
                   filler varchar2(200)";
    session.execute(&format!("create table dbdyno_t ({columns}, primary key (id))")).unwrap();
    let load =
        RowLoad { table: "dbdyno_t", rows: ROWS, ids: 1..16_001, note: None, in_database: None };
    assert_eq!(database.load_rows(&load, &mut |_| false).unwrap_err().class, ErrorClass::Cancelled);
    database.load_rows(&load, &mut |_| true).unwrap();
    let rows = session
        .query("select count(*) as n, sum(id) as s, sum(amount) * 100 as a from dbdyno_t", &[])
        .unwrap();
    let cents: i64 = (1..16_001).map(|id| ROWS.row(id).amount_cents).sum();
    assert_eq!((rows.get(0, "n"), rows.get(0, "s")), (Some("16000"), Some("128008000")));
    assert_eq!(rows.get(0, "a"), Some(cents.to_string().as_str()));
    let wrong = session
        .execute("create or replace procedure dbdyno_wrong as begin no_such_thing; end")
        .unwrap_err();
    assert!(
        wrong.message.contains("dbdyno_wrong has") && wrong.message.contains("line 1"),
        "{wrong}"
    );
    assert!(database.sessions_left().is_ok());
}
