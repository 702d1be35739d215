//! Groups and profiles: plain data with a title.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A group of workloads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Upper case: `SRV`.
    pub id: String,
    pub title: String,
    pub about: String,
    /// Position in listings.
    #[serde(skip)]
    pub order: u32,
    /// Its columns in the KPM report; none = by the unit of each KPM.
    #[serde(skip)]
    pub form: Option<Form>,
}

impl Group {
    /// A group without prose that stands last.
    pub fn new(id: &str, title: &str) -> Group {
        Group { id: id.into(), title: title.into(), about: String::new(), order: u32::MAX, form: None }
    }
}

/// Which columns the KPM report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Share of updates, redo per transaction, log sync, cache hits.
    Transactions,
    /// Logical reads in total, per job and per op.
    Queries,
    /// The tiers that served the reads, and the device.
    Reads,
    /// Rows, ops and the device.
    General,
}

impl Form {
    /// That of a KPM in this unit, in a group that names none.
    pub fn of_unit(unit: &str) -> Form {
        match unit {
            "tps" => Form::Transactions,
            "qps" => Form::Queries,
            _ => Form::General,
        }
    }
}

/// A size profile (`profiles/<id>.toml`): what a private server of that size is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    pub id: String,
    pub title: String,
    #[serde(default)]
    pub about: String,
    /// Nominal size of the data set that goes with it.
    pub size_gb: f64,
    /// The machine it is meant for, as text: `4-8`.
    pub cores: Option<String>,
    pub ram_gb: Option<String>,
    /// Buffer cache of the database in MB (2^20 bytes).
    pub cache_mb: Option<f64>,
    /// Memory that the server may take with these settings, in MB (2^20 bytes): buffer cache, log buffer, and sort/work
    /// memory in total. A machine that has less is refused.
    pub memory_mb: Option<f64>,
    /// Settings per engine, in the engine's own names and units.
    #[serde(default)]
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
}

/// The name of a setting of the cache of each session, in MB (2^20 bytes), of an engine that has no cache for all.
const CACHE_OF_SESSION: &str = "cache_mb";

impl Profile {
    /// Bytes of the cache that a session of this engine reads from, if the profile says; that of all sessions, or the
    /// session's own where the engine has no other.
    pub fn cache_bytes(&self, engine: &str) -> Option<f64> {
        let own = self.settings.get(engine).and_then(|settings| settings.get(CACHE_OF_SESSION)?.parse().ok());
        own.or(self.cache_mb).map(|mb: f64| mb * 1_048_576.0)
    }
}
