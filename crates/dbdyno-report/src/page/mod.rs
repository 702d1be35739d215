//! The page: everything about one or several runs in one document, made for a browser. Its sections
//! hold what other forms show; `design` arranges the same for a browser.

mod cards;
mod compared;
mod design;
mod head;
mod panels;
mod ratios;
mod sheet;
mod timeline;

pub(super) use compared::compared;
pub(super) use sheet::sheet;

use super::document::{Block, Document, Section};
use super::ramps::rows;
use super::test_charts::{Curve, distribution, seconds};
use super::{
    BaselinePlaces, Input, Language, Report, RunTests, about, beside, datasheet, heatmap, kpm,
    platform, price, ramp_charts, scaling, summary,
};
use dbdyno_core::model::Test;

/// `report html`.
pub struct Page;

/// Parts that a page shows of every single test, and the maximum number of tests for each: with
/// more, the page would be too large to open and to read. Its other parts (summary, heatmaps,
/// ramps, datasheets, platforms) are always there.
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

    fn baseline(&self) -> BaselinePlaces {
        BaselinePlaces { on_page: true, beside_published: true }
    }

    fn build(&self, input: &Input) -> Document {
        document(input, &LIMITS)
    }
}

/// The page of runs, for a report that shows a part of it in other forms.
pub(super) fn page_of(input: &Input) -> Option<super::picture::Page> {
    design::page(input, &LIMITS, &[])
}

/// The page with what fits into the limits, and a section that says what does not.
pub(super) fn document(input: &Input, limits: &Limits) -> Document {
    let (mut left_out, tests) = (Vec::new(), input.tests().count());
    let several = input.runs.len() > 1;
    let datasheets = datasheet::Datasheet.build(input).sections;
    let mut sections = summary::Summary.sentences(input);
    sections.extend(beside::sections(&beside::pairs_to_show(input), input.language));
    let after_summary = sections.len();
    sections.extend(if several { heatmap::sections(input) } else { datasheets.clone() });
    sections.extend(ramp_charts::sections(input));
    sections.extend(scaling::tables(input));
    sections.extend(if input.prices.is_empty() { Vec::new() } else { price::sections(input) });
    if tests <= limits.lines {
        // The parts of the spread may stand in the datasheet.
        let is_new = |section: &Section| sections.iter().all(|known| known.title != section.title);
        let kpms: Vec<Section> = kpm::tables(input).into_iter().filter(is_new).collect();
        sections.extend(kpms);
    } else {
        left_out.push(input.language.say("left_out_lines", &[("most", &limits.lines.to_string())]));
    }
    sections.extend(details(input, limits, &mut left_out));
    sections.extend(if several { datasheets } else { Vec::new() });
    sections.extend(platform::sections(input));
    sections.push(about::method(input));
    if let Some(shortened) = shortened(input.language, tests, &left_out) {
        sections.insert(after_summary, shortened);
    }
    let page = design::page(input, limits, &left_out);
    Document {
        title: title(input),
        sections,
        language: input.language,
        page,
        ..Document::default()
    }
}

fn title(input: &Input) -> String {
    match input.runs.as_slice() {
        [RunTests { run, .. }] => {
            let name = run.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
            let run_named = format!("{}{name}", run.id);
            input
                .language
                .say("Run {run} on {target}", &[("run", &run_named), ("target", &run.target)])
        }
        [] => input.language.phrase("No runs"),
        runs => {
            input.language.count("runs", runs.len(), &[("names", &input.platforms().join(", "))])
        }
    }
}

/// Parts that the page leaves out, and where they are.
fn shortened(language: Language, tests: usize, left_out: &[String]) -> Option<Section> {
    let text =
        language.say("left_out", &[("tests", &tests.to_string()), ("parts", &left_out.join("; "))]);
    (!left_out.is_empty()).then(|| Section::new(language, "Left out", vec![Block::Paragraph(text)]))
}

/// Distribution of service time and seconds of every test.
fn details(input: &Input, limits: &Limits, left_out: &mut Vec<String>) -> Vec<Section> {
    let points: usize = input.tests().map(|(_, test)| test.series().len()).sum();
    let language = input.language;
    let section = |title: &str, blocks| Section::new(language, title, blocks);
    let mut sections = Vec::new();
    if input.tests().count() <= limits.distributions {
        sections.push(section("Distribution of service times", charts(input, distribution)));
    } else {
        left_out.push(
            language.say("left_out_distributions", &[("most", &limits.distributions.to_string())]),
        );
    }
    if points <= limits.seconds {
        sections.push(section("Throughput second by second", charts(input, seconds)));
    } else {
        left_out.push(language.say("left_out_seconds", &[("most", &limits.seconds.to_string())]));
    }
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

/// A chart per run and ramp.
fn charts(
    input: &Input,
    chart: fn(Language, &str, &[Curve<'_>]) -> Option<super::document::Chart>,
) -> Vec<Block> {
    let platforms = input.platforms();
    let of_row = |row: super::ramps::RampRow<'_>| {
        let of_run = |(run, tests): (usize, &Vec<&Test>)| {
            let subject = if platforms.len() > 1 {
                format!("{}, {}", row.label, platforms[run])
            } else {
                row.label.clone()
            };
            chart(input.language, &subject, &Curve::by_jobs(input.language, tests))
        };
        row.runs.iter().enumerate().filter_map(of_run).map(Block::Chart).collect::<Vec<_>>()
    };
    input
        .used_groups()
        .into_iter()
        .flat_map(|(group, _)| rows(input, group))
        .flat_map(of_row)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::at;
    use dbdyno_core::model::{Test, TestResult};

    fn titles(document: &Document) -> Vec<&str> {
        document.sections.iter().map(|section| section.title.as_str()).collect()
    }

    #[test]
    fn a_ramp_that_is_flat_within_its_noise_gains_nothing() {
        let head = |rates: [f64; 4]| {
            let step = |(at_step, rate): (usize, f64)| {
                Test::from(TestResult { ci_fraction: Some(0.03), ..at(1 << at_step, rate) })
            };
            let tests = rates.into_iter().enumerate().map(step).collect();
            let input = Input { runs: vec![RunTests { run: run("a"), tests }], ..Input::default() };
            format!("{:?}", document(&input, &LIMITS))
        };
        let flat = head([100.0, 100.4, 99.8, 100.6]);
        let nothing = "No valid ramp is known to do more with more jobs than one";
        assert!(flat.contains(nothing) && !flat.contains("valid ramps do more"), "{flat}");
        let steep = head([100.0, 170.0, 180.0, 160.0]);
        assert!(steep.contains("1 of 1 valid ramps do more with more jobs"), "{steep}");
    }

    #[test]
    fn what_is_left_out_is_said() {
        let runs =
            vec![RunTests { run: run("a"), tests: vec![at(1, 10.0).into(), at(2, 20.0).into()] }];
        let input = Input { runs, ..Input::default() };
        let whole = document(&input, &LIMITS);
        assert!(!titles(&whole).contains(&"Left out"), "{:?}", titles(&whole));
        let none = document(&input, &Limits { lines: 1, distributions: 1, seconds: 0 });
        let said = none.sections.iter().find(|section| section.title == "Left out").unwrap();
        let [Block::Paragraph(text)] = said.blocks.as_slice() else { panic!("{said:?}") };
        for part in ["2 tests", "limit: 1", "distributions", "RUN:SEQ", "dbdyno report kpm"] {
            assert!(text.contains(part), "no {part}: {text}");
        }
        assert!(none.sections.iter().all(|section| !section.title.starts_with("Distribution")));
    }
}
