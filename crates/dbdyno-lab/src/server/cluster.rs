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

use super::network_emulation::{NETWORK, Network};
use super::process::run_to_end;
use super::server_dir::write_config;
use super::{Place, free_port, unusable};
use dbdyno_core::error::{Error, Result};

/// A kind of private cluster: what differs between the clusters of different engines.
pub struct ClusterKind {
    /// Name on the command line.
    pub name: &'static str,
    /// Engine of its nodes, in the registry.
    pub engine: &'static str,
    /// One line for help.
    pub about: &'static str,
    /// Settings of a node beside those of a private server.
    settings: fn(&Node<'_>) -> Result<Settings>,
    /// Files of a node that is there, before it starts.
    prepare: fn(&Node<'_>) -> Result<()>,
    /// Files of the first node, before the whole cluster is started again.
    prepare_restart: fn(&Place) -> Result<()>,
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
        prepare_restart: galera_bootstrap_files,
        wrap: galera_command,
    },
    ClusterKind {
        name: "postgres-replicas",
        engine: "postgres",
        about: "PostgreSQL: a primary and streaming replicas, which it does not wait for",
        settings: |node| Ok(replica_settings(node, "")),
        prepare: replica_files,
        prepare_restart: |_| Ok(()),
        wrap: |command, _| command,
    },
    ClusterKind {
        name: "postgres-sync-replicas",
        engine: "postgres",
        about: "PostgreSQL: a primary and streaming replicas; a commit waits for one of them",
        settings: |node| Ok(replica_settings(node, "ANY 1 (*)")),
        prepare: replica_files,
        prepare_restart: |_| Ok(()),
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
pub const MAX_NODES: u32 = 9;

/// Plan of a cluster that all its nodes share.
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
    pub plan: &'a Plan,
    /// From 0: the first leads.
    pub at: usize,
    pub place: &'a Place,
    pub first: &'a Place,
}

impl Node<'_> {
    /// Address of a node for the others.
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
    pub(super) fn settings(&self, node: &Node<'_>, given: &Settings) -> Result<Settings> {
        let mut all = given.clone();
        all.extend((self.settings)(node)?);
        Ok(all)
    }

    /// Changes the files of the first node so that it starts without the others: all have been
    /// stopped, it after them.
    pub(super) fn prepare_restart(&self, first: &Place) -> Result<()> {
        (self.prepare_restart)(first)
    }

    /// Makes the files that a node needs beside the data.
    pub(super) fn prepare(&self, node: &Node<'_>) -> Result<()> {
        (self.prepare)(node)
    }

    pub(super) fn wrap(&self, command: Command, place: &Place) -> Command {
        (self.wrap)(command, place)
    }
}

/// Name of a node (from 0).
pub(super) fn node_name(at: usize) -> String {
    format!("n{}", at + 1)
}

/// Paths of Galera's library in distributions.
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
            .advise(
                "install it (Debian, Ubuntu: apt install galera-4; Fedora, RHEL: dnf install \
                     galera)",
            )
    })?;
    let [messages, state] = node.plan.ports[node.at];
    let own = node.address(node.at);
    let ports = node.plan.ports.iter().enumerate().take(node.at);
    let members = ports.map(|(at, [port, _])| format!("{}:{port}", node.address(at)));
    let address = format!("gcomm://{}", members.collect::<Vec<_>>().join(","));
    let options = format!(
        "gmcast.listen_addr=tcp://{own}:{messages};ist.recv_addr={own}:{state};\
         ist.recv_bind={own}:{state};gcache.size=128M"
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
    as_server(node.place, FOLLOWS)?;
    let init = node.place.home.join(super::mariadb::INIT_FILE);
    write_config(&init, "do 0;\n", node.place.account.as_ref())
}

/// Makes a copy of the first node one that follows. Messages that wait in its cache are those of
/// the first node.
const FOLLOWS: &str = "sed 's/safe_to_bootstrap: 1/safe_to_bootstrap: 0/' grastate.dat \
                       >grastate.new && mv -f grastate.new grastate.dat && rm -f galera.cache \
                       gvwstate.dat";

/// Lets the first node begin the cluster again. Galera allows that to a node that has seen all
/// others leave, which it may not have when it is stopped right after them; the view of the members
/// that a killed node leaves would make it wait for them.
const BEGINS_AGAIN: &str = "sed 's/safe_to_bootstrap: 0/safe_to_bootstrap: 1/' grastate.dat \
                            >grastate.new && mv -f grastate.new grastate.dat && rm -f gvwstate.dat";

fn galera_bootstrap_files(first: &Place) -> Result<()> {
    as_server(first, BEGINS_AGAIN)
}

/// Runs a script in the directory of a node's data, as the user who owns it: what that user has put
/// there may be a link to what only we may read or write.
fn as_server(place: &Place, script: &str) -> Result<()> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("cd \"$1\" && {script}"), "sh"]).arg(&place.data);
    run_to_end(shell, &place.home, place.account.as_ref())
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

/// File of access rules for a node in an emulated network: every member of that network may
/// connect, and only nodes are in it.
fn doors(place: &Place) -> PathBuf {
    place.home.join("doors.conf")
}

fn replica_files(node: &Node<'_>) -> Result<()> {
    if node.place.address.is_some() {
        let ways = ["local all", "local replication", "host all", "host replication"];
        let network = |way: &str| if way.starts_with("host") { NETWORK } else { "" };
        let lines = ways
            .map(|way| format!("{way} {} {} trust\n", super::postgres::SUPERUSER, network(way)));
        write_config(&doors(node.place), &lines.concat(), node.place.account.as_ref())?;
    }
    if node.at == 0 {
        return Ok(());
    }
    as_server(node.place, "touch standby.signal")
}

/// Fails if what a cluster needs beside its servers is not there.
///
/// # Errors
/// As said.
pub(super) fn check(kind: &ClusterKind) -> Result<()> {
    let nowhere = PathBuf::new;
    let (home, data, socket_dir, temporary) = (nowhere(), nowhere(), nowhere(), nowhere());
    let (name, port, address, account) = (node_name(0), None, None, None);
    let place = Place { name, home, data, socket_dir, temporary, port, address, account };
    let node = Node { plan: &Plan::new(1)?, at: 0, place: &place, first: &place };
    kind.settings(&node, &Settings::new()).map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::super::server_dir::ServerDir;
    use super::super::skipped;
    use super::*;
    use dbdyno_engines::host::{Account, is_root};

    /// Stopped right after the other nodes it has not always seen them leave.
    #[test]
    fn the_first_node_begins_the_cluster_again_whatever_it_has_seen_of_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        fs::create_dir(&data).unwrap();
        let state = "# GALERA saved state\nversion: 2.1\nseqno:   7\nsafe_to_bootstrap: ";
        fs::write(data.join("grastate.dat"), format!("{state}0\n")).unwrap();
        fs::write(data.join("gvwstate.dat"), "the members").unwrap();
        let place = Place {
            name: node_name(0),
            home: dir.path().into(),
            data: data.clone(),
            socket_dir: PathBuf::new(),
            temporary: PathBuf::new(),
            port: None,
            address: None,
            account: None,
        };
        find_cluster("mariadb-galera").unwrap().prepare_restart(&place).unwrap();
        let changed = fs::read_to_string(data.join("grastate.dat")).unwrap();
        assert_eq!(changed, format!("{state}1\n"));
        assert!(!data.join("gvwstate.dat").exists());
    }

    /// As code with the server's account would, as soon as the directory is there.
    #[test]
    fn a_link_in_the_place_of_a_nodes_file_leads_to_nothing_of_roots() {
        if !is_root() {
            return skipped("a node of another user's server", "DBDYNO_TEST_MUST_BE_ROOT");
        }
        let account = Account::unprivileged("nobody").unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "safe_to_bootstrap: 1").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
        for (kind, file) in
            [("postgres-replicas", "standby.signal"), ("mariadb-galera", "grastate.dat")]
        {
            let kind = find_cluster(kind).unwrap();
            let home = ServerDir::claim(dir.path(), &kind.home_of(1)).unwrap();
            let [data, socket_dir, temporary] = home.directories(Some(&account)).unwrap();
            let place = Place {
                name: "n2".into(),
                home: home.directory().into(),
                data,
                socket_dir,
                temporary,
                port: None,
                address: None,
                account: Some(account.clone()),
            };
            symlink(&victim, place.data.join(file)).unwrap();
            lchown(place.data.join(file), Some(account.uid), Some(account.gid)).unwrap();
            let plan = Plan { own_name: "x".into(), ports: Vec::new() };
            // It may fail: the user has spoilt its own files.
            let node = Node { plan: &plan, at: 1, place: &place, first: &place };
            let _ = kind.prepare(&node);
            assert_eq!(fs::read_to_string(&victim).unwrap(), "safe_to_bootstrap: 1", "{file}");
            assert_eq!(fs::metadata(&victim).unwrap().permissions().mode() & 0o777, 0o600);
            let copied = fs::read_to_string(place.data.join("grastate.new")).unwrap_or_default();
            assert!(!copied.contains("bootstrap"), "what only root may read was given away");
            home.remove().unwrap();
        }
    }
}
