//! The one error type that leaves a module: typed by what the caller can do about it.
//!
//! Every error prints as one line, `where: what happened; what to do`, and carries the exit code of the
//! command line contract.

use std::fmt;

/// What the caller can do about an error; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Arguments, configuration or catalogue files are wrong: the user changes them. Exit code 2.
    Usage,
    /// The target (server, data directory, disk) cannot do what is asked. Exit code 3.
    Target,
    /// A check found something (`verify`, `check`, an invalid KPM with `--strict`). Exit code 1.
    Check,
    /// Ctrl-C or SIGTERM; what was measured is stored. Exit code 130.
    Interrupted,
}

impl Kind {
    /// The process exit code of the command line contract.
    pub fn exit_code(self) -> u8 {
        match self {
            Kind::Check => 1,
            Kind::Usage => 2,
            Kind::Target => 3,
            Kind::Interrupted => 130,
        }
    }
}

/// An error for the user: where it happened, what happened, what to do. Never holds a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What the caller can do about it.
    pub kind: Kind,
    /// Where: a flag, a file with line, a target without its password.
    pub place: String,
    /// What happened, lower case, no full stop.
    pub what: String,
    /// What to do next; may be empty.
    pub advice: String,
}

/// Result with the crate's own error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `kind` at `place`.
    pub fn new(kind: Kind, place: impl Into<String>, what: impl Into<String>) -> Self {
        Error { kind, place: place.into(), what: what.into(), advice: String::new() }
    }
    /// A usage, configuration or catalogue error (exit 2).
    pub fn usage(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Kind::Usage, place, what)
    }
    /// An error of the target (exit 3).
    pub fn target(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::new(Kind::Target, place, what)
    }
    /// Adds what to do next.
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(f, "{}: {}", one_line(&self.place), one_line(&self.what))?;
        if !self.advice.is_empty() {
            write!(f, "; {}", one_line(&self.advice))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_one_line_with_place_what_and_advice() {
        let error = Error::usage("--jobs", "'0' is not\na job count").advise("give 1 or more");
        assert_eq!(error.to_string(), "--jobs: '0' is not a job count; give 1 or more");
        assert_eq!(error.kind.exit_code(), 2);
    }
}
