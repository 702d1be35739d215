//! SQLite's result codes as error classes, with advice where there is any.

use rusqlite::ErrorCode;

use crate::engine::embedded::{CHOOSE_WRITABLE, FREE_SPACE, excerpt};
use crate::engine::{EngineError, ErrorClass};

/// Most characters of a statement, or of the name of a file, that an error quotes.
const QUOTED_CHARS: usize = 80;

/// The error of `what` (a statement or a file) with its class.
#[cold]
pub(super) fn from_sqlite(error: &rusqlite::Error, what: &str) -> EngineError {
    if matches!(error, rusqlite::Error::MultipleStatement) {
        let message = format!(
            "more than one statement, of which only the first would run ({})",
            excerpt(what, QUOTED_CHARS)
        );
        return EngineError::new(ErrorClass::Statement, message)
            .advised("give each statement a block of its own");
    }
    let code = error.sqlite_error_code();
    let (class, advice) = code.map_or((ErrorClass::Statement, None), class_of);
    let extended = error.sqlite_error().map(|error| error.extended_code.to_string());
    EngineError {
        class,
        code: extended,
        message: format!("{error} ({})", excerpt(what, QUOTED_CHARS)),
        advice: advice.map(Into::into),
    }
}

fn class_of(code: ErrorCode) -> (ErrorClass, Option<&'static str>) {
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => (ErrorClass::Busy, None),
        ErrorCode::DiskFull => (ErrorClass::DiskFull, Some(FREE_SPACE)),
        ErrorCode::OperationInterrupted => (ErrorClass::Cancelled, None),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => (
            ErrorClass::Other,
            Some(
                "the file is damaged or not a SQLite database: remove it, or choose another \
                 --data-dir",
            ),
        ),
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            (ErrorClass::Privilege, Some(CHOOSE_WRITABLE))
        }
        ErrorCode::SystemIoFailure
        | ErrorCode::OutOfMemory
        | ErrorCode::FileLockingProtocolFailed => (ErrorClass::Other, None),
        _ => (ErrorClass::Statement, None),
    }
}
