//! One dbdyno at a time works in a database: another one is told who is there, and nothing of the
//! first one's is touched.

use std::process::Child;

use rustix::process::Signal;

use crate::support::{Desk, PRIVATE, Private, TINY, column, signal, try_session_of, until};

/// A run that is killed at the end of the test at the latest.
struct Killed(Child);

impl Killed {
    fn now(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run on a kept private server in the middle of its window, stopped: it lives, and all its
/// sessions are idle.
fn stopped_run(desk: &Desk, server: &Private) -> Killed {
    let line =
        "--size 0.01 --workload SRV-QUERY1 --jobs 1 --warmup 0 --duration 100s --keep --quiet";
    let run = desk.spawn(&format!("run {} {line}", server.engine));
    until("the job runs", || server.a_job_runs(desk));
    signal(run.id(), Signal::STOP);
    until("no job runs", || !server.a_job_runs(desk));
    Killed(run)
}

#[test]
fn a_living_dbdyno_that_is_idle_keeps_others_out_and_a_killed_one_does_not() {
    for server in PRIVATE {
        let desk = Desk::new();
        let mut first = stopped_run(&desk, &server);
        // The same server by its URL, as anybody's existing one.
        let url = server.url(&desk.data());
        let mut session = try_session_of(server.engine, &url).unwrap();
        let mut rows =
            |table: &str| column(session.as_mut(), &format!("select count(*) from dbdyno.{table}"));
        assert_eq!(rows("small"), ["16000"], "{}", server.engine);
        for line in [format!("run {url} {TINY} --quiet"), format!("clean {url}")] {
            desk.run(&line).fails(3, &["another dbdyno is using this database"]);
        }
        assert_eq!(rows("small"), ["16000"], "{}", server.engine);
        first.now();
        desk.run(&format!("run {url} {TINY} --quiet")).ok();
        desk.run(&format!("clean {}", server.engine)).ok();
    }
}
