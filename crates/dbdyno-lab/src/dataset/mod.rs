//! Provisions, loads, verifies, warms and drops the data set.
//!
//! [`ensure`] is the way in: it reuses what is already loaded, else loads in parallel, checks the
//! rows against the row function and remembers them in our `state` table. All SQL comes from
//! `catalog/datasets/`.

use std::sync::atomic::AtomicBool;

use dbdyno_core::model::{Facts, LoadResult, TableRef};

mod build;
mod cache;
mod checksum;
mod chunks;
mod clean;
mod definition;
mod ensure;
mod forecast;
mod held;
mod load;
mod lock;
mod recipe;
mod state;

pub use cache::{files, system_cached_files, warm};
pub use checksum::{Checksum, verify};
pub use clean::{DroppedObjects, drop_all, list_foreign, list_own};
pub use definition::{Definition, Site, Table};
pub use ensure::{data_set_id, ensure, tables};
pub use held::while_telling;
pub use lock::Lock;
pub use recipe::{Recipe, STANDARD};

/// Required data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Tables, each in its organization.
    pub tables: Vec<TableRef>,
    /// Nominal size of the data set, in GB.
    pub size_gb: f64,
    /// Seed of the rows: equal seeds give equal rows.
    pub seed: u64,
    /// Sessions that load side by side, where the engine can.
    pub sessions: u32,
}

/// Data set that is loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedDataset {
    /// Per table `<kind>_rows`, `<kind>_key25|125|320`, `<kind>_mb` (10^6 bytes as stored),
    /// `<kind>_parts` (partitions; 1 if it has none), `<kind>_block_bytes` where an engine's tables
    /// have blocks of several sizes.
    pub tables: Vec<(TableRef, Facts)>,
    /// One per table; `loaded` is false where the rows were already there.
    pub loads: Vec<LoadResult>,
    /// Equal on every engine for equal tables, size and seed.
    pub data_set_id: String,
}

impl LoadedDataset {
    /// Facts for a workload that uses these tables: of each kind those of the organization that it
    /// uses, of other kinds those of the first that was loaded.
    pub fn facts_for(&self, used: &[TableRef]) -> Facts {
        let mut facts = Facts::new();
        let chosen = self.tables.iter().filter(|(table, _)| used.contains(table));
        for (_, of_table) in self.tables.iter().rev().chain(chosen) {
            facts.extend(of_table.clone());
        }
        facts
    }

    /// Size of a block of the tables that a workload uses, where it is the tables' own.
    pub fn block_bytes(&self, used: &[TableRef]) -> Option<f64> {
        let facts = self.facts_for(used);
        used.iter().find_map(|table| facts.get(&format!("{}_block_bytes", table.kind)).copied())
    }
}

/// Event of a load for its observer.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadEvent {
    /// The table is there from an earlier run.
    Reused {
        /// Name of the table, without prefix.
        table: String,
        /// Number of its rows.
        rows: u64,
    },
    /// An interrupted load continues; this many rows are loaded.
    Resumed {
        /// Name of the table, without prefix.
        table: String,
        /// Number of rows that the earlier load left.
        rows_done: u64,
        /// Number of rows of the complete table.
        rows_total: u64,
    },
    /// A phase begins: `rows`, `indexes`, `statistics`, `verify`.
    Phase {
        /// Name of the table, without prefix.
        table: String,
        /// Phase that begins.
        phase: &'static str,
    },
    /// Rows sent so far, in 10^6 bytes of 300-byte rows per second, and seconds left for all tables
    /// and phases.
    Progress {
        /// Name of the table, without prefix.
        table: String,
        /// Number of rows sent so far.
        rows_done: u64,
        /// Number of rows of the complete table.
        rows_total: u64,
        /// Speed of the load, in 10^6 bytes of 300-byte rows per second.
        mb_per_s: f64,
        /// Expected time until all tables are complete, in s.
        left_s: f64,
    },
    /// A phase that cannot be counted is still under way; seconds left for all tables and phases.
    Left {
        /// Name of the table, without prefix.
        table: String,
        /// Phase that is under way.
        phase: &'static str,
        /// Expected time until all tables are complete, in s.
        left_s: f64,
    },
    /// The table is complete.
    Loaded(LoadResult),
}

/// Observer of a load that can also stop it. Events may come from any of the loading threads.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Receiver of events, called from any loading thread.
    pub events: &'a (dyn Fn(LoadEvent) + Sync),
    /// Set it to stop: chunks that are in stay if the database does, else the table is dropped.
    pub cancel: &'a AtomicBool,
}
