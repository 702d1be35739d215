//! The page: everything about one or several runs in one document, made for a browser.

use super::document::{Block, Document, Section};
use super::ramps::rows;
use super::test_charts::{Curve, distribution, seconds};
use super::{Input, Report, RunTests, datasheet, heatmap, kpm, method, platform, ramp_charts, summary};
use crate::model::TestResult;

/// `report html`.
pub struct Page;

/// Points of all charts over the seconds; runs with more have them in `report test` only.
const MOST_SECONDS: usize = 40_000;

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
        let several = input.runs.len() > 1;
        let datasheets = datasheet::Datasheet.build(input).sections;
        let mut sections = summary::Summary.build(input).sections;
        sections.extend(if several { heatmap::sections(input) } else { datasheets.clone() });
        sections.extend(ramp_charts::sections(input));
        sections.extend(kpm::KpmReport.build(input).sections);
        sections.extend(details(input));
        sections.extend(if several { datasheets } else { Vec::new() });
        sections.extend(platform::sections(input));
        sections.push(method::section(input));
        Document { title: title(input), sections }
    }
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

/// Distribution of service time and seconds of every test.
fn details(input: &Input) -> Vec<Section> {
    let points: usize = input.tests().map(|(_, test)| test.series.len()).sum();
    let section = |title: &str, blocks| Section { title: String::from(title), blocks };
    let mut sections = vec![section("Distribution of service times", charts(input, distribution))];
    if points <= MOST_SECONDS {
        sections.push(section("Throughput second by second", charts(input, seconds)));
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
