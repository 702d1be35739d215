//! What is MariaDB's own: commits inside routines, privileges of a database, instruments of the server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::Desk;

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
  { what = "commits", per = "wal_syncs", max = "jobs", when = "durable", because = "commits were not waited for" },
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
  { what = "commits", per = "wal_syncs", max = "jobs", when = "durable", because = "commits were not waited for" },
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

fn catalogue(desk: &Desk) -> PathBuf {
    let folder = desk.path("own/workloads/own");
    std::fs::create_dir_all(&folder).unwrap();
    // Only MariaDB has the blocks.
    let others = "unsupported = { postgres = \"not its test\", sqlite = \"not its test\" }\nrevision = 1";
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

/// Whether a test's verdict says that commits were not waited for.
fn not_waited_for(test: &Value) -> bool {
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    reasons.iter().any(|reason| reason.to_string().contains("commits were not waited for"))
}

#[test]
fn commits_inside_a_procedure_are_not_waited_for_and_the_verdict_says_so() {
    let desk = Desk::new();
    let line = format!(
        "--catalog {} run mariadb --size 0.01 --workload OWN-EACH --workload OWN-NAIVE --jobs 1,4,16 --warmup 0 \
         --duration 1s --quiet --format json",
        catalogue(&desk).display()
    );
    let run = desk.run(&line).ok();
    let document = run.json();
    let tests = by_workload(&document);
    for test in &tests["OWN-EACH"] {
        assert!(!not_waited_for(test), "{test:#}");
        assert_eq!(test["drive"], "database");
        let counter = |name: &str| test["counters"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {test:#}"));
        let (commits, syncs) = (counter("commits"), counter("wal_syncs"));
        assert!(commits <= syncs * test["jobs"].as_f64().unwrap() * 1.005, "{commits} commits, {syncs} syncs");
    }
    let naive = &tests["OWN-NAIVE"];
    assert!(naive.iter().any(|test| not_waited_for(test) && test["verdict"]["status"] == "invalid"), "{naive:#?}");
}
