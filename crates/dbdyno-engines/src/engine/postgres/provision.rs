//! Our schema: checks the privileges before anything is created.

use super::owner::Schema;
use super::session::PgSession;
use crate::engine::remote::{TCP_ACCOUNT, own_sql};
use crate::engine::{Access, EngineError, ErrorClass, Session};

/// Schema of all our objects (see `Capabilities::prefix`).
const SCHEMA: &str = "dbdyno";

/// The comment tells `clean` that the schema is ours to drop; `create` of `provision.sql` has it.
const OURS: Schema = Schema { name: SCHEMA, mark: Some("made by dbdyno"), only_tables: false };

const SQL: &str = include_str!("provision.sql");

/// A statement about our account for connections over TCP.
fn account_sql(block: &str, password: &str) -> Result<String, EngineError> {
    own_sql(SQL, block, &[("schema", SCHEMA), ("user", TCP_ACCOUNT), ("password", password)])
}

/// Statements that create our account for connections over TCP, with this password.
pub(super) fn tcp_account_sql(password: &str) -> Result<Vec<String>, EngineError> {
    Ok(vec![account_sql("account", password)?])
}

/// Drops our account for connections over TCP, if it exists.
pub(super) fn drop_tcp_account(session: &mut PgSession) -> Result<(), EngineError> {
    session.execute(&account_sql("drop-account", "")?).map(drop)
}

/// A script that makes a role of this name which suffices in the database.
pub(super) fn role_sql(role: &str, database: &str) -> Result<String, EngineError> {
    let quoted = |name: &str| match name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    let (role, database) = (quoted(role), quoted(database));
    own_sql(include_str!("role.sql"), "role", &[("role", &role), ("database", &database)])
}

/// Asks for the sessions of this name, to which a pooler may add its client's address, and for
/// these backends.
pub(super) fn named_sql(application: &str, backends: &[u32]) -> Result<String, EngineError> {
    let numbers: Vec<String> = backends.iter().map(u32::to_string).collect();
    // No backend has the number 0.
    let numbers = if numbers.is_empty() { "0".into() } else { numbers.join(", ") };
    own_sql(SQL, "named-so", &[("application", application), ("backends", &numbers)])
}

/// Makes a session report its counts; true if the session began after this time of the server's
/// clock.
pub(super) fn progress_sql(block: &str, since: &str) -> Result<String, EngineError> {
    own_sql(SQL, block, &[("since", since)])
}

/// Statements that set these in a session.
pub(super) fn set_sql<'a>(
    settings: impl Iterator<Item = &'a (&'a str, &'a str)>,
) -> Result<String, EngineError> {
    let set =
        |(name, value): &(&str, &str)| own_sql(SQL, "set", &[("name", name), ("value", value)]);
    Ok(settings.map(set).collect::<Result<Vec<_>, _>>()?.join(";\n"))
}

/// A statement of our own file.
pub(super) fn sql(block: &str) -> Result<String, EngineError> {
    own_sql(SQL, block, &[("schema", SCHEMA)])
}

/// A statement about the nodes of a cluster.
pub(super) fn node_sql(block: &str, values: &[(&str, &str)]) -> Result<String, EngineError> {
    own_sql(SQL, block, values)
}

/// Checks that the schema can be used, or created; creates it if `access` allows.
pub(super) fn prepare(session: &mut PgSession, access: Access) -> Result<(), EngineError> {
    if access == Access::Watch {
        return Ok(());
    }
    let rows = session.query(&sql("privileges")?, &[])?;
    let (user, database) = (rows.text_at(0), rows.text_at(1));
    let (may_create_schema, may_create_objects) = (rows.text_at(3) == "t", rows.text_at(4) == "t");
    let is_there = OURS.is_there(session)?;
    match (is_there, may_create_schema, may_create_objects) {
        (true, _, true) => Ok(()),
        (true, _, false) => Err(missing(
            format!("user {user} may not create objects in schema {SCHEMA}"),
            format!("as its owner: grant usage, create on schema {SCHEMA} to {user}"),
        )),
        (false, false, _) => Err(missing(
            format!("user {user} may not create a schema in database {database}"),
            format!("as its owner: grant create on database {database} to {user}"),
        )),
        (false, true, _) if access != Access::Provision => Ok(()),
        // Somebody may have made it meanwhile.
        (false, true, _) => {
            session.execute(&sql("create")?).and_then(|_| OURS.is_there(session).map(drop))
        }
    }
}

/// Refuses what nothing can be measured on: sessions that a pooler lends, a server that may only be
/// read. `greeted` is the process that the server named when the session began.
pub(super) fn check_state(
    session: &mut PgSession,
    greeted: Option<u32>,
    access: Access,
) -> Result<(), EngineError> {
    let rows = session.query(&sql("state")?, &[])?;
    if greeted.is_some_and(|pid| rows.text_at(0).parse() != Ok(pid)) {
        return Err(pooler_error());
    }
    let (is_standby, only_reads) = (rows.text_at(1) == "t", rows.text_at(2) == "on");
    match access {
        Access::Watch => Ok(()),
        Access::Follow if is_standby => Ok(()),
        _ if is_standby => Err(missing(
            "the server is a standby, which can only be read",
            "connect to its primary",
        )),
        _ if only_reads => Err(missing(
            "transactions of this user can only read (default_transaction_read_only)",
            "alter role ... set default_transaction_read_only = off, or use another user",
        )),
        _ => Ok(()),
    }
}

/// A pooler gives a session to whoever has something to do: routines, settings and counters of ours
/// would be in any of them.
pub(super) fn pooler_error() -> EngineError {
    EngineError::new(
        ErrorClass::Other,
        "the URL leads to a connection pooler, which shares sessions among clients",
    )
    .advised("connect to the server itself")
}

fn missing(message: impl Into<String>, advice: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Privilege, message).advised(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_there_and_names_our_schema() {
        for block in ["privileges", "create"] {
            assert!(sql(block).unwrap().contains(SCHEMA), "{block}");
        }
        assert!(
            ["sessions", "directory", "state", "node", "position"]
                .into_iter()
                .all(|block| sql(block).is_ok())
                && sql("gone").is_err()
        );
    }
}
