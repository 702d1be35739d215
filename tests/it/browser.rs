//! The page in a headless browser without any network: charts, legends, phones, paper, and what the eye needs.

use std::path::{Path, PathBuf};

use dbdyno::report::{FORMATS, Input, Options, REPORTS, RunTests};
use serde_json::json;

use crate::chromium::{Browser, DESKTOP, PHONE, View};
use crate::fixture;

/// The page of two runs: with heatmaps, ramps of several curves, and hundreds of figures.
fn page(dir: &Path, kind: &str) -> PathBuf {
    let mut other = fixture::run();
    (other.id, other.name) = (8, Some("<b>other</b>".into()));
    other.disclosure.set("hardware", "cpu_model", "Another CPU");
    let runs = [fixture::run(), other].map(|run| RunTests { run, tests: fixture::as_tests(fixture::tests()) });
    let input = Input { runs: runs.to_vec(), command: "dbdyno report html 7 8".into(), ..Input::default() };
    let report = REPORTS.iter().find(|report| report.name() == kind).unwrap();
    let html = FORMATS.iter().find(|format| format.name() == "html").unwrap();
    let text = html.render(&report.build(&input), Options::default()).unwrap().into_text().unwrap();
    let path = dir.join(format!("{kind}.html"));
    std::fs::write(&path, text).unwrap();
    path
}

const CHARTS: &str = "document.querySelectorAll('figure.chart').length";
/// Charts without a drawing that has a line in it.
const EMPTY: &str = "[...document.querySelectorAll('figure.chart')]\
    .filter(figure => figure.querySelectorAll('.plot svg path[stroke]').length < 3).length";
/// Elements that reach over the right edge of the page and do not scroll in a box of their own.
const OVERFLOWING: &str = "[...document.querySelectorAll('body *')]\
    .filter(element => !element.closest('.wide, svg, .plot') || element.matches('.wide'))\
    .filter(element => element.getBoundingClientRect().right > innerWidth + 1)\
    .map(element => element.tagName + '.' + element.className)";

#[test]
fn every_chart_is_drawn_without_a_word_on_the_console_and_without_a_request() {
    let dir = crate::support::directory();
    let page = page(dir.path(), "html");
    assert!(std::fs::metadata(&page).unwrap().len() < 6_000_000);
    let mut browser = Browser::start();
    for scheme in ["light", "dark"] {
        browser.open(&page, View { scheme, ..DESKTOP });
        assert!(browser.count(CHARTS) >= 8);
        assert_eq!(browser.count(EMPTY), 0, "{scheme}");
        assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
        assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
    }
    assert_eq!(browser.count("document.querySelectorAll('b').length"), 0, "names are text, not markup");
}

#[test]
fn a_button_of_the_legend_hides_its_curve_and_shows_it_again() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    browser.open(&page(dir.path(), "ramp"), DESKTOP);
    let curves = "echarts.getInstanceByDom(document.querySelector('.plot')).getOption().series.length";
    let pressed = "document.querySelector('.legend button').getAttribute('aria-pressed')";
    let all = browser.count(curves);
    assert!(all >= 2);
    for (shown, is_pressed) in [(all - 1, "false"), (all, "true")] {
        browser.evaluate("document.querySelector('.legend button').click()");
        assert_eq!((browser.count(curves), browser.evaluate(pressed)), (shown, json!(is_pressed)));
    }
    let buttons = browser.count("document.querySelector('.legend').querySelectorAll('button').length");
    assert_eq!(buttons, all, "every curve has a button");
}

#[test]
fn the_pointer_over_a_chart_shows_the_figures_there() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    browser.open(&page(dir.path(), "ramp"), DESKTOP);
    let place = "(() => { const plot = document.querySelector('.plot'); plot.scrollIntoView({block: 'center'}); \
                 const box = plot.getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()";
    let place = browser.evaluate(place);
    for shift in [0.0, 2.0] {
        let x = place[0].as_f64().unwrap() + shift;
        browser.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": place[1]}));
    }
    let shown = "new Promise(done => { const look = () => { const box = document.querySelector('.reading'); \
                 box ? done(box.textContent) : requestAnimationFrame(look); }; look(); })";
    let text = browser.evaluate(shown).as_str().unwrap().to_string();
    assert!(text.starts_with("Jobs 2") && text.contains("qps") && text.contains("service time"), "{text}");
}

#[test]
fn on_a_phone_only_boxes_scroll() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    for kind in ["html", "test"] {
        browser.open(&page(dir.path(), kind), PHONE);
        assert_eq!(browser.count("document.documentElement.scrollWidth"), i64::from(PHONE.width), "{kind}");
        assert_eq!(browser.evaluate(OVERFLOWING), json!([]), "{kind}");
    }
}

#[test]
fn on_paper_nothing_is_cut_and_charts_are_there() {
    let dir = crate::support::directory();
    let mut browser = Browser::start();
    // The width of an A4 sheet on its side without the margins, at 96 dots per inch.
    let paper = View { width: 1032, height: 700, ..DESKTOP };
    browser.open(&page(dir.path(), "html"), View { scheme: "dark", ..paper });
    browser.call("Emulation.setEmulatedMedia", json!({"media": "print"}));
    let cut = "[...document.querySelectorAll('table')].filter(table => !table.closest('details'))\
               .filter(table => table.getBoundingClientRect().right > innerWidth + 1)\
               .map(table => table.closest('section').querySelector('h2').textContent)";
    assert_eq!(browser.evaluate(cut), json!([]));
    assert_eq!(browser.evaluate("getComputedStyle(document.body).color"), json!("rgb(0, 0, 0)"));
    let narrow =
        "[...document.querySelectorAll('.plot svg')].filter(svg => svg.getBoundingClientRect().width < 300).length";
    assert_eq!((browser.count(EMPTY), browser.count(narrow)), (0, 0));
    let pdf = browser.call("Page.printToPDF", json!({"preferCSSPageSize": true}));
    assert!(pdf["data"].as_str().unwrap().starts_with("JVBER"), "a PDF, in base64");
}

#[test]
fn a_page_can_be_read_without_eyes_and_without_scripts() {
    let dir = crate::support::directory();
    let page = page(dir.path(), "html");
    let mut browser = Browser::start();
    browser.open(&page, DESKTOP);
    assert_eq!(browser.evaluate("document.documentElement.lang"), json!("en"));
    let wrong = [
        ("headings", "document.querySelectorAll('h1').length - 1"),
        ("heads of columns", "document.querySelectorAll('th:not([scope])').length"),
        ("charts without words", "document.querySelectorAll('.plot:not([role=img]), .plot:not([aria-label])').length"),
        ("charts without data", "document.querySelectorAll('figure.chart:not(:has(details table tbody tr))').length"),
        ("boxes out of reach", "document.querySelectorAll('.wide:not([tabindex]), .wide:not([aria-label])').length"),
    ];
    for (what, count) in wrong {
        assert_eq!(browser.count(count), 0, "{what}");
    }
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open(&page, DESKTOP);
    assert!(browser.count("document.querySelectorAll('details table tbody tr').length") > 20);
    assert_eq!(browser.count("document.querySelectorAll('.plot svg').length"), 0);
}
