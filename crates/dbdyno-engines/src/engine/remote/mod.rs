//! Common parts of our own clients of database servers: the byte stream and its read buffer, parts
//! of URLs, hosts that answer or not, the user's files, passwords, statements of their own, how
//! many sessions are left, texts of errors.

use super::one_line::first_chars;
use super::{EngineError, ErrorClass};
use dbdyno_core::sql::{Values, parse_blocks, statement, substitute};

mod channel;
mod connect;
mod connect_timeouts;
mod files;
mod job_waits;
mod password;
mod peer;
mod polling_session;
mod process;
mod routes;
mod sessions;
mod stream;
mod text;
mod tls;
mod url;

pub(in crate::engine) use channel::Channel;
#[cfg(test)]
pub(in crate::engine) use channel::READ_BUFFER_BYTES;
pub(in crate::engine) use connect::{
    FIRST_TO_CLOSE, Host, Laps, addresses, broken, closing_error, first_that_answers, lost,
};
pub(in crate::engine) use connect_timeouts::{CONNECT_TIMEOUT, ConnectTimeouts, SILENT_AT_THE_END};
pub(in crate::engine) use files::{check_private_key, in_home, private_text};
pub(in crate::engine) use password::Passwords;
pub(in crate::engine) use peer::check_peer;
pub(in crate::engine) use polling_session::PollingSession;
pub(in crate::engine) use process::{Claimed, directory, processes_at_the_end_of};
pub(in crate::engine) use routes::{
    ReportedAddresses, Routable, Route, Routes, TCP_ACCOUNT, TcpAccount, no_route,
};
pub(in crate::engine) use sessions::sessions_left;
pub(in crate::engine) use stream::{Stream, Watch};
pub(in crate::engine) use text::TextQuery;
pub(in crate::engine) use tls::{Tls, TlsMode, is_system};
pub(in crate::engine) use url::{
    Url, bad_url, every_host, from_env, not_empty, os_user, port_number, unknown_parameter,
};

/// Longest piece of a statement that an error message quotes, in characters.
const QUOTED_CHARS: usize = 100;

/// A statement of a client itself: that of a named block in `text`, a file beside the source which
/// no catalog replaces, with the values of its names.
///
/// # Errors
/// No such block, a name without a value: a bug, which every user of the file tests
/// for.
pub(in crate::engine) fn own_sql(
    text: &str,
    name: &str,
    values: &[(&str, &str)],
) -> Result<String, EngineError> {
    let wrong = |what: String| EngineError::new(ErrorClass::Statement, what);
    let blocks = parse_blocks("own statements", text).map_err(|error| wrong(error.to_string()))?;
    let block = blocks.iter().find(|block| block.name == name);
    let block =
        block.ok_or_else(|| wrong(format!("statement '{name}' is missing (a bug in dbdyno)")))?;
    let values: Values =
        values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let filled = substitute(block, &values, &[]).map_err(|error| wrong(error.to_string()))?;
    Ok(statement(&filled).to_string())
}

/// The beginning of a statement as an error message quotes it.
pub(in crate::engine) fn quote(statement: &str) -> String {
    first_chars(statement, QUOTED_CHARS, " ...")
}
