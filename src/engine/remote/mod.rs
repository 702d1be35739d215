//! What our own clients of database servers share: the byte stream, parts of URLs, passwords, texts of errors.

mod password;
mod stream;
mod text;
mod url;

pub(in crate::engine) use password::Password;
pub(in crate::engine) use stream::Stream;
pub(in crate::engine) use text::{one_line, quote};
pub(in crate::engine) use url::{bad_url, decode, from_env, not_empty, split_port};
