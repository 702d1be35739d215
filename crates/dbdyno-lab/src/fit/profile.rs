//! A size profile and the machine: its memory, and the disk for the profile's data set.

use std::path::Path;

use dbdyno_core::catalog::Profile;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::TableRef;
use dbdyno_engines::host;

use super::data_bytes;

/// Part of the memory that a database server may take; the rest is for the operating system,
/// sessions and us.
pub(super) const SHARE_OF_MEMORY: f64 = 0.9;
/// A profile's megabytes.
const MIB: f64 = 1_048_576.0;

/// Refuses a profile that this machine is too small for, once for each of so many servers. `tables`
/// are those that are to be loaded at the profile's own size; none if the space for them is not
/// asked for here.
///
/// # Errors
/// Of usage, with the figures and the largest of `profiles` that fits.
pub fn check_profile(
    profile: &Profile,
    profiles: &[Profile],
    servers: u32,
    tables: Option<&[TableRef]>,
    data_dir: &Path,
) -> Result<()> {
    let machine = Machine::inspect(data_dir);
    let data_bytes =
        |profile: &Profile| tables.map_or(0, |tables| data_bytes(tables, profile.size_gb));
    let needs = |profile: &Profile| Needs::new(profile, data_bytes(profile)).of_all(servers);
    let Some(lacks) = machine.lacks(&needs(profile)) else { return Ok(()) };
    let advice = match machine.largest(profiles, needs) {
        Some(largest) => format!("the largest that fits is {}", largest.id),
        None => "no profile fits".into(),
    };
    Err(Error::usage(format!("--profile {}", profile.id), lacks).advise(advice))
}

/// Memory that this machine lacks for a server that takes this much; none if it fits.
pub fn lacks_memory(memory_mb: f64) -> Option<String> {
    let machine = Machine { memory_bytes: Some(host::memory_bytes()), disk_bytes: None };
    machine.lacks(&Needs { memory_bytes: (memory_mb * MIB) as u64, disk_bytes: 0 })
}

/// `yes`, or what this machine lacks for a profile with its own data set in this directory.
pub fn of_profile(profile: &Profile, data_dir: &Path) -> String {
    Machine::inspect(data_dir).lacks(&Needs::of_own(profile)).unwrap_or_else(|| "yes".into())
}

/// Resources of a machine; unknown ones are absent and refuses nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Machine {
    /// Memory of the machine, or of the container we are in.
    memory_bytes: Option<u64>,
    /// Free space where the database's files would lie.
    disk_bytes: Option<u64>,
}

/// Needs of a profile's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Buffer cache, log buffer and sort/work memory.
    pub memory_bytes: u64,
    /// Space for its data set.
    pub disk_bytes: u64,
}

impl Needs {
    /// Needs of a profile with both tables at its own size.
    pub fn of_own(profile: &Profile) -> Needs {
        Needs::new(profile, data_bytes(&["small", "big"].map(TableRef::new), profile.size_gb))
    }

    /// The needs of a profile whose data set takes `disk_bytes`.
    fn new(profile: &Profile, disk_bytes: u64) -> Needs {
        let memory_mb = profile.memory_mb.or(profile.cache_mb).unwrap_or(0.0);
        Needs { memory_bytes: (memory_mb * MIB) as u64, disk_bytes }
    }

    fn of_all(self, servers: u32) -> Needs {
        let all = |bytes: u64| bytes.saturating_mul(servers.into());
        Needs { memory_bytes: all(self.memory_bytes), disk_bytes: all(self.disk_bytes) }
    }
}

impl Machine {
    /// This machine, with databases in this directory.
    fn inspect(data_dir: &Path) -> Machine {
        Machine { memory_bytes: Some(host::memory_bytes()), disk_bytes: host::free_bytes(data_dir) }
    }

    /// Resources that the machine lacks, with both figures; none if everything fits.
    fn lacks(&self, needs: &Needs) -> Option<String> {
        let too_little_memory =
            |memory: &u64| needs.memory_bytes as f64 > *memory as f64 * SHARE_OF_MEMORY;
        let memory = self.memory_bytes.filter(too_little_memory).map(|memory| {
            let percent = SHARE_OF_MEMORY * 100.0;
            format!(
                "{} of memory, {percent:.0} % of this machine's {} may be used",
                gb(needs.memory_bytes),
                gb(memory)
            )
        });
        let disk = self.disk_bytes.filter(|free| needs.disk_bytes > *free);
        let disk =
            disk.map(|free| format!("{} of disk, {} are free", gb(needs.disk_bytes), gb(free)));
        let lacks: Vec<String> = memory.into_iter().chain(disk).collect();
        (!lacks.is_empty()).then(|| format!("needs {}", lacks.join(", and ")))
    }

    /// The largest of `profiles` (the smallest first) that fits.
    fn largest<'a>(
        &self,
        profiles: &'a [Profile],
        needs: impl Fn(&Profile) -> Needs,
    ) -> Option<&'a Profile> {
        profiles.iter().rev().find(|profile| self.lacks(&needs(profile)).is_none())
    }
}

/// Bytes in units of 10^9.
fn gb(bytes: u64) -> String {
    let gb = bytes as f64 / 1e9;
    if gb < 10.0 { format!("{gb:.1} GB") } else { format!("{gb:.0} GB") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine =
        Machine { memory_bytes: Some(24_000_000_000), disk_bytes: Some(100_000_000_000) };

    fn profile(id: &str, memory_mb: f64) -> Profile {
        let text = format!("id = '{id}'\ntitle = 't'\nsize_gb = 1\nmemory_mb = {memory_mb}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn what_is_lacking_is_said_with_figures() {
        let needs = |memory_bytes, disk_bytes| Needs { memory_bytes, disk_bytes };
        assert_eq!(MACHINE.lacks(&needs(21_000_000_000, 100_000_000_000)), None);
        let line = MACHINE.lacks(&needs(22_000_000_000, 0)).unwrap();
        assert_eq!(line, "needs 22 GB of memory, 90 % of this machine's 24 GB may be used");
        let line = MACHINE.lacks(&needs(200_000_000_000, 676_000_000_000)).unwrap();
        assert!(line.ends_with("may be used, and 676 GB of disk, 100 GB are free"), "{line}");
        assert_eq!(
            Machine::default().lacks(&needs(u64::MAX, u64::MAX)),
            None,
            "what is not known refuses nothing"
        );
    }

    #[test]
    fn the_largest_that_fits_is_found_by_memory_and_disk() {
        let profiles = [profile("A", 100.0), profile("B", 10_000.0), profile("C", 100_000.0)];
        let largest = |disk_of_b| {
            let needs = |profile: &Profile| {
                Needs::new(profile, if profile.id == "A" { 1 } else { disk_of_b })
            };
            MACHINE.largest(&profiles, needs).map(|profile| profile.id.clone())
        };
        assert_eq!(largest(5).as_deref(), Some("B"));
        assert_eq!(largest(200_000_000_000).as_deref(), Some("A"));
        assert_eq!(MACHINE.largest(&profiles[2..], |profile| Needs::new(profile, 0)), None);
        let of_three = MACHINE.largest(&profiles, |profile| Needs::new(profile, 0).of_all(3));
        assert_eq!(
            of_three.map(|profile| profile.id.as_str()),
            Some("A"),
            "of the nodes of a cluster each needs its own"
        );
    }
}
