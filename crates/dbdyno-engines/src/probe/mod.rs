//! Probes: cumulative counters of the operating system, our process, the server's processes and the
//! database.
//!
//! An operating system probe is one file plus one line in [`PROBES`]; a database counter is one SQL
//! block in `catalog/probes/`. Reading and parsing are apart, so that parsers are tested with
//! captured files.

use std::path::Path;
use std::time::Instant;

use dbdyno_core::model::Counters;

mod cpu_quota;
mod cpu_speed;
mod disk;
mod exporter;
mod instructions;
mod nodes;
mod other_processes;
mod process;
mod remote_host;
mod server_statistics;
mod sessions;
mod sql;
mod system;
mod thread_times;

pub use cpu_speed::{CpuSpeed, CpuSpeedProbe, CpuSpeedSample};
pub use disk::DeviceTimes;
pub use exporter::exporter_url;
pub use instructions::client_instructions;
pub use nodes::{NodeHosts, NodesProbe};
pub use remote_host::RemoteHost;
pub use server_statistics::{
    Reading as ProfileReading, between as profiles_between, together as profiles_together,
};
pub use sessions::{SessionScope, Sessions};
pub use sql::{SESSION_COUNTS, SqlProbe, disclose, disclose_network, take};
pub use thread_times::scheduled_s;

/// A source of counters.
pub trait Probe: Send {
    /// Short name, for messages.
    fn name(&self) -> &'static str;
    /// Adds what it knows to `counters`; what cannot be had stays absent.
    ///
    /// # Errors
    /// One line about what could not be read; the other probes go on.
    fn read(&mut self, counters: &mut Counters) -> Result<(), String>;
    /// The same while jobs run, whom every reading takes time from: without the counters that are
    /// of use only before and after them.
    ///
    /// # Errors
    /// As of [`Probe::read`].
    fn read_beside_jobs(&mut self, counters: &mut Counters) -> Result<(), String> {
        self.read(counters)
    }
    /// Waits until a reading includes everything that was done before, for a source that reports
    /// with a delay.
    fn settle(&mut self) {}
}

/// Context for a probe of the operating system. Empty for a database on another host.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProbeContext<'a> {
    /// Directory of the database's files.
    pub storage: Option<&'a Path>,
    /// Processes of the database server on this host; empty if they are not known.
    pub server_pids: &'a [u32],
    /// Processes of a server that works for us at the same time.
    pub concurrent_pids: &'a [u32],
    /// The database runs in our own process.
    pub in_process: bool,
}

type Open = fn(&ProbeContext<'_>) -> Option<Box<dyn Probe>>;

/// Every probe of the operating system but the [`CpuSpeedProbe`]; each opens only where its source
/// exists.
pub const PROBES: &[Open] = &[
    system::open_cpu,
    disk::open,
    system::open_memory,
    system::open_network,
    process::open_own,
    instructions::open,
    cpu_quota::open,
    process::open_server,
    process::open_io,
    other_processes::open,
];

/// All counters at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Values of all counters that could be read.
    pub counters: Counters,
    /// Cost of reading, in milliseconds.
    pub cost_ms: f64,
    /// Probes that failed, with the reason.
    pub failed: Vec<(&'static str, String)>,
}

/// The probes of a run.
#[derive(Default)]
pub struct ProbeSet {
    probes: Vec<Box<dyn Probe>>,
}

impl ProbeSet {
    /// Every probe of the operating system that works here.
    pub fn host(context: &ProbeContext<'_>) -> Self {
        let mut set = ProbeSet::onlooker(context);
        set.probes.extend(cpu_speed::open(context));
        set
    }

    /// Probes that only read files: none takes CPU time from what is measured.
    pub fn onlooker(context: &ProbeContext<'_>) -> Self {
        ProbeSet { probes: PROBES.iter().filter_map(|open| open(context)).collect() }
    }

    /// Only what can be known about our own process (the database is on another host).
    pub fn own_process() -> Self {
        let context = ProbeContext::default();
        let own =
            [process::open_own(&context), instructions::open(&context), cpu_quota::open(&context)];
        ProbeSet { probes: own.into_iter().flatten().collect() }
    }

    /// Adds a probe.
    pub fn push(&mut self, probe: Box<dyn Probe>) {
        self.probes.push(probe);
    }

    /// Waits until a reading has all that was done before.
    pub fn settle(&mut self) {
        self.probes.iter_mut().for_each(|probe| probe.settle());
    }

    /// Reads all probes.
    pub fn read(&mut self) -> Reading {
        self.read_each(|probe, counters| probe.read(counters))
    }

    /// Reads all probes while jobs run; see [`Probe::read_beside_jobs`].
    pub fn read_beside_jobs(&mut self) -> Reading {
        self.read_each(|probe, counters| probe.read_beside_jobs(counters))
    }

    fn read_each(
        &mut self,
        read: fn(&mut dyn Probe, &mut Counters) -> Result<(), String>,
    ) -> Reading {
        let start = Instant::now();
        let mut reading = Reading::default();
        for probe in &mut self.probes {
            if let Err(what) = read(probe.as_mut(), &mut reading.counters) {
                reading.failed.push((probe.name(), what));
            }
        }
        reading.cost_ms = start.elapsed().as_secs_f64() * 1000.0;
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Result<f64, String>);

    impl Probe for Fixed {
        fn name(&self) -> &'static str {
            "fixed"
        }
        fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
            counters.set("commits", self.0.clone()?);
            Ok(())
        }
    }

    #[test]
    fn a_failing_probe_does_not_stop_the_next() {
        let mut set = ProbeSet::default();
        set.push(Box::new(Fixed(Err("gone".into()))));
        set.push(Box::new(Fixed(Ok(3.0))));
        let reading = set.read();
        assert_eq!(reading.counters.get("commits"), Some(3.0));
        assert_eq!(reading.failed, [("fixed", "gone".to_string())]);
    }
}
