//! Oracle's texts without a server of Oracle: parsed by a grammar, and the routines, translated, run on PostgreSQL. `make oracle`
//! installs what these tests need (`scripts/oracle-dependencies.sh`) and runs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use dbdyno::catalog::Catalog;
use dbdyno::dataset::{Checksum, Definition, Recipe, Table};
use dbdyno::engine::{self, Rows, Session};
use dbdyno::model::rows::{RowFunction, table_rows};
use dbdyno::model::{Drive, JobCode, PartPlan, TableRef, Workload};
use dbdyno::sql::fill;

use crate::servers::Lease;
use crate::support::{Desk, finished_group, try_session_of};

mod texts;

/// Nominal size of the data set here.
const SIZE_GB: f64 = 0.01;
/// Ops of a call, and the state of its key generator.
const OPS: u32 = 12;
const SEED: u32 = 4711;
/// What ran how: `UPDATE_GOLDEN=1` rewrites it.
const EXECUTED: &str = "tests/oracle/executed.csv";

fn catalog() -> Catalog {
    Catalog::embedded().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
#[ignore = "minutes of processor time: make oracle"]
fn the_grammar_accepts_every_text_and_refuses_mutants() {
    let (desk, parser) = (Desk::new(), dbdyno::host::cache_dir().join("plsql-parser"));
    let (statements, script) = (desk.path("statements.jsonl"), parser.join("grammar.mjs"));
    std::fs::copy("tests/oracle/grammar.mjs", &script).unwrap();
    let lines = texts::all(&catalog())
        .into_iter()
        .map(|text| serde_json::json!({"file": text.file, "name": text.name, "text": text.sql}).to_string());
    let lines: Vec<String> = lines.collect();
    assert!(lines.len() > 1000, "{} texts", lines.len());
    std::fs::write(&statements, lines.join("\n")).unwrap();
    let mut node = Command::new("node");
    node.arg(&script).arg(&statements).args(std::env::var_os("ORACLE_FILE"));
    let said = node.output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    println!("{out}");
    assert!(said.status.success(), "{out}{errors}");
}

#[test]
fn the_exported_scripts_need_no_other_program() {
    let desk = Desk::new();
    let dir = desk.path("pack");
    let ids = "--workload SRV-QUERY25 --workload TP-MIXED1 --workload SRV-QUERY1:org=hash";
    desk.run(&format!("export-sql oracle --size {SIZE_GB} {ids} --output {}", dir.display())).ok();
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mixed = read("workloads/TP-MIXED1.sql");
    for part in [
        "test TP-MIXED1",
        "dbms_scheduler.create_job",
        "ceil(&1 / 4) * 4",
        "dbdyno_w_part_4(",
        "spool dbdyno.spool append",
    ] {
        assert!(mixed.contains(part), "{part}: {mixed}");
    }
    for script in
        ["create.sql", "load.sql", "drop.sql", "workloads/SRV-QUERY25.sql", "workloads/SRV-QUERY1.org-hash.sql"]
    {
        let text = read(script);
        assert!(!text.contains("{{") && text.trim_end().ends_with("exit success"), "{script}: {text}");
        assert!(!text.to_lowercase().contains("password"), "{script}");
    }
    let rows = RowFunction { table_rows: table_rows("small", SIZE_GB), seed: 42 };
    assert!(read("verify.sql").contains(&Checksum::of_table(rows, 2).to_string()), "{}", read("verify.sql"));
    assert!(!dir.join("run.sh").exists() && read("README.md").contains("TP-MIXED1"));
}

#[test]
#[ignore = "needs ora2pg and orafce: make oracle"]
fn routines_translated_from_oracle_do_what_those_of_postgres_do() {
    let (desk, lease, catalog) = (Desk::new(), Lease::new("postgres", None, &[]), catalog());
    desk.run(&format!("load {} --size {SIZE_GB} --quiet --workload TP-LIGHT --workload SRV-QUERY1", lease.url)).ok();
    let mut session = translator(&lease);
    let workloads: Vec<&Workload> = catalog.workloads().filter(|workload| workload.parts.is_empty()).collect();
    let pairs: Vec<(&Workload, Option<Pair>)> =
        workloads.iter().map(|workload| (*workload, Pair::of(&catalog, workload))).collect();
    create_translated(session.as_mut(), &desk, &pairs);
    let mut table = vec!["workload,translated by ora2pg and run on PostgreSQL,neither".to_string()];
    let mut different = Vec::new();
    for (workload, pair) in &pairs {
        let Some(pair) = pair else {
            table.push(format!("{},,it has no routine", workload.id));
            continue;
        };
        let (native, translated) = pair.run(session.as_mut());
        if !alike(&native, &translated) {
            different.push(format!("{}: {native:?} natively, {translated:?} translated", workload.id));
        }
        table.push(format!("{},yes,", workload.id));
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(table.len() > 35, "{} lines", table.len());
    kept(&(table.join("\n") + "\n"));
}

#[test]
#[ignore = "needs ora2pg and orafce: make oracle"]
fn rows_and_checksums_by_oracles_text_are_those_of_the_row_function() {
    let (desk, lease, catalog) = (Desk::new(), Lease::new("postgres", None, &[]), catalog());
    let mut session = translator(&lease);
    let set = catalog.dataset("dbdyno").unwrap();
    let definition = Definition::parse(&set.toml, &set.toml_path).unwrap();
    let capabilities = texts::capabilities();
    let recipe = Recipe { engine: texts::ENGINE, capabilities, definition: &definition, blocks: &set.blocks };
    session.execute("create schema dbdyno").unwrap();
    for size_gb in [0.01, 0.5, 4.0] {
        let rows = RowFunction { table_rows: table_rows("big", size_gb), seed: 42 };
        let table = Table::new(&recipe, &TableRef::new("big"), rows);
        let mut values = table.values(&recipe);
        values.extend([("lo", "1"), ("hi", "10000")].map(|(name, value)| (name.to_string(), value.to_string())));
        let text = |name: &str| format!("{};\n", recipe.sql(name, &values).unwrap().unwrap());
        session.execute("drop table if exists dbdyno.big").unwrap();
        let made = translate(&desk, &text("row-select"), "query");
        let names = "id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler";
        let made = made.trim().trim_end_matches(';').to_string();
        session.execute(&format!("create table dbdyno.big ({names}) as {made}")).unwrap();
        let sums =
            session.query(translate(&desk, &text("checksum"), "query").trim().trim_end_matches(';'), &[]).unwrap();
        assert_eq!(whole(&sums), Ok(Checksum::of(rows, 1..10_001)), "{size_gb} GB");
    }
}

/// The checksum of a result whose sums may be written with decimals (`16000.00`).
fn whole(sums: &Rows) -> Result<Checksum, String> {
    let cut = |cell: &Option<String>| cell.as_ref().map(|text| text.split('.').next().unwrap_or_default().to_string());
    let rows = sums.rows.iter().map(|row| row.iter().map(cut).collect()).collect();
    Checksum::from_rows(&Rows { columns: sums.columns.clone(), rows })
}

/// A session that finds what translated routines call.
fn translator(lease: &Lease) -> Box<dyn Session> {
    let mut session = try_session_of("postgres", &lease.url).unwrap();
    for extension in ["orafce", "plpgsql_check"] {
        session.execute(&format!("create extension {extension}")).unwrap();
    }
    let helpers = std::fs::read_to_string("tests/oracle/helpers.sql").unwrap();
    helpers.split(";\n").try_for_each(|sql| session.execute(sql).map(drop)).unwrap();
    session.execute("set search_path = dbdyno, oracle_sql, oracle, public").unwrap();
    session
}

fn translate(desk: &Desk, text: &str, kind: &str) -> String {
    let file = desk.path("oracle.sql");
    std::fs::write(&file, text).unwrap();
    let mut script = Command::new("sh");
    script.arg(Path::new("tests/oracle/translate.sh")).arg(&file).arg(kind);
    finished_group(script, "translate.sh").ok().stdout
}

/// What a routine did: ops, rows, commits, next state of the key generator, sink.
type Done = [String; 5];

/// A workload's routine for PostgreSQL and the one for Oracle.
struct Pair {
    native: PartPlan,
    oracle: PartPlan,
}

impl Pair {
    fn of(catalog: &Catalog, workload: &Workload) -> Option<Pair> {
        let with = match workload.id.as_str() {
            "STO-WRITE" => ":file_mb=1",
            "CPU-FIBONACCI" => ":n=12",
            _ => "",
        };
        let postgres = engine::find("postgres").unwrap();
        // A plain COMMIT does in PostgreSQL what it does in LGWR-LAT.
        let id = if workload.id == "LGWR-PLAIN" { "LGWR-LAT" } else { &workload.id };
        let of = |engine: &str, capabilities, id: &str| {
            texts::parts_on(engine, capabilities, catalog, &format!("{id}{with}"), Drive::Database, SIZE_GB).pop()
        };
        let native = of("postgres", postgres.capabilities(), id)?;
        Some(Pair { native, oracle: of(texts::ENGINE, texts::capabilities(), &workload.id)? })
    }

    /// What both do, one after the other, on the same tables.
    fn run(&self, session: &mut dyn Session) -> (Done, Done) {
        let on = |session: &mut dyn Session, statements: Vec<String>| {
            let jobs = BTreeMap::from([("jobs".to_string(), "1".to_string())]);
            for sql in &statements {
                session.execute(&fill(sql, &jobs)).unwrap_or_else(|error| panic!("{error}: {sql}"));
            }
        };
        on(session, self.native.setup_sql());
        let native = called(session, &native_call(&self.native), "");
        let translated = called(session, &translated_call(&self.oracle), "p_");
        on(session, self.native.teardown_sql());
        (native, translated)
    }
}

fn native_call(part: &PartPlan) -> String {
    let JobCode::Routine(routine) = &part.code else { panic!("{} has no routine", part.workload) };
    let (ops, seed) = (OPS.to_string(), SEED.to_string());
    let value = |name: &str| match name {
        "job" | "jobs" | "stride" => "1",
        "slice_us" => "1000000000000",
        "max_ops" => ops.as_str(),
        _ => seed.as_str(),
    };
    routine.call.with_values(value)
}

fn translated_call(part: &PartPlan) -> String {
    format!("call {}(1, 1, 1000000000000, {OPS}, 1, {SEED}{})", routine_name(part), ", null".repeat(8))
}

fn routine_name(part: &PartPlan) -> &str {
    let JobCode::Routine(routine) = &part.code else { panic!("{} has no routine", part.workload) };
    &routine.name
}

fn called(session: &mut dyn Session, call: &str, prefix: &str) -> Done {
    let rows = session.query(call, &[]).unwrap_or_else(|error| panic!("{error}: {call}"));
    let seed = if prefix.is_empty() { "seed" } else { "next_seed" };
    ["ops", "rows", "commits", seed, "sink"]
        .map(|name| rows.get(0, &format!("{prefix}{name}")).unwrap_or("null").to_string())
}

/// Creates the translated routines and functions, whose names and types PostgreSQL's checker finds right.
fn create_translated(session: &mut dyn Session, desk: &Desk, pairs: &[(&Workload, Option<Pair>)]) {
    let created = pairs.iter().filter_map(|(_, pair)| pair.as_ref()).flat_map(|pair| pair.oracle.setup_sql());
    let (mut functions, mut procedures) = (Vec::new(), Vec::new());
    for sql in created {
        let kind = if sql.starts_with("create or replace function") { &mut functions } else { &mut procedures };
        if sql.starts_with("create or replace") && !kind.contains(&sql) {
            kind.push(sql);
        }
    }
    for (texts, kind) in [(functions, "function"), (procedures, "procedure")] {
        let text: String = texts.iter().map(|sql| sql.replace("-- PL/SQL", "/\n\n")).collect();
        let translated = translate(desk, &text, kind);
        let statements: Vec<&str> = translated.split("CREATE OR REPLACE").skip(1).collect();
        assert_eq!(statements.len(), texts.len(), "{translated}");
        for statement in statements {
            let sql = format!("create or replace {}", statement.trim().trim_end_matches(';'));
            session.execute(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        }
    }
}

/// Equal, the sink as far as 32 bits agree with 64: a literal with f loses its type on the way.
fn alike(native: &Done, translated: &Done) -> bool {
    let number = |text: &String| text.parse::<f64>().unwrap_or(f64::NAN);
    let close = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-8 * a.abs().max(b.abs());
    native.iter().zip(translated).all(|(native, translated)| close(number(native), number(translated)))
}

/// The table in the repository says what was found.
fn kept(table: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(EXECUTED, table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(EXECUTED).unwrap(), table, "UPDATE_GOLDEN=1 rewrites {EXECUTED}");
}
