//! The guide in docs/guide: its reference is what the program declares, its links lead somewhere,
//! its commands are commands of this program, and those of the tutorials work.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Parser;
use dbdyno::cli::args::Cli;

use crate::support::Desk;

const GUIDE: &str = "docs/guide";
/// Pages that `dbdyno reference` makes, as reference-NAME.md.
const GENERATED: [&str; 6] =
    ["commands", "environment", "workloads", "suites", "reasons", "columns"];
/// Documents beside the guide whose links are held, too.
const DOCUMENTS: [&str; 4] = ["README.md", "METHODOLOGY.md", "CONTRIBUTING.md", "BIAS.md"];
/// Lines from the title within which a page begins to answer its question.
const ANSWER_WITHIN: usize = 5;

/// A page in Markdown.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: PathBuf) -> Page {
        let text = std::fs::read_to_string(&path).unwrap();
        Page { path, text }
    }

    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap()
    }

    /// Lines outside fenced blocks.
    fn prose(&self) -> impl Iterator<Item = &str> {
        outside_fences(&self.text)
    }

    /// Targets of its links.
    fn links(&self) -> Vec<String> {
        let mut links = Vec::new();
        for line in self.prose() {
            for rest in line.split("](").skip(1) {
                links.extend(rest.split(')').next().map(String::from));
            }
        }
        links
    }

    /// The names by which its headings are linked to, as on GitHub.
    fn anchors(&self) -> BTreeSet<String> {
        let headings = self.prose().filter(|line| line.starts_with('#'));
        headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
    }

    /// The lines of its `sh` blocks that call the program, without the program's name.
    fn commands(&self) -> Vec<&str> {
        let blocks = self.text.split("```sh\n").skip(1);
        let lines = blocks.flat_map(|rest| rest.split("```").next().unwrap_or_default().lines());
        let bare = lines.map(|line| line.split(" #").next().unwrap_or_default().trim());
        bare.filter_map(|line| line.strip_prefix("dbdyno ")).collect()
    }
}

/// Lines of a text in Markdown that are not in a fenced block.
pub fn outside_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut is_fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    })
}

fn anchor(heading: &str) -> String {
    let kept = |character: &char| character.is_alphanumeric() || "-_ ".contains(*character);
    heading.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

fn pages() -> Vec<Page> {
    let entries = std::fs::read_dir(GUIDE).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    paths.sort();
    paths.into_iter().map(Page::read).collect()
}

/// Words of a command as a shell makes them: blanks separate, quotes keep together.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for character in command.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().unwrap().push(character),
        }
    }
    assert_eq!(quote, None, "a quote is open in {command}");
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_reference_is_what_the_program_declares() {
    let desk = Desk::new();
    let mut stale = Vec::new();
    for name in GENERATED {
        let path = Path::new(GUIDE).join(format!("reference-{name}.md"));
        let made = desk.run(&format!("reference {name}")).ok().stdout;
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != made {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "stale: {stale:?}; UPDATE_GOLDEN=1 rewrites them, read the diff");
}

#[test]
fn every_environment_variable_of_the_sources_is_in_the_reference() {
    let page = Page::read(Path::new(GUIDE).join("reference-environment.md"));
    let mut named = 0;
    for (file, text) in crate::docs::files_below(Path::new("src"))
        .into_iter()
        .chain(crate::docs::files_below(Path::new("crates")))
    {
        // What the build sets (`env!`) is no variable of the user.
        let read = text.replace("env!(\"DBDYNO_", "");
        for rest in read.split("\"DBDYNO_").skip(1) {
            let name = rest.split('"').next().unwrap_or_default();
            if name.is_empty() || name.starts_with("TEST") {
                continue;
            }
            let documented = page.text.contains(&format!("`DBDYNO_{name}`"));
            assert!(documented, "{} reads DBDYNO_{name}", file.display());
            named += 1;
        }
    }
    assert!(named > 4, "only {named} variables found");
}

#[test]
fn every_directory_variable_of_the_reference_is_read_by_a_source() {
    let page = Page::read(Path::new(GUIDE).join("reference-environment.md"));
    let sources: Vec<_> = ["src", "crates"]
        .iter()
        .flat_map(|dir| crate::docs::files_below(Path::new(dir)))
        .filter(|(file, _)| file.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    let mut named = 0;
    for rest in page.text.split("`XDG_").skip(1) {
        let name = format!("XDG_{}", rest.split('`').next().unwrap());
        let is_read = |(_, text): &(_, String)| {
            text.contains(&format!("var(\"{name}\")"))
                || text.contains(&format!("variable(\"{name}\")"))
        };
        assert!(sources.iter().any(is_read), "no source reads {name}");
        named += 1;
    }
    assert!(named >= 2, "only {named} variables found");
}

#[test]
fn every_page_is_reached_from_the_first_and_begins_with_its_answer() {
    let first = Page::read(Path::new(GUIDE).join("README.md"));
    let linked: BTreeSet<String> = first.links().into_iter().collect();
    for page in pages() {
        let listed = page.name() == first.name() || linked.contains(page.name());
        assert!(listed, "{} is not listed in the guide's first page", page.name());
        let mut lines = page.text.lines().skip_while(|line| !line.starts_with("# "));
        assert!(lines.next().is_some(), "{} has no title", page.name());
        let begins = |line: &str| !line.is_empty() && !line.starts_with('#');
        assert!(lines.take(ANSWER_WITHIN).any(begins), "{} begins with nothing", page.name());
    }
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut checked = 0;
    for page in pages().into_iter().chain(DOCUMENTS.map(|name| Page::read(name.into()))) {
        for link in page.links().iter().filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.path.parent().unwrap();
            let target = if file.is_empty() { page.path.clone() } else { folder.join(file) };
            assert!(target.exists(), "{} links to {link}", page.name());
            if !heading.is_empty() && target.extension().is_some_and(|ending| ending == "md") {
                let anchors = Page::read(target).anchors();
                assert!(anchors.contains(heading), "{} links to {link}", page.name());
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} links found");
}

#[test]
fn the_page_on_choosing_names_every_workload() {
    let page = Page::read(Path::new(GUIDE).join("choose-workloads.md"));
    let catalog = crate::support::catalog();
    let ids: Vec<&str> = catalog.workloads().map(|workload| workload.id.as_str()).collect();
    assert!(ids.len() > 60, "only {} workloads", ids.len());
    let missing: Vec<_> =
        ids.into_iter().filter(|id| !page.text.contains(&format!("`{id}`"))).collect();
    assert!(missing.is_empty(), "not in {}: {missing:?}", page.name());
}

#[test]
fn every_command_of_the_guide_is_one_that_the_program_takes() {
    let mut checked = 0;
    for page in pages() {
        for command in page.commands() {
            let line = std::iter::once("dbdyno".to_string()).chain(words(command));
            if let Err(error) = Cli::try_parse_from(line) {
                panic!("{}: dbdyno {command}: {error}", page.name());
            }
            checked += 1;
        }
    }
    assert!(checked > 60, "only {checked} commands found");
}

/// A line without the targets of its links.
pub fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |prose, part| prose + part.split_once(')').map_or(part, |halves| halves.1))
}

/// A command of a tutorial with short windows and small data.
fn shortened(command: &str) -> String {
    let short = command.replace("--duration 5s", "--duration 200ms");
    match words(&short).first().map(String::as_str) {
        Some("run") => format!("{short} --warmup 50ms --size 0.05"),
        Some("ab-test") => {
            let ends = short.replace("--max-duration 5m", "--max-duration 1s");
            format!("{ends} --duration 100ms --warmup 50ms --size 0.05")
        }
        _ => short,
    }
}

/// The sources and tests without comments, each text that goes over several lines on one.
fn spoken() -> String {
    let mut all = String::new();
    for folder in ["crates", "src", "tests/it"] {
        for file in crate::architecture::files_below(Path::new(folder)) {
            if file.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&file).unwrap();
                let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
                for line in lines {
                    match line.strip_suffix('\\') {
                        Some(begun) => all.push_str(begun),
                        None => all.extend([line, "\n"]),
                    }
                }
            }
        }
    }
    all
}

/// Somebody who looks a message up searches for the words that the program printed.
#[test]
fn the_messages_to_look_up_are_those_of_the_program() {
    let page = Page::read(Path::new(GUIDE).join("troubleshoot.md"));
    let rows = page.text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let quoted: Vec<&str> = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let messages = quoted.iter().filter(|text| text.contains(' '));
    let spoken = spoken();
    let mut found = 0;
    for message in messages {
        for part in message.split("...").map(|part| part.trim_matches([' ', ','])) {
            assert!(spoken.contains(part), "nothing prints '{part}' of '{message}'");
        }
        found += 1;
    }
    assert!(found > 10, "{found} messages");
}

#[test]
fn the_tutorials_work_as_they_are_written() {
    for page in pages().iter().filter(|page| page.name().starts_with("tutorial-")) {
        let desk = Desk::new();
        let commands = page.commands();
        assert!(commands.len() >= 3, "{}: {commands:?}", page.name());
        for command in commands {
            let output = format!("--output {}/", desk.path("").display());
            desk.run(&shortened(command).replace("--output ", &output)).ok();
        }
    }
}
