//! Reading: the list of runs, one run, its tests.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Store;
use super::backend::Row;
use super::columns::Table;
use super::tables::{LOAD, RUN, SERIES, SNAPSHOT, TEST};
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::{RunKind, RunRecord, RunStatus, Test};
use dbdyno_engines::engine::results_backend::SqlValue;

/// A run as a line of `results list`; the field names are those of its JSON form.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Number of the run in the results file, from 1.
    pub id: i64,
    /// Name that the user gave; none = the number stands for it.
    pub name: Option<String>,
    /// Origin of its tests.
    pub kind: RunKind,
    /// Target without password.
    pub target: String,
    /// Registry name of the engine.
    pub engine: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// `failed` if it was left running by a process that no longer exists.
    pub status: RunStatus,
    /// Number of stored tests.
    pub tests: u64,
}

/// Amount of data read: the cost of a report, independent of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reads {
    /// Number of queries.
    pub queries: u64,
    /// Number of rows that they returned.
    pub rows: u64,
}

pub(super) const LIST: &str = "SELECT id, name, target, engine, started_at, status, process, \
    (SELECT count(*) FROM test WHERE test.run_id = run.id), kind FROM run ORDER BY id";

/// Columns before those of a run: its number, and the process that writes it.
const BESIDE: &str = "id, process";

const FINISHED: &str = "SELECT id FROM run WHERE kind = 'measured' AND status = 'finished' AND id \
                        < ?1 ORDER BY id DESC LIMIT ?2";
const LAST: &str = "SELECT max(id) FROM run";
const BY_ID: &str = "SELECT id FROM run WHERE id = ?1";
const BY_NAME: &str = "SELECT max(id) FROM run WHERE name = ?1";

impl Store {
    /// All runs, oldest first, without reading a test.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>> {
        self.rows(LIST, Row::new())?.into_iter().map(|row| self.summary(&row)).collect()
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
        let mut series = self.of_tests(&SERIES, run_id)?;
        let mut snapshots = self.of_tests(&SNAPSHOT, run_id)?;
        let mut tests = Vec::new();
        for mut row in self.rows(
            &TEST.select_with_sql("id", "WHERE run_id = ?1 ORDER BY seq"),
            vec![run_id.into()],
        )? {
            let id = row.remove(0).integer();
            let mut test: Test = TEST.read(row).map_err(|what| self.damaged_error(what))?;
            if let (Test::Measured(test), Some(id)) = (&mut test, id) {
                test.series = series.remove(&id).unwrap_or_default();
                test.snapshots = snapshots.remove(&id).unwrap_or_default();
            }
            tests.push(test);
        }
        Ok(tests)
    }

    /// The items of a table that belong to the tests of a run, by test.
    fn of_tests<T: DeserializeOwned>(
        &self,
        table: &Table,
        run_id: i64,
    ) -> Result<BTreeMap<i64, Vec<T>>> {
        const TAIL: &str =
            "WHERE test_id IN (SELECT id FROM test WHERE run_id = ?1) ORDER BY test_id, position";
        let mut items: BTreeMap<i64, Vec<T>> = BTreeMap::new();
        for mut row in self.rows(&table.select_with_sql("test_id", TAIL), vec![run_id.into()])? {
            let test = row.remove(0).integer().unwrap_or_default();
            items
                .entry(test)
                .or_default()
                .push(table.read(row).map_err(|what| self.damaged_error(what))?);
        }
        Ok(items)
    }

    /// One test of a run by its number, with series and snapshots.
    ///
    /// # Errors
    /// If there is none: the message names the numbers that exist.
    pub fn test_of(&self, run_id: i64, seq: u32) -> Result<Test> {
        let found = self.number(
            "SELECT id FROM test WHERE run_id = ?1 AND seq = ?2",
            vec![run_id.into(), seq.into()],
        )?;
        match found {
            Some(id) => self.test(id),
            None => Err(self.no_such_test(run_id, seq)?),
        }
    }

    fn no_such_test(&self, run_id: i64, seq: u32) -> Result<Error> {
        let last =
            self.number("SELECT max(seq) FROM test WHERE run_id = ?1", vec![run_id.into()])?;
        let advice = match last {
            Some(last) => {
                format!("give a number from 1 to {last}; see 'dbdyno results show {run_id}'")
            }
            None => "the run has none".into(),
        };
        let what = format!("holds no test {seq} of run {run_id}");
        Ok(Error::usage(self.base.place(), what).advise(advice))
    }

    /// The tests of a run, in order, without series and snapshots: for everything that shows
    /// figures of whole tests.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn figures(&self, run_id: i64) -> Result<Vec<Test>> {
        self.items(&TEST, "WHERE run_id = ?1 ORDER BY seq", run_id)
    }

    fn test(&self, test_id: i64) -> Result<Test> {
        let tests = self.items::<Test>(&TEST, "WHERE id = ?1", test_id)?;
        let mut test = tests
            .into_iter()
            .next()
            .ok_or_else(|| self.damaged_error(format!("test {test_id} vanished")))?;
        if let Test::Measured(test) = &mut test {
            test.series = self.items(&SERIES, "WHERE test_id = ?1 ORDER BY position", test_id)?;
            test.snapshots =
                self.items(&SNAPSHOT, "WHERE test_id = ?1 ORDER BY position", test_id)?;
        }
        Ok(test)
    }

    /// The run with this id.
    pub(super) fn run_by_id(&self, id: i64) -> Result<RunRecord> {
        let found = self.rows(&RUN.select_with_sql(BESIDE, "WHERE id = ?1"), vec![id.into()])?;
        let row = found
            .into_iter()
            .next()
            .ok_or_else(|| self.damaged_error(format!("run {id} vanished")))?;
        let loads = self.items(&LOAD, "WHERE run_id = ?1 ORDER BY position", id)?;
        Ok(RunRecord { loads, ..self.record(row)? })
    }

    /// The runs of these ids that there are, oldest first, in one query: without their plans, which
    /// are most of a run, and without their loads.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn outlines(&self, ids: &[i64]) -> Result<Vec<RunRecord>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
        let tail = format!("WHERE id IN ({}) ORDER BY id", ids.join(", "));
        let rows = self.rows(&RUN.select_without_sql("plan", BESIDE, &tail), Row::new())?;
        rows.into_iter().map(|row| self.record(row)).collect()
    }

    /// A run, without loads, from a row that begins with [`BESIDE`].
    fn record(&self, mut row: Row) -> Result<RunRecord> {
        let columns = row.split_off(2);
        let id = row[0].integer().unwrap_or_default();
        let mut document: Value = RUN.read(columns).map_err(|what| self.damaged_error(what))?;
        document["id"] = id.into();
        document["loads"] = json!([]);
        let run: RunRecord = serde_json::from_value(document)
            .map_err(|error| self.damaged_error(format!("run {id}: {error}")))?;
        Ok(RunRecord { status: self.actual(run.status, id, row[1].text())?, ..run })
    }

    /// The last finished measured runs before one, newest first: at most so many, as
    /// [`Store::outlines`] has them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn finished_before(&self, id: i64, most: usize) -> Result<Vec<RunRecord>> {
        let binds = vec![id.into(), (most as i64).into()];
        let ids: Vec<i64> =
            self.rows(FINISHED, binds)?.iter().filter_map(|row| row.first()?.integer()).collect();
        let mut runs = self.outlines(&ids)?;
        runs.reverse();
        Ok(runs)
    }

    fn find(&self, which: &str) -> Result<Option<i64>> {
        if which == "last" {
            return self.number(LAST, Row::new());
        }
        if let Ok(id) = which.parse::<i64>()
            && let Some(id) = self.number(BY_ID, vec![id.into()])?
        {
            return Ok(Some(id));
        }
        self.number(BY_NAME, vec![which.into()])
    }

    fn no_such_run(&self, which: &str) -> Result<Error> {
        let runs = self.runs()?;
        let place = self.base.place();
        let Some(last) = runs.last() else {
            return Ok(Error::usage(place, "holds no run yet")
                .advise("measure something with 'dbdyno run'"));
        };
        let names: Vec<&str> =
            runs.iter().rev().filter_map(|run| run.name.as_deref()).take(5).collect();
        let names = if names.is_empty() {
            String::new()
        } else {
            format!(", or a name: {}", names.join(", "))
        };
        let advice = format!(
            "give an id from {} to {}{names}, or 'last'; see 'dbdyno results list'",
            runs[0].id, last.id
        );
        Ok(Error::usage(place, format!("holds no run {}", quote(which))).advise(advice))
    }

    pub(super) fn rows(&self, sql: &str, binds: Row) -> Result<Vec<Row>> {
        let rows = self.base.rows(sql, binds).map_err(|trouble| self.explain(trouble))?;
        let Reads { queries, rows: before } = self.reads.get();
        self.reads.set(Reads { queries: queries + 1, rows: before + rows.len() as u64 });
        Ok(rows)
    }

    /// Amount of data read since the results were opened.
    pub fn reads(&self) -> Reads {
        self.reads.get()
    }

    /// The number that a query gives; none if it is NULL, or there is no row.
    pub(super) fn number(&self, sql: &str, binds: Row) -> Result<Option<i64>> {
        Ok(self.rows(sql, binds)?.first().and_then(|row| row.first()?.integer()))
    }

    /// The items of a table that `tail` selects by one number.
    pub(super) fn items<T: DeserializeOwned>(
        &self,
        table: &Table,
        tail: &str,
        key: i64,
    ) -> Result<Vec<T>> {
        self.items_by(table, tail, vec![key.into()])
    }

    /// The items of a table that `tail` selects.
    pub(super) fn items_by<T: DeserializeOwned>(
        &self,
        table: &Table,
        tail: &str,
        binds: Row,
    ) -> Result<Vec<T>> {
        let rows = self.rows(&table.select_sql(tail), binds)?;
        rows.into_iter()
            .map(|row| table.read(row).map_err(|what| self.damaged_error(what)))
            .collect()
    }

    /// The status to show: a run whose writer is gone has failed.
    fn actual(&self, stored: RunStatus, id: i64, process: Option<&str>) -> Result<RunStatus> {
        let is_written = || self.base.is_held(id, process).map_err(|trouble| self.explain(trouble));
        Ok(if stored == RunStatus::Running && !is_written()? { RunStatus::Failed } else { stored })
    }

    /// A row of [`LIST`].
    pub(super) fn summary(&self, row: &Row) -> Result<RunSummary> {
        let number = |at: usize| row.get(at).and_then(SqlValue::integer).unwrap_or_default();
        let text = |at: usize| row.get(at).and_then(SqlValue::text);
        let some = |at: usize| text(at).unwrap_or_default().to_string();
        Ok(RunSummary {
            id: number(0),
            name: text(1).map(str::to_string),
            kind: RunKind::named(&some(8)),
            target: some(2),
            engine: some(3),
            started_at: some(4),
            status: self.actual(status(&some(5)), number(0), text(6))?,
            tests: number(7).unsigned_abs(),
        })
    }
}

/// The schema allows no other words; an unknown one can only come from a file changed by hand.
fn status(stored: &str) -> RunStatus {
    let known = [RunStatus::Running, RunStatus::Finished, RunStatus::Interrupted];
    known.into_iter().find(|status| status.name() == stored).unwrap_or(RunStatus::Failed)
}
