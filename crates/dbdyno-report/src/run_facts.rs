//! Facts of a run in lines of a label and a text: its platform, and how its figures were made. The
//! datasheet has all of them, the head of a page and the table of platforms some.

use std::collections::BTreeMap;

use super::document::Digits;
use super::shareable::shareable;
use super::{Input, Language, nodes};
use dbdyno_core::model::{RunKind, RunRecord, STATED};

/// A fact of the disclosure.
struct Fact {
    section: &'static str,
    key: &'static str,
    form: FactForm,
}

/// Form in which a fact is shown.
enum FactForm {
    /// Text as disclosed.
    Text,
    /// MB as GB.
    Megabytes,
    /// A count, by the sentences (`sockets_one`, `sockets_many`) of this key.
    Count(&'static str),
}

/// A line of the platform and the facts that make it.
struct PlatformLine {
    label: &'static str,
    facts: &'static [Fact],
}

const PLATFORM: [PlatformLine; 6] = [
    PlatformLine {
        label: "CPU",
        facts: &[
            Fact::text("hardware", "cpu_model"),
            Fact::count("sockets"),
            Fact::count("cores"),
            Fact::count("threads"),
        ],
    },
    PlatformLine { label: "Memory", facts: &[Fact::megabytes("hardware", "memory_mb")] },
    PlatformLine { label: "Virtualisation", facts: &[Fact::text("os", "virtualisation")] },
    PlatformLine {
        label: "Storage",
        facts: &[
            Fact::text("storage", "model"),
            Fact::text("storage", "device"),
            Fact::text("storage", "file_system"),
        ],
    },
    PlatformLine {
        label: "Operating system",
        facts: &[Fact::text("os", "distribution"), Fact::text("os", "kernel")],
    },
    PlatformLine { label: "Database", facts: &[Fact::text("database", "version")] },
];

impl Fact {
    const fn text(section: &'static str, key: &'static str) -> Fact {
        Fact { section, key, form: FactForm::Text }
    }

    const fn megabytes(section: &'static str, key: &'static str) -> Fact {
        Fact { section, key, form: FactForm::Megabytes }
    }

    /// A count of the hardware, which the sentences call as the disclosure does.
    const fn count(key: &'static str) -> Fact {
        Fact { section: "hardware", key, form: FactForm::Count(key) }
    }

    /// The fact of a run as it is shown; none if it is not known.
    fn of_run(&self, language: Language, run: &RunRecord) -> Option<String> {
        let value = run.disclosure.get(self.section, self.key)?;
        let Ok(number) = value.parse::<f64>() else { return Some(value.to_string()) };
        Some(match self.form {
            FactForm::Text => value.to_string(),
            FactForm::Megabytes => {
                // GB are 10^9 bytes.
                gigabytes(language, &language.number(number / 1e3, Digits::Decimals(1)))
            }
            FactForm::Count(key) => language.count(key, number as usize, &[]),
        })
    }
}

/// The platform of a run as it was disclosed: hardware, system, database, settings, stated facts.
pub(super) fn platform(input: &Input, run: &RunRecord) -> Vec<(String, String)> {
    let language = input.language;
    let line = |line: &PlatformLine| {
        (language.phrase(line.label), platform_line(language, run, line.facts))
    };
    let settings = (language.phrase("Settings"), settings(input, run));
    PLATFORM
        .iter()
        .map(line)
        .chain(durable_writes(language, run))
        .chain(nodes::facts(language, run))
        .chain([settings])
        .chain(stated_facts(language, run))
        .collect()
}

/// Durable writes of the device, where the run measured them.
fn durable_writes(language: Language, run: &RunRecord) -> Option<(String, String)> {
    let device = run.device_sync?;
    let rate = |per_s: f64| language.number(per_s, Digits::Significant(3));
    let (one, all) = (
        rate(device.fdatasync_per_s.max(device.dsync_per_s)),
        rate(device.fdatasync_all_per_s.max(device.dsync_all_per_s)),
    );
    let values = [("one", one.as_str()), ("all", &all), ("threads", &device.threads.to_string())];
    let text = language.say("{one} per second in one thread, {all} in {threads}", &values);
    Some((language.phrase("Durable writes"), text))
}

/// Stated facts about the platform, a line for each topic.
fn stated_facts(language: Language, run: &RunRecord) -> Vec<(String, String)> {
    let mut topics: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in run.disclosure.0.get(STATED).into_iter().flatten() {
        let (topic, key) = name.split_once('.').unwrap_or(("", name));
        topics.entry(topic).or_default().push(format!("{key}={value}"));
    }
    let line = |(topic, facts): (&str, Vec<String>)| {
        (language.say("Stated: {topic}", &[("topic", topic)]), facts.join(", "))
    };
    topics.into_iter().map(line).collect()
}

/// Settings that decide what a commit, a cached block or a sort costs; a page has no room for all.
fn settings(input: &Input, run: &RunRecord) -> String {
    let language = input.language;
    let Some(all) = run.disclosure.0.get("settings") else { return language.phrase("unknown") };
    let names = input
        .key_settings
        .get(run.engine.as_deref().unwrap_or_default())
        .copied()
        .unwrap_or_default();
    let key = names
        .iter()
        .filter_map(|name| Some(format!("{name}={}", in_bytes(language, all.get(*name)?))));
    let shown: Vec<String> = key.collect();
    let more = all.len() - shown.len();
    let more = (more > 0).then(|| {
        language.say("{count} more in the run's disclosure", &[("count", &more.to_string())])
    });
    let parts = [Some(shown.join(", ")).filter(|shown| !shown.is_empty()), more];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A size that a server counts in blocks, `8192 8kB`, as people say it: `64 MB`. Others stand as
/// they are.
fn in_bytes(language: Language, value: &str) -> String {
    let blocks = value.split_once(' ').and_then(|(count, unit)| {
        let kilobytes = unit.strip_suffix("kB")?.parse::<f64>().ok()?;
        Some(count.parse::<f64>().ok()? * kilobytes)
    });
    let Some(kilobytes) = blocks else { return value.to_string() };
    let (size, unit) = match kilobytes {
        size if size >= 1024.0 && size % 1024.0 == 0.0 => (size / 1024.0, "MB"),
        size => (size, "kB"),
    };
    format!("{} {unit}", language.number(size, Digits::Decimals(0)))
}

fn platform_line(language: Language, run: &RunRecord, facts: &[Fact]) -> String {
    let known: Vec<String> = facts.iter().filter_map(|fact| fact.of_run(language, run)).collect();
    if known.is_empty() { language.phrase("unknown") } else { known.join(", ") }
}

fn gigabytes(language: Language, number: &str) -> String {
    language.say("{gb} GB", &[("gb", number)])
}

/// Origin of a run: number and name, command, version, time, data, windows.
pub(super) fn origin(language: Language, run: &RunRecord) -> Vec<(String, String)> {
    let name = run.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let facts = [
        ("Run", format!("{}{name}, {}", run.id, language.phrase(run.status.name()))),
        ("Command", shareable(&run.command)),
        ("Version", format!("dbdyno {}", run.version)),
        ("Time", time(language, run)),
        ("Data", data(language, run)),
    ];
    let windows = windows(language, run).map(|text| ("Windows", text));
    facts.into_iter().chain(windows).map(|(name, value)| (language.phrase(name), value)).collect()
}

/// The rule of `--retry-disturbed`.
const REDO: &str = "a disturbed test up to {times} times more; all are kept, figures are those of \
                    the best verdict";

/// `0.7 to 3 s; every test up to 3 times, in blocks; too short to be quoted`, as far as the plan
/// says so.
fn windows(language: Language, run: &RunRecord) -> Option<String> {
    let selections = run.plan.selections();
    let mut seconds: Vec<f64> = selections.iter().filter_map(|one| one.duration_s()).collect();
    seconds.sort_by(f64::total_cmp);
    let most = selections.iter().map(|one| one.repetitions()).max().unwrap_or(1);
    let [shortest, longest] =
        [seconds.first()?, seconds.last()?].map(|seconds| language.exactly(*seconds));
    let length = match shortest == longest {
        true => format!("{shortest} s"),
        false => language
            .say("{shortest} to {longest} s", &[("shortest", &shortest), ("longest", &longest)]),
    };
    let precision = selections.iter().find_map(|one| one.precision());
    let length = match precision.map(|half| language.exactly(half * 100.0) + " %") {
        None => length,
        Some(precision) => {
            let texts = [("precision", precision.as_str()), ("length", &length)];
            language.say("until accurate to +-{precision}, at most {length}", &texts)
        }
    };
    let times = most.to_string();
    let repeated = match run.plan.fresh() {
        Some("data") => "{times} blocks, each on data loaded anew",
        Some(_) => "{times} blocks, each on a server started anew",
        None => "every test up to {times} times, in blocks",
    };
    let repeated = (most > 1).then(|| language.say(repeated, &[("times", &times)]));
    let redo = run.plan.redo_disturbed().map(|times| times.to_string());
    let redo = redo.map(|times| language.say(REDO, &[("times", &times)]));
    let note = run.plan.note().map(|note| language.phrase(note));
    let more: Vec<String> = repeated.into_iter().chain(redo).chain(note).collect();
    let told = precision.is_some() || !more.is_empty();
    told.then(|| std::iter::once(length).chain(more).collect::<Vec<_>>().join("; "))
}

/// Time from start to end; of a publication its date.
fn time(language: Language, run: &RunRecord) -> String {
    let start = run
        .started_at
        .as_deref()
        .map_or_else(|| language.phrase("unknown"), |start| language.date(start));
    match (run.kind, &run.ended_at) {
        (RunKind::Published, None) => start,
        (_, Some(end)) => {
            language.say("{start} to {end}", &[("start", &start), ("end", &language.date(end))])
        }
        (_, None) => language.say("from {start}, not ended", &[("start", &start)]),
    }
}

/// Size, data set and seed; of a publication the size, if it is printed.
pub(super) fn data(language: Language, run: &RunRecord) -> String {
    let Some(size_gb) = run.size_gb else { return language.phrase("unknown") };
    let size = gigabytes(language, &language.exactly(size_gb));
    let nominal = language.say("{size} nominal", &[("size", &size)]);
    let Some((id, seed)) = run.data_set_id.as_ref().zip(run.seed) else { return nominal };
    let values = [("size", nominal.as_str()), ("id", id), ("seed", &seed.to_string())];
    language.say("{size}, data set {id}, seed {seed}", &values)
}
