//! The device's own rate of durable writes, measured where the database of a run is.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Platform, Request};
use dbdyno_core::analysis::durability;
use dbdyno_core::model::{DeviceSync, Plan};
use dbdyno_engines::host::{Sync, SyncFile, SyncTimes, device_of, processors, sync_rate};

/// Of each measurement: tens of durable writes of a disk, hundreds of a flash drive.
const DURING: Duration = Duration::from_millis(100);
/// Measured so often again before commits are called implausible: another program may have kept the
/// device busy.
const AGAIN: u32 = 2;

/// Duration and least number of the durable writes after each test that commits: short beside the
/// test, and enough for a run of some tens of tests to tell how fast its device was.
const AFTER_TEST: Duration = Duration::from_millis(8);
const FEWEST_AFTER_TEST: u64 = 3;

/// Measures the device again where that matters.
pub struct SyncProbe {
    dir: PathBuf,
    best_per_s: Cell<f64>,
    /// Written after the tests; absent where no further file can be had.
    file: Option<SyncFile>,
}

impl SyncProbe {
    /// The probe and what it found, now or earlier in the run (`known`); none for a plan without
    /// commits, and where no file of ours can be on the database's device.
    pub fn open(
        request: &Request,
        plan: &Plan,
        platform: &Platform,
        known: Option<DeviceSync>,
    ) -> Option<(SyncProbe, DeviceSync)> {
        let commits =
            plan.selections.iter().any(|selection| selection.parts.iter().any(|part| part.commits));
        let storage = platform.database.storage_path().filter(|_| commits)?;
        let dir = [request.data_dir().map(Path::to_path_buf), Some(std::env::temp_dir())]
            .into_iter()
            .flatten();
        let dir = dir
            .into_iter()
            .find(|dir| device_of(dir).is_some() && device_of(dir) == device_of(&storage))?;
        let found = known.or_else(|| measure(&dir))?;
        let (best_per_s, file) = (Cell::new(found.best_per_s()), SyncFile::new(&dir).ok());
        Some((SyncProbe { dir, best_per_s, file }, found))
    }

    /// Some durable writes, now; none if the file cannot be written any more.
    pub fn write(&self) -> Option<SyncTimes> {
        self.file.as_ref()?.write(AFTER_TEST, FEWEST_AFTER_TEST).ok()
    }

    /// Durable writes per second of one thread: the best of all measurements. Measured again if
    /// `commits_per_s` of one job are more than it can do.
    pub fn best_per_s(&self, commits_per_s: f64) -> f64 {
        for _ in 0..AGAIN {
            if !durability::is_implausible(commits_per_s, self.best_per_s.get()) {
                break;
            }
            let found = measure(&self.dir).map_or(0.0, |found| found.best_per_s());
            self.best_per_s.set(found.max(self.best_per_s.get()));
        }
        self.best_per_s.get()
    }
}

fn measure(dir: &Path) -> Option<DeviceSync> {
    let rate = |how, threads| sync_rate(dir, how, threads, DURING).ok();
    let threads = processors();
    Some(DeviceSync {
        fdatasync_per_s: rate(Sync::Fdatasync, 1)?,
        dsync_per_s: rate(Sync::Dsync, 1)?,
        threads,
        fdatasync_all_per_s: rate(Sync::Fdatasync, threads)?,
        dsync_all_per_s: rate(Sync::Dsync, threads)?,
    })
}
