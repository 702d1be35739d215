//! Ctrl-C, SIGTERM and a closed terminal: what runs ends soon, and the servers with it.

use std::sync::OnceLock;

use dbdyno::error::Result;
use dbdyno::test_runner::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::failed;

/// The flag that these signals set, from [`listen`] on.
pub fn interrupt() -> &'static Interrupt {
    static FLAG: OnceLock<Interrupt> = OnceLock::new();
    FLAG.get_or_init(Interrupt::new)
}

/// Signals set the flag from now on.
pub fn listen() -> Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let registered = signal_hook::flag::register(signal, interrupt().flag());
        registered.map_err(|error| failed("signals", error.to_string()))?;
    }
    Ok(())
}

/// Fails once a signal has come.
pub fn check() -> Result<()> {
    if interrupt().is_set() { Err(failed("peers", "interrupted")) } else { Ok(()) }
}
