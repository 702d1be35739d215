//! A run without its tests: where it ran, how it ended, the loads of data, and the measurements of
//! the machine before the tests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Disclosure, Provenance, RunKind, StoredPlan};

/// A run without its tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Given by the store, from 1.
    pub id: i64,
    /// Name that the user gave; none = the number stands for it.
    pub name: Option<String>,
    /// Origin of the tests.
    #[serde(default)]
    pub kind: RunKind,
    /// Source of a published run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Target as by `Target::label`; the platform of a published run.
    pub target: String,
    /// Registry name; of a published run the first word of its engine, if that is printed.
    #[serde(with = "stored_unknown")]
    pub engine: Option<String>,
    /// Name of the suite, or `custom`.
    pub suite: String,
    /// Labels by their keys, by which runs are found.
    pub labels: BTreeMap<String, String>,
    /// RFC 3339, UTC; of a published run the day or year of the publication, if it is known.
    #[serde(with = "stored_unknown")]
    pub started_at: Option<String>,
    /// RFC 3339, UTC; none while the run goes on, and of a published run.
    pub ended_at: Option<String>,
    /// State in which the run is, or ended.
    pub status: RunStatus,
    /// Version of dbdyno.
    pub version: String,
    /// The command line as typed (without passwords).
    pub command: String,
    /// Seed of the rows and of all random choices; none for a published run.
    pub seed: Option<u64>,
    /// Nominal size of the data set; none if a publication does not print it.
    #[serde(with = "stored_unknown")]
    pub size_gb: Option<f64>,
    /// Identifies the rows of the data set: equal on every engine for equal size and seed. None of
    /// a published run, and before the data are loaded.
    #[serde(with = "stored_unknown")]
    pub data_set_id: Option<String>,
    /// Facts about the platform.
    pub disclosure: Disclosure,
    /// Cost of dbdyno's own loop meanwhile; none for a published run and for older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_loop: Option<OwnLoop>,
    /// Syncs that the device can do, of a run with commits and where it could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_sync: Option<DeviceSync>,
    /// The plan: per selection id, params, drive, ramp, window, hash, SQL.
    pub plan: StoredPlan,
    /// Loads of the tables, in order.
    pub loads: Vec<LoadResult>,
}

impl RunRecord {
    /// A record of this kind and target, made by this version, that has ended; all else is unknown
    /// or empty.
    pub fn new(kind: RunKind, target: impl Into<String>) -> RunRecord {
        RunRecord {
            id: 0,
            name: None,
            kind,
            provenance: None,
            target: target.into(),
            engine: None,
            suite: String::new(),
            labels: BTreeMap::new(),
            started_at: None,
            ended_at: None,
            status: RunStatus::Finished,
            version: env!("CARGO_PKG_VERSION").into(),
            command: String::new(),
            seed: None,
            size_gb: None,
            data_set_id: None,
            disclosure: Disclosure::default(),
            own_loop: None,
            device_sync: None,
            plan: StoredPlan::default(),
            loads: Vec::new(),
        }
    }
}

/// Way in which a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Tests are still being measured.
    Running,
    /// All tests of the plan have ended.
    Finished,
    /// Ctrl-C: tests so far are stored.
    Interrupted,
    /// The target failed: tests so far are stored.
    Failed,
}

impl RunStatus {
    /// Name as stored and printed.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Finished => "finished",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Failed => "failed",
        }
    }
}

/// A load as a result of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// Name of the table.
    pub table: String,
    /// Number of rows of the complete table.
    pub rows: u64,
    /// Bytes of row data as the engine stores the table (without indexes).
    pub table_bytes: u64,
    /// Bytes of all indexes of the table.
    pub index_bytes: u64,
    /// Seconds for the rows / for the indexes / for statistics.
    pub rows_s: f64,
    /// Time for the indexes, in s.
    pub index_s: f64,
    /// Time for the optimizer statistics, in s.
    pub analyze_s: f64,
    /// Method: `copy-binary`, `prepared-insert`, ...; sessions used in parallel.
    pub method: String,
    /// Number of sessions that loaded at the same time.
    pub sessions: u32,
    /// False if the data set was already there and only verified.
    pub loaded: bool,
    /// Rows that were in from a load that broke off: `rows_s` is the time of the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumed_rows: u64,
}

fn is_zero(rows: &u64) -> bool {
    *rows == 0
}

/// Tail of dbdyno's own loop at the start of a run: ops of a known length on the null engine, in
/// one job, with that length subtracted, in us. This part of a test's tail is not the database's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OwnLoop {
    /// 99th percentile, in us.
    pub p99_us: f64,
    /// 99.9th percentile, in us.
    pub p999_us: f64,
    /// Longest op, in us.
    pub max_us: f64,
}

/// Durable writes of 8 kB per second on the database's device at the start of a run: of one thread,
/// and of all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DeviceSync {
    /// Write and `fdatasync`.
    pub fdatasync_per_s: f64,
    /// `O_DSYNC`.
    pub dsync_per_s: f64,
    /// Number of threads of the following rates.
    pub threads: u32,
    /// Write and `fdatasync`, of all threads together.
    pub fdatasync_all_per_s: f64,
    /// `O_DSYNC`, of all threads together.
    pub dsync_all_per_s: f64,
}

impl DeviceSync {
    /// The most that one thread did, alone or beside the others: a virtual disk can be ten times as
    /// fast when it is kept awake.
    pub fn best_per_s(&self) -> f64 {
        let together =
            self.fdatasync_all_per_s.max(self.dsync_all_per_s) / f64::from(self.threads.max(1));
        self.fdatasync_per_s.max(self.dsync_per_s).max(together)
    }
}

/// Form in which a results file stores unknown values: its columns may not be empty.
mod stored_unknown {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// A type with a value that means unknown.
    pub trait Stored: Serialize + for<'de> Deserialize<'de> {
        fn unknown() -> Self;
        fn is_unknown(&self) -> bool;
    }

    impl Stored for String {
        fn unknown() -> Self {
            "unknown".into()
        }
        fn is_unknown(&self) -> bool {
            self.is_empty() || self == "unknown"
        }
    }

    impl Stored for f64 {
        fn unknown() -> Self {
            0.0
        }
        fn is_unknown(&self) -> bool {
            *self == 0.0
        }
    }

    pub fn serialize<T: Stored, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(serializer),
            None => T::unknown().serialize(serializer),
        }
    }

    pub fn deserialize<'de, T: Stored, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        Ok(Option::<T>::deserialize(deserializer)?.filter(|value| !value.is_unknown()))
    }
}
