//! One selection: which workload, with which parameters, drive, ramp and window.

use crate::catalog::{Catalog, Entry, SelectionText, Suite, SuiteEntry, parse_selection};
use crate::error::{Error, Result};
use crate::model::params::{NODES, PROTOCOL, TRANSPORT, assignments};
use crate::model::ramp::RAMP_FORMS;
use crate::model::{
    Background, Drive, Facts, Loop, PartPlan, Protocol, Ramp, Selection, TableRef, Transport, Wire,
    Workload,
};

use super::compile::{self, Target};
use super::params::{self, Params};
use super::{AskedBackground, DEFAULT_SIZE_GB, Refusal, Request, hash, pace, values};

/// A test as it is wished for, by a suite or by name.
#[derive(Clone)]
pub(super) struct RequestedTest<'a> {
    pub entry: SuiteEntry,
    /// Tests of a suite that are not possible are left out; what is asked for by name is an error.
    pub suite: Option<&'a Suite>,
    /// Background workload.
    pub beside: Option<AskedBackground>,
}

impl RequestedTest<'_> {
    /// Text as written: `TP-LIGHT:update_pct=40`.
    pub fn text(&self) -> &str {
        self.entry.workload.as_deref().unwrap_or_else(|| self.entry.label())
    }
}

impl RequestedTest<'_> {
    /// The workload with the way of its statements, if the wish has one.
    pub fn with_way(&self, id: String) -> String {
        let way: Vec<_> = self
            .entry
            .params
            .iter()
            .filter(|(name, _)| [TRANSPORT, PROTOCOL].contains(&name.as_str()))
            .collect();
        if way.is_empty() { id } else { format!("{id}:{}", assignments(way, ",")) }
    }
}

/// All wishes of the request in order.
pub(super) fn wishes<'a>(
    catalog: &'a Catalog,
    request: &'a Request,
) -> Result<Vec<RequestedTest<'a>>> {
    let mut wishes = Vec::new();
    let beside = |entry: &SuiteEntry| {
        let jobs = entry.background_jobs.unwrap_or(1);
        let own = entry.background.clone().map(|workload| AskedBackground { workload, jobs });
        own.or(request.beside.clone())
    };
    for name in &request.suites {
        let suite = catalog.suite(name)?;
        for entry in catalog.suite_tests(suite)? {
            let entry = entry.on_engine(catalog, &request.engine)?;
            wishes.push(RequestedTest { beside: beside(&entry), entry, suite: Some(suite) });
        }
    }
    let by_name = request.workloads.iter().map(|text| named(text));
    let single = by_name.chain(request.tests.iter().cloned());
    wishes.extend(single.map(|entry| RequestedTest { beside: beside(&entry), entry, suite: None }));
    if !request.via || wishes.iter().any(names_pooler) {
        return Ok(wishes);
    }
    let paired = wishes.into_iter().map(|wish| with_pooler(catalog, wish));
    Ok(paired.collect::<Result<Vec<_>>>()?.concat())
}

/// True if the wish chooses the pooler. A user who does so for one test does it for each test that
/// is to go through the pooler.
fn names_pooler(wish: &RequestedTest<'_>) -> bool {
    let is_pooler = |value: &String| value == Transport::Pooler.name();
    let given = parse_selection(wish.text()).unwrap_or_default().params;
    wish.entry.params.get(TRANSPORT).or(given.get(TRANSPORT)).is_some_and(is_pooler)
}

/// The wish directly and through the pooler, in each form of its statements unless it chooses one:
/// pairs that differ by the pooler alone. A wish that chooses its way stays as it is.
fn with_pooler<'a>(catalog: &Catalog, wish: RequestedTest<'a>) -> Result<Vec<RequestedTest<'a>>> {
    if wish.entry.none.is_some() {
        return Ok(vec![wish]);
    }
    let SelectionText { name, params: given } = parse_selection(wish.text())?;
    let chooses = |param: &str| wish.entry.params.contains_key(param) || given.contains_key(param);
    if chooses(TRANSPORT) || wish.entry.drive == Some(Drive::Database) {
        return Ok(vec![wish]);
    }
    let is_one_form = chooses(PROTOCOL) || catalog.find(&name)?.entry.workload.connects;
    let forms: &[Protocol] =
        if is_one_form { &[Protocol::Prepared] } else { &[Protocol::Prepared, Protocol::Simple] };
    let ways = forms.iter().flat_map(|protocol| {
        [Transport::Given, Transport::Pooler]
            .map(|transport| Wire { transport, protocol: *protocol })
    });
    let by = |wire: Wire| {
        let mut entry = SuiteEntry { drive: Some(Drive::Client), ..wish.entry.clone() };
        entry.params.extend(wire.params());
        RequestedTest { entry, ..wish.clone() }
    };
    Ok(ways.map(by).collect())
}

fn named(text: &str) -> SuiteEntry {
    SuiteEntry { workload: Some(text.to_string()), ..SuiteEntry::default() }
}

/// A test of a suite and what it would run, or why it would not.
pub struct Candidate {
    /// Entry as the suite has it.
    pub entry: SuiteEntry,
    /// Compiled test, or the reason why it cannot run.
    pub selection: std::result::Result<Selection, String>,
}

/// The tests of the request's suites in order, also those that are only listed, for listings:
/// nothing is opened or run.
///
/// # Errors
/// Unknown names and bad parameters, as [`super::build`].
pub fn candidates(catalog: &Catalog, request: &Request) -> Result<Vec<Candidate>> {
    let size_gb = request.size_gb.unwrap_or(DEFAULT_SIZE_GB);
    let outcome = |wish: RequestedTest<'_>| {
        let selection = match selection(catalog, request, size_gb, &wish) {
            Ok(selection) => Ok(selection),
            Err(Refusal::Unavailable { reason, .. }) => Err(reason),
            Err(Refusal::Wrong(error)) => return Err(error),
        };
        Ok::<_, Error>(Candidate { entry: wish.entry, selection })
    };
    wishes(catalog, request)?.into_iter().map(outcome).collect()
}

/// Compiles a wish, with what runs beside it.
pub(super) fn selection(
    catalog: &Catalog,
    request: &Request,
    size_gb: f64,
    wish: &RequestedTest<'_>,
) -> std::result::Result<Selection, Refusal> {
    let selection = alone(catalog, request, size_gb, wish)?;
    match &wish.beside {
        None => Ok(selection),
        Some(AskedBackground { workload, jobs }) => {
            let background = background(catalog, request, size_gb, workload)?;
            with_background(selection, Background { selection: background, jobs: *jobs })
        }
    }
}

/// Plan of the background workload of tests: in a closed loop, whatever they do.
fn background(
    catalog: &Catalog,
    request: &Request,
    size_gb: f64,
    text: &str,
) -> std::result::Result<Selection, Refusal> {
    let request = Request {
        rate: None,
        rate_profile: None,
        think_s: None,
        slo: None,
        ops_per_job: None,
        ..request.clone()
    };
    let wish = RequestedTest { entry: named(text), suite: None, beside: None };
    alone(catalog, &request, size_gb, &wish).map_err(|refusal| match refusal {
        Refusal::Unavailable { workload, reason } => {
            let what = format!("{workload} cannot run on {}: {reason}", request.engine);
            Refusal::Wrong(Error::usage(format!("--background {text}"), what))
        }
        Refusal::Wrong(error) => {
            Refusal::Wrong(Error { place: format!("--background {text}"), ..error })
        }
    })
}

fn with_background(
    selection: Selection,
    background: Background,
) -> std::result::Result<Selection, Refusal> {
    if selection.window.ops_per_job().is_some() {
        let what =
            format!("{} is fixed work, whose end nobody knows beforehand", selection.label());
        return Err(Error::usage("--background", what).advise("give --duration").into());
    }
    let parts = background.selection.parts.len() as u32;
    let jobs = background.jobs.div_ceil(parts) * parts;
    let background = Background { jobs, ..background };
    let named =
        |params: &Params| params.clone().into_iter().chain(background.params()).collect::<Params>();
    let (params, chosen) = (named(&selection.params), named(&selection.chosen));
    let mut tables = [selection.tables.clone(), background.selection.tables.clone()].concat();
    tables.sort();
    tables.dedup();
    let hash = hash::of_texts(
        selection.workload.revision,
        &params::hashed(&selection.workload, &params),
        [selection.hash.as_str(), background.selection.hash.as_str()].into_iter(),
        16,
    );
    Ok(Selection {
        params,
        chosen,
        tables,
        hash,
        background: Some(Box::new(background)),
        ..selection
    })
}

/// Compiles a wish alone.
fn alone(
    catalog: &Catalog,
    request: &Request,
    size_gb: f64,
    wish: &RequestedTest<'_>,
) -> std::result::Result<Selection, Refusal> {
    runnable(request, &wish.entry)?;
    let SelectionText { name, params: given } = parse_selection(wish.text())?;
    let asked = catalog.find(&name)?;
    let mut given = wish.entry.params.clone().into_iter().chain(given).collect();
    let wire = Wire::take(&mut given).map_err(|what| Error::usage(place(wish), what))?;
    let params = asked.with(&given, &place(wish))?;
    let workload = &asked.entry.workload;
    let params = params::complete(workload, &request.engine, &params, &place(wish))?;
    let parts = parts(catalog, request, asked.entry, &params)?;
    let whole = ChosenPart { entry: asked.entry, params };
    for part in parts.iter().chain([&whole]) {
        available(request, part)?;
    }
    let looping = pace::looping(request, &wish.entry)?;
    let needs_client = looping != Loop::Closed || wire != Wire::default();
    let asked_drive =
        if needs_client { Some(Drive::Client) } else { request.drive.or(wish.entry.drive) };
    travels(request, wire, &workload.id)?;
    let drive = choose_drive(request, asked_drive, workload.id.as_str(), &parts)?;
    let target =
        Target { engine: &request.engine, capabilities: &request.capabilities, drive, size_gb };
    let compiled = compile_parts(catalog, &target, &parts)?;
    let facts = work_facts(&whole, size_gb);
    let chosen = params::chosen(workload, &request.engine, &whole.params)
        .into_iter()
        .chain(wire.params())
        .collect();
    let tables = tables(request, &whole, &parts);
    let params: Params = whole.params.clone().into_iter().chain(wire.params()).collect();
    Ok(Selection {
        hash: work_hash(workload, &params, &parts, &compiled),
        ramp: ramp(request, wish)?.for_parts(compiled.len()),
        rising: rising(wish),
        workload: values::with_tables(workload, &whole.params),
        asked_as: wish.entry.code.clone().or_else(|| asked.alias.map(str::to_string)),
        chosen,
        params,
        drive,
        wire,
        background: None,
        parts: compiled,
        looping,
        window: pace::window(request, &wish.entry, wish.suite, &facts)?,
        repeat: request.repeat.or(wish.entry.repeat).unwrap_or(1),
        nodes: None,
        tables,
    })
}

/// Compiles the parts of a workload.
fn compile_parts(
    catalog: &Catalog,
    target: &Target<'_>,
    parts: &[ChosenPart<'_>],
) -> Result<Vec<PartPlan>> {
    let harness = catalog.harness(target.engine);
    parts.iter().map(|part| compile::part(target, &harness, part.entry, &part.params)).collect()
}

/// Hash of the work of a test: of its workload with all parameters, and of the texts of its parts.
fn work_hash(
    workload: &Workload,
    params: &Params,
    parts: &[ChosenPart<'_>],
    compiled: &[PartPlan],
) -> String {
    let of_part = |(part, compiled): (&ChosenPart<'_>, &PartPlan)| {
        hash::of_part(&params::hashed(&part.entry.workload, &part.params), compiled)
    };
    let texts: Vec<String> = parts.iter().zip(compiled).flat_map(of_part).collect();
    let hashed = params::hashed(workload, params);
    hash::of_texts(workload.revision, &hashed, texts.iter().map(String::as_str), 16)
}

/// The selection on each number of nodes that is asked for; as it is if none is.
pub(super) fn on_nodes(selection: Selection, numbers: &[u32]) -> Vec<Selection> {
    if numbers.is_empty() {
        return vec![selection];
    }
    let on = |nodes: &u32| {
        let mut selection = Selection { nodes: Some(*nodes), ..selection.clone() };
        for params in [&mut selection.params, &mut selection.chosen] {
            params.insert(NODES.into(), nodes.to_string());
        }
        if let Some(series) = &mut selection.rising {
            *series = format!("{series} on {nodes} nodes");
        }
        selection
    };
    numbers.iter().map(on).collect()
}

/// Refuses a way of statements that the engine has not, or that they do not go from inside the
/// database.
fn travels(request: &Request, wire: Wire, id: &str) -> std::result::Result<(), Refusal> {
    let inside = request.drive == Some(Drive::Database) && wire != Wire::default();
    let inside = inside.then(|| "transport and protocol are those of the client drive".to_string());
    let reason = inside.or_else(|| request.capabilities.lacks_wire(wire));
    match reason {
        Some(reason) => Err(Refusal::Unavailable { workload: id.to_string(), reason }),
        None => Ok(()),
    }
}

/// The ramp that the request gives, else the suite, on the processors of the target's host.
fn ramp(request: &Request, wish: &RequestedTest<'_>) -> Result<Ramp> {
    let asked = request.jobs.as_ref().or(wish.entry.jobs.as_ref()).cloned().unwrap_or_default();
    let place = || {
        if request.jobs.is_some() {
            format!("--jobs {asked}")
        } else {
            format!("{}: {asked}", place(wish))
        }
    };
    asked.on(request.scale).map_err(|what| Error::usage(place(), what).advise(RAMP_FORMS))
}

/// The name of the series of rising values that a test of a suite belongs to: what all of them
/// have in common.
fn rising(wish: &RequestedTest<'_>) -> Option<String> {
    let (suite, rising) = (wish.suite?, wish.entry.rising.as_ref()?);
    let common = wish.entry.params.iter().filter(|(name, _)| *name != rising);
    Some(format!("{} {} {}", suite.id, wish.text(), assignments(common, ",")))
}

/// Note on the jobs of a mixed workload: they are multiples of its parts, whatever was asked for.
pub fn jobs_note(selection: &Selection) -> Option<String> {
    let parts = selection.parts.len();
    (parts > 1).then(|| format!("jobs are multiples of {parts}, an equal number for each part"))
}

/// Refuses what a suite only lists, and what cannot be made as short as asked for.
fn runnable(request: &Request, entry: &SuiteEntry) -> std::result::Result<(), Refusal> {
    let refuse =
        |reason: String| Err(Refusal::Unavailable { workload: entry.label().to_string(), reason });
    match (&entry.none, entry.least_time_scale) {
        (Some(reason), _) => refuse(reason.clone()),
        (None, Some(least)) if request.time_scale < least && !request.gives_end() => {
            let scale = request.time_scale;
            refuse(format!("its work is one op, which --time-scale {scale} cannot shorten"))
        }
        _ => Ok(()),
    }
}

/// Facts that the fixed work of a suite may use: parameters, rows of the tables, and `units`, the
/// units of work of one op.
fn work_facts(whole: &ChosenPart<'_>, size_gb: f64) -> Facts {
    let workload = &whole.entry.workload;
    let mut facts = values::facts(workload, &whole.params, size_gb);
    // Work that is known only once the data is loaded (MB of a table) is not a measure of fixed
    // work.
    if let Ok(units) = workload.work.eval(&facts) {
        facts.insert("units".into(), units);
    }
    facts
}

/// Reason why a test is one that the plan has already: its organization, spelled out, is the
/// engine's own. Tests of a publication are never merged.
pub(super) fn repeats(
    request: &Request,
    planned: &[Selection],
    selection: &Selection,
) -> Option<String> {
    let own = request.capabilities.default_org();
    let org = selection.params.get(values::ORG).filter(|org| *org == own)?;
    let mut params = selection.params.clone();
    params.insert(values::ORG.into(), values::OWN_ORG.into());
    let key = |other: &Selection| (other.workload.id.clone(), other.asked_as.clone(), other.drive);
    let same = |other: &Selection| key(other) == key(selection) && other.params == params;
    planned.iter().any(same).then(|| {
        format!("org={org} is this engine's default organization, which is measured already")
    })
}

fn place(wish: &RequestedTest<'_>) -> String {
    let kind = if wish.suite.is_some() { "suite entry" } else { "--workload" };
    format!("{kind} {}", wish.text())
}

/// A workload, or a part of a mixed one, with its parameters.
struct ChosenPart<'a> {
    entry: &'a Entry,
    /// All of them, the defaults included.
    params: Params,
}

/// The parts of a mixed workload with their parameters; a simple workload is its own only part.
fn parts<'a>(
    catalog: &'a Catalog,
    request: &Request,
    entry: &'a Entry,
    params: &Params,
) -> Result<Vec<ChosenPart<'a>>> {
    if entry.workload.parts.is_empty() {
        return Ok(vec![ChosenPart { entry, params: params.clone() }]);
    }
    let part = |part: &crate::model::Part| {
        let asked = catalog.find(&part.workload)?;
        let place = format!("{}: part {}", entry.place, part.workload);
        let params = asked.with(&part.params, &place)?;
        let params = params::complete(&asked.entry.workload, &request.engine, &params, &place)?;
        Ok(ChosenPart { entry: asked.entry, params })
    };
    entry.workload.parts.iter().map(part).collect()
}

/// Tables of a workload and its parts, each in the organization that its parameters choose.
fn tables(request: &Request, whole: &ChosenPart<'_>, parts: &[ChosenPart<'_>]) -> Vec<TableRef> {
    let of_part = |ChosenPart { entry, params }: &ChosenPart<'_>| -> Vec<TableRef> {
        let kinds = values::with_tables(&entry.workload, params).tables;
        kinds.iter().map(|kind| values::table_ref(kind, params, &request.capabilities)).collect()
    };
    let mut tables = of_part(whole);
    tables.extend(parts.iter().flat_map(of_part));
    tables.sort();
    tables.dedup();
    tables
}

/// Refuses a workload that the engine does not support with these parameters.
fn available(request: &Request, part: &ChosenPart<'_>) -> std::result::Result<(), Refusal> {
    let ChosenPart { entry, params } = part;
    let reason = entry.workload.unsupported.get(&request.engine).cloned();
    let reason = reason.or_else(|| params::unavailable(&entry.workload, &request.engine, params));
    match reason.or_else(|| values::missing_org(params, &request.capabilities)) {
        Some(reason) => Err(Refusal::Unavailable { workload: entry.workload.id.clone(), reason }),
        None => Ok(()),
    }
}

/// The drive asked for, else the first of the engine's that every part can be driven by.
fn choose_drive(
    request: &Request,
    asked: Option<Drive>,
    id: &str,
    parts: &[ChosenPart<'_>],
) -> std::result::Result<Drive, Refusal> {
    let candidates = asked.map_or(request.capabilities.drives.to_vec(), |drive| vec![drive]);
    let reason = |drive: Drive| {
        parts.iter().find_map(|part| {
            compile::undrivable(&request.engine, &request.capabilities, part.entry, drive)
        })
    };
    if let Some(drive) = candidates.iter().copied().find(|drive| reason(*drive).is_none()) {
        return Ok(drive);
    }
    let reasons = candidates
        .iter()
        .filter_map(|drive| Some(format!("{} drive: {}", drive.name(), reason(*drive)?)));
    let reason = reasons.collect::<Vec<_>>().join("; ");
    Err(Refusal::Unavailable { workload: id.into(), reason })
}
