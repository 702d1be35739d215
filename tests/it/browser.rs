//! The pages in a headless browser without any network: drawings, sorting, phones, paper,
//! keyboards, and what the eye needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use dbdyno::report::{FORMATS, Input, Language, Options, REPORTS, Report, RunTests};
use serde_json::{Value, json};

use crate::chromium::{Browser, DESKTOP, LEVELS_A_AND_AA, OF_COLORS, PHONE, SHOW_ALL, View};
use crate::fixture;
use crate::support::axe;

/// The fixture's run, and one of another platform with a name that is markup.
fn runs() -> Vec<RunTests> {
    let mut other = fixture::run();
    (other.id, other.name) = (8, Some("<b>other</b>".into()));
    other.disclosure.set("hardware", "cpu_model", "Another CPU");
    [fixture::run(), other]
        .map(|run| RunTests { run, tests: fixture::as_tests(fixture::tests()) })
        .into()
}

fn report(name: &str) -> &'static dyn Report {
    *REPORTS.iter().find(|report| report.name() == name).unwrap()
}

/// A page of the report of so many runs.
fn page_of(dir: &Path, kind: &str, count: usize, language: Language) -> PathBuf {
    // Several tests look at the same pages: each is made once.
    static TEXTS: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let name = format!("{kind}-{count}-{}.html", language.tag());
    let path = dir.join(&name);
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let text = texts.entry(name).or_insert_with(|| text_of(kind, count, language));
    std::fs::write(&path, text.as_bytes()).unwrap();
    path
}

fn text_of(kind: &str, count: usize, language: Language) -> String {
    let mut runs: Vec<RunTests> = runs().into_iter().cycle().take(count).collect();
    for (number, data) in runs.iter_mut().enumerate().skip(2) {
        (data.run.id, data.run.name) = (10 + number as i64, Some(format!("platform {number}")));
    }
    let groups = crate::support::catalog().groups().to_vec();
    let reference = (count == 1).then(|| self::runs().remove(1));
    let command = "dbdyno report html 7".into();
    let input = Input { runs, groups, language, reference, command, ..Input::default() };
    let html = FORMATS.iter().find(|format| format.name() == "html").unwrap();
    html.render(&report(kind).build(&input), Options::default()).unwrap().into_text().unwrap()
}

fn page(dir: &Path, kind: &str, count: usize) -> PathBuf {
    page_of(dir, kind, count, Language::English)
}

/// The pages that are passed on, and one without a design of its own.
const PAGES: [(&str, usize); 6] =
    [("html", 1), ("html", 2), ("datasheet", 1), ("compare", 2), ("summary", 1), ("ramp", 2)];

/// Elements that reach over the right edge of the page and do not scroll in a box of their own.
const OVERFLOWING: &str = "[...document.querySelectorAll('body *')]\
    .filter(element => !element.closest('.wide, svg, nav, .sr') || element.matches('.wide, nav'))\
    .filter(element => element.getBoundingClientRect().right > innerWidth + 1)\
    .map(element => element.tagName + '.' + element.className)";
const OPEN_ALL: &str = "document.querySelectorAll('details').forEach(part => part.open = true)";

#[test]
fn pages_are_drawn_without_a_word_on_the_console_and_without_a_request() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    for (kind, count) in PAGES {
        let page = page(dir.path(), kind, count);
        browser.open(&page, DESKTOP);
        assert!(browser.complaints().is_empty(), "{kind}: {:#?}", browser.complaints());
        assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
        assert_eq!(
            browser.count("document.querySelectorAll('b').length"),
            0,
            "names are text, not markup"
        );
        let drawn =
            "document.querySelectorAll('svg path.curve, svg path.whisker, svg line.equal').length";
        assert!(browser.count(drawn) >= 2, "{kind}");
        let lost = "[...document.querySelectorAll('use')].filter(use => \
                    !document.querySelector(use.getAttribute('href'))).length";
        assert_eq!(browser.count(lost), 0, "{kind}: a sign that is not there");
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(!text.contains(">NaN") && !text.contains("\"NaN"), "{kind}");
    }
}

#[test]
fn the_page_of_a_run_has_the_answer_its_cards_the_seconds_and_the_reference() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    browser.open(&page(dir.path(), "html", 1), DESKTOP);
    let text = |what: &str| format!("document.querySelector('{what}').textContent");
    let answer = browser.evaluate(&text(".answer"));
    assert!(answer.as_str().unwrap().contains("MB/s SRV-SCAN at 2 jobs"), "{answer}");
    // Its throughput is a lower bound: that of four jobs is better and not valid.
    assert!(!answer.as_str().unwrap().contains("SRV-QUERY1"), "{answer}");
    let doubts = "2 of 12 tests are not valid, 1 of them because of what others did";
    assert!(answer.as_str().unwrap().contains(doubts), "{answer}");
    let order = "[...document.querySelectorAll('h2')].map(head => head.textContent).join('|')";
    let order = browser.evaluate(order);
    let expected = "Key performance metrics|Platform fingerprint|How it scales|How long commits \
                    took|Second by second|Every test|Platform|Method";
    assert_eq!(order, json!(expected));
    assert!(browser.count("document.querySelectorAll('.card').length") >= 4);
    assert!(browser.count("document.querySelectorAll('.timeline path.area').length") >= 3);
    assert!(browser.count("document.querySelectorAll('.panels svg[role=img]').length") >= 3);
    // The invalid test is told in the strip and not marked on any curve.
    assert_eq!(browser.count("document.querySelectorAll('.strip .tick.invalid').length"), 1);
    assert_eq!(
        browser.count("document.querySelectorAll('.ratios tbody tr').length > 3 ? 1 : 0"),
        1
    );
}

#[test]
fn a_table_is_sorted_by_the_head_of_a_column_also_by_the_keyboard() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    browser.open(&page(dir.path(), "kpm", 1), DESKTOP);
    let head = "[...document.querySelectorAll('table.sortable')].find(table => \
                table.tBodies[0].rows.length > 3)";
    let column = format!(
        "[...{head}.tHead.rows[0].cells].findIndex(cell => cell.textContent.startsWith('Jobs'))"
    );
    let shown =
        format!("[...{head}.tBodies[0].rows].map(row => Number(row.cells[{column}].textContent))");
    browser
        .evaluate(&format!("{head}.tHead.rows[0].cells[{column}].querySelector('button').focus()"));
    let key = |kind: &str| {
        json!({
            "type": kind,
            "key": "Enter",
            "code": "Enter",
            "windowsVirtualKeyCode": 13,
            "text": "\r",
        })
    };
    for (way, is_sorted) in [("ascending", "a <= b"), ("descending", "a >= b")] {
        browser.call("Input.dispatchKeyEvent", key("keyDown"));
        browser.call("Input.dispatchKeyEvent", key("keyUp"));
        let sorted =
            format!("{shown}.every((b, at, all) => at === 0 || ((a) => {is_sorted})(all[at - 1]))");
        assert_eq!(browser.evaluate(&sorted), json!(true), "{way}");
        let said = format!("{head}.tHead.rows[0].cells[{column}].getAttribute('aria-sort')");
        assert_eq!(browser.evaluate(&said), json!(way));
    }
}

#[test]
fn on_a_phone_only_boxes_scroll() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    for (kind, count) in PAGES {
        browser.open(&page(dir.path(), kind, count), PHONE);
        browser.evaluate(SHOW_ALL);
        browser.evaluate(OPEN_ALL);
        assert_eq!(browser.evaluate(OVERFLOWING), json!([]), "{kind}");
        assert_eq!(
            browser.count("document.documentElement.scrollWidth"),
            i64::from(PHONE.width),
            "{kind}"
        );
    }
}

/// Pages of a PDF, by its own account of them.
fn pages_of(pdf: &Value) -> usize {
    let encoded = pdf["data"].as_str().unwrap();
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let bytes: Vec<u8> = encoded
        .bytes()
        .filter(|byte| *byte != b'=')
        .collect::<Vec<_>>()
        .chunks(4)
        .flat_map(|four| {
            let bits = (0..4)
                .fold(0, |bits, at| (bits << 6) | four.get(at).map_or(0, |byte| value(*byte)));
            [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]
        })
        .collect();
    let text = String::from_utf8_lossy(&bytes);
    text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count()
}

#[test]
fn the_summary_is_one_sheet_and_nothing_on_it_is_cut() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    for (count, language) in [
        (1, Language::English),
        (1, Language::German),
        (2, Language::German),
        (12, Language::German),
    ] {
        browser.open(&page_of(dir.path(), "summary", count, language), DESKTOP);
        let pdf = browser
            .call("Page.printToPDF", json!({"preferCSSPageSize": true, "printBackground": true}));
        assert_eq!(pages_of(&pdf), 1, "{count} {language:?}");
        browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
        let cut = "(() => { const sheet = document.querySelector('.sheet'); return \
                   sheet.scrollHeight - sheet.clientHeight; })()";
        assert!(browser.count(cut) <= 0, "{count} {language:?}");
    }
}

#[test]
fn on_paper_nothing_is_cut_and_drawings_are_there() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    // The width of an A4 sheet on its side without the margins, at 96 dots per inch.
    let paper = View { width: 1032, height: 700, ..DESKTOP };
    for (kind, count) in [("html", 1), ("compare", 2)] {
        browser.open(&page(dir.path(), kind, count), View { scheme: "dark", ..paper });
        browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
        let cut = "[...document.querySelectorAll('table, svg')].filter(part => \
                   !part.closest('details:not([open])')).filter(part => \
                   part.getBoundingClientRect().right > innerWidth + 1).map(part => \
                   part.closest('section')?.querySelector('h2').textContent)";
        assert_eq!(browser.evaluate(cut), json!([]), "{kind}");
        assert_eq!(
            browser.evaluate("getComputedStyle(document.body).color"),
            json!("rgb(0, 0, 0)")
        );
        let pdf = browser.call("Page.printToPDF", json!({"preferCSSPageSize": true}));
        assert!(pages_of(&pdf) >= 2, "{kind}");
    }
}

#[test]
fn a_page_can_be_read_without_eyes_and_without_scripts() {
    let dir = crate::support::directory();
    let page = page(dir.path(), "html", 2);
    let mut browser = Browser::start();
    browser.open(&page, DESKTOP);
    assert_eq!(browser.evaluate("document.documentElement.lang"), json!("en"));
    let wrong = [
        ("headings", "document.querySelectorAll('h1').length - 1"),
        ("heads of columns", "document.querySelectorAll('th:not([scope])').length"),
        (
            "drawings without words",
            "document.querySelectorAll('svg:not(svg \
             svg):not([aria-hidden=true]):not([aria-label])').length",
        ),
        (
            "charts without data",
            "document.querySelectorAll('figure.chart:not(:has(details table tbody tr))').length",
        ),
        (
            "boxes out of reach",
            "document.querySelectorAll('.wide:not([tabindex]), .wide:not([aria-label])').length",
        ),
    ];
    for (what, count) in wrong {
        assert_eq!(browser.count(count), 0, "{what}");
    }
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&page, DESKTOP);
    assert!(browser.count("document.querySelectorAll('details table tbody tr').length") > 20);
    assert!(browser.count("document.querySelectorAll('svg.plot path.curve').length") > 2);
}

/// A page that was judged in light is judged in dark by its colors only.
#[test]
fn a_dark_page_differs_in_its_colors_only() {
    let style = include_str!("../../crates/dbdyno-report/assets/report.css");
    let (_, dark) = style.split_once("@media (prefers-color-scheme: dark) {").unwrap();
    let (dark, behind) = dark.split_once("\n}").unwrap();
    let parts = dark.split(['{', '}', ';']).map(str::trim);
    let declared: Vec<&str> = parts.filter(|part| !part.is_empty() && *part != ":root").collect();
    let is_color = |one: &&str| one.starts_with("--") && one.contains(": #");
    assert!(declared.len() > 20 && declared.iter().all(is_color), "{declared:#?}");
    for text in [
        behind,
        include_str!("../../assets/site.css"),
        include_str!("../../assets/site.js"),
        include_str!("../../assets/platforms.js"),
        include_str!("../../crates/dbdyno-report/assets/report.js"),
    ] {
        assert!(!text.contains("prefers-color-scheme"), "{text}");
    }
}

/// Level A and AA of the guidelines.
#[test]
fn the_pages_meet_the_guidelines_in_light_and_dark() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    let (checker, mut found) = (axe(), Vec::new());
    for (kind, count, scheme, rules) in [
        ("html", 1, "light", LEVELS_A_AND_AA),
        ("html", 1, "dark", OF_COLORS),
        ("compare", 2, "dark", LEVELS_A_AND_AA),
        ("summary", 1, "light", LEVELS_A_AND_AA),
    ] {
        browser.open(&page(dir.path(), kind, count), View { scheme, ..DESKTOP });
        let violations = browser.violations(&checker, rules).into_iter();
        found.extend(violations.map(|rule| format!("{kind} {count} {scheme}: {rule}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}
