//! Connection routes to a server: hosts and account for each transport (Unix socket, TCP, TLS).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use secrecy::SecretString;

use super::{Host, Passwords, Tls, TlsMode};
use crate::engine::{EngineError, ErrorClass, Session};
use dbdyno_core::model::{PasswordSources, Transport};

/// The addresses of a server on this host, in the order in which they are tried: it may listen on
/// one of them only.
const LOOPBACKS: [&str; 2] = ["127.0.0.1", "::1"];
/// Bytes of a password of our own.
const PASSWORD_BYTES: usize = 16;
/// Name of the account of ours that reaches a private server over TCP, where the usual one has no
/// password.
pub(in crate::engine) const TCP_ACCOUNT: &str = "dbdyno_tcp";

/// A way to a server.
#[derive(Clone)]
pub(in crate::engine) struct Route<C> {
    /// Hosts, user, database.
    pub config: C,
    pub passwords: Arc<Passwords>,
}

/// Configuration of a client as a route needs it.
pub(in crate::engine) trait Routable: Clone {
    fn hosts(&self) -> &[Host];
    fn tls(&self) -> &Tls;
    /// The same by these hosts, encrypted so.
    fn with_hosts(&self, hosts: Vec<Host>, tls: Tls) -> Self;
    /// The same as this user, who has a password.
    fn with_user(&self, user: &str) -> Self;
}

/// The addresses of a server on this host, as the server reports them.
pub(in crate::engine) struct ReportedAddresses {
    /// Path of its Unix socket, if the socket can be seen from here.
    pub socket: Option<PathBuf>,
    /// TCP port as text; none if the server listens on none.
    pub port: Option<String>,
}

/// Our account for TCP on a private server, and the means to create it.
pub(in crate::engine) struct TcpAccount<'a> {
    /// Session of an administrator.
    pub session: &'a mut dyn Session,
    /// Statements that make the account with a password.
    pub statements: &'a dyn Fn(&str) -> Result<Vec<String>, EngineError>,
}

impl TcpAccount<'_> {
    /// Makes the account with a new password, which is returned.
    ///
    /// # Errors
    /// No password can be made; the server refuses a statement.
    fn create(self) -> Result<String, EngineError> {
        let password = own_password()?;
        for sql in (self.statements)(&password)? {
            self.session.execute(&sql).map_err(|error| no_account(&error))?;
        }
        Ok(password)
    }
}

/// The route that a database was opened by, and others, each found when it is asked for first.
pub(in crate::engine) struct Routes<C> {
    pub given: Arc<Route<C>>,
    others: Mutex<BTreeMap<Transport, Arc<Route<C>>>>,
    /// The account for TCP may have been made.
    may_have_account: AtomicBool,
}

impl<C> Routes<C> {
    pub(in crate::engine) fn new(given: Route<C>) -> Self {
        Routes {
            given: Arc::new(given),
            others: Mutex::default(),
            may_have_account: AtomicBool::new(false),
        }
    }

    /// The route of a transport, from `find` if it is not known.
    ///
    /// # Errors
    /// Those of `find`: there is none.
    fn get(
        &self,
        transport: Transport,
        find: impl FnOnce() -> Result<Route<C>, EngineError>,
    ) -> Result<Arc<Route<C>>, EngineError> {
        if transport == Transport::Given {
            return Ok(self.given.clone());
        }
        let mut others = self.others.lock();
        if let Some(known) = others.get(&transport) {
            return Ok(known.clone());
        }
        let found = Arc::new(find()?);
        others.insert(transport, found.clone());
        Ok(found)
    }

    /// Remembers the route of a transport that cannot be found otherwise.
    pub(in crate::engine) fn add(&self, transport: Transport, route: Arc<Route<C>>) {
        self.others.lock().insert(transport, route);
    }

    /// True if the account of ours for TCP may be on the server: it is made before the route is
    /// tried out.
    pub(in crate::engine) fn may_have_account(&self) -> bool {
        self.may_have_account.load(Ordering::Relaxed)
    }

    /// True if this route was found.
    pub(in crate::engine) fn has(&self, transport: Transport) -> bool {
        self.others.lock().contains_key(&transport)
    }
}

impl<C: Routable> Routes<C> {
    /// The route of a transport: by the URL's hosts, else the one that `other` finds, if it lets
    /// `try_out` through. On a private server of ours (`is_ours`) the encrypted route is the plain
    /// one, encrypted: the account is one for both.
    ///
    /// # Errors
    /// Those of `other` and `try_out`.
    pub(in crate::engine) fn by(
        &self,
        transport: Transport,
        is_ours: bool,
        other: &dyn Fn(Transport) -> Result<Route<C>, EngineError>,
        try_out: &dyn Fn(&Route<C>) -> Result<(), EngineError>,
    ) -> Result<Arc<Route<C>>, EngineError> {
        let is_above = is_ours && transport == Transport::Tls;
        let plain =
            is_above.then(|| self.by(Transport::Tcp, is_ours, other, try_out)).transpose()?;
        self.get(transport, || {
            let given = self.given.as_ref();
            let hosts = hosts_by(given.config.hosts(), transport);
            let route = match (plain.as_deref(), hosts.is_empty()) {
                (Some(plain), _) => plain.clone(),
                (None, false) => Route {
                    config: given.config.with_hosts(hosts, Tls::default()),
                    ..given.clone()
                },
                (None, true) => {
                    if is_ours && transport != Transport::Socket {
                        self.may_have_account.store(true, Ordering::Relaxed);
                    }
                    other(transport)?
                }
            };
            // From the URL: the plain route has none.
            let tls = tls_by(given.config.tls(), transport);
            let route = Route {
                config: route.config.with_hosts(route.config.hosts().to_vec(), tls),
                ..route
            };
            try_out(&route).map(|()| route)
        })
    }
}

impl<C: Routable> Route<C> {
    /// The same route to that host of its list which has answered first. Sessions that are opened
    /// later are of the same server, also where it refuses them or another host answers by then:
    /// the counters of one server say nothing about jobs on another.
    pub(in crate::engine) fn keep_to(&self, host: Host) -> Self {
        self.lead_to(vec![host])
    }

    /// The same route to other hosts.
    fn lead_to(&self, hosts: Vec<Host>) -> Self {
        let config = self.config.with_hosts(hosts, self.config.tls().clone());
        Route { config, passwords: Arc::clone(&self.passwords) }
    }

    /// Finds the route of a transport for which the URL of this route names no host, by the
    /// addresses that the server reports. Over TCP it logs in to `account`, which is made for it,
    /// if there is one; else as this route does.
    ///
    /// # Errors
    /// The server cannot be reached over this transport; the account cannot be made.
    pub(in crate::engine) fn find_reported(
        &self,
        transport: Transport,
        addresses: ReportedAddresses,
        account: Option<TcpAccount<'_>>,
    ) -> Result<Self, EngineError> {
        if transport == Transport::Socket {
            let socket = addresses.socket;
            let socket = socket
                .ok_or_else(|| no_route("the server's Unix socket cannot be seen from here"))?;
            return Ok(self.lead_to(vec![Host::Socket(socket)]));
        }
        let port = addresses.port;
        let port = port.ok_or_else(|| no_route("the server listens on no TCP port"))?;
        let route = self.lead_to(on_loopback(&port)?);
        let Some(account) = account else { return Ok(route) };
        let password = account.create()?;
        Ok(Route {
            config: route.config.with_user(TCP_ACCOUNT),
            passwords: own_account(self.passwords.sources, password),
        })
    }
}

/// The hosts that are reached over this transport.
fn hosts_by(hosts: &[Host], transport: Transport) -> Vec<Host> {
    let is_socket =
        |host: &&Host| matches!(host, Host::Socket(_)) == (transport == Transport::Socket);
    hosts.iter().filter(is_socket).cloned().collect()
}

/// TLS settings of a URL for a transport.
fn tls_by(given: &Tls, transport: Transport) -> Tls {
    let mode = match transport {
        Transport::Tcp => TlsMode::Disable,
        Transport::Tls => given.mode.max(TlsMode::Require),
        Transport::Given | Transport::Process | Transport::Socket | Transport::Pooler => given.mode,
    };
    Tls { mode, ..given.clone() }
}

/// A port of this host, by each of its loopback addresses.
///
/// # Errors
/// If it is no port.
fn on_loopback(port: &str) -> Result<Vec<Host>, EngineError> {
    let port = port.parse().map_err(|_| no_route("the server does not report its TCP port"))?;
    Ok(LOOPBACKS.map(|name| Host::Tcp { name: name.into(), port }).to_vec())
}

/// There is no route by a transport.
pub(in crate::engine) fn no_route(why: &str) -> EngineError {
    EngineError::new(ErrorClass::Unreachable, why)
}

/// A random password: hexadecimal digits from the system's random numbers.
///
/// # Errors
/// If the system gives none.
fn own_password() -> Result<String, EngineError> {
    let mut bytes = [0_u8; PASSWORD_BYTES];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| no_route(&format!("no password can be made ({error})")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Our account on a private server, with this password.
fn own_account(sources: PasswordSources, password: String) -> Arc<Passwords> {
    Arc::new(Passwords::of_own(sources, SecretString::from(password)))
}

/// The account could not be made; the statement holds its password and is not quoted.
fn no_account(error: &EngineError) -> EngineError {
    let code = error.code.as_deref().unwrap_or("no code");
    EngineError::new(
        error.class,
        format!("no account for TCP can be made on the private server ({code})"),
    )
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::super::{ConnectTimeouts, first_that_answers};
    use super::*;
    use crate::engine::Rows;

    const SOURCES: PasswordSources = PasswordSources { variable: "NONE", file: "none" };

    #[derive(Clone)]
    struct UserAtHosts {
        user: String,
        hosts: Vec<Host>,
        tls: Tls,
    }

    impl Routable for UserAtHosts {
        fn hosts(&self) -> &[Host] {
            &self.hosts
        }
        fn tls(&self) -> &Tls {
            &self.tls
        }
        fn with_hosts(&self, hosts: Vec<Host>, tls: Tls) -> Self {
            UserAtHosts { hosts, tls, user: self.user.clone() }
        }
        fn with_user(&self, user: &str) -> Self {
            UserAtHosts { user: user.into(), ..self.clone() }
        }
    }

    /// Keeps statements; refuses them from the second on.
    struct StatementLog(Vec<String>);

    impl Session for StatementLog {
        fn execute(&mut self, sql: &str) -> Result<u64, EngineError> {
            self.0.push(sql.to_string());
            match self.0.len() {
                1 => Ok(0),
                _ => Err(EngineError::new(ErrorClass::Privilege, format!("refused: {sql}"))),
            }
        }
        fn query(&mut self, _sql: &str, _binds: &[i64]) -> Result<Rows, EngineError> {
            Ok(Rows::default())
        }
    }

    fn given_route() -> Route<UserAtHosts> {
        let config = UserAtHosts { user: "me".into(), hosts: Vec::new(), tls: Tls::default() };
        Route { config, passwords: Arc::new(Passwords::new(SOURCES, None)) }
    }

    #[test]
    fn a_route_is_kept_to_the_host_that_has_answered() {
        let tcp = |name: &str| Host::Tcp { name: name.into(), port: 5432 };
        let mut listed = given_route();
        listed.config.hosts = vec![tcp("a"), tcp("b"), tcp("c")];
        let routes = Routes::new(listed.keep_to(tcp("b")));
        assert_eq!(routes.given.config.hosts, [tcp("b")]);
        let other = |_: Transport| Err(no_route("the URL names the host"));
        let by_tcp = routes.by(Transport::Tcp, false, &other, &|_| Ok(())).unwrap();
        assert_eq!(by_tcp.config.hosts, [tcp("b")]);
    }

    #[test]
    fn a_route_leads_to_the_reported_address_of_its_transport() {
        let found = |transport, socket: Option<&str>, port: Option<&str>| {
            let addresses = ReportedAddresses {
                socket: socket.map(PathBuf::from),
                port: port.map(str::to_string),
            };
            given_route().find_reported(transport, addresses, None).map(|route| route.config)
        };
        let by_socket = found(Transport::Socket, Some("/run/s"), None).unwrap();
        assert_eq!(
            (by_socket.hosts, &*by_socket.user),
            (vec![Host::Socket("/run/s".into())], "me")
        );
        let by_tcp = found(Transport::Tcp, None, Some("5432")).unwrap();
        assert_eq!((by_tcp.hosts, &*by_tcp.user), (on_loopback("5432").unwrap(), "me"));
        for (transport, word) in [(Transport::Socket, "cannot be seen"), (Transport::Tcp, "no TCP")]
        {
            let error = found(transport, None, None).err().unwrap();
            assert!(error.message.contains(word), "{error}");
        }
    }

    #[test]
    fn an_account_is_made_for_tcp_and_no_error_holds_its_password() {
        let statements = |password: &str| Ok(vec![format!("make {password}")]);
        let mut log = StatementLog(Vec::new());
        let mut find = || {
            let addresses = ReportedAddresses { socket: None, port: Some("5432".into()) };
            let account = TcpAccount { session: &mut log, statements: &statements };
            given_route().find_reported(Transport::Tcp, addresses, Some(account))
        };
        assert_eq!(find().unwrap().config.user, TCP_ACCOUNT);
        let refused = find().err().unwrap();
        let password = log.0[1].strip_prefix("make ").unwrap();
        assert_eq!(password.len(), 2 * PASSWORD_BYTES);
        assert!(!refused.message.contains(password), "{refused}");
        assert_ne!(log.0[0], log.0[1]);
    }

    #[test]
    fn a_road_is_looked_for_once_and_a_missing_one_again() {
        let route = |config: u32| Route { config, passwords: own_account(SOURCES, String::new()) };
        let routes = Routes::new(route(1));
        let get = |transport, found: Option<u32>| {
            routes
                .get(transport, || found.map(route).ok_or_else(|| no_route("closed")))
                .map(|route| route.config)
        };
        assert_eq!(get(Transport::Given, None).unwrap(), 1);
        assert_eq!(get(Transport::Tcp, None).unwrap_err().message, "closed");
        assert_eq!(
            (get(Transport::Tcp, Some(2)).unwrap(), get(Transport::Tcp, None).unwrap()),
            (2, 2)
        );
        assert!(routes.has(Transport::Tcp) && !routes.has(Transport::Socket));
    }

    #[test]
    fn an_account_may_be_there_though_its_first_connection_failed() {
        let looked_for = |transport, is_ours: bool| {
            let routes = Routes::new(given_route());
            let refused =
                |_: &Route<UserAtHosts>| -> Result<(), EngineError> { Err(no_route("refused")) };
            let found = routes.by(transport, is_ours, &|_| Ok(given_route()), &refused);
            assert_eq!(found.err().map(|error| error.message).as_deref(), Some("refused"));
            routes.may_have_account()
        };
        assert!(looked_for(Transport::Tcp, true) && looked_for(Transport::Tls, true));
        assert!(!looked_for(Transport::Socket, true), "it needs none");
        assert!(!looked_for(Transport::Tcp, false), "nobody makes one on a server of others");
        assert!(!Routes::new(given_route()).may_have_account());
    }

    #[test]
    fn tcp_is_not_encrypted_and_tls_is_at_least_as_the_url_asks_for() {
        let mode = |mode, transport| tls_by(&Tls { mode, ..Tls::default() }, transport).mode;
        assert_eq!(mode(TlsMode::VerifyFull, Transport::Tcp), TlsMode::Disable);
        assert_eq!(mode(TlsMode::Prefer, Transport::Tls), TlsMode::Require);
        assert_eq!(mode(TlsMode::VerifyCa, Transport::Tls), TlsMode::VerifyCa);
        assert_eq!(mode(TlsMode::Prefer, Transport::Given), TlsMode::Prefer);
    }

    #[test]
    fn a_server_that_listens_on_one_loopback_address_only_is_reached() {
        let reached = |address: &str| {
            // A machine without IPv6 has nothing to try there.
            let Ok(listener) = TcpListener::bind((address, 0)) else { return true };
            let port = listener.local_addr().unwrap().port().to_string();
            let connect = |host: &Host| host.connect(&ConnectTimeouts::default());
            first_that_answers(&on_loopback(&port).unwrap(), connect)
                .is_ok_and(|(_, is_local)| is_local)
        };
        assert!(reached("127.0.0.1"));
        assert!(reached("::1"));
        assert!(on_loopback("none").is_err());
    }

    #[test]
    fn hosts_are_told_apart_and_passwords_differ() {
        let hosts = [Host::Socket("/run/s".into()), Host::Tcp { name: "db".into(), port: 1 }];
        assert_eq!(hosts_by(&hosts, Transport::Socket), hosts[..1]);
        assert_eq!(hosts_by(&hosts, Transport::Tcp), hosts[1..]);
        let passwords = [own_password().unwrap(), own_password().unwrap()];
        assert!(passwords[0] != passwords[1] && passwords[0].len() == 2 * PASSWORD_BYTES);
    }
}
