//! JUnit XML, the form that build servers read: the checks of a document, a suite per comparison, a
//! case per figure.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::super::document::{Checks, Document, Outcome};
use super::{Format, Options, Rendered};
use dbdyno_core::error::{Error, Result, visible};

/// `compare --junit`; for no other report, since none has checks.
pub struct Junit;

impl Format for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }
    fn title(&self) -> &'static str {
        "the checks of a comparison, for build servers"
    }
    fn is_for_programs(&self) -> bool {
        true
    }
    fn extension(&self) -> &'static str {
        "xml"
    }

    fn render(&self, document: &Document, _options: Options) -> Result<Rendered> {
        let failed = |error: io::Error| Error::usage("junit", format!("cannot be made: {error}"));
        suites(&document.checks).map(Rendered::Text).map_err(failed)
    }
}

fn suites(checks: &[Checks]) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attribute(("name", "dbdyno"))
        .write_inner_content(|writer| checks.iter().try_for_each(|checks| suite(writer, checks)))?;
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    Ok(text)
}

fn suite(writer: &mut Writer<Vec<u8>>, checks: &Checks) -> io::Result<()> {
    let cases = &checks.cases;
    let count = |fits: fn(&Outcome) -> bool| {
        cases.iter().filter(|(_, outcome)| fits(outcome)).count().to_string()
    };
    let name = visible(&checks.name);
    let (total, failed, skipped) = (
        cases.len().to_string(),
        count(|outcome| matches!(outcome, Outcome::Failed(..))),
        count(|outcome| matches!(outcome, Outcome::Skipped(_))),
    );
    let attributes =
        [("name", &name), ("tests", &total), ("failures", &failed), ("skipped", &skipped)];
    let element = writer
        .create_element("testsuite")
        .with_attributes(attributes.map(|(key, value)| (key, value.as_str())))
        .with_attribute(("errors", "0"));
    element.write_inner_content(|writer| {
        cases.iter().try_for_each(|(name, outcome)| case(writer, name, outcome))
    })?;
    Ok(())
}

fn case(writer: &mut Writer<Vec<u8>>, name: &str, outcome: &Outcome) -> io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attributes([("name", visible(name).as_str()), ("classname", "dbdyno.compare")]);
    match outcome {
        Outcome::Passed => element.write_empty()?,
        Outcome::Failed(what, text) => element.write_inner_content(|writer| {
            let failure = writer.create_element("failure").with_attribute(("message", *what));
            failure.write_text_content(BytesText::new(&visible(text))).map(|_| ())
        })?,
        Outcome::Skipped(why) => element.write_inner_content(|writer| {
            writer
                .create_element("skipped")
                .with_attribute(("message", visible(why).as_str()))
                .write_empty()
                .map(|_| ())
        })?,
    };
    Ok(())
}
