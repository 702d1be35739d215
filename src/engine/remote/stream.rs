//! A byte stream to a server: Unix socket or TCP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A byte stream to the server.
pub(in crate::engine) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    /// Connects to a Unix socket.
    pub(in crate::engine) fn to_socket(path: &Path) -> io::Result<Stream> {
        UnixStream::connect(path).map(Stream::Unix)
    }

    /// Connects to the first address of a host that answers; true if that is a loopback address.
    pub(in crate::engine) fn to_port(name: &str, port: u16, timeout: Duration) -> io::Result<(Stream, bool)> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
        for address in (name, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok((Stream::Tcp(stream), address.ip().is_loopback()));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    pub(in crate::engine) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
    pub(in crate::engine) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tcp(stream) => stream.write_all(bytes),
        }
    }
    pub(in crate::engine) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }
    /// Tells the server that nothing more comes.
    pub(in crate::engine) fn end_of_writing(&self) {
        // Nothing can be done if the peer has gone already.
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Write),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}
