//! Not cached means not cached, and what a cached look-up reads: judged from real runs.

use dbdyno::catalog::Profile;
use dbdyno::engine::Session;
use dbdyno::model::{Drive, JobCode, PartPlan};
use dbdyno::{plan, sql};

use crate::every_workload::request;
use crate::servers::{Existing, Server};
use crate::skipped::skipped;
use crate::support::{Desk, column, finished, mistakes, until};
use serde_json::Value;

/// Lines of the profile XS and what is in their place: caches that hold the small table of a tenth
/// of a gigabyte, not the big.
const SMALLER: [[&str; 2]; 5] = [
    ["id = \"XS\"", "id = \"TINY\""],
    ["shared_buffers = \"64MB\"", "shared_buffers = \"16MB\""],
    ["innodb_buffer_pool_size = \"64M\"", "innodb_buffer_pool_size = \"16M\""],
    ["aria_pagecache_buffer_size = \"64M\"", "aria_pagecache_buffer_size = \"8M\""],
    ["cache_mb = \"16\"", "cache_mb = \"6\""],
];

/// A data set that is loaded in a moment, and a moment's window.
const MOMENT: &str = "--size 0.1 --duration 500ms";
/// As [`MOMENT`], with a big table that no scan goes through before it is put out of the cache
/// again, also where the thread that does this waits 80 ms for a processor.
const LARGER: &str = "--size 0.3 --duration 500ms";

/// The tests of a short run.
fn tests(line: &str) -> Vec<Value> {
    run(&Desk::new(), &format!("{line} --profile XS"))
}

/// The tests of a short run whose caches are small; `changed` are lines of the profile beside
/// [`SMALLER`].
fn with_small_caches(line: &str, changed: &[[&str; 2]]) -> Vec<Value> {
    let desk = Desk::new();
    let small = small_caches(&desk, changed);
    run(&desk, &format!("{line} {small}"))
}

/// Options for a profile of these caches, in a catalog of the desk.
pub fn small_caches(desk: &Desk, changed: &[[&str; 2]]) -> String {
    let mut profile = own_profile(crate::support::catalog().profile("XS").unwrap());
    for [from, to] in SMALLER.iter().chain(changed) {
        assert!(profile.contains(from), "{from}");
        profile = profile.replace(from, to);
    }
    std::fs::create_dir_all(desk.path("catalog/profiles")).unwrap();
    std::fs::write(desk.path("catalog/profiles/TINY.toml"), profile).unwrap();
    format!("--profile TINY --catalog {}", desk.path("catalog").display())
}

/// A profile as the file of a user's own.
fn own_profile(profile: &Profile) -> String {
    let mut text =
        format!("id = \"{}\"\ntitle = \"\"\nsize_gb = {}\n", profile.id, profile.size_gb);
    text += &format!("cache_mb = {}\n", profile.cache_mb.unwrap());
    for (engine, settings) in &profile.settings {
        text += &format!("[settings.{engine}]\n");
        settings.iter().for_each(|(name, value)| text += &format!("{name} = \"{value}\"\n"));
    }
    text
}

fn run(desk: &Desk, line: &str) -> Vec<Value> {
    let line = format!("run {line} --jobs 1 --warmup 0 --quiet --format json");
    desk.run(&line).ok().json()["tests"].as_array().unwrap().clone()
}

fn metric(test: &Value, name: &str) -> f64 {
    test["metrics"][name]
        .as_f64()
        .unwrap_or_else(|| panic!("{} has no {name}: {test:#}", test["workload"]))
}

/// True if the reads of the device for the database are known. In a container it is not where
/// another user's processes are not shown and the file system has no device of its own.
fn device_is_known(test: &Value) -> bool {
    test["metrics"]["tier_device_pct"].is_f64()
}

/// The reasons of a verdict that have this code.
fn reasons<'a>(test: &'a Value, code: &str) -> Vec<&'a str> {
    let reasons = test["verdict"]["reasons"].as_array().unwrap().iter();
    reasons
        .filter(|reason| reason["code"] == code)
        .map(|reason| reason["text"].as_str().unwrap())
        .collect()
}

const LOOKUPS: &str = "--workload SRV-QUERY1 --workload SRV-QUERY25 --workload SRV-REPORT";

/// Tests of queries with 1, 25 and 125 rows.
fn lookups(target: &str) -> Vec<Value> {
    tests(&format!("{target} {LOOKUPS} {MOMENT}"))
}

/// Blocks of each of those queries.
fn blocks(target: &str) -> Vec<f64> {
    lookups(target).iter().map(|test| metric(test, "logical_reads_per_op")).collect()
}

#[test]
fn postgres_reads_about_as_many_blocks_per_query_as_was_published() {
    for (found, published) in blocks("postgres").iter().zip([3.0, 27.0, 126.5]) {
        assert!((found - published).abs() < 1.6, "{found} instead of {published}");
    }
}

#[test]
fn sqlite_descends_a_tree_for_each_row() {
    for (found, rows) in blocks("sqlite").iter().zip([1.0, 25.0, 125.0]) {
        assert!((2.0 * rows..=3.0 * rows + 4.0).contains(found), "{found} for {rows} rows");
    }
}

#[test]
fn mariadb_reads_the_blocks_that_are_documented() {
    // docs/counters.md. Some hundred blocks are the server's own, which tells where a busy machine
    // runs few queries.
    for (test, documented) in lookups("mariadb").iter().zip([2.0, 54.0, 254.0]) {
        let (found, own) =
            (metric(test, "logical_reads_per_op"), 1000.0 / test["ops"].as_f64().unwrap());
        assert!(
            (0.95 * documented..1.05 * documented + own).contains(&found),
            "{found} instead of {documented}"
        );
    }
}

const NOT_CACHED: &str = "--workload STO-READ --workload STO-RANDOM --workload STO-SCATTER \
                          --workload DA-AGGREGATE --workload DA-SORT --workload DA-INDEX \
                          --workload DA-JOIN-HASH --workload TP-SELECT32 --workload TP-UPDATE32";

/// Checks that what the database lacks comes from the device, also in a machine with more memory
/// than data.
fn assert_read_from_the_device(target: &str) {
    let tests = with_small_caches(&format!("{target} {NOT_CACHED} {LARGER}"), &[]);
    if !tests.iter().any(device_is_known) {
        let why = format!("what the device reads for {target} is not known here");
        return skipped("KNOW_THE_DEVICE", why);
    }
    // A file system in memory has no device: then the verdict says so.
    let of_device = |test: &&Value| reasons(test, "tier").is_empty();
    let judged: Vec<&Value> = tests.iter().filter(of_device).collect();
    assert!(!judged.is_empty(), "{target}: is TMPDIR on a disk? {:#}", tests[0]["verdict"]);
    for test in judged {
        let shares = ["tier_buffer_pct", "tier_os_cache_pct", "tier_device_pct"]
            .map(|name| metric(test, name));
        assert!((shares.iter().sum::<f64>() - 100.0).abs() < 0.01, "{shares:?}");
        assert!(shares[2] > shares[1], "{target} {}: {shares:?}", test["workload"]);
    }
}

#[test]
fn what_sqlite_lacks_comes_from_the_device() {
    assert_read_from_the_device("sqlite");
}

#[test]
fn what_postgres_lacks_comes_from_the_device() {
    assert_read_from_the_device("postgres");
}

#[test]
fn what_mariadb_lacks_comes_from_the_device() {
    assert_read_from_the_device("mariadb");
}

/// Checks that the verdict says so where the database's own cache holds the table.
fn assert_own_cache_is_told(target: &str) {
    // So many transactions find most rows in the cache however slow the device is from which the
    // index comes first.
    for test in tests(&format!(
        "{target} --workload TP-SELECT32 --workload DA-AGGREGATE --size 0.1 --ops 40"
    )) {
        let tiers = reasons(&test, "tier");
        assert!(
            tiers.iter().any(|text| text.contains("the database's own cache")),
            "{target}: {test:#}"
        );
        assert_ne!(test["verdict"]["status"], "valid");
    }
}

#[test]
fn where_the_cache_of_postgres_holds_the_table_the_verdict_says_so() {
    assert_own_cache_is_told("postgres");
}

#[test]
fn where_the_cache_of_mariadb_holds_the_table_the_verdict_says_so() {
    assert_own_cache_is_told("mariadb");
}

#[test]
fn reads_of_arias_heaps_are_counted_and_judged() {
    let heaps = "--workload SRV-REPORT:org=heap --workload STO-RANDOM:org=heap";
    let others = "--workload SRV-SCAN:org=heap-list --workload STO-READ:org=heap --workload \
                  STO-SCATTER:org=heap --workload STO-OFFLOAD:org=heap";
    // The counters are the same whoever drives: a cached and an uncached workload show it, on the
    // tables that are there.
    let desk = Desk::new();
    let caches = small_caches(&desk, &[]);
    for line in [format!("{heaps} {others} --drive database"), format!("{heaps} --drive client")] {
        for test in run(&desk, &format!("mariadb {line} {LARGER} {caches} --keep")) {
            let name = test["workload"].as_str().unwrap();
            assert!(mistakes(&test).is_empty(), "{name}: {:#}", test["verdict"]);
            let hit = metric(&test, "buffer_hit_pct");
            assert_eq!(hit > 99.0, name.starts_with("SRV"), "{name}: {hit} % from the cache");
        }
    }
    desk.run("clean mariadb").ok();
    // The small table does not fit any more: what is not cached is not valid as cached.
    let small = [["aria_pagecache_buffer_size = \"8M\"", "aria_pagecache_buffer_size = \"1M\""]];
    let test =
        &with_small_caches(&format!("mariadb --workload SRV-QUERY1:org=heap {MOMENT}"), &small)[0];
    assert!(
        reasons(test, "contract").iter().any(|text| text.contains("not cached")),
        "{:#}",
        test["verdict"]
    );
}

#[test]
fn a_scan_of_a_heap_reads_the_tables_bytes() {
    for test in with_small_caches(
        &format!("mariadb --workload STO-READ:org=heap --workload STO-READ {MOMENT}"),
        &[],
    ) {
        // 100,000 rows of about 300 bytes; blocks of Aria and InnoDB have different sizes.
        let mb_per_op = metric(&test, "physical_read_mb_per_s") / metric(&test, "ops_per_s");
        assert!((25.0..45.0).contains(&mb_per_op), "{mb_per_op} MB per scan: {test:#}");
    }
}

/// Those that have it count the processes: `every_workload`.
#[test]
fn engines_without_parallel_query_say_so() {
    Desk::new()
        .run("run sqlite --workload DA-SCAN:threads=2")
        .fails(2, &["DA-SCAN", "threads=2", "one thread"]);
}

#[test]
fn where_the_files_cannot_be_put_out_of_the_cache_the_verdict_says_which_tier_was_measured() {
    // An ordinary role may not know where the server's files are; what was just loaded lies in the
    // system's cache.
    let (desk, server) = (Desk::new(), Server::shared());
    server.create_user("outsider", "pale-cedar-9", true);
    let line =
        format!("run {} --workload STO-READ {MOMENT} --jobs 1 --warmup 0", server.url("outsider"));
    let mut run = desk.command(&format!("{line} --format json --quiet"));
    run.env("PGPASSWORD", "pale-cedar-9");
    let test = finished(run, "run").ok().json()["tests"][0].clone();
    let is_known = device_is_known(&test);
    let measured =
        if is_known { "the operating system's cache" } else { "it is not known which tier" };
    assert!(reasons(&test, "tier").iter().any(|text| text.contains(measured)), "{test:#}");
    assert_ne!(test["verdict"]["status"], "valid");
    assert!(!is_known || metric(&test, "tier_device_pct").round() == 0.0, "{test:#}");
}

/// DBWR-THR with 320 rows per op, its tables made for two jobs.
fn writer_test(engine: &str, session: &mut dyn Session) -> PartPlan {
    let plan =
        plan::build(&crate::support::catalog(), &request(engine, Drive::Client, "DBWR-THR".into()))
            .unwrap();
    let part = plan.selections[0].parts[0].clone();
    for statement in &part.setup {
        session.execute(&sql::bind_late(statement, 2)).unwrap();
    }
    part
}

/// One op of the second job on the first of its sets.
fn one_op(part: &PartPlan, session: &mut dyn Session) {
    let JobCode::Client { branches, .. } = &part.code else { panic!("{:?}", part.code) };
    let statement = &branches[0].statements[0];
    assert_eq!(statement.binds, ["job", "set"]);
    session.query(&statement.sql, &[2, 1]).unwrap();
}

#[test]
fn an_op_of_the_writer_test_dirties_a_block_per_row_on_mariadb() {
    let mut server = Existing::shared();
    let session = server.admin.as_mut();
    session.execute("create database dbdyno").unwrap();
    session.execute("use dbdyno").unwrap();
    let part = writer_test("mariadb", session);
    // Afterwards InnoDB touches the rows that were inserted once more.
    let purged = "select variable_value from information_schema.global_status \
        where variable_name = 'innodb_history_list_length'";
    until("the inserts are purged", || column(session, purged) == ["0"]);
    let lsn = column(
        session,
        "select variable_value from information_schema.global_status \
        where variable_name = 'innodb_lsn_current'",
    );
    one_op(&part, session);
    let dirtied = format!(
        "select count(*) from information_schema.innodb_buffer_page where table_name like \
         '%`dbwr_thr`' and index_name = 'primary' and page_type = 'index' and newest_modification \
         > {}",
        lsn[0]
    );
    assert_eq!(column(session, &dirtied), ["320"]);
}

#[test]
fn an_op_of_the_writer_test_dirties_a_block_per_row_on_postgres() {
    let server = Server::shared();
    server.create_user("writer", "pale-cedar-9", true);
    let mut session = server.admin("writer");
    session.execute("create schema dbdyno").unwrap();
    let part = writer_test("postgres", session.as_mut());
    one_op(&part, session.as_mut());
    let dirtied =
        "select count(distinct (ctid::text::point)[0]) from dbdyno.dbwr_thr where counter = 1";
    assert_eq!(column(session.as_mut(), dirtied), ["320"]);
}

/// Each row of a writing test is written once by the server's own count, and a test of a table that
/// is not cached is told.
fn assert_writer_test(target: &str) {
    // 320 rows are 5 MB, 2,000 are 33 MB; the caches have 16 MB.
    let line = format!(
        "{target} --workload T721 --workload T721:rows=100 --workload DBWR-THR --workload \
         DBWR-THR:rows=2000 {MOMENT}"
    );
    let tests = with_small_caches(&line, &FEW_FREE_PAGES);
    assert_eq!(tests.len(), 4, "{target}: {tests:#?}");
    let (each, whole) = tests.split_at(2);
    for test in each {
        // The last op of each of two jobs may be written after the last look.
        let count = |name: &str| test["counters"][name].as_f64().unwrap();
        let (written, rows) = (count("blocks_written"), count("rows_updated"));
        let a_job = test["params"]["rows"].as_str().unwrap().parse::<f64>().unwrap();
        let jobs = test["jobs"].as_f64().unwrap();
        assert!(rows > 0.0 && written > 0.95 * (rows - jobs * a_job), "{target}: {test:#}");
        assert!(written < 1.15 * rows + 240.0, "{target}: {test:#}");
        let per_row = metric(test, "blocks_written_per_row");
        assert!((per_row - written / rows).abs() < 1e-6 * per_row, "{target}: {test:#}");
        assert_eq!(reasons(test, "contract"), [""; 0], "{target}: {test:#}");
    }
    let not_cached =
        |test: &Value| reasons(test, "contract").iter().any(|text| text.contains("was not cached"));
    assert_eq!(
        whole.iter().map(not_cached).collect::<Vec<_>>(),
        [false, true],
        "{target}: {whole:#?}"
    );
}

#[test]
fn rows_are_written_once_by_the_count_of_postgres_or_the_table_was_not_cached() {
    assert_writer_test("postgres");
}

#[test]
fn rows_are_written_once_by_the_count_of_mariadb_or_the_table_was_not_cached() {
    assert_writer_test("mariadb");
}

/// MariaDB keeps so many pages free: by its default, 24 MB, all of a small cache.
pub const FEW_FREE_PAGES: [[&str; 2]; 1] = [[
    "innodb_buffer_pool_size = \"16M\"",
    "innodb_buffer_pool_size = \"16M\"\ninnodb_lru_scan_depth = \"100\"",
]];
