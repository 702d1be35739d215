//! Nodes of a private cluster that are made to fail: killed or stopped with all their processes,
//! and made whole again.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::{PrivateServer, account_for_server};
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::How;

/// A process and all that it has started: not every server's processes are of one process group.
pub(super) fn family(pid: u32) -> Vec<u32> {
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let parents = all.filter_map(|process| Some((process.pid, process.stat().ok()?.ppid)));
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (child, parent) in parents {
        if let (Ok(child), Ok(parent)) = (u32::try_from(child), u32::try_from(parent)) {
            children.entry(parent).or_default().push(child);
        }
    }
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(parent) = found.get(at) {
        found.extend(children.get(parent).into_iter().flatten());
        at += 1;
    }
    found
}

/// Sends a signal to a process; one that has ended needs none.
pub(super) fn send_signal(pid: u32, signal: Signal) {
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = target.map(|target| kill_process(target, signal));
}

/// Lets a process and its children go on, if they were stopped.
pub(super) fn wake(pid: u32) {
    family(pid).into_iter().for_each(|pid| send_signal(pid, Signal::CONT));
}

/// Stops a process and its children, also those that it starts meanwhile. Returns when the first
/// one was told.
fn stop_family(pid: u32) -> Instant {
    let (mut stopped, mut new) = (Vec::new(), family(pid));
    let began = Instant::now();
    while !new.is_empty() {
        new.iter().for_each(|pid| send_signal(*pid, Signal::STOP));
        stopped.append(&mut new);
        new = family(pid).into_iter().filter(|pid| !stopped.contains(pid)).collect();
    }
    began
}

impl PrivateServer {
    /// Makes the node of this name fail. Returns when its processes were told.
    ///
    /// # Errors
    /// There is no such node, it does not run, it cannot be made to fail so.
    pub fn fail(&mut self, node: &str, how: How) -> Result<Instant> {
        if how == How::Cut {
            return self.cut(node);
        }
        if self.place.name == node {
            return self.fail_here(how);
        }
        let peer = self.peers.iter_mut().find(|peer| peer.place.name == node);
        peer.ok_or_else(|| Error::usage("--node", format!("there is no node {}", quote(node))))?
            .fail_here(how)
    }

    fn cut(&mut self, node: &str) -> Result<Instant> {
        let at =
            std::iter::once(&*self).chain(&self.peers).position(|server| server.place.name == node);
        let at =
            at.ok_or_else(|| Error::usage("--node", format!("there is no node {}", quote(node))))?;
        let began = Instant::now();
        self.cut_off(at, true).map(|()| began)
    }

    fn fail_here(&mut self, how: How) -> Result<Instant> {
        let dead = || Error::target(format!("node {}", self.place.name), "does not run");
        let pid = self.pid().ok_or_else(dead)?;
        if !matches!(how, How::Kill | How::Freeze) {
            return Err(Error::usage(
                format!("--fault {}", how.name()),
                "a node of a private cluster cannot be made to fail so",
            )
            .advise("give --fault kill or freeze"));
        }
        self.failed = Some(how);
        let began = stop_family(pid);
        if how == How::Kill {
            // Stopped, they start nothing meanwhile.
            family(pid).into_iter().for_each(|pid| send_signal(pid, Signal::KILL));
        }
        Ok(began)
    }

    /// Makes the nodes that failed whole again, as far as they must be to leave nothing behind:
    /// those that were stopped go on; of those that were killed, the ones that clear up what they
    /// left when they start again do that, also after an interrupt.
    ///
    /// # Errors
    /// If such a one does not start.
    pub fn repair(&mut self) -> Result<()> {
        self.network.iter().for_each(|(network, _)| network.repair());
        let how = self.failed.take();
        self.pid().filter(|_| how == Some(How::Freeze)).into_iter().for_each(wake);
        if how == Some(How::Kill) && self.kind.clears_at_start() {
            // What was killed must be cleared up, also after an interrupt.
            let never = AtomicBool::new(false);
            self.daemon.take().map_or(Ok(()), |daemon| daemon.stop(self.kind.signals(), &never))?;
            let account = account_for_server(self.kind.account())?;
            let interrupt = std::mem::take(&mut self.interrupt);
            let started = self.spawn(account.as_ref());
            self.interrupt = interrupt;
            started?;
        }
        self.peers.iter_mut().try_for_each(PrivateServer::repair)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn state(pid: u32) -> Option<char> {
        Some(procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?.state)
    }

    #[test]
    fn a_process_is_stopped_with_its_children_and_woken_with_them() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sh -c 'read word'; true"]).stdin(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        // Both wait: one that is stopped between fork and exec keeps its parent from stopping.
        let waits = || {
            let all = family(child.id());
            all.len() == 2 && all.into_iter().all(|pid| state(pid) == Some('S'))
        };
        while !waits() {
            std::thread::yield_now();
        }
        stop_family(child.id());
        let states: Vec<_> = family(child.id()).into_iter().map(state).collect();
        while family(child.id()).into_iter().any(|pid| state(pid) != Some('T')) {
            std::thread::yield_now(); // a signal takes a moment
        }
        assert_eq!(states.len(), 2);
        wake(child.id());
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "it reads the end of its input and ends");
    }
}
