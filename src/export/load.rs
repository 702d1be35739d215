//! The data set as a script: the tables are filled by the database itself from the row function in SQL.

use crate::catalog::DataSet;
use crate::dataset::Definition;
use crate::error::{Error, Result};
use crate::model::TableRef;
use crate::model::rows::{PAD, RowFunction, table_rows};
use crate::sql::{Block, Values, statement, substitute};

use super::Export;

/// Rows of one insert: a transaction of about 300 MB.
const CHUNK_ROWS: u64 = 1_000_000;

/// The tables of an export.
pub(super) struct Tables<'a> {
    pub export: &'a Export<'a>,
    pub set: &'a DataSet,
    pub definition: &'a Definition,
}

impl Tables<'_> {
    /// Creates and fills every table, builds its indexes, gathers statistics.
    pub fn load(&self) -> Result<String> {
        let mut script = String::new();
        for table in &self.export.plan.tables {
            let rows = self.rows(table);
            script += &self.block(table, &format!("create.{}", self.org(table)), &[])?;
            for lo in (1..=rows).step_by(CHUNK_ROWS as usize) {
                script += &self.insert(table, lo, rows.min(lo + CHUNK_ROWS - 1))?;
            }
            script += &self.block(table, "session.index", &[])?;
            for index in &self.definition.indexes {
                script += &self.block(table, &format!("index.{index}"), &[])?;
            }
            for name in ["finish", "analyze"] {
                script += &self.block(table, name, &[])?;
            }
        }
        Ok(script)
    }

    fn insert(&self, table: &TableRef, lo: u64, hi: u64) -> Result<String> {
        let range = [("lo", lo.to_string()), ("hi", hi.to_string())];
        let select = self.text(table, "row-select", &range)?;
        self.block(table, "insert-select", &[("row_select", statement(&select).to_string())])
    }

    /// Reads a table into the cache, as the program does where it has no direct call for it.
    pub fn warm(&self, table: &TableRef) -> Result<String> {
        let blocks = self.set.sql(self.export.engine.name());
        let reads = blocks.keys().filter(|name| name.starts_with("warm.read."));
        let names = std::iter::once("warm.session").chain(reads.copied());
        names.map(|name| self.block(table, name, &[])).collect()
    }

    pub fn drop(&self) -> Result<String> {
        self.export.plan.tables.iter().map(|table| self.block(table, "drop", &[])).collect()
    }

    pub fn counts(&self) -> Result<String> {
        let count = |table: &TableRef| self.export.template("count", &self.values(table, &[]));
        self.export.plan.tables.iter().map(count).collect()
    }

    /// For the README.
    pub fn describe(&self) -> String {
        let line =
            |table: &TableRef| format!("- `{}`: {} rows, {}", self.name(table), self.rows(table), self.org(table));
        self.export.plan.tables.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn rows(&self, table: &TableRef) -> u64 {
        table_rows(&table.kind, self.export.plan.size_gb)
    }

    fn org(&self, table: &TableRef) -> String {
        table.org.clone().unwrap_or_else(|| self.export.engine.capabilities().default_org().to_string())
    }

    fn name(&self, table: &TableRef) -> String {
        format!("{}{}", self.export.engine.capabilities().prefix, table.name())
    }

    /// A block of the data set as statement of a script.
    fn block(&self, table: &TableRef, name: &str, more: &[(&str, String)]) -> Result<String> {
        self.export.statement(&self.text(table, name, more)?)
    }

    /// The block of this name; for a table whose organisation has a block of its own (`finish.heap-list`), that one.
    fn text(&self, table: &TableRef, name: &str, more: &[(&str, String)]) -> Result<String> {
        let blocks = self.set.sql(self.export.engine.name());
        let own = format!("{name}.{}", self.org(table));
        let block: &Block = blocks.get(own.as_str()).or_else(|| blocks.get(name)).ok_or_else(|| {
            let engine = self.export.engine.name();
            Error::usage(&self.set.toml_path, format!("there is no block '{name}' for {engine}"))
        })?;
        substitute(block, &self.values(table, more), &[])
    }

    fn values(&self, table: &TableRef, more: &[(&str, String)]) -> Values {
        let rows = RowFunction { table_rows: self.rows(table), seed: self.export.plan.seed };
        let columns = self.set.blocks.get(self.export.engine.name(), "columns");
        let own = [
            ("prefix", self.export.engine.capabilities().prefix.to_string()),
            ("table", self.name(table)),
            ("name", table.name()),
            ("org", self.org(table)),
            ("columns", columns.map(|block| block.text.clone()).unwrap_or_default()),
            ("rows", rows.table_rows.to_string()),
            ("seed", rows.seed_part().to_string()),
            ("pad", PAD.to_string()),
            ("revision", self.definition.revision.to_string()),
        ];
        own.iter().chain(more).map(|(name, value)| ((*name).to_string(), value.clone())).collect()
    }
}
