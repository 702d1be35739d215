//! `run` on the embedded engine, and what is made of its results.

use crate::support::{Desk, TINY, WINDOW, assert_run_schema};

#[test]
fn a_run_ends_with_the_path_of_a_page_that_shows_every_test() {
    let desk = Desk::new();
    let run = desk.run(&format!("run {TINY}")).ok();
    let page = desk.path("run-1.html");
    assert!(run.stderr.contains(&page.display().to_string()), "{run:#?}");
    assert!(std::fs::read_to_string(page).unwrap().contains("SRV-QUERY1"));
}

#[test]
fn a_run_shows_the_table_and_the_datasheet_and_is_stored() {
    let desk = Desk::new();
    let line = format!("run {TINY}");
    let mut command = desk.command(&line);
    command.env("COLUMNS", "80");
    let first = crate::support::finished(command, &line).ok();
    for text in [
        "  # workload",
        "  1 SRV-QUERY1  ",
        "Datasheet: run 1 on sqlite",
        "Key performance metrics",
    ] {
        assert!(first.stdout.contains(text), "no '{text}' in {}", first.stdout);
    }
    let wide: Vec<_> = first.stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(!first.stdout.contains('\x1b') && !first.stderr.contains('\x1b'));
    // One line per table, not one per phase.
    assert_eq!(
        first.stderr.lines().filter(|line| line.contains("table small")).count(),
        1,
        "{}",
        first.stderr
    );
    let second = desk.run(&format!("run {TINY}")).ok();
    assert!(second.stdout.contains("Datasheet: run 2 on sqlite"));
    let list = desk.run("results list --format json").ok().json();
    let runs = list["runs"].as_array().unwrap();
    let ids: Vec<_> = runs.iter().map(|run| run["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, [1, 2]);
    assert_eq!(*runs, desk.runs(), "what tests read by the library is what it lists");
    for key in ["id", "name", "target", "engine", "started_at", "status", "tests"] {
        assert!(runs[0].get(key).is_some(), "{key}");
    }
    assert_eq!((&runs[1]["status"], &runs[1]["tests"]), (&"finished".into(), &1.into()));
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
}

#[test]
fn other_jobs_than_were_asked_for_are_announced() {
    let desk = Desk::new();
    let line =
        "run --size 0.01 --workload SRV-MIXED --jobs 1 --warmup 0 --duration 100ms --format json";
    let run = desk.run(line).ok();
    assert_eq!(run.json()["tests"][0]["jobs"], 4);
    assert!(
        run.stderr.contains("SRV-MIXED: jobs are multiples of 4, an equal number for each part"),
        "{}",
        run.stderr
    );
}

#[test]
fn json_is_one_document_on_standard_output_and_nothing_else() {
    let desk = Desk::new();
    let run = desk
        .run(&format!("run {WINDOW} --format json --name first --label disk=nvme --label rack=7"))
        .ok();
    let document = run.json();
    assert_run_schema(&document);
    assert_eq!((&document["name"], &document["labels"]["disk"]), (&"first".into(), &"nvme".into()));
    let test = &document["tests"][0];
    assert_eq!((&test["workload"], &test["unit"]), (&"SRV-QUERY1".into(), &"qps".into()));
    assert!(test["ops"].as_u64().unwrap() > 0 && test["throughput"].as_f64().unwrap() > 0.0);
    assert!(run.stderr.contains("run 1"), "progress goes to standard error: {}", run.stderr);
    let quiet = desk.run(&format!("run {TINY} --format json --quiet")).ok();
    assert_eq!((quiet.json()["run_id"].as_i64(), quiet.stderr.as_str()), (Some(2), ""));
    let shown = desk.run("results show first --format json").ok().json();
    assert_eq!(shown, document);
    assert_eq!(desk.shown("first"), document, "what tests read by the library is what it shows");
}

#[test]
fn a_report_file_has_the_format_of_its_ending() {
    let desk = Desk::new();
    for (ending, begins) in [("md", "#"), ("html", "<!"), ("csv", ""), ("json", "{"), ("txt", "")] {
        let path = desk.path(&format!("report.{ending}"));
        let run = desk.run(&format!("run {TINY} --quiet --report {}", path.display())).ok();
        assert_eq!(run.stderr, "");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.to_lowercase().starts_with(begins) && text.contains("SRV-QUERY1"),
            "{ending}: {text}"
        );
    }
    let json = std::fs::read_to_string(desk.path("report.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
}

#[test]
fn a_run_speaks_the_language_that_is_asked_for_and_programs_get_english() {
    let desk = Desk::new();
    for (ending, word) in [("html", "lang=\"de\""), ("csv", "Throughput")] {
        let path = desk.path(&format!("report.{ending}"));
        let line = format!("run {WINDOW} --quiet --language de --report {}", path.display());
        let run = desk.run(&line).ok();
        assert!(
            run.stdout.contains("Durchsatz") && !run.stdout.contains("Throughput"),
            "{}",
            run.stdout
        );
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(word), "{ending}: {text}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_said_before_anything_is_measured() {
    let desk = Desk::new();
    desk.run(&format!("run {TINY} --report /dev/null/x.md"))
        .fails(2, &["/dev/null/x.md", "name another file"]);
    desk.run(&format!("run {TINY} --report x.pdf")).fails(2, &["x.pdf", ".html"]);
    assert!(!desk.path("results.db").exists());
}

#[test]
fn stored_runs_are_listed_shown_exported_imported_and_deleted() {
    let desk = Desk::with_run();
    desk.run(&format!("run {TINY} --quiet")).ok();
    let list = desk.run("results list").ok().stdout;
    assert!(
        list.lines()
            .nth(1)
            .is_some_and(|line| line.contains("nightly") && line.contains("finished")),
        "{list}"
    );
    for which in ["nightly", "1", "last"] {
        assert!(desk.run(&format!("results show {which}")).ok().stdout.contains("SRV-QUERY1"));
    }
    let file = desk.path("runs.jsonl");
    desk.run(&format!("results export --output {}", file.display())).ok();
    let exported = desk.run("results export nightly last --quiet").ok();
    assert_eq!(
        (exported.stdout, exported.stderr),
        (std::fs::read_to_string(&file).unwrap(), String::new())
    );
    let other = Desk::new();
    other.run(&format!("results import {}", file.display())).ok();
    assert_eq!(
        other.run("results export --quiet").ok().stdout,
        std::fs::read_to_string(&file).unwrap()
    );
    other.run("results delete nightly").ok();
    assert_eq!(other.runs().len(), 1);
    other.run("results show nightly").fails(2, &["nightly", "results list"]);
    other.run("results delete last 99").fails(2, &["99"]);
    assert_eq!(other.runs().len(), 1, "an unknown run among several deletes nothing");
}

#[test]
fn reports_come_in_every_format() {
    let desk = Desk::with_run();
    for kind in ["kpm", "datasheet"] {
        for format in ["text", "markdown", "html", "csv", "json"] {
            let report = desk.run(&format!("report {kind} nightly --format {format}")).ok();
            assert!(
                report.stdout.contains("SRV-QUERY1") && report.stderr.is_empty(),
                "{report:#?}"
            );
            if format == "json" {
                report.json();
            }
        }
        let path = desk.path(&format!("{kind}.csv"));
        desk.run(&format!("report {kind} --output {}", path.display())).ok();
        let csv = desk.run(&format!("report {kind} last --format csv")).ok().stdout;
        assert_eq!(std::fs::read_to_string(path).unwrap(), csv);
        let text = desk.run(&format!("report {kind}")).ok().stdout;
        assert!(!text.contains("left out at this width"), "{text}");
    }
}

#[test]
fn the_ramp_goes_from_one_to_where_throughput_stops_growing() {
    let desk = Desk::new();
    let run = desk.run(
        "run --size 0.01 --workload SRV-QUERY1 --jobs 1..auto --warmup 0 --duration 100ms \
                  --format json --quiet",
    );
    let document = run.ok().json();
    let tests = document["tests"].as_array().unwrap();
    let jobs: Vec<_> = tests.iter().map(|test| test["jobs"].as_u64().unwrap()).collect();
    let doubling: Vec<u64> = (0..jobs.len() as u32).map(|step| 1 << step).collect();
    assert_eq!(jobs, doubling);
    let throughput: Vec<_> = tests.iter().map(|test| test["ops_per_s"].as_f64().unwrap()).collect();
    // The rule, applied to what was measured: it stopped at the first place where two steps gained
    // less than 5 %.
    let small_gain = |step: usize| {
        throughput[step] < 1.05 * throughput[..step].iter().copied().fold(0.0, f64::max)
    };
    let last = throughput.len() - 1;
    let most = 8 * std::thread::available_parallelism().unwrap().get() as u64;
    let at_the_end = jobs[last] == most.max(16);
    assert!(at_the_end || last >= 2 && small_gain(last) && small_gain(last - 1), "{throughput:?}");
    assert!(!(2..last).any(|step| small_gain(step) && small_gain(step - 1)), "{throughput:?}");
}

#[test]
fn fixed_work_is_done_exactly() {
    let desk = Desk::new();
    let run = desk
        .run("run --size 0.01 --workload SRV-QUERY1 --jobs 1,3 --ops 700 --format json --quiet")
        .ok();
    let document = run.json();
    let ops: Vec<_> =
        document["tests"].as_array().unwrap().iter().map(|test| test["ops"].as_u64()).collect();
    assert_eq!(ops, [Some(700), Some(2100)]);
}

#[test]
fn load_keeps_the_data_run_reuses_it_and_clean_removes_it() {
    let desk = Desk::new();
    let data = "--size 0.01 --workload SRV-QUERY1";
    let loaded = desk.run(&format!("load {data}")).ok();
    assert!(
        loaded.stdout.contains("data set") && loaded.stderr.contains("dbdyno-sqlite.db"),
        "{loaded:#?}"
    );
    let run = desk.run(&format!("run {TINY} --format json")).ok();
    assert_eq!(run.json()["loads"][0]["loaded"], false);
    assert!(run.stderr.contains("already"), "{}", run.stderr);
    let verified = desk.run(&format!("verify {data}")).ok();
    assert!(verified.stdout.lines().all(|line| line.starts_with("ok ")), "{}", verified.stdout);
    let file = desk.data().join("dbdyno-sqlite.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    let changed =
        database.execute("update small set quantity = quantity + 1 where id = 5", []).unwrap();
    drop(database);
    assert_eq!(changed, 1);
    let wrong = desk.run(&format!("verify {data} --quiet")).fails(1, &["verify", "failed"]);
    assert!(wrong.stdout.contains("WRONG"), "{}", wrong.stdout);
    let cleaned = desk.run("clean").ok();
    assert!(cleaned.stdout.contains("dbdyno-sqlite.db"), "{}", cleaned.stdout);
    assert!(desk.data_entries().is_empty(), "left behind: {:?}", desk.data_entries());
    assert_eq!(desk.run("clean").ok().stdout, "nothing to remove\n");
}

#[test]
fn a_test_runs_until_its_figure_is_known_or_its_time_is_over() {
    let desk = Desk::new();
    // A user who thinks needs little of a processor, for as many seconds as it may take.
    let base = "run sqlite --workload SRV-QUERY1 --jobs 1 --size 0.01 --think 5ms --quiet \
                --format json";
    let test =
        |options: &str| desk.run(&format!("{base} {options}")).ok().json()["tests"][0].clone();
    let is_short = |test: &serde_json::Value| test["verdict"].to_string().contains("\"precision\"");
    let known = test("--precision 40% --max-duration 20s");
    let is_narrow = known["ci_fraction"].as_f64().is_some_and(|half| half <= 0.4);
    assert!(is_short(&known) != is_narrow && known["precision"] == 0.4, "{known:#}");
    let cut = test("--precision 0.01% --max-duration 5s");
    assert!(cut["elapsed_s"].as_f64().unwrap() > 4.9 && is_short(&cut), "{cut:#}");
    assert_ne!(cut["verdict"]["status"], "valid");
    let sheet = desk.run("report datasheet last").ok().stdout;
    assert!(sheet.contains("until accurate to +-0.01 %, at most 5 s"), "{sheet}");
}

#[test]
fn a_suite_may_say_how_well_its_figures_must_be_known() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path("own/suites")).unwrap();
    let list = |keys: &str| {
        let suite = format!(
            "id = 'known'\ntitle = 'known'\n{keys}\n[[entry]]\nworkload = 'SRV-QUERY1'\njobs = \
             '1,2'\n"
        );
        std::fs::write(desk.path("own/suites/known.toml"), suite).unwrap();
        desk.run(&format!("list workloads --plan known --catalog {}", desk.path("own").display()))
    };
    let plan = list("precision = '2%'\nmax_duration_s = 30").ok().stdout;
    assert!(plan.contains("up to 80 s"), "{plan}");
    list("precision = '0%'").fails(2, &["known.toml:3", "'0%' is not a valid precision", "2%"]);
    list("precision = '2%'\nmax_duration_s = 4")
        .fails(2, &["known.toml", "max_duration_s", "5 or more"]);
}

/// Each next number has four times the calls of the one before: no step gains anything.
#[test]
fn a_series_of_rising_values_ends_where_nothing_more_is_gained() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.path("own/suites")).unwrap();
    let suite = "id = 'rising'\ntitle = 'rising'\n[[entry]]\nworkload = 'CPU-FIBONACCI'\njobs = \
                 '1'\neach = { n = ['12', '15', '18', '21', '24'] }\nrising = \
                 'n'\n[[entry]]\nworkload = 'SRV-QUERY1'\njobs = '1'\n";
    std::fs::write(desk.path("own/suites/rising.toml"), suite).unwrap();
    let run = format!(
        "run sqlite --catalog {} --suite rising --size 0.01 --warmup 0s --duration 100ms --format \
         json",
        desk.path("own").display()
    );
    let numbers = |document: &serde_json::Value| -> Vec<String> {
        let tests = document["tests"].as_array().unwrap().iter();
        tests
            .filter(|test| test["workload"] == "CPU-FIBONACCI")
            .map(|test| test["params"]["n"].as_str().unwrap().to_string())
            .collect()
    };
    let done = desk.run(&run).ok();
    let left = "left out: CPU-FIBONACCI:n=21, CPU-FIBONACCI:n=24: throughput gained less than 5 %";
    assert!(done.stderr.contains(left), "{}", done.stderr);
    let document = done.json();
    assert_eq!(numbers(&document), ["12", "15", "18"]);
    assert_eq!(document["tests"].as_array().unwrap().len(), 4);
    let wrong = desk.path("own/suites/rising.toml");
    std::fs::write(&wrong, suite.replace("rising = 'n'", "rising = 'm'")).unwrap();
    desk.run(&run)
        .fails(2, &["rising.toml", "CPU-FIBONACCI", "'rising' names a parameter of 'each'"]);
    std::fs::write(&wrong, suite).unwrap();
    // Repetitions: the series climbs in the first block, the others have what it found.
    let repeated = desk.run(&format!("{run} --repeat 3 --quiet")).ok().json();
    let ran = numbers(&repeated);
    assert_eq!((&ran[..3], ran.len()), (&["12", "15", "18"].map(String::from)[..], 9), "{ran:?}");
}

#[test]
fn repetitions_run_in_blocks_and_reports_have_one_line_for_them() {
    let desk = Desk::new();
    let args = "--workload SRV-QUERY1 --workload TP-LIGHT --jobs 1,2 --size 0.01";
    let short = "--warmup 0s --duration 150ms";
    let done =
        desk.run(&format!("run sqlite {args} {short} --repeat 3 --name r --format json")).ok();
    assert!(done.stderr.contains("3 blocks") && done.stderr.contains("seed 42"), "{}", done.stderr);
    let document = done.json();
    let name = |test: &serde_json::Value| {
        (test["workload"].as_str().unwrap().to_string(), test["jobs"].as_u64())
    };
    let ran: Vec<_> = document["tests"].as_array().unwrap().iter().map(name).collect();
    assert_eq!(ran.len(), 12);
    let blocks: Vec<Vec<_>> = ran.chunks(4).map(<[_]>::to_vec).collect();
    let sorted = |block: &Vec<(String, Option<u64>)>| {
        let mut block = block.clone();
        block.sort();
        block.dedup();
        block
    };
    assert!(
        blocks.iter().all(|block| sorted(block).len() == 4 && sorted(block) == sorted(&blocks[0])),
        "{ran:?}"
    );
    assert!(blocks.iter().any(|block| *block != blocks[0]), "{ran:?}");
    // The seed gives the order again.
    let again = desk
        .run(&format!("run sqlite {args} --ops 20 --repeat 3 --name again --format json --quiet"))
        .ok()
        .json();
    assert_eq!(again["tests"].as_array().unwrap().iter().map(name).collect::<Vec<_>>(), ran);
    let kpm = desk.run("report kpm r --format json").ok().json();
    let tables = kpm["sections"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|one| one["tables"].as_array().unwrap());
    let (spreads, tables): (Vec<_>, Vec<_>) = tables.partition(|table| table["name"] == "spread");
    // A line for each number of jobs. A busy machine may spoil two of three repetitions, and one
    // alone has no spread.
    let repeated = |wanted: &(String, Option<u64>)| {
        let tests = document["tests"].as_array().unwrap().iter();
        let verdicts: Vec<_> = tests
            .filter(|test| name(test) == *wanted)
            .map(|test| test["verdict"]["status"].as_str().unwrap())
            .collect();
        verdicts.iter().all(|verdict| *verdict == verdicts[0])
    };
    let least = blocks[0].iter().filter(|test| repeated(test)).count();
    let shown = spreads[0]["rows"].as_array().unwrap().len();
    assert!(spreads.len() == 1 && (least..=4).contains(&shown), "{least}: {spreads:#?}");
    let mut lines = 0;
    for table in tables {
        let columns: Vec<&str> = table["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| column["name"].as_str().unwrap())
            .collect();
        let cell = |row: &serde_json::Value, name: &str| {
            row[columns.iter().position(|one| *one == name).unwrap()].clone()
        };
        for row in table["rows"].as_array().unwrap() {
            lines += 1;
            assert_eq!(cell(row, "Times").as_f64(), Some(3.0));
            assert!(cell(row, "CI95 +-").as_f64().unwrap() > 0.0, "{row}");
        }
    }
    assert_eq!(lines, 4);
    let sheet = desk.run("report datasheet r --format markdown").ok().stdout;
    assert!(sheet.contains("CI95 +-") && sheet.contains("up to 3 times"), "{sheet}");
    assert!(
        !sheet.contains("Spread of"),
        "the datasheet has it where starts or loads were repeated: {sheet}"
    );
    // With themselves they agree, by intervals.
    let same = desk.run("compare r r --fail-below 0% --format json").ok().json();
    let rows = same["kpms"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["difference"] == "~"), "{rows:#?}");
    desk.run("run sqlite --repeat 0").fails(2, &["--repeat"]);
}

/// The tests of a run as (load, server start), in order.
pub fn places(document: &serde_json::Value) -> Vec<(u64, u64)> {
    let number = |test: &serde_json::Value, name: &str| test[name].as_u64().unwrap();
    document["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| (number(test, "load"), number(test, "server_start")))
        .collect()
}

#[test]
fn fresh_data_tell_what_a_load_changes() {
    let desk = Desk::new();
    let line = format!("run sqlite {WINDOW} --repeat 3 --fresh data --name f --format json");
    let done = desk.run(&line).ok();
    assert_eq!(places(&done.json()), [1, 1, 2, 2, 3, 3].map(|block| (block, block)));
    assert_eq!(
        done.stderr.matches("small: 16,000 rows in").count(),
        3,
        "each block loads: {}",
        done.stderr
    );
    let sheet = desk.run("report datasheet f --format markdown").ok().stdout;
    let line = sheet.lines().skip_while(|line| !line.contains("between loads")).nth(2).unwrap();
    // On a busy machine not all of them count.
    assert!(line.contains("| SRV-QUERY1 | 1 | "), "{sheet}");
    assert!(!sheet.contains("indicative"), "three loads have an interval: {sheet}");
    assert!(desk.data_entries().is_empty(), "{:?}", desk.data_entries());
    desk.run(&format!("run sqlite {TINY} --repeat 2 --fresh server"))
        .fails(2, &["--fresh", "has no server"]);
    desk.run(&format!("run sqlite {TINY} --fresh data")).fails(2, &["--fresh", "add --repeat"]);
}
