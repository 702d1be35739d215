//! Parameters of a workload: defaults, engine defaults, and the check of given values.

use std::collections::BTreeMap;

use crate::catalog::nearest;
use crate::error::{Error, Result, excerpt, quote};
use crate::model::{Facts, Param, UnavailableValue, Workload};

/// Parameters as text, by name.
pub(super) type Params = BTreeMap<String, String>;

/// The complete parameters: `given` over the engine's defaults over the defaults.
///
/// # Errors
/// An unknown parameter or a value that is not allowed; names what is allowed. `place` is what the
/// user wrote.
pub(super) fn complete(
    workload: &Workload,
    engine: &str,
    given: &Params,
    place: &str,
) -> Result<Params> {
    if let Some(unknown) =
        given.keys().find(|name| !workload.params.iter().any(|param| param.name == **name))
    {
        return Err(unknown_param(workload, unknown, place));
    }
    let value = |param: &Param| {
        let value = given.get(&param.name).unwrap_or_else(|| default(param, engine));
        let checked = checked(param, value).map_err(|what| Error::usage(place, what))?;
        Ok((param.name.clone(), checked))
    };
    workload.params.iter().map(value).collect()
}

fn default<'a>(param: &'a Param, engine: &str) -> &'a String {
    param.engine_default.get(engine).unwrap_or(&param.default)
}

/// The complete parameters' values that differ from the engine's defaults.
pub(super) fn chosen(workload: &Workload, engine: &str, complete: &Params) -> Params {
    let usual = |param: &Param| checked(param, default(param, engine)).ok();
    let differs = |param: &&Param| {
        complete.get(&param.name).is_some_and(|value| Some(value) != usual(param).as_ref())
    };
    let chosen = workload.params.iter().filter(differs).map(|param| &param.name);
    chosen.filter_map(|name| Some((name.clone(), complete.get(name)?.clone()))).collect()
}

/// The complete parameters without those that are as they were before the workload had them.
pub(super) fn hashed(workload: &Workload, complete: &Params) -> Params {
    let is_implied = |name: &str, value: &str| {
        workload.params.iter().any(|param| {
            param.name == name && param.implied.as_deref().is_some_and(|implied| implied == value)
        })
    };
    let mut params = complete.clone();
    params.retain(|name, value| !is_implied(name, value));
    params
}

/// Reason why the engine cannot give a parameter's value, if it cannot.
pub(super) fn unavailable(workload: &Workload, engine: &str, complete: &Params) -> Option<String> {
    workload.params.iter().find_map(|param| {
        let UnavailableValue { what, reason } = param.unavailable_on(engine, complete)?;
        Some(format!("{what} is not available: {reason}"))
    })
}

fn unknown_param(workload: &Workload, name: &str, place: &str) -> Error {
    let known: Vec<_> = workload.params.iter().map(|param| param.name.as_str()).collect();
    let error = Error::usage(place, format!("{} has no parameter {}", workload.id, quote(name)));
    if known.is_empty() {
        return error.advise("it has none");
    }
    let question = match nearest(name, known.iter().copied()).first() {
        Some(near) => format!("did you mean {near}? "),
        None => String::new(),
    };
    error.advise(format!("{question}it has: {}", known.join(", ")))
}

/// The value as it goes into SQL, hashes and claims. A number has one spelling, whatever was typed:
/// `+5` and `05` are 5.
fn checked(param: &Param, value: &str) -> std::result::Result<String, String> {
    let Param { name, values, min, max, .. } = param;
    if !values.is_empty() {
        let listed = values.iter().find(|allowed| *allowed == value).cloned();
        return listed.ok_or_else(|| {
            format!("{name}={} is not allowed; allowed: {}", excerpt(value), values.join(", "))
        });
    }
    let fits =
        |number: &i64| min.is_none_or(|min| *number >= min) && max.is_none_or(|max| *number <= max);
    match value.parse::<i64>().ok().filter(fits) {
        Some(number) => Ok(number.to_string()),
        None => Err(format!(
            "{name}={} is not allowed; allowed: whole numbers{}",
            excerpt(value),
            range(*min, *max)
        )),
    }
}

fn range(min: Option<i64>, max: Option<i64>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
        (Some(min), None) => format!(" from {min}"),
        (None, Some(max)) => format!(" up to {max}"),
        (None, None) => String::new(),
    }
}

/// The parameters that are numbers, as facts.
pub(super) fn facts(params: &Params) -> Facts {
    params
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.parse::<i64>().ok()? as f64)))
        .collect()
}
