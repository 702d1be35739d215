//! Existing PostgreSQL servers, addressed by URL over TCP with scram passwords.

use std::path::Path;

use dbdyno::sql::statement;

use crate::probes::noises;
use crate::servers::{Lease, Server};
use crate::support::{
    Desk, column, ended, finished, free_port, mistakes, processes, try_session_of, until,
};

pub const SECRET: &str = "tr0ub4dor-and-3";
/// A password that tests do put into arguments: another one, since other tests look for [`SECRET`]
/// in all command lines.
pub const TYPED_SECRET: &str = "c0rrect-h0rse";
const SCHEMAS: &str =
    "select nspname from pg_namespace where nspname !~ '^(pg_|information)' order by 1";
const ARGS: &str = "--size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0";

/// Every file below a directory, as bytes.
fn all_bytes(dir: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    entries
        .flat_map(|entry| {
            if entry.path().is_dir() {
                all_bytes(&entry.path())
            } else {
                std::fs::read(entry.path()).unwrap_or_default()
            }
        })
        .collect()
}

/// A server that greets a client with these bytes, reads what it says, and so on; gives all that it
/// heard until the client left.
pub fn stub(
    greetings: &'static [&'static [u8]],
    client_first: bool,
) -> (u16, std::thread::JoinHandle<Vec<u8>>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let (mut heard, mut buffer) = (Vec::new(), [0; 1000]);
        if client_first {
            let count = client.read(&mut buffer).unwrap();
            heard.extend_from_slice(&buffer[..count]);
        }
        for greeting in greetings {
            client.write_all(greeting).unwrap();
            let count = client.read(&mut buffer).unwrap_or(0);
            heard.extend_from_slice(&buffer[..count]);
        }
        let _ = client.read_to_end(&mut heard); // the client may have reset the connection
        heard
    });
    (port, heard)
}

/// PostgreSQL's AuthenticationCleartextPassword (manual: "Message Formats").
const CLEARTEXT: &[u8] = b"R\0\0\0\x08\0\0\0\x03";
/// MariaDB's greeting of protocol 10, then its wish for another method: mysql_clear_password.
const GREETING: &[u8] =
    b"\x53\0\0\0\x0a10.11.6-MariaDB\0\x01\0\0\0abcdefgh\0\xfe\xf7\x21\x02\0\xff\x81\x15\
    \0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";
const SWITCH: &[u8] = b"\x16\0\0\x02\xfemysql_clear_password\0";

#[test]
fn no_password_goes_over_a_network_in_clear_text() {
    let cases: [(&str, &'static [&'static [u8]], bool, &str); 2] = [
        ("postgres", &[CLEARTEXT], true, "scram-sha-256"),
        ("mariadb", &[GREETING, SWITCH], false, "authentication method"),
    ];
    for (engine, greetings, client_first, advice) in cases {
        // The stub answers one connection, and not whether it encrypts.
        let plain = if client_first { "?sslmode=disable" } else { "" };
        let (port, heard) = stub(greetings, client_first);
        let desk = Desk::new();
        let mut run =
            desk.command(&format!("run {engine}://me@127.0.0.1:{port}/app{plain} {ARGS} --quiet"));
        run.env("PGPASSWORD", SECRET).env("MYSQL_PWD", SECRET);
        finished(run, engine).fails(3, &["the server wants the password in clear text", advice]);
        let heard = heard.join().unwrap();
        assert!(heard.windows(2).any(|word| word == b"me"), "it has heard the user: {heard:?}");
        assert!(!holds_secret(&heard), "{engine} has heard the password: {heard:?}");
    }
}

fn holds_secret(bytes: &[u8]) -> bool {
    bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
}

#[test]
fn a_run_makes_our_schema_only_and_clean_removes_exactly_that() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("tidy", SECRET, true);
    let mut admin = server.admin("tidy");
    admin.execute("create table public.precious (id int)").unwrap();
    let url = server.url("tidy");
    let mut run = desk.command(&format!("run {url} {ARGS} --ops 50 --format json --quiet"));
    run.env("PGPASSWORD", SECRET);
    let first = finished(run, "run").ok();
    crate::support::assert_run_schema(&first.json());
    assert_eq!(first.json()["target"], url.as_str());
    assert_eq!(column(admin.as_mut(), SCHEMAS), ["dbdyno", "public"]);
    // The password comes from a file now, and what was loaded is used again.
    let pass = desk.path(".pgpass");
    std::fs::write(&pass, format!("*:*:*:tidy:{SECRET}\n")).unwrap();
    std::fs::set_permissions(&pass, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let second = desk.run(&format!("run {url} {ARGS} --ops 50 --format json --quiet")).ok();
    assert_eq!(second.json()["loads"][0]["loaded"], false);
    let cleaned = desk.run(&format!("clean {url}")).ok();
    assert!(cleaned.stdout.contains("dropped"), "{}", cleaned.stdout);
    assert_eq!(column(admin.as_mut(), SCHEMAS), ["public"]);
    assert_eq!(column(admin.as_mut(), "select count(*) from public.precious"), ["0"]);
    assert_eq!(desk.run(&format!("clean {url}")).ok().stdout, "nothing to remove\n");
    assert_eq!(
        column(admin.as_mut(), SCHEMAS),
        ["public"],
        "clean on a clean server makes nothing"
    );
}

#[test]
fn passwords_appear_nowhere() {
    let server = Server::shared();
    server.create_user("secretive", SECRET, true);
    assert_password_appears_nowhere(&server.url("secretive"), "PGPASSWORD");
}

/// Runs on the server at `url`, whose user's password is [`SECRET`] and stands in this variable: it
/// is in the arguments of no process, in no file, and nothing prints it.
pub fn assert_password_appears_nowhere(url: &str, variable: &str) {
    let desk = Desk::new();
    // Long enough for some looks; users who think need little of a processor meanwhile.
    let line = format!(
        "run {url} {ARGS} --duration 1500ms --drive client --think 5ms --report {}",
        desk.path("report.html").display()
    );
    let mut run = desk.command(&line);
    run.env(variable, SECRET)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut run = run.spawn().unwrap();
    let mut looked = 0;
    until("the run ends", || {
        assert!(processes(SECRET).is_empty(), "in the arguments of a process");
        looked += 1;
        run.try_wait().unwrap().is_some()
    });
    assert!(looked > 3);
    let run = ended(run, &line).ok();
    let with = |line: &str, password: &str| {
        let mut command = desk.command(line);
        command.env(variable, password);
        finished(command, line)
    };
    let json = with(&format!("run {url} {ARGS} --ops 50 --format json"), SECRET).ok();
    let export = desk.run("results export").ok();
    let wrong = with(&format!("check {url}"), &format!("{SECRET}-wrong"));
    assert_ne!(wrong.code, Some(0));
    for done in [&run, &json, &export, &wrong] {
        assert!(!done.stdout.contains(SECRET) && !done.stderr.contains(SECRET), "{done:#?}");
    }
    assert!(!holds_secret(&all_bytes(&desk.path(""))));
}

#[test]
fn a_url_with_a_password_is_refused_and_not_repeated() {
    let desk = Desk::new();
    for url in [
        format!("postgres://me:{TYPED_SECRET}@h/db"),
        format!("postgresql://h/db?user=me&password={TYPED_SECRET}"),
    ] {
        for command in ["run", "check", "clean", "load", "verify"] {
            let refused =
                desk.run(&format!("{command} {url}")).fails(2, &["password", "PGPASSWORD"]);
            assert!(
                !refused.stderr.contains(TYPED_SECRET) && refused.stdout.is_empty(),
                "{refused:#?}"
            );
        }
    }
    assert_eq!(std::fs::read_dir(desk.path("")).unwrap().count(), 0);
}

#[test]
fn wrong_passwords_missing_privileges_and_absent_servers_are_one_line() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("powerless", SECRET, false);
    let url = server.url("powerless");
    let with = |line: &str, password: &str| {
        let mut command = desk.command(line);
        command.env("PGPASSWORD", password);
        finished(command, line)
    };
    let run = format!("run {url} {ARGS} --quiet");
    with(&run, SECRET).fails(
        3,
        &[&url, "may not create a schema", "grant create on database powerless to powerless"],
    );
    with(&run, "wrong").fails(3, &[&url, "password"]);
    desk.run(&run).fails(3, &[&url, "password"]);
    with(&format!("load {url} --quiet"), "wrong").fails(3, &[&url, "password"]);
    let nobody = format!("postgres://me@127.0.0.1:{}/db", free_port());
    desk.run(&format!("run {nobody} {ARGS} --quiet")).fails(3, &[&nobody, "no server answers"]);
    let unknown = format!("postgres://powerless@127.0.0.1:{}/nope", server.port);
    with(&format!("run {unknown} {ARGS} --quiet"), SECRET).fails(3, &["nope", "exist"]);
    assert_eq!(column(server.admin("powerless").as_mut(), SCHEMAS), ["public"]);
    assert!(desk.runs().is_empty(), "nothing was run");
    assert!(desk.data_entries().is_empty());
}

#[test]
fn a_killed_backend_fails_its_test_only() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("victim", SECRET, true);
    let tests = [("SRV-QUERY1", 2.0), ("SRV-QUERY25", 0.3)];
    let file = desk.experiment(&server.url("victim"), 1, &tests);
    let line = format!("run {} --quiet --format json", file.display());
    let mut run = desk.command(&line);
    run.env("PGPASSWORD", SECRET)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let run = run.spawn().unwrap();
    let mut admin = server.admin("victim");
    let kill = "select pg_terminate_backend(pid)::text from pg_stat_activity where usename = \
                'victim' and state = 'active' and query like '%w_srv_query1%' and query not like \
                '%create%'";
    until("the first test's job runs", || {
        let busy = "select count(*) from pg_stat_activity where usename = 'victim' and state = \
                    'active' and query like '%w_srv_query1%' and now() - query_start > interval \
                    '200 ms'";
        column(admin.as_mut(), busy) == ["1"]
    });
    assert_eq!(column(admin.as_mut(), kill), ["true"]);
    let run = ended(run, &line).ok();
    let document = run.json();
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 2, "{tests:#?}");
    assert!(!mistakes(&tests[0]).is_empty() && mistakes(&tests[1]).is_empty(), "{tests:#?}");
    assert!(
        tests[0]["first_error"].as_str().unwrap().contains("terminat"),
        "{}",
        tests[0]["first_error"]
    );
    assert_eq!(document["status"], "finished");
}

#[test]
fn what_a_server_does_beside_the_tests_is_a_cause_of_noise() {
    for engine in ["postgres", "mariadb"] {
        let lease = Lease::new(engine, None, &[]);
        let catalog = crate::support::catalog();
        let block =
            catalog.probes(engine, &[99]).into_iter().find(|block| block.name == "noise").unwrap();
        let rows =
            try_session_of(engine, &lease.url).unwrap().query(statement(&block.text), &[]).unwrap();
        assert!(rows.columns == ["found", "advice"] && !rows.rows.is_empty(), "{engine}: {rows:?}");
        assert!((1..=3).contains(&noises(&lease.url).len()), "{engine}");
    }
}
