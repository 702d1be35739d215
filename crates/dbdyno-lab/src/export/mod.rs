//! The workloads of an engine as plain scripts for its own client, for a site where no foreign
//! program may run.
//!
//! Everything engine-specific stands in `catalog/export/<engine>.sql`; the shell script and the
//! README are templates beside it. Pure: the caller writes the files.

use std::collections::BTreeMap;

use crate::dataset::{self, Definition, Recipe};
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::{Drive, KpmValue, LeftOut, Plan, Selection};
use dbdyno_core::sql::{Block, Values, fill, statement, substitute};
use dbdyno_core::stats::keys::{self, KeyStream};
use dbdyno_engines::engine::Engine;

mod inside;
mod load;
mod spool;
mod workload;

const MB: u64 = 1_000_000;
/// Tests of a workload that draw keys of their own; the next one begins with those of the first.
const SEEDED_TESTS: u32 = 100;

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Path below the output directory, with `/`.
    pub path: String,
    /// Contents of the file.
    pub text: String,
    /// True if the file gets the permission to be run.
    pub executable: bool,
}

impl Script {
    fn new(path: impl Into<String>, text: impl Into<String>) -> Script {
        Script { path: path.into(), text: text.into(), executable: false }
    }
}

/// Sources of an export.
pub struct Export<'a> {
    /// Catalog that the plan was made from.
    pub catalog: &'a Catalog,
    /// Engine whose SQL is exported.
    pub engine: &'static dyn Engine,
    /// Plan whose statements are exported.
    pub plan: &'a Plan,
    /// The command line, for the README.
    pub command: String,
    /// Bytes that the tables take at most, for the README.
    pub data_bytes: u64,
}

/// Reason why an engine's workloads cannot be exported, if they cannot.
pub fn refusal(catalog: &Catalog, engine: &dyn Engine) -> Option<Error> {
    if !engine.capabilities().drives.contains(&Drive::Database) {
        let what =
            "it has no stored routines, so its workloads need a client and cannot be scripts";
        return Some(Error::usage(engine.name(), what).advise("run them with 'dbdyno run'"));
    }
    catalog.export_blocks(engine.name()).is_empty().then(|| {
        Error::usage(format!("catalog/export/{}.sql", engine.name()), "the file does not exist")
            .advise("write one as those of other engines in that folder")
    })
}

/// The scripts of a plan whose selections are all of the database drive, or left out.
///
/// # Errors
/// An engine without scripts, an error in the catalog's SQL.
pub fn scripts(export: &Export<'_>) -> Result<Vec<Script>> {
    if let Some(error) = refusal(export.catalog, export.engine) {
        return Err(error);
    }
    let set = export.catalog.dataset(dataset::STANDARD)?;
    let definition = Definition::parse(&set.toml, &set.toml_path)?;
    let tables = load::Tables { export, recipe: Recipe::new(export.engine, &definition, set) };
    if export.block("run").is_ok() {
        return run_inside(export, &tables);
    }
    let mut scripts = vec![
        Script::new("create.sql", export.template("schema", &Values::new())?),
        Script::new("load.sql", export.head()? + &tables.load()?),
        Script::new(
            "drop.sql",
            export.head()? + &tables.drop()? + &export.template("schema-drop", &Values::new())?,
        ),
        Script::new("now.sql", export.template("now", &Values::new())?),
        Script::new("count.sql", tables.counts()?),
    ];
    // Where commits inside a routine are not waited for, the client calls one transaction after the
    // other.
    if export.block("clock").is_ok() {
        scripts.push(Script::new("clock.sql", export.template("clock", &Values::new())?));
    }
    let exported = exportable_selections(export);
    for (name, selection) in &exported {
        scripts.extend(workload::scripts(&tables, selection, name)?);
    }
    scripts.extend(export.questions()?);
    let words = |name: &str| export.block(name).map_or(String::new(), |block| block.text.clone());
    let mut values: Values = ["client", "named"].map(|name| (name.to_string(), words(name))).into();
    values.insert("job_factor".into(), KeyStream::job_factor().to_string());
    let run = fill(export.text("run.sh")?, &values);
    scripts.push(Script { executable: true, ..Script::new("run.sh", run) });
    scripts.push(Script::new("spool.head", export.pack_head(&scripts)));
    scripts.push(Script::new("README.md", readme(export, &tables, &exported)?));
    Ok(scripts)
}

/// The scripts where the database runs the jobs itself.
fn run_inside(export: &Export<'_>, tables: &load::Tables<'_>) -> Result<Vec<Script>> {
    let prefix =
        Values::from([("prefix".to_string(), export.engine.capabilities().prefix.to_string())]);
    let exported = exportable_selections(export);
    let create = export.template("schema", &prefix)? + "exit success\n";
    let load = tables.load()? + "exit success\n";
    let verify = inside::verify(tables)? + "exit success\n";
    let drop = tables.drop()? + &export.template("schema-drop", &prefix)?;
    let mut scripts = vec![
        export.script(
            "create.sql",
            "Makes the tables for the results, where they are not there yet. drop.sql drops them.",
            &create,
        )?,
        export.script(
            "load.sql",
            "Makes the tables of the workloads anew and fills them. README.md says how large they \
             are; drop.sql drops them.",
            &load,
        )?,
        export.script(
            "verify.sql",
            "Checks that the rows of the tables are those that dbdyno loads. Changes nothing.",
            &verify,
        )?,
        export.script(
            "drop.sql",
            "Drops the tables that create.sql and load.sql made, and nothing else.",
            &drop,
        )?,
    ];
    scripts.extend(inside::scripts(tables, &exported, &scripts)?);
    scripts.push(Script::new("README.md", readme(export, tables, &exported)?));
    Ok(scripts)
}

/// The workloads of the database drive by the names of their directories: published suites ask for
/// one under several codes.
fn exportable_selections<'a>(export: &'a Export<'_>) -> BTreeMap<String, &'a Selection> {
    let exportable = export.plan.selections.iter().filter(|selection| is_exportable(selection));
    exportable.map(|selection| (directory(selection), selection)).collect()
}

/// True of what scripts can do: a loop in the database, and no session that is held open beside it.
fn is_exportable(selection: &Selection) -> bool {
    selection.drive == Drive::Database && selection.parts.iter().all(|part| part.hold.is_empty())
}

/// `TP-LIGHT` or, with chosen parameters, `TP-LIGHT.update_pct-40`: one word without what a shell
/// would touch.
fn directory(selection: &Selection) -> String {
    let params = selection.chosen.iter().map(|(name, value)| format!(".{name}-{value}"));
    std::iter::once(selection.workload.id.clone()).chain(params).collect()
}

impl Export<'_> {
    fn block(&self, name: &str) -> Result<&Block> {
        self.catalog
            .export_blocks(self.engine.name())
            .iter()
            .find(|block| block.name == name)
            .ok_or_else(|| {
                let place = format!("catalog/export/{}.sql", self.engine.name());
                Error::usage(place, format!("block {} is missing", quote(name)))
            })
    }

    /// A block with its values, ended by a newline.
    fn template(&self, name: &str, values: &Values) -> Result<String> {
        Ok(format!("{}\n", substitute(self.block(name)?, values, &[])?.trim_end()))
    }

    /// A script for the client alone: a comment that says what it does, its head, its text.
    fn script(&self, path: &str, about: &str, text: &str) -> Result<Script> {
        let connect = format!("Usage: {} USER@SERVICE @{path}", self.block("client")?.text.trim());
        let comment = format!("-- {path}: {about}\n-- {connect}\n");
        Ok(Script::new(path, comment + &self.head()? + text))
    }

    /// Head of every script.
    fn head(&self) -> Result<String> {
        self.template("head", &Values::new())
    }

    /// The states of the key generator from which job 1 of the first, the second, ... test of a
    /// workload draws: a number per test, so that the scripts need no hash. See
    /// docs/decisions/0026-keys-of-tests-and-jobs.md.
    fn first_states(&self, name: &str) -> impl Iterator<Item = u64> {
        let first = move |test: u32| {
            let draw = keys::draw_of(&format!("{name} {test}"));
            KeyStream::for_job(keys::test_seed(self.plan.seed, draw), 1).state()
        };
        (1..=SEEDED_TESTS).map(first)
    }

    /// A statement as the client takes it from a script; nothing for one that says that there is
    /// nothing to do.
    fn statement(&self, sql: &str) -> Result<String> {
        match statement(sql) {
            "" => Ok(String::new()),
            sql => {
                self.template("statement", &Values::from([("sql".to_string(), sql.to_string())]))
            }
        }
    }

    fn text(&self, name: &str) -> Result<&str> {
        self.catalog.export_text(name).ok_or_else(|| {
            Error::usage(format!("catalog/export/{name}"), "the file does not exist")
        })
    }
}

fn readme(
    export: &Export<'_>,
    tables: &load::Tables<'_>,
    exported: &BTreeMap<String, &Selection>,
) -> Result<String> {
    let line = |(name, selection): (&String, &&Selection)| {
        let workload = &selection.workload;
        let codes: Vec<_> = workload.aliases.iter().map(|alias| alias.code.as_str()).collect();
        format!("| {name} | {} | {} | {} |", workload.title, codes.join(", "), workload.kpm.unit)
    };
    let workloads: Vec<String> = exported.iter().map(line).collect();
    let client_only = export.plan.selections.iter().filter(|selection| !is_exportable(selection));
    let client_only =
        client_only.map(|selection| LeftOut::new(&selection.workload.id, client_reason(selection)));
    let left_out = export.plan.left_out.iter().cloned().chain(client_only);
    let mut left_out: Vec<String> =
        left_out.map(|LeftOut { label, reason }| format!("- {label}: {reason}")).collect();
    left_out.dedup();
    let values = [
        ("engine", export.engine.name().to_string()),
        ("command", export.command.clone()),
        ("version", env!("CARGO_PKG_VERSION").to_string()),
        ("size", export.plan.size_gb.to_string()),
        ("seed", export.plan.seed.to_string()),
        ("client", export.block("client")?.text.clone()),
        ("connect", export.block("connect")?.text.clone()),
        ("loops", export.block("loops")?.text.clone()),
        ("example", exported.keys().next().cloned().unwrap_or_default()),
        ("tables", tables.describe()),
        ("data_mb", (export.data_bytes / MB).to_string()),
        ("workloads", workloads.join("\n")),
        ("left_out", if left_out.is_empty() { "nothing".to_string() } else { left_out.join("\n") }),
    ];
    let file = if export.block("run").is_ok() { "README-inside.md" } else { "README.md" };
    Ok(fill(export.text(file)?, &values.map(|(name, value)| (name.to_string(), value)).into()))
}

fn client_reason(selection: &Selection) -> String {
    if selection.drive == Drive::Database {
        return "it holds a session open beside its jobs, which scripts do not".into();
    }
    let stated = selection.workload.undrivable.get(Drive::Database.name()).cloned();
    stated.unwrap_or_else(|| "it has no form inside the database".into())
}

/// Source of the workload's metric in `run.sh`, factor and unit; none for one that needs counters
/// or facts of the loaded data.
fn kpm_line(selection: &Selection) -> Option<String> {
    let kpm = &selection.workload.kpm;
    let single = if selection.parts.len() == 1 { selection.parts.first() } else { None };
    let (source, factor) = match &kpm.value {
        KpmValue::Ops => ("ops_per_s", 1.0),
        KpmValue::Rows => ("rows_per_s", 1.0),
        KpmValue::ServiceTime => ("mean_us", 1e-6),
        KpmValue::Units => ("ops_per_s", single?.work.eval(&single?.facts).ok()?),
        KpmValue::Counter(_) | KpmValue::CounterBlocks(_) => return None,
    };
    Some(format!("{source} {} {}\n", factor * kpm.scale, kpm.unit.replace(' ', "_")))
}
