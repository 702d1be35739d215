//! The life of a private server: it is launched, answers, is started anew, and is stopped and
//! removed or kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::process::{Daemon, StopSignals};
use super::server_dir::{State, account_for_server};
use super::template::Template;
use super::{Place, PrivateServer, Setup, StartOptions, faults, log_in_tmpfs, process, product};
use crate::fit;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{How, Target};
use dbdyno_engines::engine::{Access, ConnectTo, Database, EngineError, ErrorClass, find};
use dbdyno_engines::host::{Account, allow_files};

/// Longest wait for a started server to answer: it may have to recover a large log first.
pub(super) const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// Pause between two attempts to connect.
pub(super) const READY_POLL: Duration = Duration::from_millis(20);

impl PrivateServer {
    /// The directory from which the remains of a dead run were removed before it was started; none
    /// if there were none.
    pub fn replaced_remains(&self) -> Option<&Path> {
        let mut servers = std::iter::once(self).chain(&self.peers);
        servers.find(|server| server.replaces_remains).map(|server| server.home.directory())
    }

    pub(super) fn launch(
        &mut self,
        options: &StartOptions,
        account: Option<&Account>,
    ) -> Result<()> {
        // A kept database stays marked as kept while it is used again: no failure and no kill may
        // cost it.
        let state = self.home.state().unwrap_or(State::Running);
        self.home.mark(state)?;
        if state == State::Kept {
            self.check_version()?;
        } else {
            self.create()?;
        }
        self.kind.configure(&self.place, &options.settings)?;
        // It inherits our limit of open files, and not every server raises its own.
        allow_files(fit::files_of_server(&options.settings, self.kind.session_settings()));
        self.spawn(account)
    }

    /// Creates the empty database.
    pub(super) fn create(&self) -> Result<()> {
        let command = self.kind.create(&self.binaries, &self.place);
        let (place, interrupt) = (&self.place, &self.interrupt);
        match Template::from_environment(&self.binaries, place)? {
            Some(template) => template.create(command, place, interrupt),
            None => {
                let account = place.account.as_ref();
                process::run_interruptible(command, &place.home, account, interrupt)
            }
        }
    }

    pub(super) fn spawn(&mut self, account: Option<&Account>) -> Result<()> {
        let mut command = self.kind.run(&self.binaries, &self.place);
        if let Some(cluster) = self.cluster {
            command = cluster.wrap(command, &self.place);
        }
        let home = &self.place.home;
        let daemon = match &self.network {
            Some((network, at)) => network.within(*at, || Daemon::spawn(command, home, account))?,
            None => Daemon::spawn(command, home, account)?,
        };
        self.daemon = Some(daemon);
        self.await_ready()
    }

    /// Stops the server and starts it again on its files, with its settings. After an interrupt it
    /// is started, but not waited for.
    ///
    /// # Errors
    /// If it does not end, or does not start; interrupted.
    pub fn restart(&mut self) -> Result<()> {
        self.stop()?;
        let account = account_for_server(self.kind.account())?;
        self.cluster.map_or(Ok(()), |cluster| cluster.prepare_restart(&self.place))?;
        self.spawn(account.as_ref())?;
        let mut peers = std::mem::take(&mut self.peers);
        let started = peers.iter_mut().try_for_each(|peer| peer.spawn(account.as_ref()));
        self.peers = peers;
        started.and_then(|()| self.await_members())
    }

    /// As [`PrivateServer::restart`], in this setup from then on.
    ///
    /// # Errors
    /// As there, and what cannot be set or moved.
    pub fn restart_with(&mut self, setup: &Setup) -> Result<()> {
        self.stop()?;
        let account = account_for_server(self.kind.account())?;
        let (home, files) = (&self.home, self.kind.log_files());
        let log = log_in_tmpfs::Log { home, files, account: account.as_ref() };
        log.fetch()?;
        setup.log_in_memory.map_or(Ok(()), |room_bytes| log.put(room_bytes))?;
        self.kind.configure(&self.place, &setup.settings)?;
        self.spawn(account.as_ref())
    }

    fn check_version(&self) -> Result<()> {
        let made_by = self.kind.created_by(&self.place);
        match made_by.filter(|version| *version != self.binaries.major) {
            None => Ok(()),
            Some(version) => Err(Error::target(
                self.place.data.display().to_string(),
                format!(
                    "the kept database is of version {version}, the server is of {}",
                    self.binaries.major
                ),
            )
            .advise(format!(
                "remove it with 'dbdyno clean {}', or choose another --data-dir",
                self.kind.engine()
            ))),
        }
    }

    /// Waits until the server answers, as long as its process lives.
    fn await_ready(&mut self) -> Result<()> {
        let place = self.place.data.display().to_string();
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            match self.try_connect() {
                Ok(()) => return Ok(()),
                Err(error)
                    if error.class == ErrorClass::Unreachable
                        || error.class == ErrorClass::Lost => {}
                Err(error) => return Err(error.at(place)),
            }
            let ended = self.daemon.as_mut().is_none_or(Daemon::has_ended);
            self.check_interrupt()?;
            if ended || Instant::now() > deadline {
                let log_end = process::last_log_lines(&self.place.home);
                return Err(Error::target(place, format!("the server did not start: {log_end}")));
            }
            std::thread::sleep(READY_POLL);
        }
    }

    /// Fails after an interrupt, which ends the wait for a server.
    pub(super) fn check_interrupt(&self) -> Result<()> {
        if !self.interrupt.load(Ordering::SeqCst) {
            return Ok(());
        }
        let error = process::interrupt_error(&self.place.home);
        Err(if self.was_kept() { error.advise("the kept database stays") } else { error })
    }

    fn try_connect(&self) -> std::result::Result<(), EngineError> {
        self.try_connect_to(self.kind.url(&self.place)).map(drop)
    }

    pub(super) fn try_connect_to(
        &self,
        url: String,
    ) -> std::result::Result<Box<dyn Database>, EngineError> {
        let unknown = || EngineError::new(ErrorClass::Other, "the engine is not compiled in");
        let engine = find(self.kind.engine()).ok_or_else(unknown)?;
        let target = Target::Existing { engine: self.kind.engine().into(), url: url.clone() };
        let access = if self.cluster.is_some() { Access::Follow } else { Access::Inspect };
        let url = Some(url);
        let interrupt = Arc::clone(&self.interrupt);
        let to = ConnectTo { url, interrupt, ..ConnectTo::new(target) };
        engine.open(&to, access)
    }

    /// URL of the server; no password is needed on this host for the user that started it.
    pub fn url(&self) -> String {
        if self.peers.is_empty() {
            return self.kind.url(&self.place);
        }
        let places: Vec<&Place> =
            std::iter::once(self).chain(&self.peers).map(|node| &node.place).collect();
        self.kind.cluster_url(&places)
    }
    /// A command line by which a user can connect.
    pub fn connect_hint(&self) -> String {
        self.kind.connect_hint(&self.binaries, &self.place)
    }
    /// Version of the server's programs.
    pub fn version(&self) -> &str {
        &self.binaries.version
    }
    /// Product and version of the server's programs.
    pub fn product(&self) -> String {
        product(self.kind, &self.binaries.version)
    }
    /// Path of a program beside the server's, whether it is installed or not.
    pub fn program(&self, name: &str) -> PathBuf {
        self.binaries.program(name)
    }
    /// Directory of the database's files.
    pub fn storage_path(&self) -> &Path {
        &self.place.data
    }
    /// Path of the server's log.
    pub fn log_path(&self) -> PathBuf {
        process::log_path(&self.place.home)
    }
    /// True if it is the first node of several.
    pub fn is_cluster(&self) -> bool {
        self.cluster.is_some()
    }
    /// Process ids of all nodes, the first one's first; of a single server its own.
    pub fn pids(&self) -> Vec<u32> {
        let own = self.pid().into_iter();
        own.chain(self.peers.iter().filter_map(PrivateServer::pid)).collect()
    }
    /// Process id of the server, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::pid)
    }

    /// Exit status and last messages of a server that ended on its own; waits a moment for its end.
    pub fn last_words(&mut self) -> Option<String> {
        if let Some(words) = self.peers.iter_mut().find_map(PrivateServer::last_words) {
            return Some(words);
        }
        let end = self.daemon.as_mut()?.end()?;
        let log_end = process::last_log_lines(&self.place.home);
        Some(format!("the server's process has ended ({end}), its log ends with: {log_end}"))
    }

    /// Marks the server as kept while it is still in use, so that not even our death by a signal
    /// costs the database.
    ///
    /// # Errors
    /// If that cannot be noted in the directory.
    pub fn keep_whatever_happens(&self) -> Result<()> {
        self.home.mark(State::Kept)
    }

    /// True if an earlier run kept it, or [`PrivateServer::keep_whatever_happens`] was asked for.
    pub fn was_kept(&self) -> bool {
        self.home.state() == Some(State::Kept)
    }

    /// Stops the server and removes its directory.
    ///
    /// # Errors
    /// If it does not end, or files cannot be removed.
    pub fn stop_and_remove(mut self) -> Result<()> {
        std::mem::take(&mut self.peers).into_iter().try_for_each(PrivateServer::stop_and_remove)?;
        self.end()?;
        self.home.remove()
    }

    /// Leaves the server running after our end; returns how to connect.
    ///
    /// # Errors
    /// If that cannot be noted in the directory; the server is removed then.
    pub fn keep(mut self) -> Result<String> {
        self.home.mark(State::Kept)?;
        if let Some(daemon) = self.daemon.take() {
            daemon.release();
        }
        self.home.release();
        Ok(self.connect_hint())
    }

    /// Stops the server, which writes first what its files lack. After an interrupt that is waited
    /// for only if somebody keeps them.
    pub(super) fn stop(&mut self) -> Result<()> {
        let interrupt = if self.was_kept() { Arc::default() } else { Arc::clone(&self.interrupt) };
        self.stop_by(self.kind.signals(), &interrupt)
    }

    /// Ends the server whose files will be removed: it need not write what they lack.
    fn end(&mut self) -> Result<()> {
        self.stop_by(self.kind.signals().at_once(), &AtomicBool::new(false))
    }

    fn stop_by(&mut self, signals: StopSignals, interrupt: &AtomicBool) -> Result<()> {
        // A node that is cut off would wait for the others.
        self.network.iter().for_each(|(network, _)| network.repair());
        if self.failed == Some(How::Freeze) {
            self.pid().into_iter().for_each(faults::wake);
        }
        self.peers.iter_mut().try_for_each(|peer| peer.stop_by(signals, interrupt))?;
        self.daemon.take().map_or(Ok(()), |daemon| daemon.stop(signals, interrupt))
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // On the way out after an error or a panic: the next start finishes what fails here.
        let stopped = if self.was_kept() { self.stop() } else { self.end() };
        if stopped.is_ok() {
            self.home.abandon();
        }
    }
}
