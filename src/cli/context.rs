//! Context of every command: global options, the catalog, the results file, the flag that an
//! interrupt sets.

use std::io::{IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use secrecy::SecretString;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::pipe;

use super::args::{Color, Global};
use super::paths;
use crate::catalog::{Catalog, nearest};
use crate::error::{Error, Kind, Result, quote};
use crate::store::{Place, Store};
use crate::test_runner::Interrupt;

/// The context of a command.
pub struct Context {
    pub global: Global,
    /// Typed for the results.
    password: OnceLock<SecretString>,
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail with an error, which is told
/// as that of a full disk is: by default the signal would end the program without a word. Programs
/// that are started keep the default.
pub(super) fn survive_file_size_limit() {
    // Where no handler can be set, the default stays.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

impl Context {
    /// With these global options; what is not given is taken from the environment.
    pub fn new(global: Global) -> Self {
        let global = Global {
            results: global.results.or_else(|| path_from_environment("DBDYNO_RESULTS")),
            catalog: global.catalog.or_else(|| path_from_environment("DBDYNO_CATALOG")),
            ..global
        };
        Context { global, password: OnceLock::new() }
    }

    /// The built-in catalog, with `--catalog` laid over it.
    ///
    /// # Errors
    /// `file:line` of what is wrong in it.
    pub fn catalog(&self) -> Result<Catalog> {
        match &self.global.catalog {
            Some(dir) => Catalog::with_dir(dir),
            None => Catalog::embedded(),
        }
    }

    /// The results, their file or schema created if it is missing.
    ///
    /// # Errors
    /// If they cannot be written, are damaged or newer than this program, or are to lie in a
    /// directory that is not there.
    pub fn store(&self) -> Result<Store> {
        self.global
            .results
            .as_ref()
            .map_or(Ok(()), |file| paths::check_parent(file, "--results"))?;
        paths::refuse_made_by_others(&self.place().path, "--results")?;
        self.open(Store::open)
    }

    /// The results, which must exist, for a command that only reads them.
    ///
    /// # Errors
    /// If there are none, or they cannot be read.
    pub fn store_to_read(&self) -> Result<Store> {
        // Nothing is written to a file of somebody else, even by whoever may.
        match paths::is_made_by_others(&self.place().path)? {
            true => self.open(Store::open_read_only),
            false => self.open(Store::open_to_read),
        }
    }

    /// The results, which must exist, to be changed.
    ///
    /// # Errors
    /// As [`Context::store`], and if there are none.
    pub fn existing_store(&self) -> Result<Store> {
        paths::refuse_made_by_others(&self.place().path, "--results")?;
        self.open(Store::open_existing)
    }

    /// True if there are results; nothing is created.
    ///
    /// # Errors
    /// If that cannot be found out, or they are not ours.
    pub fn has_store(&self) -> Result<bool> {
        self.open(Store::is_there)
    }

    /// Place of the results.
    pub fn place(&self) -> Place {
        let path = paths::results_file(self.global.results.as_ref());
        Place { path, password: self.password.get().cloned() }
    }

    /// Place of results that are only read, with the password that they need.
    ///
    /// # Errors
    /// As [`Context::store_to_read`].
    pub fn place_to_serve(&self) -> Result<Place> {
        self.open(Store::open_read_only).map(|_| self.place())
    }

    /// Opens the results, asking once for the password of a server that wants one which nothing
    /// else gives.
    fn open<T>(&self, open: impl Fn(Place) -> Result<T>) -> Result<T> {
        let error = match open(self.place()) {
            Err(error) if error.kind == Kind::NoPassword && self.password.get().is_none() => error,
            done => return done,
        };
        let password = self.ask_password(&error.place).ok_or(error)?;
        open(Place {
            password: Some(self.password.get_or_init(|| password).clone()),
            ..self.place()
        })
    }

    /// Asks the user for the password at `place`; none without a terminal.
    pub fn ask_password(&self, place: &str) -> Option<SecretString> {
        let may_ask = std::io::stdin().is_terminal() && !self.global.quiet;
        let typed =
            may_ask.then(|| rpassword::prompt_password(format!("Password for {place}: ")).ok());
        typed.flatten().map(SecretString::from)
    }

    /// `--format`, one of `known`; the first is the default.
    ///
    /// # Errors
    /// Names the known formats.
    pub fn format(&self, known: &[&str]) -> Result<String> {
        let format = self.global.format.as_deref().unwrap_or(known[0]);
        if known.contains(&format) {
            return Ok(format.to_string());
        }
        let question = match nearest(format, known.iter().copied()).first() {
            Some(near) => format!("did you mean '{near}'? "),
            None => String::new(),
        };
        Err(Error::usage("--format", format!("{} is not a format of this command", quote(format)))
            .advise(format!("{question}choose {}", known.join(", "))))
    }

    /// Refuses every `--format` but text, for a command that has no other.
    ///
    /// # Errors
    /// If another one was asked for.
    pub fn text_only(&self) -> Result<()> {
        self.format(&["text"]).map(|_| ())
    }

    /// True if output may be colored.
    pub fn color(&self) -> bool {
        let terminal = || std::io::stdout().is_terminal() && !no_color();
        match self.global.color {
            Color::Auto => terminal(),
            Color::Always => true,
            Color::Never => false,
        }
    }

    /// Columns that a listing must fit; none if it goes to a file or another program, which get
    /// everything unless COLUMNS says how wide it is.
    pub fn fit(&self) -> Option<usize> {
        (std::io::stdout().is_terminal() || columns_from_environment().is_some())
            .then(|| self.width())
    }

    /// Columns of the terminal; without one, those that COLUMNS asks for, else 80.
    pub fn width(&self) -> usize {
        let (_, columns) = console::Term::stdout().size();
        match std::io::stdout().is_terminal() {
            true => usize::from(columns).clamp(60, 160),
            false => columns_from_environment().unwrap_or(80),
        }
    }
}

/// A path that the environment gives; an empty one is none.
fn path_from_environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Width of a pipe's reader by the environment.
fn columns_from_environment() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?.parse::<usize>().ok()?;
    (columns > 0).then(|| columns.clamp(60, 1000))
}

/// The convention of no-color.org: set and not empty.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// A signal this soon after the first is the same wish: `timeout` sends one to us and one to our
/// group.
const SAME_WISH: Duration = Duration::from_millis(200);

/// An interrupt flag that Ctrl-C (SIGINT), SIGTERM and the end of the terminal (SIGHUP) set: the
/// first asks everything to stop and store, a later one ends at once. A SIGHUP that is ignored
/// stays so: that is what `nohup` is for.
///
/// # Errors
/// If the system refuses a signal handler.
pub fn interrupt() -> Result<Interrupt> {
    let interrupt = Interrupt::new();
    listen(&interrupt).map_err(|error| Error::target("signals", error.to_string()))?;
    Ok(interrupt)
}

fn listen(interrupt: &Interrupt) -> std::io::Result<()> {
    let ends = Arc::new(AtomicBool::new(false));
    let (mut told, teller) = UnixStream::pair()?;
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        flag::register_conditional_shutdown(
            signal,
            Kind::Interrupted.exit_code().into(),
            Arc::clone(&ends),
        )?;
        flag::register(signal, interrupt.flag())?;
        pipe::register(signal, teller.try_clone()?)?;
    }
    std::thread::Builder::new().spawn(move || {
        if told.read_exact(&mut [0]).is_ok() {
            std::thread::sleep(SAME_WISH);
            ends.store(true, Ordering::SeqCst);
        }
    })?;
    Ok(())
}

/// True if the parent process made us ignore this signal; false if the system does not report it.
fn is_ignored(signal: i32) -> bool {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.is_ok_and(|status| status.sigign & (1 << (signal - 1)) != 0)
}
