//! The URL of a server: `postgres://user@host:port/database?host=/socket/dir&sslmode=prefer`.
//!
//! A password in the URL is refused: it would stand in the process list and in the shell's history.

use std::path::{Path, PathBuf};

use crate::engine::EngineError;
use crate::engine::remote::{bad_url as bad, decode, from_env, not_empty, split_port};

const DEFAULT_PORT: u16 = 5432;
/// Where distributions put the server's socket, the first that exists is the default host.
const SOCKET_DIRS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// One place to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// Directory of the server's Unix socket.
    Socket {
        dir: PathBuf,
        port: u16,
    },
    Tcp {
        name: String,
        port: u16,
    },
}

/// How to connect, without password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    /// Tried in order.
    pub hosts: Vec<Host>,
    pub user: String,
    pub database: String,
}

/// Settings of a URL before defaults.
#[derive(Default)]
struct Parts {
    hosts: Vec<String>,
    ports: Vec<String>,
    user: Option<String>,
    database: Option<String>,
    sslmode: Option<String>,
}

impl Config {
    /// Reads a URL; what it leaves open comes from PGHOST, PGPORT, PGUSER, PGDATABASE, then the usual defaults.
    ///
    /// # Errors
    /// Not a URL, a password in it, an unknown parameter, a TLS mode that cannot be met. No error quotes the URL.
    pub(super) fn parse(url: &str) -> Result<Config, EngineError> {
        let rest = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"))
            .ok_or_else(|| bad("the URL does not start with postgres://"))?;
        let (main, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = main.split_once('/').unwrap_or((main, ""));
        let mut parts = Parts { database: not_empty(decode(database)?), ..Parts::default() };
        let (user, hosts) = authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
        if let Some(user) = user {
            parts.user = not_empty(user_of(user)?);
        }
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            let (name, port) = split_port(host)?;
            if name.is_empty() {
                return Err(bad(format!("no host stands before ':{port}'")));
            }
            parts.hosts.push(decode(name)?);
            parts.ports.push(port.to_owned());
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            parts.parameter(pair)?;
        }
        parts.finish()
    }
}

impl Parts {
    /// Takes one `name=value` of the query part.
    fn parameter(&mut self, pair: &str) -> Result<(), EngineError> {
        let (name, value) = pair.split_once('=').ok_or_else(|| bad("a parameter of the URL has no value"))?;
        let value = decode(value)?;
        let list = || value.split(',').map(str::to_owned).collect();
        match name {
            "host" | "port" | "user" | "dbname" if value.is_empty() => {
                return Err(bad(format!("URL parameter '{name}' is empty")));
            }
            "host" => self.hosts = list(),
            "port" => self.ports = list(),
            "user" => self.user = Some(value),
            "dbname" => self.database = Some(value),
            "sslmode" => self.sslmode = Some(value),
            "password" => return Err(password_in_url()),
            other => {
                return Err(
                    bad(format!("unknown URL parameter '{other}'")).advised("use host, port, user, dbname, sslmode")
                );
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Config, EngineError> {
        let sslmode = self.sslmode.or_else(|| from_env("PGSSLMODE")).unwrap_or_else(|| "prefer".into());
        check_sslmode(&sslmode)?;
        let user = self.user.or_else(|| from_env("PGUSER")).or_else(os_user);
        let user = user.ok_or_else(|| bad("no user is given").advised("write postgres://USER@host/database"))?;
        let database = self.database.or_else(|| from_env("PGDATABASE")).unwrap_or_else(|| user.clone());
        let hosts = match self.hosts.is_empty() {
            true => vec![from_env("PGHOST").unwrap_or_else(default_host)],
            false => self.hosts,
        };
        let ports = self.ports;
        let hosts = hosts.into_iter().enumerate().map(|(at, host)| {
            let text =
                ports.get(at).or_else(|| ports.first().filter(|_| ports.len() == 1)).filter(|text| !text.is_empty());
            let port = port_number(text.cloned().or_else(|| from_env("PGPORT")))?;
            Ok(if host.starts_with('/') {
                Host::Socket { dir: host.into(), port }
            } else {
                Host::Tcp { name: host, port }
            })
        });
        Ok(Config { hosts: hosts.collect::<Result<_, _>>()?, user, database })
    }
}

/// The user of `user` or refuses `user:password`.
fn user_of(text: &str) -> Result<String, EngineError> {
    if text.contains(':') {
        return Err(password_in_url());
    }
    decode(text)
}

fn password_in_url() -> EngineError {
    bad("the URL holds a password, which others could read in the process list")
        .advised("leave it out and put it into PGPASSWORD or ~/.pgpass")
}

fn check_sslmode(mode: &str) -> Result<(), EngineError> {
    match mode {
        "disable" | "allow" | "prefer" => Ok(()),
        "require" | "verify-ca" | "verify-full" => Err(bad(format!("sslmode={mode} is not supported yet"))
            .advised("use sslmode=prefer over a network that you trust, or a Unix socket")),
        other => Err(bad(format!("'{other}' is no sslmode")).advised("use disable or prefer")),
    }
}

fn port_number(text: Option<String>) -> Result<u16, EngineError> {
    let Some(text) = text else { return Ok(DEFAULT_PORT) };
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| bad(format!("'{text}' is no port number")))
}

fn default_host() -> String {
    let dir = SOCKET_DIRS.iter().find(|dir| Path::new(dir).join(format!(".s.PGSQL.{DEFAULT_PORT}")).exists());
    dir.map_or_else(|| "localhost".into(), |dir| (*dir).into())
}

fn os_user() -> Option<String> {
    from_env("USER").or_else(|| from_env("LOGNAME"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ErrorClass;

    fn tcp(name: &str, port: u16) -> Host {
        Host::Tcp { name: name.into(), port }
    }

    #[test]
    fn reads_user_hosts_ports_and_database() {
        let config = Config::parse("postgres://ann%40x@db1:6000,[::1]:6001,db3/sales").unwrap();
        assert_eq!(config.user, "ann@x");
        assert_eq!(config.database, "sales");
        assert_eq!(config.hosts, [tcp("db1", 6000), tcp("::1", 6001), tcp("db3", 5432)]);
    }

    #[test]
    fn a_socket_directory_comes_as_parameter_or_encoded_host() {
        let socket = |port| vec![Host::Socket { dir: "/run/pg".into(), port }];
        assert_eq!(Config::parse("postgresql://u@/d?host=/run/pg&port=7000").unwrap().hosts, socket(7000));
        assert_eq!(Config::parse("postgres://u@%2Frun%2Fpg/d").unwrap().hosts, socket(5432));
    }

    #[test]
    fn a_password_is_refused_and_never_echoed() {
        for url in ["postgres://u:s3cret@h/d", "postgres://u@h/d?password=s3cret", "postgres://u:s3@cret@h/d"] {
            let error = Config::parse(url).unwrap_err();
            assert!(error.message.contains("password") && !format!("{error:?}").contains("s3"), "{error:?}");
        }
    }

    #[test]
    fn wrong_parts_are_named() {
        for (url, word) in [
            ("postgres://u@h:x/d", "'x' is no port"),
            ("postgres://u@h/d?sslmode=require", "not supported yet"),
            ("postgres://u@h/d?nope=1", "'nope'"),
            ("postgres://u@:5432/d", "no host"),
            ("postgres://u@/d?host=", "'host' is empty"),
            ("postgres://u@[::1/d", "']'"),
            ("postgres://u@[::1]x/d", "'x'"),
            ("postgres://u%4@h/d", "hex"),
            ("mysql://h", "postgres://"),
        ] {
            let error = Config::parse(url).unwrap_err();
            assert!(error.class == ErrorClass::Usage && error.message.contains(word), "{url}: {error}");
        }
    }
}
