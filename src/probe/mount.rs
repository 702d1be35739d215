//! The mount and the device behind a path, from `/proc/self/mountinfo`.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A mounted file system (man 5 proc, /proc/pid/mountinfo).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub major: u32,
    pub minor: u32,
    pub point: PathBuf,
    pub options: String,
    pub file_system: String,
    /// What is mounted: `/dev/vda1`, `tmpfs`.
    pub source: String,
}

impl Mount {
    /// The mount that holds `path`.
    pub fn of(path: &Path) -> Option<Mount> {
        let path = path.canonicalize().ok()?;
        find(&std::fs::read_to_string("/proc/self/mountinfo").ok()?, &path)
    }

    /// Numbers of its block device; none for file systems without one. File systems over several devices (btrfs) have
    /// numbers of their own: there the mounted device counts.
    pub fn device(&self) -> Option<(u32, u32)> {
        if self.major != 0 {
            return Some((self.major, self.minor));
        }
        let device = std::fs::metadata(&self.source).ok().filter(|_| self.source.starts_with("/dev/"))?.rdev();
        Some((rustix::fs::major(device), rustix::fs::minor(device)))
    }
}

/// The last mount on the longest point that is a part of `path`.
fn find(mountinfo: &str, path: &Path) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(parse_line).filter(|mount| path.starts_with(&mount.point));
    mounts.max_by_key(|mount| mount.point.components().count())
}

fn parse_line(line: &str) -> Option<Mount> {
    let (head, tail) = line.split_once(" - ")?;
    let head: Vec<&str> = head.split(' ').collect();
    let mut tail = tail.split(' ');
    let (major, minor) = head.get(2)?.split_once(':')?;
    Some(Mount {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        point: PathBuf::from(head.get(4)?.replace("\\040", " ")),
        options: (*head.get(5)?).to_string(),
        file_system: tail.next()?.to_string(),
        source: tail.next()?.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = include_str!("../../tests/fixtures/proc/mountinfo");

    #[test]
    fn the_longest_mount_point_wins() {
        let source = |path: &str| find(FILE, Path::new(path)).map(|mount| mount.source);
        assert_eq!(source("/srv/fast/db"), Some("/dev/nvme0n1p2".into()));
        assert_eq!(source("/srv/faster"), Some("/dev/vda1".into()));
        assert_eq!(source("/srv/my data/x"), Some("/dev/vdb1".into()));
    }

    #[test]
    fn all_fields_are_read() {
        let mount = find(FILE, Path::new("/srv/fast")).unwrap();
        assert_eq!((mount.device(), mount.file_system.as_str()), (Some((259, 2)), "xfs"));
        assert_eq!(mount.options, "rw,noatime,nodiratime");
    }
}
