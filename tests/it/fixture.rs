//! A run with realistic figures, built in code: what the store and the reports are tested with.

use std::collections::BTreeMap;
use std::path::Path;

use dbdyno::model::{
    Activity, Better, Bound, Counters, Disclosure, Drive, Event, EventCount, ExperimentResult,
    ForecastOutcome, IoKind, IoTimes, JobResult, Kpm, KpmValue, LatencySummary, LoadResult,
    PartResult, Profile, ProfileRow, Reason, ReasonCode, RunRecord, RunStatus, SamplerCost,
    Sentence, SeriesPoint, ServerLog, Snapshot, SnapshotPoint, Status, Tally, Test, TestResult,
    Verdict, Waits,
};
use dbdyno::store::Store;

/// A map from pairs.
pub fn map<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect()
}

/// Counters from pairs.
pub fn counters(pairs: &[(&str, f64)]) -> Counters {
    Counters(pairs.iter().map(|(name, value)| ((*name).into(), *value)).collect())
}

/// A finished run on a private PostgreSQL server.
pub fn run() -> RunRecord {
    RunRecord {
        id: 7,
        name: Some("nightly".into()),
        kind: Default::default(),
        provenance: None,
        target: "postgres (private server)".into(),
        engine: Some("postgres".into()),
        suite: "quick".into(),
        labels: map([("host", "lab-1")]),
        started_at: Some("2026-03-02T20:15:00Z".into()),
        ended_at: Some("2026-03-02T20:17:04Z".into()),
        status: RunStatus::Finished,
        version: "0.1.0".into(),
        command: "dbdyno run postgres --suite quick --name nightly".into(),
        seed: Some(u64::MAX - 1),
        size_gb: Some(0.25),
        data_set_id: Some("8f2c1a90".into()),
        disclosure: disclosure(),
        own_loop: None,
        device_sync: None,
        plan: serde_json::json!({
            "selections": [{"workload": "SRV-QUERY1", "window": {"duration_s": 0.1}}],
        })
        .into(),
        loads: vec![load("small", 32_000, 9_830_400), load("big", 250_000, 76_800_000)],
    }
}

fn disclosure() -> Disclosure {
    let mut disclosure = Disclosure::default();
    for (section, key, value) in [
        ("hardware", "cpu_model", "Example CPU 3.0 GHz"),
        ("hardware", "sockets", "1"),
        ("hardware", "cores", "2"),
        ("hardware", "threads", "4"),
        ("hardware", "memory_mb", "8590"),
        ("os", "distribution", "Example Linux 12"),
        ("os", "kernel", "6.1.0"),
        ("storage", "model", "Example SSD"),
        ("storage", "device", "/dev/nvme0n1p1"),
        ("storage", "file_system", "ext4"),
        ("database", "version", "PostgreSQL 17.2"),
        ("settings", "shared_buffers", "128MB"),
        ("settings", "fsync", "on"),
        ("settings", "max_connections", "100"),
        ("settings", "synchronous_commit", "on"),
    ] {
        disclosure.set(section, key, value);
    }
    disclosure
}

fn load(table: &str, rows: u64, table_bytes: u64) -> LoadResult {
    LoadResult {
        table: table.into(),
        rows,
        table_bytes,
        index_bytes: table_bytes / 8,
        rows_s: table_bytes as f64 / 80e6,
        index_s: 0.1 + 0.2,
        analyze_s: 0.05,
        method: "copy-binary".into(),
        sessions: 2,
        loaded: true,
        resumed_rows: 0,
    }
}

/// Tests as reports and results files have them.
pub fn as_tests(tests: Vec<TestResult>) -> Vec<Test> {
    tests.into_iter().map(Test::from).collect()
}

/// Tests of several groups: two ramps, an unknown counter, a conditional and an invalid verdict.
pub fn tests() -> Vec<TestResult> {
    let specs = [
        ("CPU-NUMBER", "CPU", 1, 21_000.0, "Mops", 38e-6),
        ("SRV-QUERY1", "SRV", 1, 82_104.0, "qps", 1.0),
        ("SRV-QUERY1", "SRV", 2, 158_230.5, "qps", 1.0),
        ("SRV-QUERY1", "SRV", 4, 161_002.0, "qps", 1.0),
        ("SRV-SCAN", "SRV", 1, 112.0, "MB/s", 9.8304),
        ("SRV-SCAN", "SRV", 2, 221.0, "MB/s", 9.8304),
        ("STO-RANDOM", "STO", 2, 6_400.0, "iops", 1.0),
        ("LGWR-LAT", "LGWR", 1, 1_950.0, "tps", 1.0),
        ("TP-LIGHT", "TP", 1, 1_410.0, "tps", 1.0),
        ("TP-LIGHT", "TP", 2, 2_633.0, "tps", 1.0),
    ];
    let mut tests: Vec<TestResult> = specs
        .into_iter()
        .zip(1..)
        .map(|((id, group, jobs, ops_per_s, unit, scale), seq)| {
            test(seq, &RampPoint { id, group, jobs, ops_per_s, unit, scale })
        })
        .collect();
    make_conditional(&mut tests[3]);
    make_invalid(&mut tests[8]);
    make_time(&mut tests[7]);
    tests.push(test(11, &RampPoint::tps("TP-LIGHT", "TP", 1, 990.0)));
    tests[10].params = map([("update_pct", "50")]);
    tests[10].chosen = tests[10].params.clone();
    tests.push(mixed(12));
    tests
}

/// Two kinds of transactions at once; the second wrote too little for a p99.
fn mixed(seq: u32) -> TestResult {
    let mut test = test(seq, &RampPoint::tps("TP-MIXED1", "TP", 4, 3_000.0));
    test.params.clear();
    let of = |id: &str, ops_per_s: f64| {
        let tally = tally(ops_per_s, test.window_s, 2);
        part(id, BTreeMap::new(), 2, &tally, ops_per_s)
    };
    let (report, mut medium) = (of("TP-REPORT", 2_500.0), of("TP-MEDIUM", 500.0));
    medium.params = map([("update_pct", "40")]);
    medium.chosen = medium.params.clone();
    medium.tally.rows = medium.tally.ops * 25;
    medium.latency.p99_us = None;
    test.parts = vec![report, medium];
    test
}

/// A KPM that is a time, with a rate as the second metric.
fn make_time(test: &mut TestResult) {
    test.second = Some(Kpm { value: KpmValue::Ops, ..test.kpm.clone() });
    test.second_value = test.kpm_value;
    test.kpm = Kpm {
        value: KpmValue::ServiceTime,
        unit: "ms".into(),
        better: Better::Lower,
        scale: 1000.0,
    };
    test.kpm_value = Some(1000.0 / test.ops_per_s);
}

fn make_conditional(test: &mut TestResult) {
    let steal =
        Sentence::new("steal time was {share%} of the CPU time: the hypervisor gave it to others");
    let unchecked = Sentence::new("contract not checked, {name} is not known here ({because})")
        .with("because", Sentence::new("commits did not wait for the log flush"));
    test.verdict = Verdict::from_reasons(vec![
        Reason::new(Status::Conditional, ReasonCode::Steal, steal.with("share", 0.041)),
        Reason::new(Status::Valid, ReasonCode::Unchecked, unchecked.with("name", "wal_syncs")),
    ]);
    test.ci_fraction = None;
}

fn make_invalid(test: &mut TestResult) {
    let errors = Sentence::new("{share%} of all ops failed ({classes})").with("share", 0.008);
    let errors =
        Reason::new(Status::Invalid, ReasonCode::Errors, errors.with("classes", "140 deadlock"));
    test.verdict = Verdict::from_reasons(vec![errors]);
    test.window.errors.insert("deadlock".into(), 113);
    test.total.errors.insert("deadlock".into(), 140);
    test.first_error = Some("deadlock detected".into());
    test.window_counters.0.remove("wal_sync_time_ms");
    test.counters.0.remove("wal_sync_time_ms");
}

/// A point of a workload's ramp.
pub struct RampPoint<'a> {
    pub id: &'a str,
    pub group: &'a str,
    pub jobs: u32,
    pub ops_per_s: f64,
    pub unit: &'a str,
    pub scale: f64,
}

impl<'a> RampPoint<'a> {
    /// A point in transactions per second.
    pub fn tps(id: &'a str, group: &'a str, jobs: u32, ops_per_s: f64) -> RampPoint<'a> {
        RampPoint { id, group, jobs, ops_per_s, unit: "tps", scale: 1.0 }
    }
}

/// One test over 10 s at `ops_per_s`; the unit of work is one op, the KPM `ops_per_s * scale`.
pub fn test(seq: u32, point: &RampPoint) -> TestResult {
    let RampPoint { id, group, jobs, ops_per_s, unit, scale } = *point;
    let window_s = 10.000_25;
    let tally = tally(ops_per_s, window_s, jobs);
    let params = if group == "TP" { map([("update_pct", "20")]) } else { map([("org", "heap")]) };
    TestResult {
        seq,
        workload: id.into(),
        asked_as: (id == "SRV-QUERY1").then(|| "T611".into()),
        group: group.into(),
        title: format!("the op of {id}"),
        revision: 1,
        hash: "0123456789abcdef".into(),
        params: params.clone(),
        chosen: Default::default(),
        drive: Drive::Database,
        nodes: 1,
        jobs,
        server_start: 1,
        load: 1,
        block: None,
        key_seed: None,
        started_at: format!("2026-03-02T20:15:{seq:02}Z"),
        window_s,
        total_s: 12.1,
        units: tally.ops as f64,
        units_per_s: ops_per_s,
        ops_per_s,
        rows_per_s: ops_per_s,
        ci_fraction: Some(0.0123),
        ci_freedom: Some(4.0),
        counter_intervals: Default::default(),
        precision: None,
        latency: latency(1e6 * f64::from(jobs) / ops_per_s, tally.ops),
        open: None,
        beside: None,
        latency_stride: 16,
        instrument_us_per_op: None,
        node_figures: Vec::new(),
        job_figures: vec![JobResult {
            job: 1,
            part: 0,
            tally: tally.clone(),
            units: 0.1,
            elapsed_s: window_s,
        }],
        parts: vec![part(id, params, jobs, &tally, ops_per_s)],
        series: series(ops_per_s, is_sampled(group)),
        snapshots: snapshots(),
        counters: window_counters(1.2 * window_s, ops_per_s, jobs),
        window_counters: window_counters(window_s, ops_per_s, jobs),
        kpm: Kpm { value: KpmValue::Units, unit: unit.into(), better: Better::Higher, scale },
        second: None,
        kpm_value: Some(ops_per_s * scale),
        second_value: None,
        estimates: [None; 2],
        verdict: Verdict::from_reasons(vec![]),
        durability: None,
        lasting: None,
        waits: is_sampled(group).then(|| waits(jobs)),
        profiles: if is_sampled(group) { profiles(ops_per_s) } else { BTreeMap::new() },
        server_log: is_sampled(group).then(server_log),
        driver: None,
        workers: Vec::new(),
        explained: is_sampled(group).then(explained),
        failover: None,
        server_clock_step_s: 0.0,
        login: None,
        first_error: None,
        facts: BTreeMap::from([("small_mb".into(), 9.8304), ("jobs".into(), f64::from(jobs))]),
        total: Tally { ops: tally.ops * 6 / 5, ..tally.clone() },
        window: tally,
    }
}

fn tally(ops_per_s: f64, window_s: f64, jobs: u32) -> Tally {
    let ops = (ops_per_s * window_s).round() as u64;
    Tally {
        ops,
        rows: ops,
        commits: ops,
        hits: 0,
        errors: BTreeMap::new(),
        busy_s: window_s * f64::from(jobs),
        uncounted_s: 0.0,
        thought_s: 0.0,
        connects: Default::default(),
    }
}

fn latency(mean_us: f64, ops: u64) -> LatencySummary {
    LatencySummary {
        samples: ops / 16,
        mean_us: Some(mean_us),
        p50_us: Some(mean_us * 0.95),
        p90_us: Some(mean_us * 1.2),
        p95_us: Some(mean_us * 1.35),
        p99_us: Some(mean_us * 2.1),
        p999_us: None,
        max_us: Some(mean_us * 40.0),
        buckets: vec![(11_007, 100), (12_015, 1)],
        ..LatencySummary::default()
    }
}

fn part(
    id: &str,
    params: BTreeMap<String, String>,
    jobs: u32,
    tally: &Tally,
    ops_per_s: f64,
) -> PartResult {
    PartResult {
        workload: id.into(),
        params,
        chosen: BTreeMap::new(),
        jobs,
        tally: tally.clone(),
        ops_per_s,
        units_per_s: ops_per_s,
        latency: latency(12.0, tally.ops),
    }
}

fn series(ops_per_s: f64, is_sampled: bool) -> Vec<SeriesPoint> {
    let classes = [("CPU", 0.5), ("IO", 0.25)];
    let point = |second: u32| SeriesPoint {
        t_s: f64::from(second) + 0.001,
        interval_s: 1.001,
        ops: ops_per_s * (1.0 + 0.01 * f64::from(second % 3)),
        units: ops_per_s / 3.0,
        errors: u64::from(second),
        p50_us: Some(12.1),
        p99_us: (second > 1).then_some(30.7),
        max_us: None,
        response_p99_us: None,
        response_max_us: None,
        offered_per_s: None,
        behind: None,
        in_window: second > 2,
        metrics: counters(&[
            ("os_cpu_user_s", 1.9),
            ("watch_paced", 1.0),
            ("watch_speed", if second == 7 { 0.62 } else { 0.98 }),
        ])
        .into(),
        sessions: classes
            .iter()
            .filter(|_| is_sampled)
            .map(|(class, share)| (class.to_string(), share + 0.01 * f64::from(second)))
            .collect(),
    };
    (1..=12).map(point).collect()
}

fn is_sampled(group: &str) -> bool {
    matches!(group, "SRV" | "TP")
}

/// 100 samples of the window of 10 s.
fn waits(jobs: u32) -> Waits {
    let seen = 100 * u64::from(jobs);
    let event = |class: &str, name: &str, activity, background, samples: u64, share| EventCount {
        event: Event { class: class.into(), name: name.into(), activity, background },
        samples,
        share,
    };
    Waits {
        period_s: 0.1,
        samples: 100,
        due: 101,
        sessions: seen,
        idle: seen / 10,
        events: vec![
            event("IO", "WALSync", Activity::LogSync, false, seen / 2, 5.0 / 9.0),
            event("CPU", "CPU", Activity::Cpu, false, seen * 3 / 10, 3.0 / 9.0),
            event("checkpointer: IO", "DataFileWrite", Activity::DataWrite, true, 30, 1.0),
            event("LWLock", "WALWrite", Activity::LogSync, false, seen / 10, 1.0 / 9.0),
        ],
        cost: SamplerCost {
            elapsed_s: 12.1,
            own_cpu_s: 0.04,
            server_cpu_s: Some(0.06),
            look_s: 0.000_9,
        },
        missing: Vec::new(),
        io: vec![
            IoTimes { kind: IoKind::Read, ios: 3, mean_us: None, slices: 1, buckets: Vec::new() },
            IoTimes {
                kind: IoKind::Write,
                ios: 1500,
                mean_us: Some(71.0),
                slices: 9,
                buckets: vec![(50.0, 900), (2000.0, 600)],
            },
            IoTimes {
                kind: IoKind::Sync,
                ios: 1400,
                mean_us: Some(1480.0),
                slices: 70,
                buckets: vec![(2000.0, 1400)],
            },
        ],
        io_missing: None,
        processors: None,
    }
}

fn profiles(ops_per_s: f64) -> BTreeMap<String, Profile> {
    let values = [
        ("writes", 12.0 * ops_per_s),
        ("written_bytes", 1440.0 * ops_per_s),
        ("write_ms", 96.0),
        ("syncs", 10.0 * ops_per_s),
    ];
    let row = ProfileRow { name: "log".into(), values: counters(&values) };
    let io = Profile { rows: vec![row], ..Profile::default() };
    let missing = Some(
        "pg_stat_statements is not created in this database; to load it costs every statement"
            .into(),
    );
    [("io".to_string(), io), ("statements".to_string(), Profile { missing, ..Profile::default() })]
        .into()
}

fn explained() -> ExperimentResult {
    let relaxed = ExperimentResult {
        cause: "log-sync".into(),
        change: "commits that do not wait for the log".into(),
        changed: [("synchronous_commit".to_string(), "off".to_string())].into(),
        forecast: Some(2.1),
        bound: Bound::AtLeast,
        forecast_low: Some(1.9),
        forecast_high: None,
        ratio: Some(2.31),
        low: Some(2.12),
        high: Some(2.44),
        outcome: ForecastOutcome::Held,
        blocks: vec![[1000.0, 2310.0]; 9],
        left_out: 1,
        share_before: Some(0.61),
        share_after: Some(0.004),
        missing: None,
        further: Vec::new(),
    };
    let in_memory = ExperimentResult {
        change: "the log on memory".into(),
        changed: [("log".to_string(), "tmpfs".to_string())].into(),
        blocks: Vec::new(),
        outcome: ForecastOutcome::NotTried,
        missing: Some("a database that is kept could lose its log".into()),
        ..relaxed.clone()
    };
    ExperimentResult { further: vec![in_memory], ..relaxed }
}

fn server_log() -> ServerLog {
    let lines = [
        "2026-03-02 20:15:09 UTC [12] LOG:  checkpoint starting: wal",
        "2026-03-02 20:15:11 UTC [12] LOG:  checkpoint complete",
    ];
    ServerLog { lines: lines.map(String::from).to_vec(), left_out: 2, ..ServerLog::default() }
}

fn snapshots() -> Vec<Snapshot> {
    let moments = [
        (SnapshotPoint::Begin, -0.01),
        (SnapshotPoint::WindowOpen, 2.0),
        (SnapshotPoint::WindowClose, 12.0),
        (SnapshotPoint::End, 12.2),
    ];
    let snapshot = |(moment, t_s): (SnapshotPoint, f64)| Snapshot {
        moment,
        t_s,
        counters: counters(&[("commits", 1000.0 + t_s), ("wal_bytes", 0.1)]),
        cost_ms: 1.7,
    };
    moments.into_iter().map(snapshot).collect()
}

/// Differences over `elapsed_s` on a host with 4 CPU threads.
fn window_counters(elapsed_s: f64, ops_per_s: f64, jobs: u32) -> Counters {
    let (total_s, ops) = (elapsed_s * 4.0, elapsed_s * ops_per_s);
    let busy_s = total_s * f64::from(jobs.min(4)) / 4.0 * 0.97;
    counters(&[
        ("os_cpu_total_s", total_s),
        ("os_cpu_user_s", busy_s * 0.8),
        ("os_cpu_sys_s", busy_s * 0.2),
        ("os_cpu_idle_s", (total_s - busy_s) * 0.9),
        ("os_cpu_iowait_s", (total_s - busy_s) * 0.1),
        ("os_cpu_steal_s", 0.0),
        ("server_cpu_s", busy_s * 0.96),
        ("self_cpu_s", busy_s * 0.01),
        ("os_cpu_foreign_s", busy_s * 0.02),
        ("watch_paced", elapsed_s),
        ("watch_speed", elapsed_s * 0.95),
        ("watch_work_s", elapsed_s * 60e-6),
        ("os_disk_reads", ops * 0.01),
        ("os_disk_writes", ops * 0.02),
        ("os_disk_read_bytes", ops * 81.92),
        ("os_disk_write_bytes", ops * 163.84),
        ("logical_reads", ops * 4.0),
        ("physical_reads", ops * 0.05),
        ("physical_read_time_ms", ops * 0.004),
        ("wal_bytes", ops * 120.0),
        ("wal_syncs", ops * 0.9),
        ("wal_sync_time_ms", ops * 0.31),
        ("commits", ops),
    ])
}

/// Runs and tests of each of a large results file.
pub const RUNS: u32 = 50;
pub const TESTS: u32 = 200;

/// Fills results with so many runs of [`TESTS`] tests; `seconds`: with the series and snapshots of
/// tests of ten seconds.
pub fn fill(path: &Path, runs: u32, seconds: bool) {
    let template = tests();
    let tests: Vec<Test> = (0..TESTS)
        .map(|at| {
            let mut test = template[at as usize % template.len()].clone();
            (test.seq, test.jobs) = (at + 1, 1 << (at / 12 % 6));
            if !seconds {
                test.series.truncate(1);
                test.snapshots.clear();
            }
            test.into()
        })
        .collect();
    let runs: Vec<(String, RunRecord)> = (1..=runs)
        .map(|at| (format!("{at:032x}"), RunRecord { name: Some(format!("r{at}")), ..run() }))
        .collect();
    let mut store = Store::open(path).unwrap();
    store
        .add_runs("scale", runs.iter().map(|(uid, run)| (uid.as_str(), run, tests.as_slice())))
        .unwrap();
}
