//! The host of a server on another machine, by an exporter there or by the server itself.

use std::collections::BTreeMap;
use std::path::Path;

use procfs::net::InterfaceDeviceStatus;
use procfs::process::MountInfos;
use procfs::{DiskStats, FromBufRead, FromBufReadSI, KernelStats, Meminfo};

use crate::engine::{EngineError, Session};
use crate::host;
use dbdyno_core::model::{Counters, Disclosure};
use dbdyno_core::sql::{Block, statement};

use super::disk::CarriedTimes;
use super::exporter::{Exporter, Page};
use super::{Probe, disk, system};

/// Block whose rows (path, text) are files of `/proc` on the server's host.
const FILES: &str = "host.files";
/// The same of what does not change.
const FACTS: &str = "host.facts";
/// Block with one value: the directory of the server's files.
const DIRECTORY: &str = "host.directory";
/// Present if the figures of the operating system are those of another machine than ours.
const ELSEWHERE: &str = "os_elsewhere";
/// Hertz of the times in `/proc/stat`, whatever the kernel's own tick is (USER_HZ; proc(5)).
const TICKS_PER_S: f64 = 100.0;

/// The machine of a server elsewhere.
pub struct RemoteHost {
    source: Source,
    directory: Option<String>,
    disclosure: Disclosure,
    disk_times: CarriedTimes,
}

enum Source {
    Exporter(Exporter),
    Server { session: Box<dyn Session>, sql: String },
}

impl RemoteHost {
    /// The host of an exporter; the server reports where its files are, if it can.
    ///
    /// # Errors
    /// No exporter answers there, or another program does.
    pub fn of_exporter(
        url: &str,
        session: &mut dyn Session,
        blocks: &[&Block],
    ) -> Result<RemoteHost, String> {
        let exporter = Exporter::new(url);
        let text = exporter.page()?;
        let page = Page::parse(&text).map_err(|what| format!("{url} {what}"))?;
        let directory = directory(session, blocks);
        let mut disclosure = page.disclosure(directory.as_deref());
        disclosure.set("hardware", "told_by", page.source());
        Ok(RemoteHost::new(Source::Exporter(exporter), directory, disclosure))
    }

    /// The machine of a server that lets us read what its kernel counts; none if the engine cannot.
    ///
    /// # Errors
    /// The right is missing.
    pub fn of_server(
        mut session: Box<dyn Session>,
        blocks: &[&Block],
    ) -> Result<Option<RemoteHost>, EngineError> {
        let Some((sql, facts)) = sql_of(blocks, FILES).zip(sql_of(blocks, FACTS)) else {
            return Ok(None);
        };
        let mut files = files(session.as_mut(), &sql)?;
        files.extend(self::files(session.as_mut(), &facts)?);
        if set(&files, None, &mut Counters::default()).is_err() {
            return Ok(None);
        }
        let directory = directory(session.as_mut(), blocks);
        let mut disclosure = host::disclosure_of(&files, directory.as_deref().map(Path::new));
        disclosure.set("hardware", "told_by", "the server");
        Ok(Some(RemoteHost::new(Source::Server { session, sql }, directory, disclosure)))
    }

    fn new(source: Source, directory: Option<String>, disclosure: Disclosure) -> RemoteHost {
        RemoteHost { source, directory, disclosure, disk_times: CarriedTimes::default() }
    }

    /// Facts about the machine, and their source (`hardware`, `told_by`).
    pub fn disclosure(&self) -> &Disclosure {
        &self.disclosure
    }
}

fn sql_of(blocks: &[&Block], name: &str) -> Option<String> {
    blocks.iter().find(|block| block.name == name).map(|block| statement(&block.text).to_string())
}

fn directory(session: &mut dyn Session, blocks: &[&Block]) -> Option<String> {
    let rows = session.query(&sql_of(blocks, DIRECTORY)?, &[]).ok()?;
    rows.scalar().map(String::from)
}

type Files = BTreeMap<String, String>;

/// The files that exist.
fn files(session: &mut dyn Session, sql: &str) -> Result<Files, EngineError> {
    let rows = session.query(sql, &[])?.rows;
    let pair = |row: Vec<Option<String>>| <[Option<String>; 2]>::try_from(row).ok();
    Ok(rows.into_iter().filter_map(pair).filter_map(|[path, text]| path.zip(text)).collect())
}

impl Probe for RemoteHost {
    fn name(&self) -> &'static str {
        "host"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        let directory = self.directory.as_deref();
        match &mut self.source {
            Source::Exporter(exporter) => Page::parse(&exporter.page()?)?.set(directory, counters),
            Source::Server { session, sql } => {
                let files = files(session.as_mut(), sql).map_err(|error| error.to_string())?;
                set(&files, directory, counters)?;
            }
        }
        self.disk_times.carry_on(counters);
        counters.set(ELSEWHERE, 1.0);
        Ok(())
    }
}

/// Counters from these files, which are read in the same way as those of this host.
fn set(files: &Files, directory: Option<&str>, counters: &mut Counters) -> Result<(), String> {
    let file = |path: &str| {
        files.get(path).map(|text| text.as_bytes()).ok_or(format!("{path} is not there"))
    };
    let wrong = |error: procfs::ProcError| error.to_string();
    let stats = KernelStats::from_buf_read(file("/proc/stat")?, procfs::current_system_info())
        .map_err(wrong)?;
    system::set_cpu(&stats.total, TICKS_PER_S, counters);
    if let Ok(memory) = file("/proc/meminfo") {
        system::set_memory(&Meminfo::from_buf_read(memory).map_err(wrong)?, counters);
    }
    if let Ok(network) = file("/proc/net/dev") {
        system::set_network(
            &InterfaceDeviceStatus::from_buf_read(network).map_err(wrong)?.0,
            counters,
        );
    }
    if let (Ok(disks), Ok(mounts), Some(directory)) =
        (file("/proc/diskstats"), file("/proc/self/mountinfo"), directory)
    {
        let mounts = MountInfos::from_buf_read(mounts).map_err(wrong)?;
        let disks = DiskStats::from_buf_read(disks).map_err(wrong)?;
        if let Some(device) = host::device_in(mounts, Path::new(directory)) {
            disk::set(&disks.0, device, None, counters)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_another_machine_are_read_as_our_own() {
        let captured = |name: &str| {
            std::fs::read_to_string(format!("../../tests/fixtures/proc/{name}")).unwrap()
        };
        let paths = [
            ("/proc/stat", "stat"),
            ("/proc/diskstats", "diskstats"),
            ("/proc/self/mountinfo", "mountinfo"),
        ];
        let mut files: Files = paths.map(|(path, name)| (path.to_string(), captured(name))).into();
        let mut counters = Counters::default();
        set(&files, Some("/srv/faster"), &mut counters).unwrap();
        assert_eq!(counters.get("os_cpu_steal_s"), Some(239.33));
        assert_eq!(counters.get("os_disk_reads"), Some(12_900.0), "/dev/vda1 is 254:1");
        assert_eq!(
            (counters.get("os_disk_flushes"), counters.get("os_mem_dirty_bytes")),
            (None, None)
        );
        files.remove("/proc/stat");
        assert!(set(&files, None, &mut counters).is_err());
    }
}
