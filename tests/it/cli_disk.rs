//! Full disks: a small file system in memory, where we may mount one (as root); else these tests pass over.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::support::{Desk, PRIVATE, TINY, done, processes, until};

/// A mounted file system of some megabytes; unmounted when dropped.
struct SmallDisk {
    path: PathBuf,
    _dir: tempfile::TempDir,
}

impl SmallDisk {
    fn mount(megabytes: u32) -> Option<SmallDisk> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let dir = Desk::new().into_dir();
        let path = dir.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let options = format!("size={megabytes}m,mode=755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&path).stderr(Stdio::null());
        let mounted = mount.status().is_ok_and(|status| status.success());
        mounted.then_some(SmallDisk { path, _dir: dir })
    }

    /// Takes all space that is free.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.path.join("fill")).unwrap();
        let block = vec![0; 64 * 1024];
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
    }

    fn free(&self) {
        std::fs::remove_file(self.path.join("fill")).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.path).status();
    }
}

#[test]
fn a_full_disk_under_the_results_file_is_one_line() {
    let Some(disk) = SmallDisk::mount(3) else { return };
    let desk = Desk::new();
    let results = disk.path.join("results.db");
    disk.fill();
    let line = format!("run {TINY} --quiet --results {}", results.display());
    desk.run(&line).fails(3, &["results.db", "disk is full", "--results"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    disk.free();
    desk.run(&line).ok();
    // Full in the middle: the first test is stored, or not, but what is there can be read.
    disk.fill();
    desk.run(&line).fails(3, &["results.db", "disk"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    disk.free();
    let list = desk.run(&format!("runs list --format json --results {}", results.display())).ok().json();
    assert_eq!(list["runs"][0]["status"], "finished");
    desk.run(&line).ok();
}

#[test]
fn a_disk_that_gets_full_while_loading_is_one_line_that_names_the_table() {
    let Some(disk) = SmallDisk::mount(900) else { return };
    let desk = Desk::new();
    let data = disk.path.join("data");
    let line = format!("load --quiet --size 0.5 --workload STO-READ --data-dir {}", data.display());
    let load = desk.spawn(&line);
    let file = data.join("dbdyno-sqlite.db");
    until("rows are being loaded", || std::fs::metadata(&file).is_ok_and(|file| file.len() > 5_000_000));
    disk.fill();
    let load = done(load.wait_with_output().unwrap(), &line);
    load.fails(3, &["disk is full", "big", "--size"]);
    disk.free();
    desk.run(&format!("load --quiet --size 0.01 --workload SRV-QUERY1 --data-dir {}", data.display())).ok();
}

#[test]
fn a_private_server_whose_disk_gets_full_is_removed() {
    for server in PRIVATE {
        let Some(disk) = SmallDisk::mount(900) else { return };
        let (desk, engine) = (Desk::new(), server.engine);
        let data = disk.path.join("data");
        let line =
            format!("run {engine} --quiet --size 0.5 --workload STO-READ --jobs 1 --data-dir {}", data.display());
        let run = desk.spawn(&line);
        until("rows are being loaded", || server.rows_are_loaded(&data));
        disk.fill();
        let failed = done(run.wait_with_output().unwrap(), &line).fails(3, &[engine]);
        assert!(server.full_disk.iter().all(|words| failed.stderr.contains(words)), "{failed:#?}");
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0, "left behind");
        assert_eq!(processes(&data.display().to_string()), Vec::<String>::new());
        let runs = desk.runs();
        assert_eq!(runs[0]["status"], "failed");
    }
}
