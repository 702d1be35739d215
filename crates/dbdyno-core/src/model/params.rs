//! Names of parameters that mean something to this program; every other name means what its
//! workload says.

/// Table organization: of this parameter's values those that the engine lacks are refused, and
/// `{{small}}` and `{{big}}` stand for the tables in it.
pub const ORG: &str = "org";
/// Value of the parameter for the engine's own organization.
pub const OWN_ORG: &str = "default";
/// `slice`: the reads of a slice share one transaction on the client drive.
pub const READ_TX: &str = "read_tx";
/// Rows per op of a bulk load.
pub const BATCH: &str = "batch";
/// Distribution of the keys that are drawn, and place of those drawn most often.
pub const KEYS: &str = "keys";
/// Place of the keys that are drawn most often.
pub const PLACE: &str = "place";
/// Processes asked for per op: shown beside those that really worked.
pub const THREADS: &str = "threads";
/// Percent of the ops that update: a column of its own in the KPM report.
pub const UPDATE_PCT: &str = "update_pct";

/// Form in which the table is stored, by rows or by columns; reports show figures of both in one
/// table.
pub const STORE: &str = "store";
/// Rows of the active part of a table, from which keys are drawn: what a sweep varies.
pub const ACTIVE_ROWS: &str = "active_rows";
/// Duration of an op, in us, of a workload that only sleeps in the database.
pub const SLEEP_US: &str = "sleep_us";
/// Effort of an approximate search, and recall that it is to reach. These parameters change the
/// effort, not the question.
pub const EFFORT: [&str; 5] = ["ef", "m", "ef_construction", "iterative", "recall"];
/// Transport of the statements on the client drive and, below, their protocol; every workload has
/// both.
pub const TRANSPORT: &str = "transport";
/// Form in which statements travel on the client drive.
pub const PROTOCOL: &str = "protocol";

/// Facts of a test beside whose jobs sessions did nothing: how many, and the server's memory that
/// each took.
pub const IDLE_SESSIONS: &str = "idle_sessions";
/// Memory of the server that each idle session took, in bytes.
pub const IDLE_SESSION_BYTES: &str = "idle_session_bytes";

/// Background workload of a test and, below, its jobs.
pub const BESIDE: &str = "beside";
/// Number of jobs of the background workload.
pub(crate) const BESIDE_JOBS: &str = "beside_jobs";

/// Number of nodes of a cluster on which a test ran, if not on all.
pub const NODES: &str = "nodes";

/// Names of parameters that every selection may have; CONTRIBUTING.md explains them.
pub const RESERVED: [&str; 11] = [
    ORG,
    READ_TX,
    BATCH,
    KEYS,
    PLACE,
    THREADS,
    UPDATE_PCT,
    STORE,
    ACTIVE_ROWS,
    TRANSPORT,
    PROTOCOL,
];

/// `name=value` of each, with `between` in between.
pub fn assignments<'a>(
    params: impl IntoIterator<Item = (&'a String, &'a String)>,
    between: &str,
) -> String {
    params
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(between)
}
