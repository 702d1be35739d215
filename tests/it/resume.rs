//! Loads that are killed: the next one goes on where they were, on every kind of target, and the
//! rows are right.

use std::path::Path;

use dbdyno::engine::{self, Access, ConnectTo};
use dbdyno::model::Target;
use rustix::process::Signal;

use crate::servers::Server;
use crate::support::{Desk, PRIVATE, bytes_in, column, ended, signal, try_session, until};

const CHUNKS: &str = "select coalesce(sum(last_id - first_id + 1), 0) from dbdyno.state_chunks";
/// 240,000 rows, of which a chunk is a twelfth or less.
const ARGS: &str = "--size 0.24 --workload STO-READ";

/// Rows that are noted as in, if somebody can be asked.
fn noted_at(url: &str) -> i64 {
    let rows = try_session(url).and_then(|mut session| session.query(CHUNKS, &[]).ok());
    rows.and_then(|rows| rows.scalar()?.parse().ok()).unwrap_or(0)
}

fn noted_in(file: &Path) -> i64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let db = rusqlite::Connection::open_with_flags(file, flags).ok();
    db.and_then(|db| db.query_row(&CHUNKS.replace("dbdyno.", ""), [], |row| row.get(0)).ok())
        .unwrap_or(0)
}

/// Rows that are noted as in, in the MariaDB server whose socket is in this directory.
fn noted_in_mariadb(directory: &Path) -> i64 {
    let files =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let Some(socket) =
        files.into_iter().find(|path| path.extension().is_some_and(|end| end == "sock"))
    else {
        return 0;
    };
    let url = format!(
        "mariadb://dbdyno@/?socket={}&auth=none",
        socket.display().to_string().replace('/', "%2F")
    );
    let target = Target::Existing { engine: "mariadb".into(), url: url.clone() };
    let to = ConnectTo { url: Some(url), ..ConnectTo::new(target) };
    let database =
        engine::find("mariadb").and_then(|engine| engine.open(&to, Access::Inspect).ok());
    let rows = database.and_then(|database| database.session().ok()?.query(CHUNKS, &[]).ok());
    rows.and_then(|rows| rows.scalar()?.parse().ok()).unwrap_or(0)
}

/// Kills a load of `target` by a signal when a third of the rows are in; then loads again and
/// checks everything.
fn kill_and_go_on(desk: &Desk, target: &str, noted: &dyn Fn() -> i64) {
    let mut load = desk.spawn(&format!("load {target} {ARGS}"));
    until("a third of the rows are in", || {
        assert_eq!(load.try_wait().unwrap(), None, "the load ended before it could be killed");
        noted() > 80_000
    });
    load.kill().unwrap();
    load.wait().unwrap();
    let again = desk.run(&format!("load {target} {ARGS}")).ok();
    assert_went_on(&again.stderr);
    let verified = desk.run(&format!("verify {target} {ARGS} --keep")).ok();
    assert!(verified.stdout.contains("ok      data set"), "{verified:#?}");
    assert!(verified.stderr.contains("rows are there already"), "{verified:#?}");
    desk.run(&format!("clean {target}")).ok();
}

#[track_caller]
fn assert_went_on(stderr: &str) {
    let line = stderr.lines().find(|line| line.contains("resumes at"));
    let percent =
        line.and_then(|line| line.split(" at ").nth(1)?.split(' ').next()?.parse::<u64>().ok());
    assert!(percent.is_some_and(|percent| (33..=100).contains(&percent)), "{stderr}");
    assert!(stderr.contains("rows in") && stderr.contains("verified"), "{stderr}");
}

#[test]
fn a_killed_load_of_an_embedded_database_goes_on() {
    let desk = Desk::new();
    let file = desk.data().join("dbdyno-sqlite.db");
    kill_and_go_on(&desk, "sqlite", &|| noted_in(&file));
}

#[test]
fn a_killed_load_of_a_column_store_goes_on() {
    let desk = Desk::new();
    // Nobody else may open the file while it is loaded: a row takes 300 bytes in the
    // file and as many in the log, and some blocks are written twice.
    kill_and_go_on(&desk, "duckdb", &|| (bytes_in(&desk.data()) / 900) as i64);
}

#[test]
fn a_killed_load_of_a_private_server_goes_on() {
    let desk = Desk::new();
    let url = PRIVATE[0].url(&desk.data());
    kill_and_go_on(&desk, "postgres", &|| noted_at(&url));
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn a_killed_load_of_a_private_mariadb_goes_on() {
    let desk = Desk::new();
    let socket = desk.data().join("dbdyno-mariadb/socket");
    kill_and_go_on(&desk, "mariadb", &|| noted_in_mariadb(&socket));
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn a_load_that_loses_its_server_says_that_rows_stay_and_goes_on() {
    let (desk, server) = (Desk::new(), Server::start());
    let url = server.admin_url("postgres");
    let line = format!("load {url} --quiet {ARGS}");
    let load = desk.spawn(&line);
    until("a third of the rows are in", || noted_at(&url) > 80_000);
    // A process of the server itself, which is there however far the load is: the server drops all
    // connections, recovers and serves again.
    let checkpointer = "select pid from pg_stat_activity where backend_type = 'checkpointer'";
    let pid = column(server.admin("postgres").as_mut(), checkpointer)[0].parse().unwrap();
    signal(pid, Signal::KILL);
    ended(load, &line).fails(3, &["rows of table dbdyno.big are in and stay", "run it again"]);
    until("the server has recovered", || try_session(&url).is_some());
    let again = desk.run(&format!("load {url} {ARGS}")).ok();
    assert_went_on(&again.stderr);
    desk.run(&format!("verify {url} {ARGS}")).ok();
}
