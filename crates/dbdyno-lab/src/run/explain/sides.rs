//! The two sides of an experiment: as the test was, and with what takes its limit away.

use std::collections::BTreeMap;

use crate::fit;
use crate::run::RunContext;
use crate::run::platform::Platform;
use crate::server::Setup;
use dbdyno_core::analysis::bottleneck::{self, Action, Bottleneck, Remedy};
use dbdyno_core::model::{
    Drive, End, Facts, Plan, RunRecord, Selection, Sentence, TestResult, Window,
};

/// Maximum warm-up and window of a trial, in s: many short trials are more precise than few long
/// ones.
const MAX_WARMUP_S: f64 = 1.0;
const MAX_TRIAL_S: f64 = 3.0;
/// Bytes of a megabyte of a server's settings.
const MIB: f64 = 1_048_576.0;

/// One side of an experiment.
pub(super) struct Side {
    /// The only selection is what is run.
    pub plan: Plan,
    pub jobs: u32,
    /// Setup of a private server for it; none if the server runs on.
    pub server: Option<Setup>,
}

/// A test that is to be explained, and an experiment that could show its limit.
pub(super) struct Case<'a> {
    pub selection: &'a Selection,
    pub result: &'a TestResult,
    pub bottleneck: &'a Bottleneck,
    pub remedy: &'a Remedy,
}

/// Changes of an experiment, by name, and its two sides.
pub(super) type Changes = (BTreeMap<String, String>, [Side; 2]);

/// Determines the changes of an experiment on this platform.
///
/// # Errors
/// The reason for which it cannot be carried out.
pub(super) fn changes(
    context: &RunContext<'_>,
    platform: &Platform,
    record: &RunRecord,
    case: &Case<'_>,
) -> std::result::Result<Changes, Sentence> {
    let Case { selection, result, bottleneck, remedy } = *case;
    let base =
        || Side { plan: single(context.plan, selection.clone()), jobs: result.jobs, server: None };
    let on = |setup: Setup| Side { server: Some(setup), ..base() };
    let one = |name: &str, value: String| BTreeMap::from([(name.to_string(), value)]);
    match remedy.action {
        Action::Beyond(why) => Err(why.into()),
        Action::Jobs(jobs) => {
            Ok((one("jobs", jobs.to_string()), [base(), Side { jobs, ..base() }]))
        }
        Action::Drive(drive) => {
            let plan = single(context.plan, driven(context, selection, drive)?);
            Ok((one("drive", drive.name().into()), [base(), Side { plan, ..base() }]))
        }
        Action::Settings => {
            let settings = settings(context, platform, record, bottleneck)?;
            // A cache that holds everything does so from the start: what fills it is not its doing.
            let holds_all =
                matches!(bottleneck.cause, bottleneck::Cause::Read | bottleneck::Cause::DataWrite);
            let selection =
                if holds_all { with_cached_tables(selection) } else { selection.clone() };
            let setup = Setup { settings: settings.clone(), ..Setup::default() };
            let side = Side { plan: single(context.plan, selection), ..on(setup) };
            Ok((settings, [on(Setup::default()), side]))
        }
        Action::LogInMemory => {
            let room_bytes = room_for_log(context, platform, selection)?;
            let setup = Setup { log_in_memory: Some(room_bytes), ..Setup::default() };
            Ok((one("log", "tmpfs".into()), [on(Setup::default()), on(setup)]))
        }
    }
}

/// A plan of one selection, with short windows.
fn single(plan: &Plan, selection: Selection) -> Plan {
    let Window { warmup_s, end } = selection.window;
    let end = match end {
        End::Time(duration_s) | End::Known { most_s: duration_s, .. } => {
            End::Time(duration_s.min(MAX_TRIAL_S))
        }
        End::Ops(ops) => End::Ops(ops),
    };
    let window = Window { warmup_s: warmup_s.min(MAX_WARMUP_S), end };
    Plan { selections: vec![Selection { window, repeat: 1, ..selection }], ..plan.clone() }
}

fn with_cached_tables(selection: &Selection) -> Selection {
    let mut selection = selection.clone();
    let workload = &mut selection.workload;
    let (tables, evicted) = (workload.tables.clone(), std::mem::take(&mut workload.evict));
    workload.warm.extend(tables.into_iter().chain(evicted));
    workload.warm.sort();
    workload.warm.dedup();
    selection
}

/// The same work through another drive.
fn driven(
    context: &RunContext<'_>,
    selection: &Selection,
    drive: Drive,
) -> std::result::Result<Selection, Sentence> {
    let mut request = context.request.clone();
    request.plan.drive = Some(drive);
    let plan =
        request.plan(context.catalog).map_err(|error| Sentence::quoted(error.to_string()))?;
    let is_it = |other: &&Selection| {
        other.workload.id == selection.workload.id
            && other.params == selection.params
            && other.drive == drive
    };
    let found = plan.selections.iter().find(is_it).filter(|_| selection.drive != drive).cloned();
    found.ok_or_else(|| "the workload cannot be driven so here".into())
}

/// The settings that take the cause away on this private server.
fn settings(
    context: &RunContext<'_>,
    platform: &Platform,
    record: &RunRecord,
    bottleneck: &Bottleneck,
) -> std::result::Result<BTreeMap<String, String>, Sentence> {
    let own = platform.server_settings().ok_or("only a private server gets other settings")?;
    let data_bytes: u64 = record.loads.iter().map(|load| load.table_bytes + load.index_bytes).sum();
    let facts = facts(own, (data_bytes as f64 / MIB).ceil());
    let settings =
        context.catalog.experiment(platform.engine.name(), bottleneck.cause.code(), &facts);
    let settings =
        settings.map_err(Sentence::quoted)?.ok_or("this engine has no experiment for it")?;
    let size_mb = settings.values().filter_map(|value| size_mb(value)).sum::<f64>();
    let holds_all =
        matches!(bottleneck.cause, bottleneck::Cause::Read | bottleneck::Cause::DataWrite);
    check_memory(context, if holds_all { size_mb } else { 0.0 }).map(|()| settings)
}

/// Bytes that the log may need on a file system in memory, which has them.
fn room_for_log(
    context: &RunContext<'_>,
    platform: &Platform,
    selection: &Selection,
) -> std::result::Result<u64, Sentence> {
    let own = platform.server_settings().ok_or("only the log of a private server is moved")?;
    let by_default = platform.engine.capabilities().default_org();
    let orgs: Vec<&str> =
        selection.tables.iter().map(|table| table.org.as_deref().unwrap_or(by_default)).collect();
    let room_mb = context.catalog.log_room_mb(platform.engine.name(), &orgs, &facts(own, 0.0));
    let room_mb = room_mb.map_err(Sentence::quoted)?;
    let room_mb = room_mb.ok_or("this engine has no experiment for it")?;
    check_memory(context, room_mb)?;
    let room_bytes = (room_mb * MIB) as u64;
    platform.check_log_in_memory(room_bytes).map(|()| room_bytes)
}

/// Checks that this machine has this many MB in addition to what the profile takes.
fn check_memory(context: &RunContext<'_>, more_mb: f64) -> std::result::Result<(), Sentence> {
    let memory_mb = context.request.profile.memory_mb.unwrap_or(0.0) + more_mb;
    let lacks = fit::lacks_memory(memory_mb).filter(|_| more_mb > 0.0);
    lacks.map_or(Ok(()), |lacks| Err(Sentence::quoted(lacks)))
}

/// Names that values of experiments may use: each setting that is a size as `now_<name>`, behind a
/// word that no function begins with.
fn facts(settings: &BTreeMap<String, String>, data_mb: f64) -> Facts {
    let sizes =
        settings.iter().filter_map(|(name, value)| Some((format!("now_{name}"), size_mb(value)?)));
    sizes.chain([("data_mb".to_string(), data_mb)]).collect()
}

/// A setting that is a size, in MB (2^20 bytes): `64MB`, `1G`, `512k`.
fn size_mb(value: &str) -> Option<f64> {
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let mb = match value[number.len()..].to_ascii_lowercase().trim_end_matches('b') {
        "k" => 1.0 / 1024.0,
        "m" => 1.0,
        "g" => 1024.0,
        "t" => 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number.trim().parse::<f64>().ok()? * mb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_the_words_of_settings() {
        let sizes = ["64MB", "64M", "1GB", "2g", "512k", "1TB"].map(size_mb);
        assert_eq!(
            sizes,
            [Some(64.0), Some(64.0), Some(1024.0), Some(2048.0), Some(0.5), Some(1024.0 * 1024.0)]
        );
        for other in ["on", "64", "5min", "O_DIRECT", "", "MB"] {
            assert_eq!(size_mb(other), None, "{other}");
        }
    }

    #[test]
    fn only_the_log_that_moves_is_tried_in_memory() {
        let catalog = dbdyno_core::catalog::Catalog::embedded().unwrap();
        let facts = Facts::from([("now_innodb_log_file_size".to_string(), 32.0)]);
        let has_lsm = |engine: &&&dyn dbdyno_engines::engine::Engine| {
            engine.capabilities().orgs.contains(&"lsm")
        };
        let engine = dbdyno_engines::engine::ENGINES.iter().find(has_lsm).unwrap().name();
        let room_mb = |orgs: &[&str]| catalog.log_room_mb(engine, orgs, &facts).unwrap();
        assert_eq!((room_mb(&["iot"]), room_mb(&[])), (Some(64.0), Some(64.0)));
        assert_eq!((room_mb(&["lsm"]), room_mb(&["iot", "heap"])), (None, None));
    }

    #[test]
    fn what_engines_change_can_be_had_from_the_settings_of_every_profile() {
        let catalog = dbdyno_core::catalog::Catalog::embedded().unwrap();
        let mut count = 0;
        for profile in catalog.profiles() {
            for (engine, settings) in &profile.settings {
                let facts = facts(settings, 100.0);
                for cause in bottleneck::Cause::ALL {
                    let changed = catalog.experiment(engine, cause.code(), &facts).unwrap();
                    let differs =
                        |(name, value): (&String, &String)| settings.get(name) != Some(value);
                    assert!(
                        changed.iter().flatten().all(differs),
                        "{engine}, {}: {changed:?}",
                        cause.code()
                    );
                    count += changed.iter().len();
                }
            }
        }
        assert!(count >= 8 * catalog.profiles().len(), "{count}");
    }
}
