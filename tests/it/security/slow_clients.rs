//! Clients that begin a request and never end it: they keep nobody from the pages.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dbdyno::store::Store;

use crate::support::{Desk, TEST_TIMEOUT, free_port};

/// More than any of our servers has places.
const SLOW_CLIENTS: usize = 300;
/// Between two bytes: short enough for any limit of a single read, long enough that the head does
/// not become too long.
const PACE: Duration = Duration::from_millis(200);

/// A command that listens, ended with the test.
struct Listening {
    child: Child,
    address: String,
}

impl Listening {
    fn start(desk: &Desk, command: &str) -> Listening {
        let port = free_port();
        let mut command = desk.command(&format!("{command} --listen {port}"));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut told).unwrap();
        Listening { child, address: format!("127.0.0.1:{port}") }
    }

    /// The first line of the answer to a whole request.
    fn status(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop((self.child.kill(), self.child.wait()));
    }
}

/// Result of `work` while clients send a header a byte at a time, so that each of them is heard
/// again and again.
fn beside_slow_clients<T>(address: &str, work: impl FnOnce() -> T) -> T {
    let mut clients: Vec<TcpStream> =
        (0..SLOW_CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
    for client in &mut clients {
        // One that was closed for another takes nothing more.
        drop(client.write_all(b"GET / HTTP/1.1\r\nx: "));
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                clients.iter_mut().for_each(|client| drop(client.write_all(b"x")));
                std::thread::sleep(PACE);
            }
        });
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        done.unwrap()
    })
}

#[test]
fn many_half_requests_keep_nobody_from_pages_and_figures() {
    let desk = Desk::new();
    drop(Store::open(&desk.path("results.db")).unwrap());
    for (command, path) in [("serve", "/"), ("probe", "/metrics")] {
        let listening = Listening::start(&desk, command);
        let status = beside_slow_clients(&listening.address, || listening.status(path));
        assert_eq!(status, "HTTP/1.1 200 OK", "{command}");
    }
}
