//! Request of a run: plain data of the caller, and what follows from them.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::SecretString;

use super::measured_run::MissingParts;
use super::overhead;
use super::platform::{Keep, is_there};
use super::schedule::Fresh;
use crate::{fit, server};
use dbdyno_core::catalog::{Catalog, Profile};
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::{Drive, Plan, Target};
use dbdyno_core::plan;
use dbdyno_engines::engine::{self, Engine};

/// Addresses of node_exporters by the name of the node; without a name that of the only host.
pub type HostUrls = BTreeMap<String, String>;

/// A pooler that the user names.
#[derive(Debug, Clone)]
pub struct Via {
    /// URL of the pooler, without a password.
    pub url: String,
    /// Password of the pooler that the user typed where no other source has it.
    pub password: Option<SecretString>,
}

impl Via {
    /// The place of an error about it.
    pub fn place(&self) -> String {
        format!("--via {}", quote(&self.url))
    }
}

/// Everything that a run is asked to do.
#[derive(Debug, Clone)]
pub struct Request {
    /// Database as the user named it.
    pub target: Target,
    /// Size profile, with the settings of a private database.
    pub profile: Profile,
    /// The data set has the profile's own size: neither the user nor a suite gives another.
    pub size_is_of_profile: bool,
    /// Plan request.
    pub plan: plan::Request,
    /// Fate of a private database at the end.
    pub keep: Keep,
    /// Settings instead of those of the profile, by the engine's names.
    pub settings: BTreeMap<String, String>,
    /// Parts that are made anew for every block of repetitions.
    pub fresh: Fresh,
    /// True if sessions are sampled while tests run.
    pub is_sampled: bool,
    /// Repositories of the server's own that take a snapshot before and after each test: `awr`,
    /// `statspack`.
    pub repositories: Vec<String>,
    /// After the tests the experiments of what limits them are carried out, in so many blocks at
    /// most.
    pub explain: Option<u32>,
    /// Margin of a side of an A/B test: smaller differences count as none.
    pub margin: Option<f64>,
    /// Addresses of node_exporters on the hosts of an existing server.
    pub host_metrics: HostUrls,
    /// Stated facts about the platform, by the names of the catalog's facts.
    pub facts: BTreeMap<String, String>,
    /// True for a side of an A/B test that is measured at the same time as the other, each on half
    /// of the CPUs.
    pub duet: bool,
    /// Pooler before the server, through which tests by `transport=pooler` go.
    pub via: Option<Via>,
    /// Password that the user typed where no other source has it.
    pub password: Option<SecretString>,
    /// Name of the run in reports; none = its number.
    pub name: Option<String>,
    /// Labels of the run by their keys, by which runs are found.
    pub labels: BTreeMap<String, String>,
    /// The command line as typed.
    pub command: String,
}

impl Request {
    /// The engine of the target.
    ///
    /// # Errors
    /// If it is not compiled in.
    pub fn engine(&self) -> Result<&'static dyn Engine> {
        let name = self.target.engine();
        engine::find(name)
            .ok_or_else(|| Error::usage("TARGET", format!("no engine {}", quote(name))))
    }

    /// The closed plan; without a database that of our own loop.
    ///
    /// # Errors
    /// Unknown workloads, bad parameters, ramps and combinations.
    pub fn plan(&self, catalog: &Catalog) -> Result<Plan> {
        match self.engine()?.is_target() {
            true => plan::build(catalog, &self.plan),
            false => overhead::plan(&self.plan),
        }
    }

    /// The plan without what the server lacks.
    ///
    /// # Errors
    /// As [`Request::plan`]; nothing is left to run.
    pub fn plan_without(&self, catalog: &Catalog, lacking: &MissingParts) -> Result<Plan> {
        let mut request = self.plan.clone();
        request.capabilities.missing_orgs = lacking.all_orgs;
        match lacking.drive {
            Some((Drive::Database, _)) => request.capabilities.drives = &[Drive::Client],
            Some((Drive::Client, _)) => request.capabilities.drives = &[Drive::Database],
            None => {}
        }
        plan::build(catalog, &request).map_err(|error| match &lacking.drive {
            Some((drive, reason)) if request.drive == Some(*drive) => {
                Error { what: format!("{} ({reason})", error.what), ..error }
            }
            _ => error,
        })
    }

    /// Data directory of a private or embedded database; none for an existing server, which has
    /// settings of its own.
    pub fn data_dir(&self) -> Option<&Path> {
        match &self.target {
            Target::Private { data_dir, .. } | Target::Embedded { data_dir, .. } => Some(data_dir),
            Target::Existing { .. } => None,
        }
    }

    /// Refuses host metrics of another host for a private database.
    ///
    /// # Errors
    /// Of usage.
    pub fn check_host_metrics(&self) -> Result<()> {
        match &self.target {
            Target::Private { .. } | Target::Embedded { .. } if !self.host_metrics.is_empty() => {
                Err(Error::usage(
                    "--host-metrics",
                    format!("{} runs on this host", self.target.label()),
                )
                .advise("leave it out; it is for servers on other hosts"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses to keep a private cluster.
    ///
    /// # Errors
    /// Of usage.
    pub fn check_cluster(&self) -> Result<()> {
        match &self.target {
            Target::Private { cluster: Some(_), .. } if self.keep == Keep::Yes => {
                Err(Error::usage("--keep", format!("a {} cannot be kept", self.target.label()))
                    .advise("leave --keep out: it is made, measured and removed"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses repositories that the engine has not.
    ///
    /// # Errors
    /// Of usage.
    pub fn check_repositories(&self, catalog: &Catalog) -> Result<()> {
        let known = catalog.probes(self.target.engine(), &[u32::MAX]);
        let has = |name: &str| {
            known.iter().any(|block| block.name.strip_prefix("repository.") == Some(name))
        };
        match self.repositories.iter().find(|name| !has(name)) {
            None => Ok(()),
            Some(name) => Err(super::repositories::lacks(name, self.engine()?)),
        }
    }

    /// Refuses a profile that this machine is too small for.
    ///
    /// # Errors
    /// Of usage, with the figures and the largest profile that fits.
    pub fn check_fit(&self, catalog: &Catalog, plan: &Plan) -> Result<()> {
        let Some(data_dir) = self.data_dir() else { return Ok(()) };
        // The space for a size that the user chose is checked when it is loaded, as is that of a
        // database that is there.
        let sized = self.size_is_of_profile && !is_there(&self.target);
        let tables = sized.then_some(plan.tables.as_slice());
        fit::check_profile(
            &self.profile,
            catalog.profiles(),
            self.target.servers(),
            tables,
            data_dir,
        )
    }

    /// One line if the size makes impossible what workloads of the plan say of the cache of a
    /// database of ours.
    pub fn cache_warning(&self, plan: &Plan) -> Option<String> {
        self.data_dir()?;
        let whose = format!("the cache of profile {}", self.profile.id);
        fit::cache_warning(
            plan,
            self.profile.cache_bytes(self.target.engine())?,
            &whose,
            "another --profile",
        )
    }

    /// The settings of the profile and the user's; a private server takes all sessions of the plan.
    pub(super) fn settings(&self, plan: Option<&Plan>) -> BTreeMap<String, String> {
        let engine = self.target.engine();
        let mut settings = self.profile.settings.get(engine).cloned().unwrap_or_default();
        settings.extend(self.settings.clone());
        server::with_sessions(engine, &settings, fit::sessions_of_plan(plan))
    }
}
