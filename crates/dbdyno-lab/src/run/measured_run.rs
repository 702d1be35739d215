//! A run: what it is asked to do, the plan as far as its platform can run it, its record, its data.

use std::borrow::Cow;

use parking_lot::Mutex;
use serde_json::json;

use super::experiment::{self, Experiment, ExperimentEnd};
use super::measure::judge_repetitions;
use super::planned_blocks::PlanDesign;
use super::platform::Platform;
use super::probing::{Probing, SUPERUSER, rights};
use super::{Event, Request, Sink, nodes, overhead, pooler, repositories};
use crate::dataset::{self, Definition, LoadEvent, LoadedDataset, Lock, Recipe, Site, Watch};
use crate::fit;
use crate::store::{self, Store};
use crate::test_runner::{Interrupt, Workers};
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::params::{ORG, assignments};
use dbdyno_core::model::{
    Disclosure, Drive, LeftOut, Plan, Requirement, RunKind, RunRecord, RunStatus, STATED,
    Selection, StoredPlan, Target, Transport,
};
use dbdyno_engines::engine::{self, EngineError};
use dbdyno_engines::host::processors;

/// A request with what doing it takes.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// Catalog that the plan was made from.
    pub catalog: &'a Catalog,
    /// Request as the user made it.
    pub request: &'a Request,
    /// The request's plan.
    pub plan: &'a Plan,
    /// Flag by which the user ends the run.
    pub interrupt: &'a Interrupt,
    /// Receiver of events.
    pub events: &'a Sink<'a>,
    /// Load generators that run the jobs; none = we do.
    pub workers: Option<&'a Mutex<dyn Workers>>,
}

/// Way in which a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// Number of the run in the results file.
    pub run_id: i64,
    /// Finished, interrupted or failed.
    pub status: RunStatus,
    /// Last messages of a private server whose end made the run fail.
    pub last_words: Option<String>,
}

impl RunEnd {
    /// The end of an experiment of one arm.
    pub(super) fn from_experiment(ended: ExperimentEnd) -> RunEnd {
        let ExperimentEnd { runs, status, last_words } = ended;
        RunEnd { run_id: runs.first().copied().unwrap_or_default(), status, last_words }
    }
}

/// Measures a whole run to its end. Whatever happens after the platform is open, the run is
/// recorded with what was measured, and the platform is closed.
///
/// # Errors
/// Of the target before anything is measured (of kind `NoPassword` before anything is done), of the
/// data set, or of the results file.
pub fn execute(context: &RunContext<'_>, store: &mut Store) -> Result<RunEnd> {
    let ended =
        experiment::execute(Experiment { arms: vec![*context], design: &mut PlanDesign }, store)?;
    Ok(RunEnd::from_experiment(ended))
}

/// Says of an existing server which part of its URL is not used, and that its user may do more than
/// any test needs.
pub(super) fn warn_of_the_target(context: &RunContext<'_>, platform: &Platform) {
    if matches!(context.request.target, Target::Existing { .. }) {
        let unused = platform.database.unused_part_of_url();
        unused.iter().for_each(|line| (context.events)(Event::Note(line)));
        let lines = rights(platform, context.catalog, &[SUPERUSER]);
        lines.iter().for_each(|line| (context.events)(Event::Note(line)));
    }
}

/// Meaning of a target's error after an interrupt: what ran was cancelled, and a server that was
/// silent was given up. Of results that cannot be stored the user is told all the same.
pub fn ended_by(interrupt: &Interrupt, error: Error) -> Error {
    if interrupt.is_set() && error.kind == Kind::Target { interrupt_error("run") } else { error }
}

/// The plan, or another one if the server lacks what it needs; notes say so.
///
/// # Errors
/// Nothing is left to run without it, or a test that was asked for by name is not.
pub fn adapt_plan<'a>(context: &RunContext<'a>, platform: &Platform) -> Result<Cow<'a, Plan>> {
    let plan = match lacking(context.plan, platform) {
        None => Cow::Borrowed(context.plan),
        Some(lacking) => {
            let plan = context.request.plan_without(context.catalog, &lacking)?;
            lacking.notes().iter().for_each(|note| (context.events)(Event::Note(note)));
            Cow::Owned(plan)
        }
    };
    let plan = without_missing(plan, platform, context.events)?;
    let plan = pooler::passable(plan, platform, context.events)?;
    let plan = nodes::on_nodes(plan, platform, context.events)?;
    Transport::CHOICES
        .into_iter()
        .try_fold(plan, |plan, transport| reachable(plan, transport, platform, context.events))
}

/// The plan without what needs something that the server has not; notes say so.
///
/// # Errors
/// Nothing is left to run without it.
fn without_missing<'a>(
    plan: Cow<'a, Plan>,
    platform: &Platform,
    events: &Sink<'_>,
) -> Result<Cow<'a, Plan>> {
    let parts = |selection: &Selection| {
        let all = selection.with_background().flat_map(|one| &one.parts);
        all.flat_map(|part| part.requires.clone()).collect::<Vec<_>>()
    };
    let mut wanted: Vec<Requirement> = plan.selections.iter().flat_map(parts).collect();
    wanted.sort_by(|a, b| a.sql.cmp(&b.sql));
    wanted.dedup();
    if wanted.is_empty() {
        return Ok(plan);
    }
    let at = |error: EngineError| error.at(platform.label());
    let mut session = platform.database.polling_session().map_err(at)?;
    let mut missing = Vec::new();
    for requirement in wanted {
        if session.query(&requirement.sql, &[]).map_err(at)?.rows.is_empty() {
            missing.push(requirement);
        }
    }
    let lacks = |selection: &Selection| {
        parts(selection).into_iter().find(|requirement| missing.contains(requirement))
    };
    let mut plan = plan.into_owned();
    let (gone, left): (Vec<_>, Vec<_>) =
        plan.selections.drain(..).partition(|selection| lacks(selection).is_some());
    plan.selections = left;
    let mut left_out: Vec<LeftOut> = Vec::new();
    for selection in &gone {
        let label = selection.label().to_string();
        let reason = lacks(selection).map_or_else(String::new, |requirement| requirement.reason);
        if !left_out.iter().any(|known| known.label == label) {
            events(Event::Note(&format!("{label} is left out: {reason}")));
            left_out.push(LeftOut { label, reason });
        }
    }
    let first = left_out.first().map(|first| first.reason.clone());
    plan.left_out.extend(left_out);
    match first {
        Some(reason) if plan.selections.is_empty() => {
            Err(Error::target(platform.label(), format!("nothing can run here: {reason}")))
        }
        _ => Ok(Cow::Owned(plan)),
    }
}

/// The plan without what travels by a transport over which the server cannot be reached; a note
/// says why.
///
/// # Errors
/// Nothing is left to run without it.
fn reachable<'a>(
    plan: Cow<'a, Plan>,
    transport: Transport,
    platform: &Platform,
    events: &Sink<'_>,
) -> Result<Cow<'a, Plan>> {
    if !plan.travels_by(transport) {
        return Ok(plan);
    }
    let Err(error) = platform.database.reach(transport) else { return Ok(plan) };
    let mut plan = plan.into_owned();
    let (gone, left) =
        plan.selections.drain(..).partition(|selection| selection.wire.transport == transport);
    let gone: Vec<Selection> = gone;
    plan.selections = left;
    if plan.selections.is_empty() {
        let place = format!("{} by transport={}", platform.label(), transport.name());
        return Err(
            Error::target(place, error.message).advise("leave transport out, or give another")
        );
    }
    events(Event::Note(&format!(
        "nothing is measured by transport={}: {}",
        transport.name(),
        error.message
    )));
    let label = |selection: &Selection| {
        format!("{}:{}", selection.workload.id, assignments(&selection.wire.params(), ","))
    };
    plan.left_out
        .extend(gone.iter().map(|selection| LeftOut::new(label(selection), &error.message)));
    Ok(Cow::Owned(plan))
}

/// The plan as far as its jobs fit the platform; one line says what of it is left out.
pub(super) fn fit_plan<'a>(
    plan: Cow<'a, Plan>,
    platform: &Platform,
    events: &Sink<'_>,
) -> Result<Cow<'a, Plan>> {
    Ok(match fit::check_jobs(&plan, platform.limits(), &platform.label())? {
        None => plan,
        Some((narrower, line)) => {
            events(Event::Note(&line));
            Cow::Owned(narrower)
        }
    })
}

/// Requirements of the plan that the server or its user does not satisfy, each with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MissingParts {
    /// Drive that the server cannot have, with the reason.
    pub drive: Option<(Drive, String)>,
    /// Table organizations that the plan uses and the server cannot have, with the reasons.
    pub orgs: Vec<(&'static str, &'static str)>,
    /// All table organizations that the server cannot have, if the plan uses one of them.
    pub all_orgs: &'static [(&'static str, &'static str)],
}

impl MissingParts {
    /// Notes about it.
    pub fn notes(&self) -> Vec<String> {
        let drive = self.drive.iter().map(|(drive, reason)| {
            format!(
                "no {} drive here ({reason}): workloads run on the other drive where they can",
                drive.name()
            )
        });
        let orgs = self.orgs.iter();
        drive
            .chain(orgs.map(|(org, reason)| format!("tests with org={org} are left out: {reason}")))
            .collect()
    }
}

/// Unsatisfied requirements of the plan; none if the server satisfies all.
pub fn lacking(plan: &Plan, platform: &Platform) -> Option<MissingParts> {
    let drive = platform.database.lacking_drive();
    let drive = drive
        .filter(|(drive, _)| plan.selections.iter().any(|selection| selection.drive == *drive));
    let asked = |org: &str| {
        plan.selections
            .iter()
            .any(|selection| selection.params.get(ORG).is_some_and(|is| is == org))
    };
    let all_orgs = platform.database.unavailable_orgs();
    let orgs: Vec<_> = all_orgs.iter().filter(|(org, _)| asked(org)).copied().collect();
    let all_orgs = if orgs.is_empty() { &[] } else { all_orgs };
    let lacking = MissingParts { drive, orgs, all_orgs };
    (lacking != MissingParts::default()).then_some(lacking)
}

/// Begins the run on an open platform: its record is stored, and its probes are open.
///
/// # Errors
/// Of the target; if the record cannot be stored.
pub(super) fn begin_run<'a>(
    context: &RunContext<'a>,
    platform: &Platform,
    store: &mut Store,
) -> Result<(RunRecord, Probing<'a>)> {
    let probing = Probing::new(platform, context.catalog, context.events)?;
    let disclosure = with_what_is_stated(context, platform, probing.disclosure().clone())?;
    let mut record = record(context, disclosure);
    record.id = store.begin_run(&record)?;
    (context.events)(Event::RunStarted { run_id: record.id });
    Ok((record, probing))
}

/// Judges the repetitions of a run, and records how it ended.
///
/// # Errors
/// If that cannot be stored.
pub(super) fn finish_run(run_id: i64, status: RunStatus, store: &mut Store) -> Result<()> {
    let finished = judge_repetitions(run_id, store).and_then(|()| store.finish_run(run_id, status));
    finished
        .map_err(|error| error.preventing(&format!("how run {run_id} ended could not be stored")))
}

/// The status of a run with this outcome.
pub(super) fn status_of(outcome: &Result<RunStatus>) -> RunStatus {
    match outcome {
        Ok(status) => *status,
        Err(error) if error.kind == Kind::Interrupted => RunStatus::Interrupted,
        Err(_) => RunStatus::Failed,
    }
}

/// The disclosure with what the request says of the database: its nodes, options and repositories
/// that must be licensed; and of the platform.
fn with_what_is_stated(
    context: &RunContext<'_>,
    platform: &Platform,
    mut disclosure: Disclosure,
) -> Result<Disclosure> {
    let tests = context.plan.selections.iter().map(|selection| &selection.params);
    let options = context.catalog.licences(platform.engine.name(), tests);
    let options = options.into_keys().collect::<Vec<_>>().join(", ");
    let pooler = pooler::disclose(platform);
    let facts = [("nodes", platform.database.nodes().join(", ")), ("licensed_options", options)];
    for (name, stated) in facts.into_iter().chain(pooler) {
        if !stated.is_empty() {
            disclosure.set("database", name, stated);
        }
    }
    for (name, stated) in &context.request.facts {
        disclosure.set(STATED, name, stated);
    }
    repositories::disclose(
        platform,
        context.catalog,
        &context.request.repositories,
        &mut disclosure,
    )?;
    Ok(disclosure)
}

/// The standard data set's definition.
///
/// # Errors
/// A broken catalog.
pub fn standard_definition(catalog: &Catalog) -> Result<Definition> {
    let set = catalog.dataset(dataset::STANDARD)?;
    Definition::parse(&set.toml, &set.toml_path)
}

/// Site of the data set on an open platform.
///
/// # Errors
/// A broken catalog.
pub fn make_site<'a>(
    catalog: &'a Catalog,
    platform: &'a Platform,
    definition: &'a Definition,
    label: &'a str,
) -> Result<Site<'a>> {
    Ok(Site {
        db: platform.database.as_ref(),
        recipe: Recipe::new(platform.engine, definition, catalog.dataset(dataset::STANDARD)?),
        words: own_words(catalog),
        lasting: platform.lasting(),
        label,
    })
}

/// Notes the objects of others in our schema, which are left alone.
///
/// # Errors
/// A test of the plan would use or drop it. The engine's.
pub fn spare(site: &Site<'_>, plan: &Plan, events: &Sink<'_>) -> Result<()> {
    let parts = plan
        .selections
        .iter()
        .flat_map(Selection::with_background)
        .flat_map(|selection| &selection.parts);
    let of_parts = parts.flat_map(|part| part.setup_sql().into_iter().chain(part.teardown_sql()));
    let calibration = plan.calibration.iter().filter(|_| plan.calls_routines());
    let of_routine = calibration.flat_map(|routine| routine.create.iter().chain(&routine.drop));
    let used: Vec<String> = of_parts.chain(of_routine.cloned()).collect();
    let spared = dataset::list_foreign(site, &used)?;
    if !spared.is_empty() {
        events(Event::Note(&format!("left alone, not made by dbdyno: {}", spared.join(", "))));
    }
    Ok(())
}

/// First words of what tests make: generated routines, and objects of the groups.
fn own_words(catalog: &Catalog) -> Vec<String> {
    let groups = catalog.groups().iter().map(|group| group.id.to_lowercase());
    ["w", "failover"].map(String::from).into_iter().chain(groups).collect()
}

/// Data request of the plan.
pub fn data_request(plan: &Plan) -> dataset::Request {
    let sessions = processors();
    dataset::Request {
        tables: plan.tables.clone(),
        size_gb: plan.size_gb,
        seed: plan.seed,
        sessions,
    }
}

/// Loads or reuses the data set, and reports that to the receiver of events.
///
/// # Errors
/// As [`dataset::ensure`]; interrupted.
pub fn load_with(
    site: &Site<'_>,
    lock: &Lock,
    request: &dataset::Request,
    interrupt: &Interrupt,
    events: &Sink<'_>,
) -> Result<LoadedDataset> {
    let flag = interrupt.flag();
    let tell = |event: LoadEvent| match &event {
        LoadEvent::Loaded(result) => events(Event::Loaded(result)),
        other => events(Event::Load(other)),
    };
    let loaded = dataset::ensure(site, lock, request, Watch { events: &tell, cancel: &flag })?;
    if interrupt.is_set() {
        return Err(interrupt_error("load"));
    }
    Ok(loaded)
}

/// Runs `work`, whose statements are cancelled after an interrupt.
///
/// # Errors
/// Those of `work`; interrupted.
pub fn interruptible<T>(
    site: &Site<'_>,
    interrupt: &Interrupt,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let done = engine::cancellable(site.db, &interrupt.flag(), || (), work);
    if interrupt.is_set() { Err(interrupt_error("preparing a test")) } else { done }
}

fn interrupt_error(place: &str) -> Error {
    Error::new(Kind::Interrupted, place, "interrupted")
}

/// The plan as stored, with what is made anew, and how an A/B test compares.
fn stored_plan(plan: &Plan, request: &Request) -> StoredPlan {
    let mut described = dbdyno_core::plan::describe(plan);
    let cluster = request.target.cluster();
    let link_delay = cluster.and_then(|cluster| cluster.link_delay);
    let options = [
        ("fresh", json!(request.fresh.name())),
        ("margin", json!(request.margin)),
        ("duet", json!(request.duet.then_some(true))),
        ("key_seed", json!(plan.key_seed)),
        // Options with which a private database is created.
        ("profile", json!(request.data_dir().map(|_| &request.profile.id))),
        ("settings", json!((!request.settings.is_empty()).then_some(&request.settings))),
        ("nodes", json!(cluster.map(|cluster| cluster.nodes))),
        ("network_delay_s", json!(link_delay.map(|delay| delay.as_secs_f64()))),
        // How it is measured, where that is not as usual.
        ("no_sampler", json!((!request.is_sampled).then_some(true))),
        (
            "repositories",
            json!((!request.repositories.is_empty()).then_some(&request.repositories)),
        ),
        ("test_bottleneck", json!(request.explain)),
        ("via", json!(request.via.as_ref().map(|via| &via.url))),
    ];
    for (name, value) in options.into_iter().filter(|(_, value)| !value.is_null()) {
        described[name] = value;
    }
    described.into()
}

fn record(context: &RunContext<'_>, disclosure: Disclosure) -> RunRecord {
    let (plan, request) = (context.plan, context.request);
    RunRecord {
        name: request.name.clone(),
        engine: Some(plan.engine.clone()),
        suite: plan.suite.clone(),
        labels: request.labels.clone(),
        started_at: Some(store::now()),
        status: RunStatus::Running,
        command: request.command.clone(),
        seed: Some(plan.seed),
        size_gb: Some(plan.size_gb),
        disclosure,
        own_loop: overhead::own_loop(),
        plan: stored_plan(plan, request),
        loads: Vec::new(),
        ..RunRecord::new(RunKind::Measured, request.target.label())
    }
}
