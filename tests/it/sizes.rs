//! Size of a run, and its messages about a size that is wrong for its workloads.

use crate::support::Desk;

#[test]
fn a_size_at_which_a_workload_cannot_be_what_it_says_is_named_in_one_line() {
    let desk = Desk::new();
    let run = |workload: &str| {
        let line =
            format!("run sqlite --size 0.01 --workload {workload} --jobs 1 --warmup 0 --ops 2");
        desk.run(&line).ok().stderr
    };
    let said = run("STO-READ");
    let lines: Vec<_> = said.lines().filter(|line| line.contains("may be invalid")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(
        lines[0].starts_with("STO-READ ") && lines[0].contains("has 14 MB at 0.01 GB"),
        "{lines:?}"
    );
    assert!(
        lines[0].ends_with("the cache of profile XS 17 MB; use --size 0.12 or more"),
        "{lines:?}"
    );
    let said = run("SRV-QUERY1");
    assert!(!said.contains("may be invalid"), "{said}");
}

#[test]
fn a_named_profile_brings_its_size_and_a_named_size_goes_before() {
    let desk = Desk::new();
    let needed = |args: &str| {
        let checked = desk.run(&format!("check sqlite --suite quick {args}"));
        let words = checked.stdout.split_whitespace().collect::<Vec<_>>();
        let at = words.iter().position(|word| *word == "needed" || *word == "needed;").unwrap();
        words[at - 2].to_string()
    };
    // 660 bytes for each of 516,000 rows (the size of quick), of 1,032,000 or of 132,000,000, and
    // 0.2 GB.
    assert_eq!(
        [needed(""), needed("--profile xs"), needed("--profile S --size 1")],
        ["0.5", "0.5", "0.9"]
    );
    assert_eq!(needed("--profile S"), "87.3");
}
