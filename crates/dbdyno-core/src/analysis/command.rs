//! Commands that measure again what an answer has a doubt about, as a user types them: the one
//! place that knows by which options of `run` a stored test is asked for once more.

use std::collections::BTreeMap;

use crate::error::shell_word;
use crate::model::params::{self, BESIDE, BESIDE_JOBS, NODES, TRANSPORT};
use crate::model::{
    AskedRate, RunRecord, Slo, THINK, Transport, is_uniform, pace_of, rate_of, without_schedule,
};

/// The first words of a command that measures on the target of `run`. None if the stored target is
/// empty or reads as an option, or the run has no command, as one without names: then nobody knows
/// the target.
pub(super) fn run_on(run: &RunRecord) -> Option<Vec<String>> {
    // Of `engine (private server)` the word that starts one.
    let target = run.target.split(" (").next().unwrap_or_default();
    let is_target = !target.is_empty() && !target.starts_with('-') && !run.command.is_empty();
    is_target.then(|| ["dbdyno", "run", target].map(String::from).into())
}

/// The size of the data that the run measured on, and the profile of its private server, as far as
/// its plan tells: its suite may have said both, which a command without the suite lacks.
pub fn data(run: &RunRecord) -> Vec<String> {
    let size = run.plan.size_gb().map(|size_gb| ["--size".to_string(), size_gb.to_string()]);
    let profile = run.plan.profile().map(|profile| ["--profile".to_string(), profile.to_string()]);
    size.into_iter().chain(profile).flatten().collect()
}

/// The options for the database that these tests of the run measured: its data, its nodes, the
/// pooler before it. None if no option asks for it: another database would answer.
pub(super) fn database(run: &RunRecord, options: &[RunOptions]) -> Option<Vec<String>> {
    // Settings of its own a private server gets by a file only.
    if run.plan.settings().is_some() {
        return None;
    }
    let mut words = data(run);
    if let Some(nodes) = run.plan.nodes() {
        words.extend(["--nodes".into(), nodes.to_string()]);
    }
    if let Some(delay_s) = run.plan.network_delay_s() {
        words.extend(["--network-delay".into(), format!("{delay_s}s")]);
    }
    if options.iter().any(|one| one.is_through_pooler) {
        words.extend(["--via".into(), run.plan.via()?.to_string()]);
    }
    Some(words)
}

/// Options of `run` that measure a test again: its workload, and the load on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// The workload with its own parameters, as `--workload` takes it.
    pub workload: String,
    /// True if the test ran on some of the nodes of a cluster, which this does not ask for.
    pub is_on_some_nodes: bool,
    /// True if its statements went through a pooler, which `--via` names.
    is_through_pooler: bool,
    /// Ops per second of an open loop at one rate, as `--rate` takes it.
    rate: Option<String>,
    /// Further options of the load, each before its value.
    load: Vec<String>,
}

impl RunOptions {
    /// Options for a test that shows the parameters `shown`: those of the workload, of the load
    /// that was offered and of the background workload.
    pub fn new(workload: &str, shown: &BTreeMap<String, String>) -> RunOptions {
        let mut own = without_schedule(shown);
        own.retain(|name, _| ![THINK, BESIDE, BESIDE_JOBS, NODES].contains(&name.as_str()));
        let own = params::assignments(&own, ",");
        let colon = if own.is_empty() { "" } else { ":" };
        let mut load: Vec<String> = Vec::new();
        if let Some(pace) = pace_of(shown) {
            load.extend([format!("--{}", pace.name.replace('_', "-")), pace.value.to_string()]);
        }
        if is_uniform(shown) {
            load.extend(["--arrivals", "uniform"].map(String::from));
        }
        for (name, option) in [(BESIDE, "--background"), (BESIDE_JOBS, "--background-jobs")] {
            if let Some(value) = shown.get(name) {
                load.extend([option.to_string(), value.clone()]);
            }
        }
        RunOptions {
            workload: format!("{workload}{colon}{own}"),
            is_on_some_nodes: shown.contains_key(NODES),
            is_through_pooler: shown
                .get(TRANSPORT)
                .is_some_and(|transport| transport == Transport::Pooler.name()),
            rate: rate_of(shown).map(String::from),
            load,
        }
    }

    /// The options of the load at the highest rate that meets an SLO.
    pub(super) fn at_highest_rate(&self, slo: Slo) -> Vec<String> {
        let rate = ["--rate".into(), AskedRate::Auto.to_string()];
        let slo = ["--slo".into(), slo.to_string()];
        rate.into_iter().chain(slo).chain(self.load.iter().cloned()).collect()
    }

    /// True if one run has the load of both, at one rate or several.
    fn has_load_of(&self, other: &RunOptions) -> bool {
        self.load == other.load && self.rate.is_some() == other.rate.is_some()
    }
}

/// The options of one command for the load on all of these tests. None if the tests have several
/// loads: a run has one load, at one rate or several.
pub fn load(options: &[RunOptions]) -> Option<Vec<String>> {
    let first = options.first()?;
    if !options.iter().all(|one| one.has_load_of(first)) {
        return None;
    }
    let mut rates: Vec<f64> =
        options.iter().filter_map(|one| one.rate.as_ref()?.parse().ok()).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let mut words = Vec::new();
    if !rates.is_empty() {
        words.extend(["--rate".into(), AskedRate::Listed(rates).to_string()]);
    }
    words.extend(first.load.iter().cloned());
    Some(words)
}

/// The workloads of these tests, each once, each behind its option.
pub fn workloads(options: &[RunOptions]) -> Vec<String> {
    let mut workloads: Vec<&str> = Vec::new();
    for one in options {
        if !workloads.contains(&one.workload.as_str()) {
            workloads.push(&one.workload);
        }
    }
    workloads.into_iter().flat_map(|workload| ["--workload", workload]).map(String::from).collect()
}

/// The words as a line for a shell.
pub(super) fn line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::compare;

    /// Options for a test that shows these parameters.
    fn options(shown: &[(&str, &str)]) -> RunOptions {
        let shown = shown.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        RunOptions::new("TP-LIGHT", &shown.collect())
    }

    /// The words of a command for tests that show these parameters.
    fn words(tests: &[&[(&str, &str)]]) -> Option<String> {
        let all: Vec<RunOptions> = tests.iter().map(|shown| options(shown)).collect();
        Some(line(&[workloads(&all), load(&all)?].concat()))
    }

    #[test]
    fn the_load_of_a_test_is_asked_for_by_options_and_not_by_parameters() {
        let said = |shown: &[(&str, &str)]| words(&[shown]).unwrap();
        assert_eq!(said(&[("update_pct", "40")]), "--workload TP-LIGHT:update_pct=40");
        let trial = [("rate", "900"), ("slo", "p99<5ms"), ("arrivals", "uniform")];
        let at_rate = "--workload TP-LIGHT --rate 900 --arrivals uniform";
        assert_eq!(said(&trial), at_rate, "an SLO is for a rate that is looked for");
        let phases = "--workload TP-LIGHT --rate-profile 'hold 500 60s'";
        assert_eq!(said(&[("rate_profile", "hold 500 60s")]), phases);
        let thinking = [("think", "50ms"), ("update_pct", "40")];
        assert_eq!(said(&thinking), "--workload TP-LIGHT:update_pct=40 --think 50ms");
        let beside = [("beside", "CPU-DOUBLE:n=2"), ("beside_jobs", "3")];
        let background = "--workload TP-LIGHT --background CPU-DOUBLE:n=2 --background-jobs 3";
        assert_eq!(said(&beside), background);
        let of_some = options(&[("nodes", "2")]);
        assert_eq!((of_some.workload.as_str(), of_some.is_on_some_nodes), ("TP-LIGHT", true));
        let slo = "p99<5ms".parse().unwrap();
        let search = "--rate auto --slo 'p99<5ms' --arrivals uniform";
        assert_eq!(line(&options(&trial).at_highest_rate(slo)), search);
    }

    #[test]
    fn the_database_is_asked_for_with_all_that_makes_it_another_one() {
        let database = |plan: serde_json::Value, shown: &[(&str, &str)]| {
            let run = RunRecord { plan: plan.into(), ..compare::fixture::run("a") };
            database(&run, &[options(shown)]).map(|words| line(&words))
        };
        let private = json!({ "size_gb": 0.5, "profile": "M" });
        assert_eq!(database(private, &[]).unwrap(), "--size 0.5 --profile M");
        let cluster = json!({ "nodes": 3, "network_delay_s": 0.005 });
        assert_eq!(database(cluster, &[]).unwrap(), "--nodes 3 --network-delay 0.005s");
        let settings = json!({ "settings": { "shared_buffers": "1GB" } });
        assert_eq!(database(settings, &[]), None, "no option of run gives a setting");
        let pooled = json!({ "via": "x://me@pooler/db" });
        let through = [("transport", "pooler")];
        assert_eq!(database(pooled.clone(), &through).unwrap(), "--via x://me@pooler/db");
        assert_eq!(database(pooled, &[]).unwrap(), "", "a direct connection needs no pooler");
        assert_eq!(database(json!({}), &through), None, "nobody knows which pooler");
    }

    #[test]
    fn one_command_has_several_rates_and_one_load() {
        let rates = words(&[&[("rate", "900")], &[("rate", "70.5")], &[("rate", "900")]]);
        assert_eq!(rates.unwrap(), "--workload TP-LIGHT --rate 70.5,900");
        assert_eq!(words(&[&[("rate", "900")], &[]]), None, "a closed loop beside an open one");
        assert_eq!(words(&[&[("think", "50ms")], &[("think", "20ms")]]), None);
        let both = words(&[&[("org", "iot")], &[]]).unwrap();
        assert_eq!(both, "--workload TP-LIGHT:org=iot --workload TP-LIGHT");
    }
}
