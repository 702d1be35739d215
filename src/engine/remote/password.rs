//! A password on its way to the server.

use std::fmt;

use crate::engine::{EngineError, ErrorClass};

/// Asks for a password with this prompt; none if the user gives none.
pub(in crate::engine) type Ask = fn(&str) -> Option<String>;

/// Asks the user, if somebody is there to ask.
pub(in crate::engine) fn asked(ask: Option<Ask>, user: &str) -> Option<String> {
    ask?(&format!("Password for user {user}: "))
}

/// The server wants a password that nobody gave.
pub(in crate::engine) fn no_password(user: &str, advice: impl Into<String>) -> EngineError {
    let message = format!("the server wants a password for user '{user}' and none is given");
    EngineError::new(ErrorClass::Denied, message).advised(advice)
}

/// A password; never printed.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::engine) struct Password(String);

impl Password {
    pub(in crate::engine) fn new(text: String) -> Self {
        Password(text)
    }
    pub(in crate::engine) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_printed() {
        assert_eq!(format!("{:?}", Password::new("s3cret".into())), "(hidden)");
    }
}
