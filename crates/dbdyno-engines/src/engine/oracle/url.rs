//! The URL of a server: `oracle://user@host:1521/service`, `oracle://user@alias`,
//! `oracle://user@(DESCRIPTION=...)`.
//!
//! A password in the URL is refused: it would stand in the process list and in the shell's history.
//! The driver takes what is wrong in a connect string for an alias or leaves it away; so names are
//! checked here.

use std::path::PathBuf;
use std::time::Duration;

use rustls::pki_types::ServerName;

use crate::engine::remote::{
    CONNECT_TIMEOUT, Host, Url, addresses, bad_url as bad, os_user, port_number, unknown_parameter,
};
use crate::engine::{DataPlace, EngineError};
use dbdyno_core::error::quote;
use dbdyno_core::model::PasswordSources;

const DEFAULT_PORT: u16 = 1521;
pub(super) const SCHEMES: &[&str] = &["oracle"];
/// Places where a password is looked for before the user is asked.
pub(super) const SOURCES: PasswordSources =
    PasswordSources { variable: "ORACLE_PWD", file: "~/.oraclepass (lines user/password@address)" };
/// Stands for a descriptor while the rest of the URL is read.
const DESCRIPTOR: &str = "descriptor";
const KNOWN: &str = "protocol=tcp|tcps, wallet, nodes, connect_timeout";

/// Address that the driver connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// Hosts of a listener and the name of a service, which may have `:server` at its end.
    Service { hosts: Vec<(String, u16)>, service: String, instance: Option<String> },
    /// A name in tnsnames.ora, or a descriptor.
    Text(String),
}

/// Connection settings without password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    pub user: String,
    pub address: Address,
    /// Encrypted.
    pub tcps: bool,
    /// Directory with `ewallet.pem`.
    pub wallet: Option<PathBuf>,
    /// Instances that jobs are dealt to, in turn; none = the listener chooses.
    pub nodes: Vec<String>,
    /// Longest wait for a login.
    pub connect_timeout: Duration,
}

impl Config {
    /// Reads a URL.
    ///
    /// # Errors
    /// Not a URL, a password in it, an unknown parameter, a name that the driver would not take. No
    /// error quotes the URL.
    pub(super) fn parse(text: &str) -> Result<Config, EngineError> {
        let (plain, descriptor) = without_descriptor(text)?;
        let url = Url::parse(&plain, SCHEMES, SOURCES)?;
        let user = url.user.or_else(os_user).ok_or_else(|| bad("the URL names no user"))?;
        let address = match descriptor {
            Some(descriptor) => Address::Text(descriptor),
            None => address(url.hosts, url.database)?,
        };
        let mut config = Config {
            user,
            address,
            tcps: false,
            wallet: None,
            nodes: Vec::new(),
            connect_timeout: CONNECT_TIMEOUT,
        };
        for (name, value) in url.parameters {
            config.parameter(&name, value)?;
        }
        config.check()
    }

    /// Place of our tables: those of the user. Neither letter case nor the instance matters.
    pub(super) fn place(&self) -> DataPlace {
        let server = match &self.address {
            Address::Text(text) => text.clone(),
            Address::Service { hosts, service, .. } => {
                let hosts: Vec<Host> = hosts
                    .iter()
                    .map(|(name, port)| Host::Tcp { name: name.clone(), port: *port })
                    .collect();
                format!("{}/{service}", addresses(&hosts))
            }
        };
        let part = Some(self.user.to_ascii_lowercase());
        DataPlace { server: server.to_ascii_lowercase(), part }
    }

    fn parameter(&mut self, name: &str, value: String) -> Result<(), EngineError> {
        match name {
            "protocol" => self.tcps = is_encrypted_protocol(&value)?,
            "wallet" => self.wallet = Some(value.into()),
            "nodes" => self.nodes = value.split(',').map(|name| name.trim().to_owned()).collect(),
            "connect_timeout" => self.connect_timeout = seconds(&value)?,
            _ => return Err(unknown_parameter(name, KNOWN)),
        }
        Ok(())
    }

    fn check(self) -> Result<Config, EngineError> {
        if let Some(name) = self.nodes.iter().find(|name| !is_word(name)) {
            return Err(bad(format!("{} is not the name of an instance", quote(name))));
        }
        match &self.address {
            Address::Text(text) => {
                let hosts = hosts_of_descriptor(text);
                hosts.iter().try_for_each(|host| check_certificate_name(host))?;
                if self.tcps || !self.nodes.is_empty() {
                    return Err(bad("protocol and nodes need a host and a service in the URL")
                        .advised(
                            "write oracle://user@host:port/service, or put both into the \
                                  descriptor",
                        ));
                }
            }
            Address::Service { hosts, .. } => {
                hosts.iter().try_for_each(|(host, _)| check_host(host, self.tcps))?;
            }
        }
        Ok(self)
    }

    /// The connect string of a session on an instance; if none is named on the first of the URL.
    pub(super) fn connect_string(&self, node: Option<&str>) -> String {
        match &self.address {
            Address::Text(text) => text.clone(),
            Address::Service { hosts, service, instance } => {
                let hosts: Vec<String> = hosts
                    .iter()
                    .map(|(host, port)| format!("{}:{port}", bracket_ipv6(host)))
                    .collect();
                let protocol = if self.tcps { "tcps://" } else { "" };
                let instance = self.node(node).or(instance.as_deref());
                let instance = instance.map_or(String::new(), |name| format!("/{name}"));
                format!("{protocol}{}/{service}{instance}", hosts.join(","))
            }
        }
    }

    /// The instance that a session is to be on, if the URL names instances.
    pub(super) fn node<'a>(&'a self, asked: Option<&'a str>) -> Option<&'a str> {
        asked.or_else(|| self.nodes.first().map(String::as_str))
    }
}

/// A descriptor is full of what means something else in a URL: it is taken out before the rest is
/// read.
fn without_descriptor(url: &str) -> Result<(String, Option<String>), EngineError> {
    let Some(start) = url.find('(') else { return Ok((url.to_owned(), None)) };
    let end = url.rfind(')').filter(|end| *end > start);
    let end = end.ok_or_else(|| bad("a '(' of the URL has no ')'"))?;
    let (before, after) = (&url[..start], &url[end + 1..]);
    let is_whole = (before.ends_with('@') || before.ends_with("//"))
        && (after.is_empty() || after.starts_with('?'));
    if !is_whole {
        return Err(bad("the descriptor must stand alone after the user")
            .advised("write oracle://user@(DESCRIPTION=...)"));
    }
    Ok((format!("{before}{DESCRIPTOR}{after}"), Some(url[start..=end].to_owned())))
}

fn address(hosts: Vec<(String, String)>, service: Option<String>) -> Result<Address, EngineError> {
    match (hosts.as_slice(), service) {
        ([], _) => {
            Err(bad("the URL names no host").advised("write oracle://user@host:port/service"))
        }
        ([(alias, port)], None) if port.is_empty() => Ok(Address::Text(alias.clone())),
        (_, None) => {
            Err(bad("the URL names no service").advised("write oracle://user@host:port/service"))
        }
        (_, Some(path)) => {
            let (service, instance) =
                path.split_once('/').map_or((path.as_str(), None), |(name, at)| (name, Some(at)));
            let words = service.split(':').chain(instance);
            if let Some(word) = words.into_iter().find(|word| !is_word(word)) {
                return Err(bad(format!(
                    "{} is not the name of a service or an instance",
                    quote(word)
                ))
                .advised(
                    "a name with other letters can stand in a descriptor: \
                              oracle://user@(DESCRIPTION=...)",
                ));
            }
            let numbered = |(host, port): (String, String)| {
                port_number(Some(port).filter(|port| !port.is_empty()), DEFAULT_PORT)
                    .map(|port| (host, port))
            };
            let hosts = hosts.into_iter().map(numbered).collect::<Result<_, _>>()?;
            Ok(Address::Service {
                hosts,
                service: service.to_owned(),
                instance: instance.map(str::to_owned),
            })
        }
    }
}

/// True for a name of a service or an instance that the driver accepts; it leaves away what follows
/// another letter.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
}

fn check_host(host: &str, tcps: bool) -> Result<(), EngineError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    if !host.contains(':') && !host.chars().all(is_name) {
        return Err(bad(format!("{} is not the name of a host", quote(host))));
    }
    if tcps { check_certificate_name(host) } else { Ok(()) }
}

/// The driver would panic.
fn check_certificate_name(host: &str) -> Result<(), EngineError> {
    let name = ServerName::try_from(host);
    name.map(drop)
        .map_err(|_| bad(format!("{} is not a name that a certificate can have", quote(host))))
}

/// Hosts of a descriptor that is encrypted.
fn hosts_of_descriptor(text: &str) -> Vec<String> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let upper = compact.to_ascii_uppercase();
    if !upper.contains("PROTOCOL=TCPS") {
        return Vec::new();
    }
    let starts = upper.match_indices("(HOST=").map(|(at, found)| at + found.len());
    starts.filter_map(|at| compact[at..].split(')').next().map(str::to_owned)).collect()
}

fn bracket_ipv6(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

fn is_encrypted_protocol(protocol: &str) -> Result<bool, EngineError> {
    match protocol {
        "tcp" => Ok(false),
        "tcps" => Ok(true),
        other => Err(bad(format!("{} is not a valid protocol", quote(other)))
            .advised("use protocol=tcp or protocol=tcps")),
    }
}

fn seconds(text: &str) -> Result<Duration, EngineError> {
    let seconds =
        text.parse().ok().filter(|seconds| (1..=3600).contains(seconds)).map(Duration::from_secs);
    seconds.ok_or_else(|| {
        bad(format!("{} is not a valid connect_timeout", quote(text)))
            .advised("give 1 to 3600 seconds")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(url: &str) -> String {
        Config::parse(url).unwrap().connect_string(None)
    }

    #[test]
    fn every_form_of_an_address_becomes_a_connect_string() {
        for (url, expected) in [
            ("oracle://ann@db/sales", "db:1521/sales"),
            (
                "oracle://ann@db:1600,[::1]:1601/sales.example.com",
                "db:1600,[::1]:1601/sales.example.com",
            ),
            ("oracle://ann@db/sales:dedicated/ORCL1", "db:1521/sales:dedicated/ORCL1"),
            ("oracle://ann@db:2484/sales?protocol=tcps&wallet=/w", "tcps://db:2484/sales"),
            ("oracle://ann@SALES_HIGH", "SALES_HIGH"),
        ] {
            assert_eq!(string(url), expected, "{url}");
        }
        let descriptor = "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCPS)(HOST=db)(PORT=2484))\
                          (CONNECT_DATA=(SERVICE_NAME=a-b))\
                          (SECURITY=(SSL_SERVER_CERT_DN=\"CN=db,O=x/y\")))";
        let config =
            Config::parse(&format!("oracle://ann@{descriptor}?connect_timeout=3")).unwrap();
        assert_eq!(
            (config.connect_string(None).as_str(), config.user.as_str()),
            (descriptor, "ann")
        );
        assert_eq!(config.connect_timeout, Duration::from_secs(3));
    }

    #[test]
    fn a_session_is_on_the_instance_that_is_asked_for_else_on_the_first() {
        let config = Config::parse("oracle://ann@scan/sales?nodes=ORCL1,ORCL2").unwrap();
        let strings = [None, Some("ORCL2")].map(|node| config.connect_string(node));
        assert_eq!(strings, ["scan:1521/sales/ORCL1", "scan:1521/sales/ORCL2"]);
    }

    #[test]
    fn what_the_driver_would_misread_is_refused() {
        for (url, word) in [
            ("oracle://u@h:1521", "no service"),
            ("oracle://u@", "no host"),
            ("oracle://u@h/my-service", "'my-service' is not the name"),
            ("oracle://u@h_1/s?protocol=tcps", ""),
            ("oracle://u@a b/s", "'a b' is not the name of a host"),
            ("oracle://u@h..x/s?protocol=tcps", "'h..x' is not a name that a certificate can have"),
            (
                "oracle://u@(DESCRIPTION=(ADDRESS=(PROTOCOL=tcps)(HOST=a..b)))",
                "'a..b' is not a name",
            ),
            ("oracle://u@(DESCRIPTION=", "no ')'"),
            ("oracle://u@h/s(x)", "stand alone"),
            ("oracle://u@ALIAS?nodes=A", "need a host"),
            ("oracle://u@h/s?nodes=A,,B", "'' is not the name of an instance"),
            ("oracle://u@h/s?protocol=udp", "'udp' is not a valid protocol"),
            ("oracle://u@h/s?connect_timeout=0", "connect_timeout"),
            ("oracle://u@h/s?sslmode=x", "unknown URL parameter"),
        ] {
            let refused = Config::parse(url).map(|config| config.connect_string(None));
            assert!(word.is_empty() || refused.unwrap_err().message.contains(word), "{url}");
        }
    }
}
