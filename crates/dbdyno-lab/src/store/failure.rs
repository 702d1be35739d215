//! Failures of the results file in words: what happened and what to do, one line.

use std::path::Path;

use rusqlite::ErrorCode;

use dbdyno_core::error::{Error, Kind};

/// The error for the user from an error of SQLite on the file at `path`.
pub fn explain(path: &Path, error: &rusqlite::Error) -> Error {
    let place = place(path);
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            Error::usage(place, "is not a dbdyno results file, or its beginning is damaged")
                .advise(OTHER_FILE)
        }
        Some(ErrorCode::DatabaseCorrupt) => damaged_error(&place, "the file is damaged"),
        Some(ErrorCode::DiskFull) => Error::target(place, "the disk is full")
            .advise("free space or give another file with --results"),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            unwritable(path, &cause(error))
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::target(place, "another process keeps the file locked")
                .advise("wait until it has finished")
        }
        Some(ErrorCode::SystemIoFailure) => {
            Error::target(place, format!("the file cannot be read or written ({})", cause(error)))
                .advise("check disk and file system, or give another file with --results")
        }
        _ => Error::target(place, format!("the results file failed ({error})")).advise(OTHER_FILE),
    }
}

const OTHER_FILE: &str = "give another file with --results";

/// SQLite's own words, without the file name that the message already has.
fn cause(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => {
            text.split(": /").next().unwrap_or(text).to_owned()
        }
        other => other.to_string(),
    }
}

/// The file holds something that cannot be what we wrote.
pub fn damaged_error(place: &str, what: &str) -> Error {
    Error::usage(place, format!("damaged results file ({what})"))
        .advise("restore it from a copy, or move it away and start a new one")
}

/// The error of opening a file that is only to be read.
pub fn cannot_read(path: &Path, error: &rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            let what = format!("the results file cannot be read ({})", cause(error));
            Error::target(place(path), what).advise(
                "copy it, with the -wal file beside it if there is one, to where you may \
                         write, and name the copy with --results",
            )
        }
        _ => explain(path, error),
    }
}

/// The file or its directory cannot be written.
pub fn unwritable(path: &Path, why: &str) -> Error {
    Error::new(Kind::Target, place(path), format!("the results file cannot be written ({why})"))
        .advise("give a file in a directory that you may write with --results")
}

/// Name of the file in errors.
pub fn place(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_and_a_lock_are_the_target_s_fault_and_say_what_to_do() {
        let failure = |code| rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let cases =
            [(rusqlite::ffi::SQLITE_FULL, "disk is full"), (rusqlite::ffi::SQLITE_BUSY, "locked")];
        for (code, words) in cases {
            let error = explain(Path::new("r.db"), &failure(code));
            assert!(
                error.kind == Kind::Target
                    && error.what.contains(words)
                    && !error.advice.is_empty(),
                "{error}"
            );
        }
    }

    #[test]
    fn the_file_is_not_named_twice() {
        let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        let error = rusqlite::Error::SqliteFailure(
            full,
            Some("unable to open database file: /a/b.db".into()),
        );
        assert_eq!(explain(Path::new("/a/b.db"), &error).to_string().matches("/a/b.db").count(), 1);
    }
}
