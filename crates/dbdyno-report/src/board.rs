//! The table of platforms: every figure of several runs with what a reader who chooses among them
//! needs to compare the chosen ones: verdict, interval, work. The best depends on the choice and is
//! marked where the choice is made (`assets/platforms.js` of the program).

use std::collections::BTreeSet;

use super::columns::RATE;
use super::document::Digits;
use super::masthead::{entries::mark, run};
use super::picture::Mark;
use super::ramps::compared;
use super::{Input, Language, RunTests, run_facts};
use dbdyno_core::analysis::compare::Kind;
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::heatmap::{
    METRICS, Metric, ValidValue, Worked, is_lower_bound, lowering, side_by_side,
};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::model::{Better, RunKind, Status};

/// Platforms that are ticked where the reader has chosen none.
const MAX_TICKED: usize = 6;

/// Runs as platforms to choose from, and their figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Board {
    /// Runs to choose from; rows have one figure for each of them, in this order.
    pub platforms: Vec<Platform>,
    /// Metrics, each with a row per workload.
    pub parts: Vec<Part>,
}

/// A run as one of the platforms to choose from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Platform {
    /// Number of the run in the results file.
    pub run: i64,
    /// Name that is unique among the runs, see [`Input::platforms`].
    pub name: String,
    /// Product, CPUs and cores, if they are disclosed.
    pub what: String,
    /// Registry name of the engine.
    pub engine: String,
    /// Data, memory and similar facts, if they are disclosed.
    pub facts: Vec<(String, String)>,
    /// Day on which the run started, as the language writes dates.
    pub day: String,
    /// Tests that are valid, conditional and invalid.
    pub verdicts: [usize; 3],
    /// Ticked where the reader has chosen none.
    pub is_usual: bool,
}

/// The rows of a metric.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// `speed` or `throughput`.
    pub metric: &'static str,
    /// Heading of the metric, in the language of the page.
    pub title: String,
    /// Workloads that have the metric on at least one platform.
    pub rows: Vec<Row>,
}

/// The figures of one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Identifier of the group of the workload as in the catalog: `SRV`.
    pub group: String,
    /// Workload with the parameters that distinguish it from others.
    pub label: String,
    /// Unit of every figure of the row.
    pub unit: String,
    /// Direction in which figures of the row are better.
    pub better: Better,
    /// Per platform; none where it has no such figure.
    pub figures: Vec<Option<FigureText>>,
}

/// A figure as it is shown, with the identity of its work.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureText {
    /// Number of the test that stands for the figure.
    pub test: u32,
    /// Text of the value in the language of the board.
    pub text: String,
    /// Figure in the unit of its row, for the order and length of bars.
    pub value: f64,
    /// Jobs and interval.
    pub how: String,
    /// Sign of the verdict.
    pub mark: Mark,
    /// Verdict as a word of the language.
    pub verdict: String,
    /// True if sentences, ranks and colors may rest on it.
    pub is_accepted: bool,
    /// Half width of its 95 % interval where it is compared, as a fraction of it.
    pub half: Option<f64>,
    /// A publication's: its order is that of the printed figures.
    pub is_printed: bool,
    /// True if the value is only a lower bound.
    pub is_bound: bool,
    /// Hash of the work; only figures of equal work are compared.
    pub work: String,
    /// Reasons that lower its verdict.
    pub reasons: String,
}

/// The board of these runs.
pub fn board(input: &Input) -> Board {
    let usual = usual(&input.runs);
    let mut platforms = Vec::new();
    for (at, name) in input.platforms().into_iter().enumerate() {
        let is_usual = usual.contains(&at);
        platforms.push(Platform { is_usual, ..platform(input, &input.runs[at], name) });
    }
    Board { platforms, parts: METRICS.iter().map(|metric| part(input, metric)).collect() }
}

/// Places of the runs that are ticked at first: of each engine on each system the newest; those of
/// publications only where fewer than two were measured.
fn usual(runs: &[RunTests]) -> BTreeSet<usize> {
    let mut newest: Vec<usize> = (0..runs.len()).collect();
    newest.sort_by_key(|&at| {
        let run = &runs[at].run;
        std::cmp::Reverse((run.kind != RunKind::Published, run.started_at.clone(), run.id))
    });
    let mut seen = BTreeSet::new();
    newest.retain(|&at| {
        let run = &runs[at].run;
        let system = ["system", "cpu_model", "cores"].map(|it| run.disclosure.get("hardware", it));
        let own = (run.kind == RunKind::Published).then_some(run.id);
        seen.insert((run.engine.clone(), system, own)) && !runs[at].tests.is_empty()
    });
    // Measured and published figures have no row in common.
    let is_measured = |at: &&usize| runs[**at].run.kind != RunKind::Published;
    let measured = newest.iter().filter(is_measured).count();
    let kept = if measured > 1 { measured } else { newest.len() };
    newest.into_iter().take(kept.min(MAX_TICKED)).collect()
}

fn platform(input: &Input, data: &RunTests, name: String) -> Platform {
    let language = input.language;
    let run = &data.run;
    let started = run.started_at.as_deref().unwrap_or_default();
    let unknown = language.phrase("unknown");
    let own = [(language.phrase("Data"), run_facts::data(language, run))];
    let facts = run_facts::platform(input, run).into_iter().chain(own);
    let with = |status| data.tests.iter().filter(|test| test.status() == status).count();
    Platform {
        run: run.id,
        name,
        what: run::title(language, data),
        engine: run.engine.clone().unwrap_or_default(),
        facts: facts.filter(|(_, value)| *value != unknown).collect(),
        day: language.date(started.split('T').next().unwrap_or(started)),
        verdicts: [Status::Valid, Status::Conditional, Status::Invalid].map(with),
        is_usual: false,
    }
}

fn part(input: &Input, metric: &Metric) -> Part {
    let title = match metric.kind {
        Kind::Speed => "Speed",
        Kind::Throughput => "Throughput",
    };
    let (mut rows, sizes_gb) = (Vec::new(), input.sizes_gb());
    for (group, _) in input.used_groups() {
        for row in compared(input, group) {
            let Some(found) = side_by_side(&row.runs, &sizes_gb, metric) else { continue };
            let shown = |(figure, size_gb): (&Option<Figure<'_>>, &Option<f64>)| {
                Some(shown(input, figure.as_ref()?, *size_gb))
            };
            rows.push(Row {
                group: group.to_string(),
                label: row.label.clone(),
                unit: found.unit.to_string(),
                better: found.better,
                figures: found.figures.iter().zip(&sizes_gb).map(shown).collect(),
            });
        }
    }
    Part { metric: metric.name(), title: input.language.phrase(title), rows }
}

fn shown(input: &Input, figure: &Figure<'_>, size_gb: Option<f64>) -> FigureText {
    let language = input.language;
    let known = ValidValue::from_figure(figure);
    let verdict = figure.verdict();
    FigureText {
        test: figure.test.seq(),
        text: language.number(figure.value, RATE),
        value: figure.value,
        how: how(language, figure),
        mark: mark(&verdict),
        verdict: language.verdict(verdict.status),
        is_accepted: supports(verdict.status) && known.value.is_finite() && known.value >= 0.0,
        half: known.ci_fraction.filter(|half| half.is_finite()),
        is_printed: known.is_printed,
        is_bound: is_lower_bound(figure),
        work: Worked { test: figure.test, size_gb }.key(),
        reasons: lowering(figure)
            .iter()
            .map(|reason| language.reason(reason))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

/// `4 jobs, +-1.2 %`.
fn how(language: Language, figure: &Figure<'_>) -> String {
    let jobs = figure.jobs.map(|jobs| language.jobs(Some(jobs)));
    let half = figure.half_width().map(|half| {
        let percent = language.number(100.0 * half, Digits::Significant(2));
        language.say("+-{percent} %", &[("percent", &percent)])
    });
    jobs.into_iter().chain(half).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::at;
    use dbdyno_core::analysis::published_checks::fixture::judged;
    use dbdyno_core::model::{Test, TestResult};

    fn data(name: &str, id: i64, tests: Vec<Test>) -> RunTests {
        let mut run = run(name);
        run.id = id;
        RunTests { run, tests }
    }

    #[test]
    fn a_figure_has_its_verdict_and_only_a_valid_one_is_accepted() {
        let known = |value| TestResult { ci_fraction: Some(0.02), ..at(1, value) };
        let doubted = judged(Test::from(known(20.0)), Status::Conditional);
        let runs = vec![
            data("a", 1, vec![known(10.0).into()]),
            data("b", 2, vec![doubted]),
            data("c", 3, Vec::new()),
        ];
        let board = board(&Input { runs, ..Input::default() });
        let row = &board.parts[0].rows[0];
        let accepted: Vec<Option<bool>> =
            row.figures.iter().map(|it| it.as_ref().map(|it| it.is_accepted)).collect();
        assert_eq!(accepted, [Some(true), Some(false), None]);
        let doubted = row.figures[1].as_ref().unwrap();
        assert_eq!((doubted.verdict.as_str(), doubted.mark), ("conditional", Mark::Conditional));
        assert_eq!(board.platforms[1].verdicts, [0, 1, 0]);
    }

    #[test]
    fn at_first_the_newest_run_of_each_system_is_ticked() {
        let some = || vec![at(1, 10.0).into()];
        let mut runs = vec![data("a", 1, some()), data("a", 2, some()), data("b", 3, some())];
        runs[2].run.disclosure.set("hardware", "cpu_model", "another");
        runs.push(data("empty", 4, Vec::new()));
        runs[3].run.disclosure.set("hardware", "cpu_model", "a third");
        let board = board(&Input { runs, ..Input::default() });
        let ticked: Vec<bool> = board.platforms.iter().map(|it| it.is_usual).collect();
        assert_eq!(ticked, [false, true, true, false]);
    }
}
