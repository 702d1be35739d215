//! Keys that are not drawn evenly: the same in a routine of each server, on the client drive and by
//! another program; as often as their law says, counted in the tables themselves; and tests that
//! draw evenly are what they were.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use dbdyno::catalog::Catalog;
use dbdyno::engine::Session;
use dbdyno::model::{Drive, JobCode, Routine};
use dbdyno::plan;
use dbdyno::stats::skew::SkewedKeys;

use crate::every_workload::request;
use crate::servers::Lease;
use crate::support::{Desk, directory, try_session_of};

/// Hashes of tests as they were before their workloads had a law of keys: engine, drive, workload.
const EVEN: [(&str, Drive, &str, &str); 16] = [
    ("postgres", Drive::Database, "SRV-QUERY1", "6f096f25a74078ad"),
    ("postgres", Drive::Database, "SRV-UPDATE1", "f648c1dc9e645653"),
    ("postgres", Drive::Database, "TP-LOOKUP", "84b9f05687a64546"),
    ("postgres", Drive::Database, "TP-LIGHT", "6009aef6d817a6eb"),
    ("postgres", Drive::Database, "TP-MIXED1", "a8905e591db94142"),
    ("postgres", Drive::Database, "STO-RANDOM", "8589ff16bf2fd6a6"),
    ("mariadb", Drive::Database, "SRV-QUERY1", "df8b1f367c1c5d12"),
    ("mariadb", Drive::Database, "SRV-UPDATE1", "bfa4ab4fe114d1f2"),
    ("mariadb", Drive::Database, "TP-LOOKUP", "7e94e3a61f38c836"),
    ("mariadb", Drive::Database, "TP-LIGHT", "42e42f65da81dcaf"),
    ("mariadb", Drive::Database, "STO-RANDOM", "a00141652dcd440a"),
    ("sqlite", Drive::Client, "SRV-QUERY1", "7a13aef55a93a945"),
    ("sqlite", Drive::Client, "SRV-UPDATE1", "22edbb5054ac651d"),
    ("sqlite", Drive::Client, "TP-LOOKUP", "034b0a7664feef21"),
    ("sqlite", Drive::Client, "TP-LIGHT", "eeb403e83f1a29c6"),
    ("sqlite", Drive::Client, "STO-RANDOM", "2b8c4a60d3caceba"),
];

#[test]
fn tests_that_draw_evenly_are_what_they_were() {
    let catalog = crate::support::catalog();
    let hash = |engine: &str, drive: Drive, workload: String| {
        let request = plan::Request { size_gb: Some(0.25), ..request(engine, drive, workload) };
        plan::build(&catalog, &request).unwrap().selections[0].hash.clone()
    };
    for (engine, drive, id, was) in EVEN {
        assert_eq!(hash(engine, drive, id.into()), was, "{id} on {engine}");
        if id != "TP-MIXED1" {
            let skewed = hash(engine, drive, format!("{id}:keys=zipf-0.99"));
            let adjacent = hash(engine, drive, format!("{id}:keys=zipf-0.99,place=adjacent"));
            assert!(skewed != was && adjacent != skewed, "{id} on {engine}");
        }
    }
}

/// A workload whose op is a draw; what comes back is the hash of all draws.
const GROUP: &str = r#"
id = "DRAW"
title = "draws"

[[workload]]
id = "DRAW-KEYS"
title = "draw a key"
about = "Nothing else."
revision = 1
kpm = { value = "ops", unit = "draws/s", better = "higher" }
binds = { id = { keyed = "rows" } }
params = ["keys", "place", { name = "rows", default = "31250", min = 2, max = 4000000000, about = "keys" }]
undrivable = { client = "it is nothing but a draw" }
"#;
const BODIES: [(&str, &str); 3] = [
    ("oracle", "v_sink := mod(v_sink * 31 + {{drawn_id}}, 1000000007);"),
    (
        "postgres",
        "v_sink := mod(v_sink::bigint * 31 + {{drawn_id}}, 1000000007);\nv_rows := v_rows + 1;",
    ),
    (
        "mariadb",
        "set v_sink = mod(cast(v_sink as signed) * 31 + {{drawn_id}}, 1000000007);\nset v_rows = \
         v_rows + 1;",
    ),
];

/// The catalog with that workload, which is read and checked once.
fn catalog_with_draws() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let dir = directory();
        let folder = dir.path().join("workloads/draw");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("group.toml"), GROUP).unwrap();
        for (engine, body) in BODIES {
            let text = format!("-- name: DRAW-KEYS.body\n{body}\n");
            std::fs::write(folder.join(format!("{engine}.sql")), text).unwrap();
        }
        Catalog::with_dir(dir.path()).unwrap()
    })
}

/// The routine that draws by these parameters.
pub fn drawing(engine: &str, params: &str) -> Routine {
    let request = request(engine, Drive::Database, format!("DRAW-KEYS:{params}"));
    let plan = plan::build(catalog_with_draws(), &request).unwrap();
    match &plan.selections[0].parts[0].code {
        JobCode::Routine(routine) => routine.clone(),
        other => panic!("{other:?}"),
    }
}

/// The hash of so many draws of a routine in the server, from state 1 on.
fn hash_of_draws(session: &mut dyn Session, routine: &Routine, draws: &str) -> String {
    execute(session, &routine.create);
    let value = |name: &str| match name {
        "job" | "jobs" | "seed" => "1",
        "max_ops" => draws,
        "tell_us" => "null",
        "slice_us" => "1000000000000",
        _ => "1000",
    };
    let rows = session.query(&routine.call.with_values(value), &[]).unwrap();
    assert_eq!(rows.get(0, "ops"), Some(draws));
    let sink: f64 = rows.get(0, "sink").unwrap().parse().unwrap();
    execute(session, &routine.drop);
    format!("{sink}")
}

fn execute(session: &mut dyn Session, statements: &[String]) {
    for sql in statements {
        session.execute(sql).unwrap();
    }
}

/// Draws as `tests/vectors/skewed_keys.py` has them: parameters, number of draws, hash.
fn vectors() -> Vec<[String; 3]> {
    let text = std::fs::read_to_string("tests/vectors/skewed_keys.csv").unwrap();
    let vector = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let params = format!("keys={},place={},rows={}", fields[0], fields[1], fields[2]);
        [params, fields[3].to_string(), fields[4].to_string()]
    };
    text.lines().skip(1).map(vector).collect()
}

/// Routines in a server without our schema draw what the other program has drawn.
pub fn server_draws_the_same(engine: &str, url: &str) {
    let mut session = try_session_of(engine, url).unwrap();
    session.execute("create schema dbdyno").unwrap();
    for [params, draws, hash] in vectors() {
        let found = hash_of_draws(session.as_mut(), &drawing(engine, &params), &draws);
        assert_eq!(found, hash, "{engine} {params}");
    }
}

#[test]
fn routines_of_servers_draw_the_keys_of_another_program() {
    for engine in ["postgres", "mariadb"] {
        server_draws_the_same(engine, &Lease::new(engine, None, &[]).url);
    }
}

/// Number of updates of each row since it was loaded, by id.
fn updates(session: &mut dyn Session, table: &str) -> BTreeMap<u64, i64> {
    let rows = session.query(&format!("select id, status from {table}"), &[]).unwrap().rows;
    let number = |cell: &Option<String>| cell.as_ref().unwrap().parse::<i64>().unwrap();
    rows.iter().map(|row| (number(&row[0]) as u64, number(&row[1]))).collect()
}

/// Standard deviations of chi-square from its mean; keys that are expected less than ten times are
/// taken together.
fn chi_square_z(counts: &BTreeMap<u64, i64>, keys: &SkewedKeys) -> f64 {
    let all: i64 = counts.values().sum();
    let (mut chi, mut cells) = (0.0, 0.0);
    let (mut expected, mut found) = (0.0, 0.0);
    for rank in 1..=keys.keys() {
        expected += keys.probability(rank) * all as f64;
        found += counts[&keys.key_of_rank(rank)] as f64;
        if expected >= 10.0 || rank == keys.keys() {
            chi += (found - expected).powi(2) / expected;
            cells += 1.0;
            (expected, found) = (0.0, 0.0);
        }
    }
    (chi - (cells - 1.0)) / (2.0 * (cells - 1.0)).sqrt()
}

#[test]
fn rows_are_updated_as_often_as_the_law_says() {
    for (engine, drive) in [("postgres", "database"), ("postgres", "client"), ("mariadb", "client")]
    {
        let (desk, lease) = (Desk::new(), Lease::new(engine, None, &[]));
        let of =
            |params: &str| format!("--workload SRV-UPDATE1:{params} --size 0.01 --drive {drive}");
        desk.run(&format!("load {} --quiet {}", lease.url, of("keys=zipf-0.99"))).ok();
        let mut session = try_session_of(engine, &lease.url).unwrap();
        for (law, place) in [("zipf-0.99", "scattered"), ("hot-80-20", "adjacent")] {
            let before = updates(session.as_mut(), "dbdyno.small");
            let line = format!(
                "run {} {} --jobs 2 --warmup 0 --ops 4000 --format json --quiet",
                lease.url,
                of(&format!("keys={law},place={place}"))
            );
            let test = desk.run(&line).ok().json()["tests"][0].clone();
            let after = updates(session.as_mut(), "dbdyno.small");
            let counts: BTreeMap<u64, i64> =
                after.iter().map(|(id, count)| (*id, count - before[id])).collect();
            let rows = counts.len() as u64;
            let found: i64 = counts.values().sum();
            assert!(found >= 8_000, "{found} updates: {test:#}");
            let of_law = |law: &str| {
                SkewedKeys::new(rows, law.parse().unwrap(), place.parse().unwrap()).unwrap()
            };
            let (z, even) =
                (chi_square_z(&counts, &of_law(law)), chi_square_z(&counts, &of_law("uniform")));
            assert!(z.abs() < 5.0, "{engine} {drive} {law} {place}: {z} standard deviations");
            assert!(even > 50.0, "uniform draws would look like these: {even}");
        }
    }
}

#[test]
fn a_place_without_a_law_and_a_law_that_is_none_are_refused() {
    let desk = Desk::new();
    desk.run("run sqlite --workload SRV-QUERY1:place=adjacent")
        .fails(2, &["place=adjacent with keys=uniform is not available", "drawn alike"]);
    desk.run("run sqlite --workload SRV-QUERY1:keys=zipf-2")
        .fails(2, &["keys=zipf-2 is not allowed; allowed: uniform, zipf-0.8"]);
}

#[test]
fn jobs_that_want_one_row_wait_for_one_another_and_the_verdict_knows() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let options = "--size 0.01 --warmup 0 --format json --quiet --workload TP-HOT:rows=1";
    let has = |test: &serde_json::Value, code: &str| {
        let reasons = test["verdict"]["reasons"].as_array().unwrap();
        reasons.iter().any(|reason| reason["code"] == code)
    };
    // A lock is held until the commit is durable: the shared server does not wait for that.
    let line = format!(
        "run postgres {options} --workload TP-HOT:rows=64 --profile XS --jobs 4 --duration 1s"
    );
    let document = desk.run(&line).ok().json();
    for test in document["tests"].as_array().unwrap() {
        assert!(!has(test, "no-contention") && !has(test, "contract"), "{test:#}");
        assert!(!has(test, "crosscheck"), "{test:#}");
    }
    // Not seen, not said: the claim is noted as unchecked.
    let one = format!("run {} {options} --duration 300ms", lease.url);
    let blind = desk.run(&format!("{one} --jobs 4 --no-sampler")).ok().json();
    assert!(has(&blind["tests"][0], "unchecked"), "{:#}", blind["tests"][0]["verdict"]);
    // One job has no one to wait for, and the claim asks for none.
    let alone = desk.run(&format!("{one} --jobs 1")).ok().json();
    assert!(!has(&alone["tests"][0], "no-contention"), "{:#}", alone["tests"][0]["verdict"]);
}
