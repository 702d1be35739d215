//! Engines: the only place that names a database driver.
//!
//! An engine is one file (or folder) plus one line in [`ENGINES`]. It opens a [`Database`], hands
//! out control [`Session`]s, loads rows by its fastest path and runs jobs. What differs between
//! engines is declared in [`Capabilities`] and written in the catalog's `<engine>.sql` files;
//! nothing outside asks for an engine's name.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use secrecy::SecretString;

use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{Capabilities, Drive, Target, Transport};

mod cancel;
#[cfg(feature = "chdb")]
mod chdb;
pub mod client_loop;
#[cfg(any(feature = "mariadb", feature = "postgres"))]
mod cluster;
#[cfg(feature = "duckdb")]
pub mod duckdb;
#[cfg(any(feature = "chdb", feature = "duckdb", feature = "sqlite"))]
mod embedded;
mod error;
mod job;
pub mod library;
#[cfg(any(feature = "chdb", feature = "duckdb"))]
mod loading;
#[cfg(feature = "mariadb")]
pub mod mariadb;
mod memory;
pub mod null;
#[cfg(any(has_client, feature = "chdb", feature = "duckdb", feature = "sqlite"))]
mod one_line;
#[cfg(feature = "oracle-beta")]
pub mod oracle;
mod placement;
mod pooler_behavior;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(has_client)]
#[cfg_attr(not(all(feature = "mariadb", feature = "postgres")), allow(dead_code, unused_imports))]
mod remote;
pub mod results_backend;
mod session;
#[cfg(has_client)]
mod slices;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod stalls;
pub mod threads;
mod version;

/// Every engine that is compiled in.
pub const ENGINES: &[&dyn Engine] = &[
    #[cfg(feature = "sqlite")]
    &sqlite::Sqlite,
    #[cfg(feature = "duckdb")]
    &duckdb::DuckDb,
    #[cfg(feature = "chdb")]
    &chdb::Chdb,
    #[cfg(feature = "postgres")]
    &postgres::Postgres,
    #[cfg(feature = "mariadb")]
    &mariadb::MariaDb,
    #[cfg(feature = "mariadb")]
    &mariadb::MySql,
    #[cfg(feature = "oracle-beta")]
    &oracle::Oracle,
    &null::Null,
];

/// Engines that this build leaves out: name and scheme of their URLs, which is also the name of the
/// feature in `Cargo.toml`.
pub const LEFT_OUT: &[&str] = &[
    #[cfg(not(feature = "oracle-beta"))]
    "oracle",
];

/// The engine of this registry name.
pub fn find(name: &str) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.name() == name)
}

/// The settings that a datasheet has room for, by engine.
pub fn key_settings() -> BTreeMap<&'static str, &'static [&'static str]> {
    ENGINES.iter().map(|engine| (engine.name(), engine.capabilities().key_settings)).collect()
}

/// Table organizations of every engine, by its name; the one that is its own comes first.
pub fn orgs() -> BTreeMap<&'static str, &'static [&'static str]> {
    ENGINES.iter().map(|engine| (engine.name(), engine.capabilities().orgs)).collect()
}

pub use cancel::cancellable;
pub use error::{EngineError, ErrorClass};
pub use job::{AfterError, JobSpec, OpenSlice, Pacer, Slice, SliceReport, Timetable};
pub use placement::{DataPlace, JobPlacement, JobSessions};
pub use pooler_behavior::Pooler;
pub use session::{NodeSession, Rows, Session, rows_of};
pub use version::Version;

/// A database engine.
pub trait Engine: Sync {
    /// Registry name, as on the command line and in file names of the catalog.
    fn name(&self) -> &'static str;
    /// One line for `list engines`.
    fn title(&self) -> &'static str;
    /// Capabilities of the engine.
    fn capabilities(&self) -> Capabilities;
    /// False for an engine without a database behind it, which serves our own tests.
    fn is_target(&self) -> bool {
        true
    }
    /// Number of cluster nodes in this URL, on which jobs are placed; 1 if it names none, or is
    /// wrong (then `open` says so).
    fn nodes_of(&self, _url: &str) -> u32 {
        1
    }
    /// Place of our tables by this URL, whatever its spelling, user and parameters; none without
    /// URLs, and of a wrong one (then `open` says so).
    fn place_of(&self, _url: &str) -> Option<DataPlace> {
        None
    }
    /// The library that it loads at run time; none if it is compiled in, or a server.
    fn library(&self) -> Option<&'static dyn library::RuntimeLibrary> {
        None
    }
    /// Opens the target. Checks version and privileges, creates our schema if `access` allows it.
    ///
    /// # Errors
    /// One line each for: server down, wrong password, no privilege, version too old, unwritable
    /// directory.
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError>;
    /// A script for an administrator that makes the user of a URL, with the rights that every test
    /// needs and no more; none if the engine has no users.
    ///
    /// # Errors
    /// A wrong URL.
    fn role_sql(&self, _url: &str) -> Result<Option<String>, EngineError> {
        Ok(None)
    }
    /// True if its databases can keep results ([`results_backend`]).
    fn stores_results(&self) -> bool {
        false
    }
    /// Opens a database as a results backend; nothing is created.
    ///
    /// # Errors
    /// Those of [`Engine::open`]; the engine stores no results.
    fn results_backend(
        &self,
        target: &ConnectTo,
    ) -> Result<Box<dyn results_backend::ResultsBackend>, EngineError> {
        Err(EngineError::new(
            ErrorClass::Usage,
            format!("{} keeps no data for others", target.target.label()),
        ))
    }
}

/// Permission to create our own schema when opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only (`check`): nothing is created.
    Inspect,
    /// Read the activity of others (`monitor`): nothing is created, and no privilege to create is
    /// required.
    Watch,
    /// A node of a cluster that has our schema from another one: nothing is created, and it may be
    /// a standby.
    Follow,
    /// Create our schema if it is missing.
    Provision,
}

/// Connection target: a resolved target (a private server has been started and has an address by
/// now).
#[derive(Clone)]
pub struct ConnectTo {
    /// Target in the words of the user, for messages; without a password.
    pub target: Target,
    /// Database file of an embedded engine.
    pub file: Option<std::path::PathBuf>,
    /// URL of a server (existing or private), without password.
    pub url: Option<String>,
    /// The password that the user typed, for a server that wants one which nothing else gives
    /// ([`ErrorClass::NoPassword`]).
    pub password: Option<SecretString>,
    /// Settings of an embedded engine from the size profile, e.g. `cache_mb`.
    pub settings: BTreeMap<String, String>,
    /// Flag of an interrupt: once it is set, all waits for a silent server are short, from the
    /// first connection on, and nodes that are behind are not waited for.
    pub interrupt: Arc<AtomicBool>,
}

impl ConnectTo {
    /// A target that nothing else is known of: without a file, a URL or settings, and with a flag
    /// that nobody sets.
    pub fn new(target: Target) -> ConnectTo {
        ConnectTo {
            target,
            file: None,
            url: None,
            password: None,
            settings: BTreeMap::new(),
            interrupt: Arc::default(),
        }
    }

    /// The URL of a server.
    ///
    /// # Errors
    /// If there is none.
    pub fn url(&self) -> Result<&str, EngineError> {
        self.url.as_deref().ok_or_else(|| EngineError::new(ErrorClass::Other, "no URL is given"))
    }
}

/// An open database: makes sessions and runs jobs, from any thread.
pub trait Database: Send + Sync {
    /// Server version as the engine compares it in `-- from:` rules: 15.18, 3.50.
    fn version(&self) -> Version;
    /// A new control session.
    ///
    /// # Errors
    /// If the server cannot be reached (any more).
    fn session(&self) -> Result<Box<dyn Session>, EngineError>;
    /// Runs one job to its end: connect, prepare, `pacer.ready()`, then slices until `next_slice`
    /// gives none.
    ///
    /// # Errors
    /// The error that ended the job early; failed ops that can be retried are counted through the
    /// pacer instead.
    fn run_job(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError>;
    /// Loads the rows `ids` into `table` by the engine's fastest path, in one stream and one
    /// transaction. `progress` is called with rows sent so far, about every 10,000 rows; when it
    /// returns false, the load stops and rolls back with class `Cancelled`.
    ///
    /// # Errors
    /// Disk full, lost connection; the transaction is rolled back.
    fn load_rows(
        &self,
        load: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError>;
    /// Cancels the statements that run in any session of this database, soon; those sessions get
    /// class `Cancelled` and stay usable. A statement that begins afterwards is not touched. For an
    /// interrupt, not for the end of a window.
    fn cancel(&self) {}
    /// Makes the session of every later job read its own counters by this query of one row, at the
    /// start and at the end of the job.
    fn count_jobs_by(&self, _sql: &str) {}
    /// Numbers of the open sessions of jobs, as the database counts sessions.
    fn job_sessions(&self) -> Vec<u32> {
        Vec::new()
    }
    /// Number of sessions that may still be opened, if there is a limit and it can be found out.
    ///
    /// # Errors
    /// If no session can be opened, or the server does not understand the question.
    fn sessions_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        Ok(None)
    }
    /// Number of further statements that may be prepared, in all sessions together; none if it is
    /// not limited or cannot be found out.
    ///
    /// # Errors
    /// Those of [`Database::sessions_left`].
    fn statements_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        Ok(None)
    }
    /// A part of the URL that is not used, as a sentence.
    fn unused_part_of_url(&self) -> Option<String> {
        None
    }
    /// A drive of the engine that this server or user cannot have, with the reason.
    fn lacking_drive(&self) -> Option<(Drive, String)> {
        None
    }
    /// Table organizations of the engine that this server or user cannot have, with the reasons.
    fn unavailable_orgs(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Names of the nodes of a cluster on which jobs are placed in turn, writable ones first; empty
    /// without a cluster.
    fn nodes(&self) -> &[String] {
        &[]
    }
    /// Number of writable nodes among [`Database::nodes`].
    fn writable_nodes(&self) -> usize {
        self.nodes().len()
    }
    /// Places the jobs of a test on the nodes that answer, on `wanted` of them at most. Waits until
    /// each of these nodes has everything that was written before.
    ///
    /// # Errors
    /// No node that can be written to answers, one does not catch up.
    fn place_jobs(&self, wanted: Option<u32>, _writes: bool) -> Result<JobPlacement, EngineError> {
        let nodes = self.nodes().iter().take(wanted.map_or(usize::MAX, |wanted| wanted as usize));
        Ok(JobPlacement { nodes: nodes.cloned().collect(), missing: Vec::new() })
    }
    /// A control session on each node that answers, by its name; the one session there is without
    /// nodes.
    ///
    /// # Errors
    /// If none can be opened.
    fn node_sessions(&self) -> Result<Vec<NodeSession>, EngineError> {
        Ok(vec![(String::new(), self.polling_session()?)])
    }
    /// Opens a control session for polling. It reconnects if a firewall or proxy dropped it while
    /// it was idle.
    ///
    /// # Errors
    /// Those of [`Database::session`].
    fn polling_session(&self) -> Result<Box<dyn Session>, EngineError> {
        self.session()
    }
    /// Numbers of the open sessions of jobs ([`Database::job_sessions`]), by the name of the node.
    fn node_job_sessions(&self) -> JobSessions {
        [(String::new(), self.job_sessions())].into()
    }
    /// Process ids of one node ([`Database::server_pids`]).
    fn node_pids(&self, _node: &str) -> Vec<u32> {
        self.server_pids()
    }
    /// A new control session on the node of this name. The name is trusted: the node is not asked.
    ///
    /// # Errors
    /// If it cannot be reached; there is no such node.
    fn session_at(&self, node: &str) -> Result<Box<dyn Session>, EngineError> {
        Err(EngineError::new(ErrorClass::Other, format!("there is no node {node}")))
    }
    /// Checks that jobs can connect over `transport`.
    ///
    /// # Errors
    /// The reason for which they cannot.
    fn reach(&self, transport: Transport) -> Result<(), EngineError> {
        match transport {
            Transport::Given | Transport::Process => Ok(()),
            Transport::Socket | Transport::Tcp | Transport::Tls | Transport::Pooler => {
                Err(EngineError::new(
                    ErrorClass::Other,
                    "the database runs in our process: there is no connection",
                ))
            }
        }
    }
    /// Makes later jobs with [`Transport::Pooler`] connect to the pooler of this URL, with this
    /// password unless another source has one. Two sessions find out the behavior of the pooler.
    ///
    /// # Errors
    /// A wrong URL; nobody answers; it leads to another database; no pooler is known.
    fn go_through(
        &self,
        _url: &str,
        _password: Option<SecretString>,
    ) -> Result<Pooler, EngineError> {
        let what = "no pooler before this database is known here";
        Err(EngineError::new(ErrorClass::Usage, what))
    }
    /// Name of the method of `load_rows`, for the result: `copy-binary`, `prepared-insert`.
    fn load_method(&self) -> &'static str;
    /// Process ids whose CPU time belongs to the database on this host, if it is on this host and
    /// can be known.
    fn server_pids(&self) -> Vec<u32> {
        Vec::new()
    }
    /// Memory of the database's processes in bytes, each page counted once; none if they are not on
    /// this host, or this user may not read it.
    fn memory_bytes(&self) -> Option<u64> {
        memory::bytes_of(&self.server_pids())
    }
    /// Path of the database's files if they are on this host (for disk space, device, file system).
    fn storage_path(&self) -> Option<std::path::PathBuf> {
        None
    }
}

/// Sessions that may be opened, or statements that may be prepared, and what limits them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionsLeft {
    /// Number of those that are still free; the session that asks counts as free.
    pub free: u32,
    /// `max_connections = 100, 3 kept for superusers, 12 in use`.
    pub limit: String,
}

/// Rows to load into a table in one stream.
pub struct RowLoad<'a> {
    /// Table name with prefix.
    pub table: &'a str,
    /// Function that gives row i.
    pub rows: RowFunction,
    /// Ids to load (half open).
    pub ids: Range<u64>,
    /// Statement that records the loaded rows; it runs after them, in the same transaction.
    pub note: Option<&'a str>,
    /// Statement by which the database itself generates the rows, for an engine with
    /// `Capabilities::loads_in_database`.
    pub in_database: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_names_are_unique() {
        let mut names: Vec<_> = ENGINES.iter().map(|engine| engine.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ENGINES.len());
    }

    #[test]
    fn no_target_has_an_organization_and_says_that_it_lacks_it() {
        for engine in ENGINES.iter().filter(|engine| engine.is_target()) {
            let can = engine.capabilities();
            for (lacking, reason) in can.unsupported_orgs {
                assert!(
                    !can.orgs.contains(lacking) && !reason.is_empty(),
                    "{} and org={lacking}",
                    engine.name()
                );
            }
            let unheard =
                format!("org=new is not available: {} has no such tables, only ", can.product);
            assert!(
                can.lacks_org("new").is_some_and(|reason| reason.starts_with(&unheard)),
                "{}",
                engine.name()
            );
            assert_eq!(can.lacks_org(can.default_org()), None);
        }
    }
}
