//! Metrics of a node_exporter about its machine (<https://github.com/prometheus/node_exporter>), or
//! another program in its words (`dbdyno host-exporter`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use oxhttp::Client;
use oxhttp::model::header::AUTHORIZATION;
use oxhttp::model::{Body, Request, Uri};
use secrecy::{ExposeSecret, SecretString};

use crate::host;
use dbdyno_core::model::{Counters, Disclosure};

/// Longest wait for each step of an answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// A longer page is not one of a machine's figures.
const MAX_BYTES: u64 = 32 << 20;
/// Environment variable with the token that the exporter wants.
const TOKEN: &str = "DBDYNO_HOST_TOKEN";
/// Modes of CPU time, each with the name of our counter.
const MODES: [(&str, &str); 8] = [
    ("user", "os_cpu_user_s"),
    ("nice", "os_cpu_nice_s"),
    ("system", "os_cpu_sys_s"),
    ("idle", "os_cpu_idle_s"),
    ("iowait", "os_cpu_iowait_s"),
    ("irq", "os_cpu_irq_s"),
    ("softirq", "os_cpu_softirq_s"),
    ("steal", "os_cpu_steal_s"),
];
const MEMORY: [(&str, &str); 3] = [
    ("node_memory_MemAvailable_bytes", "os_mem_available_bytes"),
    ("node_memory_Cached_bytes", "os_page_cache_bytes"),
    ("node_memory_Dirty_bytes", "os_mem_dirty_bytes"),
];
const DISK: [(&str, &str); 8] = [
    ("node_disk_reads_completed_total", "os_disk_reads"),
    ("node_disk_writes_completed_total", "os_disk_writes"),
    ("node_disk_read_bytes_total", "os_disk_read_bytes"),
    ("node_disk_written_bytes_total", "os_disk_write_bytes"),
    ("node_disk_read_time_seconds_total", "os_disk_read_s"),
    ("node_disk_write_time_seconds_total", "os_disk_write_s"),
    ("node_disk_io_time_seconds_total", "os_disk_busy_s"),
    ("node_disk_flush_requests_total", "os_disk_flushes"),
];
const NETWORK: [(&str, &str); 2] = [
    ("node_network_receive_bytes_total", "os_net_received_bytes"),
    ("node_network_transmit_bytes_total", "os_net_sent_bytes"),
];

/// Checks the address of an exporter: `http://db1:9100/metrics`.
///
/// # Errors
/// The form that it must have.
pub fn exporter_url(text: &str) -> Result<String, String> {
    let told = "is not the address of a node_exporter; write http://db1:9100/metrics";
    let uri: Uri = text.parse().map_err(|_| told.to_string())?;
    let is_plain = uri.scheme_str() == Some("http") && uri.query().is_none();
    let host =
        uri.authority().filter(|host| is_plain && !host.as_str().contains('@')).ok_or(told)?;
    let path = if uri.path() == "/" { "/metrics" } else { uri.path() };
    Ok(format!("http://{host}{path}"))
}

/// An exporter of host metrics over HTTP.
pub(super) struct Exporter {
    url: String,
    client: Client,
    token: Option<SecretString>,
}

impl Exporter {
    pub(super) fn new(url: &str) -> Exporter {
        let token = host::variable(TOKEN).and_then(|token| token.into_string().ok());
        Exporter {
            url: url.to_string(),
            client: Client::new().with_global_timeout(REQUEST_TIMEOUT),
            token: token.map(SecretString::from),
        }
    }

    /// The page as it is now.
    pub(super) fn page(&self) -> Result<String, String> {
        let mut request = Request::builder().uri(&self.url);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose_secret()));
        }
        let request =
            request.body(Body::empty()).map_err(|_| format!("{TOKEN} is not a valid token"))?;
        let answer = self
            .client
            .request(request)
            .map_err(|error| format!("{} does not answer ({error})", self.url))?;
        if !answer.status().is_success() {
            return Err(format!("{} answers {}", self.url, answer.status()));
        }
        let mut text = String::new();
        let read = answer.into_body().take(MAX_BYTES).read_to_string(&mut text);
        read.map(|_| text).map_err(|error| format!("{} breaks off ({error})", self.url))
    }
}

type Labels<'a> = BTreeMap<&'a str, String>;

/// A line `name{label="value"} 1.5` of the text format of Prometheus, which that of OpenMetrics
/// extends.
#[derive(Debug, PartialEq)]
struct Sample<'a> {
    name: &'a str,
    labels: Labels<'a>,
    value: f64,
}

impl Sample<'_> {
    fn parse(line: &str) -> Option<Sample<'_>> {
        let (name, rest) = line.split_at(line.find(['{', ' '])?);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (Labels::new(), rest),
        };
        let value = rest.split_whitespace().next()?.parse().ok()?;
        Some(Sample { name, labels, value })
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// The labels up to the brace that ends them, and what follows.
fn labels(text: &str) -> Option<(Labels<'_>, &str)> {
    let (mut found, mut rest) = (Labels::new(), text);
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((found, after));
        }
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = parse_quoted(after)?;
        found.insert(name, value);
        rest = after;
    }
}

/// The text up to the quotation mark that ends it, and what follows.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut characters) = (String::new(), text.char_indices());
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            _ => value.push(character),
        }
    }
    None
}

/// The figures of a page.
pub(super) struct Page<'a>(Vec<Sample<'a>>);

impl Page<'_> {
    /// Reads a page.
    ///
    /// # Errors
    /// It has no figures of processors: it is not that of a machine.
    pub(super) fn parse(text: &str) -> Result<Page<'_>, String> {
        let page = Page(
            text.lines().filter(|line| !line.starts_with('#')).filter_map(Sample::parse).collect(),
        );
        let told = "has no CPU metrics (node_cpu_seconds_total)";
        page.samples_of("node_cpu_seconds_total").next().map(drop).ok_or(told)?;
        Ok(page)
    }

    fn samples_of(&self, name: &str) -> impl Iterator<Item = &Sample<'_>> {
        self.0.iter().filter(move |sample| sample.name == name)
    }

    fn sum(&self, name: &str, wanted: impl Fn(&Sample<'_>) -> bool) -> Option<f64> {
        let found =
            self.samples_of(name).filter(|sample| wanted(sample)).map(|sample| sample.value);
        found.reduce(|sum, value| sum + value)
    }

    fn label(&self, name: &str, label: &str) -> Option<String> {
        self.samples_of(name).find_map(|sample| sample.label(label)).map(String::from)
    }

    /// Number of distinct values of these labels.
    fn distinct(&self, name: &str, labels: &[&str]) -> Option<String> {
        let of = |sample: &Sample<'_>| {
            labels
                .iter()
                .map(|label| sample.label(label).map(String::from))
                .collect::<Option<Vec<_>>>()
        };
        let found: BTreeSet<_> = self.samples_of(name).filter_map(of).collect();
        (!found.is_empty()).then(|| found.len().to_string())
    }

    /// Name of the exporter: `node_exporter 1.5.0`.
    pub(super) fn source(&self) -> String {
        let of = |info, product| Some(format!("{product} {}", self.label(info, "version")?));
        let known = of("node_exporter_build_info", "node_exporter")
            .or_else(|| of("dbdyno_probe_info", "dbdyno host-exporter"));
        known.unwrap_or_else(|| "node_exporter".into())
    }

    /// Sets the counters of the machine; those of a disk if it is known to hold `directory`.
    pub(super) fn set(&self, directory: Option<&str>, counters: &mut Counters) {
        let mut total_s = 0.0;
        for (mode, name) in MODES {
            let is_mode = |sample: &Sample<'_>| sample.label("mode") == Some(mode);
            if let Some(seconds) = self.sum("node_cpu_seconds_total", is_mode) {
                counters.set(name, seconds);
                total_s += seconds;
            }
        }
        counters.set("os_cpu_total_s", total_s);
        let mut all = |names: &[(&str, &str)], wanted: &dyn Fn(&Sample<'_>) -> bool| {
            for (told, name) in names {
                self.sum(told, wanted).into_iter().for_each(|value| counters.set(*name, value));
            }
        };
        all(&MEMORY, &|_| true);
        all(&NETWORK, &|sample| sample.label("device") != Some("lo"));
        if let Some(disk) = directory.and_then(|directory| self.disk(directory)) {
            all(&DISK, &|sample| sample.label("device") == Some(&disk));
        }
    }

    /// The file system that holds a directory.
    fn file_system(&self, directory: &str) -> Option<&Sample<'_>> {
        let point = |sample: &Sample<'_>| {
            sample.label("mountpoint").map(|point| Path::new(point).to_path_buf())
        };
        let holds = |sample: &&Sample<'_>| {
            point(sample).is_some_and(|point| Path::new(directory).starts_with(point))
        };
        let depth =
            |sample: &&Sample<'_>| point(sample).map_or(0, |point| point.components().count());
        self.samples_of("node_filesystem_size_bytes").filter(holds).max_by_key(depth)
    }

    /// Name of the disk under a directory, as its counters call it: of a partition that is not
    /// counted the whole disk.
    fn disk(&self, directory: &str) -> Option<String> {
        let device =
            self.file_system(directory)?.label("device")?.strip_prefix("/dev/")?.to_string();
        let mapped = device.strip_prefix("mapper/").map(|name| {
            let mapped = self
                .samples_of("node_disk_device_mapper_info")
                .find(|sample| sample.label("name") == Some(name));
            mapped.and_then(|sample| sample.label("device")).map(String::from)
        });
        let device = mapped.unwrap_or(Some(device))?;
        let is_counted = |name: &String| {
            self.sum(DISK[0].0, |sample| sample.label("device") == Some(name)).is_some()
        };
        let whole = device.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let of_number = whole
            .strip_suffix('p')
            .filter(|disk| disk.ends_with(|last: char| last.is_ascii_digit()));
        let whole = of_number.unwrap_or(whole).to_string();
        [device, whole].into_iter().find(is_counted)
    }

    /// Facts about the machine.
    pub(super) fn disclosure(&self, directory: Option<&str>) -> Disclosure {
        let held = directory.and_then(|directory| self.file_system(directory));
        let of_held = |label| held.and_then(|sample| sample.label(label)).map(String::from);
        let memory = self.sum("node_memory_MemTotal_bytes", |_| true);
        let mut told = Disclosure::default();
        for (section, fact, value) in [
            ("hardware", "cpu_model", self.label("node_cpu_info", "model_name")),
            ("hardware", "sockets", self.distinct("node_cpu_info", &["package"])),
            ("hardware", "cores", self.distinct("node_cpu_info", &["package", "core"])),
            ("hardware", "threads", self.distinct("node_cpu_seconds_total", &["cpu"])),
            ("hardware", "memory_mb", memory.map(|bytes| ((bytes / 1e6) as u64).to_string())),
            ("os", "kernel", self.label("node_uname_info", "release")),
            ("os", "distribution", self.label("node_os_info", "pretty_name")),
            ("storage", "device", of_held("device")),
            ("storage", "file_system", of_held("fstype")),
        ] {
            told.set(section, fact, value.unwrap_or_else(|| Disclosure::UNKNOWN.to_string()));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "# HELP node_cpu_seconds_total Seconds\n\
        node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 12920.55\n\
        node_cpu_seconds_total{cpu=\"1\",mode=\"idle\"} 1.5e3 1700000000\n\
        node_cpu_seconds_total{cpu=\"1\",mode=\"system\"} 9.45\n\
        node_disk_reads_completed_total{device=\"nvme0n1\"} 8\n\
        node_disk_reads_completed_total{device=\"dm-0\"} 9\n\
        node_disk_device_mapper_info{device=\"dm-0\",name=\"vg-data\"} 1\n\
        node_filesystem_size_bytes{device=\"/dev/nvme0n1p2\",fstype=\"ext4\",mountpoint=\"/\"} 1\n\
        node_filesystem_size_bytes\
        {device=\"/dev/mapper/vg-data\",fstype=\"xfs\",mountpoint=\"/srv\"} 1\n\
        node_filesystem_size_bytes{device=\"tmpfs\",fstype=\"tmpfs\",mountpoint=\"/run\"} 1\n\
        node_network_receive_bytes_total{device=\"lo\"} 100\n\
        node_network_receive_bytes_total{device=\"eth0\"} 7\n\
        node_memory_MemTotal_bytes 2.5276502016e+10\n\
        node_os_info{pretty_name=\"A \\\"B\\\\ {1},\"} 1\n";

    fn read(directory: Option<&str>) -> Counters {
        let mut counters = Counters::default();
        Page::parse(PAGE).unwrap().set(directory, &mut counters);
        counters
    }

    #[test]
    fn processors_are_summed_and_the_loop_of_the_network_is_left_out() {
        let counters = read(None);
        assert_eq!(counters.get("os_cpu_idle_s"), Some(14_420.55));
        assert_eq!(counters.get("os_cpu_total_s"), Some(14_430.0));
        assert_eq!(counters.get("os_net_received_bytes"), Some(7.0));
        for unknown in ["os_cpu_user_s", "os_disk_reads", "os_mem_dirty_bytes", "os_net_sent_bytes"]
        {
            assert_eq!(counters.get(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_disk_is_the_one_under_the_directory_or_unknown() {
        let reads = |directory| read(Some(directory)).get("os_disk_reads");
        assert_eq!(reads("/var/lib/data"), Some(8.0), "of the partition's disk");
        assert_eq!(
            (reads("/srv/pg"), reads("/srvs"), reads("/run/pg")),
            (Some(9.0), Some(8.0), None)
        );
    }

    #[test]
    fn facts_are_told_or_unknown() {
        let told = Page::parse(PAGE).unwrap().disclosure(Some("/srv/pg"));
        let fact = |section, name| told.get(section, name);
        assert_eq!(
            (fact("hardware", "threads"), fact("hardware", "memory_mb")),
            (Some("2"), Some("25276"))
        );
        assert_eq!(
            (fact("os", "distribution"), fact("os", "kernel")),
            (Some("A \"B\\ {1},"), None)
        );
        assert_eq!(
            (fact("storage", "device"), fact("storage", "file_system")),
            (Some("/dev/mapper/vg-data"), Some("xfs"))
        );
    }

    proptest! {
        /// Answers of another program under an exporter's address, and a page that is damaged on
        /// the way.
        #[test]
        fn no_page_makes_the_reader_panic(
            edits in prop::collection::vec((0..PAGE.len(), any::<u8>(), 0..9usize), 1..9),
            directory in prop::option::of(".{0,20}"),
        ) {
            let mut bytes = PAGE.as_bytes().to_vec();
            for (at, byte, removed) in edits {
                let at = at.min(bytes.len());
                let end = (at + removed).min(bytes.len());
                bytes.splice(at..end, [byte]);
            }
            let text = String::from_utf8_lossy(&bytes);
            if let Ok(page) = Page::parse(&text) {
                let mut counters = Counters::default();
                page.set(directory.as_deref(), &mut counters);
                page.disclosure(directory.as_deref());
                page.source();
            }
        }
    }

    #[test]
    fn another_page_is_refused() {
        for text in [
            "",
            "<html>",
            "up 1\n",
            "node_cpu_seconds_total{cpu=\"0\n",
            "node_cpu_seconds_total{} x\n",
        ] {
            assert!(Page::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_is_plain_http_and_holds_no_secret() {
        assert_eq!(exporter_url("http://db1:9100").as_deref(), Ok("http://db1:9100/metrics"));
        assert_eq!(exporter_url("http://[::1]:9100/node").as_deref(), Ok("http://[::1]:9100/node"));
        for text in [
            "",
            "db1:9100",
            "https://db1/metrics",
            "http://u:p@db1/metrics",
            "http://db1/metrics?token=x",
        ] {
            assert!(exporter_url(text).is_err(), "{text}");
        }
    }
}
