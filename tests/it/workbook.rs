//! The workbook, read back by another program: values, types, number formats, color scales and
//! charts are what was written.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use dbdyno::catalog::{Form, Group};
use dbdyno::report::document::{Axis, Block, Chart, Point, Scale, Section, Series};
use dbdyno::report::{Document, FORMATS, Input, Language, Options, REPORTS, RunTests};

use crate::fixture;
use crate::support::finished_group;

/// The fixture run, and another that reached 80 %.
fn input() -> Input {
    let mut second = fixture::run();
    (second.id, second.name) = (8, Some("other".into()));
    second.disclosure.set("hardware", "cpu_ghz", "3.25");
    let mut tests = fixture::tests();
    for test in &mut tests {
        test.kpm_value = test.kpm_value.map(|value| value * 0.8);
    }
    Input {
        runs: vec![
            RunTests { run: fixture::run(), tests: fixture::as_tests(fixture::tests()) },
            RunTests { run: second, tests: fixture::as_tests(tests) },
        ],
        groups: vec![Group {
            form: Some(Form::Queries),
            ..Group::new("SRV", "server: cached SQL")
        }],
        ..Input::default()
    }
}

/// Heatmaps, the tables of every group, and a chart.
fn document() -> Document {
    let mut document = Document { title: "Everything".into(), ..Document::default() };
    for name in ["heatmap", "kpm", "datasheet", "platform"] {
        let report = REPORTS.iter().find(|report| report.name() == name).unwrap();
        document.sections.extend(report.build(&input()).sections);
    }
    document.sections.push(Section { title: "Ramp".into(), blocks: vec![Block::Chart(chart())] });
    document
}

fn chart() -> Chart {
    let point = |x: f64, y: f64| Point { x, y, ..Point::default() };
    let series = |name: &str, platform, factor: f64| Series {
        name: name.into(),
        platform,
        points: [1.0, 2.0, 4.0, 8.0].map(|jobs| point(jobs, factor * jobs)).to_vec(),
        ..Series::default()
    };
    let axis = |name: &str, unit: Option<&str>, scale| Axis {
        name: name.into(),
        unit: unit.map(String::from),
        scale,
    };
    Chart {
        name: "ramp".into(),
        language: Language::English,
        title: "SRV-QUERY1".into(),
        x: axis("Jobs", None, Scale::Log2),
        y: axis("Throughput", Some("qps"), Scale::Linear),
        series: vec![series("nightly", 0, 80_000.0), series("other", 1, 64_000.0)],
        caption: String::new(),
        ..Chart::default()
    }
}

/// The workbook as LibreOffice reads it: one XML file with every cell's type, value and shown text.
fn read_back(directory: &Path) -> String {
    let format = FORMATS.iter().find(|format| format.name() == "xlsx").unwrap();
    let book = directory.join("book.xlsx");
    fs::write(&book, format.render(&document(), Options::default()).unwrap().as_bytes()).unwrap();
    let profile = format!("-env:UserInstallation=file://{}", directory.join("profile").display());
    let mut soffice = Command::new("soffice");
    soffice
        .args([&profile, "--headless", "--convert-to", "fods", "--outdir"])
        .args([directory, &book])
        // Another locale has other separators.
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null());
    let done =
        finished_group(soffice, "soffice (scripts/test-dependencies.sh installs LibreOffice)");
    fs::read_to_string(directory.join("book.fods")).unwrap_or_else(|_| panic!("{done:?}"))
}

/// The sheet of this name.
fn sheet<'a>(book: &'a str, name: &str) -> &'a str {
    let start = book
        .find(&format!("<table:table table:name=\"{name}\""))
        .unwrap_or_else(|| panic!("no sheet {name}"));
    // A chart holds a table of its own, deeper inside.
    let end = book[start..].find("\n   <table:table ").map_or(book.len(), |end| start + end);
    &book[start..end]
}

/// The cells of the row that begins with `label`: type, value and shown text.
fn row(sheet: &str, label: &str) -> Vec<(String, String, String)> {
    let rows = sheet.split("<table:table-row").skip(1);
    let cells =
        rows.map(|row| row.split("<table:table-cell").skip(1).map(cell).collect::<Vec<_>>());
    cells
        .into_iter()
        .find(|cells| cells.first().is_some_and(|cell| cell.2 == label))
        .unwrap_or_else(|| panic!("no {label}"))
}

fn cell(xml: &str) -> (String, String, String) {
    let between = |start: &str, end: &str| {
        xml.split_once(start)
            .and_then(|(_, rest)| rest.split_once(end))
            .map(|(text, _)| text.to_owned())
    };
    let attribute = |name: &str| between(&format!("{name}=\""), "\"").unwrap_or_default();
    (
        attribute("office:value-type"),
        attribute("office:value"),
        between("<text:p>", "</text:p>").unwrap_or_default(),
    )
}

fn number(value: &str, shown: &str) -> (String, String, String) {
    ("float".into(), value.into(), shown.into())
}

fn text(shown: &str) -> (String, String, String) {
    ("string".into(), String::new(), shown.into())
}

/// Number of sheets that keep their head in sight, in the file itself.
fn frozen(book: &Path) -> usize {
    let mut archive = zip::ZipArchive::new(fs::File::open(book).unwrap()).unwrap();
    let names = archive.file_names().map(|name| name.unwrap().into_owned());
    let names: Vec<String> = names.filter(|name| name.starts_with("xl/worksheets/sheet")).collect();
    let mut sheet =
        |name: &String| std::io::read_to_string(archive.by_name(name).unwrap()).unwrap();
    names.iter().filter(|name| sheet(name).contains("state=\"frozen\"")).count()
}

#[test]
fn another_program_reads_what_was_written() {
    let directory = crate::support::directory();
    let book = read_back(directory.path());

    let speed = sheet(&book, "Speed");
    let query = row(speed, "SRV-QUERY1 (T611)");
    let expected = [
        text("SRV-QUERY1 (T611)"),
        text("qps"),
        number("82104", "82,104*"),
        number("65683.2", "65,683"),
    ];
    assert_eq!(query[..4], expected);
    assert_eq!(
        row(speed, "LGWR-LAT")[3],
        number("0.41025641025641", "0.4103*"),
        "less time is better"
    );
    assert_eq!(
        row(speed, "TP-LIGHT update_pct=20")[2],
        number("1410", "1,410!"),
        "invalid, but a number"
    );

    // One color scale per row that has something to compare.
    assert_eq!(speed.matches("<calcext:color-scale>").count(), 5, "{speed}");
    let scale =
        speed.split("<calcext:conditional-format ").find(|scale| scale.contains("MIN(")).unwrap();
    assert!(
        scale.contains("calcext:value=\"=MIN(")
            && scale.contains(")*2\"")
            && scale.contains(")*10\""),
        "{scale}"
    );
    assert_eq!(speed.matches(")/2\"").count(), 4, "the middle of the others is half of the best");

    let queries = sheet(&book, "server cached SQL (SRV)");
    let head = row(queries, "Run");
    assert!(
        head.contains(&text("Queries total [qps]"))
            && head.contains(&text("CPU busy [%]"))
            && head.contains(&text("Verdict")),
        "{head:?}"
    );
    let conditional: Vec<_> = queries
        .split("<table:table-row")
        .filter(|row| row.contains("conditional</text:p>"))
        .collect();
    assert!(
        conditional[0].contains("161,002?") && conditional[0].contains("office:value=\"161002\"")
    );
    assert!(queries.contains("no interval: "), "footnotes are there");

    let datasheet = row(sheet(&book, "Run 7 Platform"), "Memory");
    assert_eq!(datasheet[1], text("8.6 GB"));

    // Of every table the head stays in sight and filters; figures are numbers on every sheet.
    let is_table = |block: &&Block| matches!(block, Block::Table(_) | Block::Heatmap(_));
    let tables =
        document().sections.iter().flat_map(|section| &section.blocks).filter(is_table).count();
    assert_eq!(book.matches("table:display-filter-buttons=\"true\"").count(), tables);
    assert_eq!(frozen(&directory.path().join("book.xlsx")), tables);
    // A chart holds a table of its own.
    let sheets = book.split("<table:table ").map(|part| {
        match part.starts_with("table:name=\"local-table\"") {
            true => part.split_once("</table:table>").map_or("", |(_, rest)| rest),
            false => part,
        }
    });
    let texts = sheets.flat_map(|part| part.split("<table:table-cell").skip(1)).map(cell);
    let texts = texts.filter(|cell| cell.0 == "string").map(|cell| cell.2);
    let numbers: Vec<String> = texts.filter(|text| text.parse::<f64>().is_ok()).collect();
    assert_eq!(numbers, Vec::<String>::new(), "numbers as text");

    let ramp = sheet(&book, "Ramp");
    assert_eq!(row(ramp, "nightly")[1..3], [number("1", "1"), number("80000", "80,000")]);
    assert!(book.contains("chart:class=\"chart:scatter\""), "the chart is a chart");
    assert!(book.contains("chart:logarithmic=\"true\""), "the axis of jobs doubles");
    assert!(book.contains("Throughput [qps]"));
}
