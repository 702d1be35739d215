//! A server on this host: its process and its files.

use std::fs;
use std::path::PathBuf;

use procfs::process::Process;

use super::session::MariaSession;
use crate::engine::Session;

/// Names of the server's program.
const PROGRAMS: [&str; 2] = ["mariadbd", "mysqld"];

/// The server's process, by the number in its own note, if it is here and looks like a server: it may run in another
/// process namespace, and none is better than a wrong one.
pub(super) fn process(session: &mut MariaSession) -> Option<u32> {
    let path = session.query("select @@pid_file, @@datadir", &[]).ok()?;
    let row = path.rows.first()?;
    let (file, directory) = (row.first()?.as_deref()?, row.get(1)?.as_deref()?);
    let text = fs::read_to_string(PathBuf::from(directory).join(file)).ok()?;
    let pid: i32 = text.trim().parse().ok()?;
    let arguments = Process::new(pid).ok()?.cmdline().ok()?;
    let is_server = arguments.first().is_some_and(|name| PROGRAMS.iter().any(|program| name.contains(program)));
    u32::try_from(pid).ok().filter(|_| is_server)
}

/// The server's data directory, if we can see it.
pub(super) fn data_directory(session: &mut MariaSession) -> Option<PathBuf> {
    let rows = session.query("select @@datadir", &[]).ok()?;
    // Without the slash at its end.
    let path: PathBuf = PathBuf::from(rows.scalar()?).components().collect();
    fs::metadata(&path).ok().map(|_| path)
}
