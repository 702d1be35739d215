//! The catalog: all workloads, data sets, harnesses, probes, suites and profiles, read from files
//! and checked.
//!
//! It is embedded in the binary; a user's own directory of the same form can be laid over it. A
//! folder of workloads is complete but for what all folders share: a workload that replaces one of
//! the same id brings its SQL.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::{Claim, Effect, Expr, Facts, StatableFact, Workload};
use crate::sql::{Block, BlockSet, statement};

mod check;
mod check_blocks;
mod check_claims;
mod facts;
mod files;
mod inherit;
mod lists;
mod load;
mod lookup;
mod profiles;
mod published;
mod suite;
mod versions;
mod wire;

#[cfg(test)]
mod tests;

pub use lists::{Form, Group, Tile};
pub use lookup::{NamedWorkload, SelectionText, nearest, parse_selection};
pub use profiles::Profile;
pub use published::{PublishedCode, PublishedWords};
pub use suite::{Suite, SuiteEntry, Work};
pub use versions::ConfirmedVersion;

/// Folder of the catalog in the binary that is a catalog of its own.
const SELFTEST: &str = "selftest";

/// A workload with the SQL of its folder.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Workload as its file defines it, checked.
    pub workload: Workload,
    /// Contract and cross-check as they are written; in `workload` each claim names the engines for
    /// which it holds.
    written: [Vec<Claim>; 2],
    /// Blocks of its folder; see [`BlockSet::resolve`].
    pub blocks: Arc<BlockSet>,
    /// `file:line` of its definition.
    pub place: String,
}

/// A data set: its description as text (the data set layer reads it) and its SQL.
#[derive(Debug, Clone)]
pub struct DataSet {
    /// Name of the data set: that of its folder.
    pub name: String,
    /// Text and path of `dataset.toml`.
    pub toml: String,
    /// Path of `dataset.toml`, for messages.
    pub toml_path: String,
    /// SQL blocks of the data set.
    pub blocks: BlockSet,
}

/// The checked catalog.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    groups: Vec<Group>,
    entries: Vec<Entry>,
    suites: Vec<Suite>,
    profiles: Vec<Profile>,
    /// Settings of each engine for the sizes of the profiles.
    settings: BTreeMap<String, profiles::Settings>,
    datasets: BTreeMap<String, DataSet>,
    harness: BTreeMap<String, BTreeMap<String, Block>>,
    failover: BTreeMap<String, BTreeMap<String, Block>>,
    probes: BTreeMap<String, Vec<Block>>,
    /// Features of each engine that claims may ask for, in addition to the counters of its probes.
    engine_files: BTreeMap<String, wire::EngineFile>,
    /// Named claims and parameters for the groups of all layers, the earlier first.
    common: Vec<files::File>,
    /// Blocks for the groups, the later layers over the earlier.
    shared: Arc<BlockSet>,
    published: PublishedWords,
    export: BTreeMap<String, Vec<Block>>,
    templates: BTreeMap<String, String>,
    effects: Vec<Effect>,
    statable: Vec<StatableFact>,
}

impl Catalog {
    /// The catalog in the binary. A test has checked it as [`Catalog::with_dir`] checks what is
    /// laid over it: nothing can have changed since then.
    ///
    /// # Errors
    /// `file:line` of what cannot be read in it.
    pub fn embedded() -> Result<Catalog> {
        let mut catalog = Catalog::default();
        load::add_layer(&mut catalog, &files::embedded())?;
        Ok(catalog)
    }

    /// The embedded catalog with the user's own in `dir` laid over it: what has the same id or
    /// name is replaced.
    ///
    /// # Errors
    /// `file:line` of what is wrong in it, or the directory if it cannot be read.
    pub fn with_dir(dir: &Path) -> Result<Catalog> {
        let mut catalog = Catalog::embedded()?;
        catalog.lay_over(dir)?;
        Ok(catalog)
    }

    /// Lays the catalog in `dir` over this one.
    ///
    /// # Errors
    /// As [`Catalog::with_dir`].
    pub fn lay_over(&mut self, dir: &Path) -> Result<()> {
        let files = files::from_dir(dir)?;
        load::only_of_engines(&files, &self.engines())?;
        load::add_layer(self, &files)?;
        self.leave_out_engines_without_sql(&files);
        check::catalog(self)
    }

    /// Marks the workloads of `files` as unsupported on each engine for which their folder has no
    /// SQL: their author need not know every engine, least of all one that is added later.
    fn leave_out_engines_without_sql(&mut self, files: &[files::File]) {
        let engines: Vec<String> = self.engines().into_iter().map(String::from).collect();
        for entry in &mut self.entries {
            let path = entry.place.rsplit_once(':').map_or(entry.place.as_str(), |(path, _)| path);
            if !files.iter().any(|file| file.label == path) {
                continue;
            }
            for engine in &engines {
                if check_blocks::lacks_sql(entry, engine) {
                    let reason = "the folder of the workload has no SQL for this engine";
                    let reasons = &mut entry.workload.unsupported;
                    reasons.entry(engine.clone()).or_insert_with(|| reason.into());
                }
            }
        }
    }

    /// Lays over it what only a self-test needs: its suite, and a workload whose times are known
    /// beforehand.
    ///
    /// # Errors
    /// `file:line` of what does not fit together.
    pub fn lay_over_selftest(&mut self) -> Result<()> {
        load::add_layer(self, &files::embedded_in(SELFTEST))?;
        check::catalog(self)
    }

    /// The catalog in `dir` alone, nothing embedded: for tests of fixture catalogs.
    ///
    /// # Errors
    /// As [`Catalog::with_dir`].
    pub fn only_dir(dir: &Path) -> Result<Catalog> {
        let mut catalog = Catalog::default();
        load::add_layer(&mut catalog, &files::from_dir(dir)?)?;
        check::catalog(&catalog)?;
        Ok(catalog)
    }

    /// Groups in order of display.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }
    /// Workloads in order of display: by group, then as written.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
    /// All workloads, without their SQL.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.entries.iter().map(|entry| &entry.workload)
    }
    /// Suites by id.
    pub fn suites(&self) -> &[Suite] {
        &self.suites
    }
    /// Profiles, the smallest first.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Groups that a difference between disclosures touches; the first rule that speaks of a fact
    /// decides.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }
    /// Facts that cannot be read from a machine and that a file of facts may state, topic by topic.
    pub fn statable(&self) -> &[StatableFact] {
        &self.statable
    }
    /// Meanings of the words of publications.
    pub fn published(&self) -> &PublishedWords {
        &self.published
    }

    /// Engines that the catalog has SQL files for.
    pub fn engines(&self) -> Vec<&str> {
        let datasets = self.datasets.values().flat_map(|dataset| dataset.blocks.engines());
        let keys = self.harness.keys().chain(self.probes.keys()).map(String::as_str);
        let workloads = self.entries.iter().flat_map(|entry| entry.blocks.engines());
        let mut engines: Vec<_> = keys.chain(datasets).chain(workloads).collect();
        engines.sort_unstable();
        engines.dedup();
        engines
    }

    /// Harness blocks of an engine by name (`function`, `procedure`, `call`, ...); empty if it has
    /// no database drive.
    pub fn harness(&self, engine: &str) -> BTreeMap<&str, &Block> {
        let blocks = self.harness.get(engine).into_iter().flatten();
        blocks.map(|(name, block)| (name.as_str(), block)).collect()
    }

    /// A statement by which `failover` works on the clusters of an engine; none if the engine has
    /// or needs none of this name.
    pub fn failover(&self, engine: &str, name: &str) -> Option<&str> {
        self.failover.get(engine)?.get(name).map(|block| statement(&block.text))
    }

    /// The settings of an engine that take away what limits a test, if there are any for the cause
    /// of this code; `facts` are what their values are made of.
    ///
    /// # Errors
    /// A value that cannot be had, with the reason.
    pub fn experiment(
        &self,
        engine: &str,
        cause: &str,
        facts: &Facts,
    ) -> std::result::Result<Option<BTreeMap<String, String>>, String> {
        let Some(settings) =
            self.engine_files.get(engine).and_then(|file| file.experiments.for_cause(cause))
        else {
            return Ok(None);
        };
        let filled =
            |(name, text): (&String, &String)| Ok((name.clone(), profiles::filled(text, facts)?));
        settings.iter().map(filled).collect::<std::result::Result<_, String>>().map(Some)
    }

    /// MB that the log of an engine's tables in these organizations may take in memory; none if it
    /// is not moved there. `facts` as for [`Catalog::experiment`].
    ///
    /// # Errors
    /// A number that cannot be had, with the reason.
    pub fn log_room_mb(
        &self,
        engine: &str,
        orgs: &[&str],
        facts: &Facts,
    ) -> std::result::Result<Option<f64>, String> {
        let place =
            self.engine_files.get(engine).and_then(|file| file.experiments.log_in_memory.as_ref());
        let has = |place: &&wire::LogInMemory| {
            place.org.as_ref().is_none_or(|named| orgs.iter().all(|org| Claim::names(named, org)))
        };
        let place = place.filter(has);
        place.map(|place| Expr(place.room_mb.clone()).eval(facts)).transpose()
    }

    /// Probe blocks of an engine for a server of this version (its numbers: 15.18 is `[15, 18]`):
    /// of several with one name the newest that is not above the version, none if that one has
    /// ended (`-- until:`, exclusive).
    pub fn probes(&self, engine: &str, version: &[u32]) -> Vec<&Block> {
        versions::select(self.probes.get(engine).map_or(&[], Vec::as_slice), version)
    }

    /// The versions of a server from which on, or up to which, a probe block of an engine fits.
    pub fn probe_versions(&self, engine: &str) -> Vec<Vec<u32>> {
        versions::borders(self.probes.get(engine).map_or(&[], Vec::as_slice))
    }

    /// Names of counters: dbdyno's own, and those that some engine gives (every word of the SQL
    /// that reads them).
    pub fn counters(&self) -> Vec<&str> {
        check_claims::counters(self)
    }

    /// The versions of an engine on which the whole program is known to work.
    pub fn confirmed(&self, engine: &str) -> &[ConfirmedVersion] {
        self.engine_files.get(engine).map_or(&[], |file| &file.confirmed)
    }

    /// True for a version of an engine on which somebody has confirmed that the program works.
    pub fn is_confirmed(&self, engine: &str, version: &[u32]) -> bool {
        versions::is_confirmed(self.confirmed(engine), version)
    }

    /// The options of an engine that these tests (their parameters) need a license for, each with
    /// the parameters that do.
    pub fn licences<'a>(
        &self,
        engine: &str,
        tests: impl Iterator<Item = &'a BTreeMap<String, String>> + Clone,
    ) -> BTreeMap<&str, BTreeSet<String>> {
        let all = self.engine_files.get(engine).map_or(&[][..], |file| &file.licences);
        let needed = all.iter().map(|licence| {
            let by = tests.clone().flat_map(|params| licence.needed_by(params).collect::<Vec<_>>());
            (licence.option.as_str(), by.collect::<BTreeSet<_>>())
        });
        needed.filter(|(_, by)| !by.is_empty()).collect()
    }

    /// License terms for publishing figures, by engine: only of those that restrict it.
    pub fn publishing(&self) -> BTreeMap<String, String> {
        let restricted = self
            .engine_files
            .iter()
            .filter_map(|(name, file)| Some((name.clone(), file.publishing.clone()?)));
        restricted.collect()
    }

    /// Blocks of the scripts that `export-sql` writes for an engine; empty if it has none.
    pub fn export_blocks(&self, engine: &str) -> &[Block] {
        self.export.get(engine).map_or(&[], Vec::as_slice)
    }

    /// A template of `export/` by its file name: `run.sh`.
    pub fn export_text(&self, name: &str) -> Option<&str> {
        self.templates.get(name).map(String::as_str)
    }

    /// The data set of this name (`standard`).
    ///
    /// # Errors
    /// If there is none.
    pub fn dataset(&self, name: &str) -> Result<&DataSet> {
        let known = || self.datasets.keys().cloned().collect::<Vec<_>>().join(", ");
        self.datasets.get(name).ok_or_else(|| {
            Error::usage(format!("catalog/datasets/{name}"), "no such data set")
                .advise(format!("there are: {}", known()))
        })
    }
    /// All data sets, by name.
    pub fn datasets(&self) -> impl Iterator<Item = &DataSet> {
        self.datasets.values()
    }
}

impl DataSet {
    /// Blocks of the workload for an engine, by name: those of `<engine>.sql` override those of
    /// `common.sql`.
    pub fn sql(&self, engine: &str) -> BTreeMap<&str, &Block> {
        self.blocks.for_engine(engine)
    }
}
