//! The data set as the catalog defines it, and its statements for one engine and table.

use serde::Deserialize;

use crate::fit::is_used_up;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::TableRef;
use dbdyno_core::model::rows::{PAD, RowFunction, table_rows};
use dbdyno_core::sql::Values;
use dbdyno_engines::engine::{Database, EngineError, ErrorClass, Rows, Session};

use super::Recipe;

/// `dataset.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// Identifier of the data set.
    pub id: String,
    /// Name of the data set for people.
    pub title: String,
    /// Raised whenever a row, a column or an index changes.
    pub revision: u32,
    /// Kinds of tables: `small`, `big`.
    pub tables: Vec<String>,
    /// Blocks `index.<name>`, built after the rows.
    pub indexes: Vec<String>,
}

impl Definition {
    /// Reads the text of a `dataset.toml`; `place` names it in errors.
    ///
    /// # Errors
    /// A mistake in it, with the line.
    pub fn parse(toml: &str, place: &str) -> Result<Self> {
        toml::from_str(toml).map_err(|error: toml::de::Error| {
            let offset = error.span().map_or(0, |span| span.start).min(toml.len());
            let line = 1 + toml[..offset].matches('\n').count();
            Error::usage(format!("{place}:{line}"), error.message())
        })
    }
}

/// Site of a data set: an open database, and the recipe for it there.
#[derive(Clone)]
pub struct Site<'a> {
    /// Open database that holds the data set.
    pub db: &'a dyn Database,
    /// Recipe by which the engine makes it.
    pub recipe: Recipe<'a>,
    /// First words of the names of what the catalog's tests make beside the data set: its groups
    /// in lower case, and `w` of the generated routines.
    pub words: Vec<String>,
    /// True if the database is there after our end, so that a load that breaks off can go on later.
    pub lasting: bool,
    /// The target without password, for errors.
    pub label: &'a str,
}

impl Site<'_> {
    /// A control session.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub fn session(&self) -> Result<Box<dyn Session>> {
        self.db.session().map_err(|error| self.to_error(error))
    }

    /// An engine's error as one for the user. On a full disk a server may end itself, so that the
    /// connection is lost, or report an error of input and output instead.
    pub fn to_error(&self, error: EngineError) -> Error {
        let full = match error.class {
            ErrorClass::DiskFull => true,
            ErrorClass::Lost | ErrorClass::Other => is_used_up(self.db.storage_path().as_deref()),
            _ => false,
        };
        let error = error.at(self.label);
        if !full {
            return error;
        }
        let what = format!("the disk is full ({})", error.what);
        Error { what, ..error }
            .advise("free space, or choose a smaller --size or another --data-dir")
    }

    /// Runs a block, if there is something to do in it.
    ///
    /// # Errors
    /// The engine's.
    pub fn execute(&self, session: &mut dyn Session, name: &str, values: &Values) -> Result<u64> {
        let Some(sql) = self.recipe.sql(name, values)? else { return Ok(0) };
        session.execute(&sql).map_err(|error| self.to_error(error))
    }

    /// Runs the query of a block; no rows if there is nothing to do.
    ///
    /// # Errors
    /// The engine's.
    pub fn query(&self, session: &mut dyn Session, name: &str, values: &Values) -> Result<Rows> {
        let Some(sql) = self.recipe.sql(name, values)? else { return Ok(Rows::default()) };
        session.query(&sql, &[]).map_err(|error| self.to_error(error))
    }
}

/// A table of the data set at its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// `small` or `big`.
    pub kind: String,
    /// Without prefix; see [`TableRef::name`].
    pub name: String,
    /// The organization, spelled out.
    pub org: String,
    /// Function that computes any row from its number.
    pub rows: RowFunction,
}

impl Table {
    /// A table of a data set of this size in GB and this seed.
    pub fn of_size(recipe: &Recipe<'_>, table: &TableRef, size_gb: f64, seed: u64) -> Self {
        let rows = RowFunction { table_rows: table_rows(&table.kind, size_gb), seed };
        Table::new(recipe, table, rows)
    }

    /// A table with these rows.
    pub fn new(recipe: &Recipe<'_>, table: &TableRef, rows: RowFunction) -> Self {
        let org = table.org.clone().unwrap_or_else(|| recipe.capabilities.default_org().into());
        Table { kind: table.kind.clone(), name: table.name(), org, rows }
    }

    /// Name with prefix.
    pub fn full_name(&self, recipe: &Recipe<'_>) -> String {
        format!("{}{}", recipe.capabilities.prefix, self.name)
    }

    /// Values for the blocks of this table.
    pub fn values(&self, recipe: &Recipe<'_>) -> Values {
        let mut values = recipe.values();
        let pairs = [
            ("table", self.full_name(recipe)),
            ("name", self.name.clone()),
            ("org", self.org.clone()),
            ("columns", recipe.columns()),
            ("rows", self.rows.table_rows.to_string()),
            ("seed", self.rows.seed_part().to_string()),
            ("pad", PAD.to_string()),
            ("revision", recipe.definition.revision.to_string()),
        ];
        values.extend(pairs.map(|(name, value)| (name.to_string(), value)));
        values
    }
}
