//! Server-side evidence of a test: statistics by name, and the log of a private server.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::Platform;
use super::repositories::Repositories;
use super::sampler::Sampler;
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::Result;
use dbdyno_core::model::{ServerLog, TestResult};
use dbdyno_engines::probe::{ProfileReading, profiles_between};

/// Lines of a log that a test keeps, and characters of a line.
const MAX_LINES: usize = 40;
const MAX_LINE: usize = 300;
/// Bytes of a log that are read at most.
const MAX_BYTES: u64 = 1 << 20;

/// Sources of server-side evidence for a test: the server log, statement and I/O statistics, AWR
/// or Statspack snapshots.
pub struct ServerEvidence {
    /// The log of a private server.
    log: Option<PathBuf>,
    /// The database has a log that we cannot read.
    is_elsewhere: bool,
    /// Repositories of the server.
    repositories: Repositories,
}

/// State of these sources at one point in time. The evidence of a test is the difference between
/// two marks.
pub struct EvidenceMark {
    profiles: ProfileReading,
    log_bytes: u64,
    /// One for each repository.
    snapshots: Vec<std::result::Result<String, String>>,
}

impl ServerEvidence {
    /// Of an open platform, with these repositories of the server's.
    ///
    /// # Errors
    /// The engine has no such repository.
    pub fn open(
        platform: &Platform,
        catalog: &Catalog,
        repositories: &[String],
    ) -> Result<ServerEvidence> {
        let is_server = !platform.engine.capabilities().in_process && platform.engine.is_target();
        let log = platform.log_path();
        let repositories = Repositories::open(platform, catalog, repositories)?;
        Ok(ServerEvidence { is_elsewhere: is_server && log.is_none(), log, repositories })
    }

    /// Now.
    pub fn mark(&self, sampler: Option<&Mutex<Sampler>>) -> EvidenceMark {
        let log_bytes = self
            .log
            .as_deref()
            .and_then(|path| fs::metadata(path).ok())
            .map_or(0, |file| file.len());
        EvidenceMark { profiles: profiles(sampler), log_bytes, snapshots: self.repositories.take() }
    }

    /// Adds the evidence between two marks to the result of a test.
    pub fn add_to(&self, before: &EvidenceMark, after: EvidenceMark, result: &mut TestResult) {
        result.profiles = profiles_between(&before.profiles, after.profiles);
        let repositories = self.repositories.between(&before.snapshots, &after.snapshots);
        result.server_log = match &self.log {
            Some(path) => Some(log_between(path, before.log_bytes, after.log_bytes)),
            None => self.is_elsewhere.then(|| ServerLog {
                missing: Some("the log is known only for a private server".into()),
                ..ServerLog::default()
            }),
        };
        if !repositories.is_empty() {
            result.server_log.get_or_insert_default().repositories = repositories;
        }
    }
}

fn profiles(sampler: Option<&Mutex<Sampler>>) -> ProfileReading {
    sampler.map(|sampler| sampler.lock().profiles()).unwrap_or_default()
}

fn log_between(path: &Path, from: u64, to: u64) -> ServerLog {
    match read_between(path, from, to) {
        Ok(bytes) => lines(&String::from_utf8_lossy(&bytes)),
        Err(error) => ServerLog {
            missing: Some(format!("the log cannot be read ({error})")),
            ..ServerLog::default()
        },
    }
}

fn read_between(path: &Path, from: u64, to: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(to.saturating_sub(from).min(MAX_BYTES)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn lines(text: &str) -> ServerLog {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let left_out = lines.len().saturating_sub(MAX_LINES) as u64;
    let cut = |line: &&str| match line.char_indices().nth(MAX_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => (*line).to_string(),
    };
    ServerLog {
        lines: lines.iter().take(MAX_LINES).map(cut).collect(),
        left_out,
        ..ServerLog::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_logged_meanwhile_is_kept_and_long_texts_are_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("server.log");
        fs::write(&path, "before\n").unwrap();
        let from = fs::metadata(&path).unwrap().len();
        let long = "x".repeat(1000);
        fs::write(&path, format!("before\ncheckpoint starting\n\n{long}\n{}", "more\n".repeat(50)))
            .unwrap();
        let to = fs::metadata(&path).unwrap().len();
        fs::write(&path, fs::read_to_string(&path).unwrap() + "after\n").unwrap();
        let log = log_between(&path, from, to);
        assert_eq!(
            (log.lines[0].as_str(), log.lines[1].len()),
            ("checkpoint starting", MAX_LINE + 3)
        );
        assert_eq!((log.lines.len(), log.left_out), (MAX_LINES, 12));
        assert!(log_between(&directory.path().join("none"), 0, 9).missing.is_some());
    }
}
