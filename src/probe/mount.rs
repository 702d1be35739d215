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

/// The `/sys` folder of the whole disk: of a partition its parent, which has the queue.
pub(super) fn disk_folder(device: (u32, u32)) -> Option<PathBuf> {
    disk_folder_in(Path::new("/sys/dev/block"), device)
}

fn disk_folder_in(by_number: &Path, (major, minor): (u32, u32)) -> Option<PathBuf> {
    let folder = by_number.join(format!("{major}:{minor}")).canonicalize().ok()?;
    if folder.join("partition").exists() { folder.parent().map(Path::to_path_buf) } else { Some(folder) }
}

/// Numbers of the disk whose line in `/proc/diskstats` counts the requests to empty its write cache: the whole disk's,
/// since the kernel does not count them by partition. None for devices without a queue of their own (device mapper,
/// software RAID), which pass them on uncounted.
pub(super) fn flush_counting_disk(device: (u32, u32)) -> Option<(u32, u32)> {
    counts_flushes(&disk_folder(device)?)
}

fn counts_flushes(disk: &Path) -> Option<(u32, u32)> {
    disk.join("mq").exists().then_some(())?;
    let numbers = std::fs::read_to_string(disk.join("dev")).ok()?;
    let (major, minor) = numbers.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
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

    /// A `/sys` with a disk `vda` (254:0), its partition `vda1` (254:1) and a device mapper's `dm-0` (253:0).
    fn sys() -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        let make = |name: &str, text: &str| {
            let path = sys.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        make("vda/dev", "254:0\n");
        make("vda/mq/0/nr_tags", "256\n");
        make("vda/vda1/dev", "254:1\n");
        make("vda/vda1/partition", "1\n");
        make("dm-0/dev", "253:0\n");
        for (number, folder) in [("254:0", "vda"), ("254:1", "vda/vda1"), ("253:0", "dm-0")] {
            std::os::unix::fs::symlink(sys.path().join(folder), sys.path().join(number)).unwrap();
        }
        sys
    }

    #[test]
    fn a_partitions_disk_is_the_one_that_it_lies_on() {
        let sys = sys();
        let of = |device| disk_folder_in(sys.path(), device).and_then(|disk| counts_flushes(&disk));
        assert_eq!(of((254, 1)), Some((254, 0)));
        assert_eq!(of((254, 0)), Some((254, 0)));
        assert_eq!(of((253, 0)), None, "a device mapper's device counts no flushes");
        assert_eq!(of((8, 0)), None);
    }
}
