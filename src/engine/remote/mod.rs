//! What our own clients of database servers share: the byte stream and its read buffer, parts of URLs, passwords, texts of errors.

mod channel;
mod password;
mod stream;
mod text;
mod url;

pub(in crate::engine) use channel::Channel;
#[cfg(test)]
pub(in crate::engine) use channel::READ_BUFFER_BYTES;
pub(in crate::engine) use password::Password;
pub(in crate::engine) use stream::Stream;
pub(in crate::engine) use text::{one_line, quote};
pub(in crate::engine) use url::{bad_url, decode, from_env, not_empty, split_port};
