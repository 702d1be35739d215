//! What a comparison says in plain words: only what an interval, or a published figure, supports.

use super::{Change, Comparison, Kind, Row, Side};
use crate::analysis::scaling::{self, Hidden};
use crate::analysis::slips;
use crate::analysis::words::number;
use crate::model::{Better, Status};

/// A sentence, and what kind of thing it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// `slip`, `disclosure`, `group`, `throughput`, `speed`, `utilisation`, `not-compared`.
    pub code: String,
    pub text: String,
}

/// Published figures have no interval; they are rounded, and some are timed in whole seconds: smaller changes stand in the
/// table only.
const WORTH_SAYING: f64 = 0.05;

/// All findings: doubts first, then what differs, then the figures, the largest changes first.
pub fn findings(comparison: &Comparison, base: &Side<'_>, other: &Side<'_>) -> Vec<Finding> {
    let mut found = slip_findings(base, other);
    found.extend(disclosure(comparison));
    found.extend(groups(comparison));
    found.extend(rows(comparison));
    found.extend(utilisation(base).into_iter().chain(utilisation(other)));
    found.extend(lost(comparison));
    found
}

fn finding(code: &str, text: String) -> Finding {
    Finding { code: code.into(), text }
}

fn slip_findings(base: &Side<'_>, other: &Side<'_>) -> Vec<Finding> {
    let of = |side: &Side<'_>| {
        let name = side.name.to_string();
        slips::of_platform(side.run, side.tests)
            .into_iter()
            .map(move |slip| finding("slip", format!("{name}: {}", slip.text)))
    };
    of(base).chain(of(other)).collect()
}

/// One sentence per section that differs.
fn disclosure(comparison: &Comparison) -> Vec<Finding> {
    let mut sections: Vec<(&str, Vec<String>, Vec<&str>)> = Vec::new();
    for difference in &comparison.differences {
        let text = format!("{} {} -> {}", difference.fact, difference.base, difference.other);
        let groups = difference.touches.iter().map(String::as_str);
        match sections.iter_mut().find(|(section, ..)| *section == difference.section) {
            Some((_, texts, touched)) => {
                texts.push(text);
                touched.extend(groups);
            }
            None => sections.push((&difference.section, vec![text], groups.collect())),
        }
    }
    let sentence = |(section, texts, mut groups): (&str, Vec<String>, Vec<&str>)| {
        groups.sort_unstable();
        groups.dedup();
        let more = texts.len().saturating_sub(3);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let shown = texts.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        finding("disclosure", format!("{section} differs: {shown}{more}; touches {}", groups.join(", ")))
    };
    sections.into_iter().map(sentence).collect()
}

/// Groups in which every workload went the same way.
fn groups(comparison: &Comparison) -> Vec<Finding> {
    let same_way = |group: &str, kind: Kind| {
        let rows = comparison.kpms.iter().filter(|row| row.subject.group == group && row.kind == kind);
        let mut changes = rows.filter(|row| row.status < Status::Invalid).map(Row::change);
        let first = changes.next()?;
        (first != Change::Same && changes.all(|change| change == first)).then_some(first)
    };
    let sentence = |mean: &super::GroupMean| {
        let change = same_way(&mean.group, mean.kind)?;
        let text = format!(
            "{}: all {} workloads are {} in {}, geometric mean {}",
            mean.group,
            mean.workloads,
            change.name(),
            mean.kind.name(),
            signed(mean.ratio)
        );
        Some(finding("group", text))
    };
    comparison.groups.iter().filter_map(sentence).collect()
}

fn rows(comparison: &Comparison) -> Vec<Finding> {
    let mut rows: Vec<&Row> = comparison.kpms.iter().filter(|row| row.status < Status::Invalid).collect();
    let is_worth_saying = |row: &Row| row.ratio.low.is_some() || (row.ratio.value - 1.0).abs() >= WORTH_SAYING;
    rows.retain(|row| row.change() != Change::Same && is_worth_saying(row));
    let size = |row: &Row| row.ratio.value.ln().abs();
    rows.sort_by(|a, b| (b.kind, size(b)).partial_cmp(&(a.kind, size(a))).unwrap_or(std::cmp::Ordering::Equal));
    rows.into_iter().map(|row| finding(row.kind.name(), sentence(row))).collect()
}

fn sentence(row: &Row) -> String {
    let change = match row.better {
        Better::Higher => signed(row.ratio.value),
        Better::Lower => format!("{} ({} takes x{})", row.change().name(), row.unit, number(row.ratio.value)),
    };
    let interval =
        row.ratio.low.zip(row.ratio.high).map(|(low, high)| format!(" ({} to {})", signed(low), signed(high)));
    let at = match (row.kind, row.base_jobs, row.other_jobs) {
        (Kind::Throughput, Some(base), Some(other)) => format!(" at {other} jobs against {base}"),
        _ => String::new(),
    };
    let load = if row.kind == Kind::Throughput { "service time at full load" } else { "service time" };
    let service = row.service_ratio().map(|ratio| format!("; {load} x{ratio:.1}"));
    let doubt = if row.status == Status::Conditional { " [conditional]" } else { "" };
    format!(
        "{}: {} {change}{}{at}{}{doubt}",
        row.subject.label(),
        row.kind.name(),
        interval.unwrap_or_default(),
        service.unwrap_or_default()
    )
}

/// A ratio as change in percent: 1.148 -> `+14.8 %`; far changes as a factor.
fn signed(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 3.0 => format!("x{}", number(ratio)),
        ratio => format!("{:+.1} %", (ratio - 1.0) * 100.0),
    }
}

/// Where CPU busy hides that the platform is nearly full.
fn utilisation(side: &Side<'_>) -> Vec<Finding> {
    let sentence = |hidden: Hidden| {
        let text = format!(
            "{}: at {} % CPU busy ({} jobs) {} has reached {} % of its best throughput",
            side.name,
            number(hidden.cpu_busy_pct),
            hidden.jobs,
            hidden.label,
            number(100.0 * hidden.utilisation)
        );
        finding("utilisation", text)
    };
    scaling::hidden_saturation(side.tests).into_iter().map(sentence).collect()
}

/// What was not compared, in one sentence.
fn lost(comparison: &Comparison) -> Option<Finding> {
    let count = comparison.not_compared.len();
    let first: Vec<_> =
        comparison.not_compared.iter().take(3).map(|lost| format!("{} ({})", lost.label, lost.why)).collect();
    let more = if count > 3 { ", ..." } else { "" };
    (count > 0)
        .then(|| finding("not-compared", format!("{count} figures are not compared: {}{more}", first.join(", "))))
}
