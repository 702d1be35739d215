//! Transport and form of the protocol for the statements of the client drive.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::params::{PROTOCOL, TRANSPORT};
use crate::error::quote;

/// Transport of the bytes to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Transport {
    /// The one by which the target was opened.
    #[default]
    Given,
    /// Nothing: the database runs in dbdyno's process.
    Process,
    /// The server's Unix socket.
    Socket,
    /// TCP, not encrypted: the URL's host, or the loopback interface.
    Tcp,
    /// The same, encrypted.
    Tls,
    /// A pooler that the user names, which stands before the server.
    Pooler,
}

/// The form of statements and their results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Protocol {
    /// Prepared once; values and results in binary form.
    #[default]
    Prepared,
    /// Prepared once; results as text.
    PreparedText,
    /// The statement's text each time, with the values in it; results as text.
    Simple,
}

impl Transport {
    /// Transports that can be chosen.
    pub const CHOICES: [Transport; 5] =
        [Transport::Process, Transport::Socket, Transport::Tcp, Transport::Tls, Transport::Pooler];
    /// Transports of a server.
    pub const OF_SERVERS: [Transport; 3] = [Transport::Socket, Transport::Tcp, Transport::Tls];
    /// Transports of a server with a pooler in front of it.
    pub const WITH_POOLER: [Transport; 4] =
        [Transport::Socket, Transport::Tcp, Transport::Tls, Transport::Pooler];

    /// Name in a selection.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Given => "given",
            Transport::Process => "process",
            Transport::Socket => "socket",
            Transport::Tcp => "tcp",
            Transport::Tls => "tls",
            Transport::Pooler => "pooler",
        }
    }
}

impl Protocol {
    /// Every form.
    pub const CHOICES: [Protocol; 3] =
        [Protocol::Prepared, Protocol::PreparedText, Protocol::Simple];

    /// Name in a selection.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Prepared => "prepared",
            Protocol::PreparedText => "prepared-text",
            Protocol::Simple => "simple",
        }
    }
}

/// Transport and protocol of a selection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wire {
    /// Way from the client to the server.
    pub transport: Transport,
    /// Protocol by which statements are sent.
    pub protocol: Protocol,
}

impl Wire {
    /// Takes its own parameters out of those of a selection.
    ///
    /// # Errors
    /// A value that does not exist; says which do.
    pub fn take(params: &mut BTreeMap<String, String>) -> Result<Wire, String> {
        let mut one = |name: &str, choices: &[&'static str]| match params.remove(name) {
            None => Ok(None),
            Some(value) => {
                choices.iter().position(|choice| *choice == value).map(Some).ok_or_else(|| {
                    format!(
                        "{name}={} is not allowed; allowed: {}",
                        quote(value),
                        choices.join(", ")
                    )
                })
            }
        };
        let transport = one(TRANSPORT, &Transport::CHOICES.map(Transport::name))?;
        let protocol = one(PROTOCOL, &Protocol::CHOICES.map(Protocol::name))?;
        Ok(Wire {
            transport: transport.map_or(Transport::Given, |at| Transport::CHOICES[at]),
            protocol: protocol.map_or(Protocol::Prepared, |at| Protocol::CHOICES[at]),
        })
    }

    /// The value of a parameter of the wire that a test need not have.
    pub fn usual(name: &str) -> Option<&'static str> {
        match name {
            TRANSPORT => Some(Transport::Given.name()),
            PROTOCOL => Some(Protocol::Prepared.name()),
            _ => None,
        }
    }

    /// Transport and protocol of a test with these parameters; none if it has other parameters,
    /// too.
    pub fn of_params(chosen: &BTreeMap<String, String>) -> Option<Wire> {
        let mut params = chosen.clone();
        Wire::take(&mut params).ok().filter(|_| params.is_empty())
    }

    /// Parameters for a transport or protocol that is not the usual one: a selection with the usual
    /// ones has none.
    pub fn params(self) -> BTreeMap<String, String> {
        let usual = Wire::default();
        let transport =
            (self.transport != usual.transport).then(|| (TRANSPORT, self.transport.name()));
        let protocol = (self.protocol != usual.protocol).then(|| (PROTOCOL, self.protocol.name()));
        let named = |(name, value): (&str, &str)| (name.to_string(), value.to_string());
        transport.into_iter().chain(protocol).map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(given: &[(&str, &str)]) -> BTreeMap<String, String> {
        given.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect()
    }

    #[test]
    fn its_parameters_are_taken_and_given_back() {
        let mut given = params(&[("org", "heap"), ("transport", "tcp"), ("protocol", "simple")]);
        let wire = Wire::take(&mut given).unwrap();
        assert_eq!(wire, Wire { transport: Transport::Tcp, protocol: Protocol::Simple });
        assert_eq!(given, params(&[("org", "heap")]));
        assert_eq!(wire.params(), params(&[("transport", "tcp"), ("protocol", "simple")]));
    }

    #[test]
    fn the_usual_one_has_no_parameters() {
        let mut given = params(&[("protocol", "prepared")]);
        assert_eq!(Wire::take(&mut given).unwrap().params(), params(&[]));
    }

    #[test]
    fn an_unknown_value_is_refused_with_those_that_exist() {
        let refused = Wire::take(&mut params(&[("transport", "pigeon")])).unwrap_err();
        assert_eq!(
            refused,
            "transport='pigeon' is not allowed; allowed: process, socket, tcp, tls, pooler"
        );
    }
}
