//! MariaDB and MySQL: our own blocking client on the packets and login methods of the
//! `mysql_common` crate.
//!
//! Packets of the login, errors and descriptions of columns are the library's; framing, buffers and
//! the hot loop are ours (docs/decisions/0010-own-mariadb-client.md).
//!
//! `product` what differs between the two, `url` and `options` where to connect and with what,
//! `connect` opens, `wire` frames packets, `reply` reads results, `session` runs control statements
//! and finds the server's process, `job` the client drive, the procedures of one transaction and
//! the database drive, `load` loads, `provision` our database.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::engine::cancel::RunningHandles;
use crate::engine::cluster::{self, ClusterSpecifics, OpenNode};
use crate::engine::remote::{
    Host, Passwords, PollingSession, ReportedAddresses, Route, Routes, TcpAccount, addresses,
    directory, sessions_left,
};
use crate::engine::{
    Access, ConnectTo, DataPlace, Database, Engine, EngineError, ErrorClass, JobSpec, Pacer,
    RowLoad, Session, SessionsLeft, Version, client_loop,
};
use dbdyno_core::error::quote;
use dbdyno_core::model::{Capabilities, Drive, JobCode, Placeholder, Protocol, Target, Transport};

mod connect;
mod error;
mod job;
mod load;
mod options;
mod product;
mod provision;
mod reply;
mod session;
mod url;
mod wire;

use connect::{connect, set_up};
use job::JobSession;
use options::ClientOptions;
use product::{MARIADB, MYSQL, Product};
use session::MariaSession;
use url::Config;

/// Organizations of other engines.
const LACKING_ORGS: &[(&str, &str)] = &[
    (
        "hash",
        "MariaDB has no hash clusters: none of its storage engines places rows by a hash of their \
         key",
    ),
    ("range-list", "MariaDB's subpartitions are by hash or key only"),
];
/// The organization of MyRocks, a storage engine that a server may or may not have loaded.
const LSM: &str = "lsm";
const NO_ROCKSDB: &str = "the server has no storage engine ROCKSDB; install its library (Debian, \
                          Ubuntu: apt install mariadb-plugin-rocksdb; Fedora, RHEL: dnf install \
                          mariadb-rocksdb-engine), which a private server loads; on a server of \
                          yours also: install soname 'ha_rocksdb'";

/// The MariaDB engine.
pub struct MariaDb;

impl Engine for MariaDb {
    fn name(&self) -> &'static str {
        "mariadb"
    }
    fn title(&self) -> &'static str {
        "MariaDB 10.6 or newer: a private server, or an existing one by URL"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: MARIADB.brand,
            commits_in_routine: false,
            placeholder: Placeholder::Question,
            orgs: &["iot", "iot-list", "range-hash", "heap", "heap-list", LSM],
            unsupported_orgs: LACKING_ORGS,
            url_schemes: &["mariadb"],
            passwords: Some(url::SOURCES),
            protocols: &[Protocol::Prepared, Protocol::Simple],
            block_setting: Some("innodb_page_size"),
            key_settings: &[
                "innodb_buffer_pool_size",
                "innodb_flush_log_at_trx_commit",
                "sync_binlog",
            ],
            ..Capabilities::SERVER
        }
    }
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError> {
        open(&MARIADB, target, access)
    }
    fn place_of(&self, url: &str) -> Option<DataPlace> {
        place_of(&MARIADB, url)
    }
    fn role_sql(&self, url: &str) -> Result<Option<String>, EngineError> {
        let config = Config::parse(url, &MARIADB, &ClientOptions::of_user())?;
        provision::role_sql(&config.user).map(Some)
    }
}

/// Organizations of other engines that MySQL lacks.
const LACKING_IN_MYSQL: &[(&str, &str)] = &[
    ("heap", "of MySQL's storage engines only MyISAM stores heaps, which do not survive a crash"),
    (
        "heap-list",
        "of MySQL's storage engines only MyISAM stores heaps, which do not survive a crash",
    ),
    (
        "hash",
        "MySQL has no hash clusters: none of its storage engines places rows by a hash of their \
         key",
    ),
    ("range-list", "MySQL's subpartitions are by hash or key only"),
];

/// The MySQL engine, on the same client. A commit within a routine is waited for, unlike MariaDB's.
pub struct MySql;

impl Engine for MySql {
    fn name(&self) -> &'static str {
        "mysql"
    }
    fn title(&self) -> &'static str {
        "MySQL 8.0 or newer: an existing server, by URL"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: MYSQL.brand,
            commits_in_routine: true,
            orgs: &["iot", "iot-list", "range-hash"],
            unsupported_orgs: LACKING_IN_MYSQL,
            url_schemes: &["mysql"],
            private_server: false,
            ..MariaDb.capabilities()
        }
    }
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError> {
        open(&MYSQL, target, access)
    }
    fn place_of(&self, url: &str) -> Option<DataPlace> {
        place_of(&MYSQL, url)
    }
    fn role_sql(&self, url: &str) -> Result<Option<String>, EngineError> {
        let config = Config::parse(url, &MYSQL, &ClientOptions::of_user())?;
        provision::role_sql(&config.user).map(Some)
    }
}

/// Organizations that a cluster lacks: Galera hands over what InnoDB changes.
const LACKING_IN_GALERA: &[(&str, &str)] = &[
    ("heap", "Galera replicates InnoDB's tables only, and heaps are Aria's"),
    ("heap-list", "Galera replicates InnoDB's tables only, and heaps are Aria's"),
    (LSM, "Galera replicates InnoDB's tables only, not MyRocks'"),
];

/// The server: our tables are in one database of it, whichever the URL names.
fn place_of(product: &'static Product, url: &str) -> Option<DataPlace> {
    let config = Config::parse(url, product, &ClientOptions::of_user()).ok()?;
    Some(DataPlace { server: addresses(&config.hosts), part: None })
}

/// Opens a server of this product.
fn open(
    product: &'static Product,
    target: &ConnectTo,
    access: Access,
) -> Result<Box<dyn Database>, EngineError> {
    let options = ClientOptions::of_user();
    let config = Config::parse(target.url()?, product, &options)?;
    config.timeouts.heed(Arc::clone(&target.interrupt));
    let passwords = Arc::new(Passwords::new(url::SOURCES, target.password.clone()));
    if config.wants_password {
        passwords.offer(options.password.clone());
    }
    let is_ours = matches!(target.target, Target::Private { .. });
    if !config.is_cluster {
        return open_one(config, options, passwords, is_ours, access);
    }
    if !product.clusters {
        let what = format!("of {} no clusters are known", product.brand);
        return Err(EngineError::new(ErrorClass::Usage, what)
            .advised("leave nodes=all out: the first host that answers"));
    }
    let member = |host: &Host| {
        let config = Config { hosts: vec![host.clone()], ..config.clone() };
        let (options, passwords) = (options.clone(), passwords.clone());
        let open: OpenNode<'_> = Box::new(move |access| {
            open_one(config.clone(), options.clone(), passwords.clone(), is_ours, access)
        });
        (host.address(), open)
    };
    let own = ClusterSpecifics {
        sql: |block, values| MARIADB.sql(block, values),
        unavailable_orgs: LACKING_IN_GALERA,
    };
    let members = config.hosts.iter().map(member).collect();
    cluster::open(members, access, own, &target.interrupt)
}

/// Opens one server.
fn open_one(
    mut config: Config,
    options: ClientOptions,
    passwords: Arc<Passwords>,
    is_ours: bool,
    access: Access,
) -> Result<Box<dyn Database>, EngineError> {
    let product = config.product;
    // Tables are made in a database of ours: whether the user may use that of the URL, or whether
    // there is one, does not matter.
    let unused_database = config.database.take().filter(|name| name != provision::DATABASE);
    let mut connection = connect(&config, &options, &passwords)?;
    let version = product.version(&connection.server_version)?;
    set_up(&mut connection)?;
    let (is_local, running) = (connection.local, RunningHandles::new());
    let host = connection.host.clone();
    let mut session = MariaSession::new(connection, &running);
    let ours = provision::prepare(&mut session, access)?;
    if is_ours && access == Access::Provision {
        provision::drop_tcp_account(&mut session)?;
    }
    if ours.exists {
        config.database = Some(provision::DATABASE.into());
    }
    let pid = if is_local { session::server_process(&mut session) } else { None };
    let named = product.sql("directory", &[])?;
    let storage_path = pid.and_then(|pid| directory(&mut session, &named, pid));
    let has_rocksdb = session.query(&product.sql("rocksdb", &[])?, &[])?.scalar() == Some("1");
    Ok(Box::new(MariaDatabase {
        product,
        routes: Routes::new(Route { config, passwords }.keep_to(host)),
        options,
        is_local,
        is_ours,
        version,
        unused_database,
        no_routines: ours.no_routines,
        has_rocksdb,
        pid,
        storage_path,
        running,
        jobs: RunningHandles::new(),
        counts: OnceLock::new(),
    }))
}

fn session_by(
    route: &Route<Config>,
    options: &ClientOptions,
    running: &Arc<RunningHandles<u32>>,
) -> Result<MariaSession, EngineError> {
    let mut connection = connect(&route.config, options, &route.passwords)?;
    set_up(&mut connection)?;
    Ok(MariaSession::new(connection, running))
}

/// An open server.
struct MariaDatabase {
    product: &'static Product,
    routes: Routes<Config>,
    options: ClientOptions,
    /// It runs on this host.
    is_local: bool,
    /// It is a private server.
    is_ours: bool,
    version: Version,
    /// Reason why stored routines are impossible here, if they are.
    no_routines: Option<String>,
    /// Database of the URL, where it is another one than ours.
    unused_database: Option<String>,
    /// MyRocks is there.
    has_rocksdb: bool,
    /// The server's process, if it is proven to run on this host.
    pid: Option<u32>,
    storage_path: Option<PathBuf>,
    /// Numbers of our sessions.
    running: Arc<RunningHandles<u32>>,
    /// Handles of the sessions of jobs.
    jobs: Arc<RunningHandles<u32>>,
    /// Reads what a job's session has done itself.
    counts: OnceLock<String>,
}

impl MariaDatabase {
    fn open_session(&self) -> Result<MariaSession, EngineError> {
        self.session_on(&self.routes.given)
    }

    fn route(&self, transport: Transport) -> Result<Arc<Route<Config>>, EngineError> {
        let try_out = |route: &Route<Config>| self.session_on(route).map(drop);
        self.routes.by(transport, self.is_ours, &|transport| self.other_route(transport), &try_out)
    }

    /// Finds a route that the URL does not name: the server reports where it listens.
    fn other_route(&self, transport: Transport) -> Result<Route<Config>, EngineError> {
        let mut session = self.open_session()?;
        let reported = session.query(&self.product.sql("addresses", &[])?, &[])?;
        let (port, listens_on_none, socket) =
            (reported.text_at(0), reported.text_at(1), PathBuf::from(reported.text_at(2)));
        let addresses = ReportedAddresses {
            socket: Some(socket).filter(|path| self.is_local && path.exists()),
            port: (listens_on_none == "0").then(|| port.to_string()),
        };
        let statements = |password: &str| provision::tcp_account_sql(self.product, password);
        let account = TcpAccount { session: &mut session, statements: &statements };
        let account = self.is_ours.then_some(account);
        self.routes.given.find_reported(transport, addresses, account)
    }

    fn session_on(&self, route: &Route<Config>) -> Result<MariaSession, EngineError> {
        session_by(route, &self.options, &self.running)
    }

    fn job_session(&self, job: &JobSpec<'_>) -> Result<MariaSession, EngineError> {
        let mut session = self.session_on(self.route(job.wire.transport)?.as_ref())?;
        session.be_of_job(&self.jobs, self.counts.get().cloned());
        session.wire.wait_as_one_of(job.jobs);
        self.prepare_for(job, session)
    }

    /// The connection of one op, without our session settings.
    fn visitor(&self, job: &JobSpec<'_>) -> Result<MariaSession, EngineError> {
        let route = self.route(job.wire.transport)?;
        let connection = connect(&route.config, &self.options, &route.passwords)?;
        let mut session = MariaSession::new(connection, &self.running);
        session.be_of_job(&self.jobs, None);
        self.prepare_for(job, session)
    }

    /// The session, on the node of a job and with what its workload wants of it.
    fn prepare_for(
        &self,
        job: &JobSpec<'_>,
        mut session: MariaSession,
    ) -> Result<MariaSession, EngineError> {
        cluster::check_node(&mut session, job.node, &self.product.sql("node", &[])?)?;
        job.session.iter().try_for_each(|sql| session.execute(sql).map(drop))?;
        Ok(session)
    }
}

impl Drop for MariaDatabase {
    /// Drops the account that was made for TCP, also if nobody could connect with it.
    fn drop(&mut self) {
        if self.routes.may_have_account() {
            // A server that has ended takes it along.
            let _ = self
                .open_session()
                .and_then(|mut session| provision::drop_tcp_account(&mut session));
        }
    }
}

impl Database for MariaDatabase {
    fn version(&self) -> Version {
        self.version.clone()
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(self.open_session()?))
    }
    fn polling_session(&self) -> Result<Box<dyn Session>, EngineError> {
        let (route, options, running) =
            (Arc::clone(&self.routes.given), self.options.clone(), Arc::clone(&self.running));
        let open = move || session_by(&route, &options, &running);
        Ok(Box::new(PollingSession::new(open)?))
    }
    fn run_job(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        // Dropping a session waits for its end: its counts are in the server's when this returns.
        match job.code {
            JobCode::Routine(routine) if !routine.per_op => {
                job::run_routine(&mut self.job_session(job)?, routine, job, pacer)
            }
            // Nobody prepares for one execution, nor sets anything for it.
            JobCode::Client { connects: true, .. } => {
                client_loop::drive_connecting(job, pacer, |statements| {
                    JobSession::prepare(self.visitor(job)?, statements, Protocol::Simple)
                })
            }
            JobCode::Routine(_) | JobCode::Client { .. } | JobCode::Bulk { .. } => {
                let prepare = |statements: &[&_]| {
                    JobSession::prepare(self.job_session(job)?, statements, job.wire.protocol)
                };
                client_loop::drive(job, pacer, prepare)
            }
        }
    }
    fn load_rows(
        &self,
        rows: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        // Without "unique_checks = 0": with it the first insert into an empty table locks the table
        // as a whole, and two sessions that want this at the same moment deadlock.
        load::load(&mut self.open_session()?, rows, progress)
    }
    fn cancel(&self) {
        let mut ids = Vec::new();
        self.running.each(|id| ids.push(*id));
        // On a connection of its own; a session that has ended in the meantime is an error that
        // means nothing.
        if let Ok(mut session) = self.open_session() {
            for id in ids {
                let _ = session.execute(&format!("kill query {id}"));
            }
        }
    }
    fn unused_part_of_url(&self) -> Option<String> {
        let (name, ours) = (quote(self.unused_database.as_ref()?), provision::DATABASE);
        Some(format!("database {name} of the URL is not used: tables are made in database {ours}"))
    }
    fn lacking_drive(&self) -> Option<(Drive, String)> {
        self.no_routines.clone().map(|reason| (Drive::Database, reason))
    }
    fn count_jobs_by(&self, sql: &str) {
        self.counts.get_or_init(|| sql.to_string());
    }
    fn job_sessions(&self) -> Vec<u32> {
        self.jobs.all()
    }
    fn unavailable_orgs(&self) -> &'static [(&'static str, &'static str)] {
        if self.has_rocksdb || self.product != &MARIADB { &[] } else { &[(LSM, NO_ROCKSDB)] }
    }
    fn sessions_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        sessions_left(&mut self.open_session()?, &self.product.sql("sessions", &[])?)
    }
    fn statements_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        sessions_left(&mut self.open_session()?, &self.product.sql("statements", &[])?)
    }
    fn reach(&self, transport: Transport) -> Result<(), EngineError> {
        self.route(transport).map(drop)
    }
    fn load_method(&self) -> &'static str {
        if self.product.bulk { "bulk-insert" } else { "multi-row-insert" }
    }
    fn server_pids(&self) -> Vec<u32> {
        self.pid.into_iter().collect()
    }
    fn storage_path(&self) -> Option<PathBuf> {
        self.storage_path.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_tables_are_in_one_place_of_a_server_whichever_database_a_url_names() {
        let [a, b] =
            ["mariadb://ann@db1/x", "mariadb://ann@DB1:3306/y"].map(|url| place_of(&MARIADB, url));
        assert_eq!(a, b);
        let place = a.unwrap();
        assert_eq!((place.to_string().as_str(), place.part), ("db1:3306", None));
    }
}
