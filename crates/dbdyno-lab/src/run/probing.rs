//! All probes of a run: the operating system's and the database's, and the disclosure they make.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::deferred_work::CatchUp;
use super::sampler::Sampler;
use super::{Event, HostUrls, Platform, Sink};
use crate::server::NetworkEmulation;
use crate::test_runner::Reading;
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::{Counters, Disclosure};
use dbdyno_core::sql::{Block, statement};
use dbdyno_engines::engine::Rows;
use dbdyno_engines::host;
use dbdyno_engines::probe::{
    self, NodeHosts, NodesProbe, ProbeContext, ProbeSet, RemoteHost, SESSION_COUNTS, SqlProbe,
};

/// The probes of a run.
pub struct Probing<'a> {
    probes: ProbeSet,
    disclosure: Disclosure,
    block_setting: Option<&'static str>,
    sampler: Option<Arc<Mutex<Sampler>>>,
    failures: Failures<'a>,
    /// The last two settled readings: of the start and the end of a test that has just ended.
    settled: [Counters; 2],
}

impl<'a> Probing<'a> {
    /// Opens the probes of the database's host, as far as somebody tells of it, and of our own
    /// process, and takes the disclosure. The database's counters are read from [`Probing::attach`]
    /// on. What cannot be read is told to `events`, once.
    ///
    /// # Errors
    /// If no session can be opened, or nobody tells of the host where the user says.
    pub fn new(platform: &Platform, catalog: &Catalog, events: &'a Sink<'a>) -> Result<Self> {
        let database = platform.database.as_ref();
        let storage = database.storage_path();
        let server_pids = database.server_pids();
        let can = platform.engine.capabilities();
        let in_process = can.in_process;
        let context = ProbeContext {
            storage: storage.as_deref(),
            server_pids: &server_pids,
            concurrent_pids: platform.concurrent_pids(),
            in_process,
        };
        let blocks = catalog.probes(platform.engine.name(), &database.version().0);
        let host = HostFigures::open(platform, &blocks)?;
        let (disclosure, failed) = read_disclosure(platform, &blocks, &host)?;
        let probes = host.probes(|| ProbeSet::host(&context));
        let mut failures = Failures { events, reported: BTreeSet::new() };
        failed.iter().for_each(|(block, why)| failures.report(&format!("{block}: {why}")));
        let settled = Default::default();
        Ok(Probing {
            probes,
            disclosure,
            block_setting: can.block_setting,
            sampler: None,
            failures,
            settled,
        })
    }

    /// Opens the session by which the database's counters are read. Not before the data is loaded:
    /// an engine may load faster into a file that nobody else has open.
    ///
    /// # Errors
    /// If no session can be opened.
    pub fn attach(
        &mut self,
        platform: &Platform,
        catalog: &Catalog,
        is_sampled: bool,
    ) -> Result<()> {
        let database = platform.database.as_ref();
        let mut sessions = database.node_sessions().map_err(|error| error.at(platform.label()))?;
        let blocks = catalog.probes(platform.engine.name(), &database.version().0);
        let counting = blocks.iter().find(|block| block.name == SESSION_COUNTS);
        counting.iter().for_each(|block| database.count_jobs_by(statement(&block.text)));
        if sessions.len() > 1 {
            let probe = |(name, session)| (name, SqlProbe::new(session, &blocks));
            self.probes.push(Box::new(NodesProbe::new(sessions.into_iter().map(probe).collect())));
        } else if let Some((_, session)) = sessions.pop() {
            self.probes.push(Box::new(SqlProbe::new(session, &blocks)));
        }
        if is_sampled {
            let sampler =
                Sampler::open(database, &blocks).map_err(|error| error.at(platform.label()))?;
            self.sampler = sampler.map(|sampler| Arc::new(Mutex::new(sampler)));
        }
        // what cannot be read is told before the first test, not in it
        let read = self.probes.read();
        self.failures.report_all(&read);
        Ok(())
    }

    /// Session sampler.
    pub fn sampler(&self) -> Option<Arc<Mutex<Sampler>>> {
        self.sampler.clone()
    }

    /// Disclosure of platform and settings.
    pub fn disclosure(&self) -> &Disclosure {
        &self.disclosure
    }

    /// The way to a server elsewhere and back.
    pub fn round_trip_s(&self) -> Option<f64> {
        let trip_us: f64 = self.disclosure.get("network", "round_trip_us")?.parse().ok()?;
        Some(trip_us / 1e6)
    }

    /// Block size of the database in bytes, if it reports it.
    pub fn block_bytes(&self) -> Option<f64> {
        self.disclosure.get("settings", self.block_setting?)?.parse().ok()
    }

    /// All counters now, and what reading cost in ms. A probe that fails leaves its counters out. A
    /// reading after the deferred work needs `catch_up`; it is empty without it, and if the work
    /// could not be done.
    pub fn read(&mut self, reading: Reading, catch_up: Option<&CatchUp<'_>>) -> (Counters, f64) {
        let pay_back_s = match (reading, catch_up) {
            (Reading::CaughtUp, None) => return Default::default(),
            (Reading::CaughtUp, Some(catch_up)) => {
                match catch_up.finish(&self.settled[0], &self.settled[1]) {
                    Ok(pay_back_s) => Some(pay_back_s),
                    Err(error) => {
                        self.failures.report(&format!("catch-up: {error}"));
                        return Default::default();
                    }
                }
            }
            _ => None,
        };
        if reading != Reading::AtOnce {
            self.probes.settle();
        }
        let mut read = match reading {
            Reading::AtOnce => self.probes.read_beside_jobs(),
            Reading::Settled | Reading::CaughtUp => self.probes.read(),
        };
        self.failures.report_all(&read);
        pay_back_s.into_iter().for_each(|pay_back_s| read.counters.set("pay_back_s", pay_back_s));
        if reading == Reading::Settled {
            self.settled.swap(0, 1);
            self.settled[1] = read.counters.clone();
        }
        (read.counters, read.cost_ms)
    }
}

/// Block of a probe that names what its user may and no test needs: columns `lacks` and
/// `statement`.
pub const SUPERUSER: &str = "rights.superuser";

/// Missing rights of the user by the blocks of these names, each with advice; a block that fails is
/// ignored.
pub fn rights(platform: &Platform, catalog: &Catalog, names: &[&str]) -> Vec<String> {
    let blocks = catalog.probes(platform.engine.name(), &platform.database.version().0);
    let blocks = blocks.iter().filter(|block| names.contains(&block.name.as_str()));
    let ask =
        |block: &&Block| platform.database.session().ok()?.query(statement(&block.text), &[]).ok();
    let facts = |rows: Rows| {
        let line = |at| Some(format!("{}; {}", rows.get(at, "lacks")?, rows.get(at, "statement")?));
        (0..rows.rows.len()).filter_map(line).collect::<Vec<_>>()
    };
    blocks.filter_map(ask).flat_map(facts).collect()
}

/// Source of the figures of the database's host.
pub enum HostFigures {
    /// The host is this one.
    Here,
    /// It is another host, read through its node_exporter or through the database.
    Elsewhere(Box<RemoteHost>),
    /// Hosts of the nodes of a cluster, each with its own figures.
    Nodes(Box<NodeHosts>),
    /// Nothing can be read of the host.
    Unknown,
}

impl HostFigures {
    /// Of the exporter that the user named, of this host, or of the server itself as far as it lets
    /// us.
    ///
    /// # Errors
    /// The exporter does not answer; no session can be opened.
    pub fn open(platform: &Platform, blocks: &[&Block]) -> Result<HostFigures> {
        let session = || platform.database.session().map_err(|error| error.at(platform.label()));
        let (urls, nodes) = (&platform.host_metrics, platform.database.nodes());
        if nodes.len() > 1 && !urls.is_empty() {
            check_names(urls, nodes)?;
            return Ok(HostFigures::Nodes(Box::new(of_nodes(platform, blocks)?)));
        }
        if nodes.len() > 1 && !is_here(platform) {
            return Ok(HostFigures::Unknown);
        }
        if let Some((node, url)) = urls.first_key_value() {
            if !node.is_empty() {
                let what = format!("{} is named, and the target is one server", quote(node));
                return Err(Error::usage("--host-metrics", what).advise("give the URL alone"));
            }
            let found = RemoteHost::of_exporter(url, session()?.as_mut(), blocks);
            return found.map(|host| HostFigures::Elsewhere(Box::new(host))).map_err(silent);
        }
        if is_here(platform) {
            return Ok(HostFigures::Here);
        }
        // Who may not is told by `check` what would allow it.
        let found = RemoteHost::of_server(session()?, blocks).ok().flatten();
        Ok(found.map_or(HostFigures::Unknown, |host| HostFigures::Elsewhere(Box::new(host))))
    }

    /// The probes; `here` makes those of this host.
    pub fn probes(self, here: impl FnOnce() -> ProbeSet) -> ProbeSet {
        if let HostFigures::Here = self {
            return here();
        }
        let mut probes = ProbeSet::own_process();
        match self {
            HostFigures::Elsewhere(host) => probes.push(host),
            HostFigures::Nodes(hosts) => probes.push(hosts),
            HostFigures::Here | HostFigures::Unknown => {}
        }
        probes
    }

    /// Name of the source.
    pub fn source_name(&self, platform: &Platform) -> String {
        self.disclosure(platform).get("hardware", "told_by").unwrap_or("nobody").to_string()
    }

    /// Disclosure of the machine.
    pub fn disclosure(&self, platform: &Platform) -> Disclosure {
        match self {
            HostFigures::Here => host::disclosure(platform.database.storage_path().as_deref()),
            HostFigures::Elsewhere(host) => host.disclosure().clone(),
            HostFigures::Nodes(hosts) => hosts.disclosure(),
            HostFigures::Unknown => Disclosure::default(),
        }
    }
}

/// Refuses addresses of hosts that are not those of the nodes.
fn check_names(urls: &HostUrls, nodes: &[String]) -> Result<()> {
    let Some(wrong) = urls.keys().find(|name| !nodes.contains(name)) else { return Ok(()) };
    let what = match wrong.is_empty() {
        true => format!("names one host, and the target has {} nodes", nodes.len()),
        false => format!("there is no node {}", quote(wrong)),
    };
    Err(Error::usage("--host-metrics", what)
        .advise(format!("give NODE=URL for each of {}", nodes.join(", "))))
}

/// The hosts of the nodes whose exporters the user named.
fn of_nodes(platform: &Platform, blocks: &[&Block]) -> Result<NodeHosts> {
    let sessions = platform.database.node_sessions().map_err(|error| error.at(platform.label()))?;
    let mut hosts = Vec::new();
    for (node, mut session) in sessions {
        let Some(url) = platform.host_metrics.get(&node) else { continue };
        let host = RemoteHost::of_exporter(url, session.as_mut(), blocks);
        hosts.push((node.clone(), host.map_err(|what| silent(format!("node {node}: {what}")))?));
    }
    Ok(NodeHosts::new(hosts, platform.database.nodes().len()))
}

fn silent(what: String) -> Error {
    Error::target("--host-metrics", what).advise("is a node_exporter started there?")
}

/// True if the database is on this host, so that the host's counters are its own.
fn is_here(platform: &Platform) -> bool {
    let database = platform.database.as_ref();
    platform.engine.capabilities().in_process
        || database.storage_path().is_some()
        || !database.server_pids().is_empty()
}

/// Disclosure of platform and settings, and the blocks that failed, with the reason.
///
/// # Errors
/// If no session can be opened.
pub fn read_disclosure(
    platform: &Platform,
    blocks: &[&Block],
    host: &HostFigures,
) -> Result<(Disclosure, Vec<(String, String)>)> {
    let mut disclosure = host.disclosure(platform);
    let mut session = platform.database.session().map_err(|error| error.at(platform.label()))?;
    disclosure.set("database", "engine", platform.engine.name());
    let product = platform.engine.capabilities().product;
    let failed = probe::disclose(session.as_mut(), blocks, product, &mut disclosure);
    if !matches!(host, HostFigures::Here) {
        probe::disclose_network(session.as_mut(), blocks, &mut disclosure);
    }
    platform.links().into_iter().for_each(|links| disclose_links(links, &mut disclosure));
    disclosure.set("dbdyno", "instructions", probe::client_instructions());
    disclose_quotas(&platform.database.server_pids(), &mut disclosure);
    Ok((disclosure, failed))
}

/// Adds the CPUs that a quota of a control group lets dbdyno and these processes of the database
/// use, where there is one.
fn disclose_quotas(server: &[u32], disclosure: &mut Disclosure) {
    let own = [std::process::id()];
    for (section, processes) in [("dbdyno", &own[..]), ("database", server)] {
        let groups = host::CpuGroups::around(processes);
        if let Some(cpus) = groups.and_then(|groups| groups.quota_cpus()) {
            disclosure.set(section, "quota_cpus", cpus.to_string());
        }
    }
}

/// Adds the section `network`: the delay that was asked for and the measured one, in us.
fn disclose_links(links: &NetworkEmulation, disclosure: &mut Disclosure) {
    let us = |time_s: f64| format!("{:.0}", time_s * 1e6);
    disclosure.set("network", "link_delay_us", us(links.delay_s));
    disclosure.set("network", "link_held_by", links.held_by);
    links
        .round_trip_s
        .into_iter()
        .for_each(|trip_s| disclosure.set("network", "link_round_trip_us", us(trip_s)));
}

/// Failures to read, each reported once: claims about it stay unchecked, which nobody should have
/// to wonder about.
struct Failures<'a> {
    events: &'a Sink<'a>,
    reported: BTreeSet<String>,
}

impl Failures<'_> {
    fn report_all(&mut self, reading: &probe::Reading) {
        let failed = reading.failed.iter();
        failed.for_each(|(probe, why)| self.report(&format!("{probe}: {why}")));
    }

    fn report(&mut self, failure: &str) {
        if self.reported.insert(failure.to_string()) {
            (self.events)(Event::Note(&format!("probe {failure}; what it reports stays unknown")));
        }
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[test]
    fn a_failure_is_told_once() {
        let told = Mutex::new(Vec::new());
        let events = |event: Event<'_>| {
            let Event::Note(text) = event else { return };
            told.lock().push(text.to_string());
        };
        let mut failures = Failures { events: &events, reported: BTreeSet::new() };
        ["disk: gone", "sql: counters.io: no", "disk: gone"]
            .iter()
            .for_each(|failure| failures.report(failure));
        let told = told.into_inner();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("probe disk: gone; "), "{told:?}");
    }
}
