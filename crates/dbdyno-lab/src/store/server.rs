//! Results in a database of a server that several users share.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use secrecy::SecretString;

use super::backend::{Answer, Role, Row, StoreBackend, Trouble};
use super::open::{APPLICATION_ID, MIGRATIONS, SCHEMA, SCHEMA_VERSION, newer, no_way_up, older};
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_engines::engine::results_backend::{self, ResultsBackend, SqlValue};
use dbdyno_engines::engine::{EngineError, ErrorClass};

/// An open database.
pub(super) struct Server {
    /// Its URL, which holds no password.
    url: String,
    backend: RefCell<Box<dyn ResultsBackend>>,
    in_transaction: Cell<bool>,
    /// Runs that we write.
    held: RefCell<Vec<i64>>,
    /// Set by whoever wants the end of all work.
    interrupt: RefCell<Option<Arc<AtomicBool>>>,
}

/// Longest absence of a server whose session was lost: somebody may start it anew, and hours of
/// measuring are not worth less than that.
const BACK_WITHIN: Duration = Duration::from_secs(60);
/// Interval between two attempts to reach it.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Class of the SQLSTATEs of broken rules of a schema (SQL standard).
const BROKEN_RULE: &str = "23";

impl Server {
    /// Opens the database of a URL, and does there what `opening` allows.
    ///
    /// # Errors
    /// Not reached, no schema of ours, one of another or a newer program, a missing privilege.
    pub(super) fn open(
        url: &str,
        password: Option<&SecretString>,
        opening: Opening,
    ) -> Result<Server> {
        let server = Server::connect(url, password)?;
        server.prepare(opening).map_err(|trouble| trouble.at(url))?;
        Ok(server)
    }

    /// True if the database holds results.
    ///
    /// # Errors
    /// As [`Server::open`].
    pub(super) fn is_there(url: &str, password: Option<&SecretString>) -> Result<bool> {
        let version = Server::connect(url, password)?.version();
        version.map(|version| version.is_some()).map_err(|trouble| trouble.at(url))
    }

    fn connect(url: &str, password: Option<&SecretString>) -> Result<Server> {
        Ok(Server::on(url, connect(url, password)?))
    }

    /// The database of a URL, of which this is a session.
    fn on(url: &str, session: Box<dyn ResultsBackend>) -> Server {
        Server {
            url: url.to_string(),
            backend: RefCell::new(session),
            in_transaction: Cell::new(false),
            held: RefCell::new(Vec::new()),
            interrupt: RefCell::new(None),
        }
    }

    /// The session, for more than results.
    pub(super) fn into_backend(self) -> Box<dyn ResultsBackend> {
        self.backend.into_inner()
    }

    fn prepare(&self, opening: Opening) -> Answer<()> {
        let version = self.version()?;
        match (version, opening) {
            (Some(SCHEMA_VERSION), _) => Ok(()),
            (Some(other), _) if other > SCHEMA_VERSION => {
                Err(Trouble::Said(newer(&self.url, other)))
            }
            (Some(other), Opening::Read) => Err(Trouble::Said(older(&self.url, other))),
            (None, Opening::Read | Opening::Update) => Err(Trouble::Said(self.empty())),
            (_, Opening::Create | Opening::Update) => {
                super::backend::in_transaction(self, |_| self.bring_up())
            }
        }
    }

    /// Creates the schema or brings it up to date, while nobody else does.
    fn bring_up(&self) -> Answer<()> {
        self.query("alone")?;
        // Somebody else may have done it meanwhile.
        match self.version()? {
            Some(SCHEMA_VERSION) => return Ok(()),
            Some(from) => {
                for version in from..SCHEMA_VERSION {
                    let step = MIGRATIONS.iter().find(|step| step.from == version);
                    let step = step.ok_or_else(|| Trouble::Said(no_way_up(&self.url, version)))?;
                    self.execute(&self.in_its_words(step.sql))?;
                }
            }
            None => {
                let state = self.query("state")?;
                if state.first().and_then(|row| row.first()?.integer()) == Some(0) {
                    self.execute(&self.sql_of("create", &[])?)?;
                    self.prove()?;
                }
                self.execute(&self.in_its_words(SCHEMA))?;
                let application = APPLICATION_ID.to_string();
                self.execute(
                    &self.sql_of("adopt", &[("application", &application), ("version", "0")])?,
                )?;
            }
        }
        self.execute(&self.sql_of("set-version", &[("version", &SCHEMA_VERSION.to_string())])?)
    }

    /// The version of the schema; none if there is nothing.
    fn version(&self) -> Answer<Option<i32>> {
        // Whoever makes it now is not proven yet, and may be somebody else.
        if !self.prove()? {
            return Ok(None);
        }
        let state = self.query("state")?;
        let is = |at: usize| state.first().and_then(|row| row.get(at)?.integer()) == Some(1);
        if !is(1) {
            let foreign = || {
                Error::usage(&self.url, "its schema for results holds something else")
                    .advise(OTHER_DATABASE)
            };
            return if is(2) { Err(Trouble::Said(foreign())) } else { Ok(None) };
        }
        let mark = self.query("mark")?;
        let number =
            |at: usize| mark.first().and_then(|row| i32::try_from(row.get(at)?.integer()?).ok());
        let foreign = || {
            Error::usage(&self.url, "its schema for results is not one of dbdyno")
                .advise(OTHER_DATABASE)
        };
        match (number(0), number(1)) {
            (Some(APPLICATION_ID), Some(version)) => Ok(Some(version)),
            _ => Err(Trouble::Said(foreign())),
        }
    }

    /// The schema's texts in the words of this database.
    fn in_its_words(&self, sql: &str) -> String {
        let words = self.backend.borrow().schema_words();
        words.iter().fold(sql.to_string(), |sql, (theirs, own)| sql.replace(theirs, own))
    }

    fn empty(&self) -> Error {
        Error::usage(&self.url, "holds no results yet")
            .advise("measure something with 'dbdyno run'")
    }

    fn sql_of(&self, name: &str, values: &[(&str, &str)]) -> Answer<String> {
        self.backend.borrow().sql_of(name, values).map_err(|error| self.in_words(error))
    }

    /// The rows of a query by its name.
    fn query(&self, name: &str) -> Answer<Vec<Row>> {
        self.run(&self.sql_of(name, &[])?, &[Vec::new()])
    }

    /// Our schema is ours; false if it is not there.
    fn prove(&self) -> Answer<bool> {
        let proven = self.backend.borrow_mut().prove();
        proven.map_err(|error| Trouble::Said(error.at(&self.url)))
    }

    fn execute(&self, sql: &str) -> Answer<()> {
        self.backend.borrow_mut().execute(sql).map_err(|error| self.in_words(error))
    }

    fn in_words(&self, error: EngineError) -> Trouble {
        match (&error.code, error.class) {
            (Some(code), _) if code.starts_with(BROKEN_RULE) => Trouble::Unfit(error.message),
            (_, ErrorClass::Privilege) => Trouble::Said(error.advised(GRANT).at(&self.url)),
            _ => Trouble::Said(error.at(&self.url)),
        }
    }

    /// Begins another session, as soon as the server takes one.
    fn reconnect(&self) -> std::result::Result<(), EngineError> {
        let began = Instant::now();
        let is_interrupted =
            || self.interrupt.borrow().as_ref().is_some_and(|flag| flag.load(Ordering::SeqCst));
        loop {
            let reconnected = self.backend.borrow_mut().reconnect();
            let Err(error) = reconnected else { return Ok(()) };
            let is_away = matches!(error.class, ErrorClass::Unreachable | ErrorClass::Lost);
            if !is_away || is_interrupted() || began.elapsed() >= BACK_WITHIN {
                return Err(error);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Distinguishes a lost session from a statement's own failure: the session has ended, and none
    /// of our statements was under way in a transaction. A new one goes on.
    fn again(&self, error: EngineError) -> Answer<()> {
        if error.class != ErrorClass::Lost || self.in_transaction.get() {
            return Err(self.in_words(error));
        }
        self.reconnect().map_err(|error| self.in_words(error))?;
        self.prove()?;
        let hold = self.sql_of("hold", &[])?;
        let held: Vec<Row> = self.held.borrow().iter().map(|id| vec![(*id).into()]).collect();
        self.backend.borrow_mut().run(&hold, &held).map(drop).map_err(|error| self.in_words(error))
    }
}

/// Mode in which a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// Our schema is created if it is missing, and brought up to date.
    Create,
    /// It must be there, and is brought up to date.
    Update,
    /// It must be there and up to date: nothing is written.
    Read,
}

const OTHER_DATABASE: &str = "give another database with --results";
const GRANT: &str = "the owner of schema dbdyno_results gives the right: 'dbdyno results grant \
                     reader|writer|conductor|worker USER --results URL'";

fn connect(url: &str, password: Option<&SecretString>) -> Result<Box<dyn ResultsBackend>> {
    let unknown = || {
        let scheme = url.split("://").next().unwrap_or_default();
        let known: Vec<String> = results_backend::schemes()
            .iter()
            .map(|scheme| format!("{scheme}://user@host/database"))
            .collect();
        Error::usage("--results", format!("{} is not a database that keeps results", quote(scheme)))
            .advise(format!("give a file, or {}", known.join(" or ")))
    };
    let opened = results_backend::open(url, password).ok_or_else(unknown)?;
    opened.map_err(|error| {
        // What is wrong with a URL may be that it holds a password: it is not repeated.
        let place = if error.class == ErrorClass::Usage { "--results" } else { url };
        error.at(place)
    })
}

impl StoreBackend for Server {
    fn run(&self, sql: &str, binds: &[Row]) -> Answer<Vec<Row>> {
        let first = self.backend.borrow_mut().run(sql, binds);
        first.or_else(|error| {
            self.again(error)?;
            self.backend.borrow_mut().run(sql, binds).map_err(|error| self.in_words(error))
        })
    }
    fn begin(&self) -> Answer<()> {
        self.query("begin")?;
        self.in_transaction.set(true);
        Ok(())
    }
    fn commit(&self) -> Answer<()> {
        self.query("commit").map(|_| self.in_transaction.set(false))
    }
    fn roll_back(&self) {
        let _ = self.query("rollback"); // a session that has ended has rolled back
        self.in_transaction.set(false);
    }
    fn json_text(&self, column: &str, path: &[&str]) -> Answer<String> {
        self.sql_of(
            "json-text",
            &[("column", column), ("path", &format!("{{{}}}", path.join(",")))],
        )
    }
    fn json_pairs(&self, column: &str) -> Answer<String> {
        self.sql_of("json-pairs", &[("column", column)])
    }
    fn hold(&self, run_id: i64) -> Answer<()> {
        self.run(&self.sql_of("hold", &[])?, &[vec![run_id.into()]])?;
        self.held.borrow_mut().push(run_id);
        Ok(())
    }
    fn release(&self, run_id: i64) -> Answer<()> {
        let mut held = self.held.borrow_mut();
        if let Some(at) = held.iter().position(|id| *id == run_id) {
            held.remove(at);
            self.run(&self.sql_of("release", &[])?, &[vec![run_id.into()]])?;
        }
        Ok(())
    }
    fn is_held(&self, run_id: i64, _: Option<&str>) -> Answer<bool> {
        let found = self.run(&self.sql_of("is-held", &[])?, &[vec![run_id.into()]])?;
        Ok(found.first().and_then(|row| row.first()?.integer()).is_some_and(|count| count > 0))
    }
    fn grant(&self, role: Role, user: &str) -> Answer<Vec<String>> {
        // The tables of workers are made with the first workers: their rights are given before.
        self.execute(&self.sql_of("crew-tables", &[])?)?;
        let mut done = Vec::new();
        for name in role.grants() {
            let statements = self.run(&self.sql_of(name, &[])?, &[vec![user.into()]])?;
            for row in &statements {
                let statement = row.first().and_then(SqlValue::text).unwrap_or_default();
                self.execute(statement)?;
                done.push(statement.to_string());
            }
        }
        if done.is_empty() {
            let what = format!("the database has no user {}", quote(user));
            return Err(Trouble::Said(Error::usage(&self.url, what).advise("create it first")));
        }
        Ok(done)
    }
    fn heed(&self, interrupt: Arc<AtomicBool>) {
        self.interrupt.borrow_mut().get_or_insert_with(|| Arc::clone(&interrupt));
        self.backend.borrow().heed(interrupt);
    }
    fn place(&self) -> String {
        self.url.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fake_backend::{FakeBackend, FakeDatabase};

    /// A server whose session was lost; this many attempts to begin another one fail.
    fn lost(failing_reconnects: u32) -> Server {
        let database =
            FakeDatabase { is_lost: true, failing_reconnects, ..FakeDatabase::default() };
        Server::on("x://h/d", Box::new(FakeBackend(database.shared())))
    }

    #[test]
    fn a_server_that_starts_anew_is_waited_for() {
        let rows = lost(2).run("now", &[Vec::new()]).unwrap();
        assert_eq!(rows, [[SqlValue::Real(1.0)]]);
    }

    #[test]
    fn nobody_waits_for_a_server_after_an_interrupt() {
        let server = lost(u32::MAX);
        server.heed(Arc::new(AtomicBool::new(true)));
        let Err(Trouble::Said(error)) = server.run("now", &[Vec::new()]) else {
            panic!("nobody listens");
        };
        assert!(error.what.contains("nobody listens"), "{error}");
    }
}
