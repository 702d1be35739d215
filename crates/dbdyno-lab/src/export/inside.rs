//! Scripts for a database that runs the jobs itself: one per workload, which the database's own
//! client reads. Engines whose file in `catalog/export/` has a block `run` are exported so.

use std::collections::BTreeMap;

use crate::dataset::{Checksum, Table};
use dbdyno_core::error::Result;
use dbdyno_core::model::{JobCode, PartPlan, Selection};
use dbdyno_core::sql::{Values, fill};
use dbdyno_core::stats::keys::KeyStream;

use super::load::Tables;
use super::workload::setup_sql;
use super::{Export, SEEDED_TESTS, Script};

/// Placeholder for the number of jobs until the client fills it in.
const JOBS: &str = "&jobs";
/// So that no line is too long for the client.
const STATES_PER_LINE: usize = 10;

/// The scripts of every workload; the heads of their results name the pack by what they have in
/// common.
pub(super) fn scripts(
    tables: &Tables<'_>,
    exported: &BTreeMap<String, &Selection>,
    common: &[Script],
) -> Result<Vec<Script>> {
    let pack = tables.export.pack_head(common);
    let script = |(name, selection): (&String, &&Selection)| {
        Ok(Script::new(format!("workloads/{name}.sql"), workload(tables, selection, name, &pack)?))
    };
    exported.iter().map(script).collect()
}

fn workload(tables: &Tables<'_>, selection: &Selection, name: &str, pack: &str) -> Result<String> {
    let export = tables.export;
    let (mut setup, mut teardown, mut parts) = (String::new(), String::new(), String::new());
    for (at, part) in selection.parts.iter().enumerate() {
        setup += &statements(export, &setup_sql(export, part))?;
        teardown += &statements(export, &part.teardown_sql())?;
        parts += &procedure(export, part, at + 1, name)?;
    }
    let warm =
        selection.tables.iter().filter(|table| selection.workload.warm.contains(&table.kind));
    for table in warm {
        setup += &tables.warm(table)?;
    }
    let values = [
        ("prefix", export.engine.capabilities().prefix.to_string()),
        ("name", name.to_string()),
        ("parts", selection.parts.len().to_string()),
        ("setup", setup),
        ("teardown", teardown),
        ("part_procedures", parts),
        ("facts", tables.facts(selection)?),
        ("spool_head", prompts(pack)),
        ("test_head", prompts(&export.test_head(selection, name))),
    ];
    let values = values.map(|(name, value)| (name.to_string(), value)).into();
    Ok(about(export, selection, name)? + &export.head()? + &export.template("run", &values)?)
}

/// The comment at the head of a workload's script.
fn about(export: &Export<'_>, selection: &Selection, name: &str) -> Result<String> {
    Ok(format!(
        "-- {name}: {title}\n-- Usage: {client} USER@SERVICE @workloads/{name}.sql JOBS SECONDS \
         WARMUP_SECONDS\n-- All three numbers are needed. JOBS sessions of the scheduler load the \
         server for that time: not for a server in production.\n-- It makes procedures whose names \
         begin with {prefix}w_ and drops them at its end; README.md says where its results are.\n",
        title = selection.workload.title,
        client = export.block("client")?.text.trim(),
        prefix = export.engine.capabilities().prefix,
    ))
}

/// The procedure that one job of a part of the workload `name` is; nothing for a part without a
/// routine.
fn procedure(export: &Export<'_>, part: &PartPlan, number: usize, name: &str) -> Result<String> {
    let JobCode::Routine(routine) = &part.code else { return Ok(String::new()) };
    let run = |sql: &String| format!("  execute immediate '{}';", sql.replace('\'', "''"));
    let states: Vec<String> = export.first_states(name).map(|state| state.to_string()).collect();
    let states: Vec<String> = states.chunks(STATES_PER_LINE).map(|line| line.join(", ")).collect();
    let values = [
        ("prefix", export.engine.capabilities().prefix.to_string()),
        ("tests", SEEDED_TESTS.to_string()),
        ("states", states.join(",\n    ")),
        ("job_factor", KeyStream::job_factor().to_string()),
        ("part", number.to_string()),
        ("routine", routine.name.clone()),
        ("session", part.session.iter().map(run).collect::<Vec<_>>().join("\n")),
    ];
    export.template("part", &values.map(|(name, value)| (name.to_string(), value)).into())
}

fn statements(export: &Export<'_>, statements: &[String]) -> Result<String> {
    let open = Values::from([("jobs".to_string(), JOBS.to_string())]);
    statements.iter().map(|sql| export.statement(&fill(sql, &open))).collect()
}

/// Lines that the client prints as they are.
fn prompts(lines: &str) -> String {
    lines.lines().map(|line| format!("prompt {line}")).collect::<Vec<_>>().join("\n")
}

/// Holds the rows of every table against the row function.
pub(super) fn verify(tables: &Tables<'_>) -> Result<String> {
    let one = |table: &Table| -> Result<String> {
        let expected = Checksum::of_table(table.rows, 4).to_string();
        let found = expected
            .split(' ')
            .filter_map(|sum| sum.split_once('='))
            .map(|(name, _)| format!("'{name}=' || {name}"));
        let values = [
            ("table", table.full_name(&tables.recipe)),
            ("checksum", tables.checksum(table)?),
            ("found", found.collect::<Vec<_>>().join(" || ' ' || ")),
            ("expected", expected),
        ];
        tables
            .export
            .template("verify", &values.map(|(name, value)| (name.to_string(), value)).into())
    };
    tables.each(one)
}
