//! Experiments as files: a run, printed as a file, does the same again; what is wrong in a file is
//! told with its line; the schema knows what the program takes.

use std::fs;
use std::sync::OnceLock;

use dbdyno::model::RunRecord;
use dbdyno::store::Store;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Desk, ended, signal, until};

const SCHEMA: &str = "docs/schema/experiment.schema.json";
const EXAMPLE: &str = "examples/experiments/two-engines.toml";

fn run(desk: &Desk, which: &str) -> RunRecord {
    Store::open_read_only(&desk.path("results.db")).unwrap().run(which).unwrap()
}

/// Writes a file and gives its path for a command line.
fn file(desk: &Desk, text: &str) -> String {
    let path = desk.path("x.toml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Starts a run and ends it as soon as it knows its data: its plan is stored then, and no test of
/// it is of interest.
fn run_until_loaded(desk: &Desk, line: &str) {
    let before = if desk.path("results.db").exists() { run(desk, "last").id } else { 0 };
    let mut program = desk.spawn(line);
    until("the data of the run are known", || {
        let has_ended = program.try_wait().unwrap().is_some();
        let stored = || desk.runs_so_far().last().is_some_and(|run| run["id"] != before);
        has_ended || stored() && run(desk, "last").data_set_id.is_some()
    });
    if program.try_wait().unwrap().is_none() {
        signal(program.id(), Signal::INT);
    }
    let done = ended(program, line);
    assert!([Some(0), Some(130)].contains(&done.code), "{done:#?}");
}

/// Runs the last run again by its file, and checks that it has the same plan.
fn again(desk: &Desk) -> String {
    again_by(desk, &|line| drop(desk.run(line).ok()))
}

/// The same without the tests of the second run, whose plan is stored before they begin.
fn again_until_loaded(desk: &Desk) -> String {
    again_by(desk, &|line| run_until_loaded(desk, line))
}

fn again_by(desk: &Desk, start: &dyn Fn(&str)) -> String {
    let first = run(desk, "last");
    let text = desk.run("show run last --as-file").ok().stdout;
    valid(&text);
    start(&format!("run {} --quiet --label again=yes", file(desk, &text)));
    let second = run(desk, "last");
    assert_eq!(second.id, first.id + 1);
    // Statements, hashes, parameters, ramps, windows, seeds, profile and settings.
    let same = |run: &RunRecord| {
        let mut plan = run.plan.json().clone();
        // A suite's name and what it left out are not asked for again.
        plan.as_object_mut()
            .unwrap()
            .retain(|field, _| !["suite", "left_out", "note"].contains(&field.as_str()));
        // What runs beside a test has its jobs and ends with the test: no ramp or window of its
        // own.
        for selection in plan["selections"].as_array_mut().unwrap() {
            if let Some(beside) = selection["beside"]["selection"].as_object_mut() {
                beside.retain(|field, _| !["ramp", "window"].contains(&field.as_str()));
            }
        }
        plan
    };
    assert_eq!(same(&second), same(&first), "{text}");
    assert!(!same(&first)["selections"].as_array().unwrap().is_empty());
    assert_eq!(
        (&second.target, second.seed, second.size_gb, &second.data_set_id),
        (&first.target, first.seed, first.size_gb, &first.data_set_id)
    );
    assert_eq!(second.labels.get("again").map(String::as_str), Some("yes"));
    text
}

/// Checks that the schema accepts a file.
#[track_caller]
fn valid(text: &str) {
    let errors = errors(text);
    assert!(errors.is_empty(), "{errors:?} in {text}");
}

fn errors(text: &str) -> Vec<String> {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let schema = serde_json::from_str(&fs::read_to_string(SCHEMA).unwrap()).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    });
    let document: Value = toml::from_str(text).unwrap();
    validator.iter_errors(&document).map(|error| error.to_string()).collect()
}

#[test]
fn a_run_on_the_embedded_engine_is_done_again_by_its_file() {
    let desk = Desk::new();
    run_until_loaded(
        &desk,
        "run sqlite --quiet --size 0.01 --workload SRV-QUERY1:keys=zipf-0.99 --workload \
         TP-LIGHT:update_pct=40 --workload SRV-REPORT --jobs 1,2 --repeat 2 --warmup 0 --duration \
         100ms --seed 9 --retry-disturbed=1 --name first",
    );
    let text = again_until_loaded(&desk);
    for part in ["#:schema ./experiment.schema.json", "target = \"sqlite\"", "seed = 9", "[[test]]"]
    {
        assert!(text.contains(part), "no {part}: {text}");
    }
    // Of a suite, with its own windows and repetitions, beside another workload.
    run_until_loaded(
        &desk,
        "run sqlite --quiet --suite quick --size 0.01 --time-scale 0.02 --jobs 1 --repeat 1",
    );
    again_until_loaded(&desk);
    run_until_loaded(
        &desk,
        "run sqlite --quiet --size 0.01 --workload SRV-QUERY1 --background SRV-REPORT \
         --background-jobs 2 --jobs 1 --warmup 0 --duration 150ms",
    );
    let text = again_until_loaded(&desk);
    assert!(
        text.contains("background = \"SRV-REPORT") && text.contains("background_jobs = 2"),
        "{text}"
    );
}

#[test]
fn rates_and_slos_are_those_of_the_run() {
    let desk = Desk::new();
    let base = "run sqlite --quiet --size 0.01 --workload SRV-QUERY1 --workload TP-LOOKUP --jobs 1 \
                --warmup 0 --duration 200ms";
    desk.run(&format!("{base} --rate 100,250.5 --arrivals uniform")).ok();
    let text = again(&desk);
    for line in ["rate = \"100,250.5\"\n", "arrivals = \"uniform\"\n"] {
        assert_eq!(text.matches(line).count(), 2, "{text}");
    }
    let offered = |id: i64| -> Vec<f64> {
        let store = Store::open_read_only(&desk.path("results.db")).unwrap();
        let tests = store.tests(id).unwrap();
        let open = tests.iter().filter_map(|test| test.measured()?.open.as_ref());
        open.map(|open| open.offer.per_s).collect()
    };
    let last = run(&desk, "last").id;
    assert_eq!(offered(last).len(), 4);
    assert_eq!(offered(last), offered(last - 1));
    // Each search would be some ten tests.
    run_until_loaded(&desk, &format!("{base} --rate auto --slo p50<10s"));
    let text = again_until_loaded(&desk);
    assert!(text.contains("rate = \"auto\"") && text.contains("slo = \"p50<10s\""), "{text}");
    // A file may ask for both loops, and give a rate for all that say nothing else.
    let text = "target = 'sqlite'\nsize = 0.01\nwarmup = 0\nduration = '200ms'\njobs = 1\nrate = \
                50\n[[test]]\nworkload = 'SRV-QUERY1'\n[[test]]\nworkload = 'TP-LOOKUP'\nrate = \
                '80'\n[[test]]\nworkload = 'TP-LOOKUP'\nwork = { amount = 9, unit = 'ops' }\n";
    valid(text);
    desk.run(&format!("run {} --quiet", file(&desk, text))).ok();
    assert_eq!(offered(run(&desk, "last").id), [50.0, 80.0]);
    again_until_loaded(&desk);
}

#[test]
fn what_ran_beside_each_test_is_asked_for_again() {
    let desk = Desk::new();
    desk.run(
        "interference sqlite --quiet --size 0.01 --workloads SRV-QUERY1,SRV-REPORT --jobs 1 \
         --blocks 1 --duration 100ms --warmup 0",
    )
    .ok();
    let text = again_until_loaded(&desk);
    let backgrounds = text.matches("background = ").count();
    assert_eq!((backgrounds, text.matches("[[test]]").count()), (3, 5), "{text}");
}

#[test]
fn a_cluster_has_as_many_nodes_again() {
    let desk = Desk::new();
    run_until_loaded(
        &desk,
        "run postgres-replicas --nodes 1,2 --quiet --size 0.01 --workload SRV-QUERY1 --workload \
         SRV-REPORT --jobs 2 --warmup 0 --duration 300ms",
    );
    let text = again_until_loaded(&desk);
    assert!(text.contains("nodes = \"1,2\"") && !text.contains("params = { nodes"), "{text}");
    assert_eq!(text.matches("[[test]]").count(), 2, "{text}");
}

#[test]
fn a_run_on_a_private_server_is_done_again_with_its_profile_and_settings() {
    let desk = Desk::new();
    let text = "target = 'postgres'\nprofile = 'S'\nsize = 0.01\nduration = '300ms'\nwarmup = \
                0\n[settings]\nwork_mem = '7MB'\n[[test]]\nworkload = 'SRV-QUERY1'\njobs = \
                '1,2'\n[[test]]\nworkload = 'TP-LIGHT'\nparams = { update_pct = '40' }\njobs = \
                '1'\ndrive = 'client'\nduration_s = 0.4\n[[test]]\nworkload = 'SRV-QUERY1'\neach = \
                { org = ['heap', 'default'] }\njobs = '1'\n";
    valid(text);
    run_until_loaded(&desk, &format!("run {} --quiet", file(&desk, text)));
    let first = run(&desk, "last");
    assert_eq!(first.disclosure.get("settings", "work_mem"), Some("7168 kB").or(Some("7MB")));
    let selections = first.plan.json()["selections"].as_array().unwrap();
    assert_eq!(selections.len(), 4);
    let window = |at: usize| selections[at]["window"]["duration_s"].clone();
    assert_eq!((window(0), window(1)), (json!(0.3), json!(0.4)), "a test's own word counts more");
    assert_eq!(selections[1]["drive"], "client");
    let text = again_until_loaded(&desk);
    assert!(text.contains("profile = \"S\"") && text.contains("work_mem = \"7MB\""), "{text}");
    assert_eq!(
        run(&desk, "last").disclosure.get("settings", "work_mem"),
        first.disclosure.get("settings", "work_mem")
    );
}

#[test]
fn several_targets_are_compared_and_the_gate_tells() {
    let desk = Desk::new();
    let text = "name = 'both'\nsize = 0.01\njobs = 1\nwarmup = 0\nduration = '100ms'\nworkload = \
                'SRV-QUERY1'\ntarget = ['sqlite', { at = 'sqlite', name = 'other' \
                }]\n[compare]\nfail_below = '99%'\n";
    valid(text);
    let done = desk.run(&format!("run {} --quiet", file(&desk, text))).ok();
    assert!(done.stdout.contains("other against both"), "{}", done.stdout);
    let names: Vec<Value> = desk.runs().iter().map(|run| run["name"].clone()).collect();
    assert_eq!(names, ["both", "other"]);
    // A figure of the base that the other has lost fails.
    let lost = text.replace("name = 'other'", "name = 'other', workload = 'SRV-REPORT'");
    desk.run(&format!("run {} --quiet", file(&desk, &lost))).fails(1, &["SRV-QUERY1"]);
    assert_eq!(desk.runs().len(), 4);
}

#[test]
fn a_wrong_file_is_one_line_with_its_place_and_nothing_is_measured() {
    let desk = Desk::new();
    for (text, words) in [
        ("size = 0.01\njbos = 1", vec!["x.toml:2: 'jbos' is not a key", "did you mean 'jobs'?"]),
        ("jobs = 1\nsize = 0.001", vec!["x.toml:2: 0.001 GB is not a valid size"]),
        ("workload = ['SRV-QUERY1',\n 'SRV-QUERX1']", vec!["x.toml:2: ", "SRV-QUERX1"]),
        ("suite = 'quik'", vec!["x.toml:1: ", "quik"]),
        ("target = 'postgress'", vec!["x.toml:1: ", "did you mean 'postgres'?"]),
        (
            "[[test]]\nworkload = 'TP-LIGHT'\nparams = { update_pct = '400' }",
            vec!["x.toml:", "400"],
        ),
        ("jobs = '1..'", vec!["x.toml:1: ", "--jobs"]),
    ] {
        let line = format!("run {}", file(&desk, text));
        let done = desk.run(&line);
        done.fails(2, &words);
    }
    desk.run("run nowhere.toml").fails(2, &["nowhere.toml", "cannot be read"]);
    // Options that say what is measured stand in the file.
    let good = file(&desk, "target = 'sqlite'\njobs = 1\n");
    desk.run(&format!("run {good} --jobs 2")).fails(2, &["--jobs", "write it into the file"]);
    desk.run(&format!("run {good} --seed 42")).fails(2, &["--seed", "write it into the file"]);
    // A password is refused and not told.
    for text in [
        "target = 'postgres://me:hunter2@db/app'",
        "[[target]]\nat = 'postgres://db/app?user=me&password=hunter2'",
        "target = 'sqlite'\npassword = 'hunter2'",
        "target = 'sqlite'\nhost_metrics = 'http://me:hunter2@db:9100/metrics'",
    ] {
        let done = desk.run(&format!("run {}", file(&desk, text)));
        assert!(
            !done.stderr.contains("hunter2") && done.stderr.contains("x.toml:"),
            "{}",
            done.stderr
        );
        done.fails(2, &[]);
    }
    assert!(!desk.path("results.db").exists(), "nothing was measured");
}

#[test]
fn the_schema_is_what_the_program_takes() {
    let desk = Desk::new();
    let printed = desk.run("show schema").ok().stdout;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(SCHEMA, &printed).unwrap();
    }
    let is_same = fs::read_to_string(SCHEMA).is_ok_and(|known| known == printed);
    assert!(is_same, "UPDATE_GOLDEN=1 rewrites {SCHEMA}, read the diff");
    valid(&fs::read_to_string(EXAMPLE).unwrap());
    for (text, word) in [
        ("jbos = 1", "jbos"),
        ("keep = 'yes'", "boolean"),
        ("drive = 'somewhere'", "somewhere"),
        ("suite = 'quick'\n[[test]]\nworkload = 'A'", "allowed"),
        ("[[target]]\nname = 'a'", "at"),
        ("[[test]]\njobs = '1'", "workload"),
    ] {
        let found = errors(text);
        assert!(!found.is_empty(), "{text} is accepted");
        let _ = word;
    }
}
