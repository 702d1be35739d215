//! Charts of a page: the data as JSON for the script that draws them, and as a table for everyone else.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use serde::Serialize;
use serde_json::Value;

use super::table;
use crate::model::Status;
use crate::report::document::{Axis, Chart, Point, Role, Series, Table};
use crate::report::format::json;

/// Apache ECharts; see `assets/echarts/README.md`.
const LIBRARY: &str = include_str!("../../../../assets/echarts/echarts.common.min.js");
const SCRIPT: &str = include_str!("../../../../assets/report.js");

/// The scripts, for the end of the page.
pub(super) fn scripts() -> Markup {
    html! { script { (PreEscaped(LIBRARY)) } "\n" script { "\n" (PreEscaped(SCRIPT)) } "\n" }
}

/// A figure that the script fills with the drawing and its legend.
pub(super) fn figure(chart: &Chart) -> Markup {
    let table = Table { remarks: Vec::new(), ..chart.as_table() };
    let phrase = |english: &'static str| chart.language.phrase(english);
    html! {
        figure.chart { "\n"
            figcaption { h3 { (chart.title) } } "\n"
            ul.legend aria-label=(phrase("Curves of this chart; a button shows or hides one")) {} "\n"
            div.plot role="img" aria-label=(spoken(chart)) {} "\n"
            @if !chart.caption.is_empty() { p.caption { (chart.caption) } "\n" }
            details { summary { (phrase("Data of this chart")) } "\n" (table::table(&table)) } "\n"
            script type="application/json" { (PreEscaped(embedded(&data(chart)))) } "\n"
        } "\n"
    }
}

/// What the chart shows, for those who cannot see it.
fn spoken(chart: &Chart) -> String {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let values = [("title", chart.title.as_str()), ("curves", &names.join(", "))];
    chart.language.say("Chart: {title}. Curves: {curves}. The data follow as a table.", &values)
}

/// JSON inside a script element: no text in it can end the element.
fn embedded(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// The chart as `assets/report.js` reads it.
#[derive(Serialize)]
struct Data<'a> {
    range: String,
    verdicts: BTreeMap<Status, String>,
    x: &'a Axis,
    y: &'a Axis,
    series: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: &'a str,
    platform: usize,
    variant: usize,
    fitted: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    noise: bool,
    points: Vec<Vec<Value>>,
}

fn data(chart: &Chart) -> Value {
    let language = chart.language;
    let verdict = |status: Status| (status, language.verdict(status));
    json::value(&Data {
        range: language.say("{low} to {high}", &[]),
        verdicts: [Status::Conditional, Status::Invalid].map(verdict).into(),
        x: &chart.x,
        y: &chart.y,
        series: chart.series.iter().map(curve).collect(),
    })
}

fn curve(series: &Series) -> Curve<'_> {
    Curve {
        name: &series.name,
        platform: series.platform,
        variant: series.variant,
        fitted: series.role == Role::Fitted,
        noise: series.role == Role::Noise,
        points: series.points.iter().map(point).collect(),
    }
}

/// x, y, low, high, label, verdict; what is unknown at the end is left out.
fn point(point: &Point) -> Vec<Value> {
    let Point { x, y, low, high, label, verdict } = point;
    let mut values = vec![(*x).into(), (*y).into(), json::value(low), json::value(high), json::value(label)];
    values.push(json::value(verdict));
    while values.last().is_some_and(Value::is_null) {
        values.pop();
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::document::Scale;

    fn chart() -> Chart {
        let full = Point { x: 2.0, y: 3.5, low: Some(3.0), high: None, label: Some("</script>".into()), verdict: None };
        let series = Series {
            name: "a & b".into(),
            platform: 1,
            points: vec![Point { x: 1.0, y: 2.0, ..Point::default() }, full],
            ..Series::default()
        };
        let x = Axis { name: "Jobs".into(), unit: None, scale: Scale::Log2 };
        Chart { name: "c".into(), title: "T < 1".into(), x, series: vec![series], ..Chart::default() }
    }

    #[test]
    fn the_data_are_short_and_cannot_end_the_script() {
        let text = embedded(&data(&chart()));
        assert!(!text.contains('<'), "{text}");
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["series"][0]["points"], json!([[1.0, 2.0], [2.0, 3.5, 3.0, null, "</script>"]]));
        assert_eq!((&back["x"]["scale"], &back["series"][0]["fitted"]), (&json!("log2"), &json!(false)));
    }

    #[test]
    fn a_figure_has_a_heading_a_spoken_text_and_a_table() {
        let html = figure(&chart()).into_string();
        for part in ["<h3>T &lt; 1</h3>", "Curves: a &amp; b.", "<details>", "<th scope=\"col\">Series</th>"] {
            assert!(html.contains(part), "no {part} in {html}");
        }
    }

    #[test]
    fn the_library_is_the_file_that_its_readme_names() {
        use sha2::{Digest, Sha256};
        let found: String = Sha256::digest(LIBRARY).iter().map(|byte| format!("{byte:02x}")).collect();
        let readme = include_str!("../../../../assets/echarts/README.md");
        assert!(readme.contains(&found), "{found}");
    }

    #[test]
    fn no_script_of_ours_ends_its_element() {
        assert!(!LIBRARY.contains("</script") && !SCRIPT.contains("</script"));
    }
}
