//! A password on its way to the server: found once, printed nowhere, wiped when dropped.

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};
use secrecy::SecretString;

use super::from_env;
use crate::engine::{EngineError, ErrorClass};
use dbdyno_core::error::quote;
use dbdyno_core::model::PasswordSources;

/// Finds the password of each server once and remembers it, so that jobs need not ask again.
pub(in crate::engine) struct Passwords {
    /// Places of passwords of the user's own accounts.
    pub(super) sources: PasswordSources,
    /// Password that the user typed.
    typed: Option<SecretString>,
    /// By the address of the server: a file may hold another one for each.
    known: Mutex<BTreeMap<String, SecretString>>,
    /// The same for every server.
    common: Mutex<Option<SecretString>>,
}

impl Passwords {
    pub(in crate::engine) fn new(sources: PasswordSources, typed: Option<SecretString>) -> Self {
        Passwords { sources, typed, known: Mutex::default(), common: Mutex::default() }
    }

    /// The password of an account that has no other one.
    pub(in crate::engine) fn of_own(sources: PasswordSources, password: SecretString) -> Self {
        Passwords { common: Mutex::new(Some(password)), ..Passwords::new(sources, None) }
    }

    fn common(&self) -> MutexGuard<'_, Option<SecretString>> {
        self.common.lock()
    }

    /// The password of every server, if it is known so far.
    pub(in crate::engine) fn common_password(&self) -> Option<SecretString> {
        self.common().clone()
    }

    /// The password of the server at an address, if it was asked for before.
    pub(in crate::engine) fn password_of(&self, address: &str) -> Option<SecretString> {
        self.known.lock().get(address).cloned()
    }

    /// For a server to which a password is sent before it asks: that of the environment, else that
    /// of the user's file.
    pub(in crate::engine) fn offer(&self, filed: Option<SecretString>) {
        *self.common() = self.of_environment().or(filed);
    }

    /// The password that the server at an address wants: that of the environment, else that of the
    /// user's file, else what the user types. The error of `filed` says why a file that is there
    /// is not used.
    ///
    /// # Errors
    /// If there is none anywhere.
    pub(in crate::engine) fn find(
        &self,
        user: &str,
        address: &str,
        filed: impl FnOnce() -> Result<Option<SecretString>, String>,
    ) -> Result<SecretString, EngineError> {
        if let Some(password) = self.common_password() {
            return Ok(password);
        }
        let mut known = self.known.lock();
        if let Some(password) = known.get(address) {
            return Ok(password.clone());
        }
        let (filed, trouble) =
            filed().map_or_else(|trouble| (None, Some(trouble)), |filed| (filed, None));
        let password =
            self.of_environment().or(filed).or_else(|| self.typed.clone()).ok_or_else(|| {
                let message = format!(
                    "the server wants a password for user {} and none is given",
                    quote(user)
                );
                let advice = trouble.unwrap_or_else(|| format!("set {}", self.sources));
                EngineError::new(ErrorClass::NoPassword, message).advised(advice)
            })?;
        known.insert(address.to_owned(), password.clone());
        Ok(password)
    }

    fn of_environment(&self) -> Option<SecretString> {
        from_env(self.sources.variable).map(SecretString::from)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    const SOURCES: PasswordSources =
        PasswordSources { variable: "NO_SUCH_VARIABLE_OF_DBDYNO", file: "~/.file" };

    #[test]
    fn a_password_is_found_once_and_never_printed() {
        let passwords = Passwords::new(SOURCES, Some("typed".into()));
        assert!(passwords.common_password().is_none());
        assert!(passwords.password_of("db1").is_none());
        let found = passwords.find("ann", "db1", || Ok(Some("s3cret".into()))).unwrap();
        assert_eq!(found.expose_secret(), "s3cret");
        assert!(!format!("{found:?}").contains("s3cret"));
        assert!(passwords.password_of("db1").is_some() && passwords.password_of("db2").is_none());
        let again = passwords.find("ann", "db1", || panic!("it is known"));
        assert_eq!(again.unwrap().expose_secret(), "s3cret");
        let other = passwords.find("ann", "db2", || Ok(Some("another".into()))).unwrap();
        assert_eq!(other.expose_secret(), "another", "of one server, not of all");
        let typed = Passwords::new(SOURCES, Some("typed".into())).find("ann", "db", || Ok(None));
        assert_eq!(typed.unwrap().expose_secret(), "typed");
    }

    #[test]
    fn without_a_password_the_advice_names_the_sources_or_the_trouble() {
        let passwords = Passwords::new(SOURCES, None);
        let advice = |filed| {
            let error = passwords.find("ann", "db", || filed).unwrap_err();
            assert_eq!(error.class, ErrorClass::NoPassword, "the user may be asked");
            error.advice.unwrap()
        };
        assert_eq!(advice(Ok(None)), "set NO_SUCH_VARIABLE_OF_DBDYNO or ~/.file");
        assert_eq!(advice(Err("chmod 600 it".into())), "chmod 600 it");
    }
}
