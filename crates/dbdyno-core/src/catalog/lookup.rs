//! Finding workloads, suites and profiles by what a user types.

use std::collections::BTreeMap;

use crate::error::{Error, Result, quote};

use super::{Catalog, Entry, Profile, Suite};

/// Result of `find`: the workload, and what an alias fixes.
#[derive(Debug, Clone)]
pub struct NamedWorkload<'a> {
    /// Workload with its SQL.
    pub entry: &'a Entry,
    /// The alias as the catalog writes it, if it was asked for by one (`T611`).
    pub alias: Option<&'a str>,
    /// Parameters that the alias fixes.
    pub params: BTreeMap<String, String>,
}

impl NamedWorkload<'_> {
    /// Adds the given parameters to those that the alias fixes.
    ///
    /// # Errors
    /// If the two contradict each other; `place` is what was written.
    pub fn with(
        &self,
        given: &BTreeMap<String, String>,
        place: &str,
    ) -> Result<BTreeMap<String, String>> {
        let contradicts = |(name, value): &(&String, &String)| {
            given.get(*name).is_some_and(|given| given != *value)
        };
        if let Some((name, value)) = self.params.iter().find(contradicts) {
            let what = format!("{} means {name}={value}", self.alias.unwrap_or_default());
            return Err(
                Error::usage(place, what).advise(format!("ask for {}", self.entry.workload.id))
            );
        }
        Ok(self.params.clone().into_iter().chain(given.clone()).collect())
    }
}

/// Workload or alias with parameters, as a user or a suite writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectionText {
    /// Id or alias.
    pub name: String,
    /// Parameters that are given with it.
    pub params: BTreeMap<String, String>,
}

/// Splits `ID[:param=value,...]` into the name and its parameters.
///
/// # Errors
/// A pair that is not of the form `param=value`, or given twice; the place is the text itself.
pub fn parse_selection(text: &str) -> Result<SelectionText> {
    let Some((name, list)) = text.split_once(':') else {
        return Ok(SelectionText { name: text.trim().to_string(), params: BTreeMap::new() });
    };
    let mut params = BTreeMap::new();
    for pair in list.split(',').map(str::trim) {
        let both = pair.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        let Some((key, value)) = both.filter(|(key, value)| !key.is_empty() && !value.is_empty())
        else {
            let what =
                if pair.is_empty() { "a param=value is missing".into() } else { not_a_pair(pair) };
            return Err(Error::usage(text, what).advise("write ID or ID:param=value,param=value"));
        };
        if params.insert(key.to_string(), value.to_string()).is_some() {
            return Err(Error::usage(text, format!("parameter {} is given twice", quote(key))));
        }
    }
    Ok(SelectionText { name: name.trim().to_string(), params })
}

fn not_a_pair(pair: &str) -> String {
    format!("{} is not of the form param=value", quote(pair))
}

impl Catalog {
    /// The workload of this id or alias, case ignored.
    ///
    /// # Errors
    /// Unknown name, with the nearest names.
    pub fn find(&self, name: &str) -> Result<NamedWorkload<'_>> {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        if let Some(entry) = self.entries().iter().find(|entry| same(&entry.workload.id)) {
            return Ok(NamedWorkload { entry, alias: None, params: BTreeMap::new() });
        }
        let aliased = self.entries().iter().find_map(|entry| {
            let alias = entry.workload.aliases.iter().find(|alias| same(&alias.code))?;
            Some(NamedWorkload { entry, alias: Some(&alias.code), params: alias.params.clone() })
        });
        aliased.ok_or_else(|| {
            if let Some(error) = self.several(name) {
                return error;
            }
            let ids = self.workloads().map(|workload| workload.id.as_str());
            let codes = self
                .workloads()
                .flat_map(|workload| workload.aliases.iter().map(|alias| alias.code.as_str()));
            unknown("workload", name, ids.chain(codes), "dbdyno list workloads")
        })
    }

    /// The error for workloads that are listed with commas, which stand between parameters.
    fn several(&self, names: &str) -> Option<Error> {
        let (first, _) = names.split_once(',')?;
        self.find(first).is_ok().then(|| {
            let each = names.replace(',', " --workload ");
            let advice = format!("give each its own: --workload {each}");
            Error::usage("--workload", format!("{} is more than one", quote(names))).advise(advice)
        })
    }

    /// The suite of this id.
    ///
    /// # Errors
    /// Unknown name, with the nearest names.
    pub fn suite(&self, name: &str) -> Result<&Suite> {
        let found = self.suites().iter().find(|suite| suite.id.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            unknown(
                "suite",
                name,
                self.suites().iter().map(|s| s.id.as_str()),
                "dbdyno list suites",
            )
        })
    }

    /// The profile of this id.
    ///
    /// # Errors
    /// Unknown name, with the nearest names.
    pub fn profile(&self, name: &str) -> Result<&Profile> {
        let found = self.profiles().iter().find(|profile| profile.id.eq_ignore_ascii_case(name));
        let ids = || self.profiles().iter().map(|profile| profile.id.as_str());
        found.ok_or_else(|| unknown("profile", name, ids(), "dbdyno list profiles"))
    }
}

/// The error for a name that is not there: up to three near ones, else where to look.
fn unknown<'a>(kind: &str, name: &str, known: impl Iterator<Item = &'a str>, list: &str) -> Error {
    let near = nearest(name, known);
    let advice = match near.is_empty() {
        true => format!("see '{list}'"),
        false => format!("did you mean {}?", near.join(", ")),
    };
    Error::usage(format!("--{kind}"), format!("unknown {kind} {}", quote(name))).advise(advice)
}

/// Up to three names that are near, the nearest first.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const NEAR: f64 = 0.8;
    // Longer than any name: no slip of the hand, and its comparison would take seconds.
    const LONGEST_BYTES: usize = 200;
    if name.len() > LONGEST_BYTES {
        return Vec::new();
    }
    let wanted = name.to_ascii_lowercase();
    let mut near: Vec<_> =
        known.map(|known| (similarity(&wanted, &known.to_ascii_lowercase()), known)).collect();
    near.retain(|(similarity, _)| *similarity >= NEAR);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.into_iter().take(3).map(|(_, known)| known).collect()
}

/// Similarity by Jaro and Winkler, which sees no swapped letters in words of three: one slip of the
/// hand in a word of three letters or more is always near.
fn similarity(wanted: &str, known: &str) -> f64 {
    const ONE_SLIP: f64 = 0.9;
    let similarity = strsim::jaro_winkler(wanted, known);
    match wanted.len() > 2 && strsim::osa_distance(wanted, known) == 1 {
        true => similarity.max(ONE_SLIP),
        false => similarity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_a_name_with_parameters() {
        let SelectionText { name, params } =
            parse_selection("TP-LIGHT:update_pct=40, org=heap").unwrap();
        assert_eq!(name, "TP-LIGHT");
        assert_eq!(params["update_pct"], "40");
        assert_eq!(params["org"], "heap");
        let bare = SelectionText { name: "X".into(), params: BTreeMap::new() };
        assert_eq!(parse_selection("X").unwrap(), bare);
        assert!(
            parse_selection("X:a")
                .unwrap_err()
                .to_string()
                .starts_with("X:a: 'a' is not of the form param=value")
        );
        for junk in [
            "X:",
            "X: ",
            "X:a",
            "X:=1",
            "X:a=",
            "X:=",
            "X:a=1,",
            "X:,a=1",
            "X:a=1,,b=2",
            "X:a=1,a=2",
        ] {
            let error = parse_selection(junk).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: ", junk.trim())), "{error}");
        }
    }

    #[test]
    fn offers_the_nearest_names() {
        let known = ["SRV-QUERY1", "SRV-QUERY25", "CPU-NUMBER", "T611"];
        assert_eq!(nearest("srv-qury1", known.into_iter())[0], "SRV-QUERY1");
        assert!(nearest("zzz", known.into_iter()).is_empty());
        assert!(nearest(&"srv-query1".repeat(100), known.into_iter()).is_empty(), "a long text");
        assert_eq!(nearest("rnu", ["man", "run"].into_iter()), ["run"]);
    }
}
