//! Bad input and bad places: one line that says where, what and what to do, the right exit code,
//! nothing left behind.

use std::os::unix::fs::PermissionsExt;

use dbdyno::model::TableRef;
use dbdyno::{fit, host};

use crate::skipped::skipped;
use crate::support::{Desk, PRIVATE, TINY, ended};

/// Fails before anything is measured or made.
#[track_caller]
fn assert_refused(line: &str, code: i32, words: &[&str]) {
    let desk = Desk::new();
    let done = desk.run(line).fails(code, words);
    assert_eq!(done.stdout, "", "{line}");
    let left: Vec<_> =
        std::fs::read_dir(desk.path("")).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{line}: left behind {left:?}");
}

#[test]
fn unknown_names_are_answered_with_known_ones() {
    assert_refused(
        "run --workload SRV-QURY1",
        2,
        &["--workload", "SRV-QURY1", "did you mean SRV-QUERY1"],
    );
    assert_refused("run --workload TP-LIGHT:updte=4", 2, &["updte", "update_pct"]);
    assert_refused("run --workload TP-LIGHT:update_pct=400", 2, &["update_pct=400", "0 to 100"]);
    assert_refused("run --workload SRV-QUERY1:org=foo", 2, &["org=foo", "default"]);
    assert_refused("run --suite qick", 2, &["--suite", "qick", "quick"]);
    assert_refused("run --profile XXS", 2, &["--profile", "XXS", "did you mean XS"]);
    assert_refused("run postgrs", 2, &["postgrs", "postgres"]);
    assert_refused("run ftp://a/b", 2, &["ftp", "postgres"]);
    assert_refused("show workload NOPE", 2, &["NOPE", "list workloads"]);
    assert_refused("show workload SRV-21 --engine nope", 2, &["nope", "sqlite"]);
    assert_refused("show workload SRV-QUERY1:org=foo", 2, &["org=foo"]);
    assert_refused("show workload DL-STREAM:rpt=0", 2, &["rpt=0"]);
    assert_refused("list nope", 2, &["nope", "workloads"]);
    assert_refused("nope", 2, &["nope", "--help"]);
    assert_refused("run --nope", 2, &["--nope"]);
    assert_refused("list workloads --format nope", 2, &["nope", "json"]);
    assert_refused("report kpm --format nope", 2, &["nope", "markdown"]);
    assert_refused("report nope", 2, &["nope", "datasheet"]);
    assert_refused("report datashet", 2, &["datashet", "did you mean 'datasheet'?"]);
    assert_refused("run --jobz 2", 2, &["--jobz", "--jobs"]);
    assert_refused("cmpare 1 2", 2, &["cmpare", "compare"]);
    assert_refused("run --format csv", 2, &["csv", "text, json"]);
    assert_refused("show workload T611 --format csv", 2, &["csv", "text, json"]);
    assert_refused("list suites --plan quick", 2, &["--plan", "list workloads"]);
    assert_refused("list workloads --plan nope", 2, &["nope", "list suites"]);
    assert_refused("list workloads --plan quick --engine nope", 2, &["nope", "sqlite"]);
    assert_refused("list workloads --engine sqlite", 2, &["--plan"]);
}

#[test]
fn what_no_embedded_database_has_wants_a_target() {
    for command in ["layers", "failover"] {
        assert_refused(
            command,
            2,
            &["<TARGET> is missing", &format!("try 'dbdyno {command} --help'")],
        );
    }
    let desk = Desk::new();
    let help = |command: &str| desk.run(&format!("{command} --help")).ok().stdout;
    let (layers, failover) = (help("layers"), help("failover"));
    assert!(layers.contains("postgres or mariadb (a private"), "{layers}");
    assert!(failover.contains("postgres-replicas or"), "{failover}");
    for help in [layers, failover] {
        assert!(!help.contains("[default: sqlite]") && !help.contains("duckdb"), "{help}");
    }
}

#[test]
fn a_format_that_a_command_does_not_have_is_refused() {
    for command in [
        "check",
        "load",
        "verify",
        "clean",
        "export-sql postgres --output x",
        "results export",
        "results import x",
        "results delete 1",
    ] {
        assert_refused(
            &format!("{command} --format json"),
            2,
            &["--format", "'json'", "choose text"],
        );
    }
    let desk = Desk::with_run();
    let (odt, plain, page) = (desk.path("x.odt"), desk.path("x"), desk.path("x.HTML"));
    for command in ["report kpm", "compare 1 1"] {
        desk.run(&format!("{command} -o {}", odt.display())).fails(2, &["x.odt", ".html"]);
        assert!(!odt.exists());
        desk.run(&format!("{command} --format text -o {}", odt.display())).ok();
        desk.run(&format!("{command} -o {}", plain.display())).ok();
        desk.run(&format!("{command} -o {}", page.display())).ok();
        assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!"));
        std::fs::remove_file(&odt).unwrap();
    }
}

#[test]
fn the_command_that_made_a_report_can_be_pasted_into_a_shell() {
    let desk = Desk::new();
    let mut command = desk.command(&format!("run {TINY} --quiet --format json --name"));
    command.arg("a & b's");
    let run = crate::support::finished(command, "run").ok().json();
    let pasted = run["run"]["command"].as_str().or(run["command"].as_str()).unwrap();
    assert_eq!(pasted, format!(r"dbdyno run {TINY} --quiet --format json --name 'a & b'\''s'"));
}

#[test]
fn a_typing_error_gets_the_nearest_word() {
    for (line, near) in [
        ("rnu", "'dbdyno run'"),
        ("results lst", "'dbdyno results list'"),
        ("run --workloda SRV-QUERY1", "--workload"),
        ("run --workload SRVQUERY1", "SRV-QUERY1"),
        ("run --workload TP-LIGHT:update_pc=20", "update_pct?"),
        ("run --suite quik", "quick"),
        ("run --profile XSS", "did you mean XS"),
        ("run sqlit", "'sqlite'"),
        ("report datashet last", "'datasheet'"),
        ("list engnes", "'engines'"),
        ("show reason litle", "'little'"),
        ("list suites --format jsn", "'json'"),
    ] {
        assert_refused(line, 2, &[near]);
    }
    assert_refused("run --duration 1ss", 2, &["try 'dbdyno run --help'"]);
    assert_refused(
        "ab-test sqlite sqlite --b-set x=1",
        2,
        &["'--b-set' found; try 'dbdyno ab-test --help'"],
    );
    let desk = Desk::with_run();
    let mut command = desk.command("capacity last --requirement");
    command.arg("TP-LIGHT 1 tps update_pc=20");
    crate::support::finished(command, "capacity").fails(2, &["did you mean update_pct?"]);
    desk.run("compare 1 1 --workload SRV-QERY1").fails(2, &["did you mean SRV-QUERY1?"]);
}

#[test]
fn impossible_values_say_what_is_possible() {
    assert_refused("run --jobs 0", 2, &["'0' for '--jobs", "1..auto"]);
    assert_refused("run --jobs 1,x", 2, &["'x'", "1..auto"]);
    assert_refused("run --jobs 8..1", 2, &["8..1", "backwards"]);
    assert_refused("run --duration ten", 2, &["ten", "10s"]);
    assert_refused("run --duration -1s", 2, &["-1s", "10s"]);
    assert_refused("run --duration 0", 2, &["--duration", "100ms"]);
    assert_refused("run --duration 1s --ops 5", 2, &["--duration", "--ops"]);
    assert_refused("run --ops 0", 2, &["--ops", "'0'"]);
    for value in ["0", "-2%", "51%", "two", "nan"] {
        assert_refused(&format!("run --precision {value}"), 2, &["--precision", "2%"]);
    }
    assert_refused("run --precision 2% --duration 5s", 2, &["--precision", "--duration"]);
    assert_refused("run --precision 2% --ops 5", 2, &["--precision", "--ops"]);
    assert_refused("run --max-duration 9s", 2, &["--precision"]);
    assert_refused("run --precision 2% --max-duration 4s", 2, &["--max-duration", "5s"]);
    assert_refused("run --size 0", 2, &["--size", "0.01"]);
    assert_refused("run --size -1", 2, &["--size", "0.01"]);
    assert_refused("run --size huge", 2, &["--size", "huge"]);
    for size in ["nan", "inf", "1e300", "-1", "0"] {
        assert_refused(
            &format!("show suite orabench --size {size}"),
            2,
            &["--size", "is not a valid size", "0.01"],
        );
    }
    assert_refused("run --label x", 2, &["--label", "key=value"]);
    assert_refused("run postgres --port 70000", 2, &["--port", "70000"]);
    assert_refused(
        "run --drive database --workload SRV-QUERY1",
        2,
        &["SRV-QUERY1", "sqlite", "database"],
    );
    assert_refused("run postgres://me:s3cret@db/app", 2, &["password", "PGPASSWORD"]);
    assert_refused("run mysql://me:s3cret@db", 2, &["password", "MYSQL_PWD"]);
    assert_refused("check postgres://me:s3/cret@db/app", 2, &["password", "PGPASSWORD"]);
    assert_refused("check mariadb://me:s3?cret@db", 2, &["password", "MYSQL_PWD"]);
    assert_refused("run null", 2, &["null", "overhead"]);
    assert_refused("run --report x.pdf", 2, &["x.pdf", ".html"]);
}

#[test]
fn nonsense_that_could_be_taken_for_something_is_refused() {
    let cases: &[(&str, &[&str])] = &[
        ("run --size 1e-300", &["--size", "0.01"]),
        ("run --size 0.009", &["--size", "0.01"]),
        ("run --size 2101", &["--size", "2100"]),
        ("run --size 1e300", &["--size", "2100"]),
        ("run --size nan", &["--size", "0.01"]),
        ("load --size -inf", &["--size", "0.01"]),
        ("export-sql postgres --output x --size 1e-9", &["--size", "0.01"]),
        ("run --workload SRV-QUERY1:", &["SRV-QUERY1:", "ID:param=value"]),
        ("run --workload SRV-QUERY1:org", &["'org'", "ID:param=value"]),
        ("run --workload SRV-QUERY1:=heap", &["'=heap'", "ID:param=value"]),
        ("run --workload SRV-QUERY1:org=", &["'org='", "ID:param=value"]),
        ("run --workload SRV-QUERY1:org=default,", &["missing", "ID:param=value"]),
        ("run --workload SRV-QUERY1:org=default,org=default", &["'org'", "twice"]),
        ("show workload SRV-QUERY1:", &["SRV-QUERY1:", "ID:param=value"]),
        ("compare 1 1 --fail-below 5%%", &["--fail-below", "5%%", "write 5%"]),
        ("compare 1 1 --fail-below nan", &["--fail-below", "write 5%"]),
        ("run --duration 1e-300", &["--duration", "100ms"]),
        ("run --duration 1e-300s", &["--duration", "10s"]),
        ("run --duration 1e300", &["--duration", "10s"]),
        ("run --warmup nan", &["--warmup", "10s"]),
        ("run --warmup inf", &["--warmup", "10s"]),
        ("overhead --duration 0", &["--duration", "100ms"]),
        ("overhead --jobs 1..auto", &["--jobs", "1,2"]),
        ("run --time-scale 1e-300", &["--time-scale", "0.1"]),
        ("run --time-scale inf", &["--time-scale", "0.1"]),
        ("run --ops 18446744073709551615", &["--ops", "1..=1000000000000000"]),
        ("run --jobs 1..", &["'1..' for '--jobs", "1..auto"]),
        ("run --jobs 0..auto", &["'0..auto' for '--jobs", "between 1 and"]),
        ("run --jobs 1..2..3", &["--jobs", "1..auto"]),
        ("run --label =x", &["--label", "key=value"]),
        ("run --label a=1 --label a=2", &["--label", "'a'", "twice"]),
        ("run --name 7", &["--name", "'7'", "nightly"]),
        ("run --name last", &["--name", "'last'"]),
        ("run postgres --port 1e3", &["--port"]),
        ("run postgres --port 0", &["--port", "1..="]),
        ("run --seed 1.5", &["--seed"]),
    ];
    for (line, words) in cases {
        let desk = Desk::new();
        let done = desk.run(line);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{line}: {done:#?}");
        done.fails(2, words);
        assert!(desk.data_entries().is_empty(), "{line}");
    }
}

#[test]
fn an_error_line_stays_short_and_acts_on_no_terminal() {
    let desk = Desk::with_run();
    let acting = "\u{1b}]0;x\u{7}\n\u{202e}\u{9b}2J";
    let hostile = ["x".repeat(100_000), acting.to_string() + &"x y ".repeat(20_000)];
    let shapes = [
        "{}",
        "run {}",
        "run --{}",
        "run --jobs {}",
        "run --size {}",
        "run --duration {}",
        "run --precision {}",
        "run --workload {}",
        "run --workload SRV-QUERY1:{}",
        "run --workload SRV-QUERY1:org={}",
        "run --workload SRV-QUERY1:{}=1",
        "run --suite {}",
        "run --profile {}",
        "run --label {}",
        "run --drive {}",
        "run --data-dir /nonexistent/{}/d",
        "run --format {}",
        "run --report /nonexistent/{}.html",
        "run --report {}",
        "run --results /nonexistent/{}/r",
        "run --catalog {}",
        "run --seed {}",
        "run --port {}",
        "run postgres --quiet --server-bin {}",
        "run --quiet postgres://me@host/{}?x=1",
        "run {}://x",
        "list {}",
        "list workloads --format {}",
        "report {}",
        "report kpm {}",
        "report kpm --price {}",
        "report kpm --language {}",
        "compare {} {}",
        "compare 1 1 --fail-below {}",
        "compare 1 1 --junit /nonexistent/{}",
        "show workload {}",
        "show workload SRV-QUERY1 --engine {}",
        "show suite {}",
        "export-sql {} --output x",
        "binaries fetch {}",
        "binaries fetch postgres --version {}",
        "completions {}",
        "results show {}",
        "results import {}",
        "results import --csv {}",
        "results delete {}",
        "results {}",
        "run --color {}",
    ];
    desk.run("report kpm --price /dev/zero").fails(2, &["/dev/zero", "docs/price.md"]);
    for shape in shapes {
        for text in &hostile {
            let mut command = desk.command("");
            command.args(shape.split_whitespace().map(|word| word.replace("{}", text)));
            let done = crate::support::finished(command, shape);
            assert!(matches!(done.code, Some(2 | 3)), "{shape}: {done:#?}");
            assert_eq!(done.stderr.lines().count(), 1, "{shape}: {}", done.stderr);
            assert!(
                done.stderr.chars().count() < 700,
                "{shape}: {} characters",
                done.stderr.chars().count()
            );
            let acts = done
                .stderr
                .trim_end_matches('\n')
                .chars()
                .find(|letter| dbdyno::error::acts(*letter));
            assert_eq!(acts, None, "{shape}: {:?}", done.stderr);
        }
    }
}

#[test]
fn a_place_whose_directory_is_not_there_is_not_made() {
    let desk = Desk::with_run();
    let (gone, inner) = (desk.path("gone"), desk.path("gone/inner"));
    let place = inner.display();
    let cases = [
        (format!("run sqlite {TINY} --quiet --data-dir {place}"), 3, "--data-dir"),
        (format!("run postgres {TINY} --quiet --data-dir {place}"), 3, "--data-dir"),
        (format!("load mariadb --size 0.01 --quiet --data-dir {place}"), 3, "--data-dir"),
        (format!("run {TINY} --quiet --results {place}"), 3, "--results"),
        (format!("run {TINY} --quiet --report {place}.html"), 2, "create it"),
        (format!("report kpm --output {place}.html"), 2, "create it"),
        (format!("compare 1 1 --output {place}.html"), 2, "create it"),
        (format!("compare 1 1 --junit {place}"), 2, "create it"),
        (format!("results export --output {place}"), 2, "create it"),
        (format!("export-sql postgres --output {place}"), 2, "create it"),
    ];
    for (line, code, word) in cases {
        desk.run(&line).fails(code, &["does not exist", &gone.display().to_string(), word]);
        assert!(!gone.exists(), "{line}");
    }
    for option in ["--data-dir", "--results"] {
        let check = desk.run(&format!("check {option} {place}"));
        assert!(check.code == Some(1) && check.stdout.contains("does not exist"), "{check:#?}");
    }
    assert_eq!(desk.run(&format!("clean --data-dir {place}")).ok().stdout, "nothing to remove\n");
    assert!(!gone.exists());
    std::fs::create_dir(&gone).unwrap();
    desk.run(&format!("run {TINY} --quiet --data-dir {place} --results {}/r.db", gone.display()))
        .ok();
}

#[test]
fn a_catalog_of_odd_files_is_refused_and_never_waited_for() {
    let desk = Desk::new();
    let own = desk.path("own");
    let list = |words: &[&str]| {
        desk.run(&format!("list workloads --catalog {}", own.display())).fails(2, words);
    };
    let fresh = || {
        let _ = std::fs::remove_dir_all(&own);
        std::fs::create_dir_all(own.join("workloads/g")).unwrap();
    };
    fresh();
    let pipe = own.join("workloads/g/group.toml");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    list(&["group.toml: is not a regular file", "remove it"]);
    fresh();
    std::os::unix::fs::symlink("/dev/zero", own.join("workloads/g/x.sql")).unwrap();
    list(&["x.sql: is not a regular file"]);
    fresh();
    for name in ["workloads/a", "workloads/b", "workloads/g/c"] {
        std::os::unix::fs::symlink(&own, own.join(name)).unwrap();
    }
    list(&["a catalog has no such directory"]);
    fresh();
    std::fs::File::create(own.join("workloads/g/x.sql")).unwrap().set_len(5_000_000_000).unwrap();
    list(&["x.sql: has 5000 MB", "at most 4"]);
    fresh();
    std::fs::write(own.join("workloads/g/x.sql"), [0xff, 0xfe, 0]).unwrap();
    list(&["x.sql: is not a text in UTF-8"]);
    fresh();
    std::os::unix::fs::symlink("/nonexistent", own.join("workloads/g/x.sql")).unwrap();
    list(&["x.sql: cannot be read"]);
    if !rustix::process::geteuid().is_root() {
        fresh();
        std::fs::set_permissions(own.join("workloads/g"), std::fs::Permissions::from_mode(0o000))
            .unwrap();
        list(&["workloads/g: cannot be read"]);
        std::fs::set_permissions(own.join("workloads/g"), std::fs::Permissions::from_mode(0o700))
            .unwrap();
    }
    // What is not a catalog's is not looked at.
    fresh();
    for folder in [".git", "node_modules"] {
        std::os::unix::fs::symlink("/", own.join(folder)).unwrap();
    }
    list(&["no catalog file in this directory"]);
}

#[test]
fn a_placeholder_that_is_none_is_named_with_file_and_line() {
    let desk = Desk::new();
    let group = desk.path("own/workloads/g");
    std::fs::create_dir_all(&group).unwrap();
    let toml = "id = 'G'\ntitle = 't'\n[[workload]]\nid = 'G-ONE'\ntitle = 'o'\nrevision = 1\n\
        kpm = { value = 'ops', unit = 'qps', better = 'higher' }\nclient = [{ steps = ['get'] }]\n\
        undrivable = { database = 'no' }\n";
    std::fs::write(group.join("group.toml"), toml).unwrap();
    for (text, what) in [
        ("{{G-ONE.other}}", "{{G-ONE.other}} is not a valid name"),
        ("{{columns", "{{columns is not closed"),
    ] {
        let sql = format!(
            "-- name: columns\nid\n\n-- name: G-ONE.other\nid\n\n-- name: shared\n{text}\n\n\
             -- name: G-ONE.get\nselect {{{{shared}}}} from {{{{small}}}}\n"
        );
        std::fs::write(group.join("common.sql"), sql).unwrap();
        let line = format!("list workloads --catalog {}", desk.path("own").display());
        desk.run(&line).fails(2, &["common.sql:8: block shared: ", what]);
    }
}

#[test]
fn too_little_disk_is_noticed_before_loading() {
    let needed = fit::data_bytes(&[TableRef::new("big")], 2000.0);
    for target in ["sqlite", "postgres", "mariadb"] {
        let desk = Desk::new();
        if host::free_bytes(&desk.path("")).is_some_and(|free| free >= needed) {
            let why = format!("{} GB are free here", needed / 1_000_000_000);
            return skipped("HAVE_A_SMALL_DISK", why);
        }
        let line =
            format!("run {target} --quiet --size 2000 --workload STO-READ --jobs 1 --duration 1s");
        desk.run(&line).fails(3, &["needs", "free", "--size"]);
        assert!(desk.data_entries().is_empty(), "{target}: left behind {:?}", desk.data_entries());
        let checked = desk.run(&format!("check {target} --size 2000 --workload STO-READ"));
        assert!(checked.code == Some(1) && checked.stdout.contains("MISSING"), "{checked:#?}");
    }
}

#[test]
fn a_data_directory_that_cannot_be_is_named() {
    for target in ["sqlite", "postgres", "mariadb"] {
        assert_refused(
            &format!("load {target} --quiet --data-dir /dev/null/x"),
            3,
            &["/dev/null/x", "--data-dir"],
        );
        let desk = Desk::new();
        let run = desk.run(&format!("run {target} {TINY} --quiet --data-dir /dev/null/x"));
        run.fails(3, &["/dev/null/x", "--data-dir"]);
        assert!(desk.runs().is_empty(), "nothing was run");
        let check = desk.run(&format!("check {target} --data-dir /dev/null/x"));
        assert!(check.code == Some(1) && check.stdout.contains("MISSING"), "{check:#?}");
    }
    assert_refused("load --quiet --data-dir /proc/x", 3, &["/proc/x", "--data-dir"]);
    let desk = Desk::new();
    std::fs::create_dir(desk.path("locked")).unwrap();
    std::fs::set_permissions(desk.path("locked"), std::fs::Permissions::from_mode(0o500)).unwrap();
    if !rustix::process::geteuid().is_root() {
        let locked = desk.path("locked/data");
        desk.run(&format!("load --quiet --data-dir {}", locked.display()))
            .fails(3, &["locked", "--data-dir"]);
    }
}

#[test]
fn a_data_directory_in_use_is_named() {
    let desk = Desk::new();
    let line = "run --size 0.01 --workload SRV-QUERY1 --jobs 1 --duration 60s";
    let first = desk.spawn(line);
    crate::support::until("the first run has its database", || {
        desk.data_entries().iter().any(|name| name.ends_with(".db"))
    });
    desk.run(&format!("run {TINY} --quiet")).fails(3, &["in use", "--data-dir"]);
    desk.run("clean").fails(3, &["in use"]);
    crate::support::signal(first.id(), rustix::process::Signal::INT);
    assert_eq!(ended(first, line).code, Some(130));
}

#[test]
fn a_port_in_use_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for server in PRIVATE {
        let desk = Desk::new();
        desk.run(&format!("run {} {TINY} --quiet --port {port}", server.engine))
            .fails(3, &["--port", "choose another port"]);
        assert!(desk.data_entries().is_empty());
    }
}

#[test]
fn missing_server_programs_say_how_to_get_them() {
    for (engine, program) in [("postgres", "initdb"), ("mariadb", "mariadb-install-db")] {
        let desk = Desk::new();
        desk.run(&format!("run {engine} {TINY} --quiet --server-bin {}", desk.path("").display()))
            .fails(2, &["--server-bin", program]);
        assert!(desk.data_entries().is_empty());
    }
}

#[test]
fn a_broken_catalog_is_named_with_file_and_line() {
    let desk = Desk::new();
    let group = desk.path("cat/workloads/my");
    std::fs::create_dir_all(&group).unwrap();
    let file = group.join("group.toml");
    std::fs::write(&file, "id = \"MY\"\ntitle = \n").unwrap();
    let option = format!("--catalog {}", desk.path("cat").display());
    for command in ["run", "list workloads", "show workload T611", "check", "verify"] {
        desk.run(&format!("{command} {option}")).fails(2, &[&format!("{}:2: ", file.display())]);
    }
    assert_refused("run --catalog /nonexistent", 2, &["/nonexistent", "--catalog"]);
}

#[test]
fn a_results_file_that_is_none_is_left_as_it_is() {
    let desk = Desk::with_run();
    let good = std::fs::read(desk.path("results.db")).unwrap();
    let newer = desk.path("newer.db");
    std::fs::write(&newer, &good).unwrap();
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let foreign = desk.path("foreign.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("create table x (a)").unwrap();
    std::fs::write(desk.path("damaged.db"), &good[..good.len() / 2]).unwrap();
    std::fs::write(desk.path("text.db"), "hello\n".repeat(1000)).unwrap();
    let cases = [
        ("newer.db", ["newer dbdyno", "update"]),
        ("foreign.db", ["not a dbdyno results file", "--results"]),
        ("damaged.db", ["damaged", "copy"]),
        ("text.db", ["not a dbdyno results file", "--results"]),
    ];
    for (name, words) in cases {
        let path = desk.path(name);
        let before = std::fs::read(&path).unwrap();
        for command in [
            format!("run {TINY}"),
            "results list".into(),
            "report kpm".into(),
            "results export".into(),
        ] {
            let done =
                desk.run(&format!("{command} --results {}", path.display())).fails(2, &words);
            assert!(done.stderr.contains(name) && done.stdout.is_empty(), "{done:#?}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before, "{name} was changed");
    }
    assert_refused(&format!("run {TINY} --results /dev/null/x"), 3, &["/dev/null/x", "--results"]);
    let check = desk.run("check --results /dev/null/x");
    assert!(
        check.code == Some(1) && check.stdout.contains("MISSING  results file: /dev/null/x"),
        "{check:#?}"
    );
    assert_refused("results list", 2, &["the results file does not exist", "dbdyno run"]);
    assert_refused("results import /nonexistent", 2, &["/nonexistent"]);
}

#[test]
fn a_full_disk_under_the_results_file_is_one_line() {
    // /dev/full cannot hold a SQLite file, but every write of an export to it fails as on a full
    // disk.
    let desk = Desk::with_run();
    desk.run("results export --output /dev/full").fails(2, &["/dev/full", "space"]);
    desk.run("report kpm --output /dev/full").fails(2, &["/dev/full", "space"]);
}

#[test]
fn a_profile_that_the_machine_is_too_small_for_is_refused_before_anything_is_created() {
    let desk = Desk::new();
    let table = desk.run("list profiles").ok().stdout;
    assert!(table.lines().next().unwrap().contains(" cache_mb [MiB] "), "{table}");
    let list = desk.run("list profiles --format json").ok().json();
    let fits = |at: usize| list["profiles"][at]["fits"].as_str().unwrap();
    assert_eq!(fits(0), "yes");
    // It wants 309 GB of memory and 1.4 TB of disk: few machines have one, very few both.
    if fits(6) == "yes" {
        return skipped("BE_SMALL", "the largest profile fits this machine");
    }
    assert!(fits(6).starts_with("needs "), "{}", fits(6));
    let words = ["--profile XL: needs ", "the largest that fits is "];
    for line in ["run postgres", "run mariadb", "run sqlite", "load sqlite", "verify sqlite"] {
        desk.run(&format!("{line} --profile XL --workload STO-READ --quiet")).fails(2, &words);
        assert!(
            desk.data_entries().is_empty() && !desk.path("results.db").exists(),
            "{line} created something"
        );
    }
}
