//! The stamp of commits: durable, relaxed by the settings, or faster than the device can be; and
//! what tests leave to be done.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use dbdyno::analysis::{contract, fixture};
use serde_json::Value;

use crate::support::{
    Desk, PRIVATE, assert_run_schema, column, directory, finished, newest_postgres, try_session_of,
};

const LINE: &str =
    "--workload LGWR-LAT --jobs 1 --size 0.01 --warmup 200ms --duration 1s --format json --quiet";

/// A file system that says it has written.
const LIAR: &str = "int fsync(int fd) { return 0; }\nint fdatasync(int fd) { return 0; }\n";

/// The programs of a PostgreSQL whose writes to the disk return at once, whatever its settings say.
fn lying_postgres(dir: &Path) -> PathBuf {
    let (source, library, programs) =
        (dir.join("liar.c"), dir.join("liar.so"), dir.join("programs"));
    std::fs::write(&source, LIAR).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    finished(compiler, "cc").ok();
    std::fs::create_dir(&programs).unwrap();
    let honest = newest_postgres();
    for program in std::fs::read_dir(&honest)
        .unwrap()
        .flatten()
        .filter(|program| program.file_name() != "postgres")
    {
        symlink(program.path(), programs.join(program.file_name())).unwrap();
    }
    let [library, honest] =
        [library, honest.join("postgres")].map(|path| path.display().to_string());
    let script = programs.join("postgres");
    std::fs::write(&script, format!("#!/bin/sh\nLD_PRELOAD={library} exec {honest} \"$@\"\n"))
        .unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    programs
}

fn codes(test: &Value) -> Vec<&str> {
    let reasons = test["verdict"]["reasons"].as_array().unwrap().iter();
    reasons.map(|reason| reason["code"].as_str().unwrap()).collect()
}

#[test]
fn commits_that_the_device_cannot_have_made_durable_are_found_out() {
    let desk = Desk::new();
    let dir = directory();
    let programs = lying_postgres(dir.path());
    let run =
        desk.run(&format!("run postgres --server-bin {} {LINE}", programs.display())).ok().json();
    let (test, device) = (&run["tests"][0], &run["device_sync"]);
    let rate = |name: &str| device[name].as_f64().unwrap();
    let together = rate("fdatasync_all_per_s").max(rate("dsync_all_per_s")) / rate("threads");
    let best = rate("fdatasync_per_s").max(rate("dsync_per_s")).max(together);
    let commits = test["commits"].as_f64().unwrap() / test["elapsed_s"].as_f64().unwrap();
    eprintln!("{commits:.0} commits/s, the device {best:.0}/s");
    // On a disk as fast as the lie nobody can tell.
    if commits > 6.0 * best {
        assert_eq!(
            (&test["durability"], &test["verdict"]["status"]),
            (&"implausible".into(), &"invalid".into())
        );
        assert!(codes(test).contains(&"implausible"), "{:?}", codes(test));
    }
}

#[test]
fn commits_that_wait_are_durable_and_those_that_do_not_by_the_settings_relaxed() {
    let desk = Desk::new();
    for (target, options, stamp) in [
        ("sqlite", "", "durable"),
        ("postgres", "", "durable"),
        ("mariadb", "", "durable"),
        ("postgres", "--workload DL-STREAM", "relaxed"),
    ] {
        let run = desk.run(&format!("run {target} {LINE} {options}")).ok().json();
        let test = run["tests"].as_array().unwrap().last().unwrap();
        assert_eq!(
            test["durability"],
            stamp,
            "{target}: {:?}, {}",
            codes(test),
            run["device_sync"]
        );
        assert_eq!(codes(test).contains(&"durability"), stamp == "relaxed", "{target}");
        // What a later run of this platform compares the speed of its device with.
        let counters = last_test(&desk)["counters"].take();
        let [writes, elapsed_s] =
            ["device_syncs", "device_sync_s"].map(|name| counters[name].as_f64().unwrap());
        assert!(writes >= 3.0 && elapsed_s > 0.0, "{target}: {writes} in {elapsed_s} s");
    }
    let sheet = desk.run("report kpm --format markdown").ok().stdout;
    assert!(sheet.contains("Durability") && sheet.contains("relaxed"), "{sheet}");
    assert!(desk.run("report datasheet").ok().stdout.contains("Durable writes"));
    assert!(desk.run("report test last:1").ok().stdout.contains("with O_DSYNC"));
}

/// The last test of the last run, as it is stored.
fn last_test(desk: &Desk) -> Value {
    let export = desk.run("results export last").ok().stdout;
    let mut lines = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.rfind(|line| line["test"].is_object()).unwrap()["test"].take()
}

/// The readings of the first test of an export: of each moment the gauges and counters.
fn readings(desk: &Desk) -> Value {
    let export = desk.run("results export last").ok().stdout;
    let mut lines = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.find(|line| line["test"].is_object()).unwrap();
    let snapshots = line["test"]["snapshots"].as_array().unwrap().iter();
    snapshots
        .map(|snapshot| {
            (snapshot["moment"].as_str().unwrap().to_string(), snapshot["counters"].clone())
        })
        .collect()
}

#[test]
fn what_a_test_leaves_is_done_after_it_and_counted_into_what_lasts() {
    const LINE: &str = "--workload DBWR-THR --jobs 1 --size 0.01 --warmup 200ms --duration 1s \
                        --format json --quiet";
    for target in ["sqlite", "postgres", "mariadb"] {
        let desk = Desk::new();
        let run = desk.run(&format!("run {target} {LINE}")).ok().json();
        assert_run_schema(&run);
        let lasts = &run["tests"][0]["sustained"];
        let readings = readings(&desk);
        let (end, paid) = (&readings["end"], &readings["paid"]);
        let gauges: Vec<&String> =
            end.as_object().unwrap().keys().filter(|name| name.starts_with("debt_")).collect();
        assert_eq!(gauges.is_empty(), target == "sqlite", "{gauges:?}");
        let owed = |name: &String| end[name].as_f64() > readings["begin"][name].as_f64();
        eprintln!("{target}: {lasts} {gauges:?}");
        // A page cleaner may be kept from its work by others on the machine; a statement does what
        // it is to do.
        if target == "mariadb" && lasts["state"] == "burst" {
            continue;
        }
        let (pay_back_s, value) =
            (lasts["pay_back_s"].as_f64().unwrap(), lasts["kpm_value"].as_f64().unwrap());
        assert_eq!(paid["pay_back_s"].as_f64(), Some(pay_back_s), "{target}");
        assert!(pay_back_s > 0.0 && value > 0.0 && lasts["state"] != "burst", "{target}: {lasts}");
        for name in gauges.into_iter().filter(|name| owed(name)) {
            assert!(
                paid[name].as_f64() < end[name].as_f64(),
                "{target}: {name} {} {}",
                end[name],
                paid[name]
            );
        }
        let page = desk.run("report test last:1").ok().stdout;
        assert!(page.contains("Burst and sustained rate"), "{page}");
        assert!(desk.run("report kpm --format csv").ok().stdout.contains("Sustained,Pay-back [s]"));
    }
}

#[test]
fn a_server_that_was_made_to_hurry_has_its_settings_back() {
    const LINE: &str =
        "--workload LGWR-LAT --jobs 1 --size 0.01 --warmup 0 --duration 500ms --quiet";
    const SETTINGS: &str = "select @@global.innodb_max_dirty_pages_pct union all select \
                            @@global.innodb_max_dirty_pages_pct_lwm";
    let desk = Desk::new();
    let server = PRIVATE.into_iter().find(|server| server.engine == "mariadb").unwrap();
    desk.run("load mariadb --quiet --size 0.01 --workload LGWR-LAT").ok();
    let settings = || {
        let mut session = try_session_of(server.engine, &server.url(&desk.data())).unwrap();
        column(session.as_mut(), SETTINGS)
    };
    let before = settings();
    desk.run(&format!("run mariadb {LINE} --keep")).ok();
    assert_eq!(settings(), before);
    assert_ne!(before[0].parse::<f64>().unwrap(), 0.0);
    desk.run("clean mariadb").ok();
}

#[test]
fn a_few_blocks_of_a_writer_that_has_hardly_begun_are_a_burst() {
    let catalog = crate::support::catalog();
    let writer = &catalog.find("DBWR-THR").unwrap().entry.workload;
    let bursts = |engine: &str, written: f64| {
        let mut result = fixture::result();
        result.params =
            [("rows", "320"), ("org", "default")].map(|(a, b)| (a.into(), b.into())).into();
        result.counters = fixture::counters(&[("blocks_written", written), ("checkpoints", 1.0)]);
        let reasons = contract::judge(&result, &writer.contract, engine);
        let burst = reasons.iter().filter(|reason| reason.code.as_str() == "burst");
        burst.map(|reason| reason.text.to_string()).collect::<Vec<_>>()
    };
    // Two jobs with two sets of 320 blocks each: an InnoDB that writes 69 of them, as often seen in
    // a second, has put off all others.
    let [one] = &bursts("mariadb", 69.0)[..] else { panic!("no burst") };
    assert!(one.starts_with("blocks_written = 69, must be at least 1280: a burst"), "{one}");
    assert_eq!(bursts("mariadb", 1_280.0), [""; 0]);
    assert_eq!(bursts("postgres", 69.0), [""; 0], "its checkpoint has written all");
}
