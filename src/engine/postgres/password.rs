//! Where a password comes from: PGPASSWORD, the password file, a prompt. Asked for only when the server wants one.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::url::{Config, Host};
use crate::engine::EngineError;
use crate::engine::remote::{Ask, Password, asked, from_env, in_home, no_password, private_text};

/// Finds the password of a database once and remembers it, so that jobs need not ask again.
pub(super) struct Passwords {
    ask: Option<Ask>,
    known: Mutex<Option<Password>>,
}

impl Passwords {
    pub(super) fn new(ask: Option<Ask>) -> Self {
        Passwords { ask, known: Mutex::new(None) }
    }

    /// The password for `config` on `host`.
    ///
    /// # Errors
    /// If there is none anywhere.
    pub(super) fn find(&self, config: &Config, host: &Host) -> Result<Password, EngineError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(password) = known.as_ref() {
            return Ok(password.clone());
        }
        let (filed, trouble) = match from_file(config, host) {
            Ok(password) => (password, None),
            Err(trouble) => (None, Some(trouble)),
        };
        let found = from_env("PGPASSWORD").or(filed).or_else(|| asked(self.ask, &config.user));
        let advice = || trouble.unwrap_or_else(|| "set PGPASSWORD or add a line to ~/.pgpass".into());
        let password = found.map(Password::new).ok_or_else(|| no_password(&config.user, advice()))?;
        Ok(known.insert(password).clone())
    }
}

/// Looks into PGPASSFILE or ~/.pgpass. The error says why an existing file is not used.
fn from_file(config: &Config, host: &Host) -> Result<Option<String>, String> {
    let path = std::env::var_os("PGPASSFILE").map(PathBuf::from).or_else(|| in_home(".pgpass"));
    let text = path.map_or(Ok(None), |path| private_text(&path))?;
    Ok(text.and_then(|text| lookup(&text, config, host)))
}

/// The password of the first matching line `host:port:database:user:password`.
fn lookup(text: &str, config: &Config, host: &Host) -> Option<String> {
    let (names, port) = match host {
        Host::Socket { dir, port } => (["localhost".to_owned(), dir.to_string_lossy().into_owned()], *port),
        Host::Tcp { name, port } => ([name.clone(), name.clone()], *port),
    };
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = split_fields(line);
        let [line_host, line_port, database, user, password] = fields.as_slice() else { return None };
        let is = |field: &Field, wanted: &str| field.any || field.text == wanted;
        let matches = names.iter().any(|name| is(line_host, name))
            && is(line_port, &port.to_string())
            && is(database, &config.database)
            && is(user, &config.user);
        matches.then(|| password.text.clone())
    })
}

/// A field of a password file; `any` if it is a bare `*`.
#[derive(Default)]
struct Field {
    text: String,
    any: bool,
}

/// Splits at ':' into at most five fields; a backslash takes the next character as it is. The last field keeps ':'.
fn split_fields(line: &str) -> Vec<Field> {
    let mut fields = vec![Field::default()];
    let mut raw = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        if character == ':' && last < 4 {
            fields[last].any = raw == "*";
            raw.clear();
            fields.push(Field::default());
            continue;
        }
        raw.push(character);
        let plain = if character == '\\' { characters.next() } else { Some(character) };
        fields[last].text.extend(plain);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, url: &str) -> Option<String> {
        let config = Config::parse(url).unwrap();
        lookup(text, &config, &config.hosts[0])
    }

    #[test]
    fn the_first_matching_line_wins_and_escapes_are_resolved() {
        let file = "# comment\nother:5432:d:u:no\ndb:*:d:u\\:x:pa\\:ss\\\\:word\n*:*:*:*:fallback\n";
        assert_eq!(found(file, "postgres://u%3Ax@db/d").as_deref(), Some("pa:ss\\:word"));
        assert_eq!(found(file, "postgres://u@db/d").as_deref(), Some("fallback"));
        assert_eq!(found("db:5433:d:u:x", "postgres://u@db/d"), None);
        assert_eq!(found("\\*:5432:d:u:x", "postgres://u@db/d"), None);
    }

    #[test]
    fn a_socket_matches_localhost() {
        assert_eq!(found("localhost:5432:d:u:x", "postgres://u@/d?host=/run/pg").as_deref(), Some("x"));
    }
}
