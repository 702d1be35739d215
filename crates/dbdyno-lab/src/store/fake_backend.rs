//! A results database of unit tests: it answers, has lost its session or is away, as a test says.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

use dbdyno_engines::engine::results_backend::{ResultsBackend, SqlValue};
use dbdyno_engines::engine::{EngineError, ErrorClass};

type Step<T> = Result<T, EngineError>;

/// The database, which a test reads and changes while sessions use it.
#[derive(Default)]
pub(crate) struct FakeDatabase {
    /// Its session was lost.
    pub(crate) is_lost: bool,
    /// Number of the next attempts to begin another session that fail.
    pub(crate) failing_reconnects: u32,
    /// Crews of load generators that were begun.
    pub(crate) crews: i64,
    /// The statements that it ran, by name and first bind.
    pub(crate) statements: Vec<(String, Option<i64>)>,
}

impl FakeDatabase {
    /// A database that several own: the test, and each session.
    pub(crate) fn shared(self) -> Arc<Mutex<FakeDatabase>> {
        Arc::new(Mutex::new(self))
    }
}

/// A session with it.
pub(crate) struct FakeBackend(pub(crate) Arc<Mutex<FakeDatabase>>);

impl ResultsBackend for FakeBackend {
    fn run(&mut self, sql: &str, binds: &[Vec<SqlValue>]) -> Step<Vec<Vec<SqlValue>>> {
        let mut database = self.0.lock();
        if database.is_lost {
            return Err(EngineError::new(ErrorClass::Lost, "the session has ended"));
        }
        let first = binds.first().and_then(|row| row.first()?.integer());
        database.statements.push((sql.to_string(), first));
        Ok(match sql {
            "now" => vec![vec![SqlValue::Real(1.0)]],
            "crew-begin" => {
                database.crews += 1;
                vec![vec![database.crews.into()]]
            }
            _ => Vec::new(),
        })
    }

    fn execute(&mut self, _: &str) -> Step<()> {
        Ok(())
    }

    fn heed(&self, _: Arc<AtomicBool>) {}

    fn reconnect(&mut self) -> Step<()> {
        let mut database = self.0.lock();
        if database.failing_reconnects > 0 {
            database.failing_reconnects -= 1;
            return Err(EngineError::new(ErrorClass::Unreachable, "nobody listens"));
        }
        database.is_lost = false;
        Ok(())
    }

    fn prove(&mut self) -> Step<bool> {
        Ok(true)
    }

    fn sql_of(&self, name: &str, _: &[(&str, &str)]) -> Step<String> {
        Ok(name.to_string())
    }

    fn schema_words(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}
