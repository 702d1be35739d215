//! The marker of a private server's directory: that it is ours, whose it is, whether it is kept,
//! and where its socket is if its path would be too long within.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::unusable;
use dbdyno_core::error::{Error, Result};

/// The marker's file within the directory.
pub(super) const FILE: &str = "dbdyno.json";
const FORMAT: u32 = 1;
/// A directory of ours outside: for a socket where paths are short, for a log where file systems in
/// memory are; and the start of its name; so many random letters follow.
const SHORT_PARENT: &str = "/tmp";
pub(super) const MEMORY_PARENT: &str = "/dev/shm";
const SHORT_PREFIX: &str = "dbdyno-";
const SHORT_LETTERS: usize = 16;

/// State of the server that its owner wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// In use, or left over from a dead run.
    Running,
    /// Left on purpose (`--keep`).
    Kept,
}

/// The marker file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Marker {
    format: u32,
    engine: String,
    pub state: State,
    pub owner_pid: u32,
    /// Directory under /tmp with that of the socket within, if the socket is outside: removed with
    /// the rest.
    pub socket_dir: Option<PathBuf>,
    /// Directory in memory with the log, while it is there: removed with the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<PathBuf>,
}

/// Fields that markers of every format have.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl Marker {
    /// A marker of a directory that this process owns now, with what `known` said.
    pub(super) fn of_us(engine: &str, known: Option<Marker>) -> Marker {
        let state = known.as_ref().map_or(State::Running, |known| known.state);
        let (socket_dir, log_dir) =
            known.map_or((None, None), |known| (known.socket_dir, known.log_dir));
        Marker {
            format: FORMAT,
            engine: engine.into(),
            state,
            owner_pid: std::process::id(),
            socket_dir,
            log_dir,
        }
    }

    /// Directories of ours outside the home.
    pub(super) fn directories_elsewhere(&self) -> impl Iterator<Item = &PathBuf> {
        self.socket_dir.iter().chain(&self.log_dir)
    }

    /// The marker; none if there is none. One that we do not understand is not a missing one: what
    /// has none is deleted.
    ///
    /// # Errors
    /// Unreadable, no marker at all, one of another version.
    pub(super) fn read(directory: &Path) -> Result<Option<Marker>> {
        let text = match fs::read(directory.join(FILE)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| error.to_string()),
        };
        let marker = text.and_then(|text| parse(&text));
        marker.map(Some).map_err(|why| not_understood(directory, &why))
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// Not writable.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::target(directory.display().to_string(), error.to_string()))?;
        let temporary = directory.join("dbdyno.json.new");
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, directory.join(FILE)));
        written.map_err(|error| unusable(directory, &error))
    }
}

fn parse(text: &[u8]) -> std::result::Result<Marker, String> {
    let said = |error: serde_json::Error| error.to_string();
    let Format { format } = serde_json::from_slice(text).map_err(said)?;
    if format != FORMAT {
        return Err(format!("format {format} is of another version"));
    }
    let marker: Marker = serde_json::from_slice(text).map_err(said)?;
    let foreign = marker.directories_elsewhere().find(|dir| !has_short_name(dir)).cloned();
    match foreign {
        Some(other) => Err(format!("{} is not one of our directories", other.display())),
        None => Ok(marker),
    }
}

fn not_understood(directory: &Path, why: &str) -> Error {
    let what = format!("its marker {FILE} cannot be read ({why}), so the directory is left alone");
    Error::target(directory.display().to_string(), what)
        .advise("remove it by hand, or choose another --data-dir")
}

/// A new directory with a short path.
pub(super) fn create_short_dir() -> Result<PathBuf> {
    create_outside(SHORT_PARENT)
}

/// A new directory, ours alone. It must be new: one that another user prepared is not private.
pub(super) fn create_outside(parent: &str) -> Result<PathBuf> {
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(SHORT_PREFIX)
        .rand_bytes(SHORT_LETTERS)
        .permissions(fs::Permissions::from_mode(0o700));
    let made = builder.tempdir_in(parent).map_err(|error| unusable(Path::new(parent), &error))?;
    Ok(made.keep())
}

/// True if it may be a directory of ours outside by its name: nothing else may be used or removed
/// as such a directory.
fn has_short_name(path: &Path) -> bool {
    let letters = path.file_name().and_then(|name| name.to_str()?.strip_prefix(SHORT_PREFIX));
    let is_ours = |letters: &str| {
        letters.len() == SHORT_LETTERS && letters.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let is_there =
        [SHORT_PARENT, MEMORY_PARENT].iter().any(|parent| path.parent() == Some(Path::new(parent)));
    is_there && letters.is_some_and(is_ours)
}

/// True if it is still there and nobody else made one of that name meanwhile: who restarts a host
/// empties /tmp.
pub(super) fn is_still_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
        && belongs_to_us(path).unwrap_or(false)
}

/// True if this user made `path`, and what it leads to if it is a link.
pub(super) fn belongs_to_us(path: &Path) -> io::Result<bool> {
    let us = rustix::process::geteuid().as_raw();
    Ok(fs::symlink_metadata(path)?.uid() == us && fs::metadata(path)?.uid() == us)
}

#[cfg(test)]
mod tests {
    use super::super::server_dir::ServerDir;
    use super::*;

    #[test]
    fn what_a_marker_marks_that_is_not_understood_is_left_alone() {
        let newer = r#"{"format": 2, "state": "asleep"}"#;
        for (marker, word) in [("", "EOF"), ("{\"format\": 1, \"engi", "EOF"), (newer, "format 2")]
        {
            let dir = tempfile::tempdir().unwrap();
            let home = ServerDir::path(dir.path(), "postgres");
            fs::create_dir(&home).unwrap();
            fs::write(home.join(FILE), marker).unwrap();
            fs::write(home.join("precious"), "x").unwrap();
            let error = ServerDir::claim(dir.path(), "postgres").err().expect(marker);
            assert!(error.what.contains(word) && error.what.contains("left alone"), "{error}");
            assert!(home.join("precious").exists());
        }
    }

    #[test]
    fn only_a_short_directory_that_we_made_is_ours() {
        let made = create_short_dir().unwrap();
        assert!(has_short_name(&made) && is_still_ours(&made));
        assert_eq!(fs::metadata(&made).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir(&made).unwrap();
        assert!(!is_still_ours(&made));
        std::os::unix::fs::symlink(std::env::temp_dir(), &made).unwrap();
        assert!(!is_still_ours(&made), "a link leads elsewhere");
        fs::remove_file(&made).unwrap();
        let others = [
            "",
            "/dbdyno-",
            "/dbdyno-1",
            "/dbdyno-0123456789abcdef/..",
            "/x/dbdyno-0123456789abcdef",
        ];
        for other in
            others.map(|end| format!("/tmp{end}")).iter().map(String::as_str).chain(["/etc"])
        {
            assert!(!has_short_name(Path::new(other)), "{other}");
        }
    }
}
