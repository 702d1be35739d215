//! Reading: the list of runs, one run, its tests.

use rusqlite::{OptionalExtension, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::columns::Table;
use super::tables::{LOAD, RUN, SERIES, SNAPSHOT, TEST};
use super::{Store, failure, process};
use crate::error::{Error, Result, quote};
use crate::model::{RunKind, RunRecord, RunStatus, Test};

/// A run as a line of `runs list`; the field names are those of its JSON form.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    pub id: i64,
    pub name: Option<String>,
    pub kind: RunKind,
    pub target: String,
    pub engine: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// `failed` if it was left running by a process that no longer exists.
    pub status: RunStatus,
    /// Number of stored tests.
    pub tests: u64,
}

pub(super) const LIST: &str = "SELECT id, name, target, engine, started_at, status, process, \
    (SELECT count(*) FROM test WHERE test.run_id = run.id), kind FROM run ORDER BY id";

const LAST: &str = "SELECT max(id) FROM run";
const BY_ID: &str = "SELECT id FROM run WHERE id = ?1";
const BY_NAME: &str = "SELECT max(id) FROM run WHERE name = ?1";

impl Store {
    /// All runs, oldest first, without reading a test.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>> {
        let mut statement = self.connection.prepare_cached(LIST).map_err(|error| self.explain(error))?;
        let rows = statement.query_map([], summary).map_err(|error| self.explain(error))?;
        rows.collect::<rusqlite::Result<_>>().map_err(|error| self.explain(error))
    }

    /// The run that `which` names: an id, a name (the newest run of that name), or `last`.
    ///
    /// # Errors
    /// If there is none: the message names the runs that exist.
    pub fn run(&self, which: &str) -> Result<RunRecord> {
        match self.find(which)? {
            Some(id) => self.run_by_id(id),
            None => Err(self.no_such_run(which)?),
        }
    }

    /// The tests of a run, in order, with series and snapshots.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn tests(&self, run_id: i64) -> Result<Vec<Test>> {
        let numbers = self.ids("SELECT id FROM test WHERE run_id = ?1 ORDER BY seq", [run_id])?;
        numbers.into_iter().map(|test_id| self.test(test_id)).collect()
    }

    /// One test of a run by its number, with series and snapshots.
    ///
    /// # Errors
    /// If there is none: the message names the numbers that exist.
    pub fn test_of(&self, run_id: i64, seq: u32) -> Result<Test> {
        let found = self.ids("SELECT id FROM test WHERE run_id = ?1 AND seq = ?2", (run_id, seq))?;
        match found.first() {
            Some(id) => self.test(*id),
            None => Err(self.no_such_test(run_id, seq)?),
        }
    }

    fn no_such_test(&self, run_id: i64, seq: u32) -> Result<Error> {
        let last = self.ids("SELECT max(seq) FROM test WHERE run_id = ?1", [run_id])?;
        let advice = match last.first() {
            Some(last) => format!("give a number from 1 to {last}; see 'dbdyno runs show {run_id}'"),
            None => "the run has none".into(),
        };
        let what = format!("holds no test {seq} of run {run_id}");
        Ok(Error::usage(failure::place(&self.path), what).advise(advice))
    }

    /// The tests of a run, in order, without series and snapshots: for everything that shows figures of whole tests.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn figures(&self, run_id: i64) -> Result<Vec<Test>> {
        self.items(&TEST, "WHERE run_id = ?1 ORDER BY seq", run_id)
    }

    fn test(&self, test_id: i64) -> Result<Test> {
        let tests = self.items::<Test>(&TEST, "WHERE id = ?1", test_id)?;
        let mut test = tests.into_iter().next().ok_or_else(|| self.damaged(format!("test {test_id} vanished")))?;
        if let Test::Measured(test) = &mut test {
            test.series = self.items(&SERIES, "WHERE test_id = ?1 ORDER BY position", test_id)?;
            test.snapshots = self.items(&SNAPSHOT, "WHERE test_id = ?1 ORDER BY position", test_id)?;
        }
        Ok(test)
    }

    /// The run with this id.
    pub(super) fn run_by_id(&self, id: i64) -> Result<RunRecord> {
        let documents = self.items::<Value>(&RUN, "WHERE id = ?1", id)?;
        let mut document = documents.into_iter().next().ok_or_else(|| self.damaged(format!("run {id} vanished")))?;
        document["id"] = id.into();
        document["loads"] = json!([]);
        let mut run: RunRecord =
            serde_json::from_value(document).map_err(|error| self.damaged(format!("run {id}: {error}")))?;
        run.loads = self.items(&LOAD, "WHERE run_id = ?1 ORDER BY position", id)?;
        if run.status == RunStatus::Running {
            run.status = actual(run.status, self.process_of(id)?.as_deref());
        }
        Ok(run)
    }

    fn process_of(&self, id: i64) -> Result<Option<String>> {
        let found = self.connection.query_row("SELECT process FROM run WHERE id = ?1", [id], |row| row.get(0));
        found.map_err(|error| self.explain(error))
    }

    fn find(&self, which: &str) -> Result<Option<i64>> {
        let one = |sql: &str, key: &dyn rusqlite::ToSql| {
            let found = self.connection.query_row(sql, [key], |row| row.get::<_, Option<i64>>(0)).optional();
            found.map(Option::flatten).map_err(|error| self.explain(error))
        };
        if which == "last" {
            return Ok(self.ids(LAST, [])?.first().copied());
        }
        if let Some(id) = which.parse::<i64>().ok().and_then(|id| one(BY_ID, &id).transpose()) {
            return id.map(Some);
        }
        one(BY_NAME, &which)
    }

    fn no_such_run(&self, which: &str) -> Result<Error> {
        let runs = self.runs()?;
        let place = failure::place(&self.path);
        let Some(last) = runs.last() else {
            return Ok(Error::usage(place, "holds no run yet").advise("measure something with 'dbdyno run'"));
        };
        let names: Vec<&str> = runs.iter().rev().filter_map(|run| run.name.as_deref()).take(5).collect();
        let names = if names.is_empty() { String::new() } else { format!(", or a name: {}", names.join(", ")) };
        let advice = format!("give an id from {} to {}{names}, or 'last'; see 'dbdyno runs list'", runs[0].id, last.id);
        Ok(Error::usage(place, format!("holds no run {}", quote(which))).advise(advice))
    }

    pub(super) fn ids(&self, sql: &str, params: impl Params) -> Result<Vec<i64>> {
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map(params, |row| row.get::<_, Option<i64>>(0))?;
            rows.filter_map(rusqlite::Result::transpose).collect::<rusqlite::Result<Vec<i64>>>()
        };
        read().map_err(|error| self.explain(error))
    }

    /// The items of a table that `tail` selects by one number.
    pub(super) fn items<T: DeserializeOwned>(&self, table: &Table, tail: &str, key: i64) -> Result<Vec<T>> {
        self.items_by(table, tail, [key])
    }

    /// The items of a table that `tail` selects.
    pub(super) fn items_by<T: DeserializeOwned>(&self, table: &Table, tail: &str, keys: impl Params) -> Result<Vec<T>> {
        let mut statement =
            self.connection.prepare_cached(&table.select_sql(tail)).map_err(|error| self.explain(error))?;
        let mut rows = statement.query(keys).map_err(|error| self.explain(error))?;
        let mut items = Vec::new();
        while let Some(row) = rows.next().map_err(|error| self.explain(error))? {
            items.push(table.read(row).map_err(|what| self.damaged(what))?);
        }
        Ok(items)
    }
}

/// The status to show: a run whose process is gone has failed.
fn actual(stored: RunStatus, process: Option<&str>) -> RunStatus {
    match stored {
        RunStatus::Running if !process.is_some_and(process::is_alive) => RunStatus::Failed,
        other => other,
    }
}

pub(super) fn summary(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let stored: String = row.get(5)?;
    let process: Option<String> = row.get(6)?;
    let tests: i64 = row.get(7)?;
    let kind: String = row.get(8)?;
    Ok(RunSummary {
        id: row.get(0)?,
        name: row.get(1)?,
        kind: RunKind::named(&kind),
        target: row.get(2)?,
        engine: row.get(3)?,
        started_at: row.get(4)?,
        status: actual(status(&stored), process.as_deref()),
        tests: tests.unsigned_abs(),
    })
}

/// The schema allows no other words; an unknown one can only come from a file changed by hand.
fn status(stored: &str) -> RunStatus {
    let known = [RunStatus::Running, RunStatus::Finished, RunStatus::Interrupted];
    known.into_iter().find(|status| status.name() == stored).unwrap_or(RunStatus::Failed)
}
