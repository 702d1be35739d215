//! What is the same of connecting, and of losing a connection.

use std::io;

use crate::engine::{EngineError, ErrorClass};

/// Connects to the first of `hosts` that answers, whatever the answer is.
///
/// # Errors
/// That of the host that answered, else that of the last.
pub(in crate::engine) fn first_that_answers<H, T>(
    hosts: &[H],
    mut connect: impl FnMut(&H) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let mut failure = EngineError::new(ErrorClass::Unreachable, "no host is given");
    for host in hosts {
        match connect(host) {
            Err(error) if error.class == ErrorClass::Unreachable => failure = error,
            outcome => return outcome,
        }
    }
    Err(failure)
}

/// Nobody listens at `place`.
pub(in crate::engine) fn unreachable(place: &str, error: &io::Error) -> EngineError {
    EngineError::new(ErrorClass::Unreachable, format!("no server answers at {place} ({error})"))
        .advised("check host and port, and that the server is started")
}

/// The error of a read or write on an open connection; `unit` is what servers send: `MariaDB packet`.
pub(in crate::engine) fn broken(error: &io::Error, unit: &str) -> EngineError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => lost("the server closed the connection"),
        io::ErrorKind::InvalidData => lost(format!("the server sent what is no {unit} ({error})")),
        _ => lost(format!("the connection to the server broke ({error})")),
    }
}

/// A lost connection, with `message`.
pub(in crate::engine) fn lost(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Lost, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_that_answers_decides() {
        use ErrorClass::{Denied, Unreachable};
        let connect = |class: &Option<ErrorClass>| match class {
            Some(class) => Err(EngineError::new(*class, "no")),
            None => Ok("connected"),
        };
        let class = |hosts: &[Option<ErrorClass>]| first_that_answers(hosts, connect).map_err(|error| error.class);
        assert_eq!(class(&[Some(Unreachable), None]), Ok("connected"));
        assert_eq!(class(&[Some(Unreachable), Some(Denied), None]), Err(Denied));
        assert_eq!(class(&[Some(Unreachable)]), Err(Unreachable));
        assert_eq!(class(&[]), Err(Unreachable));
    }
}
