//! PostgreSQL: our own blocking client on the `postgres-protocol` crate.
//!
//! No async runtime: in a loop of single-row lookups a runtime under a blocking interface costs
//! about 15 % of the throughput against `pgbench`, and then we would measure ourselves. Messages
//! are encoded, parsed and authenticated by the library; framing, buffers and the hot loop are
//! ours.
//!
//! `url` where to connect, `password` the password file, `connect` opens and cancels, `wire` frames
//! messages, `reply` reads their bodies, `session` runs control statements and finds the server's
//! processes, `pooler` finds out what a pooler does, `again` keeps those ready that are asked again
//! and again, `owner` proves whose a schema is, `job` the client drive, `routine` the database
//! drive, `copy` loads, `results_backend` stores results.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use secrecy::SecretString;

use crate::engine::cancel::{RunningHandles, cancel_all};
use crate::engine::cluster::{self, ClusterSpecifics, OpenNode};
use crate::engine::remote::{
    Host, Passwords, PollingSession, ReportedAddresses, Route, Routes, TcpAccount, Watch,
    addresses, directory, no_route, sessions_left,
};
use crate::engine::results_backend::ResultsBackend;
use crate::engine::{
    Access, ConnectTo, DataPlace, Database, Engine, EngineError, ErrorClass, JobSpec, Pacer,
    Pooler, RowLoad, Session, SessionsLeft, Version, client_loop,
};
use dbdyno_core::model::{
    Capabilities, DataFiles, JobCode, Placeholder, Protocol, Target, Transport,
};

mod again;
mod connect;
mod copy;
mod error;
mod job;
mod owner;
mod password;
mod pooler;
mod provision;
mod reply;
mod results_backend;
mod routine;
mod session;
mod url;
mod wire;

use connect::{CancelKey, JOB_SETTINGS, application, connect, not_passed_on};
use job::JobSession;
use results_backend::PgResultsBackend;
use session::PgSession;
use url::{Config, Pooling};

/// Oldest supported major version.
const OLDEST_MAJOR: u32 = 13;

/// Settings of every session that servers from this version on know: they notice within a statement
/// that its client has gone, so that a killed run leaves no backend at work for long, and end no
/// session that waits for the end of a long test.
const NEWER_FROM: u32 = 14;
const NEWER_SETTINGS: [(&str, &str); 2] =
    [("client_connection_check_interval", "1s"), ("idle_session_timeout", "0")];
/// The same of servers that can limit a whole transaction, e.g. one that loads.
const NEWEST_FROM: u32 = 17;
/// Version from which a session can be made to report its counts.
const FORCES_FROM: u32 = 15;
const NEWEST_SETTINGS: [(&str, &str); 3] =
    [NEWER_SETTINGS[0], NEWER_SETTINGS[1], ("transaction_timeout", "0")];

/// Organizations that PostgreSQL has not (manual: "Database Physical Storage", "Index Types").
const LACKING_ORGS: &[(&str, &str)] = &[
    ("iot", "PostgreSQL keeps the rows of every table in a heap, apart from all indexes"),
    ("iot-list", "PostgreSQL keeps the rows of every table in a heap, apart from all indexes"),
    ("hash", "PostgreSQL has no hash clusters: a hash index points into a heap"),
];

/// Length at which a table gets another file, in bytes (manual: "Database File Layout").
const SEGMENT_BYTES: u64 = 1 << 30;

/// Settings of the datasheet.
const KEY_SETTINGS: &[&str] = &[
    "shared_buffers",
    "work_mem",
    "max_wal_size",
    "wal_level",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "jit",
    "huge_pages",
];

/// The PostgreSQL engine.
pub struct Postgres;

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }
    fn title(&self) -> &'static str {
        "PostgreSQL 13 or newer: a private server, or an existing one by URL"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: "PostgreSQL",
            placeholder: Placeholder::Dollar,
            orgs: &["heap", "heap-list", "range-list", "range-hash"],
            unsupported_orgs: LACKING_ORGS,
            parallel_index: true,
            url_schemes: url::SCHEMES,
            passwords: Some(url::SOURCES),
            protocols: &Protocol::CHOICES,
            transports: &Transport::WITH_POOLER,
            block_setting: Some("block_size"),
            key_settings: KEY_SETTINGS,
            data_files: DataFiles::OfTable { most_bytes: SEGMENT_BYTES },
            ..Capabilities::SERVER
        }
    }
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError> {
        let config = Config::parse(target.url()?)?;
        config.timeouts.heed(Arc::clone(&target.interrupt));
        let passwords = Arc::new(Passwords::new(url::SOURCES, target.password.clone()));
        let is_ours = matches!(target.target, Target::Private { .. });
        if !config.is_cluster {
            return open(config, passwords, is_ours, access);
        }
        let member = |host: &Host| {
            let (config, passwords) =
                (Config { hosts: vec![host.clone()], ..config.clone() }, passwords.clone());
            let open: OpenNode<'_> =
                Box::new(move |access| open(config.clone(), passwords.clone(), is_ours, access));
            (host.address(), open)
        };
        let own = ClusterSpecifics { sql: provision::node_sql, unavailable_orgs: &[] };
        let members = config.hosts.iter().map(member).collect();
        cluster::open(members, access, own, &target.interrupt)
    }
    fn place_of(&self, url: &str) -> Option<DataPlace> {
        let config = Config::parse(url).ok()?;
        Some(DataPlace { server: addresses(&config.hosts), part: Some(config.database) })
    }
    fn role_sql(&self, url: &str) -> Result<Option<String>, EngineError> {
        let config = Config::parse(url)?;
        provision::role_sql(&config.user, &config.database).map(Some)
    }
    fn stores_results(&self) -> bool {
        true
    }
    fn results_backend(&self, target: &ConnectTo) -> Result<Box<dyn ResultsBackend>, EngineError> {
        let config = Config::parse(target.url()?)?;
        let passwords = Passwords::new(url::SOURCES, target.password.clone());
        Ok(Box::new(PgResultsBackend::open(config, passwords)?))
    }
}

/// Opens one server.
fn open(
    config: Config,
    passwords: Arc<Passwords>,
    is_ours: bool,
    access: Access,
) -> Result<Box<dyn Database>, EngineError> {
    let connection = connect(&config, &passwords, &[])?;
    let version = Version::parse(&connection.server_version);
    check_version(&version, &connection.server_version)?;
    let (pid, is_local) = (connection.backend_pid, connection.local);
    let host = connection.cancel_key.host.clone();
    let running = RunningHandles::new();
    let mut session = PgSession::new(connection, &running);
    provision::check_state(&mut session, pid, access)?;
    provision::prepare(&mut session, access)?;
    if is_ours && access == Access::Provision {
        provision::drop_tcp_account(&mut session)?;
    }
    let postmaster_pid = pid
        .filter(|_| is_local)
        .and_then(|pid| session::postmaster_of(session.wire.stream(), pid, &config.database));
    let named = provision::sql("directory")?;
    let storage_path = postmaster_pid.and_then(|pid| directory(&mut session, &named, pid));
    let routes = Routes::new(Route { config, passwords }.keep_to(host));
    let jobs = RunningHandles::new();
    Ok(Box::new(PgDatabase {
        routes,
        is_local,
        is_ours,
        version,
        postmaster_pid,
        storage_path,
        running,
        jobs,
        pooled: RunningHandles::new(),
        lent: Mutex::default(),
    }))
}

/// Settings of every session of a server of this version.
fn settings_from(version: &Version) -> &'static [(&'static str, &'static str)] {
    match version {
        version if *version >= Version(vec![NEWEST_FROM]) => &NEWEST_SETTINGS,
        version if *version >= Version(vec![NEWER_FROM]) => &NEWER_SETTINGS,
        _ => &[],
    }
}

fn check_version(version: &Version, text: &str) -> Result<(), EngineError> {
    if *version >= Version(vec![OLDEST_MAJOR]) {
        return Ok(());
    }
    let message = format!("PostgreSQL {text} is too old");
    Err(EngineError::new(ErrorClass::TooOld, message)
        .advised(format!("use PostgreSQL {OLDEST_MAJOR} or newer")))
}

/// A chunk need not wait for the disk: the log keeps the order of commits, so whoever sees that the
/// table is complete knows that all of it is on disk, and a crash loses whole chunks with their
/// notes.
const LOAD_SETTINGS: &[(&str, &str)] = &[("synchronous_commit", "off")];

/// An open PostgreSQL database.
struct PgDatabase {
    routes: Routes<Config>,
    /// It runs on this host.
    is_local: bool,
    /// It is a private server.
    is_ours: bool,
    version: Version,
    /// Process id of the server's parent process, if that is proven to run on this host.
    postmaster_pid: Option<u32>,
    storage_path: Option<PathBuf>,
    running: Arc<RunningHandles<CancelKey>>,
    /// Backends of jobs.
    jobs: Arc<RunningHandles<u32>>,
    /// Jobs that go through a pooler.
    pooled: Arc<RunningHandles<()>>,
    /// Backends that a pooler has lent to whole sessions of jobs: at their end it resets their
    /// names.
    lent: Mutex<BTreeSet<u32>>,
}

impl PgDatabase {
    /// Lets the sessions of the server that a pooler keeps tell what they counted: those that end
    /// do so by themselves, these only now and then. Ours hold one after the other until all are
    /// held.
    fn settle(&self) -> Result<(), EngineError> {
        let route = self.route(Transport::Pooler)?;
        let mut direct = self.open_session(&[])?;
        let lent: Vec<u32> = self.lent().iter().copied().collect();
        let named = direct.query(&provision::named_sql(&application(), &lent)?, &[])?;
        let ours: Vec<String> =
            self.running.all().iter().map(|session| session.pid.to_string()).collect();
        let since = named.get(0, "now").unwrap_or_default();
        let pid = |row: usize| named.get(row, "pid").map(String::from);
        let mut kept: Vec<String> = (0..named.rows.len()).filter_map(pid).collect();
        kept.retain(|session| !ours.contains(session));
        let can_force = self.version >= Version(vec![FORCES_FROM]);
        let tell = if can_force { "tell-counts" } else { "tell-counts-later" };
        let tell = provision::progress_sql(tell, since)?;
        let mut held = Vec::new();
        while !kept.is_empty() {
            let mut session = self.session_on(&route, &[])?;
            session.execute("begin")?;
            let told = session.query(&tell, &[])?;
            held.push(session);
            if told.get(0, "is_new") == Some("t") {
                break; // the pooler has no other that is free
            }
            kept.retain(|session| told.get(0, "pid") != Some(session.as_str()));
        }
        held.iter_mut().try_for_each(|session| session.execute("rollback").map(drop))
    }

    fn run(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        // Dropping a session waits for the backend's end: its statistics are complete when this
        // returns.
        let session = |settings: &[(&str, &str)]| {
            let mut session =
                self.session_on(self.route(job.wire.transport)?.as_ref(), settings)?;
            // A pooler's numbers of sessions are its own.
            if job.wire.transport != Transport::Pooler {
                session.be_of_job(&self.jobs);
            }
            cluster::check_node(&mut session, job.node, &provision::node_sql("node", &[])?)?;
            job.session.iter().try_for_each(|sql| session.execute(sql).map(drop))?;
            Ok::<_, EngineError>(session)
        };
        match job.code {
            JobCode::Routine(routine) => {
                routine::run(&mut session(JOB_SETTINGS)?.wire, routine, job, pacer)
            }
            // Nobody prepares for one execution.
            JobCode::Client { connects: true, .. } => {
                client_loop::drive_connecting(job, pacer, |statements| {
                    JobSession::prepare(session(&[])?, statements, Protocol::Simple)
                })
            }
            JobCode::Client { .. } | JobCode::Bulk { .. } => {
                let wire = job.wire;
                client_loop::drive(job, pacer, |statements| {
                    let mut session = session(JOB_SETTINGS)?;
                    session.wire.wait_as_one_of(job.jobs);
                    if self.route(wire.transport)?.config.pooling == Pooling::Sessions {
                        let settings = [JOB_SETTINGS, self.settings()].concat();
                        session.execute(&provision::set_sql(not_passed_on(&settings))?)?;
                        let backend = session.query(&provision::sql("backend")?, &[])?;
                        self.lent()
                            .extend(backend.scalar().and_then(|pid| pid.parse::<u32>().ok()));
                    }
                    JobSession::prepare(session, statements, wire.protocol)
                })
            }
        }
    }

    fn lent(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.lent.lock()
    }

    fn open_session(&self, settings: &[(&str, &str)]) -> Result<PgSession, EngineError> {
        self.session_on(&self.routes.given, settings)
    }

    /// Settings that every session has.
    fn settings(&self) -> &'static [(&'static str, &'static str)] {
        settings_from(&self.version)
    }

    fn session_on(
        &self,
        route: &Route<Config>,
        settings: &[(&str, &str)],
    ) -> Result<PgSession, EngineError> {
        let settings: Vec<_> = settings.iter().chain(self.settings()).copied().collect();
        let mut connection = connect(&route.config, &route.passwords, &settings)?;
        if let (true, Some(pid)) = (route.config.is_cluster, connection.backend_pid) {
            connection.wire.watch(commits_in_vain(route.clone(), pid));
        }
        Ok(PgSession::new(connection, &self.running))
    }

    fn route(&self, transport: Transport) -> Result<Arc<Route<Config>>, EngineError> {
        if transport == Transport::Pooler && !self.routes.has(transport) {
            return Err(no_route("no pooler is named").advised("name it with --via URL"));
        }
        let try_out = |route: &Route<Config>| self.session_on(route, &[]).map(drop);
        self.routes.by(transport, self.is_ours, &|transport| self.other_route(transport), &try_out)
    }

    /// Finds a route that the URL does not name: the server reports where it listens.
    fn other_route(&self, transport: Transport) -> Result<Route<Config>, EngineError> {
        let mut session = self.open_session(&[])?;
        let reported = session.query(&provision::sql("addresses")?, &[])?;
        let (port, listens_on, directories) =
            (reported.text_at(0), reported.text_at(1), reported.text_at(2));
        let addresses = ReportedAddresses {
            socket: url::socket_in(directories, port).filter(|_| self.is_local),
            port: (!listens_on.is_empty()).then(|| port.to_string()),
        };
        let account = TcpAccount { session: &mut session, statements: &provision::tcp_account_sql };
        let account = self.is_ours.then_some(account);
        self.routes.given.find_reported(transport, addresses, account)
    }
}

/// Watch for a silent session that waits for standbys of which none is left: it would wait forever.
/// The server ends it then, so that it holds up nobody else.
fn commits_in_vain(route: Route<Config>, pid: u32) -> Watch {
    let ended = move || {
        let connection = connect(&route.config, &route.passwords, &[])?;
        let sql = provision::node_sql("end-in-vain", &[("pid", &pid.to_string())])?;
        PgSession::new(connection, &RunningHandles::new()).query(&sql, &[])
    };
    Arc::new(move || match ended() {
        Ok(rows) if rows.scalar() == Some("1") => {
            Err("a commit waited for standbys, of which none is left")
        }
        _ => Ok(()),
    })
}

impl Drop for PgDatabase {
    /// Drops the account that was made for TCP, also if nobody could connect with it.
    fn drop(&mut self) {
        if self.routes.may_have_account() {
            // A server that has ended takes it along.
            let _ = self
                .open_session(&[])
                .and_then(|mut session| provision::drop_tcp_account(&mut session));
        }
    }
}

impl Database for PgDatabase {
    fn version(&self) -> Version {
        self.version.clone()
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(self.open_session(&[])?))
    }
    fn polling_session(&self) -> Result<Box<dyn Session>, EngineError> {
        let (route, running, settings) =
            (Arc::clone(&self.routes.given), Arc::clone(&self.running), self.settings());
        let open = move || {
            Ok(PgSession::new(connect(&route.config, &route.passwords, settings)?, &running))
        };
        Ok(Box::new(PollingSession::new(open)?))
    }
    fn run_job(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        if job.wire.transport != Transport::Pooler {
            return self.run(job, pacer);
        }
        let pooled = self.pooled.enter(());
        let done = self.run(job, pacer);
        drop(pooled);
        if self.pooled.all().is_empty() {
            // What cannot be told is missing in the server's counts, which are compared with ours.
            let _ = self.settle();
        }
        done
    }
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        let mut session = self.open_session(LOAD_SETTINGS)?;
        let Some(note) = load.note else { return copy::load(&mut session.wire, load, progress) };
        session.execute("begin")?;
        copy::load(&mut session.wire, load, progress)?;
        session.execute(&format!("{note}; commit")).map(drop)
    }
    fn cancel(&self) {
        cancel_all(&self.running.all(), &CancelKey::cancel);
    }
    fn job_sessions(&self) -> Vec<u32> {
        self.jobs.all()
    }
    fn sessions_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        sessions_left(&mut self.open_session(&[])?, &provision::sql("sessions")?)
    }
    fn reach(&self, transport: Transport) -> Result<(), EngineError> {
        self.route(transport).map(drop)
    }
    fn go_through(&self, url: &str, password: Option<SecretString>) -> Result<Pooler, EngineError> {
        let config = Config::parse(url)?;
        if config.is_cluster {
            let what = "nodes=all names a cluster, and a pooler is one place";
            return Err(EngineError::new(ErrorClass::Usage, what).advised("leave nodes out"));
        }
        let timeouts = self.routes.given.config.timeouts.clone();
        let config = Config { pooling: Pooling::Transactions, timeouts, ..config };
        let passwords = Arc::new(Passwords::new(url::SOURCES, password));
        let route = Route { config, passwords };
        let [mut one, mut other] = [self.session_on(&route, &[])?, self.session_on(&route, &[])?];
        for session in [&mut one, &mut other] {
            // Where one session is all that it has, the second would wait for minutes.
            session.wire.read_timeout(Some(route.config.timeouts.connect_timeout()));
        }
        let mut found = pooler::explore(&mut self.open_session(&[])?, [&mut one, &mut other])?;
        drop((one, other));
        let console = Config { database: pooler::CONSOLE.into(), ..route.config.clone() };
        let console = Route { config: console, ..route.clone() };
        found.name = self.session_on(&console, &[]).ok().and_then(pooler::product_name);
        let pooling = if found.lends { Pooling::Transactions } else { Pooling::Sessions };
        let config = Config { pooling, ..route.config };
        self.routes.add(Transport::Pooler, Arc::new(Route { config, ..route }));
        self.settle()?;
        Ok(found)
    }
    fn load_method(&self) -> &'static str {
        "copy-binary"
    }
    fn server_pids(&self) -> Vec<u32> {
        self.postmaster_pid.map_or_else(Vec::new, session::family_of)
    }
    fn storage_path(&self) -> Option<PathBuf> {
        self.storage_path.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_version_knows_cuts_a_session_short() {
        let sets = |version: &str, name: &str| {
            settings_from(&Version::parse(version)).iter().any(|(set, _)| *set == name)
        };
        assert!(!sets("13.9", "idle_session_timeout") && sets("14", "idle_session_timeout"));
        assert!(!sets("16.4", "transaction_timeout") && sets("17.0", "transaction_timeout"));
        assert!(sets("18.1", "client_connection_check_interval"));
    }
}
