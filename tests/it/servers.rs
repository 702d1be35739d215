//! Servers that stand for somebody's existing ones. Those that tests share are started by the first
//! test that needs one, and end with the test process (`leftovers`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use dbdyno::engine::Session;
use dbdyno::server::{self, PrivateServer, StartOptions};
use rustix::process::Signal;

use crate::cli_existing::SECRET;
use crate::leftovers::Directory;
use crate::support::{
    column, directory, free_port, pause_after, session, signal, start_options, try_session_of,
};

/// A PostgreSQL server: TCP with scram passwords.
pub struct Server {
    url: String,
    pub pid: u32,
    pub port: u16,
    _server: Mutex<PrivateServer>,
    // Dropped after the server that lives in it.
    _dir: Directory,
}

impl Server {
    /// The one that the tests of this process share.
    pub fn shared() -> &'static Server {
        Server::shared_of(None)
    }

    /// The shared one of these programs; none named: the installed ones.
    fn shared_of(server_bin: Option<PathBuf>) -> &'static Server {
        static SHARED: Mutex<BTreeMap<Option<PathBuf>, &'static Server>> =
            Mutex::new(BTreeMap::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let start =
            || -> &'static Server { Box::leak(Box::new(Server::with("200", server_bin.clone()))) };
        shared.entry(server_bin.clone()).or_insert_with(start)
    }

    /// A server of the caller's own.
    pub fn start() -> Server {
        Server::with("40", None)
    }

    /// One of the caller's own, by these programs.
    pub fn start_of(server_bin: PathBuf) -> Server {
        Server::with("40", Some(server_bin))
    }

    fn with(max_connections: &str, server_bin: Option<PathBuf>) -> Server {
        let (dir, port) = (directory(), free_port());
        // Tests leave databases behind; autovacuum would go round them all every minute.
        let settings = [
            ("shared_buffers", "32MB"),
            ("fsync", "off"),
            ("max_connections", max_connections),
            ("autovacuum_naptime", "1h"),
        ];
        let options =
            StartOptions { port: Some(port), server_bin, ..start_options(dir.path(), &settings) };
        let server = server::start("postgres", &options).unwrap();
        let (url, pid) = (server.url(), server.pid().unwrap());
        Server { url, pid, port, _server: Mutex::new(server), _dir: dir }
    }

    /// Creates a role and a database of the same name; the role may create schemas in it if
    /// `privileged`.
    pub fn create_user(&self, name: &str, password: &str, privileged: bool) {
        let mut admin = self.admin("postgres");
        let role = format!("create role {name} login password '{password}'");
        for sql in [role, format!("create database {name}")] {
            admin.execute(&sql).unwrap();
        }
        if privileged {
            admin.execute(&format!("grant create on database {name} to {name}")).unwrap();
        }
    }

    /// The URL of a user's own database.
    pub fn url(&self, name: &str) -> String {
        format!("postgres://{name}@127.0.0.1:{}/{name}", self.port)
    }

    /// A session of the superuser.
    pub fn admin(&self, database: &str) -> Box<dyn Session> {
        session(&self.admin_url(database))
    }

    /// The URL by which the superuser gets to a database, without a password.
    pub fn admin_url(&self, database: &str) -> String {
        self.url.replace("/postgres?", &format!("/{database}?"))
    }
}

/// A MariaDB server: TCP with passwords.
pub struct Existing {
    server: Option<PrivateServer>,
    pub admin: Box<dyn Session>,
    options: StartOptions,
    _lease: Option<Lease>,
    _dir: Option<Directory>,
}

impl Existing {
    /// A server of the caller's own, with more settings than the usual ones.
    pub fn start(more: &[(&str, &str)]) -> Existing {
        let dir = directory();
        let (server, options) = start_mariadb(&dir, None, more);
        let admin = try_session_of("mariadb", &server.url()).unwrap();
        Existing { server: Some(server), admin, options, _lease: None, _dir: Some(dir) }
    }

    /// The one that the tests of this process share, empty, and for this test alone as long as it
    /// holds it.
    pub fn shared() -> Existing {
        let lease = Lease::new("mariadb", None, &[]);
        let admin = try_session_of("mariadb", &lease.url).unwrap();
        let options = lease.held.as_ref().unwrap().server.options.clone();
        Existing { server: None, admin, options, _lease: Some(lease), _dir: None }
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        let server = self.server.take().unwrap();
        server.keep_whatever_happens().unwrap();
        signal(server.pid().unwrap(), Signal::KILL);
    }

    /// Starts it again, on the files that it left.
    pub fn start_again(&mut self) {
        let server = server::start("mariadb", &self.options).unwrap();
        self.admin = try_session_of("mariadb", &server.url()).unwrap();
        self.server = Some(server);
    }

    /// Makes a user with these privileges on our database.
    pub fn create_user(&mut self, name: &str, privileges: &str) {
        self.admin
            .execute(&format!("create user {name}@'127.0.0.1' identified by '{SECRET}'"))
            .unwrap();
        if !privileges.is_empty() {
            self.admin
                .execute(&format!("grant {privileges} on dbdyno.* to {name}@'127.0.0.1'"))
                .unwrap();
        }
    }

    pub fn url(&self, name: &str) -> String {
        format!("mariadb://{name}@127.0.0.1:{}", self.options.port.unwrap())
    }

    /// The URL by which its administrator gets to it, without a password.
    pub fn admin_url(&self) -> String {
        let own = self.server.as_ref().map(PrivateServer::url);
        own.or_else(|| self._lease.as_ref().map(|lease| lease.url.clone())).unwrap()
    }

    pub fn databases(&mut self) -> Vec<String> {
        column(self.admin.as_mut(), DATABASES)
    }
}

impl Drop for Existing {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = server.stop_and_remove(); // a test that killed it has removed it
        }
    }
}

fn start_mariadb(
    dir: &Directory,
    server_bin: Option<PathBuf>,
    more: &[(&str, &str)],
) -> (PrivateServer, StartOptions) {
    let base = [("innodb_buffer_pool_size", "32M"), ("innodb_flush_log_at_trx_commit", "0")];
    let settings = [&base[..], more].concat();
    let options = StartOptions {
        port: Some(free_port()),
        server_bin,
        ..start_options(dir.path(), &settings)
    };
    (server::start("mariadb", &options).unwrap(), options)
}

/// Shared servers of the same programs, at most: as many tests of a MariaDB run at a time, and each
/// server takes a second to start.
const MOST_SHARED: usize = 3;

struct SharedMariaDb {
    url: String,
    options: StartOptions,
    /// Held by the one test that has it: of this server only, others have another one meanwhile.
    alone: Mutex<()>,
    _server: Mutex<PrivateServer>,
    _dir: Directory,
}

/// A shared server, and that nobody else has it.
struct HeldMariaDb {
    server: &'static SharedMariaDb,
    _alone: MutexGuard<'static, ()>,
}

impl SharedMariaDb {
    fn start(server_bin: Option<PathBuf>) -> &'static SharedMariaDb {
        let dir = directory();
        let (server, options) = start_mariadb(&dir, server_bin, &[]);
        Box::leak(Box::new(SharedMariaDb {
            url: server.url(),
            options,
            alone: Mutex::new(()),
            _server: Mutex::new(server),
            _dir: dir,
        }))
    }

    fn is_held(&'static self) -> bool {
        self.try_hold().is_none()
    }

    /// The server, unless a test has it.
    fn try_hold(&'static self) -> Option<HeldMariaDb> {
        let alone = match self.alone.try_lock() {
            Ok(alone) => alone,
            // The test that had it has failed.
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(HeldMariaDb { server: self, _alone: alone })
    }
}

/// A server of these programs that no other test has, as soon as there is one; no programs named:
/// the installed ones.
fn hold_mariadb(server_bin: Option<PathBuf>) -> HeldMariaDb {
    static SHARED: Mutex<BTreeMap<Option<PathBuf>, Vec<&'static SharedMariaDb>>> =
        Mutex::new(BTreeMap::new());
    let began = Instant::now();
    loop {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let servers = shared.entry(server_bin.clone()).or_default();
        if servers.len() < MOST_SHARED && servers.iter().all(|server| server.is_held()) {
            servers.push(SharedMariaDb::start(server_bin.clone()));
        }
        if let Some(held) = servers.iter().find_map(|server| server.try_hold()) {
            return held;
        }
        drop(shared);
        std::thread::sleep(pause_after(began.elapsed()));
    }
}

const DATABASES: &str = "select schema_name from information_schema.schemata where schema_name not \
                         in ('mysql', 'sys', 'performance_schema', 'information_schema') order by \
                         1";
/// Leftovers of an earlier test in a MariaDB: statements that end or remove it.
const LEFT: [&str; 2] = [
    "select concat('kill ', id) from information_schema.processlist where user not in ('system \
     user', 'event_scheduler') and id <> connection_id()",
    "select concat('drop user `', user, '`@`', host, '`') from mysql.global_priv where host = \
     '127.0.0.1'",
];

/// Lease of a test on a server that others share: on PostgreSQL a database of its own, on MariaDB,
/// whose schema is the database, the whole server for a while.
pub struct Lease {
    /// URL of the private server for its superuser.
    pub url: String,
    /// Statement that removes it, and where it is given.
    end: Option<(String, String)>,
    held: Option<HeldMariaDb>,
}

impl Lease {
    /// An empty database for one test; its sessions have these settings.
    pub fn new(engine: &str, server_bin: Option<PathBuf>, settings: &[(&str, &str)]) -> Lease {
        match engine {
            "postgres" => Lease::postgres(Server::shared_of(server_bin), settings),
            _ => Lease::mariadb(server_bin, settings),
        }
    }

    fn postgres(server: &Server, settings: &[(&str, &str)]) -> Lease {
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let name = format!("lease_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut admin = server.admin("postgres");
        admin.execute(&format!("create database {name}")).unwrap();
        for (setting, value) in settings {
            admin.execute(&format!("alter database {name} set {setting} = '{value}'")).unwrap();
        }
        let end = (format!("drop database {name} with (force)"), server.admin_url("postgres"));
        Lease { url: server.admin_url(&name), end: Some(end), held: None }
    }

    fn mariadb(server_bin: Option<PathBuf>, settings: &[(&str, &str)]) -> Lease {
        let held = hold_mariadb(server_bin);
        let url = held.server.url.clone();
        let mut admin = try_session_of("mariadb", &url).unwrap();
        for sql in LEFT.iter().flat_map(|sql| column(admin.as_mut(), sql)).collect::<Vec<_>>() {
            let _ = admin.execute(&sql); // a session may have ended meanwhile
        }
        for database in column(admin.as_mut(), DATABASES) {
            admin.execute(&format!("drop database {database}")).unwrap();
        }
        // As the server was started; another test may have changed them.
        let defaults =
            [("innodb_lock_wait_timeout", "default"), ("innodb_flush_log_at_trx_commit", "0")];
        for (setting, value) in defaults.iter().chain(settings) {
            admin.execute(&format!("set global {setting} = {value}")).unwrap();
        }
        Lease { url, end: None, held: Some(held) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // At the latest it goes with the server.
        if let Some((sql, url)) = &self.end
            && let Some(mut admin) = try_session_of("postgres", url)
        {
            let _ = admin.execute(sql);
        }
    }
}
