//! Errors of the driver and of the server as [`EngineError`]s.
//!
//! Codes are those of "Database Error Messages"; the driver writes some of the network's in words
//! of its own.

use std::time::Duration;

use oracledb::{Error, ErrorKind};

use crate::engine::one_line::one_line;
use crate::engine::remote::{lost, quote};
use crate::engine::{EngineError, ErrorClass};

/// The driver appends a random id to what a listener says.
const CONNECTION_ID: &str = " (CONNECTION_ID=";
/// Text that the driver writes before the operating system's reason.
const STREAM: &str = "stream operation failed: ";

/// The class of an error code.
fn class_of(code: usize) -> ErrorClass {
    match code {
        1005 | 1017 | 1045 | 28000 | 28001 | 28002 | 28030 | 28040 => ErrorClass::Denied,
        1031 | 1950 | 1990 | 41900 => ErrorClass::Privilege,
        60 => ErrorClass::Deadlock,
        8177 => ErrorClass::Serialization,
        51 | 54 | 2049 | 4020 | 4021 | 30006 => ErrorClass::Busy,
        257
        | 1536
        | 1650..=1656
        | 1658
        | 1659
        | 1688
        | 1691..=1693
        | 19502
        | 19504
        | 30036
        | 30041 => ErrorClass::DiskFull,
        1013 => ErrorClass::Cancelled,
        28 | 31 | 1012 | 1089 | 1092 | 2396 | 2399 | 3113 | 3114 | 3135 | 12537 | 12547 | 12570 => {
            ErrorClass::Lost
        }
        18 | 20 | 1033 | 1034 | 2391 | 12500..=12560 => ErrorClass::Unreachable,
        900..=999 | 1722 | 1747 | 1756 | 1789 | 1790 | 2289 | 4043 | 6502 | 6550 => {
            ErrorClass::Statement
        }
        _ => ErrorClass::Other,
    }
}

/// Advice for an error code, where the remedy is not obvious.
fn advice_of(code: usize) -> Option<&'static str> {
    Some(match code {
        1017 => {
            "check user and password; an account that has only a 10G or 11G password verifier \
             cannot log in by this driver: set its password anew while \
             SQLNET.ALLOWED_LOGON_VERSION_SERVER is 12 or 12a"
        }
        28000 => "as administrator: alter user ... account unlock",
        28001 | 28002 => "set a new password for the user",
        28040 => {
            "the server's SQLNET.ALLOWED_LOGON_VERSION_SERVER asks for a login that this driver \
             does not have"
        }
        1045 => "as administrator: grant create session to the user",
        1031 | 1950 => {
            "as administrator: grant create table, create cluster, create procedure and a quota to \
             the user"
        }
        1536 => "raise the user's quota on the tablespace, or choose a smaller --size",
        257 => "free space for archived logs",
        1650..=1656 | 1658 | 1659 | 1688 | 1691..=1693 | 19502 | 19504 => {
            "let the tablespace grow, or choose a smaller --size"
        }
        30036 => "let the undo tablespace grow",
        18 | 20 | 12516 | 12518 | 12519 | 12520 => {
            "raise 'processes' and 'sessions', or use fewer --jobs"
        }
        2391 => "raise sessions_per_user of the user's profile, or use fewer --jobs",
        12505 | 12514 => "'lsnrctl services' on the server lists the names that the listener knows",
        12541 => "start the listener, or check host and port",
        12660 | 12650 => {
            "check that it is an Oracle listener; where native network encryption is required, use \
             protocol=tcps: this driver has no other encryption"
        }
        1033 | 1034 => "wait for the instance, or start it",
        _ => return None,
    })
}

/// The error of an open session. `statement` is quoted when it is likely to be at fault.
pub(super) fn from_driver(error: &Error, statement: &str) -> EngineError {
    match error.kind() {
        ErrorKind::DbError(inner) => from_server(inner.code(), inner.message(), statement),
        ErrorKind::CallTimeoutExceeded => lost("the server did not answer in time"),
        ErrorKind::DeadConnection => lost("the server closed the connection"),
        ErrorKind::StreamOperation => {
            lost(format!("the connection to the server broke ({})", reason(error)))
        }
        ErrorKind::UnableToRecover | ErrorKind::NotConnected | ErrorKind::LockPoisoned => {
            lost(reason(error))
        }
        kind if is_garbage(kind) => unreadable(&reason(error)),
        _ => EngineError::new(ErrorClass::Other, in_statement(reason(error), statement)),
    }
}

/// The error of a login at `address`.
pub(super) fn of_login(error: &Error, address: &str) -> EngineError {
    let code = match error.kind() {
        ErrorKind::DbError(_) => return from_driver(error, ""),
        ErrorKind::InvalidServiceName(..) => 12514,
        ErrorKind::InvalidSid(..) => 12505,
        ErrorKind::ListenerRefusedConnection(.., code) => *code,
        kind => return of_network(kind, error, address),
    };
    let message = format!("the listener at {address} refused the connection: {}", reason(error));
    EngineError {
        code: Some(format!("ORA-{code:05}")),
        ..unreachable_error(message, advice_of(code))
    }
}

fn of_network(kind: &ErrorKind, error: &Error, address: &str) -> EngineError {
    let why = reason(error);
    match kind {
        ErrorKind::CallTimeoutExceeded => no_answer(address, "it takes too long"),
        ErrorKind::StreamOperation | ErrorKind::TlsOperation if is_of_certificate(&why) => {
            EngineError::new(
                ErrorClass::Denied,
                format!(
                    "the certificate of the server at \
                                                          {address} is refused ({why})"
                ),
            )
            .advised(
                "use the host's name in the certificate; certificates of your own issuer \
                          stand in ewallet.pem of wallet=DIRECTORY",
            )
        }
        ErrorKind::StreamOperation => no_answer(address, &why),
        ErrorKind::DeadConnection => unreachable_error(
            format!(
                "the server at {address} closed the connection before the login was \
                             done"
            ),
            advice_of(12660),
        ),
        ErrorKind::UnexpectedRefuse(_) => unreachable_error(
            format!(
                "the listener at {address} refused the \
                                                           connection"
            ),
            None,
        ),
        ErrorKind::ServerVersionNotSupported => {
            EngineError::new(ErrorClass::TooOld, "the server is too old")
                .advised("use Oracle Database 19c or newer")
        }
        kind if is_garbage(kind) => unreadable(&why),
        kind if is_of_wallet(kind) => EngineError::new(ErrorClass::Usage, why).advised(
            "a wallet is a directory with ewallet.pem (convert a .p12: openssl pkcs12 -in \
                      ewallet.p12 -out ewallet.pem)",
        ),
        ErrorKind::NoConfigDir | ErrorKind::TnsAliasNotFound(..) => EngineError::new(
            ErrorClass::Usage,
            format!("{} is not a name in tnsnames.ora ({why})", quote(address)),
        )
        .advised(
            "set TNS_ADMIN to the directory of tnsnames.ora, or write \
                          oracle://user@host:port/service",
        ),
        _ => EngineError::new(ErrorClass::Usage, why),
    }
}

/// A server at `address` that does not answer.
pub(super) fn no_answer(address: &str, why: &str) -> EngineError {
    unreachable_error(
        format!("no server answers at {address} ({why})"),
        Some("check host and port, and that the listener is started"),
    )
}

/// So long was waited for the login.
pub(super) fn silent(address: &str, waited: Duration) -> EngineError {
    no_answer(address, &format!("the login was not done within {} s", waited.as_secs_f64()))
}

/// Error for data that cannot be from an Oracle server.
pub(super) fn unreadable(why: &str) -> EngineError {
    lost(format!("the server sent an answer that cannot be read ({why})"))
        .advised("check that it is an Oracle listener")
}

fn unreachable_error(message: String, advice: Option<&str>) -> EngineError {
    EngineError {
        advice: advice.map(str::to_owned),
        ..EngineError::new(ErrorClass::Unreachable, message)
    }
}

/// The driver's words on one line, without its random id.
fn reason(error: &Error) -> String {
    let text = one_line(&error.to_string());
    let text = text.split(CONNECTION_ID).next().unwrap_or_default().replace("(Similar to ", "(");
    text.strip_prefix(STREAM).unwrap_or(&text).trim_end_matches('.').to_owned()
}

fn is_of_certificate(why: &str) -> bool {
    ["certificate", "UnknownIssuer", "NotValidForName"].iter().any(|word| why.contains(word))
}

fn is_garbage(kind: &ErrorKind) -> bool {
    use ErrorKind as K;
    matches!(
        kind,
        K::UnknownTtcMessageType(..)
            | K::UnknownServerSidePiggyback(_)
            | K::IntegerTooLarge(..)
            | K::InvalidEncodedString
            | K::OutOfData
            | K::UnexpectedResult
            | K::UnexpectedNegativeInteger
            | K::InvalidRedirect(_)
    )
}

fn is_of_wallet(kind: &ErrorKind) -> bool {
    use ErrorKind as K;
    matches!(
        kind,
        K::WalletPasswordMissingOrInvalid(..)
            | K::WalletPrivateKeyInvalid(_)
            | K::WalletUnreadable(_)
            | K::PemFileOperation
    )
}

fn from_server(code: usize, text: &str, statement: &str) -> EngineError {
    let class = class_of(code);
    let is_at_fault =
        matches!(class, ErrorClass::Statement | ErrorClass::Privilege | ErrorClass::Other);
    // A help page's address follows on a line of its own.
    let text = one_line(
        text.split(" https://docs.oracle.com")
            .next()
            .unwrap_or_default()
            .split("\nHelp:")
            .next()
            .unwrap_or_default(),
    );
    let message = if is_at_fault { in_statement(text, statement) } else { text };
    EngineError {
        class,
        code: Some(format!("ORA-{code:05}")),
        message,
        advice: advice_of(code).map(str::to_owned),
    }
}

fn in_statement(message: String, statement: &str) -> String {
    if statement.is_empty() { message } else { format!("{message} in: {}", quote(statement)) }
}

/// A statement that cannot be run.
pub(super) fn statement(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Statement, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_class_a_caller_can_act_on() {
        for (code, class) in [
            (1017, ErrorClass::Denied),
            (1031, ErrorClass::Privilege),
            (60, ErrorClass::Deadlock),
            (8177, ErrorClass::Serialization),
            (54, ErrorClass::Busy),
            (1653, ErrorClass::DiskFull),
            (1652, ErrorClass::DiskFull),
            (1013, ErrorClass::Cancelled),
            (3113, ErrorClass::Lost),
            (12514, ErrorClass::Unreachable),
            (12541, ErrorClass::Unreachable),
            (942, ErrorClass::Statement),
            (1, ErrorClass::Other),
        ] {
            assert_eq!(class_of(code), class, "{code}");
        }
    }

    #[test]
    fn an_error_is_one_line_with_its_code_and_statement() {
        let text = "ORA-00942: table or view\n \"X\" does not exist\nHelp: \
                    https://docs.oracle.com/error-help/";
        let error = from_server(942, text, "select *\n from x");
        assert_eq!(
            error.message,
            "ORA-00942: table or view \"X\" does not exist in: select * from x"
        );
        assert_eq!(error.code.as_deref(), Some("ORA-00942"));
        let denied = from_server(1017, "ORA-01017: invalid username/password; logon denied", "");
        assert!(denied.advice.is_some_and(|advice| advice.contains("10G")));
    }
}
