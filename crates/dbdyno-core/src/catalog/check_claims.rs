//! Checks of claims and of what is computed from counters: a misspelt name would be one that is
//! never known, so that the claim would silently not be judged.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::quote;
use crate::model::params::{IDLE_SESSIONS, ORG, OWN_ORG};
use crate::model::{Claim, Drive, Facts, Kpm, KpmValue, Wire, Workload};

use super::Catalog;
use super::check::{COUNTS, fixed, sample_facts};
use super::wire::EngineFile;

/// Blocks of the probes whose columns are counters.
const COUNTER_BLOCKS: &str = "counters.";
/// Before what an engine must lack.
const LACKS: char = '!';
/// Counters that no engine gives: those of the operating system and of processes.
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
    "os_cpu_foreign_s",
    "os_disk_reads",
    "os_disk_writes",
    "os_disk_read_bytes",
    "os_disk_write_bytes",
    "os_disk_read_s",
    "os_disk_write_s",
    "os_disk_flushes",
    "os_disk_busy_s",
    "os_mem_available_bytes",
    "os_mem_dirty_bytes",
    "os_page_cache_bytes",
    "os_net_received_bytes",
    "os_net_sent_bytes",
    "os_elsewhere",
    "self_cpu_s",
    "self_cpu_user_s",
    "self_cpu_sys_s",
    "self_instructions",
    "self_wait_s",
    "self_throttled_s",
    "watch_rounds",
    "watch_walk_s",
    "watch_late_s",
    "watch_runnable",
    "watch_mhz",
    "watch_cpu_s",
    "watch_paced",
    "watch_speed",
    "watch_work_s",
    "watch_walked",
    "watch_walk_speed",
    "server_read_bytes",
    "server_cpu_s",
    "server_cpu_user_s",
    "server_cpu_sys_s",
    "server_throttled_s",
];
/// Values of a test that are known when it has ended, in addition to its counters.
const OF_TEST: [&str; 7] = [
    "device_read_bytes",
    "evicted",
    "device_known",
    "threads_used",
    "row_locks_seen",
    "rate_kept",
    IDLE_SESSIONS,
];

/// Names of counters: those of [`MEASURED`] and those that some engine gives.
pub(super) fn counters(catalog: &Catalog) -> Vec<&str> {
    let of_engines = catalog.engines().into_iter().flat_map(|engine| given(catalog, engine));
    of_engines.chain(MEASURED.iter().copied()).collect()
}

/// The counters that an engine gives: every word of the SQL that reads them, where a column is one,
/// and its library's.
fn given<'a>(catalog: &'a Catalog, engine: &str) -> impl Iterator<Item = &'a str> {
    let blocks = catalog.probes.get(engine).into_iter().flatten();
    let counting = blocks.filter(|block| block.name.starts_with(COUNTER_BLOCKS));
    let words =
        counting.flat_map(|block| block.text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let library = catalog.engine_files.get(engine).into_iter().flat_map(|file| &file.counters);
    words.chain(library.map(String::as_str))
}

/// Features of an engine, each with the table organizations that have it; none = all.
type Abilities = BTreeMap<String, Option<String>>;

/// The features that the file of an engine states.
fn stated(catalog: &Catalog, engine: &str) -> Abilities {
    let has = catalog.engine_files.get(engine).into_iter().flat_map(|file| &file.has);
    has.map(|(name, has)| (name.clone(), has.org().map(String::from))).collect()
}

/// The features that some claim of the catalog needs, or needs that an engine lacks.
fn needed(catalog: &Catalog) -> BTreeSet<&str> {
    let claims = catalog.entries.iter().flat_map(|entry| entry.written.iter().flatten());
    let needs = claims.flat_map(|claim| &claim.needs);
    needs.map(|need| need.strip_prefix(LACKS).unwrap_or(need)).collect()
}

/// All that the engines have of these features, by engine.
fn abilities(catalog: &Catalog, needed: &BTreeSet<&str>) -> BTreeMap<String, Abilities> {
    let of = |engine: &str| {
        // Of thousands of words in the SQL of an engine claims need a few.
        let given = given(catalog, engine).filter(|name| needed.contains(*name));
        let given = given.map(|name| (name.to_string(), None));
        (engine.to_string(), given.chain(stated(catalog, engine)).collect())
    };
    catalog.engines().into_iter().map(of).collect()
}

/// True if an engine with these abilities has, or with `!` lacks, what a claim needs of tables in
/// an organization.
fn meets(has: &Abilities, need: &str, org: &str) -> bool {
    let holds = |name: &str| {
        has.get(name).is_some_and(|of| of.as_ref().is_none_or(|named| Claim::names(named, org)))
    };
    need.strip_prefix(LACKS).map_or_else(|| holds(need), |lacked| !holds(lacked))
}

/// Finds the engines of each claim: those that have all that it needs.
pub(super) fn resolve(catalog: &mut Catalog) {
    let abilities = abilities(catalog, &needed(catalog));
    for entry in &mut catalog.entries {
        let orgs = orgs(&entry.workload);
        let [contract, crosscheck] = entry.written.each_ref().map(|claims| {
            let claims = claims.iter().flat_map(|claim| on_engines(claim, &orgs, &abilities));
            claims.map(|claim| with_losses(claim, &catalog.engine_files)).collect()
        });
        (entry.workload.contract, entry.workload.crosscheck) = (contract, crosscheck);
    }
}

/// A claim with the engines whose counter of its events loses some of them.
fn with_losses(claim: Claim, engine_files: &BTreeMap<String, EngineFile>) -> Claim {
    let loses = |file: &EngineFile| file.counted_without_lock.contains(&claim.what);
    let losing = engine_files.iter().filter(|(_, file)| loses(file));
    let counted_without_lock = losing.map(|(engine, _)| engine.clone()).collect();
    Claim { counted_without_lock, ..claim }
}

/// The organizations in which a workload can have its tables; that of the engine if it has no
/// choice.
fn orgs(workload: &Workload) -> Vec<String> {
    let param = workload.params.iter().find(|param| param.name == ORG);
    param.map_or_else(|| vec![OWN_ORG.into()], |param| param.values.clone())
}

/// A claim for the engines that have all that it needs; one more for those that have it of some of
/// the tables only.
fn on_engines(
    claim: &Claim,
    orgs: &[String],
    abilities: &BTreeMap<String, Abilities>,
) -> Vec<Claim> {
    if claim.needs.is_empty() {
        return vec![claim.clone()];
    }
    let own = |org: &&String| claim.params.get(ORG).is_none_or(|named| Claim::names(named, org));
    let named: Vec<&String> = orgs.iter().filter(own).collect();
    let of = if named.is_empty() { orgs.iter().collect() } else { named.clone() };
    let mut engines: BTreeMap<Vec<&String>, Vec<String>> = BTreeMap::new();
    for (engine, has) in abilities {
        let meets = |org: &&&String| claim.needs.iter().all(|need| meets(has, need, org));
        engines.entry(of.iter().filter(meets).copied().collect()).or_default().push(engine.clone());
    }
    let nobody = engines.remove(&Vec::new()).filter(|_| engines.is_empty()).map(|_| claim.clone());
    let able = engines.into_iter().map(|(held, engines)| Claim {
        engines,
        params: only(claim, &named, &held, orgs),
        ..claim.clone()
    });
    able.chain(nobody).collect()
}

/// The parameters with which a claim holds that holds only of tables in `held`, of those that it
/// names.
fn only(
    claim: &Claim,
    named: &[&String],
    held: &[&String],
    orgs: &[String],
) -> BTreeMap<String, String> {
    let mut params = claim.params.clone();
    if held.len() < named.len() {
        let without: Vec<&str> =
            orgs.iter().filter(|org| !held.contains(org)).map(String::as_str).collect();
        let held: Vec<&str> = held.iter().map(|org| org.as_str()).collect();
        let excluding = without.len() < held.len();
        params.insert(
            ORG.into(),
            if excluding { format!("!{}", without.join("|")) } else { held.join("|") },
        );
    }
    params
}

/// The names that claims may use in any workload: gathered once, for a catalog has thousands.
pub(super) struct Names {
    counts: Facts,
    needed: BTreeSet<String>,
}

impl Names {
    pub fn from_catalog(catalog: &Catalog) -> Names {
        let counts = counters(catalog).into_iter().chain(COUNTS).chain(OF_TEST);
        let engines = catalog.engines();
        let given = engines.iter().flat_map(|engine| given(catalog, engine)).map(String::from);
        let stated = engines.iter().flat_map(|engine| stated(catalog, engine).into_keys());
        Names {
            counts: counts.map(|name| (name.to_string(), 1.0)).collect(),
            needed: given.chain(stated).collect(),
        }
    }
}

/// Errors in a workload's claims, metrics and number of threads.
pub(super) fn findings(names: &Names, workload: &Workload) -> Vec<String> {
    let (mut known, needed) = (sample_facts(workload), &names.needed);
    known.extend(names.counts.clone());
    let claims = workload.contract.iter().chain(&workload.crosscheck);
    let findings = claims.filter_map(|of| {
        Some(format!("the claim on {}{}", of.what, claim(workload, of, &known, needed)?))
    });
    let metrics = std::iter::once(&workload.kpm)
        .chain(&workload.second)
        .filter_map(|kpm| metric(kpm, &known));
    let threads = workload.threads.iter().filter_map(|threads| threads.eval(&known).err());
    findings.chain(metrics).chain(threads).collect()
}

fn metric(kpm: &Kpm, known: &Facts) -> Option<String> {
    let (KpmValue::Counter(name) | KpmValue::CounterBlocks(name)) = &kpm.value else { return None };
    (!known.contains_key(name))
        .then(|| format!("the metric counts the unknown counter {}", quote(name)))
}

fn claim(
    workload: &Workload,
    claim: &Claim,
    known: &Facts,
    needed: &BTreeSet<String>,
) -> Option<String> {
    if claim.min.is_none() && claim.max.is_none() && claim.equals.is_none() {
        return Some(" has none of min, max, equals".into());
    }
    let unknown =
        |kind: &str, name: &String| format!(" names the unknown {kind} {name}", name = quote(name));
    let drives = [Drive::Database, Drive::Client].map(Drive::name);
    let mut counters = std::iter::once(&claim.what).chain(&claim.per).chain(&claim.when);
    let counter =
        counters.find(|name| !known.contains_key(*name)).map(|name| unknown("counter", name));
    let counter =
        counter.or_else(|| Some(format!(": {}", claim.if_positive.as_ref()?.eval(known).err()?)));
    let bare = |need: &String| need.trim_start_matches(LACKS).to_string();
    let need = claim.needs.iter().map(bare).find(|name| !needed.contains(name));
    let listed = claim.needs.is_empty() && !claim.engines.is_empty();
    let nobody = !claim.needs.is_empty() && claim.engines.is_empty();
    let drive = claim.drives.iter().find(|name| !drives.contains(&name.as_str()));
    let place = counter.or(drive.map(|name| unknown("drive", name)));
    let place = place.or(need.map(|name| format!(" needs '{name}', which no engine has")));
    let place =
        place.or(listed.then(|| " names engines; say in 'needs' what they must have".into()));
    let place = place
        .or(nobody
            .then(|| format!(": no engine has all that it needs ({})", claim.needs.join(", "))));
    place.or_else(|| {
        let mut params = claim.params.iter();
        params.find_map(|(name, named)| match Wire::usual(name) {
            None => values(workload, name, named),
            Some(usual) => no_wire(name, named, usual),
        })
    })
}

/// Complaint about a value `a|b` of a parameter that every workload of the client drive has, if
/// nobody can choose that value.
fn no_wire(name: &str, named: &str, usual: &str) -> Option<String> {
    let wrong = |value: &&str| {
        let mut params = BTreeMap::from([(name.to_string(), value.to_string())]);
        *value != usual && Wire::take(&mut params).is_err()
    };
    Claim::named_values(named)
        .find(wrong)
        .map(|value| format!(": {name} has no value {}", quote(value)))
}

/// A parameter or one of the values `a|b` that are named and the workload has not.
pub(super) fn values(workload: &Workload, name: &str, named: &str) -> Option<String> {
    let one =
        |value: &str| fixed(workload, &BTreeMap::from([(name.to_string(), value.to_string())]));
    Claim::named_values(named).find_map(one).map(|what| format!(": {what}"))
}
