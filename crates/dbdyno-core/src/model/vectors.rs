//! Vectors of a workload, in the catalog; [`crate::stats::vectors`] makes them.

use serde::{Deserialize, Serialize};

use super::Expr;
pub use crate::stats::vectors::*;

/// The vectors of a workload, in the catalog: expressions over facts and parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// Vectors in the table.
    pub rows: Expr,
    /// Vectors that are searched for.
    pub queries: Expr,
    /// Neighbors that a search asks for: the truth is the distance of the last of them.
    pub near: Expr,
    /// Percent of the rows among which a search looks: those of the first groups.
    #[serde(default = "all")]
    pub share_pct: Expr,
    /// Vectors to add while others search: none of them is among the neighbors of a query, so that
    /// the truth stays.
    #[serde(default = "none")]
    pub added: Expr,
}

fn all() -> Expr {
    Expr("100".into())
}

fn none() -> Expr {
    Expr("0".into())
}

impl Vectors {
    /// The expressions.
    pub fn expressions(&self) -> [&Expr; 5] {
        [&self.rows, &self.queries, &self.near, &self.share_pct, &self.added]
    }
}
