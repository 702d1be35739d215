//! What `{{name}}` and expressions mean at plan time: parameters, table names, facts of the data set.

use crate::engine::Capabilities;
use crate::model::rows::{PAD, table_rows};
use crate::model::{Facts, TableRef};
use crate::sql::Values;

use super::params::{self, Params};

/// Tables of the data set.
const TABLES: [&str; 2] = ["small", "big"];
/// Rows that share a value of `key<n>`.
const KEYS: [u64; 3] = [25, 125, 320];
/// The parameter that chooses the table organisation, and its value for the engine's own.
pub(super) const ORG: &str = "org";
const DEFAULT_ORG: &str = "default";

/// Rows and numbers of distinct keys of every table at this nominal size: whole numbers.
fn data_facts(size_gb: f64) -> Vec<(String, u64)> {
    let of_table = |table: &str| {
        let rows = table_rows(table, size_gb);
        let keys = KEYS.iter().map(move |key| (format!("{table}_key{key}"), rows / key));
        std::iter::once((format!("{table}_rows"), rows)).chain(keys.collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    TABLES.into_iter().flat_map(of_table).collect()
}

/// Facts for expressions that must be known at plan time: numeric parameters and the data set's rows and keys.
pub(super) fn facts(params: &Params, size_gb: f64) -> Facts {
    let data = data_facts(size_gb).into_iter().map(|(name, value)| (name, value as f64));
    data.chain(params::facts(params)).collect()
}

/// Values of `{{name}}` for one workload with its parameters.
pub(super) fn values(params: &Params, size_gb: f64, capabilities: &Capabilities) -> Values {
    let prefix = capabilities.prefix;
    let mut values: Values = data_facts(size_gb).into_iter().map(|(name, value)| (name, value.to_string())).collect();
    for table in TABLES {
        values.insert(table.into(), format!("{prefix}{}", table_ref(table, params, capabilities).name()));
    }
    values.insert("prefix".into(), prefix.into());
    values.insert("pad".into(), PAD.into());
    values.extend(params.clone());
    values
}

/// The chosen organisation, the default under its own name; none if the workload has no such parameter.
pub(super) fn org<'a>(params: &'a Params, capabilities: &Capabilities) -> Option<&'a str> {
    match params.get(ORG).map(String::as_str) {
        Some(DEFAULT_ORG) => Some(capabilities.default_org()),
        chosen => chosen,
    }
}

/// A table of this kind in the organisation that the parameters choose.
pub(super) fn table_ref(kind: &str, params: &Params, capabilities: &Capabilities) -> TableRef {
    let org = chosen_org(params).filter(|org| *org != capabilities.default_org());
    TableRef { kind: kind.into(), org: org.map(str::to_string) }
}

/// Why the engine cannot give the chosen organisation, if it cannot.
pub(super) fn missing_org(params: &Params, capabilities: &Capabilities) -> Option<String> {
    chosen_org(params).and_then(|org| capabilities.lacks_org(org))
}

fn chosen_org(params: &Params) -> Option<&str> {
    params.get(ORG).map(String::as_str).filter(|org| *org != DEFAULT_ORG)
}
