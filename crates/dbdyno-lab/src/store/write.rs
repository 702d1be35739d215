//! Writing: a run as it becomes known, and one transaction per test.

use serde::Serialize;
use serde_json::Value;

use super::backend::{self, Answer, StoreBackend, Trouble};
use super::columns::Table;
use super::tables::{LOAD, RUN, SERIES, SNAPSHOT, TEST};
use super::{Store, process};
use dbdyno_core::error::Result;
use dbdyno_core::model::{
    ExperimentResult, LoadResult, RunRecord, RunStatus, Test, TestResult, Verdict,
};
use dbdyno_engines::engine::results_backend::SqlValue;

/// A run without what has tables or keys of its own.
#[derive(Serialize)]
pub(super) struct RunRow<'a>(#[serde(serialize_with = "without_id_and_loads")] &'a RunRecord);

fn without_id_and_loads<S: serde::Serializer>(
    run: &RunRecord,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let mut document = serde_json::to_value(run).map_err(serde::ser::Error::custom)?;
    if let Some(fields) = document.as_object_mut() {
        fields.remove("id");
        fields.remove("loads");
    }
    document.serialize(serializer)
}

/// Now in UTC, to the second: as begin and end of a run are recorded.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

impl Store {
    /// Stores a new run as running in this process; gives its id (`run.id` is not used).
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin_run(&mut self, run: &RunRecord) -> Result<i64> {
        self.in_transaction(|base| {
            let id = insert_run(base, run, process::this_process())?;
            base.hold(id)?;
            Ok(id)
        })
    }

    /// Stores what has become known of the run `run.id` since [`Store::begin_run`]: disclosure,
    /// plan, loads, status.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn update_run(&mut self, run: &RunRecord) -> Result<()> {
        self.in_transaction(|base| {
            let mut values = RUN.values(&[], &RunRow(run)).map_err(Trouble::Shape)?;
            values.push(run.id.into());
            base.rows(&RUN.update_sql(), values)?;
            base.rows("DELETE FROM load WHERE run_id = ?1", vec![run.id.into()])?;
            insert_loads(base, run.id, &run.loads)
        })
    }

    /// Stores a test with its series and snapshots: all or nothing.
    ///
    /// # Errors
    /// If the file cannot be written or the run already has a test of this number.
    pub fn save_test(&mut self, run_id: i64, test: &TestResult) -> Result<()> {
        let stored =
            self.in_transaction(|base| insert_test(base, run_id, &Test::from(test.clone())));
        let unstored =
            || format!("what was measured from test {} on could not be stored", test.seq);
        stored.map_err(|error| error.preventing(&unstored()))
    }

    /// Stores another verdict on a test.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn judge_again(&mut self, run_id: i64, seq: u32, verdict: &Verdict) -> Result<()> {
        const SQL: &str =
            "UPDATE test SET verdict = ?3, reasons = ?4 WHERE run_id = ?1 AND seq = ?2";
        let reasons = serde_json::to_string(&verdict.reasons);
        self.in_transaction(|base| {
            let reasons = reasons.map_err(|error| Trouble::Shape(error.to_string()))?;
            let status = verdict.status.to_string();
            base.rows(SQL, vec![run_id.into(), seq.into(), status.into(), reasons.into()]).map(drop)
        })
    }

    /// Stores what an experiment said of the bottleneck of a test.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn explain_test(
        &mut self,
        run_id: i64,
        seq: u32,
        explained: &ExperimentResult,
    ) -> Result<()> {
        const READ: &str = "SELECT rest FROM test WHERE run_id = ?1 AND seq = ?2";
        const WRITE: &str = "UPDATE test SET rest = ?3 WHERE run_id = ?1 AND seq = ?2";
        let shape = |error: serde_json::Error| Trouble::Shape(error.to_string());
        self.in_transaction(|base| {
            let key = vec![SqlValue::from(run_id), seq.into()];
            let found = base.rows(READ, key.clone())?;
            let Some(rest) = found.first().and_then(|row| row.first()?.text()) else {
                return Ok(());
            };
            let mut rest: Value = serde_json::from_str(rest).map_err(shape)?;
            rest["explained"] = serde_json::to_value(explained).map_err(shape)?;
            base.rows(WRITE, [key, vec![rest.to_string().into()]].concat()).map(drop)
        })
    }

    /// Stores how and when (now) the run ended.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish_run(&mut self, run_id: i64, status: RunStatus) -> Result<()> {
        const SQL: &str = "UPDATE run SET status = ?2, ended_at = ?3, process = NULL WHERE id = ?1";
        self.in_transaction(|base| {
            base.rows(SQL, vec![run_id.into(), status.name().into(), now().into()])?;
            base.release(run_id)
        })
    }

    /// Deletes a run with everything that belongs to it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn delete(&mut self, run_id: i64) -> Result<()> {
        self.in_transaction(|base| {
            base.rows("DELETE FROM run WHERE id = ?1", vec![run_id.into()]).map(drop)
        })
    }

    /// Runs `work` in a transaction that is rolled back if it fails.
    pub(super) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&dyn StoreBackend) -> Answer<T>,
    ) -> Result<T> {
        backend::in_transaction(self.base.as_ref(), work).map_err(|trouble| self.explain(trouble))
    }
}

/// Inserts a run with its loads; gives its id.
pub(super) fn insert_run(
    base: &dyn StoreBackend,
    run: &RunRecord,
    process: Option<String>,
) -> Answer<i64> {
    let id = insert(base, &RUN, &[process.into()], &RunRow(run))?;
    insert_loads(base, id, &run.loads)?;
    Ok(id)
}

/// Inserts a run with its loads under the number that it has, which must be free.
pub(super) fn insert_numbered(base: &dyn StoreBackend, uid: &str, run: &RunRecord) -> Answer<()> {
    let id = insert(base, &RUN, &[None::<String>.into()], &RunRow(run))?;
    // Nothing refers to it yet.
    let numbered = "UPDATE run SET id = ?2, uid = ?3 WHERE id = ?1";
    base.rows(numbered, vec![id.into(), run.id.into(), uid.into()])?;
    insert_loads(base, run.id, &run.loads)
}

fn insert_loads(base: &dyn StoreBackend, run_id: i64, loads: &[LoadResult]) -> Answer<()> {
    insert_all(base, &LOAD, run_id, loads)
}

/// Inserts a test with its series and snapshots.
pub(super) fn insert_test(base: &dyn StoreBackend, run_id: i64, test: &Test) -> Answer<()> {
    let test_id = insert(base, &TEST, &[run_id.into()], &test.without_seconds())?;
    insert_all(base, &SERIES, test_id, test.series())?;
    insert_all(base, &SNAPSHOT, test_id, test.snapshots())
}

fn insert_all<T: Serialize>(
    base: &dyn StoreBackend,
    table: &Table,
    owner: i64,
    items: &[T],
) -> Answer<()> {
    let values = |(item, position): (&T, i64)| table.values(&[owner.into(), position.into()], item);
    let rows = items
        .iter()
        .zip(1_i64..)
        .map(values)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(Trouble::Shape)?;
    base.run(&table.insert_sql(), &rows).map(drop)
}

/// Inserts a row of a table whose rows are numbered; gives its number.
fn insert<T: Serialize>(
    base: &dyn StoreBackend,
    table: &Table,
    keys: &[SqlValue],
    item: &T,
) -> Answer<i64> {
    let values = table.values(keys, item).map_err(Trouble::Shape)?;
    let id = base.number(&format!("{} RETURNING id", table.insert_sql()), values)?;
    id.ok_or_else(|| Trouble::Shape(format!("{} gives no number", table.name)))
}
