//! `--rate` and `--slo` from the command line to JSON and datasheet.

use dbdyno::model::{
    Arrivals, Drive, LatencySummary, OfferedLoad, OpenLoop, Reason, ReasonCode, Sentence, Status,
    TestResult, Verdict,
};
use dbdyno::store::Store;
use serde_json::Value;

use crate::fixture::{self, RampPoint};
use crate::servers::Lease;
use crate::support::{Desk, Done, assert_run_schema, finished};

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
    let line = "run --size 0.01 --workload TP-MIXED1 --jobs 4 --warmup 100ms --duration 500ms \
                --quiet --format json";
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
fn the_highest_rate_that_meets_an_slo_is_searched_for() {
    let desk = Desk::new();
    let one = BASE.replace("--jobs 2", "--jobs 1").replace("--warmup 100ms", "--warmup 0");
    let line = format!("{one} --rate auto --slo p50<10s --duration 200ms --format json");
    let run = desk.run(&line).ok().json();
    let answer = &run["promises"][0];
    assert_eq!((&answer["promise"], &answer["jobs"]), (&"p50<10s".into(), &1.into()), "{run:#}");
    let tests = run["tests"].as_array().unwrap();
    let rates: Vec<f64> = tests.iter().filter_map(|test| test["offered_per_s"].as_f64()).collect();
    assert_eq!(answer["trials"], rates.len());
    let closed = tests[0]["ops_per_s"].as_f64().unwrap();
    assert!(
        tests[0]["offered_per_s"].is_null() && rates.iter().all(|rate| *rate < 1.15 * closed),
        "{closed}: {rates:?}"
    );
    let [kept, broken] = ["kept_per_s", "broken_per_s"].map(|name| answer[name].as_f64());
    assert!(kept.zip(broken).is_none_or(|(kept, broken)| kept < broken), "{answer}");
    let says =
        |text: &str| desk.run("report datasheet").ok().stdout.replace('\n', " ").contains(text);
    assert!(says("TP-LOOKUP with 1 job: p50<10s") || says("trials do not show"), "{answer}");
}

/// A trial of a search for the highest rate with p99 below 5 ms, while others used that share of
/// the CPU.
fn trial(seq: u32, per_s: f64, p99_us: f64, others: Option<f64>) -> TestResult {
    let slo = "p99<5ms".parse().ok();
    let offer = OfferedLoad { per_s, arrivals: Arrivals::Poisson, slo };
    let one = fixture::test(seq, &RampPoint::tps("TP-LIGHT", "TP", 8, per_s));
    let mut params = one.params.clone();
    offer.add_to(&mut params);
    let response = LatencySummary { p99_us: Some(p99_us), ..one.latency.clone() };
    let due = one.window.ops as f64;
    let reason = |share: f64| {
        let text = "other processes used {share%} of the CPU time that this test could use \
                    ({used} of {usable} CPUs)";
        let sentence = Sentence::new(text).with("share", share).with("used", 2.0 * share);
        Reason::new(Status::Conditional, ReasonCode::ForeignLoad, sentence.with("usable", 2.0))
    };
    TestResult {
        params,
        drive: Drive::Client,
        open: Some(OpenLoop { offer, due, response, phases: Vec::new() }),
        verdict: Verdict::from_reasons(others.map(reason).into_iter().collect()),
        ..one
    }
}

#[test]
fn a_search_whose_trials_were_disturbed_answers_with_its_doubt() {
    let desk = Desk::new();
    let mut store = Store::open(&desk.path("results.db")).unwrap();
    let id = store.begin_run(&fixture::run()).unwrap();
    let met = [(1e3, None), (2e3, Some(0.5)), (1.5e3, None), (9e3, Some(0.71)), (8e3, Some(0.6))];
    let missed = [(9e3, 0.71), (8e3, 0.7), (2e3, 0.3), (7e3, 0.71), (9e3, 0.71)];
    let low = met.map(|(p99_us, others)| (2091.0, p99_us, others));
    let high = missed.map(|(p99_us, others)| (4512.0, p99_us, Some(others)));
    for (seq, (per_s, p99_us, others)) in (1..).zip(low.into_iter().chain(high)) {
        store.save_test(id, &trial(seq, per_s, p99_us, others)).unwrap();
    }
    let run = desk.shown("last");
    assert_run_schema(&run);
    let answer = &run["promises"][0];
    assert_eq!((&answer["kept_per_s"], &answer["broken_per_s"]), (&Value::Null, &Value::Null));
    assert_eq!((&answer["status"], &answer["unknown"]), (&"conditional".into(), &6.into()));
    let measured = &answer["measured"];
    let sides = ["met", "missed"]
        .map(|side| ["per_s", "met", "trials"].map(|key| measured[side][key].as_f64().unwrap()));
    assert_eq!(sides, [[2091.0, 3.0, 5.0], [4512.0, 1.0, 5.0]]);
    assert_eq!(
        (&measured["because"][0]["code"], &measured["because"][0]["trials"]),
        (&"foreign-load".into(), &8.into())
    );
    let command = measured["settled_by"].as_str().unwrap();
    assert!(command.ends_with("--rate auto --slo 'p99<5ms' --retry-disturbed"), "{command}");
    let said = |line: &str| {
        let text = desk.run(line).ok().stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = said("report datasheet last --format text");
    let answer = "p99<5ms was met at 2,091 ops/s in 3 of 5 trials and missed at 4,512 ops/s in 4 \
                  of 5, but that is conditional: other processes used 30 to 71 % of the CPU time";
    assert!(text.contains(answer), "{text}");
    assert!(text.contains("in 8 of 10 trials") && text.contains("--retry-disturbed"), "{text}");
    assert!(text.contains("2,091?") && text.contains("4,512?"), "marked in the table: {text}");
    let german = said("report datasheet last --format text --language de");
    let in_german = "wurde bei 2.091 Operationen/s in 3 von 5 Versuchen eingehalten";
    assert!(german.contains(in_german), "{german}");
    let path = desk.path("page.html");
    desk.run(&format!("report html last --output {}", path.display())).ok();
    let page = std::fs::read_to_string(path).unwrap();
    assert!(page.contains("was met at 2,091 ops/s in 3 of 5 trials"), "the page says it, too");
}

#[test]
fn a_rate_that_is_not_kept_up_with_is_no_figure() {
    let desk = Desk::new();
    // More than any machine does.
    let run =
        desk.run(&format!("{BASE} --rate 500000000 --duration 100ms --format json")).ok().json();
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
        ("--rate auto --slo p98<5ms", ["'p98<5ms' is not a valid SLO", "p99<5ms"]),
        (
            "--rate 100 --drive database",
            ["the in-database drive has no open loop", "--drive client"],
        ),
        ("--rate 100 --ops 5", ["--rate", "--ops"]),
        ("--slo p99<5ms", ["--rate", "is missing"]),
    ] {
        desk.run(&format!("run --workload TP-LOOKUP {options}")).fails(2, &words);
    }
}

/// Runs a line with these arguments, which may hold blanks.
fn run_with(desk: &Desk, line: &str, more: &[&str]) -> Done {
    let mut command = desk.command(line);
    command.args(more);
    finished(command, line)
}

/// The figures of a test that ran a load over time.
fn phases(test: &Value) -> Vec<Value> {
    test["phases"].as_array().unwrap_or_else(|| panic!("no phases in {test:#}")).clone()
}

#[test]
fn a_load_over_time_has_figures_for_each_phase_in_every_report() {
    let desk = Desk::new();
    let profile = "ramp 50..200 1s; hold 200 1s; spike 400 500ms; hold 200 1s";
    let line = format!("{BASE} --format json");
    let run = run_with(&desk, &line, &["--rate-profile", profile]).ok().json();
    let test = &run["tests"][0];
    assert_eq!((&test["params"]["rate"], &test["drive"]), (&Value::Null, &"client".into()));
    let phases = phases(test);
    let due: Vec<f64> = phases.iter().map(|phase| phase["due"].as_f64().unwrap()).collect();
    assert_eq!(due, [125.0, 200.0, 200.0, 200.0]);
    for phase in &phases {
        let [done, due] = ["done", "due"].map(|name| phase[name].as_f64().unwrap());
        assert!(done > 0.0 && done < due + 5.0 * due.sqrt(), "{phase:#}");
        assert!(phase["response"]["p50_us"].as_f64().is_some_and(|us| us > 0.0), "{phase:#}");
    }
    let offered = |point: &Value| point["offered_per_s"].as_f64();
    let series = test["series"].as_array().unwrap();
    assert!(series.iter().any(|point| offered(point).is_some_and(|per_s| per_s > 190.0)));
    let sheet = desk.run("report datasheet").ok().stdout;
    for text in ["Open loop", "spike 400 0.5s", "Recovery", "ramp 50..200 1s"] {
        assert!(sheet.contains(text), "{text}: {sheet}");
    }
    let page = desk.run("report test last:1").ok().stdout;
    assert!(page.contains("Load over time") && page.contains("offered and achieved"), "{page}");
    let german = desk.run("report datasheet --language de").ok().stdout;
    assert!(german.contains("Erholung") && german.contains("Last über die Zeit"), "{german}");
    let drawn = desk.run("report test last:1 --format html").ok().stdout;
    assert!(
        drawn.contains("offered and achieved rate") && drawn.contains(">spike, hold<"),
        "{drawn}"
    );
    let whole = desk.run("report html last").ok().stdout;
    for text in ["offered and achieved rate", ">spike, hold<", "spike 400 0.5s", "ops waiting"] {
        assert!(whole.contains(text), "{text}: {whole}");
    }
    // What was measured can be asked for again.
    let file = desk.run("show run last --as-file").ok().stdout;
    let written = format!("rate_profile = \"{}\"", profile.replace("500ms", "0.5s"));
    assert!(file.contains(&written), "{file}");
}

#[test]
fn a_load_over_time_and_users_who_think_are_run_again_by_their_bundle() {
    let desk = Desk::new();
    let bundle = desk.path("load.dbdyno");
    let profile = "hold 100 0.5s; spike 300 0.5s";
    for options in [
        vec!["--rate-profile", profile, "--arrivals", "uniform"],
        vec!["--think", "5ms", "--duration", "500ms"],
    ] {
        let line = format!("{} --format json", BASE.replacen("run", "run sqlite", 1));
        let first = run_with(&desk, &line, &options).ok().json();
        let _ = std::fs::remove_file(&bundle);
        desk.run(&format!("bundle last -o {}", bundle.display())).ok();
        let done = desk.run(&format!("rerun {} sqlite", bundle.display())).ok();
        assert!(done.stderr.contains("that were sealed"), "{}", done.stderr);
        let again = desk.shown("last");
        assert_eq!(again["tests"][0]["params"], first["tests"][0]["params"]);
        let phases = |run: &Value| run["tests"][0]["phases"].as_array().map(Vec::len);
        assert_eq!(phases(&again), phases(&first));
        let [thought, before] =
            [&again, &first].map(|run| run["tests"][0]["thought_s"].is_number());
        assert_eq!(thought, before);
    }
}

#[test]
fn a_server_has_phases_and_users_who_think_too() {
    let (desk, lease) = (Desk::new(), Lease::new("postgres", None, &[]));
    let base = format!(
        "run {} --size 0.01 --workload TP-LIGHT --drive client --jobs 4 --warmup 100ms --quiet \
         --format json",
        lease.url
    );
    let profile = "hold 40 1s; spike 120 1s; hold 40 1s";
    let run = run_with(&desk, &base, &["--rate-profile", profile]).ok().json();
    let phases = phases(&run["tests"][0]);
    assert_eq!(phases.len(), 3);
    assert!(phases.iter().all(|phase| phase["done"].as_u64() > Some(0)), "{phases:#?}");
    let run = desk.run(&format!("{base} --think 20ms --duration 2s")).ok().json();
    let test = &run["tests"][0];
    assert_eq!(test["params"]["think"], "20ms");
    let [ops, thought_s] = [test["ops"].as_f64(), test["thought_s"].as_f64()].map(Option::unwrap);
    assert!(ops > 0.0 && thought_s > 0.0, "{test:#}");
    // Jobs = throughput x (service time + think time), or the verdict would say so.
    let reasons = test["verdict"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().all(|reason| reason["code"] != "little"), "{reasons:#?}");
    assert!(ops < 1.3 * 4.0 * 2.0 / 0.02, "no more than thinking allows: {ops}");
}

#[test]
fn an_experiment_file_says_a_load_over_time_and_a_think_time() {
    let desk = Desk::new();
    let file = |text: &str| {
        let text = format!(
            "target = \"sqlite\"\nworkload = [\"SRV-QUERY1\"]\nsize = 0.01\njobs = \"2\"\nwarmup = \
             \"100ms\"\n{text}"
        );
        std::fs::write(desk.path("load.toml"), text).unwrap();
    };
    let line = format!("run {} --format json --quiet", desk.path("load.toml").display());
    file("rate_profile = \"hold 100 1s; spike 300 500ms\"\n");
    let run = desk.run(&line).ok().json();
    assert_eq!(phases(&run["tests"][0]).len(), 2);
    file("think = \"5ms\"\nduration = \"500ms\"\n");
    let run = desk.run(&line).ok().json();
    assert_eq!(run["tests"][0]["params"]["think"], "5ms");
    let again = desk.run("show run last --as-file").ok().stdout;
    assert!(again.contains("think = \"5ms\""), "{again}");
    file("rate_profile = \"jump 100 1s\"\n");
    desk.run(&line).fails(2, &["load.toml:6", "'jump' is not a shape"]);
}

#[test]
fn what_no_load_over_time_can_be_is_one_line() {
    let desk = Desk::new();
    for (options, words) in [
        (vec!["--rate-profile", "hold -5 1s"], ["a rate is above 0", "hold -5 1s"]),
        (vec!["--rate-profile", "hold 5 0s"], ["a phase lasts", "write 60s"]),
        (
            vec!["--rate-profile", "leap 5 1s"],
            ["'leap' is not a shape", "ramp, hold, spike or day"],
        ),
        (
            vec!["--rate-profile", "hold 5 20s", "--duration", "10s"],
            ["its phases take 20 s, the window 10 s", "leave --duration out"],
        ),
        (vec!["--rate-profile", "hold 5 1s", "--rate", "5"], ["--rate-profile", "--rate"]),
        (vec!["--rate-profile", "hold 5 1s", "--think", "5ms"], ["--rate-profile", "--think"]),
        (
            vec!["--rate-profile", "hold 5 1s", "--drive", "database"],
            ["the in-database drive has no open loop", "--drive client"],
        ),
        (vec!["--think", "0s"], ["is not a possible think time", "50ms"]),
        (vec!["--think", "5ms", "--drive", "database"], ["no think time", "--drive client"]),
    ] {
        run_with(&desk, "run --workload TP-LOOKUP", &options).fails(2, &words);
    }
}
