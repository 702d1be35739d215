//! Page that a browser shows in place of the sections of a document: a head that answers, pictures,
//! and the blocks that hold the exact figures. Other forms show the sections, which say the same in
//! tables and sentences.
//!
//! Texts are said already, in the language of the document; raw numbers are what a drawing places.

use super::document::{Block, Chart, Heatmap};
use dbdyno_core::model::Status;

/// A designed page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// One sheet of A4, upright; else A4 on its side, as many as it takes.
    pub is_sheet: bool,
    /// A list of folds to look something up in: they can be filtered, and are open on paper.
    pub is_list: bool,
    pub head: Head,
    pub parts: Vec<Part>,
}

/// Head of a page: whose figures these are, what the answer is, and how far it can be trusted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// Kind of the page: `run report`.
    pub kind: String,
    /// Run and its date.
    pub stamp: String,
    pub title: String,
    pub answer: Vec<StyledText>,
    pub counts: Vec<Count>,
    /// The tests of each group, in order.
    pub tests: Vec<TickGroup>,
    pub folds: Vec<Fold>,
    pub plate: Vec<(String, String)>,
    /// Parts of a whole: how many figures are better, equal, worse.
    pub shares: Vec<Share>,
}

/// Text, set strong or not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StyledText {
    pub text: String,
    pub is_strong: bool,
}

/// Mark around the emphasized part of a sentence that is being made; no text from outside contains
/// it.
const STRONG: char = '\u{1}';

impl StyledText {
    /// Marks a value that will stand strong in a sentence.
    pub fn strong(value: &str) -> String {
        format!("{STRONG}{}{STRONG}", value.replace(STRONG, " "))
    }

    /// The sentence in which values are marked.
    pub fn sentence(said: &str) -> Vec<StyledText> {
        let part = |(number, text): (usize, &str)| StyledText {
            text: text.into(),
            is_strong: number % 2 == 1,
        };
        said.split(STRONG).enumerate().map(part).filter(|part| !part.text.is_empty()).collect()
    }

    /// Shows the words to be changed, without what separates them from their neighbors: one blank
    /// stands there afterwards, also where a form has none at the ends of a text, and nothing else
    /// that was in a text from outside.
    fn change(&mut self, text: &mut impl FnMut(&mut String)) {
        let inner = self.text.trim();
        let begin = self.text.len() - self.text.trim_start().len();
        let before = separator(&self.text[..begin]);
        let after = separator(&self.text[begin + inner.len()..]);
        let mut words = inner.to_string();
        text(&mut words);
        self.text = format!("{before}{words}{after}");
    }
}

/// The blank that these blanks stand for; none for none.
fn separator(blanks: &str) -> &'static str {
    match blanks {
        "" => "",
        blanks if blanks.contains('\u{a0}') => "\u{a0}",
        _ => " ",
    }
}

/// A verdict as a sign: shape, color and word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mark {
    #[default]
    Valid,
    Conditional,
    Invalid,
    /// Conditional for nothing but what others did on the machine.
    Disturbed,
}

impl From<Status> for Mark {
    fn from(status: Status) -> Mark {
        match status {
            Status::Valid => Mark::Valid,
            Status::Conditional => Mark::Conditional,
            Status::Invalid => Mark::Invalid,
        }
    }
}

/// Direction in which a figure differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tone {
    Better,
    Worse,
    /// Inside the noise.
    Same,
    /// The noise is not known: a plain mark.
    #[default]
    Plain,
}

/// Number of tests with a verdict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Count {
    pub mark: Mark,
    pub count: usize,
    pub word: String,
}

/// One test of the strip.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tick {
    pub mark: Mark,
    /// Name of the test, and its verdict.
    pub note: String,
}

/// Blocks behind a line that opens them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fold {
    pub title: String,
    pub is_open: bool,
    pub blocks: Vec<Block>,
}

/// A part of the page under a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    pub title: String,
    /// Reading instructions, and what is left out.
    pub about: String,
    pub pictures: Vec<Picture>,
    pub folds: Vec<Fold>,
}

/// A drawing of a kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Picture {
    Cards(Vec<Card>),
    Ratios(Ratios),
    Panels(Panels),
    Timeline(Box<Timeline>),
    Heatmap(Heatmap),
    Charts(Vec<Chart>),
    /// Sentences under short names.
    Lines(Vec<(String, Vec<String>)>),
    /// Blocks that are open on the page.
    Blocks(Vec<Block>),
}

/// A group of workloads by its headline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Card {
    pub group: String,
    pub title: String,
    pub mark: Mark,
    pub verdict: String,
    pub label: String,
    pub about: String,
    /// `1.51`, `M`, `qps`.
    pub value: String,
    pub suffix: String,
    pub unit: String,
    pub pair: Vec<StyledText>,
    pub spark: Option<Spark>,
    /// Heads of the service times.
    pub times_head: String,
    pub times: Vec<Times>,
    pub chips: Vec<Chip>,
    pub others: Vec<Other>,
}

/// A short statement in a box.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chip {
    pub text: String,
    pub is_limit: bool,
    pub is_warning: bool,
}

/// Another workload of the group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Other {
    pub label: String,
    pub value: String,
    pub unit: String,
    pub mark: Mark,
    pub verdict: String,
}

/// A ramp in small.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spark {
    pub spoken: String,
    pub points: Vec<SparkPoint>,
    /// The figure of one job, from which perfect scaling starts.
    pub one_job: Option<f64>,
    /// Jobs of the knee, and how it is named.
    pub knee: Option<(f64, String)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SparkPoint {
    pub jobs: f64,
    pub value: f64,
    pub mark: Mark,
    pub is_best: bool,
}

/// Service times at a number of jobs, in us; a percentile with too few samples is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Times {
    pub jobs: f64,
    pub name: String,
    /// Mark by the verdict of the test's figure.
    pub mark: Mark,
    /// p50, p95, p99.
    pub percentiles_us: [Option<f64>; 3],
    pub shown: [String; 3],
    /// Mean, where no percentile is known.
    pub mean_us: Option<f64>,
    pub mean_shown: String,
}

/// Ratios on one logarithmic axis: right of equal is better.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ratios {
    pub spoken: String,
    /// The word at 1.
    pub equal: String,
    pub label_head: String,
    /// Heads of the figures beside the drawing.
    pub heads: Vec<String>,
    pub rows: Vec<RatioRow>,
    /// A row has its line drawn from equal to its mark.
    pub has_stems: bool,
    /// Labels are sentences, which take two lines.
    pub has_sentences: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RatioRow {
    pub group: String,
    pub label: String,
    pub marks: Vec<RatioMark>,
    /// Ratios at equal numbers of jobs.
    pub ticks: Vec<f64>,
    /// Ends between which a ratio is within the noise.
    pub noise: Option<(f64, f64)>,
    pub cells: Vec<String>,
    pub tone: Tone,
    pub mark: Mark,
    pub verdict: String,
    /// Reason why there is no mark.
    pub why: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RatioMark {
    pub value: f64,
    /// Ends of the 95 % interval.
    pub span: Option<(f64, f64)>,
    pub mark: Mark,
    /// True if nothing can be stated, because an interval that is needed is not known.
    pub is_open: bool,
    /// True if the point belongs to a second series: speed next to throughput.
    pub is_second: bool,
}

/// Small multiples: a row per group, the same axes in every row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panels {
    /// Title and how to read it, of each column.
    pub heads: [(String, String); 3],
    pub jobs_word: String,
    /// Numbers of jobs of the axis.
    pub jobs: Vec<f64>,
    pub rows: Vec<PanelRow>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct PanelRow {
    pub group: String,
    pub title: String,
    pub texts: Vec<String>,
    /// Multiples of one job; the headline first.
    pub curves: Vec<Multiple>,
    pub knee: Option<f64>,
    pub times: Vec<Times>,
    pub cpu: Vec<CpuBar>,
    /// The split at the most jobs, in words.
    pub cpu_words: Vec<String>,
    pub spoken: [String; 3],
}

/// A curve of multiples of its figure at one job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Multiple {
    pub label: String,
    pub points: Vec<MultiplePoint>,
}

/// A multiple at a number of jobs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MultiplePoint {
    pub jobs: f64,
    pub multiple: f64,
    /// The verdict of the figure.
    pub mark: Mark,
}

/// CPU time of the host at a number of jobs, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuBar {
    pub jobs: f64,
    pub split: CpuSplit,
}

/// CPU time in percent; what is not known of it is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuSplit {
    pub own: f64,
    pub foreign: Option<f64>,
    pub iowait: Option<f64>,
    pub steal: Option<f64>,
}

/// The whole run, second by second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    pub length_s: f64,
    pub groups: Vec<TimelineGroup>,
    pub tests: Vec<TimelineTest>,
    pub seconds: Vec<Second>,
    /// Names of the tracks and of what is in them.
    pub words: TimelineWords,
    /// Meanings of the numbers next to the disturbed tests.
    pub notes: Vec<String>,
}

/// Tests of a group that follow each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimelineGroup {
    pub from_s: f64,
    pub to_s: f64,
    /// Identifier of the group.
    pub group: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimelineWords {
    pub test: String,
    pub throughput: [String; 2],
    pub cpu: [String; 2],
    pub device: [String; 2],
    pub in_window: String,
    pub warm_up: String,
    pub own: String,
    pub foreign: String,
    pub iowait: String,
    pub steal: String,
    pub read: String,
    pub write: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimelineTest {
    pub from_s: f64,
    pub to_s: f64,
    pub jobs: String,
    pub note: String,
    pub mark: Mark,
    /// Number of its note.
    pub number: Option<usize>,
}

/// An interval of about a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Second {
    pub from_s: f64,
    pub to_s: f64,
    /// Throughput as a multiple of the mean of the window.
    pub throughput: Option<f64>,
    pub in_window: bool,
    pub cpu: Option<CpuSplit>,
    pub read_mb_s: Option<f64>,
    pub write_mb_s: Option<f64>,
}

impl Page {
    /// Adds blocks at the begin of the part with this title; without one they are a part of their
    /// own before all others.
    pub fn add(&mut self, title: &str, blocks: Vec<Block>) {
        match self.parts.iter_mut().find(|part| part.title == title) {
            Some(part) => part.pictures.insert(0, Picture::Blocks(blocks)),
            None => {
                let pictures = vec![Picture::Blocks(blocks)];
                self.parts.insert(0, Part { title: title.into(), pictures, ..Part::default() });
            }
        }
    }

    /// Shows every text and every block of the page to be changed.
    pub fn each(&mut self, text: &mut impl FnMut(&mut String), block: &mut impl FnMut(&mut Block)) {
        self.head.each(text, block);
        for part in &mut self.parts {
            [&mut part.title, &mut part.about].into_iter().for_each(&mut *text);
            part.folds.iter_mut().for_each(|fold| fold.each(text, block));
            part.pictures.iter_mut().for_each(|picture| picture.each(text, block));
        }
    }
}

/// Tests of a group in a strip: a tick for each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TickGroup {
    /// Name of the group.
    pub name: String,
    /// Ticks of its tests, in order.
    pub ticks: Vec<Tick>,
}

/// Part of a whole in a bar with a legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Tone of the part and of its sign in the legend.
    pub tone: Tone,
    /// Number of figures.
    pub count: usize,
    /// Word in the legend.
    pub word: String,
}

impl Head {
    /// The answer as plain text, without emphasis.
    pub fn answer_in_words(&self) -> String {
        self.answer.iter().map(|said| said.text.as_str()).collect()
    }

    /// `12 valid, 3 conditional, 0 invalid`.
    pub fn counts_in_words(&self) -> String {
        let word = |count: &Count| format!("{} {}", count.count, count.word);
        self.counts.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// Shows every text and every block of the head to be changed.
    pub fn each(&mut self, text: &mut impl FnMut(&mut String), block: &mut impl FnMut(&mut Block)) {
        [&mut self.kind, &mut self.stamp, &mut self.title].into_iter().for_each(&mut *text);
        self.answer.iter_mut().for_each(|said| said.change(text));
        for group in &mut self.tests {
            text(&mut group.name);
            group.ticks.iter_mut().for_each(|tick| text(&mut tick.note));
        }
        self.plate
            .iter_mut()
            .for_each(|(name, value)| [name, value].into_iter().for_each(&mut *text));
        self.folds.iter_mut().for_each(|fold| fold.each(text, block));
    }
}

impl Fold {
    fn each(&mut self, text: &mut impl FnMut(&mut String), block: &mut impl FnMut(&mut Block)) {
        text(&mut self.title);
        self.blocks.iter_mut().for_each(block);
    }
}

impl Picture {
    fn each(&mut self, text: &mut impl FnMut(&mut String), block: &mut impl FnMut(&mut Block)) {
        match self {
            Picture::Cards(cards) => cards.iter_mut().for_each(|card| card.each(text)),
            Picture::Ratios(ratios) => ratios.each(text),
            Picture::Panels(panels) => panels.rows.iter_mut().for_each(|row| row.each(text)),
            Picture::Timeline(line) => {
                line.groups.iter_mut().for_each(|one| text(&mut one.group));
                line.tests.iter_mut().for_each(|test| text(&mut test.note));
                line.notes.iter_mut().for_each(text);
            }
            Picture::Lines(lines) => lines.iter_mut().flat_map(|(_, texts)| texts).for_each(text),
            Picture::Blocks(blocks) => blocks.iter_mut().for_each(block),
            Picture::Heatmap(map) => {
                let mut whole = Block::Heatmap(std::mem::take(map));
                block(&mut whole);
                if let Block::Heatmap(changed) = whole {
                    *map = changed;
                }
            }
            Picture::Charts(charts) => charts.iter_mut().for_each(|chart| {
                let mut whole = Block::Chart(std::mem::take(chart));
                block(&mut whole);
                if let Block::Chart(changed) = whole {
                    *chart = changed;
                }
            }),
        }
    }
}

impl Card {
    fn each(&mut self, text: &mut impl FnMut(&mut String)) {
        let Card { group, title, label, about, unit, .. } = self;
        [group, title, label, about, unit].into_iter().for_each(&mut *text);
        self.pair.iter_mut().for_each(|said| text(&mut said.text));
        self.spark.iter_mut().for_each(|spark| text(&mut spark.spoken));
        self.chips.iter_mut().for_each(|chip| text(&mut chip.text));
        self.others.iter_mut().flat_map(|other| [&mut other.label, &mut other.unit]).for_each(text);
    }
}

impl Ratios {
    fn each(&mut self, text: &mut impl FnMut(&mut String)) {
        text(&mut self.spoken);
        self.heads.iter_mut().for_each(&mut *text);
        for row in &mut self.rows {
            let RatioRow { group, label, why, verdict, .. } = row;
            [group, label, why, verdict].into_iter().for_each(&mut *text);
            row.cells.iter_mut().for_each(&mut *text);
        }
    }
}

impl PanelRow {
    fn each(&mut self, text: &mut impl FnMut(&mut String)) {
        [&mut self.group, &mut self.title].into_iter().for_each(&mut *text);
        self.texts.iter_mut().chain(&mut self.spoken).for_each(&mut *text);
        self.curves.iter_mut().for_each(|curve| text(&mut curve.label));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blanks_between_the_words_of_an_answer_stay_where_a_form_has_none_at_the_ends() {
        let strong = StyledText::strong("2,173 MB/s");
        let answer = StyledText::sentence(&format!("At most {strong} with 2 jobs."));
        let mut head = Head { answer, ..Head::default() };
        head.each(&mut |text| *text = text.trim().to_uppercase(), &mut |_| {});
        assert_eq!(head.answer_in_words(), "AT MOST 2,173 MB/S WITH 2 JOBS.");
        let from_outside = format!("5\u{a0}{} \t=1+1", StyledText::strong("\t=1+1"));
        head.answer = StyledText::sentence(&from_outside);
        head.each(&mut |_| {}, &mut |_| {});
        assert_eq!(head.answer_in_words(), "5\u{a0} =1+1 =1+1", "a tab is no blank of ours");
    }

    #[test]
    fn marked_values_stand_strong_and_no_value_can_mark_itself() {
        let said =
            format!("a {} b {}.", StyledText::strong("1.5 k"), StyledText::strong("x\u{1}y"));
        let parts = StyledText::sentence(&said);
        let strong: Vec<&str> =
            parts.iter().filter(|part| part.is_strong).map(|part| part.text.as_str()).collect();
        assert_eq!((strong, parts.len()), (vec!["1.5 k", "x y"], 5));
    }
}
