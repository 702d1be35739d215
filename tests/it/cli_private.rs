//! Private servers from the command line: used, kept, used again, removed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::cli_run::places;
use crate::support::{
    Desk, PRIVATE, TINY, assert_run_schema, column, directory, finished, processes, try_session_of,
};

/// Names the directory of the files of new servers.
const TEMPLATES: &str = "DBDYNO_SERVER_TEMPLATES";
const ARGS: &str = "--size 0.01 --workload SRV-QUERY1 --jobs 1,2 --warmup 0 --ops 50";

#[test]
fn a_private_server_is_used_and_nothing_is_left() {
    for server in PRIVATE {
        let engine = server.engine;
        let desk = Desk::new();
        let run = desk.run(&format!("run {engine} {ARGS} --format json --quiet")).ok();
        let document = run.json();
        assert_run_schema(&document);
        assert_eq!(
            (&document["target"], &document["engine"]),
            (&format!("{engine} (private server)").into(), &engine.into())
        );
        let tests = document["tests"].as_array().unwrap();
        assert_eq!((tests.len(), &tests[0]["drive"]), (2, &"database".into()));
        assert!(tests.iter().all(|test| test["ops"].as_u64().unwrap() > 0), "{tests:#?}");
        let client =
            desk.run(&format!("run {engine} {ARGS} --drive client --format json --quiet")).ok();
        assert_eq!(client.json()["tests"][0]["drive"], "client");
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
        assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
    }
}

const BLOCKS: &str = "--size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0 --ops 50 --repeat 2";

#[test]
fn a_server_and_its_data_are_made_anew_for_each_block() {
    for server in PRIVATE {
        let desk = Desk::new();
        let run =
            desk.run(&format!("run {} {BLOCKS} --fresh data --format json", server.engine)).ok();
        assert_run_schema(&run.json());
        assert_eq!(places(&run.json()), [(1, 1), (1, 1), (1, 2), (2, 3), (2, 3), (2, 4)]);
        assert_eq!(run.stderr.matches("the private server anew").count(), 3, "{}", run.stderr);
        assert_eq!(run.stderr.matches("small: 16,000 rows in").count(), 2, "{}", run.stderr);
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
        assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
    }
}

/// A start on data that stay, a part of what both servers do for new data.
#[test]
fn a_server_is_made_anew_for_each_block_on_data_that_stay() {
    let desk = Desk::new();
    let line = format!("run postgres {BLOCKS} --fresh server --format json --quiet");
    let starts = desk.run(&line).ok();
    assert_eq!(places(&starts.json()), [(1, 1), (1, 1), (1, 2), (1, 2)]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
}

#[test]
fn a_kept_server_can_be_connected_to_and_used_again_until_it_is_cleaned() {
    for server in PRIVATE {
        let engine = server.engine;
        let desk = Desk::new();
        let first = desk.run(&format!("run {engine} {ARGS} --keep")).ok();
        let hint = first.stderr.lines().find_map(|line| line.split_once("is kept: ")).unwrap().1;
        let mut words = hint.split_whitespace();
        let mut client = Command::new(words.next().unwrap());
        client.args(words).args(server.client_options).arg("select count(*) from dbdyno.small");
        assert_eq!(finished(client, hint).ok().stdout, "16000\n");
        // Used again, and still there afterwards: it was kept on purpose.
        for _ in 0..2 {
            let again = desk.run(&format!("run {engine} {ARGS} --format json")).ok();
            assert_eq!(again.json()["loads"][0]["loaded"], false, "{}", again.stderr);
            assert!(again.stderr.contains("is kept: "), "{}", again.stderr);
        }
        let verified =
            desk.run(&format!("verify {engine} --size 0.01 --workload SRV-QUERY1 --quiet")).ok();
        assert!(
            verified.stdout.contains("ok ") && !verified.stdout.contains("WRONG"),
            "{}",
            verified.stdout
        );
        let cleaned = desk.run(&format!("clean {engine}")).ok();
        assert!(cleaned.stdout.contains("removed"), "{}", cleaned.stdout);
        assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
        assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
        assert_eq!(desk.run(&format!("clean {engine}")).ok().stdout, "nothing to remove\n");
    }
}

#[test]
fn cleaning_one_engine_leaves_the_kept_server_of_another() {
    let desk = Desk::new();
    for server in PRIVATE {
        desk.run(&format!("load {} --quiet --size 0.01 --workload SRV-QUERY1", server.engine)).ok();
    }
    for [cleaned, other] in [[PRIVATE[1], PRIVATE[0]], [PRIVATE[0], PRIVATE[1]]] {
        let (home, kept) =
            (format!("dbdyno-{}", cleaned.engine), format!("dbdyno-{}", other.engine));
        let removed = desk.run(&format!("clean {}", cleaned.engine)).ok().stdout;
        assert!(removed.contains(&home) && !removed.contains(&kept), "{removed}");
        assert_eq!(desk.data_entries(), [kept]);
        let mut session = try_session_of(other.engine, &other.url(&desk.data())).unwrap();
        assert_eq!(
            column(session.as_mut(), "select count(*) from dbdyno.small"),
            ["16000"],
            "{}",
            other.engine
        );
        drop(session);
        desk.run(&format!("load {} --quiet --size 0.01 --workload SRV-QUERY1", cleaned.engine))
            .ok();
    }
    for server in PRIVATE {
        desk.run(&format!("clean {}", server.engine)).ok();
    }
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn a_failure_does_not_cost_what_was_kept() {
    let desk = Desk::new();
    desk.run("load postgres --quiet --size 0.01 --workload SRV-QUERY1").ok();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    desk.run(&format!("run postgres {ARGS} --quiet --port {port}")).fails(3, &["port"]);
    desk.run(&format!("run postgres {ARGS} --profile XL --quiet"))
        .fails(2, &["needs", "largest that fits"]);
    // A profile that does not say what it needs is not refused: the server does not start with it.
    std::fs::create_dir_all(desk.path("own/profiles")).unwrap();
    let huge = "id = 'HUGE'\ntitle = 'too large'\nsize_gb = 1\n[settings.postgres]\nshared_buffers \
                = '90000000MB'\n";
    std::fs::write(desk.path("own/profiles/HUGE.toml"), huge).unwrap();
    let own = desk.path("own").display().to_string();
    desk.run(&format!("run postgres {ARGS} --catalog {own} --profile HUGE --quiet"))
        .fails(3, &["did not start"]);
    let run = desk.run(&format!("run postgres {ARGS} --format json --quiet")).ok();
    assert_eq!(run.json()["loads"][0]["loaded"], false, "the data survived");
    desk.run("clean postgres").ok();
    assert!(desk.data_entries().is_empty());
}

#[test]
fn no_text_of_a_setting_that_may_be_a_secret_or_a_path_is_stored() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path("own/profiles")).unwrap();
    let profile = "id = 'OWN'\ntitle = 'own'\nsize_gb = 0.01\n[settings.postgres]\nlog_line_prefix \
                   = 'topsecret '\narchive_command = 'topsecret'\nwork_mem = \
                   '7MB'\nsession_preload_libraries = \
                   'pg_prewarm'\n[settings.mariadb]\ninit_connect = 'set @key = 0x1 -- \
                   topsecret'\nreport_password = 'topsecret'\nsort_buffer_size = '7M'\n";
    std::fs::write(desk.path("own/profiles/OWN.toml"), profile).unwrap();
    let own = desk.path("own").display().to_string();
    let shown = [
        [("work_mem", "7168 kB"), ("session_preload_libraries", "pg_prewarm")],
        [("sort_buffer_size", "7340032"), ("innodb_monitor_enable", "trx_rw_commits")],
    ];
    for (server, shown) in PRIVATE.iter().zip(shown) {
        let run = desk
            .run(&format!(
                "run {} {TINY} --catalog {own} --profile OWN --format json --quiet",
                server.engine
            ))
            .ok();
        for (name, value) in shown {
            assert_eq!(run.json()["disclosure"]["settings"][name], value, "{}", run.stdout);
        }
        assert!(!run.stdout.contains("topsecret"), "{}", run.stdout);
    }
}

#[test]
fn the_first_run_of_root_makes_a_place_that_the_servers_account_reaches() {
    let desk = Desk::new();
    let line =
        "run postgres --workload SRV-QUERY1 --jobs 1 --duration 0.1s --warmup 0s --size 0.01";
    let mut command = desk.command(line);
    command.env("DBDYNO_HOME", desk.path("new/home"));
    finished(command, line).ok();
    assert!(desk.path("new/home/run-1.html").exists());
}

/// A run whose server stays; the number by which PostgreSQL knows the files of the server.
fn kept_cluster(desk: &Desk, templates: Option<&Path>) -> String {
    let line = format!("run postgres {TINY} --keep --quiet");
    let mut command = desk.command(&line);
    match templates {
        Some(dir) => command.env(TEMPLATES, dir),
        None => command.env_remove(TEMPLATES),
    };
    finished(command, &line).ok();
    let [postgres, _] = PRIVATE;
    let mut session = try_session_of("postgres", &postgres.url(&desk.data())).unwrap();
    let ids = column(session.as_mut(), "select system_identifier from pg_control_system()");
    desk.run("clean postgres").ok();
    ids.concat()
}

#[test]
fn the_files_of_a_new_server_are_copied_from_a_directory_that_the_environment_names() {
    let (desk, templates) = (Desk::new(), directory());
    let first = kept_cluster(&desk, Some(templates.path()));
    assert_eq!(kept_cluster(&desk, Some(templates.path())), first);
    assert_ne!(kept_cluster(&desk, None), first);
    assert_eq!(std::fs::read_dir(templates.path()).unwrap().count(), 1);
    // What others could change is copied by nobody.
    std::fs::set_permissions(templates.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let line = format!("run postgres {TINY} --quiet");
    let mut command = desk.command(&line);
    command.env(TEMPLATES, templates.path());
    finished(command, &line).fails(3, &["could be changed by others"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}
