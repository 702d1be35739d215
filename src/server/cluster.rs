//! Private clusters: several private servers that hold the same data.
//!
//! Each node is a private server with a directory, a lock and a marker of its own, so that what a
//! crash leaves is found node by node. The first is created as any private server; the others start
//! from a copy of its files and follow it.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::home::write_config;
use super::link::{NETWORK, Network};
use super::{Place, free_port, unusable};
use crate::error::{Error, Result};

/// A kind of private cluster: what differs between the clusters of different engines.
pub struct ClusterKind {
    /// As a target is named on the command line.
    pub name: &'static str,
    /// Engine of its nodes, in the registry.
    pub engine: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// Settings of a node beside those of a private server.
    settings: fn(&Node<'_>) -> Result<Settings>,
    /// Files of a node that is there, before it starts.
    prepare: fn(&Node<'_>) -> Result<()>,
    /// Another program to start the server by.
    wrap: fn(Command, &Place) -> Command,
}

type Settings = BTreeMap<String, String>;

/// Every kind of private cluster.
pub const CLUSTERS: &[ClusterKind] = &[
    ClusterKind {
        name: "mariadb-galera",
        engine: "mariadb",
        about: "MariaDB with Galera: every node can be written to",
        settings: galera_settings,
        prepare: galera_files,
        wrap: galera_command,
    },
    ClusterKind {
        name: "postgres-replicas",
        engine: "postgres",
        about: "PostgreSQL: a primary and streaming replicas, which it does not wait for",
        settings: |node| Ok(replica_settings(node, "")),
        prepare: replica_files,
        wrap: |command, _| command,
    },
    ClusterKind {
        name: "postgres-sync-replicas",
        engine: "postgres",
        about: "PostgreSQL: a primary and streaming replicas; a commit waits for one of them",
        settings: |node| Ok(replica_settings(node, "ANY 1 (*)")),
        prepare: replica_files,
        wrap: |command, _| command,
    },
];

/// The kind of this name.
pub fn find_cluster(name: &str) -> Option<&'static ClusterKind> {
    CLUSTERS.iter().find(|kind| kind.name == name)
}

/// Nodes of a private cluster, if none are asked for.
pub const USUAL_NODES: u32 = 3;
/// The most nodes that it may have.
pub const MOST_NODES: u32 = 9;

/// What all nodes know of their cluster.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Name of the cluster that no other has.
    own_name: String,
    /// Ports of the loopback interface for each node, where nodes talk over the network: for
    /// messages, for state.
    ports: Vec<[u16; 2]>,
}

impl Plan {
    /// Of so many nodes.
    ///
    /// # Errors
    /// No ports are left.
    pub(super) fn new(nodes: u32) -> Result<Plan> {
        let none = || Error::target("private cluster", "no TCP port of 127.0.0.1 is free");
        let pair = || Some([free_port()?, free_port()?]);
        let ports = (0..nodes).map(|_| pair().ok_or_else(none)).collect::<Result<_>>()?;
        // Its keys are random.
        let own_name = format!("{:016x}", RandomState::new().build_hasher().finish());
        Ok(Plan { own_name, ports })
    }
}

/// A node that is to be configured.
pub(super) struct Node<'a> {
    plan: &'a Plan,
    /// From 0: the first leads.
    at: usize,
    place: &'a Place,
    first: &'a Place,
}

impl Node<'_> {
    /// Where the others find a node.
    fn address(&self, at: usize) -> Ipv4Addr {
        self.place.address.map_or(Ipv4Addr::LOCALHOST, |_| Network::address(at))
    }
}

impl ClusterKind {
    /// Directory name of a node (from 0), without prefix.
    pub(super) fn home_of(&self, at: usize) -> String {
        format!("{}-{}", self.name, node_name(at))
    }

    /// The settings of a node with those of the cluster, which win.
    pub(super) fn settings(
        &self,
        plan: &Plan,
        at: usize,
        (place, first): (&Place, &Place),
        given: &Settings,
    ) -> Result<Settings> {
        let mut all = given.clone();
        all.extend((self.settings)(&Node { plan, at, place, first })?);
        Ok(all)
    }

    /// Makes the files that a node needs beside the data.
    pub(super) fn prepare(
        &self,
        plan: &Plan,
        at: usize,
        (place, first): (&Place, &Place),
    ) -> Result<()> {
        (self.prepare)(&Node { plan, at, place, first })
    }

    pub(super) fn wrap(&self, command: Command, place: &Place) -> Command {
        (self.wrap)(command, place)
    }
}

/// What a node (from 0) is called.
pub(super) fn node_name(at: usize) -> String {
    format!("n{}", at + 1)
}

/// Command that copies the files of the first node, as the user who owns both.
pub(super) fn copying(first: &Place, place: &Place) -> Command {
    let mut command = Command::new("cp");
    command.arg("-a").arg(first.data.join(".")).arg(&place.data);
    command
}

/// Where distributions put Galera's library.
const GALERA: [&str; 4] = [
    "/usr/lib/galera/libgalera_smm.so",
    "/usr/lib64/galera-4/libgalera_smm.so",
    "/usr/lib64/galera/libgalera_smm.so",
    "/usr/lib/libgalera_smm.so",
];
/// The program that hands over states.
const TRANSFER: &str = include_str!("galera_transfer.sh");
const TRANSFER_METHOD: &str = "dbdyno";
/// Its name, as the server calls it.
pub(super) const TRANSFER_PROGRAM: &str = "wsrep_sst_dbdyno";

fn galera_settings(node: &Node<'_>) -> Result<Settings> {
    let library = GALERA.iter().find(|path| Path::new(path).exists()).ok_or_else(|| {
        Error::target("mariadb-galera", "Galera's library libgalera_smm.so is not installed")
            .advise("install it (Debian, Ubuntu: apt install galera-4; Fedora, RHEL: dnf install galera)")
    })?;
    let [messages, state] = node.plan.ports[node.at];
    let own = node.address(node.at);
    let ports = node.plan.ports.iter().enumerate().take(node.at);
    let members = ports.map(|(at, [port, _])| format!("{}:{port}", node.address(at)));
    let address = format!("gcomm://{}", members.collect::<Vec<_>>().join(","));
    let options = format!(
        "gmcast.listen_addr=tcp://{own}:{messages};ist.recv_addr={own}:{state};ist.recv_bind={own}:{state};gcache.size=128M"
    );
    let all = [
        ("wsrep_on", "on"),
        ("wsrep_provider", library),
        ("wsrep_provider_options", &options),
        ("wsrep_cluster_name", &node.plan.own_name),
        ("wsrep_cluster_address", &address),
        ("wsrep_node_name", &node_name(node.at)),
        ("wsrep_node_address", &own.to_string()),
        ("wsrep_sst_method", TRANSFER_METHOD),
        ("binlog_format", "row"),
        ("innodb_autoinc_lock_mode", "2"),
    ];
    Ok(all.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
}

/// A copy may not begin a cluster of its own, and has the account of ours already.
fn galera_files(node: &Node<'_>) -> Result<()> {
    let programs = programs(node.place);
    let made = fs::create_dir_all(&programs)
        .and_then(|()| fs::set_permissions(&programs, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::write(programs.join(TRANSFER_PROGRAM), TRANSFER))
        .and_then(|()| {
            fs::set_permissions(programs.join(TRANSFER_PROGRAM), fs::Permissions::from_mode(0o755))
        });
    made.map_err(|error| unusable(&programs, &error))?;
    if node.at == 0 {
        return Ok(());
    }
    let state = node.place.data.join("grastate.dat");
    let text = fs::read_to_string(&state).map_err(|error| unusable(&state, &error))?;
    fs::write(&state, text.replace("safe_to_bootstrap: 1", "safe_to_bootstrap: 0"))
        .map_err(|error| unusable(&state, &error))?;
    // Messages that wait there are those of the first node.
    let _ = fs::remove_file(node.place.data.join("galera.cache")); // a first node that had none left none
    let _ = fs::remove_file(node.place.data.join("gvwstate.dat"));
    write_config(&node.place.home.join(super::mariadb::INIT_FILE), "do 0;\n")
}

fn programs(place: &Place) -> PathBuf {
    place.home.join("bin")
}

/// The server looks for the program that hands over states where all programs are.
fn galera_command(command: Command, place: &Place) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut wrapped = Command::new("env");
    wrapped.arg(format!("PATH={}:{path}", programs(place).display()));
    wrapped.arg(command.get_program()).args(command.get_args());
    wrapped
}

/// Log that the primary keeps for replicas that are behind.
const KEPT_LOG: &str = "4GB";

/// Longest silence of a replica on a network of the nodes' own, where the other end may be gone
/// without a word: a primary that stops waits for it.
const SILENCE: &str = "10s";

fn replica_settings(node: &Node<'_>, waited_for: &str) -> Settings {
    let primary = format!(
        "host='{}' port={} user={} application_name={}",
        node.first.address.map_or_else(
            || node.first.socket_dir.display().to_string(),
            |address| address.to_string()
        ),
        node.first.port.unwrap_or(super::postgres::SOCKET_PORT),
        super::postgres::SUPERUSER,
        node_name(node.at)
    );
    let all = [
        ("wal_level", "replica"),
        ("max_wal_senders", "20"),
        ("wal_keep_size", KEPT_LOG),
        // What a replica still reads is not removed under it.
        ("hot_standby_feedback", "on"),
        ("synchronous_standby_names", if node.at == 0 { waited_for } else { "" }),
        ("primary_conninfo", if node.at == 0 { "" } else { &primary }),
    ];
    let (doors, silence) = (doors(node.place).display().to_string(), SILENCE.to_owned());
    let networked = [
        ("hba_file", doors),
        ("wal_sender_timeout", silence.clone()),
        ("wal_receiver_timeout", silence),
    ];
    let networked = networked.into_iter().filter(|_| node.place.address.is_some());
    let all = all.map(|(name, value)| (name, value.to_owned())).into_iter().chain(networked);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Who may come in to a node on a network of the nodes' own: whoever is in that network, which only
/// the nodes are.
fn doors(place: &Place) -> PathBuf {
    place.home.join("doors.conf")
}

fn replica_files(node: &Node<'_>) -> Result<()> {
    if node.place.address.is_some() {
        let ways = ["local all", "local replication", "host all", "host replication"];
        let network = |way: &str| if way.starts_with("host") { NETWORK } else { "" };
        let lines = ways
            .map(|way| format!("{way} {} {} trust\n", super::postgres::SUPERUSER, network(way)));
        write_config(&doors(node.place), &lines.concat())?;
    }
    if node.at == 0 {
        return Ok(());
    }
    write_config(&node.place.data.join("standby.signal"), "")
}

/// Fails if what a cluster needs beside its servers is not there.
///
/// # Errors
/// As said.
pub(super) fn check(kind: &ClusterKind) -> Result<()> {
    let nowhere = PathBuf::new;
    let (home, data, socket_dir, temporary) = (nowhere(), nowhere(), nowhere(), nowhere());
    let place =
        Place { name: node_name(0), home, data, socket_dir, temporary, port: None, address: None };
    kind.settings(&Plan::new(1)?, 0, (&place, &place), &Settings::new()).map(drop)
}
