//! The URL of a server: `postgres://user@host:port/database?host=/socket/dir&sslmode=prefer`.
//!
//! A password in the URL is refused: it would stand in the process list and in the shell's history.

use std::path::{Path, PathBuf};

use crate::engine::EngineError;
use crate::engine::remote::{
    Host, Reach, Tls, TlsMode, Url, bad_url as bad, every_host, from_env, in_home, os_user,
    port_number, unknown_parameter,
};
use crate::error::quote;
use crate::model::PasswordSources;

/// Where a password is looked for before the user is asked.
pub(super) const SOURCES: PasswordSources =
    PasswordSources { variable: "PGPASSWORD", file: "~/.pgpass" };
pub(super) const SCHEMES: &[&str] = &["postgres", "postgresql"];
const DEFAULT_PORT: u16 = 5432;
/// Where distributions put the server's socket, the first that exists is the default host.
const SOCKET_DIRS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// Protocol within an encrypted connection that begins without being asked for (PostgreSQL manual,
/// "SSL Session Encryption").
const ALPN: &str = "postgresql";

/// How to connect, without password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    /// Tried in order, unless each is a node.
    pub hosts: Vec<Host>,
    /// Every host is a node of a cluster.
    pub is_cluster: bool,
    pub user: String,
    pub database: String,
    /// Of hosts that are reached over a network. With a protocol within, encryption begins at once.
    pub tls: Tls,
    pub binding: Binding,
}

/// Whether a login is bound to the server's certificate, so that nobody between can pass it on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Binding {
    Disable,
    #[default]
    Prefer,
    Require,
}

/// Settings of a URL before defaults.
struct Parts {
    hosts: Vec<String>,
    ports: Vec<String>,
    user: Option<String>,
    database: Option<String>,
    sslmode: Option<String>,
    tls: Tls,
    binding: Binding,
    is_cluster: bool,
}

impl Config {
    /// Reads a URL; what it leaves open comes from PGHOST, PGPORT, PGUSER, PGDATABASE, then the
    /// usual defaults.
    ///
    /// # Errors
    /// Not a URL, a password in it, an unknown parameter, a TLS mode that cannot be met. No error
    /// quotes the URL.
    pub(super) fn parse(url: &str) -> Result<Config, EngineError> {
        let url = Url::parse(url, SCHEMES, SOURCES)?;
        let (hosts, ports) = url.hosts.into_iter().unzip();
        let (tls, binding) = (Tls::default(), Binding::default());
        let (user, database) = (url.user, url.database);
        let mut parts =
            Parts { hosts, ports, user, database, sslmode: None, tls, binding, is_cluster: false };
        for (name, value) in url.parameters {
            parts.parameter(&name, value)?;
        }
        parts.finish()
    }
}

impl Reach for Config {
    fn hosts(&self) -> &[Host] {
        &self.hosts
    }
    fn tls(&self) -> &Tls {
        &self.tls
    }
    fn reaching(&self, hosts: Vec<Host>, tls: Tls) -> Self {
        Config { hosts, tls, ..self.clone() }
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
            "nodes" => self.is_cluster = every_host(&value)?,
            "sslmode" => self.sslmode = Some(value),
            "sslrootcert" => self.tls.roots = Some(value.into()),
            "sslcert" => self.tls.certificate = Some(value.into()),
            "sslkey" => self.tls.key = Some(value.into()),
            "sslnegotiation" => {
                self.tls.protocol =
                    one_of(name, &value, &[("postgres", None), ("direct", Some(ALPN))])?
            }
            "channel_binding" => {
                let known = [
                    ("disable", Binding::Disable),
                    ("prefer", Binding::Prefer),
                    ("require", Binding::Require),
                ];
                self.binding = one_of(name, &value, &known)?;
            }
            other => return Err(unknown_parameter(other, PARAMETERS)),
        }
        Ok(())
    }

    fn finish(self) -> Result<Config, EngineError> {
        let tls = tls(self.tls, self.sslmode)?;
        let user = self.user.or_else(|| from_env("PGUSER")).or_else(os_user);
        let user = user.ok_or_else(|| {
            bad("no user is given").advised("write postgres://USER@host/database")
        })?;
        let database =
            self.database.or_else(|| from_env("PGDATABASE")).unwrap_or_else(|| user.clone());
        let hosts = match self.hosts.is_empty() {
            true => vec![from_env("PGHOST").unwrap_or_else(default_host)],
            false => self.hosts,
        };
        let ports = self.ports;
        let hosts = hosts.into_iter().enumerate().map(|(at, host)| {
            let text = ports
                .get(at)
                .or_else(|| ports.first().filter(|_| ports.len() == 1))
                .filter(|text| !text.is_empty());
            let port = port_number(text.cloned().or_else(|| from_env("PGPORT")), DEFAULT_PORT)?;
            Ok(if host.starts_with('/') {
                Host::Socket(Path::new(&host).join(socket_name(port)))
            } else {
                Host::Tcp { name: host, port }
            })
        });
        let hosts = hosts.collect::<Result<Vec<Host>, _>>()?;
        Ok(Config {
            hosts,
            is_cluster: self.is_cluster,
            user,
            database,
            tls,
            binding: self.binding,
        })
    }
}

const PARAMETERS: &str = "host, port, user, dbname, nodes=all, sslmode, sslrootcert, sslcert, sslkey, sslnegotiation, channel_binding";

/// The meaning of a value of a parameter.
fn one_of<T: Copy>(name: &str, value: &str, known: &[(&str, T)]) -> Result<T, EngineError> {
    let found = known.iter().find(|(text, _)| *text == value).map(|(_, meaning)| *meaning);
    let names: Vec<&str> = known.iter().map(|(text, _)| *text).collect();
    found.ok_or_else(|| {
        bad(format!("{} is not a valid {name}", quote(value)))
            .advised(format!("use {}", names.join(", ")))
    })
}

/// As with libpq (manual: "SSL Support"): files that the URL does not name are those of the
/// environment, then those in the user's home; `require` verifies the issuer if there is a file to
/// verify by. A Unix socket needs no encryption.
fn tls(given: Tls, sslmode: Option<String>) -> Result<Tls, EngineError> {
    let file = |given: Option<PathBuf>, variable: &str, usual: &str| {
        let usual = || in_home(usual).filter(|path| path.exists());
        given.or_else(|| from_env(variable).map(PathBuf::from)).or_else(usual)
    };
    let roots = file(given.roots, "PGSSLROOTCERT", ".postgresql/root.crt");
    let require = if roots.is_some() { TlsMode::VerifyCa } else { TlsMode::Require };
    let modes = [
        ("disable", TlsMode::Disable),
        ("allow", TlsMode::Prefer),
        ("prefer", TlsMode::Prefer),
        ("require", require),
        ("verify-ca", TlsMode::VerifyCa),
        ("verify-full", TlsMode::VerifyFull),
    ];
    let text = sslmode.or_else(|| from_env("PGSSLMODE")).unwrap_or_else(|| "prefer".into());
    let mode = one_of("sslmode", &text, &modes)?;
    let certificate = file(given.certificate, "PGSSLCERT", ".postgresql/postgresql.crt");
    let key = file(given.key, "PGSSLKEY", ".postgresql/postgresql.key");
    if given.protocol.is_some() && mode < TlsMode::Require {
        return Err(bad("sslnegotiation=direct needs sslmode=require, verify-ca or verify-full"));
    }
    Ok(Tls { mode, roots, certificate, key, protocol: given.protocol })
}

/// Name of the server's socket in its directory.
fn socket_name(port: u16) -> String {
    format!(".s.PGSQL.{port}")
}

/// Path of the server's socket, in the first of its directories that has it.
pub(super) fn socket_in(directories: &str, port: &str) -> Option<PathBuf> {
    let port = port.parse().ok()?;
    let paths =
        directories.split(',').map(|directory| Path::new(directory.trim()).join(socket_name(port)));
    paths.into_iter().find(|path| path.exists())
}

fn default_host() -> String {
    let dir =
        SOCKET_DIRS.iter().find(|dir| Path::new(dir).join(socket_name(DEFAULT_PORT)).exists());
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
        assert!(
            !config.is_cluster && Config::parse("postgres://u@a,b/d?nodes=all").unwrap().is_cluster
        );
    }

    #[test]
    fn a_socket_directory_comes_as_parameter_or_encoded_host() {
        let socket = |port: u16| vec![Host::Socket(format!("/run/pg/.s.PGSQL.{port}").into())];
        assert_eq!(
            Config::parse("postgresql://u@/d?host=/run/pg&port=7000").unwrap().hosts,
            socket(7000)
        );
        assert_eq!(Config::parse("postgres://u@%2Frun%2Fpg/d").unwrap().hosts, socket(5432));
        let wants_tls = "postgres://u@/d?host=/run/pg&port=7000&sslmode=require";
        assert_eq!(Config::parse(wants_tls).unwrap().hosts, socket(7000), "a socket needs no TLS");
    }

    #[test]
    fn what_is_asked_of_a_network_is_read() {
        let url = "postgres://u@h/d?sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k&channel_binding=require";
        let config = Config::parse(&format!("{url}&sslnegotiation=direct")).unwrap();
        let [roots, certificate, key] = ["/ca", "/c", "/k"].map(|path| Some(PathBuf::from(path)));
        let tls = Tls { mode: TlsMode::VerifyFull, roots, certificate, key, protocol: Some(ALPN) };
        assert_eq!((config.tls, config.binding), (tls, Binding::Require));
        let mode = |parameters: &str| {
            Config::parse(&format!("postgres://u@h/d?{parameters}")).unwrap().tls.mode
        };
        assert_eq!(mode("sslmode=disable"), TlsMode::Disable);
        assert_eq!(
            mode("sslmode=require&sslrootcert=/ca"),
            TlsMode::VerifyCa,
            "there is something to verify by"
        );
    }

    #[test]
    fn wrong_parts_are_named() {
        for (url, word) in [
            ("postgres://u@h:x/d", "'x' is not a port"),
            ("postgres://u@h/d?sslmode=requires", "'requires' is not a valid sslmode"),
            ("postgres://u@h/d?sslmode=prefer&sslnegotiation=direct", "needs sslmode=require"),
            ("postgres://u@h/d?channel_binding=yes", "not a valid channel_binding"),
            ("postgres://u@h,i/d?nodes=2", "'2' is not a valid value of nodes"),
            ("postgres://u@h/d?nope=1", "'nope'"),
            ("other://h", "postgres://"),
        ] {
            let error = Config::parse(url).unwrap_err();
            assert!(
                error.class == ErrorClass::Usage && error.message.contains(word),
                "{url}: {error}"
            );
        }
    }
}
