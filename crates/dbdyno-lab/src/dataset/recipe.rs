//! The data set on one engine: its definition and its statements, without a database.

use dbdyno_core::catalog::DataSet;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::Capabilities;
use dbdyno_core::sql::{Block, BlockSet, Values, statement, substitute};
use dbdyno_engines::engine::Engine;

use super::Definition;

/// The data set of the catalog's workloads.
pub const STANDARD: &str = "dbdyno";

/// Recipe by which an engine makes the data set.
#[derive(Clone, Copy)]
pub struct Recipe<'a> {
    /// Registry name, for the choice of blocks.
    pub engine: &'a str,
    /// Declared capabilities of the engine, which decide what is loaded.
    pub capabilities: Capabilities,
    /// Tables and indexes of the data set.
    pub definition: &'a Definition,
    /// SQL blocks of the data set, by name and engine.
    pub blocks: &'a BlockSet,
}

impl<'a> Recipe<'a> {
    /// The recipe of a data set whose definition is read already.
    pub fn new(engine: &dyn Engine, definition: &'a Definition, set: &'a DataSet) -> Self {
        let (engine, capabilities) = (engine.name(), engine.capabilities());
        Recipe { engine, capabilities, definition, blocks: &set.blocks }
    }

    /// The block of this name; for a table whose organization has a block of its own
    /// (`finish.heap-list`), that one.
    fn block(&self, name: &str, values: &Values) -> Result<&'a Block> {
        let own = values
            .get("org")
            .and_then(|org| self.blocks.get(self.engine, &format!("{name}.{org}")));
        own.or_else(|| self.blocks.get(self.engine, name)).ok_or_else(|| {
            let what = format!(
                "the data set has no SQL block {name} for engine {}",
                self.engine,
                name = quote(name)
            );
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

    /// Block names that begin with `prefix`, in order.
    pub fn names(&self, prefix: &str) -> Vec<String> {
        let blocks = self.blocks.for_engine(self.engine);
        blocks
            .keys()
            .filter(|name| name.starts_with(prefix))
            .map(|name| (*name).to_string())
            .collect()
    }

    /// Names and types of the columns: the block `columns`, which every `create.<org>` may use.
    pub(super) fn columns(&self) -> String {
        self.blocks.get(self.engine, "columns").map(|block| block.text.clone()).unwrap_or_default()
    }

    /// Values that do not belong to a table.
    pub fn values(&self) -> Values {
        Values::from([("prefix".to_string(), self.capabilities.prefix.to_string())])
    }
}
