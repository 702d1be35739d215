//! The heatmaps of OraBench 2016 (tables 4 to 11 of the study), remade from the imported figures:
//! every printed cell is there, and the best and the worst of each row are the same, as far as the
//! figures are valid. Where the study's best is a figure that shows the shortest time that was
//! measured (a lower bound), ours is the best of the valid ones, or none.

use std::collections::BTreeMap;

use dbdyno::report::{FORMATS, Input, Options, REPORTS};
use serde_json::Value;

use crate::publications;

pub const PLATFORMS: [&str; 7] =
    ["dl580-bm", "dl580-esxi", "dl580-rhv", "dl380-bm", "dl380-esxi", "dl380-rhv", "ibm-e870"];
const RESULTS: &str = "data/reference/published-results.csv";

/// The runs of the seven platforms, in that order.
pub fn input() -> Input {
    publications::input(&PLATFORMS)
}

fn document() -> Value {
    let report = REPORTS.iter().find(|report| report.name() == "heatmap").unwrap();
    let json = FORMATS.iter().find(|format| format.name() == "json").unwrap();
    let text =
        json.render(&report.build(&input()), Options::default()).unwrap().into_text().unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Figures by kind, code and unit, per platform; misprints are not figures.
type Printed = BTreeMap<Printing, BTreeMap<String, f64>>;

/// A row of a published heatmap. The order of the fields is that of the rows.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Printing {
    kind: String,
    code: String,
    unit: String,
}

fn printed() -> Printed {
    let mut printed = Printed::new();
    for row in csv::Reader::from_path(RESULTS).unwrap().deserialize::<BTreeMap<String, String>>() {
        let row = row.unwrap();
        let in_table = row["note"].starts_with("table ") && !row["note"].contains("misprint");
        if row["study"] == "orabench-2016" && row["kind"] != "point" && in_table {
            let key = Printing {
                kind: row["kind"].clone(),
                code: row["test_code"].clone(),
                unit: row["unit"].clone(),
            };
            printed
                .entry(key)
                .or_default()
                .insert(row["platform"].clone(), row["value"].parse().unwrap());
        }
    }
    printed
}

/// The row of a heatmap.
fn row<'a>(document: &'a Value, printing: &Printing) -> &'a Value {
    let Printing { kind, code, unit } = printing;
    let maps =
        document["sections"].as_array().unwrap().iter().map(|section| &section["heatmaps"][0]);
    let map = maps.into_iter().find(|map| map["name"] == kind.as_str()).unwrap();
    assert_eq!(map["platforms"], serde_json::json!(PLATFORMS));
    let is_row = |row: &&Value| {
        row["label"].as_str().unwrap().contains(&format!("({code})"))
            && row["unit"] == unit.as_str()
    };
    let mut rows = map["rows"].as_array().unwrap().iter().filter(is_row);
    let row = rows.next().unwrap_or_else(|| panic!("no {kind} of {code} in {unit}"));
    assert!(rows.next().is_none(), "{code} stands twice");
    row
}

#[test]
fn the_published_heatmaps_come_out_with_their_cells_and_their_best_and_worst() {
    let (document, printed) = (document(), printed());
    let (mut cells_seen, mut without_best, mut other_best) = (0, 0, 0);
    let mut bounded: Vec<&str> = Vec::new();
    for (key, expected) in &printed {
        let row = row(&document, key);
        let cells: BTreeMap<&str, &Value> =
            PLATFORMS.into_iter().zip(row["cells"].as_array().unwrap()).collect();
        for (platform, value) in expected {
            assert_eq!(cells[platform.as_str()]["value"], *value, "{key:?} {platform}");
            cells_seen += 1;
        }
        let lower = row["better"] == "lower";
        assert_eq!(lower, key.unit == "s", "{key:?}");
        let valid: Vec<&String> =
            expected.keys().filter(|name| cells[name.as_str()]["verdict"] == "valid").collect();
        for platform in expected.keys().filter(|name| valid.len() < 2 || !valid.contains(name)) {
            let cell = cells[platform.as_str()];
            assert_eq!(
                (&cell["share"], &cell["rank"]),
                (&Value::Null, &Value::Null),
                "{key:?} {platform}"
            );
        }
        if valid.len() < 2 {
            without_best += 1;
            continue;
        }
        let goodness =
            |platform: &String| if lower { -expected[platform] } else { expected[platform] };
        let best = valid.iter().map(|name| goodness(name)).fold(f64::NEG_INFINITY, f64::max);
        let worst = valid.iter().map(|name| goodness(name)).fold(f64::INFINITY, f64::min);
        let least = valid
            .iter()
            .map(|name| cells[name.as_str()]["share"].as_f64().unwrap())
            .fold(1.0, f64::min);
        other_best +=
            usize::from(expected.keys().map(goodness).fold(f64::NEG_INFINITY, f64::max) > best);
        // A lower bound lies beyond the best valid figure.
        if valid.iter().any(|name| cells[name.as_str()]["rank"] == "undecided") {
            let is_beyond = |name: &&String| {
                goodness(name) > best && cells[name.as_str()]["verdict"] == "conditional"
            };
            assert!(expected.keys().any(|name| is_beyond(&name)), "{key:?}");
            assert!(valid.iter().all(|name| cells[name.as_str()]["rank"] == "undecided"));
            assert!(valid.iter().all(|name| cells[name.as_str()]["share"].as_f64() < Some(1.0)));
            bounded.push(&key.code);
            continue;
        }
        for platform in &valid {
            let cell = cells[platform.as_str()];
            assert_eq!(cell["rank"] == "best", goodness(platform) == best, "{key:?} {platform}");
            assert_ne!(cell["rank"], "equal", "published figures have no interval");
            assert_eq!(cell["share"] == least, goodness(platform) == worst, "{key:?} {platform}");
        }
    }
    // Of speed, then of throughput.
    let expected = [
        "T611", "T613", "T614", "T622", "T711", "T712", "T713", "T616", "T626", "T711", "T713",
        "T714",
    ];
    assert_eq!(bounded, expected);
    // Of 65 rows so many have the published best; the others' best is flagged, or fewer than two
    // figures are valid.
    assert_eq!((printed.len() - other_best - without_best, other_best, without_best), (33, 12, 20));
    // 64 rows of all seven platforms, and T133 of which only one throughput is not a misprint.
    assert_eq!((printed.len(), cells_seen), (65, 64 * 7 + 1));
}

#[test]
fn a_misprint_has_no_colour_and_no_rank() {
    let document = document();
    let key =
        |unit: &str| Printing { kind: "throughput".into(), code: "T133".into(), unit: unit.into() };
    for cell in row(&document, &key("s"))["cells"].as_array().unwrap().iter().take(6) {
        assert_eq!(
            (&cell["verdict"], &cell["share"], &cell["rank"]),
            (&"invalid".into(), &Value::Null, &Value::Null)
        );
    }
    // The only figure of its row.
    let only = &row(&document, &key("ops/s"))["cells"][6];
    assert_eq!((&only["verdict"], &only["rank"]), (&"valid".into(), &Value::Null));
}

#[test]
fn a_page_of_seven_platforms_is_light_and_no_picture_of_it_has_white_sections() {
    let page = |name: &str| {
        let report = REPORTS.iter().find(|report| report.name() == name).unwrap();
        let html = FORMATS.iter().find(|format| format.name() == "html").unwrap();
        html.render(&report.build(&input()), Options::default()).unwrap().into_text().unwrap()
    };
    for name in ["html", "compare"] {
        let page = page(name);
        assert!(page.len() < 1_500_000, "{name} has {} bytes", page.len());
        // What is laid out only in sight is white in a picture of the whole page.
        assert!(!page.contains("content-visibility"), "{name}");
        assert_eq!(page.matches("<script").count(), 1, "{name}");
        assert!(page.contains("ibm-e870") && page.contains("class=\"number h10 best\""), "{name}");
    }
}
