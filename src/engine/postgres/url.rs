//! The URL of a server: `postgres://user@host:port/database?host=/socket/dir&sslmode=prefer`.
//!
//! A password in the URL is refused: it would stand in the process list and in the shell's history.

use std::path::Path;

use crate::engine::EngineError;
use crate::engine::remote::{Host, Url, bad_url as bad, from_env, os_user, port_number, unknown_parameter};
use crate::error::quote;
use crate::model::PasswordSources;

/// Where a password is looked for before the user is asked.
pub(super) const SOURCES: PasswordSources = PasswordSources { variable: "PGPASSWORD", file: "~/.pgpass" };
pub(super) const SCHEMES: &[&str] = &["postgres", "postgresql"];
const DEFAULT_PORT: u16 = 5432;
/// Where distributions put the server's socket, the first that exists is the default host.
const SOCKET_DIRS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// How to connect, without password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    /// Tried in order.
    pub hosts: Vec<Host>,
    pub user: String,
    pub database: String,
}

/// Settings of a URL before defaults.
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
        let url = Url::parse(url, SCHEMES, SOURCES)?;
        let (hosts, ports) = url.hosts.into_iter().unzip();
        let mut parts = Parts { hosts, ports, user: url.user, database: url.database, sslmode: None };
        for (name, value) in url.parameters {
            parts.parameter(&name, value)?;
        }
        parts.finish()
    }
}

impl Parts {
    /// Takes a parameter of the query part.
    fn parameter(&mut self, name: &str, value: String) -> Result<(), EngineError> {
        let list = |value: &str| value.split(',').map(str::to_owned).collect();
        match name {
            "host" => self.hosts = list(&value),
            "port" => self.ports = list(&value),
            "user" => self.user = Some(value),
            "dbname" => self.database = Some(value),
            "sslmode" => self.sslmode = Some(value),
            other => return Err(unknown_parameter(other, "host, port, user, dbname, sslmode")),
        }
        Ok(())
    }

    fn finish(self) -> Result<Config, EngineError> {
        let sslmode = self.sslmode.or_else(|| from_env("PGSSLMODE")).unwrap_or_else(|| "prefer".into());
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
            let port = port_number(text.cloned().or_else(|| from_env("PGPORT")), DEFAULT_PORT)?;
            Ok(if host.starts_with('/') {
                Host::Socket(Path::new(&host).join(socket_name(port)))
            } else {
                Host::Tcp { name: host, port }
            })
        });
        let hosts = hosts.collect::<Result<Vec<Host>, _>>()?;
        check_sslmode(&sslmode, &hosts)?;
        Ok(Config { hosts, user, database })
    }
}

/// There is no TLS yet; as with libpq, a Unix socket needs none, whatever the mode (manual: "SSL Support").
fn check_sslmode(mode: &str, hosts: &[Host]) -> Result<(), EngineError> {
    match mode {
        "disable" | "allow" | "prefer" => Ok(()),
        "require" | "verify-ca" | "verify-full" if hosts.iter().all(|host| matches!(host, Host::Socket(_))) => Ok(()),
        "require" | "verify-ca" | "verify-full" => Err(bad(format!("sslmode={mode} is not supported yet"))
            .advised("use sslmode=prefer over a network that you trust, or a Unix socket")),
        other => Err(bad(format!("{} is not a valid sslmode", quote(other))).advised("use disable or prefer")),
    }
}

/// Name of the server's socket in its directory.
fn socket_name(port: u16) -> String {
    format!(".s.PGSQL.{port}")
}

fn default_host() -> String {
    let dir = SOCKET_DIRS.iter().find(|dir| Path::new(dir).join(socket_name(DEFAULT_PORT)).exists());
    dir.map_or_else(|| "localhost".into(), |dir| (*dir).into())
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
        let socket = |port: u16| vec![Host::Socket(format!("/run/pg/.s.PGSQL.{port}").into())];
        assert_eq!(Config::parse("postgresql://u@/d?host=/run/pg&port=7000").unwrap().hosts, socket(7000));
        assert_eq!(Config::parse("postgres://u@%2Frun%2Fpg/d").unwrap().hosts, socket(5432));
        let wants_tls = "postgres://u@/d?host=/run/pg&port=7000&sslmode=require";
        assert_eq!(Config::parse(wants_tls).unwrap().hosts, socket(7000), "a socket needs no TLS");
    }

    #[test]
    fn wrong_parts_are_named() {
        for (url, word) in [
            ("postgres://u@h:x/d", "'x' is not a port"),
            ("postgres://u@h/d?sslmode=require", "not supported yet"),
            ("postgres://u@h/d?nope=1", "'nope'"),
            ("other://h", "postgres://"),
        ] {
            let error = Config::parse(url).unwrap_err();
            assert!(error.class == ErrorClass::Usage && error.message.contains(word), "{url}: {error}");
        }
    }
}
