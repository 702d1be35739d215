//! The nodes of a private cluster: started one after the other, joined by a network of their own if
//! that is asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::cluster::{self, ClusterKind, MAX_NODES, Node, find_cluster};
use super::lifecycle::{READY_POLL, READY_TIMEOUT};
use super::network_emulation::{Network, NetworkEmulation};
use super::server_dir::{State, account_for_server};
use super::{PrivateServer, StartOptions, claim_directories, find_kind, process, remove_home};
use crate::fit;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::ClusterSpec;
use dbdyno_engines::engine::{EngineError, ErrorClass};
use dbdyno_engines::host::{Account, allow_files};

/// Starts a private cluster: its first node, then the others one by one on copies of it. Nodes that
/// a larger cluster of a dead run left are removed.
pub(super) fn start_cluster(spec: &ClusterSpec, options: &StartOptions) -> Result<PrivateServer> {
    let cluster = known_cluster(&spec.name)?;
    let kind = find_kind(cluster.engine)?;
    let account = account_for_server(kind.account())?;
    remove_nodes(cluster, spec.nodes as usize, &options.data_dir)?;
    let made = |delay| Network::make(spec.nodes as usize, delay).map(Arc::new);
    let network = spec.link_delay.map(made).transpose()?;
    let plan = cluster::Plan::new(spec.nodes)?;
    let node = |at: usize| -> Result<PrivateServer> {
        let mut server =
            claim_directories(kind, &cluster.home_of(at), &cluster::node_name(at), options)?;
        server.cluster = Some(cluster);
        server.place.address = network.as_ref().map(|_| Network::address(at));
        server.network = network.clone().map(|network| (network, at));
        Ok(server)
    };
    let mut first = node(0)?;
    let nodes = (1..spec.nodes as usize).map(node).collect::<Result<Vec<_>>>()?;
    first.create_first(&plan, options, account.as_ref())?;
    for (at, server) in (1..).zip(&nodes) {
        let node = Node { plan: &plan, at, place: &server.place, first: &first.place };
        server.create_copy(&node, options)?;
    }
    first.spawn(account.as_ref())?;
    for mut server in nodes {
        server.spawn(account.as_ref())?;
        first.peers.push(server);
        first.await_members()?;
    }
    Ok(first)
}

pub(super) fn known_cluster(name: &str) -> Result<&'static ClusterKind> {
    find_cluster(name).ok_or_else(|| {
        Error::usage("TARGET", format!("there is no private cluster {}", quote(name)))
    })
}

/// Removes the nodes of a cluster from the number `from` (from 0) on that are not in use. Returns
/// the directories.
pub(super) fn remove_nodes(
    cluster: &ClusterKind,
    from: usize,
    data_dir: &Path,
) -> Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for at in from..MAX_NODES as usize {
        removed.extend(remove_home(find_kind(cluster.engine)?, &cluster.home_of(at), data_dir)?);
    }
    Ok(removed)
}

impl PrivateServer {
    /// Creates the first node of a cluster.
    pub(super) fn create_first(
        &mut self,
        plan: &cluster::Plan,
        options: &StartOptions,
        account: Option<&Account>,
    ) -> Result<()> {
        self.home.mark(State::Running)?;
        self.create()?;
        let node = Node { plan, at: 0, place: &self.place, first: &self.place };
        self.configure_node(&node, options)?;
        // Its files know then how it is configured: a copy that can do less would not follow it.
        self.spawn(account)?;
        self.stop()
    }

    /// Creates this server as another node of a cluster whose first node does not run.
    pub(super) fn create_copy(&self, node: &Node<'_>, options: &StartOptions) -> Result<()> {
        self.home.mark(State::Running)?;
        process::copy_files(&node.first.data, &node.place.data, node.place, &self.interrupt)?;
        self.configure_node(node, options)
    }

    fn configure_node(&self, node: &Node<'_>, options: &StartOptions) -> Result<()> {
        let Some(cluster) = self.cluster else { return Ok(()) };
        let settings = cluster.settings(node, &options.settings)?;
        self.kind.configure(node.place, &settings)?;
        allow_files(fit::files_of_server(&options.settings, self.kind.session_settings()));
        cluster.prepare(node)
    }

    /// Waits until all nodes answer and have the state of the first.
    pub(super) fn await_members(&mut self) -> Result<()> {
        let deadline = Instant::now() + READY_TIMEOUT;
        while let Err(error) = self.try_connect_to_all() {
            self.check_interrupt()?;
            let ended = self.peers.last_mut().and_then(PrivateServer::last_words);
            if ended.is_some() || Instant::now() > deadline {
                let place = self
                    .peers
                    .last()
                    .map_or_else(String::new, |peer| peer.place.data.display().to_string());
                return Err(Error::target(
                    place,
                    format!("the node did not join ({})", ended.unwrap_or(error.message)),
                ));
            }
            std::thread::sleep(READY_POLL);
        }
        Ok(())
    }

    /// Opens the server, or the cluster with all of its nodes: one that does not answer at the
    /// moment would only be missing in it, and in every test until it is opened again.
    fn try_connect_to_all(&self) -> std::result::Result<(), EngineError> {
        let opened = self.try_connect_to(self.url())?;
        let (answering, all) = (opened.nodes().len(), 1 + self.peers.len());
        if self.peers.is_empty() || answering == all {
            return Ok(());
        }
        let what = format!("{answering} of {all} nodes answer");
        Err(EngineError::new(ErrorClass::Unreachable, what))
    }

    /// Network emulation between the nodes, if there is one.
    pub fn links(&self) -> Option<&NetworkEmulation> {
        self.network.as_ref().map(|(network, _)| network.links())
    }

    /// Cuts a node (from 0) off from the others, or joins it again. What comes from here still
    /// reaches it.
    ///
    /// # Errors
    /// The nodes have no network of their own; there is no such node.
    pub fn cut_off(&self, at: usize, is_cut: bool) -> Result<()> {
        let (network, _) =
            self.network.as_ref().filter(|_| at <= self.peers.len()).ok_or_else(|| {
                Error::target("private cluster", "the nodes have no network of their own")
                    .advise("give --network-delay, if only 0")
            })?;
        network.cut(at, is_cut);
        Ok(())
    }
}
