//! Engines: the only place that names a database driver.
//!
//! An engine is one file (or folder) plus one line in [`ENGINES`]. It opens a [`Database`], hands
//! out control [`Session`]s, loads rows by its fastest path and runs jobs. What differs between
//! engines is declared in [`Capabilities`] and written in the catalog's `<engine>.sql` files;
//! nothing outside asks for an engine's name.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use secrecy::SecretString;

use dbdyno_core::model::rows::RowFunction;
use dbdyno_core::model::{
    Capabilities, Counters, Drive, Facts, JobCode, Tally, Target, Transport, Wire,
};
use dbdyno_core::stats::LatencyHistogram;
use dbdyno_core::stats::arrivals::DueTimes;

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
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(has_client)]
#[cfg_attr(not(all(feature = "mariadb", feature = "postgres")), allow(dead_code, unused_imports))]
mod remote;
pub mod results_backend;
#[cfg(has_client)]
mod slices;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod stalls;
pub mod threads;

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

/// The organisations of tables that engines have, by engine, their own first.
pub fn orgs() -> BTreeMap<&'static str, &'static [&'static str]> {
    ENGINES.iter().map(|engine| (engine.name(), engine.capabilities().orgs)).collect()
}

pub use cancel::cancellable;
pub use error::{EngineError, ErrorClass};

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
    /// Opens a database that keeps data; nothing is created.
    ///
    /// # Errors
    /// As [`Engine::open`]; if it keeps none.
    fn keeper(
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
    /// Look only (`check`): nothing is created.
    Inspect,
    /// Look at what others do (`monitor`): nothing is created, and no privilege to create is asked
    /// for.
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
    /// As the user named it, for messages; no password.
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
}

impl ConnectTo {
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
    /// From now on nobody waits long for a server that is silent once this flag is set, also while
    /// connecting: it is set by whoever wants the end of all work. The first flag counts.
    fn heed(&self, _interrupt: Arc<AtomicBool>) {}
    /// From now on each job's session reads counters of its own by this query of one row, when the
    /// job begins and when it ends.
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
    /// The number of further statements that may be prepared, in all sessions together, if it is
    /// limited and can be found out; told as the limit of sessions is.
    ///
    /// # Errors
    /// As [`Database::sessions_left`].
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
    /// Table organisations of the engine that this server or user cannot have, with the reasons.
    fn unsupported_orgs(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// Nodes of a cluster that jobs are dealt to in turn, where the user names them; those that can
    /// be written to first.
    fn nodes(&self) -> &[String] {
        &[]
    }
    /// Number of writable nodes among [`Database::nodes`].
    fn writable_nodes(&self) -> usize {
        self.nodes().len()
    }
    /// Before the jobs of a test: the nodes that they are dealt to in turn, `wanted` at most, all
    /// of which have by now what was written last.
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
    /// As [`Database::session`].
    fn polling_session(&self) -> Result<Box<dyn Session>, EngineError> {
        self.session()
    }
    /// As [`Database::job_sessions`], by the name of the node.
    fn node_job_sessions(&self) -> JobSessions {
        [(String::new(), self.job_sessions())].into()
    }
    /// As [`Database::server_pids`], of one node.
    fn node_pids(&self, _node: &str) -> Vec<u32> {
        self.server_pids()
    }
    /// A new control session on the node of this name, which is not asked who it is.
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
    /// From now on jobs by [`Transport::Pooler`] go through the pooler of this URL, with this
    /// password where no other source has it. What it does with sessions is found out by two of
    /// them.
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
    /// this host, or not ours to look at.
    fn memory_bytes(&self) -> Option<u64> {
        memory::bytes_of(&self.server_pids())
    }
    /// Path of the database's files if they are on this host (for disk space, device, file system).
    fn storage_path(&self) -> Option<std::path::PathBuf> {
        None
    }
}

/// The behavior of a pooler towards sessions, as far as it was found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pooler {
    /// Product and version, if it tells them.
    pub name: Option<String>,
    /// It lends sessions of the server to transactions, not to sessions.
    pub lends: bool,
    /// A statement that was prepared once can be run in every later transaction.
    pub keeps_prepared: bool,
    /// A setting of one session was seen by another.
    pub mixes_settings: bool,
    /// A session got an advisory lock that another one held.
    pub mixes_locks: bool,
    /// Its processes, if they are on this host.
    pub pids: Vec<u32>,
}

impl Pooler {
    /// The guarantees of a session that it breaks, in one line; none if it keeps them all.
    pub fn broken(&self) -> Option<String> {
        let broken = [
            (!self.keeps_prepared, "prepared statements"),
            (self.mixes_settings, "settings of a session"),
            (self.mixes_locks, "advisory locks"),
        ];
        let broken: Vec<&str> =
            broken.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, what)| what).collect();
        let how = if self.lends { "to each transaction" } else { "to each session" };
        (!broken.is_empty()).then(|| {
            format!(
                "the pooler lends a session of the server {how}: it does not keep {}",
                broken.join(", ")
            )
        })
    }
}

/// A control session on a node, with the node's name.
pub type NodeSession = (String, Box<dyn Session>);

/// Numbers of the sessions of jobs, by the name of their node; without a name where there is one
/// server, or nobody knows.
pub type JobSessions = std::collections::BTreeMap<String, Vec<u32>>;

/// Placement of the jobs of a test on nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobPlacement {
    /// Names of nodes: job j goes to node j mod n. Empty without a cluster.
    pub nodes: Vec<String>,
    /// Nodes that the user named and that do not answer.
    pub missing: Vec<String>,
}

impl JobPlacement {
    /// The node of a job (from 1).
    pub fn node(&self, job: u32) -> Option<&str> {
        JobPlacement::node_of(&self.nodes, job)
    }
    /// The same of nodes whose deal is not here.
    pub fn node_of(nodes: &[String], job: u32) -> Option<&str> {
        let at = (job.max(1) - 1) as usize;
        nodes.get(at.checked_rem(nodes.len())?).map(String::as_str)
    }
}

/// Sessions that may be opened, or statements that may be prepared, and what limits them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionsLeft {
    /// Beside those that are open, the one that asks not counted.
    pub free: u32,
    /// `max_connections = 100, 3 kept for superusers, 12 in use`.
    pub limit: String,
}

/// A control session: provisioning, checking, probing. Not used inside measured loops.
pub trait Session: Send {
    /// Runs one statement, returns the rows affected.
    ///
    /// # Errors
    /// The engine's error with class and statement.
    fn execute(&mut self, sql: &str) -> Result<u64, EngineError>;
    /// Runs one query with 64-bit integer binds (by position), returns all rows as text.
    ///
    /// # Errors
    /// As `execute`.
    fn query(&mut self, sql: &str, binds: &[i64]) -> Result<Rows, EngineError>;
    /// As [`Session::query`] without binds, for a query that is asked again and again, as probes
    /// ask: where to plan it costs the server more than to answer it, the session keeps it ready.
    ///
    /// # Errors
    /// As `execute`.
    fn query_again(&mut self, sql: &str) -> Result<Rows, EngineError> {
        self.query(sql, &[])
    }
}

/// A small query result as text; NULL is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// Names of the columns, as the server returns them.
    pub columns: Vec<String>,
    /// Rows in the order of the result, each with a value per column.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// The value of column `name` in row `row`.
    pub fn get(&self, row: usize, name: &str) -> Option<&str> {
        let column = self.columns.iter().position(|column| column == name)?;
        self.rows.get(row)?.get(column)?.as_deref()
    }
    /// The columns of the first row that are numbers.
    pub fn counters(&self) -> Counters {
        let row = self.columns.iter().zip(self.rows.first().into_iter().flatten());
        let number = |(name, value): (&String, &Option<String>)| {
            Some((name.clone(), value.as_deref()?.parse().ok()?))
        };
        Counters(row.filter_map(number).collect())
    }
    /// The text of this column, counted from 0, in the first row; empty if it is NULL or if there
    /// is no such row or column.
    pub fn text_at(&self, column: usize) -> &str {
        self.rows.first().and_then(|row| row.get(column)?.as_deref()).unwrap_or_default()
    }
    /// The first value of the first row.
    pub fn scalar(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }
}

/// Column of the answer to a query that gives another one, to be asked instead: its text depends on
/// where the database keeps something, as the schema of an extension.
const QUERY: &str = "query";

/// The rows of a query, or of the query that it gives; no rows if it gives none.
///
/// # Errors
/// Those of either.
pub fn rows_of(session: &mut dyn Session, sql: &str) -> Result<Rows, EngineError> {
    let rows = session.query(sql, &[])?;
    match (&rows.columns[..], rows.scalar()) {
        ([only], Some(given)) if only == QUERY => session.query(given, &[]),
        ([only], None) if only == QUERY => Ok(Rows::default()),
        _ => Ok(rows),
    }
}

/// A stretch of rows to load.
pub struct RowLoad<'a> {
    /// Table name with prefix.
    pub table: &'a str,
    /// Gives row i.
    pub rows: RowFunction,
    /// Ids to load (half open).
    pub ids: Range<u64>,
    /// Statement that runs in the same transaction after the rows: it notes that they are in.
    pub note: Option<&'a str>,
    /// Statement by which the database makes the rows itself, for an engine that loads so
    /// (`Capabilities::loads_in_database`).
    pub in_database: Option<&'a str>,
}

/// Specification of a job.
pub struct JobSpec<'a> {
    /// 1..=jobs.
    pub job: u32,
    /// Number of jobs of the test, on all load generators together.
    pub jobs: u32,
    /// Code that the job loops over.
    pub code: &'a JobCode,
    /// Statements that the job's session runs once, before the gate.
    pub session: &'a [String],
    /// Seed of the run; the job's generator is seeded from it and `job` by `stats::keys`.
    pub seed: u64,
    /// Facts for bind expressions.
    pub facts: &'a Facts,
    /// Row function for bulk loads.
    pub rows: RowFunction,
    /// Transport and protocol of statements on the client drive.
    pub wire: Wire,
    /// The node of a cluster that it runs on: a name of [`Database::nodes`], for a node itself what
    /// that says of itself.
    pub node: Option<&'a str>,
}

/// One stretch of looping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Loop until this many seconds have passed (the op under way finishes first).
    pub seconds: f64,
    /// ... or until this many ops are done.
    pub max_ops: u64,
    /// Time every n-th op; 1 = every op.
    pub stride: u32,
}

/// Report of a slice.
pub struct SliceReport<'a> {
    /// Counts of the slice: ops, rows, commits, errors.
    pub tally: Tally,
    /// Seconds from the slice's first op to the end of its last, by the clock next to the loop.
    pub elapsed_s: f64,
    /// Service times of the timed ops, in ns.
    pub latency: &'a LatencyHistogram,
    /// The longest op as far as it can be known, in ns: where not every op is timed, one that
    /// nobody timed may have held up the others. 0 = the longest of the timed ones.
    pub longest_ns: u64,
    /// Of an open loop.
    pub open: Option<OpenSlice<'a>>,
}

impl<'a> SliceReport<'a> {
    /// The report of a closed loop whose ops are all timed.
    pub fn new(tally: Tally, elapsed_s: f64, latency: &'a LatencyHistogram) -> Self {
        SliceReport { tally, elapsed_s, latency, longest_ns: 0, open: None }
    }
}

/// Report of an open-loop slice in addition to its ops.
#[derive(Clone, Copy)]
pub struct OpenSlice<'a> {
    /// Response times in ns: from when each op was due to its end.
    pub response: &'a LatencyHistogram,
    /// Of a load over time: the same by the phase in which each op was due, as far as there are
    /// any.
    pub by_phase: &'a [LatencyHistogram],
    /// Ops that were due at the slice's end and not started.
    pub behind: f64,
}

/// Times at which the ops of an open loop, or of users who think, are due.
pub struct Timetable {
    /// The gate opened: due times count from here.
    pub opened_at: Instant,
    /// Scheduled starts of the job's ops.
    pub due: DueTimes,
}

/// Reaction to a failed op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterError {
    /// Roll back and go on with the next op.
    GoOn,
    /// End the job with this error.
    Stop,
}

/// The runner's side of a job: gate, slices, tally. The engine pulls.
pub trait Pacer {
    /// Connected and prepared: waits at the gate. False: the test is off, end the job.
    fn ready(&mut self) -> bool;
    /// After the gate: when ops are due, if they do not simply follow one another. For the client
    /// drive.
    fn timetable(&mut self) -> Option<Timetable> {
        None
    }
    /// Next slice; none = stop.
    fn next_slice(&mut self) -> Option<Slice>;
    /// The slice is done.
    fn slice_done(&mut self, report: &SliceReport<'_>);
    /// Ops were done since the last one that failed: those that fail from now on are in a row anew.
    fn went_on(&mut self) {}
    /// An op (or a slice) failed; it is counted by its class.
    fn op_failed(&mut self, error: &EngineError) -> AfterError;
    /// The clock of the database was set by so many seconds at least during the slice that is done
    /// next.
    fn clock_stepped(&mut self, _step_s: f64) {}
    /// Before the gate, of a job whose ops open connections: how they log in, and what encrypts
    /// them.
    fn logged_in(&mut self, _login: Option<String>) {}
    /// At the end: the job session's own counters over the loop (see `Session::counters`).
    fn session_counters(&mut self, counters: Counters);
}

/// A version compared by its numbers: 15.18 > 13.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Version(pub Vec<u32>);

impl Version {
    /// Reads the leading dotted numbers of a text: `15.18 (Debian ...)` is 15.18.
    pub fn parse(text: &str) -> Version {
        let head: String =
            text.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        Version(head.split('.').filter_map(|part| part.parse().ok()).collect())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number_not_by_text() {
        assert!(Version::parse("15.18 (Debian 15.18-0+deb12u1)") > Version::parse("9.6.24"));
        assert_eq!(Version::parse("18beta1"), Version(vec![18]));
    }

    #[test]
    fn the_text_of_a_column_is_that_of_the_first_row_or_empty() {
        let row = vec![Some("a".to_string()), None];
        let rows = Rows { rows: vec![row, vec![Some("b".into()); 3]], ..Rows::default() };
        assert_eq!([rows.text_at(0), rows.text_at(1), rows.text_at(2)], ["a", "", ""]);
        assert_eq!(Rows::default().text_at(0), "");
    }

    #[test]
    fn engine_names_are_unique() {
        let mut names: Vec<_> = ENGINES.iter().map(|engine| engine.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ENGINES.len());
    }

    #[test]
    fn no_target_has_an_organisation_and_says_that_it_lacks_it() {
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
