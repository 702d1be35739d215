//! `check`: preflight; says what is missing and creates nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::analysis::complete::{Completeness, completeness};
use crate::catalog::Catalog;
use crate::cli::args::CheckArgs;
use crate::cli::context::Context;
use crate::cli::{forecast, out, paths, request};
use crate::dataset::{self, Definition, Recipe};
use crate::engine::Access;
use crate::error::{Error, Kind, Result};
use crate::host::noise::{self, Cause};
use crate::model::{Disclosure, Plan, STATED, Target};
use crate::run::probing::{self, HostFigures, SUPERUSER};
use crate::run::{self, Keep, Platform, Request};
use crate::server::{self, StartOptions};
use crate::sql::statement;
use crate::store::url_of;
use crate::test_runner::Interrupt;
use crate::{fit, host};

/// Time for which the machine is observed for causes of noise.
const CPU_SAMPLE_TIME: Duration = Duration::from_secs(3);
/// Causes of noise that are named.
const MAX_CAUSES: usize = 3;
/// Block of a probe that names causes of noise: columns `found` and `advice`.
const NOISE: &str = "noise";
/// Blocks of a probe that name what the user has no right to: columns `lacks` and `statement`,
/// which grants it. The last is of a server on another host that no exporter tells of.
const RIGHTS: [&str; 3] = ["rights", SUPERUSER, "rights.elsewhere"];

/// One finding of the preflight.
struct Finding {
    state: State,
    what: String,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Ok,
    /// It goes without, or is to be thought of.
    Lacks,
    Missing,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Lacks => "lacks",
            State::Missing => "MISSING",
        }
    }
}

/// Checks target, disk and results file.
///
/// # Errors
/// Of kind `Check` if something is missing; of the target if it cannot be reached at all.
pub fn check(context: &Context, args: &CheckArgs) -> Result<()> {
    context.text_only()?;
    let catalog = context.catalog()?;
    let request =
        Request { host_metrics: args.host.urls()?, ..request::of_target(&catalog, &args.target)? };
    let request = Request { facts: request::facts(&catalog, &args.stated)?, ..request };
    if args.role_sql {
        return role_sql(&request);
    }
    request.check_host_metrics()?;
    let plan = request.plan(&catalog)?;
    let needed_bytes = fit::data_bytes(&plan.tables, plan.size_gb);
    let asked = CheckRequest { catalog: &catalog, request: &request, plan: &plan };
    let mut findings =
        vec![finding("catalog", Ok(format!("{} workloads", catalog.workloads().count())))];
    findings
        .push(finding("plan", Ok(forecast::extent(&plan, request.fresh.times(&request.target)))));
    if request.data_dir().is_some() {
        let fits = request::check_fit(&catalog, &request, &plan);
        let fits = fits.map(|()| format!("{} fits this machine", request.profile.id));
        findings.push(finding("size profile", fits));
    }
    let (found, of_host) = target(context, &asked, needed_bytes);
    findings.extend(found);
    findings.extend(licenses(&asked));
    findings.push(disclosure(&asked, of_host));
    findings.push(finding("results file", results(context)));
    let mut table = out::Table::headless();
    for finding in &findings {
        // As wide as its longest word, whatever is found.
        table.row([format!("{:<7}", finding.state.word()), finding.what.clone()]);
    }
    if args.noise {
        noises(context, &asked)
            .into_iter()
            .for_each(|line| table.row(["noise  ".to_string(), line]));
    }
    out::print(&table.render(None))?;
    let count = |state: State| findings.iter().filter(|finding| finding.state == state).count();
    match (count(State::Missing), count(State::Ok)) {
        (0, _) => Ok(()),
        (missing, ok) => Err(Error::new(
            Kind::Check,
            "check",
            format!("{missing} of {} checks failed", missing + ok),
        )),
    }
}

/// Prints the script that makes a role which suffices; connects to nothing.
fn role_sql(request: &Request) -> Result<()> {
    let label = request.target.label();
    let script = match &request.target {
        Target::Existing { url, .. } => {
            request.engine()?.role_sql(url).map_err(|error| error.at(&label))?
        }
        Target::Private { .. } | Target::Embedded { .. } => None,
    };
    let none = || {
        Error::usage("--role-sql", format!("{label} needs no role"))
            .advise("give the URL of an existing server, with the user that is to be made")
    };
    out::print(&script.ok_or_else(none)?)
}

fn finding(what: &str, result: Result<String>) -> Finding {
    match result {
        Ok(text) => Finding { state: State::Ok, what: format!("{what}: {text}") },
        Err(error) => Finding { state: State::Missing, what: format!("{what}: {error}") },
    }
}

/// Options of the product that the plan's tests need a license for.
fn licenses(asked: &CheckRequest<'_>) -> Vec<Finding> {
    let tests = asked.plan.selections.iter().map(|selection| &selection.params);
    let needed = asked.catalog.licences(asked.request.target.engine(), tests);
    let line = |(option, by): (&str, BTreeSet<String>)| {
        let by = by.into_iter().collect::<Vec<_>>().join(", ");
        Finding {
            state: State::Lacks,
            what: format!("license: {by} needs the option {option}, which is licensed apart"),
        }
    };
    needed.into_iter().map(line).collect()
}

/// Finding on the facts that a complete disclosure of this platform needs and lacks.
fn disclosure(asked: &CheckRequest<'_>, of_host: Disclosure) -> Finding {
    let mut disclosure = of_host;
    for (name, stated) in &asked.request.facts {
        disclosure.set(STATED, name, stated);
    }
    let Completeness { needed, missing } = completeness(asked.catalog.statable(), &disclosure);
    let (state, what) = match missing.as_slice() {
        [] => (
            State::Ok,
            format!(
                "all {needed} facts that cannot be read from the machine are \
                                   known"
            ),
        ),
        missing => (
            State::Lacks,
            format!(
                "{} of {needed} facts that cannot be read from the machine are not stated, which a \
                 complete disclosure needs: {}; state them with --facts FILE ('dbdyno show facts' \
                 prints a template)",
                missing.len(),
                missing.join(", ")
            ),
        ),
    };
    Finding { state, what: format!("disclosure: {what}") }
}

/// Request of the user.
struct CheckRequest<'a> {
    catalog: &'a Catalog,
    request: &'a Request,
    plan: &'a Plan,
}

/// Findings on the target, and the disclosure of its host.
fn target(
    context: &Context,
    asked: &CheckRequest<'_>,
    needed_bytes: u64,
) -> (Vec<Finding>, Disclosure) {
    let found = match &asked.request.target {
        Target::Private { engine, data_dir, server_bin, port, cluster } => {
            let (data_dir, server_bin, cluster) =
                (data_dir.clone(), server_bin.clone(), cluster.clone());
            let options = StartOptions {
                data_dir,
                server_bin,
                port: *port,
                cluster,
                ..StartOptions::default()
            };
            private(engine, &options, needed_bytes)
        }
        Target::Embedded { engine, data_dir } => check_embedded(engine, data_dir, needed_bytes),
        Target::Existing { .. } => return existing(context, asked, needed_bytes),
    };
    let of_host = host::disclosure(asked.request.data_dir());
    let quotas = Quotas::of_own_database().findings();
    (std::iter::once(finding("target", found)).chain(quotas).collect(), of_host)
}

/// CPU quotas of control groups (containers, services), as numbers of CPUs that they allow.
struct Quotas {
    /// Quota of dbdyno.
    own: Option<f64>,
    /// Quota of the database's processes on this host.
    server: Option<f64>,
    /// The database is in the groups of dbdyno and shares its quota.
    is_shared: bool,
}

impl Quotas {
    /// Quota of a database that works within dbdyno or is started by it.
    fn of_own_database() -> Quotas {
        let own = host::CpuGroups::around(&[std::process::id()]);
        let own = own.and_then(|groups| groups.quota_cpus());
        Quotas { own, server: None, is_shared: true }
    }

    /// Quotas of dbdyno and of these processes of an existing server.
    fn of_server(processes: &[u32]) -> Quotas {
        let own = host::CpuGroups::around(&[std::process::id()]);
        let server = host::CpuGroups::around(processes);
        Quotas {
            is_shared: own.is_some() && own == server,
            own: own.and_then(|groups| groups.quota_cpus()),
            server: server.and_then(|groups| groups.quota_cpus()),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let figures = "the figures are those of the quota";
        if self.is_shared {
            let both = quota(self.own, "dbdyno and the database together", figures);
            return both.into_iter().collect();
        }
        let server = quota(self.server, "the database", figures);
        let own = quota(self.own, "dbdyno", "it may be too slow a client for the database");
        server.into_iter().chain(own).collect()
    }
}

/// Finding on the CPUs that a quota lets somebody use; none without a quota.
fn quota(cpus: Option<f64>, who: &str, effect: &str) -> Option<Finding> {
    let what = format!("CPU quota: {who} may use {} CPUs on average: {effect}", cpus?);
    Some(Finding { state: State::Lacks, what })
}

/// An engine that loads its library says which one it finds.
fn check_embedded(engine: &str, data_dir: &Path, needed_bytes: u64) -> Result<String> {
    let library = crate::engine::find(engine)
        .and_then(|found| Some((found.capabilities().product, found.library()?)));
    let what = match library {
        None => engine.to_string(),
        Some((product, library)) => {
            let version = library.version(None).map_err(|error| error.at(engine))?;
            format!("{product} {version}")
        }
    };
    Ok(format!("{what}, {}", fit::check_space(data_dir, needed_bytes)?))
}

fn private(engine: &str, options: &StartOptions, needed_bytes: u64) -> Result<String> {
    let product = server::preflight(engine, options)?;
    Ok(format!("{product}, {}", fit::check_space(&options.data_dir, needed_bytes)?))
}

/// Opens an existing server to look at it. Ctrl-C ends the program.
fn inspect(request: &Request) -> Result<Platform> {
    Platform::open(request, None, Access::Inspect, &Interrupt::new(), &|_| {})
}

/// Connects without creating anything: version, privileges, disk if it is on this host, room for
/// the jobs.
fn existing(
    context: &Context,
    asked: &CheckRequest<'_>,
    needed_bytes: u64,
) -> (Vec<Finding>, Disclosure) {
    let request = Request { keep: Keep::Yes, ..asked.request.clone() };
    let platform = match request::with_password(context, &request, inspect) {
        Ok(platform) => platform,
        Err(error) => return (vec![finding("target", Err(error))], Disclosure::default()),
    };
    let (suits, jobs) = (suits(asked, &platform, needed_bytes), jobs(asked.plan, &platform));
    let (host, lacks) = (host_source(asked, &platform), rights(asked, &platform));
    let unused = platform.database.unused_part_of_url();
    let unused = unused.map(|what| Finding { state: State::Lacks, what });
    let of_host = of_host(asked, &platform);
    let cache = cache(asked, &platform);
    let quotas = Quotas::of_server(&platform.database.server_pids()).findings();
    let closed = platform.close(&|_| {});
    let found =
        [finding("target", suits.and_then(|text| closed.map(|()| text))), finding("jobs", jobs)];
    let found = found
        .into_iter()
        .chain(cache)
        .chain(quotas)
        .chain(host.map(|told| finding("host", told)))
        .chain(unused)
        .chain(lacks)
        .collect();
    (found, of_host)
}

/// Disclosure of an existing server's host; empty without a source.
fn of_host(asked: &CheckRequest<'_>, platform: &Platform) -> Disclosure {
    let blocks = asked.catalog.probes(platform.engine.name(), &platform.database.version().0);
    let host = HostFigures::open(platform, &blocks);
    host.map(|host| host.disclosure(platform)).unwrap_or_default()
}

/// Finding on the sizes of the server's cache and the plan's tables, which must be as the workloads
/// assume.
fn cache(asked: &CheckRequest<'_>, platform: &Platform) -> Option<Finding> {
    let set = asked.catalog.dataset(dataset::STANDARD).ok()?;
    let definition = Definition::parse(&set.toml, &set.toml_path).ok()?;
    let recipe = Recipe::new(platform.engine, &definition, set);
    let sql = recipe.sql("cache", &recipe.values()).ok()??;
    let cache_bytes: f64 =
        platform.database.session().ok()?.query(&sql, &[]).ok()?.scalar()?.parse().ok()?;
    let (state, what) =
        match fit::cache_warning(asked.plan, cache_bytes, "the server's cache", "a larger cache") {
            None => (State::Ok, format!("{:.0} MB, which suits the tables", cache_bytes / 1e6)),
            Some(line) => (State::Lacks, line),
        };
    Some(Finding { state, what: format!("cache: {what}") })
}

/// Source for a host whose exporter the user named.
fn host_source(asked: &CheckRequest<'_>, platform: &Platform) -> Option<Result<String>> {
    if asked.request.host_metrics.is_empty() {
        return None;
    }
    let blocks = asked.catalog.probes(platform.engine.name(), &platform.database.version().0);
    Some(HostFigures::open(platform, &blocks).map(|host| host.source_name(platform)))
}

/// Findings on missing rights, each with the statement that grants it, and on rights that no test
/// needs.
fn rights(asked: &CheckRequest<'_>, platform: &Platform) -> Vec<Finding> {
    let known =
        platform.database.storage_path().is_some() || !asked.request.host_metrics.is_empty();
    let wanted = if known { &RIGHTS[..2] } else { &RIGHTS[..] };
    let lines = probing::rights(platform, asked.catalog, wanted);
    lines.into_iter().map(|what| Finding { state: State::Lacks, what }).collect()
}

/// The worst causes of noise here, each with what to do.
fn noises(context: &Context, asked: &CheckRequest<'_>) -> Vec<String> {
    let causes = noise::causes(CPU_SAMPLE_TIME)
        .into_iter()
        .chain(of_server(context, asked).unwrap_or_default())
        .collect();
    let causes = noise::sort_by_weight(causes);
    let line = |cause: &Cause| format!("{}; {}", cause.found, cause.advice);
    match causes.is_empty() {
        true => vec!["nothing was found that makes figures vary".into()],
        false => causes.iter().take(MAX_CAUSES).map(line).collect(),
    }
}

/// Causes of noise on an existing server; a private one has the profile's settings, which avoid it.
fn of_server(context: &Context, asked: &CheckRequest<'_>) -> Option<Vec<Cause>> {
    let Target::Existing { .. } = asked.request.target else { return None };
    let platform = request::with_password(context, asked.request, inspect).ok()?;
    let blocks = asked.catalog.probes(platform.engine.name(), &platform.database.version().0);
    let sql = statement(&blocks.iter().find(|block| block.name == NOISE)?.text).to_string();
    let rows = platform.database.session().ok()?.query(&sql, &[]).ok()?;
    let cause =
        |at: usize| Some(Cause::unmeasured(rows.get(at, "found")?, rows.get(at, "advice")?, at));
    Some((0..rows.rows.len()).filter_map(cause).collect())
}

/// Checks that an existing server has what the plan needs.
fn suits(asked: &CheckRequest<'_>, platform: &Platform, needed_bytes: u64) -> Result<String> {
    let (product, version) = (platform.engine.capabilities().product, platform.database.version());
    let lacking = lacking(asked, platform)?;
    let disk = match platform.database.storage_path() {
        Some(path) => fit::check_space(&path, needed_bytes)?,
        None => "its disk cannot be seen from here".into(),
    };
    Ok(format!("{product} {version}, privileges are sufficient{lacking}, {disk}"))
}

/// Checks that all jobs of the plan can be connected at once.
fn jobs(plan: &Plan, platform: &Platform) -> Result<String> {
    let narrower = fit::check_jobs(plan, platform.limits(), &platform.label())?;
    Ok(narrower.map_or_else(
        || format!("there is room for all {} at once", fit::most_jobs(plan)),
        |(_, line)| line,
    ))
}

/// Reports requirements of the plan that the server or the user does not satisfy.
fn lacking(asked: &CheckRequest<'_>, platform: &Platform) -> Result<String> {
    let Some(lacking) = run::lacking(asked.plan, platform) else { return Ok(String::new()) };
    asked.request.plan_without(asked.catalog, &lacking)?;
    Ok(format!(", but {}", lacking.notes().join("; ")))
}

fn results(context: &Context) -> Result<String> {
    let path = paths::results_file(context.global.results.as_ref());
    if context.has_store()? {
        let runs = context.existing_store()?.runs()?.len();
        let runs = if runs == 1 { "1 run".into() } else { format!("{runs} runs") };
        return Ok(format!("{} with {runs}", path.display()));
    }
    if url_of(&path).is_some() {
        return Ok(format!("a schema in {} will be created", path.display()));
    }
    if context.global.results.is_some() {
        paths::check_parent(&path, "--results")?;
    }
    let above =
        path.ancestors().skip(1).find(|above| !above.as_os_str().is_empty() && above.exists());
    let above = above.unwrap_or(Path::new("."));
    if above.is_dir() && rustix::fs::access(above, rustix::fs::Access::WRITE_OK).is_ok() {
        return Ok(format!("{} will be created", path.display()));
    }
    Err(Error::target(path.display().to_string(), "cannot be created")
        .advise("give another file with --results"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_quotas_are_named_with_whom_they_hold_for_and_one_that_is_shared_once() {
        let said = |own: Option<f64>, server: Option<f64>, is_shared: bool| -> Vec<String> {
            let findings = Quotas { own, server, is_shared }.findings();
            assert!(findings.iter().all(|finding| finding.state == State::Lacks));
            findings.into_iter().map(|finding| finding.what).collect()
        };
        let together = "CPU quota: dbdyno and the database together may use 1.5 CPUs on average: \
                        the figures are those of the quota";
        assert_eq!(said(Some(1.5), Some(1.5), true), [together]);
        assert_eq!(said(Some(1.5), None, true), [together], "a database of our own");
        let apart = [
            "CPU quota: the database may use 4 CPUs on average: the figures are those of the quota",
            "CPU quota: dbdyno may use 2 CPUs on average: it may be too slow a client for the \
             database",
        ];
        assert_eq!(said(Some(2.0), Some(4.0), false), apart);
        assert_eq!(said(None, Some(4.0), false), apart[..1]);
        assert!(said(None, None, false).is_empty());
    }
}
