//! Probes on this host: real values that move.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use dbdyno::host;
use dbdyno::probe::{ProbeContext, ProbeSet};
use serde_json::Value;

use crate::skipped::skipped;
use crate::support::{Desk, cpu_s, until};

/// Programs of others, one for each processor. They end with the test, also if it is killed.
struct Neighbours(Vec<Child>);

impl Neighbours {
    fn at_work() -> Neighbours {
        let script = "while kill -0 $0; do i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; done";
        let own = std::process::id().to_string();
        let start = |_| {
            Command::new("sh").args(["-c", script, &own]).stderr(Stdio::null()).spawn().unwrap()
        };
        let neighbours = Neighbours(
            (0..std::thread::available_parallelism().unwrap().get()).map(start).collect(),
        );
        let works = |child: &Child| cpu_s(child.id()).is_some_and(|s| s > 0.05);
        until("the neighbors work", || neighbours.0.iter().all(works));
        neighbours
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

/// The reasons that lowered a verdict when the test ended; its repetitions are compared after the
/// run.
fn codes(test: &Value) -> Vec<String> {
    let reasons = test["verdict"]["reasons"].as_array().unwrap().iter();
    let against =
        reasons.filter(|reason| reason["status"] != "valid" && reason["code"] != "repetitions");
    against.map(|reason| reason["code"].as_str().unwrap().to_string()).collect()
}

#[test]
fn a_busy_neighbor_lowers_the_verdict_whether_the_database_is_a_server_or_within_us() {
    let _neighbours = Neighbours::at_work();
    let desk = Desk::new();
    let mut called_slow = Vec::new();
    for target in ["sqlite", "postgres"] {
        let line = format!(
            "run {target} --size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0 --duration 1s \
             --retry-disturbed=1 --format json --quiet"
        );
        let tests = &desk.run(&line).ok().json()["tests"];
        let test = &tests[0];
        let against = codes(test);
        let disturbed = against
            .iter()
            .all(|code| ["steal", "foreign-load", "platform-unsteady"].contains(&&**code));
        assert_eq!(tests.as_array().unwrap().len(), 1 + usize::from(disturbed), "{against:?}");
        called_slow.push(against.contains(&"platform-unsteady".to_string()));
        assert_ne!(test["verdict"]["status"], "valid");
        let reasons = test["verdict"]["reasons"].as_array().unwrap();
        let foreign = reasons.iter().find(|reason| reason["code"] == "foreign-load");
        let foreign = foreign.unwrap_or_else(|| panic!("{target}: {reasons:#?}"));
        assert_eq!(foreign["status"], "conditional");
        assert!(
            foreign["text"].as_str().unwrap().starts_with("other processes used "),
            "{foreign}"
        );
    }
    // The host of a virtual machine may have slowed one of them down indeed.
    assert!(called_slow.contains(&false), "to wait for a processor does not make it slow");
}

#[test]
fn the_time_of_a_servers_processes_that_ended_stays_its_own() {
    let script = "for n in 1 2 3; do sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; \
                  echo $n; done; read end";
    let mut server = Command::new("sh");
    let mut server =
        server.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut probes =
        ProbeSet::host(&ProbeContext { server_pids: &[server.id()], ..ProbeContext::default() });
    let mut used = move || probes.read().counters.get("server_cpu_s").unwrap();
    let mut before = used();
    for line in BufReader::new(server.stdout.take().unwrap()).lines().take(3) {
        let now = used();
        assert!(now > before, "child {}: {now} s after {before} s", line.unwrap());
        before = now;
    }
    // The shell itself did next to nothing: it waited.
    let own_s = cpu_s(server.id()).unwrap();
    server.stdin.take();
    server.wait().unwrap();
    assert!(before > 3.0 * own_s, "{before} s, of which {own_s} s of the parent");
}

#[test]
fn the_host_is_read_and_cpu_time_moves() {
    let pid = [std::process::id()];
    let context = ProbeContext {
        storage: Some(Path::new(".")),
        server_pids: &pid,
        ..ProbeContext::default()
    };
    let mut probes = ProbeSet::host(&context);
    let begin = probes.read();
    assert!(begin.failed.is_empty(), "{:?}", begin.failed);
    let mut end = probes.read();
    while end.counters.since(&begin.counters).get("self_cpu_s").unwrap_or_default() < 0.03 {
        end = probes.read();
    }
    let delta = end.counters.since(&begin.counters);
    assert!(delta.get("os_cpu_total_s").unwrap() > 0.0);
    assert!(delta.get("server_cpu_s").unwrap() > 0.0);
    assert!(end.counters.get("os_mem_available_bytes").unwrap() > 1e6);
}

/// A control group below the root of the unified hierarchy, or of the older one for CPUs.
struct Group(PathBuf);

impl Group {
    /// A new one that may use this share of a CPU, in microseconds of each 100,000.
    ///
    /// # Errors
    /// The reason for which none can be made here.
    fn with_quota(quota_us: u32) -> Result<Group, String> {
        let root = Path::new("/sys/fs/cgroup");
        let enabled = std::fs::read_to_string(root.join("cgroup.subtree_control"));
        let is_unified = enabled.unwrap_or_default().split_whitespace().any(|one| one == "cpu");
        let older = root.join("cpu/cpu.cfs_quota_us");
        let (parent, file, quota) = match is_unified {
            true => (root.to_path_buf(), "cpu.max", format!("{quota_us} 100000")),
            false if older.exists() => (root.join("cpu"), "cpu.cfs_quota_us", quota_us.to_string()),
            false => return Err("no control group here can have a CPU quota".into()),
        };
        let group = Group(parent.join(format!("dbdyno-test-{}", std::process::id())));
        std::fs::create_dir(&group.0)
            .and_then(|()| std::fs::write(group.0.join(file), quota))
            .map_err(|error| format!("no control group can be made here: {error}"))?;
        Ok(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn the_time_for_which_its_quota_stops_a_server_is_known() {
    let group = match Group::with_quota(10_000) {
        Ok(group) => group,
        Err(why) => return skipped("CGROUP", why),
    };
    let script = "while kill -0 $0; do i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done; done";
    let own = std::process::id().to_string();
    let server = Command::new("sh").args(["-c", script, &own]).stderr(Stdio::null()).spawn();
    // It ends before its group is removed.
    let server = Neighbours(vec![server.unwrap()]);
    let pids = [server.0[0].id()];
    if let Err(error) = std::fs::write(group.0.join("cgroup.procs"), pids[0].to_string()) {
        return skipped("CGROUP", format!("no process can be put into a control group: {error}"));
    }
    let mut probes =
        ProbeSet::host(&ProbeContext { server_pids: &pids, ..ProbeContext::default() });
    until("the quota has stopped it", || {
        let stopped_s = probes.read().counters.get("server_throttled_s");
        stopped_s.is_some_and(|stopped_s| stopped_s > 0.1)
    });
    assert_eq!(host::CpuGroups::around(&pids).unwrap().quota_cpus(), Some(0.1));
}

#[test]
fn the_disclosure_has_its_sections() {
    let disclosure = host::disclosure(Some(Path::new(".")));
    for (section, key) in [
        ("hardware", "threads"),
        ("os", "kernel"),
        ("storage", "file_system"),
        ("dbdyno", "version"),
    ] {
        assert!(disclosure.get(section, key).is_some(), "{section}.{key}");
    }
}

/// The causes of noise that `check` names for a target.
pub fn noises(target: &str) -> Vec<String> {
    let found = Desk::new().run(&format!("check {target} --noise --size 0.01")).ok().stdout;
    found
        .lines()
        .filter_map(|line| line.strip_prefix("noise "))
        .map(|line| line.trim().to_string())
        .collect()
}

#[test]
fn causes_of_noise_are_named_with_what_to_do() {
    let _neighbours = Neighbours::at_work();
    // Tests beside this one may use more for a while.
    until("the neighbors are named first", || {
        let found = noises("sqlite");
        found[0].starts_with("other processes use ")
            && found[0].contains("sh")
            && found[0].contains("; stop them")
    });
}
