//! Peculiarities of MariaDB: commits inside routines, privileges of a database, instruments of the
//! server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dbdyno::model::Drive;
use dbdyno::plan;
use serde_json::Value;

use crate::cli_existing::{SECRET, TYPED_SECRET};
use crate::every_workload::request;
use crate::servers::{Existing, Lease};
use crate::support::{
    Desk, Done, TINY, WINDOW, column, ended, finished, free_port, mistakes, try_session_of, until,
};

/// Two workloads that commit rows of their own: one commit per op, and many.
const GROUP: &str = r#"
id = "OWN"
title = "commits"
about = "Commits inside a procedure."

[[workload]]
id = "OWN-EACH"
title = "one commit per op"
about = "as it must be"
revision = 1
commits = true
kpm = { value = "ops", unit = "tps", better = "higher" }
binds = { job = "job" }
client = [{ commit = "auto", steps = ["update"] }]
setup = ["drop-table", "create-table", "fill"]
teardown = ["drop-table"]
contract = [
  { what = "commits", per = "wal_syncs", max = "jobs", when = "durable", because = "commits did not wait for the log flush" },
  { what = "rows", per = "ops", min = 1, max = 1, because = "a job does not have its row" },
]
crosscheck = [{ what = "commits", equals = "commits", because = "the database counted other commits than we did" }]

[[workload]]
id = "OWN-NAIVE"
title = "many commits per call"
about = "as it must not be"
revision = 1
commits = true
kpm = { value = "ops", unit = "tps", better = "higher" }
setup = ["drop-table", "create-table", "fill"]
teardown = ["drop-table"]
undrivable.client = "the loop is the point"
contract = [
  { what = "commits", per = "wal_syncs", max = "jobs", when = "durable", because = "commits did not wait for the log flush" },
]
"#;
const COMMON: &str = "\
-- name: drop-table\ndrop table if exists {{prefix}}own_rows\n
-- name: create-table\ncreate table {{prefix}}own_rows (id int not null primary key, counter bigint not null, pad char(200))\n
-- name: fill\ninsert into {{prefix}}own_rows select seq, 0, '' from seq_1_to_64\n
-- name: OWN-EACH.update\nupdate {{prefix}}own_rows set counter = counter + 1 where id = :job\n";
const MARIADB: &str = "\
-- name: OWN-EACH.body\nupdate {{prefix}}own_rows set counter = counter + 1 where id = p_job;
set v_rows = v_rows + row_count();\nset v_commits = v_commits + 1;\n
-- name: OWN-NAIVE.declare\ndeclare v_done int default 0;\n
-- name: OWN-NAIVE.body\nwhile v_done < 500 do\n  update {{prefix}}own_rows set counter = counter + 1 where id = p_job;
  set v_done = v_done + 1;\n  set v_commits = v_commits + 1;\nend while;\n";

fn catalog(desk: &Desk) -> PathBuf {
    let folder = desk.path("own/workloads/own");
    std::fs::create_dir_all(&folder).unwrap();
    // Only MariaDB has the blocks.
    let others = "unsupported = { postgres = \"not its test\", sqlite = \"not its test\", oracle = \
                  \"not its test\" }\nrevision = 1";
    std::fs::write(folder.join("group.toml"), GROUP.replace("revision = 1", others)).unwrap();
    std::fs::write(folder.join("common.sql"), COMMON).unwrap();
    std::fs::write(folder.join("mariadb.sql"), MARIADB).unwrap();
    desk.path("own")
}

/// The tests of a run by workload.
fn by_workload(document: &Value) -> BTreeMap<String, Vec<&Value>> {
    let mut tests: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for test in document["tests"].as_array().unwrap() {
        tests.entry(test["workload"].as_str().unwrap().to_string()).or_default().push(test);
    }
    tests
}

/// True if a test's verdict says that commits did not wait for the log flush.
fn not_waited_for(test: &Value) -> bool {
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    let text = "commits did not wait for the log flush";
    reasons.iter().any(|reason| reason.to_string().contains(text))
}

#[test]
fn commits_inside_a_procedure_are_not_waited_for_and_the_verdict_says_so() {
    let desk = Desk::new();
    let line = format!(
        "--catalog {} run mariadb --size 0.01 --workload OWN-EACH --workload OWN-NAIVE --jobs \
         1,16 --warmup 0 --duration 500ms --quiet --format json",
        catalog(&desk).display()
    );
    let run = desk.run(&line).ok();
    let document = run.json();
    let tests = by_workload(&document);
    for test in &tests["OWN-EACH"] {
        assert!(!not_waited_for(test), "{test:#}");
        assert_eq!(test["drive"], "database");
        let counter = |name: &str| {
            test["counters"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {test:#}"))
        };
        let (commits, syncs) = (counter("commits"), counter("wal_syncs"));
        assert!(
            commits <= syncs * test["jobs"].as_f64().unwrap() * 1.005,
            "{commits} commits, {syncs} syncs"
        );
    }
    let naive = &tests["OWN-NAIVE"];
    assert!(
        naive.iter().any(|test| not_waited_for(test) && test["verdict"]["status"] == "invalid"),
        "{naive:#?}"
    );
}

pub fn with_password(desk: &Desk, line: &str, password: &str) -> Done {
    let mut command = desk.command(line);
    command.env("MYSQL_PWD", password);
    finished(command, line)
}

#[test]
fn an_existing_server_gets_our_database_only_and_clean_removes_exactly_that() {
    let (desk, mut server) = (Desk::new(), Existing::shared());
    server.create_user("tidy", "all");
    let url = server.url("tidy");
    let run = with_password(&desk, &format!("run {url} {TINY} --format json"), SECRET).ok();
    assert_eq!(run.json()["tests"][0]["drive"], "database");
    assert_eq!(server.databases(), ["dbdyno"]);
    // The password comes from the option file now, and what was loaded is used again.
    let options = desk.path(".my.cnf");
    std::fs::write(&options, format!("[client]\npassword = \"{SECRET}\"\n")).unwrap();
    let open = desk.run(&format!("run {url} {TINY} --quiet"));
    open.fails(3, &["chmod 600"]);
    std::fs::set_permissions(&options, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .unwrap();
    let again = desk.run(&format!("run {url} {TINY} --format json --quiet")).ok();
    assert_eq!(again.json()["loads"][0]["loaded"], false);
    server.admin.execute("create table dbdyno.precious (id int)").unwrap();
    let cleaned = desk.run(&format!("clean {url}")).ok().stdout;
    assert!(
        cleaned.contains("dropped dbdyno.small") && cleaned.contains("not ours: precious"),
        "{cleaned}"
    );
    assert_eq!(server.databases(), ["dbdyno"]);
    server.admin.execute("drop table dbdyno.precious").unwrap();
    desk.run(&format!("clean {url}")).ok();
    assert_eq!(server.databases(), Vec::<String>::new());
    assert_eq!(desk.run(&format!("clean {url}")).ok().stdout, "nothing to remove\n");
}

#[test]
fn a_database_in_the_url_is_said_not_to_be_used() {
    let (desk, mut server) = (Desk::new(), Existing::shared());
    server.create_user("guest", "all");
    // Its user may not use the one, and the other does not exist: neither matters.
    server.admin.execute("create database app").unwrap();
    let plain = server.url("guest");
    let run = with_password(&desk, &format!("run {plain} {TINY}"), SECRET).ok();
    assert!(!run.stderr.contains("of the URL"), "{}", run.stderr);
    for (name, is_said) in [("app", true), ("nowhere", true), ("dbdyno", false)] {
        let url = format!("{plain}/{name}");
        let unused =
            format!("database '{name}' of the URL is not used: tables are made in database dbdyno");
        let run = with_password(&desk, &format!("run {url} {TINY}"), SECRET).ok();
        assert_eq!(run.stderr.contains(&unused), is_said, "{}", run.stderr);
        let checked =
            with_password(&desk, &format!("check {url} --size 0.01 --workload SRV-QUERY1"), SECRET)
                .ok();
        assert_eq!(checked.stdout.contains(&unused), is_said, "{}", checked.stdout);
    }
}

/// Looks one row up, again and again, until it is ended.
const BUSY: &str = "begin not atomic while true do select count(*) into @n from others.t where id \
                    = 1; end while; end";

#[test]
fn look_ups_of_other_sessions_are_told_apart_from_those_of_the_jobs() {
    let (desk, lease) = (Desk::new(), Lease::new("mariadb", None, &[]));
    let mut admin = try_session_of("mariadb", &lease.url).unwrap();
    for sql in [
        "create database others",
        "create table others.t (id int primary key)",
        "insert into others.t values (1)",
    ] {
        admin.execute(sql).unwrap();
    }
    let mut busy = try_session_of("mariadb", &lease.url).unwrap();
    let id = column(busy.as_mut(), "select connection_id()").remove(0);
    let document = std::thread::scope(|scope| {
        scope.spawn(|| busy.execute(BUSY).unwrap_err());
        let run = desk.run(&format!("run {} {WINDOW} --format json --quiet", lease.url));
        // The session, not its statement: a wish to end that comes between two statements of a loop
        // is forgotten.
        admin.execute(&format!("kill {id}")).unwrap();
        run.ok().json()
    });
    let test = &document["tests"][0];
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    assert!(
        reasons.iter().any(|reason| reason.to_string().contains("other sessions made")),
        "{test:#}"
    );
    assert!(reasons.iter().all(|reason| reason["code"] != "crosscheck"), "{reasons:#?}");
    let counter = |name: &str| test["counters"][name].as_f64().unwrap();
    assert!(counter("index_scans") > 1.02 * counter("job_index_scans"), "{test:#}");
}

#[test]
fn wrong_passwords_missing_privileges_and_absent_servers_are_one_line() {
    let (desk, mut server) = (Desk::new(), Existing::shared());
    server.create_user("powerless", "");
    let url = server.url("powerless");
    let run = format!("run {url} {TINY} --quiet");
    let grant = "grant all on dbdyno.* to 'powerless'@'127.0.0.1'";
    with_password(&desk, &run, SECRET)
        .fails(3, &[&url, "lacks privileges on database dbdyno", grant]);
    let wrong = with_password(&desk, &run, "wr0ng").fails(3, &[&url, "Access denied", "MYSQL_PWD"]);
    assert!(!wrong.stderr.contains("wr0ng"));
    desk.run(&run).fails(3, &[&url, "wants a password", "MYSQL_PWD"]);
    let nobody = format!("mysql://me@127.0.0.1:{}/", free_port());
    desk.run(&format!("run {nobody} {TINY} --quiet")).fails(3, &[&nobody, "no server answers"]);
    desk.run(&format!("run mariadb://me:{TYPED_SECRET}@h {TINY}"))
        .fails(2, &["password", "MYSQL_PWD"]);
    assert_eq!(server.databases(), Vec::<String>::new(), "nothing was created");
    assert!(desk.runs().is_empty(), "nothing was run");
}

#[test]
fn without_stored_routines_the_client_drives_and_a_line_says_so() {
    let (desk, mut server) = (Desk::new(), Existing::shared());
    server.create_user("plain", "select, insert, update, delete, create, drop, index, alter");
    let url = server.url("plain");
    let run = with_password(&desk, &format!("run {url} {TINY} --format json"), SECRET).ok();
    assert_eq!(run.json()["tests"][0]["drive"], "client");
    let lacks = "no database drive here (the user lacks CREATE ROUTINE";
    assert!(run.stderr.contains(lacks), "{}", run.stderr);
    let with = |line: String| with_password(&desk, &line, SECRET);
    // The other commands on a plan say the same and do without.
    let both = "--size 0.01 --workload SRV-UPDATE1 --workload SRV-QUERY1";
    let verified = with(format!("verify {url} {both}")).ok();
    assert!(verified.stderr.contains(lacks), "{}", verified.stderr);
    assert!(
        verified.stdout.contains("ok      SRV-UPDATE1\nok      SRV-QUERY1\n"),
        "{}",
        verified.stdout
    );
    let checked = with(format!("check {url} {both}")).ok().stdout;
    assert!(checked.contains(&format!("privileges are sufficient, but {lacks}")), "{checked}");
    assert!(!with(format!("check {url} {both} --drive client")).ok().stdout.contains(lacks));
    let asked = with(format!("check {url} {both} --drive database"));
    assert!(asked.code == Some(1) && asked.stdout.contains("MISSING  target"), "{asked:#?}");
    let asked = with(format!("run {url} {TINY} --drive database --quiet"));
    assert_eq!(asked.code, Some(2), "{asked:#?}");
    assert!(asked.stderr.contains("the user lacks CREATE ROUTINE"), "{asked:#?}");
}

/// Routines of a server with sysdate_is_now have a clock, its instruments are named in the verdict,
/// and without RocksDB it is said how to get log-structured tables.
#[test]
fn what_an_existing_server_has_and_lacks_is_told() {
    let settings = [("sysdate_is_now", "on"), ("performance_schema", "on")];
    let (desk, mut server) = (Desk::new(), Existing::start(&settings));
    server.create_user("plain", "all");
    let url = server.url("plain");
    let line = format!("run {url} {WINDOW} --drive database --format json --quiet");
    let test = with_password(&desk, &line, SECRET).ok().json()["tests"][0].clone();
    // Each statement of a procedure has a time of its own, so that slices end.
    let (window_s, ops) = (test["elapsed_s"].as_f64().unwrap(), test["ops"].as_u64().unwrap());
    assert!(test["drive"] == "database" && window_s > 0.0 && ops > 0, "{test:#}");
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason["code"] == "instruments"), "{test:#}");
    server.admin.execute("uninstall soname 'ha_rocksdb'").unwrap();
    let line = format!("run {url} --size 0.01 --quiet --workload SRV-QUERY1:org=lsm");
    let words = ["org=lsm is not available: the server has no storage engine ROCKSDB; install"];
    with_password(&desk, &line, SECRET).fails(2, &words);
}

#[test]
fn a_recursion_makes_rows_for_more_jobs_than_the_server_lets_it_by_default() {
    let lease = Lease::new("mariadb", None, &[]);
    let mut session = try_session_of("mariadb", &lease.url).unwrap();
    let rows = "with recursive jobs(j) as (select 1 union all select j + 1 from jobs where j < \
                1500) select count(*) from jobs";
    assert_eq!(column(session.as_mut(), rows), ["1500"]);
}

#[test]
fn indexes_that_cancelled_routines_left_are_dropped_after_the_test_and_no_others() {
    let lease = Lease::new("mariadb", None, &[]);
    let mut session = try_session_of("mariadb", &lease.url).unwrap();
    for sql in ["create schema dbdyno", "create table dbdyno.big (id int, quantity int)"] {
        session.execute(sql).unwrap();
    }
    let names = ["da_index", "da_index_1", "da_index_12", "da_index_1_own", "my_da_index_1"];
    for name in names {
        session.execute(&format!("create index {name} on dbdyno.big (quantity)")).unwrap();
    }
    let request = request("mariadb", Drive::Database, "DA-INDEX".into());
    let plan = plan::build(&crate::support::catalog(), &request).unwrap();
    for sql in plan.selections[0].parts[0].teardown_sql() {
        session.execute(&sql).unwrap();
    }
    let left = "select index_name from information_schema.statistics where table_schema = \
                'dbdyno' order by 1";
    assert_eq!(column(session.as_mut(), left), ["da_index_1_own", "my_da_index_1"]);
}

#[test]
fn a_killed_session_fails_its_test_only() {
    let (desk, mut server) = (Desk::new(), Existing::shared());
    server.create_user("victim", "all");
    let tests = [("SRV-QUERY1", 2.0), ("SRV-QUERY25", 0.3)];
    let file = desk.experiment(&server.url("victim"), 1, &tests);
    let line = format!("run {} --quiet --format json", file.display());
    let mut run = desk.command(&line);
    run.env("MYSQL_PWD", SECRET)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let run = run.spawn().unwrap();
    let busy = "select id from information_schema.processlist where user = 'victim' and time_ms > \
                300 and info like 'select%small%' and info not like '%sum(%' and info not like \
                '%force index%' and exists (select 1 from information_schema.routines where \
                routine_name like '%srv_query1%')";
    let mut victim = None;
    until("the first test's job runs", || {
        victim = column(server.admin.as_mut(), busy).pop();
        victim.is_some()
    });
    server.admin.execute(&format!("kill connection {}", victim.unwrap())).unwrap();
    let document = ended(run, &line).ok().json();
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 2, "{tests:#?}");
    assert!(!mistakes(&tests[0]).is_empty() && mistakes(&tests[1]).is_empty(), "{tests:#?}");
    assert!(
        tests[0]["first_error"].as_str().unwrap().to_lowercase().contains("conn"),
        "{}",
        tests[0]["first_error"]
    );
    assert_eq!(document["status"], "finished");
}

#[test]
fn a_commit_is_durable_only_if_the_binary_log_is_synced_too() {
    let mut server =
        Existing::start(&[("innodb_flush_log_at_trx_commit", "1"), ("log_bin", "changes")]);
    server.create_user("logged", "all");
    // The server's default of sync_binlog leaves it to the operating system.
    for (flush, sync, durable) in
        [(1, 0, false), (1, 1, true), (3, 0, true), (2, 1, false), (1, 100, false)]
    {
        server
            .admin
            .execute(&format!("set global innodb_flush_log_at_trx_commit = {flush}"))
            .unwrap();
        server.admin.execute(&format!("set global sync_binlog = {sync}")).unwrap();
        let line = format!(
            "run {} --workload LGWR-LAT --size 0.01 --jobs 1 --warmup 0 --duration 100ms --quiet \
             --format json",
            server.url("logged")
        );
        let test = with_password(&Desk::new(), &line, SECRET).ok().json()["tests"][0].clone();
        let reasons = test["verdict"]["reasons"].as_array().unwrap();
        let relaxed = reasons.iter().any(|reason| reason["code"] == "durability");
        assert_eq!(!relaxed, durable, "flush {flush}, sync_binlog {sync}: {reasons:#?}");
        assert!(!reasons.iter().any(|reason| reason["code"] == "contract"), "{reasons:#?}");
    }
}

#[test]
fn what_log_structured_tables_counted_is_what_we_did() {
    let desk = Desk::new();
    let workloads = "--workload SRV-QUERY1:org=lsm --workload DL-BUFFER:org=lsm,rpt=10 --workload \
                     DBWR-THR:org=lsm,rows=32";
    let end = "--size 0.05 --jobs 2 --warmup 0 --ops 300 --quiet --format json";
    let document = desk.run(&format!("run mariadb {workloads} {end}")).ok().json();
    let others = desk.run(&format!("run mariadb --workload SRV-QUERY1 {end}")).ok().json();
    assert_eq!(document["run"]["data_set_id"], others["run"]["data_set_id"], "the same rows");
    let tests = by_workload(&document);
    let counted = |id: &str, counter: &str| -> f64 {
        let test = tests[id][0];
        assert!(mistakes(test).is_empty(), "{test:#}");
        test["counters"][counter].as_f64().unwrap_or_else(|| panic!("no {counter} in {test:#}"))
    };
    assert_eq!(
        (counted("SRV-QUERY1", "lsm_rows_read"), counted("SRV-QUERY1", "lsm_rows_changed")),
        (600.0, 0.0)
    );
    // A transaction is one write, and each waits for a sync of the log that the two jobs may share.
    assert_eq!(counted("DL-BUFFER", "lsm_rows_changed"), 6000.0);
    let (commits, syncs) = (counted("DL-BUFFER", "commits"), counted("DL-BUFFER", "wal_syncs"));
    assert!(
        (600.0..620.0).contains(&commits) && syncs * 2.0 >= 600.0,
        "{commits} commits, {syncs} syncs"
    );
    assert_eq!(counted("DBWR-THR", "lsm_rows_changed"), 600.0 * 32.0);
    let written = counted("DBWR-THR", "lsm_user_bytes");
    // A row is its key and its pad of 7,800 characters.
    assert!(
        written > 7_800.0 * 600.0 * 32.0 && counted("DBWR-THR", "lsm_flushed_bytes") > 0.0,
        "{written}"
    );
    let page = desk.run("report test 1:3 --format json").ok().stdout;
    assert!(
        ["Write amplification", "debt_merge_bytes"].iter().all(|figure| page.contains(figure)),
        "{page}"
    );
}
