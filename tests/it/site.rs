//! The results as a static site: every link leads to a file, nothing but its own directory is
//! written, and a browser opens it without a server and without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::chromium::{Browser, DESKTOP, LEVELS_A_AND_AA, OF_COLORS, View};
use crate::publications;
use crate::serve::{RUNS, fill};
use crate::support::{Desk, axe};

const PHONE: View = View { width: 400, height: 800, is_mobile: true, scheme: "light" };
/// Platforms of one study of the reference data, in the results file that `import` fills.
const STUDY: [&str; 3] = ["dl580-bm", "dl580-esxi", "dl380-bm"];

/// Every file below a directory by its name there.
pub fn files(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(directory.join(&below)).unwrap() {
            let entry = entry.unwrap();
            let name = below.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => open.push(name),
                false => {
                    let content = fs::read_to_string(entry.path()).unwrap();
                    found.insert(name.to_str().unwrap().to_string(), content);
                }
            }
        }
    }
    found
}

/// The name of the file that a link of a page leads to, and the place in it.
fn target(page: &str, link: &str) -> (String, Option<String>) {
    let (file, place) = match link.split_once('#') {
        Some((file, place)) => (file, Some(place.to_string())),
        None => (link, None),
    };
    if file.is_empty() {
        return (page.to_string(), place);
    }
    let mut path = PathBuf::from(page);
    path.pop();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "{page}: {link} leads out of the site"),
            Component::Normal(name) => path.push(name),
            _ => panic!("{page}: {link} is not relative"),
        }
    }
    (path.to_str().unwrap().to_string(), place)
}

/// Targets of the attributes of a page's elements.
fn links(page: &str) -> Vec<&str> {
    let of = |name: &str| {
        let rest = page.split(name).skip(1);
        rest.filter_map(|rest| rest.split('"').next()).collect::<Vec<_>>()
    };
    [" href=\"", " src=\"", " action=\""].into_iter().flat_map(of).collect()
}

/// Places of a page that a link can lead to.
fn places(page: &str) -> BTreeSet<&str> {
    page.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Checks that every link of every page leads to a file and a place in it, and that every page is
/// reached from the first one.
fn crawl(files: &BTreeMap<String, String>) {
    let (mut seen, mut places_of) = (BTreeSet::new(), BTreeMap::new());
    let mut open = vec!["index.html".to_string()];
    while let Some(page) = open.pop() {
        if !seen.insert(page.clone()) || !page.ends_with(".html") {
            continue;
        }
        for link in links(&files[&page]) {
            assert!(!link.contains(':'), "{page}: {link} leaves the site");
            let (file, place) = target(&page, link);
            let content = files.get(&file).unwrap_or_else(|| panic!("{page}: no file {file}"));
            if let Some(place) = place.filter(|place| !place.is_empty()) {
                let there = places_of.entry(file.clone()).or_insert_with(|| places(content));
                assert!(there.contains(place.as_str()), "{page}: no place {place} in {file}");
            }
            open.push(file);
        }
    }
    let unseen: Vec<&String> = files.keys().filter(|name| !seen.contains(*name)).collect();
    assert_eq!(unseen, [".dbdyno-site"], "every other file is reached from the first page");
}

/// The results of a study, imported.
fn import(desk: &Desk) {
    let data = |name: &str| format!("{}/data/reference/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let (results, platforms) = (data("published-results"), data("platforms"));
    desk.run(&format!("runs import --csv {results} --platforms {platforms}")).ok();
}

/// A desk with runs of ours and those of a study behind them.
fn with_a_study() -> Desk {
    static WRITTEN: OnceLock<Desk> = OnceLock::new();
    let written = WRITTEN.get_or_init(|| {
        let desk = Desk::new();
        fill(&desk.path("results.db"));
        import(&desk);
        assert!(desk.runs().len() > RUNS as usize);
        desk
    });
    written.copy()
}

#[test]
fn every_link_leads_to_a_file_and_every_file_is_reached() {
    let desk = with_a_study();
    let out = desk.path("site");
    // Runs before and after a setting was changed; each further one has the same pages.
    let line = format!("site {} 1 2 3 10 {} --name 2=<b>&x --title Lab", out.display(), STUDY[0]);
    desk.run(&line).ok();
    let written = files(&out);
    crawl(&written);
    for (name, content) in written.iter().filter(|(name, _)| name.ends_with(".html")) {
        assert!(!content.contains(" style=") && !content.contains("<style"), "{name}");
        assert!(!content.contains("<b>&x") && !content.contains("http://"), "{name}");
        assert_eq!(content.matches("<script").count(), content.matches("<script src=").count());
        assert!(content.contains("default-src 'none'"), "{name}");
    }
    let index = &written["index.html"];
    // Letters are of runs without a name: the third run is B.
    let parts = ["&lt;b&gt;&amp;x", "dl580-bm", ">Lab<", "href=\"run/1-12.html\"", ">A</a>"];
    for part in parts.into_iter().chain(["<a href=\"run/3.html\">B</a>"]) {
        assert!(index.contains(part), "no {part}");
    }
    assert!(!written.values().any(|text| text.contains("night 1")), "names are not published");
    assert!(written["histories.html"].contains("href=\"history/SRV-QUERY1-"), "histories");
    assert!(written.contains_key("compare/1-2.html") && written.contains_key("catalogue.html"));

    // The same results make the same bytes, and nothing is written again.
    let when = |name: &str| fs::metadata(out.join(name)).unwrap().modified().unwrap();
    let before = when("run/1.html");
    desk.run(&line).ok();
    assert_eq!(files(&out), written);
    assert_eq!(when("run/1.html"), before);
    // In another directory, in German: the same pages.
    let german = desk.path("german");
    desk.run(&format!(
        "{} --language de",
        line.replace(out.to_str().unwrap(), german.to_str().unwrap())
    ))
    .ok();
    let german = files(&german);
    crawl(&german);
    assert!(german["index.html"].contains("<h1>Plattformen nebeneinander</h1>"));
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&german), names(&written));
}

#[test]
fn what_is_not_ours_is_neither_written_over_nor_removed() {
    let desk = Desk::new();
    fill(&desk.path("results.db"));
    let out = desk.path("site");
    let site = |rest: &str| desk.run(&format!("site {} {rest}", out.display()));
    fs::create_dir(&out).unwrap();
    fs::write(out.join("index.html"), "mine").unwrap();
    site("1").fails(2, &["is not empty", "name an empty directory"]);
    assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), "mine");
    desk.run(&format!("site {} 1", out.join("index.html").display()))
        .fails(2, &["is not a directory"]);
    fs::remove_file(out.join("index.html")).unwrap();
    site("99").fails(2, &["holds no run", "99"]);
    site("1 2 --compare 1").fails(2, &["give two runs or more"]);
    site("1 2 --compare 1,3").fails(2, &["--compare", "run 3 is not on the site"]);
    site("1 --name 2=x").fails(2, &["--name", "run 2 is not on the site"]);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "nothing is written by a refused line");

    site("1 2 3 --compare 3,1").ok();
    let first = files(&out);
    assert!(first.contains_key("compare/3-1.html") && first.contains_key("run/3.html"));
    // A file of others stays; what is no longer part of the site goes.
    fs::write(out.join("CNAME"), "results.example").unwrap();
    fs::write(out.join("run/notes.txt"), "mine").unwrap();
    site("1").ok();
    let second = files(&out);
    assert!(second.contains_key("CNAME") && second.contains_key("run/notes.txt"));
    assert!(!second.contains_key("run/3.html") && !second.contains_key("compare/3-1.html"));
    // Nothing is written through a link.
    let elsewhere = desk.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::remove_dir_all(out.join("run")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, out.join("run")).unwrap();
    site("1").fails(2, &["is not a directory"]);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

/// Content of a table of figures: by metric and row the color and the sign of each platform.
const SEEN: &str = "JSON.stringify(Object.fromEntries([...document.querySelectorAll('table.figures')]\
                    .map(table => [table.dataset.metric, \
                    Object.fromEntries([...table.tBodies[0].rows].filter(row => \
                    !row.hidden).map(row => [row.cells[0].textContent, \
                    Object.fromEntries([...row.querySelectorAll('td[data-run]')].filter(cell => \
                    !cell.hidden).map(cell => [cell.dataset.run, [[...cell.classList].find(name => \
                    /^h\\d+$/.test(name)) ?? '', cell.querySelector('[data-sign]')?.textContent ?? \
                    '', cell.dataset.mark ?? '']]))]))])))";

fn shown_map(browser: &mut Browser) -> Value {
    serde_json::from_str(browser.evaluate(SEEN).as_str().unwrap()).unwrap()
}

/// The same by the report that this program makes of these runs alone.
fn expected_map(desk: &Desk, runs: &[&str]) -> Value {
    let report = desk.run(&format!("report heatmap {} --format json", runs.join(" "))).ok().json();
    let mut metrics = serde_json::Map::new();
    for section in report["sections"].as_array().unwrap() {
        let map = &section["heatmaps"][0];
        let mut rows = serde_json::Map::new();
        for row in map["rows"].as_array().unwrap() {
            let cell = |cell: &Value| {
                let color = cell["share"].as_f64();
                let sign = match cell["rank"].as_str() {
                    Some("best") => "*",
                    Some("equal") => "~",
                    _ => "",
                };
                json!([color.map_or(String::new(), |it| format!("h{}", (it * 10.0).round())), sign])
            };
            let cells: Vec<Value> = row["cells"].as_array().unwrap().iter().map(cell).collect();
            rows.insert(row["label"].as_str().unwrap().into(), json!(cells));
        }
        metrics.insert(map["name"].as_str().unwrap().into(), Value::Object(rows));
    }
    Value::Object(metrics)
}

/// Compares what is shown of these platforms with the report of them; gives the number of figures
/// that are colored.
fn same_as_report(desk: &Desk, seen: &Value, platforms: &[(&str, &str)]) -> usize {
    let names: Vec<&str> = platforms.iter().map(|(_, name)| *name).collect();
    let expected = expected_map(desk, &names);
    let mut colored = 0;
    for (metric, rows) in expected.as_object().unwrap() {
        for (label, cells) in rows.as_object().unwrap() {
            let shown = &seen[metric][label];
            for ((run, name), cell) in platforms.iter().zip(cells.as_array().unwrap()) {
                let place = [&shown[*run][0], &shown[*run][1]];
                assert_eq!(json!(place), *cell, "{metric} {label} {name}: {shown}");
                colored += usize::from(cell[0] != "");
            }
        }
    }
    colored
}

#[test]
fn a_browser_ticks_sorts_and_links_without_a_server_and_colours_only_what_is_valid() {
    let desk = publications::desk();
    let out = desk.path("site");
    desk.run(&format!("site {} {}", out.display(), STUDY.join(" "))).ok();
    let runs = desk.runs();
    let id = |name: &str| {
        let run = runs.iter().find(|run| run["name"] == name).unwrap();
        run["id"].to_string()
    };
    let ids = STUDY.map(id);
    let platforms: Vec<(&str, &str)> = ids.iter().map(String::as_str).zip(STUDY).collect();
    let page = format!("file://{}", out.join("index.html").display());
    let mut browser = Browser::start();
    browser.open_url(&page, DESKTOP);
    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
    let all = shown_map(&mut browser);
    assert!(same_as_report(&desk, &all, &platforms) > 60, "all are ticked at first");
    let uncolored = |cell: &Value| cell[2] == "valid" || (cell[0] == "" && cell[1] == "");
    let cells =
        all.as_object().unwrap().values().flat_map(|rows| rows.as_object().unwrap().values());
    let cells: Vec<&Value> = cells.flat_map(|row| row.as_object().unwrap().values()).collect();
    assert!(cells.iter().all(|cell| uncolored(cell)));
    assert!(cells.iter().any(|cell| cell[2] == "conditional" || cell[2] == "invalid"));

    // Unticked by a click: the colors are those of the rest, and the address says so.
    browser.evaluate(&format!("document.querySelector('input[value=\"{}\"]').click()", ids[1]));
    let two = [platforms[0], platforms[2]];
    let rest = shown_map(&mut browser);
    assert!(same_as_report(&desk, &rest, &two) > 40);
    let hash = browser.evaluate("location.hash");
    assert_eq!(hash, json!(format!("#p={},{}", ids[0], ids[2])));
    let said = browser.evaluate("document.querySelector('[data-said=speed]').textContent");
    let said = said.as_str().unwrap();
    assert!(said.starts_with("Speed: means over ") && said.contains("left out"), "{said}");
    // Sorted by a head: the larger mean is first, and the link leads to the same.
    browser.evaluate("document.querySelector('th[data-order=throughput] button').click()");
    let order = "[...document.querySelectorAll('table.platforms tbody tr')].map(row => \
                 row.dataset.run).join()";
    let means = "[...document.querySelectorAll('td[data-mean=throughput]')].map(cell => \
                 parseFloat(cell.textContent) || 0)";
    let sorted = browser.evaluate(order);
    let values = browser.evaluate(means);
    let values: Vec<f64> =
        values.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
    assert!(values[0] > values[1] && values[1] > 0.0 && values[2] == 0.0, "{values:?}");
    let link = browser.evaluate("document.querySelector('[data-here]').href");
    browser.open_url("about:blank", DESKTOP);
    browser.open_url(link.as_str().unwrap(), DESKTOP);
    assert_eq!(browser.evaluate(order), sorted);
    assert_eq!(shown_map(&mut browser), rest, "a choice can be linked to");
    browser.evaluate("document.querySelector('[data-tick=none]').click()");
    assert_eq!(
        browser.count("document.querySelectorAll('table.figures tbody tr:not([hidden])').length"),
        0
    );
    // An address of others chooses nothing that is not there.
    browser.open_url("about:blank", DESKTOP);
    browser.open_url(
        &format!("{page}#p={},x%27%3E,999&g=NONE&s=constructor&r=speed:7", ids[0]),
        DESKTOP,
    );
    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
    assert_eq!(browser.count("document.querySelectorAll('input:checked').length"), 1);
    let own = format!("file://{}/", out.display());
    let all_here = |url: &String| url.starts_with(&own) || url.starts_with("data:");
    assert!(browser.requests().iter().all(all_here), "{:?}", browser.requests());
}

#[test]
fn pages_of_a_site_suit_screens_readers_and_those_without_scripts() {
    let desk = with_a_study();
    let out = desk.path("site");
    desk.run(&format!("site {} 1 2 10 {}", out.display(), STUDY.join(" "))).ok();
    let url = |name: &str| format!("file://{}", out.join(name).display());
    let history = files(&out).into_keys().find(|name| name.starts_with("history/")).unwrap();
    let pages = [
        "index.html",
        "runs.html",
        "histories.html",
        &history,
        "run/1.html",
        "run/1-2.html",
        "compare/1-2.html",
        "catalogue.html",
    ];
    let mut browser = Browser::start();
    let (checker, mut found) = (axe(), Vec::new());
    let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    for page in pages {
        for (scheme, rules) in [("light", LEVELS_A_AND_AA), ("dark", OF_COLORS)] {
            browser.open_url(&url(page), View { scheme, ..DESKTOP });
            assert!(browser.complaints().is_empty(), "{page}: {:#?}", browser.complaints());
            assert_eq!(browser.count(wider), 0, "{page} scrolls aside at {} px", DESKTOP.width);
            // The page of all workloads is drawn, and not judged.
            if page == "catalogue.html" {
                break;
            }
            let violations = browser.violations(&checker, rules).into_iter();
            found.extend(violations.map(|rule| format!("{page} {scheme}: {rule}")));
        }
        browser.open_url(&url(page), PHONE);
        assert_eq!(browser.count(wider), 0, "{page} scrolls aside at {} px", PHONE.width);
    }
    assert!(found.is_empty(), "{found:#?}");
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
    browser.open_url(&url("index.html"), DESKTOP);
    browser.call("Emulation.setScriptExecutionDisabled", json!({"value": false}));
    let shown = "[...document.querySelectorAll('table.figures thead th[data-run]')].filter(head => \
                 head.offsetParent).length";
    assert_eq!(browser.count(shown), 2 * 6, "all platforms of both metrics");
    assert_eq!(browser.count("document.querySelectorAll('td[class*=\" h1\"]').length"), 0);
    let controls =
        "[...document.querySelectorAll('.scripted')].filter(part => part.offsetParent).length";
    assert_eq!(browser.count(controls), 0, "nothing that only a script could serve");
}
