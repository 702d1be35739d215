//! Commands that measure what an answer has a doubt about again, as a user types them.

use std::collections::BTreeMap;

use crate::error::shell_word;
use crate::model::{RunRecord, params};

/// The first words of a command that measures on the target of `run`. None if the stored target is
/// empty or reads as an option: that is nobody's target.
pub(super) fn run_on(run: &RunRecord) -> Option<Vec<String>> {
    // Of `engine (private server)` the word that starts one.
    let target = run.target.split(" (").next().unwrap_or_default();
    let is_target = !target.is_empty() && !target.starts_with('-');
    is_target.then(|| ["dbdyno", "run", target].map(String::from).into())
}

/// The size of the data that the run measured on; nothing if its plan does not tell.
pub(super) fn size(run: &RunRecord) -> Vec<String> {
    run.plan.size_gb().map(|size_gb| vec!["--size".into(), size_gb.to_string()]).unwrap_or_default()
}

/// A workload with its parameters, as `--workload` takes it.
pub(super) fn workload(id: &str, chosen: &BTreeMap<String, String>) -> String {
    let chosen = params::assignments(chosen, ",");
    let colon = if chosen.is_empty() { "" } else { ":" };
    format!("{id}{colon}{chosen}")
}

/// The words as a line for a shell.
pub(super) fn line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}
