//! The commands and examples of README and CONTRIBUTING work as they stand there.

use crate::support::{Desk, Server};

/// The address of the existing server in the documents.
const URL: &str = "postgres://me@localhost:5432/app";
/// Added to measurements: the documents' own windows would take minutes.
const SHORT: &str = "--duration 200ms --warmup 100ms";

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
    let line = if is_run { format!("{command} {SHORT}") } else { command.to_string() };
    desk.run(&line).ok();
}

#[test]
fn the_commands_of_the_readme_work_in_their_order() {
    let (desk, server) = (Desk::new(), Server::start());
    let commands = commands(&document("README.md"));
    assert!(commands.len() >= 10, "{commands:?}");
    for command in commands {
        let output = desk.path("datasheet.html").display().to_string();
        let command = command.replace(URL, &server.admin_url("postgres")).replace("datasheet.html", &output);
        let scripts = desk.path("scripts").display().to_string();
        run(&desk, &command.replace("--output scripts", &format!("--output {scripts}")));
    }
    assert!(desk.path("datasheet.html").exists());
}

#[test]
fn the_recipe_for_a_workload_works_on_both_engines() {
    let desk = Desk::new();
    let recipe = document("CONTRIBUTING.md");
    let folder = desk.path("catalog/workloads/mine");
    std::fs::create_dir_all(&folder).unwrap();
    let sql = blocks(&recipe, "sql");
    std::fs::write(folder.join("group.toml"), blocks(&recipe, "toml")[0]).unwrap();
    std::fs::write(folder.join("common.sql"), sql[0]).unwrap();
    std::fs::write(folder.join("postgres.sql"), sql[1]).unwrap();
    let dir = desk.path("catalog").display().to_string();
    let commands = commands(&recipe);
    assert_eq!(commands.len(), 3, "{commands:?}");
    for command in commands {
        run(&desk, &command.replace("--catalog DIR", &format!("--catalog {dir}")));
    }
    run(&desk, &format!("--catalog {dir} run postgres --workload MINE-REGION --jobs 1 --size 0.01"));
    for test in desk.run("runs show last --format json").ok().json()["tests"].as_array().unwrap() {
        assert_ne!(test["verdict"]["status"], "invalid", "{test}");
    }
}

#[test]
fn every_file_that_the_documents_link_to_exists() {
    for name in ["README.md", "ARCHITECTURE.md", "METHODOLOGY.md", "BIAS.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        for rest in document(name).split("](").skip(1) {
            let link = rest.split([')', '#']).next().unwrap();
            let local = !link.is_empty() && !link.contains("://");
            assert!(!local || std::path::Path::new(link).exists(), "{name} links to {link}");
        }
    }
}
