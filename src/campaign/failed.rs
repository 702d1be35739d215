//! A test that could not be measured is stored too: without figures, invalid, with the reason.

use crate::error::Error;
use crate::model::{Reason, Status, TestResult, TestSpec, Verdict};

/// The record of a test that failed with `error`.
pub fn failed_test(spec: &TestSpec<'_>, started_at: String, error: &Error) -> TestResult {
    let reason = Reason::new(Status::Invalid, "failed", error.to_string());
    TestResult {
        verdict: Verdict::from_reasons(vec![reason]),
        first_error: Some(error.to_string()),
        ..TestResult::unmeasured(spec, started_at)
    }
}
