//! Searches of vectors: the truth against a search of our own, recall against settings, and mutants
//! of the catalog that the contract must find.

use std::path::PathBuf;

use dbdyno::engine::Session;
use dbdyno::model::vectors::VectorData;
use dbdyno::model::{Drive, PartPlan, TestResult};
use dbdyno::plan;
use dbdyno::report::{Input, RunTests};
use dbdyno::sql;
use serde_json::Value;

use crate::every_workload::request;
use crate::fixture;
use crate::servers::Lease;
use crate::skipped::skipped;
use crate::support::{Desk, column, try_session_of};

const OF_POSTGRES: &str = include_str!("../../catalog/workloads/vec/postgres.sql");
/// 1200 vectors.
const SIZE: &str = "--size 0.01 --warmup 0 --duration 400ms --quiet --format json";

/// The programs of a server with vectors, which `scripts/vector-servers.sh` fetches.
fn server_bin(engine: &str) -> Option<PathBuf> {
    let dir = match engine {
        "postgres" => "vector-postgres/bin",
        _ => "vector-mariadb/usr/sbin",
    };
    let dir = dbdyno::host::cache_dir().join(dir);
    dir.exists().then_some(dir)
}

fn lease(engine: &str) -> Option<Lease> {
    let found = server_bin(engine);
    if found.is_none() {
        skipped(
            "VECTORS",
            format!("there is no {engine} with vectors (scripts/vector-servers.sh)"),
        );
    }
    Some(Lease::new(engine, Some(found?), &[]))
}

/// Runs workloads with these jobs and gives their tests.
fn tests(target: &str, workloads: &[&str], jobs: u32) -> Vec<Value> {
    let desk = Desk::new();
    let named: Vec<String> = workloads.iter().map(|id| format!("--workload {id}")).collect();
    let line = format!("run {target} {} {SIZE} --jobs {jobs}", named.join(" "));
    let document = desk.run(&line).ok().json();
    document["tests"].as_array().unwrap().clone()
}

fn has(test: &Value, code: &str) -> bool {
    test["verdict"]["reasons"].as_array().unwrap().iter().any(|reason| reason["code"] == code)
}

/// Checks that there is no reason against its ops.
#[track_caller]
fn assert_sound(test: &Value) {
    for code in ["failed", "errors", "contract", "crosscheck", "recall"] {
        assert!(!has(test, code), "{}: {:#}", test["workload"], test["verdict"]);
    }
}

fn recall_pct(test: &Value) -> f64 {
    test["metrics"]["recall_pct"].as_f64().unwrap_or_else(|| panic!("{test:#}"))
}

fn part(engine: &str, workload: &str) -> PartPlan {
    let request = request(engine, Drive::Client, workload.into());
    plan::build(&crate::support::catalog(), &request).unwrap().selections[0].parts[0].clone()
}

/// Numbers of a text as `[1,2,3]`.
fn numbers(text: &str) -> Vec<f64> {
    let inner = text.trim_matches(['[', ']']);
    inner.split(',').map(|number| number.trim().parse().unwrap()).collect()
}

/// True if this is the squared distance of the tenth of the nearest: at most nine are nearer, at
/// least ten as near.
fn is_truth(rows: &[Vec<f64>], query: &[f64], told: f64) -> bool {
    let (mut nearer, mut as_near) = (0, 0);
    for row in rows {
        let mut distance = 0.0;
        for (a, b) in row.iter().zip(query) {
            distance += (a - b) * (a - b);
            // Most rows are farther by some of their components already.
            if distance > told {
                break;
            }
        }
        nearer += u32::from(distance < told);
        as_near += u32::from(distance <= told);
    }
    nearer < 10 && as_near >= 10
}

/// Checks that a server stores what was sent, and that the truth is that of a search which shares
/// no code with the one that found it.
fn holds_the_truth(engine: &str, session: &mut dyn Session, text: &str) {
    let part = part(engine, "VEC-EXACT");
    let data = VectorData::new(part.vectors.unwrap(), 42);
    for statement in &part.setup {
        for statement in sql::with_vectors(sql::bind_late(statement, 1), Some(&data)) {
            session.execute(&statement).unwrap();
        }
    }
    let select = |what: &str| format!("select {what} from dbdyno.vec_rows order by id");
    let rows: Vec<Vec<f64>> =
        column(session, &select(&text.replace('?', "v"))).iter().map(|row| numbers(row)).collect();
    assert_eq!(rows.len(), 2600);
    let all: f64 = rows.iter().flatten().sum();
    let squares: f64 = rows.iter().flatten().map(|v| v * v).sum();
    assert_eq!((rows[0].iter().sum::<f64>(), rows[0][..4].to_vec()), (FIRST_SUM, FIRST.to_vec()));
    // Those of the first 2600 rows, from the check vectors' second implementation.
    assert_eq!((all, squares), (SUM_OF_ALL, SQUARES_OF_ALL));
    let of_queries = "select ? from dbdyno.vec_queries order by id";
    let queries = column(session, &of_queries.replace('?', &text.replace('?', "v")));
    let truths = column(session, &of_queries.replace('?', "truth"));
    assert_eq!((queries.len(), truths.len()), (130, 130));
    for (query, told) in queries.iter().zip(&truths) {
        assert!(is_truth(&rows, &numbers(query), told.parse().unwrap()), "{told} for {query}");
    }
}

/// By `tests/vectors/vectors.py 2600`.
const SUM_OF_ALL: f64 = -317_419.0;
const SQUARES_OF_ALL: f64 = 752_725_805.0;
/// Of row 1.
const FIRST_SUM: f64 = -690.0;
const FIRST: [f64; 4] = [25.0, 58.0, 30.0, 2.0];

#[test]
fn embedded_engines_search_exactly_and_say_why_they_have_no_index() {
    for target in ["sqlite", "duckdb"] {
        let all = tests(target, &["VEC-EXACT"], 1);
        assert_sound(&all[0]);
        assert_eq!(recall_pct(&all[0]), 100.0, "{target}");
        let refused = Desk::new().run(&format!("run {target} --workload VEC-SEARCH {SIZE}"));
        refused.fails(2, &["VEC-SEARCH", "index"]);
    }
}

#[test]
fn postgres_holds_the_truth_and_its_index_finds_more_with_more_effort() {
    let Some(lease) = lease("postgres") else { return };
    let mut session = try_session_of("postgres", &lease.url).unwrap();
    session.execute("create schema dbdyno").unwrap();
    holds_the_truth("postgres", session.as_mut(), "?::text");
    session.execute("drop schema dbdyno cascade").unwrap();
    let efforts = ["VEC-SEARCH:ef=10,m=3,recall=0", "VEC-SEARCH:ef=400,recall=99"];
    for more in ["--drive database", "--drive client"] {
        let found = tests(&format!("{} {more}", lease.url), &efforts, 1);
        found.iter().for_each(assert_sound);
        let recalls: Vec<f64> = found.iter().map(recall_pct).collect();
        assert!(recalls[0] < 97.0 && recalls[1] >= 99.0, "{more}: {recalls:?}");
    }
    let others = ["VEC-EXACT", "VEC-SEARCH:k=100", "VEC-FILTER:pct=1", "VEC-BUILD", "VEC-INSERT"];
    let all = tests(&lease.url, &others, 1);
    all.iter().for_each(assert_sound);
    assert_eq!(recall_pct(&all[0]), 100.0);
    // While others insert, what is to be found stays the same.
    let mixed = tests(&lease.url, &["VEC-MIXED"], 2);
    assert_sound(&mixed[0]);
    let left = "select count(*) from pg_class where relname like 'vec_%'";
    assert_eq!(column(session.as_mut(), left), ["0"]);
}

/// The neighbors among a share of the rows, in a routine.
const WITHIN_SHARE: &str = "select v operator(public.<->) v_query as d from {{prefix}}vec_rows \
                            where grp <= {{pct}} order by v operator(public.<->) v_query limit \
                            {{near}}";

/// The catalog with one text of PostgreSQL's file in the place of another.
fn mutant(desk: &Desk, from: &str, to: &str) -> String {
    assert!(OF_POSTGRES.contains(from), "{from}");
    let folder = desk.path("own/workloads/vec");
    std::fs::create_dir_all(&folder).unwrap();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/catalog/workloads/vec");
    for file in std::fs::read_dir(own).unwrap().flatten() {
        std::fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    std::fs::write(folder.join("postgres.sql"), OF_POSTGRES.replace(from, to)).unwrap();
    format!("--catalog {}", desk.path("own").display())
}

#[test]
fn the_contract_finds_a_fixed_effort_an_unused_index_and_too_few_rows() {
    let Some(lease) = lease("postgres") else { return };
    // Each with what the claim that is meant for it says.
    let recall = "ops found fewer of the true neighbors than the parameter recall asks for";
    let unused = "ops went through the whole table: the index was not used";
    let too_few = "an op did not give as many neighbors as were asked for";
    let too_much = "ops read many more rows than those among which enough pass the filter";
    let scans = ("'enable_seqscan'", "'enable_indexscan'");
    let wide = WITHIN_SHARE.replace("{{near}}", "40 * {{near}}");
    let wide = format!("select o.d from ({wide}) as o order by o.d + 0 limit {{{{near}}}}");
    let mutants = [
        ("'{{ef}}'", "'10'", "VEC-SEARCH:ef=400,m=3,recall=99", recall),
        (scans.0, scans.1, "VEC-SEARCH", unused),
        (scans.0, scans.1, "VEC-FILTER", unused),
        ("'{{iterative}}_order'", "'off'", "VEC-FILTER:pct=1", too_few),
        (WITHIN_SHARE, &wide, "VEC-FILTER:pct=50", too_much),
    ];
    for (from, to, workload, claim) in mutants {
        let desk = Desk::new();
        let catalog = mutant(&desk, from, to);
        let line = format!("{catalog} run {} --workload {workload} {SIZE} --jobs 1", lease.url);
        let done = desk.run(&line);
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(said.contains(claim), "{workload} with {to}: {said}");
    }
}

#[test]
fn mariadb_holds_the_truth_and_searches_by_its_index() {
    let Some(lease) = lease("mariadb") else { return };
    {
        let mut session = try_session_of("mariadb", &lease.url).unwrap();
        session.execute("create database dbdyno").unwrap();
        holds_the_truth("mariadb", session.as_mut(), "vec_totext(?)");
        session.execute("drop database dbdyno").unwrap();
    }
    let all = [
        "VEC-EXACT",
        "VEC-SEARCH:ef=10,recall=0",
        "VEC-SEARCH:ef=400,recall=95",
        "VEC-FILTER",
        "VEC-INSERT",
        "VEC-BUILD",
    ];
    let found = tests(&lease.url, &all, 1);
    found.iter().for_each(assert_sound);
    assert_eq!(recall_pct(&found[0]), 100.0);
    assert!(recall_pct(&found[2]) >= 95.0 && recall_pct(&found[1]) <= recall_pct(&found[2]));
    let by_client = format!("{} --drive client", lease.url);
    let client = tests(&by_client, &["VEC-SEARCH:ef=400", "VEC-FILTER"], 1);
    client.iter().for_each(assert_sound);
    let mixed = tests(&lease.url, &["VEC-MIXED"], 2);
    assert_sound(&mixed[0]);
}

#[test]
fn a_server_without_vectors_leaves_them_out_with_the_reason() {
    for engine in ["postgres", "mariadb"] {
        let lease = Lease::new(engine, None, &[]);
        let desk = Desk::new();
        let line = format!(
            "run {} --workload VEC-SEARCH --workload SRV-QUERY1 --size 0.01 --jobs 1 --warmup 0 \
             --duration 300ms --format json",
            lease.url
        );
        let done = desk.run(&line).ok();
        let document = done.json();
        let run: Vec<&Value> =
            document["tests"].as_array().unwrap().iter().map(|test| &test["workload"]).collect();
        assert_eq!(run, ["SRV-QUERY1"], "{engine}");
        assert!(done.stderr.contains("VEC-SEARCH is left out: "), "{}", done.stderr);
        let alone = format!("run {} --workload VEC-SEARCH {SIZE}", lease.url);
        desk.run(&alone).fails(3, &["nothing can run here"]);
    }
}

/// The beginnings of the reasons that leave a workload out with this version of pgvector in the
/// database, as SQL has it; 0.8.6 could be made.
fn refused_reasons(session: &mut dyn Session, workload: &str, installed: &str) -> Vec<String> {
    let stated = format!(
        "(values ('vector', '0.8.6', {installed})) as e (name, default_version, installed_version)"
    );
    let mut found = Vec::new();
    for requirement in part("postgres", workload).requires {
        let (version, _) = requirement.reason.split_once(" has no ").unwrap();
        let sql = requirement.sql.replace("pg_available_extensions as e", &stated);
        if version.starts_with("pgvector before") && column(session, &sql).is_empty() {
            found.push(version.to_string());
        }
    }
    found
}

#[test]
fn a_version_of_pgvector_that_lacks_what_a_test_needs_leaves_it_out() {
    let lease = Lease::new("postgres", None, &[]);
    let mut session = try_session_of("postgres", &lease.url).unwrap();
    for (workload, installed, expected) in [
        ("VEC-EXACT", "'0.4.4'", None),
        ("VEC-BUILD", "'0.4.4'", Some("pgvector before 0.5")),
        ("VEC-INSERT", "'0.4.4'", Some("pgvector before 0.5")),
        ("VEC-SEARCH", "'0.4.4'", Some("pgvector before 0.5")),
        ("VEC-SEARCH", "'0.7.4'", None),
        ("VEC-SEARCH:k=100", "'0.7.4'", Some("pgvector before 0.8")),
        ("VEC-SEARCH:k=100", "'0.8.0'", None),
        ("VEC-FILTER", "'0.7.4'", Some("pgvector before 0.8")),
        ("VEC-FILTER", "'0.10.1'", None),
        ("VEC-FILTER", "null", None),
    ] {
        let found = refused_reasons(session.as_mut(), workload, installed);
        assert_eq!(found, Vec::from_iter(expected), "{workload} with {installed}");
    }
}

/// Searches at three efforts, as fast as they find less.
pub fn recall_input() -> Input {
    let kind = fixture::tests().into_iter().find(|test| test.workload == "STO-RANDOM").unwrap();
    let efforts = [("10", 7.1, 9000.0), ("40", 9.3, 5000.0), ("400", 10.0, 900.0)];
    let test = |(seq, (ef, found, per_s)): (usize, (&str, f64, f64))| {
        let mut test = TestResult { seq: seq as u32 + 1, jobs: 1, ..kind.clone() };
        test.workload = "VEC-SEARCH".into();
        test.params = fixture::map([("ef", ef), ("k", "10")]);
        test.chosen = test.params.clone();
        test.facts.insert("near".into(), 10.0);
        test.window.hits = (found * test.window.ops as f64) as u64;
        test.total.hits = test.window.hits;
        test.kpm_value = Some(per_s);
        test
    };
    let tests = efforts.into_iter().enumerate().map(test).collect();
    Input {
        runs: vec![RunTests { run: fixture::run(), tests: fixture::as_tests(tests) }],
        ..Input::default()
    }
}
