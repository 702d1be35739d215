//! The page of runs for publication: platforms are called A, B, C. Lists define what may be
//! published (`walk`, `facts`, `known`); everything else is removed, and the removed names are
//! listed.

mod facts;
mod forms;
mod known;
mod walk;

use std::collections::BTreeSet;

pub use self::walk::AnonymizedRun;
use self::walk::Publisher;
use super::document::{Block, Cell, Column, Document, Section, Table};
use super::picture::{Part, Picture};
use super::{Input, Report, RunTests, page};
use dbdyno_core::catalog::Group;
use dbdyno_core::model::Disclosure;

/// `report anonymized`.
pub struct PublishReport;

const ABOUT: &str = "The platforms have letters instead of names. Only what stands on a list is \
                     published; what was removed is listed here by name, without values. Figures, \
                     verdicts, the names of workloads and the times of tests are unchanged.";

impl Report for PublishReport {
    fn name(&self) -> &'static str {
        "anonymized"
    }
    fn former_name(&self) -> Option<&'static str> {
        Some("publish")
    }

    fn title(&self) -> &'static str {
        "the page for others: platforms called A, B, C, with a list of what was removed"
    }

    fn format(&self) -> &'static str {
        "html"
    }

    fn is_publication(&self) -> bool {
        true
    }

    fn build(&self, input: &Input) -> Document {
        let anonymized = anonymize(&input.runs);
        let removed: Vec<BTreeSet<String>> =
            anonymized.iter().map(|run| run.removed.clone()).collect();
        let runs = anonymized.into_iter().map(AnonymizedRun::into_run_tests).collect();
        let (prices, calibrations, command) = (Vec::new(), Vec::new(), String::new());
        let groups = input.groups.iter().filter_map(of_ours).collect();
        // A reference would name itself.
        let bare =
            Input { runs, groups, prices, calibrations, command, reference: None, ..input.clone() };
        let mut document = page::Page.build(&bare);
        let list = list(input, &removed);
        let part = Part {
            title: list.title.clone(),
            pictures: vec![Picture::Blocks(list.blocks.clone())],
            ..Part::default()
        };
        document.page.iter_mut().for_each(|page| page.parts.push(part.clone()));
        document.sections.push(list);
        document
    }
}

/// The runs as they may be published, under letters.
pub fn anonymize(runs: &[RunTests]) -> Vec<AnonymizedRun> {
    let mut publisher = Publisher::new();
    (0..)
        .zip(runs)
        .map(|(number, data)| publisher.run(&data.run, &data.tests, &letter(number)))
        .collect()
}

/// A disclosure without anything that identifies a platform or its owner.
pub fn without_names(disclosure: &Disclosure) -> Disclosure {
    Publisher::new().disclosure(disclosure)
}

/// A group under the title that it has in the binary's catalog; none if it is not of it.
fn of_ours(group: &Group) -> Option<Group> {
    let title = known::Known::words().group(&group.id)?;
    Some(Group { title: title.into(), about: String::new(), ..group.clone() })
}

/// A, B, ... Z, A1, B1, ...
pub fn letter(number: usize) -> String {
    let letter = char::from(b'A' + (number % 26) as u8);
    if number < 26 { letter.to_string() } else { format!("{letter}{}", number / 26) }
}

fn list(input: &Input, removed: &[BTreeSet<String>]) -> Section {
    let language = input.language;
    let columns = [Column::new("Platform", "", 0), Column::new("Removed", "", 0)];
    let mut table = Table::new(language, "removed", columns);
    for (number, names) in removed.iter().enumerate() {
        table.rows.extend(
            names
                .iter()
                .map(|name| vec![Cell::text(letter(number)), Cell::text(language.phrase(name))]),
        );
    }
    if !input.prices.is_empty() {
        table.rows.push(vec![Cell::Empty, Cell::text(language.phrase("prices"))]);
    }
    let blocks = vec![Block::Paragraph(language.phrase(ABOUT)), Block::Table(table)];
    Section::new(language, "What was removed", blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_behind_z() {
        assert_eq!([0, 1, 25, 26, 53].map(letter), ["A", "B", "Z", "A1", "B2"]);
    }
}
