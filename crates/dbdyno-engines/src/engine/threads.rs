//! Our threads: if the system cannot start another one, that is an error and no panic.

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

use super::{EngineError, ErrorClass};

/// Starts a thread within `scope`.
///
/// # Errors
/// The system refuses it; `work` is dropped then.
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, EngineError> {
    Builder::new().spawn_scoped(scope, work).map_err(|error| start_error(&error))
}

/// Starts a detached thread.
///
/// # Errors
/// The system refuses it; `work` is dropped then.
pub fn start_apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, EngineError> {
    Builder::new().spawn(work).map_err(|error| start_error(&error))
}

/// The error of a thread that the system did not start.
fn start_error(error: &io::Error) -> EngineError {
    EngineError::new(ErrorClass::Other, format!("no further thread can be started ({error})"))
        .advised(
            "use fewer --jobs, or raise what limits threads: ulimit -u, ulimit -v, pids.max of \
             the control group, TasksMax of the service",
        )
}
