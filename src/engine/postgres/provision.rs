//! Our schema: checks the privileges before anything is created.

use super::session::PgSession;
use crate::engine::remote::{TCP_ACCOUNT, own_sql};
use crate::engine::{Access, EngineError, ErrorClass, Session};

/// Everything of ours lives in this schema (see `Capabilities::prefix`).
const SCHEMA: &str = "dbdyno";

const SQL: &str = include_str!("provision.sql");

/// A statement about the account of ours that connects over TCP.
pub(super) fn account_sql(block: &str, password: &str) -> Result<String, EngineError> {
    own_sql(SQL, block, &[("schema", SCHEMA), ("user", TCP_ACCOUNT), ("password", password)])
}

/// A statement of ours.
pub(super) fn sql(block: &str) -> Result<String, EngineError> {
    own_sql(SQL, block, &[("schema", SCHEMA)])
}

/// Checks that the schema can be used, or created; creates it if `access` allows.
pub(super) fn prepare(session: &mut PgSession, access: Access) -> Result<(), EngineError> {
    if access == Access::Watch {
        return Ok(());
    }
    let rows = session.query(&sql("privileges")?, &[])?;
    let column = |at: usize| rows.rows.first().and_then(|row| row.get(at)?.as_deref()).unwrap_or_default();
    let (user, database) = (column(0), column(1));
    let yes = |at: usize| column(at) == "t";
    match (yes(2), yes(3), yes(4)) {
        (true, _, true) => Ok(()),
        (true, _, false) => Err(missing(
            format!("user {user} may not create objects in schema {SCHEMA}"),
            format!("as its owner: grant usage, create on schema {SCHEMA} to {user}"),
        )),
        (false, false, _) => Err(missing(
            format!("user {user} may not create a schema in database {database}"),
            format!("as its owner: grant create on database {database} to {user}"),
        )),
        (false, true, _) if access == Access::Inspect => Ok(()),
        (false, true, _) => session.execute(&sql("create")?).map(|_| ()),
    }
}

fn missing(message: String, advice: String) -> EngineError {
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
        assert!(sql("sessions").is_ok() && sql("directory").is_ok() && sql("gone").is_err());
    }
}
