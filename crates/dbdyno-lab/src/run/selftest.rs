//! A self-test of a target: loads a small data set, checks every workload's answer, runs each for a
//! moment on one job, and looks whether answers, counters, commits and clock agree; then removes
//! all that it made, whatever happened.

use std::borrow::Cow;

use super::experiment::{
    self, Blocks, Design, Execution, Experiment, OnlyPlatform, ReadyArm, Servers, Stage,
    StageEvents, unsuitable,
};
use super::measured_run::{fit_plan, interruptible, make_site, standard_definition};
use super::numbers::Numbers;
use super::platform::{Platform, is_there};
use super::prepare::ReadyPlatform;
use super::progress::RunProgress;
use super::schedule::{self, ServerStart};
use super::{AnswerCheckOutcome, Event, Request, RunContext, answers, overhead};
use crate::dataset::{self, Lock};
use crate::store::Store;
use dbdyno_core::analysis::circumstances;
use dbdyno_core::analysis::selftest::{self, Finding, Outcome, PlannedTest};
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{
    Drive, End, Plan, RunRecord, RunStatus, Selection, Target, TestResult, Window,
};
use dbdyno_core::plan;
use dbdyno_engines::host::processors;

/// The suite that it runs, of a catalog that is laid over the other one for it.
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
    /// The run, with disclosure and loads.
    pub run: RunRecord,
}

impl SelfTest {
    /// Checks that failed.
    pub fn failed_count(&self) -> usize {
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
        return Err(used_error(&target.label())
            .advise("remove it with 'dbdyno clean', or give another --data-dir"));
    }
    let mut design = Checks::default();
    let experiment = Experiment { arms: vec![*context], design: &mut design };
    let ended = experiment::execute(experiment, store)?;
    let mut found = match (ended.status, design.found) {
        (RunStatus::Interrupted, _) => return Err(interrupt_error()),
        (RunStatus::Finished, Some(found)) => found,
        _ => return Err(gone(target.label())),
    };
    found.findings.extend(design.lacking);
    found.findings.extend(design.cleared);
    if is_own && is_there(target) {
        found.findings.push(Finding::new(
            "nothing left behind",
            Outcome::Failed,
            "the private database is still there",
        ));
    }
    Ok(found)
}

fn used_error(label: &str) -> Error {
    Error::usage(label, "holds a data set of dbdyno already, which a self-test would change")
}

fn gone(label: String) -> Error {
    Error::target(label, "no longer answers")
}

/// Checks of a self-test. It must find no objects of dbdyno on the target, and leaves none.
#[derive(Default)]
struct Checks {
    /// Finding about a drive that the server or user cannot have.
    lacking: Option<Finding>,
    found: Option<SelfTest>,
    /// The finding on what was removed at the end.
    cleared: Option<Finding>,
}

impl Design for Checks {
    fn admit(&self, arms: &[RunContext<'_>], platforms: &[Platform]) -> Result<()> {
        for (arm, platform) in arms.iter().zip(platforms) {
            if !list_own(arm, platform)?.is_empty() {
                return Err(used_error(&platform.label())
                    .advise("remove it with 'dbdyno clean', or name another database"));
            }
        }
        Ok(())
    }

    fn plan(&mut self, arm: &RunContext<'_>, platform: &Platform) -> Result<Plan> {
        let (plan, lacking) = drivable(arm.plan, platform);
        self.lacking = lacking;
        fit_plan(Cow::Owned(plan), platform, arm.events).map(Cow::into_owned)
    }

    fn carry_out(&mut self, execution: &mut Execution<'_, '_>) -> Result<RunStatus> {
        let [arm] = execution.arms[..] else { return Err(unsuitable(&execution.arms)) };
        let mut tries = Tries::new(arm);
        let status = execution.measure(&mut tries)?;
        if status == RunStatus::Finished {
            self.found = Some(judge_tries(&execution.only_platform()?, tries)?);
        }
        Ok(status)
    }

    fn clear(&mut self, arm: &RunContext<'_>, platform: &mut Platform) -> Result<()> {
        self.cleared = Some(clean(arm, platform)?);
        Ok(())
    }
}

/// The plan without the drive that this server or user lacks; an event reports that.
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

/// Names of the objects of dbdyno on the target.
fn list_own(context: &RunContext<'_>, platform: &Platform) -> Result<Vec<String>> {
    let definition = standard_definition(context.catalog)?;
    let label = platform.label();
    dataset::list_own(&make_site(context.catalog, platform, &definition, &label)?)
}

/// Removes all objects of dbdyno, and checks that none is left.
fn clean(context: &RunContext<'_>, platform: &Platform) -> Result<Finding> {
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

/// All tests, and again those that are in doubt, in longer windows: each time on the servers as
/// they are.
struct Tries<'a> {
    context: RunContext<'a>,
    numbers: Numbers,
    /// Indexes of the selections that are measured now.
    selections: Vec<usize>,
    /// Number of times that something was measured.
    count: u32,
    answers: Vec<Finding>,
    /// Last test of each selection.
    tests: Vec<TestResult>,
}

impl<'a> Tries<'a> {
    fn new(context: RunContext<'a>) -> Tries<'a> {
        Tries {
            context,
            numbers: Numbers::default(),
            selections: (0..context.plan.selections.len()).collect(),
            count: 0,
            answers: Vec::new(),
            tests: Vec::new(),
        }
    }

    /// Indexes of the selections whose last test is in doubt.
    fn doubtful(&self) -> Vec<usize> {
        let tried = self.context.plan.selections.iter().zip(&self.tests).enumerate();
        let is_in_doubt = |(_, (selection, test)): &(usize, (&Selection, &TestResult))| {
            PlannedTest { selection, test }.is_in_doubt(processors())
        };
        tried.filter(is_in_doubt).map(|(at, _)| at).collect()
    }

    /// The plan of what is in doubt.
    fn longer(&self) -> Plan {
        let plan = self.context.plan;
        let longer = |at: &usize| Selection { window: LONGER, ..plan.selections[*at].clone() };
        Plan { selections: self.selections.iter().map(longer).collect(), ..plan.clone() }
    }
}

impl Blocks for Tries<'_> {
    fn next_stage(&mut self, _: &mut Store) -> Result<Option<Stage>> {
        if self.count > 0 {
            self.selections = self.doubtful();
        }
        if self.count > FURTHER_TRIES || self.selections.is_empty() {
            return Ok(None);
        }
        let plan = (self.count > 0).then(|| self.longer());
        self.count += 1;
        let server_start = server_start(plan.as_ref().unwrap_or(self.context.plan));
        Ok(Some(Stage { server_start, servers: Servers::RunOn, plan, reported: StageEvents::All }))
    }

    fn measure(
        &mut self,
        arms: &mut [ReadyArm<'_, '_>],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let [ReadyArm { ready, probing }] = arms else { return Ok(Some(RunStatus::Failed)) };
        if self.count == 1 {
            self.answers = check_answers(&self.context, ready)?;
        }
        let measuring = &ready.measuring;
        let known = store.tests(measuring.run_id)?.len();
        let mut progress =
            RunProgress::new(measuring.plan, std::slice::from_ref(measuring.server_start));
        std::mem::swap(&mut progress.numbers, &mut self.numbers);
        let status = measuring.measure_all(&mut progress, probing, store)?;
        std::mem::swap(&mut progress.numbers, &mut self.numbers);
        if status != RunStatus::Finished {
            return Ok(Some(status));
        }
        let tests = store.tests(measuring.run_id)?.into_iter().skip(known);
        let tests: Vec<TestResult> = tests.filter_map(|test| test.measured().cloned()).collect();
        if tests.len() != self.selections.len() {
            return Err(gone(self.context.request.target.label()));
        }
        if self.tests.is_empty() {
            self.tests = tests;
        } else {
            for (at, test) in self.selections.iter().zip(tests) {
                self.tests[*at] = test;
            }
        }
        Ok(None)
    }
}

/// The findings of all tries.
fn judge_tries(of: &OnlyPlatform<'_, '_>, tries: Tries<'_>) -> Result<SelfTest> {
    let OnlyPlatform { context, platform, run } = of;
    let version = platform.database.version();
    let product = format!("{} {version}", platform.engine.capabilities().product);
    let selections = context.plan.selections.clone();
    let mut findings = vec![connection(context, platform, &product), data_set(context, run.record)];
    findings.extend(tries.answers);
    findings.extend(judge_tests(context, &selections, &tries.tests)?);
    Ok(SelfTest { product, findings, selections, tests: tries.tests, run: run.record.clone() })
}

fn connection(context: &RunContext<'_>, platform: &Platform, product: &str) -> Finding {
    let version = platform.database.version();
    let known = match context.catalog.is_confirmed(platform.engine.name(), &version.0) {
        true => "confirmed by our tests".into(),
        false => {
            let product = platform.engine.capabilities().product;
            circumstances::unconfirmed_reason(product, &version.to_string()).text
        }
    };
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

fn judge_tests(
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

/// One turn for each selection, whose answers are checked apart.
fn server_start(plan: &Plan) -> ServerStart {
    let turn = |turn: schedule::ScheduledRamp| schedule::ScheduledRamp { round: 2, ..turn };
    let turns = schedule::turns(plan).into_iter().map(turn).collect();
    ServerStart { load: 1, server_start: 1, turns }
}

fn interrupt_error() -> Error {
    Error::new(Kind::Interrupted, "selftest", "interrupted; what it made is removed")
}

/// The answers of every workload, by drive.
fn check_answers(context: &RunContext<'_>, ready: &ReadyPlatform<'_>) -> Result<Vec<Finding>> {
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
    fn take(&mut self, selection: &Selection, answer: Result<AnswerCheckOutcome>) -> Result<()> {
        match answer {
            Ok(AnswerCheckOutcome::Yes) => self.right += 1,
            Ok(AnswerCheckOutcome::No(_)) => self.unstated.push(selection.workload.id.clone()),
            Err(error) if error.kind == Kind::Interrupted => return Err(interrupt_error()),
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
