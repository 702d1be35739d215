//! Values of `{{name}}` and of expressions at plan time: parameters, table names, facts of the data
//! set.

use crate::catalog::Entry;
use crate::error::{Error, Result};
pub(super) use crate::model::params::{ORG, OWN_ORG};
use crate::model::rows::{PAD, table_rows};
use crate::model::vectors::VectorSet;
use crate::model::{Capabilities, Expr, Facts, TableRef, Workload};
use crate::sql::Values;

use super::params::{self, Params};

/// Name of the table that a parameter chooses.
const CHOSEN: &str = "table";
/// Tables of the data set.
const TABLES: [&str; 2] = ["small", "big"];
/// More vectors than anybody keeps in memory to find the truth of.
const MAX_VECTORS: f64 = 1e7;
/// Rows that share a value of `key<n>`.
const KEYS: [u64; 3] = [25, 125, 320];

/// Rows and numbers of distinct keys of every table at this nominal size: whole numbers.
fn data_facts(size_gb: f64) -> Vec<(String, u64)> {
    TABLES.into_iter().flat_map(|table| table_facts(table, table, size_gb)).collect()
}

/// Rows and numbers of distinct keys of a table, under the names of `name`.
fn table_facts(name: &str, table: &str, size_gb: f64) -> Vec<(String, u64)> {
    let rows = table_rows(table, size_gb);
    let keys = KEYS.iter().map(|key| (format!("{name}_key{key}"), rows / key));
    std::iter::once((format!("{name}_rows"), rows)).chain(keys).collect()
}

/// The table that a parameter of the workload chooses, if one does.
fn chosen_table<'a>(workload: &'a Workload, params: &Params) -> Option<&'a str> {
    workload
        .params
        .iter()
        .find_map(|param| param.table.get(params.get(&param.name)?))
        .map(String::as_str)
}

/// A list of tables with the chosen one in the place of `table`.
fn resolved<'a>(
    workload: &'a Workload,
    params: &Params,
    tables: &'a [String],
) -> impl Iterator<Item = &'a str> {
    let chosen = chosen_table(workload, params);
    tables.iter().map(move |table| match chosen {
        Some(chosen) if table == CHOSEN => chosen,
        _ => table.as_str(),
    })
}

/// The workload with the tables that these parameters choose: those to warm and to evict are among
/// them.
pub(super) fn with_tables(workload: &Workload, params: &Params) -> Workload {
    let tables: Vec<&str> = resolved(workload, params, &workload.tables).collect();
    let owned = |tables: Vec<&str>| tables.into_iter().map(String::from).collect::<Vec<_>>();
    let used = |list: &[String]| {
        owned(resolved(workload, params, list).filter(|table| tables.contains(table)).collect())
    };
    let (warm, evict) = (used(&workload.warm), used(&workload.evict));
    Workload { warm, evict, tables: owned(tables), ..workload.clone() }
}

/// Facts for expressions that must be known at plan time: numeric parameters and the data set's
/// rows and keys.
pub fn facts(workload: &Workload, params: &Params, size_gb: f64) -> Facts {
    let data = data_facts(size_gb).into_iter().map(|(name, value)| (name, value as f64));
    data.chain(own_facts(workload, params, size_gb)).collect()
}

/// Facts that only this workload has: numeric parameters, rows and keys of the table that a
/// parameter chooses.
pub(super) fn own_facts(workload: &Workload, params: &Params, size_gb: f64) -> Facts {
    let chosen = chosen_table(workload, params).map(|table| table_facts(CHOSEN, table, size_gb));
    let chosen = chosen.into_iter().flatten().map(|(name, value)| (name, value as f64));
    chosen.chain(params::facts(params)).collect()
}

/// The vectors of a workload with these parameters, if it has any.
///
/// # Errors
/// Numbers of which there can be no such vectors.
pub(super) fn vectors(entry: &Entry, params: &Params, size_gb: f64) -> Result<Option<VectorSet>> {
    let Some(wanted) = &entry.workload.vectors else { return Ok(None) };
    let mut facts: Facts =
        data_facts(size_gb).into_iter().map(|(name, value)| (name, value as f64)).collect();
    facts.extend(params::facts(params));
    let mut number = |name: &str, expr: &Expr, least: f64, most: f64| {
        let wrong = |what: String| Error::usage(&entry.place, what);
        let value = expr.eval(&facts).map_err(wrong)?.floor();
        if !(least..=most).contains(&value) {
            return Err(wrong(format!("{name} of vectors is {value}, not {least} to {most}")));
        }
        facts.insert(name.into(), value);
        Ok(value as u64)
    };
    let rows = number("vectors", &wanted.rows, 1.0, MAX_VECTORS)?;
    let queries = number("queries", &wanted.queries, 1.0, MAX_VECTORS)?;
    let near = number("near", &wanted.near, 1.0, rows as f64)?;
    let share_pct = number("share_pct", &wanted.share_pct, 1.0, 100.0)?;
    let added = number("added", &wanted.added, 0.0, MAX_VECTORS)?;
    Ok(Some(VectorSet { rows, queries, near, share_pct, added }))
}

/// Values of `{{name}}` for one workload with its parameters.
pub(super) fn values(
    workload: &Workload,
    params: &Params,
    size_gb: f64,
    capabilities: &Capabilities,
) -> Values {
    let prefix = capabilities.prefix;
    let mut values: Values =
        data_facts(size_gb).into_iter().map(|(name, value)| (name, value.to_string())).collect();
    for table in TABLES {
        values.insert(
            table.into(),
            format!("{prefix}{}", table_ref(table, params, capabilities).name()),
        );
    }
    if let Some(chosen) = chosen_table(workload, params) {
        values.insert(
            CHOSEN.into(),
            format!("{prefix}{}", table_ref(chosen, params, capabilities).name()),
        );
        let facts = table_facts(CHOSEN, chosen, size_gb);
        values.extend(facts.into_iter().map(|(name, value)| (name, value.to_string())));
    }
    values.insert("prefix".into(), prefix.into());
    values.insert("pad".into(), PAD.into());
    values.extend(params.clone());
    values
}

/// The chosen organization, the default under its own name; none if the workload has no such
/// parameter.
pub(super) fn org<'a>(params: &'a Params, capabilities: &Capabilities) -> Option<&'a str> {
    match params.get(ORG).map(String::as_str) {
        Some(OWN_ORG) => Some(capabilities.default_org()),
        chosen => chosen,
    }
}

/// A table of this kind in the organization that the parameters choose.
pub(super) fn table_ref(kind: &str, params: &Params, capabilities: &Capabilities) -> TableRef {
    let org = chosen_org(params).filter(|org| *org != capabilities.default_org());
    TableRef { kind: kind.into(), org: org.map(str::to_string) }
}

/// Reason why the engine does not have the chosen organization, if it does not.
pub(super) fn missing_org(params: &Params, capabilities: &Capabilities) -> Option<String> {
    chosen_org(params).and_then(|org| capabilities.lacks_org(org))
}

fn chosen_org(params: &Params) -> Option<&str> {
    params.get(ORG).map(String::as_str).filter(|org| *org != OWN_ORG)
}
