//! German reports are German: no English word, no English sentence and no decimal point in what we
//! say ourselves.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};

use dbdyno::analysis::compare::{self as comparison, Side};
use dbdyno::analysis::price::PriceList;
use dbdyno::report::ab_test::TrialsReport;
use dbdyno::report::{
    Document, FORMATS, Format, Input, Language, Options, REPORTS, Report, RunTests, Subject,
    compare,
};

use crate::reports::{golden, input, one_test, rendered};
use crate::{ab_tests, fixture, heatmaps, studies};

/// Words that no German sentence has. Fields of SQL, settings and names of workloads are not among
/// them.
const ENGLISH: &[&str] = &[
    "the",
    "of",
    "and",
    "with",
    "is",
    "are",
    "not",
    "no",
    "at",
    "by",
    "to",
    "from",
    "for",
    "than",
    "its",
    "were",
    "this",
    "that",
    "which",
    "only",
    "more",
    "each",
    "valid",
    "conditional",
    "invalid",
    "unknown",
    "job",
    "node",
    "nodes",
    "platforms",
    "platform",
    "throughput",
    "speed",
    "figure",
    "figures",
    "cost",
    "licences",
    "peak",
    "knee",
    "read",
    "reads",
    "run",
    "runs",
    "row",
    "left",
    "shows",
    "best",
    "mean",
    "note",
    "contention",
    "variance",
];

fn report(name: &str) -> &'static dyn Report {
    *REPORTS.iter().find(|report| report.name() == name).unwrap()
}

fn format(name: &str) -> &'static dyn Format {
    *FORMATS.iter().find(|format| format.name() == name).unwrap()
}

fn german(input: Input) -> Input {
    Input { language: Language::German, ..input }
}

/// The fixture run beside a slower one, with prices for both.
fn two_runs() -> Input {
    let mut other = RunTests { run: fixture::run(), tests: fixture::as_tests(fixture::tests()) };
    (other.run.id, other.run.name) = (8, Some("other".into()));
    let text = std::fs::read_to_string("examples/prices/exadata-x2-2-dbserver.toml").unwrap();
    let prices = PriceList { platform: Some("other".into()), ..PriceList::parse(&text).unwrap() };
    let mut input = input();
    input.runs.push(other);
    Input { prices: vec![prices], ..input }
}

/// A German input for reports, and the texts that are shown as they are stored.
struct Sample {
    input: Input,
    stored: BTreeSet<String>,
    /// The stored texts with a letter, as a search.
    hidden: AhoCorasick,
}

impl Sample {
    fn new(input: Input) -> Rc<Sample> {
        let input = german(input);
        let stored = stored_texts(&input);
        let has_letter = |text: &&String| text.chars().any(char::is_alphabetic);
        let texts: Vec<&String> =
            stored.iter().filter(|text| text.len() > 2).filter(has_letter).collect();
        let hidden = longest_of(&texts);
        Rc::new(Sample { input, stored, hidden })
    }

    /// A text without what is stored.
    fn without_stored(&self, text: &str) -> String {
        self.hidden.replace_all(text, &vec![" "; self.hidden.patterns_len()])
    }
}

/// Samples that many reports are made of.
struct Common {
    one: Rc<Sample>,
    two: Rc<Sample>,
    published: Rc<Sample>,
}

impl Common {
    fn new() -> Common {
        let [one, two, published] = [input(), two_runs(), heatmaps::input()].map(Sample::new);
        Common { one, two, published }
    }

    /// Samples for a report.
    fn samples(&self, report: &dyn Report) -> Vec<Rc<Sample>> {
        let one = || Rc::clone(&self.one);
        match report.subject() {
            Subject::Runs if report.name() == "layers" => {
                vec![one(), Sample::new(studies::layers_input())]
            }
            Subject::Runs if report.name() == "sweep" => {
                vec![one(), Sample::new(studies::sweep_input()), Rc::clone(&self.published)]
            }
            Subject::Runs if report.name() == "recall" => {
                vec![one(), Sample::new(crate::vectors::recall_input())]
            }
            Subject::Runs if report.name() == "interference" => {
                vec![one(), Sample::new(studies::interference_input())]
            }
            Subject::Runs if report.name() == "failover" => {
                vec![one(), Sample::new(crate::failover::input())]
            }
            Subject::Runs | Subject::AbTest => {
                vec![one(), Rc::clone(&self.two), Rc::clone(&self.published)]
            }
            Subject::Tests => vec![Sample::new(one_test())],
            // The catalog is written in English.
            Subject::Catalog => Vec::new(),
        }
    }
}

fn strings(value: &serde_json::Value, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::String(text) => {
            found.extend(text.split("; ").map(String::from).chain([text.clone()]))
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        serde_json::Value::Object(fields) => {
            found.extend(fields.keys().cloned());
            fields.values().for_each(|value| strings(value, found));
        }
        serde_json::Value::Number(number) => drop(found.insert(number.to_string())),
        _ => {}
    }
}

/// Every text that is stored with the runs: shown as it is, in any language.
fn stored_texts(input: &Input) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for data in &input.runs {
        let mut run = serde_json::to_value(&data.run).unwrap();
        run["status"].take();
        run["kind"].take();
        strings(&run, &mut found);
        for test in &data.tests {
            let texts =
                [test.workload(), test.title(), test.group(), &test.kpm().unit, test.hash()];
            found.extend(texts.into_iter().chain(test.asked_as()).map(String::from));
            if let Some(test) = test.measured() {
                found.extend(test.first_error.clone());
                found.extend(test.counters.0.keys().chain(test.window_counters.0.keys()).cloned());
            }
            if let Some(test) = test.published() {
                let mut published = serde_json::to_value(&test.published).unwrap();
                published["kind"].take();
                published["figures"]
                    .as_array_mut()
                    .unwrap()
                    .iter_mut()
                    .for_each(|figure| drop(figure["value"].take()));
                strings(&published, &mut found);
            }
        }
    }
    for price in &input.prices {
        found.extend([price.basis.clone(), price.date.clone()]);
        found.extend(price.products.iter().map(|product| product.name.clone()));
    }
    found
}

/// The report without markup and code.
fn visible_text(format: &dyn Format, document: &Document) -> String {
    let text = rendered(format, document, Options::plain(400));
    let text = match format.name() {
        "html" => {
            let body = text.split_once("<body>").unwrap().1.split("<script>").next().unwrap();
            let parts = body.split("<script type=\"application/json\">");
            let body: String = parts
                .map(|part| part.split_once("</script>").map_or(part, |(_, rest)| rest))
                .collect();
            let attributes = body.replace("aria-label=\"", ">").replace("title=\"", ">");
            attributes
                .split('<')
                .map(|part| part.rsplit('>').next().unwrap().to_string() + " ")
                .collect::<String>()
        }
        // Code is indented on a terminal.
        "text" => text
            .lines()
            .filter(|line| !line.starts_with("    "))
            .map(|line| format!("{line}\n"))
            .collect(),
        _ => text.split("\n```").step_by(2).collect(),
    };
    let text =
        text.replace('\\', "").replace("&quot;", "\"").replace("&#39;", "'").replace("&lt;", "<");
    text.replace('\u{a0}', " ")
}

/// A German report in one of its forms, and what is not German in it.
struct Shown {
    report: &'static str,
    form: &'static str,
    text: String,
    findings: BTreeSet<String>,
}

/// Every German report of every input: each document is made once for all tests.
fn all_shown() -> &'static [Shown] {
    static ALL: OnceLock<Vec<Shown>> = OnceLock::new();
    ALL.get_or_init(|| {
        let (common, mut all) = (Common::new(), Vec::new());
        for report in REPORTS {
            for (number, sample) in common.samples(*report).iter().enumerate() {
                let document = report.build(&sample.input);
                // The published runs have hundreds of tests: one form tells enough of them.
                let forms: &[&str] =
                    if number < 2 { &["text", "markdown", "html"] } else { &["markdown"] };
                for form in forms {
                    all.push(shown(*report, sample, format(form), &document));
                }
            }
        }
        all
    })
}

fn shown(report: &dyn Report, sample: &Sample, format: &dyn Format, document: &Document) -> Shown {
    let (report, form) = (report.name(), format.name());
    let text = visible_text(format, document);
    let own = sample.without_stored(&text);
    let words: BTreeSet<String> = mistakes(&own, &sample.stored).into_iter().collect();
    let told = |word: String| format!("{report} {form}: '{word}' in: {}", around(&own, &word));
    let findings = words.into_iter().map(told).collect();
    Shown { report, form, text, findings }
}

/// A search for the longest of many texts at each place, which takes the time of one.
fn longest_of(texts: &[&String]) -> AhoCorasick {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts).unwrap()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || "-_=".contains(character)))
}

/// A number with a decimal point: not a day, and not groups of three digits.
fn has_point(number: &str) -> bool {
    let whole = number.trim_end_matches(['.', ',']).split(',').next().unwrap_or_default();
    let parts: Vec<&str> = whole.split('.').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_grouped =
        lengths[1..].iter().all(|length| *length == 3) && parts[0] != "0" && parts[0].len() <= 3;
    parts.len() > 1 && lengths != [2, 2, 4] && !is_grouped
}

/// Places where a text has an English word, or a number with a decimal point that is not stored so.
fn mistakes(text: &str, stored: &BTreeSet<String>) -> Vec<String> {
    let is_digit = |first: char| first.is_ascii_digit();
    let numbers =
        text.split(|character: char| !(character.is_ascii_digit() || ".,".contains(character)));
    let numbers = numbers.filter(|number| number.starts_with(is_digit) && has_point(number));
    let numbers = numbers.map(|number| number.trim_end_matches(['.', ',']));
    let numbers = numbers.filter(|number| !stored.iter().any(|text| text.contains(number)));
    words(text).filter(|word| ENGLISH.contains(word)).chain(numbers).map(String::from).collect()
}

/// English words and numbers in a German report in Markdown.
pub fn mistakes_of(markdown: &str, input: &Input) -> Vec<String> {
    mistakes(&markdown.replace('\\', "").replace('\u{a0}', " "), &stored_texts(input))
}

/// Text around the first such mistake.
fn around(text: &str, mistake: &str) -> String {
    let ends =
        |character: Option<char>| character.is_none_or(|character| !character.is_alphanumeric());
    let is_whole = |place: &usize| {
        ends(text[..*place].chars().next_back())
            && ends(text[place + mistake.len()..].chars().next())
    };
    let place = text.match_indices(mistake).map(|(place, _)| place).find(is_whole);
    let (before, after) = text.split_at(place.unwrap_or(0));
    let before: Vec<char> = before.chars().rev().take(60).collect();
    before.into_iter().rev().chain(after.chars().take(60)).collect::<String>().replace('\n', " ")
}

#[test]
fn german_reports_have_no_english_word_and_no_decimal_point() {
    let found: BTreeSet<&String> = all_shown().iter().flat_map(|one| &one.findings).collect();
    assert!(
        found.is_empty(),
        "{} findings:\n{}",
        found.len(),
        found.into_iter().cloned().collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn english_sentences_do_not_stand_in_german_reports() {
    let english: toml::Table =
        include_str!("../../crates/dbdyno-report/src/texts/en.toml").parse().unwrap();
    let german_texts: toml::Table =
        include_str!("../../crates/dbdyno-report/src/texts/de.toml").parse().unwrap();
    let texts = |file: &toml::Table, part: &str| file[part].as_table().unwrap().clone();
    let sentences = texts(&english, "sentences")
        .into_iter()
        .map(|(_, text)| text.as_str().unwrap().to_string());
    let differs = |(english, german): (String, toml::Value)| {
        (Some(english.as_str()) != german.as_str()).then_some(english)
    };
    let phrases = texts(&german_texts, "phrases").into_iter().filter_map(differs);
    let fixed: Vec<String> =
        sentences.chain(phrases).filter(|text| !text.contains('{') && text.len() > 12).collect();
    assert!(fixed.len() > 60);
    let all = longest_of(&fixed.iter().collect::<Vec<_>>());
    for one in all_shown().iter().filter(|one| one.form == "markdown") {
        let text = &one.text;
        let standing: Vec<&str> = all.find_iter(text).map(|found| &text[found.range()]).collect();
        assert!(standing.is_empty(), "{}: {standing:?}", one.report);
    }
}

#[test]
fn every_german_text_is_of_some_english_one() {
    let german_texts: toml::Table =
        include_str!("../../crates/dbdyno-report/src/texts/de.toml").parse().unwrap();
    // The notes of suites are said as they stand there.
    let suites = std::fs::read_dir("catalog/suites").unwrap().map(|entry| entry.unwrap().path());
    let mut sources: String = suites.map(|suite| std::fs::read_to_string(suite).unwrap()).collect();
    // Why an engine cannot run a workload stands beside the workload.
    sources += &std::fs::read_to_string("catalog/workloads/common.toml").unwrap();
    for group in std::fs::read_dir("catalog/workloads").unwrap() {
        for file in std::fs::read_dir(group.unwrap().path()).into_iter().flatten() {
            sources += &std::fs::read_to_string(file.unwrap().path()).unwrap();
        }
    }
    // Why a server cannot tell something stands in quotes of SQL.
    for probes in std::fs::read_dir("catalog/probes").unwrap() {
        let text = std::fs::read_to_string(probes.unwrap().path()).unwrap();
        sources += &text.replace("''", "\u{2}").replace('\'', "\"").replace('\u{2}', "'");
    }
    let mut folders = vec![std::path::PathBuf::from("src"), std::path::PathBuf::from("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.extension().and_then(|ending| ending.to_str()) {
                Some("rs") => sources += &std::fs::read_to_string(&entry).unwrap(),
                None if entry.is_dir() => folders.push(entry),
                _ => {}
            }
        }
    }
    // A line that ends in a backslash goes on behind the next one's indentation.
    let mut joined = String::new();
    let mut goes_on = false;
    for line in sources.lines() {
        let (part, is_split) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        joined += if goes_on { part.trim_start() } else { part };
        if !is_split {
            joined.push('\n');
        }
        goes_on = is_split;
    }
    let composed = |text: &str| text.ends_with(" total") || text.ends_with(" of the best");
    // What stands between two quotes, whether they open and close a text or not.
    let quoted: BTreeSet<&str> = joined.split('"').collect();
    let is_said = |text: &str| match text.contains('"') {
        true => joined.contains(&format!("\"{text}\"")),
        false => quoted.contains(text),
    };
    let phrases = german_texts["phrases"].as_table().unwrap();
    let unused: Vec<&String> =
        phrases.keys().filter(|text| !is_said(text) && !composed(text)).collect();
    assert!(unused.is_empty(), "not said anywhere: {unused:#?}");
    for key in german_texts["sentences"].as_table().unwrap().keys() {
        let stem = key.trim_end_matches("_one").trim_end_matches("_many");
        let limit = key.starts_with("limit_");
        assert!(limit || is_said(key) || is_said(stem), "not said anywhere: {key}");
    }
}

#[test]
fn german_golden_reports_are_as_they_were_read() {
    let mut differences = Vec::new();
    for (name, input) in
        [("kpm", input()), ("test", one_test()), ("html", two_runs()), ("platform", two_runs())]
    {
        let text =
            rendered(format("markdown"), &report(name).build(&german(input)), Options::default());
        differences.extend(golden(&format!("{name}.de"), &text).err());
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn a_comparison_is_german_too() {
    let mut other = fixture::tests();
    for test in &mut other {
        test.kpm_value = test
            .kpm_value
            .map(|value| value * if test.workload == "SRV-QUERY1" { 1.5 } else { 0.8 });
    }
    other.truncate(10);
    let other = fixture::as_tests(other);
    let mut run = fixture::run();
    (run.id, run.name) = (8, Some("later".into()));
    run.disclosure
        .0
        .entry("settings".into())
        .or_default()
        .insert("shared_buffers".into(), "1GB".into());
    let (base_run, base_tests) = (fixture::run(), fixture::as_tests(fixture::tests()));
    let catalog = crate::support::catalog();
    let base = Side { name: "nightly", run: &base_run, tests: &base_tests, price: None };
    let later = Side { name: "later", run: &run, tests: &other, price: None };
    let found = comparison::compare(&base, &later, &comparison::Terms::new(catalog.effects()));
    let text = rendered(
        format("markdown"),
        &compare::document(&[found], Language::German),
        Options::default(),
    );
    let both = [(base_run, base_tests), (run, other)].map(|(run, tests)| RunTests { run, tests });
    let stored = stored_texts(&Input { runs: both.into(), ..input() });
    let plain = text.replace('\\', "").replace('\u{a0}', " ");
    assert_eq!(mistakes(&plain, &stored), Vec::<String>::new(), "{text}");
    assert_eq!(golden("compare.de", &text), Ok(()));
}

#[test]
fn an_ab_test_is_german_too() {
    let input = german(ab_tests::input());
    let text = rendered(format("markdown"), &TrialsReport.build(&input), Options::default());
    let plain = text.replace('\\', "").replace('\u{a0}', " ");
    assert_eq!(mistakes(&plain, &stored_texts(&input)), Vec::<String>::new(), "{text}");
}

#[test]
fn a_page_says_its_language_and_binds_numbers_to_their_units() {
    let page =
        rendered(format("html"), &report("html").build(&german(input())), Options::default());
    assert!(page.contains("<html lang=\"de\">"));
    assert!(page.contains("95\u{a0}%"), "no line ends before %");
    let paper = rendered(format("csv"), &report("kpm").build(&input()), Options::default());
    assert!(paper.contains("161002"), "numbers for programs are plain");
}
