//! The limits of the workloads at their best throughput, by cause, with the place of the evidence.

use super::document::{Block, Digits};
use super::masthead::entries::DIGITS;
use super::{Input, Language, RunTests};
use dbdyno_core::analysis::bottleneck::{Bottleneck, remedy};
use dbdyno_core::analysis::ramp;
use dbdyno_core::model::{Bound, Status, Test, TestResult};

/// The limit of a workload.
struct LimitedWorkload {
    /// Code of the cause; none if none was found.
    cause: Option<&'static str>,
    label: String,
    /// `LGWR-LAT 61 %`, with the mark of its verdict.
    said: String,
    /// Number of the test within the run.
    seq: u32,
}

/// The limits as facts, a line per cause, and the command that shows the evidence; none if no
/// figure of the run can be used.
pub(super) fn blocks(input: &Input, data: &RunTests) -> Option<Vec<Block>> {
    let language = input.language;
    let all = limited_workloads(input, data);
    let example = all.iter().find(|one| one.cause.is_some())?;
    let reference = format!("{}:{}", data.run.id, example.seq);
    let command = language.say(
        "limits_evidence",
        &[("command", &format!("dbdyno report test {reference}")), ("workload", &example.label)],
    );
    Some(vec![Block::Facts(lines(language, &all)), Block::Paragraph(command)])
}

/// A line per cause, in the order of the workloads; what has no cause comes last.
fn lines(language: Language, all: &[LimitedWorkload]) -> Vec<(String, String)> {
    let mut causes: Vec<Option<&'static str>> = Vec::new();
    for one in all {
        if !causes.contains(&one.cause) {
            causes.push(one.cause);
        }
    }
    causes.sort_by_key(Option::is_none);
    let line = |cause: &Option<&'static str>| {
        let name = match cause {
            Some(code) => language.say(&format!("limit_{code}"), &[]),
            None => language.phrase("no bottleneck found"),
        };
        let of_cause = all.iter().filter(|one| one.cause == *cause);
        (name, of_cause.map(|one| one.said.as_str()).collect::<Vec<_>>().join(", "))
    };
    causes.iter().map(line).collect()
}

/// Every workload with a best throughput that is not invalid.
fn limited_workloads(input: &Input, data: &RunTests) -> Vec<LimitedWorkload> {
    let mut all = Vec::new();
    for (group, _) in input.used_groups() {
        let ramps =
            ramp::groups(data.tests.iter().filter(|test| test.group() == group), |test| *test);
        let firsts: Vec<&Test> = ramps.iter().map(|tests| tests[0]).collect();
        for tests in &ramps {
            all.extend(limit(input.language, &ramp::label(tests, &firsts), tests));
        }
    }
    all
}

fn limit(language: Language, label: &str, tests: &[&Test]) -> Option<LimitedWorkload> {
    let best = ramp::throughput(tests).filter(|best| best.status() < Status::Invalid)?;
    let measured = best.test.measured()?;
    let found = best.limit();
    let mark = if best.status() == Status::Valid { "" } else { "?" };
    let share = found.as_ref().map(|bottleneck| format!(" {} %", percent(language, bottleneck)));
    Some(LimitedWorkload {
        cause: found.map(|bottleneck| bottleneck.cause.code()),
        label: label.into(),
        said: format!("{label}{}{mark}", share.unwrap_or_default()),
        seq: measured.seq,
    })
}

/// Share of the time that a limit takes, in percent: none takes more than all of it.
pub(super) fn percent(language: Language, bottleneck: &Bottleneck) -> String {
    let share = bottleneck.share.unwrap_or(0.0).min(1.0);
    language.number(100.0 * share, Digits::Decimals(0))
}

/// A limit with its share of the time, and what its removal should bring.
pub(super) fn describe_limit(
    language: Language,
    test: &TestResult,
    bottleneck: &Bottleneck,
) -> String {
    let name = language.say(&format!("limit_{}", bottleneck.cause.code()), &[]);
    let percent = percent(language, bottleneck);
    let values = [("limit", name.as_str()), ("percent", &percent)];
    let text = language.say("bottleneck: {limit}, {percent} % of the time", &values);
    let next = remedy(test, bottleneck);
    let Some(gain) = next.gain.filter(|gain| *gain > 1.0) else { return text };
    let bound = match next.bound {
        Bound::AtLeast => "; without it x{factor} or more",
        Bound::AtMost => "; without it x{factor} at most",
        Bound::About => "; without it about x{factor}",
    };
    text + &language.say(bound, &[("factor", &language.number(gain, DIGITS))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::bottleneck::Cause;

    #[test]
    fn every_cause_has_a_name_in_every_language() {
        for language in [Language::English, Language::German] {
            for cause in Cause::ALL {
                let key = format!("limit_{}", cause.code());
                assert_ne!(language.say(&key, &[]), key);
            }
        }
    }

    #[test]
    fn causes_stand_in_the_order_of_their_workloads_and_the_unknown_ones_last() {
        let one = |cause, said: &str| LimitedWorkload {
            cause,
            label: String::new(),
            said: said.into(),
            seq: 1,
        };
        let all = [
            one(None, "DA-INDEX"),
            one(Some("cpu"), "CPU-DOUBLE 97 %"),
            one(Some("log-sync"), "LGWR-LAT 61 %?"),
            one(Some("cpu"), "SRV-SCAN 90 %"),
        ];
        let expected = [
            ("the CPU", "CPU-DOUBLE 97 %, SRV-SCAN 90 %"),
            ("the sync of the log", "LGWR-LAT 61 %?"),
            ("no bottleneck found", "DA-INDEX"),
        ];
        let expected = expected.map(|(name, said)| (name.to_string(), said.to_string()));
        assert_eq!(lines(Language::English, &all), expected);
    }
}
