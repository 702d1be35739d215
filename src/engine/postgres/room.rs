//! How many sessions the server lets us open: its own limit, that of the user and that of the database.

use super::session::PgSession;
use crate::engine::room::{Limit, SessionRoom};
use crate::engine::{EngineError, Rows, Session};

/// One row of numbers; -1 = no such limit. Superusers are under no limit but the server's, and may use what is kept for
/// them (manual: "Connections and Authentication", "CREATE ROLE"). Other backends than those of clients do not count.
const LIMITS: &str = "\
with backends as (select datid, usesysid from pg_catalog.pg_stat_activity \
    where datid is not null and pid <> pg_backend_pid() and coalesce(backend_type, 'client backend') = 'client backend') \
select current_setting('max_connections')::int, \
    case when r.rolsuper then 0 else current_setting('superuser_reserved_connections')::int \
        + coalesce(current_setting('reserved_connections', true)::int, 0) end, \
    (select count(*) from backends), \
    case when r.rolsuper then -1 else r.rolconnlimit end, \
    (select count(*) from backends where usesysid = r.oid), \
    case when r.rolsuper then -1 else d.datconnlimit end, \
    (select count(*) from backends where datid = d.oid) \
from pg_catalog.pg_roles r, pg_catalog.pg_database d \
where r.rolname = session_user and d.datname = current_database()";

/// The room, as far as the server tells.
pub(super) fn ask(session: &mut PgSession) -> Result<Option<SessionRoom>, EngineError> {
    Ok(SessionRoom::of(limits(&session.query(LIMITS, &[])?).unwrap_or_default()))
}

fn limits(rows: &Rows) -> Option<Vec<Limit>> {
    let row = rows.rows.first()?;
    let number = |at: usize| row.get(at)?.as_deref()?.parse::<i64>().ok();
    let limit = |name, most: usize, kept, used: usize| {
        Some(Limit { name, most: number(most)?, kept: (kept, "superusers"), used: number(used)? })
    };
    let all = [
        limit("max_connections", 0, number(1)?, 2)?,
        limit("connection limit of the user", 3, 0, 4)?,
        limit("connection limit of the database", 5, 0, 6)?,
    ];
    Some(all.into_iter().filter(|limit| limit.most >= 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_none_does_not_count() {
        let row = ["100", "3", "7", "-1", "2", "10", "1"].map(|text| Some(text.to_owned()));
        let limits = limits(&Rows { columns: Vec::new(), rows: vec![row.to_vec()] }).unwrap();
        let names: Vec<_> = limits.iter().map(|limit| (limit.name, limit.most, limit.used)).collect();
        assert_eq!(names, [("max_connections", 100, 7), ("connection limit of the database", 10, 1)]);
        assert_eq!(super::limits(&Rows::default()), None);
    }
}
