//! Arguments of `failover`.

use clap::{Args, ValueEnum};

use super::{NameArgs, OutputArgs, PlaceArgs};
use crate::cli::values::Seconds;

/// Fault of a node of a private cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HowArg {
    /// Its processes are killed (SIGKILL)
    Kill,
    /// Its processes are stopped (SIGSTOP) and no longer answer
    Freeze,
    /// The node is cut off from the other nodes and from clients (dbdyno emulates their network)
    #[value(alias = "cut")]
    Partition,
}

/// Arguments of `failover`.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("target", super::shared::of_clusters))]
pub struct FailoverArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Nodes of a private cluster [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=9))]
    pub nodes: Option<u32>,
    /// Emulate a network with this one-way delay between nodes: 500us (private clusters only)
    #[arg(long, alias = "link-delay", value_name = "TIME", allow_hyphen_values = true)]
    pub network_delay: Option<Seconds>,
    /// Failure of the node of a private cluster [default: kill]
    #[arg(long, alias = "how", value_enum)]
    pub fault: Option<HowArg>,
    /// The node that fails, by its name [default: the first writable node]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Number of clients, each with one session; they are spread over the writable nodes
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub jobs: u32,
    /// Length of the load before the failure
    #[arg(long, value_name = "TIME", default_value = "10s", allow_hyphen_values = true)]
    pub before: Seconds,
    /// Longest load after the failure; it ends 3 s after throughput has recovered
    #[arg(long, value_name = "TIME", default_value = "60s", allow_hyphen_values = true)]
    pub after: Seconds,
    /// Client timeout: how long a client waits for an answer. A node that hangs cannot be detected
    /// sooner
    #[arg(long, value_name = "TIME", default_value = "2s", allow_hyphen_values = true)]
    pub timeout: Seconds,
    /// Clients send a commit again if it was not answered; otherwise its outcome stays unknown
    #[arg(long)]
    pub resend: bool,
    /// Repetitions, on a private cluster each on a new one; fewer than 3 have no interval
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Confirm that a node of an existing cluster may fail (required there)
    #[arg(long, alias = "i-may-break-it")]
    pub allow_disruption: bool,
    /// Shell command that makes the node $DBDYNO_NODE fail (existing clusters)
    #[arg(long, alias = "break-command", value_name = "CMD")]
    pub fault_command: Option<String>,
    /// Shell command that repairs the node, run in any case (existing clusters)
    #[arg(long, alias = "mend-command", value_name = "CMD")]
    pub repair_command: Option<String>,
    /// Shell command that makes another node writable once a client has seen the failure [default:
    /// the cluster does it; of private replicas dbdyno promotes the one that has received most]
    #[arg(long, value_name = "CMD")]
    pub promote_command: Option<String>,
    #[command(flatten)]
    pub naming: NameArgs,
    #[command(flatten)]
    pub out: OutputArgs,
}
