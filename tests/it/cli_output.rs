//! Destinations of output: standard output that cannot be written, a reader that went away, the
//! results file itself.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use dbdyno::store::Store;

use crate::fixture;
use crate::small_disk::SmallDisk;
use crate::support::{Desk, PRIVATE, TINY, ended, processes};

/// A results file with the runs `base` and `slow`, which is at half the speed.
fn desk() -> Desk {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    for (name, factor) in [("base", 1.0), ("slow", 0.5)] {
        let run = dbdyno::model::RunRecord { name: Some(name.into()), ..fixture::run() };
        let id = store.begin_run(&run).unwrap();
        for mut test in fixture::tests() {
            test.kpm_value = test.kpm_value.map(|value| factor * value);
            store.save_test(id, &test).unwrap();
        }
    }
    desk
}

/// Every write to it fails as on a full disk.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// A pipe whose reader went away.
fn broken() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Runs the program with this standard output.
fn run_into(desk: &Desk, line: &str, stdout: impl Into<Stdio>) -> crate::support::Done {
    let child = desk.command(line).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    ended(child, line)
}

#[test]
fn standard_output_that_cannot_be_written_is_an_error() {
    let desk = desk();
    for line in [
        "report kpm base",
        "report kpm base --format json",
        "compare base slow",
        "compare base slow --fail-below 5%",
        "results list",
        "results list --format json",
        "results export",
        "list workloads",
        "show suite quick",
        "completions bash",
        "man",
        "--help",
    ] {
        run_into(&desk, line, full()).fails(3, &["cannot be written", "space"]);
    }
    let measured = run_into(&desk, &format!("run {TINY} --quiet"), full());
    measured.fails(3, &["standard output", "space"]);
    assert_eq!(desk.runs()[2]["status"], "finished");
}

/// The datasheet as a pipe's reader gets it that asks for so many columns; empty = for none.
fn datasheet_in_pipe(desk: &Desk, columns: &str) -> String {
    let mut command = desk.command("report datasheet last");
    command.env("COLUMNS", columns);
    crate::support::finished(command, "report datasheet last").ok().stdout
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn a_pipe_is_as_wide_as_columns_says() {
    let desk = desk();
    let (narrow, wide) = (datasheet_in_pipe(&desk, "80"), datasheet_in_pipe(&desk, "200"));
    assert!(widest(&narrow) <= 80 && narrow.contains("columns are left out"), "{narrow}");
    assert!(widest(&wide) > 80 && widest(&wide) <= 200, "{wide}");
}

#[test]
fn a_pipe_whose_reader_asks_for_no_width_loses_no_column() {
    let desk = desk();
    let text = datasheet_in_pipe(&desk, "");
    assert!(!text.contains("left out at this width"), "{text}");
    let head = text.lines().find(|line| line.starts_with("Workload ")).unwrap();
    let columns = ["Parameters", "Drive", "Speed", "Throughput", "Unit", "Verdict"];
    assert!(columns.iter().all(|column| head.contains(column)), "{head}");
    // Sentences stay as narrow as people read them.
    let sentences = text.lines().filter(|line| line.starts_with("- "));
    assert!(sentences.map(|line| line.chars().count()).max().unwrap_or(0) <= 80, "{text}");
}

#[test]
fn a_report_is_in_the_language_asked_for_unless_programs_read_it() {
    let desk = desk();
    let german = |form: &str| {
        desk.run(&format!("report datasheet last --language de --format {form}")).ok().stdout
    };
    assert!(
        german("text").starts_with("Datenblatt: Lauf ") && german("markdown").contains("gültig")
    );
    assert!(german("html").contains("<html lang=\"de\">"));
    for form in ["csv", "json"] {
        let data = german(form);
        assert!(data.contains("Throughput") && !data.contains("Durchsatz"), "{data}");
    }
}

#[test]
fn a_reader_that_went_away_changes_neither_the_work_nor_its_verdict() {
    let desk = desk();
    for line in [
        "report kpm base",
        "results export --quiet",
        "list workloads",
        "compare base slow",
        "--help",
    ] {
        let done = run_into(&desk, line, broken()).ok();
        assert_eq!(done.stderr, "", "{line}");
    }
    run_into(&desk, "compare base slow --fail-below 5%", broken()).fails(1, &["--fail-below"]);
    for server in PRIVATE {
        let engine = server.engine;
        run_into(
            &desk,
            &format!("verify {engine} --size 0.01 --workload SRV-QUERY1 --quiet"),
            broken(),
        )
        .ok();
        assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
    }
}

#[test]
fn a_run_goes_on_when_nobody_reads_what_it_tells() {
    let desk = Desk::new();
    let line = format!("run postgres {TINY}");
    let both = desk.command(&line).stdout(broken()).stderr(broken()).status().unwrap();
    assert_eq!(both.code(), Some(0));
    assert_eq!(desk.runs()[0]["status"], "finished");
    assert_eq!(processes(&desk.data().display().to_string()), Vec::<String>::new());
}

#[test]
fn no_output_is_written_over_the_results_file() {
    let desk = desk();
    let results = desk.path("results.db");
    std::os::unix::fs::symlink(&results, desk.path("link.txt")).unwrap();
    std::fs::hard_link(&results, desk.path("again.txt")).unwrap();
    let before = std::fs::read(&results).unwrap();
    for name in ["results.db", "link.txt", "again.txt", "results.db-wal", "results.db-journal"] {
        let file = desk.path(name).display().to_string();
        for line in [
            format!("report kpm base --format text -o {file}"),
            format!("compare base slow --format csv -o {file}"),
            format!("compare base slow --format json -o {file}"),
            format!("compare base slow --junit {file}"),
            format!("results export -o {file}"),
        ] {
            desk.run(&line).fails(2, &[name, "results file", "name another file"]);
        }
        assert!(std::fs::read(&results).unwrap() == before, "{name}");
    }
    let page = desk.path("page.html").display().to_string();
    desk.run(&format!("run {TINY} --quiet --results {page} --report {page}"))
        .fails(2, &["page.html", "results file"]);
    assert!(!desk.path("page.html").exists() && desk.data_entries().is_empty());
}

#[test]
fn a_file_is_replaced_whole_and_a_link_or_a_device_stays_one() {
    let desk = desk();
    let (file, link) = (desk.path("report.txt"), desk.path("link.txt"));
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    desk.run(&format!("report kpm base -o {}", link.display())).ok();
    assert!(std::fs::read_to_string(&file).unwrap().contains("SRV-QUERY1"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let printed = desk.run("report kpm base --format text -o /dev/stdout").ok().stdout;
    assert!(printed.contains("SRV-QUERY1"), "{printed}");
    let names: Vec<_> =
        std::fs::read_dir(desk.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn a_file_that_does_not_fit_the_disk_leaves_the_former_one() {
    let Some(disk) = SmallDisk::mount(3) else { return };
    let desk = desk();
    let file = disk.path().join("runs.jsonl");
    std::fs::write(&file, "old").unwrap();
    disk.shrink(0);
    for line in ["results export", "report kpm base --format html"] {
        desk.run(&format!("{line} -o {}", file.display())).fails(2, &["runs.jsonl", "space"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(std::fs::read_dir(disk.path()).unwrap().count(), 1);
    }
}

/// Commands whose JSON no golden file of a report holds.
const LISTED: [&str; 13] = [
    "list workloads",
    "list workloads --plan quick",
    "list suites",
    "list engines",
    "list reports",
    "list profiles",
    "list formats",
    "show workload SRV-QUERY1",
    "show suite orabench",
    "show reason little",
    "show run base",
    "results list",
    "results show base",
];

/// Paths of the names in a JSON value, without the places in arrays, down to the second object.
fn names(json: &serde_json::Value, path: &str, depth: usize, found: &mut BTreeSet<String>) {
    match json {
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| names(item, &format!("{path}[]"), depth, found));
        }
        serde_json::Value::Object(fields) if depth > 0 => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                names(value, &path, depth - 1, found);
                found.insert(path);
            }
        }
        _ => {}
    }
}

/// Programs read these names: one that is gone or renamed breaks them (design.md: the JSON changes
/// only by adding).
#[test]
fn names_in_the_json_of_lists_are_those_that_programs_know() {
    let desk = desk();
    let mut text = String::new();
    for line in LISTED {
        let mut found = BTreeSet::new();
        let json = desk.run(&format!("{line} --format json")).ok().json();
        names(&json, "", 2, &mut found);
        assert!(!found.is_empty(), "{line}: {json:#}");
        text += &format!("{line}\n");
        found.iter().for_each(|name| text += &format!("  {name}\n"));
    }
    crate::reports::golden("json-names.text", &text).unwrap();
}
