//! The URL of a server: `postgres://user@host:port/database?host=/socket/dir&sslmode=prefer`.
//!
//! A password in the URL is refused: it would stand in the process list and in the shell's history.

use std::path::{Path, PathBuf};

use crate::engine::remote::{
    ConnectTimeouts, Host, Routable, Tls, TlsMode, Url, bad_url as bad, every_host, from_env,
    in_home, is_system, os_user, port_number, unknown_parameter,
};
use crate::engine::{EngineError, ErrorClass};
use dbdyno_core::error::quote;
use dbdyno_core::model::PasswordSources;

/// Places where a password is looked for before the user is asked.
pub(super) const SOURCES: PasswordSources =
    PasswordSources { variable: "PGPASSWORD", file: "~/.pgpass" };
pub(super) const SCHEMES: &[&str] = &["postgres", "postgresql"];
const DEFAULT_PORT: u16 = 5432;
/// Directories of the server's socket in distributions; the first that exists is the default host.
const SOCKET_DIRS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// Protocol within an encrypted connection that begins without being asked for (PostgreSQL manual,
/// "SSL Session Encryption").
const ALPN: &str = "postgresql";

/// Connection settings without password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    /// Tried in order, unless each is a node.
    pub hosts: Vec<Host>,
    /// Every host is a node of a cluster.
    pub is_cluster: bool,
    pub user: String,
    pub database: String,
    /// TLS settings of hosts that are reached over a network. With a protocol within, encryption
    /// begins at once.
    pub tls: Tls,
    pub binding: Binding,
    pub methods: Methods,
    /// Timeouts of all its connections.
    pub timeouts: ConnectTimeouts,
    /// User who must run a server that is reached by its Unix socket.
    pub peer: Option<String>,
    /// Pooler at the other end.
    pub pooling: Pooling,
}

/// A pooler before the server, by what it lends its sessions to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Pooling {
    /// There is none.
    #[default]
    None,
    /// A setting of a session is gone with the transaction, or is somebody else's.
    Transactions,
    /// A session keeps what is set in it.
    Sessions,
}

/// Names of methods: no proof is asked for, the password itself.
pub(super) const NO_METHOD: &str = "none";
pub(super) const CLEAR_TEXT: &str = "password";
/// Authentication methods that a server may ask for (PostgreSQL manual, `require_auth`).
const METHODS: [&str; 6] = [CLEAR_TEXT, "md5", "gss", "sspi", "scram-sha-256", NO_METHOD];

/// Methods by which the user lets a server ask who we are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Methods {
    /// None: any.
    listed: Vec<&'static str>,
    /// All but those.
    is_negated: bool,
}

impl Methods {
    fn parse(text: &str) -> Result<Methods, EngineError> {
        let wrong = || {
            bad(format!("{} is not a valid require_auth", quote(text))).advised(format!(
                "list methods of {}, or each with '!' in front to refuse it",
                METHODS.join(", ")
            ))
        };
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_negated = words.iter().all(|word| word.starts_with('!'));
        let named = |word: &&str| {
            let name = if is_negated { &word[1..] } else { word };
            METHODS.into_iter().find(|method| *method == name)
        };
        let listed = words.iter().map(named).collect::<Option<_>>().ok_or_else(wrong)?;
        Ok(Methods { listed, is_negated })
    }

    /// True if the user names the method as one that may be asked for.
    pub(super) fn names(&self, method: &str) -> bool {
        !self.is_negated && self.listed.contains(&method)
    }

    /// Looks at what a server asks for; none is no request.
    ///
    /// # Errors
    /// The user does not allow it.
    pub(super) fn check(&self, asked: Option<&str>) -> Result<(), EngineError> {
        let Some(method) = asked.filter(|_| !self.listed.is_empty()) else { return Ok(()) };
        if self.listed.contains(&method) != self.is_negated {
            return Ok(());
        }
        let what = format!("the server asks for the method '{method}', which require_auth refuses");
        Err(EngineError::new(ErrorClass::Denied, what)
            .advised("change require_auth (PGREQUIREAUTH), or pg_hba.conf on the server"))
    }
}

/// Binding of a login to the server's certificate, so that nobody between can pass it on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Binding {
    Disable,
    #[default]
    Prefer,
    Require,
}

/// Settings of a URL before defaults.
#[derive(Default)]
struct Parts {
    hosts: Vec<String>,
    ports: Vec<String>,
    user: Option<String>,
    database: Option<String>,
    sslmode: Option<String>,
    tls: Tls,
    binding: Option<Binding>,
    methods: Option<String>,
    peer: Option<String>,
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
        let (user, database) = (url.user, url.database);
        let mut parts = Parts { hosts, ports, user, database, ..Parts::default() };
        for (name, value) in url.parameters {
            parts.parameter(&name, value)?;
        }
        parts.finish()
    }
}

impl Routable for Config {
    fn hosts(&self) -> &[Host] {
        &self.hosts
    }
    fn tls(&self) -> &Tls {
        &self.tls
    }
    fn with_hosts(&self, hosts: Vec<Host>, tls: Tls) -> Self {
        Config { hosts, tls, ..self.clone() }
    }
    fn with_user(&self, user: &str) -> Self {
        Config { user: user.into(), ..self.clone() }
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
                self.binding = Some(one_of(name, &value, &BINDINGS)?);
            }
            "require_auth" => self.methods = Some(value),
            "requirepeer" => self.peer = Some(value),
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
        if hosts.iter().any(|host| matches!(host, Host::Tcp { .. })) {
            refuse_unheeded(&|name| from_env(name))?;
        }
        let methods = self.methods.or_else(|| from_env("PGREQUIREAUTH"));
        let methods = methods.as_deref().map(Methods::parse).transpose()?.unwrap_or_default();
        let binding = match (self.binding, from_env(BINDING)) {
            (Some(binding), _) => binding,
            (None, Some(text)) => one_of(BINDING, &text, &BINDINGS)?,
            (None, None) => Binding::default(),
        };
        Ok(Config {
            timeouts: ConnectTimeouts::default(),
            hosts,
            is_cluster: self.is_cluster,
            user,
            database,
            tls,
            binding,
            methods,
            peer: self.peer.or_else(|| from_env("PGREQUIREPEER")),
            pooling: Pooling::None,
        })
    }
}

const PARAMETERS: &str = "host, port, user, dbname, nodes=all, sslmode, sslrootcert, sslcert, \
                          sslkey, sslnegotiation, channel_binding, require_auth, requirepeer";
const BINDING: &str = "PGCHANNELBINDING";
const BINDINGS: [(&str, Binding); 3] =
    [("disable", Binding::Disable), ("prefer", Binding::Prefer), ("require", Binding::Require)];

/// Connection settings of the environment that dbdyno does not support: a variable, and its values
/// that ask for something (none = every value).
const UNHEEDED: [(&str, Option<&str>); 5] = [
    ("PGSSLCRL", None),
    ("PGSSLCRLDIR", None),
    ("PGSSLMINPROTOCOLVERSION", Some("TLSv1.3")),
    ("PGSSLCERTMODE", Some("require")),
    ("PGGSSENCMODE", Some("require")),
];

/// Refuses to connect less safely than the environment asks for.
///
/// # Errors
/// Names the variable.
fn refuse_unheeded(variable: &dyn Fn(&str) -> Option<String>) -> Result<(), EngineError> {
    let asks = |(name, value): &&(&str, Option<&str>)| {
        variable(name).is_some_and(|text| value.is_none_or(|value| text == value))
    };
    UNHEEDED.iter().find(asks).map_or(Ok(()), |(name, _)| {
        Err(bad(format!("{name} asks for what cannot be done here"))
            .advised(format!("unset {name}, or connect over a Unix socket")))
    })
}

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
/// verify by, and `system` makes verify-full the usual mode and refuses a weaker one. A Unix socket
/// needs no encryption.
fn tls(given: Tls, sslmode: Option<String>) -> Result<Tls, EngineError> {
    let file = |given: Option<PathBuf>, variable: &str, usual: &str| {
        let usual = || Some(in_home(usual)).filter(|path| path.exists());
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
    let usual = if is_system(roots.as_deref()) { "verify-full" } else { "prefer" };
    let text = sslmode.or_else(|| from_env("PGSSLMODE")).unwrap_or_else(|| usual.into());
    let mode = one_of("sslmode", &text, &modes)?;
    let certificate = file(given.certificate, "PGSSLCERT", ".postgresql/postgresql.crt");
    let key = file(given.key, "PGSSLKEY", ".postgresql/postgresql.key");
    if given.protocol.is_some() && mode < TlsMode::Require {
        return Err(bad("sslnegotiation=direct needs sslmode=require, verify-ca or verify-full"));
    }
    let tls = Tls { mode, roots, certificate, key, protocol: given.protocol };
    tls.check_roots("sslrootcert", "sslmode=verify-full")?;
    Ok(tls)
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
        let url = "postgres://u@h/d?sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k\
                   &channel_binding=require";
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
        assert_eq!(mode("sslrootcert=system"), TlsMode::VerifyFull, "as libpq 16");
        assert_eq!(mode("sslrootcert=system&sslmode=verify-full"), TlsMode::VerifyFull);
    }

    #[test]
    fn methods_are_those_that_are_listed_or_all_others() {
        let config = |list: &str| Config::parse(&format!("postgres://u@h/d?require_auth={list}"));
        let allows = |list, method| config(list).unwrap().methods.check(Some(method)).is_ok();
        assert!(allows("scram-sha-256,none", "none") && !allows("scram-sha-256", CLEAR_TEXT));
        assert!(allows("!password,!md5", "scram-sha-256") && !allows("!password", CLEAR_TEXT));
        assert!(config("password").unwrap().methods.names(CLEAR_TEXT));
        assert!(!config("!md5").unwrap().methods.names(CLEAR_TEXT));
        assert!(Methods::default().check(Some(CLEAR_TEXT)).is_ok());
        assert!(config("!password,md5").is_err() && config("passwords").is_err());
    }

    #[test]
    fn what_the_environment_asks_for_in_vain_is_refused() {
        for (name, value, is_refused) in [
            ("PGSSLCRL", "/crl", true),
            ("PGSSLMINPROTOCOLVERSION", "TLSv1.3", true),
            ("PGSSLMINPROTOCOLVERSION", "TLSv1.2", false),
            ("PGGSSENCMODE", "prefer", false),
        ] {
            let said = refuse_unheeded(&|asked| (asked == name).then(|| value.to_owned()));
            assert_eq!(said.is_err(), is_refused, "{name}={value}");
        }
    }

    #[test]
    fn wrong_parts_are_named() {
        for (url, word) in [
            ("postgres://u@h:x/d", "'x' is not a port"),
            ("postgres://u@h/d?sslmode=requires", "'requires' is not a valid sslmode"),
            ("postgres://u@h/d?sslmode=prefer&sslnegotiation=direct", "needs sslmode=require"),
            ("postgres://u@h/d?sslrootcert=system&sslmode=require", "needs sslmode=verify-full"),
            ("postgres://u@h/d?sslrootcert=system&sslmode=verify-ca", "needs sslmode=verify-full"),
            ("postgres://u@h/d?sslrootcert=system&sslmode=disable", "needs sslmode=verify-full"),
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
