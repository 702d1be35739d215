//! Processor time: what the host and other programs took, what client and server used.

use dbdyno::error::Result;
use procfs::process::{Process, Stat, all_processes};
use procfs::{Current, CurrentSI, KernelStats};

use super::failed;

/// Processor seconds since boot, all processors together.
#[derive(Debug, Clone, Copy)]
struct Reading {
    total_s: f64,
    /// User and system time of all programs.
    busy_s: f64,
    steal_s: f64,
    /// Our own process and its ended children.
    client_s: f64,
    /// The server, its living and its ended processes.
    server_s: f64,
}

/// Resources used in an interval.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Share of all processors that the host withheld.
    pub steal: f64,
    /// Share of all processors that programs used which do not belong to the comparison.
    pub others: f64,
    pub client_s: f64,
    pub server_s: f64,
}

/// Measures a stretch of time.
pub struct Meter {
    server_pid: Option<u32>,
    start: Reading,
}

impl Meter {
    /// Begins now.
    pub fn start(server_pid: Option<u32>) -> Result<Meter> {
        Ok(Meter { server_pid, start: read(server_pid)? })
    }

    /// Resources used since the start.
    pub fn usage(&self) -> Result<Usage> {
        let (from, to) = (self.start, read(self.server_pid)?);
        let total_s = (to.total_s - from.total_s).max(1e-3);
        let (client_s, server_s) = (to.client_s - from.client_s, to.server_s - from.server_s);
        let others_s = (to.busy_s - from.busy_s - client_s - server_s).max(0.0);
        Ok(Usage {
            steal: (to.steal_s - from.steal_s) / total_s,
            others: others_s / total_s,
            client_s,
            server_s,
        })
    }
}

fn read(server_pid: Option<u32>) -> Result<Reading> {
    let unreadable = |error: procfs::ProcError| failed("/proc", error.to_string());
    let cpu = KernelStats::current().map_err(unreadable)?.total;
    let steal = cpu.steal.unwrap_or(0);
    let busy = cpu.user + cpu.nice + cpu.system;
    let waiting =
        cpu.idle + cpu.iowait.unwrap_or(0) + cpu.irq.unwrap_or(0) + cpu.softirq.unwrap_or(0);
    let own = Process::myself().and_then(|process| process.stat()).map_err(unreadable)?;
    Ok(Reading {
        total_s: seconds(busy + waiting + steal),
        busy_s: seconds(busy),
        steal_s: seconds(steal),
        client_s: with_ended_children_s(&own),
        server_s: server_pid.map_or(0.0, server_s),
    })
}

/// Processor seconds of the server: a backend's time moves to its parent when it ends, so the sum
/// never falls.
pub fn server_s(pid: u32) -> f64 {
    let stats =
        all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok());
    let family =
        stats.filter(|stat| [stat.pid, stat.ppid].iter().any(|id| u32::try_from(*id) == Ok(pid)));
    family.map(|stat| with_ended_children_s(&stat)).sum()
}

fn with_ended_children_s(stat: &Stat) -> f64 {
    seconds(stat.utime + stat.stime)
        + (stat.cutime + stat.cstime) as f64 / procfs::ticks_per_second() as f64
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / procfs::ticks_per_second() as f64
}

/// Processor model and number of processors that we may use.
pub fn describe() -> String {
    let model =
        procfs::CpuInfo::current().ok().and_then(|info| info.model_name(0).map(str::to_owned));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cpus} x {}", model.unwrap_or_else(|| "unknown processor".into()))
}
