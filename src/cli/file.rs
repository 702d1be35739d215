//! Files that commands write: never the results file, and whole or not at all.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::context::Context;
use super::paths;
use crate::error::{Error, Kind, Result};
use crate::host::leads_where_others_want;
use crate::store::files_of;

/// Maximum size of a file written by hand, which has some hundred bytes; an endless one has more.
const MAX_BYTES: u64 = 1_000_000;

/// Reads a file that people write by hand; `what` it is too large for is named: `for a price list`.
///
/// # Errors
/// Of usage, with the file.
pub fn read_small(path: &Path, what: &str) -> Result<String> {
    let unreadable = |why: &str| {
        Error::usage(path.display().to_string(), format!("cannot be read: {why}"))
            .advise("name a text file")
    };
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)) {
        Err(error) => Err(unreadable(&error.to_string())),
        Ok(count) if count as u64 > MAX_BYTES => {
            Err(unreadable(&format!("it is too large {what}")))
        }
        Ok(_) => Ok(text),
    }
}

/// Reads a file of at most this many bytes.
///
/// # Errors
/// Of usage, with the file.
pub fn read_bytes(path: &Path, most: usize) -> Result<Vec<u8>> {
    let place = || path.display().to_string();
    let mut content = Vec::new();
    match File::open(path).and_then(|file| file.take(most as u64 + 1).read_to_end(&mut content)) {
        Ok(count) if count > most => {
            Err(Error::usage(place(), format!("is larger than {most} bytes"))
                .advise("name a smaller file"))
        }
        Ok(_) => Ok(content),
        Err(error) => {
            Err(Error::usage(place(), format!("cannot be read: {error}"))
                .advise("name another file"))
        }
    }
}

/// `file:line` of a byte of its text.
pub fn line_of(path: &Path, text: &str, offset: usize) -> String {
    let line = 1 + text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count();
    format!("{}:{line}", path.display())
}

/// Writes a file.
///
/// # Errors
/// As [`stream`].
pub fn write(context: &Context, path: &Path, content: &[u8]) -> Result<()> {
    stream(context, path, |file| file.write_all(content).map_err(|error| unwritten(path, &error)))
}

/// Writes a file as its content comes. A former file stays until the new one is complete.
///
/// # Errors
/// Of the content; if the file cannot be written or is the results file.
pub fn stream<T>(
    context: &Context,
    path: &Path,
    content: impl FnOnce(&mut File) -> Result<T>,
) -> Result<T> {
    refuse_results(context, path)?;
    check_parent(path)?;
    if leads_where_others_want(path).map_err(|error| unwritten(path, &error))? {
        let what = "leads by a link that somebody else made in a directory open to everybody";
        return Err(Error::usage(path.display().to_string(), what)
            .advise("name the file itself, or one in a directory of your own"));
    }
    // A link goes on pointing to what is written.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let failed = |error: io::Error| unwritten(path, &error);
    match new_beside(&target).map_err(failed)? {
        None => content(&mut File::create(&target).map_err(failed)?),
        Some((beside, mut file)) => {
            let written = content(&mut file);
            let placed = written
                .and_then(|value| place(&file, &beside, &target).map(|()| value).map_err(failed));
            // It is gone if all went well.
            let _ = fs::remove_file(&beside);
            placed
        }
    }
}

/// Refuses the file that holds the runs, under whatever name.
///
/// # Errors
/// If it is that file, or one that belongs to it.
pub fn refuse_results(context: &Context, path: &Path) -> Result<()> {
    let results = paths::results_file(context.global.results.as_ref());
    match files_of(&results).iter().any(|part| is_same(part, path)) {
        true => Err(Error::usage(
            path.display().to_string(),
            "belongs to the results file, which holds all runs",
        )
        .advise("name another file")),
        false => Ok(()),
    }
}

/// Refuses a file in a directory that is not there.
///
/// # Errors
/// Of usage, with the directory.
pub fn check_parent(path: &Path) -> Result<()> {
    paths::check_parent(path, "--output").map_err(|error| Error { kind: Kind::Usage, ..error })
}

/// True for one name, and for two names of one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let names = [one, other].map(|path| std::path::absolute(path).ok());
    let files = [one, other].map(|path| path.metadata().ok().map(|file| (file.dev(), file.ino())));
    (names[0].is_some() && names[0] == names[1]) || (files[0].is_some() && files[0] == files[1])
}

/// A new file in the directory of `target`; none if `target` must be written in place: a device or
/// a pipe, or a file in a directory that takes no other.
fn new_beside(target: &Path) -> io::Result<Option<(PathBuf, File)>> {
    if target.metadata().is_ok_and(|former| !former.is_file()) {
        return Ok(None);
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = target.with_file_name(format!(".{name}.{}.new", std::process::id()));
    match File::create_new(&beside) {
        Ok(file) => Ok(Some((beside, file))),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Puts a complete file in the place of the former one, whose permissions it takes over.
fn place(file: &File, beside: &Path, target: &Path) -> io::Result<()> {
    // The permissions of a file of another user are not meant for ours.
    let is_own = |former: &fs::Metadata| file.metadata().is_ok_and(|new| new.uid() == former.uid());
    if let Some(former) = target.metadata().ok().filter(is_own) {
        file.set_permissions(former.permissions())?;
    }
    file.sync_all()?;
    // A file that is mounted by itself, as in a container, can be filled but not replaced.
    fs::rename(beside, target).or_else(|_| fs::copy(beside, target).map(|_| ()))
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::usage(path.display().to_string(), format!("cannot be written: {error}"))
        .advise("name another file")
}
