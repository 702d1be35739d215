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
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fit;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::{ClusterSpec, How};
use dbdyno_engines::host::Account;

mod binaries;
mod cluster;
mod faults;
mod lifecycle;
mod lock;
mod log_in_tmpfs;
mod mariadb;
mod marker;
mod network_emulation;
mod nodes;
mod packages;
mod partial;
mod pinned;
mod postgres;
mod process;
mod server_dir;
mod template;

pub use binaries::{Binaries, FetchedBinaries, fetch};
pub use cluster::{CLUSTERS, ClusterKind, MAX_NODES, USUAL_NODES, find_cluster};
pub use lock::{FileLock, lock_file};
pub use log_in_tmpfs::memory_place;
pub use network_emulation::NetworkEmulation;

use network_emulation::Network;
use nodes::{known_cluster, remove_nodes, start_cluster};
use process::{Daemon, StopSignals};
use server_dir::{SHARED_USER, ServerDir, State, USER_VARIABLE, account_for_server, check_reach};

/// Every kind of private server.
const KINDS: &[&dyn ServerKind] = &[&postgres::PostgresServer, &mariadb::MariaDbServer];

/// Differences between the servers of the engines.
trait ServerKind: Sync {
    /// Name of the engine in its registry.
    fn engine(&self) -> &'static str;
    /// Names of the programs that work on a data directory, the server first and then what creates
    /// its files, to recognise their processes.
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
    /// Kind and number of nodes of a cluster; none for a single server.
    pub cluster: Option<ClusterSpec>,
    /// Flag of an interrupt: once it is set, the server is no longer waited for, neither at its
    /// first start nor at a later one.
    pub interrupt: Arc<AtomicBool>,
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
    /// Kind of the cluster; none for a single server.
    cluster: Option<&'static ClusterKind>,
    /// Other nodes of a cluster, which its first one holds.
    peers: Vec<PrivateServer>,
    /// The network of the nodes' own that it lives in, and its number there.
    network: Option<(Arc<Network>, usize)>,
    /// It was made to fail.
    failed: Option<How>,
    /// True if remains of a dead run were removed from its place.
    replaces_remains: bool,
    /// Flag of an interrupt; see [`StartOptions`].
    interrupt: Arc<AtomicBool>,
}

/// Starts a private server of `engine`. What a dead run left in the same place is stopped and
/// removed first; a server that was kept is used again, with these settings.
///
/// # Errors
/// No programs found, port or directory in use, directory not usable, the server does not start
/// (with the last lines of its log); interrupted: what was made of it is removed again.
pub fn start(engine: &str, options: &StartOptions) -> Result<PrivateServer> {
    if let Some(spec) = &options.cluster {
        return start_cluster(spec, options);
    }
    let mut server = claim_directories(find_kind(engine)?, engine, "dbdyno", options)?;
    server.launch(options, account_for_server(server.kind.account())?.as_ref())?;
    Ok(server)
}

/// A server of `kind` that has its directories, and nothing in them that it does not want.
fn claim_directories(
    kind: &'static dyn ServerKind,
    home: &str,
    name: &str,
    options: &StartOptions,
) -> Result<PrivateServer> {
    let binaries = kind.find(options.server_bin.as_deref())?;
    // Before anything is made.
    let account = account_for_server(kind.account())?;
    let home = ServerDir::claim(&options.data_dir, home)?;
    let replaces_remains = retire(kind, &home, &options.interrupt)?;
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
        interrupt: Arc::clone(&options.interrupt),
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
    stop_orphans(kind, &home, signals_of_removal(kind, &home), &AtomicBool::new(false))?;
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
fn retire(kind: &dyn ServerKind, home: &ServerDir, interrupt: &AtomicBool) -> Result<bool> {
    stop_orphans(kind, home, kind.signals(), interrupt)?;
    let state = home.state();
    if state == Some(State::Kept) {
        return Ok(false);
    }
    home.empty()?;
    Ok(state.is_some())
}

/// Ends what a dead run left at work in a claimed home: its server, or what was creating the
/// database. After an interrupt what has not ended yet is left to the next start.
fn stop_orphans(
    kind: &dyn ServerKind,
    home: &ServerDir,
    signals: StopSignals,
    interrupt: &AtomicBool,
) -> Result<()> {
    let programs = [kind.programs(), &[process::COPY_PROGRAM]].concat();
    let mut is_left = false;
    process::stop(signals, &AtomicBool::new(false), || {
        let living = process::at_work(&programs, &home.data());
        is_left = interrupt.load(Ordering::SeqCst) && !living.is_empty();
        if is_left { Vec::new() } else { living }
    })?;
    if is_left { Err(process::interrupt_error(home.directory())) } else { Ok(()) }
}

/// Signals for what is at work in a home that will be removed: a server need not write what its
/// files lack. What creates a database is told to end: killed, it leaves shared memory.
fn signals_of_removal(kind: &dyn ServerKind, home: &ServerDir) -> StopSignals {
    let creators = kind.programs().get(1..).unwrap_or_default();
    let is_created = !process::at_work(creators, &home.data()).is_empty();
    if is_created { kind.signals() } else { kind.signals().at_once() }
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

/// Says that something cannot be tried here; where a variable says that it must be, it fails.
#[cfg(test)]
fn skipped(what: &str, variable: &str) {
    use std::io::Write;
    assert!(std::env::var_os(variable).is_none(), "{variable} is set, and {what} was skipped");
    let _ = writeln!(std::io::stderr(), "skipped: {what}"); // nobody may be there to read it
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Stdio;

    use rustix::process::Signal;

    use super::*;

    #[test]
    fn a_server_whose_files_are_removed_writes_nothing_first() {
        let dir = tempfile::tempdir().unwrap();
        let home = ServerDir::claim(dir.path(), "mariadb").unwrap();
        home.mark(State::Kept).unwrap();
        let data = home.data();
        std::fs::create_dir(&data).unwrap();
        // A shell that calls itself so, and waits.
        let mut server = Command::new("sh");
        server.arg0("mariadbd").args(["-c", "read word", "x"]).stdin(Stdio::piped());
        let mut server = server.arg(format!("--datadir={}", data.display())).spawn().unwrap();
        while process::at_work(&["mariadbd"], &data).is_empty() {
            std::thread::yield_now();
        }
        drop(home);
        assert!(remove("mariadb", dir.path()).unwrap().is_some());
        assert_eq!(server.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
        assert!(!data.exists());
    }
}
