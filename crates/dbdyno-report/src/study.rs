//! Common parts of the reports of studies.

use super::Language;
use dbdyno_core::model::ReasonCode;

/// `TCP: lowered verdicts: 3 other programs were at work, 1 ...`; nothing if no verdict was
/// lowered. They may be of tests that are used and of tests that are not.
pub(super) fn conditions(
    language: Language,
    subject: &str,
    counted: &[(ReasonCode, usize)],
) -> Option<String> {
    let said = |(code, count): &(ReasonCode, usize)| format!("{count} {}", language.code(code));
    let all = counted.iter().map(said).collect::<Vec<_>>().join(", ");
    let values = [("subject", subject), ("all", all.as_str())];
    (!counted.is_empty()).then(|| language.say("{subject}: lowered verdicts: {all}", &values))
}
