//! Faults, promotion and repair of a cluster: by dbdyno on private clusters, by the user's commands
//! on existing ones.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::FailoverOptions;
use super::timed_session::{ClientRoutes, TimedSession};
use crate::run::Platform;
use dbdyno_core::error::{Error, Result, excerpt};
use dbdyno_core::model::How;

/// Longest wait for a replica to become the primary.
const PROMOTION: Duration = Duration::from_secs(70);

/// Environment variable with the node's name for commands.
const NODE_VARIABLE: &str = "DBDYNO_NODE";

/// Runs a command of the user's to its end, apart from Ctrl-C in the terminal.
fn command(flag: &str, line: &str, node: &str) -> Result<()> {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env(NODE_VARIABLE, node).process_group(0);
    let done = shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let done = done.map_err(|error| Error::target(flag, format!("sh cannot be run ({error})")))?;
    if done.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&done.stderr);
    let last =
        stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    Err(Error::target(flag, format!("the command failed ({}): {}", done.status, excerpt(last))))
}

/// Makes the node fail; returns when that began.
///
/// # Errors
/// It cannot be made to fail so; the command fails.
pub(super) fn fail(
    platform: &mut Platform,
    routes: &ClientRoutes,
    options: &FailoverOptions,
    node: &str,
) -> Result<Instant> {
    let Some(commands) = &options.commands else {
        if options.how == How::Cut {
            // Clients reach it by its socket, which no network cuts.
            routes.cut(node);
        }
        return platform.fail(node, options.how);
    };
    let began = Instant::now();
    command("--fault-command", &commands.fault, node).map(|()| began)
}

/// Makes the cluster whole again, as far as we or the command can.
///
/// # Errors
/// The command fails; a node does not start.
pub(super) fn repair(platform: &mut Platform, options: &FailoverOptions, node: &str) -> Result<()> {
    match &options.commands {
        Some(commands) => command("--repair-command", &commands.repair, node),
        None => platform.repair(),
    }
}

/// Way in which another node becomes writable.
pub(super) enum Promoter<'a> {
    /// The cluster does it.
    Itself,
    Command(&'a str),
    /// We, by these statements: what a node has received, and the promotion.
    Ours {
        received: &'a str,
        promote: &'a str,
    },
}

impl Promoter<'_> {
    /// Does it; returns the node, if we chose it.
    ///
    /// # Errors
    /// The command fails; no node can be promoted.
    pub(super) fn promote(
        &self,
        routes: &Arc<ClientRoutes>,
        failed: &str,
        timeout: Duration,
    ) -> Result<Option<String>> {
        match self {
            Promoter::Itself => Ok(None),
            Promoter::Command(line) => command("--promote-command", line, failed).map(|()| None),
            Promoter::Ours { received, promote } => {
                let node = find_most_advanced(routes, failed, received, timeout)?;
                let done = TimedSession::open(routes, &node, PROMOTION)
                    .and_then(|line| line.query(promote));
                done.map_err(|error| error.at(format!("promoting {node}")))?;
                Ok(Some(node))
            }
        }
    }
}

/// The node that has received the most of what was written: a commit that one replica has confirmed
/// is there.
fn find_most_advanced(
    routes: &Arc<ClientRoutes>,
    failed: &str,
    received: &str,
    timeout: Duration,
) -> Result<String> {
    let others = routes.database.nodes().iter().filter(|node| *node != failed);
    let has = |node: &String| {
        let rows = TimedSession::open(routes, node, timeout).ok()?.query(received).ok()?;
        Some((rows.scalar()?.parse::<f64>().ok()?, node.clone()))
    };
    let most =
        others.filter_map(has).reduce(|most, next| if next.0 > most.0 { next } else { most });
    most.map(|(_, node)| node)
        .ok_or_else(|| Error::target("promotion", "none of the other nodes answers"))
}

/// Kind of the injected failure, for the result.
pub(super) fn how(options: &FailoverOptions) -> How {
    if options.commands.is_some() { How::Command } else { options.how }
}
