//! Statements of the clients themselves: named blocks in a file beside the source, which no catalogue replaces.

use crate::engine::{EngineError, ErrorClass};
use crate::sql::{Values, parse_blocks, statement, substitute};

/// The statement of a block in `text`, with the values of its names.
///
/// # Errors
/// No such block, a name without a value: a mistake of ours, which every user of the file tests for.
pub(in crate::engine) fn own_sql(text: &str, name: &str, values: &[(&str, &str)]) -> Result<String, EngineError> {
    let wrong = |what: String| EngineError::new(ErrorClass::Statement, what);
    let blocks = parse_blocks("own statements", text).map_err(|error| wrong(error.to_string()))?;
    let block = blocks.iter().find(|block| block.name == name);
    let block = block.ok_or_else(|| wrong(format!("there is no statement '{name}' (a bug in dbdyno)")))?;
    let values: Values = values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let filled = substitute(block, &values, &[]).map_err(|error| wrong(error.to_string()))?;
    Ok(statement(&filled).to_string())
}
