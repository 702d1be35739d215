//! A small file system in memory that gets full when a test wants it to, where we may mount one (as
//! root).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::leftovers::Directory;
use crate::skipped::skipped;
use crate::support::{directory, until};

/// The smallest size of a file system: 0 would mean no limit.
const MIN_BYTES: u64 = 4096;

/// A mounted file system of some megabytes; unmounted when dropped.
pub struct SmallDisk {
    path: PathBuf,
    megabytes: u64,
    _dir: Directory,
}

impl SmallDisk {
    /// None, and a line that says so, if this process may not mount.
    pub fn mount(megabytes: u64) -> Option<SmallDisk> {
        let dir = directory();
        let path = dir.path().join("disk");
        std::fs::create_dir(&path).unwrap();
        let is_mounted = mount(&format!("size={megabytes}m,mode=755"), &path);
        if !is_mounted {
            skipped("MOUNT", "this process may not mount a file system");
        }
        is_mounted.then(|| SmallDisk { path, megabytes, _dir: dir })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes all free space away but `left_bytes`, in one call: nobody can write more beside it, as
    /// beside a file that grows.
    pub fn shrink(&self, left_bytes: u64) {
        until("the file system is smaller", || {
            let system = rustix::fs::statvfs(&self.path).unwrap();
            let used = (system.f_blocks - system.f_bfree) * system.f_frsize;
            // Fails if more has been written meanwhile.
            self.resize((used + left_bytes).max(MIN_BYTES))
        });
    }

    /// Gives the space back.
    pub fn restore(&self) {
        assert!(self.resize(self.megabytes << 20));
    }

    fn resize(&self, bytes: u64) -> bool {
        mount(&format!("remount,size={bytes}"), &self.path)
    }
}

fn mount(options: &str, at: &Path) -> bool {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).stderr(Stdio::null());
    mount.status().is_ok_and(|status| status.success())
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a server that ends may still have files open.
        let _ = Command::new("umount").arg("--lazy").arg(&self.path).status();
    }
}
