//! The server's process on this host, and its files: proven, since the numbers of processes and the
//! paths that a server tells are those of its own namespaces. A container's port that is published
//! on a loopback address is answered by a process of this host that only passes bytes on.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use procfs::net::TcpNetEntry;
use procfs::process::{FDTarget, Process, all_processes};

use super::Stream;
use crate::engine::Session;
use crate::host;

/// Process of a server as the server numbers it.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct Claimed {
    /// It listens for connections.
    pub listens: u32,
    /// It has accepted this one: itself, or a child.
    pub serves: u32,
}

impl Claimed {
    /// True if it is at the other end of the connection. Whoever may not look at the files of its
    /// processes is content with the user who owns the socket, in no namespace of its own.
    pub(in crate::engine) fn is_at_the_end_of(self, stream: &Stream) -> bool {
        match stream.addresses() {
            None => stream.peer_pid() == Some(self.listens),
            Some((ours, theirs)) => self.holds(ours, theirs).unwrap_or(false),
        }
    }

    /// True if it has the other end of the connection from `ours` to `theirs`; none if that end is
    /// not in our network namespace.
    fn holds(self, ours: SocketAddr, theirs: SocketAddr) -> Option<bool> {
        let end = other_end(ours, theirs)?;
        has_socket(&Process::new(i32::try_from(self.serves).ok()?).ok()?, &end)
    }
}

/// The other end of the connection from `ours` to `theirs`, if it is in our network namespace.
fn other_end(ours: SocketAddr, theirs: SocketAddr) -> Option<TcpNetEntry> {
    let same = |a: SocketAddr, b: SocketAddr| {
        (a.ip().to_canonical(), a.port()) == (b.ip().to_canonical(), b.port())
    };
    let all = procfs::net::tcp().into_iter().chain(procfs::net::tcp6()).flatten();
    all.into_iter().find(|end| same(end.local_address, theirs) && same(end.remote_address, ours))
}

/// True if a process has this socket open, or may have it as far as we may look; none if it has
/// ended.
fn has_socket(process: &Process, socket: &TcpNetEntry) -> Option<bool> {
    match process.fd() {
        Ok(files) => {
            Some(files.flatten().any(
                |file| matches!(file.target, FDTarget::Socket(inode) if inode == socket.inode),
            ))
        }
        Err(_) => Some(process.uid().ok()? == socket.uid && !is_apart(process)),
    }
}

/// The processes of this host that are at the other end of a connection. The table of all
/// connections of the host is read once, not once for each process.
pub(in crate::engine) fn processes_at_the_end_of(stream: &Stream) -> Vec<u32> {
    let Some((ours, theirs)) = stream.addresses() else {
        return stream.peer_pid().into_iter().collect();
    };
    let Some(end) = other_end(ours, theirs) else { return Vec::new() };
    let all = all_processes().into_iter().flatten().flatten();
    all.filter(|process| has_socket(process, &end) == Some(true))
        .filter_map(|process| u32::try_from(process.pid).ok())
        .collect()
}

/// True if a process is in a namespace of processes that is not ours.
fn is_apart(process: &Process) -> bool {
    process.status().ok().and_then(|status| status.nspid).is_none_or(|pids| pids.len() > 1)
}

/// The directory of a server that a query names, if the server's process `pid` sees the same one
/// under this path as we do, and we may see it.
pub(in crate::engine) fn directory(
    session: &mut dyn Session,
    sql: &str,
    pid: u32,
) -> Option<PathBuf> {
    let rows = session.query(sql, &[]).ok()?;
    // Without a slash at its end.
    let path: PathBuf = PathBuf::from(rows.scalar()?).components().collect();
    is_seen_by(pid, &path).then_some(path)
}

fn is_seen_by(pid: u32, path: &Path) -> bool {
    let Ok(ours) = fs::metadata(path) else { return false };
    match host::sees(pid, path, &ours) {
        Ok(is_seen) => is_seen,
        // We may not look: then it is to be in no container.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => i32::try_from(pid)
            .is_ok_and(|pid| Process::new(pid).is_ok_and(|process| !is_apart(&process))),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn only_the_process_that_has_the_other_end_serves_a_connection() {
        let us = std::process::id();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _served = listener.accept().unwrap();
        let claimed = |serves| Claimed { listens: serves, serves };
        let stream = Stream::from(stream);
        assert!(claimed(us).is_at_the_end_of(&stream));
        assert!(!claimed(1).is_at_the_end_of(&stream), "the process that all others come from");
        assert!(processes_at_the_end_of(&stream).contains(&us));
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let ours = Stream::from(ours);
        assert!(claimed(us).is_at_the_end_of(&ours));
        assert_eq!(processes_at_the_end_of(&ours), [us]);
    }

    #[test]
    fn a_path_is_a_directory_of_both_or_of_nobody() {
        let dir = tempfile::tempdir().unwrap();
        assert!(is_seen_by(std::process::id(), dir.path()));
        assert!(!is_seen_by(std::process::id(), &dir.path().join("none")));
    }
}
