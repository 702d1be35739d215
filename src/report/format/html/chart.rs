//! Charts of a page: the data as JSON for the script that draws them, and as a table for everyone else.

use serde_json::{Map, Value, json};

use super::{escape, table};
use crate::report::document::{Axis, Chart, Point, Role, Scale, Series};

/// Apache ECharts; see `assets/echarts/README.md`.
const LIBRARY: &str = include_str!("../../../../assets/echarts/echarts.common.min.js");
const SCRIPT: &str = include_str!("../../../../assets/report.js");

/// The scripts, for the end of the page.
pub(super) fn scripts() -> String {
    format!("<script>{LIBRARY}</script>\n<script>\n{SCRIPT}</script>\n")
}

/// A figure that the script fills with the drawing and its legend.
pub(super) fn figure(chart: &Chart) -> String {
    let title = escape(&chart.title);
    let caption = if chart.caption.is_empty() {
        String::new()
    } else {
        format!("<p class=\"caption\">{}</p>\n", escape(&chart.caption))
    };
    let table = chart.as_table();
    let table = table::table(&crate::report::document::Table { remarks: Vec::new(), ..table });
    format!(
        "<figure class=\"chart\">\n<figcaption><h3>{title}</h3></figcaption>\n\
         <ul class=\"legend\" aria-label=\"Curves of this chart; a button shows or hides one\"></ul>\n\
         <div class=\"plot\" role=\"img\" aria-label=\"{}\"></div>\n\
         {caption}<details><summary>Data of this chart</summary>\n{table}</details>\n\
         <script type=\"application/json\">{}</script>\n</figure>\n",
        escape(&spoken(chart)),
        embedded(&data(chart))
    )
}

/// What the chart shows, for those who cannot see it.
fn spoken(chart: &Chart) -> String {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    format!("Chart: {}. Curves: {}. The data follow as a table.", chart.title, names.join(", "))
}

/// JSON inside a script element: no text in it can end the element.
fn embedded(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// The chart as `assets/report.js` reads it.
fn data(chart: &Chart) -> Value {
    let series: Vec<Value> = chart.series.iter().map(curve).collect();
    json!({"x": axis(&chart.x), "y": axis(&chart.y), "series": series})
}

fn axis(axis: &Axis) -> Value {
    let scale = match axis.scale {
        Scale::Linear => "linear",
        Scale::Log2 => "log2",
        Scale::Log10 => "log10",
    };
    json!({"name": axis.name, "unit": axis.unit, "scale": scale})
}

fn curve(series: &Series) -> Value {
    let mut curve = Map::new();
    curve.insert("name".into(), json!(series.name));
    curve.insert("platform".into(), json!(series.platform));
    curve.insert("variant".into(), json!(series.variant));
    curve.insert("fitted".into(), json!(series.role == Role::Fitted));
    curve.insert("points".into(), series.points.iter().map(point).collect());
    Value::Object(curve)
}

/// x, y, low, high, label, verdict; what is unknown at the end is left out.
fn point(point: &Point) -> Value {
    let verdict = point.verdict.map(|status| status.to_string());
    let mut values =
        vec![json!(point.x), json!(point.y), json!(point.low), json!(point.high), json!(point.label), json!(verdict)];
    while values.last().is_some_and(Value::is_null) {
        values.pop();
    }
    Value::Array(values)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let html = figure(&chart());
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
