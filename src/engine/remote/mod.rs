//! What our own clients of database servers share: the byte stream and its read buffer, parts of URLs, the user's files,
//! passwords, statements of their own, hosts that answer or not, texts of errors.

mod channel;
mod connect;
mod files;
mod own_sql;
mod password;
mod stream;
mod text;
mod url;

pub(in crate::engine) use channel::Channel;
#[cfg(test)]
pub(in crate::engine) use channel::READ_BUFFER_BYTES;
pub(in crate::engine) use connect::{broken, first_that_answers, lost, unreachable};
pub(in crate::engine) use files::{in_home, private_text};
pub(in crate::engine) use own_sql::own_sql;
pub(in crate::engine) use password::{Ask, Password, asked, no_password};
pub(in crate::engine) use stream::Stream;
pub(in crate::engine) use text::{one_line, quote};
pub(in crate::engine) use url::{Url, bad_url, from_env, not_empty, os_user, port_number, unknown_parameter};
