//! A self-test of a target: loads a small data set, checks every workload's answer, runs each for a
//! moment on one job, and looks whether answers, counters, commits and clock agree; then removes
//! all that it made, whatever happened.

use std::borrow::Cow;

use super::measured_run::{fitting, interruptible, make_site, recorded, standard_definition};
use super::platform::{Platform, is_there};
use super::prepare::{Ready, prepared};
use super::progress::RunProgress;
use super::schedule::{self, ServerStart};
use super::{Checked, Event, Request, RunContext, answers, overhead};
use crate::dataset::{self, Lock};
use crate::store::Store;
use dbdyno_core::analysis::selftest::{self, Finding, Outcome, PlannedTest};
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{
    Drive, End, Plan, RunRecord, RunStatus, Selection, Target, Test, TestResult, Window,
};
use dbdyno_core::plan;
use dbdyno_engines::engine::Access;
use dbdyno_engines::host::processors;

/// The suite that it runs, of a catalogue that is laid over the other one for it.
pub const SUITE: &str = "selftest";
/// Window of a further try of what is in doubt, and how often it is tried again.
const LONGER: Window = Window { warmup_s: 0.5, end: End::Time(2.0) };
const FURTHER_TRIES: u32 = 2;
/// Ops of a known length on the null engine, in ns and s: where the database has no statement that
/// sleeps.
const OWN_OP_NS: u64 = 100_000;
const OWN_LOOP_S: f64 = 0.5;
/// Data set ids at the suite's size and the usual seed, by the kinds of tables that are loaded.
const KNOWN_IDS: [(&str, &str); 2] =
    [("small", "b3eafe92cb0c5fa1"), ("small big", "7f273b872dc1ae6c")];
const KNOWN_GB: f64 = 0.1;

/// Result of a self-test.
pub struct SelfTest {
    /// Name and version of the product.
    pub product: String,
    /// Checks in order, each with outcome and evidence.
    pub findings: Vec<Finding>,
    /// Selections that were run, and the last test of each.
    pub selections: Vec<Selection>,
    /// Last test of each selection, in the same order.
    pub tests: Vec<TestResult>,
    /// The first run, with disclosure and loads.
    pub run: RunRecord,
}

impl SelfTest {
    /// Checks that failed.
    pub fn failed(&self) -> usize {
        self.findings.iter().filter(|finding| finding.outcome == Outcome::Failed).count()
    }
}

/// The plan: the suite in every drive of the engine, or of it only the `named` workloads, and what
/// sleeps.
///
/// # Errors
/// An unknown workload; nothing to run.
pub fn plan(catalog: &Catalog, request: &Request, named: &[String]) -> Result<Plan> {
    let asked = named
        .iter()
        .map(|name| Ok(catalog.find(name)?.entry.workload.id.clone()))
        .collect::<Result<Vec<_>>>()?;
    let of_request = [request.plan.drive].into_iter().flatten().collect::<Vec<_>>();
    let drives = if of_request.is_empty() { request.plan.capabilities.drives } else { &of_request };
    let build = |drive: &Drive| {
        plan::build(catalog, &plan::Request { drive: Some(*drive), ..request.plan.clone() })
    };
    let plans = drives.iter().map(build).collect::<Result<Vec<_>>>()?;
    let merged = plans.into_iter().reduce(merge);
    let mut plan = merged.ok_or_else(|| Error::usage("--drive", "the engine has no drive"))?;
    let is_asked =
        |selection: &Selection| asked.is_empty() || asked.contains(&selection.workload.id);
    if !plan.selections.iter().any(is_asked) {
        let what = format!("{} cannot run {}", plan.engine, named.join(", "));
        return Err(Error::usage("--workload", what).advise("see 'dbdyno list workloads'"));
    }
    plan.selections
        .retain(|selection| is_asked(selection) || selftest::sleep_us(selection).is_some());
    plan.tables
        .retain(|table| plan.selections.iter().any(|selection| selection.tables.contains(table)));
    Ok(plan)
}

fn merge(mut plan: Plan, other: Plan) -> Plan {
    plan.selections.extend(other.selections);
    plan.tables.extend(other.tables);
    plan.tables.sort_by_key(|table| (table.kind != "small", table.clone()));
    plan.tables.dedup();
    plan
}

/// Tests the target of a run; the store takes its tests.
///
/// # Errors
/// Of the target; if there is a data set of ours already; interrupted.
pub fn run(context: &RunContext<'_>, store: &mut Store) -> Result<SelfTest> {
    let target = &context.request.target;
    let is_own = !matches!(target, Target::Existing { .. });
    if is_own && is_there(target) {
        return Err(used(&target.label())
            .advise("remove it with 'dbdyno clean', or give another --data-dir"));
    }
    let mut platform =
        Platform::open(context.request, Some(context.plan), Access::Provision, context.events)?;
    platform.heed(context.interrupt);
    let found = on_platform(context, &mut platform, store);
    let closed = platform.close(context.events);
    let mut found = found?;
    closed?;
    if is_own && is_there(target) {
        found.findings.push(Finding::new(
            "nothing left behind",
            Outcome::Failed,
            "the private database is still there",
        ));
    }
    Ok(found)
}

fn used(label: &str) -> Error {
    Error::usage(label, "holds a data set of dbdyno already, which a self-test would change")
}

fn on_platform(
    context: &RunContext<'_>,
    platform: &mut Platform,
    store: &mut Store,
) -> Result<SelfTest> {
    let own = owned(context, platform)?;
    if !own.is_empty() {
        return Err(used(&platform.label())
            .advise("remove it with 'dbdyno clean', or name another database"));
    }
    let (plan, lacking) = drivable(context.plan, platform);
    let tested = fitting(Cow::Owned(plan), platform, context.events)
        .and_then(|plan| tested(&RunContext { plan: plan.as_ref(), ..*context }, platform, store));
    let cleaned = cleaned(context, platform);
    let mut found = tested?;
    found.findings.extend(lacking);
    found.findings.push(cleaned?);
    Ok(found)
}

/// The plan without the drive that this server or user lacks, which is told.
fn drivable(plan: &Plan, platform: &Platform) -> (Plan, Option<Finding>) {
    let mut plan = plan.clone();
    let lacking = platform.database.lacking_drive();
    plan.selections
        .retain(|selection| lacking.as_ref().is_none_or(|(drive, _)| selection.drive != *drive));
    let note = |(drive, why): (Drive, String)| {
        Finding::new(
            format!("{} drive", drive.name()),
            Outcome::NotJudged,
            format!("cannot be had here: {why}"),
        )
    };
    (plan, lacking.map(note))
}

/// Names of what is ours on the target.
fn owned(context: &RunContext<'_>, platform: &Platform) -> Result<Vec<String>> {
    let definition = standard_definition(context.catalog)?;
    let label = platform.label();
    dataset::owned(&make_site(context.catalog, platform, &definition, &label)?)
}

/// Removes all that is ours, and looks.
fn cleaned(context: &RunContext<'_>, platform: &Platform) -> Result<Finding> {
    (context.events)(Event::Step("removing what the self-test made"));
    let definition = standard_definition(context.catalog)?;
    let label = platform.label();
    let site = make_site(context.catalog, platform, &definition, &label)?;
    let cleaned = dataset::drop_all(&site, &Lock::take(&site)?)?;
    let outcome = if cleaned.left.is_empty() { Outcome::Ok } else { Outcome::Failed };
    let evidence = match cleaned.left.as_slice() {
        [] => format!("{} objects were removed", cleaned.dropped.len()),
        left => format!("left: {}", left.join(", ")),
    };
    Ok(Finding::new("nothing left behind", outcome, evidence))
}

/// All tests, and again those that are in doubt, in longer windows.
fn tested(
    context: &RunContext<'_>,
    platform: &mut Platform,
    store: &mut Store,
) -> Result<SelfTest> {
    let mut answers = Vec::new();
    let (run_id, mut tests) = one_run(context, platform, store, Some(&mut answers))?;
    for _ in 0..FURTHER_TRIES {
        let tried = context.plan.selections.iter().zip(&tests);
        let is_in_doubt =
            |(selection, test)| PlannedTest { selection, test }.is_in_doubt(processors());
        let doubtful: Vec<usize> =
            tried.enumerate().filter(|(_, pair)| is_in_doubt(*pair)).map(|(at, _)| at).collect();
        if doubtful.is_empty() {
            break;
        }
        let longer =
            |at: &usize| Selection { window: LONGER, ..context.plan.selections[*at].clone() };
        let plan =
            Plan { selections: doubtful.iter().map(longer).collect(), ..context.plan.clone() };
        let (_, again) = one_run(&RunContext { plan: &plan, ..*context }, platform, store, None)?;
        doubtful.into_iter().zip(again).for_each(|(at, test)| tests[at] = test);
    }
    let run = store.run(&run_id.to_string())?;
    let selections = context.plan.selections.clone();
    let (engine, version) = (platform.engine, platform.database.version());
    let product = format!("{} {version}", engine.capabilities().product);
    let mut findings = vec![connection(context, platform, &product), data_set(context, &run)];
    findings.extend(answers);
    findings.extend(judged(context, &selections, &tests)?);
    Ok(SelfTest { product, findings, selections, tests, run })
}

fn connection(context: &RunContext<'_>, platform: &Platform, product: &str) -> Finding {
    let can = platform.engine.capabilities();
    let version = platform.database.version();
    let unconfirmed = context.catalog.unconfirmed(platform.engine.name(), can.product, &version.0);
    let known = unconfirmed.map_or("confirmed by our tests".into(), |reason| reason.text);
    Finding::new("connection", Outcome::Ok, format!("{product}: {known}"))
}

/// The rows were compared with ours when they were loaded; the id stands for them on every engine.
fn data_set(context: &RunContext<'_>, run: &RunRecord) -> Finding {
    let plan = context.plan;
    let is_usual = plan.size_gb == KNOWN_GB && plan.seed == u64::from(plan::DEFAULT_SEED);
    let kinds: Vec<&str> = plan.tables.iter().map(|table| table.kind.as_str()).collect();
    let known = KNOWN_IDS
        .iter()
        .find(|(known, _)| is_usual && *known == kinds.join(" "))
        .map(|(_, id)| *id);
    let id = run.data_set_id.as_deref().unwrap_or("-");
    let rows: u64 = run.loads.iter().map(|load| load.rows).sum();
    let evidence = format!("{rows} rows: counts and checksums equal ours, id {id}");
    match known {
        Some(known) if known != id => {
            Finding::new("data set", Outcome::Failed, format!("{evidence}, known is {known}"))
        }
        Some(_) => Finding::new("data set", Outcome::Ok, evidence + ", the known one"),
        None if kinds.is_empty() => {
            Finding::new("data set", Outcome::NotJudged, "these workloads need none")
        }
        None => Finding::new("data set", Outcome::Ok, evidence),
    }
}

fn judged(
    context: &RunContext<'_>,
    selections: &[Selection],
    tests: &[TestResult],
) -> Result<Vec<Finding>> {
    let tried: Vec<PlannedTest<'_>> = selections
        .iter()
        .zip(tests)
        .map(|(selection, test)| PlannedTest { selection, test })
        .collect();
    let drives = [Drive::Database, Drive::Client];
    let engine = &context.plan.engine;
    let counters =
        drives.iter().filter_map(|drive| selftest::counters(&tried, *drive, engine, processors()));
    let clocks: Vec<Finding> =
        drives.iter().filter_map(|drive| selftest::clock(&tried, *drive)).collect();
    let mut findings: Vec<Finding> = counters.collect();
    findings.push(selftest::commits(&tried));
    match clocks.is_empty() {
        true => findings.push(own_clock(context)?),
        false => findings.extend(clocks),
    }
    Ok(findings)
}

/// Our clock on ops of a known length, without a database.
fn own_clock(context: &RunContext<'_>) -> Result<Finding> {
    let measured = overhead::measure(OWN_OP_NS, 1, OWN_LOOP_S, context.interrupt)?;
    Ok(selftest::of_times("clock, our own loop", OWN_OP_NS as f64 / 1e3, &measured.result))
}

/// Measures every selection once; with `answers` their answers are checked before.
fn one_run(
    context: &RunContext<'_>,
    platform: &mut Platform,
    store: &mut Store,
    answers: Option<&mut Vec<Finding>>,
) -> Result<(i64, Vec<TestResult>)> {
    let plan = context.plan;
    let server_start = server_start(context);
    let ended = recorded(context, platform, store, |platform, mut probing, mut run| {
        prepared(
            context,
            platform,
            &server_start,
            &mut probing,
            &mut run,
            |ready, probing, store| {
                if let Some(answers) = answers {
                    *answers = checked(context, ready)?;
                }
                ready.measuring.all(
                    &mut RunProgress::new(plan, std::slice::from_ref(&server_start)),
                    probing,
                    store,
                )
            },
        )
    })?;
    let tests: Vec<TestResult> =
        store.tests(ended.run_id)?.iter().filter_map(Test::measured).cloned().collect();
    match ended.status {
        RunStatus::Interrupted => Err(interrupted()),
        RunStatus::Finished if tests.len() == plan.selections.len() => Ok((ended.run_id, tests)),
        _ => Err(Error::target(platform.label(), "no longer answers")),
    }
}

/// One turn for each selection, whose answers are checked apart.
fn server_start(context: &RunContext<'_>) -> ServerStart {
    let turn = |turn: schedule::ScheduledRamp| schedule::ScheduledRamp { round: 2, ..turn };
    let turns = schedule::turns(context.plan).into_iter().map(turn).collect();
    ServerStart { load: 1, server_start: 1, turns }
}

fn interrupted() -> Error {
    Error::new(Kind::Interrupted, "selftest", "interrupted; what it made is removed")
}

/// The answers of every workload, by drive.
fn checked(context: &RunContext<'_>, ready: &Ready<'_>) -> Result<Vec<Finding>> {
    let mut checks: Vec<(Drive, AnswerCheck)> = Vec::new();
    (context.events)(Event::Step("checking the answers of the workloads"));
    for selection in &context.plan.selections {
        let facts = (ready.measuring.facts)(selection);
        let check = || answers::check(ready.measuring.database, context.plan, selection, &facts);
        let answer = match ready.site() {
            Some(site) => interruptible(site, context.interrupt, check),
            None => check(),
        };
        let at =
            checks.iter().position(|(drive, _)| *drive == selection.drive).unwrap_or_else(|| {
                checks.push((selection.drive, AnswerCheck::default()));
                checks.len() - 1
            });
        checks[at].1.take(selection, answer)?;
    }
    Ok(checks.into_iter().map(|(drive, check)| check.finding(drive)).collect())
}

/// Result of checking the answers of a drive.
#[derive(Default)]
struct AnswerCheck {
    right: usize,
    unstated: Vec<String>,
    wrong: Vec<String>,
}

impl AnswerCheck {
    fn take(&mut self, selection: &Selection, answer: Result<Checked>) -> Result<()> {
        match answer {
            Ok(Checked::Yes) => self.right += 1,
            Ok(Checked::No(_)) => self.unstated.push(selection.workload.id.clone()),
            Err(error) if error.kind == Kind::Interrupted => return Err(interrupted()),
            Err(error) => self.wrong.push(error.to_string()),
        }
        Ok(())
    }

    fn finding(self, drive: Drive) -> Finding {
        let check = format!("answers, {} drive", drive.name());
        if !self.wrong.is_empty() {
            return Finding::new(check, Outcome::Failed, self.wrong.join("; "));
        }
        let unstated = match self.unstated.as_slice() {
            [] => String::new(),
            ids => format!("; none is stated of {}", ids.join(", ")),
        };
        let outcome = if self.right > 0 { Outcome::Ok } else { Outcome::NotJudged };
        Finding::new(check, outcome, format!("{} workloads right{unstated}", self.right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::model::TableRef;

    #[test]
    fn the_known_data_sets_are_what_the_row_function_gives() {
        let catalog = Catalog::embedded().unwrap();
        let definition = standard_definition(&catalog).unwrap();
        let engine =
            dbdyno_engines::engine::ENGINES.iter().find(|engine| engine.is_target()).unwrap();
        let set = catalog.dataset(dataset::STANDARD).unwrap();
        let recipe = dataset::Recipe::new(*engine, &definition, set);
        for (kinds, known) in KNOWN_IDS {
            let tables = kinds.split(' ').map(TableRef::new).collect();
            let request = dataset::Request {
                tables,
                size_gb: KNOWN_GB,
                seed: plan::DEFAULT_SEED.into(),
                sessions: 1,
            };
            let id = dataset::data_set_id(definition.revision, &dataset::tables(&recipe, &request));
            assert_eq!(id, known, "{kinds}");
        }
    }
}
