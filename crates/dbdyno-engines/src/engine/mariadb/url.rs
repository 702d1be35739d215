//! The URL of a server: `mariadb://user@host:port/database?socket=/path`, or `mysql://`.
//!
//! A password in the URL is refused: it would stand in the process list and in the shell's history.

use std::path::{Path, PathBuf};

use super::options::{ClientOptions, is_on};
use super::product::Product;
use crate::engine::EngineError;
use crate::engine::remote::{
    ConnectTimeouts, Host, Routable, Tls, TlsMode, Url, bad_url as bad, every_host, from_env,
    is_system, not_empty, os_user, port_number, unknown_parameter,
};
use dbdyno_core::error::quote;
use dbdyno_core::model::PasswordSources;

const DEFAULT_PORT: u16 = 3306;
/// Places where a password is looked for before the user is asked.
pub(super) const SOURCES: PasswordSources =
    PasswordSources { variable: "MYSQL_PWD", file: "[client] of ~/.my.cnf" };
/// Paths of the server's socket in distributions; the first that exists stands for `localhost`, as
/// in MariaDB's client.
const SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/run/mysql/mysql.sock",
    "/tmp/mysql.sock",
];
const LOCALHOST: &str = "localhost";

/// Source of the key that encrypts a password on an unencrypted connection: a key that the server
/// itself sends could be that of somebody between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum ServerKey {
    /// From nowhere: no such password is sent.
    #[default]
    None,
    /// From the server.
    Asked,
    /// A PEM file.
    File(PathBuf),
}

/// Connection settings without password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Config {
    pub product: &'static Product,
    /// Tried in order, unless each is a node.
    pub hosts: Vec<Host>,
    /// Every host is a node of a cluster.
    pub is_cluster: bool,
    pub user: String,
    /// Database that must exist; our own objects are in another one.
    pub database: Option<String>,
    /// False: no password is looked for, the server knows the user by its socket.
    pub wants_password: bool,
    /// TLS settings of hosts that are reached over a network.
    pub tls: Tls,
    pub server_key: ServerKey,
    /// True if the password may be sent to a server that encrypts and is not verified.
    pub clear_text: bool,
    /// User who must run a server that is reached by its Unix socket.
    pub peer: Option<String>,
    /// Timeouts of all its connections.
    pub timeouts: ConnectTimeouts,
}

/// Settings of a URL before defaults.
#[derive(Default)]
struct Parts {
    hosts: Vec<(String, String)>,
    user: Option<String>,
    database: Option<String>,
    socket: Option<String>,
    no_password: bool,
    mode: Option<TlsMode>,
    tls: Tls,
    server_key: ServerKey,
    is_cluster: bool,
    clear_text: bool,
    peer: Option<String>,
}

impl Config {
    /// Reads a URL; what it leaves open comes from MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT,
    /// then from `options`, then the usual defaults.
    ///
    /// # Errors
    /// Not a URL, a password in it, an unknown parameter. No error quotes the URL.
    pub(super) fn parse(
        url: &str,
        product: &'static Product,
        options: &ClientOptions,
    ) -> Result<Config, EngineError> {
        let url = Url::parse(url, &[product.scheme], SOURCES)?;
        let mut parts =
            Parts { hosts: url.hosts, user: url.user, database: url.database, ..Parts::default() };
        for (name, value) in url.parameters {
            parts.parameter(&name, value)?;
        }
        parts.finish(product, options)
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
        Config { user: user.into(), wants_password: true, ..self.clone() }
    }
}

impl Parts {
    /// Takes a parameter of the query part.
    fn parameter(&mut self, name: &str, value: String) -> Result<(), EngineError> {
        match name {
            "socket" => self.socket = Some(value),
            "user" => self.user = Some(value),
            "nodes" => self.is_cluster = every_host(&value)?,
            "auth" if value == "none" => self.no_password = true,
            "ssl-mode" => self.mode = Some(tls_mode(&value)?),
            "ssl-ca" => self.tls.roots = Some(value.into()),
            "ssl-cert" => self.tls.certificate = Some(value.into()),
            "ssl-key" => self.tls.key = Some(value.into()),
            "enable-cleartext-plugin" if value == "1" => self.clear_text = true,
            "requirepeer" => self.peer = Some(value),
            "get-server-public-key" if value == "1" => self.server_key = ServerKey::Asked,
            "server-public-key-path" => self.server_key = ServerKey::File(value.into()),
            other => return Err(unknown_parameter(other, PARAMETERS)),
        }
        Ok(())
    }

    fn finish(
        self,
        product: &'static Product,
        options: &ClientOptions,
    ) -> Result<Config, EngineError> {
        let file = |given: Option<PathBuf>, filed: &Option<String>| {
            given.or_else(|| filed.as_ref().map(PathBuf::from))
        };
        let roots = file(self.tls.roots, &options.ssl_ca);
        let usual = match is_system(roots.as_deref()) {
            true => TlsMode::VerifyFull,
            false => TlsMode::default(),
        };
        let tls = Tls {
            mode: match self.mode {
                Some(mode) => mode,
                None => options.tls_mode(tls_mode)?.unwrap_or(usual),
            },
            roots,
            certificate: file(self.tls.certificate, &options.ssl_cert),
            key: file(self.tls.key, &options.ssl_key),
            protocol: None,
        };
        tls.check_roots("ssl-ca", "ssl-mode=verify_identity")?;
        let user = self.user.or_else(|| options.user.clone()).or_else(os_user);
        let user = user.ok_or_else(|| {
            bad("no user is given").advised(format!("write {}://USER@host", product.scheme))
        })?;
        let hosts = match (self.socket, self.hosts.is_empty()) {
            (Some(socket), _) => vec![Host::Socket(socket.into())],
            (None, true) => vec![default_host(options)?],
            (None, false) => self
                .hosts
                .into_iter()
                .map(|(name, port)| host(name, not_empty(port)))
                .collect::<Result<_, _>>()?,
        };
        let is_remote = hosts.iter().any(|host| matches!(host, Host::Tcp { .. }));
        if let Some(name) = options.unheeded.filter(|_| is_remote && self.mode.is_none()) {
            return Err(bad(format!("{name} of ~/.my.cnf cannot be heeded"))
                .advised("set the TLS mode in the URL: ssl-mode=..."));
        }
        let (wants_password, server_key, is_cluster) =
            (!self.no_password, self.server_key, self.is_cluster);
        Ok(Config {
            timeouts: ConnectTimeouts::default(),
            product,
            hosts,
            is_cluster,
            user,
            database: self.database,
            wants_password,
            tls,
            server_key,
            clear_text: self.clear_text
                || options.clear_text
                || from_env(CLEAR_TEXT).is_some_and(|value| is_on(&value)),
            peer: self.peer,
        })
    }
}

const PARAMETERS: &str = "socket, user, nodes=all, auth=none, ssl-mode, ssl-ca, ssl-cert, ssl-key, \
                          server-public-key-path, get-server-public-key=1, \
                          enable-cleartext-plugin=1, requirepeer";
/// Allows MySQL's clients to tell a server the password (MySQL manual, "Client-Side Cleartext
/// Pluggable Authentication").
const CLEAR_TEXT: &str = "LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN";

/// TLS mode by its name in the clients of MySQL, in upper or lower case.
fn tls_mode(text: &str) -> Result<TlsMode, EngineError> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "disabled" => TlsMode::Disable,
        "preferred" => TlsMode::Prefer,
        "required" => TlsMode::Require,
        "verify_ca" => TlsMode::VerifyCa,
        "verify_identity" => TlsMode::VerifyFull,
        _ => {
            return Err(bad(format!("{} is not a valid ssl-mode", quote(text)))
                .advised("use disabled, preferred, required, verify_ca, verify_identity"));
        }
    })
}

/// A host of the URL: a path is a socket, `localhost` without a port the usual one.
fn host(name: String, port: Option<String>) -> Result<Host, EngineError> {
    if name.starts_with('/') {
        return Ok(Host::Socket(name.into()));
    }
    match usual_socket().filter(|_| name == LOCALHOST && port.is_none()) {
        Some(socket) => Ok(Host::Socket(socket)),
        None => Ok(Host::Tcp {
            name,
            port: port_number(port.or_else(|| from_env("MYSQL_TCP_PORT")), DEFAULT_PORT)?,
        }),
    }
}

fn default_host(options: &ClientOptions) -> Result<Host, EngineError> {
    if let Some(socket) = from_env("MYSQL_UNIX_PORT") {
        return Ok(Host::Socket(socket.into()));
    }
    let name = from_env("MYSQL_HOST").or_else(|| options.host.clone());
    match (name, &options.socket) {
        (None, Some(socket)) => Ok(Host::Socket(socket.into())),
        (name, _) => host(name.unwrap_or_else(|| LOCALHOST.into()), options.port.clone()),
    }
}

fn usual_socket() -> Option<PathBuf> {
    SOCKETS.iter().map(Path::new).find(|path| path.exists()).map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::super::product::MARIADB;
    use super::*;
    use crate::engine::ErrorClass;

    fn parse(url: &str) -> Result<Config, EngineError> {
        Config::parse(url, &MARIADB, &ClientOptions::default())
    }

    fn tcp(name: &str, port: u16) -> Host {
        Host::Tcp { name: name.into(), port }
    }

    #[test]
    fn reads_user_hosts_ports_and_database() {
        let config = parse("mariadb://ann%40x@db1:6000,[::1]:6001,db3/sales").unwrap();
        assert_eq!(config.user, "ann@x");
        assert_eq!(config.database.as_deref(), Some("sales"));
        assert_eq!(config.hosts, [tcp("db1", 6000), tcp("::1", 6001), tcp("db3", 3306)]);
        assert_eq!(parse("mariadb://u@localhost:3307").unwrap().hosts, [tcp("localhost", 3307)]);
    }

    #[test]
    fn a_socket_comes_as_parameter_or_encoded_host() {
        let socket = vec![Host::Socket("/run/my.sock".into())];
        assert_eq!(parse("mariadb://u@/?socket=/run/my.sock").unwrap().hosts, socket);
        assert_eq!(parse("mariadb://u@%2Frun%2Fmy.sock/d").unwrap().hosts, socket);
    }

    #[test]
    fn the_option_file_fills_what_the_url_leaves_open() {
        let options = ClientOptions::parse("[client]\nuser = ann\nhost=db9\nport=3310\n");
        let config = Config::parse("mariadb://", &MARIADB, &options).unwrap();
        assert_eq!((config.user.as_str(), config.hosts), ("ann", vec![tcp("db9", 3310)]));
    }

    #[test]
    fn what_the_option_file_asks_of_tls_is_heeded_or_refused() {
        let parse = |line: &str, url: &str| {
            Config::parse(url, &MARIADB, &ClientOptions::parse(&format!("[client]\n{line}\n")))
        };
        for (line, mode) in [
            ("ssl-mode=VERIFY_IDENTITY", TlsMode::VerifyFull),
            ("loose_ssl_mode = verify_ca", TlsMode::VerifyCa),
            ("ssl-verify-server-cert", TlsMode::VerifyFull),
            ("ssl-verify-server-cert=0", TlsMode::Prefer),
            ("ssl", TlsMode::Require),
            ("ssl=1\nssl_verify_server_cert=ON", TlsMode::VerifyFull),
            ("skip-ssl", TlsMode::Disable),
            ("tls-version=TLSv1.2,TLSv1.3", TlsMode::Prefer),
        ] {
            assert_eq!(parse(line, "mariadb://u@h").unwrap().tls.mode, mode, "{line}");
            let of_url = parse(line, "mariadb://u@h?ssl-mode=required").unwrap();
            assert_eq!(of_url.tls.mode, TlsMode::Require, "the URL wins over {line}");
        }
        for line in ["ssl-crl=/f", "ssl-fp=AB", "tls_version=TLSv1.3", "ssl-mode=perhaps"] {
            let refused = parse(line, "mariadb://u@h").unwrap_err();
            assert_eq!(refused.class, ErrorClass::Usage, "{refused}");
            assert!(parse(line, "mariadb://u@h?ssl-mode=verify_ca&ssl-ca=/ca").is_ok());
        }
        assert!(parse("ssl-crl=/f", "mariadb://u@/?socket=/run/s").is_ok(), "no TLS there");
        assert!(parse("enable-cleartext-plugin", "mariadb://u@h").unwrap().clear_text);
    }

    #[test]
    fn trust_in_the_operating_systems_certificates_checks_the_name() {
        let mode = |parameters: &str| {
            parse(&format!("mariadb://u@h/d?{parameters}")).map(|config| config.tls.mode)
        };
        assert_eq!(mode("ssl-ca=system").unwrap(), TlsMode::VerifyFull);
        assert_eq!(mode("ssl-ca=/ca").unwrap(), TlsMode::Prefer);
        for weak in ["disabled", "preferred", "required", "verify_ca"] {
            let error = mode(&format!("ssl-ca=system&ssl-mode={weak}")).unwrap_err();
            assert!(error.message.contains("needs ssl-mode=verify_identity"), "{weak}: {error}");
        }
    }

    #[test]
    fn wrong_parts_are_named() {
        for (url, word) in [
            ("mariadb://u@h:x/d", "'x' is not a port"),
            ("mariadb://u@h/d?nope=1", "'nope'"),
            ("other://h", "mariadb://"),
        ] {
            let error = parse(url).unwrap_err();
            assert!(
                error.class == ErrorClass::Usage && error.message.contains(word),
                "{url}: {error}"
            );
        }
    }
}
