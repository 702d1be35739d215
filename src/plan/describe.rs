//! The plan as JSON, as stored with a run: what was to run, with its SQL and hashes.

use serde_json::{Value, json};

use super::show;
use crate::model::{Plan, Selection, TableRef};

/// The plan: per selection id, parameters, drive, ramp, window, hash and SQL; and what was left out, with reasons.
pub fn describe(plan: &Plan) -> Value {
    let left_out = plan.left_out.iter().map(|(id, reason)| json!({ "workload": id, "reason": reason }));
    json!({
        "suite": plan.suite, "seed": plan.seed, "size_gb": plan.size_gb, "tables": plan.tables.iter().map(TableRef::name).collect::<Vec<_>>(),
        "selections": plan.selections.iter().map(selection).collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(),
    })
}

fn selection(selection: &Selection) -> Value {
    let sql = show(selection).into_iter().map(|shown| json!({ "caption": shown.caption, "sql": shown.sql }));
    json!({
        "workload": selection.workload.id, "revision": selection.workload.revision, "asked_as": selection.asked_as,
        "params": selection.params, "drive": selection.drive, "ramp": selection.ramp, "window": selection.window,
        "hash": selection.hash, "sql": sql.collect::<Vec<_>>(),
        "contract": selection.workload.contract, "crosscheck": selection.workload.crosscheck,
    })
}
