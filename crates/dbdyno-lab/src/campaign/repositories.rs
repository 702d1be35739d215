//! Repositories of a server's own (Oracle's AWR and Statspack) that take a snapshot before and
//! after each test.
//!
//! Blocks `repository.<name>` (takes one) and `repository.<name>.last` (its number) of the engine's
//! probes say how, and `repository.<name>.licence` what must be licensed for it; an engine without
//! them has none.

use std::sync::{Mutex, PoisonError};

use super::Platform;
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{Disclosure, RepositorySnapshots};
use dbdyno_core::sql::{Block, statement};
use dbdyno_engines::engine::{Engine, EngineError, ErrorClass, Session};

/// Those that are asked for, and the session that takes the snapshots.
#[derive(Default)]
pub(super) struct Repositories {
    asked: Vec<Repository>,
    session: Option<Mutex<Box<dyn Session>>>,
}

struct Repository {
    name: String,
    take: String,
    last: String,
}

impl Repositories {
    /// Those of these names on an open platform.
    ///
    /// # Errors
    /// The engine has no such repository; no session can be opened.
    pub(super) fn of(platform: &Platform, catalog: &Catalog, names: &[String]) -> Result<Self> {
        if names.is_empty() {
            return Ok(Repositories::default());
        }
        let blocks = catalog.probes(platform.engine.name(), &platform.database.version().0);
        let found = names.iter().map(|name| {
            Repository::find(name, &blocks).ok_or_else(|| lacks(name, platform.engine))
        });
        let asked = found.collect::<Result<_>>()?;
        let opened = platform.database.session().map_err(|error| error.at(platform.label()))?;
        Ok(Repositories { asked, session: Some(Mutex::new(opened)) })
    }

    /// A snapshot of each: its number, or why there is none.
    pub(super) fn take(&self) -> Vec<std::result::Result<String, String>> {
        let Some(session) = &self.session else { return Vec::new() };
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        let mut snap =
            |one: &Repository| one.snapshot(session.as_mut()).map_err(|error| error.message);
        self.asked.iter().map(&mut snap).collect()
    }

    /// Those of two moments, side by side.
    pub(super) fn between(
        &self,
        before: &[std::result::Result<String, String>],
        after: &[std::result::Result<String, String>],
    ) -> Vec<RepositorySnapshots> {
        let pairs = self.asked.iter().zip(before.iter().zip(after));
        pairs
            .map(|(one, (begin, end))| RepositorySnapshots {
                repository: one.name.clone(),
                begin: begin.clone().ok(),
                end: end.clone().ok(),
                missing: begin.clone().err().or_else(|| end.clone().err()),
            })
            .collect()
    }
}

/// Adds the license statements of these repositories to the disclosure.
///
/// # Errors
/// If no session can be opened.
pub(super) fn disclose(
    platform: &Platform,
    catalog: &Catalog,
    names: &[String],
    disclosure: &mut Disclosure,
) -> Result<()> {
    let blocks = catalog.probes(platform.engine.name(), &platform.database.version().0);
    for name in names {
        let Some(sql) = text_of(&format!("repository.{name}.licence"), &blocks) else { continue };
        let failed = |error: EngineError| error.at(platform.label());
        let told = platform.database.session().map_err(failed)?.query(&sql, &[]).map_err(failed)?;
        let pack = told.scalar().unwrap_or(Disclosure::UNKNOWN);
        disclosure.set(
            "database",
            &format!("licence_{name}"),
            format!("{pack}: licensed, as stated by --{name}"),
        );
    }
    Ok(())
}

/// The engine has no repository of this name.
pub(super) fn lacks(name: &str, engine: &dyn Engine) -> Error {
    let what = format!("{} has no such repository", engine.capabilities().product);
    Error::usage(format!("--{name}"), what).advise("leave it out")
}

/// The statement of a block, if there is one.
fn text_of(name: &str, blocks: &[&Block]) -> Option<String> {
    let found = blocks.iter().find(|known| known.name == name)?;
    Some(statement(&found.text).to_string())
}

impl Repository {
    fn find(name: &str, blocks: &[&Block]) -> Option<Repository> {
        let take = text_of(&format!("repository.{name}"), blocks)?;
        let last = text_of(&format!("repository.{name}.last"), blocks)?;
        Some(Repository { name: name.into(), take, last })
    }

    fn snapshot(&self, session: &mut dyn Session) -> std::result::Result<String, EngineError> {
        session.query(&self.take, &[])?;
        let taken = session.query(&self.last, &[])?;
        let number = taken.scalar().map(str::to_string);
        number.ok_or_else(|| {
            EngineError::new(ErrorClass::Other, format!("no snapshot of {} is there", self.name))
        })
    }
}
