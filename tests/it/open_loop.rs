//! `--rate` and `--slo` from the command line to JSON and datasheet.

use serde_json::Value;

use crate::support::Desk;

const BASE: &str = "run --size 0.01 --workload TP-LOOKUP --jobs 2 --warmup 100ms --quiet";

#[test]
fn each_rate_is_a_test_with_response_times_of_its_own() {
    let desk = Desk::new();
    let run = desk
        .run(&format!("{BASE} --rate 300,600 --arrivals uniform --duration 1s --format json"))
        .ok()
        .json();
    let tests = run["tests"].as_array().unwrap();
    let offered: Vec<f64> =
        tests.iter().map(|test| test["offered_per_s"].as_f64().unwrap()).collect();
    assert_eq!(offered, [300.0, 600.0]);
    for test in tests {
        let [done, due] = ["ops", "due"].map(|name| test[name].as_f64().unwrap());
        assert!(done > 0.0 && done <= due, "{done} of {due}");
        // Nearly what was offered in the window, whatever the machine: what is late is due all the
        // same.
        let per_s = due / test["elapsed_s"].as_f64().unwrap();
        assert!(per_s < 1.2 * test["offered_per_s"].as_f64().unwrap(), "{test:#}");
        let times = |kind: &str| test[kind]["p50"].as_f64().unwrap();
        assert!(times("response_time_us") >= times("service_time_us") * 0.999, "{test:#}");
        assert_eq!(
            (&test["params"]["arrivals"], &test["drive"]),
            (&"uniform".into(), &"client".into())
        );
        assert!(test["series"][0]["max_us"].as_f64().unwrap() > 0.0, "{test:#}");
    }
    assert!(
        run["own_loop"]["p999_us"].as_f64().is_some_and(|us| us >= 0.0),
        "{:#}",
        run["own_loop"]
    );
    let sheet = desk.run("report datasheet").ok().stdout;
    assert!(sheet.contains("Open loop") && sheet.contains("rate=300"), "{sheet}");
    let page = desk.run("report test last:1").ok().stdout;
    assert!(page.contains("Response time p50") && page.contains("Our own loop p99.9"), "{page}");
}

#[test]
fn an_offered_mix_is_that_of_the_closed_loop() {
    let desk = Desk::new();
    let line = "run --size 0.01 --workload TP-MIXED1 --jobs 4 --warmup 100ms --duration 500ms --quiet --format json";
    let shares = |options: &str| {
        let run = desk.run(&format!("{line} {options}")).ok().json();
        let ops = |part: &Value| part["ops_per_s"].as_f64().unwrap();
        let parts: Vec<f64> =
            run["tests"][0]["parts"].as_array().unwrap().iter().map(ops).collect();
        parts.iter().map(|per_s| per_s / parts.iter().sum::<f64>()).collect::<Vec<_>>()
    };
    let (closed, offered) = (shares(""), shares("--drive client --rate 400 --arrivals uniform"));
    // Equal numbers of jobs would have equal shares.
    let least = |shares: &[f64]| shares.iter().copied().fold(1.0, f64::min);
    assert!(least(&closed) < 0.15 && least(&offered) < 0.2, "{closed:?} {offered:?}");
}

#[test]
fn the_highest_rate_that_keeps_a_promise_is_looked_for() {
    let desk = Desk::new();
    let line = format!("{BASE} --rate auto --slo p50<10s --duration 200ms --format json");
    let run = desk.run(&line).ok().json();
    let promise = &run["promises"][0];
    assert_eq!((&promise["promise"], &promise["jobs"]), (&"p50<10s".into(), &2.into()), "{run:#}");
    let tests = run["tests"].as_array().unwrap();
    let rates: Vec<f64> = tests.iter().filter_map(|test| test["offered_per_s"].as_f64()).collect();
    assert_eq!(promise["trials"], rates.len());
    let closed = tests[0]["ops_per_s"].as_f64().unwrap();
    assert!(
        tests[0]["offered_per_s"].is_null() && rates.iter().all(|rate| *rate < 1.15 * closed),
        "{closed}: {rates:?}"
    );
    let [kept, broken] = ["kept_per_s", "broken_per_s"].map(|name| promise[name].as_f64());
    assert!(kept.zip(broken).is_none_or(|(kept, broken)| kept < broken), "{promise}");
    let says =
        |text: &str| desk.run("report datasheet").ok().stdout.replace('\n', " ").contains(text);
    assert!(says("TP-LOOKUP with 2 jobs: p50<10s") || says("trials do not tell"), "{promise}");
}

#[test]
fn a_rate_that_is_not_kept_up_with_is_no_figure() {
    let desk = Desk::new();
    // More than any machine does.
    let run =
        desk.run(&format!("{BASE} --rate 500000000 --duration 300ms --format json")).ok().json();
    let test = &run["tests"][0];
    let codes: Vec<&Value> =
        test["verdict"]["reasons"].as_array().unwrap().iter().map(|one| &one["code"]).collect();
    assert!(codes.contains(&&"overload".into()), "{codes:?}");
    assert_eq!(
        (&test["verdict"]["status"], &test["kpm"]["value"]),
        (&"invalid".into(), &Value::Null)
    );
}

#[test]
fn what_no_rate_can_be_is_one_line() {
    let desk = Desk::new();
    for (options, words) in [
        ("--rate 0", ["'0' is not a valid rate", "100,200,400"]),
        ("--rate auto", ["--rate auto: what must be kept is not said", "--slo"]),
        ("--rate 100 --slo p99<5ms", ["no rate is looked for", "--rate auto"]),
        ("--rate auto --slo p98<5ms", ["'p98<5ms' is not a valid promise", "p99<5ms"]),
        ("--rate 100 --drive database", ["the database drive has no open loop", "--drive client"]),
        ("--rate 100 --ops 5", ["--rate", "--ops"]),
        ("--slo p99<5ms", ["--rate", "required"]),
    ] {
        desk.run(&format!("run --workload TP-LOOKUP {options}")).fails(2, &words);
    }
}
