//! The data set as the catalogue defines it, and its statements for one engine and table.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::engine::{Database, EngineError, ErrorClass, Rows, Session};
use crate::error::{Error, Result};
use crate::model::TableRef;
use crate::model::rows::{PAD, RowFunction};
use crate::sql::{Block, BlockSet, Values, statement, substitute};

/// `dataset.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    pub id: String,
    pub title: String,
    /// Raised whenever a row, a column or an index changes.
    pub revision: u32,
    pub tables: Vec<String>,
    /// Blocks `index.<name>`, built after the rows.
    pub indexes: Vec<String>,
}

impl Definition {
    /// Reads the text of a `dataset.toml`; `place` names it in errors.
    ///
    /// # Errors
    /// What is wrong in it, with the line.
    pub fn parse(toml: &str, place: &str) -> Result<Self> {
        toml::from_str(toml).map_err(|error: toml::de::Error| {
            let offset = error.span().map_or(0, |span| span.start).min(toml.len());
            let line = 1 + toml[..offset].matches('\n').count();
            Error::usage(format!("{place}:{line}"), error.message())
        })
    }
}

/// Where a data set lives: an open database, its properties, and the SQL for it.
#[derive(Clone)]
pub struct Site<'a> {
    pub db: &'a dyn Database,
    /// Registry name, for the choice of blocks.
    pub engine: &'a str,
    pub capabilities: crate::engine::Capabilities,
    pub definition: &'a Definition,
    pub blocks: &'a BlockSet,
    /// First words of the names of what the catalogue's tests make beside the data set: its groups in lower case, and
    /// `w` of the generated routines.
    pub words: Vec<String>,
    /// True if the database is there after our end, so that a load that breaks off can go on later.
    pub lasting: bool,
    /// The target without password, for errors.
    pub label: &'a str,
}

impl<'a> Site<'a> {
    /// A control session.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub fn session(&self) -> Result<Box<dyn Session>> {
        self.db.session().map_err(|error| self.failed(error))
    }

    /// An engine's error as one for the user.
    pub fn failed(&self, error: EngineError) -> Error {
        let full = error.class == ErrorClass::DiskFull;
        let error = error.at(self.label);
        if !full {
            return error;
        }
        let what = format!("the disk is full ({})", error.what);
        Error { what, ..error }.advise("free space, or choose a smaller --size or another --data-dir")
    }

    /// The block of this name; for a table whose organisation has a block of its own (`finish.heap-list`), that one.
    fn block(&self, name: &str, values: &Values) -> Result<&'a Block> {
        let own = values.get("org").and_then(|org| self.blocks.get(self.engine, &format!("{name}.{org}")));
        own.or_else(|| self.blocks.get(self.engine, name)).ok_or_else(|| {
            let what = format!("the data set has no SQL block '{name}' for engine {}", self.engine);
            Error::usage(format!("catalog/datasets/{}", self.definition.id), what)
        })
    }

    /// Statement of a block; none if the block says that there is nothing to do.
    ///
    /// # Errors
    /// If the block is missing or uses an unknown name.
    pub fn sql(&self, name: &str, values: &Values) -> Result<Option<String>> {
        let block = self.block(name, values)?;
        let text = substitute(block, values, &[])?;
        Ok(Some(statement(&text)).filter(|text| !text.is_empty()).map(str::to_string))
    }

    /// Runs a block, if there is something to do in it.
    ///
    /// # Errors
    /// The engine's.
    pub fn execute(&self, session: &mut dyn Session, name: &str, values: &Values) -> Result<u64> {
        let Some(sql) = self.sql(name, values)? else { return Ok(0) };
        session.execute(&sql).map_err(|error| self.failed(error))
    }

    /// Runs the query of a block; no rows if there is nothing to do.
    ///
    /// # Errors
    /// The engine's.
    pub fn query(&self, session: &mut dyn Session, name: &str, values: &Values) -> Result<Rows> {
        let Some(sql) = self.sql(name, values)? else { return Ok(Rows::default()) };
        session.query(&sql, &[]).map_err(|error| self.failed(error))
    }

    /// Block names that begin with `prefix`, in order.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let blocks: BTreeMap<&str, &Block> = self.blocks.for_engine(self.engine);
        blocks.keys().filter(|name| name.starts_with(prefix)).map(|name| (*name).to_string()).collect()
    }

    /// Names and types of the columns: the block `columns`, which every `create.<org>` may use.
    fn columns(&self) -> String {
        self.blocks.get(self.engine, "columns").map(|block| block.text.clone()).unwrap_or_default()
    }

    /// Values that do not belong to a table.
    pub fn values(&self) -> Values {
        Values::from([("prefix".to_string(), self.capabilities.prefix.to_string())])
    }
}

/// A table of the data set at its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// `small` or `big`.
    pub kind: String,
    /// Without prefix; see [`TableRef::name`].
    pub name: String,
    /// The organisation, spelled out.
    pub org: String,
    pub rows: RowFunction,
}

impl Table {
    /// A table with these rows.
    pub fn new(site: &Site<'_>, table: &TableRef, rows: RowFunction) -> Self {
        let org = table.org.clone().unwrap_or_else(|| site.capabilities.default_org().into());
        Table { kind: table.kind.clone(), name: table.name(), org, rows }
    }

    /// Name with prefix.
    pub fn full_name(&self, site: &Site<'_>) -> String {
        format!("{}{}", site.capabilities.prefix, self.name)
    }

    /// Values for the blocks of this table.
    pub fn values(&self, site: &Site<'_>) -> Values {
        let mut values = site.values();
        let pairs = [
            ("table", self.full_name(site)),
            ("name", self.name.clone()),
            ("org", self.org.clone()),
            ("columns", site.columns()),
            ("rows", self.rows.table_rows.to_string()),
            ("seed", self.rows.seed_part().to_string()),
            ("pad", PAD.to_string()),
            ("revision", site.definition.revision.to_string()),
        ];
        values.extend(pairs.map(|(name, value)| (name.to_string(), value)));
        values
    }
}
