//! Device and file system behind a path.

use std::path::Path;

use super::super::mount::{Mount, disk_folder};
use super::{Fact, chosen, file};

/// Section `storage`.
pub(super) fn facts(path: &Path) -> Vec<Fact> {
    let mount = Mount::of(path);
    let disk = mount.as_ref().and_then(Mount::device).and_then(disk_folder);
    let of_disk = |name: &str| disk.as_ref().and_then(|folder| file(folder.join(name).to_str()?));
    let mount_fact = |get: fn(&Mount) -> String| mount.as_ref().map(get);
    vec![
        ("path", Some(path.display().to_string())),
        ("device", mount_fact(|mount| mount.source.clone())),
        ("model", of_disk("device/model")),
        ("rotational", of_disk("queue/rotational").map(|flag| if flag == "1" { "yes" } else { "no" }.to_string())),
        ("scheduler", of_disk("queue/scheduler").map(|text| chosen(&text))),
        ("write_cache", of_disk("queue/write_cache")),
        ("read_ahead_kb", of_disk("queue/read_ahead_kb")),
        ("file_system", mount_fact(|mount| mount.file_system.clone())),
        ("mount_options", mount_fact(|mount| mount.options.clone())),
        ("free_mb", free_mb(path)),
    ]
}

/// Free for users, in 10^6 bytes.
fn free_mb(path: &Path) -> Option<String> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some((stat.f_bavail * stat.f_frsize / 1_000_000).to_string())
}
