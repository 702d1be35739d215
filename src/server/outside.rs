//! Directory of a socket whose path within the home would be too long: a short one under /tmp, ours alone.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::home::{belongs_to_us, unusable};
use crate::error::Result;

const PARENT: &str = "/tmp";
const PREFIX: &str = "dbdyno-";
/// Hexadecimal digits after the prefix: nobody can guess them in time.
const DIGITS: usize = 16;

/// A new directory. It must be new: one that another user prepared is not private.
pub(super) fn create() -> Result<PathBuf> {
    let mut random = [0; DIGITS / 2];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random));
    read.map_err(|error| unusable(Path::new("/dev/urandom"), &error))?;
    let path = Path::new(PARENT).join(format!("{PREFIX}{:016x}", u64::from_ne_bytes(random)));
    let made = fs::DirBuilder::new().mode(0o700).create(&path);
    made.map_err(|error| unusable(&path, &error)).map(|()| path)
}

/// True if [`create`] could have given this name: nothing else may be used or removed as such a directory.
pub(super) fn has_our_name(path: &Path) -> bool {
    let digits = path.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX));
    path.parent() == Some(Path::new(PARENT))
        && digits.is_some_and(|digits| digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// True if it is still there and nobody else made one of that name meanwhile: who restarts a host empties /tmp.
pub(super) fn is_still_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) && belongs_to_us(path).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_that_we_made_is_ours() {
        let made = create().unwrap();
        assert!(has_our_name(&made) && is_still_ours(&made));
        fs::remove_dir(&made).unwrap();
        assert!(!is_still_ours(&made));
        std::os::unix::fs::symlink(std::env::temp_dir(), &made).unwrap();
        assert!(!is_still_ours(&made), "a link leads elsewhere");
        fs::remove_file(&made).unwrap();
        for other in [
            "/etc",
            "/tmp",
            "/tmp/dbdyno-",
            "/tmp/dbdyno-1",
            "/tmp/dbdyno-0123456789abcdef/..",
            "/tmp/x/dbdyno-0123456789abcdef",
        ] {
            assert!(!has_our_name(Path::new(other)), "{other}");
        }
    }
}
