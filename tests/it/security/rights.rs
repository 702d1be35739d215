//! Least rights: a role with exactly what the printed scripts grant runs everything, and a member
//! of a team can do what its role says and no more.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dbdyno::model::Workload;
use dbdyno::store::Store;
use serde_json::Value;

use crate::cli_existing::SECRET;
use crate::every_workload::wish;
use crate::servers::{Existing, Lease, Server};
use crate::support::{Desk, Done, TINY, column, finished};

fn with_password(desk: &Desk, line: &str) -> Done {
    let mut command = desk.command(line);
    command.env("PGPASSWORD", SECRET).env("MYSQL_PWD", SECRET);
    finished(command, line)
}

/// One op of every workload that the engine has: none lacks a right.
pub fn every_workload_runs(desk: &Desk, engine: &str, url: &str) {
    let catalog = crate::support::catalog();
    let has = |workload: &&Workload| !workload.unsupported.contains_key(engine);
    let all: Vec<String> = catalog
        .workloads()
        .filter(has)
        // Smaller work where that can be chosen: it takes the same rights.
        .map(|workload| format!("--workload {}", wish(&workload.id, None)))
        .collect();
    assert!(all.len() > 30, "{all:?}");
    let line = format!(
        "run {url} {} --size 0.01 --jobs 1 --warmup 0 --ops 1 --quiet --format json",
        all.join(" ")
    );
    let document = with_password(desk, &line).ok().json();
    let tests = document["tests"].as_array().unwrap();
    // Those that need more of a server than such a user has are left out, with their reason.
    let needs_more = |workload: &&Workload| {
        workload.requires.keys().any(|name| name.starts_with(&format!("{engine}.")))
    };
    let fewest = all.len() - catalog.workloads().filter(has).filter(needs_more).count();
    assert!(tests.len() >= fewest && fewest > 30, "{} of {fewest}", tests.len());
    for test in tests {
        let reasons: &Vec<Value> = test["verdict"]["reasons"].as_array().unwrap();
        let failed = reasons.iter().any(|reason| reason["code"] == "failed");
        assert!(test["first_error"].is_null() && !failed, "{test:#}");
    }
    let cleaned = with_password(desk, &format!("clean {url}")).ok().stdout;
    assert!(cleaned.contains("dropped dbdyno.small") && !cleaned.contains("not ours"), "{cleaned}");
}

/// The statements of a printed script.
pub fn statements(script: &str) -> Vec<String> {
    let lines = script.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>();
    let texts = lines.join("\n");
    texts.split(';').filter(|text| !text.trim().is_empty()).map(String::from).collect()
}

#[test]
fn the_printed_role_suffices_for_every_workload_on_postgres() {
    let (desk, server) = (Desk::new(), Server::shared());
    let mut admin = server.admin("postgres");
    admin.execute("create database least_rights").unwrap();
    let url = server.url("least_rights");
    let script = desk.run(&format!("check {url} --role-sql")).ok().stdout;
    let mut admin = server.admin("least_rights");
    admin.execute(&script).unwrap();
    admin.execute(&format!("alter role least_rights password '{SECRET}'")).unwrap();
    let checked = with_password(&desk, &format!("check {url} --size 0.01")).ok().stdout;
    assert!(!checked.contains("superuser"), "{checked}");
    every_workload_runs(&desk, "postgres", &url);
    let left = "select nspname from pg_namespace where nspname = 'dbdyno'";
    assert_eq!(column(admin.as_mut(), left), ["dbdyno"], "it was made for the role, which cannot");
    // Whoever may do everything is told what suffices.
    let lease = Lease::new("postgres", None, &[]);
    let warned = "dbdyno is a superuser, which no test needs; the script of 'dbdyno check TARGET \
                  --role-sql' makes a role that suffices";
    let checked = desk.run(&format!("check {} --size 0.01", lease.url)).ok().stdout;
    assert!(checked.contains(warned), "{checked}");
    let line =
        format!("run {} --workload CPU-LOOP --size 0.01 --jobs 1 --ops 1 --warmup 0", lease.url);
    let run = desk.run(&line).ok();
    assert!(run.stderr.contains(warned), "{}", run.stderr);
    desk.run("check postgres --role-sql").fails(2, &["needs no role"]);
}

#[test]
fn the_printed_user_suffices_for_every_workload_on_mariadb() {
    let (desk, mut server) = (Desk::new(), Existing::shared());
    let url = server.url("least_rights");
    let script =
        desk.run(&format!("check {url} --role-sql")).ok().stdout.replace("@'%'", "@'127.0.0.1'");
    for statement in statements(&script) {
        server.admin.execute(&statement).unwrap();
    }
    let unlock =
        format!("alter user least_rights@'127.0.0.1' identified by '{SECRET}' account unlock");
    server.admin.execute(&unlock).unwrap();
    every_workload_runs(&desk, "mariadb", &url);
    assert_eq!(server.databases(), Vec::<String>::new());
}

#[test]
fn a_member_of_the_team_can_do_what_its_role_says_and_no_more() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("team_owner", SECRET, false);
    let results = server.admin_url("team_owner");
    Store::open(Path::new(&results)).unwrap();
    let mut admin = server.admin("team_owner");
    let run = format!("run sqlite {TINY} --quiet");
    for (role, reads, writes, conducts, works) in [
        ("reader", true, false, false, false),
        ("writer", true, true, false, false),
        ("conductor", true, true, true, true),
        ("worker", false, false, false, true),
    ] {
        let user = format!("team_{role}");
        admin.execute(&format!("create role {user} login password '{SECRET}'")).unwrap();
        let granted =
            desk.run(&format!("results grant {role} {user} --results {results}")).ok().stdout;
        assert!(granted.contains(&format!("to {user}\n")), "{granted}");
        let url = server.url("team_owner").replace("team_owner@", &format!("{user}@"));
        let done =
            |line: &str| with_password(&desk, &format!("{line} --results {url}")).code == Some(0);
        assert_eq!(done("results list"), reads, "{role}");
        assert_eq!(done(&run), writes, "{role}");
        let may = |table: &str, right: &str| {
            format!(
                "select has_any_column_privilege('{user}', 'dbdyno_results.{table}', \
                 '{right}')::text"
            )
        };
        let asked = [("share", "insert"), ("crew", "update"), ("share", "update")];
        let told =
            asked.map(|(table, right)| column(admin.as_mut(), &may(table, right)) == ["true"]);
        assert_eq!(told, [conducts, conducts, works], "{role}");
    }
    let task = "select has_column_privilege('team_worker', 'dbdyno_results.share', 'task', \
                'update')::text";
    assert_eq!(column(admin.as_mut(), task), ["false"], "a worker cannot give orders");
    desk.run(&format!("results grant reader nobody_there --results {results}"))
        .fails(2, &["no user 'nobody_there'"]);
    Store::open(&desk.path("here/results.db")).unwrap();
    let mode =
        |name: &str| std::fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777;
    // Servers of root's run as another account, which must reach their data.
    let of_directory = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    assert_eq!((mode("here"), mode("here/results.db")), (of_directory, 0o600));
}
