//! The data set as a script: the tables are filled by the database itself from the row function in
//! SQL.

use crate::dataset::{Recipe, Table};
use dbdyno_core::error::Result;
use dbdyno_core::model::TableRef;

use super::Export;

/// Rows of one insert: a transaction of about 300 MB.
const CHUNK_ROWS: u64 = 1_000_000;

/// The tables of an export.
pub(super) struct Tables<'a> {
    pub export: &'a Export<'a>,
    pub recipe: Recipe<'a>,
}

impl Tables<'_> {
    /// Creates and fills every table, builds its indexes, gathers statistics.
    pub fn load(&self) -> Result<String> {
        let mut script = String::new();
        for table in &self.tables().collect::<Vec<_>>() {
            let rows = table.rows.table_rows;
            script += &self.block(table, &format!("create.{}", table.org), &[])?;
            for lo in (1..=rows).step_by(CHUNK_ROWS as usize) {
                script += &self.insert(table, lo, rows.min(lo + CHUNK_ROWS - 1))?;
            }
            script += &self.block(table, "session.index", &[])?;
            for index in &self.recipe.definition.indexes {
                script += &self.block(table, &format!("index.{index}"), &[])?;
            }
            for name in ["finish", "analyze"] {
                script += &self.block(table, name, &[])?;
            }
        }
        Ok(script)
    }

    fn insert(&self, table: &Table, lo: u64, hi: u64) -> Result<String> {
        let range = [("lo", lo.to_string()), ("hi", hi.to_string())];
        self.block(
            table,
            "insert-select",
            &[("row_select", self.sql(table, "row-select", &range)?)],
        )
    }

    /// Reads a table into the cache, as the program does where it has no direct call for it.
    pub fn warm(&self, table: &TableRef) -> Result<String> {
        let (table, reads) = (self.table(table), self.recipe.names("warm.read."));
        let names = std::iter::once("warm.session").chain(reads.iter().map(String::as_str));
        names.map(|name| self.block(&table, name, &[])).collect()
    }

    pub fn drop(&self) -> Result<String> {
        self.tables().map(|table| self.block(&table, "drop", &[])).collect()
    }

    pub fn counts(&self) -> Result<String> {
        self.tables()
            .map(|table| self.export.template("count", &table.values(&self.recipe)))
            .collect()
    }

    /// Statement of a block about a table.
    pub fn about(&self, table: &TableRef, block: &str) -> Result<String> {
        self.sql(&self.table(table), block, &[])
    }

    /// For the README.
    pub fn describe(&self) -> String {
        let line = |table: Table| {
            format!(
                "- `{}`: {} rows, {}",
                table.full_name(&self.recipe),
                table.rows.table_rows,
                table.org
            )
        };
        self.tables().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The text of every table, one after the other.
    pub fn each(&self, text: impl Fn(&Table) -> Result<String>) -> Result<String> {
        self.tables().map(|table| text(&table)).collect()
    }

    /// The query of a table's checksum.
    pub fn checksum(&self, table: &Table) -> Result<String> {
        self.sql(table, "checksum", &[])
    }

    fn table(&self, table: &TableRef) -> Table {
        Table::of_size(&self.recipe, table, self.export.plan.size_gb, self.export.plan.seed)
    }

    fn tables(&self) -> impl Iterator<Item = Table> {
        self.export.plan.tables.iter().map(|table| self.table(table))
    }

    /// A block of the data set as statement of a script.
    fn block(&self, table: &Table, name: &str, more: &[(&str, String)]) -> Result<String> {
        self.export.statement(&self.sql(table, name, more)?)
    }

    /// Statement of a block; empty if there is nothing to do.
    fn sql(&self, table: &Table, name: &str, more: &[(&str, String)]) -> Result<String> {
        let mut values = table.values(&self.recipe);
        values.extend(more.iter().map(|(name, value)| ((*name).to_string(), value.clone())));
        Ok(self.recipe.sql(name, &values)?.unwrap_or_default())
    }
}
