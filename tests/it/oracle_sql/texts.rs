//! Every text in SQL and PL/SQL that the catalog has for Oracle, as the program makes it.

use std::collections::BTreeSet;

use dbdyno::catalog::Catalog;
use dbdyno::dataset::{Definition, Recipe, Table};
use dbdyno::engine;
use dbdyno::export::{self, Export};
use dbdyno::model::{AskedRamp, Capabilities, Drive, JobCode, Param, PartPlan, TableRef, Workload};
use dbdyno::plan::{self, Request};
use dbdyno::sql::{Values, fill};

pub const ENGINE: &str = "oracle";
/// The data set's smallest tables.
const SIZE_GB: f64 = 0.01;

/// A statement and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text {
    /// File of the catalog.
    pub file: String,
    pub name: String,
    pub sql: String,
}

impl Text {
    /// Kind of the text, independent of the values of its parameters: `workloads/da DA-INDEX create
    /// or replace procedure`.
    pub fn kind(&self) -> String {
        let name = self.name.split([':', ' ']).next().unwrap_or_default();
        let words = self
            .sql
            .split_whitespace()
            .take_while(|word| word.bytes().all(|b| b.is_ascii_lowercase()))
            .take(4);
        [self.file.as_str(), name].into_iter().chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// As the engine declares them.
pub fn capabilities() -> Capabilities {
    engine::find(ENGINE).unwrap().capabilities()
}

/// Of all workloads with all values of their parameters, of the data set in every organization, of
/// the probes, of the scripts that are exported.
pub fn all(catalog: &Catalog) -> BTreeSet<Text> {
    let mut texts: BTreeSet<Text> =
        catalog.workloads().flat_map(|workload| of_workload(catalog, workload)).collect();
    texts.extend(of_dataset(catalog));
    texts.extend(of_export(catalog));
    texts.extend(of_engine());
    texts.extend(of_harness(catalog));
    // Numbers of snapshots, as the report of a repository has them.
    let snapshots = Values::from([("begin".into(), "41".into()), ("end".into(), "42".into())]);
    texts.extend(catalog.probes(ENGINE, &[19]).into_iter().map(|block| Text {
        file: "probes".into(),
        name: block.name.clone(),
        sql: fill(dbdyno::sql::statement(&block.text), &snapshots),
    }));
    texts.retain(|text| !text.sql.is_empty());
    texts
}

/// A workload's parts with these parameters (`ID:name=value,...`), as both drives run them.
pub fn parts(catalog: &Catalog, selection: &str, drive: Drive, size_gb: f64) -> Vec<PartPlan> {
    parts_on(ENGINE, catalog, selection, drive, size_gb)
}

/// The same on any engine; nothing if it cannot run there.
pub fn parts_on(
    engine: &str,
    catalog: &Catalog,
    selection: &str,
    drive: Drive,
    size_gb: f64,
) -> Vec<PartPlan> {
    let request = Request {
        workloads: vec![selection.into()],
        drive: Some(drive),
        size_gb: Some(size_gb),
        ..Request::new(engine, engine::find(engine).unwrap().capabilities(), 2)
    };
    let plan = plan::build(catalog, &request);
    plan.map(|plan| plan.selections.into_iter().flat_map(|selection| selection.parts).collect())
        .unwrap_or_default()
}

fn of_workload(catalog: &Catalog, workload: &Workload) -> Vec<Text> {
    let mut texts = Vec::new();
    for selection in selections(workload) {
        for drive in [Drive::Database, Drive::Client] {
            let parts = parts(catalog, &selection, drive, SIZE_GB);
            texts.extend(parts.iter().flat_map(|part| of_part(part, &selection, &workload.group)));
        }
    }
    texts
}

/// `ID:org=heap,rpt=2`: every value of a parameter that lists them together with every one of the
/// others, the default and the smallest of a number.
fn selections(workload: &Workload) -> Vec<String> {
    let chosen = workload
        .params
        .iter()
        .filter(|param| param.name != "transport" && param.name != "protocol");
    let combinations = chosen.fold(vec![Vec::new()], |before, param| {
        let with = |chosen: &Vec<String>| {
            let chosen = chosen.clone();
            values(param).into_iter().map(move |value| {
                [chosen.clone(), vec![format!("{}={value}", param.name)]].concat()
            })
        };
        before.iter().flat_map(with).collect()
    });
    let named = combinations.into_iter().map(|chosen: Vec<String>| chosen.join(","));
    named
        .map(|chosen| [workload.id.as_str(), &chosen].join(":").trim_end_matches(':').to_string())
        .collect()
}

fn values(param: &Param) -> Vec<String> {
    let default = param.engine_default.get(ENGINE).unwrap_or(&param.default).clone();
    let more =
        if param.values.is_empty() { param.min.map(|min| (min + 1).to_string()) } else { None };
    let listed = param.values.iter().filter(|value| *value != "default").cloned();
    let all: BTreeSet<String> = [default].into_iter().chain(more).chain(listed).collect();
    all.into_iter().collect()
}

fn of_part(part: &PartPlan, selection: &str, group: &str) -> Vec<Text> {
    let mut texts = [part.setup_sql(), part.teardown_sql(), part.session.clone()].concat();
    match &part.code {
        JobCode::Routine(routine) => texts.push(routine.call.sql.clone()),
        JobCode::Client { branches, .. } => {
            texts.extend(
                branches
                    .iter()
                    .flat_map(|branch| branch.statements.iter().map(|step| step.sql.clone())),
            );
        }
        JobCode::Bulk { .. } => {}
    }
    let file = format!("workloads/{}", group.to_lowercase());
    let text = |sql: String| Text {
        file: file.clone(),
        name: selection.into(),
        sql: sql.replace("{{jobs}}", "4"),
    };
    texts.into_iter().map(text).collect()
}

/// The routine around no work at all.
fn of_harness(catalog: &Catalog) -> Vec<Text> {
    let blocks = catalog.harness(ENGINE);
    let block = |name: &str| blocks[name].text.as_str();
    let own = [("routine", "dbdyno_w"), ("declare", "v_none number;"), ("body", "null;")];
    let own: Values = own.map(|(name, value)| (name.to_string(), value.to_string())).into();
    let all = Values::from([("loop".to_string(), fill(block("loop"), &own))])
        .into_iter()
        .chain(own.clone())
        .collect();
    let text = |name: &str| Text {
        file: "harness".into(),
        name: name.into(),
        sql: dbdyno::sql::statement(&fill(block(name), &all)).into(),
    };
    ["procedure", "call", "drop"].map(text).into()
}

/// Statements of the engine itself, with values for its names.
fn of_engine() -> Vec<Text> {
    let blocks = dbdyno::sql::parse_blocks(
        "provision.sql",
        include_str!("../../../crates/dbdyno-engines/src/engine/oracle/provision.sql"),
    )
    .unwrap();
    let values = [
        ("name", "p"),
        ("sid", "1"),
        ("serial", "2"),
        ("instance", "1"),
        ("table", "t"),
        ("prefix", "dbdyno_"),
    ];
    let values = values.map(|(name, value)| (name.to_string(), value.to_string())).into();
    let text = |block: &dbdyno::sql::Block| Text {
        file: "engine".into(),
        name: block.name.clone(),
        sql: dbdyno::sql::statement(&fill(&block.text, &values)).into(),
    };
    blocks.iter().map(text).collect()
}

/// The blocks of the data set for both tables in every organization.
fn of_dataset(catalog: &Catalog) -> Vec<Text> {
    let set = catalog.dataset("dbdyno").unwrap();
    let definition = Definition::parse(&set.toml, &set.toml_path).unwrap();
    let recipe = Recipe {
        engine: ENGINE,
        capabilities: capabilities(),
        definition: &definition,
        blocks: &set.blocks,
    };
    let orgs = capabilities().orgs;
    let tables = ["small", "big"].into_iter().flat_map(|kind| {
        orgs.iter().map(move |org| TableRef { kind: kind.into(), org: Some((*org).to_string()) })
    });
    tables
        .flat_map(|table| of_table(&recipe, &Table::of_size(&recipe, &table, SIZE_GB, 42)))
        .collect()
}

fn of_table(recipe: &Recipe<'_>, table: &Table) -> Vec<Text> {
    let mut values = table.values(recipe);
    let given = [
        ("lo", "1"),
        ("hi", "1000"),
        ("words", "srv|tp|w"),
        ("data_set_id", "0"),
        ("checksum", "0"),
        ("table_bytes", "0"),
        ("index_bytes", "0"),
        ("loaded_at", "now"),
    ];
    values.extend(given.map(|(name, value)| (name.to_string(), value.to_string())));
    values.insert("row_select".into(), recipe.sql("row-select", &values).unwrap().unwrap());
    let own = |name: &&String| {
        !name.contains('.')
            || !recipe.capabilities.orgs.iter().any(|org| name.ends_with(&format!(".{org}")))
    };
    let names: Vec<String> =
        recipe.names("").into_iter().filter(|name| name != "columns").collect();
    let create = format!("create.{}", table.org);
    let names = names.iter().filter(own).chain([&create]);
    let text = |name: &String| {
        Some(Text {
            file: "datasets".into(),
            name: format!("{name} {}", table.name),
            sql: recipe.sql(name, &values).unwrap()?,
        })
    };
    names.filter_map(text).collect()
}

/// Output of `export-sql oracle` for every workload, statement by statement.
fn of_export(catalog: &Catalog) -> Vec<Text> {
    let workloads =
        catalog.workloads().filter(|workload| !workload.unsupported.contains_key(ENGINE));
    let workloads = workloads.map(|workload| workload.id.clone()).collect();
    let jobs = Some(AskedRamp::single(1));
    let request = Request {
        workloads,
        jobs,
        size_gb: Some(SIZE_GB),
        ..Request::new(ENGINE, capabilities(), 2)
    };
    let plan = plan::build(catalog, &request).unwrap();
    let engine = engine::find(ENGINE).unwrap();
    let scripts = export::scripts(&Export {
        catalog,
        engine,
        plan: &plan,
        command: "export-sql oracle".into(),
        data_bytes: 0,
    })
    .unwrap();
    scripts
        .iter()
        .filter(|script| script.path.ends_with(".sql"))
        .flat_map(|script| of_script(&script.path, &script.text))
        .collect()
}

/// The statements of a script: what stands between lines of a slash, without the client's own
/// commands before them.
fn of_script(path: &str, text: &str) -> Vec<Text> {
    let text = ["&jobs", "&1", "&2", "&3"]
        .iter()
        .fold(text.to_string(), |text, mark| text.replace(mark, "4"));
    let statement = |chunk: &str| {
        let lines: Vec<&str> = chunk.lines().skip_while(|line| is_command(line)).collect();
        let sql = lines.join("\n");
        Text { file: "export".into(), name: path.to_string(), sql }
    };
    text.split("\n/\n").map(statement).filter(|text| !text.sql.trim().is_empty()).collect()
}

fn is_command(line: &str) -> bool {
    let commands = [
        "whenever",
        "set",
        "column",
        "prompt",
        "spool",
        "variable",
        "exit",
        "alter session set nls",
        "--",
    ];
    line.trim().is_empty() || commands.iter().any(|command| line.starts_with(command))
}
