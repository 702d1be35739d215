//! From the arguments to what a campaign needs: target, profile settings, plan.

use std::collections::BTreeMap;

use super::args::{DriveArg, RunArgs, TargetArgs};
use super::{paths, target};
use crate::campaign::{Keep, host_cpus};
use crate::catalog::{Catalog, Profile, Suite};
use crate::engine::{self, Capabilities, Engine};
use crate::error::{Error, Result};
use crate::model::{Drive, Plan, Target};
use crate::plan;
use crate::server;

/// Suite if neither a suite nor a workload is named.
const DEFAULT_SUITE: &str = "quick";
/// Profile if neither the arguments nor the suite name one.
const DEFAULT_PROFILE: &str = "XS";

/// A shorter window holds too little to be a measurement, in s.
const SHORTEST_WINDOW_S: f64 = 0.1;

/// Largest nominal size: the row function ends at 2^31 rows.
const MOST_GB: f64 = 2100.0;

/// A longer run is a typing error.
const MOST_TIME_SCALE: f64 = 1000.0;

/// Target, profile and data size of a command.
pub struct Setting {
    pub target: Target,
    pub engine: &'static dyn Engine,
    /// Settings of the profile for this engine.
    pub settings: BTreeMap<String, String>,
    pub profile: Profile,
    pub size_gb: f64,
    /// The size is that of the profile: neither `--size` nor a suite gives another.
    pub size_is_of_profile: bool,
    pub keep: Keep,
    suites: Vec<String>,
    workloads: Vec<String>,
    drive: Option<Drive>,
    seed: u64,
}

impl Setting {
    /// From the arguments.
    ///
    /// # Errors
    /// Unknown engine, suite or profile; an impossible size.
    pub fn new(catalog: &Catalog, args: &TargetArgs) -> Result<Setting> {
        let place = target::Where {
            data_dir: paths::data_dir(args.data_dir.as_ref()),
            server_bin: args.server_bin.clone(),
            port: args.port,
        };
        let target = target::parse(&args.target, place)?;
        let engine = engine::find(target.engine()).ok_or_else(|| Error::usage("TARGET", "unknown engine"))?;
        let suites = suites(args);
        let first = suites.first().map(|name| catalog.suite(name)).transpose()?;
        let profile = profile(catalog, args, first)?;
        let given_gb = args.size.or(size_of_suite(args, first));
        let size_gb = given_gb.unwrap_or(profile.size_gb);
        check_size(size_gb)?;
        let settings = profile.settings.get(engine.name()).cloned().unwrap_or_default();
        Ok(Setting {
            // Loading has as many sessions as there are processors.
            settings: server::with_room(engine.name(), &settings, host_cpus() + plan::OWN_SESSIONS),
            target,
            engine,
            profile: profile.clone(),
            size_gb,
            size_is_of_profile: given_gb.is_none(),
            keep: if args.keep { Keep::Yes } else { Keep::No },
            suites,
            workloads: args.workload.clone(),
            drive: args.drive.map(drive),
            seed: u64::from(args.seed),
        })
    }

    /// The settings of the profile; a private server gets room for all sessions of the plan.
    pub fn settings_for(&self, plan: &Plan) -> BTreeMap<String, String> {
        let sessions = plan::most_jobs(plan) + plan::OWN_SESSIONS;
        server::with_room(self.engine.name(), &self.settings, sessions)
    }

    /// One line if the size makes impossible what workloads of the plan say of the cache. Existing servers have a cache
    /// of their own.
    pub fn cache_warning(&self, plan: &Plan) -> Option<String> {
        let ours = !matches!(self.target, Target::Existing { .. });
        let cache_bytes = self.profile.cache_bytes(self.engine.name()).filter(|_| ours)?;
        plan::cache_warning(plan, cache_bytes, &self.profile.id)
    }

    /// The closed plan; `run` adds ramp and window.
    ///
    /// # Errors
    /// Unknown workloads, bad parameters, ramps and combinations.
    pub fn plan(&self, catalog: &Catalog, run: Option<&RunArgs>) -> Result<Plan> {
        self.plan_with(catalog, run, self.engine.capabilities())
    }

    /// As [`Setting::plan`], without a drive that the server lacks.
    ///
    /// # Errors
    /// As there; nothing is left to run.
    pub fn plan_without(&self, catalog: &Catalog, run: Option<&RunArgs>, drive: Drive) -> Result<Plan> {
        let capabilities = self.engine.capabilities();
        let others = match drive {
            Drive::Database => &[Drive::Client],
            Drive::Client => &[Drive::Database],
        };
        self.plan_with(catalog, run, Capabilities { drives: others, ..capabilities })
    }

    fn plan_with(&self, catalog: &Catalog, run: Option<&RunArgs>, capabilities: Capabilities) -> Result<Plan> {
        let duration_s = run.and_then(|run| run.duration).map(|duration| duration.0);
        if let Some(short_s) = duration_s.filter(|duration_s| *duration_s < SHORTEST_WINDOW_S) {
            return Err(Error::usage("--duration", format!("{short_s} s is too short to measure anything"))
                .advise("give 100ms or more"));
        }
        let request = plan::Request {
            engine: self.engine.name().to_string(),
            capabilities,
            suites: self.suites.clone(),
            workloads: self.workloads.clone(),
            jobs: run.and_then(|run| run.jobs.clone()),
            drive: self.drive,
            warmup_s: run.and_then(|run| run.warmup).map(|warmup| warmup.0),
            duration_s,
            ops_per_job: run.and_then(|run| run.ops),
            time_scale: time_scale(run)?,
            size_gb: Some(self.size_gb),
            seed: self.seed,
            cores: host_cpus(),
        };
        plan::build(catalog, &request)
    }
}

/// The factor of `--time-scale`.
fn time_scale(run: Option<&RunArgs>) -> Result<f64> {
    let scale = run.and_then(|run| run.time_scale).unwrap_or(1.0);
    if scale.is_finite() && scale > 0.0 && scale <= MOST_TIME_SCALE {
        return Ok(scale);
    }
    Err(Error::usage("--time-scale", format!("{scale} is no factor"))
        .advise(format!("give a number above 0 and up to {MOST_TIME_SCALE}, e.g. 0.1")))
}

/// The suites asked for; the default one if no workload is named either.
fn suites(args: &TargetArgs) -> Vec<String> {
    match (args.suite.is_empty(), args.workload.is_empty()) {
        (true, true) => vec![DEFAULT_SUITE.to_string()],
        _ => args.suite.clone(),
    }
}

fn profile<'a>(catalog: &'a Catalog, args: &TargetArgs, suite: Option<&Suite>) -> Result<&'a Profile> {
    let of_suite = suite.and_then(|suite| suite.profile.as_deref());
    catalog.profile(args.profile.as_deref().or(of_suite).unwrap_or(DEFAULT_PROFILE))
}

/// The size that a suite was written for: with another profile than its own that of the profile is right, since what
/// fits a cache or does not depends on both.
fn size_of_suite(args: &TargetArgs, suite: Option<&Suite>) -> Option<f64> {
    let suite = suite?;
    let own = suite.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
    let is_own = args.profile.as_ref().is_none_or(|profile| profile.eq_ignore_ascii_case(own));
    suite.size_gb.filter(|_| is_own)
}

/// Refuses an impossible nominal size.
///
/// # Errors
/// Says what is possible.
pub fn check_size(size_gb: f64) -> Result<()> {
    if size_gb.is_finite() && size_gb > 0.0 && size_gb <= MOST_GB {
        return Ok(());
    }
    Err(Error::usage("--size", format!("{size_gb} GB is no size"))
        .advise(format!("give GB between 0.01 and {MOST_GB}")))
}

/// The drive of an argument.
pub fn drive(arg: DriveArg) -> Drive {
    match arg {
        DriveArg::Database => Drive::Database,
        DriveArg::Client => Drive::Client,
    }
}
