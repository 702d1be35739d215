//! Probe of CPU quotas: seconds that they stopped the processes of the database, and dbdyno itself.

use dbdyno_core::model::Counters;

use crate::host::{CpuGroups, StoppedSeconds};

use super::{Probe, ProbeContext};

struct Quotas {
    /// Counters, each with the groups that it is of.
    groups: Vec<(&'static str, CpuGroups)>,
}

/// The probe, where the database's processes or ours are in groups that can have a quota.
pub(super) fn open(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
    let own = [std::process::id()];
    let whose = [("server_throttled_s", context.server_pids), ("self_throttled_s", &own[..])];
    let groups: Vec<_> = whose
        .into_iter()
        .filter_map(|(counter, processes)| Some((counter, CpuGroups::around(processes)?)))
        .collect();
    (!groups.is_empty()).then(|| Box::new(Quotas { groups }) as Box<dyn Probe>)
}

impl Probe for Quotas {
    fn name(&self) -> &'static str {
        "cpu-quota"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let mut known = StoppedSeconds::new();
        for (counter, groups) in &self.groups {
            let stopped_s = groups.stopped_s(&mut known);
            stopped_s.into_iter().for_each(|stopped_s| counters.set(*counter, stopped_s));
        }
        Ok(())
    }
}
