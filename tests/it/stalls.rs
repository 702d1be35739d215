//! A server that stands still for a known time: the stall must stand in the figures of both drives
//! and both loops.

use std::cell::Cell;
use std::time::{Duration, Instant};

use dbdyno::engine::{self, Access, ConnectTo, Database};
use dbdyno::model::rows::{RowFunction, table_rows};
use dbdyno::model::{
    Arrivals, AskedRamp, Counters, Drive, Facts, OfferedLoad, Selection, Target, TestResult,
    TestSpec,
};
use dbdyno::plan;
use dbdyno::server::{self, PrivateServer};
use dbdyno::test_runner::{
    CONNECT_TIMEOUT, Interrupt, Outcome, Progress, TestContext, TimingCosts, run_test,
};
use procfs::process::all_processes;
use rustix::process::Signal;

use crate::support::{Desk, directory, in_a_calm_moment, signal, start_options};

const STALL: Duration = Duration::from_millis(900);
const SIZE_GB: f64 = 0.01;
const RATE: f64 = 300.0;

/// A loaded server and a database on it.
struct Stand {
    engine: &'static str,
    server: PrivateServer,
    database: Box<dyn Database>,
}

impl Stand {
    fn new(engine: &'static str, dir: &std::path::Path) -> Stand {
        let server = server::start(engine, &start_options(dir, &[])).unwrap();
        let url = server.url();
        Desk::new().run(&format!("load {url} --size {SIZE_GB} --workload SRV-QUERY1")).ok();
        let target = Target::Existing { engine: engine.into(), url: url.clone() };
        let to = ConnectTo { url: Some(url), ..ConnectTo::new(target) };
        let database = engine::find(engine).unwrap().open(&to, Access::Provision).unwrap();
        Stand { engine, server, database }
    }

    fn lookup(&self, drive: Drive) -> Selection {
        let request = plan::Request {
            workloads: vec!["SRV-QUERY1".into()],
            jobs: Some(AskedRamp::single(1)),
            drive: Some(drive),
            warmup_s: Some(0.5),
            duration_s: Some(4.0),
            size_gb: Some(SIZE_GB),
            ..plan::Request::new(self.engine, engine::find(self.engine).unwrap().capabilities(), 1)
        };
        let catalog = crate::support::catalog();
        plan::build(&catalog, &request).unwrap().selections.remove(0)
    }

    /// A test in whose window the server stands still; gives the least time that it did, in us.
    fn stalled(&self, drive: Drive, offer: Option<OfferedLoad>) -> (TestResult, f64) {
        let rows = table_rows("small", SIZE_GB);
        let facts = Facts::from([("small_rows".to_string(), rows as f64)]);
        let context = TestContext {
            database: self.database.as_ref(),
            facts: &facts,
            rows: RowFunction { table_rows: rows, seed: 42 },
            seed: 42,
            connect_timeout: CONNECT_TIMEOUT,
            interrupt: &Interrupt::new(),
            sessions: None,
            workers: None,
            timing_costs: TimingCosts::default(),
        };
        let stalled_us = Cell::new(None);
        let mut progress = |progress: Progress| {
            if progress.t_s >= 1.5 && stalled_us.get().is_none() {
                stalled_us.set(Some(self.stand_still()));
            }
        };
        let lookup = self.lookup(drive);
        let spec = TestSpec { offer, ..TestSpec::closed(&lookup, 1, 1) };
        match run_test(&context, &spec, &mut |_| (Counters::default(), 0.0), &mut progress) {
            Outcome::Done(result) => (*result, stalled_us.get().unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// Stops every process of the server for a while; us from the last that stopped to the first
    /// that goes on.
    fn stand_still(&self) -> f64 {
        let leader = self.server.pid().unwrap();
        let is_of_it = |pid: i32, parent: i32| pid as u32 == leader || parent as u32 == leader;
        let family = all_processes().unwrap().flatten().filter_map(|process| process.stat().ok());
        let pids: Vec<u32> = family
            .filter(|stat| is_of_it(stat.pid, stat.ppid))
            .map(|stat| stat.pid as u32)
            .collect();
        pids.iter().for_each(|pid| signal(*pid, Signal::STOP));
        let stopped_at = Instant::now();
        std::thread::sleep(STALL);
        let stood_us = stopped_at.elapsed().as_secs_f64() * 1e6;
        pids.iter().for_each(|pid| signal(*pid, Signal::CONT));
        stood_us
    }
}

/// A stall of a server shows in the maximum and in the series of both drives.
fn assert_stall_shows(engine: &'static str) {
    let dir = directory();
    let stand = Stand::new(engine, dir.path());
    for drive in [Drive::Database, Drive::Client] {
        let (result, stalled_us) = stand.stalled(drive, None);
        let what =
            format!("{engine} {drive:?}: {stalled_us} us, every {}th op", result.latency_stride);
        let max_us = result.latency.max_us.unwrap();
        // A process that waits for a processor stops when it gets one, and may read the clock just
        // before.
        assert!(max_us >= 0.8 * stalled_us, "{what}: {max_us}");
        let in_series =
            result.series.iter().filter_map(|point| point.max_us).reduce(f64::max).unwrap();
        assert!(in_series >= 0.8 * stalled_us, "{what}: {in_series}");
        let (p99_us, mean_us) = (result.latency.p99_us.unwrap(), result.latency.mean_us.unwrap());
        assert!(
            p99_us < 0.1 * stalled_us && mean_us < p99_us.max(stalled_us / 100.0),
            "{what}: {p99_us}, {mean_us}"
        );
    }
    assert_open_loop(&stand);
}

#[test]
fn a_postgresql_that_stands_still_shows_in_the_figures_of_both_drives() {
    assert_stall_shows("postgres");
}

#[test]
fn a_mariadb_that_stands_still_shows_in_the_figures_of_both_drives() {
    assert_stall_shows("mariadb");
}

/// Ops that were due meanwhile answer late: evenly from the whole stall down to nothing.
fn assert_open_loop(stand: &Stand) {
    let offer = OfferedLoad { per_s: RATE, arrivals: Arrivals::Uniform, slo: None };
    let (result, stalled_us) = in_a_calm_moment(|| stand.stalled(Drive::Client, Some(offer)));
    let response = &result.open.as_ref().unwrap().response;
    let (max_us, mean_us) = (result.latency.max_us.unwrap(), result.latency.p50_us.unwrap());
    assert!(
        max_us >= 0.8 * (stalled_us - 1e6 / RATE),
        "{}: {max_us} of {stalled_us}",
        stand.engine
    );
    // The op that met the stall waits longest; each later one was due later and waits for the ones
    // before.
    let late = (0..)
        .map(|n| max_us - f64::from(n) * (1e6 / RATE - mean_us))
        .take_while(|us| *us > mean_us);
    let mut expected: Vec<f64> = late.collect();
    expected.resize(result.window.ops as usize, mean_us);
    expected.sort_by(f64::total_cmp);
    for (p, got) in [(0.9, response.p90_us), (0.95, response.p95_us), (0.99, response.p99_us)] {
        let expected_us = expected[(p * expected.len() as f64) as usize];
        let ratio = got.unwrap() / expected_us;
        eprintln!(
            "{}: p{p} of the response time is {:.1} ms, expected {:.1}",
            stand.engine,
            got.unwrap() / 1e3,
            expected_us / 1e3
        );
        // A busy machine takes longer to catch up.
        assert!((0.95..1.3).contains(&ratio), "{} p{p}: {ratio} of {expected_us}", stand.engine);
    }
    assert!(result.latency.p90_us.unwrap() < 0.1 * stalled_us, "served fast: {:?}", result.latency);
}
