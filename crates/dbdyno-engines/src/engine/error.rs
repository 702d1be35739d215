//! Errors of engines, and what a caller can do about them.

use dbdyno_core::error::{Error, Kind};

/// Error classes: what a caller can do differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorClass {
    /// Wrong input of the user (URL, setting): nothing was contacted.
    Usage,
    /// Nobody listens, or the host is unknown.
    Unreachable,
    /// Wrong user or password.
    Denied,
    /// The server wants a password and none is given: the user may be asked.
    NoPassword,
    /// Connected, but a privilege is missing.
    Privilege,
    /// Server version not supported.
    TooOld,
    /// The connection broke, the server went away.
    Lost,
    /// Deadlock victim: retry.
    Deadlock,
    /// On a cluster of which several nodes can be written to: another node or session was first,
    /// retry.
    Certification,
    /// Serialization failure: retry.
    Serialization,
    /// Lock not available, busy: retry.
    Busy,
    /// No space left on the database's device.
    DiskFull,
    /// Cancelled on our request.
    Cancelled,
    /// A load generator of several is gone.
    WorkerLost,
    /// The statement is wrong: a bug in the catalog.
    Statement,
    /// Any error that none of the other classes describes.
    Other,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: &[ErrorClass] = &[
        ErrorClass::Usage,
        ErrorClass::Unreachable,
        ErrorClass::Denied,
        ErrorClass::NoPassword,
        ErrorClass::Privilege,
        ErrorClass::TooOld,
        ErrorClass::Lost,
        ErrorClass::Deadlock,
        ErrorClass::Certification,
        ErrorClass::Serialization,
        ErrorClass::Busy,
        ErrorClass::DiskFull,
        ErrorClass::Cancelled,
        ErrorClass::WorkerLost,
        ErrorClass::Statement,
        ErrorClass::Other,
    ];

    /// Short name, as counted and stored.
    pub fn name(self) -> &'static str {
        match self {
            ErrorClass::Usage => "usage",
            ErrorClass::Unreachable => "unreachable",
            ErrorClass::Denied => "denied",
            ErrorClass::NoPassword => "no-password",
            ErrorClass::Privilege => "privilege",
            ErrorClass::TooOld => "too-old",
            ErrorClass::Lost => "lost",
            ErrorClass::Deadlock => "deadlock",
            ErrorClass::Certification => "certification",
            ErrorClass::Serialization => "serialization",
            ErrorClass::Busy => "busy",
            ErrorClass::DiskFull => "disk-full",
            ErrorClass::Cancelled => "cancelled",
            ErrorClass::WorkerLost => "worker-lost",
            ErrorClass::Statement => "statement",
            ErrorClass::Other => "other",
        }
    }
    /// True if the op may be tried again on the same session.
    pub fn retriable(self) -> bool {
        use ErrorClass::{Busy, Certification, Deadlock, Serialization};
        matches!(self, Deadlock | Certification | Serialization | Busy)
    }
}

// A class that is missing in the list does not compile (the last one stays the last).
const _: () = assert!(ErrorClass::ALL.len() == ErrorClass::Other as usize + 1);

/// An engine's error. `message` is one line and never holds a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// Class of the error, by which callers decide.
    pub class: ErrorClass,
    /// SQLSTATE or the engine's own code.
    pub code: Option<String>,
    /// Message of one line: what happened, with the server's own words.
    pub message: String,
    /// Advice, if the engine has one.
    pub advice: Option<String>,
}

impl EngineError {
    /// An error without code and advice.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        EngineError { class, code: None, message: message.into(), advice: None }
    }
    /// Adds what to do.
    #[must_use]
    pub fn advised(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
    /// True if it is an error of the session, not of the statement: any other statement would fail
    /// as well.
    pub fn is_of_session(&self) -> bool {
        matches!(self.class, ErrorClass::Lost | ErrorClass::Cancelled)
    }
    /// Turns it into an error for the user, at `place`.
    pub fn at(self, place: impl Into<String>) -> Error {
        let kind = match self.class {
            ErrorClass::Usage => Kind::Usage,
            ErrorClass::NoPassword => Kind::NoPassword,
            ErrorClass::WorkerLost => Kind::WorkerLost,
            _ => Kind::Target,
        };
        let error = Error::new(kind, place, self.message);
        match self.advice {
            Some(advice) => error.advise(advice),
            None => error,
        }
    }
}
