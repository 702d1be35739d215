//! What every command needs: global options, the catalogue, the results file.

use std::io::IsTerminal;

use super::args::{Color, Global};
use super::paths;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::store::Store;

/// The context of a command.
pub struct Context {
    pub global: Global,
}

impl Context {
    /// The built-in catalogue, with `--catalog` laid over it.
    ///
    /// # Errors
    /// `file:line` of what is wrong in it.
    pub fn catalog(&self) -> Result<Catalog> {
        match &self.global.catalog {
            Some(dir) => Catalog::with_dir(dir),
            None => Catalog::embedded(),
        }
    }

    /// The results file, created if it is missing.
    ///
    /// # Errors
    /// If it cannot be written, is damaged or newer than this program.
    pub fn store(&self) -> Result<Store> {
        Store::open(&paths::results_file(self.global.results.as_ref()))
    }

    /// The results file, which must exist, for a command that only reads it.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn store_to_read(&self) -> Result<Store> {
        Store::open_to_read(&paths::results_file(self.global.results.as_ref()))
    }

    /// The results file, which must exist, to be changed.
    ///
    /// # Errors
    /// As [`Context::store`], and if there is none.
    pub fn existing_store(&self) -> Result<Store> {
        Store::open_existing(&paths::results_file(self.global.results.as_ref()))
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
        Err(Error::usage("--format", format!("'{format}' is no format of this command"))
            .advise(format!("choose {}", known.join(", "))))
    }

    /// Refuses every `--format` but text, for a command that has no other.
    ///
    /// # Errors
    /// If another one was asked for.
    pub fn text_only(&self) -> Result<()> {
        self.format(&["text"]).map(|_| ())
    }

    /// True if output may be coloured.
    pub fn color(&self) -> bool {
        let terminal = || std::io::stdout().is_terminal() && !no_color();
        match self.global.color {
            Color::Auto => terminal(),
            Color::Always => true,
            Color::Never => false,
        }
    }

    /// Columns that a listing must fit; none if it goes to a file or another program, which get everything.
    pub fn fit(&self) -> Option<usize> {
        std::io::stdout().is_terminal().then(|| self.width())
    }

    /// Columns of the terminal; 80 if it is none.
    pub fn width(&self) -> usize {
        let (_, columns) = console::Term::stdout().size();
        if std::io::stdout().is_terminal() { usize::from(columns).clamp(60, 160) } else { 80 }
    }
}

/// The convention of no-color.org: set and not empty.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
