//! Access to a database that serves as results store, not as target: statements with typed binds,
//! and the SQL that differs between engines.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{ConnectTo, ENGINES, EngineError};
use dbdyno_core::model::Target;

/// A value that is kept.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlValue {
    /// No value: SQL's NULL.
    Null,
    /// Whole number.
    Integer(i64),
    /// Floating-point number.
    Real(f64),
    /// Characters.
    Text(String),
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        SqlValue::Integer(value)
    }
}

impl From<u32> for SqlValue {
    fn from(value: u32) -> Self {
        SqlValue::Integer(value.into())
    }
}

impl From<f64> for SqlValue {
    fn from(value: f64) -> Self {
        SqlValue::Real(value)
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        SqlValue::Text(value.to_string())
    }
}

impl From<String> for SqlValue {
    fn from(value: String) -> Self {
        SqlValue::Text(value)
    }
}

impl<T: Into<SqlValue>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(SqlValue::Null, Into::into)
    }
}

impl SqlValue {
    /// The whole number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        if let SqlValue::Integer(value) = self { Some(*value) } else { None }
    }
    /// The number, if it is one.
    pub fn real(&self) -> Option<f64> {
        match self {
            SqlValue::Integer(value) => Some(*value as f64),
            SqlValue::Real(value) => Some(*value),
            SqlValue::Null | SqlValue::Text(_) => None,
        }
    }
    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let SqlValue::Text(value) = self { Some(value) } else { None }
    }
}

/// A session of a database that keeps data. Dropping it ends it.
pub trait ResultsBackend: Send {
    /// Runs `sql`, whose binds are `?1`, `?2`, once with each row of `binds`, which travel
    /// together; gives the rows of all.
    ///
    /// # Errors
    /// The first; in a transaction, all of it has failed then.
    fn run(
        &mut self,
        sql: &str,
        binds: &[Vec<SqlValue>],
    ) -> Result<Vec<Vec<SqlValue>>, EngineError>;
    /// Runs statements without binds, in one transaction unless they say otherwise.
    ///
    /// # Errors
    /// The first.
    fn execute(&mut self, sql: &str) -> Result<(), EngineError>;
    /// From now on nobody waits long for a server that is silent once this flag is set: it is set
    /// by whoever wants the end of all work. What a server that answers does is waited for. The
    /// first flag counts.
    fn heed(&self, interrupt: Arc<AtomicBool>);
    /// Begins another session in place of this one, which is lost.
    ///
    /// # Errors
    /// If the server cannot be reached any more; at once if it was given up after an interrupt.
    fn reconnect(&mut self) -> Result<(), EngineError>;
    /// Proves that our schema, if it is there, holds nothing that somebody else could have put
    /// there, so that its names may be used; to be called in every session before any is. False if
    /// it is not there: somebody else may make it at any time, so none of its names may be used
    /// yet.
    ///
    /// # Errors
    /// Whose it is, or who may create in it.
    fn prove(&mut self) -> Result<bool, EngineError>;
    /// SQL of this database for a statement or an expression by its name, with `{{names}}` filled
    /// in.
    ///
    /// # Errors
    /// There is no statement of that name, which is a bug.
    fn sql_of(&self, name: &str, values: &[(&str, &str)]) -> Result<String, EngineError>;
    /// Words of a schema and what this database says instead, to be replaced in this order.
    fn schema_words(&self) -> &'static [(&'static str, &'static str)];
}

/// True if text is a URL, of whatever scheme, and not the name of a file.
pub fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphabetic())
    })
}

/// Schemes of the URLs of databases that store results.
pub fn schemes() -> Vec<&'static str> {
    let keeping = ENGINES.iter().filter(|engine| engine.stores_results());
    keeping.flat_map(|engine| engine.capabilities().url_schemes).copied().collect()
}

/// Opens the database of a URL as a results backend; none if no engine of its scheme stores
/// results.
pub fn open(
    url: &str,
    password: Option<&secrecy::SecretString>,
) -> Option<Result<Box<dyn ResultsBackend>, EngineError>> {
    let scheme = url.split_once("://")?.0;
    let mut keeping = ENGINES.iter().filter(|engine| engine.stores_results());
    let engine = keeping.find(|engine| engine.capabilities().url_schemes.contains(&scheme))?;
    let target = Target::Existing { engine: engine.name().into(), url: url.into() };
    let (url, password) = (Some(url.into()), password.cloned());
    Some(engine.results_backend(&ConnectTo { url, password, ..ConnectTo::new(target) }))
}
