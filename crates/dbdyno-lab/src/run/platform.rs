//! The platform under test: opens a target (starting a private server if it is one) and closes it
//! again.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Event, HostUrls, Request, Sink, Via};
use crate::fit::{Limits, SessionCaches};
use crate::server::{self, FileLock, NetworkEmulation, PrivateServer, Setup, StartOptions};
use crate::test_runner::Interrupt;
use dbdyno_core::error::{Error, Kind, Result};
use dbdyno_core::model::{How, Plan, Sentence, Target, Transport};
use dbdyno_engines::engine::{self, Access, ConnectTo, Database, Engine, Pooler};
use dbdyno_engines::host;

/// Longest absence of an existing server: service managers restart it within seconds.
const BACK_WITHIN: Duration = Duration::from_secs(10);

/// Fate of a private database at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Remove it, unless it was there before.
    No,
    /// Keep it, so that the next run need not load.
    Yes,
}

/// An open platform.
pub struct Platform {
    /// Open database, shared by the threads of a test.
    pub database: Arc<dyn Database>,
    /// Engine of the database.
    pub engine: &'static dyn Engine,
    to: ConnectTo,
    access: Access,
    server: Option<PrivateServer>,
    file: Option<EmbeddedFile>,
    keep: Keep,
    /// Addresses of node_exporters on the database's hosts.
    pub(super) host_metrics: HostUrls,
    /// Processes of a server that works for us at the same time.
    concurrent_pids: Vec<u32>,
    /// Place of the pooler before the server.
    via: Option<Via>,
    pooler: Option<Pooler>,
    /// Flag of an interrupt; see [`Platform::open`].
    interrupt: Interrupt,
}

impl Platform {
    /// Opens the target of a request, for the jobs of `plan` if it is to run. Once `interrupt` is
    /// set, neither the start of a private server nor a silent server is waited for.
    ///
    /// # Errors
    /// Everything that can be wrong with it: see [`Engine::open`] and [`server::start`]; of kind
    /// `NoPassword` if the user may be asked for one; interrupted.
    pub fn open(
        request: &Request,
        plan: Option<&Plan>,
        access: Access,
        interrupt: &Interrupt,
        events: &Sink<'_>,
    ) -> Result<Platform> {
        let engine = request.engine()?;
        request.check_host_metrics()?;
        request.check_cluster()?;
        let mut to = ConnectTo {
            password: request.password.clone(),
            settings: request.settings(plan),
            interrupt: interrupt.flag(),
            ..ConnectTo::new(request.target.clone())
        };
        let (mut server, mut file) = (None, None);
        match &request.target {
            Target::Existing { url, .. } => to.url = Some(url.clone()),
            Target::Embedded { data_dir, .. } => {
                let embedded = EmbeddedFile::claim(data_dir, engine.name(), access)?;
                embedded.mark(request.keep)?;
                to.file = Some(embedded.path.clone());
                file = Some(embedded);
            }
            Target::Private { .. } => {
                let needs_port = plan.is_some_and(|plan| plan.travels_by(Transport::Tcp));
                let started = start_server(request, &to.settings, needs_port, interrupt, events)?;
                to.url = Some(started.url());
                server = Some(started);
            }
        }
        let opened = engine.open(&to, access).map_err(|error| error.at(request.target.label()));
        let database = match opened.and_then(|database| unless_set(interrupt, database)) {
            Ok(database) => Arc::from(database),
            Err(error) => {
                // What was made for it goes again; the error of the database says more than one of
                // its removal.
                let _ = file.filter(|file| !file.existed).map(EmbeddedFile::remove);
                return Err(error);
            }
        };
        let mut platform = Platform {
            database,
            engine,
            to,
            access,
            server,
            file,
            keep: request.keep,
            host_metrics: request.host_metrics.clone(),
            concurrent_pids: Vec::new(),
            via: request.via.clone(),
            pooler: None,
            interrupt: interrupt.clone(),
        };
        platform.go_through()?;
        Ok(platform)
    }

    /// Starts the private server anew on its files; of any other platform nothing is started anew.
    ///
    /// # Errors
    /// If it does not end or does not start.
    pub fn restart(&mut self, events: &Sink<'_>) -> Result<()> {
        let Some(server) = &mut self.server else { return Ok(()) };
        events(Event::Step("starting the private server anew"));
        server.restart()?;
        self.reopen()
    }

    /// Opens the database again, on the server that answers now.
    ///
    /// # Errors
    /// As [`Platform::open`].
    pub fn reopen(&mut self) -> Result<()> {
        let opened = self.engine.open(&self.to, self.access);
        self.database = Arc::from(opened.map_err(|error| error.at(self.label()))?);
        self.go_through()
    }

    /// Finds the way through the pooler, if one is named.
    fn go_through(&mut self) -> Result<()> {
        let Some(via) = &self.via else { return Ok(()) };
        let found = self.database.go_through(&via.url, via.password.clone());
        let found = found.map_err(|error| error.at(via.place()))?;
        self.concurrent_pids.clone_from(&found.pids);
        self.pooler = Some(found);
        Ok(())
    }

    /// The behavior of the pooler before the server.
    pub fn pooler(&self) -> Option<&Pooler> {
        self.pooler.as_ref()
    }

    /// A new private server in place of the one there is.
    ///
    /// # Errors
    /// The target is not a private server; the old one cannot be removed, the new one does not
    /// start.
    pub fn renew(&mut self, request: &Request, events: &Sink<'_>) -> Result<()> {
        let old = self.server.take();
        old.map_or(Ok(()), PrivateServer::stop_and_remove)?;
        let new = start_server(request, &self.to.settings, false, &self.interrupt, events)?;
        self.to.url = Some(new.url());
        self.server = Some(new);
        self.reopen()
    }

    /// Makes a node of a private cluster fail; returns when. [`Platform::repair`] must follow.
    ///
    /// # Errors
    /// The target is none; see [`PrivateServer::fail`].
    pub fn fail(&mut self, node: &str, how: How) -> Result<Instant> {
        let server = self.server.as_mut();
        server
            .ok_or_else(|| Error::usage(self.to.target.label(), "is not a private cluster"))?
            .fail(node, how)
    }

    /// Ends what [`Platform::fail`] did, so that the cluster can be removed.
    ///
    /// # Errors
    /// See [`PrivateServer::repair`].
    pub fn repair(&mut self) -> Result<()> {
        self.server.as_mut().map_or(Ok(()), PrivateServer::repair)
    }

    /// Starts the private server anew in this setup, whose settings replace those of the same name
    /// that it was opened with.
    ///
    /// # Errors
    /// The target is not a private server; it does not end, or does not start so.
    pub fn restart_with(&mut self, setup: &Setup) -> Result<()> {
        let Some(server) = &mut self.server else {
            return Err(Error::usage(self.to.target.label(), "is not a private server"));
        };
        let mut settings = self.to.settings.clone();
        settings.extend(setup.settings.clone());
        server.restart_with(&Setup { settings, ..setup.clone() })?;
        self.reopen()
    }

    /// The settings that a private server was opened with; none of any other platform.
    pub fn server_settings(&self) -> Option<&BTreeMap<String, String>> {
        self.server.as_ref().filter(|server| !server.is_cluster()).map(|_| &self.to.settings)
    }

    /// Checks that the log of the private server may be in memory for a while: there is room for
    /// this many bytes, and nobody keeps the data.
    ///
    /// # Errors
    /// The reason for which it is not.
    pub fn check_log_in_memory(&self, room_bytes: u64) -> std::result::Result<(), Sentence> {
        if self.lasting() {
            return Err("a database that is kept could lose its log".into());
        }
        server::memory_place(room_bytes).map(|_| ())
    }

    /// Processes of a server that works for us at the same time: what they use is not foreign.
    pub fn concurrent_pids(&self) -> &[u32] {
        &self.concurrent_pids
    }

    /// Notes that the server of `other` works for us at the same time, as long as neither is
    /// started anew.
    pub fn note_concurrent(&mut self, other: &Platform) {
        self.concurrent_pids = other.database.server_pids();
    }

    /// Target as shown to the user.
    pub fn label(&self) -> String {
        self.to.target.label()
    }

    /// Longest absence of the database before it counts as gone: somebody may start an existing
    /// server anew, and nobody does a private one.
    pub fn back_within(&self) -> Duration {
        match self.to.target {
            Target::Existing { .. } => BACK_WITHIN,
            Target::Private { .. } | Target::Embedded { .. } => Duration::ZERO,
        }
    }

    /// Limits of the number of jobs.
    pub fn limits(&self) -> Limits {
        let sessions = self.database.sessions_left().ok().flatten();
        let statements = self.database.statements_left().ok().flatten();
        Limits {
            sessions,
            statements,
            in_process: self.engine.capabilities().in_process,
            threads: host::threads_left(),
            has_private_server: self.server.is_some(),
            session_caches: self.session_caches(),
        }
    }

    fn session_caches(&self) -> Option<SessionCaches> {
        let setting = self.engine.capabilities().session_cache_setting?;
        let cache_mb: f64 = self.to.settings.get(setting)?.parse().ok()?;
        Some(SessionCaches {
            most_bytes: (cache_mb * 1_048_576.0) as u64,
            memory_bytes: host::memory_bytes(),
        })
    }

    /// True if the database is there after we have closed it, or died.
    pub fn lasting(&self) -> bool {
        let was_kept = self.server.as_ref().is_some_and(PrivateServer::was_kept);
        let existed = self.file.as_ref().is_some_and(|file| file.existed);
        let existing = matches!(self.to.target, Target::Existing { .. });
        existing || self.keep == Keep::Yes || was_kept || existed
    }

    /// Network emulation of a private cluster, if there is one.
    pub fn links(&self) -> Option<&NetworkEmulation> {
        self.server.as_ref()?.links()
    }

    /// Path of a private server's log.
    pub fn log_path(&self) -> Option<PathBuf> {
        self.server.as_ref().map(PrivateServer::log_path)
    }

    /// Last messages of a private server that ended on its own.
    pub fn last_words(&mut self) -> Option<String> {
        let server = self.server.as_mut()?;
        if self.database.session().is_ok() { None } else { server.last_words() }
    }

    /// Closes it: stops and removes what was created, or says how to get at what is kept.
    ///
    /// # Errors
    /// If a private server cannot be stopped or its files not be removed; they are named.
    pub fn close(self, events: &Sink<'_>) -> Result<()> {
        drop(self.database);
        if let Some(server) = self.server {
            return close_server(server, self.keep, events);
        }
        match self.file {
            Some(file) => file.release(self.keep, events),
            None => Ok(()),
        }
    }
}

/// The opened database, unless an interrupt came meanwhile: a cluster then lacks the nodes that
/// were behind.
fn unless_set(interrupt: &Interrupt, database: Box<dyn Database>) -> Result<Box<dyn Database>> {
    match interrupt.is_set() {
        true => Err(Error::new(Kind::Interrupted, "connecting", "interrupted")),
        false => Ok(database),
    }
}

fn start_server(
    request: &Request,
    settings: &BTreeMap<String, String>,
    needs_port: bool,
    interrupt: &Interrupt,
    events: &Sink<'_>,
) -> Result<PrivateServer> {
    let Target::Private { engine, data_dir, server_bin, port, cluster } = &request.target else {
        return Err(Error::usage("TARGET", "is not a private server"));
    };
    let what = match cluster {
        Some(cluster) => format!("cluster {} of {} nodes", cluster.name, cluster.nodes),
        None => format!("{engine} server"),
    };
    events(Event::Step(&format!("starting a private {what} in {}", data_dir.display())));
    let options = StartOptions {
        data_dir: data_dir.clone(),
        server_bin: server_bin.clone(),
        port: port.or_else(|| needs_port.then(server::free_port).flatten()),
        settings: settings.clone(),
        cluster: cluster.clone(),
        interrupt: interrupt.flag(),
    };
    let server = server::start(engine, &options)?;
    if request.keep == Keep::Yes {
        server.keep_whatever_happens()?;
    }
    if let Some(directory) = server.replaced_remains() {
        events(Event::Note(&format!(
            "removed the private server that a run which did not end properly left in {}",
            directory.display()
        )));
    }
    events(Event::Note(&format!("the private server, {}, is up", server.product())));
    Ok(server)
}

fn close_server(server: PrivateServer, keep: Keep, events: &Sink<'_>) -> Result<()> {
    match keep {
        Keep::No if !server.was_kept() => {
            events(Event::Step("stopping and removing the private server"));
            server.stop_and_remove()
        }
        Keep::No | Keep::Yes => {
            let hint = server.keep()?;
            events(Event::Note(&format!("the private server is kept: {hint}")));
            Ok(())
        }
    }
}

/// True if the target's database is there already, whatever is in it.
pub fn is_there(target: &Target) -> bool {
    match target {
        Target::Existing { .. } => true,
        Target::Private { data_dir, .. } => server::is_there(target.home(), data_dir),
        Target::Embedded { engine, data_dir } => EmbeddedFile::path(data_dir, engine).exists(),
    }
}

/// The private file of an embedded engine, claimed by a lock so that two runs never share it.
struct EmbeddedFile {
    engine: String,
    path: PathBuf,
    existed: bool,
    /// Holds the lock until it is dropped; none if the file is only looked at.
    lock: Option<Lock>,
}

impl EmbeddedFile {
    fn path(data_dir: &Path, engine: &str) -> PathBuf {
        data_dir.join(format!("dbdyno-{engine}.db"))
    }

    fn claim(data_dir: &Path, engine: &str, access: Access) -> Result<EmbeddedFile> {
        let path = EmbeddedFile::path(data_dir, engine);
        let lock = match access {
            Access::Inspect | Access::Watch | Access::Follow => None,
            Access::Provision => {
                refuse_made_by_others(data_dir, engine)?;
                let lock = Lock::take(data_dir, engine)?;
                // Somebody may have been faster.
                refuse_made_by_others(data_dir, engine)?;
                Some(lock)
            }
        };
        if lock.as_ref().is_some_and(Lock::is_of_dead_run) {
            remove_database(&path, engine)?;
        }
        Ok(EmbeddedFile { engine: engine.into(), existed: path.exists(), path, lock })
    }

    /// Notes whether the file is to go at the end, which a killed run leaves to the next one.
    fn mark(&self, keep: Keep) -> Result<()> {
        let is_passing = keep == Keep::No && !self.existed;
        self.lock.as_ref().map_or(Ok(()), |lock| lock.note(if is_passing { PASSING } else { "" }))
    }

    fn release(self, keep: Keep, events: &Sink<'_>) -> Result<()> {
        if self.path.exists() && (keep == Keep::Yes || self.existed) {
            events(Event::Note(&format!("the database is kept: {}", self.path.display())));
            return Ok(());
        }
        self.remove()
    }

    fn remove(self) -> Result<()> {
        remove_database(&self.path, &self.engine)?;
        self.lock.map_or(Ok(()), Lock::remove)
    }
}

/// A database file and what its engine puts beside it.
fn files_of(path: &Path, engine: &str) -> Vec<PathBuf> {
    let endings = engine::find(engine).map_or(&[][..], |engine| engine.capabilities().file_endings);
    let with_ending = |ending: &&str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    [""].iter().chain(endings).map(with_ending).collect()
}

/// Refuses files that another user has put where those of the database and its lock would be, into
/// a directory open to everybody: we would write to them, or take them for ours.
///
/// # Errors
/// Names the file.
fn refuse_made_by_others(data_dir: &Path, engine: &str) -> Result<()> {
    let files = files_of(&EmbeddedFile::path(data_dir, engine), engine);
    for file in std::iter::once(Lock::path(data_dir, engine)).chain(files) {
        let refused = |what: String| {
            Error::target(file.display().to_string(), what)
                .advise("choose a directory of your own with --data-dir")
        };
        if host::made_by_others(&file).map_err(|error| refused(error.to_string()))? {
            return Err(refused("somebody else made it, in a directory open to everybody".into()));
        }
    }
    Ok(())
}

/// Removes a database file and what its engine put beside it.
///
/// # Errors
/// Names the file that cannot be removed.
fn remove_database(path: &Path, engine: &str) -> Result<()> {
    for file in files_of(path, engine) {
        // An engine may have a directory beside its file, for what it spills.
        let removed = if file.is_dir() {
            std::fs::remove_dir_all(&file)
        } else {
            std::fs::remove_file(&file)
        };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::target(
                    file.display().to_string(),
                    format!("cannot be removed: {error}"),
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The lock of an embedded database's file: held as long as this value lives.
struct Lock {
    path: PathBuf,
    locked: FileLock,
}

/// In the lock's file: the database goes with the run that made it.
const PASSING: &str = "passing";

impl Lock {
    fn path(data_dir: &Path, engine: &str) -> PathBuf {
        data_dir.join(format!("dbdyno-{engine}.lock"))
    }

    fn take(data_dir: &Path, engine: &str) -> Result<Lock> {
        let unusable = |error: std::io::Error| {
            Error::target(
                data_dir.display().to_string(),
                format!("cannot be used as data directory: {error}"),
            )
            .advise("choose a directory you may write to with --data-dir")
        };
        let in_use = || {
            Error::target(data_dir.display().to_string(), "is in use by another dbdyno")
                .advise("wait for it, or choose another --data-dir")
        };
        let path = Lock::path(data_dir, engine);
        let locked =
            server::lock_file(&path, || std::fs::create_dir_all(data_dir)).map_err(unusable)?;
        Ok(Lock { path, locked: locked.ok_or_else(in_use)? })
    }

    /// True if the last owner made the database for itself alone and had no time to remove it.
    fn is_of_dead_run(&self) -> bool {
        // Of the file that is locked: another may stand at its path.
        let mut noted = [0; PASSING.len() + 1];
        let length = self.locked.file().read_at(&mut noted, 0);
        length.is_ok_and(|length| noted[..length] == *PASSING.as_bytes())
    }

    fn note(&self, words: &str) -> Result<()> {
        let file = self.locked.file();
        let noted = file.set_len(0).and_then(|()| file.write_all_at(words.as_bytes(), 0));
        noted.map_err(|error| {
            Error::target(self.path.display().to_string(), format!("cannot be written: {error}"))
        })
    }

    /// Removes the file; it is still locked then, so that nobody else's is removed.
    fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(|error| {
            Error::target(self.path.display().to_string(), format!("cannot be removed: {error}"))
        })
    }
}

/// Removes the private server or embedded database of the target that an earlier run or `load`
/// kept. Returns what was removed.
///
/// # Errors
/// If it is in use, or a file cannot be removed.
pub fn remove_private(target: &Target) -> Result<Option<PathBuf>> {
    match target {
        Target::Private { data_dir, .. } => server::remove(target.home(), data_dir),
        Target::Embedded { engine, data_dir } if data_dir.exists() => {
            let file = EmbeddedFile::claim(data_dir, engine, Access::Provision)?;
            let removed = file.existed.then(|| file.path.clone());
            file.remove()?;
            Ok(removed)
        }
        Target::Embedded { .. } | Target::Existing { .. } => Ok(None),
    }
}
