//! Moving runs between results files as JSON lines: a header, a line per run followed by its tests,
//! an end line.
//!
//! The end line counts what came before it, so that a file cut short is noticed; an import is one
//! transaction.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use super::Store;
use super::backend::{StoreBackend, Trouble};
use super::write::{insert_numbered, insert_run, insert_test};
use dbdyno_core::error::{Error, Result, visible_json};
use dbdyno_core::model::{RunRecord, Test};

/// Version of the line format; an import reads this and older ones.
pub const FORMAT_VERSION: u32 = 2;

/// Numbers of exported or imported objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of runs.
    pub runs: u64,
    /// Number of their tests.
    pub tests: u64,
}

/// A line of an export.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Line {
    Header {
        format: u32,
        /// The dbdyno that wrote it.
        version: String,
    },
    Run {
        /// The same in every file that holds this run.
        uid: String,
        run: Box<RunRecord>,
    },
    Test(Box<Test>),
    End(Counts),
}

impl Store {
    /// Writes the runs with the given ids, all tests included.
    ///
    /// # Errors
    /// If the file cannot be read or `out` cannot be written.
    pub fn export(&self, run_ids: &[i64], out: &mut dyn Write) -> Result<Counts> {
        let mut counts = Counts::default();
        write_line(
            out,
            &Line::Header { format: FORMAT_VERSION, version: env!("CARGO_PKG_VERSION").into() },
        )?;
        for &id in run_ids {
            let run = Box::new(self.run_by_id(id)?);
            write_line(out, &Line::Run { uid: self.uid(id)?, run })?;
            counts.runs += 1;
            for test in self.tests(id)? {
                write_line(out, &Line::Test(Box::new(test)))?;
                counts.tests += 1;
            }
        }
        write_line(out, &Line::End(counts))?;
        out.flush().map_err(|error| unwritten(&error))?;
        Ok(counts)
    }

    /// Reads an export; `source` names it in messages. Runs get new ids. Everything or nothing is
    /// imported.
    ///
    /// # Errors
    /// One line with `source:line` if the text is not an export, damaged, cut short, of a newer
    /// format, or holds a run that this file has already.
    pub fn import(&mut self, source: &str, input: &mut dyn BufRead) -> Result<Counts> {
        self.in_transaction(|base| {
            let mut import =
                Import { source, base, counts: Counts::default(), state: State::Start };
            let mut number = 0;
            for text in input.lines() {
                number += 1;
                let text = text
                    .map_err(|error| import.wrong(number, &format!("cannot be read ({error})")))?;
                import.line(number, &text)?;
            }
            import.finish(number)
        })
    }

    /// Stores whole runs that were made elsewhere, each with its uid: all or nothing; gives the new
    /// ids.
    ///
    /// # Errors
    /// If the file cannot be written or holds one of the runs already.
    pub fn add_runs<'a, T: AsRef<[Test]>>(
        &mut self,
        source: &str,
        runs: impl IntoIterator<Item = (&'a str, &'a RunRecord, T)>,
    ) -> Result<Vec<i64>> {
        self.in_transaction(|base| {
            let mut ids = Vec::new();
            for (uid, run, tests) in runs {
                let name = run.name.as_deref().unwrap_or("a run");
                let id = insert_new(base, &format!("{source} ({name})"), uid, run)?;
                tests.as_ref().iter().try_for_each(|test| insert_test(base, id, test))?;
                ids.push(id);
            }
            Ok(ids)
        })
    }

    /// Stores whole runs under the numbers that they have, each with its uid, in results that hold
    /// no others: those that go with the process.
    ///
    /// # Errors
    /// If a number is there twice; if the library fails.
    pub fn keep_runs<'a, T: AsRef<[Test]>>(
        &mut self,
        runs: impl IntoIterator<Item = (&'a str, &'a RunRecord, T)>,
    ) -> Result<()> {
        self.in_transaction(|base| {
            for (uid, run, tests) in runs {
                insert_numbered(base, uid, run)?;
                tests.as_ref().iter().try_for_each(|test| insert_test(base, run.id, test))?;
            }
            Ok(())
        })
    }

    fn uid(&self, id: i64) -> Result<String> {
        let found = self.rows("SELECT uid FROM run WHERE id = ?1", vec![id.into()])?;
        let uid = found.first().and_then(|row| row.first()?.text().map(str::to_string));
        uid.ok_or_else(|| self.damaged_error(format!("run {id} vanished")))
    }
}

fn write_line(out: &mut dyn Write, line: &Line) -> Result<()> {
    let text = serde_json::to_string(line).map_err(|error| unwritten(&error))?;
    writeln!(out, "{}", visible_json(&text)).map_err(|error| unwritten(&error))
}

fn unwritten(error: &dyn std::fmt::Display) -> Error {
    Error::target("export", format!("cannot be written ({error})"))
        .advise("check the output's disk")
}

/// Inserts a run under a uid that the file must not hold yet; `place` names it in the message.
fn insert_new(base: &dyn StoreBackend, place: &str, uid: &str, run: &RunRecord) -> Step<i64> {
    let known = "SELECT id FROM run WHERE uid = ?1";
    if let Some(id) = base.number(known, vec![uid.into()])? {
        let error = Error::usage(place, format!("this run is here already as run {id}"));
        return Err(Trouble::Said(
            error.advise("nothing was imported; leave it out or delete it here first"),
        ));
    }
    let id = insert_run(base, run, None)?;
    base.rows("UPDATE run SET uid = ?2 WHERE id = ?1", vec![id.into(), uid.into()])?;
    Ok(id)
}

/// Position in the file.
enum State {
    Start,
    BeforeFirstRun,
    InRun(i64),
    Ended,
}

struct Import<'a> {
    source: &'a str,
    base: &'a dyn StoreBackend,
    counts: Counts,
    state: State,
}

type Step<T = ()> = std::result::Result<T, Trouble>;

impl Import<'_> {
    fn wrong(&self, number: u64, what: &str) -> Trouble {
        let error = Error::usage(format!("{}:{number}", self.source), what);
        Trouble::Said(error.advise("nothing was imported; export the runs again"))
    }

    fn line(&mut self, number: u64, text: &str) -> Step {
        if matches!(self.state, State::Start) {
            self.check_format(number, text)?;
        }
        let line = serde_json::from_str(text)
            .map_err(|error| self.wrong(number, &format!("damaged line ({error})")))?;
        match (line, &self.state) {
            (Line::Header { .. }, State::Start) => self.state = State::BeforeFirstRun,
            (Line::Run { uid, run }, State::BeforeFirstRun | State::InRun(_)) => {
                self.run(number, &uid, &run)?
            }
            (Line::Test(test), State::InRun(id)) => {
                insert_test(self.base, *id, &test)
                    .map_err(|trouble| self.unfit(number, trouble))?;
                self.counts.tests += 1;
            }
            (Line::End(counts), State::BeforeFirstRun | State::InRun(_)) => {
                self.end(number, counts)?
            }
            _ => return Err(self.wrong(number, "this line is out of place")),
        }
        Ok(())
    }

    /// The header alone decides whether we can read the rest, so it is looked at before it is
    /// parsed strictly.
    fn check_format(&self, number: u64, text: &str) -> Step {
        let header: Option<serde_json::Value> = serde_json::from_str(text).ok();
        match header.as_ref().and_then(|header| header["header"]["format"].as_u64()) {
            None => Err(self.wrong(number, "is not an export of dbdyno")),
            Some(format) if format > u64::from(FORMAT_VERSION) => Err(Trouble::Said(
                Error::usage(
                    format!("{}:{number}", self.source),
                    format!(
                        "was written by a newer dbdyno (format {format}, this one knows \
                             {FORMAT_VERSION})"
                    ),
                )
                .advise("update dbdyno"),
            )),
            Some(_) => Ok(()),
        }
    }

    fn run(&mut self, number: u64, uid: &str, run: &RunRecord) -> Step {
        let place = format!("{}:{number}", self.source);
        let id = insert_new(self.base, &place, uid, run)
            .map_err(|trouble| self.unfit(number, trouble))?;
        self.state = State::InRun(id);
        self.counts.runs += 1;
        Ok(())
    }

    /// A constraint broken by a line is the file's fault; a full disk is not.
    fn unfit(&self, number: u64, trouble: Trouble) -> Trouble {
        match trouble {
            Trouble::Unfit(what) | Trouble::Shape(what) => {
                self.wrong(number, &format!("does not fit the results file ({what})"))
            }
            other => other,
        }
    }

    fn end(&mut self, number: u64, counts: Counts) -> Step {
        if counts != self.counts {
            let (is, says) = (self.counts, counts);
            let what = format!(
                "{} runs and {} tests, but {} and {} were written",
                is.runs, is.tests, says.runs, says.tests
            );
            return Err(self.wrong(number, &what));
        }
        self.state = State::Ended;
        Ok(())
    }

    fn finish(self, number: u64) -> Step<Counts> {
        match self.state {
            State::Start => Err(self.wrong(1, "is empty")),
            State::Ended => Ok(self.counts),
            _ => Err(self.wrong(number, "the file ends here, but its last lines are missing")),
        }
    }
}
