//! A comparison as JUnit XML, the form that build servers read: a suite per comparison, a case per figure.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::analysis::compare::{Comparison, Kind, Row};
use crate::model::Status;

/// What became of a case.
enum Outcome {
    Passed,
    /// What happened, and the figures.
    Failed(&'static str, String),
    /// There is nothing to compare.
    Skipped(String),
}

/// The XML document; `below` is the loss from which a figure fails.
///
/// # Errors
/// None in practice: it is written to memory.
pub fn document(comparisons: &[Comparison], below: f64) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attribute(("name", "dbdyno compare"))
        .write_inner_content(|writer| comparisons.iter().try_for_each(|comparison| suite(writer, comparison, below)))?;
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    Ok(text)
}

fn suite(writer: &mut Writer<Vec<u8>>, comparison: &Comparison, below: f64) -> io::Result<()> {
    let cases = cases(comparison, below);
    let count = |fits: fn(&Outcome) -> bool| cases.iter().filter(|(_, outcome)| fits(outcome)).count().to_string();
    let name = format!("{} against {}", comparison.other, comparison.base);
    let (total, failed, skipped) = (
        cases.len().to_string(),
        count(|outcome| matches!(outcome, Outcome::Failed(..))),
        count(|outcome| matches!(outcome, Outcome::Skipped(_))),
    );
    let attributes = [("name", &name), ("tests", &total), ("failures", &failed), ("skipped", &skipped)];
    let element = writer
        .create_element("testsuite")
        .with_attributes(attributes.map(|(key, value)| (key, value.as_str())))
        .with_attribute(("errors", "0"));
    element.write_inner_content(|writer| cases.iter().try_for_each(|(name, outcome)| case(writer, name, outcome)))?;
    Ok(())
}

fn cases(comparison: &Comparison, below: f64) -> Vec<(String, Outcome)> {
    let compared = comparison.kpms.iter().map(|row| {
        let outcome = match row.base_status {
            Status::Invalid => Outcome::Skipped("the base is invalid".into()),
            _ if row.is_failure(below) => Outcome::Failed("worse than allowed", failure(row)),
            _ => Outcome::Passed,
        };
        (format!("{} {}", row.subject.label(), row.kind.name()), outcome)
    });
    let lost = comparison.not_compared.iter().map(|lost| {
        let kind = lost.kind.map(Kind::name).unwrap_or_default();
        let outcome = match lost.lost {
            true => Outcome::Failed("lost", lost.why.clone()),
            false => Outcome::Skipped(lost.why.clone()),
        };
        (format!("{} {kind}", lost.label).trim_end().to_string(), outcome)
    });
    let nothing =
        ("comparison".to_string(), Outcome::Failed("nothing to compare", "the base has no sound figure".into()));
    compared.chain(lost).chain(comparison.judges_nothing().then_some(nothing)).collect()
}

fn failure(row: &Row) -> String {
    let why = row.reasons.first().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let interval =
        row.ratio.low.zip(row.ratio.high).map(|(low, high)| format!(", 95 % interval {low:.3} to {high:.3}"));
    format!(
        "{}: {} {} against {} {}: ratio {:.3}{}{why}",
        row.status,
        row.other,
        row.unit,
        row.base,
        row.unit,
        row.ratio.value,
        interval.unwrap_or_default()
    )
}

fn case(writer: &mut Writer<Vec<u8>>, name: &str, outcome: &Outcome) -> io::Result<()> {
    let element = writer.create_element("testcase").with_attributes([("name", name), ("classname", "dbdyno.compare")]);
    match outcome {
        Outcome::Passed => element.write_empty()?,
        Outcome::Failed(what, text) => element.write_inner_content(|writer| {
            let failure = writer.create_element("failure").with_attribute(("message", *what));
            failure.write_text_content(BytesText::new(text)).map(|_| ())
        })?,
        Outcome::Skipped(why) => element.write_inner_content(|writer| {
            writer.create_element("skipped").with_attribute(("message", why.as_str())).write_empty().map(|_| ())
        })?,
    };
    Ok(())
}
