//! Our database: checks the privileges before anything is created.

use super::product::Product;
use super::reply;
use super::session::MariaSession;
use super::wire::Wire;
use crate::engine::remote::{TCP_ACCOUNT, own_sql};
use crate::engine::{Access, EngineError, ErrorClass, Session};

/// Database of all our objects (see `Capabilities::prefix`).
pub(super) const DATABASE: &str = "dbdyno";

/// Privileges that our objects and workloads need in it.
const NEEDED: [&str; 8] =
    ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER"];
/// Additional privileges for the in-database drive.
const FOR_ROUTINES: [&str; 3] = ["CREATE ROUTINE", "ALTER ROUTINE", "EXECUTE"];

/// A statement about our account for connections over TCP.
fn account_sql(product: &Product, block: &str, password: &str) -> Result<String, EngineError> {
    product.sql(block, &[("database", DATABASE), ("user", TCP_ACCOUNT), ("password", password)])
}

/// Statements that create our account for connections over TCP, with this password.
pub(super) fn tcp_account_sql(
    product: &Product,
    password: &str,
) -> Result<Vec<String>, EngineError> {
    ["account", "grant-account"]
        .map(|block| account_sql(product, block, password))
        .into_iter()
        .collect()
}

/// Drops our account for connections over TCP, if it exists.
pub(super) fn drop_tcp_account(session: &mut MariaSession) -> Result<(), EngineError> {
    session.execute(&account_sql(session.product, "drop-account", "")?).map(drop)
}

/// A script that makes a user of this name which suffices.
pub(super) fn role_sql(user: &str) -> Result<String, EngineError> {
    let user = format!("'{}'@'%'", user.replace('\\', "\\\\").replace('\'', "''"));
    own_sql(include_str!("role.sql"), "role", &[("user", &user)])
}

/// A statement of our own file.
pub(super) fn sql(product: &Product, block: &str) -> Result<String, EngineError> {
    product.sql(block, &[("database", DATABASE)])
}

/// The statements before and after the rows of a load into `table`, for a storage engine that wants
/// them.
pub(super) fn around_load(
    product: &Product,
    wire: &mut Wire,
    table: &str,
) -> Result<Option<[String; 2]>, EngineError> {
    let sql = product.sql("bulk-load", &[("database", DATABASE), ("table", table)])?;
    let rows = reply::run(wire, &sql)?.rows;
    let text = |column| rows.get(0, column).map(str::to_string);
    Ok(text("first").zip(text("last")).map(|(first, last)| [first, last]))
}

/// Schema that was found or created.
pub(super) struct Ours {
    /// Our database is there.
    pub exists: bool,
    /// Reason why stored routines are impossible here, if they are.
    pub no_routines: Option<String>,
}

/// Checks that our database can be used, or created; creates it if `access` allows.
pub(super) fn prepare(session: &mut MariaSession, access: Access) -> Result<Ours, EngineError> {
    if access == Access::Watch {
        return Ok(Ours { exists: false, no_routines: None });
    }
    let product = session.product;
    let sql = |block| sql(product, block);
    let rows = session.query(&sql("privileges")?, &[])?;
    let held: Vec<&str> = rows.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    let missing = |needed: &[&'static str]| -> Vec<&'static str> {
        needed.iter().copied().filter(|name| !held.contains(name)).collect()
    };
    let lacking = missing(&NEEDED);
    if !lacking.is_empty() {
        let user = session.query(&sql("user")?, &[])?;
        return Err(lacks(&lacking, user.scalar().unwrap_or_default()));
    }
    let mut exists = session.query(&sql("exists")?, &[])?.scalar() == Some("1");
    // Rights can be given on a database before there is one.
    if exists || access == Access::Provision {
        check_ours(session, exists)?;
    }
    if !exists && access == Access::Provision {
        session.execute(&sql("create")?)?;
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

/// Refuses a database that is there and that we did not make, or into which others can put what
/// would run with the rights of our user.
fn check_ours(session: &mut MariaSession, exists: bool) -> Result<(), EngineError> {
    let (proof, adopt) = (sql(session.product, "proof")?, sql(session.product, "adopt")?);
    let proven = session.query(&proof, &[])?;
    let others = proven.get(0, "others").filter(|others| !others.is_empty());
    let refused = |what: String, advice: String| {
        Err(EngineError::new(ErrorClass::Privilege, what).advised(advice))
    };
    if exists && proven.get(0, "made") != Some("1") {
        let of =
            others.map(|others| format!(", in which {others} may create,")).unwrap_or_default();
        return refused(
            format!("database {DATABASE}{of} was not made by dbdyno"),
            format!("drop it; or, if dbdyno may have it, as administrator: {adopt}"),
        );
    }
    if let Some(others) = others {
        let revoked = match proven.get(0, "everywhere") {
            Some("1") => {
                "revoke create, alter, create view, create routine, alter routine on *.*".into()
            }
            _ => format!("revoke all on {DATABASE}.*"),
        };
        return refused(
            format!("in database {DATABASE} others may create: {others}"),
            format!("connect as such a user; or, as administrator: {revoked} from {others}"),
        );
    }
    match proven.get(0, "attached") {
        None | Some("") => Ok(()),
        Some(attached) => refused(
            format!("table {DATABASE}.{attached}, which is not of dbdyno"),
            "drop the trigger".into(),
        ),
    }
}

/// Makes a procedure and drops it: a server that only speaks the protocol may have none. The
/// reason, if it refuses.
fn try_routine(session: &mut MariaSession) -> Result<Option<String>, EngineError> {
    let of_others = session.query(&sql(session.product, "tried-of-others")?, &[]);
    if of_others.is_ok_and(|proven| proven.scalar() == Some("1")) {
        return Ok(None);
    }
    let (create, drop) =
        (sql(session.product, "try-routine")?, sql(session.product, "drop-tried")?);
    match session.execute(&create).and_then(|_| session.execute(&drop)) {
        Ok(_) => Ok(None),
        Err(error) if error.class == ErrorClass::Lost => Err(error),
        Err(error) => Ok(Some(error.message)),
    }
}

fn lacks(lacking: &[&str], user: &str) -> EngineError {
    let name = user.split('@').map(|part| format!("'{part}'")).collect::<Vec<_>>().join("@");
    let message =
        format!("user {user} lacks privileges on database {DATABASE}: {}", lacking.join(", "));
    EngineError::new(ErrorClass::Privilege, message)
        .advised(format!("as administrator: grant all on {DATABASE}.* to {name}"))
}

#[cfg(test)]
mod tests {
    use super::super::product::{MARIADB, MYSQL};
    use super::*;

    #[test]
    fn every_statement_is_there_and_names_our_database() {
        for product in [&MARIADB, &MYSQL] {
            for block in [
                "privileges",
                "exists",
                "create",
                "try-routine",
                "tried-of-others",
                "drop-tried",
                "proof",
                "adopt",
            ] {
                assert!(sql(product, block).unwrap().contains(DATABASE), "{block}");
            }
            assert!(
                ["user", "directory", "sessions"]
                    .into_iter()
                    .all(|block| sql(product, block).is_ok())
            );
            assert!(sql(product, "gone").is_err());
        }
    }
}
