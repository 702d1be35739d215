//! Our schema: checks the privileges before anything is created.

use super::session::PgSession;
use crate::engine::{Access, EngineError, ErrorClass, Session};

/// Everything of ours lives in this schema (see `Capabilities::prefix`).
const SCHEMA: &str = "dbdyno";

/// One row: user, database, schema exists, may create in database, may use and create in schema.
const PRIVILEGES: &str = "select current_user, current_database(), n.oid is not null, \
    has_database_privilege(current_database(), 'CREATE'), \
    has_schema_privilege(n.oid, 'USAGE') and has_schema_privilege(n.oid, 'CREATE') \
    from (select 1) one left join pg_catalog.pg_namespace n on n.nspname = 'dbdyno'";

/// The comment tells `clean` that the schema is ours to drop.
const CREATE: &str = "create schema if not exists dbdyno; comment on schema dbdyno is 'made by dbdyno'";

/// Checks that the schema can be used, or created; creates it if `access` allows.
pub(super) fn prepare(session: &mut PgSession, access: Access) -> Result<(), EngineError> {
    let rows = session.query(PRIVILEGES, &[])?;
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
        (false, true, _) => session.execute(CREATE).map(|_| ()),
    }
}

fn missing(message: String, advice: String) -> EngineError {
    EngineError::new(ErrorClass::Privilege, message).advised(advice)
}
