//! A password on its way to the server.

use std::fmt;

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
