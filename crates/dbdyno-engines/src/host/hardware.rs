//! Processors and memory, of the machine and of the container that we are in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Fact, file};

/// Files with the memory limit of a control group.
const MEMORY_FILES: [&str; 2] = ["memory.max", "memory.limit_in_bytes"];

/// Logical processors that we may use.
pub fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |processors| processors.get() as u32)
}

/// Memory of this machine, in bytes.
pub fn machine_memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    // The types differ between architectures.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    (info.totalram as u64).saturating_mul(u64::from(info.mem_unit))
}

/// Memory of this machine, or of the container or control group we are in if that is less, in
/// bytes.
pub fn memory_bytes() -> u64 {
    let limits: Vec<String> =
        group_files(&file("/proc/self/cgroup").unwrap_or_default(), "memory", MEMORY_FILES)
            .iter()
            .filter_map(|path| file(path))
            .collect();
    least(machine_memory_bytes(), &limits)
}

/// Paths of a controller's files for control groups as `/proc/self/cgroup` names them, and of all
/// groups around them: of the unified hierarchy (`0::/a/b`) the file `unified`, of the controller's
/// own (`4:memory:/a/b`) the file `own`. A container sees its own group as the root.
pub(super) fn group_files(groups: &str, controller: &str, names: [&str; 2]) -> Vec<String> {
    let of_line = |line| files_of_group(line, controller, names);
    groups.lines().filter_map(of_line).flatten().collect()
}

/// Paths of the files for one line of `/proc/self/cgroup`; none if its hierarchy does not have the
/// controller.
fn files_of_group(line: &str, controller: &str, names: [&str; 2]) -> Option<Vec<String>> {
    let [unified, own_name] = names;
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let (root, name) = match controllers {
        "" => ("/sys/fs/cgroup".to_string(), unified),
        own if own.split(',').any(|one| one == controller) => {
            (format!("/sys/fs/cgroup/{controller}"), own_name)
        }
        _ => return None,
    };
    let around = Path::new(path).ancestors().map(|group| group.display().to_string());
    Some(around.map(|group| format!("{root}{}/{name}", group.trim_end_matches('/'))).collect())
}

/// The least of the machine's memory and the control groups' limits; `max` is none.
fn least(machine: u64, limits: &[String]) -> u64 {
    limits.iter().filter_map(|text| text.parse().ok()).fold(machine, u64::min)
}

/// Section `hardware` of the disclosure.
pub(super) fn facts() -> Vec<Fact> {
    let governor = file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let mut facts = processor_facts(&file("/proc/cpuinfo").unwrap_or_default());
    facts.extend([
        (
            "threads_usable",
            std::thread::available_parallelism().ok().map(|count| count.to_string()),
        ),
        ("smt", file("/sys/devices/system/cpu/smt/control")),
        ("numa_nodes", numa_nodes()),
        ("frequency_governor", governor),
        ("memory_mb", Some((machine_memory_bytes() / 1_000_000).to_string())),
    ]);
    let more = clock(Path::new(CPUS)).into_iter().chain(modules(Path::new(MEMORY_CONTROLLERS)));
    facts.extend(more.filter(|(_, value)| value.is_some()));
    facts
}

const CPUS: &str = "/sys/devices/system/cpu";
/// Directory in which the kernel's error detection lists memory modules, if a driver knows the
/// controllers.
const MEMORY_CONTROLLERS: &str = "/sys/devices/system/edac/mc";

/// The clock of the first processor, in MHz, and whether it may be exceeded; a guest is mostly not
/// told.
fn clock(cpus: &Path) -> Vec<Fact> {
    let of = |name: &str| file(cpus.join(name).to_str()?);
    let mhz = |name: &str| {
        let khz: u64 = of(name)?.parse().ok()?;
        Some((khz / 1000).to_string())
    };
    let yes = |is_so: bool| if is_so { "yes" } else { "no" }.to_string();
    let boost = of("cpufreq/boost").map(|flag| yes(flag == "1"));
    let turbo = || of("intel_pstate/no_turbo").map(|flag| yes(flag == "0"));
    vec![
        ("frequency_base_mhz", mhz("cpu0/cpufreq/base_frequency")),
        ("frequency_max_mhz", mhz("cpu0/cpufreq/cpuinfo_max_freq")),
        ("frequency_boost", boost.or_else(turbo)),
    ]
}

/// The modules of memory: their number, and their kind without what is the same for all servers
/// (`Registered-DDR4` is `DDR4`).
fn modules(controllers: &Path) -> Vec<Fact> {
    let below = |folder: &Path, begin: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(begin));
        named.map(|entry| entry.path()).collect()
    };
    let of = |folder: &Path, name: &str| file(folder.join(name).to_str()?);
    let slots = below(controllers, "mc").into_iter().flat_map(|controller| {
        ["dimm", "rank"].into_iter().flat_map(move |kind| below(&controller, kind))
    });
    let filled: Vec<PathBuf> =
        slots.filter(|slot| of(slot, "size").is_some_and(|megabytes| megabytes != "0")).collect();
    let kind = |slot: &PathBuf| {
        let kind = of(slot, "dimm_mem_type")?;
        Some(kind.rsplit('-').next()?.to_string()).filter(|kind| kind != "Unknown")
    };
    let kinds: BTreeSet<String> = filled.iter().filter_map(kind).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    vec![
        ("memory_type", Some(kinds).filter(|kinds| !kinds.is_empty())),
        ("memory_dimms", Some(filled.len()).filter(|count| *count > 0).map(|n| n.to_string())),
    ]
}

/// Facts from `/proc/cpuinfo`.
pub(super) fn processor_facts(cpuinfo: &str) -> Vec<Fact> {
    let cpus = Cpus::parse(cpuinfo);
    vec![
        ("cpu_model", cpus.model),
        ("sockets", cpus.sockets.map(|count| count.to_string())),
        ("cores", cpus.cores.map(|count| count.to_string())),
        ("threads", (cpus.threads > 0).then(|| cpus.threads.to_string())),
    ]
}

/// Content of `/proc/cpuinfo`; it has topology lines on x86 only.
#[derive(Debug, PartialEq, Eq)]
struct Cpus {
    model: Option<String>,
    sockets: Option<usize>,
    cores: Option<usize>,
    threads: usize,
}

impl Cpus {
    fn parse(text: &str) -> Self {
        let (mut sockets, mut cores, mut threads, mut model) =
            (BTreeSet::new(), BTreeSet::new(), 0, None);
        let mut socket = "";
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            match (name.trim(), value.trim()) {
                ("processor", _) => threads += 1,
                ("model name" | "Model" | "cpu model", value) => {
                    model = model.or(Some(value.to_string()))
                }
                ("physical id", value) => {
                    socket = value;
                    sockets.insert(value);
                }
                ("core id", value) => drop(cores.insert((socket, value))),
                _ => {}
            }
        }
        let some = |count: usize| (count > 0).then_some(count);
        Cpus { model, sockets: some(sockets.len()), cores: some(cores.len()), threads }
    }
}

fn numa_nodes() -> Option<String> {
    let entries = std::fs::read_dir("/sys/devices/system/node").ok()?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_node = |name: &String| {
        name.strip_prefix("node")
            .is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
    };
    Some(names.filter(is_node).count()).filter(|count| *count > 0).map(|count| count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_stands_in_the_own_group_or_around_it() {
        assert_eq!(
            group_files("0::/user.slice/a\n", "memory", MEMORY_FILES),
            ["/user.slice/a", "/user.slice", ""]
                .map(|group| format!("/sys/fs/cgroup{group}/memory.max"))
        );
        let groups = "9:cpu,cpuacct:/x\n4:memory:/x/y\n0::/\n";
        let old = group_files(groups, "memory", MEMORY_FILES);
        let expected = ["memory/x/y", "memory/x", "memory"]
            .map(|group| format!("/sys/fs/cgroup/{group}/memory.limit_in_bytes"));
        assert_eq!(old[..3], expected);
        assert_eq!(old[3..], ["/sys/fs/cgroup/memory.max"]);
    }

    #[test]
    fn cores_are_counted_per_socket() {
        let cpu = |n: u8, socket: u8, core: u8| {
            format!(
                "processor\t: {n}\nmodel name\t: X 1\nphysical id\t: {socket}\ncore id\t\t: \
                 {core}\n\n"
            )
        };
        let text = [cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 1, 0), cpu(3, 1, 0)].concat();
        let cpus = Cpus::parse(&text);
        assert_eq!(
            cpus,
            Cpus { model: Some("X 1".into()), sockets: Some(2), cores: Some(2), threads: 4 }
        );
        assert_eq!(Cpus::parse("processor : 0\n").sockets, None);
    }

    /// Makes files below a directory.
    fn make_files(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_kernel_tells_clock_and_memory_modules() {
        let cpus = make_files(&[
            ("cpu0/cpufreq/base_frequency", "2900000\n"),
            ("cpu0/cpufreq/cpuinfo_max_freq", "3600000\n"),
            ("intel_pstate/no_turbo", "0\n"),
        ]);
        let told = clock(cpus.path()).into_iter().filter_map(|(_, value)| value);
        assert_eq!(told.collect::<Vec<_>>(), ["2900", "3600", "yes"]);
        let modules_of = |files: &[(&str, &str)]| {
            modules(make_files(files).path())
                .into_iter()
                .map(|(_, value)| value)
                .collect::<Vec<_>>()
        };
        let found = modules_of(&[
            ("mc0/dimm0/size", "32768"),
            ("mc0/dimm0/dimm_mem_type", "Registered-DDR4"),
            ("mc0/dimm1/size", "0"),
            ("mc0/dimm1/dimm_mem_type", "Unknown"),
            ("mc1/dimm0/size", "32768"),
            ("mc1/dimm0/dimm_mem_type", "Registered-DDR4"),
            ("power/control", "auto"),
        ]);
        assert_eq!(found, [Some("DDR4".to_string()), Some("2".into())]);
        assert_eq!(modules_of(&[]), [None, None], "no driver knows the controllers");
    }

    #[test]
    fn a_container_may_have_less_memory_than_the_machine() {
        let machine = machine_memory_bytes();
        assert!(machine > 100_000_000);
        assert_eq!(least(machine, &["max".into(), String::new()]), machine);
        assert_eq!(least(25_203, &["20480".into(), "max".into()]), 20_480);
        assert_eq!(least(25_203, &["9223372036854771712".into()]), 25_203);
    }
}
