//! A network of the nodes' own: each node of a private cluster in a network namespace, and between
//! them a switch of ours that holds every packet for a given time and can cut a node off.
//!
//! A namespace has no name: it lives as long as a process or a handle in it, and its interface as
//! long as the switch has it open. So a crash leaves nothing but the servers, which are found as
//! always. The way to a node from here is its Unix socket, which knows no namespaces: it is neither
//! delayed nor cut.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::{
    LinkNameSpaceType, UnshareFlags, move_into_link_name_space, set_current_timer_slack,
    unshare_unsafe,
};

use dbdyno_core::error::{Error, Result};

/// The addresses of all nodes: of the range for benchmarks (RFC 2544), known within their
/// namespaces only.
pub(super) const NETWORK: &str = "198.18.0.0/24";
/// Name of the interface in each namespace.
const DEVICE: &str = "dbdyno0";
/// Large packets: the switch handles each.
const MAX_BYTES: usize = 65_000;
/// Taken of one node before the others have their turn.
const AT_ONCE: usize = 64;
/// Packets sent to each node and back to know the round trip.
const TRIPS: usize = 20;
/// Longest wait for one beside the delay.
const TRIP_TIMEOUT: Duration = Duration::from_secs(5);

/// Network emulation between the nodes of a private cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct NetworkEmulation {
    /// Asked for, on the way from one node to another, in s.
    pub delay_s: f64,
    /// Mechanism that delays the packets, in a few words.
    pub held_by: &'static str,
    /// From the first node to another and back, the median before the servers start, in s; none
    /// with one node.
    pub round_trip_s: Option<f64>,
}

/// The network; it ends when dropped.
pub(super) struct Network {
    nodes: Vec<Namespace>,
    switch: Arc<Switch>,
    /// Its end ends the thread of the switch.
    bell: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    links: NetworkEmulation,
}

impl Network {
    /// Of so many nodes, with a delay on the way from each to each other.
    ///
    /// # Errors
    /// This process may not make one; `ip` is not installed.
    pub(super) fn make(nodes: usize, delay: Duration) -> Result<Network> {
        Network::try_make(nodes, delay).map_err(|error| {
            Error::target(
                "--network-delay",
                format!("no network of the nodes' own can be made ({error})"),
            )
            .advise("run dbdyno as root where iproute2 is installed, or leave --network-delay out")
        })
    }

    fn try_make(nodes: usize, delay: Duration) -> io::Result<Network> {
        let made = (0..nodes).map(Namespace::make).collect::<io::Result<Vec<_>>>()?;
        let (nodes, devices): (Vec<Namespace>, Vec<File>) = made.into_iter().unzip();
        let switch = Arc::new(Switch::new(devices));
        let (bell, ear) = UnixStream::pair()?;
        let own = Arc::clone(&switch);
        let thread =
            thread::Builder::new().name("dbdyno-links".into()).spawn(move || own.pass_on(&ear))?;
        let links = NetworkEmulation {
            delay_s: delay.as_secs_f64(),
            held_by: "nobody",
            round_trip_s: None,
        };
        let mut network = Network { nodes, switch, bell: Some(bell), thread: Some(thread), links };
        network.hold(delay)?;
        Ok(network)
    }

    /// Lets the kernel hold the packets where it can and does, else the switch.
    fn hold(&mut self, delay: Duration) -> io::Result<()> {
        if !delay.is_zero() {
            self.links.held_by = "the kernel (netem)";
            let is_there = self.nodes.iter().all(|node| node.let_kernel_hold(delay));
            self.links.round_trip_s = if is_there { self.round_trip_s()? } else { None };
            if self.links.round_trip_s.is_some_and(|trip_s| trip_s >= 2.0 * self.links.delay_s) {
                return Ok(());
            }
            self.nodes.iter().for_each(Namespace::let_kernel_pass);
            self.links.held_by = "dbdyno";
            self.switch.hold_ns.store(delay.as_nanos() as u64, Ordering::SeqCst);
        }
        self.links.round_trip_s = self.round_trip_s()?;
        Ok(())
    }

    /// The median of packets from the first node to each other and back.
    fn round_trip_s(&self) -> io::Result<Option<f64>> {
        let Some((first, others)) = self.nodes.split_first() else { return Ok(None) };
        let timeout = TRIP_TIMEOUT + Duration::from_secs_f64(4.0 * self.links.delay_s);
        let trips = others
            .iter()
            .flat_map(|other| [other; TRIPS])
            .map(|other| first.trip_s(other, timeout));
        let mut trips = trips.collect::<io::Result<Vec<f64>>>()?;
        trips.sort_by(f64::total_cmp);
        Ok(trips.get(trips.len() / 2).copied())
    }

    pub(super) fn links(&self) -> &NetworkEmulation {
        &self.links
    }

    /// Address of a node (from 0) for the others.
    pub(super) fn address(at: usize) -> Ipv4Addr {
        Ipv4Addr::new(198, 18, 0, u8::try_from(at + 1).unwrap_or(u8::MAX))
    }

    /// Does `work` in the namespace of a node: the processes that it starts live there.
    ///
    /// # Errors
    /// Those of `work`; it cannot be entered.
    pub(super) fn within<T: Send>(
        &self,
        at: usize,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        let enter = || {
            let entered = move_into_link_name_space(
                self.nodes[at].handle.as_fd(),
                Some(LinkNameSpaceType::Network),
            );
            entered.map_err(|error| {
                Error::target("--network-delay", format!("the node's network is closed ({error})"))
            })
        };
        // A thread of its own: which namespace it is in goes with it.
        thread::scope(|scope| scope.spawn(|| enter().and_then(|()| work())).join())
            .unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Cuts a node (from 0) off from the others, or joins it again. What is on its way is lost.
    pub(super) fn cut(&self, at: usize, is_cut: bool) {
        self.switch.cut[at].store(is_cut, Ordering::SeqCst);
    }

    /// Joins all nodes again.
    pub(super) fn repair(&self) {
        (0..self.nodes.len()).for_each(|at| self.cut(at, false));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.bell = None;
        let _ = self.thread.take().map(JoinHandle::join); // a panic there has been told
    }
}

/// A network namespace with one interface.
struct Namespace {
    handle: File,
    /// Within: sends and answers the packets by which the round trip is known.
    probe: UdpSocket,
}

impl Namespace {
    /// A new one, and the other end of its interface.
    fn make(at: usize) -> io::Result<(Namespace, File)> {
        let made = thread::scope(|scope| scope.spawn(|| Namespace::make_here(at)).join());
        made.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// The calling thread is in the new one afterwards.
    fn make_here(at: usize) -> io::Result<(Namespace, File)> {
        // SAFETY: only the network is left, not the table of open files.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        let (device, address) = (open_device()?, Network::address(at));
        call("ip", &["link", "set", "lo", "up"])?;
        call("ip", &["address", "add", &format!("{address}/24"), "dev", DEVICE])?;
        call("ip", &["link", "set", DEVICE, "mtu", &MAX_BYTES.to_string(), "up"])?;
        let handle = File::open("/proc/thread-self/ns/net")?;
        Ok((Namespace { handle, probe: UdpSocket::bind((address, 0))? }, device))
    }

    /// Calls `tc` within; true if it did what it should.
    fn shape(&self, arguments: &[&str]) -> bool {
        let enter =
            || move_into_link_name_space(self.handle.as_fd(), Some(LinkNameSpaceType::Network));
        let work = || enter().map_err(io::Error::from).and_then(|()| call("tc", arguments));
        thread::scope(|scope| scope.spawn(work).join()).is_ok_and(|called| called.is_ok())
    }

    fn let_kernel_hold(&self, delay: Duration) -> bool {
        let delay = format!("{}us", delay.as_micros());
        self.shape(&[
            "qdisc", "add", "dev", DEVICE, "root", "netem", "delay", &delay, "limit", "100000",
        ])
    }

    fn let_kernel_pass(&self) {
        self.shape(&["qdisc", "del", "dev", DEVICE, "root"]); // most have none
    }

    /// Time of a packet from here to `other` and back, in s.
    fn trip_s(&self, other: &Namespace, timeout: Duration) -> io::Result<f64> {
        let mut packet = [0; 8];
        self.probe.set_read_timeout(Some(timeout))?;
        other.probe.set_read_timeout(Some(timeout))?;
        let begin = Instant::now();
        self.probe.send_to(&packet, other.probe.local_addr()?)?;
        other.probe.recv(&mut packet)?;
        other.probe.send_to(&packet, self.probe.local_addr()?)?;
        self.probe.recv(&mut packet)?;
        Ok(begin.elapsed().as_secs_f64())
    }
}

/// Makes an interface in the namespace of this thread whose packets are read and written here.
fn open_device() -> io::Result<File> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    // SAFETY: all of it are numbers.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = request.ifr_name.iter_mut().zip(DEVICE.bytes());
    name.for_each(|(to, byte)| *to = byte as libc::c_char);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is one of TUNSETIFF and outlives the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } {
        0 => Ok(device),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Calls a program to its end.
fn call(program: &str, arguments: &[&str]) -> io::Result<()> {
    let output = Command::new(program).args(arguments).output();
    let output =
        output.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program}: {}", message.lines().next().unwrap_or("failed"))))
}

/// Passes packets on between the nodes.
struct Switch {
    devices: Vec<File>,
    hold_ns: AtomicU64,
    /// True for each node that is cut off.
    cut: Vec<AtomicBool>,
}

/// A packet that is held.
struct Packet {
    due: Instant,
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

impl Switch {
    fn new(devices: Vec<File>) -> Switch {
        let cut = devices.iter().map(|_| AtomicBool::new(false)).collect();
        Switch { devices, hold_ns: AtomicU64::new(0), cut }
    }

    /// Until the other end of `ear` is closed.
    fn pass_on(&self, ear: &UnixStream) {
        // Without it the kernel may wake us 50 us late.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let (mut held, mut buffer) = (VecDeque::new(), vec![0; MAX_BYTES]);
        while self.wait(ear, held.front()) {
            (0..self.devices.len()).for_each(|from| self.take(from, &mut buffer, &mut held));
            self.deliver(&mut held);
        }
    }

    /// Waits for a packet, or until one is due; false at the end.
    fn wait(&self, ear: &UnixStream, next: Option<&Packet>) -> bool {
        let left = next.map(|packet| packet.due.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: left.subsec_nanos().into(),
        });
        let mut watched: Vec<PollFd<'_>> =
            self.devices.iter().map(|device| PollFd::new(device, PollFlags::IN)).collect();
        watched.push(PollFd::new(ear, PollFlags::IN));
        let _ = poll(&mut watched, left.as_ref()); // interrupted: there is another turn
        watched.last().is_none_or(|ear| ear.revents().is_empty())
    }

    /// Takes what a node has sent.
    fn take(&self, from: usize, buffer: &mut [u8], held: &mut VecDeque<Packet>) {
        let hold = Duration::from_nanos(self.hold_ns.load(Ordering::SeqCst));
        for _ in 0..AT_ONCE {
            let length = match (&self.devices[from]).read(buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let Some(to) = receiver(&buffer[..length]).filter(|to| *to < self.devices.len()) else {
                continue;
            };
            let packet =
                Packet { due: Instant::now() + hold, from, to, bytes: buffer[..length].to_vec() };
            held.extend(Some(packet).filter(|packet| self.is_joined(packet)));
        }
    }

    /// Hands over what is due.
    fn deliver(&self, held: &mut VecDeque<Packet>) {
        let now = Instant::now();
        while held.front().is_some_and(|packet| packet.due <= now) {
            let due = held.pop_front().filter(|packet| self.is_joined(packet));
            // As on any network, what a node cannot take is lost.
            let _ = due.map(|packet| (&self.devices[packet.to]).write(&packet.bytes));
        }
    }

    fn is_joined(&self, packet: &Packet) -> bool {
        [packet.from, packet.to].iter().all(|at| !self.cut[*at].load(Ordering::SeqCst))
    }
}

/// Number of the node that an IPv4 packet is for: the last byte of its receiver's address.
fn receiver(packet: &[u8]) -> Option<usize> {
    let is_ipv4 = packet.first()? >> 4 == 4;
    let [.., last] = packet.get(16..20)?.first_chunk::<4>()?;
    is_ipv4.then(|| usize::from(*last).checked_sub(1)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// None where this process may not make one.
    fn network(delay: Duration) -> Option<Network> {
        let made = Network::make(3, delay);
        assert!(
            made.is_ok() || std::env::var_os("DBDYNO_TEST_MUST_LINK").is_none(),
            "no network can be made"
        );
        made.ok()
    }

    #[test]
    fn every_packet_takes_the_delay_and_a_node_that_is_cut_off_gets_none() {
        let Some(network) = network(Duration::from_millis(3)) else { return };
        let trip_s = network.links().round_trip_s.unwrap();
        assert!(trip_s >= 0.006, "{trip_s}");
        let trip = |timeout| network.nodes[0].trip_s(&network.nodes[1], timeout);
        network.cut(1, true);
        assert!(trip(Duration::from_millis(200)).is_err());
        network.repair();
        trip(TRIP_TIMEOUT).unwrap();
    }

    #[test]
    fn a_process_of_a_node_reaches_the_others_and_nobody_here_does() {
        let Some(network) = network(Duration::ZERO) else { return };
        let bound = |at| {
            UdpSocket::bind((at, 0))
                .map(drop)
                .map_err(|error| Error::target("it", error.to_string()))
        };
        network.within(2, || bound(Network::address(2))).unwrap();
        assert!(network.within(1, || bound(Network::address(2))).is_err());
        assert!(bound(Network::address(2)).is_err());
    }

    #[test]
    fn the_receiver_of_a_packet_is_a_node() {
        let mut packet = [0; 28];
        assert_eq!(receiver(&packet), None, "not IPv4");
        packet[0] = 0x45;
        assert_eq!(receiver(&packet), None, "address 0");
        packet[16..20].copy_from_slice(&Network::address(2).octets());
        assert_eq!(receiver(&packet), Some(2));
        assert_eq!(receiver(&packet[..10]), None);
    }
}
