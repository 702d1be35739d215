//! Catalogue files as they are written (TOML), before they are checked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::error::{Error, Result};
use crate::model::{Alias, Answer, Bind, Claim, ClientBranch, Effect, Expr, Kpm, Param, Part, Workload};

use super::files::File;
use super::lists::Form;

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
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
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
    #[serde(default)]
    aliases: Vec<Alias>,
    #[serde(default)]
    params: Vec<Param>,
    kpm: Kpm,
    second: Option<Kpm>,
    #[serde(default = "one")]
    work: Expr,
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

impl WorkloadEntry {
    /// As the rest of the program knows it, in `group`.
    pub fn into_workload(self, group: &str) -> Workload {
        Workload {
            id: self.id.into_inner(),
            group: group.into(),
            title: self.title,
            about: self.about,
            revision: self.revision,
            aliases: self.aliases,
            params: self.params,
            kpm: self.kpm,
            second: self.second,
            work: self.work,
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
        read_toml(&File { path: "w/g/group.toml".into(), label: "group.toml".into(), text: text.into() })
    }

    #[test]
    fn errors_name_file_and_line() {
        let unknown = read("id = 'A'\ntitle = 't'\n\n[[workload]]\nid = 'A-1'\ntitel = 'x'\n").err().unwrap();
        assert!(unknown.to_string().starts_with("group.toml:6: unknown field `titel`"), "{unknown}");
        let syntax = read("id = 'A'\ntitle = \n").err().unwrap();
        assert!(syntax.to_string().starts_with("group.toml:2: "), "{syntax}");
        let missing = read("id = 'A'\ntitle = 't'\n[[workload]]\nid = 'A-1'\n").err().unwrap();
        assert!(missing.to_string().contains("missing field `title`"), "{missing}");
    }
}
