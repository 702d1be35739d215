//! Rate at which a file system brings small writes to durable storage: the most that a log writer
//! on it can do.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

/// Bytes of a write: a block of a log.
const BLOCK: usize = 8192;
/// Blocks of the file, which is written once before: a log's file has its space already.
const BLOCKS: u64 = 32;

/// Way in which a write is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// `write`, then `fdatasync`.
    Fdatasync,
    /// A file that was opened with `O_DSYNC`.
    Dsync,
}

/// Durable writes per second of `threads` threads together, each in a file of its own in `dir`,
/// which is removed again.
///
/// # Errors
/// If no file can be made there or written.
pub fn sync_rate(dir: &Path, how: Sync, threads: u32, during: Duration) -> io::Result<f64> {
    let files = (0..threads).map(|_| LogFile::new(dir, how)).collect::<io::Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        let start = |file| Builder::new().spawn_scoped(scope, move || LogFile::rate(file, during));
        let threads = files.iter().map(start).collect::<io::Result<Vec<_>>>()?;
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("panicked"))));
        ended.sum()
    })
}

/// Durable writes, one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SyncTimes {
    /// Their number.
    pub writes: u64,
    /// Time that all of them took.
    pub elapsed_s: f64,
}

/// A file of dbdyno's own to which small durable writes are made again and again. It has no name
/// and ends with its last user.
#[derive(Debug)]
pub struct SyncFile(LogFile);

impl SyncFile {
    /// A file in `dir`.
    ///
    /// # Errors
    /// If no file can be made there or written.
    pub fn new(dir: &Path) -> io::Result<SyncFile> {
        LogFile::new(dir, Sync::Fdatasync).map(SyncFile)
    }

    /// Writes for so long, and at least so many times.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, during: Duration, fewest: u64) -> io::Result<SyncTimes> {
        self.0.write(during, fewest)
    }
}

/// A file as a log writer has it.
#[derive(Debug)]
struct LogFile {
    file: File,
    how: Sync,
}

impl LogFile {
    fn new(dir: &Path, how: Sync) -> io::Result<LogFile> {
        let named = tempfile::Builder::new().prefix("dbdyno-sync-").tempfile_in(dir)?;
        let flags =
            OFlags::WRONLY | if how == Sync::Dsync { OFlags::DSYNC } else { OFlags::empty() };
        let file =
            LogFile { file: rustix::fs::open(named.path(), flags, Mode::empty())?.into(), how };
        drop(named); // the name goes, the file stays until it is closed, however we end
        file.file.write_all_at(&vec![1; BLOCK * BLOCKS as usize], 0)?;
        file.file.sync_all()?;
        Ok(file)
    }

    fn rate(&self, during: Duration) -> io::Result<f64> {
        let SyncTimes { writes, elapsed_s } = self.write(during, 1)?;
        Ok(writes as f64 / elapsed_s)
    }

    fn write(&self, during: Duration, fewest: u64) -> io::Result<SyncTimes> {
        let (began, block) = (Instant::now(), [2; BLOCK]);
        let mut writes: u64 = 0;
        while writes < fewest || began.elapsed() < during {
            self.file.write_all_at(&block, (writes % BLOCKS) * BLOCK as u64)?;
            if self.how == Sync::Fdatasync {
                self.file.sync_data()?;
            }
            writes += 1;
        }
        Ok(SyncTimes { writes, elapsed_s: began.elapsed().as_secs_f64() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_a_rate_and_nothing_is_left_in_it() {
        let dir = tempfile::tempdir().unwrap();
        for how in [Sync::Fdatasync, Sync::Dsync] {
            let rate = sync_rate(dir.path(), how, 2, Duration::from_millis(5)).unwrap();
            assert!(rate > 0.0 && rate.is_finite(), "{how:?}: {rate}");
        }
        let file = SyncFile::new(dir.path()).unwrap();
        let times = file.write(Duration::ZERO, 3).unwrap();
        assert!(times.writes == 3 && times.elapsed_s > 0.0, "{times:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(sync_rate(&dir.path().join("none"), Sync::Dsync, 1, Duration::ZERO).is_err());
    }
}
