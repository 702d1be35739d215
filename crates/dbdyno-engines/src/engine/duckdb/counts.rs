//! Sums of what DuckDB itself logs about its files, transactions and statements. Its log calls us
//! for every entry of the types that are switched on, so nothing is kept and nothing is lost.
//! Statements and transactions are those of jobs, not those of control sessions, which ask for the
//! sums: the log calls us in the thread that they run in.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use super::api::{Api, Handle};

/// The attached database, as log entries of transactions name it.
pub(super) const DATABASE: &str = "dbdyno";
/// Our log storage, as settings name it.
pub(super) const STORAGE: &CStr = c"dbdyno";
/// Types of log entries that we count.
pub(super) const TYPES: &str = "FileSystem,QueryLog";
/// The type of entries that we count where a job commits: two of them cost a look-up a sixth of its
/// time, a durable commit nothing that can be measured.
pub(super) const TRANSACTIONS: &str = "Transaction";
/// Statements around those of an op, which do not count.
const AROUND: [&[u8]; 4] = [b"begin", b"commit", b"rollback", b"set "];

thread_local! {
    /// True while this thread runs a job.
    static RUNS_JOB: Cell<bool> = const { Cell::new(false) };
}

/// Counts the statements of this thread as those of a job until it is dropped.
pub(super) struct JobOfThread(());

impl JobOfThread {
    pub(super) fn begin() -> Self {
        RUNS_JOB.set(true);
        JobOfThread(())
    }
}

impl Drop for JobOfThread {
    fn drop(&mut self) {
        RUNS_JOB.set(false);
    }
}

/// Sums since the database was opened.
#[derive(Debug)]
pub(super) struct Counts {
    /// Path of the database's file as it stands in the log.
    file: Vec<u8>,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    wal_bytes: AtomicU64,
    temp_bytes: AtomicU64,
    commits: AtomicU64,
    rollbacks: AtomicU64,
    checkpoints: AtomicU64,
    statements: AtomicU64,
    /// Entries of transactions are logged now; else what they counted is not known.
    logs_transactions: AtomicBool,
}

impl Counts {
    pub(super) fn for_file(file: &Path) -> Self {
        let zero = || AtomicU64::new(0);
        Counts {
            file: file.as_os_str().as_encoded_bytes().to_vec(),
            read_bytes: zero(),
            written_bytes: zero(),
            wal_bytes: zero(),
            temp_bytes: zero(),
            commits: zero(),
            rollbacks: zero(),
            checkpoints: zero(),
            statements: zero(),
            logs_transactions: AtomicBool::new(false),
        }
    }

    /// Notes whether transactions are logged from now on.
    pub(super) fn log_transactions(&self, are_logged: bool) {
        self.logs_transactions.store(are_logged, Relaxed);
    }

    /// The sums, as far as they are known, by the names of the variables that the catalog's
    /// blocks ask for.
    pub(super) fn variables(&self) -> [(&'static str, Option<u64>); 8] {
        let sum = |sum: &AtomicU64| Some(sum.load(Relaxed));
        let logged = |of: &AtomicU64| sum(of).filter(|_| self.logs_transactions.load(Relaxed));
        [
            ("read_bytes", sum(&self.read_bytes)),
            ("written_bytes", sum(&self.written_bytes)),
            ("wal_bytes", sum(&self.wal_bytes)),
            ("temp_bytes", sum(&self.temp_bytes)),
            ("commits", logged(&self.commits)),
            ("rollbacks", logged(&self.rollbacks)),
            ("checkpoints", logged(&self.checkpoints)),
            ("statements", sum(&self.statements)),
        ]
    }

    /// Takes an entry of the log.
    fn take(&self, kind: &[u8], message: &[u8]) {
        match kind {
            b"FileSystem" => self.take_file(message),
            b"Transaction" => self.take_transaction(message),
            b"QueryLog"
                if RUNS_JOB.get() && !AROUND.iter().any(|word| begins_with(message, word)) =>
            {
                add(&self.statements, 1);
            }
            _ => {}
        }
    }

    /// `{"fs":"LocalFileSystem","path":"/d/x.db","op":"READ","bytes":"262144","pos":"12288"}`
    fn take_file(&self, message: &[u8]) {
        let Some(bytes) = number_after(message, b"\"bytes\":\"") else { return };
        let is_read = find(message, b"\"op\":\"READ\"").is_some();
        match (self.file_of(message), is_read) {
            (File::Data, true) => add(&self.read_bytes, bytes),
            (File::Data, false) => add(&self.written_bytes, bytes),
            (File::Wal, false) => add(&self.wal_bytes, bytes),
            (File::Other, false) => add(&self.temp_bytes, bytes),
            (File::Wal | File::Other, true) => {}
        }
    }

    fn file_of(&self, message: &[u8]) -> File {
        let path = find(message, b"\"path\":\"").map_or(&[][..], |at| &message[at + 8..]);
        match path.strip_prefix(self.file.as_slice()) {
            Some(rest) if rest.starts_with(b"\"") => File::Data,
            // `.wal`, `.wal.checkpoint`; not `.tmp/...`
            Some(rest) if rest.starts_with(b".wal") => File::Wal,
            _ => File::Other,
        }
    }

    /// `{'database': dbdyno, 'type': Commit, 'transaction_id': 8855}`
    fn take_transaction(&self, message: &[u8]) {
        let ours = find(message, b"'database': dbdyno,").is_some();
        let is = |word: &[u8]| ours && find(message, word).is_some();
        if RUNS_JOB.get() && is(b"'type': Commit") {
            add(&self.commits, 1);
        } else if RUNS_JOB.get() && is(b"'type': Rollback") {
            add(&self.rollbacks, 1);
        } else if is(b"'type': Start Checkpoint") {
            add(&self.checkpoints, 1);
        }
    }
}

/// Kind of a file in the log.
enum File {
    Data,
    Wal,
    Other,
}

fn add(sum: &AtomicU64, more: u64) {
    sum.fetch_add(more, Relaxed);
}

fn begins_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

fn number_after(text: &[u8], word: &[u8]) -> Option<u64> {
    let rest = &text[find(text, word)? + word.len()..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

/// Makes the log of `database` call `counts`, once it is switched on.
///
/// # Safety
/// `database` is open.
pub(super) unsafe fn register(api: &Api, database: Handle, counts: &Arc<Counts>) -> bool {
    // SAFETY: the library keeps the name and, until it calls `delete`, the counts; the handle of
    // the storage is ours.
    unsafe {
        let mut storage = (api.create_log_storage)();
        (api.log_storage_set_name)(storage, STORAGE.as_ptr());
        (api.log_storage_set_write_log_entry)(storage, write);
        (api.log_storage_set_extra_data)(
            storage,
            Arc::into_raw(Arc::clone(counts)).cast_mut().cast(),
            delete,
        );
        let registered = (api.register_log_storage)(database, storage) == 0;
        (api.destroy_log_storage)(&mut storage);
        registered
    }
}

unsafe extern "C" fn write(
    counts: *mut c_void,
    _time: *mut i64,
    _level: *const c_char,
    kind: *const c_char,
    message: *const c_char,
) {
    if counts.is_null() || kind.is_null() || message.is_null() {
        return;
    }
    // SAFETY: `counts` is what `register` gave and `delete` has not yet taken; both texts end in 0.
    unsafe {
        let counts = &*counts.cast_const().cast::<Counts>();
        counts.take(CStr::from_ptr(kind).to_bytes(), CStr::from_ptr(message).to_bytes());
    }
}

unsafe extern "C" fn delete(counts: *mut c_void) {
    // SAFETY: it is the pointer of `register`, given back once.
    drop(unsafe { Arc::from_raw(counts.cast_const().cast::<Counts>()) });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_entries(entries: &[(&str, &str)]) -> Vec<(&'static str, u64)> {
        let counts = Counts::for_file(Path::new("/d/x.db"));
        counts.log_transactions(true);
        let _job = JobOfThread::begin();
        entries.iter().for_each(|(kind, message)| counts.take(kind.as_bytes(), message.as_bytes()));
        let known = counts.variables().into_iter().filter_map(|(name, sum)| Some((name, sum?)));
        known.filter(|(_, sum)| *sum > 0).collect()
    }

    fn file(path: &str, op: &str) -> String {
        format!(
            "{{\"fs\":\"LocalFileSystem\",\"path\":\"{path}\",\"op\":\"{op}\",\
             \"bytes\":\"262144\",\"pos\":\"12288\"}}"
        )
    }

    #[test]
    fn bytes_are_counted_by_file_and_direction() {
        let read = file("/d/x.db", "READ");
        let wal = file("/d/x.db.wal", "WRITE");
        let spilled = file("/d/x.db.tmp/duckdb_temp_storage_S96K-0.tmp", "WRITE");
        let opened = "{\"fs\":\"LocalFileSystem\",\"path\":\"/d/x.db.wal\",\"op\":\"OPEN\"}";
        let entries =
            [read.as_str(), &read, &wal, &spilled, opened].map(|message| ("FileSystem", message));
        assert_eq!(
            count_entries(&entries),
            [("read_bytes", 524_288), ("wal_bytes", 262_144), ("temp_bytes", 262_144)]
        );
        assert_eq!(
            count_entries(&[("FileSystem", &file("/d/x.db", "WRITE"))]),
            [("written_bytes", 262_144)]
        );
    }

    #[test]
    fn transactions_are_those_of_our_database_and_statements_those_of_ops() {
        let entries = [
            ("Transaction", "{'database': dbdyno, 'type': Commit, 'transaction_id': 7}"),
            ("Transaction", "{'database': temp, 'type': Commit, 'transaction_id': 7}"),
            ("Transaction", "{'database': dbdyno, 'type': Start Checkpoint, 'transaction_id': 8}"),
            ("QueryLog", "BEGIN transaction"),
            ("QueryLog", "select 1"),
            ("QueryLog", "commit"),
        ];
        assert_eq!(
            count_entries(&entries),
            [("commits", 1), ("checkpoints", 1), ("statements", 1)]
        );
        let counts = Counts::for_file(Path::new("/d/x.db"));
        counts.take(b"QueryLog", b"select 1");
        let known: Vec<u64> = counts.variables().iter().filter_map(|(_, sum)| *sum).collect();
        assert_eq!(
            known, [0; 5],
            "a control session is not a job, and transactions are not logged"
        );
    }
}
