//! MySQL: a real server, which `scripts/mysql-server.sh` fetches, and what is its own: logins by
//! caching_sha2_password, commits inside routines that are waited for, a schema without a comment.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::cli_existing::SECRET;
use crate::leftovers::Directory;
use crate::mariadb::with_password;
use crate::security::rights::{every_workload_runs, statements};
use crate::skipped::skipped;
use crate::support::{Desk, column, directory, free_port, try_session_of, until};

/// A server of the caller's own: TCP, encrypted or not, and a socket for its superuser.
pub struct MySql {
    process: Child,
    port: u16,
    data: PathBuf,
    pub admin_url: String,
    // Dropped after the server that lives in it.
    _dir: Directory,
}

/// As small as it goes, with the counters of transactions.
const SETTINGS: &[&str] = &[
    "--mysqlx=off",
    "--secure-file-priv=NULL",
    "--bind-address=127.0.0.1",
    "--skip-log-bin",
    "--innodb-buffer-pool-size=64M",
    "--innodb-redo-log-capacity=32M",
    "--innodb-monitor-enable=trx_rw_commits,trx_ro_commits,trx_nl_ro_commits,trx_rollbacks,\
     log_checkpoints",
];

impl MySql {
    /// None where there is no such server.
    pub fn start() -> Option<MySql> {
        let program = dbdyno::host::cache_dir().join("mysql-server/bin/mysqld");
        let program = Some(program).filter(|program| program.exists())?;
        let (dir, port) = (directory(), free_port());
        let (data, socket) = (dir.path().join("data"), dir.path().join("my.sock"));
        let copied = Command::new("cp").arg("-a").arg(new_files(&program)).arg(&data).status();
        assert!(copied.unwrap().success());
        let mut run = server_command(&program, &data);
        run.args(SETTINGS)
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", socket.display()));
        let process =
            run.arg(format!("--log-error={}", dir.path().join("log").display())).spawn().unwrap();
        let admin_url = format!("mysql://root@/?socket={}&auth=none", socket.display());
        let server = MySql { process, port, data, admin_url, _dir: dir };
        until("MySQL answers", || try_session_of("mysql", &server.admin_url).is_some());
        Some(server)
    }

    pub fn execute(&self, sql: &str) {
        try_session_of("mysql", &self.admin_url).unwrap().execute(sql).unwrap();
    }

    fn url(&self, scheme: &str, parameters: &str) -> String {
        format!("{scheme}://ann@127.0.0.1:{}/?{parameters}", self.port)
    }

    fn has_our_database(&self) -> bool {
        let sql =
            "select schema_name from information_schema.schemata where schema_name = 'dbdyno'";
        !column(try_session_of("mysql", &self.admin_url).unwrap().as_mut(), sql).is_empty()
    }
}

impl Drop for MySql {
    fn drop(&mut self) {
        let _ = self.process.kill(); // if it has not ended itself
        let _ = self.process.wait();
    }
}

/// The files of a new database, which are created once for all tests of this process.
fn new_files(program: &Path) -> PathBuf {
    static CREATED: OnceLock<Directory> = OnceLock::new();
    let created = CREATED.get_or_init(|| {
        let dir = directory();
        let log = dir.path().join("create.log");
        let mut create = server_command(program, &dir.path().join("data"));
        create.arg("--initialize-insecure").arg(format!("--log-error={}", log.display()));
        let ended = create.status().unwrap();
        assert!(ended.success(), "{}", std::fs::read_to_string(log).unwrap_or_default());
        dir
    });
    created.path().join("data")
}

fn server_command(program: &Path, data: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg(format!("--datadir={}", data.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.arg("--user=root");
    }
    command
}

/// The password goes to whoever answers encrypted.
const TOLD: &str = "ssl-mode=required&enable-cleartext-plugin=1";

/// Full authentication by each way that a password may go; the server forgets it in between.
fn a_password_goes_encrypted_or_not_at_all(desk: &Desk, server: &MySql) {
    let clean = |scheme: &str, parameters: &str| {
        server.execute("flush privileges");
        with_password(desk, &format!("clean {}", server.url(scheme, parameters)), SECRET)
    };
    clean("mysql", "ssl-mode=disabled").fails(3, &["not encrypted", "server-public-key-path"]);
    clean("mysql", "ssl-mode=required").fails(3, &["nobody has verified", "ssl-mode=verify"]);
    let key = format!(
        "ssl-mode=disabled&server-public-key-path={}",
        server.data.join("public_key.pem").display()
    );
    for parameters in ["ssl-mode=disabled&get-server-public-key=1", &key, TOLD] {
        clean("mysql", parameters).ok();
    }
    let wrong = with_password(desk, &format!("clean {}", server.url("mysql", TOLD)), "wr0ng");
    wrong.fails(3, &["Access denied", "MYSQL_PWD"]);
    clean("mariadb", TOLD).fails(3, &["the server is not MariaDB but MySQL", "mysql://"]);
    assert!(!server.has_our_database(), "nothing was created");
}

/// Workloads whose texts are MySQL's own, and those that commit.
const OWN: &str = "--workload CPU-STRING --workload CPU-PRIMES --workload LGWR-LAT --workload \
                   DL-STREAM --workload DA-INDEX --workload STO-SCATTER --workload TP-UPDATE32";

fn answers_counters_and_commits_are_right(desk: &Desk, server: &MySql) {
    let file = desk.path("selftest.json");
    let line = format!(
        "selftest {} {OWN} --size 0.02 --quiet -o {}",
        server.url("mysql", ""),
        file.display()
    );
    let done = with_password(desk, &line, SECRET).ok();
    assert!(!server.has_our_database(), "{}", done.stdout);
    let document: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let tests = document["tests"].as_array().unwrap();
    let in_routine = tests
        .iter()
        .find(|test| test["workload"] == "LGWR-LAT" && test["drive"] == "database")
        .unwrap();
    let counter = |name: &str| in_routine["counters"][name].as_f64().unwrap();
    // The loop is inside: one call, and a sync for each of its commits.
    assert!(
        counter("commits") > 5.0 && counter("wal_syncs") > 0.9 * counter("commits"),
        "{in_routine:#}"
    );
}

/// Checks that foreign objects stay, and a database that dbdyno did not create.
fn clean_removes_what_is_ours(desk: &Desk, server: &MySql) {
    let url = server.url("mysql", "");
    let run = format!(
        "run {url} --size 0.01 --workload SRV-QUERY1 --jobs 1,2 --warmup 0 --ops 50 --quiet \
         --format json"
    );
    let document = with_password(desk, &run, SECRET).ok().json();
    for test in document["tests"].as_array().unwrap() {
        assert!(!test["verdict"].to_string().contains("unconfirmed-engine"), "{test:#}");
    }
    let clean = |words: &str| {
        let cleaned = with_password(desk, &format!("clean {url}"), SECRET).ok().stdout;
        assert!(cleaned.contains(words), "{cleaned}");
    };
    server.execute("create table dbdyno.precious (id int)");
    clean("not ours: precious");
    server.execute("drop table dbdyno.precious");
    clean("nothing to remove");
    assert!(!server.has_our_database());
    server.execute("create database dbdyno");
    with_password(desk, &run, SECRET)
        .fails(3, &["database dbdyno was not made by dbdyno", "state_made"]);
    server.execute("create table dbdyno.state_made (by_dbdyno int) comment = 'made by dbdyno'");
    with_password(desk, &run, SECRET).ok();
    clean("dropped dbdyno.small");
}

/// Another account that can put something into our database, by rights on it or on every database,
/// before an administrator uses it; who is none sees no rights of others, and has none to lose.
fn a_database_that_others_can_change_is_not_used(desk: &Desk, server: &MySql) {
    let url = &server.admin_url;
    let run =
        format!("run {url} --size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0 --ops 50 --quiet");
    with_password(desk, &run, SECRET).fails(3, &["others may create: 'ann'@'%'"]);
    server.execute("revoke all on dbdyno.* from ann@'%'");
    with_password(desk, &run, SECRET).ok();
    let others = "others may create: 'mallory'@'%'";
    server.execute("create user mallory@'%'");
    for (grant, revoke, advice) in [
        ("grant create routine, alter routine on dbdyno.*", "revoke all on dbdyno.*", "dbdyno.*"),
        ("grant create view on `db%`.*", "revoke all on `db%`.*", "dbdyno.*"),
        ("grant create, create view on *.*", "revoke all on *.*", "on *.*"),
    ] {
        server.execute(&format!("{grant} to mallory@'%'"));
        for line in [run.clone(), format!("verify {url} --quiet"), format!("clean {url}")] {
            with_password(desk, &line, SECRET).fails(3, &[others, advice]);
        }
        server.execute(&format!("{revoke} from mallory@'%'"));
    }
    server.execute("create trigger dbdyno.t before update on dbdyno.small for each row set @a = 1");
    with_password(desk, &run, SECRET).fails(3, &["table dbdyno.small has the trigger t"]);
    server.execute("drop trigger dbdyno.t");
    server.execute("drop user mallory@'%'");
    with_password(desk, &format!("clean {url}"), SECRET).ok();
}

#[test]
fn a_live_server_keeps_the_contract() {
    let Some(server) = MySql::start() else {
        return skipped("MYSQL", "there is no MySQL server (scripts/mysql-server.sh fetches one)");
    };
    let desk = Desk::new();
    // All that follows is done with the rights that the printed script gives, and no more.
    let script = desk.run(&format!("check {} --role-sql", server.url("mysql", ""))).ok().stdout;
    statements(&script).iter().for_each(|statement| server.execute(statement));
    server.execute(&format!("alter user ann@'%' identified by '{SECRET}' account unlock"));
    a_password_goes_encrypted_or_not_at_all(&desk, &server);
    answers_counters_and_commits_are_right(&desk, &server);
    clean_removes_what_is_ours(&desk, &server);
    every_workload_runs(&desk, "mysql", &server.url("mysql", ""));
    a_database_that_others_can_change_is_not_used(&desk, &server);
}

#[test]
fn a_private_server_is_told_to_be_had_by_url_only() {
    Desk::new()
        .run("run mysql")
        .fails(2, &["MySQL is only reached as an existing server", "mysql://user@host"]);
}

#[test]
fn routines_draw_the_keys_of_another_program() {
    match MySql::start() {
        Some(server) => crate::skewed::server_draws_the_same("mysql", &server.admin_url),
        None => skipped("MYSQL", "there is no MySQL server (scripts/mysql-server.sh fetches one)"),
    }
}
