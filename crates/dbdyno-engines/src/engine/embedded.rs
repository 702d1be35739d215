//! Common parts of the embedded engines: the place of a database on this host, and texts of their
//! C libraries.

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

use super::one_line::first_chars;
use super::{ConnectTo, EngineError, ErrorClass};

/// Advice for a place that cannot be written.
pub(super) const CHOOSE_WRITABLE: &str = "choose a --data-dir that can be written";
/// Advice for a full disk.
pub(super) const FREE_SPACE: &str = "free some space, or choose another --data-dir";

/// The place of the database that is to be opened; `kind` is what the engine keeps it in, a `file`
/// or a `directory`.
///
/// # Errors
/// The target names none.
pub(super) fn place_of(target: &ConnectTo, kind: &str) -> Result<PathBuf, EngineError> {
    target
        .file
        .clone()
        .ok_or_else(|| EngineError::new(ErrorClass::Other, format!("no database {kind} is named")))
}

/// Checks that a place which does not exist yet could be created: we may write in the nearest
/// existing directory above it. Nothing is created.
///
/// # Errors
/// [`not_creatable`].
pub(super) fn check_creatable(place: &Path) -> Result<(), EngineError> {
    let existing = place.ancestors().skip(1).find(|directory| directory.is_dir());
    let needed = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    match existing.map(|directory| rustix::fs::access(directory, needed)) {
        Some(Ok(())) => Ok(()),
        Some(Err(_)) | None => Err(not_creatable(place)),
    }
}

/// The error of a place in whose directory we may not write.
#[cold]
pub(super) fn not_creatable(place: &Path) -> EngineError {
    EngineError::new(ErrorClass::Privilege, format!("{} cannot be created", place.display()))
        .advised(CHOOSE_WRITABLE)
}

/// The first `max_chars` characters of what a library reports, or of a statement, on one line.
pub(super) fn excerpt(text: &str, max_chars: usize) -> String {
    first_chars(text, max_chars, "...")
}

/// A copy of a text that a C library returned; none if `text` is null.
///
/// # Safety
/// `text` is null, or points to a text that ends in 0 and that nobody changes or frees during the
/// call.
pub(super) unsafe fn copy_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_place_can_be_created_where_the_nearest_existing_directory_can_be_written() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("new/newer/file");
        assert_eq!(check_creatable(&place), Ok(()));
        assert!(!directory.path().join("new").exists(), "nothing was created");
        let may_not_write = std::fs::Permissions::from_mode(0o500);
        std::fs::set_permissions(directory.path(), may_not_write).unwrap();
        // Root may write everywhere.
        if !crate::host::is_root() {
            assert_eq!(check_creatable(&place), Err(not_creatable(&place)));
        }
    }

    #[test]
    fn a_text_of_a_library_is_copied_and_null_is_none() {
        // SAFETY: one is a text that ends in 0, the other is null.
        let copies = unsafe { [copy_text(c"text".as_ptr()), copy_text(std::ptr::null())] };
        assert_eq!(copies, [Some("text".to_string()), None]);
    }
}
