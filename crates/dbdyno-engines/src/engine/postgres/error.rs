//! Errors of the server and of the connection as [`EngineError`]s.

use std::io;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{ErrorResponseBody, Message};

use crate::engine::one_line::one_line;
pub(super) use crate::engine::remote::lost;
use crate::engine::remote::{broken, quote};
use crate::engine::{EngineError, ErrorClass};

/// The class of a SQLSTATE (PostgreSQL manual, appendix A).
pub(super) fn class_of(sqlstate: &str) -> ErrorClass {
    match sqlstate {
        "28P01" | "28000" => ErrorClass::Denied,
        "42501" => ErrorClass::Privilege,
        "40P01" => ErrorClass::Deadlock,
        "40001" => ErrorClass::Serialization,
        "55P03" => ErrorClass::Busy,
        "53100" => ErrorClass::DiskFull,
        "57014" => ErrorClass::Cancelled,
        "57P01" | "57P02" | "57P04" | "57P05" => ErrorClass::Lost,
        "57P03" | "53300" => ErrorClass::Unreachable,
        code if code.starts_with("08") => ErrorClass::Lost,
        code if code.starts_with("42") || code.starts_with("22") => ErrorClass::Statement,
        _ => ErrorClass::Other,
    }
}

/// Advice for a SQLSTATE, where the remedy is not obvious.
fn advice_of(sqlstate: &str) -> Option<&'static str> {
    Some(match sqlstate {
        "28P01" => "check the user and the password in PGPASSWORD or ~/.pgpass",
        "28000" => "check the user, and what pg_hba.conf allows for this host, user and database",
        "3D000" => "create the database first, or name another one in the URL",
        "53300" => "raise max_connections or use fewer --jobs",
        "53100" => "free space on the server's disk, or choose a smaller --size",
        "57P03" => "wait until the server accepts connections",
        _ => return None,
    })
}

/// The error of an `ErrorResponse` body. `statement` is quoted when it is likely to be at fault.
pub(super) fn from_body(body: &[u8], statement: &str) -> EngineError {
    match parse_body(body) {
        Some(response) => from_response(&response, statement),
        None => lost("the server sent an error that cannot be read"),
    }
}

/// Reads an `ErrorResponse` with the protocol library, from the body of the message.
fn parse_body(body: &[u8]) -> Option<ErrorResponseBody> {
    let mut message = BytesMut::with_capacity(body.len() + 5);
    message.extend_from_slice(b"E");
    message.extend_from_slice(&u32::try_from(body.len() + 4).ok()?.to_be_bytes());
    message.extend_from_slice(body);
    match Message::parse(&mut message) {
        Ok(Some(Message::ErrorResponse(response))) => Some(response),
        _ => None,
    }
}

/// The error of an `ErrorResponse`.
pub(super) fn from_response(response: &ErrorResponseBody, statement: &str) -> EngineError {
    let (mut code, mut text, mut detail) = (String::new(), String::new(), String::new());
    let mut fields = response.fields();
    while let Ok(Some(field)) = fields.next() {
        let value = || String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => code = value(),
            b'M' => text = value(),
            b'D' => detail = value(),
            _ => {}
        }
    }
    let class = class_of(&code);
    let mut message = one_line(&text);
    if !detail.is_empty() && class != ErrorClass::Denied {
        message = format!("{message} ({})", one_line(&detail));
    }
    if !statement.is_empty()
        && matches!(class, ErrorClass::Statement | ErrorClass::Privilege | ErrorClass::Other)
    {
        message = format!("{message} (SQLSTATE {code}) in: {}", quote(statement));
    }
    EngineError { class, advice: advice_of(&code).map(str::to_owned), code: Some(code), message }
}

/// An error after which the server closed the connection.
pub(super) fn as_lost(error: EngineError) -> EngineError {
    EngineError { class: ErrorClass::Lost, ..error }
}

/// The error of a read or write on an open connection.
pub(super) fn from_io(error: &io::Error) -> EngineError {
    broken(error, "PostgreSQL message")
}

/// A message that makes no sense here: the connection cannot be used any more.
pub(super) fn unexpected_message(tag: u8, during: &str) -> EngineError {
    lost(format!(
        "unexpected message '{}' from the server during {during}",
        char::from(tag).escape_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlstates_have_the_class_a_caller_can_act_on() {
        for (code, class) in [
            ("28P01", ErrorClass::Denied),
            ("42501", ErrorClass::Privilege),
            ("40P01", ErrorClass::Deadlock),
            ("40001", ErrorClass::Serialization),
            ("53100", ErrorClass::DiskFull),
            ("08006", ErrorClass::Lost),
            ("57P01", ErrorClass::Lost),
            ("57014", ErrorClass::Cancelled),
            ("42P01", ErrorClass::Statement),
            ("23505", ErrorClass::Other),
        ] {
            assert_eq!(class_of(code), class, "{code}");
        }
    }

    #[test]
    fn a_response_becomes_one_line_with_code_and_statement() {
        let body = b"SERROR\0C42P01\0Mrelation \"x\" does\nnot exist\0\0";
        let error = from_body(body, "select *\n from x");
        assert_eq!(
            error.message,
            "relation \"x\" does not exist (SQLSTATE 42P01) in: select * from x"
        );
        assert_eq!(error.code.as_deref(), Some("42P01"));
    }
}
