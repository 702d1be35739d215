//! Details of `--version` beside the version: the commit and the kind of build. And the test of a
//! live Oracle server is ignored, with the reason, unless the environment names one.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=DBDYNO_TEST_ORACLE");
    println!("cargo:rustc-check-cfg=cfg(oracle_server)");
    if std::env::var_os("DBDYNO_TEST_ORACLE").is_some() {
        println!("cargo:rustc-cfg=oracle_server");
    }
    println!("cargo:rustc-env=DBDYNO_BUILD={}", build());
}

/// The build in words: "commit 1a2b3c4d5e of 2026-11-26, release build". A debug build names no
/// commit: it is one of somebody who changes the sources, and would be built anew at each commit.
fn build() -> String {
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return "debug build".into();
    }
    match commit().or_else(packaged_commit) {
        Some(commit) => format!("commit {commit}, release build"),
        None => "release build".into(),
    }
}

/// The commit of a clone of the repository, with its date; `None` elsewhere.
fn commit() -> Option<String> {
    if !Path::new(".git").exists() {
        return None;
    }
    println!("cargo:rerun-if-changed=.git/HEAD");
    println!("cargo:rerun-if-changed=.git/logs/HEAD");
    let format = ["log", "-1", "--abbrev=10", "--format=%h of %cd", "--date=short-local"];
    let output = Command::new("git").args(format).env("TZ", "UTC").output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !line.is_empty()).then_some(line)
}

/// The commit that `cargo package` writes into what it packs; `None` elsewhere.
fn packaged_commit() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let hash = text.split("\"sha1\": \"").nth(1)?.split('"').next()?;
    hash.get(..10).map(str::to_string)
}
