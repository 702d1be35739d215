//! How far the figures can be trusted, in sentences: what is conditional or invalid is named.

use super::super::texts::Language;
use crate::model::{Status, TestResult};
use crate::report::assignments::assignments;

/// More subjects than these are counted.
const MOST_NAMED: usize = 6;

/// The sentences about the tests of a run.
pub fn sentences(language: Language, tests: &[TestResult]) -> Vec<String> {
    vec![counts(language, tests), named(language, tests, Status::Invalid), named(language, tests, Status::Conditional)]
}

/// How many tests have which verdict.
pub fn counts(language: Language, tests: &[TestResult]) -> String {
    let with = |status| tests.iter().filter(|test| test.verdict.status == status).count();
    let (valid, conditional, invalid) = (with(Status::Valid), with(Status::Conditional), with(Status::Invalid));
    if conditional + invalid == 0 {
        return language.count("all_valid", tests.len(), &[]);
    }
    let [all, valid, conditional, invalid] =
        [tests.len(), valid, conditional, invalid].map(|number| number.to_string());
    let values = [("tests", all.as_str()), ("valid", &valid), ("conditional", &conditional), ("invalid", &invalid)];
    language.say("verdicts", &values)
}

fn named(language: Language, tests: &[TestResult], status: Status) -> String {
    let found: Vec<&TestResult> = tests.iter().filter(|test| test.verdict.status == status).collect();
    let mut subjects: Vec<String> = found.iter().take(MOST_NAMED).map(|test| subject(language, test, status)).collect();
    if found.len() > MOST_NAMED {
        subjects.push(language.count("others", found.len() - MOST_NAMED, &[]));
    }
    let key = if status == Status::Invalid { "invalid" } else { "conditional" };
    match subjects.is_empty() {
        true => String::new(),
        false => language.say(key, &[("subjects", &language.list(&subjects))]),
    }
}

/// `TP-LIGHT at 2 jobs (errors)`.
fn subject(language: Language, test: &TestResult, status: Status) -> String {
    let key = match test.jobs {
        0 => "subject_unstated",
        1 => "subject_one",
        _ => "subject",
    };
    let label = format!("{} {}", test.workload, assignments(&test.chosen, " "));
    let subject = language.say(key, &[("label", label.trim_end()), ("jobs", &test.jobs.to_string())]);
    let mut reasons: Vec<&str> = Vec::new();
    for reason in test.verdict.reasons.iter().filter(|reason| reason.status == status) {
        if !reasons.contains(&reason.code.as_str()) {
            reasons.push(&reason.code);
        }
    }
    language.say("because", &[("subject", &subject), ("reasons", &reasons.join(", "))])
}
