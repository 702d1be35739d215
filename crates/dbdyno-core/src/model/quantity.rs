//! Quantities in which publications count work.

use serde::{Deserialize, Serialize};

/// A quantity that is counted per second; a workload says how much of each one op is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Rows that statements touch.
    Rows,
    /// Executions of a query.
    Queries,
    /// Transactions that end with a commit.
    Transactions,
    /// Operations of arithmetic, strings and loops; for SQL, statements.
    Operations,
    /// Calls of a recursive function.
    Calls,
    /// Million bytes of data gone through.
    Mb,
    /// Blocks that the database took from its cache.
    LogicalReads,
    /// Requests to the storage, and million bytes moved by them.
    Reads,
    /// Write requests to the storage.
    Writes,
    /// Million bytes read from the storage.
    MbRead,
    /// Million bytes written to the storage.
    MbWritten,
}

impl Quantity {
    /// Name of the units of one op in the expressions of `per_op`.
    pub const WORK: &'static str = "work";

    /// Unit per second, as printed.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Rows => "rows/s",
            Quantity::Queries => "qps",
            Quantity::Transactions => "tps",
            Quantity::Operations => "ops/s",
            Quantity::Calls => "calls/s",
            Quantity::Mb | Quantity::MbRead | Quantity::MbWritten => "MB/s",
            Quantity::LogicalReads => "dbps",
            Quantity::Reads | Quantity::Writes => "iops",
        }
    }

    /// Plural for counts in sentences.
    pub fn plural(self) -> &'static str {
        match self {
            Quantity::Rows => "rows",
            Quantity::Queries => "queries",
            Quantity::Transactions => "transactions",
            Quantity::Operations => "operations",
            Quantity::Calls => "calls",
            Quantity::Mb | Quantity::MbRead | Quantity::MbWritten => "MB",
            Quantity::LogicalReads => "blocks",
            Quantity::Reads | Quantity::Writes => "requests",
        }
    }
}
