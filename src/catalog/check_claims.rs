//! Checks of what is judged and computed from counters: a name that is misspelt would be one that is never known, and the
//! claim would silently say nothing.

use std::collections::BTreeMap;

use crate::model::{Claim, Drive, Facts, Kpm, KpmValue, Workload};

use super::Catalog;
use super::check::{COUNTS, fixed, sample_facts};

/// Blocks of the probes whose columns are counters.
const COUNTER_BLOCKS: &str = "counters.";
/// Counters that no SQL gives: those of the operating system, of processes, of a client's library.
const MEASURED: &[&str] = &[
    "os_cpu_user_s",
    "os_cpu_nice_s",
    "os_cpu_sys_s",
    "os_cpu_irq_s",
    "os_cpu_softirq_s",
    "os_cpu_idle_s",
    "os_cpu_iowait_s",
    "os_cpu_steal_s",
    "os_cpu_total_s",
    "os_disk_reads",
    "os_disk_writes",
    "os_disk_read_bytes",
    "os_disk_write_bytes",
    "os_disk_read_s",
    "os_disk_flushes",
    "os_disk_busy_s",
    "os_mem_available_bytes",
    "os_mem_dirty_bytes",
    "os_page_cache_bytes",
    "self_cpu_s",
    "server_read_bytes",
    "server_cpu_s",
    "logical_reads",
    "physical_reads",
    "blocks_written",
    "rows_changed",
    "statements_run",
    "full_scan_steps",
    "wal_bytes",
];
/// What is known of a test when it has ended, beside its counters.
const OF_TEST: [&str; 4] = ["device_read_bytes", "evicted", "device_known", "threads_used"];

/// Names of counters: those of [`MEASURED`] and every word of the SQL that reads the others, where a column is one.
pub(super) fn counters(catalog: &Catalog) -> Vec<&str> {
    let blocks = catalog.probes.values().flatten().filter(|block| block.name.starts_with(COUNTER_BLOCKS));
    let words = blocks.flat_map(|block| block.text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.chain(MEASURED.iter().copied()).collect()
}

/// What is wrong in a workload's claims, metrics and number of threads.
pub(super) fn findings(catalog: &Catalog, workload: &Workload, engines: &[&str]) -> Vec<String> {
    let mut known = sample_facts(workload);
    let names = counters(catalog).into_iter().chain(COUNTS).chain(OF_TEST);
    known.extend(names.map(|name| (name.to_string(), 1.0)));
    let claims = workload.contract.iter().chain(&workload.crosscheck);
    let findings =
        claims.filter_map(|of| Some(format!("the claim on {}{}", of.what, claim(workload, of, engines, &known)?)));
    let metrics = std::iter::once(&workload.kpm).chain(&workload.second).filter_map(|kpm| metric(kpm, &known));
    let threads = workload.threads.iter().filter_map(|threads| threads.eval(&known).err());
    findings.chain(metrics).chain(threads).collect()
}

fn metric(kpm: &Kpm, known: &Facts) -> Option<String> {
    let (KpmValue::Counter(name) | KpmValue::CounterBlocks(name)) = &kpm.value else { return None };
    (!known.contains_key(name)).then(|| format!("the metric counts the unknown counter '{name}'"))
}

fn claim(workload: &Workload, claim: &Claim, engines: &[&str], known: &Facts) -> Option<String> {
    if claim.min.is_none() && claim.max.is_none() && claim.equals.is_none() {
        return Some(" has none of min, max, equals".into());
    }
    let unknown = |kind: &str, name: &String| format!(" names the unknown {kind} '{name}'");
    let drives = [Drive::Database, Drive::Client].map(Drive::name);
    let mut counters = std::iter::once(&claim.what).chain(&claim.per).chain(&claim.when);
    let counter = counters.find(|name| !known.contains_key(*name)).map(|name| unknown("counter", name));
    let engine = claim.engines.iter().find(|name| !engines.contains(&name.as_str()));
    let drive = claim.drives.iter().find(|name| !drives.contains(&name.as_str()));
    let place = counter.or(engine.map(|name| unknown("engine", name))).or(drive.map(|name| unknown("drive", name)));
    place.or_else(|| claim.params.iter().find_map(|(name, named)| values(workload, name, named)))
}

/// A parameter or one of the values that a claim names and the workload has not.
fn values(workload: &Workload, name: &str, named: &str) -> Option<String> {
    let (_, mut values) = Claim::named_values(named);
    let one = |value: &str| fixed(workload, &BTreeMap::from([(name.to_string(), value.to_string())]));
    values.find_map(one).map(|what| format!(": {what}"))
}
