//! What measuring costs: the lookup with all probes, both samplers (counters, sessions) and the watch of the platform, against the lookup alone.

use std::sync::Mutex;

use dbdyno::campaign::probing::Sampler;
use dbdyno::error::Result;
use dbdyno::model::{Counters, Drive};
use dbdyno::probe::{ProbeContext, ProbeSet, SqlProbe};
use dbdyno::runner::SessionSource;

use crate::drive;
use crate::lab::Lab;
use crate::pairs::{Comparison, Outcome, Rules, interleave};

/// Least part of the throughput that measuring must leave.
const TARGET: f64 = 0.99;

/// Both drives at every number of jobs.
pub fn compare(lab: &Lab, rules: &Rules, jobs: &[u32], seconds: f64, outcomes: &mut Vec<Outcome>) -> Result<()> {
    for (drive, name) in [(Drive::Database, "database"), (Drive::Client, "client")] {
        let selection = drive::lookup(lab, "", drive, seconds)?;
        for &jobs in jobs {
            let (mut probes, sampler) = (probes(lab)?, sampler(lab)?);
            let sessions = sampler.as_ref().map(|sampler| sampler as &Mutex<dyn SessionSource>);
            let mut read = |_| {
                let reading = probes.read();
                (reading.counters, reading.cost_ms)
            };
            let comparison = Comparison {
                name: format!("lookup in the {name} drive with all probes against without, jobs {jobs}"),
                unit: "ops/s",
                target: Some(TARGET),
                ours: &mut || drive::run_probed(lab, &selection, jobs, &mut read, sessions),
                peer: &mut || drive::run_probed(lab, &selection, jobs, &mut |_| (Counters::default(), 0.0), None),
            };
            outcomes.push(interleave(rules, comparison)?);
        }
    }
    Ok(())
}

/// What looks at the sessions.
fn sampler(lab: &Lab) -> Result<Option<Mutex<Sampler>>> {
    let blocks = lab.catalog.probes(lab.engine.name(), &lab.database.version().0);
    let sampler = Sampler::open(lab.database.as_ref(), &blocks).map_err(|error| error.at(lab.engine.name()))?;
    Ok(sampler.map(Mutex::new))
}

/// All that a run reads.
fn probes(lab: &Lab) -> Result<ProbeSet> {
    let (storage, server_pids) = (lab.database.storage_path(), lab.database.server_pids());
    let context = ProbeContext { storage: storage.as_deref(), server_pids: &server_pids, in_process: false };
    let mut probes = ProbeSet::host(&context);
    let session = lab.database.session().map_err(|error| error.at(lab.engine.name()))?;
    let blocks = lab.catalog.probes(lab.engine.name(), &lab.database.version().0);
    probes.push(Box::new(SqlProbe::new(session, &blocks)));
    Ok(probes)
}
