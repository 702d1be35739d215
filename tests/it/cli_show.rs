//! Descriptions of the catalog and the program: `list`, `show`, `check`, `overhead`, completions,
//! manual.

use clap::Parser;
use dbdyno::cli::args::Cli;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::servers::Server;
use crate::skipped::skipped;
use crate::support::{Desk, column, ended, finished};

#[test]
fn every_listing_has_text_and_json() {
    let desk = Desk::new();
    for (what, key) in [
        ("workloads", "SRV-QUERY1"),
        ("suites", "quick"),
        ("engines", "postgres"),
        ("reports", "kpm"),
        ("profiles", "XS"),
        ("formats", "html"),
    ] {
        let text = desk.run(&format!("list {what}")).ok().stdout;
        assert!(text.contains(key) && text.starts_with("id "), "{text}");
        let json = desk.run(&format!("list {what} --format json")).ok().json();
        let entries = json[what].as_array().unwrap();
        assert!(entries.iter().any(|entry| entry["id"] == key), "{json}");
        assert_eq!(text.lines().count(), entries.len() + 1);
    }
}

#[test]
fn the_listing_of_workloads_has_the_form_that_scripts_rely_on() {
    let desk = Desk::new();
    let json = desk.run("list workloads --format json").ok().json();
    for workload in json["workloads"].as_array().unwrap() {
        for key in ["id", "group", "title", "unit", "better"] {
            assert!(
                workload[key].as_str().is_some_and(|text| !text.is_empty()),
                "{key} of {workload}"
            );
        }
        assert!(workload["params"].is_array() && workload["aliases"].is_array(), "{workload}");
        let engines = workload["engines"].as_object().unwrap();
        let names: Vec<_> = engines.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["chdb", "duckdb", "mariadb", "mysql", "oracle", "postgres", "sqlite"],
            "the null engine is nothing to measure"
        );
        assert!(engines.values().all(|value| value.as_str().is_some_and(|text| !text.is_empty())));
    }
    let empty = Desk::with_run();
    empty.run("results delete last").ok();
    assert_eq!(empty.run("results list --format json").ok().json()["runs"], serde_json::json!([]));
}

#[test]
fn aliases_find_their_workload() {
    let desk = Desk::new();
    for name in ["SRV-21", "T611", "srv-query1"] {
        let shown = desk.run(&format!("show workload {name}")).ok().stdout;
        assert!(shown.starts_with("-- SRV-QUERY1: "), "{shown}");
        assert!(
            shown.contains("on sqlite")
                && shown.contains("on postgres")
                && !shown.contains("on null"),
            "{shown}"
        );
    }
}

#[test]
fn a_workload_is_shown_with_all_that_it_inherits() {
    let desk = Desk::new();
    let on = |engine: &str| {
        desk.run(&format!("show workload SRV-UPDATE1 --engine {engine}")).ok().stdout
    };
    let (postgres, sqlite) = (on("postgres"), on("sqlite"));
    let syncs = "-- contract: commits per wal_syncs at most jobs (mariadb, ";
    let flushes = "-- contract: commits per os_disk_flushes at most 2 * jobs (chdb, duckdb, \
                   sqlite, unless os_disk_flushes";
    assert!(postgres.contains(syncs) && !postgres.contains(flushes), "{postgres}");
    assert!(sqlite.contains(flushes) && !sqlite.contains(syncs), "{sqlite}");
    let json = desk.run("show workload SRV-UPDATE1 --format json").ok().json();
    let workload = &json["workload"];
    assert_eq!(workload["tables"], serde_json::json!(["small"]), "a default of its group");
    let claims = workload["contract"].as_array().unwrap();
    let durable = claims.iter().find(|claim| claim["what"] == "durable").unwrap();
    assert_eq!(
        (&durable["when"], &durable["min"]),
        (&"commits".into(), &"1".into()),
        "a named claim"
    );
    let reason = &workload["params"][0]["unavailable"]["mariadb"]["heap"];
    assert!(
        reason.as_str().unwrap().contains("no transactions"),
        "the engine's own file: {reason}"
    );
    let plans: Vec<_> = json["plans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|plan| plan["engine"].as_str().unwrap())
        .collect();
    assert_eq!(plans, ["sqlite", "duckdb", "postgres", "mariadb", "mysql", "oracle"]);
}

#[test]
fn the_plan_of_a_suite_is_what_a_run_of_it_does() {
    let desk = Desk::new();
    let planned = desk.run("list workloads --plan quick --format json").ok().json();
    assert_eq!((&planned["engine"], &planned["size_gb"]), (&"sqlite".into(), &0.5.into()));
    let id = |test: &serde_json::Value, key: &str| {
        test[key].as_str().unwrap().split(':').next().unwrap().to_string()
    };
    let ids: Vec<_> =
        planned["selections"].as_array().unwrap().iter().map(|test| id(test, "workload")).collect();
    let suite = desk.run("show suite quick --format json").ok().json();
    let listed =
        suite["tests"].as_array().unwrap().iter().filter(|test| test["engines"]["sqlite"] == "yes");
    assert_eq!(ids, listed.map(|test| id(test, "corresponds_to")).collect::<Vec<_>>());
    let of = |id: &str| {
        planned["selections"]
            .as_array()
            .unwrap()
            .iter()
            .find(|test| test["workload"] == id)
            .unwrap()
    };
    let cpu = of("CPU-DOUBLE");
    let steps = cpu["tests_at_most"].as_f64().unwrap();
    // 0.1 s and 0.2 s, and 0.1 s for all around it.
    assert!(
        (cpu["time_s"].as_f64().unwrap() - steps * 0.4).abs() < 1e-9 && cpu["disk_bytes"] == 0,
        "{cpu}"
    );
    assert!(cpu["repeat"] == 10 && steps % 10.0 == 0.0, "{cpu}");
    assert!(
        planned["timed_s"].as_f64().unwrap() < 170.0,
        "three minutes with loading: {}",
        planned["timed_s"]
    );
    assert_eq!(of("STO-READ")["disk_bytes"], 532_640_000, "the big table");
    let redo = of("LGWR-LAT");
    assert_eq!(
        (redo["redo_bytes_per_op_at_least"].as_f64(), &redo["disk_bytes"]),
        (Some(50.0), &serde_json::Value::Null)
    );
    let text = desk.run("list workloads --plan orabench --engine postgres").ok().stdout;
    assert!(
        text.starts_with("orabench on postgres, profile") && text.contains("T611 SRV-QUERY1"),
        "{text}"
    );
    let fixed = text.lines().find(|line| line.contains("T611 SRV-QUERY1")).unwrap();
    assert!(fixed.contains(" -  "), "how long fixed work takes is not known: {fixed}");
    assert!(
        text.contains("left out: ") && text.contains("'-' is not known before it has run"),
        "{text}"
    );
    assert!(desk.data_entries().is_empty(), "nothing was made");
}

#[test]
fn the_sql_that_is_shown_runs_in_psql() {
    if Command::new("psql").arg("--version").output().is_err() {
        return skipped("PSQL", "there is no psql here");
    }
    let (desk, server) = (Desk::new(), Server::shared());
    server.admin("postgres").execute("create database shown").unwrap();
    let url = server.admin_url("shown");
    desk.run(&format!("load {url} --quiet --size 0.01 --suite quick")).ok();
    for workload in ["T611", "SRV-SCAN", "TP-LIGHT", "LGWR-LAT", "CPU-FIBONACCI", "DA-AGGREGATE"] {
        let sql = desk.run(&format!("show workload {workload} --engine postgres")).ok().stdout;
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", &url]).stdin(Stdio::piped());
        let mut psql = psql.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        psql.stdin.take().unwrap().write_all(sql.as_bytes()).unwrap();
        let done = ended(psql, workload);
        assert_eq!(done.code, Some(0), "{workload}: {}\n{sql}", done.stderr);
    }
}

#[test]
fn check_creates_nothing() {
    let (desk, server) = (Desk::new(), Server::shared());
    server.admin("postgres").execute("create database checked").unwrap();
    let schemas = "select nspname from pg_namespace where nspname !~ '^pg_' order by 1";
    let before = column(server.admin("checked").as_mut(), schemas);
    for target in ["sqlite", "postgres", &server.admin_url("checked")] {
        let checked = desk.run(&format!("check {target} --size 0.01")).ok();
        // The tables of this size fit the cache that a server has by itself.
        let does_not_fit = |line: &str| {
            line.starts_with("lacks    cache: ") && line.contains("the server's cache ")
        };
        // The user of these tests is the superuser of the server that they started.
        let is_superuser = |line: &str| line.starts_with("lacks    dbdyno is a superuser");
        // Nobody has stated what this machine does not tell.
        let is_unstated = |line: &str| line.starts_with("lacks    disclosure: ");
        let is_known = |line: &str| {
            line.starts_with("ok ") || does_not_fit(line) || is_superuser(line) || is_unstated(line)
        };
        assert!(checked.stdout.lines().all(is_known), "{}", checked.stdout);
        assert_eq!(
            checked.stdout.lines().any(does_not_fit),
            target.contains("://"),
            "{}",
            checked.stdout
        );
    }
    assert_eq!(column(server.admin("checked").as_mut(), schemas), before);
    assert_eq!(std::fs::read_dir(desk.path("")).unwrap().count(), 0);
}

#[test]
fn overhead_measures_our_own_loop() {
    let desk = Desk::new();
    let json = desk.run("overhead --jobs 1,2 --duration 100ms --format json").ok().json();
    let all = json["overhead"].as_array().unwrap();
    assert!(all.len() >= 4, "{json}");
    for one in all {
        let (mean_ns, op_ns) = (one["mean_ns"].as_f64().unwrap(), one["op_ns"].as_f64().unwrap());
        assert!(mean_ns > op_ns && one["ops_per_s"].as_f64().unwrap() > 0.0, "{one}");
    }
    assert!(desk.run("overhead --jobs 1 --duration 100ms").ok().stdout.contains("jobs"));
    assert_eq!(std::fs::read_dir(desk.path("")).unwrap().count(), 0);
}

#[test]
fn completions_and_manual_come_from_the_declarations() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = desk.run(&format!("completions {shell}")).ok().stdout;
        assert!(script.contains("datasheet") || script.contains("workload"), "{shell}: {script}");
    }
    let page = desk.run("man").ok().stdout;
    assert!(page.contains("dbdyno-run") || page.contains("dbdyno\\-run"), "{page}");
    let file = desk.path("dbdyno.1");
    std::fs::write(&file, &page).unwrap();
    let pages = desk.path("pages");
    std::fs::create_dir(&pages).unwrap();
    desk.run(&format!("man --dir {}", pages.display())).ok();
    for name in ["dbdyno.1", "dbdyno-run.1", "dbdyno-binaries-fetch.1"] {
        let text = std::fs::read_to_string(pages.join(name)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{name}: {text}");
    }
    let lacking = desk.path("nowhere/pages");
    desk.run(&format!("man --dir {}", lacking.display())).fails(3, &["nowhere/pages: "]);
    let mut man = Command::new("man");
    man.env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8").args(["--warnings", "-l"]).arg(&file);
    if Command::new("man").arg("--version").output().is_err() || which("groff").is_none() {
        return skipped("MAN", "there is no viewer of manual pages here (man, groff)");
    }
    let shown = finished(man, "man -l").ok();
    assert!(shown.stdout.contains("--workload") && shown.stderr.is_empty(), "{}", shown.stderr);
}

fn which(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.exists())
}

#[test]
fn a_reason_of_a_verdict_is_explained() {
    let desk = Desk::new();
    let text = desk.run("show reason foreign-load").ok().stdout;
    assert!(text.starts_with("other processes (foreign-load): conditional"), "{text}");
    for part in ["Rule ", "Cause ", "What to do  dbdyno check --noise names them."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = desk.run("show reason foreign-load --format json").ok().json();
    assert_eq!((&json["code"], &json["status"]), (&"foreign-load".into(), &"conditional".into()));
    desk.run("show reason foriegn").fails(2, &["not a reason", "did you mean 'foreign-load'?"]);
}

#[test]
fn help_and_version_end_well() {
    let desk = Desk::new();
    // Which program measured is told to whoever asks: its version, and how it was built.
    let version = desk.run("--version").ok().stdout;
    assert_eq!(version, format!("dbdyno {} (debug build)\n", env!("CARGO_PKG_VERSION")));
    for line in ["--help", "help run", "run --help", "results --help"] {
        assert!(desk.run(line).ok().stdout.contains("Usage:"), "{line}");
    }
    desk.run("results").fails(2, &["dbdyno results --help"]);
    desk.run("show").fails(2, &["dbdyno show --help"]);
}

/// Command lines in scripts of users, and in runs and bundles that are stored, keep their meaning.
#[test]
fn former_words_are_taken_as_before_and_shown_nowhere() {
    let pairs = [
        ("campaign null null --name x", "ab-test null null --name x"),
        ("runs list", "results list"),
        ("server fetch duckdb", "binaries fetch duckdb"),
        ("probe --listen 127.0.0.1:9100", "host-exporter --listen 127.0.0.1:9100"),
        ("run --beside TP-LIGHT --beside-jobs 2", "run --background TP-LIGHT --background-jobs 2"),
        ("run --redo-disturbed=3 --plain", "run --retry-disturbed=3 --no-chart"),
        ("run --explain", "run --test-bottleneck"),
        ("run mariadb-galera --link-delay 1ms", "run mariadb-galera --network-delay 1ms"),
        (
            "run --workers 2 --worker-wait 5s --worker-silence 60s",
            "run --workers 2 --worker-join-timeout 5s --worker-timeout 60s",
        ),
        ("report html 1 --against 2 --text a.md", "report html 1 --baseline 2 --notes a.md"),
        ("monitor postgres://h/d --against 1", "monitor postgres://h/d --baseline 1"),
        (
            "capacity 1 --need tps=3 --needs a.toml",
            "capacity 1 --requirement tps=3 --requirements a.toml",
        ),
        ("failover mariadb-galera --how cut", "failover mariadb-galera --fault partition"),
        (
            "failover mariadb://h/ --i-may-break-it --break-command a --mend-command b",
            "failover mariadb://h/ --allow-disruption --fault-command a --repair-command b",
        ),
    ];
    let parsed = |line: &str| {
        let words = std::iter::once("dbdyno").chain(line.split_whitespace());
        let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        format!("{cli:?}")
    };
    let desk = Desk::new();
    for (former, now) in pairs {
        assert_eq!(parsed(former), parsed(now), "{former}");
        let command = now.split_whitespace().next().unwrap();
        let help = desk.run(&format!("{command} --help")).ok().stdout;
        for word in former.split_whitespace().filter(|word| word.starts_with("--")) {
            let option = word.split('=').next().unwrap();
            let is_shown =
                help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|it| it == option);
            assert!(!is_shown || now.contains(option), "{command} --help shows {option}");
        }
    }
    for former in ["publish", "points", "campaign"] {
        assert!(!desk.run("list reports").ok().stdout.contains(&format!("{former} ")), "{former}");
        let refused = desk.run(&format!("report {former}"));
        assert!(!refused.stderr.contains("is not a report"), "{former}: {}", refused.stderr);
    }
}
