//! `compare` and the import of publications from the command line.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use dbdyno::model::{
    Better, Reason, ReasonCode, RunRecord, RunStatus, Status, TestResult, Verdict,
};
use dbdyno::store::Store;

use crate::support::Desk;
use crate::{fixture, publications};

/// A results file with the runs `base`, `same`, and `slow`: another setting, and SRV-QUERY1 at 60 %
/// of its speed. It is written once: every test that is stored waits for the disk.
fn desk() -> Desk {
    static WRITTEN: OnceLock<Desk> = OnceLock::new();
    WRITTEN.get_or_init(written).copy()
}

fn written() -> Desk {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let mut add = |name: &str, run: RunRecord, tests: Vec<TestResult>| {
        let id = store.begin_run(&RunRecord { name: Some(name.into()), ..run }).unwrap();
        tests.iter().for_each(|test| store.save_test(id, test).unwrap());
    };
    add("base", fixture::run(), fixture::tests());
    add("same", fixture::run(), fixture::tests());
    let mut run = fixture::run();
    run.disclosure.set("settings", "fsync", "off");
    let mut tests = fixture::tests();
    for test in tests.iter_mut().filter(|test| test.workload == "SRV-QUERY1") {
        test.kpm_value = test.kpm_value.map(|value| 0.6 * value);
    }
    add("slow", run, tests);
    desk
}

#[test]
fn two_equal_runs_differ_by_nothing() {
    let done = desk().run("compare base same --fail-below 5% --format json").ok().json();
    let kpms = done["kpms"].as_array().unwrap();
    let is_open = |row: &serde_json::Value| row["low"].is_null();
    let said = |row: &serde_json::Value| if is_open(row) { "undecided" } else { "~" };
    assert!(kpms.len() > 8 && kpms.iter().all(|row| row["difference"] == said(row)), "{kpms:#?}");
    let open: Vec<_> = kpms.iter().filter(|row| is_open(row)).collect();
    assert!(
        open.len() < kpms.len() / 2 && open.iter().all(|row| row["undecided"].is_string()),
        "{open:#?}"
    );
    assert_eq!(done["disclosure_differences"], serde_json::json!([]));
    let fields = [
        "workload",
        "params",
        "kind",
        "base",
        "other",
        "ratio",
        "low",
        "high",
        "difference",
        "verdict",
    ];
    assert!(fields.iter().all(|field| kpms[0].get(field).is_some()), "{}", kpms[0]);
    assert!(kpms[0]["low"].as_f64() < Some(1.0) && kpms[0]["high"].as_f64() > Some(1.0));
}

#[test]
fn a_changed_setting_is_found_with_the_groups_that_it_touches() {
    let desk = desk();
    let done = desk.run("compare base slow --format json").ok().json();
    let differences = done["disclosure_differences"].as_array().unwrap();
    assert_eq!(differences.len(), 1, "{differences:#?}");
    assert_eq!(
        (&differences[0]["fact"], &differences[0]["other"]),
        (&"fsync".into(), &"off".into())
    );
    let touches = differences[0]["touches"].as_array().unwrap();
    assert!(touches.contains(&"LGWR".into()) && !touches.contains(&"CPU".into()), "{touches:?}");
    let text = desk.run("compare base slow same").ok().stdout;
    assert!(
        text.contains("SRV-QUERY1") && text.contains("worse") && text.contains("fsync"),
        "{text}"
    );
    assert!(!text.contains("left out at this width"), "{text}");
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("Workload ")).collect();
    let has = |head: &str| {
        ["Unit", "Other", "Ratio", "Difference"].iter().all(|column| head.contains(column))
    };
    assert!(!heads.is_empty() && heads.iter().all(|head| has(head)), "{text}");
}

fn short() -> &'static str {
    "no interval: one short window"
}

#[test]
fn a_comparison_of_one_workload_has_no_other() {
    let desk = desk();
    let compared = desk.run("compare base same --workload srv-scan").ok().stdout;
    assert!(compared.contains("SRV-SCAN") && !compared.contains("SRV-QUERY1"), "{compared}");
    assert!(desk.run("compare base same").ok().stdout.contains("SRV-QUERY1"));
}

#[test]
fn measured_runs_of_one_platform_have_no_differences_and_a_setting_is_found() {
    let desk = Desk::new();
    for (name, profile) in [("a", "XS"), ("b", "XS"), ("c", "N")] {
        let args = "--workload SRV-QUERY1 --jobs 1 --size 0.01 --warmup 100ms --duration 1s";
        desk.run(&format!("run {args} --profile {profile} --name {name} --quiet")).ok();
    }
    let same = desk.run("compare a b --format json").ok().json();
    assert_eq!(same["disclosure_differences"], serde_json::json!([]));
    for kpm in same["kpms"].as_array().unwrap() {
        let undecided = (&kpm["low"], &kpm["difference"], &kpm["undecided"]);
        assert_eq!(
            undecided,
            (&serde_json::Value::Null, &"undecided".into(), &short().into()),
            "{kpm}"
        );
    }
    // Whatever two short windows say, it fails nothing; the line says so. On a busy machine the
    // figures are not valid, which is told in place of the missing interval.
    let file = desk.path("undecided.xml");
    let done = desk.run(&format!("compare a c --fail-below 0% --junit {}", file.display())).ok();
    let unjudged = "2 of 2 figures are not valid and not judged; that fails nothing";
    let is_busy = done.stderr.contains(unjudged);
    let is_undecided =
        done.stderr.contains("2 of 2 figures are undecided") && done.stderr.contains(short());
    assert!(is_busy != is_undecided, "{}", done.stderr);
    let xml = std::fs::read_to_string(&file).unwrap();
    assert!(
        xml.contains("skipped=\"2\"")
            && xml.contains("failures=\"0\"")
            && xml.contains(if is_busy { "No answer" } else { short() }),
        "{xml}"
    );
    let other = desk.run("compare a c --format json").ok().json();
    let differences = other["disclosure_differences"].as_array().unwrap();
    assert!(
        !differences.is_empty() && differences.iter().all(|one| one["section"] == "settings"),
        "{differences:?}"
    );
    assert!(
        differences.iter().any(|one| one["fact"].as_str().unwrap().contains("cache")),
        "{differences:?}"
    );
}

#[test]
fn a_loss_beyond_the_limit_fails_and_junit_names_it() {
    let desk = desk();
    let file = desk.path("junit.xml");
    let done = desk.run(&format!("compare base slow --fail-below 5% --junit {}", file.display()));
    // Throughput is a lower bound and decides nothing; speed, its group and the whole fail.
    let words = ["--fail-below", "1 figure is worse", "SRV-QUERY1", "40.0 %", "group SRV by"];
    done.fails(1, &words);
    let xml = std::fs::read_to_string(&file).unwrap();
    let mut reader = quick_xml::Reader::from_str(&xml);
    let (mut cases, mut failures) = (0, 0);
    loop {
        use quick_xml::events::Event;
        match reader.read_event().unwrap() {
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                b"testcase" => cases += 1,
                b"failure" => failures += 1,
                _ => {}
            },
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(cases > 8 && failures == 3, "{xml}");
    assert!(xml.contains(&format!("failures=\"{failures}\"")), "{xml}");
    desk.run("compare base slow --fail-below 50%").ok();
}

#[test]
fn a_gate_that_passes_says_in_its_line_and_on_its_page_what_it_did_not_judge() {
    let desk = desk();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(&RunRecord { name: Some("busy".into()), ..fixture::run() }).unwrap();
    for mut test in fixture::tests() {
        if test.workload == "SRV-QUERY1" {
            test.kpm_value = test.kpm_value.map(|value| 0.6 * value);
            let stolen = Reason::new(Status::Conditional, ReasonCode::Steal, "stolen");
            test.verdict = Verdict::from_reasons(vec![stolen]);
        }
        store.save_test(id, &test).unwrap();
    }
    let page = desk.path("busy.html");
    let done =
        desk.run(&format!("compare base busy --fail-below 20% --output {}", page.display())).ok();
    let page = std::fs::read_to_string(page).unwrap();
    for said in [&done.stderr, &page] {
        assert!(said.contains("of 14 figures are not valid and not judged, of which"), "{said}");
    }
    assert!(page.contains("Pass: no judged figure"), "{page}");
}

#[test]
fn a_failure_says_in_its_line_what_is_undecided() {
    let desk = desk();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(&RunRecord { name: Some("short".into()), ..fixture::run() }).unwrap();
    for mut test in fixture::tests() {
        if test.workload == "SRV-SCAN" {
            (test.ci_fraction, test.window_s) = (None, 2.0);
        }
        if test.workload == "SRV-QUERY1" {
            test.kpm_value = test.kpm_value.map(|value| 0.6 * value);
        }
        store.save_test(id, &test).unwrap();
    }
    let file = desk.path("short.xml");
    let done = desk.run(&format!("compare base short --fail-below 5% --junit {}", file.display()));
    done.fails(1, &["1 figure is worse", "2 of 14 figures are undecided, first SRV-SCAN", short()]);
    let xml = std::fs::read_to_string(&file).unwrap();
    assert!(
        xml.contains("failures=\"2\"") && xml.contains("skipped message=\"undecided: x1.000"),
        "{xml}"
    );
}

#[test]
fn a_figure_that_is_gone_fails_and_so_does_a_comparison_of_nothing() {
    let desk = desk();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let mut add = |name: &str, change: &dyn Fn(TestResult) -> Option<TestResult>| {
        let id = store.begin_run(&RunRecord { name: Some(name.into()), ..fixture::run() }).unwrap();
        fixture::tests()
            .into_iter()
            .filter_map(change)
            .for_each(|test| store.save_test(id, &test).unwrap());
    };
    let is_query = |test: &TestResult| test.workload == "SRV-QUERY1";
    add("failed", &|test| {
        Some(if is_query(&test) { TestResult { kpm_value: None, ..test } } else { test })
    });
    add("stuck", &|test| {
        Some(if is_query(&test) { TestResult { kpm_value: Some(0.0), ..test } } else { test })
    });
    add("fewer", &|test| (!is_query(&test)).then_some(test));
    add("foreign", &|test| Some(TestResult { workload: format!("MY-{}", test.workload), ..test }));
    for (name, why) in [
        ("failed", "no figure in failed"),
        ("stuck", "no figure in stuck"),
        ("fewer", "only in base"),
    ] {
        let file = desk.path("lost.xml");
        let line = format!("compare base {name} --fail-below 5% --junit {}", file.display());
        let done = desk.run(&line).fails(1, &["--fail-below", "lost", "SRV-QUERY1"]);
        assert!(
            done.stdout.contains(why) && !done.stdout.contains("No figure differs"),
            "{}",
            done.stdout
        );
        let xml = std::fs::read_to_string(&file).unwrap();
        assert!(xml.contains("<failure") && !xml.contains("failures=\"0\""), "{xml}");
        let json = desk.run(&format!("compare base {name} --format json")).ok().json();
        let lost =
            json["not_compared"].as_array().unwrap().iter().filter(|one| one["lost"] == true);
        assert!(lost.count() >= 1, "{json}");
        // What the base does not have cannot get lost.
        desk.run(&format!("compare {name} base --fail-below 5%")).ok();
    }
    let text = desk.run("compare failed foreign").ok().stdout;
    assert!(text.contains("figures are not compared"), "{text}");
    desk.run("compare base foreign --fail-below 5%").fails(1, &["--fail-below", "lost"]);
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    store.begin_run(&RunRecord { name: Some("empty".into()), ..fixture::run() }).unwrap();
    let file = desk.path("empty.xml");
    let nothing =
        desk.run(&format!("compare empty base --fail-below 5% --junit {}", file.display()));
    nothing.fails(1, &["--fail-below", "no figure", "empty"]);
    assert!(std::fs::read_to_string(&file).unwrap().contains("failures=\"1\""));
}

#[test]
fn every_form_of_a_comparison_and_its_mistakes() {
    let desk = desk();
    for (format, words) in
        [("markdown", "| SRV-QUERY1"), ("csv", "SRV-QUERY1"), ("html", "SRV-QUERY1")]
    {
        let file = desk.path(&format!("c.{format}"));
        desk.run(&format!("compare base slow --format {format} --output {}", file.display())).ok();
        assert!(std::fs::read_to_string(file).unwrap().contains(words), "{format}");
    }
    desk.run("compare base nobody").fails(2, &["nobody"]);
    desk.run("compare base").fails(2, &["RUN"]);
    desk.run("compare base slow --fail-below lots").fails(2, &["percentage"]);
}

#[test]
fn published_runs_survive_export_and_import_and_are_imported_once() {
    let desk = publications::desk();
    let runs = desk.runs();
    assert!(runs.len() == 23 && runs.iter().all(|run| run["kind"] == "published"), "{runs:?}");
    desk.run(&publications::import()).fails(2, &["ibm-e870", "here already as run 1"]);
    assert_eq!(desk.runs().len(), 23);
    let (first, second) = (desk.path("first.jsonl"), desk.path("second.jsonl"));
    desk.run(&format!("results export --output {}", first.display())).ok();
    let other = format!("--results {}", desk.path("other.db").display());
    desk.run(&format!("{other} results import {}", first.display())).ok();
    desk.run(&format!("{other} results export --output {}", second.display())).ok();
    assert!(std::fs::read(first).unwrap() == std::fs::read(second).unwrap());
}

#[test]
fn the_report_of_a_published_run_shows_its_columns() {
    let desk = publications::desk();
    let kpm = desk.run("report kpm exadata-x5-2-qr-hc-1tb --format json").ok().json();
    let table = &kpm["sections"][0]["tables"][0];
    let cell = |name: &str| {
        let at = table["columns"]
            .as_array()
            .unwrap()
            .iter()
            .position(|column| column["name"] == name)
            .unwrap();
        table["rows"][0][at].as_f64()
    };
    assert_eq!(
        (cell("Transactions total"), cell("CPU busy"), cell("IO time read")),
        (Some(371.0), Some(2.0), Some(0.307))
    );
    let json = desk.shown("exadata-x5-2-qr-hc-1tb");
    let test = &json["tests"][0];
    // Run 6 test 2 of the study: 1 job, 371 tps, 2.697 ms, CPU 2 %, read 0.307 ms, redo 0.871 kB,
    // sync 0.594 ms.
    assert_eq!((test["jobs"].as_u64(), test["kpm"]["value"].as_f64()), (Some(1), Some(371.0)));
    for (metric, value) in [
        ("cpu_busy_pct", 2.0),
        ("service_time_ms", 2.697),
        ("read_service_ms", 0.307),
        ("redo_kb_per_transaction", 0.871),
        ("commit_wait_ms", 0.594),
        ("buffer_hit_pct", 52.34),
        ("elapsed_s", 302.0),
    ] {
        assert_eq!(test["metrics"][metric].as_f64(), Some(value), "{metric}");
    }
}

#[test]
fn a_damaged_csv_is_refused_with_its_line() {
    let desk = Desk::new();
    let file = desk.path("bad.csv");
    std::fs::write(
        &file,
        "source,study,platform,kind,metric,value,unit\ns,st,p,point,ops_per_s,fast,ops/s\n",
    )
    .unwrap();
    desk.run(&format!("results import --csv {}", file.display())).fails(2, &["bad.csv:2"]);
    desk.run("results import").fails(2, &["FILE"]);
    desk.run("results import --csv /no/such.csv").fails(2, &["/no/such.csv"]);
}

/// A price list for a run, with one product at 1,000 per core.
fn price_list(desk: &Desk, platform: &str, cores: u32, currency: &str) -> String {
    let path = desk.path(&format!("{platform}-{currency}.toml"));
    let text = format!(
        "platform = \"{platform}\"\ncores = {cores}\ncurrency = \"{currency}\"\ndate = \
         \"2026-01-01\"\n[[product]]\nname = \"all\"\nprice = 1000\nper = \"core\"\n"
    );
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn prices_give_ratios_per_price_and_license() {
    let desk = desk();
    let [base, slow, other] = [("base", 2, "CHF"), ("slow", 4, "CHF"), ("slow", 4, "EUR")]
        .map(|(run, n, of)| price_list(&desk, run, n, of));
    let done = desk
        .run(&format!("compare base slow --price {base} --price {slow} --format json"))
        .ok()
        .json();
    let rates: Vec<_> =
        done["kpms"].as_array().unwrap().iter().filter(|row| row["better"] == "higher").collect();
    assert!(!rates.is_empty());
    for row in rates {
        let half = 0.5 * row["ratio"].as_f64().unwrap();
        for field in ["per_price", "per_licence"] {
            assert!((row[field].as_f64().unwrap() - half).abs() < 1e-9, "{field} of {row}");
        }
    }
    let text = desk
        .run(&format!("compare base slow --price {base} --price {slow} --format markdown"))
        .ok()
        .stdout;
    assert!(text.contains("per price [x]"), "{text}");
    let without = desk.run("compare base slow --format markdown").ok().stdout;
    assert!(!without.contains("per price"), "{without}");
    desk.run(&format!("compare base slow --price {base} --price {other}"))
        .fails(2, &["--price", "CHF and EUR"]);
    desk.run(&format!("compare base same --price {slow}")).fails(2, &["--price", "slow"]);
}

#[test]
fn a_calibration_tells_later_comparisons_what_differs_between_loads() {
    let desk = Desk::new();
    let short = "--size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0 --duration 200ms --quiet";
    for name in ["a", "b"] {
        desk.run(&format!("run sqlite {short} --repeat 3 --name {name}")).ok();
    }
    let rows = |desk: &Desk| {
        let found = desk.run("compare a b --format json").ok().json();
        let figure = &found["kpms"][0];
        // Repetitions that others on the machine disturbed have no interval.
        let factor = figure["high"].as_f64().map(|high| high / figure["ratio"].as_f64().unwrap());
        (factor, found["calibrations"].clone())
    };
    let (before, none) = rows(&desk);
    assert_eq!(none, serde_json::json!([]));
    desk.run(&format!("calibrate sqlite {short} --name noise")).ok();
    let calibration = desk.shown("noise");
    assert_eq!(calibration["labels"]["calibration"], "yes");
    let loads: Vec<_> =
        calibration["tests"].as_array().unwrap().iter().map(|test| test["load"].as_u64()).collect();
    assert_eq!(loads, (1..=5).flat_map(|load| [Some(load); 2]).collect::<Vec<_>>());
    let (after, names) = rows(&desk);
    // It is used if its own figures are valid, which others on the machine may spoil.
    let valid = calibration["tests"]
        .as_array()
        .unwrap()
        .iter()
        .all(|test| test["verdict"]["status"] == "valid");
    if valid {
        assert_eq!(names, serde_json::json!(["noise"]));
        assert!(before.is_some() && after.is_some() && after != before, "{before:?} {after:?}");
        let known = desk.run("compare a b --format json").ok().json();
        assert_eq!(known["between_runs"][0]["source"], "earlier-runs", "{known}");
        let text = desk.run("compare a b").ok().stdout;
        assert!(text.contains("calibration noise"), "{text}");
    }
}

/// A results file with `count` runs of three repetitions each, r1, r2, ...; the last does `factor`
/// times as much as the others. Its figures differ by what a hash of run, test and repetition says:
/// some percent. Each is written once.
fn repeated_runs(count: i64, factor: f64) -> Desk {
    static WRITTEN: Mutex<BTreeMap<String, Desk>> = Mutex::new(BTreeMap::new());
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = format!("{count} runs, {factor}");
    written.entry(name).or_insert_with(|| repetitions(count, factor)).copy()
}

fn repetitions(count: i64, factor: f64) -> Desk {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    for number in 1..=count {
        let name = Some(format!("r{number}"));
        let labels = fixture::map([("branch", "main")]);
        let id = store.begin_run(&RunRecord { name, labels, ..fixture::run() }).unwrap();
        let times = if number == count { factor } else { 1.0 };
        for repetition in 0..3 {
            for test in fixture::tests() {
                let mixed =
                    (number * 7_919 + i64::from(test.seq) * 104_729 + repetition * 1_299_709)
                        % 1_009;
                let noise = 1.0 + 0.03 * (mixed as f64 / 1_009.0 - 0.5);
                let is_rate = test.kpm.better == Better::Higher;
                let change = noise * if is_rate { times } else { 1.0 / times };
                let seq = test.seq + 100 * repetition as u32;
                let kpm_value = test.kpm_value.map(|value| change * value);
                store.save_test(id, &TestResult { seq, kpm_value, ..test }).unwrap();
            }
        }
        store.finish_run(id, RunStatus::Finished).unwrap();
    }
    desk
}

#[test]
fn a_gate_of_equal_runs_passes_and_says_what_it_would_have_found() {
    let desk = repeated_runs(6, 1.0);
    let done = desk.run("compare r5 r6 --fail-below 10%").ok();
    let text = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in
        ["Pass: no judged figure", "would have been found in", "that of 4 earlier runs", "Over "]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let json = desk.run("compare r5 r6 --fail-below 10% --format json").ok().json();
    let gate = &json["gate"][0];
    assert_eq!((&gate["outcome"], &gate["other_run"]), (&"pass".into(), &"r6".into()), "{gate:#}");
    let figures = gate["figures"].as_u64().unwrap();
    assert!(figures > 5 && gate["detectable"]["figures"] == figures, "{gate:#}");
    assert!(gate["whole"]["low"].as_f64() < Some(1.0), "{gate:#}");
    assert!(gate["whole"]["is_excluded"] == true, "{gate:#}");
    assert!(json["findings"].as_array().unwrap().iter().all(|one| one["code"] != "speed"));
    // Without a limit nothing passes and nothing fails.
    let plain = desk.run("compare r5 r6 --format json").ok().json();
    assert_eq!(plain["gate"], serde_json::json!([]));
    assert!(plain["detectable"][0]["loss"].as_f64() > Some(0.0), "{plain:#}");
    assert_eq!(plain["between_runs"][0]["earlier_runs"], 4);
    // The first two know nothing of what differs between runs.
    let first = desk.run("compare r1 r2 --format json").ok().json();
    assert_eq!(first["between_runs"][0]["source"], "prior");
}

#[test]
fn a_blind_gate_passes_and_its_line_says_so() {
    let desk = repeated_runs(2, 1.0);
    let done = desk.run("compare r1 r2 --fail-below 1%").ok();
    assert!(done.stderr.contains("blind below 2 %"), "{}", done.stderr);
    let text = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Blind below 2 %") && text.contains("No number of repetitions"),
        "{text}"
    );
}

#[test]
fn for_a_build_server_what_a_gate_would_not_have_seen_has_not_passed() {
    let desk = repeated_runs(6, 1.0);
    // The cases that passed, and how many were skipped for a reason that begins so.
    let cases = |runs: &str, why: &str| {
        let file = desk.path("gate.xml");
        desk.run(&format!("compare {runs} --junit {}", file.display())).ok();
        let xml = std::fs::read_to_string(&file).unwrap();
        let passed: Vec<String> = xml
            .lines()
            .filter(|line| line.contains("<testcase") && line.ends_with("/>"))
            .map(str::to_owned)
            .collect();
        (passed, xml.matches(&format!("<skipped message=\"{why}")).count())
    };
    let (passed, blind) = cases("r1 r2 --fail-below 1%", "blind: a loss of 2 %");
    assert!(blind > 5 && passed.is_empty(), "{blind} blind, {passed:#?}");
    let (passed, blind) = cases("r5 r6 --fail-below 10%", "blind");
    assert!(passed.len() > 5 && blind < passed.len(), "{blind} blind, {passed:#?}");
    // Of a limit of 0 %, which is that of the file alone, no half can be seen.
    for runs in ["r5 r6", "r5 r6 --fail-below 0%"] {
        let (passed, blind) = cases(runs, "blind");
        assert!(passed.len() > 5 && blind == 0, "{blind} blind, {passed:#?}");
    }

    // Conditional figures decide nothing: the gate has no answer.
    let connection = rusqlite::Connection::open(desk.path("results.db")).unwrap();
    let doubt = "update test set verdict = 'conditional' where verdict = 'valid'";
    connection.execute(doubt, []).unwrap();
    let (passed, unanswered) = cases("r5 r6 --fail-below 10%", "No answer");
    assert!(unanswered > 5 && passed.is_empty(), "{unanswered} without an answer, {passed:#?}");
}

#[test]
fn a_file_for_a_build_server_alone_is_no_gate() {
    let desk = desk();
    let file = desk.path("alone.xml");
    let line = format!("compare base slow --junit {}", file.display());
    let done = desk.run(&line).ok();
    let answers = ["Answer", "Fail:", "Pass:", "Blind", "No answer"];
    assert!(answers.iter().all(|word| !done.stdout.contains(word)), "{}", done.stdout);
    let json = desk.run(&format!("{line} --format json")).ok().json();
    assert_eq!(json["gate"], serde_json::json!([]));
    // The file has its own limit of 0 %: what is worse fails there, and nothing is blind.
    let xml = std::fs::read_to_string(&file).unwrap();
    assert!(xml.contains("<failure") && !xml.contains("blind"), "{xml}");
    let judged = desk.run("compare base slow --fail-below 5%").fails(1, &["--fail-below"]);
    assert!(judged.stdout.contains("Answer") && judged.stdout.contains("Fail:"));
}

#[test]
fn a_base_of_many_finds_a_loss_of_all_figures() {
    let desk = repeated_runs(7, 0.88);
    for base in ["last:10", "branch=main"] {
        let done = desk.run(&format!("compare --baseline {base} r7 --fail-below 5%"));
        let done = done.fails(1, &["--fail-below", "all figures by 1"]);
        assert!(done.stdout.contains("Fail: all figures together"), "{}", done.stdout);
        assert!(done.stdout.contains("6 runs"), "{}", done.stdout);
    }
    desk.run("compare --baseline last:10 r6 --fail-below 5%").ok();
    let json = desk.run("compare --baseline last:3 r7 --format json").ok().json();
    assert_eq!(json["between_runs"][0]["earlier_runs"], 3);
    desk.run("compare --baseline last:10 r1").fails(2, &["--baseline", "0 finished runs"]);
    desk.run("compare --baseline branch=other r7").fails(2, &["branch=other"]);
    desk.run("compare --baseline many r7").fails(2, &["--baseline", "last:10"]);
    desk.run("compare --baseline last:10 r6 r7").fails(2, &["one run"]);
}

#[test]
fn a_newest_run_of_the_base_without_sound_figures_hides_no_loss() {
    let desk = repeated_runs(7, 0.88);
    let change_newest = |change: &str| {
        let connection = rusqlite::Connection::open(desk.path("results.db")).unwrap();
        assert!(connection.execute(&format!("{change} where run_id = 6"), []).unwrap() > 5);
    };
    let is_found = || {
        let done = desk.run("compare --baseline last:10 r7 --fail-below 5%");
        done.fails(1, &["--fail-below", "all figures by 1"]);
    };
    let reason = r#"[{"status": "invalid", "code": "contract", "text": "told"}]"#;
    change_newest(&format!("update test set verdict = 'invalid', reasons = '{reason}'"));
    is_found();
    change_newest("delete from test");
    is_found();
}

#[test]
fn a_base_of_many_is_of_one_sql_text_and_says_what_differs_within_it() {
    let desk = repeated_runs(7, 0.88);
    let connection = rusqlite::Connection::open(desk.path("results.db")).unwrap();
    for change in [
        "update test set hash = 'of another text', kpm_value = 0.5 * kpm_value
         where run_id <= 3 and workload = 'SRV-QUERY1'",
        "update run set disclosure = json_set(disclosure, '$.settings.fsync', 'off') where id <= 2",
        "update run set version = '0.0.9' where id = 1",
    ] {
        assert!(connection.execute(change, []).unwrap() > 0, "{change}");
    }
    drop(connection);
    let json = desk.run("compare --baseline last:10 r7 --format json").ok().json();
    let rows = json["kpms"].as_array().unwrap();
    let is_speed =
        |row: &&serde_json::Value| row["workload"] == "SRV-QUERY1" && row["kind"] == "speed";
    let row = rows.iter().find(is_speed).unwrap();
    // The mean of the new text alone, and an interval from its runs.
    let base = row["base"].as_f64().unwrap();
    assert!((base / 82_104.0 - 1.0).abs() < 0.03 && row["low"].is_number(), "{row}");
    let findings = json["findings"].as_array().unwrap();
    let of_base = findings.iter().filter(|finding| finding["code"] == "base");
    let said: Vec<&str> = of_base.map(|finding| finding["text"].as_str().unwrap()).collect();
    let expected = [
        "Left out of the base, as their SQL text or revision is another: SRV-QUERY1 (T611) in 3 of \
         6 runs",
        "Runs of the base differ from its newest one: fsync in 2 of 6 runs, dbdyno version in 1 of \
         6 runs",
    ];
    assert_eq!(said, expected);
    // Of other workloads nothing is left out.
    let others = "compare --baseline last:10 r7 --workload SRV-SCAN --format json";
    let others = desk.run(others).ok().json();
    assert!(!others["findings"].to_string().contains("Left out"), "{others:#}");
}

/// Two runs of CPU-DOUBLE, three tests each, with these options, `first` and `second`, whose second
/// one is slower.
fn with_a_suspect(options: &str) -> Desk {
    let desk = Desk::new();
    let run = "run sqlite --workload CPU-DOUBLE --jobs 1 --warmup 0.05 --repeat 3 --size 0.05";
    for name in ["first", "second"] {
        desk.run(&format!("{run} {options} --name {name}")).ok();
    }
    make_second_run_slower(&desk);
    desk
}

/// Makes two runs of three tests each valid and calm, whatever others did on the machine meanwhile,
/// and the second one slower.
fn make_second_run_slower(desk: &Desk) {
    let connection = rusqlite::Connection::open(desk.path("results.db")).unwrap();
    let calm = "update test set verdict = 'valid', reasons = '[]', kpm_value = 100 + seq / 100.0";
    assert_eq!(connection.execute(calm, []).unwrap(), 6);
    // The CPUs as fast at the start of both, too.
    let alike = "update run set disclosure = (select disclosure from run where id = 1)";
    assert_eq!(connection.execute(alike, []).unwrap(), 2);
    let slower = "update test set kpm_value = kpm_value / 100 where run_id = 2";
    assert_eq!(connection.execute(slower, []).unwrap(), 3);
}

#[test]
fn a_suspect_of_an_open_loop_is_measured_again_at_its_rate() {
    let desk = with_a_suspect("--rate 20 --arrivals uniform --duration 0.2");
    let confirmed = desk.run("compare first second --confirm").ok();
    assert!(confirmed.stderr.contains("measured again, as runs 3 and 4"), "{}", confirmed.stderr);
    let again = desk.shown("4");
    let tests = again["tests"].as_array().unwrap();
    let offered = |test: &serde_json::Value| {
        (test["params"]["rate"].as_str(), test["params"]["arrivals"].as_str())
            == (Some("20"), Some("uniform"))
    };
    assert!(tests.len() == 5 && tests.iter().all(offered), "{again:#}");
}

#[test]
fn a_suspect_of_a_file_is_measured_again_by_its_drive_and_its_fixed_work() {
    let desk = Desk::new();
    let file = desk.path("suspect.toml");
    let experiment = "target = 'sqlite'\nsize = 0.05\nwarmup = 0.05\nrepeat = 3\n\n[[test]]\n\
                      workload = 'CPU-DOUBLE'\njobs = '1'\ndrive = 'client'\n\
                      work = { amount = 70, unit = 'ops' }\n";
    std::fs::write(&file, experiment).unwrap();
    for name in ["first", "second"] {
        desk.run(&format!("run {} --name {name}", file.display())).ok();
    }
    make_second_run_slower(&desk);
    let confirmed = desk.run("compare first second --confirm").ok();
    assert!(confirmed.stderr.contains("measured again, as runs 3 and 4"), "{}", confirmed.stderr);
    let again = desk.shown("4");
    let tests = again["tests"].as_array().unwrap();
    let is_alike = |test: &serde_json::Value| {
        (test["drive"].as_str(), test["ops"].as_u64()) == (Some("client"), Some(70))
    };
    assert!(tests.len() == 5 && tests.iter().all(is_alike), "{again:#}");
    // A run whose file asks for something else now is not measured as if it did not.
    std::fs::write(&file, experiment.replace("'sqlite'", "'duckdb'")).unwrap();
    let told = ["suspect.toml asks for no run like first any more"];
    desk.run("compare first second --confirm").fails(2, &told);
}

#[test]
fn a_suspect_that_a_second_measurement_does_not_show_fails_nothing() {
    let desk = with_a_suspect("--duration 0.1");
    desk.run("compare first second --fail-below 90%").fails(1, &["CPU-DOUBLE"]);
    let confirmed = desk.run("compare first second --fail-below 90% --confirm").ok();
    assert!(confirmed.stderr.contains("measured again, as runs 3 and 4"), "{}", confirmed.stderr);
    let again = desk.shown("4");
    assert_eq!(
        (again["name"].as_str(), again["tests"].as_array().unwrap().len()),
        (Some("second again"), 5)
    );
    let refused = desk.run("compare first --baseline last:2 --confirm");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}
