//! A byte stream to a server: Unix socket or TCP.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

/// A byte stream to the server.
pub(in crate::engine) struct Stream {
    socket: Socket,
    /// Longest wait for bytes; none = for ever.
    read_timeout: Option<Duration>,
}

enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl From<UnixStream> for Stream {
    fn from(socket: UnixStream) -> Self {
        Stream { socket: Socket::Unix(socket), read_timeout: None }
    }
}

impl From<TcpStream> for Stream {
    fn from(socket: TcpStream) -> Self {
        Stream { socket: Socket::Tcp(socket), read_timeout: None }
    }
}

impl Stream {
    /// Connects to a Unix socket.
    pub(in crate::engine) fn to_socket(path: &Path) -> io::Result<Stream> {
        UnixStream::connect(path).map(Stream::from)
    }

    /// Connects to the first address of a host that answers; true if that is a loopback address.
    pub(in crate::engine) fn to_port(name: &str, port: u16, timeout: Duration) -> io::Result<(Stream, bool)> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
        for address in (name, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok((stream.into(), address.ip().is_loopback()));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Reads what is there; waits only if nothing is. A wait in `poll` instead of in the read itself lets two and more
    /// jobs do a fifth more round trips on as many processors (docs/decisions/0014-waiting-for-answers.md).
    ///
    /// # Errors
    /// What the system says; `TimedOut` if nothing came in time.
    #[inline]
    pub(in crate::engine) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match recv(self.descriptor(), &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((count, _)) => return Ok(count),
                Err(Errno::AGAIN) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Until there is something to read, or the other side has gone.
    fn wait(&self) -> io::Result<()> {
        let timeout = self.read_timeout.map(Timespec::try_from).transpose();
        let timeout = timeout.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        match poll(&mut [PollFd::from_borrowed_fd(self.descriptor(), PollFlags::IN)], timeout.as_ref())? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(socket) => socket.as_fd(),
            Socket::Tcp(socket) => socket.as_fd(),
        }
    }

    pub(in crate::engine) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.socket {
            Socket::Unix(socket) => socket.write_all(bytes),
            Socket::Tcp(socket) => socket.write_all(bytes),
        }
    }
    /// Limits every wait for bytes; none = for ever.
    pub(in crate::engine) fn set_read_timeout(&mut self, timeout: Option<Duration>) {
        self.read_timeout = timeout;
    }
    /// Tells the server that nothing more comes.
    pub(in crate::engine) fn end_of_writing(&self) {
        // Nothing can be done if the peer has gone already.
        let _ = match &self.socket {
            Socket::Unix(socket) => socket.shutdown(Shutdown::Write),
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Write),
        };
    }
}
