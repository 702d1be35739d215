//! Processes: CPU time of our own, of the database server's with their children, of the kernel's
//! own threads; what the device read for the database.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;

use procfs::FromRead;
use procfs::process::{Process, Stat};

use dbdyno_core::model::Counters;

use super::{Probe, ProbeContext};

struct OwnCpu {
    process: Process,
    ticks_per_s: f64,
    waited: Waited,
}

/// Time that threads of our process have spent in the run queue, including those that have ended.
#[derive(Default)]
struct Waited {
    /// In ns by thread, as last read.
    threads: BTreeMap<i32, f64>,
    ended_ns: f64,
}

impl Waited {
    /// Seconds so far; none if the kernel does not report them. `now` are the ns of the living
    /// threads.
    fn read(&mut self, now: BTreeMap<i32, f64>) -> Option<f64> {
        if now.is_empty() {
            return None;
        }
        let gone = self
            .threads
            .iter()
            .filter(|(thread, ns)| now.get(thread).is_none_or(|living| living < ns));
        self.ended_ns += gone.map(|(_, ns)| ns).sum::<f64>();
        self.threads = now;
        Some((self.ended_ns + self.threads.values().sum::<f64>()) / 1e9)
    }
}

/// `/proc/self/task/tid/schedstat`: ns on a processor, ns waiting for one, slices.
fn waiting_threads() -> BTreeMap<i32, f64> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let waited = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some((
            task.file_name().to_str()?.parse().ok()?,
            text.split_whitespace().nth(1)?.parse().ok()?,
        ))
    });
    waited.collect()
}

/// CPU time of our own process, all threads.
pub(super) fn open_own(_: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    Some(Box::new(OwnCpu {
        process: Process::myself().ok()?,
        ticks_per_s: ticks_per_s(),
        waited: Waited::default(),
    }))
}

impl Probe for OwnCpu {
    fn name(&self) -> &'static str {
        "self"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let times = Times::from(&self.process.stat().map_err(|error| error.to_string())?);
        counters.set("self_cpu_user_s", times.user / self.ticks_per_s);
        counters.set("self_cpu_sys_s", times.sys / self.ticks_per_s);
        counters.set("self_cpu_s", (times.user + times.sys) / self.ticks_per_s);
        let waited_s = self.waited.read(waiting_threads());
        waited_s.into_iter().for_each(|waited_s| counters.set("self_wait_s", waited_s));
        Ok(())
    }
}

pub(super) struct ServerCpu {
    pids: Vec<u32>,
    ticks_per_s: f64,
}

/// CPU time of the database's processes, if they are known. A kernel that lists no children would
/// hide most of it.
pub(super) fn open_server(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    ServerCpu::open(context.server_pids).map(|probe| Box::new(probe) as Box<dyn Probe>)
}

/// Longer than the line of any process: 52 numbers of 20 digits at most, and a name of 64 bytes
/// (proc_pid_stat(5)).
const STAT_BYTES: usize = 2048;
/// Maximum number of attempts to read, which fail if a process ends meanwhile.
const TRIES: usize = 10;

impl ServerCpu {
    pub fn open(pids: &[u32]) -> Option<Self> {
        let known = pids.iter().any(|pid| std::fs::metadata(format!("/proc/{pid}/stat")).is_ok());
        let lists_children = std::fs::metadata("/proc/thread-self/children").is_ok();
        (known && lists_children)
            .then(|| ServerCpu { pids: pids.to_vec(), ticks_per_s: ticks_per_s() })
    }

    /// Times of all living processes; none if one ended meanwhile, since its time may have been
    /// missed in its parent.
    fn at_once(&mut self) -> Option<Vec<Times>> {
        let pids = parents_first(&self.pids, &children_of(&self.pids));
        let times: Option<Vec<Times>> = pids.into_iter().map(times_of).collect();
        if times.is_none() {
            self.pids.retain(|pid| times_of(*pid).is_some());
        }
        times
    }
}

impl Probe for ServerCpu {
    fn name(&self) -> &'static str {
        "server"
    }
    /// The given processes and their living children, each with the time of its own ended and
    /// awaited children: so a child's time moves to its parent when it ends, and the sum never
    /// falls.
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let times = (0..TRIES).find_map(|_| self.at_once()).unwrap_or_default();
        if times.is_empty() {
            return Err(
                "the server's processes are gone, or come and go faster than they can be read"
                    .into(),
            );
        }
        let seconds = |of: fn(&Times) -> f64| times.iter().map(of).sum::<f64>() / self.ticks_per_s;
        let (user, sys) = (
            seconds(|times| times.user + times.children_user),
            seconds(|times| times.sys + times.children_sys),
        );
        counters.set("server_cpu_user_s", user);
        counters.set("server_cpu_sys_s", sys);
        counters.set("server_cpu_s", user + sys);
        Ok(())
    }
}

/// CPU time of the kernel's own threads: they write back, keep journals and complete I/O for
/// whoever asked for it.
pub(super) struct KernelThreads {
    /// Ticks of the living ones by process id and start.
    living: BTreeMap<(u32, u64), f64>,
    /// Ticks of processes that ended, as last read: no parent inherits them.
    ended: f64,
    ticks_per_s: f64,
}

impl KernelThreads {
    /// Process id of the thread that all others descend from.
    const PARENT: u32 = 2;

    /// Absent where they are not to be seen, as in a container.
    pub fn open() -> Option<Self> {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", Self::PARENT)).ok()?;
        let visible = name.trim() == "kthreadd" && !children(Self::PARENT).is_empty();
        visible.then(|| KernelThreads {
            living: BTreeMap::new(),
            ended: 0.0,
            ticks_per_s: ticks_per_s(),
        })
    }

    /// Seconds so far.
    pub fn cpu_s(&mut self) -> f64 {
        let times =
            children(Self::PARENT).into_iter().filter_map(|pid| Some((pid, times_of(pid)?)));
        self.count(
            times.map(|(pid, times)| ((pid, times.started), times.user + times.sys)).collect(),
        );
        (self.living.values().sum::<f64>() + self.ended) / self.ticks_per_s
    }

    fn count(&mut self, living: BTreeMap<(u32, u64), f64>) {
        let ended = self.living.iter().filter(|(thread, _)| !living.contains_key(thread));
        self.ended += ended.map(|(_, ticks)| ticks).sum::<f64>();
        self.living = living;
    }
}

fn process(pid: u32) -> Option<Process> {
    Process::new(i32::try_from(pid).ok()?).ok()
}

/// By one read of one file: there may be hundreds of processes, and each reading goes through all.
fn times_of(pid: u32) -> Option<Times> {
    let mut text = [0; STAT_BYTES];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut text).ok()?;
    Some(Times::from(&Stat::from_read(&text[..length]).ok()?))
}

/// Living children of a process.
fn children(pid: u32) -> Vec<u32> {
    process(pid)
        .and_then(|process| process.task_main_thread().ok()?.children().ok())
        .unwrap_or_default()
}

/// Living children of these processes.
fn children_of(pids: &[u32]) -> Vec<u32> {
    pids.iter().flat_map(|pid| children(*pid)).collect()
}

/// The processes and their children, each once, in the order in which they are to be read: first
/// those that are no children, last the children that are only found. What a child used goes over
/// to its parent when it ends, so that one that was read before its parent could count twice.
/// Numbers say nothing of who is whose child: the system begins again with low ones.
fn parents_first(pids: &[u32], children: &[u32]) -> Vec<u32> {
    let children: BTreeSet<u32> = children.iter().copied().collect();
    let parents: BTreeSet<u32> = pids.iter().copied().collect();
    let both = parents.intersection(&children);
    parents
        .difference(&children)
        .chain(both)
        .chain(children.difference(&parents))
        .copied()
        .collect()
}

fn ticks_per_s() -> f64 {
    procfs::ticks_per_second() as f64
}

/// CPU time in clock ticks.
#[derive(Debug, PartialEq)]
struct Times {
    user: f64,
    sys: f64,
    /// CPU time of children that ended and were waited for.
    children_user: f64,
    children_sys: f64,
    /// Start of the process, in ticks since the system start.
    started: u64,
}

impl From<&Stat> for Times {
    fn from(stat: &Stat) -> Times {
        let [user, sys] = [stat.utime, stat.stime].map(|ticks| ticks as f64);
        let [children_user, children_sys] = [stat.cutime, stat.cstime].map(|ticks| ticks as f64);
        Times { user, sys, children_user, children_sys, started: stat.starttime }
    }
}

struct ServerIo {
    pids: Vec<u32>,
}

/// Bytes that the database's processes made the device read: what a cache served is not in it, nor
/// what other programs read. The probe, if the account of these processes may be read: it takes
/// their user's rights or root's.
pub(super) fn open_io(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let own = context.in_process.then(std::process::id);
    let pids: Vec<u32> = context.server_pids.iter().copied().chain(own).collect();
    let mut probe = ServerIo { pids };
    probe.read(&mut Counters::default()).ok()?;
    Some(Box::new(probe))
}

impl Probe for ServerIo {
    fn name(&self) -> &'static str {
        "server-io"
    }
    /// The given processes and their living children. A child's account goes over to its parent
    /// when it ends: no byte counts twice, and those of one that ends while this is read are in
    /// the next reading.
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let pids = parents_first(&self.pids, &children_of(&self.pids));
        let bytes: Vec<u64> =
            pids.into_iter().filter_map(|pid| Some(process(pid)?.io().ok()?.read_bytes)).collect();
        if bytes.is_empty() {
            return Err("the I/O of the database's processes cannot be read".into());
        }
        counters.set("server_read_bytes", bytes.iter().sum::<u64>() as f64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_columns() {
        let captured: &[u8] = include_bytes!("../../../../tests/fixtures/proc/pid_stat");
        let times = Times::from(&Stat::from_read(captured).unwrap());
        let (children_user, children_sys) = (1200.0, 340.0);
        assert_eq!(
            times,
            Times { user: 250.0, sys: 130.0, children_user, children_sys, started: 123_456 }
        );
    }

    #[test]
    fn parents_are_read_before_their_children_whatever_their_numbers_are() {
        assert_eq!(parents_first(&[900], &[901, 950]), [900, 901, 950]);
        let after_the_highest_number = parents_first(&[12, 900, 905], &[12, 30, 905]);
        assert_eq!(after_the_highest_number, [900, 12, 905, 30], "some are given, too");
        let two_servers = parents_first(&[40, 900, 30], &[5, 901]);
        assert_eq!(two_servers, [30, 40, 900, 5, 901]);
        assert_eq!(parents_first(&[7], &[]), [7]);
    }

    #[test]
    fn a_kernel_thread_that_ended_keeps_what_it_used_also_if_its_number_is_used_again() {
        let mut threads = KernelThreads { living: BTreeMap::new(), ended: 0.0, ticks_per_s: 1.0 };
        let sum = |threads: &KernelThreads| threads.living.values().sum::<f64>() + threads.ended;
        for (living, expected) in [
            (vec![((7, 1), 10.0), ((8, 1), 5.0)], 15.0),
            (vec![((7, 1), 12.0)], 17.0),
            (vec![((7, 30), 1.0)], 18.0),
            (vec![((7, 30), 4.0), ((9, 40), 2.0)], 23.0),
        ] {
            threads.count(living.into_iter().collect());
            assert_eq!(sum(&threads), expected);
        }
    }
}
