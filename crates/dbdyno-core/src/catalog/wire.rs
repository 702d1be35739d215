//! Catalogue files as they are written (TOML), before they are checked.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use crate::error::{Error, Result};
use crate::model::vectors::Vectors;
use crate::model::{
    Alias, Answer, Application, Bind, Claim, ClientBranch, Effect, Expr, Kpm, Operation, Param,
    Part, Quantity, Resource, Workload,
};

use super::files::File;
use super::lists::{Form, Tile};
use super::parse_selection;

/// Reads a TOML file.
///
/// # Errors
/// With `file:line`, what is wrong there.
pub(super) fn read_toml<T: DeserializeOwned>(file: &File) -> Result<T> {
    toml::from_str(&file.text).map_err(|error| {
        let line = line_of(&file.text, error.span().map_or(0, |span| span.start));
        Error::usage(format!("{}:{line}", file.label), error.message())
    })
}

/// Line of a byte, from 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    // Not byte by byte: each workload has its line.
    1 + text.get(..offset).unwrap_or(text).matches('\n').count()
}

/// `comparison/effects.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EffectsFile {
    #[serde(default)]
    pub effect: Vec<Effect>,
}

/// `workloads/<group>/group.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GroupFile {
    pub id: String,
    pub title: String,
    #[serde(default)]
    pub about: String,
    /// Position in listings; groups without one come last, by id.
    #[serde(default = "last")]
    pub order: u32,
    pub form: Option<Form>,
    pub tile: Option<Tile>,
    #[serde(default)]
    pub workload: Vec<WorkloadEntry>,
}

fn last() -> u32 {
    u32::MAX
}

/// `[[workload]]`: the fields of `model::Workload`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkloadEntry {
    pub id: Spanned<String>,
    title: String,
    #[serde(default)]
    about: String,
    revision: u32,
    #[serde(default, deserialize_with = "aliases")]
    aliases: Vec<Alias>,
    differs: Option<String>,
    #[serde(default)]
    params: Vec<Param>,
    kpm: Kpm,
    second: Option<Kpm>,
    #[serde(default = "one")]
    work: Expr,
    #[serde(default)]
    per_op: BTreeMap<Quantity, Expr>,
    #[serde(default)]
    does: Vec<Operation>,
    #[serde(default)]
    stresses: Vec<Resource>,
    #[serde(default)]
    matters_for: Vec<Application>,
    #[serde(default)]
    scaled_by: Vec<String>,
    #[serde(default)]
    tables: Vec<String>,
    #[serde(default)]
    warm: Vec<String>,
    #[serde(default)]
    evict: Vec<String>,
    #[serde(default)]
    commits: bool,
    #[serde(default)]
    bulk: bool,
    #[serde(default)]
    binds: BTreeMap<String, Bind>,
    #[serde(default)]
    client: Vec<ClientBranch>,
    #[serde(default)]
    setup: Vec<String>,
    #[serde(default)]
    teardown: Vec<String>,
    #[serde(default)]
    session: Vec<String>,
    #[serde(default)]
    hold: Vec<String>,
    #[serde(default)]
    connects: bool,
    idle: Option<Expr>,
    vectors: Option<Vectors>,
    finds: Option<Expr>,
    threads: Option<Expr>,
    #[serde(default)]
    parts: Vec<Part>,
    answer: Option<Answer>,
    #[serde(default)]
    contract: Vec<Claim>,
    #[serde(default)]
    crosscheck: Vec<Claim>,
    #[serde(default)]
    unsupported: BTreeMap<String, String>,
    #[serde(default)]
    undrivable: BTreeMap<String, String>,
}

fn one() -> Expr {
    Expr("1".into())
}

/// A code, or a code with the parameters that it fixes, as on the command line: `T611:org=heap`.
#[derive(Deserialize)]
#[serde(untagged)]
enum AliasEntry {
    Text(String),
    Table(Alias),
}

fn aliases<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<Alias>, D::Error> {
    let alias = |entry| match entry {
        AliasEntry::Table(alias) => Ok(alias),
        AliasEntry::Text(text) => parse_selection(&text).map(|selection| Alias {
            code: selection.name,
            params: selection.params,
            differs: None,
        }),
    };
    let entries = Vec::<AliasEntry>::deserialize(from)?.into_iter();
    entries.map(alias).collect::<Result<_>>().map_err(D::Error::custom)
}

/// `engines/<engine>.toml`: what claims may ask of an engine, beside the counters of its probes,
/// and what `--test-bottleneck` may change.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EngineFile {
    /// The engine whose files it takes where it has none of its own.
    #[serde(default)]
    pub like: Option<String>,
    /// Counters that no SQL gives: those of the client's library.
    #[serde(default)]
    pub counters: Vec<String>,
    /// Counters that several sessions may increase at once without a lock, so that events are lost.
    #[serde(default, rename = "counted-without-lock")]
    pub counted_without_lock: Vec<String>,
    /// Features of the engine by name, each with its meaning.
    #[serde(default)]
    pub has: BTreeMap<String, Feature>,
    #[serde(default)]
    pub experiments: Experiments,
    /// License term for publishing figures, if there is one.
    #[serde(default)]
    pub publishing: Option<String>,
    #[serde(default)]
    pub confirmed: Vec<super::ConfirmedVersion>,
    #[serde(default, rename = "licence")]
    pub licences: Vec<Licence>,
}

/// An option of a product that must be licensed apart for tests with some parameters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Licence {
    pub option: String,
    /// Parameters and their values, `a|b`: any of these needs it.
    pub params: BTreeMap<String, String>,
}

impl Licence {
    /// Parameters of a test that need the feature, as `org=heap-list`.
    pub fn needed_by<'a>(
        &'a self,
        params: &'a BTreeMap<String, String>,
    ) -> impl Iterator<Item = String> + 'a {
        let needs = |name: &str, value: &str| {
            self.params.get(name).is_some_and(|all| all.split('|').any(|one| one == value))
        };
        params
            .iter()
            .filter(move |(name, value)| needs(name, value))
            .map(|(name, value)| format!("{name}={value}"))
    }
}

/// Feature of an engine: for every table, or for those in some organizations.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Feature {
    Always(#[allow(dead_code)] String),
    OfTables(FeatureOfTables),
}

/// Feature of an engine for tables in the organizations `a|b`, or in all but these (`!a|b`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FeatureOfTables {
    pub org: String,
    #[allow(dead_code)]
    about: String,
}

impl Feature {
    /// The organizations of which it holds, as claims name values; none = all.
    pub fn org(&self) -> Option<&str> {
        match self {
            Feature::Always(_) => None,
            Feature::OfTables(of) => Some(&of.org),
        }
    }
}

/// Settings of a private server that take away what limits a test, by cause. A value may hold
/// `{{expression}}` over `data_mb` (all tables and indexes that are loaded) and the present
/// settings that are sizes, as `now_<name>`, in MB (2^20 bytes).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct Experiments {
    log_sync: BTreeMap<String, String>,
    log_buffer: BTreeMap<String, String>,
    read: BTreeMap<String, String>,
    data_write: BTreeMap<String, String>,
    checkpoint: BTreeMap<String, String>,
    pub log_in_memory: Option<LogInMemory>,
}

/// The log on a file system in memory, for as long as an experiment takes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogInMemory {
    /// MB that it may grow to, as an expression.
    pub room_mb: String,
    /// The organizations of the tables whose log it is, as claims name values; none = all.
    pub org: Option<String>,
}

impl Experiments {
    /// Settings for the cause of this code; none if there are none.
    pub fn for_cause(&self, cause: &str) -> Option<&BTreeMap<String, String>> {
        let settings = match cause {
            "log-sync" => &self.log_sync,
            "log-buffer" => &self.log_buffer,
            "read" => &self.read,
            "data-write" => &self.data_write,
            "checkpoint" => &self.checkpoint,
            _ => return None,
        };
        Some(settings).filter(|settings| !settings.is_empty())
    }
}

/// Entry of `workloads/<group>/<engine>.toml`: what an engine cannot do of a workload, or does in
/// another way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnEngine {
    /// Prose that only this engine needs; stands below the workload's own.
    pub about: Option<String>,
    unsupported: Option<String>,
    /// Reasons by drive.
    #[serde(default)]
    undrivable: BTreeMap<String, String>,
    /// Queries by block, each of which must return a row on the server.
    #[serde(default)]
    requires: BTreeMap<String, String>,
    /// Defaults of parameters.
    #[serde(default)]
    default: BTreeMap<String, String>,
    /// Reasons by parameter and value.
    #[serde(default)]
    unavailable: BTreeMap<String, BTreeMap<String, String>>,
}

impl OnEngine {
    /// Marks in workloads what does not hold on `engine`.
    ///
    /// # Errors
    /// A parameter that none of them has.
    pub fn apply(
        &self,
        engine: &str,
        workloads: &mut [&mut Workload],
    ) -> std::result::Result<(), String> {
        for workload in workloads.iter_mut() {
            workload
                .unsupported
                .extend(self.unsupported.iter().map(|reason| (engine.into(), reason.clone())));
            let required = self.requires.iter();
            workload.requires.extend(
                required.map(|(block, reason)| (format!("{engine}.{block}"), reason.clone())),
            );
            let drives = self.undrivable.iter();
            workload.undrivable.extend(
                drives.map(|(drive, reason)| (format!("{engine}.{drive}"), reason.clone())),
            );
        }
        for name in self.default.keys().chain(self.unavailable.keys()) {
            let params = workloads.iter_mut().flat_map(|workload| &mut workload.params);
            let params: Vec<&mut Param> = params.filter(|param| param.name == *name).collect();
            if params.is_empty() {
                return Err(format!("unknown parameter '{name}'"));
            }
            for param in params {
                param
                    .engine_default
                    .extend(self.default.get(name).map(|value| (engine.into(), value.clone())));
                param.unavailable.extend(
                    self.unavailable.get(name).map(|values| (engine.into(), values.clone())),
                );
            }
        }
        Ok(())
    }
}

impl WorkloadEntry {
    /// The workload as the rest of the program knows it, in `group`.
    pub fn into_workload(self, group: &str) -> Workload {
        Workload {
            id: self.id.into_inner(),
            group: group.into(),
            title: self.title,
            about: self.about,
            revision: self.revision,
            aliases: self.aliases,
            differs: self.differs,
            params: self.params,
            kpm: self.kpm,
            second: self.second,
            work: self.work,
            per_op: self.per_op,
            does: self.does,
            stresses: self.stresses,
            matters_for: self.matters_for,
            scaled_by: self.scaled_by,
            tables: self.tables,
            warm: self.warm,
            evict: self.evict,
            commits: self.commits,
            bulk: self.bulk,
            binds: self.binds,
            client: self.client,
            setup: self.setup,
            teardown: self.teardown,
            session: self.session,
            hold: self.hold,
            connects: self.connects,
            idle: self.idle,
            vectors: self.vectors,
            finds: self.finds,
            requires: BTreeMap::new(),
            threads: self.threads,
            parts: self.parts,
            answer: self.answer,
            contract: self.contract,
            crosscheck: self.crosscheck,
            unsupported: self.unsupported,
            undrivable: self.undrivable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<GroupFile> {
        read_toml(&File {
            path: "w/g/group.toml".into(),
            label: "group.toml".into(),
            text: text.into(),
            lent: false,
        })
    }

    #[test]
    fn errors_name_file_and_line() {
        let unknown =
            read("id = 'A'\ntitle = 't'\n\n[[workload]]\nid = 'A-1'\ntitel = 'x'\n").err().unwrap();
        assert!(
            unknown.to_string().starts_with("group.toml:6: unknown field `titel`"),
            "{unknown}"
        );
        let syntax = read("id = 'A'\ntitle = \n").err().unwrap();
        assert!(syntax.to_string().starts_with("group.toml:2: "), "{syntax}");
        let missing = read("id = 'A'\ntitle = 't'\n[[workload]]\nid = 'A-1'\n").err().unwrap();
        assert!(missing.to_string().contains("missing field `title`"), "{missing}");
    }
}
