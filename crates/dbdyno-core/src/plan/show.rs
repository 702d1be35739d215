//! Content of a plan: its SQL for people, and all of it as JSON, as stored with a run.

use serde_json::{Value, json};

use crate::model::{
    AskedRate, BoundStatement, Commit, JobCode, Loop, PartPlan, Plan, Selection, SqlPiece, TableRef,
};
use crate::sql;

/// Values that stand for the binds of a routine's call, so that what is shown can be pasted into a
/// client and run; every other bind is a key.
const EXAMPLES: &[(&str, &str)] = &[
    ("job", "1"),
    ("jobs", "1"),
    ("slice_us", "100000"),
    ("max_ops", "1000000"),
    ("stride", "10"),
    ("seed", "42"),
    ("tell_us", "50000"),
];
const EXAMPLE_KEY: &str = "7";

/// Everything a selection runs, in order: setup, routine or statements, teardown. Binds are shown
/// as example values.
pub fn show(selection: &Selection) -> Vec<SqlPiece> {
    let mixed = selection.parts.len() > 1;
    let of_part = |part: &PartPlan| {
        let lead = if mixed { format!("{}: ", part.workload) } else { String::new() };
        pieces(part).into_iter().map(move |piece| SqlPiece {
            caption: format!("{lead}{}", piece.caption),
            sql: piece.sql,
        })
    };
    selection.parts.iter().flat_map(of_part).collect()
}

/// The statements of a part under one caption.
fn caption_statements(caption: &str, statements: &[String]) -> impl Iterator<Item = SqlPiece> {
    statements
        .iter()
        .map(move |text| SqlPiece { caption: caption.into(), sql: sql::bind_late(text, 1) })
}

/// Everything that a part of a selection runs, in order.
fn pieces(part: &PartPlan) -> Vec<SqlPiece> {
    let mut pieces: Vec<SqlPiece> =
        caption_statements("before the jobs start", &part.setup).collect();
    pieces.extend(caption_statements("each job's session, once", &part.session));
    let hold = "in a session that stays open until the jobs have ended";
    pieces.extend(caption_statements(hold, &part.hold));
    match &part.code {
        JobCode::Routine(routine) => {
            pieces.extend(caption_statements("create the routine", &routine.create));
            pieces.push(example("each slice of each job", &routine.call));
            pieces.extend(caption_statements("drop the routine", &routine.drop));
        }
        JobCode::Client { branches, .. } => {
            let mut from = 0.0;
            for branch in branches {
                let caption = client_caption(branch.upto - from, branch.commit, branch.times);
                pieces
                    .extend(branch.statements.iter().map(|statement| example(&caption, statement)));
                from = branch.upto;
            }
        }
        JobCode::Bulk { table, batch } => {
            let caption = format!("each op: bulk load of {batch} rows into {table}");
            pieces.push(SqlPiece { caption, sql: String::new() });
        }
    }
    pieces.extend(caption_statements("after the jobs ended", &part.teardown));
    pieces
}

/// A statement with example values for its binds; the caption says which.
fn example(caption: &str, statement: &BoundStatement) -> SqlPiece {
    let value = |name: &str| {
        EXAMPLES.iter().find(|example| example.0 == name).map_or(EXAMPLE_KEY, |example| example.1)
    };
    let mut values: Vec<String> = Vec::new();
    for name in &statement.binds {
        let text = format!("{name} = {}", value(name));
        // Where marks have no numbers, a bind that is used twice is listed twice.
        if !values.contains(&text) {
            values.push(text);
        }
    }
    let caption = match values.as_slice() {
        [] => caption.to_string(),
        values => format!("{caption}, prepared; here with {}", values.join(", ")),
    };
    SqlPiece { caption, sql: statement.with_values(value) }
}

fn client_caption(share: f64, commit: Commit, times: u32) -> String {
    let which =
        if share > 99.999 { "each op".to_string() } else { format!("{share:.0} % of the ops") };
    let repeated = if times > 1 { format!(", {times} times") } else { String::new() };
    let commit = match commit {
        Commit::None => "",
        Commit::Auto => ", commits itself",
        Commit::Block => ", begin before and commit after",
    };
    format!("{which}{repeated}{commit}")
}

/// The plan: per selection id, parameters, drive, ramp, window, hash and SQL; and what was left
/// out, with reasons.
pub fn describe(plan: &Plan) -> Value {
    json!({
        "suite": plan.suite,
        "seed": plan.seed,
        "size_gb": plan.size_gb,
        "tables": plan.tables.iter().map(TableRef::name).collect::<Vec<_>>(),
        "selections": plan.selections.iter().map(described).collect::<Vec<_>>(),
        "left_out": plan.left_out,
        "note": plan.note,
        "redo_disturbed": plan.redo_disturbed,
    })
}

/// Start of the ops, in the words of the options `--rate`, `--arrivals`, `--slo`, `--rate-profile`
/// and `--think`; nothing of a closed loop without think time.
fn offered(looping: &Loop) -> Vec<(&'static str, Value)> {
    match looping {
        Loop::Closed => Vec::new(),
        Loop::Profile(profile, _) => vec![("rate_profile", json!(profile))],
        Loop::Thinking(mean_s) => vec![("think_s", json!(mean_s))],
        Loop::Open(rates, arrivals) => {
            vec![("rate", json!(AskedRate::Listed(rates.clone()))), ("arrivals", json!(arrivals))]
        }
        Loop::Highest(slo, arrivals) => vec![
            ("rate", json!(AskedRate::Auto)),
            ("arrivals", json!(arrivals)),
            ("slo", json!(slo)),
        ],
    }
}

fn described(selection: &Selection) -> Value {
    let sql = show(selection)
        .into_iter()
        .map(|shown| json!({ "caption": shown.caption, "sql": shown.sql }));
    let mut described = json!({
        "workload": selection.workload.id,
        "revision": selection.workload.revision,
        "asked_as": selection.asked_as,
        "params": selection.params,
        "drive": selection.drive,
        "ramp": selection.ramp,
        "window": selection.window,
        "repeat": selection.repeat,
        "beside": selection.background.as_ref().map(|background| json!({
            "jobs": background.jobs, "selection": described(&background.selection),
        })),
        "hash": selection.hash, "sql": sql.collect::<Vec<_>>(),
        "contract": selection.workload.contract, "crosscheck": selection.workload.crosscheck,
    });
    for (name, value) in offered(&selection.looping) {
        described[name] = value;
    }
    described
}
