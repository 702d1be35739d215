//! Checks of the SQL blocks that a workload needs on each engine: present, only known names, only
//! declared binds.

use std::collections::BTreeSet;

use crate::error::quote;
use crate::model::vectors;
use crate::model::{Bind, Drive, Param, Workload};
use crate::sql::{Block, LATE, LATE_WITH_VECTORS, Values, bind_names, fill, placeholders};

use super::check::{CHOSEN, TABLES, chosen_fact_names, data_fact_names};
use super::{Catalog, Entry};

/// Before the name of a bind whose draw a routine's body has.
const DRAWN: &str = "drawn_";

/// Block of a workload that says which rows its ops have found, and its place in a harness.
const ROWS: &str = "rows";

/// Errors in a workload's blocks.
pub(super) fn findings(catalog: &Catalog, entry: &Entry, engines: &[&str]) -> Vec<String> {
    let runs_on =
        engines.iter().filter(|engine| !entry.workload.unsupported.contains_key(**engine));
    let of_engines = runs_on.flat_map(|engine| on_engine(catalog, entry, engine));
    of_engines.chain(around(entry, engines)).collect()
}

/// Blocks of every drive that the workload has on an engine.
fn on_engine(catalog: &Catalog, entry: &Entry, engine: &str) -> Vec<String> {
    let workload = &entry.workload;
    if !workload.parts.is_empty() {
        return Vec::new();
    }
    let drivable = |drive: Drive| {
        let of_engine = format!("{engine}.{}", drive.name());
        !workload.undrivable.contains_key(drive.name())
            && !workload.undrivable.contains_key(&of_engine)
    };
    let mut findings = Vec::new();
    let is_streamed = workload.bulk && entry.blocks.resolve(engine, &workload.id, "body").is_none();
    let driven = is_streamed || unwritten(entry, engine) || catalog.harness(engine).is_empty();
    if !driven && drivable(Drive::Database) {
        findings.extend(block(entry, engine, "body", None));
    }
    if !workload.bulk && drivable(Drive::Client) {
        if workload.client.is_empty() {
            findings.push("it has no client branch, and 'undrivable' does not say why".into());
        }
        let steps = workload.client.iter().flat_map(|branch| &branch.steps);
        let declared: BTreeSet<&str> = workload.binds.keys().map(String::as_str).collect();
        findings.extend(steps.flat_map(|step| block(entry, engine, step, Some(&declared))));
        findings.extend(answer(entry, engine));
    }
    let optional = ["declare", ROWS].into_iter();
    let optional = optional.filter_map(|name| entry.blocks.resolve(engine, &workload.id, name));
    findings.extend(optional.filter_map(|found| names(entry, engine, found, &[])));
    findings.extend(untold_rows(catalog, entry, engine));
    findings
}

/// An error if a workload says which rows its ops have found to a harness that does not ask.
fn untold_rows(catalog: &Catalog, entry: &Entry, engine: &str) -> Option<String> {
    let block = entry.blocks.resolve(engine, &entry.workload.id, ROWS)?;
    let asks = |of: &&Block| placeholders(&of.text).iter().any(|(_, name)| *name == ROWS);
    let is_asked = catalog.harness(engine).values().any(asks);
    (!is_asked).then(|| {
        let (place, name) = (block.place(), &block.name);
        format!(
            "{place}: block {name} is for a harness that has {{{{{ROWS}}}}}, and {engine} has none"
        )
    })
}

/// True if the folder has nothing for this engine, but the workload has a form that a client can
/// drive: that is how it runs there. So a user's own workload need not be written for engines that
/// the user does not have.
fn unwritten(entry: &Entry, engine: &str) -> bool {
    !entry.workload.client.is_empty() && !entry.blocks.engines().any(|known| known == engine)
}

/// True if the folder has SQL of other engines and none of this one, and what all engines share
/// there does not hold a statement that the workload needs.
pub(super) fn lacks_sql(entry: &Entry, engine: &str) -> bool {
    let workload = &entry.workload;
    let is_for_others = entry.blocks.engines().next().is_some();
    let is_for_it = entry.blocks.engines().any(|known| known == engine);
    if !workload.parts.is_empty() || is_for_it || !is_for_others {
        return false;
    }
    let is_there = |name: &str| entry.blocks.resolve(engine, &workload.id, name).is_some();
    let mut steps = workload.client.iter().flat_map(|branch| &branch.steps);
    if workload.client.is_empty() { !is_there("body") } else { !steps.all(|step| is_there(step)) }
}

fn answer(entry: &Entry, engine: &str) -> Vec<String> {
    let Some(answer) = &entry.workload.answer else { return Vec::new() };
    let declared = answer.binds.keys().map(String::as_str).collect();
    answer.step.iter().flat_map(|step| block(entry, engine, step, Some(&declared))).collect()
}

/// Findings of one block; `binds` are the names that it may bind, none = any (bodies have no
/// binds).
fn block(entry: &Entry, engine: &str, short: &str, binds: Option<&BTreeSet<&str>>) -> Vec<String> {
    let Some(found) = entry.blocks.resolve(engine, &entry.workload.id, short) else {
        return vec![format!(
            "block '{}.{short}' or '{short}' is missing for {engine}, and no 'unsupported' or \
             'undrivable' says why",
            entry.workload.id
        )];
    };
    let texts = std::iter::once(found).chain(included(entry, engine, found, &[]));
    let unknown = |of: &Block| {
        let declared = |name: &String| binds.is_none_or(|binds| binds.contains(name.as_str()));
        let name = bind_names(&of.text).into_iter().find(|name| !declared(name))?;
        Some(format!("{}: block {} binds :{name}, which is not declared", of.place(), of.name))
    };
    names(entry, engine, found, &[])
        .into_iter()
        .chain(texts.into_iter().filter_map(unknown))
        .collect()
}

/// The `{{name}}` of a block that stand for no value; `also` are names of values that only some
/// blocks may use.
fn open<'a>(workload: &Workload, block: &'a Block, also: &[&str]) -> Vec<(usize, &'a str)> {
    let is_value = |name: &str| {
        let fact = data_fact_names()
            .any(|fact| fact == name && !name.ends_with("_mb") && !name.ends_with("_parts"));
        let param = workload.params.iter().any(|param| param.name == name);
        let chosen = chosen_fact_names(workload);
        let chosen = chosen.iter().any(|fact| fact == name) || !chosen.is_empty() && name == CHOSEN;
        fact || param
            || chosen
            || TABLES.contains(&name)
            || matches!(name, "prefix" | "pad")
            || is_drawn(workload, name)
            || workload.vectors.is_some() && vectors::FACTS.contains(&name)
            || also.contains(&name)
    };
    let found = placeholders(&block.text).into_iter().filter(|(_, name)| !is_value(name));
    found.map(|(range, name)| (range.start, name)).collect()
}

/// True of a bind by whose law a routine's body draws.
fn is_drawn(workload: &Workload, name: &str) -> bool {
    let bind = name.strip_prefix(DRAWN).and_then(|bind| workload.binds.get(bind));
    matches!(bind, Some(Bind::Keyed(_)))
}

/// The blocks that a block includes.
fn included<'a>(entry: &'a Entry, engine: &str, block: &Block, also: &[&str]) -> Vec<&'a Block> {
    let names = open(&entry.workload, block, also).into_iter();
    names.filter_map(|(_, name)| entry.blocks.get(engine, name)).collect()
}

/// A `{{name}}` that nothing gives, in a block or in one that it includes; else one by which an
/// included block includes.
fn names(entry: &Entry, engine: &str, block: &Block, also: &[&str]) -> Option<String> {
    let finding = |of: &Block, how: &str, is_wrong: &dyn Fn(&str) -> bool| {
        let (at, name) =
            open(&entry.workload, of, also).into_iter().find(|(_, name)| is_wrong(name))?;
        Some(format!("{}: block {} {how} {{{{{name}}}}}", of.place_at(at), of.name))
    };
    let included = included(entry, engine, block, also);
    let is_no_block = |name: &str| entry.blocks.get(engine, name).is_none();
    let mut all = std::iter::once(block).chain(included.iter().copied());
    let unknown = all.find_map(|of| finding(of, "uses the unknown", &is_no_block));
    let nested = |of: &&Block| finding(of, "is included itself and cannot include", &|_| true);
    unknown.or_else(|| included.iter().find_map(nested))
}

/// Setup, teardown and session: every block must exist for some engine; where it does not, there is
/// nothing to do.
fn around(entry: &Entry, engines: &[&str]) -> Vec<String> {
    let workload = &entry.workload;
    let blocks = workload.setup.iter().chain(&workload.teardown);
    let blocks = blocks.chain(&workload.session).chain(&workload.hold);
    let late = if workload.vectors.is_some() { LATE_WITH_VECTORS } else { LATE };
    let finding = |short: &String| {
        let names_of = block_names(workload, short);
        let pairs =
            engines.iter().flat_map(|engine| names_of.iter().map(move |name| (*engine, name)));
        let block = |(engine, name): (_, &String)| {
            Some((engine, entry.blocks.resolve(engine, &workload.id, name)?))
        };
        let found: Vec<_> = pairs.filter_map(block).collect();
        match found.is_empty() && !engines.is_empty() {
            true => Some(format!("block {} is missing for every engine", quote(short))),
            false => {
                found.into_iter().find_map(|(engine, block)| names(entry, engine, block, late))
            }
        }
    };
    blocks.filter_map(finding).collect()
}

/// The names that a block's name with `{{param}}` in it may stand for.
fn block_names(workload: &Workload, short: &str) -> Vec<String> {
    let with = |names: Vec<String>, param: &Param| {
        let named = |name: &String, value: &String| {
            fill(name, &Values::from([(param.name.clone(), value.clone())]))
        };
        match param.values.as_slice() {
            [] => names,
            values => names
                .iter()
                .flat_map(|name| values.iter().map(move |value| named(name, value)))
                .collect(),
        }
    };
    workload.params.iter().fold(vec![short.to_string()], with)
}
