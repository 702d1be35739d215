//! All probes of a run: the operating system's and the database's, and the disclosure they make.

use super::platform::Platform;
use crate::catalog::Catalog;
use crate::error::Result;
use crate::model::{Counters, Disclosure};
use crate::probe::{self, ProbeContext, ProbeSet, SqlProbe};

/// Settings by which engines name the size of a block, for rates in bytes.
const BLOCK_SIZE: &[&str] = &["block_size", "page_size", "innodb_page_size"];

/// The probes of a run.
pub struct Probing {
    probes: ProbeSet,
    disclosure: Disclosure,
}

impl Probing {
    /// Opens the probes of the host and takes the disclosure. Of a database on another host only the database and
    /// our own process are probed: this host's CPUs say nothing about it. The database's counters are read from
    /// [`Probing::attach`] on.
    ///
    /// # Errors
    /// If no session can be opened.
    pub fn new(platform: &Platform, catalog: &Catalog) -> Result<Self> {
        let database = platform.database.as_ref();
        let storage = database.storage_path();
        let server_pids = database.server_pids();
        let in_process = platform.engine.capabilities().in_process;
        let here = in_process || storage.is_some() || !server_pids.is_empty();
        let context = ProbeContext { storage: storage.as_deref(), server_pids: &server_pids, in_process };
        let probes = if here { ProbeSet::host(&context) } else { ProbeSet::own_process() };
        let mut disclosure = if here { probe::host(storage.as_deref()) } else { Disclosure::default() };
        let blocks = catalog.probes(platform.engine.name(), &database.version().0);
        let mut session = database.session().map_err(|error| error.at(platform.label()))?;
        disclosure.set("database", "engine", platform.engine.name());
        probe::database(session.as_mut(), &blocks, &mut disclosure);
        Ok(Probing { probes, disclosure })
    }

    /// Opens the session by which the database's counters are read. Not before the data is loaded: an engine may
    /// load faster into a file that nobody else has open.
    ///
    /// # Errors
    /// If no session can be opened.
    pub fn attach(&mut self, platform: &Platform, catalog: &Catalog) -> Result<()> {
        let database = platform.database.as_ref();
        let session = database.session().map_err(|error| error.at(platform.label()))?;
        let blocks = catalog.probes(platform.engine.name(), &database.version().0);
        self.probes.push(Box::new(SqlProbe::new(session, &blocks)));
        Ok(())
    }

    /// What is known about platform and settings.
    pub fn disclosure(&self) -> &Disclosure {
        &self.disclosure
    }

    /// Size of the database's block in bytes, if it tells.
    pub fn block_bytes(&self) -> Option<f64> {
        BLOCK_SIZE.iter().find_map(|name| self.disclosure.get("settings", name).parse().ok())
    }

    /// All counters now, and what reading cost in ms. A probe that fails leaves its counters out.
    pub fn read(&mut self) -> (Counters, f64) {
        let reading = self.probes.read();
        (reading.counters, reading.cost_ms)
    }
}
