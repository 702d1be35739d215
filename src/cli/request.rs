//! From the arguments to what a run is asked to do.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::time::Duration;

use super::args::{ArrivalsArg, DriveArg, FactsArgs, FreshArg, RunArgs, SelectionArgs, TargetArgs};
use super::context::Context;
use super::values::Label;
use super::{file, paths, target};
use crate::catalog::{Catalog, Profile, Suite, SuiteEntry, Work};
use crate::error::{Error, Kind, Result, quote};
use crate::host::processors;
use crate::model::{Arrivals, Drive, MIN_KNOWN_S, Plan, Scale, Target, Transport, Wire};
use crate::plan;
use crate::run::{Fresh, HostUrls, Keep, Request, Via};
use crate::server::MAX_NODES;

/// Suite if neither a suite nor a workload is named.
const DEFAULT_SUITE: &str = "quick";
/// Profile if neither the arguments nor the suite name one.
const DEFAULT_PROFILE: &str = "XS";

/// Smallest nominal size: both tables have the least number of rows that they can have.
const MIN_GB: f64 = 0.01;

/// A shorter window holds too little to be a measurement, in s.
const MIN_WINDOW_S: f64 = 0.1;

/// Largest nominal size: the row function ends at 2^31 rows.
const MAX_GB: f64 = 2100.0;

/// Longest way from one node of a private cluster to another, in s.
const MAX_LINK_DELAY_S: f64 = 0.25;

/// A longer run is a typing error.
const MAX_TIME_SCALE: f64 = 1000.0;
/// With a shorter one every window and all fixed work is as short as it can be.
const MIN_TIME_SCALE: f64 = 0.000_001;

/// The request of a command that touches a target.
///
/// # Errors
/// Unknown engine, suite or profile; an impossible size.
pub fn of_target(catalog: &Catalog, args: &TargetArgs) -> Result<Request> {
    let place = target::TargetLocation {
        data_dir: paths::data_dir(args.place.data.data_dir.as_ref()),
        server_bin: args.place.server_bin.clone(),
        port: args.place.port,
        without_database: args.without_database,
    };
    let (target, engine) = target::parse(&args.place.target, place)?;
    let suites = suites(args);
    let first = suites.first().map(|name| catalog.suite(name)).transpose()?;
    let profile = profile(catalog, args, first)?;
    let given_gb = args.place.data.size.or(size_of_suite(args, first));
    let size_gb = given_gb.unwrap_or(profile.size_gb);
    check_size(size_gb)?;
    let nodes = match &target {
        Target::Existing { url, .. } => engine.nodes_of(url),
        Target::Private { .. } | Target::Embedded { .. } => 1,
    };
    let plan = plan::Request {
        scale: Scale { cores: processors(), nodes },
        suites,
        workloads: args.selection.workload.clone(),
        drive: args.selection.drive.map(drive),
        size_gb: Some(size_gb),
        seed: u64::from(args.place.data.seed),
        ..plan::Request::new(engine.name(), engine.capabilities(), processors())
    };
    Ok(Request {
        target,
        profile: profile.clone(),
        size_is_of_profile: given_gb.is_none(),
        plan,
        keep: if args.place.keep { Keep::Yes } else { Keep::No },
        settings: args.settings.clone(),
        fresh: Fresh::Nothing,
        is_sampled: true,
        repositories: Vec::new(),
        explain: None,
        margin: None,
        host_metrics: HostUrls::new(),
        facts: BTreeMap::new(),
        duet: false,
        via: None,
        password: None,
        name: None,
        labels: BTreeMap::new(),
        command: paths::command_line(),
    })
}

/// The request of `run`.
///
/// # Errors
/// As [`of_target`]; an impossible name, label or time.
pub fn of_run(catalog: &Catalog, args: &RunArgs) -> Result<Request> {
    check_name(args.naming.name.as_deref())?;
    let labels = labels(&args.naming.label)?;
    let tests = tests(catalog, args)?;
    let args = &if tests.is_empty() { args.clone() } else { without_what_tests_say(args) };
    // Load generators may do without a database.
    let target = TargetArgs {
        without_database: args.target.without_database || args.workers.is_some(),
        ..args.target.clone()
    };
    let mut request = of_target(catalog, &target)?;
    let axis = nodes(args.nodes.clone().unwrap_or_default().0, &mut request.target)?;
    if let Some(delay) = args.network_delay {
        delay_links(delay.0, &mut request.target)?;
    }
    check_times(args)?;
    let jobs = args.background_jobs.unwrap_or(1);
    let beside = args.background.clone().map(|workload| plan::AskedBackground { workload, jobs });
    let via = args.via.clone().map(|url| Via { url, password: None });
    if let Some(via) = &via {
        check_via(&via.url, &request)?;
    }
    let plan = plan::Request {
        via: via.is_some(),
        tests,
        jobs: args.jobs.clone(),
        nodes: axis,
        warmup_s: args.warmup.map(|warmup| warmup.0),
        duration_s: args.duration.map(|duration| duration.0),
        ops_per_job: args.ops,
        precision: args.precision,
        max_duration_s: args.max_duration.map(|duration| duration.0),
        rate: args.rate.clone(),
        rate_profile: args.rate_profile.clone(),
        think_s: args.think.map(|think| think.0),
        arrivals: arrivals(args.arrivals),
        slo: args.slo,
        beside,
        repeat: args.repeat,
        key_seed: Some(args.key_seed.unwrap_or_else(key_seed_of_its_own).into()),
        redo_disturbed: args.retry_disturbed.unwrap_or(0),
        time_scale: time_scale(args)?,
        ..request.plan
    };
    let fresh = match args.fresh {
        None => Fresh::Nothing,
        Some(FreshArg::Server) => Fresh::Server,
        Some(FreshArg::Data) => Fresh::Data,
    };
    let is_sampled = !args.no_sampler;
    let asked = [(args.awr, "awr"), (args.statspack, "statspack")];
    let repositories =
        asked.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, name)| name.into()).collect();
    let explain = args.test_bottleneck;
    let (host_metrics, name) = (args.host.urls()?, args.naming.name.clone());
    let facts = facts(catalog, &args.stated)?;
    let request = Request { plan, repositories, facts, via, ..request };
    request.check_repositories(catalog)?;
    Ok(Request { fresh, is_sampled, explain, host_metrics, name, labels, ..request })
}

/// Refuses a pooler where there is nothing that goes through it.
fn check_via(url: &str, request: &Request) -> Result<()> {
    let refused = |what: &str, advice: &str| Err(Error::usage("--via", what).advise(advice));
    if request.plan.drive == Some(Drive::Database) {
        return refused(
            "only statements of clients go through a pooler",
            "leave --drive database out",
        );
    }
    let can = &request.plan.capabilities;
    if let Some(lacking) = can.lacks_wire(Wire { transport: Transport::Pooler, ..Wire::default() })
    {
        return refused(&format!("{}: {lacking}", can.product), "leave it out");
    }
    match request.target {
        Target::Existing { .. } => target::check_pooler(url, can.url_schemes),
        Target::Private { .. } | Target::Embedded { .. } => refused(
            "a pooler stands before an existing server",
            "name the server by its URL: 'run --keep' prints that of a private one",
        ),
    }
}

/// Stated facts about the platform.
///
/// # Errors
/// Of usage, with the file and its line.
pub fn facts(catalog: &Catalog, args: &FactsArgs) -> Result<BTreeMap<String, String>> {
    let Some(path) = &args.facts else { return Ok(BTreeMap::new()) };
    let text = file::read_small(path, "for a file of facts")?;
    catalog.stated(&path.display().to_string(), &text)
}

/// The single tests, each with what the options give for all where it says nothing itself.
///
/// # Errors
/// Unknown workloads and lists of values.
fn tests(catalog: &Catalog, args: &RunArgs) -> Result<Vec<SuiteEntry>> {
    if args.target.tests.is_empty() {
        return Ok(Vec::new());
    }
    let entries = args.target.tests.iter().map(|test| with_options(test, args)).collect();
    let suite = Suite {
        id: "experiment".into(),
        title: String::new(),
        about: String::new(),
        size_gb: None,
        published_gb: None,
        profile: None,
        jobs: args.jobs.clone(),
        warmup_s: args.warmup.map(|warmup| warmup.0),
        duration_s: args.duration.map(|duration| duration.0),
        precision: args.precision,
        max_duration_s: args.max_duration.map(|duration| duration.0),
        repeat: args.repeat,
        note: None,
        every: false,
        each: BTreeMap::new(),
        entries,
    };
    catalog.suite_tests(&suite)
}

/// The test with what the options say of how all are driven: the drive, the loop and what runs
/// beside them.
fn with_options(test: &SuiteEntry, args: &RunArgs) -> SuiteEntry {
    let mut test = test.clone();
    test.drive = test.drive.or(args.target.selection.drive.map(drive));
    if test.background.is_none() && test.work.is_none() {
        test.background.clone_from(&args.background);
        test.background_jobs = test.background_jobs.or(args.background_jobs);
    }
    if test.rate.is_none() && test.work.is_none() && test.precision.is_none() {
        test.rate.clone_from(&args.rate);
        test.arrivals = args.rate.as_ref().map(|_| arrivals(args.arrivals));
        test.slo = args.slo;
    }
    if let Some(ops) = args.ops.filter(|_| test.gives_no_end()) {
        test.work = Some(Work::ops(ops));
    }
    test
}

/// The arguments without those that the single tests have taken over.
fn without_what_tests_say(args: &RunArgs) -> RunArgs {
    let selection = SelectionArgs { drive: None, ..args.target.selection.clone() };
    RunArgs {
        target: TargetArgs { selection, ..args.target.clone() },
        jobs: None,
        warmup: None,
        duration: None,
        precision: None,
        max_duration: None,
        ops: None,
        rate: None,
        slo: None,
        background: None,
        repeat: None,
        ..args.clone()
    }
}

/// A seed that no other run has, of as many bits as the states of the key generator.
fn key_seed_of_its_own() -> u32 {
    // The keys of the standard library's hash come from the system's random numbers.
    let random = std::hash::RandomState::new().hash_one(std::process::id());
    u32::try_from(random >> 33).unwrap_or_default()
}

/// The numbers of nodes to measure on. A private cluster has as many nodes as the largest; one
/// number is all of them.
fn nodes(numbers: Vec<u32>, target: &mut Target) -> Result<Vec<u32>> {
    let Target::Private { cluster: Some(cluster), .. } = target else { return Ok(numbers) };
    cluster.nodes = numbers.iter().copied().max().unwrap_or(cluster.nodes);
    if cluster.nodes > MAX_NODES {
        let what = format!("{} nodes are too many for a private cluster", cluster.nodes);
        return Err(Error::usage("--nodes", what).advise(format!("give {MAX_NODES} or fewer")));
    }
    Ok(if numbers.len() > 1 { numbers } else { Vec::new() })
}

/// Gives the nodes of a private cluster networks of their own, with a delay between them in s.
///
/// # Errors
/// Another target; a delay that no cluster lives with.
pub fn delay_links(delay_s: f64, target: &mut Target) -> Result<()> {
    let refused =
        |what: String, advice: &str| Err(Error::usage("--network-delay", what).advise(advice));
    if delay_s > MAX_LINK_DELAY_S {
        return refused(
            format!("{delay_s:?} s is too long: nodes take each other for dead"),
            "give 250ms or less",
        );
    }
    match target {
        Target::Private { cluster: Some(cluster), .. } => {
            cluster.link_delay = Some(Duration::from_secs_f64(delay_s));
            Ok(())
        }
        other => refused(
            format!("{} is not a private cluster", other.label()),
            "leave it out, or name one: mariadb-galera",
        ),
    }
}

/// Does what is asked for; if the server wants a password that nothing gives, and there is somebody
/// to ask, asks and does it again.
///
/// # Errors
/// Those of `work`.
pub fn with_password<T>(
    context: &Context,
    request: &Request,
    mut work: impl FnMut(&Request) -> Result<T>,
) -> Result<T> {
    let mut request = request.clone();
    loop {
        let error = match work(&request) {
            Err(error) if error.kind == Kind::NoPassword => error,
            done => return done,
        };
        // Asked for once: a pooler may want another one than the server.
        let wanted = match &mut request.via {
            Some(via) if via.place() == error.place => &mut via.password,
            _ => &mut request.password,
        };
        if wanted.is_some() {
            return Err(error);
        }
        *wanted = Some(context.ask_password(&error.place).ok_or(error)?);
    }
}

/// Refuses a place for a database of ours whose directory is not there, and a profile that this
/// machine is too small for.
///
/// # Errors
/// Of the target; of usage, with the figures and the largest profile that fits.
pub fn check_fit(catalog: &Catalog, request: &Request, plan: &Plan) -> Result<()> {
    if let Some(data_dir) = request.data_dir().filter(|dir| **dir != paths::data_dir(None)) {
        paths::check_parent(data_dir, "--data-dir")?;
    }
    request.check_fit(catalog, plan)
}

/// The factor of `--time-scale`.
fn time_scale(args: &RunArgs) -> Result<f64> {
    let scale = args.time_scale.unwrap_or(1.0);
    if (MIN_TIME_SCALE..=MAX_TIME_SCALE).contains(&scale) {
        return Ok(scale);
    }
    Err(Error::usage("--time-scale", format!("{scale:?} is not a valid factor"))
        .advise(format!("give a number between {MIN_TIME_SCALE} and {MAX_TIME_SCALE}, e.g. 0.1")))
}

/// Refuses windows and think times that are not possible.
///
/// # Errors
/// Says what is possible.
fn check_times(args: &RunArgs) -> Result<()> {
    if let Some(duration) = args.duration {
        check_duration(duration.0)?;
    }
    if let Some(think) = args.think {
        check_think(think.0)?;
    }
    if let Some(max_duration) = args.max_duration {
        check_max_duration(max_duration.0)?;
    }
    Ok(())
}

/// Refuses a window in which nothing can be measured.
///
/// # Errors
/// Says what is possible.
pub fn check_duration(duration_s: f64) -> Result<()> {
    if duration_s >= MIN_WINDOW_S {
        return Ok(());
    }
    Err(Error::usage("--duration", format!("{duration_s:?} s is too short to measure anything"))
        .advise("give 100ms or more"))
}

/// Refuses think times that cannot be told from none, or that no user has.
fn check_think(think_s: f64) -> Result<()> {
    if (1e-4..=3_600.0).contains(&think_s) {
        return Ok(());
    }
    Err(Error::usage("--think", format!("{think_s} s is not a possible think time"))
        .advise("give 0.1 ms to 1 h, as 50ms"))
}

/// Refuses a longest window in which nothing can become known.
fn check_max_duration(max_duration_s: f64) -> Result<()> {
    if max_duration_s >= MIN_KNOWN_S {
        return Ok(());
    }
    Err(Error::usage("--max-duration", format!("{max_duration_s:?} s is too short to know a mean"))
        .advise(format!("give {MIN_KNOWN_S}s or more")))
}

/// Refuses a name by which the run could not be asked for: those mean other runs.
fn check_name(name: Option<&str>) -> Result<()> {
    let means_another =
        |name: &&str| name.trim().is_empty() || *name == "last" || name.parse::<i64>().is_ok();
    match name.filter(means_another) {
        None => Ok(()),
        Some(name) => Err(Error::usage(
            "--name",
            format!("{} is not a valid name: it is empty, a number or 'last'", quote(name)),
        )
        .advise("choose a word, as in --name nightly")),
    }
}

fn labels(given: &[Label]) -> Result<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for Label { key, value } in given {
        if labels.insert(key.clone(), value.clone()).is_some() {
            return Err(Error::usage("--label", format!("{} is given twice", quote(key)))
                .advise("give it once"));
        }
    }
    Ok(labels)
}

/// The suites asked for; the default one if no workload is named either.
fn suites(args: &TargetArgs) -> Vec<String> {
    match (args.selection.suite.is_empty(), args.selection.workload.is_empty()) {
        (true, true) if args.tests.is_empty() => vec![DEFAULT_SUITE.to_string()],
        _ => args.selection.suite.clone(),
    }
}

fn profile<'a>(
    catalog: &'a Catalog,
    args: &TargetArgs,
    suite: Option<&Suite>,
) -> Result<&'a Profile> {
    let of_suite = suite.and_then(|suite| suite.profile.as_deref());
    catalog.profile(args.place.data.profile.as_deref().or(of_suite).unwrap_or(DEFAULT_PROFILE))
}

/// The profile that a suite runs with if the user names none, and the nominal size.
///
/// # Errors
/// Unknown profile.
pub fn of_suite<'a>(catalog: &'a Catalog, suite: &Suite) -> Result<(&'a Profile, f64)> {
    let profile = catalog.profile(suite.profile.as_deref().unwrap_or(DEFAULT_PROFILE))?;
    Ok((profile, suite.size_gb.unwrap_or(profile.size_gb)))
}

/// The size that a suite was written for: with another profile than its own that of the profile is
/// right, since what fits a cache or does not depends on both.
fn size_of_suite(args: &TargetArgs, suite: Option<&Suite>) -> Option<f64> {
    let suite = suite?;
    let own = suite.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
    let is_own =
        args.place.data.profile.as_ref().is_none_or(|profile| profile.eq_ignore_ascii_case(own));
    suite.size_gb.filter(|_| is_own)
}

/// Refuses an impossible nominal size.
///
/// # Errors
/// Says what is possible.
pub fn check_size(size_gb: f64) -> Result<()> {
    if (MIN_GB..=MAX_GB).contains(&size_gb) {
        return Ok(());
    }
    Err(Error::usage("--size", format!("{size_gb:?} GB is not a valid size"))
        .advise(format!("give GB between {MIN_GB} and {MAX_GB}")))
}

fn arrivals(arg: ArrivalsArg) -> Arrivals {
    match arg {
        ArrivalsArg::Poisson => Arrivals::Poisson,
        ArrivalsArg::Uniform => Arrivals::Uniform,
    }
}

/// The drive of an argument.
pub fn drive(arg: DriveArg) -> Drive {
    match arg {
        DriveArg::Database => Drive::Database,
        DriveArg::Client => Drive::Client,
    }
}
