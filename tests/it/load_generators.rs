//! Jobs on several load generators: processes of this one, with clocks that differ, one killed, all
//! interrupted.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use dbdyno::engine::Session;
use dbdyno::model::{ReasonCode, RunStatus, Test, TestResult};
use dbdyno::store::Store;
use rustix::process::Signal;

use crate::servers::Lease;
use crate::skipped::skipped;
use crate::support::{Desk, column, ended, finished, session, signal, until};

/// Seconds by which one clock is ahead.
const AHEAD_S: f64 = 3.0;
/// Jobs that think: while machines are lost or fall silent they keep no processor busy.
const THINKING: &str = "--drive client --think 10ms";

/// Load generators that end with the test.
struct Machines(Vec<Child>);

impl Machines {
    /// Starts another; its clock is ahead if a library is preloaded.
    fn start(&mut self, desk: &Desk, url: &str, preloaded: Option<&Path>) {
        self.begin(desk.command(&format!("worker {url} {url} null --quiet")), preloaded);
    }

    /// Starts one for a target elsewhere.
    fn start_at(&mut self, desk: &Desk, results: &str, target: &str) {
        self.begin(desk.command(&format!("worker {results} {target} --quiet")), None);
    }

    fn begin(&mut self, mut command: Command, preloaded: Option<&Path>) {
        if let Some(library) = preloaded {
            command.env("LD_PRELOAD", library).env("CLOCK_AHEAD_S", AHEAD_S.to_string());
        }
        self.0.push(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    /// So many with our clock.
    fn started(desk: &Desk, url: &str, count: u32) -> Machines {
        let mut machines = Machines(Vec::new());
        (0..count).for_each(|_| machines.start(desk, url, None));
        machines
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
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .arg(&library)
        .args([source, "-ldl"])
        .status();
    assert!(built.unwrap().success());
    library
}

/// Waits until jobs of a test loop.
fn until_begun(admin: &mut dyn Session) {
    let there = "select 1 where to_regclass('dbdyno_results.crew') is not null";
    until("a machine is there", || column(admin, there) == ["1"]);
    until("a test has begun", || {
        column(
            admin,
            "select 1 from dbdyno_results.crew where start_at < extract(epoch from \
             clock_timestamp())",
        ) == ["1"]
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
    // Samples count for the ops that they stand for; each worker's counts are rounded.
    assert!(all.values().sum::<u64>().abs_diff(test.window.ops) <= 2, "{all:?}");
    assert_eq!(all.len(), test.latency.buckets.len());
    for (ns, count) in &test.latency.buckets {
        assert!(all[ns].abs_diff(*count) <= 3, "{ns} ns: {} and {count}", all[ns]);
    }
    assert_eq!(test.workers.iter().map(|worker| worker.jobs).collect::<Vec<_>>(), [2, 2]);
    assert_eq!(test.job_figures.iter().map(|job| job.job).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(test.job_figures.iter().all(|job| job.tally.ops > 0));
}

#[test]
fn machines_with_other_clocks_run_a_test_together_and_one_that_is_killed_spoils_its_test_only() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let (url, mut admin) = (&lease.url, session(&lease.url));
    let mut machines = Machines(Vec::new());
    machines.start(&desk, url, None);
    machines.start(&desk, url, Some(&other_clock(&desk)));
    let line = |rest: &str| {
        format!("run {url} --results {url} --workers 2 --jobs 4 --size 0.01 --warmup 0.5s {rest}")
    };

    desk.run(&line("--workload SRV-QUERY1 --duration 1s")).ok();
    let (_, tests) = tests_of_last(url);
    assert_sums(&tests[0]);
    let mut offsets_s: Vec<f64> =
        tests[0].workers.iter().map(|worker| worker.clock_offset_s).collect();
    offsets_s.sort_by(f64::total_cmp);
    assert!((offsets_s[1] - offsets_s[0] - AHEAD_S).abs() < 1.0, "{offsets_s:?}");
    let late_ms: Vec<f64> = tests[0].workers.iter().map(|worker| 1e3 * worker.late_s).collect();
    println!("jobs began {late_ms:.3?} ms after the common start");
    assert!(
        late_ms.iter().all(|late_ms| *late_ms < 1e3 * AHEAD_S / 2.0),
        "{late_ms:?}: clocks that differ decide nothing"
    );

    let two = format!("--workload SRV-QUERY1 --workload SRV-QUERY25 --duration 3s {THINKING}");
    let run = desk.spawn(&line(&two));
    until_begun(admin.as_mut());
    let killed = machines.kill_first();
    machines.start(&desk, url, None);
    ended(run, "a run that loses a worker");
    let (status, tests) = tests_of_last(url);
    assert_eq!((status, tests.len()), (RunStatus::Finished, 2));
    let reason = &tests[0].verdict.reasons[0];
    assert!(
        reason.code == ReasonCode::WorkerLost
            && reason.text.contains(&format!(":{killed} is lost")),
        "{reason:?}"
    );
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
    let none = desk.run(&line("--workload SRV-QUERY1 --duration 1s --worker-join-timeout 1s"));
    assert!(
        format!("{}{}", none.stdout, none.stderr).contains("0 of 2 workers came within 1 s"),
        "{none:?}"
    );
    let refused = format!("run sqlite --workers 2 --workload CPU-LOOP --results {url}");
    desk.run(&refused).fails(2, &["only seen by this machine"]);
    let in_a_file = format!("run {url} --workers 2 --workload SRV-QUERY1");
    desk.run(&in_a_file).fails(2, &["seen by one machine only", "postgres://"]);
}

/// The server ends the session by which the coordinator tells its workers what to do.
#[test]
fn a_coordinator_that_loses_the_results_loses_one_test_and_the_workers_come_again() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let (url, mut admin) = (&lease.url, session(&lease.url));
    let _machines = Machines::started(&desk, url, 2);
    let run = desk.spawn(&format!(
        "run {url} --results {url} --workers 2 --jobs 4 --size 0.01 --warmup 0.5s --duration 3s \
         --workload SRV-QUERY1 --workload SRV-QUERY25 {THINKING}"
    ));
    until_begun(admin.as_mut());
    let end = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and \
               classid = 1684169850 and objsubid = 2 and database = (select oid from pg_database \
               where datname = current_database())";
    assert_eq!(column(admin.as_mut(), end).len(), 1, "one coordinator");
    ended(run, "a run whose coordinator loses the results");
    let (status, tests) = tests_of_last(url);
    assert_eq!((status, tests.len()), (RunStatus::Finished, 2));
    let reason = &tests[0].verdict.reasons[0];
    assert!(
        reason.code == ReasonCode::WorkerLost && reason.text.contains("results database"),
        "{reason:?}"
    );
    assert_sums(&tests[1]);
}

/// The last run's tests, of which the first is by so many workers.
fn shared_test(url: &str, workers: usize) -> TestResult {
    let test = tests_of_last(url).1.remove(0);
    assert_eq!(test.workers.len(), workers, "{:?}", test.verdict);
    assert_eq!(test.workers.iter().map(|worker| worker.ops).sum::<u64>(), test.window.ops);
    assert_eq!(test.workers.iter().map(|worker| worker.jobs).sum::<u32>(), test.jobs);
    let drivers: Vec<_> = test.workers.iter().filter_map(|worker| worker.driver).collect();
    assert!(
        drivers.len() == workers && drivers.iter().all(|driver| driver.connect_s > 0.0),
        "{drivers:?}"
    );
    test
}

/// Each look at the sessions sees those of all machines' jobs, and no other session of theirs: a
/// worker has one that looks at the results, and one that asks the server who it is.
#[test]
fn sessions_of_all_machines_are_seen_and_only_those_of_their_jobs() {
    let (desk, results) = (Desk::new(), Lease::new("postgres", None, &[]));
    for engine in ["postgres", "mariadb"] {
        let target = Lease::new(engine, None, &[]);
        let mut machines = Machines(Vec::new());
        (0..2).for_each(|_| machines.start_at(&desk, &results.url, &target.url));
        desk.run(&format!(
            "run {} --results {} --workers 2 --jobs 4 --size 0.01 --warmup 0.5s --quiet \
             --workload LGWR-LAT --drive client --duration 2s",
            target.url, results.url
        ))
        .ok();
        let (_, tests) = tests_of_last(&results.url);
        let waits = tests[0].waits.as_ref().unwrap();
        assert!(waits.samples > 0, "{engine}: {waits:?}");
        // The first and the last looks may meet jobs that have begun or ended.
        let (seen, most) = (waits.sessions as f64, 4.0 * waits.samples as f64);
        assert!(seen <= most && seen >= 0.8 * most, "{engine}: {seen} of {most}: {waits:?}");
        assert!(!waits.events.is_empty(), "{engine}: {waits:?}");
    }
}

#[test]
fn offered_rates_windows_that_end_when_the_figure_is_known_and_work_beside_are_shared_too() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let url = &lease.url;
    let _machines = Machines::started(&desk, url, 2);
    let line = |rest: &str| {
        format!(
            "run {url} --results {url} --workers 2 --size 0.01 --workload SRV-QUERY1 --drive \
             client {rest}"
        )
    };
    desk.run(&line("--jobs 3 --rate 300 --warmup 0.5s --duration 2s")).ok();
    let open = shared_test(url, 2);
    let offered = open.open.as_ref().unwrap();
    // 300 a second of all jobs together, Poisson: within six standard deviations.
    let (due, expected) = (offered.due, 300.0 * open.window_s);
    assert!((due - expected).abs() < 6.0 * expected.sqrt(), "{due} are not {expected}");
    assert!(offered.response.samples >= open.window.ops, "{offered:?}");

    let profiled = line("--jobs 4 --warmup 0.5s --rate-profile");
    let mut command = desk.command(&profiled);
    command.arg("hold 200 1s; spike 600 0.5s; hold 200 1s");
    finished(command, &profiled).ok();
    let over_time = shared_test(url, 2);
    let open = over_time.open.as_ref().unwrap();
    let due: Vec<f64> = open.phases.iter().map(|phase| phase.due).collect();
    assert_eq!(due, [200.0, 300.0, 200.0], "{open:?}");
    // Each worker has two of the four jobs and half of the rate: together they do what is due, but
    // for what waits at the end.
    let done: u64 = open.phases.iter().map(|phase| phase.done).sum();
    // An op of each job that was due before the window may be done in it.
    assert!(over_time.window.ops.abs_diff(done) <= 4, "{done} of {}", over_time.window.ops);
    let drawn = done as f64 + open.phases.last().unwrap().behind;
    assert!((drawn - 700.0).abs() < 6.0 * 700_f64.sqrt(), "{drawn} are not 700: {open:?}");
    assert!(open.phases.iter().all(|phase| phase.response.p50_us > Some(0.0)), "{open:?}");
    assert!(over_time.series.iter().any(|point| point.behind.is_some()), "{over_time:?}");

    desk.run(&line("--jobs 4 --think 20ms --warmup 0.5s --duration 1s")).ok();
    let thinking = shared_test(url, 2);
    assert!(thinking.window.thought_s > 0.0, "{thinking:?}");
    let most = 1.3 * 4.0 * thinking.window_s / 0.02;
    assert!((thinking.window.ops as f64) < most, "no more than thinking allows: {thinking:?}");

    // Sessions that wait are steady, however busy the machine is.
    desk.run(&format!(
        "run null --results {url} --workers 2 --workload SESSION --jobs 8 --precision 50% --warmup \
         1s --max-duration 60s"
    ))
    .ok();
    let known = shared_test(url, 2);
    assert!(known.precision.is_some() && known.ci_fraction.is_some(), "{:?}", known.verdict);
    assert!(known.window_s < 59.0, "{} s: what the workers told closes the window", known.window_s);

    desk.run(&line(
        "--jobs 2 --background SRV-QUERY25 --background-jobs 3 --warmup 0.5s --duration 1s",
    ))
    .ok();
    let beside = shared_test(url, 2).beside.unwrap();
    assert!(
        beside.covers_window && beside.part.jobs == 3 && beside.part.tally.ops > 0,
        "{beside:?}"
    );
}

#[test]
fn a_machine_that_falls_silent_is_lost_by_name_and_the_run_goes_on() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let (url, mut admin) = (&lease.url, session(&lease.url));
    let mut machines = Machines::started(&desk, url, 2);
    let line = format!(
        "run {url} --results {url} --workers 2 --worker-timeout 3s --jobs 2 --size 0.01 --warmup \
         0.5s --duration 5s --workload SRV-QUERY1 --workload SRV-QUERY25 {THINKING}"
    );
    let run = desk.spawn(&line);
    until_begun(admin.as_mut());
    let silent = machines.0[0].id();
    signal(silent, Signal::STOP);
    machines.start(&desk, url, None);
    ended(run, "a run with a silent worker");
    let (status, tests) = tests_of_last(url);
    assert_eq!((status, tests.len()), (RunStatus::Finished, 2));
    let reason = &tests[0].verdict.reasons[0];
    let said = format!(":{silent} is lost: nothing was heard of it for 3 s");
    assert!(reason.code == ReasonCode::WorkerLost && reason.text.contains(&said), "{reason:?}");
    assert_eq!(tests[1].workers.len(), 2, "{:?}", tests[1].verdict);
    desk.run(&format!("{line} --worker-timeout 1s")).fails(2, &["cannot be used multiple times"]);
    desk.run(&line.replace("3s", "1s")).fails(2, &["--worker-timeout", "every second"]);
}

#[test]
fn five_thousand_sessions_that_wait_are_shared_by_four_machines() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let url = &lease.url;
    let _machines = Machines::started(&desk, url, 4);
    let line = format!(
        "run null --workload SESSION --results {url} --workers 4 --worker-timeout 2m \
         --worker-join-timeout 10m --jobs 5000 --warmup 1s --duration 3s"
    );
    desk.run(&line).ok();
    let test = shared_test(url, 4);
    assert_eq!(test.workers.iter().map(|worker| worker.jobs).collect::<Vec<_>>(), [1250; 4]);
    assert_eq!((test.job_figures.len(), test.jobs), (5000, 5000));
    assert!(test.job_figures.iter().all(|job| job.tally.ops > 0), "each session was at work");
    for worker in &test.workers {
        let driver = worker.driver.unwrap();
        println!(
            "{}: ready after {:.2} s, {:.0} kB per session, {:.1} % of a processor",
            worker.name,
            driver.connect_s,
            driver.memory_bytes_per_session.unwrap_or(0.0) / 1e3,
            100.0 * driver.processors
        );
    }
    desk.run("run null").fails(2, &["measures our own loop only"]);
}

const CONTAINER: &str = include_str!("../../examples/kubernetes/Containerfile");

/// Libraries of the image that it begins from.
const IN_THE_IMAGE: [&str; 5] = ["linux-vdso.so", "ld-linux", "libc.so", "libm.so", "libgcc_s.so"];

#[test]
fn the_container_of_the_examples_builds_where_there_is_a_builder() {
    let answers = |name: &&str| {
        let info =
            Command::new(name).arg("info").stdout(Stdio::null()).stderr(Stdio::null()).status();
        info.is_ok_and(|status| status.success())
    };
    let Some(builder) = ["docker", "podman", "buildah"].into_iter().find(answers) else {
        return skipped("BUILD", "neither docker nor podman nor buildah answers here");
    };
    let desk = Desk::new();
    // By another process: while this one has it open, no test can start it.
    let copied = Command::new("cp")
        .arg(assert_cmd::cargo::cargo_bin!("dbdyno"))
        .arg(desk.path("dbdyno"))
        .status();
    assert!(copied.unwrap().success());
    let file = desk.path("Containerfile");
    std::fs::write(&file, CONTAINER).unwrap();
    let build = Command::new(builder)
        .args(["build", "-t", "dbdyno-test", "-f"])
        .arg(&file)
        .arg(desk.path(""))
        .output();
    let built = build.unwrap();
    let said = String::from_utf8_lossy(&built.stderr).to_lowercase();
    let no_network =
        ["dial tcp", "no such host", "timeout", "connection refused", "toomanyrequests"];
    if no_network.iter().any(|words| said.contains(words)) {
        return skipped("BUILD", "no registry of images can be reached");
    }
    assert!(built.status.success(), "{said}");
}

#[test]
fn what_the_container_and_its_jobs_start_is_there() {
    let steps: Vec<(&str, &str)> = CONTAINER
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .collect();
    let of = |word| steps.iter().find(|(step, _)| *step == word).map(|(_, rest)| *rest).unwrap();
    assert!(
        steps
            .iter()
            .all(|(step, _)| ["FROM", "RUN", "COPY", "USER", "ENV", "ENTRYPOINT"].contains(step))
    );
    let (copied, place) = of("COPY").split_once(' ').unwrap();
    assert_eq!(
        (copied, place, of("ENTRYPOINT")),
        ("dbdyno", "/usr/local/bin/dbdyno", "[\"dbdyno\"]")
    );
    let program = assert_cmd::cargo::cargo_bin!("dbdyno");
    let told = Command::new("ldd").arg(program).output().unwrap();
    for library in String::from_utf8_lossy(&told.stdout).lines().map(str::trim) {
        assert!(
            IN_THE_IMAGE.iter().any(|name| library.contains(name)),
            "{library} is missing in {}",
            of("FROM")
        );
    }
    // Their command lines are understood: nobody answers at these addresses.
    let (desk, jobs) = (Desk::new(), include_str!("../../examples/kubernetes/workers.yaml"));
    let lines: Vec<_> =
        jobs.lines().filter_map(|line| line.trim().strip_prefix("args: [")).collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        let line =
            line.trim_end_matches(']').replace(['"', ','], "").replace(".example/", ".invalid/");
        desk.run(&line).fails(3, &["results.invalid"]);
    }
}

#[test]
fn the_script_for_plain_ssh_starts_a_worker_on_each_host() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let programs = desk.path("bin");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("dbdyno"), programs.join("dbdyno"))
        .unwrap();
    // What is to run on a host runs here.
    let ssh = programs.join("ssh");
    std::fs::write(&ssh, "#!/bin/sh\nshift 4\nexec sh -c \"exec $*\"\n").unwrap();
    std::fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/ssh/run.sh");
    let run = |line: &str| {
        let bare = desk.command("");
        let mut command = Command::new("sh");
        command.arg(script).args(line.split_whitespace()).current_dir(desk.path("")).env_clear();
        command.envs(bare.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", programs.display()));
        finished(command, line)
    };
    let url = &lease.url;
    run(&format!(
        "{url} {url} h1 h2 -- --jobs 2 --workload SRV-QUERY1 --size 0.01 --warmup 0.5s \
                  --duration 1s"
    ))
    .ok();
    shared_test(url, 2);
    assert!(desk.path("worker-h1.log").exists() && desk.path("worker-h2.log").exists());
    let nobody = run(&format!("{url} {url}"));
    assert!(nobody.code == Some(2) && nobody.stderr.contains("name the hosts"), "{nobody:?}");
}
