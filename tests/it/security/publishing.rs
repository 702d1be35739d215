//! `report anonymized`: of names, addresses, users, paths and secrets that stand in every text of a
//! run none is published, and what a comparison needs is still there.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::OnceLock;

use dbdyno::model::{
    Arrivals, BackgroundResult, Drive, DriverFigures, Durability, Failover, FailoverTimes, How,
    Kpm, KpmValue, LedgerCounts, NodeResult, OfferedLoad, OpenLoop, OpsPerSample, Precision,
    ProcessorTime, Promotion, Reason, ReasonCode, RunRecord, Sentence, Status, Survivor,
    SustainedRate, SustainedState, Test, TestResult, Verdict, WindowInterval, WorkerResult,
};
use dbdyno::report::anonymized::anonymize;
use dbdyno::report::{FORMATS, Input, Options, REPORTS, Rendered, RunTests};
use dbdyno::store::Store;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fixture::{self, RampPoint};
use crate::support::Desk;

/// Planted texts, and the part of each that must be nowhere.
const MARKS: [(&str, &str); 6] = [
    ("db7.acme.internal", "acme"),
    ("10.20.30.40", "10.20.30"),
    ("fd00:12:34::7", "fd00:12"),
    ("wilhelmina", "wilhelmina"),
    ("/srv/ledgers/main", "ledgers"),
    ("hunter2-of-worker", "hunter2"),
];

/// Place of a mark in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Alone,
    Before,
    Behind,
}

/// A test with every part that a test can have.
fn full_test() -> TestResult {
    let mut test = fixture::test(1, &RampPoint::tps("TP-LIGHT", "TP", 2, 1410.0));
    test.series.truncate(2);
    test.snapshots.truncate(2);
    let part = test.parts[0].clone();
    test.asked_as = Some("T611".into());
    test.chosen = test.params.clone();
    test.key_seed = Some(7);
    test.counter_intervals =
        [("commits".to_string(), WindowInterval { fraction: 0.02, freedom: 4.0 })].into();
    test.precision = "2%".parse::<Precision>().ok();
    test.latency.ops_per_sample = Some(OpsPerSample { least: 1.0, most: 16.0 });
    let slo = "p99<5ms".parse().ok();
    let offer = OfferedLoad { per_s: 12.5, arrivals: Arrivals::Uniform, slo };
    test.open =
        Some(OpenLoop { offer, due: 125.0, response: test.latency.clone(), phases: Vec::new() });
    test.beside = Some(BackgroundResult { part, drive: Drive::Client, covers_window: true });
    test.window.errors = [("deadlock".to_string(), 3)].into();
    test.total.errors = test.window.errors.clone();
    let node = |name: &str| NodeResult {
        name: name.into(),
        jobs: 1,
        ops: 10,
        ops_per_s: 1.0,
        lag_s: Some(0.5),
        counters: test.counters.clone(),
        window_counters: test.window_counters.clone(),
        ..NodeResult::default()
    };
    test.node_figures = vec![node("db1:5432"), node("db2:5432")];
    test.second = Some(Kpm { value: KpmValue::Counter("wal_bytes".into()), ..test.kpm.clone() });
    test.second_value = Some(3.0);
    test.durability = Some(Durability::Durable);
    test.lasting = Some(SustainedRate {
        state: SustainedState::Accounted,
        pay_back_s: Some(1.0),
        kpm_value: Some(1200.0),
    });
    let waits = test.waits.as_mut().unwrap();
    waits.missing = vec!["denied".into()];
    waits.io_missing = Some("no device".into());
    waits.processors = Some(ProcessorTime { of_s: 9.0, user_s: 4.0, kernel_s: 1.0, queued_s: 1.0 });
    let driver = DriverFigures { connect_s: 0.1, memory_bytes_per_session: None, processors: 0.2 };
    test.driver = Some(driver);
    test.workers = vec![WorkerResult {
        name: "loader1/4711".into(),
        jobs: 2,
        clock_offset_s: 0.0,
        round_trip_s: 0.001,
        late_s: 0.0,
        driver: Some(driver),
        ops: 10,
        buckets: vec![(1000, 10)],
        ops_by_second: vec![10.0],
        p99_us_by_second: vec![Some(1.0)],
    }];
    let survivor = Survivor { name: "db2:5432".into(), is_judge: true, ..Survivor::default() };
    test.failover = Some(Failover {
        how: How::Kill,
        node: "db1:5432".into(),
        nodes: vec!["db1:5432".into(), "db2:5432".into()],
        timeout_s: 1.0,
        resends: true,
        promotion: Some(Promotion {
            by_command: false,
            node: Some("db2:5432".into()),
            began_s: 1.0,
            took_s: 2.0,
        }),
        durability: [("synchronous_commit".to_string(), "on".to_string())].into(),
        before_per_s: 100.0,
        failed_at_s: 3.0,
        times: FailoverTimes { detected_s: Some(0.5), ..FailoverTimes::default() },
        ledger: LedgerCounts { acknowledged: 100, ..LedgerCounts::default() },
        survivors: vec![survivor],
        stayed_down: true,
    });
    test.first_error = Some("connection refused".into());
    test.verdict = Verdict::from_reasons(reasons());
    test
}

fn reasons() -> Vec<Reason> {
    let lost = Sentence::new("node {node} did not answer when the test began: nothing ran on it");
    let quoted = Sentence::quoted("the server said no");
    let nested = Sentence::new("contract not checked, {name} is not known here ({because})")
        .with("name", "wal_syncs")
        .with("because", Sentence::new("commits did not wait for the log flush"));
    let share = Sentence::new("{share%} of all ops failed ({classes})")
        .with("share", 0.008)
        .with("classes", "140 deadlock");
    let mut old = Reason::new(Status::Valid, ReasonCode::Sampling, "as it was said once");
    old.sentence = None;
    vec![
        Reason::new(Status::Conditional, ReasonCode::NodeLost, lost.with("node", "db2:5432")),
        Reason::new(Status::Conditional, ReasonCode::Failed, quoted),
        Reason::new(Status::Valid, ReasonCode::Unchecked, nested),
        Reason::new(Status::Invalid, ReasonCode::Errors, share),
        Reason::new(Status::Valid, ReasonCode::Other("of-our-own".into()), "another claim"),
        old,
    ]
}

/// A run with facts in every section that there is.
fn full_run() -> RunRecord {
    let mut run = fixture::run();
    run.provenance = Some(dbdyno::model::Provenance {
        sources: vec!["document".into()],
        study: "study".into(),
        suite: "suite".into(),
        platform: "platform".into(),
        attributes: fixture::map([("fact", "value")]),
    });
    for (section, fact, value) in [
        ("hardware", "cpu_model", "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"),
        ("hardware", "frequency_governor", "performance"),
        ("os", "distribution", "Debian GNU/Linux 12 (bookworm)"),
        ("os", "kernel", "6.1.0-18-amd64"),
        ("os", "clock_source", "tsc"),
        ("database", "version", "PostgreSQL 15.18 (Debian 15.18-0+deb12u1)"),
        ("database", "tls", "TLSv1.3 TLS_AES_256_GCM_SHA384"),
        ("database", "nodes", "db1:5432, db2:5432"),
        ("hardware", "smt", "db1:5432: on; db2:5432: off"),
        ("dbdyno", "version", "0.1.0"),
        ("network", "link_held_by", "tc"),
        ("settings", "wal_level", "replica"),
        ("settings", "effective_cache_size", "524288 8kB"),
    ] {
        run.disclosure.set(section, fact, value);
    }
    run
}

/// Places in the JSON of a value that take a mark: texts that may be others, and maps that may have
/// a further name. They depend on the types of the fields, not on the mark.
struct Free {
    texts: Vec<String>,
    maps: Vec<String>,
}

/// Those of a type by the place of the mark in a text: to find them the value is read once for each
/// of its texts and maps.
type Known = [OnceLock<Free>; 3];

static OF_RUN: Known = [const { OnceLock::new() }; 3];
static OF_TEST: Known = [const { OnceLock::new() }; 3];

impl Free {
    fn find<T: DeserializeOwned>(whole: &Value, place: Place) -> Free {
        let (mark, _) = MARKS[0];
        let mut json = whole.clone();
        let mut texts = pointers(&json, &Value::is_string);
        texts.retain(|pointer| {
            takes::<T>(&mut json, pointer, &|json| set_text(json, pointer, mark, place))
        });
        let mut maps = pointers(&json, &Value::is_object);
        maps.retain(|pointer| {
            takes::<T>(&mut json, pointer, &|json| add_name(json, pointer, mark))
        });
        Free { texts, maps }
    }
}

/// Changes the JSON of a value at a place; takes the change back if the type refuses it. Only that
/// place is copied: there are hundreds of them.
fn takes<T: DeserializeOwned>(
    json: &mut Value,
    pointer: &str,
    change: &dyn Fn(&mut Value),
) -> bool {
    let before = json.pointer(pointer).unwrap().clone();
    change(json);
    let is_taken = <T as serde::Deserialize<'_>>::deserialize(&*json).is_ok();
    if !is_taken {
        *json.pointer_mut(pointer).unwrap() = before;
    }
    is_taken
}

fn set_text(json: &mut Value, pointer: &str, mark: &str, place: Place) {
    let text = json.pointer_mut(pointer).unwrap();
    let old = text.as_str().unwrap();
    *text = Value::String(match place {
        Place::Alone => mark.to_string(),
        Place::Before => format!("{mark} {old}"),
        Place::Behind => format!("{old} {mark}"),
    });
}

fn add_name(json: &mut Value, pointer: &str, mark: &str) {
    let fields = json.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
    let sample = fields.values().next().cloned();
    fields.extend(sample.map(|sample| (mark.to_string(), sample)));
}

/// The value with the mark in each text that may be another one, and as a further name in each map.
fn plant<T: Serialize + DeserializeOwned>(value: &T, mark: &str, place: Place, known: &Known) -> T {
    let mut json = serde_json::to_value(value).unwrap();
    let free = known[place as usize].get_or_init(|| Free::find::<T>(&json, place));
    free.texts.iter().for_each(|pointer| set_text(&mut json, pointer, mark, place));
    free.maps.iter().for_each(|pointer| add_name(&mut json, pointer, mark));
    serde_json::from_value(json).unwrap()
}

fn pointers(json: &Value, is_wanted: &dyn Fn(&Value) -> bool) -> Vec<String> {
    let below = |key: String, value: &Value| -> Vec<String> {
        let key = key.replace('~', "~0").replace('/', "~1");
        pointers(value, is_wanted).into_iter().map(|rest| format!("/{key}{rest}")).collect()
    };
    let mut found: Vec<String> = match json {
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| below(at.to_string(), item)).collect()
        }
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| below(key.clone(), value)).collect()
        }
        _ => Vec::new(),
    };
    if is_wanted(json) {
        found.push(String::new());
    }
    found
}

fn planted_run(mark: &str, place: Place) -> RunTests {
    let run = plant(&full_run(), mark, place, &OF_RUN);
    let test = plant(&full_test(), mark, place, &OF_TEST);
    RunTests { run, tests: vec![test.into()] }
}

#[track_caller]
fn assert_without(what: &str, text: &str, hidden: &str) {
    let text = text.to_lowercase();
    if let Some(at) = text.find(hidden) {
        let around: String =
            text.chars().skip(text[..at].chars().count().saturating_sub(80)).take(200).collect();
        panic!("{what}: {hidden:?} in ...{around}...");
    }
}

#[test]
fn no_text_of_a_run_is_published_that_names_somebody() {
    for (mark, hidden) in MARKS {
        for place in [Place::Alone, Place::Before, Place::Behind] {
            let planted = planted_run(mark, place);
            let as_json = serde_json::to_string(&planted.tests).unwrap();
            assert!(as_json.to_lowercase().matches(hidden).count() > 60, "it was planted");
            let run = anonymize(&[planted]).remove(0);
            assert_eq!(run.tests.len(), 1, "{mark} {place:?}: the test is still there");
            let what = format!("{mark} {place:?}");
            assert_without(&what, &serde_json::to_string(&run.run).unwrap(), hidden);
            assert_without(&what, &serde_json::to_string(&run.tests).unwrap(), hidden);
            assert_without(&what, &format!("{:?}", run.removed), hidden);
        }
    }
}

/// In each format that a report has, the list of what was removed included.
#[test]
fn no_format_of_a_publication_holds_what_was_planted() {
    let report = REPORTS.iter().find(|report| report.name() == "anonymized").unwrap();
    for (number, (mark, hidden)) in MARKS.into_iter().enumerate() {
        let place = [Place::Alone, Place::Before, Place::Behind][number % 3];
        let mut group = dbdyno::catalog::Group::new("TP", mark);
        group.about = mark.into();
        let input = Input {
            runs: vec![planted_run(mark, place)],
            groups: vec![group, dbdyno::catalog::Group::new(mark, mark)],
            command: mark.into(),
            ..Input::default()
        };
        let document = report.build(&input);
        for format in FORMATS {
            let what = format!("{mark} {place:?} {}", format.name());
            match format.render(&document, Options::plain(120)).unwrap() {
                Rendered::Text(text) => assert_without(&what, &text, hidden),
                Rendered::Bytes(book) => {
                    let mut book = zip::ZipArchive::new(Cursor::new(book)).unwrap();
                    for part in 0..book.len() {
                        let mut text = String::new();
                        let mut file = book.by_index(part).unwrap();
                        if file.read_to_string(&mut text).is_ok() {
                            assert_without(&what, &text, hidden);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_publication_keeps_what_a_comparison_needs() {
    let mut tests: Vec<Test> = fixture::as_tests(fixture::tests());
    tests.push(full_test().into());
    let stored = RunTests { run: full_run(), tests };
    let told = anonymize(std::slice::from_ref(&stored)).remove(0);
    for (section, fact, value) in [
        ("hardware", "cpu_model", "Intel(R) Xeon(R) Platinum 8375C CPU 2.90GHz"),
        ("hardware", "cores", "2"),
        ("hardware", "memory_mb", "8590"),
        ("hardware", "smt", "node-1: on; node-2: off"),
        ("os", "distribution", "Debian GNU/Linux 12"),
        ("os", "kernel", "6.1.0"),
        ("storage", "file_system", "ext4"),
        ("database", "version", "PostgreSQL 15.18"),
        ("database", "nodes", "node-1, node-2"),
        ("database", "tls", "TLSv1.3 TLS_AES_256_GCM_SHA384"),
        ("settings", "shared_buffers", "128MB"),
        ("settings", "effective_cache_size", "524288 8kB"),
        ("settings", "fsync", "on"),
        ("settings", "wal_level", "replica"),
    ] {
        assert_eq!(told.run.disclosure.get(section, fact), Some(value), "{section}: {fact}");
    }
    assert_eq!((told.run.size_gb, told.run.seed), (stored.run.size_gb, stored.run.seed));
    assert_eq!(told.run.version, stored.run.version);
    assert!(told.removed.contains("storage: device") && !told.removed.contains("os: kernel"));
    assert_eq!(told.tests.len(), stored.tests.len());
    for (told, stored) in told.tests.iter().zip(&stored.tests) {
        let figures = |test: &Test| {
            let measured = test.measured().unwrap().clone();
            let codes: BTreeMap<String, Status> = (test.verdict().reasons.iter())
                .filter(|reason| !matches!(reason.code, ReasonCode::Other(_)))
                .map(|reason| (reason.code.to_string(), reason.status))
                .collect();
            let names = (test.workload().to_string(), test.params().clone(), measured.asked_as);
            (
                (test.kpm_value(), test.second_value(), measured.ci_fraction, test.status()),
                (names, measured.hash, measured.drive, measured.jobs, codes),
                (measured.counters, measured.window_counters, measured.latency, measured.series),
                (measured.kpm, measured.open, measured.lasting, measured.started_at),
            )
        };
        assert_eq!(figures(told), figures(stored), "{}", stored.workload());
        let (told, stored) = (told.measured().unwrap(), stored.measured().unwrap());
        let events = |test: &TestResult| test.waits.clone().map(|waits| waits.events);
        assert_eq!(events(told), events(stored));
    }
    let full = told.tests.last().unwrap().measured().unwrap();
    let said: Vec<&str> = full.verdict.reasons.iter().map(|reason| reason.text.as_str()).collect();
    assert!(said.iter().any(|text| text.contains("node-2 did not answer")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("140 deadlock")), "{said:?}");
    assert_eq!(full.workers[0].name, "worker 1");
}

/// Every mark in a run of its own, in a results file, beside one whose workload is of a catalog
/// of one's own.
#[test]
fn no_file_of_a_site_holds_what_was_planted() {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    for (number, (mark, _)) in MARKS.into_iter().enumerate() {
        let place = [Place::Alone, Place::Before, Place::Behind][number % 3];
        for place in [place, Place::Alone] {
            let planted = planted_run(mark, place);
            let id = store.begin_run(&planted.run).unwrap();
            let test = planted.tests[0].measured().unwrap();
            store.save_test(id, test).unwrap();
            let second = TestResult { seq: test.seq + 1, jobs: test.jobs + 1, ..test.clone() };
            store.save_test(id, &second).unwrap();
            store.finish_run(id, dbdyno::model::RunStatus::Finished).unwrap();
        }
    }
    drop(store);
    for language in ["en", "de"] {
        let out = desk.path(language);
        desk.run(&format!("site {} --language {language}", out.display())).ok();
        let files = crate::site::files(&out);
        assert!(files.len() > 30, "{files:?}");
        for (name, content) in &files {
            // In lower case once, not for each mark.
            let text = format!("{name}\n{content}").to_lowercase();
            for (_, hidden) in MARKS.into_iter().filter(|(_, hidden)| text.contains(hidden)) {
                assert_without(name, &text, hidden);
            }
        }
    }
    // What nothing was removed from has them: they were there.
    let out = desk.path("internal");
    desk.run(&format!("site {} --internal", out.display())).ok();
    let files = crate::site::files(&out);
    let texts: Vec<String> = files.values().map(|text| text.to_lowercase()).collect();
    for (mark, hidden) in MARKS {
        assert!(texts.iter().any(|text| text.contains(hidden)), "{mark}");
    }
}
