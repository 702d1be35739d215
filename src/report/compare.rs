//! The comparison of runs: as a document for people, and as JSON for programs.

use serde_json::{Value, json};

use super::columns::RATE;
use super::document::{Block, Cell, Column, Digits, Document, Section, Table};
use crate::analysis::compare::{Comparison, EqualJobs, Kind, Row};

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

/// How to read it.
const HOW_TO_READ: &str = "Ratios are other / base. ~ = inside the noise: the 95 % interval of the ratio holds 1. An \
interval comes from the seconds of both tests and from what unrepeated tests differ by from run to run (or from \
repetitions, where there are three or more); published figures have none, so that every difference counts.";

/// The document of comparisons with one base.
pub fn document(comparisons: &[Comparison], noise: &str) -> Document {
    let several = comparisons.len() > 1;
    let mut document = Document { title: title(comparisons), ..Document::default() };
    for comparison in comparisons {
        let named = |title: &str| match several {
            true => format!("{} against {}: {title}", comparison.other, comparison.base),
            false => title.to_string(),
        };
        let section = |title: &str, blocks: Vec<Block>| Section { title: named(title), blocks };
        document.sections.push(section("What differs", differences(comparison)));
        document.sections.push(section("Findings", findings(comparison)));
        let how = Block::Paragraph(format!("{HOW_TO_READ} Noise between runs: {noise}."));
        let rows = Block::Table(rows(comparison, several));
        document.sections.push(section("Speed and throughput", vec![how, rows]));
        if !comparison.equal_jobs.is_empty() {
            document
                .sections
                .push(section("Equal numbers of jobs", vec![Block::Table(equal_jobs(comparison, several))]));
        }
        if !comparison.not_compared.is_empty() {
            document.sections.push(section("Not compared", vec![Block::Table(not_compared(comparison, several))]));
        }
    }
    document
}

fn title(comparisons: &[Comparison]) -> String {
    let others: Vec<&str> = comparisons.iter().map(|comparison| comparison.other.as_str()).collect();
    let base = comparisons.first().map_or("", |comparison| comparison.base.as_str());
    format!("Comparison: {} against {base}", others.join(", "))
}

fn table(name: &str, comparison: &Comparison, several: bool, columns: Vec<Column>) -> Table {
    let name = if several { format!("{name} {}", comparison.other) } else { name.into() };
    Table { name, columns, ..Table::default() }
}

fn differences(comparison: &Comparison) -> Vec<Block> {
    if comparison.differences.is_empty() {
        return vec![Block::Paragraph("The disclosures say nothing that touches a figure in both runs.".into())];
    }
    let columns = vec![
        Column::new("Section", "", 2),
        Column::new("Fact", "", 0),
        Column::new("Base", "", 0),
        Column::new("Other", "", 0),
        Column::new("Touches", "", 1),
        Column::new("Why", "", 5),
    ];
    let mut table = table("differences", comparison, true, columns);
    for difference in &comparison.differences {
        let texts = [&difference.section, &difference.fact, &difference.base, &difference.other];
        let touches = difference.touches.join(" ");
        let cells = texts.into_iter().cloned().chain([touches, difference.because.clone()]);
        table.rows.push(cells.map(Cell::Text).collect());
    }
    vec![Block::Table(table)]
}

fn findings(comparison: &Comparison) -> Vec<Block> {
    let texts = comparison.findings.iter().map(|finding| Block::Paragraph(format!("{}.", finding.text)));
    let found: Vec<Block> = texts.collect();
    let nothing = match comparison.kpms.is_empty() {
        true => "There is no figure that both runs have.",
        false => "No figure differs beyond the noise.",
    };
    if found.is_empty() { vec![Block::Paragraph(nothing.into())] } else { found }
}

fn rows(comparison: &Comparison, several: bool) -> Table {
    let columns = vec![
        Column::new("Workload", "", 0),
        Column::new("Kind", "", 0),
        Column::new("Unit", "", 0),
        Column::new("Base", "", 1),
        Column::new("Jobs", "", 6),
        Column::new("Other", "", 0),
        Column::new("Jobs", "", 6),
        Column::new("Ratio", "", 0),
        Column::new("low", "", 4),
        Column::new("high", "", 4),
        Column::new("Difference", "", 0),
        Column::new("Service time", "x", 5),
        Column::new("per job", "x", 7),
        Column::new("per core", "x", 7),
        Column::new("per licence", "x", 7),
        Column::new("per price", "x", 3),
        // The figures are marked, too.
        Column::new("Verdict", "", 2),
    ];
    let mut table = table("kpms", comparison, several, columns);
    for row in &comparison.kpms {
        let cells = row_cells(row);
        table.rows.push(cells);
        for reason in &row.reasons {
            let remark = format!("{}, {}: {reason}", row.subject.label(), row.kind.name());
            if !table.remarks.contains(&remark) {
                table.remarks.push(remark);
            }
        }
    }
    table.drop_empty_columns();
    table
}

fn row_cells(row: &Row) -> Vec<Cell> {
    let figure = |value: f64| Cell::Number { value, digits: RATE, verdict: Some(row.status) };
    let ratio = |value: Option<f64>| value.map_or(Cell::Empty, |value| number(value, Digits::Decimals(3)));
    vec![
        Cell::text(row.subject.label()),
        Cell::text(row.kind.name()),
        Cell::text(&row.unit),
        figure(row.base),
        row.base_jobs.map_or(Cell::Empty, Cell::count),
        figure(row.other),
        row.other_jobs.map_or(Cell::Empty, Cell::count),
        ratio(Some(row.ratio.value)),
        ratio(row.ratio.low),
        ratio(row.ratio.high),
        Cell::text(row.change().name()),
        ratio(row.service_ratio()),
        ratio(row.per_job),
        ratio(row.per_core),
        ratio(row.per_licence),
        ratio(row.per_price),
        Cell::Verdict(row.status),
    ]
}

fn number(value: f64, digits: Digits) -> Cell {
    Cell::Number { value, digits, verdict: None }
}

fn equal_jobs(comparison: &Comparison, several: bool) -> Table {
    let columns = vec![
        Column::new("Workload", "", 0),
        Column::new("Jobs", "", 0),
        Column::new("Unit", "", 0),
        Column::new("Base", "", 1),
        Column::new("Other", "", 0),
        Column::new("Ratio", "", 0),
        Column::new("Difference", "", 0),
        Column::new("Base used", "%", 4),
        Column::new("Other used", "%", 4),
        Column::new("Base CPU busy", "%", 5),
        Column::new("Other CPU busy", "%", 5),
        Column::new("Verdict", "", 2),
    ];
    let mut table = table("equal jobs", comparison, several, columns);
    let percent =
        |value: Option<f64>, scale: f64| value.map_or(Cell::Empty, |value| number(value * scale, Digits::Decimals(1)));
    let cells = |line: &EqualJobs| {
        let figure = |value: f64| Cell::Number { value, digits: RATE, verdict: Some(line.status) };
        vec![
            Cell::text(line.subject.label()),
            Cell::count(line.jobs),
            Cell::text(&line.unit),
            figure(line.base),
            figure(line.other),
            number(line.ratio.value, Digits::Decimals(3)),
            Cell::text(line.ratio.change(line.better).name()),
            percent(line.base_utilisation, 100.0),
            percent(line.other_utilisation, 100.0),
            percent(line.base_cpu_busy_pct, 1.0),
            percent(line.other_cpu_busy_pct, 1.0),
            Cell::Verdict(line.status),
        ]
    };
    table.rows = comparison.equal_jobs.iter().map(cells).collect();
    table.remarks.push("used: throughput / the best throughput of the same ramp (effective utilisation)".into());
    table
}

fn not_compared(comparison: &Comparison, several: bool) -> Table {
    let columns = vec![Column::new("Workload", "", 0), Column::new("Kind", "", 0), Column::new("Why", "", 0)];
    let mut table = table("not compared", comparison, several, columns);
    for lost in &comparison.not_compared {
        let kind = lost.kind.map_or(Cell::Empty, |kind| Cell::text(kind.name()));
        table.rows.push(vec![Cell::text(&lost.label), kind, Cell::text(&lost.why)]);
    }
    table
}

/// The JSON document: lists over all comparisons, each entry with its runs.
pub fn json(comparisons: &[Comparison], noise: &str) -> Value {
    let each = |list: &dyn Fn(&Comparison) -> Vec<Value>| -> Vec<Value> {
        let named = comparisons.iter().map(|comparison| {
            let mut entries = list(comparison);
            entries.iter_mut().for_each(|entry| {
                entry["base_run"] = json!(comparison.base);
                entry["other_run"] = json!(comparison.other);
            });
            entries
        });
        named.flatten().collect()
    };
    json!({
        "schema_version": SCHEMA_VERSION,
        "base": comparisons.first().map(|comparison| &comparison.base),
        "others": comparisons.iter().map(|comparison| &comparison.other).collect::<Vec<_>>(),
        "noise": noise,
        "disclosure_differences": each(&|comparison| comparison.differences.iter().map(|difference| json!({
            "section": difference.section, "fact": difference.fact, "base": difference.base, "other": difference.other,
            "touches": difference.touches, "because": difference.because,
        })).collect()),
        "kpms": each(&|comparison| comparison.kpms.iter().map(row_json).collect()),
        "further": each(&|comparison| comparison.further.iter().map(row_json).collect()),
        "equal_jobs": each(&|comparison| comparison.equal_jobs.iter().map(equal_jobs_json).collect()),
        "groups": each(&|comparison| comparison.groups.iter().map(|mean| json!({
            "group": mean.group, "kind": mean.kind.name(), "ratio": mean.ratio, "workloads": mean.workloads,
        })).collect()),
        "not_compared": each(&|comparison| comparison.not_compared.iter().map(|lost| json!({
            "workload": lost.label, "kind": lost.kind.map(Kind::name), "why": lost.why, "lost": lost.lost,
        })).collect()),
        "findings": each(&|comparison| comparison.findings.iter().map(|finding| json!({
            "code": finding.code, "text": finding.text,
        })).collect()),
    })
}

fn row_json(row: &Row) -> Value {
    let head = json!({
        "workload": row.subject.workload,
        "asked_as": row.subject.asked_as,
        "group": row.subject.group,
        "params": row.subject.params,
        "kind": row.kind.name(),
        "metric": row.metric,
        "unit": row.unit,
        "better": row.better,
        "base": row.base,
        "other": row.other,
        "base_jobs": row.base_jobs,
        "other_jobs": row.other_jobs,
        "ratio": row.ratio.value,
        "low": row.ratio.low,
        "high": row.ratio.high,
        "difference": row.change().name(),
        "verdict": row.status,
        "reasons": row.reasons,
    });
    let tail = json!({
        "base_service_time_ms": row.base_service_ms,
        "other_service_time_ms": row.other_service_ms,
        "service_time_ratio": row.service_ratio(),
        "per_job": row.per_job,
        "per_core": row.per_core,
        "per_licence": row.per_licence,
        "per_price": row.per_price,
    });
    joined(head, tail)
}

fn equal_jobs_json(line: &EqualJobs) -> Value {
    json!({
        "workload": line.subject.workload,
        "asked_as": line.subject.asked_as,
        "group": line.subject.group,
        "params": line.subject.params,
        "jobs": line.jobs,
        "metric": line.metric,
        "unit": line.unit,
        "base": line.base,
        "other": line.other,
        "ratio": line.ratio.value,
        "low": line.ratio.low,
        "high": line.ratio.high,
        "difference": line.ratio.change(line.better).name(),
        "base_utilisation": line.base_utilisation,
        "other_utilisation": line.other_utilisation,
        "base_cpu_busy_pct": line.base_cpu_busy_pct,
        "other_cpu_busy_pct": line.other_cpu_busy_pct,
        "base_service_time_ms": line.base_service_ms,
        "other_service_time_ms": line.other_service_ms,
        "verdict": line.status,
    })
}

fn joined(mut head: Value, tail: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut head, tail) {
        fields.extend(more);
    }
    head
}
