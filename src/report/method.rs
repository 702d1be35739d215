//! How to read the figures, and which commands made them; stands at the end of a page.

use super::Input;
use super::document::{Block, Section};

/// The short form of METHODOLOGY.md.
const METHOD: &[&str] = &[
    "A test runs one workload with a fixed number of jobs. All jobs start at one gate; the warm-up is dropped, and the \
     window is cut while they run on. A job's rate is what it counted divided by its own time; throughput is the sum \
     over the jobs. The loop is closed: service time, not response time under an arrival rate. MB = 10^6 bytes.",
    "Speed is the metric at one job, throughput the best at any number of jobs. Percentiles need ten ops beyond them, \
     else they are not printed. Intervals are 95 % (batch means over the seconds). CPU % is the host's.",
    "Every figure has a verdict. valid: the contract of the workload held and our counts agree with the database's own \
     counters. conditional (?): the figure means less than it seems, the reason is given. invalid (!): it must not be \
     used. A dash with a number is unknown, the footnote says why; unknown is never 0.",
    "In the charts a filled mark is valid, a hollow one conditional, a cross invalid. The thin dotted curves are the \
     Universal Scalability Law fitted to the ops per second (N. J. Gunther, 2007), from four numbers of jobs on.",
];

/// The section.
pub fn section(input: &Input) -> Section {
    let mut blocks: Vec<Block> = METHOD.iter().map(|text| Block::Paragraph((*text).into())).collect();
    blocks.push(Block::Facts(commands(input)));
    Section { title: "Method".into(), blocks }
}

/// The command that made each run, and this report.
fn commands(input: &Input) -> Vec<(String, String)> {
    let platforms = input.platforms();
    let runs =
        input.runs.iter().zip(platforms).map(|(data, name)| (format!("Made by ({name})"), data.run.command.clone()));
    let report = (!input.command.is_empty()).then(|| ("This report".to_string(), input.command.clone()));
    runs.chain(report).collect()
}
