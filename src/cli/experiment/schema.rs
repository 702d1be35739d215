//! The schema of the file, for completion and checks in an editor: made from what `run` declares
//! and what the catalog has.

use clap::{Arg, ArgAction, Args, Command};
use serde_json::{Map, Value, json};

use super::keys::Keys;
use crate::catalog::Catalog;
use crate::cli::args::RunArgs;
use crate::engine::ENGINES;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema as JSON.
pub fn schema(catalog: &Catalog) -> Value {
    let keys = Keys::of_run();
    let command = RunArgs::augment_args(Command::new("run"));
    let mut options = Map::new();
    for arg in command.get_arguments() {
        let name = arg.get_long().map(|name| name.replace('-', "_"));
        if let Some(name) = name.filter(|name| keys.has(name)) {
            let schema = option(catalog, &name, arg);
            options.insert(name, schema);
        }
    }
    let mut own = options.clone();
    own.insert("at".into(), target());
    own.insert("settings".into(), reference("texts", "settings of this server alone"));
    own.insert("labels".into(), reference("texts", "labels of the run on this target"));
    let one = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["at"],
        "properties": own,
    });
    options.insert("labels".into(), reference("texts", "labels of the run"));
    options.insert(
        "settings".into(),
        reference("texts", "settings of the private server, by its own names"),
    );
    let several = json!({ "type": "array", "minItems": 1, "items": { "anyOf": [target(), one] } });
    options.insert(
        "target".into(),
        json!({
            "description": "what is measured; several are measured one after the other",
            "anyOf": [target(), several],
        }),
    );
    options.insert(
        "test".into(),
        json!({
            "description": "single tests, instead of suite and workload: [[test]]",
            "type": "array", "items": test(catalog),
        }),
    );
    options.insert("compare".into(), compare());
    json!({
        "$schema": DRAFT,
        "title": "an experiment of dbdyno run FILE",
        "description": "The keys are the long options of 'dbdyno run', with _ for -.",
        "type": "object",
        "additionalProperties": false,
        "properties": options,
        "not": {
            "required": ["test"],
            "anyOf": [{ "required": ["suite"] }, { "required": ["workload"] }],
        },
        "$defs": {
            "texts": { "type": "object", "additionalProperties": { "type": ["string", "number"] } },
        },
    })
}

fn reference(name: &str, about: &str) -> Value {
    json!({ "description": about, "$ref": format!("#/$defs/{name}") })
}

fn target() -> Value {
    let names = ENGINES.iter().filter(|engine| engine.is_target()).map(|engine| engine.name());
    json!({
        "description": "an engine, a private cluster, or the URL of a server (without a password)",
        "anyOf": [{ "enum": names.collect::<Vec<_>>() }, { "type": "string" }],
    })
}

/// Schema of an option.
fn option(catalog: &Catalog, name: &str, arg: &Arg) -> Value {
    let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let words = match name {
        "suite" => catalog.suites().iter().map(|suite| suite.id.clone()).collect(),
        "workload" | "background" => {
            catalog.workloads().map(|workload| workload.id.clone()).collect()
        }
        "profile" => catalog.profiles().iter().map(|profile| profile.id.clone()).collect(),
        _ => Vec::new(),
    };
    let choices: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_string()).collect();
    let one = match arg.get_action() {
        ArgAction::SetTrue => return json!({ "description": about, "type": "boolean" }),
        _ if !choices.is_empty() => json!({ "enum": choices }),
        _ if !words.is_empty() => json!({ "anyOf": [{ "enum": words }, { "type": "string" }] }),
        _ => json!({ "type": ["string", "number"] }),
    };
    match arg.get_action() {
        ArgAction::Append => {
            json!({ "description": about, "anyOf": [one, { "type": "array", "items": one }] })
        }
        _ => {
            let mut one = one;
            one["description"] = about.into();
            one
        }
    }
}

/// A test, as suites have it (`catalog::SuiteEntry`).
fn test(catalog: &Catalog) -> Value {
    let ids: Vec<&str> = catalog.workloads().map(|workload| workload.id.as_str()).collect();
    let seconds = |about: &str| json!({ "description": about, "type": "number", "minimum": 0 });
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["workload"],
        "properties": {
            "workload": {
                "description": "id or alias, perhaps with parameters: ID:param=value",
                "anyOf": [{ "enum": ids }, { "type": "string" }],
            },
            "code": text("code of the test in a publication, which reports show"),
            "title": { "type": "string" },
            "class": { "type": "string" },
            "params": {
                "description": "values of parameters",
                "type": "object",
                "additionalProperties": { "type": "string" },
            },
            "each": {
                "description": "values of parameters, one test for each combination; [\"*\"]: \
                                every declared value",
                "type": "object",
                "additionalProperties": { "type": "array", "items": { "type": "string" } },
            },
            "jobs": text("numbers of jobs: 1,2,4 or 1..8 or 1..auto or 2*cores"),
            "drive": { "enum": ["database", "client"] },
            "rate": text("open loop: ops started per second, 100 or 100,200 or auto (with slo)"),
            "arrivals": {
                "description": "with rate: when ops are due",
                "enum": ["poisson", "uniform"],
            },
            "slo": text("with rate = \"auto\": what must be kept, p99<5ms"),
            "background": text("background workload: ID[:param=value,...]"),
            "background_jobs": {
                "description": "jobs of the background workload",
                "type": "integer",
                "minimum": 1,
            },
            "warmup_s": seconds("warm-up in seconds"),
            "duration_s": seconds("length of the window in seconds"),
            "precision": text("2%: until the mean is known so well"),
            "max_duration_s": seconds("with precision: the longest window in seconds"),
            "repeat": { "description": "how often it is run", "type": "integer", "minimum": 1 },
            "work": {
                "description": "fixed work of one job instead of fixed time",
                "type": "object",
                "additionalProperties": false,
                "required": ["amount", "unit"],
                "properties": {
                    "amount": { "type": "number" },
                    "unit": { "type": "string" },
                    "per_op": { "type": ["string", "number"] },
                    "grows_with": { "type": "string" },
                },
            },
            "least_time_scale": { "type": "number" },
        },
    })
}

/// Schema of a text.
fn text(about: &str) -> Value {
    json!({ "description": about, "type": "string" })
}

fn compare() -> Value {
    json!({
        "description": "the comparison at the end: every target with the first one, or one with \
                        earlier runs",
        "type": "object", "additionalProperties": false,
        "properties": {
            "baseline": { "description": "earlier runs of the platform: last:10, or KEY=VALUE of a \
                                          label", "type": "string" },
            "fail_below": { "description": "5%: exit with 1 if a figure is worse by more than this \
                                            beyond the noise, invalid or lost", "type": "string" },
            "junit": { "description": "also write the result as JUnit XML", "type": "string" },
        },
    })
}
