//! What every command needs: global options, the catalogue, the interrupt flag.

use super::args::Global;
use crate::error::Result;

/// The context of a command.
pub struct Context {
    pub global: Global,
}

impl Context {
    /// From the global options.
    ///
    /// # Errors
    /// A broken catalogue.
    pub fn new(global: Global) -> Result<Self> {
        Ok(Context { global })
    }
}
