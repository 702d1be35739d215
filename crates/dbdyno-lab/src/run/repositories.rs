//! Repositories of a server's own (Oracle's AWR and Statspack) that take a snapshot before and
//! after each test.
//!
//! Blocks of the engine's probes say how: `repository.<name>` takes one, `repository.<name>.last`
//! reads its number, `repository.<name>.report` reads the text between `{{begin}}` and `{{end}}`, a
//! line a row, where the server makes one itself, and `repository.<name>.licence` says what must be
//! licensed for it. An engine without them has none.

use parking_lot::Mutex;

use super::Platform;
use dbdyno_core::catalog::Catalog;
use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::{Disclosure, RepositorySnapshots};
use dbdyno_core::sql::{Block, Values, fill, statement};
use dbdyno_engines::engine::{Engine, EngineError, ErrorClass, Session};

/// Requested repositories of the server, and the session that takes their snapshots.
#[derive(Default)]
pub(super) struct Repositories {
    asked: Vec<Repository>,
    session: Option<Mutex<Box<dyn Session>>>,
}

struct Repository {
    name: String,
    take: String,
    last: String,
    report: Option<String>,
}

/// Lines of a report that are kept; one of AWR has 2,000 to 6,000.
const MAX_LINES: usize = 20_000;

impl Repositories {
    /// Those of these names on an open platform.
    ///
    /// # Errors
    /// The engine has no such repository; no session can be opened.
    pub(super) fn open(platform: &Platform, catalog: &Catalog, names: &[String]) -> Result<Self> {
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
        let mut session = session.lock();
        let mut snap =
            |one: &Repository| one.snapshot(session.as_mut()).map_err(|error| error.message);
        self.asked.iter().map(&mut snap).collect()
    }

    /// Those of two moments, side by side, with the server's own report between them.
    pub(super) fn between(
        &self,
        before: &[std::result::Result<String, String>],
        after: &[std::result::Result<String, String>],
    ) -> Vec<RepositorySnapshots> {
        let Some(session) = &self.session else { return Vec::new() };
        let mut session = session.lock();
        let moments = before.iter().zip(after);
        let pairs = self.asked.iter().zip(moments);
        pairs
            .map(|(one, (begin, end))| one.between(session.as_mut(), begin.clone(), end.clone()))
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
        let version =
            platform.database.session().map_err(failed)?.query(&sql, &[]).map_err(failed)?;
        let pack = version.scalar().unwrap_or(Disclosure::UNKNOWN);
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
        let report = text_of(&format!("repository.{name}.report"), blocks);
        Some(Repository { name: name.into(), take, last, report })
    }

    /// The snapshots of two moments, with the report between them where the server makes one.
    fn between(
        &self,
        session: &mut dyn Session,
        begin: std::result::Result<String, String>,
        end: std::result::Result<String, String>,
    ) -> RepositorySnapshots {
        let mut pair = RepositorySnapshots {
            repository: self.name.clone(),
            begin: begin.clone().ok(),
            end: end.clone().ok(),
            missing: begin.err().or(end.err()),
            report: Vec::new(),
        };
        if let (Some(begin), Some(end)) = (&pair.begin, &pair.end) {
            match self.report(session, begin, end) {
                Ok(lines) => pair.report = lines,
                Err(error) => pair.missing = Some(format!("no report: {}", error.message)),
            }
        }
        pair
    }

    /// The lines of the server's own report between two snapshots; none where it makes none.
    ///
    /// # Errors
    /// The server refuses the report, or a number of a snapshot is none.
    fn report(
        &self,
        session: &mut dyn Session,
        begin: &str,
        end: &str,
    ) -> std::result::Result<Vec<String>, EngineError> {
        let Some(sql) = &self.report else { return Ok(Vec::new()) };
        // The numbers go into the text: a function of a table does not take binds everywhere.
        let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number(begin) || !is_number(end) {
            let what = format!("'{begin}' and '{end}' are no numbers of snapshots");
            return Err(EngineError::new(ErrorClass::Other, what));
        }
        let numbers = Values::from([
            ("begin".to_string(), begin.to_string()),
            ("end".to_string(), end.to_string()),
        ]);
        let mut lines = session.query(&fill(sql, &numbers), &[])?.rows;
        lines.truncate(MAX_LINES);
        Ok(lines
            .into_iter()
            .map(|line| line.into_iter().next().flatten().unwrap_or_default())
            .collect())
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
