//! Faults, promotion and repair of a cluster: by dbdyno on private clusters, by the user's commands
//! on existing ones.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::FailoverOptions;
use super::timed_session::{ClientRoutes, TimedSession};
use crate::run::Platform;
use crate::test_runner::Interrupt;
use dbdyno_core::error::{Error, Kind, Result, excerpt};
use dbdyno_core::model::How;

/// Longest wait for a replica to become the primary.
const PROMOTION: Duration = Duration::from_secs(70);

/// Interval between two looks at a command that runs.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Longest wait for the end of a command that was told to end.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes at the end of a command's messages that are read.
const MESSAGE_BYTES: u64 = 4096;

/// Environment variable with the node's name for commands.
const NODE_VARIABLE: &str = "DBDYNO_NODE";

/// Runs a command of the user's to its end, apart from Ctrl-C in the terminal; an interrupt ends
/// it, if one is given. What it leaves in the background is not waited for.
fn command(flag: &str, line: &str, node: &str, interrupt: Option<&Interrupt>) -> Result<()> {
    let cannot = |error: io::Error| Error::target(flag, format!("sh cannot be run ({error})"));
    // No pipe: a server that the command starts keeps it open for as long as it lives.
    let mut messages = tempfile::tempfile().map_err(cannot)?;
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).env(NODE_VARIABLE, node).process_group(0);
    shell.stdin(Stdio::null()).stdout(Stdio::null());
    shell.stderr(messages.try_clone().map_err(cannot)?);
    let mut child = shell.spawn().map_err(cannot)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(cannot)? {
            break status;
        }
        if interrupt.is_some_and(Interrupt::is_set) {
            end(&mut child);
            let what = "the command was ended by an interrupt";
            return Err(Error::new(Kind::Interrupted, flag, what));
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    if status.success() {
        return Ok(());
    }
    let text = last_bytes(&mut messages).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let last =
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    Err(Error::target(flag, format!("the command failed ({status}): {}", excerpt(last))))
}

/// The end of what a command wrote.
fn last_bytes(messages: &mut File) -> io::Result<Vec<u8>> {
    let from = messages.metadata()?.len().saturating_sub(MESSAGE_BYTES);
    messages.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    messages.take(MESSAGE_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

/// Ends a command with what it has started.
fn end(child: &mut Child) {
    let group = Pid::from_child(child);
    // It may have ended just now.
    let _ = kill_process_group(group, Signal::TERM);
    let deadline = Instant::now() + END_TIMEOUT;
    while Instant::now() < deadline {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

/// Makes the node fail; returns when that began.
///
/// # Errors
/// It cannot be made to fail so; the command fails, or was interrupted.
pub(super) fn fail(
    platform: &mut Platform,
    routes: &ClientRoutes,
    options: &FailoverOptions,
    node: &str,
    interrupt: &Interrupt,
) -> Result<Instant> {
    let Some(commands) = &options.commands else {
        if options.how == How::Cut {
            // Clients reach it by its socket, which no network cuts.
            routes.cut(node);
        }
        return platform.fail(node, options.how);
    };
    let began = Instant::now();
    command("--fault-command", &commands.fault, node, Some(interrupt)).map(|()| began)
}

/// Makes the cluster whole again, as far as we or the command can; also after an interrupt. One
/// that comes while the command runs ends it.
///
/// # Errors
/// The command fails, or was interrupted; a node does not start.
pub(super) fn repair(
    platform: &mut Platform,
    options: &FailoverOptions,
    node: &str,
    interrupt: &Interrupt,
) -> Result<()> {
    let Some(commands) = &options.commands else { return platform.repair() };
    let heeded = (!interrupt.is_set()).then_some(interrupt);
    command("--repair-command", &commands.repair, node, heeded)
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
    /// The command fails, or was interrupted; no node can be promoted.
    pub(super) fn promote(
        &self,
        routes: &Arc<ClientRoutes>,
        failed: &str,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<Option<String>> {
        match self {
            Promoter::Itself => Ok(None),
            Promoter::Command(line) => {
                command("--promote-command", line, failed, Some(interrupt)).map(|()| None)
            }
            Promoter::Ours { received, promote } => {
                let node = find_most_advanced(routes, failed, received, timeout, interrupt)?;
                let done = TimedSession::open(routes, &node, PROMOTION, Some(interrupt))
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
    interrupt: &Interrupt,
) -> Result<String> {
    let others = routes.database.nodes().iter().filter(|node| *node != failed);
    let has = |node: &String| {
        let line = TimedSession::open(routes, node, timeout, Some(interrupt)).ok()?;
        Some((line.query(received).ok()?.scalar()?.parse::<f64>().ok()?, node.clone()))
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

#[cfg(test)]
mod tests {
    use super::super::timed_session::fake::{FakeCluster, rows};
    use super::*;

    #[test]
    fn what_a_command_leaves_in_the_background_is_not_waited_for() {
        let line = "sleep 300 & echo warning >&2; echo $! >&2; exit 3";
        let error = command("--repair-command", line, "n1", None).unwrap_err();
        assert!(error.what.starts_with("the command failed (exit status: 3): "), "{error}");
        let left = error.what.rsplit(' ').next().and_then(|word| word.parse().ok());
        let left = left.and_then(Pid::from_raw).expect("the last message is its number");
        rustix::process::kill_process(left, Signal::KILL).unwrap();
        let line = "test $DBDYNO_NODE = n1";
        command("--repair-command", line, "n1", None).unwrap();
        let silent = command("--repair-command", line, "n2", None).unwrap_err();
        assert!(silent.what.ends_with("it printed nothing"), "{silent}");
    }

    #[test]
    fn an_interrupt_ends_the_promotion_of_a_node() {
        let interrupt = Interrupt::new();
        let comes = interrupt.clone();
        let routes = FakeCluster::routes(&["a", "b"], move |_, sql| match sql {
            "received" => Ok(rows(&[["7"]])),
            _ => {
                comes.set();
                loop {
                    std::thread::park();
                }
            }
        });
        let promoter = Promoter::Ours { received: "received", promote: "promote" };
        let timeout = Duration::from_secs(600);
        let error = promoter.promote(&routes, "a", timeout, &interrupt).unwrap_err();
        assert_eq!(error.to_string(), "promoting b: interrupted");
    }

    #[test]
    fn an_interrupt_ends_a_command_with_what_it_has_started() {
        let interrupt = Interrupt::new();
        interrupt.set();
        let line = "sleep 300; true";
        let error = command("--fault-command", line, "n1", Some(&interrupt)).unwrap_err();
        assert_eq!(error.kind, Kind::Interrupted, "{error}");
    }
}
