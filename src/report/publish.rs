//! The page of runs for publication: platforms are called A, B, C; what would name them is removed,
//! and listed.

use super::document::{Block, Cell, Column, Document, Section, Table};
use super::picture::{Part, Picture};
use super::{Input, Report, RunTests, page};
use crate::model::{
    Disclosure, Explained, Reason, ReasonCode, RunRecord, Sentence, Test, TestResult,
};

/// `report publish`.
pub struct PublishReport;

/// Facts that say how large and how fast a platform is and how it is set, but not whose or which it
/// is. What is not named here is removed: a new fact is not published by accident.
const KEPT: &[(&str, &[&str])] = &[
    (
        "hardware",
        &[
            "sockets",
            "cores",
            "threads",
            "threads_usable",
            "smt",
            "numa_nodes",
            "frequency_governor",
            "cpu_ghz",
            "memory_mb",
            "memory_gb",
        ],
    ),
    (
        "os",
        &[
            "distribution",
            "mitigations",
            "transparent_huge_pages",
            "huge_pages",
            "swappiness",
            "clock_source",
        ],
    ),
    ("storage", &["rotational", "scheduler", "write_cache", "read_ahead_kb", "file_system"]),
    ("database", &["engine", "version", "tls", "nodes"]),
    ("dbdyno", &["version", "build", "target"]),
    ("data", &["size_gb"]),
];
/// Of these every fact is kept that is a number, with its unit, or one of these words: any other
/// may be a name.
const SETTINGS: &str = "settings";
const WORDS: [&str; 7] = ["on", "off", "yes", "no", "true", "false", "none"];
/// A longer number is none.
const LONGEST: usize = 24;

const ABOUT: &str = "The platforms have letters instead of names. What would tell whose or which they are was removed and is listed \
here by name, without values; figures, verdicts, the names of workloads and the times of tests are unchanged.";

impl Report for PublishReport {
    fn name(&self) -> &'static str {
        "publish"
    }

    fn title(&self) -> &'static str {
        "the page for others: platforms called A, B, C, with a list of what was removed"
    }

    fn format(&self) -> &'static str {
        "html"
    }

    fn is_publication(&self) -> bool {
        true
    }

    fn build(&self, input: &Input) -> Document {
        let (runs, removed): (Vec<RunTests>, Vec<Vec<String>>) = input
            .runs
            .iter()
            .enumerate()
            .map(|(number, data)| anonymous(data, &letter(number)))
            .unzip();
        let (prices, calibrations, command) = (Vec::new(), Vec::new(), String::new());
        // A reference would name itself.
        let bare = Input { runs, prices, calibrations, command, reference: None, ..input.clone() };
        let mut document = page::Page.build(&bare);
        let list = list(input, &removed);
        let part = Part {
            title: list.title.clone(),
            pictures: vec![Picture::Blocks(list.blocks.clone())],
            ..Part::default()
        };
        document.page.iter_mut().for_each(|page| page.parts.push(part.clone()));
        document.sections.push(list);
        document
    }
}

/// A, B, ... Z, A1, B1, ...
fn letter(number: usize) -> String {
    let letter = char::from(b'A' + (number % 26) as u8);
    if number < 26 { letter.to_string() } else { format!("{letter}{}", number / 26) }
}

/// The run without what names its platform, and what was removed.
fn anonymous(data: &RunTests, letter: &str) -> (RunTests, Vec<String>) {
    let (disclosure, mut removed) = kept(&data.run.disclosure);
    let run = &data.run;
    let own = [
        ("name of the run", run.name.is_some()),
        ("target of the run", true),
        ("command line", !run.command.is_empty()),
        ("labels of the run", !run.labels.is_empty()),
        ("source of the publication", run.provenance.is_some()),
    ];
    removed.extend(
        own.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name.to_string()),
    );
    let kept_run = RunRecord {
        name: Some(letter.into()),
        target: letter.into(),
        command: String::new(),
        labels: Default::default(),
        provenance: None,
        disclosure,
        ..run.clone()
    };
    let tests = data.tests.iter().map(|test| without_words(test, &mut removed)).collect();
    removed.sort();
    removed.dedup();
    (RunTests { run: kept_run, tests }, removed)
}

/// A disclosure without what would tell whose or which a platform is.
pub fn without_names(disclosure: &Disclosure) -> Disclosure {
    kept(disclosure).0
}

/// The facts that are kept, and the names of the others.
fn kept(disclosure: &Disclosure) -> (Disclosure, Vec<String>) {
    let (mut kept, mut removed) = (Disclosure::default(), Vec::new());
    let facts = disclosure
        .0
        .iter()
        .flat_map(|(section, facts)| facts.iter().map(move |fact| (section, fact)));
    for (section, (name, value)) in facts {
        match is_kept(section, name, value) {
            true => kept.set(section, name.as_str(), value.as_str()),
            false => removed.push(format!("{section}: {name}")),
        }
    }
    (kept, removed)
}

fn is_kept(section: &str, name: &str, value: &str) -> bool {
    if section == SETTINGS {
        return is_plain(value);
    }
    KEPT.iter().any(|(known, names)| *known == section && names.contains(&name))
}

/// `128MB`, `-1`, `0.9`, `on`; neither an address nor a word.
fn is_plain(value: &str) -> bool {
    let digits = value.trim_start_matches('-');
    let unit =
        digits.trim_start_matches(|character: char| character.is_ascii_digit() || character == '.');
    let is_unit = [
        "", "B", "kB", "8kB", "K", "MB", "M", "GB", "G", "TB", "us", "ms", "s", "min", "h", "d",
        "%",
    ]
    .contains(&unit);
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.matches('.').count() <= 1;
    WORDS.contains(&value.to_ascii_lowercase().as_str())
        || is_number && is_unit && value.len() <= LONGEST
}

/// The test without texts of servers: messages, log lines, statements of others.
fn without_words(test: &Test, removed: &mut Vec<String>) -> Test {
    let Test::Measured(test) = test else { return test.clone() };
    let mut bare: TestResult = (**test).clone();
    let words = [
        ("first errors of tests", bare.first_error.take().is_some()),
        ("log of the server", bare.server_log.take().is_some()),
        ("statements and I/O by name", !std::mem::take(&mut bare.profiles).is_empty()),
        ("messages of failures", silence(&mut bare.verdict.reasons)),
        ("why something could not be seen", forget_why(&mut bare)),
        ("names of load machines", forget_machines(&mut bare)),
    ];
    removed.extend(
        words.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name.to_string()),
    );
    bare.into()
}

/// Load machines are numbered instead; true if there were some.
fn forget_machines(test: &mut TestResult) -> bool {
    (1..)
        .zip(&mut test.workers)
        .for_each(|(number, worker)| worker.name = format!("worker {number}"));
    !test.workers.is_empty()
}

/// A failure is told without the server's words; true if there was one.
fn silence(reasons: &mut [Reason]) -> bool {
    let mut found = false;
    for reason in reasons
        .iter_mut()
        .filter(|reason| [ReasonCode::Failed, ReasonCode::WorkerLost].contains(&reason.code))
    {
        *reason = Reason::new(
            reason.status,
            reason.code.clone(),
            Sentence::new("the test ended in an error"),
        );
        found = true;
    }
    found
}

/// Servers and systems say in words of their own, with names and paths, why sessions cannot be seen
/// or an experiment broke; true if one did.
fn forget_why(test: &mut TestResult) -> bool {
    let of_waits =
        test.waits.as_mut().map(|waits| std::mem::take(&mut waits.missing)).unwrap_or_default();
    let broke = test.explained.as_mut().is_some_and(forget_why_it_broke);
    !of_waits.is_empty() || broke
}

fn forget_why_it_broke(explained: &mut Explained) -> bool {
    let why = explained
        .missing
        .as_mut()
        .map(|why| *why = Sentence::new("for a reason that is not published"));
    explained
        .further
        .iter_mut()
        .fold(why.is_some(), |broke, other| forget_why_it_broke(other) | broke)
}

fn list(input: &Input, removed: &[Vec<String>]) -> Section {
    let language = input.language;
    let columns = [Column::new("Platform", "", 0), Column::new("Removed", "", 0)];
    let mut table = Table::new(language, "removed", columns);
    for (number, names) in removed.iter().enumerate() {
        table.rows.extend(
            names
                .iter()
                .map(|name| vec![Cell::text(letter(number)), Cell::text(language.phrase(name))]),
        );
    }
    if !input.prices.is_empty() {
        table.rows.push(vec![Cell::Empty, Cell::text(language.phrase("prices"))]);
    }
    let blocks = vec![Block::Paragraph(language.phrase(ABOUT)), Block::Table(table)];
    Section::new(language, "What was removed", blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Waits;

    #[test]
    fn settings_are_kept_if_they_are_numbers_or_switches() {
        for plain in ["128MB", "-1", "0.9", "on", "OFF", "80%", "30s"] {
            assert!(is_plain(plain), "{plain}");
        }
        for name in
            ["/var/lib/x", "db.example", "10.0.0.1", "a b", "me@host", "acme", "1acme", "x:1", ""]
        {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn words_of_servers_and_systems_are_gone_and_said_to_be() {
        let mut test = crate::analysis::fixture::result();
        test.waits =
            Some(Waits { missing: vec!["denied to secret@host".into()], ..Waits::default() });
        let (mut removed, mut none) = (Vec::new(), Vec::new());
        let Test::Measured(bare) = without_words(&test.clone().into(), &mut removed) else {
            panic!()
        };
        assert_eq!(
            (bare.waits.unwrap().missing, removed),
            (Vec::new(), vec!["why something could not be seen".to_string()])
        );
        test.waits = Some(Waits::default());
        without_words(&test.into(), &mut none);
        assert!(none.is_empty(), "{none:?}");
    }

    #[test]
    fn letters_go_on_behind_z() {
        assert_eq!([0, 1, 25, 26, 53].map(letter), ["A", "B", "Z", "A1", "B2"]);
    }
}
