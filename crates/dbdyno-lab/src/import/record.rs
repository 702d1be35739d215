//! Runs and tests from rows of a publication.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::ImportedRun;
use super::platform::{self, Platforms};
use super::rows::{self, Row};
use dbdyno_core::analysis::published;
use dbdyno_core::catalog::Catalog;
use dbdyno_core::model::params::{THREADS, UPDATE_PCT};
use dbdyno_core::model::{
    Provenance, Published, PublishedKind, PublishedTest, Reason, RunKind, RunRecord,
};

/// Key of the rows that form one run.
type Key<'a> = (&'a str, &'a str, Option<u64>);

/// A run per study, platform and size of the database.
pub fn runs(
    rows: &[Row],
    platforms: &Platforms,
    catalog: &Catalog,
    command: &str,
) -> Vec<ImportedRun> {
    let tests = tests_by_run(rows, catalog);
    let keys: Vec<Key<'_>> = tests.iter().map(|(key, _)| *key).collect();
    tests
        .into_iter()
        .map(|(key, tests)| {
            let own: Vec<&Row> = rows.iter().filter(|row| row_key(row) == key).collect();
            let sizes = keys.iter().filter(|other| (other.0, other.1) == (key.0, key.1)).count();
            let run = record(&own, platforms.get(key.1), catalog, command, sizes > 1);
            let tests = tests
                .into_iter()
                .zip(1..)
                .map(|(test, seq)| result(test, seq, &run, catalog))
                .collect();
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
    studies.values_mut().for_each(|tests| choose_kpm(tests, |test| wish(test, catalog)));
    let split = |(key, count): (Key<'a>, usize)| {
        let tests =
            studies.get_mut(key.0).map(|tests| tests.drain(..count).collect()).unwrap_or_default();
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
        name: Some(name(row, has_sizes)),
        engine: row.engine.split_whitespace().next().map(String::from),
        suite: row.suite.clone(),
        labels: labels.into_iter().map(|(key, value)| (key.into(), value.clone())).collect(),
        started_at: date,
        command: command.into(),
        size_gb: row.database_size_gb,
        disclosure,
        provenance: Some(Provenance {
            sources,
            study: row.study.clone(),
            suite: row.suite.clone(),
            platform: row.platform.clone(),
            attributes,
        }),
        ..RunRecord::new(RunKind::Published, row.platform.clone())
    }
}

/// The platform's id; with the size of the database if the study has several.
fn name(row: &Row, has_sizes: bool) -> String {
    match row.database_size_gb.filter(|_| has_sizes) {
        Some(gb) if gb >= 1024.0 && gb % 1024.0 == 0.0 => {
            format!("{}-{}tb", row.platform, gb / 1024.0)
        }
        Some(gb) => format!("{}-{gb}gb", row.platform),
        None => row.platform.clone(),
    }
}

/// From everything that the rows say, so that the same rows give the same. Fields are closed by a
/// zero byte.
fn uid(rows: &[&Row]) -> String {
    let mut hash = Sha256::new();
    for field in rows.iter().flat_map(|row| row.fields()) {
        hash.update(field);
        hash.update([0]);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Meaning of a code of a publication.
struct Meaning {
    id: String,
    group: String,
    revision: u32,
    params: BTreeMap<String, String>,
}

fn wish(test: &Published, catalog: &Catalog) -> ExpectedKpm {
    let meaning = workload(test, catalog);
    let listed = catalog.published().code(&test.code, &test.description);
    let own = catalog.find(&meaning.id).ok().map(|asked| asked.entry.workload.kpm.unit.clone());
    ExpectedKpm { metric: listed.and_then(|listed| listed.kpm.clone()), unit: own }
}

/// An alias of the catalog decides; then the catalog's list of codes; then the code stands for
/// itself.
fn workload(test: &Published, catalog: &Catalog) -> Meaning {
    let listed = catalog.published().code(&test.code, &test.description);
    let mut params = listed.map(|listed| listed.params.clone()).unwrap_or_default();
    let asked =
        Some(&test.code).filter(|code| !code.is_empty()).and_then(|code| catalog.find(code).ok());
    let asked = asked.or_else(|| catalog.find(&listed?.workload).ok());
    if let Some(asked) = &asked {
        // "default" is what an engine of ours would take; a publication says more or nothing.
        params.extend(asked.params.clone().into_iter().filter(|(_, value)| value != "default"));
    }
    params.extend(test.update_pct.map(|percent| (UPDATE_PCT.to_string(), percent.to_string())));
    params.extend(
        test.threads
            .filter(|threads| *threads > 1)
            .map(|threads| (THREADS.to_string(), threads.to_string())),
    );
    let own = asked.map(|asked| &asked.entry.workload);
    let code = if test.code.is_empty() { &test.description } else { &test.code };
    Meaning {
        id: own
            .map(|own| &own.id)
            .or(listed.map(|listed| &listed.workload))
            .unwrap_or(code)
            .clone(),
        group: own
            .map(|own| &own.group)
            .or(listed.map(|listed| &listed.group))
            .map_or("PUBLISHED".into(), String::clone),
        revision: own.map_or(0, |own| own.revision),
        params,
    }
}

fn result(published: Published, seq: u32, run: &RunRecord, catalog: &Catalog) -> PublishedTest {
    let meaning = workload(&published, catalog);
    let mut test = PublishedTest {
        seq,
        workload: meaning.id,
        group: meaning.group,
        revision: meaning.revision,
        params: meaning.params,
        ..PublishedTest::unread(&run.suite, published)
    };
    published::fill(&mut test);
    test
}

/// Judges every test of a run; `checks` holds what our own checks found, per test.
pub fn judge(run: &mut ImportedRun, checks: Vec<Vec<Reason>>) {
    let origin = run
        .run
        .provenance
        .as_ref()
        .map(|from| format!("{} ({})", from.study, from.suite))
        .unwrap_or_default();
    for (test, checks) in run.tests.iter_mut().zip(checks) {
        test.verdict = published::judge(&test.published, &origin, checks);
    }
}

/// KPM that the catalog expects of a test.
struct ExpectedKpm {
    /// The metric that it is.
    metric: Option<String>,
    /// The unit of the workload's own KPM.
    unit: Option<String>,
}

/// Sets the KPM of every test. Of each code it is one and the same metric where tests have it: the
/// rate in which the study states speed or throughput of that code, else the metric in the
/// workload's own unit, else the best-known rate; of several stated ones that which most tests
/// have.
fn choose_kpm(tests: &mut [Published], wish_of: impl Fn(&Published) -> ExpectedKpm) {
    let all = tests.to_vec();
    for test in tests.iter_mut() {
        let same: Vec<&Published> = all.iter().filter(|other| is_same(other, test)).collect();
        let mut metrics: Vec<&str> =
            test.figures.iter().map(|figure| figure.metric.as_str()).collect();
        metrics.retain(|metric| {
            published::rank(metric).is_some() && test.figure(metric).is_some_and(|f| f.value > 0.0)
        });
        let ExpectedKpm { metric: wished, unit } = wish_of(test);
        metrics.sort_by_key(|metric| {
            let tests = same.iter().filter(|other| has(other, metric)).count();
            let in_unit =
                test.figure(metric).is_some_and(|figure| Some(&figure.unit) == unit.as_ref());
            let is_time = !published::is_rate(metric);
            (
                Some(*metric) != wished.as_deref(),
                is_time,
                !is_stated(&same, metric),
                !in_unit,
                std::cmp::Reverse(tests),
                published::rank(metric),
            )
        });
        test.kpm = metrics.first().map(|metric| (*metric).to_string());
    }
}

fn is_same(one: &Published, other: &Published) -> bool {
    one.code == other.code && (!one.code.is_empty() || one.description == other.description)
}

fn has(test: &Published, metric: &str) -> bool {
    test.figure(metric).is_some_and(|figure| figure.value > 0.0)
}

/// True if the study prints it as speed or throughput, in a table and not only in its text.
fn is_stated(tests: &[&Published], metric: &str) -> bool {
    let states = |test: &&&Published| {
        let figure = test.figure(metric).filter(|figure| !figure.note.contains("approximate"));
        test.kind != PublishedKind::Point && figure.is_some()
    };
    tests.iter().any(|test| states(&test))
}
