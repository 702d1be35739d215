//! Parts of a server's URL.

use crate::engine::{EngineError, ErrorClass};
use crate::host;
use dbdyno_core::error::quote;
use dbdyno_core::model::PasswordSources;

/// Parts of a URL, decoded; nothing is filled in yet.
pub(in crate::engine) struct Url {
    pub user: Option<String>,
    /// Name and port, which may be empty.
    pub hosts: Vec<(String, String)>,
    pub database: Option<String>,
    /// Name and value; no value is empty.
    pub parameters: Vec<(String, String)>,
}

impl Url {
    /// Reads `scheme://user@host:port,host/database?name=value&name=value`. A password belongs into
    /// `sources`.
    ///
    /// # Errors
    /// Another scheme, a password, what is not well formed. No error quotes the URL.
    pub(in crate::engine) fn parse(
        url: &str,
        schemes: &[&str],
        sources: PasswordSources,
    ) -> Result<Url, EngineError> {
        let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme)?.strip_prefix("://"));
        let rest = rest.ok_or_else(|| {
            let starts: Vec<_> = schemes.iter().map(|scheme| format!("{scheme}://")).collect();
            bad_url(format!("the URL does not start with {}", starts.join(" or ")))
        })?;
        let (main, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = main.split_once('/').unwrap_or((main, ""));
        let (user, hosts) =
            authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
        let is_cut = user.is_empty() && cuts_password(authority, &rest[authority.len()..]);
        if user.contains(':') || is_cut {
            return Err(password_in_url(sources));
        }
        let hosts = hosts.split(',').filter(|host| !host.is_empty()).map(host);
        let parameters = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(parameter)
            .collect::<Result<Vec<_>, _>>();
        let parameters = parameters?;
        if parameters.iter().any(|(name, _)| name == "password") {
            return Err(password_in_url(sources));
        }
        let (user, database) = (not_empty(decode(user)?), not_empty(decode(database)?));
        Ok(Url { user, hosts: hosts.collect::<Result<_, _>>()?, database, parameters })
    }
}

/// True if what looks like the port of a host may be the beginning of a password, which a '/' or
/// '?' in it cuts off from the '@' behind it: an '@' belongs into the value of a parameter only.
fn cuts_password(hosts: &str, tail: &str) -> bool {
    let Some((before, _)) = tail.rsplit_once('@') else { return false };
    let in_value = before.split_once('?').is_some_and(|(_, query)| query.contains('='));
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_cut = |host: &str| {
        let after_name = host.rsplit_once(']').map_or(host, |(_, after)| after);
        after_name.split_once(':').is_some_and(|(_, port)| !in_value || !is_number(port))
    };
    hosts.split(',').any(is_cut)
}

fn password_in_url(sources: PasswordSources) -> EngineError {
    bad_url("the URL holds a password, which others could read in the process list")
        .advised(format!("leave it out and put it into {sources}"))
}

fn host(text: &str) -> Result<(String, String), EngineError> {
    let (name, port) = split_port(text)?;
    if name.is_empty() {
        return Err(bad_url(format!("the host before ':{port}' is missing")));
    }
    Ok((decode(name)?, port.to_owned()))
}

fn parameter(pair: &str) -> Result<(String, String), EngineError> {
    let (name, value) =
        pair.split_once('=').ok_or_else(|| bad_url("a parameter of the URL has no value"))?;
    match decode(value)? {
        value if value.is_empty() => {
            Err(bad_url(format!("URL parameter {} is empty", quote(name))))
        }
        value => Ok((name.to_owned(), value)),
    }
}

/// True if all hosts of a list are nodes of a cluster; else the first that answers is meant.
///
/// # Errors
/// Anything but `all`.
pub(in crate::engine) fn every_host(value: &str) -> Result<bool, EngineError> {
    if value == "all" {
        return Ok(true);
    }
    Err(bad_url(format!("{} is not a valid value of nodes", quote(value)))
        .advised("write nodes=all: every host of the list is a node"))
}

/// A parameter that means nothing; `known` are those that do.
pub(in crate::engine) fn unknown_parameter(name: &str, known: &str) -> EngineError {
    bad_url(format!("unknown URL parameter {}", quote(name))).advised(format!("use {known}"))
}

/// A port as text, or the usual one.
pub(in crate::engine) fn port_number(text: Option<String>, usual: u16) -> Result<u16, EngineError> {
    let Some(text) = text else { return Ok(usual) };
    text.parse()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| bad_url(format!("{} is not a port number", quote(text))))
}

/// User of this program.
pub(in crate::engine) fn os_user() -> Option<String> {
    from_env("USER").or_else(|| from_env("LOGNAME"))
}

/// `name`, `name:port`, `[v6]`, `[v6]:port`.
fn split_port(host: &str) -> Result<(&str, &str), EngineError> {
    let Some(rest) = host.strip_prefix('[') else {
        return Ok(host.split_once(':').unwrap_or((host, "")));
    };
    let (name, tail) =
        rest.split_once(']').ok_or_else(|| bad_url("a '[' of the URL has no ']'"))?;
    match tail.strip_prefix(':') {
        Some(port) => Ok((name, port)),
        None if tail.is_empty() => Ok((name, "")),
        None => Err(bad_url(format!("{} after ']' is not a port", quote(tail)))),
    }
}

/// Resolves `%41`; `+` stays.
fn decode(text: &str) -> Result<String, EngineError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = tail;
            continue;
        }
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let value =
            hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|value| *value != 0);
        bytes.push(value.ok_or_else(|| bad_url("the URL holds a '%' without two hex digits"))?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| bad_url("the URL is not UTF-8 text"))
}

/// The value of an environment variable; none if it is not set, empty or not UTF-8.
pub(in crate::engine) fn from_env(name: &str) -> Option<String> {
    host::variable(name)?.into_string().ok()
}

/// `text` unless it is empty.
pub(in crate::engine) fn not_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Something is wrong with the URL that the user gave.
pub(in crate::engine) fn bad_url(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Url, EngineError> {
        Url::parse(url, &["db", "database"], PasswordSources { variable: "SECRET", file: "a file" })
    }

    #[test]
    fn all_parts_are_read_and_decoded() {
        let url = parse("database://ann%40x@db1:6000,[::1]:6001,%2Frun/sales?a=1%2C2&b==").unwrap();
        assert_eq!((url.user.as_deref(), url.database.as_deref()), (Some("ann@x"), Some("sales")));
        let hosts = [("db1", "6000"), ("::1", "6001"), ("/run", "")];
        assert_eq!(url.hosts, hosts.map(|(name, port)| (name.to_owned(), port.to_owned())));
        assert_eq!(
            url.parameters,
            [("a", "1,2"), ("b", "=")].map(|(name, value)| (name.into(), value.into()))
        );
        let empty = parse("db://").unwrap();
        assert!(empty.user.is_none() && empty.hosts.is_empty() && empty.database.is_none());
    }

    #[test]
    fn a_password_is_refused_and_never_echoed() {
        for url in [
            "db://u:s3cret@h/d",
            "db://u@h/d?password=s3cret",
            "db://u:s3@cret@h/d",
            "db://u:s3/cret@h/d",
            "db://u:s3?cret@h/d",
            "db://u:s3?c=ret@h/d",
            "db://u:33/s3cret@h/d",
            "db://u:/s3cret@h/d",
        ] {
            let error = parse(url).err().unwrap();
            assert!(
                error.message.contains("password") && !format!("{error:?}").contains("s3"),
                "{error:?}"
            );
            assert!(error.advice.unwrap().contains("SECRET"));
        }
    }

    #[test]
    fn an_at_sign_in_the_value_of_a_parameter_is_no_password() {
        let url = parse("db://h:5432,[::1]:5433/d?user=ann@x").unwrap();
        assert_eq!(url.parameters, [("user".to_owned(), "ann@x".to_owned())]);
        assert!(parse("db://h/a@b").is_ok() && parse("db://[::1]/a@b").is_ok());
    }

    #[test]
    fn wrong_parts_are_named() {
        for (url, word) in [
            ("db:/h", "db:// or database://"),
            ("dbs://h", "db:// or database://"),
            ("db://u@:5432/d", "the host before"),
            ("db://u@/d?host=", "'host' is empty"),
            ("db://u@/d?host", "no value"),
            ("db://u@[::1/d", "']'"),
            ("db://u@[::1]x/d", "'x'"),
            ("db://u%4@h/d", "hex"),
        ] {
            let error = parse(url).err().unwrap();
            assert!(
                error.class == ErrorClass::Usage && error.message.contains(word),
                "{url}: {error}"
            );
        }
    }
}
