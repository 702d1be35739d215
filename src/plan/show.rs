//! The SQL of a selection as it will run, for people.

use serde::Serialize;

use crate::model::{Commit, JobCode, PartPlan, Selection};

/// A piece of SQL with what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    pub caption: String,
    pub sql: String,
}

/// Everything a selection runs, in order: setup, routine or statements, teardown.
pub fn show(selection: &Selection) -> Vec<Shown> {
    let mixed = selection.parts.len() > 1;
    let of_part = |part: &PartPlan| {
        let lead = if mixed { format!("{}: ", part.workload) } else { String::new() };
        pieces(part).into_iter().map(move |(caption, sql)| Shown { caption: format!("{lead}{caption}"), sql })
    };
    selection.parts.iter().flat_map(of_part).collect()
}

fn pieces(part: &PartPlan) -> Vec<(String, String)> {
    let named =
        |caption: &str, list: &[String]| list.iter().map(|sql| (caption.to_string(), sql.clone())).collect::<Vec<_>>();
    let mut pieces = named("before the jobs start", &part.setup);
    match &part.code {
        JobCode::Routine(routine) => {
            pieces.extend(named("create the routine", &routine.create));
            pieces.push(("each slice of each job".into(), routine.call.sql.clone()));
            pieces.extend(named("drop the routine", &routine.drop));
        }
        JobCode::Client { branches, .. } => {
            let mut from = 0.0;
            for branch in branches {
                let caption = client_caption(branch.upto - from, branch.commit, branch.times);
                pieces.extend(branch.statements.iter().map(|statement| (caption.clone(), statement.sql.clone())));
                from = branch.upto;
            }
        }
        JobCode::Bulk { table, batch } => {
            pieces.push((format!("each op: bulk load of {batch} rows into {table}"), String::new()));
        }
    }
    pieces.extend(named("after the jobs ended", &part.teardown));
    pieces
}

fn client_caption(share: f64, commit: Commit, times: u32) -> String {
    let which = if share > 99.999 { "each op".to_string() } else { format!("{share:.0} % of the ops") };
    let repeated = if times > 1 { format!(", {times} times") } else { String::new() };
    let commit = match commit {
        Commit::None => "",
        Commit::Auto => ", commits itself",
        Commit::Block => ", begin before and commit after",
    };
    format!("{which}{repeated}{commit}")
}
