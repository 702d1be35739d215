//! The columns of the KPM report, per kind of workload, as the publications have them; p50 to
//! verdict are ours.

use super::columns::{Definition, Line, RATE, Source, percentile_ms};
use super::document::{Cell, Digits};
use super::sustained;
use dbdyno_core::model::{Better, Durability, Sentence, params};

/// Percent with one decimal.
const PCT: Digits = Digits::Decimals(1);

const fn plain(name: &'static str, priority: u8, get: fn(&Line<'_>) -> Cell) -> Definition {
    Definition { name, unit: "", priority, source: Source::Plain(get) }
}

const fn derived(
    name: &'static str,
    unit: &'static str,
    priority: u8,
    id: &'static str,
    digits: Digits,
) -> Definition {
    Definition { name, unit, priority, source: Source::Derived(id, digits) }
}

const fn proportional(
    name: &'static str,
    unit: &'static str,
    priority: u8,
    id: &'static str,
    better: Better,
) -> Definition {
    Definition { name, unit, priority, source: Source::Proportional(id, better) }
}

const fn figure(
    name: &'static str,
    unit: &'static str,
    priority: u8,
    get: fn(&Line<'_>) -> Result<f64, Sentence>,
) -> Definition {
    Definition { name, unit, priority, source: Source::Figure(get, RATE) }
}

const RUN: Definition = plain("Run", 3, |line| Cell::text(line.run.id.to_string()));
const TEST: Definition = plain("Test", 1, |line| Cell::count(line.test.seq()));
const WORKLOAD: Definition = plain("Workload", 0, |line| Cell::text(line.test.name()));
const PARAMS: Definition = plain("Parameters", 2, |line| Cell::text(parameters(line)));
const DRIVE: Definition = plain("Drive", 8, |line| Cell::text(line.test.drive().name()));
const NODES: Definition = plain("Nodes", 9, |line| Cell::count(line.test.nodes()));
const JOBS: Definition = Definition { name: "Jobs", unit: "", priority: 0, source: Source::Jobs };
const THREADS: Definition = plain("Threads", 12, |line| Cell::text(threads(line)));
const UPDATES: Definition =
    plain("Upd [%]", 1, |line| match line.test.params().get(params::UPDATE_PCT) {
        Some(percent) => Cell::text(percent),
        None => Cell::Empty,
    });
const VERDICT: Definition = plain("Verdict", 0, |line| Cell::Verdict(line.verdict.status));

const CPU_BUSY: Definition = derived("CPU busy", "%", 3, "cpu_busy_pct", PCT);
const CPU_USER: Definition = derived("CPU user", "%", 13, "cpu_user_pct", PCT);
const CPU_SYS: Definition = derived("CPU sys", "%", 13, "cpu_sys_pct", PCT);
const CPU_IDLE: Definition = derived("CPU idle", "%", 13, "cpu_idle_pct", PCT);
const CPU_IOW: Definition = derived("CPU iow", "%", 8, "cpu_iowait_pct", PCT);
const CPU_STEAL: Definition = derived("CPU steal", "%", 8, "cpu_steal_pct", PCT);
/// Part of CPU busy that neither the database nor dbdyno used.
const CPU_OTHERS: Definition = derived("CPU others", "%", 4, "cpu_foreign_pct", PCT);

const KPM: Definition = Definition { name: "total", unit: "", priority: 0, source: Source::Kpm };
const KPM_PER_JOB: Definition =
    Definition { name: "per job", unit: "", priority: 6, source: Source::KpmPerJob };
/// Like the rate of ops in proportion to the KPM, which of repetitions is not that of one test.
const SERVICE: Definition =
    proportional("Service time mean", "ms", 1, "service_time_ms", Better::Lower);
const OPS: Definition = proportional("Ops", "ops/s", 5, "ops_per_s", Better::Higher);
const LOGICAL: Definition = derived("Log reads total", "dbps", 7, "logical_reads_per_s", RATE);
const LOGICAL_PER_JOB: Definition =
    derived("Log reads per job", "dbps", 11, "logical_reads_per_s_job", RATE);
const BUFFER_HIT: Definition = derived("BuCache read", "%", 6, "buffer_hit_pct", PCT);
const OS_HIT: Definition = derived("2nd cache read", "%", 9, "os_cache_hit_pct", PCT);
const TIER_BUFFER: Definition = derived("From buffer", "%", 6, "tier_buffer_pct", PCT);
const TIER_OS: Definition = derived("From OS cache", "%", 5, "tier_os_cache_pct", PCT);
const TIER_DEVICE: Definition = derived("From device", "%", 5, "tier_device_pct", PCT);
const BUFFER_TIME: Definition = derived("Time buffer", "ms", 10, "tier_buffer_ms", RATE);
const OS_TIME: Definition = derived("Time OS cache", "ms", 10, "tier_os_cache_ms", RATE);
const DEVICE_TIME: Definition = derived("Time device", "ms", 8, "tier_device_ms", RATE);
const LOGICAL_PER_OP: Definition =
    derived("Log reads per op", "blocks", 11, "logical_reads_per_op", RATE);
const READ_TIME: Definition = derived("IO time read", "ms", 7, "read_service_ms", RATE);
const WRITE_TIME: Definition = derived("IO time write", "ms", 13, "write_service_ms", RATE);
const PHYSICAL: Definition =
    derived("Phys reads (database)", "dbps", 13, "physical_reads_per_s", RATE);
const ROW_TIME: Definition = derived("Time per row", "ns", 13, "row_time_ns", RATE);
const USER_DATA: Definition = derived("User data", "GB/s", 12, "user_data_gb_per_s", RATE);
const REDO_PER_TX: Definition = derived("REDO data", "kBpt", 7, "redo_kb_per_transaction", RATE);
const FLASH_HIT: Definition = derived("FlCache read", "%", 9, "flash_cache_hit_pct", PCT);
const OFFLOAD: Definition = derived("Offload", "%", 9, "offload_pct", PCT);
const WRITES_PER_ROW: Definition =
    derived("Phys writes per row", "blocks", 8, "blocks_written_per_row", RATE);
const WRITES: Definition = derived("Writes", "%", 9, "writes_pct", PCT);
const REDO_PER_OP: Definition = derived("REDO per op", "bytes", 9, "redo_bytes_per_op", RATE);
const COMMIT_WAIT: Definition = derived("LogFile sync", "ms", 5, "commit_wait_ms", RATE);
const LOG_WRITE: Definition = derived("LogFile write", "ms", 9, "log_sync_ms", RATE);
const ELAPSED: Definition = derived("Elapsed", "s", 6, "elapsed_s", PCT);

const P50: Definition =
    figure("p50", "ms", 4, |line| percentile_ms(line.test, line.test.latency().p50_us));
const P95: Definition =
    figure("p95", "ms", 7, |line| percentile_ms(line.test, line.test.latency().p95_us));
const P99: Definition =
    figure("p99", "ms", 3, |line| percentile_ms(line.test, line.test.latency().p99_us));
const MAX: Definition =
    figure("max", "ms", 8, |line| percentile_ms(line.test, line.test.latency().max_us));
/// Durability of commits, where it is known for some tests.
pub const DURABILITY: Definition = plain("Durability", 2, |line| match durability(line) {
    Some(stamp) => Cell::text(line.language.phrase(stamp.name())),
    None => Cell::Empty,
});
/// The KPM less the time of the pay-back, and that time, where tests are known to last or not.
pub const LASTING: [Definition; 2] = [
    plain("Sustained", 3, sustained::cell),
    Definition {
        name: "Pay-back",
        unit: "s",
        priority: 4,
        source: Source::Plain(sustained::pay_back_cell),
    },
];
/// Number of repetitions of a test, where some were repeated.
pub const TIMES: Definition = plain("Times", 3, |line| Cell::count(line.times as u32));
const CI: Definition = Definition {
    name: "CI95 +-",
    unit: "%",
    priority: 4,
    source: Source::Figure(interval, Digits::Significant(2)),
};

/// The stamp of a test that committed.
pub fn durability(line: &Line<'_>) -> Option<Durability> {
    line.test.measured()?.durability
}

fn interval(line: &Line<'_>) -> Result<f64, Sentence> {
    line.known.map(|interval| 100.0 * interval.half_width()).map_err(|why| why.text().into())
}

/// Processes that worked on an op; with the requested number if they were fewer or more.
fn threads(line: &Line<'_>) -> String {
    let asked = line.test.params().get(params::THREADS).map_or("1", String::as_str);
    match line.derived.get("threads_used") {
        Some(used) if format!("{used:.1}") != format!("{asked}.0") => {
            let used = line.language.number(used, Digits::Decimals(1));
            line.language.say("{used} of {asked}", &[("used", &used), ("asked", asked)])
        }
        _ => asked.to_string(),
    }
}

/// Parameters of a test that are not the engine's defaults, as on the command line, without those
/// that have columns of their own.
fn parameters(line: &Line<'_>) -> String {
    let shown = line
        .test
        .chosen()
        .iter()
        .filter(|(name, _)| *name != params::UPDATE_PCT && *name != params::THREADS);
    params::assignments(shown, ",")
}

/// Mean size of a request of the device for reads.
fn read_request_kb(line: &Line<'_>) -> Result<f64, Sentence> {
    let rate = |id| match line.derived.figure(id) {
        Some(rate) => rate.value.clone(),
        None => Err(Sentence::quoted(format!("unknown figure {id}"))),
    };
    let (mb, requests) = (rate("disk_read_mb_per_s")?, rate("disk_reads_per_s")?);
    if requests > 0.0 { Ok(mb * 1e3 / requests) } else { Err("the device read nothing".into()) }
}

/// Columns for the parts of the time of a connection.
const PARTS_OF_A_CONNECTION: &[Definition] = &[
    derived("Socket connected", "ms", 2, "connect_reach_ms", RATE),
    derived("TLS handshake", "ms", 2, "connect_encrypt_ms", RATE),
    derived("Login", "ms", 2, "connect_login_ms", RATE),
    derived("Session start", "ms", 2, "connect_start_ms", RATE),
    derived("First statement", "ms", 2, "connect_statement_ms", RATE),
    derived("Close", "ms", 2, "connect_close_ms", RATE),
    plain("Logged in by", 3, |line| {
        match line.test.measured().and_then(|test| test.login.as_ref()) {
            Some(login) => Cell::text(login),
            None => Cell::Empty,
        }
    }),
];
const IDLE_MEMORY: Definition = derived("Per idle session", "kB", 2, "idle_session_kb", RATE);

/// Columns that identify a test.
const SUBJECT: &[Definition] = &[RUN, TEST, WORKLOAD, PARAMS, DRIVE];
/// Columns for the host's CPU use, in every form.
const CPU: &[Definition] = &[CPU_BUSY, CPU_OTHERS, CPU_USER, CPU_SYS, CPU_IDLE, CPU_IOW, CPU_STEAL];
/// Columns of the scale of a test: nodes and jobs.
const AT: &[Definition] = &[NODES, JOBS];
const LATENCY: &[Definition] = &[SERVICE, P50, P95, P99, MAX];
/// KPM of work whose unit does not show the ops: with rows and ops.
const WORK: &[Definition] = &[THREADS, KPM, derived("Rows", "rows/s", 9, "rows_per_s", RATE), OPS];
const DEVICE: &[Definition] = &[
    derived("Phys read", "iops", 7, "disk_reads_per_s", RATE),
    derived("Phys write", "iops", 7, "disk_writes_per_s", RATE),
    derived("Phys total", "iops", 10, "disk_io_per_s", RATE),
    derived("Phys read", "MB/s", 6, "disk_read_mb_per_s", RATE),
    figure("Read request", "kB", 12, read_request_kb),
    derived("Phys write", "MB/s", 6, "disk_write_mb_per_s", RATE),
];
const END: &[Definition] = &[ELAPSED, CI, VERDICT];

/// The columns of a form: groups of them in their order.
pub type Columns = &'static [&'static [Definition]];

/// The columns of every form, for the reference.
pub const FORMS: [Columns; 5] = [TRANSACTIONS, QUERIES, READS, GENERAL, CONNECTIONS];

/// Transaction processing.
pub const TRANSACTIONS: Columns = &[
    SUBJECT,
    &[UPDATES],
    AT,
    CPU,
    &[KPM],
    LATENCY,
    &[WRITES, PHYSICAL, READ_TIME, WRITE_TIME, REDO_PER_OP, REDO_PER_TX, COMMIT_WAIT, LOG_WRITE],
    &[BUFFER_HIT, OS_HIT, FLASH_HIT],
    END,
];

/// Cached queries, and scans (the KPM's name and unit distinguish them).
pub const QUERIES: Columns = &[
    SUBJECT,
    AT,
    CPU,
    &[KPM, KPM_PER_JOB],
    LATENCY,
    &[ROW_TIME, USER_DATA, LOGICAL, LOGICAL_PER_JOB, LOGICAL_PER_OP, PHYSICAL, BUFFER_HIT],
    END,
];

/// Storage and analytics: with the tiers that served the reads.
pub const READS: Columns = &[
    SUBJECT,
    AT,
    WORK,
    CPU,
    LATENCY,
    &[ROW_TIME, PHYSICAL, TIER_BUFFER, TIER_OS, TIER_DEVICE, FLASH_HIT, OFFLOAD],
    &[READ_TIME, BUFFER_TIME, OS_TIME, DEVICE_TIME],
    DEVICE,
    &[derived("REDO", "MB/s", 9, "redo_mb_per_s", RATE)],
    END,
];

/// Connections that ops open, or that are idle while ops run.
pub const CONNECTIONS: Columns =
    &[SUBJECT, AT, CPU, &[KPM, KPM_PER_JOB], LATENCY, PARTS_OF_A_CONNECTION, &[IDLE_MEMORY], END];

/// Load, CPU and whatever has no form of its own.
pub const GENERAL: Columns = &[
    SUBJECT,
    AT,
    WORK,
    CPU,
    LATENCY,
    DEVICE,
    &[ROW_TIME, WRITE_TIME, WRITES_PER_ROW],
    &[derived("REDO", "MB/s", 7, "redo_mb_per_s", RATE), COMMIT_WAIT, LOG_WRITE],
    END,
];
