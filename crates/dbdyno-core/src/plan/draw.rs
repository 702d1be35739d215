//! Keys that a law is chosen for: what the client drive draws, and the same draw as SQL of the
//! engine's harness, for bodies of routines.

use std::collections::BTreeMap;

use crate::catalog::Entry;
use crate::error::{Error, Result};
use crate::model::params::{KEYS, PLACE};
use crate::model::{Bind, Expr, Facts};
use crate::sql::{Values, statement, substitute};
use crate::stats::skew::{KeyLaw, Place, Ranks, SkewedKeys};

use super::compile::Harness;
use super::params::Params;

/// Before the name of a bind: the bind as a routine's body draws it from the state of the key
/// generator.
pub(super) const DRAWN: &str = "drawn_";
/// Blocks of a harness: an expression over the state, of the values below.
const UNIFORM: &str = "draw-uniform";
const ZIPF: &str = "draw-zipf";
const HOT: &str = "draw-hot";
/// The key of the rank `{{rank}}`.
const SCATTERED: &str = "draw-scattered";

/// The law of a workload's keys, and where they lie.
struct Law {
    keys: KeyLaw,
    place: Place,
}

impl Law {
    fn from_entry(entry: &Entry, params: &Params) -> Result<Law> {
        let wrong = |what: String| Error::usage(&entry.place, what);
        let keys = params.get(KEYS).map_or(Ok(KeyLaw::Uniform), |text| text.parse());
        let place = params.get(PLACE).map_or(Ok(Place::default()), |text| text.parse());
        Ok(Law { keys: keys.map_err(wrong)?, place: place.map_err(wrong)? })
    }

    fn drawn(&self, entry: &Entry, rows: &Expr, facts: &Facts) -> Result<SkewedKeys> {
        let wrong = |what: String| Error::usage(&entry.place, what);
        let rows = rows.eval(facts).map_err(wrong)?.round().max(0.0);
        SkewedKeys::new(rows as u64, self.keys, self.place).map_err(wrong)
    }
}

/// The binds of the client drive with the law in them; keys that are drawn evenly are random ones.
///
/// # Errors
/// A law that is none, or that has too few or too many keys.
pub(super) fn binds(
    entry: &Entry,
    params: &Params,
    facts: &Facts,
) -> Result<BTreeMap<String, Bind>> {
    let law = Law::from_entry(entry, params)?;
    let closed = |bind: &Bind| match bind {
        Bind::Keyed(rows) if law.keys == KeyLaw::Uniform => Ok(Bind::Random(rows.clone())),
        Bind::Keyed(rows) => {
            let rows = law.drawn(entry, rows, facts)?.keys();
            Ok(Bind::Skewed { rows, keys: law.keys, place: law.place })
        }
        other => Ok(other.clone()),
    };
    let binds = entry.workload.binds.iter();
    binds.map(|(name, bind)| Ok((name.clone(), closed(bind)?))).collect()
}

/// The values `{{drawn_NAME}}` of a routine's body, if the engine's harness can draw.
///
/// # Errors
/// As [`binds`]; a block that the harness lacks, or that uses what is no value.
pub(super) fn values(
    harness: &Harness<'_>,
    entry: &Entry,
    params: &Params,
    facts: &Facts,
) -> Result<Values> {
    let law = Law::from_entry(entry, params)?;
    let mut values = Values::new();
    for (name, bind) in &entry.workload.binds {
        let Bind::Keyed(rows) = bind else { continue };
        if harness.contains_key(UNIFORM) {
            let drawn = expression(harness, entry, &law.drawn(entry, rows, facts)?)?;
            values.insert(format!("{DRAWN}{name}"), drawn);
        }
    }
    Ok(values)
}

/// The draw as an expression of the engine's SQL.
fn expression(harness: &Harness<'_>, entry: &Entry, keys: &SkewedKeys) -> Result<String> {
    let filled = |name: &str, values: &[(&str, String)]| {
        let block = harness.get(name).ok_or_else(|| {
            Error::usage(&entry.place, format!("the harness has no block {name} for its keys"))
        })?;
        let values = values.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        Ok(statement(&substitute(block, &values, &[])?).to_string())
    };
    let all = keys.keys();
    let rank = match keys.ranks() {
        Ranks::Uniform => filled(UNIFORM, &[("keys", all.to_string())]),
        // With an exponent they are doubles everywhere, and read as the same ones.
        Ranks::Zipf { lowest, step, exponent } => filled(
            ZIPF,
            &[
                ("lowest", format!("{lowest:e}")),
                ("step", format!("{step:e}")),
                ("exponent", format!("{exponent:e}")),
            ],
        ),
        Ranks::Hot { below, hot } => filled(
            HOT,
            &[
                ("below", below.to_string()),
                ("hot", hot.to_string()),
                ("rest_states", (crate::stats::keys::MODULUS - below).to_string()),
                ("rest", (all - hot).to_string()),
            ],
        ),
    }?;
    match keys.scatter() {
        None => Ok(rank),
        Some(factor) => filled(
            SCATTERED,
            &[("rank", rank), ("factor", factor.to_string()), ("keys", all.to_string())],
        ),
    }
}
