//! Effect of a node failure on the clients of a cluster and their commits, over the repetitions.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::json;

use super::document::{
    Axis, Block, Cell, Chart, Column, Declared, Digits, Document, Point, Role, Scale, Section,
    Series, Table,
};
use super::format::json;
use super::{Input, Language, Report, RunTests, masthead};
use dbdyno_core::analysis::failover::{FEWEST, Over, over};
use dbdyno_core::model::{
    Failover, FailoverTimes, How, LedgerCounts, Reason, RunStatus, Sentence, Status, Survivor,
    TestResult, Verdict,
};

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

const HOW_TO_READ: &str = "Clients commit one row after another and note each as acknowledged, \
                           refused or unanswered; when a session breaks they try the nodes in \
                           turn. Times are those of clients, since the failure: the first error or \
                           timeout; the first commit sent afterwards and acknowledged, of any \
                           client and of one that was on the failed node; the start of the first \
                           second with 90 % of the throughput before (its median second), after \
                           the longest time without a commit. Promoted is when the command that \
                           promotes came back: the node may take commits before that. Each is the \
                           mean over the repetitions with its 95 % interval (Student's t). Lost \
                           are acknowledged commits that the writable node does not hold at the \
                           end.";
const INDICATIVE: &str = "indicative: fewer than 3 repetitions";
const NO_TESTS: &str = "In these runs no node failed: 'dbdyno failover' measures that.";
const NEVER: &str = "it did not happen while the load ran";
const NOT_ALWAYS: &str = "it did not happen in every repetition while the load ran";
const SECONDS: Digits = Digits::Decimals(3);

/// The failover report.
pub struct FailoverReport;

impl Report for FailoverReport {
    fn name(&self) -> &'static str {
        "failover"
    }

    fn title(&self) -> &'static str {
        "clusters: how long clients could not commit when a node failed, and which commits were \
         lost, of runs of 'failover'"
    }

    fn needs_seconds(&self) -> bool {
        true
    }

    fn build(&self, input: &Input) -> Document {
        let language = input.language;
        let names = input.platforms();
        let found =
            input.runs.iter().zip(&names).map(|(data, name)| (data, name, Repetition::all(data)));
        let found: Vec<_> = found.filter(|(_, _, all)| !all.is_empty()).collect();
        let mut sections: Vec<Section> =
            found.iter().map(|(data, name, all)| section(language, data, name, all)).collect();
        if sections.is_empty() {
            sections.push(Section::new(
                language,
                "Failover",
                vec![Block::Paragraph(language.phrase(NO_TESTS))],
            ));
        }
        let runs: Vec<_> = found.iter().map(|(data, _, all)| repetitions_json(data, all)).collect();
        let data = json!({ "schema_version": SCHEMA_VERSION, "studies": runs });
        let answers = found.iter().map(|(data, _, all)| answer(language, data, all));
        let answer = answers.collect::<Vec<_>>().join(" ");
        Document {
            data: Some(data),
            head: Some(masthead::head(input, "failover", &answer)),
            ..Document::new(language, "Failover", sections)
        }
    }
}

/// Repetition with the statements about it.
struct Repetition<'a> {
    test: &'a TestResult,
    failover: &'a Failover,
}

impl<'a> Repetition<'a> {
    /// A time of the clients, or that it did not come.
    fn time_cell(&self, table: &mut Table, time_s: Option<f64>) -> Cell {
        table.figure(time_s.ok_or_else(|| NEVER.into()), SECONDS, self.verdict())
    }

    fn all(data: &'a RunTests) -> Vec<Repetition<'a>> {
        let measured = data.tests.iter().filter_map(|test| test.measured());
        measured
            .filter_map(|test| Some(Repetition { test, failover: test.failover.as_ref()? }))
            .collect()
    }

    fn verdict(&self) -> Status {
        self.test.verdict.status
    }
}

/// A time of a failover.
struct Time {
    /// The name for programs.
    id: &'static str,
    /// The name for people.
    name: &'static str,
    value: fn(&FailoverTimes) -> Option<f64>,
}

/// The one that is no moment.
const MAX_GAP: &str = "longest_gap_s";

const TIMES: [Time; 5] = [
    Time {
        id: "detected_s",
        name: "First error that a client saw",
        value: |times| times.detected_s,
    },
    Time {
        id: "first_commit_s",
        name: "First commit, of any client",
        value: |times| times.first_commit_s,
    },
    Time {
        id: "first_moved_s",
        name: "First commit, of a client of the failed node",
        value: |times| times.first_moved_s,
    },
    Time {
        id: "regained_s",
        name: "90 % of the throughput before",
        value: |times| times.regained_s,
    },
    Time { id: MAX_GAP, name: "Longest time without a commit", value: |times| times.longest_gap_s },
];

/// The repetitions that are not invalid: what is said rests on them.
fn used<'a, 'b>(all: &'a [Repetition<'b>]) -> impl Iterator<Item = &'a Repetition<'b>> + Clone {
    all.iter().filter(|one| one.verdict() != Status::Invalid)
}

/// A time over the repetitions that are not invalid; if it is unknown of one, the mean of the
/// others would be too good.
fn time_over_repetitions(
    all: &[Repetition<'_>],
    time: fn(&FailoverTimes) -> Option<f64>,
) -> Result<Over, &'static str> {
    let values: Vec<Option<f64>> = used(all).map(|one| time(&one.failover.times)).collect();
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    match over(&known) {
        Some(over) if known.len() == values.len() => Ok(over),
        Some(_) => Err(NOT_ALWAYS),
        None => Err(NEVER),
    }
}

/// The worst verdict of the repetitions that are used; invalid without any. Fewer than have an
/// interval are conditional.
fn status(all: &[Repetition<'_>]) -> Status {
    let used = used(all).map(Repetition::verdict);
    let indicative =
        if used.clone().count() < FEWEST { Status::Conditional } else { Status::Valid };
    used.max().map_or(Status::Invalid, |worst| worst.max(indicative))
}

fn section(language: Language, data: &RunTests, name: &str, all: &[Repetition<'_>]) -> Section {
    let mut blocks = vec![
        Block::Paragraph(outcome(language, data, all)),
        Block::Paragraph(language.phrase(HOW_TO_READ)),
    ];
    blocks.extend(course(language, name, all).map(Block::Drawing));
    blocks.push(Block::Facts(facts(language, all)));
    let tables = [
        times(language, all),
        commits(language, all),
        repetitions(language, all),
        survivors(language, all),
    ];
    blocks.extend(tables.map(Block::Table));
    Section { title: format!("{name}: {}", language.phrase("Failover")), blocks }
}

/// A time of a repetition that stands on its curve.
struct TimeMark {
    name: &'static str,
    /// Time since the failure, in s.
    after_s: f64,
}

/// Throughput over the seconds, a curve per repetition, all failing where the told one fails: the
/// first that is not invalid, if there is one. On its curve stand its times, in their order. None
/// without seconds.
fn course(language: Language, name: &str, all: &[Repetition<'_>]) -> Option<Chart> {
    let told = all.iter().position(|one| one.verdict() != Status::Invalid).unwrap_or(0);
    let first = all.get(told)?;
    let fails_at_s = first.failover.failed_at_s;
    let mut marks = vec![TimeMark { name: "the failure", after_s: 0.0 }];
    for time in TIMES.iter().filter(|time| time.id != MAX_GAP) {
        if let Some(after_s) = (time.value)(&first.failover.times) {
            marks.push(TimeMark { name: time.name, after_s });
        }
    }
    marks.sort_by(|a, b| a.after_s.total_cmp(&b.after_s));
    let curve = |(number, one): (usize, &Repetition<'_>)| {
        let shift_s = fails_at_s - one.failover.failed_at_s;
        let seconds = one.test.series.iter().filter(|point| point.interval_s > 0.0);
        let points = seconds.filter(|point| point.t_s + shift_s >= 0.0).map(|point| Point {
            x: point.t_s + shift_s,
            y: point.ops / point.interval_s,
            verdict: Some(one.verdict()),
            ..Point::default()
        });
        let mut points: Vec<Point> = points.collect();
        if number == told {
            write_marks(&mut points, &marks, fails_at_s);
        }
        Series {
            name: language.say("test {test}", &[("test", &one.test.seq.to_string())]),
            platform: number,
            variant: 0,
            role: Role::Measured,
            points,
        }
    };
    let series: Vec<Series> =
        all.iter().enumerate().map(curve).filter(|series| !series.points.is_empty()).collect();
    let mut legend = Vec::new();
    for (number, mark) in marks.iter().enumerate() {
        let seconds = language.number(mark.after_s, Digits::Significant(3));
        legend.push(format!("{number} = {}, {seconds} s", language.phrase(mark.name)));
    }
    let legend = legend.join("; ");
    let caption = "Numbers on the curve of test {test}, times since the failure: {marks}.";
    (!series.is_empty()).then(|| Chart {
        name: format!("{name} failover"),
        language,
        title: language.phrase("Throughput over the failure"),
        x: Axis {
            name: language.phrase("Time since the start"),
            unit: Some("s".into()),
            scale: Scale::Linear,
        },
        y: Axis {
            name: language.phrase("Throughput"),
            unit: Some("ops/s".into()),
            scale: Scale::Linear,
        },
        series,
        caption: language
            .say(caption, &[("test", &first.test.seq.to_string()), ("marks", &legend)]),
        ..Chart::default()
    })
}

/// Writes the numbers of the marks at the points whose seconds they lie in.
fn write_marks(points: &mut [Point], marks: &[TimeMark], fails_at_s: f64) {
    for (number, mark) in marks.iter().enumerate() {
        let at_s = fails_at_s + mark.after_s;
        let Some(point) = points.iter_mut().find(|point| point.x >= at_s) else { continue };
        let before = point.written.take().map(|before| format!("{before}, "));
        point.written = Some(format!("{}{number}", before.unwrap_or_default()));
    }
}

/// Outcome of the commits, by the repetitions that are not invalid, in a sentence or two.
fn outcome(language: Language, data: &RunTests, all: &[Repetition<'_>]) -> String {
    let used: Vec<&Repetition<'_>> = used(all).collect();
    let total =
        |of: fn(&LedgerCounts) -> u64| used.iter().map(|one| of(&one.failover.ledger)).sum::<u64>();
    let number = |count: u64| language.number(count as f64, Digits::Decimals(0));
    let (lost, acknowledged) =
        (number(total(|ledger| ledger.lost)), number(total(|ledger| ledger.acknowledged)));
    let values = [("lost", lost.as_str()), ("acknowledged", &acknowledged)];
    let template = match total(|ledger| ledger.lost) {
        0 => "none_lost",
        _ => "commits_lost",
    };
    let said = match used.is_empty() {
        true => language.phrase("Nothing is known of lost commits: no failure is valid."),
        false => language.count(template, used.len(), &values),
    };
    let cut = match data.run.status {
        RunStatus::Finished => None,
        _ => Some(language.phrase("The run did not come to its end.")),
    };
    let said = [Some(said), doubt(language, &used), left_out(language, all), cut];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Mark of an outcome that rests on conditional repetitions, with their reasons.
fn doubt(language: Language, used: &[&Repetition<'_>]) -> Option<String> {
    let reasons = used.iter().flat_map(|one| &one.test.verdict.reasons);
    let lowering = reasons.filter(|reason| reason.status > Status::Valid);
    let codes: BTreeSet<String> = lowering.map(|reason| language.code(&reason.code)).collect();
    let verdict = language.verdict(Status::Conditional);
    let reasons = codes.into_iter().collect::<Vec<_>>().join(", ");
    let values = [("verdict", verdict.as_str()), ("reasons", &reasons)];
    (!reasons.is_empty()).then(|| language.say("This is {verdict}: {reasons}.", &values))
}

/// Note on repetitions whose commits are in no sentence.
fn left_out(language: Language, all: &[Repetition<'_>]) -> Option<String> {
    let count = all.len() - used(all).count();
    let said = "Invalid failures, whose commits are not counted here: {count}.";
    (count > 0).then(|| language.say(said, &[("count", &count.to_string())]))
}

/// Fate of the commits, and time of the first one after the failure.
fn answer(language: Language, data: &RunTests, all: &[Repetition<'_>]) -> String {
    let first = time_over_repetitions(all, |times| times.first_commit_s).ok().map(|over| {
        let seconds = |value: f64| language.number(value, Digits::Significant(3));
        let ends = over.low.zip(over.high).map(|(low, high)| [low, high].map(seconds));
        let mean = seconds(over.mean);
        let said = match (over.repetitions, ends) {
            (1, _) => language.say(
                "The first commit after the failure was acknowledged after {seconds} s",
                &[("seconds", &mean)],
            ),
            (_, None) => language.say(
                "The first commit after a failure was acknowledged after {seconds} s on average",
                &[("seconds", &mean)],
            ),
            (_, Some([low, high])) => language.say(
                "The first commit after a failure was acknowledged after {seconds} s on average \
                 (95 % interval {low} to {high} s)",
                &[("seconds", &mean), ("low", &low), ("high", &high)],
            ),
        };
        match status(all) {
            Status::Valid => format!("{said}."),
            status => format!("{said}: {}.", language.verdict(status)),
        }
    });
    let said = [Some(outcome(language, data, all)), first];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn facts(language: Language, all: &[Repetition<'_>]) -> Vec<(String, String)> {
    let Some(Repetition { failover, test }) = all.first() else { return Vec::new() };
    let seconds = |value: f64| format!("{} s", language.number(value, Digits::Significant(3)));
    let yes = |is: bool, yes: &str, no: &str| language.phrase(if is { yes } else { no });
    let durability = failover
        .durability
        .iter()
        .map(|(name, value)| format!("{name} = {}", if value.is_empty() { "''" } else { value }));
    let fact = |name: &str, value: String| (language.phrase(name), value);
    vec![
        fact("How it failed", language.phrase(failure_name(failover))),
        fact("Nodes", failover.nodes.join(", ")),
        fact("Clients", test.jobs.to_string()),
        fact("Clients wait for an answer", seconds(failover.timeout_s)),
        fact(
            "Unanswered commits",
            yes(
                failover.resends,
                "are sent again",
                "are of unknown outcome and are not sent again",
            ),
        ),
        fact("Refused commits", language.phrase("are sent again, with the same number")),
        fact("Takes over", takes_over(language, failover)),
        fact("A commit waits for", durability.collect::<Vec<_>>().join(", ")),
    ]
}

fn failure_name(failover: &Failover) -> &'static str {
    match failover.how {
        How::Kill => "its processes were killed (SIGKILL)",
        How::Freeze => "its processes were stopped (SIGSTOP)",
        How::Cut => "it was cut off from the other nodes and from clients",
        How::Command => "by a command of the user; times count from its start",
    }
}

fn takes_over(language: Language, failover: &Failover) -> String {
    language.phrase(match &failover.promotion {
        None => "the cluster itself",
        Some(promotion) if promotion.by_command => {
            "a node that a command of the user's chooses, \
                                                    run at the first error of a client"
        }
        Some(_) => {
            "the replica that has received most, promoted by dbdyno at the first error of a \
             client: not the time of a cluster manager"
        }
    })
}

/// A time since the failure, over the repetitions.
struct TimeRow {
    name: &'static str,
    found: Result<Over, &'static str>,
    status: Status,
}

impl TimeRow {
    fn cell(&self, table: &mut Table, value: Result<f64, &'static str>) -> Cell {
        table.figure(value.map_err(Sentence::from), SECONDS, self.status)
    }
}

fn times(language: Language, all: &[Repetition<'_>]) -> Table {
    let columns = time_columns();
    let mut table = Table::declared(language, "times", &columns);
    let status = status(all);
    for Time { name, value, .. } in TIMES {
        table
            .add_row(&columns, &TimeRow { name, found: time_over_repetitions(all, value), status });
    }
    table
}

fn time_columns() -> [Declared<TimeRow>; 6] {
    [
        Declared::new("Since the failure", "", 0, |row, table| {
            Cell::text(table.language.phrase(row.name))
        }),
        Declared::new("Mean", "s", 0, |row, table| {
            row.cell(table, row.found.map(|over| over.mean))
        }),
        Declared::new("low", "s", 0, |row, table| {
            row.cell(table, row.found.and_then(|over| over.low.ok_or(INDICATIVE)))
        }),
        Declared::new("high", "s", 0, |row, table| {
            row.cell(table, row.found.and_then(|over| over.high.ok_or(INDICATIVE)))
        }),
        Declared::new("Repetitions", "", 0, |row, _| {
            Cell::count(row.found.map_or(0, |over| over.repetitions as u32))
        }),
        Declared::new("Verdict", "", 0, |row, _| {
            if row.found.is_ok() { Cell::Verdict(row.status) } else { Cell::Empty }
        }),
    ]
}

type Count = (&'static str, fn(&LedgerCounts) -> u64);

const COUNTS: [Count; 8] = [
    ("Acknowledged", |ledger| ledger.acknowledged),
    ("Lost", |ledger| ledger.lost),
    ("In doubt", |ledger| ledger.in_doubt),
    ("of these there", |ledger| ledger.in_doubt_there),
    ("of these not there", |ledger| ledger.in_doubt - ledger.in_doubt_there),
    ("Duplicated", |ledger| ledger.duplicated),
    ("Sent again", |ledger| ledger.resent),
    ("Refused", |ledger| ledger.refusals),
];

fn commits(language: Language, all: &[Repetition<'_>]) -> Table {
    let heads = ["No."].into_iter().chain(COUNTS.map(|(name, _)| name));
    let mut table = Table::new(language, "commits", heads.map(|head| Column::new(head, "", 0)));
    for one in all {
        let counts = COUNTS.map(|(_, count)| count(&one.failover.ledger));
        let cells = counts.map(|count| Cell::Number {
            value: count as f64,
            digits: Digits::Decimals(0),
            verdict: None,
        });
        table.rows.push([Cell::count(one.test.seq)].into_iter().chain(cells).collect());
    }
    table
}

fn repetitions(language: Language, all: &[Repetition<'_>]) -> Table {
    let columns = repetition_columns();
    let mut table = Table::declared(language, "repetitions", &columns);
    for one in all {
        table.add_row(&columns, one);
        let remark = |reason: &Reason| format!("{}: {}", one.test.seq, language.reason(reason));
        table.remarks.extend(one.test.verdict.reasons.iter().map(remark));
    }
    table.drop_empty_columns();
    table
}

fn repetition_columns<'a>() -> [Declared<Repetition<'a>>; 10] {
    [
        Declared::new("No.", "", 0, |one, _| Cell::count(one.test.seq)),
        Declared::new("Node", "", 0, |one, _| Cell::text(&one.failover.node)),
        Declared::new("Before", "tps", 0, |one, _| Cell::Number {
            value: one.failover.before_per_s,
            digits: Digits::Significant(4),
            verdict: Some(one.verdict()),
        }),
        Declared::new("Detected", "s", 0, |one, table| {
            one.time_cell(table, one.failover.times.detected_s)
        }),
        Declared::new("Promoted", "s", 0, |one, _| {
            one.failover.promotion.as_ref().map_or(Cell::Empty, |promotion| Cell::Number {
                value: promotion.began_s + promotion.took_s,
                digits: SECONDS,
                verdict: Some(one.verdict()),
            })
        }),
        Declared::new("Commit", "s", 0, |one, table| {
            one.time_cell(table, one.failover.times.first_commit_s)
        }),
        Declared::new("Moved", "s", 0, |one, table| {
            one.time_cell(table, one.failover.times.first_moved_s)
        }),
        Declared::new("90 %", "s", 0, |one, table| {
            one.time_cell(table, one.failover.times.regained_s)
        }),
        Declared::new("Gap", "s", 0, |one, table| {
            one.time_cell(table, one.failover.times.longest_gap_s)
        }),
        Declared::new("Verdict", "", 0, |one, _| Cell::Verdict(one.verdict())),
    ]
}

/// A node that is left after a repetition.
struct SurvivorRow<'a> {
    repetition: u32,
    node: &'a Survivor,
}

fn survivors(language: Language, all: &[Repetition<'_>]) -> Table {
    let columns = survivor_columns();
    let mut table = Table::declared(language, "survivors", &columns);
    for one in all {
        for node in &one.failover.survivors {
            table.add_row(&columns, &SurvivorRow { repetition: one.test.seq, node });
        }
    }
    table
}

fn survivor_columns<'a>() -> [Declared<SurvivorRow<'a>>; 6] {
    [
        Declared::new("No.", "", 0, |row, _| Cell::count(row.repetition)),
        Declared::new("Node", "", 0, |row, _| Cell::text(&row.node.name)),
        Declared::new("Commits", "", 0, |row, table| count_cell(table, row.node.commits)),
        Declared::new("Not there", "", 0, |row, table| count_cell(table, row.node.lost)),
        Declared::new("Differing", "", 0, |row, table| count_cell(table, row.node.differing)),
        Declared::new("State", "", 0, |row, table| {
            let state = match (row.node.is_judge, row.node.is_member) {
                (true, _) => "writable: compared with the ledger",
                (_, true) => "member",
                (_, false) => "follows the failed node",
            };
            Cell::text(table.language.phrase(state))
        }),
    ]
}

fn count_cell(table: &mut Table, count: Option<u64>) -> Cell {
    match count {
        Some(count) => {
            Cell::Number { value: count as f64, digits: Digits::Decimals(0), verdict: None }
        }
        None => table.unknown("it could not be read"),
    }
}

/// A repetition as programs read it.
#[derive(Serialize)]
struct One<'a> {
    test: u32,
    #[serde(flatten)]
    failover: &'a Failover,
    verdict: &'a Verdict,
}

impl<'a> One<'a> {
    fn new(one: &Repetition<'a>) -> One<'a> {
        One { test: one.test.seq, failover: one.failover, verdict: &one.test.verdict }
    }
}

fn repetitions_json(data: &RunTests, all: &[Repetition<'_>]) -> serde_json::Value {
    let times = TIMES.iter().map(|time| {
        (time.id.to_string(), json::value(&time_over_repetitions(all, time.value).ok()))
    });
    let lost: u64 = used(all).map(|one| one.failover.ledger.lost).sum();
    json!({
        "run": data.run.id,
        "jobs": all.first().map(|one| one.test.jobs),
        "lost": lost,
        "indicative": used(all).count() < FEWEST,
        "verdict": status(all),
        "times": times.collect::<serde_json::Map<_, _>>(),
        "repetitions": json::value(&all.iter().map(One::new).collect::<Vec<_>>()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture;
    use dbdyno_core::model::{ReasonCode, Test};

    /// A failure of which so many of a thousand commits were lost, with this verdict.
    fn failure(seq: u32, lost: u64, status: Status) -> Test {
        let failover = Failover {
            how: How::Kill,
            node: "n1".into(),
            nodes: vec!["n1".into(), "n2".into()],
            timeout_s: 2.0,
            resends: false,
            promotion: None,
            durability: std::collections::BTreeMap::new(),
            before_per_s: 500.0,
            failed_at_s: 10.0,
            times: FailoverTimes {
                first_commit_s: Some(0.2 * f64::from(seq)),
                ..FailoverTimes::default()
            },
            ledger: LedgerCounts { acknowledged: 1000, lost, ..LedgerCounts::default() },
            survivors: Vec::new(),
            stayed_down: true,
        };
        let reason = Reason::new(status, ReasonCode::Contract, "");
        let reasons = if status == Status::Valid { Vec::new() } else { vec![reason] };
        let verdict = Verdict::from_reasons(reasons);
        let failover = Some(failover);
        TestResult { seq, failover, verdict, ..fixture::at(1, 100.0) }.into()
    }

    fn said(tests: Vec<Test>) -> String {
        let data = RunTests { run: run("a"), tests };
        answer(Language::English, &data, &Repetition::all(&data))
    }

    #[test]
    fn no_sentence_rests_on_an_invalid_failure() {
        use Status::{Conditional, Invalid, Valid};
        let three = [(1, 0, Valid), (2, 0, Valid), (3, 0, Valid)];
        let with = |last: (u32, u64, Status)| {
            let all = three.into_iter().chain([last]);
            said(all.map(|(seq, lost, status)| failure(seq, lost, status)).collect())
        };
        let time = "The first commit after a failure was acknowledged after 0.400 s on average \
                    (95 % interval 0 to 0.897 s).";
        assert_eq!(
            with((4, 900, Invalid)),
            format!(
                "No commit was lost: all 3,000 acknowledged commits were there after 3 failures. \
                 Invalid failures, whose commits are not counted here: 1. {time}"
            )
        );
        let conditional = with((4, 0, Conditional));
        assert!(conditional.contains("after 4 failures. This is conditional: "), "{conditional}");
        assert!(conditional.ends_with(": conditional."), "{conditional}");
        let lost = with((4, 2, Valid));
        assert!(lost.starts_with("COMMITS WERE LOST: 2 of 4,000 "), "{lost}");
        assert_eq!(
            said(vec![failure(1, 0, Invalid)]),
            "Nothing is known of lost commits: no failure is valid. Invalid failures, whose \
             commits are not counted here: 1."
        );
    }

    #[test]
    fn what_is_indicative_is_told_by_the_failures_that_are_used() {
        let indicative = |statuses: [Status; 3]| {
            let tests = (1..).zip(statuses).map(|(seq, status)| failure(seq, 1, status)).collect();
            let data = RunTests { run: run("a"), tests };
            let told = repetitions_json(&data, &Repetition::all(&data));
            (told["indicative"].as_bool(), told["lost"].as_u64())
        };
        let valid = Status::Valid;
        assert_eq!(indicative([valid; 3]), (Some(false), Some(3)));
        assert_eq!(indicative([valid, Status::Invalid, valid]), (Some(true), Some(2)));
    }
}
