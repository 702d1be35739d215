//! `check`: preflight; says what is missing and creates nothing.

use std::path::Path;

use crate::campaign::{self, Keep, Platform, PlatformRequest};
use crate::catalog::Catalog;
use crate::cli::args::TargetArgs;
use crate::cli::context::Context;
use crate::cli::setting::Setting;
use crate::cli::{fit, out, paths};
use crate::dataset;
use crate::engine::Access;
use crate::error::{Error, Kind, Result};
use crate::model::{Plan, Target};
use crate::plan;
use crate::server::{self, StartOptions};

/// One finding of the preflight.
struct Finding {
    ok: bool,
    what: String,
}

/// Checks target, disk and results file.
///
/// # Errors
/// Of kind `Check` if something is missing; of the target if it cannot be reached at all.
pub fn check(context: &Context, args: &TargetArgs) -> Result<()> {
    context.text_only()?;
    let catalog = context.catalog()?;
    let setting = Setting::new(&catalog, args)?;
    let plan = setting.plan(&catalog, None)?;
    let needed_bytes = dataset::needed_bytes(&campaign::data_request(&plan));
    let asked = Asked { catalog: &catalog, setting: &setting, plan: &plan };
    let mut findings = vec![finding("catalogue", Ok(format!("{} workloads", catalog.workloads().count())))];
    let fits = fit::check(&catalog, &setting, &plan).map(|()| format!("{} fits this machine", setting.profile.id));
    if !matches!(setting.target, Target::Existing { .. }) {
        findings.push(finding("size profile", fits));
    }
    findings.extend(target(context, &asked, needed_bytes));
    findings.push(finding("results file", results(context)));
    for finding in &findings {
        out::print(&format!("{}  {}", if finding.ok { "ok     " } else { "MISSING" }, finding.what))?;
    }
    match findings.iter().filter(|finding| !finding.ok).count() {
        0 => Ok(()),
        missing => Err(Error::new(Kind::Check, "check", format!("{missing} of {} checks failed", findings.len()))),
    }
}

fn finding(what: &str, result: Result<String>) -> Finding {
    match result {
        Ok(text) => Finding { ok: true, what: format!("{what}: {text}") },
        Err(error) => Finding { ok: false, what: format!("{what}: {error}") },
    }
}

/// What is asked for.
struct Asked<'a> {
    catalog: &'a Catalog,
    setting: &'a Setting,
    plan: &'a Plan,
}

fn target(context: &Context, asked: &Asked<'_>, needed_bytes: u64) -> Vec<Finding> {
    let setting = asked.setting;
    let found = match &setting.target {
        Target::Private { engine, data_dir, server_bin, port } => {
            let options = StartOptions {
                data_dir: data_dir.clone(),
                server_bin: server_bin.clone(),
                port: *port,
                settings: setting.settings.clone(),
            };
            private(engine, &options, needed_bytes)
        }
        Target::Embedded { engine, data_dir } => {
            space(data_dir, needed_bytes).map(|space| format!("{engine}, {space}"))
        }
        Target::Existing { .. } => return existing(context, asked, needed_bytes),
    };
    vec![finding("target", found)]
}

fn private(engine: &str, options: &StartOptions, needed_bytes: u64) -> Result<String> {
    let version = server::preflight(engine, options)?;
    Ok(format!("{engine} {version}, {}", space(&options.data_dir, needed_bytes)?))
}

/// Connects without creating anything: version, privileges, disk if it is on this host, room for the jobs.
fn existing(context: &Context, asked: &Asked<'_>, needed_bytes: u64) -> Vec<Finding> {
    let request = PlatformRequest {
        target: &asked.setting.target,
        settings: &asked.setting.settings,
        access: Access::Inspect,
        keep: Keep::Yes,
        ask_password: super::run::ask_password(context),
    };
    let platform = match Platform::open(&request, &|_| {}) {
        Ok(platform) => platform,
        Err(error) => return vec![finding("target", Err(error))],
    };
    let (suits, jobs) = (suits(asked, &platform, needed_bytes), jobs(asked.plan, &platform));
    let closed = platform.close(&|_| {});
    vec![finding("target", suits.and_then(|text| closed.map(|()| text))), finding("jobs", jobs)]
}

/// Whether an existing server has what the plan needs.
fn suits(asked: &Asked<'_>, platform: &Platform, needed_bytes: u64) -> Result<String> {
    let (name, version) = (asked.setting.engine.name(), platform.database.version());
    let drives = drives(asked, platform)?;
    let disk = match platform.database.storage_path() {
        Some(path) => space(&path, needed_bytes)?,
        None => "its disk cannot be seen from here".into(),
    };
    Ok(format!("{name} {version}, privileges are sufficient{drives}, {disk}"))
}

/// Whether all jobs of the plan may be there at once.
fn jobs(plan: &Plan, platform: &Platform) -> Result<String> {
    let line = campaign::without_room(plan, platform)?;
    Ok(line.unwrap_or_else(|| format!("there is room for all {} at once", plan::most_jobs(plan))))
}

/// What is to be said of a drive that the server or the user cannot have, if the plan needs it.
fn drives(asked: &Asked<'_>, platform: &Platform) -> Result<String> {
    let Some((drive, note)) = campaign::lacking(asked.plan, platform) else { return Ok(String::new()) };
    asked.setting.plan_without(asked.catalog, None, drive)?;
    Ok(format!(", but {note}"))
}

/// Free space against what loading needs.
fn space(path: &Path, needed_bytes: u64) -> Result<String> {
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    if !existing.is_dir() {
        return Err(Error::target(path.display().to_string(), format!("{} is no directory", existing.display()))
            .advise("choose another --data-dir"));
    }
    let unknown = || Error::target(existing.display().to_string(), "its free space cannot be found out");
    let free_bytes = server::free_bytes(existing).ok_or_else(unknown)?;
    let text = format!(
        "{:.1} GB free in {}, {:.1} GB needed",
        free_bytes as f64 / 1e9,
        path.display(),
        needed_bytes as f64 / 1e9
    );
    if free_bytes < needed_bytes {
        return Err(Error::target(path.display().to_string(), text)
            .advise("free some, choose a smaller --size or another --data-dir"));
    }
    if rustix::fs::access(existing, rustix::fs::Access::WRITE_OK).is_err() {
        return Err(
            Error::target(existing.display().to_string(), "is not writable").advise("choose another --data-dir")
        );
    }
    Ok(text)
}

fn results(context: &Context) -> Result<String> {
    let path = paths::results_file(context.global.results.as_ref());
    if path.exists() {
        let runs = context.existing_store()?.runs()?.len();
        return Ok(format!("{} with {runs} runs", path.display()));
    }
    let above = path.ancestors().skip(1).find(|above| !above.as_os_str().is_empty() && above.exists());
    let above = above.unwrap_or(Path::new("."));
    if above.is_dir() && rustix::fs::access(above, rustix::fs::Access::WRITE_OK).is_ok() {
        return Ok(format!("{} will be created", path.display()));
    }
    Err(Error::target(path.display().to_string(), "cannot be created").advise("give another file with --results"))
}
