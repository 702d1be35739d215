//! Time: jobs in a simulated world, whose clock is a number, run ops of known service times. What
//! the pacer, the log and the assembly make of them is compared with the world's own record of
//! every op of the window. Real databases come last: there the figures of fixed work and of a
//! window must be taken in the same way.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use dbdyno::engine::{Pacer, Slice, SliceReport};
use dbdyno::model::{
    Better, Counters, Drive, End, Expr, Facts, JobCode, Kpm, KpmValue, LatencySummary, PartPlan,
    Selection, Snapshot, SnapshotPoint, Tally, Test, TestResult, TestSpec, Window, Workload,
};
use dbdyno::stats::LatencyHistogram;
use dbdyno::store::Store;
use dbdyno::test_runner::SecondsLog;
use dbdyno::test_runner::assemble::assemble;
use dbdyno::test_runner::gate::Gate;
use dbdyno::test_runner::log::Who;
use dbdyno::test_runner::pacer::JobPacer;
use dbdyno::test_runner::raw::Raw;
use dbdyno::test_runner::samples::Samples;
use dbdyno::test_runner::schedule::{Edges, Schedule};

use crate::servers::Lease;
use crate::support::Desk;

const S: f64 = 1e-9;
/// Ops of the published tests of look-ups.
const PUBLISHED: u64 = 65_536;
/// Standard errors within which a figure of a sample may lie: one of some hundred figures leaves
/// them by chance with less than 1 %.
const ERRORS: f64 = 4.5;

/// Service times in ns of the ops of a job that begin at a moment (ns since the gate).
type Op = Box<dyn FnMut(u64) -> u64>;

/// Simulated job.
struct Doer {
    op: Op,
    /// Cost of timing an op, in ns: clock reads and bookkeeping.
    per_sample_ns: u64,
    /// Time from the end of a call to the begin of the next, in ns.
    between_ns: u64,
}

impl Doer {
    fn new(op: impl FnMut(u64) -> u64 + 'static) -> Doer {
        Doer { op: Box::new(op), per_sample_ns: 0, between_ns: 0 }
    }
}

/// The world's own record: how many ops of the window took how long.
#[derive(Default)]
struct Truth {
    ops_by_ns: BTreeMap<u64, u64>,
    ops: u64,
    busy_ns: u64,
    longest_ns: u64,
}

impl Truth {
    fn add(&mut self, times_ns: &[u64]) {
        // Most ops take as long as the one before: tens of millions are counted here.
        for alike in times_ns.chunk_by(|a, b| a == b) {
            let (ns, ops) = (alike[0], alike.len() as u64);
            *self.ops_by_ns.entry(ns).or_default() += ops;
            self.ops += ops;
            self.busy_ns += ns * ops;
            self.longest_ns = self.longest_ns.max(ns);
        }
    }

    /// Share of the ops that took at most, and of those that took less than, so long; the
    /// histogram's three digits are allowed for.
    fn ranks(&self, us: f64) -> (f64, f64) {
        let below = |ns: f64| {
            let ops: u64 = self.ops_by_ns.range(..ns as u64 + 1).map(|(_, ops)| ops).sum();
            ops as f64 / self.ops as f64
        };
        (below(us * 1e3 * 1.001 + 1.0), below(us * 1e3 * 0.998 - 1.0))
    }
}

/// One call: a timed op, a burst of others, and so on, as the routines and our own loop do it.
fn call(slice: &Slice, doer: &mut Doer, began_ns: u64) -> (Vec<u64>, LatencyHistogram, u64) {
    let (limit_ns, stride) = ((slice.seconds / S) as u64, u64::from(slice.stride));
    let (mut all, mut timed, mut took_ns) = (Vec::new(), LatencyHistogram::new(), 0);
    while (all.len() as u64) < slice.max_ops && took_ns < limit_ns {
        let ns = (doer.op)(began_ns + took_ns);
        timed.record_ns(ns);
        took_ns += ns + doer.per_sample_ns;
        all.push(ns);
        let ops = all.len() as u64;
        let in_time = 1 + limit_ns.saturating_sub(took_ns) * ops / took_ns.max(1);
        let rest = (stride - 1).min(slice.max_ops - ops).min(in_time);
        for _ in 0..if took_ns < limit_ns { rest } else { 0 } {
            let ns = (doer.op)(began_ns + took_ns);
            took_ns += ns;
            all.push(ns);
        }
    }
    (all, timed, took_ns)
}

/// A test of these jobs on a clock of ours, and what really was done in its window.
fn simulate(window: Window, drive: Drive, mut doers: Vec<Doer>) -> (TestResult, Truth) {
    let jobs = doers.len() as u32;
    let (gate, schedule, seconds) =
        (Gate::new(jobs), Schedule::new(&window), SecondsLog::new(jobs));
    let clocks: Vec<Cell<u64>> = doers.iter().map(|_| Cell::new(0)).collect();
    gate.open();
    let mut pacers: Vec<JobPacer<'_>> = clocks
        .iter()
        .zip(1..)
        .map(|(clock, job)| {
            JobPacer::new(Who { job, part: 0 }, &gate, &seconds, &schedule, drive)
                .by_clock(|| clock.get() as f64 * S)
        })
        .collect();
    assert!(pacers.iter_mut().all(JobPacer::ready));
    let mut truth = Truth::default();
    let mut running: Vec<usize> = (0..doers.len()).collect();
    // Whoever is the least far goes on: so all tell of their slices in the order of time.
    while let Some(at) = running.iter().copied().min_by_key(|at| clocks[*at].get()) {
        let start_ns = clocks[at].get();
        let Some(slice) = pacers[at].next_slice() else {
            running.retain(|other| *other != at);
            gate.note_end();
            continue;
        };
        let (all, timed, took_ns) = call(&slice, &mut doers[at], start_ns);
        clocks[at].set(start_ns + took_ns);
        let busy_s = took_ns as f64 * S;
        let tally = Tally { ops: all.len() as u64, busy_s, ..Tally::default() };
        let longest_ns = all.iter().copied().max().unwrap_or(0);
        let report = SliceReport { longest_ns, ..SliceReport::new(tally, busy_s, &timed) };
        pacers[at].slice_done(&report);
        clocks[at].set(start_ns + took_ns + doers[at].between_ns);
        let start_s = start_ns as f64 * S;
        if start_s >= schedule.open_s() - 1e-6 && start_s + 1e-3 < schedule.close_s() {
            truth.add(&all);
        }
        if gate.await_satisfied(Duration::ZERO) {
            gate.stop();
        }
    }
    let total_s = clocks.iter().map(Cell::get).max().unwrap_or(0) as f64 * S;
    let logs = pacers.into_iter().map(|pacer| (0, pacer.into_log())).collect();
    let close_s = schedule.close_s().min(total_s);
    let mut samples = Samples::default();
    (0..=total_s as u32).for_each(|t| samples.push(f64::from(t), &Counters::default()));
    let snapshot =
        |moment, t_s| Snapshot { moment, t_s, counters: Counters::default(), cost_ms: 0.0 };
    let (seconds, timeline) = seconds.into_seconds();
    let raw = Raw {
        jobs: logs,
        edges: Edges { open_s: schedule.open_s(), close_s },
        seconds,
        timeline,
        snapshots: vec![
            snapshot(SnapshotPoint::WindowOpen, schedule.open_s()),
            snapshot(SnapshotPoint::WindowClose, close_s),
        ],
        samples,
        total_s,
        facts: Facts::new(),
        ..Raw::default()
    };
    let selection = selection(window, drive);
    (assemble(&TestSpec::closed(&selection, jobs, 1), raw).unwrap(), truth)
}

pub(super) fn selection(window: Window, drive: Drive) -> Selection {
    let kpm =
        Kpm { value: KpmValue::Ops, unit: "ops/s".into(), better: Better::Higher, scale: 1.0 };
    let part = PartPlan {
        work: Expr("1".into()),
        ..PartPlan::bare("OP", JobCode::Bulk { table: "t".into(), batch: 1 })
    };
    Selection { drive, ..Selection::bare(Workload::bare("OP", "an op", kpm), part, window) }
}

/// Random numbers of our own in [0, 1): SplitMix64 (Steele, Lea and Flood, 2014).
fn random(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn constant(ns: u64) -> impl FnMut(u64) -> u64 {
    move |_| ns
}

fn two_points(fast_ns: u64, slow_ns: u64, slow_share: f64, seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = random(seed);
    move |_| if random() < slow_share { slow_ns } else { fast_ns }
}

fn lognormal(median_ns: f64, sigma: f64, seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = random(seed);
    move |_| {
        // Box and Muller.
        let radius = (-2.0 * (1.0 - random()).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * random()).cos();
        (median_ns * (sigma * normal).exp()) as u64
    }
}

/// Ops of 5 us, the first one after every other second holds everything up.
fn stalling_ops(stall_ns: u64) -> impl FnMut(u64) -> u64 {
    let mut next_ns = 1_500_000_000;
    move |now_ns| {
        if now_ns < next_ns {
            return 5_000;
        }
        next_ns += 2_000_000_000;
        stall_ns
    }
}

/// One second of 200 us, nine of 10 us: as while a checkpoint runs.
fn phases(now_ns: u64) -> u64 {
    if now_ns / 1_000_000_000 % 10 == 4 { 200_000 } else { 10_000 }
}

/// Every printed figure of the ops' times is that of the world's record, within what the stated
/// number of samples allows.
#[track_caller]
fn assert_true(name: &str, result: &TestResult, truth: &Truth) {
    let latency = &result.latency;
    assert_eq!(result.window.ops, truth.ops, "{name}");
    let mean_us = truth.busy_ns as f64 / truth.ops as f64 / 1e3;
    assert!((latency.mean_us.unwrap() / mean_us - 1.0).abs() < 0.01, "{name}: {latency:?}");
    let longest_us = truth.longest_ns as f64 / 1e3;
    assert!((latency.max_us.unwrap() / longest_us - 1.0).abs() < 0.01, "{name}: {longest_us}");
    let per_sample = latency.ops_per_sample.unwrap();
    let mean_per_sample = truth.ops as f64 / latency.samples as f64;
    assert!(
        per_sample.least <= mean_per_sample + 1e-9 && mean_per_sample <= per_sample.most + 1e-9,
        "{name}: {per_sample:?}, {mean_per_sample}"
    );
    assert!(per_sample.most <= f64::from(result.latency_stride) + 1e-9, "{name}");
    assert_eq!(latency.buckets.iter().map(|bucket| bucket.1).sum::<u64>(), truth.ops, "{name}");
    let histogram = LatencyHistogram::from_buckets(&latency.buckets);
    let p9999_us =
        (latency.effective_samples() >= 1e5).then(|| histogram.quantile_ns(0.9999) as f64 / 1e3);
    let mut told = 0;
    for (p, us) in percentiles(latency).into_iter().chain([(0.9999, p9999_us)]) {
        let Some(us) = us else { continue };
        told += 1;
        let (at_most, less) = truth.ranks(us);
        let error = ERRORS * (p * (1.0 - p) / latency.effective_samples()).sqrt();
        assert!(
            less <= p + error && at_most >= p - error,
            "{name}: p{p} is said to be {us} us; {less} to {at_most} of the ops took less: \
             {latency:?}"
        );
    }
    assert!(told > 0, "{name}: {latency:?}");
}

fn percentiles(latency: &LatencySummary) -> [(f64, Option<f64>); 5] {
    [
        (0.5, latency.p50_us),
        (0.9, latency.p90_us),
        (0.95, latency.p95_us),
        (0.99, latency.p99_us),
        (0.999, latency.p999_us),
    ]
}

/// Jobs of known service times; those of a short time cannot be simulated for long.
fn known_jobs() -> Vec<(&'static str, Vec<Doer>)> {
    vec![
        ("3 us", vec![Doer::new(constant(3_000))]),
        ("10 ms", vec![Doer::new(constant(10_000_000))]),
        ("one of 1000 slow", vec![Doer::new(two_points(10_000, 3_000_000, 0.001, 1))]),
        ("one of 100 slow", vec![Doer::new(two_points(10_000, 400_000, 0.01, 2))]),
        ("one of 10 slow", vec![Doer::new(two_points(2_000, 150_000, 0.1, 3))]),
        ("lognormal", vec![Doer::new(lognormal(30_000.0, 1.0, 4))]),
        ("lognormal, long tail", vec![Doer::new(lognormal(20_000.0, 2.0, 5))]),
        ("stalls", vec![Doer::new(stalling_ops(300_000_000))]),
        ("phases", vec![Doer::new(phases)]),
        (
            "jobs of all kinds",
            vec![
                Doer::new(constant(4_000)),
                Doer::new(lognormal(60_000.0, 1.5, 6)),
                Doer::new(two_points(90_000, 9_000_000, 0.01, 7)),
                Doer::new(constant(10_000_000)),
                Doer::new(phases),
            ],
        ),
    ]
}

#[test]
fn figures_of_known_service_times_are_those_of_every_op() {
    let fixed = |ops| Window { warmup_s: 0.0, end: End::Ops(ops) };
    // A window that opens after a warm-up, before anything is learned, at once, and fixed work.
    let windows =
        [Window::time(1.0, 3.0), Window::time(0.15, 5.0), Window::time(0.0, 6.0), fixed(20_000)];
    let drives = [Drive::Client, Drive::Database];
    // Each window with each kind of jobs, and either of them with both drives.
    for (number, window) in windows.into_iter().enumerate() {
        for (kind, (name, doers)) in known_jobs().into_iter().enumerate() {
            let drive = drives[(number + kind) % 2];
            let (result, truth) = simulate(window, drive, doers);
            assert_true(&format!("{name}, {drive:?}, {window:?}"), &result, &truth);
        }
    }
    for drive in drives {
        let (result, truth) = simulate(fixed(1_000_000), drive, vec![Doer::new(constant(100))]);
        assert_true("0.1 us", &result, &truth);
        let (result, truth) = simulate(fixed(PUBLISHED), drive, vec![Doer::new(constant(3_000))]);
        assert_true("3 us", &result, &truth);
    }
}

#[test]
fn a_slow_second_counts_as_many_ops_as_it_had() {
    // Of 905,000 ops 5,000 are slow: 0.55 %, but of the samples a third.
    let (result, truth) =
        simulate(Window::time(0.0, 10.0), Drive::Database, vec![Doer::new(phases)]);
    let is = |us: Option<f64>, expected: f64| (us.unwrap() / expected - 1.0).abs() < 0.01;
    let latency = &result.latency;
    assert!(is(latency.p95_us, 10.0) && is(latency.p99_us, 10.0), "{latency:?}");
    assert!(truth.ranks(10.0).0 > 0.99, "{latency:?}");
    for point in result.series.iter().filter(|point| point.p50_us.is_some()) {
        let middle_ns = (point.t_s - point.interval_s / 2.0) / S;
        assert!(is(point.p50_us, phases(middle_ns as u64) as f64 / 1e3), "{point:?}");
    }
}

#[test]
fn fixed_work_is_as_fast_as_a_window() {
    // Look-ups as measured: their own time, and what timing one of them costs (PL/pgSQL, MariaDB's
    // procedures, our own loop).
    let looked_up = [
        (Drive::Database, 3_800, 1_300),
        (Drive::Database, 11_500, 9_800),
        (Drive::Client, 1_500, 60),
    ];
    for (drive, op_ns, per_sample_ns) in looked_up {
        let per_op_us = |window| {
            // The very first op prepares.
            let mut is_first = true;
            let op = move |_| if std::mem::take(&mut is_first) { 1_000_000 } else { op_ns };
            let doer = Doer { per_sample_ns, between_ns: 50_000, ..Doer::new(op) };
            let (result, truth) = simulate(window, drive, vec![doer]);
            assert_eq!(result.window.ops, truth.ops);
            1e6 / result.ops_per_s
        };
        let windowed_us = per_op_us(Window::time(1.0, 3.0));
        let at_once_us = per_op_us(Window::time(0.0, 3.0));
        let fixed_us = per_op_us(Window { warmup_s: 0.0, end: End::Ops(PUBLISHED) });
        for us in [at_once_us, fixed_us] {
            assert!(
                (us / windowed_us - 1.0).abs() < 0.02,
                "ops of {op_ns} ns take {fixed_us} us as fixed work, {at_once_us} without a \
                 warm-up, {windowed_us} in a window"
            );
        }
    }
}

#[test]
fn a_day_is_told_second_by_second() {
    let day = Window::time(0.0, 86_400.0);
    let doers = vec![Doer::new(constant(1_000_000_000)), Doer::new(constant(500_000_000))];
    let (result, truth) = simulate(day, Drive::Client, doers);
    assert_eq!((result.window.ops, truth.ops), (259_200, 259_200));
    let inside: Vec<f64> =
        result.series.iter().filter(|point| point.in_window).map(|point| point.ops).collect();
    assert_eq!(inside.len(), 86_400);
    assert!(inside.iter().all(|ops| (ops - 3.0).abs() < 1e-6));
}

#[test]
fn fixed_work_on_databases_times_a_few_ops_as_windows_do() {
    let servers = ["postgres", "mariadb"].map(|engine| Lease::new(engine, None, &[]));
    let targets = servers.iter().map(|lease| lease.url.as_str()).chain(["sqlite"]);
    let mut stated = 0;
    for target in targets {
        let desk = Desk::new();
        desk.run(&format!(
            "run {target} --workload SRV-QUERY1 --size 0.01 --jobs 1 --ops {PUBLISHED} --quiet"
        ))
        .ok();
        let test = last_test(&desk.path("results.db"));
        let latency = &test.latency;
        assert_eq!(test.window.ops, PUBLISHED, "{target}");
        assert_eq!(latency.buckets.iter().map(|bucket| bucket.1).sum::<u64>(), PUBLISHED);
        // Absent where the machine was too busy to measure it.
        if let Some(cost_us) = test.instrument_us_per_op {
            stated += 1;
            let mean_us = latency.mean_us.unwrap();
            assert!(cost_us > 0.0 && cost_us < 0.05 * mean_us, "{target}: {cost_us} of {mean_us}");
        }
        let per_s = if test.drive == Drive::Database { 1_250.0 } else { 10_000.0 };
        // A slice learns from the one before; on a busy machine they differ by some factor.
        assert!(
            (latency.samples as f64) < 100.0 + 3.0 * per_s * test.window_s,
            "{target}: {} timed in {} s",
            latency.samples,
            test.window_s
        );
    }
    assert!(stated > 0, "what timing an op costs is not known of any engine");
}

fn last_test(results: &Path) -> TestResult {
    let store = Store::open_to_read(results).unwrap();
    let run = store.run("last").unwrap();
    store.tests(run.id).unwrap().iter().find_map(Test::measured).unwrap().clone()
}
