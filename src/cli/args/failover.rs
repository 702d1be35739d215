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
    /// It is cut off from the other nodes, which get a network of their own for that, and from
    /// clients
    #[value(alias = "cut")]
    Partition,
}

/// Arguments of `failover`.
#[derive(Debug, Clone, Args)]
pub struct FailoverArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Nodes of a private cluster [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=9))]
    pub nodes: Option<u32>,
    /// Delay between the nodes of a private cluster, which get a network of their own: 500us
    #[arg(long, alias = "link-delay", value_name = "TIME", allow_hyphen_values = true)]
    pub network_delay: Option<Seconds>,
    /// How a node of a private cluster fails [default: kill]
    #[arg(long, alias = "how", value_enum)]
    pub fault: Option<HowArg>,
    /// The node that fails, by its name [default: the first one that takes writes]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Clients, each with one session, on the nodes that take writes in turn
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub jobs: u32,
    /// Length of the load before the failure
    #[arg(long, value_name = "TIME", default_value = "10s", allow_hyphen_values = true)]
    pub before: Seconds,
    /// Longest load after it; it ends 3 s after throughput was regained
    #[arg(long, value_name = "TIME", default_value = "60s", allow_hyphen_values = true)]
    pub after: Seconds,
    /// Clients give up on an answer after so long: a silent node is not noticed sooner
    #[arg(long, value_name = "TIME", default_value = "2s", allow_hyphen_values = true)]
    pub timeout: Seconds,
    /// Clients send a commit that was not answered again; else it stays in doubt
    #[arg(long)]
    pub resend: bool,
    /// Repetitions, on a private cluster each on a new one; fewer than 3 have no interval
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Needed for an existing cluster: a node of it will fail
    #[arg(long, alias = "i-may-break-it")]
    pub allow_disruption: bool,
    /// Of an existing cluster: the shell command that makes the node $DBDYNO_NODE fail
    #[arg(long, alias = "break-command", value_name = "CMD")]
    pub fault_command: Option<String>,
    /// Of an existing cluster: the shell command that makes it whole again, run whatever happens
    #[arg(long, alias = "mend-command", value_name = "CMD")]
    pub repair_command: Option<String>,
    /// The shell command that makes another node take writes once a client has seen the failure
    /// [default: the cluster does it; of private replicas we promote the one that has received
    /// most]
    #[arg(long, value_name = "CMD")]
    pub promote_command: Option<String>,
    #[command(flatten)]
    pub naming: NameArgs,
    #[command(flatten)]
    pub out: OutputArgs,
}
