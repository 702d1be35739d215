//! Full disks.

use std::process::{Command, Stdio};

use crate::small_disk::SmallDisk;
use crate::support::{Desk, PRIVATE, TINY, bytes_in, ended, finished, processes, until};

/// Free bytes of a disk that counts as full: nothing that a load could do with.
const LEFT_BYTES: u64 = 2_000_000;

#[test]
fn a_full_disk_under_the_results_file_is_one_line() {
    let Some(disk) = SmallDisk::mount(3) else { return };
    let desk = Desk::new();
    let results = disk.path().join("results.db");
    disk.shrink(0);
    let line = format!("run {TINY} --quiet --results {}", results.display());
    desk.run(&line).fails(3, &["results.db", "disk is full", "--results"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    disk.restore();
    desk.run(&line).ok();
    // Full in the middle: the first test is stored, or not, but what is there can be read.
    disk.shrink(0);
    desk.run(&line).fails(3, &["results.db", "disk"]);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    disk.restore();
    let list = desk
        .run(&format!("results list --format json --results {}", results.display()))
        .ok()
        .json();
    assert_eq!(list["runs"][0]["status"], "finished");
    desk.run(&line).ok();
}

#[test]
fn a_disk_that_gets_full_while_loading_is_one_line_that_names_the_table() {
    for engine in ["sqlite", "duckdb"] {
        let Some(disk) = SmallDisk::mount(900) else { return };
        let desk = Desk::new();
        let data = disk.path().join("data");
        let line = format!(
            "load {engine} --quiet --size 0.5 --workload STO-READ --data-dir {}",
            data.display()
        );
        let load = desk.spawn(&line);
        until("rows are being loaded", || bytes_in(&data) > 5_000_000);
        disk.shrink(LEFT_BYTES);
        let load = ended(load, &line);
        load.fails(3, &["disk is full", "big", "--size"]);
        disk.restore();
        desk.run(&format!(
            "load {engine} --quiet --size 0.01 --workload SRV-QUERY1 --data-dir {}",
            data.display()
        ))
        .ok();
    }
}

#[test]
fn data_whose_file_may_not_be_so_long_are_refused_before_they_are_loaded() {
    for target in ["sqlite", "postgres"] {
        let desk = Desk::new();
        let line = format!("run {target} --quiet --size 0.5 --workload STO-READ --jobs 1");
        // Enough for a new server and its log; in blocks of 512 or 1024 bytes.
        let command = desk.command(&line);
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -f 100000; exec \"$0\" \"$@\""]);
        shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
        let variables = command.get_envs();
        shell.env_clear().envs(variables.filter_map(|(name, value)| Some((name, value?))));
        let failed = finished(shell, &line).fails(3, &["loading writes a file of", "ulimit -f"]);
        assert!(failed.stderr.contains("choose a smaller --size"), "{failed:#?}");
    }
}

#[test]
fn a_private_server_whose_disk_gets_full_is_removed() {
    for server in PRIVATE {
        let Some(disk) = SmallDisk::mount(900) else { return };
        let (desk, engine) = (Desk::new(), server.engine);
        let data = disk.path().join("data");
        let line = format!(
            "run {engine} --quiet --size 0.5 --workload STO-READ --jobs 1 --data-dir {}",
            data.display()
        );
        let run = desk.spawn(&line);
        until("rows are being loaded", || server.rows_are_loaded(&data));
        disk.shrink(LEFT_BYTES);
        let failed = ended(run, &line).fails(3, &[engine]);
        assert!(server.full_disk.iter().all(|words| failed.stderr.contains(words)), "{failed:#?}");
        assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0, "left behind");
        assert_eq!(processes(&data.display().to_string()), Vec::<String>::new());
        let runs = desk.runs();
        assert_eq!(runs[0]["status"], "failed");
    }
}
