//! The scripts of one workload: setup, a job of each part, teardown.

use dbdyno_core::error::Result;
use dbdyno_core::model::vectors::VectorData;
use dbdyno_core::model::{BoundStatement, JobCode, PartPlan, Selection};
use dbdyno_core::sql::{Values, fill, with_vectors};

use super::load::Tables;
use super::{Export, Script, kpm_line};

/// Marks that `run.sh` fills in, by the names of the binds of a routine's call.
const MARKS: [(&str, &str); 3] =
    [("job", "__JOB__"), ("jobs", "__JOBS__"), ("stride", "__STRIDE__")];
/// More ops than any window holds.
const MAX_OPS: &str = "1000000000000";
/// The call before the jobs wait for their common start: plans are made, the first blocks touched.
const WARM_CALL_US: &str = "100000";

pub(super) fn scripts(
    tables: &Tables<'_>,
    selection: &Selection,
    name: &str,
) -> Result<Vec<Script>> {
    let export = tables.export;
    let path = |file: &str| format!("workloads/{name}/{file}");
    let (mut setup, mut teardown) = (export.head()?, export.head()?);
    let mut scripts = Vec::new();
    for (at, part) in selection.parts.iter().enumerate() {
        setup += &statements(export, &setup_sql(export, part))?;
        teardown += &statements(export, &part.teardown_sql())?;
        for (kind, text) in jobs(export, part)? {
            scripts.push(Script::new(path(&format!("part-{}.{kind}.sql", at + 1)), text));
        }
    }
    let warm =
        selection.tables.iter().filter(|table| selection.workload.warm.contains(&table.kind));
    for table in warm {
        setup += &tables.warm(table)?;
    }
    let states = export.first_states(name).map(|state| format!("{state}\n"));
    scripts.push(Script::new(path("states"), states.collect::<String>()));
    scripts.push(Script::new(path("setup.sql"), setup));
    scripts.push(Script::new(path("teardown.sql"), teardown));
    scripts.push(Script::new(path("spool.head"), export.test_head(selection, name)));
    scripts.push(Script::new(path("facts.sql"), tables.facts(selection)?));
    scripts.extend(kpm_line(selection).map(|line| Script::new(path("kpm"), line)));
    Ok(scripts)
}

/// The statements of a setup, with its vectors in them.
pub(super) fn setup_sql(export: &Export<'_>, part: &PartPlan) -> Vec<String> {
    let vectors = part.vectors.map(|set| VectorData::new(set, export.plan.seed));
    let texts = part.setup_sql().into_iter();
    texts.flat_map(|sql| with_vectors(sql, vectors.as_ref())).collect()
}

fn statements(export: &Export<'_>, statements: &[String]) -> Result<String> {
    let open = Values::from([("jobs".to_string(), "__JOBS__".to_string())]);
    statements.iter().map(|sql| export.statement(&fill(sql, &open))).collect()
}

/// The scripts of a part's job: a warm-up and a loop, or a session and the call of one transaction.
fn jobs(export: &Export<'_>, part: &PartPlan) -> Result<Vec<(&'static str, String)>> {
    let JobCode::Routine(routine) = &part.code else { return Ok(Vec::new()) };
    let session = export.head()? + &statements(export, &part.session)?;
    if routine.per_op {
        let call = call(&routine.call, "0", &export.block("random-seed")?.text) + ";\n";
        let values =
            Values::from([("session".to_string(), session), ("call".to_string(), call.clone())]);
        return Ok(vec![("calls", export.template("calls", &values)?), ("call", call)]);
    }
    let with = |calls: [(&str, String); 1], template: &str, warm: &str| {
        let mut values = Values::from([("session".to_string(), session.clone())]);
        values.extend(calls.map(|(name, text)| (name.to_string(), text)));
        values.insert("warm_call".into(), warm.to_string());
        export.template(template, &values)
    };
    let probe = with(
        [(
            "probe_call",
            call(&routine.call, "__WARMUP_US__", "__SEED__").replace("__STRIDE__", "1"),
        )],
        "probe",
        "",
    )?;
    let timed = call(&routine.call, "__WINDOW_US__", "__SEED__");
    let warm_call = call(&routine.call, WARM_CALL_US, "__WARM_SEED__");
    let job = with([("call", timed)], "job", &warm_call)?;
    Ok(vec![("probe", probe), ("job", job)])
}

/// The call with marks and values in the place of its binds.
fn call(statement: &BoundStatement, slice_us: &str, seed: &str) -> String {
    let value = |name: &str| match name {
        "slice_us" => slice_us,
        "max_ops" => MAX_OPS,
        "seed" => seed,
        other => MARKS.iter().find(|mark| mark.0 == other).map_or("null", |mark| mark.1),
    };
    statement.with_values(value)
}
