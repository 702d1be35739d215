//! The user's password file (manual: "The Password File").

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

use super::url::Config;
use crate::engine::remote::{Host, in_home, private_text};

/// Looks into PGPASSFILE or ~/.pgpass. The error says why an existing file is not used.
pub(super) fn from_file(config: &Config, host: &Host) -> Result<Option<SecretString>, String> {
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let text = private_text(&named.unwrap_or_else(|| in_home(".pgpass")))?;
    Ok(text.and_then(|text| lookup(text.expose_secret(), config, host)))
}

/// The password of the first matching line `host:port:database:user:password`.
fn lookup(text: &str, config: &Config, host: &Host) -> Option<SecretString> {
    let (names, port) = match host {
        Host::Socket(path) => {
            let directory = path.parent()?.to_string_lossy().into_owned();
            (["localhost".to_owned(), directory], path.extension()?.to_string_lossy().into_owned())
        }
        Host::Tcp { name, port } => ([name.clone(), name.clone()], port.to_string()),
    };
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = split_fields(line);
        let password = fields.pop()?;
        let [line_host, line_port, database, user] = fields.as_slice() else { return None };
        let is = |field: &Field, wanted: &str| field.any || field.text == wanted;
        let matches = names.iter().any(|name| is(line_host, name))
            && is(line_port, &port)
            && is(database, &config.database)
            && is(user, &config.user);
        matches.then(|| password.text.into())
    })
}

/// A field of a password file; `any` if it is a bare `*`.
#[derive(Default)]
struct Field {
    text: String,
    any: bool,
}

/// Splits at ':' into at most five fields; a backslash takes the next character as it is. The last
/// field keeps ':'.
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

    fn lookup_in(text: &str, url: &str) -> Option<String> {
        let config = Config::parse(url).unwrap();
        lookup(text, &config, &config.hosts[0]).map(|password| password.expose_secret().to_owned())
    }

    #[test]
    fn the_first_matching_line_wins_and_escapes_are_resolved() {
        let file =
            "# comment\nother:5432:d:u:no\ndb:*:d:u\\:x:pa\\:ss\\\\:word\n*:*:*:*:fallback\n";
        assert_eq!(lookup_in(file, "postgres://u%3Ax@db/d").as_deref(), Some("pa:ss\\:word"));
        assert_eq!(lookup_in(file, "postgres://u@db/d").as_deref(), Some("fallback"));
        assert_eq!(lookup_in("db:5433:d:u:x", "postgres://u@db/d"), None);
        assert_eq!(lookup_in("\\*:5432:d:u:x", "postgres://u@db/d"), None);
    }

    #[test]
    fn a_socket_matches_localhost() {
        assert_eq!(
            lookup_in("localhost:5432:d:u:x", "postgres://u@/d?host=/run/pg").as_deref(),
            Some("x")
        );
    }
}
