//! Disks: the mount and the device behind a path, and the space that is free.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::{MountInfo, MountInfos, Process};

use super::{Fact, chosen, file};

/// Major and minor number of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceNumbers {
    /// Number of the driver.
    pub major: u32,
    /// Number of the device or partition among those of its driver.
    pub minor: u32,
}

/// Notation of the kernel: `254:1`.
impl std::fmt::Display for DeviceNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Bytes that an ordinary user may still write on the file system of `path` (or of the nearest
/// directory above it that exists); none if that cannot be found out.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let figures = rustix::fs::statvfs(existing).ok()?;
    figures.f_bavail.checked_mul(figures.f_frsize)
}

/// File systems that are the cache themselves (linux/magic.h): they take the hint to forget a block
/// and keep it.
const IN_MEMORY: [u64; 2] = [/* tmpfs */ 0x0102_1994, /* ramfs */ 0x8584_58f6];

/// True if the file or directory lies in memory, so that there is no device under it.
pub fn is_in_memory(file: &File) -> bool {
    // The type differs between architectures.
    #[allow(clippy::unnecessary_cast)]
    rustix::fs::fstatfs(file).is_ok_and(|system| IN_MEMORY.contains(&(system.f_type as u64)))
}

/// Numbers of the block device behind a path; none for file systems without one.
pub fn device_of(path: &Path) -> Option<DeviceNumbers> {
    device(&mount_of(path)?)
}

/// The same on another machine, by its table of mounts; of a file system over several devices not
/// known.
pub fn device_in(mounts: MountInfos, path: &Path) -> Option<DeviceNumbers> {
    numbers(&longest(mounts.0, path)?.majmin).filter(|device| device.major != 0)
}

/// Numbers of the disk whose line in `/proc/diskstats` counts the requests to empty its write
/// cache: the whole disk's, since the kernel does not count them by partition. None for devices
/// without a queue of their own (device mapper, software RAID), which pass them on uncounted.
pub fn flush_counting_disk(device: DeviceNumbers) -> Option<DeviceNumbers> {
    counts_flushes(&disk_folder(device)?)
}

/// Section `storage` of the disclosure: device and file system behind a path.
pub(super) fn facts(path: &Path) -> Vec<Fact> {
    let mount = mount_of(path);
    let disk = mount.as_ref().and_then(device).and_then(disk_folder);
    let of_disk = |name: &str| disk.as_ref().and_then(|folder| file(folder.join(name).to_str()?));
    let free_mb = free_bytes(path).map(|bytes| (bytes / 1_000_000).to_string());
    vec![
        ("path", Some(path.display().to_string())),
        (
            "device",
            mount.as_ref().map(|mount| mount.mount_source.clone().unwrap_or_else(|| "none".into())),
        ),
        ("model", of_disk("device/model")),
        (
            "rotational",
            of_disk("queue/rotational")
                .map(|flag| if flag == "1" { "yes" } else { "no" }.to_string()),
        ),
        ("scheduler", of_disk("queue/scheduler").map(|text| chosen(&text))),
        ("write_cache", of_disk("queue/write_cache")),
        ("read_ahead_kb", of_disk("queue/read_ahead_kb")),
        ("file_system", mount.as_ref().map(|mount| mount.fs_type.clone())),
        ("mount_options", mount.as_ref().map(options)),
        ("free_mb", free_mb),
    ]
    .into_iter()
    .chain(disk.as_deref().map(build).unwrap_or_default())
    .chain(ports(Path::new("/sys/class/fc_host")))
    .collect()
}

/// Build and connection of a disk as far as the kernel knows them: unknown facts are left out,
/// since most disks have nothing of it.
fn build(disk: &Path) -> Vec<Fact> {
    let of = |name: &str| file(disk.join(name).to_str()?);
    let raid = of("md/level").map(|level| match of("md/raid_disks") {
        Some(disks) => format!("{level} of {disks}"),
        None => level,
    });
    let chunk_kb = of("md/chunk_size").and_then(|bytes| bytes.parse::<u64>().ok());
    let members = std::fs::read_dir(disk.join("slaves")).into_iter().flatten().flatten().count();
    let facts: Vec<Fact> = vec![
        ("raid", raid),
        ("stripe_kb", chunk_kb.filter(|bytes| *bytes > 0).map(|bytes| (bytes / 1024).to_string())),
        ("members", (members > 0).then(|| members.to_string())),
        ("queue_requests", of("queue/nr_requests")),
        ("queue_depth", of("device/queue_depth")),
        ("pcie", pcie(disk)),
    ];
    facts.into_iter().filter(|(_, value)| value.is_some()).collect()
}

/// Rate and width of the PCIe link that a disk, or its adapter, hangs on: `8.0 GT/s x4`.
fn pcie(disk: &Path) -> Option<String> {
    let slot =
        disk.ancestors().skip(1).find(|folder| folder.join("current_link_speed").exists())?;
    let of = |name: &str| file(slot.join(name).to_str()?);
    let rate = of("current_link_speed")?.replace(" PCIe", "");
    let width = of("current_link_width").filter(|width| width != "0")?;
    Some(format!("{rate} x{width}"))
}

/// Ports of Fibre Channel adapters that are up, and their rates.
fn ports(hosts: &Path) -> Vec<Fact> {
    let of = |port: &Path, name: &str| file(port.join(name).to_str()?);
    let entries = std::fs::read_dir(hosts).into_iter().flatten().flatten();
    let ports = entries.map(|entry| entry.path());
    let up: Vec<PathBuf> =
        ports.filter(|port| of(port, "port_state").as_deref() == Some("Online")).collect();
    let rates: BTreeSet<String> = up.iter().filter_map(|port| of(port, "speed")).collect();
    let told = (!up.is_empty()).then(|| {
        let rates = rates.into_iter().collect::<Vec<_>>().join(", ");
        vec![("fc_ports", Some(up.len().to_string())), ("fc_rate", Some(rates))]
    });
    told.unwrap_or_default()
}

/// Facts about the file system of a path, by the table of mounts of another machine.
pub(super) fn facts_in(mounts: MountInfos, path: &Path) -> Vec<Fact> {
    let mount = longest(mounts.0, path);
    vec![
        ("path", Some(path.display().to_string())),
        ("device", mount.as_ref().and_then(|mount| mount.mount_source.clone())),
        ("file_system", mount.as_ref().map(|mount| mount.fs_type.clone())),
        ("mount_options", mount.as_ref().map(options)),
    ]
}

/// The mount that holds `path`.
fn mount_of(path: &Path) -> Option<MountInfo> {
    let path = path.canonicalize().ok()?;
    longest(Process::myself().ok()?.mountinfo().ok()?.0, &path)
}

/// The last mount on the longest point that is a part of `path`.
fn longest(mounts: Vec<MountInfo>, path: &Path) -> Option<MountInfo> {
    let point = |mount: &MountInfo| unescape(&mount.mount_point);
    let holding = mounts.into_iter().filter(|mount| path.starts_with(point(mount)));
    holding.max_by_key(|mount| point(mount).components().count())
}

/// A path of the table of mounts, in which a blank, a tab, the end of a line and a backslash stand
/// as a backslash with three octal digits (proc_pid_mountinfo(5)).
fn unescape(path: &Path) -> PathBuf {
    let mut rest = path.as_os_str().as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = if byte == b'\\' { octal_byte(tail) } else { None };
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    OsString::from_vec(bytes).into()
}

/// The byte that three octal digits at the beginning of a text stand for.
fn octal_byte(text: &[u8]) -> Option<u8> {
    let digits = text.get(..3)?;
    let is_octal = digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
    let value = digits.iter().fold(0_u32, |value, digit| 8 * value + u32::from(digit & 7));
    u8::try_from(value).ok().filter(|_| is_octal)
}

/// The options of a mount by name, the way of access first.
fn options(mount: &MountInfo) -> String {
    let mut options: Vec<&String> = mount.mount_options.keys().collect();
    options.sort_by_key(|option| (!matches!(option.as_str(), "rw" | "ro"), *option));
    options.into_iter().cloned().collect::<Vec<_>>().join(",")
}

/// Numbers of a mount's block device. File systems over several devices (btrfs) have numbers of
/// their own: there the mounted device counts.
fn device(mount: &MountInfo) -> Option<DeviceNumbers> {
    let own = numbers(&mount.majmin)?;
    if own.major != 0 {
        return Some(own);
    }
    let source = mount.mount_source.as_deref().filter(|source| source.starts_with("/dev/"))?;
    let device = std::fs::metadata(source).ok()?.rdev();
    Some(DeviceNumbers { major: rustix::fs::major(device), minor: rustix::fs::minor(device) })
}

/// `254:1`.
fn numbers(text: &str) -> Option<DeviceNumbers> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(DeviceNumbers { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

/// The `/sys` folder of the whole disk: of a partition its parent, which has the queue.
fn disk_folder(device: DeviceNumbers) -> Option<PathBuf> {
    disk_folder_in(Path::new("/sys/dev/block"), device)
}

fn disk_folder_in(by_number: &Path, device: DeviceNumbers) -> Option<PathBuf> {
    let folder = by_number.join(device.to_string()).canonicalize().ok()?;
    if folder.join("partition").exists() {
        folder.parent().map(Path::to_path_buf)
    } else {
        Some(folder)
    }
}

fn counts_flushes(disk: &Path) -> Option<DeviceNumbers> {
    disk.join("mq").exists().then_some(())?;
    numbers(&std::fs::read_to_string(disk.join("dev")).ok()?)
}

#[cfg(test)]
mod tests {
    use procfs::FromBufRead;

    use super::*;

    fn mount(path: &str) -> MountInfo {
        let captured: &[u8] = include_bytes!("../../../../tests/fixtures/proc/mountinfo");
        longest(MountInfos::from_buf_read(captured).unwrap().0, Path::new(path)).unwrap()
    }

    #[test]
    fn a_path_that_does_not_exist_yet_has_the_space_of_its_parent() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(&dir.path().join("a/b")).unwrap() > 0);
    }

    #[test]
    fn the_longest_mount_point_wins() {
        let source = |path: &str| mount(path).mount_source.unwrap();
        assert_eq!(source("/srv/fast/db"), "/dev/nvme0n1p2");
        assert_eq!(source("/srv/faster"), "/dev/vda1");
        assert_eq!(source("/srv/my data/x"), "/dev/vdb1");
    }

    #[test]
    fn a_mount_point_may_have_any_name() {
        let plain = |path: &str| unescape(Path::new(path)).to_str().unwrap().to_string();
        assert_eq!(plain("/srv/my\\040data"), "/srv/my data");
        assert_eq!(plain("/a\\134040b\\011c"), "/a\\040b\tc");
        for whole in ["/", "/a\\", "/a\\04", "/a\\09x", "/a\\777"] {
            assert_eq!(plain(whole), whole);
        }
    }

    #[test]
    fn device_and_options_of_a_mount_are_known() {
        let mount = mount("/srv/fast");
        assert_eq!((device(&mount), mount.fs_type.as_str()), (numbers("259:2"), "xfs"));
        assert_eq!(options(&mount), "rw,noatime,nodiratime");
    }

    /// A `/sys` with a disk `vda` (254:0), its partition `vda1` (254:1) and a device mapper's
    /// `dm-0` (253:0).
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
    fn a_disk_tells_how_it_is_built_and_connected() {
        let sys = tempfile::tempdir().unwrap();
        let make = |name: &str, text: &str| {
            let path = sys.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        make("md0/md/level", "raid10\n");
        make("md0/md/raid_disks", "4\n");
        make("md0/md/chunk_size", "65536\n");
        make("md0/slaves/sda/dev", "8:0");
        make("md0/slaves/sdb/dev", "8:16");
        let named = |(name, value): Fact| format!("{name}={}", value.unwrap());
        let told: Vec<String> = build(&sys.path().join("md0")).into_iter().map(named).collect();
        assert_eq!(told, ["raid=raid10 of 4", "stripe_kb=64", "members=2"]);
        make("pci/slot/current_link_speed", "8.0 GT/s PCIe\n");
        make("pci/slot/current_link_width", "4\n");
        make("pci/slot/nvme/nvme0/nvme0n1/queue/nr_requests", "1023\n");
        let disk = sys.path().join("pci/slot/nvme/nvme0/nvme0n1");
        let told: Vec<String> = build(&disk).into_iter().map(named).collect();
        assert_eq!(told, ["queue_requests=1023", "pcie=8.0 GT/s x4"]);
        for (port, state) in [("host1", "Online"), ("host2", "Online"), ("host3", "Linkdown")] {
            make(&format!("fc/{port}/port_state"), state);
            make(&format!("fc/{port}/speed"), "16 Gbit");
        }
        let told: Vec<String> = ports(&sys.path().join("fc")).into_iter().map(named).collect();
        assert_eq!(told, ["fc_ports=2", "fc_rate=16 Gbit"]);
        assert!(ports(&sys.path().join("none")).is_empty());
    }

    #[test]
    fn a_partitions_disk_is_the_one_that_it_lies_on() {
        let sys = sys();
        let of = |device| counts_flushes(&disk_folder_in(sys.path(), numbers(device)?)?);
        assert_eq!(of("254:1"), numbers("254:0"));
        assert_eq!(of("254:0"), numbers("254:0"));
        assert_eq!(of("253:0"), None, "a device mapper's device counts no flushes");
        assert_eq!(of("8:0"), None);
    }
}
