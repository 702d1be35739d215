//! The facts of a disclosure that say how large and how fast a platform is and how it is set, but
//! not whose or which it is, each with the form of its value.

use super::forms;
use super::known::Known;
use dbdyno_core::model::{FactForm, STATED, StatableFact};

/// The form of a fact's value.
#[derive(Clone, Copy)]
pub enum Form<'a> {
    /// A number with its unit.
    Number,
    /// A word that is known, or a number; several with commas or spaces.
    Words,
    /// A product and its version.
    Version,
    /// A version alone.
    Release,
    Processor,
    Cipher,
    /// Names of the nodes, which are numbered.
    Nodes,
    /// A day, a month or a year.
    Date,
    /// A value that the catalog lists for a stated fact.
    Listed(&'a [String]),
}

use Form::{Cipher, Date, Listed, Nodes, Number, Processor, Release, Version, Words};

/// Facts that may be published. All others are removed, so that a new one is not published by
/// accident.
const KEPT: &[(&str, &[(&str, Form<'static>)])] = &[
    (
        "hardware",
        &[
            ("sockets", Number),
            ("cores", Number),
            ("threads", Number),
            ("threads_usable", Number),
            ("smt", Words),
            ("numa_nodes", Number),
            ("frequency_governor", Words),
            ("frequency_base_mhz", Number),
            ("frequency_max_mhz", Number),
            ("frequency_boost", Words),
            ("memory_type", Words),
            ("memory_dimms", Number),
            ("cpu_ghz", Number),
            ("cpu_model", Processor),
            ("memory_mb", Number),
            ("memory_gb", Number),
        ],
    ),
    (
        "os",
        &[
            ("kernel", Release),
            ("distribution", Version),
            ("transparent_huge_pages", Words),
            ("huge_pages", Number),
            ("swappiness", Number),
            ("clock_source", Words),
            ("entitlement", Number),
            ("entitlement_capped", Words),
            ("virtual_processors", Number),
        ],
    ),
    (
        "storage",
        &[
            ("rotational", Words),
            ("scheduler", Words),
            ("write_cache", Words),
            ("read_ahead_kb", Number),
            ("stripe_kb", Number),
            ("members", Number),
            ("queue_requests", Number),
            ("queue_depth", Number),
            ("fc_ports", Number),
            ("file_system", Words),
        ],
    ),
    (
        "database",
        &[
            ("engine", Words),
            ("version", Version),
            ("tls", Cipher),
            ("nodes", Nodes),
            ("pooler", Version),
            ("pooler_mode", Words),
            ("pooler_keeps_prepared", Words),
            ("quota_cpus", Number),
        ],
    ),
    (
        "dbdyno",
        &[("version", Release), ("build", Words), ("target", Words), ("quota_cpus", Number)],
    ),
    ("data", &[("size_gb", Number)]),
];
/// Topic of the settings that a server has by itself, if their values are numbers or words.
const SETTINGS: &str = "settings";
/// Facts that are removed, and may be named as such.
const REMOVED: &[(&str, &str)] = &[
    (
        "hardware",
        "cpu_family microcode caches system vendor product serial told_by l3_cache firmware",
    ),
    ("os", "virtualisation mitigations hostname cgroup container system"),
    ("storage", "path device model mount_options free_mb raid pcie fc_rate"),
    (
        "network",
        "round_trip_us transfer_mb_per_s link_delay_us link_held_by link_round_trip_us interface \
         speed host",
    ),
    ("cloud", "provider instance_type region zone disk_class"),
    ("database", "licensed_options repositories host user name"),
    ("dbdyno", "pid command started_at results command_line pack clock"),
    (SETTINGS, "cluster_consistency cluster_name tls port data_directory log_directory"),
];

/// The form of a fact that may be published.
pub fn form<'a>(section: &str, name: &str, known: &'a Known) -> Option<Form<'a>> {
    if section == SETTINGS {
        return if name == "tls" { Some(Cipher) } else { known.setting(name).then_some(Words) };
    }
    if section == STATED {
        return stated_form(known.statable(name)?);
    }
    let (_, facts) = KEPT.iter().find(|(known, _)| *known == section)?;
    facts.iter().find(|(known, _)| *known == name).map(|(_, form)| *form)
}

/// The form of a stated fact; none of free text, which can name anybody.
fn stated_form(fact: &StatableFact) -> Option<Form<'_>> {
    if !fact.publish {
        return None;
    }
    Some(match (fact.values.as_slice(), fact.form) {
        ([], FactForm::Number) => Number,
        ([], FactForm::Date) => Date,
        ([], FactForm::Text) => return None,
        (values, _) => Listed(values),
    })
}

/// True if this program knows the fact, and so may name it.
pub fn is_named(section: &str, name: &str, known: &Known) -> bool {
    let is_listed = |(of, names): &(&str, &str)| {
        *of == section && names.split_whitespace().any(|listed| listed == name)
    };
    let is_stated = section == STATED && known.statable(name).is_some();
    is_stated || form(section, name, known).is_some() || REMOVED.iter().any(is_listed)
}

impl Form<'_> {
    /// The part of a value that may be published; none if it has another form.
    pub fn publishable(self, value: &str, known: &Known) -> Option<String> {
        let whole = || value.to_string();
        let told = match self {
            Number => forms::is_number(value).then(whole),
            Words => are_words(value, known).then(whole),
            Cipher => forms::is_cipher(value).then(whole),
            Release => forms::release(value),
            Version => forms::version(value),
            Processor => forms::processor(value),
            Date => forms::is_time(value).then(whole),
            Listed(values) => values.iter().any(|listed| listed == value).then(whole),
            Nodes => None,
        };
        told.filter(|_| !forms::is_address(value))
    }
}

fn are_words(value: &str, known: &Known) -> bool {
    let is_word = |word: &str| {
        forms::is_number(word) || known.word(word) || known.word(&word.to_ascii_lowercase())
    };
    !value.is_empty()
        && (forms::is_number(value)
            || value.split([' ', ',']).all(|word| word.is_empty() || is_word(word)))
}
