//! A byte stream to a server: Unix socket or TCP, encrypted or not.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::sockopt::Timeout;
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, socket_with,
    sockopt,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::connect_timeouts::{ConnectTimeouts, POLL_INTERVAL, Wait};
use super::job_waits::JobWaits;
use super::tls::end_point;

/// Idle time after which a connection sends a keep-alive packet.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// A byte stream to the server.
pub(in crate::engine) struct Stream {
    plain: Plain,
    /// TLS connection that encrypts it.
    tls: Option<Box<ClientConnection>>,
}

/// The bytes as they go over the network.
struct Plain {
    socket: Arc<Socket>,
    /// Longest wait for bytes; none = for ever.
    read_timeout: Option<Duration>,
    /// Watches for waits without a limit: asked in order whenever the server has been silent.
    watches: Vec<Watch>,
    timeouts: ConnectTimeouts,
    /// A job's waits without a limit, which another thread looks after.
    job_waits: Option<Arc<JobWaits>>,
    /// Place of its waits for bytes.
    waits_in: WaitsIn,
    /// True after bytes were sent: the answer to them can hardly be there yet.
    has_asked: bool,
}

/// Place of a wait for bytes (docs/decisions/0062-waiting-in-the-read.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitsIn {
    Poll,
    /// The read itself.
    Read,
}

/// Check whether a silent server may still answer; if not, the reason.
pub(in crate::engine) type Watch = Arc<dyn Fn() -> Result<(), &'static str> + Send + Sync>;

enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Unix(socket) => socket.as_fd(),
            Socket::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl From<UnixStream> for Stream {
    fn from(socket: UnixStream) -> Self {
        Stream::over(Socket::Unix(socket), ConnectTimeouts::default())
    }
}

impl From<TcpStream> for Stream {
    fn from(socket: TcpStream) -> Self {
        Stream::over(Socket::Tcp(socket), ConnectTimeouts::default())
    }
}

impl Stream {
    fn over(socket: Socket, timeouts: ConnectTimeouts) -> Stream {
        let plain = Plain {
            socket: Arc::new(socket),
            read_timeout: None,
            watches: Vec::new(),
            timeouts,
            job_waits: None,
            waits_in: WaitsIn::Poll,
            has_asked: false,
        };
        // A wait until there is room to write ends now and then, as one to read does. Best effort:
        // without it such a wait ends with the connection.
        let _ = sockopt::set_socket_timeout(plain.descriptor(), Timeout::Send, Some(POLL_INTERVAL));
        Stream { plain, tls: None }
    }

    /// Connects to a Unix socket.
    pub(in crate::engine) fn to_socket(
        path: &Path,
        timeouts: &ConnectTimeouts,
    ) -> io::Result<Stream> {
        let socket = connect_socket(AddressFamily::UNIX, &SocketAddrUnix::new(path)?, timeouts)?;
        Ok(Stream::over(Socket::Unix(socket.into()), timeouts.clone()))
    }

    /// Connects to the first address of a host that answers; true if that is a loopback address.
    pub(in crate::engine) fn to_port(
        name: &str,
        port: u16,
        timeouts: &ConnectTimeouts,
    ) -> io::Result<(Stream, bool)> {
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
        for address in (name, port).to_socket_addrs()? {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            match connect_socket(family, &address, timeouts) {
                Ok(socket) => {
                    let stream = TcpStream::from(socket);
                    stream.set_nodelay(true)?;
                    // Best effort, as in libpq: what lies between may forget a session that waits
                    // for the end of a long test.
                    let _ = sockopt::set_socket_keepalive(&stream, true);
                    let _ = sockopt::set_tcp_keepidle(&stream, KEEP_ALIVE);
                    let stream = Stream::over(Socket::Tcp(stream), timeouts.clone());
                    return Ok((stream, is_loopback(address)));
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// The stream, encrypted, after the handshake.
    ///
    /// # Errors
    /// Of the network; `InvalidData` with a [`rustls::Error`] if a side refuses the other.
    pub(super) fn encrypt(
        mut self,
        config: Arc<ClientConfig>,
        server: ServerName<'static>,
    ) -> io::Result<Stream> {
        let mut tls = ClientConnection::new(config, server).map_err(invalid)?;
        while tls.is_handshaking() {
            send_records(&mut tls, &mut self.plain)?;
            if tls.is_handshaking() && receive_records(&mut tls, &mut self.plain)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        send_records(&mut tls, &mut self.plain)?;
        Ok(Stream { tls: Some(Box::new(tls)), ..self })
    }

    /// True if the connection is encrypted.
    pub(in crate::engine) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Encryption: version of the protocol and ciphers; none without encryption.
    fn encryption(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        let version = tls.protocol_version()?.as_str()?;
        Some(format!("{version} {}", tls.negotiated_cipher_suite()?.suite().as_str()?))
    }

    /// The method of a login on it, with the encryption under which it went.
    pub(in crate::engine) fn login(&self, method: &str) -> String {
        match self.encryption() {
            Some(encryption) => format!("{method}, {encryption}"),
            None => method.to_string(),
        }
    }

    /// Process that listens at a Unix socket; none over a network, and of a process that is in a
    /// namespace beside ours.
    pub(in crate::engine) fn peer_pid(&self) -> Option<u32> {
        match &*self.plain.socket {
            Socket::Unix(socket) => {
                let peer = sockopt::socket_peercred(socket).ok()?;
                u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
            }
            Socket::Tcp(_) => None,
        }
    }

    /// Our address and that of the other end; none of a Unix socket.
    pub(in crate::engine) fn addresses(&self) -> Option<(SocketAddr, SocketAddr)> {
        match &*self.plain.socket {
            Socket::Unix(_) => None,
            Socket::Tcp(socket) => Some((socket.local_addr().ok()?, socket.peer_addr().ok()?)),
        }
    }

    /// User id of who listens at a Unix socket; none over a network.
    pub(in crate::engine) fn peer_uid(&self) -> Option<u32> {
        match &*self.plain.socket {
            Socket::Unix(socket) => {
                sockopt::socket_peercred(socket).ok().map(|peer| peer.uid.as_raw())
            }
            Socket::Tcp(_) => None,
        }
    }

    /// The hash of the server's certificate that a login can be bound to; none without encryption.
    pub(in crate::engine) fn end_point(&self) -> Option<Vec<u8>> {
        end_point(self.tls.as_ref()?.peer_certificates()?.first()?)
    }

    /// Reads what is there; waits only if nothing is.
    ///
    /// # Errors
    /// The system's error; `TimedOut` if nothing came in time.
    #[inline]
    pub(in crate::engine) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.plain.read(buffer),
            Some(tls) => read_encrypted(tls, &mut self.plain, buffer),
        }
    }

    #[inline]
    pub(in crate::engine) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            None => self.plain.write_all(bytes),
            Some(tls) => write_encrypted(tls, &mut self.plain, bytes),
        }
    }

    /// Chooses how the session of a job waits for answers, in a test of so many jobs.
    pub(in crate::engine) fn wait_as_one_of(&mut self, jobs: u32) {
        self.plain
            .wait_as_one_of(jobs, std::thread::available_parallelism().map_or(1, usize::from));
    }

    /// Limits every wait for bytes; none = for ever.
    pub(in crate::engine) fn set_read_timeout(&mut self, timeout: Option<Duration>) {
        self.plain.read_timeout = timeout;
    }

    /// A wait without limit ends, too, when `watch` says that no answer will come: a server that
    /// has stopped or was cut off closes no connection.
    pub(in crate::engine) fn add_watch(&mut self, watch: Watch) {
        self.plain.watches.push(watch);
    }

    /// Tells the server that nothing more comes.
    pub(in crate::engine) fn end_of_writing(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // Nothing can be done if the peer has gone already.
            let _ = send_records(tls, &mut self.plain);
        }
        let _ = match &*self.plain.socket {
            Socket::Unix(socket) => socket.shutdown(Shutdown::Write),
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Write),
        };
    }
}

/// True of an address of this host alone, also where it stands for one of IPv4
/// (`::ffff:127.0.0.1`).
fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

fn read_encrypted(
    tls: &mut ClientConnection,
    plain: &mut Plain,
    buffer: &mut [u8],
) -> io::Result<usize> {
    loop {
        match tls.reader().read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => receive_records(tls, plain)?,
            // The other side has gone without a word.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
            done => return done,
        };
    }
}

fn write_encrypted(tls: &mut ClientConnection, plain: &mut Plain, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let taken = tls.writer().write(rest)?;
        rest = &rest[taken..];
        send_records(tls, plain)?;
    }
    Ok(())
}

/// Sends what is to be sent.
fn send_records(tls: &mut ClientConnection, plain: &mut Plain) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(plain)?;
    }
    Ok(())
}

/// Takes in what comes, and answers if it must; 0 bytes at the end of the stream.
fn receive_records(tls: &mut ClientConnection, plain: &mut Plain) -> io::Result<usize> {
    let count = tls.read_tls(plain)?;
    let taken = tls.process_new_packets().map_err(invalid);
    // Also what tells the other side why.
    let sent = send_records(tls, plain);
    taken?;
    sent.map(|()| count)
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Plain {
    /// Has its waits looked after by another thread, and waits in the read where that gains: on a
    /// Unix socket, as long as client and server of each job have a processor of their own.
    fn wait_as_one_of(&mut self, jobs: u32, processors: usize) {
        // Otherwise it goes on looking itself, which takes a timer for each wait.
        self.job_waits = JobWaits::new(self.socket.clone(), &self.watches, &self.timeouts).ok();
        let have_one_each = u64::from(jobs) * 2 <= processors as u64;
        if have_one_each && self.job_waits.is_some() && matches!(*self.socket, Socket::Unix(_)) {
            self.waits_in = WaitsIn::Read;
        }
    }

    /// Looks of another thread at the next wait; none if the thread that waits looks itself.
    #[inline]
    fn job_waits(&self) -> Option<&JobWaits> {
        self.job_waits.as_deref().filter(|_| self.read_timeout.is_none())
    }

    /// Until there is something to read, or the other side has gone.
    fn wait(&self) -> io::Result<()> {
        if let Some(waits) = self.job_waits() {
            return waits.wait(|| is_ready(self.descriptor(), PollFlags::IN, None)).map(drop);
        }
        let mut wait = Wait::new(self.read_timeout);
        while !is_ready(self.descriptor(), PollFlags::IN, Some(wait.step()))? {
            self.check_wait(&mut wait)?;
        }
        Ok(())
    }

    /// Checks the wait, and closes the connection if the wait ends.
    fn check_wait(&self, wait: &mut Wait) -> io::Result<()> {
        let ask = || self.watches.iter().try_for_each(|watch| watch());
        wait.check(&self.timeouts, &ask).inspect_err(|_| {
            // Nobody waits for another answer.
            let _ = rustix::net::shutdown(self.descriptor(), rustix::net::Shutdown::Both);
        })
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// True once one of the events has occurred; false after the timeout, if there is one.
fn is_ready(
    socket: BorrowedFd<'_>,
    events: PollFlags,
    within: Option<Duration>,
) -> io::Result<bool> {
    let within = within.map(Timespec::try_from).transpose();
    let within = within.map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(poll(&mut [PollFd::from_borrowed_fd(socket, events)], within.as_ref())? > 0)
}

/// A socket that is connected to an address. The limit of a wait to send is that of a wait for a
/// connection, too (`socket(7)`, SO_SNDTIMEO): whoever connects can look up meanwhile.
fn connect_socket(
    family: AddressFamily,
    address: &impl SocketAddrArg,
    timeouts: &ConnectTimeouts,
) -> io::Result<OwnedFd> {
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(POLL_INTERVAL))?;
    let mut wait = Wait::new(Some(timeouts.connect_timeout()));
    loop {
        match connect(&socket, address) {
            Ok(()) | Err(Errno::ISCONN) => return Ok(socket),
            Err(Errno::INTR) => {}
            // Nobody has accepted it yet, or there is no room among those that wait for that.
            Err(Errno::AGAIN | Errno::INPROGRESS | Errno::ALREADY) => {
                wait.check(timeouts, &|| Ok(()))?
            }
            Err(error) => return Err(error.into()),
        }
    }
}

impl Read for Plain {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let has_asked = std::mem::take(&mut self.has_asked);
        if let Some(waits) = self.job_waits().filter(|_| self.waits_in == WaitsIn::Read) {
            let mut read = || recv(self.descriptor(), &mut *buffer, RecvFlags::empty());
            return waits.wait(|| Ok(read()?)).map(|(count, _)| count);
        }
        if has_asked {
            self.wait()?;
        }
        loop {
            match recv(self.descriptor(), &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((count, _)) => return Ok(count),
                Err(Errno::AGAIN) => self.wait()?,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Write for Plain {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.has_asked = true;
        let mut wait = Wait::new(self.read_timeout);
        loop {
            let written = match &*self.socket {
                Socket::Unix(socket) => (&*socket).write(bytes),
                Socket::Tcp(socket) => (&*socket).write(bytes),
            };
            match written {
                // Nothing was taken for the time of a look.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.check_wait(&mut wait)?
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::remote::SILENT_AT_THE_END;

    /// Our end of a Unix socket in a test of so many jobs on two processors, and the server's end.
    fn pair(jobs: u32) -> (Stream, UnixStream) {
        let (server, client) = UnixStream::pair().unwrap();
        let mut stream = Stream::from(client);
        stream.plain.wait_as_one_of(jobs, 2);
        (stream, server)
    }

    #[test]
    fn one_job_waits_in_its_read_and_several_in_poll() {
        for (jobs, waits_in) in [(1, WaitsIn::Read), (2, WaitsIn::Poll)] {
            let (mut stream, mut server) = pair(jobs);
            assert_eq!(stream.plain.waits_in, waits_in);
            let answering = std::thread::spawn(move || {
                let mut asked = [0; 3];
                server.read_exact(&mut asked).unwrap();
                server.write_all(b"answer").unwrap();
                server
            });
            stream.write_all(b"ask").unwrap();
            let mut buffer = [0; 64];
            let count = stream.read(&mut buffer).unwrap();
            assert_eq!(&buffer[..count], b"answer", "{jobs} jobs");
            drop(answering.join().unwrap());
            assert_eq!(stream.read(&mut buffer).unwrap(), 0, "the server has gone, {jobs} jobs");
        }
    }

    #[test]
    fn a_wait_without_a_limit_ends_when_the_server_is_given_up_and_one_with_a_limit_by_itself() {
        for jobs in [1, 2] {
            let (mut stream, _server) = pair(jobs);
            stream.plain.timeouts.give_up();
            let error = stream.read(&mut [0; 8]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{jobs} jobs");
            assert_eq!(error.to_string(), SILENT_AT_THE_END, "{jobs} jobs");
            let (mut limited, _server) = pair(jobs);
            limited.set_read_timeout(Some(Duration::from_millis(1)));
            let error = limited.read(&mut [0; 8]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{jobs} jobs");
        }
    }

    #[test]
    fn over_a_network_every_job_waits_in_poll() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut stream = Stream::from(socket);
        stream.plain.wait_as_one_of(1, 2);
        assert_eq!(stream.plain.waits_in, WaitsIn::Poll);
    }

    #[test]
    fn a_loopback_address_is_local_in_each_of_its_forms() {
        let is_local = |address: &str| is_loopback(address.parse().unwrap());
        for address in ["127.0.0.1:1", "127.8.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(is_local(address), "{address}");
        }
        for address in ["10.0.0.1:1", "[fe80::1]:1", "[::ffff:10.0.0.1]:1"] {
            assert!(!is_local(address), "{address}");
        }
    }
}
