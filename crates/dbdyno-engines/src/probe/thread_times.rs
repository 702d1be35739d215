//! Accounting by the kernel of the threads and processes that serve sessions.

use std::fs;

use procfs::FromRead;
use procfs::process::Stat;

use dbdyno_core::model::ThreadTime;

/// Threads that are read at a look; of more a part each time, in turns.
const AT_ONCE: usize = 64;

/// Server side of a session: a thread of the server's process, or a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Serving {
    Thread(u32),
    Process(u32),
}

/// Reads the times of those that were seen at the last look.
#[derive(Debug, Default)]
pub(super) struct ThreadTimes {
    /// The server's processes, if they are on this host.
    server: Vec<u32>,
    turn: usize,
}

impl ThreadTimes {
    pub fn new(server: &[u32]) -> Self {
        ThreadTimes { server: server.to_vec(), turn: 0 }
    }

    /// Times of the server's threads, as far as they live and may be read.
    pub fn read(&mut self, serving: &[Serving]) -> Vec<ThreadTime> {
        let count = serving.len().min(AT_ONCE);
        let chosen = serving.iter().cycle().skip(self.turn % serving.len().max(1)).take(count);
        let times = chosen.filter_map(|one| self.time(*one)).collect();
        self.turn = self.turn.wrapping_add(count);
        times
    }

    fn time(&self, serving: Serving) -> Option<ThreadTime> {
        let (thread, path) = match serving {
            Serving::Thread(thread) => {
                (thread, format!("/proc/{}/task/{thread}", self.server.first()?))
            }
            Serving::Process(process) => (process, format!("/proc/{process}")),
        };
        let stat = Stat::from_read(fs::read(format!("{path}/stat")).ok()?.as_slice()).ok()?;
        let parent = u32::try_from(stat.ppid).ok()?;
        // A number of another container is somebody else's here.
        let is_servers = matches!(serving, Serving::Thread(_)) || self.server.contains(&parent);
        let (on_ns, queued_ns) =
            parse_schedstat(&fs::read_to_string(format!("{path}/schedstat")).ok()?)?;
        is_servers.then_some(ThreadTime {
            thread,
            on_ns,
            queued_ns,
            user_ticks: stat.utime,
            kernel_ticks: stat.stime,
        })
    }
}

/// CPU time of a thread or process so far, in s; none if the kernel does not report it.
pub fn scheduled_s(thread: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{thread}/schedstat")).ok()?;
    parse_schedstat(&text).map(|(on_ns, _)| on_ns as f64 / 1e9)
}

/// `/proc/pid/schedstat`: ns on a processor, ns waiting for one, slices.
fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_the_server_and_a_child_of_it_are_read_and_nobody_elses() {
        assert_eq!(parse_schedstat("12345 678 9\n"), Some((12_345, 678)));
        assert_eq!(parse_schedstat("12345"), None);
        let own = std::process::id();
        let (mut ours, mut others) = (ThreadTimes::new(&[own]), ThreadTimes::default());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let both = [Serving::Thread(own), Serving::Process(child.id())];
        let found: Vec<u32> = ours.read(&both).iter().map(|time| time.thread).collect();
        let parent = std::os::unix::process::parent_id();
        let not_ours = ours.read(&[Serving::Process(parent)]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((found, not_ours.len()), (vec![own, child.id()], 0));
        assert_eq!(others.read(&both), []);
    }

    #[test]
    fn of_many_each_comes_in_its_turn() {
        let own = std::process::id();
        let mut times = ThreadTimes::new(&[own]);
        let nobody = vec![Serving::Thread(own); 3 * AT_ONCE / 2];
        assert_eq!(times.read(&nobody).len(), AT_ONCE);
        assert_eq!((times.read(&nobody).len(), times.turn), (AT_ONCE, 2 * AT_ONCE));
        assert_eq!(times.read(&[]), []);
    }
}
