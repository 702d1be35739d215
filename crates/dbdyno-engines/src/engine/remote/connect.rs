//! Common parts of connecting, and of losing a connection.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{ConnectTimeouts, Stream, Watch};
use crate::engine::{EngineError, ErrorClass};

/// Time that a server has to close a connection before we do.
pub(in crate::engine) const FIRST_TO_CLOSE: Duration = Duration::from_millis(100);

/// Stopwatch that measures the seconds since it was last read.
pub(in crate::engine) struct Laps(Instant);

impl Laps {
    pub(in crate::engine) fn begin() -> Laps {
        Laps(Instant::now())
    }

    pub(in crate::engine) fn lap_s(&mut self) -> f64 {
        let now = Instant::now();
        let passed = now - std::mem::replace(&mut self.0, now);
        passed.as_secs_f64()
    }
}

/// One place to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Host {
    /// Path of the server's Unix socket.
    Socket(PathBuf),
    Tcp {
        name: String,
        port: u16,
    },
}

impl Host {
    /// Connects; true if the server runs on this host: reached over a Unix socket or a loopback
    /// address.
    ///
    /// # Errors
    /// No host answers.
    pub(in crate::engine) fn connect(
        &self,
        timeouts: &ConnectTimeouts,
    ) -> Result<(Stream, bool), EngineError> {
        let connected = match self {
            Host::Socket(path) => Stream::to_socket(path, timeouts).map(|stream| (stream, true)),
            Host::Tcp { name, port } => Stream::to_port(name, *port, timeouts),
        };
        connected.map_err(|error| {
            EngineError::new(
                ErrorClass::Unreachable,
                format!("no server answers at {self} ({error})"),
            )
            .advised("check host and port, and that the server is started")
        })
    }
}

impl Host {
    /// As in a URL, an IPv6 address in brackets: what a node of a cluster is called by that has no
    /// other name.
    pub(in crate::engine) fn address(&self) -> String {
        match self {
            Host::Socket(path) => path.display().to_string(),
            Host::Tcp { name, port } if name.contains(':') => format!("[{name}]:{port}"),
            Host::Tcp { name, port } => format!("{name}:{port}"),
        }
    }
}

impl Host {
    /// Asks otherwise, by `answers`, whether the server still answers; of all connections to it one
    /// asks at a time.
    pub(in crate::engine) fn watch(
        &self,
        timeouts: &ConnectTimeouts,
        answers: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Watch {
        let (address, timeouts) = (self.address(), timeouts.clone());
        Arc::new(move || {
            let answered = timeouts.answers(&address, &answers);
            answered.then_some(()).ok_or("it does not answer any more")
        })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Socket(path) => write!(f, "socket {}", path.display()),
            Host::Tcp { name, port } => write!(f, "host {name} port {port}"),
        }
    }
}

/// Addresses of hosts, in the same words for every spelling of their names.
pub(in crate::engine) fn addresses(hosts: &[Host]) -> String {
    let address = |host: &Host| match host {
        Host::Socket(_) => host.address(),
        Host::Tcp { .. } => host.address().to_ascii_lowercase(),
    };
    hosts.iter().map(address).collect::<Vec<_>>().join(",")
}

/// Connects to the first of `hosts` that answers, whatever the answer is.
///
/// # Errors
/// That of the host that answered, else that of the last.
pub(in crate::engine) fn first_that_answers<H, T>(
    hosts: &[H],
    mut connect: impl FnMut(&H) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let mut failure = EngineError::new(ErrorClass::Unreachable, "no host is given");
    for host in hosts {
        match connect(host) {
            Err(error) if error.class == ErrorClass::Unreachable => failure = error,
            outcome => return outcome,
        }
    }
    Err(failure)
}

/// The error of a read or write on an open connection; `unit` is what servers send: `packet`.
pub(in crate::engine) fn broken(error: &io::Error, unit: &str) -> EngineError {
    if let Some(alert) = super::tls::alert(error) {
        return alert;
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => lost("the server closed the connection"),
        io::ErrorKind::InvalidData => lost(format!("the server sent an invalid {unit} ({error})")),
        _ => lost(format!("the connection to the server broke ({error})")),
    }
}

/// A lost connection, with `message`.
pub(in crate::engine) fn lost(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Lost, message)
}

/// The error that a server sent before it closed the connection: whatever it says, the session
/// cannot be used any more. One that was refused was never open.
pub(in crate::engine) fn closing_error(error: EngineError) -> EngineError {
    match error.class {
        ErrorClass::Unreachable | ErrorClass::Denied => error,
        _ => EngineError { class: ErrorClass::Lost, ..error },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_stands_in_brackets() {
        let address = |name: &str| Host::Tcp { name: name.into(), port: 5432 }.address();
        assert_eq!(address("::1"), "[::1]:5432");
        assert_eq!([address("127.0.0.1"), address("db")], ["127.0.0.1:5432", "db:5432"]);
    }

    #[test]
    fn the_first_host_that_answers_decides() {
        use ErrorClass::{Denied, Unreachable};
        let connect = |class: &Option<ErrorClass>| match class {
            Some(class) => Err(EngineError::new(*class, "no")),
            None => Ok("connected"),
        };
        let class = |hosts: &[Option<ErrorClass>]| {
            first_that_answers(hosts, connect).map_err(|error| error.class)
        };
        assert_eq!(class(&[Some(Unreachable), None]), Ok("connected"));
        assert_eq!(class(&[Some(Unreachable), Some(Denied), None]), Err(Denied));
        assert_eq!(class(&[Some(Unreachable)]), Err(Unreachable));
        assert_eq!(class(&[]), Err(Unreachable));
    }
}
