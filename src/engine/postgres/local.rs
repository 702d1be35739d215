//! A server on this host: its processes and its files.

use std::fs;
use std::path::PathBuf;

use procfs::process::{Process, all_processes};

use super::session::PgSession;
use crate::engine::Session;

/// The parent of backend `pid`, if that process is here and looks like a backend of `database`.
///
/// The server may run in another process namespace although its socket is reachable; then the number means another
/// process, and none is better than a wrong one.
pub(super) fn postmaster_of(pid: u32, database: &str) -> Option<u32> {
    let backend = Process::new(i32::try_from(pid).ok()?).ok()?;
    let is_ours = backend.cmdline().ok()?.first().is_some_and(|title| title.contains(database));
    let parent = backend.stat().ok().filter(|_| is_ours)?.ppid;
    u32::try_from(parent).ok().filter(|parent| *parent > 1)
}

/// `parent` and its children.
pub(super) fn family_of(parent: u32) -> Vec<u32> {
    let stats = all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok());
    let family = stats.filter(|stat| [stat.ppid, stat.pid].iter().any(|pid| u32::try_from(*pid) == Ok(parent)));
    family.filter_map(|stat| u32::try_from(stat.pid).ok()).collect()
}

/// The server's data directory, if we may know and see it.
pub(super) fn data_directory(session: &mut PgSession) -> Option<PathBuf> {
    let rows = session.query("select setting from pg_catalog.pg_settings where name = 'data_directory'", &[]).ok()?;
    let path = PathBuf::from(rows.scalar()?);
    fs::metadata(&path).ok().map(|_| path)
}
