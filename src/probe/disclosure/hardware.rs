//! CPUs and memory.

use std::collections::BTreeSet;

use super::{Fact, file};

/// Section `hardware`.
pub(super) fn facts() -> Vec<Fact> {
    let cpuinfo = file("/proc/cpuinfo").unwrap_or_default();
    let cpus = Cpus::parse(&cpuinfo);
    let governor = file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    vec![
        ("cpu_model", cpus.model),
        ("sockets", cpus.sockets.map(|count| count.to_string())),
        ("cores", cpus.cores.map(|count| count.to_string())),
        ("threads", (cpus.threads > 0).then(|| cpus.threads.to_string())),
        ("threads_usable", std::thread::available_parallelism().ok().map(|count| count.to_string())),
        ("smt", file("/sys/devices/system/cpu/smt/control")),
        ("numa_nodes", numa_nodes()),
        ("frequency_governor", governor),
        ("memory_mb", file("/proc/meminfo").and_then(|text| memory_mb(&text))),
    ]
}

/// What `/proc/cpuinfo` says; it has topology lines on x86 only.
#[derive(Debug, PartialEq, Eq)]
struct Cpus {
    model: Option<String>,
    sockets: Option<usize>,
    cores: Option<usize>,
    threads: usize,
}

impl Cpus {
    fn parse(text: &str) -> Self {
        let (mut sockets, mut cores, mut threads, mut model) = (BTreeSet::new(), BTreeSet::new(), 0, None);
        let mut socket = "";
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            match (name.trim(), value.trim()) {
                ("processor", _) => threads += 1,
                ("model name" | "Model" | "cpu model", value) => model = model.or(Some(value.to_string())),
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
        name.strip_prefix("node").is_some_and(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()))
    };
    Some(names.filter(is_node).count()).filter(|count| *count > 0).map(|count| count.to_string())
}

/// Total memory in 10^6 bytes.
fn memory_mb(meminfo: &str) -> Option<String> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some((kib * 1024 / 1_000_000).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_counted_per_socket() {
        let cpu = |n: u8, socket: u8, core: u8| {
            format!("processor\t: {n}\nmodel name\t: X 1\nphysical id\t: {socket}\ncore id\t\t: {core}\n\n")
        };
        let text = [cpu(0, 0, 0), cpu(1, 0, 0), cpu(2, 1, 0), cpu(3, 1, 0)].concat();
        let cpus = Cpus::parse(&text);
        assert_eq!(cpus, Cpus { model: Some("X 1".into()), sockets: Some(2), cores: Some(2), threads: 4 });
        assert_eq!(Cpus::parse("processor : 0\n").sockets, None);
    }

    #[test]
    fn memory_is_in_10_to_the_6_bytes() {
        let meminfo = include_str!("../../../tests/fixtures/proc/meminfo");
        assert_eq!(memory_mb(meminfo).as_deref(), Some("25203"));
    }
}
