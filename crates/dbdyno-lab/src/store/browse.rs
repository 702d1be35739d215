//! Reading for those who look through a whole file: runs with their verdicts, what was measured in
//! several of them.

use std::collections::BTreeMap;

use super::Store;
use super::backend::{Answer, Row, StoreBackend};
use super::read::{self, RunSummary};
use super::tables::TEST;
use dbdyno_core::error::Result;
use dbdyno_core::model::Test;
use dbdyno_engines::engine::results_backend::SqlValue;

/// A run with what it can be found by.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEntry {
    /// Run as a line of `results list`.
    pub run: RunSummary,
    /// Name of the suite; empty if single workloads were chosen.
    pub suite: String,
    /// `key=value`.
    pub labels: Vec<String>,
    /// System or processors, as disclosed; of a publication its target.
    pub platform: Option<String>,
    /// Tests that are valid, conditional and invalid.
    pub verdicts: [u64; 3],
}

/// A point of a ramp that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint {
    /// Registry name of the engine.
    pub engine: String,
    /// System or processors, as disclosed; of a publication its target.
    pub platform: Option<String>,
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Group of the workload as in the catalog: `SRV`.
    pub group: String,
    /// `database` or `client`.
    pub drive: String,
    /// Number of jobs.
    pub jobs: u32,
    /// Unit of the KPM.
    pub unit: String,
    /// Parameters that were chosen.
    pub chosen: BTreeMap<String, String>,
    /// Number of runs that have it.
    pub runs: u64,
}

/// The platform of a run, of its disclosure; of a publication its target.
fn platform(base: &dyn StoreBackend) -> Answer<String> {
    let of = |fact: &str| base.json_text("disclosure", &["hardware", fact]);
    Ok(format!(
        "coalesce(nullif({}, 'unknown'), nullif({}, 'unknown'), CASE kind WHEN 'published' THEN \
         target END)",
        of("system")?,
        of("cpu_model")?
    ))
}

const VERDICTS: &str = "SELECT run_id, verdict, count(*) FROM test GROUP BY run_id, verdict";

fn of_workload() -> String {
    TEST.select_with_sql(
        "run_id",
        "WHERE run_id IN (SELECT run_id FROM test WHERE workload = ?1 AND jobs = ?2 AND run_id IN \
         (SELECT id FROM run WHERE kind = 'measured' ORDER BY id DESC LIMIT ?3)) ORDER BY run_id, \
         seq",
    )
}

impl Store {
    /// All runs with their verdicts, oldest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn listing(&self) -> Result<Vec<RunEntry>> {
        let platform = platform(self.base.as_ref()).map_err(|trouble| self.explain(trouble))?;
        let text = |row: &Row, at: usize| row.get(at).and_then(SqlValue::text).map(str::to_string);
        let number =
            |row: &Row, at: usize| row.get(at).and_then(SqlValue::integer).unwrap_or_default();
        let details =
            self.rows(&format!("SELECT id, suite, labels, {platform} FROM run"), Row::new())?;
        let details: BTreeMap<i64, Row> =
            details.into_iter().map(|row| (number(&row, 0), row)).collect();
        let mut verdicts: BTreeMap<i64, [u64; 3]> = BTreeMap::new();
        for row in self.rows(VERDICTS, Row::new())? {
            let at = ["valid", "conditional", "invalid"]
                .iter()
                .position(|word| text(&row, 1).as_deref() == Some(word));
            if let Some(at) = at {
                verdicts.entry(number(&row, 0)).or_default()[at] = number(&row, 2).unsigned_abs();
            }
        }
        let listed = |row: Row| {
            let run = self.summary(&row)?;
            let nothing = Row::new();
            let details = details.get(&run.id).unwrap_or(&nothing);
            let labels = text(details, 2).unwrap_or_default();
            let labels: BTreeMap<String, String> =
                serde_json::from_str(&labels).unwrap_or_default();
            Ok(RunEntry {
                suite: text(details, 1).unwrap_or_default(),
                labels: labels.into_iter().map(|(key, value)| format!("{key}={value}")).collect(),
                platform: text(details, 3),
                verdicts: verdicts.get(&run.id).copied().unwrap_or_default(),
                run,
            })
        };
        self.rows(read::LIST, Row::new())?.into_iter().map(listed).collect()
    }

    /// The measured runs that have a label, oldest first, by their ids.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn measured_with(&self, key: &str, value: &str) -> Result<Vec<i64>> {
        let pairs = self.base.json_pairs("labels").map_err(|trouble| self.explain(trouble))?;
        let sql = format!(
            "SELECT run.id FROM run, {pairs} AS label \
             WHERE kind = 'measured' AND label.key = ?1 AND label.value = ?2 ORDER BY run.id"
        );
        let rows = self.rows(&sql, vec![key.into(), value.into()])?;
        Ok(rows.iter().filter_map(|row| row.first()?.integer()).collect())
    }

    /// Measured workloads with their numbers of jobs and of runs: at most this many, those of the
    /// most runs first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn measured(&self, most: usize) -> Result<Vec<MeasuredPoint>> {
        let base = self.base.as_ref();
        let words = platform(base)
            .and_then(|platform| Ok((platform, base.json_text("rest", &["chosen"])?)));
        let (platform, chosen) = words.map_err(|trouble| self.explain(trouble))?;
        let sql = format!(
            "WITH place AS MATERIALIZED (SELECT id AS place_id, engine, {platform} AS platform \
             FROM run WHERE kind = 'measured'), point AS (SELECT min(id) AS test_id, \
             count(DISTINCT run_id) AS runs, platform, engine FROM test JOIN place ON place_id = \
             run_id GROUP BY engine, platform, workload, hash, params, drive, jobs ORDER BY runs \
             DESC, test_id LIMIT {most}) SELECT engine, platform, workload, workload_group, drive, \
             jobs, kpm_unit, {chosen}, runs FROM point JOIN test ON id = test_id ORDER BY runs \
             DESC, test_id"
        );
        let rows = self.rows(&sql, Row::new())?;
        Ok(rows.iter().filter_map(measured_from_row).collect())
    }

    /// The newest measured runs, at most so many, oldest first, by their ids.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn newest_measured(&self, most: u32) -> Result<Vec<i64>> {
        let sql = "SELECT id FROM run WHERE kind = 'measured' ORDER BY id DESC LIMIT ?1";
        let rows = self.rows(sql, vec![most.into()])?;
        Ok(rows.iter().rev().filter_map(|row| row.first()?.integer()).collect())
    }

    /// All tests of these runs, with the ids of their runs, oldest run first; without series and
    /// snapshots. In one query.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn tests_of(&self, runs: &[i64]) -> Result<Vec<(i64, Test)>> {
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<String> = runs.iter().map(i64::to_string).collect();
        let tail = format!("WHERE run_id IN ({}) ORDER BY run_id, seq", ids.join(", "));
        let rows = self.rows(&TEST.select_with_sql("run_id", &tail), Row::new())?;
        self.of_runs(rows)
    }

    /// All tests of those of the newest measured runs, at most so many, that have the workload at
    /// this number of jobs, with the ids of their runs, oldest run first; without series and
    /// snapshots. In one query.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn tests_beside(
        &self,
        workload: &str,
        jobs: u32,
        most_runs: u32,
    ) -> Result<Vec<(i64, Test)>> {
        let rows =
            self.rows(&of_workload(), vec![workload.into(), jobs.into(), most_runs.into()])?;
        self.of_runs(rows)
    }

    /// Tests from rows that begin with the id of their run.
    fn of_runs(&self, rows: Vec<Row>) -> Result<Vec<(i64, Test)>> {
        let read = |mut row: Row| {
            let run = row.remove(0).integer().unwrap_or_default();
            Ok((run, TEST.read(row).map_err(|what| self.damaged_error(what))?))
        };
        rows.into_iter().map(read).collect()
    }

    /// The tests of a run behind this number, in order, without series and snapshots.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn tests_after(&self, run_id: i64, seq: u32) -> Result<Vec<Test>> {
        self.items_by(
            &TEST,
            "WHERE run_id = ?1 AND seq > ?2 ORDER BY seq",
            vec![run_id.into(), seq.into()],
        )
    }

    /// Number of stored tests of a run.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn count_tests(&self, run_id: i64) -> Result<usize> {
        let count =
            self.number("SELECT count(*) FROM test WHERE run_id = ?1", vec![run_id.into()])?;
        Ok(count.map_or(0, |count| count.unsigned_abs() as usize))
    }
}

/// A row of what was measured.
fn measured_from_row(row: &Row) -> Option<MeasuredPoint> {
    let text = |at: usize| row.get(at)?.text().map(str::to_string);
    Some(MeasuredPoint {
        engine: text(0)?,
        platform: text(1),
        workload: text(2)?,
        group: text(3)?,
        drive: text(4)?,
        jobs: u32::try_from(row.get(5)?.integer()?).ok()?,
        unit: text(6)?,
        chosen: text(7).and_then(|chosen| serde_json::from_str(&chosen).ok()).unwrap_or_default(),
        runs: row.get(8)?.integer()?.unsigned_abs(),
    })
}
