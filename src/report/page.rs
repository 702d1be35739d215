//! The page: everything about one or several runs in one document, made for a browser.

use super::document::{Block, Document, Section};
use super::ramps::rows;
use super::test_charts::{Curve, distribution, seconds};
use super::{Input, Report, RunTests, datasheet, heatmap, kpm, method, platform, ramp_charts, summary};
use crate::model::TestResult;

/// `report html`.
pub struct Page;

/// What a page shows of every single test, and up to how many of them: with more, the page would be too large to open
/// and to read. Its other parts (summary, heatmaps, ramps, datasheets, platforms) are always there.
pub(super) struct Limits {
    /// Tests with a line in a table.
    pub lines: usize,
    /// Tests with a curve of the distribution of service time.
    pub distributions: usize,
    /// Points of all curves over the seconds.
    pub seconds: usize,
}

const LIMITS: Limits = Limits { lines: 2_000, distributions: 300, seconds: 20_000 };

impl Report for Page {
    fn name(&self) -> &'static str {
        "html"
    }

    fn title(&self) -> &'static str {
        "one page with everything: datasheet, heatmaps, charts, every test, platforms, method"
    }

    fn format(&self) -> &'static str {
        "html"
    }

    fn build(&self, input: &Input) -> Document {
        document(input, &LIMITS)
    }
}

/// The page with what fits into the limits, and a section that says what does not.
pub(super) fn document(input: &Input, limits: &Limits) -> Document {
    let (mut left_out, tests) = (Vec::new(), input.tests().count());
    let several = input.runs.len() > 1;
    let datasheets = datasheet::Datasheet.build(input).sections;
    let mut sections = summary::Summary.build(input).sections;
    let after_summary = sections.len();
    sections.extend(if several { heatmap::sections(input) } else { datasheets.clone() });
    sections.extend(ramp_charts::sections(input));
    if tests <= limits.lines {
        sections.extend(kpm::KpmReport.build(input).sections);
    } else {
        left_out
            .push(format!("the table of every test (more than {} tests; 'dbdyno report kpm' has it)", limits.lines));
    }
    sections.extend(details(input, limits, &mut left_out));
    sections.extend(if several { datasheets } else { Vec::new() });
    sections.extend(platform::sections(input));
    sections.push(method::section(input));
    if let Some(shortened) = shortened(tests, &left_out) {
        sections.insert(after_summary, shortened);
    }
    Document { title: title(input), sections, ..Document::default() }
}

fn title(input: &Input) -> String {
    match input.runs.as_slice() {
        [RunTests { run, .. }] => {
            let name = run.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            format!("Run {}{name} on {}", run.id, run.target)
        }
        _ => format!("{} runs: {}", input.runs.len(), input.platforms().join(", ")),
    }
}

/// What the page leaves out, and where it is.
fn shortened(tests: usize, left_out: &[String]) -> Option<Section> {
    let text = format!(
        "These runs have {tests} tests. Left out here: {}. 'dbdyno report test RUN:SEQ' shows everything of one \
         test.",
        left_out.join("; ")
    );
    let blocks = vec![Block::Paragraph(text)];
    (!left_out.is_empty()).then(|| Section { title: "Left out".into(), blocks })
}

/// Distribution of service time and seconds of every test.
fn details(input: &Input, limits: &Limits, left_out: &mut Vec<String>) -> Vec<Section> {
    let points: usize = input.tests().map(|(_, test)| test.series.len()).sum();
    let section = |title: &str, blocks| Section { title: String::from(title), blocks };
    let mut sections = Vec::new();
    if input.tests().count() <= limits.distributions {
        sections.push(section("Distribution of service times", charts(input, distribution)));
    } else {
        left_out.push(format!("distributions of service time (more than {} tests)", limits.distributions));
    }
    if points <= limits.seconds {
        sections.push(section("Throughput second by second", charts(input, seconds)));
    } else {
        left_out.push(format!("throughput second by second (more than {} seconds in all)", limits.seconds));
    }
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

/// A chart per run and ramp.
fn charts(input: &Input, chart: fn(&str, &[Curve<'_>]) -> Option<super::document::Chart>) -> Vec<Block> {
    let platforms = input.platforms();
    let of_row = |row: super::ramps::RampRow<'_>| {
        let of_run = |(run, tests): (usize, &Vec<&TestResult>)| {
            let subject =
                if platforms.len() > 1 { format!("{}, {}", row.label, platforms[run]) } else { row.label.clone() };
            chart(&subject, &Curve::by_jobs(tests))
        };
        row.runs.iter().enumerate().filter_map(of_run).map(Block::Chart).collect::<Vec<_>>()
    };
    input.used_groups().into_iter().flat_map(|(group, _)| rows(input, group)).flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::fixture::run;
    use crate::analysis::fixture::at;

    fn titles(document: &Document) -> Vec<&str> {
        document.sections.iter().map(|section| section.title.as_str()).collect()
    }

    #[test]
    fn what_is_left_out_is_said() {
        let runs = vec![RunTests { run: run("a"), tests: vec![at(1, 10.0), at(2, 20.0)] }];
        let input = Input { runs, ..Input::default() };
        let whole = document(&input, &LIMITS);
        assert!(!titles(&whole).contains(&"Left out"), "{:?}", titles(&whole));
        let none = document(&input, &Limits { lines: 1, distributions: 1, seconds: 0 });
        let said = none.sections.iter().find(|section| section.title == "Left out").unwrap();
        let [Block::Paragraph(text)] = said.blocks.as_slice() else { panic!("{said:?}") };
        for part in ["2 tests", "more than 1 tests", "distributions", "RUN:SEQ", "dbdyno report kpm"] {
            assert!(text.contains(part), "no {part}: {text}");
        }
        assert!(none.sections.iter().all(|section| !section.title.starts_with("Distribution")));
    }
}
