//! Checks of the whole catalog that no single file can make: names, references, expressions, SQL
//! blocks, and that every test of a suite names a workload that there is, with values that it
//! allows, or says why it has none.

use std::collections::BTreeMap;

use crate::error::{Error, Result, quote};
use crate::model::params::{BATCH, KEYS, PLACE, READ_TX};
use crate::model::vectors;
use crate::model::{
    Bind, Expr, Facts, MIN_KNOWN_S, Param, Part, Quantity, RefusedValue, Wire, Workload,
};

use crate::stats::skew::{KeyLaw, Place};

use super::{
    Catalog, Entry, SelectionText, Suite, SuiteEntry, check_blocks, check_claims, parse_selection,
};

/// Own counts that claims may use beside counters and facts.
pub(super) const COUNTS: [&str; 7] = ["ops", "rows", "commits", "hits", "units", "s", "job_s"];
pub(super) const TABLES: [&str; 2] = ["small", "big"];
/// The table that a parameter chooses.
pub(super) const CHOSEN: &str = "table";

/// Checks everything.
///
/// # Errors
/// The first finding, with its `file:line`, and how many more there are.
pub(super) fn catalog(catalog: &Catalog) -> Result<()> {
    let (engines, names) = (catalog.engines(), check_claims::Names::from_catalog(catalog));
    let mut findings: Vec<Error> = unique_names(catalog).into_iter().collect();
    for entry in catalog.entries() {
        let found = workload(catalog, entry, &engines, &names).into_iter();
        findings.extend(
            found.map(|what| Error::usage(&entry.place, format!("{}: {what}", entry.workload.id))),
        );
    }
    findings.extend(catalog.suites().iter().flat_map(|suite| suite_findings(catalog, suite)));
    let profiles =
        catalog.suites().iter().filter_map(|suite| Some((suite, suite.profile.as_ref()?)));
    findings.extend(profiles.filter_map(|(suite, profile)| {
        let place = format!("catalog/suites/{}.toml", suite.id);
        catalog
            .profile(profile)
            .err()
            .map(|error| Error::usage(place, error.what).advise(error.advice))
    }));
    let more = findings.len().saturating_sub(1);
    match findings.into_iter().next() {
        None => Ok(()),
        Some(first) if more > 0 && first.advice.is_empty() => {
            Err(first.advise(format!("there are {more} more findings")))
        }
        Some(first) => Err(first),
    }
}

/// Ids and aliases share one name space.
fn unique_names(catalog: &Catalog) -> Option<Error> {
    let mut seen: BTreeMap<String, &Entry> = BTreeMap::new();
    for entry in catalog.entries() {
        let codes = entry.workload.aliases.iter().map(|alias| &alias.code);
        for name in std::iter::once(&entry.workload.id).chain(codes) {
            if let Some(earlier) = seen.insert(name.to_ascii_uppercase(), entry) {
                let what = format!(
                    "{name} is already a name of {} ({})",
                    earlier.workload.id, earlier.place
                );
                return Some(Error::usage(&entry.place, what));
            }
        }
    }
    None
}

/// Findings of one workload, without its place.
fn workload(
    catalog: &Catalog,
    entry: &Entry,
    engines: &[&str],
    names: &check_claims::Names,
) -> Vec<String> {
    let workload = &entry.workload;
    let mut findings = shape(workload);
    findings.extend(workload.params.iter().filter_map(|of| param(of, engines)));
    findings.extend(workload.params.iter().filter_map(|of| refused_beside(workload, of)));
    findings.extend(aliases(workload));
    findings.extend(parts(catalog, workload));
    findings.extend(expressions(workload));
    findings.extend(check_claims::findings(names, workload));
    findings.extend(check_blocks::findings(catalog, entry, engines));
    findings
}

/// Expectations on a workload that it does not meet.
#[derive(Default)]
struct Unmet(Vec<String>);

impl Unmet {
    fn expect(&mut self, is_met: bool, what: &str) {
        if !is_met {
            self.0.push(what.to_string());
        }
    }
}

/// Complaints about fields of a workload that do not fit together.
fn shape(workload: &Workload) -> Vec<String> {
    let mut unmet = Unmet::default();
    check_work(workload, &mut unmet);
    check_tables(workload, &mut unmet);
    for kpm in std::iter::once(&workload.kpm).chain(&workload.second) {
        unmet.expect(!kpm.unit.is_empty(), "a metric has no unit");
        let is_scale = kpm.scale > 0.0 && kpm.scale.is_finite();
        unmet.expect(is_scale, "the scale of a metric is not above 0");
    }
    unmet.0
}

/// Checks the id, and the parts, branches and ops of a workload.
fn check_work(workload: &Workload, unmet: &mut Unmet) {
    let loops = !workload.client.is_empty() || workload.bulk;
    let upper =
        workload.id.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-');
    let is_id = upper && !workload.id.is_empty();
    unmet.expect(is_id, "an id has capital letters, digits and '-' only");
    unmet.expect(workload.revision >= 1, "the revision starts at 1");
    unmet.expect(
        workload.parts.is_empty() || !loops,
        "a mixed workload has parts and no steps of its own",
    );
    unmet.expect(
        !workload.bulk || workload.params.iter().any(|param| param.name == BATCH),
        "a bulk load needs the parameter 'batch'",
    );
    unmet.expect(
        !workload.connects
            || !workload.client.is_empty()
                && workload.params.iter().all(|param| param.name != READ_TX),
        "ops that open connections have steps of a client, whose reads share nothing",
    );
    unmet.expect(
        workload.client.iter().filter(|branch| branch.chance.is_none()).count() <= 1,
        "two branches take the rest of the chances",
    );
    let has_steps = workload.client.iter().all(|branch| !branch.steps.is_empty());
    unmet.expect(has_steps, "a branch has no steps");
}

/// Checks the tables that a workload uses, warms and evicts.
fn check_tables(workload: &Workload, unmet: &mut Unmet) {
    let chooses = workload.params.iter().any(|param| !param.table.is_empty());
    let known = |table: &String| TABLES.contains(&table.as_str()) || chooses && table == CHOSEN;
    let chosen = workload.params.iter().flat_map(|param| param.table.values());
    let tables = workload.tables.iter().chain(&workload.warm).chain(&workload.evict);
    unmet.expect(tables.into_iter().all(known), "tables are small and big");
    unmet.expect(
        chosen.clone().all(|table| TABLES.contains(&table.as_str())),
        "a parameter chooses small or big",
    );
    // The chosen one counts if it is among the tables: a parameter can so decide whether one is
    // warmed or evicted at all.
    let is_chosen =
        |table: &String| chooses && table == CHOSEN || chosen.clone().any(|chosen| chosen == table);
    let used = |table: &String| workload.tables.contains(table) || is_chosen(table);
    unmet.expect(
        workload.warm.iter().chain(&workload.evict).all(used),
        "a table to warm or to evict is not among its tables",
    );
}

fn param(param: &Param, engines: &[&str]) -> Option<String> {
    let mut named = param.engine_default.keys().chain(param.unavailable.keys());
    let is_known = |name: &str| name == Param::EVERY || engines.contains(&name);
    if let Some(unknown) = named.find(|name| !is_known(name)) {
        return Some(format!(
            "the parameter {} names the unknown engine {}",
            param.name,
            quote(unknown)
        ));
    }
    let defaults = std::iter::once(&param.default).chain(param.engine_default.values());
    if let Some(bad) = defaults.into_iter().find(|value| !allowed(param, value)) {
        return Some(format!("the default {}={bad} is not an allowed value", param.name));
    }
    if let Some(bad) = param.implied.iter().find(|value| !allowed(param, value)) {
        return Some(format!("the implied {}={bad} is not an allowed value", param.name));
    }
    if let Some(wrong) = law(param) {
        return Some(wrong);
    }
    let mut refused = param.unavailable.values().flat_map(BTreeMap::keys);
    let bad = refused
        .find(|refused| !allowed(param, RefusedValue::new(refused).own.trim_start_matches('>')))?;
    Some(format!("'unavailable' names {}={bad}, which is not an allowed value", param.name))
}

/// A value of `keys` or `place` that is no law and no place.
fn law(param: &Param) -> Option<String> {
    param.values.iter().find_map(|value| match param.name.as_str() {
        KEYS => value.parse::<KeyLaw>().err(),
        PLACE => value.parse::<Place>().err(),
        _ => None,
    })
}

/// A parameter or value together with which a value is refused, and which the workload has not.
fn refused_beside(workload: &Workload, param: &Param) -> Option<String> {
    let mut refused = param.unavailable.values().flat_map(BTreeMap::keys);
    refused.find_map(|refused| {
        let other = RefusedValue::new(refused).other?;
        Some(format!(
            "'unavailable' of {}{}",
            param.name,
            check_claims::values(workload, other.name, other.values)?
        ))
    })
}

fn allowed(param: &Param, value: &str) -> bool {
    if !param.values.is_empty() {
        return param.values.iter().any(|known| known == value);
    }
    let fits = |number: i64| {
        param.min.is_none_or(|min| number >= min) && param.max.is_none_or(|max| number <= max)
    };
    value.parse().is_ok_and(fits)
}

/// Errors in fixed parameters: those of the workload, and of how statements travel, which every
/// workload has.
pub(super) fn fixed(workload: &Workload, params: &BTreeMap<String, String>) -> Option<String> {
    let mut own = params.clone();
    if let Err(what) = Wire::take(&mut own) {
        return Some(what);
    }
    own.iter().find_map(|(name, value)| {
        match workload.params.iter().find(|param| param.name == *name) {
            None => Some(format!("{} has no parameter {name}", workload.id, name = quote(name))),
            Some(param) => (!allowed(param, value))
                .then(|| format!("{name}={value} is not allowed for {}", workload.id)),
        }
    })
}

fn aliases(workload: &Workload) -> Vec<String> {
    let findings =
        workload.aliases.iter().filter_map(|alias| Some((alias, fixed(workload, &alias.params)?)));
    findings.map(|(alias, what)| format!("alias {}: {what}", alias.code)).collect()
}

fn parts(catalog: &Catalog, workload: &Workload) -> Vec<String> {
    workload.parts.iter().filter_map(|named| part(catalog, named).err()).collect()
}

fn part(catalog: &Catalog, part: &Part) -> std::result::Result<(), String> {
    let place = format!("part {}", part.workload);
    let asked = catalog.find(&part.workload).map_err(|error| format!("{place}: {}", error.what))?;
    if !asked.entry.workload.parts.is_empty() {
        return Err(format!("{place} is mixed itself"));
    }
    let params = asked.with(&part.params, &place).map_err(|error| error.to_string())?;
    fixed(&asked.entry.workload, &params).map_or(Ok(()), |what| Err(format!("{place}: {what}")))
}

/// Facts by name with some value: what expressions of this workload may use.
pub(super) fn sample_facts(workload: &Workload) -> Facts {
    let numeric = workload
        .params
        .iter()
        .filter_map(|param| Some((param.name.clone(), param.default.parse().ok()?)));
    let data = data_fact_names().chain(chosen_fact_names(workload)).map(|name| (name, 16_000.0));
    let of_test = ["jobs", "block_bytes"].map(|name| (name.to_string(), 1.0));
    let vectors = workload.vectors.iter().flat_map(|_| vectors::FACTS);
    numeric.chain(data).chain(of_test).chain(vectors.map(|name| (name.into(), 1_000.0))).collect()
}

pub(super) fn data_fact_names() -> impl Iterator<Item = String> {
    let of_table = |table| {
        ["rows", "key25", "key125", "key320", "mb", "parts"].map(|fact| format!("{table}_{fact}"))
    };
    TABLES.into_iter().flat_map(of_table)
}

/// Facts of the table that a parameter chooses.
pub(super) fn chosen_fact_names(workload: &Workload) -> Vec<String> {
    let facts = ["rows", "key25", "key125", "key320"].map(|fact| format!("{CHOSEN}_{fact}"));
    if workload.params.iter().any(|param| !param.table.is_empty()) {
        facts.into()
    } else {
        Vec::new()
    }
}

fn expressions(workload: &Workload) -> Vec<String> {
    let facts = sample_facts(workload);
    let mut with_counts = facts.clone();
    with_counts.extend(COUNTS.map(|name| (name.to_string(), 1.0)));
    let mut plain: Vec<&Expr> = vec![&workload.work];
    plain.extend(&workload.finds);
    plain.extend(workload.vectors.iter().flat_map(vectors::Vectors::expressions));
    plain.extend(workload.binds.values().filter_map(|bind| match bind {
        Bind::Random(expr) | Bind::Keyed(expr) | Bind::Constant(expr) => Some(expr),
        Bind::Skewed { .. } | Bind::Job | Bind::Sequence | Bind::Repetition => None,
    }));
    plain.extend(
        workload.client.iter().flat_map(|branch| branch.chance.iter().chain(&branch.times)),
    );
    if let Some(answer) = &workload.answer {
        plain.extend(
            answer
                .binds
                .values()
                .chain(&answer.rows)
                .chain(answer.sums.values())
                .chain(&answer.sink),
        );
    }
    let claims = workload.contract.iter().chain(&workload.crosscheck);
    let of_claims =
        claims.flat_map(|claim| claim.min.iter().chain(&claim.max).chain(&claim.equals));
    let routine_rows = workload.answer.iter().filter_map(|answer| answer.routine_rows.as_ref());
    let mut with_work = facts.clone();
    with_work.insert(Quantity::WORK.into(), 1.0);
    let per_op = workload.per_op.values().filter_map(|expr| expr.eval(&with_work).err());
    let findings = plain.into_iter().filter_map(|expr| expr.eval(&facts).err()).chain(per_op);
    let counted = of_claims.chain(routine_rows).filter_map(|expr| expr.eval(&with_counts).err());
    findings.chain(counted).collect()
}

/// Errors in a suite; the place of each is the suite's file.
fn suite_findings(catalog: &Catalog, suite: &Suite) -> Vec<Error> {
    let place = format!("catalog/suites/{}.toml", suite.id);
    let wrong = |entry: &SuiteEntry, error: Error| {
        Error::usage(&place, format!("{}: {}", entry.label(), error.what)).advise(error.advice)
    };
    let written = suite
        .entries
        .iter()
        .filter_map(|entry| Some(wrong(entry, suite_shape(suite, entry).err()?)));
    let mut findings: Vec<Error> = written.collect();
    match catalog.suite_tests(suite) {
        Err(error) => findings.push(error),
        Ok(tests) => {
            findings.extend(
                tests
                    .iter()
                    .filter_map(|entry| Some(wrong(entry, suite_params(catalog, entry).err()?))),
            );
        }
    }
    findings
}

fn suite_shape(suite: &Suite, entry: &SuiteEntry) -> Result<()> {
    let no = |what: &str| Err(Error::usage("", what));
    match (&entry.workload, &entry.none) {
        (Some(_), Some(_)) | (None, None) => {
            return no("an entry has either a workload or a reason why 'none'");
        }
        (None, Some(_)) if entry.title.is_none() => return no("what is only listed needs a title"),
        _ => {}
    }
    if entry.rising.as_ref().is_some_and(|rising| !entry.each.contains_key(rising)) {
        return no("'rising' names a parameter of 'each'");
    }
    if entry.repeat.or(suite.repeat) == Some(0) {
        return no("'repeat' must be 1 or more");
    }
    if let Some(what) = entry.contradiction() {
        return no(what);
    }
    if entry
        .max_duration_s
        .or(suite.max_duration_s)
        .is_some_and(|most_s| !(MIN_KNOWN_S..1e9).contains(&most_s))
    {
        return no("'max_duration_s' must be 5 or more");
    }
    let Some(work) = &entry.work else { return Ok(()) };
    if !(work.amount > 0.0 && work.amount.is_finite()) {
        return no("the amount of work is not above 0");
    }
    match &work.grows_with {
        Some(table) if !TABLES.contains(&table.as_str()) => no("work grows with small or big"),
        Some(_) if suite.published_gb.is_none() => {
            no("work that grows needs the suite's 'published_gb'")
        }
        _ => Ok(()),
    }
}

fn suite_params(catalog: &Catalog, entry: &SuiteEntry) -> Result<()> {
    let Some(text) = &entry.workload else { return Ok(()) };
    let SelectionText { name, params: mut given } = parse_selection(text)?;
    given.extend(entry.params.clone());
    let asked = catalog.find(&name)?;
    if let Some(beside) = &entry.background {
        let background = parse_selection(beside)?;
        catalog.find(&background.name)?.with(&background.params, "")?;
    }
    fixed(&asked.entry.workload, &asked.with(&given, "")?)
        .map_or(Ok(()), |what| Err(Error::usage("", what)))
}
