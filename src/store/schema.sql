-- The results file. Every table and column is explained in docs/results-file.md (a test compares the two).

CREATE TABLE run (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    uid         TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
    name        TEXT,
    target      TEXT NOT NULL,
    engine      TEXT NOT NULL,
    suite       TEXT NOT NULL,
    labels      TEXT NOT NULL,
    started_at  TEXT NOT NULL,
    ended_at    TEXT,
    status      TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')),
    version     TEXT NOT NULL,
    command     TEXT NOT NULL,
    seed        TEXT NOT NULL,
    size_gb     REAL NOT NULL,
    data_set_id TEXT NOT NULL,
    disclosure  TEXT NOT NULL,
    plan        TEXT NOT NULL,
    rest        TEXT NOT NULL,
    process     TEXT,
    kind        TEXT NOT NULL DEFAULT 'measured' CHECK (kind IN ('measured', 'published'))
) STRICT;

CREATE INDEX run_by_name ON run (name);

CREATE TABLE load (
    run_id      INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    table_name  TEXT NOT NULL,
    row_count   INTEGER NOT NULL,
    table_bytes INTEGER NOT NULL,
    index_bytes INTEGER NOT NULL,
    rows_s      REAL NOT NULL,
    index_s     REAL NOT NULL,
    analyze_s   REAL NOT NULL,
    method      TEXT NOT NULL,
    sessions    INTEGER NOT NULL,
    loaded      INTEGER NOT NULL CHECK (loaded IN (0, 1)),
    rest        TEXT NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE test (
    id             INTEGER PRIMARY KEY,
    run_id         INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    seq            INTEGER NOT NULL,
    workload       TEXT NOT NULL,
    asked_as       TEXT,
    workload_group TEXT NOT NULL,
    title          TEXT NOT NULL,
    revision       INTEGER NOT NULL,
    hash           TEXT NOT NULL,
    params         TEXT NOT NULL,
    drive          TEXT NOT NULL,
    nodes          INTEGER NOT NULL,
    jobs           INTEGER NOT NULL,
    started_at     TEXT NOT NULL,
    window_s       REAL NOT NULL,
    total_s        REAL NOT NULL,
    ops            INTEGER NOT NULL,
    row_count      INTEGER NOT NULL,
    commits        INTEGER NOT NULL,
    units          REAL NOT NULL,
    ops_per_s      REAL NOT NULL,
    units_per_s    REAL NOT NULL,
    rows_per_s     REAL NOT NULL,
    ci_fraction    REAL,
    kpm_value      REAL,
    kpm_unit       TEXT NOT NULL,
    kpm_better     TEXT NOT NULL,
    second_value   REAL,
    samples        INTEGER NOT NULL,
    mean_us        REAL,
    p50_us         REAL,
    p90_us         REAL,
    p95_us         REAL,
    p99_us         REAL,
    p999_us        REAL,
    max_us         REAL,
    verdict        TEXT NOT NULL CHECK (verdict IN ('valid', 'conditional', 'invalid')),
    reasons        TEXT NOT NULL,
    first_error    TEXT,
    counters       TEXT NOT NULL,
    window_counters TEXT NOT NULL,
    rest           TEXT NOT NULL,
    UNIQUE (run_id, seq)
) STRICT;

CREATE INDEX test_by_workload ON test (workload, jobs);

CREATE TABLE series (
    test_id    INTEGER NOT NULL REFERENCES test (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    t_s        REAL NOT NULL,
    interval_s REAL NOT NULL,
    ops        REAL NOT NULL,
    units      REAL NOT NULL,
    errors     INTEGER NOT NULL,
    p50_us     REAL,
    p99_us     REAL,
    in_window  INTEGER NOT NULL CHECK (in_window IN (0, 1)),
    metrics    TEXT NOT NULL,
    rest       TEXT NOT NULL,
    PRIMARY KEY (test_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE snapshot (
    test_id  INTEGER NOT NULL REFERENCES test (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    moment   TEXT NOT NULL,
    t_s      REAL NOT NULL,
    cost_ms  REAL NOT NULL,
    counters TEXT NOT NULL,
    rest     TEXT NOT NULL,
    PRIMARY KEY (test_id, position)
) STRICT, WITHOUT ROWID;
