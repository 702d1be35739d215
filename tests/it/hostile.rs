//! Texts from outside (names, labels, titles, settings, messages, arguments, catalogs) in every
//! field of every report, format, comparison, listing and error line: each is shown, and none acts
//! where it is shown.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use dbdyno::analysis::compare::{Side, Terms, compare as compare_runs};
use dbdyno::analysis::price::PriceList;
use dbdyno::catalog::{Catalog, Group};
use dbdyno::error::{acts, visible};
use dbdyno::model::{RunRecord, RunStatus, Test, TestResult};
use dbdyno::report::ab_test::TrialsReport;
use dbdyno::report::document::Code;
use dbdyno::report::format::junit::Junit;
use dbdyno::report::{
    Color, Document, FORMATS, Format, Input, Language, Options, REPORTS, Rendered, Report,
    RunTests, Statements, Subject, compare,
};
use dbdyno::store::Store;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};
use quick_xml::events::Event;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fixture;
use crate::support::{Desk, Done, finished};

/// For every form. What acts wherever it stands is one text: no part of it hides another.
const HOSTILE: &[&str] = &[
    // A terminal: escape sequences, C1, backspace, line ends, directions, what has no width, what
    // XML forbids.
    "\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{7f}\u{8}a\r\nb\u{85}c\u{2028}d\u{2029}\u{b}\u{c}e\
     \u{202e}txt.exe\u{2066}\u{200b}\u{feff}\u{ad}\u{e0041}\u{1}\u{fffe}\u{ffff}\u{fdd0}",
    // A page.
    "</script><img src=x onerror=alert(1)><script>alert(1)</script>\
     <!-- --><svg/onload=alert(1)>]]>&lt;b&gt;&#x1b;<![CDATA[ &#60;script&#62;\
     \" onmouseover=\"alert(1)\" x='</title></style></textarea></pre><b>",
    // Markdown.
    "[x](javascript:alert(1)) ![x](https://evil.example/x.png) x](javascript:alert(1)) [",
    "<https://evil.example> https://evil.example www.evil.example ftp://evil.example \
     a|b`c`**d**_e_~~f~~$g$",
    // A spreadsheet.
    "=cmd|' /C calc'!A0",
    "Sheet1!$A$1",
];
/// Formats in which a start decides what the whole is, a line of Markdown or a cell of a
/// spreadsheet, and the starts that do so there.
const STARTS: [(&[&str], &[&str]); 3] = [
    (
        &["markdown"],
        &[
            "# heading",
            "> quotation",
            "1. item",
            "```\nfence",
            "~~~",
            "    indented",
            "[a]: javascript:alert(1)",
            "[^1]: note",
        ],
    ),
    (&["csv", "xlsx"], &["+1+cmd", "-1+cmd", "@SUM(A1)", "=(Sheet1!$A$1)"]),
    (
        &["markdown", "csv", "xlsx"],
        &[
            "- item",
            "---",
            "===",
            "\u{301}combining",
            "\t=1+1",
            "\r=1+1",
            "_x001B_",
            "'a/b\\c?d*e[f]:g'",
        ],
    ),
];

/// A value as JSON, and where its strings are that its type lets be anything.
struct Template {
    json: Value,
    free: Vec<String>,
}

impl Template {
    fn from_value<T: Serialize + DeserializeOwned>(value: &T) -> Template {
        let json = serde_json::to_value(value).unwrap();
        let is_free = |pointers: &[String]| {
            let changed =
                pointers.iter().fold(json.clone(), |json, pointer| before(json, pointer, "x"));
            serde_json::from_value::<T>(changed).is_ok()
        };
        // The same field of many items is tried in all of them at once.
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pointer in texts(&json) {
            fields.entry(field_of(&pointer)).or_default().push(pointer);
        }
        let mut free = Vec::new();
        for mut pointers in fields.into_values() {
            if !is_free(&pointers) {
                pointers.retain(|pointer| is_free(std::slice::from_ref(pointer)));
            }
            free.extend(pointers);
        }
        Template { json, free }
    }

    /// The value with `text` before each of them.
    fn with<T: DeserializeOwned>(&self, text: &str) -> T {
        let json =
            self.free.iter().fold(self.json.clone(), |json, pointer| before(json, pointer, text));
        serde_json::from_value(json).unwrap()
    }
}

/// A pointer without the numbers of items.
fn field_of(pointer: &str) -> String {
    let names = pointer.split('/').filter(|name| name.parse::<usize>().is_err());
    names.collect::<Vec<_>>().join("/")
}

fn before(mut json: Value, pointer: &str, text: &str) -> Value {
    let place = json.pointer_mut(pointer).unwrap();
    *place = Value::String(format!("{text}{}", place.as_str().unwrap()));
    json
}

static RUN: LazyLock<Template> = LazyLock::new(|| Template::from_value(&fixture::run()));
/// Of every group one, of the ramp two: what a field does to a page does not depend on the number
/// of tests.
static TESTS: LazyLock<Vec<Template>> = LazyLock::new(|| {
    let short = |test: &mut TestResult| {
        test.series.truncate(2);
        test.snapshots.truncate(2);
    };
    let mut tests = fixture::tests();
    tests.truncate(5);
    tests.iter_mut().for_each(short);
    tests.iter().map(Template::from_value).collect()
});

/// Strings of a JSON value.
fn texts(json: &Value) -> Vec<String> {
    let below = |key: String, value: &Value| {
        texts(value).into_iter().map(move |rest| format!("/{key}{rest}"))
    };
    match json {
        Value::String(_) => vec![String::new()],
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| below(at.to_string(), item)).collect()
        }
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| below(key.clone(), value)).collect()
        }
        _ => Vec::new(),
    }
}

fn run(text: &str) -> RunRecord {
    let mut run: RunRecord = RUN.with(text);
    run.labels.insert(text.into(), text.into());
    run.disclosure.set("settings", text, text);
    run.disclosure.set(text, text, text);
    run
}

fn tests(text: &str) -> Vec<Test> {
    let mut tests: Vec<TestResult> = TESTS.iter().map(|test| test.with(text)).collect();
    for test in &mut tests {
        test.params.insert(text.into(), text.into());
        test.window.errors.insert(text.into(), 1);
        test.counters.0.insert(text.into(), 1.0);
    }
    fixture::as_tests(tests)
}

fn runs(text: &str) -> Input {
    let other = RunRecord { id: 8, name: Some(format!("{text} other")), ..run(text) };
    let tests = tests(text);
    let groups = ["CPU", "SRV", "TP"].map(|id| Group::new(&format!("{text}{id}"), text)).to_vec();
    let price = PriceList {
        platform: run(text).name,
        currency: text.into(),
        date: text.into(),
        basis: text.into(),
        ..PriceList::parse(
            "cores = 2\ncurrency = \"EUR\"\ndate = \"2026\"\n[[product]]\nname = \
                            \"p\"\nprice = 1\n",
        )
        .unwrap()
    };
    let runs = [run(text), other].map(|run| RunTests { run, tests: tests.clone() }).to_vec();
    Input { runs, groups, prices: vec![price], command: text.into(), ..Input::default() }
}

/// The fixture catalog with this text in its titles, prose, units and values.
fn catalog_in(dir: &Path, text: &str) {
    let escaped: String =
        text.chars().map(|character| format!("\\U{:08x}", u32::from(character))).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/catalog");
    for from in files_in(&root) {
        let mut content = std::fs::read_to_string(&from).unwrap();
        if from.extension().is_some_and(|extension| extension == "toml") {
            for key in ["title = \"", "about = \"", "because = \"", "unit = \"", "code = \"M"] {
                content = content.replace(key, &format!("{key}{escaped}"));
            }
        }
        let to = dir.join(from.strip_prefix(&root).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(to, content).unwrap();
    }
}

fn files_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

fn catalog(text: &str) -> Input {
    let dir = tempfile::tempdir().unwrap();
    catalog_in(dir.path(), text);
    let catalog = Catalog::only_dir(dir.path()).unwrap();
    let code = Code { caption: text.into(), text: format!("select 1\n{text}\n```\n{text}") };
    let of = |drive: &str, sql| Statements {
        workload: "MINE-REGION".into(),
        engine: text.into(),
        drive: drive.into(),
        sql,
    };
    Input {
        catalog,
        statements: vec![of(text, Ok(vec![code])), of("", Err(text.into()))],
        ..Input::default()
    }
}

/// Input of a report on this subject; `of_runs` is that of runs.
fn input(subject: Subject, text: &str, of_runs: &Input) -> Input {
    let mut input = match subject {
        Subject::Catalog => catalog(text),
        Subject::Runs | Subject::Tests | Subject::AbTest => of_runs.clone(),
    };
    if subject == Subject::Tests {
        input.runs.truncate(1);
        input.runs[0].tests.truncate(1);
    }
    input
}

/// Every report and comparison of what holds this text everywhere, or with a turn, the place of the
/// text among others, every second of them.
fn documents(text: &str, turn: Option<usize>) -> Vec<(String, Document)> {
    let of_runs = runs(text);
    // A publication is the page of html with less in it.
    let reports = REPORTS.iter().filter(|report| !report.is_publication()).enumerate();
    let is_taken = |at: usize| turn.is_none_or(|turn| (turn + at).is_multiple_of(2));
    let reports = reports.filter(|(at, _)| is_taken(*at)).map(|(_, report)| {
        let mut input = input(report.subject(), text, &of_runs);
        // Its sentences are in two languages: half of the reports of a text in each.
        let is_english = (text.len() + report.name().len()).is_multiple_of(2);
        input.language = if is_english { Language::English } else { Language::German };
        (report.name().to_owned(), report.build(&input))
    });
    let (input, names) = (&of_runs, [format!("{text} a"), format!("{text} b")]);
    let side = |at: usize| Side {
        name: &names[at],
        run: &input.runs[at].run,
        tests: &input.runs[at].tests,
        price: None,
    };
    let compared = compare_runs(&side(0), &side(1), &Terms::new(&[]));
    let checks = compare::checks(std::slice::from_ref(&compared), 0.01);
    let document = Document { checks, ..compare::document(&[compared], Language::English) };
    check_xml("junit", &Junit.render(&document, Options::plain(100)).unwrap().into_text().unwrap());
    let ab_test = TrialsReport.build(input);
    check_xml("junit", &Junit.render(&ab_test, Options::plain(100)).unwrap().into_text().unwrap());
    reports.chain([("compare in the terminal".to_owned(), document)]).collect()
}

#[test]
fn no_text_acts_in_any_report_and_format() {
    // What a browser prints is the page.
    let all = FORMATS.iter().copied().filter(|format| !format.is_printed_page());
    HOSTILE.iter().for_each(|text| try_in(text, None, all.clone()));
    // Reports share what writes a line and a cell: each takes every second start.
    for (names, texts) in STARTS {
        for (turn, text) in texts.iter().enumerate() {
            let formats = all.clone().filter(|format| names.contains(&format.name()));
            try_in(text, Some(turn), formats);
        }
    }
}

fn try_in<'a>(
    text: &str,
    turn: Option<usize>,
    formats: impl Iterator<Item = &'a dyn Format> + Clone,
) {
    for (name, document) in documents(text, turn) {
        for format in formats.clone() {
            check(&format!("{name} as {} of {text:?}", format.name()), format, &document);
        }
    }
}

/// Numbers of a JSON value, by the name of their field.
fn numbers(json: &Value, at: &str, name: &str, found: &mut BTreeMap<String, Vec<String>>) {
    match json {
        Value::Number(_) => found.entry(name.into()).or_default().push(at.into()),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| numbers(item, &format!("{at}/{index}"), name, found));
        }
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| numbers(value, &format!("{at}/{key}"), key, found)),
        _ => {}
    }
}

/// The tests whose numbers are tried.
const NUMBERED: usize = 3;
/// Places of the numbers of each of them, by the name of their field.
static NUMBERS: LazyLock<Vec<BTreeMap<String, Vec<String>>>> = LazyLock::new(|| {
    let of = |test: &Template| {
        let mut found = BTreeMap::new();
        numbers(&test.json, "", "", &mut found);
        found
    };
    TESTS[..NUMBERED].iter().map(of).collect()
});

/// A 0 where something is divided by it, and what is all but 0: every page ends, and shows no NaN.
#[test]
fn no_number_breaks_a_page() {
    let found = &NUMBERS[0];
    assert!(found.len() > 40, "{:?}", found.keys());
    let values = |name: &String| [0.0, 5e-324].map(|value| (name.clone(), value));
    let broken: Vec<String> =
        found.keys().flat_map(values).flat_map(|(name, value)| broken(&name, value)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The tests with this number in the fields of a name, of all or of those that one job ran; a field
/// may refuse it.
fn with_number(name: &str, value: f64) -> Vec<Vec<TestResult>> {
    let number = |at: usize, is_meant: fn(&Template) -> bool| -> Option<TestResult> {
        let mut json = TESTS[at].json.clone();
        let pointers = NUMBERS[at].get(name).filter(|_| is_meant(&TESTS[at]));
        for pointer in pointers.into_iter().flatten() {
            *json.pointer_mut(pointer).unwrap() = whole_or_not(value);
        }
        serde_json::from_value(json).ok()
    };
    let all = |is_meant: fn(&Template) -> bool| {
        (0..NUMBERED).map(|at| number(at, is_meant)).collect::<Option<_>>()
    };
    [all(|_| true), all(|test| test.json["jobs"] == 1)].into_iter().flatten().collect()
}

/// Whole numbers without a fraction, which fields that count take.
fn whole_or_not(value: f64) -> Value {
    if value == 0.0 { Value::from(0) } else { Value::from(value) }
}

/// Place where a page shows `NaN` or `inf`.
fn no_number(page: &str) -> Option<String> {
    let is_number = |character: char| !character.is_alphabetic() || "LMhvz".contains(character);
    let is_alone = |at: usize, text: &str| {
        let around = [page[..at].chars().next_back(), page[at + text.len()..].chars().next()];
        around.into_iter().flatten().all(is_number)
    };
    let found = ["NaN", "inf"]
        .iter()
        .find_map(|text| page.match_indices(text).find(|(at, text)| is_alone(*at, text)));
    found.map(|(at, _)| page[at.saturating_sub(60)..].chars().take(80).collect())
}

/// The pages that show what is not a number.
fn broken(name: &str, value: f64) -> Vec<String> {
    let html = FORMATS.iter().find(|format| format.name() == "html").unwrap();
    let page = |report: &dyn Report, tests: &Vec<TestResult>| {
        let run = |id| RunTests {
            run: RunRecord { id, ..fixture::run() },
            tests: fixture::as_tests(tests.clone()),
        };
        let input = Input { runs: [7, 8].map(run).to_vec(), ..Input::default() };
        html.render(&report.build(&input), Options::plain(100)).unwrap().into_text().unwrap()
    };
    let reports = || REPORTS.iter().filter(|report| ["html", "summary"].contains(&report.name()));
    let of = |tests: Vec<TestResult>| {
        let found = reports()
            .filter_map(|report| Some((report.name(), no_number(&page(*report, &tests))?)));
        found
            .map(|(report, text)| format!("{report}: {name} of {value:e}: {text}"))
            .collect::<Vec<_>>()
    };
    with_number(name, value).into_iter().flat_map(of).collect()
}

/// A report of a text that no cell of a workbook holds.
#[test]
fn a_text_longer_than_a_cell_is_cut_in_a_workbook() {
    let long = "x".repeat(40_000);
    let document =
        REPORTS.iter().find(|report| report.name() == "datasheet").unwrap().build(&runs(&long));
    let xlsx = FORMATS.iter().find(|format| format.name() == "xlsx").unwrap();
    check("datasheet", *xlsx, &document);
}

fn check(place: &str, format: &dyn Format, document: &Document) {
    match format
        .render(document, Options::plain(100))
        .unwrap_or_else(|error| panic!("{place}: {error}"))
    {
        Rendered::Bytes(book) => check_workbook(place, book),
        Rendered::Text(text) => {
            assert_harmless(place, &text);
            match format.name() {
                "text" => {
                    let colored = format
                        .render(document, Options { color: Color::True, ..Options::plain(100) });
                    assert_harmless(place, &without_colors(&colored.unwrap().into_text().unwrap()));
                }
                "markdown" => check_markdown(place, &text),
                "csv" => check_csv(place, &text),
                "html" => check_page(place, &text),
                "json" => {
                    let (read, title) = (
                        serde_json::from_str::<Value>(&text).unwrap(),
                        Value::from(&*document.title),
                    );
                    match &document.data {
                        Some(data) => assert_eq!(&read, data, "{place}"),
                        None => assert_eq!(read["title"], title, "{place}"),
                    }
                }
                other => panic!("no check of {other}"),
            }
        }
    }
}

/// No character acts on a terminal.
#[track_caller]
fn assert_harmless(place: &str, text: &str) {
    // The lines are looked through only where the whole is not as it should be: there are many.
    if visible(text) != text.replace('\n', " ")
        && let Some(line) = text.lines().find(|line| line.chars().any(acts))
    {
        panic!("{place}: {line:?}");
    }
    let separators = [
        '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}', '\u{202e}', '\u{2066}', '\u{1b}',
        '\u{9b}',
    ];
    assert!(!separators.iter().any(|separator| text.contains(*separator)), "{place}");
}

fn without_colors(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |plain, part| {
        let (code, rest) = part.split_once('m').unwrap();
        assert!(
            code.chars().all(|character| character.is_ascii_digit() || character == ';'),
            "{code:?}"
        );
        plain + rest
    })
}

/// Start tags with their attributes, as an HTML parser of others finds them.
#[derive(Default)]
struct Tags(RefCell<Vec<Tag>>);

/// A name, and the attributes with their values.
type Tag = (String, Vec<(String, String)>);

impl TokenSink for Tags {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(tag) = token else { return TokenSinkResult::Continue };
        if tag.kind == TagKind::EndTag {
            return TokenSinkResult::Continue;
        }
        let attributes = tag
            .attrs
            .iter()
            .map(|attribute| (attribute.name.local.to_string(), attribute.value.to_string()));
        self.0.borrow_mut().push((tag.name.to_string(), attributes.collect()));
        match &*tag.name {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" => TokenSinkResult::RawData(RawKind::Rawtext),
            "title" => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        }
    }
}

fn tags(html: &str) -> Vec<Tag> {
    let queue = BufferQueue::default();
    queue.push_back(html.into());
    let tokenizer = Tokenizer::new(Tags::default(), Default::default());
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink.0.take()
}

/// As GitHub shows it, with raw HTML let through and addresses linked: nothing but our own
/// headings, lists and tables.
fn check_markdown(place: &str, markdown: &str) {
    let mut options = comrak::Options::default();
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.math_dollars = true;
    options.render.r#unsafe = true;
    let html = comrak::markdown_to_html(markdown, &options);
    let known = [
        "h1", "h2", "h3", "p", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td",
        "pre", "code",
    ];
    for (tag, attributes) in tags(&html) {
        let is_aligned = |(name, _): &(String, String)| name == "align";
        assert!(
            known.contains(&tag.as_str()) && attributes.iter().all(is_aligned),
            "{place}: {tag} {attributes:?}"
        );
    }
    let marked = |from: &str| markdown.lines().filter(|line| line.starts_with(from)).count();
    assert_eq!(
        (html.matches("<h1>").count(), html.matches("<h2>").count()),
        (1, marked("## ")),
        "{place}"
    );
    assert!(
        html.contains("<h1>") && !html.contains("<li><h") && !html.contains("<li>\n<ul"),
        "{place}"
    );
}

/// No field is a formula for a spreadsheet.
fn check_csv(place: &str, text: &str) {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).has_headers(false).from_reader(text.as_bytes());
    for field in reader
        .records()
        .flat_map(|record| record.unwrap().iter().map(String::from).collect::<Vec<_>>())
    {
        let begins =
            field.trim_start().starts_with(['=', '+', '-', '@']) || field.starts_with(['\t', '\r']);
        let is_plain =
            field.len() == 1 || field.replace([',', '%', ' '], "").parse::<f64>().is_ok();
        assert!(!begins || is_plain, "{place}: {field:?}");
    }
}

/// Elements, attributes and addresses of ours only, and the one script is ours.
fn check_page(place: &str, page: &str) {
    let elements = "a article body circle code dd defs details div dl dt figcaption figure footer \
                    g h1 h2 h3 head header html i input label li line main meta nav ol p path pre rect \
                    script section span strong style summary svg table tbody td text th thead title tr ul \
                    use";
    let attributes = "aria-hidden aria-label charset class colspan content cx cy d fill height \
                      http-equiv id lang name open preserveAspectRatio r role rx scope stroke \
                      stroke-width tabindex title viewBox width x x1 x2 y y1 y2";
    let (elements, attributes): (BTreeSet<&str>, BTreeSet<&str>) =
        (elements.split_whitespace().collect(), attributes.split_whitespace().collect());
    let tags = tags(page);
    for (tag, found) in &tags {
        assert!(elements.contains(tag.as_str()), "{place}: <{tag}>");
        for (name, value) in found {
            let fits = match name.as_str() {
                // Sections of the page, and the signs that are drawn in it.
                "href" => {
                    value.starts_with('#')
                        && value[1..]
                            .bytes()
                            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                }
                // The switch of a table's columns, which sends nothing.
                "type" => tag == "input" && value == "checkbox",
                other => attributes.iter().any(|known| known.eq_ignore_ascii_case(other)),
            };
            assert!(fits, "{place}: <{tag} {name}={value:?}>");
        }
    }
    assert_eq!(tags.iter().filter(|(tag, _)| tag == "script").count(), 1, "{place}");
}

/// Well-formed, of permitted characters only; gives its elements with their text.
fn check_xml(place: &str, xml: &str) -> Vec<(String, String)> {
    let forbidden = |character: &char| {
        !matches!(
            character,
            '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..
        )
    };
    assert_eq!(xml.chars().find(forbidden), None, "{place}");
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut elements: Vec<(String, String)> = Vec::new();
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{place}: {error}")) {
            Event::Start(start) | Event::Empty(start) => {
                elements.push((
                    String::from_utf8_lossy(start.name().as_ref()).into_owned(),
                    String::new(),
                ));
                for attribute in start.attributes() {
                    let attribute = attribute.unwrap_or_else(|error| panic!("{place}: {error}"));
                    let value = attribute
                        .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                        .unwrap_or_else(|error| panic!("{place}: {error}"));
                    assert_eq!(value.chars().find(forbidden), None, "{place}");
                }
            }
            Event::Text(text) => {
                if let Some((_, content)) = elements.last_mut() {
                    content.push_str(&text.decode().unwrap());
                }
            }
            Event::Eof => return elements,
            _ => {}
        }
    }
}

/// Every part is well-formed; there is no formula in a cell, no name of a chart is one, no link
/// leads out.
fn check_workbook(place: &str, book: Vec<u8>) {
    let mut archive = zip::ZipArchive::new(Cursor::new(book)).unwrap();
    for at in 0..archive.len() {
        let mut part = archive.by_index(at).unwrap();
        let (name, mut xml) = (part.name().unwrap().into_owned(), String::new());
        part.read_to_string(&mut xml).unwrap();
        let elements = check_xml(&format!("{place}: {name}"), &xml);
        assert!(!xml.contains("TargetMode=\"External\""), "{place}: {name}");
        let count = |wanted: &str| elements.iter().filter(|(element, _)| element == wanted).count();
        assert_eq!(count("f"), 0, "{place}: {name} has a formula");
        assert_eq!(
            count("c:f"),
            count("c:xVal") + count("c:yVal"),
            "{place}: {name} takes a name for a reference"
        );
        if name.ends_with("sharedStrings.xml") {
            assert!(elements.iter().all(|(_, text)| !text.chars().any(acts)), "{place}: {name}");
        }
    }
}

fn assert_quiet(place: &str, done: &Done) {
    assert_harmless(place, &done.stdout);
    assert_harmless(place, &done.stderr);
}

/// The results file of a run with this text everywhere, and what the commands say of it.
#[test]
fn no_text_of_a_results_file_acts_on_the_terminal() {
    for text in
        ["\u{1b}[2J\u{9b}\u{7f}\u{202e}\u{200b}", "a\r\nb\u{85}c\u{2028}d\t", "=1+1|<b>\u{feff}"]
    {
        let desk = Desk::new();
        let mut store = Store::open(&desk.path("results.db")).unwrap();
        for _ in 0..2 {
            let id = store.begin_run(&run(text)).unwrap();
            tests(text)
                .iter()
                .filter_map(Test::measured)
                .for_each(|test| store.save_test(id, test).unwrap());
            store.finish_run(id, RunStatus::Finished).unwrap();
        }
        drop(store);
        for line in [
            "results list",
            "results list --format json",
            "results show 1",
            "results export 1",
            "report kpm 1",
            "compare 1 2",
            "compare 1 2 --format json",
            "report kpm 1 --color always",
            "report summary 1 2",
            "results delete 1 --yes",
        ] {
            let done = desk.run(line);
            assert_harmless(&format!("{line} {text:?}"), &without_colors(&done.stdout));
            assert_harmless(line, &done.stderr);
        }
        let shown = desk.run("results show 2 --format json").ok().json();
        assert_eq!(shown["labels"][text], text, "JSON is exact");
    }
}

/// Error lines with arguments from outside: one line, short, and nothing in it acts.
#[test]
fn no_argument_acts_or_floods_in_an_error_line() {
    let long = "x y'\u{1b}z".repeat(2_000);
    let desk = Desk::new();
    let acting =
        "\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}1m\u{7f}a\r\nbc\u{85}d\u{2028}\u{202e}\u{2066}\u{200b}";
    for text in [acting, &long] {
        for before in [
            "run --workload",
            "run --suite",
            "run --size",
            "run --jobs",
            "run --label",
            "run --profile",
            "run --duration",
            "run --format",
            "run --ops",
            "run --drive",
            "run --engine-x",
            "run",
            "show workload",
            "show suite",
            "list",
            "list workloads --catalog",
            "list workloads --format",
            "report",
            "report kpm",
            "report kpm --results",
            "report kpm --price",
            "compare 1",
            "compare 1 2 --fail-below",
            "results import",
            "results show",
            "results delete",
            "check",
            "load",
            "clean",
            "binaries fetch postgres --version",
            "export-sql",
            "completions",
            "",
        ] {
            let mut command = desk.command(before);
            command.arg(text);
            let done = finished(command, before);
            let place = format!("{before} {:?}", &text[..text.len().min(20)]);
            assert_quiet(&place, &done);
            assert!(done.code != Some(0) && done.stderr.lines().count() == 1, "{place}: {done:?}");
            assert!(
                done.stderr.chars().count() < 600,
                "{place}: {} {}",
                done.stderr.len(),
                done.stderr
            );
        }
    }
}

/// A catalog of another's: what it says is shown, and so are its mistakes.
#[test]
fn no_text_of_a_catalog_acts_on_the_terminal() {
    for text in ["\u{1b}[2J\u{9b}\u{7f}\u{202e}", "a\r\nb\u{85}c\u{2028}d; drop table x;"] {
        let desk = Desk::new();
        catalog_in(&desk.path("mine"), text);
        // The fixture's engines would hide the counters that the embedded catalog names.
        for own in ["engines", "probes"] {
            std::fs::remove_dir_all(desk.path("mine").join(own)).unwrap();
        }
        for line in [
            "list workloads",
            "list suites",
            "list workloads --format json",
            "show workload MINE-REGION",
            "show suite OURS",
            "show workload NOPE",
            // Its report is among those of every format.
            "check",
        ] {
            let done = desk.run(&format!("{line} --catalog {}", desk.path("mine").display()));
            assert_quiet(&format!("{line} {text:?}"), &done);
        }
        let shown = desk
            .run(&format!("show workload MINE-REGION --catalog {}", desk.path("mine").display()))
            .ok()
            .stdout;
        let comment = shown.lines().find(|line| line.contains("count the rows")).unwrap();
        assert!(comment.starts_with("-- ") && comment.contains(&visible(text)), "{comment}");
        for (from, to) in [
            ("id = \"MINE-REGION\"", "id = \"MINE\u{9b}\u{202e}\""),
            ("title =", "ti\\u0041 ="),
            ("value = \"ops\"", "value = \"o\u{202e}\""),
        ] {
            let path = desk.path("mine/workloads/mine/group.toml");
            let whole = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, whole.replace(from, to)).unwrap();
            let done =
                desk.run(&format!("list workloads --catalog {}", desk.path("mine").display()));
            assert_quiet(from, &done);
            assert_eq!((done.code, done.stderr.lines().count()), (Some(2), 1), "{from}: {done:?}");
            std::fs::write(&path, whole).unwrap();
        }
    }
}
