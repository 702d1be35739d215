//! Where a password comes from: MYSQL_PWD, [client] of ~/.my.cnf, a prompt when the server refuses us without one.

use std::sync::{Mutex, PoisonError};

use super::options::ClientOptions;
use super::url::Config;
use crate::engine::EngineError;
use crate::engine::remote::{Ask, Password, asked, from_env, no_password};

/// Finds the password of a server once and remembers it, so that jobs need not ask again.
pub(super) struct Passwords {
    ask: Option<Ask>,
    known: Mutex<Option<Password>>,
    /// Why the option file gave none.
    trouble: Option<String>,
}

impl Passwords {
    pub(super) fn new(config: &Config, options: &ClientOptions, ask: Option<Ask>) -> Self {
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
        let password = asked(self.ask, &config.user).map(Password::new).ok_or_else(|| self.missing(config))?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(password.clone());
        Ok(password)
    }

    fn missing(&self, config: &Config) -> EngineError {
        let trouble = self.trouble.as_deref();
        no_password(&config.user, trouble.unwrap_or("set MYSQL_PWD, or write it into [client] of ~/.my.cnf"))
    }
}
