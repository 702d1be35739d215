//! The shared library: found, loaded once for the rest of the process, its version checked before
//! anything else is called.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libloading::Library;

use super::api::Api;
use crate::engine::library::{Choice, Package, RuntimeLibrary};
use crate::engine::{EngineError, ErrorClass, Version};
use crate::host;

/// Version whose header `api` follows.
pub(super) const PACKAGE: Package = Package {
    name: "@duckdb/node-bindings-",
    version: "1.5.6",
    revision: "1.5.6-r.1",
    sha256: &[
        ("linux-x64", "1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff"),
        ("linux-arm64", "3a45a6305b3235a781ed9de25aa795a3862acd042782d1f864e1bdb656de212b"),
        ("darwin-x64", "1004f6a9ec624612e8d30e25010070e7e3aac23fc807146a470c5a4f6f6e38e0"),
        ("darwin-arm64", "6ca33c2c6566246d6a452e24194f004010dd860d5b2764c7143ff255555862ca"),
    ],
    library: "duckdb",
};
const MAJOR: u32 = 1;
const OLDEST: [u32; 2] = [MAJOR, 5];
const ADVICE: &str = "fetch it ('dbdyno binaries fetch duckdb', which uses your npm), or name the directory of another with --server-bin";

/// DuckDB's library as the rest of the program sees it.
pub(super) struct DuckLibrary;

static CHOICE: Choice = Choice::none();

impl RuntimeLibrary for DuckLibrary {
    fn package(&self) -> Package {
        PACKAGE
    }
    fn version(&self, dir: Option<&Path>) -> Result<Version, EngineError> {
        let named = dir.map(Path::to_path_buf).or_else(|| CHOICE.get());
        load(named.as_deref()).map(|loaded| loaded.version.clone())
    }
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

/// A loaded library.
pub(super) struct Loaded {
    pub api: Api,
    pub version: Version,
}

/// The library that the user chose, or that is found.
///
/// # Errors
/// As [`RuntimeLibrary::version`].
pub(super) fn chosen() -> Result<&'static Loaded, EngineError> {
    load(CHOICE.get().as_deref())
}

/// Loads the library in `dir`, or the newest that was fetched, or the one that the system finds.
fn load(dir: Option<&Path>) -> Result<&'static Loaded, EngineError> {
    static LOADED: Mutex<BTreeMap<PathBuf, &'static Loaded>> = Mutex::new(BTreeMap::new());
    let path = match dir {
        Some(dir) => existing(&dir.join(PACKAGE.file()))?,
        None => fetched().unwrap_or_else(|| PACKAGE.file().into()),
    };
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded.get(&path) {
        return Ok(known);
    }
    // It stays: unloading a library whose threads may still run is not safe.
    let new: &'static Loaded = Box::leak(Box::new(open(&path)?));
    loaded.insert(path, new);
    Ok(new)
}

fn existing(path: &Path) -> Result<PathBuf, EngineError> {
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    Err(EngineError::new(
        ErrorClass::Usage,
        format!("DuckDB library {} does not exist", path.display()),
    )
    .advised(ADVICE))
}

/// The newest library in the cache directory.
fn fetched() -> Option<PathBuf> {
    let entries = std::fs::read_dir(host::cache_dir()).ok()?.flatten().map(|entry| entry.path());
    let versions = entries.filter_map(|dir| {
        let version = Version::parse(dir.file_name()?.to_str()?.strip_prefix("duckdb-")?);
        let library = dir.join("bin").join(PACKAGE.file());
        // Loading runs it.
        (library.is_file() && host::may_be_run(&library)).then_some((version, library))
    });
    versions.max().map(|(_, library)| library)
}

fn open(path: &Path) -> Result<Loaded, EngineError> {
    // SAFETY: loading runs the initialisers of a library that the user, or the system, names as DuckDB's.
    let library = unsafe { Library::new(path) }.map_err(|error| not_loaded(path, &error))?;
    let version = version_of(&library).ok_or_else(|| {
        let what =
            format!("{} is not DuckDB: it has no function duckdb_library_version", path.display());
        EngineError::new(ErrorClass::Usage, what).advised(ADVICE)
    })?;
    let unsupported = |why: &str| {
        let what = format!("{} is DuckDB {version}, {why}", path.display());
        EngineError::new(ErrorClass::TooOld, what).advised(ADVICE)
    };
    if version.0.first() != Some(&MAJOR) || version.0.as_slice() < OLDEST.as_slice() {
        return Err(unsupported("supported is 1.5 and newer 1.x"));
    }
    let api = Api::of(&library)
        .map_err(|lacking| unsupported(&format!("which lacks the function {lacking}")))?;
    std::mem::forget(library);
    Ok(Loaded { api, version })
}

#[cold]
fn not_loaded(path: &Path, error: &libloading::Error) -> EngineError {
    if !path.is_absolute() && !path.exists() && path.components().count() == 1 {
        let what = format!("DuckDB's library {} is not on this host", path.display());
        return EngineError::new(ErrorClass::Usage, what).advised(ADVICE);
    }
    let said =
        std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    EngineError::new(ErrorClass::Usage, format!("{} cannot be loaded ({said})", path.display()))
        .advised(ADVICE)
}

/// The version that the library tells.
fn version_of(library: &Library) -> Option<Version> {
    type LibraryVersion = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: the function has had this type since the first version; its text is constant.
    let text = unsafe {
        let version = library.get::<LibraryVersion>(b"duckdb_library_version").ok()?;
        let text = version();
        (!text.is_null()).then(|| CStr::from_ptr(text))?
    };
    Some(Version::parse(text.to_str().ok()?.trim_start_matches('v')))
}
