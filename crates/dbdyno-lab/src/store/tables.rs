//! Mapping of the fields of the model to the columns of the results file (`schema.sql`).

use super::columns::{Column, Form, Table};

const fn plain(name: &'static str, path: &'static [&'static str]) -> Column {
    Column { name, path, form: Form::Plain }
}
const fn flag(name: &'static str, path: &'static [&'static str]) -> Column {
    Column { name, path, form: Form::Bool }
}
const fn json(name: &'static str, path: &'static [&'static str]) -> Column {
    Column { name, path, form: Form::Json }
}

/// A run; `uid` and `process` are the store's own.
pub const RUN: Table = Table {
    name: "run",
    keys: &["process"],
    columns: &[
        plain("name", &["name"]),
        plain("kind", &["kind"]),
        plain("target", &["target"]),
        plain("engine", &["engine"]),
        plain("suite", &["suite"]),
        json("labels", &["labels"]),
        plain("started_at", &["started_at"]),
        plain("ended_at", &["ended_at"]),
        plain("status", &["status"]),
        plain("version", &["version"]),
        plain("command", &["command"]),
        // JSON text: a seed may use all 64 bits, a column of whole numbers only 63.
        json("seed", &["seed"]),
        plain("size_gb", &["size_gb"]),
        plain("data_set_id", &["data_set_id"]),
        json("disclosure", &["disclosure"]),
        json("plan", &["plan"]),
    ],
};

/// A load of a run.
pub const LOAD: Table = Table {
    name: "load",
    keys: &["run_id", "position"],
    columns: &[
        plain("table_name", &["table"]),
        plain("row_count", &["rows"]),
        plain("table_bytes", &["table_bytes"]),
        plain("index_bytes", &["index_bytes"]),
        plain("rows_s", &["rows_s"]),
        plain("index_s", &["index_s"]),
        plain("analyze_s", &["analyze_s"]),
        plain("method", &["method"]),
        plain("sessions", &["sessions"]),
        flag("loaded", &["loaded"]),
    ],
};

/// A test of a run; series and snapshots have tables of their own.
pub const TEST: Table = Table {
    name: "test",
    keys: &["run_id"],
    columns: &[
        plain("seq", &["seq"]),
        plain("workload", &["workload"]),
        plain("asked_as", &["asked_as"]),
        plain("workload_group", &["group"]),
        plain("title", &["title"]),
        plain("revision", &["revision"]),
        plain("hash", &["hash"]),
        json("params", &["params"]),
        plain("drive", &["drive"]),
        plain("nodes", &["nodes"]),
        plain("jobs", &["jobs"]),
        plain("started_at", &["started_at"]),
        plain("window_s", &["window_s"]),
        plain("total_s", &["total_s"]),
        plain("ops", &["window", "ops"]),
        plain("row_count", &["window", "rows"]),
        plain("commits", &["window", "commits"]),
        plain("units", &["units"]),
        plain("ops_per_s", &["ops_per_s"]),
        plain("units_per_s", &["units_per_s"]),
        plain("rows_per_s", &["rows_per_s"]),
        plain("ci_fraction", &["ci_fraction"]),
        plain("kpm_value", &["kpm_value"]),
        plain("kpm_unit", &["kpm", "unit"]),
        plain("kpm_better", &["kpm", "better"]),
        plain("second_value", &["second_value"]),
        plain("samples", &["latency", "samples"]),
        plain("mean_us", &["latency", "mean_us"]),
        plain("p50_us", &["latency", "p50_us"]),
        plain("p90_us", &["latency", "p90_us"]),
        plain("p95_us", &["latency", "p95_us"]),
        plain("p99_us", &["latency", "p99_us"]),
        plain("p999_us", &["latency", "p999_us"]),
        plain("max_us", &["latency", "max_us"]),
        plain("verdict", &["verdict", "status"]),
        json("reasons", &["verdict", "reasons"]),
        plain("first_error", &["first_error"]),
        json("counters", &["counters"]),
        json("window_counters", &["window_counters"]),
    ],
};

/// A second of a test.
pub const SERIES: Table = Table {
    name: "series",
    keys: &["test_id", "position"],
    columns: &[
        plain("t_s", &["t_s"]),
        plain("interval_s", &["interval_s"]),
        plain("ops", &["ops"]),
        plain("units", &["units"]),
        plain("errors", &["errors"]),
        plain("p50_us", &["p50_us"]),
        plain("p99_us", &["p99_us"]),
        flag("in_window", &["in_window"]),
        json("metrics", &["metrics"]),
    ],
};

/// A snapshot of all probes of a test.
pub const SNAPSHOT: Table = Table {
    name: "snapshot",
    keys: &["test_id", "position"],
    columns: &[
        plain("moment", &["moment"]),
        plain("t_s", &["t_s"]),
        plain("cost_ms", &["cost_ms"]),
        json("counters", &["counters"]),
    ],
};
