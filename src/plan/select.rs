//! One selection: which workload, with which parameters, drive, ramp and window.

use crate::catalog::{Asked, Catalog, Entry, Suite, SuiteEntry, parse_selection};
use crate::error::{Error, Result};
use crate::model::{Drive, PartPlan, Selection, Window};

use super::compile::{self, Target};
use super::params::{self, Params};
use super::{DEFAULT_DURATION_S, DEFAULT_JOBS, DEFAULT_WARMUP_S, Refusal, Request, jobs, values};

/// A workload as it is wished for, by a suite or by name.
pub(super) struct Wish {
    /// As written: `TP-LIGHT:update_pct=40`.
    pub text: String,
    pub params: Params,
    pub jobs: String,
    pub drive: Option<Drive>,
    pub window: Window,
    /// What a suite wishes for and cannot have is left out; what is asked for by name is an error.
    pub from_suite: bool,
}

/// All wishes of the request in order.
pub(super) fn wishes(catalog: &Catalog, request: &Request) -> Result<Vec<Wish>> {
    let mut wishes = Vec::new();
    for name in &request.suites {
        let suite = catalog.suite(name)?;
        wishes.extend(suite.entries.iter().map(|entry| suite_wish(request, suite, entry)));
    }
    wishes.extend(request.workloads.iter().map(|text| named_wish(request, text)));
    Ok(wishes)
}

fn suite_wish(request: &Request, suite: &Suite, entry: &SuiteEntry) -> Wish {
    let jobs = request.jobs.as_ref().or(entry.jobs.as_ref()).or(suite.jobs.as_ref());
    Wish {
        text: entry.workload.clone(),
        params: entry.params.clone(),
        jobs: jobs.map_or(DEFAULT_JOBS, String::as_str).to_string(),
        drive: request.drive.or(entry.drive),
        window: window(request, entry.warmup_s.or(suite.warmup_s), entry.duration_s.or(suite.duration_s)),
        from_suite: true,
    }
}

fn named_wish(request: &Request, text: &str) -> Wish {
    Wish {
        text: text.into(),
        params: Params::new(),
        jobs: request.jobs.clone().unwrap_or_else(|| DEFAULT_JOBS.into()),
        drive: request.drive,
        window: window(request, None, None),
        from_suite: false,
    }
}

/// Fixed work has no warm-up: the window runs from the gate to the last op.
fn window(request: &Request, warmup_s: Option<f64>, duration_s: Option<f64>) -> Window {
    let warmup_s = request.warmup_s.or(warmup_s).unwrap_or(DEFAULT_WARMUP_S);
    Window {
        warmup_s: if request.ops_per_job.is_some() { 0.0 } else { warmup_s },
        duration_s: request.duration_s.or(duration_s).unwrap_or(DEFAULT_DURATION_S),
        ops_per_job: request.ops_per_job,
    }
}

/// Compiles a wish.
pub(super) fn selection(
    catalog: &Catalog,
    request: &Request,
    size_gb: f64,
    wish: &Wish,
) -> std::result::Result<Selection, Refusal> {
    let (name, given) = parse_selection(&wish.text)?;
    let asked = catalog.find(&name)?;
    let params = given_params(&asked, &given, wish)?;
    let workload = &asked.entry.workload;
    let params = params::complete(workload, &request.engine, &params, &place(wish))?;
    let parts = parts(catalog, request, asked.entry, &params)?;
    for (entry, params) in parts.iter().chain([&(asked.entry, params.clone())]) {
        available(request, entry, params)?;
    }
    let drive = choose_drive(request, wish.drive, workload.id.as_str(), &parts)?;
    let target = Target { engine: &request.engine, capabilities: &request.capabilities, drive, size_gb };
    let harness = catalog.harness(&request.engine);
    let compiled = parts.iter().map(|(entry, params)| compile::part(&target, &harness, entry, params));
    let compiled = compiled.collect::<Result<Vec<PartPlan>>>()?;
    Ok(Selection {
        hash: compile::hash(workload.revision, &params, &compiled),
        ramp: jobs::for_parts(jobs::parse(&wish.jobs, request.cores)?, compiled.len()),
        workload: workload.clone(),
        asked_as: asked.alias.map(str::to_string),
        chosen: params::chosen(workload, &request.engine, &params),
        params,
        drive,
        parts: compiled,
        window: wish.window,
    })
}

fn place(wish: &Wish) -> String {
    if wish.from_suite { format!("suite entry {}", wish.text) } else { format!("--workload {}", wish.text) }
}

/// What is given, over what an alias fixes; the two must not contradict each other.
fn given_params(asked: &Asked<'_>, given: &Params, wish: &Wish) -> Result<Params> {
    let mut params = asked.params.clone();
    for (name, value) in wish.params.iter().chain(given) {
        match asked.params.get(name) {
            Some(fixed) if fixed != value => {
                let what = format!("{} means {name}={fixed}", asked.alias.unwrap_or(&wish.text));
                return Err(Error::usage(place(wish), what).advise(format!("ask for {}", asked.entry.workload.id)));
            }
            _ => params.insert(name.clone(), value.clone()),
        };
    }
    Ok(params)
}

/// The parts of a mixed workload with their parameters; a simple workload is its own only part.
fn parts<'a>(
    catalog: &'a Catalog,
    request: &Request,
    entry: &'a Entry,
    params: &Params,
) -> Result<Vec<(&'a Entry, Params)>> {
    if entry.workload.parts.is_empty() {
        return Ok(vec![(entry, params.clone())]);
    }
    let part = |part: &crate::model::Part| {
        let found = catalog.find(&part.workload)?.entry;
        let place = format!("{}: part {}", entry.place, part.workload);
        Ok((found, params::complete(&found.workload, &request.engine, &part.params, &place)?))
    };
    entry.workload.parts.iter().map(part).collect()
}

fn available(request: &Request, entry: &Entry, params: &Params) -> std::result::Result<(), Refusal> {
    let reason = entry.workload.unsupported.get(&request.engine).cloned();
    let reason = reason.or_else(|| params::unavailable(&entry.workload, &request.engine, params));
    match reason.or_else(|| values::missing_org(params, &request.capabilities)) {
        Some(reason) => Err(Refusal::Unavailable(entry.workload.id.clone(), reason)),
        None => Ok(()),
    }
}

/// The drive asked for, else the first of the engine's that every part can be driven by.
fn choose_drive(
    request: &Request,
    asked: Option<Drive>,
    id: &str,
    parts: &[(&Entry, Params)],
) -> std::result::Result<Drive, Refusal> {
    let candidates = asked.map_or(request.capabilities.drives.to_vec(), |drive| vec![drive]);
    let reason = |drive: Drive| {
        parts.iter().find_map(|(entry, _)| compile::undrivable(&request.engine, &request.capabilities, entry, drive))
    };
    if let Some(drive) = candidates.iter().copied().find(|drive| reason(*drive).is_none()) {
        return Ok(drive);
    }
    let reasons = candidates.iter().filter_map(|drive| Some(format!("{} drive: {}", drive.name(), reason(*drive)?)));
    Err(Refusal::Unavailable(id.into(), reasons.collect::<Vec<_>>().join("; ")))
}
