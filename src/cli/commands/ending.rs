//! The end of what a command measured: where it is stored, the error if it was stopped, and the
//! sentences about figures that an allowed loss judges.

use crate::cli::context::Context;
use crate::cli::paths;
use crate::error::{Error, Kind, Result};
use crate::model::RunStatus;
use crate::run::RunEnd;
use crate::run::ab_test::AbTestEnd;

/// The sentence that says where a run is stored.
pub(super) fn describe_run_storage(context: &Context, run_id: i64) -> String {
    let results = paths::results_file(context.global.results.as_ref());
    format!("run {run_id} is stored in {}", results.display())
}

/// The sentence that says where the sides of an A/B test are stored.
pub(super) fn describe_sides_storage(context: &Context, ended: &AbTestEnd) -> String {
    let [a, b] = ended.runs;
    let results = paths::results_file(context.global.results.as_ref());
    format!("runs {a} (A) and {b} (B) are stored in {}", results.display())
}

/// Checks that a run of this target was measured to its end.
///
/// # Errors
/// Interrupted; the target no longer answers.
pub(super) fn check_run(target: &str, ended: &RunEnd) -> Result<()> {
    let run = format!("run {}", ended.run_id);
    let why = cause(ended.last_words.as_deref());
    let failure = Error::target(target, format!("no longer answers, {run} ends here{why}"))
        .advise("what was measured before is stored");
    check_status(ended.status, run, failure)
}

/// Checks that both sides of an A/B test were measured to their end.
///
/// # Errors
/// Interrupted; a side no longer answers.
pub(super) fn check_ab_test(ended: &AbTestEnd) -> Result<()> {
    let [a, b] = ended.runs;
    let runs = format!("runs {a} and {b}");
    let why = cause(ended.last_words.as_deref());
    let failure = Error::target(runs.clone(), format!("a side no longer answers{why}"))
        .advise("what was measured is stored");
    check_status(ended.status, runs, failure)
}

/// The error of what ended in this way: `failure` if it failed.
fn check_status(status: RunStatus, runs: String, failure: Error) -> Result<()> {
    match status {
        RunStatus::Interrupted => Err(interrupt_error(runs)),
        RunStatus::Failed => Err(failure),
        RunStatus::Finished | RunStatus::Running => Ok(()),
    }
}

fn interrupt_error(runs: String) -> Error {
    Error::new(Kind::Interrupted, runs, "interrupted").advise("what was measured is stored")
}

/// The last words of a private server as the end of a sentence.
fn cause(last_words: Option<&str>) -> String {
    last_words.map(|words| format!(": {words}")).unwrap_or_default()
}

/// The beginning of a sentence: `1 figure is`, `3 figures are`.
pub(super) fn figures_are(count: usize) -> String {
    format!("{count} {}", if count == 1 { "figure is" } else { "figures are" })
}

/// Sentence about the number of figures that fail an allowed loss, with the worst of them.
pub(super) fn describe_worse(count: usize, how: &str, worst: &str, loss: f64) -> String {
    format!("{} {how}, most {worst} by {:.1} %", figures_are(count), 100.0 * loss)
}
