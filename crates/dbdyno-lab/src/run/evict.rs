//! Every test begins with a known state of the operating system's cache, whatever ran before it.
//!
//! Not cached means not cached: puts the files of tables out of it, before a test and again and
//! again during it. Whether that worked is measured, not assumed: the device's reads are counted
//! (see `analysis::tiers`). Files of other tables are read in.

use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::fs::{Advice, fadvise};

use super::{Event, Sink};
use crate::dataset::{self, Site, Table};
use dbdyno_core::error::Result;
use dbdyno_engines::engine::threads;
use dbdyno_engines::host::{is_in_memory, machine_memory_bytes};

/// Shortest and longest time between two rounds during a test.
const INTERVAL: RangeInclusive<Duration> = Duration::from_millis(5)..=Duration::from_millis(50);
/// No scan goes through files faster than this: a block is put out before the next scan comes to
/// it.
const SCAN_BYTES_PER_S: f64 = 4e9;

/// What became of files that were to be put out of the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Eviction {
    /// They were put out.
    Done,
    /// There are none on this host, or where they lie nothing can be put out.
    Impossible,
    /// The first error.
    Failed(String),
}

impl Eviction {
    /// True if the files were put out.
    pub fn is_done(&self) -> bool {
        *self == Eviction::Done
    }
}

/// Note on a run whose files could not be put out of the cache. What prevents it in one test does in
/// the others, so that it is given once; each test knows by itself what became of its files.
#[derive(Debug, Default)]
pub struct EvictionNote {
    is_given: AtomicBool,
}

impl EvictionNote {
    /// Gives the note with the reason, unless the run had it before.
    pub fn give(&self, why: &str, events: &Sink<'_>) {
        if !self.is_given.swap(true, Ordering::Relaxed) {
            let note = "files of tables were not evicted from the operating system's cache";
            events(Event::Note(&format!("{note}: {why}")));
        }
    }
}

/// Files that are to be read from the device.
#[derive(Debug, Default)]
pub struct Evictor {
    files: Vec<PathBuf>,
}

impl Evictor {
    /// The files of these tables; none if the database's files are not on this host.
    ///
    /// # Errors
    /// The engine's.
    pub fn for_tables(site: &Site<'_>, tables: &[Table]) -> Result<Evictor> {
        let mut files = Vec::new();
        for table in tables {
            files.extend(dataset::files(site, table)?);
        }
        Ok(Evictor { files })
    }

    /// Writes what is not yet on the device, puts the files out of the cache and keeps them out
    /// while `test` runs, if memory could hold them. Gives what `test` gave, and what became of the
    /// files.
    pub fn around<T>(&self, test: impl FnOnce() -> T) -> (T, Eviction) {
        let opened = match self.opened() {
            Ok(opened) => opened,
            Err(why) => return (test(), Eviction::Failed(why)),
        };
        let synced = opened.iter().all(|file| file.sync_data().is_ok());
        let is_out =
            !opened.is_empty() && synced && !opened.iter().any(is_in_memory) && evict(&opened);
        if is_out && bytes(&opened) <= machine_memory_bytes() {
            return while_evicting(&opened, test);
        }
        // The jobs of the test need files, too.
        drop(opened);
        (test(), if is_out { Eviction::Done } else { Eviction::Impossible })
    }

    /// All of the files, or the first error.
    fn opened(&self) -> std::result::Result<Vec<File>, String> {
        let open = |path: &PathBuf| {
            File::open(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        self.files.iter().map(open).collect()
    }
}

/// Bytes that are read into the operating system's cache at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// Reads files into the operating system's cache, until `is_over`: each from its end to its begin,
/// so that where memory does not hold all, it holds the start of the last, from which the active
/// part of a table grows. A file that cannot be read is left out: what the test finds is what the
/// tiers tell.
pub fn read_in(files: &[PathBuf], is_over: impl Fn() -> bool) {
    let opened: Vec<File> = files.iter().filter_map(|path| File::open(path).ok()).collect();
    let lengths: Vec<u64> =
        opened.iter().map(|file| file.metadata().map_or(0, |metadata| metadata.len())).collect();
    let mut chunk = vec![0; CHUNK_BYTES as usize];
    for (file, offset) in backwards(&lengths, machine_memory_bytes()) {
        if is_over() {
            return;
        }
        let _ = opened[file].read_at(&mut chunk, offset);
    }
}

/// Numbers of files of these lengths, each with the offsets of its chunks, from the last to the
/// first; of all those of the end that so many bytes hold.
fn backwards(lengths: &[u64], most_bytes: u64) -> Vec<(usize, u64)> {
    let of_file = |(file, length): (usize, &u64)| {
        (0..length.div_ceil(CHUNK_BYTES))
            .rev()
            .map(move |chunk| (file, chunk * CHUNK_BYTES))
            .collect::<Vec<_>>()
    };
    let all: Vec<_> = lengths.iter().enumerate().flat_map(of_file).collect();
    let most = usize::try_from(most_bytes / CHUNK_BYTES).unwrap_or(usize::MAX);
    all[all.len().saturating_sub(most)..].to_vec()
}

/// Time between two rounds: shorter than one scan of so many bytes, else the next finds in the
/// cache what this one read.
fn interval(bytes: u64) -> Duration {
    let scan = Duration::from_secs_f64(bytes as f64 / SCAN_BYTES_PER_S);
    scan.clamp(*INTERVAL.start(), *INTERVAL.end())
}

/// Puts the files out; false if the file system does not know how.
fn evict(files: &[File]) -> bool {
    files.iter().all(|file| fadvise(file, 0, None, Advice::DontNeed).is_ok())
}

fn bytes(files: &[File]) -> u64 {
    files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
}

/// Gives what `test` gave, and whether there was a thread to keep the files out meanwhile.
fn while_evicting<T>(files: &[File], test: impl FnOnce() -> T) -> (T, Eviction) {
    let (ended, wake, interval) = (Mutex::new(false), Condvar::new(), interval(bytes(files)));
    std::thread::scope(|scope| {
        let rounds = threads::start(scope, || {
            let mut over = ended.lock();
            while !*over {
                evict(files);
                wake.wait_for(&mut over, interval);
            }
        });
        let _ending = Ending { ended: &ended, wake: &wake };
        let eviction = match rounds {
            Ok(_) => Eviction::Done,
            Err(error) => Eviction::Failed(error.to_string()),
        };
        (test(), eviction)
    })
}

/// Ends the rounds, also when the test panics.
struct Ending<'a> {
    ended: &'a Mutex<bool>,
    wake: &'a Condvar,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.ended.lock() = true;
        self.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_files_were_not_put_out_is_noted_once_in_a_run() {
        let told = Mutex::new(Vec::new());
        let events = |event: Event<'_>| {
            let Event::Note(text) = event else { return };
            told.lock().push(text.to_string());
        };
        let note = EvictionNote::default();
        ["a/1: Permission denied", "a/2: Permission denied"]
            .iter()
            .for_each(|why| note.give(why, &events));
        let said = "files of tables were not evicted from the operating system's cache: a/1: \
                    Permission denied";
        assert_eq!(told.into_inner(), [said]);
    }

    #[test]
    fn a_file_is_written_and_stays_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        std::fs::write(&path, vec![7_u8; 1 << 20]).unwrap();
        let evictor = Evictor { files: vec![path.clone()] };
        let (read, _) = evictor.around(|| std::fs::read(&path).unwrap());
        assert_eq!(read, vec![7_u8; 1 << 20]);
    }

    #[test]
    fn a_table_is_put_out_more_often_than_it_can_be_scanned() {
        assert_eq!(interval(32_000_000), Duration::from_millis(8), "1.3 GB/s take 25 ms");
        assert_eq!(
            [interval(0), interval(1 << 40)],
            [Duration::from_millis(5), Duration::from_millis(50)]
        );
    }

    #[test]
    fn files_in_memory_cannot_be_put_out() {
        let memory = tempfile::tempfile_in("/dev/shm").unwrap();
        let other = File::open("/proc/self/stat").unwrap();
        assert_eq!([is_in_memory(&memory), is_in_memory(&other)], [true, false]);
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("table");
        std::fs::write(&path, [7; 4096]).unwrap();
        let evictor = Evictor { files: vec![path] };
        assert_eq!(evictor.around(|| 7), (7, Eviction::Impossible));
    }

    #[test]
    fn files_are_read_in_to_their_end_unless_there_is_no_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table");
        std::fs::write(&path, vec![7_u8; 5 << 20]).unwrap();
        let chunks = |limit: usize| {
            let asked = std::cell::Cell::new(0);
            read_in(&["/nowhere/at/all".into(), path.clone()], || {
                asked.replace(asked.get() + 1) >= limit
            });
            asked.get()
        };
        assert_eq!([chunks(usize::MAX), chunks(0), chunks(2)], [5, 1, 3]);
    }

    #[test]
    fn the_begin_of_the_last_file_is_read_last() {
        const MB: u64 = CHUNK_BYTES;
        assert_eq!(backwards(&[MB + 1, 2 * MB], u64::MAX), [(0, MB), (0, 0), (1, MB), (1, 0)]);
        assert_eq!(
            backwards(&[MB + 1, 0, 2 * MB], 3 * MB),
            [(0, 0), (2, MB), (2, 0)],
            "what memory holds"
        );
    }

    #[test]
    fn without_files_or_with_one_that_is_gone_nothing_is_put_out() {
        assert_eq!(Evictor::default().around(|| 5), (5, Eviction::Impossible));
        let gone = Evictor { files: vec!["/proc/self/stat".into(), "/nowhere/at/all".into()] };
        let (given, eviction) = gone.around(|| 6);
        let Eviction::Failed(why) = &eviction else { panic!("{eviction:?}") };
        assert!(given == 6 && why.starts_with("/nowhere/at/all: No such file"), "{why}");
    }

    #[test]
    fn files_that_are_not_put_out_again_are_closed_while_the_test_runs() {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = dir.path().join("table-that-is-closed");
        std::fs::write(&path, [7; 4096]).unwrap();
        let is_open = || {
            let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            let mut files = open.filter_map(|one| std::fs::read_link(one.path()).ok());
            files.any(|file| file == path)
        };
        let held = File::open(&path).unwrap();
        assert!(is_open());
        drop(held);
        let evictor = Evictor { files: vec![path.clone()] };
        assert_eq!(evictor.around(is_open), (false, Eviction::Impossible));
    }
}
