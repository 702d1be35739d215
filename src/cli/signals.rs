//! Ctrl-C and SIGTERM: the first asks everything to stop and store, the second ends at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::{Error, Result};
use crate::runner::Interrupt;

/// An interrupt flag that SIGINT and SIGTERM set.
///
/// # Errors
/// If the system refuses a signal handler.
pub fn interrupt() -> Result<Interrupt> {
    let interrupt = Interrupt::new();
    for signal in [SIGINT, SIGTERM] {
        // In this order: the handler that ends at once sees the flag only from the second signal on.
        flag::register_conditional_shutdown(signal, 130, interrupt.flag())
            .and_then(|_| flag::register(signal, interrupt.flag()))
            .map_err(|error| Error::target("signals", error.to_string()))?;
    }
    Ok(interrupt)
}
