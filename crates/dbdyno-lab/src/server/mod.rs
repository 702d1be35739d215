//! Private servers: create, configure, start, stop and remove a database server of our own under a
//! data directory.
//!
//! Code for every engine is here and in `home` (directory, lock, marker, which user runs it) and
//! `process` (start, stop, orphans); what differs is a [`ServerKind`]. The directory is locked as
//! long as we live, so that after a crash the next start knows an orphan from a server in use.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::fit;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::{ClusterSpec, How, Target};
use dbdyno_engines::engine::{Access, ConnectTo, ErrorClass};
use dbdyno_engines::host::{Account, allow_files};

mod binaries;
mod cluster;
mod faults;
mod lock;
mod log_in_tmpfs;
mod mariadb;
mod marker;
mod network_emulation;
mod nodes;
mod packages;
mod pinned;
mod postgres;
mod process;
mod server_dir;
mod template;

pub use binaries::{Binaries, Fetched, fetch};
pub use cluster::{CLUSTERS, ClusterKind, MAX_NODES, USUAL_NODES, find_cluster};
pub use lock::{FileLock, lock_file};
pub use log_in_tmpfs::memory_place;
pub use network_emulation::NetworkEmulation;

use network_emulation::Network;
use nodes::{known_cluster, remove_nodes, start_cluster};
use process::{Daemon, StopSignals};
use server_dir::{SHARED_USER, ServerDir, State, USER_VARIABLE, account_for_server, check_reach};
use template::Template;

/// Longest wait for a started server to answer: it may have to recover a large log first.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// Pause between two attempts to connect.
const READY_POLL: Duration = Duration::from_millis(20);

/// Every kind of private server.
const KINDS: &[&dyn ServerKind] = &[&postgres::PostgresServer, &mariadb::MariaDbServer];

/// Differences between the servers of the engines.
trait ServerKind: Sync {
    /// Name of the engine in its registry.
    fn engine(&self) -> &'static str;
    /// Names of the programs that work on a data directory, the server and what creates it, to
    /// recognise their processes.
    fn programs(&self) -> &'static [&'static str];
    /// User to run it as if we are root.
    fn account(&self) -> &'static str;
    fn signals(&self) -> StopSignals;
    /// Finds the installed programs.
    fn find(&self, server_bin: Option<&Path>) -> Result<Binaries>;
    /// Package with its public binaries, if there is one.
    fn artifact(&self) -> Option<binaries::Artifact> {
        None
    }
    /// Way for a user to install the server: package names, for the advice of errors.
    fn how_to_install(&self) -> &'static str;
    /// Command that creates an empty database in the home.
    fn create(&self, binaries: &Binaries, place: &Place) -> Command;
    /// True if a server that was killed leaves something that only its next start clears up.
    fn clears_at_start(&self) -> bool {
        false
    }
    /// Settings that say how many sessions there can be, which a run with more jobs raises.
    fn session_settings(&self) -> &'static [&'static str];
    /// Writes the configuration.
    fn configure(&self, place: &Place, settings: &BTreeMap<String, String>) -> Result<()>;
    /// Command that runs the server in the foreground.
    fn run(&self, binaries: &Binaries, place: &Place) -> Command;
    fn url(&self, place: &Place) -> String;
    /// URL of a cluster whose nodes are there.
    fn cluster_url(&self, places: &[&Place]) -> String;
    /// Command line for a user to connect.
    fn connect_hint(&self, binaries: &Binaries, place: &Place) -> String;
    /// Files and directories of its log, within the directory of the database.
    fn log_files(&self) -> &'static [&'static str];
    /// Major version that made the files of an existing database.
    fn created_by(&self, place: &Place) -> Option<String>;
}

/// Place of a private server.
#[derive(Debug, Clone)]
struct Place {
    /// Name of the server.
    name: String,
    /// Our directory; the others are within, unless the path of a socket there would be too long.
    home: PathBuf,
    /// The database's files.
    data: PathBuf,
    /// Directory of its Unix socket.
    socket_dir: PathBuf,
    /// Its temporary files, for a server that wants a directory of its own for them.
    temporary: PathBuf,
    port: Option<u16>,
    /// Address for the other nodes of a cluster, if there is network emulation.
    address: Option<Ipv4Addr>,
    /// The user who runs it and owns its directories, if that is another one than us.
    account: Option<Account>,
}

/// Options for starting a private server.
#[derive(Debug, Clone, Default)]
pub struct StartOptions {
    /// The server gets a directory of its own within.
    pub data_dir: PathBuf,
    /// Directory of the server's programs; none = look where distributions put them.
    pub server_bin: Option<PathBuf>,
    /// TCP port on 127.0.0.1; none = Unix socket only.
    pub port: Option<u16>,
    /// Settings of the size profile.
    pub settings: BTreeMap<String, String>,
    /// Of a cluster: its kind and number of nodes.
    pub cluster: Option<ClusterSpec>,
}

/// Setup for restarting a private server.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// All its settings.
    pub settings: BTreeMap<String, String>,
    /// With its log in memory, which may take so many bytes there; none = where it belongs.
    pub log_in_memory: Option<u64>,
}

/// A running private server; when dropped it is stopped, and removed unless it was kept.
pub struct PrivateServer {
    kind: &'static dyn ServerKind,
    binaries: Binaries,
    place: Place,
    home: ServerDir,
    daemon: Option<Daemon>,
    /// Of a cluster: what it is, and the other nodes of its first one.
    cluster: Option<&'static ClusterKind>,
    peers: Vec<PrivateServer>,
    /// The network of the nodes' own that it lives in, and its number there.
    network: Option<(Arc<Network>, usize)>,
    /// It was made to fail.
    failed: Option<How>,
    /// True if remains of a dead run were removed from its place.
    replaces_remains: bool,
}

/// Starts a private server of `engine`. What a dead run left in the same place is stopped and
/// removed first; a server that was kept is used again, with these settings.
///
/// # Errors
/// No programs found, port or directory in use, directory not usable, the server does not start
/// (with the last lines of its log).
pub fn start(engine: &str, options: &StartOptions) -> Result<PrivateServer> {
    if let Some(spec) = &options.cluster {
        return start_cluster(spec, options);
    }
    let mut server = claimed(find_kind(engine)?, engine, "dbdyno", options)?;
    server.launch(options, account_for_server(server.kind.account())?.as_ref())?;
    Ok(server)
}

/// A server of `kind` that has its directories, and nothing in them that it does not want.
fn claimed(
    kind: &'static dyn ServerKind,
    home: &str,
    name: &str,
    options: &StartOptions,
) -> Result<PrivateServer> {
    let binaries = kind.find(options.server_bin.as_deref())?;
    // Before anything is made.
    let account = account_for_server(kind.account())?;
    let home = ServerDir::claim(&options.data_dir, home)?;
    let replaces_remains = retire(kind, &home)?;
    let place =
        check_port(options.port).and_then(|()| make_place(&home, name, options, account.as_ref()));
    let place = place.inspect_err(|_| home.abandon())?;
    Ok(PrivateServer {
        kind,
        binaries,
        place,
        home,
        daemon: None,
        cluster: None,
        peers: Vec::new(),
        network: None,
        failed: None,
        replaces_remains,
    })
}

/// Removes the private server of `engine`, or the cluster of that name, under `data_dir`, kept or
/// left by a dead run: stops it if it runs and removes its directory. Returns the directory if
/// there was one.
///
/// # Errors
/// A server that is in use by a living run.
pub fn remove(engine: &str, data_dir: &Path) -> Result<Option<PathBuf>> {
    match find_cluster(engine) {
        Some(cluster) => Ok(remove_nodes(cluster, 0, data_dir)?.into_iter().next()),
        None => remove_home(find_kind(engine)?, engine, data_dir),
    }
}

fn remove_home(
    kind: &'static dyn ServerKind,
    name: &str,
    data_dir: &Path,
) -> Result<Option<PathBuf>> {
    if !ServerDir::path(data_dir, name).exists() {
        return Ok(None);
    }
    let home = ServerDir::claim(data_dir, name)?;
    stop_orphans(kind, &home)?;
    home.remove()?;
    Ok(Some(home.directory().to_path_buf()))
}

/// True if there is a private server of `engine`, or a node of the cluster of that name, under
/// `data_dir`, running or not.
pub fn is_there(engine: &str, data_dir: &Path) -> bool {
    match find_cluster(engine) {
        Some(cluster) => (0..MAX_NODES as usize)
            .any(|at| ServerDir::path(data_dir, &cluster.home_of(at)).exists()),
        None => ServerDir::path(data_dir, engine).exists(),
    }
}

/// Checks what [`start`] would need, without creating anything: programs, port, directory. Returns
/// product and version.
///
/// # Errors
/// As [`start`].
pub fn preflight(engine: &str, options: &StartOptions) -> Result<String> {
    let kind = find_kind(engine)?;
    let binaries = kind.find(options.server_bin.as_deref())?;
    check_port(options.port)?;
    let mut product = product(kind, &binaries.version);
    if let Some(account) = account_for_server(kind.account())? {
        check_reach(&account, &ServerDir::path(&options.data_dir, kind.engine()))?;
        if account.name == SHARED_USER {
            let _ = write!(
                product,
                " (run by user {SHARED_USER}, whom services share: {USER_VARIABLE} names another)"
            );
        }
    }
    let Some(spec) = &options.cluster else { return Ok(product) };
    cluster::check(known_cluster(&spec.name)?)?;
    Ok(format!("{} nodes of {product}", spec.nodes))
}

/// The settings of a profile for a private server that takes so many sessions of ours; as they are
/// where there is none.
pub fn with_sessions(
    engine: &str,
    settings: &BTreeMap<String, String>,
    sessions: u32,
) -> BTreeMap<String, String> {
    let raised =
        |kind: &dyn ServerKind| fit::raised_sessions(settings, kind.session_settings(), sessions);
    find_kind(engine).map_or_else(|_| settings.clone(), raised)
}

/// A place that cannot be used.
fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::target(path.display().to_string(), format!("cannot be used ({error})"))
        .advise("choose another place with --data-dir")
}

/// Keeps what may stand in the query part of a URL.
fn percent_encode(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    text.bytes().fold(String::new(), |mut out, byte| {
        if keep(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// A path as the host of a URL.
fn host_of(path: &Path) -> String {
    percent_encode(&path.display().to_string()).replace('/', "%2F")
}

/// A version after the name of the engine's product.
fn product(kind: &dyn ServerKind, version: &str) -> String {
    let product = dbdyno_engines::engine::find(kind.engine())
        .map_or(kind.engine(), |engine| engine.capabilities().product);
    format!("{product} {version}")
}

fn find_kind(engine: &str) -> Result<&'static dyn ServerKind> {
    let found = KINDS.iter().copied().find(|kind| kind.engine() == engine);
    found.ok_or_else(|| {
        Error::usage(engine, "this engine has no private server").advise("give the URL of one")
    })
}

/// Brings a claimed home into a state to start from: no server runs; what is there is either kept
/// or gone. True if a dead run had left something there.
fn retire(kind: &dyn ServerKind, home: &ServerDir) -> Result<bool> {
    stop_orphans(kind, home)?;
    let state = home.state();
    if state == Some(State::Kept) {
        return Ok(false);
    }
    home.empty()?;
    Ok(state.is_some())
}

/// Ends what a dead run left at work in a claimed home: its server, or what was creating the
/// database.
fn stop_orphans(kind: &dyn ServerKind, home: &ServerDir) -> Result<()> {
    process::stop(kind.signals(), || process::at_work(kind.programs(), &home.data()))
}

/// Refuses settings that a server of ours needs as they are.
fn refuse_ours(settings: &BTreeMap<String, String>, ours: &[(&str, String)]) -> Result<()> {
    let is_ours = |name: &&String| {
        ours.iter().any(|(own, _)| *own == name.to_ascii_lowercase().replace('-', "_"))
    };
    settings.keys().find(is_ours).map_or(Ok(()), |name| {
        Err(Error::usage(
            "--set",
            format!("{} of a private server is chosen by dbdyno", quote(name)),
        )
        .advise("leave it out, or give the URL of a server of your own"))
    })
}

/// A TCP port of the loopback interface on which nobody listens now.
pub fn free_port() -> Option<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).ok()?;
    listener.local_addr().ok().map(|address| address.port())
}

/// Fails if something listens on `port` of the loopback interface.
fn check_port(port: Option<u16>) -> Result<()> {
    let Some(port) = port else { return Ok(()) };
    std::net::TcpListener::bind(("127.0.0.1", port)).map(drop).map_err(|error| {
        Error::target(format!("--port {port}"), format!("the port cannot be used ({error})"))
            .advise("choose another port, or leave --port out to use a Unix socket")
    })
}

/// The directories of the server.
fn make_place(
    home: &ServerDir,
    name: &str,
    options: &StartOptions,
    account: Option<&Account>,
) -> Result<Place> {
    let directory = home.directory().to_path_buf();
    account.map_or(Ok(()), |account| check_reach(account, &directory))?;
    let [data, socket_dir, temporary] = home.directories(account)?;
    Ok(Place {
        name: name.into(),
        data,
        home: directory,
        socket_dir,
        temporary,
        port: options.port,
        address: None,
        account: account.cloned(),
    })
}

impl PrivateServer {
    /// The directory from which the remains of a dead run were removed before it was started; none
    /// if there were none.
    pub fn replaced_remains(&self) -> Option<&Path> {
        let mut servers = std::iter::once(self).chain(&self.peers);
        servers.find(|server| server.replaces_remains).map(|server| server.home.directory())
    }

    fn launch(&mut self, options: &StartOptions, account: Option<&Account>) -> Result<()> {
        // A kept database stays marked as kept while it is used again: no failure and no kill may
        // cost it.
        let state = self.home.state().unwrap_or(State::Running);
        self.home.mark(state)?;
        if state == State::Kept {
            self.check_version()?;
        } else {
            self.create()?;
        }
        self.kind.configure(&self.place, &options.settings)?;
        // It inherits our limit of open files, and not every server raises its own.
        allow_files(fit::files_of_server(&options.settings, self.kind.session_settings()));
        self.spawn(account)
    }

    /// Creates the empty database.
    fn create(&self) -> Result<()> {
        let command = self.kind.create(&self.binaries, &self.place);
        match Template::named(&self.binaries, &self.place)? {
            Some(template) => template.create(command, &self.place),
            None => process::run_to_end(command, &self.place.home, self.place.account.as_ref()),
        }
    }

    fn spawn(&mut self, account: Option<&Account>) -> Result<()> {
        let mut command = self.kind.run(&self.binaries, &self.place);
        if let Some(cluster) = self.cluster {
            command = cluster.wrap(command, &self.place);
        }
        let home = &self.place.home;
        let daemon = match &self.network {
            Some((network, at)) => network.within(*at, || Daemon::spawn(command, home, account))?,
            None => Daemon::spawn(command, home, account)?,
        };
        self.daemon = Some(daemon);
        self.await_ready()
    }

    /// Stops the server and starts it again on its files, with its settings.
    ///
    /// # Errors
    /// If it does not end, or does not start.
    pub fn restart(&mut self) -> Result<()> {
        self.stop()?;
        let account = account_for_server(self.kind.account())?;
        self.spawn(account.as_ref())?;
        let mut peers = std::mem::take(&mut self.peers);
        let started = peers.iter_mut().try_for_each(|peer| peer.spawn(account.as_ref()));
        self.peers = peers;
        started.and_then(|()| self.await_members())
    }

    /// As [`PrivateServer::restart`], in this setup from then on.
    ///
    /// # Errors
    /// As there, and what cannot be set or moved.
    pub fn restart_with(&mut self, setup: &Setup) -> Result<()> {
        self.stop()?;
        let account = account_for_server(self.kind.account())?;
        let (home, files) = (&self.home, self.kind.log_files());
        let log = log_in_tmpfs::Log { home, files, account: account.as_ref() };
        log.fetch()?;
        setup.log_in_memory.map_or(Ok(()), |room_bytes| log.put(room_bytes))?;
        self.kind.configure(&self.place, &setup.settings)?;
        self.spawn(account.as_ref())
    }

    fn check_version(&self) -> Result<()> {
        let made_by = self.kind.created_by(&self.place);
        match made_by.filter(|version| *version != self.binaries.major) {
            None => Ok(()),
            Some(version) => Err(Error::target(
                self.place.data.display().to_string(),
                format!(
                    "the kept database is of version {version}, the server is of {}",
                    self.binaries.major
                ),
            )
            .advise(format!(
                "remove it with 'dbdyno clean {}', or choose another --data-dir",
                self.kind.engine()
            ))),
        }
    }

    /// Waits until the server answers, as long as its process lives.
    fn await_ready(&mut self) -> Result<()> {
        let place = self.place.data.display().to_string();
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            match self.try_connect() {
                Ok(()) => return Ok(()),
                Err(error)
                    if error.class == ErrorClass::Unreachable
                        || error.class == ErrorClass::Lost => {}
                Err(error) => return Err(error.at(place)),
            }
            let ended = self.daemon.as_mut().is_none_or(Daemon::has_ended);
            if ended || Instant::now() > deadline {
                let log_end = process::last_log_lines(&self.place.home);
                return Err(Error::target(place, format!("the server did not start: {log_end}")));
            }
            std::thread::sleep(READY_POLL);
        }
    }

    fn try_connect(&self) -> std::result::Result<(), dbdyno_engines::engine::EngineError> {
        self.try_connect_to(self.kind.url(&self.place))
    }

    fn try_connect_to(
        &self,
        url: String,
    ) -> std::result::Result<(), dbdyno_engines::engine::EngineError> {
        let unknown = || {
            dbdyno_engines::engine::EngineError::new(
                ErrorClass::Other,
                "the engine is not compiled in",
            )
        };
        let engine = dbdyno_engines::engine::find(self.kind.engine()).ok_or_else(unknown)?;
        let target = Target::Existing { engine: self.kind.engine().into(), url: url.clone() };
        let access = if self.cluster.is_some() { Access::Follow } else { Access::Inspect };
        let url = Some(url);
        let to = ConnectTo { target, file: None, url, password: None, settings: BTreeMap::new() };
        engine.open(&to, access).map(|_| ())
    }

    /// URL of the server; no password is needed on this host for the user that started it.
    pub fn url(&self) -> String {
        if self.peers.is_empty() {
            return self.kind.url(&self.place);
        }
        let places: Vec<&Place> =
            std::iter::once(self).chain(&self.peers).map(|node| &node.place).collect();
        self.kind.cluster_url(&places)
    }
    /// A command line by which a user can connect.
    pub fn connect_hint(&self) -> String {
        self.kind.connect_hint(&self.binaries, &self.place)
    }
    /// Version of the server's programs.
    pub fn version(&self) -> &str {
        &self.binaries.version
    }
    /// Product and version of the server's programs.
    pub fn product(&self) -> String {
        product(self.kind, &self.binaries.version)
    }
    /// Path of a program beside the server's, whether it is installed or not.
    pub fn program(&self, name: &str) -> PathBuf {
        self.binaries.program(name)
    }
    /// Directory of the database's files.
    pub fn storage_path(&self) -> &Path {
        &self.place.data
    }
    /// Path of the server's log.
    pub fn log_path(&self) -> PathBuf {
        process::log_path(&self.place.home)
    }
    /// True if it is the first node of several.
    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }
    /// Process ids of all nodes, the first one's first; of a single server its own.
    pub fn pids(&self) -> Vec<u32> {
        let own = self.pid().into_iter();
        own.chain(self.peers.iter().filter_map(PrivateServer::pid)).collect()
    }
    /// Process id of the server, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::pid)
    }

    /// Exit status and last messages of a server that ended on its own; waits a moment for its end.
    pub fn last_words(&mut self) -> Option<String> {
        if let Some(words) = self.peers.iter_mut().find_map(PrivateServer::last_words) {
            return Some(words);
        }
        let end = self.daemon.as_mut()?.end()?;
        let log_end = process::last_log_lines(&self.place.home);
        Some(format!("the server's process has ended ({end}), its log ends with: {log_end}"))
    }

    /// Marks the server as kept while it is still in use, so that not even our death by a signal
    /// costs the database.
    ///
    /// # Errors
    /// If that cannot be noted in the directory.
    pub fn keep_whatever_happens(&self) -> Result<()> {
        self.home.mark(State::Kept)
    }

    /// True if an earlier run kept it, or [`PrivateServer::keep_whatever_happens`] was asked for.
    pub fn was_kept(&self) -> bool {
        self.home.state() == Some(State::Kept)
    }

    /// Stops the server and removes its directory.
    ///
    /// # Errors
    /// If it does not end, or files cannot be removed.
    pub fn stop_and_remove(mut self) -> Result<()> {
        std::mem::take(&mut self.peers).into_iter().try_for_each(PrivateServer::stop_and_remove)?;
        self.end()?;
        self.home.remove()
    }

    /// Leaves the server running after our end; returns how to connect.
    ///
    /// # Errors
    /// If that cannot be noted in the directory; the server is removed then.
    pub fn keep(mut self) -> Result<String> {
        self.home.mark(State::Kept)?;
        if let Some(daemon) = self.daemon.take() {
            daemon.release();
        }
        self.home.release();
        Ok(self.connect_hint())
    }

    /// Stops the server, which writes first what its files lack.
    fn stop(&mut self) -> Result<()> {
        self.stop_by(self.kind.signals())
    }

    /// Ends the server whose files will be removed: it need not write what they lack.
    fn end(&mut self) -> Result<()> {
        self.stop_by(self.kind.signals().at_once())
    }

    fn stop_by(&mut self, signals: StopSignals) -> Result<()> {
        // A node that is cut off would wait for the others.
        self.network.iter().for_each(|(network, _)| network.mend());
        if self.failed == Some(How::Freeze) {
            self.pid().into_iter().for_each(faults::wake);
        }
        self.peers.iter_mut().try_for_each(|peer| peer.stop_by(signals))?;
        self.daemon.take().map_or(Ok(()), |daemon| daemon.stop(signals))
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // On the way out after an error or a panic: the next start finishes what fails here.
        let stopped = if self.was_kept() { self.stop() } else { self.end() };
        if stopped.is_ok() {
            self.home.abandon();
        }
    }
}

/// Says that something cannot be tried here; where a variable says that it must be, it fails.
#[cfg(test)]
fn skipped(what: &str, variable: &str) {
    use std::io::Write;
    assert!(std::env::var_os(variable).is_none(), "{variable} is set, and {what} was skipped");
    let _ = writeln!(std::io::stderr(), "skipped: {what}"); // nobody may be there to read it
}
