//! Parts of a server's URL.

use crate::engine::{EngineError, ErrorClass};

/// `name`, `name:port`, `[v6]`, `[v6]:port`.
pub(in crate::engine) fn split_port(host: &str) -> Result<(&str, &str), EngineError> {
    let Some(rest) = host.strip_prefix('[') else { return Ok(host.split_once(':').unwrap_or((host, ""))) };
    let (name, tail) = rest.split_once(']').ok_or_else(|| bad_url("a '[' of the URL has no ']'"))?;
    match tail.strip_prefix(':') {
        Some(port) => Ok((name, port)),
        None if tail.is_empty() => Ok((name, "")),
        None => Err(bad_url(format!("'{tail}' after ']' is no port"))),
    }
}

/// Resolves `%41`; `+` stays.
pub(in crate::engine) fn decode(text: &str) -> Result<String, EngineError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = tail;
            continue;
        }
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let value = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|value| *value != 0);
        bytes.push(value.ok_or_else(|| bad_url("the URL holds a '%' without two hex digits"))?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| bad_url("the URL is no UTF-8 text"))
}

/// A variable of the environment that is set and not empty.
pub(in crate::engine) fn from_env(name: &str) -> Option<String> {
    std::env::var(name).ok().and_then(not_empty)
}

/// `text` unless it is empty.
pub(in crate::engine) fn not_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// Something is wrong with the URL that the user gave.
pub(in crate::engine) fn bad_url(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Usage, message)
}
