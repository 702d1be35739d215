//! Arithmetic expressions of the catalog (`38 * passes`, `25*7 + small_key25*300`) over named
//! facts.

use crate::error::quote;
use std::collections::BTreeMap;

use exmex::Express;
use serde::{Deserialize, Serialize};

/// Named numbers an expression may use: parameters, `jobs`, and data set facts such as
/// `small_rows`, `big_mb`.
pub type Facts = BTreeMap<String, f64>;

/// An arithmetic expression over facts, as written in a catalog file. A TOML number is an
/// expression too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Wire", into = "String")]
pub struct Expr(pub String);

#[derive(Deserialize)]
#[serde(untagged)]
enum Wire {
    Integer(i64),
    Float(f64),
    Text(String),
}

impl From<Wire> for Expr {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Integer(number) => Expr(number.to_string()),
            Wire::Float(number) => Expr(number.to_string()),
            Wire::Text(text) => Expr(text),
        }
    }
}

impl From<Expr> for String {
    fn from(expr: Expr) -> Self {
        expr.0
    }
}

impl Expr {
    /// Evaluates the expression.
    ///
    /// # Errors
    /// A message naming the unknown fact, or saying that the text is not a valid arithmetic
    /// expression.
    pub fn eval(&self, facts: &Facts) -> Result<f64, String> {
        let parsed = exmex::parse::<f64>(&self.0).map_err(|error| {
            format!("{} is not a valid arithmetic expression ({error})", quote(&self.0))
        })?;
        let values = parsed.var_names().iter().map(|name| {
            facts.get(name).copied().ok_or_else(|| {
                let (expression, name) = (quote(&self.0), quote(name));
                format!(
                    "{expression} uses {name}, which is neither a parameter nor a fact of the \
                         data set"
                )
            })
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        parsed
            .eval(&values)
            .map_err(|error| format!("{} cannot be evaluated ({error})", quote(&self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts::from([("passes".into(), 10.0), ("small_key25".into(), 1280.0)])
    }

    #[test]
    fn evaluates_products_and_sums_of_facts() {
        assert_eq!(Expr("38 * passes".into()).eval(&facts()), Ok(380.0));
        assert_eq!(Expr("25*7 + small_key25*25*24/2".into()).eval(&facts()), Ok(384_175.0));
        assert_eq!(Expr("100 - passes".into()).eval(&facts()), Ok(90.0));
    }

    #[test]
    fn names_the_unknown_fact() {
        let error = Expr("2 * rows".into()).eval(&facts()).unwrap_err();
        assert!(error.contains("'rows'"), "{error}");
    }
}
