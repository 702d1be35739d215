//! Tests that a file becomes arguments, and that errors in it name their line.

use super::*;

/// Reads a text as a file.
fn read(text: &str) -> Result<Experiment> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.toml");
    std::fs::write(&path, text).unwrap();
    Experiment::read(&path, &RunArgs::default())
}

/// Error for a text, from the name of the file on.
fn error_line(text: &str) -> String {
    let error = read(text).map(|_| ()).unwrap_err();
    assert_eq!(error.kind.exit_code(), 2);
    let line = error.to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
    line[line.find("x.toml").unwrap()..].to_string()
}

#[test]
fn keys_are_options_and_values_are_read_as_theirs() {
    let text = "name = 'n'\ntarget = 'sqlite'\nworkload = ['A:p=1', 'B']\nsuite = 'quick'\njobs = \
                '1..4'\nrepeat = 3\nduration = 0.5\nsize = '500MB'\nseed = 7\nno_sampler = \
                true\nkeep = false\nretry_disturbed = 2\n[labels]\ndisk = 'a=b'\nn = 3\n";
    let experiment = read(text).unwrap();
    let [run] = &experiment.runs[..] else { panic!("one run") };
    assert_eq!(run.target.place.target, "sqlite");
    assert_eq!(run.target.selection.workload, ["A:p=1", "B"]);
    assert_eq!(run.target.selection.suite, ["quick"]);
    assert_eq!(run.jobs, Some("1..4".parse().unwrap()));
    assert_eq!((run.repeat, run.target.place.data.size), (Some(3), Some(0.5)));
    assert_eq!(run.duration.map(|it| it.0), Some(0.5));
    assert_eq!((run.target.place.data.seed, run.no_sampler), (7, true));
    assert_eq!((run.target.place.keep, run.retry_disturbed), (false, Some(2)));
    let labels: Vec<String> =
        run.naming.label.iter().map(|it| format!("{}:{}", it.key, it.value)).collect();
    assert_eq!(labels, ["disk:a=b", "n:3"]);
}

#[test]
fn targets_have_options_and_settings_of_their_own() {
    let text = "jobs = 1\ntarget = ['sqlite', { at = 'duckdb', name = 'b', jobs = 2, settings = { \
                work_mem = '8MB' } }]\n[settings]\nfsync = 'on'\n[compare]\nfail_below = '5%'\n";
    let experiment = read(text).unwrap();
    let [one, other] = &experiment.runs[..] else { panic!("two runs") };
    assert_eq!((one.jobs.clone(), other.jobs.clone()), ("1".parse().ok(), "2".parse().ok()));
    assert_eq!(one.target.settings.len(), 1);
    let own: Vec<&str> = other.target.settings.keys().map(String::as_str).collect();
    assert_eq!((own, other.naming.name.as_deref()), (vec!["fsync", "work_mem"], Some("b")));
    assert_eq!(experiment.compare.unwrap().fail_below, Some(Percent(0.05)));
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_what_to_do() {
    for (text, said) in [
        ("# nothing\n", "x.toml:1: asks for nothing"),
        ("jbos = 1", "x.toml:1: 'jbos' is not a key; did you mean 'jobs'?"),
        ("\nzzz = 1", "x.toml:2: 'zzz' is not a key; the keys are the long options"),
        ("jobs = 1\njobs = 2", "x.toml:2: duplicate key"),
        ("name = 'a'\nduration = 'ten'", "x.toml:2: invalid value 'ten' for '--duration <TIME>'"),
        ("jobs = true", "x.toml:1: jobs is neither a text nor a number; write it as on"),
        ("keep = 'yes'", "x.toml:1: keep is a switch; write true or false"),
        ("repeat = 0", "x.toml:1: invalid value '0' for '--repeat <N>'"),
        ("ops = 5\nduration = '1s'", "x.toml:"),
        ("target = []", "x.toml:1: no target"),
        ("[[target]]\nname = 'a'", "x.toml:1: a target without 'at'"),
        (
            "[[target]]\nat = 'sqlite'\nnmae = 'a'",
            "x.toml:3: 'nmae' is not a key; did you mean 'name'?",
        ),
        (
            "[[test]]\nworkload = 'A'\nparam = {}",
            "x.toml:3: 'param' is not a key; did you mean 'params'?",
        ),
        ("[[test]]\njobs = '1'", "x.toml:1: a test without a workload"),
        ("[[test]]\nworkload = 'A'\njobs = 'many'", "x.toml:3: "),
        ("[[test]]\nworkload = 'A'\nrate = 'fast'", "x.toml:3: 'fast' is not a valid rate"),
        ("[[test]]\nworkload = 'A'\nrepeat = 'often'", "x.toml:3: invalid type: string"),
        (
            "[[test]]\nworkload = 'A'\n\n[[test]]\nworkload = 'B'\nrate = 'auto'",
            "x.toml:4: this test: 'slo' and rate = \"auto\" need each other",
        ),
        (
            "[[test]]\nworkload = 'A'\nrate = '5'\nprecision = '2%'",
            "x.toml:1: this test: at a 'rate' a test ends after 'duration_s'",
        ),
        (
            "[[test]]\nworkload = 'A'\nbackground_jobs = 2",
            "x.toml:1: this test: 'background_jobs' are those of a 'background'",
        ),
        (
            "suite = 'quick'\n[[test]]\nworkload = 'A'",
            "x.toml:1: suite and single tests; write one",
        ),
        ("[compare]\nfail_below = '5%'", "x.toml:1: one target has nothing to compare it with"),
        (
            "target = ['sqlite', 'sqlite']\n[compare]\nfail_bellow = '5%'",
            "x.toml:3: 'fail_bellow' is not a key; did you mean 'fail_below'?",
        ),
        (
            "target = 'x://db/app'\n[settings]\nfsync = 'off'",
            "x.toml:2: settings of a server that is not ours",
        ),
        ("[settings]\n'a b' = 1", "x.toml:1: 'a b=1' is not a valid setting"),
        ("workers = 2", "x.toml:1: 'workers' is not a key"),
        ("strict = true", "x.toml:1: 'strict' is not a key"),
    ] {
        let line = error_line(text);
        assert!(line.starts_with(said), "{text}: {line}");
    }
}

#[test]
fn an_error_of_a_request_stands_at_the_line_of_its_key_or_word() {
    let experiment = read("size = 1\nworkload = ['SRV-QUERY1', 'NONE']\n").unwrap();
    let at = |place: &str, what: &str| {
        let line = experiment.at_line(Error::usage(place, what).advise("x")).to_string();
        line[line.find("x.toml").unwrap()..].to_string()
    };
    assert_eq!(at("--size", "0 GB is not a valid size"), "x.toml:1: 0 GB is not a valid size; x");
    assert_eq!(at("--workload NONE", "no such"), "x.toml:2: no such; x");
    assert_eq!(at("catalog", "'NONE' is unknown"), "x.toml:2: 'NONE' is unknown; x");
    assert!(at("elsewhere", "no words of it").starts_with("x.toml: elsewhere: no words"));
}

#[test]
fn nothing_that_may_be_a_password_is_told() {
    for text in ["password = 'hunter2'", "[settings]\npassword = ['hunter2']", "jobs = 'hunter2"] {
        assert!(!error_line(text).contains("hunter2"), "{text}");
    }
}
