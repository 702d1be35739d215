//! `site DIR`: the results as a static web site.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::catalog;
use crate::analysis::ramp;
use crate::catalog::Catalog;
use crate::cli::args::SiteArgs;
use crate::cli::context::Context;
use crate::cli::{file, out};
use crate::error::{Error, Result};
use crate::host::stranger_at;
use crate::model::{RunKind, RunStatus};
use crate::report::catalog::CatalogReport;
use crate::report::{Input, Report, RunTests};
use crate::serve::files::{self, Shown};
use crate::store::Store;

/// The file by which we know a directory again: the names of all files that we wrote into it.
const MARK: &str = ".dbdyno-site";
/// Its first line.
const HEAD: &str =
    "Written by 'dbdyno site'; these files are replaced or removed when it writes here again:";
/// More comparisons than these are not made unasked.
const MAX_COMPARED: usize = 20;

/// Writes the site.
///
/// # Errors
/// A directory that is not ours; unknown runs; what cannot be written.
pub fn site(context: &Context, args: &SiteArgs) -> Result<()> {
    context.text_only()?;
    let mut directory = Directory::at(&args.dir)?;
    let store = context.store_to_read()?;
    let runs = chosen(&store, &args.runs)?;
    let names = names(&store, args, &runs)?;
    let compared = chosen_comparisons(&store, args, &runs)?;
    let catalog = if args.internal { context.catalog()? } else { Catalog::embedded()? };
    let shown = match args.internal {
        true => files::whole(&runs, &names)?,
        false => files::publish(&catalog, &runs, &names)?,
    };
    if !args.internal {
        super::report::warn_of_licences(&Input {
            licences: catalog.publishing(),
            runs,
            ..Input::default()
        });
    }
    let described = CatalogReport.build(&catalog::input_from(&catalog));
    let shown_by = Shown {
        catalog: &catalog,
        language: args.language,
        title: args.title.as_deref().unwrap_or_default(),
        compared: &compared,
        catalog_document: &described,
    };
    files::each(&shown, &shown_by, &mut |name, content| directory.write(context, name, content))?;
    let count = directory.finish(context)?;
    if !context.global.quiet {
        out::report(&format!("{count} files; open {}", args.dir.join("index.html").display()));
    }
    Ok(())
}

/// The runs asked for, oldest first, each once; all that have ended if none is.
fn chosen(store: &Store, asked: &[String]) -> Result<Vec<RunTests>> {
    let mut ids: Vec<i64> = match asked {
        [] => {
            let ended = store.runs()?.into_iter().filter(|run| run.status != RunStatus::Running);
            ended.map(|run| run.id).collect()
        }
        asked => asked.iter().map(|run| store.run(run).map(|run| run.id)).collect::<Result<_>>()?,
    };
    ids.sort_unstable();
    ids.dedup();
    let read = |id: i64| Ok(RunTests::new(store.run(&id.to_string())?, store.tests(id)?));
    ids.into_iter().map(read).collect()
}

/// The name that each run was given here.
fn names(store: &Store, args: &SiteArgs, runs: &[RunTests]) -> Result<Vec<Option<String>>> {
    let mut names = vec![None; runs.len()];
    for named in &args.name {
        let place = place(store, "--name", &named.run, runs)?;
        names[place] = Some(named.name.clone());
    }
    Ok(names)
}

/// Position of a run among those of the site.
fn place(store: &Store, option: &str, run: &str, runs: &[RunTests]) -> Result<usize> {
    let id = store.run(run)?.id;
    runs.iter().position(|data| data.run.id == id).ok_or_else(|| {
        Error::usage(option, format!("run {id} is not on the site"))
            .advise(format!("name it behind the directory: site DIR ... {id}"))
    })
}

/// The comparisons: those asked for, else the oldest measured run with each other one of the same
/// work.
fn chosen_comparisons(store: &Store, args: &SiteArgs, runs: &[RunTests]) -> Result<Vec<Vec<i64>>> {
    let ids = |asked: &Vec<String>| {
        let each = asked.iter().map(|run| place(store, "--compare", run, runs));
        let each = each.map(|place| place.map(|place| runs[place].run.id));
        let ids = each.collect::<Result<Vec<i64>>>()?;
        match BTreeSet::from_iter(&ids).len() == ids.len() {
            true => Ok(ids),
            false => Err(Error::usage("--compare", "a run is named twice").advise("name it once")),
        }
    };
    if !args.compare.is_empty() {
        return args.compare.iter().map(|asked| ids(&asked.0)).collect();
    }
    let measured: Vec<&RunTests> =
        runs.iter().filter(|data| data.run.kind != RunKind::Published).collect();
    let Some((base, others)) = measured.split_first() else { return Ok(Vec::new()) };
    let have_common = |other: &&&RunTests| {
        base.tests.iter().any(|test| {
            other.tests.iter().any(|it| it.jobs() == test.jobs() && ramp::same_but_drive(it, test))
        })
    };
    let pair = |other: &&RunTests| vec![base.run.id, other.run.id];
    Ok(others.iter().filter(have_common).take(MAX_COMPARED).map(pair).collect())
}

/// The directory of the site.
struct Directory<'a> {
    path: &'a Path,
    /// Files that we wrote here before.
    former: BTreeSet<String>,
    written: BTreeSet<String>,
}

impl<'a> Directory<'a> {
    /// A directory that is empty, not there yet, or ours.
    fn at(path: &'a Path) -> Result<Directory<'a>> {
        let former = former(path)?;
        Ok(Directory { path, former, written: BTreeSet::new() })
    }

    /// Writes a file, unless it is there with this content.
    fn write(&mut self, context: &Context, name: &str, content: &str) -> Result<()> {
        let path = self.path.join(name);
        if self.written.is_empty() {
            fs::create_dir_all(self.path).map_err(|error| unwritten(self.path, &error))?;
            // From now on the directory is ours, also if we are interrupted.
            self.mark(context, &self.former)?;
        }
        if let Some(parent) = Path::new(name).parent().filter(|parent| *parent != Path::new("")) {
            own_directory(&self.path.join(parent))?;
        }
        self.written.insert(name.to_string());
        if path.is_symlink() {
            return Err(Error::usage(
                path.display().to_string(),
                "is a link, which we did not make",
            )
            .advise("remove it, or name another directory"));
        }
        match fs::read(&path) {
            Ok(known) if known == content.as_bytes() => Ok(()),
            _ => file::write(context, &path, content.as_bytes()),
        }
    }

    /// Removes what is no longer part of the site; gives the number of its files.
    fn finish(&self, context: &Context) -> Result<usize> {
        for name in self.former.difference(&self.written) {
            let path = self.path.join(name);
            refuse_links(self.path, name)?;
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(unwritten(&path, &error));
                }
                _ => {}
            }
        }
        self.mark(context, &BTreeSet::new())?;
        Ok(self.written.len())
    }

    /// Notes which files are ours.
    fn mark(&self, context: &Context, more: &BTreeSet<String>) -> Result<()> {
        let names = self.written.union(more).map(|name| format!("{name}\n"));
        let text = format!("{HEAD}\n{}", names.collect::<String>());
        file::write(context, &self.path.join(MARK), text.as_bytes())
    }
}

/// Files that an earlier export wrote into a directory.
fn former(path: &Path) -> Result<BTreeSet<String>> {
    let refused = |what: &str| {
        Error::usage(path.display().to_string(), what)
            .advise("name an empty directory, or one that does not exist yet")
    };
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(refused("is not a directory"));
        }
        Err(error) => return Err(refused(&format!("cannot be read: {error}"))),
        Ok(entries) => entries,
    };
    match fs::read_to_string(path.join(MARK)) {
        Ok(text) => {
            // What it names is removed: only we may have written it, and laid the way to it.
            let stranger = fs::canonicalize(path).and_then(|path| stranger_at(&path.join(MARK)));
            match stranger {
                Ok(None) => {}
                Ok(Some(stranger)) => {
                    return Err(refused(&format!("{stranger}: others could name files to remove")));
                }
                Err(error) => return Err(refused(&format!("cannot be read: {error}"))),
            }
            let mut lines = text.lines();
            let names = lines.next().filter(|head| *head == HEAD).map(|_| lines);
            let names = names.ok_or_else(|| refused("holds a site of another version"))?;
            Ok(names.filter(|name| is_within(name)).map(String::from).collect())
        }
        Err(_) if entries.count() == 0 => Ok(BTreeSet::new()),
        Err(_) => Err(refused("is not empty and was not written by 'dbdyno site'")),
    }
}

/// True if the name is that of a file in the directory, or in one of the directories that a site
/// has in it.
fn is_within(name: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    !name.is_empty() && Path::new(name).components().all(is_plain)
}

/// Refuses a name that leads out of the site by a link to another directory.
fn refuse_links(site: &Path, name: &str) -> Result<()> {
    let within = Path::new(name).ancestors().skip(1).filter(|above| *above != Path::new(""));
    match within.map(|above| site.join(above)).find(|above| above.is_symlink()) {
        None => Ok(()),
        Some(link) => {
            Err(Error::usage(link.display().to_string(), "is a link, which we did not make")
                .advise("remove it, or name another directory"))
        }
    }
}

/// Makes a directory in ours; no link to another one.
fn own_directory(path: &PathBuf) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(known) if known.is_dir() => Ok(()),
        Ok(_) => Err(Error::usage(path.display().to_string(), "is not a directory")
            .advise("remove it, or name another directory")),
        Err(_) => fs::create_dir(path).map_err(|error| unwritten(path, &error)),
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::usage(path.display().to_string(), format!("cannot be written: {error}"))
        .advise("name another directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_directory_is_ever_removed() {
        assert!(is_within("index.html") && is_within("run/3-1.html"));
        for name in ["", "/etc/passwd", "../x", "run/../../x", "./x/.."] {
            assert!(!is_within(name), "{name}");
        }
    }
}
