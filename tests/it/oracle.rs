//! Oracle: what the client does when the other side is no server, and the contract on a live one where there is one.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use dbdyno::engine::{self, Access, ConnectTo, Database, ErrorClass, RowLoad, Session, Version};
use dbdyno::model::Target;
use dbdyno::model::rows::RowFunction;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::cli_existing::SECRET;
use crate::support::{Desk, Done, directory};

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
fn say(mut stream: TcpStream, bytes: &[u8]) {
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
    let text = format!("(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))");
    let length = u16::try_from(text.len()).unwrap().to_be_bytes();
    packet(REFUSE, &[&[1, 1, length[0], length[1]], text.as_bytes()].concat())
}

/// A connection to `rest`, for a command that does nothing before it has one.
fn check(desk: &Desk, rest: &str) -> Done {
    let line = format!("clean oracle://ann@{rest}");
    let mut command = desk.command(&line);
    command.env("ORACLE_PWD", SECRET);
    let done = crate::support::finished(command, &line);
    assert!(!format!("{done:?}").contains(SECRET) && !done.stderr.contains("panicked"), "{done:#?}");
    done
}

#[test]
fn a_service_that_the_listener_does_not_know_is_one_line() {
    let desk = Desk::new();
    for (code, words) in [(12514, ["ORA-12514", "lsnrctl services"]), (12516, ["ORA-12516", "'processes'"])] {
        let port = stub(move |stream| say(stream, &refusal(code)));
        check(&desk, &format!("127.0.0.1:{port}/sales")).fails(3, &words);
    }
    check(&desk, "127.0.0.1:1/sales").fails(3, &["no server answers at 127.0.0.1:1/sales", "listener is started"]);
}

#[test]
fn a_server_that_is_silent_or_breaks_off_ends_the_login() {
    let desk = Desk::new();
    let silent = stub(drain);
    check(&desk, &format!("127.0.0.1:{silent}/sales?connect_timeout=1")).fails(3, &["within 1 s"]);
    let half = refusal(12514)[..20].to_vec();
    for begun in [Vec::new(), half] {
        let port = stub(move |stream| say(stream, &begun));
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
        let port = stub(move |stream| say(stream, &bytes));
        let done = check(&desk, &format!("127.0.0.1:{port}/sales")).fails(3, &["127.0.0.1"]);
        let is_told = ["cannot be read", "closed the connection"].iter().any(|words| done.stderr.contains(words));
        assert!(is_told, "{done:#?}");
    }
}

#[test]
fn a_certificate_of_another_host_is_refused() {
    let (desk, wallet) = (Desk::new(), directory());
    let (mut params, key) = (CertificateParams::new(Vec::new()).unwrap(), KeyPair::generate().unwrap());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(wallet.path().join("ewallet.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    let authority = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["db.example".into()]).unwrap().signed_by(&key, &authority).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(certificate.pem().as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(chain, key).unwrap());
    let port = stub(move |stream| {
        drain(StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream));
    });
    let address = |host: &str, wallet: &str| format!("{host}:{port}/sales?protocol=tcps&wallet={wallet}");
    let place = wallet.path().display().to_string();
    check(&desk, &address("localhost", &place)).fails(3, &["certificate", "refused", "localhost"]);
    check(&desk, &address("localhost", "/no/wallet")).fails(2, &["/no/wallet", "ewallet.pem"]);
}

#[test]
fn a_password_is_asked_for_and_never_taken_from_the_arguments() {
    let desk = Desk::new();
    desk.run("clean oracle://ann@db.invalid/sales").fails(3, &["wants a password for user 'ann'", "ORACLE_PWD"]);
    desk.run(&format!("clean oracle://ann:{SECRET}@db/sales")).fails(2, &["password", "ORACLE_PWD"]);
    desk.run("run oracle").fails(2, &["only reached as an existing server", "oracle://user@host"]);
}

const ROWS: RowFunction = RowFunction { table_rows: 16_000, seed: 7 };

/// The contract of engines on the server of DBDYNO_TEST_ORACLE (a URL; the password in ORACLE_PWD), whose user must own nothing
/// of ours.
#[test]
#[cfg_attr(not(oracle_server), ignore = "not run: no Oracle server (DBDYNO_TEST_ORACLE names none)")]
fn a_live_server_keeps_the_contract() {
    let url = std::env::var("DBDYNO_TEST_ORACLE").unwrap();
    let target = Target::Existing { engine: "oracle".into(), url: url.clone() };
    let connect =
        ConnectTo { target, file: None, url: Some(url), password: None, settings: std::collections::BTreeMap::new() };
    let database = engine::find("oracle").unwrap().open(&connect, Access::Provision).unwrap();
    assert!(database.version() >= Version(vec![19]));
    let mut session = database.session().unwrap();
    let kept = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| keeps_contract(&*database, session.as_mut())));
    for sql in ["drop table dbdyno_t purge", "drop procedure dbdyno_wrong"] {
        let _ = session.execute(sql);
    }
    kept.unwrap();
}

fn keeps_contract(database: &dyn Database, session: &mut dyn Session) {
    let echo = session.query("select :1 as a, :2 as b from dual", &[7, -9_000_000_000]).unwrap();
    assert_eq!((echo.get(0, "a"), echo.get(0, "b")), (Some("7"), Some("-9000000000")));
    assert_eq!(session.query("selct 1", &[]).unwrap_err().class, ErrorClass::Statement);
    let columns = "id number, key25 number, key125 number, key320 number, region number, booked_on date, amount number(12,2), \
                   quantity number, status number, code varchar2(32), filler varchar2(200)";
    session.execute(&format!("create table dbdyno_t ({columns}, primary key (id))")).unwrap();
    let load = RowLoad { table: "dbdyno_t", rows: ROWS, ids: 1..16_001, note: None, in_database: None };
    assert_eq!(database.load_rows(&load, &mut |_| false).unwrap_err().class, ErrorClass::Cancelled);
    database.load_rows(&load, &mut |_| true).unwrap();
    let rows = session.query("select count(*) as n, sum(id) as s, sum(amount) * 100 as a from dbdyno_t", &[]).unwrap();
    let cents: i64 = (1..16_001).map(|id| ROWS.row(id).amount_cents).sum();
    assert_eq!((rows.get(0, "n"), rows.get(0, "s")), (Some("16000"), Some("128008000")));
    assert_eq!(rows.get(0, "a"), Some(cents.to_string().as_str()));
    let wrong = session.execute("create or replace procedure dbdyno_wrong as begin no_such_thing; end").unwrap_err();
    assert!(wrong.message.contains("dbdyno_wrong has") && wrong.message.contains("line 1"), "{wrong}");
    assert!(database.sessions_left().is_ok());
}
