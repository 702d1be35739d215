//! `make peers`: interrupted, it leaves no server and no file; and it compiles no dependency anew.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal};

use crate::support::{PRIVATE, column, directory, ended, processes, try_session, until};

/// Cargo on this workspace.
fn cargo(args: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo tells of the package whose tests run: build scripts of others would run again for
    // it, and once more after us.
    for (name, _) in std::env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"]
            .iter()
            .any(|of| name.to_string_lossy().starts_with(of))
        {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// The program, which `make test` has built before: with these tests, whose dependencies have more
/// features.
fn peers() -> PathBuf {
    let mut build = cargo(&["build", "--quiet", "--workspace", "--test", "it", "--bin", "peers"]);
    // However long it takes: beside others a compiler may need more than any command of ours.
    assert!(build.status().unwrap().success(), "cargo build");
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("peers")
}

/// The features of packages, by the package.
type Packages = BTreeMap<String, BTreeSet<String>>;

/// Packages that a build of this choice compiles for what it has these edges to, each with its
/// features.
fn compiled_packages(edges: &str, choice: &[&str]) -> Packages {
    let mut tree = cargo(&["tree", "--offline", "--locked", "--prefix", "none"]);
    tree.args(["--format", "{p}|{f}", "--edges", edges]).args(choice);
    let output = tree.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut packages = Packages::new();
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let line = line.trim_end_matches(" (*)");
        let (package, features) = line.split_once('|').unwrap();
        packages.entry(package.to_owned()).or_default().insert(features.to_owned());
    }
    packages
}

#[test]
fn the_tools_compile_no_dependency_that_the_program_has_with_other_features() {
    let program = compiled_packages("normal,build", &["--package", "dbdyno"]);
    let tools = compiled_packages("normal,build", &["--package", "dbdyno-tools"]);
    assert!(program.len() > 100 && tools.len() > program.len(), "{}", tools.len());
    assert_same_features(&program, &tools);
}

#[test]
fn the_workspace_compiles_nothing_that_the_tests_have_with_other_features() {
    let tests = compiled_packages("normal,build,dev", &["--package", "dbdyno"]);
    let workspace = compiled_packages("normal,build,dev", &["--workspace"]);
    assert!(tests.len() > 200, "{}", tests.len());
    assert_same_features(&tests, &workspace);
}

fn assert_same_features(packages: &Packages, others: &Packages) {
    let other: Vec<_> = packages
        .iter()
        .filter(|(package, features)| others.get(*package) != Some(features))
        .collect();
    assert!(other.is_empty(), "{other:#?}");
}

#[test]
fn ctrl_c_leaves_no_server_behind() {
    let dir = directory();
    let name = dir.path().display().to_string();
    let mut peers = Command::new(peers());
    // Minutes of it, as if nobody interrupted it.
    peers
        .args(["harness", "--pairs", "1", "--seconds", "600", "--data-dir", &name])
        .process_group(0);
    let mut peers = peers.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let url = PRIVATE[0].url(&dir.path().join(format!("dbdyno-peers-{}", peers.id())));
    let busy = "select count(*) from pg_stat_activity where state = 'active' and query like \
                '%w_srv_query1%' and pid <> pg_backend_pid() and now() - query_start > interval \
                '100 ms'";
    let mut has_ended = false;
    until("a job runs", || {
        has_ended = peers.try_wait().unwrap().is_some();
        has_ended
            || try_session(&url).is_some_and(|mut session| column(session.as_mut(), busy) == ["1"])
    });
    assert!(!has_ended, "before a job ran: {:#?}", ended(peers, "peers"));
    // As the terminal does it: to the whole group.
    rustix::process::kill_process_group(Pid::from_child(&peers), Signal::INT).unwrap();
    let done = ended(peers, "peers");
    assert!(done.code == Some(130) && done.stderr.contains("interrupted"), "{done:#?}");
    assert_eq!(processes(&name), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "left behind");
}
