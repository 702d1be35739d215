//! How many sessions the server lets us open: its own limit, that of the user and that of its open files.

use super::session::MariaSession;
use crate::engine::room::{Limit, SessionRoom};
use crate::engine::{EngineError, Rows, Session};

/// Files that are not sessions: tables, logs, temporary ones. A server that may open too few takes the connections that its
/// settings allow, but answers no more than it has files for.
const OTHER_FILES: (i64, &str) = (128, "files of tables and logs");

/// One row of numbers; the session's max_user_connections is the limit of this user, 0 = none. Without the privilege
/// PROCESS a user sees its own sessions only, which is what is counted.
const LIMITS: &str = "\
select @@global.max_connections, \
    (select variable_value from information_schema.global_status where variable_name = 'THREADS_CONNECTED') - 1, \
    @@session.max_user_connections, \
    (select count(*) from information_schema.processlist where user = substring_index(current_user(), '@', 1)) - 1, \
    @@global.open_files_limit";

/// The room, as far as the server tells.
pub(super) fn ask(session: &mut MariaSession) -> Result<Option<SessionRoom>, EngineError> {
    Ok(SessionRoom::of(limits(&session.query(LIMITS, &[])?).unwrap_or_default()))
}

fn limits(rows: &Rows) -> Option<Vec<Limit>> {
    let row = rows.rows.first()?;
    // A difference of a text and a number comes as a float.
    let number = |at: usize| Some(row.get(at)?.as_deref()?.parse::<f64>().ok()? as i64);
    let limit =
        |name, most: usize, kept, used: usize| Some(Limit { name, most: number(most)?, kept, used: number(used)? });
    let all = [
        limit("max_connections", 0, (0, ""), 1)?,
        limit("max_user_connections", 2, (0, ""), 3)?,
        limit("open_files_limit", 4, OTHER_FILES, 1)?,
    ];
    Some(all.into_iter().filter(|limit| limit.most > 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_of_the_user_is_none() {
        let rows = |numbers: [&str; 5]| Rows {
            columns: Vec::new(),
            rows: vec![numbers.map(|text| Some(text.to_owned())).to_vec()],
        };
        let most = |rows: &Rows| limits(rows).unwrap().iter().map(|limit| limit.most).collect::<Vec<_>>();
        assert_eq!(most(&rows(["151", "3", "0", "1", "0"])), [151]);
        assert_eq!(most(&rows(["151", "3", "10", "1", "4000"])), [151, 10, 4000]);
        let few = SessionRoom::of(limits(&rows(["522", "3", "0", "1", "256"])).unwrap()).unwrap();
        assert_eq!(few.free, 256 - 128 - 3, "{}", few.limit);
    }
}
