//! The parts of a head that are about a run: what it is, the answer in sentences that rest on
//! accepted figures only, and how far the run can be trusted.

use std::collections::BTreeMap;

use super::super::document::Block;
use super::super::figure_doubts::FigureDoubts;
use super::super::lowered::{self, LoweringReason};
use super::super::picture::{Count, Fold, Mark, StyledText};
use super::super::{Input, Language, RunTests, cpu_quota};
use super::entries::{self, Entry, compact, headline, times_shown};
use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::ramp::Scalability;
use dbdyno_core::catalog::Form;
use dbdyno_core::model::{Status, Test};

/// Figures of the answer.
const MAX_FIGURES: usize = 3;

/// Groups of these forms come first in the answer.
const FIRST: [Form; 3] = [Form::Queries, Form::Transactions, Form::Reads];

/// Number of kinds of reasons that the fold lists one by one.
const MAX_REASONS: usize = 60;

pub(crate) fn stamp(language: Language, data: &RunTests) -> String {
    let name = data.run.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let run = language.say("run_unnamed", &[("id", &data.run.id.to_string())]);
    let start = data.run.started_at.as_deref().map(|start| {
        let day = language.date(start.split('T').next().unwrap_or(start));
        format!("{day} {}", minutes(start)).trim_end().to_string()
    });
    let cut = data.incomplete(language);
    [Some(format!("{run}{name}")), start, cut].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The hour and minute of a point in time; empty of a day.
fn minutes(iso: &str) -> String {
    match iso.split_once('T') {
        Some((_, time)) => format!("{} UTC", time.chars().take(5).collect::<String>()),
        None => String::new(),
    }
}

/// `Product 3.54.1 on 2 cores of Intel Xeon`, as far as it is disclosed, with the CPU quota of the
/// database if there is one; else the target.
pub(crate) fn title(language: Language, data: &RunTests) -> String {
    let title = platform(language, data);
    match cpu_quota::cpus(language, data) {
        Some(quota) => {
            let values = [("platform", title.as_str()), ("quota", &quota)];
            language.say("{platform} (CPU quota: {quota})", &values)
        }
        None => title,
    }
}

fn platform(language: Language, data: &RunTests) -> String {
    let fact = |section, key| data.run.disclosure.get(section, key);
    let database = product(fact("database", "version").unwrap_or(&data.run.target));
    let database = database.as_str();
    let cores = fact("hardware", "cores").and_then(|cores| cores.parse::<f64>().ok());
    let cores = cores.map(|cores| language.count("cores", cores as usize, &[]));
    let system = fact("hardware", "cpu_model").or(fact("hardware", "system")).map(bare);
    match (cores, system.as_deref()) {
        (Some(cores), Some(cpu)) => {
            let values = [("database", database), ("cores", &cores), ("cpu", cpu)];
            language.say("{database} on {cores} of {cpu}", &values)
        }
        (None, Some(cpu)) => {
            language.say("{database} on {cpu}", &[("database", database), ("cpu", cpu)])
        }
        _ => database.into(),
    }
}

/// Name and version of a product without what a distributor adds in brackets; a name in lower case
/// begins with a capital.
fn product(version: &str) -> String {
    let short = version.split(" (").next().unwrap_or(version).trim();
    let mut letters = short.chars();
    let is_name = short.contains(' ');
    match letters.next().filter(|_| is_name) {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => short.to_string(),
    }
}

/// A model without its trade marks.
fn bare(model: &str) -> String {
    let plain = ["(R)", "(TM)", "(r)", "(tm)"]
        .iter()
        .fold(model.to_string(), |text, sign| text.replace(sign, ""));
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn answer(input: &Input, data: &RunTests) -> String {
    let language = input.language;
    let groups = entries::groups(input);
    let entries: Vec<&Entry<'_>> = groups.iter().flat_map(|(_, _, entries)| entries).collect();
    sentences(&[
        figures(input, &groups),
        gains(language, &entries),
        limits(language, &entries),
        doubts(language, data),
        doubts_of_figures(language, data),
    ])
}

/// The texts that are not empty, one after the other.
pub(crate) fn sentences(texts: &[String]) -> String {
    let said = texts.iter().filter(|text| !text.is_empty()).map(String::as_str);
    said.collect::<Vec<_>>().join(" ")
}

/// The headlines that a reader looks for first.
fn figures(input: &Input, groups: &[(&str, String, Vec<Entry<'_>>)]) -> String {
    let language = input.language;
    let mut valid: Vec<(usize, &Entry<'_>)> = Vec::new();
    for (id, _, entries) in groups {
        let sound =
            |entry: &&Entry<'_>| entry.main().is_some_and(|figure| supports(figure.status()));
        let Some(entry) = headline(entries).filter(sound) else { continue };
        let form = input.form(id, entry.main().map_or("", |figure| figure.unit));
        valid.push((FIRST.iter().position(|first| *first == form).unwrap_or(FIRST.len()), entry));
    }
    valid.sort_by_key(|(place, _)| *place);
    let text = |(_, entry): &(usize, &Entry<'_>)| {
        let figure = entry.main()?;
        let value = StyledText::strong(&format!(
            "{}\u{a0}{}",
            compact(language, figure.value),
            figure.unit
        ));
        let jobs = language.jobs(figure.jobs);
        let values = [("figure", value.as_str()), ("label", &entry.row.label), ("jobs", &jobs)];
        Some(language.say("{figure} {label} at {jobs}", &values))
    };
    let texts: Vec<String> = valid.iter().filter_map(text).take(MAX_FIGURES).collect();
    match texts.is_empty() {
        true => language.phrase("No figure of this run is valid."),
        false => format!("{}.", texts.join(", ")),
    }
}

fn gains(language: Language, entries: &[&Entry<'_>]) -> String {
    let all: Vec<Scalability> = entries.iter().filter_map(|entry| entry.gain()).collect();
    let open = all.iter().filter(|gain| gain.gains().is_none()).count();
    let gained: Vec<f64> =
        all.iter().filter(|gain| gain.gains() == Some(true)).map(|gain| gain.factor).collect();
    let most = gained.iter().copied().fold(0.0, f64::max);
    let values = [
        ("gained", gained.len().to_string()),
        ("count", all.len().to_string()),
        ("most", StyledText::strong(&times_shown(language, most))),
        ("open", open.to_string()),
    ];
    let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
    let told = match (open == all.len(), gained.is_empty()) {
        (true, _) => None,
        (_, true) => {
            Some("No valid ramp is known to do more with more jobs than one, beyond the noise.")
        }
        _ => Some(
            "{gained} of {count} valid ramps do more with more jobs than one, beyond the noise, \
             at most {most}.",
        ),
    };
    let untold = (open > 0).then_some(
        "For {open} of {count} valid ramps it is not known whether more jobs do more: a figure \
         has no interval.",
    );
    let sentences = told.into_iter().chain(untold);
    sentences.map(|text| language.say(text, &values)).collect::<Vec<_>>().join(" ")
}

/// Limit of most of the valid best throughputs; all of those that limit equally many.
fn limits(language: Language, entries: &[&Entry<'_>]) -> String {
    let valid =
        entries.iter().filter_map(|entry| entry.best.filter(|best| supports(best.status())));
    let measured: Vec<Figure<'_>> = valid.filter(|best| best.test.measured().is_some()).collect();
    let mut causes: BTreeMap<_, usize> = BTreeMap::new();
    for limit in measured.iter().filter_map(Figure::limit) {
        *causes.entry(limit.cause).or_default() += 1;
    }
    let Some(most) = causes.values().copied().max() else { return String::new() };
    let foremost = causes.into_iter().filter(|(_, count)| *count == most);
    let names: Vec<String> = foremost
        .map(|(cause, _)| language.say(&format!("limit_{}", cause.code()), &[]))
        .map(|name| StyledText::strong(&name))
        .collect();
    let text = match names.len() {
        1 => "What limited most was {limit}: {count} of {all} valid throughputs.",
        _ => "What limited most were {limit}: {count} of {all} valid throughputs each.",
    };
    let (count, all) = (most.to_string(), measured.len().to_string());
    let limit = language.list(&names);
    let values = [("limit", limit.as_str()), ("count", &count), ("all", &all)];
    language.say(text, &values)
}

/// Sentence about everything that the sentences leave out.
fn doubts(language: Language, data: &RunTests) -> String {
    let disturbed = data.tests.iter().filter(|test| test.verdict().has_disturbance()).count();
    let lowered = data.tests.iter().filter(|test| test.status() > Status::Valid).count();
    let (all, disturbed) = (lowered.to_string(), disturbed.to_string());
    let strong = StyledText::strong(&all);
    let values = [
        ("lowered", strong.as_str()),
        ("tests", &data.tests.len().to_string()),
        ("disturbed", &disturbed),
    ];
    match (lowered, disturbed.as_str()) {
        (0, _) => String::new(),
        (_, "0") => language.say(
            "{lowered} of {tests} tests are not valid: they are marked below, and no sentence here \
             rests on them.",
            &values[..2],
        ),
        _ => language.say(
            "{lowered} of {tests} tests are not valid, {disturbed} of them because of what others \
             did on the machine: they are marked below, and no sentence here rests on them.",
            &values,
        ),
    }
}

/// Sentence about figures that are not valid although their tests are; empty if there is none.
fn doubts_of_figures(language: Language, data: &RunTests) -> String {
    let doubts = FigureDoubts::new(&data.tests);
    if doubts.count == 0 {
        return String::new();
    }
    let count = StyledText::strong(&doubts.count.to_string());
    let values = [("count", count.as_str()), ("all", &doubts.all.to_string())];
    language.say(
        "Not valid although their tests are: {count} of {all} figures, which are marked below, and \
         no sentence here rests on them.",
        &values,
    )
}

/// Folds with the reasons why tests of a run are not valid, and why figures are not.
pub(crate) fn folds(language: Language, data: &RunTests) -> Vec<Fold> {
    let of_tests = reasons(language, &data.tests);
    of_tests.into_iter().chain(figure_reasons(language, data)).collect()
}

/// A fold with what lowers figures whose tests are valid: each reason once with the figures that it
/// is about.
fn figure_reasons(language: Language, data: &RunTests) -> Option<Fold> {
    let told =
        lowered::remarks(language, &FigureDoubts::new(&data.tests).lowering_reasons(language));
    (!told.is_empty()).then(|| Fold {
        title: language.phrase("Why figures of valid tests are not valid"),
        is_open: false,
        blocks: told.into_iter().map(Block::Paragraph).collect(),
    })
}

/// Number of tests by verdict; the disturbed ones are among the conditional.
pub(crate) fn counts(language: Language, tests: &[Test]) -> Vec<Count> {
    let with = |status| tests.iter().filter(|test| test.status() == status).count();
    let disturbed = tests.iter().filter(|test| test.verdict().has_disturbance()).count();
    let counted = [Status::Valid, Status::Conditional, Status::Invalid].map(|status| Count {
        mark: status.into(),
        count: with(status),
        word: language.verdict(status),
    });
    let word = language.phrase("of these disturbed");
    let disturbed = Count { mark: Mark::Disturbed, count: disturbed, word };
    counted.into_iter().chain((disturbed.count > 0).then_some(disturbed)).collect()
}

/// The reasons that lowered verdicts, each once with the tests that it is about and the span of its
/// numbers.
pub(crate) fn reasons(language: Language, tests: &[Test]) -> Option<Fold> {
    let lowered: Vec<LoweringReason> = tests
        .iter()
        .flat_map(|test| {
            let subject = format!("{} ({})", test.workload(), language.jobs(test.jobs()));
            lowered::of_verdict(&subject, test.verdict())
        })
        .collect();
    let mut told = lowered::remarks(language, &lowered);
    let more = told.len().saturating_sub(MAX_REASONS);
    told.truncate(MAX_REASONS);
    let more = (more > 0).then(|| Block::Paragraph(language.count("more", more, &[])));
    let title = language.count(
        "lowered",
        tests.iter().filter(|test| test.status() > Status::Valid).count(),
        &[],
    );
    (!told.is_empty()).then(|| Fold {
        title,
        is_open: false,
        blocks: told.into_iter().map(Block::Paragraph).chain(more).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::{at, counters};
    use dbdyno_core::model::TestResult;

    /// The sentence about the limits of workloads that keep all CPUs busy, and of others that wait
    /// for the log.
    fn said(busy: usize, waiting: usize) -> String {
        let of_processors =
            counters(&[("os_cpu_total_s", 20.0), ("os_cpu_idle_s", 0.0), ("server_cpu_s", 19.0)]);
        let of_log = counters(&[("wal_sync_time_ms", 20_000.0), ("wal_syncs", 100.0)]);
        let test = |number: usize| {
            let workload = format!("W{number}");
            let result = TestResult { workload, ..at(2, 100.0) };
            Test::from(match number < busy {
                true => TestResult { window_counters: of_processors.clone(), ..result },
                false => TestResult { counters: of_log.clone(), ..result },
            })
        };
        let tests = (0..busy + waiting).map(test).collect();
        let runs = vec![RunTests { run: run("a"), tests }];
        let input = Input { runs, ..Input::default() };
        let groups = entries::groups(&input);
        let entries: Vec<&Entry<'_>> = groups.iter().flat_map(|(_, _, entries)| entries).collect();
        let told = StyledText::sentence(&limits(Language::English, &entries));
        told.iter().map(|part| part.text.as_str()).collect()
    }

    #[test]
    fn limits_of_equally_many_workloads_are_all_named() {
        assert_eq!(said(2, 1), "What limited most was the CPU: 2 of 3 valid throughputs.");
        let both = "What limited most were the CPU and the sync of the log: 1 of 2 valid \
                    throughputs each.";
        assert_eq!(said(1, 1), both);
        assert_eq!(said(0, 0), "");
    }
}
