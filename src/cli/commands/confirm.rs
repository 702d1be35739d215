//! `compare --confirm`: what differs between two runs is measured again, in a new run of each.

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};

use super::report;
use crate::analysis::command::{self, RunOptions};
use crate::analysis::compare::{Comparison, Row};
use crate::cli::context::Context;
use crate::cli::out;
use crate::error::{Error, Result, quote, shell_words};
use crate::model::{RunKind, RunRecord, Status};
use crate::report::Input;

/// A figure whose own interval excludes 1 this clearly is measured again.
const SUSPECT: f64 = 0.05;
/// Number of repetitions.
const REPEAT: &str = "5";
/// Options of the first run that say what was measured on which data under which load, and how it
/// was shown: each with a value. The numbers of nodes stay as they were asked for.
const REPLACED: [&str; 24] = [
    "--suite",
    "--workload",
    "--size",
    "--profile",
    "--jobs",
    "--rate",
    "--slo",
    "--arrivals",
    "--rate-profile",
    "--think",
    "--background",
    "--beside",
    "--background-jobs",
    "--beside-jobs",
    "--repeat",
    "--fresh",
    "--name",
    "--label",
    "--report",
    "--format",
    "--language",
    "--metrics",
    "--results",
    "--retry-disturbed",
];

/// The two new runs of what differs; none if nothing does.
///
/// # Errors
/// Not two measured runs; a run that cannot be repeated, or fails.
pub fn again(context: &Context, input: &Input, compared: &[Comparison]) -> Result<Option<Input>> {
    let ([base, other], [comparison]) = (input.runs.as_slice(), compared) else {
        return Err(wrong("takes two runs", "name the base and one other run"));
    };
    let suspects: Vec<&Row> = comparison.kpms.iter().filter(|row| is_suspect(row)).collect();
    if suspects.is_empty() {
        out::report("--confirm: no figure differs by its own interval: nothing is measured again");
        return Ok(None);
    }
    let sides = [
        measure_again(context, &base.run, &suspects)?,
        measure_again(context, &other.run, &suspects)?,
    ];
    let figures = if suspects.len() == 1 { "figure" } else { "figures" };
    out::report(&format!(
        "--confirm: {} {figures} of {} differed and were measured again, as runs {} and {}; what \
         follows is of these alone",
        suspects.len(),
        comparison.kpms.len(),
        sides[0],
        sides[1]
    ));
    let new = report::load(context, &sides.map(|id| id.to_string()), false)?;
    Ok(Some(Input { runs: new.runs, history: Vec::new(), ..input.clone() }))
}

fn wrong(what: &str, advice: &str) -> Error {
    Error::usage("--confirm", what).advise(advice)
}

fn is_suspect(row: &Row) -> bool {
    row.status < Status::Invalid && row.ratio.span.is_ok_and(|span| span.p < SUSPECT)
}

/// Measures what is suspect again as a run was measured, and gives the new run.
fn measure_again(context: &Context, run: &RunRecord, suspects: &[&Row]) -> Result<i64> {
    let words = words(run, suspects)?;
    let program =
        std::env::current_exe().map_err(|why| Error::target("--confirm", why.to_string()))?;
    let mut command = Command::new(program);
    command.args(words).args(["--format", "json", "--results"]).arg(context.place().path);
    let ended = command.stdout(Stdio::piped()).spawn().and_then(Child::wait_with_output);
    let ended = ended.map_err(|why| Error::target("--confirm", why.to_string()))?;
    if !ended.status.success() {
        let what = format!("measuring {} again ended with {}", name(run), ended.status);
        return Err(Error::target("--confirm", what));
    }
    // The last run of the results may be one of another user.
    let document: Option<serde_json::Value> = serde_json::from_slice(&ended.stdout).ok();
    let run_id = document.and_then(|document| document["run_id"].as_i64());
    run_id.ok_or_else(|| {
        Error::target("--confirm", format!("measuring {} again told no run", name(run)))
    })
}

fn name(run: &RunRecord) -> String {
    run.name.clone().unwrap_or_else(|| format!("run {}", run.id))
}

/// The words of the command that measures what is suspect as the run was measured.
///
/// # Errors
/// A run that cannot be repeated, or figures that one run cannot measure.
fn words(run: &RunRecord, suspects: &[&Row]) -> Result<Vec<String>> {
    let mut kept = kept(run)?;
    let jobs: BTreeSet<u32> = suspects
        .iter()
        .flat_map(|row| [row.base_jobs, row.other_jobs].into_iter().flatten())
        .collect();
    let jobs: Vec<String> = jobs.iter().map(u32::to_string).collect();
    let subjects = suspects.iter().map(|row| &row.subject);
    let options: Vec<RunOptions> =
        subjects.map(|subject| RunOptions::new(&subject.workload, &subject.params)).collect();
    let load = command::load(&options).ok_or_else(|| {
        wrong(
            "the figures that differ were measured under several loads, and a run has one",
            "compare the workloads of each load by themselves, with --workload",
        )
    })?;
    kept.extend(["--repeat".into(), REPEAT.into(), "--jobs".into(), jobs.join(",")]);
    kept.extend(["--name".into(), format!("{} again", name(run))]);
    kept.extend(command::workloads(&options));
    kept.extend(load);
    Ok(kept)
}

/// The words of the run's command that hold for whatever is measured again, with the data that it
/// measured on: its suite may have chosen them, and is left out.
///
/// # Errors
/// A run that cannot be repeated.
fn kept(run: &RunRecord) -> Result<Vec<String>> {
    let words = shell_words(&run.command);
    let is_run = run.kind == RunKind::Measured && words.iter().any(|word| word == "run");
    if !is_run {
        return Err(wrong(
            &format!("{} was not measured by 'dbdyno run': {}", name(run), quote(&run.command)),
            "compare runs of 'dbdyno run'",
        ));
    }
    let mut kept: Vec<String> = Vec::new();
    let mut words = words.into_iter().skip(1).peekable();
    while let Some(word) = words.next() {
        let option = word.split('=').next().unwrap_or_default();
        if !REPLACED.contains(&option) {
            kept.push(word);
        } else if word == option && option != "--retry-disturbed" {
            words.next();
        }
    }
    kept.extend(command::data(run));
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_measured_again_on_data_of_the_size_that_its_suite_chose() {
        let again = |command: &str| {
            let run = RunRecord {
                command: command.into(),
                plan: json!({ "size_gb": 0.5, "profile": "M" }).into(),
                ..RunRecord::new(RunKind::Measured, "x (private server)")
            };
            kept(&run).unwrap().join(" ")
        };
        assert_eq!(again("dbdyno run x"), "run x --size 0.5 --profile M");
        let given = "dbdyno run x --suite quick --size=0.5 --profile M --port 7 --repeat 3";
        assert_eq!(again(given), "run x --port 7 --size 0.5 --profile M");
    }
}
