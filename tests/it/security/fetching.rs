//! Registries and mirrors: an archive that they changed is not unpacked, let alone run.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::host::trap;
use crate::support::{Desk, Done, finished};

/// A directory with a program of this name, before those that the tests are run with.
fn program(desk: &Desk, name: &str, script: &str) -> String {
    let directory = desk.path("programs");
    std::fs::create_dir_all(&directory).unwrap();
    let program = directory.join(name);
    std::fs::write(&program, format!("#!/bin/sh\nset -eu\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:{}", directory.display(), std::env::var("PATH").unwrap())
}

fn fetch_with(desk: &Desk, line: &str, path: &str) -> Done {
    let mut command = desk.command(line);
    command.env("PATH", path).env("XDG_CACHE_HOME", cache(desk));
    finished(command, line)
}

fn cache(desk: &Desk) -> PathBuf {
    desk.path("cache")
}

#[track_caller]
fn assert_cache_is_empty(desk: &Desk) {
    let left = std::fs::read_dir(cache(desk).join("dbdyno")).unwrap().count();
    assert_eq!(left, 0, "a refused archive leaves nothing");
}

fn pack(tar_option: &str, archive: &Path, directory: &Path, name: &str) {
    let mut tar = Command::new("tar");
    tar.arg(tar_option).arg(archive).arg("-C").arg(directory).arg(name);
    assert!(tar.status().unwrap().success());
}

#[test]
fn a_library_that_a_registry_changed_is_not_loaded() {
    let desk = Desk::new();
    let package = desk.path("package");
    std::fs::create_dir(&package).unwrap();
    let trace = trap(&desk, &package.join("libduckdb.so"));
    let archive = desk.path("changed.tgz");
    pack("-czf", &archive, &desk.path(""), "package");
    // npm pack ... --pack-destination DIR WANTED
    let script = format!(
        "while [ \"$1\" != --pack-destination ]; do shift; done\ncp {} \"$2\"/changed.tgz",
        archive.display()
    );
    let path = program(&desk, "npm", &script);
    fetch_with(&desk, "binaries fetch duckdb", &path)
        .fails(3, &["SHA-256", "instead of", "nothing was unpacked"]);
    assert!(!trace.exists(), "it was run");
    assert_cache_is_empty(&desk);
    // A version whose content is not known: the trap works.
    fetch_with(&desk, "binaries fetch duckdb --version 1.99.9", &path);
    assert!(trace.exists(), "the test can fail");
}

#[test]
fn a_server_that_a_mirror_changed_is_not_run() {
    let desk = Desk::new();
    let (trace, content) = (desk.path("trace"), desk.path("content"));
    let programs = content.join("bin");
    std::fs::create_dir_all(&programs).unwrap();
    for name in ["postgres", "initdb"] {
        let program = programs.join(name);
        std::fs::write(&program, format!("#!/bin/sh\n: > {}\n", trace.display())).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let archive = desk.path("server.txz");
    pack("-cJf", &archive, &content, "bin");
    let jar = desk.path("changed.jar");
    let mut writer = zip::ZipWriter::new(std::fs::File::create(&jar).unwrap());
    writer.start_file("server.txz", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::copy(&mut std::fs::File::open(&archive).unwrap(), &mut writer).unwrap();
    writer.finish().unwrap();
    // mvn ... -Dartifact=GROUP:NAME:VERSION:jar -DoutputDirectory=DIR
    let script = format!(
        "for word; do\n  case $word in\n    -Dartifact=*) artifact=${{word#*:}} ;;\n    \
         -DoutputDirectory=*) directory=${{word#*=}} ;;\n  esac\ndone\n\
         artifact=${{artifact%:jar}}\n\
         cp {} \"$directory/${{artifact%%:*}}-${{artifact#*:}}.jar\"",
        jar.display()
    );
    let path = program(&desk, "mvn", &script);
    fetch_with(&desk, "binaries fetch postgres", &path)
        .fails(3, &["SHA-256", "instead of", "nothing was unpacked"]);
    assert!(!trace.exists(), "it was run");
    assert_cache_is_empty(&desk);
    fetch_with(&desk, "binaries fetch postgres --version 99.0.0", &path);
    assert!(trace.exists(), "the test can fail");
}
