//! A bundle: a run that is sealed in one file, so that somebody else can read, check and repeat it.
//!
//! It is a ZIP archive, which any tool opens, of four entries: `run.jsonl` (the run with all tests,
//! as an export has them), `plan.sql` (every statement that ran, to read), `disclosure.json` (the
//! platform) and `manifest.json` (size and SHA-256 of the other three). The digest of a bundle is
//! the SHA-256 of its manifest: who has it from a trusted place knows that nothing was altered.

use std::io::{Cursor, Read, Seek, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::Store;
use dbdyno_core::error::{Error, Result, quote};
use dbdyno_core::model::{Disclosure, RunRecord, SqlPiece, Test};

/// Version of the format; older ones are read.
const FORMAT: u32 = 1;
const RUN: &str = "run.jsonl";
const PLAN: &str = "plan.sql";
const DISCLOSURE: &str = "disclosure.json";
const MANIFEST: &str = "manifest.json";
/// A larger entry is not of a run: one of 1,000 tests with all their seconds has 40 MB.
const MAX_BYTES: u64 = 1_000_000_000;
const MAX_MANIFEST_BYTES: u64 = 100_000;

/// A run as a bundle holds it.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// The run, with its plan and its disclosure.
    pub run: RunRecord,
    /// Its tests in order.
    pub tests: Vec<Test>,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

/// Manifest of a bundle.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// `dbdyno-bundle`.
    kind: String,
    format: u32,
    /// The dbdyno that sealed it.
    version: String,
    entries: Vec<Entry>,
}

/// One of the other entries.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    bytes: u64,
    sha256: String,
}

const KIND: &str = "dbdyno-bundle";

/// First bytes of a ZIP archive and of its last record, which has so many bytes if there is no
/// comment; in it stands how many entries the archive has.
const FIRST_RECORD: &[u8] = b"PK\x03\x04";
const LAST_RECORD: &[u8] = b"PK\x05\x06";
const LAST_RECORD_BYTES: usize = 22;
const ENTRIES_AT: usize = 10;

impl Store {
    /// Seals a run that has ended; gives the bundle's digest.
    ///
    /// # Errors
    /// An unknown run, one that is still running or was never measured by us; a file that cannot be
    /// written.
    pub fn seal(&self, run_id: i64, out: &mut (impl Write + Seek)) -> Result<String> {
        let run = self.run_by_id(run_id)?;
        let mut lines = Vec::new();
        self.export(&[run_id], &mut lines)?;
        let disclosure = serde_json::to_vec_pretty(&run.disclosure).map_err(|e| write_error(&e))?;
        let entries =
            [(RUN, lines), (PLAN, plan_text(&run).into_bytes()), (DISCLOSURE, disclosure)];
        let manifest = Manifest {
            kind: KIND.into(),
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            entries: entries.iter().map(|(name, content)| entry(name, content)).collect(),
        };
        let manifest = serde_json::to_vec_pretty(&manifest).map_err(|e| write_error(&e))?;
        // No time of day in it: the same run gives the same bytes.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        let mut archive = ZipWriter::new(out);
        let named = entries.iter().map(|(name, content)| (*name, content));
        for (name, content) in [(MANIFEST, &manifest)].into_iter().chain(named) {
            archive.start_file(name, options).map_err(|e| write_error(&e))?;
            archive.write_all(content).map_err(|e| write_error(&e))?;
        }
        archive.finish().map_err(|e| write_error(&e))?;
        Ok(digest_of(&manifest))
    }
}

/// Opens a bundle; `place` names it in messages.
///
/// # Errors
/// Of usage: it is none, is of a newer format, or was altered after it had been sealed.
pub fn open_bundle(place: &str, bytes: &[u8]) -> Result<Bundle> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| no_bundle(place))?;
    let manifest_bytes = read_entry(&mut archive, place, MANIFEST, MAX_MANIFEST_BYTES)?;
    let manifest: Manifest =
        serde_json::from_slice(&manifest_bytes).map_err(|_| no_bundle(place))?;
    if manifest.kind != KIND {
        return Err(no_bundle(place));
    }
    if manifest.format > FORMAT {
        let what = format!("is of format {}, this dbdyno reads up to {FORMAT}", manifest.format);
        return Err(Error::usage(place, what).advise("use a newer dbdyno"));
    }
    let named: Vec<&str> = manifest.entries.iter().map(|entry| entry.name.as_str()).collect();
    let count = named.len() + 1;
    if named != [RUN, PLAN, DISCLOSURE] || archive.len() != count || !holds(bytes, count) {
        return Err(altered_error(place, "it holds other entries than a bundle has"));
    }
    let mut contents = Vec::new();
    for sealed in &manifest.entries {
        let content = read_entry(&mut archive, place, &sealed.name, MAX_BYTES)?;
        if entry(&sealed.name, &content) != *sealed {
            return Err(altered_error(
                place,
                &format!("{} is not what was sealed", quote(&sealed.name)),
            ));
        }
        contents.push(content);
    }
    let (run, tests) = read_run(place, &contents[0])?;
    // What people read must be what is run again and judged.
    let texts = [
        (PLAN, is_plan_of(&run, &contents[1])),
        (DISCLOSURE, is_disclosure_of(&run, &contents[2])),
    ];
    match texts.iter().find(|(_, is_of_run)| !is_of_run) {
        Some((name, _)) => Err(altered_error(place, &format!("{} is of another run", quote(name)))),
        None => Ok(Bundle { run, tests, digest: digest_of(&manifest_bytes) }),
    }
}

/// True if an archive has so many entries, also those of a name that another one has, and nothing
/// before or behind them: what one program reads of it, every other one does.
fn holds(bytes: &[u8], entries: usize) -> bool {
    let Some(at) = bytes.len().checked_sub(LAST_RECORD_BYTES) else { return false };
    let last = &bytes[at..];
    let count = usize::from(u16::from_le_bytes([last[ENTRIES_AT], last[ENTRIES_AT + 1]]));
    bytes.starts_with(FIRST_RECORD) && last.starts_with(LAST_RECORD) && count == entries
}

/// True if a text shows the statements of a run's plan. Its first line names the run by the number
/// that it had where it was sealed.
fn is_plan_of(run: &RunRecord, text: &[u8]) -> bool {
    let plan = plan_text(run);
    let behind_the_first = |text: &[u8]| {
        let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        text[end..].to_vec()
    };
    behind_the_first(text) == behind_the_first(plan.as_bytes())
}

/// True if a text is the disclosure of a run.
fn is_disclosure_of(run: &RunRecord, text: &[u8]) -> bool {
    serde_json::from_slice::<Disclosure>(text).is_ok_and(|told| told == run.disclosure)
}

/// The one run of an export, read by the import itself into results that are thrown away.
fn read_run(place: &str, lines: &[u8]) -> Result<(RunRecord, Vec<Test>)> {
    let dir = tempfile::tempdir()
        .map_err(|error| Error::target("TMPDIR", format!("no temporary directory: {error}")))?;
    let mut store = Store::open(dir.path().join("bundle.db").as_path())?;
    let counts = store.import(&format!("{place}:{RUN}"), &mut Cursor::new(lines))?;
    if counts.runs != 1 {
        return Err(altered_error(place, &format!("it holds {} runs instead of one", counts.runs)));
    }
    let run = store.run("last")?;
    let tests = store.tests(run.id)?;
    Ok((run, tests))
}

/// Every statement of a run's plan, below the test that it is of.
fn plan_text(run: &RunRecord) -> String {
    let mut text = format!("-- What run {:?} on {} executed.\n", run.id, run.target);
    for selection in run.plan.selections() {
        let (workload, hash) = (selection.workload(), selection.hash());
        text += &format!("\n-- {workload} {hash} ({})\n", selection.drive());
        for SqlPiece { caption, sql } in selection.sql().unwrap_or_default() {
            text += &format!("-- {caption}\n{sql}\n");
        }
    }
    text
}

fn entry(name: &str, content: &[u8]) -> Entry {
    Entry { name: name.into(), bytes: content.len() as u64, sha256: hex(content) }
}

fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest_of(manifest: &[u8]) -> String {
    format!("sha256:{}", hex(manifest))
}

/// An entry of at most so many bytes, however small it says that it is.
fn read_entry(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    place: &str,
    name: &str,
    most: u64,
) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    let entry = archive.by_name(name).map_err(|_| no_bundle(place))?;
    let count = entry.take(most + 1).read_to_end(&mut content);
    match count {
        Ok(count) if count as u64 <= most => Ok(content),
        Ok(_) => Err(altered_error(place, &format!("{} is too large", quote(name)))),
        Err(error) => {
            Err(altered_error(place, &format!("{} cannot be read: {error}", quote(name))))
        }
    }
}

fn write_error(error: &dyn std::fmt::Display) -> Error {
    Error::target("bundle", format!("cannot be written ({error})"))
        .advise("check the output's disk")
}

fn no_bundle(place: &str) -> Error {
    Error::usage(place, "is no bundle of dbdyno").advise("make one with 'dbdyno bundle RUN'")
}

fn altered_error(place: &str, why: &str) -> Error {
    Error::usage(place, format!("was altered after it had been sealed: {why}"))
        .advise("ask the person who sealed it for the file and its digest")
}
