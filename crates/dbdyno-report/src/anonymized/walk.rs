//! A run as it may be published. Its JSON is walked by fields, and each text is held against what
//! its field may say. What no rule names is left out, so that a new field is not published by
//! accident.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::forms;
use super::known::Known;
use crate::RunTests;
use dbdyno_core::model::{
    Disclosure, Reason, RunRecord, Sentence, StoredPlan, Test, TestResult, sentence,
};

/// A run as it may be published.
#[derive(Debug, Clone)]
pub struct AnonymizedRun {
    /// The run under its letter.
    pub run: RunRecord,
    /// Its tests.
    pub tests: Vec<Test>,
    /// Names of what was removed.
    pub removed: BTreeSet<String>,
}

impl AnonymizedRun {
    /// The run with its tests, for a report.
    pub fn into_run_tests(self) -> RunTests {
        RunTests::new(self.run, self.tests)
    }
}

/// Form that a text must have.
#[derive(Clone, Copy)]
enum Form {
    /// A word of one of dbdyno's types, which can hold no other.
    Own,
    /// A word of the catalog; another one is numbered (`workload-1`).
    Word(&'static str),
    /// The name of a node of a cluster, which is numbered.
    Node,
    /// The name of a load generator, which is numbered.
    Machine,
    /// A form, or nothing.
    Only(fn(&str) -> bool),
    /// A hash; another one is numbered.
    Hash,
    /// An SLO of an open loop.
    Slo,
}

/// The content of a field.
enum Rule {
    Text(Form),
    /// Fields of dbdyno's types, whose names no run chooses.
    Fields,
    /// A map from words to figures; those of other words are left out.
    Figures,
    /// The same, where other words are numbered.
    Numbered(&'static str),
    /// A map from names of parameters or settings to values.
    Settings,
    /// A sentence of dbdyno with its values.
    Sentence,
    Reason,
    /// Nothing of it, and its name in the list of what was removed.
    Nothing(&'static str),
}

/// The rule of a field, within the field that holds it (`""`: the test itself).
fn rule(holder: &str, field: &str) -> Option<Rule> {
    use Form::{Hash, Machine, Node, Only, Own, Slo, Word};
    let known_title = |text: &str| Known::words().title(text);
    Some(match (holder, field) {
        ("", "workload") | ("parts" | "beside", "workload") => Rule::Text(Word("workload")),
        ("", "group") => Rule::Text(Word("group")),
        ("", "asked_as") | ("published", "code") => Rule::Text(Word("code")),
        ("", "title") | ("published", "description") => Rule::Text(Only(known_title)),
        ("", "hash") => Rule::Text(Hash),
        ("", "started_at") => Rule::Text(Only(forms::is_time)),
        ("published", "place") => Rule::Text(Only(forms::is_place)),
        ("published", "kpm") | ("figures", "metric") => Rule::Text(Word("metric")),
        (_, "unit") => Rule::Text(Word("unit")),
        ("kpm" | "second", "value") => Rule::Text(Own),
        ("value", "counter" | "counter-blocks") => Rule::Text(Word("counter")),
        ("events", "class") => Rule::Text(Word("class")),
        ("events", "name") => Rule::Text(Word("event")),
        ("explained" | "further", "cause") => Rule::Text(Word("cause")),
        ("node_figures" | "survivors" | "promotion", "name" | "node") => Rule::Text(Node),
        ("failover", "node" | "nodes") => Rule::Text(Node),
        ("workers", "name") => Rule::Text(Machine),
        ("offer", "promise") => Rule::Text(Slo),
        ("verdict" | "lasting" | "", "status" | "state" | "durability" | "drive")
        | ("beside", "drive")
        | ("kpm" | "second", "better")
        | ("offer", "arrivals")
        | ("snapshots", "moment")
        | ("events", "activity")
        | ("io" | "published" | "phase", "kind")
        | ("explained" | "further", "bound" | "outcome")
        | ("failover", "how") => Rule::Text(Own),
        ("", "params" | "chosen")
        | ("parts" | "beside", "params" | "chosen")
        | ("explained" | "further", "changed")
        | ("failover", "durability") => Rule::Settings,
        ("window" | "total" | "tally", "errors") => Rule::Numbered("error"),
        ("series", "sessions") => Rule::Numbered("class"),
        (_, "counters" | "window_counters" | "metrics" | "facts") => Rule::Figures,
        ("", "counter_intervals") => Rule::Figures,
        ("explained" | "further", "change") => Rule::Sentence,
        ("explained" | "further", "missing") => Rule::Nothing("why something could not be seen"),
        ("waits", "missing" | "io_missing") => Rule::Nothing("why something could not be seen"),
        ("", "profiles") => Rule::Nothing("statements and I/O by name"),
        ("", "server_log") => Rule::Nothing("log of the server"),
        ("", "login") => Rule::Nothing("how tests logged in"),
        ("", "first_error") => Rule::Nothing("first errors of tests"),
        ("figures", "note") => Rule::Nothing("notes of the publication"),
        ("verdict", "reasons") => Rule::Reason,
        (
            "",
            "window" | "total" | "latency" | "open" | "beside" | "job_figures" | "node_figures"
            | "parts" | "series" | "snapshots" | "kpm" | "second" | "verdict" | "lasting" | "waits"
            | "driver" | "workers" | "explained" | "failover" | "published",
        )
        | ("open", "offer" | "response" | "phases")
        | ("phases", "phase" | "response")
        | ("latency" | "response", "ops_per_sample")
        | ("job_figures" | "parts" | "beside", "tally")
        | ("window" | "total" | "tally", "connects")
        | ("parts" | "beside", "latency")
        | ("waits", "events" | "cost" | "io" | "processors")
        | ("explained" | "further", "further")
        | ("workers", "driver")
        | ("failover", "promotion" | "times" | "ledger" | "survivors")
        | ("published", "figures") => Rule::Fields,
        _ => return None,
    })
}

/// The fields of a KPM's value that name a counter.
const KPM_VALUE: &str = "value";
/// The stand-in for a text that is not published.
const LEFT_OUT: &str = "\u{2026}";
const OF_WORDS: &str = "messages of failures";

/// The publisher of a set of runs: a name that is not known has the same number in all of them.
pub struct Publisher {
    known: &'static Known,
    /// Texts that are numbered, by what they are.
    numbered: BTreeMap<&'static str, Vec<String>>,
    /// The parts that were removed from the run at hand.
    removed: BTreeSet<String>,
}

impl Publisher {
    pub fn new() -> Publisher {
        Publisher { known: Known::words(), numbered: BTreeMap::new(), removed: BTreeSet::new() }
    }

    /// A run without what names its platform, which gets a letter.
    pub fn run(&mut self, run: &RunRecord, tests: &[Test], letter: &str) -> AnonymizedRun {
        // Nodes and load generators are those of the run.
        self.numbered.retain(|kind, _| !["node", "worker"].contains(kind));
        let nodes = run.disclosure.get("database", "nodes").unwrap_or_default();
        let listed = nodes.split(", ").filter(|name| !name.is_empty()).map(String::from);
        self.numbered.insert("node", listed.collect());
        for test in tests.iter().filter_map(Test::measured) {
            self.number_nodes(test);
        }
        let run = self.record(run, letter);
        let tests = tests.iter().filter_map(|test| self.test(test)).collect();
        AnonymizedRun { run, tests, removed: std::mem::take(&mut self.removed) }
    }

    fn number_nodes(&mut self, test: &TestResult) {
        let failover =
            test.failover.iter().flat_map(|failover| failover.nodes.iter().chain([&failover.node]));
        for name in test.node_figures.iter().map(|node| &node.name).chain(failover) {
            self.number("node", name);
        }
    }

    fn record(&mut self, run: &RunRecord, letter: &str) -> RunRecord {
        let own = [
            ("name of the run", run.name.is_some()),
            ("target of the run", true),
            ("command line", !run.command.is_empty()),
            ("labels of the run", !run.labels.is_empty()),
            ("source of the publication", run.provenance.is_some()),
        ];
        self.removed.extend(
            own.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name.to_string()),
        );
        let only = |text: &Option<String>, fits: fn(&str) -> bool| {
            text.as_ref().filter(|text| fits(text)).cloned()
        };
        RunRecord {
            id: run.id,
            name: Some(letter.into()),
            kind: run.kind,
            provenance: None,
            target: letter.into(),
            engine: run.engine.as_ref().map(|engine| self.word("engine", engine)),
            suite: self.word("suite", &run.suite),
            labels: BTreeMap::new(),
            started_at: only(&run.started_at, forms::is_time),
            ended_at: only(&run.ended_at, forms::is_time),
            status: run.status,
            version: forms::release(&run.version).unwrap_or_default(),
            command: String::new(),
            seed: run.seed,
            size_gb: run.size_gb,
            data_set_id: only(&run.data_set_id, forms::is_hash),
            disclosure: self.disclosure(&run.disclosure),
            own_loop: run.own_loop,
            device_sync: run.device_sync,
            plan: StoredPlan::default(),
            loads: run
                .loads
                .iter()
                .map(|load| dbdyno_core::model::LoadResult {
                    table: self.word("table", &load.table),
                    method: self.word("method", &load.method),
                    ..load.clone()
                })
                .collect(),
        }
    }

    /// The test as it may be published; none if nothing is left without what was removed.
    fn test(&mut self, test: &Test) -> Option<Test> {
        let mut json = serde_json::to_value(test).ok()?;
        self.fields("", json.as_object_mut()?);
        serde_json::from_value(json).ok()
    }

    fn fields(&mut self, holder: &str, fields: &mut Map<String, Value>) {
        let names: Vec<String> = fields.keys().cloned().collect();
        for name in names {
            let Some(mut value) = fields.get_mut(&name).map(Value::take) else { continue };
            match self.value(holder, &name, &mut value) {
                true => drop(fields.insert(name, value)),
                false => drop(fields.remove(&name)),
            }
        }
    }

    /// Changes a field to what may be published; false if nothing is left of it.
    fn value(&mut self, holder: &str, field: &str, value: &mut Value) -> bool {
        if matches!(value, Value::Number(_) | Value::Bool(_) | Value::Null) {
            return true;
        }
        match rule(holder, field) {
            Some(Rule::Text(form)) if value.is_object() && field == KPM_VALUE => {
                let _ = form;
                value.as_object_mut().into_iter().for_each(|fields| self.fields(KPM_VALUE, fields));
            }
            Some(Rule::Text(form)) => self.texts(form, value),
            Some(Rule::Fields) => self.all_fields(field, value),
            Some(Rule::Figures) => return self.figures(value),
            Some(Rule::Numbered(kind)) => self.numbered_figures(kind, value),
            Some(Rule::Settings) => self.settings(value),
            Some(Rule::Sentence) => {
                self.in_place(value, |publisher, sentence| publisher.sentence(sentence))
            }
            Some(Rule::Reason) => self.reasons(value),
            Some(Rule::Nothing(name)) => {
                let is_there = match value {
                    Value::Array(items) => !items.is_empty(),
                    Value::Object(fields) => !fields.is_empty(),
                    _ => true,
                };
                if is_there {
                    self.removed.insert(name.to_string());
                }
                return self.nothing(holder, field, value);
            }
            None => return is_numbers(value),
        }
        true
    }

    /// Empties a field; false if it can be absent.
    fn nothing(&self, holder: &str, field: &str, value: &mut Value) -> bool {
        match (holder, field) {
            ("explained" | "further", "missing") => {
                let why = Sentence::new("for a reason that is not published");
                *value = serde_json::to_value(why).unwrap_or_default();
                true
            }
            ("figures", "note") => {
                *value = Value::String(String::new());
                true
            }
            _ => false,
        }
    }

    fn all_fields(&mut self, holder: &str, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.all_fields(holder, item)),
            Value::Object(fields) => self.fields(holder, fields),
            Value::String(text) => text.clear(),
            _ => {}
        }
    }

    fn texts(&mut self, form: Form, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.texts(form, item)),
            Value::String(text) => *text = self.text(form, text),
            _ => {}
        }
    }

    fn text(&mut self, form: Form, text: &str) -> String {
        match form {
            Form::Own => text.to_string(),
            Form::Word(kind) => self.word(kind, text),
            Form::Node => self.number("node", text),
            Form::Machine => self.number("worker", text).replace('-', " "),
            Form::Only(fits) => {
                if fits(text) {
                    text.to_string()
                } else {
                    String::new()
                }
            }
            Form::Hash if forms::is_hash(text) => text.to_string(),
            Form::Hash => self.number("work", text),
            Form::Slo => {
                if forms::is_slo(text) {
                    text.to_string()
                } else {
                    String::new()
                }
            }
        }
    }

    /// The word, if the catalog has it; else a number for it.
    fn word(&mut self, kind: &'static str, text: &str) -> String {
        let is_class = matches!(kind, "class" | "event") && self.is_of_words(text);
        match text.is_empty() || self.known.word(text) || is_class {
            true => text.to_string(),
            false => self.number(kind, text),
        }
    }

    fn is_of_words(&self, text: &str) -> bool {
        text.split([' ', ':', '/', '.']).all(|word| word.is_empty() || self.known.word(word))
    }

    fn number(&mut self, kind: &'static str, text: &str) -> String {
        let names = self.numbered.entry(kind).or_default();
        let place = names.iter().position(|name| name == text).unwrap_or_else(|| {
            names.push(text.to_string());
            names.len() - 1
        });
        if kind == "worker" {
            self.removed.insert("names of load generators".into());
        }
        format!("{kind}-{}", place + 1)
    }

    fn figures(&mut self, value: &mut Value) -> bool {
        let Some(fields) = value.as_object_mut() else { return false };
        fields.retain(|name, value| self.known.word(name) && is_numbers(value));
        true
    }

    fn numbered_figures(&mut self, kind: &'static str, value: &mut Value) {
        let Some(fields) = value.as_object_mut() else { return };
        *fields = std::mem::take(fields)
            .into_iter()
            .filter(|(_, value)| value.is_number())
            .map(|(name, value)| (self.word(kind, &name), value))
            .collect();
    }

    /// Parameters or settings: names that are known, and values that are numbers or known words.
    fn settings(&mut self, value: &mut Value) {
        let Some(fields) = value.as_object_mut() else { return };
        *fields = std::mem::take(fields)
            .into_iter()
            .filter_map(|(name, value)| {
                let name = match self.known.setting(&name) {
                    true => name,
                    false => self.number("parameter", &name),
                };
                let text = value.as_str()?;
                let text = match forms::is_number(text) || forms::is_slo(text) {
                    true => text.to_string(),
                    false => self.word("value", text),
                };
                Some((name, Value::String(text)))
            })
            .collect();
    }

    fn reasons(&mut self, value: &mut Value) {
        let Some(items) = value.as_array_mut() else { return };
        for item in items {
            self.in_place(item, Publisher::reason);
        }
    }

    /// Replaces what is written as JSON by what is made of it; by nothing if it cannot be read.
    fn in_place<T: serde::Serialize + serde::de::DeserializeOwned>(
        &mut self,
        value: &mut Value,
        publish: impl Fn(&mut Publisher, T) -> T,
    ) {
        let read = serde_json::from_value(value.take()).ok();
        let told = read.and_then(|read| serde_json::to_value(publish(self, read)).ok());
        *value = told.unwrap_or_default();
    }

    /// A reason in dbdyno's words, with values that may be published.
    fn reason(&mut self, reason: Reason) -> Reason {
        use dbdyno_core::model::ReasonCode;
        let code = match &reason.code {
            ReasonCode::Other(_) => ReasonCode::Other("other".into()),
            code => code.clone(),
        };
        let said = reason.to_sentence();
        let is_failure = [ReasonCode::Failed, ReasonCode::WorkerLost].contains(&code);
        let sentence = match is_failure {
            true => {
                self.removed.insert(OF_WORDS.into());
                Sentence::new("the test ended in an error")
            }
            false => self.sentence(said),
        };
        Reason::new(reason.status, code, sentence)
    }

    /// A sentence whose template is one of dbdyno's, with values that are numbers, known words, or
    /// nodes, which are numbered. Other values and other texts are left out.
    fn sentence(&mut self, sentence: Sentence) -> Sentence {
        let quoted = Sentence::quoted("").template;
        if !self.known.phrase(&sentence.template) || sentence.template == quoted {
            self.removed.insert(OF_WORDS.into());
            return Sentence::new("in words that are not published");
        }
        let template = sentence.template.clone();
        let values = sentence.values.into_iter().filter_map(|(name, value)| {
            let is_used = template.match_indices(&format!("{{{name}")).next().is_some();
            is_used.then(|| (name, self.sentence_value(value)))
        });
        let values = values.collect();
        Sentence { template: sentence.template, values }
    }

    fn sentence_value(&mut self, value: sentence::Value) -> sentence::Value {
        match value {
            sentence::Value::Number(_) | sentence::Value::Span(..) => value,
            sentence::Value::Sentence(inner) => sentence::Value::Sentence(self.sentence(inner)),
            sentence::Value::Text(text) => sentence::Value::Text(self.publishable_text(&text)),
        }
    }

    /// A text of known words, numbers and nodes; else what stands for one.
    fn publishable_text(&mut self, text: &str) -> String {
        if self.known.phrase(text) || self.known.word(text) || self.known.title(text) {
            return text.to_string();
        }
        let nodes = self.numbered.get("node").cloned().unwrap_or_default();
        let tokens: Vec<Option<String>> = text
            .split(", ")
            .map(|part| match nodes.contains(&part.to_string()) {
                true => Some(self.number("node", part)),
                false => self.is_publishable(part).then(|| part.to_string()),
            })
            .collect();
        match tokens.into_iter().collect::<Option<Vec<_>>>() {
            Some(parts) => parts.join(", "),
            None => {
                self.removed.insert(OF_WORDS.into());
                LEFT_OUT.into()
            }
        }
    }

    fn is_publishable(&self, text: &str) -> bool {
        const SIGNS: [char; 7] = [' ', '=', '(', ')', ';', '<', '>'];
        let is_told =
            |word: &str| word.is_empty() || forms::is_number(word) || self.known.setting(word);
        text.split(SIGNS).all(is_told) && (self.known.word(text) || !forms::is_address(text))
    }

    /// The facts that may be published, each in its form.
    pub fn disclosure(&mut self, disclosure: &Disclosure) -> Disclosure {
        let mut kept = Disclosure::default();
        let facts = disclosure
            .0
            .iter()
            .flat_map(|(section, facts)| facts.iter().map(move |fact| (section, fact)));
        for (section, (name, value)) in facts {
            match self.fact(section, name, value) {
                Some(told) => kept.set(section, name.as_str(), told),
                None => drop(self.removed.insert(self.fact_name(section, name))),
            }
        }
        kept
    }

    fn fact(&mut self, section: &str, name: &str, value: &str) -> Option<String> {
        let form = super::facts::form(section, name, self.known)?;
        if value == Disclosure::UNKNOWN {
            return Some(value.to_string());
        }
        if (section, name) == ("database", "nodes") {
            let nodes: Vec<&str> = value.split(", ").collect();
            return Some(
                nodes
                    .into_iter()
                    .map(|node| self.number("node", node))
                    .collect::<Vec<_>>()
                    .join(", "),
            );
        }
        let nodes = self.numbered.get("node").cloned().unwrap_or_default();
        let of_node = |part: &str| {
            let node = nodes.iter().find(|node| part.starts_with(&format!("{node}: ")))?;
            Some((node.clone(), part[node.len() + 2..].to_string()))
        };
        let each: Option<Vec<(String, String)>> = value.split("; ").map(of_node).collect();
        let Some(each) = each.filter(|each| !each.is_empty()) else {
            return form.publishable(value, self.known);
        };
        let told = each.into_iter().map(|(node, value)| {
            Some(format!(
                "{}: {}",
                self.number("node", &node),
                form.publishable(&value, self.known)?
            ))
        });
        told.collect::<Option<Vec<_>>>().map(|parts| parts.join("; "))
    }

    /// Name of a fact, if it is one of dbdyno's; a server, a catalog and an import can make up any
    /// name.
    fn fact_name(&self, section: &str, name: &str) -> String {
        match super::facts::is_named(section, name, self.known) {
            true => format!("{section}: {name}"),
            false => "facts that this program does not know by name".to_string(),
        }
    }
}

/// True for numbers, alone, in lists, and in fields whose names are dbdyno's words.
fn is_numbers(value: &Value) -> bool {
    match value {
        Value::Number(_) | Value::Bool(_) | Value::Null => true,
        Value::Array(items) => items.iter().all(is_numbers),
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            ["fraction", "freedom"].contains(&name.as_str()) && is_numbers(value)
        }),
        Value::String(_) => false,
    }
}
