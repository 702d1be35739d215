//! Storage of the results: a file or a database. The rest of the module speaks to it in SQL that
//! all of them know, with binds `?1`, `?2`; where they differ it asks for the words.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dbdyno_core::error::Error;
use dbdyno_engines::engine::results_backend::SqlValue;

/// A row of a result.
pub(super) type Row = Vec<SqlValue>;

/// Operations that the rest of the module needs.
pub(super) trait StoreBackend: Send {
    /// Runs a statement once with each row of binds; gives the rows of all.
    fn run(&self, sql: &str, binds: &[Row]) -> Answer<Vec<Row>>;
    /// Begins a transaction that writes.
    fn begin(&self) -> Answer<()>;
    fn commit(&self) -> Answer<()>;
    fn roll_back(&self);
    /// The expression of the text at `path` in a column of JSON; NULL if there is none.
    fn json_text(&self, column: &str, path: &[&str]) -> Answer<String>;
    /// The table of the pairs (key, value) of a column that holds a JSON object of texts.
    fn json_pairs(&self, column: &str) -> Answer<String>;
    /// In the transaction that begins a run: we write it as long as we live.
    fn hold(&self, run_id: i64) -> Answer<()>;
    /// We write the run no more.
    fn release(&self, run_id: i64) -> Answer<()>;
    /// True if who writes the run still lives; `process` is what [`super::process`] wrote down of
    /// him.
    fn is_held(&self, run_id: i64, process: Option<&str>) -> Answer<bool>;
    /// Lets a user do what a role needs; gives the statements that did it.
    fn grant(&self, role: Role, user: &str) -> Answer<Vec<String>>;
    /// From now on nobody waits long for a server that is silent once this flag is set.
    fn heed(&self, _interrupt: Arc<AtomicBool>) {}
    /// Name in errors.
    fn place(&self) -> String;
}

/// Role of a user of shared results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Reads runs.
    Reader,
    /// Also stores, changes and deletes runs.
    Writer,
    /// Also tells load generators what to run.
    Conductor,
    /// Is a load generator.
    Worker,
}

impl Role {
    /// The statements by their names, which together let a user do it.
    pub(super) fn grants(self) -> &'static [&'static str] {
        match self {
            Role::Reader => &["grant-reader"],
            Role::Writer => &["grant-reader", "grant-writer"],
            Role::Conductor => &["grant-reader", "grant-writer", "grant-conductor"],
            Role::Worker => &["grant-worker"],
        }
    }
}

/// Result of a call of [`StoreBackend`].
pub(super) type Answer<T> = std::result::Result<T, Trouble>;

/// Reason why nothing was read, or a transaction was rolled back.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A rule of the schema is broken by what was to be stored.
    Unfit(String),
    /// The value does not fit the declared columns.
    Shape(String),
    /// An error that is already in words.
    Said(Error),
}

impl Trouble {
    /// In words for the user, about the results at `place`.
    pub(super) fn at(self, place: &str) -> Error {
        match self {
            Trouble::Said(error) => error,
            Trouble::Unfit(what) | Trouble::Shape(what) => {
                Error::target(place, format!("cannot store it ({what})"))
                    .advise("report this as a bug")
            }
        }
    }
}

/// Runs `work` in a transaction that is rolled back if it fails.
pub(super) fn in_transaction<T>(
    base: &dyn StoreBackend,
    work: impl FnOnce(&dyn StoreBackend) -> Answer<T>,
) -> Answer<T> {
    base.begin()?;
    let done = work(base).and_then(|value| base.commit().map(|()| value));
    if done.is_err() {
        base.roll_back();
    }
    done
}

impl dyn StoreBackend + '_ {
    /// The rows of a query.
    pub(super) fn rows(&self, sql: &str, binds: Row) -> Answer<Vec<Row>> {
        self.run(sql, &[binds])
    }

    /// The first number of the first row; none if there is no row, or it is NULL.
    pub(super) fn number(&self, sql: &str, binds: Row) -> Answer<Option<i64>> {
        Ok(self.rows(sql, binds)?.first().and_then(|row| row.first()?.integer()))
    }
}
