//! Oracle's texts without a server of Oracle: parsed by a grammar, and the routines, translated,
//! run on PostgreSQL. `make oracle` installs what these tests need
//! (`scripts/oracle-dependencies.sh`) and runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use dbdyno::catalog::Catalog;
use dbdyno::dataset::{Checksum, Definition, Recipe, Table};
use dbdyno::engine::{Rows, Session};
use dbdyno::model::rows::{RowFunction, table_rows};
use dbdyno::model::{Drive, JobCode, PartPlan, TableRef, Workload};
use dbdyno::sql::fill;

use crate::servers::Lease;
use crate::support::{Desk, finished_group, try_session_of};

mod mariadb_mode;
mod texts;

/// Nominal size of the data set here.
const SIZE_GB: f64 = 0.01;
/// Ops of a call, and the state of its key generator.
const OPS: u32 = 12;
const SEED: u32 = 4711;
/// Ways in which each text ran: `UPDATE_GOLDEN=1` rewrites it.
const EXECUTED: &str = "tests/oracle/executed.csv";

fn catalog() -> Catalog {
    crate::support::catalog()
}

#[test]
#[ignore = "minutes of processor time: make oracle"]
fn the_grammar_accepts_every_text_and_refuses_mutants() {
    let (desk, parser) = (Desk::new(), dbdyno::host::cache_dir().join("plsql-parser"));
    let (statements, script) = (desk.path("statements.jsonl"), parser.join("grammar.mjs"));
    std::fs::copy("tests/oracle/grammar.mjs", &script).unwrap();
    let lines = texts::all(&catalog()).into_iter().map(|text| {
        serde_json::json!({"file": text.file, "name": text.name, "text": text.sql}).to_string()
    });
    let lines: Vec<String> = lines.collect();
    assert!(lines.len() > 1000, "{} texts", lines.len());
    std::fs::write(&statements, lines.join("\n")).unwrap();
    let mut node = Command::new("node");
    node.arg(&script).arg(&statements).args(std::env::var_os("ORACLE_FILE"));
    let said = node.output().unwrap();
    let (out, errors) =
        (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    println!("{out}");
    assert!(said.status.success(), "{out}{errors}");
}

#[test]
#[ignore = "needs druid: make oracle"]
fn a_second_parser_accepts_every_text_but_for_what_it_lacks() {
    let desk = Desk::new();
    let all = texts::all(&catalog());
    let entries = all
        .iter()
        .map(|text| format!("{}\x1f{}", text.kind(), text.sql.trim_end_matches("-- PL/SQL")));
    let file = desk.path("texts");
    std::fs::write(&file, entries.collect::<Vec<_>>().join("\x1e")).unwrap();
    let mut java = Command::new("java");
    java.arg("-cp").arg(dbdyno::host::cache_dir().join("druid/druid-1.2.28.jar"));
    java.arg("tests/oracle/Druid.java").arg(&file);
    let said = finished_group(java, "Druid.java").ok().stdout;
    let refused: BTreeMap<&str, &str> =
        said.lines().filter_map(|line| line.split_once('\x1f')).collect();
    let listed = std::fs::read_to_string("tests/oracle/druid.csv").unwrap();
    let listed: BTreeSet<&str> =
        listed.lines().skip(1).filter_map(|line| Some(line.split_once(',')?.0)).collect();
    let unlisted = refused.iter().filter(|(text, _)| !listed.contains(*text));
    let unlisted: Vec<String> =
        unlisted.map(|(text, why)| format!("refused, not listed: {text}: {why}")).collect();
    assert!(unlisted.is_empty(), "{}", unlisted.join("\n"));
    let accepted: Vec<&&str> = listed.iter().filter(|text| !refused.contains_key(**text)).collect();
    assert!(accepted.is_empty(), "listed, but accepted: {accepted:?}");
    println!("druid: {} texts, {} kinds of them refused, as listed", all.len(), refused.len());
}

#[test]
fn the_exported_scripts_need_no_other_program() {
    let desk = Desk::new();
    let dir = desk.path("pack");
    let ids = "--workload SRV-QUERY25 --workload TP-MIXED1 --workload SRV-QUERY1:org=hash";
    desk.run(&format!("export-sql oracle --size {SIZE_GB} {ids} --output {}", dir.display())).ok();
    let read = |name: &str| {
        std::fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let mixed = read("workloads/TP-MIXED1.sql");
    for part in [
        "test TP-MIXED1",
        "dbms_scheduler.create_job",
        "ceil(&1 / 4) * 4",
        "dbdyno_w_part_4(",
        "spool dbdyno.spool append",
        // Each test and each job draws keys of its own.
        "varray(100) of number",
        "v_states(mod(p_test - 1, 100) + 1)",
        "v_state := mod(v_state * 766427551, 2147483647)",
    ] {
        assert!(mixed.contains(part), "{part}: {mixed}");
    }
    for script in [
        "create.sql",
        "load.sql",
        "drop.sql",
        "workloads/SRV-QUERY25.sql",
        "workloads/SRV-QUERY1.org-hash.sql",
    ] {
        let text = read(script);
        assert!(
            !text.contains("{{") && text.trim_end().ends_with("exit success"),
            "{script}: {text}"
        );
        assert!(!text.to_lowercase().contains("password"), "{script}");
    }
    let rows = RowFunction { table_rows: table_rows("small", SIZE_GB), seed: 42 };
    assert!(
        read("verify.sql").contains(&Checksum::of_table(rows, 2).to_string()),
        "{}",
        read("verify.sql")
    );
    assert!(!dir.join("run.sh").exists() && read("README.md").contains("TP-MIXED1"));
    dropped_is_what_was_created(&dir);
}

/// Every table, cluster and procedure that a script creates goes with `drop.sql` or with the script
/// itself; and no line is longer than SQL*Plus reads.
fn dropped_is_what_was_created(dir: &Path) {
    let objects = |text: &str, verbs: &[&str]| -> BTreeSet<String> {
        let text = text.to_lowercase();
        let kinds = ["table", "cluster", "procedure", "function"];
        let verbs =
            verbs.iter().flat_map(|verb| kinds.iter().map(move |kind| format!("{verb} {kind} ")));
        let names = verbs
            .flat_map(|verb| text.split(&verb).skip(1).map(str::to_string).collect::<Vec<_>>());
        names
            .map(|rest| {
                rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .next()
                    .unwrap()
                    .to_string()
            })
            .collect()
    };
    let dropped = std::fs::read_to_string(dir.join("drop.sql")).unwrap();
    // Everything with these beginnings is looked for in the catalogue.
    assert!(dropped.contains("'^dbdyno_(w|state)_'"), "{dropped}");
    let gone = objects(&dropped, &["drop"]);
    let scripts =
        std::fs::read_dir(dir.join("workloads")).unwrap().chain(std::fs::read_dir(dir).unwrap());
    for path in scripts
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "sql"))
    {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().all(|line| line.len() < 2_400), "{}", path.display());
        let own = objects(&text, &["drop"]);
        let left = objects(&text, &["create", "create or replace"]).into_iter().filter(|name| {
            !(gone.contains(name)
                || own.contains(name)
                || name.starts_with("dbdyno_w_")
                || name.starts_with("dbdyno_state_"))
        });
        assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new(), "{}", path.display());
    }
}

/// As SQL*Plus writes what the scripts' SELECTs and PROMPTs give: two jobs, three workloads.
const SPOOL: &str = "tests/fixtures/oracle.spool";

#[test]
fn a_spool_of_sqlplus_becomes_a_run_with_verdicts_and_reports() {
    let desk = Desk::new();
    desk.run(&format!("results import {SPOOL}")).ok();
    let run = desk.shown("last");
    assert_eq!(
        (run["engine"].as_str(), run["kind"].as_str()),
        (Some(texts::ENGINE), Some("scripts"))
    );
    let figures = |run: &serde_json::Value| -> Vec<(String, f64)> {
        let tests = run["tests"].as_array().unwrap().iter();
        tests
            .map(|test| (test["workload"].to_string(), test["kpm"]["value"].as_f64().unwrap()))
            .collect()
    };
    let found = figures(&run);
    assert_eq!(found.len(), 3);
    for test in run["tests"].as_array().unwrap() {
        let verdict = &test["verdict"];
        let has = |code: &str| {
            verdict["reasons"].as_array().unwrap().iter().any(|reason| reason["code"] == code)
        };
        assert_eq!(verdict["status"], "conditional", "{verdict:#}");
        assert!(has("scripts") && has("unconfirmed-engine") && !has("crosscheck"), "{verdict:#}");
    }
    let asked_by_name =
        dbdyno::report::REPORTS.iter().filter(|report| report.own_command().is_none());
    for report in asked_by_name.map(|report| report.name()) {
        let runs = match report {
            "test" => "last:1",
            "catalog" => "",
            _ => "last",
        };
        let made = desk.run(&format!("report {report} {runs} --format json"));
        assert!(
            made.code == Some(0)
                || made.stderr.contains("sweep")
                || made.stderr.contains("is not a side of an A/B test")
                || made.stderr.contains("measured together"),
            "{report}: {}",
            made.stderr
        );
    }
    // On Windows, with the blanks that trimspool would have taken away.
    let text = std::fs::read_to_string(SPOOL).unwrap();
    let padded = text.lines().map(|line| format!("{line:<120}\r\n")).collect::<String>();
    std::fs::write(desk.path("padded.spool"), padded).unwrap();
    desk.run(&format!("results import {}", desk.path("padded.spool").display())).ok();
    assert_eq!(figures(&desk.shown("last")), found);
}

#[test]
fn a_damaged_spool_is_one_line_that_says_where() {
    let (desk, text) = (Desk::new(), std::fs::read_to_string(SPOOL).unwrap());
    let middle = text.find("\njob 2 part 1").unwrap() + 30;
    let wrapped = |line: &str| {
        let letters: Vec<char> = line.chars().collect();
        letters.chunks(80).map(|part| part.iter().collect::<String>() + "\n").collect::<String>()
    };
    let echo = "select 'begin ' || name from dbdyno_state_counters\n       *\nERROR at line \
                1:\nORA-00942: table or view does not exist\n";
    for (name, damaged, words) in [
        ("cut", text[..middle].to_string(), "is cut"),
        ("wrapped", text.lines().map(wrapped).collect(), "wrapped"),
        (
            "stopped",
            text.replacen("begin blocks", &format!("{echo}begin blocks"), 1),
            "the client reports 'ORA-00942",
        ),
        ("two", format!("{text}{}", text.replace("pack 5d", "pack 6d")), "of two script packs"),
        ("comma", text.replacen("total_s 11.", "total_s 11,", 1), "a decimal point, no comma"),
    ] {
        let file = desk.path(&format!("{name}.spool"));
        std::fs::write(&file, damaged).unwrap();
        let done = desk.run(&format!("results import {}", file.display()));
        done.fails(2, &[&format!("{name}.spool:"), words]);
    }
}

#[test]
#[ignore = "needs ora2pg and orafce: make oracle"]
fn routines_translated_from_oracle_do_what_those_of_postgres_do() {
    let (desk, lease, catalog) = (Desk::new(), Lease::new("postgres", None, &[]), catalog());
    desk.run(&format!(
        "load {} --size {SIZE_GB} --quiet --workload TP-LIGHT --workload SRV-QUERY1",
        lease.url
    ))
    .ok();
    let mut session = translator(&lease);
    let workloads: Vec<&Workload> =
        catalog.workloads().filter(|workload| workload.parts.is_empty()).collect();
    let pairs: Vec<(&Workload, Option<Pair>)> = workloads
        .iter()
        .map(|workload| (*workload, Pair::from_workload(&catalog, workload)))
        .collect();
    create_translated(session.as_mut(), &desk, &pairs);
    let mut mode = mariadb_mode::Mode::new(&desk, &catalog);
    let mut table = vec![
        "workload,translated by ora2pg and run on PostgreSQL,run by MariaDB in its mode ORACLE,why \
         not".to_string(),
    ];
    let mut different = Vec::new();
    for (workload, pair) in &pairs {
        let Some(pair) = pair else {
            table.push(format!("{},,,it has no routine", workload.id));
            continue;
        };
        let (native, mut translated) = pair.run(session.as_mut());
        if COMMITS_OF_ITS_OWN.contains(&workload.id.as_str()) {
            translated[COMMITS].clone_from(&native[COMMITS]);
        }
        if !alike(&native, &translated) {
            different
                .push(format!("{}: {native:?} natively, {translated:?} translated", workload.id));
        }
        let in_mode = mode.run(workload, &pair.oracle);
        let (is_run, lacks) = in_mode.as_ref().map_or_else(|what| ("", *what), |_| ("yes", ""));
        table.push(format!("{},yes,{is_run},{lacks}", workload.id));
        if let Ok(done) = in_mode
            && !alike(&native, &done)
        {
            different
                .push(format!("{}: {native:?} on PostgreSQL, {done:?} in MariaDB", workload.id));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(table.len() > 35, "{} lines", table.len());
    kept(&(table.join("\n") + "\n"));
}

/// Ops of a timed call, and calls of each kind.
const TIMED_OPS: u32 = 20_000;
const CALLS: usize = 9;

/// Workloads whose commits are not those of PostgreSQL: there a file is made and then written out
/// by a second transaction, which Oracle's own statement does not take.
const COMMITS_OF_ITS_OWN: [&str; 1] = ["STO-FILES"];
/// Position of the commits in the result of a routine.
const COMMITS: usize = 2;

#[test]
#[ignore = "prints a ratio, of a calm machine at most 1.05: make oracle"]
fn the_translated_harness_is_timed_against_the_barest_loop() {
    let (desk, lease, catalog) = (Desk::new(), Lease::new("postgres", None, &[]), catalog());
    desk.run(&format!("load {} --size {SIZE_GB} --quiet --workload SRV-QUERY1", lease.url)).ok();
    let mut session = translator(&lease);
    for id in ["SRV-QUERY1", "SRV-QUERY25"] {
        let workload = &catalog.find(id).unwrap().entry.workload;
        let pairs = [(workload, Pair::from_workload(&catalog, workload))];
        create_translated(session.as_mut(), &desk, &pairs);
        let oracle = &pairs[0].1.as_ref().unwrap().oracle;
        let routine =
            oracle.setup_sql().into_iter().find(|sql| sql.contains(routine_name(oracle))).unwrap();
        let bare = translate(&desk, &barest(&routine).replace("-- PL/SQL", "/\n\n"), "procedure");
        let at = bare.find("CREATE OR REPLACE").unwrap();
        session.execute(bare[at..].trim().trim_end_matches(';')).unwrap();
        let timed = format!(
            "call {}(1, 1, 1000000000000, {TIMED_OPS}, 100, {SEED}{})",
            routine_name(oracle),
            ", null".repeat(8)
        );
        let bare = format!("call dbdyno_w_bare({TIMED_OPS}, {SEED}, null, null)");
        let processor_s = |session: &mut dyn Session| {
            let pid: i32 = session
                .query("select pg_backend_pid()", &[])
                .unwrap()
                .scalar()
                .unwrap()
                .parse()
                .unwrap();
            let stat = procfs::process::Process::new(pid).unwrap().stat().unwrap();
            (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64
        };
        let mut seconds = [0.0; 2];
        for at in 0..2 * CALLS {
            let begun = processor_s(session.as_mut());
            session.query([&timed, &bare][at % 2], &[]).unwrap();
            seconds[at % 2] += processor_s(session.as_mut()) - begun;
        }
        let ratio = seconds[0] / seconds[1];
        assert!(ratio > 0.5, "{id}: {ratio}: the bare loop does more than the harness");
        println!(
            "{id}: harness / barest loop = {ratio:.3} by the server's processor time ({CALLS} \
             calls of each in turn, {:.2} s)",
            seconds[1]
        );
    }
}

/// The work of a routine in the barest loop, in Oracle's language.
fn barest(routine: &str) -> String {
    let (declare, body) = mariadb_mode::inside(routine).unwrap();
    format!(
        "create or replace procedure dbdyno_w_bare(p_ops in number, p_seed in number, p_rows out \
         number, p_next_seed out number)\nas\n  c_multiplier constant binary_double := 48271;\n  \
         c_modulus constant binary_double := 2147483647;\n  v_seed binary_double := p_seed;\n  \
         v_rows number := 0;\n  v_commits number := 0;\n  v_sink binary_double := \
         0;\n{declare}begin\n  for v_op in 1 .. p_ops loop\n    v_seed := v_seed * \
         c_multiplier;\n    v_seed := v_seed - floor(v_seed / c_modulus) * c_modulus;\n{body}  end \
         loop;\n  p_rows := v_rows;\n  p_next_seed := v_seed;\nend;\n-- PL/SQL"
    )
}

#[test]
#[ignore = "needs ora2pg and orafce: make oracle"]
fn rows_and_checksums_by_oracles_text_are_those_of_the_row_function() {
    let (desk, lease, catalog) = (Desk::new(), Lease::new("postgres", None, &[]), catalog());
    let mut session = translator(&lease);
    let set = catalog.dataset("dbdyno").unwrap();
    let definition = Definition::parse(&set.toml, &set.toml_path).unwrap();
    let capabilities = texts::capabilities();
    let recipe = Recipe {
        engine: texts::ENGINE,
        capabilities,
        definition: &definition,
        blocks: &set.blocks,
    };
    session.execute("create schema dbdyno").unwrap();
    for size_gb in [0.01, 0.5, 4.0] {
        let rows = RowFunction { table_rows: table_rows("big", size_gb), seed: 42 };
        let table = Table::new(&recipe, &TableRef::new("big"), rows);
        let mut values = table.values(&recipe);
        values.extend(
            [("lo", "1"), ("hi", "10000")]
                .map(|(name, value)| (name.to_string(), value.to_string())),
        );
        let text = |name: &str| format!("{};\n", recipe.sql(name, &values).unwrap().unwrap());
        session.execute("drop table if exists dbdyno.big").unwrap();
        let made = translate(&desk, &text("row-select"), "query");
        let names =
            "id, key25, key125, key320, region, booked_on, amount, quantity, status, code, filler";
        let made = made.trim().trim_end_matches(';').to_string();
        session.execute(&format!("create table dbdyno.big ({names}) as {made}")).unwrap();
        let sums = session
            .query(translate(&desk, &text("checksum"), "query").trim().trim_end_matches(';'), &[])
            .unwrap();
        assert_eq!(whole(&sums), Ok(Checksum::compute(rows, 1..10_001)), "{size_gb} GB");
    }
}

/// The checksum of a result whose sums may be written with decimals (`16000.00`).
fn whole(sums: &Rows) -> Result<Checksum, String> {
    let cut = |cell: &Option<String>| {
        cell.as_ref().map(|text| text.split('.').next().unwrap_or_default().to_string())
    };
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

/// Result of a routine: ops, rows, commits, next state of the key generator, sink.
type Done = [String; 5];

/// Rows of a batch of DL-DIRECT here.
const BATCH: u64 = 1000;

/// A workload's part for PostgreSQL, a routine but for a bulk load, and the routine for Oracle.
struct Pair {
    native: PartPlan,
    oracle: PartPlan,
}

impl Pair {
    fn from_workload(catalog: &Catalog, workload: &Workload) -> Option<Pair> {
        let with = match workload.id.as_str() {
            "STO-WRITE" | "STO-FILES" => ":file_mb=1",
            "CPU-FIBONACCI" => ":n=12",
            "DL-DIRECT" => ":batch=1000",
            _ => "",
        };
        // A plain COMMIT does in PostgreSQL what it does in LGWR-LAT.
        let id = if workload.id == "LGWR-PLAIN" { "LGWR-LAT" } else { &workload.id };
        let of = |engine: &str, id: &str, drive| {
            texts::parts_on(engine, catalog, &format!("{id}{with}"), drive, SIZE_GB).pop()
        };
        let drive = if workload.bulk { Drive::Client } else { Drive::Database };
        let native = of("postgres", id, drive)?;
        Some(Pair { native, oracle: of(texts::ENGINE, &workload.id, Drive::Database)? })
    }

    /// Runs both, one after the other, on the same tables.
    fn run(&self, session: &mut dyn Session) -> (Done, Done) {
        let on = |session: &mut dyn Session, statements: Vec<String>| {
            let jobs = BTreeMap::from([("jobs".to_string(), "1".to_string())]);
            for sql in &statements {
                session.execute(&fill(sql, &jobs)).unwrap_or_else(|error| panic!("{error}: {sql}"));
            }
        };
        on(session, self.native.setup_sql());
        checked(session, routine_name(&self.oracle));
        let native = match &self.native.code {
            JobCode::Routine(_) => called(session, &native_call(&self.native), ""),
            _ => loaded(),
        };
        let translated = called(session, &translated_call(&self.oracle), "p_");
        if let JobCode::Bulk { table, .. } = &self.native.code {
            let sql =
                format!("select count(*), count(distinct id), min(length(filler)) from {table}");
            let rows = (u64::from(OPS) * BATCH).to_string();
            let found = session.query(&sql, &[]).unwrap().rows.remove(0);
            assert_eq!(found, [Some(rows.clone()), Some(rows), Some("180".into())]);
        }
        on(session, self.native.teardown_sql());
        (native, translated)
    }
}

/// Names and types of a routine are right as PostgreSQL's checker sees them, with its tables there.
fn checked(session: &mut dyn Session, routine: &str) {
    let sql = format!(
        "select c.lineno, c.message from pg_proc p cross join lateral \
         plpgsql_check_function_tb(p.oid::regprocedure) c where p.proname = '{routine}' and \
         c.level = 'error'"
    );
    let found = session.query(&sql, &[]).unwrap_or_else(|error| panic!("{error}: {routine}"));
    assert!(found.rows.is_empty(), "{routine}: {:?}", found.rows);
}

/// Result of the ops of a bulk load, which PostgreSQL has no routine for.
fn loaded() -> Done {
    let seed = (0..OPS).fold(u64::from(SEED), |seed, _| seed * 48_271 % 2_147_483_647);
    [u64::from(OPS), u64::from(OPS) * BATCH, u64::from(OPS), seed, 0]
        .map(|number| number.to_string())
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
    format!(
        "call {}(1, 1, 1000000000000, {OPS}, 1, {SEED}{})",
        routine_name(part),
        ", null".repeat(8)
    )
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

/// Creates the translated routines and functions, whose names and types PostgreSQL's checker finds
/// right.
fn create_translated(session: &mut dyn Session, desk: &Desk, pairs: &[(&Workload, Option<Pair>)]) {
    let created =
        pairs.iter().filter_map(|(_, pair)| pair.as_ref()).flat_map(|pair| pair.oracle.setup_sql());
    let (mut functions, mut procedures) = (Vec::new(), Vec::new());
    for sql in created {
        let kind = if sql.starts_with("create or replace function") {
            &mut functions
        } else {
            &mut procedures
        };
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
    native
        .iter()
        .zip(translated)
        .all(|(native, translated)| close(number(native), number(translated)))
}

/// The table in the repository says what was found.
fn kept(table: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(EXECUTED, table).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(EXECUTED).unwrap(),
        table,
        "UPDATE_GOLDEN=1 rewrites {EXECUTED}"
    );
}
