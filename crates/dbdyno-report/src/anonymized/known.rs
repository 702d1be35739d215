//! The words that a publication may hold: those of the catalog in the binary, of the probes'
//! statements and of the reports themselves. A user's own catalog adds none: it can hold any name.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use crate::Language;
use dbdyno_core::catalog::Catalog;
use dbdyno_core::model::{KpmValue, ReasonCode, StatableFact, Workload};

/// Every word that is known, by what it is a word of.
pub struct Known {
    /// Ids, names of parameters, units, codes, tables, counters and events.
    words: HashSet<String>,
    /// Names of settings.
    settings: HashSet<String>,
    /// Titles of workloads, and of the tests of suites, and descriptions of published tests.
    titles: HashSet<String>,
    groups: BTreeMap<String, String>,
    /// Facts that may be stated about a platform.
    statable: Vec<StatableFact>,
}

/// Names of settings whose values are numbers, switches or words of a list.
const SETTINGS: &str = include_str!("settings.txt");

/// Words that are neither in the catalog nor in a report's text: units and amounts of figures,
/// classes of errors, ways to load, parameters of an open loop, drives, activities, parts of a
/// server, and words in settings and facts.
const FURTHER: &str =
    "ops op ops/s rows/s IOPS dbps kB/tx waits rows commits units s ms us ns qps tps iops
    MB/s GB/s Mops kops % x -
    usage unreachable denied no-password privilege too-old lost deadlock certification
    serialization busy disk-full cancelled worker-lost statement
    copy-binary prepared-insert multi-insert load-data appender insert generated direct-path
    transaction session
    rate rate_profile think ramp hold spike day arrivals slo uniform poisson org heap jobs drive
    nodes size_gb seed database client database-pull
    cpu log-sync data-read data-write row-lock latch network other CPU IO LWLock Lock IPC Client
    Activity BufferPin Extension Timeout Stage background writer walwriter checkpointer
    autovacuum worker launcher logger startup archiver parallel backend
    on off yes no true false none auto try always never madvise default read write back through
    replica logical minimal fdatasync open_datasync fsync open_sync fsync_writethrough pglz lz4
    DataFileRead DataFileWrite DataFileExtend DataFileSync DataFileFlush DataFilePrefetch
    BufFileRead BufFileWrite SLRURead SLRUWrite SLRUSync DSMFillZeroWrite BuffileRead BuffileWrite
    SlruRead SlruWrite SlruSync DsmFillZeroWrite WalWrite WalSync WalInitWrite WalInitSync
    zstd local remote_write remote_apply all ddl mod top
    O_DIRECT O_DSYNC O_DIRECT_NO_FSYNC littlesync nosync
    READ-COMMITTED REPEATABLE-READ SERIALIZABLE READ-UNCOMMITTED
    one-thread-per-connection pool-of-threads
    performance powersave ondemand conservative schedutil userspace
    tsc kvm-clock hpet acpi_pm arch_sys_counter hyperv_clocksource_tsc_page xen
    mq-deadline kyber bfq noop deadline cfq
    ext2 ext3 ext4 xfs btrfs zfs f2fs tmpfs overlay nfs nfs4 ntfs apfs ceph fuse
    DDR2 DDR3 DDR4 DDR5 LPDDR4 LPDDR5 HBM2 HBM3
    debug release x86_64-linux aarch64-linux x86_64-macos aarch64-macos x86_64-windows
    WAL wal delete truncate persist memory full normal extra";

static KNOWN: LazyLock<Known> =
    LazyLock::new(|| Known::from_catalog(&Catalog::embedded().unwrap_or_default()));

impl Known {
    /// The words of the catalog in the binary.
    pub fn words() -> &'static Known {
        &KNOWN
    }

    fn from_catalog(catalog: &Catalog) -> Known {
        let mut words: HashSet<String> = FURTHER.split_whitespace().map(String::from).collect();
        let mut titles = HashSet::new();
        for workload in catalog.workloads() {
            titles.insert(workload.title.clone());
            words.extend(words_of(workload));
        }
        for suite in catalog.suites() {
            words.insert(suite.id.clone());
            for entry in &suite.entries {
                words.extend(entry.code.clone());
                titles.extend(entry.title.clone());
            }
        }
        for code in &catalog.published().codes {
            words.extend(
                [code.code.clone(), code.group.clone()].into_iter().chain(code.kpm.clone()),
            );
            titles.insert(code.description.clone());
            words
                .extend(code.params.iter().flat_map(|(name, value)| [name.clone(), value.clone()]));
        }
        words.extend(catalog.published().suites.iter().cloned());
        words.extend(catalog.engines().into_iter().map(String::from));
        words.extend(catalog.counters().into_iter().map(String::from));
        words.extend(ReasonCode::ALL.iter().map(|code| code.as_str().to_string()));
        words.extend(dbdyno_core::analysis::published::metrics().map(String::from));
        for engine in catalog.engines() {
            for version in catalog.probe_versions(engine) {
                let blocks = catalog.probes(engine, &version);
                words.extend(blocks.iter().flat_map(|block| tokens(&block.text)).map(String::from));
            }
        }
        for data_set in catalog.datasets() {
            words.extend(tokens(&data_set.toml).map(String::from));
        }
        let groups: BTreeMap<String, String> =
            catalog.groups().iter().map(|group| (group.id.clone(), group.title.clone())).collect();
        words.extend(groups.keys().cloned());
        let listed = SETTINGS.lines().filter(|line| !line.starts_with('#'));
        let settings = listed.flat_map(str::split_whitespace).map(String::from).collect();
        for texts in [&mut words, &mut titles] {
            texts.retain(|text| !text.is_empty());
        }
        Known { words, settings, titles, groups, statable: catalog.statable().to_vec() }
    }

    /// True if it is one of the words: an id, a unit, a counter.
    pub fn word(&self, text: &str) -> bool {
        self.words.contains(text)
    }

    /// True if servers have a setting of this name without anybody adding it.
    pub fn setting(&self, name: &str) -> bool {
        self.settings.contains(name) || self.words.contains(name)
    }

    /// The fact of this name, if the embedded catalog allows it to be stated.
    pub fn statable(&self, name: &str) -> Option<&StatableFact> {
        self.statable.iter().find(|fact| fact.name == name)
    }

    /// True if a workload of the embedded catalog, or a published test, has this title.
    pub fn title(&self, text: &str) -> bool {
        self.titles.contains(text)
    }

    /// True if a report says so in its own words: it is translated.
    pub fn phrase(&self, text: &str) -> bool {
        text.is_empty() || Language::German.knows(text)
    }

    /// Title of a group of the embedded catalog.
    pub fn group(&self, id: &str) -> Option<&str> {
        self.groups.get(id).map(String::as_str)
    }
}

fn words_of(workload: &Workload) -> Vec<String> {
    let mut words = vec![workload.id.clone(), workload.group.clone()];
    words.extend(workload.aliases.iter().map(|alias| alias.code.clone()));
    words.extend(workload.tables.iter().cloned());
    for kpm in std::iter::once(&workload.kpm).chain(&workload.second) {
        words.push(kpm.unit.clone());
        words.extend(KpmValue::counter(&kpm.value).map(String::from));
    }
    for param in &workload.params {
        words.extend([param.name.clone(), param.default.clone()]);
        words.extend(param.values.iter().chain(param.engine_default.values()).cloned());
    }
    for claim in workload.contract.iter().chain(&workload.crosscheck) {
        words.push(claim.what.clone());
        words.extend(claim.per.iter().chain(&claim.when).cloned());
    }
    words
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|token| token.starts_with(|first: char| first.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_catalog_are_known_and_names_are_not() {
        let known = Known::words();
        for word in ["SRV-QUERY1", "TP", "update_pct", "heap", "T611", "logical_reads", "WALSync"] {
            assert!(known.word(word), "{word}");
        }
        assert!(known.setting("shared_buffers") && known.setting("innodb_buffer_pool_size"));
        assert!(known.phrase("the test ended in an error") && known.group("TP").is_some());
        for name in ["wilhelmina", "db1", "acme", "10.20.30.40", "/srv/data", ""] {
            assert!(!known.word(name) && !known.setting(name) && !known.title(name), "{name}");
        }
    }
}
