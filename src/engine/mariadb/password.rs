//! Where a password comes from: MYSQL_PWD, [client] of ~/.my.cnf, a prompt when the server refuses us without one.

use std::sync::{Mutex, PoisonError};

use super::options::ClientOptions;
use super::url::Config;
use crate::engine::remote::{Password, from_env};
use crate::engine::{EngineError, ErrorClass};

/// Finds the password of a server once and remembers it, so that jobs need not ask again.
pub(super) struct Passwords {
    ask: Option<fn(&str) -> Option<String>>,
    known: Mutex<Option<Password>>,
    /// Why the option file gave none.
    trouble: Option<String>,
}

impl Passwords {
    pub(super) fn new(config: &Config, options: &ClientOptions, ask: Option<fn(&str) -> Option<String>>) -> Self {
        let found = from_env("MYSQL_PWD").or_else(|| options.password.clone());
        let known = found.filter(|_| config.wants_password).map(Password::new);
        Passwords {
            ask: ask.filter(|_| config.wants_password),
            known: Mutex::new(known),
            trouble: options.trouble.clone(),
        }
    }

    /// The password known so far.
    pub(super) fn known(&self) -> Option<Password> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The server has refused us without a password: asks the user for one.
    ///
    /// # Errors
    /// If nobody can be asked.
    pub(super) fn ask(&self, config: &Config) -> Result<Password, EngineError> {
        let asked = self.ask.and_then(|ask| ask(&format!("Password for user {}: ", config.user)));
        let password = asked.map(Password::new).ok_or_else(|| self.missing(config))?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(password.clone());
        Ok(password)
    }

    fn missing(&self, config: &Config) -> EngineError {
        let message = format!("the server wants a password for user '{}' and none is given", config.user);
        let advice = self.trouble.clone();
        EngineError::new(ErrorClass::Denied, message)
            .advised(advice.unwrap_or_else(|| "set MYSQL_PWD, or write it into [client] of ~/.my.cnf".into()))
    }
}
