//! The document of `run --format json`: one run with its tests. `docs/schema/run.schema.json` is
//! its schema.

mod details;
mod figures;
mod test;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::format::json;
use super::kpm::KpmReport;
use super::{Document, Input, Report, open_loop};
use dbdyno_core::model::{
    self, DeviceSync, Disclosure, LoadResult, OwnLoop, Provenance, RunKind, RunRecord, RunStatus,
};
use test::Test;

/// Version of the structure; raised whenever a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// One run for programs, with every figure; for people its KPM report.
pub struct RunReport;

impl Report for RunReport {
    fn name(&self) -> &'static str {
        "run"
    }

    fn title(&self) -> &'static str {
        "one run with every figure of every test"
    }

    fn own_command(&self) -> Option<&'static str> {
        Some("results show")
    }

    fn build(&self, input: &Input) -> Document {
        let data = input.runs.first().map(|data| document(&data.run, &data.tests));
        Document { data, ..KpmReport.build(input) }
    }
}

/// A run and its tests as JSON, in the order in which they ran.
pub fn document(run: &RunRecord, stored: &[model::Test]) -> Value {
    let mut tests: Vec<Test<'_>> = stored.iter().map(|test| Test::new(run, test)).collect();
    tests.sort_by_key(|test| test.seq());
    json::value(&Run {
        schema_version: SCHEMA_VERSION,
        run_id: run.id,
        name: run.name.as_deref(),
        kind: run.kind,
        provenance: run.provenance.as_ref(),
        target: &run.target,
        engine: run.engine.as_deref(),
        suite: &run.suite,
        labels: &run.labels,
        started_at: run.started_at.as_deref(),
        ended_at: run.ended_at.as_deref(),
        status: run.status,
        version: &run.version,
        command: &run.command,
        seed: run.seed,
        key_seed: run.plan.key_seed(),
        size_gb: run.size_gb,
        data_set_id: run.data_set_id.as_deref(),
        disclosure: &run.disclosure,
        own_loop: run.own_loop,
        device_sync: run.device_sync,
        loads: &run.loads,
        slo_answers: open_loop::slo_answers(run, stored),
        figures: figures::collect(stored),
        tests,
    })
}

#[derive(Serialize)]
struct Run<'a> {
    schema_version: u32,
    run_id: i64,
    name: Option<&'a str>,
    kind: RunKind,
    provenance: Option<&'a Provenance>,
    target: &'a str,
    engine: Option<&'a str>,
    suite: &'a str,
    labels: &'a BTreeMap<String, String>,
    started_at: Option<&'a str>,
    ended_at: Option<&'a str>,
    status: RunStatus,
    version: &'a str,
    command: &'a str,
    seed: Option<u64>,
    /// Seed of the keys of a measured run.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_seed: Option<u64>,
    size_gb: Option<f64>,
    data_set_id: Option<&'a str>,
    disclosure: &'a Disclosure,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_loop: Option<OwnLoop>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_sync: Option<DeviceSync>,
    loads: &'a [LoadResult],
    #[serde(rename = "promises", skip_serializing_if = "Vec::is_empty")]
    slo_answers: Vec<open_loop::SloAnswer<'a>>,
    figures: Vec<figures::OfRun<'a>>,
    tests: Vec<Test<'a>>,
}
