//! Activity of a test's sessions and of the database, in the order of the reports that database
//! administrators know: load profile, time model, top events, statements, input and output, log.

use super::Language;
use super::columns::RATE;
use super::document::{Block, Cell, Code, Column, Digits, Table};
use dbdyno_core::analysis::bottleneck::{bottlenecks, describe, remedy};
use dbdyno_core::analysis::time_model::{self, LoadLine, TimePart, load_profile};
use dbdyno_core::model::{
    Bound, EventCount, RepositorySnapshots, RunRecord, Test, TestResult, Waits,
};

/// Events that a table shows; the others are added up.
const TOP: usize = 12;

/// Two tests with their runs.
type Pair<'a> = [(&'a RunRecord, &'a Test, &'a TestResult); 2];

pub(super) fn table(language: Language, name: &str, heads: &[(&str, &str)]) -> Table {
    Table::new(language, name, heads.iter().map(|(head, unit)| Column::new(*head, unit, 0)))
}

fn percent(share: f64) -> Cell {
    Cell::Number { value: 100.0 * share, digits: Digits::Decimals(1), verdict: None }
}

/// A gain in percent, and whether more or less of it is possible.
fn gain_cell(language: Language, gain: f64, bound: Bound) -> Cell {
    let number = language.number(100.0 * gain, Digits::Decimals(1));
    match bound {
        Bound::About => percent(gain),
        Bound::AtLeast => Cell::text(language.say("at least {number}", &[("number", &number)])),
        Bound::AtMost => Cell::text(language.say("at most {number}", &[("number", &number)])),
    }
}

/// Load profile: work of the test per second and per transaction.
pub fn load(language: Language, result: &TestResult) -> Vec<Block> {
    let per = if result.window.commits > 0 { "Per transaction" } else { "Per op" };
    let mut table = table(
        language,
        "load profile",
        &[("Load profile", ""), ("Unit", ""), ("Per second", ""), (per, "")],
    );
    for LoadLine { title, unit, per_s, per_transaction } in load_profile(result) {
        let (per_s, per_transaction) = (table.unjudged(per_s), table.unjudged(per_transaction));
        table.rows.push(vec![
            Cell::text(language.phrase(title)),
            Cell::text(language.phrase(unit)),
            per_s,
            per_transaction,
        ]);
    }
    vec![Block::Table(table)]
}

/// The causes that limit the test, each with the next experiment and what it should bring.
pub fn limits(language: Language, result: &TestResult) -> Vec<Block> {
    let found = bottlenecks(result);
    let said = result
        .explained
        .iter()
        .flat_map(|explained| std::iter::once(explained).chain(&explained.further));
    let tried = said.map(|explained| {
        Block::Paragraph(format!(
            "{} {}.",
            language.phrase("Tried:"),
            language.sentence(&describe(explained))
        ))
    });
    if found.is_empty() {
        let none = "No bottleneck was found: no cause takes 10 % of the session time, as far as it \
             can be measured.";
        return vec![Block::Paragraph(language.phrase(none))];
    }
    let heads = [
        ("Limit", ""),
        ("Share of the time", "%"),
        ("Evidence", ""),
        ("Next experiment", ""),
        ("Expected gain", "%"),
    ];
    let mut table = table(language, "limiter", &heads);
    for bottleneck in &found {
        let next = remedy(result, bottleneck);
        table.rows.push(vec![
            Cell::text(language.phrase(bottleneck.cause.code())),
            // As in the sentences: no cause takes more than all of the time.
            bottleneck.share.map_or(Cell::Empty, |share| percent(share.min(1.0))),
            Cell::text(language.sentence(&bottleneck.evidence)),
            Cell::text(language.sentence(&next.change)),
            next.gain.map_or(Cell::Empty, |gain| gain_cell(language, gain - 1.0, next.bound)),
        ]);
    }
    let how = "The expected gain is Amdahl's law applied to the share of the time. Less I/O also \
               saves its part of the kernel's work, and more that no counter shows. The gain from \
               I/O, one-thread and client ends where all CPUs are busy.";
    table.remarks.push(language.phrase(how));
    std::iter::once(Block::Table(table)).chain(tried).collect()
}

/// Time model of session time and CPU time.
pub fn times(language: Language, result: &TestResult) -> Vec<Block> {
    let sampled = result.waits.as_ref().filter(|waits| waits.samples > 0);
    let jobs = sampled.map(|waits| {
        let whole = "Time of the jobs (jobs x window)";
        let mut table = parts(language, "time of jobs", whole, &time_model::of_jobs(result, waits));
        let differs = |seconds: &f64| waits.processors.is_none() && *seconds > 0.0;
        if let Some(waited) = time_model::waiting_for_processor_s(result).filter(differs) {
            let text =
                "The CPUs account for the time at work except {seconds} s, in which sessions were \
                 in the run queue.";
            table.remarks.push(language.say(text, &[("seconds", &language.number(waited, RATE))]));
        }
        Block::Table(table)
    });
    let processors = time_model::of_processors(result);
    let processors = (!processors.is_empty()).then(|| {
        Block::Table(parts(language, "time of processors", "Time of the processors", &processors))
    });
    let none = sampled.is_none().then(|| Block::Paragraph(not_sampled(language, result)));
    jobs.into_iter().chain(none).chain(processors).collect()
}

fn not_sampled(language: Language, result: &TestResult) -> String {
    match &result.waits {
        Some(waits) if waits.missing.is_empty() => {
            language.phrase("No sample fell into the window.")
        }
        Some(waits) => {
            waits.missing.iter().map(|line| language.phrase(line)).collect::<Vec<_>>().join("; ")
        }
        None => language.phrase(
            "Sessions were not sampled: this engine has no sessions to sample, or sampling was \
             switched off (--no-sampler).",
        ),
    }
}

/// Parts that are more than their whole by less than this share of it are rounded.
const MIN_TOLD: f64 = 0.0005;

fn parts(language: Language, name: &str, whole: &str, parts: &[TimePart]) -> Table {
    let mut table = table(language, name, &[(whole, ""), ("Seconds", "s"), ("Share", "%")]);
    let all: f64 = parts.iter().map(|part| part.seconds).sum();
    let row = |title: &str, seconds: f64, share: f64| {
        let seconds = Cell::Number { value: seconds, digits: Digits::Decimals(2), verdict: None };
        vec![Cell::text(language.phrase(title)), seconds, percent(share)]
    };
    let shares: f64 = parts.iter().map(|part| part.share).sum();
    if shares > 1.0 + MIN_TOLD {
        let percent = language.number(100.0 * (shares - 1.0), Digits::Decimals(1));
        let said = "Together {percent} % more than the window has: they are counted by clocks that \
                    differ so much.";
        table.remarks.push(language.say(said, &[("percent", &percent)]));
    }
    table.rows = parts.iter().map(|part| row(part.title, part.seconds, part.share)).collect();
    table.rows.push(row("All", all, parts.iter().map(|part| part.share).sum()));
    table
}

/// The events at which sessions were seen most often.
pub fn events(language: Language, result: &TestResult) -> Vec<Block> {
    let Some(waits) = result.waits.as_ref().filter(|waits| waits.samples > 0) else {
        return vec![Block::Paragraph(not_sampled(language, result))];
    };
    let of_jobs: Vec<&EventCount> = waits.of_jobs().collect();
    let of_server: Vec<&EventCount> = waits.of_server().collect();
    let mut jobs = event_table(language, "events of jobs", &of_jobs, waits, result.window_s);
    let exact = match waits.processors {
        Some(_) => {
            "Time on CPU and in the run queue is the kernel's account of each session; the rest is \
             divided among the sampled waits."
        }
        None => {
            "Time on CPU is an estimate, too: the kernel's account of the sessions is not \
             available here."
        }
    };
    jobs.remarks = vec![how_sampled(language, waits), language.phrase(exact)];
    jobs.remarks.extend(waits.missing.iter().map(|line| language.phrase(line)));
    let server = event_table(language, "events of the server", &of_server, waits, result.window_s);
    let is_full = |table: &Table| !table.rows.is_empty();
    let heading = (is_full(&server))
        .then(|| Block::Paragraph(language.phrase("The server's own processes:")));
    let server = Some(server).filter(is_full).map(Block::Table);
    std::iter::once(Block::Table(jobs)).chain(heading).chain(server).collect()
}

fn how_sampled(language: Language, waits: &Waits) -> String {
    let number = |value: f64| language.number(value, Digits::Significant(3));
    let of_a_processor = |seconds: f64| number(100.0 * seconds / waits.cost.elapsed_s);
    let (own, server) = (
        of_a_processor(waits.cost.own_cpu_s),
        waits.cost.server_cpu_s.map_or("-".into(), of_a_processor),
    );
    let (samples, due, period) =
        (waits.samples.to_string(), waits.due.to_string(), number(1e3 * waits.period_s));
    let values = [
        ("samples", samples.as_str()),
        ("due", &due),
        ("period", &period),
        ("own", &own),
        ("server", &server),
    ];
    let text = "Estimates by sampling: {samples} samples (due: {due}, every {period} ms), each of \
                which stands for an equal part of the window. Cost: {own} % of a CPU here, \
                {server} % in the database.";
    language.say(text, &values)
}

fn event_table(
    language: Language,
    name: &str,
    counts: &[&EventCount],
    waits: &Waits,
    window_s: f64,
) -> Table {
    let heads = [
        ("Event", ""),
        ("Class", ""),
        ("Activity", ""),
        ("Time", "s"),
        ("Sessions", ""),
        ("Share", "%"),
    ];
    let mut table = table(language, name, &heads);
    let figures = |weight: f64, share: f64| {
        let seconds = Cell::plain(waits.seconds(weight, window_s));
        [seconds, Cell::plain(weight / waits.samples as f64), percent(share)]
    };
    for count in counts.iter().take(TOP) {
        let event = &count.event;
        let texts = [&event.name, &event.class].map(Cell::text);
        let activity = Cell::text(language.phrase(event.activity.name()));
        table.rows.push(
            texts
                .into_iter()
                .chain([activity])
                .chain(figures(waits.weight(count), count.share))
                .collect(),
        );
    }
    let others = &counts[counts.len().min(TOP)..];
    if !others.is_empty() {
        let (weight, share) = others
            .iter()
            .fold((0.0, 0.0), |(all, share), one| (all + waits.weight(one), share + one.share));
        let texts = [Cell::text(language.phrase("others")), Cell::Empty, Cell::Empty];
        table.rows.push(texts.into_iter().chain(figures(weight, share)).collect());
    }
    table
}

/// Server log.
pub fn log(language: Language, result: &TestResult) -> Vec<Block> {
    let Some(log) = &result.server_log else { return Vec::new() };
    let checkpoints = result.counters.get("checkpoints").map(|count| {
        let count = language.number(count, Digits::Decimals(0));
        Block::Paragraph(language.say("Checkpoints during the test: {count}", &[("count", &count)]))
    });
    let text = match (&log.missing, log.lines.is_empty()) {
        (Some(why), _) => Block::Paragraph(language.phrase(why)),
        (None, true) => {
            Block::Paragraph(language.phrase("The server logged nothing during the test."))
        }
        (None, false) => {
            let more = language.count("more_lines", log.left_out as usize, &[]);
            let rest = (log.left_out > 0).then_some(more);
            let lines = log.lines.iter().cloned().chain(rest).collect::<Vec<_>>();
            Block::Code(Code {
                caption: language.phrase("From the begin to the end of the test"),
                text: lines.join("\n"),
            })
        }
    };
    let kept = log.repositories.iter().flat_map(|kept| {
        let text = Block::Code(Code {
            caption: language
                .say("Report of the repository {repository}", &[("repository", &kept.repository)]),
            text: kept.report.join("\n"),
        });
        let text = (!kept.report.is_empty()).then_some(text);
        [Block::Paragraph(kept_there(language, kept))].into_iter().chain(text)
    });
    checkpoints.into_iter().chain([text]).chain(kept).collect()
}

/// Sentence about the server's repositories that cover the time of the test.
fn kept_there(language: Language, kept: &RepositorySnapshots) -> String {
    let shown = |number: &Option<String>| number.clone().unwrap_or_else(|| "-".into());
    let (begin, end) = (shown(&kept.begin), shown(&kept.end));
    let pairs = [
        ("repository", kept.repository.as_str()),
        ("begin", begin.as_str()),
        ("end", end.as_str()),
    ];
    let text = language.say(
        "Snapshots of the repository {repository}: {begin} before the test, {end} after it",
        &pairs,
    );
    kept.missing.as_ref().map_or(text.clone(), |why| format!("{text} ({why})"))
}

/// Two tests beside one another: who they are, load, time, events, with the second in terms of the
/// first.
pub fn beside(language: Language, tests: Pair<'_>) -> Vec<Block> {
    let identity = identity(language, tests);
    let [a, b] = tests.map(|(_, _, result)| load_profile(result));
    let mut load = pair_table(language, "load profiles", "Load per second", tests, "Ratio");
    for line in &a {
        let other = b.iter().find(|other| (other.title, other.unit) == (line.title, line.unit));
        let values = [line.per_s.clone().ok(), other.and_then(|other| other.per_s.clone().ok())];
        let name = format!("{} {}", language.phrase(line.title), language.phrase(line.unit))
            .trim_end()
            .to_string();
        push_pair(&mut load, name, values, |a, b| (a != 0.0).then(|| b / a));
    }
    let mut time =
        pair_table(language, "time models", "Share of the jobs' time, %", tests, "Difference");
    let [a, b] = tests.map(|(_, _, result)| {
        let waits = result.waits.as_ref();
        let parts = waits.map(|waits| time_model::of_jobs(result, waits)).unwrap_or_default();
        let named = parts.iter().map(|part| (language.phrase(part.title), part.share));
        named.collect::<Vec<_>>()
    });
    push_shares(&mut time, &a, &b);
    let mut events = pair_table(
        language,
        "events beside",
        "Share of the time at work or waiting, %",
        tests,
        "Difference",
    );
    let [a, b] = tests.map(|(_, _, result)| {
        let counts = result.waits.iter().flat_map(Waits::of_jobs).take(TOP);
        counts
            .map(|count| (format!("{}: {}", count.event.class, count.event.name), count.share))
            .collect::<Vec<_>>()
    });
    push_shares(&mut events, &a, &b);
    [identity, load, time, events]
        .into_iter()
        .filter(|table| !table.rows.is_empty())
        .map(Block::Table)
        .collect()
}

fn label(tests: Pair<'_>, which: usize) -> String {
    let (run, test, _) = tests[which];
    format!("{} ({}:{})", if which == 0 { "A" } else { "B" }, run.id, test.seq())
}

fn identity(language: Language, tests: Pair<'_>) -> Table {
    let heads = [language.phrase("Test"), label(tests, 0), label(tests, 1)];
    let mut table = Table::new(
        language,
        "tests beside",
        heads.into_iter().map(|head| Column::new(head, "", 0)),
    );
    let mut text = |name: &str, of: &dyn Fn(&Test) -> Cell| {
        table.rows.push(vec![Cell::text(language.phrase(name)), of(tests[0].1), of(tests[1].1)]);
    };
    text("Workload", &|test| Cell::text(test.workload()));
    text("Jobs", &|test| Cell::count_if_known(test.jobs()));
    text("KPM", &|test| {
        test.kpm_value().map_or(Cell::Empty, |value| Cell::Number {
            value,
            digits: RATE,
            verdict: Some(test.status()),
        })
    });
    text("Unit", &|test| Cell::text(test.kpm().unit.as_str()));
    text("Verdict", &|test| Cell::Verdict(test.status()));
    table
}

fn pair_table(language: Language, name: &str, head: &str, tests: Pair<'_>, last: &str) -> Table {
    let heads = [head.to_string(), label(tests, 0), label(tests, 1), last.to_string()];
    Table::new(language, name, heads.into_iter().map(|head| Column::new(head, "", 0)))
}

fn push_pair(
    table: &mut Table,
    name: String,
    [a, b]: [Option<f64>; 2],
    last: impl Fn(f64, f64) -> Option<f64>,
) {
    if a.is_none() && b.is_none() {
        return;
    }
    let cell = |value: Option<f64>| value.map_or(Cell::Empty, Cell::plain);
    let last = a.zip(b).and_then(|(a, b)| last(a, b));
    table.rows.push(vec![Cell::text(name), cell(a), cell(b), cell(last)]);
}

/// Adds the shares of two tests; an event that only one has is 0 in the other, where it was
/// sampled, too.
fn push_shares(table: &mut Table, a: &[(String, f64)], b: &[(String, f64)]) {
    if a.is_empty() || b.is_empty() {
        return;
    }
    let of = |list: &[(String, f64)], name: &str| {
        list.iter().find(|(known, _)| known == name).map_or(0.0, |(_, share)| 100.0 * share)
    };
    let only_b = b.iter().filter(|(name, _)| !a.iter().any(|(known, _)| known == name));
    for (name, _) in a.iter().chain(only_b) {
        push_pair(table, name.clone(), [Some(of(a, name)), Some(of(b, name))], |a, b| Some(b - a));
    }
}
