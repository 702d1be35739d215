//! The processor time of every test, with all that it starts: where the minutes of `make test` go.
//! On a machine that others use, the time on the clock says little.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use procfs::process::Process;
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};

use crate::support::{directory, finished};

/// The test that is also the process around each test.
const SELF: &str = "slowest::tests_by_processor_time";
/// Names the test to run to that process, and the file for what it cost.
const TIMED: &str = "DBDYNO_TEST_TIMED";
const COST: &str = "DBDYNO_TEST_COST";
/// Chooses tests by the beginning of their names.
const CHOSEN: &str = "DBDYNO_TEST_SLOWEST";
/// Lines of the table.
const SHOWN: usize = 40;

/// Cost of a test.
struct Cost {
    test: String,
    /// Of the test and of all that it started, also of servers in the background.
    processor_s: f64,
    elapsed_s: f64,
    outcome: String,
}

/// Runs a test in a process of its own, and waits for everything that it leaves to end: what has no
/// parent any more becomes a child of this process.
fn time(test: &str, cost: &Path) {
    set_child_subreaper(Some(getpid())).unwrap();
    let began = Instant::now();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]).env_remove(TIMED).stdin(Stdio::null()).stdout(Stdio::null());
    let first = command.stderr(Stdio::null()).spawn().unwrap().id();
    let (mut elapsed_s, mut outcome) = (0.0, "");
    while let Ok(Some((pid, status))) = wait(WaitOptions::empty()) {
        if pid.as_raw_nonzero().get().unsigned_abs() == first {
            elapsed_s = began.elapsed().as_secs_f64();
            outcome = if status.exit_status() == Some(0) { "" } else { "failed" };
        }
    }
    let own = Process::myself().unwrap().stat().unwrap();
    let processor_s = (own.cutime + own.cstime) as f64 / procfs::ticks_per_second() as f64;
    std::fs::write(cost, format!("{processor_s}\t{elapsed_s}\t{outcome}")).unwrap();
}

/// Cost of a test, measured by the process around it.
fn cost_of(test: &str, file: &Path) -> Cost {
    let mut around = Command::new(std::env::current_exe().unwrap());
    around.args(["--exact", SELF, "--include-ignored"]).env(TIMED, test).env(COST, file);
    finished(around, test).ok();
    let text = std::fs::read_to_string(file).unwrap();
    let mut parts = text.split('\t');
    let mut number = || parts.next().unwrap().parse().unwrap();
    let (processor_s, elapsed_s) = (number(), number());
    Cost { test: test.into(), processor_s, elapsed_s, outcome: parts.next().unwrap().into() }
}

/// All tests but this one, in the order of their names.
fn tests() -> VecDeque<String> {
    let mut list = Command::new(std::env::current_exe().unwrap());
    list.arg("--list");
    let listed = finished(list, "--list").ok().stdout;
    let chosen = std::env::var(CHOSEN).unwrap_or_default();
    let is_chosen = |name: &&str| {
        *name != SELF
            && (chosen.is_empty() || chosen.split_whitespace().any(|part| name.starts_with(part)))
    };
    let names = listed.lines().filter_map(|line| line.strip_suffix(": test")).filter(is_chosen);
    names.map(str::to_owned).collect()
}

#[test]
#[ignore = "prints a table, in as long as all tests take: make slowest"]
fn tests_by_processor_time() {
    if let (Ok(test), Some(cost)) = (std::env::var(TIMED), std::env::var_os(COST)) {
        return time(&test, Path::new(&cost));
    }
    let dir = directory();
    let (waiting, costs) = (Mutex::new(tests()), Mutex::new(Vec::<Cost>::new()));
    let work = |file: PathBuf| {
        let next = || waiting.lock().unwrap().pop_front();
        while let Some(test) = next() {
            let cost = cost_of(&test, &file);
            costs.lock().unwrap().push(cost);
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..processors {
            let (file, work) = (dir.path().join(worker.to_string()), &work);
            scope.spawn(move || work(file));
        }
    });
    let mut costs = costs.into_inner().unwrap();
    costs.sort_by(|a, b| b.processor_s.total_cmp(&a.processor_s));
    println!("each alone: one that takes a shared server starts it\n");
    println!("processor s  elapsed s  test");
    for Cost { test, processor_s, elapsed_s, outcome } in costs.iter().take(SHOWN) {
        println!("{processor_s:11.1}  {elapsed_s:9.1}  {test} {outcome}");
    }
    let sum: f64 = costs.iter().map(|cost| cost.processor_s).sum();
    println!("{sum:11.1}             all {} tests", costs.len());
}
