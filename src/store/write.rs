//! Writing: a run as it becomes known, and one transaction per test.

use rusqlite::{Connection, ToSql, Transaction, TransactionBehavior, params_from_iter};
use serde::Serialize;

use super::columns::Table;
use super::tables::{LOAD, RUN, SERIES, SNAPSHOT, TEST};
use super::{Store, process};
use crate::error::{Error, Result};
use crate::model::{Explained, LoadResult, RunRecord, RunStatus, Test, TestResult, Verdict};

/// A run without what has tables or keys of its own.
#[derive(Serialize)]
pub(super) struct RunRow<'a>(#[serde(serialize_with = "without_id_and_loads")] &'a RunRecord);

fn without_id_and_loads<S: serde::Serializer>(run: &RunRecord, serializer: S) -> std::result::Result<S::Ok, S::Error> {
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
        self.in_transaction(|transaction| insert_run(transaction, run, process::this_process()))
    }

    /// Stores what has become known of the run `run.id` since [`Store::begin_run`]: disclosure, plan, loads, status.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn update_run(&mut self, run: &RunRecord) -> Result<()> {
        self.in_transaction(|transaction| {
            let mut values = RUN.values(&[], &RunRow(run)).map_err(Trouble::Shape)?;
            values.push(run.id.into());
            transaction.prepare_cached(&RUN.update_sql())?.execute(params_from_iter(values))?;
            transaction.execute("DELETE FROM load WHERE run_id = ?1", [run.id])?;
            insert_loads(transaction, run.id, &run.loads)
        })
    }

    /// Stores a test with its series and snapshots: all or nothing.
    ///
    /// # Errors
    /// If the file cannot be written or the run already has a test of this number.
    pub fn save_test(&mut self, run_id: i64, test: &TestResult) -> Result<()> {
        self.in_transaction(|transaction| insert_test(transaction, run_id, &Test::from(test.clone())))
    }

    /// Stores another verdict on a test.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn judge_again(&mut self, run_id: i64, seq: u32, verdict: &Verdict) -> Result<()> {
        const SQL: &str = "UPDATE test SET verdict = ?3, reasons = ?4 WHERE run_id = ?1 AND seq = ?2";
        let reasons = serde_json::to_string(&verdict.reasons);
        self.in_transaction(|transaction| {
            let reasons = reasons.map_err(|error| Trouble::Shape(error.to_string()))?;
            transaction.execute(SQL, (run_id, seq, verdict.status.to_string(), reasons))?;
            Ok(())
        })
    }

    /// Stores what an experiment said of the limiter of a test.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn explain_test(&mut self, run_id: i64, seq: u32, explained: &Explained) -> Result<()> {
        const SQL: &str =
            "UPDATE test SET rest = json_set(rest, '$.explained', json(?3)) WHERE run_id = ?1 AND seq = ?2";
        let explained = serde_json::to_string(explained);
        self.in_transaction(|transaction| {
            let explained = explained.map_err(|error| Trouble::Shape(error.to_string()))?;
            transaction.execute(SQL, (run_id, seq, explained))?;
            Ok(())
        })
    }

    /// Stores how and when (now) the run ended.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish_run(&mut self, run_id: i64, status: RunStatus) -> Result<()> {
        const SQL: &str = "UPDATE run SET status = ?2, ended_at = ?3, process = NULL WHERE id = ?1";
        self.in_transaction(|transaction| {
            transaction.execute(SQL, (run_id, status.name(), now()))?;
            Ok(())
        })
    }

    /// Deletes a run with everything that belongs to it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn delete(&mut self, run_id: i64) -> Result<()> {
        self.in_transaction(|transaction| {
            transaction.execute("DELETE FROM run WHERE id = ?1", [run_id])?;
            Ok(())
        })
    }

    /// Runs `work` in a transaction that is rolled back if it fails.
    pub(super) fn in_transaction<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Trouble>,
    ) -> Result<T> {
        let outcome = attempt(&mut self.connection, work);
        outcome.map_err(|trouble| match trouble {
            Trouble::Sqlite(error) => self.explain(error),
            Trouble::Shape(what) => {
                Error::target(super::failure::place(&self.path), format!("cannot store it ({what})"))
                    .advise("report this as a bug")
            }
            Trouble::Said(error) => error,
        })
    }
}

/// Why a transaction was rolled back.
pub(super) enum Trouble {
    Sqlite(rusqlite::Error),
    /// The value does not fit the declared columns.
    Shape(String),
    /// An error that is already in words.
    Said(Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Trouble::Sqlite(error)
    }
}

fn attempt<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, Trouble>,
) -> std::result::Result<T, Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

/// Inserts a run with its loads; gives its id.
pub(super) fn insert_run(
    transaction: &Transaction<'_>,
    run: &RunRecord,
    process: Option<String>,
) -> std::result::Result<i64, Trouble> {
    let id = insert(transaction, &RUN, &[&process], &RunRow(run))?;
    insert_loads(transaction, id, &run.loads)?;
    Ok(id)
}

fn insert_loads(transaction: &Transaction<'_>, run_id: i64, loads: &[LoadResult]) -> std::result::Result<(), Trouble> {
    insert_all(transaction, &LOAD, run_id, loads)
}

/// Inserts a test with its series and snapshots.
pub(super) fn insert_test(transaction: &Transaction<'_>, run_id: i64, test: &Test) -> std::result::Result<(), Trouble> {
    let test_id = insert(transaction, &TEST, &[&run_id], &test.without_seconds())?;
    insert_all(transaction, &SERIES, test_id, test.series())?;
    insert_all(transaction, &SNAPSHOT, test_id, test.snapshots())
}

fn insert_all<T: Serialize>(
    transaction: &Transaction<'_>,
    table: &Table,
    owner: i64,
    items: &[T],
) -> std::result::Result<(), Trouble> {
    for (item, position) in items.iter().zip(1_i64..) {
        insert(transaction, table, &[&owner, &position], item)?;
    }
    Ok(())
}

fn insert<T: Serialize>(
    transaction: &Transaction<'_>,
    table: &Table,
    keys: &[&dyn ToSql],
    item: &T,
) -> std::result::Result<i64, Trouble> {
    let values = table.values(keys, item).map_err(Trouble::Shape)?;
    transaction.prepare_cached(&table.insert_sql())?.execute(params_from_iter(values))?;
    Ok(transaction.last_insert_rowid())
}
