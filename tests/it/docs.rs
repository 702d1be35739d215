//! The commands and examples of README, the guide's overview and CONTRIBUTING work as they are
//! written.

use crate::servers::Lease;
use crate::support::{Desk, mistakes};

/// The document with the commands that are used most.
const AT_A_GLANCE: &str = "docs/guide/at-a-glance.md";
/// The address of the existing server in the documents.
const URL: &str = "postgres://me@localhost:5432/app";
const MARIADB_URL: &str = "mariadb://me@localhost:3306";
/// Added to measurements, as [`SMALL`]: the documents' own windows and data would take minutes.
const SHORT: &str = "--duration 100ms --warmup 50ms --repeat 1";
const SMALL: &str = "--size 0.05";
/// Added to runs of a whole suite instead: some fifty tests, of which nothing is judged.
const WHOLE: &str = "--ops 2 --repeat 1 --size 0.01";
/// Added to runs on existing servers.
const SOME: &str = "--workload SRV-QUERY1 --workload TP-LIGHT --jobs 1";
/// Added to A/B tests, which end by themselves.
const FEW: &str = "--duration 100ms --warmup 50ms --workload SRV-QUERY1 --jobs 1 --max-duration 1s";

/// Beside those of docs/.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "METHODOLOGY.md",
    "BIAS.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
];

fn document(name: &str) -> String {
    std::fs::read_to_string(name).unwrap()
}

/// The fenced blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    text.split(open.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// The commands of the `sh` blocks, without comments, as arguments of `dbdyno`.
fn commands(text: &str) -> Vec<String> {
    let lines = blocks(text, "sh").into_iter().flat_map(str::lines);
    let bare = lines.map(|line| line.split(" #").next().unwrap().trim());
    bare.filter_map(|line| match line {
        "cargo run --release" => Some("run".to_string()),
        _ => line.strip_prefix("dbdyno ").map(String::from),
    })
    .collect()
}

/// Runs a documented command; measurements get short windows.
fn run(desk: &Desk, command: &str) {
    let is_run = command.split_whitespace().any(|word| word == "run");
    let small = if command.contains("--size ") { "" } else { SMALL };
    let is_whole = is_run && !command.contains("--workload ") && !command.contains("--size ");
    let line = match (is_run, command.starts_with("ab-test ")) {
        (true, _) if is_whole => format!("{command} {WHOLE}"),
        (true, _) => format!("{command} {SHORT} {small}"),
        (_, true) => format!("{command} {FEW} {small}"),
        _ => command.to_string(),
    };
    desk.run(&line).ok();
}

#[test]
fn the_command_of_readme_works() {
    let of_readme = commands(&document("README.md"));
    assert_eq!(of_readme, ["run"], "make test is what runs this");
    run(&Desk::new(), &of_readme[0]);
}

#[test]
fn the_commands_of_the_overview_work_in_their_order() {
    let (desk, postgres) = (Desk::new(), Lease::new("postgres", None, &[]));
    let commands = commands(&document(AT_A_GLANCE));
    assert!(commands.len() >= 10, "{commands:?}");
    // The whole suite is that of a private server; `every_workload` runs its tests on MariaDB.
    let existing = [URL, MARIADB_URL].map(|url| format!("run {url}"));
    for command in commands {
        let command =
            if existing.contains(&command) { format!("{command} {SOME}") } else { command };
        // Not held for longer than the command: other tests wait for a MariaDB.
        let mariadb = command.contains(MARIADB_URL).then(|| Lease::new("mariadb", None, &[]));
        let url = mariadb.as_ref().map_or("", |lease| lease.url.as_str());
        let command = command.replace(URL, &postgres.url).replace(MARIADB_URL, url);
        let files = desk.path("");
        run(&desk, &command.replace("--output ", &format!("--output {}/", files.display())));
    }
    for file in ["datasheet.html", "page.html", "catalog.html", "all.xlsx", "scripts/README.md"] {
        assert!(desk.path(file).exists(), "{file}");
    }
}

#[test]
fn the_recipe_for_ci_works_as_it_is_written() {
    let desk = Desk::new();
    let mut commands = commands(&document("docs/ci.md"));
    let gate = commands.pop().unwrap();
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        run(&desk, &format!("{command} --workload SRV-QUERY1 --jobs 1 --quiet"));
    }
    let file = desk.path("gate.xml");
    let line = gate.replace("gate.xml", &file.display().to_string());
    let done = desk.run(&line);
    // Short windows on a busy machine decide either way, or nothing; the comparison is made.
    let answers = ["Pass:", "Fail:", "No answer:"];
    assert!(answers.iter().any(|answer| done.stdout.contains(answer)), "{done:?}");
    assert!(matches!(done.code, Some(0 | 1)), "{done:?}");
    assert!(std::fs::read_to_string(file).unwrap().contains("<testsuite"));
    desk.run("compare --baseline branch=other candidate").fails(2, &["--baseline", "branch=other"]);
}

/// The folder that the recipe describes, in a catalog of one's own.
fn recipe(desk: &Desk) -> (String, String) {
    let text = document("CONTRIBUTING.md");
    let folder = desk.path("catalog/workloads/mine");
    std::fs::create_dir_all(&folder).unwrap();
    let (toml, sql) = (blocks(&text, "toml"), blocks(&text, "sql"));
    std::fs::write(folder.join("group.toml"), toml[..2].join("\n")).unwrap();
    std::fs::write(folder.join("common.sql"), [sql[0], sql[2]].join("\n")).unwrap();
    std::fs::write(folder.join("postgres.sql"), sql[1]).unwrap();
    (text, format!("--catalog {}", desk.path("catalog").display()))
}

#[test]
fn the_recipe_for_a_workload_works_as_it_is_written() {
    let desk = Desk::new();
    let (text, catalog) = recipe(&desk);
    let commands = commands(&text);
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        run(&desk, &command.replace("--catalog DIR", &catalog));
    }
    for test in desk.shown("last")["tests"].as_array().unwrap() {
        assert!(mistakes(test).is_empty(), "{test}");
    }
}

#[test]
fn a_workload_that_cannot_run_ends_with_the_place_of_its_sql() {
    let desk = Desk::new();
    let (_, catalog) = recipe(&desk);
    let file = desk.path("catalog/workloads/mine/common.sql");
    let sql = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, sql.replacen("count(*) as n", "cuont(*) as n", 1)).unwrap();
    let both = "--workload MINE-REGION --workload SRV-QUERY1 --size 0.01 --jobs 1";
    let done = desk.run(&format!("run sqlite {catalog} {both} {SHORT}"));
    assert_eq!(done.code, Some(1), "{done:#?}");
    let last = done.stderr.lines().last().unwrap();
    for part in ["common.sql:2: MINE-REGION could not run: ", "cuont", "show workload MINE-REGION"]
    {
        assert!(last.contains(part), "no '{part}' in {last}");
    }
    // What could be measured is stored and shown.
    assert!(done.stdout.contains("SRV-QUERY1"), "{done:#?}");
}

#[test]
fn own_workloads_with_own_tables_go_through_everything_on_every_engine() {
    for (target, drive) in [("sqlite", "client"), ("postgres", "database"), ("mariadb", "client")] {
        let desk = Desk::new();
        let (_, catalog) = recipe(&desk);
        let both =
            format!("{catalog} --workload MINE-REGION --workload MINE-ORDER --size 0.01 --quiet");
        let page = desk.path("page.html");
        let line = format!(
            "run {target} {both} --jobs 1,2 --format json --keep --report {} {SHORT}",
            page.display()
        );
        let document = desk.run(&line).ok().json();
        crate::support::assert_run_schema(&document);
        let tests = document["tests"].as_array().unwrap();
        let seen: Vec<_> =
            tests.iter().map(|test| (test["workload"].as_str(), test["jobs"].as_u64())).collect();
        let expected =
            ["MINE-REGION", "MINE-ORDER"].map(|id| [1, 2].map(|jobs| (Some(id), Some(jobs))));
        assert_eq!(seen, expected.concat());
        assert_eq!(tests[0]["drive"], drive, "{target}");
        for test in tests {
            assert!(
                test["ops"].as_u64() > Some(0) && mistakes(test).is_empty(),
                "{target}: {test:#}"
            );
        }
        let verified = desk.run(&format!("verify {target} {both}")).ok();
        assert!(verified.stdout.contains("ok      MINE-ORDER"), "{}", verified.stdout);
        let kpms = desk.run(&format!("report kpm {catalog} --format csv")).ok().stdout;
        assert!(kpms.contains("MINE-ORDER") && kpms.contains("tps"), "{target}: {kpms}");
        assert!(std::fs::read_to_string(&page).unwrap().contains("MINE-ORDER"));
        // Nothing of the workload's own tables is left, and cleaning leaves nothing at all.
        let cleaned = desk.run(&format!("clean {target} {catalog}")).ok();
        assert!(!cleaned.stdout.contains("mine_"), "{}", cleaned.stdout);
        assert!(desk.data_entries().is_empty(), "{target}: {:?}", desk.data_entries());
    }
}

/// Text files below a directory.
pub fn files_below(dir: &std::path::Path) -> Vec<(std::path::PathBuf, String)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| match path.is_dir() {
        true => files_below(&path),
        false => std::fs::read_to_string(&path).map(|text| (path, text)).into_iter().collect(),
    };
    entries.flat_map(read).collect()
}

#[test]
fn every_decision_that_sources_and_documents_name_exists() {
    let mut named = 0;
    for dir in ["src", "crates", "catalog", "docs", "examples", "scripts"] {
        for (file, text) in files_below(std::path::Path::new(dir)) {
            for rest in text
                .split("docs/decisions/")
                .skip(1)
                .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                let name = format!("docs/decisions/{}.md", rest.split(".md").next().unwrap());
                assert!(std::path::Path::new(&name).exists(), "{} names {name}", file.display());
                named += 1;
            }
        }
    }
    assert!(named > 0, "no source names a decision any more");
}

#[test]
fn every_source_that_the_documents_name_exists() {
    let mut named = 0;
    let decisions = files_below(std::path::Path::new("docs")).into_iter();
    let documents = DOCUMENTS.iter().map(|name| (name.into(), document(name)));
    for (file, text) in decisions.chain(documents) {
        let quoted = text.split('`').skip(1).step_by(2);
        for path in quoted.filter(|path| path.starts_with("src/") || path.starts_with("crates/")) {
            if path.contains([' ', '*', '<', '\n']) {
                continue;
            }
            // `x.{rs,sql}` stands for two files.
            let (stem, endings) = match path.split_once('{') {
                Some((stem, rest)) => (stem, rest.trim_end_matches('}')),
                None => (path, ""),
            };
            for ending in endings.split(',') {
                let path = format!("{stem}{ending}");
                let exists = std::path::Path::new(&path).exists();
                assert!(exists, "{} names {path}", file.display());
                named += 1;
            }
        }
    }
    assert!(named > 10, "only {named} sources are named");
}

#[test]
fn every_file_that_the_documents_link_to_exists() {
    for name in DOCUMENTS {
        for rest in document(name).split("](").skip(1) {
            let link = rest.split([')', '#']).next().unwrap();
            let local = !link.is_empty() && !link.contains("://");
            assert!(!local || std::path::Path::new(link).exists(), "{name} links to {link}");
        }
    }
}
