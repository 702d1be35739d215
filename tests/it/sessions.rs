//! More jobs than a server has room for: a private one is given the room, of an existing one it is
//! said beforehand.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli_existing::SECRET;
use crate::servers::Server;
use crate::support::{Desk, Done, PRIVATE, finished};

const ARGS: &str = "--size 0.01 --warmup 0 --duration 300ms --format json";

/// Jobs of a run: profile XS has 100 connections, of which some are ours, and each job has a file
/// more than [`few_files`] lets us open.
const MANY: u64 = 130;

/// A run of many jobs under a low limit of open files, which is raised for us and for the server.
fn run_many_jobs(target: &str) -> Value {
    let desk = Desk::new();
    // Fixed work: in a window each of so many jobs would end the slice of a job that works alone.
    let line = format!(
        "run {target} --size 0.01 --warmup 0 --ops 2 --workload SRV-QUERY1 --jobs {MANY} --quiet \
         --format json"
    );
    let document = finished(few_files(&desk.command(&line)), &line).ok().json();
    let test = &document["tests"][0];
    assert_eq!(
        (test["jobs"].as_u64(), &test["first_error"]),
        (Some(MANY), &Value::Null),
        "{target}: {test:#}"
    );
    assert!(test["ops"].as_u64().unwrap() >= MANY, "{target}: {test:#}");
    assert!(!test["verdict"]["reasons"].to_string().contains("\"failed\""), "{target}: {test:#}");
    document
}

#[test]
fn a_private_server_has_connections_and_files_for_every_job_of_the_run() {
    for server in PRIVATE {
        let document = run_many_jobs(server.engine);
        let room = document["disclosure"]["settings"]["max_connections"].as_str().unwrap();
        assert!(room.parse::<u64>().unwrap() > MANY, "{room}");
    }
}

#[test]
fn a_low_limit_of_open_files_is_raised_for_an_embedded_engine() {
    run_many_jobs("sqlite");
}

/// The same command by a shell that lets it open few files, which it may raise.
fn few_files(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -Sn 128; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(Stdio::null());
    shell
}

/// Runs with the password of the user whom the server knows.
fn run_as(desk: &Desk, line: &str) -> Done {
    let mut command = desk.command(line);
    command.env("PGPASSWORD", SECRET);
    finished(command, line)
}

#[test]
fn jobs_that_an_existing_server_has_no_room_for_are_refused_before_anything_is_measured() {
    // It has 40 connections, 3 of them for superusers.
    let (desk, server) = (Desk::new(), Server::start());
    server.create_user("crowd", SECRET, true);
    let url = server.url("crowd");
    let line = format!("run {url} {ARGS} --workload SRV-QUERY1 --jobs 1,2,64 --quiet");
    let words = [
        "--jobs",
        "64 jobs",
        "room for 32",
        "max_connections = 40, 3 kept for superusers, 0 in use",
    ];
    run_as(&desk, &line).fails(2, &words);
    assert!(desk.runs().is_empty(), "nothing was run");
    server.admin("postgres").execute("alter role crowd connection limit 10").unwrap();
    run_as(&desk, &line).fails(2, &["room for 5", "connection limit of the user = 10"]);
}

#[test]
fn a_server_with_room_for_few_sessions_is_loaded_by_those_that_it_takes() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("narrow", SECRET, true);
    let limit = |sessions: u32| {
        let sql = format!("alter role narrow connection limit {sessions}");
        server.admin("postgres").execute(&sql).unwrap();
    };
    limit(4);
    run_as(&desk, &format!("load {} --size 0.01", server.url("narrow"))).ok();

    limit(6);
    let checked =
        |line: &str| run_as(&desk, &format!("check {} --size 0.01 {line}", server.url("narrow")));
    let said = checked("--suite standard").ok().stdout;
    assert!(
        said.contains("room for 1 job (connection limit of the user = 6")
            && said.contains("left out are"),
        "{said}"
    );
    let said = checked("--workload SRV-MIXED").fails(1, &["1 of 6 checks failed"]).stdout;
    let line = said.lines().find(|line| line.starts_with("MISSING")).unwrap();
    assert!(line.contains("jobs are asked for, there is room for 1 job"), "{line}");
}

#[test]
fn steps_of_a_suite_that_an_existing_server_has_no_room_for_are_left_out_with_one_line() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("guest", SECRET, true);
    server.admin("postgres").execute("alter role guest connection limit 38").unwrap();
    std::fs::create_dir_all(desk.path("own/suites")).unwrap();
    let suite =
        "id = 'wide'\ntitle = 'wide'\n[[entry]]\nworkload = 'SRV-QUERY1'\njobs = '1,64,128'\n";
    std::fs::write(desk.path("own/suites/wide.toml"), suite).unwrap();
    let own = desk.path("own").display().to_string();
    let line = format!("run {} {ARGS} --catalog {own} --suite wide", server.url("guest"));
    let run = run_as(&desk, &line).ok();
    let document = run.json();
    let jobs: Vec<_> =
        document["tests"].as_array().unwrap().iter().map(|test| test["jobs"].as_u64()).collect();
    assert_eq!(jobs, [Some(1)], "{}", run.stderr);
    let said: Vec<_> = run.stderr.lines().filter(|line| line.contains("left out are")).collect();
    assert_eq!(said.len(), 1, "{}", run.stderr);
    assert!(
        said[0].contains("room for 33 jobs") && said[0].ends_with("SRV-QUERY1 at 64 and 128"),
        "{said:?}"
    );
}
