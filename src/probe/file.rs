//! A small `/proc` file kept open and read again and again without allocating.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// An open file with its buffer.
pub(super) struct ProcFile {
    path: String,
    file: File,
    buffer: Vec<u8>,
}

impl ProcFile {
    /// Opens it; none if this system has no such file.
    pub fn open(path: impl Into<String>) -> Option<Self> {
        let path = path.into();
        let file = File::open(&path).ok()?;
        Some(ProcFile { path, file, buffer: vec![0; 4096] })
    }

    /// Its text now. The buffer doubles until the file fits.
    ///
    /// # Errors
    /// The path and what the system said.
    pub fn read(&mut self) -> Result<&str, String> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                self.buffer.resize(filled * 2, 0);
            }
            match self.file.read_at(&mut self.buffer[filled..], filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) => return Err(format!("{}: {error}", self.path)),
            }
        }
        std::str::from_utf8(&self.buffer[..filled]).map_err(|_| format!("{}: no UTF-8 text", self.path))
    }
}
