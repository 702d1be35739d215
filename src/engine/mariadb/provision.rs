//! Our database: checks the privileges before anything is created.

use super::session::MariaSession;
use crate::engine::{Access, EngineError, ErrorClass, Session};

/// Everything of ours lives in this database (see `Capabilities::prefix`).
pub(super) const DATABASE: &str = "dbdyno";

/// What our objects and workloads need in it.
const NEEDED: [&str; 8] = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER"];
/// What the database drive needs besides.
const FOR_ROUTINES: [&str; 3] = ["CREATE ROUTINE", "ALTER ROUTINE", "EXECUTE"];

/// Privileges that hold for the whole server or for our database, of the user and of the role that is on.
const PRIVILEGES: &str = "select p.privilege_type from (\
      select grantee, privilege_type from information_schema.user_privileges \
      union all \
      select grantee, privilege_type from information_schema.schema_privileges where 'dbdyno' like table_schema \
    ) as p where p.grantee in (concat('''', replace(current_user(), '@', '''@'''), ''''), concat('''', current_role(), ''''))";

const EXISTS: &str = "select count(*) from information_schema.schemata where schema_name = 'dbdyno'";

/// The comment tells `clean` that the database is ours to drop.
const CREATE: &str =
    "create database if not exists dbdyno character set utf8mb4 collate utf8mb4_bin comment 'made by dbdyno'";

/// Named as our routines are, so that it is cleaned like them.
const TRY_ROUTINE: &str = "create or replace procedure dbdyno.w_try() do 0";
const DROP_TRIED: &str = "drop procedure dbdyno.w_try";

/// What we found or made.
pub(super) struct Ours {
    /// Our database is there.
    pub exists: bool,
    /// Why there can be no stored routines, if there can be none.
    pub no_routines: Option<String>,
}

/// Checks that our database can be used, or created; creates it if `access` allows.
pub(super) fn prepare(session: &mut MariaSession, access: Access) -> Result<Ours, EngineError> {
    let rows = session.query(PRIVILEGES, &[])?;
    let held: Vec<&str> = rows.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    let missing = |needed: &[&'static str]| -> Vec<&'static str> {
        needed.iter().copied().filter(|name| !held.contains(name)).collect()
    };
    let lacking = missing(&NEEDED);
    if !lacking.is_empty() {
        let user = session.query("select current_user()", &[])?;
        return Err(lacks(&lacking, user.scalar().unwrap_or_default()));
    }
    let mut exists = session.query(EXISTS, &[])?.scalar() == Some("1");
    if !exists && access == Access::Provision {
        session.execute(CREATE)?;
        exists = true;
    }
    let lacking = missing(&FOR_ROUTINES);
    let no_routines = match lacking.is_empty() {
        false => Some(format!("the user lacks {} on database {DATABASE}", lacking.join(", "))),
        true if access == Access::Provision => try_routine(session)?,
        true => None,
    };
    Ok(Ours { exists, no_routines })
}

/// Makes a procedure and drops it: a server that only speaks the protocol may have none. The reason, if it refuses.
fn try_routine(session: &mut MariaSession) -> Result<Option<String>, EngineError> {
    match session.execute(TRY_ROUTINE).and_then(|_| session.execute(DROP_TRIED)) {
        Ok(_) => Ok(None),
        Err(error) if error.class == ErrorClass::Lost => Err(error),
        Err(error) => Ok(Some(error.message)),
    }
}

fn lacks(lacking: &[&str], user: &str) -> EngineError {
    let name = user.split('@').map(|part| format!("'{part}'")).collect::<Vec<_>>().join("@");
    let message = format!("user {user} lacks privileges on database {DATABASE}: {}", lacking.join(", "));
    EngineError::new(ErrorClass::Privilege, message)
        .advised(format!("as administrator: grant all on {DATABASE}.* to {name}"))
}
