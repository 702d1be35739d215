//! Owner of a schema of ours: what stands in it runs with the rights of our user, so nothing in it
//! is touched before it is proven that only our user, or one whom it must trust anyway, can have
//! put it there.

use super::session::PgSession;
use crate::engine::remote::own_sql;
use crate::engine::{EngineError, ErrorClass, Session};

const SQL: &str = include_str!("owner.sql");

/// A schema that is to be ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schema {
    pub name: &'static str,
    /// Its comment, if that is the mark of our schemas.
    pub mark: Option<&'static str>,
    /// Nothing but plain tables of a trusted owner is in it.
    pub only_tables: bool,
}

impl Schema {
    /// True if the schema is there, and can be trusted.
    ///
    /// # Errors
    /// It belongs to somebody else, was not made by us, others may create in it, or something is
    /// attached to a table that would run with it; the line says whose it is.
    pub(super) fn is_there(self, session: &mut PgSession) -> Result<bool, EngineError> {
        let schema = session.query(&self.sql("schema")?, &[])?;
        let Some(row) = schema.rows.first() else { return Ok(false) };
        let column = |at: usize| row.get(at).and_then(|cell| cell.as_deref()).unwrap_or_default();
        let (name, user, owner) = (self.name, column(0), column(1));
        if column(2) != "1" {
            let what = format!(
                "schema {name} belongs to {owner}: what stands in it would run with the rights of \
                 {user}"
            );
            let advice =
                format!("connect as {owner}, or, if nobody needs it: drop schema {name} cascade");
            return Err(privilege_error(what, advice));
        }
        if self.mark.is_some() && column(3) != "1" {
            let mark = self.mark.unwrap_or_default();
            let what = format!("schema {name}, of {owner}, was not made by dbdyno");
            let advice = format!(
                "rename it; or, if dbdyno may have it: comment on schema {name} is '{mark}'"
            );
            return Err(privilege_error(what, advice));
        }
        let others = column(4);
        if !others.is_empty() {
            let what = format!("in schema {name}, of {owner}, others may create: {others}");
            let advice = format!("as its owner: revoke create on schema {name} from {others}");
            return Err(privilege_error(what, advice));
        }
        let blocks = if self.only_tables { &["attached", "strange"][..] } else { &["attached"] };
        for block in blocks {
            if let Some(what) = session.query(&self.sql(block)?, &[])?.scalar() {
                let advice = "as its owner, remove it or revoke it, or use another database";
                return Err(privilege_error(what.to_string(), advice.to_string()));
            }
        }
        Ok(true)
    }

    fn sql(self, block: &str) -> Result<String, EngineError> {
        let trusted = own_sql(SQL, "trusted", &[])?;
        let mark = self.mark.unwrap_or_default();
        own_sql(SQL, block, &[("schema", self.name), ("mark", mark), ("trusted", &trusted)])
    }
}

fn privilege_error(what: String, advice: String) -> EngineError {
    EngineError::new(ErrorClass::Privilege, what).advised(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_there_and_names_the_schema() {
        let schema = Schema { name: "one_of_ours", mark: Some("ours"), only_tables: true };
        for block in ["schema", "attached", "strange"] {
            assert!(schema.sql(block).unwrap().contains("one_of_ours"), "{block}");
        }
    }
}
