//! Oracle Database on Oracle's own driver in Rust (`oracledb`, no client library).
//!
//! Written against the documentation and checked without a server: no server can be had where this
//! is built. Until a site's `selftest` confirms it, every verdict says so.
//!
//! `url` where to connect, `connect` logs in, `session` runs control statements, `job` the client
//! drive and the database drive, `load` loads, `provision` what the user may do and the server has.

use std::sync::{Arc, OnceLock};

use crate::engine::cancel::RunningHandles;
use crate::engine::remote::{Passwords, no_route, sessions_left};
use crate::engine::{
    Access, ConnectTo, DataPlace, Database, Engine, EngineError, ErrorClass, JobSpec, Pacer,
    RowLoad, Session, SessionsLeft, Version, client_loop,
};
use dbdyno_core::model::{Capabilities, Drive, JobCode, Placeholder, Transport};

mod connect;
mod error;
mod job;
mod load;
mod provision;
mod session;
mod url;

use connect::connect;
use job::JobSession;
use session::{Handle, OraSession};
use url::Config;

/// Oldest supported major version.
const OLDEST_MAJOR: u32 = 19;

/// Organizations of other engines.
const LACKING_ORGS: &[(&str, &str)] =
    &[("lsm", "Oracle keeps rows in blocks, not in files of sorted entries")];

/// Settings of the datasheet.
const KEY_SETTINGS: &[&str] = &[
    "sga_target",
    "db_cache_size",
    "pga_aggregate_target",
    "commit_wait",
    "commit_logging",
    "db_block_checksum",
];

/// The Oracle engine.
pub struct Oracle;

impl Engine for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }
    fn title(&self) -> &'static str {
        "Oracle Database 19c or newer, by URL: after its documentation, not run on a live server \
         by us"
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            product: "Oracle Database",
            placeholder: Placeholder::Colon,
            prefix: provision::PREFIX,
            orgs: &["heap", "iot", "hash", "heap-list", "iot-list", "range-list"],
            unsupported_orgs: LACKING_ORGS,
            parallel_load: false,
            parallel_index: true,
            loads_in_database: true,
            url_schemes: url::SCHEMES,
            passwords: Some(url::SOURCES),
            private_server: false,
            transports: &[Transport::Tcp, Transport::Tls],
            block_setting: Some("db_block_size"),
            key_settings: KEY_SETTINGS,
            ..Capabilities::SERVER
        }
    }
    fn nodes_of(&self, url: &str) -> u32 {
        let named = Config::parse(url).map_or(0, |config| config.nodes.len());
        u32::try_from(named).unwrap_or(1).max(1)
    }
    fn place_of(&self, url: &str) -> Option<DataPlace> {
        Some(Config::parse(url).ok()?.place())
    }
    fn open(&self, target: &ConnectTo, access: Access) -> Result<Box<dyn Database>, EngineError> {
        let config = Config::parse(target.url()?)?;
        let passwords = Arc::new(Passwords::new(url::SOURCES, target.password.clone()));
        let connection = connect(&config, &passwords, None)?;
        let version = version_of(&connection)?;
        let running = RunningHandles::new();
        let ours = provision::check(&mut OraSession::new(connection, &running)?, access)?;
        let provision::Ours { no_routines, missing_orgs } = ours;
        Ok(Box::new(OraDatabase {
            config,
            passwords,
            version,
            no_routines,
            missing_orgs,
            running,
            jobs: RunningHandles::new(),
            counts: OnceLock::new(),
        }))
    }
}

/// The version, if it is one that we know.
fn version_of(connection: &oracledb::Connection) -> Result<Version, EngineError> {
    let version = connection.version().map_err(|error| error::from_driver(&error, ""))?;
    let version = Version::parse(&version.to_string());
    if version >= Version(vec![OLDEST_MAJOR]) {
        return Ok(version);
    }
    let message = format!("Oracle Database {version} is too old");
    Err(EngineError::new(ErrorClass::TooOld, message)
        .advised(format!("use Oracle Database {OLDEST_MAJOR}c or newer")))
}

/// An open database.
struct OraDatabase {
    config: Config,
    passwords: Arc<Passwords>,
    version: Version,
    /// Reason why stored routines are impossible here, if they are.
    no_routines: Option<String>,
    /// Organizations that this server or user cannot have, with the reasons.
    missing_orgs: &'static [(&'static str, &'static str)],
    /// Our sessions.
    running: Arc<RunningHandles<Handle>>,
    /// Numbers of those of jobs.
    jobs: Arc<RunningHandles<u32>>,
    /// Reads what a job's session has done itself.
    counts: OnceLock<String>,
}

impl OraDatabase {
    fn open_session(&self, node: Option<&str>) -> Result<OraSession, EngineError> {
        OraSession::new(connect(&self.config, &self.passwords, node)?, &self.running)
    }

    fn job_session(&self, job: &JobSpec<'_>) -> Result<OraSession, EngineError> {
        self.reach(job.wire.transport)?;
        let mut session = self.open_session(job.node)?;
        session.be_of_job(&self.jobs, self.counts.get().cloned());
        job.session.iter().try_for_each(|sql| session.execute(sql).map(drop))?;
        Ok(session)
    }
}

impl Database for OraDatabase {
    fn version(&self) -> Version {
        self.version.clone()
    }
    fn session(&self) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(self.open_session(None)?))
    }
    fn run_job(&self, job: &JobSpec<'_>, pacer: &mut dyn Pacer) -> Result<(), EngineError> {
        match job.code {
            JobCode::Routine(routine) => {
                job::run_routine(&self.job_session(job)?, routine, job, pacer)
            }
            JobCode::Client { .. } | JobCode::Bulk { .. } => {
                client_loop::drive(job, pacer, |statements| {
                    JobSession::prepare(self.job_session(job)?, statements)
                })
            }
        }
    }
    fn load_rows(
        &self,
        rows: &RowLoad<'_>,
        progress: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), EngineError> {
        load::load(&self.open_session(None)?.connection, rows, progress)
    }
    /// By a session of its own: the driver cannot break a call. Without the privilege ALTER SYSTEM
    /// nothing is cancelled, and what runs ends by itself.
    fn cancel(&self) {
        let mut handles = Vec::new();
        self.running.each(|handle| handles.push(*handle));
        let Ok(mut session) = self.open_session(None) else { return };
        for Handle { instance, sid, serial } in handles {
            let [instance, sid, serial] =
                [instance.to_string(), sid.to_string(), serial.to_string()];
            let values = [
                ("sid", sid.as_str()),
                ("serial", serial.as_str()),
                ("instance", instance.as_str()),
            ];
            // A session that has ended in the meantime is an error that means nothing.
            let _ = provision::sql("cancel", &values).and_then(|sql| session.execute(&sql));
        }
    }
    fn lacking_drive(&self) -> Option<(Drive, String)> {
        self.no_routines.clone().map(|reason| (Drive::Database, reason))
    }
    fn unavailable_orgs(&self) -> &'static [(&'static str, &'static str)] {
        self.missing_orgs
    }
    fn count_jobs_by(&self, sql: &str) {
        self.counts.get_or_init(|| sql.to_string());
    }
    fn job_sessions(&self) -> Vec<u32> {
        self.jobs.all()
    }
    fn nodes(&self) -> &[String] {
        &self.config.nodes
    }
    /// Unknown to a user that may not see v$resource_limit.
    fn sessions_left(&self) -> Result<Option<SessionsLeft>, EngineError> {
        match sessions_left(&mut self.open_session(None)?, &provision::sql("sessions", &[])?) {
            Err(error) if error.class == ErrorClass::Statement => Ok(None),
            outcome => outcome,
        }
    }
    /// Transport of the URL; a listener has one port for each.
    fn reach(&self, transport: Transport) -> Result<(), EngineError> {
        let given = if self.config.tcps { Transport::Tls } else { Transport::Tcp };
        match transport {
            Transport::Given => Ok(()),
            asked if asked == given => Ok(()),
            _ => Err(no_route("the URL names another protocol (protocol=tcp or protocol=tcps)")),
        }
    }
    fn load_method(&self) -> &'static str {
        "in-database-append"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_our_tables_is_that_of_the_user_however_a_url_spells_it() {
        let place = |url: &str| Oracle.place_of(url).unwrap();
        let own = place("oracle://ann@db/sales");
        assert_eq!(own.to_string(), "db:1521/sales/ann");
        assert_eq!(place("oracle://Ann@DB:1521/Sales?nodes=I2&connect_timeout=9"), own);
        for other in ["oracle://bob@db/sales", "oracle://ann@db:1522/sales", "oracle://ann@db/s"] {
            assert_ne!(place(other), own, "{other}");
        }
        assert_eq!(Oracle.place_of("oracle://ann@db/sales?nodes=no such"), None);
    }

    #[test]
    fn the_nodes_of_a_url_are_counted() {
        for (url, nodes) in [
            ("oracle://ann@scan/sales?nodes=I1,I2,I3,I4", 4),
            ("oracle://ann@db/sales", 1),
            ("oracle://ann@db/sales?nodes=no such", 1),
        ] {
            assert_eq!(Oracle.nodes_of(url), nodes, "{url}");
        }
    }
}
