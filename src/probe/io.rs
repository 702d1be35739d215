//! Bytes that the database's processes made the device read, from `/proc/pid/io`: what a cache served is not in it, nor
//! what other programs read.

use std::collections::BTreeSet;

use crate::model::Counters;

use super::process::children;
use super::{Probe, ProbeContext};

struct ServerIo {
    pids: Vec<u32>,
}

/// The probe, if the account of the database's processes may be read: it takes their user's rights or root's.
pub(super) fn open(context: &ProbeContext<'_>) -> Option<Box<dyn Probe>> {
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
    /// The given processes and their living children. A child's account goes over to its parent when it ends, so the
    /// sum never falls.
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let children = self.pids.iter().flat_map(|pid| children(*pid));
        let pids: BTreeSet<u32> = self.pids.iter().copied().chain(children).collect();
        let texts = pids.iter().filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/io")).ok());
        let bytes: Vec<f64> = texts.filter_map(|text| read_bytes(&text)).collect();
        if bytes.is_empty() {
            return Err("the I/O of none of the database's processes can be read".into());
        }
        counters.set("server_read_bytes", bytes.iter().sum());
        Ok(())
    }
}

/// `read_bytes`: fetched from the storage layer (man 5 proc, /proc/pid/io).
fn read_bytes(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("read_bytes: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_the_storage_gave_and_not_what_was_asked_of_it() {
        let text = "rchar: 4292\nwchar: 0\nsyscr: 13\nsyscw: 0\nread_bytes: 86016\nwrite_bytes: 4096\n";
        assert_eq!(read_bytes(text), Some(86_016.0));
        assert_eq!(read_bytes("rchar: 1\n"), None);
    }
}
