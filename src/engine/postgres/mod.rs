//! PostgreSQL: our own blocking client on the `postgres-protocol` crate.
//!
//! No async runtime: in a loop of single-row lookups a runtime under a blocking interface costs about 15 % of the
//! throughput against `pgbench`, and then we would measure ourselves. Messages are encoded, parsed and
//! authenticated by the library; framing, buffers and the hot loop are ours.
//!
//! `url` where to connect, `password` the password file, `connect` opens and cancels, `wire` frames messages, `reply` reads their
//! bodies, `session` runs control statements and finds the server's processes, `job` the client drive,
//! `routine` the database drive, `copy` loads.

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::cancel::Running;
use crate::engine::remote::{Passwords, directory, sessions_left};
use crate::engine::{
    Access, ConnectTo, Database, Engine, EngineError, ErrorClass, JobOrder, Pacer, RowLoad, Session, SessionsLeft,
    Version, client_loop,
};
use crate::model::{Capabilities, JobCode, Placeholder};

mod connect;
mod copy;
mod error;
mod job;
mod password;
mod provision;
mod reply;
mod routine;
mod session;
mod url;
mod wire;

use connect::{CancelKey, JOB_SETTINGS, connect};
use job::JobSession;
use session::PgSession;
use url::Config;

/// Oldest supported major version.
const OLDEST_MAJOR: u32 = 13;

/// Settings of every session that servers from this version on know: they notice within a statement that its client has
/// gone, so that a killed run leaves no backend at work for long, and end no session that waits for the end of a long test.
const NEWER_FROM: u32 = 14;
const NEWER_SETTINGS: [(&str, &str); 2] = [("client_connection_check_interval", "1s"), ("idle_session_timeout", "0")];

/// Organisations that PostgreSQL has not (manual: "Database Physical Storage", "Index Types").
const LACKING_ORGS: &[(&str, &str)] = &[
    ("iot", "PostgreSQL keeps the rows of every table in a heap, apart from all indexes"),
    ("iot-list", "PostgreSQL keeps the rows of every table in a heap, apart from all indexes"),
    ("hash", "PostgreSQL has no hash clusters: a hash index points into a heap"),
    ("lsm", "PostgreSQL has no log-structured storage, and no distribution packages an extension with one"),
];

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
            lacking_orgs: LACKING_ORGS,
            parallel_index: true,
            url_schemes: url::SCHEMES,
            passwords: Some(url::SOURCES),
            block_setting: Some("block_size"),
            key_settings: KEY_SETTINGS,
            ..Capabilities::SERVER
        }
    }
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError> {
        let config = Config::parse(target.url()?)?;
        let passwords = Passwords::new(url::SOURCES, target.password.clone());
        let connection = connect(&config, &passwords, &[])?;
        let version = Version::parse(&connection.server_version);
        check_version(&version, &connection.server_version)?;
        let (pid, is_local) = (connection.backend_pid, connection.local);
        let running = Running::new();
        let mut session = PgSession::new(connection, &running);
        provision::prepare(&mut session, access)?;
        let postmaster_pid = pid.filter(|_| is_local).and_then(|pid| session::postmaster_of(pid, &config.database));
        let storage_path = if is_local { directory(&mut session, &provision::sql("directory")?) } else { None };
        Ok(Box::new(PgDatabase {
            config,
            passwords,
            version,
            postmaster_pid,
            storage_path,
            running,
            jobs: Running::new(),
        }))
    }
}

fn check_version(version: &Version, text: &str) -> Result<(), EngineError> {
    if *version >= Version(vec![OLDEST_MAJOR]) {
        return Ok(());
    }
    let message = format!("PostgreSQL {text} is too old");
    Err(EngineError::new(ErrorClass::TooOld, message).advised(format!("use PostgreSQL {OLDEST_MAJOR} or newer")))
}

/// A chunk need not wait for the disk: the log keeps the order of commits, so whoever sees that the table is complete
/// knows that all of it is on disk, and a crash loses whole chunks with their notes.
const LOAD_SETTINGS: &[(&str, &str)] = &[("synchronous_commit", "off")];

/// An open PostgreSQL database.
struct PgDatabase {
    config: Config,
    passwords: Passwords,
    version: Version,
    /// Process id of the server's parent process, if it runs on this host.
    postmaster_pid: Option<u32>,
    storage_path: Option<PathBuf>,
    running: Arc<Running<CancelKey>>,
    /// Backends of jobs.
    jobs: Arc<Running<u32>>,
}

impl PgDatabase {
    fn open_session(&self, settings: &[(&str, &str)]) -> Result<PgSession, EngineError> {
        let newer = if self.version >= Version(vec![NEWER_FROM]) { NEWER_SETTINGS.as_slice() } else { &[] };
        let settings: Vec<_> = settings.iter().chain(newer).copied().collect();
        Ok(PgSession::new(connect(&self.config, &self.passwords, &settings)?, &self.running))
    }
}

impl Database for PgDatabase {
    fn version(&self) -> Version {
        self.version.clone()
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(self.open_session(&[])?))
    }
    fn run_job(&self, job: &JobOrder<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        // Dropping a session waits for the backend's end: its statistics are complete when this returns.
        let session = || {
            let mut session = self.open_session(JOB_SETTINGS)?;
            session.be_of_job(&self.jobs);
            job.session.iter().try_for_each(|sql| session.execute(sql).map(drop))?;
            Ok::<_, EngineError>(session)
        };
        match job.code {
            JobCode::Routine(routine) => routine::run(&mut session()?.wire, routine, job, pacer),
            JobCode::Client { .. } | JobCode::Bulk { .. } => {
                client_loop::drive(job, pacer, |statements| JobSession::prepare(session()?, statements))
            }
        }
    }
    fn load_rows(&self, load: &RowLoad<'_>, progress: &mut dyn FnMut(u64) -> bool) -> Result<(), EngineError> {
        let mut session = self.open_session(LOAD_SETTINGS)?;
        let Some(note) = load.note else { return copy::load(&mut session.wire, load, progress) };
        session.execute("begin")?;
        copy::load(&mut session.wire, load, progress)?;
        session.execute(&format!("{note}; commit")).map(drop)
    }
    fn cancel(&self) {
        let mut keys = Vec::new();
        self.running.each(|key| keys.push(key.clone()));
        keys.iter().for_each(CancelKey::cancel);
    }
    fn job_sessions(&self) -> Vec<u32> {
        self.jobs.all()
    }
    fn sessions_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        sessions_left(&mut self.open_session(&[])?, &provision::sql("sessions")?)
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
