//! Meanings of the words of publications: their codes as workloads, their platform tables as a
//! disclosure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::files::File;
use super::wire::read_toml;
use crate::error::{Error, Result};
use crate::model::Quantity;

/// `published/*.toml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedWords {
    /// Codes of publications with their workloads.
    pub codes: Vec<PublishedCode>,
    /// Section of the disclosure -> fact -> the attributes that give it, best first.
    pub disclosure: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    /// Platforms that a publication names, by their ids in the reference data.
    pub platforms: BTreeSet<String>,
    /// Suites of the publications, with their versions.
    pub suites: BTreeSet<String>,
}

/// The workload that a code of a publication corresponds to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCode {
    /// Empty for a test without a code: then its description decides.
    #[serde(default)]
    pub code: String,
    /// Words of the publication for the measured work; empty if the code decides.
    #[serde(default)]
    pub description: String,
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Group of the workload as in the catalog: `SRV`.
    pub group: String,
    /// Parameters that make the workload the published work.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// The metric that is the KPM where it is printed, if it is not the one that the rules of the
    /// import choose.
    #[serde(default)]
    pub kpm: Option<String>,
    /// Work that a job does, where the publication prints the time that it took.
    #[serde(default)]
    pub fixed: BTreeMap<Quantity, Amount>,
    /// Parameters with which the stated throughput was reached, where they are not `params`.
    #[serde(default)]
    pub best: BTreeMap<String, String>,
}

/// A whole number of something.
pub type Amount = u64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CodesFile {
    code: Vec<PublishedCode>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformsFile {
    platforms: BTreeSet<String>,
    suites: BTreeSet<String>,
}

impl PublishedWords {
    /// The entry of a code, or of a description if there is no code.
    pub fn code(&self, code: &str, description: &str) -> Option<&PublishedCode> {
        self.codes.iter().find(|known| match code {
            "" => known.code.is_empty() && known.description == description,
            code => known.code == code,
        })
    }
}

/// Reads one file; what an earlier layer said of the same code or fact is replaced.
pub(super) fn add(words: &mut PublishedWords, file: &File) -> Result<()> {
    match file.stem() {
        "codes" => {
            let CodesFile { code } = read_toml(file)?;
            words.codes.splice(0..0, code);
        }
        "disclosure" => {
            let sections: BTreeMap<String, BTreeMap<String, Vec<String>>> = read_toml(file)?;
            for (section, facts) in sections {
                words.disclosure.entry(section).or_default().extend(facts);
            }
        }
        "platforms" => {
            let PlatformsFile { platforms, suites } = read_toml(file)?;
            words.platforms.extend(platforms);
            words.suites.extend(suites);
        }
        _ => {
            let error = Error::usage(&file.label, "a catalog has no such file");
            let advice = "published/ holds codes.toml, disclosure.toml and platforms.toml";
            return Err(error.advise(advice));
        }
    }
    Ok(())
}
