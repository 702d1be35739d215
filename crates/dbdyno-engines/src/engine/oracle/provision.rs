//! The user whose schema takes our objects: what it may do, and what its server lacks.

use super::session::OraSession;
use crate::engine::remote::own_sql;
use crate::engine::{Access, EngineError, ErrorClass, Session};

/// Names of all our objects begin so (see `Capabilities::prefix`).
pub(super) const PREFIX: &str = "dbdyno_";

/// Privileges that our tables need.
const NEEDED: [&str; 2] = ["CREATE TABLE", "UNLIMITED TABLESPACE"];
/// Additional privilege for the in-database drive.
const FOR_ROUTINES: &str = "CREATE PROCEDURE";
const FOR_CLUSTERS: &str = "CREATE CLUSTER";
/// Users whose schemas are not ours to use.
const OF_ORACLE: [&str; 3] = ["SYS", "SYSTEM", "SYSAUX"];

const NO_OPTION: &str =
    "partitioned tables need the option Partitioning (Enterprise Edition), which this server lacks";
/// Organizations that a server may lack: those of the option last.
const MISSING: &[(&str, &str)] = &[
    ("hash", "the user lacks the privilege CREATE CLUSTER"),
    ("heap-list", NO_OPTION),
    ("iot-list", NO_OPTION),
    ("range-list", NO_OPTION),
];

const SQL: &str = include_str!("provision.sql");

/// A statement of our own file.
pub(super) fn sql(block: &str, values: &[(&str, &str)]) -> Result<String, EngineError> {
    own_sql(SQL, block, values)
}

/// Schema that was found.
pub(super) struct Ours {
    /// Reason why stored routines are impossible here, if they are.
    pub no_routines: Option<String>,
    /// Organizations that cannot be had, with the reasons.
    pub missing_orgs: &'static [(&'static str, &'static str)],
}

/// Checks that the user may own our objects; nothing need be created for them.
pub(super) fn check(session: &mut OraSession, access: Access) -> Result<Ours, EngineError> {
    if access == Access::Watch {
        return Ok(Ours { no_routines: None, missing_orgs: &[] });
    }
    let user = check_user(session)?;
    let rows = session.query(&sql("privileges", &[])?, &[])?;
    let held: Vec<&str> = rows.rows.iter().filter_map(|row| row.first()?.as_deref()).collect();
    let lacking: Vec<&str> = NEEDED.into_iter().filter(|name| !held.contains(name)).collect();
    if !lacking.is_empty() {
        return Err(lacks(&lacking, &user));
    }
    let no_routines =
        (!held.contains(&FOR_ROUTINES)).then(|| format!("user {user} lacks {FOR_ROUTINES}"));
    let has_option = session.query(&sql("partitioning", &[])?, &[])?.scalar() != Some("FALSE");
    Ok(Ours { no_routines, missing_orgs: missing_orgs(held.contains(&FOR_CLUSTERS), has_option) })
}

fn missing_orgs(has_clusters: bool, has_option: bool) -> &'static [(&'static str, &'static str)] {
    match (has_clusters, has_option) {
        (true, true) => &[],
        (true, false) => &MISSING[1..],
        (false, true) => &MISSING[..1],
        (false, false) => MISSING,
    }
}

/// The user, if its schema may be used and the database takes changes.
fn check_user(session: &mut OraSession) -> Result<String, EngineError> {
    let rows = match session.query(&sql("user", &[])?, &[]) {
        Err(error) if error.class == ErrorClass::Statement => {
            session.query(&sql("user-plain", &[])?, &[])?
        }
        outcome => outcome?,
    };
    let column = |name: &str| rows.get(0, name).unwrap_or_default();
    let (user, role, mode) = (column("name").to_owned(), column("role"), column("open_mode"));
    if OF_ORACLE.contains(&user.as_str()) {
        return Err(privilege(format!("schema {user} belongs to the database itself")).advised(
            "connect as a user of its own: create user dbdyno identified by ... quota \
                      unlimited on users",
        ));
    }
    if !role.is_empty() && role != "PRIMARY" || mode.starts_with("READ ONLY") || mode == "MOUNTED" {
        return Err(
            privilege("the database can only be read").advised("connect to the primary database")
        );
    }
    Ok(user)
}

fn lacks(lacking: &[&str], user: &str) -> EngineError {
    privilege(format!("user {user} lacks {}", lacking.join(", "))).advised(format!(
        "as administrator: grant create table, create cluster, create procedure to {user}; alter \
         user {user} quota unlimited on users"
    ))
}

fn privilege(message: impl Into<String>) -> EngineError {
    EngineError::new(ErrorClass::Privilege, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_there() {
        for block in [
            "settings",
            "time-zone",
            "instance",
            "user",
            "user-plain",
            "privileges",
            "partitioning",
            "sessions",
        ] {
            assert!(sql(block, &[]).is_ok(), "{block}");
        }
        assert!(
            sql("compile-errors", &[("name", "dbdyno_w")]).unwrap().contains("upper('dbdyno_w')")
        );
        let cancel = sql("cancel", &[("sid", "12"), ("serial", "345"), ("instance", "2")]).unwrap();
        assert_eq!(cancel, "alter system cancel sql '12, 345, @2'");
        assert!(sql("insert-rows", &[("table", "t")]).unwrap().contains("insert into t "));
    }

    #[test]
    fn what_a_server_lacks_is_told_by_organization() {
        let names = |missing: &[(&'static str, &str)]| {
            missing.iter().map(|(org, _)| *org).collect::<Vec<_>>()
        };
        assert_eq!(names(missing_orgs(false, true)), ["hash"]);
        assert_eq!(names(missing_orgs(true, false)), ["heap-list", "iot-list", "range-list"]);
        assert_eq!((missing_orgs(true, true).len(), missing_orgs(false, false).len()), (0, 4));
    }
}
