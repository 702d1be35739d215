//! DuckDB's errors as error classes, with advice where there is any.

use std::ffi::c_char;

use crate::engine::embedded::{CHOOSE_WRITABLE, FREE_SPACE, copy_text, excerpt};
use crate::engine::{EngineError, ErrorClass};

/// Numbers of `duckdb_error_type`.
mod kinds {
    pub const TRANSACTION: u32 = 10;
    pub const CONNECTION: u32 = 21;
    pub const IO: u32 = 28;
    pub const INTERRUPT: u32 = 29;
    pub const FATAL: u32 = 30;
    pub const INTERNAL: u32 = 31;
    pub const OUT_OF_MEMORY: u32 = 33;
    pub const PERMISSION: u32 = 34;
}

/// A copy of the library's text of an error, which may be null.
///
/// # Safety
/// As for [`copy_text`].
pub(super) unsafe fn copy_message(text: *const c_char) -> String {
    // SAFETY: the caller's.
    unsafe { copy_text(text) }.unwrap_or_else(|| "DuckDB gives no reason".into())
}

/// The error of `what` (a statement or a table) of the library's `kind`, with its class.
#[cold]
pub(super) fn from_duckdb(kind: u32, message: &str, what: &str) -> EngineError {
    let (class, advice) = class_of(kind, message);
    // An internal error brings the library's stack with it.
    let message = message.split("\n\nStack Trace").next().unwrap_or_default();
    let message = format!("{} ({})", excerpt(message, 300), excerpt(what, 80));
    EngineError { class, code: None, message, advice: advice.map(Into::into) }
}

/// Error of a file that cannot be opened or attached: an unusable file, or one in use.
#[cold]
pub(super) fn unusable_file(message: &str, file: &str) -> EngineError {
    let text = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let (class, advice) = if has(&["no space left"]) {
        (ErrorClass::DiskFull, FREE_SPACE)
    } else if has(&["set lock on file"]) {
        (ErrorClass::Busy, "another process has it open: wait for it, or choose another --data-dir")
    } else if has(&["permission denied", "cannot open file", "read-only file system"]) {
        (ErrorClass::Privilege, CHOOSE_WRITABLE)
    } else {
        (
            ErrorClass::Other,
            "the file is damaged or not a DuckDB database: remove it, or choose another --data-dir",
        )
    };
    EngineError::new(class, format!("{} ({})", excerpt(message, 300), excerpt(file, 200)))
        .advised(advice)
}

fn class_of(kind: u32, message: &str) -> (ErrorClass, Option<&'static str>) {
    if message.contains("No space left on device") {
        return (ErrorClass::DiskFull, Some(FREE_SPACE));
    }
    match kind {
        // Two transactions changed the same row, or one a table that the other changed: the later
        // one is refused.
        kinds::TRANSACTION => (ErrorClass::Serialization, None),
        kinds::INTERRUPT => (ErrorClass::Cancelled, None),
        kinds::CONNECTION | kinds::FATAL => (ErrorClass::Lost, None),
        kinds::OUT_OF_MEMORY => {
            (ErrorClass::Other, Some("choose a larger --profile or a smaller --size"))
        }
        kinds::PERMISSION => (ErrorClass::Privilege, Some(CHOOSE_WRITABLE)),
        kinds::IO | kinds::INTERNAL => (ErrorClass::Other, None),
        _ => (ErrorClass::Statement, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_a_class_by_what_can_be_done() {
        let full = from_duckdb(
            kinds::IO,
            "IO Error: Could not write file \"x\":\nNo space left on device",
            "commit",
        );
        assert_eq!((full.class, full.message.lines().count()), (ErrorClass::DiskFull, 1));
        let conflict = from_duckdb(
            kinds::TRANSACTION,
            "TransactionContext Error: Conflict on update!",
            "update t",
        );
        assert!(conflict.class == ErrorClass::Serialization && conflict.class.retriable());
        assert_eq!(
            from_duckdb(14, "Parser Error: syntax error", "selct").class,
            ErrorClass::Statement
        );
        assert_eq!(
            unusable_file("IO Error: Could not set lock on file \"x\"", "x").class,
            ErrorClass::Busy
        );
    }
}
