//! Names of parameters that mean something to this program; every other name means what its
//! workload says.

/// Table organisation: of this parameter's values those that the engine lacks are refused, and
/// `{{small}}` and `{{big}}` stand for the tables in it.
pub const ORG: &str = "org";
/// Its value for the engine's own organisation.
pub const OWN_ORG: &str = "default";
/// `slice`: the reads of a slice share one transaction on the client drive.
pub const READ_TX: &str = "read_tx";
/// Rows per op of a bulk load.
pub const BATCH: &str = "batch";
/// By which law keys are drawn, and where the keys drawn most often lie.
pub const KEYS: &str = "keys";
/// Place of the keys that are drawn most often.
pub const PLACE: &str = "place";
/// Processes asked for per op: shown beside those that really worked.
pub const THREADS: &str = "threads";
/// Percent of the ops that update: a column of its own in the KPM report.
pub const UPDATE_PCT: &str = "update_pct";

/// Form in which the table is stored, by rows or by columns: figures of both stand in one table.
pub const STORE: &str = "store";
/// Rows of the active part of a table, from which keys are drawn: what a sweep varies.
pub const ACTIVE_ROWS: &str = "active_rows";
/// Of a workload that does nothing but sleep in the database: how long an op does, in us.
pub const SLEEP_US: &str = "sleep_us";
/// Of an approximate search: how much is done to find what is asked for, and how much of it is to
/// be found. They change the effort, not the question.
pub const EFFORT: [&str; 5] = ["ef", "m", "ef_construction", "iterative", "recall"];
/// On the client drive: over what, and in which form, statements travel; every workload has them.
pub const TRANSPORT: &str = "transport";
/// Form in which statements travel on the client drive.
pub const PROTOCOL: &str = "protocol";

/// Facts of a test beside whose jobs sessions did nothing: how many, and the server's memory that
/// each took.
pub const IDLE_SESSIONS: &str = "idle_sessions";
/// Memory of the server that each idle session took, in bytes.
pub const IDLE_SESSION_BYTES: &str = "idle_session_bytes";

/// Of a test beside which another workload ran: that workload, and its jobs.
pub const BESIDE: &str = "beside";
/// Number of jobs of the background workload.
pub(crate) const BESIDE_JOBS: &str = "beside_jobs";

/// Of a test that ran on some of the nodes of a cluster: how many.
pub const NODES: &str = "nodes";

/// Those that a selection may have; CONTRIBUTING.md tells what they mean.
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
