//! Runs and tests from rows of a publication.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::platform::{self, Platforms};
use super::rows::{self, Row};
use super::{ImportedRun, kpm};
use crate::analysis::published;
use crate::catalog::Catalog;
use crate::model::params::{THREADS, UPDATE_PCT};
use crate::model::{
    Better, Drive, Kpm, KpmValue, Provenance, Published, PublishedKind, Reason, RunKind, RunRecord, RunStatus,
    TestResult,
};

/// What one run is made of.
type Key<'a> = (&'a str, &'a str, Option<u64>);

/// A run per study, platform and size of the database.
pub fn runs(rows: &[Row], platforms: &Platforms, catalog: &Catalog, command: &str) -> Vec<ImportedRun> {
    let tests = tests_by_run(rows, catalog);
    let keys: Vec<Key<'_>> = tests.iter().map(|(key, _)| *key).collect();
    tests
        .into_iter()
        .map(|(key, tests)| {
            let own: Vec<&Row> = rows.iter().filter(|row| row_key(row) == key).collect();
            let sizes = keys.iter().filter(|other| (other.0, other.1) == (key.0, key.1)).count();
            let run = record(&own, platforms.get(key.1), catalog, command, sizes > 1);
            let tests = tests.into_iter().zip(1..).map(|(test, seq)| result(test, seq, &run, catalog)).collect();
            ImportedRun { uid: uid(&own), run, tests }
        })
        .collect()
}

fn row_key(row: &Row) -> Key<'_> {
    (&row.study, &row.platform, row.database_size_gb.map(f64::to_bits))
}

/// The tests of every run with their KPMs, which are chosen over all platforms of a study.
fn tests_by_run<'a>(rows: &'a [Row], catalog: &Catalog) -> Vec<(Key<'a>, Vec<Published>)> {
    let mut by_run: Vec<(Key<'a>, Vec<&Row>)> = Vec::new();
    for row in rows {
        match by_run.iter_mut().find(|(key, _)| *key == row_key(row)) {
            Some((_, rows)) => rows.push(row),
            None => by_run.push((row_key(row), vec![row])),
        }
    }
    let mut studies: BTreeMap<&str, Vec<Published>> = BTreeMap::new();
    let mut sizes = Vec::new();
    for (key, rows) in by_run {
        let tests = rows::tests(&rows);
        sizes.push((key, tests.len()));
        studies.entry(key.0).or_default().extend(tests);
    }
    studies.values_mut().for_each(|tests| kpm::choose(tests, |test| wish(test, catalog)));
    let split = |(key, count): (Key<'a>, usize)| {
        let tests = studies.get_mut(key.0).map(|tests| tests.drain(..count).collect()).unwrap_or_default();
        (key, tests)
    };
    sizes.into_iter().map(split).collect()
}

fn record(
    rows: &[&Row],
    attributes: Option<&BTreeMap<String, String>>,
    catalog: &Catalog,
    command: &str,
    has_sizes: bool,
) -> RunRecord {
    let (row, attributes) = (rows[0], attributes.cloned().unwrap_or_default());
    let mut sources: Vec<String> = rows.iter().map(|row| row.source.clone()).collect();
    sources.sort();
    sources.dedup();
    let mut disclosure = platform::disclosure(&attributes, catalog.published());
    if !row.engine.is_empty() {
        disclosure.set("database", "version", &row.engine);
    }
    if let Some(size_gb) = row.database_size_gb {
        disclosure.set("data", "size_gb", size_gb.to_string());
    }
    let date = ["report_date", "study_year"].iter().find_map(|name| attributes.get(*name)).cloned();
    let labels = [("platform", &row.platform), ("study", &row.study)];
    RunRecord {
        id: 0,
        name: Some(name(row, has_sizes)),
        kind: RunKind::Published,
        target: row.platform.clone(),
        engine: row.engine.split_whitespace().next().unwrap_or("unknown").into(),
        suite: row.suite.clone(),
        labels: labels.into_iter().map(|(key, value)| (key.into(), value.clone())).collect(),
        started_at: date.unwrap_or_else(|| "unknown".into()),
        ended_at: None,
        status: RunStatus::Finished,
        version: env!("CARGO_PKG_VERSION").into(),
        command: command.into(),
        seed: 0,
        size_gb: row.database_size_gb.unwrap_or(0.0),
        data_set_id: "unknown".into(),
        disclosure,
        plan: serde_json::Value::Null,
        loads: Vec::new(),
        provenance: Some(Provenance {
            sources,
            study: row.study.clone(),
            suite: row.suite.clone(),
            platform: row.platform.clone(),
            attributes,
        }),
    }
}

/// The platform's id; with the size of the database if the study has several.
fn name(row: &Row, has_sizes: bool) -> String {
    match row.database_size_gb.filter(|_| has_sizes) {
        Some(gb) if gb >= 1024.0 && gb % 1024.0 == 0.0 => format!("{}-{}tb", row.platform, gb / 1024.0),
        Some(gb) => format!("{}-{gb}gb", row.platform),
        None => row.platform.clone(),
    }
}

/// From everything that the rows say, so that the same rows give the same. Fields are closed by a zero byte.
fn uid(rows: &[&Row]) -> String {
    let mut hash = Sha256::new();
    for field in rows.iter().flat_map(|row| row.fields()) {
        hash.update(field);
        hash.update([0]);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What a code of a publication is here.
struct Meaning {
    id: String,
    group: String,
    title: String,
    revision: u32,
    params: BTreeMap<String, String>,
}

fn wish(test: &Published, catalog: &Catalog) -> kpm::Wish {
    let meaning = workload(test, catalog);
    let listed = catalog.published().code(&test.code, &test.description);
    let own = catalog.find(&meaning.id).ok().map(|asked| asked.entry.workload.kpm.unit.clone());
    kpm::Wish { metric: listed.and_then(|listed| listed.kpm.clone()), unit: own }
}

/// An alias of the catalogue decides; then the catalogue's list of codes; then the code stands for itself.
fn workload(test: &Published, catalog: &Catalog) -> Meaning {
    let listed = catalog.published().code(&test.code, &test.description);
    let mut params = listed.map(|listed| listed.params.clone()).unwrap_or_default();
    let asked = Some(&test.code).filter(|code| !code.is_empty()).and_then(|code| catalog.find(code).ok());
    let asked = asked.or_else(|| catalog.find(&listed?.workload).ok());
    if let Some(asked) = &asked {
        // "default" is what an engine of ours would take; a publication says more or nothing.
        params.extend(asked.params.clone().into_iter().filter(|(_, value)| value != "default"));
    }
    params.extend(test.update_pct.map(|percent| (UPDATE_PCT.to_string(), percent.to_string())));
    params
        .extend(test.threads.filter(|threads| *threads > 1).map(|threads| (THREADS.to_string(), threads.to_string())));
    let own = asked.map(|asked| &asked.entry.workload);
    let code = if test.code.is_empty() { &test.description } else { &test.code };
    Meaning {
        id: own.map(|own| &own.id).or(listed.map(|listed| &listed.workload)).unwrap_or(code).clone(),
        group: own
            .map(|own| &own.group)
            .or(listed.map(|listed| &listed.group))
            .map_or("PUBLISHED".into(), String::clone),
        title: test.description.clone(),
        revision: own.map_or(0, |own| own.revision),
        params,
    }
}

fn result(test: Published, seq: u32, run: &RunRecord, catalog: &Catalog) -> TestResult {
    let meaning = workload(&test, catalog);
    let jobs = test.jobs.or((test.kind == PublishedKind::Speed).then_some(1)).unwrap_or(0);
    let kpm = Kpm { value: KpmValue::Units, unit: "-".into(), better: Better::Higher, scale: 1.0 };
    let mut result = TestResult {
        seq,
        workload: meaning.id,
        asked_as: Some(test.code.clone()).filter(|code| !code.is_empty()),
        group: meaning.group,
        title: meaning.title,
        revision: meaning.revision,
        hash: format!("published:{}:{}", run.suite, test.code),
        chosen: meaning.params.clone(),
        params: meaning.params,
        nodes: test.nodes.unwrap_or(1),
        jobs,
        published: Some(Box::new(test)),
        ..TestResult::blank(kpm, Drive::Database, run.started_at.clone())
    };
    published::fill(&mut result);
    result
}

/// Judges every test of a run; `checks` holds what our own checks found, per test.
pub fn judge(run: &mut ImportedRun, checks: Vec<Vec<Reason>>) {
    let origin = run.run.provenance.as_ref().map(|from| format!("{} ({})", from.study, from.suite)).unwrap_or_default();
    for (test, checks) in run.tests.iter_mut().zip(checks) {
        if let Some(published) = &test.published {
            test.verdict = published::judge(published, &origin, checks);
        }
    }
}
