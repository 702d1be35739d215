//! The marker of a private server's directory: that it is ours, whether it is kept, and which processes belong to it.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::home::unusable;
use super::outside;
use crate::error::{Error, Result};

/// The marker's file within the directory.
pub(super) const FILE: &str = "dbdyno.json";
const FORMAT: u32 = 1;

/// What the owner wants of the server.
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
    pub server_pid: Option<u32>,
    /// Directory under /tmp with that of the socket within, if the socket is outside: removed with the rest.
    pub socket_dir: Option<PathBuf>,
}

/// What markers of every format have.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl Marker {
    /// A marker of a directory that this process owns.
    pub(super) fn new(engine: &str, state: State, server_pid: Option<u32>, socket_dir: Option<PathBuf>) -> Marker {
        Marker { format: FORMAT, engine: engine.into(), state, owner_pid: std::process::id(), server_pid, socket_dir }
    }

    /// The marker; none if there is none. One that we do not understand is no missing one: what has none is deleted.
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
    match marker.socket_dir.as_deref().filter(|dir| !outside::has_our_name(dir)) {
        Some(other) => Err(format!("{} is no directory of ours", other.display())),
        None => Ok(marker),
    }
}

fn not_understood(directory: &Path, why: &str) -> Error {
    let what = format!("its marker {FILE} cannot be read ({why}), so the directory is left alone");
    Error::target(directory.display().to_string(), what).advise("remove it by hand, or choose another --data-dir")
}

#[cfg(test)]
mod tests {
    use super::super::home::Home;
    use super::*;

    #[test]
    fn what_a_marker_marks_that_is_not_understood_is_left_alone() {
        let newer = r#"{"format": 2, "state": "asleep"}"#;
        for (marker, word) in [("", "EOF"), ("{\"format\": 1, \"engi", "EOF"), (newer, "format 2")] {
            let dir = tempfile::tempdir().unwrap();
            let home = Home::path(dir.path(), "postgres");
            fs::create_dir(&home).unwrap();
            fs::write(home.join(FILE), marker).unwrap();
            fs::write(home.join("precious"), "x").unwrap();
            let error = Home::claim(dir.path(), "postgres").err().expect(marker);
            assert!(error.what.contains(word) && error.what.contains("left alone"), "{error}");
            assert!(home.join("precious").exists());
        }
    }
}
