//! A user's own catalog, and tests that fail without ending the run.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Child;

use rustix::process::Signal;

use crate::support::{
    Desk, PRIVATE, TINY, assert_run_schema, column, cpu_s, mistakes, signal, try_session_of, until,
};

/// One workload that works, one whose statement is wrong, one that fails in some ops.
const GROUP: &str = r#"
id = "OWN"
order = 90
title = "Our own"
about = "Workloads of our own."

[[workload]]
id = "OWN-REGION"
title = "rows of a region"
about = "Counts the rows of a key."
revision = 1
tables = ["small"]
warm = ["small"]
kpm = { value = "ops", unit = "qps", better = "higher" }
binds = { key = { random = "small_key25" } }
client = [{ steps = ["region"] }]
undrivable = { database = "a client's statement" }
answer = { step = "region", binds = { key = 7 }, rows = 1, sums = { n = 25 } }

[[workload]]
id = "OWN-WRONG"
title = "a table that is not there"
about = "Fails."
revision = 1
tables = ["small"]
kpm = { value = "ops", unit = "qps", better = "higher" }
binds = { key = { random = "small_key25" } }
client = [{ steps = ["wrong"] }]
undrivable = { database = "a client's statement" }
"#;

const SQL: &str = "-- name: OWN-REGION.region\nselect count(*) n from {{small}} where key25 = \
                   :key\n\n-- name: OWN-WRONG.wrong\nselect * from \
                   {{prefix}}there_is_no_such_table where id = :key\n";

fn catalog(desk: &Desk, toml: &str, sql: &str) -> PathBuf {
    let group = desk.path("cat/workloads/own");
    std::fs::create_dir_all(&group).unwrap();
    std::fs::write(group.join("group.toml"), toml).unwrap();
    std::fs::write(group.join("common.sql"), sql).unwrap();
    desk.path("cat")
}

#[test]
fn a_workload_of_ones_own_runs_on_every_engine() {
    let desk = Desk::new();
    let own = catalog(&desk, GROUP, SQL);
    let option = format!("--catalog {}", own.display());
    let list = desk.run(&format!("list workloads {option}")).ok().stdout;
    assert!(list.contains("OWN-REGION") && list.contains("SRV-QUERY1"), "{list}");
    for target in ["sqlite", "postgres"] {
        let args = "--size 0.01 --workload OWN-REGION --jobs 1 --warmup 0 --duration 100ms --quiet \
                    --format json";
        let document = desk.run(&format!("run {target} {option} {args}")).ok().json();
        assert_run_schema(&document);
        let test = &document["tests"][0];
        assert_eq!((&test["workload"], &test["drive"]), (&"OWN-REGION".into(), &"client".into()));
        assert!(test["ops"].as_u64().unwrap() > 0 && mistakes(test).is_empty(), "{test:#}");
    }
}

#[test]
fn a_failing_test_does_not_end_the_run() {
    let desk = Desk::new();
    let own = catalog(&desk, GROUP, SQL);
    for target in ["sqlite", "postgres"] {
        let line = format!(
            "run {target} --catalog {} --size 0.01 --workload OWN-WRONG --workload OWN-REGION \
             --jobs 1,2 --warmup 0 --ops 50 --quiet --format json",
            own.display()
        );
        // Of one workload there is no result at all: that is no success.
        let document = desk.run(&line).fails(1, &["OWN-WRONG could not run: "]).json();
        assert_run_schema(&document);
        assert_eq!(document["status"], "finished");
        let tests = document["tests"].as_array().unwrap();
        let bad: Vec<_> = tests.iter().filter(|test| test["workload"] == "OWN-WRONG").collect();
        let good: Vec<_> = tests.iter().filter(|test| test["workload"] == "OWN-REGION").collect();
        assert!(bad.len() == 1 && good.len() == 2, "a hopeless ramp is not climbed: {tests:#?}");
        assert_eq!(bad[0]["verdict"]["status"], "invalid");
        assert!(
            bad[0]["first_error"].as_str().unwrap().contains("there_is_no_such_table"),
            "{:#}",
            bad[0]
        );
        assert!(good.iter().all(|test| test["ops"].as_u64().unwrap() > 0));
        let strict = desk.run(&format!("{line} --strict"));
        assert_eq!(strict.code, Some(1), "{strict:#?}");
    }
}

#[test]
fn a_wrong_answer_is_found_before_anything_is_timed() {
    let desk = Desk::new();
    let own = catalog(&desk, &GROUP.replace("n = 25", "n = 26"), SQL);
    let option = format!("--catalog {} --size 0.01 --workload OWN-REGION", own.display());
    let verified = desk.run(&format!("verify {option} --quiet")).fails(1, &["verify"]);
    assert!(
        verified.stdout.contains("WRONG") && verified.stdout.contains("expected 26"),
        "{}",
        verified.stdout
    );
    let run = desk
        .run(&format!("run {option} --jobs 1 --warmup 0 --ops 50 --quiet --format json"))
        .fails(1, &["OWN-REGION could not run: ", "expected 26"]);
    let test = &run.json()["tests"][0];
    assert_eq!(test["verdict"]["status"], "invalid");
    assert!(
        test["first_error"].as_str().unwrap().contains("expected 26") && test["ops"] == 0,
        "{test:#}"
    );
}

/// True while the private PostgreSQL server of a desk runs a statement like this, but ours.
fn asks(desk: &Desk, like: &str) -> bool {
    let sql = format!(
        "select count(*) from pg_stat_activity where state = 'active' and query like '{like}' and \
         pid <> pg_backend_pid()"
    );
    let session = try_session_of("postgres", &PRIVATE[0].url(&desk.data()));
    session.is_some_and(|mut session| column(session.as_mut(), &sql) == ["1"])
}

/// A program that must not outlive a failed test: it would never end.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended
        let _ = self.0.wait();
    }
}

#[test]
fn an_interrupt_does_not_wait_for_an_answer_that_never_comes() {
    let numbers =
        "with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n > 0)";
    let desk = Desk::new();
    let toml = GROUP.replace("n = 25", "n = 0").replace("key = 7", "key = 1");
    let sql = SQL.replace(
        "select count(*) n from {{small}}",
        &format!("{numbers} select count(*) n from numbers"),
    );
    let own = catalog(&desk, &toml, &sql.replace("key25 = :key", "n < :key"));
    for (command, target) in
        [("verify", "sqlite"), ("verify", "postgres"), ("run", "sqlite"), ("run", "postgres")]
    {
        let line = format!(
            "{command} {target} --catalog {} --size 0.01 --workload OWN-REGION",
            own.display()
        );
        let mut program = Ending(desk.spawn(&line));
        let run = &mut program.0;
        let mut said = BufReader::new(run.stderr.take().unwrap()).lines();
        assert!(
            said.any(|line| line.unwrap().ends_with("verified")),
            "the table is there, its answer comes next"
        );
        let used_s = cpu_s(run.id()).unwrap();
        until("the answer is being looked for", || match target {
            "sqlite" => cpu_s(run.id()).unwrap() > used_s + 0.4,
            _ => asks(&desk, "%recursive%"),
        });
        signal(run.id(), Signal::INT);
        until("it has ended", || run.try_wait().unwrap().is_some());
        assert_eq!(run.wait().unwrap().code(), Some(130));
        assert_eq!(desk.data_entries(), Vec::<String>::new());
        if command == "run" {
            let document = desk.shown("last");
            assert_eq!(
                (&document["status"], &document["tests"]),
                (&"interrupted".into(), &serde_json::json!([]))
            );
        }
    }
}

#[test]
fn a_counter_or_setting_that_cannot_be_read_is_said_once() {
    let desk = Desk::new();
    let own = catalog(&desk, GROUP, SQL);
    let probes = "-- name: counters.own\nselect n as own from nowhere\n\n\
                  -- name: settings.own\nselect 'a', 'b' from nowhere\n";
    std::fs::create_dir(own.join("probes")).unwrap();
    std::fs::write(own.join("probes/sqlite.sql"), probes).unwrap();
    let line =
        "run sqlite --size 0.01 --workload OWN-REGION --jobs 1,2 --warmup 0 --ops 50 --catalog";
    let done = desk.run(&format!("{line} {}", own.display())).ok();
    for block in ["counters.own: no such table", "settings.own: no such table"] {
        assert_eq!(done.stderr.matches(block).count(), 1, "{}", done.stderr);
    }
}

#[test]
fn snapshots_of_a_servers_repository_are_around_each_test_and_what_must_be_licensed_is_told() {
    let desk = Desk::new();
    let own = catalog(&desk, GROUP, SQL);
    let probes = "-- name: repository.awr\nselect 1\n\n-- name: repository.awr.last\nselect 40 + \
                  2\n\n-- name: repository.awr.licence\nselect 'Own Pack'\n\n-- name: \
                  repository.awr.report\nselect 'Report from {{begin}}' union all select 'to \
                  {{end}}'\n\n-- name: repository.statspack\nselect 1\n\n-- name: \
                  repository.statspack.last\nselect n from nowhere\n";
    let licence = "\n[[licence]]\noption = \"Rows\"\nparams = { org = \"other|default\" }\n";
    let engine = std::fs::read_to_string("catalog/engines/sqlite.toml").unwrap() + licence;
    for (folder, file, text) in
        [("probes", "sqlite.sql", probes), ("engines", "sqlite.toml", &engine)]
    {
        std::fs::create_dir(own.join(folder)).unwrap();
        std::fs::write(own.join(folder).join(file), text).unwrap();
    }
    let line = format!("sqlite --size 0.01 --workload OWN-REGION --catalog {}", own.display());
    let run = "--jobs 1,2 --warmup 0 --ops 50 --quiet --awr";
    desk.run(&format!("run {line} {run} --statspack")).ok();
    let document = desk.shown("last");
    assert_run_schema(&document);
    assert_eq!(
        document["disclosure"]["database"]["licence_awr"],
        "Own Pack: licensed, as stated by --awr"
    );
    for test in document["tests"].as_array().unwrap() {
        let kept = &test["server_log"]["repositories"];
        let report = ["Report from 42", "to 42"];
        let awr = serde_json::json!(
            { "repository": "awr", "begin": "42", "end": "42", "report": report }
        );
        assert_eq!(kept[0], awr);
        assert!(kept[1]["missing"].as_str().unwrap().contains("no such table: nowhere"), "{kept}");
    }
    let page = desk.run("report test last:1").ok().stdout;
    assert!(
        page.contains("Snapshots of the repository awr: 42 before the test, 42 after it"),
        "{page}"
    );
    desk.run(&format!("run {TINY} --awr")).fails(2, &["--awr", "SQLite has no such repository"]);
    let told = |workload: &str| {
        desk.run(&format!("check {}", line.replace("OWN-REGION", workload))).ok().stdout
    };
    assert!(!told("OWN-REGION").contains("license:"), "no test has such a parameter");
    assert!(told("SRV-QUERY1").contains("license: org=default needs the option Rows"));
}

#[test]
fn mistakes_in_ones_own_catalog_are_named_with_file_and_line() {
    let cases = [
        (GROUP.replace("[\"region\"]", "[\"regoin\"]"), SQL.to_string(), "group.toml:", "regoin"),
        (GROUP.to_string(), SQL.replace("{{small}}", "{{smal}}"), "common.sql:", "smal"),
        (GROUP.replace("revision = 1", "revison = 1"), SQL.to_string(), "group.toml:", "revison"),
        (GROUP.to_string(), SQL.replace("-- name: OWN-WRONG.wrong\n", ""), "", ""),
    ];
    for (toml, sql, place, word) in cases {
        let desk = Desk::new();
        let own = catalog(&desk, &toml, &sql);
        let line = format!("run --catalog {} {TINY}", own.display());
        let failed = desk.run(&line.replace("SRV-QUERY1", "OWN-REGION")).fails(2, &[place, word]);
        assert!(failed.stdout.is_empty() && desk.data_entries().is_empty());
    }
}
