//! Jobs on several load machines: processes of this one, with clocks that differ, one killed, all interrupted.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dbdyno::engine::Session;
use dbdyno::model::{ReasonCode, RunStatus, Test, TestResult};
use dbdyno::store::Store;
use rustix::process::Signal;

use crate::servers::Lease;
use crate::support::{Desk, column, ended, session, signal, until};

/// Seconds by which one clock is ahead.
const AHEAD_S: f64 = 3.0;

/// Load machines that end with the test.
struct Machines(Vec<Child>);

impl Machines {
    /// Starts another; its clock is ahead if a library is preloaded.
    fn start(&mut self, desk: &Desk, url: &str, preloaded: Option<&Path>) {
        let mut command = desk.command(&format!("worker {url} --quiet"));
        if let Some(library) = preloaded {
            command.env("LD_PRELOAD", library).env("CLOCK_AHEAD_S", AHEAD_S.to_string());
        }
        self.0.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    /// Ends the first as a power cut would.
    fn kill_first(&mut self) -> u32 {
        let mut machine = self.0.remove(0);
        machine.kill().unwrap();
        machine.wait().unwrap();
        machine.id()
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for machine in &mut self.0 {
            let _ = machine.kill(); // it may have ended
            let _ = machine.wait();
        }
    }
}

fn other_clock(desk: &Desk) -> std::path::PathBuf {
    let library = desk.path("other_clock.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/other_clock.c");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).args([source, "-ldl"]).status();
    assert!(built.unwrap().success());
    library
}

/// Waits until jobs of a test loop.
fn until_begun(admin: &mut dyn Session) {
    until("a test has begun", || {
        column(admin, "select 1 from dbdyno_results.crew where start_at < extract(epoch from clock_timestamp())")
            == ["1"]
    });
}

fn tests_of_last(url: &str) -> (RunStatus, Vec<TestResult>) {
    let store = Store::open_to_read(Path::new(url)).unwrap();
    let run = store.run("last").unwrap();
    (run.status, store.tests(run.id).unwrap().iter().filter_map(Test::measured).cloned().collect())
}

/// The figures of the parts are those of the whole: nothing is averaged, nothing lost.
fn assert_sums(test: &TestResult) {
    assert_eq!(test.workers.len(), 2, "{:?}", test.verdict);
    assert_eq!(test.workers.iter().map(|worker| worker.ops).sum::<u64>(), test.window.ops);
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for (ns, count) in test.workers.iter().flat_map(|worker| &worker.buckets) {
        *all.entry(*ns).or_default() += count;
    }
    assert_eq!(all.values().sum::<u64>(), test.latency.samples);
    // Jobs that were sampled otherwise than others weigh as much as their ops: then counts are more than samples.
    assert!(all.iter().eq(test.latency.buckets.iter().map(|(ns, count)| (ns, count))) || is_weighted(test, &all));
    assert_eq!(test.workers.iter().map(|worker| worker.jobs).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(test.job_figures.iter().map(|job| job.job).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(test.job_figures.iter().all(|job| job.tally.ops > 0));
}

/// The same buckets, of which some count several times.
fn is_weighted(test: &TestResult, all: &BTreeMap<u64, u64>) -> bool {
    let more = |(ns, count): &(u64, u64)| all.get(ns).is_some_and(|once| count % once == 0 || count > once);
    test.latency.buckets.len() == all.len() && test.latency.buckets.iter().all(more)
}

#[test]
fn machines_with_other_clocks_run_a_test_together_and_one_that_is_killed_spoils_its_test_only() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let (url, mut admin) = (&lease.url, session(&lease.url));
    let mut machines = Machines(Vec::new());
    machines.start(&desk, url, None);
    machines.start(&desk, url, Some(&other_clock(&desk)));
    let line = |rest: &str| format!("run {url} --results {url} --workers 2 --jobs 4 --size 0.01 --warmup 0.5s {rest}");

    desk.run(&line("--workload SRV-QUERY1 --duration 1s")).ok();
    let (_, tests) = tests_of_last(url);
    assert_sums(&tests[0]);
    let mut offsets_s: Vec<f64> = tests[0].workers.iter().map(|worker| worker.clock_offset_s).collect();
    offsets_s.sort_by(f64::total_cmp);
    assert!((offsets_s[1] - offsets_s[0] - AHEAD_S).abs() < 1.0, "{offsets_s:?}");
    let late_ms: Vec<f64> = tests[0].workers.iter().map(|worker| 1e3 * worker.late_s).collect();
    println!("jobs began {late_ms:.3?} ms after the common start");
    assert!(late_ms.iter().all(|late_ms| *late_ms < 1e3), "{late_ms:?}: clocks that differ decide nothing");

    let run = desk.spawn(&line("--workload SRV-QUERY1 --workload SRV-QUERY25 --duration 3s"));
    until_begun(admin.as_mut());
    let killed = machines.kill_first();
    machines.start(&desk, url, None);
    ended(run, "a run that loses a worker");
    let (status, tests) = tests_of_last(url);
    assert_eq!((status, tests.len()), (RunStatus::Finished, 2));
    let reason = &tests[0].verdict.reasons[0];
    assert!(reason.code == ReasonCode::WorkerLost && reason.text.contains(&format!(":{killed} is lost")), "{reason:?}");
    assert_sums(&tests[1]);

    let run = desk.spawn(&line("--workload SRV-QUERY1 --duration 10m"));
    until_begun(admin.as_mut());
    signal(run.id(), Signal::INT);
    assert_eq!(ended(run, "a run that is interrupted").code, Some(130));
    assert_eq!(tests_of_last(url).0, RunStatus::Interrupted);
    until("no job is left", || {
        column(
            admin.as_mut(),
            "select count(*) from pg_stat_activity where query ~ 'SRV|w_' and state = 'active' \
            and pid <> pg_backend_pid()",
        ) == ["0"]
    });
    drop(machines);
    let none = desk.run(&line("--workload SRV-QUERY1 --duration 1s --worker-wait 1s"));
    assert!(format!("{}{}", none.stdout, none.stderr).contains("0 of 2 workers came within 1 s"), "{none:?}");
    let refused = format!("run sqlite --workers 2 --workload CPU-LOOP --results {url}");
    desk.run(&refused).fails(2, &["only seen by this machine"]);
    let in_a_file = format!("run {url} --workers 2 --workload SRV-QUERY1");
    desk.run(&in_a_file).fails(2, &["seen by one machine only", "postgres://"]);
}

#[test]
fn the_container_of_the_examples_builds_where_there_is_a_builder() {
    let builder = ["docker", "podman"].into_iter().find(|name| {
        let info = Command::new(name).arg("info").stdout(Stdio::null()).stderr(Stdio::null()).status();
        info.is_ok_and(|status| status.success())
    });
    let Some(builder) = builder else {
        println!("not built: neither docker nor podman answers here");
        return;
    };
    let desk = Desk::new();
    std::fs::copy(assert_cmd::cargo::cargo_bin!("dbdyno"), desk.path("dbdyno")).unwrap();
    std::fs::copy("examples/kubernetes/Containerfile", desk.path("Containerfile")).unwrap();
    let file = desk.path("Containerfile");
    let built = Command::new(builder)
        .args(["build", "-t", "dbdyno-test", "-f"])
        .arg(&file)
        .arg(desk.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr).to_lowercase();
    let no_network = ["dial tcp", "no such host", "timeout", "connection refused", "toomanyrequests"];
    if no_network.iter().any(|words| said.contains(words)) {
        println!("not built: no registry can be reached");
        return;
    }
    assert!(built.status.success(), "{said}");
}
