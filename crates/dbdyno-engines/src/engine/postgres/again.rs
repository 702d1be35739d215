//! Queries that are asked again and again: each is prepared once in a session, since to plan such a
//! query costs the server more than to answer it. Without parameters the plan is a generic one,
//! whatever `plan_cache_mode` says; the server makes it anew when what it reads has changed.

use std::collections::HashMap;

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

/// The queries of a session that have been asked again, by their texts.
#[derive(Default)]
pub(super) struct Repeated {
    queries: HashMap<String, State>,
    /// Names given so far.
    named: u32,
}

/// Result of preparing a query on the server.
pub(super) enum State {
    Ready(Ready),
    /// It cannot be prepared: it is asked as any other.
    Refused,
}

/// A prepared query.
pub(super) struct Ready {
    name: String,
    /// Of its answers: the server refuses an execution in which they would be others (PostgreSQL
    /// manual, "PREPARE").
    pub columns: Vec<String>,
    /// Messages of an execution, ready to send.
    pub messages: Vec<u8>,
}

impl Repeated {
    /// State of a query that was sent again before.
    pub(super) fn find(&self, sql: &str) -> Option<&State> {
        self.queries.get(sql)
    }

    /// A name that no other query of the session has.
    pub(super) fn name(&mut self) -> String {
        self.named += 1;
        format!("again{}", self.named)
    }

    /// The server has answered `sql` under this name, with these columns.
    ///
    /// # Errors
    /// If the name cannot be sent.
    pub(super) fn keep(
        &mut self,
        sql: &str,
        name: String,
        columns: Vec<String>,
    ) -> std::io::Result<()> {
        let mut messages = BytesMut::new();
        execution(&name, &mut messages)?;
        frontend::sync(&mut messages);
        let ready = Ready { name, columns, messages: messages.to_vec() };
        self.queries.insert(sql.to_owned(), State::Ready(ready));
        Ok(())
    }

    /// From now on `sql` is asked as any other query.
    pub(super) fn refuse(&mut self, sql: &str) {
        self.queries.insert(sql.to_owned(), State::Refused);
    }

    /// Forgets a query that was ready; what lets the server forget it goes to `output`, to be sent
    /// before what is asked next.
    ///
    /// # Errors
    /// If the name cannot be sent.
    pub(super) fn forget(&mut self, sql: &str, output: &mut BytesMut) -> std::io::Result<()> {
        match self.queries.remove(sql) {
            Some(State::Ready(ready)) => frontend::close(b'S', &ready.name, output),
            _ => Ok(()),
        }
    }
}

/// Writes what prepares `sql` under `name` and executes it, its columns described.
///
/// # Errors
/// If the text cannot be sent.
pub(super) fn first(name: &str, sql: &str, output: &mut BytesMut) -> std::io::Result<()> {
    frontend::parse(name, sql, [], output)?;
    bind(name, output)?;
    frontend::describe(b'P', "", output)?;
    frontend::execute("", 0, output)?;
    frontend::sync(output);
    Ok(())
}

/// Writes what executes the query of this name once more.
fn execution(name: &str, output: &mut BytesMut) -> std::io::Result<()> {
    bind(name, output)?;
    frontend::execute("", 0, output)
}

/// All values come as text, as those of a query of the simple protocol.
fn bind(name: &str, output: &mut BytesMut) -> std::io::Result<()> {
    let none: [i64; 0] = [];
    frontend::bind("", name, [], none, |_, _| Ok(IsNull::Yes), [], output)
        .map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidInput))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_is_forgotten_is_closed_and_its_name_is_not_used_again() {
        let (mut repeated, mut output) = (Repeated::default(), BytesMut::new());
        let name = repeated.name();
        repeated.keep("select 1", name.clone(), vec!["one".into()]).unwrap();
        assert!(matches!(repeated.find("select 1"), Some(State::Ready(ready))
            if ready.columns == ["one"] && ready.messages.ends_with(b"S\0\0\0\x04")));
        repeated.forget("select 1", &mut output).unwrap();
        assert_eq!(&output[..], b"C\0\0\0\x0cSagain1\0");
        assert!(repeated.find("select 1").is_none() && repeated.name() != name);
        repeated.refuse("selct");
        repeated.forget("never asked", &mut output).unwrap();
        assert!(matches!(repeated.find("selct"), Some(State::Refused)));
        assert_eq!(output.len(), 13);
    }
}
