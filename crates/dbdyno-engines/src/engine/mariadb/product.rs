//! The products that speak the protocol: what differs between them on the way to their sessions.

use crate::engine::remote::own_sql;
use crate::engine::{EngineError, ErrorClass, Version};

/// Word in the version that a MariaDB server reports.
const MARK: &str = "MariaDB";
/// Settings of all our sessions: nothing on the server may change what statements mean. The
/// time zone without summer time makes clock readings comparable, and cheap; a year is the longest
/// wait that can be set.
macro_rules! session_settings {
    ($others:literal) => {
        concat!(
            "set session autocommit = 1, sql_mode = \
             'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,",
            "NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', wait_timeout = 31536000, ",
            $others
        )
    };
}

/// A product.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Product {
    /// Name that the product gives itself.
    pub brand: &'static str,
    /// Scheme of the URLs of its servers.
    pub scheme: &'static str,
    /// Oldest supported version.
    oldest: [u32; 2],
    /// Of every session of ours: also nothing may cut a statement short, or end a session that
    /// waits for a long test. A recursion that it cuts short is no error to MariaDB: rows are
    /// missing.
    pub session_settings: &'static str,
    /// Several statements in one text: it has no "create or replace" of routines.
    pub several_statements: bool,
    /// Its protocol executes a prepared insert with many rows of values at once.
    pub bulk: bool,
    /// Several servers that hold the same data are known: Galera.
    pub clusters: bool,
    /// Statements of our own that differ from those of `provision.sql`.
    own_sql: &'static str,
}

pub(super) const MARIADB: Product = Product {
    brand: MARK,
    scheme: "mariadb",
    oldest: [10, 6],
    session_settings: session_settings!(
        "max_statement_time = 0, idle_transaction_timeout = 0, \
         idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0, \
         max_recursive_iterations = 4294967295"
    ),
    several_statements: false,
    bulk: true,
    clusters: true,
    own_sql: "",
};

/// Sizes of tables are those of now, not of a day ago; numbers come from recursion, for want of
/// sequences.
pub(super) const MYSQL: Product = Product {
    brand: "MySQL",
    scheme: "mysql",
    oldest: [8, 0],
    session_settings: session_settings!(
        "max_execution_time = 0, information_schema_stats_expiry = 0, cte_max_recursion_depth = \
         4294967295"
    ),
    several_statements: true,
    bulk: false,
    clusters: false,
    own_sql: include_str!("mysql.sql"),
};

const SQL: &str = include_str!("provision.sql");

impl Product {
    /// A statement of our own with its values.
    ///
    /// # Errors
    /// If there is none of this name.
    pub(super) fn sql(&self, block: &str, values: &[(&str, &str)]) -> Result<String, EngineError> {
        own_sql(self.own_sql, block, values).or_else(|_| own_sql(SQL, block, values))
    }

    /// The version of a server, if it is one of this product that we know.
    ///
    /// # Errors
    /// Another product, with the scheme that fits it; an old version.
    pub(super) fn version(&self, text: &str) -> Result<Version, EngineError> {
        let (version, [major, minor]) = (Version::parse(text), self.oldest);
        let too_old = |message: String, advice: String| {
            Err(EngineError::new(ErrorClass::TooOld, message).advised(advice))
        };
        let other = if text.contains(MARK) { &MARIADB } else { &MYSQL };
        if other != self {
            let message = format!("the server is not {} but {} {version}", self.brand, other.brand);
            return too_old(message, format!("give its URL as {}://", other.scheme));
        }
        if version < Version(self.oldest.to_vec()) {
            let message = format!("{} {version} is too old", self.brand);
            return too_old(message, format!("use {} {major}.{minor} or newer", self.brand));
        }
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_the_other_product_is_told_with_its_scheme() {
        assert_eq!(MYSQL.version("8.0.35").unwrap(), Version(vec![8, 0, 35]));
        assert_eq!(MARIADB.version("10.11.6-MariaDB-0+deb12u1").unwrap(), Version(vec![10, 11, 6]));
        for (product, text, words) in [
            (
                &MARIADB,
                "8.4.3",
                "the server is not MariaDB but MySQL 8.4.3; give its URL as mysql://",
            ),
            (
                &MYSQL,
                "11.4.5-MariaDB",
                "the server is not MySQL but MariaDB 11.4.5; give its URL as mariadb://",
            ),
            (&MYSQL, "5.7.44-log", "MySQL 5.7.44 is too old; use MySQL 8.0 or newer"),
            (&MARIADB, "10.3.2-MariaDB", "MariaDB 10.3.2 is too old; use MariaDB 10.6 or newer"),
        ] {
            let error = product.version(text).unwrap_err();
            assert_eq!(format!("{}; {}", error.message, error.advice.unwrap()), words);
        }
    }

    #[test]
    fn every_statement_of_mysql_is_one_that_mariadb_has() {
        for line in MYSQL.own_sql.lines().filter(|line| line.starts_with("-- name:")) {
            assert!(SQL.lines().any(|known| known == line), "{line}");
        }
    }
}
