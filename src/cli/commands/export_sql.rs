//! `export-sql`: the workloads of an engine as plain scripts for its own client.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::show::find;
use crate::cli::args::ExportArgs;
use crate::cli::context::Context;
use crate::cli::{file, out, paths, request};
use crate::error::{Error, Result, shell_word, shell_words};
use crate::export::{self, Export, Script};
use crate::fit;
use crate::host::{leads_where_others_want, processors};
use crate::model::{AskedRamp, LeftOut, Plan, Selection};
use crate::plan::{self, DEFAULT_SIZE_GB};

/// Suite if neither a suite nor a workload is named.
const DEFAULT_SUITE: &str = "standard";

/// Writes the scripts and says where.
///
/// # Errors
/// Unknown names, an engine without stored routines, a directory that is not empty or cannot be
/// written.
pub fn export(context: &Context, args: &ExportArgs) -> Result<()> {
    context.text_only()?;
    let catalog = context.catalog()?;
    let engine = find(&args.engine)?;
    if let Some(error) = export::refusal(&catalog, engine) {
        return Err(error);
    }
    let asked = !args.suite.is_empty() || !args.workload.is_empty();
    let suites = if asked { args.suite.clone() } else { vec![DEFAULT_SUITE.to_string()] };
    let of_suite =
        suites.first().map(|name| catalog.suite(name)).transpose()?.and_then(|suite| suite.size_gb);
    let size_gb = args.size.or(of_suite).unwrap_or(DEFAULT_SIZE_GB);
    request::check_size(size_gb)?;
    let request = plan::Request {
        suites,
        workloads: args.workload.clone(),
        jobs: Some(AskedRamp::single(1)),
        size_gb: Some(size_gb),
        seed: u64::from(args.seed),
        ..plan::Request::new(engine.name(), engine.capabilities(), processors())
    };
    let plan = plan::build(&catalog, &request)?;
    let plan = if asked { plan } else { without_vectors(plan) };
    let scripts = export::scripts(&Export {
        catalog: &catalog,
        engine,
        plan: &plan,
        command: without_its_directory(&paths::command_line(), &args.output),
        data_bytes: fit::data_bytes(&plan.tables, plan.size_gb),
    })?;
    file::check_parent(&args.output)?;
    refuse_links(&args.output)?;
    check_empty(&args.output)?;
    scripts.iter().try_for_each(|script| write(&args.output, script))?;
    let readme = args.output.join("README.md");
    out::print(&format!(
        "{} files are written; how to run them: {}",
        scripts.len(),
        readme.display()
    ))
}

/// The command line with the name of the output directory alone: a pack is given to others, whom
/// the directories of this host do not concern.
fn without_its_directory(command: &str, output: &Path) -> String {
    let name = output.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "DIR".into());
    let directory = output.display().to_string();
    let shortened = |word: String| match word.strip_suffix(directory.as_str()) {
        // Only as a whole: "." stands in numbers, too.
        Some(option @ ("" | "--output=" | "-o" | "-o=")) => shell_word(&format!("{option}{name}")),
        _ => shell_word(&word),
    };
    shell_words(command).into_iter().map(shortened).collect::<Vec<_>>().join(" ")
}

fn has_vectors(selection: &Selection) -> bool {
    selection.parts.iter().any(|part| part.vectors.is_some())
}

/// The plan without workloads whose setup sends vectors: as text they are most of an export.
fn without_vectors(mut plan: Plan) -> Plan {
    let all = std::mem::take(&mut plan.selections);
    let (left_out, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(has_vectors);
    plan.selections = kept;
    plan.left_out.extend(left_out.into_iter().map(|selection| {
        let id = selection.workload.id;
        let reason = format!("its vectors are many MB of text: ask for it with --workload {id}");
        LeftOut { label: id, reason }
    }));
    plan
}

/// Scripts of an earlier export would be taken for those of this one.
fn check_empty(dir: &Path) -> Result<()> {
    let full = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
    match full {
        true => Err(Error::usage("--output", format!("{} is not empty", dir.display()))
            .advise("choose a new directory")),
        false => Ok(()),
    }
}

/// Refuses a path that another user has prepared in a directory open to everybody.
fn refuse_links(path: &Path) -> Result<()> {
    match leads_where_others_want(path) {
        Ok(false) => Ok(()),
        Ok(true) => {
            let what = "leads by a link that somebody else made in a directory open to everybody";
            Err(Error::usage("--output", format!("{} {what}", path.display()))
                .advise("choose a directory of your own"))
        }
        Err(error) => Err(unwritten(path, &error)),
    }
}

/// Writes a script as a new file: whoever may write to the directory, too, may have put a link
/// under its name, or puts one there in the meantime.
fn write(dir: &Path, script: &Script) -> Result<()> {
    let path = dir.join(&script.path);
    let failed = |error: std::io::Error| unwritten(&path, &error);
    fs::create_dir_all(path.parent().unwrap_or(dir)).map_err(failed)?;
    refuse_links(&path)?;
    let mut file = fs::File::create_new(&path).map_err(failed)?;
    file.write_all(script.text.as_bytes()).map_err(failed)?;
    if script.executable {
        file.set_permissions(fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    Ok(())
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::usage("--output", format!("{} cannot be written ({error})", path.display()))
        .advise("choose a directory that you may write to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_pack_is_left_out_of_its_command_and_nothing_else() {
        let of = |command: &str, output: &str| without_its_directory(command, Path::new(output));
        assert_eq!(
            of("dbdyno export-sql x --size 0.01 --output .", "."),
            "dbdyno export-sql x --size 0.01 --output DIR"
        );
        assert_eq!(
            of("dbdyno export-sql x --output=/home/me/pack", "/home/me/pack"),
            "dbdyno export-sql x --output=pack"
        );
        assert_eq!(
            of("dbdyno export-sql x --output 'of mine/a pack'", "of mine/a pack"),
            "dbdyno export-sql x --output 'a pack'"
        );
    }
}
