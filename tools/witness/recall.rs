//! Recall of `VEC-SEARCH` and `VEC-EXACT` by another program: faiss, which searches exactly what
//! our setup stored, and counts how many of the found rows are true neighbours.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use dbdyno::engine::Session;
use dbdyno::error::Result;
use dbdyno::host;
use dbdyno::model::vectors::VectorData;
use dbdyno::model::{Drive, Selection};
use dbdyno::sql;

use super::agreement::{Agreement, Bound, Report, Subject, Witnessed};
use super::counts::Extent;
use super::lab::{Lab, SEED};
use super::{drive, failed};

/// Searches that miss many neighbours, that miss few, and that must miss none.
const WORKLOADS: [&str; 3] = ["VEC-SEARCH:ef=10", "VEC-SEARCH:ef=80", "VEC-EXACT"];
const ORACLE: &str = "faiss";
const OPS: f64 = 2000.0;
const JOBS: u32 = 1;
const SAMPLE: Bound = Bound::Within(
    4.0,
    "our test draws its queries at random and builds an index of its own, whose graph is random",
);

/// The programs of a server with vectors, as `scripts/vector-servers.sh` fetches them.
pub fn server_bin() -> Option<PathBuf> {
    let dir = host::cache_dir().join("vector-postgres/bin");
    dir.exists().then_some(dir)
}

/// The directory into which `scripts/test-dependencies.sh --peers` puts faiss for Python.
pub fn oracle() -> Option<PathBuf> {
    let dir = host::cache_dir().join("recall-oracle");
    dir.exists().then_some(dir)
}

/// Counts of both for each workload.
pub fn agreements(lab: &Lab, oracle: &Path, extent: Extent) -> Result<Vec<Agreement>> {
    let mut agreements = Vec::new();
    for workload in WORKLOADS {
        let ops = ((OPS * extent.scale) as u64).max(100);
        let selection = drive::fixed_ops(lab, workload, Drive::Client, ops)?;
        let result = drive::test(lab, &selection, JOBS, &mut |_| Default::default(), None)?;
        let searched = search(lab, &selection)?;
        let [hits, same] = by_oracle(lab, oracle)?;
        let subject = Subject { engine: lab.engine.name(), workload, drive: Drive::Client };
        let mut report = Report { subject, agreements: &mut agreements };
        report.equal("truths", searched.queries, ORACLE, same);
        report.equal("neighbours found", searched.hits, ORACLE, hits);
        let total = &result.total;
        let ours_pct = 100.0 * total.hits as f64 / total.rows as f64;
        let theirs_pct = 100.0 * hits as f64 / searched.rows as f64;
        report.add("recall %", ours_pct, Witnessed::new(ORACLE, theirs_pct), SAMPLE);
    }
    Ok(agreements)
}

/// Counts of our statement over every query.
#[derive(Debug, Default)]
struct Searched {
    queries: u64,
    rows: u64,
    hits: u64,
}

/// Sets the workload up once more, asks its own statement for every query, and writes down what is
/// stored and what was found.
fn search(lab: &Lab, selection: &Selection) -> Result<Searched> {
    let part = &selection.parts[0];
    let data = part.vectors.map(|set| VectorData::new(set, SEED));
    let mut session = lab.session(ORACLE)?;
    let bound = part.setup_sql().into_iter().map(|sql| sql::bind_late(&sql, JOBS));
    for sql in bound.flat_map(|sql| sql::with_vectors(sql, data.as_ref())) {
        session.execute(&sql).map_err(|error| error.at(ORACLE))?;
    }
    for sql in &part.session {
        session.execute(sql).map_err(|error| error.at(ORACLE))?;
    }
    dump(lab, session.as_mut(), "rows.txt", "select id, v::text from dbdyno.vec_rows")?;
    dump(lab, session.as_mut(), "queries.txt", "select id, v::text from dbdyno.vec_queries")?;
    let truths = cells(session.as_mut(), "select id, truth from dbdyno.vec_queries")?;
    let statement = drive::statement(selection)?;
    let (mut counts, mut text) = (Searched::default(), String::new());
    for [query, truth] in truths.iter().filter_map(|row| <&[String; 2]>::try_from(&row[..]).ok()) {
        let found = cells(session.as_mut(), &statement.with_values(|_| query))?;
        let _ = write!(text, "{query} {truth}"); // writing into a text cannot fail
        for row in &found {
            counts.hits += u64::from(row[0] == "1");
            let _ = write!(text, " {}", row[1]);
        }
        text.push('\n');
        counts.queries += 1;
        counts.rows += found.len() as u64;
    }
    for sql in part.teardown_sql() {
        session.execute(&sql).map_err(|error| error.at(ORACLE))?;
    }
    lab.write_file("found.txt", &text)?;
    Ok(counts)
}

/// The rows of an answer, without nulls.
fn cells(session: &mut dyn Session, sql: &str) -> Result<Vec<Vec<String>>> {
    let read = session.query(sql, &[]).map_err(|error| error.at(ORACLE))?;
    Ok(read.rows.into_iter().map(|row| row.into_iter().flatten().collect()).collect())
}

fn dump(lab: &Lab, session: &mut dyn Session, name: &str, sql: &str) -> Result<()> {
    let lines: Vec<String> = cells(session, sql)?.iter().map(|row| row.join(" ")).collect();
    lab.write_file(name, &(lines.join("\n") + "\n")).map(drop)
}

/// True neighbours among the found by the oracle, and queries of which both know the same distance.
fn by_oracle(lab: &Lab, oracle: &Path) -> Result<[u64; 2]> {
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", oracle).args(["-c", include_str!("recall.py")]).arg(&lab.directory);
    let output = command.output();
    let output = output.map_err(|error| failed(ORACLE, format!("cannot be run ({error})")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["hits", hits, "same", same] => {
            let count = |word: &str| word.parse().map_err(|_| failed(ORACLE, text.clone()));
            Ok([count(hits)?, count(same)?])
        }
        _ => {
            let message = String::from_utf8_lossy(&output.stderr);
            Err(failed(ORACLE, message.lines().last().unwrap_or("printed nothing").to_owned()))
        }
    }
}
