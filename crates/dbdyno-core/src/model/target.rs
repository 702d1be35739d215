//! Target of a run: an embedded database, a private server of dbdyno, or an existing server.

use std::path::PathBuf;
use std::time::Duration;

/// A target as the user named it, parsed. Holds no password: those come from elsewhere at connect
/// time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An embedded engine in a private file under the data directory.
    Embedded {
        /// Registry name of the engine.
        engine: String,
        /// Directory under which the file is.
        data_dir: PathBuf,
    },
    /// A private server that dbdyno creates under the data directory.
    Private {
        /// Registry name of the engine.
        engine: String,
        /// Directory under which the server directory is.
        data_dir: PathBuf,
        /// Directory of the server's binaries; none = they are searched for.
        server_bin: Option<PathBuf>,
        /// TCP port that the user asks for; none = a free one.
        port: Option<u16>,
        /// Several servers with the same data instead of one.
        cluster: Option<ClusterSpec>,
    },
    /// An existing server by URL, e.g. `scheme://user@host:port/db`; `url` never holds a password.
    Existing {
        /// Registry name of the engine.
        engine: String,
        /// URL of the server, without a password.
        url: String,
    },
}

/// A private cluster that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSpec {
    /// Kind of cluster: `mariadb-galera`.
    pub name: String,
    /// Number of nodes.
    pub nodes: u32,
    /// The nodes have a network of their own, with this delay on the way from one to another.
    pub link_delay: Option<Duration>,
}

impl Target {
    /// Name of the directory of a private database: its engine, or the kind of its cluster.
    pub fn home(&self) -> &str {
        match self {
            Target::Private { cluster: Some(cluster), .. } => &cluster.name,
            other => other.engine(),
        }
    }

    /// The private cluster that it is.
    pub fn cluster(&self) -> Option<&ClusterSpec> {
        match self {
            Target::Private { cluster, .. } => cluster.as_ref(),
            Target::Embedded { .. } | Target::Existing { .. } => None,
        }
    }

    /// Servers that would be made for it: the nodes of a private cluster, else one.
    pub fn servers(&self) -> u32 {
        match self {
            Target::Private { cluster: Some(cluster), .. } => cluster.nodes,
            _ => 1,
        }
    }

    /// The engine's name in the registry.
    pub fn engine(&self) -> &str {
        match self {
            Target::Embedded { engine, .. }
            | Target::Private { engine, .. }
            | Target::Existing { engine, .. } => engine,
        }
    }

    /// The URL of an existing server, without password.
    pub fn url(&self) -> Option<&str> {
        match self {
            Target::Existing { url, .. } => Some(url),
            Target::Embedded { .. } | Target::Private { .. } => None,
        }
    }

    /// Label as shown to the user and stored: engine name, or URL without password.
    pub fn label(&self) -> String {
        match self {
            Target::Embedded { engine, .. } => engine.clone(),
            Target::Private { cluster: Some(ClusterSpec { name, nodes, .. }), .. } => {
                format!("{name} (private cluster of {nodes} nodes)")
            }
            Target::Private { engine, .. } => format!("{engine} (private server)"),
            Target::Existing { url, .. } => url.clone(),
        }
    }
}
