//! Cost of a connection: ops that open one each, and sessions that do nothing beside the jobs.

use dbdyno::engine::Session;
use serde_json::Value;

use crate::servers::{Existing, Lease, Server};
use crate::support::{Desk, column, mistakes, try_session_of};

const FEW: &str = "--size 0.01 --jobs 2 --ops 60 --quiet --format json";
/// Parts of a connection that every one has.
const PARTS: [&str; 4] =
    ["connect_reach_ms", "connect_login_ms", "connect_statement_ms", "connect_close_ms"];

fn count_opened(session: &mut dyn Session, engine: &str) -> u64 {
    let sql = match engine {
        "postgres" => "select sessions from pg_stat_database where datname = current_database()",
        _ => {
            "select variable_value from information_schema.global_status where variable_name = \
             'CONNECTIONS'"
        }
    };
    column(session, sql)[0].parse().unwrap()
}

/// The server counts as many as we tell, over every way; each is split into its parts, which
/// together are the time of the op.
#[test]
fn every_op_opens_a_connection_that_the_server_counts() {
    for engine in ["postgres", "mariadb"] {
        let lease = Lease::new(engine, None, &[]);
        let mut session = try_session_of(engine, &lease.url).unwrap();
        let desk = Desk::new();
        let before = count_opened(session.as_mut(), engine);
        let line = format!("run {} --workload CONN-NEW {FEW}", lease.url);
        let document = desk.run(&line).ok().json();
        let counted = count_opened(session.as_mut(), engine) - before;
        let test = &document["tests"][0];
        assert_eq!(mistakes(test), Vec::<&Value>::new(), "{engine}");
        assert_eq!((test["ops"].as_u64(), test["errors"].as_u64()), (Some(120), Some(0)));
        assert!((120..220).contains(&counted), "{engine}: {counted}");
        let told = test["counters"]["sessions_opened"].as_f64().unwrap();
        assert!(
            (120.0..128.0).contains(&told),
            "{engine}: {told} between the first op and the last"
        );
        let reasons = test["verdict"]["reasons"].to_string();
        assert!(!reasons.contains("sessions_opened"), "it was compared: {reasons}");
        assert_eq!(test["drive"], "client");
        let part = |name: &str| test["metrics"][name].as_f64().unwrap();
        let parts: f64 = PARTS.iter().map(|name| part(name)).sum();
        for name in PARTS {
            assert!(part(name) > 0.0, "{engine}: {name}");
        }
        assert_eq!(part("connect_encrypt_ms"), 0.0, "a Unix socket is not encrypted");
        let all_ms = parts + part("connect_start_ms");
        let op_ms = test["metrics"]["service_time_ms"].as_f64().unwrap();
        assert!(all_ms <= op_ms * 1.001 && all_ms > op_ms * 0.5, "{all_ms} of {op_ms}");
    }
}

/// A server that counts half of the connections that ops opened makes the test invalid.
#[test]
fn a_count_that_is_not_the_servers_takes_the_validity() {
    let desk = Desk::new();
    let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog/workloads/conn");
    let folder = desk.path("catalog").join("workloads/conn");
    std::fs::create_dir_all(&folder).unwrap();
    for file in std::fs::read_dir(own).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mutant = text.replace("min = 1, max = \"1.01 +", "min = 2, max = \"3 +");
        assert_eq!(mutant != text, path.ends_with("group.toml"));
        std::fs::write(folder.join(path.file_name().unwrap()), mutant).unwrap();
    }
    let lease = Lease::new("postgres", None, &[]);
    let catalog = desk.path("catalog");
    let line =
        format!("--catalog {} run {} --workload CONN-NEW {FEW}", catalog.display(), lease.url);
    let done = desk.run(&line);
    let document = done.json();
    let wrong = mistakes(&document["tests"][0]);
    assert!(wrong.iter().any(|reason| reason["code"] == "crosscheck"), "{document:#}");
}

#[test]
fn the_method_of_the_login_stands_beside_its_cost() {
    let desk = Desk::new();
    let (server, mut existing) = (Server::shared(), Existing::shared());
    server.create_user("login", crate::cli_existing::SECRET, true);
    existing.create_user("login", "all");
    let lines = [
        (server.url("login"), "SCRAM-SHA-256, 4096 iterations"),
        (existing.url("login"), "mysql_native_password"),
    ];
    for (url, method) in lines {
        let mut command = desk.command(&format!("run {url} --workload CONN-NEW {FEW}"));
        command
            .env("PGPASSWORD", crate::cli_existing::SECRET)
            .env("MYSQL_PWD", crate::cli_existing::SECRET);
        let document = crate::support::finished(command, "run").ok().json();
        let test = &document["tests"][0];
        assert_eq!(test["login"], method);
        assert_eq!(mistakes(test), Vec::<&Value>::new());
    }
}

#[test]
fn idle_sessions_are_open_and_what_each_takes_is_told() {
    for engine in ["postgres", "mariadb"] {
        let desk = Desk::new();
        let line =
            format!("run {engine} --workload CONN-IDLE:idle=0 --workload CONN-IDLE:idle=100 {FEW}");
        let document = desk.run(&line).ok().json();
        let [none, hundred] = document["tests"].as_array().unwrap().as_slice() else { panic!() };
        for test in [none, hundred] {
            assert_eq!(mistakes(test), Vec::<&Value>::new(), "{engine}");
        }
        assert!(none["metrics"]["idle_session_kb"].is_null(), "{engine}");
        let each_kb = hundred["metrics"]["idle_session_kb"].as_f64().unwrap();
        assert!((1.0..20_000.0).contains(&each_kb), "{engine}: {each_kb} kB");
    }
}

#[test]
fn a_server_without_room_for_idle_sessions_leaves_them_out_in_one_line() {
    let server = Server::start();
    server.create_user("room", crate::cli_existing::SECRET, true);
    let desk = Desk::new();
    let ids = "--workload CONN-IDLE:idle=0 --workload CONN-IDLE:idle=1000";
    let line =
        format!("run {} {ids} --size 0.01 --ops 5 --warmup 0 --format json", server.url("room"));
    let mut command = desk.command(&line);
    command.env("PGPASSWORD", crate::cli_existing::SECRET);
    let done = crate::support::finished(command, "run").ok();
    let tests = done.json()["tests"].as_array().unwrap().clone();
    assert!(tests.iter().all(|test| test["params"]["idle"] == "0"), "{tests:#?}");
    assert!(done.stderr.contains("max_connections = 40"), "{}", done.stderr);
}
