use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;
use rustix::thread::gettid;

use super::*;
use crate::engine::EngineError;
use crate::probe::sessions::kernel_call::thread_state;
use crate::probe::sessions::row::state_at;
use dbdyno_core::model::Activity;
use dbdyno_core::sql::parse_blocks;

/// Answers every question with these rows.
struct Fixed(Rows);

impl Session for Fixed {
    fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
        Ok(0)
    }
    fn query(&mut self, _: &str, _: &[i64]) -> Result<Rows, EngineError> {
        Ok(self.0.clone())
    }
}

fn open(blocks: &str, rows: &[[Option<&str>; 5]]) -> Option<Sessions> {
    let columns = ["id", "idle", "class", "event", "activity"].map(String::from).to_vec();
    let rows =
        rows.iter().map(|row| row.iter().map(|cell| cell.map(String::from)).collect()).collect();
    let blocks = parse_blocks("probes.sql", blocks).unwrap();
    Sessions::open(
        Box::new(Fixed(Rows { columns, rows })),
        &blocks.iter().collect::<Vec<_>>(),
        &[],
        SessionScope::Jobs,
    )
}

#[test]
fn only_sessions_of_jobs_and_of_the_server_are_seen() {
    let rows = [
        [Some("7"), Some("0"), Some("IO"), Some("WALSync"), Some("log-sync")],
        [Some("8"), Some("0"), Some("IO"), Some("DataFileRead"), Some("data-read")],
        [Some("9"), Some("1"), Some("Client"), Some("ClientRead"), None],
        [None, Some("0"), Some("IO"), Some("DataFileWrite"), Some("data-write")],
    ];
    let mut sessions = open("-- name: sessions\n-- period: 0.05\nselect 1", &rows).unwrap();
    assert_eq!((sessions.period_s(), sessions.server_cpu_s()), (0.05, None));
    let sync = state_at("IO", "WALSync", Activity::LogSync, false);
    let write = state_at("IO", "DataFileWrite", Activity::DataWrite, true);
    assert_eq!(sessions.states(Some(&[7, 9])).unwrap(), [sync, SessionState::Idle, write]);
    assert_eq!(sessions.states(None).unwrap().len(), 4);
}

/// Answers as [`Fixed`], and counts how often it is asked.
struct Counting(Rows, Arc<AtomicU32>);

impl Session for Counting {
    fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
        Ok(0)
    }
    fn query(&mut self, _: &str, _: &[i64]) -> Result<Rows, EngineError> {
        self.1.fetch_add(1, Relaxed);
        Ok(self.0.clone())
    }
}

/// States of the jobs, and whether one of many samples was taken without the server. It reports
/// session 7, which this thread of ours serves, and a writer of its own.
fn seen_of_thread(thread: u32, keeps_thread: bool, jobs: &[u32]) -> (Vec<SessionState>, bool) {
    let columns = ["id", "idle", "class", "event", "activity", "thread", "keeps_thread"];
    let of = |cells: [&str; 7]| {
        cells.map(|cell| Some(cell.to_owned()).filter(|cell| !cell.is_empty())).to_vec()
    };
    let keeps = if keeps_thread { "1" } else { "0" };
    let rows = vec![
        of(["7", "0", "Stage", "sending", "", &thread.to_string(), keeps]),
        of(["", "0", "writer", "writes", "data-write", "", keeps]),
    ];
    let rows = Rows { columns: columns.map(String::from).to_vec(), rows };
    let asked = Arc::new(AtomicU32::new(0));
    let session = Box::new(Counting(rows, Arc::clone(&asked)));
    let blocks = parse_blocks("x.sql", "-- name: sessions\n-- period: 0.05\nselect 1").unwrap();
    let blocks: Vec<_> = blocks.iter().collect();
    let server = [std::process::id()];
    let mut sessions = Sessions::open(session, &blocks, &server, SessionScope::Jobs).unwrap();
    let mut sample = || {
        let before = asked.load(Relaxed);
        let seen = sessions.states(Some(jobs)).unwrap();
        (seen, asked.load(Relaxed) == before)
    };
    let _first = sample();
    let samples: Vec<_> = (0..100).map(|_| sample()).collect();
    let unasked = samples.iter().find(|(_, unasked)| *unasked);
    let (seen, _) = unasked.unwrap_or(&samples[0]).clone();
    (seen, unasked.is_some())
}

#[test]
fn the_server_is_not_asked_what_the_threads_of_all_jobs_tell() {
    let (works, end) = (AtomicBool::new(true), Mutex::new(()));
    let (tell, told) = std::sync::mpsc::channel();
    let own_number = || gettid().as_raw_nonzero().get() as u32;
    let held = end.lock();
    let [keeps, another_may, unknown_job, waits] = std::thread::scope(|scope| {
        let (works, end, own_number) = (&works, &end, &own_number);
        let (tell, tell_too) = (tell.clone(), tell.clone());
        scope.spawn(move || {
            tell.send(own_number()).unwrap();
            while works.load(Relaxed) {}
        });
        let working = told.recv().unwrap();
        scope.spawn(move || {
            tell_too.send(own_number()).unwrap();
            drop(end.lock());
        });
        let waiting = told.recv().unwrap();
        let stat = format!("/proc/self/task/{waiting}/stat");
        while thread_state(&fs::read_to_string(&stat).unwrap()) != Some('S') {
            std::thread::yield_now();
        }
        let seen = [
            seen_of_thread(working, true, &[7]),
            seen_of_thread(working, false, &[7]),
            seen_of_thread(working, true, &[7, 8]),
            seen_of_thread(waiting, true, &[7]),
        ];
        works.store(false, Relaxed);
        drop(held);
        seen
    });
    let cpu = state_at("CPU", "CPU", Activity::Cpu, false);
    let writer = state_at("writer", "writes", Activity::DataWrite, true);
    assert_eq!(keeps, (vec![cpu, writer], true));
    assert!(!another_may.1, "the thread may serve another one now");
    assert!(!unknown_job.1, "nothing is known of 8");
    assert!(!waits.1, "what it waits for only the server knows");
}

#[test]
fn an_engine_without_the_block_has_no_sessions() {
    assert!(open("-- name: version\nselect 1", &[]).is_none());
}
