//! ClickHouse's errors as error classes, with advice where there is any.

use std::ffi::c_char;

use crate::engine::embedded::{CHOOSE_WRITABLE, FREE_SPACE, copy_text, excerpt};
use crate::engine::{EngineError, ErrorClass};

/// Numbers of ClickHouse's error codes.
mod codes {
    pub const TIMEOUT_EXCEEDED: u32 = 159;
    pub const READONLY: u32 = 164;
    pub const ABORTED: u32 = 236;
    pub const MEMORY_LIMIT_EXCEEDED: u32 = 241;
    pub const NOT_ENOUGH_SPACE: u32 = 243;
    pub const CANNOT_SCHEDULE_TASK: u32 = 439;
    pub const QUERY_WAS_CANCELLED: u32 = 394;
}

/// A copy of the library's text of an error; none if there is no error, which a null or an empty
/// text means.
///
/// # Safety
/// As for [`copy_text`].
pub(super) unsafe fn copy_message(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's.
    unsafe { copy_text(text) }.filter(|text| !text.is_empty())
}

/// The error of `what` (a statement or a table), with its class.
#[cold]
pub(super) fn from_clickhouse(message: &str, what: &str) -> EngineError {
    let code = code_of(message);
    let (class, advice) = class_of(code, message);
    let reason = message.split_once("DB::Exception: ").map_or(message, |(_, reason)| reason);
    let message = format!("{} ({})", excerpt(reason, 300), excerpt(what, 80));
    let code = code.map(|code| code.to_string());
    EngineError { class, code, message, advice: advice.map(Into::into) }
}

/// `Code: 62. DB::Exception: Syntax error` has the code 62.
fn code_of(message: &str) -> Option<u32> {
    let rest = message.strip_prefix("Code: ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn class_of(code: Option<u32>, message: &str) -> (ErrorClass, Option<&'static str>) {
    if message.contains("No space left on device") || code == Some(codes::NOT_ENOUGH_SPACE) {
        return (ErrorClass::DiskFull, Some(FREE_SPACE));
    }
    match code {
        Some(codes::QUERY_WAS_CANCELLED | codes::ABORTED) => (ErrorClass::Cancelled, None),
        Some(codes::MEMORY_LIMIT_EXCEEDED) => {
            (ErrorClass::Other, Some("choose a larger --profile or a smaller --size"))
        }
        Some(codes::READONLY) => (ErrorClass::Privilege, Some(CHOOSE_WRITABLE)),
        Some(codes::TIMEOUT_EXCEEDED | codes::CANNOT_SCHEDULE_TASK) | None => {
            (ErrorClass::Other, None)
        }
        Some(_) => (ErrorClass::Statement, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_a_class_by_its_code() {
        let wrong = from_clickhouse(
            "Code: 62. DB::Exception: Syntax error: failed at\nposition 7. (SYNTAX_ERROR)",
            "selct 1",
        );
        assert_eq!((wrong.class, wrong.code.as_deref()), (ErrorClass::Statement, Some("62")));
        assert_eq!(wrong.message, "Syntax error: failed at position 7. (SYNTAX_ERROR) (selct 1)");
        let class = |message| from_clickhouse(message, "x").class;
        let cancelled = "Code: 394. DB::Exception: Query was cancelled. (QUERY_WAS_CANCELLED)";
        assert_eq!(class(cancelled), ErrorClass::Cancelled);
        let full = "Code: 1001. DB::Exception: write failed: No space left on device";
        assert_eq!(class(full), ErrorClass::DiskFull);
        assert_eq!(class("the engine has ended"), ErrorClass::Other);
    }
}
