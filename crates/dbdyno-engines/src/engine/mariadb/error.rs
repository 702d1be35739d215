//! Errors of the server and of the connection as [`EngineError`]s.

use std::io;

use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::ErrPacket;

use crate::engine::one_line::one_line;
use crate::engine::remote::{broken, lost, quote};
use crate::engine::{EngineError, ErrorClass};

/// First byte of a packet with an error.
pub(super) const ERROR: u8 = 0xFF;

/// The class of a server error (MariaDB manual, "MariaDB Error Codes"; numbers below 1000 are those
/// of the operating system's layer; MySQL manual, "Server Error Message Reference": those from 3000
/// to 3999 are its own, of 4031 MariaDB's is about triggers) with its SQLSTATE. Words of a message
/// are those that no language of the server replaces.
fn class_of(code: u16, sqlstate: &str, message: &str) -> ErrorClass {
    match code {
        1045 | 1130 | 1251 | 1524 | 1698 | 1820 | 1862 | 4151 => ErrorClass::Denied,
        1044 | 1142 | 1143 | 1227 | 1370 | 1410 | 1419 => ErrorClass::Privilege,
        // "WSREP has not yet prepared node for application use": the node is alive and does not
        // take work.
        1047 if message.contains("WSREP") => ErrorClass::Unreachable,
        // What Galera says in a commit, with one of several codes.
        _ if message.contains("Not connected to Primary Component") => ErrorClass::Unreachable,
        1213 => ErrorClass::Deadlock,
        // What the handler of a storage engine says in a commit: so does MySQL's group replication.
        1180 if message.contains("Lock deadlock") => ErrorClass::Deadlock,
        // The group of servers has found that another transaction was first.
        3101 => ErrorClass::Certification,
        1020 => ErrorClass::Serialization,
        1205 | 3572 => ErrorClass::Busy,
        20 | 1021 | 1114 => ErrorClass::DiskFull,
        // Errors of a file operation, with the number of the operating system's error: 28 = no
        // space, 122 = quota.
        3 | 1004 | 1005 | 1025 | 1026 | 1030 | 1180 | 1296 if out_of_space(message) => {
            ErrorClass::DiskFull
        }
        1317 | 1969 | 3024 => ErrorClass::Cancelled,
        1053 | 1077..=1080 | 1152..=1161 | 1184 | 1927 | 3169 | 4031 => ErrorClass::Lost,
        1040 | 1129 | 1203 | 1226 => ErrorClass::Unreachable,
        // The SQLSTATE 42000 of this limit is that of wrong statements.
        1461 => ErrorClass::Other,
        _ if sqlstate.starts_with("42") || sqlstate.starts_with("22") => ErrorClass::Statement,
        _ => ErrorClass::Other,
    }
}

fn out_of_space(message: &str) -> bool {
    ["rrcode: 28", "errno: 28", "error 28", "errno: 122", "No space left", "Disk quota exceeded"]
        .iter()
        .any(|words| message.contains(words))
}

/// Advice for an error, where the remedy is not obvious.
fn advice_of(code: u16) -> Option<&'static str> {
    Some(match code {
        1045 | 1698 => "check the user and the password in MYSQL_PWD or [client] of ~/.my.cnf",
        1130 => "create the user for this host, or connect from another one",
        1040 | 1203 => "raise max_connections or use fewer --jobs",
        1226 => "raise this limit of the user (alter user ... with ...), or use fewer --jobs",
        1461 => "raise max_prepared_stmt_count or use fewer --jobs",
        1049 => {
            "create the database first, or leave it out of the URL: our tables are in a database \
             of their own"
        }
        20 | 1021 | 1114 => "free space on the server's disk, or choose a smaller --size",
        1129 => "run 'mariadb-admin flush-hosts' on the server",
        _ => return None,
    })
}

/// The error of an error packet. `statement` is quoted when it is likely to be at fault.
pub(super) fn from_packet(payload: &[u8], statement: &str) -> EngineError {
    let packet = ParseBuf(payload).parse::<ErrPacket<'_>>(CapabilityFlags::CLIENT_PROTOCOL_41);
    match packet {
        Ok(ErrPacket::Error(error)) => {
            let state =
                error.sql_state_ref().map(|state| state.as_str().into_owned()).unwrap_or_default();
            from_server(error.error_code(), &state, &error.message_str(), statement)
        }
        _ => greeting_error(payload)
            .unwrap_or_else(|| lost("the server sent an error that cannot be read")),
    }
}

/// Errors before the login carry no SQLSTATE: code and text only.
fn greeting_error(payload: &[u8]) -> Option<EngineError> {
    let code = u16::from_le_bytes([*payload.get(1)?, *payload.get(2)?]);
    Some(from_server(code, "", &String::from_utf8_lossy(payload.get(3..)?), ""))
}

fn from_server(code: u16, sqlstate: &str, text: &str, statement: &str) -> EngineError {
    let class = class_of(code, sqlstate, text);
    let mut message = one_line(text);
    if !statement.is_empty()
        && matches!(class, ErrorClass::Statement | ErrorClass::Privilege | ErrorClass::Other)
    {
        message = format!("{message} (error {code}) in: {}", quote(statement));
    }
    EngineError {
        class,
        advice: advice_of(code).map(str::to_owned),
        code: Some(code.to_string()),
        message,
    }
}

/// The error of a read or write on an open connection.
pub(super) fn from_io(error: &io::Error) -> EngineError {
    broken(error, "MariaDB packet")
}

/// A statement that cannot be run.
pub(super) fn statement(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Statement, message)
}

/// A packet that makes no sense here: the connection cannot be used any more.
pub(super) fn unexpected_packet(during: &str) -> EngineError {
    lost(format!("unexpected packet from the server during {during}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_class_a_caller_can_act_on() {
        for (code, state, class) in [
            (1045, "28000", ErrorClass::Denied),
            (1044, "42000", ErrorClass::Privilege),
            (1370, "42000", ErrorClass::Privilege),
            (1213, "40001", ErrorClass::Deadlock),
            (1047, "08S01", ErrorClass::Other),
            (1205, "HY000", ErrorClass::Busy),
            (1021, "HY000", ErrorClass::DiskFull),
            (1114, "HY000", ErrorClass::DiskFull),
            (1317, "70100", ErrorClass::Cancelled),
            (1927, "70100", ErrorClass::Lost),
            (1040, "08004", ErrorClass::Unreachable),
            (1146, "42S02", ErrorClass::Statement),
            (1062, "23000", ErrorClass::Other),
            (1226, "42000", ErrorClass::Unreachable),
            (1461, "42000", ErrorClass::Other),
            (3024, "HY000", ErrorClass::Cancelled),
            (3101, "40000", ErrorClass::Certification),
            (3169, "HY000", ErrorClass::Lost),
            (3572, "HY000", ErrorClass::Busy),
            (4031, "HY000", ErrorClass::Lost),
        ] {
            assert_eq!(class_of(code, state, ""), class, "{code}");
        }
        assert_eq!(
            class_of(1047, "08S01", "WSREP has not yet prepared node"),
            ErrorClass::Unreachable
        );
        let cut_off = "Error while appending (provider status: Not connected to Primary Component)";
        assert_eq!(class_of(1180, "HY000", cut_off), ErrorClass::Unreachable);
        let full = "Got error 28 \"No space left on device\" from storage engine InnoDB";
        assert_eq!(class_of(1030, "HY000", full), ErrorClass::DiskFull);
    }

    #[test]
    fn a_server_that_speaks_another_language_is_understood() {
        let quota = "Fehler beim Schreiben der Datei './a' (Fehler: 122 \"Disk quota exceeded\")";
        assert_eq!(class_of(1026, "HY000", quota), ErrorClass::DiskFull);
        let full = "Fehler 28 \"No space left on device\" beim COMMIT";
        assert_eq!(class_of(1180, "HY000", full), ErrorClass::DiskFull);
        let first = "Fehler 149 - 'Lock deadlock; Retry transaction' beim COMMIT";
        assert_eq!(class_of(1180, "HY000", first), ErrorClass::Deadlock);
    }

    #[test]
    fn a_packet_becomes_one_line_with_code_and_statement() {
        let error = from_packet(b"\xff\x7a\x04#42S02Table 'x'\ndoesn't exist", "select *\n from x");
        assert_eq!(error.message, "Table 'x' doesn't exist (error 1146) in: select * from x");
        assert_eq!(error.code.as_deref(), Some("1146"));
        let error = from_packet(b"\xff\x10\x04Too many connections", "");
        assert_eq!(
            (error.class, error.message.as_str()),
            (ErrorClass::Unreachable, "Too many connections")
        );
    }
}
