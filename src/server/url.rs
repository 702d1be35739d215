//! URLs of private servers.

use std::fmt::Write as _;

/// Keeps what may stand in the query part of a URL.
pub(super) fn percent_encode(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    text.bytes().fold(String::new(), |mut out, byte| {
        if keep(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
