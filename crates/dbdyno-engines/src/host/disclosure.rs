//! The disclosure of this machine: what a reader must know about it, its operating system and
//! ourselves. What cannot be found out is `unknown`.

use std::collections::BTreeMap;
use std::path::Path;

use procfs::process::MountInfos;
use procfs::{FromBufRead, Meminfo};

use super::{Fact, chosen, cloud, disk, file, hardware};
use dbdyno_core::model::Disclosure;

/// Facts of this machine and of ourselves: sections `dbdyno`, `hardware`, `os`, `cloud` if it is a
/// guest in one, and `storage` for the given path.
pub fn disclosure(storage_path: Option<&Path>) -> Disclosure {
    let mut disclosure = Disclosure::default();
    put(&mut disclosure, "dbdyno", own());
    put(&mut disclosure, "hardware", hardware::facts());
    put(&mut disclosure, "os", system());
    if let Some(path) = storage_path {
        put(&mut disclosure, "storage", disk::facts(path));
    }
    let cloud = cloud::facts(file, disclosure.get("storage", "model"));
    put(&mut disclosure, "cloud", cloud);
    disclosure
}

/// Facts of another machine, by the texts of its files: sections `hardware`, `os`, `cloud` if it is
/// a guest in one, and `storage` for the given path.
pub fn disclosure_of(files: &BTreeMap<String, String>, storage_path: Option<&Path>) -> Disclosure {
    let file = |path: &str| files.get(path).map(|text| text.trim().to_string());
    let cpuinfo = file("/proc/cpuinfo").unwrap_or_default();
    let memory =
        file("/proc/meminfo").and_then(|text| Meminfo::from_buf_read(text.as_bytes()).ok());
    let is_virtual = if has_hypervisor_flag(&cpuinfo) { "virtual machine" } else { "none seen" };
    let mut disclosure = Disclosure::default();
    put(&mut disclosure, "hardware", hardware::processor_facts(&cpuinfo));
    put(
        &mut disclosure,
        "hardware",
        vec![("memory_mb", memory.map(|memory| (memory.mem_total / 1_000_000).to_string()))],
    );
    let system = vec![
        ("kernel", file("/proc/version").and_then(|text| release(&text))),
        ("distribution", file("/etc/os-release").and_then(|text| pretty_name(&text))),
        ("virtualisation", (!cpuinfo.is_empty()).then(|| is_virtual.to_string())),
    ];
    put(&mut disclosure, "os", system);
    let mounts = file("/proc/self/mountinfo")
        .and_then(|text| MountInfos::from_buf_read(text.as_bytes()).ok());
    if let Some((mounts, path)) = mounts.zip(storage_path) {
        put(&mut disclosure, "storage", disk::facts_in(mounts, path));
    }
    put(&mut disclosure, "cloud", cloud::facts(file, None));
    disclosure
}

fn put(disclosure: &mut Disclosure, section: &str, facts: Vec<Fact>) {
    for (name, value) in facts {
        let value = value
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| Disclosure::UNKNOWN.to_string());
        disclosure.set(section, name, value);
    }
}

fn own() -> Vec<Fact> {
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    vec![
        ("version", Some(env!("CARGO_PKG_VERSION").to_string())),
        ("build", Some(build.to_string())),
        ("target", Some(format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS))),
    ]
}

/// Kernel, distribution and what changes timing: virtualisation, mitigations, huge pages, clock
/// source.
fn system() -> Vec<Fact> {
    let kernel = file("/proc/sys/kernel/osrelease");
    let partition = file("/proc/ppc64/lparcfg");
    let release = file("/etc/os-release").or_else(|| file("/usr/lib/os-release"));
    let mut facts = partition.as_deref().map(entitlement).unwrap_or_default();
    facts.extend([
        ("kernel", kernel),
        ("distribution", release.and_then(|text| pretty_name(&text))),
        ("virtualisation", virtualisation()),
        ("mitigations", mitigations()),
        (
            "transparent_huge_pages",
            file("/sys/kernel/mm/transparent_hugepage/enabled").map(|text| chosen(&text)),
        ),
        ("huge_pages", file("/proc/sys/vm/nr_hugepages")),
        ("swappiness", file("/proc/sys/vm/swappiness")),
        ("clock_source", file("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
    ]);
    facts
}

/// Entitlement of a PowerVM partition (`/proc/ppc64/lparcfg`): processors that it is entitled to,
/// whether it gets more of those that are free, and its virtual processors.
fn entitlement(text: &str) -> Vec<Fact> {
    let value = |name: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        lines.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value.trim())
    };
    let hundredths = value("partition_entitled_capacity").and_then(|text| text.parse::<f64>().ok());
    let is_capped = value("capped").map(|flag| if flag == "1" { "yes" } else { "no" });
    vec![
        ("entitlement", hundredths.map(|hundredths| (hundredths / 100.0).to_string())),
        ("entitlement_capped", is_capped.map(String::from)),
        ("virtual_processors", value("partition_active_processors").map(String::from)),
    ]
}

/// The release in `/proc/version`: `Linux version 6.1.0-9-amd64 (...) #1 SMP ...`.
fn release(text: &str) -> Option<String> {
    text.strip_prefix("Linux version ")?.split_whitespace().next().map(String::from)
}

/// `PRETTY_NAME` of os-release.
fn pretty_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_string())
}

/// Hypervisor by the firmware or the CPU flags; `none seen` is what bare metal looks like.
fn virtualisation() -> Option<String> {
    let vendor = file("/sys/class/dmi/id/sys_vendor");
    let product = file("/sys/class/dmi/id/product_name");
    let container = Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists();
    let hypervisor = has_hypervisor_flag(&file("/proc/cpuinfo")?);
    let machine = [vendor, product].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let text = match (hypervisor, machine.is_empty()) {
        (true, false) => format!("virtual machine ({machine})"),
        (true, true) => "virtual machine".to_string(),
        (false, _) => "none seen".to_string(),
    };
    Some(if container { format!("{text}, container") } else { text })
}

fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

/// CPU weaknesses by name with what is done about them, those only that the CPU has.
fn mitigations() -> Option<String> {
    let entries = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities").ok()?;
    let mut found: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let state = file(entry.path().to_str()?)?;
            (state != "Not affected")
                .then(|| format!("{}: {state}", entry.file_name().to_string_lossy()))
        })
        .collect();
    found.sort();
    Some(if found.is_empty() { "none needed".to_string() } else { found.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_found_out_is_unknown() {
        let mut disclosure = Disclosure::default();
        put(&mut disclosure, "os", vec![("kernel", None), ("clock_source", Some(String::new()))]);
        assert_eq!(disclosure.get("os", "kernel"), None);
        assert_eq!(disclosure.0["os"].len(), 2);
    }

    #[test]
    fn the_distribution_is_its_pretty_name() {
        let text = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(pretty_name("ID=x"), None);
        assert_eq!(
            release("Linux version 6.1.0-9-amd64 (a@b) #1 SMP").as_deref(),
            Some("6.1.0-9-amd64")
        );
    }

    #[test]
    fn a_partition_tells_its_entitlement() {
        let text = "lparcfg 1.9\nserial_number=IBM,x\npartition_entitled_capacity=80\n\
                    partition_active_processors=2\ncapped=0\nshared_processor_mode=1\n";
        let expected = [
            ("entitlement", Some("0.8".to_string())),
            ("entitlement_capped", Some("no".into())),
            ("virtual_processors", Some("2".into())),
        ];
        assert_eq!(entitlement(text), expected);
        assert!(entitlement("").iter().all(|(_, value)| value.is_none()));
    }

    #[test]
    fn another_machine_tells_its_cloud() {
        let files =
            [("/proc/cpuinfo", "processor : 0\n"), ("/sys/class/dmi/id/sys_vendor", "Hetzner\n")];
        let files = files.map(|(path, text)| (path.to_string(), text.to_string())).into();
        let disclosure = disclosure_of(&files, None);
        assert_eq!(disclosure.get("cloud", "provider"), Some("Hetzner Cloud"));
        assert_eq!(disclosure.get("cloud", "region"), None);
    }

    #[test]
    fn the_hypervisor_flag_is_a_whole_word() {
        assert!(has_hypervisor_flag("flags\t\t: fpu hypervisor lahf_lm\n"));
        assert!(!has_hypervisor_flag("flags\t\t: fpu nohypervisor\n"));
    }
}
