-- The results file (see docs/results-file.md). The remarks are kept in every file: '.schema' of the client shows them.

CREATE TABLE run (
    id          INTEGER PRIMARY KEY AUTOINCREMENT, -- number in this file, never reused
    uid         TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))), -- random identity, the same in every file
    name        TEXT, -- --name
    target      TEXT NOT NULL, -- engine name, or URL without password
    engine      TEXT NOT NULL, -- its name in the registry
    suite       TEXT NOT NULL, -- suite or custom
    labels      TEXT NOT NULL, -- --label as a JSON object
    started_at  TEXT NOT NULL, -- begin
    ended_at    TEXT, -- NULL while it runs, or if it was killed
    status      TEXT NOT NULL CHECK (status IN ('running', 'finished', 'interrupted', 'failed')), -- interrupted: Ctrl-C; failed: the target failed
    version     TEXT NOT NULL, -- of dbdyno
    command     TEXT NOT NULL, -- command line without passwords
    seed        TEXT NOT NULL, -- seed of the key generators (text: it may need 64 bits)
    size_gb     REAL NOT NULL, -- nominal size of the data set
    data_set_id TEXT NOT NULL, -- equal for equal rows, on every engine
    disclosure  TEXT NOT NULL, -- JSON: section -> fact -> value
    plan        TEXT NOT NULL, -- JSON: everything that was to run, with SQL text and hashes
    rest        TEXT NOT NULL, -- fields without a column: of a published run provenance
    process     TEXT, -- boot id, process id and start time of the writer; if it is gone, a running run has failed
    kind        TEXT NOT NULL DEFAULT 'measured' CHECK (kind IN ('measured', 'published', 'scripts')) -- measured; published: imported from a publication; scripts: from their spool
) STRICT;

CREATE INDEX run_by_name ON run (name);

-- A table of the data set.
CREATE TABLE load (
    run_id      INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, -- run
    position    INTEGER NOT NULL, -- order, from 1
    table_name  TEXT NOT NULL, -- table of the data set
    row_count   INTEGER NOT NULL, -- its rows
    table_bytes INTEGER NOT NULL, -- as stored, without indexes
    index_bytes INTEGER NOT NULL, -- as stored
    rows_s      REAL NOT NULL, -- seconds for the rows
    index_s     REAL NOT NULL, -- for the indexes
    analyze_s   REAL NOT NULL, -- for the statistics
    method      TEXT NOT NULL, -- copy-binary, prepared-insert, ...
    sessions    INTEGER NOT NULL, -- parallel sessions
    loaded      INTEGER NOT NULL CHECK (loaded IN (0, 1)), -- 0 if the rows were there and only verified
    rest        TEXT NOT NULL, -- fields without a column
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- One workload with parameters at one number of jobs.
CREATE TABLE test (
    id             INTEGER PRIMARY KEY, -- number in this file
    run_id         INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE, -- run
    seq            INTEGER NOT NULL, -- number within the run, from 1
    workload       TEXT NOT NULL, -- its id
    asked_as       TEXT, -- alias that was asked for
    workload_group TEXT NOT NULL, -- group id
    title          TEXT NOT NULL, -- what one op does
    revision       INTEGER NOT NULL, -- different revisions do different work
    hash           TEXT NOT NULL, -- of revision, parameters and SQL text
    params         TEXT NOT NULL, -- JSON object: all parameters
    drive          TEXT NOT NULL, -- database or client
    nodes          INTEGER NOT NULL, -- database nodes
    jobs           INTEGER NOT NULL, -- sessions that ran the loop
    started_at     TEXT NOT NULL, -- start
    window_s       REAL NOT NULL, -- length of the window
    total_s        REAL NOT NULL, -- from the gate to the end of the last job
    ops            INTEGER NOT NULL, -- done in the window
    row_count      INTEGER NOT NULL, -- touched in the window
    commits        INTEGER NOT NULL, -- waited for in the window
    units          REAL NOT NULL, -- of work in the window
    ops_per_s      REAL NOT NULL, -- jobs x ops of all / time of all, summed over the parts
    units_per_s    REAL NOT NULL, -- as ops_per_s
    rows_per_s     REAL NOT NULL, -- as ops_per_s
    ci_fraction    REAL, -- half width of the 95 % confidence interval of ops_per_s, as a fraction of it
    kpm_value      REAL, -- key performance metric
    kpm_unit       TEXT NOT NULL, -- its unit
    kpm_better     TEXT NOT NULL, -- higher or lower
    second_value   REAL, -- second metric, if the workload has one
    samples        INTEGER NOT NULL, -- ops timed one by one
    mean_us        REAL, -- mean service time of all ops of the window
    p50_us         REAL, -- percentiles of the timed ops; NULL with fewer than 10/(1-p) samples
    p90_us         REAL, -- as p50_us
    p95_us         REAL, -- as p50_us
    p99_us         REAL, -- as p50_us
    p999_us        REAL, -- as p50_us
    max_us         REAL, -- the longest
    verdict        TEXT NOT NULL CHECK (verdict IN ('valid', 'conditional', 'invalid')), -- how far the figures can be trusted
    reasons        TEXT NOT NULL, -- JSON array of status, code, text
    first_error    TEXT, -- first error message of an op
    counters       TEXT NOT NULL, -- JSON: differences over the whole test
    window_counters TEXT NOT NULL, -- JSON: differences over the window
    rest           TEXT NOT NULL, -- fields without a column: precision asked for, tallies with errors by class, figures per job and part, histogram, facts; waits (events by sampling), profiles, server_log
    UNIQUE (run_id, seq)
) STRICT;

-- Verdicts of runs are counted here: a test's own row is long.
CREATE INDEX test_by_verdict ON test (run_id, verdict);

CREATE INDEX test_by_workload ON test (workload, jobs);

-- One second of a test.
CREATE TABLE series (
    test_id    INTEGER NOT NULL REFERENCES test (id) ON DELETE CASCADE, -- test
    position   INTEGER NOT NULL, -- order, from 1
    t_s        REAL NOT NULL, -- end of the interval in seconds since the gate
    interval_s REAL NOT NULL, -- its length
    ops        REAL NOT NULL, -- in the interval
    units      REAL NOT NULL, -- in the interval
    errors     INTEGER NOT NULL, -- ops that failed in the interval
    p50_us     REAL, -- of the service time
    p99_us     REAL, -- of the service time
    in_window  INTEGER NOT NULL CHECK (in_window IN (0, 1)), -- 1 if it lies within the window
    metrics    TEXT NOT NULL, -- JSON: counter differences over the interval
    rest       TEXT NOT NULL, -- fields without a column: sessions, at work or waiting, by class
    PRIMARY KEY (test_id, position)
) STRICT, WITHOUT ROWID;

-- All probes at one moment of a test.
CREATE TABLE snapshot (
    test_id  INTEGER NOT NULL REFERENCES test (id) ON DELETE CASCADE, -- test
    position INTEGER NOT NULL, -- order, from 1
    moment   TEXT NOT NULL, -- begin, window-open, window-close, end, paid (after the pay-back)
    t_s      REAL NOT NULL, -- seconds since the gate (negative before it)
    cost_ms  REAL NOT NULL, -- duration of taking it
    counters TEXT NOT NULL, -- JSON: cumulative counters
    rest     TEXT NOT NULL, -- fields without a column
    PRIMARY KEY (test_id, position)
) STRICT, WITHOUT ROWID;
