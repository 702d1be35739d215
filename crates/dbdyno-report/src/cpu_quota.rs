//! Sentences on the CPU quota of a database, whose share of its host's CPUs it may not exceed.

use super::{Input, Language, RunTests};
use dbdyno_core::analysis::cpu_quota::of_run;

/// CPUs that a quota lets the database of the run use, as printed; none without a quota.
pub(crate) fn cpus(language: Language, data: &RunTests) -> Option<String> {
    let quota = of_run(&data.run, &data.tests)?;
    Some(language.exactly((100.0 * quota).round() / 100.0))
}

/// Sentence on the CPU shares beside figures of such a database; none without a quota.
pub(crate) fn note(language: Language, data: &RunTests) -> Option<String> {
    let quota = cpus(language, data)?;
    let said = "A CPU quota lets the database use {quota} of the host's CPUs. CPU shares refer to \
                all CPUs of the host.";
    Some(language.say(said, &[("quota", &quota)]))
}

/// The sentences of all runs, each with its name if there are several.
pub(crate) fn notes(input: &Input) -> Vec<String> {
    let names = input.platforms();
    let is_one = names.len() == 1;
    let note = |(data, name): (&RunTests, &String)| {
        let note = note(input.language, data)?;
        Some(if is_one { note } else { format!("{name}: {note}") })
    };
    input.runs.iter().zip(&names).filter_map(note).collect()
}
