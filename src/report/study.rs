//! What the reports of studies say alike.

use super::Language;
use crate::model::{ReasonCode, Status};

/// `TCP: conditional: 3 other programs were at work, 1 ...`; nothing if no verdict was lowered.
pub(super) fn conditions(language: Language, subject: &str, counted: &[(ReasonCode, usize)]) -> Option<String> {
    let said = |(code, count): &(ReasonCode, usize)| format!("{count} {}", language.code(code));
    let all = counted.iter().map(said).collect::<Vec<_>>().join(", ");
    (!counted.is_empty()).then(|| format!("{subject}: {}: {all}", language.verdict(Status::Conditional)))
}
