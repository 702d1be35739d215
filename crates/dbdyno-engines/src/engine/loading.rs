//! Libraries that are loaded at run time: found, loaded once for the rest of the process, their
//! version checked before anything else is called.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};

use libloading::Library;
use parking_lot::Mutex;

use super::library::{Choice, Package, RuntimeLibrary};
use super::one_line::one_line;
use super::{EngineError, ErrorClass, Version};
use crate::host;

/// A loaded library with its functions.
pub(super) struct LoadedLibrary<A> {
    pub api: A,
    pub version: Version,
}

/// The library of an engine, as far as engines differ.
pub(super) struct Source<A> {
    /// Registry name of the engine, with which its directories in the cache begin.
    pub engine: &'static str,
    /// Name of the product, as errors have it.
    pub product: &'static str,
    pub package: Package,
    /// Name of the function without arguments that returns the version.
    pub version_function: &'static str,
    pub supports: fn(&Version) -> bool,
    /// Supported versions in words: `1.5 and newer 1.x`.
    pub supported: &'static str,
    /// Looks every function up; the name of the first one that is lacking.
    pub functions: fn(&Library) -> Result<A, &'static str>,
    pub advice: &'static str,
}

/// A text as the functions of a library take it.
///
/// # Errors
/// The text holds a zero byte, which would end it there.
pub(super) fn c_text(text: impl Into<Vec<u8>>) -> Result<CString, EngineError> {
    CString::new(text)
        .map_err(|_| EngineError::new(ErrorClass::Statement, "a text holds a zero byte"))
}

/// The library of an engine: the directory that the user chose, and what this process has loaded.
pub(super) struct Loader<A: 'static> {
    source: Source<A>,
    choice: Choice,
    loaded: Mutex<BTreeMap<PathBuf, &'static LoadedLibrary<A>>>,
}

impl<A> Loader<A> {
    /// Nothing is loaded.
    pub(super) const fn new(source: Source<A>) -> Self {
        Loader { source, choice: Choice::none(), loaded: Mutex::new(BTreeMap::new()) }
    }

    /// The library that the user chose, or that is found.
    ///
    /// # Errors
    /// As [`RuntimeLibrary::version`].
    pub(super) fn chosen(&self) -> Result<&'static LoadedLibrary<A>, EngineError> {
        self.load(self.choice.get().as_deref())
    }

    /// Loads the library in `dir`, or the newest that was fetched, or the one that the system
    /// finds.
    ///
    /// # Errors
    /// There is none, it is damaged, or of a version that is not supported.
    fn load(&self, dir: Option<&Path>) -> Result<&'static LoadedLibrary<A>, EngineError> {
        let file = self.source.package.file();
        let path = match dir {
            Some(dir) => self.existing(&dir.join(&file))?,
            None => self.find_in_cache(&file).unwrap_or_else(|| file.into()),
        };
        let mut loaded = self.loaded.lock();
        if let Some(known) = loaded.get(&path) {
            return Ok(known);
        }
        // It stays: unloading a library whose threads may still run is not safe.
        let new: &'static LoadedLibrary<A> = Box::leak(Box::new(self.open(&path)?));
        loaded.insert(path, new);
        Ok(new)
    }

    fn existing(&self, path: &Path) -> Result<PathBuf, EngineError> {
        if path.is_file() {
            return Ok(path.to_path_buf());
        }
        let what = format!("{} library {} does not exist", self.source.product, path.display());
        Err(EngineError::new(ErrorClass::Usage, what).advised(self.source.advice))
    }

    /// The newest library in the cache directory.
    fn find_in_cache(&self, file: &str) -> Option<PathBuf> {
        let entries = std::fs::read_dir(host::cache_dir()).ok()?.flatten();
        let versions = entries.map(|entry| entry.path()).filter_map(|dir| {
            let name = dir.file_name()?.to_str()?.strip_prefix(self.source.engine)?;
            let version = Version::parse(name.strip_prefix('-')?);
            let library = dir.join("bin").join(file);
            // Loading runs it.
            (library.is_file() && host::may_be_run(&library)).then_some((version, library))
        });
        versions.max().map(|(_, library)| library)
    }

    fn open(&self, path: &Path) -> Result<LoadedLibrary<A>, EngineError> {
        let Source { product, version_function, supported, advice, .. } = self.source;
        // SAFETY: loading runs the initialisers of a library that the user, or the system, names as
        // the engine's.
        let library =
            unsafe { Library::new(path) }.map_err(|error| self.load_error(path, &error))?;
        let version = version_of(&library, version_function).ok_or_else(|| {
            let what = format!(
                "{} is not {product}: it has no function {version_function}",
                path.display()
            );
            EngineError::new(ErrorClass::Usage, what).advised(advice)
        })?;
        let unsupported = |why: &str| {
            let what = format!("{} is {product} {version}, {why}", path.display());
            EngineError::new(ErrorClass::TooOld, what).advised(advice)
        };
        if !(self.source.supports)(&version) {
            return Err(unsupported(&format!("supported is {supported}")));
        }
        let api = (self.source.functions)(&library)
            .map_err(|lacking| unsupported(&format!("which lacks the function {lacking}")))?;
        std::mem::forget(library);
        Ok(LoadedLibrary { api, version })
    }

    #[cold]
    fn load_error(&self, path: &Path, error: &libloading::Error) -> EngineError {
        let product = self.source.product;
        if !path.is_absolute() && !path.exists() && path.components().count() == 1 {
            let what = format!("{product}'s library {} is not on this host", path.display());
            return EngineError::new(ErrorClass::Usage, what).advised(self.source.advice);
        }
        let message =
            std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        let what = format!("{} cannot be loaded ({})", path.display(), one_line(&message));
        EngineError::new(ErrorClass::Usage, what).advised(self.source.advice)
    }
}

impl<A: Sync> RuntimeLibrary for Loader<A> {
    fn package(&self) -> Package {
        self.source.package
    }
    fn version(&self, dir: Option<&Path>) -> Result<Version, EngineError> {
        let loaded = match dir {
            Some(dir) => self.load(Some(dir)),
            None => self.chosen(),
        };
        loaded.map(|loaded| loaded.version.clone())
    }
    fn choice(&self) -> &Choice {
        &self.choice
    }
}

/// The version that the library reports.
fn version_of(library: &Library, function: &str) -> Option<Version> {
    type TellVersion = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: a function of this name has this type in every version; its text is constant.
    let text = unsafe {
        let version = library.get::<TellVersion>(function.as_bytes()).ok()?;
        let text = version();
        (!text.is_null()).then(|| CStr::from_ptr(text))?
    };
    Some(Version::parse(text.to_str().ok()?.trim_start_matches('v')))
}

/// Declares the functions of a library, whose names begin with a prefix, and how they are looked
/// up.
macro_rules! functions {
    ($prefix:literal: $($name:ident ( $($argument:ty),* ) $(-> $result:ty)?;)*) => {
        /// The functions, of a library that stays loaded for the rest of the process.
        #[allow(clippy::type_complexity)]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            /// Looks every function up.
            ///
            /// # Errors
            /// The name of the first one that the library lacks.
            pub(super) fn load(library: &libloading::Library) -> Result<Self, &'static str> {
                Ok(Api {
                    $($name: {
                        let symbol = concat!($prefix, stringify!($name));
                        // SAFETY: the type is that of the function of this name in the header;
                        // whoever loads another library under this name is told before anything
                        // else is called.
                        *unsafe { library.get(symbol.as_bytes()) }.map_err(|_| symbol)?
                    },)*
                })
            }
        }
    };
}

pub(super) use functions;
