//! The TARGET argument: an engine's name or the URL of an existing server.

use std::path::PathBuf;

use crate::engine::{ENGINES, Engine};
use crate::error::{Error, Result};
use crate::model::Target;

/// What the arguments say about where.
pub struct Where {
    pub data_dir: PathBuf,
    pub server_bin: Option<PathBuf>,
    pub port: Option<u16>,
}

/// Reads the TARGET argument.
///
/// # Errors
/// Unknown engine or URL scheme, naming what exists; a URL that carries a password.
pub fn parse(text: &str, place: Where) -> Result<Target> {
    if let Some((scheme, rest)) = text.split_once("://") {
        return existing(text, scheme, rest);
    }
    let engine =
        ENGINES.iter().find(|engine| engine.name() == text.to_ascii_lowercase()).ok_or_else(|| unknown(text))?;
    if !engine.is_target() {
        return Err(Error::usage("TARGET", format!("'{text}' holds no data and measures our own loop only"))
            .advise("run 'dbdyno overhead'"));
    }
    let name = engine.name().to_string();
    let Where { data_dir, server_bin, port } = place;
    Ok(if engine.capabilities().private_server {
        Target::Private { engine: name, data_dir, server_bin, port }
    } else {
        Target::Embedded { engine: name, data_dir }
    })
}

fn existing(url: &str, scheme: &str, rest: &str) -> Result<Target> {
    let speaks = |engine: &&&dyn Engine| engine.capabilities().url_schemes.contains(&scheme);
    let engine = ENGINES.iter().find(speaks).ok_or_else(|| {
        let schemes: Vec<_> = ENGINES.iter().flat_map(|engine| engine.capabilities().url_schemes).copied().collect();
        Error::usage("TARGET", format!("there is no engine for URLs of the scheme {}", quoted(scheme)))
            .advise(format!("known: {}", schemes.join(", ")))
    })?;
    match password(rest) {
        Password::None => Ok(Target::Existing { engine: engine.name().to_string(), url: url.to_string() }),
        Password::Likely => Err(seen("the URL holds a password")),
        Password::Possible => Err(seen("a ':' of the URL is followed by no port: by what may be a password")),
    }
}

/// The URL itself must not be echoed: it holds the password.
fn seen(what: &str) -> Error {
    Error::usage("TARGET", format!("{what}, which every user of this machine can see"))
        .advise("leave it out and set PGPASSWORD or MYSQL_PWD, use ~/.pgpass or ~/.my.cnf, or type it when asked")
}

/// Whether a URL holds a password.
enum Password {
    None,
    Likely,
    /// It has a '/' or a '?', which ends the part of user and host, or no '@' follows it.
    Possible,
}

/// Parameters that others know.
const PASSWORDS: [&str; 4] = ["password=", "passwd=", "pass=", "pwd="];

/// Looks for a password in a URL without its scheme.
fn password(rest: &str) -> Password {
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let tail = &rest[authority.len()..];
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let lower = tail.to_ascii_lowercase();
    if user.contains(':') || PASSWORDS.iter().any(|name| lower.contains(name)) {
        return Password::Likely;
    }
    let mut ports = hosts.split(',').filter_map(port).peekable();
    let is_user = ports.peek().is_some() && has_user(tail);
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if is_user || !ports.all(is_number) { Password::Possible } else { Password::None }
}

/// What follows the ':' of a host, `[::1]` being a name.
fn port(host: &str) -> Option<&str> {
    host.rsplit_once(']').map_or(host, |(_, tail)| tail).split_once(':').map(|(_, port)| port)
}

/// True if what follows user and host has an '@' that is in no parameter's value: all before it may be a user and a password.
fn has_user(tail: &str) -> bool {
    let in_value = |before: &str| before.split_once('?').is_some_and(|(_, query)| query.contains('='));
    tail.rsplit_once('@').is_some_and(|(before, _)| !in_value(before))
}

/// A word as it was typed, but not if it may be a URL with a password.
fn quoted(text: &str) -> String {
    if text.contains([':', '@']) { "what was given".into() } else { format!("'{text}'") }
}

fn unknown(text: &str) -> Error {
    let names: Vec<_> = ENGINES.iter().filter(|engine| engine.is_target()).map(|engine| engine.name()).collect();
    let nearest = names.iter().max_by(|a, b| strsim::jaro_winkler(a, text).total_cmp(&strsim::jaro_winkler(b, text)));
    let hint = nearest.filter(|name| strsim::jaro_winkler(name, text) > 0.75);
    let question = hint.map_or(String::new(), |name| format!("did you mean '{name}'? "));
    Error::usage("TARGET", format!("{} is no engine and no URL", quoted(text)))
        .advise(format!("{question}known: {}, or a URL such as postgres://user@host:port/db", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target> {
        parse(text, Where { data_dir: "/data".into(), server_bin: None, port: None })
    }

    #[test]
    fn names_are_embedded_or_private_and_urls_are_existing() {
        assert!(matches!(read("sqlite"), Ok(Target::Embedded { .. })));
        assert!(matches!(read("postgres"), Ok(Target::Private { .. })));
        for scheme in ["mariadb", "mysql"] {
            assert_eq!(read(&format!("{scheme}://me@db")).unwrap().engine(), "mariadb");
        }
        let url = read("postgres://me@db.example:5432/app").unwrap();
        assert_eq!(url.label(), "postgres://me@db.example:5432/app");
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_echoed() {
        for url in ["postgres://me:secret@db/app", "postgres://db/app?user=me&password=secret", "mysql://me:secret@db"]
        {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains("PGPASSWORD or MYSQL_PWD") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_may_be_a_password_is_refused_and_not_echoed() {
        for url in [
            "postgres://me:sec/ret@db.example/app",
            "postgres://me:se?cret@db.example/app",
            "mariadb://me:sec/ret@db",
            "postgres://me:12/secret@db/app",
            "postgres://me:12?secret@db/app",
            "postgres://me:/secret@db",
            "postgres://me:secret",
            "postgres://me@site:sec/ret@db/app",
            "postgres://db/app?passwd=secret",
            "mysql://db?user=me&pwd=secret",
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains("PGPASSWORD or MYSQL_PWD"), "{error}");
            assert!(!error.contains("sec") && !error.contains("ret@"), "{error}");
        }
        for text in ["me:secret@db/app", "postgres//me:secret@db", "me:secret@db://app"] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("known: ") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_can_be_no_password_is_read() {
        for url in [
            "postgres://me@db:5432/app?x=a@b",
            "postgres://db:5432,other:5433/app?x=a@b",
            "postgres://me@[::1]:5432/app?x=a@b",
            "postgres://me@[::1]/app",
            "postgres://db/a@b",
            "postgres://me@/postgres?host=/run/x:y@z",
            "mariadb://me@db:/app",
        ] {
            assert!(matches!(read(url), Ok(Target::Existing { .. })), "{url}");
        }
    }

    #[test]
    fn an_unknown_engine_names_the_nearest() {
        assert!(read("postgress").unwrap_err().to_string().contains("did you mean 'postgres'?"));
        assert_eq!(read("ftp://x").unwrap_err().kind.exit_code(), 2);
    }
}
