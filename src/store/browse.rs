//! Reading for those who look through a whole file: runs with their verdicts, what was measured in several of them.

use std::collections::BTreeMap;

use rusqlite::Row;

use super::read::{self, RunSummary};
use super::tables::TEST;
use super::{Store, failure};
use crate::error::Result;
use crate::model::Test;

/// A run with what it can be found by.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub run: RunSummary,
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
pub struct Measured {
    pub engine: String,
    pub platform: Option<String>,
    pub workload: String,
    pub group: String,
    pub drive: String,
    pub jobs: u32,
    pub unit: String,
    /// Parameters that were chosen.
    pub chosen: BTreeMap<String, String>,
    /// Number of runs that have it.
    pub runs: u64,
}

/// Of the disclosure of a run.
const PLATFORM: &str = "coalesce(nullif(json_extract(disclosure, '$.hardware.system'), 'unknown'), \
    nullif(json_extract(disclosure, '$.hardware.cpu_model'), 'unknown'), CASE kind WHEN 'published' THEN target END)";

const VERDICTS: &str = "SELECT run_id, verdict, count(*) FROM test GROUP BY run_id, verdict";

const OF_WORKLOAD: &str = "SELECT run_id, id FROM test WHERE workload = ?1 AND jobs = ?2 \
    AND run_id IN (SELECT id FROM run WHERE kind = 'measured' ORDER BY id DESC LIMIT ?3) ORDER BY run_id, seq";

impl Store {
    /// All runs with their verdicts, oldest first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn listing(&self) -> Result<Vec<Listed>> {
        let details: BTreeMap<i64, (String, String, Option<String>)> = self
            .rows(&format!("SELECT id, suite, labels, {PLATFORM} FROM run"), [], |row| {
                Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
            })?
            .into_iter()
            .collect();
        let verdicts: Vec<(i64, String, i64)> =
            self.rows(VERDICTS, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let of = |run: i64| {
            ["valid", "conditional", "invalid"].map(|word| {
                let found = verdicts.iter().find(|(id, verdict, _)| *id == run && verdict == word);
                found.map_or(0, |(.., count)| count.unsigned_abs())
            })
        };
        let listed = |run: RunSummary| {
            let (suite, labels, platform) = details.get(&run.id).cloned().unwrap_or_default();
            let labels: BTreeMap<String, String> = serde_json::from_str(&labels).unwrap_or_default();
            let labels = labels.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
            Listed { verdicts: of(run.id), run, suite, labels, platform }
        };
        Ok(self.rows(read::LIST, [], read::summary)?.into_iter().map(listed).collect())
    }

    /// The measured runs that have a label, oldest first, by their ids.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn measured_with(&self, key: &str, value: &str) -> Result<Vec<i64>> {
        const SQL: &str = "SELECT run.id FROM run, json_each(labels) AS label \
            WHERE kind = 'measured' AND label.key = ?1 AND label.value = ?2 ORDER BY run.id";
        self.rows(SQL, (key, value), |row| row.get(0))
    }

    /// What was measured, at which numbers of jobs, in how many runs: at most so many, those of the most runs first.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn measured(&self, most: usize) -> Result<Vec<Measured>> {
        let sql = format!(
            "WITH point AS (SELECT min(test.id) AS test_id, count(DISTINCT run_id) AS runs, {PLATFORM} AS platform, engine \
             FROM test JOIN run ON run.id = run_id WHERE kind = 'measured' \
             GROUP BY engine, platform, workload, hash, params, drive, jobs ORDER BY runs DESC, test_id LIMIT {most}) \
             SELECT engine, platform, workload, workload_group, drive, jobs, kpm_unit, json_extract(rest, '$.chosen'), runs \
             FROM point JOIN test ON test.id = test_id ORDER BY runs DESC, test_id"
        );
        self.rows(&sql, [], measured)
    }

    /// The tests of a workload at a number of jobs in the newest measured runs, at most so many, with the ids of their runs,
    /// oldest run first; without series and snapshots.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn tests_of(&self, workload: &str, jobs: u32, most_runs: u32) -> Result<Vec<(i64, Test)>> {
        let found: Vec<(i64, i64)> =
            self.rows(OF_WORKLOAD, (workload, jobs, most_runs), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let read = |(run, test): (i64, i64)| {
            let tests = self.items::<Test>(&TEST, "WHERE id = ?1", test)?;
            let gone = || failure::damaged(&self.path, &format!("test {test} vanished"));
            Ok((run, tests.into_iter().next().ok_or_else(gone)?))
        };
        found.into_iter().map(read).collect()
    }

    /// The tests of a run behind this number, in order, without series and snapshots.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn tests_after(&self, run_id: i64, seq: u32) -> Result<Vec<Test>> {
        self.items_by(&TEST, "WHERE run_id = ?1 AND seq > ?2 ORDER BY seq", (run_id, seq))
    }

    /// How many tests of a run are stored.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn count_tests(&self, run_id: i64) -> Result<usize> {
        let found = self.ids("SELECT count(*) FROM test WHERE run_id = ?1", [run_id])?;
        Ok(found.first().map_or(0, |count| count.unsigned_abs() as usize))
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let all = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(params, |row| read(row))?.collect::<rusqlite::Result<Vec<T>>>()
        };
        all().map_err(|error| self.explain(error))
    }
}

fn measured(row: &Row<'_>) -> rusqlite::Result<Measured> {
    let chosen: Option<String> = row.get(7)?;
    let runs: i64 = row.get(8)?;
    Ok(Measured {
        engine: row.get(0)?,
        platform: row.get(1)?,
        workload: row.get(2)?,
        group: row.get(3)?,
        drive: row.get(4)?,
        jobs: row.get(5)?,
        unit: row.get(6)?,
        chosen: chosen.and_then(|chosen| serde_json::from_str(&chosen).ok()).unwrap_or_default(),
        runs: runs.unsigned_abs(),
    })
}
