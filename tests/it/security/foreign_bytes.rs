//! Bytes that somebody else wrote: answers of servers, results files, exports, spools and CSV
//! files, each with random damage (pages of host metrics: in the tests of their reader). Whatever
//! they hold, the reader ends with a value or with an error; it never panics and never waits for
//! what does not come.
//!
//! The corpus lies in `tests/fixtures/foreign`. `UPDATE_GOLDEN=1` records the dialogues with real
//! servers anew; what once made a reader panic stands in `tests/fixtures/foreign/*.regressions`
//! and is tried first. `PROPTEST_CASES=100000` looks longer.

use std::collections::BTreeMap;
use std::io::{BufReader, Cursor, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use dbdyno::engine::{self, Access, ConnectTo, EngineError};
use dbdyno::import::{Text, of_scripts, published};
use dbdyno::model::Target;
use dbdyno::store::Store;
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};

use crate::fixture;
use crate::mysql::MySql;
use crate::servers::Lease;
use crate::skipped::skipped;
use crate::support::directory;

const CORPUS: &str = "tests/fixtures/foreign";
/// Damaged inputs per reader in `make test`.
const CASES: u32 = 150;
/// Rows of all queries of a dialogue.
const ROWS: usize = 6;
/// Most edits of one input.
const MAX_EDITS: usize = 6;
/// Most bytes that one edit inserts or removes.
const MAX_BYTES: usize = 40;

/// One damage to a text; places are fractions of its length, so that they fit any text.
#[derive(Debug, Clone)]
enum Edit {
    Set(f64, u8),
    Insert(f64, Vec<u8>),
    Remove(f64, usize),
    Repeat(f64, usize, usize),
    /// A number of four bytes, as lengths of messages are.
    Length(f64, u32),
    Cut(f64),
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = || 0.0..1.0f64;
    let length =
        prop_oneof![Just(0u32), Just(1), Just(3), Just(u32::MAX), Just(1 << 31), any::<u32>()];
    prop_oneof![
        4 => (place(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        2 => (place(), prop::collection::vec(any::<u8>(), 1..MAX_BYTES))
            .prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        2 => (place(), 1..MAX_BYTES).prop_map(|(at, count)| Edit::Remove(at, count)),
        1 => (place(), 1..MAX_BYTES, 2..50usize)
            .prop_map(|(at, count, times)| Edit::Repeat(at, count, times)),
        2 => (place(), length).prop_map(|(at, length)| Edit::Length(at, length)),
        1 => place().prop_map(Edit::Cut),
    ]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), 1..=MAX_EDITS)
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let at = |place: f64| ((bytes.len() as f64 * place) as usize).min(bytes.len());
        let range = |place: f64, count: usize| at(place)..(at(place) + count).min(bytes.len());
        match self {
            Edit::Set(place, byte) => {
                let at = at(*place);
                if let Some(old) = bytes.get_mut(at) {
                    *old = *byte;
                }
            }
            Edit::Insert(place, more) => {
                let at = at(*place);
                bytes.splice(at..at, more.iter().copied());
            }
            Edit::Remove(place, count) => {
                let range = range(*place, *count);
                bytes.drain(range);
            }
            Edit::Repeat(place, count, times) => {
                let range = range(*place, *count);
                let more = bytes[range.clone()].repeat(*times);
                bytes.splice(range, more);
            }
            Edit::Length(place, length) => {
                let range = range(*place, 4);
                bytes.splice(range, length.to_be_bytes());
            }
            Edit::Cut(place) => {
                let at = at(*place);
                bytes.truncate(at);
            }
        }
    }
}

fn damage(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for edit in edits {
        edit.apply(&mut bytes);
    }
    bytes
}

fn runner(name: &'static str) -> TestRunner {
    let kept: &'static str = format!("{CORPUS}/{name}.regressions").leak();
    let mut config = Config::with_failure_persistence(FileFailurePersistence::Direct(kept));
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
    }
    TestRunner::new(config)
}

/// Tries `read` on damaged copies of an intact input, which itself must be understood.
fn never_panics(name: &'static str, intact: &[u8], read: impl Fn(&[u8]) -> bool) {
    assert!(read(intact), "{name}: the intact input is not understood");
    let tried = runner(name).run(&edits(), |edits| {
        read(&damage(intact, &edits));
        Ok::<(), TestCaseError>(())
    });
    if let Err(error) = tried {
        panic!("{name}: {error}");
    }
}

/// The server's part of a dialogue: of each connection what it says before the client's first
/// message, and after each further one.
type Dialogue = Vec<Vec<Vec<u8>>>;

/// A session as dbdyno uses it: what it is told, queries with values of every kind, an error.
fn converse(engine: &str, url: &str) -> Result<usize, EngineError> {
    let target = Target::Existing { engine: engine.into(), url: url.into() };
    let to = ConnectTo { url: Some(url.into()), ..ConnectTo::new(target) };
    let engine = engine::find(engine).expect("an engine of this name");
    let database = engine.open(&to, Access::Inspect)?;
    let mut session = database.session()?;
    let mut rows = 0;
    for sql in [
        "select 1 as a, null as b, 'text' as c, 1.5 as d",
        "select current_timestamp",
        "select 1 union all select 2 union all select 3",
    ] {
        rows += session.query(sql, &[])?.rows.len();
    }
    if session.execute("select there_is_no_such_column").is_ok() {
        return Ok(0);
    }
    Ok(rows + session.query("select 4", &[])?.rows.len())
}

/// Address for a client of this engine: a socket in `dir`, and its URL.
fn meeting(engine: &str, dir: &Path) -> (UnixListener, String) {
    let (socket, url) = match engine {
        "postgres" => (
            dir.join(".s.PGSQL.5432"),
            format!("postgres://dbdyno@/postgres?host={}&port=5432", dir.display()),
        ),
        _ => {
            let socket = dir.join("server.sock");
            let url = format!("{engine}://dbdyno@/?socket={}&auth=none", socket.display());
            (socket, url)
        }
    };
    let _ = std::fs::remove_file(&socket);
    (UnixListener::bind(socket).unwrap(), url)
}

/// Stands between the client and a server, and notes what the server says.
fn record(listener: &UnixListener, server: &Path, connections: usize) -> Dialogue {
    (0..connections)
        .map(|_| {
            let (client, _) = listener.accept().unwrap();
            let server = UnixStream::connect(server).unwrap();
            let said = Arc::new(Mutex::new(vec![Vec::new()]));
            let forward = {
                let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let said = said.clone();
                std::thread::spawn(move || {
                    let mut buffer = [0; 65536];
                    while let Ok(count @ 1..) = from.read(&mut buffer) {
                        said.lock().unwrap().push(Vec::new());
                        if to.write_all(&buffer[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(std::net::Shutdown::Write);
                })
            };
            let (mut from, mut to) = (server, client);
            let mut buffer = [0; 65536];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                said.lock().unwrap().last_mut().unwrap().extend(&buffer[..count]);
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(std::net::Shutdown::Both);
            forward.join().unwrap();
            Arc::try_unwrap(said).unwrap().into_inner().unwrap()
        })
        .collect()
}

/// Plays the server's part: says the next piece after each message of the client, then hangs up.
fn play(listener: &UnixListener, dialogue: &Dialogue) {
    for pieces in dialogue {
        let Ok((mut client, _)) = listener.accept() else { return };
        let mut buffer = [0; 65536];
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 && !matches!(client.read(&mut buffer), Ok(1..)) {
                break;
            }
            if client.write_all(piece).is_err() {
                break;
            }
        }
    }
}

/// True if a client that receives this gets its rows. Its further connections are refused.
fn is_served(engine: &str, dir: &Path, dialogue: Dialogue) -> bool {
    let (listener, url) = meeting(engine, dir);
    let server = std::thread::spawn(move || play(&listener, &dialogue));
    let result = converse(engine, &url);
    // A client that asked for fewer connections than the dialogue has leaves the server waiting.
    while !server.is_finished() {
        let (_, host) = url.split_once("=").unwrap();
        let host = host.split('&').next().unwrap();
        let socket = match engine {
            "postgres" => Path::new(host).join(".s.PGSQL.5432"),
            _ => PathBuf::from(host),
        };
        drop(UnixStream::connect(socket));
        std::thread::yield_now();
    }
    server.join().unwrap();
    matches!(result, Ok(ROWS))
}

fn dialogue_file(engine: &str) -> PathBuf {
    Path::new(CORPUS).join(format!("{engine}.dialogue"))
}

/// The dialogue with a real server, from the corpus: a line in base64 for each piece, an empty
/// line between connections.
fn corpus(engine: &str) -> Dialogue {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        update_corpus(engine);
    }
    let text = std::fs::read_to_string(dialogue_file(engine)).unwrap();
    text.split("\n\n")
        .map(|pieces| {
            let pieces = pieces.trim_start_matches('\n').trim_end_matches('\n').split('\n');
            pieces.map(|line| BASE64.decode(line.trim_start_matches('>')).unwrap()).collect()
        })
        .collect()
}

fn update_corpus(engine: &str) {
    if engine == "mysql" {
        let Some(server) = MySql::start() else {
            return skipped("MYSQL", "there is no MySQL server to record a dialogue with");
        };
        server.execute("create user dbdyno@localhost");
        server.execute("grant all on *.* to dbdyno@localhost");
        return record_dialogue(engine, &server.admin_url);
    }
    record_dialogue(engine, &Lease::new(engine, None, &[]).url);
}

/// Records a dialogue with the server at a URL, which names its socket.
fn record_dialogue(engine: &str, url: &str) {
    let query = url.split_once('?').unwrap().1;
    let parameters: BTreeMap<_, _> =
        query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let server = match engine {
        "postgres" => {
            Path::new(parameters["host"]).join(format!(".s.PGSQL.{}", parameters["port"]))
        }
        _ => PathBuf::from(parameters["socket"]),
    };
    let dir = directory();
    let (listener, url) = meeting(engine, dir.path());
    let (name, engine_name) = (dialogue_file(engine), engine.to_string());
    let client = std::thread::spawn(move || converse(&engine_name, &url).map_err(|e| e.message));
    let dialogue = record(&listener, &server, 2);
    assert_eq!(client.join().unwrap(), Ok(ROWS));
    let connections: Vec<String> = dialogue
        .iter()
        .map(|pieces| {
            let lines = pieces.iter().map(|piece| format!(">{}", BASE64.encode(piece)));
            lines.collect::<Vec<_>>().join("\n")
        })
        .collect();
    std::fs::write(name, connections.join("\n\n") + "\n").unwrap();
}

fn a_client_survives(engine: &'static str) {
    let (dir, intact) = (directory(), corpus(engine));
    assert!(
        is_served(engine, dir.path(), intact.clone()),
        "{engine}: the dialogue is not understood; if sessions begin otherwise now, record it anew"
    );
    let place = (0..intact.len(), 0.0..1.0f64);
    let tried = runner(engine).run(&(place, edits()), |((connection, at), edits)| {
        // The server hangs up after the damaged piece: a client that was promised more would wait
        // for it, and the server for the client.
        let mut dialogue = intact[..=connection].to_vec();
        let pieces = &mut dialogue[connection];
        let piece = (pieces.len() as f64 * at) as usize;
        pieces.truncate(piece + 1);
        pieces[piece] = damage(&pieces[piece], &edits);
        is_served(engine, dir.path(), dialogue);
        Ok::<(), TestCaseError>(())
    });
    if let Err(error) = tried {
        panic!("{engine}: {error}");
    }
}

#[test]
fn answers_of_a_postgresql_server() {
    a_client_survives("postgres");
}

#[test]
fn answers_of_a_mariadb_server() {
    a_client_survives("mariadb");
}

/// Another dialect: logins by caching_sha2_password, sets of rows that end otherwise.
#[test]
fn answers_of_a_mysql_server() {
    a_client_survives("mysql");
}

/// Reads everything that reports read of a results file.
fn read_whole(store: &Store) -> bool {
    let Ok(runs) = store.runs() else { return false };
    let ids: Vec<i64> = runs.iter().map(|run| run.id).collect();
    let outlines = store.outlines(&ids).is_ok();
    let tests = ids.iter().all(|id| store.tests(*id).is_ok() && store.figures(*id).is_ok());
    outlines && tests && store.run("last").is_ok() && store.listing().is_ok()
}

fn fill(path: &Path) {
    let mut store = Store::open(path).unwrap();
    let id = store.begin_run(&fixture::run()).unwrap();
    for test in fixture::tests() {
        store.save_test(id, &test).unwrap();
    }
}

#[test]
fn a_results_file() {
    let dir = tempfile::TempDir::new().unwrap();
    fill(&dir.path().join("intact.db"));
    let intact = std::fs::read(dir.path().join("intact.db")).unwrap();
    let path = dir.path().join("damaged.db");
    never_panics("results", &intact, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        Store::open_to_read(path.as_path()).is_ok_and(|store| read_whole(&store))
    });
}

#[test]
fn an_export() {
    let dir = tempfile::TempDir::new().unwrap();
    fill(&dir.path().join("intact.db"));
    let store = Store::open_to_read(dir.path().join("intact.db").as_path()).unwrap();
    let ids: Vec<i64> = store.runs().unwrap().iter().map(|run| run.id).collect();
    let mut intact = Vec::new();
    store.export(&ids, &mut intact).unwrap();
    never_panics("export", &intact, |bytes| {
        let mut store = Store::in_memory().unwrap();
        let mut input = BufReader::new(Cursor::new(bytes));
        store.import("export", &mut input).is_ok() && read_whole(&store)
    });
}

#[test]
fn a_spool() {
    let catalog = crate::support::catalog();
    let intact = std::fs::read("tests/fixtures/oracle.spool").unwrap();
    never_panics("spool", &intact, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        of_scripts(Text { place: "spool", text: &text }, &catalog, "").is_ok()
    });
}

#[test]
fn published_results() {
    let catalog = crate::support::catalog();
    let text = std::fs::read_to_string("data/reference/published-results.csv").unwrap();
    let intact: String = text.lines().take(60).map(|line| format!("{line}\n")).collect();
    never_panics("published", intact.as_bytes(), |bytes| {
        let text = String::from_utf8_lossy(bytes);
        published(Text { place: "results", text: &text }, None, &catalog, "").is_ok()
    });
}

/// URLs of targets and results, which one reader takes apart, and of host metrics: with any damage,
/// none makes it panic, and no error of the command line tells a password.
#[test]
fn urls() {
    const PASSWORD: &str = "hunter2";
    let intact = [
        "postgres://ann@db1:5432,db2/shop?sslmode=verify-full&nodes=all",
        "mysql://ann@[fd00::1]:3306/?ssl-mode=REQUIRED",
        "mariadb://ann@db1/?socket=%2Frun%2Fmy.sock",
        "oracle://ann@db1:1521/shop?protocol=tcps",
    ];
    for url in intact {
        let (scheme, rest) = url.split_once("://").unwrap();
        let engine = engine::ENGINES
            .iter()
            .find(|engine| engine.capabilities().url_schemes.contains(&scheme))
            .copied();
        // An engine may be left out of a build.
        let Some(engine) = engine else { continue };
        never_panics("url", url.as_bytes(), |bytes| {
            let text = String::from_utf8_lossy(bytes);
            engine.role_sql(&text).is_ok()
        });
        let secret = format!("{scheme}://ann:{PASSWORD}@{}", rest.split_once('@').unwrap().1);
        for line in ["run {}", "results list --results {}", "worker {} {}"] {
            assert_hides(PASSWORD, &line.replace("{}", &secret));
        }
        for text in [
            secret.clone(),
            secret.replace(PASSWORD, &format!("{PASSWORD}/x")),
            secret.replace(PASSWORD, &format!("x@{PASSWORD}")),
            secret.replace(PASSWORD, &format!("1/{PASSWORD}")),
            format!("{scheme}://ann/{PASSWORD}@db1/shop"),
            format!("{url}&password={PASSWORD}"),
        ] {
            assert_hides(PASSWORD, &format!("check {text}"));
        }
    }
    for metrics in [
        format!("http://ann:{PASSWORD}@db1/"),
        format!("n1=http://{PASSWORD}@x"),
        format!("http://127.0.0.1:1/metrics?token={PASSWORD}"),
        format!("n1=http://db1:9100/metrics?token={PASSWORD}"),
        format!("db1:9100/metrics?token={PASSWORD}"),
    ] {
        assert_hides(PASSWORD, &format!("check sqlite --host-metrics {metrics}"));
    }
}

/// A command line that holds a password is refused, and the password not repeated.
fn assert_hides(password: &str, line: &str) {
    let done = crate::support::Desk::new().run(line);
    let told = format!("{}{}", done.stdout, done.stderr);
    assert!(done.code == Some(2) && !told.contains(password), "{line}: {told}");
}
