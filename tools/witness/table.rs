//! The agreements as Markdown tables, aligned so that they can be read as they are.

use comfy_table::{Table, presets};

use super::agreement::{Agreement, Subject};

/// One line per workload, engine and drive, one column per figure; below it why witnesses differ.
pub fn render(agreements: &[Agreement], figures: &[&'static str]) -> String {
    let there: Vec<&'static str> = figures
        .iter()
        .copied()
        .filter(|figure| agreements.iter().any(|one| one.figure == *figure))
        .collect();
    let mut reasons = Vec::new();
    let mut table = Table::new();
    let head = ["workload", "engine", "drive"].into_iter().chain(there.iter().copied());
    table.load_style(presets::ASCII_MARKDOWN).set_header(head);
    for subject in subjects(agreements, &there) {
        let of: Vec<_> = agreements.iter().filter(|one| one.subject == subject).collect();
        let cells = there.iter().map(|figure| cell(&of, figure, &mut reasons));
        let names = [subject.workload, subject.engine, subject.drive.name()];
        table.add_row(names.into_iter().map(str::to_owned).chain(cells.collect::<Vec<_>>()));
    }
    let reasons = reasons.iter().enumerate();
    let lines = reasons.map(|(number, reason)| format!("[{}] {reason}.\n", number + 1));
    format!("{table}\n\n{}", lines.collect::<Vec<_>>().concat())
}

/// Each once, in the order in which they were measured.
fn subjects(agreements: &[Agreement], figures: &[&'static str]) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = Vec::new();
    for one in agreements.iter().filter(|one| figures.contains(&one.figure)) {
        if !subjects.contains(&one.subject) {
            subjects.push(one.subject.clone());
        }
    }
    subjects
}

/// Ours, then each witness: `=`, or how much more or less it has, and the number of the reason.
fn cell(of: &[&Agreement], figure: &str, reasons: &mut Vec<&'static str>) -> String {
    let of: Vec<_> = of.iter().filter(|one| one.figure == figure).collect();
    let Some(first) = of.first() else { return "-".into() };
    let mut witnesses = Vec::new();
    for one in &of {
        let mut text = match one.theirs == one.ours {
            true => format!("= {}", one.witness),
            false => format!("{:+.1} % {}", 100.0 * one.difference(), one.witness),
        };
        if let Some(reason) = one.reason() {
            let known = reasons.iter().position(|known| *known == reason);
            let number = known.unwrap_or_else(|| {
                reasons.push(reason);
                reasons.len() - 1
            });
            text.push_str(&format!(" [{}]", number + 1));
        }
        if !one.holds() {
            text.push_str(" DIFFERS");
        }
        witnesses.push(text);
    }
    format!("{}: {}", number(first.ours), witnesses.join(", "))
}

/// A count as it is, a time with four digits.
fn number(value: f64) -> String {
    let decimals = if value.fract() == 0.0 || value >= 1000.0 {
        0
    } else if value >= 100.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}
