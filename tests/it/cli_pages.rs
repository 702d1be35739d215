//! Page, test page and catalog from the command line, on a run of the embedded engine.

use crate::support::{Desk, WINDOW};

#[test]
fn a_page_has_the_run_its_charts_and_the_commands_that_made_it() {
    let desk = Desk::new();
    let two = WINDOW.replace("--jobs 1", "--jobs 1,2");
    desk.run(&format!("run {two} --quiet --name mine")).ok();
    let path = desk.path("page.html");
    desk.run(&format!("report html mine --output {}", path.display())).ok();
    let page = std::fs::read_to_string(&path).unwrap();
    for part in [
        "run 1 (mine)",
        "<article class=\"card\">",
        "<svg class=\"spark\"",
        "dbdyno report html mine",
        "--name mine",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    let same = desk.run("report html mine").ok().stdout;
    assert!(same.starts_with("<!DOCTYPE html>"), "a page may also go to standard output");
}

#[test]
fn one_test_is_named_by_run_and_number() {
    let desk = Desk::with_run();
    let text = desk.run("report test nightly:1").ok().stdout;
    for part in [
        "Run 1 test 1: SRV-QUERY1 at 1 job",
        "Contract and cross-check",
        "Snapshots",
        "select * from small",
    ] {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
    assert_eq!(
        desk.run("report test --test 1")
            .ok()
            .stdout
            .replace("report test --test 1", "report test nightly:1"),
        text
    );
    assert!(desk.run("report kpm last:1").ok().stdout.contains("SRV-QUERY1"));
    desk.run("report test last").fails(2, &["no test is named", "RUN:SEQ"]);
    desk.run("report test last:9").fails(2, &["no test 9 of run 1", "from 1 to 1"]);
}

#[test]
fn the_catalog_needs_no_run_and_shows_every_workload_on_every_engine() {
    let desk = Desk::new();
    let mut command = desk.command("report catalog");
    command.env("COLUMNS", "80");
    let text = crate::support::finished(command, "report catalog").ok().stdout;
    for workload in
        desk.run("list workloads --format json").ok().json()["workloads"].as_array().unwrap()
    {
        let id = workload["id"].as_str().unwrap();
        assert!(text.contains(&format!("\n{id}: ")), "no section of {id}");
    }
    for part in [
        "postgres, database drive: create the routine",
        "sqlite, client drive: each op",
        "Suite quick: ",
    ] {
        assert!(text.contains(part), "no '{part}'");
    }
    let code = |line: &&str| line.starts_with("    ");
    let too_wide = text.lines().filter(|line| !code(line)).find(|line| line.chars().count() > 80);
    assert_eq!(too_wide, None);
    desk.run("report catalog last").fails(2, &["catalog", "does not take a run"]);
}
